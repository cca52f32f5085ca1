/*
 * rows.c
 *    Kept rows: chunks of columns that a sink fills, and the same rows flattened into one run of arrays.
 *
 * Text that comes as codes of one dictionary stays codes, so that what is grouped or joined later compares integers. Text from a batch's
 * scratch is copied. A chunk belongs to the worker that made it.
 */
#include "backend/exec/run.h"

enum { CHUNK_FIRST_ROWS = 128 };

RowColumn *
rows_types(Arena *a, const PlanSlot *slots, u32 count)
{
    RowColumn *types = ARENA_ARRAY(a, RowColumn, count);
    for (u32 i = 0; i < count; i++)
        types[i] = (RowColumn){slots[i].phys, slots[i].scale, slots[i].stable};
    return types;
}

static RowChunk *
new_chunk(Worker *w, Arena *a, RowStore *s, u32 wanted, const Batch *b)
{
    u32 capacity = s->first ? VEC_SIZE : MIN((u32)VEC_SIZE, MAX(wanted, (u32)CHUNK_FIRST_ROWS));
    u64 bytes = sizeof(RowChunk) + s->column_count * sizeof(Vec);
    bytes = ALIGN_UP(bytes, (u64)16);
    for (u32 c = 0; c < s->column_count; c++)
        bytes += ALIGN_UP((u64)capacity * (phys_width(s->types[c].phys) + 1), (u64)16);
    u8 *at = a == w->wave ? arena_alloc(a, bytes) : exec_alloc(w, bytes);
    RowChunk *chunk = (RowChunk *)(void *)at;
    *chunk = (RowChunk){.capacity = capacity, .bytes = bytes, .columns = (Vec *)(chunk + 1)};
    at += ALIGN_UP(sizeof(RowChunk) + s->column_count * sizeof(Vec), (size_t)16);
    for (u32 c = 0; c < s->column_count; c++) {
        const Vec *in = &b->columns[c];
        Vec *v = &chunk->columns[c];
        *v = (Vec){.phys = s->types[c].phys, .scale = in->scale, .dict = in->codes && !in->data ? in->dict : NULL};
        if (v->dict)
            v->codes = (const u32 *)(void *)at;
        else
            v->data = at;
        at += ALIGN_UP((u64)capacity * (phys_width(s->types[c].phys) + 1), (u64)16);
    }
    if (s->last)
        s->last->next = chunk;
    else
        s->first = chunk;
    s->last = chunk;
    return chunk;
}

static bool
chunk_takes(const RowChunk *chunk, const RowStore *s, const Batch *b)
{
    if (!chunk || chunk->count == chunk->capacity)
        return false;
    for (u32 c = 0; c < s->column_count; c++) {
        const Vec *in = &b->columns[c];
        const struct DictShm *dict = in->codes && !in->data ? in->dict : NULL;
        if (chunk->columns[c].dict != dict)
            return false;
    }
    return true;
}

static void
append_text(Arena *a, Str *to, const Vec *in, u32 from, u32 count)
{
    const Str *s = (const Str *)in->data + from;
    for (u32 i = 0; i < count; i++)
        to[i] = VEC_NULL(in, from + i) ? (Str){"", 0} : arena_str(a, s[i]);
}

static void
append_column(Arena *a, const RowColumn *type, Vec *v, u32 at, u32 capacity, const Vec *in, u32 from, u32 count)
{
    u32 width = vec_width(v);
    u8 *base = v->codes ? (u8 *)(uintptr_t)v->codes : v->data;
    if (v->phys == PHYS_STR && !v->codes && !type->stable)
        append_text(a, (Str *)v->data + at, in, from, count);
    else
        memcpy(base + (size_t)at * width, (in->codes && !in->data ? (const u8 *)in->codes : (const u8 *)in->data) + (size_t)from * width,
               (size_t)count * width);
    u8 *nulls = base + (size_t)capacity * phys_width(v->phys);
    if (in->null_mask) {
        if (!v->null_mask)
            memset(nulls, 0, at);
        v->null_mask = nulls;
        memcpy(nulls + at, in->null_mask + from, count);
    } else if (v->null_mask)
        memset(nulls + at, 0, count);
}

void
rows_append(Worker *w, Arena *a, RowStore *s, const Batch *b)
{
    for (u32 from = 0; from < b->count;) {
        RowChunk *chunk = s->last;
        if (!chunk_takes(chunk, s, b))
            chunk = new_chunk(w, a, s, b->count - from, b);
        u32 n = MIN(b->count - from, chunk->capacity - chunk->count);
        for (u32 c = 0; c < s->column_count; c++)
            append_column(a, &s->types[c], &chunk->columns[c], chunk->count, chunk->capacity, &b->columns[c], from, n);
        chunk->count += n;
        s->row_count += n;
        from += n;
    }
}

/* ---- flat ---- */

typedef struct FlatChunk { const RowChunk *chunk; u64 at; } FlatChunk;
typedef struct Flatten { RowFlat *flat; FlatChunk *chunks; } Flatten;

