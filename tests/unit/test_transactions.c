/*
 * test_transactions.c
 *    Transactions of several requests: private rows, keys, savepoints, RETRY, COMMIT, restarts and deaths of the walwriter; then random transactions of
 *    several slots against a model, which is compared after every step that can be seen.
 */
#include "txn_fixture.h"

enum { ENDS = REQ_FLAG_STATEMENT_ENDS };

/* ---- one slot's transaction, by hand ---- */

typedef struct Session {
    u32 slot, ordinal, statement, savepoint;
} Session;

static BoxShm *
send_kind(Session *s, ReqKind kind, u32 flags, u32 records)
{
    u32 first = records ? s->ordinal + 1 : s->ordinal;
    s->ordinal += records;
    return fx_ask(s->slot, (FxAsk){kind, flags, first, s->statement, s->savepoint, 0, 0});
}

/* A statement of one part. */
static BoxShm *
write_rows(Session *s, u32 t, PartKind kind, u32 mask, const FxRow *rows, const u64 *old, u32 n)
{
    s->statement = s->ordinal;
    fx_put_part(fx_table[t], kind, mask, rows, old, n, s->ordinal + 1);
    return send_kind(s, REQ_PART, ENDS, 1);
}

static RowId
insert_one(Session *s, u32 t, i64 id, i32 u)
{
    BoxShm *b = write_rows(s, t, PART_INSERT, 0, &(FxRow){.id = id, .u = u, .n = 1, .note_bytes = 3}, NULL, 1);
    ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    return b->ans_row[0];
}

static RowId
update_n(Session *s, u32 t, RowId old, i32 n)
{
    BoxShm *b = write_rows(s, t, PART_UPDATE, 4, &(FxRow){.n = n}, &old, 1);
    ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    return b->ans_row[0];
}

static RowId
update_id(Session *s, u32 t, RowId old, i64 id)
{
    BoxShm *b = write_rows(s, t, PART_UPDATE, 9, &(FxRow){.id = id, .note_bytes = 3}, &old, 1);
    ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    return b->ans_row[0];
}

static void
delete_one(Session *s, u32 t, RowId old)
{
    ck_assert_int_eq(write_rows(s, t, PART_DELETE, 0, NULL, &old, 1)->ans_status, ANS_STAGED);
}

static void
refused(const BoxShm *b, ErrCode code)
{
    ck_assert_int_eq(b->ans_status, ANS_ERROR);
    ck_assert_msg(b->ans_error.code == code, "%s", b->ans_error.message);
}

static void
commit(Session *s)
{
    BoxShm *b = send_kind(s, REQ_COMMIT, 0, 0);
    ck_assert_msg(b->ans_status == ANS_OK, "%s", b->ans_error.message);
    ck_assert_uint_eq(b->ans_txn, 0);
    s->ordinal = s->statement = s->savepoint = 0;
    fx_verify();
}

static void
rollback(Session *s)
{
    ck_assert_int_eq(send_kind(s, REQ_ROLLBACK, 0, 0)->ans_status, ANS_OK);
    s->ordinal = s->statement = s->savepoint = 0;
    fx_verify();
}

static void
savepoint(Session *s)
{
    s->savepoint = s->statement = s->ordinal;
}

static void
rollback_to(Session *s, u32 mark)
{
    s->savepoint = mark;
    ck_assert_int_eq(send_kind(s, REQ_UNDO, 0, 0)->ans_status, ANS_OK);
    s->statement = s->ordinal;
}

static RowId
at(u32 t, i64 id)
{
    RowId r;
    FxRow row;
    ck_assert(fx_find(t, id, &r, &row));
    return r;
}

static i32
n_of(u32 t, i64 id)
{
    RowId r;
    FxRow row;
    return fx_find(t, id, &r, &row) ? row.n : -1;
}

/* ---- tests by hand ---- */

START_TEST(rows_are_private_until_commit)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    RowId r = insert_one(&a, 0, 1, 10);
    BoxShm *box = shm_box(&fx_shm, 0);
    ck_assert_uint_eq(ROW_BLOCK(r), STAGED_BLOCK | 0);
    ck_assert_uint_ne(box->ans_txn, 0);
    const SlotDirShm *slot = (const SlotDirShm *)(uintptr_t)box->ans_slot;
    FxRow own = fx_read(slot->pub_block, ROW_OFFSET(r));
    ck_assert_int_eq(own.id, 1);
    ck_assert_int_eq(own.u, 10);
    ck_assert_uint_eq(fx_count(0), 0);
    insert_one(&a, 1, 7, FX_NO_U); /* several tables */
    /* The keys are locked for others, one by one. */
    refused(write_rows(&b, 0, PART_INSERT, 0, &(FxRow){.id = 1, .u = FX_NO_U}, NULL, 1), ERR_LOCK_NOT_AVAILABLE);
    refused(write_rows(&b, 0, PART_INSERT, 0, &(FxRow){.id = 2, .u = 10}, NULL, 1), ERR_LOCK_NOT_AVAILABLE);
    rollback(&b);
    insert_one(&b, 0, 2, 11);
    commit(&b);
    commit(&a);
    ck_assert_uint_eq(fx_count(0), 2);
    ck_assert_uint_eq(fx_count(1), 1);
    ck_assert_uint_lt(ROW_BLOCK(at(0, 1)), STAGED_BLOCK);
    fx_restart();
    fx_verify();
    ck_assert_uint_eq(fx_count(0), 2);
    ck_assert_int_eq(n_of(1, 7), 1);
}
END_TEST

