/*
 * zone_inside.h
 *    What zone.c (looking up) and zone_read.c (reading files and specifications) share. Inside this room.
 */
#ifndef ZONE_INSIDE_H
#define ZONE_INSIDE_H

#include "common/type/zone.h"

/* "CEST"; terminated, cut if longer. */
enum { ZONE_ABBREVIATION_MAX = 31 };
typedef struct ZoneAbbreviation {
    char text[ZONE_ABBREVIATION_MAX + 1];
} ZoneAbbreviation;

typedef enum RuleDay { RULE_JULIAN, RULE_DAY_OF_YEAR, RULE_WEEKDAY } RuleDay;

/* When the clock changes in a year: "J60", "59", "M3.5.0", each with a time "/2". */
typedef struct RuleDate {
    RuleDay kind;
    i32 day;          /* J: 1 … 365, never 29 February; else 0 … 365; of the week: 0 is Sunday */
    i32 month, week;  /* week 5: the last one */
    i32 second;       /* of the wall clock before the change; may be beyond the day */
} RuleDate;

/* What holds behind the last known change, and all there is of a POSIX specification. */
typedef struct ZoneRule {
    bool has_summer;
    i32 offset_s, summer_s; /* east of UTC */
    ZoneAbbreviation name, summer_name;
    RuleDate begin, end;    /* of summer time */
} ZoneRule;

struct Zone {
    char name[ZONE_NAME_MAX + 1];
    bool has_leaps;
    bool has_rule;
    ZoneRule rule;
    /* changes[k] begins what offsets[k + 1] and names[k + 1] say; the first of those hold before all changes */
    u32 count;
    i64 *changes;
    i32 *offsets;
    ZoneAbbreviation *names;
    struct Zone *next;
};

/* Offsets are stretches of time: what holds at `at`, since and until when. */
typedef struct ZoneSpan {
    i64 from, until; /* INT64_MIN, INT64_MAX: without end */
    i32 offset_s;
    const char *name;
} ZoneSpan;

void zone_rule_span(const ZoneRule *r, i64 at, ZoneSpan *ret);

/* Whole text; false: no specification. */
bool zone_read_posix(const char *text, ZoneRule *ret);
/* The file of a zone of the tz database, found without regard to case; *z holds nothing yet. false: there is none, it is damaged, or no memory. */
bool zone_read_file(const char *name, Zone *z);

#endif
