/*
 * numeric_math.c
 *    Square root, exp, ln, log and power of decimals, to the scale PostgreSQL chooses.
 *
 * The scale comes from PostgreSQL's estimates of a result's weight (written on its base-10,000 digits and in
 * double); the value is computed to about 130 decimals in fixed point (Fix: a sign and a Wide with 448 bits behind
 * the point) and rounded once, half away from zero. PostgreSQL computes with guard digits and rounds once too, so
 * the digits agree unless its guard digits fail. Where a result can lie exactly between two decimals (integer
 * powers), it is computed exactly.
 *
 * Method: exp by ln 2 reduction, 8 halvings and the Taylor series; ln by a first guess in double whose exp divides
 * the argument, which leaves a series in a number near 2^-50.
 */
#include "common/type/inside.h"
#include "common/type/wide.h"

#include <math.h>

enum {
    FIX_LIMBS = 7,
    FIX_BITS = 64 * FIX_LIMBS,
    MIN_SIGNIFICANT = 16,
    EXP_ARGUMENT_MAX = 128, /* e^128 > 10^38, e^-128 < 10^-39 */
    EXP_HALVINGS = 8,
    PG_SCALE_MAX = 1000,
};

typedef struct Fix {
    bool negative;
    Wide w;
} Fix;

static const Wide LN2 = {FIX_LIMBS,
                         {0xed2eae35c1382144ull, 0x559552fb4afa1b10ull, 0xe7b876206debac98ull, 0x8a0d175b8baafa2bull,
                          0x40f343267298b62dull, 0xc9e3b39803f2f6afull, 0xb17217f7d1cf79abull}};

static u128
magnitude(const Num *n)
{
    i128 v = num_int(n);
    return v < 0 ? -(u128)v : (u128)v;
}

static NumStatus
special(NumKind kind, Num *ret)
{
    *ret = (Num){.kind = (u8)kind};
    return NUM_OK;
}

/* ---- fixed point ---- */

static void
wide_one(Wide *w)
{
    wide_set(w, 1);
    wide_shift_left(w, FIX_BITS);
}

static void
mul_wide(const Wide *a, const Wide *b, Wide *ret)
{
    Wide product;
    wide_mul(a, b, &product);
    wide_shift_right(&product, FIX_BITS);
    *ret = product;
}

static void
div_wide(const Wide *a, const Wide *b, Wide *ret)
{
    Wide n = *a, r;
    wide_shift_left(&n, FIX_BITS);
    wide_divmod(&n, b, ret, &r);
}

static void
fix_add(const Fix *a, const Fix *b, Fix *ret)
{
    Fix out;
    if (a->negative == b->negative) {
        out.negative = a->negative;
        wide_add(&a->w, &b->w, &out.w);
    } else {
        bool a_larger = wide_cmp(&a->w, &b->w) >= 0;
        out.negative = a_larger ? a->negative : b->negative;
        wide_sub(a_larger ? &a->w : &b->w, a_larger ? &b->w : &a->w, &out.w);
    }
    *ret = out;
}

static void
fix_of_num(const Num *n, Fix *ret)
{
    Wide ten, r, v;
    ret->negative = n->hi < 0;
    wide_set(&v, magnitude(n));
    wide_shift_left(&v, FIX_BITS);
    wide_set(&ten, (u128)POW10_I128[n->scale]);
    wide_divmod(&v, &ten, &ret->w, &r);
}

/* Good to double's precision. */
static double
fix_to_f64(const Fix *f)
{
    double d = 0;
    for (u32 i = 0; i < f->w.count; i++)
        d += ldexp((double)f->w.limb[i], (int)(64 * i) - FIX_BITS);
    return f->negative ? -d : d;
}

/* |d| < 2^62, to 2^-62. */
static void
fix_of_f64(double d, Fix *ret)
{
    ret->negative = d < 0;
    double whole = floor(fabs(d));
    wide_set(&ret->w, ((u128)(u64)whole << 62) | (u64)ldexp(fabs(d) - whole, 62));
    wide_shift_left(&ret->w, FIX_BITS - 62);
}

