/*
 * float.c
 *    Floating point numbers as text: shortest form that reads back as the same bits, laid out as PostgreSQL does.
 *
 * Reading: a decimal of at most 15 digits with a small exponent is one exact integer times or over one exact power of
 * ten, so one rounding gives the right double; everything else goes through strtod, which glibc rounds correctly.
 * Writing, with extra_float_digits > 0: the Schubfach method (Raffaele Giulietti, "The Schubfach way to render
 * doubles"): the gap around the value, scaled by a power of ten from a table so that it holds one to ten integers,
 * and integer comparisons. The gap's ends do not count, since a reader may round a decimal exactly half way to
 * either side.
 *
 * LIMITS: the LC_NUMERIC locale must be C (nothing calls setlocale).
 */
#include "common/type/inside.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double POW10_F64[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct FloatKind {
    TypeId type;
    int digits; /* that always survive text -> binary -> text */
} FloatKind;

static const FloatKind DOUBLE = {TYPE_FLOAT8, 15}, SINGLE = {TYPE_FLOAT4, 6};

/* ---- reading ---- */

/* [-]digits[.digits][e[+-]dd] with at most 15 digits and |exponent| <= 22, nothing around it. */
static bool
read_simple(Str in, double *ret)
{
    u32 i = in.len > 0 && in.ptr[0] == '-', digits = 0;
    bool negative = i == 1, point = false;
    u64 v = 0;
    i32 exponent = 0;
    for (; i < in.len && (is_digit(in.ptr[i]) || (in.ptr[i] == '.' && !point)); i++) {
        if (in.ptr[i] == '.') {
            point = true;
            continue;
        }
        v = v * 10 + (u64)(in.ptr[i] - '0');
        digits++;
        exponent -= point;
    }
    if (digits == 0 || digits > 15)
        return false;
    if (i < in.len && to_lower(in.ptr[i]) == 'e') {
        i++;
        bool minus = i < in.len && in.ptr[i] == '-';
        i += minus || (i < in.len && in.ptr[i] == '+');
        if (i == in.len || in.len - i > 2)
            return false;
        i32 e = 0;
        for (; i < in.len && is_digit(in.ptr[i]); i++)
            e = e * 10 + (in.ptr[i] - '0');
        exponent += minus ? -e : e;
    }
    if (i < in.len || exponent < -22 || exponent > 22)
        return false;
    double d = exponent < 0 ? (double)v / POW10_F64[-exponent] : (double)v * POW10_F64[exponent];
    *ret = negative ? -d : d;
    return true;
}

/* The word forms that strtod may not know on every system, and that it knows in too many ways. */
static bool
read_word(Str s, double *ret)
{
    static const struct {
        const char *word;
        double value;
    } WORDS[] = {{"nan", NAN},       {"infinity", INFINITY}, {"+infinity", INFINITY}, {"-infinity", -INFINITY},
                 {"inf", INFINITY}, {"+inf", INFINITY},     {"-inf", -INFINITY}};
    for (u32 i = 0; i < COUNT_OF(WORDS); i++)
        if (text_is(s, WORDS[i].word)) {
            *ret = WORDS[i].value;
            return true;
        }
    return false;
}

