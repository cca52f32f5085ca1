/*
 * test_serializable.c
 *    What SERIALIZABLE transactions have read, judged when they commit: tables and keys, changes that are published, logged or only staged, own changes,
 *    restarts, records that make no sense.
 */
#include "txn_fixture.h"

static RowId rows[4]; /* of t0, keys 0 … 3 */

/* ---- requests ---- */

static u64
version(void)
{
    BoxShm *b = shm_box(&fx_shm, FX_READER);
    u64 v = snapshot_pin(&fx_shm, b).version;
    snapshot_unpin(b);
    return v;
}

static void
put_read_table(u32 t)
{
    u8 p[8] = {0};
    put_le32(p, fx_table[t]);
    fx_put(BOX_READ_TABLE, p, sizeof p);
}

static void
put_read_key(u32 t, i64 id, RowId found)
{
    u8 p[24] = {0};
    Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = id};
    BoxShm *b = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, b);
    put_le32(p, fx_table[t]);
    put_le64(p + 8, key_hash_values(table_def(store_table(s.root, fx_table[t])), 0, &v));
    put_le64(p + 16, found);
    snapshot_unpin(b);
    fx_put(BOX_READ_KEY, p, sizeof p);
}

static void
put_insert(u32 t, i64 id, u32 ordinal)
{
    fx_put_part(fx_table[t], PART_INSERT, 0, &(FxRow){.id = id, .u = FX_NO_U, .n = (i32)id}, NULL, 1, ordinal);
}

static void
put_update(u32 t, RowId row, u32 ordinal)
{
    fx_put_part(fx_table[t], PART_UPDATE, 4, &(FxRow){.n = 77}, &row, 1, ordinal);
}

static void put_delete(u32 t, RowId row, u32 ordinal) { fx_put_part(fx_table[t], PART_DELETE, 0, NULL, &row, 1, ordinal); }

/* A request of a SERIALIZABLE transaction that read at version v. */
static FxAsk
serializable(ReqKind kind, u64 v, u32 ordinal)
{
    return (FxAsk){.kind = kind, .flags = REQ_FLAG_SNAPSHOT | (kind == REQ_PART ? REQ_FLAG_STATEMENT_ENDS : 0), .version = v,
                   .ordinal = ordinal, .statement = ordinal ? ordinal - 1 : 0, .wait_ns = 5000000000ull};
}

