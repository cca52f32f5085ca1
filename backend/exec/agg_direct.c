/*
 * agg_direct.c
 *    Groups whose keys are dictionary codes or integers of a small range: the key is the index into an array of states.
 *
 * Chosen before the scan from where the key columns come from (their dictionary, their zone maps). A batch whose text comes with another
 * dictionary goes to the hash table instead. Threads have arrays of their own, which are merged group by group while the result is read.
 */
#include "backend/exec/agg.h"

enum { DIRECT_MAX_DIMS = 1 << 22, DIRECT_MAX_BYTES = 256 << 20, REPLICATE_BELOW = 64, REPLICAS = 4 };

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
    if (!a->plan->group_count || a->plan->group_count > DIRECT_MAX_KEYS || a->any_distinct)
        return;
    for (u32 i = 0; i < a->plan->group_count; i++) {
        if (!choose_key(a, i, &d->keys[i]))
            return;
        d->keys[i].factor = (u32)dims;
        dims *= d->keys[i].dim;
        if (dims > DIRECT_MAX_DIMS || dims > rows * 2 + 4096)
            return;
    }
    d->replicas = dims <= REPLICATE_BELOW ? REPLICAS : 1;
    u64 bytes = dims * d->replicas * (a->stride + 1);
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

static void
spread_replicas(u32 *restrict numbers, u32 count)
{
    for (u32 i = 0; i < count; i++)
        numbers[i] = numbers[i] * REPLICAS + (i & (REPLICAS - 1));
}

static void
mark_seen(u8 *restrict seen, const u32 *restrict numbers, u32 count)
{
    for (u32 i = 0; i < count; i++)
        seen[numbers[i]] = 1;
}

bool
direct_numbers(const Agg *a, AggLocal *l, const Vec *groups, u32 count, u32 *numbers)
{
    const Direct *d = &a->direct;
    memset(numbers, 0, count * sizeof *numbers);
    for (u32 k = 0; k < a->plan->group_count; k++)
        if (!add_key(&d->keys[k], &groups[k], count, numbers))
            return false;
    if (!l->direct_seen) {
        u64 n = (u64)d->dims * d->replicas;
        l->direct_seen = exec_alloc(l->worker, n);
        l->direct_states = exec_alloc(l->worker, n * a->stride + 16);
    }
    if (d->replicas > 1)
        spread_replicas(numbers, count);
    mark_seen(l->direct_seen, numbers, count);
    return true;
}

void
agg_merge_state(const Agg *a, u8 *to, const u8 *from)
{
    for (u32 c = 0; c < a->plan->call_count; c++)
        a->plan->calls[c].kernel.merge(to + a->offsets[c], from + a->offsets[c]);
}

/* All threads' and replicas' states of one group into `to`; false when none has seen it. */
static bool
collect_group(const Agg *a, u32 index, u8 *to)
{
    bool found = false;
    u32 replicas = a->direct.replicas;
    for (u32 t = 0; t < a->exec->worker_count; t++) {
        const AggLocal *l = a->locals[t];
        if (!l || !l->direct_seen)
            continue;
        for (u64 at = (u64)index * replicas, end = at + replicas; at < end; at++) {
            if (!l->direct_seen[at])
                continue;
            const u8 *from = l->direct_states + at * a->stride;
            if (found)
                agg_merge_state(a, to, from);
            else
                memcpy(to, from, a->stride);
            found = true;
        }
    }
    return found;
}

void
direct_collect(const Agg *a, Worker *w, u32 first, u32 end, u8 *states, DirectVisit visit, void *ctx)
{
    u32 indexes[VEC_SIZE], count = 0;
    for (u32 i = first; i < end; i++) {
        if (!collect_group(a, i, states + (size_t)count * a->stride))
            continue;
        indexes[count++] = i;
        if (count == VEC_SIZE) {
            visit(ctx, w, indexes, count, states);
            count = 0;
        }
    }
    if (count)
        visit(ctx, w, indexes, count, states);
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
