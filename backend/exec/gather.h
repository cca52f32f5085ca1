/*
 * gather.h
 *    Values one behind the other into an array: ARRAY(SELECT …) and array_agg(). Of arrays one with a dimension more.
 */
#ifndef EXEC_GATHER_H
#define EXEC_GATHER_H

#include "common/type/array.h"

typedef struct ArrayGather {
    TypeId type; /* of what is added */
    ArrayBuild build;
    ArrayShape inner, shape;
} ArrayGather;

ArrayGather gather_new(Arena *a, TypeId type);
MUST_CHECK bool gather_add(ArrayGather *g, const Value *item, Error *err);
/* In the arena. */
MUST_CHECK bool gather_finish(ArrayGather *g, Str *ret, Error *err);

#endif
