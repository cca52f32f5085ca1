/*
 * slice.c
 *    The values of a column of a block: where they lie, and reading them as vectors.
 *
 * Plain slices are handed out in place. Frozen ones (value = reference + factor * stored, 1 to 8 bytes) are widened into the caller's
 * scratch; text codes may be frozen to 1 or 2 bytes alike (reference 0, factor 1). Only reads.
 */
#include "common/store/shape.h"

static const SliceShm *
slice_of(const BlockView *b, u32 column)
{
    return (const SliceShm *)b->slices + column;
}

bool
slice_view(const BlockView *b, u32 column, SliceView *ret)
{
    if (column >= b->table->def->column_count)
        return false;
    const SliceShm *s = slice_of(b, column);
    *ret = (SliceView){
        .phys = (PhysType)s->phys,
        .scale = s->scale,
        .width = s->width,
        .frozen = (s->flags & SLICE_FROZEN) != 0,
        .has_nulls = s->nulls != NULL,
        .has_minmax = (s->flags & SLICE_MINMAX) != 0,
        .data = s->data,
        .null_bytes = b->sealed ? NULL : s->nulls,
        .null_bits = b->sealed ? s->nulls : NULL,
        .reference = s->reference,
        .factor = s->factor,
        .dict = s->dict,
        .min = s->min,
        .max = s->max,
    };
    return true;
}

static inline u64
stored_at(const void *data, u32 width, u32 i)
{
    switch (width) {
    case 1: return ((const u8 *)data)[i];
    case 2: return ((const u16 *)data)[i];
    case 4: return ((const u32 *)data)[i];
    default: return ((const u64 *)data)[i];
    }
}

static inline void
widen_one(PhysType phys, i64 reference, i64 factor, u64 stored, void *to)
{
    i64 v = (i64)((u64)reference + (u64)factor * stored);
    switch (phys_stored(phys)) {
    case 1: *(u8 *)to = (u8)v; break;
    case 2: *(u16 *)to = (u16)v; break;
    case 4: *(u32 *)to = (u32)v; break;
    case 8: *(u64 *)to = (u64)v; break;
    default: *(i128 *)to = v; break; /* D128 narrow enough to be frozen; Num never is */
    }
}

void
slice_load(const SliceShm *s, u32 offset, void *to)
{
    if (s->flags & SLICE_FROZEN)
        widen_one((PhysType)s->phys, s->reference, s->factor, stored_at(s->data, s->width, offset), to);
    else
        memcpy(to, s->data + (u64)offset * s->width, s->width);
}

/* Null bytes of rows first … first+count-1; NULL when none of them is NULL. */
static u8 *
read_nulls(const SliceView *s, u32 first, u32 count, u8 *scratch)
{
    if (s->null_bytes)
        return (u8 *)(uintptr_t)(s->null_bytes + first); /* vectors are read-only to those who get them from here */
    if (!s->null_bits)
        return NULL;
    u64 any = 0;
    for (u32 i = 0; i < count; i++) {
        u32 at = first + i;
        scratch[i] = s->null_bits[at >> 6] >> (at & 63) & 1;
        any |= scratch[i];
    }
    return any ? scratch : NULL;
}

void
slice_read(const SliceView *s, u32 first, u32 count, Vec *v, void *scratch, u8 *null_scratch)
{
    *v = (Vec){.phys = s->phys, .scale = s->scale, .null_mask = s->has_nulls ? read_nulls(s, first, count, null_scratch) : NULL};
    const void *data = (const u8 *)s->data + (u64)first * s->width;
    if (s->frozen) {
        u32 step = phys_stored(s->phys);
        for (u32 i = 0; i < count; i++)
            widen_one(s->phys, s->reference, s->factor, stored_at(data, s->width, i), (u8 *)scratch + (u64)i * step);
        data = scratch;
    }
    if (s->phys == PHYS_STR) {
        v->codes = data;
        v->dict = s->dict;
    } else {
        v->data = (void *)(uintptr_t)data;
    }
}

