/*
 * float.c
 *    Floating point numbers as text: shortest form that reads back as the same bits, laid out as PostgreSQL does.
 *
 * Reading: a decimal of at most 15 digits with a small exponent is one exact integer times or over one exact power of
 * ten, so one rounding gives the right double; everything else goes through strtod, which glibc rounds correctly.
 * Writing, with extra_float_digits > 0: first the decimals people write (at most 15 digits, 6 for real), found as the
 * smallest k for which round(v x 10^k) / 10^k is v again: two different decimals of so few digits never share a double,
 * so the one found is the shortest. Else 15, 16, 17 digits by printf until one reads back. Exactly at a power of two, where
 * the gap below is half the gap above, a shorter neighbour may read back too: shortest_at_border looks for it.
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
static const float POW10_F32[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};

typedef struct FloatKind {
    TypeId type;
    int digits;       /* that always survive text -> binary -> text */
    int digits_exact; /* that tell any two values apart */
} FloatKind;

static const FloatKind DOUBLE = {TYPE_FLOAT8, 15, 17}, SINGLE = {TYPE_FLOAT4, 6, 9};

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
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "\"%.*s\" is out of range for type %s", (int)shown.len, shown.ptr,
                         type_name(k->type));
    }
    return true;
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
    /* Up to 7 digits over a power of ten that is exact in a float would do as above; rounding twice would not. */
    double unused;
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

/* m x 10^-places as the shortest decimal. */
static u32
lay_out_integer(const FloatKind *k, bool negative, u64 m, i32 places, char *to)
{
    char digits[20];
    u32 count = digits_u64(m, digits);
    i32 exponent = (i32)count - places;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return lay_out(k, negative, digits, count, exponent, to);
}

/* Is text exactly half way between v and its neighbour `next`? Then another reader may round it the other way. */
static bool
is_half_way(const char *text, double v, double next)
{
    enum { PLACES = 60 }; /* an exact half way has fewer, if it has 17 digits at all */
    char exact[PLACES + 20], padded[PLACES + 20];
    long double middle = ((long double)v + next) / 2, read = strtold(text, NULL);
    if (read != middle)
        return false;
    /* Equal in 64 bits; compare all digits. */
    snprintf(exact, sizeof exact, "%.*Le", PLACES, middle);
    const char *e = strchr(text, 'e');
    int digits = (int)(e - text);
    bool point = memchr(text, '.', (size_t)digits) != NULL;
    snprintf(padded, sizeof padded, "%.*s%s%0*d%s", digits, text, point ? "" : ".", PLACES + 2 - digits - !point, 0, e);
    return strcmp(exact, padded) == 0;
}

static bool
reads_back(const FloatKind *k, const char *text, double v)
{
    if (k->type == TYPE_FLOAT4) {
        float f = (float)v;
        return strtof(text, NULL) == f && !is_half_way(text, v, nextafterf(f, 0)) &&
               !is_half_way(text, v, nextafterf(f, INFINITY));
    }
    return strtod(text, NULL) == v && !is_half_way(text, v, nextafter(v, 0)) && !is_half_way(text, v, nextafter(v, INFINITY));
}

/* v > 0 as "d.ddde±x" of `count` digits into digits and exponent (first digit's power + 1); text is printf's. */
static u32
split_text(const char *text, char *digits, i32 *ret_exponent)
{
    u32 count = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at != '.')
            digits[count++] = *at;
    *ret_exponent = (i32)strtol(at + 1, NULL, 10) + 1;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

/* At a power of two the nearest decimal of `count` digits may lie below and not read back while the next one above does. */
static bool
next_above_reads_back(const FloatKind *k, char *text, double v)
{
    char *e = strchr(text, 'e');
    for (char *at = e - 1; at >= text; at--) {
        if (*at == '.')
            continue;
        if (*at != '9') {
            (*at)++;
            return reads_back(k, text, v);
        }
        *at = '0';
    }
    return false; /* all nines: the carry makes a shorter number, which was tried before */
}

static u32
shortest(const FloatKind *k, bool negative, double v, bool border, char *to)
{
    char text[40], digits[24];
    i32 exponent;
    /* Subnormals have fewer digits than the always safe count; start from one there. */
    bool subnormal = k->type == TYPE_FLOAT4 ? v < 0x1p-126 : v < 0x1p-1022;
    for (int n = subnormal ? 1 : k->digits; n <= k->digits_exact; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, v);
        if (n == k->digits_exact || reads_back(k, text, v) || (border && next_above_reads_back(k, text, v)))
            break;
    }
    u32 count = split_text(text, digits, &exponent);
    return lay_out(k, negative, digits, count, exponent, to);
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
    bool negative = v < 0;
    double x = fabs(v);
    if (x >= 1e-5 && x < 1e15) {
        for (i32 places = 0; places < (i32)COUNT_OF(POW10_F64); places++) {
            double scaled = x * POW10_F64[places];
            if (scaled >= 1e15)
                break;
            double m = rint(scaled);
            if (m / POW10_F64[places] == x && m > 0)
                return lay_out_integer(&DOUBLE, negative, (u64)m, places, to);
        }
    }
    int unused;
    return shortest(&DOUBLE, negative, x, frexp(x, &unused) == 0.5, to);
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
    bool negative = v < 0;
    float x = fabsf(v);
    if (x >= 1e-4f && x < 1e6f) {
        for (i32 places = 0; places < (i32)COUNT_OF(POW10_F32); places++) {
            float scaled = x * POW10_F32[places];
            if (scaled >= 1e6f)
                break;
            float m = rintf(scaled);
            if (m / POW10_F32[places] == x && m > 0)
                return lay_out_integer(&SINGLE, negative, (u64)m, places, to);
        }
    }
    int unused;
    return shortest(&SINGLE, negative, x, frexp(x, &unused) == 0.5, to);
}
