/*
 * agg_set.c
 *    Aggregates with WITHIN GROUP over the sorted rows of a group: mode, percentiles, and where a hypothetical row would stand.
 *
 * mode and percentiles do not see NULLs, which stand at one end. Intervals are interpolated as PostgreSQL does: the difference times a fraction is added.
 */
#include "backend/exec/agg_fold_inside.h"

#include <math.h>

#include "common/type/array.h"
#include "common/type/interval.h"

/* The rows whose first column is not NULL. */
typedef struct Known {
    u64 first, count;
} Known;

static Known
known_rows(const Fold *f)
{
    Known k = {0, f->rows->count};
    while (k.count && fold_is_null(f, 0, k.first)) {
        k.first++;
        k.count--;
    }
    while (k.count && fold_is_null(f, 0, k.first + k.count - 1))
        k.count--;
    return k;
}

/* NULL when it has a value a group and the group has no row. */
static Value
direct_value(const Fold *f, u32 i)
{
    i32 column = f->plan->direct_columns[i];
    if (column < 0)
        return f->rows->direct[i];
    if (!f->rows->count)
        return (Value){.type = f->plan->slots[column].type, .typmod = -1, .is_null = true};
    return fold_value(f, (u32)column, 0);
}

static void
give_value(const Fold *f, void *state, const Value *v)
{
    _Alignas(16) u8 phys[32];
    value_to_phys(v, f->kernel->ret_phys, f->kernel->ret_scale, phys);
    fold_give(f, state, phys);
}

/* ---- mode ---- */

static void
fold_mode(const Fold *f, void *state)
{
    Known k = known_rows(f);
    Value best, run = {0};
    u64 best_length = 0, length = 0;
    for (u64 i = 0; i < k.count; i++) {
        Value v = fold_value(f, 0, k.first + i);
        if (!length || value_cmp(&run, &v) != 0) {
            run = v;
            length = 0;
        }
        length++;
        if (length > best_length) {
            best = run;
            best_length = length;
        }
    }
    if (best_length)
        give_value(f, state, &best);
}

/* ---- percentiles ---- */

static void
check_fraction(double p)
{
    if (isnan(p))
        err_throw(ERR_NUMERIC_OUT_OF_RANGE, "percentile value NaN is not between 0 and 1");
    if (p < 0 || p > 1)
        err_throw(ERR_NUMERIC_OUT_OF_RANGE, "percentile value %g is not between 0 and 1", p);
}

static Value
between(const Value *lo, const Value *hi, double part)
{
    Value v = *lo;
    Interval step;
    if (lo->type == TYPE_FLOAT8) {
        v.f64v = lo->f64v + part * (hi->f64v - lo->f64v);
        return v;
    }
    if (!interval_sub(&hi->interval, &lo->interval, &step) || !interval_mul(&step, part, &step) || !interval_add(&step, &lo->interval, &v.interval))
        err_throw(ERR_DATETIME_OVERFLOW, "interval out of range");
    return v;
}

/* There is at least one row. */
static Value
percentile(const Fold *f, Known k, double p)
{
    if (f->op == AOP_PERCENTILE_DISC) {
        double at = ceil(p * (double)k.count);
        return fold_value(f, 0, k.first + (at < 1 ? 0 : (u64)at - 1));
    }
    double at = p * (double)(k.count - 1);
    Value lo = fold_value(f, 0, k.first + (u64)floor(at));
    if (floor(at) == ceil(at))
        return lo;
    Value hi = fold_value(f, 0, k.first + (u64)ceil(at));
    return between(&lo, &hi, at - floor(at));
}

