/*
 * lateral.c
 *    For every left row the rows of a subquery that captures columns of it.
 *
 * The subquery runs as an execution within this one, on the session's thread; its batches go on at once, beside the left row as often as there are rows.
 */
#include "backend/exec/run.h"

typedef struct Lateral {
    Op op;
    const PlanLateral *plan;
    u32 left_count, right_count;
} Lateral;

typedef struct LateralState {
    Eval *args;
    VecBuf *arg_text, *left_bufs, *right_bufs, *taken;
    const Vec **captured;
    Vec *values, *both;
    ExprState *residual;
    u16 *sel;
    u32 *rows;
} LateralState;

static void *
lateral_open(Op *op, Worker *w)
{
    Lateral *l = (Lateral *)op;
    const PlanLateral *p = l->plan;
    u32 all = l->left_count + l->right_count;
    LateralState *st = ARENA_NEW(w->arena, LateralState);
    st->args = ARENA_ARRAY(w->arena, Eval, p->arg_count);
    st->values = ARENA_ARRAY(w->arena, Vec, p->arg_count);
    st->captured = ARENA_ARRAY(w->arena, const Vec *, p->arg_count);
    st->arg_text = ARENA_ARRAY(w->arena, VecBuf, p->arg_count);
    for (u32 i = 0; i < p->arg_count; i++) {
        eval_open(&st->args[i], w, &p->args[i]);
        st->captured[i] = &st->values[i];
    }
    st->left_bufs = ARENA_ARRAY(w->arena, VecBuf, l->left_count);
    st->right_bufs = ARENA_ARRAY(w->arena, VecBuf, l->right_count);
    st->taken = ARENA_ARRAY(w->arena, VecBuf, all);
    st->both = ARENA_ARRAY(w->arena, Vec, all);
    st->sel = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->rows = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    if (p->residual)
        st->residual = expr_state(w->arena, p->residual, &w->exec->ctx->env);
    return st;
}

/* The left row, count times. */
static void
repeat_left(const Lateral *l, LateralState *st, Worker *w, const Batch *b, u32 row, u32 count)
{
    for (u32 i = 0; i < count; i++)
        st->rows[i] = row;
    for (u32 c = 0; c < l->left_count; c++)
        vec_take32(w->arena, &b->columns[c], st->rows, count, false, &st->left_bufs[c], &st->both[c]);
}

/* The rows of one batch of the subquery that ON lets through; returns how many. */
static u32
emit_rows(Lateral *l, LateralState *st, Worker *w, const Batch *left, u32 row, const Batch *inner)
{
    u32 count = inner->count, all = l->left_count + l->right_count;
    repeat_left(l, st, w, left, row, count);
    for (u32 c = 0; c < l->right_count; c++) {
        const PlanSlot *slot = &l->op.node->slots[l->left_count + c];
        Vec *v = &st->both[l->left_count + c];
        *v = inner->columns[c];
        vec_convert(w->arena, v, count, slot->type, slot->typmod, slot->phys, slot->scale, &st->right_bufs[c]);
    }
    Batch b = {.count = count, .column_count = all, .columns = st->both};
    if (st->residual) {
        count = expr_filter(st->residual, w->scratch, &b, st->sel);
        for (u32 c = 0; count && count < b.count && c < all; c++) {
            Vec whole = st->both[c];
            vec_take(w->arena, &whole, st->sel, count, &st->taken[c], &st->both[c]);
        }
        b.count = count;
    }
    if (count)
        op_emit(&l->op, w, &b);
    return count;
}

static void
emit_alone(Lateral *l, LateralState *st, Worker *w, const Batch *left, u32 row)
{
    repeat_left(l, st, w, left, row, 1);
    for (u32 c = 0; c < l->right_count; c++) {
        const PlanSlot *slot = &l->op.node->slots[l->left_count + c];
        VecBuf *buf = &st->right_bufs[c];
        vecbuf_need(w->arena, buf, slot->phys, VEC_SIZE);
        memset(buf->data, 0, phys_width(slot->phys));
        if (slot->phys == PHYS_STR)
            *(Str *)buf->data = (Str){"", 0};
        buf->nulls[0] = 1;
        st->both[l->left_count + c] = (Vec){.phys = slot->phys, .scale = slot->scale, .data = buf->data, .null_mask = buf->nulls};
    }
    Batch b = {.count = 1, .column_count = l->left_count + l->right_count, .columns = st->both};
    op_emit(&l->op, w, &b);
}

static void
lateral_push(Op *op, void *state, Worker *w, Batch *b)
{
    Lateral *l = (Lateral *)op;
    LateralState *st = state;
    for (u32 k = 0; k < l->plan->arg_count; k++) {
        eval_run(&st->args[k], w, b, &st->values[k]);
        vec_decode(w->arena, &st->values[k], b->count, &st->arg_text[k]);
    }
    for (u32 row = 0; row < b->count && !w->pipeline->full; row++) {
        Exec *inner = subquery_open_rows(w->exec->root, l->plan->sub, st->captured, row);
        Batch ib;
        u64 came = 0;
        while (!w->pipeline->full && exec_next(inner, &ib))
            came += emit_rows(l, st, w, b, row, &ib);
        exec_close(inner);
        if (!came && l->plan->left && !w->pipeline->full)
            emit_alone(l, st, w, b, row);
        worker_check(w);
    }
}

Op *
lateral_op(Exec *e, const PlanNode *n)
{
    Lateral *l = ARENA_NEW(e->arena, Lateral);
    l->op = (Op){.node = n, .open = lateral_open, .push = lateral_push};
    l->plan = &n->lateral;
    l->left_count = n->left->slot_count;
    l->right_count = n->slot_count - n->left->slot_count;
    return &l->op;
}
