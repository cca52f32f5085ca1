/*
 * agg_collect.c
 *    Calls that get their rows in an order or all at once: every thread keeps what they need of its rows, and when the groups are final each group's rows are
 *    put in order and folded into its state.
 *
 * Without ORDER BY the rows of a group come in the order of the scan, whatever the threads did: a thread's rows stand in runs of one morsel each, and
 * the runs are looked at by morsel. Groups are worked on in parallel; the few that are very large are sorted by all threads before.
 */
#include "backend/exec/agg.h"
#include "backend/exec/agg_fold.h"
#include "backend/exec/sort.h"

#include <stdlib.h>

enum { ROWS_PER_TASK = 64 * 1024, GROUPS_PER_TASK = 4096, BIG_GROUP_ROWS = 512 * 1024 };

typedef struct MorselRun {
    u64 morsel, first; /* the first of its rows in the thread's store */
} MorselRun;

/* One thread's rows for one call. The column behind the fold's is the group's number in the thread's table. */
typedef struct Collected {
    RowStore store;
    Eval *evals;
    VecBuf *taken;
    Vec *columns;
    MorselRun *runs;
    u32 run_count, run_capacity;
} Collected;

void
collect_open(const Agg *a, AggLocal *l)
{
    Worker *w = l->worker;
    l->collected = ARENA_ARRAY(w->arena, Collected, a->plan->call_count);
    for (u32 i = 0; i < a->plan->call_count; i++) {
        const PlanFold *f = a->plan->calls[i].fold;
        if (!f)
            continue;
        Collected *c = &l->collected[i];
        RowColumn *types = ARENA_ARRAY(w->arena, RowColumn, f->column_count + 1);
        c->evals = ARENA_ARRAY(w->arena, Eval, f->column_count);
        c->taken = ARENA_ARRAY(w->arena, VecBuf, f->column_count);
        c->columns = ARENA_ARRAY(w->arena, Vec, f->column_count + 1);
        for (u32 k = 0; k < f->column_count; k++) {
            eval_open(&c->evals[k], w, &f->columns[k]);
            types[k] = (RowColumn){f->slots[k].phys, f->slots[k].scale, f->slots[k].stable};
        }
        types[f->column_count] = (RowColumn){PHYS_I32, 0, true};
        c->store = (RowStore){.types = types, .column_count = f->column_count + 1};
    }
}

static void
note_morsel(Collected *c, Worker *w)
{
    if (c->run_count && c->runs[c->run_count - 1].morsel == w->morsel)
        return;
    if (c->run_count == c->run_capacity) {
        u32 wanted = MAX(c->run_capacity * 2, 16u);
        c->runs = exec_grow(w, c->runs, c->run_capacity * sizeof *c->runs, wanted * sizeof *c->runs);
        c->run_capacity = wanted;
    }
    c->runs[c->run_count++] = (MorselRun){w->morsel, c->store.row_count};
}

void
collect_rows(const Agg *a, AggLocal *l, Worker *w, u32 call, const Batch *b, const u16 *sel, const u32 *numbers, u32 count)
{
    const PlanFold *f = a->plan->calls[call].fold;
    Collected *c = &l->collected[call];
    note_morsel(c, w);
    for (u32 k = 0; k < f->column_count; k++) {
        Vec v;
        eval_run(&c->evals[k], w, b, &v);
        if (sel)
            vec_take(w->arena, &v, sel, count, &c->taken[k], &c->columns[k]);
        else
            c->columns[k] = v;
    }
    c->columns[f->column_count] = (Vec){.phys = PHYS_I32, .data = (void *)(uintptr_t)numbers};
    Batch kept = {.count = count, .column_count = f->column_count + 1, .columns = c->columns};
    rows_append(w, w->arena, &c->store, &kept);
}

/* ---- all threads' rows by group ---- */

/* A run of rows of one thread and morsel, by their numbers in the flat rows. */
typedef struct FlatRun {
    u64 morsel, first, end;
    u32 local;
} FlatRun;

typedef struct Gathered {
    Agg *agg;
    const PlanAggCall *call;
    u32 offset;          /* of the call's state */
    Value *direct;       /* fold_direct() */
    RowFlat rows;
    FlatRun *runs;
    u64 run_count;
    /* for the groups at hand */
    u64 *const *maps;    /* by local */
    const GroupSet *sets;
    u32 *set_first;      /* the number of each set's first group, counting through all */
    u32 group_count;
    u32 *order;          /* rows, group by group */
    u64 *ends;           /* of each group's rows in order; the first begins at 0 */
    bool *sorted;        /* groups whose rows are in the call's order already; NULL: none */
    struct FoldTask { u32 set, first, end; } *tasks;
    u32 task_count;
} Gathered;