static void
fold_percentiles(const Fold *f, void *state, Str fractions)
{
    Known k = known_rows(f);
    if (!k.count)
        return;
    Arena *a = f->worker->scratch;
    Array wanted = array_open(TYPE_FLOAT8, fractions);
    ArrayBuild build = array_build(a, type_element(f->plan->type));
    Error err;
    Str s;
    Value p;
    for (ArrayWalk w = array_walk(&wanted); array_next(&w, a, &p);) {
        Value v = {.type = type_element(f->plan->type), .typmod = -1, .is_null = true};
        if (!p.is_null) {
            check_fraction(p.f64v);
            v = percentile(f, k, p.f64v);
        }
        if (!array_add(&build, &v, &err))
            err_rethrow(&err);
    }
    if (!array_finish(&build, &wanted.shape, &s, &err))
        err_rethrow(&err);
    fold_give_text(f, state, s.ptr, s.len);
    arena_reset(a);
}

static void
fold_percentile(const Fold *f, void *state)
{
    Value p = direct_value(f, 0);
    if (p.is_null)
        return;
    if (type_is_array(p.type)) {
        fold_percentiles(f, state, p.str);
        return;
    }
    check_fraction(p.f64v);
    Known k = known_rows(f);
    if (!k.count)
        return;
    Value v = percentile(f, k, p.f64v);
    give_value(f, state, &v);
}

/* ---- hypothetical rows ---- */

/* Does row i stand before the hypothetical one, with it, behind it? */
static int
compare_hypothetical(const Fold *f, u64 i, const Value *hypothetical)
{
    for (u32 k = 0; k < f->plan->key_count; k++) {
        const PlanSortKey *key = &f->plan->keys[k];
        Value v = fold_value(f, key->column, i);
        const Value *h = &hypothetical[k];
        if (v.is_null || h->is_null) {
            if (v.is_null && h->is_null)
                continue;
            return v.is_null == key->nulls_first ? -1 : 1;
        }
        int c = value_cmp(&v, h);
        if (c)
            return key->descending ? -c : c;
    }
    return 0;
}

static bool
same_row(const Fold *f, u64 a, u64 b)
{
    for (u32 k = 0; k < f->plan->key_count; k++) {
        Value x = fold_value(f, f->plan->keys[k].column, a), y = fold_value(f, f->plan->keys[k].column, b);
        if (x.is_null != y.is_null || (!x.is_null && value_cmp(&x, &y) != 0))
            return false;
    }
    return true;
}

static void
fold_rank(const Fold *f, void *state)
{
    u64 n = f->rows->count, before = 0, distinct = 0, lo = 0, hi = n;
    Value *hypothetical = ARENA_ARRAY(f->worker->scratch, Value, f->plan->direct_count);
    for (u32 i = 0; i < f->plan->direct_count; i++)
        hypothetical[i] = direct_value(f, i);
    int with = f->op == AOP_CUME_DIST ? 1 : 0;
    while (lo < hi) { /* rows are sorted: how many stand before it, of cume_dist also those that stand with it */
        u64 mid = lo + (hi - lo) / 2;
        if (compare_hypothetical(f, mid, hypothetical) < with)
            lo = mid + 1;
        else
            hi = mid;
    }
    before = lo;
    for (u64 i = 0; f->op == AOP_DENSE_RANK && i < before; i++)
        distinct += !i || !same_row(f, i - 1, i);
    i64 rank = (i64)(f->op == AOP_DENSE_RANK ? distinct : before) + 1;
    double part = f->op == AOP_CUME_DIST ? (double)rank / (double)(n + 1) : n ? (double)before / (double)n : 0;
    if (f->op == AOP_RANK || f->op == AOP_DENSE_RANK)
        fold_give(f, state, &rank);
    else
        fold_give(f, state, &part);
    arena_reset(f->worker->scratch);
}

void
fold_set(const Fold *f, void *state)
{
    switch ((int)f->op) {
    case AOP_MODE: fold_mode(f, state); return;
    case AOP_PERCENTILE_CONT: case AOP_PERCENTILE_DISC: fold_percentile(f, state); return;
    default: fold_rank(f, state); return;
    }
}
