/*
 * fields.c
 *    Free-form dates and times: give each field of the text a meaning from what is already known.
 *
 * The order in which a bare number may be year, month, day, a run-together date or a run-together time is
 * PostgreSQL's (DateOrder MDY), since users rely on all of it: '2026-01-02', '20260102', 'Jan 2 2026', '1/2/26',
 * '2026.360', 'J2451187', '040506', '2026-01-02T03:04:05.6Z', '10:00 PM', '44-03-15 BC'. `known` remembers which
 * parts are set; a second value for a part is an error.
 */
#include "common/type/datetime_in.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

ParseStatus
field_learn(FieldParser *p, u32 parts)
{
    if (p->known & parts)
        return PARSE_BAD;
    p->known |= parts;
    return PARSE_OK;
}

/* Digits at the start of text as an i32, 0 when there are none; false when it does not fit. */
static bool
read_int(const char *text, i32 *ret, const char **ret_end)
{
    i64 v = 0;
    const char *at = text;
    for (; is_digit(*at); at++) {
        v = v * 10 + (*at - '0');
        if (v > INT32_MAX)
            return false;
    }
    *ret = (i32)v;
    *ret_end = at;
    return true;
}

/* ".ddd" to microseconds, rounded as PostgreSQL does through a double. */
static bool
read_fraction(const char *text, i32 *ret_usec)
{
    char *end;
    if (text[0] != '.')
        return false;
    if (text[1] == 0) {
        *ret_usec = 0;
        return true;
    }
    if (!is_digit(text[1]))
        return false;
    double v = strtod(text, &end);
    if (*end != 0)
        return false;
    *ret_usec = (i32)rint(v * 1000000);
    return true;
}

static i32
read_fixed(const char *text, u32 digits)
{
    i32 v = 0;
    for (u32 i = 0; i < digits; i++)
        v = v * 10 + (text[i] - '0');
    return v;
}

static bool
all_digits(const char *text)
{
    u32 n = 0;
    while (is_digit(text[n]))
        n++;
    return n > 0 && text[n] == 0;
}

ParseStatus
field_set_clock(FieldParser *p, i32 hour, i32 minute, i32 second, i32 usec)
{
    if (field_learn(p, KNOWN_CLOCK) != PARSE_OK)
        return PARSE_BAD;
    p->out->t.hour = hour;
    p->out->t.minute = minute;
    p->out->t.second = second;
    p->out->t.usec = usec;
    return PARSE_OK;
}

/* A run-together date (YYYYMMDD, YYMMDD) or time (HHMMSS, HHMM), with or without a fraction of a second. */
ParseStatus
field_mean_run(FieldParser *p, char *text, bool time_only)
{
    i32 usec = 0;
    char *point = strchr(text, '.');
    if (point) {
        if (!read_fraction(point, &usec))
            return PARSE_BAD;
        *point = 0;
    }
    if (!all_digits(text))
        return PARSE_BAD;
    size_t len = strlen(text);
    if (!point && !time_only && (p->known & KNOWN_FULL_DATE) != KNOWN_FULL_DATE && len >= 6) {
        const char *end;
        char *tail = text + len - 4;
        p->out->t.day = read_fixed(tail + 2, 2);
        p->out->t.month = read_fixed(tail, 2);
        *tail = 0;
        if (!read_int(text, &p->out->t.year, &end))
            return PARSE_RANGE;
        p->two_digit_year = len == 6;
        return field_learn(p, KNOWN_FULL_DATE);
    }
    if (p->known & KNOWN_CLOCK || (len != 6 && len != 4))
        return PARSE_BAD;
    return field_set_clock(p, read_fixed(text, 2), read_fixed(text + 2, 2), len == 6 ? read_fixed(text + 4, 2) : 0, usec);
}

static ParseStatus
set_year(FieldParser *p, i32 year, size_t digits)
{
    p->out->t.year = year;
    p->two_digit_year = digits <= 2;
    return field_learn(p, KNOWN_YEAR);
}

static ParseStatus
set_month(FieldParser *p, i32 month)
{
    p->out->t.month = month;
    return field_learn(p, KNOWN_MONTH);
}