START_TEST(own_rows_are_changed_again)
{
    Session a = {.slot = 0};
    insert_one(&a, 0, 1, 1);
    insert_one(&a, 0, 2, 2);
    commit(&a);
    RowId r = update_n(&a, 0, at(0, 1), 5);
    r = update_n(&a, 0, r, 6);
    r = update_id(&a, 0, r, 3);
    RowId gone = insert_one(&a, 0, 1, 9); /* its key is free again: for this transaction */
    gone = update_n(&a, 0, gone, 7);
    delete_one(&a, 0, gone);
    insert_one(&a, 0, 1, 9);
    delete_one(&a, 0, at(0, 2));
    savepoint(&a);
    u32 mark = a.ordinal;
    refused(write_rows(&a, 0, PART_INSERT, 0, &(FxRow){.id = 3, .u = FX_NO_U}, NULL, 1), ERR_UNIQUE_VIOLATION);
    ck_assert_str_eq(shm_box(&fx_shm, 0)->ans_error.detail, "Key (id)=(3) already exists.");
    refused(write_rows(&a, 0, PART_INSERT, 0, &(FxRow){.id = 4, .u = FX_NO_U}, NULL, 1), ERR_FAILED_TRANSACTION);
    rollback_to(&a, mark);
    refused(write_rows(&a, 0, PART_UPDATE, 4, &(FxRow){.n = 1}, &gone, 1), ERR_PROTOCOL_VIOLATION); /* changed before */
    rollback_to(&a, mark);
    commit(&a);
    ck_assert_uint_eq(fx_count(0), 2);
    ck_assert_int_eq(n_of(0, 3), 6);
    ck_assert_int_eq(n_of(0, 1), 1);
    fx_restart();
    fx_verify();
    ck_assert_uint_eq(fx_count(0), 2);
    ck_assert_int_eq(n_of(0, 3), 6);
}
END_TEST

START_TEST(keys_of_one_statement_go_round)
{
    Session a = {.slot = 0};
    FxRow rows[3] = {{.id = 1, .u = 1, .n = 1}, {.id = 2, .u = 2, .n = 2}, {.id = 3, .u = 3, .n = 3}};
    BoxShm *b = write_rows(&a, 0, PART_INSERT, 0, rows, NULL, 3);
    ck_assert_int_eq(b->ans_status, ANS_STAGED);
    u64 old[3] = {b->ans_row[0], b->ans_row[0] + 1, b->ans_row[0] + 2};
    FxRow moved[3] = {{.id = 2, .u = 3}, {.id = 3, .u = 1}, {.id = 1, .u = 2}};
    b = write_rows(&a, 0, PART_UPDATE, 3, moved, old, 3);
    ck_assert_int_eq(b->ans_status, ANS_STAGED);
    RowId first = b->ans_row[0];
    refused(write_rows(&a, 0, PART_UPDATE, 1, &(FxRow){.id = 3}, &first, 1), ERR_UNIQUE_VIOLATION);
    rollback_to(&a, a.ordinal - 1);
    commit(&a);
    ck_assert_int_eq(n_of(0, 2), 1);
    ck_assert_int_eq(n_of(0, 3), 2);
    ck_assert_int_eq(n_of(0, 1), 3);
    fx_restart();
    fx_verify();
    ck_assert_int_eq(n_of(0, 1), 3);
}
END_TEST

START_TEST(savepoints)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    insert_one(&a, 0, 1, 1);
    commit(&a);
    RowId r = update_n(&a, 0, at(0, 1), 2);
    savepoint(&a);
    u32 first = a.ordinal;
    RowId later = update_n(&a, 0, r, 3);
    delete_one(&a, 0, later);
    insert_one(&a, 0, 1, 5);
    savepoint(&a);
    u32 second = a.ordinal;
    insert_one(&a, 0, 2, 2);
    rollback_to(&a, second);
    insert_one(&b, 0, 2, 2); /* its keys are free for others again */
    rollback(&b);
    rollback_to(&a, first);
    insert_one(&b, 0, 9, 5);
    rollback(&b);
    refused(write_rows(&a, 0, PART_INSERT, 0, &(FxRow){.id = 1, .u = FX_NO_U}, NULL, 1), ERR_UNIQUE_VIOLATION);
    rollback_to(&a, first);
    update_n(&a, 0, r, 4); /* the row is there again */
    commit(&a);
    ck_assert_int_eq(n_of(0, 1), 4);
    ck_assert_uint_eq(fx_count(0), 1);
    insert_one(&a, 0, 8, 8);
    rollback_to(&a, 0);
    ck_assert_uint_eq(shm_box(&fx_shm, 0)->ans_txn, 0);
    commit(&a);
    ck_assert_uint_eq(fx_count(0), 1);
}
END_TEST

