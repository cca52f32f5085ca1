/*
 * ranges.c
 *    Where a value falls: width_bucket(), date_bin(), OVERLAPS.
 */
#include "backend/kern/timefield.h"
#include "common/type/interval.h"

#include <math.h>

/* ---- width_bucket ---- */

static bool
bucket_error(KernCall *c, const char *what)
{
    return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_WIDTH_BUCKET, "%s", what);
}

/* Bucket `at` of `count`, 0 and count + 1 being outside of them. */
static bool
give_bucket(KernCall *c, u32 i, i64 at)
{
    if (at > INT32_MAX)
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
    RET(c, i32, i) = (i32)at;
    return true;
}

static bool
bucket_f64(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i), from = ARG(c, 1, double, i), to = ARG(c, 2, double, i);
    i64 count = ARG(c, 3, i32, i);
    if (count <= 0)
        return bucket_error(c, "count must be greater than zero");
    if (isnan(x) || isnan(from) || isnan(to))
        return bucket_error(c, "operand, lower bound, and upper bound cannot be NaN");
    if (isinf(from) || isinf(to))
        return bucket_error(c, "lower and upper bounds must be finite");
    if (from == to)
        return bucket_error(c, "lower bound cannot equal upper bound");
    bool rising = from < to;
    if (rising ? x < from : x > from)
        return give_bucket(c, i, 0);
    if (rising ? x >= to : x <= to)
        return give_bucket(c, i, count + 1);
    double part = isinf(to - from) ? (x / 2 - from / 2) / (to / 2 - from / 2) : (x - from) / (to - from);
    i64 at = (i64)((double)count * part);
    return give_bucket(c, i, MIN(at, count - 1) + 1);
}

static bool
bucket_num(KernCall *c, u32 i)
{
    Num x = kern_num(c->args[0], i), from = kern_num(c->args[1], i), to = kern_num(c->args[2], i), a, b, n = num_from_i64(ARG(c, 3, i32, i));
    i64 count = ARG(c, 3, i32, i), at;
    if (count <= 0)
        return bucket_error(c, "count must be greater than zero");
    if (x.kind == NUM_NAN || from.kind == NUM_NAN || to.kind == NUM_NAN)
        return bucket_error(c, "operand, lower bound, and upper bound cannot be NaN");
    if (from.kind != NUM_FINITE || to.kind != NUM_FINITE)
        return bucket_error(c, "lower and upper bounds must be finite");
    int order = num_cmp(&from, &to);
    if (order == 0)
        return bucket_error(c, "lower bound cannot equal upper bound");
    if (num_cmp(&x, &from) * order > 0)
        return give_bucket(c, i, 0);
    if (num_cmp(&x, &to) * order <= 0)
        return give_bucket(c, i, count + 1);
    NumStatus s = num_sub(&x, &from, &a);
    if (s == NUM_OK)
        s = num_mul(&a, &n, &a);
    if (s == NUM_OK)
        s = num_sub(&to, &from, &b);
    if (s == NUM_OK)
        s = num_div(&a, &b, &a);
    if (s == NUM_OK)
        s = num_floor(&a, &a);
    if (s == NUM_OK)
        s = num_to_i64(&a, &at);
    return s == NUM_OK ? give_bucket(c, i, MIN(at, count - 1) + 1) : kern_num_status(c, s);
}

/* ---- date_bin ---- */

static bool
time_error(KernCall *c, const char *what)
{
    return error_set(c->err, ERR_DATETIME_OVERFLOW, "%s", what);
}

/* The beginning of the piece of so many microseconds, counted from `origin`, in which the time lies. */
static bool
date_bin(KernCall *c, u32 i)
{
    Interval stride = ARG(c, 0, Interval, i);
    i64 at = ARG(c, 1, i64, i), origin = ARG(c, 2, i64, i), us, diff;
    if (ts_infinite(at)) {
        RET(c, i64, i) = at;
        return true;
    }
    if (ts_infinite(origin))
        return time_error(c, "origin out of range");
    if (stride.months)
        return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "timestamps cannot be binned into intervals containing months or years");
    if (__builtin_mul_overflow((i64)stride.days, USEC_PER_DAY, &us) || __builtin_add_overflow(us, stride.us, &us))
        return time_error(c, "interval out of range");
    if (us <= 0)
        return time_error(c, "stride must be greater than zero");
    if (__builtin_sub_overflow(at, origin, &diff))
        return time_error(c, "interval out of range");
    i64 rest = diff % us, begin = at - rest;
    if (rest < 0 && __builtin_sub_overflow(begin, us, &begin))
        return time_error(c, "timestamp out of range");
    if (begin < TS_FIRST || begin >= TS_END)
        return time_error(c, "timestamp out of range");
    RET(c, i64, i) = begin;
    return true;
}

/* ---- OVERLAPS ---- */

typedef struct Period {
    i32 from, to; /* which arguments; -1: NULL */
} Period;

/* <0, 0, >0 for two arguments without NULL. */
static int
compare_times(const KernCall *c, u32 i, i32 a, i32 b)
{
    if (c->def->args[0] == TYPE_TIMETZ) {
        Value x = {.type = TYPE_TIMETZ, .typmod = -1, .pair = ARG(c, a, Pair, i)}, y = {.type = TYPE_TIMETZ, .typmod = -1, .pair = ARG(c, b, Pair, i)};
        return value_cmp(&x, &y);
    }
    i64 x = ARG(c, a, i64, i), y = ARG(c, b, i64, i);
    return (x > y) - (x < y);
}

/* The lesser end first, or the one that is there. false: neither is. */
static bool
period_of(const KernCall *c, u32 i, i32 first, Period *ret)
{
    bool null_from = ARG_NULL(c, first, i), null_to = ARG_NULL(c, first + 1, i);
    *ret = (Period){null_from ? first + 1 : first, null_from || null_to ? -1 : first + 1};
    if (ret->to >= 0 && compare_times(c, i, ret->from, ret->to) > 0)
        *ret = (Period){first + 1, first};
    return !(null_from && null_to);
}

static bool
overlaps(KernCall *c, u32 i)
{
    Period a, b;
    int truth = -1;
    if (period_of(c, i, 0, &a) && period_of(c, i, 2, &b)) {
        int order = compare_times(c, i, a.from, b.from);
        Period early = order > 0 ? b : a, late = order > 0 ? a : b;
        if (order == 0)
            truth = a.to < 0 || b.to < 0 ? -1 : 1;
        else if (early.to >= 0)
            truth = compare_times(c, i, late.from, early.to) < 0 ? 1 : late.to < 0 ? -1 : 0;
    }
    RET(c, u8, i) = truth == 1;
    c->ret->null_mask[i] = truth < 0;
    return true;
}

KernRow
ranges_row(FuncOp op, TypeId first_arg)
{
    switch ((int)op) {
    case FOP_WIDTH_BUCKET: return first_arg == TYPE_NUMERIC ? bucket_num : bucket_f64;
    case FOP_DATE_BIN: return date_bin;
    case FOP_OVERLAPS: return overlaps;
    default: return NULL;
    }
}
