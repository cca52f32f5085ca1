/*
 * world.h
 *    The writing side of the column world: allocate, apply, publish, reclaim. Used by the walwriter's main loop and by recovery, nobody else.
 *
 * World is private memory (I9): the allocator, the retire lists, per table the next row and the unpublished state. Changes are made in two
 * steps: world_reserve_* before logging (all memory taken, may fail with 53200), world_apply_* after the fsync (void, no failure path);
 * nothing applied is visible before world_publish. Apply is idempotent: applying a record twice, or one below the published version, changes nothing.
 */
#ifndef WORLD_H
#define WORLD_H

#include "common/disk/compact.h"
#include "common/disk/part.h"
#include "common/disk/snap.h"
#include "common/shm/shm.h"
#include "common/store/store.h"

typedef struct World World;

/* A fresh world (formats WorldHead), or takes over a living one (I9: bookkeeping rebuilt from the published root). */
MUST_CHECK bool world_open(Shm *shm, bool take_over, World **ret, Error *err);
void world_close(World *w);

/* ---- what judging needs: the newest applied state (published or about to be) ---- */
const TableShm *world_table(World *w, u32 table_id); /* NULL when absent */
const Root *world_root(World *w);
/* The row exists and is not deleted in the newest applied state; *ret_changed: version that deleted it, 0 when live or unknown. */
bool world_row_live(World *w, u32 table_id, RowId id, u64 *ret_deleted_version);
/* The block of a row, whoever may see it; false: there is no such row. */
bool world_block_view(World *w, u32 table_id, RowId id, BlockView *ret);
/* Before the keys of a part with many texts are asked for: works out once where each text begins. world_reserve_part does it too. */
void world_part_begin(World *w, const PartView *p);
/* Find a live row with the key of row `i` of a part (columns absent from an UPDATE part are read from the old row). Rows in blocks that
 * world_take_block gave and that are not linked yet are found too: the key entries of a chain are its key locks. A
 * live row goes before such staged ones; world_key_each shows them all. */
bool world_key_find(World *w, u32 table_id, u32 key, const PartView *p, u32 i, RowId *ret);
/* Every row with that key, whatever its state (world_row_state); visit returns false to stop. Chains in flight find each other's keys so. */
typedef enum RowState {
    ROW_NONE,    /* never was, or its block is gone */
    ROW_LIVE,    /* newest applied state: there and not deleted */
    ROW_DELETED,
    ROW_STAGED,  /* in a block of a chain that is not linked, or in a transaction's private block */
} RowState;
RowState world_row_state(World *w, u32 table_id, RowId id);
void world_key_each(World *w, u32 table_id, u32 key, const PartView *p, u32 i, bool (*visit)(void *ctx, RowId id), void *ctx);
/* The same for a hash of that key, whose rows it shows. */
void world_key_each_hash(World *w, u32 table_id, u32 key, u64 hash, bool (*visit)(void *ctx, RowId id), void *ctx);
/* Hash of that key; false when one of its columns is NULL (not entered). */
bool world_key_hash(World *w, u32 table_id, u32 key, const PartView *p, u32 i, u64 *ret_hash);
/* The same for the key of an existing row. */
bool world_key_hash_row(World *w, u32 table_id, u32 key, RowId id, u64 *ret_hash);
/* Whether the keys of two part rows are equal (hash ties within a transaction and between transactions in flight). */
bool world_key_equal(World *w, u32 table_id, u32 key, const PartView *p, u32 i, const PartView *q, u32 j);
bool world_key_equal_row(World *w, u32 table_id, u32 key, const PartView *p, u32 i, RowId id);

/* ---- row ids; what is taken first must be applied first, or never ---- */
typedef struct RowRange { RowId first; u32 count; } RowRange;
/* Take n (<= PART_MAX_ROWS) ids for small commits in the open block and, when it fills, in the next one. At most two ranges. Reserves the memory
 * that applying them needs. false: 53200. */
