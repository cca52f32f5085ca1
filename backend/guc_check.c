/*
 * guc_check.c
 *    Parameters whose values have rules of their own: encodings, date style, time zone, roles, application_name.
 */
#include "backend/guc.h"
#include "common/type/encoding.h"
#include "common/type/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { OFFSET_MAX_S = 168 * 3600 - 1 };

static bool
bad_value(const char *name, const char *value, Error *err)
{
    return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": \"%s\"", name, value);
}

static bool
check_encoding(const char *value, char *ret, Error *err)
{
    Encoding e = encoding_find(str_of(value));
    if (e == ENCODING_OTHER)
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "client_encoding \"%s\" is not supported yet", value);
    if (e == ENCODING_UNKNOWN)
        return bad_value("client_encoding", value, err);
    /* PostgreSQL keeps this one spelling, for old drivers that ask for it and compare. */
    strcpy(ret, strcmp(value, "UNICODE") == 0 ? value : "UTF8");
    return true;
}

/* ---- DateStyle: a style and an order, of which a value may give one ---- */

static const char *const STYLES[] = {[DATE_STYLE_ISO] = "ISO", [DATE_STYLE_SQL] = "SQL", [DATE_STYLE_POSTGRES] = "Postgres", [DATE_STYLE_GERMAN] = "German"};
static const char *const ORDERS[] = {[DATE_ORDER_MDY] = "MDY", [DATE_ORDER_DMY] = "DMY", [DATE_ORDER_YMD] = "YMD"};

static int
find_word(const char *const *words, size_t count, const char *p, size_t n)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == n && strncasecmp(p, words[i], n) == 0)
            return (int)i;
    return -1;
}

void
guc_date_style(const char *shown, u8 *ret_style, u8 *ret_order)
{
    const char *comma = strchr(shown, ',');
    int style = find_word(STYLES, COUNT_OF(STYLES), shown, comma ? (size_t)(comma - shown) : 0);
    int order = comma ? find_word(ORDERS, COUNT_OF(ORDERS), comma + 2, strlen(comma + 2)) : -1;
    ensure(style >= 0 && order >= 0);
    *ret_style = (u8)style;
    *ret_order = (u8)order;
}

static int
find_style(const char *p, size_t n)
{
    return n >= 8 && strncasecmp(p, "postgres", 8) == 0 ? DATE_STYLE_POSTGRES : find_word(STYLES, COUNT_OF(STYLES), p, n);
}

static int
find_order(const char *p, size_t n)
{
    if (n >= 4 && strncasecmp(p, "euro", 4) == 0)
        return DATE_ORDER_DMY;
    if ((n == 2 && strncasecmp(p, "us", 2) == 0) || (n >= 7 && strncasecmp(p, "noneuro", 7) == 0))
        return DATE_ORDER_MDY;
    return find_word(ORDERS, COUNT_OF(ORDERS), p, n);
}

/* Takes `found`, unless another one was given before. */
static bool
take(int found, int *given, bool *conflict)
{
    if (found < 0)
        return false;
    *conflict |= *given >= 0 && *given != found;
    *given = found;
    return true;
}

static bool
check_datestyle(const char *value, const char *now, const char *reset, char *ret, Error *err)
{
    int style = -1, order = -1;
    bool conflict = false;
    u8 old_style, old_order;
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, ", ");
        bool is_default = n == 7 && strncasecmp(p, "default", n) == 0;
        if (is_default) { /* what nothing else says */
            guc_date_style(reset, &old_style, &old_order);
            style = style < 0 ? old_style : style;
            order = order < 0 ? old_order : order;
        } else if (n && !take(find_style(p, n), &style, &conflict) && !take(find_order(p, n), &order, &conflict)) {
            bad_value("DateStyle", value, err);
            error_detail(err, "Unrecognized key word: \"%.*s\".", (int)n, p);
            return false;
        }
        p += n + (p[n] != 0);
    }
    if (conflict) {
        bad_value("DateStyle", value, err);
        error_detail(err, "Conflicting \"datestyle\" specifications.");
        return false;
    }
    guc_date_style(now, &old_style, &old_order);
    if (style == DATE_STYLE_GERMAN && order < 0)
        order = DATE_ORDER_DMY;
    snprintf(ret, GUC_TEXT_MAX, "%s, %s", STYLES[style < 0 ? old_style : style], ORDERS[order < 0 ? old_order : order]);
    return true;
}

const Zone *
guc_zone(const char *shown)
{
    return strcmp(shown, "UTC") == 0 ? NULL : zone_find(shown);
}

