/*
 * datetime.h
 *    Dates and timestamps: proleptic Gregorian calendar, days and microseconds since 2000-01-01, as PostgreSQL.
 */
#ifndef DATETIME_H
#define DATETIME_H

#include "common/type/type.h"

#define DATE_NEG_INF INT32_MIN
#define DATE_POS_INF INT32_MAX
#define TS_NEG_INF INT64_MIN
#define TS_POS_INF INT64_MAX
#define USEC_PER_DAY 86400000000LL

typedef struct CivilDate { i32 year, month, day; } CivilDate;
typedef struct CivilTime { i32 year, month, day, hour, minute, second, usec; } CivilTime;

i32 date_from_civil(i32 year, i32 month, i32 day); /* must be valid */
CivilDate date_to_civil(i32 days);
CivilTime timestamp_to_civil(i64 us);
/* false when outside PostgreSQL's range (4713 BC … 294276 AD). */
bool timestamp_from_civil(const CivilTime *t, i64 *ret_us);

/* Times of day: microseconds since midnight, 24:00:00 included. */
enum {
    ZONE_LIMIT_S = 16 * 3600,      /* offsets in texts and messages are below this, east or west */
    ZONE_SPEC_LIMIT_S = 168 * 3600 /* those of POSIX specifications, and so of all times */
};
bool time_valid(i64 us);
bool timetz_valid(const Pair *p);
Pair timetz_pack(i64 time_us, i32 offset_s); /* seconds east of UTC */
i64 timetz_unpack(const Pair *p, i32 *ret_offset_s);
i64 time_of_day(i64 local_us); /* of a finite timestamp */

typedef enum DateField {
    FIELD_MICROSECONDS, FIELD_MILLISECONDS, FIELD_SECOND, FIELD_MINUTE, FIELD_HOUR, FIELD_DAY, FIELD_WEEK, FIELD_MONTH,
    FIELD_QUARTER, FIELD_YEAR, FIELD_DECADE, FIELD_CENTURY, FIELD_MILLENNIUM, FIELD_DOW, FIELD_ISODOW, FIELD_DOY,
    FIELD_ISOYEAR, FIELD_JULIAN, FIELD_EPOCH, FIELD_TIMEZONE, FIELD_TIMEZONE_HOUR, FIELD_TIMEZONE_MINUTE, FIELD_COUNT
} DateField;
/* Names and abbreviations as PostgreSQL ("day", "days", "d", …), any case. false when unknown. */
bool datefield_from_name(Str name, DateField *ret);
/* date_trunc on finite or infinite timestamps; false: the field is not supported (22023)
 * (or the result lies before 4714-11-24 BC). For timestamptz the caller passes local time. */
bool timestamp_trunc(DateField f, i64 us, i64 *ret);
/* extract(): numeric with PostgreSQL's scale. false: not supported for this type. has_time false for dates. us is the stored value
 * (UTC for timestamptz); fields are those of us + tz_offset_s, which is 0 for types without a zone (whose
 * FIELD_TIMEZONE* the caller refuses). Of an infinity, fields that repeat are NULL in SQL: then ret->kind is NUM_NAN, which
 * is not used otherwise. */
bool timestamp_extract(DateField f, i64 us, bool has_time, i32 tz_offset_s, Num *ret);

/* extract() of a time of day; false: no such field. */
bool time_extract(DateField f, i64 us, Num *ret);
bool timetz_extract(DateField f, const Pair *p, Num *ret);

#endif
