/*
 * bytea.c
 *    Bytes as text: \x and hexadecimal digits, or PostgreSQL's older escape form; the setting bytea_output chooses what is written.
 */
#include "common/type/bytea.h"

#include "common/type/inside.h"

void
hex_encode(const u8 *bytes, size_t len, char *to)
{
    static const char HEX[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        to[2 * i] = HEX[bytes[i] >> 4];
        to[2 * i + 1] = HEX[bytes[i] & 15];
    }
}

static int
hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c = to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at p, as a message shows it. */
static bool
bad_digit(const char *p, const char *end, Error *err)
{
    int n = 1;
    while (p + n < end && ((u8)p[n] & 0xc0) == 0x80)
        n++;
    return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid hexadecimal digit: \"%.*s\"", n, p);
}

bool
hex_decode(Str in, u8 *to, u32 *ret_len, Error *err)
{
    const char *p = in.ptr, *end = in.ptr + in.len;
    u32 len = 0;
    while (p < end) {
        if (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r') {
            p++;
            continue;
        }
        int hi = hex_value(*p);
        if (hi < 0)
            return bad_digit(p, end, err);
        if (++p == end)
            return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid hexadecimal data: odd number of digits");
        int lo = hex_value(*p);
        if (lo < 0)
            return bad_digit(p, end, err);
        p++;
        to[len++] = (u8)(hi << 4 | lo);
    }
    *ret_len = len;
    return true;
}

bool
escape_rule_output(u8 byte)
{
    return byte < 0x20 || byte > 0x7e;
}

bool
escape_rule_encode(u8 byte)
{
    return byte == 0 || byte > 0x7f;
}

size_t
escape_encode_len(const u8 *bytes, size_t len, EscapeRule octal)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += octal(bytes[i]) ? 4 : bytes[i] == '\\' ? 2 : 1;
    return n;
}

void
escape_encode(const u8 *bytes, size_t len, EscapeRule octal, char *to)
{
    for (size_t i = 0; i < len; i++) {
        u8 b = bytes[i];
        if (octal(b)) {
            *to++ = '\\';
            *to++ = (char)('0' + (b >> 6));
            *to++ = (char)('0' + (b >> 3 & 7));
            *to++ = (char)('0' + (b & 7));
        } else {
            if (b == '\\')
                *to++ = '\\';
            *to++ = (char)b;
        }
    }
}

static bool
is_octal(char c, char last)
{
    return c >= '0' && c <= last;
}

bool
escape_decode(Str in, u8 *to, u32 *ret_len, Error *err)
{
    const char *p = in.ptr, *end = in.ptr + in.len;
    u32 len = 0;
    while (p < end) {
        if (*p != '\\') {
            to[len++] = (u8)*p++;
        } else if (end - p >= 4 && is_octal(p[1], '3') && is_octal(p[2], '7') && is_octal(p[3], '7')) {
            to[len++] = (u8)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
            p += 4;
        } else if (end - p >= 2 && p[1] == '\\') {
            to[len++] = '\\';
            p += 2;
        } else {
            return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea");
        }
    }
    *ret_len = len;
    return true;
}

bool
bytea_in(Arena *a, Str in, Str *ret, Error *err)
{
    bool hex = in.len >= 2 && in.ptr[0] == '\\' && in.ptr[1] == 'x';
    u8 *to = arena_alloc(a, hex ? in.len / 2 : in.len + 1u);
    u32 len;
    if (!to)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    if (hex ? !hex_decode((Str){in.ptr + 2, in.len - 2}, to, &len, err) : !escape_decode(in, to, &len, err))
        return false;
    *ret = (Str){(const char *)to, len};
    return true;
}

void
bytea_out(ByteBuf *to, const TypeFormat *f, Str v)
{
    const u8 *bytes = (const u8 *)v.ptr;
    bool escape = f && f->bytea_escape;
    size_t len = escape ? escape_encode_len(bytes, v.len, escape_rule_output) : 2 + 2 * (size_t)v.len;
    char *out = len ? buf_reserve(to, len) : NULL;
    if (!out)
        return;
    if (escape) {
        escape_encode(bytes, v.len, escape_rule_output, out);
    } else {
        memcpy(out, "\\x", 2);
        hex_encode(bytes, v.len, out + 2);
    }
    to->len += len;
}
