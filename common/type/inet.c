/*
 * inet.c
 *    inet: an address of IPv4 or IPv6 with the bits of its network; held as its text in canonical form.
 *
 * So that equal values are equal texts. The system's relations show addresses; there is no arithmetic and no order.
 */
#include "common/type/inside.h"

#include <arpa/inet.h>
#include <stdio.h>

enum { INET_V4 = 2, INET_V6 = 3, INET_TEXT_MAX = INET6_ADDRSTRLEN + 5 };

typedef struct Inet {
    u8 family, bits; /* INET_V4, INET_V6 */
    u8 bytes[16];
} Inet;

static u32
full_bits(const Inet *n)
{
    return n->family == INET_V4 ? 32 : 128;
}

static bool
parse(Str in, Inet *ret)
{
    char text[INET_TEXT_MAX + 1], *slash;
    if (in.len == 0 || in.len > INET_TEXT_MAX || memchr(in.ptr, 0, in.len))
        return false;
    memcpy(text, in.ptr, in.len);
    text[in.len] = 0;
    slash = strchr(text, '/');
    if (slash)
        *slash = 0;
    *ret = (Inet){.family = strchr(text, ':') ? INET_V6 : INET_V4};
    if (inet_pton(ret->family == INET_V4 ? AF_INET : AF_INET6, text, ret->bytes) != 1)
        return false;
    u32 bits = slash ? 0 : full_bits(ret);
    for (const char *p = slash ? slash + 1 : ""; *p; p++) {
        if (*p < '0' || *p > '9' || bits > 128)
            return false;
        bits = bits * 10 + (u32)(*p - '0');
    }
    if (bits > full_bits(ret) || (slash && !slash[1]))
        return false;
    ret->bits = (u8)bits;
    return true;
}

static Str
canonical(Arena *a, const Inet *n)
{
    char address[INET6_ADDRSTRLEN];
    inet_ntop(n->family == INET_V4 ? AF_INET : AF_INET6, n->bytes, address, sizeof address);
    if (n->bits == full_bits(n))
        return arena_str(a, str_of(address));
    return str_of(arena_printf(a, "%s/%u", address, n->bits));
}

bool
inet_in(Arena *a, Str in, Str *ret, Error *err)
{
    Inet n;
    if (!parse(in, &n))
        return text_bad_syntax(err, TYPE_INET, in);
    *ret = canonical(a, &n);
    return true;
}

bool
inet_recv(Arena *a, const u8 *data, u32 len, Str *ret, Error *err)
{
    Inet n = {.family = len ? data[0] : 0};
    bool known = n.family == INET_V4 || n.family == INET_V6;
    if (!known || len != 4 + full_bits(&n) / 8 || data[3] != full_bits(&n) / 8 || data[1] > full_bits(&n))
        return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "invalid address in external \"inet\" value");
    n.bits = data[1];
    memcpy(n.bytes, data + 4, data[3]);
    *ret = canonical(a, &n);
    return true;
}

void
inet_send(ByteBuf *to, Str text)
{
    Inet n;
    ensure(parse(text, &n));
    buf_u8(to, n.family);
    buf_u8(to, n.bits);
    buf_u8(to, 0); /* no cidr */
    buf_u8(to, (u8)(full_bits(&n) / 8));
    buf_put(to, n.bytes, full_bits(&n) / 8);
}
