/*
 * exec.c
 *    Open, pull, close; cutting the plan into pipelines and running them.
 *
 * The rows of the last pipeline reach the client in order of its morsels: a wave of morsels is run, its rows are kept morsel by morsel and handed
 * out, then comes the next wave. The first wave is one morsel on the session's thread, so that a small query wakes nobody and
 * LIMIT stops early. A plan whose source makes one batch (key lookups, VALUES) keeps nothing at all: the batch is handed out as it is.
 */
#include "backend/exec/run.h"

#include "common/base/env.h"
#include "common/shm/publish.h"

enum {
    INLINE_ROWS = 40000,   /* below this a pipeline runs on the session's thread: waking others costs more */
    CHECK_BATCHES = 16,
    WAVE_MORSELS_PER_WORKER = 4,
};

/* ---- pipelines ---- */

void
pipeline_add(Pipeline *p, Op *op)
{
    op->index = p->op_count++;
    if (p->last)
        p->last->next = op;
    else
        p->first = op;
    p->last = op;
}

void
op_emit(Op *op, Worker *w, Batch *b)
{
    if (!b->count)
        return;
    if (w->exec->figures && op->node && !op->uncounted)
        counter_add_u64(&w->exec->figures[op->node->id].rows, b->count);
    op->next->push(op->next, w->states[op->next->index], w, b);
}

void
source_emit(Source *s, Worker *w, Batch *b)
{
    if (b->count) {
        if (w->exec->figures && s->node)
            counter_add_u64(&w->exec->figures[s->node->id].rows, b->count);
        Op *first = w->pipeline->first;
        first->push(first, w->states[first->index], w, b);
        if (!s->single_batch)
            arena_reset(w->scratch);
    }
    if (++w->batches >= CHECK_BATCHES)
        worker_check(w);
}

static void
enter_pipeline(Pipeline *p, Worker *w)
{
    w->pipeline = p;
    if (!p->states[w->index]) {
        void **states = ARENA_ARRAY(w->arena, void *, MAX(p->op_count, 1u));
        w->states = states;
        p->sources[w->index] = p->source->open ? p->source->open(p->source, w) : NULL;
        for (Op *op = p->first; op; op = op->next)
            states[op->index] = op->open ? op->open(op, w) : NULL;
        p->states[w->index] = states;
    }
    w->states = p->states[w->index];
}

void
pipeline_run_inner(Worker *w, Pipeline *p, u64 morsel)
{
    InnerRun run = {w->pipeline, w->states, w->inner};
    enter_pipeline(p, w);
    w->inner = &run;
    p->source->run(p->source, p->sources[w->index], w, morsel);
    w->inner = run.below;
    w->pipeline = run.outer;
    w->states = run.states;
}

/* The batch is in the inner pipeline's scratch, so the scratch stays. */
void
pipeline_relay(Worker *w, Batch *b)
{
    InnerRun *run = w->inner;
    Pipeline *inner = w->pipeline;
    void **states = w->states;
    Op *first = run->outer->first;
    if (!b->count)
        return;
    w->pipeline = run->outer;
    w->states = run->states;
    w->inner = run->below;
    if (w->exec->figures && run->outer->source->node)
        counter_add_u64(&w->exec->figures[run->outer->source->node->id].rows, b->count);
    first->push(first, w->states[first->index], w, b);
    w->pipeline = inner;
    w->states = states;
    w->inner = run;
}

typedef struct RangeRun { Exec *e; Pipeline *p; } RangeRun;

static void
run_morsels(void *ctx, Worker *w, u64 task)
{
    (void)task;
    RangeRun *r = ctx;
    enter_pipeline(r->p, w);
    u64 start = r->e->figures ? env->monotonic_ns() : 0;
    for (;;) {
        u64 m = counter_add_u64(&r->p->next_morsel, 1);
        if (m >= r->p->end_morsel || r->p->full)
            break;
        w->morsel = m;
        worker_check(w);
        r->p->source->run(r->p->source, r->p->sources[w->index], w, m);
    }
    if (start && r->p->source->node) {
        PlanFigures *f = &r->e->figures[r->p->source->node->id];
        counter_add_u64(&f->time_ns, env->monotonic_ns() - start);
        counter_add_u32(&f->workers, 1);
    }
}