static ParseStatus
set_day(FieldParser *p, i32 day)
{
    p->out->t.day = day;
    return field_learn(p, KNOWN_DAY);
}

/* One number: what it is depends on what is known and how many digits it has. */
ParseStatus
field_mean_number(FieldParser *p, char *text)
{
    i32 value, unused;
    const char *end;
    size_t len = strlen(text);
    if (text[0] == '.')
        return PARSE_BAD;
    if (!read_int(text, &value, &end))
        return PARSE_RANGE;
    if (*end == '.') {
        if (end - text > 2)
            return field_mean_run(p, text, true);
        if (!read_fraction(end, &unused))
            return PARSE_BAD;
    } else if (*end != 0) {
        return PARSE_BAD;
    }
    if (len == 3 && (p->known & KNOWN_FULL_DATE) == KNOWN_YEAR && value >= 1 && value <= 366) {
        p->day_of_year = value;
        return field_learn(p, KNOWN_DAY_OF_YEAR | KNOWN_MONTH | KNOWN_DAY);
    }
    switch (p->known & KNOWN_FULL_DATE) {
    case 0:
        if (len >= 3 || p->order == DATE_ORDER_YMD)
            return set_year(p, value, len);
        return p->order == DATE_ORDER_DMY ? set_day(p, value) : set_month(p, value);
    case KNOWN_YEAR:
        return set_month(p, value);
    case KNOWN_MONTH:
        return p->month_by_name && (len >= 3 || p->order == DATE_ORDER_YMD) ? set_year(p, value, len) : set_day(p, value);
    case KNOWN_YEAR | KNOWN_MONTH:
        if (p->month_by_name && len >= 3 && p->two_digit_year) { /* the first number was the day */
            p->out->t.day = p->out->t.year;
            p->out->t.year = value;
            p->two_digit_year = false;
            return field_learn(p, KNOWN_DAY);
        }
        return set_day(p, value);
    case KNOWN_DAY:
        return set_month(p, value);
    case KNOWN_MONTH | KNOWN_DAY:
        return set_year(p, value, len);
    case KNOWN_FULL_DATE:
        return field_mean_run(p, text, false);
    default:
        return PARSE_BAD;
    }
}

/* Cut a date field into its pieces at whatever is no letter or digit. Returns their number, 0 when malformed. */
static u32
split_date(char *text, char *pieces[FIELD_MAX_COUNT])
{
    u32 count = 0;
    while (*text && count < FIELD_MAX_COUNT) {
        while (*text && !is_digit(*text) && !is_letter(*text))
            text++;
        if (*text == 0)
            return 0;
        pieces[count++] = text;
        bool digits = is_digit(*text);
        while (digits ? is_digit(*text) : is_letter(*text))
            text++;
        /* The separator, or (as in "2jan") the first letter of a next piece, ends this one. */
        if (*text)
            *text++ = 0;
    }
    return count;
}

ParseStatus
field_mean_date(FieldParser *p, char *text)
{
    char *pieces[FIELD_MAX_COUNT];
    u32 count = split_date(text, pieces);
    if (count == 0)
        return PARSE_BAD;
    for (u32 i = 0; i < count; i++) {
        i32 value;
        if (!is_letter(pieces[i][0]))
            continue;
        if (dateword_find(pieces[i], &value) != WORD_MONTH || set_month(p, value) != PARSE_OK)
            return PARSE_BAD;
        p->month_by_name = true;
        pieces[i] = NULL;
    }
    for (u32 i = 0; i < count; i++) {
        if (!pieces[i])
            continue;
        ParseStatus status = field_mean_number(p, pieces[i]);
        if (status != PARSE_OK)
            return status;
    }
    /* A date in one piece comes before everything but a zone. */
    return (p->known & ~(u32)(KNOWN_DAY_OF_YEAR | KNOWN_ZONE)) == KNOWN_FULL_DATE ? PARSE_OK : PARSE_BAD;
}

