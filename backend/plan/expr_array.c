/*
 * expr_array.c
 *    ARRAY[…], subscripts, x op ANY (array).
 *
 * ANY compares for one element after the other: the comparison is a block over two registers, the left side and one that gets the next element of
 * every row's array, and its answers are gathered. Most often the array is the same for all rows (a parameter) and the operator is "=":
 * then a hash set is made of it when the state first meets it, and rows look into that.
 */
#include "backend/plan/expr_prog.h"
#include "backend/plan/valueset.h"
#include "backend/throw.h"
#include "common/base/hash.h"
#include "common/type/array.h"

/* ---- compiling ---- */

static PhysType
any_phys(TypeId type, i32 typmod)
{
    return type == TYPE_NUMERIC ? PHYS_NUM : phys_of(type, typmod);
}

/* All arguments into registers of the instruction. */
static ArrayArgs *
compile_args(Compiler *c, const BExpr *e, u32 count, bool *steady)
{
    ArrayArgs *a = ARENA_NEW(c->arena, ArrayArgs);
    a->count = count;
    a->regs = ARENA_ARRAY(c->arena, Reg, count);
    a->types = ARENA_ARRAY(c->arena, TypeId, count);
    a->expr = e;
    *steady = true;
    for (u32 i = 0; i < count; i++) {
        Operand o = expr_node(c, e->args[i]);
        a->regs[i] = o.reg;
        a->types[i] = e->args[i]->type;
        *steady &= o.steady;
    }
    return a;
}

static Ins *
emit_array(Compiler *c, InsKind kind, const BExpr *e, ArrayArgs *a, bool steady, Operand *ret)
{
    *ret = (Operand){.phys = any_phys(e->type, e->typmod), .digits = 38, .steady = steady};
    ret->reg = expr_new_reg(c, ret->phys, 0);
    Ins *i = expr_emit(c, kind, ret->reg);
    i->param = a;
    i->type = e->type;
    i->negated = e->negated;
    return i;
}

Operand
expr_array(Compiler *c, const BExpr *e)
{
    bool steady;
    Operand ret;
    ArrayArgs *a = compile_args(c, e, e->arg_count, &steady);
    emit_array(c, e->kind == BX_ARRAY ? INS_ARRAY : INS_SUBSCRIPT, e, a, steady, &ret);
    return ret;
}

Operand
expr_any(Compiler *c, const BExpr *e)
{
    bool steady;
    Operand ret;
    ArrayArgs *a = compile_args(c, e, 2, &steady);
    TypeId elem = type_element(e->args[1]->type);
    Operand outer[2] = {c->items[0], c->items[1]};
    const RegInfo *x = expr_reg(c, a->regs[0]);
    c->items[0] = (Operand){.reg = a->regs[0], .phys = x->phys, .scale = x->scale, .digits = x->phys == PHYS_D64 ? 18 : 38};
    c->items[1] = (Operand){.phys = any_phys(elem, -1), .digits = 38};
    a->item = c->items[1].reg = expr_new_reg(c, c->items[1].phys, 0);
    Block *b = ARENA_NEW(c->arena, Block);
    BlockScope scope = expr_block_begin(c, b);
    Operand o = expr_node(c, e->args[2]);
    expr_block_end(c, scope, o.reg);
    c->items[0] = outer[0];
    c->items[1] = outer[1];
    FuncOp op = func_def(e->func)->op;
    PhysType phys = x->phys;
    bool integer = phys == PHYS_I16 || phys == PHYS_I32 || phys == PHYS_I64;
    bool items = phys_of(elem, -1) == phys || (integer && phys_of(elem, -1) >= PHYS_I16 && phys_of(elem, -1) <= PHYS_I64);
    a->use_set = op == (e->negated ? FOP_NE : FOP_EQ) && (integer || (phys == PHYS_STR && type_bytes_tell(elem))) && items &&
        (e->args[0]->type == elem || type_category(elem) == 'N' || type_category(elem) == 'S');
    a->slot = c->prog->any_count++;
    Ins *i = emit_array(c, INS_ANY, e, a, steady, &ret);
    i->blocks = b;
    i->block_count = 1;
    return ret;
}

/* ---- values ---- */

static Value
value_of(const ExprState *s, const ArrayArgs *a, u32 k, u32 row)
{
    const Vec *v = &s->regs[a->regs[k]].vec;
    if (VEC_NULL(v, row))
        return (Value){.type = a->types[k], .typmod = -1, .is_null = true};
    return value_from_phys(a->types[k], -1, v->phys, v->scale, (const u8 *)v->data + (size_t)(v->is_const ? 0 : row) * phys_width(v->phys));
}

