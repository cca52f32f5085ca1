/*
 * rowset.h
 *    A set of row ids of one table as a bitmap a block: the locks, deletes and key clashes of bulk statements, 8 KB per block touched.
 */
#ifndef ROWSET_H
#define ROWSET_H

#include "common/store/store.h"

typedef struct RowSetBlock {
    u64 block;
    u64 *bits; /* BLOCK_WORDS; NULL: the place is empty */
    u32 count;
} RowSetBlock;

typedef struct RowSet {
    RowSetBlock *places; /* open addressing by block */
    u32 place_count, block_count; /* place_count: 0 or a power of two */
    u64 row_count;
} RowSet;

/* Add; *ret_added false when it was there. false: no memory. */
MUST_CHECK bool rowset_add(RowSet *s, RowId id, bool *ret_added);
/* All rows of `from` come into `to`, by moving what can be moved; `from` is empty afterwards. false: no memory, some may have moved. */
MUST_CHECK bool rowset_move(RowSet *to, RowSet *from);
bool rowset_has(const RowSet *s, RowId id);
bool rowset_has_block(const RowSet *s, u64 block); /* a row of it */
/* The rows of one place (0 .. place_count-1), ascending; `to` has room for BLOCK_ROWS. 0: the place is empty. */
u32 rowset_block(const RowSet *s, u32 place, RowId *to);
/* Every row of `a` is in `b`; else *ret_missing is one that is not. */
bool rowset_within(const RowSet *a, const RowSet *b, RowId *ret_missing);
u64 rowset_bytes(const RowSet *s);
void rowset_clear(RowSet *s);

#endif
