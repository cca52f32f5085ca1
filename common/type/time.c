/*
 * time.c
 *    Times of day, without and with a zone: text forms, and how timetz is packed.
 *
 * A time is microseconds since midnight, 0 … 24:00:00. A timetz is a time and its zone; PostgreSQL orders by the moment in UTC, then by the
 * zone. Packed as a Pair of both, each biased to be unsigned, that order is the order of the number, and equality that of its bits.
 */
#include "common/type/datetime_in.h"

#define SIGN_BIT (1ull << 63)

Pair
timetz_pack(i64 time_us, i32 offset_s)
{
    i64 west_s = -(i64)offset_s;
    return (Pair){(u64)(time_us + west_s * 1000000) ^ SIGN_BIT, (u64)west_s ^ SIGN_BIT};
}

i64
timetz_unpack(const Pair *p, i32 *ret_offset_s)
{
    i64 west_s = (i64)(p->lo ^ SIGN_BIT);
    *ret_offset_s = (i32)-west_s;
    return (i64)(p->hi ^ SIGN_BIT) - west_s * 1000000;
}

bool
time_valid(i64 us)
{
    return us >= 0 && us <= USEC_PER_DAY;
}

bool
timetz_valid(const Pair *p)
{
    u64 west_s = p->lo ^ SIGN_BIT;
    if (west_s + (ZONE_SPEC_LIMIT_S - 1) > 2 * (ZONE_SPEC_LIMIT_S - 1))
        return false;
    i32 offset_s;
    u64 utc = p->hi ^ SIGN_BIT;
    return utc + 7 * (u64)USEC_PER_DAY <= 15 * (u64)USEC_PER_DAY && time_valid(timetz_unpack(p, &offset_s));
}

/* HH:MM:SS[.f] and nothing else. */
static bool
iso_time(Str in, i64 *ret)
{
    const char *s = in.ptr;
    if (in.len < 8 || s[2] != ':' || s[5] != ':')
        return false;
    i64 part[3], unit = 100000, usec = 0;
    for (u32 k = 0; k < 3; k++) {
        if (!is_digit(s[3 * k]) || !is_digit(s[3 * k + 1]))
            return false;
        part[k] = (s[3 * k] - '0') * 10 + (s[3 * k + 1] - '0');
    }
    u32 i = 8;
    if (i < in.len && s[i] == '.')
        for (i++; i < in.len && is_digit(s[i]) && unit > 0; i++, unit /= 10)
            usec += (s[i] - '0') * unit;
    if (i != in.len || i == 9 || part[0] > 23 || part[1] > 59 || part[2] > 59)
        return false;
    *ret = ((part[0] * 60 + part[1]) * 60 + part[2]) * 1000000 + usec;
    return true;
}

i32
offset_today_s(const TypeFormat *f, i64 time_us)
{
    const Zone *zone = format_zone(f);
    if (!zone)
        return 0;
    i64 now = zone_to_local(zone, format_now_us(f));
    return zone_offset_of_local_s(zone, now - time_of_day(now) + time_us);
}

/* The zone of a text, which names one only beside a date when its offset changes; else the session's, on the date of the text or of today. */
static i32
offset_of_text_s(const TypeFormat *f, const Parsed *p, i64 time_us)
{
    i32 offset_s = 0;
    i64 local;
    if (p->named) {
        if (zone_is_fixed(p->named, &offset_s))
            return offset_s;
    } else if (p->has_zone)
        return p->offset_s;
    if (!p->has_date)
        return offset_today_s(f, time_us);
    const Zone *zone = p->named ? p->named : format_zone(f);
    return zone && timestamp_from_local(&p->t, 0, &local) ? zone_offset_of_local_s(zone, local) : 0;
}

/* *ret_offset_s: the zone of the text or the session's. */
static bool
read_time(const TypeFormat *f, TypeId t, i32 typmod, Str in, i64 *ret, i32 *ret_offset_s, Error *err)
{
    if (iso_time(in, ret)) {
        *ret_offset_s = t == TYPE_TIMETZ ? offset_today_s(f, *ret) : 0;
    } else {
        Parsed p;
        ParseStatus status = fields_parse_time(in, format_order(f), &p);
        if (status != PARSE_OK)
            return datetime_say_why(status, &p, t, in, err);
        if (p.kind == PARSED_NOW)
            *ret = time_of_day(zone_to_local(format_zone(f), format_now_us(f)));
        else
            *ret = (((i64)p.t.hour * 60 + p.t.minute) * 60 + p.t.second) * 1000000 + p.t.usec;
        *ret_offset_s = offset_of_text_s(f, &p, *ret);
    }
    *ret = timestamp_typmod(*ret, typmod);
    return true;
}

bool
time_in(const TypeFormat *f, i32 typmod, Str in, i64 *ret, Error *err)
{
    i32 unused;
    return read_time(f, TYPE_TIME, typmod, in, ret, &unused, err);
}

bool
timetz_in(const TypeFormat *f, i32 typmod, Str in, Pair *ret, Error *err)
{
    i64 us;
    i32 offset_s;
    if (!read_time(f, TYPE_TIMETZ, typmod, in, &us, &offset_s, err))
        return false;
    *ret = timetz_pack(us, offset_s);
    return true;
}

u32
time_out(i64 us, char *to)
{
    u32 seconds = (u32)(us / 1000000), usec = (u32)(us % 1000000), len = 8;
    memcpy(to, DIGIT_PAIRS + 2 * (seconds / 3600), 2);
    to[2] = ':';
    memcpy(to + 3, DIGIT_PAIRS + 2 * (seconds / 60 % 60), 2);
    to[5] = ':';
    memcpy(to + 6, DIGIT_PAIRS + 2 * (seconds % 60), 2);
    if (usec) {
        to[len++] = '.';
        digits_fixed(usec, 6, to + len);
        for (len += 6; to[len - 1] == '0';)
            len--;
    }
    return len;
}

u32
timetz_out(const Pair *p, char *to)
{
    i32 offset_s;
    u32 len = time_out(timetz_unpack(p, &offset_s), to);
    return len + offset_out(offset_s, to + len);
}

i64
time_of_day(i64 local_us)
{
    i64 within = local_us % USEC_PER_DAY;
    return within < 0 ? within + USEC_PER_DAY : within;
}
