/*
 * test_locks.c
 *    The lock table: who conflicts with whom, order of granting, modes added, locks that follow a row, what UNDO releases, locks of the session,
 *    cycles of two to five.
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
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
    for (u32 w = 1; w < OWNERS; w++) {
        ck_assert_int_eq(take(w, row(1), LOCK_FOR_UPDATE), LOCK_BUSY);
        ck_assert(locks_wait(l, w, row(1), LOCK_FOR_UPDATE));
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
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(1, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(2, row(1), LOCK_FOR_UPDATE), LOCK_BUSY);
    ck_assert(locks_wait(l, 2, row(1), LOCK_FOR_UPDATE));
    ck_assert_int_eq(take(3, row(1), LOCK_FOR_SHARE), LOCK_BUSY); /* does not pass whom it conflicts with */
    ck_assert(locks_wait(l, 3, row(1), LOCK_FOR_SHARE));
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

/* ---- the matrix ---- */

/* Chapter 13.3 of PostgreSQL's manual: X where the mode of the row conflicts with that of the column. */
static const char *const ROW_TABLE[4] = {"...X", "..XX", ".XXX", "XXXX"};
static const char *const TABLE_TABLE[8] = {".......X", "......XX", "....XXXX", "...XXXXX", "..XX.XXX", "..XXXXXX", ".XXXXXXX", "XXXXXXXX"};

static void
check_pair(LockTag tag, LockMode a, LockMode b, bool conflict)
{
    ck_assert_int_eq(take(0, tag, a), LOCK_GRANTED);
    ck_assert_int_eq(take(1, tag, b), conflict ? LOCK_BUSY : LOCK_GRANTED);
    locks_release_all(l, 1, note, NULL);
    ck_assert(locks_conflict(l, 1, tag, b) == conflict);
    ck_assert_int_eq(take(0, tag, b), LOCK_GRANTED); /* nobody conflicts with himself */
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, (LockSpace)tag.space), 0);
}

START_TEST(conflicts_are_postgresqls)
{
    for (u32 a = 0; a < 4; a++)
        for (u32 b = 0; b < 4; b++)
            check_pair(row(1), LOCK_FOR_KEY_SHARE + a, LOCK_FOR_KEY_SHARE + b, ROW_TABLE[a][b] == 'X');
    for (u32 a = 0; a < 8; a++)
        for (u32 b = 0; b < 8; b++)
            check_pair(table(1), LOCK_TABLE_ACCESS_SHARE + a, LOCK_TABLE_ACCESS_SHARE + b, TABLE_TABLE[a][b] == 'X');
    for (u32 a = LOCK_SHARED; a <= LOCK_EXCLUSIVE; a++)
        for (u32 b = LOCK_SHARED; b <= LOCK_EXCLUSIVE; b++)
            check_pair((LockTag){0, LOCK_ADVISORY, 1, 5}, a, b, a == LOCK_EXCLUSIVE || b == LOCK_EXCLUSIVE);
    for (u32 a = 1; a < LOCK_MODES; a++) {
        bool changes = a == LOCK_FOR_NO_KEY_UPDATE || a == LOCK_FOR_UPDATE || a == LOCK_TABLE_EXCLUSIVE || a == LOCK_TABLE_ACCESS_EXCLUSIVE ||
                       a == LOCK_EXCLUSIVE;
        ck_assert(!!(LOCK_CONFLICTS[a] >> LOCK_WATCH & 1) == changes);
        for (u32 b = 1; b < LOCK_MODES; b++)
            ck_assert_uint_eq(LOCK_CONFLICTS[a] >> b & 1, LOCK_CONFLICTS[b] >> a & 1);
    }
}
END_TEST

