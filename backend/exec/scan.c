/*
 * scan.c
 *    A table as a source: blocks cut into morsels, zone maps, deleted rows, predicates on byte masks, columns fetched late.
 *
 * Which blocks can hold rows that pass is decided when the scan is opened, from min and max of sealed blocks. Per vector the predicates make a byte
 * mask, the deleted rows are taken out, the rest of the conditions runs over the positions that are left; columns of the result are read in
 * place when all rows of the vector stay and gathered for the survivors otherwise. With a bound (top-N over this scan) blocks are taken best first
 * and skipped once the bound is better than anything in them.
 */
#include "backend/exec/pred.h"

#include <stdlib.h>

#include "common/shm/publish.h"

enum { SPLIT_BLOCK = 4, SPLIT_BELOW_BLOCKS = 64 };

typedef struct ScanPlace {
    u32 place;
    u32 rows;
    u64 best; /* with a bound: the best image in the block */
} ScanPlace;

typedef struct ScanSource {
    Source source;
    Exec *exec;
    const PlanNode *node;
    const PlanScan *scan;
    const TableShm *table;
    u32 place_count, parts;
    ScanPlace *places;
    RangeTest *ranges; /* one a predicate; text predicates: unused */
    TextPred *texts;
    u64 row_total;
    SortBound *bound;
} ScanSource;

typedef struct ColumnReader {
    SliceView view;
    VecBuf buf;
} ColumnReader;

typedef struct ScanState {
    ColumnReader *preds, *filters, *outs;
    u64 *images; /* with a bound */
    TextPredState *texts;
    ExprState *filter;
    Vec *filter_columns, *columns;
    u8 *mask;
    u16 *sel, *offsets;
    u64 *deleted;
    BlockView block;
    bool has_deleted;
} ScanState;

/* ---- opening ---- */

static bool
block_may_pass(const ScanSource *s, const BlockView *b)
{
    for (u32 i = 0; i < s->scan->pred_count; i++) {
        const PlanPred *p = &s->scan->preds[i];
        if (p->kind != PRED_RANGE)
            continue;
        if (s->ranges[i].none)
            return false;
        SliceView v;
        if (b->sealed && slice_view(b, p->column, &v) && v.has_minmax && !range_may_pass(&s->ranges[i], v.min, v.max))
            return false;
    }
    return true;
}

static void
choose_places(ScanSource *s)
{
    u32 count = table_block_count(s->table);
    s->places = ARENA_ARRAY(s->exec->arena, ScanPlace, count);
    u64 blocks = 0;
    for (u32 i = 0; i < count; i++) {
        BlockView b;
        if (!block_view(s->table, i, &b) || !b.row_count)
            continue;
        blocks++;
        if (!block_may_pass(s, &b))
            continue;
        s->places[s->place_count++] = (ScanPlace){.place = i, .rows = b.row_count};
        s->source.row_count += b.row_count;
    }
    if (s->exec->figures) {
        s->exec->figures[s->node->id].blocks = blocks;
        s->exec->figures[s->node->id].blocks_skipped = blocks - s->place_count;
    }
}

static void
open_preds(ScanSource *s)
{
    const TableDef *d = table_def(s->table);
    s->ranges = ARENA_ARRAY(s->exec->arena, RangeTest, s->scan->pred_count);
    s->texts = ARENA_ARRAY(s->exec->arena, TextPred, s->scan->pred_count);
    for (u32 i = 0; i < s->scan->pred_count; i++) {
        const PlanPred *p = &s->scan->preds[i];
        const ColumnDef *c = &d->columns[p->column];
        if (p->kind == PRED_RANGE) {
            Value v = plan_value(s->exec->arena, p->value, &s->exec->ctx->env);
            s->ranges[i] = range_test((PhysType)c->phys, c->scale, p->op, &v);
        } else
            text_pred_open(s->exec, &s->texts[i], p, table_dict(s->table, p->column), s->row_total);
    }
}

static void *scan_open(Source *source, Worker *w);
static void scan_run(Source *source, void *state, Worker *w, u64 morsel);

Source *
scan_source(Exec *e, const PlanNode *n)
{
    ScanSource *s = ARENA_NEW(e->arena, ScanSource);
    s->source = (Source){.node = n, .open = scan_open, .run = scan_run};
    s->exec = e;
    s->node = n;
    s->scan = &n->scan;
    s->table = exec_table(e, n->scan.table_id);
    exec_note_table(e, n->scan.table_id);
    s->row_total = table_row_count(s->table);
    open_preds(s);
    choose_places(s);
    s->parts = s->place_count < SPLIT_BELOW_BLOCKS ? SPLIT_BLOCK : 1;
    s->source.morsel_count = (u64)s->place_count * s->parts;
    return &s->source;
}