static void
put_result(const Vec *to, u32 row, const Value *v)
{
    u8 *at = (u8 *)to->data + (size_t)row * phys_width(to->phys);
    to->null_mask[row] = v->is_null;
    if (!v->is_null) {
        value_to_phys(v, to->phys, to->scale, at);
        return;
    }
    memset(at, 0, phys_width(to->phys));
    if (to->phys == PHYS_STR)
        *(Str *)(void *)at = (Str){"", 0};
}

/* The result with room for the rows that there are: one when no argument varies. */
static const Vec *
open_result(ExprState *s, const Ins *ins, const Frame *f, u32 *rows)
{
    const ArrayArgs *a = ins->param;
    bool all_const = true;
    for (u32 k = 0; k < a->count; k++)
        all_const &= s->regs[a->regs[k]].vec.is_const;
    *rows = all_const ? 1 : f->count;
    expr_result(s, ins->ret, *rows, all_const);
    expr_result_nulls(s, ins->ret, *rows);
    return &s->regs[ins->ret].vec;
}

/* ---- ARRAY[…] ---- */

static bool
mismatched(Error *err)
{
    return error_set(err, ERR_ARRAY_SUBSCRIPT, "multidimensional arrays must have array expressions with matching dimensions");
}

/* Arrays side by side become one of a dimension more; empty ones only together with empty ones. */
static bool
join_arrays(ExprState *s, const ArrayArgs *a, u32 row, TypeId elem, Str *ret)
{
    ArrayBuild b = array_build(s->scratch, elem);
    ArrayShape shape = {0};
    u32 empty = 0;
    for (u32 k = 0; k < a->count; k++) {
        Value v = value_of(s, a, k, row);
        Array part = array_open(elem, v.is_null ? array_empty() : v.str);
        if (!part.shape.ndim) {
            empty++;
            continue;
        }
        if (!array_dims_check(part.shape.ndim + 1, &s->error))
            return false;
        if (k == empty) { /* the first one that is not empty */
            shape.ndim = part.shape.ndim + 1;
            shape.dims[0] = (i32)a->count;
            shape.lower[0] = 1;
            memcpy(shape.dims + 1, part.shape.dims, part.shape.ndim * sizeof *shape.dims);
            memcpy(shape.lower + 1, part.shape.lower, part.shape.ndim * sizeof *shape.lower);
        }
        bool same = shape.ndim == part.shape.ndim + 1;
        for (u32 i = 0; i < part.shape.ndim && same; i++)
            same = shape.dims[i + 1] == part.shape.dims[i] && shape.lower[i + 1] == part.shape.lower[i];
        if (!same)
            return mismatched(&s->error);
        for (ArrayWalk w = array_walk(&part); w.left;)
            if (!array_add_raw(&b, array_next_raw(&w), &s->error))
                return false;
    }
    if (empty && empty < a->count)
        return mismatched(&s->error);
    return array_finish(&b, &shape, ret, &s->error);
}

bool
expr_run_array(ExprState *s, const Ins *ins, const Frame *f)
{
    const ArrayArgs *a = ins->param;
    TypeId elem = type_element(ins->type);
    u32 rows;
    const Vec *to = open_result(s, ins, f, &rows);
    for (u32 row = 0; row < rows; row++) {
        Value ret = {.type = ins->type};
        if (a->expr->index) {
            if (!join_arrays(s, a, row, elem, &ret.str))
                return false;
            put_result(to, row, &ret);
            continue;
        }
        ArrayBuild b = array_build(s->scratch, elem);
        for (u32 k = 0; k < a->count; k++) {
            Value v = value_of(s, a, k, row);
            if (!array_add(&b, &v, &s->error))
                return false;
        }
        if (!array_finish_list(&b, &ret.str, &s->error))
            return false;
        put_result(to, row, &ret);
    }
    return true;
}

/* ---- subscripts ---- */

/* The element at these subscripts; false: there is none. */
static bool
fetch(const Array *a, const i32 *at, u32 dims, Arena *arena, Value *ret)
{
    u32 index = 0;
    if (dims != a->shape.ndim)
        return false;
    for (u32 d = 0; d < dims; d++) {
        i64 offset = (i64)at[d] - a->shape.lower[d];
        if (offset < 0 || offset >= a->shape.dims[d])
            return false;
        index = index * (u32)a->shape.dims[d] + (u32)offset;
    }
    ArrayWalk w = array_walk(a);
    array_skip(&w, index);
    return array_next(&w, arena, ret);
}

