/*
 * wide.h
 *    Unsigned integers of up to 1,536 bits, for the few places where 128 bits are too short. Inside this room.
 *
 * A Wide holds `count` limbs of 64 bits, least first, without leading zero limbs; zero has none. Operations that
 * would not fit stop the process (ensure): callers bound their operands first. Plain schoolbook methods: operands
 * are small.
 */
#ifndef WIDE_H
#define WIDE_H

#include "common/base/base.h"

enum { WIDE_LIMBS = 24 };

typedef struct Wide {
    u32 count;
    u64 limb[WIDE_LIMBS];
} Wide;

void wide_set(Wide *w, u128 v);
/* false when w needs more than 128 bits. */
bool wide_get(const Wide *w, u128 *ret);
u32 wide_bits(const Wide *w);
int wide_cmp(const Wide *a, const Wide *b);
/* ret may be one of the operands, except for wide_mul and wide_divmod. */
void wide_add(const Wide *a, const Wide *b, Wide *ret);
void wide_sub(const Wide *a, const Wide *b, Wide *ret); /* a >= b */
void wide_mul(const Wide *a, const Wide *b, Wide *ret);
void wide_mul_u64(Wide *a, u64 b);
u64 wide_div_u64(Wide *a, u64 b); /* a /= b, returns the remainder */
void wide_shift_left(Wide *a, u32 bits);
void wide_shift_right(Wide *a, u32 bits);
void wide_mul_pow10(Wide *a, u32 exponent);
/* a = q x b + r; b > 0. */
void wide_divmod(const Wide *a, const Wide *b, Wide *ret_q, Wide *ret_r);
/* q = a / b, rounded half up. */
void wide_div_round(const Wide *a, const Wide *b, Wide *ret_q);
/* Square root rounded half up. */
void wide_sqrt_round(const Wide *a, Wide *ret);

#endif
