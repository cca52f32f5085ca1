/*
 * agg_sum.c
 *    sum and avg of exact numbers and of intervals.
 *
 * Sums are exact: 64 bits for smallint and integer (2^32 rows of them fit), 128 for bigint and 8-byte decimals, 192 for 16-byte decimals; finish
 * checks 38 digits.
 */
#include "backend/kern/agg_rows.h"
#include "backend/kern/map.h"
#include "common/type/interval.h"
#include "common/type/numeric.h"

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
        const Sum64 *s = STATE(Sum64, i);
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
        const Sum64 *s = STATE(Sum64, i);
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
        const Sum128 *s = STATE(Sum128, i);
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
        const Sum128 *s = STATE(Sum128, i);
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
        const Sum192 *s = STATE(Sum192, i);
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
        const Sum192 *s = STATE(Sum192, i);
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
        const SumNum *s = STATE(SumNum, i);
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
        const SumNum *s = STATE(SumNum, i);
        Num n = num_from_i64((i64)ROWS(s->n));
        ((Num *)ret->data)[i] = s->sum;
        ret->null_mask[i] = ROWS(s->n) == 0;
        if (ROWS(s->n) && (s->n & MARK || num_div(&s->sum, &n, (Num *)ret->data + i) != NUM_OK))
            status |= KERN_OVERFLOW;
    }
    return status;
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
        const SumInterval *s = STATE(SumInterval, i);
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

/* ---- which is which ---- */
static const AggRow KERNELS[] = {
    SUM_ROW(SUM, PHYS_I16, Sum64, sum_i16, sum64_add, sum64_merge, sum64_finish, PHYS_I64)
    SUM_ROW(SUM, PHYS_I32, Sum64, sum_i32, sum64_add, sum64_merge, sum64_finish, PHYS_I64)
    SUM_ROW(SUM, PHYS_I64, Sum128, sum_i64, sum128_add, sum128_merge, sum128_finish, PHYS_D128)
    SUM_ROW(SUM, PHYS_D64, Sum128, sum_d64, sum128_add, sum128_merge, sum128_finish, PHYS_D128)
    ROW(SUM, PHYS_D128, Sum192, sum_d128, sum192_merge, sum192_finish, PHYS_D128)
    ROW(SUM, PHYS_NUM, SumNum, sum_num, sumnum_merge, sumnum_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_I16, Sum64, sum_i16, sum64_add, sum64_merge, avg64_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_I32, Sum64, sum_i32, sum64_add, sum64_merge, avg64_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_I64, Sum128, sum_i64, sum128_add, sum128_merge, avg128_finish, PHYS_NUM)
    SUM_ROW(AVG, PHYS_D64, Sum128, sum_d64, sum128_add, sum128_merge, avg128_finish, PHYS_NUM)
    ROW(AVG, PHYS_D128, Sum192, sum_d128, sum192_merge, avg192_finish, PHYS_NUM)
    ROW(AVG, PHYS_NUM, SumNum, sum_num, sumnum_merge, avgnum_finish, PHYS_NUM)
    ROW(SUM, PHYS_INTERVAL, SumInterval, sum_interval, suminterval_merge, suminterval_finish, PHYS_INTERVAL)
    ROW(AVG, PHYS_INTERVAL, SumInterval, sum_interval, suminterval_merge, avginterval_finish, PHYS_INTERVAL)
};

bool
agg_sum_kernel(AggOp op, PhysType arg, AggKernel *ret)
{
    return agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret);
}