/* Round to PostgreSQL's scale, or to fewer decimals where 38 digits would be passed. */
static NumStatus
fix_to_num(const Fix *f, i32 scale, Num *ret)
{
    for (i32 s = MIN(scale, NUM_MAX_SCALE); s >= 0; s--) {
        Wide w = f->w, half;
        u128 v;
        wide_mul_pow10(&w, (u32)s);
        wide_set(&half, 1);
        wide_shift_left(&half, FIX_BITS - 1);
        wide_add(&w, &half, &w);
        wide_shift_right(&w, FIX_BITS);
        if (wide_get(&w, &v) && v < (u128)POW10_I128[NUM_MAX_DIGITS]) {
            *ret = num_make(f->negative ? -(i128)v : (i128)v, (u32)s);
            return NUM_OK;
        }
    }
    return NUM_OVERFLOW;
}

/* e^x for 0 <= x <= EXP_ARGUMENT_MAX. */
static void
exp_positive(const Wide *x, Wide *ret)
{
    Wide halvings, rest, term, sum;
    u128 doublings = 0;
    wide_divmod(x, &LN2, &halvings, &rest);
    ensure(wide_get(&halvings, &doublings));
    wide_shift_right(&rest, EXP_HALVINGS);
    wide_one(&sum);
    term = sum;
    for (u32 n = 1; term.count > 0; n++) {
        mul_wide(&term, &rest, &term);
        wide_div_u64(&term, n);
        wide_add(&sum, &term, &sum);
    }
    for (u32 i = 0; i < EXP_HALVINGS; i++)
        mul_wide(&sum, &sum, &sum);
    wide_shift_left(&sum, (u32)doublings);
    *ret = sum;
}

/* ln((1 + z) / (1 - z)) = 2 (z + z^3/3 + …) for small z >= 0. */
static void
ln_series(const Wide *z, Wide *ret)
{
    Wide square, power = *z, sum = *z, term;
    mul_wide(z, z, &square);
    for (u32 n = 3; power.count > 0; n += 2) {
        mul_wide(&power, &square, &power);
        term = power;
        wide_div_u64(&term, n);
        wide_add(&sum, &term, &sum);
    }
    wide_shift_left(&sum, 1);
    *ret = sum;
}

/* ln m for m > 0 near 1 (by a factor of at most 2). */
static void
ln_near_one(const Wide *m, Fix *ret)
{
    Fix guess, minus_one = {.negative = true}, part = {.negative = false, .w = *m}, z;
    double d = fix_to_f64(&part), first = log(d);
    if (fabs(first) < 0x1p-40)
        first = 0;
    fix_of_f64(first, &guess);
    if (guess.w.count > 0) {
        Wide e;
        exp_positive(&guess.w, &e);
        if (guess.negative)
            mul_wide(&part.w, &e, &part.w);
        else
            div_wide(&part.w, &e, &part.w);
    }
    wide_one(&minus_one.w);
    fix_add(&part, &minus_one, &z);
    wide_add(&part.w, &minus_one.w, &part.w);
    div_wide(&z.w, &part.w, &z.w);
    ln_series(&z.w, &z.w);
    fix_add(&guess, &z, ret);
}

/* ln of a > 0. */
static void
fix_ln(const Num *a, Fix *ret)
{
    Wide v, unit, r, m;
    wide_set(&v, magnitude(a));
    wide_set(&unit, (u128)POW10_I128[a->scale]);
    i32 exponent = (i32)wide_bits(&v) - (i32)wide_bits(&unit);
    wide_shift_left(&v, (u32)(FIX_BITS - exponent));
    wide_divmod(&v, &unit, &m, &r);
    Fix twos = {.negative = exponent < 0, .w = LN2}, near;
    wide_mul_u64(&twos.w, (u64)(exponent < 0 ? -exponent : exponent));
    ln_near_one(&m, &near);
    fix_add(&twos, &near, ret);
}

