/*
 * interval_io.c
 *    Intervals as text: reading PostgreSQL's units, SQL's year-month and day-time literals and ISO 8601; writing the four IntervalStyles.
 *
 * Fields are read from the last to the first, so that a unit is known when its number comes. What is no good that way is tried as
 * ISO 8601. The parts are summed with checks in the order that PostgreSQL sums them, since floats are involved.
 */
#include "common/type/datetime_in.h"
#include "common/type/interval.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef struct IntervalSum {
    i64 us;
    i32 days, months, years;
} IntervalSum;

/* ---- adding parts; false: overflow ---- */
static bool
add_fraction_us(double fraction, i64 scale, IntervalSum *s)
{
    if (fraction == 0)
        return true;
    fraction *= (double)scale;
    i64 us = (i64)fraction;
    fraction -= (double)us;
    us += fraction > 0.5 ? 1 : fraction < -0.5 ? -1 : 0;
    return !__builtin_add_overflow(s->us, us, &s->us);
}

static bool
add_us(i64 value, double fraction, i64 scale, IntervalSum *s)
{
    i64 us;
    return !__builtin_mul_overflow(value, scale, &us) && !__builtin_add_overflow(s->us, us, &s->us) && add_fraction_us(fraction, scale, s);
}

static bool
add_days(i64 value, i32 scale, IntervalSum *s)
{
    i32 days;
    return value == (i32)value && !__builtin_mul_overflow((i32)value, scale, &days) && !__builtin_add_overflow(s->days, days, &s->days);
}

static bool
add_fraction_days(double fraction, i32 scale, IntervalSum *s)
{
    if (fraction == 0)
        return true;
    fraction *= scale;
    i32 days = (i32)fraction;
    return !__builtin_add_overflow(s->days, days, &s->days) && add_fraction_us(fraction - days, USEC_PER_DAY, s);
}

static bool
add_months(i64 value, double fraction, IntervalSum *s)
{
    return value == (i32)value && !__builtin_add_overflow(s->months, (i32)value, &s->months) && add_fraction_days(fraction, DAYS_PER_MONTH, s);
}

static bool
add_years(i64 value, double fraction, i32 scale, IntervalSum *s)
{
    i32 years;
    if (value != (i32)value || __builtin_mul_overflow((i32)value, scale, &years) || __builtin_add_overflow(s->years, years, &s->years))
        return false;
    return !__builtin_add_overflow(s->months, (i32)rint(fraction * scale * MONTHS_PER_YEAR), &s->months);
}

/* value and fraction of a unit; PARSE_BAD: not a unit of intervals. */
static ParseStatus
add_unit(DateField unit, i64 value, double fraction, IntervalSum *s)
{
    bool ok;
    switch ((int)unit) {
    case FIELD_MICROSECONDS: ok = add_us(value, fraction, 1, s); break;
    case FIELD_MILLISECONDS: ok = add_us(value, fraction, 1000, s); break;
    case FIELD_SECOND: ok = add_us(value, fraction, USEC_PER_SECOND, s); break;
    case FIELD_MINUTE: ok = add_us(value, fraction, USEC_PER_MINUTE, s); break;
    case FIELD_HOUR: ok = add_us(value, fraction, USEC_PER_HOUR, s); break;
    case FIELD_DAY: ok = add_days(value, 1, s) && add_fraction_us(fraction, USEC_PER_DAY, s); break;
    case FIELD_WEEK: ok = add_days(value, 7, s) && add_fraction_days(fraction, 7, s); break;
    case FIELD_MONTH: ok = add_months(value, fraction, s); break;
    case FIELD_YEAR: ok = add_years(value, fraction, 1, s); break;
    case FIELD_DECADE: ok = add_years(value, fraction, 10, s); break;
    case FIELD_CENTURY: ok = add_years(value, fraction, 100, s); break;
    case FIELD_MILLENNIUM: ok = add_years(value, fraction, 1000, s); break;
    default: return PARSE_BAD;
    }
    return ok ? PARSE_OK : PARSE_RANGE;
}

/* ---- fields, from the last to the first ---- */
enum { UNIT_UNSET = -1, UNIT_NONE = -2 }; /* nothing said yet; "ago", which is no unit */

