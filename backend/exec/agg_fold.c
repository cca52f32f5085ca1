/*
 * agg_fold.c
 *    Aggregates that look at all rows of a group at once: string_agg, array_agg, JSON; and any other one whose rows come in an order. Those of WITHIN GROUP
 *    are in agg_set.c.
 *
 * The state is a holder of one value (agg_holder), or the aggregate's own, which takes the values in their order. Results lie in memory that is counted.
 * Fails by throwing: errors of values, 54000 for texts of a gigabyte, 53200.
 */
#include "backend/exec/agg_fold_inside.h"

#include "backend/exec/gather.h"
#include "common/type/json.h"

enum { TEXT_MAX_BYTES = 0x3fffffff };

Value *
fold_direct(Exec *e, const PlanFold *fold)
{
    Value *values = fold->direct_count ? ARENA_ARRAY(e->arena, Value, fold->direct_count) : NULL;
    for (u32 i = 0; i < fold->direct_count; i++)
        if (fold->direct_columns[i] < 0)
            values[i] = plan_value(e->arena, fold->direct[i], &e->ctx->env);
    return values;
}

static Str
text_of(const Fold *f, u32 column, u64 i)
{
    return vec_text_at(&f->rows->columns[column], f->rows->rows[i]);
}

Value
fold_value(const Fold *f, u32 column, u64 i)
{
    const Vec *v = &f->rows->columns[column];
    const PlanSlot *slot = &f->plan->slots[column];
    u32 row = f->rows->rows[i];
    if (VEC_NULL(v, row))
        return (Value){.type = slot->type, .typmod = slot->typmod, .is_null = true};
    if (v->phys == PHYS_STR) {
        Str s = vec_text_at(v, row);
        return value_from_phys(slot->type, slot->typmod, PHYS_STR, 0, &s);
    }
    return value_from_phys(slot->type, slot->typmod, v->phys, v->scale, (const u8 *)v->data + (u64)row * phys_width(v->phys));
}

void
fold_give(const Fold *f, void *state, const void *value)
{
    u8 null = 0;
    Vec v = {.phys = f->kernel->ret_phys, .scale = f->kernel->ret_scale, .data = (void *)(uintptr_t)value, .null_mask = &null};
    f->kernel->update(state, &v, 1);
}

void
fold_give_text(const Fold *f, void *state, const void *bytes, u64 len)
{
    char *copy = exec_alloc(f->worker, len + 1);
    memcpy(copy, bytes, len);
    Str s = {copy, (u32)len};
    fold_give(f, state, &s);
}

static void
check_length(u64 len)
{
    if (len > TEXT_MAX_BYTES)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a result of more than %d bytes is too long for an aggregate", TEXT_MAX_BYTES);
}

/* ---- string_agg ---- */

/* A value's delimiter stands before it, but for the first value's. */
static Str
delimiter_of(const Fold *f, u64 i, bool first)
{
    return first || fold_is_null(f, 1, i) ? (Str){"", 0} : text_of(f, 1, i);
}

static void
fold_strings(const Fold *f, void *state)
{
    u64 len = 0, values = 0;
    for (u64 i = 0; i < f->rows->count; i++)
        if (!fold_is_null(f, 0, i)) {
            len += text_of(f, 0, i).len + delimiter_of(f, i, !values).len;
            values++;
        }
    if (!values)
        return;
    check_length(len);
    char *text = exec_alloc(f->worker, len + 1), *at = text;
    bool first = true;
    for (u64 i = 0; i < f->rows->count; i++) {
        if (fold_is_null(f, 0, i))
            continue;
        Str parts[] = {delimiter_of(f, i, first), text_of(f, 0, i)};
        for (u32 k = 0; k < 2; k++) {
            memcpy(at, parts[k].ptr, parts[k].len);
            at += parts[k].len;
        }
        first = false;
    }
    Str s = {text, (u32)len};
    fold_give(f, state, &s);
}

