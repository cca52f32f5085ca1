/*
 * func.c
 *    The tables of functions.def and aggregates.def, and lookup by name and number.
 *
 * A lookup walks the few hundred rows: it happens once per call site when a statement is bound, never when it runs.
 */
#include "backend/kern/func.h"

#define ARGS0() .arg_count = 0
#define ARGS1(a) .arg_count = 1, .args = {TYPE_##a}
#define ARGS2(a, b) .arg_count = 2, .args = {TYPE_##a, TYPE_##b}
#define ARGS3(a, b, c) .arg_count = 3, .args = {TYPE_##a, TYPE_##b, TYPE_##c}
#define ARGS4(a, b, c, d) .arg_count = 4, .args = {TYPE_##a, TYPE_##b, TYPE_##c, TYPE_##d}
#define ARGS5(a, b, c, d, e) .arg_count = 5, .args = {TYPE_##a, TYPE_##b, TYPE_##c, TYPE_##d, TYPE_##e}
#define ARGS6(a, b, c, d, e, f) .arg_count = 6, .args = {TYPE_##a, TYPE_##b, TYPE_##c, TYPE_##d, TYPE_##e, TYPE_##f}

#define ARGS7(a, b, c, d, e, f, g) \
    .arg_count = 7, .args = {TYPE_##a, TYPE_##b, TYPE_##c, TYPE_##d, TYPE_##e, TYPE_##f, TYPE_##g}

#define NULLS_STRICT true
#define NULLS_CALLED false

/* Row numbers are known to the compiler: the same tables once as an enum. */
#define OPERATOR(fname, fop, result, vol, ...) +1
#define FUNCTION_OPERATOR(fname, fop, result, ...) +1
#define FUNCTION(fname, fop, result, vol, nulls, ...) +1
enum { FUNC_COUNT = 0
#include "backend/kern/functions.def"
};

#define AGGREGATE(aname, aop, result, argument) +1
#define AGGREGATE0(aname, aop, result) +1
#define AGGREGATE2(aname, aop, result, first, second) +1
#define ORDERED_SET0(aname, aop, result, ordered) +1
#define ORDERED_SET(aname, aop, result, direct, ordered) +1
#define HYPOTHETICAL(aname, aop, result) +1
enum { AGG_COUNT = 0
#include "backend/kern/aggregates.def"
};

enum { FUNC_BASE = __COUNTER__ };
static const FuncDef FUNCS[FUNC_COUNT] = {
#define OPERATOR(fname, fop, result, vol, ...) \
    {.id = __COUNTER__ - FUNC_BASE, .name = fname, .is_operator = true, .ret = TYPE_##result, .strict = true, .volatility = FUNC_##vol, \
     .op = FOP_##fop, __VA_ARGS__},
#define FUNCTION_OPERATOR(fname, fop, result, ...) \
    {.id = __COUNTER__ - FUNC_BASE, .name = fname, .is_operator = true, .ret = TYPE_##result, .strict = false, .volatility = FUNC_IMMUTABLE, \
     .op = FOP_##fop, __VA_ARGS__},
#define FUNCTION(fname, fop, result, vol, nulls, ...) \
    {.id = __COUNTER__ - FUNC_BASE, .name = fname, .is_operator = false, .ret = TYPE_##result, .strict = NULLS_##nulls, \
     .volatility = FUNC_##vol, .op = FOP_##fop, __VA_ARGS__},
#include "backend/kern/functions.def"
};

enum { AGG_BASE = __COUNTER__ };
static const AggDef AGGS[AGG_COUNT] = {
#define AGGREGATE(aname, aop, result, argument) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .arg_count = 1, .args = {TYPE_##argument}, .ret = TYPE_##result, \
     .op = AOP_##aop},
#define AGGREGATE0(aname, aop, result) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .arg_count = 0, .ret = TYPE_##result, .op = AOP_##aop},
#define AGGREGATE2(aname, aop, result, first, second) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .arg_count = 2, .args = {TYPE_##first, TYPE_##second}, .ret = TYPE_##result, .op = AOP_##aop},
#define ORDERED_SET0(aname, aop, result, ordered) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .kind = AGG_ORDERED_SET, .arg_count = 1, .args = {TYPE_##ordered}, .ret = TYPE_##result, \
     .op = AOP_##aop},
#define ORDERED_SET(aname, aop, result, direct, ordered) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .kind = AGG_ORDERED_SET, .direct_count = 1, .arg_count = 2, \
     .args = {TYPE_##direct, TYPE_##ordered}, .ret = TYPE_##result, .op = AOP_##aop},
#define HYPOTHETICAL(aname, aop, result) \
    {.id = __COUNTER__ - AGG_BASE, .name = aname, .kind = AGG_HYPOTHETICAL, .ret = TYPE_##result, .op = AOP_##aop},
#include "backend/kern/aggregates.def"
};

const FuncDef *
func_candidates(Str name, bool is_operator, u32 *ret_count)
{
    u32 first = 0;
    while (first < FUNC_COUNT && (FUNCS[first].is_operator != is_operator || !str_eq(str_of(FUNCS[first].name), name)))
        first++;
    u32 end = first;
    while (end < FUNC_COUNT && FUNCS[end].is_operator == is_operator && str_eq(str_of(FUNCS[end].name), name))
        end++;
    *ret_count = end - first;
    return end > first ? &FUNCS[first] : NULL;
}

const AggDef *
agg_candidates(Str name, u32 *ret_count)
{
    u32 first = 0;
    while (first < AGG_COUNT && !str_eq(str_of(AGGS[first].name), name))
        first++;
    u32 end = first;
    while (end < AGG_COUNT && str_eq(str_of(AGGS[end].name), name))
        end++;
    *ret_count = end - first;
    return end > first ? &AGGS[first] : NULL;
}

const FuncDef *
func_def(FuncId id)
{
    ensure(id >= 1 && id <= FUNC_COUNT);
    return &FUNCS[id - 1];
}

const AggDef *
agg_def(AggId id)
{
    ensure(id >= 1 && id <= AGG_COUNT);
    return &AGGS[id - 1];
}

u32
func_count(void)
{
    return FUNC_COUNT;
}

u32
agg_count(void)
{
    return AGG_COUNT;
}