START_TEST(nothing_is_left_of_many_transactions)
{
    Session a = {.slot = 0};
    for (u32 i = 0; i < 999; i++) {
        insert_one(&a, 0, i, FX_NO_U);
        if (i % 3 == 2)
            rollback(&a);
        else
            commit(&a);
    }
    ck_assert_uint_eq(fx_count(0), 666);
    ck_assert_uint_eq(at(0, 997), ROW_ID(1, 665)); /* no id was lost */
}
END_TEST

/* Who waits for a row runs again when it was changed, keeping what its transaction did before, and the lock follows the row. */
START_TEST(retry_in_the_middle)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    insert_one(&a, 0, 1, 1);
    insert_one(&a, 0, 2, 2);
    commit(&a);
    RowId old = at(0, 1);
    RowId r = update_n(&a, 0, old, 10);
    update_n(&a, 0, r, 11);
    insert_one(&b, 0, 3, 3);
    b.statement = b.ordinal;
    fx_put_part(fx_table[0], PART_UPDATE, 4, (FxRow[2]){{.n = 20}, {.n = 21}}, (u64[2]){at(0, 2), old}, 2, ++b.ordinal);
    fx_post(1, (FxAsk){REQ_PART, ENDS, b.ordinal, b.statement, 0, 0, 1000000000ull * 60});
    writer_turn(fx_writer);
    ck_assert(!fx_answered(1));
    commit(&a);
    BoxShm *box = fx_answer(1);
    ck_assert_int_eq(box->ans_status, ANS_RETRY);
    ck_assert_uint_ne(box->ans_txn, 0);
    refused(write_rows(&a, 0, PART_UPDATE, 4, &(FxRow){.n = 1}, (u64[1]){at(0, 1)}, 1), ERR_LOCK_NOT_AVAILABLE); /* b has it now */
    rollback(&a);
    ck_assert_int_eq(write_rows(&b, 0, PART_UPDATE, 4, (FxRow[2]){{.n = 20}, {.n = 12}}, (u64[2]){at(0, 2), at(0, 1)}, 2)->ans_status,
                     ANS_STAGED);
    commit(&b);
    ck_assert_int_eq(n_of(0, 1), 12);
    ck_assert_int_eq(n_of(0, 2), 20);
    ck_assert_int_eq(n_of(0, 3), 1);
}
END_TEST

/* The last statement goes with COMMIT. When it is refused nothing is left. */
START_TEST(commit_with_a_part)
{
    Session a = {.slot = 0};
    RowId r = insert_one(&a, 0, 1, 1);
    a.statement = a.ordinal;
    fx_put_part(fx_table[0], PART_UPDATE, 4, &(FxRow){.n = 7}, &r, 1, a.ordinal + 1);
    ck_assert_int_eq(send_kind(&a, REQ_COMMIT, ENDS, 1)->ans_status, ANS_OK);
    ck_assert_int_eq(n_of(0, 1), 7);
    a = (Session){.slot = 0};
    insert_one(&a, 0, 2, 2);
    a.statement = a.ordinal;
    fx_put_part(fx_table[0], PART_INSERT, 0, &(FxRow){.id = 1, .u = FX_NO_U}, NULL, 1, a.ordinal + 1);
    BoxShm *b = send_kind(&a, REQ_COMMIT, ENDS, 1);
    refused(b, ERR_UNIQUE_VIOLATION);
    ck_assert_uint_eq(b->ans_txn, 0);
    ck_assert_uint_eq(fx_count(0), 1);
    fx_verify();
}
END_TEST

static RowId
insert_big(Session *s, i64 id, u64 *ret_slot)
{
    BoxShm *b = write_rows(s, 0, PART_INSERT, 0, &(FxRow){.id = id, .u = (i32)id, .n = 1, .note_bytes = 30000}, NULL, 1);
    ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    *ret_slot = b->ans_slot;
    return b->ans_row[0];
}

