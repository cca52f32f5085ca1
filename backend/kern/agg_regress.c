/*
 * agg_regress.c
 *    Aggregates of pairs (y, x): correlation, covariance, regression.
 *
 * Sums of squares of distances from the mean so far (Youngs and Cramer), step by step as in PostgreSQL, so that rows in one order give the same digits; threads
 * are merged with Chan's formula, as its parallel plans do. The argument is float8pair(y, x), which is NULL when either is.
 */
#include "backend/kern/agg_rows.h"

#include <math.h>

typedef struct Regress {
    u64 n;
    double sx, sxx, sy, syy, sxy;
    u64 overflow; /* finite values led to an infinity */
} Regress;

static void
regress_add(Regress *s, const Pair *pair)
{
    double y, x, before = (double)s->n, n = before + 1, sx = s->sx, sy = s->sy;
    memcpy(&y, &pair->hi, 8);
    memcpy(&x, &pair->lo, 8);
    s->n++;
    s->sx += x;
    s->sy += y;
    if (before == 0) {
        if (!isfinite(x))
            s->sxx = s->sxy = NAN;
        if (!isfinite(y))
            s->syy = s->sxy = NAN;
        return;
    }
    double away_x = x * n - s->sx, away_y = y * n - s->sy, scale = 1.0 / (n * before);
    s->sxx += away_x * away_x * scale;
    s->syy += away_y * away_y * scale;
    s->sxy += away_x * away_y * scale;
    bool x_fine = !isinf(sx) && !isinf(x), y_fine = !isinf(sy) && !isinf(y);
    s->overflow |= ((isinf(s->sx) || isinf(s->sxx)) && x_fine) || ((isinf(s->sy) || isinf(s->syy)) && y_fine) || (isinf(s->sxy) && x_fine && y_fine);
    if (isinf(s->sxx))
        s->sxx = NAN;
    if (isinf(s->syy))
        s->syy = NAN;
    if (isinf(s->sxy))
        s->sxy = NAN;
}

#define T Pair
#define A_NAME regress
#define S Regress
#define STEP(s, x) regress_add(s, &(x))
#include "backend/kern/agg_loop.inc"
#undef T

static void
regress_merge(void *to, const void *from)
{
    Regress *a = to;
    const Regress *b = from;
    if (!b->n)
        return;
    if (!a->n) {
        *a = *b;
        return;
    }
    double na = (double)a->n, nb = (double)b->n, n = na + nb;
    double away_x = a->sx / na - b->sx / nb, away_y = a->sy / na - b->sy / nb;
    Regress r = {a->n + b->n, a->sx + b->sx, a->sxx + b->sxx + na * nb * away_x * away_x / n, a->sy + b->sy, a->syy + b->syy + na * nb * away_y * away_y / n,
                 a->sxy + b->sxy + na * nb * away_x * away_y / n, a->overflow | b->overflow};
    r.overflow |= (isinf(r.sx) && !isinf(a->sx) && !isinf(b->sx)) || (isinf(r.sxx) && !isinf(a->sxx) && !isinf(b->sxx)) ||
                  (isinf(r.sy) && !isinf(a->sy) && !isinf(b->sy)) || (isinf(r.syy) && !isinf(a->syy) && !isinf(b->syy)) ||
                  (isinf(r.sxy) && !isinf(a->sxy) && !isinf(b->sxy));
    *a = r;
}

static u32
count_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)
{
    u32 status = KERN_OK;
    for (u32 i = 0; i < count; i++) {
        ((u64 *)ret->data)[i] = STATE(Regress, i)->n;
        ret->null_mask[i] = 0;
    }
    return status;
}

/* One result: a value, and when there is none. */
#define REGRESS_FINISH(name, is_null, value)                                                                            \
    static u32 name##_finish(const u8 *states, u32 stride, u32 first, u32 count, u8 arg_scale UNUSED, Vec *ret)         \
    {                                                                                                                   \
        u32 status = KERN_OK;                                                                                           \
        for (u32 i = 0; i < count; i++) {                                                                               \
            const Regress *s = STATE(Regress, i);                                                                       \
            double n = (double)s->n;                                                                                    \
            ret->null_mask[i] = n < 1 || (is_null);                                                                     \
            ((double *)ret->data)[i] = ret->null_mask[i] ? 0 : (value);                                                 \
            status |= s->overflow ? KERN_OVERFLOW : KERN_OK;                                                            \
        }                                                                                                               \
        return status;                                                                                                  \
    }
REGRESS_FINISH(sxx, false, s->sxx)
REGRESS_FINISH(syy, false, s->syy)
REGRESS_FINISH(sxy, false, s->sxy)
REGRESS_FINISH(avgx, false, s->sx / n)
REGRESS_FINISH(avgy, false, s->sy / n)
REGRESS_FINISH(r2, s->sxx == 0, s->syy == 0 ? 1 : (s->sxy * s->sxy) / (s->sxx * s->syy))
REGRESS_FINISH(slope, s->sxx == 0, s->sxy / s->sxx)
REGRESS_FINISH(intercept, s->sxx == 0, (s->sy - s->sx * s->sxy / s->sxx) / n)
REGRESS_FINISH(covar_pop, false, s->sxy / n)
REGRESS_FINISH(covar_samp, n < 2, s->sxy / (n - 1))
REGRESS_FINISH(corr, s->sxx == 0 || s->syy == 0, s->sxy / sqrt(s->sxx * s->syy))

#define REGRESS_ROW(op, name, ret) ROW(op, PHYS_PAIR, Regress, regress, regress_merge, name##_finish, ret)
static const AggRow KERNELS[] = {
    REGRESS_ROW(REGR_COUNT, count, PHYS_I64)
    REGRESS_ROW(REGR_SXX, sxx, PHYS_F64)
    REGRESS_ROW(REGR_SYY, syy, PHYS_F64)
    REGRESS_ROW(REGR_SXY, sxy, PHYS_F64)
    REGRESS_ROW(REGR_AVGX, avgx, PHYS_F64)
    REGRESS_ROW(REGR_AVGY, avgy, PHYS_F64)
    REGRESS_ROW(REGR_R2, r2, PHYS_F64)
    REGRESS_ROW(REGR_SLOPE, slope, PHYS_F64)
    REGRESS_ROW(REGR_INTERCEPT, intercept, PHYS_F64)
    REGRESS_ROW(COVAR_POP, covar_pop, PHYS_F64)
    REGRESS_ROW(COVAR_SAMP, covar_samp, PHYS_F64)
    REGRESS_ROW(CORR, corr, PHYS_F64)
};

bool
agg_regress_kernel(AggOp op, PhysType arg, AggKernel *ret)
{
    return agg_find_row(KERNELS, COUNT_OF(KERNELS), op, arg, ret);
}