void
pipeline_prepare(Exec *e, Pipeline *p)
{
    if (p->states)
        return;
    u32 most = exec_max_workers();
    p->states = ARENA_ARRAY(e->arena, void **, most);
    p->sources = ARENA_ARRAY(e->arena, void *, most);
}

void
pipeline_run_range(Exec *e, Pipeline *p, u64 first, u64 end)
{
    pipeline_prepare(e, p);
    RangeRun r = {e, p};
    u64 stop;
    do {
        stop = p->source->barrier ? MIN(end, p->source->barrier(p->source, first)) : end;
        p->next_morsel = first;
        p->end_morsel = stop;
        u64 rows = p->source->remaining ? p->source->remaining(p->source) : p->source->row_count;
        bool alone = stop - first < 2 || rows < INLINE_ROWS;
        exec_on_workers(e, alone ? 1 : (u32)MIN((u64)exec_max_workers(), stop - first), run_morsels, &r);
        first = stop;
    } while (first < end && !p->full);
}

void
pipeline_run(Exec *e, Pipeline *p)
{
    u64 count = p->source->morsel_count, done = 0;
    if (p->source->remaining && count > 1) { /* what the first one finds may spare the others */
        pipeline_run_range(e, p, 0, 1);
        done = 1;
    }
    pipeline_run_range(e, p, done, count);
}

Pipeline *
pipeline_new(Exec *e, Source *s)
{
    Pipeline *p = ARENA_NEW(e->arena, Pipeline);
    p->source = s;
    return p;
}

/* A LIMIT below the top: its rows are pulled and kept. */
static Source *
limit_source(Exec *e, const PlanNode *n)
{
    Pull *pull = pull_open(e, n);
    RowStore *store = ARENA_NEW(e->arena, RowStore);
    store->types = pull_row_types(e, n);
    store->column_count = n->slot_count;
    Batch b;
    while (pull_next(pull, &b))
        rows_append(&e->workers[0], e->workers[0].arena, store, &b);
    RowFlat *flat = ARENA_NEW(e->arena, RowFlat);
    rows_flatten(e, &store, 1, store->types, store->column_count, flat);
    return rows_source(e, n, flat, NULL, flat->row_count);
}

static Pipeline *
build_over(Exec *e, const PlanNode *n, Op *(*make)(Exec *, const PlanNode *), bool fan_out)
{
    Op *op = make(e, n); /* builds run before the probe side is opened */
    Pipeline *p = exec_build(e, n->left);
    pipeline_add(p, op);
    p->fan_out = p->fan_out || fan_out;
    return p;
}

Pipeline *
exec_build(Exec *e, const PlanNode *n)
{
    switch (n->kind) {
    case PN_VALUES:
        return pipeline_new(e, values_source(e, n));
    case PN_SCAN:
        return pipeline_new(e, scan_source(e, n));
    case PN_KEY:
        return pipeline_new(e, key_source(e, n));
    case PN_FILTER:
        return build_over(e, n, filter_op, n->filter.serial);
    case PN_PROJECT:
        return build_over(e, n, project_op, false);
    case PN_FETCH:
        return build_over(e, n, fetch_op, false);
    case PN_APPEND:
        return pipeline_new(e, append_source(e, n));
    case PN_WINDOW:
        return pipeline_new(e, window_source(e, n));
    case PN_SHARED:
        return pipeline_new(e, shared_source(e, n));
    case PN_REPEAT:
        return build_over(e, n, repeat_op, true);
    case PN_KEY_JOIN:
        return build_over(e, n, key_join_op, false);
    case PN_HASH_JOIN:
    case PN_LOOP_JOIN:
        if (join_gives_kept(n->join.kind))
            return pipeline_new(e, kept_join_source(e, n));
        return build_over(e, n, n->kind == PN_HASH_JOIN ? hash_join_op : loop_join_op, true);
    case PN_LATERAL:
        return build_over(e, n, lateral_op, true);
    case PN_AGG:
        return pipeline_new(e, agg_source(e, n));
    case PN_SORT:
    case PN_TOPN:
        return pipeline_new(e, sort_source(e, n));
    case PN_LIMIT:
        return pipeline_new(e, limit_source(e, n));
    case PN_FUNCTION:
        return pipeline_new(e, function_source(e, n));
    case PN_SYSTEM:
        return pipeline_new(e, system_source(e, n));
    case PN_LOCK:
        return pipeline_new(e, lock_source(e, n));
    }
    err_throw(ERR_INTERNAL_ERROR, "unknown plan node %d", (int)n->kind);
}

