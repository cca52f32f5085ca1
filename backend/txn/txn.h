/*
 * txn.h
 *    The session's transaction: its snapshot, and its changes on their way into the box and to the walwriter.
 *
 * A write statement builds parts (disk/part.h). While they fit one request they wait in memory and go with the commit in one round trip (autocommit);
 * a statement that outgrows it becomes a chain: full parts are sent as PART, the last one with COMMIT.
 * All functions throw; waiting looks at interrupts and withdraws the request.
 */
#ifndef TXN_H
#define TXN_H

#include "common/shm/shm.h"
#include "common/store/store.h"
#include "common/type/vec.h"

typedef struct Txn Txn;
typedef struct TxnWrite TxnWrite;

/* One a session. lock_timeout_ms is read at each request through the pointer. */
Txn *txn_new(Arena *session, Shm *shm, u32 slot, u32 generation, const i32 *lock_timeout_ms);
/* The statement's snapshot: pinned at the first call, the same until txn_end_statement. */
const Snapshot *txn_snapshot(Txn *t);
void txn_end_statement(Txn *t);

/* A write statement on one table. `columns` (ascending) are the changed columns of an UPDATE; NULL: all, in order (INSERT). */
TxnWrite *txn_write_begin(Txn *t, Arena *statement, const TableShm *table);
/* Rows to insert: b has a vector for every column of the table (decoded text or codes + dict), of the columns' physical types. NOT NULL is checked
 * here (23502, DETAIL as PostgreSQL). */
void txn_insert(TxnWrite *w, const Batch *b);
/* New values (one vector a changed column) for rows. */
void txn_update(TxnWrite *w, const RowId *rows, const u16 *columns, u32 column_count, const Batch *b);
void txn_delete(TxnWrite *w, const RowId *rows, u32 count);

typedef enum TxnOutcome { TXN_DONE, TXN_RETRY, TXN_REPLAN } TxnOutcome;
/* Send what is left with the commit and wait. TXN_RETRY: locks are kept; the snapshot is moved to the answer's version or newer; run the statement
 * again with a new TxnWrite. Nothing sent and nothing kept: TXN_DONE at once without a request. */
TxnOutcome txn_write_finish(TxnWrite *w);
/* Error or cancel: tells the walwriter when a chain or kept locks are open. Safe to call twice; hangs on the statement arena as a hook. */
void txn_write_abort(TxnWrite *w);

/* Catalog changes, autocommit each. */
TxnOutcome txn_create_table(Txn *t, const TableDef *def, bool if_not_exists, bool *ret_exists);
TxnOutcome txn_drop_tables(Txn *t, const u32 *table_ids, u32 count);
TxnOutcome txn_truncate(Txn *t, u32 table_id);
TxnOutcome txn_put_role(Txn *t, const RoleDef *role, const char *verifier);
void txn_checkpoint(Txn *t);

#endif
