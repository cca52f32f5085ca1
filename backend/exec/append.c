/*
 * append.c
 *    Rows of two inputs behind each other, and rows repeated: what set operations are made of.
 *
 * PN_APPEND is a source whose morsels are those of its inputs' pipelines, first the left ones. Such a pipeline ends in a relay, which brings its columns to
 * the form of the node and pushes the batch into the pipeline above, in the same thread and with nothing kept in between. A thread is in one
 * pipeline at a time: the relay enters the upper one for the push and returns.
 */
#include "backend/exec/run.h"

typedef struct AppendSource AppendSource;

typedef struct Relay {
    Op op;
    AppendSource *append;
    i32 side; /* 1, 2 */
} Relay;

struct AppendSource {
    Source source;
    Pipeline *sides[2];
    Relay relays[2];
    bool marked;  /* the last column says the side */
    bool in_turn; /* the right side waits for the end of the left one */
};

typedef struct RelayState {
    VecBuf *text, *convert;
    Vec *columns;
    i32 *marks;
} RelayState;

/* ---- relay ---- */

static void *
relay_open(Op *op, Worker *w)
{
    const Relay *r = (const Relay *)op;
    u32 n = r->append->source.node->slot_count;
    RelayState *st = ARENA_NEW(w->arena, RelayState);
    st->text = ARENA_ARRAY(w->arena, VecBuf, n);
    st->convert = ARENA_ARRAY(w->arena, VecBuf, n);
    st->columns = ARENA_ARRAY(w->arena, Vec, n);
    if (r->append->marked) {
        st->marks = ARENA_ARRAY(w->arena, i32, VEC_SIZE);
        for (u32 i = 0; i < VEC_SIZE; i++)
            st->marks[i] = r->side;
    }
    return st;
}

static void
relay_push(Op *op, void *state, Worker *w, Batch *b)
{
    const Relay *r = (const Relay *)op;
    RelayState *st = state;
    const PlanNode *n = r->append->source.node;
    u32 count = n->slot_count - r->append->marked;
    for (u32 c = 0; c < count; c++) {
        const PlanSlot *s = &n->slots[c];
        st->columns[c] = b->columns[c];
        vec_decode(w->arena, &st->columns[c], b->count, &st->text[c]);
        vec_convert(w->arena, &st->columns[c], b->count, s->type, s->typmod, s->phys, s->scale, &st->convert[c]);
    }
    if (r->append->marked)
        st->columns[count] = (Vec){.phys = PHYS_I32, .data = st->marks};
    Batch out = {.count = b->count, .column_count = n->slot_count, .columns = st->columns};
    pipeline_relay(w, &out);
}

/* ---- the source ---- */

static void
append_run(Source *source, void *state, Worker *w, u64 morsel)
{
    (void)state;
    AppendSource *a = (AppendSource *)source;
    u64 left = a->sides[0]->source->morsel_count;
    bool second = morsel >= left;
    pipeline_run_inner(w, a->sides[second], second ? morsel - left : morsel);
}

static u64
barrier_of(Source *s, u64 morsel)
{
    return s->barrier ? s->barrier(s, morsel) : UINT64_MAX;
}

static u64
append_barrier(Source *source, u64 morsel)
{
    const AppendSource *a = (const AppendSource *)source;
    u64 left = a->sides[0]->source->morsel_count, of_left = UINT64_MAX;
    if (morsel < left) {
        of_left = a->in_turn ? left : UINT64_MAX;
        of_left = MIN(of_left, barrier_of(a->sides[0]->source, morsel));
    }
    u64 of_right = barrier_of(a->sides[1]->source, morsel < left ? 0 : morsel - left);
    return MIN(of_left, of_right == UINT64_MAX ? of_right : left + of_right);
}

static Source *
append_of(Exec *e, const PlanNode *n, Pipeline *const sides[2], bool marked, bool in_turn)
{
    AppendSource *a = ARENA_NEW(e->arena, AppendSource);
    a->marked = marked;
    a->in_turn = in_turn;
    a->source = (Source){.node = n, .run = append_run, .barrier = append_barrier};
    for (u32 i = 0; i < 2; i++) {
        Pipeline *p = a->sides[i] = sides[i];
        a->relays[i] = (Relay){.op = {.open = relay_open, .push = relay_push}, .append = a, .side = (i32)i + 1};
        pipeline_add(p, &a->relays[i].op);
        pipeline_prepare(e, p);
        a->source.morsel_count += p->source->morsel_count;
        a->source.row_count += p->source->row_count;
    }
    return &a->source;
}

Source *
append_source(Exec *e, const PlanNode *n)
{
    Pipeline *left = exec_build(e, n->left), *sides[2] = {left, exec_build(e, n->right)};
    return append_of(e, n, sides, n->append_marked, false);
}

Source *
append_in_turn(Exec *e, const PlanNode *n, Pipeline *first, Pipeline *second)
{
    Pipeline *sides[2] = {first, second};
    return append_of(e, n, sides, false, true);
}

/* ---- rows repeated ---- */

typedef struct RepeatState {
    u16 *rows;
    u32 count;
    VecBuf *bufs;
    Vec *columns;
} RepeatState;

static void *
repeat_open(Op *op, Worker *w)
{
    RepeatState *st = ARENA_NEW(w->arena, RepeatState);
    st->rows = ARENA_ARRAY(w->arena, u16, VEC_SIZE);
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, op->node->slot_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, op->node->slot_count);
    return st;
}

static void
repeat_flush(Op *op, RepeatState *st, Worker *w, const Batch *b)
{
    for (u32 c = 0; c < op->node->slot_count; c++)
        vec_take(w->arena, &b->columns[c], st->rows, st->count, &st->bufs[c], &st->columns[c]);
    Batch out = {.count = st->count, .column_count = op->node->slot_count, .columns = st->columns};
    st->count = 0;
    op_emit(op, w, &out);
}

/* The last column of the input is how often its row comes (bigint, never NULL). */
static void
repeat_push(Op *op, void *state, Worker *w, Batch *b)
{
    RepeatState *st = state;
    const Vec *times = &b->columns[op->node->slot_count];
    for (u32 i = 0; i < b->count; i++)
        for (i64 k = VEC_AT(times, i64, i); k > 0; k--) {
            st->rows[st->count++] = (u16)i;
            if (st->count == VEC_SIZE) {
                repeat_flush(op, st, w, b);
                worker_check(w);
            }
        }
    if (st->count)
        repeat_flush(op, st, w, b);
}

Op *
repeat_op(Exec *e, const PlanNode *n)
{
    Op *op = ARENA_NEW(e->arena, Op);
    *op = (Op){.node = n, .open = repeat_open, .push = repeat_push};
    return op;
}
