/*
 * agg_direct.c
 *    Groups whose keys are dictionary codes or integers of a small range: the key is the index into an array of states.
 *
 * Chosen before the scan from where the key columns come from (their dictionary, their zone maps). A batch whose text comes with another
 * dictionary goes to the hash table instead. Threads have arrays of their own, which are merged group by group while the result is read.
 */
#include "backend/exec/agg.h"

enum { DIRECT_MAX_DIMS = 1 << 22, DIRECT_MAX_BYTES = 256 << 20 };

static bool
choose_key(const Agg *a, u32 i, DirectKey *ret)
{
    const PlanExpr *x = &a->plan->groups[i];
    const PlanNode *input = a->node->left;
    *ret = (DirectKey){0};
    if (x->column < 0)
        return false;
    u32 column = (u32)x->column;
    u64 values;
    if (a->classes[i] == KEY_TEXT) {
        ret->dict = column_dict(a->exec, input, column);
        if (!ret->dict)
            return false;
        values = dict_count(ret->dict);
    } else {
        i64 hi;
        if (a->classes[i] != KEY_INT || !column_int_range(a->exec, input, column, &ret->lo, &hi))
            return false;
        values = (u64)hi - (u64)ret->lo;
        if (values == UINT64_MAX)
            return false;
        values++;
    }
    if (values >= DIRECT_MAX_DIMS)
        return false;
    ret->dim = (u32)values + 1;
    return true;
}

void
direct_choose(Agg *a, u64 rows)
{
    Direct *d = &a->direct;
    u64 dims = 1;
    if (!a->plan->group_count || a->plan->group_count > DIRECT_MAX_KEYS || agg_needs_map(a))
        return;
    for (u32 i = 0; i < a->plan->group_count; i++) {
        if (!choose_key(a, i, &d->keys[i]))
            return;
        d->keys[i].factor = (u32)dims;
        dims *= d->keys[i].dim;
        if (dims > DIRECT_MAX_DIMS || dims > rows * 2 + 4096)
            return;
    }
    lanes_choose(a);
    u64 bytes = dims * (a->stride + 1 + a->lanes.step * sizeof(i64));
    u64 limit = a->exec->ctx->memory_limit_bytes;
    if (bytes > DIRECT_MAX_BYTES || (limit && bytes * exec_max_workers() > limit / 4))
        return;
    d->dims = (u32)dims;
    d->on = true;
}

/* The loops below take what they write as restrict arguments: else the compiler must expect that each store changes the key's description, and
 * neither keeps it in registers nor vectorises. */

static void
number_codes(u32 *restrict numbers, const u32 *restrict codes, const u8 *restrict null_mask, u32 factor, u32 null, u32 count)
{
    if (null_mask)
        for (u32 i = 0; i < count; i++)
            numbers[i] += null_mask[i] ? null : codes[i] * factor;
    else
        for (u32 i = 0; i < count; i++)
            numbers[i] += codes[i] * factor;
}

#define NUMBER_INTS(T)                                                                                                 \
    static void number_##T(u32 *restrict numbers, const T *restrict data, const u8 *restrict null_mask, u64 lo,        \
                           u32 factor, u32 null, u32 count)                                                            \
    {                                                                                                                  \
        if (null_mask)                                                                                                 \
            for (u32 i = 0; i < count; i++)                                                                            \
                numbers[i] += null_mask[i] ? null : (u32)((u64)data[i] - lo) * factor;                                 \
        else                                                                                                           \
            for (u32 i = 0; i < count; i++)                                                                            \
                numbers[i] += (u32)((u64)data[i] - lo) * factor;                                                       \
    }
NUMBER_INTS(u8)
NUMBER_INTS(i16)
NUMBER_INTS(i32)
NUMBER_INTS(i64)
#undef NUMBER_INTS

static bool
add_key(const DirectKey *k, const Vec *v, u32 count, u32 *numbers)
{
    u32 null = (k->dim - 1) * k->factor;
    if (v->is_const)
        return false;
    if (k->dict) {
        if (!v->codes || v->dict != k->dict)
            return false;
        number_codes(numbers, v->codes, v->null_mask, k->factor, null, count);
        return true;
    }
    switch (v->phys) {
    case PHYS_BOOL: number_u8(numbers, v->data, v->null_mask, (u64)k->lo, k->factor, null, count); return true;
    case PHYS_I16: number_i16(numbers, v->data, v->null_mask, (u64)k->lo, k->factor, null, count); return true;
    case PHYS_I32: number_i32(numbers, v->data, v->null_mask, (u64)k->lo, k->factor, null, count); return true;
    default: number_i64(numbers, v->data, v->null_mask, (u64)k->lo, k->factor, null, count); return true;
    }
}

const u32 *
direct_numbers(const Agg *a, const Vec *groups, u32 count, u32 *buf)
{
    const Direct *d = &a->direct;
    const Vec *v = &groups[0];
    if (a->plan->group_count == 1 && v->codes && v->dict == d->keys[0].dict && !v->null_mask && !v->is_const)
        return v->codes;
    memset(buf, 0, count * sizeof *buf);
    for (u32 k = 0; k < a->plan->group_count; k++)
        if (!add_key(&d->keys[k], &groups[k], count, buf))
            return NULL;
    return buf;
}

void
agg_merge_state(const Agg *a, u8 *to, const u8 *from)
{
    for (u32 c = 0; c < a->plan->call_count; c++)
        a->plan->calls[c].kernel.merge(to + a->offsets[c], from + a->offsets[c]);
}

void
direct_key(const Agg *a, Arena *arena, u32 key, const u32 *indexes, u32 count, VecBuf *buf, Vec *ret)
{
    const DirectKey *k = &a->direct.keys[key];
    const PlanSlot *slot = &a->node->slots[key];
    vecbuf_need(arena, buf, slot->phys, VEC_SIZE);
    *ret = (Vec){.phys = slot->phys, .scale = slot->scale};
    bool nulls = false;
    for (u32 i = 0; i < count; i++) {
        u32 code = indexes[i] / k->factor % k->dim;
        buf->nulls[i] = code == k->dim - 1;
        nulls = nulls || buf->nulls[i];
        i64 value = k->lo + code;
        if (k->dict)
            buf->codes[i] = buf->nulls[i] ? 0 : code;
        else if (slot->phys == PHYS_I64 || slot->phys == PHYS_D64)
            ((i64 *)buf->data)[i] = value;
        else if (slot->phys == PHYS_I32)
            ((i32 *)buf->data)[i] = (i32)value;
        else if (slot->phys == PHYS_I16)
            ((i16 *)buf->data)[i] = (i16)value;
        else
            ((u8 *)buf->data)[i] = (u8)value;
    }
    ret->null_mask = nulls ? buf->nulls : NULL;
    if (k->dict) {
        ret->codes = buf->codes;
        ret->dict = k->dict;
    } else
        ret->data = buf->data;
}
