/*
 * agg_fold.h
 *    One group's rows, in order, become the result of a call.
 */
#ifndef EXEC_AGG_FOLD_H
#define EXEC_AGG_FOLD_H

#include "backend/exec/run.h"

typedef struct FoldRows {
    const Vec *columns; /* of the call's fold, over all rows that are kept */
    const u32 *rows;    /* these of them, in order */
    u64 count;
    const Value *direct; /* the direct arguments that are fixed */
} FoldRows;

/* Values of the fold's direct arguments that are fixed; NULL: it has none. */
Value *fold_direct(Exec *e, const PlanFold *fold);

/* The result goes into the empty state. Throws. */
void fold_rows(Worker *w, AggOp op, const PlanFold *fold, const AggKernel *kernel, const FoldRows *rows, void *state);

#endif
