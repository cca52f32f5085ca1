/*
 * function.c
 *    Functions that give rows, in FROM: generate_series, generate_subscripts, unnest, several side by side.
 *
 * The arguments are fixed for the execution, so how many rows there are is known when it begins. Rows are cut into morsels and made when they are
 * asked for; nothing is kept. A row of integers follows from its number; what can only be counted up to (times, decimals, elements of varying
 * width) has a mark at the beginning of each morsel, found by counting once. Functions that end before others give NULL.
 */
#include "backend/exec/run.h"
#include "backend/interrupt.h"
#include "backend/kern/regexp.h"
#include "common/type/array.h"

enum { FUNCTION_MORSEL_ROWS = 4 * VEC_SIZE, COUNTED_UNTIL_CHECK = 65536 };

/* Where a morsel begins: the value, or the element. */
typedef struct Mark {
    Value value;
    ArrayWalk walk;
} Mark;

typedef struct Series {
    TypeId type;
    u64 count;
    bool counted;     /* integers: row i is first + i * step */
    i64 first, step;
    Value by;         /* what is added: numeric, interval */
    const Zone *zone;
    Array array;
    u64 mark_count, mark_capacity;
    Mark *marks;
} Series;

typedef struct FunctionSource {
    Source source;
    Series *series;
} FunctionSource;

/* ---- how many ---- */

static void
add_mark(Exec *e, Series *s, const Mark *m)
{
    if (s->mark_count == s->mark_capacity) {
        u64 capacity = MAX(16u, s->mark_capacity * 2);
        Mark *marks = ARENA_ARRAY(e->arena, Mark, capacity);
        if (s->mark_count)
            memcpy(marks, s->marks, s->mark_count * sizeof *marks);
        s->marks = marks;
        s->mark_capacity = capacity;
    }
    s->marks[s->mark_count++] = *m;
}

static void
set_integers(Series *s, i64 first, i64 last, i64 step)
{
    if (step == 0)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "step size cannot equal zero");
    i128 span = (i128)last - first;
    s->counted = true;
    s->first = first;
    s->step = step;
    s->count = (step > 0 ? span < 0 : span > 0) ? 0 : (u64)(span / step) + 1;
}

static i64
integer_of(const Value *v)
{
    return v->type == TYPE_INT4 ? v->i32v : v->i64v;
}

/* The next value; false: err. */
static bool
step_on(const Series *s, Value *v, Error *err)
{
    if (v->type == TYPE_NUMERIC)
        return num_add(&v->num, &s->by.num, &v->num) == NUM_OK || error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    return kern_step_time(s->zone, v->i64v, &s->by.interval, &v->i64v, err);
}

static void
check_finite(const Value *v, const char *what)
{
    if (v->type == TYPE_NUMERIC && v->num.kind != NUM_FINITE)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "%s cannot be %s", what, v->num.kind == NUM_NAN ? "NaN" : "infinity");
    if (v->type != TYPE_NUMERIC && (v->i64v == INT64_MIN || v->i64v == INT64_MAX))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "generate_series() with an infinite timestamp is not supported yet");
}

static bool
is_within(const Value *v, const Value *last, int direction)
{
    return value_cmp(v, last) * direction <= 0;
}

/* Counts up to the last one, with marks on the way. */
static void
set_counted_up(Exec *e, Series *s, Value v, const Value *last)
{
    Value zero = {.type = s->by.type};
    int direction = value_cmp(&s->by, &zero);
    Error err;
    check_finite(&v, "start value");
    check_finite(last, "stop value");
    if (s->by.type == TYPE_NUMERIC)
        check_finite(&s->by, "step size");
    if (direction == 0)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "step size cannot equal zero");
    for (; is_within(&v, last, direction); s->count++) {
        if (s->count % FUNCTION_MORSEL_ROWS == 0)
            add_mark(e, s, &(Mark){.value = v});
        if (s->count % COUNTED_UNTIL_CHECK == 0)
            worker_check(&e->workers[0]);
        if (!step_on(s, &v, &err))
            err_rethrow(&err);
    }
}

static void
set_elements(Exec *e, Series *s, TypeId elem, Str bytes)
{
    s->array = array_open(elem, bytes);
    s->count = s->array.shape.count;
    ArrayWalk w = array_walk(&s->array);
    while (w.left) {
        add_mark(e, s, &(Mark){.walk = w});
        array_skip(&w, MIN(w.left, (u32)FUNCTION_MORSEL_ROWS));
    }
}

static void
set_subscripts(Series *s, const Value *args, u32 count)
{
    Array a = array_open(type_element(args[0].type), args[0].str);
    i32 dim = args[1].i32v;
    if (dim < 1 || (u32)dim > a.shape.ndim)
        return;
    i64 lower = a.shape.lower[dim - 1], upper = lower + a.shape.dims[dim - 1] - 1;
    if (count == 3 && args[2].b)
        set_integers(s, upper, lower, -1);
    else
        set_integers(s, lower, upper, 1);
}

