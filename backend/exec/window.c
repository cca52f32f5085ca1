/*
 * window.c
 *    Window functions: all rows are kept and sorted by partition and order; the calls then walk each partition's rows in that order.
 *
 * Positions are places in the sorted order. A frame is a range of positions (window_frame.c). Aggregates over frames that begin with the partition go on with one
 * state as the frame's end moves; other frames are summed afresh when they differ from the row's before. Rows that FILTER refuses count as NULL
 * arguments, which no aggregate minds. Results stand at the rows' own numbers, so that they are read in order like any other column.
 * Runs in the session's thread, but for the sort. Fails by throwing: overflow, bad offsets, no memory.
 */
#include "backend/exec/agg_fold.h"
#include "backend/exec/window.h"

/* ---- rows in order ---- */

static bool
same_keys(const Window *w, i64 a, i64 b, u32 first, u32 count)
{
    SortOrder o = {w->plan->keys + first, count, w->rows->columns, false};
    return sort_compare_keys(&o, w->order[a], w->order[b]) == 0;
}

static void
find_peers(Window *w)
{
    u32 keys = w->plan->key_count - w->plan->partition_count;
    for (i64 at = w->first; at < w->end;) {
        i64 end = at + 1;
        while (end < w->end && (!keys || same_keys(w, at, end, w->plan->partition_count, keys)))
            end++;
        for (i64 i = at; i < end; i++) {
            w->peer_first[i] = at;
            w->peer_end[i] = end;
        }
        at = end;
    }
}

/* The column's values in sorted order, text decoded. */
static Vec
ordered_column(const Window *w, u32 column)
{
    Worker *worker = &w->exec->workers[0];
    const Vec *in = &w->rows->columns[column];
    u32 width = phys_width(in->phys);
    Vec v = {.phys = in->phys, .scale = in->scale};
    v.data = exec_alloc(worker, (u64)w->count * width);
    v.null_mask = exec_alloc(worker, (u64)w->count);
    for (i64 i = 0; i < w->count; i++) {
        u32 row = w->order[i];
        v.null_mask[i] = VEC_NULL(in, row);
        if (in->codes && !in->data)
            ((Str *)v.data)[i] = v.null_mask[i] ? (Str){"", 0} : dict_str(in->dict, in->codes[row]);
        else
            memcpy((u8 *)v.data + (u64)i * width, (const u8 *)in->data + (u64)row * width, width);
    }
    return v;
}

static Vec
slice_of(const Vec *v, i64 first)
{
    Vec s = *v;
    s.data = (u8 *)s.data + (u64)first * phys_width(s.phys);
    s.null_mask += first;
    return s;
}

/* ---- results ---- */

static void
set_null(Vec *to, u32 row)
{
    u32 width = phys_width(to->phys);
    memset((u8 *)to->data + (u64)row * width, 0, width);
    if (to->phys == PHYS_STR)
        ((Str *)to->data)[row] = (Str){"", 0};
    to->null_mask[row] = 1;
}

static void
copy_value(Vec *to, u32 row, const Vec *from, i64 at)
{
    if (VEC_NULL(from, at)) {
        set_null(to, row);
        return;
    }
    u32 width = phys_width(to->phys);
    to->null_mask[row] = 0;
    memcpy((u8 *)to->data + (u64)row * width, (const u8 *)from->data + (u64)at * width, width);
}

static void
rank_rows(const Window *w, BWinKind kind, Vec *to)
{
    i64 dense = 0, n = w->end - w->first;
    for (i64 at = w->first; at < w->end; at++) {
        u32 row = w->order[at];
        i64 rank = w->peer_first[at] - w->first + 1;
        dense += w->peer_first[at] == at;
        to->null_mask[row] = 0;
        switch ((int)kind) {
        case BWIN_ROW_NUMBER: ((i64 *)to->data)[row] = at - w->first + 1; break;
        case BWIN_RANK: ((i64 *)to->data)[row] = rank; break;
        case BWIN_DENSE_RANK: ((i64 *)to->data)[row] = dense; break;
        case BWIN_PERCENT_RANK: ((double *)to->data)[row] = n > 1 ? (double)(rank - 1) / (double)(n - 1) : 0; break;
        default: ((double *)to->data)[row] = (double)(w->peer_end[at] - w->first) / (double)n; break;
        }
    }
}

