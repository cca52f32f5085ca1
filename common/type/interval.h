/*
 * interval.h
 *    Intervals: months, days and microseconds side by side, as PostgreSQL keeps them.
 *
 * Two intervals are equal when they are as long at 30 days a month and 24 hours a day ('1 month' = '30 days'): their bits may differ, so
 * everything that compares, hashes or looks for the least goes through the span. What overflows is 22008 "interval out of range".
 */
#ifndef INTERVAL_H
#define INTERVAL_H

#include "common/type/datetime.h"

enum { MONTHS_PER_YEAR = 12, DAYS_PER_MONTH = 30 };
#define USEC_PER_HOUR 3600000000LL
#define USEC_PER_MINUTE 60000000LL
#define USEC_PER_SECOND 1000000LL

/* Bits of a typmod's range, as in PostgreSQL. */
enum {
    INTERVAL_MONTH = 1 << 1, INTERVAL_YEAR = 1 << 2, INTERVAL_DAY = 1 << 3, INTERVAL_HOUR = 1 << 10, INTERVAL_MINUTE = 1 << 11,
    INTERVAL_SECOND = 1 << 12, INTERVAL_FULL_RANGE = 0x7fff, INTERVAL_FULL_PRECISION = 0xffff
};
static inline i32 interval_typmod(i32 range, i32 precision) { return (i32)((u32)range << 16 | (u32)precision); }
static inline i32 interval_range(i32 typmod) { return typmod < 0 ? INTERVAL_FULL_RANGE : typmod >> 16 & 0x7fff; }
static inline i32 interval_precision(i32 typmod) { return typmod < 0 ? INTERVAL_FULL_PRECISION : typmod & 0xffff; }
/* " day to second(3)" behind "interval"; NULL: no such range. */
const char *interval_range_name(i32 range);
bool interval_typmod_valid(i32 typmod);
/* Cut to the range and rounded to the precision. */
Interval interval_fit(const Interval *v, i32 typmod);

/* Fields, each with the sign of its part. */
typedef struct IntervalParts {
    i32 year, month, day, minute, second, usec;
    i64 hour;
} IntervalParts;
IntervalParts interval_parts(const Interval *v);

/* false: out of range. */
bool interval_add(const Interval *a, const Interval *b, Interval *ret);
bool interval_sub(const Interval *a, const Interval *b, Interval *ret);
bool interval_neg(const Interval *v, Interval *ret);
bool interval_mul(const Interval *v, double by, Interval *ret);
bool interval_div(const Interval *v, double by, Interval *ret); /* by is not 0 */
bool interval_justify_hours(const Interval *v, Interval *ret);
bool interval_justify_days(const Interval *v, Interval *ret);
bool interval_justify(const Interval *v, Interval *ret);
/* Calendar months, days, then time. A finite timestamp, local time for timestamptz but for what is added last; false: out of range. */
bool timestamp_add_interval(i64 us, const Interval *v, i64 *ret);
/* Years to microseconds between two finite timestamps. */
bool timestamp_age(i64 a, i64 b, Interval *ret);

/* extract() and date_trunc(); false: no such field of intervals. */
bool interval_extract(DateField f, const Interval *v, Num *ret);
double interval_epoch_f64(const Interval *v); /* date_part() adds in floats */
bool interval_trunc(DateField f, const Interval *v, Interval *ret);

#endif
