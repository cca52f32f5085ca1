/*
 * shared.c
 *    Entries of WITH that are computed once for the statement.
 *
 * The first pipeline that is built over one runs its query and keeps the rows; all read them from there, inner executions too, which share the outermost
 * one's state. A recursive entry runs its first part, then its recursive part again and again, each time over the rows that the round
 * before added, until none is added. With UNION a row that is there already (NULLs are equal) is not added.
 * Only the session's thread comes here. Fails by throwing: what the query throws, no memory.
 */
#include "backend/exec/run.h"

#include "common/store/key.h"

enum { FIRST_ROWS = 256 };

/* Growing rows in arrays, and with `distinct` an index over them. */
typedef struct SharedRows {
    RowFlat flat;
    u64 capacity;
    u8 **nulls;   /* null bytes a column */
    bool distinct;
    u64 mask;
    u32 *slots;   /* row + 1 */
} SharedRows;

struct SharedRun {
    bool done, running;
    SharedRows rows;
    RowFlat work; /* what the recursive part sees */
};

static void
init_rows(Exec *root, SharedRows *s, const PlanNode *n, bool distinct)
{
    *s = (SharedRows){.distinct = distinct};
    s->flat.column_count = n->slot_count;
    s->flat.columns = ARENA_ARRAY(root->arena, Vec, n->slot_count);
    s->nulls = ARENA_ARRAY(root->arena, u8 *, n->slot_count);
    for (u32 c = 0; c < n->slot_count; c++)
        s->flat.columns[c] = (Vec){.phys = n->slots[c].phys, .scale = n->slots[c].scale};
}

static u64
row_hash(const RowFlat *f, u64 row)
{
    u64 h = key_hash_first();
    for (u32 c = 0; c < f->column_count; c++) {
        const Vec *v = &f->columns[c];
        h = key_hash_add(h, v->null_mask[row] ? 0 : key_hash_element(v->phys, (const u8 *)v->data + row * phys_width(v->phys)));
    }
    return h;
}

static bool
rows_equal(const RowFlat *f, u64 a, u64 b)
{
    for (u32 c = 0; c < f->column_count; c++) {
        const Vec *v = &f->columns[c];
        u32 width = phys_width(v->phys);
        if (v->null_mask[a] != v->null_mask[b] ||
            (!v->null_mask[a] && !key_elements_equal(v->phys, (const u8 *)v->data + a * width, (const u8 *)v->data + b * width)))
            return false;
    }
    return true;
}

static void
grow(Exec *root, SharedRows *s)
{
    Worker *w = &root->workers[0];
    u64 capacity = MAX(s->capacity * 2, (u64)FIRST_ROWS);
    if (capacity >= UINT32_MAX)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "too many rows to keep for a query of WITH");
    for (u32 c = 0; c < s->flat.column_count; c++) {
        Vec *v = &s->flat.columns[c];
        u64 width = phys_width(v->phys);
        v->data = exec_grow(w, v->data, s->capacity * width, capacity * width);
        v->null_mask = s->nulls[c] = exec_grow(w, s->nulls[c], s->capacity, capacity);
    }
    s->capacity = capacity;
    if (!s->distinct)
        return;
    if (s->slots)
        exec_free(w, s->slots, (s->mask + 1) * sizeof *s->slots);
    s->mask = capacity * 2 - 1;
    s->slots = exec_alloc(w, capacity * 2 * sizeof *s->slots);
    for (u64 row = 0; row < s->flat.row_count; row++) {
        u64 at = row_hash(&s->flat, row) & s->mask;
        while (s->slots[at])
            at = (at + 1) & s->mask;
        s->slots[at] = (u32)row + 1;
    }
}

/* The row behind the last one is there already, or is entered. */
static bool
is_repeated(SharedRows *s)
{
    u64 row = s->flat.row_count, at = row_hash(&s->flat, row) & s->mask;
    for (; s->slots[at]; at = (at + 1) & s->mask)
        if (rows_equal(&s->flat, s->slots[at] - 1, row))
            return true;
    s->slots[at] = (u32)row + 1;
    return false;
}