/* The number of buckets is that of the partition's first row. */
static void
ntile_rows(const Window *w, const Vec *buckets, Vec *to)
{
    i64 n = w->end - w->first, k = VEC_NULL(buckets, w->first) ? 0 : ((const i32 *)buckets->data)[w->first];
    if (!VEC_NULL(buckets, w->first) && k <= 0)
        err_throw(ERR_INVALID_ARGUMENT_FOR_NTILE, "argument of ntile must be greater than zero");
    i64 small = k ? n / k : 0, larger = k ? n % k : 0;
    for (i64 i = 0; i < n; i++) {
        u32 row = w->order[w->first + i];
        if (!k) {
            set_null(to, row);
            continue;
        }
        i64 bucket = i < larger * (small + 1) ? i / (small + 1) : larger + (i - larger * (small + 1)) / MAX(small, 1);
        to->null_mask[row] = 0;
        ((i32 *)to->data)[row] = (i32)bucket + 1;
    }
}

static void
shift_rows(const Window *w, const BWinCall *b, const Vec *args, Vec *to)
{
    for (i64 at = w->first; at < w->end; at++) {
        u32 row = w->order[at];
        if (b->arg_count > 1 && VEC_NULL(&args[1], at)) {
            set_null(to, row);
            continue;
        }
        i64 by = b->arg_count > 1 ? ((const i32 *)args[1].data)[at] : 1, from = b->kind == BWIN_LAG ? at - by : at + by;
        if (from >= w->first && from < w->end)
            copy_value(to, row, &args[0], from);
        else if (b->arg_count > 2)
            copy_value(to, row, &args[2], at);
        else
            set_null(to, row);
    }
}

static void
frame_rows(const Window *w, const BWinCall *b, const Vec *args, Vec *to)
{
    for (i64 at = w->first; at < w->end; at++) {
        u32 row = w->order[at];
        FramePieces f = frame_pieces(w, at);
        i64 n = b->kind == BWIN_LAST_VALUE ? -1 : 1;
        bool none = false;
        if (b->kind == BWIN_NTH_VALUE) {
            none = VEC_NULL(&args[1], at);
            n = none ? 1 : ((const i32 *)args[1].data)[at];
            if (n <= 0)
                err_throw(ERR_INVALID_ARGUMENT_FOR_NTH_VALUE, "argument of nth_value must be greater than zero");
        }
        i64 from = none ? -1 : frame_position(&f, n);
        if (from >= 0)
            copy_value(to, row, &args[0], from);
        else
            set_null(to, row);
    }
}

/* ---- aggregates ---- */

static void
add_range(const PlanWinCall *c, u8 *state, const Vec *arg, i64 from, i64 to)
{
    for (i64 at = from; at < to; at += VEC_SIZE) {
        u32 n = (u32)MIN((i64)VEC_SIZE, to - at);
        if (!arg) {
            c->kernel.update(state, NULL, n);
            continue;
        }
        Vec v = slice_of(arg, at);
        c->kernel.update(state, &v, n);
    }
}

static void
aggregate_rows(const Window *w, const PlanWinCall *c, const Vec *arg, u8 *state, const PlanSlot *slot, Vec *to)
{
    Frame have = {-1, -1};
    Vec one = {.phys = to->phys, .scale = to->scale};
    _Alignas(16) u8 value[32];
    u8 null = 0;
    one.data = value;
    one.null_mask = &null;
    bool exclude = w->plan->bound->exclude != EXCLUDE_NONE;
    for (i64 at = w->first; at < w->end; at++) {
        Frame f = frame_at(w, at);
        if (exclude || f.start != have.start || f.end < have.end) {
            FramePieces p = frame_pieces(w, at);
            memset(state, 0, c->kernel.state_bytes);
            for (u32 i = 0; i < p.count; i++)
                add_range(c, state, arg, p.at[i].start, p.at[i].end);
        } else if (f.end > have.end)
            add_range(c, state, arg, have.end, f.end);
        if (exclude || f.start != have.start || f.end != have.end)
            agg_finish_error(c->kernel.finish(state, c->kernel.state_bytes, 0, 1, arg ? arg->scale : 0, &one), slot);
        have = f;
        copy_value(to, w->order[at], &one, 0);
    }
}