/* What does not fit goes into the log; what was private is known by the same ids for ever. */
START_TEST(a_transaction_that_grows)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    RowId rows[12];
    u64 slot, first_slot = 0, spilled = 0;
    insert_one(&a, 0, 100, 100);
    commit(&a);
    update_n(&a, 0, at(0, 100), 2);
    insert_one(&a, 1, 1, 1);
    savepoint(&a);
    u32 mark = a.ordinal;
    for (i64 i = 0; i < 12; i++) {
        rows[i] = insert_big(&a, i, &slot);
        first_slot = i ? first_slot : slot;
        spilled += slot == 0;
        ck_assert((ROW_BLOCK(rows[i]) >= STAGED_BLOCK) == (slot != 0));
    }
    ck_assert_uint_eq(spilled, 4);
    FxRow own = fx_read(((const SlotDirShm *)(uintptr_t)first_slot)->pub_block, ROW_OFFSET(rows[0]));
    ck_assert_int_eq(own.id, 0); /* still where it was told */
    RowId again = update_n(&a, 0, rows[0], 5); /* a row that was private */
    update_n(&a, 0, again, 6);
    update_id(&a, 0, rows[1], 50);
    insert_one(&a, 0, 1, FX_NO_U); /* its key is free */
    delete_one(&a, 0, rows[2]);
    delete_one(&a, 0, rows[11]); /* one of the chain's */
    refused(write_rows(&a, 0, PART_INSERT, 0, &(FxRow){.id = 3, .u = FX_NO_U}, NULL, 1), ERR_UNIQUE_VIOLATION);
    ck_assert_str_eq(shm_box(&fx_shm, 0)->ans_error.detail, "Key (id)=(3) already exists.");
    refused(write_rows(&b, 0, PART_INSERT, 0, &(FxRow){.id = 3, .u = FX_NO_U}, NULL, 1), ERR_LOCK_NOT_AVAILABLE);
    rollback(&b);
    rollback_to(&a, mark);
    insert_one(&b, 0, 3, 3); /* and now it is not his any more */
    commit(&b);
    for (i64 i = 4; i < 12; i++)
        rows[i] = insert_big(&a, i, &slot);
    savepoint(&a);
    u32 later = a.ordinal;
    delete_one(&a, 0, rows[4]);
    rollback_to(&a, later);
    update_n(&a, 0, rows[4], 9);
    commit(&a);
    for (u32 round = 0; round < 2; round++) {
        ck_assert_uint_eq(fx_count(0), 10);
        ck_assert_uint_eq(fx_count(1), 1);
        ck_assert_int_eq(n_of(0, 4), 9);
        ck_assert_int_eq(n_of(0, 100), 2);
        ck_assert_int_eq(n_of(0, 0), -1);
        fx_restart();
        fx_verify();
    }
}
END_TEST

/* RETRY takes back the running statement of a chain and nothing else, in the log, too. */
START_TEST(retry_of_a_chain)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    insert_one(&a, 0, 1, 1);
    insert_one(&a, 0, 2, 2);
    commit(&a);
    RowId old = at(0, 1);
    update_n(&a, 0, old, 10);
    fx_put_part(fx_table[0], PART_INSERT, 0, &(FxRow){.id = 5, .u = FX_NO_U, .n = 5}, NULL, 1, 1);
    ck_assert_int_eq(fx_ask(1, (FxAsk){REQ_PART, 0, 1, 0, 0, 0, 0})->ans_status, ANS_STAGED);
    fx_put_part(fx_table[0], PART_INSERT, 0, &(FxRow){.id = 6, .u = FX_NO_U, .n = 6}, NULL, 1, 2);
    ck_assert_int_eq(fx_ask(1, (FxAsk){REQ_PART, ENDS, 2, 0, 0, 0, 0})->ans_status, ANS_STAGED);
    fx_put_part(fx_table[0], PART_UPDATE, 4, &(FxRow){.n = 20}, (u64[1]){at(0, 2)}, 1, 3);
    ck_assert_int_eq(fx_ask(1, (FxAsk){REQ_PART, 0, 3, 2, 0, 0, 0})->ans_status, ANS_STAGED);
    fx_put_part(fx_table[0], PART_UPDATE, 4, &(FxRow){.n = 21}, &old, 1, 4);
    fx_post(1, (FxAsk){REQ_PART, ENDS, 4, 2, 0, 0, 1000000000ull * 60});
    writer_turn(fx_writer);
    ck_assert(!fx_answered(1));
    commit(&a);
    ck_assert_int_eq(fx_answer(1)->ans_status, ANS_RETRY);
    refused(write_rows(&a, 0, PART_DELETE, 0, NULL, (u64[1]){at(0, 2)}, 1), ERR_LOCK_NOT_AVAILABLE); /* locks stay */
    rollback(&a);
    b.ordinal = 4;
    b.statement = 2;
    fx_put_part(fx_table[0], PART_UPDATE, 4, (FxRow[2]){{.n = 30}, {.n = 31}}, (u64[2]){at(0, 2), at(0, 1)}, 2, 5);
    ck_assert_int_eq(send_kind(&b, REQ_PART, ENDS, 1)->ans_status, ANS_STAGED);
    commit(&b);
    for (u32 round = 0; round < 2; round++) {
        ck_assert_uint_eq(fx_count(0), 4);
        ck_assert_int_eq(n_of(0, 1), 31);
        ck_assert_int_eq(n_of(0, 2), 30);
        ck_assert_int_eq(n_of(0, 6), 6);
        fx_restart();
        fx_verify();
    }
}
END_TEST