/* e^x at the given scale; beyond the range of Num: overflow, or 0. */
static NumStatus
exp_to_num(const Fix *x, i32 scale, Num *ret)
{
    Fix out = {.negative = false};
    Wide limit;
    wide_set(&limit, EXP_ARGUMENT_MAX);
    wide_shift_left(&limit, FIX_BITS);
    if (wide_cmp(&x->w, &limit) > 0) {
        if (!x->negative)
            return NUM_OVERFLOW;
        out.w.count = 0;
        return fix_to_num(&out, scale, ret);
    }
    exp_positive(&x->w, &out.w);
    if (x->negative) {
        Wide one;
        wide_one(&one);
        div_wide(&one, &out.w, &out.w);
    }
    return fix_to_num(&out, scale, ret);
}

/* ---- PostgreSQL's choice of scale ---- */

static i32
limit_scale(i32 scale, i32 least)
{
    return MIN(MAX(MAX(scale, least), 0), PG_SCALE_MAX);
}

/* The decimal weight of ln(a), a > 0, as PostgreSQL estimates it. */
static i32
ln_weight(const Num *a)
{
    u16 digits[NUM_BASE_DIGITS_MAX];
    i32 weight;
    Num low = num_make(9, 1), high = num_make(11, 1), one = num_make(1, 0), x;
    if (num_cmp(a, &low) >= 0 && num_cmp(a, &high) <= 0) {
        if (num_sub(a, &one, &x) != NUM_OK || num_base_digits(magnitude(&x), x.scale, digits, &weight) == 0)
            return 0;
        return weight * NUM_BASE_DIGITS + (i32)log10(digits[0]);
    }
    u32 count = num_base_digits(magnitude(a), a->scale, digits, &weight);
    double first = digits[0];
    i32 exponent = weight * NUM_BASE_DIGITS;
    if (count > 1) {
        first = first * 10000 + digits[1];
        exponent -= NUM_BASE_DIGITS;
    }
    return (i32)log10(fabs(log(first) + exponent * 2.302585092994046));
}

/* Decimal weight of a^exponent, approximately; a != 0. */
static double
power_weight(const Num *a, i32 exponent)
{
    u16 digits[NUM_BASE_DIGITS_MAX];
    i32 weight;
    u32 count = num_base_digits(magnitude(a), a->scale, digits, &weight);
    double f = digits[0];
    i32 p = weight * NUM_BASE_DIGITS;
    for (u32 i = 1; i < count && i < 4; i++) {
        f = f * 10000 + digits[i];
        p -= NUM_BASE_DIGITS;
    }
    return exponent * (log10(f) + p);
}

/* The scale for a result near e^x. */
static i32
exp_scale(double x, i32 least)
{
    double weight = MIN(MAX(x * 0.434294481903252, -2000.0), 2000.0);
    return limit_scale(MIN_SIGNIFICANT - (i32)weight, least);
}

/* ---- functions ---- */

static bool
is_zero(const Num *a)
{
    return a->kind == NUM_FINITE && a->hi == 0 && a->lo == 0;
}

static bool
is_negative(const Num *a)
{
    return a->kind == NUM_NEG_INF || (a->kind == NUM_FINITE && a->hi < 0);
}

NumStatus
num_sqrt(const Num *a, Num *ret)
{
    if (is_negative(a))
        return NUM_INVALID;
    if (a->kind != NUM_FINITE)
        return special((NumKind)a->kind, ret);
    u16 digits[NUM_BASE_DIGITS_MAX];
    i32 weight;
    num_base_digits(magnitude(a), a->scale, digits, &weight);
    i32 scale = limit_scale(MIN_SIGNIFICANT - (weight * NUM_BASE_DIGITS / 2 + 1), a->scale);
    for (scale = MIN(scale, NUM_MAX_SCALE); scale * 2 >= a->scale; scale--) {
        Wide v, root;
        u128 out;
        wide_set(&v, magnitude(a));
        wide_mul_pow10(&v, (u32)(2 * scale - a->scale));
        wide_sqrt_round(&v, &root);
        if (wide_get(&root, &out) && out < (u128)POW10_I128[NUM_MAX_DIGITS]) {
            *ret = num_make((i128)out, (u32)scale);
            return NUM_OK;
        }
    }
    return NUM_OVERFLOW;
}

