/* test_type_other.c: uuid and the types after it: text and binary forms, casts and order, with answers taken from PostgreSQL. */
#include "common/type/interval.h"
#include "common/type/json.h"
#include "tests/unit/type_text.h"

typedef struct TextCase {
    TypeId type;
    i32 typmod;
    const char *in, *want;
} TextCase;

static void
check_texts(const TextCase *cases, u32 count)
{
    for (u32 i = 0; i < count; i++)
        ck_assert_str_eq(round_trip_mod(cases[i].type, cases[i].typmod, cases[i].in), cases[i].want);
}

static int
order_of(TypeId t, const char *a, const char *b)
{
    Value x, y;
    Error err;
    ck_assert(value_in(arena, &FORMAT, t, -1, str_of(a), &x, &err) && value_in(arena, &FORMAT, t, -1, str_of(b), &y, &err));
    int c = value_cmp(&x, &y);
    ck_assert_int_eq(value_cmp(&y, &x), -c);
    return c;
}

START_TEST(uuids)
{
    static const TextCase CASES[] = {
        {TYPE_UUID, -1, "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        {TYPE_UUID, -1, "{a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        {TYPE_UUID, -1, "a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        {TYPE_UUID, -1, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "22P02 invalid input syntax for type uuid: \"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1\""},
        {TYPE_UUID, -1, "a-0eebc999c0b4ef8bb6d6bb9bd380a11", "22P02 invalid input syntax for type uuid: \"a-0eebc999c0b4ef8bb6d6bb9bd380a11\""},
        {TYPE_UUID, -1, "a0eebc999c0b4ef8bb6d6bb9bd380a11}", "22P02 invalid input syntax for type uuid: \"a0eebc999c0b4ef8bb6d6bb9bd380a11}\""},
        {TYPE_UUID, -1, "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "22P02 invalid input syntax for type uuid: \"{a0eebc999c0b4ef8bb6d6bb9bd380a11\""},
        {TYPE_UUID, -1, "", "22P02 invalid input syntax for type uuid: \"\""},
    };
    check_texts(CASES, COUNT_OF(CASES));
    ck_assert_int_lt(order_of(TYPE_UUID, "00000000-0000-0000-ffff-ffffffffffff", "00000000-0000-0001-0000-000000000000"), 0);
    ck_assert_int_lt(order_of(TYPE_UUID, "7fffffff-0000-0000-0000-000000000000", "80000000-0000-0000-0000-000000000000"), 0);
    ck_assert_int_eq(order_of(TYPE_UUID, "80000000-0000-0000-0000-000000000000", "80000000000000000000000000000000"), 0);
    ck_assert_str_eq(cast(TYPE_UUID, "80000000000000000000000000000000", TYPE_TEXT, -1), "80000000-0000-0000-0000-000000000000");
    ck_assert_str_eq(cast(TYPE_TEXT, "x", TYPE_UUID, -1), "22P02 invalid input syntax for type uuid: \"x\"");
}
END_TEST

START_TEST(bytes)
{
    static const TextCase CASES[] = {
        {TYPE_BYTEA, -1, "", "\\x"},
        {TYPE_BYTEA, -1, "\\xDE ad\nBe", "\\xdeadbe"},
        {TYPE_BYTEA, -1, "a\\\\b\\000\\377", "\\x615c6200ff"},
        {TYPE_BYTEA, -1, "\\x1", "22023 invalid hexadecimal data: odd number of digits"},
        {TYPE_BYTEA, -1, "\\x1g", "22023 invalid hexadecimal digit: \"g\""},
        {TYPE_BYTEA, -1, "\\400", "22P02 invalid input syntax for type bytea"},
        {TYPE_BYTEA, -1, "a\\", "22P02 invalid input syntax for type bytea"},
    };
    check_texts(CASES, COUNT_OF(CASES));
    FORMAT.bytea_escape = true;
    ck_assert_str_eq(round_trip(TYPE_BYTEA, "\\x5c611f7f80"), "\\\\a\\037\\177\\200");
    FORMAT.bytea_escape = false;
    ck_assert_int_lt(order_of(TYPE_BYTEA, "\\x01", "\\x0100"), 0);
    ck_assert_int_gt(order_of(TYPE_BYTEA, "\\x80", "\\x7fff"), 0);
}
END_TEST

START_TEST(times)
{
    static const TextCase CASES[] = {
        {TYPE_TIME, -1, "04:05:06.789", "04:05:06.789"},
        {TYPE_TIME, -1, "040506.5 PM", "16:05:06.5"},
        {TYPE_TIME, -1, "24:00:00", "24:00:00"},
        {TYPE_TIME, -1, "23:59:60", "24:00:00"},
        {TYPE_TIME, 0, "23:59:59.5", "24:00:00"},
        {TYPE_TIME, 2, "00:00:00.125", "00:00:00.13"},
        {TYPE_TIME, -1, "24:00:01", "22008 date/time field value out of range: \"24:00:01\""},
        {TYPE_TIME, -1, "12", "22007 invalid input syntax for type time: \"12\""},
        {TYPE_TIMETZ, -1, "04:05:06-08", "04:05:06-08"},
        {TYPE_TIMETZ, -1, "040506.25+0730", "04:05:06.25+07:30"},
        {TYPE_TIMETZ, -1, "24:00+15:59:59", "24:00:00+15:59:59"},
        {TYPE_TIMETZ, -1, "04:05:06+16", "22009 time zone displacement out of range: \"04:05:06+16\""},
        {TYPE_TIMETZ, -1, "x", "22007 invalid input syntax for type time with time zone: \"x\""},
    };
    check_texts(CASES, COUNT_OF(CASES));
    ck_assert_int_lt(order_of(TYPE_TIMETZ, "00:00+15", "00:00-15"), 0);
    ck_assert_int_gt(order_of(TYPE_TIMETZ, "04:05-08", "12:05+00"), 0); /* the same moment: the zone decides */
    ck_assert_int_eq(order_of(TYPE_TIMETZ, "04:05-08", "04:05:00 PST"), 0);
    ck_assert_str_eq(cast(TYPE_TIMESTAMP, "1999-12-31 23:00", TYPE_TIME, -1), "23:00:00");
    ck_assert_str_eq(cast(TYPE_TIMETZ, "23:00:00.55-01", TYPE_TIME, 1), "23:00:00.6");
}
END_TEST

/* What a hostile backend could store must not reach the writers of text. */
START_TEST(impossible_times_are_seen)
{
    ck_assert(time_valid(0) && time_valid(USEC_PER_DAY) && !time_valid(-1) && !time_valid(USEC_PER_DAY + 1) && !time_valid(INT64_MIN));
    Pair good = timetz_pack(USEC_PER_DAY, 15 * 3600), bad[] = {timetz_pack(USEC_PER_DAY + 1, 0), timetz_pack(0, ZONE_SPEC_LIMIT_S),
        timetz_pack(0, -ZONE_SPEC_LIMIT_S), {0, good.lo}, {good.hi, 0}, {UINT64_MAX, UINT64_MAX}, {0, 0}, {good.hi, good.lo + (1ull << 33)}};
    ck_assert(timetz_valid(&good));
    for (u32 i = 0; i < COUNT_OF(bad); i++)
        ck_assert_msg(!timetz_valid(&bad[i]), "%u", i);
}
END_TEST

START_TEST(intervals)
{
    static const TextCase CASES[] = {
        {TYPE_INTERVAL, -1, "1 year 2 mons 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"},
        {TYPE_INTERVAL, -1, "P1Y2M3DT4H5M6.7S", "1 year 2 mons 3 days 04:05:06.7"},
        {TYPE_INTERVAL, -1, "1-2 3 4:05:06", "1 year 2 mons 3 days 04:05:06"},
        {TYPE_INTERVAL, -1, "1d2h ago", "-1 days -02:00:00"},
        {TYPE_INTERVAL, -1, "1.5 mons", "1 mon 15 days"},
        {TYPE_INTERVAL, -1, "2147483647 mons 2147483647 days 9223372036854775807 us", "178956970 years 7 mons 2147483647 days 2562047788:00:54.775807"},
        {TYPE_INTERVAL, -1, "3000000000 days", "22015 interval field value out of range: \"3000000000 days\""},
        {TYPE_INTERVAL, -1, "1 fortnight", "22007 invalid input syntax for type interval: \"1 fortnight\""},
        {TYPE_INTERVAL, -1, "200000000 years", "22008 interval out of range"},
    };
    check_texts(CASES, COUNT_OF(CASES));
    ck_assert_str_eq(round_trip_mod(TYPE_INTERVAL, interval_typmod(INTERVAL_YEAR, INTERVAL_FULL_PRECISION), "2"), "2 years");
    ck_assert_str_eq(round_trip_mod(TYPE_INTERVAL, interval_typmod(INTERVAL_FULL_RANGE, 1), "-1.25 s"), "-00:00:01.3");
    ck_assert_str_eq(type_format(arena, TYPE_INTERVAL, interval_typmod(INTERVAL_DAY | INTERVAL_HOUR, INTERVAL_FULL_PRECISION)), "interval day to hour");
    ck_assert_str_eq(type_format(arena, TYPE_INTERVAL, interval_typmod(INTERVAL_SECOND, 3)), "interval second(3)");
    ck_assert_int_eq(order_of(TYPE_INTERVAL, "1 mon", "30 days"), 0);
    ck_assert_int_eq(order_of(TYPE_INTERVAL, "24:00", "1 day"), 0);
    ck_assert_int_lt(order_of(TYPE_INTERVAL, "-2147483648 mons", "-2147483648 days"), 0);
}
END_TEST

/* What one style writes it reads as the same interval. */
START_TEST(interval_styles_read_back)
{
    static const i64 PARTS[] = {0, 1, -1, 29, -31, 12, 100000, INT32_MAX, -INT32_MAX};
    static const i64 TIMES[] = {0, 1, -1, 999999, -1000000, 3600000000ll, -86400000001ll, 59999999, INT64_MAX, -INT64_MAX};
    for (u32 style = 0; style < 4; style++) {
        FORMAT.interval_style = (u8)style;
        for (u32 i = 0; i < COUNT_OF(PARTS) * COUNT_OF(PARTS) * COUNT_OF(TIMES); i++) {
            Interval v = {TIMES[i / COUNT_OF(PARTS) / COUNT_OF(PARTS)], (i32)PARTS[i % COUNT_OF(PARTS)], (i32)PARTS[i / COUNT_OF(PARTS) % COUNT_OF(PARTS)]};
            Value in = {.type = TYPE_INTERVAL, .typmod = -1, .interval = v}, back;
            Error err;
            buf_clear(&buf);
            value_out(&buf, &FORMAT, &in);
            ck_assert(!buf.failed && buf.len < 128);
            bool read = value_in(arena, &FORMAT, TYPE_INTERVAL, -1, (Str){(char *)buf.data, (u32)buf.len}, &back, &err);
            /* ISO numbers end at 10^15, and ISO seconds are floats */
            if (style == INTERVAL_STYLE_ISO_8601 && (v.us > INT64_MAX / 2 || v.us < -INT64_MAX / 2))
                continue;
            ck_assert_msg(read, "%.*s: %s", (int)buf.len, (char *)buf.data, err.message);
            ck_assert_msg(memcmp(&back.interval, &v, sizeof v) == 0, "%.*s", (int)buf.len, (char *)buf.data);
        }
    }
    FORMAT.interval_style = INTERVAL_STYLE_POSTGRES;
}
END_TEST

START_TEST(times_and_intervals)
{
    i64 us;
    Interval v = {0, 0, 1}, r;
    CivilTime jan31 = {.year = 2020, .month = 1, .day = 31};
    ck_assert(timestamp_from_civil(&jan31, &us) && timestamp_add_interval(us, &v, &us));
    ck_assert_int_eq(us, date_from_civil(2020, 2, 29) * USEC_PER_DAY);
    v = (Interval){INT64_MAX, INT32_MAX, INT32_MAX};
    ck_assert(!timestamp_add_interval(us, &v, &us) && !interval_add(&v, &v, &r) && !interval_mul(&v, 2, &r) && interval_neg(&v, &r));
    v = (Interval){0, 0, INT32_MIN};
    ck_assert(!timestamp_add_interval(us, &v, &us) && !interval_neg(&v, &r));
    v = (Interval){0, 1, 1};
    ck_assert(interval_div(&v, 4, &r));
    ck_assert_int_eq(r.months, 0);
    ck_assert_int_eq(r.days, 7);
    ck_assert_int_eq(r.us, 64800000000ll);
}
END_TEST

START_TEST(single_bytes)
{
    static const TextCase CASES[] = {
        {TYPE_CHAR, -1, "abc", "a"}, {TYPE_CHAR, -1, "", ""}, {TYPE_CHAR, -1, "\\101", "A"}, {TYPE_CHAR, -1, "\xc3\xa4", "\\303"},
        {TYPE_CHAR, -1, "\\377", "\\377"}, {TYPE_CHAR, -1, "\\8", "\\"},
    };
    check_texts(CASES, COUNT_OF(CASES));
    ck_assert_str_eq(cast(TYPE_CHAR, "\\377", TYPE_INT4, -1), "-1");
    ck_assert_str_eq(cast(TYPE_INT4, "-1", TYPE_CHAR, -1), "\\377");
    ck_assert_str_eq(cast(TYPE_INT4, "128", TYPE_CHAR, -1), "22003 \"char\" out of range");
    ck_assert_int_gt(order_of(TYPE_CHAR, "\\200", "z"), 0);
}
END_TEST

START_TEST(json_texts)
{
    static const TextCase CASES[] = {
        {TYPE_JSON, -1, " {\"a\" : [1,2]}", " {\"a\" : [1,2]}"},
        {TYPE_JSON, -1, "\"\\u0000\"", "\"\\u0000\""},
        {TYPE_JSON, -1, "{\"a\":1,}", "22P02 invalid input syntax for type json"},
        {TYPE_JSONB, -1, "{\"b\":1,\"a\" :2, \"aa\":3,\"b\":[ 1 ,{}]}", "{\"a\": 2, \"b\": [1, {}], \"aa\": 3}"},
        {TYPE_JSONB, -1, "[1e5,1.50e1,-0.0,12e-3,0e9]", "[100000, 15.0, 0.0, 0.012, 0]"},
        {TYPE_JSONB, -1, "\"\\u00e4\\ud83d\\ude00\\/\\u0001\"", "\"\xc3\xa4\xf0\x9f\x98\x80/\\u0001\""},
        {TYPE_JSONB, -1, "\"\\u0000\"", "22P05 unsupported Unicode escape sequence"},
        {TYPE_JSONB, -1, "\"\\ud83d\"", "22P02 invalid input syntax for type json"},
        {TYPE_JSONB, -1, "1e999999", "22003 value overflows numeric format"},
    };
    check_texts(CASES, COUNT_OF(CASES));
    ck_assert_str_eq(cast(TYPE_JSONB, "1.5", TYPE_INT4, -1), "2");
    ck_assert_str_eq(cast(TYPE_JSONB, "\"1\"", TYPE_INT4, -1), "22023 cannot cast jsonb string to type integer");
    ck_assert_str_eq(cast(TYPE_JSON, "[1]", TYPE_JSONB, -1), "[1]");
}
END_TEST

START_TEST(json_depth_is_bounded)
{
    enum { DEPTH = 100000 };
    static char deep[DEPTH + 1];
    Error err;
    memset(deep, '[', DEPTH);
    ck_assert(!json_check((Str){deep, DEPTH}, &err));
    ck_assert_int_eq(err.code, ERR_STATEMENT_TOO_COMPLEX);
    memset(deep + 1000, ']', 1000);
    ck_assert(json_check((Str){deep, 2000}, &err));
}
END_TEST

/* Ascending. */
START_TEST(jsonb_order)
{
    static const char *const ORDER[] = {
        "[]", "null", "\"\"", "\"a\"", "\"b\"", "-10", "-9.5", "0", "0.5", "1", "10", "1e2", "1.5e400", "false", "true", "[null]", "[2]", "[[]]", "[{}]", "[1, 2]", "{}",
        "{\"a\": 1}", "{\"a\": 2}", "{\"b\": 0}", "{\"aa\": 1, \"b\": 2}", "{\"a\": 1, \"b\": 2, \"c\": 3}",
    };
    JsonNode *nodes[COUNT_OF(ORDER)], *x, *y;
    Error err;
    for (u32 i = 0; i < COUNT_OF(ORDER); i++)
        ck_assert(json_parse(arena, str_of(ORDER[i]), &nodes[i], &err));
    for (u32 i = 0; i < COUNT_OF(ORDER); i++)
        for (u32 k = 0; k < COUNT_OF(ORDER); k++)
            ck_assert_msg(json_cmp(nodes[i], nodes[k]) == (i > k) - (i < k), "%s %s", ORDER[i], ORDER[k]);
    ck_assert(json_parse(arena, STR_LIT("{\"a\": [1.0, 1e1]}"), &x, &err) && json_parse(arena, STR_LIT("{\"a\": [1, 10.00]}"), &y, &err));
    ck_assert_int_eq(json_cmp(x, y), 0);
    ck_assert_ptr_null(json_element(x->first, 2));
    ck_assert_ptr_eq(json_element(x->first, -1), x->first->first->next);
    ck_assert_ptr_eq(json_member(x, STR_LIT("a")), x->first);
}
END_TEST

int
main(void)
{
    arena = arena_new("test", 0, NULL);
    Suite *s = suite_create("type_other");
    TCase *c = tcase_create("all");
    tcase_add_test(c, uuids);
    tcase_add_test(c, bytes);
    tcase_add_test(c, times);
    tcase_add_test(c, impossible_times_are_seen);
    tcase_add_test(c, intervals);
    tcase_add_test(c, single_bytes);
    tcase_add_test(c, json_texts);
    tcase_add_test(c, json_depth_is_bounded);
    tcase_add_test(c, jsonb_order);
    tcase_add_test(c, interval_styles_read_back);
    tcase_add_test(c, times_and_intervals);
    suite_add_tcase(s, c);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    buf_free(&buf);
    arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