#define GATHER(T)                                                                                                                          \
    do {                                                                                                                                   \
        const T *from = s->data;                                                                                                           \
        T *to = scratch;                                                                                                                   \
        for (u32 i = 0; i < count; i++)                                                                                                    \
            to[i] = from[offsets[i]];                                                                                                      \
    } while (0)

void
slice_gather(const SliceView *s, const u16 *offsets, u32 count, Vec *v, void *scratch, u8 *null_scratch)
{
    *v = (Vec){.phys = s->phys, .scale = s->scale};
    if (s->has_nulls) {
        for (u32 i = 0; i < count; i++)
            null_scratch[i] = s->null_bytes ? s->null_bytes[offsets[i]] : s->null_bits[offsets[i] >> 6] >> (offsets[i] & 63) & 1;
        v->null_mask = null_scratch;
    }
    if (s->frozen) {
        u32 step = phys_stored(s->phys);
        for (u32 i = 0; i < count; i++)
            widen_one(s->phys, s->reference, s->factor, stored_at(s->data, s->width, offsets[i]), (u8 *)scratch + (u64)i * step);
    } else {
        switch (s->width) {
        case 1: GATHER(u8); break;
        case 2: GATHER(u16); break;
        case 4: GATHER(u32); break;
        case 8: GATHER(u64); break;
        case 16: GATHER(u128); break;
        default: GATHER(Num); break;
        }
    }
    if (s->phys == PHYS_STR) {
        v->codes = scratch;
        v->dict = s->dict;
    } else {
        v->data = scratch;
    }
}

Value
slice_value(const SliceView *s, const ColumnDef *c, u32 offset)
{
    bool null = s->null_bytes ? s->null_bytes[offset] : s->null_bits ? s->null_bits[offset >> 6] >> (offset & 63) & 1 : false;
    if (null)
        return (Value){.type = (TypeId)c->type, .typmod = c->typmod, .is_null = true};
    _Alignas(16) u8 element[24];
    if (s->frozen)
        widen_one(s->phys, s->reference, s->factor, stored_at(s->data, s->width, offset), element);
    else
        memcpy(element, (const u8 *)s->data + (u64)offset * s->width, s->width);
    if (s->phys == PHYS_STR) {
        u32 code;
        memcpy(&code, element, sizeof code);
        return (Value){.type = (TypeId)c->type, .typmod = c->typmod, .str = dict_str(s->dict, code)};
    }
    return value_from_phys((TypeId)c->type, c->typmod, s->phys, s->scale, element);
}

static i64
int_at(PhysType phys, const void *data, u32 i)
{
    return phys == PHYS_I16 ? ((const i16 *)data)[i] : phys == PHYS_I32 ? ((const i32 *)data)[i] : ((const i64 *)data)[i];
}

bool
slice_int_range(const BlockView *b, u32 column, i64 *lo, i64 *hi)
{
    SliceView v;
    if (!slice_view(b, column, &v) || (v.phys != PHYS_I16 && v.phys != PHYS_I32 && v.phys != PHYS_I64 && v.phys != PHYS_D64))
        return false;
    if (v.has_minmax) {
        *lo = MIN(*lo, int_at(v.phys, v.min, 0));
        *hi = MAX(*hi, int_at(v.phys, v.max, 0));
        return true;
    }
    u8 nulls[VEC_SIZE];
    u64 buf[VEC_SIZE];
    for (u32 at = 0; at < b->row_count; at += VEC_SIZE) {
        Vec x;
        u32 count = MIN((u32)VEC_SIZE, b->row_count - at);
        slice_read(&v, at, count, &x, buf, nulls);
        for (u32 i = 0; i < count; i++) {
            if (VEC_NULL(&x, i))
                continue;
            *lo = MIN(*lo, int_at(v.phys, x.data, i));
            *hi = MAX(*hi, int_at(v.phys, x.data, i));
        }
    }
    return true;
}
