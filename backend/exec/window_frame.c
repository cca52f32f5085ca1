/*
 * window_frame.c
 *    Which rows are in a row's frame.
 *
 * ROWS counts positions, GROUPS runs of peers; RANGE with an offset looks for the first and last row whose order key is within reach, by halving. A sum that
 * no value of the type can reach is beyond all of them. Rows with a NULL key have each other for a frame.
 */
#include "backend/exec/window.h"

#include <math.h>

#include "backend/kern/call.h"
#include "common/type/datetime.h"
#include "common/type/interval.h"
#include "common/type/numeric.h"

/* ---- offsets ---- */

static i64
offset_value(Exec *e, const BExpr *x, const char *which)
{
    if (!x)
        return 0;
    Value v = plan_value(e->arena, x, &e->ctx->env);
    if (v.is_null)
        err_throw(ERR_NULL_NOT_ALLOWED, "frame %s offset must not be null", which);
    if (v.i64v < 0)
        err_throw(ERR_INVALID_PRECEDING_OR_FOLLOWING_SIZE, "frame %s offset must not be negative", which);
    return v.i64v;
}

static bool
is_negative(const Value *v)
{
    switch ((int)v->type) {
    case TYPE_INT8: return v->i64v < 0;
    case TYPE_FLOAT8: return isnan(v->f64v) || v->f64v < 0;
    case TYPE_NUMERIC: return v->num.kind == NUM_NAN || v->num.kind == NUM_NEG_INF || (v->num.kind == NUM_FINITE && num_int(&v->num) < 0);
    default: return interval_span(&v->interval) < 0;
    }
}

static Value
range_step(Window *w, const BExpr *x, const char *which)
{
    if (!x)
        return (Value){0};
    Value v = plan_value(w->exec->arena, x, &w->exec->ctx->env);
    if (v.is_null)
        err_throw(ERR_NULL_NOT_ALLOWED, "frame %s offset must not be null", which);
    if (w->count && is_negative(&v))
        err_throw(ERR_INVALID_PRECEDING_OR_FOLLOWING_SIZE, "invalid preceding or following size in window function");
    return v;
}

void
frame_open(Window *w)
{
    const BWindow *b = w->plan->bound;
    if (b->mode == FRAME_RANGE) {
        w->start_step = range_step(w, b->start_offset, "starting");
        w->end_step = range_step(w, b->end_offset, "ending");
        return;
    }
    w->start_offset = offset_value(w->exec, b->start_offset, "starting");
    w->end_offset = offset_value(w->exec, b->end_offset, "ending");
}

/* ---- RANGE with an offset ---- */

/* Where a frame ends in values: a value, or beyond all of them. */
typedef struct Bound {
    Value v;
    int beyond; /* 1 above all, -1 below all */
} Bound;

static const PlanSortKey *
order_key(const Window *w)
{
    return &w->plan->keys[w->plan->partition_count];
}

static bool
key_is_null(const Window *w, i64 at)
{
    const Vec *v = &w->rows->columns[order_key(w)->column];
    return VEC_NULL(v, w->order[at]);
}

/* Integers as bigint, floats as double, dates as timestamps. */
static Value
key_at(const Window *w, i64 at)
{
    u32 column = order_key(w)->column;
    const Vec *v = &w->rows->columns[column];
    const PlanSlot *slot = &w->node->left->slots[column];
    Value x = value_from_phys(slot->type, slot->typmod, v->phys, v->scale, (const u8 *)v->data + (u64)w->order[at] * phys_width(v->phys));
    switch ((int)slot->type) {
    case TYPE_INT2: return (Value){.type = TYPE_INT8, .typmod = -1, .i64v = x.i16v};
    case TYPE_INT4: return (Value){.type = TYPE_INT8, .typmod = -1, .i64v = x.i32v};
    case TYPE_FLOAT4: return (Value){.type = TYPE_FLOAT8, .typmod = -1, .f64v = (double)x.f32v};
    case TYPE_DATE: {
        Value t = {0};
        Error err;
        if (!value_cast(w->exec->arena, w->exec->ctx->env.format, &x, TYPE_TIMESTAMP, -1, false, &t, &err))
            err_rethrow(&err);
        return t;
    }
    default: return x;
    }
}

