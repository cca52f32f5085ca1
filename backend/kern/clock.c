/*
 * clock.c
 *    Functions of times of day.
 */
#include "backend/kern/timefield.h"

#include <math.h>

/* ---- a date and a time make a timestamp; with a zone it is a moment ---- */
static bool
date_time(KernCall *c, u32 i)
{
    u32 date = c->def->args[0] == TYPE_DATE ? 0 : 1, time = 1 - date;
    i32 days = ARG(c, date, i32, i), offset_s = 0;
    i64 us = c->def->args[time] == TYPE_TIME ? ARG(c, time, i64, i) : timetz_unpack(&ARG(c, time, Pair, i), &offset_s);
    if (date_infinite(days)) {
        RET(c, i64, i) = days == DATE_NEG_INF ? TS_NEG_INF : TS_POS_INF;
        return true;
    }
    i128 sum = (i128)days * USEC_PER_DAY;
    if (sum >= TS_END)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    sum += us - (i64)offset_s * 1000000;
    if (sum < TS_FIRST || sum >= TS_END)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, c->def->args[time] == TYPE_TIME ? "timestamp out of range" : "date out of range for timestamp");
    RET(c, i64, i) = (i64)sum;
    return true;
}

/* ---- fields ---- */
static bool
time_field(KernCall *c, u32 i, Num *ret)
{
    DateField field;
    if (!time_find_field(c, i, &field))
        return false;
    bool known = c->def->args[1] == TYPE_TIME ? time_extract(field, ARG(c, 1, i64, i), ret) : timetz_extract(field, &ARG(c, 1, Pair, i), ret);
    return known || time_unit_error(c, ARG(c, 0, Str, i), true);
}

static bool
time_extract_row(KernCall *c, u32 i)
{
    return time_field(c, i, &RET(c, Num, i));
}

static bool
time_part_row(KernCall *c, u32 i)
{
    Num n;
    if (!time_field(c, i, &n))
        return false;
    RET(c, double, i) = num_to_f64(&n);
    return true;
}

static bool
make_time(KernCall *c, u32 i)
{
    i32 hour = ARG(c, 0, i32, i), minute = ARG(c, 1, i32, i);
    double second = ARG(c, 2, double, i);
    bool day_end = hour == 24 && minute == 0 && second == 0;
    if (isnan(second) || hour < 0 || minute < 0 || minute > 59 || second < 0 || second > 60 || (hour > 23 && !day_end))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "time field value out of range: %d:%02d:%02g", hour, minute, second);
    RET(c, i64, i) = ((i64)hour * 60 + minute) * 60000000 + (i64)rint(second * 1e6);
    return true;
}

KernRow
clock_row(FuncOp op, TypeId last_arg)
{
    bool time = last_arg == TYPE_TIME || last_arg == TYPE_TIMETZ;
    switch ((int)op) {
    case FOP_DATE_TIME: return date_time;
    case FOP_EXTRACT: return time ? time_extract_row : NULL;
    case FOP_DATE_PART: return time ? time_part_row : NULL;
    case FOP_MAKE_TIME: return make_time;
    default: return NULL;
    }
}
