/*
 * expr_func.c
 *    Functions and operators: which kernel, over which physical forms.
 *
 * numeric: values of a fixed scale stay scaled integers as long as the digits that a result can have are known to
 * fit; sums are checked where they may pass 38 digits; what does not fit, division and everything rounded goes
 * through Num, value by value. Comparisons bring a constant to
 * the column's form rather than the column to the constant's.
 */
#include "backend/plan/expr_prog.h"
#include "backend/throw.h"

CompareOp
expr_compare_op(FuncOp op)
{
    assert(op >= FOP_EQ && op <= FOP_GE);
    return (CompareOp)(op - FOP_EQ + CMP_EQ);
}

_Static_assert(FOP_GE - FOP_EQ == CMP_GE - CMP_EQ && FOP_LT - FOP_EQ == CMP_LT - CMP_EQ,
               "comparisons in the same order");
_Static_assert(FOP_MOD - FOP_ADD == ARITH_MOD - ARITH_ADD && FOP_MUL - FOP_ADD == ARITH_MUL - ARITH_ADD,
               "arithmetic in the same order");

static bool
is_compare(FuncOp op)
{
    return op >= FOP_EQ && op <= FOP_GE;
}

static bool
is_arith(FuncOp op)
{
    return op >= FOP_ADD && op <= FOP_MOD;
}

