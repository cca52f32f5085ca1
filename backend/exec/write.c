/*
 * write.c
 *    Statements that change something: the rows are computed at the statement's snapshot, handed to txn, and written in one request.
 *
 * When the answer is RETRY the snapshot has moved and the whole statement runs again, keeping its locks. REPLAN goes back to the session. Vectors
 * for txn have exactly the physical form of their columns.
 */
#include "backend/exec/write.h"

#include "common/base/hash.h"

static void
set_null_column(Writer *w, u32 i, Arena *a, u32 count)
{
    Vec *v = &w->null_vecs[i];
    const ColumnDef *c = &w->def->columns[w->columns[i]];
    if (!v->data) {
        u32 room = count <= 32 ? 32 : VEC_SIZE;
        *v = (Vec){.phys = (PhysType)c->phys, .scale = c->scale};
        v->data = arena_zalloc(a, (size_t)room * phys_width(v->phys));
        v->null_mask = arena_alloc(a, room);
        memset(v->null_mask, 1, room);
        for (u32 r = 0; v->phys == PHYS_STR && r < room; r++)
            ((Str *)v->data)[r] = (Str){"", 0};
        w->convert[i].capacity = room;
    }
    if (w->convert[i].capacity < count) {
        v->data = NULL;
        set_null_column(w, i, a, VEC_SIZE);
    }
    w->vecs[i] = *v;
}

static void
eval_default(Writer *w, u32 column, const Batch *b, Vec *ret)
{
    const ColumnDef *c = &w->def->columns[column];
    eval_run(&w->defaults[column], &w->exec->workers[0], b, ret);
    vec_convert(w->exec->arena, ret, b->count, (TypeId)c->type, c->typmod, (PhysType)c->phys, c->scale, &w->convert[column]);
}

/* The column's DEFAULT in the rows that want it. */
static void
merge_default(Writer *w, u32 column, const Batch *b, const u8 *wanted)
{
    Vec value, *v = &w->vecs[column];
    VecBuf *buf = &w->merged[column];
    u32 width = phys_width(v->phys);
    eval_default(w, column, b, &value);
    vecbuf_need(w->exec->arena, buf, v->phys, VEC_SIZE);
    memcpy(buf->data, v->data, (size_t)b->count * width);
    for (u32 i = 0; i < b->count; i++) {
        buf->nulls[i] = wanted[i] ? VEC_NULL(&value, i) : VEC_NULL(v, i);
        if (wanted[i])
            memcpy((u8 *)buf->data + (size_t)i * width, (const u8 *)value.data + (size_t)(value.is_const ? 0 : i) * width, width);
    }
    *v = (Vec){.phys = v->phys, .scale = v->scale, .data = buf->data, .null_mask = buf->nulls};
}

void
writer_shape(Writer *w, const Batch *b, Batch *ret)
{
    Arena *a = w->exec->arena;
    for (u32 i = 0; i < w->column_count; i++) {
        if (w->from[i] < 0 && w->defaults && w->defaults[i].expr) {
            eval_default(w, i, b, &w->vecs[i]);
            continue;
        }
        if (w->from[i] < 0) {
            set_null_column(w, i, a, b->count);
            continue;
        }
        const ColumnDef *c = &w->def->columns[w->columns[i]];
        w->vecs[i] = b->columns[w->from[i]];
        vec_convert(a, &w->vecs[i], b->count, (TypeId)c->type, c->typmod, (PhysType)c->phys, c->scale, &w->convert[i]);
    }
    *ret = (Batch){.count = b->count, .column_count = w->column_count, .columns = w->vecs};
}

static void
open_writer(Writer *w, Exec *e, const TableShm *table, u32 column_count)
{
    *w = (Writer){.exec = e, .def = table_def(table), .column_count = column_count};
    w->columns = ARENA_ARRAY(e->arena, u16, column_count);
    w->from = ARENA_ARRAY(e->arena, i32, column_count);
    w->vecs = ARENA_ARRAY(e->arena, Vec, column_count);
    w->null_vecs = ARENA_ARRAY(e->arena, Vec, column_count);
    w->convert = ARENA_ARRAY(e->arena, VecBuf, column_count);
    w->write = txn_write_begin(e->ctx->txn, e->arena, table);
}

