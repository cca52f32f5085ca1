/*
 * datetime.c
 *    The calendar and the text forms of dates and timestamps (ISO, as PostgreSQL's DateStyle ISO).
 *
 * Days count from 2000-01-01; the calendar is the proleptic Gregorian one with a year 0 = 1 BC inside and BC on
 * paper. The conversion works on 400-year eras that begin on 1 March, so that the leap day is the last of a year.
 */
#include "common/type/inside.h"

enum {
    ERA_DAYS = 146097,
    EPOCH_SHIFT = 730425, /* days from 0000-03-01 to 2000-01-01 */
    JULIAN_EPOCH = 2451545, /* Julian day of 2000-01-01 */
};

i32
date_from_civil(i32 year, i32 month, i32 day)
{
    i64 y = (i64)year - (month <= 2);
    i64 era = (y >= 0 ? y : y - 399) / 400;
    i64 year_of_era = y - era * 400;
    i64 day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    i64 day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return (i32)(era * ERA_DAYS + day_of_era - EPOCH_SHIFT);
}

CivilDate
date_to_civil(i32 days)
{
    i64 z = (i64)days + EPOCH_SHIFT;
    i64 era = (z >= 0 ? z : z - (ERA_DAYS - 1)) / ERA_DAYS;
    u32 day_of_era = (u32)(z - era * ERA_DAYS);
    u32 year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    u32 day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    u32 shifted = (5 * day_of_year + 2) / 153; /* months since March */
    CivilDate c;
    c.day = (i32)(day_of_year - (153 * shifted + 2) / 5 + 1);
    c.month = (i32)(shifted < 10 ? shifted + 3 : shifted - 9);
    c.year = (i32)(era * 400 + year_of_era) + (c.month <= 2);
    return c;
}

CivilTime
timestamp_to_civil(i64 us)
{
    i64 days = us / USEC_PER_DAY, rest = us % USEC_PER_DAY;
    if (rest < 0) {
        rest += USEC_PER_DAY;
        days--;
    }
    CivilDate d = date_to_civil((i32)days);
    u32 seconds = (u32)(rest / 1000000);
    return (CivilTime){.year = d.year, .month = d.month, .day = d.day, .hour = (i32)(seconds / 3600),
                       .minute = (i32)(seconds / 60 % 60), .second = (i32)(seconds % 60), .usec = (i32)(rest % 1000000)};
}

bool
date_valid(i64 days)
{
    /* Julian day 0 (4714-11-24 BC) up to 5874897-12-31. */
    return days >= -JULIAN_EPOCH && days < 2147483494LL - JULIAN_EPOCH;
}

bool
timestamp_valid(i64 us)
{
    return us >= -211813488000000000LL && us < 9223371331200000000LL;
}

/* Microseconds of a wall clock, which may be beyond the range of timestamps; false: far beyond it. */
static bool
clock_us(const CivilTime *t, i64 *ret)
{
    i64 time = (((i64)t->hour * 60 + t->minute) * 60 + t->second) * 1000000 + t->usec;
    /* a zone may bring the ends of these years into the range */
    return t->year >= -4714 && t->year <= 294277 && !__builtin_mul_overflow((i64)date_from_civil(t->year, t->month, t->day), USEC_PER_DAY, ret) &&
           !__builtin_add_overflow(*ret, time, ret);
}

bool
timestamp_from_local(const CivilTime *t, i64 offset_us, i64 *ret_us)
{
    i64 us;
    if (!clock_us(t, &us) || __builtin_sub_overflow(us, offset_us, &us) || !timestamp_valid(us))
        return false;
    *ret_us = us;
    return true;
}

bool
timestamp_from_zone(const CivilTime *t, const Zone *zone, i64 *ret_us)
{
    i64 us;
    return clock_us(t, &us) && timestamp_from_local(t, zone ? zone_offset_of_local_s(zone, us) * 1000000LL : 0, ret_us);
}

bool
timestamp_from_civil(const CivilTime *t, i64 *ret_us)
{
    return timestamp_from_local(t, 0, ret_us);
}

