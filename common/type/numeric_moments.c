/*
 * numeric_moments.c
 *    Variances of exact numbers: the sums of values and of squares without rounding, and what PostgreSQL makes of them.
 *
 * Both sums are kept at the largest scale that was met. A value has 38 digits and up to 38 decimals more, so that a sum of 2^32 of them needs 285 bits and
 * one of their squares 537.
 */
#include "common/type/inside.h"
#include "common/type/wide.h"

/* Adds or takes off limbs of a magnitude; two's complement, wraps. */
static void
accumulate(u64 *to, u32 count, const u64 *from, u32 from_count, bool negative)
{
    u64 carry = negative;
    for (u32 i = 0; i < count; i++) {
        u64 x = i < from_count ? from[i] : 0;
        u128 sum = (u128)to[i] + (negative ? ~x : x) + carry;
        to[i] = (u64)sum;
        carry = (u64)(sum >> 64);
    }
}

static void
wide_of_limbs(const u64 *limbs, u32 count, Wide *ret)
{
    while (count && !limbs[count - 1])
        count--;
    ret->count = count;
    memcpy(ret->limb, limbs, count * sizeof *limbs);
}

/* The magnitude of the sum; true: it is negative. */
static bool
wide_of_sum(const NumMoments *m, Wide *ret)
{
    u64 limbs[NUM_SUM_LIMBS] = {0};
    bool negative = m->sum[NUM_SUM_LIMBS - 1] >> 63;
    accumulate(limbs, NUM_SUM_LIMBS, m->sum, NUM_SUM_LIMBS, negative);
    wide_of_limbs(limbs, NUM_SUM_LIMBS, ret);
    return negative;
}

static void
raise_scale(NumMoments *m, u32 scale)
{
    Wide sum, squares;
    u32 by = scale - m->scale;
    if (by == 0)
        return;
    bool negative = wide_of_sum(m, &sum);
    wide_of_limbs(m->squares, NUM_SQUARE_LIMBS, &squares);
    wide_mul_pow10(&sum, by);
    wide_mul_pow10(&squares, 2 * by);
    memset(m->sum, 0, sizeof m->sum);
    memset(m->squares, 0, sizeof m->squares);
    accumulate(m->sum, NUM_SUM_LIMBS, sum.limb, sum.count, negative);
    accumulate(m->squares, NUM_SQUARE_LIMBS, squares.limb, squares.count, false);
    m->scale = scale;
}

void
num_moments_add(NumMoments *m, const Num *v)
{
    Wide x, square;
    m->count++;
    if (v->kind != NUM_FINITE) {
        m->special = true;
        return;
    }
    i128 n = num_int(v);
    if (v->scale > m->scale)
        raise_scale(m, v->scale);
    wide_set(&x, n < 0 ? -(u128)n : (u128)n);
    wide_mul_pow10(&x, m->scale - v->scale);
    wide_mul(&x, &x, &square);
    accumulate(m->sum, NUM_SUM_LIMBS, x.limb, x.count, n < 0);
    accumulate(m->squares, NUM_SQUARE_LIMBS, square.limb, square.count, false);
}

void
num_moments_merge(NumMoments *to, const NumMoments *from)
{
    NumMoments other = *from;
    u32 scale = MAX(to->scale, other.scale);
    raise_scale(to, scale);
    raise_scale(&other, scale);
    accumulate(to->sum, NUM_SUM_LIMBS, other.sum, NUM_SUM_LIMBS, false);
    accumulate(to->squares, NUM_SQUARE_LIMBS, other.squares, NUM_SQUARE_LIMBS, false);
    to->count += other.count;
    to->special |= other.special;
}

/* Weight and value of the first digit of base 10,000. */
static void
leading_digit(const Wide *v, i32 scale, i32 *ret_weight, u32 *ret_digit)
{
    Wide top = *v;
    u128 n;
    i32 digits = 0; /* decimal digits before the point */
    while (wide_bits(&top) > 120) {
        wide_div_u64(&top, 10000000000000000ull);
        digits += 16;
    }
    ensure(wide_get(&top, &n) && n);
    u32 kept = 0;
    for (u128 k = n; k; k /= 10)
        kept++;
    digits += (i32)kept - scale;
    i32 weight = (digits > 0 ? digits - 1 : digits - NUM_BASE_DIGITS) / NUM_BASE_DIGITS;
    u32 lead = (u32)(digits - weight * NUM_BASE_DIGITS);
    *ret_digit = (u32)(kept >= lead ? n / (u128)POW10_I128[kept - lead] : n * (u128)POW10_I128[lead - kept]);
    *ret_weight = weight;
}

/* The scale that PostgreSQL gives the quotient of v x 10^-scale and `by`. */
static u32
quotient_scale(const Wide *v, u32 scale, const Wide *by)
{
    enum { MIN_SIGNIFICANT = 16 };
    i32 weight, by_weight;
    u32 digit, by_digit;
    leading_digit(v, (i32)scale, &weight, &digit);
    leading_digit(by, 0, &by_weight, &by_digit);
    i32 wanted = MIN_SIGNIFICANT - (weight - by_weight - (digit <= by_digit)) * NUM_BASE_DIGITS;
    return (u32)MIN(MAX(wanted, (i32)scale), NUM_MAX_SCALE);
}

NumStatus
num_moments_variance(const NumMoments *m, bool sample, bool root, Num *ret)
{
    Wide sum, square, d, by;
    *ret = (Num){.kind = m->special ? NUM_NAN : NUM_FINITE};
    if (m->special)
        return NUM_OK;
    wide_of_sum(m, &sum);
    wide_mul(&sum, &sum, &square);
    wide_of_limbs(m->squares, NUM_SQUARE_LIMBS, &d);
    wide_mul_u64(&d, m->count);
    if (wide_cmp(&d, &square) <= 0)
        return NUM_OK; /* 0 */
    wide_sub(&d, &square, &d);
    wide_set(&by, (u128)m->count * (m->count - sample));
    u32 scale = quotient_scale(&d, 2 * m->scale, &by);
    wide_mul_pow10(&by, 2 * m->scale);
    for (;; scale--) {
        Wide up = d, q;
        u128 out;
        wide_mul_pow10(&up, scale);
        wide_div_round(&up, &by, &q);
        if (root) {
            wide_mul_pow10(&q, scale);
            wide_sqrt_round(&q, &up);
            q = up;
        }
        if (wide_get(&q, &out) && out < (u128)POW10_I128[NUM_MAX_DIGITS]) {
            *ret = num_make((i128)out, scale);
            return NUM_OK;
        }
        if (scale == 0)
            return NUM_OVERFLOW;
    }
}
