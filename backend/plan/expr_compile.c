/*
 * expr_compile.c
 *    Bound expressions into programs: the walk over the tree, constants, truth values, CASE and its kin.
 *
 * Decided here, once: the physical form of every value, the kernel of every operation, where NULLs and errors may
 * show. Subtrees of constants and immutable functions are run now; one that fails is left to fail when (and if) it is
 * reached. What could raise an error is put into a block
 * of its own where SQL promises that it is not evaluated for every row.
 */
#include "backend/plan/expr_prog.h"
#include "backend/throw.h"

#include <stdlib.h>

Reg
expr_new_reg(Compiler *c, PhysType phys, u8 scale)
{
    ExprProg *p = c->prog;
    if (p->reg_count == c->reg_capacity) {
        if (p->reg_count >= EXPR_MAX_REGS)
            err_throw(ERR_STATEMENT_TOO_COMPLEX, "expression is too complex");
        u32 capacity = c->reg_capacity ? c->reg_capacity * 2 : 16;
        RegInfo *regs = ARENA_ARRAY(c->arena, RegInfo, capacity);
        if (p->reg_count)
            memcpy(regs, p->regs, p->reg_count * sizeof *regs);
        p->regs = regs;
        c->reg_capacity = capacity;
    }
    p->regs[p->reg_count] = (RegInfo){.phys = phys, .scale = scale};
    return (Reg)p->reg_count++;
}

Ins *
expr_emit(Compiler *c, InsKind kind, Reg ret)
{
    Block *b = c->block;
    if (b->count == b->capacity) {
        u32 capacity = b->capacity ? b->capacity * 2 : 8;
        Ins *ins = ARENA_ARRAY(c->arena, Ins, capacity);
        if (b->count)
            memcpy(ins, b->ins, b->count * sizeof *ins);
        b->ins = ins;
        b->capacity = capacity;
    }
    Ins *i = &b->ins[b->count++];
    *i = (Ins){.kind = kind, .ret = ret, .strict = true};
    return i;
}

BlockScope
expr_block_begin(Compiler *c, Block *b)
{
    BlockScope s = {c->block, c->load_count};
    *b = (Block){.result = REG_NONE};
    c->block = b;
    c->load_count = 0;
    return s;
}

void
expr_block_end(Compiler *c, BlockScope s, Reg result)
{
    c->block->result = result;
    c->block = s.outer;
    /* the loads of the outer block were overwritten: forget them */
    c->load_count = 0;
}

bool
expr_known(const Compiler *c, Operand o)
{
    return expr_reg(c, o.reg)->is_const;
}

bool
expr_known_null(const Compiler *c, Operand o)
{
    return expr_reg(c, o.reg)->is_const && expr_reg(c, o.reg)->is_null;
}

/* ---- leaves ---- */
static u8
digits_of(i128 v)
{
    u8 n = 1;
    while (n < 38 && (v >= POW10_I128[n] || v <= -POW10_I128[n]))
        n++;
    return n;
}

Operand
expr_null(Compiler *c, TypeId type, i32 typmod)
{
    PhysType phys = type == TYPE_NUMERIC ? PHYS_D64 : type == TYPE_VOID ? PHYS_STR : phys_of(type, typmod);
    Operand o = {.reg = expr_new_reg(c, phys, 0), .phys = phys, .digits = 1, .steady = true};
    expr_reg(c, o.reg)->is_const = expr_reg(c, o.reg)->is_null = true;
    return o;
}