static void
set_series(Exec *e, Series *s, const BExpr *call)
{
    Value args[FUNC_MAX_ARGS];
    s->type = call->type;
    if (call->kind != BX_FUNC || !func_gives_rows(func_def(call->func))) { /* one value */
        s->count = 1;
        add_mark(e, s, &(Mark){.value = plan_value(e->arena, call, &e->ctx->env)});
        return;
    }
    for (u32 i = 0; i < call->arg_count; i++) {
        args[i] = plan_value(e->arena, call->args[i], &e->ctx->env);
        if (args[i].is_null)
            return;
    }
    switch ((int)func_def(call->func)->op) {
    case FOP_UNNEST:
        set_elements(e, s, call->type, args[0].str);
        return;
    case FOP_REGEXP_MATCHES: case FOP_REGEXP_SPLIT_TO_TABLE: {
        Str rows;
        Error err;
        if (!regexp_rows(e->arena, func_def(call->func), args, interrupt_pending, &rows, &err)) {
            interrupt_check();
            err_rethrow(&err);
        }
        set_elements(e, s, TYPE_BYTEA, rows);
        return;
    }
    case FOP_LISTENING_CHANNELS:
        set_elements(e, s, call->type, e->ctx->env.call(e->ctx->env.session, func_def(call->func), args).str);
        return;
    case FOP_GENERATE_SUBSCRIPTS:
        set_subscripts(s, args, call->arg_count);
        return;
    }
    bool stepped = call->arg_count == 3;
    if (s->type == TYPE_INT4 || s->type == TYPE_INT8) {
        set_integers(s, integer_of(&args[0]), integer_of(&args[1]), stepped ? integer_of(&args[2]) : 1);
        return;
    }
    s->zone = s->type == TYPE_TIMESTAMPTZ ? e->ctx->env.format->zone : NULL;
    s->by = stepped ? args[2] : (Value){.type = TYPE_NUMERIC, .typmod = -1, .num = num_from_i64(1)};
    set_counted_up(e, s, args[0], &args[1]);
}

/* ---- rows ---- */

/* Rows first … first + count - 1 of a series, behind its end NULL. m: where they begin, moved on. */
static void
fill(const Series *s, Arena *arena, u64 first, u32 count, Mark *m, Vec *to)
{
    u32 there = (u32)(first >= s->count ? 0 : MIN((u64)count, s->count - first)), width = phys_width(to->phys);
    memset(to->null_mask, 0, there);
    memset(to->null_mask + there, 1, count - there);
    memset((u8 *)to->data + (size_t)there * width, 0, (size_t)(count - there) * width);
    if (to->phys == PHYS_STR)
        for (u32 i = there; i < count; i++)
            ((Str *)to->data)[i] = (Str){"", 0};
    for (u32 i = 0; i < there; i++) {
        u8 *at = (u8 *)to->data + (size_t)i * width;
        if (s->counted) {
            i64 v = (i64)((u64)s->first + (first + i) * (u64)s->step);
            if (to->phys == PHYS_I64)
                *(i64 *)(void *)at = v;
            else
                *(i32 *)(void *)at = (i32)v;
            continue;
        }
        Value v = m->value;
        Error err;
        if (s->array.items)
            array_next(&m->walk, arena, &v);
        else if (s->by.type && first + i + 1 < s->count && !step_on(s, &m->value, &err))
            err_rethrow(&err);
        to->null_mask[i] = v.is_null;
        if (!v.is_null)
            value_to_phys(&v, to->phys, 0, at);
        else {
            memset(at, 0, width);
            if (to->phys == PHYS_STR)
                *(Str *)(void *)at = (Str){"", 0};
        }
    }
}

static void *
function_open(Source *source, Worker *w)
{
    const PlanNode *n = source->node;
    Vec *columns = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    for (u32 c = 0; c < n->slot_count; c++) {
        columns[c] = (Vec){.phys = n->slots[c].phys};
        columns[c].data = arena_alloc(w->arena, (size_t)VEC_SIZE * phys_width(columns[c].phys));
        columns[c].null_mask = arena_alloc(w->arena, VEC_SIZE);
    }
    return columns;
}

static void
function_run(Source *source, void *state, Worker *w, u64 morsel)
{
    const FunctionSource *f = (const FunctionSource *)source;
    const PlanNode *n = source->node;
    u32 calls = n->function.count;
    u64 first = morsel * FUNCTION_MORSEL_ROWS, end = MIN(source->row_count, first + FUNCTION_MORSEL_ROWS);
    Vec *columns = state, *out = ARENA_ARRAY(w->arena, Vec, n->slot_count);
    Mark *marks = ARENA_ARRAY(w->arena, Mark, calls);
    for (u32 c = 0; c < calls; c++)
        if (morsel < f->series[c].mark_count)
            marks[c] = f->series[c].marks[morsel];
    for (; first < end && !w->pipeline->full; first += VEC_SIZE) {
        u32 count = (u32)MIN((u64)VEC_SIZE, end - first);
        for (u32 c = 0; c < calls; c++)
            fill(&f->series[c], w->arena, first, count, &marks[c], &columns[c]);
        for (u32 i = 0; n->function.ordinality && i < count; i++) {
            ((i64 *)columns[calls].data)[i] = (i64)(first + i) + 1;
            columns[calls].null_mask[i] = 0;
        }
        memcpy(out, columns, n->slot_count * sizeof *out);
        Batch b = {.count = count, .column_count = n->slot_count, .columns = out};
        source_emit(source, w, &b);
    }
}

Source *
function_source(Exec *e, const PlanNode *n)
{
    FunctionSource *f = ARENA_NEW(e->arena, FunctionSource);
    u64 rows = 0;
    f->series = ARENA_ARRAY(e->arena, Series, n->function.count);
    for (u32 c = 0; c < n->function.count; c++) {
        set_series(e, &f->series[c], n->function.calls[c]);
        rows = MAX(rows, f->series[c].count);
    }
    f->source = (Source){.node = n, .open = function_open, .run = function_run, .row_count = rows};
    f->source.morsel_count = rows / FUNCTION_MORSEL_ROWS + (rows % FUNCTION_MORSEL_ROWS != 0);
    return &f->source;
}
