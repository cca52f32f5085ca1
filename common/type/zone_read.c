/*
 * zone_read.c
 *    Files of the tz database and POSIX specifications of zones, as zones.
 *
 * RFC 8536: a block with times of four bytes, and since version 2 one with times of eight bytes and a specification for the time behind the last
 * change. Everything in a file is checked: a damaged one is no zone. Changes are kept up to LAST_YEAR, so that the years people use cost one
 * binary search; behind it the specification is asked.
 */
#include "common/type/zone_inside.h"

#include "common/base/bytes.h"
#include "common/type/datetime.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZONE_FOLDER "/usr/share/zoneinfo"
#define UNIX_EPOCH_S 946684800LL /* 2000-01-01 */
enum { FILE_MAX = 1 << 20, OFFSET_MAX_S = 26 * 3600, LAST_YEAR = 2100, SEC_PER_DAY = 86400 };

/* ---- rules ---- */

/* The moment of a change in seconds of its wall clock since 2000-01-01. */
static i64
rule_second(const RuleDate *d, i32 year)
{
    i32 first = date_from_civil(year, 1, 1), day = 0;
    bool leap = date_from_civil(year + 1, 1, 1) - first == 366;
    switch (d->kind) {
    case RULE_JULIAN:
        day = first + d->day - 1 + (leap && d->day >= 60);
        break;
    case RULE_DAY_OF_YEAR:
        day = first + d->day;
        break;
    case RULE_WEEKDAY: {
        i32 month = date_from_civil(year, d->month, 1);
        i32 next = d->month == 12 ? date_from_civil(year + 1, 1, 1) : date_from_civil(year, d->month + 1, 1);
        i32 weekday = ((month + 6) % 7 + 7) % 7; /* 2000-01-01 was a Saturday */
        day = month + ((d->day - weekday) % 7 + 7) % 7 + 7 * (d->week - 1);
        while (day >= next)
            day -= 7;
        break;
    }
    }
    return (i64)day * SEC_PER_DAY + d->second;
}

static i64
microseconds(i64 seconds)
{
    return seconds > INT64_MAX / 1000000 ? INT64_MAX : seconds < INT64_MIN / 1000000 ? INT64_MIN : seconds * 1000000;
}

/* The two changes of a year; ret_begin: to summer time. */
static void
rule_changes(const ZoneRule *r, i32 year, i64 *ret_begin, i64 *ret_end)
{
    *ret_begin = microseconds(rule_second(&r->begin, year) - r->offset_s);
    *ret_end = microseconds(rule_second(&r->end, year) - r->summer_s);
}

void
zone_rule_span(const ZoneRule *r, i64 at, ZoneSpan *ret)
{
    *ret = (ZoneSpan){.from = INT64_MIN, .until = INT64_MAX, .offset_s = r->offset_s, .name = r->name.text};
    if (!r->has_summer)
        return;
    i32 year = timestamp_to_civil(at < TS_NEG_INF + 2 * USEC_PER_DAY ? at + 2 * USEC_PER_DAY : at).year;
    for (i32 y = year - 1; y <= year + 1; y++) {
        i64 begin, end;
        rule_changes(r, y, &begin, &end);
        /* when both meet, summer time goes on */
        bool to_summer = begin >= end;
        i64 when[2] = {to_summer ? end : begin, to_summer ? begin : end};
        i32 offset[2] = {to_summer ? r->offset_s : r->summer_s, to_summer ? r->summer_s : r->offset_s};
        for (u32 k = 0; k < 2; k++) {
            if (when[k] <= at) {
                ret->from = when[k];
                ret->offset_s = offset[k];
                ret->name = (k == 0) == to_summer ? r->name.text : r->summer_name.text;
            } else if (when[k] < ret->until)
                ret->until = when[k];
        }
    }
}

/* ---- specifications ---- */

static bool
read_number(const char **p, i32 least, i32 most, i32 *ret)
{
    i32 n = 0;
    if (!isdigit((u8)**p))
        return false;
    for (; isdigit((u8)**p); (*p)++)
        if ((n = n * 10 + (**p - '0')) > most)
            return false;
    *ret = n;
    return n >= least;
}

/* [+-]hh[:mm[:ss]], up to a week of hours. */
static bool
read_clock(const char **p, i32 *ret_s)
{
    i32 h, m = 0, s = 0, sign = **p == '-' ? -1 : 1;
    if (**p == '-' || **p == '+')
        (*p)++;
    if (!read_number(p, 0, 24 * 7 - 1, &h))
        return false;
    if (**p == ':') {
        (*p)++;
        if (!read_number(p, 0, 59, &m))
            return false;
        if (**p == ':') {
            (*p)++;
            if (!read_number(p, 0, 60, &s))
                return false;
        }
    }
    *ret_s = sign * (h * 3600 + m * 60 + s);
    return true;
}

