/*
 * decimal.c
 *    numeric one value at a time (through Num), and casts between the decimal forms and everything else.
 *
 * The vector loops of isa.inc do + - * and comparisons on forms of a fixed scale; division, powers, rounding and
 * numerics without a fixed scale come here.
 */
#include "backend/kern/call.h"

Num
kern_num(const Vec *v, u32 i)
{
    u32 at = v->is_const ? 0 : i;
    switch ((int)v->phys) {
    case PHYS_D64: {
        i64 x = ((const i64 *)v->data)[at];
        return x == D64_NAN ? (Num){.kind = NUM_NAN} : num_make(x, v->scale);
    }
    case PHYS_D128: {
        i128 x = ((const i128 *)v->data)[at];
        return x == D128_NAN ? (Num){.kind = NUM_NAN} : num_make(x, v->scale);
    }
    default:
        assert(v->phys == PHYS_NUM);
        return ((const Num *)v->data)[at];
    }
}

bool
kern_num_status(KernCall *c, NumStatus status)
{
    if (status == NUM_OK)
        return true;
    if (status & NUM_DIV_ZERO)
        return error_set(c->err, ERR_DIVISION_BY_ZERO, "division by zero");
    return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
}

#define BINARY(name, fn) \
    static bool name(KernCall *c, u32 i) \
    { \
        Num a = kern_num(c->args[0], i), b = kern_num(c->args[1], i); \
        return kern_num_status(c, fn(&a, &b, &RET(c, Num, i))); \
    }
#define UNARY(name, fn) \
    static bool name(KernCall *c, u32 i) \
    { \
        Num a = kern_num(c->args[0], i); \
        return kern_num_status(c, fn(&a, &RET(c, Num, i))); \
    }

BINARY(dec_add, num_add)
BINARY(dec_sub, num_sub)
BINARY(dec_mul, num_mul)
BINARY(dec_div, num_div)
BINARY(dec_mod, num_mod)
UNARY(dec_ceil, num_ceil)
UNARY(dec_floor, num_floor)
UNARY(dec_exp, num_exp)

static bool
dec_neg(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    RET(c, Num, i) = num_neg(&a);
    return true;
}

static bool
dec_abs(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    RET(c, Num, i) = num_abs(&a);
    return true;
}

static const Num ZERO = {.kind = NUM_FINITE};

static bool
dec_sign(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    RET(c, Num, i) = a.kind == NUM_NAN ? a : num_from_i64(num_cmp(&a, &ZERO));
    return true;
}

/* The number of decimals asked for, within what round() and trunc() can show. */
static i32
wanted_scale(KernCall *c, u32 i)
{
    if (c->arg_count < 2)
        return 0;
    i32 s = ARG(c, 1, i32, i);
    return s > 2000 ? 2000 : s < -2000 ? -2000 : s;
}

static bool
dec_round(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    return kern_num_status(c, num_round(&a, wanted_scale(c, i), &RET(c, Num, i)));
}

static bool
dec_trunc(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    return kern_num_status(c, num_trunc(&a, wanted_scale(c, i), &RET(c, Num, i)));
}

/* The fewest decimals that show the value. */
static u32
least_scale(const Num *n)
{
    i128 v = num_int(n);
    u32 scale = n->scale;
    while (scale > 0 && v % 10 == 0) {
        v /= 10;
        scale--;
    }
    return scale;
}

/* scale(), min_scale(): of NaN and the infinities NULL. */
static bool
dec_scale(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    c->ret->null_mask[i] = a.kind != NUM_FINITE;
    RET(c, i32, i) = (i32)(c->def->op == FOP_SCALE ? a.scale : least_scale(&a));
    return true;
}

static bool
dec_trim_scale(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    return kern_num_status(c, num_trunc(&a, a.kind == NUM_FINITE ? (i32)least_scale(&a) : 0, &RET(c, Num, i)));
}

