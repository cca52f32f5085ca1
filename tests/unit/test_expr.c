/* test_expr.c: expressions built by hand against known answers (PostgreSQL's), over constants, columns, selections
 * and dictionaries. */
#include "backend/plan/expr.h"
#include "backend/kern/map.h"
#include "backend/throw.h"
#include "common/store/store.h"
#include "common/type/numeric.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- a dictionary of our own in place of the store's ---- */
struct DictShm {
    u64 id;
    u32 count;
    Str texts[64];
};
static u32 dict_reads;
Str dict_str(const DictShm *d, u32 code) { dict_reads++; return d->texts[code]; }
u64 dict_id(const DictShm *d) { return d->id; }
u32 dict_count(const DictShm *d) { return d->count; }
u32
dict_find(const DictShm *d, Str s)
{
    for (u32 i = 0; i < d->count; i++)
        if (str_eq(d->texts[i], s))
            return i;
    return DICT_NONE;
}
void
dict_decode(const DictShm *d, const u32 *codes, u32 count, Str *out)
{
    for (u32 i = 0; i < count; i++)
        out[i] = dict_str(d, codes[i]);
}

/* ---- building ---- */
static Arena *mem, *scratch;
static const TypeFormat FORMAT = {.extra_float_digits = 1};
static Value params[8];
static ExprEnv expr_env = {.params = params, .param_count = 8, .format = &FORMAT, .now_us = 1000000,
                           .role_name = "root", .database = "db"};

static BExpr *
node(BExprKind kind, TypeId type, i32 typmod, u32 count, BExpr **args)
{
    BExpr *e = ARENA_NEW(mem, BExpr);
    e->kind = kind;
    e->type = type;
    e->typmod = typmod;
    e->arg_count = count;
    e->args = ARENA_ARRAY(mem, BExpr *, count + 1);
    for (u32 i = 0; i < count; i++)
        e->args[i] = args[i];
    return e;
}
#define NODE(kind, type, ...) \
    node(kind, type, -1, sizeof((BExpr *[]){__VA_ARGS__}) / sizeof(BExpr *), (BExpr *[]){__VA_ARGS__})

static BExpr *
lit(TypeId t, const char *text)
{
    BExpr *e = node(BX_CONST, t, -1, 0, NULL);
    Error err;
    if (!text)
        e->value = (Value){.type = t, .typmod = -1, .is_null = true};
    else
        ck_assert_msg(value_in(mem, &FORMAT, t, -1, str_of(text), &e->value, &err), "%s", err.message);
    return e;
}
#define I4(text) lit(TYPE_INT4, text)
#define I8(text) lit(TYPE_INT8, text)
#define F8(text) lit(TYPE_FLOAT8, text)
#define NU(text) lit(TYPE_NUMERIC, text)
#define TX(text) lit(TYPE_TEXT, text)
#define BO(text) lit(TYPE_BOOL, text)

static BExpr *
col(u16 column, TypeId t, i32 typmod)
{
    BExpr *e = node(BX_COLUMN, t, typmod, 0, NULL);
    e->column = column;
    return e;
}

static BExpr *
param(u32 index, TypeId t)
{
    BExpr *e = node(BX_PARAM, t, -1, 0, NULL);
    e->index = index;
    return e;
}

static const FuncDef *
overload(const char *name, u32 count, BExpr **args)
{
    bool op = !((name[0] >= 'a' && name[0] <= 'z'));
    u32 n;
    const FuncDef *f = func_candidates(str_of(name), op, &n);
    for (u32 i = 0; i < n; i++) {
        bool fits = f[i].arg_count == count;
        for (u32 k = 0; fits && k < count; k++)
            fits = f[i].args[k] == (args[k]->type == TYPE_VARCHAR ? TYPE_TEXT : args[k]->type);
        if (fits)
            return &f[i];
    }
    ck_abort_msg("no function %s", name);
    return NULL;
}

