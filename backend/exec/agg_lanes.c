/*
 * agg_lanes.c
 *    Direct groups whose counts and sums of integers are gathered in lanes: one pass a batch over 8 bytes a result.
 *
 * A thread has for each group a row count (which also says that the group exists) and a 64-bit sum for each different argument of sum() and avg(); the
 * calls' own states get them when groups are collected, or when a thread gives lanes up: an argument with NULLs, whose count is not the row count;
 * values so large that 64 bits might not do. What lanes cannot do (min, FILTER, …) goes into states beside them, row by row.
 *
 * Invariants: a value is either in a lane or in a state, never in both. `spent` bounds the absolute sum of any lane since lanes were last empty.
 */
#include "backend/exec/agg.h"

#include <string.h>

#include "backend/kern/lanes.h"
#include "backend/kern/map.h"

enum { VALUE_BITS = 50 };
#define SPENT_MAX (1ull << 62)

static const i64 ZEROS[VEC_SIZE];

/* ---- which calls, which lanes ---- */

static u8
sum_lane(Agg *a, u32 call)
{
    const PlanAggCall *c = &a->plan->calls[call];
    LanePlan *p = &a->lanes;
    for (u32 k = 0; k < p->sum_count; k++)
        if (c->arg.column >= 0 && a->plan->calls[p->arg_of[k]].arg.column == c->arg.column)
            return (u8)(1 + k);
    if (p->sum_count == LANES_MAX)
        return LANE_NONE;
    p->arg_of[p->sum_count++] = call;
    return (u8)p->sum_count;
}

void
lanes_choose(Agg *a)
{
    LanePlan *p = &a->lanes;
    p->lane_of = ARENA_ARRAY(a->exec->arena, u8, a->plan->call_count);
    for (u32 i = 0; i < a->plan->call_count; i++) {
        const PlanAggCall *c = &a->plan->calls[i];
        bool counts = agg_def(c->agg)->op == AOP_COUNT;
        if (!c->kernel.add || c->filter || c->distinct)
            p->lane_of[i] = LANE_NONE;
        else
            p->lane_of[i] = counts ? LANE_ROWS : sum_lane(a, i);
    }
    p->step = 1 + p->sum_count;
}

static void
open_lanes(const Agg *a, AggLocal *l)
{
    Worker *w = l->worker;
    l->lanes = exec_alloc(w, (u64)a->direct.dims * a->lanes.step * sizeof(i64));
    l->lane_of = arena_alloc(w->arena, a->plan->call_count + 1);
    memcpy(l->lane_of, a->lanes.lane_of, a->plan->call_count);
}

/* States of the calls themselves, at the first need. */
static u8 *
direct_states(const Agg *a, AggLocal *l)
{
    if (!l->direct_states)
        l->direct_states = exec_alloc(l->worker, (u64)a->direct.dims * a->stride + 16);
    return l->direct_states;
}

/* ---- taking lanes out ---- */

/* Lanes of these groups into the calls' states: the i-th state is that of group indexes[i], or of first + i without indexes. */
static void
add_lanes(const Agg *a, const AggLocal *l, const u32 *indexes, u32 first, u32 count, u8 *states)
{
    i64 rows[VEC_SIZE], sums[VEC_SIZE];
    const i64 *lanes = l->lanes;
    u32 step = a->lanes.step;
    for (u32 i = 0; i < count; i++)
        rows[i] = lanes[(size_t)(indexes ? indexes[i] : first + i) * step];
    for (u32 c = 0; c < a->plan->call_count; c++) {
        u8 lane = l->lane_of[c];
        if (lane == LANE_NONE)
            continue;
        if (lane != LANE_ROWS)
            for (u32 i = 0; i < count; i++)
                sums[i] = lanes[(size_t)(indexes ? indexes[i] : first + i) * step + lane];
        a->plan->calls[c].kernel.add(states + a->offsets[c], a->stride, sums, rows, count);
    }
}

static void
mark_seen(const Agg *a, AggLocal *l, const u32 *numbers, u32 count)
{
    if (!l->direct_seen)
        l->direct_seen = exec_alloc(l->worker, a->direct.dims);
    u8 *restrict seen = l->direct_seen;
    for (u32 i = 0; i < count; i++)
        seen[numbers[i]] = 1;
}

/* Everything that is in lanes goes into the states. */
static void
empty_lanes(const Agg *a, AggLocal *l)
{
    if (!l->lane_rows)
        return;
    u8 *states = direct_states(a, l);
    mark_seen(a, l, NULL, 0);
    for (u32 at = 0; at < a->direct.dims; at += VEC_SIZE) {
        u32 count = MIN((u32)VEC_SIZE, a->direct.dims - at);
        add_lanes(a, l, NULL, at, count, states + (size_t)at * a->stride);
        for (u32 i = at; i < at + count; i++)
            l->direct_seen[i] |= l->lanes[(size_t)i * a->lanes.step] != 0;
    }
    memset(l->lanes, 0, (size_t)a->direct.dims * a->lanes.step * sizeof(i64));
    l->lane_rows = 0;
    memset(l->spent, 0, sizeof l->spent);
}

/* From here on these calls use their states. */
static void
give_up(const Agg *a, AggLocal *l, u32 lane)
{
    empty_lanes(a, l);
    for (u32 c = 0; c < a->plan->call_count; c++)
        if (l->lane_of[c] == lane)
            l->lane_of[c] = LANE_NONE;
    l->given_up[lane] = true;
}

