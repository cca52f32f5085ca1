/*
 * agg_moments.c
 *    Variances and standard deviations, and bit_and, bit_or, bit_xor.
 *
 * Of exact numbers the sums of values and squares are exact, so that neither order nor threads show in the result. Floats follow Youngs and Cramer
 * (how far each value is from the mean so far), as in PostgreSQL: what the order of rows changes there, it changes here.
 */
#include "backend/kern/agg_rows.h"
#include "common/type/numeric.h"

#include <math.h>

/* ---- bits ---- */
typedef struct Bits {
    i64 no, yes, odd; /* 0 in some value; 1 in some; 1 in an odd number of them */
    u64 rows;
} Bits;

#define BITS_STEP(s, x) ((s)->no |= ~(i64)(x), (s)->yes |= (x), (s)->odd ^= (x), (s)->rows++)
#define S Bits
#define T i16
#define A_NAME bits_i16
#define STEP(s, x) BITS_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T
#define S Bits
#define T i32
#define A_NAME bits_i32
#define STEP(s, x) BITS_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T
#define S Bits
#define T i64
#define A_NAME bits_i64
#define STEP(s, x) BITS_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T

static void
bits_merge(void *to, const void *from)
{
    Bits *a = to;
    const Bits *b = from;
    a->no |= b->no;
    a->yes |= b->yes;
    a->odd ^= b->odd;
    a->rows += b->rows;
}

#define BITS_FINISH(name, T, value) \
    static u32 \
    name(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret) \
    { \
        for (u32 k = 0; k < count; k++) { \
            const Bits *s = STATE(Bits, k); \
            ((T *)ret->data)[k] = (T)(value); \
            ret->null_mask[k] = s->rows == 0; \
        } \
        return KERN_OK; \
    }
BITS_FINISH(bit_and_i16, i16, ~s->no)
BITS_FINISH(bit_and_i32, i32, ~s->no)
BITS_FINISH(bit_and_i64, i64, ~s->no)
BITS_FINISH(bit_or_i16, i16, s->yes)
BITS_FINISH(bit_or_i32, i32, s->yes)
BITS_FINISH(bit_or_i64, i64, s->yes)
BITS_FINISH(bit_xor_i16, i16, s->odd)
BITS_FINISH(bit_xor_i32, i32, s->odd)
BITS_FINISH(bit_xor_i64, i64, s->odd)

/* ---- moments of integers of up to 32 bits ---- */
typedef struct Moments32 {
    Wide sum, squares;
    u64 rows;
} Moments32;

#define MOMENTS32_STEP(s, x) ((s)->sum += (x), (s)->squares += (i64)(x) * (x), (s)->rows++)
#define S Moments32
#define T i16
#define A_NAME moments_i16
#define STEP(s, x) MOMENTS32_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T
#define S Moments32
#define T i32
#define A_NAME moments_i32
#define STEP(s, x) MOMENTS32_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T

static void
moments32_merge(void *to, const void *from)
{
    Moments32 *a = to;
    const Moments32 *b = from;
    a->sum += b->sum;
    a->squares += b->squares;
    a->rows += b->rows;
}

/* ---- of bigint and 8-byte decimals: squares of 126 bits ---- */
typedef struct Moments64 {
    Wide sum;
    WideBits squares;
    u64 squares_high;
    u64 rows;
    u64 special; /* NaN was met */
} Moments64;

static inline void
moments64_add(Moments64 *s, i64 x)
{
    u128 squares = s->squares + (u128)((i128)x * x);
    s->squares_high += squares < s->squares;
    s->squares = squares;
    s->sum += x;
    s->rows++;
}

#define S Moments64
#define T i64
#define A_NAME moments_i64
#define STEP(s, x) moments64_add(s, x)
#include "backend/kern/agg_loop.inc"
#define S Moments64
#define A_NAME moments_d64
#define STEP(s, x) do { (s)->special |= (x) == D64_NAN; moments64_add(s, x); } while (0)
#include "backend/kern/agg_loop.inc"
#undef T

static void
moments64_merge(void *to, const void *from)
{
    Moments64 *a = to;
    const Moments64 *b = from;
    u128 squares = a->squares + b->squares;
    a->squares_high += b->squares_high + (squares < b->squares);
    a->squares = squares;
    a->sum += b->sum;
    a->rows += b->rows;
    a->special |= b->special;
}

