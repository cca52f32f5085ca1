/*
 * numeric_io.c
 *    Numerics as text and in PostgreSQL's binary form (base-10,000 digits).
 *
 * Both readers gather decimal digits in a Digits: the first 38 significant ones exactly, of the rest only what
 * rounding needs. The value is then placed at the column's scale, or at its own when no typmod is given; then
 * every digit written counts, and more than 38 are refused rather than rounded away.
 */
#include "common/type/inside.h"
#include "common/type/wide.h"

#include <limits.h>

typedef struct Digits {
    u128 value;     /* the first significant digits */
    u32 taken;      /* how many: at most 38 */
    i64 exponent;   /* value x 10^exponent, digits left out not counted */
    u32 left_out;   /* digits after those */
    bool next_half; /* the first left-out digit is 5 or more */
    bool negative;
    i64 places;     /* decimals written, less the exponent: the display scale, when above 0 */
} Digits;

static void
add_digit(Digits *d, u32 digit)
{
    if (d->taken == 0 && digit == 0)
        return;
    if (d->taken < NUM_MAX_DIGITS) {
        d->value = d->value * 10 + digit;
        d->taken++;
        return;
    }
    if (d->left_out++ == 0)
        d->next_half = digit >= 5;
    d->exponent++;
}

/* The digits as they stand: no rounding allowed. */
static NumStatus
place_exact(const Digits *d, Num *ret)
{
    i64 scale = MAX(d->places, 0), up = d->exponent + scale;
    if (scale > NUM_MAX_SCALE || d->left_out > 0)
        return NUM_OVERFLOW;
    u128 v = d->value;
    if (v != 0 && up > 0) {
        if (up + d->taken > NUM_MAX_DIGITS)
            return NUM_OVERFLOW;
        v *= (u128)POW10_I128[up];
    }
    *ret = num_make(d->negative ? -(i128)v : (i128)v, (u32)scale);
    return NUM_OK;
}

/* Rounded half away from zero at typmod's scale, and checked against its precision. */
static NumStatus
place_typmod(const Digits *d, i32 typmod, Num *ret)
{
    u32 scale = numeric_scale(typmod), precision = numeric_precision(typmod);
    i64 up = d->exponent + scale;
    u128 v = d->value;
    if (v == 0) {
        *ret = num_make(0, scale);
        return NUM_OK;
    }
    if (up >= 0) {
        if (up + d->taken > precision)
            return NUM_OVERFLOW;
        v = v * (u128)POW10_I128[up] + (up == 0 && d->next_half);
    } else if (-up > NUM_MAX_DIGITS) {
        v = 0;
    } else {
        u128 unit = (u128)POW10_I128[-up], rest = v % unit;
        v = v / unit + (rest >= unit - rest);
    }
    if (v >= (u128)POW10_I128[precision])
        return NUM_OVERFLOW;
    *ret = num_make(d->negative ? -(i128)v : (i128)v, scale);
    return NUM_OK;
}

static NumStatus
place(const Digits *d, i32 typmod, Num *ret)
{
    return typmod < 4 ? place_exact(d, ret) : place_typmod(d, typmod, ret);
}

bool
num_field_overflow(Error *err, i32 typmod, bool infinite)
{
    error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "numeric field overflow");
    if (!err)
        return false;
    u32 precision = numeric_precision(typmod), scale = numeric_scale(typmod);
    if (infinite)
        error_detail(err, "A field with precision %u, scale %u cannot hold an infinite value.", precision, scale);
    else
        error_detail(err, "A field with precision %u, scale %u must round to an absolute value less than %s%d.",
                     precision, scale, precision == scale ? "" : "10^", precision == scale ? 1 : (int)(precision - scale));
    return false;
}

/* The error for a status of place(). */
static bool
placed(NumStatus status, i32 typmod, Error *err)
{
    if (status == NUM_OK)
        return true;
    if (typmod >= 4)
        return num_field_overflow(err, typmod, false);
    return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
}

bool
num_coerce(const Num *a, i32 typmod, Num *ret, Error *err)
{
    if (num_typmod(a, typmod, ret) == NUM_OK)
        return true;
    return num_field_overflow(err, typmod, a->kind != NUM_FINITE);
}

/* ---- text ---- */

