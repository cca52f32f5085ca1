/*
 * bytes.c
 *    Functions of bytea: pieces and single bytes, encode() and decode(), digests. Positions and lengths count bytes.
 */
#include "backend/kern/call.h"
#include "backend/kern/md5.h"
#include "common/type/bytea.h"

#include <sodium.h>

enum { BASE64_LINE = 76 };

static bool
bytes_substr(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 from = ARG(c, 1, i32, i), end = INT32_MAX;
    if (c->arg_count == 3) {
        i64 len = ARG(c, 2, i32, i);
        if (len < 0)
            return error_set(c->err, ERR_SUBSTRING_ERROR, "negative substring length not allowed");
        end = MIN(from + len, (i64)INT32_MAX);
    }
    from = MAX(from, (i64)1) - 1;
    end = MIN(end - 1, (i64)s.len);
    RET(c, Str, i) = from < end ? (Str){s.ptr + from, (u32)(end - from)} : (Str){"", 0};
    return true;
}

static bool
bytes_position(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), part = ARG(c, 1, Str, i);
    const char *at = part.len == 0 ? s.ptr : part.len > s.len ? NULL : memmem(s.ptr, s.len, part.ptr, part.len);
    RET(c, i32, i) = at ? (i32)(at - s.ptr) + 1 : 0;
    return true;
}

static bool
index_error(KernCall *c, i64 index, i64 count)
{
    return error_set(c->err, ERR_ARRAY_SUBSCRIPT, "index %lld out of valid range, 0..%lld", (long long)index, (long long)count - 1);
}

/* The function's name says at which ends. */
static bool
bytes_trim(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), set = ARG(c, 1, Str, i);
    char side = c->def->name[0];
    while (side != 'r' && s.len && set.len && memchr(set.ptr, s.ptr[0], set.len))
        s = (Str){s.ptr + 1, s.len - 1};
    while (side != 'l' && s.len && set.len && memchr(set.ptr, s.ptr[s.len - 1], set.len))
        s.len--;
    RET(c, Str, i) = s;
    return true;
}

static bool
bit_count(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 n = 0;
    for (u32 k = 0; k < s.len; k++)
        n += __builtin_popcount((u8)s.ptr[k]);
    RET(c, i64, i) = n;
    return true;
}

static bool
bytes_overlay(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i), by = ARG(c, 1, Str, i);
    i32 at = ARG(c, 2, i32, i), count = c->arg_count > 3 ? ARG(c, 3, i32, i) : (i32)by.len, rest;
    if (at <= 0)
        return error_set(c->err, ERR_SUBSTRING_ERROR, "negative substring length not allowed");
    if (__builtin_add_overflow(at, count, &rest))
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
    u32 head = MIN((u32)at - 1, s.len), tail = MIN((u32)MAX(rest, 1) - 1, s.len);
    char *to = arena_alloc(c->scratch, (size_t)head + by.len + (s.len - tail) + 1);
    memcpy(to, s.ptr, head);
    memcpy(to + head, by.ptr, by.len);
    memcpy(to + head + by.len, s.ptr + tail, s.len - tail);
    RET(c, Str, i) = (Str){to, head + by.len + (s.len - tail)};
    return true;
}

static bool
get_byte(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i32 n = ARG(c, 1, i32, i);
    if (n < 0 || (u32)n >= s.len)
        return index_error(c, n, s.len);
    RET(c, i32, i) = (u8)s.ptr[n];
    return true;
}

static bool
get_bit(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 n = ARG(c, 1, i64, i);
    if (n < 0 || n >= (i64)s.len * 8)
        return index_error(c, n, (i64)s.len * 8);
    RET(c, i32, i) = (u8)s.ptr[n / 8] >> (n % 8) & 1;
    return true;
}

/* A copy to change. */
static u8 *
own_copy(KernCall *c, u32 i, Str s)
{
    u8 *to = arena_alloc(c->scratch, s.len + 1u);
    memcpy(to, s.ptr, s.len);
    RET(c, Str, i) = (Str){(const char *)to, s.len};
    return to;
}

static bool
set_byte(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i32 n = ARG(c, 1, i32, i);
    if (n < 0 || (u32)n >= s.len)
        return index_error(c, n, s.len);
    own_copy(c, i, s)[n] = (u8)ARG(c, 2, i32, i);
    return true;
}

static bool
set_bit(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    i64 n = ARG(c, 1, i64, i);
    i32 bit = ARG(c, 2, i32, i);
    if (n < 0 || n >= (i64)s.len * 8)
        return index_error(c, n, (i64)s.len * 8);
    if (bit != 0 && bit != 1)
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "new bit must be 0 or 1");
    u8 *at = own_copy(c, i, s) + n / 8;
    *at = (u8)((*at & ~(1u << (n % 8))) | (u32)bit << (n % 8));
    return true;
}

/* ---- encode and decode ---- */
typedef enum Encoding { ENCODING_HEX, ENCODING_BASE64, ENCODING_ESCAPE } Encoding;