Operand
expr_constant(Compiler *c, const Value *v)
{
    if (v->is_null)
        return expr_null(c, v->type, v->typmod);
    Operand o = {.steady = true};
    if (v->type == TYPE_NUMERIC) {
        o.digits = v->num.kind == NUM_FINITE ? digits_of(num_int(&v->num)) : 1;
        o.scale = v->num.kind == NUM_FINITE ? (u8)v->num.scale : 0;
        o.phys = v->num.kind > NUM_NAN ? PHYS_NUM : expr_decimal_phys(o.digits, o.scale);
        if (o.phys == PHYS_NUM)
            o.scale = 0;
    } else
        o.phys = phys_of(v->type, v->typmod);
    o.reg = expr_new_reg(c, o.phys, o.scale);
    RegInfo *r = expr_reg(c, o.reg);
    r->is_const = true;
    Value copy = *v;
    if (o.phys == PHYS_STR)
        copy.str = arena_str(c->arena, v->str);
    value_to_phys(&copy, o.phys, o.scale, r->value);
    return o;
}

static Operand
column(Compiler *c, const BExpr *e)
{
    ExprInput in;
    u32 at = c->map->find(c->map, e, &in);
    Operand o = {.phys = in.phys, .scale = in.scale};
    if (in.phys == PHYS_D64 || in.phys == PHYS_D128) {
        o.digits = in.phys == PHYS_D64 ? 18 : 38;
        if (e->kind == BX_COLUMN && e->typmod >= 0)
            o.digits = (u8)MIN(o.digits, numeric_precision(e->typmod));
    } else
        o.scale = 0;
    if (c->dict_leaf) /* the block of a DictTest runs over batches of one column */
        at = 0;
    for (u32 i = 0; i < c->load_count; i++)
        if (c->loads[i].column == at) {
            o.reg = c->loads[i].reg;
            return o;
        }
    o.reg = expr_new_reg(c, o.phys, o.scale);
    expr_emit(c, INS_LOAD, o.reg)->index = at;
    if (c->load_count < COUNT_OF(c->loads)) {
        c->loads[c->load_count].column = at;
        c->loads[c->load_count++].reg = o.reg;
    }
    return o;
}

static Operand
parameter(Compiler *c, const BExpr *e)
{
    Operand o = {.phys = e->type == TYPE_NUMERIC ? PHYS_NUM : phys_of(e->type, e->typmod), .digits = 38,
                 .steady = true};
    o.reg = expr_new_reg(c, o.phys, 0);
    Ins *i = expr_emit(c, INS_PARAM, o.reg);
    i->index = e->index;
    i->type = e->type;
    i->typmod = e->typmod;
    c->prog->param_count = MAX(c->prog->param_count, e->index + 1);
    return o;
}

/* ---- folding ---- */

