/*
 * copy_value.c
 *    Values of COPY's text formats into the vectors: digits straight to integers and decimals, ISO dates, and value_in for all other spellings.
 *
 * The fast readers accept only what they read exactly as value_in would, and only when a delimiter or line end follows; for everything else
 * they return NULL and nothing is stored. They rely on the region's last byte being a line end.
 */
#include "backend/net/copy_in.h"

#include "backend/throw.h"
#include "common/type/datetime.h"
#include "common/type/numeric.h"
#include "common/type/zone.h"

enum { HEAP_BYTES = 64 * 1024, HEAP_SHARE_MAX = 16 * 1024 };

#define STORE(f, c, T, v) (((T *)(void *)(f)->data)[(c)->row] = (v))

static inline bool
stops(const CopyIn *c, u8 ch)
{
    return ch == c->delimiter || COPY_LINE_END(ch);
}

/* Digits from p; too many for 18 places: NULL. */
static inline const u8 *
read_digits(const u8 *p, u64 *v)
{
    const u8 *start = p;
    u64 n = *v;
    for (u32 d; (d = (u32)*p - '0') <= 9; p++)
        n = n * 10 + d;
    *v = n;
    return p - start <= 18 ? p : NULL;
}

static const u8 *
read_int(const CopyIn *c, const u8 *p, i64 *ret)
{
    bool negative = *p == '-';
    u64 v = 0;
    const u8 *start = p + negative, *end = read_digits(start, &v);
    if (!end || end == start || !stops(c, *end))
        return NULL;
    *ret = negative ? -(i64)v : (i64)v;
    return end;
}

/* [-]digits[.digits], at most 18 digits in all. */
static const u8 *
read_decimal(const CopyIn *c, const u8 *p, bool *negative, u64 *mantissa, u32 *scale)
{
    *negative = *p == '-';
    *mantissa = 0;
    const u8 *start = p + *negative, *end = read_digits(start, mantissa);
    if (!end || end == start)
        return NULL;
    *scale = 0;
    if (*end == '.') {
        const u8 *fraction = end + 1;
        end = read_digits(fraction, mantissa);
        if (!end || end == fraction || end - start > 19)
            return NULL;
        *scale = (u32)(end - fraction);
    }
    return stops(c, *end) ? end : NULL;
}

static const u8 *
fast_decimal(CopyIn *c, CopyField *f, const u8 *p)
{
    bool negative;
    u64 m;
    u32 scale;
    const u8 *end = read_decimal(c, p, &negative, &m, &scale);
    if (!end)
        return NULL;
    if (f->fast == FAST_NUM) {
        STORE(f, c, Num, num_make(negative ? -(i128)m : (i128)m, scale));
        return end;
    }
    if (scale > f->scale)
        return NULL;
    i128 v = (i128)m * POW10_I128[f->scale - scale];
    if (f->fast == FAST_D128) {
        if (v >= POW10_I128[numeric_precision(f->def.typmod)])
            return NULL;
        STORE(f, c, i128, negative ? -v : v);
    } else {
        if (v >= f->dec_limit)
            return NULL;
        STORE(f, c, i64, negative ? -(i64)v : (i64)v);
    }
    return end;
}

