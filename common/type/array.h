/*
 * array.h
 *    Arrays: how one lies in memory, taking it apart, putting one together.
 *
 * An array is held as bytes (PHYS_STR) whose order is that of the array wherever the order of its elements can be said with bytes, so that what
 * sorts, groups and looks up texts does the same with arrays. The element type is not in them: whoever has the value has its type.
 *
 *   each element, in storage order:
 *     0x01 and its body, or 0x02 for NULL (behind all values), with a body of zeros where bodies have a fixed width
 *   0x00                      the end: a shorter array comes first
 *   u8 dimensions, u32 length of each, u32 lower bound of each with its sign bit turned, u8 dimensions again, for who comes from the end
 *
 *   bodies, big-endian:
 *     boolean 1 byte; integers, dates, times with the sign bit turned; floats as integers of the same order; pairs as they are
 *     interval: microseconds, days, months; numeric: kind, scale, 16 bytes
 *     texts: the bytes and 0x00, a zero byte among them (bytea only) as 0x00 0xff
 *
 * Equal arrays have equal bytes, and the bytes are in order, but for elements that can be equal and look different: floats (0 and -0), numeric,
 * interval, character, jsonb. type_bytes_tell() says which; value_cmp() compares any.
 */
#ifndef ARRAY_H
#define ARRAY_H

#include "common/type/type.h"

enum { ARRAY_MAX_DIMS = 6, ARRAY_MAX_ITEMS = 134217727 };

typedef struct ArrayShape {
    u32 ndim, count; /* an empty array has no dimension */
    i32 dims[ARRAY_MAX_DIMS], lower[ARRAY_MAX_DIMS];
} ArrayShape;

/* An array taken apart; points into its bytes. */
typedef struct Array {
    TypeId elem;
    PhysType phys;
    u32 width; /* of a body, 0: varies */
    ArrayShape shape;
    const u8 *items, *end;
} Array;

/* The bytes must be those of an array (array_valid); elem is the element's type. */
Array array_open(TypeId elem, Str bytes);
/* Are these bytes an array that something here could have made? For what comes from other processes. */
bool array_valid(TypeId elem, Str bytes);

/* Elements in storage order. */
typedef struct ArrayWalk {
    const Array *array;
    const u8 *at;
    u32 left;
} ArrayWalk;
static inline ArrayWalk array_walk(const Array *a) { return (ArrayWalk){a, a->items, a->shape.count}; }
/* The next element; false: there is none. Texts point into the array, or into `arena` when they had to be put together. */
bool array_next(ArrayWalk *w, Arena *arena, Value *ret);
/* The same where there is no arena: such a text is put into `plain`, until the next call. */
bool array_next_plain(ArrayWalk *w, ByteBuf *plain, Value *ret);
/* The next element as it lies there, for array_add_raw of an array of the same element type. */
Str array_next_raw(ArrayWalk *w);
/* Leave out so many. */
void array_skip(ArrayWalk *w, u32 count);

typedef struct ArrayBuild {
    Arena *arena;
    TypeId elem;
    PhysType phys;
    u32 count, len, capacity;
    u8 *data;
} ArrayBuild;
ArrayBuild array_build(Arena *arena, TypeId elem);
/* false: 54000. */
MUST_CHECK bool array_add(ArrayBuild *b, const Value *v, Error *err);
MUST_CHECK bool array_add_raw(ArrayBuild *b, Str raw, Error *err);
/* The array of what was added, as many elements as the shape says. The build is over. */
MUST_CHECK bool array_finish(ArrayBuild *b, const ArrayShape *shape, Str *ret, Error *err);
/* One dimension from 1. */
MUST_CHECK bool array_finish_list(ArrayBuild *b, Str *ret, Error *err);
Str array_empty(void);

/* Sets count from dims; 54000 when there would be too many, or an upper bound beyond integer. No element: no dimension. */
MUST_CHECK bool array_shape_check(ArrayShape *s, Error *err);
/* What decides the order of arrays whose elements are equal. */
int array_shape_cmp(const ArrayShape *a, const ArrayShape *b);
/* 54000 beyond six dimensions. */
MUST_CHECK bool array_dims_check(u32 ndim, Error *err);

#endif
