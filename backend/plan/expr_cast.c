/*
 * expr_cast.c
 *    Casts: loops between machine types, decimals between their forms, everything else through Value, row by row.
 */
#include "backend/plan/expr_prog.h"
#include "backend/throw.h"

bool
expr_is_decimal(Operand o)
{
    return o.phys == PHYS_D64 || o.phys == PHYS_D128;
}

static bool
is_string(TypeId t)
{
    return t == TYPE_TEXT || t == TYPE_VARCHAR || t == TYPE_BPCHAR || t == TYPE_NAME || t == TYPE_UNKNOWN;
}

static bool
is_time(TypeId t)
{
    return t == TYPE_DATE || t == TYPE_INTERVAL || type_has_precision(t);
}

/* 'today' and 'now' depend on the moment, time zones, digits of floats, the form of bytes and intervals on settings. */
bool
expr_cast_steady(TypeId from, TypeId to)
{
    from = type_element(from);
    to = type_element(to);
    if (is_string(from) && is_time(to))
        return false;
    if (type_is_reg(from) != type_is_reg(to) && (is_string(from) || is_string(to))) /* depends on the catalog */
        return false;
    if (from == TYPE_TIMESTAMPTZ || to == TYPE_TIMESTAMPTZ || (from == TYPE_TIME && to == TYPE_TIMETZ))
        return from == to;
    return !(is_string(to) && (from == TYPE_FLOAT4 || from == TYPE_FLOAT8 || from == TYPE_BYTEA || from == TYPE_INTERVAL || from == TYPE_DATE || from == TYPE_TIMESTAMP));
}

static Operand
map_cast(Compiler *c, Operand o, PhysType to, CastOp op, TypeId type)
{
    Operand r = {.phys = to, .steady = o.steady, .reg = expr_new_reg(c, to, 0)};
    Ins *i = expr_emit(c, INS_MAP, r.reg);
    i->map = c->kern->cast[op];
    i->args[0] = o.reg;
    i->arg_count = 1;
    i->type = type;
    return r;
}

/* The one-loop casts. */
static bool
find_map(PhysType from, PhysType to, CastOp *ret)
{
    static const struct { PhysType from, to; CastOp op; } PAIRS[] = {
        {PHYS_I16, PHYS_I32, CAST_I16_I32}, {PHYS_I16, PHYS_I64, CAST_I16_I64}, {PHYS_I32, PHYS_I64, CAST_I32_I64},
        {PHYS_I32, PHYS_I16, CAST_I32_I16}, {PHYS_I64, PHYS_I16, CAST_I64_I16}, {PHYS_I64, PHYS_I32, CAST_I64_I32},
        {PHYS_I16, PHYS_F32, CAST_I16_F32}, {PHYS_I32, PHYS_F32, CAST_I32_F32}, {PHYS_I64, PHYS_F32, CAST_I64_F32},
        {PHYS_I16, PHYS_F64, CAST_I16_F64}, {PHYS_I32, PHYS_F64, CAST_I32_F64}, {PHYS_I64, PHYS_F64, CAST_I64_F64},
        {PHYS_F32, PHYS_F64, CAST_F32_F64}, {PHYS_F64, PHYS_F32, CAST_F64_F32}, {PHYS_F64, PHYS_I16, CAST_F64_I16},
        {PHYS_F64, PHYS_I32, CAST_F64_I32}, {PHYS_F64, PHYS_I64, CAST_F64_I64}, {PHYS_F32, PHYS_I16, CAST_F32_I16},
        {PHYS_F32, PHYS_I32, CAST_F32_I32}, {PHYS_F32, PHYS_I64, CAST_F32_I64}, {PHYS_BOOL, PHYS_I32, CAST_BOOL_I32},
        {PHYS_I32, PHYS_BOOL, CAST_I32_BOOL},
    };
    for (u32 i = 0; i < COUNT_OF(PAIRS); i++)
        if (PAIRS[i].from == from && PAIRS[i].to == to) {
            *ret = PAIRS[i].op;
            return true;
        }
    return false;
}

Operand
expr_widen(Compiler *c, Operand o, PhysType to)
{
    CastOp op;
    if (o.phys == to)
        return o;
    ensure(find_map(o.phys, to, &op));
    return map_cast(c, o, to, op, TYPE_INVALID);
}