/* Constants and functions that depend on nothing else. */
static bool
foldable(const BExpr *e)
{
    switch (e->kind) {
    case BX_CONST: return true;
    case BX_PARAM: case BX_COLUMN: case BX_AGG: case BX_GROUP: case BX_IN_SET: case BX_SUBQUERY: case BX_WINDOW: case BX_ITEM:
        return false;
    case BX_ANY:
        return foldable(e->args[0]) && foldable(e->args[1]) && bexpr_volatility(e->args[2]) == FUNC_IMMUTABLE;
    case BX_FUNC:
        if (func_def(e->func)->volatility != FUNC_IMMUTABLE)
            return false;
        break;
    case BX_CAST:
        if (!expr_cast_steady(e->args[0]->type, e->type))
            return false;
        break;
    case BX_AND: case BX_OR: case BX_NOT: case BX_IS_NULL: case BX_IS_BOOL: case BX_DISTINCT: case BX_CASE: case BX_COALESCE:
    case BX_NULLIF: case BX_GREATEST: case BX_IN: case BX_ARRAY: case BX_SUBSCRIPT:
        break;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        if (!foldable(e->args[i]))
            return false;
    return true;
}

static ExprProg *compile(Arena *a, const BExpr *e, const ExprMap *map, bool no_fold);

/* false: it fails; the program will say so when it gets there. */
static bool
fold(Compiler *c, const BExpr *e, Value *ret)
{
    static const TypeFormat FORMAT = {.extra_float_digits = 1};
    ExprEnv env = {.format = &FORMAT};
    ExprProg *p = compile(c->arena, e, c->map, true);
    ExprState *s = expr_state(c->arena, p, &env);
    Batch one = {.count = 1};
    Vec v;
    if (!expr_try(s, c->arena, &one, &v))
        return false;
    if (VEC_NULL(&v, 0))
        *ret = (Value){.type = e->type, .typmod = e->typmod, .is_null = true};
    else
        *ret = value_from_phys(e->type, e->typmod, v.phys, v.scale, v.data);
    return true;
}

/* ---- truth values ---- */
static Operand
truth(Compiler *c, InsKind kind, Operand a, Operand b)
{
    Operand o = {.phys = PHYS_BOOL, .steady = a.steady && b.steady};
    o.reg = expr_new_reg(c, PHYS_BOOL, 0);
    Ins *i = expr_emit(c, kind, o.reg);
    i->args[0] = a.reg;
    i->args[1] = b.reg;
    i->arg_count = 2;
    return o;
}

static Operand
negate(Compiler *c, Operand a)
{
    Operand o = {.reg = expr_new_reg(c, PHYS_BOOL, 0), .phys = PHYS_BOOL, .steady = a.steady};
    Ins *i = expr_emit(c, INS_NOT, o.reg);
    i->args[0] = a.reg;
    i->arg_count = 1;
    return o;
}

/* A constant false among AND's arguments (true among OR's) is the result, whatever arguments that are not constant
 * would do: so PostgreSQL simplifies. One that fails before it is met fails. */
static bool
decided(Compiler *c, const BExpr *e, bool is_or)
{
    Value v;
    for (u32 k = 0; k < e->arg_count && !c->no_fold; k++) {
        if (!foldable(e->args[k]))
            continue;
        if (!fold(c, e->args[k], &v))
            return false;
        if (!v.is_null && v.b == is_or)
            return true;
    }
    return false;
}

static Operand
and_or(Compiler *c, const BExpr *e)
{
    bool is_or = e->kind == BX_OR;
    if (decided(c, e, is_or)) {
        Value v = {.type = TYPE_BOOL, .typmod = -1, .b = is_or};
        return expr_constant(c, &v);
    }
    Operand so_far = expr_node(c, e->args[0]);
    for (u32 k = 1; k < e->arg_count; k++) {
        if (!expr_may_fail(e->args[k])) {
            so_far = truth(c, is_or ? INS_OR : INS_AND, so_far, expr_node(c, e->args[k]));
            continue;
        }
        Block *b = ARENA_NEW(c->arena, Block);
        BlockScope scope = expr_block_begin(c, b);
        Operand next = expr_node(c, e->args[k]);
        expr_block_end(c, scope, next.reg);
        Operand o = {.reg = expr_new_reg(c, PHYS_BOOL, 0), .phys = PHYS_BOOL, .steady = so_far.steady && next.steady};
        Ins *i = expr_emit(c, INS_GUARD, o.reg);
        i->args[0] = so_far.reg;
        i->arg_count = 1;
        i->negated = is_or;
        i->blocks = b;
        i->block_count = 1;
        so_far = o;
    }
    return so_far;
}

static Operand
is_null(Compiler *c, const BExpr *e)
{
    Operand a = expr_node(c, e->args[0]), o = {.phys = PHYS_BOOL, .steady = a.steady};
    o.reg = expr_new_reg(c, PHYS_BOOL, 0);
    Ins *i = expr_emit(c, INS_IS_NULL, o.reg);
    i->args[0] = a.reg;
    i->arg_count = 1;
    i->negated = e->negated;
    return o;
}

static Operand
is_bool(Compiler *c, const BExpr *e)
{
    Operand a = expr_node(c, e->args[0]), o = {.phys = PHYS_BOOL, .steady = a.steady};
    o.reg = expr_new_reg(c, PHYS_BOOL, 0);
    Ins *i = expr_emit(c, INS_IS_BOOL, o.reg);
    i->args[0] = a.reg;
    i->arg_count = 1;
    i->index = e->value.is_null ? 2 : e->value.b;
    i->negated = e->negated;
    return o;
}

static Operand
distinct(Compiler *c, const BExpr *e)
{
    Operand a = expr_node(c, e->args[0]), b = expr_node(c, e->args[1]), eq = expr_compare(c, func_def(e->func), e->args[0]->type, a, b);
    Operand o = {.reg = expr_new_reg(c, PHYS_BOOL, 0), .phys = PHYS_BOOL, .steady = a.steady && b.steady};
    Ins *i = expr_emit(c, INS_DISTINCT, o.reg);
    i->args[0] = a.reg;
    i->args[1] = b.reg;
    i->args[2] = eq.reg;
    i->arg_count = 3;
    i->negated = e->negated;
    return o;
}

static Operand
nullif(Compiler *c, const BExpr *e)
{
    Operand a = expr_node(c, e->args[0]), b = expr_node(c, e->args[1]), eq = expr_compare(c, func_def(e->func), e->args[0]->type, a, b),
        o = a;
    o.reg = expr_new_reg(c, a.phys, a.scale);
    o.steady = a.steady && b.steady;
    Ins *i = expr_emit(c, INS_NULLIF, o.reg);
    i->args[0] = a.reg;
    i->args[1] = eq.reg;
    i->arg_count = 2;
    return o;
}

/* ---- alternatives: one form for all ---- */

/* Numerics of one scale stay in a form of that scale; else each value must keep its own. */
static void
common_form(Compiler *c, const BExpr *e, const Operand *items, u32 count, Operand *ret)
{
    *ret = (Operand){.steady = true};
    for (u32 i = 0; i < count; i++)
        ret->steady &= items[i].steady;
    if (e->type != TYPE_NUMERIC) {
        ret->phys = e->type == TYPE_VOID ? PHYS_STR : phys_of(e->type, e->typmod);
        return;
    }
    bool first = true;
    for (u32 i = 0; i < count; i++) {
        if (expr_known_null(c, items[i]))
            continue;
        if (!expr_is_decimal(items[i]) || (!first && items[i].scale != ret->scale)) {
            ret->phys = PHYS_NUM;
            ret->scale = 0;
            ret->digits = 38;
            return;
        }
        ret->phys = first ? items[i].phys : MAX(ret->phys, items[i].phys);
        ret->scale = items[i].scale;
        ret->digits = first ? items[i].digits : MAX(ret->digits, items[i].digits);
        first = false;
    }
    if (first) {
        ret->phys = PHYS_D64;
        ret->digits = 1;
    }
}

/* An item in the common form; other types already are. */
static Reg
in_form(Compiler *c, Operand item, Operand form)
{
    if (item.phys == form.phys && item.scale == form.scale)
        return item.reg;
    if (expr_known_null(c, item)) {
        Reg r = expr_new_reg(c, form.phys, form.scale);
        expr_reg(c, r)->is_const = expr_reg(c, r)->is_null = true;
        return r;
    }
    return expr_decimal(c, item, form.phys, form.scale).reg;
}

/* The blocks of an instruction: every expression its own, results in one form. is_result: which blocks give the
 * value. */
static Operand
branches(Compiler *c, const BExpr *e, InsKind kind)
{
    u32 n = e->arg_count, items_count = 0;
    Block *blocks = ARENA_ARRAY(c->arena, Block, n);
    Operand *all = ARENA_ARRAY(c->arena, Operand, n), *items = ARENA_ARRAY(c->arena, Operand, n), form;
    bool steady = true;
    for (u32 k = 0; k < n; k++) {
        BlockScope scope = expr_block_begin(c, &blocks[k]);
        all[k] = expr_node(c, e->args[k]);
        expr_block_end(c, scope, all[k].reg);
        steady &= all[k].steady;
        bool is_condition = kind == INS_CASE && k % 2 == 0 && k + 1 < n;
        if (!is_condition)
            items[items_count++] = all[k];
    }
    common_form(c, e, items, items_count, &form);
    for (u32 k = 0; k < n; k++) {
        if (kind == INS_CASE && k % 2 == 0 && k + 1 < n)
            continue;
        Block *outer = c->block;
        c->block = &blocks[k];
        blocks[k].result = in_form(c, all[k], form);
        c->block = outer;
    }
    form.reg = expr_new_reg(c, form.phys, form.scale);
    form.steady = steady;
    Ins *i = expr_emit(c, kind, form.reg);
    i->blocks = blocks;
    i->block_count = n;
    i->per_row = !steady;
    return form;
}

static Operand
greatest(Compiler *c, const BExpr *e)
{
    Operand *items = ARENA_ARRAY(c->arena, Operand, e->arg_count), form;
    for (u32 k = 0; k < e->arg_count; k++)
        items[k] = expr_node(c, e->args[k]);
    common_form(c, e, items, e->arg_count, &form);
    Reg so_far = in_form(c, items[0], form);
    for (u32 k = 1; k < e->arg_count; k++) {
        Reg next = in_form(c, items[k], form), ret = expr_new_reg(c, form.phys, form.scale);
        Ins *i = expr_emit(c, INS_GREATEST, ret);
        i->args[0] = so_far;
        i->args[1] = next;
        i->arg_count = 2;
        i->index = form.phys;
        i->negated = e->negated;
        so_far = ret;
    }
    form.reg = so_far;
    return form;
}

static Operand
in_list(Compiler *c, const BExpr *e)
{
    Operand x = expr_node(c, e->args[0]), o;
    if (!expr_in_set(c, e, x, &o)) {
        const FuncDef *eq = func_def(e->func);
        o = expr_compare(c, eq, e->args[0]->type, x, expr_node(c, e->args[1]));
        for (u32 k = 2; k < e->arg_count; k++)
            o = truth(c, INS_OR, o, expr_compare(c, eq, e->args[0]->type, x, expr_node(c, e->args[k])));
    }
    return e->negated ? negate(c, o) : o;
}

/* Numerics go in and out in the form that holds any. */
static Operand
subquery(Compiler *c, const BExpr *e)
{
    SubArgs *a = ARENA_NEW(c->arena, SubArgs);
    Operand o = {.phys = e->type == TYPE_NUMERIC ? PHYS_NUM : phys_of(e->type, e->typmod), .digits = 38, .steady = e->kind == BX_IN_SET};
    a->count = e->arg_count;
    a->regs = ARENA_ARRAY(c->arena, Reg, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++) {
        Operand x = expr_node(c, e->args[i]), form = {.phys = e->args[i]->type == TYPE_NUMERIC ? PHYS_NUM : x.phys};
        a->regs[i] = in_form(c, x, form);
        o.steady &= x.steady;
    }
    o.reg = expr_new_reg(c, o.phys, 0);
    Ins *i = expr_emit(c, INS_SUBQUERY, o.reg);
    i->index = e->index;
    i->param = a;
    i->type = e->type;
    i->typmod = e->typmod;
    i->per_row = !o.steady;
    return o;
}

Operand
expr_node(Compiler *c, const BExpr *e)
{
    Value v;
    Operand o;
    if (e->kind == BX_CONST)
        return expr_constant(c, &e->value);
    if (!c->no_fold && foldable(e) && fold(c, e, &v))
        return expr_constant(c, &v);
    if (e->type == TYPE_BOOL && !c->dict_leaf && expr_dict(c, e, &o))
        return o;
    switch (e->kind) {
    case BX_CONST: break;
    case BX_PARAM: return parameter(c, e);
    case BX_COLUMN: case BX_AGG: case BX_GROUP: case BX_WINDOW: return column(c, e);
    case BX_FUNC: return expr_function(c, e);
    case BX_CAST: return expr_cast(c, e);
    case BX_AND: case BX_OR: return and_or(c, e);
    case BX_NOT: return negate(c, expr_node(c, e->args[0]));
    case BX_IS_NULL: return is_null(c, e);
    case BX_IS_BOOL: return is_bool(c, e);
    case BX_DISTINCT: return distinct(c, e);
    case BX_CASE: return branches(c, e, INS_CASE);
    case BX_COALESCE: return branches(c, e, INS_COALESCE);
    case BX_NULLIF: return nullif(c, e);
    case BX_GREATEST: return greatest(c, e);
    case BX_IN: return in_list(c, e);
    case BX_IN_SET: case BX_SUBQUERY: return subquery(c, e);
    case BX_ARRAY: case BX_SUBSCRIPT: return expr_array(c, e);
    case BX_ANY: return expr_any(c, e);
    case BX_ITEM: return c->items[e->index];
    }
    err_throw_at(e->position, ERR_FEATURE_NOT_SUPPORTED, "this kind of expression is not supported yet");
}

/* ---- the doors ---- */

/* AND's arguments, nested ones too. */
static u32
flatten_and(const BExpr *e, const BExpr **to, u32 count)
{
    if (e->kind != BX_AND) {
        if (to)
            to[count] = e;
        return count + 1;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        count = flatten_and(e->args[i], to, count);
    return count;
}

static void
compile_conjuncts(Compiler *c, const BExpr *e)
{
    ExprProg *p = c->prog;
    u32 n = flatten_and(e, NULL, 0);
    const BExpr **list = ARENA_ARRAY(c->arena, const BExpr *, n);
    flatten_and(e, list, 0);
    p->conjuncts = ARENA_ARRAY(c->arena, Block, n);
    p->conjunct_alone = ARENA_ARRAY(c->arena, bool, n);
    for (u32 i = 0; i < n; i++) {
        BlockScope scope = expr_block_begin(c, &p->conjuncts[i]);
        Operand o = expr_node(c, list[i]);
        expr_block_end(c, scope, o.reg);
        p->conjunct_alone[i] = expr_may_fail(list[i]);
    }
    p->conjunct_count = n;
}

static ExprProg *
compile(Arena *a, const BExpr *e, const ExprMap *map, bool no_fold)
{
    ExprProg *p = ARENA_NEW(a, ExprProg);
    Compiler c = {.arena = a, .prog = p, .map = map, .kern = kern_table(), .no_fold = no_fold};
    BlockScope scope = expr_block_begin(&c, &p->root);
    Operand o = expr_node(&c, e);
    expr_block_end(&c, scope, o.reg);
    p->phys = o.phys;
    p->scale = o.scale;
    p->type = e->type;
    p->typmod = e->typmod;
    p->is_const = o.steady;
    if (e->kind == BX_COLUMN || e->kind == BX_AGG || e->kind == BX_GROUP || e->kind == BX_WINDOW) {
        p->is_column = true;
        p->column = p->root.ins[0].index;
    }
    if (e->type == TYPE_BOOL && !no_fold)
        compile_conjuncts(&c, e);
    return p;
}

ExprProg *
expr_compile(Arena *a, const BExpr *e, const ExprMap *map)
{
    return compile(a, e, map, false);
}

ExprProg *
expr_compile_as(Arena *a, const BExpr *e, const ExprMap *map, PhysType phys, u8 scale)
{
    ExprProg *p = ARENA_NEW(a, ExprProg);
    Compiler c = {.arena = a, .prog = p, .map = map, .kern = kern_table()};
    BlockScope scope = expr_block_begin(&c, &p->root);
    Operand form = {.phys = phys, .scale = scale}, o = expr_node(&c, e);
    Reg r = in_form(&c, o, form);
    expr_block_end(&c, scope, r);
    p->phys = phys;
    p->scale = scale;
    p->type = e->type;
    p->typmod = e->typmod;
    p->is_const = o.steady;
    return p;
}

PhysType
expr_phys(const ExprProg *p)
{
    return p->phys;
}

u8
expr_scale(const ExprProg *p)
{
    return p->scale;
}

bool
expr_is_const(const ExprProg *p)
{
    return p->is_const;
}

bool
expr_is_column(const ExprProg *p, u32 *ret_column)
{
    *ret_column = p->column;
    return p->is_column;
}
