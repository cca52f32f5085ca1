/*
 * lookup.c
 *    Rows by key or by row id: the key lookup of a point query, the lookup join, and late fetch after a top-N.
 *
 * A point query's whole work is here: hash, probe, one element a column. Nothing is allocated by vectors of 2,048.
 */
#include "backend/exec/pred.h"

#include "common/type/array.h"

#include <stdlib.h>

/* ---- one row's columns by row id ---- */

void
row_columns(Arena *a, const PlanSlot *slots, u32 count, u32 capacity, Vec *columns)
{
    for (u32 i = 0; i < count; i++) {
        columns[i] = (Vec){.phys = slots[i].phys, .scale = slots[i].scale};
        columns[i].data = arena_alloc(a, (size_t)capacity * phys_width(slots[i].phys));
        columns[i].null_mask = arena_alloc(a, capacity);
    }
}

static void
set_null(Vec *v, u32 row)
{
    v->null_mask[row] = 1;
    memset((u8 *)v->data + (size_t)row * phys_width(v->phys), 0, phys_width(v->phys));
    if (v->phys == PHYS_STR)
        ((Str *)v->data)[row] = (Str){"", 0};
}

void
row_read(const RowReader *r, RowId id, Vec *columns, u32 row)
{
    BlockView b;
    ensure(block_locate(r->table, id, &b));
    for (u32 i = 0; i < r->column_count; i++) {
        u16 column = r->columns[i];
        Vec *v = &columns[i];
        v->null_mask[row] = 0;
        if (column == BCOL_CTID) {
            ((u64 *)v->data)[row] = id;
            continue;
        }
        if (column == BCOL_TABLEOID) {
            ((u64 *)v->data)[row] = r->table_id;
            continue;
        }
        SliceView s;
        ensure(slice_view(&b, column, &s));
        u16 offset = (u16)ROW_OFFSET(id);
        u64 scratch[4];
        u8 null[8];
        Vec one;
        slice_gather(&s, &offset, 1, &one, scratch, null);
        if (one.null_mask && one.null_mask[0])
            set_null(v, row);
        else if (v->phys == PHYS_STR)
            ((Str *)v->data)[row] = dict_str(one.dict, one.codes[0]);
        else
            memcpy((u8 *)v->data + (size_t)row * phys_width(v->phys), one.data, phys_width(v->phys));
    }
}

static int
compare_rows(const void *a, const void *b)
{
    RowId x = *(const RowId *)a, y = *(const RowId *)b;
    return (x > y) - (x < y);
}

/* ---- key lookup as a source ---- */

typedef struct KeySource {
    Source source;
    RowReader reader;
    const PlanKey *key;
    u32 tuple_count;
    Value *items; /* the elements of PlanKey.array */
} KeySource;

/* Of an array that is fixed for the execution; NULL has none. */
static void
take_items(KeySource *s)
{
    Exec *e = s->reader.exec;
    Value v = plan_value(e->arena, s->key->array, &e->ctx->env);
    s->tuple_count = 0;
    if (v.is_null)
        return;
    Array a = array_open(type_element(v.type), v.str);
    ArrayWalk w = array_walk(&a);
    s->items = ARENA_ARRAY(e->arena, Value, a.shape.count);
    while (array_next(&w, e->arena, &s->items[s->tuple_count]))
        s->tuple_count++;
}

static bool
find_tuple(KeySource *s, u32 tuple, RowId *ret)
{
    Exec *e = s->reader.exec;
    const TableDef *d = table_def(s->reader.table);
    Value values[MAX_KEY_COLUMNS];
    for (u32 c = 0; c < s->key->key_column_count; c++) {
        Value v = s->items ? s->items[tuple] : plan_value(e->arena, s->key->values[(size_t)tuple * s->key->key_column_count + c], &e->ctx->env);
        if (!key_value(&v, &d->columns[d->keys[s->key->key].columns[c]], &values[c]))
            return false;
    }
    bool found = key_find(e->snapshot, s->reader.table, s->key->key, values, ret);
    if (e->notes_reads)
        txn_note_read_key(e->ctx->txn, s->reader.table_id, s->key->key, key_hash_values(d, s->key->key, values), found ? *ret : 0);
    return found;
}