/* An UPDATE in two parts may give a key to a row before the row that has it is deleted; not when it stays. */
START_TEST(keys_go_round_in_two_parts)
{
    Session a = {.slot = 0};
    insert_one(&a, 0, 1, 1);
    insert_one(&a, 0, 2, 2);
    commit(&a);
    for (u32 round = 0; round < 3; round++) {
        fx_put_part(fx_table[0], PART_UPDATE, 9, &(FxRow){.id = 2, .note_bytes = 1}, (u64[1]){at(0, 1)}, 1, 1);
        ck_assert_int_eq(fx_ask(0, (FxAsk){REQ_PART, 0, 1, 0, 0, 0, 0})->ans_status, ANS_STAGED);
        if (round == 0) {
            fx_put_part(fx_table[0], PART_UPDATE, 4, &(FxRow){.n = 7}, (u64[1]){at(0, 2)}, 1, 2);
            refused(fx_ask(0, (FxAsk){REQ_PART, ENDS, 2, 0, 0, 0, 0}), ERR_UNIQUE_VIOLATION);
            rollback(&a);
            continue;
        }
        if (round == 1) { /* the statement did not end */
            fx_put_part(fx_table[0], PART_INSERT, 0, &(FxRow){.id = 9, .u = FX_NO_U}, NULL, 1, 2);
            refused(fx_ask(0, (FxAsk){REQ_PART, ENDS, 2, 1, 0, 0, 0}), ERR_UNIQUE_VIOLATION);
            rollback(&a);
            continue;
        }
        fx_put_part(fx_table[0], PART_UPDATE, 9, &(FxRow){.id = 1, .note_bytes = 2}, (u64[1]){at(0, 2)}, 1, 2);
        ck_assert_int_eq(fx_ask(0, (FxAsk){REQ_PART, ENDS, 2, 0, 0, 0, 0})->ans_status, ANS_STAGED);
        commit(&a);
    }
    ck_assert_uint_eq(fx_count(0), 2);
    RowId id;
    FxRow row;
    ck_assert(fx_find(0, 1, &id, &row));
    ck_assert_int_eq(row.u, 2);
}
END_TEST

/* Dead before anything was logged: what was open is lost, and told; dead afterwards: done. */
START_TEST(a_successor)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    insert_one(&a, 0, 1, 1);
    commit(&a);
    RowId r = update_n(&a, 0, at(0, 1), 2);
    insert_one(&b, 0, 5, 5);
    fx_die();
    refused(write_rows(&b, 0, PART_INSERT, 0, &(FxRow){.id = 6, .u = FX_NO_U}, NULL, 1), ERR_SERIALIZATION_FAILURE);
    ck_assert_uint_eq(shm_box(&fx_shm, 1)->ans_txn, 0);
    refused(write_rows(&a, 0, PART_UPDATE, 4, &(FxRow){.n = 3}, &r, 1), ERR_SERIALIZATION_FAILURE);
    ck_assert_int_eq(n_of(0, 1), 1);
    for (u32 wait_us = 20000;; wait_us *= 2) { /* until the log was written before the death */
        a = (Session){.slot = 0};
        r = update_n(&a, 0, at(0, 1), 2);
        r = update_n(&a, 0, r, 3);
        delete_one(&a, 0, insert_one(&a, 0, 9, 9));
        fx_post(0, (FxAsk){REQ_COMMIT, 0, a.ordinal, a.ordinal, 0, 0, 0});
        writer_turn(fx_writer); /* logged, not published */
        ck_assert(!fx_answered(0));
        usleep(wait_us);
        fx_die();
        BoxShm *box = fx_answer(0);
        fx_verify();
        if (box->ans_status == ANS_OK)
            break;
        refused(box, ERR_SERIALIZATION_FAILURE);
        ck_assert_int_eq(n_of(0, 1), 1);
    }
    ck_assert_int_eq(n_of(0, 1), 3);
    ck_assert_uint_eq(fx_count(0), 1);
    fx_restart();
    ck_assert_int_eq(n_of(0, 1), 3);
    ck_assert_uint_eq(fx_count(0), 1);
    fx_verify();
}
END_TEST

/* A successor that has refused a commit and dies before it tells: the next one does not take it for a commit of nothing. */
START_TEST(a_successor_that_dies_before_it_answers)
{
    Session a = {.slot = 0};
    insert_one(&a, 0, 1, 1);
    fx_post(0, (FxAsk){REQ_COMMIT, 0, a.ordinal + 1, a.statement, a.savepoint, 0, 0});
    for (u32 deaths = 0; deaths < 3; deaths++) {
        fx_die();
        intake_scan(fx_writer);
        ck_assert(!fx_answered(0));
    }
    fx_die();
    refused(fx_answer(0), ERR_SERIALIZATION_FAILURE);
    ck_assert_uint_eq(fx_count(0), 0);
    fx_verify();
}
END_TEST

/* While nothing can be logged a short transaction loses nothing; a chain cannot tell the log what is void, so it is lost, and told so. */
START_TEST(a_log_that_stops)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    u64 slot;
    insert_one(&a, 0, 100, FX_NO_U);
    savepoint(&a);
    u32 mark = a.ordinal;
    insert_one(&a, 0, 101, FX_NO_U);
    for (i64 i = 0; i < 10; i++)
        insert_big(&b, i, &slot);
    ck_assert_uint_eq(slot, 0);
    savepoint(&b);
    fx_settle();
    fx_writer->stopped = ERR_IO_ERROR;
    fx_writer->resume_at_ns = UINT64_MAX;
    refused(write_rows(&a, 0, PART_INSERT, 0, &(FxRow){.id = 102, .u = FX_NO_U}, NULL, 1), ERR_IO_ERROR);
    ck_assert_uint_ne(shm_box(&fx_shm, 0)->ans_txn, 0);
    rollback_to(&a, mark);
    refused(send_kind(&b, REQ_UNDO, 0, 0), ERR_IO_ERROR);
    ck_assert_uint_eq(shm_box(&fx_shm, 1)->ans_txn, 0);
    fx_writer->stopped = ERR_NONE;
    insert_one(&a, 0, 3, 3); /* b's keys are free */
    commit(&a);
    for (u32 round = 0; round < 2; round++) {
        ck_assert_uint_eq(fx_count(0), 2);
        ck_assert_int_eq(n_of(0, 100), 1);
        ck_assert_int_eq(n_of(0, 3), 1);
        fx_restart();
        fx_verify();
    }
}
END_TEST

