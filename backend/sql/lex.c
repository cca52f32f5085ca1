/*
 * lex.c
 *    The lexer, a hand-written twin of PostgreSQL's scan.l (rules of version 16 for numbers).
 *
 * One function per kind of token. Nothing is read beyond `len`; the source need not be terminated. Strings are decoded into the arena only
 * when they hold an escape, otherwise they point into the source.
 *
 * Fails: by err_throw with the position of the token, or of the escape inside it.
 */
#include "backend/sql/lex.h"

#include "backend/throw.h"
#include "common/store/catalog.h"

#include <stdlib.h>

static const struct {
    const char *word;
    u8 len, class;
    bool bare;
} KEYWORDS[KW_COUNT] = {
#define UNRESERVED KWC_UNRESERVED
#define COLUMN KWC_COLUMN
#define TYPE_FUNC KWC_TYPE_FUNC
#define RESERVED KWC_RESERVED
#define KEYWORD(word, symbol, class, bare) [KW_##symbol] = {word, sizeof(word) - 1, class, bare},
#include "backend/sql/keywords.def"
#undef UNRESERVED
#undef COLUMN
#undef TYPE_FUNC
#undef RESERVED
};

KeywordClass
keyword_class(Keyword k)
{
    return KEYWORDS[k].class;
}

bool
keyword_bare_label(Keyword k)
{
    return KEYWORDS[k].bare;
}

Str
keyword_text(Keyword k)
{
    return (Str){KEYWORDS[k].word, KEYWORDS[k].len};
}