/* ---- bounds ---- */

static int
compare_places(const void *a, const void *b)
{
    const ScanPlace *x = a, *y = b;
    return x->best != y->best ? (x->best < y->best ? -1 : 1) : (x->place < y->place ? -1 : 1);
}


static u64
scan_remaining(Source *source)
{
    const ScanSource *s = (const ScanSource *)source;
    u64 worst = relaxed_u64(&s->bound->worst), rows = 0;
    for (u32 i = 0; i < s->place_count && s->places[i].best <= worst; i++)
        rows += s->places[i].rows;
    return rows;
}

void
scan_set_bound(Source *source, SortBound *bound)
{
    ScanSource *s = (ScanSource *)source;
    const PlanSortKey *key = bound->key;
    u16 column = s->scan->columns[key->column];
    s->bound = bound;
    for (u32 i = 0; i < s->place_count; i++) {
        BlockView b;
        SliceView v;
        s->places[i].best = 0;
        if (!block_view(s->table, s->places[i].place, &b) || column >= BCOL_CTID || !slice_view(&b, column, &v) || !v.has_minmax)
            continue;
        Vec ends = {.phys = v.phys, .scale = v.scale};
        u64 first, second;
        ends.data = (void *)(uintptr_t)v.min;
        sort_images(&ends, 1, key, &first);
        ends.data = (void *)(uintptr_t)v.max;
        sort_images(&ends, 1, key, &second);
        if (!(v.has_nulls && key->nulls_first)) /* blocks with a NaN have no min and max */
            s->places[i].best = MIN(first, second);
    }
    qsort(s->places, s->place_count, sizeof *s->places, compare_places);
    s->parts = 1;
    s->source.morsel_count = s->place_count;
    s->source.remaining = scan_remaining;
}

/* ---- a thread's state ---- */

static void *
scan_open(Source *source, Worker *w)
{
    const ScanSource *s = (const ScanSource *)source;
    const PlanScan *p = s->scan;
    ScanState *st = ARENA_NEW(w->arena, ScanState);
    st->preds = ARENA_ARRAY(w->arena, ColumnReader, p->pred_count);
    st->texts = ARENA_ARRAY(w->arena, TextPredState, p->pred_count);
    st->filters = ARENA_ARRAY(w->arena, ColumnReader, p->filter_column_count);
    st->outs = ARENA_ARRAY(w->arena, ColumnReader, s->node->slot_count);
    st->filter_columns = ARENA_ARRAY(w->arena, Vec, p->filter_column_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, s->node->slot_count);
    st->mask = arena_alloc(w->arena, VEC_SIZE);
    st->sel = arena_alloc(w->arena, VEC_SIZE * sizeof(u16));
    st->offsets = arena_alloc(w->arena, VEC_SIZE * sizeof(u16));
    st->deleted = arena_alloc(w->arena, BLOCK_WORDS * sizeof(u64));
    for (u32 i = 0; i < p->pred_count; i++)
        if (p->preds[i].kind == PRED_TEXT)
            text_pred_thread(&st->texts[i], w, &s->texts[i]);
    if (p->filter)
        st->filter = expr_state(w->arena, p->filter, &w->exec->ctx->env);
    return st;
}

static void
read_column(ColumnReader *r, Worker *w, u32 first, u32 count, Vec *ret)
{
    vecbuf_need(w->arena, &r->buf, r->view.phys, VEC_SIZE);
    slice_read(&r->view, first, count, ret, r->view.phys == PHYS_STR ? (void *)r->buf.codes : r->buf.data, r->buf.nulls);
}

static void
gather_column(ColumnReader *r, Worker *w, const u16 *offsets, u32 count, Vec *ret)
{
    vecbuf_need(w->arena, &r->buf, r->view.phys, VEC_SIZE);
    slice_gather(&r->view, offsets, count, ret, r->view.phys == PHYS_STR ? (void *)r->buf.codes : r->buf.data, r->buf.nulls);
}