static Bound
step_float(double base, double by, bool back)
{
    if (isinf(by) && isinf(base) && (back ? base > 0 : base < 0)) /* infinitely far from an infinity is the other one */
        return (Bound){.v = {.type = TYPE_FLOAT8, .typmod = -1, .f64v = -base}};
    return (Bound){.v = {.type = TYPE_FLOAT8, .typmod = -1, .f64v = back ? base - by : base + by}};
}

static Bound
step_numeric(const Num *base, const Num *by, bool back)
{
    Bound b = {.v = {.type = TYPE_NUMERIC, .typmod = -1}};
    if (by->kind == NUM_POS_INF && base->kind == (back ? NUM_POS_INF : NUM_NEG_INF))
        b.v.num = (Num){.kind = back ? NUM_NEG_INF : NUM_POS_INF};
    else if ((back ? num_sub(base, by, &b.v.num) : num_add(base, by, &b.v.num)) != NUM_OK)
        b.beyond = back ? -1 : 1;
    return b;
}

static Bound
step_time(const Window *w, const Value *base, const Interval *by, bool back)
{
    Bound b = {.v = *base};
    Interval step = *by;
    Error err;
    const Zone *zone = base->type == TYPE_TIMESTAMPTZ ? w->exec->ctx->env.format->zone : NULL;
    if (base->i64v == INT64_MIN || base->i64v == INT64_MAX)
        return b;
    if (back && !interval_neg(by, &step))
        err_throw(ERR_DATETIME_OVERFLOW, "interval out of range");
    if (!kern_step_time(zone, base->i64v, &step, &b.v.i64v, &err))
        err_rethrow(&err);
    return b;
}

static Bound
step_from(const Window *w, const Value *base, const Value *by, bool back)
{
    Bound b = {.v = *base};
    switch ((int)base->type) {
    case TYPE_INT8:
        if (back ? __builtin_sub_overflow(base->i64v, by->i64v, &b.v.i64v) : __builtin_add_overflow(base->i64v, by->i64v, &b.v.i64v))
            b.beyond = back ? -1 : 1;
        return b;
    case TYPE_FLOAT8: return step_float(base->f64v, by->f64v, back);
    case TYPE_NUMERIC: return step_numeric(&base->num, &by->num, back);
    case TYPE_INTERVAL:
        if (!(back ? interval_sub(&base->interval, &by->interval, &b.v.interval) : interval_add(&base->interval, &by->interval, &b.v.interval)))
            err_throw(ERR_DATETIME_OVERFLOW, "interval out of range");
        return b;
    default: return step_time(w, base, &by->interval, back);
    }
}

