/*
 * call.h
 *    Functions of one row at a time: text, numeric without a fixed scale, dates and times, casts through Value.
 *
 * Where a vector loop cannot pay (each value costs a call, an allocation or a division), a function is written for
 * row i of its arguments and kern_call_rows walks the rows. It reads ARG(c, k, T, i), writes RET(c, T, i) and returns
 * false with *c->err set to stop. Text results are
 * taken from c->scratch, the only memory kernels ever take. Rows that are NULL are not called when strict.
 */
#ifndef CALL_H
#define CALL_H

#include "backend/kern/func.h"
#include "backend/kern/map.h"
#include "common/type/numeric.h"
#include "common/type/vec.h"
#include "common/type/zone.h"

typedef struct KernCall {
    const Vec *args[FUNC_MAX_ARGS];
    u32 arg_count, count;
    /* data and null_mask have room; null_mask holds the arguments' NULLs when strict, else zeros */
    Vec *ret;
    const FuncDef *def;    /* NULL for casts */
    const void *param;     /* CastParam, BoundParam; of functions of any type PolyTypes */
    /* NULL before the first row of a vector; what a function prepared from a constant argument */
    void *memo;
    Arena *scratch;
    Arena *keep;           /* what a function keeps for the vectors behind this one, in *kept, which is NULL at first: one place a use of it */
    void **kept;
    bool (*stop)(void);    /* shall the statement end? Long work asks; NULL: never */
    const TypeFormat *format;
    i64 now_us;            /* of the statement */
    Error *err;
} KernCall;

typedef bool (*KernRow)(KernCall *c, u32 i);

#define ARG(c, k, T, i) VEC_AT((c)->args[k], T, i)
#define ARG_NULL(c, k, i) VEC_NULL((c)->args[k], i)
#define RET(c, T, i) (((T *)(c)->ret->data)[i])

/* timestamp + interval, the clock being that of zone (NULL: UTC). false: 22008. */
bool kern_step_time(const Zone *zone, i64 us, const Interval *v, i64 *ret, Error *err);

bool kern_call_rows(KernRow fn, KernCall *c, bool strict);

/* The row function of a function by its op and first argument's physical type; NULL when there is none (then it is a
 * vector kernel's or the session's). Numeric arguments may be of any decimal form; a numeric result is PHYS_NUM. */
KernRow kern_row(const FuncDef *f);

typedef struct CastParam {
    TypeId from, to;
    i32 from_typmod, to_typmod;
    bool explicit_cast;
} CastParam;

/* Any cast, by value_cast, between the forms of the vectors. */
bool cast_value_row(KernCall *c, u32 i);
/* numeric to numeric between forms; CastParam.to_typmod rounds and checks. Without one the result must have room and
 * scale for the value. */
bool cast_decimal_row(KernCall *c, u32 i);
bool cast_decimal_f64_row(KernCall *c, u32 i);
bool cast_date_timestamp_row(KernCall *c, u32 i);    /* out of range: an infinity, for comparisons */
bool cast_date_timestamptz_row(KernCall *c, u32 i);
bool cast_timestamp_timestamptz_row(KernCall *c, u32 i);
bool cast_varchar_row(KernCall *c, u32 i);           /* text to varchar(n) */

/* A numeric to compare a decimal column with, as a value of the column's form: `column OP bound` holds exactly when
 * `column OP numeric` does. */
typedef struct BoundParam {
    CompareOp op;
} BoundParam;
bool decimal_bound_row(KernCall *c, u32 i);

/* Value k of row i as a Num, whatever decimal form it has. */
Num kern_num(const Vec *v, u32 i);
/* false: 22003 is set. */
bool kern_num_status(KernCall *c, NumStatus status);

/* tables of the files; FOP to function, by physical type of the first argument where more than one */
KernRow array_row(FuncOp op); /* comparisons, too; param is a PolyTypes */
KernRow text_row(FuncOp op);
KernRow catalog_row(FuncOp op);
KernRow regexp_row(FuncOp op); /* they use keep, kept and stop */
KernRow words_row(FuncOp op);
KernRow ranges_row(FuncOp op, TypeId first_arg);
KernRow degrees_row(FuncOp op);
KernRow bytes_row(FuncOp op);
KernRow time_row(FuncOp op, TypeId first_arg);
KernRow clock_row(FuncOp op, TypeId last_arg); /* before time_row */
KernRow json_row(const FuncDef *f); /* comparisons of jsonb, too */
KernRow interval_row(const FuncDef *f); /* before clock_row */
KernRow math_row(FuncOp op, TypeId first_arg);
KernRow decimal_row(FuncOp op);

#endif