static bool
dec_factorial(KernCall *c, u32 i)
{
    i64 n = ARG(c, 0, i64, i);
    i128 v = 1;
    if (n < 0)
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "factorial of a negative number is undefined");
    for (i64 k = 2; k <= n; k++)
        if (__builtin_mul_overflow(v, (i128)k, &v) || v >= POW10_I128[NUM_MAX_DIGITS])
            return kern_num_status(c, NUM_OVERFLOW);
    RET(c, Num, i) = num_make(v, 0);
    return true;
}

/* div(): the quotient cut to an integer. */
static bool
dec_div_trunc(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i), b = kern_num(c->args[1], i), rest, whole;
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE)
        return kern_num_status(c, num_div(&a, &b, &RET(c, Num, i)));
    NumStatus s = num_mod(&a, &b, &rest);
    if (s == NUM_OK)
        s = num_sub(&a, &rest, &whole);
    if (s == NUM_OK)
        s = num_div(&whole, &b, &whole);
    return kern_num_status(c, s == NUM_OK ? num_trunc(&whole, 0, &RET(c, Num, i)) : s);
}

static bool
dec_sqrt(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    if (a.kind != NUM_NAN && num_cmp(&a, &ZERO) < 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER, "cannot take square root of a negative number");
    return kern_num_status(c, num_sqrt(&a, &RET(c, Num, i)));
}

static bool
has_logarithm(KernCall *c, const Num *a)
{
    int sign = a->kind == NUM_NAN ? 1 : num_cmp(a, &ZERO);
    if (sign == 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero");
    return sign > 0 || error_set(c->err, ERR_INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number");
}

static bool
dec_ln(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i);
    return has_logarithm(c, &a) && kern_num_status(c, num_ln(&a, &RET(c, Num, i)));
}

/* log(x) is log(10, x). */
static bool
dec_log(KernCall *c, u32 i)
{
    Num base = num_make(10, 0), a = kern_num(c->args[c->arg_count - 1], i);
    if (c->arg_count == 2)
        base = kern_num(c->args[0], i);
    if (base.kind == NUM_NAN || a.kind == NUM_NAN) {
        RET(c, Num, i) = (Num){.kind = NUM_NAN};
        return true;
    }
    return has_logarithm(c, &base) && has_logarithm(c, &a) && kern_num_status(c, num_log(&base, &a, &RET(c, Num, i)));
}

/* Both at the longer scale, so the remainders are whole numbers of its units. */
static NumStatus
common_divisor(const Num *a, const Num *b, Num *ret)
{
    Num x = num_abs(a), y = num_abs(b), rest;
    NumStatus s = NUM_OK;
    while (s == NUM_OK && num_cmp(&y, &ZERO) != 0) {
        s = num_mod(&x, &y, &rest);
        x = y;
        y = rest;
    }
    return s == NUM_OK ? num_round(&x, MAX(a->scale, b->scale), ret) : s;
}

static bool
dec_gcd(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i), b = kern_num(c->args[1], i);
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) {
        RET(c, Num, i) = (Num){.kind = NUM_NAN};
        return true;
    }
    return kern_num_status(c, common_divisor(&a, &b, &RET(c, Num, i)));
}

static bool
dec_lcm(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i), b = kern_num(c->args[1], i), divisor, times, product;
    if (a.kind != NUM_FINITE || b.kind != NUM_FINITE) {
        RET(c, Num, i) = (Num){.kind = NUM_NAN};
        return true;
    }
    i32 scale = MAX(a.scale, b.scale);
    if (num_cmp(&a, &ZERO) == 0 || num_cmp(&b, &ZERO) == 0) {
        RET(c, Num, i) = num_make(0, (u32)scale);
        return true;
    }
    NumStatus s = common_divisor(&a, &b, &divisor);
    if (s == NUM_OK)
        s = num_div(&a, &divisor, &times);
    if (s == NUM_OK)
        s = num_trunc(&times, 0, &times);
    if (s == NUM_OK)
        s = num_mul(&times, &b, &product);
    if (s == NUM_OK)
        product = num_abs(&product);
    return kern_num_status(c, s == NUM_OK ? num_round(&product, scale, &RET(c, Num, i)) : s);
}

