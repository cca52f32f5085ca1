/*
 * agg.c
 *    The aggregates: states, how a value enters one, how two are merged, what comes out; chosen by operation and
 *    physical argument.
 *
 * All-zero bytes are the state of no rows. States are aligned to 8 only, so 16-byte integers in them are of type
 * Wide. Sums of integers are exact: 64 bits for smallint and integer (2^32 rows of them fit), 128 for bigint and
 * 8-byte decimals, 192 for 16-byte decimals; finish checks 38 digits.
 * Sums of floats: values in order, except whole vectors without NULLs, which are summed in eight lanes.
 */
#include "backend/kern/agg.h"
#include "common/type/interval.h"

#include "backend/kern/map.h"
#include "common/type/numeric.h"

typedef i128 Wide __attribute__((aligned(8)));
typedef u128 WideBits __attribute__((aligned(8)));

/* A count with a mark in its top bit: NaN was met (decimals), NaN or infinity was met (floats). */
#define MARK (1ull << 63)
#define ROWS(n) ((n) & ~MARK)

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

/* ---- sums of smallint and integer ---- */
typedef struct Sum64 {
    i64 sum;
    u64 n;
} Sum64;

#define T i16
#define A_NAME sum_i16
#define S Sum64
#define STEP(s, x) ((s)->sum += (x), (s)->n++)
#define OWN_UPDATE
#include "backend/kern/agg_loop.inc"
#undef T
#define T i32
#define A_NAME sum_i32
#define S Sum64
#define STEP(s, x) ((s)->sum += (x), (s)->n++)
#define OWN_UPDATE
#include "backend/kern/agg_loop.inc"
#undef T

static u32
count_values(const Vec *arg, u32 count)
{
    return count - (arg->null_mask ? kern_table()->count_bytes(arg->null_mask, count) : 0);
}

static void
sum_i16_update(void *state, const Vec *arg, u32 count)
{
    if (arg->is_const) {
        sum_i16_groups_slow(state, 0, NULL, arg, count);
        return;
    }
    Sum64 *s = state;
    s->sum += kern_table()->sum_i16(arg->data, arg->null_mask, count);
    s->n += count_values(arg, count);
}

static void
sum_i32_update(void *state, const Vec *arg, u32 count)
{
    if (arg->is_const) {
        sum_i32_groups_slow(state, 0, NULL, arg, count);
        return;
    }
    Sum64 *s = state;
    s->sum += kern_table()->sum_i32(arg->data, arg->null_mask, count);
    s->n += count_values(arg, count);
}

static void
sum64_merge(void *to, const void *from)
{
    Sum64 *a = to;
    const Sum64 *b = from;
    a->sum += b->sum;
    a->n += b->n;
}

static void
sum64_add(u8 *states, u32 stride, const i64 *sums, const i64 *rows, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        Sum64 *s = (void *)(states + (size_t)i * stride);
        s->sum += sums[i];
        s->n += (u64)rows[i];
    }
}

static u32
sum64_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    for (u32 i = 0; i < count; i++) {
        const Sum64 *s = (const void *)(states + (size_t)(first + i) * stride);
        ((i64 *)ret->data)[i] = s->sum;
        ret->null_mask[i] = s->n == 0;
    }
    return KERN_OK;
}

/* sum and count to the average, the same for all exact kinds. */
static u32
average(i128 sum, u64 n, bool nan, u8 scale, Num *ret)
{
    *ret = (Num){.kind = nan ? NUM_NAN : NUM_FINITE};
    if (nan || ROWS(n) == 0)
        return KERN_OK;
    return num_avg(sum, scale, ROWS(n), ret) == NUM_OK ? KERN_OK : KERN_OVERFLOW;
}

static u32
avg64_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const Sum64 *s = (const void *)(states + (size_t)(first + i) * stride);
        status |= average(s->sum, s->n, false, 0, (Num *)ret->data + i);
        ret->null_mask[i] = s->n == 0;
    }
    return status;
}

/* ---- sums of bigint and 8-byte decimals ---- */
typedef struct Sum128 {
    Wide sum;
    u64 n;
} Sum128;

#define T i64
#define A_NAME sum_i64
#define S Sum128
#define STEP(s, x) ((s)->sum += (x), (s)->n++)
#define OWN_UPDATE
#include "backend/kern/agg_loop.inc"
#define A_NAME sum_d64
#define S Sum128
#define STEP(s, x) do { if (UNLIKELY((x) == D64_NAN)) (s)->n |= MARK; (s)->sum += (x); (s)->n++; } while (0)
#define OWN_UPDATE
#include "backend/kern/agg_loop.inc"
#undef T