/* The POSIX zone that PostgreSQL makes of an offset, and shows. */
static bool
show_offset(i64 s, char *ret)
{
    i64 a = s < 0 ? -s : s;
    char clock[16];
    size_t n = (size_t)snprintf(clock, sizeof clock, "%02d", (int)(a / 3600));
    if (a % 3600)
        n += (size_t)snprintf(clock + n, sizeof clock - n, ":%02d", (int)(a / 60 % 60));
    if (a % 60)
        snprintf(clock + n, sizeof clock - n, ":%02d", (int)(a % 60));
    snprintf(ret, GUC_TEXT_MAX, "<%c%s>%c%s", s < 0 ? '-' : '+', clock, s < 0 ? '+' : '-', clock);
    return true;
}

static bool
bad_zone(const char *value, const char *why, Error *err)
{
    bad_value("TimeZone", value, err);
    if (why)
        error_detail(err, "%s", why);
    return false;
}

/* INTERVAL '-08:00', as SET TIME ZONE INTERVAL has it. */
static bool
check_zone_interval(const char *value, char *ret, Error *err)
{
    const char *begin = strchr(value, '\''), *end = begin ? strrchr(begin + 1, '\'') : NULL;
    Value v;
    if (!end || end[1] || !value_in(NULL, NULL, TYPE_INTERVAL, -1, (Str){begin + 1, (u32)(end - begin - 1)}, &v, NULL))
        return bad_zone(value, NULL, err);
    if (v.interval.months)
        return bad_zone(value, "Cannot specify months in time zone interval.", err);
    if (v.interval.days)
        return bad_zone(value, "Cannot specify days in time zone interval.", err);
    i64 s = v.interval.us / 1000000;
    if (s > OFFSET_MAX_S || s < -OFFSET_MAX_S)
        return bad_zone(value, "UTC timezone offset is out of range.", err);
    return show_offset(s, ret);
}

static bool
check_zone(const char *value, char *ret, Error *err)
{
    char *end;
    double hours = strtod(value, &end);
    if (strncasecmp(value, "interval", 8) == 0)
        return check_zone_interval(value, ret, err);
    if (end != value && !*end) { /* hours east */
        if (!(hours * 3600 <= OFFSET_MAX_S && hours * 3600 >= -OFFSET_MAX_S))
            return bad_zone(value, "UTC timezone offset is out of range.", err);
        return show_offset((i64)(hours * 3600), ret);
    }
    /* UTC is there without a tz database */
    const Zone *z = strcasecmp(value, "UTC") == 0 ? NULL : zone_find(value);
    if (!z && strcasecmp(value, "UTC") != 0)
        return bad_value("TimeZone", value, err);
    if (zone_is_odd(z)) {
        error_set(err, ERR_INVALID_PARAMETER_VALUE, "time zone \"%s\" appears to use leap seconds", value);
        error_detail(err, "PostgreSQL does not support leap seconds.");
        return false;
    }
    snprintf(ret, GUC_TEXT_MAX, "%s", zone_name(z));
    return true;
}

/* Printable ASCII only, as PostgreSQL keeps it, and at most 63 bytes. */
static bool
check_application_name(const char *value, char *ret)
{
    u32 n = utf8_clip(str_of(value), TYPE_NAME_MAX_BYTES);
    for (u32 i = 0; i < n; i++)
        ret[i] = value[i] < 32 || value[i] > 126 ? '?' : value[i];
    ret[n] = 0;
    return true;
}

bool
guc_check_own(GucId id, const char *value, const char *now, const char *reset, char ret[GUC_TEXT_MAX], Error *err)
{
    switch ((int)id) {
    case GUC_client_encoding: return check_encoding(value, ret, err);
    case GUC_datestyle: return check_datestyle(value, now, reset, ret, err);
    case GUC_timezone: return check_zone(value, ret, err);
    case GUC_application_name: return check_application_name(value, ret);
    case GUC_role: /* that there is such a role, and who may be it, is acting.c's business */
    case GUC_session_authorization:
        strcpy(ret, id == GUC_role && strcasecmp(value, "none") == 0 ? "none" : value);
        return true;
    case GUC_standard_conforming_strings:
        if (strcasecmp(value, "on") == 0 || strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcmp(value, "1") == 0) {
            strcpy(ret, "on");
            return true;
        }
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "standard_conforming_strings = off is not supported");
    default: return bad_value("parameter", value, err);
    }
}