/* H:MM, H:MM:SS, H:MM:SS.f; MM:SS.f counts from the hour 0. */
ParseStatus
field_mean_time(FieldParser *p, const char *text)
{
    i32 hour, minute, second = 0, usec = 0;
    const char *end;
    if (!read_int(text, &hour, &end))
        return PARSE_RANGE;
    if (*end != ':')
        return PARSE_BAD;
    if (!read_int(end + 1, &minute, &end))
        return PARSE_RANGE;
    if (*end == ':') {
        if (!read_int(end + 1, &second, &end))
            return PARSE_RANGE;
        if (*end != 0 && !read_fraction(end, &usec))
            return PARSE_BAD;
    } else if (*end == '.') {
        if (!read_fraction(end, &usec))
            return PARSE_BAD;
        second = minute;
        minute = hour;
        hour = 0;
    } else if (*end != 0) {
        return PARSE_BAD;
    }
    if (minute > 59 || second > 60)
        return PARSE_RANGE;
    if (hour > 24 || (hour == 24 && (minute > 0 || second > 0 || usec > 0)))
        return PARSE_RANGE;
    return field_set_clock(p, hour, minute, second, usec);
}

static ParseStatus
set_offset(FieldParser *p, i32 offset_s)
{
    if (field_learn(p, KNOWN_ZONE) != PARSE_OK)
        return PARSE_BAD;
    p->out->has_zone = true;
    p->out->offset_s = offset_s;
    return PARSE_OK;
}

ParseStatus
field_mean_zone(FieldParser *p, const char *text, ParseStatus otherwise)
{
    const Zone *z = zone_find(text);
    if (!z) {
        snprintf(p->out->zone, sizeof p->out->zone, "%s", text);
        return otherwise;
    }
    p->out->named = z;
    return set_offset(p, 0);
}

/* +HH, +HHMM, +HH:MM, +HH:MM:SS */
ParseStatus
field_mean_offset(FieldParser *p, const char *text)
{
    i32 hours, minutes = 0, seconds = 0;
    const char *end;
    if (text[0] != '+' && text[0] != '-')
        return PARSE_BAD;
    if (!read_int(text + 1, &hours, &end))
        return PARSE_ZONE_RANGE;
    if (*end == ':') {
        if (!read_int(end + 1, &minutes, &end))
            return PARSE_ZONE_RANGE;
        if (*end == ':' && !read_int(end + 1, &seconds, &end))
            return PARSE_ZONE_RANGE;
    } else if (*end == 0 && strlen(text) > 3) {
        minutes = hours % 100;
        hours /= 100;
    }
    if (hours > 15 || minutes > 59 || seconds > 59)
        return PARSE_ZONE_RANGE;
    if (*end != 0)
        return PARSE_BAD;
    i32 offset = (hours * 60 + minutes) * 60 + seconds;
    return set_offset(p, text[0] == '-' ? -offset : offset);
}

static ParseStatus
set_julian(FieldParser *p, i32 value)
{
    i64 days = (i64)value - 2451545;
    if (!date_valid(days))
        return PARSE_RANGE;
    CivilDate d = date_to_civil((i32)days);
    p->out->t.year = d.year;
    p->out->t.month = d.month;
    p->out->t.day = d.day;
    p->julian = true;
    return field_learn(p, KNOWN_FULL_DATE);
}

/* The number after J: a Julian day, with a fraction for the time of day or an offset behind it. */
ParseStatus
field_mean_julian(FieldParser *p, const char *text)
{
    const char *end;
    i32 value;
    if (text[0] == '.' || !read_int(text, &value, &end))
        return PARSE_RANGE;
    ParseStatus status = set_julian(p, value);
    if (status != PARSE_OK || *end == 0 || strcmp(end, ".") == 0)
        return status;
    if (*end != '.')
        return field_set_clock(p, 0, 0, 0, 0) == PARSE_OK ? field_mean_offset(p, end) : PARSE_BAD;
    char *stop;
    double fraction = strtod(end, &stop);
    if (*stop != 0)
        return PARSE_BAD;
    CivilTime t = timestamp_to_civil((i64)(fraction * USEC_PER_DAY));
    return field_set_clock(p, t.hour, t.minute, t.second, t.usec);
}