/* ---- whether evaluating could raise an error, or is so dear that rows should be left out first ---- */
bool
expr_may_fail(const BExpr *e)
{
    switch (e->kind) {
    case BX_CONST: case BX_PARAM: case BX_COLUMN: case BX_AGG: case BX_GROUP: case BX_WINDOW: return false;
    case BX_SUBQUERY: case BX_ARRAY: case BX_SUBSCRIPT: return true;
    case BX_ITEM: return false;
    case BX_FUNC: {
        const FuncDef *f = func_def(e->func);
        bool constant_pattern = (f->op == FOP_LIKE || f->op == FOP_NOT_LIKE) && e->args[1]->kind == BX_CONST;
        bool safe = is_compare(f->op) || f->op == FOP_LENGTH || f->op == FOP_OCTET_LENGTH ||
            f->op == FOP_STARTS_WITH || constant_pattern;
        if (!safe)
            return true;
        break;
    }
    case BX_CAST: {
        TypeId from = e->args[0]->type, to = e->type;
        bool widens = (from == TYPE_INT2 && (to == TYPE_INT4 || to == TYPE_INT8)) || (from == TYPE_INT4 &&
            to == TYPE_INT8) ||
            ((from == TYPE_INT2 || from == TYPE_INT4 || from == TYPE_INT8 || from == TYPE_FLOAT4) &&
             to == TYPE_FLOAT8) ||
            ((from == TYPE_INT2 || from == TYPE_INT4 || from == TYPE_INT8) && to == TYPE_NUMERIC && e->typmod < 0) ||
            ((from == TYPE_VARCHAR || from == TYPE_NAME) && to == TYPE_TEXT);
        if (!widens)
            return true;
        break;
    }
    default:
        break;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        if (expr_may_fail(e->args[i]))
            return true;
    return false;
}

/* ---- emitting ---- */
static Operand
emit_map2(Compiler *c, const MapShapes *shapes, Operand a, Operand b, PhysType phys, u8 scale, TypeId type)
{
    Operand o = {.phys = phys, .scale = scale, .steady = a.steady && b.steady};
    o.reg = expr_new_reg(c, phys, scale);
    Ins *i = expr_emit(c, INS_MAP2, o.reg);
    i->shapes = *shapes;
    i->args[0] = a.reg;
    i->args[1] = b.reg;
    i->arg_count = 2;
    i->type = type;
    return o;
}

static Operand
emit_map(Compiler *c, MapKernel map, Operand a, PhysType phys, u8 scale, TypeId type)
{
    Operand o = {.phys = phys, .scale = scale, .digits = a.digits, .steady = a.steady};
    o.reg = expr_new_reg(c, phys, scale);
    Ins *i = expr_emit(c, INS_MAP, o.reg);
    i->map = map;
    i->args[0] = a.reg;
    i->arg_count = 1;
    i->type = type;
    return o;
}

/* ---- numeric ---- */
static Operand
num_form(Compiler *c, Operand o)
{
    return expr_decimal(c, o, PHYS_NUM, 0);
}

static Operand
emit_rows(Compiler *c, const FuncDef *f, const Operand *args, u32 count, KernRow row)
{
    Operand o = {.phys = f->ret == TYPE_NUMERIC ? PHYS_NUM : f->ret == TYPE_VOID ? PHYS_STR : phys_of(f->ret, -1),
                 .digits = 38, .steady = true};
    o.reg = expr_new_reg(c, o.phys, 0);
    Ins *i = expr_emit(c, INS_ROWS, o.reg);
    i->row = row;
    i->index = c->prog->kept_count;
    i->def = f;
    i->type = f->ret;
    i->strict = f->strict;
    i->arg_count = (u8)count;
    c->prog->kept_count += regexp_row(f->op) != NULL;
    for (u32 k = 0; k < count; k++) {
        i->args[k] = args[k].reg;
        o.steady &= args[k].steady;
    }
    return o;
}

/* A function of any type, told what the types are. */
static Operand
emit_poly(Compiler *c, const FuncDef *f, const Operand *args, const PolyTypes *types, KernRow row)
{
    PolyTypes *p = ARENA_NEW(c->arena, PolyTypes);
    *p = *types;
    Operand o = {.phys = p->ret == TYPE_NUMERIC ? PHYS_NUM : phys_of(p->ret, -1), .digits = 38, .steady = true};
    o.reg = expr_new_reg(c, o.phys, 0);
    Ins *i = expr_emit(c, INS_ROWS, o.reg);
    i->row = row;
    i->def = f;
    i->type = p->ret;
    i->param = p;
    i->strict = f->strict;
    i->arg_count = f->arg_count;
    for (u32 k = 0; k < f->arg_count; k++) {
        i->args[k] = args[k].reg;
        o.steady &= args[k].steady;
    }
    return o;
}

/* Digits of a value when its scale rises. */
static u32
risen_digits(Operand o, u32 scale)
{
    return o.digits + (scale - o.scale);
}

static Operand
numeric_sum(Compiler *c, const FuncDef *f, Operand a, Operand b)
{
    Operand both[2] = {a, b};
    if (!expr_is_decimal(a) || !expr_is_decimal(b))
        return emit_rows(c, f, both, 2, decimal_row(f->op));
    u8 scale = MAX(a.scale, b.scale);
    u32 most = MAX(risen_digits(a, scale), risen_digits(b, scale));
    if (most > 38)
        return emit_rows(c, f, both, 2, decimal_row(f->op));
    PhysType phys = expr_decimal_phys(most + 1, scale);
    a = expr_decimal(c, a, phys, scale);
    b = expr_decimal(c, b, phys, scale);
    Operand o = emit_map2(c, &c->kern->arith[phys][f->op - FOP_ADD + ARITH_ADD], a, b, phys, scale, TYPE_NUMERIC);
    o.digits = (u8)MIN(most + 1, 38);
    return o;
}

static Operand
numeric_product(Compiler *c, const FuncDef *f, Operand a, Operand b)
{
    Operand both[2] = {a, b}, o;
    u32 scale = a.scale + b.scale, digits = a.digits + b.digits;
    if (!expr_is_decimal(a) || !expr_is_decimal(b) || scale > 38 || digits > 38)
        return emit_rows(c, f, both, 2, decimal_row(f->op));
    if (expr_decimal_phys(digits, scale) == PHYS_D64)
        o = emit_map2(c, &c->kern->arith[PHYS_D64][ARITH_MUL], a, b, PHYS_D64, (u8)scale, TYPE_NUMERIC);
    else if (a.phys == PHYS_D64 && b.phys == PHYS_D64)
        o = emit_map2(c, &c->kern->mul_d64_d128, a, b, PHYS_D128, (u8)scale, TYPE_NUMERIC);
    else
        o = emit_map2(c, &c->kern->arith[PHYS_D128][ARITH_MUL], expr_decimal(c, a, PHYS_D128, a.scale),
                      expr_decimal(c, b, PHYS_D128, b.scale), PHYS_D128, (u8)scale, TYPE_NUMERIC);
    o.digits = (u8)digits;
    return o;
}

static Operand
numeric_function(Compiler *c, const FuncDef *f, const Operand *args, u32 count)
{
    switch ((int)f->op) {
    case FOP_ADD: case FOP_SUB:
        return numeric_sum(c, f, args[0], args[1]);
    case FOP_MUL:
        return numeric_product(c, f, args[0], args[1]);
    case FOP_PLUS:
        return args[0];
    case FOP_NEG: case FOP_ABS:
        if (expr_is_decimal(args[0])) {
            const MapKernel *maps = f->op == FOP_NEG ? c->kern->neg : c->kern->abs;
            return emit_map(c, maps[args[0].phys], args[0], args[0].phys, args[0].scale, TYPE_NUMERIC);
        }
        break;
    default:
        break;
    }
    KernRow row = decimal_row(f->op);
    if (!row)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "function %s is not supported yet", f->name);
    return emit_rows(c, f, args, count, row);
}

