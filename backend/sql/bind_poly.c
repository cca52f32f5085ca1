/*
 * bind_poly.c
 *    Functions of any type: which types anyarray, anyelement and their kin stand for in one call.
 *
 * Follows "Polymorphic Types" of PostgreSQL's manual. In the first family (anyelement, anyarray, anynonarray) all arguments agree on one element
 * type; in the second (anycompatible, anycompatiblearray) they convert to one that is chosen as for UNION.
 */
#include "backend/sql/bind.h"

static bool
is_simple(TypeId t)
{
    return t == TYPE_ANYELEMENT || t == TYPE_ANYARRAY || t == TYPE_ANYNONARRAY;
}

static bool
is_compatible(TypeId t)
{
    return t == TYPE_ANYCOMPATIBLE || t == TYPE_ANYCOMPATIBLEARRAY;
}

bool
poly_is(TypeId t)
{
    return is_simple(t) || is_compatible(t);
}

static bool
wants_array(TypeId t)
{
    return t == TYPE_ANYARRAY || t == TYPE_ANYCOMPATIBLEARRAY;
}

/* The element type of each family; TYPE_UNKNOWN: no argument says. false: the arguments do not agree. */
static bool
settle(const TypeId *in, const TypeId *declared, u32 n, TypeId *simple, TypeId *compatible)
{
    BExpr leaves[FUNC_MAX_ARGS], *list[FUNC_MAX_ARGS];
    u32 count = 0;
    *simple = *compatible = TYPE_UNKNOWN;
    for (u32 i = 0; i < n; i++) {
        if (!poly_is(declared[i]) || in[i] == TYPE_UNKNOWN)
            continue;
        if (wants_array(declared[i]) && !type_is_array(in[i]))
            return false;
        if (declared[i] == TYPE_ANYNONARRAY && type_is_array(in[i]))
            return false;
        TypeId elem = wants_array(declared[i]) ? type_element(in[i]) : in[i];
        if (is_simple(declared[i])) {
            if (*simple != TYPE_UNKNOWN && *simple != elem)
                return false;
            *simple = elem;
            continue;
        }
        leaves[count] = (BExpr){.kind = BX_ITEM, .type = elem};
        list[count] = &leaves[count];
        count++;
    }
    if (!count)
        return true;
    *compatible = coerce_common_type(list, count, NULL);
    for (u32 i = 0; i < count && *compatible; i++)
        if (!coerce_allowed(leaves[i].type, *compatible, CAST_IMPLICIT))
            return false;
    return *compatible != TYPE_INVALID;
}

/* An array of arrays is an array of more dimensions: there is no such type. */
static bool
has_array(TypeId elem, const TypeId *declared, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (wants_array(declared[i]) && elem != TYPE_UNKNOWN && !type_array(elem))
            return false;
    return true;
}

bool
poly_fits(const TypeId *in, const TypeId *declared, u32 n)
{
    TypeId simple, compatible;
    return settle(in, declared, n, &simple, &compatible) && has_array(simple, declared, n) && has_array(compatible, declared, n);
}

static TypeId
resolve(TypeId declared, TypeId simple, TypeId compatible)
{
    TypeId elem = is_simple(declared) ? simple : compatible;
    return !poly_is(declared) ? declared : wants_array(declared) ? type_array(elem) : elem;
}

TypeId
poly_resolve(const TypeId *in, const FuncDef *f, TypeId *args)
{
    TypeId simple, compatible;
    bool any_simple = is_simple(f->ret);
    for (u32 i = 0; i < f->arg_count; i++)
        any_simple |= is_simple(f->args[i]);
    ensure(settle(in, f->args, f->arg_count, &simple, &compatible));
    if (any_simple && simple == TYPE_UNKNOWN)
        err_throw(ERR_DATATYPE_MISMATCH, "could not determine polymorphic type because input has type unknown");
    if (compatible == TYPE_UNKNOWN)
        compatible = TYPE_TEXT;
    for (u32 i = 0; i < f->arg_count; i++)
        args[i] = resolve(f->args[i], simple, compatible);
    TypeId ret = resolve(f->ret, simple, compatible);
    if (!ret)
        err_throw(ERR_UNDEFINED_OBJECT, "could not find array type for data type %s", bind_type_name(simple));
    return ret;
}
