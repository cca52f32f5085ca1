/* test_type.c: facts, text and binary forms, casts and order of single values, with answers taken from PostgreSQL. */
#include "common/type/zone.h"
#include "tests/unit/type_text.h"

START_TEST(facts_agree_with_the_table)
{
    for (u32 t = 1; t < TYPE_COUNT; t++) {
        ck_assert_int_eq(type_from_oid(type_oid((TypeId)t)), t);
        ck_assert_int_eq(type_from_name(str_of(type_name((TypeId)t))), t);
        ck_assert_int_eq(type_from_name(str_of(type_internal_name((TypeId)t))), t);
    }
    ck_assert_int_eq(type_from_name(STR_LIT("decimal")), TYPE_NUMERIC);
    ck_assert_int_eq(type_from_name(STR_LIT("money")), TYPE_INVALID);
    ck_assert_int_eq(type_from_oid(0), TYPE_INVALID);
    ck_assert_str_eq(type_format(arena, TYPE_NUMERIC, numeric_typmod(12, 2)), "numeric(12,2)");
    ck_assert_str_eq(type_format(arena, TYPE_VARCHAR, 14), "character varying(10)");
    ck_assert_str_eq(type_format(arena, TYPE_INT4, -1), "integer");
    ck_assert_int_eq(phys_of(TYPE_NUMERIC, numeric_typmod(18, 2)), PHYS_D64);
    ck_assert_int_eq(phys_of(TYPE_NUMERIC, numeric_typmod(19, 2)), PHYS_D128);
    ck_assert_int_eq(phys_of(TYPE_NUMERIC, -1), PHYS_NUM);
}
END_TEST

START_TEST(integers)
{
    static const struct {
        TypeId t;
        const char *in, *out;
    } CASES[] = {
        {TYPE_INT4, "42", "42"},
        {TYPE_INT4, "  -7 ", "-7"},
        {TYPE_INT4, "+5", "5"},
        {TYPE_INT4, "-2147483648", "-2147483648"},
        {TYPE_INT4, "2147483648", "22003 value \"2147483648\" is out of range for type integer"},
        {TYPE_INT4, "99999999999999999999999", "22003 value \"99999999999999999999999\" is out of range for type integer"},
        {TYPE_INT4, "x", "22P02 invalid input syntax for type integer: \"x\""},
        {TYPE_INT4, "", "22P02 invalid input syntax for type integer: \"\""},
        {TYPE_INT4, "1 2", "22P02 invalid input syntax for type integer: \"1 2\""},
        {TYPE_INT4, "1.5", "22P02 invalid input syntax for type integer: \"1.5\""},
        {TYPE_INT4, "0x1F", "31"},
        {TYPE_INT4, "0b101", "5"},
        {TYPE_INT4, "-0o17", "-15"},
        {TYPE_INT4, "1_000", "1000"},
        {TYPE_INT4, "1__0", "22P02 invalid input syntax for type integer: \"1__0\""},
        {TYPE_INT4, "1_", "22P02 invalid input syntax for type integer: \"1_\""},
        {TYPE_INT4, "0x", "22P02 invalid input syntax for type integer: \"0x\""},
        {TYPE_INT2, "-32769", "22003 value \"-32769\" is out of range for type smallint"},
        {TYPE_INT2, "32767", "32767"},
        {TYPE_INT8, "-9223372036854775808", "-9223372036854775808"},
        {TYPE_INT8, "9223372036854775807", "9223372036854775807"},
        {TYPE_INT8, "9223372036854775808", "22003 value \"9223372036854775808\" is out of range for type bigint"},
        {TYPE_OID, "4294967295", "4294967295"},
        {TYPE_OID, "-1", "4294967295"},
        {TYPE_BOOL, "TRUE", "t"},
        {TYPE_BOOL, " of ", "f"},
        {TYPE_BOOL, "o", "22P02 invalid input syntax for type boolean: \"o\""},
        {TYPE_BOOL, "1", "t"},
        {TYPE_BOOL, "", "22P02 invalid input syntax for type boolean: \"\""},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++)
        ck_assert_str_eq(round_trip(CASES[i].t, CASES[i].in), CASES[i].out);
}
END_TEST