static bool
find_encoding(KernCall *c, Str name, Encoding *ret)
{
    static const char *const NAMES[] = {"hex", "base64", "escape"};
    for (u32 k = 0; k < COUNT_OF(NAMES); k++)
        if (name.len == strlen(NAMES[k]) && strncasecmp(name.ptr, NAMES[k], name.len) == 0) {
            *ret = (Encoding)k;
            return true;
        }
    return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "unrecognized encoding: \"%.*s\"", (int)MIN(name.len, 200u), name.ptr);
}

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Lines of 76 characters, as PostgreSQL writes them. */
static u32
base64_encode(const u8 *s, size_t len, char *to)
{
    char *at = to, *line_end = to + BASE64_LINE;
    for (size_t i = 0; i < len; i += 3) {
        size_t left = len - i;
        u32 v = (u32)s[i] << 16 | (left > 1 ? (u32)s[i + 1] << 8 : 0) | (left > 2 ? s[i + 2] : 0);
        *at++ = BASE64[v >> 18];
        *at++ = BASE64[v >> 12 & 63];
        *at++ = left > 1 ? BASE64[v >> 6 & 63] : '=';
        *at++ = left > 2 ? BASE64[v & 63] : '=';
        if (left >= 3 && at >= line_end) {
            *at++ = '\n';
            line_end = at + BASE64_LINE;
        }
    }
    return (u32)(at - to);
}

static bool
bad_symbol(KernCall *c, const char *p, const char *end)
{
    int n = 1;
    while (p + n < end && ((u8)p[n] & 0xc0) == 0x80)
        n++;
    return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid symbol \"%.*s\" found while decoding base64 sequence", n, p);
}

static bool
base64_decode(KernCall *c, Str in, u8 *to, u32 *ret_len)
{
    u32 v = 0, have = 0, len = 0, keep = 3;
    for (const char *p = in.ptr, *end = in.ptr + in.len; p < end; p++) {
        if (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r')
            continue;
        u32 bits = 0;
        if (*p == '=') {
            if (keep == 3) {
                if (have != 2 && have != 3)
                    return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "unexpected \"=\" while decoding base64 sequence");
                keep = have - 1;
            }
        } else {
            const char *at = *p ? strchr(BASE64, *p) : NULL;
            if (!at)
                return bad_symbol(c, p, end);
            bits = (u32)(at - BASE64);
        }
        v = v << 6 | bits;
        if (++have < 4)
            continue;
        for (u32 k = 0; k < keep; k++)
            to[len++] = (u8)(v >> (16 - 8 * k));
        v = have = 0;
    }
    if (have) {
        error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "invalid base64 end sequence");
        error_hint(c->err, "Input data is missing padding, is truncated, or is otherwise corrupted.");
        return false;
    }
    *ret_len = len;
    return true;
}

static bool
encode(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    const u8 *bytes = (const u8 *)s.ptr;
    Encoding e = ENCODING_HEX;
    if (!find_encoding(c, ARG(c, 1, Str, i), &e))
        return false;
    size_t len = e == ENCODING_HEX ? 2 * (size_t)s.len
        : e == ENCODING_BASE64 ? ((size_t)s.len + 2) / 3 * 4 + (size_t)s.len / 57 : escape_encode_len(bytes, s.len, escape_rule_encode);
    if (len > 0x3fffffff)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "result of encoding conversion is too large");
    char *to = arena_alloc(c->scratch, len + 1);
    if (e == ENCODING_HEX)
        hex_encode(bytes, s.len, to);
    else if (e == ENCODING_ESCAPE)
        escape_encode(bytes, s.len, escape_rule_encode, to);
    else
        len = base64_encode(bytes, s.len, to);
    RET(c, Str, i) = (Str){to, (u32)len};
    return true;
}

static bool
decode(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    Encoding e = ENCODING_HEX;
    u32 len;
    if (!find_encoding(c, ARG(c, 1, Str, i), &e))
        return false;
    u8 *to = arena_alloc(c->scratch, s.len + 1u);
    bool ok = e == ENCODING_HEX ? hex_decode(s, to, &len, c->err)
        : e == ENCODING_BASE64 ? base64_decode(c, s, to, &len) : escape_decode(s, to, &len, c->err);
    if (ok)
        RET(c, Str, i) = (Str){(const char *)to, len};
    return ok;
}

/* ---- digests ---- */
static bool
md5_hex(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    u8 digest[16];
    char *to = arena_alloc(c->scratch, 32);
    md5((const u8 *)s.ptr, s.len, digest);
    hex_encode(digest, sizeof digest, to);
    RET(c, Str, i) = (Str){to, 32};
    return true;
}

static bool
sha256(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    u8 *to = arena_alloc(c->scratch, crypto_hash_sha256_BYTES);
    crypto_hash_sha256(to, (const u8 *)s.ptr, s.len);
    RET(c, Str, i) = (Str){(const char *)to, crypto_hash_sha256_BYTES};
    return true;
}

static bool
sha512(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    u8 *to = arena_alloc(c->scratch, crypto_hash_sha512_BYTES);
    crypto_hash_sha512(to, (const u8 *)s.ptr, s.len);
    RET(c, Str, i) = (Str){(const char *)to, crypto_hash_sha512_BYTES};
    return true;
}

KernRow
bytes_row(FuncOp op)
{
    switch ((int)op) {
    case FOP_BYTES_SUBSTR: return bytes_substr;
    case FOP_BYTES_POSITION: return bytes_position;
    case FOP_BYTES_TRIM: return bytes_trim;
    case FOP_BYTES_BIT_COUNT: return bit_count;
    case FOP_BYTES_OVERLAY: return bytes_overlay;
    case FOP_GET_BYTE: return get_byte;
    case FOP_SET_BYTE: return set_byte;
    case FOP_GET_BIT: return get_bit;
    case FOP_SET_BIT: return set_bit;
    case FOP_ENCODE: return encode;
    case FOP_DECODE: return decode;
    case FOP_MD5: return md5_hex;
    case FOP_SHA256: return sha256;
    case FOP_SHA512: return sha512;
    default: return NULL;
    }
}
