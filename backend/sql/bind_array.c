/*
 * bind_array.c
 *    What is written with brackets and ANY: ARRAY[…], ARRAY(SELECT …), subscripts and slices, x op ANY (array).
 */
#include "backend/sql/bind.h"
#include "common/type/array.h"

static BExpr *
new_node(Binder *b, BExprKind kind, TypeId type, i32 typmod, u32 position, u32 arg_count)
{
    BExpr *e = bind_new(b, kind, type, position);
    e->typmod = typmod;
    e->arg_count = arg_count;
    e->args = ARENA_ARRAY(b->arena, BExpr *, arg_count);
    return e;
}

/* ---- ARRAY[…] ---- */

static TypeId
array_of(Binder *b, TypeId elem, u32 at)
{
    TypeId t = type_array(elem);
    if (!t)
        bind_fail(b, at, ERR_UNDEFINED_OBJECT, "could not find array type for data type %s", bind_type_name(elem));
    return t;
}

/* An element in the type that ARRAY[…]::type[] asks for. */
static BExpr *
coerce_hard(Binder *b, BExpr *e, TypeId to, i32 typmod)
{
    BExpr *r = coerce_to_target(b, e, to, typmod, CAST_EXPLICIT);
    if (!r)
        err_throw_at(e->position, ERR_CANNOT_COERCE, "cannot cast type %s to %s", bind_type_name(e->type), bind_type_name(to));
    return r;
}

BExpr *
bind_array(Scope *s, const AExpr *e, TypeId wanted, i32 typmod)
{
    Binder *b = s->b;
    u32 n = e->arg_count;
    bool nested = false;
    BExpr *r = new_node(b, BX_ARRAY, TYPE_INVALID, -1, bind_position(b, e->at), n);
    for (u32 i = 0; i < n; i++) {
        bool inner = e->args[i]->kind == AX_ARRAY && !e->args[i]->select;
        r->args[i] = inner ? bind_array(s, e->args[i], wanted, typmod) : bind_expr(s, e->args[i]);
        nested |= type_is_array(r->args[i]->type);
    }
    r->index = nested;
    if (wanted) {
        r->type = wanted;
        r->typmod = typmod;
        for (u32 i = 0; i < n; i++)
            r->args[i] = coerce_hard(b, r->args[i], nested ? wanted : type_element(wanted), typmod);
        return r;
    }
    if (!n)
        bind_fail_hint(r->position, ERR_INDETERMINATE_DATATYPE, "Explicitly cast to the desired type, for example ARRAY[]::integer[].",
                       "cannot determine type of empty array");
    TypeId common = coerce_common_type(r->args, n, "ARRAY");
    r->type = nested ? common : array_of(b, common, e->at);
    for (u32 i = 0; i < n; i++)
        r->args[i] = coerce_to_common(b, r->args[i], common, "ARRAY");
    return r;
}

/* ---- subscripts ---- */

static BExpr *
bind_bound(Scope *s, const AExpr *e)
{
    BExpr *bound = bind_expr(s, e), *r = coerce_to_target(s->b, bound, TYPE_INT4, -1, CAST_ASSIGNMENT);
    if (!r)
        err_throw_at(bound->position, ERR_DATATYPE_MISMATCH, "array subscript must have type integer");
    return r;
}