/* Digits with single underscores between them. Returns the index behind the last one. */
static u32
scan_digits(Str s, u32 i, Digits *d, bool fraction)
{
    bool after_digit = false;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '_' && after_digit && i + 1 < s.len && is_digit(s.ptr[i + 1]))
            continue;
        if (!is_digit(s.ptr[i]))
            break;
        add_digit(d, (u32)(s.ptr[i] - '0'));
        after_digit = true;
        if (fraction) {
            d->places++;
            d->exponent--;
        }
    }
    return i;
}

/* e[+-]digits at i into *ret; returns the index behind, or 0 when malformed. */
static u32
scan_exponent(Str s, u32 i, i64 *ret)
{
    enum { EXPONENT_MAX = 1000000 };
    i++;
    bool minus = i < s.len && s.ptr[i] == '-';
    i += minus || (i < s.len && s.ptr[i] == '+');
    if (i == s.len || !is_digit(s.ptr[i]))
        return 0;
    i64 e = 0;
    for (; i < s.len; i++) {
        if (s.ptr[i] == '_' && i + 1 < s.len && is_digit(s.ptr[i + 1]))
            continue;
        if (!is_digit(s.ptr[i]))
            break;
        e = MIN(e * 10 + (s.ptr[i] - '0'), EXPONENT_MAX);
    }
    *ret = minus ? -e : e;
    return i;
}

/* digits[.digits][exponent], all of s. false: bad syntax. */
static bool
scan_decimal(Str s, Digits *d)
{
    u32 i = scan_digits(s, 0, d, false);
    bool any = i > 0;
    if (i < s.len && s.ptr[i] == '.') {
        u32 start = i + 1;
        i = scan_digits(s, start, d, true);
        any |= i > start;
    }
    if (!any)
        return false;
    if (i < s.len && to_lower(s.ptr[i]) == 'e') {
        i64 e;
        i = scan_exponent(s, i, &e);
        if (i == 0)
            return false;
        d->exponent += e;
        d->places -= e;
    }
    return i == s.len;
}

/* 0x, 0o, 0b integers; false: bad syntax. */
static bool
scan_based(Str s, Digits *d, bool *ret_overflow)
{
    char c = to_lower(s.ptr[1]);
    u32 base = c == 'x' ? 16 : c == 'o' ? 8 : 2;
    bool after_digit = true, any = false;
    u128 v = 0;
    for (u32 i = 2; i < s.len; i++) {
        if (s.ptr[i] == '_' && after_digit) {
            after_digit = false;
            continue;
        }
        char x = to_lower(s.ptr[i]);
        u32 digit = is_digit(x) ? (u32)(x - '0') : x >= 'a' && x <= 'f' ? (u32)(x - 'a') + 10 : 99;
        if (digit >= base)
            return false;
        if (v < (u128)POW10_I128[NUM_MAX_DIGITS])
            v = v * base + digit;
        if (v >= (u128)POW10_I128[NUM_MAX_DIGITS]) {
            *ret_overflow = true;
            v = (u128)POW10_I128[NUM_MAX_DIGITS];
        }
        after_digit = any = true;
    }
    d->value = v;
    d->taken = dec_digits(v);
    return any && after_digit;
}

static bool
has_base(Str s)
{
    if (s.len < 2 || s.ptr[0] != '0')
        return false;
    char c = to_lower(s.ptr[1]);
    return c == 'x' || c == 'o' || c == 'b';
}

static bool
is_special(Str s, Num *ret)
{
    *ret = (Num){.kind = NUM_FINITE};
    if (text_is(s, "nan"))
        ret->kind = NUM_NAN;
    else if (text_is(s, "infinity") || text_is(s, "inf") || text_is(s, "+infinity") || text_is(s, "+inf"))
        ret->kind = NUM_POS_INF;
    else if (text_is(s, "-infinity") || text_is(s, "-inf"))
        ret->kind = NUM_NEG_INF;
    return ret->kind != NUM_FINITE;
}