NumStatus
num_exp(const Num *a, Num *ret)
{
    if (a->kind == NUM_NEG_INF) {
        *ret = num_make(0, 0);
        return NUM_OK;
    }
    if (a->kind != NUM_FINITE)
        return special((NumKind)a->kind, ret);
    Fix x;
    fix_of_num(a, &x);
    return exp_to_num(&x, exp_scale(num_to_f64(a), a->scale), ret);
}

NumStatus
num_ln(const Num *a, Num *ret)
{
    if (is_negative(a) || is_zero(a))
        return NUM_INVALID;
    if (a->kind != NUM_FINITE)
        return special((NumKind)a->kind, ret);
    Fix x;
    fix_ln(a, &x);
    return fix_to_num(&x, limit_scale(MIN_SIGNIFICANT - ln_weight(a), a->scale), ret);
}

static NumStatus
log_special(const Num *base, const Num *a, Num *ret)
{
    if (base->kind == NUM_NAN || a->kind == NUM_NAN)
        return special(NUM_NAN, ret);
    if (base->kind == NUM_FINITE)
        return special(NUM_POS_INF, ret);
    if (a->kind != NUM_FINITE)
        return special(NUM_NAN, ret);
    *ret = num_make(0, 0);
    return NUM_OK;
}

NumStatus
num_log(const Num *base, const Num *a, Num *ret)
{
    bool nan = base->kind == NUM_NAN || a->kind == NUM_NAN;
    if (!nan && (is_negative(base) || is_negative(a) || is_zero(base) || is_zero(a)))
        return NUM_INVALID;
    if (base->kind != NUM_FINITE || a->kind != NUM_FINITE)
        return log_special(base, a, ret);
    Fix x, y;
    fix_ln(base, &y);
    fix_ln(a, &x);
    if (y.w.count == 0)
        return NUM_DIV_ZERO;
    div_wide(&x.w, &y.w, &x.w);
    x.negative = x.negative != y.negative && x.w.count > 0;
    i32 scale = MIN_SIGNIFICANT - (ln_weight(a) - ln_weight(base));
    return fix_to_num(&x, limit_scale(scale, MAX(base->scale, a->scale)), ret);
}

/* v^n exactly, v without trailing zeros; false when it is longer than 256 bits: then no rounding to 38 decimals can
 * meet a tie. */
static bool
exact_power(u128 v, u32 n, Wide *ret)
{
    Wide base, next;
    wide_set(&base, v);
    wide_set(ret, 1);
    for (u32 i = 0; i < n; i++) {
        if (wide_bits(ret) > 256)
            return false;
        wide_mul(ret, &base, &next);
        *ret = next;
        if (v <= 1)
            break;
    }
    return wide_bits(ret) <= 256;
}

/* |a|^n rounded at `scale`, or fewer decimals; shift is n x the scale of a. */
static NumStatus
place_power(const Wide *power, bool inverse, u64 shift, i32 scale, bool negative, Num *ret)
{
    for (i32 s = MIN(scale, NUM_MAX_SCALE); s >= 0; s--) {
        Wide n, d, q;
        u128 v;
        wide_set(&n, 1);
        d = *power;
        if (inverse) {
            wide_mul_pow10(&n, (u32)shift + (u32)s);
        } else {
            n = *power;
            wide_set(&d, 1);
            wide_mul_pow10(&n, (u32)s);
            wide_mul_pow10(&d, (u32)shift);
        }
        wide_div_round(&n, &d, &q);
        if (wide_get(&q, &v) && v < (u128)POW10_I128[NUM_MAX_DIGITS]) {
            *ret = num_make(negative ? -(i128)v : (i128)v, (u32)s);
            return NUM_OK;
        }
    }
    return NUM_OVERFLOW;
}

static NumStatus
power_general(const Num *a, const Num *b, i32 scale, bool negative, Num *ret)
{
    Fix x, y;
    Wide product;
    Num size = num_abs(a);
    fix_ln(&size, &x);
    fix_of_num(b, &y);
    if (x.w.count + y.w.count > WIDE_LIMBS)
        return NUM_OVERFLOW;
    wide_mul(&x.w, &y.w, &product);
    wide_shift_right(&product, FIX_BITS);
    x.w = product;
    x.negative = x.negative != y.negative;
    NumStatus status = exp_to_num(&x, scale, ret);
    if (status == NUM_OK && negative)
        *ret = num_neg(ret);
    return status;
}

