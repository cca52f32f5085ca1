/*
 * run.h
 *    Inside the executor: pipelines of a source, operators and a sink, run morsel by morsel on several threads.
 *
 * A plan tree is cut at its breakers (hash build, aggregation, sort). Each piece is a pipeline: the source cuts its rows into morsels; a worker
 * takes a morsel, pushes its batches through the operators into the sink. Batches between operators are dense: no selection, no constant
 * vectors, at most VEC_SIZE rows; text is coded (codes + dict) or decoded. A batch is valid during the push only; sinks copy.
 * Operators are shared; what a thread changes is its own state. Only the session thread opens, finishes and closes.
 */
#ifndef RUN_H
#define RUN_H

#include "backend/exec/exec.h"
#include "backend/plan/node.h"
#include "backend/throw.h"

typedef struct Worker Worker;
typedef struct Op Op;
typedef struct Source Source;
typedef struct Pipeline Pipeline;
typedef struct SubRun SubRun;
typedef struct SharedRun SharedRun;

struct Worker {
    Exec *exec;
    u32 index;      /* 0 is the session's thread */
    Arena *arena;   /* until the execution ends */
    Arena *scratch; /* until the next batch of the source */
    Arena *wave;    /* result rows of the present wave */
    Pipeline *pipeline;
    void **states;  /* of the running pipeline, one an operator */
    struct InnerRun *inner; /* the running pipeline is part of another one's source (PN_APPEND); NULL: it is not */
    u64 morsel;
    u32 batches;    /* since interrupts were last looked at */
};

struct Op {
    const PlanNode *node; /* whose rows it makes; NULL for sinks */
    Op *next;
    u32 index;
    bool uncounted; /* its rows count where they go: in the source that this pipeline is part of */
    void *(*open)(Op *op, Worker *w); /* a thread's state */
    void (*push)(Op *op, void *state, Worker *w, Batch *b);
};

struct Source {
    const PlanNode *node;
    u64 morsel_count;
    u64 row_count;     /* about: decides on threads */
    bool single_batch; /* at most one batch comes, and its memory lives as long as the execution */
    void *(*open)(Source *s, Worker *w);
    void (*run)(Source *s, void *state, Worker *w, u64 morsel);
    u64 (*remaining)(Source *s); /* rows still to do when a bound makes blocks superfluous; may be NULL */
    u64 (*barrier)(Source *s, u64 morsel); /* the next morsel that must wait for all before it, UINT64_MAX: none; may be NULL */
};

struct Pipeline {
    Source *source;
    Op *first, *last;
    u32 op_count;
    bool fan_out;    /* an operator may make more batches than it gets */
    bool full;       /* the sink wants no more rows (serial plans) */
    void **sources;  /* per worker, the source's state */
    void ***states;  /* per worker and operator */
    u64 next_morsel, end_morsel; /* taken with counter_add_u64 */
};

/* What a thread comes back to, on its stack. */
typedef struct InnerRun {
    Pipeline *outer;
    void **states;
    struct InnerRun *below;
} InnerRun;

struct Exec {
    ExecContext *ctx;
    const Plan *plan;
    const Snapshot *snapshot;
    Arena *arena;
    PlanFigures *figures; /* EXPLAIN ANALYZE only */
    u64 memory_bytes;     /* counter */
    u32 worker_count;     /* workers made so far */
    Worker *workers;      /* exec_max_workers() of them */
    struct Pull *pull;
    TxnOutcome lock_outcome; /* RETRY, REPLAN: a lock was not to be had at this snapshot; all that runs ends early and counts for nothing */
    bool notes_reads;        /* SERIALIZABLE: what is read is told to the transaction, on the session's thread */
    bool done;
    Exec *root;           /* the statement's execution: itself, or the one this is within; the following are its */
    SubRun *subs;
    SharedRun *shared;
};

