/*
 * format_time.c
 *    to_char() of times and intervals.
 *
 * An interval's fields are shown as they are, each with its sign; what needs a calendar is refused. Names are English.
 */
#include "backend/kern/format.h"
#include "backend/kern/timefield.h"
#include "common/type/interval.h"

#include <stdlib.h>

const char *const FORMAT_MONTHS[12] = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
                                       "November", "December"};
const char *const FORMAT_DAYS[7] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
const char *const FORMAT_ROMAN_MONTHS[12] = {"i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"};

typedef struct Shown {
    i64 hour;
    i32 year, month, day, minute, second, usec;
    i32 weekday, day_of_year; /* of an interval: 0, and its days at 30 a month */
    bool is_interval;
    const char *zone;
    i32 offset_s;
} Shown;

/* ---- the calendar ---- */

/* Fields of intervals are shown by it, too, so it takes what is no day. */
i64
format_julian(i64 year, i64 month, i64 day)
{
    i64 m = month > 2 ? month + 1 : month + 13, y = month > 2 ? year + 4800 : year + 4799, century = y / 100;
    return y * 365 - 32167 + y / 4 - century + century / 4 + 7834 * m / 256 + day;
}

static i64
monday_before(i64 julian)
{
    return julian - (julian % 7 + 7) % 7; /* day 0 was a Monday */
}

i64
format_iso_monday(i64 year, i64 week)
{
    return monday_before(format_julian(year, 1, 4)) + (week - 1) * 7;
}

static i64
iso_year(const Shown *t)
{
    i64 day = format_julian(t->year, t->month, t->day), year = t->year;
    if (day < format_iso_monday(year, 1))
        return year - 1;
    return day >= format_iso_monday(year + 1, 1) ? year + 1 : year;
}

static i64
iso_week(const Shown *t)
{
    return (format_julian(t->year, t->month, t->day) - format_iso_monday(iso_year(t), 1)) / 7 + 1;
}

/* ---- writing ---- */

/* A number with zeros up to `width` characters, its sign included; FM: as long as it is. */
static bool
put_number(FormatText *to, const FormatNode *n, i64 v, int width, Error *err)
{
    u32 from = to->len;
    format_printf(to, "%0*lld", n->modifiers & FORMAT_FM || width == 0 ? 1 : width, (long long)v);
    if (!(n->modifiers & FORMAT_TH))
        return true;
    Str number = {to->data + from, to->len - from};
    return format_put_ordinal(to, number, n->modifiers & FORMAT_TH_UPPER, err);
}

/* The same with one more character for a sign. */
static bool
put_signed(FormatText *to, const FormatNode *n, i64 v, int width, Error *err)
{
    return put_number(to, n, v, width + (v < 0), err);
}

/* A name in the pattern's letters, with blanks up to `width` but for FM and TM. */
static bool
put_name(FormatText *to, const FormatNode *n, const char *name, u32 len, u32 width)
{
    for (u32 i = 0; i < len; i++) {
        bool upper = n->letters == FORMAT_UPPER || (n->letters == FORMAT_CAPITAL && i == 0);
        char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
        if (upper && c >= 'a' && c <= 'z')
            c = (char)(c - 32);
        format_put(to, &c, 1);
    }
    if (!(n->modifiers & (FORMAT_FM | FORMAT_TM)))
        for (u32 i = len; i < width; i++)
            format_put(to, " ", 1);
    return true;
}

static bool
put_word(FormatText *to, const FormatNode *n, const char *word)
{
    return put_name(to, n, word, (u32)strlen(word), 0);
}

/* ---- fields ---- */

/* Years as people count them: 0 is 1 BC. */
static i64
shown_year(const Shown *t, i64 year)
{
    return t->is_interval || year > 0 ? year : 1 - year;
}

static bool
put_year(FormatText *to, const FormatNode *n, const Shown *t, i64 year, u32 digits, Error *err)
{
    static const i64 PART[] = {0, 10, 100, 1000, INT64_MAX};
    i64 v = shown_year(t, year);
    u32 from = to->len;
    format_printf(to, "%0*lld", n->modifiers & FORMAT_FM || digits == 1 ? 1 : (int)digits + (shown_year(t, t->year) < 0), (long long)(v % PART[digits]));
    if (!(n->modifiers & FORMAT_TH))
        return true;
    return format_put_ordinal(to, (Str){to->data + from, to->len - from}, n->modifiers & FORMAT_TH_UPPER, err);
}

static bool
put_century(FormatText *to, const FormatNode *n, const Shown *t, Error *err)
{
    i64 v = t->is_interval ? t->year / 100 : t->year > 0 ? (t->year - 1) / 100 + 1 : t->year / 100 - 1;
    return put_number(to, n, v, v > 99 || v < -99 ? 0 : v < 0 ? 3 : 2, err);
}