Keyword
keyword_find(Str word)
{
    int low = 1, high = KW_COUNT - 1;
    while (low <= high) {
        int middle = (low + high) / 2;
        int c = str_cmp(word, (Str){KEYWORDS[middle].word, KEYWORDS[middle].len});
        if (c == 0)
            return (Keyword)middle;
        if (c < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return NO_KEYWORD;
}

u32
source_position(const char *text, u32 byte)
{
    u32 n = 1;
    for (u32 i = 0; i < byte; i++)
        n += ((u8)text[i] & 0xc0) != 0x80;
    return n;
}

void
lex_error_near(const char *text, u32 len, u32 at, u32 end, const char *message)
{
    u32 position = source_position(text, at);
    if (at >= len)
        err_throw_at(position, ERR_SYNTAX_ERROR, "%s at end of input", message);
    err_throw_at(position, ERR_SYNTAX_ERROR, "%s at or near \"%.*s\"", message, (int)(MIN(end, len) - at), text + at);
}

static NORETURN void
near(const Lexer *lx, u32 at, u32 end, const char *message)
{
    lex_error_near(lx->text, lx->len, at, end, message);
}

static int
peek(const Lexer *lx, u32 ahead)
{
    return (u64)lx->at + ahead < lx->len ? (u8)lx->text[lx->at + ahead] : -1;
}

static bool
is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool
is_ident_start(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool
is_ident(int c)
{
    return is_ident_start(c) || is_digit(c) || c == '$';
}

static int
hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool
is_operator(int c)
{
    return c > 0 && strchr("~!@#^&|`?+-*/%<>=", c) != NULL;
}

/* Blanks and comments; a block comment nests. */
static void
skip_blanks(Lexer *lx)
{
    for (;;) {
        while (is_space(peek(lx, 0)))
            lx->at++;
        if (peek(lx, 0) == '-' && peek(lx, 1) == '-') {
            while (peek(lx, 0) >= 0 && peek(lx, 0) != '\n' && peek(lx, 0) != '\r')
                lx->at++;
        } else if (peek(lx, 0) == '/' && peek(lx, 1) == '*') {
            u32 start = lx->at, depth = 0;
            do {
                if (peek(lx, 0) < 0)
                    near(lx, start, lx->len, "unterminated /* comment");
                if (peek(lx, 0) == '/' && peek(lx, 1) == '*') {
                    depth++;
                    lx->at += 2;
                } else if (peek(lx, 0) == '*' && peek(lx, 1) == '/') {
                    depth--;
                    lx->at += 2;
                } else {
                    lx->at++;
                }
            } while (depth);
        } else {
            return;
        }
    }
}

/* After a closing quote: blanks with a line break and another quote continue the string. */
static bool
string_goes_on(Lexer *lx)
{
    u32 start = lx->at;
    bool line_break = false;
    for (;;) {
        int c = peek(lx, 0);
        if (c == '-' && peek(lx, 1) == '-' && line_break) {
            while (peek(lx, 0) >= 0 && peek(lx, 0) != '\n' && peek(lx, 0) != '\r')
                lx->at++;
        } else if (is_space(c)) {
            line_break |= c == '\n' || c == '\r';
            lx->at++;
        } else {
            break;
        }
    }
    if (line_break && peek(lx, 0) == '\'') {
        lx->at++;
        return true;
    }
    lx->at = start;
    return false;
}

/* A string being decoded. Its bytes are in arena memory that doubles, so that a throw leaks nothing. */
typedef struct Piece {
    Arena *arena;
    char *data;
    u32 len, capacity;
} Piece;

static void
piece_put(Piece *p, const void *data, u32 n)
{
    if (!n)
        return;
    if (p->capacity - p->len < n) {
        u32 capacity = MAX(p->capacity * 2, p->len + n + 32);
        char *bigger = arena_alloc(p->arena, capacity);
        if (p->len)
            memcpy(bigger, p->data, p->len);
        p->data = bigger;
        p->capacity = capacity;
    }
    memcpy(p->data + p->len, data, n);
    p->len += n;
}

static void
piece_put_char(Piece *p, u32 c)
{
    u8 b[4];
    u32 n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const u8 lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (u32 i = n - 1; i > 0; i--, c >>= 6)
        b[i] = (u8)(0x80 | (c & 0x3f));
    b[0] = (u8)(lead[n] | c);
    piece_put(p, b, n);
}

/* Reads hex digits at byte `at`; -1 when one is missing. */
static i64
hex_digits(const Lexer *lx, u32 at, u32 count)
{
    i64 v = 0;
    for (u32 i = 0; i < count; i++) {
        int h = (u64)at + i < lx->len ? hex_value((u8)lx->text[at + i]) : -1;
        if (h < 0)
            return -1;
        v = v * 16 + h;
    }
    return v;
}

/* A surrogate or code point read at `at`; pairs are joined through *high. What is wrong, or NULL. */
static const char *
unicode_unit(Piece *to, u32 *high, i64 c)
{
    bool is_low = c >= 0xdc00 && c < 0xe000, is_high = c >= 0xd800 && c < 0xdc00;
    if (c == 0 || c > 0x10ffff)
        return "invalid Unicode escape value";
    if (*high ? !is_low : is_low)
        return "invalid Unicode surrogate pair";
    if (is_high) {
        *high = (u32)c;
        return NULL;
    }
    if (*high)
        c = 0x10000 + ((i64)(*high & 0x3ff) << 10) + (c & 0x3ff);
    *high = 0;
    piece_put_char(to, (u32)c);
    return NULL;
}

/* Half a pair was read and something else follows. */
static void
no_half_pair(const Lexer *lx, u32 high)
{
    if (high)
        near(lx, lx->at, lx->at + 1, "invalid Unicode surrogate pair");
}

static NORETURN void
bad_unicode_escape(const Lexer *lx, u32 at, ErrCode code, const char *hint)
{
    Error e;
    error_set(&e, code, "invalid Unicode escape");
    error_hint(&e, "%s", hint);
    e.position = source_position(lx->text, at);
    err_rethrow(&e);
}

/* One backslash escape of E''; lx->at is on the backslash. */
static void
escape_sequence(Lexer *lx, Piece *to, u32 *high)
{
    u32 at = lx->at;
    int c = peek(lx, 1);
    if (c == 'u' || c == 'U') {
        u32 n = c == 'u' ? 4 : 8;
        i64 v = hex_digits(lx, at + 2, n);
        if (v < 0)
            bad_unicode_escape(lx, at, ERR_INVALID_ESCAPE_SEQUENCE, "Unicode escapes must be \\uXXXX or \\UXXXXXXXX.");
        const char *wrong = unicode_unit(to, high, v);
        if (wrong)
            near(lx, at, at + 2 + n, wrong);
        lx->at += 2 + n;
        return;
    }
    no_half_pair(lx, *high);
    lx->at += 2;
    char byte;
    if (c >= '0' && c <= '7') {
        u32 v = (u32)(c - '0');
        for (int i = 0; i < 2 && peek(lx, 0) >= '0' && peek(lx, 0) <= '7'; i++)
            v = v * 8 + (u32)(lx->text[lx->at++] - '0');
        byte = (char)v;
    } else if (c == 'x' && hex_value(peek(lx, 0)) >= 0) {
        int v = hex_value((u8)lx->text[lx->at++]);
        if (hex_value(peek(lx, 0)) >= 0)
            v = v * 16 + hex_value((u8)lx->text[lx->at++]);
        byte = (char)v;
    } else {
        static const char from[] = "bfnrtv", into[] = "\b\f\n\r\t\v";
        const char *known = c > 0 ? strchr(from, c) : NULL;
        byte = known ? into[known - from] : (char)c;
    }
    piece_put(to, &byte, 1);
}

/* The body of a quoted string from lx->at to its end; `escapes`: E''. */
static Str
quoted_string(Lexer *lx, u32 token_at, bool escapes)
{
    Piece to = {.arena = lx->arena};
    u32 run = lx->at, high = 0;
    bool decoded = false;
    for (;;) {
        int c = peek(lx, 0);
        if (c < 0 || (c == '\\' && escapes && peek(lx, 1) < 0))
            near(lx, token_at, lx->len, "unterminated quoted string");
        if (c == '\\' && escapes) {
            if (lx->at > run)
                piece_put(&to, lx->text + run, lx->at - run);
            decoded = true;
            escape_sequence(lx, &to, &high);
            run = lx->at;
        } else if (c == '\'') {
            no_half_pair(lx, high);
            if (peek(lx, 1) == '\'') {
                piece_put(&to, lx->text + run, lx->at + 1 - run);
                lx->at += 2;
            } else {
                u32 end = lx->at++;
                if (!string_goes_on(lx)) {
                    if (!decoded && to.len == 0)
                        return (Str){lx->text + run, end - run};
                    piece_put(&to, lx->text + run, end - run);
                    break;
                }
                piece_put(&to, lx->text + run, end - run);
            }
            decoded = true;
            run = lx->at;
        } else {
            no_half_pair(lx, high);
            lx->at++;
        }
    }
    Str s = {to.data ? to.data : "", to.len};
    if (escapes && memchr(s.ptr, 0, s.len))
        err_throw(ERR_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\": 0x00");
    return s;
}

/* An identifier in double quotes, from behind the opening one; not cut. */
static Str
quoted_identifier(Lexer *lx, u32 token_at)
{
    Piece to = {.arena = lx->arena};
    u32 run = lx->at;
    for (;; lx->at++) {
        int c = peek(lx, 0);
        if (c < 0)
            near(lx, token_at, lx->len, "unterminated quoted identifier");
        if (c != '"')
            continue;
        if (peek(lx, 1) == '"') {
            piece_put(&to, lx->text + run, lx->at + 1 - run);
            run = ++lx->at + 1;
            continue;
        }
        piece_put(&to, lx->text + run, lx->at - run);
        lx->at++;
        if (to.len == 0)
            near(lx, token_at, lx->at, "zero-length delimited identifier");
        return (Str){to.data, to.len};
    }
}

static Str
cut_identifier(Lexer *lx, Str s)
{
    if (LIKELY(s.len <= TYPE_NAME_MAX_BYTES))
        return s;
    CutName *c = ARENA_NEW(lx->arena, CutName);
    *c = (CutName){.whole = s, .kept_bytes = utf8_clip(s, TYPE_NAME_MAX_BYTES)};
    *(lx->cut_last ? &lx->cut_last->next : &lx->cut) = c;
    lx->cut_last = c;
    return (Str){s.ptr, c->kept_bytes};
}

static void
no_half_unit(const Lexer *lx, u32 at, u32 high)
{
    if (high)
        err_throw_at(source_position(lx->text, at), ERR_SYNTAX_ERROR, "invalid Unicode surrogate pair");
}

/* U&'…' and U&"…": escapes in the decoded body, after an optional UESCAPE clause. */
static Str
unicode_body(Lexer *lx, Str body, u32 body_at)
{
    u32 before = lx->at;
    char escape = '\\';
    Token word = lex_next(lx);
    if (word.kind == T_KEYWORD && word.keyword == KW_UESCAPE) {
        Token which = lex_next(lx);
        if (which.kind != T_STRING)
            near(lx, which.at, which.end, "UESCAPE must be followed by a simple string literal");
        int c = which.text.len == 1 ? (u8)which.text.ptr[0] : '+';
        if (hex_value(c) >= 0 || c == '+' || c == '\'' || c == '"' || is_space(c))
            near(lx, which.at, which.end, "invalid Unicode escape character");
        escape = (char)c;
    } else {
        lx->at = before;
    }
    static const char hint[] = "Unicode escapes must be \\XXXX or \\+XXXXXX.";
    Lexer in = {.arena = lx->arena, .text = body.ptr, .len = body.len};
    Piece to = {.arena = lx->arena};
    u32 high = 0;
    while (in.at < in.len) {
        u32 at = in.at;
        if (body.ptr[at] != escape) {
            no_half_unit(lx, body_at + at, high);
            piece_put(&to, body.ptr + at, 1);
            in.at++;
        } else if (peek(&in, 1) == escape) {
            no_half_unit(lx, body_at + at, high);
            piece_put(&to, &escape, 1);
            in.at += 2;
        } else {
            bool long_form = peek(&in, 1) == '+';
            u32 n = long_form ? 6 : 4;
            i64 v = hex_digits(&in, at + 1 + long_form, n);
            if (v < 0)
                bad_unicode_escape(lx, body_at + at, ERR_SYNTAX_ERROR, hint);
            const char *wrong = unicode_unit(&to, &high, v);
            if (wrong)
                err_throw_at(source_position(lx->text, body_at + at), ERR_SYNTAX_ERROR, "%s", wrong);
            in.at += 1 + (u32)long_form + n;
        }
    }
    no_half_unit(lx, body_at + in.at, high);
    return (Str){to.data ? to.data : "", to.len};
}

/* Digits with single underscores between them, from `at`; returns the end. */
static u32
digits(const Lexer *lx, u32 at, int base)
{
    for (;;) {
        u32 next = at + (at < lx->len && lx->text[at] == '_');
        int v = next < lx->len ? hex_value((u8)lx->text[next]) : -1;
        if (v < 0 || v >= base)
            return at;
        at = next + 1;
    }
}

static void
decimal_of_base(Lexer *lx, Token *t, const char *from, u32 len, int base)
{
    u8 out[512];
    u32 n = 0; /* decimal digits, lowest first */
    bool big = false;
    for (u32 i = 0; i < len && !big; i++) {
        if (from[i] == '_')
            continue;
        int carry = hex_value((u8)from[i]);
        for (u32 k = 0; k < n; k++) {
            carry += out[k] * base;
            out[k] = (u8)(carry % 10);
            carry /= 10;
        }
        for (; carry && !big; carry /= 10) {
            out[n++] = (u8)(carry % 10);
            big = n == sizeof out;
        }
    }
    if (big)
        err_throw_at(source_position(lx->text, t->at), ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    char *text = arena_alloc(lx->arena, n + 2);
    for (u32 k = 0; k < n; k++)
        text[k] = (char)('0' + out[n - 1 - k]);
    t->text = n ? (Str){text, n} : STR_LIT("0");
}

static Str
without_underscores(Lexer *lx, Str s)
{
    if (!memchr(s.ptr, '_', s.len))
        return s;
    char *to = arena_alloc(lx->arena, s.len);
    u32 n = 0;
    for (u32 i = 0; i < s.len; i++)
        if (s.ptr[i] != '_')
            to[n++] = s.ptr[i];
    return (Str){to, n};
}

static void
number_value(Token *t, bool integer)
{
    t->kind = T_NUMBER;
    i64 v = 0;
    for (u32 i = 0; integer && i < t->text.len; i++) {
        v = v * 10 + (t->text.ptr[i] - '0');
        if (v > INT32_MAX)
            return;
    }
    if (integer) {
        t->kind = T_INT;
        t->number = (i32)v;
    }
}

static void
number(Lexer *lx, Token *t)
{
    u32 at = lx->at;
    int second = peek(lx, 1) | 0x20;
    if (peek(lx, 0) == '0' && (second == 'x' || second == 'o' || second == 'b')) {
        int base = second == 'x' ? 16 : second == 'o' ? 8 : 2;
        u32 end = digits(lx, at + 2, base);
        lx->at = end;
        if (end == at + 2)
            near(lx, at, end + (peek(lx, 0) == '_'),
                 base == 16 ? "invalid hexadecimal integer" : base == 8 ? "invalid octal integer" : "invalid binary integer");
        decimal_of_base(lx, t, lx->text + at + 2, end - at - 2, base);
        number_value(t, true);
    } else {
        bool integer = true;
        u32 end = is_digit(peek(lx, 0)) ? digits(lx, at, 10) : at;
        if (end < lx->len && lx->text[end] == '.' && !(end + 1 < lx->len && lx->text[end + 1] == '.')) {
            integer = false;
            end++;
            if (end < lx->len && is_digit((u8)lx->text[end]))
                end = digits(lx, end, 10);
        }
        if (end < lx->len && (lx->text[end] | 0x20) == 'e') {
            u32 exponent = end + 1;
            bool sign = exponent < lx->len && (lx->text[exponent] == '+' || lx->text[exponent] == '-');
            exponent += sign;
            if (exponent < lx->len && is_digit((u8)lx->text[exponent])) {
                integer = false;
                end = digits(lx, exponent, 10);
            } else if (sign) {
                near(lx, at, exponent, "trailing junk after numeric literal");
            }
        }
        t->text = without_underscores(lx, (Str){lx->text + at, end - at});
        lx->at = end;
        number_value(t, integer);
    }
    if (is_ident_start(peek(lx, 0))) {
        u32 end = lx->at;
        while (end < lx->len && is_ident((u8)lx->text[end]))
            end++;
        near(lx, at, end, "trailing junk after numeric literal");
    }
}

static void
parameter(Lexer *lx, Token *t)
{
    i64 v = 0;
    lx->at++;
    while (is_digit(peek(lx, 0))) {
        v = MIN(v * 10 + (lx->text[lx->at] - '0'), (i64)INT32_MAX + 1);
        lx->at++;
    }
    if (is_ident_start(peek(lx, 0))) {
        while (is_ident(peek(lx, 0)))
            lx->at++;
        near(lx, t->at, lx->at, "trailing junk after parameter");
    }
    if (v > INT32_MAX)
        near(lx, t->at, lx->at, "parameter number too large");
    t->kind = T_PARAM;
    t->number = (i32)v;
}

/* $tag$ … $tag$. false: the dollar starts no such string. */
static bool
dollar_string(Lexer *lx, Token *t)
{
    u32 end = lx->at + 1;
    if (end < lx->len && is_ident_start((u8)lx->text[end]))
        while (end < lx->len && is_ident((u8)lx->text[end]) && lx->text[end] != '$')
            end++;
    if (end >= lx->len || lx->text[end] != '$')
        return false;
    u32 tag = end + 1 - lx->at, body = end + 1;
    const char *mark = lx->text + lx->at;
    for (u32 i = body; i + tag <= lx->len; i++)
        if (lx->text[i] == '$' && memcmp(lx->text + i, mark, tag) == 0) {
            t->kind = T_STRING;
            t->text = (Str){lx->text + body, i - body};
            lx->at = i + tag;
            return true;
        }
    near(lx, t->at, lx->len, "unterminated dollar-quoted string");
}

static void
bit_string(Lexer *lx, Token *t, const char *what)
{
    lx->at += 2;
    u32 start = lx->at;
    while (peek(lx, 0) >= 0 && peek(lx, 0) != '\'')
        lx->at++;
    if (peek(lx, 0) < 0)
        near(lx, t->at, lx->len, what);
    t->kind = T_BITS;
    t->text = (Str){lx->text + start, lx->at - start};
    lx->at++;
}

static void
word(Lexer *lx, Token *t)
{
    u32 at = lx->at;
    bool folds = false;
    while (is_ident(peek(lx, 0))) {
        folds |= lx->text[lx->at] >= 'A' && lx->text[lx->at] <= 'Z';
        lx->at++;
    }
    t->text = (Str){lx->text + at, lx->at - at};
    if (folds) {
        char *to = arena_alloc(lx->arena, t->text.len);
        for (u32 i = 0; i < t->text.len; i++) {
            char c = t->text.ptr[i];
            to[i] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        }
        t->text.ptr = to;
    }
    t->keyword = keyword_find(t->text);
    t->kind = t->keyword ? T_KEYWORD : T_IDENT;
    if (!t->keyword)
        t->text = cut_identifier(lx, t->text);
}

static void
operator(Lexer *lx, Token *t)
{
    u32 at = lx->at, end = at;
    while (end < lx->len && is_operator((u8)lx->text[end])) {
        bool comment = end + 1 < lx->len && ((lx->text[end] == '/' && lx->text[end + 1] == '*') ||
                                              (lx->text[end] == '-' && lx->text[end + 1] == '-'));
        if (comment)
            break;
        end++;
    }
    /* + and - at the end belong to it only behind a character that no standard operator has */
    bool odd = false;
    for (u32 i = at; i < end; i++)
        odd |= strchr("~!@#^&|`?%", lx->text[i]) != NULL;
    while (!odd && end - at > 1 && (lx->text[end - 1] == '+' || lx->text[end - 1] == '-'))
        end--;
    lx->at = end;
    t->kind = T_OP;
    t->text = (Str){lx->text + at, end - at};
    if (t->text.len == 1)
        t->ch = lx->text[at];
    else if (str_eq(t->text, STR_LIT("=>")))
        t->kind = T_EQUALS_GREATER;
    else if (str_eq(t->text, STR_LIT("!=")))
        t->text = STR_LIT("<>");
    if (t->text.len > MAX_NAME_BYTES)
        near(lx, at, end, "operator too long");
}

static void
punctuation(Lexer *lx, Token *t)
{
    int c = peek(lx, 0), next = peek(lx, 1);
    t->kind = T_CHAR;
    t->ch = (char)c;
    lx->at++;
    if (c == ':' && next == ':')
        t->kind = T_CAST;
    else if (c == ':' && next == '=')
        t->kind = T_COLON_EQUALS;
    else if (c == '.' && next == '.')
        t->kind = T_DOT_DOT;
    else if (!strchr(",()[].;:", c) || c == 0)
        near(lx, t->at, lx->at, "syntax error");
    else
        return;
    lx->at++;
    t->ch = 0;
}

Token
lex_next(Lexer *lx)
{
    skip_blanks(lx);
    Token t = {.at = lx->at};
    int c = peek(lx, 0), next = peek(lx, 1), third = peek(lx, 2);
    if (c < 0) {
        t.kind = T_END;
    } else if ((c == 'n' || c == 'N') && next == '\'') { /* n'x' is NCHAR 'x' */
        lx->at++;
        t.kind = T_KEYWORD;
        t.keyword = KW_NCHAR;
        t.text = keyword_text(KW_NCHAR);
    } else if (c == '\'' || ((c == 'e' || c == 'E') && next == '\'')) {
        lx->at += 1 + (c != '\'');
        t.kind = T_STRING;
        t.text = quoted_string(lx, t.at, c == 'e' || c == 'E');
    } else if ((c == 'u' || c == 'U') && next == '&' && (third == '\'' || third == '"')) {
        lx->at += 3;
        t.kind = third == '"' ? T_IDENT : T_STRING;
        t.text = third == '"' ? quoted_identifier(lx, t.at) : quoted_string(lx, t.at, false);
        t.text = unicode_body(lx, t.text, t.at + 3);
        if (third == '"')
            t.text = cut_identifier(lx, t.text);
    } else if ((c == 'b' || c == 'B') && next == '\'') {
        bit_string(lx, &t, "unterminated bit string literal");
    } else if ((c == 'x' || c == 'X') && next == '\'') {
        bit_string(lx, &t, "unterminated hexadecimal string literal");
    } else if (c == '"') {
        lx->at++;
        t.kind = T_IDENT;
        t.text = cut_identifier(lx, quoted_identifier(lx, t.at));
    } else if (is_ident_start(c)) {
        word(lx, &t);
    } else if (is_digit(c) || (c == '.' && is_digit(next))) {
        number(lx, &t);
    } else if (c == '$' && is_digit(next)) {
        parameter(lx, &t);
    } else if (c == '$' && dollar_string(lx, &t)) {
        /* done */
    } else if (is_operator(c)) {
        operator(lx, &t);
    } else {
        punctuation(lx, &t);
    }
    t.end = lx->at;
    return t;
}
