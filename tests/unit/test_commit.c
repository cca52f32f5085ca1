/*
 * test_commit.c
 *    Statements that commit by themselves, end to end. Invariants by number (design): I3 acknowledged is durable, I4 replay equals memory, I5 what
 *    fails leaves nothing, I8 slots come back.
 */
#include "backend_fixture.h"

/* ---- tests ---- */

START_TEST(one_row_and_its_errors)
{
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    ck_assert_int_eq(run(&b, create_t, NULL), ERR_DUPLICATE_TABLE);
    ck_assert_str_eq(b.catch.error.message, "relation \"t\" already exists");
    CK_RUN(&b, insert, (&(Rows){5, 1, 10}));
    ck_assert_int_eq(run(&b, insert, &(Rows){5, 1, 10}), ERR_UNIQUE_VIOLATION);
    ck_assert_str_eq(b.catch.error.message, "duplicate key value violates unique constraint \"t_pkey\"");
    ck_assert_str_eq(b.catch.error.detail, "Key (id)=(5) already exists.");
    ck_assert_str_eq(b.catch.error.constraint, "t_pkey");
    ck_assert_int_eq(run(&b, insert, &(Rows){1, 10, 0}), ERR_UNIQUE_VIOLATION);
    CK_RUN(&b, increment, &(i64){5});
    expect(1, 11);
    CK_RUN(&b, full_update, (&(Full){9, 0}));
    expect(0, 0);
    CK_RUN(&b, insert, (&(Rows){5, 3, 1}));
    expect(3, 3);
    restart_and_compare();
    expect(3, 3);
    backend_done(&b);
}
END_TEST

START_TEST(rights_are_judged_by_the_signed_in_role)
{
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    publish_u32(&shm.control->slots[0].pub_role_id, 77);
    ck_assert_int_eq(run(&b, insert, &(Rows){1, 1, 0}), ERR_INSUFFICIENT_PRIVILEGE);
    ck_assert_str_eq(b.catch.error.message, "permission denied for table t");
    ck_assert_int_eq(run(&b, create_t, NULL), ERR_INSUFFICIENT_PRIVILEGE);
    expect(0, 0);
    backend_done(&b);
}
END_TEST

START_TEST(chains_of_parts)
{
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    CK_RUN(&b, insert, (&(Rows){0, 150000, 1}));
    expect(150000, 150000);
    ck_assert_int_eq(run(&b, insert, &(Rows){149999, 100000, 1}), ERR_UNIQUE_VIOLATION);
    ck_assert_int_eq(run(&b, insert, &(Rows){200000 - 150000, 1, 1}), ERR_UNIQUE_VIOLATION);
    expect(150000, 150000); /* I5 */
    CK_RUN(&b, full_update, (&(Full){0, 1})); /* every key moves on to its neighbour's */
    expect(150000, 150000);
    CK_RUN(&b, full_update, (&(Full){1, 0}));
    expect(150000, 300000);
    CK_RUN(&b, insert, (&(Rows){0, 1, 5}));
    restart_and_compare();
    expect(150001, 300005);
    backend_done(&b); /* its box went with the old areas */
    backend_init(&b, 0);
    CK_RUN(&b, full_update, (&(Full){9, 0}));
    expect(0, 0);
    CK_RUN(&b, insert, (&(Rows){0, 50000, 1}));
    restart_and_compare();
    expect(50000, 50000);
    backend_done(&b);
}
END_TEST

static u64 total_executions, total_commits;

static void *
increment_many(void *arg)
{
    Backend b;
    u32 slot = (u32)(uintptr_t)arg;
    i64 id = 1;
    backend_init(&b, slot);
    for (int i = 0; i < 100; i++)
        CK_RUN(&b, increment, &id);
    counter_add_u64(&total_executions, b.executions);
    counter_add_u64(&total_commits, 100);
    backend_done(&b);
    return NULL;
}

START_TEST(one_hot_row)
{
    pthread_t threads[32];
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    CK_RUN(&b, insert, (&(Rows){1, 1, 0}));
    total_executions = total_commits = 0;
    for (u32 i = 0; i < 32; i++)
        pthread_create(&threads[i], NULL, increment_many, (void *)(uintptr_t)(i + 1));
    for (u32 i = 0; i < 32; i++)
        pthread_join(threads[i], NULL);
    expect(1, 3200);
    ck_assert_uint_le(total_executions, total_commits * 2);
    restart_and_compare();
    expect(1, 3200);
    backend_done(&b);
}
END_TEST

static u64 updaters_stop, updates_done;

static void *
increment_until(void *arg)
{
    Backend b;
    u32 slot = (u32)(uintptr_t)arg;
    backend_init(&b, slot);
    for (u64 i = slot; !observe_u64(&updaters_stop); i += 17) {
        CK_RUN(&b, increment, &(i64){(i64)(i % 20000)});
        counter_add_u64(&updates_done, 1);
    }
    backend_done(&b);
    return NULL;
}

