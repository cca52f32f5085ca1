/*
 * time.c
 *    Functions and casts of dates and timestamps.
 */
#include "backend/kern/call.h"
#include "backend/kern/timefield.h"

#include <math.h>
#include <stdio.h>

#define UNIX_EPOCH_US (-946684800000000LL)

static bool
date_out_of_range(KernCall *c)
{
    return error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range");
}

static bool
timestamp_out_of_range(KernCall *c)
{
    return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
}

static bool
set_date(KernCall *c, u32 i, i32 date, i64 days)
{
    i64 d = date_infinite(date) ? date : date + days;
    if (!date_infinite(date) && (d < DATE_FIRST || d > DATE_LAST))
        return date_out_of_range(c);
    RET(c, i32, i) = (i32)d;
    return true;
}

static bool
date_add(KernCall *c, u32 i)
{
    bool date_first = c->def->args[0] == TYPE_DATE;
    return set_date(c, i, ARG(c, date_first ? 0 : 1, i32, i), ARG(c, date_first ? 1 : 0, i32, i));
}

static bool
date_sub(KernCall *c, u32 i)
{
    return set_date(c, i, ARG(c, 0, i32, i), -(i64)ARG(c, 1, i32, i));
}

static bool
date_diff(KernCall *c, u32 i)
{
    i32 a = ARG(c, 0, i32, i), b = ARG(c, 1, i32, i);
    if (date_infinite(a) || date_infinite(b))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "cannot subtract infinite dates");
    RET(c, i32, i) = a - b;
    return true;
}

/* ---- fields ---- */

/* Lower case, as PostgreSQL shows units in messages. */
static const char *
unit_text(KernCall *c, Str unit)
{
    char *s = arena_strndup(c->scratch, unit.ptr, unit.len);
    for (char *p = s; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p += 'a' - 'A';
    return s;
}

/* date_part() of a date is that of the timestamp. */
static TypeId
time_type(const KernCall *c)
{
    TypeId t = c->def->args[1];
    return t == TYPE_DATE && c->def->op == FOP_DATE_PART ? TYPE_TIMESTAMP : t;
}

bool
time_unit_error(KernCall *c, Str unit, bool known)
{
    const char *type = type_name(time_type(c));
    if (known)
        return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "unit \"%s\" not supported for type %s", unit_text(c,
            unit), type);
    return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "unit \"%s\" not recognized for type %s", unit_text(c,
        unit), type);
}

/* The field named by the first argument; looked up once when it is a constant. memo: the field + 1. */
bool
time_find_field(KernCall *c, u32 i, DateField *ret)
{
    if (c->memo) {
        *ret = (DateField)((uintptr_t)c->memo - 1);
        return true;
    }
    Str unit = ARG(c, 0, Str, i);
    if (!datefield_from_name(unit, ret))
        return time_unit_error(c, unit, false);
    if (c->args[0]->is_const)
        c->memo = (void *)((uintptr_t)*ret + 1);
    return true;
}

static bool
date_trunc(KernCall *c, u32 i)
{
    DateField field;
    i64 us = ARG(c, 1, i64, i), cut;
    ZoneName zone = {0};
    if (ts_infinite(us)) { /* whatever the unit */
        RET(c, i64, i) = us;
        return true;
    }
    if (!time_find_field(c, i, &field))
        return false;
    if (field == FIELD_DOW || field == FIELD_ISODOW || field == FIELD_DOY || field == FIELD_ISOYEAR ||
        field == FIELD_JULIAN ||
        field == FIELD_EPOCH)
        return time_unit_error(c, ARG(c, 0, Str, i), false);
    if (c->arg_count == 3) {
        if (!time_zone_arg(c, i, 2, &zone))
            return false;
    } else if (c->def->args[1] == TYPE_TIMESTAMPTZ)
        zone.zone = c->format->zone;
    i64 local = zone_name_to_local(&zone, us);
    if (!timestamp_trunc(field, local, &cut))
        return time_unit_error(c, ARG(c, 0, Str, i), true);
    /* within a day the clock's change must not move it */
    cut = field <= FIELD_HOUR ? cut - (local - us) : zone_name_to_utc(&zone, cut);
    if (cut < TS_FIRST || cut >= TS_END)
        return timestamp_out_of_range(c);
    RET(c, i64, i) = cut;
    return true;
}

