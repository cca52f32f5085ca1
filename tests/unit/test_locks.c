/*
 * test_locks.c
 *    The lock table: order of granting, shared and exclusive, upgrades, locks that follow a row, cycles of two to five.
 */
#include "walwriter/locks.h"

#include <check.h>
#include <stdlib.h>

enum { OWNERS = 64 };
static Locks *l;
static u32 granted[OWNERS], granted_count;

static void
note(void *ctx, u32 owner)
{
    (void)ctx;
    granted[granted_count++] = owner;
}

static void setup(void) { l = locks_new(OWNERS); granted_count = 0; }
static void teardown(void) { locks_free(l); }
static LockTag row(u64 id) { return (LockTag){16384, LOCK_ROW, 0, id}; }
static LockTag table(u32 id) { return (LockTag){id, LOCK_TABLE, 0, 0}; }

static LockResult
take(u32 owner, LockTag tag, LockMode mode)
{
    LockHold *h;
    return locks_take(l, owner, tag, mode, &h);
}

START_TEST(longest_waiter_first)
{
    ck_assert_int_eq(take(0, row(1), LOCK_EXCLUSIVE), LOCK_GRANTED);
    for (u32 w = 1; w < OWNERS; w++) {
        ck_assert_int_eq(take(w, row(1), LOCK_EXCLUSIVE), LOCK_BUSY);
        ck_assert(locks_wait(l, w, row(1), LOCK_EXCLUSIVE));
    }
    for (u32 w = 0; w < OWNERS - 1; w++) {
        locks_release_all(l, w, note, NULL);
        ck_assert_uint_eq(granted_count, w + 1);
        ck_assert_uint_eq(granted[w], w + 1);
        ck_assert_ptr_nonnull(locks_find(l, w + 1, row(1)));
    }
    locks_release_all(l, OWNERS - 1, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 0);
    ck_assert_uint_eq(locks_waiting_count(l), 0);
}
END_TEST

START_TEST(shared_together_exclusive_alone)
{
    ck_assert_int_eq(take(0, row(1), LOCK_SHARED), LOCK_GRANTED);
    ck_assert_int_eq(take(1, row(1), LOCK_SHARED), LOCK_GRANTED);
    ck_assert_int_eq(take(2, row(1), LOCK_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 2, row(1), LOCK_EXCLUSIVE));
    ck_assert_int_eq(take(3, row(1), LOCK_SHARED), LOCK_BUSY); /* nobody passes the queue */
    ck_assert(locks_wait(l, 3, row(1), LOCK_SHARED));
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(granted_count, 0);
    locks_release_all(l, 1, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    ck_assert_uint_eq(granted[0], 2);
    locks_release_all(l, 2, note, NULL);
    ck_assert_uint_eq(granted[1], 3);
    locks_release_all(l, 3, note, NULL);
}
END_TEST

START_TEST(intents_together_table_lock_waits_for_them)
{
    for (u32 o = 0; o < 4; o++)
        ck_assert_int_eq(take(o, table(7), LOCK_INTENT), LOCK_GRANTED);
    ck_assert_int_eq(take(0, table(7), LOCK_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 0, table(7), LOCK_EXCLUSIVE));
    ck_assert_int_eq(take(5, table(7), LOCK_INTENT), LOCK_BUSY);
    ck_assert(locks_wait(l, 5, table(7), LOCK_INTENT));
    ck_assert_int_eq(take(1, table(7), LOCK_INTENT), LOCK_GRANTED); /* has it */
    for (u32 o = 1; o < 4; o++)
        locks_release_all(l, o, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    ck_assert_uint_eq(granted[0], 0);
    ck_assert_int_eq(locks_find(l, 0, table(7))->mode, LOCK_EXCLUSIVE);
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(granted[1], 5);
    locks_release_all(l, 5, note, NULL);
}
END_TEST

START_TEST(the_lock_follows_its_row)
{
    ck_assert_int_eq(take(0, row(1), LOCK_EXCLUSIVE), LOCK_GRANTED);
    locks_move_row(l, 16384, 1, 2); /* nobody waits: stays */
    ck_assert_ptr_nonnull(locks_find(l, 0, row(1)));
    ck_assert_int_eq(take(1, row(1), LOCK_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 1, row(1), LOCK_EXCLUSIVE));
    locks_move_row(l, 16384, 1, 2);
    ck_assert_ptr_null(locks_find(l, 0, row(1)));
    locks_release_all(l, 0, note, NULL);
    ck_assert_ptr_nonnull(locks_find(l, 1, row(2)));
    ck_assert_int_eq(take(2, row(1), LOCK_EXCLUSIVE), LOCK_GRANTED);
    locks_release_all(l, 1, note, NULL);
    locks_release_all(l, 2, note, NULL);
}
END_TEST

START_TEST(watchers_get_nothing)
{
    ck_assert_int_eq(take(0, row(1), LOCK_EXCLUSIVE), LOCK_GRANTED);
    ck_assert(locks_wait(l, 1, row(1), LOCK_WATCH));
    ck_assert(locks_wait(l, 2, row(1), LOCK_WATCH));
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(granted_count, 2);
    ck_assert_uint_eq(locks_held_count(l, 1) + locks_held_count(l, 2), 0);
    ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 0);
}
END_TEST

/* Cycles of n: owner i holds row i and waits for row i + 1; the last closes the ring and is refused, all others end. */
START_TEST(cycles_are_found_when_they_close)
{
    for (u32 n = 2; n <= 5; n++) {
        granted_count = 0;
        for (u32 i = 0; i < n; i++)
            ck_assert_int_eq(take(i, row(i), LOCK_EXCLUSIVE), LOCK_GRANTED);
        for (u32 i = 0; i + 1 < n; i++)
            ck_assert(locks_wait(l, i, row(i + 1), LOCK_EXCLUSIVE));
        ck_assert(!locks_wait(l, n - 1, row(0), LOCK_EXCLUSIVE));
        ck_assert(!locks_is_waiting(l, n - 1));
        for (u32 i = n; i-- > 0;)
            locks_release_all(l, i, note, NULL);
        ck_assert_uint_eq(granted_count, n - 1);
        ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 0);
    }
}
END_TEST

