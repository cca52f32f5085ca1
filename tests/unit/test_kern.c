/* test_kern.c: the tables of functions and aggregates, and the kernels against slow references. */
#include "backend/kern/agg.h"
#include "backend/kern/func.h"
#include "backend/kern/lanes.h"

#include "backend/kern/map.h"
#include "common/type/numeric.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static bool
same_signature(const FuncDef *a, const FuncDef *b)
{
    return a->arg_count == b->arg_count && memcmp(a->args, b->args, sizeof a->args) == 0;
}

START_TEST(every_function_row_is_found_by_its_name)
{
    u32 count;
    ck_assert_ptr_null(func_candidates(STR_LIT("no_such_function"), false, &count));
    ck_assert_uint_eq(count, 0);
    const FuncDef *plus = func_candidates(STR_LIT("+"), true, &count);
    ck_assert_uint_eq(plus->id, 1);
    const FuncDef *last = func_candidates(STR_LIT("pg_sleep"), false, &count);
    for (FuncId id = 1; id <= last->id; id++) {
        const FuncDef *f = func_def(id);
        ck_assert_uint_eq(f->id, id);
        const FuncDef *all = func_candidates(str_of(f->name), f->is_operator, &count);
        ck_assert(f >= all && f < all + count);
        for (u32 i = 0; i < count; i++)
            ck_assert_msg(all + i == f || !same_signature(all + i, f), "%s is there twice", f->name);
        if (f->is_operator)
            ck_assert(f->arg_count == 1 || f->arg_count == 2);
    }
}
END_TEST

START_TEST(every_aggregate_row_is_found_by_its_name)
{
    u32 count;
    const AggDef *star = agg_candidates(STR_LIT("count"), &count);
    ck_assert_uint_eq(star->id, 1);
    ck_assert_uint_eq(star->arg_count, 0);
    const AggDef *last = agg_candidates(STR_LIT("bool_or"), &count);
    for (AggId id = 1; id <= last->id; id++) {
        const AggDef *g = agg_def(id), *all = agg_candidates(str_of(g->name), &count);
        ck_assert_uint_eq(g->id, id);
        ck_assert(g >= all && g < all + count);
        for (u32 i = 0; i < count; i++)
            ck_assert(all + i == g || all[i].args[0] != g->args[0] || all[i].args[1] != g->args[1]);
    }
}
END_TEST

/* ---- vector kernels: every instruction set against the plain one and against slow references ---- */
static u64 seed = 88172645463325252ull;

static u64
next_u64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static const KernTable *const TABLES[] = {&KERN_BASE, &KERN_AVX2, &KERN_AVX512};

/* Random bytes, with edge values among them. */
static void
fill(PhysType phys, void *to, u32 count)
{
    static const i64 EDGES[] = {0, 1, -1, 2, 100, INT16_MIN, INT16_MAX, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX,
                                -INT64_MAX};
    static const double FLOATS[] = {0, -0.0, 1, -1.5, 1e308, -1e308, 1e-308, INFINITY, -INFINITY, NAN, 3e38, 1e-40,
                                    2147483648.0, 9.3e18};
    for (u32 i = 0; i < count; i++) {
        i64 edge = next_u64() % 3 ? (i64)next_u64() >> (next_u64() % 63) : EDGES[next_u64() % COUNT_OF(EDGES)];
        double f = next_u64() % 2 ? (double)(i64)next_u64() / 1e12 : FLOATS[next_u64() % COUNT_OF(FLOATS)];
        switch ((int)phys) {
        case PHYS_BOOL: ((u8 *)to)[i] = edge & 1; break;
        case PHYS_I16: ((i16 *)to)[i] = (i16)edge; break;
        case PHYS_I32: ((i32 *)to)[i] = (i32)edge; break;
        case PHYS_I64: ((i64 *)to)[i] = edge; break;
        case PHYS_F32: ((float *)to)[i] = (float)f; break;
        case PHYS_F64: ((double *)to)[i] = f; break;
        case PHYS_D64: ((i64 *)to)[i] = edge == INT64_MIN ? edge : edge % 1000000000; break;
        case PHYS_D128: ((i128 *)to)[i] = edge == INT64_MIN ? D128_NAN : (i128)edge * 1000000000; break;
        case PHYS_NUM: ((Num *)to)[i] = num_make(edge, (u32)(next_u64() % 6)); break;
        case PHYS_INTERVAL: ((Interval *)to)[i] = (Interval){edge % 3 * 86400000000ll, (i32)(edge % 61), (i32)(edge % 2)}; break;
        case PHYS_PAIR: ((Pair *)to)[i] = (Pair){(u64)edge % 3, (u64)edge}; break;
        default: ((Str *)to)[i] = (Str){&"abcdefgh"[next_u64() % 4], (u32)(next_u64() % 5)}; break;
        }
    }
}

