/*
 * map.c
 *    The choice of instruction set, and the loops over whole vectors that do not depend on it.
 */
#include "backend/kern/map.h"

#include "common/type/numeric.h"

bool
kern_runs(const KernTable *t)
{
#if defined __x86_64__
    if (t == &KERN_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    if (t == &KERN_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
                __builtin_cpu_supports("bmi2");
#endif
    return t == &KERN_BASE;
}

const KernTable *
kern_table(void)
{
#if defined __x86_64__
    if (kern_runs(&KERN_AVX512))
        return &KERN_AVX512;
    if (kern_runs(&KERN_AVX2))
        return &KERN_AVX2;
#endif
    return &KERN_BASE;
}

/* One copy a width, so that each is a plain move. */
typedef struct Bytes16 { u64 a, b; } Bytes16;
typedef struct Bytes24 { u64 a, b, c; } Bytes24;

#define W u8
#include "backend/kern/gather.inc"
#define W u16
#include "backend/kern/gather.inc"
#define W u32
#include "backend/kern/gather.inc"
#define W u64
#include "backend/kern/gather.inc"
#define W Bytes16
#include "backend/kern/gather.inc"
#define W Bytes24
#include "backend/kern/gather.inc"

void
kern_gather(const void *from, const u16 *at, u32 count, u32 width, void *ret)
{
    switch (width) {
    case 1: gather_u8(from, at, count, ret); return;
    case 2: gather_u16(from, at, count, ret); return;
    case 4: gather_u32(from, at, count, ret); return;
    case 8: gather_u64(from, at, count, ret); return;
    case 16: gather_Bytes16(from, at, count, ret); return;
    default: ensure(width == 24); gather_Bytes24(from, at, count, ret); return;
    }
}

void
kern_scatter(const void *from, const u16 *at, u32 count, u32 width, void *to)
{
    switch (width) {
    case 1: scatter_u8(from, at, count, to); return;
    case 2: scatter_u16(from, at, count, to); return;
    case 4: scatter_u32(from, at, count, to); return;
    case 8: scatter_u64(from, at, count, to); return;
    case 16: scatter_Bytes16(from, at, count, to); return;
    default: ensure(width == 24); scatter_Bytes24(from, at, count, to); return;
    }
}

void
kern_fill(const void *one, u32 count, u32 width, void *ret)
{
    switch (width) {
    case 1: memset(ret, *(const u8 *)one, count); return;
    case 2: fill_u16(one, count, ret); return;
    case 4: fill_u32(one, count, ret); return;
    case 8: fill_u64(one, count, ret); return;
    case 16: fill_Bytes16(one, count, ret); return;
    default: ensure(width == 24); fill_Bytes24(one, count, ret); return;
    }
}

/* ---- order of single values ---- */
#define ORDER(x, y) (((x) > (y)) - ((x) < (y)))

static int order_u8(const void *a, const void *b) { return ORDER(*(const u8 *)a, *(const u8 *)b); }
static int order_i16(const void *a, const void *b) { return ORDER(*(const i16 *)a, *(const i16 *)b); }
static int order_i32(const void *a, const void *b) { return ORDER(*(const i32 *)a, *(const i32 *)b); }
static int order_i64(const void *a, const void *b) { return ORDER(*(const i64 *)a, *(const i64 *)b); }
static int order_num(const void *a, const void *b) { return num_cmp(a, b); }
static int order_pair(const void *a, const void *b) { return pair_cmp(a, b); }
static int order_interval(const void *a, const void *b) { return interval_cmp(a, b); }
static int order_str(const void *a, const void *b) { return str_cmp(*(const Str *)a, *(const Str *)b); }

static int
order_f64(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (x != x || y != y)
        return (x != x) - (y != y);
    return ORDER(x, y);
}

static int
order_f32(const void *a, const void *b)
{
    double x = *(const float *)a, y = *(const float *)b;
    return order_f64(&x, &y);
}

/* NaN is the smallest integer; one less wraps it to the top. */
static int
order_d64(const void *a, const void *b)
{
    i64 x = (i64)(*(const u64 *)a - 1), y = (i64)(*(const u64 *)b - 1);
    return ORDER(x, y);
}

static int
order_d128(const void *a, const void *b)
{
    u128 p, q;
    memcpy(&p, a, 16);
    memcpy(&q, b, 16);
    i128 x = (i128)(p - 1), y = (i128)(q - 1);
    return ORDER(x, y);
}

KernOrder
kern_order(PhysType phys)
{
    static const KernOrder ORDERS[PHYS_COUNT] = {
        [PHYS_BOOL] = order_u8, [PHYS_I16] = order_i16, [PHYS_I32] = order_i32, [PHYS_I64] = order_i64,
            [PHYS_F32] = order_f32,
        [PHYS_F64] = order_f64, [PHYS_D64] = order_d64, [PHYS_D128] = order_d128, [PHYS_NUM] = order_num,
            [PHYS_STR] = order_str,
        [PHYS_PAIR] = order_pair, [PHYS_INTERVAL] = order_interval,
    };
    ensure(phys < PHYS_COUNT && ORDERS[phys]);
    return ORDERS[phys];
}