START_TEST(cycle_through_a_queue_and_an_upgrade)
{
    ck_assert_int_eq(take(0, row(1), LOCK_SHARED), LOCK_GRANTED);
    ck_assert_int_eq(take(1, row(1), LOCK_SHARED), LOCK_GRANTED);
    ck_assert_int_eq(take(0, row(1), LOCK_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 0, row(1), LOCK_EXCLUSIVE));
    ck_assert(!locks_wait(l, 1, row(1), LOCK_EXCLUSIVE)); /* both want it stronger */
    locks_release_all(l, 1, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    /* 2 holds row 5 and stands behind 3's queue place for row 1; 0 wants row 5 */
    ck_assert_int_eq(take(2, row(5), LOCK_EXCLUSIVE), LOCK_GRANTED);
    ck_assert(locks_wait(l, 3, row(1), LOCK_EXCLUSIVE));
    ck_assert(locks_wait(l, 2, row(1), LOCK_EXCLUSIVE));
    ck_assert(!locks_wait(l, 0, row(5), LOCK_EXCLUSIVE));
    locks_release_all(l, 0, note, NULL);
    locks_release_all(l, 3, note, NULL);
    locks_release_all(l, 2, note, NULL);
    ck_assert_uint_eq(locks_waiting_count(l), 0);
}
END_TEST

START_TEST(many_locks_come_and_go)
{
    for (u32 round = 0; round < 3; round++) {
        for (u64 i = 0; i < 20000; i++)
            ck_assert_int_eq(take((u32)(i % OWNERS), row(i), LOCK_EXCLUSIVE), LOCK_GRANTED);
        for (u64 i = 0; i < 20000; i++) {
            ck_assert(!locks_held_by_other(l, (u32)(i % OWNERS), row(i)));
            ck_assert(locks_held_by_other(l, (u32)((i + 1) % OWNERS), row(i)));
        }
        for (u32 o = 0; o < OWNERS; o++)
            locks_release_all(l, o, note, NULL);
        ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 0);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("locks");
    TCase *t = tcase_create("locks");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, longest_waiter_first);
    tcase_add_test(t, shared_together_exclusive_alone);
    tcase_add_test(t, intents_together_table_lock_waits_for_them);
    tcase_add_test(t, the_lock_follows_its_row);
    tcase_add_test(t, watchers_get_nothing);
    tcase_add_test(t, cycles_are_found_when_they_close);
    tcase_add_test(t, cycle_through_a_queue_and_an_upgrade);
    tcase_add_test(t, many_locks_come_and_go);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