START_TEST(full_update_beside_single_rows)
{
    pthread_t threads[16];
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    CK_RUN(&b, insert, (&(Rows){0, 20000, 0}));
    updaters_stop = updates_done = 0;
    for (u32 i = 0; i < 16; i++)
        pthread_create(&threads[i], NULL, increment_until, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < 3; i++)
        CK_RUN(&b, full_update, (&(Full){1, 0}));
    publish_u64(&updaters_stop, 1);
    for (u32 i = 0; i < 16; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_le(b.executions, 3 * 6 + 2);
    expect(20000, (i64)(3 * 20000 + updates_done));
    restart_and_compare();
    backend_done(&b);
}
END_TEST

/* Insert both ids in one statement each, in opposite orders, many times: deadlocks are found, nothing hangs. */
static void *
insert_disjoint(void *arg)
{
    Backend b;
    u32 slot = (u32)(uintptr_t)arg;
    backend_init(&b, slot);
    for (i64 i = 0; i < 100; i++)
        CK_RUN(&b, insert, (&(Rows){(i64)slot * 1000 + i, 1, 1}));
    backend_done(&b);
    return NULL;
}

START_TEST(many_inserters)
{
    pthread_t threads[30];
    Backend b;
    backend_init(&b, 0);
    CK_RUN(&b, create_t, NULL);
    for (u32 i = 0; i < 30; i++)
        pthread_create(&threads[i], NULL, insert_disjoint, (void *)(uintptr_t)(i + 1));
    for (u32 i = 0; i < 30; i++)
        pthread_join(threads[i], NULL);
    expect(3000, 3000);
    restart_and_compare();
    backend_done(&b);
}
END_TEST

/* A chain that is left open by a statement that fails later, or by a backend that dies. */
static TxnOutcome
insert_and_fail(Backend *b, void *arg)
{
    const Rows *r = arg;
    TxnWrite *w = txn_write_begin(b->txn, b->statement, table_t(b));
    i64 ids[VEC_SIZE];
    i32 ns[VEC_SIZE];
    Str note = STR_LIT("x");
    Vec v[3] = {{.phys = PHYS_I64, .data = ids}, {.phys = PHYS_I32, .data = ns}, {.phys = PHYS_STR, .data = &note, .is_const = true}};
    for (u32 at = 0; at < r->count; at += VEC_SIZE) {
        for (u32 i = 0; i < VEC_SIZE; i++) {
            ids[i] = r->first + at + i;
            ns[i] = 1;
        }
        Batch batch = {.count = VEC_SIZE, .column_count = 3, .columns = v};
        txn_insert(w, &batch);
    }
    if (r->n == 1)
        err_throw(ERR_DIVISION_BY_ZERO, "division by zero");
    pthread_exit(NULL); /* the backend is gone */
}

static void *
die_in_a_chain(void *arg)
{
    Backend *b = arg;
    run(b, insert_and_fail, &(Rows){0, 100000, 2});
    return NULL;
}

START_TEST(open_chains_end_with_their_owner)
{
    static Backend a, b; /* b's memory stays: nobody ends a dead backend's arenas */
    pthread_t thread;
    backend_init(&a, 0);
    backend_init(&b, 1);
    CK_RUN(&a, create_t, NULL);
    ck_assert_int_eq(run(&a, insert_and_fail, &(Rows){0, 100000, 1}), ERR_DIVISION_BY_ZERO);
    expect(0, 0);
    pthread_create(&thread, NULL, die_in_a_chain, &b);
    pthread_join(thread, NULL);
    a.lock_timeout_ms = 200; /* the dead one's keys are locked until its slot is released */
    ck_assert_int_eq(run(&a, insert, &(Rows){5, 1, 1}), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_str_eq(a.catch.error.message, "canceling statement due to lock timeout");
    publish_u32(&shm.control->slots[1].pub_state, SLOT_RELEASING);
    shm_ring_writer(&shm);
    a.lock_timeout_ms = 30000;
    CK_RUN(&a, insert, (&(Rows){5, 1, 1}));
    ck_assert_uint_eq(observe_u32(&shm.writer->pub_released_generation[1]), 1); /* I8 */
    expect(1, 1);
    restart_and_compare();
    expect(1, 1);
    backend_done(&a);
}
END_TEST

START_TEST(a_waiting_request_can_be_withdrawn)
{
    static Backend a, b; /* b's memory stays: nobody ends a dead backend's arenas */
    pthread_t thread;
    backend_init(&a, 0);
    backend_init(&b, 1);
    CK_RUN(&a, create_t, NULL);
    pthread_create(&thread, NULL, die_in_a_chain, &b);
    pthread_join(thread, NULL);
    interrupted = true;
    ck_assert_int_eq(run(&a, insert, &(Rows){5, 1, 1}), ERR_QUERY_CANCELED);
    interrupted = false;
    expect(0, 0);
    backend_done(&a);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("commit");
    TCase *t = tcase_create("commit");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_row_and_its_errors);
    tcase_add_test(t, rights_are_judged_by_the_signed_in_role);
    tcase_add_test(t, chains_of_parts);
    tcase_add_test(t, one_hot_row);
    tcase_add_test(t, full_update_beside_single_rows);
    tcase_add_test(t, many_inserters);
    tcase_add_test(t, open_chains_end_with_their_owner);
    tcase_add_test(t, a_waiting_request_can_be_withdrawn);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
