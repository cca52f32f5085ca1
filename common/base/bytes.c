/* bytes.c: bounded reading, growing writing. */
#include "common/base/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

ByteReader
reader_of(const void *data, size_t len)
{
    return (ByteReader){data, (const u8 *)data + len, false};
}

const u8 *
reader_take(ByteReader *r, size_t n)
{
    if (r->bad || (size_t)(r->end - r->at) < n) {
        r->bad = true;
        return NULL;
    }
    const u8 *p = r->at;
    r->at += n;
    return p;
}

#define READER(name, type, bytes, get)                                                                                 \
    type name(ByteReader *r)                                                                                           \
    {                                                                                                                  \
        const u8 *p = reader_take(r, bytes);                                                                           \
        return p ? get(p) : 0;                                                                                         \
    }
#define GET_U8(p) (*(p))
READER(reader_u8, u8, 1, GET_U8)
READER(reader_le16, u16, 2, get_le16)
READER(reader_le32, u32, 4, get_le32)
READER(reader_le64, u64, 8, get_le64)
READER(reader_be16, u16, 2, get_be16)
READER(reader_be32, u32, 4, get_be32)
READER(reader_be64, u64, 8, get_be64)

size_t
reader_left(const ByteReader *r)
{
    return r->bad ? 0 : (size_t)(r->end - r->at);
}

bool
reader_done(const ByteReader *r)
{
    return !r->bad && r->at == r->end;
}

void
buf_free(ByteBuf *b)
{
    free(b->data);
    *b = (ByteBuf){0};
}

void *
buf_reserve(ByteBuf *b, size_t n)
{
    if (b->failed)
        return NULL;
    if (b->capacity - b->len < n) {
        size_t capacity = b->capacity ? b->capacity : 256, need;
        if (__builtin_add_overflow(b->len, n, &need) || need > SIZE_MAX / 4) {
            b->failed = true;
            return NULL;
        }
        while (capacity < need)
            capacity *= 2;
        u8 *data = realloc(b->data, capacity);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

void
buf_put(ByteBuf *b, const void *data, size_t n)
{
    if (n == 0)
        return;
    void *to = buf_reserve(b, n);
    if (to) {
        memcpy(to, data, n);
        b->len += n;
    }
}

#define WRITER(name, type, bytes, put)                                                                                 \
    void name(ByteBuf *b, type v)                                                                                      \
    {                                                                                                                  \
        u8 *to = buf_reserve(b, bytes);                                                                                \
        if (to) {                                                                                                      \
            put(to, v);                                                                                                \
            b->len += bytes;                                                                                           \
        }                                                                                                              \
    }
#define PUT_U8(p, v) (*(p) = (v))
WRITER(buf_u8, u8, 1, PUT_U8)
WRITER(buf_le16, u16, 2, put_le16)
WRITER(buf_le32, u32, 4, put_le32)
WRITER(buf_le64, u64, 8, put_le64)
WRITER(buf_be16, u16, 2, put_be16)
WRITER(buf_be32, u32, 4, put_be32)
WRITER(buf_be64, u64, 8, put_be64)

void
buf_str(ByteBuf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void
buf_printf(ByteBuf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = len < 0 ? NULL : buf_reserve(b, (size_t)len + 1);
    if (to) {
        vsnprintf(to, (size_t)len + 1, format, again);
        b->len += (size_t)len;
    }
    va_end(again);
}