static NumStatus
power_integer(const Num *a, const Num *b, i32 n, Num *ret)
{
    double weight = is_zero(a) ? 0 : power_weight(a, n);
    i32 scale = limit_scale(MIN_SIGNIFICANT - (i32)MIN(MAX(weight, -2000.0), 2000.0), MAX(a->scale, b->scale));
    if (is_zero(a))
        return num_round(n == 0 ? &(Num){.lo = 1} : a, MIN(scale, NUM_MAX_SCALE), ret);
    u128 v = magnitude(a);
    u32 places = a->scale, size = n < 0 ? -(u32)n : (u32)n;
    while (places > 0 && v % 10 == 0) {
        v /= 10;
        places--;
    }
    bool negative = a->hi < 0 && (n & 1);
    Wide power;
    if (exact_power(v, size, &power) && (u64)places * size <= 200)
        return place_power(&power, n < 0, (u64)places * size, scale, negative, ret);
    return power_general(a, b, scale, negative, ret);
}

/* Does b have no decimals that count? Infinities have none. */
static bool
is_integral(const Num *b)
{
    Num whole;
    return b->kind != NUM_FINITE || (num_trunc(b, 0, &whole) == NUM_OK && num_cmp(&whole, b) == 0);
}

static bool
is_odd(const Num *b)
{
    Num two = num_make(2, 0), rest;
    return num_mod(b, &two, &rest) == NUM_OK && !is_zero(&rest);
}

/* One of them is NaN or infinite: POSIX pow(). */
static NumStatus
power_special(const Num *a, const Num *b, Num *ret)
{
    const Num one = num_make(1, 0), zero = num_make(0, 0);
    if ((a->kind == NUM_NAN || b->kind == NUM_NAN)) {
        *ret = is_zero(b) || (a->kind == NUM_FINITE && num_cmp(a, &one) == 0) ? one : (Num){.kind = NUM_NAN};
        return NUM_OK;
    }
    bool b_negative = is_negative(b);
    if ((is_zero(a) && b_negative) || (is_negative(a) && !is_integral(b)))
        return NUM_INVALID;
    if ((a->kind == NUM_FINITE && num_cmp(a, &one) == 0) || is_zero(b)) {
        *ret = one;
        return NUM_OK;
    }
    if (is_zero(a)) {
        *ret = zero;
        return NUM_OK;
    }
    if (b->kind != NUM_FINITE) {
        Num size = num_abs(a);
        int order = a->kind == NUM_FINITE ? num_cmp(&size, &one) : 1;
        if (order == 0)
            *ret = one;
        else
            *ret = (order > 0) == !b_negative ? (Num){.kind = NUM_POS_INF} : zero;
        return NUM_OK;
    }
    if (b_negative)
        *ret = zero;
    else
        *ret = (Num){.kind = a->kind == NUM_NEG_INF && is_odd(b) ? NUM_NEG_INF : NUM_POS_INF};
    return NUM_OK;
}

NumStatus
num_power(const Num *a, const Num *b, Num *ret)
{
    if (a->kind != NUM_FINITE || b->kind != NUM_FINITE)
        return power_special(a, b, ret);
    bool integral = is_integral(b);
    if ((is_zero(a) && is_negative(b)) || (is_negative(a) && !integral))
        return NUM_INVALID;
    i64 n;
    if (integral && num_to_i64(b, &n) == NUM_OK && n >= INT32_MIN && n <= INT32_MAX)
        return power_integer(a, b, (i32)n, ret);
    if (is_zero(a)) {
        *ret = num_make(0, MIN_SIGNIFICANT);
        return NUM_OK;
    }
    Num size = num_abs(a);
    Fix x;
    fix_ln(&size, &x);
    i32 scale = exp_scale(fix_to_f64(&x) * num_to_f64(b), MAX(a->scale, b->scale));
    return power_general(a, b, scale, is_negative(a) && is_odd(b), ret);
}