/* Of an infinite time: the fields that only grow are infinite, the others NULL. */
static bool
extract_infinite(DateField field, bool negative, Num *ret)
{
    switch ((int)field) {
    case FIELD_YEAR: case FIELD_DECADE: case FIELD_CENTURY: case FIELD_MILLENNIUM: case FIELD_JULIAN: case FIELD_ISOYEAR: case FIELD_EPOCH:
        *ret = (Num){.kind = negative ? NUM_NEG_INF : NUM_POS_INF};
        return true;
    default:
        return false;
    }
}

/* *ret_null: the field of an infinite time is unknown. */
static bool
field_of(KernCall *c, u32 i, Num *ret, bool *ret_null)
{
    DateField field;
    if (!time_find_field(c, i, &field))
        return false;
    TypeId type = time_type(c);
    i64 us;
    *ret_null = false;
    if (c->def->args[1] == TYPE_DATE) {
        i32 days = ARG(c, 1, i32, i);
        us = days == DATE_NEG_INF ? TS_NEG_INF : days == DATE_POS_INF ? TS_POS_INF : 0;
        if (!date_infinite(days) && __builtin_mul_overflow((i64)days, USEC_PER_DAY, &us))
            return error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    } else
        us = ARG(c, 1, i64, i);
    i32 offset_s = type == TYPE_TIMESTAMPTZ && c->format->zone && !ts_infinite(us) ? zone_offset_s(c->format->zone, us) : 0;
    if (ts_infinite(us)) {
        /* Is the field there for this type at all? */
        Num probe;
        if (!timestamp_extract(field, 0, type != TYPE_DATE, offset_s, &probe))
            return time_unit_error(c, ARG(c, 0, Str, i), true);
        *ret_null = !extract_infinite(field, us == TS_NEG_INF, ret);
        return true;
    }
    if (type != TYPE_TIMESTAMPTZ && (field == FIELD_TIMEZONE || field == FIELD_TIMEZONE_HOUR ||
                                     field == FIELD_TIMEZONE_MINUTE))
        return time_unit_error(c, ARG(c, 0, Str, i), true);
    if (!timestamp_extract(field, us, type != TYPE_DATE, offset_s, ret))
        return time_unit_error(c, ARG(c, 0, Str, i), true);
    return true;
}

static bool
extract(KernCall *c, u32 i)
{
    bool null;
    if (!field_of(c, i, &RET(c, Num, i), &null))
        return false;
    c->ret->null_mask[i] = null;
    return true;
}

static bool
date_part(KernCall *c, u32 i)
{
    bool null;
    Num n = {.kind = NUM_FINITE};
    if (!field_of(c, i, &n, &null))
        return false;
    c->ret->null_mask[i] = null;
    RET(c, double, i) = num_to_f64(&n);
    return true;
}

static bool
date_is_finite(KernCall *c, u32 i)
{
    RET(c, u8, i) = !date_infinite(ARG(c, 0, i32, i));
    return true;
}

static bool
ts_is_finite(KernCall *c, u32 i)
{
    RET(c, u8, i) = !ts_infinite(ARG(c, 0, i64, i));
    return true;
}

/* ---- making ---- */

/* Years as people count them (no year 0, negative = BC) to the astronomical year, which messages show; false when
 * there is no such day. */
static bool
check_day(i32 year, i32 month, i32 day, i32 *ret_year)
{
    static const u8 DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    i32 y = year < 0 ? year + 1 : year;
    *ret_year = y;
    if (year == 0 || month < 1 || month > 12 || day < 1)
        return false;
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return day <= DAYS[month - 1] + (month == 2 && leap);
}

static bool
make_date(KernCall *c, u32 i)
{
    i32 year = ARG(c, 0, i32, i), month = ARG(c, 1, i32, i), day = ARG(c, 2, i32, i), y;
    if (!check_day(year, month, day, &y))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "date field value out of range: %d-%02d-%02d", y, month, day);
    if (y < -4712 || y > 5874897)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range: %d-%02d-%02d", y, month, day);
    RET(c, i32, i) = date_from_civil(y, month, day);
    return true;
}

