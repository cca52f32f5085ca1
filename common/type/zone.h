/*
 * zone.h
 *    Time zones: the system's tz database (/usr/share/zoneinfo, RFC 8536 files) and POSIX specifications ("EST5EDT", "<+02>-02").
 *
 * A Zone never changes and lives as long as the process; zone_find gives the same one for the same name, so that zones are compared by address.
 * Any thread may call. Everywhere a NULL Zone means UTC; times are microseconds since 2000-01-01, offsets seconds east of UTC.
 */
#ifndef ZONE_H
#define ZONE_H

#include "common/base/base.h"

typedef struct Zone Zone;

enum { ZONE_NAME_MAX = 255 };

/* By name, in any case. NULL: no such zone. */
const Zone *zone_find(const char *name);
/* As the tz database spells it; a POSIX specification in capitals. */
const char *zone_name(const Zone *z);
/* Does it count leap seconds or stand apart from UTC by a part of a minute? PostgreSQL does not take such a zone for a session. */
bool zone_is_odd(const Zone *z);

i32 zone_offset_s(const Zone *z, i64 utc_us);
/* "CET", "-03"; lives as long as the zone. */
const char *zone_abbreviation(const Zone *z, i64 utc_us);
/* Of a wall clock; one that a change of the clock skips counts as before it, one that comes twice as the later, as in PostgreSQL. */
i32 zone_offset_of_local_s(const Zone *z, i64 local_us);
/* Does it have one offset for all times? */
bool zone_is_fixed(const Zone *z, i32 *ret_offset_s);

static inline i64
zone_to_local(const Zone *z, i64 utc_us)
{
    return z ? utc_us + zone_offset_s(z, utc_us) * 1000000LL : utc_us;
}

/* What a text names to AT TIME ZONE: a zone, or for an abbreviation ("EST") its offset. */
typedef struct ZoneName {
    const Zone *zone; /* NULL: offset_s */
    i32 offset_s;
} ZoneName;

/* false: neither. */
bool zone_find_name(Str text, ZoneName *ret);

/* The result may be beyond PostgreSQL's range by a day. */
static inline i64
zone_to_utc(const Zone *z, i64 local_us)
{
    return z ? local_us - zone_offset_of_local_s(z, local_us) * 1000000LL : local_us;
}

static inline i64
zone_name_to_local(const ZoneName *z, i64 utc_us)
{
    return z->zone ? zone_to_local(z->zone, utc_us) : utc_us + z->offset_s * 1000000LL;
}

static inline i64
zone_name_to_utc(const ZoneName *z, i64 local_us)
{
    return z->zone ? zone_to_utc(z->zone, local_us) : local_us - z->offset_s * 1000000LL;
}

#endif