/* ---- of wider decimals, and of those without a fixed scale ---- */

/* d128: at scale 0; the column's comes in at the end. */
static inline void
moments_d128_add(NumMoments *s, i128 x)
{
    Num n = x == D128_NAN ? (Num){.kind = NUM_NAN} : num_make(x, 0);
    num_moments_add(s, &n);
}

#define S NumMoments
#define T Wide
#define A_NAME moments_d128
#define STEP(s, x) moments_d128_add(s, x)
#include "backend/kern/agg_loop.inc"
#undef T
#define S NumMoments
#define T Num
#define A_NAME moments_num
#define STEP(s, x) num_moments_add(s, &(x))
#include "backend/kern/agg_loop.inc"
#undef T

static void
moments_num_merge(void *to, const void *from)
{
    num_moments_merge(to, from);
}

/* ---- exact results ---- */
static NumMoments
widen(i128 sum, u128 squares, u64 squares_high, u64 rows, bool special, u32 scale)
{
    NumMoments m = {.count = rows, .scale = scale, .special = special, .squares = {(u64)squares, (u64)(squares >> 64), squares_high}};
    for (u32 i = 0; i < NUM_SUM_LIMBS; i++)
        m.sum[i] = i == 0 ? (u64)sum : i == 1 ? (u64)(sum >> 64) : sum < 0 ? UINT64_MAX : 0;
    return m;
}

static NumMoments
widen32(const Moments32 *s, u8 scale UNUSED)
{
    return widen(s->sum, (u128)s->squares, 0, s->rows, false, 0);
}

static NumMoments
widen64(const Moments64 *s, u8 scale)
{
    return widen(s->sum, s->squares, s->squares_high, s->rows, s->special, scale);
}

static NumMoments
widen_num(const NumMoments *s, u8 scale)
{
    NumMoments m = *s;
    m.scale += scale; /* of a column without one it is 0 */
    return m;
}

static u32
finish_exact(const NumMoments *m, bool sample, bool root, Vec *ret, u32 k)
{
    Num *to = (Num *)ret->data + k;
    ret->null_mask[k] = m->count <= sample;
    *to = (Num){.kind = NUM_FINITE};
    return ret->null_mask[k] || num_moments_variance(m, sample, root, to) == NUM_OK ? KERN_OK : KERN_OVERFLOW;
}

#define EXACT_FINISH(name, S, widen, sample, root) \
    static u32 \
    name(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale, Vec *ret) \
    { \
        u32 status = KERN_OK; \
        for (u32 k = 0; k < count; k++) { \
            NumMoments m = widen(STATE(S, k), arg_scale); \
            status |= finish_exact(&m, sample, root, ret, k); \
        } \
        return status; \
    }
