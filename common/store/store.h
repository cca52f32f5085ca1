/*
 * store.h
 *    The reading side of the column world: pin a state, look at tables block by block, read vectors, find keys.
 *
 * A Snapshot is what a statement sees: an immutable root, and the version for delete marks. All functions here only read
 * the world, take no lock and never wait. Row id = block id << 16 | offset; ids of blocks and tables are never reused.
 */
#ifndef STORE_H
#define STORE_H

#include "common/base/base.h"
#include "common/shm/shm.h"
#include "common/store/catalog.h"
#include "common/type/vec.h"

enum { BLOCK_ROWS = 65536, BLOCK_WORDS = BLOCK_ROWS / 64 };
typedef u64 RowId;
#define ROW_ID(block, offset) ((RowId)(block) << 16 | (offset))
#define ROW_BLOCK(id) ((u64)(id) >> 16)
#define ROW_OFFSET(id) ((u32)((id) & 0xffff))
/* In the block id of a transaction's private rows; the rest of it is the connection slot. Ids of tables' blocks stay below. */
#define STAGED_BLOCK 0x80000000u

typedef struct TableShm TableShm; /* a table at one version */
typedef struct SlotDirShm SlotDirShm; /* a block's place in the directory: its slices and its delete state */
typedef struct DictShm DictShm;

typedef struct Snapshot {
    const Root *root;
    u64 version;
    u64 epoch;
} Snapshot;

/* Pin the newest published state into the own box (shm/pin.h). */
Snapshot snapshot_pin(const Shm *shm, BoxShm *own_box);
/* What is published now; with a pin, however old. */
const Root *store_newest_root(const Shm *shm);
void snapshot_unpin(BoxShm *own_box);

/* NULL when the table is not in this root. */
const TableShm *store_table(const Root *root, u32 table_id);
const TableDef *table_def(const TableShm *t);
u64 table_row_count(const TableShm *t);   /* rows in the directory, deleted ones included */
u64 table_live_estimate(const TableShm *t);
u64 table_column_bytes(const TableShm *t);       /* about what its columns take; looks at every block */
u32 table_block_count(const TableShm *t); /* places in the directory */

/* One block as a snapshot sees it. */
typedef struct BlockView {
    const TableShm *table;
    const SlotDirShm *slot;
    u64 block_id;
    u32 row_count; /* offsets 0 .. row_count-1 exist; some may be deleted */
    bool sealed;
    const void *slices; /* struct SliceShm array, one a column; read once when the view is made */
} BlockView;

/* Place 0 .. table_block_count-1. false: the place is empty (a compacted block). */
bool block_view(const TableShm *t, u32 place, BlockView *ret);
/* The block of a row id in this table version; false when it is not in this root's directory or past its rows. */
bool block_locate(const TableShm *t, RowId id, BlockView *ret);

/* The id that the row has in this table version when an older one knew it as `id` and its block was compacted since; else `id` itself. Known as long
 * as somebody is pinned, or in a transaction, that is older than the compaction. */
RowId row_moved(const TableShm *t, RowId id);

/* Deleted rows of a block at a version: returns false when none is (bits untouched), else fills bits (BLOCK_WORDS words,
 * bit set = deleted) and *ret_count. */
bool block_deleted(const BlockView *b, u64 version, u64 *bits, u32 *ret_count);
bool row_deleted(const BlockView *b, u32 offset, u64 version);

/* Where the values of a column of a block lie: data of `width` bytes each from `base` (frozen: value = reference + factor * stored).
 * Kernels of the scan read this directly. codes: text, u32 (or `width` bytes once frozen). */
typedef struct SliceView {
    PhysType phys;
    u8 scale;
    u8 width;          /* bytes a stored value: phys_width, 4 for text codes, less when frozen */
    bool frozen;       /* integers: value = reference + factor * unsigned stored */
    bool has_nulls;    /* null_bytes or null_bits is set */
    bool has_minmax;   /* over the non-NULL rows, deleted ones included; sealed blocks only */
    const void *data;
    const u8 *null_bytes; /* open blocks: 1 = NULL */
    const u64 *null_bits; /* sealed blocks: 1 = NULL */
    i64 reference, factor;
    const DictShm *dict; /* text */
    const void *min, *max; /* one element of phys each (Str never: text has min/max codes unused) */
} SliceView;
bool slice_view(const BlockView *b, u32 column, SliceView *ret);
/* Makes [*lo, *hi] reach over the values of an integer column (PHYS_I16, I32, I64, D64), by min and max where the block has them; deleted rows count.
 * False for other columns. */
bool slice_int_range(const BlockView *b, u32 column, i64 *lo, i64 *hi);

/* Read rows [first, first + count) of a column, count <= VEC_SIZE, into v. Points into the block where it can (plain data), else into
 * `scratch`, which has phys_width * VEC_SIZE bytes; nulls likewise into null_scratch (VEC_SIZE bytes). Text comes as codes. */
void slice_read(const SliceView *s, u32 first, u32 count, Vec *v, void *scratch, u8 *null_scratch);
/* Gather the given offsets (any order); data always goes to scratch. */
void slice_gather(const SliceView *s, const u16 *offsets, u32 count, Vec *v, void *scratch, u8 *null_scratch);
/* One value, whatever the block; text points into the dictionary. */
Value slice_value(const SliceView *s, const ColumnDef *c, u32 offset);

/* ---- dictionaries ---- */
Str dict_str(const DictShm *d, u32 code);
u64 dict_hash(const DictShm *d, u32 code);
u32 dict_count(const DictShm *d); /* published codes: 0 .. count-1 */
u64 dict_id(const DictShm *d);
enum { DICT_NONE = UINT32_MAX };
/* The code of a text, DICT_NONE when absent. Lock-free beside the writer. */
u32 dict_find(const DictShm *d, Str s);
/* Decode a text vector: fills out[0..count) with Strs. */
void dict_decode(const DictShm *d, const u32 *codes, u32 count, Str *out);
/* The dictionary that new rows of a text column use. */
const DictShm *table_dict(const TableShm *t, u32 column);

/* ---- keys ---- */
/* Find the visible row with these key values (one Value a key column, of the column's type; any NULL: no match). */
bool key_find(const Snapshot *s, const TableShm *t, u32 key, const Value *values, RowId *ret);
u64 key_hash_values(const TableDef *d, u32 key, const Value *values);
/* Load what a later key_find of this hash will touch. */
void key_prefetch(const TableShm *t, u32 key, u64 hash);

/* ---- whole state ---- */
typedef enum VerifyLevel { VERIFY_HEADS = 1, VERIFY_STRUCTURE, VERIFY_CONTENTS } VerifyLevel;
/* Walk everything reachable; false with the first fault found. Of a transaction's private root: what it was made from. */
MUST_CHECK bool store_verify(const Snapshot *s, VerifyLevel level, Error *err);
/* Order-independent sum over the visible rows of a table (values, not places); and one a column. */
u64 store_digest(const Snapshot *s, const TableShm *t, u64 *ret_columns);

#endif
