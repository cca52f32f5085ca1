/* test_type_numeric.c: decimal arithmetic, functions, text and binary forms, and the long integers under them. Answers are PostgreSQL's. */
#include "common/type/numeric.h"
#include "common/type/type.h"
#include "common/type/wide.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#define MOD(precision, scale) ((((precision) << 16) | (scale)) + 4)

static Arena *arena;
static ByteBuf buf;

static Num
number(const char *text)
{
    Num n;
    ck_assert(num_in(str_of(text), &n, NULL));
    return n;
}

/* The text of a result, or the name of its status. */
static const char *
text_of(NumStatus status, const Num *n)
{
    static char text[80];
    if (status == NUM_OK)
        text[num_out(n, text)] = 0;
    else
        snprintf(text, sizeof text, "%s", status == NUM_OVERFLOW ? "overflow" : status == NUM_DIV_ZERO ? "zero" : "invalid");
    return text;
}

START_TEST(arithmetic)
{
    static const struct {
        const char *a;
        char op;
        const char *b, *out;
    } CASES[] = {
        {"1", '/', "3", "0.33333333333333333333"}, {"2", '/', "3", "0.66666666666666666667"},
        {"10", '/', "3", "3.3333333333333333"}, {"100000", '/', "7", "14285.714285714286"},
        {"1", '/', "30000000", "0.000000033333333333333333"}, {"0", '/', "3", "0.00000000000000000000"},
        {"22", '/', "7.000", "3.1428571428571429"}, {"1.5", '/', "0.00001", "150000.000000000000"},
        {"99999999999999999999", '/', "3", "33333333333333333333"}, {"-7", '/', "2", "-3.5000000000000000"},
        {"1", '/', "0.3333333333333333", "3.0000000000000003"}, {"1.10", '+', "2.205", "3.305"},
        {"-5", '+', "5.00", "0.00"}, {"99999999999999999999.5", '-', "0.25", "99999999999999999999.25"},
        {"1.25", '*', "-4.10", "-5.1250"}, {"0", '*', "-1.5", "0.0"},
        {"123456789012345678", '*', "98765432109876543", "12193263113702179407559823419631154"},
        {"5", '%', "3", "2"}, {"-5", '%', "3", "-2"}, {"5.5", '%', "-2", "1.5"}, {"1e20", '%', "7", "2"},
        {"NaN", '+', "1", "NaN"}, {"Infinity", '-', "Infinity", "NaN"}, {"Infinity", '*', "0", "NaN"},
        {"1", '/', "Infinity", "0"}, {"-Infinity", '/', "2", "-Infinity"}, {"Infinity", '%', "3", "NaN"},
        {"3", '%', "Infinity", "3"},
        {"1", '/', "0", "zero"}, {"NaN", '/', "0", "NaN"}, {"Infinity", '/', "0", "zero"}, {"1", '%', "0", "zero"},
        {"99999999999999999999999999999999999999", '+', "1", "overflow"},
        {"99999999999999999999999999999999999999", '-', "0.1", "overflow"},
        {"10000000000000000000000000000000000000", '-', "9999999999999999999999999999999999999.9", "0.1"},
        {"10000000000000000000", '*', "10000000000000000000", "overflow"},
        {"99999999999999999999999999999999999999", '/', "0.1", "overflow"},
        {"99999999999999999999999999999999999999", '/', "3", "33333333333333333333333333333333333333"},
        {"1000000000000000000000000000000000000.0", '%', "0.3", "0.1"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Num a = number(CASES[i].a), b = number(CASES[i].b), r;
        NumStatus status = CASES[i].op == '+' ? num_add(&a, &b, &r) : CASES[i].op == '-' ? num_sub(&a, &b, &r)
                         : CASES[i].op == '*' ? num_mul(&a, &b, &r) : CASES[i].op == '/' ? num_div(&a, &b, &r)
                                              : num_mod(&a, &b, &r);
        ck_assert_str_eq(text_of(status, &r), CASES[i].out);
    }
}
END_TEST

static NumStatus
log10_of(const Num *a, Num *ret)
{
    Num ten = num_make(10, 0);
    return num_log(&ten, a, ret);
}

START_TEST(functions)
{
    static const struct {
        const char *name, *a, *out;
    } CASES[] = {
        {"sqrt", "0", "0.000000000000000"}, {"sqrt", "2", "1.414213562373095"},
        {"sqrt", "1e4", "100.0000000000000"}, {"sqrt", "0.0001", "0.01000000000000000"},
        {"sqrt", "2.25", "1.500000000000000"}, {"sqrt", "12345678901234567890", "3513641828.8201443"},
        {"sqrt", "1e-9", "0.000031622776601683793"}, {"sqrt", "0.10000", "0.31622776601683793"},
        {"exp", "0", "1.0000000000000000"}, {"exp", "1", "2.7182818284590452"},
        {"exp", "1.0", "2.7182818284590452"}, {"exp", "-1", "0.3678794411714423"},
        {"exp", "10.5", "36315.502674246638"}, {"exp", "-20", "0.000000002061153622438558"},
        {"exp", "50", "5184705528587072464087"}, {"exp", "0.000001", "1.0000010000005000"},
        {"ln", "1", "0.0000000000000000"}, {"ln", "2", "0.6931471805599453"}, {"ln", "10", "2.3025850929940457"},
        {"ln", "0.5", "-0.6931471805599453"}, {"ln", "1.0000001", "0.00000009999999500000033"},
        {"ln", "0.99", "-0.010050335853501441"}, {"ln", "12345678901234567890", "43.959837789202521"},
        {"ln", "1e-20", "-46.05170185988091368036"}, {"log", "1", "0.0000000000000000"},
        {"log", "100", "2.0000000000000000"}, {"log", "100000", "5.000000000000000"},
        {"log", "0.001", "-3.0000000000000000"}, {"log", "2", "0.3010299956639812"},
        {"log", "12345678901234567890", "19.091514977212700"},
        {"sqrt", "-1", "invalid"}, {"ln", "0", "invalid"}, {"ln", "-1", "invalid"}, {"log", "0", "invalid"}, {"exp", "100", "overflow"},
        {"exp", "-200", "0.00000000000000000000000000000000000000"}, {"exp", "-Infinity", "0"}, {"ln", "Infinity", "Infinity"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Num a = number(CASES[i].a), r;
        const char *f = CASES[i].name;
        NumStatus status = f[0] == 's' ? num_sqrt(&a, &r) : f[0] == 'e' ? num_exp(&a, &r) : f[1] == 'n' ? num_ln(&a, &r)
                                                                                               : log10_of(&a, &r);
        ck_assert_str_eq(text_of(status, &r), CASES[i].out);
    }
}
END_TEST

START_TEST(powers)
{
    static const struct {
        const char *a, *b, *out;
    } CASES[] = {
        {"2", "10", "1024.0000000000000"}, {"2", "0.5", "1.4142135623730950"},
        {"2", "-23", "0.0000001192092895507813"}, {"0.5", "20", "0.0000009536743164062500"},
        {"1.5", "3", "3.3750000000000000"}, {"-2", "3", "-8.0000000000000000"}, {"-2", "-3", "-0.1250000000000000"},
        {"10", "37", "10000000000000000000000000000000000000"}, {"0", "0", "1.0000000000000000"},
        {"0", "3", "0.0000000000000000"}, {"0", "2.5", "0.0000000000000000"}, {"9", "0.5", "3.0000000000000000"},
        {"1.0000001", "1000000", "1.1051709125497934"}, {"7.25", "-3.5", "0.0009745788382739201"},
        {"123.456", "2", "15241.383936000000"}, {"0.1", "5", "0.000010000000000000000"},
        {"3", "40", "12157665459056928801"}, {"NaN", "0", "1"}, {"1", "NaN", "1"}, {"2", "Infinity", "Infinity"},
        {"0.5", "Infinity", "0"}, {"-Infinity", "3", "-Infinity"}, {"-Infinity", "-2", "0"},
        {"0", "-1", "invalid"}, {"-2", "0.5", "invalid"}, {"10", "38", "overflow"}, {"10", "1000000000", "overflow"},
        {"1", "2147483647", "1.0000000000000000"}, {"-1", "2147483647", "-1.0000000000000000"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Num a = number(CASES[i].a), b = number(CASES[i].b), r;
        NumStatus status = num_power(&a, &b, &r);
        ck_assert_str_eq(text_of(status, &r), CASES[i].out);
    }
}
END_TEST

START_TEST(rounding)
{
    static const struct {
        const char *a;
        i32 scale;
        const char *out; /* round, trunc, ceil, floor */
    } CASES[] = {
        {"2.5", 0, "3 2 3 2"}, {"-2.5", 0, "-3 -2 -2 -3"}, {"1.005", 2, "1.01 1.00 2 1"},
        {"12345", -2, "12300 12300 12345 12345"}, {"50", -2, "100 0 50 50"}, {"49", -2, "0 0 49 49"},
        {"1.5", 4, "1.5000 1.5000 2 1"}, {"-0.4", 0, "0 0 0 -1"}, {"999.99", 1, "1000.0 999.9 1000 999"},
        {"123456789.987654321", 3, "123456789.988 123456789.987 123456790 123456789"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Num a = number(CASES[i].a), r;
        char text[400];
        int at = snprintf(text, sizeof text, "%s ", text_of(num_round(&a, CASES[i].scale, &r), &r));
        at += snprintf(text + at, sizeof text - (size_t)at, "%s ", text_of(num_trunc(&a, CASES[i].scale, &r), &r));
        at += snprintf(text + at, sizeof text - (size_t)at, "%s ", text_of(num_ceil(&a, &r), &r));
        snprintf(text + at, sizeof text - (size_t)at, "%s", text_of(num_floor(&a, &r), &r));
        ck_assert_str_eq(text, CASES[i].out);
    }
}
END_TEST

START_TEST(averages)
{
    Num r;
    ck_assert_str_eq(text_of(num_avg(10, 0, 4, &r), &r), "2.5000000000000000");
    ck_assert_str_eq(text_of(num_avg(-1000, 2, 3, &r), &r), "-3.3333333333333333");
    ck_assert_str_eq(text_of(num_avg((i128)INT64_MAX * 4, 0, 3, &r), &r), "12297829382473034409");
    ck_assert_str_eq(text_of(num_avg(1, 0, 0, &r), &r), "zero");
}
END_TEST

START_TEST(order_and_hash)
{
    static const char *const ASCENDING[] = {"-Infinity", "-99999999999999999999999999999999999999", "-1.5", "-1.4999", "0", "0.0001",
                                            "1", "1.0000000000000000000000000000000000001", "10", "1e37", "Infinity", "NaN"};
    for (u32 i = 0; i < COUNT_OF(ASCENDING); i++)
        for (u32 j = 0; j < COUNT_OF(ASCENDING); j++) {
            Num a = number(ASCENDING[i]), b = number(ASCENDING[j]);
            int c = num_cmp(&a, &b);
            ck_assert_int_eq((c > 0) - (c < 0), (i > j) - (i < j));
        }
    static const char *const EQUAL[] = {"100", "100.0", "100.000000000000000000000000000000", "1e2"};
    Num first = number(EQUAL[0]);
    for (u32 i = 0; i < COUNT_OF(EQUAL); i++) {
        Num n = number(EQUAL[i]);
        ck_assert_int_eq(num_cmp(&n, &first), 0);
        ck_assert(num_hash(&n) == num_hash(&first));
    }
    Num zero = number("0"), minus_zero = number("-0.00");
    ck_assert(num_hash(&zero) == num_hash(&minus_zero));
}
END_TEST

START_TEST(text_and_binary)
{
    static const struct {
        const char *in;
        i32 typmod;
        const char *out;
    } CASES[] = {
        {"0", -1, "0"}, {"-0.00", -1, "0.00"}, {"1e3", -1, "1000"}, {"1.5e-3", -1, "0.0015"}, {".5", -1, "0.5"},
        {"5.", -1, "5"}, {" +7.10 ", -1, "7.10"}, {"NaN", -1, "NaN"}, {"-inf", -1, "-Infinity"}, {"0x1F", -1, "31"},
        {"1_000.000_1", -1, "1000.0001"}, {"1e1_0", -1, "10000000000"},
        {"", -1, "22P02 invalid input syntax for type numeric: \"\""},
        {".", -1, "22P02 invalid input syntax for type numeric: \".\""},
        {"1e", -1, "22P02 invalid input syntax for type numeric: \"1e\""},
        {"1 2", -1, "22P02 invalid input syntax for type numeric: \"1 2\""},
        {"0x", -1, "22P02 invalid input syntax for type numeric: \"0x\""},
        {"1__0", -1, "22P02 invalid input syntax for type numeric: \"1__0\""},
        {"1234567890123456789012345678.9012345678", -1, "1234567890123456789012345678.9012345678"},
        {"1234.565", MOD(12, 2), "1234.57"}, {"-1234.565", MOD(12, 2), "-1234.57"},
        {"9999999999.995", MOD(12, 2), "22003 numeric field overflow"},
        {"9999999999.99", MOD(12, 2), "9999999999.99"}, {"0.999", MOD(2, 2), "22003 numeric field overflow"},
        {"0.995", MOD(2, 2), "22003 numeric field overflow"},
        {"0.33333333333333333333333333333333333333333333333333", MOD(38, 38), "0.33333333333333333333333333333333333333"},
        {"123456789012345678901234567890123456789", MOD(38, 0), "22003 numeric field overflow"},
        {"99999999999999999999999999999999999999.4", MOD(38, 0), "99999999999999999999999999999999999999"},
        {"99999999999999999999999999999999999999.5", MOD(38, 0), "22003 numeric field overflow"},
        {"1e-500", MOD(5, 2), "0.00"}, {"NaN", MOD(5, 2), "NaN"},
        {"inf", MOD(5, 2), "22003 numeric field overflow"},
        {"1e38", -1, "22003 value overflows numeric format"}, {"1e-39", -1, "22003 value overflows numeric format"},
        {"123456789012345678901234567890123456789", -1, "22003 value overflows numeric format"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++) {
        Value v, back;
        Error err;
        char text[600];
        if (!value_in(arena, NULL, TYPE_NUMERIC, CASES[i].typmod, str_of(CASES[i].in), &v, &err)) {
            snprintf(text, sizeof text, "%s %s", errcode_sqlstate(err.code), err.message);
            ck_assert_str_eq(text, CASES[i].out);
            continue;
        }
        ck_assert_str_eq(text_of(NUM_OK, &v.num), CASES[i].out);
        buf_clear(&buf);
        value_send(&buf, &v);
        ck_assert(value_recv(arena, TYPE_NUMERIC, CASES[i].typmod, buf.data, (u32)buf.len, &back, &err));
        ck_assert_str_eq(text_of(NUM_OK, &back.num), CASES[i].out);
        for (u32 len = 0; len < buf.len; len++) /* no prefix of it is accepted */
            ck_assert(!value_recv(arena, TYPE_NUMERIC, -1, buf.data, len, &back, NULL));
    }
    Error err;
    Value v;
    ck_assert(!value_in(arena, NULL, TYPE_NUMERIC, MOD(12, 2), STR_LIT("1e10"), &v, &err));
    ck_assert_str_eq(err.detail, "A field with precision 12, scale 2 must round to an absolute value less than 10^10.");
    ck_assert(!value_in(arena, NULL, TYPE_NUMERIC, MOD(2, 2), STR_LIT("1"), &v, &err));
    ck_assert_str_eq(err.detail, "A field with precision 2, scale 2 must round to an absolute value less than 1.");
    ck_assert(!value_in(arena, NULL, TYPE_NUMERIC, MOD(2, 2), STR_LIT("inf"), &v, &err));
    ck_assert_str_eq(err.detail, "A field with precision 2, scale 2 cannot hold an infinite value.");
}
END_TEST

START_TEST(binary_digits)
{
    /* 12345.678: digits 1, 2345, 6780; weight 1; display scale 3. */
    static const u8 WIRE[] = {0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c};
    Value v = {.type = TYPE_NUMERIC, .num = number("12345.678")};
    buf_clear(&buf);
    value_send(&buf, &v);
    ck_assert_uint_eq(buf.len, sizeof WIRE);
    ck_assert_mem_eq(buf.data, WIRE, sizeof WIRE);
    /* Digits behind the display scale are cut. */
    static const u8 CUT[] = {0, 3, 0, 1, 0x40, 0, 0, 1, 0, 1, 0x09, 0x29, 0x1a, 0x7c};
    ck_assert(value_recv(arena, TYPE_NUMERIC, -1, CUT, sizeof CUT, &v, NULL));
    ck_assert_str_eq(text_of(NUM_OK, &v.num), "-12345.6");
}
END_TEST

START_TEST(conversions)
{
    Num n, r;
    i64 i;
    n = number("2.5");
    ck_assert(num_to_i64(&n, &i) == NUM_OK && i == 3);
    n = number("9223372036854775807.4");
    ck_assert(num_to_i64(&n, &i) == NUM_OK && i == INT64_MAX);
    n = number("9223372036854775807.5");
    ck_assert(num_to_i64(&n, &i) == NUM_OVERFLOW);
    n = number("NaN");
    ck_assert(num_to_i64(&n, &i) == NUM_INVALID);
    n = number("0.1");
    ck_assert(num_to_f64(&n) == 0.1);
    n = number("12345678901234567890.123456789");
    ck_assert(num_to_f64(&n) == 12345678901234567890.123456789);
    ck_assert_str_eq(text_of(num_from_f64(0.1 + 0.2, &r), &r), "0.3");
    ck_assert_str_eq(text_of(num_from_f64(1e20, &r), &r), "100000000000000000000");
    ck_assert_str_eq(text_of(num_from_f64(1e40, &r), &r), "overflow");
    ck_assert_str_eq(text_of(num_from_f32(0.1f, &r), &r), "0.1");
}
END_TEST

static u64 state = 1;

static u64
next(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    u64 x = state >> 33 ^ state << 20;
    return (x & 7) == 0 ? UINT64_MAX : (x & 7) == 1 ? 0 : (x & 7) == 2 ? 1ull << 63 : x * 0x9e3779b97f4a7c15ull;
}

static Wide
random_wide(u32 limbs)
{
    Wide w = {.count = limbs};
    for (u32 i = 0; i < limbs; i++)
        w.limb[i] = next();
    while (w.count > 0 && w.limb[w.count - 1] == 0)
        w.count--;
    return w;
}

START_TEST(wide_division_undoes_multiplication)
{
    for (u32 i = 0; i < 10000; i++) {
        Wide a = random_wide(i % 10), b = random_wide(1 + i % 7), q, r, product, sum;
        if (b.count == 0)
            continue;
        wide_divmod(&a, &b, &q, &r);
        ck_assert_int_lt(wide_cmp(&r, &b), 0);
        wide_mul(&q, &b, &product);
        wide_add(&product, &r, &sum);
        ck_assert_int_eq(wide_cmp(&sum, &a), 0);
        wide_sub(&sum, &r, &sum);
        ck_assert_int_eq(wide_cmp(&sum, &product), 0);
    }
}
END_TEST

START_TEST(wide_roots_and_shifts)
{
    for (u32 i = 0; i < 500; i++) {
        Wide a = random_wide(1 + i % 5), square, root, one;
        wide_mul(&a, &a, &square);
        wide_sqrt_round(&square, &root);
        ck_assert_int_eq(wide_cmp(&root, &a), 0);
        wide_set(&one, 1);
        wide_add(&square, &one, &square);
        wide_sqrt_round(&square, &root);
        ck_assert(a.count == 0 || wide_cmp(&root, &a) == 0);
        Wide shifted = a;
        wide_shift_left(&shifted, i % 200);
        wide_shift_right(&shifted, i % 200);
        ck_assert_int_eq(wide_cmp(&shifted, &a), 0);
    }
}
END_TEST

int
main(void)
{
    arena = arena_new("test", 0, NULL);
    Suite *s = suite_create("type numeric");
    TCase *c = tcase_create("all");
    tcase_add_test(c, arithmetic);
    tcase_add_test(c, functions);
    tcase_add_test(c, powers);
    tcase_add_test(c, rounding);
    tcase_add_test(c, averages);
    tcase_add_test(c, order_and_hash);
    tcase_add_test(c, text_and_binary);
    tcase_add_test(c, binary_digits);
    tcase_add_test(c, conversions);
    tcase_add_test(c, wide_division_undoes_multiplication);
    tcase_add_test(c, wide_roots_and_shifts);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    buf_free(&buf);
    arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
