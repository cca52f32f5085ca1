/*
 * json.c
 *    Lexer, parser and checker of JSON texts.
 *
 * Our own, since no library keeps what users of PostgreSQL see: which token is named in the DETAIL, the CONTEXT with the line, numbers as they
 * were written. One recursive descent serves both the check of json and the tree that everything else works on; depth is bounded.
 */
#include "common/type/json.h"

#include "common/type/inside.h"

#include <stdio.h>

enum { JSON_MAX_DEPTH = 3000, CONTEXT_BYTES = 50 };

typedef enum Token {
    TOK_END, TOK_STRING, TOK_NUMBER, TOK_TRUE, TOK_FALSE, TOK_NULL, TOK_OBJECT_START, TOK_OBJECT_END, TOK_ARRAY_START, TOK_ARRAY_END,
    TOK_COMMA, TOK_COLON
} Token;

typedef struct Lexer {
    Arena *arena; /* NULL: check only */
    const char *input, *at, *end, *line_start, *start, *terminator, *before; /* before: end of the token before */
    u32 line, depth;
    Token token;
    Str text;     /* a string's, decoded */
    Error *err;
} Lexer;

/* ---- errors ---- */
static void
add_context(Lexer *lx)
{
    const char *start = lx->line_start, *end = lx->terminator;
    while (end - start >= CONTEXT_BYTES) {
        start++;
        while (start < end && ((u8)*start & 0xc0) == 0x80)
            start++;
    }
    if (start - lx->line_start <= 3)
        start = lx->line_start;
    bool more = lx->token != TOK_END && end < lx->end && *end != '\n' && *end != '\r';
    error_context(lx->err, "JSON data, line %u: %s%.*s%s", lx->line, start > lx->line_start ? "..." : "", (int)(end - start), start, more ? "..." : "");
}

