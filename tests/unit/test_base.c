/* test_base.c: arenas, bytes, hashes, checksums, errors. */
#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/error.h"
#include "common/base/hash.h"

#include <check.h>
#include <stdlib.h>

static int hook_order[4], hook_count;

static void
note_hook(void *what)
{
    hook_order[hook_count++] = *(int *)what;
}

START_TEST(arena_pieces_are_aligned_and_limited)
{
    Arena *a = arena_new("test", 64 * 1024, NULL);
    for (size_t n = 0; n < 200; n++) {
        u8 *p = arena_alloc(a, n);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        memset(p, 1, n);
    }
    ck_assert_ptr_null(arena_alloc(a, 70 * 1024));
    ck_assert_ptr_null(arena_array(a, SIZE_MAX / 2, 4));
    ck_assert_ptr_null(arena_big_alloc(a, 1 << 20));
    arena_reset(a);
    ck_assert_ptr_nonnull(arena_alloc(a, 40 * 1024));
    arena_free(a);
}
END_TEST

START_TEST(arena_hooks_run_newest_first)
{
    static int one = 1, two = 2, three = 3;
    Arena *a = arena_new("test", 0, NULL);
    hook_count = 0;
    arena_hook(a, note_hook, &one);
    arena_hook(a, note_hook, &two);
    arena_hook(a, note_hook, &three);
    arena_unhook(a, note_hook, &two);
    arena_reset(a);
    ck_assert_int_eq(hook_count, 2);
    ck_assert_int_eq(hook_order[0], 3);
    ck_assert_int_eq(hook_order[1], 1);
    arena_free(a);
}
END_TEST

START_TEST(arena_big_pieces_are_counted)
{
    Arena *a = arena_new("test", 8 << 20, NULL);
    void *p = arena_big_alloc(a, 5 << 20), *q = arena_big_alloc(a, 5 << 20);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(q);
    arena_big_free(a, p);
    q = arena_big_alloc(a, 5 << 20);
    ck_assert_ptr_nonnull(q);
    arena_free(a);
}
END_TEST

START_TEST(crc32c_known_and_both_ways)
{
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283u);
    ck_assert_uint_eq(crc32c_table(0, "123456789", 9), 0xe3069283u);
    u8 data[1000];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (u8)(i * 7 + i / 3);
    for (size_t at = 0; at < 16; at++)
        for (size_t n = 0; n + at < sizeof data; n += 13) {
            ck_assert_uint_eq(crc32c(5, data + at, n), crc32c_table(5, data + at, n));
            ck_assert_uint_eq(crc32c(crc32c(0, data, at), data + at, n), crc32c(0, data, at + n));
        }
}
END_TEST

START_TEST(reader_stops_at_the_end)
{
    u8 data[] = {1, 2, 3, 4, 5};
    ByteReader r = reader_of(data, sizeof data);
    ck_assert_uint_eq(reader_be32(&r), 0x01020304);
    ck_assert(!reader_done(&r));
    ck_assert_uint_eq(reader_le16(&r), 0);
    ck_assert(r.bad);
    ck_assert(!reader_done(&r));
    r = reader_of(data, sizeof data);
    ck_assert_uint_eq(reader_le32(&r), 0x04030201);
    ck_assert_uint_eq(reader_u8(&r), 5);
    ck_assert(reader_done(&r));
}
END_TEST

START_TEST(buf_grows)
{
    ByteBuf b = {0};
    for (u32 i = 0; i < 1000; i++)
        buf_be32(&b, i);
    buf_printf(&b, "%d-%s", 7, "x");
    ck_assert_uint_eq(b.len, 4003);
    ck_assert_uint_eq(get_be32(b.data + 4 * 999), 999);
    ck_assert_mem_eq(b.data + 4000, "7-x", 3);
    buf_free(&b);
}
END_TEST

START_TEST(hash_depends_on_every_byte_and_length)
{
    u8 data[64] = {0};
    for (size_t n = 0; n < sizeof data; n++) {
        u64 h = hash_bytes(data, n);
        ck_assert_uint_ne(h, hash_bytes(data, n + 1));
        for (size_t i = 0; i < n; i++) {
            data[i] ^= 1;
            ck_assert_uint_ne(h, hash_bytes(data, n));
            data[i] ^= 1;
        }
    }
}
END_TEST

START_TEST(every_error_code_has_five_characters)
{
    for (int c = 1; c < ERR_COUNT; c++) {
        ck_assert_uint_eq(strlen(errcode_sqlstate((ErrCode)c)), 5);
        for (int d = 1; d < c; d++)
            ck_assert_str_ne(errcode_sqlstate((ErrCode)c), errcode_sqlstate((ErrCode)d));
    }
    Error e;
    ck_assert(!error_set(&e, ERR_DIVISION_BY_ZERO, "division by %s", "zero"));
    ck_assert_str_eq(e.message, "division by zero");
    ck_assert_str_eq(errcode_sqlstate(e.code), "22012");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("base");
    TCase *t = tcase_create("base");
    tcase_add_test(t, arena_pieces_are_aligned_and_limited);
    tcase_add_test(t, arena_hooks_run_newest_first);
    tcase_add_test(t, arena_big_pieces_are_counted);
    tcase_add_test(t, crc32c_known_and_both_ways);
    tcase_add_test(t, reader_stops_at_the_end);
    tcase_add_test(t, buf_grows);
    tcase_add_test(t, hash_depends_on_every_byte_and_length);
    tcase_add_test(t, every_error_code_has_five_characters);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