static bool
put_roman_month(FormatText *to, const FormatNode *n, const Shown *t)
{
    if (!t->month && !t->year)
        return true;
    /* an interval of whole years is the last month; negative months count from the last one, too */
    i32 month = t->month > 0 ? t->month : t->month < 0 ? 13 + t->month : t->year > 0 ? 12 : 1;
    const char *name = FORMAT_ROMAN_MONTHS[month - 1];
    FormatNode plain = *n;
    plain.modifiers &= FORMAT_FM;
    return put_name(to, &plain, name, (u32)strlen(name), 4);
}

static bool
put_day_field(FormatText *to, const FormatNode *n, const Shown *t, Error *err)
{
    switch ((int)n->pattern) {
    case TP_CENTURY: return put_century(to, n, t, err);
    case TP_YEAR_COMMA: {
        i64 v = shown_year(t, t->year);
        u32 from = to->len;
        format_printf(to, "%lld,%03lld", (long long)(v / 1000), (long long)(v % 1000));
        return !(n->modifiers & FORMAT_TH) ||
               format_put_ordinal(to, (Str){to->data + from, to->len - from}, n->modifiers & FORMAT_TH_UPPER, err);
    }
    case TP_YEAR_4: case TP_YEAR_3: case TP_YEAR_2: case TP_YEAR_1:
        return put_year(to, n, t, t->year, 4 - (n->pattern - TP_YEAR_4), err);
    case TP_ISO_YEAR_4: case TP_ISO_YEAR_3: case TP_ISO_YEAR_2: case TP_ISO_YEAR_1:
        return put_year(to, n, t, iso_year(t), 4 - (n->pattern - TP_ISO_YEAR_4), err);
    case TP_QUARTER: return !t->month || put_number(to, n, (t->month - 1) / 3 + 1, 0, err);
    case TP_MONTH: return put_signed(to, n, t->month, 2, err);
    case TP_MONTH_ROMAN: return put_roman_month(to, n, t);
    case TP_WEEK: return put_number(to, n, (t->day_of_year - 1) / 7 + 1, 2, err);
    case TP_WEEK_OF_MONTH: return put_number(to, n, (t->day - 1) / 7 + 1, 0, err);
    case TP_DAY: return put_number(to, n, t->day, 2, err);
    case TP_DAY_OF_YEAR: return put_number(to, n, t->day_of_year, 3, err);
    case TP_JULIAN: return put_number(to, n, (i32)format_julian(t->year, t->month, t->day), 0, err);
    case TP_ISO_WEEK: return put_number(to, n, iso_week(t), 2, err);
    case TP_ISO_DAY_OF_YEAR:
        return put_number(to, n, format_julian(t->year, t->month, t->day) - format_iso_monday(iso_year(t), 1) + 1, 3, err);
    default: return true;
    }
}

/* What an interval has not: it is tied to no day and no place. */
static bool
put_calendar_field(FormatText *to, const FormatNode *n, const Shown *t, Error *err)
{
    if (t->is_interval) {
        error_set(err, ERR_INVALID_DATETIME_FORMAT, "invalid format specification for an interval value");
        error_hint(err, "Intervals are not tied to specific calendar dates.");
        return false;
    }
    i32 away = abs(t->offset_s);
    char sign = t->offset_s < 0 ? '-' : '+';
    const char *month = FORMAT_MONTHS[t->month - 1], *day = FORMAT_DAYS[t->weekday];
    switch ((int)n->pattern) {
    case TP_ZONE:
        if (n->letters == FORMAT_LOWER)
            return put_word(to, n, t->zone);
        format_put(to, t->zone, strlen(t->zone));
        return true;
    case TP_ZONE_HOUR:
        format_printf(to, "%c%02d", sign, away / 3600);
        return true;
    case TP_ZONE_MINUTE:
        format_printf(to, "%02d", away % 3600 / 60);
        return true;
    case TP_OFFSET:
        format_printf(to, "%c%0*d", sign, n->modifiers & FORMAT_FM ? 1 : 2, away / 3600);
        if (away % 3600)
            format_printf(to, ":%02d", away % 3600 / 60);
        return true;
    case TP_ERA: return put_word(to, n, t->year <= 0 ? "bc" : "ad");
    case TP_ERA_DOTS: return put_word(to, n, t->year <= 0 ? "b.c." : "a.d.");
    case TP_MONTH_NAME: return put_name(to, n, month, (u32)strlen(month), 9);
    case TP_MONTH_SHORT: return put_name(to, n, month, 3, 3);
    case TP_DAY_NAME: return put_name(to, n, day, (u32)strlen(day), 9);
    case TP_DAY_SHORT: return put_name(to, n, day, 3, 3);
    case TP_WEEKDAY: return put_number(to, n, t->weekday + 1, 0, err);
    default: return put_number(to, n, t->weekday == 0 ? 7 : t->weekday, 0, err); /* TP_ISO_WEEKDAY */
    }
}