static _Alignas(64) u8 a_data[VEC_SIZE * 24], b_data[VEC_SIZE * 24], want_data[VEC_SIZE * 24], got_data[VEC_SIZE * 24];

START_TEST(comparisons_agree_with_the_order_of_values)
{
    for (u32 t = PHYS_BOOL; t < PHYS_COUNT; t++)
        for (u32 k = 0; k < COUNT_OF(TABLES); k++) {
            if (!kern_runs(TABLES[k]))
                continue;
            u32 count = 1 + (u32)(next_u64() % VEC_SIZE), width = phys_width((PhysType)t);
            fill((PhysType)t, a_data, count);
            fill((PhysType)t, b_data, count);
            KernOrder order = kern_order((PhysType)t);
            for (u32 op = 0; op < CMP_COUNT; op++)
                for (u32 shape = 0; shape < 3; shape++) {
                    const MapShapes *m = &TABLES[k]->compare[t][op];
                    const u8 *a = a_data, *b = b_data;
                    (shape == 0 ? m->cc : shape == 1 ? m->cv : m->vc)(a, b, got_data, count);
                    for (u32 i = 0; i < count; i++) {
                        int c = order(a + i * width, b + (shape ? 0 : i * width));
                        c = shape == 2 ? -c : c;
                        bool want = op == CMP_EQ ? c == 0 : op == CMP_NE ? c != 0 : op == CMP_LT ? c < 0
                            : op == CMP_LE ? c <= 0 :
                            op == CMP_GT ? c > 0 : c >= 0;
                        ck_assert_msg(got_data[i] == want, "type %u op %u shape %u row %u, %s", t, op, shape, i,
                                      TABLES[k]->name);
                    }
                }
        }
}
END_TEST

/* One value of integer arithmetic, in 128 bits. */
static u32
slow_arith(ArithOp op, i128 x, i128 y, i128 min, i128 max, i128 *ret)
{
    if (op >= ARITH_DIV && y == 0)
        return KERN_DIV_ZERO;
    *ret = op == ARITH_ADD ? x + y : op == ARITH_SUB ? x - y : op == ARITH_MUL ? x * y : op == ARITH_DIV ? x / y
        : x % y;
    return *ret < min || *ret > max ? KERN_OVERFLOW : KERN_OK;
}

START_TEST(integer_arithmetic_is_checked)
{
    static const PhysType TYPES[] = {PHYS_I16, PHYS_I32, PHYS_I64};
    static const i128 MAXES[] = {INT16_MAX, INT32_MAX, INT64_MAX};
    for (u32 t = 0; t < 3; t++)
        for (u32 k = 0; k < COUNT_OF(TABLES); k++)
            for (u32 op = 0; op < ARITH_COUNT && kern_runs(TABLES[k]); op++) {
                fill(TYPES[t], a_data, VEC_SIZE);
                fill(TYPES[t], b_data, VEC_SIZE);
                u32 width = phys_width(TYPES[t]);
                for (u32 i = 0; i < VEC_SIZE; i++) {
                    i64 x = 0, y = 0, r = 0;
                    memcpy(&x, a_data + i * width, width);
                    memcpy(&y, b_data + i * width, width);
                    x = t == 0 ? (i16)x : t == 1 ? (i32)x : x;
                    y = t == 0 ? (i16)y : t == 1 ? (i32)y : y;
                    i128 want = 0;
                    u32 status = slow_arith((ArithOp)op, x, y, -MAXES[t] - 1, MAXES[t], &want);
                    u32 got = TABLES[k]->arith[TYPES[t]][op].cc(a_data + i * width, b_data + i * width, &r, 1);
                    r = t == 0 ? (i16)r : t == 1 ? (i32)r : r;
                    ck_assert_uint_eq(got, status);
                    ck_assert(status || r == (i64)want);
                }
                u32 all = TABLES[k]->arith[TYPES[t]][op].cc(a_data, b_data, got_data, VEC_SIZE);
                u32 base = KERN_BASE.arith[TYPES[t]][op].cc(a_data, b_data, want_data, VEC_SIZE);
                ck_assert_uint_eq(all, base);
                ck_assert_mem_eq(got_data, want_data, VEC_SIZE * width);
            }
}
END_TEST

