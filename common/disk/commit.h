/*
 * commit.h
 *    The COMMIT record: the last of a transaction's last frame. The LSN of that frame is the version.
 *
 *   0 u32 slot   4 u32 generation   8 u64 request sequence   (who asked: a new walwriter finds the answers of waiting requests, I9)
 *   16 i64 wall time, microseconds since 2000-01-01 UTC
 *   24 u64 token (0 none): the client may ask for the outcome by it
 *   32 u64 chain id (0: all of the transaction is in this frame)
 *   40 u64 rows changed
 */
#ifndef COMMIT_H
#define COMMIT_H

#include "common/base/base.h"

enum { COMMIT_BYTES = 48, COMMIT_NO_SLOT = UINT32_MAX };

typedef struct CommitRecord {
    u32 slot, generation;
    u64 sequence;
    i64 wall_us;
    u64 token, chain_id, rows;
} CommitRecord;

void commit_encode(const CommitRecord *c, u8 to[COMMIT_BYTES]);
MUST_CHECK bool commit_decode(const u8 *data, u32 len, CommitRecord *ret);

#endif