static void
system_column(ColumnReader *r, Worker *w, u16 column, const ScanSource *s, const ScanState *st, const u16 *offsets, u32 first, u32 count,
              Vec *ret)
{
    *ret = (Vec){.phys = PHYS_I64};
    vecbuf_need(w->arena, &r->buf, ret->phys, VEC_SIZE);
    ret->data = r->buf.data;
    if (column == BCOL_CTID)
        for (u32 i = 0; i < count; i++)
            ((u64 *)ret->data)[i] = ROW_ID(st->block.block_id, offsets ? offsets[i] : first + i);
    else
        for (u32 i = 0; i < count; i++)
            ((u64 *)ret->data)[i] = s->scan->table_id;
}

static void
view_column(const ScanState *st, ColumnReader *r, u16 column)
{
    if (column < BCOL_CTID)
        ensure(slice_view(&st->block, column, &r->view));
}

static void
view_columns(const ScanSource *s, ScanState *st)
{
    const PlanScan *p = s->scan;
    for (u32 i = 0; i < p->pred_count; i++)
        view_column(st, &st->preds[i], p->preds[i].column);
    for (u32 i = 0; i < p->filter_column_count; i++)
        view_column(st, &st->filters[i], p->filter_columns[i]);
    for (u32 i = 0; i < s->node->slot_count; i++)
        view_column(st, &st->outs[i], p->columns[i]);
}

/* ---- a vector ---- */

static void
emit_rows(ScanSource *s, ScanState *st, Worker *w, u32 first, u32 count, const u16 *sel, u32 passed)
{
    const u16 *offsets = NULL;
    if (s->node->slot_count && passed < count) {
        for (u32 i = 0; i < passed; i++)
            st->offsets[i] = (u16)(first + sel[i]);
        offsets = st->offsets;
    }
    for (u32 i = 0; i < s->node->slot_count; i++) {
        u16 column = s->scan->columns[i];
        if (column >= BCOL_CTID)
            system_column(&st->outs[i], w, column, s, st, offsets, first, passed, &st->columns[i]);
        else if (offsets)
            gather_column(&st->outs[i], w, offsets, passed, &st->columns[i]);
        else
            read_column(&st->outs[i], w, first, count, &st->columns[i]);
    }
    Batch b = {.count = passed, .column_count = s->node->slot_count, .columns = st->columns};
    source_emit(&s->source, w, &b);
}

/* Rows that the bound of a top-N still lets in. */
static void
mask_bound(const ScanSource *s, ScanState *st, Worker *w, u32 first, u32 count, u64 worst)
{
    Vec v;
    read_column(&st->outs[s->bound->key->column], w, first, count, &v);
    if (!st->images)
        st->images = arena_alloc(w->arena, VEC_SIZE * sizeof *st->images);
    sort_images(&v, count, s->bound->key, st->images);
    mask_range_u64(st->images, count, 0, worst, true, st->mask);
}

/* The byte mask of all predicates and deleted rows; false when every row passes (no mask was made). */
static bool
make_mask(const ScanSource *s, ScanState *st, Worker *w, u32 first, u32 count)
{
    u64 worst = s->bound ? relaxed_u64(&s->bound->worst) : UINT64_MAX;
    bool made = worst != UINT64_MAX;
    if (made)
        mask_bound(s, st, w, first, count, worst);
    for (u32 i = 0; i < s->scan->pred_count; i++) {
        Vec v;
        read_column(&st->preds[i], w, first, count, &v);
        if (s->scan->preds[i].kind == PRED_RANGE)
            range_mask(&s->ranges[i], &v, count, !made, st->mask);
        else
            text_pred_mask(&s->texts[i], &st->texts[i], w, &v, count, s->row_total, !made, st->mask);
        made = true;
    }
    if (st->has_deleted) {
        if (!made)
            memset(st->mask, 1, count);
        mask_and_deleted(st->deleted, first, count, st->mask);
        made = true;
    }
    return made;
}

static void
scan_vector(ScanSource *s, ScanState *st, Worker *w, u32 first, u32 count)
{
    const PlanScan *p = s->scan;
    u32 passed = count;
    const u16 *sel = NULL;
    if (make_mask(s, st, w, first, count)) {
        if (!p->filter && !s->node->slot_count)
            passed = mask_count(st->mask, count);
        else
            passed = mask_positions(st->mask, count, st->sel);
        sel = passed < count ? st->sel : NULL;
    }
    if (p->filter && passed) {
        for (u32 i = 0; i < p->filter_column_count; i++) {
            if (p->filter_columns[i] >= BCOL_CTID)
                system_column(&st->filters[i], w, p->filter_columns[i], s, st, NULL, first, count, &st->filter_columns[i]);
            else
                read_column(&st->filters[i], w, first, count, &st->filter_columns[i]);
        }
        Batch b = {.count = passed, .sel = sel, .column_count = p->filter_column_count, .columns = st->filter_columns};
        passed = expr_filter(st->filter, w->scratch, &b, st->sel);
        sel = st->sel;
    }
    if (w->exec->figures)
        counter_add_u64(&w->exec->figures[s->node->id].rows_removed, count - passed);
    if (passed)
        emit_rows(s, st, w, first, count, sel, passed);
    else if (++w->batches >= 64)
        worker_check(w);
}