bool
num_parse(Str in, i32 typmod, Num *ret, Error *err)
{
    Str s = text_trim(in);
    Digits d = {.negative = s.len > 0 && s.ptr[0] == '-'};
    Num special;
    bool overflow = false;
    if (s.len > 0 && !is_digit(s.ptr[s.len - 1]) && is_special(s, &special))
        return num_coerce(&special, typmod, ret, err);
    if (d.negative || (s.len > 0 && s.ptr[0] == '+'))
        s.ptr++, s.len--;
    if (!(has_base(s) ? scan_based(s, &d, &overflow) : scan_decimal(s, &d)))
        return text_bad_syntax(err, TYPE_NUMERIC, in);
    return placed(overflow ? NUM_OVERFLOW : place(&d, typmod, ret), typmod, err);
}

bool
num_in(Str s, Num *ret, Error *err)
{
    return num_parse(s, -1, ret, err);
}

NumStatus
num_from_text(Str in, i32 typmod, Num *ret)
{
    Digits d = {.negative = in.len > 0 && in.ptr[0] == '-'};
    if (d.negative)
        in.ptr++, in.len--;
    if (!scan_decimal(in, &d))
        return NUM_INVALID;
    return place(&d, typmod, ret);
}

u32
dec64_out(i64 value, u32 scale, char *to)
{
    u32 len = 0;
    u64 v = (u64)value;
    if (value < 0) {
        to[len++] = '-';
        v = -v;
    }
    if (scale == 0)
        return len + digits_u64(v, to + len);
    u64 unit = (u64)POW10_I64[scale], whole = v / unit;
    len += digits_u64(whole, to + len);
    to[len++] = '.';
    digits_fixed(v - whole * unit, scale, to + len);
    return len + scale;
}

u32
dec_out(i128 value, u32 scale, char *to)
{
    if (value >= INT64_MIN && value <= INT64_MAX && scale < COUNT_OF(POW10_I64))
        return dec64_out((i64)value, scale, to);
    u32 len = 0;
    u128 v = (u128)value;
    if (value < 0) {
        to[len++] = '-';
        v = -v;
    }
    char digits[40];
    u32 count = digits_u128(v, digits);
    if (count <= scale) { /* 0.00ddd */
        to[len++] = '0';
        to[len++] = '.';
        memset(to + len, '0', scale - count);
        len += scale - count;
        memcpy(to + len, digits, count);
        return len + count;
    }
    memcpy(to + len, digits, count - scale);
    len += count - scale;
    if (scale > 0) {
        to[len++] = '.';
        memcpy(to + len, digits + count - scale, scale);
        len += scale;
    }
    return len;
}

u32
num_out(const Num *n, char *to)
{
    static const char *const WORDS[] = {[NUM_NAN] = "NaN", [NUM_POS_INF] = "Infinity", [NUM_NEG_INF] = "-Infinity"};
    if (n->kind == NUM_FINITE)
        return dec_out(num_int(n), n->scale, to);
    u32 len = (u32)strlen(WORDS[n->kind]);
    memcpy(to, WORDS[n->kind], len);
    return len;
}

/* ---- binary: i16 digit count, i16 weight, u16 sign, i16 display scale, digits ---- */

enum { SIGN_PLUS = 0, SIGN_MINUS = 0x4000, SIGN_NAN = 0xC000, SIGN_POS_INF = 0xD000, SIGN_NEG_INF = 0xF000 };
enum { DISPLAY_SCALE_MAX = 16383, BASE = 10000 };
enum { INF_DISPLAY_SCALE = 32 }; /* what PostgreSQL sends, since it reads bits of the sign as the scale */

static bool
bad_external(Error *err, const char *what)
{
    return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "invalid %s in external \"numeric\" value", what);
}

/* Base-10,000 digits after the head, cut (not rounded) to the display scale as PostgreSQL does. */
static bool
recv_digits(ByteReader *r, u32 count, i32 weight, i32 display_scale, Digits *d, Error *err)
{
    i64 decimals_left = ((i64)weight + 1) * NUM_BASE_DIGITS + display_scale; /* decimal digits to keep */
    d->places = display_scale;
    d->exponent = ((i64)weight + 1) * NUM_BASE_DIGITS;
    for (u32 i = 0; i < count; i++) {
        u32 digit = reader_be16(r);
        if (digit >= BASE)
            return bad_external(err, "digit");
        for (u32 unit = 1000; unit > 0; unit /= 10) {
            if (decimals_left-- <= 0)
                continue;
            add_digit(d, digit / unit % 10);
            d->exponent--;
        }
    }
    return true;
}