static int
compare_runs(const void *a, const void *b)
{
    const FlatRun *x = a, *y = b;
    return (x->morsel > y->morsel) - (x->morsel < y->morsel);
}

static void
find_runs(Gathered *g, AggLocal **locals, u32 local_count, u32 call)
{
    Exec *e = g->agg->exec;
    u64 n = 0, base = 0;
    for (u32 i = 0; i < local_count; i++)
        n += locals[i]->collected[call].run_count;
    g->runs = exec_alloc(&e->workers[0], n * sizeof *g->runs);
    for (u32 i = 0; i < local_count; i++) {
        const Collected *c = &locals[i]->collected[call];
        for (u32 k = 0; k < c->run_count; k++) {
            u64 end = k + 1 < c->run_count ? c->runs[k + 1].first : c->store.row_count;
            g->runs[g->run_count++] = (FlatRun){c->runs[k].morsel, base + c->runs[k].first, base + end, i};
        }
        base += c->store.row_count;
    }
    if (n)
        qsort(g->runs, n, sizeof *g->runs, compare_runs);
}

static u32
final_group(const Gathered *g, const FlatRun *run, u64 row)
{
    u64 to = g->maps[run->local][((const u32 *)g->rows.columns[g->rows.column_count - 1].data)[row]];
    return g->set_first[to >> 32] + (u32)to;
}

/* Counting sort by group, over the runs in the order of their morsels. */
static void
order_rows(Gathered *g)
{
    const FlatRun *runs = g->runs;
    Worker *w = &g->agg->exec->workers[0];
    g->ends = exec_alloc(w, ((u64)g->group_count + 1) * sizeof *g->ends);
    g->order = exec_alloc(w, g->rows.row_count * sizeof *g->order);
    for (u64 r = 0; r < g->run_count; r++)
        for (u64 i = runs[r].first; i < runs[r].end; i++)
            g->ends[final_group(g, &runs[r], i) + 1]++;
    for (u32 i = 0; i < g->group_count; i++)
        g->ends[i + 1] += g->ends[i];
    /* ends[i] is now where group i begins; it moves to its end as rows come */
    for (u64 r = 0; r < g->run_count; r++) {
        for (u64 i = runs[r].first; i < runs[r].end; i++)
            g->order[g->ends[final_group(g, &runs[r], i)]++] = (u32)i;
        if (r % 64 == 0)
            worker_check(w);
    }
}

/* Once: the rows leave the threads' stores. */
static void
gather_rows(Gathered *g, AggLocal **locals, u32 local_count, u32 call)
{
    Exec *e = g->agg->exec;
    RowStore **stores = ARENA_ARRAY(e->arena, RowStore *, MAX(e->worker_count, 1u));
    g->direct = fold_direct(e, g->call->fold);
    if (!local_count) /* no row at all */
        return;
    find_runs(g, locals, local_count, call);
    for (u32 i = 0; i < local_count; i++)
        stores[locals[i]->worker->index] = &locals[i]->collected[call].store;
    rows_flatten(e, stores, e->worker_count, locals[0]->collected[call].store.types, g->call->fold->column_count + 1, &g->rows);
}

/* ---- folding ---- */

static u64
first_row(const Gathered *g, u32 group)
{
    return group ? g->ends[group - 1] : 0;
}

/* Of equal rows the first stays. */
static u64
drop_equal(const SortOrder *o, u32 *rows, u64 count)
{
    u64 kept = 0;
    for (u64 i = 0; i < count; i++)
        if (!kept || sort_compare_keys(o, rows[kept - 1], rows[i]) != 0)
            rows[kept++] = rows[i];
    return kept;
}

static void
fold_group(const Gathered *g, Worker *w, u32 group, u8 *state, SortItem *items, SortItem *room)
{
    const PlanFold *f = g->call->fold;
    u64 first = first_row(g, group), count = g->ends[group] - first;
    u32 *rows = g->order + first;
    SortOrder o = {f->keys, f->key_count, g->rows.columns, true};
    if (f->key_count && count > 1 && !(g->sorted && g->sorted[group])) {
        sort_list_items(&o, rows, count, items);
        sort_items(&o, items, room, count);
        for (u64 i = 0; i < count; i++)
            rows[i] = items[i].row;
    }
    if (f->distinct)
        count = drop_equal(&o, rows, count);
    FoldRows r = {g->rows.columns, rows, count, g->direct};
    fold_rows(w, agg_def(g->call->agg)->op, f, &g->call->kernel, &r, state);
}