/* The group with a chain's frame failed: what it staged stays where it is until its owner asks again. */
START_TEST(a_chain_that_the_log_lost)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    u64 slot;
    RowId row = 0;
    for (i64 i = 0; i < 10; i++)
        row = insert_big(&a, i, &slot);
    fx_settle();
    fx_writer->txs[0].lost = ERR_IO_ERROR;
    Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
    FxRow own = fx_read(dir_slot(store_table(s.root, fx_table[0])->dir, ROW_BLOCK(row))->pub_block, ROW_OFFSET(row));
    snapshot_unpin(shm_box(&fx_shm, FX_READER));
    ck_assert_int_eq(own.id, 9);
    refused(write_rows(&b, 0, PART_INSERT, 0, &own, NULL, 1), ERR_LOCK_NOT_AVAILABLE);
    rollback(&b);
    refused(send_kind(&a, REQ_COMMIT, 0, 0), ERR_IO_ERROR);
    ck_assert_uint_eq(shm_box(&fx_shm, 0)->ans_txn, 0);
    insert_one(&b, 0, 9, FX_NO_U);
    commit(&b);
    fx_restart();
    ck_assert_uint_eq(fx_count(0), 1);
}
END_TEST

/* A backend that dies leaves nothing. */
START_TEST(a_dead_backend)
{
    Session a = {.slot = 0}, b = {.slot = 1};
    insert_one(&a, 0, 1, 1);
    publish_u32(&fx_shm.control->slots[0].pub_state, SLOT_RELEASING);
    insert_one(&b, 0, 1, 1);
    commit(&b);
    ck_assert_uint_eq(observe_u32(&fx_shm.writer->pub_released_generation[0]), 1);
}
END_TEST

/* ---- random transactions against a model ---- */

enum { KEYS = 24, WORKERS = 4, MARKS = 4 };

typedef struct ModelRow {
    bool touched; /* of a transaction: its own, else what is committed */
    bool there;
    FxRow row;
    RowId at;
} ModelRow;

typedef struct Model {
    ModelRow rows[FX_TABLES][KEYS];
} Model;

typedef struct Worker {
    Session s;
    bool open;
    Model own;
    Model before[MARKS]; /* at each live savepoint */
    u32 marks[MARKS], mark_count;
    const SlotDirShm *private[FX_TABLES];
} Worker;

static Model committed;
static Worker workers[WORKERS];
static u64 random_state;
static u32 chains, done_statements, done_commits, seen_duplicates, seen_waits;

static u32
below(u32 n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)(random_state >> 11) % n;
}

static const ModelRow *
seen(const Worker *w, u32 t, u32 k)
{
    return w->own.rows[t][k].touched ? &w->own.rows[t][k] : &committed.rows[t][k];
}

static RowId
place_of_row(const Worker *w, u32 t, u32 k)
{
    return w->own.rows[t][k].touched ? w->own.rows[t][k].at : at(t, k);
}

/* Another open transaction has changed something: its locks may be in the way. */
static bool
others_changed(const Worker *w)
{
    for (u32 i = 0; i < WORKERS; i++)
        for (u32 t = 0; t < FX_TABLES && workers[i].open && &workers[i] != w; t++)
            return true;
    return false;
}

static void
forget(Worker *w)
{
    w->s = (Session){.slot = w->s.slot};
    w->open = false;
    w->mark_count = 0;
    memset(&w->own, 0, sizeof w->own);
    memset(w->private, 0, sizeof w->private);
}

/* The statement, as it changes the model. */
typedef struct Change {
    PartKind kind;
    u32 t, mask, n;
    u32 from[4]; /* keys of the old rows */
    FxRow rows[4];
    RowId at[4];
} Change;

static FxRow
random_row(void)
{
    return (FxRow){.id = below(KEYS), .u = below(2) ? FX_NO_U : (i32)below(KEYS), .n = (i32)below(1000),
                   .note_bytes = below(4) ? below(20) : below(2) ? 1000 : 30000};
}

static bool
choose(const Worker *w, Change *c)
{
    *c = (Change){.kind = (PartKind)(1 + below(3)), .t = below(FX_TABLES), .mask = 1 + below(15)};
    u32 want = 1 + below(4);
    for (u32 tries = 0; tries < 20 && c->n < want; tries++) {
        FxRow r = random_row();
        u32 k = below(KEYS);
        bool again = false;
        for (u32 i = 0; i < c->n; i++)
            again |= c->from[i] == k;
        if (c->kind != PART_INSERT && (again || !seen(w, c->t, k)->there))
            continue;
        FxRow old = seen(w, c->t, k)->row;
        if (c->kind == PART_UPDATE) {
            r.id = c->mask & 1 ? r.id : old.id;
            r.u = c->mask & 2 ? r.u : old.u;
            r.n = c->mask & 4 ? r.n : old.n;
            /* The note says which id it was written with. */
            c->mask = c->mask & 1 ? c->mask | 8 : c->mask;
            r.note_bytes = c->mask & 8 ? r.note_bytes : old.note_bytes;
        }
        c->from[c->n] = k;
        c->rows[c->n++] = r;
    }
    return c->n > 0;
}