/* ---- comparisons ---- */
static const CompareOp REVERSED[CMP_COUNT] = {
    [CMP_EQ] = CMP_EQ, [CMP_NE] = CMP_NE, [CMP_LT] = CMP_GT, [CMP_LE] = CMP_GE, [CMP_GT] = CMP_LT, [CMP_GE] = CMP_LE,
};

static Operand
compare_as(Compiler *c, CompareOp op, PhysType phys, Operand a, Operand b)
{
    return emit_map2(c, &c->kern->compare[phys][op], a, b, PHYS_BOOL, 0, TYPE_BOOL);
}

/* Column of a decimal form with a constant of any: the constant takes the column's form. */
static Operand
compare_bound(Compiler *c, CompareOp op, Operand a, Operand bound)
{
    BoundParam *p = ARENA_NEW(c->arena, BoundParam);
    p->op = op;
    bound = expr_row_cast(c, bound, a.phys, a.scale, decimal_bound_row, p);
    return compare_as(c, op, a.phys, a, bound);
}

static Operand
compare_numeric(Compiler *c, CompareOp op, Operand a, Operand b)
{
    if (expr_is_decimal(a) && b.steady && !a.steady)
        return compare_bound(c, op, a, b);
    if (expr_is_decimal(b) && a.steady && !b.steady)
        return compare_bound(c, REVERSED[op], b, a);
    if (expr_is_decimal(a) && expr_is_decimal(b)) {
        u8 scale = MAX(a.scale, b.scale);
        u32 most = MAX(risen_digits(a, scale), risen_digits(b, scale));
        if (most <= 38) {
            PhysType phys = expr_decimal_phys(most, scale);
            return compare_as(c, op, phys, expr_decimal(c, a, phys, scale), expr_decimal(c, b, phys, scale));
        }
    }
    return compare_as(c, op, PHYS_NUM, num_form(c, a), num_form(c, b));
}

/* An integer constant in a narrower form, when it fits: then the column need not be widened. */
static bool
narrow_constant(Compiler *c, Operand *o, PhysType to)
{
    if (!expr_known(c, *o) || expr_known_null(c, *o))
        return false;
    const RegInfo *r = expr_reg(c, o->reg);
    i64 v = r->phys == PHYS_I16 ? *(const i16 *)r->value : r->phys == PHYS_I32 ? *(const i32 *)r->value
        : *(const i64 *)r->value;
    if (to == PHYS_I16 ? v != (i16)v : v != (i32)v)
        return false;
    Value small = {.type = to == PHYS_I16 ? TYPE_INT2 : TYPE_INT4, .typmod = -1};
    if (to == PHYS_I16)
        small.i16v = (i16)v;
    else
        small.i32v = (i32)v;
    *o = expr_constant(c, &small);
    return true;
}

static Operand
compare_numbers(Compiler *c, CompareOp op, Operand a, Operand b)
{
    bool ints = a.phys <= PHYS_I64 && b.phys <= PHYS_I64;
    if (a.phys < b.phys && !(ints && narrow_constant(c, &b, a.phys)))
        a = expr_widen(c, a, b.phys);
    else if (b.phys < a.phys && !(ints && narrow_constant(c, &a, b.phys)))
        b = expr_widen(c, b, a.phys);
    return compare_as(c, op, a.phys, a, b);
}

/* Both as timestamptz when one is, else both as timestamp. */
static Operand
compare_times(Compiler *c, CompareOp op, TypeId at, TypeId bt, Operand a, Operand b)
{
    if (at != bt) {
        bool zoned = at == TYPE_TIMESTAMPTZ || bt == TYPE_TIMESTAMPTZ;
        KernRow date = zoned ? cast_date_timestamptz_row : cast_date_timestamp_row;
        if (at == TYPE_DATE)
            a = expr_row_cast(c, a, PHYS_I64, 0, date, NULL);
        else if (zoned && at == TYPE_TIMESTAMP)
            a = expr_row_cast(c, a, PHYS_I64, 0, cast_timestamp_timestamptz_row, NULL);
        if (bt == TYPE_DATE)
            b = expr_row_cast(c, b, PHYS_I64, 0, date, NULL);
        else if (zoned && bt == TYPE_TIMESTAMP)
            b = expr_row_cast(c, b, PHYS_I64, 0, cast_timestamp_timestamptz_row, NULL);
    }
    return compare_as(c, op, a.phys, a, b);
}

