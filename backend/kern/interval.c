/*
 * interval.c
 *    Functions of intervals, and of times of all kinds with intervals.
 *
 * Adding to a timestamptz is calendar arithmetic in the session's zone: months and days are those of its wall clock.
 */
#include "backend/kern/timefield.h"
#include "common/base/env.h"
#include "common/type/interval.h"

#include <math.h>

static bool
out_of_range(KernCall *c)
{
    return error_set(c->err, ERR_DATETIME_OVERFLOW, "interval out of range");
}

#define INTERVAL_ROW(name, call)                                                                                                       \
    static bool name(KernCall *c, u32 i)                                                                                               \
    {                                                                                                                                  \
        return (call) || out_of_range(c);                                                                                              \
    }
INTERVAL_ROW(add, interval_add(&ARG(c, 0, Interval, i), &ARG(c, 1, Interval, i), &RET(c, Interval, i)))
INTERVAL_ROW(sub, interval_sub(&ARG(c, 0, Interval, i), &ARG(c, 1, Interval, i), &RET(c, Interval, i)))
INTERVAL_ROW(neg, interval_neg(&ARG(c, 0, Interval, i), &RET(c, Interval, i)))
INTERVAL_ROW(justify_hours, interval_justify_hours(&ARG(c, 0, Interval, i), &RET(c, Interval, i)))
INTERVAL_ROW(justify_days, interval_justify_days(&ARG(c, 0, Interval, i), &RET(c, Interval, i)))
INTERVAL_ROW(justify, interval_justify(&ARG(c, 0, Interval, i), &RET(c, Interval, i)))

static bool
mul(KernCall *c, u32 i)
{
    u32 at = c->def->args[0] == TYPE_INTERVAL ? 0 : 1;
    return interval_mul(&ARG(c, at, Interval, i), ARG(c, 1 - at, double, i), &RET(c, Interval, i)) || out_of_range(c);
}

static bool
divide(KernCall *c, u32 i)
{
    double by = ARG(c, 1, double, i);
    if (by == 0)
        return error_set(c->err, ERR_DIVISION_BY_ZERO, "division by zero");
    return interval_div(&ARG(c, 0, Interval, i), by, &RET(c, Interval, i)) || out_of_range(c);
}

/* ---- times and intervals ---- */
static bool
clock_plus(KernCall *c, u32 i, u32 at, const Interval *v)
{
    i32 offset_s;
    if (c->def->args[at] == TYPE_TIME) {
        RET(c, i64, i) = time_of_day(ARG(c, at, i64, i) + v->us % USEC_PER_DAY);
        return true;
    }
    i64 us = timetz_unpack(&ARG(c, at, Pair, i), &offset_s);
    RET(c, Pair, i) = timetz_pack(time_of_day(us + v->us % USEC_PER_DAY), offset_s);
    return true;
}

static bool
zoned_plus(const Zone *zone, i64 us, const Interval *v, i64 *ret)
{
    if (!timestamp_add_interval(zone_to_local(zone, us), v, ret))
        return false;
    *ret = zone_to_utc(zone, *ret);
    return true;
}

bool
kern_step_time(const Zone *zone, i64 us, const Interval *v, i64 *ret, Error *err)
{
    bool ok = true;
    if (zone && (v->months || v->days)) {
        Interval months = {.months = v->months}, days = {.days = v->days}, clock = {.us = v->us};
        ok = (!v->months || zoned_plus(zone, us, &months, &us)) && (!v->days || zoned_plus(zone, us, &days, &us)) && timestamp_add_interval(us, &clock, &us);
    } else
        ok = timestamp_add_interval(us, v, &us);
    if (!ok || us < TS_FIRST || us >= TS_END)
        return error_set(err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    *ret = us;
    return true;
}

static bool
stamp_plus(KernCall *c, u32 i, u32 at, const Interval *v)
{
    TypeId t = c->def->args[at];
    i64 us;
    /* months and days move the clock, hours the moment */
    const Zone *zone = t == TYPE_TIMESTAMPTZ ? c->format->zone : NULL;
    if (t == TYPE_DATE) {
        i32 days = ARG(c, at, i32, i);
        us = days == DATE_NEG_INF ? TS_NEG_INF : days == DATE_POS_INF ? TS_POS_INF : 0;
        if (!us && (__builtin_mul_overflow((i64)days, USEC_PER_DAY, &us) || us >= TS_END))
            return error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    } else
        us = ARG(c, at, i64, i);
    if (ts_infinite(us)) {
        RET(c, i64, i) = us;
        return true;
    }
    return kern_step_time(zone, us, v, &RET(c, i64, i), c->err);
}

static bool
plus(KernCall *c, u32 i, bool minus)
{
    u32 at = c->def->args[1] == TYPE_INTERVAL ? 0 : 1;
    Interval v = ARG(c, 1 - at, Interval, i);
    if (minus && !interval_neg(&v, &v))
        return out_of_range(c);
    TypeId t = c->def->args[at];
    return t == TYPE_TIME || t == TYPE_TIMETZ ? clock_plus(c, i, at, &v) : stamp_plus(c, i, at, &v);
}

static bool
time_plus(KernCall *c, u32 i)
{
    return plus(c, i, false);
}

static bool
time_minus(KernCall *c, u32 i)
{
    return plus(c, i, true);
}

static bool
time_diff(KernCall *c, u32 i)
{
    i64 a = ARG(c, 0, i64, i), b = ARG(c, 1, i64, i);
    Interval v = {0};
    if (c->def->args[0] == TYPE_TIME) {
        RET(c, Interval, i) = (Interval){a - b, 0, 0};
        return true;
    }
    if (ts_infinite(a) || ts_infinite(b))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "cannot subtract infinite timestamps");
    if (__builtin_sub_overflow(a, b, &v.us))
        return out_of_range(c);
    return interval_justify_hours(&v, &RET(c, Interval, i)) || out_of_range(c);
}