/* INSERT and COPY: all columns of the table; those not named are NULL. */
static void
open_insert(Writer *w, Exec *e, const TableShm *table, const BStmt *stmt)
{
    u32 n = table_def(table)->column_count;
    open_writer(w, e, table, n);
    for (u32 i = 0; i < n; i++) {
        w->columns[i] = (u16)i;
        w->from[i] = -1;
    }
    for (u32 i = 0; i < stmt->column_count; i++)
        w->from[stmt->columns[i]] = (i32)i;
}

/* ---- rows that come several times ---- */

bool
seen_enter(Seen *s, RowId id)
{
    u64 at = hash_u64(id) & s->mask;
    for (; s->ids[at]; at = (at + 1) & s->mask)
        if (s->ids[at] == id)
            return false;
    s->ids[at] = id;
    return true;
}

void
seen_room(Worker *w, Seen *s, u32 more)
{
    if ((s->count + more) * 2 <= s->mask)
        return;
    u64 slots = 1024, old_slots = s->ids ? s->mask + 1 : 0;
    RowId *old = s->ids;
    while (slots < (s->count + more) * 4)
        slots *= 2;
    s->ids = exec_alloc(w, slots * sizeof *s->ids);
    s->mask = slots - 1;
    for (u64 i = 0; i < old_slots; i++)
        if (old[i])
            seen_enter(s, old[i]);
    if (old)
        exec_free(w, old, old_slots * sizeof *old);
}

bool
seen_has(const Seen *s, RowId id)
{
    for (u64 at = hash_u64(id) & s->mask; s->ids && s->ids[at]; at = (at + 1) & s->mask)
        if (s->ids[at] == id)
            return true;
    return false;
}

/* The rows of b whose id was not there yet. */
static Batch
first_ones(Writer *w, const Batch *b)
{
    Worker *worker = &w->exec->workers[0];
    Seen *s = w->seen;
    const RowId *ids = b->columns[0].data;
    u32 count = 0;
    if (!s->sel) {
        s->sel = ARENA_ARRAY(worker->arena, u16, VEC_SIZE);
        s->columns = ARENA_ARRAY(worker->arena, Vec, b->column_count);
        s->bufs = ARENA_ARRAY(worker->arena, VecBuf, b->column_count);
    }
    seen_room(worker, s, b->count);
    for (u32 i = 0; i < b->count; i++)
        if (seen_enter(s, ids[i]))
            s->sel[count++] = (u16)i;
    s->count += count;
    if (count == b->count)
        return *b;
    for (u32 c = 0; count && c < b->column_count; c++)
        vec_take(worker->arena, &b->columns[c], s->sel, count, &s->bufs[c], &s->columns[c]);
    return (Batch){.count = count, .column_count = b->column_count, .columns = s->columns};
}

/* ---- RETURNING ---- */

static void
open_returning(Writer *w, const Plan *plan)
{
    Worker *worker = &w->exec->workers[0];
    u32 n = plan->column_count;
    Returning *r = w->returning = ARENA_NEW(worker->arena, Returning);
    RowColumn *types = ARENA_ARRAY(worker->arena, RowColumn, n);
    r->evals = ARENA_ARRAY(worker->arena, Eval, n);
    r->columns = ARENA_ARRAY(worker->arena, Vec, n);
    r->text = ARENA_ARRAY(worker->arena, VecBuf, n);
    for (u32 i = 0; i < n; i++) {
        const PlanExpr *x = &plan->returning[i];
        const PlanSlot *s = x->column >= 0 ? &(plan->upsert ? plan->upsert->slots : plan->root->slots)[x->column] : NULL;
        eval_open(&r->evals[i], worker, x);
        types[i] = s ? (RowColumn){.phys = s->phys, .scale = s->scale} : (RowColumn){.phys = expr_phys(x->prog), .scale = expr_scale(x->prog)};
    }
    r->store = (RowStore){.column_count = n, .types = types};
}

void
writer_keep_returning(Writer *w, const Batch *b)
{
    Returning *r = w->returning;
    Worker *worker = &w->exec->workers[0];
    for (u32 i = 0; i < r->store.column_count; i++) {
        eval_run(&r->evals[i], worker, b, &r->columns[i]);
        vec_decode(worker->arena, &r->columns[i], b->count, &r->text[i]);
    }
    Batch out = {.count = b->count, .column_count = r->store.column_count, .columns = r->columns};
    rows_append(worker, worker->arena, &r->store, &out);
}

/* ---- CHECK ---- */

