/*
 * own.h
 *    A transaction's own changes, as its statements see them: noted as the walwriter accepts them, shown through a private root.
 *
 * The rows lie in the world already, in blocks that no root has: the private block of a connection and table (STAGED_BLOCK) or blocks of a
 * chain. What is kept here is which of them are the transaction's, which rows it deleted, and which tables it made, dropped or emptied. own_root makes a
 * root in private memory: the published one, with the paths to changed tables copied. Their TableShm is a private copy too, whose
 * `own` is looked at by the reading functions of store.h; nobody else needs to know.
 *
 *   1. own_part_begin notes a part on its way, own_accept where the walwriter put its rows; catalog changes are noted when they are accepted.
 *   2. A statement begins: own_root shows all that was noted up to now; what the statement itself adds waits for the next one.
 *   3. own_undo takes back everything above an ordinal, shown or not (RETRY, ROLLBACK TO).
 *
 * Changes are kept in order as long as a savepoint may take them back, so that it costs what is taken back; else only their sum is kept.
 * Writes: private memory of one thread; helpers of a statement only read. Fails: no memory (53200), then nothing was changed or shown.
 */
#ifndef OWN_H
#define OWN_H

#include "common/store/store.h"

typedef struct Own Own;

/* NULL without memory. */
Own *own_new(void);
void own_free(Own *o);
/* The transaction ended. */
void own_forget(Own *o);
/* Anything noted and not taken back. */
bool own_any(const Own *o);

/* A part that is about to be asked for: `rows` new ones, `old_count` that go. Replaces one that was not accepted. */
MUST_CHECK bool own_part_begin(Own *o, u32 ordinal, u32 table_id, u32 rows, const RowId *old_rows, u32 old_count);
/* The answer to it: its first and second target row; staged: the block of the connection and table, when they are in it. */
void own_accept(Own *o, const u64 row[2], const SlotDirShm *staged);
MUST_CHECK bool own_create_table(Own *o, u32 ordinal, const TableShm *hidden);
MUST_CHECK bool own_drop_table(Own *o, u32 ordinal, u32 table_id);
/* hidden: the empty table that stands in its place. */
MUST_CHECK bool own_truncate(Own *o, u32 ordinal, u32 table_id, const TableShm *hidden);
/* The same, with another definition in `hidden`. */
MUST_CHECK bool own_rebuild(Own *o, u32 ordinal, const TableShm *hidden);
/* A role, a membership, rights on what is no table; copied. */
MUST_CHECK bool own_change_roles(Own *o, u32 ordinal, const RoleChange *c);
/* Other names, defaults, rights; copied. */
MUST_CHECK bool own_alter(Own *o, u32 ordinal, const TableDef *def);
void own_undo(Own *o, u32 last_kept);

/* The root of a statement: `published` is pinned, and nobody reads the root made before any more. savepoint: what is noted may be taken back one by one.
 * 53200; 40001 when a table was emptied by another transaction since the snapshot. */
MUST_CHECK bool own_root(Own *o, const Snapshot *published, bool savepoint, Snapshot *ret, Error *err);
/* A row that the transaction made. */
bool own_made_row(const Own *o, u32 table_id, RowId id);

#endif
