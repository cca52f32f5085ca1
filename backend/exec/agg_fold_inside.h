/*
 * agg_fold_inside.h
 *    What agg_fold.c and agg_set.c share.
 */
#ifndef EXEC_AGG_FOLD_INSIDE_H
#define EXEC_AGG_FOLD_INSIDE_H

#include "backend/exec/agg_fold.h"

/* One group at work. Rows are counted in their order. */
typedef struct Fold {
    Worker *worker;
    AggOp op;
    const PlanFold *plan;
    const AggKernel *kernel;
    const FoldRows *rows;
} Fold;

static inline bool
fold_is_null(const Fold *f, u32 column, u64 i)
{
    const Vec *v = &f->rows->columns[column];
    return VEC_NULL(v, f->rows->rows[i]);
}

/* A column's value in a row; texts are those of the rows. */
Value fold_value(const Fold *f, u32 column, u64 i);
/* The result, in the kernel's physical form; a text is not copied. */
void fold_give(const Fold *f, void *state, const void *value);
/* A copy of these bytes is the result. */
void fold_give_text(const Fold *f, void *state, const void *bytes, u64 len);

/* ---- agg_set.c ---- */
/* mode, percentiles, hypothetical ranks. */
void fold_set(const Fold *f, void *state);

#endif