static BExpr *
func(const char *name, u32 count, BExpr **args)
{
    const FuncDef *f = overload(name, count, args);
    BExpr *e = node(BX_FUNC, f->ret, -1, count, args);
    e->func = f->id;
    return e;
}
#define FN(name, ...) func(name, sizeof((BExpr *[]){__VA_ARGS__}) / sizeof(BExpr *), (BExpr *[]){__VA_ARGS__})

static BExpr *
cast(TypeId t, i32 typmod, BExpr *x)
{
    BExpr *e = node(BX_CAST, t, typmod, 1, &x);
    e->explicit_cast = true;
    return e;
}

static BExpr *
negated(BExpr *e)
{
    e->negated = true;
    return e;
}

static BExpr *
with_eq(BExpr *e)
{
    BExpr *two[] = {e->args[0], e->args[1]};
    e->func = overload("=", 2, two)->id;
    return e;
}

/* ---- columns of the test batch ---- */
enum { ROWS = 1000 };
typedef struct TestColumn {
    TypeId type;
    PhysType phys;
    u8 scale;
} TestColumn;
static Vec columns[8];
static Batch batch;

static u32
find_column(const ExprMap *m UNUSED, const BExpr *leaf, ExprInput *ret)
{
    const Vec *v = &columns[leaf->column];
    *ret = (ExprInput){v->phys, v->scale, true};
    return leaf->column;
}
static const ExprMap MAP = {find_column, NULL};

static i32 c_int[ROWS];
static i64 c_dec[ROWS];
static double c_float[ROWS];
static u8 int_nulls[ROWS], text_nulls[ROWS];
static u32 codes[ROWS];
static Str texts[ROWS];
static DictShm dict;
enum { COL_INT, COL_DEC, COL_FLOAT, COL_KIND, COL_TEXT, COL_INT_PLAIN };

static void
set_up(void)
{
    static const char *const KINDS[] = {"paid", "open", "shipped", "lost", "", "zwölf"};
    mem = arena_new("test", 0, NULL);
    scratch = arena_new("scratch", 0, NULL);
    dict = (DictShm){.id = 7, .count = COUNT_OF(KINDS)};
    for (u32 k = 0; k < COUNT_OF(KINDS); k++)
        dict.texts[k] = str_of(KINDS[k]);
    for (u32 i = 0; i < ROWS; i++) {
        c_int[i] = (i32)i - 500;
        int_nulls[i] = i % 10 == 3;
        c_dec[i] = (i64)i * 25 - 5000; /* scale 2 */
        c_float[i] = i * 0.5;
        codes[i] = i % 6;
        texts[i] = dict.texts[i % 6];
        text_nulls[i] = i % 7 == 0;
    }
    columns[COL_INT] = (Vec){.phys = PHYS_I32, .data = c_int, .null_mask = int_nulls};
    columns[COL_INT_PLAIN] = (Vec){.phys = PHYS_I32, .data = c_int};
    columns[COL_DEC] = (Vec){.phys = PHYS_D64, .scale = 2, .data = c_dec};
    columns[COL_FLOAT] = (Vec){.phys = PHYS_F64, .data = c_float};
    columns[COL_KIND] = (Vec){.phys = PHYS_STR, .codes = codes, .dict = &dict, .null_mask = text_nulls};
    columns[COL_TEXT] = (Vec){.phys = PHYS_STR, .data = texts, .null_mask = text_nulls};
    batch = (Batch){.count = ROWS, .column_count = 6, .columns = columns};
}

static void
tear_down(void)
{
    arena_free(mem);
    arena_free(scratch);
}

/* ---- checking ---- */
static const char *
text_of(const BExpr *e, const Vec *v, u32 i)
{
    if (VEC_NULL(v, i))
        return "NULL";
    ByteBuf b = {0};
    phys_out(&b, &FORMAT, e->type, v->phys, v->scale, (u8 *)v->data + (size_t)i * phys_width(v->phys));
    char *s = arena_strndup(mem, (char *)b.data, b.len);
    buf_free(&b);
    return s;
}

