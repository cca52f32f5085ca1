/*
 * record.h
 *    Records of a frame: { u16 kind, u16 flags, u32 length } and the payload, padded to 8 bytes with zeros.
 *
 * The request area of a box and a frame of the log hold the same records; both are walked by record_next, which trusts nothing.
 */
#ifndef RECORD_H
#define RECORD_H

#include "common/base/base.h"
#include "common/base/bytes.h"

enum { RECORD_HEAD_BYTES = 8 };

typedef struct Record {
    u16 kind, flags;
    u32 len;
    const u8 *payload; /* 8-byte aligned when the frame is */
} Record;

static inline u32 record_bytes(u32 payload_len) { return RECORD_HEAD_BYTES + ALIGN_UP(payload_len, 8u); }

/* Write the head and the padding behind the payload, which the caller has put (or will put) behind the head. Returns all bytes. */
static inline u32
record_frame(u8 *to, u16 kind, u16 flags, u32 len)
{
    put_le16(to, kind);
    put_le16(to + 2, flags);
    put_le32(to + 4, len);
    memset(to + RECORD_HEAD_BYTES + len, 0, ALIGN_UP(len, 8u) - len);
    return record_bytes(len);
}

/* Take the record at *at. false: nothing is left (*at == end) or what is there is no whole record (*ret_bad). */
static inline bool
record_next(const u8 **at, const u8 *end, Record *ret, bool *ret_bad)
{
    u64 left = (u64)(end - *at);
    *ret_bad = left != 0;
    if (left < RECORD_HEAD_BYTES)
        return false;
    Record r = {get_le16(*at), get_le16(*at + 2), get_le32(*at + 4), *at + RECORD_HEAD_BYTES};
    if (r.len > left - RECORD_HEAD_BYTES || ALIGN_UP((u64)r.len, 8) > left - RECORD_HEAD_BYTES)
        return false;
    for (u32 i = r.len; i < ALIGN_UP(r.len, 8u); i++)
        if (r.payload[i])
            return false;
    *at += record_bytes(r.len);
    *ret = r;
    *ret_bad = false;
    return true;
}

#endif