/* At most 15 digits and a power of ten up to 22 are exact in a double, and so is one division of them. */
static const u8 *
fast_float(CopyIn *c, CopyField *f, const u8 *p)
{
    static const double POW10_F64[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    bool negative;
    u64 m;
    u32 scale;
    const u8 *end = read_decimal(c, p, &negative, &m, &scale);
    if (!end || m >= (f->fast == FAST_F32 ? 10000000ull : 1000000000000000ull))
        return NULL;
    double v = (double)m / POW10_F64[scale];
    if (negative)
        v = -v;
    if (f->fast == FAST_F64)
        STORE(f, c, double, v);
    else if (scale <= 10)
        /* 24 bits by a power of ten that a float holds exactly: one rounding, in float. */
        STORE(f, c, float, (negative ? -(float)m : (float)m) / (float)POW10_F64[scale]);
    else
        return NULL;
    return end;
}

static inline u32
two_digits(const u8 *p)
{
    u32 a = (u32)p[0] - '0', b;
    return a <= 9 && (b = (u32)p[1] - '0') <= 9 ? a * 10 + b : 100;
}

/* Bytes are looked at from left to right, each only when the one before was no line end: none lies behind the region. */
static const u8 *
read_date(const u8 *p, i32 *ret)
{
    static const u8 DAYS[13] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    u32 century = two_digits(p), year, month, day;
    if (century > 99 || (year = two_digits(p + 2)) > 99 || p[4] != '-' || (month = two_digits(p + 5)) - 1 > 11 || p[7] != '-' ||
        (day = two_digits(p + 8)) - 1 > 30)
        return NULL;
    year += century * 100;
    if (year == 0 || day > DAYS[month] || (month == 2 && day == 29 && (year % 4 != 0 || (year % 100 == 0 && year % 400 != 0))))
        return NULL;
    *ret = date_from_civil((i32)year, (i32)month, (i32)day);
    return p + 10;
}

/* HH:MM:SS[.ffffff] */
static const u8 *
read_time(const u8 *p, i64 *ret_us)
{
    u32 h = two_digits(p), m, s;
    if (h > 23 || p[2] != ':' || (m = two_digits(p + 3)) > 59 || p[5] != ':' || (s = two_digits(p + 6)) > 59)
        return NULL;
    i64 us = ((i64)h * 3600 + m * 60 + s) * 1000000;
    p += 8;
    if (*p == '.') {
        u32 unit = 100000;
        for (p++; (u32)*p - '0' <= 9; p++, unit /= 10) {
            if (unit == 0)
                return NULL;
            us += (i64)((u32)*p - '0') * unit;
        }
    }
    *ret_us = us;
    return p;
}

static const u8 *
fast_timestamp(CopyIn *c, CopyField *f, const u8 *p)
{
    i32 days;
    i64 us = 0, offset_s;
    if (!(p = read_date(p, &days)))
        return NULL;
    if ((*p == ' ' || *p == 'T') && !(p = read_time(p + 1, &us)))
        return NULL;
    us += (i64)days * USEC_PER_DAY;
    if (f->fast == FAST_TSTZ) {
        if (*p == '+' || *p == '-') {
            u32 h = two_digits(p + 1), m = 0;
            if (h > 15)
                return NULL;
            offset_s = (i64)h * 3600;
            if (p[3] == ':') {
                if ((m = two_digits(p + 4)) > 59)
                    return NULL;
                offset_s += m * 60;
            }
            offset_s = *p == '-' ? -offset_s : offset_s;
            p += p[3] == ':' ? 6 : 3;
            us -= offset_s * 1000000;
        } else
            us = zone_to_utc(c->spec.format.zone, us);
    }
    if (!stops(c, *p))
        return NULL;
    STORE(f, c, i64, us);
    return p;
}

static const u8 *
fast_bool(CopyIn *c, CopyField *f, const u8 *p)
{
    if ((*p != 't' && *p != 'f') || !stops(c, p[1]))
        return NULL;
    STORE(f, c, u8, *p == 't');
    return p + 1;
}

static const u8 *
fast_int(CopyIn *c, CopyField *f, const u8 *p)
{
    i64 v;
    const u8 *end = read_int(c, p, &v);
    if (!end)
        return NULL;
    if (f->fast == FAST_I64)
        STORE(f, c, i64, v);
    else if (f->fast == FAST_I32 && v == (i32)v)
        STORE(f, c, i32, (i32)v);
    else if (f->fast == FAST_I16 && v == (i16)v)
        STORE(f, c, i16, (i16)v);
    else
        return NULL;
    return end;
}

static const u8 *
fast_date(CopyIn *c, CopyField *f, const u8 *p)
{
    i32 days;
    if (!(p = read_date(p, &days)) || !stops(c, *p))
        return NULL;
    STORE(f, c, i32, days);
    return p;
}

const u8 *
copy_fast_value(CopyIn *c, CopyField *f, const u8 *p)
{
    const u8 *end = NULL;
    switch (f->fast) {
    case FAST_I16:
    case FAST_I32:
    case FAST_I64: end = fast_int(c, f, p); break;
    case FAST_D64:
    case FAST_D128:
    case FAST_NUM: end = fast_decimal(c, f, p); break;
    case FAST_F32:
    case FAST_F64: end = fast_float(c, f, p); break;
    case FAST_DATE: end = fast_date(c, f, p); break;
    case FAST_TS:
    case FAST_TSTZ: end = fast_timestamp(c, f, p); break;
    case FAST_BOOL: end = fast_bool(c, f, p); break;
    case FAST_STR:
    case FAST_NONE: break;
    }
    if (end)
        f->nulls[c->row] = 0;
    return end;
}

/* ---- any spelling ---- */

void
copy_store_null(CopyIn *c, CopyField *f)
{
    memset(f->data + (size_t)c->row * f->width, 0, f->width);
    f->nulls[c->row] = 1;
    f->any_null = true;
    c->hand_row |= f->def.not_null;
}

void
copy_store_default(CopyIn *c, CopyField *f)
{
    if (!f->def.has_default)
        copy_no_default(c, f);
    bool hand_row = c->hand_row;
    copy_store_null(c, f);
    c->hand_row = hand_row;
    f->defaults[c->row] = 1;
    f->any_default = true;
}

static char *
heap_take(CopyIn *c, u32 len)
{
    if (len > HEAP_SHARE_MAX)
        return arena_alloc(c->rows, len);
    if (UNLIKELY((size_t)(c->heap_end - c->heap) < len)) {
        c->heap = arena_alloc(c->rows, HEAP_BYTES);
        c->heap_end = c->heap + HEAP_BYTES;
    }
    char *p = (char *)c->heap;
    c->heap += len;
    return p;
}

/* A copy that lives as long as the batch. */
static Str
keep_text(CopyIn *c, Str s)
{
    if (!s.len)
        return STR_LIT("");
    char *copy = heap_take(c, s.len);
    memcpy(copy, s.ptr, s.len);
    return (Str){copy, s.len};
}

void
copy_store_value(CopyIn *c, CopyField *f, const Value *v)
{
    Value kept = *v;
    if (f->phys == PHYS_STR) /* the arena of values is for one only */
        kept.str = keep_text(c, v->str);
    value_to_phys(&kept, f->phys, f->scale, f->data + (size_t)c->row * f->width);
    f->nulls[c->row] = 0;
}

static u32
sequence_len(u8 first)
{
    return (first & 0xe0) == 0xc0 ? 2 : (first & 0xf0) == 0xe0 ? 3 : (first & 0xf8) == 0xf0 ? 4 : 1;
}

bool
copy_bad_text(const u8 *p, size_t len, const u8 *limit, Error *ret)
{
    static const char HEX[] = "0123456789abcdef";
    char hex[32] = "";
    if (LIKELY(utf8_valid(p, len) && !memchr(p, 0, len)))
        return false;
    size_t at = 0;
    for (u32 n; at < len && p[at] && (n = sequence_len(p[at])) <= len - at && utf8_valid(p + at, n); at += n)
        ;
    u32 n = sequence_len(p[at]);
    for (u32 i = 0; i < n && p + at + i < limit; i++) {
        u8 b = p[at + i];
        memcpy(hex + 5 * i, (char[]){' ', '0', 'x', HEX[b >> 4], HEX[b & 15], 0}, 6);
    }
    error_set(ret, ERR_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\":%s", hex);
    return true;
}

static void
check_text(CopyIn *c, const CopyField *f, Str s)
{
    Error err;
    if (LIKELY(!copy_bad_text((const u8 *)s.ptr, s.len, (const u8 *)s.ptr + s.len, &err)))
        return;
    if (c->spec.kind == COPY_KIND_BINARY)
        copy_value_error(c, f, &err, NULL);
    copy_text_error(c, &err);
}

void
copy_slow_value(CopyIn *c, CopyField *f, Str s)
{
    Value v;
    Error err;
    check_text(c, f, s);
    arena_reset(c->value);
    if (!value_in(c->value, &c->spec.format, f->def.type, f->def.typmod, s, &v, &err)) {
        if (copy_leave_out(c, f, &err, s))
            return;
        copy_value_error(c, f, &err, &s);
    }
    copy_store_value(c, f, &v);
}

/* varchar(n): blanks beyond n characters are cut, anything else is too long. */
static Str
fit(CopyIn *c, CopyField *f, Str s)
{
    Error err;
    if (utf8_len(s) <= f->chars_max)
        return s;
    u32 chars = 0, at = 0;
    for (; at < s.len; at++)
        if (((u8)s.ptr[at] & 0xc0) != 0x80 && chars++ == f->chars_max)
            break;
    for (u32 i = at; i < s.len; i++)
        if (s.ptr[i] != ' ') {
            error_set(&err, ERR_STRING_RIGHT_TRUNCATION, "value too long for type character varying(%u)", f->chars_max);
            if (copy_leave_out(c, f, &err, s))
                break;
            copy_value_error(c, f, &err, &s);
        }
    return (Str){s.ptr, at};
}

void
copy_store_str(CopyIn *c, CopyField *f, Str s, bool ascii)
{
    if (UNLIKELY(!ascii))
        check_text(c, f, s);
    if (f->def.typmod >= 4 && UNLIKELY(s.len > f->chars_max))
        s = fit(c, f, s);
    STORE(f, c, Str, keep_text(c, s));
    f->nulls[c->row] = 0;
}
