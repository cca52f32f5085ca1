/*
 * utf8.c
 *    UTF-8: validity, length in characters, and the error that names a bad sequence.
 *
 * Valid is what RFC 3629 says and PostgreSQL accepts: no overlong forms, no surrogates, nothing above U+10FFFF.
 * Runs of ASCII go eight bytes at a time. A zero byte is valid UTF-8 but no part of any text value; utf8_check
 * reports it.
 */
#include "common/type/inside.h"

/* Length of the valid character at s, 0 when it is none; left > 0. */
static u32
char_len(const u8 *s, size_t left)
{
    u8 c = s[0];
    if (c < 0x80)
        return 1;
    if (c < 0xc2)
        return 0;
    if (c < 0xe0)
        return left >= 2 && (s[1] & 0xc0) == 0x80 ? 2 : 0;
    if (c < 0xf0) {
        u8 low = c == 0xe0 ? 0xa0 : 0x80, high = c == 0xed ? 0x9f : 0xbf;
        return left >= 3 && s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 ? 3 : 0;
    }
    if (c < 0xf5) {
        u8 low = c == 0xf0 ? 0x90 : 0x80, high = c == 0xf4 ? 0x8f : 0xbf;
        bool ok = left >= 4 && s[1] >= low && s[1] <= high && (s[2] & 0xc0) == 0x80 && (s[3] & 0xc0) == 0x80;
        return ok ? 4 : 0;
    }
    return 0;
}

/* The first bad byte, or the end. A zero byte stops only when stop_at_zero. */
static const u8 *
skip_valid(const u8 *s, const u8 *end, bool stop_at_zero)
{
    const u64 HIGH = 0x8080808080808080ull, ONES = 0x0101010101010101ull;
    while (s < end) {
        while (end - s >= 8) {
            u64 w;
            memcpy(&w, s, 8);
            /* Without high bits, (w - ONES) borrows into a high bit exactly when some byte is 0. */
            if ((w & HIGH) || (stop_at_zero && ((w - ONES) & HIGH)))
                break;
            s += 8;
        }
        if (s == end)
            break;
        u32 n = char_len(s, (size_t)(end - s));
        if (n == 0 || (stop_at_zero && *s == 0))
            break;
        s += n;
    }
    return s;
}

bool
utf8_valid(const u8 *s, size_t len)
{
    return skip_valid(s, s + len, false) == s + len;
}

/* 22021 naming the bytes of the character at `at`. */
static bool
bad_bytes(Error *err, const u8 *at, size_t left)
{
    u8 c = at[0];
    size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf8 ? 4 : 1;
    char text[32];
    u32 len = 0;
    for (size_t i = 0; i < MIN(n, left); i++) {
        static const char HEX[] = "0123456789abcdef";
        text[len++] = ' ';
        text[len++] = '0';
        text[len++] = 'x';
        text[len++] = HEX[at[i] >> 4];
        text[len++] = HEX[at[i] & 15];
    }
    return error_set(err, ERR_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\":%.*s",
                     (int)len, text);
}

bool
utf8_check(Str in, Error *err)
{
    const u8 *s = (const u8 *)in.ptr, *end = s + in.len, *bad = skip_valid(s, end, true);
    return bad == end || bad_bytes(err, bad, (size_t)(end - bad));
}

u32
utf8_len(Str s)
{
    u32 count = 0;
    for (u32 i = 0; i < s.len; i++)
        count += ((u8)s.ptr[i] & 0xc0) != 0x80;
    return count;
}

u32
utf8_prefix(Str s, u32 chars)
{
    u32 i = 0;
    while (i < s.len && chars > 0) {
        i++;
        while (i < s.len && ((u8)s.ptr[i] & 0xc0) == 0x80)
            i++;
        chars--;
    }
    return i;
}

u32
utf8_clip(Str s, u32 max_bytes)
{
    if (s.len <= max_bytes)
        return s.len;
    while (max_bytes > 0 && ((u8)s.ptr[max_bytes] & 0xc0) == 0x80)
        max_bytes--;
    return max_bytes;
}

Str
text_shown(Str in)
{
    enum { SHOWN_MAX = 400 };
    in.len = utf8_clip(in, SHOWN_MAX);
    return in;
}

Str
text_trim(Str in)
{
    while (in.len > 0 && is_space(in.ptr[0]))
        in.ptr++, in.len--;
    while (in.len > 0 && is_space(in.ptr[in.len - 1]))
        in.len--;
    return in;
}

bool
text_is(Str in, const char *lower)
{
    u32 i = 0;
    for (; i < in.len; i++)
        if (lower[i] == 0 || to_lower(in.ptr[i]) != lower[i])
            return false;
    return lower[i] == 0;
}

bool
text_bad_syntax(Error *err, TypeId t, Str in)
{
    Str shown = text_shown(in);
    return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "invalid input syntax for type %s: \"%.*s\"", type_name(t),
                     (int)shown.len, shown.ptr);
}