static bool
dec_power(KernCall *c, u32 i)
{
    Num a = kern_num(c->args[0], i), b = kern_num(c->args[1], i), whole;
    if (a.kind != NUM_NAN && b.kind != NUM_NAN) {
        int sign = num_cmp(&a, &ZERO);
        if (sign == 0 && num_cmp(&b, &ZERO) < 0)
            return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER, "zero raised to a negative power is undefined");
        if (sign < 0 && b.kind == NUM_FINITE && num_trunc(&b, 0, &whole) == NUM_OK && num_cmp(&whole, &b) != 0)
            return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER,
                             "a negative number raised to a non-integer power yields a complex result");
    }
    return kern_num_status(c, num_power(&a, &b, &RET(c, Num, i)));
}

KernRow
decimal_row(FuncOp op)
{
    static const KernRow DECIMAL_ROWS[] = {
        [FOP_ADD] = dec_add, [FOP_SUB] = dec_sub, [FOP_MUL] = dec_mul, [FOP_DIV] = dec_div, [FOP_MOD] = dec_mod,
            [FOP_NEG] = dec_neg,
        [FOP_ABS] = dec_abs, [FOP_SIGN] = dec_sign, [FOP_CEIL] = dec_ceil, [FOP_FLOOR] = dec_floor,
            [FOP_ROUND] = dec_round,
        [FOP_TRUNC] = dec_trunc, [FOP_DIV_TRUNC] = dec_div_trunc, [FOP_SQRT] = dec_sqrt, [FOP_SCALE] = dec_scale, [FOP_MIN_SCALE] = dec_scale,
        [FOP_TRIM_SCALE] = dec_trim_scale, [FOP_FACTORIAL] = dec_factorial, [FOP_EXP] = dec_exp,
            [FOP_LN] = dec_ln,
        [FOP_POWER] = dec_power, [FOP_LOG10] = dec_log, [FOP_GCD] = dec_gcd, [FOP_LCM] = dec_lcm,
    };
    return op < COUNT_OF(DECIMAL_ROWS) ? DECIMAL_ROWS[op] : NULL;
}

/* ---- casts ---- */
static bool
field_overflow(KernCall *c, const Num *n, i32 typmod)
{
    u32 precision = numeric_precision(typmod), scale = numeric_scale(typmod);
    error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "numeric field overflow");
    if (n->kind != NUM_FINITE)
        error_detail(c->err, "A field with precision %u, scale %u cannot hold an infinite value.", precision, scale);
    else if (precision > scale)
        error_detail(c->err, "A field with precision %u, scale %u must round to an absolute value less than 10^%u.",
                     precision, scale,
                     precision - scale);
    else
        error_detail(c->err, "A field with precision %u, scale %u must round to an absolute value less than 1.",
                     precision, scale);
    return false;
}

/* A finite Num as an integer of the given scale; it must have no more decimals than that. */
static bool
scaled(const Num *n, u32 scale, i128 *ret)
{
    if (n->scale > scale)
        return false;
    i128 v = num_int(n), limit = POW10_I128[38 - (scale - n->scale)];
    if (v >= limit || v <= -limit)
        return false;
    *ret = v * POW10_I128[scale - n->scale];
    return true;
}

static bool
store_decimal(KernCall *c, u32 i, const Num *n)
{
    Vec *ret = c->ret;
    i128 v = 0;
    if (ret->phys == PHYS_NUM)
        RET(c, Num, i) = *n;
    else if (n->kind == NUM_NAN) {
        if (ret->phys == PHYS_D64)
            RET(c, i64, i) = D64_NAN;
        else
            RET(c, i128, i) = D128_NAN;
    } else if (n->kind != NUM_FINITE || !scaled(n, ret->scale, &v) ||
               (ret->phys == PHYS_D64 && (v >= POW10_I128[18] || v <= -POW10_I128[18])))
        return kern_num_status(c, NUM_OVERFLOW);
    else if (ret->phys == PHYS_D64)
        RET(c, i64, i) = (i64)v;
    else
        RET(c, i128, i) = v;
    return true;
}

