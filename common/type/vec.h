/*
 * vec.h
 *    A vector: up to VEC_SIZE values of one column, the unit that kernels work on.
 *
 * data holds `count` elements of phys_width(phys) bytes (a constant: one element, stride 0 by `is_const`). null_mask is a
 * byte a row, 1 = NULL, or NULL when no row is. Elements under a NULL are initialised but meaningless.
 * A text vector may be dictionary coded: phys is PHYS_STR, codes != NULL, data may be NULL; code i stands for dict's entry.
 * Kernels of kern/ see decoded vectors only (data != NULL); scan and join code use codes where that pays.
 */
#ifndef VEC_H
#define VEC_H

#include "common/type/type.h"

enum { VEC_SIZE = 2048 };

struct DictShm;

typedef struct Vec {
    PhysType phys;
    u8 scale;    /* of PHYS_D64 and PHYS_D128 */
    bool is_const;
    void *data;
    u8 *null_mask;
    const u32 *codes;
    const struct DictShm *dict;
} Vec;

/* Rows of some columns. sel NULL: rows 0..count-1; else the count positions in sel (ascending). */
typedef struct Batch {
    u32 count;
    const u16 *sel;
    u32 column_count;
    Vec *columns;
} Batch;

#define VEC_AT(v, T, i) (((T *)(v)->data)[(v)->is_const ? 0 : (i)])
#define VEC_NULL(v, i) ((v)->null_mask && (v)->null_mask[(v)->is_const ? 0 : (i)])

#endif