START_TEST(who_agrees_with_all_passes_the_queue)
{
    ck_assert_int_eq(take(0, table(7), LOCK_TABLE_ROW_EXCLUSIVE), LOCK_GRANTED);
    ck_assert_int_eq(take(1, table(7), LOCK_TABLE_SHARE), LOCK_BUSY);
    ck_assert(locks_wait(l, 1, table(7), LOCK_TABLE_SHARE));
    ck_assert_int_eq(take(2, table(7), LOCK_TABLE_ROW_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(3, table(7), LOCK_TABLE_ROW_EXCLUSIVE), LOCK_BUSY); /* it would keep 1 waiting */
    ck_assert(locks_wait(l, 3, table(7), LOCK_TABLE_ROW_EXCLUSIVE));
    ck_assert_int_eq(take(4, table(7), LOCK_TABLE_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 4, table(7), LOCK_TABLE_EXCLUSIVE));
    ck_assert_int_eq(take(5, table(7), LOCK_TABLE_SHARE), LOCK_BUSY);
    ck_assert(locks_wait(l, 5, table(7), LOCK_TABLE_SHARE));
    locks_release_all(l, 0, note, NULL); /* 5 agrees with 1, but stands behind 4 */
    ck_assert_uint_eq(granted_count, 1);
    ck_assert_uint_eq(granted[0], 1);
    locks_cancel_wait(l, 4, note, NULL); /* and behind 3 */
    ck_assert_uint_eq(granted_count, 1);
    locks_cancel_wait(l, 3, note, NULL);
    ck_assert_uint_eq(granted_count, 2);
    ck_assert_uint_eq(granted[1], 5);
    for (u32 o = 1; o <= 5; o++)
        locks_release_all(l, o, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, LOCK_TABLE), 0);
}
END_TEST

