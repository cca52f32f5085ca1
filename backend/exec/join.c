/*
 * join.c
 *    Hash join: the build side is kept, indexed by its keys, and probed batch by batch in the pipeline of the other side.
 *
 * One integer key of a small range is an index into an array of row numbers; anything else a key table whose numbers are the distinct keys. Rows with the
 * same key are chained. Nothing is partitioned; a probe prefetches ahead. A LEFT or FULL join gives left rows without match NULLs,
 * after the residual condition has spoken; the right rows that come of themselves are kept_join.c's.
 */
#include "backend/exec/keytable.h"

enum { NO_ROW = UINT32_MAX, DENSE_FACTOR = 4, DENSE_SMALL = 1 << 16, DENSE_MAX = 1 << 27, PREFETCH_ROWS = 16 };

typedef struct HashJoin {
    Op op;
    Exec *exec;
    const PlanJoin *join;
    u32 left_count, right_count; /* slots */
    /* the build side */
    Op sink;
    RowStore **stores;           /* by worker */
    RowColumn *types;            /* right slots, then keys in key form */
    KeptSide kept;
    u32 *next;                   /* NULL: keys are unique */
    bool dense;
    bool identity;               /* dense, and row i has key lo + i: no index to look at */
    i64 lo;
    u64 range;
    u32 *index;                  /* dense: row + 1; else NULL */
    KeyTable table;
    u32 *heads;                  /* first row of each key; NULL: unique keys, in order of rows */
} HashJoin;

static HashJoin *
sink_join(Op *sink)
{
    return (HashJoin *)(void *)((u8 *)sink - offsetof(HashJoin, sink));
}

/* ---- building ---- */

typedef struct BuildState {
    Eval *keys;
    KeyForm *forms;
    Vec *columns;
    RowStore *store;
} BuildState;

static void *
build_open(Op *op, Worker *w)
{
    HashJoin *h = sink_join(op);
    u32 keys = h->join->key_count, all = h->right_count + keys;
    BuildState *st = ARENA_NEW(w->arena, BuildState);
    st->keys = ARENA_ARRAY(w->arena, Eval, keys);
    st->forms = ARENA_ARRAY(w->arena, KeyForm, keys);
    st->columns = ARENA_ARRAY(w->arena, Vec, all);
    for (u32 i = 0; i < keys; i++) {
        eval_open(&st->keys[i], w, &h->join->right_keys[i]);
        st->forms[i].class = h->join->classes[i];
    }
    st->store = ARENA_NEW(w->arena, RowStore);
    st->store->types = h->types;
    st->store->column_count = all;
    h->stores[w->index] = st->store;
    return st;
}

static void
build_push(Op *op, void *state, Worker *w, Batch *b)
{
    HashJoin *h = sink_join(op);
    BuildState *st = state;
    for (u32 c = 0; c < h->right_count; c++)
        st->columns[c] = b->columns[c];
    for (u32 i = 0; i < h->join->key_count; i++) {
        Vec v;
        KeyVec k;
        eval_run(&st->keys[i], w, b, &v);
        key_form(&st->forms[i], w, &v, b->count, &k);
        st->columns[h->right_count + i] =
            (Vec){.phys = h->types[h->right_count + i].phys, .data = (void *)(uintptr_t)k.data, .null_mask = (u8 *)(uintptr_t)k.nulls};
    }
    Batch out = {.count = b->count, .column_count = h->right_count + h->join->key_count, .columns = st->columns};
    rows_append(w, w->arena, st->store, &out);
}

static KeyVec
flat_key(const HashJoin *h, u32 key, u64 row)
{
    const Vec *v = &h->kept.rows.columns[h->right_count + key];
    KeyClass class = h->join->classes[key];
    return (KeyVec){class, (const u8 *)v->data + row * key_class_width(class), v->null_mask ? v->null_mask + row : NULL};
}

static void
chain(HashJoin *h, u32 row, u32 *head, u32 no_head)
{
    if (*head != no_head) {
        if (!h->next)
            h->next = exec_alloc(&h->exec->workers[0], h->kept.rows.row_count * sizeof *h->next);
        h->next[row] = *head; /* heads hold row + 1; so does next */
    }
    *head = row + 1;
}