/* The text of a one-row expression, or its error. */
static const char *
eval(const BExpr *e)
{
    Catch c;
    Catch *outer = current_catch;
    const char *ret;
    current_catch = &c;
    if (setjmp(c.jump) == 0) {
        ExprState *s = expr_state(mem, expr_compile(mem, e, &MAP), &expr_env);
        Batch one = {.count = 1, .columns = columns, .column_count = 6};
        Vec v;
        expr_eval(s, scratch, &one, &v);
        ret = text_of(e, &v, 0);
    } else
        ret = arena_printf(mem, "%s: %s", errcode_sqlstate(c.error.code), c.error.message);
    current_catch = outer;
    return ret;
}

#define IS(e, expected) \
    do { \
        const char *got = eval(e); \
        ck_assert_msg(strcmp(got, expected) == 0, "line %d: got %s, want %s", __LINE__, got, expected); \
    } while (0)

START_TEST(numbers)
{
    IS(FN("+", I4("2"), I4("3")), "5");
    IS(FN("+", I4("2147483647"), I4("1")), "22003: integer out of range");
    IS(FN("*", I8("9223372036854775807"), I8("2")), "22003: bigint out of range");
    IS(FN("-", lit(TYPE_INT2, "-32768"), lit(TYPE_INT2, "1")), "22003: smallint out of range");
    IS(FN("/", I4("7"), I4("0")), "22012: division by zero");
    IS(FN("/", I4("-7"), I4("2")), "-3");
    IS(FN("%", I4("-7"), I4("2")), "-1");
    IS(FN("/", I4("-2147483648"), I4("-1")), "22003: integer out of range");
    IS(FN("%", I4("-2147483648"), I4("-1")), "0");
    IS(FN("+", I4("2"), I8("3")), "5");
    IS(FN("+", I4("2"), I4(NULL)), "NULL");
    IS(FN("/", F8("1"), F8("0")), "22012: division by zero");
    IS(FN("*", F8("1e300"), F8("1e300")), "22003: value out of range: overflow");
    IS(FN("*", F8("1e-300"), F8("1e-300")), "22003: value out of range: underflow");
    IS(FN("/", F8("NaN"), F8("0")), "NaN");
    IS(FN("=", F8("NaN"), F8("NaN")), "t");
    IS(FN(">", F8("NaN"), F8("Infinity")), "t");
    IS(FN("<", F8("NaN"), F8("1")), "f");
    IS(FN("-", I4("-2147483648")), "22003: integer out of range");
    IS(FN("abs", I4("-5")), "5");
    IS(FN("&", I4("12"), I4("10")), "8");
    IS(FN("#", I4("12"), I4("10")), "6");
    IS(FN("~", I4("12")), "-13");
    IS(FN("<<", I4("1"), I4("33")), "2");
    IS(FN(">>", I8("-16"), I4("2")), "-4");
    IS(FN("gcd", I4("12"), I4("-18")), "6");
    IS(FN("sqrt", F8("-1")), "2201F: cannot take square root of a negative number");
    IS(FN("ln", F8("0")), "2201E: cannot take logarithm of zero");
    IS(FN("power", F8("2"), F8("10")), "1024");
    IS(FN("round", F8("2.5")), "2");
    IS(FN("trunc", F8("-2.5")), "-2");
    IS(FN("exp", F8("1000")), "22003: value out of range: overflow");
}
END_TEST