static void
key_run(Source *source, void *state, Worker *w, u64 morsel)
{
    (void)state;
    (void)morsel;
    KeySource *s = (KeySource *)source;
    const PlanNode *n = source->node;
    u32 tuples = s->tuple_count, found = 0, count = 0;
    RowId *rows = ARENA_ARRAY(w->arena, RowId, tuples);
    for (u32 i = 0; i < tuples; i++)
        found += find_tuple(s, i, &rows[found]);
    if (found > 1)
        qsort(rows, found, sizeof *rows, compare_rows);
    for (u32 i = 0; i < found; i++) /* a value that is twice in the list gives its row once */
        if (!i || rows[i] != rows[count - 1])
            rows[count++] = rows[i];
    Vec *columns = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    row_columns(w->arena, n->slots, n->slot_count, MIN(tuples, (u32)VEC_SIZE), columns);
    for (u32 at = 0; at < count; at += VEC_SIZE) {
        Batch b = {.count = MIN((u32)VEC_SIZE, count - at), .column_count = n->slot_count, .columns = columns};
        for (u32 i = 0; i < b.count; i++)
            row_read(&s->reader, rows[at + i], columns, i);
        source_emit(source, w, &b);
    }
}

Source *
key_source(Exec *e, const PlanNode *n)
{
    KeySource *s = ARENA_NEW(e->arena, KeySource);
    s->key = &n->key;
    s->reader = (RowReader){e, exec_table(e, n->key.table_id), n->key.table_id, n->slot_count, n->key.columns};
    s->tuple_count = n->key.tuple_count;
    if (n->key.array)
        take_items(s);
    s->source = (Source){.node = n, .run = key_run, .row_count = s->tuple_count, .morsel_count = 1};
    s->source.single_batch = s->tuple_count <= VEC_SIZE;
    return &s->source;
}

/* ---- lookup join ---- */

typedef struct KeyJoinOp {
    Op op;
    RowReader reader;
    const PlanJoin *join;
} KeyJoinOp;

typedef struct KeyJoinState {
    Eval *keys;
    VecBuf *decode;
    ExprState *residual;
    Vec *right, *both, *out;
    VecBuf *bufs;
    u16 *left_rows, *sel;
    u32 *right_rows;
    u8 *matched;
} KeyJoinState;

static void *
key_join_open(Op *op, Worker *w)
{
    const PlanNode *n = op->node;
    const PlanJoin *j = &n->join;
    KeyJoinState *st = ARENA_NEW(w->arena, KeyJoinState);
    u32 all = n->left->slot_count + j->key_slot_count;
    st->keys = ARENA_ARRAY(w->arena, Eval, j->key_count);
    st->decode = ARENA_ARRAY(w->arena, VecBuf, j->key_count);
    for (u32 i = 0; i < j->key_count; i++)
        eval_open(&st->keys[i], w, &j->left_keys[i]);
    if (j->residual)
        st->residual = expr_state(w->arena, j->residual, &w->exec->ctx->env);
    st->right = ARENA_ARRAY(w->arena, Vec, j->key_slot_count);
    row_columns(w->arena, j->key_slots, j->key_slot_count, VEC_SIZE, st->right);
    st->both = ARENA_ARRAY(w->arena, Vec, all);
    st->out = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, n->slot_count);
    st->left_rows = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->right_rows = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    st->sel = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->matched = ARENA_ARRAY(w->arena, u8, VEC_SIZE);
    return st;
}

/* The rows of the other table for every left row: right[i] is filled where matched[i]. */
static void
look_up(KeyJoinOp *op, KeyJoinState *st, Worker *w, const Batch *b)
{
    const PlanJoin *j = op->join;
    const TableDef *d = table_def(op->reader.table);
    Vec keys[MAX_KEY_COLUMNS];
    for (u32 k = 0; k < j->key_count; k++) {
        eval_run(&st->keys[k], w, b, &keys[k]);
        vec_decode(w->arena, &keys[k], b->count, &st->decode[k]);
    }
    for (u32 i = 0; i < b->count; i++) {
        Value values[MAX_KEY_COLUMNS];
        bool possible = true;
        for (u32 k = 0; k < j->key_count && possible; k++) {
            const ColumnDef *c = &d->columns[d->keys[j->key_join->key].columns[k]];
            const Vec *v = &keys[k];
            TypeId type = j->left_keys[k].expr->type;
            Value x = {.is_null = true};
            if (!VEC_NULL(v, i))
                x = value_from_phys(type, -1, v->phys, v->scale, (const u8 *)v->data + (size_t)i * phys_width(v->phys));
            possible = key_value(&x, c, &values[k]);
        }
        RowId id;
        st->matched[i] = possible && key_find(w->exec->snapshot, op->reader.table, j->key_join->key, values, &id);
        if (st->matched[i])
            row_read(&op->reader, id, st->right, i);
        else
            for (u32 c = 0; c < j->key_slot_count; c++)
                set_null(&st->right[c], i);
    }
}