/* The elements within the bounds, taken apart by dimension. */
static bool
take_slice(const Array *a, const i32 *first, const i32 *length, Arena *arena, Str *ret, Error *err)
{
    ArrayShape s = {.ndim = a->shape.ndim};
    ArrayBuild b = array_build(arena, a->elem);
    ArrayWalk w = array_walk(a);
    i32 at[ARRAY_MAX_DIMS] = {0};
    for (u32 d = 0; d < s.ndim; d++) {
        s.dims[d] = length[d];
        s.lower[d] = 1;
    }
    while (w.left) {
        bool inside = true;
        for (u32 d = 0; d < s.ndim; d++)
            inside &= at[d] >= first[d] && at[d] < first[d] + length[d];
        Str raw = array_next_raw(&w);
        if (inside && !array_add_raw(&b, raw, err))
            return false;
        for (u32 d = s.ndim; d-- > 0 && ++at[d] == a->shape.dims[d];)
            at[d] = 0;
    }
    return array_finish(&b, &s, ret, err);
}

/* bounds: lower and upper in turns; those in `missing` are the array's own. */
static bool
slice(const Array *a, const i32 *bounds, u32 dims, u32 missing, Arena *arena, Str *ret, Error *err)
{
    i32 first[ARRAY_MAX_DIMS], length[ARRAY_MAX_DIMS];
    *ret = array_empty();
    if (!a->shape.ndim || a->shape.ndim < dims)
        return true;
    for (u32 d = 0; d < a->shape.ndim; d++) {
        i64 from = a->shape.lower[d], end = from + a->shape.dims[d] - 1;
        if (d < dims && !(missing >> (2 * d) & 1))
            from = MAX(from, (i64)bounds[2 * d]);
        if (d < dims && !(missing >> (2 * d + 1) & 1))
            end = MIN(end, (i64)bounds[2 * d + 1]);
        if (end < from)
            return true;
        first[d] = (i32)(from - a->shape.lower[d]);
        length[d] = (i32)(end - from + 1);
    }
    return take_slice(a, first, length, arena, ret, err);
}

bool
expr_run_subscript(ExprState *s, const Ins *ins, const Frame *f)
{
    const ArrayArgs *a = ins->param;
    u32 rows, missing = a->expr->index;
    const Vec *to = open_result(s, ins, f, &rows);
    for (u32 row = 0; row < rows; row++) {
        i32 at[2 * ARRAY_MAX_DIMS];
        Value v = value_of(s, a, 0, row), ret = {.type = ins->type, .is_null = v.is_null};
        for (u32 k = 1; k < a->count; k++) {
            Value index = value_of(s, a, k, row);
            ret.is_null |= index.is_null;
            at[k - 1] = index.i32v;
        }
        if (!ret.is_null) {
            Array array = array_open(type_element(a->types[0]), v.str);
            if (!ins->negated) {
                if (!fetch(&array, at, a->count - 1, s->scratch, &ret))
                    ret.is_null = true;
            } else if (!slice(&array, at, (a->count - 1) / 2, missing, s->scratch, &ret.str, &s->error))
                return false;
        }
        put_result(to, row, &ret);
    }
    return true;
}

/* ---- sets for "= ANY" and "<> ALL" ---- */

typedef struct AnySet {
    Str of;       /* the array that it was made of */
    bool made, has_null;
    u32 count;
    ValueSet values;
} AnySet;

static i64
number_of(const Value *v)
{
    switch ((int)phys_of(v->type, -1)) {
    case PHYS_I16: return v->i16v;
    case PHYS_I32: return v->i32v;
    default: return v->i64v;
    }
}

static void
make_set(ExprState *s, AnySet *set, const Array *array, Str bytes)
{
    bool texts = array->phys == PHYS_STR;
    *set = (AnySet){.of = bytes, .made = true, .count = array->shape.count};
    valueset_init(&set->values, s->arena, set->count, texts);
    ArrayWalk w = array_walk(array);
    Value v;
    while (array_next(&w, s->arena, &v)) {
        set->has_null |= v.is_null;
        if (v.is_null)
            continue;
        if (texts)
            valueset_add_text(&set->values, v.str);
        else
            valueset_add_number(&set->values, number_of(&v));
    }
}

