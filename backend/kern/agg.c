/*
 * agg.c
 *    Which kernel an aggregate runs, by operation and physical argument; counts and truths.
 *
 * All-zero bytes are the state of no rows. States are aligned to 8 only, so 16-byte integers in them are of type Wide.
 */
#include "backend/kern/agg_rows.h"

/* ---- count ---- */
static void
count_rows_update(void *state, const Vec *arg, u32 count)
{
    u32 nulls = 0;
    if (arg && arg->null_mask)
        for (u32 i = 0; i < count; i++)
            nulls += VEC_NULL(arg, i);
    *(u64 *)state += count - nulls;
}

static void
count_rows_groups(u8 *states, u32 stride, const u32 *groups, const Vec *arg, u32 count)
{
    if (!arg || !arg->null_mask)
        for (u32 i = 0; i < count; i++)
            ++*(u64 *)(void *)(states + (size_t)groups[i] * stride);
    else
        for (u32 i = 0; i < count; i++)
            *(u64 *)(void *)(states + (size_t)groups[i] * stride) += !VEC_NULL(arg, i);
}

static void
count_rows_merge(void *to, const void *from)
{
    *(u64 *)to += *(const u64 *)from;
}

static void
count_rows_add(u8 *states, u32 stride, const i64 *sums UNUSED, const i64 *rows, u32 count)
{
    for (u32 i = 0; i < count; i++)
        *(u64 *)(void *)(states + (size_t)i * stride) += (u64)rows[i];
}

static u32
count_rows_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    for (u32 i = 0; i < count; i++) {
        ((u64 *)ret->data)[i] = *(const u64 *)(const void *)(states + (size_t)(first + i) * stride);
        ret->null_mask[i] = 0;
    }
    return KERN_OK;
}

/* ---- bool_and, bool_or ---- */
typedef struct Truth {
    u8 seen, no, yes, zero[5];
} Truth;

#define T u8
#define A_NAME truth
#define S Truth
#define STEP(s, x) ((s)->seen = 1, (s)->yes |= (x), (s)->no |= !(x))
#include "backend/kern/agg_loop.inc"
#undef T

static void
truth_merge(void *to, const void *from)
{
    Truth *a = to;
    const Truth *b = from;
    a->seen |= b->seen;
    a->yes |= b->yes;
    a->no |= b->no;
}

static u32
bool_and_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    for (u32 i = 0; i < count; i++) {
        const Truth *s = STATE(Truth, i);
        ((u8 *)ret->data)[i] = !s->no;
        ret->null_mask[i] = !s->seen;
    }
    return KERN_OK;
}

static u32
bool_or_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    for (u32 i = 0; i < count; i++) {
        const Truth *s = STATE(Truth, i);
        ((u8 *)ret->data)[i] = s->yes;
        ret->null_mask[i] = !s->seen;
    }
    return KERN_OK;
}

/* ---- which is which ---- */
static const AggRow KERNELS[] = {
    ROW(BOOL_AND, PHYS_BOOL, Truth, truth, truth_merge, bool_and_finish, PHYS_BOOL)
    ROW(BOOL_OR, PHYS_BOOL, Truth, truth, truth_merge, bool_or_finish, PHYS_BOOL)
};

static const AggKernel COUNT_ROWS = {sizeof(u64), PHYS_I64, 0, count_rows_add, count_rows_update, count_rows_groups, count_rows_merge,
                                     count_rows_finish};

bool
agg_kernel(AggId agg, PhysType arg, u8 arg_scale, AggKernel *ret)
{
    AggOp op = agg_def(agg)->op;
    if (op == AOP_COUNT) {
        *ret = COUNT_ROWS;
        return true;
    }
    if (!agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret) && !agg_sum_kernel(op, arg, ret) && !agg_float_kernel(op, arg, ret) &&
        !agg_moments_kernel(op, arg, ret) && !agg_regress_kernel(op, arg, ret) && !agg_best_kernel(op, arg, ret))
        return false;
    bool decimal = ret->ret_phys == PHYS_D64 || ret->ret_phys == PHYS_D128;
    ret->ret_scale = decimal && arg != PHYS_I64 ? arg_scale : 0;
    return true;
}

AggKernel
agg_holder(PhysType phys, u8 scale)
{
    AggKernel k = {0};
    ensure(agg_best_kernel(AOP_ANY_VALUE, phys, &k));
    k.ret_scale = scale;
    return k;
}
