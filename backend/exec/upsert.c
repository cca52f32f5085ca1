/*
 * upsert.c
 *    INSERT … ON CONFLICT: each row that comes is looked up by the keys that count, and is inserted, left out, or updates the row that is there.
 *
 * The look-up sees the statement's snapshot and the rows that the statement has inserted itself. What another transaction inserts meanwhile is found by
 * the walwriter, which waits for it and answers RETRY: the statement runs again and sees it (40001 from REPEATABLE READ on). So it ends in one of the two ways
 * and never with a key that is there twice. A row can be updated once (21000), and one that was inserted by the statement never.
 *
 * CHECK and NOT NULL are looked at for every row that comes, as in PostgreSQL, be it inserted or not.
 */
#include "backend/exec/write.h"

#include "common/base/hash.h"

/* A key of a row that the statement inserts. */
typedef struct TakenKey {
    u64 hash;
    const Value *values; /* NULL: empty */
    u32 key;
} TakenKey;

typedef struct TakenKeys {
    u64 mask, count;
    TakenKey *slots;
} TakenKeys;

struct Upsert {
    Writer *w;
    const BConflict *conflict;
    const TableShm *table;
    const TableDef *def;
    TxnWrite *updates;
    TakenKeys taken;
    Seen updated;
    VecBuf *decode;
    /* of a batch: rows to insert; rows that update, their targets */
    u16 *inserts, *changes;
    RowId *targets;
    u32 insert_count, change_count;
    /* DO UPDATE */
    RowReader reader;
    Vec *both;            /* the rows that are there, then the excluded ones */
    Vec *rows;            /* those of them that WHERE wants */
    u16 *wanted;
    VecBuf *excluded, *filtered, *convert;
    Vec *kept_new;        /* the rows as they become */
    Vec *changed;         /* the columns that are set */
    Eval *values, where;
    /* RETURNING: rows in the order in which they came */
    Vec *out;
    VecBuf *out_bufs;
};

Upsert *
upsert_open(Writer *w, const TableShm *table, const Plan *plan)
{
    Exec *e = w->exec;
    Worker *worker = &e->workers[0];
    Arena *a = e->arena;
    const BConflict *c = plan->stmt->conflict;
    Upsert *u = ARENA_NEW(a, Upsert);
    u32 n = w->def->column_count, keys = 0;
    *u = (Upsert){.w = w, .conflict = c, .table = table, .def = w->def};
    u->updates = txn_write_begin(e->ctx->txn, a, table);
    for (u32 i = 0; i < c->key_count; i++)
        keys |= 1u << c->keys[i];
    txn_write_upsert(w->write, u->updates, keys);
    u->decode = ARENA_ARRAY(a, VecBuf, n);
    u->inserts = ARENA_ARRAY(a, u16, VEC_SIZE);
    u->changes = ARENA_ARRAY(a, u16, VEC_SIZE);
    u->targets = ARENA_ARRAY(a, RowId, VEC_SIZE);
    u->out_bufs = ARENA_ARRAY(a, VecBuf, n);
    u->out = ARENA_ARRAY(a, Vec, n);
    if (!c->update)
        return u;
    u16 *columns = ARENA_ARRAY(a, u16, n);
    for (u32 i = 0; i < n; i++)
        columns[i] = (u16)i;
    u->reader = (RowReader){e, table, w->def->table_id, n, columns};
    u->excluded = ARENA_ARRAY(a, VecBuf, n);
    u->convert = ARENA_ARRAY(a, VecBuf, c->column_count);
    u->kept_new = ARENA_ARRAY(a, Vec, n);
    u->changed = ARENA_ARRAY(a, Vec, c->column_count);
    u->values = ARENA_ARRAY(a, Eval, c->column_count);
    for (u32 i = 0; i < c->column_count; i++)
        eval_open(&u->values[i], worker, &plan->upsert->values[i]);
    if (plan->upsert->where)
        eval_open(&u->where, worker, plan->upsert->where);
    return u;
}

