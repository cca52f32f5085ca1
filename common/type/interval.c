/*
 * interval.c
 *    Arithmetic of intervals and of timestamps with them; range and precision of a typmod.
 *
 * Fractions cascade downwards only, months into days of 30 a month, days into time, in floats rounded the way PostgreSQL does, since users see
 * the last digit. Nothing cascades up but by justify_*().
 */
#include "common/type/interval.h"

#include "common/type/inside.h"

#include <math.h>

/* ---- typmod ---- */
static const struct {
    i32 range;
    const char *name;
    i64 unit; /* time is cut to it; 0: dropped */
} RANGES[] = {
    {INTERVAL_FULL_RANGE, "", 1},
    {INTERVAL_YEAR, " year", 0},
    {INTERVAL_MONTH, " month", 0},
    {INTERVAL_YEAR | INTERVAL_MONTH, " year to month", 0},
    {INTERVAL_DAY, " day", 0},
    {INTERVAL_HOUR, " hour", USEC_PER_HOUR},
    {INTERVAL_MINUTE, " minute", USEC_PER_MINUTE},
    {INTERVAL_SECOND, " second", 1},
    {INTERVAL_DAY | INTERVAL_HOUR, " day to hour", USEC_PER_HOUR},
    {INTERVAL_DAY | INTERVAL_HOUR | INTERVAL_MINUTE, " day to minute", USEC_PER_MINUTE},
    {INTERVAL_DAY | INTERVAL_HOUR | INTERVAL_MINUTE | INTERVAL_SECOND, " day to second", 1},
    {INTERVAL_HOUR | INTERVAL_MINUTE, " hour to minute", USEC_PER_MINUTE},
    {INTERVAL_HOUR | INTERVAL_MINUTE | INTERVAL_SECOND, " hour to second", 1},
    {INTERVAL_MINUTE | INTERVAL_SECOND, " minute to second", 1},
};

static i32
find_range(i32 range)
{
    for (u32 i = 0; i < COUNT_OF(RANGES); i++)
        if (RANGES[i].range == range)
            return (i32)i;
    return -1;
}

const char *
interval_range_name(i32 range)
{
    i32 at = find_range(range);
    return at < 0 ? NULL : RANGES[at].name;
}

bool
interval_typmod_valid(i32 typmod)
{
    i32 precision = interval_precision(typmod);
    return typmod >= 0 && find_range(interval_range(typmod)) >= 0 && (precision <= 6 || precision == INTERVAL_FULL_PRECISION);
}