/* The first position whose key stands at the bound or behind it (after: behind it). */
static i64
find_position(const Window *w, const Bound *b, bool after)
{
    i64 lo = w->known_first, hi = w->known_end;
    bool down = order_key(w)->descending;
    while (lo < hi) {
        i64 mid = lo + (hi - lo) / 2;
        Value v = key_at(w, mid);
        int c = b->beyond ? -b->beyond : value_cmp(&v, &b->v);
        if (down)
            c = -c;
        if (c < 0 || (after && c == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static i64
range_start(const Window *w, i64 at, bool back)
{
    if (key_is_null(w, at))
        return w->peer_first[at];
    Value base = key_at(w, at);
    Bound b = step_from(w, &base, &w->start_step, back != order_key(w)->descending);
    return find_position(w, &b, false);
}

static i64
range_end(const Window *w, i64 at, bool back)
{
    if (key_is_null(w, at))
        return w->peer_end[at];
    Value base = key_at(w, at);
    Bound b = step_from(w, &base, &w->end_step, back != order_key(w)->descending);
    return find_position(w, &b, true);
}

void
frame_partition(Window *w)
{
    const BWindow *b = w->plan->bound;
    w->known_first = w->first;
    w->known_end = w->end;
    if (b->mode != FRAME_RANGE || (!b->start_offset && !b->end_offset) || w->first == w->end)
        return;
    if (key_is_null(w, w->first))
        w->known_first = w->peer_end[w->first];
    if (w->known_first < w->end && key_is_null(w, w->end - 1))
        w->known_end = w->peer_first[w->end - 1];
}

/* ---- ROWS, GROUPS ---- */

/* `by` groups of peers from position `at` on (negative: back); the group's first position, limited to the partition. */
static i64
move_groups(const Window *w, i64 at, i64 by)
{
    i64 group = w->peer_first[at];
    for (; by < 0 && group > w->first; by++)
        group = w->peer_first[group - 1];
    if (by < 0)
        return w->first - 1;
    for (; by > 0 && group < w->end; by--)
        group = w->peer_end[group];
    return group;
}

static i64
clamp(const Window *w, i64 at)
{
    return at < w->first ? w->first : at > w->end ? w->end : at;
}

/* Offsets beyond any partition must not overflow. */
static i64
near(const Window *w, i64 at, i64 offset, bool back)
{
    i64 o = MIN(offset, w->count);
    return back ? at - o : at + o;
}

static i64
frame_start(const Window *w, i64 at)
{
    const BWindow *b = w->plan->bound;
    switch (b->start) {
    case FRAME_UNBOUNDED_PRECEDING: return w->first;
    case FRAME_CURRENT: return b->mode == FRAME_ROWS ? at : w->peer_first[at];
    case FRAME_PRECEDING:
    case FRAME_FOLLOWING: break;
    case FRAME_UNBOUNDED_FOLLOWING: return w->end;
    }
    bool back = b->start == FRAME_PRECEDING;
    if (b->mode == FRAME_RANGE)
        return range_start(w, at, back);
    if (b->mode == FRAME_ROWS)
        return clamp(w, near(w, at, w->start_offset, back));
    return clamp(w, move_groups(w, at, near(w, 0, w->start_offset, back)));
}

static i64
frame_end(const Window *w, i64 at)
{
    const BWindow *b = w->plan->bound;
    switch (b->end) {
    case FRAME_UNBOUNDED_FOLLOWING: return w->end;
    case FRAME_CURRENT: return b->mode == FRAME_ROWS ? at + 1 : w->peer_end[at];
    case FRAME_PRECEDING:
    case FRAME_FOLLOWING: break;
    case FRAME_UNBOUNDED_PRECEDING: return w->first;
    }
    bool back = b->end == FRAME_PRECEDING;
    if (b->mode == FRAME_RANGE)
        return range_end(w, at, back);
    if (b->mode == FRAME_ROWS)
        return clamp(w, near(w, at, w->end_offset, back) + 1);
    i64 group = move_groups(w, at, near(w, 0, w->end_offset, back));
    return group < w->first ? w->first : group >= w->end ? w->end : w->peer_end[group];
}

Frame
frame_at(const Window *w, i64 at)
{
    Frame f = {frame_start(w, at), frame_end(w, at)};
    f.end = MAX(f.start, f.end);
    return f;
}

/* ---- EXCLUDE ---- */

static void
add_piece(FramePieces *p, i64 start, i64 end)
{
    if (start < end)
        p->at[p->count++] = (Frame){start, end};
}

FramePieces
frame_pieces(const Window *w, i64 at)
{
    Frame f = frame_at(w, at);
    FramePieces p = {0};
    BFrameExclude exclude = w->plan->bound->exclude;
    if (exclude == EXCLUDE_NONE) {
        add_piece(&p, f.start, f.end);
        return p;
    }
    i64 from = exclude == EXCLUDE_CURRENT ? at : w->peer_first[at], to = exclude == EXCLUDE_CURRENT ? at + 1 : w->peer_end[at];
    add_piece(&p, f.start, MIN(f.end, from));
    if (exclude == EXCLUDE_TIES && at >= f.start && at < f.end)
        add_piece(&p, at, at + 1);
    add_piece(&p, MAX(f.start, to), f.end);
    return p;
}

i64
frame_position(const FramePieces *p, i64 n)
{
    if (n < 0)
        return p->count ? p->at[p->count - 1].end - 1 : -1;
    for (u32 i = 0; i < p->count; i++) {
        i64 length = p->at[i].end - p->at[i].start;
        if (n <= length)
            return p->at[i].start + n - 1;
        n -= length;
    }
    return -1;
}