static bool
in_set(const AnySet *set, const Vec *x, u32 row)
{
    switch ((int)x->phys) {
    case PHYS_I16: return valueset_has_number(&set->values, VEC_AT(x, i16, row));
    case PHYS_I32: return valueset_has_number(&set->values, VEC_AT(x, i32, row));
    case PHYS_I64: return valueset_has_number(&set->values, VEC_AT(x, i64, row));
    default: return valueset_has_text(&set->values, VEC_AT(x, Str, row));
    }
}

/* A hit decides; else NULL among the elements, or as x, makes the answer unknown unless there is no element at all. */
static void
test_set(const AnySet *set, const Vec *x, u32 rows, bool all, const Vec *to)
{
    u8 *ret = to->data;
    for (u32 i = 0; i < rows; i++) {
        bool null = VEC_NULL(x, i), hit = !null && in_set(set, x, i);
        ret[i] = hit != all;
        to->null_mask[i] = set->count && !hit && (null || set->has_null);
    }
}

/* ---- op ANY, op ALL ---- */

/* The next element of every row; how many rows have one. */
static u32
next_items(ExprState *s, const ArrayArgs *a, ArrayWalk *walks, u8 *active, u32 rows, bool all_const)
{
    Vec item = {.phys = s->prog->regs[a->item].phys, .is_const = all_const};
    item.data = expr_result(s, a->item, rows, all_const);
    item.null_mask = expr_result_nulls(s, a->item, rows);
    u32 count = 0;
    for (u32 i = 0; i < rows; i++) {
        Value v = {.is_null = true};
        active[i] = walks[i].left > 0;
        if (active[i])
            array_next(&walks[i], s->scratch, &v);
        put_result(&item, i, &v);
        count += active[i];
    }
    return count;
}

/* ANY: true when one is, else unknown when one is; ALL the same with false. */
static void
gather(const Vec *found, const u8 *active, u32 rows, bool all, const Vec *to)
{
    u8 *ret = to->data;
    for (u32 i = 0; i < rows; i++) {
        bool decided = ret[i] != all && !to->null_mask[i];
        if (!active[i] || decided)
            continue;
        bool null = VEC_NULL(found, i), truth = !null && VEC_AT(found, u8, i);
        if (!null && truth != all) {
            ret[i] = truth;
            to->null_mask[i] = 0;
        } else if (null)
            to->null_mask[i] = 1;
    }
}

bool
expr_run_any(ExprState *s, const Ins *ins, const Frame *f)
{
    const ArrayArgs *a = ins->param;
    u32 rows;
    const Vec *to = open_result(s, ins, f, &rows), *x = &s->regs[a->regs[0]].vec, *array = &s->regs[a->regs[1]].vec;
    TypeId elem = type_element(a->types[1]);
    memset(to->data, ins->negated, rows);
    memset(to->null_mask, 0, rows);
    if (array->is_const && VEC_NULL(array, 0)) {
        memset(to->null_mask, 1, rows);
        return true;
    }
    if (array->is_const && a->use_set) {
        AnySet *set = s->anys[a->slot];
        Str bytes = VEC_AT(array, Str, 0);
        if (!set)
            set = s->anys[a->slot] = ARENA_NEW(s->arena, AnySet);
        if (!set->made || set->of.ptr != bytes.ptr || set->of.len != bytes.len) {
            Array whole = array_open(elem, bytes);
            make_set(s, set, &whole, bytes);
        }
        test_set(set, x, rows, ins->negated, to);
        return true;
    }
    ArrayWalk *walks = ARENA_ARRAY(s->scratch, ArrayWalk, rows);
    Array *arrays = ARENA_ARRAY(s->scratch, Array, rows);
    u8 *active = arena_alloc(s->scratch, rows);
    bool all_const = to->is_const;
    for (u32 i = 0; i < rows; i++) {
        to->null_mask[i] = VEC_NULL(array, i);
        arrays[i] = array_open(elem, to->null_mask[i] ? array_empty() : VEC_AT(array, Str, i));
        walks[i] = array_walk(&arrays[i]);
    }
    while (next_items(s, a, walks, active, rows, all_const)) {
        if (!expr_run(s, &ins->blocks[0], f))
            return false;
        gather(&s->regs[ins->blocks[0].result].vec, active, rows, ins->negated, to);
    }
    return true;
}
