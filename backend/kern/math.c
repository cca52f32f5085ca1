/*
 * math.c
 *    Functions of integers and double precision, with PostgreSQL's limits and messages.
 */
#include "backend/kern/call.h"

#include <float.h>
#include <math.h>

static const char OVERFLOWS[] = "value out of range: overflow", UNDERFLOWS[] = "value out of range: underflow";

static bool
input_out_of_range(KernCall *c)
{
    return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "input is out of range");
}

/* A result that is infinite or zero although the function's value is neither. */
static bool
set_f64(KernCall *c, u32 i, double v, bool may_be_inf, bool may_be_zero)
{
    if (isinf(v) && !may_be_inf)
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, OVERFLOWS);
    if (v == 0 && !may_be_zero)
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, UNDERFLOWS);
    RET(c, double, i) = v;
    return true;
}

/* Two numbers as one value; its bits mean nothing but to agg_regress.c. */
static bool
f64_pair(KernCall *c, u32 i)
{
    double y = ARG(c, 0, double, i), x = ARG(c, 1, double, i);
    Pair p;
    memcpy(&p.hi, &y, 8);
    memcpy(&p.lo, &x, 8);
    RET(c, Pair, i) = p;
    return true;
}

static bool
f64_sign(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    RET(c, double, i) = x > 0 ? 1 : x < 0 ? -1 : 0;
    return true;
}

static bool
f64_ceil(KernCall *c, u32 i)
{
    RET(c, double, i) = ceil(ARG(c, 0, double, i));
    return true;
}

static bool
f64_floor(KernCall *c, u32 i)
{
    RET(c, double, i) = floor(ARG(c, 0, double, i));
    return true;
}

static bool
f64_round(KernCall *c, u32 i)
{
    RET(c, double, i) = rint(ARG(c, 0, double, i));
    return true;
}

static bool
f64_trunc(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    RET(c, double, i) = x >= 0 ? floor(x) : -floor(-x);
    return true;
}

static bool
f64_sqrt(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    if (x < 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER, "cannot take square root of a negative number");
    return set_f64(c, i, sqrt(x), isinf(x), x == 0);
}

static bool
f64_cbrt(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return set_f64(c, i, cbrt(x), isinf(x), x == 0);
}

static bool
f64_exp(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return set_f64(c, i, exp(x), isinf(x), isinf(x));
}

static bool
log_allowed(KernCall *c, double x)
{
    if (x == 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero");
    if (x < 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number");
    return true;
}

static bool
f64_ln(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return log_allowed(c, x) && set_f64(c, i, log(x), isinf(x), x == 1);
}

static bool
f64_log10(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return log_allowed(c, x) && set_f64(c, i, log10(x), isinf(x), x == 1);
}

/* The cases that pow() of C libraries treat differently are settled first, by the rules of POSIX. */
static bool
f64_power(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i), y = ARG(c, 1, double, i);
    if (isnan(x) || isnan(y)) {
        RET(c, double, i) = (x == 1 || y == 0) ? 1 : NAN;
        return true;
    }
    if (x == 0 && y < 0)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER, "zero raised to a negative power is undefined");
    if (x < 0 && floor(y) != y)
        return error_set(c->err, ERR_INVALID_ARGUMENT_FOR_POWER,
                         "a negative number raised to a non-integer power yields a complex result");
    double v = pow(x, y);
    if (isinf(x) || isinf(y)) {
        RET(c, double, i) = v;
        return true;
    }
    return set_f64(c, i, v, false, x == 0);
}

static bool
f64_degrees(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return set_f64(c, i, x / 0.0174532925199432957692, isinf(x), x == 0);
}

static bool
f64_radians(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return set_f64(c, i, x * 0.0174532925199432957692, isinf(x), x == 0);
}

static bool
f64_sin(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return isinf(x) ? input_out_of_range(c) : set_f64(c, i, sin(x), true, true);
}

static bool
f64_cos(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return isinf(x) ? input_out_of_range(c) : set_f64(c, i, cos(x), true, true);
}

static bool
f64_tan(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return isinf(x) ? input_out_of_range(c) : set_f64(c, i, tan(x), true, true);
}

static bool
f64_asin(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return x < -1 || x > 1 ? input_out_of_range(c) : set_f64(c, i, asin(x), true, true);
}

static bool
f64_acos(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return x < -1 || x > 1 ? input_out_of_range(c) : set_f64(c, i, acos(x), true, true);
}

static bool
f64_atan(KernCall *c, u32 i)
{
    return set_f64(c, i, atan(ARG(c, 0, double, i)), true, true);
}

static bool
f64_atan2(KernCall *c, u32 i)
{
    return set_f64(c, i, atan2(ARG(c, 0, double, i), ARG(c, 1, double, i)), true, true);
}

/* These end in infinities by themselves. */
static bool
f64_sinh(KernCall *c, u32 i)
{
    return set_f64(c, i, sinh(ARG(c, 0, double, i)), true, true);
}

static bool
f64_cosh(KernCall *c, u32 i)
{
    return set_f64(c, i, cosh(ARG(c, 0, double, i)), true, false);
}