START_TEST(instruction_sets_agree)
{
    static const PhysType FROM[CAST_COUNT] = {
        [CAST_I16_I32] = PHYS_I16, [CAST_I16_I64] = PHYS_I16, [CAST_I32_I64] = PHYS_I32, [CAST_I32_I16] = PHYS_I32,
        [CAST_I64_I16] = PHYS_I64, [CAST_I64_I32] = PHYS_I64, [CAST_I16_F32] = PHYS_I16, [CAST_I32_F32] = PHYS_I32,
        [CAST_I64_F32] = PHYS_I64, [CAST_I16_F64] = PHYS_I16, [CAST_I32_F64] = PHYS_I32, [CAST_I64_F64] = PHYS_I64,
        [CAST_F32_F64] = PHYS_F32, [CAST_F64_F32] = PHYS_F64, [CAST_F64_I16] = PHYS_F64, [CAST_F64_I32] = PHYS_F64,
        [CAST_F64_I64] = PHYS_F64, [CAST_F32_I16] = PHYS_F32, [CAST_F32_I32] = PHYS_F32, [CAST_F32_I64] = PHYS_F32,
        [CAST_BOOL_I32] = PHYS_BOOL, [CAST_I32_BOOL] = PHYS_I32, [CAST_I64_D128] = PHYS_I64, [CAST_D64_D128] = PHYS_D64,
    };
    static const PhysType ARITH[] = {PHYS_F32, PHYS_F64, PHYS_D64, PHYS_D128};
    for (u32 k = 1; k < COUNT_OF(TABLES); k++) {
        if (!kern_runs(TABLES[k]))
            continue;
        for (u32 c = 0; c < CAST_COUNT; c++) {
            fill(FROM[c], a_data, VEC_SIZE);
            memset(got_data, 0, sizeof got_data);
            memset(want_data, 0, sizeof want_data);
            for (u32 n = VEC_SIZE; n; n /= 3) {
                ck_assert_uint_eq(TABLES[k]->cast[c](a_data, NULL, got_data, n), KERN_BASE.cast[c](a_data, NULL,
                    want_data, n));
                ck_assert_mem_eq(got_data, want_data, sizeof got_data);
            }
        }
        for (u32 t = 0; t < COUNT_OF(ARITH); t++)
            for (u32 op = 0; op < ARITH_COUNT; op++) {
                const MapShapes *m = &TABLES[k]->arith[ARITH[t]][op], *base = &KERN_BASE.arith[ARITH[t]][op];
                if (!m->cc)
                    continue;
                fill(ARITH[t], a_data, VEC_SIZE);
                fill(ARITH[t], b_data, VEC_SIZE);
                ck_assert_uint_eq(m->cc(a_data, b_data, got_data, VEC_SIZE), base->cc(a_data, b_data, want_data,
                    VEC_SIZE));
                u32 bytes = VEC_SIZE * phys_width(ARITH[t]);
                for (u32 i = 0; i < VEC_SIZE && ARITH[t] == PHYS_F64; i++)
                    if (isnan(((double *)want_data)[i])) /* its sign is not defined */
                        ((double *)got_data)[i] = ((double *)want_data)[i];
                for (u32 i = 0; i < VEC_SIZE && ARITH[t] == PHYS_F32; i++)
                    if (isnan(((float *)want_data)[i]))
                        ((float *)got_data)[i] = ((float *)want_data)[i];
                ck_assert_mem_eq(got_data, want_data, bytes);
            }
        fill(PHYS_BOOL, a_data, 4 * VEC_SIZE);
        u8 *r[2] = {got_data, want_data};
        const KernTable *both[2] = {TABLES[k], &KERN_BASE};
        for (u32 n = 0; n < 2; n++) {
            both[n]->logic_and(a_data, a_data + VEC_SIZE, a_data + 2 * VEC_SIZE, a_data + 3 * VEC_SIZE, r[n], r[n] +
                               VEC_SIZE, VEC_SIZE);
            both[n]->logic_or(a_data, a_data + VEC_SIZE, a_data + 2 * VEC_SIZE, a_data + 3 * VEC_SIZE, r[n] +
                              2 * VEC_SIZE,
                              r[n] + 3 * VEC_SIZE, VEC_SIZE);
            both[n]->mask_true(a_data, a_data + VEC_SIZE, r[n] + 4 * VEC_SIZE, VEC_SIZE);
        }
        ck_assert_mem_eq(got_data, want_data, 5 * VEC_SIZE);
    }
}
END_TEST