/* What the transaction sees after the change; false: a key is there twice. */
static bool
apply_change(const Worker *w, const Change *c, Model *ret)
{
    *ret = w->own;
    for (u32 i = 0; i < c->n && c->kind != PART_INSERT; i++)
        ret->rows[c->t][c->from[i]] = (ModelRow){.touched = true};
    for (u32 i = 0; i < c->n && c->kind != PART_DELETE; i++) {
        ModelRow *r = &ret->rows[c->t][c->rows[i].id];
        if (r->touched ? r->there : committed.rows[c->t][c->rows[i].id].there)
            return false;
        *r = (ModelRow){.touched = true, .there = true, .row = c->rows[i]};
    }
    for (u32 u = 0; u < KEYS; u++) {
        u32 have = 0;
        for (u32 k = 0; k < KEYS; k++) {
            const ModelRow *r = ret->rows[c->t][k].touched ? &ret->rows[c->t][k] : &committed.rows[c->t][k];
            have += r->there && r->row.u == (i32)u;
        }
        if (have > 1)
            return false;
    }
    return true;
}

/* Rows [first, end) of the change as one part. */
static void
put_change(Worker *w, const Change *c, u32 first, u32 end)
{
    u64 old[4];
    for (u32 i = first; i < end && c->kind != PART_INSERT; i++)
        old[i] = place_of_row(w, c->t, c->from[i]);
    fx_put_part(fx_table[c->t], c->kind, c->mask, c->rows + first, old + first, end - first, w->s.ordinal + 1);
}

static const BlockShm *
block_of(const Worker *w, u32 t, RowId id)
{
    if (ROW_BLOCK(id) >= STAGED_BLOCK)
        return w->private[t]->pub_block;
    Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
    const BlockShm *b = dir_slot(store_table(s.root, fx_table[t])->dir, ROW_BLOCK(id))->pub_block;
    snapshot_unpin(shm_box(&fx_shm, FX_READER));
    return b;
}

static void
same(const FxRow *a, const FxRow *b)
{
    HOLDS(a->id == b->id && a->u == b->u && a->n == b->n && a->note_bytes == b->note_bytes);
}

/* The transaction's own rows, read where it was told that they are. */
static void
check_own(const Worker *w)
{
    for (u32 t = 0; t < FX_TABLES; t++)
        for (u32 k = 0; k < KEYS; k++) {
            const ModelRow *r = &w->own.rows[t][k];
            if (!r->touched || !r->there)
                continue;
            FxRow have = fx_read(block_of(w, t, r->at), ROW_OFFSET(r->at));
            same(&have, &r->row);
        }
}

static void
check_committed(void)
{
    for (u32 t = 0; t < FX_TABLES; t++) {
        u32 rows = 0;
        for (u32 k = 0; k < KEYS; k++) {
            RowId id;
            FxRow have;
            bool there = fx_find(t, k, &id, &have);
            HOLDS(there == committed.rows[t][k].there);
            rows += there;
            if (there)
                same(&have, &committed.rows[t][k].row);
        }
        HOLDS(rows == fx_count(t));
    }
    fx_verify();
}

static void
take_over_model(Worker *w)
{
    for (u32 t = 0; t < FX_TABLES; t++)
        for (u32 k = 0; k < KEYS; k++)
            if (w->own.rows[t][k].touched)
                committed.rows[t][k] = w->own.rows[t][k];
    forget(w);
    done_commits++;
}

/* After an error: back to a savepoint, or the end. */
static void
recover_worker(Worker *w)
{
    if (w->open && w->mark_count && below(3)) {
        u32 m = below(w->mark_count);
        rollback_to(&w->s, w->marks[m]);
        w->own = w->before[m];
        w->mark_count = m + 1;
        HOLDS(w->marks[m] == 0 || shm_box(&fx_shm, w->s.slot)->ans_txn != 0);
        w->open = w->marks[m] > 0;
        return;
    }
    rollback(&w->s);
    forget(w);
}

static bool
was_refused(Worker *w, const BoxShm *b, bool legal)
{
    if (b->ans_status != ANS_ERROR)
        return false;
    if (b->ans_error.code == ERR_UNIQUE_VIOLATION) {
        HOLDS(!legal);
        seen_duplicates++;
    } else {
        if (b->ans_error.code != ERR_LOCK_NOT_AVAILABLE && b->ans_error.code != ERR_DEADLOCK_DETECTED)
            ck_abort_msg("%s", b->ans_error.message);
        HOLDS(others_changed(w));
        seen_waits++;
    }
    return true;
}