Operand
expr_row_cast(Compiler *c, Operand o, PhysType to, u8 scale, KernRow row, const void *param)
{
    Operand r = {.phys = to, .scale = scale, .digits = o.digits, .steady = o.steady, .reg = expr_new_reg(c, to, scale)};
    RegInfo *in = expr_reg(c, o.reg), *out = expr_reg(c, r.reg);
    if (in->is_const && row != cast_value_row) {
        /* known now; a failure is left to the run */
        static const TypeFormat FORMAT = {.zone = NULL};
        bool zoned = row == cast_date_timestamptz_row || row == cast_timestamp_timestamptz_row;
        u8 null = 0;
        Error err;
        Vec from = {.phys = in->phys, .scale = in->scale, .is_const = true, .data = in->value};
        Vec ret = {.phys = to, .scale = scale, .data = out->value, .null_mask = &null};
        KernCall call = {.args = {&from}, .arg_count = 1, .count = 1, .ret = &ret, .param = param,
                         .scratch = c->arena, .format = &FORMAT,
                         .err = &err};
        if (in->is_null || (!zoned && row(&call, 0))) {
            out->is_const = true;
            out->is_null = in->is_null;
            return r;
        }
    }
    Ins *i = expr_emit(c, INS_ROWS, r.reg);
    i->row = row;
    i->args[0] = o.reg;
    i->arg_count = 1;
    i->param = param;
    return r;
}

/* value x 10^n as a product with a constant; the compiler knows that it fits. */
static Operand
raise_scale(Compiler *c, Operand o, u8 scale)
{
    u32 up = scale - o.scale;
    Operand power = {.phys = o.phys, .steady = true, .reg = expr_new_reg(c, o.phys, 0)};
    RegInfo *r = expr_reg(c, power.reg);
    r->is_const = true;
    if (o.phys == PHYS_D64)
        memcpy(r->value, &POW10_I64[up], 8);
    else
        memcpy(r->value, &POW10_I128[up], 16);
    Operand ret = o;
    ret.scale = scale;
    ret.digits = (u8)MIN(o.digits + up, o.phys == PHYS_D64 ? 18 : 38);
    ret.reg = expr_new_reg(c, o.phys, scale);
    Ins *i = expr_emit(c, INS_MAP2, ret.reg);
    i->shapes = c->kern->arith[o.phys][ARITH_MUL];
    i->args[0] = o.reg;
    i->args[1] = power.reg;
    i->arg_count = 2;
    i->type = TYPE_NUMERIC;
    return ret;
}

Operand
expr_decimal(Compiler *c, Operand o, PhysType to, u8 scale)
{
    if (o.phys == to && (to == PHYS_NUM || o.scale == scale))
        return o;
    bool fixed = expr_is_decimal(o) && to != PHYS_NUM && !expr_known(c, o) && scale >= o.scale && to >= o.phys;
    if (!fixed)
        return expr_row_cast(c, o, to, scale, cast_decimal_row, NULL);
    if (o.phys == PHYS_D64 && to == PHYS_D128) {
        u8 digits = o.digits, old_scale = o.scale;
        o = map_cast(c, o, PHYS_D128, CAST_D64_D128, TYPE_NUMERIC);
        o.digits = digits;
        o.scale = expr_reg(c, o.reg)->scale = old_scale;
    }
    return o.scale == scale ? o : raise_scale(c, o, scale);
}

/* Integers become decimals of scale 0: the same bits, or wider ones. */
static Operand
integer_to_decimal(Compiler *c, Operand o)
{
    u8 digits = o.phys == PHYS_I16 ? 5 : o.phys == PHYS_I32 ? 10 : 19;
    CastOp op = o.phys == PHYS_I16 ? CAST_I16_I64 : o.phys == PHYS_I32 ? CAST_I32_I64 : CAST_I64_D128;
    Operand r = map_cast(c, o, o.phys == PHYS_I64 ? PHYS_D128 : PHYS_D64, op, TYPE_NUMERIC);
    r.digits = digits;
    return r;
}

static CastParam *
cast_param(Compiler *c, const BExpr *e)
{
    CastParam *p = ARENA_NEW(c->arena, CastParam);
    *p = (CastParam){.from = e->args[0]->type, .to = e->type, .from_typmod = e->args[0]->typmod, .to_typmod = e->typmod,
                     .explicit_cast = e->explicit_cast};
    return p;
}

