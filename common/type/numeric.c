/*
 * numeric.c
 *    Exact decimal arithmetic: add, subtract, multiply, divide, remainder, rounding, comparison, conversion.
 *
 * A finite Num is a 128-bit integer below 10^38 in size and a scale. Magnitudes are worked on as u128; what does
 * not fit for a moment goes through Wide. The scale of a quotient is PostgreSQL's select_div_scale, whose digits
 * are base 10,000. NaN and infinities follow PostgreSQL 14 and later.
 */
#include "common/type/inside.h"
#include "common/base/hash.h"
#include "common/type/wide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define E19(n) ((i128)10000000000000000000ull * (n))
const i64 POW10_I64[19] = {
    1LL, 10LL, 100LL, 1000LL, 10000LL, 100000LL, 1000000LL, 10000000LL, 100000000LL, 1000000000LL, 10000000000LL,
    100000000000LL, 1000000000000LL, 10000000000000LL, 100000000000000LL, 1000000000000000LL, 10000000000000000LL,
    100000000000000000LL, 1000000000000000000LL,
};
const i128 POW10_I128[39] = {
    1LL, 10LL, 100LL, 1000LL, 10000LL, 100000LL, 1000000LL, 10000000LL, 100000000LL, 1000000000LL, 10000000000LL,
    100000000000LL, 1000000000000LL, 10000000000000LL, 100000000000000LL, 1000000000000000LL, 10000000000000000LL,
    100000000000000000LL, 1000000000000000000LL,
    E19(1LL), E19(10LL), E19(100LL), E19(1000LL), E19(10000LL), E19(100000LL), E19(1000000LL), E19(10000000LL),
    E19(100000000LL), E19(1000000000LL), E19(10000000000LL), E19(100000000000LL), E19(1000000000000LL),
    E19(10000000000000LL), E19(100000000000000LL), E19(1000000000000000LL), E19(10000000000000000LL),
    E19(100000000000000000LL), E19(1000000000000000000LL), E19(1000000000000000000LL) * 10,
};

static const Num NOT_A_NUMBER = {.kind = NUM_NAN};
static const Num ZERO = {.kind = NUM_FINITE};

static u128
magnitude(const Num *n)
{
    i128 v = num_int(n);
    return v < 0 ? -(u128)v : (u128)v;
}

static bool
is_negative(const Num *n)
{
    return n->hi < 0;
}

static bool
is_zero(const Num *n)
{
    return n->hi == 0 && n->lo == 0;
}

static u128
pow10_of(u32 exponent)
{
    return (u128)POW10_I128[exponent];
}

u32
dec_digits(u128 v)
{
    if (v == 0)
        return 0;
    u32 bits = v >> 64 ? 128 - (u32)__builtin_clzll((u64)(v >> 64)) : 64 - (u32)__builtin_clzll((u64)v);
    u32 digits = bits * 1233 / 4096; /* log10(2), rounded down: right or one too few */
    return digits + (digits < COUNT_OF(POW10_I128) && v >= pow10_of(digits));
}

static NumStatus
make_signed(bool negative, u128 v, u32 scale, Num *ret)
{
    if (v >= pow10_of(NUM_MAX_DIGITS) || scale > NUM_MAX_SCALE)
        return NUM_OVERFLOW;
    *ret = num_make(negative ? -(i128)v : (i128)v, scale);
    return NUM_OK;
}

/* v x 10^exponent, false beyond 2 x 10^38 (more than any sum needs). */
static bool
scale_up(u128 v, u32 exponent, u128 *ret)
{
    if (v == 0) {
        *ret = 0;
        return true;
    }
    if (exponent > NUM_MAX_DIGITS || __builtin_mul_overflow(v, pow10_of(exponent), ret))
        return false;
    return *ret < 2 * pow10_of(NUM_MAX_DIGITS);
}

static Num
infinity(bool negative)
{
    return (Num){.kind = negative ? NUM_NEG_INF : NUM_POS_INF};
}

/* -1, 0, 1; a is not NaN. */
static int
sign_of(const Num *a)
{
    if (a->kind != NUM_FINITE)
        return a->kind == NUM_POS_INF ? 1 : -1;
    return is_negative(a) ? -1 : !is_zero(a);
}

Num
num_neg(const Num *a)
{
    if (a->kind == NUM_FINITE)
        return num_make(-num_int(a), a->scale);
    return a->kind == NUM_NAN ? *a : infinity(a->kind == NUM_POS_INF);
}

Num
num_abs(const Num *a)
{
    return a->kind == NUM_NAN || sign_of(a) >= 0 ? *a : num_neg(a);
}

