/*
 * numeric.h
 *    Exact decimal arithmetic with PostgreSQL's rules for scale, on at most 38 digits.
 *
 * Results have the value and the display scale that PostgreSQL's numeric gives; where that needs more than 38 digits the
 * function fails with 22003 instead of rounding away what the user could see, except that division and functions that PostgreSQL
 * itself rounds choose their scale as PostgreSQL does and lower it only when 38 digits would be passed.
 */
#ifndef NUMERIC_H
#define NUMERIC_H

#include "common/type/type.h"

/* Status of the arithmetic, for kernels: 0 = fine. */
typedef enum NumStatus { NUM_OK = 0, NUM_OVERFLOW = 1, NUM_DIV_ZERO = 2, NUM_INVALID = 4 } NumStatus;

extern const i128 POW10_I128[39];
extern const i64 POW10_I64[19];

NumStatus num_add(const Num *a, const Num *b, Num *ret);
NumStatus num_sub(const Num *a, const Num *b, Num *ret);
NumStatus num_mul(const Num *a, const Num *b, Num *ret);
NumStatus num_div(const Num *a, const Num *b, Num *ret); /* select_div_scale */
NumStatus num_mod(const Num *a, const Num *b, Num *ret);
Num num_neg(const Num *a);
Num num_abs(const Num *a);
int num_cmp(const Num *a, const Num *b); /* NaN = NaN, above all */
u64 num_hash(const Num *a);              /* equal numbers hash alike, whatever their scale */
/* Round half away from zero to `scale` decimals (may be negative: tens, hundreds); trunc towards zero. */
NumStatus num_round(const Num *a, i32 scale, Num *ret);
NumStatus num_trunc(const Num *a, i32 scale, Num *ret);
NumStatus num_ceil(const Num *a, Num *ret);
NumStatus num_floor(const Num *a, Num *ret);
NumStatus num_sqrt(const Num *a, Num *ret);
NumStatus num_power(const Num *a, const Num *b, Num *ret);
NumStatus num_exp(const Num *a, Num *ret);
NumStatus num_ln(const Num *a, Num *ret);
NumStatus num_log(const Num *base, const Num *a, Num *ret); /* SQL's log(a) has base 10 */
/* Round to typmod's scale and check its precision: NUM_OVERFLOW = 22003 "numeric field overflow". typmod -1: unchanged. */
NumStatus num_typmod(const Num *a, i32 typmod, Num *ret);

NumStatus num_to_i64(const Num *a, i64 *ret); /* rounds; NUM_OVERFLOW, NUM_INVALID for NaN and infinities */
double num_to_f64(const Num *a);
Num num_from_i64(i64 v);
NumStatus num_from_f64(double v, Num *ret); /* 15 significant digits, as PostgreSQL */
NumStatus num_from_f32(float v, Num *ret);  /* 6 significant digits */
/* Sum of i128 scaled values divided by a count, for avg(): the scale PostgreSQL gives. */
NumStatus num_avg(i128 sum, u32 scale, u64 count, Num *ret);

/* Of how many values a variance is to be known, their sum (two's complement) and that of their squares, least limb first. All-zero: of none. */
enum { NUM_SUM_LIMBS = 5, NUM_SQUARE_LIMBS = 9 };
typedef struct NumMoments {
    u64 count;
    u32 scale;
    bool special; /* NaN or an infinity was met */
    u64 sum[NUM_SUM_LIMBS], squares[NUM_SQUARE_LIMBS];
} NumMoments;
void num_moments_add(NumMoments *m, const Num *v);
void num_moments_merge(NumMoments *to, const NumMoments *from);
/* count is at least 1, for a sample 2. root: the standard deviation. */
NumStatus num_moments_variance(const NumMoments *m, bool sample, bool root, Num *ret);

MUST_CHECK bool num_in(Str s, Num *ret, Error *err);
/* At most 64 bytes, not terminated; returns the length. */
u32 num_out(const Num *n, char *to);
/* value x 10^-scale, e.g. D64 and D128 columns. */
u32 dec_out(i128 value, u32 scale, char *to);

#endif
