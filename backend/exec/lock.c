/*
 * lock.c
 *    FOR UPDATE and its kin: the rows below are locked on their way, and kept until all of them are.
 *
 * Runs while the plan is built, on the session's thread, so that no row leaves before the last lock is held. As many rows are asked for as LIMIT and
 * OFFSET still want; with SKIP LOCKED those that others hold drop out and more are asked for. A row that has changed meanwhile makes the answer
 * RETRY: it stands in lock_outcome of the outermost execution, everything ends early (still on its snapshot), and the driver (exec_open_locking, write.c)
 * throws the execution away and runs the statement again at the newer snapshot, keeping its locks.
 *
 * Rows of the transaction itself (STAGED_BLOCK) need no lock.
 */
#include "backend/exec/run.h"

typedef struct Locker {
    Exec *exec;
    const PlanNode *node;
    u64 wanted;  /* rows still to be had */
    RowId *ids;  /* of the rows that are asked for */
    u16 *asked;  /* their positions in `rows` */
    u16 *rows;   /* positions in the batch that are in so far */
    VecBuf *bufs;
    Vec *taken;
    RowStore *kept;
} Locker;

static TxnOutcome
ask(Locker *l, const PlanRowLock *lock, u32 count, u64 *granted)
{
    Exec *e = l->exec;
    const TableDef *d = table_def(exec_table(e, lock->table_id));
    if (d->schema_version != lock->schema_version)
        return TXN_REPLAN;
    return txn_lock_rows(e->ctx->txn, lock->table_id, lock->schema_version, lock->mode, lock->wait, l->ids, count, granted);
}

/* Of l->rows[0 .. count) those whose row of this table is locked now; how many are left. */
static u32
lock_table_rows(Locker *l, const PlanRowLock *lock, const Batch *b, u32 count)
{
    const Vec *v = &b->columns[lock->row_column];
    u64 granted[BOX_LOCK_ROWS / 64] = {0};
    u32 asked = 0, left = 0;
    for (u32 i = 0; i < count; i++) {
        RowId id = VEC_AT(v, u64, l->rows[i]);
        if (ROW_BLOCK(id) & STAGED_BLOCK)
            continue;
        l->asked[asked] = (u16)i;
        l->ids[asked++] = id;
    }
    if (asked) {
        TxnOutcome o = ask(l, lock, asked, granted);
        if (o != TXN_DONE) {
            l->exec->root->lock_outcome = o;
            return 0;
        }
        if (lock->wait != LOCK_SKIP)
            return count;
    }
    for (u32 i = 0, k = 0; i < count; i++) {
        bool was_asked = k < asked && l->asked[k] == i;
        if (!was_asked || (granted[k / 64] >> (k % 64) & 1))
            l->rows[left++] = l->rows[i];
        k += was_asked;
    }
    return left;
}

static void
lock_batch(Locker *l, const Batch *b)
{
    Worker *w = &l->exec->workers[0];
    for (u32 at = 0; at < b->count && l->wanted && l->exec->root->lock_outcome == TXN_DONE;) {
        u32 count = (u32)MIN(MIN((u64)(b->count - at), l->wanted), (u64)BOX_LOCK_ROWS);
        for (u32 i = 0; i < count; i++)
            l->rows[i] = (u16)(at + i);
        at += count;
        for (u32 k = 0; k < l->node->lock.count && count; k++)
            count = lock_table_rows(l, &l->node->lock.locks[k], b, count);
        for (u32 c = 0; count && c < b->column_count; c++)
            vec_take(w->arena, &b->columns[c], l->rows, count, &l->bufs[c], &l->taken[c]);
        Batch taken = {.count = count, .column_count = b->column_count, .columns = l->taken};
        if (count)
            rows_append(w, w->arena, l->kept, &taken);
        l->wanted -= count;
        worker_check(w);
    }
}

static void
open_locker(Locker *l, Exec *e, const PlanNode *n)
{
    u64 limit, offset;
    limit_values(e, &n->lock.bound, &limit, &offset);
    *l = (Locker){.exec = e, .node = n};
    l->wanted = limit == 0 ? 0 : limit > UINT64_MAX - offset ? UINT64_MAX : limit + offset;
    l->ids = ARENA_ARRAY(e->arena, RowId, BOX_LOCK_ROWS);
    l->asked = ARENA_ARRAY(e->arena, u16, BOX_LOCK_ROWS);
    l->rows = ARENA_ARRAY(e->arena, u16, BOX_LOCK_ROWS);
    l->bufs = ARENA_ARRAY(e->arena, VecBuf, n->slot_count);
    l->taken = ARENA_ARRAY(e->arena, Vec, n->slot_count);
    l->kept = ARENA_NEW(e->arena, RowStore);
    l->kept->types = pull_row_types(e, n);
    l->kept->column_count = n->slot_count;
}

Source *
lock_source(Exec *e, const PlanNode *n)
{
    Locker l;
    Batch b;
    open_locker(&l, e, n);
    Pull *pull = pull_open(e, n->left);
    if (l.wanted != UINT64_MAX)
        pull_few(pull);
    while (l.wanted && e->root->lock_outcome == TXN_DONE && pull_next(pull, &b))
        lock_batch(&l, &b);
    RowFlat *flat = ARENA_NEW(e->arena, RowFlat);
    rows_flatten(e, &l.kept, 1, l.kept->types, n->slot_count, flat);
    return rows_source(e, n, flat, NULL, flat->row_count);
}