static void
expect_ok(u32 slot)
{
    const BoxShm *b = fx_answer(slot);
    ck_assert_msg(b->ans_status == ANS_OK || b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
}

static void
expect_conflict(u32 slot)
{
    const BoxShm *b = fx_answer(slot);
    ck_assert_int_eq(b->ans_status, ANS_ERROR);
    ck_assert_int_eq(b->ans_error.code, ERR_SERIALIZATION_FAILURE);
    ck_assert_str_eq(b->ans_error.message, "could not serialize access due to read/write dependencies among transactions");
    ck_assert_str_eq(b->ans_error.hint, "The transaction might succeed if retried.");
    ck_assert_uint_eq(b->ans_txn, 0);
}

/* Somebody's change, done at once. */
static void
write_now(u32 slot)
{
    fx_post(slot, (FxAsk){.kind = REQ_WRITE});
    expect_ok(slot);
}

/* Slot 0 writes a row of t1 and has read what stands behind it. */
static i64 next_id = 1000;
static void put_write(void) { put_insert(1, next_id++, 0); }
static void commit_reader(u64 v) { fx_post(0, serializable(REQ_WRITE, v, 0)); }

static void
begin(void)
{
    FxRow row;
    fx_setup();
    for (i64 i = 0; i < 4; i++) {
        put_insert(0, i, 0);
        write_now(1);
        ck_assert(fx_find(0, i, &rows[i], &row));
    }
}

static void
end(void)
{
    for (u32 i = 0; i < FX_READER; i++)
        fx_ask(i, (FxAsk){.kind = REQ_ROLLBACK});
    fx_verify();
    fx_teardown();
}

/* ---- published changes ---- */

START_TEST(scanned_tables)
{
    u64 v = version();
    put_write(); put_read_table(0);
    commit_reader(v);
    expect_ok(0);
    put_insert(0, 10, 0);
    write_now(1);
    put_write(); put_read_table(0);
    commit_reader(v);
    expect_conflict(0);
    put_write(); put_read_table(0);
    commit_reader(version());
    expect_ok(0);
    v = version();
    put_delete(0, rows[0], 0);
    write_now(1);
    put_write(); put_read_table(1); put_read_table(0);
    commit_reader(v);
    expect_conflict(0);
    ck_assert_uint_eq(fx_count(1), 2);
}
END_TEST

START_TEST(keys_found_and_not_found)
{
    u64 v = version();
    put_update(0, rows[1], 0);
    write_now(1);
    put_delete(0, rows[2], 0);
    write_now(1);
    put_insert(0, 20, 0);
    write_now(1);
    put_write(); put_read_key(0, 0, rows[0]); put_read_key(0, 21, 0);
    commit_reader(v);
    expect_ok(0);
    for (i64 id = 1; id <= 2; id++) {
        put_write(); put_read_key(0, id, rows[id]);
        commit_reader(v);
        expect_conflict(0);
    }
    put_write(); put_read_key(0, 20, 0);
    commit_reader(v);
    expect_conflict(0);
    put_write(); put_read_key(0, 2, 0); /* deleted: absent again */
    commit_reader(v);
    expect_ok(0);
}
END_TEST

START_TEST(tables_truncated_and_dropped)
{
    u8 id[8] = {0};
    u64 v = version();
    put_le32(id, fx_table[0]);
    fx_put(WAL_TRUNCATE, id, 8);
    write_now(1);
    put_write(); put_read_table(0);
    commit_reader(v);
    expect_conflict(0);
    put_write(); put_read_key(0, 0, rows[0]);
    commit_reader(v);
    expect_conflict(0);
    v = version();
    put_le32(id, fx_table[0]);
    fx_put(WAL_DROP_TABLE, id, 8);
    write_now(1);
    put_write(); put_read_table(0);
    commit_reader(v);
    expect_conflict(0);
}
END_TEST

/* ---- changes that are logged, not yet applied ---- */

START_TEST(logged_changes_count)
{
    u64 v = version();
    put_insert(0, 30, 0);
    fx_post(1, (FxAsk){.kind = REQ_WRITE});
    put_update(0, rows[1], 0);
    fx_post(2, (FxAsk){.kind = REQ_WRITE});
    put_insert(1, 500, 0); put_read_table(0);
    fx_post(3, serializable(REQ_WRITE, v, 0));
    put_insert(1, 501, 0); put_read_key(0, 30, 0);
    fx_post(4, serializable(REQ_WRITE, v, 0));
    writer_turn(fx_writer); /* all judged in one turn */
    expect_conflict(3);
    expect_conflict(4);
    expect_ok(1);
    expect_ok(2);
    put_delete(0, rows[0], 0);
    fx_post(1, (FxAsk){.kind = REQ_WRITE});
    put_insert(1, 502, 0); put_read_key(0, 0, rows[0]);
    fx_post(3, serializable(REQ_WRITE, v, 0));
    put_insert(1, 503, 0); put_read_key(0, 2, rows[2]);
    fx_post(4, serializable(REQ_WRITE, v, 0));
    expect_conflict(3);
    expect_ok(4);
    expect_ok(1);
}
END_TEST

/* A chain's rows and deletes, before and while it is logged. */
START_TEST(chains_of_others)
{
    static FxRow many[FX_ROWS];
    u64 v = version();
    for (u32 i = 0; i < 8000; i++)
        many[i] = (FxRow){.id = 10000 + i, .u = FX_NO_U};
    for (u32 ordinal = 1; ordinal <= 3; ordinal++) { /* more than is kept */
        for (u32 i = 0; i < 8000; i++)
            many[i].id = (i64)ordinal * 10000 + i;
        fx_put_part(fx_table[0], PART_INSERT, 0, many, NULL, 8000, ordinal);
        fx_post(1, (FxAsk){.kind = REQ_PART, .flags = ordinal == 3 ? REQ_FLAG_STATEMENT_ENDS : 0, .ordinal = ordinal});
        expect_ok(1);
    }
    put_write(); put_read_key(0, 10005, 0); put_read_table(0);
    commit_reader(v); /* the chain will come after it */
    expect_ok(0);
    put_delete(0, rows[3], 4);
    fx_post(1, (FxAsk){.kind = REQ_COMMIT, .ordinal = 4, .statement = 3});
    put_insert(1, 600, 0); put_read_key(0, 10005, 0);
    fx_post(2, serializable(REQ_WRITE, v, 0));
    put_insert(1, 601, 0); put_read_key(0, 3, rows[3]);
    fx_post(3, serializable(REQ_WRITE, v, 0));
    put_insert(1, 602, 0); put_read_table(0);
    fx_post(4, serializable(REQ_WRITE, v, 0));
    expect_ok(1);
    for (u32 slot = 2; slot <= 4; slot++)
        expect_conflict(slot);
    ck_assert_uint_eq(fx_count(0), 3 + 24000);
}
END_TEST

/* ---- transactions of several requests ---- */

/* Both look at both rows, each changes one. */
START_TEST(write_skew)
{
    u64 v = version();
    for (u32 slot = 0; slot < 2; slot++) {
        put_update(0, rows[slot], 1);
        fx_post(slot, serializable(REQ_PART, v, 1));
        expect_ok(slot);
    }
    for (u32 slot = 0; slot < 2; slot++) {
        put_read_key(0, 0, rows[0]); put_read_key(0, 1, rows[1]);
        fx_post(slot, serializable(REQ_COMMIT, v, 2));
    }
    expect_ok(0);
    expect_conflict(1);
}
END_TEST

START_TEST(own_changes_are_no_conflict)
{
    u64 v = version();
    put_update(0, rows[0], 1);
    fx_post(0, serializable(REQ_PART, v, 1));
    expect_ok(0);
    put_insert(0, 40, 2);
    fx_post(0, serializable(REQ_PART, v, 2));
    expect_ok(0);
    RowId own = shm_box(&fx_shm, 0)->ans_row[0];
    put_insert(0, 41, 0); /* of another, who is not logged before it */
    fx_post(1, (FxAsk){.kind = REQ_PART, .flags = REQ_FLAG_STATEMENT_ENDS, .ordinal = 1});
    expect_ok(1);
    put_read_key(0, 0, rows[0]); put_read_key(0, 40, 0); put_read_key(0, 40, own); put_read_key(0, 41, 0); put_read_table(0);
    fx_post(0, serializable(REQ_COMMIT, v, 3));
    expect_ok(0);
    put_read_table(0);
    fx_post(1, serializable(REQ_COMMIT, v, 2));
    expect_conflict(1);
}
END_TEST

/* ---- restarts ---- */

START_TEST(after_a_restart_every_table_counts_as_changed)
{
    u64 v = version();
    fx_die();
    put_write(); put_read_table(0); put_read_key(0, 1, rows[1]);
    commit_reader(v);
    expect_ok(0);
    v = version();
    fx_restart();
    put_write(); put_read_table(0);
    commit_reader(v - 1);
    expect_conflict(0);
    put_write(); put_read_key(0, 1, rows[1]);
    commit_reader(v - 1);
    expect_ok(0);
}
END_TEST

/* ---- records that make no sense ---- */

static void
expect_malformed(FxAsk a)
{
    const BoxShm *b = fx_ask(0, a);
    ck_assert_int_eq(b->ans_status, ANS_ERROR);
    ck_assert_int_eq(b->ans_error.code, ERR_PROTOCOL_VIOLATION);
    fx_ask(0, (FxAsk){.kind = REQ_ROLLBACK});
}

START_TEST(malformed_reads)
{
    u64 v = version();
    u8 p[32] = {0};
    put_le32(p, fx_table[0]);
    for (u32 len = 0; len <= 32; len += 4) {
        if (len != 8) {
            put_write(); fx_put(BOX_READ_TABLE, p, len);
            expect_malformed(serializable(REQ_WRITE, v, 0));
        }
        if (len != 24) {
            put_write(); fx_put(BOX_READ_KEY, p, len);
            expect_malformed(serializable(REQ_WRITE, v, 0));
        }
    }
    put_write(); put_le32(p + 4, 1); fx_put(BOX_READ_TABLE, p, 8);
    expect_malformed(serializable(REQ_WRITE, v, 0));
    for (u32 key = 2; key; key = key == 2 ? 70 : key == 70 ? UINT32_MAX : 0) {
        put_write(); put_le32(p + 4, key); fx_put(BOX_READ_KEY, p, 24);
        expect_malformed(serializable(REQ_WRITE, v, 0));
    }
    put_read_table(0); put_write(); /* before the part */
    expect_malformed(serializable(REQ_WRITE, v, 0));
    put_write(); put_read_table(0);
    expect_malformed(serializable(REQ_PART, v, 1));
    put_read_table(0);
    expect_malformed(serializable(REQ_ROLLBACK, v, 1));
    put_read_table(0);
    expect_malformed(serializable(REQ_LOCK, v, 1));
    put_write(); put_read_table(0);
    fx_len -= 8;
    expect_malformed(serializable(REQ_WRITE, v, 0));
    put_write(); put_read_key(0, 1, ROW_ID(9999, 3)); /* a row that never was */
    commit_reader(v);
    expect_conflict(0);
    put_write(); put_read_table(0);
    commit_reader(v);
    expect_ok(0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("serializable");
    TCase *c = tcase_create("reads");
    tcase_add_checked_fixture(c, begin, end);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, scanned_tables);
    tcase_add_test(c, keys_found_and_not_found);
    tcase_add_test(c, tables_truncated_and_dropped);
    tcase_add_test(c, logged_changes_count);
    tcase_add_test(c, chains_of_others);
    tcase_add_test(c, write_skew);
    tcase_add_test(c, own_changes_are_no_conflict);
    tcase_add_test(c, after_a_restart_every_table_counts_as_changed);
    tcase_add_test(c, malformed_reads);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
