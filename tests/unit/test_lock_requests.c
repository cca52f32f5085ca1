/*
 * test_lock_requests.c
 *    LOCK requests through boxes: rows in all modes with waiting, NOWAIT and SKIP, rows that are gone, tables and their rights, advisory locks of
 *    transactions and sessions, the list of locks, requests that make no sense. After each test store and world are whole and no lock is left.
 */
#include "writer_fixture.h"

static const Head AT_ONCE = {.deadline_ns = 1}; /* who has to wait is told so */
static u32 table_id;
static RowId rows[4]; /* of the keys 0 … 3 */

/* ---- requests ---- */

static u32
put_rows(u8 *to, PartKind kind, const RowId *old, i64 first, u32 n)
{
    i64 ids[8];
    i32 ns[8];
    u8 indexes[8] = {0};
    static const u32 LENGTHS[1] = {4};
    PartColumn c[3] = {{.column = 0, .phys = PHYS_I64, .values = ids},
                       {.column = 1, .phys = PHYS_I32, .values = ns},
                       {.column = 2, .phys = PHYS_STR, .distinct = 1, .lengths = LENGTHS, .texts = "note", .indexes = indexes, .index_width = 1}};
    for (u32 i = 0; i < n; i++) {
        ids[i] = first + i;
        ns[i] = (i32)(first + i);
    }
    PartView p = {.kind = kind, .table_id = table_id, .schema_version = 1, .row_count = n, .columns = c, .column_count = 3, .old_rows = old};
    if (kind == PART_UPDATE) {
        p.columns = c + 1;
        p.column_count = 1;
    } else if (kind == PART_DELETE)
        p.column_count = 0;
    return record_frame(to, (u16)kind, 0, part_write(&p, to + RECORD_HEAD_BYTES));
}

static void
post_rows(u32 slot, ReqKind kind, PartKind part, RowId row, Head h)
{
    u8 bytes[4096] __attribute__((aligned(8)));
    post(slot, kind, h, bytes, put_rows(bytes, part, &row, 100, 1));
}

static void
post_lock_rows(u32 slot, RowLockMode mode, LockWait wait, const RowId *ids, u32 n, Head h)
{
    u8 bytes[4096] __attribute__((aligned(8))), *p = bytes + RECORD_HEAD_BYTES;
    put_le32(p, table_id);
    put_le32(p + 4, 1);
    put_le32(p + 8, (u32)mode | (u32)wait << 8);
    put_le32(p + 12, n);
    for (u32 i = 0; i < n; i++)
        put_le64(p + 16 + 8 * i, ids[i]);
    post(slot, REQ_LOCK, h, bytes, record_frame(bytes, BOX_LOCK_ROWS_RECORD, 0, 16 + 8 * n));
}

static AnsStatus
lock_row(u32 slot, RowLockMode mode, LockWait wait, RowId id)
{
    post_lock_rows(slot, mode, wait, &id, 1, AT_ONCE);
    return answer(slot);
}

static void
post_lock_table(u32 slot, TableLockMode mode, LockWait wait, Head h)
{
    u8 bytes[64] __attribute__((aligned(8))), *p = bytes + RECORD_HEAD_BYTES;
    put_le32(p, table_id);
    put_le32(p + 4, 1);
    put_le64(p + 8, (u64)mode | (u64)wait << 8);
    post(slot, REQ_LOCK, h, bytes, record_frame(bytes, BOX_LOCK_TABLE_RECORD, 0, 16));
}

static AnsStatus
lock_table(u32 slot, TableLockMode mode, LockWait wait)
{
    post_lock_table(slot, mode, wait, AT_ONCE);
    return answer(slot);
}

static void
post_advisory(u32 slot, u64 key, bool shared, LockWait wait, AdvisoryWhat what, Head h)
{
    u8 bytes[64] __attribute__((aligned(8))), *p = bytes + RECORD_HEAD_BYTES;
    put_le64(p, key);
    put_le64(p + 8, 1 | (u64)shared << 8 | (u64)wait << 16 | (u64)what << 24);
    post(slot, REQ_LOCK, h, bytes, record_frame(bytes, BOX_LOCK_ADVISORY_RECORD, 0, 16));
}