/* Of a field that has been read; the fields of a clock are all of time. */
#define SEEN(f) (1u << (f))
enum {
    SEEN_SECONDS = SEEN(FIELD_MICROSECONDS) | SEEN(FIELD_MILLISECONDS) | SEEN(FIELD_SECOND),
    SEEN_CLOCK = SEEN(FIELD_HOUR) | SEEN(FIELD_MINUTE) | SEEN_SECONDS,
};

typedef struct IntervalParser {
    IntervalSum sum;
    i32 range, unit; /* DateField, UNIT_UNSET or UNIT_NONE */
    u32 seen;
    bool force_negative, ago;
} IntervalParser;

static ParseStatus
see(IntervalParser *p, u32 what)
{
    if (p->seen & what)
        return PARSE_BAD;
    p->seen |= what;
    return PARSE_OK;
}

/* ".ddd"; a bare point is 0. */
static bool
read_fraction(const char *text, double *ret)
{
    size_t digits = strspn(text + 1, "0123456789");
    if (text[1 + digits])
        return false;
    *ret = digits ? strtod(text, NULL) : 0;
    return true;
}

static ParseStatus
read_i32(const char *text, char **end, i32 *ret)
{
    errno = 0;
    long v = strtol(text, end, 10);
    *ret = (i32)v;
    return errno || v != *ret ? PARSE_RANGE : PARSE_OK;
}

