/*
 * kept_join.c
 *    Joins that give rows of their kept side, the right one, when the probe is done: it marks the right rows it pairs.
 *
 * FULL: behind the rows of a join that keeps its left side come the right rows without a mark, with NULLs on the left. RIGHT SEMI and RIGHT ANTI: the probe itself
 * gives nothing; then come the right rows with a mark, or without one. So EXISTS over a large relation keeps and indexes the few outer rows.
 */
#include "backend/exec/run.h"
#include "common/shm/publish.h"

enum { REST_ROWS = 16 * VEC_SIZE }; /* right rows a morsel looks at */

void
kept_open(Exec *e, const PlanJoin *join, KeptSide *k)
{
    if (join_gives_kept(join->kind))
        k->found = exec_alloc(&e->workers[0], MAX(k->rows.row_count, 1u));
}

void
kept_mark(KeptSide *k, const u32 *rows, u32 count)
{
    if (!k->found)
        return;
    for (u32 i = 0; i < count; i++)
        if (rows[i] != UINT32_MAX && !observe_u8(&k->found[rows[i]])) /* most are read only: no line goes from core to core */
            publish_u8(&k->found[rows[i]], 1);
}

bool
kept_is_marked(const KeptSide *k, u32 row)
{
    return observe_u8(&k->found[row]);
}

typedef struct RestSource {
    Source source;
    const PlanNode *join;
    const KeptSide *kept;
} RestSource;

typedef struct RestState {
    u32 *rows;
    VecBuf *bufs;
    Vec *columns;
} RestState;

static void *
rest_open(Source *s, Worker *w)
{
    const PlanNode *n = ((RestSource *)s)->join;
    RestState *st = ARENA_NEW(w->arena, RestState);
    st->rows = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, n->slot_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    for (u32 c = 0; c < n->slot_count; c++) {
        if (n->join.out[c] >= n->left->slot_count)
            continue;
        Vec *v = &st->columns[c];
        *v = (Vec){.phys = n->slots[c].phys, .scale = n->slots[c].scale};
        v->data = arena_alloc(w->arena, (size_t)VEC_SIZE * phys_width(v->phys));
        v->null_mask = arena_alloc(w->arena, VEC_SIZE);
        memset(v->data, 0, (size_t)VEC_SIZE * phys_width(v->phys));
        memset(v->null_mask, 1, VEC_SIZE);
        for (u32 i = 0; v->phys == PHYS_STR && i < VEC_SIZE; i++)
            ((Str *)v->data)[i] = STR_LIT("");
    }
    return st;
}

static void
rest_emit(RestSource *r, RestState *st, Worker *w, u32 count)
{
    const PlanNode *n = r->join;
    for (u32 c = 0; c < n->slot_count; c++)
        if (n->join.out[c] >= n->left->slot_count)
            vec_take32(w->arena, &r->kept->rows.columns[n->join.out[c] - n->left->slot_count], st->rows, count, false, &st->bufs[c], &st->columns[c]);
    Batch b = {.count = count, .column_count = n->slot_count, .columns = st->columns};
    source_emit(&r->source, w, &b);
}

static void
rest_run(Source *s, void *state, Worker *w, u64 morsel)
{
    RestSource *r = (RestSource *)s;
    RestState *st = state;
    u64 end = MIN(r->kept->rows.row_count, (morsel + 1) * REST_ROWS);
    u32 count = 0;
    u8 wanted = r->join->join.kind == BJOIN_RIGHT_SEMI;
    for (u64 row = morsel * REST_ROWS; row < end; row++) {
        if (observe_u8(&r->kept->found[row]) != wanted)
            continue;
        st->rows[count++] = (u32)row;
        if (count == VEC_SIZE) {
            rest_emit(r, st, w, count);
            count = 0;
        }
    }
    if (count)
        rest_emit(r, st, w, count);
}

Source *
kept_join_source(Exec *e, const PlanNode *n)
{
    bool hash = n->kind == PN_HASH_JOIN;
    Op *op = hash ? hash_join_op(e, n) : loop_join_op(e, n); /* the right side is built before the left one is opened */
    Pipeline *probe = exec_build(e, n->left);
    op->uncounted = true;
    pipeline_add(probe, op);
    probe->fan_out = true;
    RestSource *rest = ARENA_NEW(e->arena, RestSource);
    rest->join = n;
    rest->kept = hash ? hash_join_kept(op) : loop_join_kept(op);
    rest->source = (Source){.open = rest_open, .run = rest_run, .row_count = rest->kept->rows.row_count,
                            .morsel_count = (rest->kept->rows.row_count + REST_ROWS - 1) / REST_ROWS};
    return append_in_turn(e, n, probe, pipeline_new(e, &rest->source));
}