static u64
advisory(u32 slot, u64 key, bool shared, AdvisoryWhat what)
{
    post_advisory(slot, key, shared, LOCK_SKIP, what, AT_ONCE);
    ck_assert_int_eq(answer(slot), ANS_OK);
    return shm_box(&shm, slot)->ans_rows;
}

static void
rollback(u32 slot)
{
    post(slot, REQ_ROLLBACK, (Head){0}, NULL, 0);
    ck_assert_int_eq(answer(slot), ANS_OK);
    ck_assert_uint_eq(shm_box(&shm, slot)->ans_txn, 0);
}

static ErrCode code_of(u32 slot) { return shm_box(&shm, slot)->ans_error.code; }
static u64 bits_of(u32 slot) { return shm_box(&shm, slot)->ans_bits[0]; }

/* Where the newest version of the row with this n is. */
static RowId
find_row(i32 n)
{
    BoxShm *b = shm_box(&shm, SLOTS - 1);
    Snapshot s = snapshot_pin(&shm, b);
    const TableShm *t = store_table(s.root, table_id);
    RowId found = 0;
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView block;
        SliceView slice;
        for (u32 i = 0; block_view(t, place, &block) && slice_view(&block, 1, &slice) && i < block.row_count; i++)
            if (slice_value(&slice, &COLUMNS[1], i).i32v == n && !row_deleted(&block, i, s.version))
                found = ROW_ID(block.block_id, i);
    }
    snapshot_unpin(b);
    return found;
}

/* Until the walwriter has seen what was posted and parked it. */
static void
wait_parked(u32 count)
{
    for (u32 i = 0; relaxed_u64(&shm.writer->parked_count) != count; i++) {
        ck_assert_msg(i < 20000, "nobody waits");
        usleep(500);
    }
}

static void
begin(void)
{
    u8 bytes[4096] __attribute__((aligned(8)));
    setup();
    post(0, REQ_WRITE, AT_ONCE, bytes, put_create(bytes, 0, "t"));
    ck_assert_int_eq(answer(0), ANS_OK);
    table_id = id_of("t");
    post(0, REQ_WRITE, AT_ONCE, bytes, put_rows(bytes, PART_INSERT, NULL, 0, 4));
    ck_assert_int_eq(answer(0), ANS_OK);
    for (i32 i = 0; i < 4; i++)
        ck_assert_uint_ne(rows[i] = find_row(i), 0);
}

static void
end(void)
{
    for (u32 i = 0; i < SLOTS - 1; i++) {
        advisory(i, 0, false, ADVISORY_UNLOCK_ALL);
        rollback(i);
    }
    post(0, REQ_LIST_LOCKS, AT_ONCE, NULL, 0);
    ck_assert_int_eq(answer(0), ANS_OK);
    ck_assert_uint_eq(shm_box(&shm, 0)->ans_rows, 0);
    verify();
    teardown();
}

/* ---- rows ---- */

START_TEST(nowait_and_skip)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_WAIT, rows[1]), ANS_OK);
    ck_assert_uint_eq(bits_of(0), 1);
    ck_assert_uint_ne(shm_box(&shm, 0)->ans_txn, 0);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_KEY_SHARE, LOCK_NOWAIT, rows[1]), ANS_ERROR);
    ck_assert_int_eq(code_of(1), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_str_eq(shm_box(&shm, 1)->ans_error.message, "could not obtain lock on row in relation \"t\"");
    post_lock_rows(1, ROW_LOCK_UPDATE, LOCK_SKIP, rows, 4, AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_uint_eq(bits_of(1), 0xd);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_UPDATE, LOCK_WAIT, rows[1]), ANS_ERROR);
    ck_assert_str_eq(shm_box(&shm, 1)->ans_error.message, "canceling statement due to lock timeout");
    ck_assert_uint_ne(shm_box(&shm, 1)->ans_txn, 0); /* stays open until its ROLLBACK */
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_NOWAIT, rows[0]), ANS_ERROR);
    rollback(1);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_NOWAIT, rows[0]), ANS_OK);
}
END_TEST

