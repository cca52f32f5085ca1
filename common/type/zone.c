/*
 * zone.c
 *    Looking up zones and their offsets.
 */
#include "common/type/zone_inside.h"

#include "common/type/datetime_in.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { BUCKETS = 256 };
static Zone *known[BUCKETS]; /* under lock; nothing is ever taken out */

static Zone **
bucket_of(const char *name)
{
    u32 hash = 2166136261u; /* FNV-1a of the lower-case name */
    for (; *name; name++)
        hash = (hash ^ (u8)to_lower(*name)) * 16777619u;
    return &known[(hash ^ hash >> 16) % BUCKETS];
}

static Zone *
read_zone(const char *name)
{
    Zone *z = calloc(1, sizeof *z);
    if (!z || zone_read_file(name, z))
        return z;
    for (size_t i = 0; name[i]; i++)
        z->name[i] = (char)toupper((u8)name[i]);
    if (!zone_read_posix(z->name, &z->rule)) {
        free(z);
        return NULL;
    }
    z->has_rule = true;
    return z;
}

const Zone *
zone_find(const char *name)
{
    size_t len = strlen(name);
    if (len == 0 || len > ZONE_NAME_MAX)
        return NULL;
    Zone **bucket = bucket_of(name);
    pthread_mutex_lock(&lock);
    Zone *z = *bucket;
    while (z && strcasecmp(z->name, name) != 0)
        z = z->next;
    if (!z && (z = read_zone(name))) {
        z->next = *bucket;
        *bucket = z;
    }
    pthread_mutex_unlock(&lock);
    return z;
}

bool
zone_find_name(Str text, ZoneName *ret)
{
    char lower[ZONE_NAME_MAX + 1];
    *ret = (ZoneName){0};
    if (text.len > ZONE_NAME_MAX)
        return false;
    for (u32 i = 0; i < text.len; i++)
        lower[i] = to_lower(text.ptr[i]);
    lower[text.len] = 0;
    if (dateword_find(lower, &ret->offset_s) == WORD_ZONE)
        return true;
    ret->offset_s = 0;
    ret->zone = zone_find(lower);
    return ret->zone;
}

const char *
zone_name(const Zone *z)
{
    return z ? z->name : "UTC";
}

static void
span_at(const Zone *z, i64 at, ZoneSpan *ret)
{
    u32 lo = 0, hi = z->count; /* the changes up to `at` */
    while (lo < hi) {
        u32 mid = (lo + hi) / 2;
        if (z->changes[mid] <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == z->count && z->has_rule) {
        zone_rule_span(&z->rule, at, ret);
        if (z->count)
            ret->from = MAX(ret->from, z->changes[z->count - 1]);
        return;
    }
    *ret = (ZoneSpan){.from = lo ? z->changes[lo - 1] : INT64_MIN, .until = lo < z->count ? z->changes[lo] : INT64_MAX, .offset_s = z->offsets[lo],
                       .name = z->names[lo].text};
}

i32
zone_offset_s(const Zone *z, i64 utc_us)
{
    i32 offset_s;
    ZoneSpan s;
    if (zone_is_fixed(z, &offset_s))
        return offset_s;
    span_at(z, utc_us, &s);
    return s.offset_s;
}

const char *
zone_abbreviation(const Zone *z, i64 utc_us)
{
    ZoneSpan s;
    if (!z)
        return "UTC";
    span_at(z, utc_us, &s);
    return s.name;
}

i32
zone_offset_of_local_s(const Zone *z, i64 local_us)
{
    i32 offset_s;
    ZoneSpan before, after;
    if (zone_is_fixed(z, &offset_s))
        return offset_s;
    /* PostgreSQL's way (DetermineTimeZoneOffset): from a day earlier, taking the clock for UTC, to the next change */
    span_at(z, local_us < INT64_MIN + USEC_PER_DAY ? INT64_MIN : local_us - USEC_PER_DAY, &before);
    if (before.until == INT64_MAX)
        return before.offset_s;
    span_at(z, before.until, &after);
    i64 by_before = local_us - before.offset_s * 1000000LL, by_after = local_us - after.offset_s * 1000000LL;
    if (by_before < before.until && by_after < before.until)
        return before.offset_s;
    if (by_before > before.until && by_after >= before.until)
        return after.offset_s;
    return by_before > by_after ? before.offset_s : after.offset_s;
}

bool
zone_is_fixed(const Zone *z, i32 *ret_offset_s)
{
    if (z && (z->count || (z->has_rule && z->rule.has_summer)))
        return false;
    *ret_offset_s = !z ? 0 : z->has_rule ? z->rule.offset_s : z->offsets[0];
    return true;
}

bool
zone_is_odd(const Zone *z)
{
    return z && (z->has_leaps || zone_offset_s(z, 0) % 60 != 0);
}