START_TEST(numerics)
{
    IS(FN("+", NU("1.5"), NU("2.25")), "3.75");
    IS(FN("*", NU("1.50"), NU("2.0")), "3.000");
    IS(FN("/", NU("1"), NU("3")), "0.33333333333333333333");
    IS(FN("%", NU("7.5"), NU("2")), "1.5");
    IS(FN("/", NU("1"), NU("0")), "22012: division by zero");
    IS(FN("-", NU("99999999999999999999999999999999999999"), NU("-1")), "22003: value overflows numeric format");
    IS(FN("=", NU("1.0"), NU("1.00")), "t");
    IS(FN("<", NU("1.0"), NU("NaN")), "t");
    IS(FN("+", NU("1.0"), NU("NaN")), "NaN");
    IS(FN("*", NU("12345678901234567"), NU("12345678901234567")), "152415787532388345526596755677489");
    IS(FN("-", NU("1.20")), "-1.20");
    IS(FN("abs", NU("-1.20")), "1.20");
    IS(FN("round", NU("2.555"), I4("2")), "2.56");
    IS(FN("round", NU("-2.5")), "-3");
    IS(FN("trunc", NU("2.999"), I4("1")), "2.9");
    IS(FN("ceil", NU("2.1")), "3");
    IS(FN("sign", NU("-2.1")), "-1");
    IS(FN("div", NU("7"), NU("-2")), "-3");
    IS(cast(TYPE_NUMERIC, numeric_typmod(5, 2), NU("999.994")), "999.99");
    IS(cast(TYPE_NUMERIC, numeric_typmod(5, 2), NU("999.995")), "22003: numeric field overflow");
    IS(cast(TYPE_NUMERIC, numeric_typmod(5, 2), I4("3")), "3.00");
    IS(cast(TYPE_INT4, -1, NU("2.5")), "3");
    IS(cast(TYPE_FLOAT8, -1, NU("0.1")), "0.1");
    IS(cast(TYPE_NUMERIC, -1, F8("0.1")), "0.1");
    IS(cast(TYPE_NUMERIC, -1, I8("9223372036854775807")), "9223372036854775807");
}
END_TEST

