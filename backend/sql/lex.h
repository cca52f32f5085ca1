/*
 * lex.h
 *    PostgreSQL's lexical structure: text into tokens, one at a time.
 *
 * Offsets are bytes from the start of the source; errors carry positions in characters. Text of a token is decoded (quotes removed,
 * escapes done, identifiers folded and cut to 63 bytes) and lives in the arena or in the source.
 */
#ifndef LEX_H
#define LEX_H

#include "backend/sql/sql.h"
#include "common/base/error.h"

typedef enum Keyword {
    NO_KEYWORD = 0,
#define KEYWORD(word, symbol, class, bare) KW_##symbol,
#include "backend/sql/keywords.def"
    KW_COUNT
} Keyword;

typedef enum KeywordClass { KWC_UNRESERVED, KWC_COLUMN, KWC_TYPE_FUNC, KWC_RESERVED } KeywordClass;

typedef enum TokenKind {
    T_END,
    T_IDENT,
    T_KEYWORD, /* text is the folded word */
    T_INT,     /* fits int4; number */
    T_NUMBER,  /* any other number; text */
    T_STRING,
    T_BITS,    /* B'' or X'' */
    T_PARAM,   /* number */
    T_CHAR,    /* , ( ) [ ] . ; : */
    T_OP,      /* an operator; != comes as <>; ch is set for those of one character */
    T_CAST,    /* :: */
    T_DOT_DOT,
    T_COLON_EQUALS,
    T_EQUALS_GREATER,
} TokenKind;

typedef struct Token {
    TokenKind kind;
    Keyword keyword;
    char ch;
    i32 number;
    u32 at, end; /* bytes of the source */
    Str text;
} Token;

typedef struct Lexer {
    Arena *arena;
    const char *text;
    u32 len, at;
    CutName *cut, *cut_last; /* identifiers longer than 63 bytes, in order */
} Lexer;

/* The next token. Throws 42601 and 22P0x for what cannot be one. */
Token lex_next(Lexer *lx);
KeywordClass keyword_class(Keyword k);
bool keyword_bare_label(Keyword k);
Str keyword_text(Keyword k);
/* NO_KEYWORD when the folded word is none. */
Keyword keyword_find(Str word);

/* 1-based character position of a byte offset. */
u32 source_position(const char *text, u32 byte);
/* Throws with "message at or near ..." for the bytes [at, end) of text. */
NORETURN void lex_error_near(const char *text, u32 len, u32 at, u32 end, const char *message);

#endif