bool
num_recv(const u8 *data, u32 len, i32 typmod, Num *ret, Error *err)
{
    ByteReader r = reader_of(data, len);
    u32 count = reader_be16(&r);
    i32 weight = (i16)reader_be16(&r);
    u32 sign = reader_be16(&r);
    i32 display_scale = reader_be16(&r);
    if (r.bad)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "insufficient data left in message");
    Digits d = {.negative = sign == SIGN_MINUS};
    if (sign != SIGN_PLUS && sign != SIGN_MINUS && sign != SIGN_NAN && sign != SIGN_POS_INF && sign != SIGN_NEG_INF)
        return bad_external(err, "sign");
    if (display_scale > DISPLAY_SCALE_MAX)
        return bad_external(err, "scale");
    if (reader_left(&r) < (size_t)count * 2)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "insufficient data left in message");
    if (!recv_digits(&r, count, weight, display_scale, &d, err))
        return false;
    if (!reader_done(&r))
        return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    if (sign == SIGN_PLUS || sign == SIGN_MINUS)
        return placed(place(&d, typmod, ret), typmod, err);
    Num special = {.kind = sign == SIGN_NAN ? NUM_NAN : sign == SIGN_POS_INF ? NUM_POS_INF : NUM_NEG_INF};
    return num_coerce(&special, typmod, ret, err);
}

static void
send_head(u8 *to, u32 count, i32 weight, u32 sign, u32 display_scale)
{
    put_be16(to, (u16)count);
    put_be16(to + 2, (u16)weight);
    put_be16(to + 4, (u16)sign);
    put_be16(to + 6, (u16)display_scale);
}

u32
num_base_digits(u128 v, u32 scale, u16 digits[NUM_BASE_DIGITS_MAX], i32 *ret_weight)
{
    u32 count = 0, pad = (NUM_BASE_DIGITS - scale % NUM_BASE_DIGITS) % NUM_BASE_DIGITS, low = 0;
    i32 weight = -(i32)((scale + pad) / NUM_BASE_DIGITS) - 1;
    /* Least first: the lowest digit holds scale % 4 decimals, the others four decimal digits each. */
    if (pad > 0 && v > 0) {
        u32 unit = (u32)POW10_I64[NUM_BASE_DIGITS - pad];
        digits[count++] = (u16)((u32)(v % unit) * (u32)POW10_I64[pad]);
        v /= unit;
    }
    for (; v > UINT64_MAX; v /= BASE)
        digits[count++] = (u16)(v % BASE);
    for (u64 w = (u64)v; w > 0; w /= BASE)
        digits[count++] = (u16)(w % BASE);
    weight += (i32)count;
    while (low < count && digits[low] == 0)
        low++;
    while (count > low && digits[count - 1] == 0) {
        count--;
        weight--;
    }
    count -= low;
    memmove(digits, digits + low, count * sizeof *digits);
    for (u32 i = 0; i < count / 2; i++) {
        u16 swap = digits[i];
        digits[i] = digits[count - 1 - i];
        digits[count - 1 - i] = swap;
    }
    *ret_weight = count == 0 ? 0 : weight;
    return count;
}

void
num_send(ByteBuf *to, const Num *n)
{
    enum { HEAD = 8 };
    u8 *out = buf_reserve(to, HEAD + 2 * NUM_BASE_DIGITS_MAX);
    if (!out)
        return;
    if (n->kind != NUM_FINITE) {
        u32 sign = n->kind == NUM_NAN ? SIGN_NAN : n->kind == NUM_POS_INF ? SIGN_POS_INF : SIGN_NEG_INF;
        send_head(out, 0, 0, sign, n->kind == NUM_NAN ? 0 : INF_DISPLAY_SCALE);
        to->len += HEAD;
        return;
    }
    i128 value = num_int(n);
    i32 weight;
    u16 digits[NUM_BASE_DIGITS_MAX];
    u32 count = num_base_digits(value < 0 ? -(u128)value : (u128)value, n->scale, digits, &weight);
    send_head(out, count, weight, value < 0 ? SIGN_MINUS : SIGN_PLUS, n->scale);
    for (u32 i = 0; i < count; i++)
        put_be16(out + HEAD + 2 * i, digits[i]);
    to->len += HEAD + 2 * count;
}
