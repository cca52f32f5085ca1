/*
 * txn.h
 *    The session's transaction: what it sees, and its changes on their way into the box and to the walwriter.
 *
 * A write statement builds parts (disk/part.h). Outside of a block they go with the commit in one round trip (autocommit), and a statement that
 * outgrows one request becomes a chain: full parts are sent as PART, the last one with COMMIT. In a block (txn_begin) every part is a PART and
 * stays private to the transaction until txn_commit; the statements after it see it through the root that txn_snapshot gives (store/own.h).
 *
 * One snapshot at a time: what a suspended portal still has to give is fetched before txn_end_statement.
 * All functions throw unless it is said; waiting looks at interrupts and withdraws the request. After a throw the transaction is still there, for
 * txn_rollback or txn_rollback_to. Only the session's thread calls them.
 */
#ifndef TXN_H
#define TXN_H

#include "common/shm/request.h"
#include "common/shm/shm.h"
#include "common/store/store.h"
#include "common/type/vec.h"

typedef struct Txn Txn;
typedef struct TxnWrite TxnWrite;

/* One a session. lock_timeout_ms is read at each request through the pointer. */
Txn *txn_new(Arena *session, Shm *shm, u32 slot, u32 generation, const i32 *lock_timeout_ms);

/* ---- what a statement sees ---- */
/* The statement's snapshot: made at the first call, the same until txn_end_statement; from REPEATABLE READ on its version is that of the
 * transaction's first one. The transaction's own changes up to the statement's start are in it. 40001 when the transaction was lost. */
const Snapshot *txn_snapshot(Txn *t);
/* The same for who only looks up names (parsing, binding): it does not count as having looked at data. */
const Root *txn_root(Txn *t);
/* The newest catalog there is, for judging rights: the same, but from REPEATABLE READ on without waiting for the transaction's end. (Only while the
 * transaction has changed something itself it is its own view.) */
const Root *txn_newest_root(Txn *t);
void txn_end_statement(Txn *t);

/* ---- transactions ---- */
typedef enum TxnIsolation { TXN_READ_COMMITTED, TXN_REPEATABLE_READ, TXN_SERIALIZABLE } TxnIsolation; /* READ UNCOMMITTED = READ COMMITTED */

/* From now on writes are staged; asks nothing. Also for an implicit transaction of several statements. */
void txn_begin(Txn *t, TxnIsolation isolation);
/* In a block: its level, before txn_has_snapshot. Outside: the level of autocommit statements from now on. */
void txn_set_isolation(Txn *t, TxnIsolation i);
TxnIsolation txn_isolation(const Txn *t); /* of the transaction, outside of a block of the statement */
bool txn_is_open(const Txn *t);      /* between txn_begin and its end */
bool txn_has_snapshot(const Txn *t); /* a statement has looked at data (SET TRANSACTION comes too late: 25001) */
bool txn_has_changes(const Txn *t);
/* Throws (40001, 23505, 58030 ...): then everything is rolled back. */
void txn_commit(Txn *t);
/* Never throws; a no-op when nothing is open. */
void txn_rollback(Txn *t);
/* A mark; the caller keeps the names. Two savepoints between which nothing was changed may have the same. */
u32 txn_savepoint(Txn *t);
/* Never throws; the savepoint stays, younger ones are forgotten. */
void txn_rollback_to(Txn *t, u32 mark);
/* The newest savepoint that is left; 0: none is. */
void txn_release(Txn *t, u32 newest_mark);

/* ---- a write statement on one table ---- */
/* `columns` (ascending) are the changed columns of an UPDATE; NULL: all, in order (INSERT). */
TxnWrite *txn_write_begin(Txn *t, Arena *statement, const TableShm *table);
/* Rows to insert: b has a vector for every column of the table (decoded text or codes + dict), of the columns' physical types. NOT NULL is checked
 * here (23502, DETAIL as PostgreSQL). */
void txn_insert(TxnWrite *w, const Batch *b);
/* New values (one vector a changed column) for rows. */
void txn_update(TxnWrite *w, const RowId *rows, const u16 *columns, u32 column_count, const Batch *b);
void txn_delete(TxnWrite *w, const RowId *rows, u32 count);
/* The row at this position of the batch that comes next breaks a CHECK, none before it does: 23514 from txn_insert or txn_update, unless a row up to it
 * has a NULL too many. */
void txn_note_broken(TxnWrite *w, u32 position, Str constraint);
/* INSERT … ON CONFLICT: inserts go to `rows`, updates to `updates`, in any order; both become one statement. A bit of `keys` for each key that counts: a
 * row that clashes in it with one that the snapshot does not have is TXN_RETRY. txn_check looks at rows that may not be inserted in the end as txn_insert does. */
void txn_write_upsert(TxnWrite *rows, TxnWrite *updates, u32 keys);
void txn_check(TxnWrite *w, const Batch *b);
/* A row that is there breaks a CHECK that the table is to have: 23514. */
NORETURN void txn_throw_broken(const TableDef *t, Str constraint);