static void
key_join_push(Op *base, void *state, Worker *w, Batch *b)
{
    KeyJoinOp *op = (KeyJoinOp *)base;
    KeyJoinState *st = state;
    const PlanNode *n = base->node;
    const PlanJoin *j = op->join;
    look_up(op, st, w, b);
    u32 left = n->left->slot_count;
    for (u32 c = 0; c < left; c++)
        st->both[c] = b->columns[c];
    for (u32 c = 0; c < j->key_slot_count; c++)
        st->both[left + c] = st->right[c];
    if (st->residual) {
        u32 m = mask_positions(st->matched, b->count, st->sel);
        Batch both = {.count = m, .sel = st->sel, .column_count = left + j->key_slot_count, .columns = st->both};
        u32 passed = m ? expr_filter(st->residual, w->scratch, &both, st->sel) : 0;
        memset(st->matched, 0, b->count);
        for (u32 i = 0; i < passed; i++)
            st->matched[st->sel[i]] = 1;
    }
    u32 count = 0;
    for (u32 i = 0; i < b->count; i++)
        if (j->kind == BJOIN_ANTI ? !st->matched[i] : st->matched[i] || j->kind == BJOIN_LEFT) {
            st->left_rows[count] = (u16)i;
            st->right_rows[count++] = st->matched[i] ? i : UINT32_MAX;
        }
    for (u32 c = 0; count && c < n->slot_count; c++) {
        u32 from = j->out[c];
        if (from < left)
            vec_take(w->arena, &st->both[from], st->left_rows, count, &st->bufs[c], &st->out[c]);
        else
            vec_take32(w->arena, &st->both[from], st->right_rows, count, j->kind == BJOIN_LEFT, &st->bufs[c], &st->out[c]);
    }
    Batch out = {.count = count, .column_count = n->slot_count, .columns = st->out};
    op_emit(base, w, &out);
}

Op *
key_join_op(Exec *e, const PlanNode *n)
{
    KeyJoinOp *op = ARENA_NEW(e->arena, KeyJoinOp);
    op->op = (Op){.node = n, .open = key_join_open, .push = key_join_push};
    op->join = &n->join;
    exec_note_table(e, n->join.key_join->table_id); /* many keys, looked up by many threads */
    op->reader = (RowReader){e, exec_table(e, n->join.key_join->table_id), n->join.key_join->table_id, n->join.key_slot_count,
                             n->join.key_join->columns};
    return &op->op;
}

/* ---- late fetch ---- */

typedef struct FetchOp {
    Op op;
    RowReader reader;
} FetchOp;

typedef struct FetchState {
    Vec *columns;
    u32 capacity;
} FetchState;

static void *
fetch_open(Op *op, Worker *w)
{
    FetchState *st = ARENA_NEW(w->arena, FetchState);
    st->columns = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    return st;
}

static void
fetch_push(Op *base, void *state, Worker *w, Batch *b)
{
    FetchOp *op = (FetchOp *)base;
    FetchState *st = state;
    u32 kept = b->column_count;
    if (st->capacity < b->count) {
        st->capacity = b->count <= 32 ? 32 : VEC_SIZE;
        row_columns(w->arena, base->node->slots + kept, base->node->slot_count - kept, st->capacity, st->columns + kept);
    }
    for (u32 c = 0; c < kept; c++)
        st->columns[c] = b->columns[c];
    const u64 *ids = b->columns[base->node->fetch.row_column].data;
    for (u32 i = 0; i < b->count; i++)
        row_read(&op->reader, ids[i], st->columns + kept, i);
    Batch out = {.count = b->count, .column_count = base->node->slot_count, .columns = st->columns};
    op_emit(base, w, &out);
}

Op *
fetch_op(Exec *e, const PlanNode *n)
{
    FetchOp *op = ARENA_NEW(e->arena, FetchOp);
    op->op = (Op){.node = n, .open = fetch_open, .push = fetch_push};
    op->reader = (RowReader){e, exec_table(e, n->fetch.table_id), n->fetch.table_id, n->fetch.column_count, n->fetch.columns};
    return &op->op;
}
