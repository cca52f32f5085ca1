/*
 * compact.h
 *    The COMPACT record: rows of some blocks go to a new one, and have other row ids from then on.
 *
 *   0 u32 table id   4 u32 n, source blocks   8 u64 target block (0: no row is left)   16 u32 rows that go there   20 u32 0
 *   then each source: u64 block, u32 words of its bitmap, u32 bits set in it, the words (u64; bit set = the row goes), which need not reach the block's end
 *
 * Rows go in the order of the sources and of their places in them. A row that goes though it is deleted by now, because it was deleted while the target was
 * being filled, is deleted there, too. So the record says all that replay needs, whatever was deleted between.
 */
#ifndef COMPACT_H
#define COMPACT_H

#include "common/base/base.h"
#include "common/base/bytes.h"

enum { COMPACT_MAX_SOURCES = 256, COMPACT_HEAD_BYTES = 24, COMPACT_SOURCE_BYTES = 16, COMPACT_MAX_WORDS = 1024 };

typedef struct CompactSource {
    u64 block;
    const u64 *bits;
    u32 word_count, count;
} CompactSource;

typedef struct CompactRecord {
    u32 table_id, source_count;
    u64 target;
    u32 row_count;
    CompactSource sources[COMPACT_MAX_SOURCES];
} CompactRecord;

u32 compact_bytes(const CompactRecord *c);
/* `to` has compact_bytes of room. */
void compact_encode(const CompactRecord *c, u8 *to);
/* Every count is checked; blocks are below 2^31 and differ from the target. Bitmaps stay in `data`, which is 8-byte aligned. */
MUST_CHECK bool compact_decode(const u8 *data, u32 len, CompactRecord *ret);

#endif
