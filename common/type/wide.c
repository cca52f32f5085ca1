/* wide.c: see wide.h. Division is Knuth's algorithm D (TAOCP 4.3.1) on 64-bit digits. */
#include "common/type/wide.h"

static void
trim(Wide *w)
{
    while (w->count > 0 && w->limb[w->count - 1] == 0)
        w->count--;
}

void
wide_set(Wide *w, u128 v)
{
    w->limb[0] = (u64)v;
    w->limb[1] = (u64)(v >> 64);
    w->count = 2;
    trim(w);
}

bool
wide_get(const Wide *w, u128 *ret)
{
    if (w->count > 2)
        return false;
    u128 high = w->count > 1 ? w->limb[1] : 0;
    *ret = (high << 64) | (w->count > 0 ? w->limb[0] : 0);
    return true;
}

u32
wide_bits(const Wide *w)
{
    return w->count == 0 ? 0 : w->count * 64 - (u32)__builtin_clzll(w->limb[w->count - 1]);
}

int
wide_cmp(const Wide *a, const Wide *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    for (u32 i = a->count; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

void
wide_add(const Wide *a, const Wide *b, Wide *ret)
{
    u32 n = MAX(a->count, b->count);
    u128 carry = 0;
    for (u32 i = 0; i < n; i++) {
        carry += (u128)(i < a->count ? a->limb[i] : 0) + (i < b->count ? b->limb[i] : 0);
        ret->limb[i] = (u64)carry;
        carry >>= 64;
    }
    if (carry) {
        ensure(n < WIDE_LIMBS);
        ret->limb[n++] = (u64)carry;
    }
    ret->count = n;
}

void
wide_sub(const Wide *a, const Wide *b, Wide *ret)
{
    ensure(wide_cmp(a, b) >= 0);
    u64 borrow = 0;
    u32 n = a->count;
    for (u32 i = 0; i < n; i++) {
        u64 y = i < b->count ? b->limb[i] : 0, x = a->limb[i], d = x - y - borrow;
        borrow = x < y || (x == y && borrow);
        ret->limb[i] = d;
    }
    ret->count = n;
    trim(ret);
}

void
wide_mul(const Wide *a, const Wide *b, Wide *ret)
{
    if (a->count == 0 || b->count == 0) {
        ret->count = 0;
        return;
    }
    u32 n = a->count + b->count;
    ensure(n <= WIDE_LIMBS);
    memset(ret->limb, 0, n * sizeof(u64));
    for (u32 i = 0; i < a->count; i++) {
        u64 carry = 0;
        for (u32 j = 0; j < b->count; j++) {
            u128 t = (u128)a->limb[i] * b->limb[j] + ret->limb[i + j] + carry;
            ret->limb[i + j] = (u64)t;
            carry = (u64)(t >> 64);
        }
        ret->limb[i + b->count] = carry;
    }
    ret->count = n;
    trim(ret);
}

void
wide_mul_u64(Wide *a, u64 b)
{
    u64 carry = 0;
    for (u32 i = 0; i < a->count; i++) {
        u128 t = (u128)a->limb[i] * b + carry;
        a->limb[i] = (u64)t;
        carry = (u64)(t >> 64);
    }
    if (carry) {
        ensure(a->count < WIDE_LIMBS);
        a->limb[a->count++] = carry;
    }
    trim(a);
}

u64
wide_div_u64(Wide *a, u64 b)
{
    u64 rest = 0;
    for (u32 i = a->count; i-- > 0;) {
        u128 t = ((u128)rest << 64) | a->limb[i];
        a->limb[i] = (u64)(t / b);
        rest = (u64)(t % b);
    }
    trim(a);
    return rest;
}

void
wide_shift_left(Wide *a, u32 bits)
{
    u32 limbs = bits / 64, rest = bits % 64;
    if (a->count == 0)
        return;
    ensure(a->count + limbs + 1 <= WIDE_LIMBS);
    a->limb[a->count] = 0;
    for (u32 i = a->count + 1; i-- > 0;) {
        u64 low = i > 0 && rest ? a->limb[i - 1] >> (64 - rest) : 0;
        a->limb[i + limbs] = (a->limb[i] << rest) | low;
    }
    memset(a->limb, 0, limbs * sizeof(u64));
    a->count += limbs + 1;
    trim(a);
}

void
wide_shift_right(Wide *a, u32 bits)
{
    u32 limbs = bits / 64, rest = bits % 64;
    if (limbs >= a->count) {
        a->count = 0;
        return;
    }
    a->count -= limbs;
    for (u32 i = 0; i < a->count; i++) {
        u64 high = i + 1 < a->count && rest ? a->limb[i + limbs + 1] << (64 - rest) : 0;
        a->limb[i] = (a->limb[i + limbs] >> rest) | high;
    }
    trim(a);
}

void
wide_mul_pow10(Wide *a, u32 exponent)
{
    while (exponent >= 19) {
        wide_mul_u64(a, 10000000000000000000ull);
        exponent -= 19;
    }
    u64 p = 1;
    while (exponent-- > 0)
        p *= 10;
    wide_mul_u64(a, p);
}

/* One quotient digit: top limbs u2:u1:u0 over the normalised v1:v0. At most one too high afterwards. */
static u64
guess_digit(u64 u2, u64 u1, u64 u0, u64 v1, u64 v0)
{
    if (u2 >= v1)
        return UINT64_MAX;
    u128 top = ((u128)u2 << 64) | u1;
    u64 q = (u64)(top / v1);
    u128 r = top % v1;
    while (r <= UINT64_MAX && (u128)q * v0 > ((r << 64) | u0)) {
        q--;
        r += v1;
    }
    return q;
}

/* u[0..n] -= q x v[0..n-1]; true when it went below zero. */
static bool
subtract_multiple(u64 *u, const u64 *v, u32 n, u64 q)
{
    u64 carry = 0, borrow = 0;
    for (u32 i = 0; i <= n; i++) {
        u128 t = (u128)q * (i < n ? v[i] : 0) + carry;
        carry = (u64)(t >> 64);
        u64 y = (u64)t, x = u[i];
        u[i] = x - y - borrow;
        borrow = x < y || (x == y && borrow);
    }
    return borrow;
}

/* u += v; true when it came back above zero. */
static bool
add_back(u64 *u, const u64 *v, u32 n)
{
    u128 carry = 0;
    for (u32 i = 0; i <= n; i++) {
        carry += (u128)u[i] + (i < n ? v[i] : 0);
        u[i] = (u64)carry;
        carry >>= 64;
    }
    return carry != 0;
}

void
wide_divmod(const Wide *a, const Wide *b, Wide *ret_q, Wide *ret_r)
{
    ensure(b->count > 0);
    *ret_r = *a;
    if (wide_cmp(a, b) < 0) {
        ret_q->count = 0;
        return;
    }
    if (b->count == 1) {
        *ret_q = *a;
        wide_set(ret_r, wide_div_u64(ret_q, b->limb[0]));
        return;
    }
    u32 shift = (u32)__builtin_clzll(b->limb[b->count - 1]), n = b->count;
    Wide v = *b;
    wide_shift_left(&v, shift);
    wide_shift_left(ret_r, shift);
    u64 u[WIDE_LIMBS + 1] = {0};
    memcpy(u, ret_r->limb, ret_r->count * sizeof(u64));
    u32 m = a->count - n;
    for (u32 j = m + 1; j-- > 0;) {
        u64 q = guess_digit(u[j + n], u[j + n - 1], u[j + n - 2], v.limb[n - 1], v.limb[n - 2]);
        bool below_zero = subtract_multiple(u + j, v.limb, n, q);
        while (below_zero) {
            below_zero = !add_back(u + j, v.limb, n);
            q--;
        }
        ret_q->limb[j] = q;
    }
    ret_q->count = m + 1;
    trim(ret_q);
    memcpy(ret_r->limb, u, n * sizeof(u64));
    ret_r->count = n;
    trim(ret_r);
    wide_shift_right(ret_r, shift);
}

void
wide_div_round(const Wide *a, const Wide *b, Wide *ret_q)
{
    Wide r, one;
    wide_divmod(a, b, ret_q, &r);
    wide_shift_left(&r, 1);
    if (wide_cmp(&r, b) >= 0) {
        wide_set(&one, 1);
        wide_add(ret_q, &one, ret_q);
    }
}

void
wide_sqrt_round(const Wide *a, Wide *ret)
{
    Wide x, q, r;
    if (a->count == 0) {
        ret->count = 0;
        return;
    }
    /* Newton from above falls until it reaches the floor of the root. */
    wide_set(&x, 1);
    wide_shift_left(&x, (wide_bits(a) + 1) / 2);
    for (;;) {
        wide_divmod(a, &x, &q, &r);
        wide_add(&q, &x, &q);
        wide_shift_right(&q, 1);
        if (wide_cmp(&q, &x) >= 0)
            break;
        x = q;
    }
    /* Round up when a > x^2 + x, that is when a >= (x + 1/2)^2. */
    wide_mul(&x, &x, &q);
    wide_add(&q, &x, &q);
    if (wide_cmp(a, &q) > 0) {
        wide_set(&r, 1);
        wide_add(&x, &r, &x);
    }
    *ret = x;
}