i64
timestamp_typmod(i64 us, i32 typmod)
{
    static const i64 UNITS[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (typmod < 0 || typmod >= 6 || us == TS_NEG_INF || us == TS_POS_INF)
        return us;
    i64 unit = UNITS[typmod];
    return us >= 0 ? (us + unit / 2) / unit * unit : -((-us + unit / 2) / unit * unit);
}

/* ---- text ---- */

/* At least four digits; the era comes at the very end of a text. */
static u32
put_year(i32 year, char *to)
{
    u32 y = (u32)(year > 0 ? year : 1 - year);
    if (UNLIKELY(y >= 10000))
        return digits_u64(y, to);
    digits_fixed(y, 4, to);
    return 4;
}

/* YYYY-MM-DD */
static u32
put_date(CivilDate d, char *to)
{
    u32 len = put_year(d.year, to);
    to[len] = '-';
    memcpy(to + len + 1, DIGIT_PAIRS + 2 * d.month, 2);
    to[len + 3] = '-';
    memcpy(to + len + 4, DIGIT_PAIRS + 2 * d.day, 2);
    return len + 6;
}

static u32
put_era(i32 year, char *to)
{
    if (year > 0)
        return 0;
    memcpy(to, " BC", 3);
    return 3;
}

static u32
put_word(const char *word, char *to)
{
    u32 len = (u32)strlen(word);
    memcpy(to, word, len);
    return len;
}

static DateStyle
style_of(const TypeFormat *f)
{
    return f ? (DateStyle)f->date_style : DATE_STYLE_ISO;
}

static u32
put_pair(u32 v, char separator, char *to)
{
    memcpy(to, DIGIT_PAIRS + 2 * v, 2);
    to[2] = separator;
    return 3;
}

/* Of the styles other than ISO. */
static u32
put_styled_date(const TypeFormat *f, CivilDate d, char *to)
{
    static const char SEPARATORS[] = {[DATE_STYLE_SQL] = '/', [DATE_STYLE_POSTGRES] = '-', [DATE_STYLE_GERMAN] = '.'};
    char separator = SEPARATORS[f->date_style];
    bool day_first = f->date_style == DATE_STYLE_GERMAN || f->date_order == DATE_ORDER_DMY;
    u32 len = put_pair((u32)(day_first ? d.day : d.month), separator, to);
    len += put_pair((u32)(day_first ? d.month : d.day), separator, to + len);
    return len + put_year(d.year, to + len);
}

u32
date_out(const TypeFormat *f, i32 days, char *to)
{
    if (UNLIKELY(days == DATE_POS_INF || days == DATE_NEG_INF))
        return put_word(days == DATE_POS_INF ? "infinity" : "-infinity", to);
    CivilDate d = date_to_civil(days);
    u32 len = LIKELY(style_of(f) == DATE_STYLE_ISO) ? put_date(d, to) : put_styled_date(f, d, to);
    return len + put_era(d.year, to + len);
}

/* Time and fraction without its trailing zeros. */
static u32
put_clock(const CivilTime *t, char *to)
{
    u32 len = put_pair((u32)t->hour, ':', to);
    len += put_pair((u32)t->minute, ':', to + len);
    memcpy(to + len, DIGIT_PAIRS + 2 * t->second, 2);
    len += 2;
    if (t->usec != 0) {
        to[len++] = '.';
        digits_fixed((u32)t->usec, 6, to + len);
        len += 6;
        while (to[len - 1] == '0')
            len--;
    }
    return len;
}

/* "Wed Jan 31 10:20:30 2024" */
static u32
put_postgres(const TypeFormat *f, const CivilTime *t, char *to)
{
    static const char DAYS[] = "SunMonTueWedThuFriSat", MONTHS[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    i32 weekday = (date_from_civil(t->year, t->month, t->day) % 7 + 6 + 7) % 7; /* 2000-01-01 was a Saturday */
    u32 len = 4;
    memcpy(to, DAYS + 3 * weekday, 3);
    to[3] = ' ';
    if (f->date_order == DATE_ORDER_DMY)
        len += put_pair((u32)t->day, ' ', to + len);
    memcpy(to + len, MONTHS + 3 * (t->month - 1), 3);
    to[len + 3] = ' ';
    len += 4;
    if (f->date_order != DATE_ORDER_DMY)
        len += put_pair((u32)t->day, ' ', to + len);
    len += put_clock(t, to + len);
    to[len++] = ' ';
    return len + put_year(t->year, to + len);
}

static u32
put_timestamp(const TypeFormat *f, const CivilTime *t, char *to)
{
    DateStyle style = style_of(f);
    CivilDate d = {t->year, t->month, t->day};
    if (UNLIKELY(style == DATE_STYLE_POSTGRES))
        return put_postgres(f, t, to);
    u32 len = LIKELY(style == DATE_STYLE_ISO) ? put_date(d, to) : put_styled_date(f, d, to);
    to[len++] = ' ';
    return len + put_clock(t, to + len);
}

u32
timestamp_out(const TypeFormat *f, i64 us, char *to)
{
    if (UNLIKELY(us == TS_POS_INF || us == TS_NEG_INF))
        return put_word(us == TS_POS_INF ? "infinity" : "-infinity", to);
    CivilTime t = timestamp_to_civil(us);
    u32 len = put_timestamp(f, &t, to);
    return len + put_era(t.year, to + len);
}

/* +02, +05:30, -00:00:15, +167 */
u32
offset_out(i32 offset_s, char *to)
{
    u32 s = (u32)(offset_s < 0 ? -offset_s : offset_s), len = s < 100 * 3600 ? 3 : 4;
    to[0] = offset_s < 0 ? '-' : '+';
    digits_fixed(s / 3600, len - 1, to + 1);
    if (s % 3600 != 0) {
        to[len] = ':';
        memcpy(to + len + 1, DIGIT_PAIRS + 2 * (s / 60 % 60), 2);
        len += 3;
    }
    if (s % 60 != 0) {
        to[len] = ':';
        memcpy(to + len + 1, DIGIT_PAIRS + 2 * (s % 60), 2);
        len += 3;
    }
    return len;
}

u32
timestamptz_out(const TypeFormat *f, i64 us, char *to)
{
    enum { NAME_SHOWN = 10 };
    const Zone *zone = format_zone(f);
    if (UNLIKELY(us == TS_POS_INF || us == TS_NEG_INF))
        return timestamp_out(f, us, to);
    i32 offset_s = zone ? zone_offset_s(zone, us) : 0;
    /* Cannot overflow: valid timestamps end some days before the range of i64. */
    CivilTime t = timestamp_to_civil(us + (i64)offset_s * 1000000);
    u32 len = put_timestamp(f, &t, to);
    if (LIKELY(style_of(f) == DATE_STYLE_ISO))
        len += offset_out(offset_s, to + len);
    else { /* the abbreviation of the zone, or what stands for one */
        const char *name = zone_abbreviation(zone, us);
        u32 n = (u32)strnlen(name, NAME_SHOWN);
        to[len] = ' ';
        memcpy(to + len + 1, name, n);
        len += 1 + n;
    }
    return len + put_era(t.year, to + len);
}