/* ---- array_agg ---- */

static void
fold_array(const Fold *f, void *state)
{
    Error err;
    Str s;
    Arena *a = f->worker->scratch;
    ArrayGather g = gather_new(a, f->plan->slots[0].type);
    if (!f->rows->count)
        return;
    for (u64 i = 0; i < f->rows->count; i++) {
        Value v = fold_value(f, 0, i);
        if (!gather_add(&g, &v, &err))
            err_rethrow(&err);
    }
    if (!gather_finish(&g, &s, &err))
        err_rethrow(&err);
    fold_give_text(f, state, s.ptr, s.len);
    arena_reset(a);
}

/* ---- JSON ---- */

static void
free_buffer(void *what)
{
    buf_free(what);
}

static bool
put_json(const Fold *f, ByteBuf *to, Error *err)
{
    Arena *a = f->worker->scratch;
    const TypeFormat *format = f->worker->exec->ctx->env.format;
    bool object = f->op == AOP_JSON_OBJECT_AGG, lines = !object && type_is_array(f->plan->slots[0].type);
    buf_str(to, object ? "{ " : "[");
    for (u64 i = 0; i < f->rows->count; i++) {
        Value v = fold_value(f, 0, i);
        if (i)
            buf_str(to, lines ? ", \n " : ", ");
        if (object) {
            if (!json_put_key(a, to, format, &v, err))
                return false;
            buf_str(to, " : ");
            v = fold_value(f, 1, i);
        }
        if (!json_put_value(a, to, format, &v, err))
            return false;
        check_length(to->len);
    }
    buf_str(to, object ? " }" : "]");
    return true;
}

static void
fold_json(const Fold *f, void *state)
{
    Arena *a = f->worker->scratch;
    Error err;
    if (!f->rows->count)
        return;
    ByteBuf *buf = ARENA_NEW(a, ByteBuf);
    if (!arena_hook(a, free_buffer, buf))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    Str s = {"", 0};
    bool ok = put_json(f, buf, &err);
    if (ok && buf->failed)
        ok = error_set(&err, ERR_OUT_OF_MEMORY, "out of memory");
    if (ok)
        s = (Str){(const char *)buf->data, (u32)buf->len};
    if (ok && f->plan->type == TYPE_JSONB)
        ok = jsonb_normal(a, s, &s, &err);
    if (!ok)
        err_rethrow(&err);
    fold_give_text(f, state, s.ptr, s.len);
    arena_reset(a);
}

/* ---- any other aggregate ---- */

static void
fold_values(const Fold *f, void *state)
{
    Arena *a = f->worker->scratch;
    VecBuf buf = {0}, text = {0};
    for (u64 at = 0; at < f->rows->count; at += VEC_SIZE) {
        u32 n = (u32)MIN((u64)VEC_SIZE, f->rows->count - at);
        Vec v;
        vec_take32(a, &f->rows->columns[0], f->rows->rows + at, n, false, &buf, &v);
        vec_decode(a, &v, n, &text);
        f->kernel->update(state, &v, n);
    }
    arena_reset(a);
}

void
fold_rows(Worker *w, AggOp op, const PlanFold *fold, const AggKernel *kernel, const FoldRows *rows, void *state)
{
    Fold f = {w, op, fold, kernel, rows};
    switch ((int)op) {
    case AOP_STRING_AGG: fold_strings(&f, state); return;
    case AOP_ARRAY_AGG: fold_array(&f, state); return;
    case AOP_JSON_AGG: case AOP_JSON_OBJECT_AGG: fold_json(&f, state); return;
    case AOP_MODE: case AOP_PERCENTILE_CONT: case AOP_PERCENTILE_DISC: case AOP_RANK: case AOP_DENSE_RANK: case AOP_PERCENT_RANK: case AOP_CUME_DIST:
        fold_set(&f, state);
        return;
    default: fold_values(&f, state); return;
    }
}
