/*
 * gather.c
 *    Values into an array; see gather.h.
 */
#include "backend/exec/gather.h"

ArrayGather
gather_new(Arena *a, TypeId type)
{
    return (ArrayGather){.type = type, .build = array_build(a, type_element(type)), .shape = {.ndim = 1, .lower = {1}}};
}

/* Another array to make an array of, which must look as the first one did. */
static bool
add_inner(ArrayGather *g, const Value *item, Error *err)
{
    if (item->is_null)
        return error_set(err, ERR_NULL_NOT_ALLOWED, "cannot accumulate null arrays");
    Array part = array_open(g->build.elem, item->str);
    if (g->shape.dims[0] == 0)
        g->inner = part.shape;
    if (!part.shape.ndim)
        return error_set(err, ERR_ARRAY_SUBSCRIPT, "cannot accumulate empty arrays");
    if (!array_dims_check(part.shape.ndim + 1, err))
        return false;
    if (array_shape_cmp(&g->inner, &part.shape))
        return error_set(err, ERR_ARRAY_SUBSCRIPT, "cannot accumulate arrays of different dimensionality");
    for (ArrayWalk w = array_walk(&part); w.left;)
        if (!array_add_raw(&g->build, array_next_raw(&w), err))
            return false;
    return true;
}

bool
gather_add(ArrayGather *g, const Value *item, Error *err)
{
    if (!(type_is_array(g->type) ? add_inner(g, item, err) : array_add(&g->build, item, err)))
        return false;
    g->shape.dims[0]++;
    return true;
}

bool
gather_finish(ArrayGather *g, Str *ret, Error *err)
{
    for (u32 i = 0; i < g->inner.ndim; i++) {
        g->shape.dims[i + 1] = g->inner.dims[i];
        g->shape.lower[i + 1] = g->inner.lower[i];
    }
    g->shape.ndim += g->inner.ndim;
    if (type_is_array(g->type) && !g->inner.ndim) /* of no array */
        g->shape.ndim = 0;
    return array_finish(&g->build, &g->shape, ret, err);
}