/* ---- exec.c ---- */
Pipeline *exec_build(Exec *e, const PlanNode *node);
Pipeline *pipeline_new(Exec *e, Source *s);
void pipeline_add(Pipeline *p, Op *op);
/* Run all morsels into the sink that was added last. */
void pipeline_run(Exec *e, Pipeline *p);
void pipeline_run_range(Exec *e, Pipeline *p, u64 first, u64 end);
/* For a source made of pipelines: to be called once before the first of these. */
void pipeline_prepare(Exec *e, Pipeline *p);
/* One morsel of p in this thread, from within another pipeline's source; its last operator hands batches on by pipeline_relay. */
void pipeline_run_inner(Worker *w, Pipeline *p, u64 morsel);
void pipeline_relay(Worker *w, Batch *b);
/* The next operator gets b; empty batches go nowhere. */
void op_emit(Op *op, Worker *w, Batch *b);
/* Source: a batch enters the pipeline. Resets the scratch afterwards and looks at interrupts. */
void source_emit(Source *s, Worker *w, Batch *b);
typedef struct Pull Pull;
typedef struct RowColumn RowColumn;
Pull *pull_open(Exec *e, const PlanNode *node);
/* Few rows are wanted, as under a LIMIT: not all cores at once. */
void pull_few(Pull *p);
/* Runs what must be complete before the first row leaves: builds of joins, sorts, groups, locks. */
void pull_prepare(Pull *p);
/* Runs it to the end and keeps all rows. */
void pull_keep(Pull *p);
/* All locks of the statement, before its first row leaves. Not TXN_DONE: the execution is closed, and the snapshot has moved. */
TxnOutcome exec_take_locks(Exec *e, Pull *pull);
/* What a pull gives, to be kept beyond the next one. */
RowColumn *pull_row_types(Exec *e, const PlanNode *n);
bool pull_next(Pull *p, Batch *ret);
const TableShm *exec_table(Exec *e, u32 table_id);
/* All rows of it are looked at. */
void exec_note_table(Exec *e, u32 table_id);
Exec *exec_new(ExecContext *ctx, const Plan *plan);
void exec_release(Exec *e);

/* An execution within another one: shares its subqueries and extra parameters. */
Exec *exec_open_inner(Exec *root, ExecContext *ctx, const Plan *plan);

/* ---- subquery.c ---- */
/* State for the plan's subqueries; those that capture nothing are run. */
void subqueries_open(Exec *e);
/* The rows of a subquery of FROM, by exec_next; args are what it captures, decoded, at row i. The root's is the execution to ask; close what it returns. */
Exec *subquery_open_rows(Exec *root, u32 sub, const Vec *const *args, u32 i);

/* ---- shared.c ---- */
void shared_open(Exec *e);
Source *shared_source(Exec *e, const PlanNode *n);

/* ---- parallel.c ---- */
typedef void (*TaskFn)(void *ctx, Worker *w, u64 task);
/* Workers at most, the session's included. */
u32 exec_max_workers(void);
/* Run fn for tasks 0 .. count-1 on up to `wanted` workers; throws the first error. */
void exec_parallel(Exec *e, u32 wanted, u64 count, TaskFn fn, void *ctx);
/* fn once a worker (task = worker index). */
void exec_on_workers(Exec *e, u32 wanted, TaskFn fn, void *ctx);
void worker_check(Worker *w);
/* The areas, as exec_init got them; NULL in tests. */
const Shm *exec_shm(void);
u32 exec_own_slot(void);

/* ---- memory.c ---- */
void exec_charge(Exec *e, u64 bytes);
void exec_uncharge(Exec *e, u64 bytes);
/* Zeroed memory of a worker, counted; big pieces can be freed. */
void *exec_alloc(Worker *w, u64 bytes);
void exec_free(Worker *w, void *piece, u64 bytes);
/* A larger copy; the rest is zero. */
void *exec_grow(Worker *w, void *old, u64 old_bytes, u64 new_bytes);

/* ---- vecs.c ---- */
typedef struct VecBuf {
    u32 capacity;
    void *data;
    u8 *nulls;
    u32 *codes;
} VecBuf;
static inline u32 vec_width(const Vec *v) { return v->codes ? 4 : phys_width(v->phys); }
/* Room for `capacity` elements of phys; made at the first use. */
void vecbuf_need(Arena *a, VecBuf *buf, PhysType phys, u32 capacity);
void vec_take(Arena *a, const Vec *in, const u16 *rows, u32 count, VecBuf *buf, Vec *ret);
/* Rows of a long vector; UINT32_MAX gives NULL when `outer`. */
void vec_take32(Arena *a, const Vec *in, const u32 *rows, u32 count, bool outer, VecBuf *buf, Vec *ret);
/* One text of a vector without constants, whatever its form. */
Str vec_text_at(const Vec *v, u64 i);
void vec_flatten(Arena *a, Vec *v, u32 count, VecBuf *buf);
void vec_decode(Arena *a, Vec *v, u32 count, VecBuf *buf);
/* Convert to another physical form of the same SQL type. */
void vec_convert(Arena *a, Vec *v, u32 count, TypeId type, i32 typmod, PhysType phys, u8 scale, VecBuf *buf);

/* A PlanExpr of one thread. */
typedef struct Eval {
    const PlanExpr *expr;
    ExprState *state;
    VecBuf flat;
} Eval;
void eval_open(Eval *v, Worker *w, const PlanExpr *x);
void eval_run(Eval *v, Worker *w, const Batch *b, Vec *ret);