START_TEST(three_valued_logic)
{
    for (u32 k = 0; k < COUNT_OF(TABLES); k++)
        for (u32 c = 0; c < 16 && kern_runs(TABLES[k]); c++) {
            u8 a = c & 1, an = c >> 1 & 1, b = c >> 2 & 1, bn = c >> 3 & 1, r, rn;
            TABLES[k]->logic_and(&a, &an, &b, &bn, &r, &rn, 1);
            bool no = (!an && !a) || (!bn && !b), null = !no && (an || bn);
            ck_assert_uint_eq(rn, null);
            ck_assert(null || r == !no);
            TABLES[k]->logic_or(&a, &an, &b, &bn, &r, &rn, 1);
            bool yes = (!an && a) || (!bn && b);
            null = !yes && (an || bn);
            ck_assert_uint_eq(rn, null);
            ck_assert(null || r == yes);
        }
}
END_TEST

START_TEST(positions_of_ones)
{
    u8 mask[VEC_SIZE];
    u16 from[VEC_SIZE], want[VEC_SIZE], got[VEC_SIZE + 1];
    for (u32 round = 0; round < 300; round++) {
        u32 count = (u32)(next_u64() % (VEC_SIZE + 1)), sparse = (u32)(next_u64() % 20), n = 0;
        for (u32 i = 0; i < count; i++) {
            mask[i] = sparse == 19 || next_u64() % (sparse + 1) == 0;
            from[i] = (u16)(i * 3);
            if (mask[i])
                want[n++] = (u16)i;
        }
        for (u32 k = 0; k < COUNT_OF(TABLES); k++) {
            if (!kern_runs(TABLES[k]))
                continue;
            got[count] = 0xabcd;
            ck_assert_uint_eq(TABLES[k]->select(mask, count, NULL, got), n);
            ck_assert(n == 0 || memcmp(got, want, n * sizeof *got) == 0);
            memcpy(got, from, count * sizeof *got);
            ck_assert_uint_eq(TABLES[k]->select(mask, count, got, got), n); /* in place */
            for (u32 i = 0; i < n; i++)
                ck_assert_uint_eq(got[i], want[i] * 3);
            ck_assert_uint_eq(got[count], 0xabcd);
            ck_assert_uint_eq(TABLES[k]->count_bytes(mask, count), n);
        }
    }
}
END_TEST

/* ---- aggregates ---- */
static const AggDef *
aggregate(const char *name, TypeId arg)
{
    u32 n;
    const AggDef *g = agg_candidates(str_of(name), &n);
    for (u32 i = 0; i < n; i++)
        if (g[i].arg_count == 1 && g[i].args[0] == arg)
            return &g[i];
    return NULL;
}

typedef struct AggCase {
    TypeId type;
    PhysType phys;
    u8 scale;
} AggCase;

static const AggCase CASES[] = {
    {TYPE_BOOL, PHYS_BOOL, 0}, {TYPE_INT2, PHYS_I16, 0}, {TYPE_INT4, PHYS_I32, 0}, {TYPE_INT8, PHYS_I64, 0},
        {TYPE_FLOAT4, PHYS_F32, 0},
    {TYPE_FLOAT8, PHYS_F64, 0}, {TYPE_NUMERIC, PHYS_D64, 2}, {TYPE_NUMERIC, PHYS_D128, 3}, {TYPE_NUMERIC, PHYS_NUM, 0},
    {TYPE_TEXT, PHYS_STR, 0}, {TYPE_OID, PHYS_I32, 0},
};