START_TEST(waiting_ends_with_the_holder)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, rows[1]), ANS_OK);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_SHARE, LOCK_WAIT, rows[1]), ANS_OK);
    post_lock_rows(2, ROW_LOCK_NO_KEY_UPDATE, LOCK_WAIT, rows, 2, (Head){0});
    wait_parked(1);
    rollback(0);
    ck_assert(!is_answered(2));
    rollback(1);
    ck_assert_int_eq(answer(2), ANS_OK);
    ck_assert_uint_eq(bits_of(2), 3);
}
END_TEST

/* An update meanwhile: the lock waits for the new version and says so; where the row may not have changed that is an error. */
START_TEST(rows_that_are_gone)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_WAIT, rows[1]), ANS_OK);
    post_rows(1, REQ_WRITE, PART_UPDATE, rows[1], (Head){0});
    wait_parked(1);
    post_lock_rows(2, ROW_LOCK_UPDATE, LOCK_WAIT, rows, 2, (Head){0});
    wait_parked(2);
    post_lock_rows(3, ROW_LOCK_SHARE, LOCK_WAIT, &rows[1], 1, (Head){.flags = REQ_FLAG_SNAPSHOT});
    wait_parked(3);
    rollback(0);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_int_eq(answer(2), ANS_RETRY);
    RowId next = find_row(100);
    ck_assert_uint_ne(next, rows[1]);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_KEY_SHARE, LOCK_NOWAIT, next), ANS_ERROR); /* 2 has it already */
    ck_assert_int_eq(lock_row(2, ROW_LOCK_UPDATE, LOCK_WAIT, next), ANS_OK);
    ck_assert(!is_answered(3));
    rollback(2);
    ck_assert_int_eq(answer(3), ANS_ERROR);
    ck_assert_int_eq(code_of(3), ERR_SERIALIZATION_FAILURE);
    post_rows(1, REQ_WRITE, PART_DELETE, rows[2], AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_SKIP, rows[2]), ANS_RETRY);
}
END_TEST

/* Who refers to a row by its key lets others change the rest of it, and goes on referring to the new version. */
START_TEST(key_share_lets_updates_pass_and_follows_them)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_KEY_SHARE, LOCK_WAIT, rows[1]), ANS_OK);
    post_rows(1, REQ_WRITE, PART_UPDATE, rows[1], AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_OK);
    RowId next = find_row(100);
    post_rows(1, REQ_WRITE, PART_DELETE, next, AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_ERROR);
    ck_assert_int_eq(code_of(1), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_WAIT, next), ANS_OK);
    ck_assert_int_eq(lock_row(2, ROW_LOCK_KEY_SHARE, LOCK_NOWAIT, next), ANS_ERROR);
    rollback(0);
    post_rows(1, REQ_WRITE, PART_DELETE, next, AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_OK);
}
END_TEST

/* Rows that a transaction changed in parts. */
START_TEST(rows_of_others_parts)
{
    post_rows(0, REQ_PART, PART_DELETE, rows[1], (Head){.flags = REQ_FLAG_STATEMENT_ENDS, .ordinal = 1});
    ck_assert_int_eq(answer(0), ANS_STAGED);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_KEY_SHARE, LOCK_NOWAIT, rows[1]), ANS_ERROR);
    ck_assert_int_eq(code_of(1), ERR_LOCK_NOT_AVAILABLE);
    post_lock_rows(1, ROW_LOCK_KEY_SHARE, LOCK_SKIP, rows, 2, AT_ONCE);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_uint_eq(bits_of(1), 1);
    post_lock_rows(1, ROW_LOCK_KEY_SHARE, LOCK_WAIT, &rows[1], 1, (Head){0});
    wait_parked(1);
    rollback(0);
    ck_assert_int_eq(answer(1), ANS_OK);
    post_rows(0, REQ_PART, PART_DELETE, rows[1], (Head){.deadline_ns = 1, .ordinal = 1});
    ck_assert_int_eq(answer(0), ANS_ERROR);
}
END_TEST