static void
scan_run(Source *source, void *state, Worker *w, u64 morsel)
{
    ScanSource *s = (ScanSource *)source;
    ScanState *st = state;
    const ScanPlace *place = &s->places[morsel / s->parts];
    if (s->bound && place->best > relaxed_u64(&s->bound->worst)) {
        if (w->exec->figures)
            counter_add_u64(&w->exec->figures[s->node->id].blocks_skipped, 1);
        return;
    }
    if (!block_view(s->table, place->place, &st->block))
        return;
    u32 part_rows = BLOCK_ROWS / s->parts, first = (u32)(morsel % s->parts) * part_rows;
    u32 end = MIN(st->block.row_count, first + part_rows);
    if (first >= end)
        return;
    u32 deleted_count = 0;
    st->has_deleted = block_deleted(&st->block, s->exec->snapshot->version, st->deleted, &deleted_count);
    view_columns(s, st);
    if (s->bound && s->bound->key->descending) { /* newest rows last is the usual order: best first again */
        u32 vectors = (end - first + VEC_SIZE - 1) / VEC_SIZE;
        for (u32 i = vectors; i-- > 0;)
            scan_vector(s, st, w, first + i * VEC_SIZE, MIN((u32)VEC_SIZE, end - first - i * VEC_SIZE));
        return;
    }
    for (u32 at = first; at < end; at += VEC_SIZE)
        scan_vector(s, st, w, at, MIN((u32)VEC_SIZE, end - at));
}

/* ---- what is known before running ---- */

/* Min and max of an integer column over all blocks that are read. */
static bool
table_int_range(Exec *e, const PlanScan *p, u16 column, i64 *ret_lo, i64 *ret_hi)
{
    const TableShm *t = exec_table(e, p->table_id);
    i64 lo = INT64_MAX, hi = INT64_MIN;
    for (u32 i = 0, n = table_block_count(t); i < n; i++) {
        BlockView b;
        if (!block_view(t, i, &b) || !b.row_count)
            continue;
        if (!slice_int_range(&b, column, &lo, &hi))
            return false;
    }
    *ret_lo = lo;
    *ret_hi = hi;
    return lo <= hi;
}

/* The scan, and its column, that a column of a node is passed through from; NULL when it is computed. */
static const PlanNode *
trace_column(const PlanNode *n, u32 *column)
{
    for (;;) {
        u32 side;
        switch (n->kind) {
        case PN_SCAN:
            return n;
        case PN_FILTER:
            n = n->left;
            break;
        case PN_PROJECT:
            if (n->project[*column].column < 0)
                return NULL;
            *column = (u32)n->project[*column].column;
            n = n->left;
            break;
        case PN_HASH_JOIN:
        case PN_LOOP_JOIN:
            side = n->join.out[*column];
            *column = side < n->left->slot_count ? side : side - n->left->slot_count;
            n = side < n->left->slot_count ? n->left : n->right;
            break;
        default:
            return NULL;
        }
    }
}

bool
column_int_range(Exec *e, const PlanNode *n, u32 column, i64 *ret_lo, i64 *ret_hi)
{
    PhysType phys = n->slots[column].phys;
    if (phys == PHYS_BOOL) {
        *ret_lo = 0;
        *ret_hi = 1;
        return true;
    }
    if (phys != PHYS_I16 && phys != PHYS_I32 && phys != PHYS_I64 && phys != PHYS_D64)
        return false;
    const PlanNode *scan = trace_column(n, &column);
    if (!scan || scan->scan.columns[column] >= BCOL_CTID)
        return false;
    return table_int_range(e, &scan->scan, scan->scan.columns[column], ret_lo, ret_hi);
}

const DictShm *
column_dict(Exec *e, const PlanNode *n, u32 column)
{
    const PlanNode *scan = trace_column(n, &column);
    if (!scan || n->slots == NULL || scan->scan.columns[column] >= BCOL_CTID)
        return NULL;
    return table_dict(exec_table(e, scan->scan.table_id), scan->scan.columns[column]);
}