bool
time_of_parts(KernCall *c, u32 i, i64 *ret_us)
{
    i32 year = ARG(c, 0, i32, i), month = ARG(c, 1, i32, i), day = ARG(c, 2, i32, i), y;
    i32 hour = ARG(c, 3, i32, i), minute = ARG(c, 4, i32, i);
    double second = ARG(c, 5, double, i);
    if (!check_day(year, month, day, &y))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "date field value out of range: %d-%02d-%02d", y, month, day);
    bool day_end = hour == 24 && minute == 0 && second == 0;
    if (isnan(second) || hour < 0 || minute < 0 || minute > 59 || second < 0 || second > 60 || (hour > 23 && !day_end))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "time field value out of range: %d:%02d:%02g", hour, minute,
                         second);
    i64 us = ((i64)hour * 60 + minute) * 60000000 + (i64)rint(second * 1e6);
    i128 all = (i128)date_from_civil(y, month, day) * USEC_PER_DAY + us;
    if (y < -4712 || y > 294276 || all < TS_FIRST || all >= TS_END)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range: %d-%02d-%02d %d:%02d:%02g", y, month,
                         day, hour,
                         minute, second);
    *ret_us = (i64)all;
    return true;
}

static bool
make_timestamp(KernCall *c, u32 i)
{
    return time_of_parts(c, i, &RET(c, i64, i));
}

static bool
to_timestamp(KernCall *c, u32 i)
{
    double s = ARG(c, 0, double, i);
    if (isnan(s))
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp cannot be NaN");
    if (isinf(s)) {
        RET(c, i64, i) = s < 0 ? TS_NEG_INF : TS_POS_INF;
        return true;
    }
    double us = rint((s + (double)UNIX_EPOCH_US / 1e6) * 1e6);
    if (us < (double)TS_FIRST || us >= (double)TS_END)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range: \"%g\"", s);
    RET(c, i64, i) = (i64)us;
    return true;
}

/* ---- casts for comparisons: out of range is an infinity, so that order holds ---- */
static i64
date_us(i32 d, const Zone *zone)
{
    i64 us;
    if (d == DATE_NEG_INF || d == DATE_POS_INF || __builtin_mul_overflow((i64)d, USEC_PER_DAY, &us) || us >= TS_END + USEC_PER_DAY)
        return d == DATE_NEG_INF ? TS_NEG_INF : TS_POS_INF;
    us = zone_to_utc(zone, us);
    return us >= TS_END ? TS_POS_INF : us < TS_FIRST ? TS_NEG_INF : us;
}

bool
cast_date_timestamp_row(KernCall *c, u32 i)
{
    RET(c, i64, i) = date_us(ARG(c, 0, i32, i), NULL);
    return true;
}

bool
cast_date_timestamptz_row(KernCall *c, u32 i)
{
    RET(c, i64, i) = date_us(ARG(c, 0, i32, i), c->format->zone);
    return true;
}

bool
cast_timestamp_timestamptz_row(KernCall *c, u32 i)
{
    i64 us = ARG(c, 0, i64, i);
    RET(c, i64, i) = ts_infinite(us) ? us : zone_to_utc(c->format->zone, us);
    return true;
}

KernRow
time_row(FuncOp op, TypeId last_arg)
{
    switch ((int)op) {
    case FOP_DATE_ADD: return date_add;
    case FOP_DATE_SUB: return date_sub;
    case FOP_DATE_DIFF: return date_diff;
    case FOP_DATE_TRUNC: return date_trunc;
    case FOP_EXTRACT: return extract;
    case FOP_DATE_PART: return date_part;
    case FOP_IS_FINITE: return last_arg == TYPE_DATE ? date_is_finite : ts_is_finite;
    case FOP_MAKE_DATE: return make_date;
    case FOP_MAKE_TIMESTAMP: return make_timestamp;
    case FOP_TO_TIMESTAMP: return to_timestamp;
    default: return NULL;
    }
}