/* ---- a batch ---- */

/* An argument as 64-bit integers; NULL when its lane cannot take it. */
static const i64 *
lane_values(AggLocal *l, Worker *w, u32 call, u32 lane, const Batch *b, u32 *ret_bits)
{
    Vec v;
    eval_run(&l->args[call], w, b, &v);
    if (v.null_mask || v.is_const)
        return NULL;
    if (v.phys == PHYS_I64 || v.phys == PHYS_D64) {
        u64 bits = kern_table()->bits_i64(v.data, b->count);
        *ret_bits = bits ? 64 - (u32)__builtin_clzll(bits) : 0;
        return v.data;
    }
    if (!l->wide[lane])
        l->wide[lane] = arena_alloc(w->arena, VEC_SIZE * sizeof(i64));
    bool narrow = v.phys == PHYS_I16;
    kern_table()->cast[narrow ? CAST_I16_I64 : CAST_I32_I64](v.data, NULL, l->wide[lane], b->count);
    *ret_bits = narrow ? 15 : 31;
    return l->wide[lane];
}

/* count(x) is the row count as long as x is never NULL. */
static void
check_counts(const Agg *a, AggLocal *l, Worker *w, const Batch *b)
{
    for (u32 c = 0; c < a->plan->call_count; c++) {
        if (l->lane_of[c] != LANE_ROWS || !a->plan->calls[c].has_arg)
            continue;
        Vec v;
        eval_run(&l->args[c], w, b, &v);
        if (!v.null_mask && !v.is_const)
            continue;
        empty_lanes(a, l);
        l->lane_of[c] = LANE_NONE;
    }
}

bool
lanes_add_batch(const Agg *a, AggLocal *l, Worker *w, const Batch *b)
{
    const i64 *values[LANES_MAX];
    u32 sums = a->lanes.sum_count, most = 0, bits[LANES_MAX] = {0};
    if (!l->lanes)
        open_lanes(a, l);
    check_counts(a, l, w, b);
    for (u32 k = 0; k < sums; k++) {
        values[k] = l->given_up[1 + k] ? ZEROS : lane_values(l, w, a->lanes.arg_of[k], 1 + k, b, &bits[k]);
        if (!values[k]) {
            give_up(a, l, 1 + k);
            values[k] = ZEROS;
        }
        most = MAX(most, bits[k]);
    }
    if (most > VALUE_BITS) {
        mark_seen(a, l, l->numbers, b->count);
        return false;
    }
    for (u32 k = 0; k < sums; k++)
        if (l->spent[k] + ((u64)b->count << bits[k]) > SPENT_MAX) {
            if (l->lane_rows < a->direct.dims) /* emptied too often for what it saves */
                give_up(a, l, 1 + k);
            empty_lanes(a, l);
            break;
        }
    for (u32 k = 0; k < sums; k++) {
        if (l->given_up[1 + k])
            values[k] = ZEROS;
        else
            l->spent[k] += (u64)b->count << bits[k];
    }
    l->lane_rows += b->count;
    if (a->direct.dims <= LANES_FEW && most <= LANES_FEW_BITS)
        lanes_add_few(l->lanes, a->direct.dims, l->numbers, values, sums, b->count);
    else
        lanes_add(l->lanes, l->numbers, values, sums, b->count);
    return true;
}

bool
lanes_take(const AggLocal *l, u32 call)
{
    return l->lane_of[call] != LANE_NONE;
}

u8 *
lanes_states(const Agg *a, AggLocal *l)
{
    return direct_states(a, l);
}

/* ---- collecting ---- */

/* Groups of first … end-1 that this thread has seen, ORed. */
static void
note_seen(const Agg *a, const AggLocal *l, u32 first, u32 end, u8 *seen)
{
    for (u32 i = first; i < end; i++)
        seen[i - first] |= l->lanes[(size_t)i * a->lanes.step] != 0;
    for (u32 i = first; l->direct_seen && i < end; i++)
        seen[i - first] |= l->direct_seen[i];
}

void
direct_collect(const Agg *a, Worker *w, u32 first, u32 end, u8 *states, DirectVisit visit, void *ctx)
{
    u8 seen[VEC_SIZE];
    u32 indexes[VEC_SIZE];
    for (u32 at = first; at < end; at += VEC_SIZE) {
        u32 stop = MIN(end, at + VEC_SIZE), count = 0;
        memset(seen, 0, stop - at);
        for (u32 t = 0; t < a->exec->worker_count; t++)
            if (a->locals[t] && a->locals[t]->lanes)
                note_seen(a, a->locals[t], at, stop, seen);
        for (u32 i = at; i < stop; i++) {
            indexes[count] = i;
            count += seen[i - at];
        }
        if (!count)
            continue;
        memset(states, 0, (size_t)count * a->stride);
        for (u32 t = 0; t < a->exec->worker_count; t++) {
            const AggLocal *l = a->locals[t];
            if (!l || !l->lanes)
                continue;
            add_lanes(a, l, indexes, 0, count, states);
            for (u32 i = 0; l->direct_states && i < count; i++)
                agg_merge_state(a, states + (size_t)i * a->stride, l->direct_states + (size_t)indexes[i] * a->stride);
        }
        visit(ctx, w, indexes, count, states);
    }
}