Interval
interval_fit(const Interval *v, i32 typmod)
{
    static const i64 UNITS[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    Interval r = *v;
    if (typmod < 0)
        return r;
    i32 at = find_range(interval_range(typmod)), precision = interval_precision(typmod);
    if (at < 0)
        return r;
    i32 range = RANGES[at].range;
    bool months_only = range == INTERVAL_YEAR || range == INTERVAL_MONTH || range == (INTERVAL_YEAR | INTERVAL_MONTH);
    if (range == INTERVAL_YEAR)
        r.months = r.months / MONTHS_PER_YEAR * MONTHS_PER_YEAR;
    if (months_only)
        r.days = 0;
    r.us = RANGES[at].unit ? r.us / RANGES[at].unit * RANGES[at].unit : 0;
    if (precision < 6) {
        i64 unit = UNITS[precision], half = r.us >= 0 ? unit / 2 : -(unit / 2), sum;
        if (!__builtin_add_overflow(r.us, half, &sum))
            r.us = sum / unit * unit;
    }
    return r;
}

/* ---- fields ---- */
IntervalParts
interval_parts(const Interval *v)
{
    i64 us = v->us;
    IntervalParts p = {.year = v->months / MONTHS_PER_YEAR, .month = v->months % MONTHS_PER_YEAR, .day = v->days};
    p.hour = us / USEC_PER_HOUR;
    us %= USEC_PER_HOUR;
    p.minute = (i32)(us / USEC_PER_MINUTE);
    us %= USEC_PER_MINUTE;
    p.second = (i32)(us / USEC_PER_SECOND);
    p.usec = (i32)(us % USEC_PER_SECOND);
    return p;
}

bool
interval_extract(DateField f, const Interval *v, Num *ret)
{
    IntervalParts p = interval_parts(v);
    i64 in_minute = (i64)p.second * USEC_PER_SECOND + p.usec;
    switch ((int)f) {
    case FIELD_MICROSECONDS: *ret = num_make(in_minute, 0); return true;
    case FIELD_MILLISECONDS: *ret = num_make(in_minute, 3); return true;
    case FIELD_SECOND: *ret = num_make(in_minute, 6); return true;
    case FIELD_MINUTE: *ret = num_make(p.minute, 0); return true;
    case FIELD_HOUR: *ret = num_make(p.hour, 0); return true;
    case FIELD_DAY: *ret = num_make(p.day, 0); return true;
    case FIELD_MONTH: *ret = num_make(p.month, 0); return true;
    case FIELD_QUARTER: *ret = num_make(p.month / 3 + 1, 0); return true;
    case FIELD_YEAR: *ret = num_make(p.year, 0); return true;
    case FIELD_DECADE: *ret = num_make(p.year / 10, 0); return true;
    case FIELD_CENTURY: *ret = num_make(p.year / 100, 0); return true;
    case FIELD_MILLENNIUM: *ret = num_make(p.year / 1000, 0); return true;
    case FIELD_EPOCH: { /* years of 365.25 days, so counted in quarters of a day */
        i128 quarters = (i128)p.year * 1461 + (i128)p.month * 4 * DAYS_PER_MONTH + (i128)p.day * 4;
        *ret = num_make(quarters * (USEC_PER_DAY / 4) + v->us, 6);
        return true;
    }
    default: return false;
    }
}

double
interval_epoch_f64(const Interval *v)
{
    double s = (double)v->us / 1000000.0;
    s += (365.25 * 86400) * (v->months / MONTHS_PER_YEAR);
    s += (30.0 * 86400) * (v->months % MONTHS_PER_YEAR);
    return s + 86400.0 * v->days;
}

bool
interval_trunc(DateField f, const Interval *v, Interval *ret)
{
    i32 years = 0;
    i64 unit = 0;
    Interval r = *v;
    switch ((int)f) {
    case FIELD_MICROSECONDS: unit = 1; break;
    case FIELD_MILLISECONDS: unit = 1000; break;
    case FIELD_SECOND: unit = USEC_PER_SECOND; break;
    case FIELD_MINUTE: unit = USEC_PER_MINUTE; break;
    case FIELD_HOUR: unit = USEC_PER_HOUR; break;
    case FIELD_DAY: break;
    case FIELD_MONTH: r.days = 0; break;
    case FIELD_QUARTER: r.days = 0; r.months = r.months / 3 * 3; break;
    case FIELD_YEAR: years = 1; break;
    case FIELD_DECADE: years = 10; break;
    case FIELD_CENTURY: years = 100; break;
    case FIELD_MILLENNIUM: years = 1000; break;
    default: return false;
    }
    r.us = unit ? r.us / unit * unit : 0;
    if (years) {
        r.days = 0;
        r.months = r.months / (MONTHS_PER_YEAR * years) * (MONTHS_PER_YEAR * years);
    }
    *ret = r;
    return true;
}

/* ---- sums and products ---- */
bool
interval_add(const Interval *a, const Interval *b, Interval *ret)
{
    return !__builtin_add_overflow(a->months, b->months, &ret->months) && !__builtin_add_overflow(a->days, b->days, &ret->days) &&
           !__builtin_add_overflow(a->us, b->us, &ret->us);
}

bool
interval_sub(const Interval *a, const Interval *b, Interval *ret)
{
    return !__builtin_sub_overflow(a->months, b->months, &ret->months) && !__builtin_sub_overflow(a->days, b->days, &ret->days) &&
           !__builtin_sub_overflow(a->us, b->us, &ret->us);
}

bool
interval_neg(const Interval *v, Interval *ret)
{
    return interval_sub(&(Interval){0}, v, ret);
}

/* A float to six decimals, so that 0.1 * 30 days is 3 days. */
static double
to_microseconds(double v)
{
    return rint(v * 1000000.0) / 1000000.0;
}

static bool
to_i32(double v, i32 *ret)
{
    if (!(v >= INT32_MIN && v <= INT32_MAX)) /* NaN too */
        return false;
    *ret = (i32)v;
    return true;
}

/* months, days and time are the exact results of one operation on each part. */
static bool
cascade(double months, double days, double us, Interval *ret)
{
    Interval r;
    i32 whole;
    if (!to_i32(months, &r.months) || !to_i32(days, &r.days))
        return false;
    double month_rest = to_microseconds((months - r.months) * DAYS_PER_MONTH);
    double second_rest = to_microseconds((days - r.days + month_rest - (int)month_rest) * 86400);
    if (fabs(second_rest) >= 86400) {
        whole = (i32)(second_rest / 86400);
        if (__builtin_add_overflow(r.days, whole, &r.days))
            return false;
        second_rest -= (double)whole * 86400;
    }
    if (__builtin_add_overflow(r.days, (i32)month_rest, &r.days))
        return false;
    double time = rint(us + second_rest * 1000000);
    if (!(time >= -0x1p63 && time < 0x1p63))
        return false;
    r.us = (i64)time;
    *ret = r;
    return true;
}

bool
interval_mul(const Interval *v, double by, Interval *ret)
{
    return cascade(v->months * by, v->days * by, (double)v->us * by, ret);
}

bool
interval_div(const Interval *v, double by, Interval *ret)
{
    return cascade(v->months / by, v->days / by, (double)v->us / by, ret);
}

/* ---- justify ---- */
bool
interval_justify_hours(const Interval *v, Interval *ret)
{
    Interval r = *v;
    if (__builtin_add_overflow(r.days, (i32)(r.us / USEC_PER_DAY), &r.days))
        return false;
    r.us %= USEC_PER_DAY;
    if (r.days > 0 && r.us < 0) {
        r.us += USEC_PER_DAY;
        r.days--;
    } else if (r.days < 0 && r.us > 0) {
        r.us -= USEC_PER_DAY;
        r.days++;
    }
    *ret = r;
    return true;
}

static bool
carry_months(Interval *r)
{
    if (__builtin_add_overflow(r->months, r->days / DAYS_PER_MONTH, &r->months))
        return false;
    r->days %= DAYS_PER_MONTH;
    return true;
}

bool
interval_justify_days(const Interval *v, Interval *ret)
{
    Interval r = *v;
    if (!carry_months(&r))
        return false;
    if (r.months > 0 && r.days < 0) {
        r.days += DAYS_PER_MONTH;
        r.months--;
    } else if (r.months < 0 && r.days > 0) {
        r.days -= DAYS_PER_MONTH;
        r.months++;
    }
    *ret = r;
    return true;
}

bool
interval_justify(const Interval *v, Interval *ret)
{
    Interval r = *v;
    bool same_sign = (r.days > 0 && r.us > 0) || (r.days < 0 && r.us < 0);
    if (same_sign && !carry_months(&r)) /* first, so that the sum of days below has room */
        return false;
    if (__builtin_add_overflow(r.days, (i32)(r.us / USEC_PER_DAY), &r.days))
        return false;
    r.us %= USEC_PER_DAY;
    if (!carry_months(&r))
        return false;
    if (r.months > 0 && (r.days < 0 || (r.days == 0 && r.us < 0))) {
        r.days += DAYS_PER_MONTH;
        r.months--;
    } else if (r.months < 0 && (r.days > 0 || (r.days == 0 && r.us > 0))) {
        r.days -= DAYS_PER_MONTH;
        r.months++;
    }
    return interval_justify_hours(&r, ret);
}

/* ---- timestamps ---- */
static i32
days_in_month(i32 year, i32 month)
{
    static const u8 DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return DAYS[month - 1] + (month == 2 && leap);
}

bool
timestamp_add_interval(i64 us, const Interval *v, i64 *ret)
{
    if (v->months) {
        CivilTime t = timestamp_to_civil(us);
        i64 month = (i64)t.year * MONTHS_PER_YEAR + (t.month - 1) + v->months;
        i64 year = month >= 0 ? month / MONTHS_PER_YEAR : -((MONTHS_PER_YEAR - 1 - month) / MONTHS_PER_YEAR);
        if (year < -10000 || year > 300000)
            return false;
        t.year = (i32)year;
        t.month = (i32)(month - year * MONTHS_PER_YEAR) + 1;
        t.day = MIN(t.day, days_in_month(t.year, t.month));
        if (!timestamp_from_civil(&t, &us))
            return false;
    }
    i128 sum = (i128)us + (i128)v->days * USEC_PER_DAY;
    if (v->days && (sum != (i64)sum || !timestamp_valid((i64)sum)))
        return false;
    sum += v->us;
    if (sum != (i64)sum || !timestamp_valid((i64)sum))
        return false;
    *ret = (i64)sum;
    return true;
}

bool
timestamp_age(i64 a, i64 b, Interval *ret)
{
    bool negative = a < b;
    CivilTime x = timestamp_to_civil(negative ? b : a), y = timestamp_to_civil(negative ? a : b);
    i64 day_us = USEC_PER_DAY;
    i64 x_us = time_of_day(negative ? b : a), y_us = time_of_day(negative ? a : b);
    i64 us = x_us - y_us;
    i32 days = x.day - y.day, months = (x.year - y.year) * MONTHS_PER_YEAR + x.month - y.month;
    if (us < 0) {
        us += day_us;
        days--;
    }
    /* The days of the month that the earlier one lies in. */
    while (days < 0) {
        days += days_in_month(y.year, y.month);
        months--;
    }
    Interval r = {us, days, months};
    return negative ? interval_neg(&r, ret) : (*ret = r, true);
}