static Operand
to_numeric(Compiler *c, const BExpr *e, Operand o)
{
    TypeId from = e->args[0]->type;
    bool integer = from == TYPE_INT2 || from == TYPE_INT4 || from == TYPE_INT8;
    if (integer)
        o = integer_to_decimal(c, o);
    if (e->typmod < 0) {
        if (integer || from == TYPE_NUMERIC)
            return o;
        return expr_row_cast(c, o, PHYS_NUM, 0, cast_value_row, cast_param(c, e));
    }
    PhysType phys = phys_of(TYPE_NUMERIC, e->typmod);
    u8 scale = (u8)numeric_scale(e->typmod), precision = (u8)numeric_precision(e->typmod);
    Operand r;
    if (!integer && from != TYPE_NUMERIC)
        r = expr_row_cast(c, o, phys, scale, cast_value_row, cast_param(c, e));
    else if (expr_is_decimal(o) && scale >= o.scale && o.digits + (scale - o.scale) <= precision && phys >= o.phys)
        r = expr_decimal(c, o, phys, scale);
    else
        r = expr_row_cast(c, o, phys, scale, cast_decimal_row, cast_param(c, e));
    r.digits = precision;
    return r;
}

/* character(n) gets blanks and loses them. */
static Operand
to_string_with_blanks(Compiler *c, const BExpr *e, Operand o)
{
    bool same = e->type == TYPE_BPCHAR && (e->typmod < 0 || (e->args[0]->type == TYPE_BPCHAR && e->args[0]->typmod == e->typmod));
    return same && is_string(e->args[0]->type) ? o : expr_row_cast(c, o, PHYS_STR, 0, cast_value_row, cast_param(c, e));
}

/* Text types differ in name only, but for varchar's length, name's 63 bytes and character's blanks. */
static Operand
to_string(Compiler *c, const BExpr *e, Operand o)
{
    TypeId from = e->args[0]->type;
    if (from == TYPE_BPCHAR || e->type == TYPE_BPCHAR)
        return to_string_with_blanks(c, e, o);
    if (is_string(from) && e->type != TYPE_NAME) {
        if (e->type != TYPE_VARCHAR || e->typmod < 0 || (from == TYPE_VARCHAR && e->args[0]->typmod >= 0 &&
                                                         e->args[0]->typmod <= e->typmod))
            return o;
        return expr_row_cast(c, o, PHYS_STR, 0, cast_varchar_row, cast_param(c, e));
    }
    return from == TYPE_NAME ? o : expr_row_cast(c, o, PHYS_STR, 0, cast_value_row, cast_param(c, e));
}

/* The cast of an array changes nothing in its elements. */
static bool
same_array(TypeId from, TypeId to, i32 typmod)
{
    TypeId f = type_element(from), t = type_element(to);
    bool texts = (f == TYPE_TEXT || f == TYPE_VARCHAR || f == TYPE_NAME) && (t == TYPE_TEXT || t == TYPE_VARCHAR);
    return typmod < 0 && (f == t || texts);
}

Operand
expr_cast(Compiler *c, const BExpr *e)
{
    Operand o = expr_node(c, e->args[0]);
    TypeId from = e->args[0]->type, to = e->type;
    CastOp op;
    if (expr_known_null(c, o))
        return expr_null(c, e->type, e->typmod);
    if (to == TYPE_NUMERIC)
        return to_numeric(c, e, o);
    if (is_string(to))
        return to_string(c, e, o);
    if (type_is_array(from) && type_is_array(to) && !same_array(from, to, e->typmod))
        return expr_row_cast(c, o, PHYS_STR, 0, cast_value_row, cast_param(c, e));
    bool rounds = type_has_precision(to) ? e->typmod >= 0 && e->typmod < 6 : to == TYPE_INTERVAL && e->typmod >= 0;
    if ((from == to && !rounds) || (type_is_u32(from) && type_is_u32(to)))
        return o;
    if (from == TYPE_NUMERIC && to == TYPE_FLOAT8)
        return expr_row_cast(c, o, PHYS_F64, 0, cast_decimal_f64_row, NULL);
    bool plain = !is_string(from) && !is_time(from) && !is_time(to) && !type_is_u32(from) && !type_is_u32(to) && from != TYPE_CHAR && to != TYPE_CHAR &&
        from != TYPE_NUMERIC;
    if (plain && find_map(o.phys, phys_of(to, e->typmod), &op))
        return map_cast(c, o, phys_of(to, e->typmod), op, to);
    return expr_row_cast(c, o, phys_of(to, e->typmod), 0, cast_value_row, cast_param(c, e));
}