START_TEST(floats)
{
    static const struct {
        TypeId t;
        const char *in, *out;
    } CASES[] = {
        {TYPE_FLOAT8, "0.1", "0.1"},
        {TYPE_FLOAT8, "1e15", "1e+15"},
        {TYPE_FLOAT8, "123456789012345", "123456789012345"},
        {TYPE_FLOAT8, "0.0001", "0.0001"},
        {TYPE_FLOAT8, "0.00001", "1e-05"},
        {TYPE_FLOAT8, "-0", "-0"},
        {TYPE_FLOAT8, "1.7976931348623157e308", "1.7976931348623157e+308"},
        {TYPE_FLOAT8, "5e-324", "5e-324"},
        {TYPE_FLOAT8, "2.2250738585072014e-308", "2.2250738585072014e-308"},
        {TYPE_FLOAT8, "1e23", "9.999999999999999e+22"},
        {TYPE_FLOAT8, "9007199254740993", "9.007199254740992e+15"},
        {TYPE_FLOAT8, "0.30000000000000004", "0.30000000000000004"},
        {TYPE_FLOAT8, "nan", "NaN"},
        {TYPE_FLOAT8, "-Inf", "-Infinity"},
        {TYPE_FLOAT8, "1e400", "22003 \"1e400\" is out of range for type double precision"},
        {TYPE_FLOAT8, "1e-400", "22003 \"1e-400\" is out of range for type double precision"},
        {TYPE_FLOAT8, "abc", "22P02 invalid input syntax for type double precision: \"abc\""},
        {TYPE_FLOAT8, "", "22P02 invalid input syntax for type double precision: \"\""},
        {TYPE_FLOAT4, "0.1", "0.1"},
        {TYPE_FLOAT4, "1e6", "1e+06"},
        {TYPE_FLOAT4, "123456.7", "123456.7"},
        {TYPE_FLOAT4, "16777217", "1.6777216e+07"},
        {TYPE_FLOAT4, "3.4028235e38", "3.4028235e+38"},
        {TYPE_FLOAT4, "1e39", "22003 \"1e39\" is out of range for type real"},
        {TYPE_FLOAT4, "1e-45", "1e-45"},
    };
    for (u32 i = 0; i < COUNT_OF(CASES); i++)
        ck_assert_str_eq(round_trip(CASES[i].t, CASES[i].in), CASES[i].out);
}
END_TEST