bool
cast_decimal_row(KernCall *c, u32 i)
{
    const CastParam *p = c->param;
    Num n = kern_num(c->args[0], i), fitted = n;
    if (p && p->to_typmod >= 0 && num_typmod(&n, p->to_typmod, &fitted) != NUM_OK)
        return field_overflow(c, &n, p->to_typmod);
    return store_decimal(c, i, &fitted);
}

/* Both the scaled integer and the power of ten are exact doubles below 2^53 and 10^22, so one division rounds
 * correctly. */
bool
cast_decimal_f64_row(KernCall *c, u32 i)
{
    const Vec *v = c->args[0];
    if (v->phys == PHYS_D64) {
        i64 x = VEC_AT(v, i64, i);
        if (x < (1ll << 53) && x > -(1ll << 53)) {
            RET(c, double, i) = (double)x / (double)POW10_I64[v->scale];
            return true;
        }
    }
    Num n = kern_num(v, i);
    RET(c, double, i) = num_to_f64(&n);
    return true;
}

bool
cast_value_row(KernCall *c, u32 i)
{
    const CastParam *p = c->param;
    const Vec *from = c->args[0];
    u32 width = phys_width(from->phys);
    Value v = value_from_phys(p->from, p->from_typmod, from->phys, from->scale, (const u8 *)from->data +
                              (from->is_const ? 0 : (size_t)i * width));
    Value r;
    if (!value_cast(c->scratch, c->format, &v, p->to, p->to_typmod, p->explicit_cast, &r, c->err))
        return false;
    if (r.is_null) {
        c->ret->null_mask[i] = 1;
        return true;
    }
    if (p->to == TYPE_NUMERIC)
        return store_decimal(c, i, &r.num);
    value_to_phys(&r, c->ret->phys, c->ret->scale, (u8 *)c->ret->data + (size_t)i * phys_width(c->ret->phys));
    return true;
}

/* ---- comparing a decimal column with any numeric ---- */

/* Beyond every value of the form, but below NaN. */
static void
store_extreme(KernCall *c, u32 i, bool top)
{
    if (c->ret->phys == PHYS_D64)
        RET(c, i64, i) = top ? INT64_MAX : -INT64_MAX;
    else
        RET(c, i128, i) = top ? ~D128_NAN : -~D128_NAN;
}

bool
decimal_bound_row(KernCall *c, u32 i)
{
    const BoundParam *p = c->param;
    Vec *ret = c->ret;
    Num n = kern_num(c->args[0], i), at_scale;
    if (n.kind == NUM_NAN)
        return store_decimal(c, i, &n);
    i128 limit = ret->phys == PHYS_D64 ? POW10_I128[18] : POW10_I128[38], v = 0;
    bool negative = n.kind == NUM_NEG_INF || (n.kind == NUM_FINITE && num_int(&n) < 0);
    if (n.kind != NUM_FINITE) {
        store_extreme(c, i, !negative);
        return true;
    }
    if (n.scale <= ret->scale) {
        if (!scaled(&n, ret->scale, &v) || v >= limit || v <= -limit) {
            store_extreme(c, i, !negative);
            return true;
        }
        return store_decimal(c, i, &n);
    }
    /* More decimals than the column has: round down for <= and >, up for < and >=; equal it is only when nothing was
     * lost. */
    if (num_trunc(&n, ret->scale, &at_scale) != NUM_OK)
        return kern_num_status(c, NUM_OVERFLOW);
    int lost = num_cmp(&n, &at_scale); /* > 0: the rest is positive */
    v = num_int(&at_scale);
    if (lost && (p->op == CMP_EQ || p->op == CMP_NE)) {
        store_extreme(c, i, true);
        return true;
    }
    bool up = p->op == CMP_LT || p->op == CMP_GE;
    v += lost > 0 && up ? 1 : lost < 0 && !up ? -1 : 0;
    if (v >= limit || v <= -limit) {
        store_extreme(c, i, v > 0);
        return true;
    }
    Num bound = num_make(v, ret->scale);
    return store_decimal(c, i, &bound);
}