static void
open_checks(Writer *w, const Plan *plan)
{
    Worker *worker = &w->exec->workers[0];
    w->check_count = plan->stmt->check_count;
    w->checks = plan->stmt->checks;
    w->check_evals = ARENA_ARRAY(worker->arena, Eval, w->check_count);
    for (u32 i = 0; i < w->check_count; i++)
        eval_open(&w->check_evals[i], worker, &plan->checks[i]);
}

/* The first of `count` rows for which it is false: NULL is as good as true. */
static u32
first_false(const Vec *v, u32 count)
{
    const u8 *truth = v->data;
    if (v->is_const)
        return !VEC_NULL(v, 0) && !truth[0] ? 0 : count;
    if (!memchr(truth, 0, count))
        return count;
    for (u32 i = 0; i < count; i++)
        if (!truth[i] && !VEC_NULL(v, i))
            return i;
    return count;
}

/* A row that breaks a CHECK is the error of txn_insert and txn_update: they know what else may be wrong with it, and its values. */
void
writer_look_at_checks(Writer *w, TxnWrite *write, const Batch *b)
{
    u32 first = b->count;
    for (u32 i = 0; i < w->check_count && first; i++) {
        Vec truth;
        eval_run(&w->check_evals[i], &w->exec->workers[0], b, &truth);
        u32 at = first_false(&truth, first);
        if (at < first)
            txn_note_broken(write, at, w->checks[i].name);
        first = at;
    }
}

static void
write_batch(Writer *w, const BStmt *stmt, const Batch *all)
{
    Batch shaped, first = w->seen ? first_ones(w, all) : *all;
    const Batch *b = &first;
    if (!b->count)
        return;
    w->rows += b->count;
    if (stmt->kind == BST_DELETE) {
        txn_delete(w->write, b->columns[0].data, b->count);
    } else {
        writer_look_at_checks(w, w->write, b);
        writer_shape(w, b, &shaped);
        if (stmt->kind == BST_UPDATE)
            txn_update(w->write, b->columns[0].data, w->columns, w->column_count, &shaped);
        else
            txn_insert(w->write, &shaped);
    }
    if (w->returning)
        writer_keep_returning(w, b);
}

static TxnOutcome
run_once(ExecContext *ctx, const Plan *plan, u64 *ret_rows, Exec **ret_returning)
{
    const BStmt *stmt = plan->stmt;
    Exec *e = exec_new(ctx, plan);
    const TableShm *table = store_table(e->snapshot->root, stmt->table_id);
    if (!table || table_def(table)->schema_version != stmt->schema_version) {
        exec_close(e);
        return TXN_REPLAN;
    }
    Pull *pull = pull_open(e, plan->root);
    TxnOutcome locked = exec_take_locks(e, pull);
    if (locked != TXN_DONE)
        return locked;
    Writer w;
    if (stmt->kind == BST_INSERT)
        open_insert(&w, e, table, stmt);
    else {
        open_writer(&w, e, table, stmt->kind == BST_UPDATE ? stmt->column_count : 0);
        for (u32 i = 0; i < w.column_count; i++) {
            w.columns[i] = stmt->columns[i];
            w.from[i] = (i32)i + 1; /* the row id comes first */
        }
    }
    if (stmt->kind != BST_INSERT && stmt->query->rel_count > 1)
        w.seen = ARENA_NEW(e->arena, Seen);
    open_checks(&w, plan);
    if (plan->returning)
        open_returning(&w, plan);
    Upsert *upsert = plan->upsert ? upsert_open(&w, table, plan) : NULL;
    Batch b;
    while (pull_next(pull, &b)) {
        if (upsert)
            upsert_batch(upsert, &b);
        else
            write_batch(&w, stmt, &b);
    }
    TxnOutcome outcome = upsert ? upsert_finish(upsert) : txn_write_finish(w.write);
    *ret_rows = w.rows;
    if (outcome == TXN_DONE && plan->returning) {
        exec_hand_out(e, &w.returning->store);
        *ret_returning = e;
    } else
        exec_close(e);
    return outcome;
}

static ExecOutcome
write_rows(ExecContext *ctx, const Plan *plan, u64 *ret_rows, Exec **ret_returning)
{
    for (;;) {
        switch (run_once(ctx, plan, ret_rows, ret_returning)) {
        case TXN_DONE:
            return EXEC_DONE;
        case TXN_REPLAN:
            return EXEC_REPLAN;
        case TXN_RETRY:
            break;
        }
    }
}

static ExecOutcome
outcome_of(TxnOutcome o)
{
    return o == TXN_DONE ? EXEC_DONE : EXEC_REPLAN;
}