static bool
syntax_error(Lexer *lx, const char *format, Str shown)
{
    char detail[400];
    shown = text_shown(shown);
    snprintf(detail, sizeof detail, format, (int)shown.len, shown.ptr);
    error_set(lx->err, ERR_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json");
    error_detail(lx->err, "%s", detail);
    add_context(lx);
    return false;
}

static Str
token_text(const Lexer *lx)
{
    return (Str){lx->start, (u32)(lx->terminator - lx->start)};
}

static bool
invalid_token(Lexer *lx)
{
    return syntax_error(lx, "Token \"%.*s\" is invalid.", token_text(lx));
}

/* What was expected instead of the token. */
static bool
unexpected(Lexer *lx, const char *format)
{
    if (lx->token == TOK_END)
        return syntax_error(lx, "The input string ended unexpectedly.", (Str){"", 0});
    return syntax_error(lx, format, token_text(lx));
}

/* ---- tokens ---- */
static bool
is_word(char c)
{
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '_' || (u8)c >= 0x80;
}

static const char *
char_end(const char *s, const char *end)
{
    s++;
    while (s < end && ((u8)*s & 0xc0) == 0x80)
        s++;
    return s;
}

static u32
put_utf8(u32 cp, char *to)
{
    if (cp < 0x80) {
        to[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        to[0] = (char)(0xc0 | cp >> 6);
        to[1] = (char)(0x80 | (cp & 63));
        return 2;
    }
    if (cp < 0x10000) {
        to[0] = (char)(0xe0 | cp >> 12);
        to[1] = (char)(0x80 | (cp >> 6 & 63));
        to[2] = (char)(0x80 | (cp & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | cp >> 18);
    to[1] = (char)(0x80 | (cp >> 12 & 63));
    to[2] = (char)(0x80 | (cp >> 6 & 63));
    to[3] = (char)(0x80 | (cp & 63));
    return 4;
}

static bool
surrogate_error(Lexer *lx, const char *at, bool high)
{
    lx->terminator = at;
    return syntax_error(lx, high ? "Unicode high surrogate must not follow a high surrogate.%.*s" : "Unicode low surrogate must follow a high surrogate.%.*s",
                        (Str){"", 0});
}

/* \uXXXX at s (behind the u). *high: a high surrogate waits for its other half. */
static bool
unicode_escape(Lexer *lx, const char **s, u32 *high, char **to)
{
    u32 cp = 0;
    for (u32 i = 0; i < 4; i++, ++*s) {
        if (*s >= lx->end) {
            lx->terminator = lx->end;
            return invalid_token(lx);
        }
        char c = to_lower(**s);
        if (!is_digit(c) && !(c >= 'a' && c <= 'f')) {
            lx->terminator = char_end(*s, lx->end);
            return syntax_error(lx, "\"\\u\" must be followed by four hexadecimal digits.%.*s", (Str){"", 0});
        }
        cp = cp << 4 | (u32)(is_digit(c) ? c - '0' : c - 'a' + 10);
    }
    if (!lx->arena)
        return true;
    if (cp >= 0xd800 && cp <= 0xdbff) {
        if (*high)
            return surrogate_error(lx, *s, true);
        *high = cp;
        return true;
    }
    bool low = cp >= 0xdc00 && cp <= 0xdfff;
    if (low != (*high != 0))
        return surrogate_error(lx, *s, false);
    if (low)
        cp = 0x10000 + ((*high & 0x3ff) << 10 | (cp & 0x3ff));
    *high = 0;
    if (!cp) {
        lx->terminator = *s;
        error_set(lx->err, ERR_UNTRANSLATABLE_CHARACTER, "unsupported Unicode escape sequence");
        error_detail(lx->err, "\\u0000 cannot be converted to text.");
        add_context(lx);
        return false;
    }
    *to += put_utf8(cp, *to);
    return true;
}

static bool
lex_string(Lexer *lx)
{
    static const char ESCAPES[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
    const char *s = lx->start + 1, *close = s;
    while (close < lx->end && *close != '"' && *close != '\\' && (u8)*close >= 32)
        close++;
    if (close < lx->end && *close == '"') { /* nothing to decode */
        lx->text = (Str){s, (u32)(close - s)};
        lx->at = lx->terminator = close + 1;
        return true;
    }
    char *text = lx->arena ? arena_alloc(lx->arena, (size_t)(lx->end - s) + 4) : NULL, *to = text;
    u32 high = 0;
    if (lx->arena && !text)
        return error_set(lx->err, ERR_OUT_OF_MEMORY, "out of memory");
    for (;;) {
        if (s >= lx->end) {
            lx->terminator = lx->end;
            return invalid_token(lx);
        }
        if (*s == '"')
            break;
        if ((u8)*s < 32) {
            char detail[64];
            lx->terminator = s;
            snprintf(detail, sizeof detail, "Character with value 0x%02x must be escaped.%%.*s", (u8)*s);
            return syntax_error(lx, detail, (Str){"", 0});
        }
        if (*s != '\\') {
            if (high)
                return surrogate_error(lx, char_end(s, lx->end), false);
            if (text)
                *to++ = *s;
            s++;
            continue;
        }
        if (++s >= lx->end) {
            lx->terminator = lx->end;
            return invalid_token(lx);
        }
        if (*s == 'u') {
            s++;
            if (!unicode_escape(lx, &s, &high, &to))
                return false;
            continue;
        }
        if (high)
            return surrogate_error(lx, char_end(s, lx->end), false);
        const char *e = *s ? strchr(ESCAPES, *s) : NULL;
        if (!e) {
            lx->start = s;
            lx->terminator = char_end(s, lx->end);
            return syntax_error(lx, "Escape sequence \"\\%.*s\" is invalid.", token_text(lx));
        }
        if (text)
            *to++ = MEANT[e - ESCAPES];
        s++;
    }
    if (high)
        return surrogate_error(lx, s + 1, false);
    lx->text = (Str){text, (u32)(to - text)};
    lx->at = lx->terminator = s + 1;
    return true;
}

static const char *
digits_end(const char *s, const char *end)
{
    while (s < end && is_digit(*s))
        s++;
    return s;
}

static bool
lex_number(Lexer *lx)
{
    const char *s = lx->start, *end = lx->end, *from;
    bool bad = false;
    if (*s == '-')
        s++;
    if (s < end && *s == '0')
        s++;
    else {
        from = s;
        s = digits_end(s, end);
        bad = s == from;
    }
    if (s < end && *s == '.') {
        from = ++s;
        s = digits_end(s, end);
        bad |= s == from;
    }
    if (s < end && (*s == 'e' || *s == 'E')) {
        s++;
        if (s < end && (*s == '+' || *s == '-'))
            s++;
        from = s;
        s = digits_end(s, end);
        bad |= s == from;
    }
    for (; s < end && is_word(*s); s++)
        bad = true;
    lx->at = lx->terminator = s;
    return !bad || invalid_token(lx);
}

static bool
lex_word(Lexer *lx)
{
    static const struct {
        const char *word;
        Token token;
    } WORDS[] = {{"true", TOK_TRUE}, {"false", TOK_FALSE}, {"null", TOK_NULL}};
    const char *p = lx->start;
    while (p < lx->end && is_word(*p))
        p++;
    lx->terminator = p == lx->start ? p + 1 : p;
    lx->at = lx->terminator;
    for (u32 i = 0; i < COUNT_OF(WORDS); i++)
        if (str_eq(token_text(lx), str_of(WORDS[i].word))) {
            lx->token = WORDS[i].token;
            return true;
        }
    return invalid_token(lx);
}

static bool
lex(Lexer *lx)
{
    static const char PUNCTUATION[] = "{}[],:";
    static const Token TOKENS[] = {TOK_OBJECT_START, TOK_OBJECT_END, TOK_ARRAY_START, TOK_ARRAY_END, TOK_COMMA, TOK_COLON};
    const char *s = lx->at;
    for (; s < lx->end && (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r'); s++)
        if (*s == '\n') {
            lx->line++;
            lx->line_start = s + 1;
        }
    lx->before = lx->terminator;
    lx->start = lx->at = s;
    if (s >= lx->end) {
        lx->terminator = s;
        lx->token = TOK_END;
        return true;
    }
    const char *p = *s ? strchr(PUNCTUATION, *s) : NULL;
    if (p) {
        lx->token = TOKENS[p - PUNCTUATION];
        lx->at = lx->terminator = s + 1;
        return true;
    }
    if (*s == '"') {
        lx->token = TOK_STRING;
        return lex_string(lx);
    }
    if (*s == '-' || is_digit(*s)) {
        lx->token = TOK_NUMBER;
        return lex_number(lx);
    }
    lx->token = TOK_NULL; /* of some kind, for the context of an error */
    return lex_word(lx);
}

/* ---- values ---- */
static bool parse_value(Lexer *lx, JsonNode **ret, const char *expected);

static bool
new_node(Lexer *lx, JsonKind kind, JsonNode **ret)
{
    *ret = NULL;
    if (!lx->arena)
        return true;
    *ret = arena_zalloc(lx->arena, sizeof **ret);
    if (!*ret)
        return error_set(lx->err, ERR_OUT_OF_MEMORY, "out of memory");
    (*ret)->kind = kind;
    (*ret)->raw = token_text(lx);
    return true;
}

static void
append(JsonNode *parent, JsonNode **last, JsonNode *child)
{
    if (!parent)
        return;
    if (*last)
        (*last)->next = child;
    else
        parent->first = child;
    *last = child;
    parent->count++;
}

static bool
parse_members(Lexer *lx, JsonNode *object)
{
    JsonNode *last = NULL, *child;
    if (lx->token == TOK_OBJECT_END)
        return true;
    if (lx->token != TOK_STRING)
        return unexpected(lx, "Expected string or \"}\", but found \"%.*s\".");
    for (;;) {
        Str key = lx->text;
        if (!lex(lx))
            return false;
        if (lx->token != TOK_COLON)
            return unexpected(lx, "Expected \":\", but found \"%.*s\".");
        if (!lex(lx) || !parse_value(lx, &child, "Expected JSON value, but found \"%.*s\"."))
            return false;
        if (child)
            child->key = key;
        append(object, &last, child);
        if (lx->token != TOK_COMMA)
            break;
        if (!lex(lx))
            return false;
        if (lx->token != TOK_STRING)
            return unexpected(lx, "Expected string, but found \"%.*s\".");
    }
    return lx->token == TOK_OBJECT_END || unexpected(lx, "Expected \",\" or \"}\", but found \"%.*s\".");
}

static bool
parse_elements(Lexer *lx, JsonNode *array)
{
    JsonNode *last = NULL, *child;
    if (lx->token == TOK_ARRAY_END)
        return true;
    for (;;) {
        if (!parse_value(lx, &child, "Expected JSON value, but found \"%.*s\"."))
            return false;
        append(array, &last, child);
        if (lx->token != TOK_COMMA)
            break;
        if (!lex(lx))
            return false;
    }
    return lx->token == TOK_ARRAY_END || unexpected(lx, "Expected \",\" or \"]\", but found \"%.*s\".");
}

static bool
parse_container(Lexer *lx, bool object, JsonNode **ret)
{
    const char *start = lx->start;
    if (++lx->depth > JSON_MAX_DEPTH)
        return error_set(lx->err, ERR_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
    if (!new_node(lx, object ? JSON_OBJECT : JSON_ARRAY, ret) || !lex(lx) || !(object ? parse_members(lx, *ret) : parse_elements(lx, *ret)))
        return false;
    if (*ret)
        (*ret)->raw = (Str){start, (u32)(lx->terminator - start)};
    lx->depth--;
    return true;
}

/* The token is the value's first; afterwards it is what follows the value. */
static bool
parse_value(Lexer *lx, JsonNode **ret, const char *expected)
{
    bool ok;
    switch (lx->token) {
    case TOK_OBJECT_START: ok = parse_container(lx, true, ret); break;
    case TOK_ARRAY_START: ok = parse_container(lx, false, ret); break;
    case TOK_STRING: ok = new_node(lx, JSON_STRING, ret); break;
    case TOK_NUMBER: ok = new_node(lx, JSON_NUMBER, ret); break;
    case TOK_TRUE:
    case TOK_FALSE: ok = new_node(lx, JSON_BOOL, ret); break;
    case TOK_NULL: ok = new_node(lx, JSON_NULL, ret); break;
    case TOK_END: case TOK_OBJECT_END: case TOK_ARRAY_END: case TOK_COMMA: case TOK_COLON:
    default: return unexpected(lx, expected);
    }
    if (!ok)
        return false;
    if (*ret) {
        (*ret)->truth = lx->token == TOK_TRUE;
        (*ret)->text = (*ret)->kind == JSON_STRING ? lx->text : (*ret)->raw;
    }
    return lex(lx);
}

static bool
parse(Arena *a, Str in, JsonNode **ret, Error *err)
{
    Lexer lx = {.arena = a, .input = in.ptr, .at = in.ptr, .end = in.ptr + in.len, .line_start = in.ptr, .terminator = in.ptr, .line = 1, .err = err};
    if (!lex(&lx) || !parse_value(&lx, ret, "Expected JSON value, but found \"%.*s\"."))
        return false;
    return lx.token == TOK_END || unexpected(&lx, "Expected end of input, but found \"%.*s\".");
}

bool
json_check(Str in, Error *err)
{
    JsonNode *none;
    return parse(NULL, in, &none, err);
}

bool
json_parse(Arena *a, Str in, JsonNode **ret, Error *err)
{
    return parse(a, in, ret, err);
}

/* ---- looking into values ---- */
const JsonNode *
json_member(const JsonNode *n, Str key)
{
    const JsonNode *found = NULL;
    for (const JsonNode *m = n->kind == JSON_OBJECT ? n->first : NULL; m; m = m->next)
        if (str_eq(m->key, key))
            found = m; /* of equal keys the last */
    return found;
}

const JsonNode *
json_element(const JsonNode *n, i64 index)
{
    if (n->kind != JSON_ARRAY)
        return NULL;
    if (index < 0)
        index += n->count;
    const JsonNode *m = index < 0 || index >= n->count ? NULL : n->first;
    while (m && index-- > 0)
        m = m->next;
    return m;
}
