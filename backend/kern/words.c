/*
 * words.c
 *    parse_ident(), unistr(), normalize().
 */
#include "backend/kern/call.h"
#include "common/type/array.h"

#include <stdlib.h>
#include <strings.h>
#include <utf8proc.h>

/* ---- parse_ident ---- */

static bool
is_start(u8 c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
not_valid(KernCall *c, Str s, const char *detail)
{
    error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "string is not a valid identifier: \"%.*s\"", (int)s.len, s.ptr);
    if (detail)
        error_detail(c->err, "%s", detail);
    return false;
}

/* One name at *at, folded or without its quotes. */
static bool
read_part(KernCall *c, Str s, u32 *at, bool after_dot, Str *ret)
{
    u32 k = *at, len = 0;
    char *to = arena_alloc(c->scratch, s.len + 1u);
    if (k < s.len && s.ptr[k] == '"') {
        for (k++; k < s.len && !(s.ptr[k] == '"' && !(k + 1 < s.len && s.ptr[k + 1] == '"')); k++) {
            k += s.ptr[k] == '"';
            to[len++] = s.ptr[k];
        }
        if (k >= s.len)
            return not_valid(c, s, "String has unclosed double quotes.");
        k++;
        if (len == 0)
            return not_valid(c, s, "Quoted identifier must not be empty.");
    } else if (k < s.len && is_start((u8)s.ptr[k])) {
        for (; k < s.len && (is_start((u8)s.ptr[k]) || (s.ptr[k] >= '0' && s.ptr[k] <= '9') || s.ptr[k] == '$'); k++)
            to[len++] = (char)(s.ptr[k] >= 'A' && s.ptr[k] <= 'Z' ? s.ptr[k] + 32 : s.ptr[k]);
    } else if (k < s.len && s.ptr[k] == '.') {
        return not_valid(c, s, "No valid identifier before \".\".");
    } else {
        return not_valid(c, s, after_dot ? "No valid identifier after \".\"." : NULL);
    }
    *at = k;
    *ret = (Str){to, len};
    return true;
}

static bool
parse_ident(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    bool strict = c->arg_count < 2 || ARG(c, 1, u8, i), after_dot = false;
    ArrayBuild b = array_build(c->scratch, TYPE_TEXT);
    u32 at = 0;
    for (;;) {
        Value v = {.type = TYPE_TEXT, .typmod = -1};
        while (at < s.len && is_blank(s.ptr[at]))
            at++;
        if (!read_part(c, s, &at, after_dot, &v.str) || !array_add(&b, &v, c->err))
            return false;
        while (at < s.len && is_blank(s.ptr[at]))
            at++;
        if (at < s.len && s.ptr[at] == '.') {
            after_dot = true;
            at++;
        } else if (at == s.len || !strict) {
            return array_finish_list(&b, &RET(c, Str, i), c->err);
        } else {
            return not_valid(c, s, NULL);
        }
    }
}

/* ---- unistr ---- */

static bool
bad_unicode(KernCall *c, const char *what)
{
    return error_set(c->err, ERR_SYNTAX_ERROR, "%s", what);
}

/* n hexadecimal digits behind `skip` characters. */
static bool
read_hex(Str s, u32 at, u32 n, u32 *ret)
{
    *ret = 0;
    if (s.len - at < n)
        return false;
    for (u32 k = 0; k < n; k++) {
        u8 c = (u8)s.ptr[at + k];
        u32 digit = c >= '0' && c <= '9' ? c - 48u : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32u) - 'a' + 10 : 16;
        if (digit == 16)
            return false;
        *ret = *ret << 4 | digit;
    }
    return true;
}

static bool
unistr(KernCall *c, u32 i)
{
    static const struct { char mark; u8 skip, digits; } forms[] = {{'u', 2, 4}, {'U', 2, 8}, {'+', 2, 6}, {0, 1, 4}};
    Str s = ARG(c, 0, Str, i);
    char *to = arena_alloc(c->scratch, s.len + 4u);
    u32 len = 0, first = 0;
    for (u32 at = 0; at < s.len;) {
        u32 cp = 0, k = 0;
        if (s.ptr[at] != '\\' || (at + 1 < s.len && s.ptr[at + 1] == '\\')) {
            if (first)
                return bad_unicode(c, "invalid Unicode surrogate pair");
            to[len++] = s.ptr[at];
            at += s.ptr[at] == '\\' ? 2 : 1;
            continue;
        }
        while (k < COUNT_OF(forms) && (forms[k].mark && !(at + 1 < s.len && s.ptr[at + 1] == forms[k].mark)))
            k++;
        if (at + forms[k].skip > s.len || !read_hex(s, at + forms[k].skip, forms[k].digits, &cp)) {
            bad_unicode(c, "invalid Unicode escape");
            error_hint(c->err, "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.");
            return false;
        }
        at += forms[k].skip + forms[k].digits;
        if (cp == 0 || cp > 0x10ffff)
            return bad_unicode(c, "invalid Unicode code point");
        bool low = cp >= 0xdc00 && cp <= 0xdfff, high = cp >= 0xd800 && cp <= 0xdbff;
        if (first ? !low : low)
            return bad_unicode(c, "invalid Unicode surrogate pair");
        if (low)
            cp = 0x10000 + ((first & 0x3ff) << 10) + (cp & 0x3ff);
        first = high ? cp : 0;
        if (!high)
            len += (u32)utf8proc_encode_char((utf8proc_int32_t)cp, (utf8proc_uint8_t *)to + len);
    }
    if (first)
        return bad_unicode(c, "invalid Unicode surrogate pair");
    RET(c, Str, i) = (Str){to, len};
    return true;
}

/* ---- normalize ---- */

static bool
normal_form(KernCall *c, u32 i, Str *ret)
{
    static const struct { const char *name; utf8proc_option_t options; } forms[] = {
        {"nfc", UTF8PROC_STABLE | UTF8PROC_COMPOSE}, {"nfd", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE},
        {"nfkc", UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT}, {"nfkd", UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT}};
    Str s = ARG(c, 0, Str, i), name = c->arg_count > 1 ? ARG(c, 1, Str, i) : STR_LIT("nfc");
    u32 k = 0;
    while (k < COUNT_OF(forms) && !(strlen(forms[k].name) == name.len && strncasecmp(forms[k].name, name.ptr, name.len) == 0))
        k++;
    if (k == COUNT_OF(forms))
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid normalization form: %.*s", (int)name.len, name.ptr);
    utf8proc_uint8_t *to;
    utf8proc_ssize_t len = utf8proc_map((const utf8proc_uint8_t *)s.ptr, s.len, &to, forms[k].options);
    if (len < 0)
        return error_set(c->err, ERR_OUT_OF_MEMORY, "out of memory");
    *ret = arena_str(c->scratch, (Str){(const char *)to, (u32)len});
    free(to);
    return true;
}

static bool
normalize(KernCall *c, u32 i)
{
    return normal_form(c, i, &RET(c, Str, i));
}

static bool
is_normalized(KernCall *c, u32 i)
{
    Str normal;
    if (!normal_form(c, i, &normal))
        return false;
    RET(c, u8, i) = str_eq(normal, ARG(c, 0, Str, i));
    return true;
}

KernRow
words_row(FuncOp op)
{
    switch ((int)op) {
    case FOP_PARSE_IDENT: return parse_ident;
    case FOP_UNISTR: return unistr;
    case FOP_NORMALIZE: return normalize;
    case FOP_IS_NORMALIZED: return is_normalized;
    default: return NULL;
    }
}