/* Rows in one state at once, rows over groups merged into one: the same result. */
START_TEST(groups_and_merges_give_what_one_state_gives)
{
    static const char *const NAMES[] = {"count", "sum", "avg", "min", "max", "bool_and", "bool_or"};
    u32 groups[VEC_SIZE];
    u8 nulls[VEC_SIZE], out_nulls[2];
    for (u32 i = 0; i < VEC_SIZE; i++)
        groups[i] = (u32)(next_u64() % 5);
    for (u32 n = 0; n < COUNT_OF(NAMES); n++)
        for (u32 k = 0; k < COUNT_OF(CASES); k++)
            for (u32 mode = 0; mode < 3; mode++) {
                const AggDef *g = aggregate(NAMES[n], CASES[k].type);
                AggKernel a;
                if (!g)
                    continue;
                ck_assert_msg(agg_kernel(g->id, CASES[k].phys, CASES[k].scale, &a), "%s of %s", NAMES[n],
                              type_name(CASES[k].type));
                ck_assert_uint_eq(a.state_bytes % 8, 0);
                fill(CASES[k].phys, a_data, VEC_SIZE);
                if (CASES[k].phys == PHYS_F64 || CASES[k].phys == PHYS_F32) /* sums of floats depend on their order */
                    for (u32 i = 0; i < VEC_SIZE; i++) {
                        if (CASES[k].phys == PHYS_F64)
                            ((double *)a_data)[i] = (double)(i % 100);
                        else
                            ((float *)a_data)[i] = (float)(i % 100);
                    }
                for (u32 i = 0; i < VEC_SIZE; i++)
                    nulls[i] = mode == 2 || next_u64() % 4 == 0;
                Vec v = {.phys = CASES[k].phys, .scale = CASES[k].scale, .data = a_data, .null_mask = mode ? nulls
                         : NULL};
                u8 *states = calloc(6, a.state_bytes);
                u32 stride = a.state_bytes;
                a.update(states, &v, VEC_SIZE);
                a.update_groups(states + stride, stride, groups, &v, VEC_SIZE);
                for (u32 s = 2; s < 6; s++)
                    a.merge(states + stride, states + s * stride);
                Vec ret = {.phys = a.ret_phys, .scale = a.ret_scale, .data = got_data, .null_mask = out_nulls};
                memset(got_data, 0, sizeof got_data);
                u32 status = a.finish(states, stride, 0, 2, CASES[k].scale, &ret);
                ck_assert_uint_eq(status & ~(u32)KERN_OVERFLOW, 0);
                ck_assert_uint_eq(out_nulls[0], out_nulls[1]);
                ck_assert_uint_eq(out_nulls[0], mode == 2 && g->op != AOP_COUNT);
                u32 width = phys_width(a.ret_phys);
                bool same = kern_order(a.ret_phys)(got_data, got_data + width) == 0;
                ck_assert_msg(out_nulls[0] || status || same, "%s of %s, mode %u", NAMES[n], type_name(CASES[k].type),
                              mode);
                free(states);
            }
}
END_TEST

