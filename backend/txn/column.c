/*
 * column.c
 *    One column of a part being staged: values, null bytes, and for texts the distinct ones with an index a row.
 *
 * Elements under a NULL are stored as zero (texts: index 0), so that what is sent depends on nothing but the rows.
 * Writes: memory of the statement's arena only.
 */
#include "backend/txn/write.h"

#include "backend/throw.h"
#include "common/base/hash.h"

static void *
grown(Arena *a, const void *old, size_t used, size_t bytes)
{
    void *p = arena_alloc(a, bytes);
    if (used)
        memcpy(p, old, used);
    return p;
}

static void
put_slot(WriteColumn *c, u32 index)
{
    u32 at = (u32)c->hashes[index] & c->slot_mask;
    while (c->slots[at])
        at = (at + 1) & c->slot_mask;
    c->slots[at] = (u16)(index + 1);
}

void
write_column_grow(TxnWrite *w, WriteColumn *c, u32 capacity)
{
    c->values = grown(w->arena, c->values, (size_t)w->rows * c->width, (size_t)capacity * c->width);
    c->nulls = grown(w->arena, c->nulls, w->rows, capacity);
    if (c->phys != PHYS_STR)
        return;
    c->lengths = grown(w->arena, c->lengths, (size_t)c->distinct * 4, (size_t)capacity * 4);
    c->offsets = grown(w->arena, c->offsets, (size_t)c->distinct * 4, (size_t)capacity * 4);
    c->hashes = grown(w->arena, c->hashes, (size_t)c->distinct * 8, (size_t)capacity * 8);
    c->narrow = arena_alloc(w->arena, capacity);
    u32 slots = 64;
    while (slots < capacity * 2)
        slots *= 2;
    c->slots = arena_zalloc(w->arena, (size_t)slots * 2);
    c->slot_mask = slots - 1;
    for (u32 i = 0; i < c->distinct; i++)
        put_slot(c, i);
}

void
write_column_clear(WriteColumn *c)
{
    c->any_null = false;
    if (c->phys != PHYS_STR)
        return;
    memset(c->slots, 0, ((size_t)c->slot_mask + 1) * 2);
    c->distinct = c->text_len = 0;
    c->long_text = NULL;
}

/* ---- texts ---- */

static inline Str
text_at(const Vec *v, u32 row)
{
    if (v->data)
        return VEC_AT(v, Str, row);
    return dict_str(v->dict, v->codes[v->is_const ? 0 : row]);
}

static void
keep_text(TxnWrite *w, WriteColumn *c, Str s)
{
    if (c->text_len + s.len > c->text_capacity) {
        u32 capacity = MAX(MAX(c->text_capacity * 2, 1024u), c->text_len + s.len);
        c->text = grown(w->arena, c->text, c->text_len, capacity);
        c->text_capacity = capacity;
    }
    if (s.len)
        memcpy(c->text + c->text_len, s.ptr, s.len);
    c->text_len += s.len;
}

static NORETURN void
key_too_long(const TxnWrite *w, const WriteColumn *c, Str s)
{
    const KeyDef *k = w->def->keys;
    for (u32 i = 0; i < w->def->key_count; i++)
        for (u32 n = 0; n < w->def->keys[i].column_count; n++)
            if (w->def->keys[i].columns[n] == c->number)
                k = &w->def->keys[i];
    err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "index row size %u exceeds maximum %d for index \"%.*s\"", s.len, (int)KEY_TEXT_BYTES, (int)k->name.len,
              k->name.ptr);
}

/* A long one counts as another text of the part unless it is the same place in memory as the one before. */
static u16
long_index(TxnWrite *w, WriteColumn *c, Str s)
{
    if (c->long_text == s.ptr)
        return (u16)c->long_index;
    u32 index = c->distinct++;
    c->lengths[index] = PART_LONG | write_long_text(w, c, s);
    c->hashes[index] = index;
    c->offsets[index] = c->text_len;
    c->long_text = s.ptr;
    c->long_index = index;
    return (u16)index;
}

/* The part's index of a text, entered when it is new. */
static u16
text_index(TxnWrite *w, WriteColumn *c, Str s)
{
    if (UNLIKELY(c->in_key && s.len > KEY_TEXT_BYTES))
        key_too_long(w, c, s);
    if (UNLIKELY(s.len > w->long_from) && !c->in_key)
        return long_index(w, c, s);
    u64 hash = hash_bytes(s.ptr, s.len);
    u32 at = (u32)hash & c->slot_mask;
    for (; c->slots[at]; at = (at + 1) & c->slot_mask) {
        u32 i = c->slots[at] - 1u;
        if (c->hashes[i] == hash && c->lengths[i] == s.len && (s.len == 0 || memcmp(c->text + c->offsets[i], s.ptr, s.len) == 0))
            return (u16)i;
    }
    u32 index = c->distinct++;
    c->slots[at] = (u16)(index + 1);
    c->hashes[index] = hash;
    c->lengths[index] = s.len;
    c->offsets[index] = c->text_len;
    keep_text(w, c, s);
    return (u16)index;
}

