/*
 * math_degrees.c
 *    Trigonometry in degrees, exact where school says so: sind(30) is 0.5.
 *
 * Every result is scaled by what libm gives at 30, 45 or 60 degrees, as PostgreSQL does it, so the last bits are the same.
 */
#include "backend/kern/call.h"

#include <math.h>

#define RADIANS 0.0174532925199432957692

/* From 0 to 30 and from 0 to 60 degrees. */
static double
sin_small(double x)
{
    return sin(x * RADIANS) / sin(30.0 * RADIANS) / 2.0;
}

static double
cos_small(double x)
{
    return 1.0 - (1.0 - cos(x * RADIANS)) / (1.0 - cos(60.0 * RADIANS)) / 2.0;
}

/* From 0 to 90. */
static double
sin_quarter(double x)
{
    return x <= 30.0 ? sin_small(x) : cos_small(90.0 - x);
}

static double
cos_quarter(double x)
{
    return x <= 60.0 ? cos_small(x) : sin_small(90.0 - x);
}

/* Into 0 to 90; *odd and *even change sign where odd and even functions do. */
static double
fold(double x, double *odd, double *even)
{
    *odd = *even = 1;
    x = fmod(x, 360.0);
    if (x < 0.0) {
        x = -x;
        *odd = -*odd;
    }
    if (x > 180.0) {
        x = 360.0 - x;
        *odd = -*odd;
    }
    if (x > 90.0) {
        x = 180.0 - x;
        *even = -1;
    }
    return x;
}

/* Where an inverse is not one of the small ones, it is made of them. */
static double
asin_quarter(double x)
{
    return x <= 0.5 ? asin(x) / asin(0.5) * 30.0 : 90.0 - acos(x) / acos(0.5) * 60.0;
}

static double
acos_quarter(double x)
{
    return x <= 0.5 ? 90.0 - asin(x) / asin(0.5) * 30.0 : acos(x) / acos(0.5) * 60.0;
}

static double
tangent(double x, bool inverse)
{
    double odd, even, a = fold(x, &odd, &even);
    double t = inverse ? cos_quarter(a) / sin_quarter(a) : sin_quarter(a) / cos_quarter(a);
    double one = inverse ? cos_quarter(45.0) / sin_quarter(45.0) : sin_quarter(45.0) / cos_quarter(45.0);
    double result = odd * even * (t / one);
    return result == 0 ? 0 : result;
}

static bool
degrees_row_of(KernCall *c, u32 i)
{
    double x = ARG(c, 0, double, i), odd, even, r = NAN;
    FuncOp op = c->def->op;
    bool inverse = op == FOP_ASIND || op == FOP_ACOSD, unbounded = op == FOP_ATAND || op == FOP_ATAN2D;
    if (isnan(x) || (c->arg_count > 1 && isnan(ARG(c, 1, double, i)))) {
        RET(c, double, i) = NAN;
        return true;
    }
    if (inverse ? x < -1.0 || x > 1.0 : !unbounded && isinf(x))
        return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "input is out of range");
    switch ((int)op) {
    case FOP_SIND: {
        double folded = fold(x, &odd, &even);
        r = odd * sin_quarter(folded);
        break;
    }
    case FOP_COSD: {
        double folded = fold(x, &odd, &even);
        r = even * cos_quarter(folded);
        break;
    }
    case FOP_TAND: r = tangent(x, false); break;
    case FOP_COTD: r = tangent(x, true); break;
    case FOP_ASIND: r = x >= 0.0 ? asin_quarter(x) : -asin_quarter(-x); break;
    case FOP_ACOSD: r = x >= 0.0 ? acos_quarter(x) : 90.0 + asin_quarter(-x); break;
    case FOP_ATAND: r = atan(x) / atan(1.0) * 45.0; break;
    case FOP_ATAN2D: r = atan2(x, ARG(c, 1, double, i)) / atan(1.0) * 45.0; break;
    }
    RET(c, double, i) = r;
    return true;
}

KernRow
degrees_row(FuncOp op)
{
    return op >= FOP_SIND && op <= FOP_ATAN2D ? degrees_row_of : NULL;
}
