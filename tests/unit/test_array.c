/*
 * test_array.c
 *    Arrays as bytes: order, walks, hostile messages, bytes that are none.
 */
#include "common/type/array.h"

#include <check.h>
#include <stdlib.h>

static Arena *arena;
static u64 seed;

static u64
next_random(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return seed >> 33;
}

static void
setup(void)
{
    arena = arena_new("test", 0, NULL);
    seed = 42;
}

static void
teardown(void)
{
    arena_free(arena);
}

static Value
random_item(TypeId t)
{
    static const char *const TEXTS[] = {"", "a", "ab", "b", "\xc3\xa4"};
    Value v = {.type = t, .typmod = -1, .is_null = next_random() % 5 == 0};
    u64 r = next_random() % 5;
    switch ((int)t) {
    case TYPE_BOOL: v.b = r & 1; break;
    case TYPE_INT2: v.i16v = (i16)(r - 2); break;
    case TYPE_INT4: v.i32v = (i32)(r - 2) * 100000; break;
    case TYPE_INT8: v.i64v = ((i64)r - 2) * 10000000000; break;
    case TYPE_FLOAT8: v.f64v = ((double)r - 2) * 1.5; break;
    case TYPE_UUID: v.pair = (Pair){r << 63, r}; break;
    case TYPE_BYTEA: v.str = (Str){"\0\0\xff\0", (u32)r % 5}; break;
    case TYPE_INTERVAL: v.interval = (Interval){.days = (i32)(r - 2)}; break;
    case TYPE_BPCHAR: v.str = r & 1 ? STR_LIT("a  ") : STR_LIT("a"); break;
    default: v.str = str_of(TEXTS[r]); break;
    }
    return v;
}

static const TypeId TYPES[] = {TYPE_BOOL, TYPE_INT2, TYPE_INT4, TYPE_INT8, TYPE_FLOAT8, TYPE_UUID, TYPE_BYTEA, TYPE_INTERVAL, TYPE_TEXT, TYPE_BPCHAR};

/* count items; the array of them. */
static Str
make(TypeId t, Value *items, u32 count)
{
    ArrayBuild b = array_build(arena, t);
    Str ret;
    Error err;
    for (u32 i = 0; i < count; i++) {
        items[i] = random_item(t);
        ck_assert(array_add(&b, &items[i], &err));
    }
    ck_assert(array_finish_list(&b, &ret, &err));
    return ret;
}

/* As the elements say, one after the other, NULL last, then by length. */
static int
plain_cmp(const Value *a, u32 n, const Value *b, u32 m)
{
    for (u32 i = 0; i < MIN(n, m); i++) {
        bool blanks = a[i].type == TYPE_BPCHAR && !a[i].is_null && !b[i].is_null; /* random_item makes only one */
        int c = a[i].is_null || b[i].is_null ? a[i].is_null - b[i].is_null : blanks ? 0 : value_cmp(&a[i], &b[i]);
        if (c)
            return c < 0 ? -1 : 1;
    }
    return (n > m) - (n < m);
}

START_TEST(order)
{
    TypeId t = TYPES[_i];
    for (u32 round = 0; round < 3000; round++) {
        Value x[6], y[6], back;
        u32 n = (u32)(next_random() % 6), m = (u32)(next_random() % 6), i = 0;
        Value a = {.type = type_array(t), .str = make(t, x, n)}, b = {.type = type_array(t), .str = make(t, y, m)};
        int want = plain_cmp(x, n, y, m), got = value_cmp(&a, &b), bytes = str_cmp(a.str, b.str);
        ck_assert_int_eq(want, (got > 0) - (got < 0));
        if (type_bytes_tell(a.type))
            ck_assert_int_eq(want, (bytes > 0) - (bytes < 0));
        ck_assert(array_valid(t, a.str));
        Array open = array_open(t, a.str);
        for (ArrayWalk w = array_walk(&open); array_next(&w, arena, &back); i++)
            ck_assert(back.is_null ? x[i].is_null : !x[i].is_null && value_cmp(&back, &x[i]) == 0);
        ck_assert_uint_eq(i, n);
        if (n > 2) { /* from the middle */
            ArrayWalk w = array_walk(&open);
            array_skip(&w, 2);
            ck_assert(array_next(&w, arena, &back));
            ck_assert(back.is_null ? x[2].is_null : value_cmp(&back, &x[2]) == 0);
        }
        arena_reset(arena);
    }
}
END_TEST