/* One integer key of a small range: row numbers by key. Rows are entered from the last to the first, so that chains run in row order. */
static bool
build_dense(HashJoin *h)
{
    if (h->join->key_count != 1 || h->join->classes[0] != KEY_INT)
        return false;
    KeyVec k = flat_key(h, 0, 0);
    const i64 *v = k.data;
    i64 lo = INT64_MAX, hi = INT64_MIN;
    for (u64 i = 0; i < h->kept.rows.row_count; i++)
        if (!k.nulls || !k.nulls[i]) {
            lo = MIN(lo, v[i]);
            hi = MAX(hi, v[i]);
        }
    u64 range = lo <= hi ? (u64)hi - (u64)lo : 0;
    if (range >= DENSE_MAX || (range > DENSE_SMALL && range > h->kept.rows.row_count * DENSE_FACTOR))
        return false;
    h->dense = true;
    h->lo = lo;
    h->range = range;
    h->index = exec_alloc(&h->exec->workers[0], (range + 2) * sizeof *h->index); /* the last one stays 0: keys out of range */
    h->identity = !k.nulls && h->kept.rows.row_count == range + 1;
    for (u64 i = h->kept.rows.row_count; i-- > 0;)
        if (!k.nulls || !k.nulls[i]) {
            chain(h, (u32)i, &h->index[(u64)v[i] - (u64)lo], 0);
            h->identity = h->identity && (u64)v[i] - (u64)lo == i;
        }
    return true;
}

static void
build_hash(HashJoin *h)
{
    Worker *w = &h->exec->workers[0];
    u32 keys = h->join->key_count;
    keytable_init(&h->table, w, keys, h->join->classes, NULL);
    u32 *numbers = exec_alloc(w, h->kept.rows.row_count * sizeof *numbers);
    u64 *hashes = arena_alloc(w->arena, VEC_SIZE * sizeof *hashes);
    KeyVec *k = ARENA_ARRAY(w->arena, KeyVec, keys);
    for (u64 at = 0; at < h->kept.rows.row_count; at += VEC_SIZE) {
        u32 n = (u32)MIN((u64)VEC_SIZE, h->kept.rows.row_count - at);
        for (u32 i = 0; i < keys; i++)
            k[i] = flat_key(h, i, at);
        key_hash(k, keys, n, hashes);
        keytable_add(&h->table, k, hashes, n, numbers + at);
        worker_check(w);
    }
    if (h->table.count < h->kept.rows.row_count) {
        h->heads = exec_alloc(w, (u64)h->table.count * sizeof *h->heads);
        for (u64 i = h->kept.rows.row_count; i-- > 0;)
            chain(h, (u32)i, &h->heads[numbers[i]], 0);
    }
    exec_free(w, numbers, h->kept.rows.row_count * sizeof *numbers);
}

static void
build(HashJoin *h, const PlanNode *right)
{
    Exec *e = h->exec;
    Pipeline *p = exec_build(e, right);
    h->sink = (Op){.open = build_open, .push = build_push};
    pipeline_add(p, &h->sink);
    pipeline_run(e, p);
    rows_flatten(e, h->stores, e->worker_count, h->types, h->right_count + h->join->key_count, &h->kept.rows);
    kept_open(e, h->join, &h->kept);
    if (!build_dense(h))
        build_hash(h);
}

/* ---- probing ---- */

typedef struct ProbeState {
    Eval *keys;
    KeyForm *forms;
    KeyVec *key_vecs;
    u64 *hashes;
    u32 *first;      /* first matching row of each left row */
    u32 misses;      /* left rows without one */
    u16 *left_rows;  /* pairs of the output */
    u32 *right_rows;
    u8 *matched;
    ExprState *residual;
    u16 *sel;
    VecBuf *both_bufs, *out_bufs;
    Vec *both, *out;
} ProbeState;

