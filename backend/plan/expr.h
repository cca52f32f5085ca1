/*
 * expr.h
 *    Expressions compiled once per plan into flat programs of typed kernels, run over vectors.
 *
 * Types, physical forms, scales and nullability are fixed at compile time. A program is read-only and shared; each
 * thread has an ExprState.
 * Input columns are those of a Batch (resolved by `map`: rel and column to batch column). Constant folding happens
 * here.
 */
#ifndef EXPR_H
#define EXPR_H

#include "backend/sql/bound.h"
#include "common/type/vec.h"

typedef struct ExprProg ExprProg;
typedef struct ExprState ExprState;

/* What an input column looks like. Text columns arrive as codes + dict or decoded; the program copes with both. */
typedef struct ExprInput {
    PhysType phys;
    u8 scale;
    bool nullable;
} ExprInput;

/* Where BX_COLUMN, BX_AGG and BX_GROUP are found: returns the batch column and its form; throws XX000 when it is not
 * there. */
typedef struct ExprMap {
    u32 (*find)(const struct ExprMap *m, const BExpr *leaf, ExprInput *ret);
    const void *ctx;
} ExprMap;

ExprProg *expr_compile(Arena *a, const BExpr *e, const ExprMap *map);
/* The same with the result in a given form (a numeric for a column of another form); the value must fit it. */
ExprProg *expr_compile_as(Arena *a, const BExpr *e, const ExprMap *map, PhysType phys, u8 scale);
PhysType expr_phys(const ExprProg *p);
u8 expr_scale(const ExprProg *p);
bool expr_is_const(const ExprProg *p); /* no column and no volatile function (parameters may be there) */
/* A batch column as it is: callers may read the batch instead (text then keeps its codes; expr_eval always decodes). */
bool expr_is_column(const ExprProg *p, u32 *ret_column);

/* What a SERIAL function does, for one row without a NULL argument; Value.type is the function's. Throws. */
typedef Value (*ExprCall)(void *session, const FuncDef *f, const Value *args);
/* Values of subqueries for `count` rows: args are the arguments of BX_SUBQUERY or BX_IN_SET, vectors of count values or constants; ret (data and
 * null_mask have room) gets a value a row. Texts in scratch or longer. false: *err is set. */
typedef bool (*ExprSubquery)(void *ctx, u32 index, const Vec *const *args, u32 count, Arena *scratch, Vec *ret, Error *err);

typedef struct ExprEnv {
    const Value *params;
    u32 param_count;
    Value *extra;               /* parameters from EXTRA_PARAM on */
    u32 extra_count;
    ExprSubquery subquery;
    void *sub_ctx;
    const TypeFormat *format;
    i64 now_us, statement_us;   /* when the transaction and the statement began: now(), statement_timestamp() */
    const char *role_name, *session_role_name, *database, *version;
    ExprCall call;              /* NULL: there is no session */
    void *session;
} ExprEnv;

/* NULL when there is none of that number. */
static inline const Value *
expr_param(const ExprEnv *env, u32 index)
{
    if (index >= EXTRA_PARAM)
        return index - EXTRA_PARAM < env->extra_count ? &env->extra[index - EXTRA_PARAM] : NULL;
    return index < env->param_count ? &env->params[index] : NULL;
}

/* One a thread; memory in a. */
ExprState *expr_state(Arena *a, const ExprProg *p, const ExprEnv *env);
/* Evaluate for the rows of b (its sel counts; the result is dense: count values). *ret stays valid until the next
 * call with this state or until `scratch` (text results) is reset. Throws the first row's error (division by zero,
 * overflow, …). */
void expr_eval(ExprState *s, Arena *scratch, const Batch *b, Vec *ret);
/* A condition: writes the positions of rows that are true to sel_out (at most b->count) and returns how many.
 * Conjuncts run one after the other over the rows still in. sel_out may be b->sel's memory. */
u32 expr_filter(ExprState *s, Arena *scratch, const Batch *b, u16 *sel_out);
/* A constant or parameter expression. */
Value expr_value(Arena *a, const BExpr *e, const ExprEnv *env);

#endif
