/*
 * datefields.c
 *    extract() and date_trunc(): the parts of a date or timestamp, with PostgreSQL's units, scales and centuries.
 *
 * Years inside run …, -1, 0 (= 1 BC), 1, …; what users see has no year 0. Weeks are ISO weeks: they begin on
 * Monday, the first of a year is the one with its first Thursday.
 */
#include "common/type/inside.h"

enum { JULIAN_OF_2000 = 2451545, MONDAY_SHIFT = 5 }; /* 2000-01-01 was a Saturday: 5 days after Monday */

bool
datefield_from_name(Str name, DateField *ret)
{
    static const struct {
        const char *name;
        DateField field;
    } NAMES[] = {
#define DATE_FIELD(name, field) {name, FIELD_##field},
#include "common/type/datefields.def"
    };
    for (u32 i = 0; i < COUNT_OF(NAMES); i++)
        if (text_is(name, NAMES[i].name)) {
            *ret = NAMES[i].field;
            return true;
        }
    return false;
}

static i32
floor_div(i32 a, i32 b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* 0 = Monday. */
static i32
weekday(i32 days)
{
    return (i32)((((i64)days + MONDAY_SHIFT) % 7 + 7) % 7);
}

static i32
day_of(i64 us)
{
    return (i32)(us / USEC_PER_DAY - (us % USEC_PER_DAY < 0));
}

/* First day of the ISO year. */
static i32
iso_year_start(i32 year)
{
    i32 fourth = date_from_civil(year, 1, 4);
    return fourth - weekday(fourth);
}

static i32
iso_year_of(i32 days)
{
    i32 year = date_to_civil(days).year;
    if (days < iso_year_start(year))
        return year - 1;
    return days >= iso_year_start(year + 1) ? year + 1 : year;
}

/* First year of the run of `span` years (100, 1000) that year lies in; runs begin at year 1. */
static i32
span_start(i32 year, i32 span)
{
    return year > 0 ? (year - 1) / span * span + 1 : -((span - 1 - (year - 1)) / span) * span + 1;
}

/* 1 for the first century after Christ, -1 for the first before. */
static i32
span_number(i32 year, i32 span)
{
    return year > 0 ? (year + span - 1) / span : -((span - 1 - (year - 1)) / span);
}

static i32
decade_of(i32 year)
{
    return year >= 0 ? year / 10 : -((8 - (year - 1)) / 10);
}

bool
timestamp_trunc(DateField f, i64 us, i64 *ret)
{
    bool finite = us != TS_NEG_INF && us != TS_POS_INF;
    CivilTime t = finite ? timestamp_to_civil(us) : (CivilTime){.year = 2000};
    i32 year = t.year, month = 1, days = finite ? day_of(us) : 0;
    i64 within = finite ? us - days * USEC_PER_DAY : 0, unit = USEC_PER_DAY;
    switch (f) {
    case FIELD_MICROSECONDS:
        unit = 1;
        break;
    case FIELD_MILLISECONDS:
        unit = 1000;
        break;
    case FIELD_SECOND:
        unit = 1000000;
        break;
    case FIELD_MINUTE:
        unit = 60000000LL;
        break;
    case FIELD_HOUR:
        unit = 3600000000LL;
        break;
    case FIELD_DAY:
        break;
    case FIELD_WEEK:
        days -= weekday(days);
        break;
    case FIELD_MONTH:
        days -= t.day - 1;
        break;
    case FIELD_QUARTER:
        month = (t.month - 1) / 3 * 3 + 1;
        days = date_from_civil(year, month, 1);
        break;
    case FIELD_YEAR:
        days = date_from_civil(year, 1, 1);
        break;
    case FIELD_DECADE:
        days = date_from_civil(floor_div(year, 10) * 10, 1, 1);
        break;
    case FIELD_CENTURY:
        days = date_from_civil(span_start(year, 100), 1, 1);
        break;
    case FIELD_MILLENNIUM:
        days = date_from_civil(span_start(year, 1000), 1, 1);
        break;
    default:
        return false;
    }
    i64 start = finite ? days * USEC_PER_DAY + within / unit * unit : us;
    if (finite && !timestamp_valid(start))
        return false;
    *ret = start;
    return true;
}

/* Fields of the time of day and of the zone. */
static bool
extract_clock(DateField f, i64 local, i32 tz_offset_s, Num *ret)
{
    i64 within = local - day_of(local) * USEC_PER_DAY, in_minute = within % 60000000LL;
    switch (f) {
    case FIELD_MICROSECONDS:
        *ret = num_make(in_minute, 0);
        return true;
    case FIELD_MILLISECONDS:
        *ret = num_make(in_minute, 3);
        return true;
    case FIELD_SECOND:
        *ret = num_make(in_minute, 6);
        return true;
    case FIELD_MINUTE:
        *ret = num_make(within / 60000000LL % 60, 0);
        return true;
    case FIELD_HOUR:
        *ret = num_make(within / 3600000000LL, 0);
        return true;
    case FIELD_TIMEZONE:
        *ret = num_make(tz_offset_s, 0);
        return true;
    case FIELD_TIMEZONE_HOUR:
        *ret = num_make(tz_offset_s / 3600, 0);
        return true;
    case FIELD_TIMEZONE_MINUTE:
        *ret = num_make(tz_offset_s % 3600 / 60, 0);
        return true;
    default:
        return false;
    }
}

bool
time_extract(DateField f, i64 us, Num *ret)
{
    if (f == FIELD_TIMEZONE || f == FIELD_TIMEZONE_HOUR || f == FIELD_TIMEZONE_MINUTE)
        return false;
    if (f == FIELD_EPOCH) {
        *ret = num_make(us, 6);
        return true;
    }
    if (f == FIELD_HOUR) { /* up to 24 */
        *ret = num_make(us / 3600000000LL, 0);
        return true;
    }
    return extract_clock(f, us, 0, ret);
}

bool
timetz_extract(DateField f, const Pair *p, Num *ret)
{
    i32 offset_s;
    i64 us = timetz_unpack(p, &offset_s);
    if (f == FIELD_EPOCH) {
        *ret = num_make(us - (i64)offset_s * 1000000, 6);
        return true;
    }
    return time_extract(f, us, ret) || extract_clock(f, 0, offset_s, ret);
}

/* Fields that a date has too. */
static bool
extract_date(DateField f, i32 days, i64 *ret)
{
    CivilDate d = date_to_civil(days);
    switch (f) {
    case FIELD_DAY:
        *ret = d.day;
        return true;
    case FIELD_WEEK:
        *ret = (days - iso_year_start(iso_year_of(days))) / 7 + 1;
        return true;
    case FIELD_MONTH:
        *ret = d.month;
        return true;
    case FIELD_QUARTER:
        *ret = (d.month - 1) / 3 + 1;
        return true;
    case FIELD_YEAR:
        *ret = d.year > 0 ? d.year : d.year - 1;
        return true;
    case FIELD_DECADE:
        *ret = decade_of(d.year);
        return true;
    case FIELD_CENTURY:
        *ret = span_number(d.year, 100);
        return true;
    case FIELD_MILLENNIUM:
        *ret = span_number(d.year, 1000);
        return true;
    case FIELD_DOW:
        *ret = (weekday(days) + 1) % 7;
        return true;
    case FIELD_ISODOW:
        *ret = weekday(days) + 1;
        return true;
    case FIELD_DOY:
        *ret = days - date_from_civil(d.year, 1, 1) + 1;
        return true;
    case FIELD_ISOYEAR:
        *ret = iso_year_of(days);
        *ret -= *ret <= 0;
        return true;
    case FIELD_JULIAN:
        *ret = (i64)days + JULIAN_OF_2000;
        return true;
    default:
        return false;
    }
}

/* Of an infinity: infinite where the field only grows with time, NULL (here NaN) where it repeats. */
static bool
extract_infinite(DateField f, i64 us, bool has_time, Num *ret)
{
    i64 unused;
    Num unused_num;
    switch (f) {
    case FIELD_YEAR:
    case FIELD_DECADE:
    case FIELD_CENTURY:
    case FIELD_MILLENNIUM:
    case FIELD_JULIAN:
    case FIELD_ISOYEAR:
    case FIELD_EPOCH:
        *ret = (Num){.kind = us == TS_POS_INF ? NUM_POS_INF : NUM_NEG_INF};
        return true;
    default:
        if (!extract_date(f, 0, &unused) && !(has_time && extract_clock(f, 0, 0, &unused_num)))
            return false;
        *ret = (Num){.kind = NUM_NAN};
        return true;
    }
}

bool
timestamp_extract(DateField f, i64 us, bool has_time, i32 tz_offset_s, Num *ret)
{
    if (us == TS_NEG_INF || us == TS_POS_INF)
        return extract_infinite(f, us, has_time, ret);
    i64 local = us + (i64)tz_offset_s * 1000000, whole;
    if (f == FIELD_EPOCH) {
        i64 epoch_us = us - date_from_civil(1970, 1, 1) * USEC_PER_DAY;
        *ret = has_time ? num_make(epoch_us, 6) : num_make(epoch_us / 1000000, 0);
        return true;
    }
    if (extract_date(f, day_of(local), &whole)) {
        Num part, day = num_make(whole, 0);
        *ret = day;
        if (f != FIELD_JULIAN || !has_time)
            return true;
        return num_avg(local - day_of(local) * USEC_PER_DAY, 0, USEC_PER_DAY, &part) == NUM_OK &&
               num_add(&day, &part, ret) == NUM_OK;
    }
    return has_time && extract_clock(f, local, tz_offset_s, ret);
}