static void *
probe_open(Op *op, Worker *w)
{
    HashJoin *h = (HashJoin *)op;
    u32 keys = h->join->key_count, all = h->left_count + h->right_count;
    ProbeState *st = ARENA_NEW(w->arena, ProbeState);
    st->keys = ARENA_ARRAY(w->arena, Eval, keys);
    st->forms = ARENA_ARRAY(w->arena, KeyForm, keys);
    st->key_vecs = ARENA_ARRAY(w->arena, KeyVec, keys);
    for (u32 i = 0; i < keys; i++) {
        eval_open(&st->keys[i], w, &h->join->left_keys[i]);
        st->forms[i].class = h->join->classes[i];
    }
    st->hashes = ARENA_ARRAY(w->arena, u64, VEC_SIZE);
    st->first = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    st->left_rows = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->right_rows = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    st->sel = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->matched = ARENA_ARRAY(w->arena, u8, VEC_SIZE);
    if (h->join->residual) {
        st->residual = expr_state(w->arena, h->join->residual, &w->exec->ctx->env);
        st->both_bufs = ARENA_ARRAY(w->arena, VecBuf, all);
        st->both = ARENA_ARRAY(w->arena, Vec, all);
    }
    st->out_bufs = ARENA_ARRAY(w->arena, VecBuf, op->node->slot_count);
    st->out = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    return st;
}

/* Rows by integer keys; their vector form is T. Return how many have none. */
#define DENSE_ROWS(T)                                                                                                  \
    static u32 identity_rows_##T(u32 *restrict first, const T *restrict keys, i64 lo, u64 range, u32 count)            \
    {                                                                                                                  \
        u32 misses = 0;                                                                                                \
        for (u32 i = 0; i < count; i++) {                                                                              \
            u64 at = (u64)keys[i] - (u64)lo;                                                                           \
            first[i] = at <= range ? (u32)at : NO_ROW;                                                                 \
            misses += at > range;                                                                                      \
        }                                                                                                              \
        return misses;                                                                                                 \
    }                                                                                                                  \
    static u32 index_rows_##T(u32 *restrict first, const T *restrict keys, const u32 *restrict index, i64 lo,          \
                              u64 range, u32 count)                                                                    \
    {                                                                                                                  \
        u32 misses = 0;                                                                                                \
        for (u32 i = 0; i < count; i++) {                                                                              \
            u64 at = (u64)keys[i] - (u64)lo;                                                                           \
            u32 row = index[MIN(at, range + 1)];                                                                       \
            first[i] = row - 1; /* none: NO_ROW */                                                                     \
            misses += row == 0;                                                                                        \
        }                                                                                                              \
        return misses;                                                                                                 \
    }
DENSE_ROWS(i32)
DENSE_ROWS(i64)
#undef DENSE_ROWS

static void
find_dense(const HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    Vec v;
    u64 range = h->range;
    u32 n = b->count;
    eval_run(&st->keys[0], w, b, &v);
    if (v.phys == PHYS_I32 && !v.is_const)
        st->misses = h->identity ? identity_rows_i32(st->first, v.data, h->lo, range, n)
                                 : index_rows_i32(st->first, v.data, h->index, h->lo, range, n);
    else {
        key_form(&st->forms[0], w, &v, n, &st->key_vecs[0]);
        const i64 *k = st->key_vecs[0].data;
        st->misses = h->identity ? identity_rows_i64(st->first, k, h->lo, range, n) : index_rows_i64(st->first, k, h->index, h->lo, range, n);
    }
    for (u32 i = 0; v.null_mask && i < n; i++)
        if (v.null_mask[i]) {
            st->misses += st->first[i] != NO_ROW;
            st->first[i] = NO_ROW;
        }
}

static void
find_first(const HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    if (h->dense) {
        find_dense(h, st, w, b);
        return;
    }
    for (u32 i = 0; i < h->join->key_count; i++) {
        Vec v;
        eval_run(&st->keys[i], w, b, &v);
        key_form(&st->forms[i], w, &v, b->count, &st->key_vecs[i]);
    }
    key_hash(st->key_vecs, h->join->key_count, b->count, st->hashes);
    keytable_find(&h->table, st->key_vecs, st->hashes, b->count, st->first);
    st->misses = 0;
    for (u32 i = 0; i < b->count; i++) {
        if (st->first[i] == NO_ROW)
            st->misses++;
        else if (h->heads)
            st->first[i] = h->heads[st->first[i]] - 1;
    }
}