/* ---- pulling ---- */

struct Pull {
    Exec *e;
    Pipeline *p;
    Op sink;
    const PlanNode *node; /* below LIMIT */
    const RowColumn *types;
    u32 column_count;
    u64 limit, offset; /* rows still to give, still to drop */
    u64 came;          /* serial plans: rows since the wave began */
    u64 wave_first, wave_end;
    RowStore *wave;    /* one a morsel */
    u64 at_morsel;
    RowChunk *at_chunk;
    bool direct, held, few, done;
    Batch batch;       /* direct: the one that came */
    VecBuf *text;
    Vec *columns;
};

static Pull *
sink_pull(Op *op)
{
    return (Pull *)(void *)((u8 *)op - offsetof(Pull, sink));
}

static void
keep_rows(Op *op, void *state, Worker *w, Batch *b)
{
    (void)state;
    Pull *p = sink_pull(op);
    rows_append(w, w->wave, &p->wave[w->morsel - p->wave_first], b);
    if (p->e->plan->serial) {
        p->came += b->count;
        w->pipeline->full = p->came >= p->limit && p->came - p->limit >= p->offset;
    }
}

static void
hold_batch(Op *op, void *state, Worker *w, Batch *b)
{
    (void)state;
    (void)w;
    Pull *p = sink_pull(op);
    ensure(!p->held);
    p->batch = *b;
    p->held = true;
}

Pull *
pull_open(Exec *e, const PlanNode *node)
{
    Pull *p = ARENA_NEW(e->arena, Pull);
    p->e = e;
    p->limit = UINT64_MAX;
    if (node->kind == PN_LIMIT) {
        limit_values(e, &node->sort, &p->limit, &p->offset);
        node = node->left;
    }
    p->node = node;
    p->column_count = node->slot_count;
    p->columns = ARENA_ARRAY(e->arena, Vec, node->slot_count);
    p->text = ARENA_ARRAY(e->arena, VecBuf, node->slot_count);
    return p;
}

static void
set_pipeline(Pull *p, Pipeline *pipeline)
{
    p->p = pipeline;
    p->direct = p->p->source->single_batch && !p->p->fan_out;
    p->sink = (Op){.push = p->direct ? hold_batch : keep_rows};
    if (!p->direct)
        p->types = rows_types(p->e->arena, p->node->slots, p->node->slot_count);
    pipeline_add(p->p, &p->sink);
}

static void
start_pull(Pull *p)
{
    set_pipeline(p, exec_build(p->e, p->node));
}

void
pull_few(Pull *p)
{
    p->few = true;
}

void
pull_prepare(Pull *p)
{
    if (!p->p)
        start_pull(p);
}

void
pull_keep(Pull *p)
{
    Exec *e = p->e;
    RowStore *store = ARENA_NEW(e->arena, RowStore);
    RowFlat *flat = ARENA_NEW(e->arena, RowFlat);
    Batch b;
    store->types = pull_row_types(e, p->node);
    store->column_count = p->column_count;
    while (e->root->lock_outcome == TXN_DONE && pull_next(p, &b))
        rows_append(&e->workers[0], e->workers[0].arena, store, &b);
    rows_flatten(e, &store, 1, store->types, store->column_count, flat);
    Pull kept = {.e = e, .node = p->node, .column_count = p->column_count, .limit = UINT64_MAX, .columns = p->columns, .text = p->text};
    *p = kept;
    set_pipeline(p, pipeline_new(e, rows_source(e, NULL, flat, NULL, flat->row_count)));
}

RowColumn *
pull_row_types(Exec *e, const PlanNode *n)
{
    RowColumn *types = rows_types(e->arena, n->slots, n->slot_count);
    for (u32 i = 0; i < n->slot_count; i++) /* the pull's text lives until its next wave only */
        types[i].stable = false;
    return types;
}

