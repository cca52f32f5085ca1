/* test_type_float.c: the table of powers of ten, and that floats are written shortest and read back as the same bits. */
#include "common/type/inside.h"
#include "common/type/wide.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    u64 high, low;
} POWERS[] = {
#define POW10(high, low) {high, low},
#include "common/type/pow10.def"
};

START_TEST(powers_of_ten)
{
    ck_assert_uint_eq(COUNT_OF(POWERS), 292 + 1 + 324);
    for (i32 k = -292; k <= 324; k++) {
        Wide ten, one, q, r;
        wide_set(&ten, 1);
        wide_mul_pow10(&ten, (u32)(k < 0 ? -k : k));
        wide_set(&one, 1);
        /* Bring 10^k, or its inverse, to 128 bits, rounded up. */
        i32 bits = (i32)wide_bits(&ten);
        if (k < 0) {
            wide_shift_left(&one, (u32)(bits + 127));
            wide_divmod(&one, &ten, &q, &r);
        } else {
            Wide unit = one;
            wide_shift_left(&unit, (u32)MAX(bits - 128, 0));
            wide_shift_left(&ten, (u32)MAX(128 - bits, 0));
            wide_divmod(&ten, &unit, &q, &r);
        }
        if (r.count > 0) {
            wide_set(&one, 1);
            wide_add(&q, &one, &q);
        }
        u128 v;
        ck_assert(wide_get(&q, &v));
        ck_assert(v == ((u128)POWERS[k + 292].high << 64 | POWERS[k + 292].low));
    }
}
END_TEST

static u64 state = 7;

static u64
next(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state ^ state >> 29;
}

/* Significant digits of a printed number. */
static int
count_digits(const char *text)
{
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (!is_digit(*text) || (count == 0 && *text == '0'))
            continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

START_TEST(doubles_are_shortest)
{
    for (u32 i = 0; i < 10000; i++) {
        u64 bits = next() & INT64_MAX;
        double v, back;
        if (i % 4 == 0)
            bits &= ~0xfffffffffffffull; /* a power of two */
        memcpy(&v, &bits, 8);
        if (!isfinite(v) || v == 0)
            continue;
        char text[OUT_MAX + 1], shorter[64];
        text[f64_out(v, 1, text)] = 0;
        ck_assert(f64_in(str_of(text), &back, NULL) && back == v);
        int digits = count_digits(text);
        ck_assert_int_le(digits, 17);
        /* From 2^53 on a shorter decimal may lie exactly half way to the next double, and does not count. */
        if (digits > 1 && (v < 0x1p53 || v > 1e25)) {
            snprintf(shorter, sizeof shorter, "%.*e", digits - 2, v);
            ck_assert(strtod(shorter, NULL) != v);
        }
    }
}
END_TEST

START_TEST(floats_are_shortest)
{
    for (u32 i = 0; i < 10000; i++) {
        u32 bits = (u32)next() & INT32_MAX;
        float v, back;
        if (i % 4 == 0)
            bits &= ~0x7fffffu;
        memcpy(&v, &bits, 4);
        if (!isfinite(v) || v == 0)
            continue;
        char text[OUT_MAX + 1];
        text[f32_out(v, 1, text)] = 0;
        ck_assert(strtof(text, NULL) == v);
        ck_assert(f32_in(str_of(text), &back, NULL) && back == v);
        ck_assert_int_le(count_digits(text), 9);
    }
}
END_TEST

START_TEST(reals_are_rounded_once)
{
    /* Decimals close to the middle between two floats, where going through double would round twice. */
    for (u32 i = 0; i < 10000; i++) {
        u32 bits = 0x30000000u + (u32)next() % 0x20000000u;
        float v, back;
        memcpy(&v, &bits, 4);
        char text[64];
        snprintf(text, sizeof text, "%.*e", (int)(next() % 12) + 5, ((double)v + (double)nextafterf(v, INFINITY)) / 2);
        ck_assert(f32_in(str_of(text), &back, NULL));
        ck_assert(back == strtof(text, NULL));
    }
}
END_TEST

START_TEST(fewer_digits_on_request)
{
    char text[OUT_MAX + 1];
    text[f64_out(0.1 + 0.2, 0, text)] = 0;
    ck_assert_str_eq(text, "0.3");
    text[f64_out(1234567.0, -10, text)] = 0;
    ck_assert_str_eq(text, "1.2346e+06");
    text[f32_out(0.1f, 0, text)] = 0;
    ck_assert_str_eq(text, "0.1");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("type float");
    TCase *c = tcase_create("all");
    tcase_add_test(c, powers_of_ten);
    tcase_add_test(c, doubles_are_shortest);
    tcase_add_test(c, floats_are_shortest);
    tcase_add_test(c, reals_are_rounded_once);
    tcase_add_test(c, fewer_digits_on_request);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
