/* test_type_other.c: uuid and the types after it: text and binary forms, casts and order, with answers taken from PostgreSQL. */
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

int
main(void)
{
    arena = arena_new("test", 0, NULL);
    Suite *s = suite_create("type_other");
    TCase *c = tcase_create("all");
    tcase_add_test(c, uuids);
    tcase_add_test(c, bytes);
    suite_add_tcase(s, c);
    SRunner *runner = srunner_create(s);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    buf_free(&buf);
    arena_free(arena);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