/* A RETRY has the lock: there is nothing to be read again. It takes no snapshot, so that a REPEATABLE READ one comes after the locks. */
static ExecOutcome
lock_tables(ExecContext *ctx, const BStmt *stmt)
{
    for (u32 i = 0; i < stmt->lock_count; i++) {
        const TableShm *t = store_table(txn_root(ctx->txn), stmt->lock_ids[i]);
        if (!t || txn_lock_table(ctx->txn, stmt->lock_ids[i], table_def(t)->schema_version, stmt->lock_mode, stmt->lock_wait) == TXN_REPLAN)
            return EXEC_REPLAN;
    }
    return EXEC_DONE;
}

static TxnOutcome
lock_altered(ExecContext *ctx, u32 table_id)
{
    const TableShm *t = store_table(txn_root(ctx->txn), table_id);
    return t ? txn_lock_table(ctx->txn, table_id, table_def(t)->schema_version, TABLE_LOCK_ACCESS_EXCLUSIVE, LOCK_WAIT) : TXN_REPLAN;
}

/* Rows that are there and break a CHECK: there must be none. */
static void
refuse_broken(Exec *e, const Plan *plan)
{
    Pull *pull = pull_open(e, plan->root);
    Batch b;
    while (pull_next(pull, &b))
        for (u32 i = 0; b.count && i < plan->stmt->check_count; i++)
            if (first_false(&b.columns[i], 1) == 0)
                txn_throw_broken(plan->stmt->create, plan->stmt->checks[i].name);
}

/* The rows stay as they are; they are looked at when nobody else can change them. */
static TxnOutcome
alter_definition(ExecContext *ctx, const Plan *plan)
{
    const BStmt *stmt = plan->stmt;
    if (stmt->query) {
        TxnOutcome outcome = txn_lock_altered(ctx->txn, stmt->table_id, stmt->schema_version);
        if (outcome != TXN_DONE)
            return outcome;
        Exec *e = exec_new(ctx, plan);
        refuse_broken(e, plan);
        exec_close(e);
    }
    return txn_alter_table(ctx->txn, stmt->create);
}

/* The table gets its new definition first and is filled from what it was: nobody else can change it then. */
static TxnOutcome
alter_table(ExecContext *ctx, const Plan *plan)
{
    const BStmt *stmt = plan->stmt;
    const TableShm *empty;
    if (!stmt->create) /* nothing changes, and the binder left notices; or somebody who is at it makes another table of it */
        return stmt->table_id ? lock_altered(ctx, stmt->table_id) : TXN_DONE;
    if (!stmt->rewrites)
        return alter_definition(ctx, plan);
    TxnOutcome outcome = txn_rebuild_table(ctx->txn, stmt->create, &empty);
    if (outcome != TXN_DONE)
        return outcome;
    Exec *e = exec_new(ctx, plan);
    Pull *pull = pull_open(e, plan->root);
    Writer w;
    Batch b;
    open_insert(&w, e, empty, stmt);
    open_checks(&w, plan);
    while (pull_next(pull, &b))
        write_batch(&w, stmt, &b);
    outcome = txn_write_finish(w.write);
    exec_close(e);
    return outcome;
}

/* CREATE TABLE AS. */
static TxnOutcome
create_filled(ExecContext *ctx, const Plan *plan, u64 *ret_rows)
{
    const BStmt *stmt = plan->stmt;
    const TableShm *empty;
    bool exists;
    if (plan->locks)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "FOR UPDATE and its kin in CREATE TABLE AS are not supported yet");
    TxnOutcome outcome = txn_create_filled(ctx->txn, stmt->create, stmt->if_not_exists, &exists, &empty);
    if (outcome != TXN_DONE || exists)
        return outcome;
    Exec *e = exec_new(ctx, plan);
    Pull *pull = pull_open(e, plan->root);
    Writer w;
    Batch b;
    open_insert(&w, e, empty, stmt);
    while (pull_next(pull, &b))
        write_batch(&w, stmt, &b);
    outcome = txn_write_finish(w.write);
    *ret_rows = w.rows;
    exec_close(e);
    return outcome;
}

