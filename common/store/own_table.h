/*
 * own_table.h
 *    What a transaction did to one table: its rows, its deletes. Inside of store/; the reading functions look here when TableShm.own is set.
 *
 * Changing: reserve (may fail, changes nothing that is seen), then show, hide, delete, restore (cannot fail). Taking back happens in the opposite order, so
 * that each step finds what it left.
 */
#ifndef OWN_TABLE_H
#define OWN_TABLE_H

#include "common/base/arena.h"
#include "common/store/key.h"

enum { OWN_FEW = 32 };

/* A block with rows of the transaction. Rows below row_count without a bit are not its own, taken back, or deleted by it. */
typedef struct OwnBlock {
    const SlotDirShm *slot; /* NULL: there is none */
    u64 block_id;
    u32 row_count, live_count;
    u32 shown;              /* rows that are the transaction's, deleted ones included */
    u32 word_count;
    u64 *live;
} OwnBlock;

/* Rows of the staging block by the hash of a key: chains, newest row first, so that taking back from the end finds each row at the head of its own. */
typedef struct OwnKey {
    u32 capacity; /* of the arrays, a power of two */
    u32 *heads;   /* by hash: offset + 1, 0 none */
    u32 *next;    /* by offset: 0 not entered (NULL in the key), 1 the last of its chain, else offset + 2 */
    u64 *hashes;  /* by offset */
} OwnKey;

typedef struct OwnDeletes {
    u64 block_id; /* 0 empty */
    u64 *bits;    /* BLOCK_WORDS */
} OwnDeletes;

typedef struct TableOwn {
    OwnBlock staged;
    OwnBlock *chain; /* ascending by block id */
    u32 chain_count, chain_capacity;
    OwnKey *keys;    /* one a key of the table, of staged rows; NULL before the first */
    u32 key_count;
    /* deletes of rows of the table itself: a few as they are, more by block in a hash table */
    RowId few[OWN_FEW];
    u32 few_count;
    OwnDeletes *blocks;
    u32 blocks_count, blocks_capacity; /* capacity 0: few */
    u64 deleted_count;
} TableOwn;

/* Room for rows [first, first + count) of a block that the transaction filled. */
MUST_CHECK bool own_reserve_rows(Arena *a, TableOwn *o, const TableDef *def, const SlotDirShm *slot, RowId first, u32 count);
MUST_CHECK bool own_reserve_deletes(Arena *a, TableOwn *o, u32 total, RowId first, u32 count);
void own_show(TableOwn *o, const TableDef *def, RowId first, u32 count);
void own_hide(TableOwn *o, RowId first, u32 count);
void own_delete(TableOwn *o, RowId first, u32 count);
void own_restore(TableOwn *o, RowId first, u32 count);
OwnBlock *own_find_block(const TableOwn *o, u64 block_id); /* NULL: not one of the transaction's */

/* ---- reading: the parts of store.h's functions for a table with `own` ---- */
bool own_block_view(const TableShm *t, u32 place, BlockView *ret);
bool own_block_locate(const TableShm *t, RowId id, BlockView *ret);
/* The bits of block_deleted, without the world's own for a block of the table: adds to bits, returns whether there are any. */
bool own_add_deleted(const TableOwn *o, u64 block_id, u32 row_count, u64 *bits);
bool own_row_deleted(const TableOwn *o, RowId id);
bool own_key_find(const TableShm *t, u32 key, u64 hash, const void *const *elements, RowId *ret);
u64 own_row_count(const TableShm *t);
u64 own_live_count(const TableShm *t);
u32 own_place_count(const TableShm *t);

#endif
