/*
 * agg_rows.h
 *    Inside the files of the aggregates: what their states are made of, and rows of "this operation over that form has these functions".
 */
#ifndef AGG_ROWS_H
#define AGG_ROWS_H

#include "backend/kern/agg.h"

/* States are aligned to 8 only. */
typedef i128 Wide __attribute__((aligned(8)));
typedef u128 WideBits __attribute__((aligned(8)));

/* A count with a mark in its top bit: NaN was met (decimals), NaN or infinity was met (floats). */
#define MARK (1ull << 63)
#define ROWS(n) ((n) & ~MARK)

/* Counts add below the mark; marks are ORed. */
static inline u64
add_counts(u64 a, u64 b)
{
    return (ROWS(a) + ROWS(b)) | ((a | b) & MARK);
}

/* In a finish function: the k-th state. */
#define STATE(S, k) ((const S *)(const void *)(states + (size_t)(first + (k)) * stride))

typedef struct AggRow {
    AggOp op;
    PhysType arg;
    AggKernel kernel;
} AggRow;

#define ROW(op, arg, state, loops, merge, finish, ret) \
    {AOP_##op, arg, {sizeof(state), ret, 0, NULL, loops##_update, loops##_groups, merge, finish}},
#define SUM_ROW(op, arg, state, loops, add, merge, finish, ret) \
    {AOP_##op, arg, {sizeof(state), ret, 0, add, loops##_update, loops##_groups, merge, finish}},

static inline bool
agg_find_row(const AggRow *rows, u32 count, AggOp op, PhysType arg, AggKernel *ret)
{
    for (u32 i = 0; i < count; i++)
        if (rows[i].op == op && rows[i].arg == arg) {
            *ret = rows[i].kernel;
            return true;
        }
    return false;
}

/* false: not one of theirs. */
bool agg_sum_kernel(AggOp op, PhysType arg, AggKernel *ret);     /* agg_sum.c */
bool agg_float_kernel(AggOp op, PhysType arg, AggKernel *ret);   /* agg_float.c */
bool agg_moments_kernel(AggOp op, PhysType arg, AggKernel *ret); /* agg_moments.c */
bool agg_regress_kernel(AggOp op, PhysType arg, AggKernel *ret); /* agg_regress.c */
bool agg_best_kernel(AggOp op, PhysType arg, AggKernel *ret);    /* agg_best.c */

#endif