/* Changed bytes are refused, or an array that can be written. */
START_TEST(other_bytes)
{
    TypeId t = TYPES[_i];
    u32 refused = 0;
    for (u32 round = 0; round < 5000; round++) {
        Value x[6];
        ByteBuf out = {0};
        Str a = make(t, x, (u32)(next_random() % 6));
        char *copy = malloc(a.len);
        memcpy(copy, a.ptr, a.len);
        copy[next_random() % a.len] = (char)next_random();
        u32 len = a.len - (u32)(next_random() % 3 == 0);
        Value v = {.type = type_array(t), .str = {copy, len}};
        if (array_valid(t, v.str))
            value_out(&out, NULL, &v);
        else
            refused++;
        buf_free(&out);
        free(copy);
        arena_reset(arena);
    }
    ck_assert_uint_gt(refused, 100);
    ck_assert(!array_valid(t, (Str){"", 0}));
    ck_assert(!array_valid(t, (Str){"\xff", 1}));
}
END_TEST

static const struct { const char *what; u32 words[12]; u32 count; const char *sqlstate; } HOSTILE[] = {
    {"nothing", {0}, 0, "08P01"},
    {"too many dimensions", {7, 0, 23}, 3, "54000"},
    {"less than none", {0xffffffff, 0, 23}, 3, "22P03"},
    {"unknown flags", {1, 2, 23, 1, 1}, 5, "22P03"},
    {"another type", {1, 0, 25, 1, 1}, 5, "42804"},
    {"dimension missing", {1, 0, 23}, 3, "08P01"},
    {"more elements than bytes", {1, 0, 23, 1000000, 1}, 5, "08P01"},
    {"product overflows", {3, 0, 23, 0x10000, 1, 0x10000, 1, 0x10000, 1}, 9, "54000"},
    {"negative length", {1, 0, 23, 0xfffffff0, 1}, 5, "54000"},
    {"bound overflows", {1, 0, 23, 2, 0x7fffffff, 0xffffffff, 0xffffffff}, 7, "54000"},
    {"element longer than the message", {1, 0, 23, 1, 1, 100, 0}, 7, "22P03"},
    {"element of negative size", {1, 0, 23, 1, 1, 0xfffffffe, 0}, 7, "22P03"},
    {"element too long", {1, 0, 23, 1, 1, 8, 0, 0}, 8, "22P03"},
    {"bytes left over", {1, 0, 23, 1, 1, 4, 7, 9}, 8, "22P03"},
};

START_TEST(hostile_message)
{
    ByteBuf b = {0};
    Value v;
    Error err = {0};
    for (u32 i = 0; i < HOSTILE[_i].count; i++)
        buf_be32(&b, HOSTILE[_i].words[i]);
    ck_assert_msg(!value_recv(arena, type_array(TYPE_INT4), -1, b.data ? b.data : (const u8 *)"", (u32)b.len, &v, &err), "%s", HOSTILE[_i].what);
    ck_assert_str_eq(errcode_sqlstate(err.code), HOSTILE[_i].sqlstate);
    ck_assert_uint_lt(arena_used_bytes(arena), 100000);
    buf_free(&b);
}
END_TEST

START_TEST(facts)
{
    for (u32 t = 1; t < TYPE_COUNT; t++) {
        TypeId a = type_array((TypeId)t);
        if (!a)
            continue;
        ck_assert(type_is_array(a) && type_element(a) == t && type_from_oid(type_oid(a)) == a && type_category(a) == 'A');
        ck_assert_str_eq(type_name(a), arena_printf(arena, "%s[]", type_name((TypeId)t)));
        ck_assert_int_eq(type_from_name(str_of(type_internal_name(a))), a);
        ck_assert_int_eq(phys_of(a, -1), PHYS_STR);
        ck_assert(array_valid((TypeId)t, array_empty()));
    }
    ck_assert(!type_array(TYPE_VOID) && !type_array(type_array(TYPE_INT4)));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("array");
    TCase *c = tcase_create("array");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, order, 0, COUNT_OF(TYPES));
    tcase_add_loop_test(c, other_bytes, 0, COUNT_OF(TYPES));
    tcase_add_loop_test(c, hostile_message, 0, COUNT_OF(HOSTILE));
    tcase_add_test(c, facts);
    tcase_set_timeout(c, 120);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
