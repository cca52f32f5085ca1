/*
 * format_read.c
 *    to_date() and to_timestamp() by a format.
 *
 * First the text is read along the format into fields (read_fields), then the fields make a day and a time (make_day, make_clock). Without FX spaces
 * are skipped freely, and separators of format and text need not be the same; skipped_more counts what was skipped beyond the format, and is
 * taken back where the format has something to skip.
 */
#include "backend/kern/format.h"
#include "backend/kern/timefield.h"

#include <limits.h>
#include <stdio.h>

typedef struct Reader {
    const char *s, *at, *end;
    const FormatNode *node, *nodes_end;
    Error *err;
    bool fixed; /* FX */
    i32 skipped_more;
    FormatCalendar calendar;
    bool pm, bc, clock_12;
    i32 hour, minute, second, second_of_day, millisecond, microsecond, fraction_digits;
    i32 year, year_digits, century, month, day, week, week_of_month, day_of_year, weekday /* 1: Sunday */, julian;
    i32 zone_sign, zone_hour, zone_minute;
} Reader;

/* What fields come to. */
typedef struct Made {
    i64 year, month, day;
    i64 hour, minute, second, usec;
} Made;

/* ---- errors ---- */
static bool
bad_format(Reader *r, const char *message)
{
    return error_set(r->err, ERR_INVALID_DATETIME_FORMAT, "%s", message);
}

static bool
bad_value(Reader *r, Str value, const char *detail)
{
    error_set(r->err, ERR_INVALID_DATETIME_FORMAT, "invalid value \"%.*s\" for \"%.*s\"", (int)value.len, value.ptr, (int)r->node->text.len,
              r->node->text.ptr);
    error_detail(r->err, "%s", detail);
    return false;
}

static bool
value_range(Reader *r)
{
    error_set(r->err, ERR_DATETIME_OVERFLOW, "value for \"%.*s\" in source string is out of range", (int)r->node->text.len, r->node->text.ptr);
    error_detail(r->err, "Value must be in the range %d to %d.", INT_MIN, INT_MAX);
    return false;
}

static bool
field_range(Reader *r)
{
    return error_set(r->err, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"", (int)(r->end - r->s), r->s);
}

/* ---- small steps ---- */
static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static i32
skip_spaces(Reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && format_is_space(*r->at))
        r->at++;
    return (i32)(r->at - from);
}

static void
skip_char(Reader *r)
{
    if (r->at < r->end)
        r->at += format_char_bytes(r->at, r->end);
}

/* Every field may be told twice, but not differently; 0 is as good as not told. */
static bool
learn(Reader *r, i32 *field, i32 value)
{
    if (*field != 0 && *field != value) {
        error_set(r->err, ERR_INVALID_DATETIME_FORMAT, "conflicting values for \"%.*s\" field in formatting string", (int)r->node->text.len,
                  r->node->text.ptr);
        error_detail(r->err, "This value contradicts a previous setting for the same field type.");
        return false;
    }
    *field = value;
    return true;
}

/* As strtol: spaces, a sign, digits. The end, or `at` when there is no number; beyond 64 bits it sticks there. */
static const char *
read_digits(const char *at, const char *end, i64 *ret)
{
    const char *p = at;
    while (p < end && format_is_space(*p))
        p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    const char *first = p;
    i64 v = 0;
    for (; p < end && is_digit(*p); p++)
        v = v > INT_MAX ? v : v * 10 + (*p - '0');
    *ret = p == first ? 0 : negative ? -v : v;
    return p == first ? at : p;
}

/* Is what comes behind this pattern in the format no digit? Then its number may be of any length. */
static bool
ends_by_itself(const Reader *r)
{
    const FormatNode *next = r->node + 1;
    if (r->node->modifiers & FORMAT_TH || next == r->nodes_end)
        return true;
    return next->kind == NODE_PATTERN ? !next->digits : !is_digit(next->text.ptr[0]);
}