Operand
expr_compare(Compiler *c, const FuncDef *f, TypeId type, Operand a, Operand b)
{
    CompareOp op = expr_compare_op(f->op);
    if (expr_known_null(c, a) || expr_known_null(c, b))
        return expr_null(c, TYPE_BOOL, -1);
    if (type_is_array(type) && !type_bytes_tell(type))
        return emit_poly(c, f, (Operand[]){a, b}, &(PolyTypes){.args = {type, type}, .ret = TYPE_BOOL}, array_row(f->op));
    switch ((int)f->args[0]) {
    case TYPE_NUMERIC: return compare_numeric(c, op, a, b);
    case TYPE_INT2: case TYPE_INT4: case TYPE_INT8: case TYPE_FLOAT4: case TYPE_FLOAT8:
        return compare_numbers(c, op, a, b);
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_TIMESTAMPTZ:
        return compare_times(c, op, f->args[0], f->args[1], a, b);
    case TYPE_JSONB: return emit_rows(c, f, (Operand[]){a, b}, 2, json_row(f));
    default: return compare_as(c, op, a.phys, a, b);
    }
}

/* ---- the rest ---- */
static Operand
session_function(Compiler *c, const BExpr *e, const FuncDef *f, const Operand *args)
{
    Operand o = {.phys = f->ret == TYPE_VOID ? PHYS_STR : phys_of(f->ret, -1),
                 .steady = f->volatility < FUNC_VOLATILE};
    o.reg = expr_new_reg(c, o.phys, 0);
    Ins *i = expr_emit(c, INS_SESSION, o.reg);
    i->def = f;
    i->type = f->ret;
    i->per_row = !o.steady;
    i->arg_count = (u8)e->arg_count;
    for (u32 k = 0; k < e->arg_count; k++)
        i->args[k] = args[k].reg;
    return o;
}

static Operand
machine_arith(Compiler *c, const FuncDef *f, const Operand *args)
{
    PhysType phys = phys_of(f->ret, -1);
    const MapShapes *shapes = &c->kern->arith[phys][f->op - FOP_ADD + ARITH_ADD];
    ensure(shapes->cc);
    return emit_map2(c, shapes, expr_widen(c, args[0], phys), expr_widen(c, args[1], phys), phys, 0, f->ret);
}

Operand
expr_function(Compiler *c, const BExpr *e)
{
    const FuncDef *f = func_def(e->func);
    Operand args[FUNC_MAX_ARGS];
    ensure(e->arg_count == f->arg_count);
    bool null = false;
    for (u32 k = 0; k < e->arg_count; k++) {
        args[k] = expr_node(c, e->args[k]);
        null |= expr_known_null(c, args[k]);
    }
    if (null && f->strict && f->volatility < FUNC_VOLATILE)
        return expr_null(c, e->type, e->typmod);
    if (is_compare(f->op))
        return expr_compare(c, f, e->args[0]->type, args[0], args[1]);
    KernRow array = array_row(f->op);
    if (array) {
        PolyTypes types = {.ret = e->type};
        for (u32 k = 0; k < e->arg_count; k++)
            types.args[k] = e->args[k]->type;
        return emit_poly(c, f, args, &types, array);
    }
    if (f->ret == TYPE_NUMERIC && f->op != FOP_EXTRACT && f->op != FOP_TO_NUMBER)
        return numeric_function(c, f, args, e->arg_count);
    if (is_arith(f->op))
        return machine_arith(c, f, args);
    switch ((int)f->op) {
    case FOP_PLUS:
        return args[0];
    case FOP_NEG:
        return emit_map(c, c->kern->neg[args[0].phys], args[0], args[0].phys, 0, f->ret);
    case FOP_ABS:
        return emit_map(c, c->kern->abs[args[0].phys], args[0], args[0].phys, 0, f->ret);
    case FOP_PI: {
        Value pi = {.type = TYPE_FLOAT8, .typmod = -1, .f64v = 3.14159265358979323846};
        return expr_constant(c, &pi);
    }
    default:
        break;
    }
    KernRow row = kern_row(f);
    if (!row)
        row = expr_quote_row(f->op);
    return row ? emit_rows(c, f, args, e->arg_count, row) : session_function(c, e, f, args);
}
