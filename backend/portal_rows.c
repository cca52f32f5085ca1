/* portal_rows.c: rows in chunks, each a batch copied into the arena with the bytes of its texts. */
#include "backend/portal_rows.h"

#include "backend/throw.h"

static void
copy_texts(Arena *a, Vec *v, u32 count)
{
    Str *s = v->data;
    size_t bytes = 0;
    for (u32 i = 0; i < count; i++)
        bytes += VEC_NULL(v, i) ? 0 : s[i].len;
    char *to = arena_alloc(a, bytes);
    for (u32 i = 0; i < count; i++) {
        if (VEC_NULL(v, i))
            s[i].len = 0;
        if (s[i].len)
            memcpy(to, s[i].ptr, s[i].len);
        s[i].ptr = to;
        to += s[i].len;
    }
}

static void
copy_column(Arena *a, const Vec *from, u32 first, u32 count, Vec *to)
{
    u32 width = phys_width(from->phys), rows = from->is_const ? 1 : count, at = from->is_const ? 0 : first;
    *to = *from;
    to->codes = NULL;
    to->dict = NULL;
    to->data = arena_array(a, rows, width);
    memcpy(to->data, (const u8 *)from->data + (size_t)at * width, (size_t)rows * width);
    if (from->null_mask) {
        to->null_mask = arena_alloc(a, rows);
        memcpy(to->null_mask, from->null_mask + at, rows);
    }
    if (from->phys == PHYS_STR)
        copy_texts(a, to, rows);
}

static PortalChunk *
new_chunk(PortalRows *k)
{
    if (k->count == k->capacity) {
        u32 capacity = k->capacity ? k->capacity * 2 : 16;
        PortalChunk *more = arena_array(k->arena, capacity, sizeof *more);
        if (k->count)
            memcpy(more, k->chunks, k->count * sizeof *more);
        k->chunks = more;
        k->capacity = capacity;
    }
    return &k->chunks[k->count];
}

void
portal_rows_add(PortalRows *k, const Batch *b, u32 from, u32 count, size_t limit_bytes)
{
    if (!k->arena && !(k->arena = arena_new("rows", limit_bytes, arena_full_throw)))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    PortalChunk *c = new_chunk(k);
    *c = (PortalChunk){k->end, count, ARENA_ARRAY(k->arena, Vec, b->column_count)};
    for (u32 i = 0; i < b->column_count; i++)
        copy_column(k->arena, &b->columns[i], from, count, &c->columns[i]);
    k->column_count = b->column_count;
    k->count++;
    k->end += count;
}

u32
portal_rows_find(PortalRows *k, u64 at, Batch *ret, u32 *ret_first)
{
    if (at < k->first || at >= k->end)
        return 0;
    const PortalChunk *c = &k->chunks[k->found];
    if (at < c->first || at >= c->first + c->count) {
        u32 low = 0, high = k->count - 1;
        while (low < high) { /* the last one that begins at or before it */
            u32 middle = low + (high - low + 1) / 2;
            if (k->chunks[middle].first <= at)
                low = middle;
            else
                high = middle - 1;
        }
        k->found = low;
        c = &k->chunks[low];
    }
    *ret = (Batch){.count = c->count, .column_count = k->column_count, .columns = c->columns};
    *ret_first = (u32)(at - c->first);
    return c->count - *ret_first;
}

void
portal_rows_reset(PortalRows *k, u64 first)
{
    if (k->arena)
        arena_reset(k->arena);
    *k = (PortalRows){.arena = k->arena, .first = first, .end = first};
}

size_t
portal_rows_bytes(const PortalRows *k)
{
    return k->arena ? arena_used_bytes(k->arena) : 0;
}
