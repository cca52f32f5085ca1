/*
 * loop_join.c
 *    Joins without an equality: every left row against all kept right rows, in batches.
 */
#include "backend/exec/run.h"

typedef struct LoopJoin {
    Op op, sink;
    Exec *exec;
    const PlanJoin *join;
    u32 left_count, right_count;
    RowStore **stores;
    RowColumn *types;
    KeptSide kept;
} LoopJoin;

typedef struct LoopState {
    ExprState *residual;
    Vec *both, *out;
    VecBuf *left_bufs, *out_bufs;
    u16 *sel;
    u32 *right_rows;
} LoopState;

static LoopJoin *
sink_join(Op *sink)
{
    return (LoopJoin *)(void *)((u8 *)sink - offsetof(LoopJoin, sink));
}

static void *
keep_open(Op *op, Worker *w)
{
    LoopJoin *l = sink_join(op);
    RowStore *s = ARENA_NEW(w->arena, RowStore);
    s->types = l->types;
    s->column_count = l->right_count;
    l->stores[w->index] = s;
    return s;
}

static void
keep_push(Op *op, void *state, Worker *w, Batch *b)
{
    (void)op;
    rows_append(w, w->arena, state, b);
}

static void *
loop_open(Op *op, Worker *w)
{
    LoopJoin *l = (LoopJoin *)op;
    LoopState *st = ARENA_NEW(w->arena, LoopState);
    u32 all = l->left_count + l->right_count;
    if (l->join->residual)
        st->residual = expr_state(w->arena, l->join->residual, &w->exec->ctx->env);
    st->both = ARENA_ARRAY(w->arena, Vec, all);
    st->left_bufs = ARENA_ARRAY(w->arena, VecBuf, l->left_count);
    st->out = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    st->out_bufs = ARENA_ARRAY(w->arena, VecBuf, op->node->slot_count);
    st->sel = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->right_rows = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    return st;
}

/* One left row as constant columns beside right rows at `at`. */
static void
set_pair(LoopJoin *l, LoopState *st, Worker *w, const Batch *b, u32 left_row, u64 at, u32 count)
{
    for (u32 c = 0; c < l->left_count; c++) {
        Vec *v = &st->both[c];
        *v = b->columns[c];
        if (v->codes && !v->data)
            v->codes += left_row;
        else
            v->data = (u8 *)v->data + (size_t)left_row * phys_width(v->phys);
        if (v->null_mask)
            v->null_mask += left_row;
        v->is_const = true;
        vec_flatten(w->arena, v, count, &st->left_bufs[c]);
    }
    for (u32 c = 0; c < l->right_count; c++) {
        Vec *v = &st->both[l->left_count + c];
        *v = l->kept.rows.columns[c];
        if (v->codes)
            v->codes += at;
        else
            v->data = (u8 *)v->data + at * phys_width(v->phys);
        if (v->null_mask)
            v->null_mask += at;
    }
}

static void
emit_pairs(LoopJoin *l, LoopState *st, Worker *w, u32 count, const u16 *sel)
{
    const PlanNode *n = l->op.node;
    for (u32 c = 0; c < n->slot_count; c++) {
        const Vec *v = &st->both[l->join->out[c]];
        if (sel)
            vec_take(w->arena, v, sel, count, &st->out_bufs[c], &st->out[c]);
        else
            st->out[c] = *v;
    }
    Batch out = {.count = count, .column_count = n->slot_count, .columns = st->out};
    op_emit(&l->op, w, &out);
}

/* A left row without its partners: NULLs on the right. */
static void
emit_left(LoopJoin *l, LoopState *st, Worker *w, const Batch *b, u32 row)
{
    const PlanNode *n = l->op.node;
    u16 left = (u16)row;
    u32 none = UINT32_MAX;
    for (u32 c = 0; c < n->slot_count; c++) {
        u32 from = l->join->out[c];
        if (from < l->left_count)
            vec_take(w->arena, &b->columns[from], &left, 1, &st->out_bufs[c], &st->out[c]);
        else
            vec_take32(w->arena, &l->kept.rows.columns[from - l->left_count], &none, 1, true, &st->out_bufs[c], &st->out[c]);
    }
    Batch out = {.count = 1, .column_count = n->slot_count, .columns = st->out};
    op_emit(&l->op, w, &out);
}

/* The `sel` of the right rows from `at` on, NULL: all. */
static void
mark_found(LoopJoin *l, LoopState *st, u64 at, u32 count, const u16 *sel)
{
    if (!l->kept.found)
        return;
    for (u32 i = 0; i < count; i++)
        st->right_rows[i] = (u32)at + (sel ? sel[i] : i);
    kept_mark(&l->kept, st->right_rows, count);
}

static void
loop_push(Op *op, void *state, Worker *w, Batch *b)
{
    LoopJoin *l = (LoopJoin *)op;
    LoopState *st = state;
    BJoinKind kind = l->join->kind;
    bool exists = kind == BJOIN_SEMI || kind == BJOIN_ANTI; /* nothing of the right side leaves */
    for (u32 row = 0; row < b->count; row++) {
        bool matched = false;
        for (u64 at = 0; !(exists && matched) && at < l->kept.rows.row_count; at += VEC_SIZE) {
            u32 count = (u32)MIN((u64)VEC_SIZE, l->kept.rows.row_count - at);
            set_pair(l, st, w, b, row, at, count);
            const u16 *sel = NULL;
            if (st->residual) {
                Batch both = {.count = count, .column_count = l->left_count + l->right_count, .columns = st->both};
                count = expr_filter(st->residual, w->scratch, &both, st->sel);
                sel = st->sel;
            }
            matched = matched || count;
            mark_found(l, st, at, count, sel);
            if (!exists)
                emit_pairs(l, st, w, count, sel);
            worker_check(w);
        }
        if (kind == BJOIN_SEMI ? matched : !matched && kind != BJOIN_INNER)
            emit_left(l, st, w, b, row);
    }
}

KeptSide *
loop_join_kept(Op *op)
{
    return &((LoopJoin *)op)->kept;
}

Op *
loop_join_op(Exec *e, const PlanNode *n)
{
    LoopJoin *l = ARENA_NEW(e->arena, LoopJoin);
    l->op = (Op){.node = n, .open = loop_open, .push = loop_push};
    l->sink = (Op){.open = keep_open, .push = keep_push};
    l->exec = e;
    l->join = &n->join;
    l->left_count = n->left->slot_count;
    l->right_count = n->right->slot_count;
    l->stores = ARENA_ARRAY(e->arena, RowStore *, exec_max_workers());
    l->types = rows_types(e->arena, n->right->slots, l->right_count);
    Pipeline *p = exec_build(e, n->right);
    pipeline_add(p, &l->sink);
    pipeline_run(e, p);
    rows_flatten(e, l->stores, e->worker_count, l->types, l->right_count, &l->kept.rows);
    kept_open(e, l->join, &l->kept);
    return &l->op;
}