static void
take_side(const HashJoin *h, Worker *w, const Batch *b, u32 column, const u16 *left_rows, const u32 *right_rows, u32 count, bool whole,
          bool outer, VecBuf *buf, Vec *ret)
{
    if (column >= h->left_count)
        vec_take32(w->arena, &h->kept.rows.columns[column - h->left_count], right_rows, count, outer, buf, ret);
    else if (whole)
        *ret = b->columns[column];
    else
        vec_take(w->arena, &b->columns[column], left_rows, count, buf, ret);
}

/* The pairs of (left_rows, right_rows), NO_ROW on the right = NULLs. `whole`: left rows are those of the batch, in order. */
static void
emit_pairs(HashJoin *h, ProbeState *st, Worker *w, const Batch *b, u32 count, bool whole, bool outer)
{
    if (!count)
        return;
    const PlanNode *n = h->op.node;
    for (u32 c = 0; c < n->slot_count; c++)
        take_side(h, w, b, h->join->out[c], st->left_rows, st->right_rows, count, whole, outer, &st->out_bufs[c], &st->out[c]);
    Batch out = {.count = count, .column_count = n->slot_count, .columns = st->out};
    op_emit(&h->op, w, &out);
}

/* Pairs for which the residual condition holds; marks their left rows. Returns how many are left. */
static u32
check_residual(HashJoin *h, ProbeState *st, Worker *w, const Batch *b, u32 count)
{
    if (!st->residual || !count)
        return count;
    u32 all = h->left_count + h->right_count;
    for (u32 c = 0; c < all; c++)
        take_side(h, w, b, c, st->left_rows, st->right_rows, count, false, false, &st->both_bufs[c], &st->both[c]);
    Batch both = {.count = count, .column_count = all, .columns = st->both};
    u32 passed = expr_filter(st->residual, w->scratch, &both, st->sel);
    for (u32 i = 0; i < passed; i++) {
        st->left_rows[i] = st->left_rows[st->sel[i]];
        st->right_rows[i] = st->right_rows[st->sel[i]];
        st->matched[st->left_rows[i]] = 1;
    }
    return passed;
}

/* Left rows that have a partner, and the partners. */
static u32
matches(const u32 *restrict first, u32 count, u16 *restrict left_rows, u32 *restrict right_rows)
{
    u32 found = 0;
    for (u32 i = 0; i < count; i++) {
        left_rows[found] = (u16)i;
        right_rows[found] = first[i];
        found += first[i] != NO_ROW;
    }
    return found;
}

/* No chains, no residual: at most one pair a left row. */
static void
probe_unique(HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    kept_mark(&h->kept, st->first, b->count);
    if (h->join->kind != BJOIN_INNER || !st->misses) {
        u32 *t = st->right_rows;
        st->right_rows = st->first;
        st->first = t;
        emit_pairs(h, st, w, b, b->count, true, st->misses > 0);
        return;
    }
    emit_pairs(h, st, w, b, matches(st->first, b->count, st->left_rows, st->right_rows), false, false);
}

static void
emit_partners(HashJoin *h, ProbeState *st, Worker *w, const Batch *b, u32 count)
{
    count = check_residual(h, st, w, b, count);
    kept_mark(&h->kept, st->right_rows, count);
    emit_pairs(h, st, w, b, count, false, false);
}

static void
probe_chains(HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    memset(st->matched, 0, b->count);
    u32 count = 0;
    for (u32 i = 0; i < b->count; i++)
        for (u32 row = st->first[i]; row != NO_ROW; row = h->next ? h->next[row] - 1 : NO_ROW) {
            st->left_rows[count] = (u16)i;
            st->right_rows[count++] = row;
            if (!st->residual)
                st->matched[i] = 1;
            if (count == VEC_SIZE) {
                emit_partners(h, st, w, b, count);
                count = 0;
                worker_check(w);
            }
        }
    emit_partners(h, st, w, b, count);
    if (h->join->kind == BJOIN_INNER)
        return;
    count = 0;
    for (u32 i = 0; i < b->count; i++)
        if (!st->matched[i]) {
            st->left_rows[count] = (u16)i;
            st->right_rows[count++] = NO_ROW;
        }
    emit_pairs(h, st, w, b, count, false, true);
}