MUST_CHECK bool world_take_rows(World *w, u32 table_id, u32 n, RowRange ret[2], Error *err);
/* Give back every id taken and not applied (a group failed; nothing of it was written). */
void world_untake_rows(World *w);
/* Give back the n ids taken last in this table: a later reservation of the same request failed and nothing was taken since. */
void world_untake_last(World *w, u32 table_id, u32 n);
/* For chains: a block of its own for bulk rows; filled by world_apply_* of the chain's parts, linked at commit. */
MUST_CHECK bool world_take_block(World *w, u32 table_id, u64 *ret_block, Error *err);
/* Recovery: the same for the block id that the log names (a no-op when it is already there). Blocks of other row ids that replay meets
 * are small commits' and are made by world_reserve_part. */
MUST_CHECK bool world_adopt_block(World *w, u32 table_id, u64 block, Error *err);

/* ---- the private block of an open transaction, a table and connection slot one: STAGED_BLOCK in its id, in no directory and no key index. Written and
 * reserved at once; its owner may be reading it all the time ---- */
/* The next n row ids of that block and room for them. false: 53200. */
MUST_CHECK bool world_stage_rows(World *w, u32 table_id, u32 owner, u32 n, RowId *ret_first, Error *err);
/* Texts of a part on its way into that block; its rows are written by world_apply_rows. */
MUST_CHECK bool world_reserve_staged(World *w, const PartView *p, Error *err);
/* Where the owner finds the block; NULL: it has none. */
const SlotDirShm *world_staged_slot(World *w, u32 table_id, u32 owner);
void world_drop_staged(World *w, u32 table_id, u32 owner);
/* Rows from offset `rows` on are taken back, in a private block or in a chain's that is not linked. */
void world_cut_block(World *w, u32 table_id, u64 block, u32 rows);
/* Rows that the block has; 0: there is no such block. */
u32 world_block_rows(World *w, u32 table_id, u64 block);

/* ---- memory for a part, before it is logged (recovery: before it is applied) ---- */
/* Texts, room in the keys, delete marks; and the rows' room when their ids are set (recovery; otherwise world_take_rows and world_take_block see to
 * that). Also refuses a part that does not fit its table (08P01,
 * 23502). Rows are judged before: texts of the part are entered into the dictionaries here. */
MUST_CHECK bool world_reserve_part(World *w, const PartView *p, Error *err);
/* The same in two steps: keys of an UPDATE are read from old rows that may stand in a private block, delete marks are for those they are copied to. */
MUST_CHECK bool world_reserve_rows(World *w, const PartView *p, Error *err);
MUST_CHECK bool world_reserve_deletes(World *w, const PartView *p, Error *err);
/* What that promised goes back: the part will not be applied. */
void world_unreserve_deletes(World *w, const PartView *p);

/* ---- long texts (disk/part.h): collected where nobody else sees them; the part that names one enters it into its dictionary ---- */
/* Memory for all of it, by its first piece, which is not added yet. false: 53200. */
MUST_CHECK bool world_text_begin(World *w, const TextPiece *t, LongText *ret, Error *err);
void world_text_add(LongText *l, const TextPiece *t); /* the piece that follows */
void world_text_drop(World *w, LongText *l);          /* forget it; what was entered stays in the dictionary */

/* ---- apply, after the fsync (small commits) or while staging (chains: rows and keys only, not visible) ---- */
/* INSERT and UPDATE rows at the ids in the part; UPDATE copies unchanged columns from the old rows. Enters keys. Seals blocks that fill. */
void world_apply_rows(World *w, const PartView *p);
/* Marks old rows of an UPDATE or DELETE part deleted at `version`. */
void world_apply_deletes(World *w, const PartView *p, u64 version);
/* A part of a small commit at `version`: deletes, then rows. Parts of one commit in their order: one may change what another brought. */
void world_apply_part(World *w, const PartView *p, u64 version);
/* A chain's block: sealed with the rows it has and put into the table's directory (at commit), or thrown away (abort). */
void world_link_block(World *w, u32 table_id, u64 block);
void world_drop_block(World *w, u32 table_id, u64 block);

