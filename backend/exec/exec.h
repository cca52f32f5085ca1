/*
 * exec.h
 *    Running a plan: open, pull batches, close. Parallel inside (morsels over all cores), one thread outside.
 */
#ifndef EXEC_H
#define EXEC_H

#include "backend/plan/expr.h"
#include "backend/plan/plan.h"
#include "backend/txn/txn.h"

typedef struct Exec Exec;
struct SystemRows;

/* What an execution needs of its session. */
typedef struct ExecContext {
    Arena *arena;          /* statement's; the Exec hangs on it */
    Txn *txn;              /* the session's transaction state; gives snapshot and write path */
    ExprEnv env;
    u64 memory_limit_bytes;
    void (*session_rows)(struct SystemRows *r, u32 system_table); /* rows that only the session knows, by its number; NULL: there are none */
} ExecContext;

/* Once in a backend, before the first execution: whose boxes tell how busy the machine is, and the threads a query may use (0: one a core). */
void exec_init(const Shm *shm, u32 own_slot, u32 worker_threads);

typedef enum ExecOutcome { EXEC_DONE, EXEC_REPLAN } ExecOutcome;

/* SELECT. Batches come with decoded text (data = Str) and NULL masks, no selection, at most VEC_SIZE rows. */
Exec *exec_open(ExecContext *ctx, const Plan *plan);
/* A SELECT that locks rows (plan->locks): returns when all locks are held (re-runs on RETRY). EXEC_REPLAN: bind and plan again. */
ExecOutcome exec_open_locking(ExecContext *ctx, const Plan *plan, bool measured, Exec **ret);
/* The same, measured, for EXPLAIN ANALYZE; the figures are complete once exec_next has said false. */
Exec *exec_open_measured(ExecContext *ctx, const Plan *plan);
const struct PlanFigures *exec_figures(const Exec *e);
/* false at the end. The batch stays valid until the next call. Throws. */
bool exec_next(Exec *e, Batch *ret);
void exec_close(Exec *e);

/* INSERT, UPDATE, DELETE, TRUNCATE, DDL, LOCK TABLE: runs, writes, waits for the answer (re-runs on RETRY). *ret_rows: rows touched; *ret_returning: the
 * rows of RETURNING, for exec_next and exec_close; else NULL.
 * EXEC_REPLAN: nothing happened, bind and plan again. Throws. */
ExecOutcome exec_write(ExecContext *ctx, const Plan *plan, u64 *ret_rows, Exec **ret_returning);

/* COPY FROM: rows arrive in batches of physical vectors, one a target column of the plan, decoded text. defaults: of each target column a byte a row, 1: its
 * DEFAULT instead; NULL: of no row. Rows that WHERE does not want are not counted. */
typedef struct ExecCopy ExecCopy;
ExecCopy *exec_copy_begin(ExecContext *ctx, const Plan *plan);
void exec_copy_rows(ExecCopy *c, const Batch *b, const u8 *const *defaults);
ExecOutcome exec_copy_end(ExecCopy *c, u64 *ret_rows);
void exec_copy_abort(ExecCopy *c);

#endif
