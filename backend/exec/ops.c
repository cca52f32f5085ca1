/*
 * ops.c
 *    The simple operators: VALUES, filter, projection; and how many rows LIMIT means.
 */
#include "backend/exec/run.h"

/* ---- VALUES ---- */

typedef struct ValuesSource {
    Source source;
    Exec *exec;
    const Value *cells; /* [row][slot]; NULL: the node's expressions */
} ValuesSource;

static void
set_value(Vec *v, u32 row, const Value *x)
{
    u32 width = phys_width(v->phys);
    u8 *at = (u8 *)v->data + (size_t)row * width;
    v->null_mask[row] = x->is_null;
    if (x->is_null) {
        memset(at, 0, width);
        if (v->phys == PHYS_STR)
            ((Str *)v->data)[row] = (Str){"", 0};
        return;
    }
    value_to_phys(x, v->phys, v->scale, at);
}

static void
values_run(Source *s, void *state, Worker *w, u64 morsel)
{
    (void)state;
    ValuesSource *vs = (ValuesSource *)s;
    const PlanNode *n = s->node;
    u32 first = (u32)morsel * VEC_SIZE, count = (u32)MIN((u64)VEC_SIZE, s->row_count - first);
    Vec *columns = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    for (u32 c = 0; c < n->slot_count; c++) {
        columns[c] = (Vec){.phys = n->slots[c].phys, .scale = n->slots[c].scale};
        columns[c].data = arena_alloc(w->arena, (size_t)count * phys_width(n->slots[c].phys));
        columns[c].null_mask = arena_alloc(w->arena, count);
        for (u32 i = 0; i < count; i++) {
            Value x = vs->cells ? vs->cells[(u64)(first + i) * n->slot_count + c]
                                : plan_value(w->arena, n->values.rows[first + i][c], &vs->exec->ctx->env);
            set_value(&columns[c], i, &x);
        }
    }
    Batch b = {.count = count, .column_count = n->slot_count, .columns = columns};
    source_emit(s, w, &b);
}

Source *
cells_source(Exec *e, const PlanNode *n, const Value *cells, u32 row_count)
{
    ValuesSource *s = ARENA_NEW(e->arena, ValuesSource);
    s->exec = e;
    s->cells = cells;
    s->source = (Source){.node = n, .run = values_run, .row_count = row_count};
    s->source.morsel_count = (row_count + VEC_SIZE - 1) / VEC_SIZE;
    s->source.single_batch = s->source.morsel_count <= 1;
    return &s->source;
}

Source *
values_source(Exec *e, const PlanNode *n)
{
    return cells_source(e, n, NULL, n->values.row_count);
}

/* ---- filter ---- */

typedef struct FilterState {
    ExprState *state;
    u16 *sel;
    VecBuf *bufs;
    Vec *columns;
} FilterState;

static void *
filter_open(Op *op, Worker *w)
{
    FilterState *st = ARENA_NEW(w->arena, FilterState);
    st->state = expr_state(w->arena, op->node->filter.prog, &w->exec->ctx->env);
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, op->node->slot_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    return st;
}

/* Row by row, so that nothing is done for a row behind the last one that is wanted. */
static void
filter_serially(Op *op, FilterState *st, Worker *w, Batch *b)
{
    for (u16 i = 0; i < b->count && !w->pipeline->full; i++) {
        u16 row = i, passed;
        Batch one = *b, out = {.count = 1, .column_count = b->column_count, .columns = st->columns};
        one.count = 1;
        one.sel = &row;
        if (!expr_filter(st->state, w->scratch, &one, &passed))
            continue;
        for (u32 c = 0; c < b->column_count; c++)
            vec_take(w->arena, &b->columns[c], &i, 1, &st->bufs[c], &st->columns[c]);
        op_emit(op, w, &out);
    }
}

static void
filter_push(Op *op, void *state, Worker *w, Batch *b)
{
    FilterState *st = state;
    if (op->node->filter.serial) {
        filter_serially(op, st, w, b);
        return;
    }
    if (!st->sel)
        st->sel = arena_alloc(w->arena, VEC_SIZE * sizeof(u16));
    u32 passed = expr_filter(st->state, w->scratch, b, st->sel);
    if (passed == b->count) {
        op_emit(op, w, b);
        return;
    }
    for (u32 c = 0; passed && c < b->column_count; c++)
        vec_take(w->arena, &b->columns[c], st->sel, passed, &st->bufs[c], &st->columns[c]);
    Batch out = {.count = passed, .column_count = b->column_count, .columns = st->columns};
    op_emit(op, w, &out);
}

Op *
filter_op(Exec *e, const PlanNode *n)
{
    Op *op = ARENA_NEW(e->arena, Op);
    *op = (Op){.node = n, .open = filter_open, .push = filter_push};
    return op;
}

/* ---- projection ---- */

typedef struct ProjectState {
    Eval *evals;
    Vec *columns;
} ProjectState;

static void *
project_open(Op *op, Worker *w)
{
    ProjectState *st = ARENA_NEW(w->arena, ProjectState);
    st->evals = ARENA_ARRAY(w->arena, Eval, op->node->slot_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    for (u32 i = 0; i < op->node->slot_count; i++)
        eval_open(&st->evals[i], w, &op->node->project[i]);
    return st;
}

static void
project_push(Op *op, void *state, Worker *w, Batch *b)
{
    ProjectState *st = state;
    for (u32 i = 0; i < op->node->slot_count; i++)
        eval_run(&st->evals[i], w, b, &st->columns[i]);
    Batch out = {.count = b->count, .column_count = op->node->slot_count, .columns = st->columns};
    op_emit(op, w, &out);
}

Op *
project_op(Exec *e, const PlanNode *n)
{
    Op *op = ARENA_NEW(e->arena, Op);
    *op = (Op){.node = n, .open = project_open, .push = project_push};
    return op;
}

/* ---- limits ---- */

static u64
row_limit(Exec *e, const BExpr *x, u64 without, ErrCode code, const char *word)
{
    if (!x)
        return without;
    Value v = plan_value(e->arena, x, &e->ctx->env);
    if (v.is_null)
        return without;
    if (v.i64v < 0)
        err_throw(code, "%s must not be negative", word);
    return (u64)v.i64v;
}

void
limit_values(Exec *e, const PlanSort *s, u64 *ret_limit, u64 *ret_offset)
{
    *ret_offset = row_limit(e, s->offset, 0, ERR_INVALID_OFFSET, "OFFSET");
    *ret_limit = row_limit(e, s->limit, UINT64_MAX, ERR_INVALID_LIMIT, "LIMIT");
}