ExecOutcome
exec_write(ExecContext *ctx, const Plan *plan, u64 *ret_rows, Exec **ret_returning)
{
    const BStmt *stmt = plan->stmt;
    bool exists = false;
    *ret_rows = 0;
    *ret_returning = NULL;
    switch (stmt->kind) {
    case BST_INSERT:
    case BST_UPDATE:
    case BST_DELETE:
        return write_rows(ctx, plan, ret_rows, ret_returning);
    case BST_CREATE_TABLE:
        if (!stmt->create) /* IF NOT EXISTS, and it does: the binder left a notice */
            return EXEC_DONE;
        if (stmt->query)
            return outcome_of(create_filled(ctx, plan, ret_rows));
        return outcome_of(txn_create_table(ctx->txn, stmt->create, stmt->if_not_exists, &exists));
    case BST_DROP_TABLE:
        return stmt->drop_count ? outcome_of(txn_drop_tables(ctx->txn, stmt->drop_ids, stmt->drop_count)) : EXEC_DONE;
    case BST_LOCK:
        return lock_tables(ctx, stmt);
    case BST_ALTER_TABLE:
        return outcome_of(alter_table(ctx, plan));
    case BST_TRUNCATE:
        return outcome_of(txn_truncate(ctx->txn, stmt->drop_ids, stmt->drop_count));
    default:
        err_throw(ERR_INTERNAL_ERROR, "a statement that writes nothing was run as one that does");
    }
}

/* ---- COPY FROM ---- */

struct ExecCopy {
    Writer writer;
    const BStmt *stmt;
    bool replan;
};

ExecCopy *
exec_copy_begin(ExecContext *ctx, const Plan *plan)
{
    Exec *e = exec_new(ctx, plan);
    ExecCopy *c = ARENA_NEW(ctx->arena, ExecCopy);
    c->stmt = plan->stmt;
    const TableShm *table = store_table(e->snapshot->root, plan->stmt->table_id);
    c->writer.exec = e;
    c->replan = !table || table_def(table)->schema_version != plan->stmt->schema_version;
    if (c->replan)
        return c;
    open_insert(&c->writer, e, table, plan->stmt);
    if (plan->stmt->default_count) {
        c->writer.defaults = ARENA_ARRAY(e->arena, Eval, c->writer.column_count);
        c->writer.merged = ARENA_ARRAY(e->arena, VecBuf, c->writer.column_count);
    }
    if (plan->copy_where) {
        eval_open(&c->writer.where, &e->workers[0], plan->copy_where);
        c->writer.kept = ARENA_ARRAY(e->arena, VecBuf, c->writer.column_count + 1);
    }
    open_checks(&c->writer, plan);
    for (u32 i = 0; i < plan->stmt->default_count; i++)
        eval_open(&c->writer.defaults[plan->stmt->defaults[i].attribute - 1], &e->workers[0], &plan->defaults[i]);
    return c;
}

/* The rows that WHERE wants; the columns become new vectors. */
static void
keep_wanted(Writer *w, Batch *b)
{
    Arena *a = w->exec->arena;
    Vec truth;
    u16 wanted[VEC_SIZE];
    u32 count = 0;
    eval_run(&w->where, &w->exec->workers[0], b, &truth);
    for (u32 i = 0; i < b->count; i++)
        if (!VEC_NULL(&truth, i) && VEC_AT(&truth, u8, i))
            wanted[count++] = (u16)i;
    for (u32 c = 0; count && count < b->count && c < w->column_count; c++) {
        Vec all = w->vecs[c];
        vec_take(a, &all, wanted, count, &w->kept[c], &w->vecs[c]);
    }
    b->count = count;
}

void
exec_copy_rows(ExecCopy *c, const Batch *b, const u8 *const *defaults)
{
    Writer *w = &c->writer;
    if (c->replan)
        return;
    Batch shaped;
    writer_shape(w, b, &shaped);
    for (u32 i = 0; i < c->stmt->column_count; i++)
        if (defaults[i])
            merge_default(w, c->stmt->columns[i], b, defaults[i]);
    if (w->where.expr)
        keep_wanted(w, &shaped);
    w->rows += shaped.count;
    writer_look_at_checks(w, w->write, &shaped);
    txn_insert(w->write, &shaped);
}

ExecOutcome
exec_copy_end(ExecCopy *c, u64 *ret_rows)
{
    *ret_rows = c->writer.rows;
    if (c->replan)
        return EXEC_REPLAN;
    TxnOutcome o = txn_write_finish(c->writer.write);
    exec_close(c->writer.exec);
    if (o == TXN_RETRY) /* the client's rows are gone: it has to send them again */
        err_throw(ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    return outcome_of(o);
}

void
exec_copy_abort(ExecCopy *c)
{
    if (c->writer.write)
        txn_write_abort(c->writer.write);
    exec_close(c->writer.exec);
}