/* ---- compaction: rows of blocks with many dead ones go to a new block (compact_choose.c, compact_world.c) ---- */
typedef struct Compaction Compaction;
typedef struct CompactRule {
    u32 dead_percent;  /* a block with more deleted rows than that is worth it, */
    u32 dead_rows;     /* and with at least so many */
    bool wanted;       /* memory is short: look at everything */
    bool (*is_busy)(void *ctx, u32 table_id, u64 block); /* somebody holds rows of it */
    void *ctx;
} CompactRule;
/* The next blocks worth it, of one table. Looks at a bounded piece of the world; false: there are none in it (*ret_more: the search goes on). Blocks of small
 * commits that are mostly dead are sealed on the way. */
MUST_CHECK bool world_compact_choose(World *w, const CompactRule *rule, CompactRecord *ret, bool *ret_more);
/* Of the record: table and sources; the target, 0: the next block; the rows, bits NULL: those that are alive. NULL: 53200. */
Compaction *world_compact_begin(World *w, const CompactRecord *r, Error *err);
/* A bounded piece of copying. false: 53200, the caller abandons. */
MUST_CHECK bool world_compact_step(World *w, Compaction *c, bool *ret_done, Error *err);
void world_compact_abandon(World *w, Compaction *c);
void world_compact_free(World *w, Compaction *c); /* its private memory only */
/* Done copying, and nobody holds a row of the sources: their rows have new ids from now on (world_moved_row). */
MUST_CHECK bool world_compact_move(World *w, Compaction *c, Error *err);
/* What is logged; points into `c`. */
void world_compact_record(const Compaction *c, CompactRecord *ret);
/* It is durable; frees `c`. */
void world_compact_apply(World *w, Compaction *c);
/* Recovery: everything at once. `version`: of the last commit applied, which is published when the sources are not. */
MUST_CHECK bool world_compact_replay(World *w, const CompactRecord *r, bool take_over, u64 version, Error *err);
/* Dictionaries that rows have left: counts a bounded piece; true: that column's is to be replaced. */
MUST_CHECK bool world_dict_step(World *w, u32 *ret_table, u32 *ret_column, bool *ret_more);
/* Nobody has unfinished rows in the table. false: somebody has, or no memory. */
MUST_CHECK bool world_dict_replace(World *w, u32 table_id, u32 column);
/* What the row is called now; `id` itself when it did not move, or was dead then. */
RowId world_moved_row(World *w, u32 table_id, RowId id);
/* Any row might have moved: some blocks are kept for older pins. */
bool world_any_moved(const World *w);

/* ---- catalog ---- */
/* A change takes at most CATALOG_PROMISE, one that makes nothing (a hidden table that is shown) CATALOG_PROMISE_LITTLE beside its definition. 0: it may go
 * beyond the budget, because it gives memory back or must work. */
enum { CATALOG_PROMISE = 2 << 20, CATALOG_PROMISE_LITTLE = 32 << 10 };
MUST_CHECK bool world_reserve_catalog(World *w, u64 bytes, Error *err);
/* What was reserved for changes that are applied or never will be. */
void world_unreserve_catalog(World *w, u64 bytes);
u32 world_next_table_id(World *w);
u32 world_next_role_id(World *w);
/* Tables that only one open transaction sees, in no tree: what CREATE TABLE makes, and what TRUNCATE puts in the place of a table that is locked
 * against all others, or REBUILD. The functions above find them by their id. world_show_table at COMMIT; world_forget_hidden takes back the newest of an id. */
const TableShm *world_hide_created(World *w, const TableDef *def, u32 owner);
const TableShm *world_hide_emptied(World *w, u32 table_id, const TableDef *def, u32 owner); /* def NULL: as it is */
void world_show_table(World *w, u32 table_id); /* a no-op when everybody sees it. A name is given by world_give_name */
void world_forget_hidden(World *w, u32 table_id);
/* For a while the newest of an id is not there: world_set_aside, newest first, and world_bring_back, oldest first. */
struct TableWork *world_set_aside(World *w, u32 table_id);
void world_bring_back(World *w, struct TableWork *hidden);
/* The slot whose transaction made the table, and alone knows it, or emptied one that all know; UINT32_MAX: none. */
u32 world_made_by(World *w, u32 table_id);
u32 world_emptied_by(World *w, u32 table_id);
/* The definition as the slot's transaction sees it; NULL: there is no such table. */
const TableDef *world_table_def(World *w, u32 table_id, u32 owner);
/* ALTER TABLE in an open transaction, which has the table locked against all others: the definition that it sees from now on (NULL: the table's). The
 * caller keeps it while it is in force. Returns the one before. */