static void
append_texts(TxnWrite *w, WriteColumn *c, const Vec *v, const u16 *sel, u32 first, u32 n)
{
    u16 *to = (u16 *)(void *)c->values + w->rows;
    if (v->is_const) {
        u16 index = VEC_NULL(v, 0) ? 0 : text_index(w, c, text_at(v, 0));
        for (u32 i = 0; i < n; i++)
            to[i] = index;
        return;
    }
    for (u32 i = 0; i < n; i++) {
        u32 row = sel ? sel[first + i] : first + i;
        to[i] = VEC_NULL(v, row) ? 0 : text_index(w, c, text_at(v, row));
    }
}

void
write_forget_longs(TxnWrite *w)
{
    for (u32 i = 0; w->longs && i < w->column_count; i++)
        w->columns[i].long_text = NULL;
}

u64
write_text_bytes(const TxnWrite *w, const Batch *b, u32 first, u32 n)
{
    u64 sum = 0;
    for (u32 k = 0; k < w->column_count; k++) {
        const Vec *v = &b->columns[k];
        if (w->columns[k].phys != PHYS_STR)
            continue;
        u32 long_from = w->columns[k].in_key ? UINT32_MAX : w->long_from;
        for (u32 i = 0; i < n; i++) {
            u32 row = b->sel ? b->sel[first + i] : first + i;
            if (!VEC_NULL(v, row)) {
                u32 len = text_at(v, row).len;
                sum += (len > long_from ? 0 : len) + 4ull;
            }
            if (v->is_const)
                break;
        }
    }
    return sum;
}

/* ---- fixed width ---- */

#define COPY_VALUES(T)                                                                                                                 \
    {                                                                                                                                  \
        T *into = (T *)(void *)c->values + w->rows;                                                                                    \
        const T *from = v->data;                                                                                                       \
        for (u32 i = 0; i < n; i++)                                                                                                    \
            into[i] = from[v->is_const ? 0 : sel ? sel[first + i] : first + i];                                                        \
    }

static void
append_values(TxnWrite *w, WriteColumn *c, const Vec *v, const u16 *sel, u32 first, u32 n)
{
    u8 *to = c->values + (size_t)w->rows * c->width;
    if (!sel && !v->is_const) {
        memcpy(to, (const u8 *)v->data + (size_t)first * c->width, (size_t)n * c->width);
        return;
    }
    switch (c->width) {
    case 1: COPY_VALUES(u8) break;
    case 2: COPY_VALUES(u16) break;
    case 4: COPY_VALUES(u32) break;
    case 8: COPY_VALUES(u64) break;
    default:
        for (u32 i = 0; i < n; i++)
            memcpy(to + (size_t)i * c->width,
                   (const u8 *)v->data + (size_t)(v->is_const ? 0 : sel ? sel[first + i] : first + i) * c->width, c->width);
    }
}

static void
append_nulls(TxnWrite *w, WriteColumn *c, const Vec *v, const u16 *sel, u32 first, u32 n)
{
    u8 *nulls = c->nulls + w->rows, any = 0;
    if (!v->null_mask) {
        memset(nulls, 0, n);
        return;
    }
    for (u32 i = 0; i < n; i++) {
        nulls[i] = v->null_mask[v->is_const ? 0 : sel ? sel[first + i] : first + i] != 0;
        any |= nulls[i];
    }
    if (!any)
        return;
    c->any_null = true;
    for (u32 i = 0; i < n && c->phys != PHYS_STR; i++)
        if (nulls[i])
            memset(c->values + (size_t)(w->rows + i) * c->width, 0, c->width);
}

void
write_column_append(TxnWrite *w, WriteColumn *c, const Vec *v, const u16 *sel, u32 first, u32 n)
{
    ensure(v->phys == c->phys && ((c->phys != PHYS_D64 && c->phys != PHYS_D128) || v->scale == c->def->scale));
    if (c->phys == PHYS_STR)
        append_texts(w, c, v, sel, first, n);
    else
        append_values(w, c, v, sel, first, n);
    append_nulls(w, c, v, sel, first, n);
}

PartColumn
write_column_part(WriteColumn *c, u32 rows)
{
    PartColumn p = {.column = c->number, .phys = c->phys, .null_bytes = c->any_null ? c->nulls : NULL};
    if (c->phys != PHYS_STR) {
        p.values = c->values;
        return p;
    }
    p.distinct = c->distinct;
    p.lengths = c->lengths;
    p.texts = c->text;
    p.indexes = c->values;
    p.index_width = part_index_width(c->distinct);
    if (p.index_width == 1) {
        const u16 *wide = (const u16 *)(const void *)c->values;
        for (u32 i = 0; i < rows; i++)
            c->narrow[i] = (u8)wide[i];
        p.indexes = c->narrow;
    }
    return p;
}
