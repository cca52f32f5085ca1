/*
 * value.c
 *    Constants and parameters as values, without compiling: what a point query or a single-row INSERT evaluates.
 */
#include "backend/plan/node.h"
#include "backend/throw.h"

Value
plan_value(Arena *a, const BExpr *e, const ExprEnv *env)
{
    if (e->kind == BX_CONST)
        return e->value;
    if (e->kind == BX_PARAM) {
        const Value *v = expr_param(env, e->index);
        if (!v)
            err_throw(ERR_UNDEFINED_PARAMETER, "there is no parameter $%u", e->index + 1);
        return *v;
    }
    if (e->kind == BX_CAST && (e->args[0]->kind == BX_CONST || e->args[0]->kind == BX_PARAM || e->args[0]->kind == BX_CAST)) {
        Value from = plan_value(a, e->args[0], env), to;
        if (from.is_null)
            return (Value){.type = e->type, .typmod = e->typmod, .is_null = true};
        Error err;
        CHECKED(value_cast(a, env->format, &from, e->type, e->typmod, e->explicit_cast, &to, &err), &err);
        return to;
    }
    return expr_value(a, e, env);
}
