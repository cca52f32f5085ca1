/*
 * timefield.h
 *    What functions of dates, times and intervals share: ranges, and the fields that extract() and its like are asked for.
 */
#ifndef TIMEFIELD_H
#define TIMEFIELD_H

#include "backend/kern/call.h"
#include "common/type/datetime.h"
#include "common/type/zone.h"

/* PostgreSQL's range of date: 4713-11-24 BC to 5874897-12-31. */
enum { DATE_FIRST = -2451545, DATE_LAST = 2145031948 };
/* and of timestamp: up to, not including, 294277-01-01. */
#define TS_FIRST (-211813488000000000LL)
#define TS_END 9223371331200000000LL

static inline bool
date_infinite(i32 d)
{
    return d == DATE_NEG_INF || d == DATE_POS_INF;
}

static inline bool
ts_infinite(i64 us)
{
    return us == TS_NEG_INF || us == TS_POS_INF;
}

/* The field named by the first argument; looked up once when it is a constant. */
bool time_find_field(KernCall *c, u32 i, DateField *ret);
/* Always false: the unit is not there for the type of the second argument, or (known false) no unit at all. */
bool time_unit_error(KernCall *c, Str unit, bool known);

/* The zone that text argument k names; false: 22023. */
bool time_zone_arg(KernCall *c, u32 i, u32 k, ZoneName *ret);
/* AT TIME ZONE, make_timestamptz(); NULL: another file's. */
KernRow zone_row(const FuncDef *f);
/* The timestamp of year, month, day, hour, minute, second in the first six arguments. */
bool time_of_parts(KernCall *c, u32 i, i64 *ret_us);

#endif