START_TEST(texts_and_times)
{
    IS(FN("||", TX("ab"), TX("cd")), "abcd");
    IS(FN("lower", TX("ÄBC")), "äbc");
    IS(FN("upper", TX("straße")), "STRAßE");
    IS(FN("initcap", TX("hello wORLD-of it")), "Hello World-Of It");
    IS(FN("length", TX("zwölf")), "5");
    IS(FN("octet_length", TX("zwölf")), "6");
    IS(FN("substr", TX("abcdef"), I4("2"), I4("3")), "bcd");
    IS(FN("substr", TX("abcdef"), I4("-1"), I4("3")), "a");
    IS(FN("substr", TX("abcdef"), I4("2147483647"), I4("2147483647")), "");
    IS(FN("substr", TX("abcdef"), I4("1"), I4("-3")), "22011: negative substring length not allowed");
    IS(FN("left", TX("abcdef"), I4("-2")), "abcd");
    IS(FN("right", TX("abcdef"), I4("-2")), "cdef");
    IS(FN("strpos", TX("zwölf"), TX("l")), "4");
    IS(FN("replace", TX("abcabc"), TX("b"), TX("xx")), "axxcaxxc");
    IS(FN("translate", TX("12345"), TX("143"), TX("ax")), "a2x5");
    IS(FN("lpad", TX("hi"), I4("7"), TX("xy")), "xyxyxhi");
    IS(FN("rpad", TX("hello"), I4("3")), "hel");
    IS(FN("split_part", TX("a,b,c"), TX(","), I4("-1")), "c");
    IS(FN("split_part", TX("a,b,c"), TX(","), I4("2")), "b");
    IS(FN("split_part", TX("a,b,c"), TX(","), I4("5")), "");
    IS(FN("btrim", TX("  x ")), "x");
    IS(FN("ltrim", TX("xyxz"), TX("yx")), "z");
    IS(FN("reverse", TX("zwö")), "öwz");
    IS(FN("repeat", TX("ab"), I4("3")), "ababab");
    IS(FN("concat", TX("a"), TX(NULL), TX("b")), "ab");
    IS(FN("concat_ws", TX(","), TX("a"), TX(NULL), TX("b")), "a,b");
    IS(FN("concat_ws", TX(NULL), TX("a"), TX("b")), "NULL");
    IS(FN("to_hex", I4("-1")), "ffffffff");
    IS(FN("chr", I4("8364")), "€");
    IS(FN("ascii", TX("€")), "8364");
    IS(FN("~~", TX("abcdef"), TX("a%d_f")), "t");
    IS(FN("~~", TX("abc"), TX("a\\%c")), "f");
    IS(FN("~~", TX("a%c"), TX("a\\%c")), "t");
    IS(FN("~~", TX("zwölf"), TX("zw_lf")), "t");
    IS(FN("~~", TX("abc"), TX("%b%")), "t");
    IS(FN("~~", TX("abc"), TX("abc\\")), "f");
    IS(FN("~~", TX("abc"), TX("ab\\")), "22025: LIKE pattern must not end with escape character");
    IS(FN("~~*", TX("ÄBC"), TX("ä%")), "t");
    IS(FN("!~~", TX("abc"), TX("x%")), "t");
    IS(FN("~~", TX("a%c"), FN("like_escape", TX("a#%c"), TX("#"))), "t");
    IS(FN("~~", TX("abc"), FN("like_escape", TX("a#%c"), TX("##"))), "22025: invalid escape string");
    IS(FN("+", lit(TYPE_DATE, "2024-02-28"), I4("2")), "2024-03-01");
    IS(FN("-", lit(TYPE_DATE, "2024-03-01"), lit(TYPE_DATE, "2024-02-28")), "2");
    IS(FN("date_trunc", TX("month"), lit(TYPE_TIMESTAMP, "2024-02-28 10:11:12")), "2024-02-01 00:00:00");
    IS(FN("date_trunc", TX("nonsense"), lit(TYPE_TIMESTAMP, "2024-02-28 10:11:12")),
       "22023: unit \"nonsense\" not recognized for type timestamp without time zone");
    IS(FN("extract", TX("year"), lit(TYPE_DATE, "2024-02-28")), "2024");
    IS(FN("extract", TX("epoch"), lit(TYPE_TIMESTAMP, "1970-01-02 00:00:00.5")), "86400.500000");
    IS(FN("extract", TX("hour"), lit(TYPE_DATE, "2024-02-28")), "0A000: unit \"hour\" not supported for type date");
    IS(FN("extract", TX("year"), lit(TYPE_TIMESTAMP, "infinity")), "Infinity");
    IS(FN("extract", TX("month"), lit(TYPE_TIMESTAMP, "infinity")), "NULL");
    IS(FN("date_part", TX("dow"), lit(TYPE_DATE, "2024-02-28")), "3");
    IS(FN("make_date", I4("2023"), I4("2"), I4("29")), "22008: date field value out of range: 2023-02-29");
    IS(FN("make_date", I4("-44"), I4("3"), I4("15")), "0044-03-15 BC");
    IS(FN("<", lit(TYPE_DATE, "2024-01-01"), lit(TYPE_TIMESTAMP, "2024-01-01 00:00:01")), "t");
    IS(FN("to_timestamp", F8("0")), "1970-01-01 00:00:00+00");
    IS(cast(TYPE_VARCHAR, 4 + 3, TX("abcdef")), "abc");
    IS(cast(TYPE_INT4, -1, TX("12x")), "22P02: invalid input syntax for type integer: \"12x\"");
    IS(cast(TYPE_TEXT, -1, I4("12")), "12");
    IS(cast(TYPE_DATE, -1, TX("2024-02-30")), "22008: date/time field value out of range: \"2024-02-30\"");
    IS(FN("current_user"), "root");
    IS(FN("now"), "2000-01-01 00:00:01+00");
}
END_TEST