START_TEST(a_cycle_of_locks)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_UPDATE, LOCK_WAIT, rows[0]), ANS_OK);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_UPDATE, LOCK_WAIT, rows[1]), ANS_OK);
    post_lock_rows(0, ROW_LOCK_SHARE, LOCK_WAIT, &rows[1], 1, (Head){0});
    wait_parked(1);
    post_lock_rows(1, ROW_LOCK_SHARE, LOCK_WAIT, &rows[0], 1, (Head){0});
    ck_assert_int_eq(answer(1), ANS_ERROR);
    ck_assert_int_eq(code_of(1), ERR_DEADLOCK_DETECTED);
    ck_assert(!is_answered(0)); /* the refused one has its locks until it ends */
    rollback(1);
    ck_assert_int_eq(answer(0), ANS_OK);
}
END_TEST

/* ---- tables ---- */

START_TEST(table_modes)
{
    ck_assert_int_eq(lock_table(0, TABLE_LOCK_SHARE, LOCK_WAIT), ANS_OK);
    ck_assert_int_eq(lock_table(1, TABLE_LOCK_SHARE, LOCK_NOWAIT), ANS_OK);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_UPDATE, LOCK_NOWAIT, rows[0]), ANS_OK); /* ROW SHARE */
    ck_assert_int_eq(lock_table(1, TABLE_LOCK_EXCLUSIVE, LOCK_NOWAIT), ANS_ERROR);
    ck_assert_int_eq(code_of(1), ERR_LOCK_NOT_AVAILABLE);
    ck_assert_str_eq(shm_box(&shm, 1)->ans_error.message, "could not obtain lock on relation \"t\"");
    post_rows(2, REQ_WRITE, PART_UPDATE, rows[1], (Head){0}); /* ROW EXCLUSIVE */
    wait_parked(1);
    rollback(0);
    ck_assert(!is_answered(2));
    rollback(1);
    ck_assert_int_eq(answer(2), ANS_OK);
    ck_assert_int_eq(lock_table(0, TABLE_LOCK_EXCLUSIVE, LOCK_WAIT), ANS_OK);
    ck_assert_int_eq(lock_table(1, TABLE_LOCK_ACCESS_SHARE, LOCK_NOWAIT), ANS_OK);
    ck_assert_int_eq(lock_row(2, ROW_LOCK_KEY_SHARE, LOCK_SKIP, rows[0]), ANS_ERROR); /* its table is waited for */
    ck_assert_str_eq(shm_box(&shm, 2)->ans_error.message, "canceling statement due to lock timeout");
    u8 bytes[64] __attribute__((aligned(8)));
    post(2, REQ_WRITE, AT_ONCE, bytes, put_id(bytes, 0, WAL_TRUNCATE, table_id));
    ck_assert_int_eq(answer(2), ANS_ERROR);
    rollback(0);
    rollback(1);
    post(2, REQ_WRITE, AT_ONCE, bytes, put_id(bytes, 0, WAL_TRUNCATE, table_id));
    ck_assert_int_eq(answer(2), ANS_OK);
}
END_TEST