/* A date field when the date is complete: a time with its offset (hhmmss-zz), or the name of a zone. */
static ParseStatus
mean_zone_or_run(FieldParser *p, char *text)
{
    if (!is_digit(text[0]) && p->expect == WORD_UNKNOWN)
        return field_mean_zone(p, text, PARSE_ZONE_NAME);
    WordKind expect = p->expect;
    p->expect = WORD_UNKNOWN;
    if (expect == WORD_JULIAN_DAY)
        return field_mean_julian(p, text);
    char *sign = strchr(text, '-');
    if (!sign || (p->known & KNOWN_CLOCK))
        return PARSE_BAD;
    ParseStatus status = field_mean_offset(p, sign);
    *sign = 0;
    return status == PARSE_OK ? field_mean_run(p, text, false) : status;
}

static ParseStatus
mean_expected(FieldParser *p, char *text)
{
    WordKind expect = p->expect;
    p->expect = WORD_UNKNOWN;
    return expect == WORD_JULIAN_DAY ? field_mean_julian(p, text) : field_mean_run(p, text, true);
}

static ParseStatus
mean_month_word(FieldParser *p, i32 month)
{
    /* A number before the name was taken for the month: it is the day. */
    if ((p->known & KNOWN_MONTH) && !p->month_by_name && !(p->known & KNOWN_DAY) && p->out->t.month >= 1 &&
        p->out->t.month <= 31) {
        p->out->t.day = p->out->t.month;
        p->out->t.month = month;
        p->month_by_name = true;
        return field_learn(p, KNOWN_DAY);
    }
    p->month_by_name = true;
    return set_month(p, month);
}

static ParseStatus
mean_day_offset(FieldParser *p, i32 offset)
{
    CivilDate d = date_to_civil(p->today_days + offset);
    p->out->t.year = d.year;
    p->out->t.month = d.month;
    p->out->t.day = d.day;
    return field_learn(p, KNOWN_FULL_DATE);
}

static ParseStatus
mean_whole(FieldParser *p, ParsedKind kind)
{
    p->out->kind = kind;
    return field_learn(p, KNOWN_FULL_DATE | KNOWN_CLOCK | KNOWN_ZONE);
}

static ParseStatus
mean_word(FieldParser *p, const char *text)
{
    i32 value;
    WordKind kind = dateword_find(text, &value);
    switch (kind) {
    case WORD_MONTH:
        return mean_month_word(p, value);
    case WORD_WEEKDAY:
        return field_learn(p, KNOWN_WEEKDAY);
    case WORD_HALF_DAY:
        p->half_day = true;
        p->pm = value == 12;
        return field_learn(p, KNOWN_HALF);
    case WORD_ERA:
        p->bc = value == 1;
        return field_learn(p, KNOWN_ERA);
    case WORD_NOW:
        return mean_whole(p, PARSED_NOW);
    case WORD_EPOCH:
        return mean_whole(p, PARSED_EPOCH);
    case WORD_INFINITE:
        return mean_whole(p, value > 0 ? PARSED_POS_INF : PARSED_NEG_INF);
    case WORD_DAY_OFFSET:
        return mean_day_offset(p, value);
    case WORD_MIDNIGHT_UTC:
        return field_set_clock(p, 0, 0, 0, 0) == PARSE_OK ? set_offset(p, 0) : PARSE_BAD;
    case WORD_ZONE:
        return set_offset(p, value);
    case WORD_ISO_TIME:
        if ((p->known & KNOWN_FULL_DATE) != KNOWN_FULL_DATE)
            return PARSE_BAD;
        __attribute__((fallthrough));
    case WORD_JULIAN_DAY:
        if (p->expect != WORD_UNKNOWN)
            return PARSE_BAD;
        p->expect = kind;
        return PARSE_OK;
    case WORD_IGNORED:
        return PARSE_OK;
    case WORD_UNKNOWN:
        return field_mean_zone(p, text, PARSE_BAD);
    }
    return PARSE_BAD;
}

static ParseStatus
mean_number_field(FieldParser *p, char *text)
{
    if (p->expect != WORD_UNKNOWN)
        return mean_expected(p, text);
    size_t len = strlen(text);
    char *point = strchr(text, '.');
    bool dated = p->known & KNOWN_FULL_DATE;
    if (point && !dated)
        return field_mean_date(p, text);
    if (point && point - text > 2)
        return field_mean_run(p, text, false);
    if (len >= 6 && (!dated || !(p->known & KNOWN_CLOCK)))
        return field_mean_run(p, text, false);
    return field_mean_number(p, text);
}

