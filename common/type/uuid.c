/*
 * uuid.c
 *    Text forms of uuid: 32 hexadecimal digits, a hyphen allowed behind every fourth, braces allowed around all.
 *
 * A uuid is held as its 16 bytes in the order of the text, which is also the order of values.
 */
#include "common/type/inside.h"

enum { UUID_BYTES = 16, UUID_CHARS = 36 };

static int
hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c = to_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool
uuid_in(Str in, Pair *ret, Error *err)
{
    const char *p = in.ptr, *end = in.ptr + in.len;
    bool braces = p < end && *p == '{';
    u8 bytes[UUID_BYTES];
    p += braces;
    for (u32 i = 0; i < UUID_BYTES; i++) {
        int hi = end - p >= 2 ? hex_value(p[0]) : -1, lo = hi >= 0 ? hex_value(p[1]) : -1;
        if (lo < 0)
            return text_bad_syntax(err, TYPE_UUID, in);
        bytes[i] = (u8)(hi << 4 | lo);
        p += 2;
        if (p < end && *p == '-' && i % 2 == 1 && i < UUID_BYTES - 1)
            p++;
    }
    if (braces && (p == end || *p++ != '}'))
        return text_bad_syntax(err, TYPE_UUID, in);
    if (p != end)
        return text_bad_syntax(err, TYPE_UUID, in);
    *ret = (Pair){get_be64(bytes), get_be64(bytes + 8)};
    return true;
}

u32
uuid_out(const Pair *v, char *to)
{
    static const char HEX[] = "0123456789abcdef";
    u32 at = 0;
    for (u32 i = 0; i < 2 * UUID_BYTES; i++) {
        u64 half = i < UUID_BYTES ? v->hi : v->lo;
        if (i == 8 || i == 12 || i == 16 || i == 20)
            to[at++] = '-';
        to[at++] = HEX[half >> (60 - 4 * (i % UUID_BYTES)) & 15];
    }
    assert(at == UUID_CHARS);
    return at;
}