static void
sum_i64_update(void *state, const Vec *arg, u32 count)
{
    if (arg->is_const || count > VEC_SIZE) {
        sum_i64_groups_slow(state, 0, NULL, arg, count);
        return;
    }
    Sum128 *s = state;
    bool has_min;
    s->sum += kern_table()->sum_i64(arg->data, arg->null_mask, count, &has_min);
    s->n += count_values(arg, count);
}

static void
sum_d64_update(void *state, const Vec *arg, u32 count)
{
    if (arg->is_const || count > VEC_SIZE) {
        sum_d64_groups_slow(state, 0, NULL, arg, count);
        return;
    }
    Sum128 *s = state;
    bool nan;
    s->sum += kern_table()->sum_i64(arg->data, arg->null_mask, count, &nan);
    s->n = (s->n + count_values(arg, count)) | (nan ? MARK : 0);
}

/* Counts add below the mark; marks are ORed. */
static u64
add_counts(u64 a, u64 b)
{
    return (ROWS(a) + ROWS(b)) | ((a | b) & MARK);
}

static void
sum128_merge(void *to, const void *from)
{
    Sum128 *a = to;
    const Sum128 *b = from;
    a->sum += b->sum;
    a->n = add_counts(a->n, b->n);
}

static void
sum128_add(u8 *states, u32 stride, const i64 *sums, const i64 *rows, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        Sum128 *s = (void *)(states + (size_t)i * stride);
        s->sum += sums[i];
        s->n += (u64)rows[i]; /* far below the mark */
    }
}

static u32
sum128_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const Sum128 *s = (const void *)(states + (size_t)(first + i) * stride);
        if (s->n & MARK)
            ((i128 *)ret->data)[i] = D128_NAN;
        else {
            ((i128 *)ret->data)[i] = s->sum;
            if (s->sum >= POW10_I128[38] || s->sum <= -POW10_I128[38])
                status = KERN_OVERFLOW;
        }
        ret->null_mask[i] = ROWS(s->n) == 0;
    }
    return status;
}

static u32
avg128_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const Sum128 *s = (const void *)(states + (size_t)(first + i) * stride);
        status |= average(s->sum, s->n, s->n & MARK, arg_scale, (Num *)ret->data + i);
        ret->null_mask[i] = ROWS(s->n) == 0;
    }
    return status;
}

/* ---- sums of 16-byte decimals: 192 bits, `high` above `low` ---- */
typedef struct Sum192 {
    WideBits low;
    i64 high;
    u64 n;
} Sum192;

static inline void
sum192_add(Sum192 *s, i128 x)
{
    if (UNLIKELY(x == D128_NAN)) {
        s->n = (s->n + 1) | MARK;
        return;
    }
    u128 low = s->low + (u128)x;
    s->high += (low < (u128)x) - (x < 0);
    s->low = low;
    s->n++;
}

#define T i128
#define A_NAME sum_d128
#define S Sum192
#define STEP(s, x) sum192_add(s, x)
#include "backend/kern/agg_loop.inc"
#undef T

static void
sum192_merge(void *to, const void *from)
{
    Sum192 *a = to;
    const Sum192 *b = from;
    u128 low = a->low + b->low;
    a->high += b->high + (low < b->low);
    a->low = low;
    a->n = add_counts(a->n, b->n);
}

/* The sum, when 38 digits hold it. */
static bool
sum192_value(const Sum192 *s, i128 *ret)
{
    i128 v = (i128)s->low;
    *ret = v;
    return s->high == (v < 0 ? -1 : 0) && v < POW10_I128[38] && v > -POW10_I128[38];
}

static u32
sum192_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const Sum192 *s = (const void *)(states + (size_t)(first + i) * stride);
        i128 *r = (i128 *)ret->data + i;
        if (s->n & MARK)
            *r = D128_NAN;
        else if (!sum192_value(s, r))
            status = KERN_OVERFLOW;
        ret->null_mask[i] = ROWS(s->n) == 0;
    }
    return status;
}

static u32
avg192_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const Sum192 *s = (const void *)(states + (size_t)(first + i) * stride);
        i128 sum;
        if (!sum192_value(s, &sum) && !(s->n & MARK))
            status |= KERN_OVERFLOW;
        else
            status |= average(sum, s->n, s->n & MARK, arg_scale, (Num *)ret->data + i);
        ret->null_mask[i] = ROWS(s->n) == 0;
    }
    return status;
}