static ParseStatus
mean_field(FieldParser *p, const Field *field)
{
    char *text = field->text;
    switch (field->kind) {
    case FIELD_AS_NUMBER:
        return mean_number_field(p, text);
    case FIELD_AS_DATE:
        if ((p->known & (KNOWN_MONTH | KNOWN_DAY)) == (KNOWN_MONTH | KNOWN_DAY) || p->expect != WORD_UNKNOWN)
            return mean_zone_or_run(p, text);
        return field_mean_date(p, text);
    case FIELD_AS_TIME:
        if (p->expect == WORD_JULIAN_DAY)
            return PARSE_BAD;
        p->expect = WORD_UNKNOWN;
        return field_mean_time(p, text);
    case FIELD_AS_OFFSET:
        return field_mean_offset(p, text);
    case FIELD_AS_WORD:
        break;
    }
    return mean_word(p, text);
}

/* ---- checking the whole ---- */

static i32
days_in_month(i32 year, i32 month)
{
    static const u8 DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return DAYS[month - 1] + (month == 2 && leap);
}

ParseStatus
field_check_date(FieldParser *p)
{
    CivilTime *t = &p->out->t;
    if ((p->known & KNOWN_YEAR) && !p->julian) {
        if (p->bc) {
            if (t->year <= 0)
                return PARSE_RANGE;
            t->year = -(t->year - 1);
        } else if (p->two_digit_year) {
            if (t->year < 100)
                t->year += t->year < 70 ? 2000 : 1900;
        } else if (t->year <= 0) {
            return PARSE_RANGE;
        }
    }
    if (p->known & KNOWN_DAY_OF_YEAR) {
        CivilDate d = date_to_civil(date_from_civil(t->year, 1, 1) + p->day_of_year - 1);
        t->year = d.year;
        t->month = d.month;
        t->day = d.day;
    }
    if (((p->known & KNOWN_MONTH) && (t->month < 1 || t->month > 12)) ||
        ((p->known & KNOWN_DAY) && (t->day < 1 || t->day > 31)))
        return PARSE_RANGE_MD;
    if ((p->known & KNOWN_FULL_DATE) == KNOWN_FULL_DATE && t->day > days_in_month(t->year, t->month))
        return PARSE_RANGE;
    return PARSE_OK;
}

ParseStatus
field_check_clock(FieldParser *p)
{
    CivilTime *t = &p->out->t;
    if (t->hour > 24 || (t->hour == 24 && (t->minute > 0 || t->second > 0 || t->usec > 0)) || t->minute > 59 ||
        t->second > 60)
        return PARSE_RANGE;
    if (!p->half_day)
        return PARSE_OK;
    if (t->hour > 12)
        return PARSE_RANGE;
    if (!p->pm && t->hour == 12)
        t->hour = 0;
    else if (p->pm && t->hour != 12)
        t->hour += 12;
    return PARSE_OK;
}

ParseStatus
fields_parse(Str in, DateOrder order, i32 today_days, Parsed *ret)
{
    FieldParser p;
    memset(&p, 0, sizeof p);
    memset(ret, 0, sizeof *ret);
    p.today_days = today_days;
    p.order = order;
    p.out = ret;
    in = text_trim(in);
    if (!fields_cut(in, &p.cut))
        return PARSE_BAD;
    for (u32 i = 0; i < p.cut.count; i++) {
        ParseStatus status = mean_field(&p, &p.cut.fields[i]);
        if (status != PARSE_OK)
            return status;
    }
    if (p.expect != WORD_UNKNOWN)
        return PARSE_BAD;
    if (ret->kind != PARSED_TIME)
        return PARSE_OK;
    ParseStatus status = field_check_date(&p);
    if (status == PARSE_OK)
        status = field_check_clock(&p);
    if (status == PARSE_OK && (p.known & KNOWN_FULL_DATE) != KNOWN_FULL_DATE)
        status = PARSE_BAD;
    return status;
}