static NumStatus
add_special(const Num *a, const Num *b, Num *ret)
{
    if (a->kind == NUM_NAN || b->kind == NUM_NAN)
        *ret = NOT_A_NUMBER;
    else if (a->kind != NUM_FINITE && b->kind != NUM_FINITE)
        *ret = a->kind == b->kind ? *a : NOT_A_NUMBER;
    else
        *ret = a->kind != NUM_FINITE ? *a : *b;
    return NUM_OK;
}

NumStatus
num_add(const Num *a, const Num *b, Num *ret)
{
    if (UNLIKELY(a->kind != NUM_FINITE || b->kind != NUM_FINITE))
        return add_special(a, b, ret);
    u32 scale = MAX(a->scale, b->scale);
    u128 x = magnitude(a), y = magnitude(b);
    /* An operand beyond 2 x 10^38 at the common scale cannot be brought below 10^38 by the other, which is below it. */
    if (!scale_up(x, scale - a->scale, &x) || !scale_up(y, scale - b->scale, &y))
        return NUM_OVERFLOW;
    bool negative = is_negative(a);
    if (negative == is_negative(b))
        x += y; /* both below 2 x 10^38, one of them below 10^38: no carry out */
    else if (x >= y)
        x -= y;
    else {
        x = y - x;
        negative = !negative;
    }
    return make_signed(negative, x, scale, ret);
}

NumStatus
num_sub(const Num *a, const Num *b, Num *ret)
{
    Num minus = num_neg(b);
    return num_add(a, &minus, ret);
}

static NumStatus
mul_special(const Num *a, const Num *b, Num *ret)
{
    if (a->kind == NUM_NAN || b->kind == NUM_NAN || sign_of(a) == 0 || sign_of(b) == 0)
        *ret = NOT_A_NUMBER;
    else
        *ret = infinity(sign_of(a) != sign_of(b));
    return NUM_OK;
}

NumStatus
num_mul(const Num *a, const Num *b, Num *ret)
{
    if (UNLIKELY(a->kind != NUM_FINITE || b->kind != NUM_FINITE))
        return mul_special(a, b, ret);
    u128 product;
    if (__builtin_mul_overflow(magnitude(a), magnitude(b), &product))
        return NUM_OVERFLOW;
    return make_signed(is_negative(a) != is_negative(b), product, (u32)a->scale + b->scale, ret);
}

/* ---- division ---- */

