/*
 * topn.c
 *    ORDER BY … LIMIT: every thread keeps the best rows it has seen; how bad the worst of them may be is a bound that all share.
 *
 * A thread appends rows that the bound lets in, and when its buffer is full selects the best N of it and tightens the bound. A bound holds for all
 * threads: N rows that are at least as good exist. Over a scan that gives the first key as a column, the bound also skips whole blocks.
 */
#include "backend/exec/sort.h"

#include "common/shm/publish.h"

typedef struct TopN {
    Op sink;
    Exec *exec;
    const PlanNode *node;
    u64 wanted; /* limit + offset */
    SortBound bound;
    struct TopLocal **locals;
} TopN;

typedef struct TopLocal {
    u64 count, capacity;
    Vec *columns; /* decoded, each with null bytes */
    VecBuf *taken, *text;
    SortItem *items;
    u64 *images;
    u16 *sel;
    u8 *keep; /* while pruning: rows that stay */
} TopLocal;

static void *
top_open(Op *op, Worker *w)
{
    TopN *t = (TopN *)op;
    const PlanNode *in = t->node->left;
    TopLocal *l = ARENA_NEW(w->arena, TopLocal);
    l->capacity = t->wanted + 2 * VEC_SIZE;
    l->columns = ARENA_ARRAY(w->arena, Vec, in->slot_count);
    l->taken = ARENA_ARRAY(w->arena, VecBuf, in->slot_count);
    l->text = ARENA_ARRAY(w->arena, VecBuf, in->slot_count);
    for (u32 c = 0; c < in->slot_count; c++) {
        l->columns[c] = (Vec){.phys = in->slots[c].phys, .scale = in->slots[c].scale};
        l->columns[c].data = exec_alloc(w, l->capacity * phys_width(in->slots[c].phys));
        l->columns[c].null_mask = exec_alloc(w, l->capacity);
    }
    l->items = exec_alloc(w, l->capacity * sizeof *l->items);
    l->keep = exec_alloc(w, l->capacity);
    l->images = arena_alloc(w->arena, VEC_SIZE * sizeof *l->images);
    l->sel = arena_alloc(w->arena, VEC_SIZE * sizeof *l->sel);
    t->locals[w->index] = l;
    return l;
}

/* Keep only the best `wanted` rows. */
static void
prune(TopN *t, TopLocal *l)
{
    SortOrder o = {t->node->sort.keys, t->node->sort.key_count, l->columns, false};
    sort_make_items(&o, 0, (u32)l->count, l->items);
    sort_select(&o, l->items, l->count, t->wanted);
    u64 worst = 0;
    u8 *keep = l->keep;
    u32 last = l->items[0].row;
    memset(keep, 0, l->count);
    for (u64 i = 0; i < t->wanted; i++) {
        worst = MAX(worst, l->items[i].image);
        keep[l->items[i].row] = 1;
        if (sort_compare_keys(&o, last, l->items[i].row) < 0)
            last = l->items[i].row;
    }
    for (u64 i = t->wanted; t->node->sort.with_ties && i < l->count; i++)
        keep[l->items[i].row] = l->items[i].image == worst && sort_compare_keys(&o, last, l->items[i].row) == 0;
    u64 to = 0;
    for (u64 i = 0; i < l->count; i++) {
        if (!keep[i])
            continue;
        for (u32 c = 0; to != i && c < t->node->left->slot_count; c++) {
            Vec *v = &l->columns[c];
            u32 width = phys_width(v->phys);
            memcpy((u8 *)v->data + to * width, (u8 *)v->data + i * width, width);
            v->null_mask[to] = v->null_mask[i];
        }
        to++;
    }
    l->count = to;
    u64 seen = relaxed_u64(&t->bound.worst);
    while (worst < seen && !swap_if_u64(&t->bound.worst, &seen, worst))
        ;
}

/* So many ties that pruning does not make room. */
static void
grow(const TopN *t, TopLocal *l, Worker *w)
{
    u64 wanted = l->capacity * 2;
    for (u32 c = 0; c < t->node->left->slot_count; c++) {
        Vec *v = &l->columns[c];
        u32 width = phys_width(v->phys);
        v->data = exec_grow(w, v->data, l->capacity * width, wanted * width);
        v->null_mask = exec_grow(w, v->null_mask, l->capacity, wanted);
    }
    l->items = exec_grow(w, l->items, l->capacity * sizeof *l->items, wanted * sizeof *l->items);
    l->keep = exec_grow(w, l->keep, l->capacity, wanted);
    l->capacity = wanted;
}

