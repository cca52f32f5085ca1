/*
 * guc_check.c
 *    Parameters whose values have rules of their own: encodings, date style, time zone, roles, application_name.
 */
#include "backend/guc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { OFFSET_MAX_S = 168 * 3600, NAME_MAX_BYTES = 63 };

static bool
bad_value(const char *name, const char *value, Error *err)
{
    return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": \"%s\"", name, value);
}

/* Encoding names are compared by their letters and digits only. */
static bool
check_encoding(const char *value, char *ret, Error *err)
{
    char plain[32];
    size_t n = 0;
    for (const char *p = value; *p; p++)
        if (isalnum((u8)*p) && n < sizeof plain - 1)
            plain[n++] = (char)tolower((u8)*p);
    plain[n] = 0;
    if (strcmp(plain, "utf8") != 0 && strcmp(plain, "unicode") != 0)
        return bad_value("client_encoding", value, err);
    strcpy(ret, "UTF8");
    return true;
}

/* Words between commas and blanks. Output is ISO only, and so far dates are read in the order month, day, year only. */
static bool
check_datestyle(const char *value, char *ret, Error *err)
{
    static const char *const HERE[] = {"iso", "mdy", "us", "noneuro", "noneuropean", "default"};
    static const char *const LATER[] = {"sql", "postgres", "german", "dmy", "ymd", "euro", "european"};
    for (const char *p = value; *p;) {
        size_t n = strcspn(p, ", "), i;
        for (i = 0; n && i < COUNT_OF(LATER); i++)
            if (n == strlen(LATER[i]) && strncasecmp(p, LATER[i], n) == 0)
                return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "DateStyle \"%s\" is not supported yet", value);
        for (i = 0; n && i < COUNT_OF(HERE); i++)
            if (n == strlen(HERE[i]) && strncasecmp(p, HERE[i], n) == 0)
                break;
        if (n && i == COUNT_OF(HERE)) {
            bad_value("DateStyle", value, err);
            error_detail(err, "Unrecognized key word: \"%.*s\".", (int)n, p);
            return false;
        }
        p += n + (p[n] != 0);
    }
    strcpy(ret, "ISO, MDY");
    return true;
}

/* H, HH, HHMM, HH:MM or HH:MM:SS behind a sign; -1 when it is none. */
static i32
read_clock(const char *p, const char **ret_end)
{
    char *end;
    long h = strtol(p, &end, 10), m = 0, s = 0;
    if (end == p || !isdigit((u8)*p))
        return -1;
    if (end - p == 4) {
        m = h % 100;
        h /= 100;
    } else if (*end == ':' && isdigit((u8)end[1])) {
        m = strtol(end + 1, &end, 10);
        if (*end == ':' && isdigit((u8)end[1]))
            s = strtol(end + 1, &end, 10);
    }
    *ret_end = end;
    return h > 167 || m > 59 || s > 59 ? -1 : (i32)(h * 3600 + m * 60 + s);
}

/* POSIX: a name (letters, or anything in <>), then the offset west of UTC. */
static bool
read_posix(const char *value, i32 *ret_east_s)
{
    const char *p = value, *end;
    if (*p == '<') {
        p = strchr(p, '>');
        if (!p)
            return false;
        p++;
    } else
        while (isalpha((u8)*p))
            p++;
    if (p != value && *value != '<' && p - value < 3)
        return false;
    i32 sign = *p == '-' ? 1 : -1;
    if (*p == '+' || *p == '-')
        p++;
    i32 s = read_clock(p, &end);
    if (s < 0 || *end)
        return false;
    *ret_east_s = sign * s;
    return true;
}

static bool
zone_offset(const char *value, i32 *ret_s)
{
    static const char *const ZERO[] = {"UTC", "GMT", "Etc/UTC", "Etc/GMT", "Universal", "Zulu", "UCT", "Etc/UCT", "Etc/Zulu", "Etc/Universal", "GMT0", "Greenwich",
                                       "GMT+0", "GMT-0", "Etc/Greenwich", "Etc/GMT0", "Z"};
    for (size_t i = 0; i < COUNT_OF(ZERO); i++)
        if (strcasecmp(value, ZERO[i]) == 0) {
            *ret_s = 0;
            return true;
        }
    return read_posix(strncasecmp(value, "Etc/", 4) == 0 ? value + 4 : value, ret_s);
}

i32
guc_zone_offset_s(const char *shown)
{
    i32 s = 0;
    ensure(zone_offset(shown, &s));
    return s;
}

static bool
check_zone(const char *value, char *ret, Error *err)
{
    char *end;
    i32 east;
    double hours = strtod(value, &end);
    /* A bare number means hours east; PostgreSQL shows it as the POSIX zone it makes of it. */
    if (end != value && !*end && hours > -168 && hours < 168) {
        i32 s = (i32)(hours * 3600 + (hours < 0 ? -0.5 : 0.5)), a = s < 0 ? -s : s;
        char clock[16];
        if (a % 3600)
            snprintf(clock, sizeof clock, "%02d:%02d", a / 3600, a / 60 % 60);
        else
            snprintf(clock, sizeof clock, "%02d", a / 3600);
        snprintf(ret, GUC_TEXT_MAX, "<%c%s>%c%s", s < 0 ? '-' : '+', clock, s < 0 ? '+' : '-', clock);
        return true;
    }
    if (!zone_offset(value, &east) || east > OFFSET_MAX_S || east < -OFFSET_MAX_S)
        return bad_value("TimeZone", value, err);
    snprintf(ret, GUC_TEXT_MAX, "%s", value);
    return true;
}

/* Printable ASCII only, as PostgreSQL keeps it, and at most 63 bytes. */
static bool
check_application_name(const char *value, char *ret)
{
    size_t n = 0;
    for (; value[n] && n < NAME_MAX_BYTES; n++)
        ret[n] = value[n] < 32 || value[n] > 126 ? '?' : value[n];
    ret[n] = 0;
    return true;
}

bool
guc_check_own(GucId id, const char *value, char ret[GUC_TEXT_MAX], Error *err)
{
    switch ((int)id) {
    case GUC_client_encoding: return check_encoding(value, ret, err);
    case GUC_datestyle: return check_datestyle(value, ret, err);
    case GUC_timezone: return check_zone(value, ret, err);
    case GUC_application_name: return check_application_name(value, ret);
    case GUC_role:
        if (strcasecmp(value, "none") == 0) {
            strcpy(ret, "none");
            return true;
        }
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "SET ROLE is not supported yet");
    case GUC_session_authorization:
        if (!*value) {
            *ret = 0;
            return true;
        }
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "SET SESSION AUTHORIZATION is not supported yet");
    case GUC_standard_conforming_strings:
        if (strcasecmp(value, "on") == 0 || strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcmp(value, "1") == 0) {
            strcpy(ret, "on");
            return true;
        }
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "standard_conforming_strings = off is not supported");
    default: return bad_value("parameter", value, err);
    }
}