/* Through strtod or strtof. Both results are filled; only the one asked for is meant. */
static bool
read_general(const FloatKind *k, Str in, double *ret_double, float *ret_single, Error *err)
{
    enum { TEXT_MAX = 2000 }; /* more digits than any double's exact decimal expansion */
    Str s = text_trim(in);
    char text[TEXT_MAX + 1];
    double word = 0;
    if (s.len == 0 || s.len > TEXT_MAX)
        return text_bad_syntax(err, k->type, in);
    if (read_word(s, &word)) {
        *ret_double = word;
        *ret_single = (float)word;
        return true;
    }
    memcpy(text, s.ptr, s.len);
    text[s.len] = 0;
    if (strpbrk(text, "nN(")) /* nan(...) */
        return text_bad_syntax(err, k->type, in);
    char *end;
    errno = 0;
    bool single = k->type == TYPE_FLOAT4;
    if (single)
        *ret_single = strtof(text, &end);
    else
        *ret_double = strtod(text, &end);
    if (end == text || *end != 0 || is_space(text[0]))
        return text_bad_syntax(err, k->type, in);
    double v = single ? *ret_single : *ret_double;
    if (errno == ERANGE && (v == 0 || isinf(v))) {
        Str shown = text_shown(s);
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "\"%.*s\" is out of range for type %s", (int)shown.len,
                         shown.ptr, type_name(k->type));
    }
    return true;
}

/* Within double's rounding error of the middle between two floats: the 29 bits that a float drops are about 10…0. */
static bool
is_half_way(double d)
{
    u64 bits;
    memcpy(&bits, &d, sizeof bits);
    u64 dropped = bits & 0x1fffffff;
    return dropped >= 0x0fffffff && dropped <= 0x10000001;
}

bool
f64_in(Str in, double *ret, Error *err)
{
    float unused;
    return read_simple(in, ret) || read_general(&DOUBLE, in, ret, &unused, err);
}

bool
f32_in(Str in, float *ret, Error *err)
{
    double unused, d;
    /* A decimal with few digits is read as a double; that rounds again to the right float unless it lies half way. */
    if (read_simple(in, &d) && fabs(d) < 1e30 && (fabs(d) > 1e-30 || d == 0) && !is_half_way(d)) {
        *ret = (float)d;
        return true;
    }
    return read_general(&SINGLE, in, &unused, ret, err);
}

/* ---- writing ---- */

/* The decimal 0.d1d2…dn x 10^exponent as PostgreSQL prints it: plain while the first digit's power of ten is within
 * -4 … digits - 1, else d.ddde+XX. */
static u32
lay_out(const FloatKind *k, bool negative, const char *digits, u32 count, i32 exponent, char *to)
{
    char *at = to;
    i32 power = exponent - 1;
    if (negative)
        *at++ = '-';
    if (power < -4 || power >= k->digits) {
        *at++ = digits[0];
        if (count > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, count - 1);
            at += count - 1;
        }
        *at++ = 'e';
        *at++ = power < 0 ? '-' : '+';
        u32 p = (u32)(power < 0 ? -power : power);
        if (p < 10)
            *at++ = '0';
        at += digits_u64(p, at);
        return (u32)(at - to);
    }
    if (exponent <= 0) {
        memcpy(at, "0.0000", 6);
        at += 2 - exponent;
        memcpy(at, digits, count);
        return (u32)(at + count - to);
    }
    u32 whole = MIN((u32)exponent, count);
    memcpy(at, digits, whole);
    at += whole;
    for (u32 i = whole; i < (u32)exponent; i++)
        *at++ = '0';
    if (count > whole) {
        *at++ = '.';
        memcpy(at, digits + whole, count - whole);
        at += count - whole;
    }
    return (u32)(at - to);
}

/* digits x 10^exponent without the zeros at its end. */
static u32
lay_out_integer(const FloatKind *k, bool negative, u64 m, i32 exponent, char *to)
{
    char digits[20];
    u32 count = digits_u64(m, digits);
    i32 point = (i32)count + exponent;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return lay_out(k, negative, digits, count, point, to);
}

typedef struct Power {
    u64 high, low;
} Power;

enum { POWER_MIN = -292 };
static const Power POWERS[] = {
#define POW10(high, low) {high, low},
#include "common/type/pow10.def"
};

/* The top 64 bits of power x c, with the lowest set when anything below is: enough to compare exactly. */
static u64
scale_to_odd(Power power, u64 c)
{
    u128 low = (u128)power.low * c, high = (u128)power.high * c + (u64)(low >> 64);
    return (u64)(high >> 64) | ((u64)high > 1);
}

