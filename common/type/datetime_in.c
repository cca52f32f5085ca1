/*
 * datetime_in.c
 *    Text to date, timestamp and timestamptz: a straight path for the ISO forms that loads consist of, fields.c
 *    for the rest.
 *
 * A timestamp ignores a zone in its text; a timestamptz without one is in the session's. 'now' reads the clock of
 * env.
 */
#include "common/type/datetime_in.h"

/* What PostgreSQL calls the type in these messages. */
static const char *
input_name(TypeId t)
{
    return t == TYPE_TIMESTAMP ? "timestamp" : t == TYPE_TIME ? "time" : type_name(t);
}

bool
datetime_say_why(ParseStatus status, const Parsed *p, TypeId t, Str in, Error *err)
{
    Str s = text_shown(in);
    int len = (int)s.len;
    switch (status) {
    case PARSE_RANGE:
    case PARSE_RANGE_MD:
        error_set(err, ERR_DATETIME_OVERFLOW, "date/time field value out of range: \"%.*s\"", len, s.ptr);
        if (status == PARSE_RANGE_MD && err)
            error_hint(err, "Perhaps you need a different \"datestyle\" setting.");
        return false;
    case PARSE_ZONE_RANGE:
        return error_set(err, ERR_INVALID_TIME_ZONE, "time zone displacement out of range: \"%.*s\"", len, s.ptr);
    case PARSE_ZONE_NAME:
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "time zone \"%s\" not recognized", p->zone);
    case PARSE_OK:
    case PARSE_BAD:
        break;
    }
    return error_set(err, ERR_INVALID_DATETIME_FORMAT, "invalid input syntax for type %s: \"%.*s\"", input_name(t), len,
                     s.ptr);
}

static i32
day_of(i64 us)
{
    return (i32)(us / USEC_PER_DAY - (us % USEC_PER_DAY < 0));
}

static bool
pair_at(const char *s, i32 *ret)
{
    *ret = (s[0] - '0') * 10 + (s[1] - '0');
    return is_digit(s[0]) && is_digit(s[1]);
}

static bool
valid_day(i32 year, i32 month, i32 day)
{
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > 31)
        return false;
    if (day <= 28)
        return true;
    CivilDate d = date_to_civil(date_from_civil(year, month, day));
    return d.day == day;
}

/* YYYY-MM-DD and nothing else. */
static bool
iso_date(Str in, i32 *ret)
{
    i32 century, year, month, day;
    const char *s = in.ptr;
    if (in.len != 10 || s[4] != '-' || s[7] != '-' || !pair_at(s, &century) || !pair_at(s + 2, &year) ||
        !pair_at(s + 5, &month) || !pair_at(s + 8, &day) || !valid_day(century * 100 + year, month, day))
        return false;
    *ret = date_from_civil(century * 100 + year, month, day);
    return true;
}

/* YYYY-MM-DD HH:MM:SS[.f] with up to six decimals, blank or T between, optionally Z or +HH at the end. */
static bool
iso_timestamp(Str in, i64 *ret, bool *ret_zone, i32 *ret_offset_s)
{
    i32 days, hour, minute, second;
    const char *s = in.ptr;
    u32 i = 19;
    if (in.len < i || (s[10] != ' ' && s[10] != 'T') || s[13] != ':' || s[16] != ':' || !pair_at(s + 11, &hour) ||
        !pair_at(s + 14, &minute) || !pair_at(s + 17, &second) || hour > 23 || minute > 59 || second > 59 ||
        !iso_date((Str){s, 10}, &days))
        return false;
    i64 usec = 0;
    if (i < in.len && s[i] == '.') {
        i64 unit = 100000;
        for (i++; i < in.len && is_digit(s[i]) && unit > 0; i++, unit /= 10)
            usec += (s[i] - '0') * unit;
        if (i == 20)
            return false;
    }
    *ret_zone = false;
    if (i + 1 == in.len && s[i] == 'Z') {
        *ret_zone = true;
        *ret_offset_s = 0;
        i++;
    } else if (i + 3 == in.len && (s[i] == '+' || s[i] == '-')) {
        i32 hours;
        if (!pair_at(s + i + 1, &hours) || hours > 15)
            return false;
        *ret_zone = true;
        *ret_offset_s = s[i] == '-' ? -hours * 3600 : hours * 3600;
        i += 3;
    }
    if (i != in.len)
        return false;
    *ret = days * USEC_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000000LL + usec;
    return true;
}