static void
append(TopN *t, TopLocal *l, Worker *w, const Batch *b, u32 passed)
{
    for (u32 c = 0; c < b->column_count; c++) {
        Vec in, *v = &l->columns[c];
        vec_take(w->arena, &b->columns[c], l->sel, passed, &l->taken[c], &in);
        vec_decode(w->arena, &in, passed, &l->text[c]);
        u32 width = phys_width(v->phys);
        u8 *to = (u8 *)v->data + l->count * width;
        if (v->phys == PHYS_STR && !t->node->left->slots[c].stable)
            for (u32 i = 0; i < passed; i++)
                ((Str *)(void *)to)[i] = VEC_NULL(&in, i) ? (Str){"", 0} : arena_str(w->arena, ((const Str *)in.data)[i]);
        else
            memcpy(to, in.data, (size_t)passed * width);
        if (in.null_mask)
            memcpy(v->null_mask + l->count, in.null_mask, passed);
        else
            memset(v->null_mask + l->count, 0, passed);
    }
    l->count += passed;
}

static void
top_push(Op *op, void *state, Worker *w, Batch *b)
{
    TopN *t = (TopN *)op;
    TopLocal *l = state;
    const PlanSortKey *key = &t->node->sort.keys[0];
    u64 worst = relaxed_u64(&t->bound.worst);
    Vec first = b->columns[key->column];
    u32 passed = 0;
    sort_images(&first, b->count, key, l->images);
    for (u32 i = 0; i < b->count; i++) {
        l->sel[passed] = (u16)i;
        passed += l->images[i] <= worst;
    }
    if (!passed)
        return;
    append(t, l, w, b, passed);
    if (l->count + VEC_SIZE > l->capacity)
        prune(t, l);
    if (l->count + VEC_SIZE > l->capacity)
        grow(t, l, w);
}

/* All threads' rows in one run of arrays. */
static RowFlat *
gather(TopN *t)
{
    Exec *e = t->exec;
    u32 columns = t->node->left->slot_count;
    RowFlat *f = ARENA_NEW(e->arena, RowFlat);
    f->column_count = columns;
    f->columns = ARENA_ARRAY(e->arena, Vec, columns);
    for (u32 i = 0; i < e->worker_count; i++)
        f->row_count += t->locals[i] ? t->locals[i]->count : 0;
    for (u32 c = 0; c < columns; c++) {
        const PlanSlot *slot = &t->node->left->slots[c];
        u32 width = phys_width(slot->phys);
        Vec *v = &f->columns[c];
        *v = (Vec){.phys = slot->phys, .scale = slot->scale};
        v->data = exec_alloc(&e->workers[0], f->row_count * width);
        v->null_mask = exec_alloc(&e->workers[0], f->row_count);
        u64 at = 0;
        for (u32 i = 0; i < e->worker_count; i++) {
            const TopLocal *l = t->locals[i];
            if (!l)
                continue;
            memcpy((u8 *)v->data + at * width, l->columns[c].data, l->count * width);
            memcpy(v->null_mask + at, l->columns[c].null_mask, l->count);
            at += l->count;
        }
    }
    return f;
}

Source *
topn_source(Exec *e, const PlanNode *n, u64 limit, u64 offset)
{
    TopN *t = ARENA_NEW(e->arena, TopN);
    t->sink = (Op){.open = top_open, .push = top_push};
    t->exec = e;
    t->node = n;
    t->wanted = limit + offset;
    t->bound = (SortBound){&n->sort.keys[0], UINT64_MAX};
    t->locals = ARENA_ARRAY(e->arena, TopLocal *, exec_max_workers());
    if (limit) {
        Pipeline *p = exec_build(e, n->left);
        if (n->left->kind == PN_SCAN && sort_has_image(n->left->slots[n->sort.keys[0].column].phys))
            scan_set_bound(p->source, &t->bound);
        pipeline_add(p, &t->sink);
        pipeline_run(e, p);
    }
    RowFlat *rows = gather(t);
    SortOrder o = {n->sort.keys, n->sort.key_count, rows->columns, false};
    Worker *w = &e->workers[0];
    SortItem *items = exec_alloc(w, rows->row_count * sizeof *items), *room = exec_alloc(w, rows->row_count * sizeof *items);
    sort_make_items(&o, 0, (u32)rows->row_count, items);
    sort_items(&o, items, room, rows->row_count);
    u32 *order = exec_alloc(w, rows->row_count * sizeof *order);
    for (u64 i = 0; i < rows->row_count; i++)
        order[i] = items[i].row;
    u64 skip = MIN(offset, rows->row_count), count = MIN(limit, rows->row_count - skip);
    if (n->sort.with_ties)
        count = sort_ties_end(&o, order, skip + count, rows->row_count) - skip;
    return rows_source(e, n, rows, order + skip, count);
}