/* ---- sums of numeric without a fixed scale ---- */
typedef struct SumNum {
    Num sum;
    u64 n; /* MARK: more than 38 digits */
} SumNum;

static inline void
sumnum_add(SumNum *s, const Num *x)
{
    if (ROWS(s->n)) {
        if (num_add(&s->sum, x, &s->sum) != NUM_OK)
            s->n |= MARK;
    } else
        s->sum = *x;
    s->n++;
}

#define T Num
#define A_NAME sum_num
#define S SumNum
#define STEP(s, x) sumnum_add(s, &(x))
#include "backend/kern/agg_loop.inc"
#undef T

static void
sumnum_merge(void *to, const void *from)
{
    SumNum *a = to;
    const SumNum *b = from;
    if (!ROWS(b->n))
        return;
    if (!ROWS(a->n))
        *a = *b;
    else {
        if (num_add(&a->sum, &b->sum, &a->sum) != NUM_OK)
            a->n |= MARK;
        a->n = add_counts(a->n, b->n);
    }
}

static u32
sumnum_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumNum *s = (const void *)(states + (size_t)(first + i) * stride);
        ((Num *)ret->data)[i] = s->sum;
        ret->null_mask[i] = ROWS(s->n) == 0;
        status |= s->n & MARK ? KERN_OVERFLOW : KERN_OK;
    }
    return status;
}

static u32
avgnum_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumNum *s = (const void *)(states + (size_t)(first + i) * stride);
        Num n = num_from_i64((i64)ROWS(s->n));
        ((Num *)ret->data)[i] = s->sum;
        ret->null_mask[i] = ROWS(s->n) == 0;
        if (ROWS(s->n) && (s->n & MARK || num_div(&s->sum, &n, (Num *)ret->data + i) != NUM_OK))
            status |= KERN_OVERFLOW;
    }
    return status;
}

/* ---- sums of floats; real is summed in real for sum, in double for avg, as PostgreSQL does ---- */
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
        const SumF64 *s = (const void *)(states + (size_t)(first + i) * stride);
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
        const SumF32 *s = (const void *)(states + (size_t)(first + i) * stride);
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
        const SumF64 *s = (const void *)(states + (size_t)(first + i) * stride);
        ((double *)ret->data)[i] = ROWS(s->n) ? s->sum / (double)ROWS(s->n) : 0;
        ret->null_mask[i] = ROWS(s->n) == 0;
        status |= float_status(s->sum, s->n);
    }
    return status;
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
        const Truth *s = (const void *)(states + (size_t)(first + i) * stride);
        ((u8 *)ret->data)[i] = !s->no;
        ret->null_mask[i] = !s->seen;
    }
    return KERN_OK;
}

static u32
bool_or_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    for (u32 i = 0; i < count; i++) {
        const Truth *s = (const void *)(states + (size_t)(first + i) * stride);
        ((u8 *)ret->data)[i] = s->yes;
        ret->null_mask[i] = !s->seen;
    }
    return KERN_OK;
}

/* ---- intervals ---- */
typedef struct SumInterval {
    u64 us_low;
    i64 us_high; /* 128 bits as two words: states are aligned to 8 */
    i64 days, months;
    u64 rows;
} SumInterval;

static void
suminterval_add(SumInterval *s, i128 us, i64 days, i64 months, u64 rows)
{
    i128 sum = (i128)((u128)(u64)s->us_high << 64 | s->us_low) + us;
    s->us_low = (u64)sum;
    s->us_high = (i64)(sum >> 64);
    s->days += days;
    s->months += months;
    s->rows += rows;
}

#define T Interval
#define A_NAME sum_interval
#define S SumInterval
#define STEP(s, x) suminterval_add(s, (x).us, (x).days, (x).months, 1)
#include "backend/kern/agg_loop.inc"
#undef T

static void
suminterval_merge(void *to, const void *from)
{
    const SumInterval *b = from;
    suminterval_add(to, (i128)((u128)(u64)b->us_high << 64 | b->us_low), b->days, b->months, b->rows);
}

/* false: the sum is no interval. */
static bool
suminterval_value(const SumInterval *s, Interval *ret)
{
    *ret = (Interval){(i64)s->us_low, (i32)s->days, (i32)s->months};
    return s->us_high == (i64)s->us_low >> 63 && ret->days == s->days && ret->months == s->months;
}

