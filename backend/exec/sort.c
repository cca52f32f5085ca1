/*
 * sort.c
 *    ORDER BY: all rows are kept, items of (image, row) sorted in parallel runs, the runs merged, the rows read in that order.
 */
#include "backend/exec/sort.h"

enum { ROWS_PER_RUN = 64 * 1024, TOPN_MAX_ROWS = 1 << 20 };

/* ---- keeping rows ---- */

typedef struct Keep {
    Op sink;
    RowStore **stores;
    RowColumn *types;
    u32 column_count;
} Keep;

static void *
keep_open(Op *op, Worker *w)
{
    Keep *k = (Keep *)op;
    RowStore *store = ARENA_NEW(w->arena, RowStore);
    store->types = k->types;
    store->column_count = k->column_count;
    k->stores[w->index] = store;
    return store;
}

static void
keep_push(Op *op, void *state, Worker *w, Batch *b)
{
    (void)op;
    rows_append(w, w->arena, state, b);
}

RowFlat *
rows_of(Exec *e, const PlanNode *n)
{
    Keep *k = ARENA_NEW(e->arena, Keep);
    RowFlat *flat = ARENA_NEW(e->arena, RowFlat);
    *k = (Keep){.sink = {.open = keep_open, .push = keep_push}, .column_count = n->slot_count};
    k->stores = ARENA_ARRAY(e->arena, RowStore *, exec_max_workers());
    k->types = rows_types(e->arena, n->slots, n->slot_count);
    Pipeline *p = exec_build(e, n);
    pipeline_add(p, &k->sink);
    pipeline_run(e, p);
    rows_flatten(e, k->stores, e->worker_count, k->types, n->slot_count, flat);
    return flat;
}

/* ---- sorting ---- */

typedef struct Sort {
    Exec *exec;
    SortOrder order;
    const u32 *rows; /* NULL: all, by number */
    u64 count;
    SortItem *items, *room;
    u64 run; /* rows of a sorted run */
} Sort;

static void
sort_run(void *ctx, Worker *w, u64 task)
{
    (void)w;
    Sort *s = ctx;
    u64 first = task * s->run, count = MIN(s->run, s->count - first);
    if (s->rows)
        sort_list_items(&s->order, s->rows + first, count, s->items + first);
    else
        sort_make_items(&s->order, (u32)first, (u32)count, s->items + first);
    sort_items(&s->order, s->items + first, s->room + first, count);
}

static void
merge_runs(void *ctx, Worker *w, u64 task)
{
    (void)w;
    Sort *s = ctx;
    u64 first = task * 2 * s->run, left = s->count - first;
    u64 a = MIN(s->run, left), b = MIN(s->run, left - a);
    sort_merge(&s->order, s->items + first, a, s->items + first + a, b, s->room + first);
}

/* The rows' numbers in order, to `order`. */
static void
sort_rows(Sort *s, u32 *order)
{
    Exec *e = s->exec;
    Worker *w = &e->workers[0];
    u64 n = s->count;
    s->items = exec_alloc(w, n * sizeof *s->items);
    s->room = exec_alloc(w, n * sizeof *s->room);
    s->run = ROWS_PER_RUN;
    exec_parallel(e, exec_max_workers(), (n + s->run - 1) / s->run, sort_run, s);
    for (; s->run < n; s->run *= 2) {
        exec_parallel(e, exec_max_workers(), (n + 2 * s->run - 1) / (2 * s->run), merge_runs, s);
        SortItem *t = s->items;
        s->items = s->room;
        s->room = t;
    }
    for (u64 i = 0; i < n; i++)
        order[i] = s->items[i].row;
    exec_free(w, s->items, n * sizeof *s->items);
    exec_free(w, s->room, n * sizeof *s->room);
}

u32 *
sort_flat_rows(Exec *e, RowFlat *rows, const PlanSortKey *keys, u32 key_count)
{
    Sort s = {.exec = e, .order = {keys, key_count, rows->columns, false}, .count = rows->row_count};
    u32 *order = exec_alloc(&e->workers[0], s.count * sizeof *order);
    sort_rows(&s, order);
    return order;
}

void
sort_listed_rows(Exec *e, const Vec *columns, const PlanSortKey *keys, u32 key_count, u32 *rows, u64 count)
{
    Sort s = {.exec = e, .order = {keys, key_count, columns, true}, .rows = rows, .count = count};
    sort_rows(&s, rows);
}

u64
sort_ties_end(const SortOrder *o, const u32 *rows, u64 end, u64 total)
{
    u64 last = end;
    while (last && end < total && sort_compare_keys(o, rows[last - 1], rows[end]) == 0)
        end++;
    return end;
}

Source *
sort_source(Exec *e, const PlanNode *n)
{
    u64 limit, offset;
    limit_values(e, &n->sort, &limit, &offset);
    if (n->kind == PN_TOPN && limit <= TOPN_MAX_ROWS && offset <= TOPN_MAX_ROWS)
        return topn_source(e, n, limit, offset);
    RowFlat *rows = rows_of(e, n->left);
    u32 *order = sort_flat_rows(e, rows, n->sort.keys, n->sort.key_count);
    SortOrder o = {n->sort.keys, n->sort.key_count, rows->columns, false};
    u64 skip = MIN(offset, rows->row_count), count = MIN(limit, rows->row_count - skip);
    if (n->sort.with_ties)
        count = sort_ties_end(&o, order, skip + count, rows->row_count) - skip;
    return rows_source(e, n, rows, order + skip, count);
}