/* Every mode with the one right that is enough for it, and with all those that are not. */
START_TEST(rights_to_lock)
{
    u8 bytes[512] __attribute__((aligned(8)));
    AclItem all[8] = {0};
    static const u32 BITS[6] = {ACL_SELECT, ACL_INSERT, ACL_UPDATE, ACL_DELETE, ACL_TRUNCATE, ACL_REFERENCES};
    post(0, REQ_WRITE, AT_ONCE, bytes, put_role(bytes, 0, WAL_CREATE_ROLE, 0, "other"));
    ck_assert_int_eq(answer(0), ANS_OK);
    BoxShm *own = shm_box(&shm, SLOTS - 1);
    Snapshot s = snapshot_pin(&shm, own);
    u32 role = catalog_find_role(s.root, str_of("other"))->role_id;
    snapshot_unpin(own);
    publish_u32(&shm.control->slots[1].pub_role_id, role);
    for (u32 i = 0; i < COUNT_OF(BITS); i++) {
        ByteBuf b = {0};
        all[0] = (AclItem){.role_id = role, .bits = BITS[i], .grantor_id = ROLE_ROOT};
        TableDef rights = {.table_id = table_id, .acl = all, .acl_count = 1, .acl_version = i + 1, .has_acl = 1};
        catrec_put_acl(&b, &rights);
        post(0, REQ_WRITE, AT_ONCE, bytes, put_record(bytes, 0, WAL_SET_ACL, &b));
        buf_free(&b);
        ck_assert_int_eq(answer(0), ANS_OK);
        for (u32 m = TABLE_LOCK_ACCESS_SHARE; m <= TABLE_LOCK_ACCESS_EXCLUSIVE; m++) {
            bool may = (BITS[i] & (ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE)) || (BITS[i] == ACL_INSERT && m <= TABLE_LOCK_ROW_EXCLUSIVE) ||
                       (BITS[i] == ACL_SELECT && m == TABLE_LOCK_ACCESS_SHARE);
            ck_assert_int_eq(lock_table(1, (TableLockMode)m, LOCK_WAIT), may ? ANS_OK : ANS_ERROR);
            ck_assert(may || code_of(1) == ERR_INSUFFICIENT_PRIVILEGE);
        }
        for (u32 m = ROW_LOCK_KEY_SHARE; m <= ROW_LOCK_UPDATE; m++)
            ck_assert_int_eq(lock_row(1, (RowLockMode)m, LOCK_WAIT, rows[0]), BITS[i] == ACL_UPDATE ? ANS_OK : ANS_ERROR);
        ck_assert(BITS[i] == ACL_UPDATE || strcmp(shm_box(&shm, 1)->ans_error.message, "permission denied for table t") == 0);
        rollback(1);
    }
}
END_TEST

/* ---- advisory ---- */

START_TEST(advisory_locks)
{
    ck_assert_uint_eq(advisory(0, 7, false, ADVISORY_TRANSACTION), 1);
    ck_assert_uint_ne(shm_box(&shm, 0)->ans_txn, 0);
    ck_assert_uint_eq(advisory(1, 7, true, ADVISORY_TRANSACTION), 0);
    ck_assert_uint_eq(shm_box(&shm, 1)->ans_txn, 0);
    ck_assert_uint_eq(advisory(0, 7, false, ADVISORY_UNLOCK), 0); /* not the session's */
    rollback(0);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_SESSION), 1);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_SESSION), 1);
    ck_assert_uint_eq(shm_box(&shm, 0)->ans_txn, 0);
    rollback(0);
    ck_assert_uint_eq(advisory(1, 7, true, ADVISORY_TRANSACTION), 1);
    rollback(1);
    post_advisory(1, 7, false, LOCK_WAIT, ADVISORY_SESSION, (Head){0});
    wait_parked(1);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_UNLOCK), 1);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_UNLOCK), 1);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_uint_eq(shm_box(&shm, 1)->ans_rows, 1);
    ck_assert_uint_eq(shm_box(&shm, 1)->ans_txn, 0);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_UNLOCK), 0);
    rollback(1);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_TRANSACTION), 0);
    ck_assert_uint_eq(advisory(1, 7, false, ADVISORY_UNLOCK), 1);
    ck_assert_uint_eq(advisory(0, 7, true, ADVISORY_TRANSACTION), 1);
}
END_TEST

START_TEST(a_session_that_ends_leaves_no_lock)
{
    ck_assert_uint_eq(advisory(2, 1, false, ADVISORY_SESSION), 1);
    ck_assert_uint_eq(advisory(2, 2, false, ADVISORY_TRANSACTION), 1);
    ck_assert_int_eq(lock_row(2, ROW_LOCK_UPDATE, LOCK_WAIT, rows[0]), ANS_OK);
    post_advisory(0, 1, true, LOCK_WAIT, ADVISORY_TRANSACTION, (Head){0});
    wait_parked(1);
    publish_u32(&shm.control->slots[2].pub_state, SLOT_RELEASING);
    shm_ring_writer(&shm);
    ck_assert_int_eq(answer(0), ANS_OK);
    ck_assert_uint_eq(advisory(1, 2, false, ADVISORY_TRANSACTION), 1);
    ck_assert_int_eq(lock_row(1, ROW_LOCK_UPDATE, LOCK_NOWAIT, rows[0]), ANS_OK);
    publish_u32(&shm.control->slots[2].pub_generation, 2);
    publish_u32(&shm.control->slots[2].pub_state, SLOT_TAKEN);
    ck_assert_uint_eq(advisory(2, 1, true, ADVISORY_TRANSACTION), 1);
}
END_TEST