/* An abbreviation; it may be empty, as in "-5:30". */
static bool
read_name(const char **p, ZoneAbbreviation *ret)
{
    const char *from = *p, *behind;
    if (**p == '<') {
        const char *end = strchr(*p, '>');
        if (!end)
            return false;
        from++;
        behind = end;
        *p = end + 1;
    } else {
        while (**p && !isdigit((u8)**p) && **p != ',' && **p != '-' && **p != '+')
            (*p)++;
        behind = *p;
    }
    snprintf(ret->text, sizeof ret->text, "%.*s", (int)MIN(behind - from, ZONE_ABBREVIATION_MAX), from);
    return true;
}

static bool
read_date(const char **p, RuleDate *ret)
{
    *ret = (RuleDate){.kind = RULE_DAY_OF_YEAR, .second = 2 * 3600};
    if (*(*p)++ != ',')
        return false;
    if (**p == 'J' || **p == 'j') {
        ret->kind = RULE_JULIAN;
        (*p)++;
        if (!read_number(p, 1, 365, &ret->day))
            return false;
    } else if (**p == 'M' || **p == 'm') {
        ret->kind = RULE_WEEKDAY;
        (*p)++;
        if (!read_number(p, 1, 12, &ret->month) || *(*p)++ != '.' || !read_number(p, 1, 5, &ret->week) || *(*p)++ != '.' ||
            !read_number(p, 0, 6, &ret->day))
            return false;
    } else if (!read_number(p, 0, 365, &ret->day))
        return false;
    if (**p != '/')
        return true;
    (*p)++;
    return read_clock(p, &ret->second);
}

bool
zone_read_posix(const char *text, ZoneRule *ret)
{
    const char *p = text;
    i32 west_s;
    memset(ret, 0, sizeof *ret);
    if (!read_name(&p, &ret->name) || !read_clock(&p, &west_s))
        return false;
    ret->offset_s = -west_s;
    ret->summer_s = ret->offset_s + 3600;
    if (!*p)
        return true;
    const char *name = p;
    ret->has_summer = true;
    if (!read_name(&p, &ret->summer_name) || p == name)
        return false;
    if (*p && *p != ',') {
        if (!read_clock(&p, &west_s))
            return false;
        ret->summer_s = -west_s;
    }
    if (!*p)
        p = ",M3.2.0,M11.1.0"; /* what PostgreSQL and the tz code assume */
    return read_date(&p, &ret->begin) && read_date(&p, &ret->end) && !*p;
}

/* ---- files ---- */

/* Appends to `path` and `name` the entry of the folder that is called `part` in any case. */
static bool
find_entry(char *path, size_t room, const char *part, size_t len)
{
    if (len == 0 || *part == '.')
        return false;
    DIR *d = opendir(path);
    if (!d)
        return false;
    bool found = false;
    for (struct dirent *e; !found && (e = readdir(d));)
        if (strlen(e->d_name) == len && strncasecmp(e->d_name, part, len) == 0) {
            size_t used = strlen(path);
            found = used + len + 2 <= room;
            if (found)
                snprintf(path + used, room - used, "/%s", e->d_name);
        }
    closedir(d);
    return found;
}

/* The file's bytes, which the caller frees; NULL: none, or not of this size. */
static u8 *
read_whole(const char *path, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return NULL;
    u8 *data = NULL;
    size_t len = 0;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= FILE_MAX)
        data = malloc((size_t)st.st_size + 1);
    for (ssize_t n = 1; data && n > 0 && len < (size_t)st.st_size; len += (size_t)MAX(n, 0))
        n = read(fd, data + len, (size_t)st.st_size - len);
    close(fd);
    if (data)
        data[len] = 0;
    *ret_len = len;
    return data;
}

enum { HEADER_LEN = 44 };

typedef struct Header {
    u64 utc, std, leaps, times, types, chars;
    u64 len; /* of the data behind it */
} Header;

static bool
read_header(const u8 *data, size_t len, u64 time_size, Header *ret)
{
    if (len < HEADER_LEN || memcmp(data, "TZif", 4) != 0)
        return false;
    ret->utc = get_be32(data + 20);
    ret->std = get_be32(data + 24);
    ret->leaps = get_be32(data + 28);
    ret->times = get_be32(data + 32);
    ret->types = get_be32(data + 36);
    ret->chars = get_be32(data + 40);
    ret->len = ret->times * (time_size + 1) + ret->types * 6 + ret->chars + ret->leaps * (time_size + 4) + ret->std + ret->utc;
    return ret->types >= 1 && ret->types <= 256 && ret->len <= len - HEADER_LEN;
}

