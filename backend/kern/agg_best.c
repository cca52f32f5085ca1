/*
 * agg_best.c
 *    min, max and any_value: the state is one of the values.
 *
 * Its kernels also hold the results of aggregates that look at all their rows at once (exec/agg_fold.c): one update puts the result in.
 */
#include "backend/kern/agg_rows.h"
#include "common/type/interval.h"
#include "common/type/numeric.h"

#define PLAIN_LT(x, y) ((x) < (y))
#define FLOAT_LT(x, y) ((x) < (y) || ((y) != (y) && (x) == (x)))
#define DEC64_LT(x, y) ((i64)((u64)(x) - 1) < (i64)((u64)(y) - 1))
#define DEC128_LT(x, y) ((i128)((u128)(x) - 1) < (i128)((u128)(y) - 1))
#define NUM_LT(x, y) (num_cmp(&(x), &(y)) < 0)
#define STR_LT(x, y) (str_cmp(x, y) < 0)
#define INTERVAL_LT(x, y) (interval_span(&(x)) < interval_span(&(y)))
#define PAIR_LT(x, y) (pair_cmp(&(x), &(y)) < 0)
#define T u8
#define T_NAME u8
#define T_LT PLAIN_LT
#include "backend/kern/agg_order.inc"
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

#define ORDER_ROWS(arg, name) \
    ROW(MIN, arg, Best_##name, min_##name, merge_min_##name, best_##name, arg) \
    ROW(MAX, arg, Best_##name, max_##name, merge_max_##name, best_##name, arg) \
    ROW(ANY_VALUE, arg, Best_##name, any_##name, merge_any_##name, best_##name, arg)

static const AggRow KERNELS[] = {
    ORDER_ROWS(PHYS_BOOL, u8)
    ORDER_ROWS(PHYS_I16, i16)
    ORDER_ROWS(PHYS_I32, i32)
    ORDER_ROWS(PHYS_I64, i64)
    ORDER_ROWS(PHYS_F32, f32)
    ORDER_ROWS(PHYS_F64, f64)
    ORDER_ROWS(PHYS_D64, d64)
    ORDER_ROWS(PHYS_D128, d128)
    ORDER_ROWS(PHYS_NUM, num)
    ORDER_ROWS(PHYS_STR, str)
    ORDER_ROWS(PHYS_PAIR, pair)
    ORDER_ROWS(PHYS_INTERVAL, interval)
};

bool
agg_best_kernel(AggOp op, PhysType arg, AggKernel *ret)
{
    return agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret);
}