START_TEST(logic)
{
    BExpr *t = BO("t"), *f = BO("f"), *n = BO(NULL);
    IS(NODE(BX_AND, TYPE_BOOL, t, n), "NULL");
    IS(NODE(BX_AND, TYPE_BOOL, f, n), "f");
    IS(NODE(BX_OR, TYPE_BOOL, t, n), "t");
    IS(NODE(BX_OR, TYPE_BOOL, f, n), "NULL");
    IS(NODE(BX_NOT, TYPE_BOOL, n), "NULL");
    IS(NODE(BX_NOT, TYPE_BOOL, f), "t");
    IS(NODE(BX_IS_NULL, TYPE_BOOL, n), "t");
    IS(negated(NODE(BX_IS_NULL, TYPE_BOOL, I4("1"))), "t");
    BExpr *bad = FN("=", FN("/", I4("1"), I4("0")), I4("1"));
    IS(NODE(BX_AND, TYPE_BOOL, f, bad), "f");
    IS(NODE(BX_AND, TYPE_BOOL, t, bad), "22012: division by zero");
    IS(NODE(BX_CASE, TYPE_INT4, t, I4("1"), FN("/", I4("1"), I4("0"))), "1");
    IS(NODE(BX_CASE, TYPE_INT4, f, I4("1"), I4("2")), "2");
    IS(NODE(BX_CASE, TYPE_NUMERIC, f, NU("1.5"), NU("2.25")), "2.25");
    IS(NODE(BX_CASE, TYPE_NUMERIC, t, NU("1.5"), NU("2.25")), "1.5");
    IS(NODE(BX_COALESCE, TYPE_INT4, I4(NULL), I4("4"), FN("/", I4("1"), I4("0"))), "4");
    IS(with_eq(NODE(BX_NULLIF, TYPE_INT4, I4("4"), I4("4"))), "NULL");
    IS(with_eq(NODE(BX_NULLIF, TYPE_INT4, I4("4"), I4("5"))), "4");
    IS(NODE(BX_GREATEST, TYPE_INT4, I4("4"), I4(NULL), I4("9")), "9");
    IS(negated(NODE(BX_GREATEST, TYPE_NUMERIC, NU("4.0"), NU("4.00"), NU("9"))), "4.0");
    IS(with_eq(NODE(BX_IN, TYPE_BOOL, I4("4"), I4("1"), I4("4"))), "t");
    IS(with_eq(NODE(BX_IN, TYPE_BOOL, I4("4"), I4("1"), I4(NULL))), "NULL");
    IS(negated(with_eq(NODE(BX_IN, TYPE_BOOL, I4("4"), I4("1"), I4("5")))), "t");
    IS(with_eq(NODE(BX_DISTINCT, TYPE_BOOL, I4(NULL), I4("1"))), "t");
    IS(negated(with_eq(NODE(BX_DISTINCT, TYPE_BOOL, I4(NULL), I4(NULL)))), "t");
    BExpr *unknown = NODE(BX_IS_BOOL, TYPE_BOOL, n);
    unknown->value.is_null = true;
    IS(unknown, "t");
    BExpr *is_true = NODE(BX_IS_BOOL, TYPE_BOOL, n);
    is_true->value.b = true;
    IS(is_true, "f");
}
END_TEST

/* Positions that pass, by a rule per row. */
typedef bool (*Rule)(u32 i);

static void
check_filter_line(const BExpr *e, Rule rule, int line)
{
    ExprProg *p = expr_compile(mem, e, &MAP);
    u16 every_third[ROWS], out[ROWS];
    for (u32 pass = 0; pass < 4; pass++) {
        ExprState *s = expr_state(mem, p, &expr_env);
        Batch b = batch;
        u32 n = 0;
        for (u32 i = 0; i < ROWS; i += 3)
            every_third[n++] = (u16)i;
        if (pass & 1) {
            b.sel = every_third;
            b.count = n;
        }
        u32 got = expr_filter(s, scratch, &b, pass == 3 ? every_third : out), want = 0;
        const u16 *found = pass == 3 ? every_third : out;
        for (u32 i = 0; i < ROWS; i += pass & 1 ? 3 : 1)
            if (rule(i)) {
                ck_assert_msg(want < got && found[want] == i, "line %d: row %u is missing", line, i);
                want++;
            }
        ck_assert_msg(want == got, "line %d: %u rows, want %u", line, got, want);
        arena_reset(scratch);
    }
}
#define FILTER(e, rule) check_filter_line(e, rule, __LINE__)