START_TEST(writers_together_table_lock_waits_for_them)
{
    for (u32 o = 0; o < 4; o++)
        ck_assert_int_eq(take(o, table(7), LOCK_TABLE_ROW_EXCLUSIVE), LOCK_GRANTED);
    ck_assert_int_eq(take(0, table(7), LOCK_TABLE_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 0, table(7), LOCK_TABLE_EXCLUSIVE));
    ck_assert_int_eq(take(5, table(7), LOCK_TABLE_ROW_EXCLUSIVE), LOCK_BUSY);
    ck_assert(locks_wait(l, 5, table(7), LOCK_TABLE_ROW_EXCLUSIVE));
    ck_assert_int_eq(take(1, table(7), LOCK_TABLE_ROW_EXCLUSIVE), LOCK_GRANTED); /* has it */
    for (u32 o = 1; o < 4; o++)
        locks_release_all(l, o, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    ck_assert_uint_eq(granted[0], 0);
    ck_assert_uint_eq(locks_find(l, 0, table(7))->modes, 1u << LOCK_TABLE_EXCLUSIVE | 1u << LOCK_TABLE_ROW_EXCLUSIVE);
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(granted[1], 5);
    locks_release_all(l, 5, note, NULL);
}
END_TEST

/* ---- ordinals ---- */

START_TEST(undo_releases_what_came_after)
{
    locks_set_ordinal(l, 0, 3);
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(0, row(2), LOCK_FOR_KEY_SHARE), LOCK_GRANTED);
    locks_set_ordinal(l, 0, 4);
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert_int_eq(take(0, row(2), LOCK_FOR_KEY_SHARE), LOCK_GRANTED); /* has it from 3 on */
    ck_assert_int_eq(take(0, row(3), LOCK_FOR_UPDATE), LOCK_GRANTED);
    locks_set_ordinal(l, 0, 2); /* never goes down */
    ck_assert_int_eq(take(0, row(4), LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert(locks_wait(l, 1, row(1), LOCK_FOR_SHARE));
    ck_assert(locks_wait(l, 2, row(3), LOCK_FOR_UPDATE));
    ck_assert(locks_wait(l, 3, row(2), LOCK_FOR_UPDATE));
    ck_assert(locks_wait(l, 4, row(4), LOCK_FOR_UPDATE));
    locks_release_after(l, 0, 4, note, NULL);
    ck_assert_uint_eq(granted_count, 0);
    locks_release_after(l, 0, 3, note, NULL);
    ck_assert_uint_eq(granted_count, 3);
    ck_assert(locks_is_waiting(l, 3));
    ck_assert_uint_eq(locks_find(l, 0, row(1))->modes, 1u << LOCK_FOR_SHARE);
    ck_assert_ptr_null(locks_find(l, 0, row(3)));
    ck_assert_uint_eq(locks_held_count(l, 0), 2);
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(granted[3], 3);
    for (u32 o = 1; o < 5; o++)
        locks_release_all(l, o, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 0);
    ck_assert(!locks_rows_follow(l));
}
END_TEST

START_TEST(who_waits_for_a_transaction_looks_again_after_undo)
{
    LockTag tag = {0, LOCK_TXN, 0, 0};
    locks_set_ordinal(l, 0, 1);
    ck_assert_int_eq(take(0, tag, LOCK_EXCLUSIVE), LOCK_GRANTED);
    locks_set_ordinal(l, 0, 2);
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert(locks_wait(l, 1, tag, LOCK_WATCH));
    locks_release_after(l, 0, 2, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    ck_assert_uint_eq(locks_held_count(l, 0), 1);
    locks_release_all(l, 0, note, NULL);
}
END_TEST

/* ---- the session ---- */

START_TEST(session_locks_count_and_outlive_transactions)
{
    LockTag tag = {0, LOCK_ADVISORY, 1, 9};
    ck_assert_int_eq(locks_take_session(l, 0, tag, LOCK_EXCLUSIVE), LOCK_GRANTED);
    ck_assert_int_eq(locks_take_session(l, 0, tag, LOCK_EXCLUSIVE), LOCK_GRANTED);
    ck_assert_int_eq(locks_take_session(l, 0, tag, LOCK_SHARED), LOCK_GRANTED);
    locks_release_all(l, 0, note, NULL);
    ck_assert_int_eq(locks_take_session(l, 1, tag, LOCK_SHARED), LOCK_BUSY);
    ck_assert_int_eq(take(1, tag, LOCK_SHARED), LOCK_BUSY);
    ck_assert(locks_wait(l, 1, tag, LOCK_SHARED));
    ck_assert(locks_release_session(l, 0, tag, LOCK_EXCLUSIVE, note, NULL));
    ck_assert_uint_eq(granted_count, 0);
    ck_assert(locks_release_session(l, 0, tag, LOCK_EXCLUSIVE, note, NULL));
    ck_assert_uint_eq(granted_count, 1);
    ck_assert(!locks_release_session(l, 0, tag, LOCK_EXCLUSIVE, note, NULL));
    ck_assert(!locks_release_session(l, 2, tag, LOCK_SHARED, note, NULL));
    /* what the wait brought is the session's now, not the transaction's */
    ck_assert_int_eq(locks_take_session(l, 1, tag, LOCK_SHARED), LOCK_GRANTED);
    locks_release_all(l, 1, note, NULL);
    ck_assert_uint_eq(locks_held_count(l, 1), 1);
    ck_assert(locks_release_session(l, 1, tag, LOCK_SHARED, note, NULL));
    ck_assert_uint_eq(locks_held_count(l, 1), 0);
    ck_assert_int_eq(take(0, tag, LOCK_EXCLUSIVE), LOCK_GRANTED);
    locks_release_session_all(l, 0, note, NULL);
    ck_assert_uint_eq(locks_held_count(l, 0), 1);
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, LOCK_ADVISORY), 0);
}
END_TEST

/* ---- looking ---- */

static bool
count_entry(void *ctx, const LockEntry *e)
{
    u32 *counts = ctx;
    counts[0] += e->granted && !e->session;
    counts[1] += e->granted && e->session;
    counts[2] += !e->granted;
    ck_assert(e->granted || (e->owner == 2 && e->mode == LOCK_FOR_UPDATE && e->tag.id == 1));
    return true;
}

START_TEST(everything_is_shown)
{
    u32 counts[3] = {0};
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_KEY_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(1, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(locks_take_session(l, 1, (LockTag){0, LOCK_ADVISORY, 1, 9}, LOCK_SHARED), LOCK_GRANTED);
    ck_assert(locks_wait(l, 2, row(1), LOCK_FOR_UPDATE));
    locks_each(l, count_entry, counts);
    ck_assert_uint_eq(counts[0], 3);
    ck_assert_uint_eq(counts[1], 1);
    ck_assert_uint_eq(counts[2], 1);
}
END_TEST

START_TEST(the_lock_follows_its_row)
{
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
    locks_move_row(l, 16384, 1, 2); /* nobody waits: stays */
    ck_assert_ptr_nonnull(locks_find(l, 0, row(1)));
    ck_assert_int_eq(take(1, row(1), LOCK_FOR_UPDATE), LOCK_BUSY);
    ck_assert(locks_wait(l, 1, row(1), LOCK_FOR_UPDATE));
    locks_move_row(l, 16384, 1, 2);
    ck_assert_ptr_null(locks_find(l, 0, row(1)));
    locks_release_all(l, 0, note, NULL);
    ck_assert_ptr_nonnull(locks_find(l, 1, row(2)));
    ck_assert_int_eq(take(2, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
    locks_release_all(l, 1, note, NULL);
    locks_release_all(l, 2, note, NULL);
    /* nobody waits, but another holds it: who refers to the row refers to its successor */
    ck_assert_int_eq(take(0, row(5), LOCK_FOR_NO_KEY_UPDATE), LOCK_GRANTED);
    ck_assert(!locks_rows_follow(l));
    ck_assert_int_eq(take(1, row(5), LOCK_FOR_KEY_SHARE), LOCK_GRANTED);
    ck_assert(locks_rows_follow(l));
    locks_move_row(l, 16384, 5, 6);
    locks_release_all(l, 0, note, NULL);
    ck_assert_int_eq(take(2, row(6), LOCK_FOR_UPDATE), LOCK_BUSY);
    locks_release_all(l, 1, note, NULL);
    ck_assert(!locks_rows_follow(l));
}
END_TEST

/* Rows that only their owner knows have the same ids again: locks of the old ones step aside and come back. */
START_TEST(locks_of_private_rows_step_aside)
{
    LockTag here = {7, LOCK_ROW, 0, 5ull << 16 | 3}, aside = {7, LOCK_ROW, 1, 5ull << 16 | 3}, other = {7, LOCK_ROW, 0, 6ull << 16 | 3};
    ck_assert_int_eq(take(0, here, LOCK_FOR_UPDATE), LOCK_GRANTED);
    LockHold *first = locks_find(l, 0, here);
    ck_assert_int_eq(take(0, other, LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert_int_eq(take(1, (LockTag){8, LOCK_ROW, 0, 5ull << 16 | 3}, LOCK_FOR_UPDATE), LOCK_GRANTED);
    locks_rekey_rows(l, 0, 7, 5, 0, 1);
    ck_assert_ptr_null(locks_find(l, 0, here));
    ck_assert_ptr_eq(locks_find(l, 0, aside), first);
    ck_assert_ptr_nonnull(locks_find(l, 0, other));
    ck_assert_int_eq(take(0, here, LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert_uint_eq(locks_held_count(l, 0), 3);
    locks_drop_rows(l, 0, 7, 5, note, NULL);
    ck_assert_uint_eq(locks_held_count(l, 0), 2);
    ck_assert_ptr_null(locks_find(l, 0, here));
    locks_rekey_rows(l, 0, 7, 5, 1, 0);
    ck_assert_ptr_eq(locks_find(l, 0, here), first);
    locks_release_all(l, 0, note, NULL);
    ck_assert_uint_eq(locks_space_count(l, LOCK_ROW), 1);
}
END_TEST

START_TEST(watchers_get_nothing)
{
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_GRANTED);
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
            ck_assert_int_eq(take(i, row(i), LOCK_FOR_UPDATE), LOCK_GRANTED);
        for (u32 i = 0; i + 1 < n; i++)
            ck_assert(locks_wait(l, i, row(i + 1), LOCK_FOR_UPDATE));
        ck_assert(!locks_wait(l, n - 1, row(0), LOCK_FOR_UPDATE));
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
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(1, row(1), LOCK_FOR_SHARE), LOCK_GRANTED);
    ck_assert_int_eq(take(0, row(1), LOCK_FOR_UPDATE), LOCK_BUSY);
    ck_assert(locks_wait(l, 0, row(1), LOCK_FOR_UPDATE));
    ck_assert(!locks_wait(l, 1, row(1), LOCK_FOR_UPDATE)); /* both want it stronger */
    locks_release_all(l, 1, note, NULL);
    ck_assert_uint_eq(granted_count, 1);
    /* 2 holds row 5 and stands behind 3's queue place for row 1; 0 wants row 5 */
    ck_assert_int_eq(take(2, row(5), LOCK_FOR_UPDATE), LOCK_GRANTED);
    ck_assert(locks_wait(l, 3, row(1), LOCK_FOR_UPDATE));
    ck_assert(locks_wait(l, 2, row(1), LOCK_FOR_UPDATE));
    ck_assert(!locks_wait(l, 0, row(5), LOCK_FOR_UPDATE));
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
            ck_assert_int_eq(take((u32)(i % OWNERS), row(i), LOCK_FOR_UPDATE), LOCK_GRANTED);
        for (u64 i = 0; i < 20000; i++) {
            ck_assert(!locks_conflict(l, (u32)(i % OWNERS), row(i), LOCK_WATCH));
            ck_assert(locks_conflict(l, (u32)((i + 1) % OWNERS), row(i), LOCK_WATCH));
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
    tcase_add_test(t, conflicts_are_postgresqls);
    tcase_add_test(t, who_agrees_with_all_passes_the_queue);
    tcase_add_test(t, writers_together_table_lock_waits_for_them);
    tcase_add_test(t, undo_releases_what_came_after);
    tcase_add_test(t, who_waits_for_a_transaction_looks_again_after_undo);
    tcase_add_test(t, session_locks_count_and_outlive_transactions);
    tcase_add_test(t, everything_is_shown);
    tcase_add_test(t, the_lock_follows_its_row);
    tcase_add_test(t, locks_of_private_rows_step_aside);
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