/* ---- the list ---- */

START_TEST(all_locks_are_listed)
{
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, rows[0]), ANS_OK);
    ck_assert_uint_eq(advisory(1, 77, true, ADVISORY_SESSION), 1);
    post_lock_table(2, TABLE_LOCK_ACCESS_EXCLUSIVE, LOCK_WAIT, (Head){0});
    wait_parked(1);
    shm.control->slots[2].pid = 4711;
    post(3, REQ_LIST_LOCKS, AT_ONCE, NULL, 0);
    ck_assert_int_eq(answer(3), ANS_OK);
    const BoxShm *b = shm_box(&shm, 3);
    const LockRow *r = (const LockRow *)(const void *)b->answer;
    u32 seen[4] = {0};
    ck_assert_uint_eq(b->ans_rows, 4 * sizeof(LockRow));
    ck_assert_uint_eq(b->ans_row[0], 4);
    for (u32 i = 0; i < 4; i++) {
        seen[r[i].slot]++;
        if (r[i].space == LOCK_ROW)
            ck_assert(r[i].slot == 0 && r[i].id == rows[0] && r[i].mode == LOCK_FOR_SHARE && r[i].granted && r[i].table_id == table_id && i == 3);
        else if (r[i].space == LOCK_ADVISORY)
            ck_assert(r[i].slot == 1 && r[i].id == 77 && r[i].key == 1 && r[i].mode == LOCK_SHARED && r[i].granted && r[i].session);
        else if (r[i].slot == 2)
            ck_assert(r[i].space == LOCK_TABLE && r[i].mode == LOCK_TABLE_ACCESS_EXCLUSIVE && !r[i].granted && r[i].pid == 4711);
        else
            ck_assert(r[i].slot == 0 && r[i].space == LOCK_TABLE && r[i].mode == LOCK_TABLE_ROW_SHARE && r[i].granted);
    }
    ck_assert(seen[0] == 2 && seen[1] == 1 && seen[2] == 1);
    rollback(0);
    ck_assert_int_eq(answer(2), ANS_OK);
}
END_TEST

/* More than the answer holds: what waits is shown first, the number is told. */
START_TEST(a_list_that_is_too_long)
{
    u32 fit = BOX_ANSWER_BYTES / sizeof(LockRow);
    for (u64 i = 0; i < fit + 10; i++)
        ck_assert_uint_eq(advisory(0, 1000 + i, false, ADVISORY_TRANSACTION), 1);
    post(1, REQ_LIST_LOCKS, AT_ONCE, NULL, 0);
    ck_assert_int_eq(answer(1), ANS_OK);
    ck_assert_uint_eq(shm_box(&shm, 1)->ans_rows, fit * sizeof(LockRow));
    ck_assert_uint_eq(shm_box(&shm, 1)->ans_row[0], fit + 10);
}
END_TEST

/* ---- requests that make no sense ---- */

