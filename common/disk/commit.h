/*
 * commit.h
 *    The COMMIT record: the last of a transaction's last frame. The LSN of that frame is the version.
 *
 *   0 u32 slot   4 u32 generation   8 u64 request sequence   (who asked: a new walwriter finds the answers of waiting requests, I9)
 *   16 i64 wall time, microseconds since 2000-01-01 UTC
 *   24 u64 token (0 none): the client may ask for the outcome by it
 *   32 u64 chain id (0: all of the transaction is in this frame)
 *   40 u64 rows changed
 *
 * The CHAIN record stands before the records of one request of a chain and says to which statement they belong (walwriter/chain.c):
 *   0 u64 chain id   8 u32 last ordinal before the statement   12 u32 last ordinal before the newest live savepoint   16 u32 ordinal of the first record   20 u32 0
 * The UNDO record:
 *   0 u64 chain id   8 u32 last ordinal kept   12 u32 0
 */
#ifndef COMMIT_H
#define COMMIT_H

#include "common/base/base.h"

enum { COMMIT_BYTES = 48, COMMIT_NO_SLOT = UINT32_MAX, CHAIN_BYTES = 24, UNDO_BYTES = 16 };

typedef struct CommitRecord {
    u32 slot, generation;
    u64 sequence;
    i64 wall_us;
    u64 token, chain_id, rows;
} CommitRecord;

void commit_encode(const CommitRecord *c, u8 to[COMMIT_BYTES]);
MUST_CHECK bool commit_decode(const u8 *data, u32 len, CommitRecord *ret);

/* Flag of a CHAIN record: the chain begins with it. Where a log is read from its middle, chains without their beginning are known by its absence. */
enum { CHAIN_FIRST = 1 };
typedef struct ChainRecord {
    u64 chain_id;
    u32 statement, savepoint, ordinal;
} ChainRecord;

void chain_encode(const ChainRecord *c, u8 to[CHAIN_BYTES]);
MUST_CHECK bool chain_decode(const u8 *data, u32 len, ChainRecord *ret);

typedef struct UndoRecord {
    u64 chain_id;
    u32 kept;
} UndoRecord;

void undo_encode(const UndoRecord *u, u8 to[UNDO_BYTES]);
MUST_CHECK bool undo_decode(const u8 *data, u32 len, UndoRecord *ret);

#endif