static bool int_above(u32 i) { return !int_nulls[i] && c_int[i] > 100; }
static bool int_between(u32 i) { return !int_nulls[i] && c_int[i] >= -5 && c_int[i] <= 5; }
static bool dec_below(u32 i) { return c_dec[i] <= 1000; }
static bool dec_equal(u32 i) { return c_dec[i] == 1000; }
static bool nothing(u32 i UNUSED) { return false; }
static bool kind_paid(u32 i) { return !text_nulls[i] && i % 6 == 0; }
static bool kind_not_paid(u32 i) { return !text_nulls[i] && i % 6 != 0; }
static bool kind_like(u32 i) { return !text_nulls[i] && (i % 6 == 0 || i % 6 == 2); }
static bool kind_long(u32 i) { return !text_nulls[i] && (i % 6 == 2 || i % 6 == 5); }
static bool kind_null_or_lost(u32 i) { return text_nulls[i] || i % 6 == 3; }
static bool ratio(u32 i) { return !int_nulls[i] && c_int[i] != 0 && 100 / c_int[i] == 10; }
static bool in_many(u32 i) { return !int_nulls[i] && c_int[i] >= 0 && c_int[i] < 20 && c_int[i] % 2 == 0; }
static bool dec_in_many(u32 i) { return c_dec[i] >= 0 && c_dec[i] < 1000 && c_dec[i] % 100 == 50; }

START_TEST(filters)
{
    BExpr *i = col(COL_INT, TYPE_INT4, -1), *d = col(COL_DEC, TYPE_NUMERIC, numeric_typmod(12, 2));
    FILTER(FN(">", i, I4("100")), int_above);
    FILTER(FN("<", I4("100"), i), int_above);
    FILTER(FN(">", i, I8("100")), int_above);
    FILTER(FN("<", i, I8("-99999999999")), nothing);
    FILTER(FN("<", lit(TYPE_INT8, "100"), i), int_above);
    FILTER(FN(">", cast(TYPE_NUMERIC, -1, i), NU("100.0001")), int_above);
    FILTER(NODE(BX_AND, TYPE_BOOL, FN(">=", i, I4("-5")), FN("<=", i, I4("5"))), int_between);
    FILTER(FN("<", d, NU("10.001")), dec_below);
    FILTER(FN("<=", d, NU("10")), dec_below);
    FILTER(FN("<=", d, NU("10.009")), dec_below);
    FILTER(FN("=", d, NU("10")), dec_equal);
    FILTER(FN("=", d, NU("10.001")), nothing);
    FILTER(FN(">", d, NU("99999999999999999999")), nothing);
    FILTER(FN(">=", d, NU("Infinity")), nothing);
    FILTER(FN("=", FN("*", d, NU("1.000")), NU("10")), dec_equal);
    FILTER(FN("=", FN("-", d, FN("+", d, d)), NU("-10")), dec_equal);
    Error err;
    ck_assert(value_in(mem, &FORMAT, TYPE_NUMERIC, -1, STR_LIT("10.001"), &params[0], &err));
    FILTER(FN("<", d, param(0, TYPE_NUMERIC)), dec_below);
    FILTER(FN(">", param(0, TYPE_NUMERIC), d), dec_below);
    BExpr *safe = FN("<>", i, I4("0")), *ten = FN("=", FN("/", I4("100"), i), I4("10"));
    FILTER(NODE(BX_AND, TYPE_BOOL, safe, ten), ratio);
    FILTER(NODE(BX_CASE, TYPE_BOOL, FN("=", i, I4("0")), BO("f"), ten), ratio);
    BExpr *list[11] = {i};
    for (u32 k = 0; k < 10; k++)
        list[k + 1] = I4(arena_printf(mem, "%u", k * 2));
    FILTER(with_eq(node(BX_IN, TYPE_BOOL, -1, 11, list)), in_many);
    list[0] = d;
    for (u32 k = 0; k < 10; k++)
        list[k + 1] = NU(arena_printf(mem, "%u.5", k));
    FILTER(with_eq(node(BX_IN, TYPE_BOOL, -1, 11, list)), dec_in_many);
}
END_TEST