static void
run_wave(Pull *p)
{
    Exec *e = p->e;
    u64 count = p->p->source->morsel_count, size = p->wave_end ? (p->wave_end - p->wave_first) * 4 : 1;
    if (p->wave_end == 0 && p->limit == UINT64_MAX && !p->few && p->p->source->row_count >= INLINE_ROWS)
        size = exec_max_workers();
    size = MIN(size, (u64)exec_max_workers() * WAVE_MORSELS_PER_WORKER);
    for (u32 i = 0; i < e->worker_count; i++)
        arena_reset(e->workers[i].wave);
    p->came = 0;
    p->wave_first = p->wave_end;
    p->wave_end = MIN(count, p->wave_first + size);
    u64 n = p->wave_end - p->wave_first;
    p->wave = ARENA_ARRAY(e->workers[0].wave, RowStore, n);
    for (u64 i = 0; i < n; i++) {
        p->wave[i].types = p->types;
        p->wave[i].column_count = p->column_count;
    }
    pipeline_run_range(e, p->p, p->wave_first, p->wave_end);
    p->at_morsel = 0;
    p->at_chunk = p->wave[0].first;
}

/* Drop what OFFSET drops, cut what LIMIT cuts; text decoded. False: nothing of it is left. */
static bool
hand_out(Pull *p, const Batch *b, Batch *ret)
{
    u32 from = (u32)MIN((u64)b->count, p->offset);
    p->offset -= from;
    u32 n = (u32)MIN((u64)(b->count - from), p->limit);
    if (!n)
        return false;
    p->limit -= n;
    for (u32 c = 0; c < p->column_count; c++) {
        Vec *v = &p->columns[c];
        *v = b->columns[c];
        if (v->codes && !v->data)
            v->codes += from;
        else
            v->data = (u8 *)v->data + (size_t)from * phys_width(v->phys);
        if (v->null_mask)
            v->null_mask += from;
        vec_decode(p->e->workers[0].arena, v, n, &p->text[c]);
    }
    *ret = (Batch){.count = n, .column_count = p->column_count, .columns = p->columns};
    return true;
}

static bool
pull_direct(Pull *p, Batch *ret)
{
    p->done = true;
    if (p->limit)
        pipeline_run_range(p->e, p->p, 0, p->p->source->morsel_count);
    return p->held && hand_out(p, &p->batch, ret);
}

bool
pull_next(Pull *p, Batch *ret)
{
    if (p->done)
        return false;
    pull_prepare(p);
    if (p->direct)
        return pull_direct(p, ret);
    for (;;) {
        while (p->at_chunk && p->limit) {
            Batch b = {.count = p->at_chunk->count, .column_count = p->column_count, .columns = p->at_chunk->columns};
            p->at_chunk = p->at_chunk->next;
            if (hand_out(p, &b, ret))
                return true;
        }
        if (!p->limit)
            break;
        if (p->at_morsel + 1 < p->wave_end - p->wave_first) {
            p->at_chunk = p->wave[++p->at_morsel].first;
            continue;
        }
        if (p->wave_end >= p->p->source->morsel_count)
            break;
        run_wave(p);
    }
    p->done = true;
    return false;
}

/* ---- the door ---- */

static void
release_hook(void *what)
{
    exec_release(what);
}

static Exec *
new_exec(ExecContext *ctx, const Plan *plan)
{
    Exec *e = ARENA_NEW(ctx->arena, Exec);
    e->ctx = ARENA_NEW(ctx->arena, ExecContext);
    *e->ctx = *ctx;
    e->plan = plan;
    e->arena = ctx->arena;
    e->snapshot = ctx->txn ? txn_snapshot(ctx->txn) : NULL;
    e->notes_reads = ctx->txn && txn_isolation(ctx->txn) == TXN_SERIALIZABLE;
    e->workers = ARENA_ARRAY(ctx->arena, Worker, exec_max_workers());
    Worker *w = &e->workers[0];
    w->exec = e;
    w->arena = ctx->arena;
    arena_hook(ctx->arena, release_hook, e);
    w->scratch = arena_new("batch", ctx->memory_limit_bytes, arena_full_throw);
    w->wave = arena_new("result", ctx->memory_limit_bytes, arena_full_throw);
    if (!w->scratch || !w->wave)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    e->worker_count = 1;
    return e;
}