bool
date_in(const TypeFormat *f, Str in, i32 *ret, Error *err)
{
    if (iso_date(in, ret))
        return true;
    Parsed p;
    i64 now = zone_to_local(format_zone(f), format_now_us(f));
    ParseStatus status = fields_parse(in, format_order(f), day_of(now), &p);
    if (status != PARSE_OK)
        return datetime_say_why(status, &p, TYPE_DATE, in, err);
    switch (p.kind) {
    case PARSED_NOW:
        *ret = day_of(now);
        return true;
    case PARSED_EPOCH:
        *ret = date_from_civil(1970, 1, 1);
        return true;
    case PARSED_POS_INF:
        *ret = DATE_POS_INF;
        return true;
    case PARSED_NEG_INF:
        *ret = DATE_NEG_INF;
        return true;
    case PARSED_TIME:
        break;
    }
    bool in_range = p.t.year >= -4713 && p.t.year <= 5874897;
    i32 days = in_range ? date_from_civil(p.t.year, p.t.month, p.t.day) : 0;
    if (!in_range || !date_valid(days)) {
        Str shown = text_shown(in);
        return error_set(err, ERR_DATETIME_OVERFLOW, "date out of range: \"%.*s\"", (int)shown.len, shown.ptr);
    }
    *ret = days;
    return true;
}

/* From a parsed text; false: outside the range of timestamps. */
static bool
to_timestamp(const TypeFormat *f, TypeId t, const Parsed *p, i64 now, i64 *ret)
{
    switch (p->kind) {
    case PARSED_NOW:
        *ret = t == TYPE_TIMESTAMPTZ ? now : zone_to_local(format_zone(f), now);
        return true;
    case PARSED_EPOCH:
        *ret = date_from_civil(1970, 1, 1) * USEC_PER_DAY;
        return true;
    case PARSED_POS_INF:
        *ret = TS_POS_INF;
        return true;
    case PARSED_NEG_INF:
        *ret = TS_NEG_INF;
        return true;
    case PARSED_TIME:
        break;
    }
    if (t == TYPE_TIMESTAMP)
        return timestamp_from_local(&p->t, 0, ret);
    if (p->has_zone && !p->named)
        return timestamp_from_local(&p->t, p->offset_s * 1000000LL, ret);
    return timestamp_from_zone(&p->t, p->named ? p->named : format_zone(f), ret);
}

bool
timestamp_in(const TypeFormat *f, TypeId t, i32 typmod, Str in, i64 *ret, Error *err)
{
    bool has_zone;
    i32 offset_s = 0;
    i64 us;
    if (iso_timestamp(in, &us, &has_zone, &offset_s)) {
        if (t == TYPE_TIMESTAMPTZ)
            us = has_zone ? us - offset_s * 1000000LL : zone_to_utc(format_zone(f), us);
    } else {
        Parsed p;
        i64 now = format_now_us(f);
        ParseStatus status = fields_parse(in, format_order(f), day_of(zone_to_local(format_zone(f), now)), &p);
        if (status != PARSE_OK)
            return datetime_say_why(status, &p, t, in, err);
        if (!to_timestamp(f, t, &p, now, &us)) {
            Str shown = text_shown(in);
            return error_set(err, ERR_DATETIME_OVERFLOW, "timestamp out of range: \"%.*s\"", (int)shown.len, shown.ptr);
        }
    }
    *ret = timestamp_typmod(us, typmod);
    return true;
}