#define EXACT_FINISHES(what, sample, root) \
    EXACT_FINISH(what##_32, Moments32, widen32, sample, root) \
    EXACT_FINISH(what##_64, Moments64, widen64, sample, root) \
    EXACT_FINISH(what##_num, NumMoments, widen_num, sample, root)
EXACT_FINISHES(var_pop, false, false)
EXACT_FINISHES(var_samp, true, false)
EXACT_FINISHES(stddev_pop, false, true)
EXACT_FINISHES(stddev_samp, true, true)

/* ---- floats ---- */
typedef struct MomentsF64 {
    double sum, squares; /* of how far values are from the mean; NaN once a value is not finite */
    u64 rows;
    u64 overflow; /* finite values led to an infinity */
} MomentsF64;

static inline void
moments_f64_add(MomentsF64 *s, double x)
{
    double before = (double)s->rows, n = before + 1, sum = s->sum;
    s->rows++;
    s->sum += x;
    if (before == 0) {
        if (!isfinite(x))
            s->squares = NAN;
        return;
    }
    double away = x * n - s->sum;
    s->squares += away * away / (n * before);
    if (isinf(s->sum) || isinf(s->squares)) {
        s->overflow |= !isinf(sum) && !isinf(x);
        s->squares = NAN;
    }
}

#define S MomentsF64
#define T double
#define A_NAME moments_f64
#define STEP(s, x) moments_f64_add(s, x)
#include "backend/kern/agg_loop.inc"
#undef T
#define S MomentsF64
#define T float
#define A_NAME moments_f32
#define STEP(s, x) moments_f64_add(s, (double)(x))
#include "backend/kern/agg_loop.inc"
#undef T

static void
moments_f64_merge(void *to, const void *from)
{
    MomentsF64 *a = to;
    const MomentsF64 *b = from;
    if (!b->rows)
        return;
    if (!a->rows) {
        *a = *b;
        return;
    }
    double na = (double)a->rows, nb = (double)b->rows, away = a->sum / na - b->sum / nb;
    double squares = a->squares + b->squares + na * nb * away * away / (na + nb), sum = a->sum + b->sum;
    a->overflow |= b->overflow;
    a->overflow |= isinf(squares) && !isinf(a->squares) && !isinf(b->squares);
    a->overflow |= isinf(sum) && !isinf(a->sum) && !isinf(b->sum);
    a->squares = squares;
    a->sum = sum;
    a->rows += b->rows;
}

static u32
finish_floats(const u8 *states, u32 stride, u32 first, u32 count, bool sample, bool root, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 k = 0; k < count; k++) {
        const MomentsF64 *s = STATE(MomentsF64, k);
        bool null = s->rows <= sample;
        double v = null ? 0 : s->squares / (double)(s->rows - sample);
        ret->null_mask[k] = null;
        ((double *)ret->data)[k] = root ? sqrt(v) : v;
        status |= s->overflow ? KERN_OVERFLOW : KERN_OK;
    }
    return status;
}

#define FLOAT_FINISH(name, sample, root) \
    static u32 \
    name(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret) \
    { \
        return finish_floats(states, stride, first, count, sample, root, ret); \
    }
FLOAT_FINISH(var_pop_f64, false, false)
FLOAT_FINISH(var_samp_f64, true, false)
FLOAT_FINISH(stddev_pop_f64, false, true)
FLOAT_FINISH(stddev_samp_f64, true, true)

/* ---- which is which ---- */
#define BIT_ROWS(op, finish) \
    ROW(op, PHYS_I16, Bits, bits_i16, bits_merge, finish##_i16, PHYS_I16) \
    ROW(op, PHYS_I32, Bits, bits_i32, bits_merge, finish##_i32, PHYS_I32) \
    ROW(op, PHYS_I64, Bits, bits_i64, bits_merge, finish##_i64, PHYS_I64)
#define MOMENT_ROWS(op, finish) \
    ROW(op, PHYS_I16, Moments32, moments_i16, moments32_merge, finish##_32, PHYS_NUM) \
    ROW(op, PHYS_I32, Moments32, moments_i32, moments32_merge, finish##_32, PHYS_NUM) \
    ROW(op, PHYS_I64, Moments64, moments_i64, moments64_merge, finish##_64, PHYS_NUM) \
    ROW(op, PHYS_D64, Moments64, moments_d64, moments64_merge, finish##_64, PHYS_NUM) \
    ROW(op, PHYS_D128, NumMoments, moments_d128, moments_num_merge, finish##_num, PHYS_NUM) \
    ROW(op, PHYS_NUM, NumMoments, moments_num, moments_num_merge, finish##_num, PHYS_NUM) \
    ROW(op, PHYS_F32, MomentsF64, moments_f32, moments_f64_merge, finish##_f64, PHYS_F64) \
    ROW(op, PHYS_F64, MomentsF64, moments_f64, moments_f64_merge, finish##_f64, PHYS_F64)

static const AggRow KERNELS[] = {
    BIT_ROWS(BIT_AND, bit_and)
    BIT_ROWS(BIT_OR, bit_or)
    BIT_ROWS(BIT_XOR, bit_xor)
    MOMENT_ROWS(VAR_POP, var_pop)
    MOMENT_ROWS(VAR_SAMP, var_samp)
    MOMENT_ROWS(STDDEV_POP, stddev_pop)
    MOMENT_ROWS(STDDEV_SAMP, stddev_samp)
};

bool
agg_moments_kernel(AggOp op, PhysType arg, AggKernel *ret)
{
    return agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret);
}