static u32
finish_intervals(const u8 *states, u32 stride, u32 first, u32 count, Vec *ret, bool avg)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        const SumInterval *s = (const void *)(states + (size_t)(first + i) * stride);
        Interval *r = &((Interval *)ret->data)[i], sum;
        ret->null_mask[i] = !s->rows;
        *r = (Interval){0};
        if (s->rows && (!suminterval_value(s, &sum) || (avg ? !interval_div(&sum, (double)s->rows, r) : (*r = sum, false))))
            status |= KERN_OVERFLOW;
    }
    return status;
}

static u32
suminterval_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    return finish_intervals(states, stride, first, count, ret, false);
}

static u32
avginterval_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    return finish_intervals(states, stride, first, count, ret, true);
}

/* ---- min and max ---- */
#define PLAIN_LT(x, y) ((x) < (y))
#define FLOAT_LT(x, y) ((x) < (y) || ((y) != (y) && (x) == (x)))
#define DEC64_LT(x, y) ((i64)((u64)(x) - 1) < (i64)((u64)(y) - 1))
#define DEC128_LT(x, y) ((i128)((u128)(x) - 1) < (i128)((u128)(y) - 1))
#define NUM_LT(x, y) (num_cmp(&(x), &(y)) < 0)
#define STR_LT(x, y) (str_cmp(x, y) < 0)
#define INTERVAL_LT(x, y) (interval_span(&(x)) < interval_span(&(y)))
#define PAIR_LT(x, y) (pair_cmp(&(x), &(y)) < 0)
#define T i16
#define T_NAME i16
#define T_LT PLAIN_LT
#include "backend/kern/agg_order.inc"
#define T i32
#define T_NAME i32
#define T_LT PLAIN_LT
#include "backend/kern/agg_order.inc"
#define T i64
#define T_NAME i64
#define T_LT PLAIN_LT
#include "backend/kern/agg_order.inc"
#define T float
#define T_NAME f32
#define T_LT FLOAT_LT
#include "backend/kern/agg_order.inc"
#define T double
#define T_NAME f64
#define T_LT FLOAT_LT
#include "backend/kern/agg_order.inc"
#define T i64
#define T_NAME d64
#define T_LT DEC64_LT
#include "backend/kern/agg_order.inc"
#define T Wide
#define T_NAME d128
#define T_LT DEC128_LT
#include "backend/kern/agg_order.inc"
#define T Num
#define T_NAME num
#define T_LT NUM_LT
#include "backend/kern/agg_order.inc"
#define T Pair
#define T_NAME pair
#define T_LT PAIR_LT
#include "backend/kern/agg_order.inc"
#define T Interval
#define T_NAME interval
#define T_LT INTERVAL_LT
#include "backend/kern/agg_order.inc"
#define T Str
#define T_NAME str
#define T_LT STR_LT
#include "backend/kern/agg_order.inc"

/* ---- which is which ---- */
typedef struct AggRow {
    AggOp op;
    PhysType arg;
    AggKernel kernel;
} AggRow;