/* Every byte of a record counts: what is not meant is refused, whatever it would have locked. */
START_TEST(malformed_records)
{
    static const u16 KINDS[3] = {BOX_LOCK_ROWS_RECORD, BOX_LOCK_TABLE_RECORD, BOX_LOCK_ADVISORY_RECORD};
    static const struct { u8 kind, at, value; } WRONG[] = {
        {0, 8, 0}, {0, 8, 5}, {0, 9, 3}, {0, 10, 1}, {0, 11, 1}, {0, 12, 0}, {0, 12, 2}, {0, 13, 1}, {0, 15, 0x80},
        {1, 8, 0}, {1, 8, 9}, {1, 9, 2}, {1, 10, 1}, {1, 11, 1}, {1, 12, 1}, {1, 15, 1},
        {2, 8, 0}, {2, 8, 3}, {2, 9, 2}, {2, 10, 3}, {2, 11, 4}, {2, 12, 1}, {2, 15, 1},
    };
    for (u32 i = 0; i < COUNT_OF(WRONG); i++) {
        u8 bytes[64] __attribute__((aligned(8))) = {0}, *p = bytes + RECORD_HEAD_BYTES;
        u32 kind = WRONG[i].kind, len = kind == 0 ? 24 : 16;
        if (kind < 2) {
            put_le32(p, table_id);
            put_le32(p + 4, 1);
            p[8] = 1;
            put_le64(p + 16, kind == 0 ? rows[0] : 0);
            p[12] = kind == 0;
        } else
            p[8] = 1;
        post(0, REQ_LOCK, AT_ONCE, bytes, record_frame(bytes, KINDS[kind], 0, len));
        ck_assert_int_eq(answer(0), ANS_OK);
        rollback(0);
        p[WRONG[i].at] = WRONG[i].value;
        post(0, REQ_LOCK, AT_ONCE, bytes, record_frame(bytes, KINDS[kind], 0, len));
        ck_assert_msg(answer(0) == ANS_ERROR, "kind %u byte %u value %u", kind, WRONG[i].at, WRONG[i].value);
        ck_assert_int_eq(code_of(0), ERR_PROTOCOL_VIOLATION);
        ck_assert_uint_eq(shm_box(&shm, 0)->ans_txn, 0);
        p[WRONG[i].at] = 0;
        advisory(0, 0, false, ADVISORY_UNLOCK_ALL);
    }
    u8 two[64] __attribute__((aligned(8))) = {0};
    two[RECORD_HEAD_BYTES + 8] = 1;
    u32 len = record_frame(two, BOX_LOCK_ADVISORY_RECORD, 0, 16);
    memcpy(two + len, two, len);
    post(0, REQ_LOCK, AT_ONCE, two, 2 * len);
    ck_assert_int_eq(answer(0), ANS_ERROR);
    post(0, REQ_LOCK, AT_ONCE, two, 0);
    ck_assert_int_eq(answer(0), ANS_ERROR);
    post(0, REQ_LIST_LOCKS, AT_ONCE, two, len);
    ck_assert_int_eq(answer(0), ANS_ERROR);
    post(0, REQ_WRITE, AT_ONCE, two, len);
    ck_assert_int_eq(answer(0), ANS_ERROR);
}
END_TEST

START_TEST(a_table_that_changed_or_never_was)
{
    u32 right = table_id;
    table_id = right + 1000;
    ck_assert_int_eq(lock_table(0, TABLE_LOCK_SHARE, LOCK_WAIT), ANS_REPLAN);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, rows[0]), ANS_REPLAN);
    table_id = right;
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, ROW_ID(55, 5)), ANS_RETRY);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, ROW_ID(STAGED_BLOCK | 1, 5)), ANS_RETRY);
    ck_assert_int_eq(lock_row(0, ROW_LOCK_SHARE, LOCK_WAIT, ROW_ID(STAGED_BLOCK, 5)), ANS_OK); /* its own need no lock */
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("lock requests");
    TCase *c = tcase_create("locks");
    tcase_add_checked_fixture(c, begin, end);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, nowait_and_skip);
    tcase_add_test(c, waiting_ends_with_the_holder);
    tcase_add_test(c, rows_that_are_gone);
    tcase_add_test(c, key_share_lets_updates_pass_and_follows_them);
    tcase_add_test(c, rows_of_others_parts);
    tcase_add_test(c, a_cycle_of_locks);
    tcase_add_test(c, table_modes);
    tcase_add_test(c, rights_to_lock);
    tcase_add_test(c, advisory_locks);
    tcase_add_test(c, a_session_that_ends_leaves_no_lock);
    tcase_add_test(c, all_locks_are_listed);
    tcase_add_test(c, a_list_that_is_too_long);
    tcase_add_test(c, malformed_records);
    tcase_add_test(c, a_table_that_changed_or_never_was);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