START_TEST(texts)
{
    ck_assert_str_eq(round_trip(TYPE_TEXT, "h\xc3\xa4ll\xc3\xb6"), "h\xc3\xa4ll\xc3\xb6");
    ck_assert_str_eq(round_trip_mod(TYPE_VARCHAR, 7, "abc   "), "abc");
    ck_assert_str_eq(round_trip_mod(TYPE_VARCHAR, 7, "\xc3\xa4\xc3\xb6\xc3\xbc"), "\xc3\xa4\xc3\xb6\xc3\xbc");
    ck_assert_str_eq(round_trip_mod(TYPE_VARCHAR, 7, "abcd"), "22001 value too long for type character varying(3)");
    ck_assert_str_eq(cast(TYPE_TEXT, "abcdef", TYPE_VARCHAR, 7), "abc");
    ck_assert_str_eq(round_trip(TYPE_TEXT, "a\xff"), "22021 invalid byte sequence for encoding \"UTF8\": 0xff");
    ck_assert_str_eq(round_trip(TYPE_TEXT, "\xe2\x28\xa1z"),
                     "22021 invalid byte sequence for encoding \"UTF8\": 0xe2 0x28 0xa1");
    Value v;
    Error err;
    ck_assert(!value_in(arena, &FORMAT, TYPE_TEXT, -1, (Str){"ab\0cdefghijkl", 13}, &v, &err));
    ck_assert_str_eq(err.message, "invalid byte sequence for encoding \"UTF8\": 0x00");
    ck_assert(utf8_valid((const u8 *)"\xf0\x9f\x98\x80 and more text \xed\x9f\xbf", 22));
    ck_assert(!utf8_valid((const u8 *)"\xed\xa0\x80", 3));
    ck_assert(!utf8_valid((const u8 *)"\xc0\x80", 2));
    ck_assert(!utf8_valid((const u8 *)"\xf4\x90\x80\x80", 4));
    ck_assert(!utf8_valid((const u8 *)"12345678\xe2\x82", 10));
    ck_assert_uint_eq(utf8_len(STR_LIT("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
}
END_TEST

START_TEST(casts)
{
    ck_assert_str_eq(cast(TYPE_FLOAT8, "2.5", TYPE_INT4, -1), "2");
    ck_assert_str_eq(cast(TYPE_NUMERIC, "2.5", TYPE_INT4, -1), "3");
    ck_assert_str_eq(cast(TYPE_NUMERIC, "-2.5", TYPE_INT8, -1), "-3");
    ck_assert_str_eq(cast(TYPE_FLOAT8, "3e9", TYPE_INT4, -1), "22003 integer out of range");
    ck_assert_str_eq(cast(TYPE_FLOAT8, "NaN", TYPE_INT8, -1), "22003 bigint out of range");
    ck_assert_str_eq(cast(TYPE_NUMERIC, "NaN", TYPE_INT4, -1), "0A000 cannot convert NaN to integer");
    ck_assert_str_eq(cast(TYPE_INT4, "70000", TYPE_INT2, -1), "22003 smallint out of range");
    ck_assert_str_eq(cast(TYPE_INT8, "-1", TYPE_OID, -1), "22003 OID out of range");
    ck_assert_str_eq(cast(TYPE_INT4, "-1", TYPE_OID, -1), "4294967295");
    ck_assert_str_eq(cast(TYPE_BOOL, "t", TYPE_TEXT, -1), "true");
    ck_assert_str_eq(cast(TYPE_BOOL, "t", TYPE_INT4, -1), "1");
    ck_assert_str_eq(cast(TYPE_INT4, "7", TYPE_BOOL, -1), "t");
    ck_assert_str_eq(cast(TYPE_BOOL, "t", TYPE_INT8, -1), "42846 cannot cast type boolean to bigint");
    ck_assert_str_eq(cast(TYPE_FLOAT8, "1e39", TYPE_FLOAT4, -1), "22003 value out of range: overflow");
    ck_assert_str_eq(cast(TYPE_FLOAT8, "0.1", TYPE_NUMERIC, -1), "0.1");
    ck_assert_str_eq(cast(TYPE_FLOAT8, "1e-300", TYPE_NUMERIC, numeric_typmod(5, 2)), "0.00");
    ck_assert_str_eq(cast(TYPE_INT4, "12345", TYPE_NUMERIC, numeric_typmod(5, 1)), "22003 numeric field overflow");
    ck_assert_str_eq(cast(TYPE_TEXT, " 12 ", TYPE_INT4, -1), "12");
    ck_assert_str_eq(cast(TYPE_INT4, "12345", TYPE_VARCHAR, 6), "12");
    ck_assert_str_eq(cast(TYPE_TIMESTAMP, "1999-12-31 23:59:59.9", TYPE_DATE, -1), "1999-12-31");
    ck_assert_str_eq(cast(TYPE_DATE, "2026-11-30", TYPE_TIMESTAMP, -1), "2026-11-30 00:00:00");
    ck_assert_str_eq(cast(TYPE_DATE, "5874897-12-31", TYPE_TIMESTAMP, -1), "22008 date out of range for timestamp");
    ck_assert_str_eq(cast(TYPE_DATE, "-infinity", TYPE_TIMESTAMPTZ, -1), "-infinity");
    TypeFormat east = {.zone = zone_find("<+02>-02")};
    Value v = {.type = TYPE_TIMESTAMP, .typmod = -1, .i64v = 0}, out;
    ck_assert(value_cast(arena, &east, &v, TYPE_TIMESTAMPTZ, -1, true, &out, NULL));
    ck_assert_int_eq(out.i64v, -7200000000LL);
    buf_clear(&buf);
    value_out(&buf, &east, &out);
    ck_assert_uint_eq(buf.len, 22);
    ck_assert_mem_eq(buf.data, "2000-01-01 00:00:00+02", 22);
}
END_TEST

START_TEST(order)
{
    Value a = {.type = TYPE_FLOAT8, .f64v = 1}, b = {.type = TYPE_FLOAT8}, nan = {.type = TYPE_FLOAT8};
    b.f64v = -2;
    nan.f64v = __builtin_nan("");
    ck_assert_int_gt(value_cmp(&a, &b), 0);
    ck_assert_int_gt(value_cmp(&nan, &a), 0);
    ck_assert_int_eq(value_cmp(&nan, &nan), 0);
    Value o = {.type = TYPE_OID, .i64v = UINT32_MAX}, q = {.type = TYPE_OID, .i64v = 5};
    ck_assert_int_gt(value_cmp(&o, &q), 0);
    Value s = {.type = TYPE_TEXT, .str = STR_LIT("ab")}, t = {.type = TYPE_TEXT, .str = STR_LIT("b")};
    ck_assert_int_lt(value_cmp(&s, &t), 0);
}
END_TEST

START_TEST(physical_forms)
{
    Value v = {.type = TYPE_NUMERIC, .typmod = numeric_typmod(12, 2)};
    Error err;
    ck_assert(value_in(arena, &FORMAT, TYPE_NUMERIC, v.typmod, STR_LIT("-1234.565"), &v, &err));
    i64 d;
    i128 big;
    value_to_phys(&v, PHYS_D64, 2, &d);
    ck_assert_int_eq(d, -123457);
    value_to_phys(&v, PHYS_D128, 4, &big);
    ck_assert(big == -12345700);
    buf_clear(&buf);
    phys_out(&buf, &FORMAT, TYPE_NUMERIC, PHYS_D64, 2, &d);
    ck_assert_mem_eq(buf.data, "-1234.57", 8);
    Value back = value_from_phys(TYPE_NUMERIC, v.typmod, PHYS_D64, 2, &d);
    ck_assert_int_eq(num_cmp(&back.num, &v.num), 0);
    d = D64_NAN;
    buf_clear(&buf);
    phys_out(&buf, &FORMAT, TYPE_NUMERIC, PHYS_D64, 2, &d);
    ck_assert_mem_eq(buf.data, "NaN", 3);
}
END_TEST

START_TEST(bad_bytes_are_refused)
{
    Value v;
    Error err;
    const u8 bytes[16] = {0};
    ck_assert(!value_recv(arena, TYPE_INT4, -1, bytes, 3, &v, &err));
    ck_assert_str_eq(errcode_sqlstate(err.code), "08P01");
    ck_assert(!value_recv(arena, TYPE_INT4, -1, bytes, 5, &v, &err));
    ck_assert_str_eq(errcode_sqlstate(err.code), "22P03");
    for (u32 len = 0; len < 8; len++)
        ck_assert(!value_recv(arena, TYPE_NUMERIC, -1, bytes, len, &v, &err));
    const u8 digit_9999[10] = {0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10}; /* digit 10000 */
    ck_assert(!value_recv(arena, TYPE_NUMERIC, -1, digit_9999, 10, &v, &err));
    ck_assert(!value_recv(arena, TYPE_NUMERIC, -1, bytes, 9, &v, &err));
    const u8 late[4] = {0x7f, 0xff, 0xff, 0xfe};
    ck_assert(!value_recv(arena, TYPE_DATE, -1, late, 4, &v, &err));
    ck_assert_str_eq(err.message, "date out of range");
}
END_TEST

/* Whatever comes in is read or refused; what is read can be written. */
START_TEST(noise_is_survived)
{
    static const char ALPHABET[] = "0123456789+-.:/ eEtTzZxXnNaAiIfF_,JjBbCcPpMmdhsyogulr{}[]\"\\\xc3\xa4\0";
    u64 state = 1;
    for (u32 i = 0; i < 40000; i++) {
        u8 text[40];
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        u64 x = state ^ state >> 31;
        u32 len = (u32)(x % 39);
        for (u32 j = 0; j < len; j++) {
            x = x * 0x9e3779b97f4a7c15ull + j;
            text[j] = i % 2 ? (u8)(x >> 56) : (u8)ALPHABET[(x >> 40) % sizeof ALPHABET];
        }
        TypeId t = (TypeId)(1 + i / 2 % (TYPE_COUNT - 1));
        i32 typmod = t == TYPE_NUMERIC && i % 3 == 0 ? numeric_typmod(10, 3) : -1;
        Value v;
        u8 *copy = malloc(len ? len : 1); /* of the exact size, so that a sanitizer sees a step beyond */
        memcpy(copy, text, len);
        buf_clear(&buf);
        if (value_in(arena, &FORMAT, t, typmod, (Str){(char *)copy, len}, &v, NULL))
            value_out(&buf, &FORMAT, &v);
        if (value_recv(arena, t, typmod, copy, len, &v, NULL))
            value_out(&buf, &FORMAT, &v);
        free(copy);
    }
}
END_TEST

int
main(void)
{
    arena = arena_new("test", 0, NULL);
    Suite *s = suite_create("type");
    TCase *c = tcase_create("values");
    tcase_add_test(c, facts_agree_with_the_table);
    tcase_add_test(c, integers);
    tcase_add_test(c, floats);
    tcase_add_test(c, texts);
    tcase_add_test(c, casts);
    tcase_add_test(c, order);
    tcase_add_test(c, physical_forms);
    tcase_add_test(c, bad_bytes_are_refused);
    tcase_add_test(c, noise_is_survived);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    buf_free(&buf);
    arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
