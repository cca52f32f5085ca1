/*
 * func.h
 *    Functions, operators and aggregates by overload, as the binder sees them; derived from functions.def and aggregates.def.
 *
 * A FuncDef is logical: SQL types only. Which kernel runs (by physical type, shape and scale) is decided in plan/ when an expression is
 * compiled. Operators are functions whose name is the operator ("+", "<=", "||", "~~" for LIKE). Casts are not functions: BX_CAST.
 */
#ifndef FUNC_H
#define FUNC_H

#include "common/type/type.h"

enum { FUNC_MAX_ARGS = 6 };

typedef u16 FuncId; /* row of functions.def; 0 = none */
typedef u16 AggId;  /* row of aggregates.def; 0 = none */

typedef enum FuncVolatility { FUNC_IMMUTABLE, FUNC_STABLE, FUNC_VOLATILE } FuncVolatility;

typedef struct FuncDef {
    FuncId id;
    const char *name;
    bool is_operator;
    u8 arg_count;
    TypeId args[FUNC_MAX_ARGS];
    TypeId ret;
    bool strict; /* NULL in, NULL out */
    FuncVolatility volatility;
} FuncDef;

typedef struct AggDef {
    AggId id;
    const char *name;
    u8 arg_count; /* 0: count(*) */
    TypeId arg;
    TypeId ret;
} AggDef;

/* All overloads of a name (lower case), in a row; count 0 when unknown. */
const FuncDef *func_candidates(Str name, bool is_operator, u32 *ret_count);
const AggDef *agg_candidates(Str name, u32 *ret_count);
const FuncDef *func_def(FuncId id);
const AggDef *agg_def(AggId id);

#endif