static void
run_statement(Worker *w)
{
    Change c;
    Model after;
    if (!choose(w, &c))
        return;
    bool legal = apply_change(w, &c, &after);
    u32 cut = c.n > 1 && below(5) == 0 ? 1 + below(c.n - 1) : c.n; /* in one part, or in two, which makes a chain of the transaction */
    w->s.statement = w->s.ordinal;
    for (u32 first = 0; first < c.n; first = cut, cut = c.n) {
        put_change(w, &c, first, cut);
        BoxShm *b = send_kind(&w->s, REQ_PART, cut == c.n ? ENDS : 0, 1);
        if (was_refused(w, b, legal)) {
            HOLDS((b->ans_txn != 0) == (w->open || first));
            w->open = b->ans_txn != 0;
            recover_worker(w);
            return;
        }
        HOLDS(b->ans_status == ANS_STAGED && b->ans_txn != 0);
        if (b->ans_slot)
            w->private[c.t] = (const SlotDirShm *)(uintptr_t)b->ans_slot;
        else
            chains++;
        for (u32 i = first; i < cut && c.kind != PART_DELETE; i++)
            c.at[i] = b->ans_row[0] + i - first;
    }
    HOLDS(legal);
    w->open = true;
    w->own = after;
    for (u32 i = 0; i < c.n && c.kind != PART_DELETE; i++)
        w->own.rows[c.t][c.rows[i].id].at = c.at[i];
    done_statements++;
    check_own(w);
}

static void
run_commit(Worker *w)
{
    Change c;
    Model after;
    bool part = below(2) && choose(w, &c), legal = !part || apply_change(w, &c, &after);
    if (part) {
        w->s.statement = w->s.ordinal;
        put_change(w, &c, 0, c.n);
    }
    BoxShm *b = send_kind(&w->s, REQ_COMMIT, ENDS, part);
    if (was_refused(w, b, legal)) {
        HOLDS(b->ans_txn == 0);
        forget(w);
        return;
    }
    HOLDS(b->ans_status == ANS_OK && legal);
    if (part)
        w->own = after;
    take_over_model(w);
    check_committed();
}

static void
run_step(Worker *w)
{
    u32 what = below(20);
    if (what < 12)
        run_statement(w);
    else if (what < 15) {
        if (w->mark_count < MARKS) {
            savepoint(&w->s);
            w->before[w->mark_count] = w->own;
            w->marks[w->mark_count++] = w->s.ordinal;
        } else {
            w->mark_count = below(MARKS); /* RELEASE */
            w->s.savepoint = w->mark_count ? w->marks[w->mark_count - 1] : 0;
        }
    } else if (what < 17)
        recover_worker(w);
    else
        run_commit(w);
}

/* All open transactions are lost, and told so at their next request. */
static void
end_all(bool told)
{
    for (u32 i = 0; i < WORKERS; i++) {
        if (told && workers[i].open) {
            BoxShm *b = send_kind(&workers[i].s, below(2) ? REQ_COMMIT : REQ_UNDO, 0, 0);
            refused(b, ERR_SERIALIZATION_FAILURE);
            HOLDS(b->ans_txn == 0);
        }
        forget(&workers[i]);
    }
}

static void
run_model(u64 seed, u32 steps)
{
    random_state = seed * 0x9e3779b97f4a7c15ull + 1;
    memset(&committed, 0, sizeof committed);
    for (u32 i = 0; i < WORKERS; i++) {
        workers[i].s.slot = i;
        forget(&workers[i]);
    }
    for (u32 i = 0; i < steps; i++) {
        run_step(&workers[below(WORKERS)]);
        if (below(100) == 0) {
            fx_restart();
            end_all(false);
            check_committed();
        } else if (below(60) == 0) {
            fx_settle();
            fx_die();
            end_all(true);
            check_committed();
        }
    }
}

START_TEST(random_transactions)
{
    chains = done_statements = done_commits = seen_duplicates = seen_waits = 0;
    run_model((u64)_i + 1, 1500);
    ck_assert_uint_gt(done_statements, 100);
    ck_assert_uint_gt(done_commits, 30);
    ck_assert_uint_gt(seen_duplicates, 30);
    ck_assert_uint_gt(seen_waits, 30);
    ck_assert_uint_gt(chains, 50);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("transactions");
    TCase *c = tcase_create("transactions");
    tcase_add_checked_fixture(c, fx_setup, fx_teardown);
    tcase_set_timeout(c, 240);
    tcase_add_test(c, rows_are_private_until_commit);
    tcase_add_test(c, own_rows_are_changed_again);
    tcase_add_test(c, keys_of_one_statement_go_round);
    tcase_add_test(c, savepoints);
    tcase_add_test(c, nothing_is_left_of_many_transactions);
    tcase_add_test(c, retry_in_the_middle);
    tcase_add_test(c, commit_with_a_part);
    tcase_add_test(c, a_transaction_that_grows);
    tcase_add_test(c, retry_of_a_chain);
    tcase_add_test(c, keys_go_round_in_two_parts);
    tcase_add_test(c, a_successor);
    tcase_add_test(c, a_successor_that_dies_before_it_answers);
    tcase_add_test(c, a_log_that_stops);
    tcase_add_test(c, a_chain_that_the_log_lost);
    tcase_add_test(c, a_dead_backend);
    tcase_add_loop_test(c, random_transactions, 0, 3);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