#define ROW(op, arg, state, update, groups, merge, finish, ret) \
    {AOP_##op, arg, {sizeof(state), ret, 0, NULL, update, groups, merge, finish}},
#define SUM_ROW(op, arg, state, update, groups, add, merge, finish, ret) \
    {AOP_##op, arg, {sizeof(state), ret, 0, add, update, groups, merge, finish}},
#define ORDER_ROWS(arg, name, ret) \
    ROW(MIN, arg, Best_##name, min_##name##_update, min_##name##_groups, merge_min_##name, best_##name, ret) \
    ROW(MAX, arg, Best_##name, max_##name##_update, max_##name##_groups, merge_max_##name, best_##name, ret)

static const AggRow ROWS_OF_KERNELS[] = {
    SUM_ROW(SUM, PHYS_I16, Sum64, sum_i16_update, sum_i16_groups, sum64_add, sum64_merge, sum64_finish, PHYS_I64)
    SUM_ROW(SUM, PHYS_I32, Sum64, sum_i32_update, sum_i32_groups, sum64_add, sum64_merge, sum64_finish, PHYS_I64)
    SUM_ROW(SUM, PHYS_I64, Sum128, sum_i64_update, sum_i64_groups, sum128_add, sum128_merge, sum128_finish, PHYS_D128)
    SUM_ROW(SUM, PHYS_D64, Sum128, sum_d64_update, sum_d64_groups, sum128_add, sum128_merge, sum128_finish, PHYS_D128)
    ROW(SUM, PHYS_D128, Sum192, sum_d128_update, sum_d128_groups, sum192_merge, sum192_finish, PHYS_D128)
    ROW(SUM, PHYS_NUM, SumNum, sum_num_update, sum_num_groups, sumnum_merge, sumnum_finish, PHYS_NUM)
    ROW(SUM, PHYS_F32, SumF32, sum_f32_update, sum_f32_groups, sumf32_merge, sumf32_finish, PHYS_F32)
    ROW(SUM, PHYS_F64, SumF64, sum_f64_update, sum_f64_groups, sumf64_merge, sumf64_finish, PHYS_F64)
    SUM_ROW(AVG, PHYS_I16, Sum64, sum_i16_update, sum_i16_groups, sum64_add, sum64_merge, avg64_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_I32, Sum64, sum_i32_update, sum_i32_groups, sum64_add, sum64_merge, avg64_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_I64, Sum128, sum_i64_update, sum_i64_groups, sum128_add, sum128_merge, avg128_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_D64, Sum128, sum_d64_update, sum_d64_groups, sum128_add, sum128_merge, avg128_finish, PHYS_NUM)
    ROW(AVG, PHYS_D128, Sum192, sum_d128_update, sum_d128_groups, sum192_merge, avg192_finish, PHYS_NUM)
    ROW(AVG, PHYS_NUM, SumNum, sum_num_update, sum_num_groups, sumnum_merge, avgnum_finish, PHYS_NUM)
    ROW(AVG, PHYS_F32, SumF64, avg_f32_update, avg_f32_groups, sumf64_merge, avgf64_finish, PHYS_F64)
    ROW(AVG, PHYS_F64, SumF64, sum_f64_update, sum_f64_groups, sumf64_merge, avgf64_finish, PHYS_F64)
    ROW(SUM, PHYS_INTERVAL, SumInterval, sum_interval_update, sum_interval_groups, suminterval_merge, suminterval_finish, PHYS_INTERVAL)
    ROW(AVG, PHYS_INTERVAL, SumInterval, sum_interval_update, sum_interval_groups, suminterval_merge, avginterval_finish, PHYS_INTERVAL)
    ROW(BOOL_AND, PHYS_BOOL, Truth, truth_update, truth_groups, truth_merge, bool_and_finish, PHYS_BOOL)
    ROW(BOOL_OR, PHYS_BOOL, Truth, truth_update, truth_groups, truth_merge, bool_or_finish, PHYS_BOOL)
    ORDER_ROWS(PHYS_I16, i16, PHYS_I16)
    ORDER_ROWS(PHYS_I32, i32, PHYS_I32)
    ORDER_ROWS(PHYS_I64, i64, PHYS_I64)
    ORDER_ROWS(PHYS_F32, f32, PHYS_F32)
    ORDER_ROWS(PHYS_F64, f64, PHYS_F64)
    ORDER_ROWS(PHYS_D64, d64, PHYS_D64)
    ORDER_ROWS(PHYS_D128, d128, PHYS_D128)
    ORDER_ROWS(PHYS_NUM, num, PHYS_NUM)
    ORDER_ROWS(PHYS_STR, str, PHYS_STR)
    ORDER_ROWS(PHYS_PAIR, pair, PHYS_PAIR)
    ORDER_ROWS(PHYS_INTERVAL, interval, PHYS_INTERVAL)
};

static const AggKernel COUNT_ROWS = {sizeof(u64), PHYS_I64, 0, count_rows_add, count_rows_update, count_rows_groups, count_rows_merge,
                                     count_rows_finish};

bool
agg_kernel(AggId agg, PhysType arg, u8 arg_scale, AggKernel *ret)
{
    const AggDef *def = agg_def(agg);
    if (def->op == AOP_COUNT) {
        *ret = COUNT_ROWS;
        return true;
    }
    if (agg_moments_kernel(def->op, arg, ret))
        return true;
    for (u32 i = 0; i < COUNT_OF(ROWS_OF_KERNELS); i++) {
        const AggRow *row = &ROWS_OF_KERNELS[i];
        if (row->op != def->op || row->arg != arg)
            continue;
        *ret = row->kernel;
        bool decimal = ret->ret_phys == PHYS_D64 || ret->ret_phys == PHYS_D128;
        ret->ret_scale = decimal && arg != PHYS_I64 ? arg_scale : 0;
        return true;
    }
    return false;
}