START_TEST(known_sums_and_averages)
{
    static const i32 INTS[] = {1, 2, 3};
    static const i64 DECS[] = {150, 250, -1}, BIG[] = {INT64_MAX, INT64_MAX, INT64_MIN};
    static i128 huge[3];
    for (u32 i = 0; i < 3; i++)
        huge[i] = POW10_I128[37] * 9 * (i == 2 ? -1 : 1);
    struct { const char *name; TypeId type; PhysType phys; u8 scale; const void *data; u32 count; const char *want; } cases[] = {
        {"avg", TYPE_INT4, PHYS_I32, 0, INTS, 3, "2.0000000000000000"},
        {"sum", TYPE_INT4, PHYS_I32, 0, INTS, 3, "6"},
        {"sum", TYPE_INT8, PHYS_I64, 0, BIG, 3, "9223372036854775806"},
        {"sum", TYPE_NUMERIC, PHYS_D64, 2, DECS, 3, "3.99"},
        {"avg", TYPE_NUMERIC, PHYS_D64, 2, DECS, 2, "2.0000000000000000"},
        {"min", TYPE_NUMERIC, PHYS_D64, 2, DECS, 3, "-0.01"},
        {"max", TYPE_NUMERIC, PHYS_D64, 2, BIG, 3, "NaN"},
        {"sum", TYPE_NUMERIC, PHYS_D64, 2, BIG, 3, "NaN"},
        {"sum", TYPE_NUMERIC, PHYS_D128, 0, huge, 3, "90000000000000000000000000000000000000"},
        {"sum", TYPE_NUMERIC, PHYS_D128, 0, huge, 2, "overflow"},
    };
    TypeFormat format = {.extra_float_digits = 1};
    for (u32 k = 0; k < COUNT_OF(cases); k++) {
        AggKernel a;
        const AggDef *g = aggregate(cases[k].name, cases[k].type);
        ck_assert(agg_kernel(g->id, cases[k].phys, cases[k].scale, &a));
        u64 state[8] = {0};
        u8 null;
        Vec v = {.phys = cases[k].phys, .scale = cases[k].scale, .data = (void *)(uintptr_t)cases[k].data};
        a.update(state, &v, cases[k].count);
        Vec ret = {.phys = a.ret_phys, .scale = a.ret_scale, .data = got_data, .null_mask = &null};
        u32 status = a.finish((u8 *)state, a.state_bytes, 0, 1, cases[k].scale, &ret);
        ByteBuf b = {0};
        if (status)
            buf_str(&b, "overflow");
        else
            phys_out(&b, &format, g->ret, a.ret_phys, a.ret_scale, got_data);
        ck_assert_msg(b.len == strlen(cases[k].want) && memcmp(b.data, cases[k].want, b.len) == 0,
                      "case %u: %.*s, want %s", k,
                      (int)b.len, (char *)b.data, cases[k].want);
        buf_free(&b);
    }
}
END_TEST

/* Lanes against a plain loop: both kinds, extreme values of the few kind, every number of sums, odd counts. */
START_TEST(lanes_count_and_sum)
{
    static u32 groups[VEC_SIZE];
    static i64 data[LANES_MAX][VEC_SIZE], lanes[LANES_FEW * (1 + LANES_MAX)], want[LANES_FEW * (1 + LANES_MAX)];
    const u32 counts[] = {0, 1, 3, 4, 2047, VEC_SIZE};
    const u32 dims[] = {1, 7, LANES_FEW};
    const i64 end = (i64)1 << LANES_FEW_BITS;
    u64 mixed = 1;
    for (u32 round = 0; round < 2 * (1 + LANES_MAX) * COUNT_OF(counts) * COUNT_OF(dims); round++) {
        u32 sums = round / 2 % (1 + LANES_MAX), count = counts[round / 2 / (1 + LANES_MAX) % COUNT_OF(counts)];
        u32 dim = dims[round / 2 / (1 + LANES_MAX) / COUNT_OF(counts)], step = 1 + sums;
        const i64 *values[LANES_MAX];
        memset(lanes, 0, sizeof lanes);
        memset(want, 0, sizeof want);
        for (u32 i = 0; i < count; i++) {
            mixed = mixed * 6364136223846793005ull + 1442695040888963407ull;
            groups[i] = (u32)(mixed >> 33) % dim;
            want[groups[i] * step]++;
            for (u32 k = 0; k < sums; k++) {
                data[k][i] = k == 0 ? -end : k == 1 ? end - 1 : (i64)(mixed >> 20) % end;
                want[groups[i] * step + 1 + k] += data[k][i];
            }
        }
        for (u32 k = 0; k < LANES_MAX; k++)
            values[k] = data[k];
        if (round % 2)
            lanes_add(lanes, groups, values, sums, count);
        else
            lanes_add_few(lanes, dim, groups, values, sums, count);
        ck_assert_msg(memcmp(lanes, want, sizeof want) == 0, "round %u: %u sums, %u rows, %u groups", round, sums, count, dim);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("kern");
    TCase *t = tcase_create("kern");
    tcase_add_test(t, every_function_row_is_found_by_its_name);
    tcase_add_test(t, every_aggregate_row_is_found_by_its_name);
    tcase_add_test(t, comparisons_agree_with_the_order_of_values);
    tcase_add_test(t, integer_arithmetic_is_checked);
    tcase_add_test(t, instruction_sets_agree);
    tcase_add_test(t, three_valued_logic);
    tcase_add_test(t, positions_of_ones);
    tcase_add_test(t, groups_and_merges_give_what_one_state_gives);
    tcase_add_test(t, known_sums_and_averages);
    tcase_add_test(t, lanes_count_and_sum);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