static bool
f64_tanh(KernCall *c, u32 i)
{
    return set_f64(c, i, tanh(ARG(c, 0, double, i)), true, true);
}

static bool
f64_asinh(KernCall *c, u32 i)
{
    return set_f64(c, i, asinh(ARG(c, 0, double, i)), true, true);
}

static bool
f64_acosh(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return x < 1 ? input_out_of_range(c) : set_f64(c, i, acosh(x), true, true);
}

static bool
f64_atanh(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return x < -1 || x > 1 ? input_out_of_range(c) : set_f64(c, i, atanh(x), true, true);
}

static bool
f64_cot(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i);
    return isinf(x) ? input_out_of_range(c) : set_f64(c, i, 1 / tan(x), true, true);
}

#define T i16
#define T_NAME i16
#define SHIFT_BITS 31
#include "backend/kern/bits.inc"
#define T i32
#define T_NAME i32
#define SHIFT_BITS 31
#include "backend/kern/bits.inc"
#define T i64
#define T_NAME i64
#define SHIFT_BITS 63
#include "backend/kern/bits.inc"

/* Greatest common divisor of magnitudes; every result fits u64. */
static u64
gcd_of(u64 a, u64 b)
{
    while (b) {
        u64 r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static u64
magnitude(i64 v)
{
    return v < 0 ? 0 - (u64)v : (u64)v;
}

static bool
i32_gcd(KernCall *c, u32 i)
{
    u64 g = gcd_of(magnitude(ARG(c, 0, i32, i)), magnitude(ARG(c, 1, i32, i)));
    RET(c, i32, i) = (i32)g;
    return g <= INT32_MAX || error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
}

static bool
i64_gcd(KernCall *c, u32 i)
{
    u64 g = gcd_of(magnitude(ARG(c, 0, i64, i)), magnitude(ARG(c, 1, i64, i)));
    RET(c, i64, i) = (i64)g;
    return g <= INT64_MAX || error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "bigint out of range");
}

static bool
i32_lcm(KernCall *c, u32 i)
{
    u64 a = magnitude(ARG(c, 0, i32, i)), b = magnitude(ARG(c, 1, i32, i));
    u64 m = a && b ? a / gcd_of(a, b) * b : 0;
    RET(c, i32, i) = (i32)m;
    return m <= INT32_MAX || error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
}

static bool
i64_lcm(KernCall *c, u32 i)
{
    u64 a = magnitude(ARG(c, 0, i64, i)), b = magnitude(ARG(c, 1, i64, i)), m = 0;
    bool over = a && b && __builtin_mul_overflow(a / gcd_of(a, b), b, &m);
    RET(c, i64, i) = (i64)m;
    return (!over && m <= INT64_MAX) || error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "bigint out of range");
}

/* The integer's width picks one of three. */
#define BY_WIDTH(name) \
    (t == TYPE_INT2 ? i16_##name : t == TYPE_INT4 ? i32_##name : t == TYPE_INT8 ? i64_##name : NULL)

KernRow
math_row(FuncOp op, TypeId t)
{
    static const KernRow F64_ROWS[] = {
        [FOP_SIGN] = f64_sign, [FOP_CEIL] = f64_ceil, [FOP_FLOOR] = f64_floor, [FOP_ROUND] = f64_round,
            [FOP_TRUNC] = f64_trunc,
        [FOP_SQRT] = f64_sqrt, [FOP_CBRT] = f64_cbrt, [FOP_EXP] = f64_exp, [FOP_LN] = f64_ln, [FOP_LOG10] = f64_log10,
        [FOP_POWER] = f64_power, [FOP_DEGREES] = f64_degrees, [FOP_RADIANS] = f64_radians, [FOP_SIN] = f64_sin,
            [FOP_COS] = f64_cos,
        [FOP_TAN] = f64_tan, [FOP_ASIN] = f64_asin, [FOP_ACOS] = f64_acos, [FOP_ATAN] = f64_atan,
            [FOP_ATAN2] = f64_atan2, [FOP_PAIR] = f64_pair,
        [FOP_SINH] = f64_sinh, [FOP_COSH] = f64_cosh, [FOP_TANH] = f64_tanh, [FOP_ASINH] = f64_asinh, [FOP_ACOSH] = f64_acosh,
        [FOP_ATANH] = f64_atanh, [FOP_COT] = f64_cot,
    };
    if (t == TYPE_FLOAT8)
        return op < COUNT_OF(F64_ROWS) ? F64_ROWS[op] : NULL;
    switch ((int)op) {
    case FOP_BIT_AND: return BY_WIDTH(bit_and);
    case FOP_BIT_OR: return BY_WIDTH(bit_or);
    case FOP_BIT_XOR: return BY_WIDTH(bit_xor);
    case FOP_BIT_NOT: return BY_WIDTH(bit_not);
    case FOP_SHIFT_LEFT: return BY_WIDTH(shift_left);
    case FOP_SHIFT_RIGHT: return BY_WIDTH(shift_right);
    case FOP_GCD: return t == TYPE_INT4 ? i32_gcd : i64_gcd;
    case FOP_LCM: return t == TYPE_INT4 ? i32_lcm : i64_lcm;
    default: return NULL;
    }
}