/* The shortest decimal strictly inside the gap around c x 2^q, and of those the nearest: *ret x 10^exponent. border: the
 * gap below is half as wide, since c x 2^q is a power of two. */
static i32
find_shortest(u64 c, i32 q, bool border, u64 *ret)
{
    i32 k = (q * 1262611 - (border ? 524031 : 0)) >> 22;    /* floor(log10(2^q)), or of 3/4 2^q */
    i32 shift = q + ((-k * 1741647) >> 19) + 1;             /* q + floor(log2(10^-k)) + 1: 1 to 4 */
    Power power = POWERS[-k - POWER_MIN];
    u64 lower = scale_to_odd(power, (4 * c - 2 + border) << shift) + 1;
    u64 value = scale_to_odd(power, (4 * c) << shift);
    u64 upper = scale_to_odd(power, (4 * c + 2) << shift) - 1;
    u64 s = value / 4; /* all three count quarters of 10^k */
    if (s >= 10) {
        u64 tens = s / 10;
        bool below = lower <= 40 * tens, above = 40 * tens + 40 <= upper;
        if (below != above) {
            *ret = tens + above;
            return k + 1;
        }
    }
    bool below = lower <= 4 * s, above = 4 * s + 4 <= upper;
    if (below != above)
        *ret = s + above;
    else
        *ret = s + (value > 4 * s + 2 || (value == 4 * s + 2 && (s & 1)));
    return k;
}

static u32
put_special(double v, char *to)
{
    const char *word = isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
    u32 len = (u32)strlen(word);
    memcpy(to, word, len);
    return len;
}

static u32
put_zero(double v, char *to)
{
    memcpy(to, signbit(v) ? "-0" : "0", 2);
    return signbit(v) ? 2 : 1;
}

/* printf's own layout with the digits that survive; extra_float_digits <= 0. */
static u32
put_rounded(const FloatKind *k, double v, i32 extra_float_digits, char *to)
{
    int digits = MAX(k->digits + extra_float_digits, 1);
    char text[48];
    int len = snprintf(text, sizeof text, "%.*g", digits, v);
    memcpy(to, text, (size_t)len);
    return (u32)len;
}

u32
f64_out(double v, i32 extra_float_digits, char *to)
{
    if (UNLIKELY(!isfinite(v)))
        return put_special(v, to);
    if (extra_float_digits <= 0)
        return put_rounded(&DOUBLE, v, extra_float_digits, to);
    if (v == 0)
        return put_zero(v, to);
    u64 bits, digits;
    memcpy(&bits, &v, sizeof bits);
    u64 fraction = bits & 0xfffffffffffffull, c = fraction;
    i32 q = (i32)(bits >> 52 & 0x7ff);
    bool normal = q > 0;
    if (normal)
        c |= 1ull << 52;
    i32 exponent = find_shortest(c, MAX(q, 1) - 1075, normal && fraction == 0 && q > 1, &digits);
    return lay_out_integer(&DOUBLE, bits >> 63, digits, exponent, to);
}

u32
f32_out(float v, i32 extra_float_digits, char *to)
{
    if (UNLIKELY(!isfinite(v)))
        return put_special(v, to);
    if (extra_float_digits <= 0)
        return put_rounded(&SINGLE, v, extra_float_digits, to);
    if (v == 0)
        return put_zero(v, to);
    u32 bits;
    u64 digits;
    memcpy(&bits, &v, sizeof bits);
    u32 fraction = bits & 0x7fffff, c = fraction;
    i32 q = (i32)(bits >> 23 & 0xff);
    bool normal = q > 0;
    if (normal)
        c |= 1u << 23;
    i32 exponent = find_shortest(c, MAX(q, 1) - 150, normal && fraction == 0 && q > 1, &digits);
    return lay_out_integer(&SINGLE, bits >> 31, digits, exponent, to);
}