static void
copy_chunk(void *ctx, Worker *w, u64 task)
{
    (void)w;
    const Flatten *f = ctx;
    const FlatChunk *fc = &f->chunks[task];
    const RowChunk *chunk = fc->chunk;
    for (u32 c = 0; c < f->flat->column_count; c++) {
        const Vec *in = &chunk->columns[c];
        Vec *v = &f->flat->columns[c];
        if (v->codes)
            memcpy((u32 *)(uintptr_t)v->codes + fc->at, in->codes, (size_t)chunk->count * 4);
        else if (in->codes) {
            Str *to = (Str *)v->data + fc->at;
            for (u32 i = 0; i < chunk->count; i++)
                to[i] = VEC_NULL(in, i) ? (Str){"", 0} : dict_str(in->dict, in->codes[i]);
        } else {
            u32 width = phys_width(v->phys);
            memcpy((u8 *)v->data + fc->at * width, in->data, (size_t)chunk->count * width);
        }
        if (in->null_mask)
            memcpy(v->null_mask + fc->at, in->null_mask, chunk->count);
    }
}

static void
make_flat_columns(Exec *e, const FlatChunk *chunks, u64 chunk_count, const RowColumn *types, RowFlat *flat)
{
    Worker *w = &e->workers[0];
    for (u32 c = 0; c < flat->column_count; c++) {
        const struct DictShm *dict = chunk_count ? chunks[0].chunk->columns[c].dict : NULL;
        bool nulls = false;
        for (u64 i = 0; i < chunk_count; i++) {
            const Vec *in = &chunks[i].chunk->columns[c];
            if (in->dict != dict)
                dict = NULL;
            nulls = nulls || in->null_mask;
        }
        Vec *v = &flat->columns[c];
        *v = (Vec){.phys = types[c].phys, .scale = types[c].scale, .dict = dict};
        void *data = exec_alloc(w, flat->row_count * (dict ? 4 : phys_width(v->phys)));
        if (dict)
            v->codes = data;
        else
            v->data = data;
        if (nulls)
            v->null_mask = exec_alloc(w, flat->row_count);
    }
}

void
rows_flatten(Exec *e, RowStore *const *stores, u32 count, const RowColumn *types, u32 column_count, RowFlat *ret)
{
    *ret = (RowFlat){.column_count = column_count, .columns = ARENA_ARRAY(e->arena, Vec, column_count)};
    u64 chunk_count = 0;
    for (u32 i = 0; i < count; i++)
        for (RowChunk *c = stores[i] ? stores[i]->first : NULL; c; c = c->next)
            chunk_count++;
    FlatChunk *chunks = exec_alloc(&e->workers[0], chunk_count * sizeof *chunks);
    u64 n = 0;
    for (u32 i = 0; i < count; i++)
        for (RowChunk *c = stores[i] ? stores[i]->first : NULL; c; c = c->next) {
            chunks[n++] = (FlatChunk){c, ret->row_count};
            ret->row_count += c->count;
        }
    if (ret->row_count >= UINT32_MAX)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "too many rows to keep for a join or a sort");
    make_flat_columns(e, chunks, chunk_count, types, ret);
    Flatten f = {ret, chunks};
    exec_parallel(e, chunk_count > 16 ? exec_max_workers() : 1, chunk_count, copy_chunk, &f);
    for (u32 i = 0; i < count; i++) {
        RowChunk *next;
        for (RowChunk *c = stores[i] ? stores[i]->first : NULL; c; c = next) {
            next = c->next;
            exec_free(&e->workers[i], c, c->bytes);
        }
        if (stores[i])
            stores[i]->first = stores[i]->last = NULL;
    }
}

/* ---- a source over flat rows ---- */

enum { ROWS_PER_MORSEL = 8 * VEC_SIZE };

typedef struct RowsSource {
    Source source;
    const RowFlat *flat;
    const u32 *order;
    u64 count;
} RowsSource;

typedef struct RowsState {
    VecBuf *bufs;
    Vec *columns;
} RowsState;

static void *
rows_open(Source *s, Worker *w)
{
    RowsSource *rs = (RowsSource *)s;
    RowsState *st = ARENA_NEW(w->arena, RowsState);
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, rs->flat->column_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, rs->flat->column_count);
    return st;
}

static void
point_at(Vec *to, const Vec *from, u64 row)
{
    *to = *from;
    if (to->codes)
        to->codes += row;
    else
        to->data = (u8 *)to->data + row * phys_width(to->phys);
    if (to->null_mask)
        to->null_mask += row;
}

static void
rows_run(Source *s, void *state, Worker *w, u64 morsel)
{
    RowsSource *rs = (RowsSource *)s;
    RowsState *st = state;
    u64 end = MIN(rs->count, (morsel + 1) * ROWS_PER_MORSEL);
    for (u64 at = morsel * ROWS_PER_MORSEL; at < end; at += VEC_SIZE) {
        u32 n = (u32)MIN((u64)VEC_SIZE, end - at);
        for (u32 c = 0; c < rs->flat->column_count; c++)
            if (rs->order)
                vec_take32(w->arena, &rs->flat->columns[c], rs->order + at, n, false, &st->bufs[c], &st->columns[c]);
            else
                point_at(&st->columns[c], &rs->flat->columns[c], at);
        Batch b = {.count = n, .column_count = rs->flat->column_count, .columns = st->columns};
        source_emit(s, w, &b);
    }
}

Source *
rows_source(Exec *e, const PlanNode *node, const RowFlat *flat, const u32 *order, u64 count)
{
    RowsSource *rs = ARENA_NEW(e->arena, RowsSource);
    rs->source = (Source){.node = node, .open = rows_open, .run = rows_run, .row_count = count};
    rs->source.morsel_count = (count + ROWS_PER_MORSEL - 1) / ROWS_PER_MORSEL;
    rs->flat = flat;
    rs->order = order;
    rs->count = count;
    return &rs->source;
}