Exec *
exec_new(ExecContext *ctx, const Plan *plan)
{
    Exec *e = new_exec(ctx, plan);
    e->root = e;
    shared_open(e);
    subqueries_open(e);
    return e;
}

Exec *
exec_open_inner(Exec *root, ExecContext *ctx, const Plan *plan)
{
    Exec *e = new_exec(ctx, plan);
    e->root = root;
    e->pull = pull_open(e, plan->root);
    return e;
}

/* Frees what is not the statement arena's. Safe to call twice. */
void
exec_release(Exec *e)
{
    for (u32 i = 0; i < MAX(e->worker_count, 1u); i++) {
        Worker *w = &e->workers[i];
        arena_free(w->scratch);
        arena_free(w->wave);
        if (i)
            arena_free(w->arena);
        w->scratch = w->wave = w->arena = NULL;
    }
    e->worker_count = 0;
    e->done = true;
}

const TableShm *
exec_table(Exec *e, u32 table_id)
{
    const TableShm *t = store_table(e->snapshot->root, table_id);
    if (!t)
        err_throw(ERR_UNDEFINED_TABLE, "relation with OID %u does not exist", table_id);
    return t;
}

void
exec_note_table(Exec *e, u32 table_id)
{
    if (e->notes_reads)
        txn_note_read_table(e->ctx->txn, table_id);
}

Exec *
exec_open(ExecContext *ctx, const Plan *plan)
{
    Exec *e = exec_new(ctx, plan);
    e->pull = pull_open(e, plan->root);
    return e;
}

Exec *
exec_open_measured(ExecContext *ctx, const Plan *plan)
{
    Exec *e = exec_new(ctx, plan);
    e->figures = ARENA_ARRAY(ctx->arena, PlanFigures, plan->node_count);
    e->pull = pull_open(e, plan->root);
    return e;
}

/* Subqueries that capture nothing have locked when the execution was made; the others lock when they run, so all rows are kept. */
TxnOutcome
exec_take_locks(Exec *e, Pull *pull)
{
    if (e->lock_outcome == TXN_DONE)
        pull_prepare(pull);
    if (e->lock_outcome == TXN_DONE && e->plan->locks_late)
        pull_keep(pull);
    TxnOutcome o = e->lock_outcome;
    if (o == TXN_DONE)
        return o;
    Txn *t = e->ctx->txn;
    exec_close(e);
    txn_leave_snapshot(t);
    return o;
}

ExecOutcome
exec_open_locking(ExecContext *ctx, const Plan *plan, bool measured, Exec **ret)
{
    for (;;) {
        Exec *e = measured ? exec_open_measured(ctx, plan) : exec_open(ctx, plan);
        TxnOutcome o = exec_take_locks(e, e->pull);
        if (o == TXN_DONE) {
            *ret = e;
            return EXEC_DONE;
        }
        if (o == TXN_REPLAN)
            return EXEC_REPLAN;
    }
}

void
exec_hand_out(Exec *e, RowStore *rows)
{
    RowFlat *flat = ARENA_NEW(e->arena, RowFlat);
    Pull *p = ARENA_NEW(e->arena, Pull);
    rows_flatten(e, &rows, 1, rows->types, rows->column_count, flat);
    p->e = e;
    p->limit = UINT64_MAX;
    p->column_count = rows->column_count;
    p->columns = ARENA_ARRAY(e->arena, Vec, p->column_count);
    p->text = ARENA_ARRAY(e->arena, VecBuf, p->column_count);
    p->types = rows->types;
    p->p = pipeline_new(e, rows_source(e, NULL, flat, NULL, flat->row_count));
    p->sink = (Op){.push = keep_rows};
    pipeline_add(p->p, &p->sink);
    e->pull = p;
}

const PlanFigures *
exec_figures(const Exec *e)
{
    return e->figures;
}

bool
exec_next(Exec *e, Batch *ret)
{
    if (e->done)
        return false;
    return pull_next(e->pull, ret);
}

void
exec_close(Exec *e)
{
    arena_unhook(e->arena, release_hook, e);
    exec_release(e);
}
