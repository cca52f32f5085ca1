/*
 * bytes.h
 *    Bounded reading and growing writing of bytes, little-endian (disk, boxes) and big-endian (wire).
 *
 * ByteReader never reads past its end: the first short read sets `bad`, later reads give zeros, so a decoder checks once
 * at its end (reader_done). ByteBuf grows by malloc; a failed growth sets `failed` and later writes do nothing.
 */
#ifndef BYTES_H
#define BYTES_H

#include "common/base/base.h"

typedef struct ByteReader {
    const u8 *at, *end;
    bool bad;
} ByteReader;

typedef struct ByteBuf {
    u8 *data;
    size_t len, capacity;
    bool failed;
} ByteBuf;

static inline u16 get_le16(const void *p) { u16 v; memcpy(&v, p, 2); return v; }
static inline u32 get_le32(const void *p) { u32 v; memcpy(&v, p, 4); return v; }
static inline u64 get_le64(const void *p) { u64 v; memcpy(&v, p, 8); return v; }
static inline void put_le16(void *p, u16 v) { memcpy(p, &v, 2); }
static inline void put_le32(void *p, u32 v) { memcpy(p, &v, 4); }
static inline void put_le64(void *p, u64 v) { memcpy(p, &v, 8); }
static inline u16 get_be16(const void *p) { u16 v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline u32 get_be32(const void *p) { u32 v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline u64 get_be64(const void *p) { u64 v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline void put_be16(void *p, u16 v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void put_be32(void *p, u32 v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put_be64(void *p, u64 v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

ByteReader reader_of(const void *data, size_t len);
/* A pointer to the next n bytes, or NULL (and bad) when fewer are left. */
const u8 *reader_take(ByteReader *r, size_t n);
u8 reader_u8(ByteReader *r);
u16 reader_le16(ByteReader *r);
u32 reader_le32(ByteReader *r);
u64 reader_le64(ByteReader *r);
u16 reader_be16(ByteReader *r);
u32 reader_be32(ByteReader *r);
u64 reader_be64(ByteReader *r);
size_t reader_left(const ByteReader *r);
/* True when nothing was short and nothing is left over. */
bool reader_done(const ByteReader *r);

void buf_free(ByteBuf *b);
static inline void buf_clear(ByteBuf *b) { b->len = 0; b->failed = false; }
/* Room for n more bytes; NULL (and failed) without memory. The caller adds what it used to len. */
void *buf_reserve(ByteBuf *b, size_t n);
void buf_put(ByteBuf *b, const void *data, size_t n);
void buf_u8(ByteBuf *b, u8 v);
void buf_le16(ByteBuf *b, u16 v);
void buf_le32(ByteBuf *b, u32 v);
void buf_le64(ByteBuf *b, u64 v);
void buf_be16(ByteBuf *b, u16 v);
void buf_be32(ByteBuf *b, u32 v);
void buf_be64(ByteBuf *b, u64 v);
void buf_str(ByteBuf *b, const char *s);
void buf_printf(ByteBuf *b, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