/* Decimals of a second, cut. */
static bool
put_fraction(FormatText *to, const FormatNode *n, const Shown *t, u32 digits, Error *err)
{
    static const i32 UNIT[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    FormatNode fixed = *n;
    fixed.modifiers &= FORMAT_TH;
    return put_number(to, &fixed, t->usec / UNIT[digits], (int)digits, err);
}

static bool
put_field(FormatText *to, const FormatNode *n, const Shown *t, Error *err)
{
    bool afternoon = t->hour % 24 >= 12;
    switch ((int)n->pattern) {
    case TP_HALF_DAY: return put_word(to, n, afternoon ? "pm" : "am");
    case TP_HALF_DAY_DOTS: return put_word(to, n, afternoon ? "p.m." : "a.m.");
    case TP_HOUR_12: {
        i64 v = t->hour % 12 == 0 ? 12 : t->hour % 12;
        return put_number(to, n, v, 2 + (t->hour < 0), err);
    }
    case TP_HOUR_24: return put_signed(to, n, t->hour, 2, err);
    case TP_MINUTE: return put_signed(to, n, t->minute, 2, err);
    case TP_SECOND: return put_signed(to, n, t->second, 2, err);
    case TP_SECOND_OF_DAY: return put_number(to, n, t->hour * 3600 + t->minute * 60 + t->second, 0, err);
    case TP_MILLISECOND: return put_fraction(to, n, t, 3, err);
    case TP_MICROSECOND: return put_fraction(to, n, t, 6, err);
    case TP_FRACTION_1: case TP_FRACTION_2: case TP_FRACTION_3: case TP_FRACTION_4: case TP_FRACTION_5: case TP_FRACTION_6:
        return put_fraction(to, n, t, n->pattern - TP_FRACTION_1 + 1u, err);
    case TP_FIXED: return true;
    case TP_ZONE: case TP_ZONE_HOUR: case TP_ZONE_MINUTE: case TP_OFFSET: case TP_ERA: case TP_ERA_DOTS: case TP_MONTH_NAME: case TP_MONTH_SHORT:
    case TP_DAY_NAME: case TP_DAY_SHORT: case TP_WEEKDAY: case TP_ISO_WEEKDAY:
        return put_calendar_field(to, n, t, err);
    default: return put_day_field(to, n, t, err);
    }
}

/* ---- the functions ---- */
static bool
put_all(KernCall *c, u32 i, const Shown *t)
{
    const Format *f = format_arg(c, i, 1, false);
    FormatText to = {.arena = c->scratch};
    if (!f)
        return false;
    for (u32 k = 0; k < f->count; k++) {
        const FormatNode *n = &f->nodes[k];
        if (n->kind != NODE_PATTERN)
            format_put(&to, n->text.ptr, n->text.len);
        else if (!put_field(&to, n, t, c->err))
            return false;
    }
    RET(c, Str, i) = (Str){to.data ? to.data : "", to.len};
    return true;
}

static bool
no_text(KernCall *c, u32 i)
{
    c->ret->null_mask[i] = 1;
    RET(c, Str, i) = (Str){"", 0};
    return true;
}

/* Of timestamps; an infinity and an empty format have no text. */
static bool
time_to_char(KernCall *c, u32 i)
{
    i64 us = ARG(c, 0, i64, i);
    Shown t = {.zone = ""};
    if (ts_infinite(us) || ARG(c, 1, Str, i).len == 0)
        return no_text(c, i);
    if (c->def->args[0] == TYPE_TIMESTAMPTZ) {
        t.offset_s = zone_offset_s(c->format->zone, us);
        t.zone = zone_abbreviation(c->format->zone, us);
        us += t.offset_s * 1000000LL;
    }
    CivilTime civil = timestamp_to_civil(us);
    t.year = civil.year;
    t.month = civil.month;
    t.day = civil.day;
    t.hour = civil.hour;
    t.minute = civil.minute;
    t.second = civil.second;
    t.usec = civil.usec;
    i64 day = format_julian(t.year, t.month, t.day);
    t.weekday = (i32)((day + 1) % 7);
    t.day_of_year = (i32)(day - format_julian(t.year, 1, 1)) + 1;
    return put_all(c, i, &t);
}

static bool
interval_to_char(KernCall *c, u32 i)
{
    IntervalParts p = interval_parts(&ARG(c, 0, Interval, i));
    if (ARG(c, 1, Str, i).len == 0)
        return no_text(c, i);
    Shown t = {.is_interval = true, .year = p.year, .month = p.month, .day = p.day, .hour = p.hour, .minute = p.minute, .second = p.second,
               .usec = p.usec, .day_of_year = (i32)(((i64)p.year * 12 + p.month) * 30 + p.day), .zone = ""};
    return put_all(c, i, &t);
}

KernRow
format_time_row(const FuncDef *f)
{
    if (f->op != FOP_TO_CHAR)
        return NULL;
    return f->args[0] == TYPE_INTERVAL ? interval_to_char : f->args[0] == TYPE_TIMESTAMP || f->args[0] == TYPE_TIMESTAMPTZ ? time_to_char : NULL;
}