static i32
floor_div(i32 a, i32 b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* Weight and value of the first base-10,000 digit of v x 10^-scale, as PostgreSQL stores numbers. */
static void
leading_digit(u128 v, u32 scale, i32 *ret_weight, u32 *ret_digit)
{
    *ret_weight = 0;
    *ret_digit = 0;
    if (v == 0)
        return;
    i32 digits = (i32)dec_digits(v), top = digits - 1 - (i32)scale;
    i32 weight = floor_div(top, NUM_BASE_DIGITS), take = top - weight * NUM_BASE_DIGITS + 1;
    *ret_weight = weight;
    *ret_digit = (u32)(digits >= take ? v / pow10_of((u32)(digits - take)) : v * pow10_of((u32)(take - digits)));
}

/* PostgreSQL's choice: at least 16 significant digits and no fewer decimals than either operand. */
static u32
select_div_scale(u128 a, u32 a_scale, u128 b, u32 b_scale)
{
    enum { MIN_SIGNIFICANT = 16 };
    i32 a_weight, b_weight;
    u32 a_digit, b_digit;
    leading_digit(a, a_scale, &a_weight, &a_digit);
    leading_digit(b, b_scale, &b_weight, &b_digit);
    i32 weight = a_weight - b_weight - (a_digit <= b_digit);
    i32 scale = MIN_SIGNIFICANT - weight * NUM_BASE_DIGITS;
    scale = MAX(scale, (i32)MAX(a_scale, b_scale));
    return (u32)MIN(scale, NUM_MAX_SCALE);
}

/* a x 10^up / b rounded half away from zero (up may be negative); false beyond 128 bits. */
static bool
divide_scaled(u128 a, i32 up, u128 b, u128 *ret)
{
    if (up >= 0 && dec_digits(a) + (u32)up <= NUM_MAX_DIGITS) {
        u128 n = a * pow10_of((u32)up);
        u128 q = n <= UINT64_MAX && b <= UINT64_MAX ? (u64)n / (u64)b : n / b, r = n - q * b;
        *ret = q + (r >= b - r);
        return true;
    }
    Wide n, d, q;
    wide_set(&n, a);
    wide_set(&d, b);
    wide_mul_pow10(up >= 0 ? &n : &d, (u32)(up >= 0 ? up : -up));
    wide_div_round(&n, &d, &q);
    return wide_get(&q, ret);
}

static NumStatus
divide(bool negative, u128 a, u32 a_scale, u128 b, u32 b_scale, Num *ret)
{
    u32 scale = select_div_scale(a, a_scale, b, b_scale);
    for (;; scale--) {
        u128 q;
        if (divide_scaled(a, (i32)scale + (i32)b_scale - (i32)a_scale, b, &q) &&
            make_signed(negative, q, scale, ret) == NUM_OK)
            return NUM_OK;
        if (scale == 0)
            return NUM_OVERFLOW;
    }
}

static NumStatus
div_special(const Num *a, const Num *b, Num *ret)
{
    if (a->kind == NUM_NAN || b->kind == NUM_NAN)
        *ret = NOT_A_NUMBER;
    else if (sign_of(b) == 0)
        return NUM_DIV_ZERO;
    else if (a->kind == NUM_FINITE)
        *ret = ZERO;
    else if (b->kind == NUM_FINITE)
        *ret = infinity(sign_of(a) != sign_of(b));
    else
        *ret = NOT_A_NUMBER;
    return NUM_OK;
}

NumStatus
num_div(const Num *a, const Num *b, Num *ret)
{
    if (UNLIKELY(a->kind != NUM_FINITE || b->kind != NUM_FINITE))
        return div_special(a, b, ret);
    if (is_zero(b))
        return NUM_DIV_ZERO;
    return divide(is_negative(a) != is_negative(b), magnitude(a), a->scale, magnitude(b), b->scale, ret);
}

NumStatus
num_avg(i128 sum, u32 scale, u64 count, Num *ret)
{
    if (count == 0)
        return NUM_DIV_ZERO;
    return divide(sum < 0, sum < 0 ? -(u128)sum : (u128)sum, scale, count, 0, ret);
}

static NumStatus
mod_special(const Num *a, const Num *b, Num *ret)
{
    if (a->kind == NUM_NAN || b->kind == NUM_NAN)
        *ret = NOT_A_NUMBER;
    else if (sign_of(b) == 0)
        return NUM_DIV_ZERO;
    else
        *ret = a->kind == NUM_FINITE ? *a : NOT_A_NUMBER;
    return NUM_OK;
}

NumStatus
num_mod(const Num *a, const Num *b, Num *ret)
{
    if (UNLIKELY(a->kind != NUM_FINITE || b->kind != NUM_FINITE))
        return mod_special(a, b, ret);
    if (is_zero(b))
        return NUM_DIV_ZERO;
    u32 scale = MAX(a->scale, b->scale);
    Wide x, y, q, r;
    wide_set(&x, magnitude(a));
    wide_set(&y, magnitude(b));
    wide_mul_pow10(&x, scale - a->scale);
    wide_mul_pow10(&y, scale - b->scale);
    wide_divmod(&x, &y, &q, &r);
    u128 rest;
    if (!wide_get(&r, &rest))
        return NUM_OVERFLOW;
    return make_signed(is_negative(a), rest, scale, ret);
}

/* ---- order ---- */

static int
rank_of(const Num *n)
{
    return n->kind == NUM_NEG_INF ? 0 : n->kind == NUM_FINITE ? 1 : n->kind == NUM_POS_INF ? 2 : 3;
}

int
num_cmp(const Num *a, const Num *b)
{
    if (a->kind != NUM_FINITE || b->kind != NUM_FINITE)
        return rank_of(a) - rank_of(b);
    i128 x = num_int(a), y = num_int(b);
    if (a->scale != b->scale && (x < 0) == (y < 0)) {
        u128 mx = magnitude(a), my = magnitude(b);
        bool a_up = a->scale < b->scale;
        u128 *up = a_up ? &mx : &my;
        /* What leaves the range by scaling up is the larger one: the other is below 10^38. */
        if (!scale_up(*up, a_up ? (u32)(b->scale - a->scale) : (u32)(a->scale - b->scale), up))
            return (x < 0) == a_up ? -1 : 1;
        int order = (mx > my) - (mx < my);
        return x < 0 ? -order : order;
    }
    return (x > y) - (x < y);
}

u64
num_hash(const Num *a)
{
    if (a->kind != NUM_FINITE)
        return hash_u64((u64)a->kind << 56);
    u128 v = magnitude(a);
    u32 scale = v == 0 ? 0 : a->scale;
    while (scale > 0 && v > UINT64_MAX && v % 10 == 0) {
        v /= 10;
        scale--;
    }
    if (v <= UINT64_MAX) {
        u64 w = (u64)v;
        while (scale > 0 && w % 10 == 0) {
            w /= 10;
            scale--;
        }
        v = w;
    }
    return hash_combine(hash_combine((u64)v, (u64)(v >> 64)), (u64)scale << 1 | is_negative(a));
}

/* ---- rounding ---- */

typedef enum Direction { HALF_AWAY, TOWARDS_ZERO, UP, DOWN } Direction;

/* To `scale` decimals; the result's scale is scale, or 0 when that is negative. */
static NumStatus
round_to(const Num *a, i32 scale, Direction direction, Num *ret)
{
    if (a->kind != NUM_FINITE) {
        *ret = *a;
        return NUM_OK;
    }
    u128 v = magnitude(a);
    bool negative = is_negative(a);
    i32 drop = (i32)a->scale - scale;
    if (drop <= 0) {
        if (scale > NUM_MAX_SCALE || !scale_up(v, (u32)-drop, &v))
            return NUM_OVERFLOW;
        return make_signed(negative, v, (u32)scale, ret);
    }
    u128 rest = v, unit = 0;
    if (drop <= NUM_MAX_DIGITS) {
        unit = pow10_of((u32)drop);
        rest = v % unit;
        v /= unit;
    } else {
        v = 0; /* unit is above any value: less than half of it, so HALF_AWAY rounds down */
    }
    bool away = false;
    switch (direction) {
    case HALF_AWAY:
        away = unit != 0 && rest >= unit - rest;
        break;
    case UP:
        away = rest != 0 && !negative;
        break;
    case DOWN:
        away = rest != 0 && negative;
        break;
    case TOWARDS_ZERO:
        break;
    }
    v += away;
    if (scale < 0 && !scale_up(v, (u32)-scale, &v))
        return NUM_OVERFLOW;
    return make_signed(negative, v, scale < 0 ? 0 : (u32)scale, ret);
}

NumStatus
num_round(const Num *a, i32 scale, Num *ret)
{
    return round_to(a, MAX(scale, -2000), HALF_AWAY, ret);
}

NumStatus
num_trunc(const Num *a, i32 scale, Num *ret)
{
    return round_to(a, MAX(scale, -2000), TOWARDS_ZERO, ret);
}

NumStatus
num_ceil(const Num *a, Num *ret)
{
    return round_to(a, 0, UP, ret);
}

NumStatus
num_floor(const Num *a, Num *ret)
{
    return round_to(a, 0, DOWN, ret);
}

NumStatus
num_typmod(const Num *a, i32 typmod, Num *ret)
{
    if (typmod < 4 || a->kind == NUM_NAN) {
        *ret = *a;
        return NUM_OK;
    }
    Num rounded;
    if (a->kind != NUM_FINITE || num_round(a, (i32)numeric_scale(typmod), &rounded) != NUM_OK ||
        magnitude(&rounded) >= pow10_of(numeric_precision(typmod)))
        return NUM_OVERFLOW;
    *ret = rounded;
    return NUM_OK;
}

/* ---- conversion ---- */

NumStatus
num_to_i64(const Num *a, i64 *ret)
{
    if (a->kind != NUM_FINITE)
        return NUM_INVALID;
    Num whole;
    NumStatus status = num_round(a, 0, &whole);
    if (status != NUM_OK)
        return status;
    i128 v = num_int(&whole);
    if (v < INT64_MIN || v > INT64_MAX)
        return NUM_OVERFLOW;
    *ret = (i64)v;
    return NUM_OK;
}

double
num_to_f64(const Num *a)
{
    static const double EXACT[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (a->kind != NUM_FINITE)
        return a->kind == NUM_NAN ? NAN : a->kind == NUM_POS_INF ? INFINITY : -INFINITY;
    i128 v = num_int(a);
    /* Two exact doubles, one rounding. */
    if (v > -(1LL << 53) && v < (1LL << 53) && a->scale < COUNT_OF(EXACT))
        return (double)(i64)v / EXACT[a->scale];
    char text[OUT_MAX + 1];
    text[num_out(a, text)] = 0;
    return strtod(text, NULL);
}

Num
num_from_i64(i64 v)
{
    return num_make(v, 0);
}

static NumStatus
from_float(double v, int digits, Num *ret)
{
    if (!isfinite(v)) {
        *ret = isnan(v) ? NOT_A_NUMBER : infinity(v < 0);
        return NUM_OK;
    }
    char text[48];
    int len = snprintf(text, sizeof text, "%.*g", digits, v);
    return num_from_text((Str){text, (u32)len}, -1, ret);
}

NumStatus
num_from_f64(double v, Num *ret)
{
    return from_float(v, 15, ret);
}

NumStatus
num_from_f32(float v, Num *ret)
{
    return from_float(v, 6, ret);
}