const TableDef *world_set_altered(World *w, u32 table_id, const TableDef *def, u32 owner);
TableDef *world_copy_def(const TableDef *def); /* in one malloc; NULL without memory */
void world_create_table(World *w, const TableDef *def); /* def points to private memory; copied */
void world_drop_table(World *w, u32 table_id);
void world_truncate_table(World *w, u32 table_id); /* all blocks out of the directory; ids go on */
/* Another definition; the same rows. A new name: world_take_name before, world_give_name after. */
void world_alter_table(World *w, const TableDef *def);
void world_rebuild_table(World *w, const TableDef *def); /* as truncate and alter, but for any columns and keys */
/* Out of the tree of names and into it; no-ops when it is so. Where several names change, all are taken first. */
void world_take_name(World *w, u32 table_id);
void world_give_name(World *w, u32 table_id);
/* Roles, memberships, rights on what is no table. verifier (of PUT): NULL keeps it. Replay may do it twice. */
void world_change_roles(World *w, const RoleChange *c, const char *verifier);
void world_set_acl(World *w, const TableDef *rights); /* its rights become those of the table of its id */

/* ---- from a snapshot into a fresh world (restore_write.c): the catalog by its records, then this; world_publish shows it. false: 53200, or XX001 where
 * what is said does not fit the table ---- */
void world_restore_counts(World *w, const SnapHead *head);
MUST_CHECK bool world_restore_table(World *w, const SnapTable *t, Error *err);
/* Before the blocks whose texts it has. */
MUST_CHECK bool world_restore_dict(World *w, u32 table_id, const SnapDict *d, Error *err);
/* A piece of texts, the codes in order. */
MUST_CHECK bool world_restore_texts(World *w, u32 table_id, u64 dict_id, const SnapTexts *t, const u8 *bytes, Error *err);
/* A block: where its slices' values and NULLs and its delete bits are to be written (by any thread), before world_restore_keys. */
MUST_CHECK bool world_restore_block(World *w, u32 table_id, const SnapBlock *b, u64 **ret_bits, Error *err);
MUST_CHECK bool world_restore_slice(World *w, u32 table_id, u64 block, u32 column, const SnapSlice *s, u8 **ret_values, u8 **ret_nulls, Error *err);
/* Everything is read: counts of deleted rows, and the key indexes, built by so many threads. */
MUST_CHECK bool world_restore_keys(World *w, u64 version, u32 threads, Error *err);
/* An empty world again: nothing that was put in is left, private memory and secrets included. */
MUST_CHECK bool world_start_again(World **w, Shm *shm, Error *err);

/* ---- publish ---- */
/* Make everything applied visible as `version` (0: only a new epoch). */
void world_publish(World *w, u64 version);
u64 world_version(const World *w);
/* A bounded piece of reclamation: memory retired below the oldest pin is reused or punched. Returns true when there is more. */
bool world_reclaim(World *w);
/* A takeover is told to the others from now on (WriterShm.pub_ready): who pinned before this and learns of it later is safe till it unpins. */
void world_taken_over(World *w);
/* Replay may go beyond the budget, to the end of the address range: what was committed within the budget must always fit. Ends with world_recovered. */
void world_recovered(World *w);
/* True when something waits for an epoch to pass. */
bool world_has_retired(const World *w);
/* So much of it that what is asked for next may miss it: not to be put off. */
bool world_has_much_retired(const World *w);
/* Little is left of the budget: a statement of many rows may not fit any more. */
bool world_is_short(const World *w);
/* Some memory is on its way back, be it that pins keep it. */
bool world_gives_back(const World *w);
u64 world_kept_for_pins(const World *w); /* bytes that wait for older pins */
u64 world_used_bytes(const World *w);
/* Every piece that was handed out is reachable from the published root or waits to be reused; false (XX001) when memory leaked or is in use
 * twice. Between commits, when everything applied is published. */
MUST_CHECK bool world_verify(const World *w, Error *err);

#endif