START_TEST(dictionaries)
{
    for (u16 c = COL_KIND; c <= COL_TEXT; c++) {
        BExpr *k = col(c, TYPE_TEXT, -1);
        FILTER(FN("=", k, TX("paid")), kind_paid);
        FILTER(FN("<>", k, TX("paid")), kind_not_paid);
        FILTER(FN("=", k, TX("absent")), nothing);
        FILTER(FN("=", k, TX(NULL)), nothing);
        FILTER(FN("~~", k, TX("%p%d")), kind_like);
        FILTER(FN(">", FN("length", k), I4("4")), kind_long);
        FILTER(NODE(BX_OR, TYPE_BOOL, NODE(BX_IS_NULL, TYPE_BOOL, k), FN("=", k, TX("lost"))), kind_null_or_lost);
        FILTER(with_eq(NODE(BX_IN, TYPE_BOOL, k, TX("paid"), TX("shipped"))), kind_like);
        FILTER(NODE(BX_AND, TYPE_BOOL, FN("=", k, TX("paid")), FN("~~", k, TX("p%"))), kind_paid);
        params[1] = (Value){.type = TYPE_TEXT, .typmod = -1, .str = STR_LIT("paid")};
        FILTER(FN("=", k, param(1, TYPE_TEXT)), kind_paid);
    }
    dict_reads = 0;
    FILTER(FN("~~", col(COL_KIND, TYPE_TEXT, -1), TX("%p%d")), kind_like);
    ck_assert_uint_le(dict_reads, 4 * 6);
}
END_TEST

START_TEST(nulls_hide_errors)
{
    BExpr *i = col(COL_INT, TYPE_INT4, -1);
    for (u32 r = 0; r < ROWS; r++)
        if (int_nulls[r])
            c_int[r] = 0;
    c_int[500] = 1;
    ExprState *s = expr_state(mem, expr_compile(mem, FN("/", I4("1000"), i), &MAP), &expr_env);
    Vec v;
    expr_eval(s, scratch, &batch, &v);
    ck_assert(VEC_NULL(&v, 3));
    ck_assert_int_eq(((i32 *)v.data)[504], 250);
    BExpr *sum = NODE(BX_COALESCE, TYPE_INT4, i, FN("+", I4("7"), I4("1")));
    s = expr_state(mem, expr_compile(mem, sum, &MAP), &expr_env);
    expr_eval(s, scratch, &batch, &v);
    ck_assert_int_eq(((i32 *)v.data)[13], 8);
    ck_assert_int_eq(((i32 *)v.data)[14], c_int[14]);
}
END_TEST

START_TEST(products_keep_their_digits)
{
    BExpr *d = col(COL_DEC, TYPE_NUMERIC, numeric_typmod(12, 2));
    BExpr *e = FN("*", d, FN("-", cast(TYPE_NUMERIC, -1, I4("1")), d));
    ExprProg *p = expr_compile(mem, e, &MAP);
    ck_assert_int_eq(expr_phys(p), PHYS_D128);
    ck_assert_uint_eq(expr_scale(p), 4);
    Vec v;
    ExprState *s = expr_state(mem, p, &expr_env);
    expr_eval(s, scratch, &batch, &v);
    for (u32 i = 0; i < ROWS; i++)
        ck_assert(((i128 *)v.data)[i] == (i128)c_dec[i] * (100 - c_dec[i]));
    c_dec[5] = D64_NAN;
    expr_eval(s, scratch, &batch, &v);
    ck_assert(((i128 *)v.data)[5] == D128_NAN);
    p = expr_compile(mem, FN("+", FN("*", d, NU("0.1")), d), &MAP);
    ck_assert_int_eq(expr_phys(p), PHYS_D64);
    ck_assert_uint_eq(expr_scale(p), 3);
    expr_eval(expr_state(mem, p, &expr_env), scratch, &batch, &v);
    ck_assert_int_eq(((i64 *)v.data)[6], c_dec[6] * 11);
    ck_assert_int_eq(((i64 *)v.data)[5], D64_NAN);
    p = expr_compile_as(mem, d, &MAP, PHYS_NUM, 0);
    expr_eval(expr_state(mem, p, &expr_env), scratch, &batch, &v);
    ck_assert_int_eq(((Num *)v.data)[6].scale, 2);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("expr");
    TCase *t = tcase_create("expr");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, numbers);
    tcase_add_test(t, numerics);
    tcase_add_test(t, texts_and_times);
    tcase_add_test(t, logic);
    tcase_add_test(t, filters);
    tcase_add_test(t, dictionaries);
    tcase_add_test(t, nulls_hide_errors);
    tcase_add_test(t, products_keep_their_digits);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