static void
fold_task(void *ctx, Worker *w, u64 number)
{
    const Gathered *g = ctx;
    const struct FoldTask *t = &g->tasks[number];
    u64 most = 0;
    for (u32 i = t->first; i < t->end; i++) {
        u32 group = g->set_first[t->set] + i;
        if (!(g->sorted && g->sorted[group]))
            most = MAX(most, g->ends[group] - first_row(g, group));
    }
    SortItem *items = NULL, *room = NULL;
    if (g->call->fold->key_count) {
        items = exec_alloc(w, most * sizeof *items);
        room = exec_alloc(w, most * sizeof *room);
    }
    for (u32 i = t->first; i < t->end; i++) {
        u8 *state = g->sets[t->set].states + (size_t)i * g->agg->stride + g->offset;
        fold_group(g, w, g->set_first[t->set] + i, state, items, room);
        if (i % 64 == 0)
            worker_check(w);
    }
    exec_free(w, items, most * sizeof *items);
    exec_free(w, room, most * sizeof *room);
}

/* Pieces of about as many rows. */
static void
cut_tasks(Gathered *g, u32 set_count)
{
    Worker *w = &g->agg->exec->workers[0];
    u64 room = g->group_count / GROUPS_PER_TASK + g->rows.row_count / ROWS_PER_TASK + 2 * (u64)set_count;
    g->tasks = exec_alloc(w, room * sizeof *g->tasks);
    for (u32 s = 0; s < set_count; s++) {
        u32 first = 0, count = g->sets[s].table->count;
        for (u32 i = 0; i < count; i++) {
            u32 group = g->set_first[s] + i;
            u64 rows = g->ends[group] - first_row(g, g->set_first[s] + first);
            if (i + 1 == count || rows >= ROWS_PER_TASK || i + 1 - first >= GROUPS_PER_TASK) {
                ensure(g->task_count < room);
                g->tasks[g->task_count++] = (struct FoldTask){s, first, i + 1};
                first = i + 1;
            }
        }
    }
}

static void
sort_big_groups(Gathered *g)
{
    Exec *e = g->agg->exec;
    const PlanFold *f = g->call->fold;
    for (u32 i = 0; f->key_count && i < g->group_count; i++) {
        u64 first = first_row(g, i), count = g->ends[i] - first;
        if (count < BIG_GROUP_ROWS)
            continue;
        if (!g->sorted)
            g->sorted = exec_alloc(&e->workers[0], g->group_count);
        sort_listed_rows(e, g->rows.columns, f->keys, f->key_count, g->order + first, count);
        g->sorted[i] = true;
    }
}

static void
free_gathered(Gathered *g)
{
    Worker *w = &g->agg->exec->workers[0];
    exec_free(w, g->order, g->rows.row_count * sizeof *g->order);
    exec_free(w, g->ends, ((u64)g->group_count + 1) * sizeof *g->ends);
}

void
collect_finish(Agg *a, AggLocal **locals, u32 local_count, u64 *const *maps, const GroupSet *sets, u32 set_count)
{
    Exec *e = a->exec;
    u32 *set_first = ARENA_ARRAY(e->arena, u32, set_count);
    u32 groups = 0;
    for (u32 s = 0; s < set_count; s++) {
        set_first[s] = groups;
        groups += sets[s].table->count;
    }
    if (!a->gathered)
        a->gathered = ARENA_ARRAY(e->arena, Gathered, a->plan->call_count);
    for (u32 c = 0; c < a->plan->call_count; c++) {
        Gathered *once = &a->gathered[c];
        if (!a->plan->calls[c].fold)
            continue;
        if (!once->agg) {
            *once = (Gathered){.agg = a, .call = &a->plan->calls[c], .offset = a->offsets[c]};
            gather_rows(once, locals, local_count, c);
        }
        Gathered g = *once;
        g.maps = maps;
        g.sets = sets;
        g.set_first = set_first;
        g.group_count = groups;
        order_rows(&g);
        sort_big_groups(&g);
        cut_tasks(&g, set_count);
        exec_parallel(e, g.task_count > 1 ? exec_max_workers() : 1, g.task_count, fold_task, &g);
        free_gathered(&g);
    }
}