/* Aggregates that look at all rows of the frame: each frame anew. */
static void
fold_frames(const Window *w, const PlanWinCall *c, u8 *state, const PlanSlot *slot, Vec *to)
{
    Worker *worker = &w->exec->workers[0];
    Frame have = {-1, -1};
    Vec columns[3], one = {.phys = to->phys, .scale = to->scale};
    _Alignas(16) u8 value[32];
    u8 null = 0;
    one.data = value;
    one.null_mask = &null;
    for (u32 i = 0; i < c->bound->arg_count; i++)
        columns[i] = w->rows->columns[c->args[i]];
    const Vec *filter = c->filter < 0 ? NULL : &w->rows->columns[c->filter];
    u32 *rows = exec_alloc(worker, (u64)(w->end - w->first) * sizeof *rows);
    for (i64 at = w->first; at < w->end; at++) {
        Frame f = frame_at(w, at);
        if (w->plan->bound->exclude != EXCLUDE_NONE || f.start != have.start || f.end != have.end) {
            FoldRows r = {columns, rows, 0, NULL};
            FramePieces p = frame_pieces(w, at);
            for (u32 k = 0; k < p.count; k++)
                for (i64 i = p.at[k].start; i < p.at[k].end; i++)
                    if (!filter || (!VEC_NULL(filter, w->order[i]) && ((const u8 *)filter->data)[w->order[i]]))
                        rows[r.count++] = w->order[i];
            memset(state, 0, c->kernel.state_bytes);
            fold_rows(worker, agg_def(c->bound->agg)->op, c->fold, &c->kernel, &r, state);
            agg_finish_error(c->kernel.finish(state, c->kernel.state_bytes, 0, 1, 0, &one), slot);
            worker_check(worker);
        }
        have = f;
        copy_value(to, w->order[at], &one, 0);
    }
    exec_free(worker, rows, (u64)(w->end - w->first) * sizeof *rows);
}

/* Rows that FILTER refuses become NULL; without an argument the filter itself is counted. */
static void
apply_filter(const Window *w, const Vec *filter, Vec *arg)
{
    for (i64 i = 0; i < w->count; i++)
        arg->null_mask[i] |= filter->null_mask[i] || !((const u8 *)filter->data)[i];
}

/* ---- one call, over all partitions ---- */

static void
to_form(const Window *w, Vec *v, const PlanSlot *slot)
{
    if (v->phys == slot->phys && v->scale == slot->scale)
        return;
    Worker *worker = &w->exec->workers[0];
    u32 width = phys_width(slot->phys);
    VecBuf buf = {0};
    u8 *data = exec_alloc(worker, (u64)w->count * width);
    for (i64 at = 0; at < w->count; at += VEC_SIZE) {
        u32 n = (u32)MIN((i64)VEC_SIZE, w->count - at);
        Vec piece = slice_of(v, at);
        vec_convert(worker->arena, &piece, n, slot->type, -1, slot->phys, slot->scale, &buf);
        memcpy(data + (u64)at * width, piece.data, (size_t)n * width);
    }
    *v = (Vec){.phys = slot->phys, .scale = slot->scale, .data = data, .null_mask = v->null_mask};
}

