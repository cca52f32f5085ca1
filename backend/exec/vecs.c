/*
 * vecs.c
 *    Moving values between vectors: gather, flatten, decode, convert; and expressions of one thread.
 */
#include "backend/exec/run.h"

void
vecbuf_need(Arena *a, VecBuf *buf, PhysType phys, u32 capacity)
{
    if (buf->capacity >= capacity)
        return;
    buf->capacity = capacity;
    buf->data = arena_alloc(a, (size_t)capacity * phys_width(phys));
    buf->nulls = arena_alloc(a, capacity);
    buf->codes = phys == PHYS_STR ? arena_alloc(a, (size_t)capacity * 4) : NULL;
}

/* Few rows get little memory: a point query must not touch pages for full vectors. */
static u32
room_for(u32 count)
{
    return count <= 32 ? 32 : VEC_SIZE;
}

#define TAKE(T)                                                                                                                            \
    for (u32 i = 0; i < count; i++)                                                                                                        \
        ((T *)to)[i] = ((const T *)from)[rows[i]];                                                                                         \
    break

typedef struct Bytes24 { u64 a, b, c; } Bytes24;

static void
take_fixed(void *to, const void *from, u32 width, const u16 *rows, u32 count)
{
    switch (width) {
    case 1: TAKE(u8);
    case 2: TAKE(u16);
    case 4: TAKE(u32);
    case 8: TAKE(u64);
    case 16: TAKE(u128);
    default: TAKE(Bytes24);
    }
}

static void
take_fixed32(void *to, const void *from, u32 width, const u32 *rows, u32 count)
{
    switch (width) {
    case 1: TAKE(u8);
    case 2: TAKE(u16);
    case 4: TAKE(u32);
    case 8: TAKE(u64);
    case 16: TAKE(u128);
    default: TAKE(Bytes24);
    }
}

void
vec_take(Arena *a, const Vec *in, const u16 *rows, u32 count, VecBuf *buf, Vec *ret)
{
    vecbuf_need(a, buf, in->phys, room_for(count));
    *ret = *in;
    if (in->codes) {
        take_fixed(buf->codes, in->codes, 4, rows, count);
        ret->codes = buf->codes;
        ret->data = NULL;
    } else {
        take_fixed(buf->data, in->data, phys_width(in->phys), rows, count);
        ret->data = buf->data;
    }
    if (in->null_mask) {
        take_fixed(buf->nulls, in->null_mask, 1, rows, count);
        ret->null_mask = buf->nulls;
    }
}

/* Like take_fixed32 for rows that may be missing. */
static void
take_outer(void *to, const u8 *from, u32 width, const u8 *from_nulls, const u32 *rows, u32 count, u8 *nulls)
{
    for (u32 i = 0; i < count; i++) {
        u8 *at = (u8 *)to + (size_t)i * width;
        nulls[i] = rows[i] == UINT32_MAX || (from_nulls && from_nulls[rows[i]]);
        if (rows[i] == UINT32_MAX)
            memset(at, 0, width);
        else
            memcpy(at, from + (size_t)rows[i] * width, width);
    }
}

void
vec_take32(Arena *a, const Vec *in, const u32 *rows, u32 count, bool outer, VecBuf *buf, Vec *ret)
{
    vecbuf_need(a, buf, in->phys, room_for(count));
    *ret = *in;
    void *to = in->codes ? (void *)buf->codes : buf->data;
    const void *from = in->codes ? (const void *)in->codes : in->data;
    if (in->codes)
        ret->codes = to;
    else
        ret->data = to;
    if (outer) {
        take_outer(to, from, vec_width(in), in->null_mask, rows, count, buf->nulls);
        ret->null_mask = buf->nulls;
        return;
    }
    take_fixed32(to, from, vec_width(in), rows, count);
    if (in->null_mask) {
        take_fixed32(buf->nulls, in->null_mask, 1, rows, count);
        ret->null_mask = buf->nulls;
    }
}

Str
vec_text_at(const Vec *v, u64 i)
{
    return v->codes && !v->data ? dict_str(v->dict, v->codes[i]) : ((const Str *)v->data)[i];
}

void
vec_flatten(Arena *a, Vec *v, u32 count, VecBuf *buf)
{
    if (!v->is_const)
        return;
    vecbuf_need(a, buf, v->phys, room_for(count));
    u32 width = vec_width(v);
    u8 *to = v->codes ? (u8 *)buf->codes : buf->data;
    const void *from = v->codes ? (const void *)v->codes : v->data;
    for (u32 i = 0; i < count; i++)
        memcpy(to + (size_t)i * width, from, width);
    if (v->codes)
        v->codes = buf->codes;
    else
        v->data = buf->data;
    if (v->null_mask) {
        memset(buf->nulls, v->null_mask[0], count);
        v->null_mask = buf->nulls;
    }
    v->is_const = false;
}

void
vec_decode(Arena *a, Vec *v, u32 count, VecBuf *buf)
{
    if (!v->codes || v->data)
        return;
    vecbuf_need(a, buf, PHYS_STR, room_for(count));
    Str *out = buf->data;
    if (!v->null_mask)
        dict_decode(v->dict, v->codes, count, out);
    else
        for (u32 i = 0; i < count; i++)
            out[i] = v->null_mask[i] ? (Str){"", 0} : dict_str(v->dict, v->codes[i]);
    v->data = buf->data;
    v->codes = NULL;
    v->dict = NULL;
}

void
vec_convert(Arena *a, Vec *v, u32 count, TypeId type, i32 typmod, PhysType phys, u8 scale, VecBuf *buf)
{
    bool scaled = phys == PHYS_D64 || phys == PHYS_D128;
    if (v->phys == phys && (!scaled || v->scale == scale))
        return;
    vecbuf_need(a, buf, phys, room_for(count));
    u32 from = phys_width(v->phys), to = phys_width(phys);
    for (u32 i = 0; i < count; i++) {
        u8 *at = (u8 *)buf->data + (size_t)i * to;
        if (VEC_NULL(v, i)) {
            memset(at, 0, to);
            continue;
        }
        Value x = value_from_phys(type, typmod, v->phys, v->scale, (const u8 *)v->data + (size_t)i * from);
        value_to_phys(&x, phys, scale, at);
    }
    v->phys = phys;
    v->scale = scale;
    v->data = buf->data;
}

void
eval_open(Eval *v, Worker *w, const PlanExpr *x)
{
    v->expr = x;
    if (x->column < 0)
        v->state = expr_state(w->arena, x->prog, &w->exec->ctx->env);
}

void
eval_run(Eval *v, Worker *w, const Batch *b, Vec *ret)
{
    if (v->expr->column >= 0) {
        *ret = b->columns[v->expr->column];
        return;
    }
    expr_eval(v->state, w->scratch, b, ret);
    vec_flatten(w->arena, ret, b->count, &v->flat);
}
