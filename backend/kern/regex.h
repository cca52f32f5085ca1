/*
 * regex.h
 *    Regular expressions as PostgreSQL has them: advanced ones (AREs), extended ones, and quoted literals.
 *
 * A Regex is compiled once and used by one thread: matching fills tables in it. A text is prepared (decoded, classified by the expression's own classes of
 * characters) and may then be searched from several places. Positions are characters from 0.
 *
 * Matching takes time in proportion to the text, but for back references, which may be tried in very many ways: `stop` is asked every few thousand steps.
 */
#ifndef REGEX_H
#define REGEX_H

#include "common/base/arena.h"
#include "common/base/error.h"

typedef enum RegexFlag {
    REGEX_ICASE = 1,
    REGEX_EXPANDED = 2, /* blanks and comments are left out */
    REGEX_NLSTOP = 4,   /* . and [^…] never match a newline */
    REGEX_NLANCH = 8,   /* ^ and $ match at newlines, too */
    REGEX_QUOTE = 16,   /* a literal */
    REGEX_EXTENDED = 32, /* not an ARE: no escapes, no lookaround, no back references */
} RegexFlag;

typedef struct Regex Regex;
typedef struct RegexMemory RegexMemory;

typedef struct RegexSpan {
    i32 from, to; /* -1: took no part */
} RegexSpan;

typedef struct RegexText {
    Str bytes;
    u32 len;            /* characters */
    const u16 *colors;  /* len + 1: classes of characters, behind the last one that of the end */
    const u32 *offsets; /* len + 1: where a character begins; NULL: all are one byte */
} RegexText;

typedef enum RegexResult { REGEX_NO, REGEX_YES, REGEX_FAILED } RegexResult;

/* Memory of expressions, in big pieces of `from`, which must throw or live without limit; all given back at once. */
RegexMemory *regex_memory(Arena *from);
void regex_memory_reset(RegexMemory *m);
void *regex_alloc(RegexMemory *m, size_t size); /* zeroed */

/* NULL: 2201B, or 0A000 for what is not there. `stop` (may be NULL) says that the statement shall end. */
Regex *regex_compile(RegexMemory *m, Str pattern, u32 flags, bool (*stop)(void), Error *err);
u32 regex_group_count(const Regex *re);
/* Its memory holds until the next text of this expression. */
void regex_text(Regex *re, Str bytes, RegexText *ret);
/* Is there a match anywhere? */
RegexResult regex_test(Regex *re, const RegexText *t, Error *err);
/* The leftmost match at or behind `start`: spans[0] is the match, the others its groups; `count` of them are wanted. */
RegexResult regex_find(Regex *re, const RegexText *t, u32 start, RegexSpan *spans, u32 count, Error *err);
static inline u32 regex_offset(const RegexText *t, u32 at) { return t->offsets ? t->offsets[at] : at; }
/* Case of one character, for the file of text functions. */
u32 text_char_lower(u32 cp);
u32 text_char_upper(u32 cp);

#endif