/* ---- keys ---- */

/* false: a column of it is NULL. */
static bool
key_of_row(const Upsert *u, const Batch *b, u32 row, u32 key, Value *values)
{
    const KeyDef *k = &u->def->keys[key];
    for (u32 i = 0; i < k->column_count; i++) {
        const ColumnDef *c = &u->def->columns[k->columns[i]];
        const Vec *v = &b->columns[k->columns[i]];
        if (VEC_NULL(v, row))
            return false;
        values[i] = value_from_phys((TypeId)c->type, c->typmod, v->phys, c->scale, (const u8 *)v->data + (size_t)row * phys_width(v->phys));
    }
    return true;
}

static TakenKey *
taken_slot(const Upsert *u, u32 key, u64 hash, const Value *values)
{
    const TakenKeys *t = &u->taken;
    u32 columns = u->def->keys[key].column_count;
    for (u64 at = hash_u64(hash + key) & t->mask;; at = (at + 1) & t->mask) {
        TakenKey *k = &t->slots[at];
        if (!k->values)
            return k;
        bool equal = k->hash == hash && k->key == key;
        for (u32 i = 0; i < columns && equal; i++)
            equal = value_cmp(&k->values[i], &values[i]) == 0;
        if (equal)
            return k;
    }
}

static void
taken_room(Upsert *u, u32 more)
{
    Worker *w = &u->w->exec->workers[0];
    TakenKeys *t = &u->taken, old = *t;
    if (t->slots && (t->count + more) * 2 <= t->mask)
        return;
    u64 slots = 64;
    while (slots < (t->count + more) * 4)
        slots *= 2;
    t->slots = exec_alloc(w, slots * sizeof *t->slots);
    t->mask = slots - 1;
    for (u64 i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].values)
            *taken_slot(u, old.slots[i].key, old.slots[i].hash, old.slots[i].values) = old.slots[i];
    if (old.slots)
        exec_free(w, old.slots, (old.mask + 1) * sizeof *old.slots);
}

/* Value by value, texts too: the batch goes. */
static void
take_key(Upsert *u, u32 key, u64 hash, const Value *values, TakenKey *slot)
{
    Arena *a = u->w->exec->arena;
    u32 columns = u->def->keys[key].column_count;
    Value *kept = ARENA_ARRAY(a, Value, columns);
    for (u32 i = 0; i < columns; i++) {
        kept[i] = values[i];
        if (u->def->columns[u->def->keys[key].columns[i]].phys == PHYS_STR)
            kept[i].str = arena_str(a, values[i].str);
    }
    exec_charge(u->w->exec, columns * sizeof *kept);
    *slot = (TakenKey){hash, kept, key};
    u->taken.count++;
}

