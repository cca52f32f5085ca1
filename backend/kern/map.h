/*
 * map.h
 *    Kernels over whole vectors: comparisons, arithmetic, casts, null masks, logic, gathering.
 *
 * A map kernel computes every lane, those under a NULL too, and returns KernStatus bits of all lanes; when bits are
 * set the caller runs it again value by value over the lanes that count, to find the first row at fault (or none). It
 * takes (a, b) as column and column (cc)
 * or column and one constant (cv); a constant on the left is the reversed operation on (b, a). Kernels of one value
 * take b unused.
 * The loops are compiled once per instruction set from the same text (isa.inc); kern_table() gives the widest that
 * this machine runs.
 */
#ifndef MAP_H
#define MAP_H

#include "backend/kern/status.h"
#include "common/type/vec.h"

typedef u32 (*MapKernel)(const void *a, const void *b, void *ret, u32 count);

typedef enum CompareOp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_COUNT } CompareOp;
typedef enum ArithOp { ARITH_ADD, ARITH_SUB, ARITH_MUL, ARITH_DIV, ARITH_MOD, ARITH_COUNT } ArithOp;

typedef struct MapShapes {
    MapKernel cc, cv;
    MapKernel vc; /* called with (column, constant) swapped; NULL: none, fill the constant */
} MapShapes;

/* Casts that are one loop. Decimals rise by a power of ten without a check: the compiler of expressions knows that it
 * fits. */
typedef enum CastOp {
    CAST_I16_I32, CAST_I16_I64, CAST_I32_I64, CAST_I32_I16, CAST_I64_I16, CAST_I64_I32,
    CAST_I16_F32, CAST_I32_F32, CAST_I64_F32, CAST_I16_F64, CAST_I32_F64, CAST_I64_F64, CAST_F32_F64, CAST_F64_F32,
    CAST_F64_I16, CAST_F64_I32, CAST_F64_I64, CAST_F32_I16, CAST_F32_I32, CAST_F32_I64,
    CAST_BOOL_I32, CAST_I32_BOOL, CAST_I64_D128, CAST_D64_D128, CAST_COUNT
} CastOp;

typedef struct KernTable {
    const char *name;
    const MapShapes *compare[PHYS_COUNT]; /* [CMP_COUNT]; NULL: none */
    const MapShapes *arith[PHYS_COUNT];   /* [ARITH_COUNT]; DIV and MOD of decimals have none */
    MapShapes mul_d64_d128;               /* D64 x D64 -> D128 */
    MapKernel cast[CAST_COUNT];
    MapKernel neg[PHYS_COUNT], abs[PHYS_COUNT];
    /* null masks and truth values, a byte a row, 0 or 1 */
    void (*mask_or)(const u8 *a, const u8 *b, u8 *ret, u32 count);
    void (*mask_true)(const u8 *values, const u8 *nulls, u8 *ret, u32 count); /* true and not NULL */
    void (*mask_and)(u8 *to, const u8 *from, u32 count);
    void (*mask_not)(const u8 *values, u8 *ret, u32 count);
    void (*logic_and)(const u8 *a, const u8 *a_nulls, const u8 *b, const u8 *b_nulls, u8 *ret, u8 *ret_nulls,
                      u32 count);
    void (*logic_or)(const u8 *a, const u8 *a_nulls, const u8 *b, const u8 *b_nulls, u8 *ret, u8 *ret_nulls, u32 count);
    /* Looks up codes in a table of bytes; the smallest byte met is returned. */
    u8 (*map_codes)(const u8 *table, const u32 *codes, u8 *ret, u32 count);
    /* The positions of bytes that are 1; with `from`, from[position]. ret may be from. Returns how many. Never writes
     * ret[count] or beyond. */
    u32 (*select)(const u8 *mask, u32 count, const u16 *from, u16 *ret);
    /* Sums for aggregates without groups; `nulls` may be NULL. */
    i64 (*sum_i16)(const i16 *v, const u8 *nulls, u32 count);
    i64 (*sum_i32)(const i32 *v, const u8 *nulls, u32 count);
    /* count <= VEC_SIZE; *ret_has_min: INT64_MIN (the NaN of D64) is among the values. */
    i128 (*sum_i64)(const i64 *v, const u8 *nulls, u32 count, bool *ret_has_min);
    u64 (*bits_i64)(const i64 *v, u32 count); /* all bits that a value has beside its sign: v ^ (v >> 63), ORed */
    u32 (*count_bytes)(const u8 *mask, u32 count); /* how many are 1 */
} KernTable;

/* The best for this machine; KERN_BASE always runs. */
const KernTable *kern_table(void);
extern const KernTable KERN_BASE, KERN_AVX2, KERN_AVX512;
bool kern_runs(const KernTable *t); /* this machine has the instructions */

/* Selected elements, dense: ret[i] = from[at[i]]; and back: to[at[i]] = from[i]. width: phys_width. */
void kern_gather(const void *from, const u16 *at, u32 count, u32 width, void *ret);
void kern_scatter(const void *from, const u16 *at, u32 count, u32 width, void *to);
void kern_fill(const void *one, u32 count, u32 width, void *ret);

/* Order of two values of a physical type as ORDER BY has it (NaN last); for GREATEST, min, max, sorts. */
typedef int (*KernOrder)(const void *a, const void *b);
KernOrder kern_order(PhysType phys);

/* simd_select.c, reached through KernTable.select */
u32 select_scalar(const u8 *mask, u32 count, const u16 *from, u16 *ret);
u32 select_avx2(const u8 *mask, u32 count, const u16 *from, u16 *ret);
u32 select_avx512(const u8 *mask, u32 count, const u16 *from, u16 *ret);

#endif