BExpr *
bind_subscript(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    const AExpr *chain[ARRAY_MAX_DIMS + 1];
    u32 dims = 0, total = 0;
    bool slice = false;
    const AExpr *inner = e;
    for (; inner->kind == AX_SUBSCRIPT; inner = inner->args[0]) {
        chain[MIN(dims, (u32)ARRAY_MAX_DIMS)] = inner;
        dims += dims < ARRAY_MAX_DIMS;
        total++;
        slice |= inner->star;
    }
    BExpr *array = bind_expr(s, inner);
    if (array->type == TYPE_JSONB)
        bind_unsupported(b, e->at, "a subscript of jsonb");
    if (!type_is_array(array->type))
        err_throw_at(array->position, ERR_DATATYPE_MISMATCH, "cannot subscript type %s because it does not support subscripting",
                     bind_type_name(array->type));
    if (total > ARRAY_MAX_DIMS)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "number of array dimensions (%u) exceeds the maximum allowed (%d)", total, ARRAY_MAX_DIMS);
    BExpr *r = new_node(b, BX_SUBSCRIPT, slice ? array->type : type_element(array->type), array->typmod, array->position, 1 + dims * (slice ? 2 : 1));
    r->negated = slice;
    r->args[0] = array;
    for (u32 i = 0; i < dims; i++) {
        const AExpr *x = chain[dims - 1 - i];
        const AExpr *bounds[2] = {x->star || !slice ? x->args[1] : NULL, x->star ? x->args[2] : x->args[1]};
        for (u32 k = 0; k < (slice ? 2u : 1u); k++) {
            u32 at = slice ? 2 * i + k : i;
            if (bounds[k]) {
                r->args[1 + at] = bind_bound(s, bounds[k]);
                continue;
            }
            BExpr *one = bind_const_null(b, TYPE_INT4, 0); /* the lower bound of a plain index among slices */
            one->value.is_null = false;
            one->value.i32v = 1;
            r->args[1 + at] = one;
            r->index |= (u32)x->star << at;
        }
    }
    return r;
}

/* ---- op ANY, op ALL ---- */

static BExpr *
item_leaf(Binder *b, u32 which, TypeId type, u32 position)
{
    BExpr *e = bind_new(b, BX_ITEM, type, position);
    e->index = which;
    return e;
}

static bool
is_unknown_leaf(const BExpr *e)
{
    return e->type == TYPE_UNKNOWN && (e->kind == BX_CONST || e->kind == BX_PARAM);
}

/* The operator is looked up as for the element; then both sides get the types it takes. */
BExpr *
bind_any_of(Binder *b, const AExpr *e, BExpr *left, BExpr *array)
{
    u32 position = bind_position(b, e->at);
    if (is_unknown_leaf(array) && left->type == TYPE_BPCHAR) /* the operator will be that of text */
        array = coerce_type(b, array, type_array(TYPE_BPCHAR), CAST_IMPLICIT);
    TypeId elem = array->type == TYPE_UNKNOWN ? TYPE_UNKNOWN : type_element(array->type);
    if (array->type != TYPE_UNKNOWN && !type_is_array(array->type))
        err_throw_at(position, ERR_WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
    /* what is unknown still must stay so for the choice of the operator */
    BExpr *x = is_unknown_leaf(left) ? bind_const_null(b, TYPE_UNKNOWN, left->position) : item_leaf(b, 0, left->type, left->position);
    BExpr *y = is_unknown_leaf(array) ? bind_const_null(b, TYPE_UNKNOWN, array->position) : item_leaf(b, 1, elem, array->position);
    BExpr *chosen = bind_operator(b, e->text, x, y, e->at);
    if (chosen->type != TYPE_BOOL)
        err_throw_at(position, ERR_WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires operator to yield boolean");
    TypeId left_type = chosen->args[0]->type, right_type = chosen->args[1]->type;
    BExpr *r = new_node(b, BX_ANY, TYPE_BOOL, -1, left->position && left->position < position ? left->position : position, 3);
    r->func = chosen->func;
    r->negated = e->negated;
    r->args[0] = coerce_type(b, left, left_type, CAST_IMPLICIT);
    r->args[1] = coerce_type(b, array, array_of(b, right_type, e->at), CAST_IMPLICIT);
    r->args[2] = bind_operator(b, e->text, item_leaf(b, 0, left_type, 0), item_leaf(b, 1, right_type, 0), e->at);
    return r;
}

BExpr *
bind_any(Scope *s, const AExpr *e)
{
    if (e->args[0]->kind == AX_ROW)
        bind_unsupported(s->b, e->at, "a row value");
    BExpr *left = bind_expr(s, e->args[0]);
    return bind_any_of(s->b, e, left, bind_expr(s, e->args[1]));
}