static void
run_call(Window *w, const PlanWinCall *c, const PlanSlot *slot, const i64 *partitions, u64 partition_count, Vec *to)
{
    const BWinCall *b = c->bound;
    Worker *worker = &w->exec->workers[0];
    Vec args[3], *arg = NULL;
    for (u32 i = 0; i < b->arg_count && !c->fold; i++) {
        args[i] = ordered_column(w, c->args[i]);
        if ((i == 0 && b->kind >= BWIN_LAG) || i == 2)
            to_form(w, &args[i], slot);
    }
    if (b->kind == BWIN_AGGREGATE && !c->fold) {
        arg = b->arg_count ? &args[0] : NULL;
        if (c->filter >= 0) {
            Vec filter = ordered_column(w, (u32)c->filter);
            if (!arg) {
                args[0] = ordered_column(w, (u32)c->filter);
                arg = &args[0];
            }
            apply_filter(w, &filter, arg);
        }
    }
    u8 *state = exec_alloc(worker, MAX(c->kernel.state_bytes, 16u));
    for (u64 p = 0; p < partition_count; p++) {
        w->first = partitions[p];
        w->end = partitions[p + 1];
        frame_partition(w);
        worker_check(worker);
        switch (b->kind) {
        case BWIN_AGGREGATE:
            if (c->fold)
                fold_frames(w, c, state, slot, to);
            else
                aggregate_rows(w, c, arg, state, slot, to);
            break;
        case BWIN_NTILE: ntile_rows(w, &args[0], to); break;
        case BWIN_LAG: case BWIN_LEAD: shift_rows(w, b, args, to); break;
        case BWIN_FIRST_VALUE: case BWIN_LAST_VALUE: case BWIN_NTH_VALUE: frame_rows(w, b, args, to); break;
        case BWIN_ROW_NUMBER: case BWIN_RANK: case BWIN_DENSE_RANK: case BWIN_PERCENT_RANK: case BWIN_CUME_DIST: rank_rows(w, b->kind, to); break;
        }
    }
}

/* ---- the source ---- */

/* Positions at which partitions begin, and the end. */
static i64 *
find_partitions(Window *w, u64 *ret_count)
{
    i64 *starts = exec_alloc(&w->exec->workers[0], ((u64)w->count + 1) * sizeof *starts);
    u64 n = 0;
    for (i64 at = 0; at < w->count; at++)
        if (at == 0 || (w->plan->partition_count && !same_keys(w, at - 1, at, 0, w->plan->partition_count)))
            starts[n++] = at;
    starts[n] = w->count;
    *ret_count = n;
    return starts;
}

static void
make_order(Window *w)
{
    Worker *worker = &w->exec->workers[0];
    if (w->plan->key_count) {
        w->order = sort_flat_rows(w->exec, w->rows, w->plan->keys, w->plan->key_count);
        return;
    }
    w->order = exec_alloc(worker, (u64)w->count * sizeof *w->order);
    for (i64 i = 0; i < w->count; i++)
        w->order[i] = (u32)i;
}

Source *
window_source(Exec *e, const PlanNode *n)
{
    Worker *worker = &e->workers[0];
    Window *w = ARENA_NEW(e->arena, Window);
    u64 partition_count;
    u32 own = n->left->slot_count;
    *w = (Window){.exec = e, .node = n, .plan = &n->window, .rows = rows_of(e, n->left)};
    w->count = (i64)w->rows->row_count;
    frame_open(w);
    make_order(w);
    i64 *partitions = find_partitions(w, &partition_count);
    w->peer_first = exec_alloc(worker, (u64)w->count * sizeof *w->peer_first);
    w->peer_end = exec_alloc(worker, (u64)w->count * sizeof *w->peer_end);
    for (u64 p = 0; p < partition_count; p++) {
        w->first = partitions[p];
        w->end = partitions[p + 1];
        find_peers(w);
    }
    RowFlat *all = ARENA_NEW(e->arena, RowFlat);
    *all = (RowFlat){.row_count = w->rows->row_count, .column_count = n->slot_count, .columns = ARENA_ARRAY(e->arena, Vec, n->slot_count)};
    memcpy(all->columns, w->rows->columns, own * sizeof *all->columns);
    for (u32 c = 0; c < n->window.call_count; c++) {
        const PlanSlot *slot = &n->slots[own + c];
        Vec *to = &all->columns[own + c];
        *to = (Vec){.phys = slot->phys, .scale = slot->scale};
        to->data = exec_alloc(worker, all->row_count * phys_width(slot->phys));
        to->null_mask = exec_alloc(worker, all->row_count);
        run_call(w, &n->window.calls[c], slot, partitions, partition_count, to);
    }
    return rows_source(e, n, all, w->order, all->row_count);
}