typedef enum TxnOutcome { TXN_DONE, TXN_RETRY, TXN_REPLAN } TxnOutcome;
/* Send what is left, outside of a block with the commit, and wait. TXN_RETRY: locks are kept; the snapshot is moved to the answer's version or newer;
 * run the statement again with a new TxnWrite. Nothing sent and nothing kept: TXN_DONE at once without a request. */
TxnOutcome txn_write_finish(TxnWrite *w);
/* Error or cancel: outside of a block tells the walwriter when a chain or kept locks are open. Safe to call twice; hangs on the statement arena as a
 * hook. */
void txn_write_abort(TxnWrite *w);
/* Of txn_write_upsert, instead of txn_write_finish. */
TxnOutcome txn_upsert_finish(TxnWrite *rows, TxnWrite *updates);

/* ---- catalog changes ---- */
TxnOutcome txn_create_table(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists);
/* CREATE TABLE AS: *ret_empty is its place for txn_write_begin, and outside of a block txn_write_finish commits. */
TxnOutcome txn_create_filled(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists, const TableShm **ret_empty);
TxnOutcome txn_drop_tables(Txn *t, const u32 *table_ids, u32 count);
TxnOutcome txn_truncate(Txn *t, const u32 *table_ids, u32 count);
/* Before txn_alter_table where rows must be looked at: locked against all others, and txn_snapshot is as new as the lock, save in a REPEATABLE READ
 * transaction, where txn_alter_table refuses a table that was changed since (40001). */
TxnOutcome txn_lock_altered(Txn *t, u32 table_id, u32 schema_version);
/* def: the whole new one, of the next schema version; the same columns and keys but for their names and defaults; any checks. */
TxnOutcome txn_alter_table(Txn *t, const TableDef *def);
/* Any columns and keys: the table is empty then, and *ret_empty its place for txn_write_begin. Locked against all others, and txn_snapshot is
 * as new as the lock and shows the old rows. Outside of a block txn_write_finish commits; errors of the rows speak of the table being altered. 40001 when rows
 * were changed that a REPEATABLE READ transaction cannot see. */
TxnOutcome txn_rebuild_table(Txn *t, const TableDef *def, const TableShm **ret_empty);
/* A role, a membership, rights on what is no table. PUT of role id 0: a new one, whose id is then in *c. verifier (of PUT): NULL keeps it. */
TxnOutcome txn_change_roles(Txn *t, RoleChange *c, const char *verifier);
/* The rights of def and their version, one above that of the table, become the table's. */
TxnOutcome txn_set_acl(Txn *t, const TableDef *def);
/* SET ROLE: by whose rights requests are judged from now on. */
void txn_set_role(Txn *t, u32 role_id);

/* ---- locks: kept to the end of the transaction; outside of a block to the end of the statement ---- */
/* n <= BOX_LOCK_ROWS. With LOCK_SKIP bit i of ret_bits says whether row i was granted, else all are. TXN_RETRY as above: a row was changed
 * since the snapshot (from REPEATABLE READ on that is 40001). LOCK_NOWAIT: 55P03. After RETRY and REPLAN the snapshot still stands, for the statement
 * is in the middle of reading it; once it has let go of everything, txn_leave_snapshot. */
TxnOutcome txn_lock_rows(Txn *t, u32 table_id, u32 schema_version, RowLockMode mode, LockWait wait, const RowId *rows, u32 n, u64 *ret_bits);
void txn_leave_snapshot(Txn *t);
TxnOutcome txn_lock_table(Txn *t, u32 table_id, u32 schema_version, TableLockMode mode, LockWait wait);
/* true: granted, or released. key_class 1: one bigint, 2: two integers, the first in the upper half. */
bool txn_advisory(Txn *t, u64 key, u32 key_class, bool shared, LockWait wait, AdvisoryWhat what);

/* The lock table as it is now, in a's memory; as much of it as an answer holds. */
const LockRow *txn_list_locks(Txn *t, Arena *a, u32 *ret_count);
/* Cancel or end another session, if the role may (42501): the walwriter sends the signal. false: it is gone. */
bool txn_signal(Txn *t, u32 slot, u32 generation, BackendSignal what);

/* A snapshot of everything that is committed by now is complete when it returns; throws what went wrong with it. The transaction is not touched. */
void txn_checkpoint(Txn *t);

/* ---- NOTIFY: announced when the transaction commits, each once; checked lengths (shm/notify.h) ---- */
void txn_notify(Txn *t, Str channel, Str payload);
/* How many there are; forget those that came later. */
u32 txn_notes_mark(const Txn *t);
void txn_notes_cut(Txn *t, u32 mark);
/* Outside of a block: the commit of what no write has taken with it. */
void txn_commit_notes(Txn *t);

/* ---- SERIALIZABLE: what was read (below it these do nothing) ---- */
void txn_note_read_table(Txn *t, u32 table_id);
void txn_note_read_key(Txn *t, u32 table_id, u32 key, u64 hash, RowId found);

#endif