/* H:MM[:SS[.f]], M:SS.f; with the range MINUTE TO SECOND also M:SS. */
static ParseStatus
read_clock(const char *text, i32 range, i64 *ret_us)
{
    char *at;
    i32 minute, second = 0;
    double fraction = 0;
    errno = 0;
    i64 hour = strtoll(text, &at, 10);
    if (errno)
        return PARSE_RANGE;
    if (*at != ':')
        return PARSE_BAD;
    if (read_i32(at + 1, &at, &minute) != PARSE_OK)
        return PARSE_RANGE;
    bool minutes_first = *at == '.' || (*at == 0 && range == (INTERVAL_MINUTE | INTERVAL_SECOND));
    if (minutes_first) {
        if (hour != (i32)hour)
            return PARSE_RANGE;
        second = minute;
        minute = (i32)hour;
        hour = 0;
    } else if (*at == ':') {
        if (read_i32(at + 1, &at, &second) != PARSE_OK)
            return PARSE_RANGE;
    }
    if (*at == '.' ? !read_fraction(at, &fraction) : *at != 0)
        return PARSE_BAD;
    if (hour < 0 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return PARSE_RANGE;
    i64 us = (i64)rint(fraction * 1000000) + (i64)minute * USEC_PER_MINUTE + (i64)second * USEC_PER_SECOND, hours;
    if (__builtin_mul_overflow(hour, USEC_PER_HOUR, &hours) || __builtin_add_overflow(us, hours, ret_us))
        return PARSE_RANGE;
    return PARSE_OK;
}

static ParseStatus
take_clock(IntervalParser *p, const char *text, bool negative)
{
    i64 us;
    ParseStatus status = read_clock(text, p->range, &us);
    if (status != PARSE_OK)
        return status;
    p->sum.us = negative || p->force_negative ? -us : us;
    p->unit = FIELD_DAY;
    return see(p, SEEN_CLOCK);
}

/* What the last number means when no unit stands behind it. */
static DateField
unit_of_range(i32 range)
{
    static const struct {
        i32 last;
        DateField unit;
    } LAST[] = {{INTERVAL_SECOND, FIELD_SECOND}, {INTERVAL_MINUTE, FIELD_MINUTE}, {INTERVAL_HOUR, FIELD_HOUR},
                {INTERVAL_DAY, FIELD_DAY}, {INTERVAL_MONTH, FIELD_MONTH}, {INTERVAL_YEAR, FIELD_YEAR}};
    for (u32 i = 0; range != INTERVAL_FULL_RANGE && i < COUNT_OF(LAST); i++)
        if (range & LAST[i].last)
            return LAST[i].unit;
    return FIELD_SECOND;
}

static ParseStatus
take_number(IntervalParser *p, const char *text)
{
    char *at;
    double fraction = 0;
    bool negative = text[0] == '-';
    if (p->unit == UNIT_UNSET)
        p->unit = (i32)unit_of_range(p->range);
    errno = 0;
    i64 value = strtoll(text, &at, 10);
    if (errno)
        return PARSE_RANGE;
    if (*at == '-') { /* SQL's years-months */
        i32 months;
        if (read_i32(at + 1, &at, &months) != PARSE_OK || months < 0 || months >= MONTHS_PER_YEAR)
            return PARSE_RANGE;
        if (*at)
            return PARSE_BAD;
        p->unit = FIELD_MONTH;
        if (__builtin_mul_overflow(value, (i64)MONTHS_PER_YEAR, &value) || __builtin_add_overflow(value, negative ? -months : months, &value))
            return PARSE_RANGE;
    } else if (*at == '.') {
        if (!read_fraction(at, &fraction))
            return PARSE_BAD;
        fraction = negative ? -fraction : fraction;
    } else if (*at) {
        return PARSE_BAD;
    }
    if (p->force_negative) {
        value = value > 0 ? -value : value;
        fraction = fraction > 0 ? -fraction : fraction;
    }
    if (p->unit < 0)
        return PARSE_BAD;
    DateField unit = (DateField)p->unit;
    ParseStatus status = add_unit(unit, value, fraction, &p->sum);
    if (status != PARSE_OK)
        return status;
    if (unit == FIELD_HOUR)
        p->unit = FIELD_DAY;
    return see(p, unit == FIELD_SECOND && fraction != 0 ? SEEN_SECONDS : SEEN(unit));
}

/* A sign and digits: a clock or a number. */
static ParseStatus
take_signed(IntervalParser *p, const char *text)
{
    i64 unused;
    if (strchr(text + 1, ':') && read_clock(text + 1, p->range, &unused) == PARSE_OK)
        return take_clock(p, text + 1, *text == '-');
    return take_number(p, text);
}

static ParseStatus
take_word(IntervalParser *p, const char *text)
{
    DateField unit;
    if (strcmp(text, "ago") == 0) {
        p->ago = true;
        p->unit = UNIT_NONE;
        return PARSE_OK;
    }
    char cut[FIELD_TEXT_MAX + 1];
    size_t len = strlen(text);
    memcpy(cut, text, len + 1);
    if (!datefield_from_name((Str){cut, (u32)len}, &unit) || unit > FIELD_MILLENNIUM)
        return PARSE_BAD;
    p->unit = (i32)unit;
    return PARSE_OK;
}

static bool
negate(IntervalSum *s)
{
    if (s->us == INT64_MIN || s->days == INT32_MIN || s->months == INT32_MIN || s->years == INT32_MIN)
        return false;
    *s = (IntervalSum){-s->us, -s->days, -s->months, -s->years};
    return true;
}

static ParseStatus
read_fields(const TypeFormat *f, i32 range, Fields *cut, IntervalSum *ret)
{
    IntervalParser p = {.range = range, .unit = UNIT_UNSET};
    if (f && f->interval_style == INTERVAL_STYLE_SQL_STANDARD && cut->fields[0].text[0] == '-') {
        p.force_negative = true;
        for (u32 i = 1; i < cut->count; i++)
            if (cut->fields[i].text[0] == '-' || cut->fields[i].text[0] == '+')
                p.force_negative = false;
    }
    for (u32 i = cut->count; i-- > 0;) {
        const Field *field = &cut->fields[i];
        ParseStatus status = PARSE_BAD;
        switch (field->kind) {
        case FIELD_AS_TIME: status = take_clock(&p, field->text, false); break;
        case FIELD_AS_OFFSET: status = take_signed(&p, field->text); break;
        case FIELD_AS_DATE:
        case FIELD_AS_NUMBER: status = take_number(&p, field->text); break;
        case FIELD_AS_WORD: status = take_word(&p, field->text); break;
        }
        if (status != PARSE_OK)
            return status;
    }
    if (!p.seen)
        return PARSE_BAD;
    if (p.ago && !negate(&p.sum))
        return PARSE_RANGE;
    *ret = p.sum;
    return PARSE_OK;
}

/* ---- ISO 8601 ---- */
typedef struct IsoNumber {
    i64 whole;
    double fraction;
    size_t width; /* digits before the point */
} IsoNumber;

static ParseStatus
iso_number(const char **at, IsoNumber *ret)
{
    const char *s = *at;
    char *end;
    if (!is_digit(*s) && *s != '-' && *s != '.')
        return PARSE_BAD;
    if (s[*s == '-'] == 'i' || s[*s == '-'] == 'I' || s[*s == '-'] == 'n' || s[*s == '-'] == 'N')
        return PARSE_RANGE; /* strtod's infinity and NaN */
    errno = 0;
    double v = strtod(s, &end);
    if (end == s || errno)
        return PARSE_BAD;
    if (!(v >= -1.0e15 && v <= 1.0e15))
        return PARSE_RANGE;
    ret->whole = v >= 0 ? (i64)floor(v) : -(i64)floor(-v);
    ret->fraction = v - (double)ret->whole;
    ret->width = strspn(s + (*s == '-'), "0123456789");
    *at = end;
    return PARSE_OK;
}

#define TRY(call)                                                                                                                      \
    do {                                                                                                                               \
        ParseStatus try_status = (call);                                                                                               \
        if (try_status != PARSE_OK)                                                                                                    \
            return try_status;                                                                                                         \
    } while (0)

/* Y-M-D behind the year; *at is behind the first '-'. *ret_time: a T follows. */
static ParseStatus
iso_extended_date(const char **at, IntervalSum *s, bool *ret_time)
{
    static const DateField UNITS[] = {FIELD_MONTH, FIELD_DAY};
    IsoNumber n;
    for (u32 k = 0; k < 2; k++) {
        TRY(iso_number(at, &n));
        TRY(add_unit(UNITS[k], n.whole, n.fraction, s));
        *ret_time = **at == 'T';
        if (**at == 0 || *ret_time)
            return PARSE_OK;
        if (k == 1 || **at != '-')
            return PARSE_BAD;
        ++*at;
    }
    return PARSE_BAD;
}

/* M:S behind the hour; *at is behind the first ':'. */
static ParseStatus
iso_extended_time(const char *at, IntervalSum *s)
{
    static const DateField UNITS[] = {FIELD_MINUTE, FIELD_SECOND};
    IsoNumber n;
    for (u32 k = 0; k < 2; k++) {
        TRY(iso_number(&at, &n));
        TRY(add_unit(UNITS[k], n.whole, n.fraction, s));
        if (*at == 0)
            return PARSE_OK;
        if (k == 1 || *at != ':')
            return PARSE_BAD;
        at++;
    }
    return PARSE_BAD;
}

/* hhmmss and yyyymmdd without separators */
static ParseStatus
iso_basic(const IsoNumber *n, bool date, IntervalSum *s)
{
    bool ok = date ? add_years(n->whole / 10000, 0, 1, s) && add_months(n->whole / 100 % 100, 0, s) && add_days(n->whole % 100, 1, s) &&
                         add_fraction_us(n->fraction, USEC_PER_DAY, s)
                   : add_us(n->whole / 10000, 0, USEC_PER_HOUR, s) && add_us(n->whole / 100 % 100, 0, USEC_PER_MINUTE, s) &&
                         add_us(n->whole % 100, 0, USEC_PER_SECOND, s) && add_fraction_us(n->fraction, 1, s);
    return ok ? PARSE_OK : PARSE_RANGE;
}

static DateField
iso_unit(char letter, bool time)
{
    switch (letter) {
    case 'Y': return time ? FIELD_COUNT : FIELD_YEAR;
    case 'M': return time ? FIELD_MINUTE : FIELD_MONTH;
    case 'W': return time ? FIELD_COUNT : FIELD_WEEK;
    case 'D': return time ? FIELD_COUNT : FIELD_DAY;
    case 'H': return time ? FIELD_HOUR : FIELD_COUNT;
    case 'S': return time ? FIELD_SECOND : FIELD_COUNT;
    default: return FIELD_COUNT;
    }
}

static ParseStatus
read_iso(const char *text, IntervalSum *s)
{
    bool time = false, have = false;
    if (text[0] != 'P' || !text[1])
        return PARSE_BAD;
    for (const char *at = text + 1; *at;) {
        IsoNumber n;
        if (*at == 'T') {
            time = true;
            have = false;
            at++;
            continue;
        }
        TRY(iso_number(&at, &n));
        char letter = *at;
        DateField unit = iso_unit(letter, time);
        at += letter != 0;
        if (unit != FIELD_COUNT) {
            TRY(add_unit(unit, n.whole, n.fraction, s));
            have = true;
            continue;
        }
        /* The alternative forms, without letters: basic, then extended. */
        bool ends = letter == 0 || (!time && letter == 'T');
        if (!ends && letter != (time ? ':' : '-'))
            return PARSE_BAD;
        if (ends && n.width == (time ? 6u : 8u) && !have) {
            TRY(iso_basic(&n, !time, s));
        } else {
            if (have)
                return PARSE_BAD;
            TRY(add_unit(time ? FIELD_HOUR : FIELD_YEAR, n.whole, n.fraction, s));
            if (!ends && time)
                return iso_extended_time(at, s);
            bool to_time = letter == 'T';
            if (!ends) {
                TRY(iso_extended_date(&at, s, &to_time));
                at += to_time;
            }
            letter = to_time ? 'T' : 0;
        }
        if (letter == 0)
            return PARSE_OK;
        time = true;
        have = false;
    }
    return PARSE_OK;
}

bool
interval_in(const TypeFormat *f, i32 typmod, Str in, Interval *ret, Error *err)
{
    Fields cut = {.count = 0};
    IntervalSum sum = {0};
    Str s = text_shown(in), trimmed = text_trim(in);
    ParseStatus status = fields_cut_interval(trimmed, &cut) ? read_fields(f, interval_range(typmod), &cut, &sum) : PARSE_BAD;
    if (status == PARSE_BAD && in.len <= FIELD_TEXT_MAX) {
        char text[FIELD_TEXT_MAX + 1];
        memcpy(text, in.ptr, in.len);
        text[in.len] = 0;
        sum = (IntervalSum){0};
        status = read_iso(text, &sum);
    }
    if (status == PARSE_RANGE)
        return error_set(err, ERR_INTERVAL_OVERFLOW, "interval field value out of range: \"%.*s\"", (int)s.len, s.ptr);
    if (status != PARSE_OK)
        return error_set(err, ERR_INVALID_DATETIME_FORMAT, "invalid input syntax for type interval: \"%.*s\"", (int)s.len, s.ptr);
    i64 months = (i64)sum.years * MONTHS_PER_YEAR + sum.months;
    if (months != (i32)months)
        return error_set(err, ERR_DATETIME_OVERFLOW, "interval out of range");
    Interval v = {sum.us, sum.days, (i32)months};
    *ret = interval_fit(&v, typmod);
    return true;
}

/* ---- writing ---- */
typedef struct Out {
    char *at;
    bool is_zero, is_before; /* nothing written yet; what was written last (verbose: first) was negative */
} Out;

static void
put_text(Out *o, const char *s)
{
    size_t n = strlen(s);
    memcpy(o->at, s, n);
    o->at += n;
}

static void
put_number(Out *o, i64 v)
{
    o->at += digits_i64(v, o->at);
}

static i64
absolute(i64 v)
{
    return v < 0 ? -v : v;
}

static void
put_two(Out *o, i64 v)
{
    if (v < 10)
        *o->at++ = '0';
    put_number(o, v);
}

/* Without sign; two digits before the point, or as few as there are. */
static void
put_seconds(Out *o, const IntervalParts *p, bool two)
{
    if (two)
        put_two(o, absolute(p->second));
    else
        put_number(o, absolute(p->second));
    if (!p->usec)
        return;
    *o->at++ = '.';
    digits_fixed((u64)absolute(p->usec), 6, o->at);
    for (o->at += 6; o->at[-1] == '0';)
        o->at--;
}

static void
put_postgres_part(Out *o, i64 v, const char *unit)
{
    if (!v)
        return;
    put_text(o, o->is_zero ? "" : " ");
    put_text(o, o->is_before && v > 0 ? "+" : "");
    put_number(o, v);
    put_text(o, unit);
    put_text(o, v != 1 ? "s" : "");
    o->is_before = v < 0;
    o->is_zero = false;
}

static void
out_postgres(Out *o, const IntervalParts *p)
{
    put_postgres_part(o, p->year, " year");
    put_postgres_part(o, p->month, " mon");
    put_postgres_part(o, p->day, " day");
    if (!o->is_zero && !p->hour && !p->minute && !p->second && !p->usec)
        return;
    bool minus = p->hour < 0 || p->minute < 0 || p->second < 0 || p->usec < 0;
    put_text(o, o->is_zero ? "" : " ");
    put_text(o, minus ? "-" : o->is_before ? "+" : "");
    put_two(o, absolute(p->hour));
    *o->at++ = ':';
    put_two(o, absolute(p->minute));
    *o->at++ = ':';
    put_seconds(o, p, true);
}

static void
put_verbose_part(Out *o, i64 v, const char *unit)
{
    if (!v)
        return;
    if (o->is_zero) {
        o->is_before = v < 0;
        v = absolute(v);
    } else if (o->is_before) {
        v = -v;
    }
    *o->at++ = ' ';
    put_number(o, v);
    put_text(o, unit);
    put_text(o, v != 1 ? "s" : "");
    o->is_zero = false;
}

static void
out_verbose(Out *o, const IntervalParts *p)
{
    *o->at++ = '@';
    put_verbose_part(o, p->year, " year");
    put_verbose_part(o, p->month, " mon");
    put_verbose_part(o, p->day, " day");
    put_verbose_part(o, p->hour, " hour");
    put_verbose_part(o, p->minute, " min");
    if (p->second || p->usec) {
        bool minus = p->second < 0 || p->usec < 0;
        *o->at++ = ' ';
        if (minus && o->is_zero)
            o->is_before = true;
        else if (minus != o->is_before)
            *o->at++ = '-';
        put_seconds(o, p, false);
        put_text(o, absolute(p->second) != 1 || p->usec ? " secs" : " sec");
        o->is_zero = false;
    }
    put_text(o, o->is_zero ? " 0" : "");
    put_text(o, o->is_before ? " ago" : "");
}

static void
out_sql(Out *o, const IntervalParts *p)
{
    IntervalParts v = *p;
    bool minus = v.year < 0 || v.month < 0 || v.day < 0 || v.hour < 0 || v.minute < 0 || v.second < 0 || v.usec < 0;
    bool plus = v.year > 0 || v.month > 0 || v.day > 0 || v.hour > 0 || v.minute > 0 || v.second > 0 || v.usec > 0;
    bool months = v.year || v.month, time = v.day || v.hour || v.minute || v.second || v.usec;
    bool all = (minus && plus) || (months && time); /* no value that SQL knows: every part with its sign */
    if (!minus && !plus) {
        put_text(o, "0");
        return;
    }
    if (minus && !all)
        *o->at++ = '-';
    if (all)
        *o->at++ = v.year < 0 || v.month < 0 ? '-' : '+';
    if (all || months) {
        put_number(o, absolute(v.year));
        *o->at++ = '-';
        put_number(o, absolute(v.month));
        if (!all)
            return;
        put_text(o, v.day < 0 ? " -" : " +");
    }
    if (all || v.day) {
        put_number(o, absolute(v.day));
        *o->at++ = ' ';
    }
    if (all)
        *o->at++ = v.hour < 0 || v.minute < 0 || v.second < 0 || v.usec < 0 ? '-' : '+';
    put_number(o, absolute(v.hour));
    *o->at++ = ':';
    put_two(o, absolute(v.minute));
    *o->at++ = ':';
    put_seconds(o, &v, true);
}

static void
put_iso_part(Out *o, i64 v, char letter)
{
    if (!v)
        return;
    put_number(o, v);
    *o->at++ = letter;
}

static void
out_iso(Out *o, const IntervalParts *p)
{
    bool time = p->hour || p->minute || p->second || p->usec;
    if (!p->year && !p->month && !p->day && !time) {
        put_text(o, "PT0S");
        return;
    }
    *o->at++ = 'P';
    put_iso_part(o, p->year, 'Y');
    put_iso_part(o, p->month, 'M');
    put_iso_part(o, p->day, 'D');
    if (time)
        *o->at++ = 'T';
    put_iso_part(o, p->hour, 'H');
    put_iso_part(o, p->minute, 'M');
    if (!p->second && !p->usec)
        return;
    put_text(o, p->second < 0 || p->usec < 0 ? "-" : "");
    put_seconds(o, p, false);
    *o->at++ = 'S';
}

u32
interval_out(const TypeFormat *f, const Interval *v, char *to)
{
    static void (*const STYLES[])(Out *, const IntervalParts *) = {
        [INTERVAL_STYLE_POSTGRES] = out_postgres, [INTERVAL_STYLE_POSTGRES_VERBOSE] = out_verbose,
        [INTERVAL_STYLE_SQL_STANDARD] = out_sql, [INTERVAL_STYLE_ISO_8601] = out_iso,
    };
    IntervalParts p = interval_parts(v);
    Out o = {to, true, false};
    STYLES[f ? f->interval_style : INTERVAL_STYLE_POSTGRES](&o, &p);
    return (u32)(o.at - to);
}