static void
add_row(Exec *root, SharedRows *s, const Batch *b, u32 i)
{
    if (s->flat.row_count == s->capacity)
        grow(root, s);
    u64 row = s->flat.row_count;
    for (u32 c = 0; c < s->flat.column_count; c++) {
        Vec *v = &s->flat.columns[c];
        const Vec *in = &b->columns[c];
        u32 width = phys_width(v->phys);
        u8 *to = (u8 *)v->data + row * width;
        v->null_mask[row] = VEC_NULL(in, i);
        memset(to, 0, width);
        if (v->phys == PHYS_STR)
            *(Str *)(void *)to = v->null_mask[row] ? (Str){"", 0} : VEC_AT(in, Str, i);
        else if (!v->null_mask[row])
            memcpy(to, (const u8 *)in->data + (size_t)(in->is_const ? 0 : i) * width, width);
    }
    if (s->distinct && is_repeated(s))
        return;
    for (u32 c = 0; c < s->flat.column_count; c++) { /* it stays: its texts, too */
        Vec *v = &s->flat.columns[c];
        if (v->phys == PHYS_STR && !v->null_mask[row])
            ((Str *)v->data)[row] = arena_str(root->arena, ((Str *)v->data)[row]);
    }
    s->flat.row_count++;
}

static void
free_arena(void *what)
{
    arena_free(what);
}

static void
run_into(Exec *root, const Plan *plan, SharedRows *s)
{
    ExecContext ctx = *root->ctx;
    Batch b;
    ctx.arena = arena_new("query of WITH", root->ctx->memory_limit_bytes, arena_full_throw);
    if (!ctx.arena || !arena_hook(root->arena, free_arena, ctx.arena))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    VecBuf *bufs = ARENA_ARRAY(ctx.arena, VecBuf, s->flat.column_count);
    Exec *e = exec_open_inner(root, &ctx, plan);
    while (exec_next(e, &b)) {
        for (u32 c = 0; c < s->flat.column_count; c++)
            vec_convert(ctx.arena, &b.columns[c], b.count, plan->columns[c].type, plan->columns[c].typmod, s->flat.columns[c].phys,
                        s->flat.columns[c].scale, &bufs[c]);
        for (u32 i = 0; i < b.count; i++)
            add_row(root, s, &b, i);
    }
    exec_close(e);
    arena_unhook(root->arena, free_arena, ctx.arena);
    arena_free(ctx.arena);
}

/* Rows from `first` on, as they are now. */
static RowFlat
rows_from(Exec *root, const SharedRows *s, u64 first)
{
    RowFlat f = {.row_count = s->flat.row_count - first, .column_count = s->flat.column_count};
    f.columns = ARENA_ARRAY(root->arena, Vec, f.column_count);
    for (u32 c = 0; c < f.column_count; c++) {
        f.columns[c] = s->flat.columns[c];
        f.columns[c].data = exec_alloc(&root->workers[0], f.row_count * phys_width(f.columns[c].phys));
        f.columns[c].null_mask = exec_alloc(&root->workers[0], f.row_count);
        memcpy(f.columns[c].data, (const u8 *)s->flat.columns[c].data + first * phys_width(f.columns[c].phys), f.row_count * phys_width(f.columns[c].phys));
        memcpy(f.columns[c].null_mask, s->flat.columns[c].null_mask + first, f.row_count);
    }
    return f;
}

static void
free_rows(Exec *root, const RowFlat *f)
{
    for (u32 c = 0; c < f->column_count; c++) {
        exec_free(&root->workers[0], f->columns[c].data, f->row_count * phys_width(f->columns[c].phys));
        exec_free(&root->workers[0], f->columns[c].null_mask, f->row_count);
    }
}

static void
compute(Exec *root, SharedRun *r, u32 cte)
{
    const Plan *plan = root->plan->ctes[cte], *step = root->plan->steps[cte];
    u64 first = 0;
    ensure(!r->running);
    r->running = true;
    init_rows(root, &r->rows, plan->root, root->plan->stmt->ctes[cte]->distinct);
    run_into(root, plan, &r->rows);
    while (step && r->rows.flat.row_count > first) {
        r->work = rows_from(root, &r->rows, first);
        first = r->rows.flat.row_count;
        run_into(root, step, &r->rows);
        free_rows(root, &r->work);
    }
    r->done = true;
}

Source *
shared_source(Exec *e, const PlanNode *n)
{
    Exec *root = e->root;
    SharedRun *r = &root->shared[n->shared.cte];
    if (n->shared.work)
        return rows_source(e, n, &r->work, NULL, r->work.row_count);
    if (!r->done)
        compute(root, r, n->shared.cte);
    return rows_source(e, n, &r->rows.flat, NULL, r->rows.flat.row_count);
}

void
shared_open(Exec *e)
{
    e->shared = ARENA_ARRAY(e->arena, SharedRun, e->plan->cte_count);
}