static NORETURN void
second_time(void)
{
    Error err;
    error_set(&err, ERR_CARDINALITY_VIOLATION, "ON CONFLICT DO UPDATE command cannot affect row a second time");
    error_hint(&err, "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
    err_rethrow(&err);
}

typedef enum Fate { FATE_INSERT, FATE_SKIP, FATE_UPDATE } Fate;

/* What becomes of a row; the keys of one that is inserted are taken. */
static Fate
judge_row(Upsert *u, const Batch *b, u32 row, RowId *ret_target)
{
    Exec *e = u->w->exec;
    Value values[MAX_KEY_COLUMNS];
    for (u32 i = 0; i < u->conflict->key_count; i++) {
        u32 key = u->conflict->keys[i];
        if (!key_of_row(u, b, row, key, values))
            continue;
        u64 hash = key_hash_values(u->def, key, values);
        bool found = key_find(e->snapshot, u->table, key, values, ret_target);
        if (e->notes_reads)
            txn_note_read_key(e->ctx->txn, u->def->table_id, key, hash, found ? *ret_target : 0);
        if (found)
            return u->conflict->update ? FATE_UPDATE : FATE_SKIP;
        if (!taken_slot(u, key, hash, values)->values)
            continue;
        if (u->conflict->update)
            second_time();
        return FATE_SKIP;
    }
    for (u32 i = 0; i < u->conflict->key_count; i++) {
        u32 key = u->conflict->keys[i];
        if (!key_of_row(u, b, row, key, values))
            continue;
        u64 hash = key_hash_values(u->def, key, values);
        take_key(u, key, hash, values, taken_slot(u, key, hash, values));
    }
    return FATE_INSERT;
}

/* The keys of a batch are asked for before they are looked at. */
static void
prefetch_keys(const Upsert *u, const Batch *b, u32 first)
{
    Value values[MAX_KEY_COLUMNS];
    for (u32 row = first; row < MIN(b->count, first + 32); row++)
        for (u32 i = 0; i < u->conflict->key_count; i++)
            if (key_of_row(u, b, row, u->conflict->keys[i], values))
                key_prefetch(u->table, u->conflict->keys[i], key_hash_values(u->def, u->conflict->keys[i], values));
}

static void
judge_rows(Upsert *u, const Batch *b)
{
    u->insert_count = u->change_count = 0;
    taken_room(u, b->count * u->conflict->key_count);
    for (u32 row = 0; row < b->count; row++) {
        RowId target = 0;
        if (row % 32 == 0 && b->count > 1)
            prefetch_keys(u, b, row);
        switch (judge_row(u, b, row, &target)) {
        case FATE_INSERT:
            u->inserts[u->insert_count++] = (u16)row;
            break;
        case FATE_UPDATE:
            u->targets[u->change_count] = target;
            u->changes[u->change_count++] = (u16)row;
            break;
        case FATE_SKIP:
            break;
        }
    }
}

/* ---- DO UPDATE ---- */

/* The rows that are there beside those that were to be inserted; those that WHERE wants stay. */
static void
find_changes(Upsert *u, const Batch *b)
{
    Exec *e = u->w->exec;
    u32 n = u->def->column_count, kept = 0;
    Vec truth = {0};
    if (!u->both) {
        PlanSlot *slots = e->plan->upsert->slots;
        u->both = ARENA_ARRAY(e->arena, Vec, 2 * n);
        u->rows = ARENA_ARRAY(e->arena, Vec, 2 * n);
        u->filtered = ARENA_ARRAY(e->arena, VecBuf, 2 * n);
        u->wanted = ARENA_ARRAY(e->arena, u16, VEC_SIZE);
        row_columns(e->arena, slots, n, VEC_SIZE, u->both);
    }
    for (u32 i = 0; i < u->change_count; i++)
        row_read(&u->reader, u->targets[i], u->both, i);
    for (u32 c = 0; c < n; c++)
        vec_take(e->arena, &b->columns[c], u->changes, u->change_count, &u->excluded[c], &u->both[n + c]);
    Batch both = {.count = u->change_count, .column_count = 2 * n, .columns = u->both};
    if (u->where.expr)
        eval_run(&u->where, &e->workers[0], &both, &truth);
    seen_room(&e->workers[0], &u->updated, u->change_count);
    for (u32 i = 0; i < u->change_count; i++) {
        u32 at = truth.is_const ? 0 : i;
        if (seen_has(&u->updated, u->targets[i]))
            second_time();
        if (u->where.expr && (VEC_NULL(&truth, at) || !VEC_AT(&truth, u8, at)))
            continue;
        (void)seen_enter(&u->updated, u->targets[i]);
        u->updated.count++;
        u->targets[kept] = u->targets[i];
        u->changes[kept] = u->changes[i];
        u->wanted[kept++] = (u16)i;
    }
    if (kept == u->change_count) {
        memcpy(u->rows, u->both, 2 * n * sizeof *u->rows);
        return;
    }
    for (u32 c = 0; c < 2 * n && kept; c++)
        vec_take(e->arena, &u->both[c], u->wanted, kept, &u->filtered[c], &u->rows[c]);
    u->change_count = kept;
}

static void
change_rows(Upsert *u)
{
    Exec *e = u->w->exec;
    const BConflict *c = u->conflict;
    u32 n = u->def->column_count;
    Batch both = {.count = u->change_count, .column_count = 2 * n, .columns = u->rows};
    memcpy(u->kept_new, u->rows, n * sizeof *u->kept_new);
    for (u32 i = 0; i < c->column_count; i++) {
        const ColumnDef *d = &u->def->columns[c->columns[i]];
        eval_run(&u->values[i], &e->workers[0], &both, &u->changed[i]);
        vec_convert(e->arena, &u->changed[i], both.count, (TypeId)d->type, d->typmod, (PhysType)d->phys, d->scale, &u->convert[i]);
        u->kept_new[c->columns[i]] = u->changed[i];
    }
    Batch rows = {.count = both.count, .column_count = n, .columns = u->kept_new};
    Batch values = {.count = both.count, .column_count = c->column_count, .columns = u->changed};
    writer_look_at_checks(u->w, u->updates, &rows);
    txn_update(u->updates, u->targets, c->columns, c->column_count, &values);
}

/* ---- RETURNING ---- */

/* Inserted and changed rows in the order in which they came. */
static void
return_rows(Upsert *u, const Batch *b)
{
    Exec *e = u->w->exec;
    u32 count = u->insert_count + u->change_count, n = u->def->column_count;
    for (u32 c = 0; c < n; c++) {
        VecBuf *buf = &u->out_bufs[c];
        PhysType phys = (PhysType)u->def->columns[c].phys;
        u32 width = phys_width(phys), inserted = 0, changed = 0;
        vecbuf_need(e->arena, buf, phys, VEC_SIZE);
        for (u32 i = 0; i < count; i++) {
            bool insert = changed == u->change_count || (inserted < u->insert_count && u->inserts[inserted] < u->changes[changed]);
            const Vec *v = insert ? &b->columns[c] : &u->kept_new[c];
            u32 row = insert ? u->inserts[inserted++] : changed++;
            u32 at = v->is_const ? 0 : row;
            buf->nulls[i] = VEC_NULL(v, at);
            if (phys == PHYS_STR && !v->data)
                ((Str *)buf->data)[i] = dict_str(v->dict, v->codes[at]);
            else
                memcpy((u8 *)buf->data + (size_t)i * width, (const u8 *)v->data + (size_t)at * width, width);
        }
        u->out[c] = (Vec){.phys = phys, .scale = u->def->columns[c].scale, .data = buf->data, .null_mask = buf->nulls};
    }
    Batch out = {.count = count, .column_count = n, .columns = u->out};
    writer_keep_returning(u->w, &out);
}

/* ---- a batch, the end ---- */

void
upsert_batch(Upsert *u, const Batch *b)
{
    Batch shaped;
    if (!b->count)
        return;
    writer_shape(u->w, b, &shaped);
    for (u32 c = 0; c < shaped.column_count; c++)
        vec_decode(u->w->exec->arena, &shaped.columns[c], shaped.count, &u->decode[c]);
    writer_look_at_checks(u->w, u->w->write, &shaped);
    txn_check(u->w->write, &shaped);
    judge_rows(u, &shaped);
    Batch inserts = shaped;
    inserts.count = u->insert_count;
    inserts.sel = u->inserts;
    txn_insert(u->w->write, &inserts);
    if (u->change_count)
        find_changes(u, &shaped);
    if (u->change_count)
        change_rows(u);
    u->w->rows += u->insert_count + u->change_count;
    if (u->w->returning && u->insert_count + u->change_count)
        return_rows(u, &shaped);
}

TxnOutcome
upsert_finish(Upsert *u)
{
    return txn_upsert_finish(u->w->write, u->updates);
}