/* With one argument: from it to the last midnight. */
static bool
age(KernCall *c, u32 i)
{
    const Zone *zone = c->def->args[0] == TYPE_TIMESTAMPTZ ? c->format->zone : NULL;
    i64 a, b = ARG(c, c->arg_count - 1, i64, i);
    if (ts_infinite(b) || (c->arg_count == 2 && ts_infinite(ARG(c, 0, i64, i))))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    if (c->arg_count == 2) {
        a = zone_to_local(zone, ARG(c, 0, i64, i));
    } else {
        a = zone_to_local(c->format->zone, c->now_us);
        a -= time_of_day(a);
    }
    return timestamp_age(a, zone_to_local(zone, b), &RET(c, Interval, i)) || out_of_range(c);
}

/* ---- fields ---- */
static bool
extract(KernCall *c, u32 i)
{
    DateField field;
    if (!time_find_field(c, i, &field))
        return false;
    return interval_extract(field, &ARG(c, 1, Interval, i), &RET(c, Num, i)) || time_unit_error(c, ARG(c, 0, Str, i), true);
}

static bool
date_part(KernCall *c, u32 i)
{
    DateField field;
    Num n;
    if (!time_find_field(c, i, &field))
        return false;
    if (field == FIELD_EPOCH) {
        RET(c, double, i) = interval_epoch_f64(&ARG(c, 1, Interval, i));
        return true;
    }
    if (!interval_extract(field, &ARG(c, 1, Interval, i), &n))
        return time_unit_error(c, ARG(c, 0, Str, i), true);
    RET(c, double, i) = num_to_f64(&n);
    return true;
}

static bool
trunc_to(KernCall *c, u32 i)
{
    DateField field;
    if (!time_find_field(c, i, &field))
        return false;
    if (interval_trunc(field, &ARG(c, 1, Interval, i), &RET(c, Interval, i)))
        return true;
    time_unit_error(c, ARG(c, 0, Str, i), field != FIELD_EPOCH);
    if (field == FIELD_WEEK)
        error_detail(c->err, "Months usually have fractional weeks.");
    return false;
}

static bool
is_finite(KernCall *c, u32 i)
{
    RET(c, u8, i) = true;
    return true;
}

/* years, months, weeks, days, hours, minutes, seconds; what is not given is 0. */
static bool
make(KernCall *c, u32 i)
{
    i64 part[6] = {0}, us;
    for (u32 k = 0; k < c->arg_count && k < COUNT_OF(part); k++)
        part[k] = ARG(c, k, i32, i);
    double seconds = c->arg_count == 7 ? rint(ARG(c, 6, double, i) * 1000000) : 0;
    i64 months = part[0] * MONTHS_PER_YEAR + part[1], days = part[2] * 7 + part[3];
    us = part[4] * USEC_PER_HOUR + part[5] * USEC_PER_MINUTE;
    if (!(seconds >= -0x1p63 && seconds < 0x1p63) || __builtin_add_overflow(us, (i64)seconds, &us) || months != (i32)months || days != (i32)days)
        return out_of_range(c);
    RET(c, Interval, i) = (Interval){us, (i32)days, (i32)months};
    return true;
}

KernRow
interval_row(const FuncDef *f)
{
    bool last = f->arg_count && f->args[f->arg_count - 1] == TYPE_INTERVAL;
    switch ((int)f->op) {
    case FOP_INTERVAL_ADD: return add;
    case FOP_INTERVAL_SUB: return sub;
    case FOP_INTERVAL_NEG: return neg;
    case FOP_INTERVAL_MUL: return mul;
    case FOP_INTERVAL_DIV: return divide;
    case FOP_TIME_PLUS: return time_plus;
    case FOP_TIME_MINUS: return time_minus;
    case FOP_TIME_DIFF: return time_diff;
    case FOP_AGE: return age;
    case FOP_JUSTIFY_HOURS: return justify_hours;
    case FOP_JUSTIFY_DAYS: return justify_days;
    case FOP_JUSTIFY_INTERVAL: return justify;
    case FOP_MAKE_INTERVAL: return make;
    case FOP_EXTRACT: return last ? extract : NULL;
    case FOP_DATE_PART: return last ? date_part : NULL;
    case FOP_DATE_TRUNC: return last ? trunc_to : NULL;
    case FOP_IS_FINITE: return last ? is_finite : NULL;
    default: return NULL;
    }
}