/* Type k's offset and abbreviation, as times[at] of the zone. */
static bool
read_type(const u8 *types, const Header *h, u64 k, Zone *z, u64 at)
{
    const u8 *type = types + 6 * k, *chars = types + 6 * h->types;
    if (k >= h->types || type[5] >= h->chars || !memchr(chars + type[5], 0, h->chars - type[5]))
        return false;
    z->offsets[at] = (i32)get_be32(type);
    snprintf(z->names[at].text, sizeof z->names[at].text, "%s", (const char *)chars + type[5]);
    return z->offsets[at] <= OFFSET_MAX_S && z->offsets[at] >= -OFFSET_MAX_S;
}

static bool
read_changes(const u8 *data, const Header *h, u64 time_size, Zone *z)
{
    const u8 *index = data + h->times * time_size, *types = index + h->times;
    u32 more = z->has_rule && z->rule.has_summer ? 2 * (LAST_YEAR - 1900) : 0;
    z->changes = malloc((h->times + more + 1) * sizeof *z->changes);
    z->offsets = malloc((h->times + more + 1) * sizeof *z->offsets);
    z->names = malloc((h->times + more + 1) * sizeof *z->names);
    if (!z->changes || !z->offsets || !z->names || !read_type(types, h, 0, z, 0))
        return false;
    for (u64 k = 0; k < h->times; k++) {
        i64 at = time_size == 8 ? (i64)get_be64(data + 8 * k) : (i32)get_be32(data + 4 * k);
        at = microseconds(at < INT64_MIN + UNIX_EPOCH_S ? at : at - UNIX_EPOCH_S);
        if ((k > 0 && at < z->changes[k - 1]) || !read_type(types, h, index[k], z, k + 1))
            return false;
        z->changes[k] = at;
    }
    z->count = (u32)h->times;
    z->has_leaps = h->leaps > 0;
    return true;
}

/* The rule's changes behind the last of the file. */
static void
unroll_rule(Zone *z)
{
    i64 last = z->count ? z->changes[z->count - 1] : INT64_MIN;
    i32 year = z->count && last > microseconds(-100LL * 366 * SEC_PER_DAY) ? timestamp_to_civil(last).year : 1901;
    for (i32 y = year; z->rule.has_summer && y < LAST_YEAR; y++) {
        i64 begin, end;
        rule_changes(&z->rule, y, &begin, &end);
        for (u32 k = 0; k < 2; k++) {
            bool summer = (k == 0) == (begin < end);
            i64 at = summer ? begin : end;
            if (at <= last)
                continue;
            z->changes[z->count++] = at;
            z->offsets[z->count] = summer ? z->rule.summer_s : z->rule.offset_s;
            z->names[z->count] = summer ? z->rule.summer_name : z->rule.name;
        }
    }
}

static bool
read_zone(const u8 *data, size_t len, Zone *z)
{
    Header h;
    u64 time_size = 4;
    if (!read_header(data, len, time_size, &h))
        return false;
    if (data[4] >= '2') {
        data += HEADER_LEN + h.len;
        len -= HEADER_LEN + h.len;
        time_size = 8;
        if (!read_header(data, len, time_size, &h))
            return false;
        char spec[128];
        const char *footer = (const char *)data + HEADER_LEN + h.len, *end = *footer == '\n' ? strchr(footer + 1, '\n') : NULL;
        if (!end || end - footer > (ptrdiff_t)sizeof spec)
            return false;
        snprintf(spec, sizeof spec, "%.*s", (int)(end - footer - 1), footer + 1);
        z->has_rule = *spec != 0;
        if (z->has_rule && !zone_read_posix(spec, &z->rule))
            return false;
    }
    if (!read_changes(data + HEADER_LEN, &h, time_size, z))
        return false;
    if (z->has_rule)
        unroll_rule(z);
    return true;
}

bool
zone_read_file(const char *name, Zone *z)
{
    char path[sizeof ZONE_FOLDER + ZONE_NAME_MAX + 2] = ZONE_FOLDER;
    for (const char *part = name;;) {
        size_t n = strcspn(part, "/");
        if (!find_entry(path, sizeof path, part, n))
            return false;
        if (!part[n])
            break;
        part += n + 1;
    }
    size_t len;
    u8 *data = read_whole(path, &len);
    bool ok = data && read_zone(data, len, z);
    free(data);
    if (ok) {
        snprintf(z->name, sizeof z->name, "%.*s", ZONE_NAME_MAX, path + sizeof ZONE_FOLDER);
    } else {
        free(z->changes);
        free(z->offsets);
        free(z->names);
        memset(z, 0, sizeof *z);
    }
    return ok;
}
