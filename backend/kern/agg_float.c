/*
 * agg_float.c
 *    sum and avg of floats: values in order, except whole vectors without NULLs, which are summed in eight lanes. real is summed in real for sum, in double
 *    for avg, as PostgreSQL does.
 */
#include "backend/kern/agg_rows.h"

typedef struct SumF64 {
    double sum;
    u64 n;
} SumF64;

typedef struct SumF32 {
    float sum, unused;
    u64 n;
} SumF32;

#define SPECIAL(x) ((x) - (x) != 0) /* NaN or infinite */
#define FLOAT_STEP(s, x) do { (s)->sum += (x); (s)->n = ((s)->n + 1) | (SPECIAL(x) ? MARK : 0); } while (0)
#define T double
#define A_NAME sum_f64
#define S SumF64
#define STEP(s, x) FLOAT_STEP(s, x)
#define OWN_UPDATE
#include "backend/kern/agg_loop.inc"
#undef T
#define T float
#define A_NAME sum_f32
#define S SumF32
#define STEP(s, x) FLOAT_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#define A_NAME avg_f32
#define S SumF64
#define STEP(s, x) FLOAT_STEP(s, x)
#include "backend/kern/agg_loop.inc"
#undef T

static void
sum_f64_update(void *state, const Vec *arg, u32 count)
{
    if (arg->is_const || arg->null_mask || count != VEC_SIZE) {
        sum_f64_groups_slow(state, 0, NULL, arg, count);
        return;
    }
    const double *restrict x = arg->data;
    double lanes[8] = {0};
    u64 special[8] = {0};
    for (u32 i = 0; i < VEC_SIZE; i += 8)
        for (u32 k = 0; k < 8; k++) {
            lanes[k] += x[i + k];
            special[k] |= SPECIAL(x[i + k]);
        }
    SumF64 *s = state;
    for (u32 k = 0; k < 8; k++) {
        s->sum += lanes[k];
        s->n |= special[k] ? MARK : 0;
    }
    s->n += count;
}

static void
sumf64_merge(void *to, const void *from)
{
    SumF64 *a = to;
    const SumF64 *b = from;
    a->sum += b->sum;
    a->n = add_counts(a->n, b->n);
}

static void
sumf32_merge(void *to, const void *from)
{
    SumF32 *a = to;
    const SumF32 *b = from;
    a->sum += b->sum;
    a->n = add_counts(a->n, b->n);
}

/* An infinite sum of finite values. */
static u32
float_status(double sum, u64 n)
{
    return SPECIAL(sum) && !(n & MARK) ? KERN_OVERFLOW : KERN_OK;
}

static u32
sumf64_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumF64 *s = STATE(SumF64, i);
        ((double *)ret->data)[i] = s->sum;
        ret->null_mask[i] = ROWS(s->n) == 0;
        status |= float_status(s->sum, s->n);
    }
    return status;
}

static u32
sumf32_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumF32 *s = STATE(SumF32, i);
        ((float *)ret->data)[i] = s->sum;
        ret->null_mask[i] = ROWS(s->n) == 0;
        status |= float_status(s->sum, s->n);
    }
    return status;
}

static u32
avgf64_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumF64 *s = STATE(SumF64, i);
        ((double *)ret->data)[i] = ROWS(s->n) ? s->sum / (double)ROWS(s->n) : 0;
        ret->null_mask[i] = ROWS(s->n) == 0;
        status |= float_status(s->sum, s->n);
    }
    return status;
}

/* ---- which is which ---- */
static const AggRow KERNELS[] = {
    ROW(SUM, PHYS_F32, SumF32, sum_f32, sumf32_merge, sumf32_finish, PHYS_F32)
    ROW(SUM, PHYS_F64, SumF64, sum_f64, sumf64_merge, sumf64_finish, PHYS_F64)
    ROW(AVG, PHYS_F32, SumF64, avg_f32, sumf64_merge, avgf64_finish, PHYS_F64)
    ROW(AVG, PHYS_F64, SumF64, sum_f64, sumf64_merge, avgf64_finish, PHYS_F64)
};

bool
agg_float_kernel(AggOp op, PhysType arg, AggKernel *ret)
{
    return agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret);
}