/* ---- rows.c ---- */
struct RowColumn { PhysType phys; u8 scale; bool stable; };
typedef struct RowChunk {
    struct RowChunk *next;
    u32 count, capacity;
    u64 bytes;
    Vec *columns;
} RowChunk;
typedef struct RowStore {
    u32 column_count;
    const RowColumn *types;
    RowChunk *first, *last;
    u64 row_count;
} RowStore;
/* All rows in one run of arrays. */
typedef struct RowFlat {
    u64 row_count;
    u32 column_count;
    Vec *columns;
} RowFlat;
void rows_append(Worker *w, Arena *a, RowStore *s, const Batch *b);
void rows_flatten(Exec *e, RowStore *const *stores, u32 count, const RowColumn *types, u32 column_count, RowFlat *ret);
RowColumn *rows_types(Arena *a, const PlanSlot *slots, u32 count);
/* exec_next gives these rows of worker 0 from now on. */
void exec_hand_out(Exec *e, RowStore *rows);
/* A source over flat rows, in `order` (NULL: as they are). */
Source *rows_source(Exec *e, const PlanNode *node, const RowFlat *flat, const u32 *order, u64 count);

/* ---- operators: each adds itself to a pipeline, or makes a new one's source ---- */
Source *scan_source(Exec *e, const PlanNode *n);
Source *values_source(Exec *e, const PlanNode *n);
/* Rows of single values, one a slot. */
Source *cells_source(Exec *e, const PlanNode *n, const Value *cells, u32 row_count);
Source *function_source(Exec *e, const PlanNode *n);
Source *system_source(Exec *e, const PlanNode *n);
/* One row's columns by row id, into vectors with room (row_columns): text is decoded. */
typedef struct RowReader {
    Exec *exec;
    const TableShm *table;
    u32 table_id, column_count;
    const u16 *columns;
} RowReader;
void row_columns(Arena *a, const PlanSlot *slots, u32 count, u32 capacity, Vec *columns);
void row_read(const RowReader *r, RowId id, Vec *columns, u32 row);
Source *key_source(Exec *e, const PlanNode *n);
Op *filter_op(Exec *e, const PlanNode *n);
Op *project_op(Exec *e, const PlanNode *n);
Op *fetch_op(Exec *e, const PlanNode *n);
Source *append_source(Exec *e, const PlanNode *n);
/* The rows of first, then, when all of it is done, those of second: both of n's form. */
Source *append_in_turn(Exec *e, const PlanNode *n, Pipeline *first, Pipeline *second);
Op *repeat_op(Exec *e, const PlanNode *n);
Op *key_join_op(Exec *e, const PlanNode *n);
Op *hash_join_op(Exec *e, const PlanNode *n);
Op *loop_join_op(Exec *e, const PlanNode *n);
Op *lateral_op(Exec *e, const PlanNode *n);
/* The right side of a join, kept. found, of FULL joins only: a byte a row, set once the row had a partner. */
typedef struct KeptSide {
    RowFlat rows;
    u8 *found;
} KeptSide;
KeptSide *hash_join_kept(Op *op);
KeptSide *loop_join_kept(Op *op);
void kept_open(Exec *e, const PlanJoin *join, KeptSide *k);
void kept_mark(KeptSide *k, const u32 *rows, u32 count); /* UINT32_MAX: no row */
bool kept_is_marked(const KeptSide *k, u32 row);
/* A hash or loop join of kind FULL. */
Source *kept_join_source(Exec *e, const PlanNode *n);
Source *agg_source(Exec *e, const PlanNode *n);
Source *sort_source(Exec *e, const PlanNode *n);
Source *window_source(Exec *e, const PlanNode *n);
/* All rows of a node, kept. */
RowFlat *rows_of(Exec *e, const PlanNode *n);
/* Throws for KernStatus bits of an aggregate's result. */
void agg_finish_error(u32 status, const PlanSlot *slot);
Source *lock_source(Exec *e, const PlanNode *n);
/* Rows LIMIT keeps and OFFSET drops; UINT64_MAX = all. */
void limit_values(Exec *e, const PlanSort *s, u64 *ret_limit, u64 *ret_offset);

/* A bound that a top-N gives its scan: rows whose normalised first key is above it cannot get in. */
typedef struct SortBound {
    const PlanSortKey *key;
    u64 worst; /* relaxed; UINT64_MAX: none yet */
} SortBound;
void scan_set_bound(Source *s, SortBound *bound);
/* Order-preserving image of a fixed-width value of up to 8 bytes; false when phys has none. */
bool sort_has_image(PhysType phys);
void sort_images(const Vec *v, u32 count, const PlanSortKey *key, u64 *images);

/* What is known about a column before running: where it comes from. */
bool column_int_range(Exec *e, const PlanNode *n, u32 column, i64 *ret_lo, i64 *ret_hi);
const DictShm *column_dict(Exec *e, const PlanNode *n, u32 column);

#endif