/* A number of up to, or where the format goes on with digits exactly, `len` characters. field NULL: read and forgotten. ret_len NULL: not asked for. */
static bool
read_number(Reader *r, u32 len, i32 *field, i32 *ret_len)
{
    const char *first = r->at;
    i64 v;
    skip_spaces(r);
    u32 left = (u32)(r->end - r->at);
    Str copy = {r->at, MIN(left, len)};
    if (r->node->modifiers & FORMAT_FM || ends_by_itself(r)) {
        const char *end = read_digits(r->at, r->end, &v);
        r->at = end == r->at ? first : end;
    } else {
        if (left < len) {
            error_set(r->err, ERR_INVALID_DATETIME_FORMAT, "source string too short for \"%.*s\" formatting field", (int)r->node->text.len,
                      r->node->text.ptr);
            error_detail(r->err, "Field requires %u characters, but only %u remain.", len, left);
            error_hint(r->err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
            return false;
        }
        u32 used = (u32)(read_digits(copy.ptr, copy.ptr + len, &v) - copy.ptr);
        if (used > 0 && used < len) {
            bad_value(r, copy, "");
            error_detail(r->err, "Field requires %u characters, but only %u could be parsed.", len, used);
            error_hint(r->err, "If your source string is not fixed-width, try using the \"FM\" modifier.");
            return false;
        }
        r->at += used;
    }
    if (r->at == first)
        return bad_value(r, copy, "Value must be an integer.");
    if (v < INT_MIN || v > INT_MAX)
        return value_range(r);
    if (ret_len)
        *ret_len = (i32)(r->at - first);
    return !field || learn(r, field, (i32)v);
}

/* Behind a number: the two letters of TH. */
static bool
skip_ordinal(Reader *r)
{
    if (r->node->modifiers & FORMAT_TH) {
        skip_char(r);
        skip_char(r);
    }
    return true;
}

static bool
read_plain(Reader *r, i32 *field)
{
    return read_number(r, r->node->text.len, field, NULL) && skip_ordinal(r);
}

static bool
starts_with_word(Reader *r, const char *word, size_t len)
{
    if ((size_t)(r->end - r->at) < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char a = r->at[i], b = word[i];
        if ((a >= 'A' && a <= 'Z' ? a + 32 : a) != (b >= 'A' && b <= 'Z' ? b + 32 : b))
            return false;
    }
    return true;
}

/* The place of the first word that the text goes on with; len 0: all of a word counts. */
static bool
read_word(Reader *r, const char *const *words, u32 count, size_t len, bool backwards, i32 *ret)
{
    for (u32 k = 0; k < count; k++) {
        u32 w = backwards ? count - 1 - k : k;
        size_t n = len ? len : strlen(words[w]);
        if (starts_with_word(r, words[w], n)) {
            r->at += n;
            *ret = (i32)w;
            return true;
        }
    }
    const char *p = r->at;
    while (p < r->end && !(*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r' || *p == '\f'))
        p++;
    return bad_value(r, (Str){r->at, (u32)(p - r->at)}, "The given value did not match any of the allowed values for this field.");
}

static bool
read_flag(Reader *r, const char *no, const char *yes, bool *flag)
{
    const char *const words[] = {no, yes};
    i32 found = 0, before = *flag;
    if (!read_word(r, words, 2, 0, false, &found) || !learn(r, &before, found))
        return false;
    *flag = found;
    return true;
}

/* ---- fields that are not just a number ---- */

/* "2,024" */
static bool
read_year_comma(Reader *r)
{
    i64 thousands, rest;
    const char *p = read_digits(r->at, r->end, &thousands);
    const char *q = p;
    if (p > r->at && p < r->end && *p == ',') {
        const char *from = ++p;
        while (from < r->end && format_is_space(*from))
            from++;
        q = read_digits(from, from + MIN(3, r->end - from), &rest);
        if (q == from)
            q = p;
    }
    if (p == q)
        return bad_format(r, "invalid input string for \"Y,YYY\"");
    i64 year = thousands * 1000 + rest;
    if (year < INT_MIN || year > INT_MAX)
        return value_range(r);
    r->at = q;
    r->year_digits = 4;
    return learn(r, &r->year, (i32)year) && skip_ordinal(r);
}

/* Years of less than four digits are those near 2020. */
static i32
complete_year(i32 year)
{
    return year < 70 ? year + 2000 : year < 100 ? year + 1900 : year < 520 ? year + 2000 : year < 1000 ? year + 1000 : year;
}

static bool
read_year(Reader *r, i32 digits)
{
    i32 len;
    if (!read_number(r, (u32)digits, &r->year, &len))
        return false;
    if (digits < 4 && len < 4)
        r->year = complete_year(r->year);
    r->year_digits = digits;
    return skip_ordinal(r);
}

static bool
read_millisecond(Reader *r)
{
    i32 len;
    if (!read_number(r, 3, &r->millisecond, &len))
        return false;
    r->millisecond *= len == 1 ? 100 : len == 2 ? 10 : 1;
    return skip_ordinal(r);
}

static bool
read_microsecond(Reader *r, i32 digits)
{
    static const i32 UNIT[] = {1, 100000, 10000, 1000, 100, 10};
    i32 len;
    if (!read_number(r, (u32)digits, &r->microsecond, &len))
        return false;
    if (len < (i32)COUNT_OF(UNIT))
        r->microsecond *= UNIT[len];
    return skip_ordinal(r);
}

/* The sign may have been skipped as a separator. */
static bool
read_zone_hour(Reader *r)
{
    if (r->at < r->end && (*r->at == '+' || *r->at == '-' || *r->at == ' '))
        r->zone_sign = *r->at++ == '-' ? -1 : 1;
    else
        r->zone_sign = r->skipped_more > 0 && r->at[-1] == '-' ? -1 : 1;
    return read_number(r, 2, &r->zone_hour, NULL);
}

static bool
read_iso_weekday(Reader *r)
{
    if (!read_number(r, 1, &r->weekday, NULL))
        return false;
    r->weekday = r->weekday >= 7 ? 1 : r->weekday + 1; /* 1 is Sunday */
    return skip_ordinal(r);
}

static bool
read_field(Reader *r)
{
    i32 found = 0;
    switch ((int)r->node->pattern) {
    case TP_FIXED:
        r->fixed = true;
        return true;
    case TP_HALF_DAY: case TP_HALF_DAY_DOTS:
        r->clock_12 = true;
        return r->node->pattern == TP_HALF_DAY ? read_flag(r, "am", "pm", &r->pm) : read_flag(r, "a.m.", "p.m.", &r->pm);
    case TP_HOUR_12:
        r->clock_12 = true;
        return read_number(r, 2, &r->hour, NULL) && skip_ordinal(r);
    case TP_HOUR_24: return read_number(r, 2, &r->hour, NULL) && skip_ordinal(r);
    case TP_MINUTE: return read_plain(r, &r->minute);
    case TP_SECOND: return read_plain(r, &r->second);
    case TP_SECOND_OF_DAY: return read_plain(r, &r->second_of_day);
    case TP_MILLISECOND: return read_millisecond(r);
    case TP_MICROSECOND: return read_microsecond(r, 6);
    case TP_FRACTION_1: case TP_FRACTION_2: case TP_FRACTION_3: case TP_FRACTION_4: case TP_FRACTION_5: case TP_FRACTION_6:
        r->fraction_digits = r->node->pattern - TP_FRACTION_1 + 1;
        return read_microsecond(r, r->fraction_digits);
    case TP_ZONE: case TP_OFFSET:
        return error_set(r->err, ERR_FEATURE_NOT_SUPPORTED, "formatting field \"%.*s\" is only supported in to_char", (int)r->node->text.len,
                         r->node->text.ptr);
    case TP_ZONE_HOUR: return read_zone_hour(r);
    case TP_ZONE_MINUTE:
        r->zone_sign = r->zone_sign ? r->zone_sign : 1;
        return read_number(r, 2, &r->zone_minute, NULL);
    case TP_ERA: return read_flag(r, "ad", "bc", &r->bc);
    case TP_ERA_DOTS: return read_flag(r, "a.d.", "b.c.", &r->bc);
    case TP_MONTH_NAME: return read_word(r, FORMAT_MONTHS, 12, 0, false, &found) && learn(r, &r->month, found + 1);
    case TP_MONTH_SHORT: return read_word(r, FORMAT_MONTHS, 12, 3, false, &found) && learn(r, &r->month, found + 1);
    case TP_MONTH_ROMAN: return read_word(r, FORMAT_ROMAN_MONTHS, 12, 0, true, &found) && learn(r, &r->month, found + 1);
    case TP_MONTH: return read_plain(r, &r->month);
    case TP_DAY_NAME: case TP_DAY_SHORT:
        if (!read_word(r, FORMAT_DAYS, 7, r->node->pattern == TP_DAY_SHORT ? 3 : 0, false, &found) || !learn(r, &r->weekday, found))
            return false;
        r->weekday++;
        return true;
    case TP_DAY: return read_plain(r, &r->day);
    case TP_DAY_OF_YEAR: return read_plain(r, &r->day_of_year);
    case TP_ISO_DAY_OF_YEAR: return read_number(r, 3, &r->day_of_year, NULL) && skip_ordinal(r);
    case TP_WEEKDAY: return read_plain(r, &r->weekday);
    case TP_ISO_WEEKDAY: return read_iso_weekday(r);
    case TP_WEEK: case TP_ISO_WEEK: return read_plain(r, &r->week);
    case TP_WEEK_OF_MONTH: return read_plain(r, &r->week_of_month);
    case TP_QUARTER: return read_plain(r, NULL); /* no day of it is meant */
    case TP_CENTURY: return read_plain(r, &r->century);
    case TP_YEAR_COMMA: return read_year_comma(r);
    case TP_YEAR_4: case TP_YEAR_3: case TP_YEAR_2: case TP_YEAR_1: return read_year(r, 4 - (r->node->pattern - TP_YEAR_4));
    case TP_ISO_YEAR_4: case TP_ISO_YEAR_3: case TP_ISO_YEAR_2: case TP_ISO_YEAR_1:
        return read_year(r, 4 - (r->node->pattern - TP_ISO_YEAR_4));
    case TP_JULIAN: return read_plain(r, &r->julian);
    default: return true;
    }
}

/* ---- the walk along the format ---- */
static void
pass_literal(Reader *r)
{
    bool gap = r->node->kind != NODE_CHAR;
    if (r->fixed) {
        skip_char(r);
    } else if (gap) {
        r->skipped_more--;
        if (r->at < r->end && (format_is_space(*r->at) || format_is_separator(*r->at))) {
            r->at++;
            r->skipped_more++;
        }
    } else if (r->skipped_more > 0) {
        r->skipped_more--;
    } else {
        skip_char(r);
    }
}

static bool
check_calendar(Reader *r)
{
    FormatCalendar calendar = (FormatCalendar)r->node->calendar;
    if (calendar == CALENDAR_ANY || r->calendar == CALENDAR_ANY || calendar == r->calendar) {
        r->calendar = calendar == CALENDAR_ANY ? r->calendar : calendar;
        return true;
    }
    bad_format(r, "invalid combination of date conventions");
    error_hint(r->err, "Do not mix Gregorian and ISO week date conventions in a formatting template.");
    return false;
}

static bool
read_fields(Reader *r, const Format *f)
{
    r->nodes_end = f->nodes + f->count;
    for (r->node = f->nodes; r->node < r->nodes_end && r->at < r->end; r->node++) {
        bool pattern = r->node->kind == NODE_PATTERN, fx = pattern && r->node->pattern == TP_FIXED;
        if (!r->fixed && !fx && (pattern || r->node == f->nodes))
            r->skipped_more += skip_spaces(r);
        if (!pattern) {
            pass_literal(r);
            continue;
        }
        if (!check_calendar(r) || !read_field(r))
            return false;
        if (!r->fixed)
            r->skipped_more = skip_spaces(r);
    }
    return true;
}

/* ---- from fields to a time ---- */
static bool
make_clock(Reader *r, Made *m)
{
    m->hour = r->second_of_day / 3600;
    m->minute = r->second_of_day % 3600 / 60;
    m->second = r->second_of_day % 60;
    if (r->second)
        m->second = r->second;
    if (r->minute)
        m->minute = r->minute;
    if (r->hour)
        m->hour = r->hour;
    if (r->clock_12) {
        if (m->hour < 1 || m->hour > 12) {
            error_set(r->err, ERR_INVALID_DATETIME_FORMAT, "hour \"%lld\" is invalid for the 12-hour clock", (long long)m->hour);
            error_hint(r->err, "Use the 24-hour clock, or give an hour between 1 and 12.");
            return false;
        }
        m->hour = m->hour % 12 + (r->pm ? 12 : 0);
    }
    m->usec = (i64)r->millisecond * 1000 + r->microsecond;
    return true;
}

/* The year in the century that is given beside it, and its first one alone; else the year. false: none is given. */
static bool
make_year(const Reader *r, i64 *ret)
{
    i64 century = r->bc ? -(i64)r->century : r->century, year = r->year;
    if (!year && !century)
        return false;
    if (!year) {
        *ret = century >= 0 ? (century - 1) * 100 + 1 : century * 100 + 1;
    } else if (century && r->year_digits <= 2) {
        year %= 100;
        if (!year)
            *ret = century * 100 + (century >= 0 ? 0 : 1);
        else
            *ret = century >= 0 ? year + (century - 1) * 100 : (century + 1) * 100 - year + 1;
    } else {
        year = r->bc ? -year : year;
        *ret = year < 0 ? year + 1 : year;
    }
    return true;
}

static bool
is_leap(i64 year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static const i32 DAYS_BEFORE[2][14] = {{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365, 365},
                                       {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366, 366}};

/* false: beyond what days are counted with. */
static bool
set_julian(Made *m, i64 julian)
{
    i64 days = julian - 2451545;
    if (days < INT32_MIN || days > INT32_MAX)
        return false;
    CivilDate d = date_to_civil((i32)days);
    m->year = d.year;
    m->month = d.month;
    m->day = d.day;
    return true;
}

static bool
make_day_of_year(Reader *r, i64 day_of_year, Made *m, bool *ret_month, bool *ret_day)
{
    if (!m->year && !r->bc)
        return bad_format(r, "cannot calculate day of year without year information");
    *ret_month = *ret_day = true;
    if (r->calendar == CALENDAR_ISO_WEEK)
        return set_julian(m, format_iso_monday(m->year, 1) - 1 + day_of_year) || field_range(r);
    const i32 *before = DAYS_BEFORE[is_leap(m->year)];
    i32 month = 1;
    while (month <= 12 && day_of_year > before[month])
        month++;
    m->month = m->month <= 1 ? month : m->month;
    m->day = m->day <= 1 ? day_of_year - before[month - 1] : m->day;
    return true;
}

static bool
make_day(Reader *r, Made *m)
{
    bool has_year, has_month = false, has_day = false;
    i64 day_of_year = r->day_of_year, day = r->day;
    has_year = make_year(r, &m->year);
    if (r->julian) {
        if (!set_julian(m, r->julian))
            return field_range(r);
        has_year = has_month = has_day = true;
    }
    if (r->week && r->calendar == CALENDAR_ISO_WEEK) {
        i64 weekday = r->weekday > 1 ? (i64)r->weekday - 2 : r->weekday ? 6 : 0;
        if (!set_julian(m, format_iso_monday(m->year, r->week) + weekday))
            return field_range(r);
        has_year = has_month = has_day = true;
    } else if (r->week) {
        day_of_year = ((i64)r->week - 1) * 7 + 1;
    }
    if (r->week_of_month)
        day = ((i64)r->week_of_month - 1) * 7 + 1;
    if (day) {
        m->day = day;
        has_day = true;
    }
    if (r->month) {
        m->month = r->month;
        has_month = true;
    }
    if (day_of_year && (m->month <= 1 || m->day <= 1)) {
        if (!make_day_of_year(r, day_of_year, m, &has_month, &has_day))
            return false;
        has_year |= r->calendar == CALENDAR_ISO_WEEK;
    }
    if ((has_month && (m->month < 1 || m->month > 12)) || (has_day && (m->day < 1 || m->day > 31)))
        return field_range(r);
    const i32 *before = DAYS_BEFORE[is_leap(m->year)];
    if (has_year && has_month && has_day && m->day > before[m->month] - before[m->month - 1])
        return field_range(r);
    return true;
}

/* Everything but the session's zone. r keeps what was read of one. */
static bool
read_time(KernCall *c, u32 i, Reader *r, Made *m)
{
    Str s = ARG(c, 0, Str, i);
    const Format *f = format_arg(c, i, 1, false);
    if (!f)
        return false;
    *m = (Made){.month = 1, .day = 1};
    *r = (Reader){.s = s.ptr, .at = s.ptr, .end = s.ptr + s.len, .err = c->err};
    if (!read_fields(r, f) || !make_clock(r, m) || !make_day(r, m))
        return false;
    if (m->hour < 0 || m->hour >= 24 || m->minute < 0 || m->minute >= 60 || m->second < 0 || m->second >= 60 || m->usec < 0 ||
        m->usec >= 1000000)
        return field_range(r);
    if (r->zone_sign && (r->zone_hour < 0 || r->zone_hour > 15 || r->zone_minute < 0 || r->zone_minute >= 60))
        return error_set(c->err, ERR_INVALID_TIME_ZONE, "time zone displacement out of range: \"%.*s\"", (int)s.len, s.ptr);
    return true;
}

/* false: before 4714-11-24 BC or behind the last day of `date`. */
static bool
to_days(const Made *m, i32 *ret)
{
    if (m->year < -4713 || m->year > 5874897 || (m->year == -4713 && m->month < 11))
        return false;
    /* the day need not be of its month: it is counted from the month's first */
    i64 days = date_from_civil((i32)m->year, (i32)m->month, 1) + m->day - 1;
    *ret = (i32)days;
    return days >= DATE_FIRST && days <= DATE_LAST;
}

static bool
to_date(KernCall *c, u32 i)
{
    Reader r;
    Made m;
    if (!read_time(c, i, &r, &m))
        return false;
    return to_days(&m, &RET(c, i32, i)) ||
           error_set(c->err, ERR_DATETIME_OVERFLOW, "date out of range: \"%.*s\"", (int)(r.end - r.s), r.s);
}

/* Rounded to the digits of FF1 … FF5. */
static i64
round_fraction(i64 us, i32 digits)
{
    static const i64 UNIT[] = {1, 100000, 10000, 1000, 100, 10, 1};
    i64 unit = UNIT[digits], half = unit / 2;
    return us >= 0 ? (us + half) / unit * unit : -((half - us) / unit * unit);
}

static bool
to_timestamp(KernCall *c, u32 i)
{
    Reader r;
    Made m;
    i32 days;
    if (!read_time(c, i, &r, &m))
        return false;
    i128 us = to_days(&m, &days) ? (i128)days * USEC_PER_DAY + ((m.hour * 60 + m.minute) * 60 + m.second) * 1000000 + m.usec : INT64_MAX;
    if (us < TS_FIRST - USEC_PER_DAY || us >= TS_END + USEC_PER_DAY)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    ZoneName zone = {.zone = r.zone_sign ? NULL : c->format->zone, .offset_s = r.zone_sign * (r.zone_hour * 3600 + r.zone_minute * 60)};
    i64 utc = zone_name_to_utc(&zone, (i64)us);
    if (utc < TS_FIRST || utc >= TS_END)
        return error_set(c->err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    RET(c, i64, i) = round_fraction(utc, r.fraction_digits);
    return true;
}

KernRow
format_read_row(const FuncDef *f)
{
    if (f->op == FOP_TO_DATE)
        return to_date;
    return f->op == FOP_TO_TIMESTAMP && f->arg_count == 2 ? to_timestamp : NULL;
}