/* SEMI and ANTI: the left rows with a partner, or without one; nothing of the right side leaves. */
static void
probe_exists(HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    bool anti = h->join->kind == BJOIN_ANTI;
    u32 count = 0;
    memset(st->matched, 0, b->count);
    for (u32 i = 0; i < b->count; i++) {
        if (!st->residual) {
            st->matched[i] = st->first[i] != NO_ROW;
            continue;
        }
        for (u32 row = st->first[i]; row != NO_ROW && !st->matched[i]; row = h->next ? h->next[row] - 1 : NO_ROW) {
            st->left_rows[count] = (u16)i;
            st->right_rows[count++] = row;
            if (count == VEC_SIZE) {
                check_residual(h, st, w, b, count);
                count = 0;
                worker_check(w);
            }
        }
    }
    check_residual(h, st, w, b, count);
    count = 0;
    for (u32 i = 0; i < b->count; i++)
        if (st->matched[i] != anti)
            st->left_rows[count++] = (u16)i;
    emit_pairs(h, st, w, b, count, false, false);
}

/* RIGHT SEMI and RIGHT ANTI: nothing leaves here. */
static void
mark_partners(HashJoin *h, ProbeState *st, Worker *w, const Batch *b)
{
    if (!h->next && !st->residual) {
        kept_mark(&h->kept, st->first, b->count);
        return;
    }
    u32 count = 0;
    for (u32 i = 0; i < b->count; i++)
        for (u32 row = st->first[i]; row != NO_ROW; row = h->next ? h->next[row] - 1 : NO_ROW) {
            if (kept_is_marked(&h->kept, row))
                continue;
            st->left_rows[count] = (u16)i;
            st->right_rows[count++] = row;
            if (count == VEC_SIZE) {
                kept_mark(&h->kept, st->right_rows, check_residual(h, st, w, b, count));
                count = 0;
                worker_check(w);
            }
        }
    kept_mark(&h->kept, st->right_rows, check_residual(h, st, w, b, count));
}

static void
probe_push(Op *op, void *state, Worker *w, Batch *b)
{
    HashJoin *h = (HashJoin *)op;
    ProbeState *st = state;
    find_first(h, st, w, b);
    if (h->join->kind == BJOIN_SEMI || h->join->kind == BJOIN_ANTI)
        probe_exists(h, st, w, b);
    else if (h->join->kind == BJOIN_RIGHT_SEMI || h->join->kind == BJOIN_RIGHT_ANTI)
        mark_partners(h, st, w, b);
    else if (!h->next && !st->residual)
        probe_unique(h, st, w, b);
    else
        probe_chains(h, st, w, b);
}

KeptSide *
hash_join_kept(Op *op)
{
    return &((HashJoin *)op)->kept;
}

Op *
hash_join_op(Exec *e, const PlanNode *n)
{
    HashJoin *h = ARENA_NEW(e->arena, HashJoin);
    h->op = (Op){.node = n, .open = probe_open, .push = probe_push};
    h->exec = e;
    h->join = &n->join;
    h->left_count = n->left->slot_count;
    h->right_count = n->right->slot_count;
    h->stores = ARENA_ARRAY(e->arena, RowStore *, exec_max_workers());
    RowColumn *right = rows_types(e->arena, n->right->slots, h->right_count);
    h->types = ARENA_ARRAY(e->arena, RowColumn, h->right_count + h->join->key_count);
    memcpy(h->types, right, h->right_count * sizeof *right);
    for (u32 i = 0; i < h->join->key_count; i++) {
        static const PhysType forms[] = {[KEY_INT] = PHYS_I64, [KEY_FLOAT] = PHYS_F64, [KEY_NUM] = PHYS_NUM, [KEY_TEXT] = PHYS_STR,
                                         [KEY_PAIR] = PHYS_PAIR, [KEY_INTERVAL] = PHYS_INTERVAL};
        const PlanExpr *x = &h->join->right_keys[i];
        bool stable = x->column >= 0 && n->right->slots[x->column].stable;
        h->types[h->right_count + i] = (RowColumn){forms[h->join->classes[i]], 0, stable};
    }
    build(h, n->right);
    return &h->op;
}
