/*
 * test_ddl_blocks.c
 *    Catalog changes in transactions of several requests: tables that only their maker sees, TRUNCATE and DROP beside rows, roles and rights, savepoints,
 *    others who look and wait, restarts and deaths of the walwriter; then random transactions of one slot against a model.
 */
#include "txn_fixture.h"

enum { ENDS = REQ_FLAG_STATEMENT_ENDS };

/* What a slot's transaction has sent. */
static u32 ordinals[FX_SLOTS], savepoints[FX_SLOTS];

/* One statement: what was put, as a request of the slot's transaction. */
static BoxShm *
send(u32 slot, ReqKind kind)
{
    u32 before = ordinals[slot];
    bool end = kind == REQ_COMMIT || kind == REQ_ROLLBACK;
    ordinals[slot] += fx_len ? 1 : 0;
    BoxShm *b = fx_ask(slot, (FxAsk){kind, kind == REQ_PART ? ENDS : 0, ordinals[slot], before, savepoints[slot], 0, 0});
    if (end)
        ordinals[slot] = savepoints[slot] = 0;
    return b;
}

static BoxShm *
staged(u32 slot)
{
    BoxShm *b = send(slot, REQ_PART);
    ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    return b;
}

static void
done(u32 slot, ReqKind kind)
{
    BoxShm *b = send(slot, kind);
    ck_assert_msg(b->ans_status == ANS_OK, "%s", b->ans_error.message);
}

static void
refused(u32 slot, ErrCode code)
{
    BoxShm *b = send(slot, REQ_PART);
    ck_assert_int_eq(b->ans_status, ANS_ERROR);
    ck_assert_msg(b->ans_error.code == code, "%s", b->ans_error.message);
}

static void
undo(u32 slot, u32 kept)
{
    savepoints[slot] = kept;
    ck_assert_int_eq(send(slot, REQ_UNDO)->ans_status, ANS_OK);
}

static u32
create(u32 slot, const char *name)
{
    fx_put_create(name);
    BoxShm *b = staged(slot);
    ck_assert_uint_ne(b->ans_row[0], 0);
    ck_assert_uint_eq(table_def((const TableShm *)(uintptr_t)b->ans_row[0])->table_id, b->ans_rows);
    return (u32)b->ans_rows;
}

static void
put_id(u16 kind, u32 id)
{
    u8 p[8] = {0};
    put_le32(p, id);
    fx_put(kind, p, sizeof p);
}

static void
put_insert(u32 table_id, i64 id, u32 slot)
{
    fx_put_part(table_id, PART_INSERT, 0, &(FxRow){.id = id, .u = FX_NO_U, .n = 1, .note_bytes = 5}, NULL, 1, ordinals[slot] + 1);
}

static RowId
insert(u32 slot, u32 table_id, i64 id)
{
    put_insert(table_id, id, slot);
    return staged(slot)->ans_row[0];
}

static void
put_delete(u32 table_id, RowId row, u32 slot)
{
    fx_put_part(table_id, PART_DELETE, 0, NULL, &row, 1, ordinals[slot] + 1);
}

static void
put_role(u16 kind, u32 id, const char *name)
{
    ByteBuf b = {0};
    RoleDef r = {.role_id = id, .name = str_of(name), .can_login = 1, .inherit = 1, .connection_limit = -1};
    catrec_put_role(&b, &r, "");
    fx_put(kind, b.data, (u32)b.len);
    buf_free(&b);
}

/* The published table of that name, 0 when there is none. */
static u32
id_of(const char *name)
{
    Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
    const TableDef *d = catalog_find_table(s.root, str_of(name));
    u32 id = d ? d->table_id : 0;
    snapshot_unpin(shm_box(&fx_shm, FX_READER));
    return id;
}

/* Which of the keys 0 … 31 the published table has, a bit each. */
static u32
keys_of(u32 table_id)
{
    BoxShm *box = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, box);
    u32 bits = 0;
    for (i64 id = 0; id < 32; id++) {
        RowId row;
        Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = id};
        bits |= (u32)key_find(&s, store_table(s.root, table_id), 0, &v, &row) << id;
    }
    snapshot_unpin(box);
    return bits;
}

/* The same after a restart and after a death. */
static void
expect_keys(const char *name, u32 bits)
{
    for (u32 round = 0; round < 3; round++) {
        ck_assert_uint_ne(id_of(name), 0);
        ck_assert_uint_eq(keys_of(id_of(name)), bits);
        fx_verify();
        if (round == 0)
            fx_restart();
        else if (round == 1)
            fx_die();
    }
}

static void
begin(void)
{
    fx_setup();
    memset(ordinals, 0, sizeof ordinals);
    memset(savepoints, 0, sizeof savepoints);
    for (i64 id = 0; id < 4; id++) {
        put_insert(fx_table[0], id, 0);
        done(0, REQ_WRITE);
        ordinals[0] = 0;
    }
}

static void
end(void)
{
    for (u32 i = 0; i < FX_READER; i++)
        send(i, REQ_ROLLBACK);
    fx_verify();
    fx_teardown();
}

/* ---- tables that are made ---- */

START_TEST(a_table_is_its_makers_until_commit)
{
    u32 id = create(0, "x");
    insert(0, id, 1);
    RowId row = insert(0, id, 2);
    ck_assert_uint_eq(id_of("x"), 0);
    put_insert(id, 3, 1);
    ck_assert_int_eq(send(1, REQ_PART)->ans_status, ANS_REPLAN);
    put_id(WAL_DROP_TABLE, id);
    ck_assert_int_eq(send(1, REQ_PART)->ans_status, ANS_REPLAN);
    fx_put_create("x");
    refused(1, ERR_LOCK_NOT_AVAILABLE); /* waits for the name */
    fx_put_create("x");
    refused(0, ERR_DUPLICATE_TABLE);
    insert(0, id, 4); /* that was a statement of its own, which left nothing */
    put_delete(id, row, 0);
    staged(0);
    put_insert(id, 1, 0);
    refused(0, ERR_UNIQUE_VIOLATION);
    undo(0, ordinals[0] - 1);
    done(0, REQ_COMMIT);
    expect_keys("x", 1 << 1 | 1 << 4);
    fx_put_create("x");
    refused(1, ERR_DUPLICATE_TABLE);
}
END_TEST

START_TEST(made_and_taken_back)
{
    insert(0, fx_table[0], 10);
    u32 id = create(0, "x");
    insert(0, id, 1);
    undo(0, 1);
    put_insert(id, 2, 0);
    ck_assert_int_eq(send(0, REQ_PART)->ans_status, ANS_REPLAN);
    u32 again = create(0, "x");
    ck_assert_uint_gt(again, id);
    insert(0, again, 3);
    fx_verify();
    send(0, REQ_ROLLBACK);
    fx_verify();
    ck_assert_uint_eq(id_of("x"), 0);
    id = create(0, "x");
    put_id(WAL_DROP_TABLE, id);
    staged(0);
    id = create(0, "x");
    insert(0, id, 5);
    create(0, "y");
    done(0, REQ_COMMIT);
    ck_assert_uint_ne(id_of("y"), 0);
    expect_keys("x", 1 << 5);
    ck_assert_uint_eq(keys_of(fx_table[0]), 0xf);
}
END_TEST

/* The last change travels with COMMIT. */
START_TEST(commit_with_a_change)
{
    insert(0, fx_table[0], 10);
    fx_put_create("x");
    done(0, REQ_COMMIT);
    ck_assert_uint_ne(id_of("x"), 0);
    insert(0, fx_table[0], 11);
    put_id(WAL_TRUNCATE, fx_table[0]);
    done(0, REQ_COMMIT);
    expect_keys("t0", 0);
    insert(0, fx_table[0], 12);
    fx_put_create("x");
    BoxShm *b = send(0, REQ_COMMIT); /* refused: everything ends */
    ck_assert_int_eq(b->ans_error.code, ERR_DUPLICATE_TABLE);
    ck_assert_uint_eq(b->ans_txn, 0);
    expect_keys("t0", 0);
}
END_TEST

/* ---- tables that are emptied ---- */

START_TEST(truncate_between_rows)
{
    RowId own = insert(0, fx_table[0], 10);
    put_id(WAL_TRUNCATE, fx_table[0]);
    ck_assert_uint_ne(staged(0)->ans_row[0], 0);
    ck_assert_uint_eq(keys_of(fx_table[0]), 0xf); /* others */
    RowId first = insert(0, fx_table[0], 10);
    ck_assert_uint_eq(first, own); /* the same private place */
    insert(0, fx_table[0], 0);
    put_delete(fx_table[0], first, 0);
    staged(0);
    insert(0, fx_table[0], 11);
    put_insert(fx_table[0], 0, 0);
    refused(0, ERR_UNIQUE_VIOLATION);
    undo(0, ordinals[0] - 1);
    fx_verify();
    done(0, REQ_COMMIT);
    expect_keys("t0", 1 << 0 | 1 << 11);
}
END_TEST

START_TEST(truncate_taken_back)
{
    u32 t = fx_table[0];
    RowId own = insert(0, t, 10);
    put_id(WAL_TRUNCATE, t);
    staged(0);
    RowId second = insert(0, t, 10);
    put_id(WAL_TRUNCATE, t);
    staged(0);
    insert(0, t, 20);
    undo(0, 3); /* to between both */
    put_insert(t, 10, 0);
    refused(0, ERR_UNIQUE_VIOLATION);
    undo(0, 3);
    insert(0, t, 1);
    put_delete(t, second, 0);
    staged(0);
    undo(0, 1);
    for (i64 id = 0; id <= 10; id += 10) {
        put_insert(t, id, 0);
        refused(0, ERR_UNIQUE_VIOLATION);
        undo(0, 1);
    }
    put_delete(t, own, 0);
    staged(0);
    insert(0, t, 21);
    fx_verify();
    done(0, REQ_COMMIT);
    expect_keys("t0", 0xf | 1 << 21);
}
END_TEST

START_TEST(truncate_waits_for_writers_and_they_for_it)
{
    insert(1, fx_table[0], 30);
    put_id(WAL_TRUNCATE, fx_table[0]);
    refused(0, ERR_LOCK_NOT_AVAILABLE);
    done(1, REQ_COMMIT);
    put_id(WAL_TRUNCATE, fx_table[0]);
    staged(0);
    put_insert(fx_table[0], 31, 1);
    fx_post(1, (FxAsk){.kind = REQ_WRITE, .wait_ns = 10000000000ull});
    for (u32 i = 0; i < 5; i++)
        writer_turn(fx_writer);
    ck_assert(!fx_answered(1));
    insert(0, fx_table[0], 5);
    done(0, REQ_COMMIT);
    ck_assert_int_eq(fx_answer(1)->ans_status, ANS_OK);
    expect_keys("t0", 1 << 5 | 1u << 31);
}
END_TEST

/* A key of a table that somebody is emptying: what was read is judged when that is decided. */
START_TEST(what_was_read_of_a_table_being_emptied)
{
    u8 p[24] = {0};
    Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = 2};
    RowId row;
    FxRow r;
    ck_assert(fx_find(0, 2, &row, &r));
    put_le32(p, fx_table[0]);
    put_le64(p + 8, key_hash_values(table_def(world_table(fx_writer->world, fx_table[0])), 0, &v));
    put_le64(p + 16, row);
    for (u32 round = 0; round < 2; round++) {
        put_id(WAL_TRUNCATE, fx_table[0]);
        staged(0);
        put_insert(fx_table[1], 10 + round, 1);
        fx_put(BOX_READ_KEY, p, sizeof p);
        fx_post(1, (FxAsk){.kind = REQ_WRITE, .flags = REQ_FLAG_SNAPSHOT, .wait_ns = 10000000000ull});
        for (u32 i = 0; i < 5; i++)
            writer_turn(fx_writer);
        ck_assert(!fx_answered(1));
        send(0, round ? REQ_COMMIT : REQ_ROLLBACK);
        ck_assert_int_eq(fx_answer(1)->ans_status, round ? ANS_ERROR : ANS_OK);
    }
    ck_assert_int_eq(shm_box(&fx_shm, 1)->ans_error.code, ERR_SERIALIZATION_FAILURE);
}
END_TEST

/* ---- tables that are dropped ---- */

START_TEST(drop_beside_rows)
{
    u32 t = fx_table[0];
    insert(0, t, 10);
    put_id(WAL_DROP_TABLE, t);
    staged(0);
    put_insert(t, 11, 0);
    ck_assert_int_eq(send(0, REQ_PART)->ans_status, ANS_REPLAN);
    put_id(WAL_DROP_TABLE, t);
    ck_assert_int_eq(send(0, REQ_PART)->ans_status, ANS_REPLAN);
    u32 again = create(0, "t0");
    insert(0, again, 12);
    undo(0, 1); /* alive again */
    insert(0, t, 13);
    put_id(WAL_DROP_TABLE, t);
    staged(0);
    again = create(0, "t0");
    insert(0, again, 14);
    ck_assert_uint_eq(id_of("t0"), t);
    ck_assert_uint_eq(keys_of(t), 0xf);
    done(0, REQ_COMMIT);
    ck_assert_uint_eq(id_of("t0"), again);
    expect_keys("t0", 1 << 14);
}
END_TEST

START_TEST(truncated_and_dropped)
{
    put_id(WAL_TRUNCATE, fx_table[0]);
    staged(0);
    insert(0, fx_table[0], 1);
    put_id(WAL_DROP_TABLE, fx_table[0]);
    staged(0);
    u32 id = create(0, "x");
    insert(0, id, 1);
    put_id(WAL_TRUNCATE, id);
    staged(0);
    insert(0, id, 2);
    put_id(WAL_TRUNCATE, id);
    staged(0);
    insert(0, id, 3);
    done(0, REQ_COMMIT);
    ck_assert_uint_eq(id_of("t0"), 0);
    expect_keys("x", 1 << 3);
}
END_TEST

/* ---- long transactions ---- */

/* Two parts of one statement, which make the transaction a chain. */
static void
make_chain(u32 slot, u32 table_id, i64 id)
{
    u32 statement = ordinals[slot];
    for (u32 i = 0; i < 2; i++) {
        put_insert(table_id, id + i, slot);
        BoxShm *b = fx_ask(slot, (FxAsk){REQ_PART, i ? ENDS : 0, ++ordinals[slot], statement, savepoints[slot], 0, 0});
        ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
    }
}

START_TEST(changes_then_many_rows)
{
    u32 t = fx_table[0];
    RowId own = insert(0, t, 10);
    put_id(WAL_TRUNCATE, t);
    staged(0);
    u32 id = create(0, "x");
    RowId second = insert(0, t, 10);
    make_chain(0, id, 1);
    put_delete(t, second, 0);
    staged(0);
    make_chain(0, t, 12);
    put_insert(t, 13, 0);
    refused(0, ERR_UNIQUE_VIOLATION);
    undo(0, ordinals[0] - 1);
    put_id(WAL_TRUNCATE, id);
    staged(0);
    make_chain(0, id, 5);
    fx_verify();
    done(0, REQ_COMMIT);
    ck_assert_uint_ne(own, 0);
    expect_keys("t0", 1 << 12 | 1 << 13);
    expect_keys("x", 1 << 5 | 1 << 6);
}
END_TEST

/* Kept rows of a table that is emptied later go into blocks of the old one when the transaction becomes long; the new one's blocks are others. */
START_TEST(kept_rows_of_an_emptied_table)
{
    u32 t = fx_table[0];
    insert(0, t, 10);
    savepoints[0] = 1;
    put_id(WAL_TRUNCATE, t);
    staged(0);
    make_chain(0, t, 1);
    undo(0, 1);
    insert(0, t, 11);
    done(0, REQ_COMMIT);
    expect_keys("t0", 0xf | 3 << 10);
}
END_TEST

START_TEST(many_rows_then_changes_taken_back)
{
    u32 t = fx_table[0];
    RowId own = insert(0, t, 10), committed_row;
    FxRow row;
    ck_assert(fx_find(0, 2, &committed_row, &row));
    savepoints[0] = 1;
    put_id(WAL_TRUNCATE, t);
    staged(0);
    u32 kept = savepoints[0] = ordinals[0];
    make_chain(0, t, 1);
    put_id(WAL_TRUNCATE, t);
    staged(0);
    make_chain(0, t, 3);
    put_id(WAL_DROP_TABLE, t);
    staged(0);
    u32 again = create(0, "t0");
    make_chain(0, again, 20);
    undo(0, kept);
    fx_verify();
    make_chain(0, t, 1); /* free again */
    undo(0, 1);          /* to before the first TRUNCATE */
    put_insert(t, 1, 0);
    refused(0, ERR_UNIQUE_VIOLATION);
    undo(0, 1);
    put_delete(t, own, 0);
    staged(0);
    put_delete(t, committed_row, 0);
    staged(0);
    make_chain(0, t, 22);
    fx_verify();
    done(0, REQ_COMMIT);
    expect_keys("t0", 0xb | 3 << 22);
}
END_TEST

/* A chain with a TRUNCATE that nobody ended stands in the log; the table goes on without it. */
START_TEST(a_chain_that_was_given_up)
{
    u32 t = fx_table[0];
    for (u32 round = 0; round < 2; round++) {
        put_id(WAL_TRUNCATE, t);
        staged(0);
        u32 id = create(0, "x");
        make_chain(0, t, 10);
        make_chain(0, id, 10);
        writer_turn(fx_writer);
        writer_turn(fx_writer);
        if (round)
            fx_restart();
        else
            fx_die();
        send(0, REQ_ROLLBACK);
        put_insert(t, 20 + round, 1);
        done(1, REQ_WRITE);
        ordinals[1] = 0;
        expect_keys("t0", 0xf | (round ? 3u : 1u) << 20);
        ck_assert_uint_eq(id_of("x"), 0);
    }
    put_id(WAL_DROP_TABLE, t);
    done(1, REQ_WRITE);
    ordinals[1] = 0;
    fx_restart();
    ck_assert_uint_eq(id_of("t0"), 0);
    fx_verify();
}
END_TEST

/* Block ids that were used in emptied tables, which are gone, are not used again; the table itself has never had room for such. */
START_TEST(many_block_ids_are_skipped)
{
    u32 t = fx_table[0];
    for (u32 round = 0; round < 70; round++) {
        put_id(WAL_TRUNCATE, t);
        staged(0);
        make_chain(0, t, 10);
        done(0, REQ_ROLLBACK);
    }
    expect_keys("t0", 0xf);
    make_chain(0, t, 10);
    done(0, REQ_COMMIT);
    expect_keys("t0", 0xf | 3 << 10);
    put_id(WAL_TRUNCATE, t);
    done(0, REQ_WRITE);
    ordinals[0] = 0;
    expect_keys("t0", 0);
}
END_TEST

START_TEST(a_long_transaction_that_ends_with_a_change)
{
    make_chain(0, fx_table[0], 10);
    fx_put_create("x");
    done(0, REQ_COMMIT);
    ck_assert_uint_ne(id_of("x"), 0);
    expect_keys("t0", 0xf | 3 << 10);
    make_chain(0, fx_table[0], 14);
    put_id(WAL_TRUNCATE, fx_table[0]);
    done(0, REQ_COMMIT);
    expect_keys("t0", 0);
    make_chain(0, fx_table[0], 14);
    put_id(WAL_DROP_TABLE, fx_table[0]);
    done(0, REQ_COMMIT);
    ck_assert_uint_eq(id_of("t0"), 0);
    expect_keys("x", 0);
}
END_TEST

/* ---- roles and rights ---- */

static const RoleDef *
role(const char *name)
{
    Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
    const RoleDef *r = catalog_find_role(s.root, str_of(name));
    snapshot_unpin(shm_box(&fx_shm, FX_READER));
    return r;
}

START_TEST(roles_and_rights)
{
    put_role(WAL_CREATE_ROLE, 0, "anna");
    u32 anna = (u32)staged(0)->ans_rows;
    put_role(WAL_CREATE_ROLE, 0, "anna");
    refused(0, ERR_DUPLICATE_OBJECT);
    put_role(WAL_CREATE_ROLE, 0, "anna");
    refused(1, ERR_LOCK_NOT_AVAILABLE);
    ByteBuf b = {0};
    AclItem acl = {.role_id = anna, .bits = ACL_SELECT, .grantor_id = ROLE_ROOT};
    TableDef rights = {.table_id = fx_table[1], .acl = &acl, .acl_count = 1, .acl_version = 1, .has_acl = 1};
    catrec_put_acl(&b, &rights);
    fx_put(WAL_SET_ACL, b.data, (u32)b.len);
    staged(0);
    put_role(WAL_ALTER_ROLE, anna, "bert");
    staged(0);
    put_role(WAL_CREATE_ROLE, 0, "anna");
    u32 other = (u32)staged(0)->ans_rows;
    put_id(WAL_DROP_ROLE, other);
    staged(0);
    put_id(WAL_DROP_ROLE, other);
    ck_assert_int_eq(send(0, REQ_PART)->ans_status, ANS_REPLAN);
    ck_assert_ptr_null(role("anna"));
    done(0, REQ_COMMIT);
    ck_assert_ptr_null(role("anna"));
    ck_assert_uint_eq(role("bert")->role_id, anna);
    Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
    ck_assert(catalog_allows(s.root, catalog_table(s.root, fx_table[1]), anna, ACL_SELECT));
    /* not as long as it has rights */
    put_id(WAL_DROP_ROLE, anna);
    refused(0, ERR_DEPENDENT_OBJECTS);
    ByteBuf none = {0};
    TableDef taken = {.table_id = fx_table[1], .acl_version = 2, .has_acl = 1};
    catrec_put_acl(&none, &taken);
    fx_put(WAL_SET_ACL, none.data, (u32)none.len);
    staged(0);
    /* dropped: nobody can be granted anything by that name */
    put_id(WAL_DROP_ROLE, anna);
    staged(0);
    put_le32(b.data + 8, 3);
    fx_put(WAL_SET_ACL, b.data, (u32)b.len);
    refused(0, ERR_UNDEFINED_OBJECT);
    buf_free(&b);
    buf_free(&none);
    send(0, REQ_ROLLBACK);
    ck_assert_ptr_nonnull(role("bert"));
    fx_restart();
    ck_assert_uint_eq(role("bert")->role_id, anna);
    fx_verify();
}
END_TEST

static void
put_super(u32 id, const char *name)
{
    ByteBuf b = {0};
    RoleDef r = {.role_id = id, .name = str_of(name), .superuser = 1, .can_login = 1, .inherit = 1, .connection_limit = -1};
    catrec_put_role(&b, &r, NULL);
    fx_put(WAL_ALTER_ROLE, b.data, (u32)b.len);
    buf_free(&b);
}

static void
put_member(u32 of, u32 member, u32 grantor)
{
    ByteBuf b = {0};
    RoleMember m = {of, member, grantor, 1};
    catrec_put_member(&b, &m, false);
    fx_put(WAL_GRANT_ROLE, b.data, (u32)b.len);
    buf_free(&b);
}

/* The request is refused, and so is what would have come after it. */
static void
denied(u32 slot)
{
    refused(slot, ERR_INSUFFICIENT_PRIVILEGE);
    send(slot, REQ_ROLLBACK);
}

/* A backend that says whatever it likes: rights are those of the role that control names, and of those that it is a member of. */
START_TEST(nobody_gains_rights_by_asking_for_them)
{
    put_role(WAL_CREATE_ROLE, 0, "anna");
    u32 anna = (u32)staged(0)->ans_rows;
    put_role(WAL_CREATE_ROLE, 0, "staff");
    u32 staff = (u32)staged(0)->ans_rows;
    put_member(staff, anna, ROLE_ROOT);
    staged(0);
    AclItem all = {.role_id = staff, .bits = ACL_TRUNCATE, .grantor_id = ROLE_ROOT};
    TableDef rights = {.table_id = fx_table[0], .acl = &all, .acl_count = 1, .acl_version = 1, .has_acl = 1};
    ByteBuf b = {0};
    catrec_put_acl(&b, &rights);
    fx_put(WAL_SET_ACL, b.data, (u32)b.len);
    staged(0);
    done(0, REQ_COMMIT);
    publish_u32(&fx_shm.control->slots[0].pub_role_id, anna);
    u32 asked[] = {0, ROLE_ROOT, anna, staff, 4200, UINT32_MAX};
    for (u32 i = 0; i < COUNT_OF(asked); i++) {
        shm_box(&fx_shm, 0)->req_role = asked[i];
        put_role(WAL_CREATE_ROLE, 0, "evil");
        denied(0);
        put_super(anna, "anna");
        denied(0);
        put_member(ROLE_ROOT, anna, ROLE_ROOT);
        denied(0);
        put_member(4200, anna, anna);
        denied(0);
        put_id(WAL_DROP_ROLE, staff);
        denied(0);
        put_id(WAL_DROP_TABLE, fx_table[0]);
        denied(0);
        all.role_id = anna;
        all.grantor_id = i % 2 ? ROLE_ROOT : anna;
        rights.acl_version = 2;
        b.len = 0;
        catrec_put_acl(&b, &rights);
        fx_put(WAL_SET_ACL, b.data, (u32)b.len);
        denied(0);
        /* what it may: by itself, as it inherits, or as the group */
        put_id(WAL_TRUNCATE, fx_table[0]);
        if (asked[i] == 0 || asked[i] == anna || asked[i] == staff) {
            staged(0);
            send(0, REQ_ROLLBACK);
        } else
            denied(0);
    }
    buf_free(&b);
    fx_verify();
}
END_TEST

START_TEST(roles_of_a_long_transaction)
{
    put_role(WAL_CREATE_ROLE, 0, "anna");
    u32 anna = (u32)staged(0)->ans_rows;
    make_chain(0, fx_table[0], 10);
    u32 kept = savepoints[0] = ordinals[0];
    put_role(WAL_CREATE_ROLE, 0, "carl");
    staged(0);
    make_chain(0, fx_table[0], 12);
    undo(0, kept);
    put_role(WAL_ALTER_ROLE, anna, "bert");
    staged(0);
    done(0, REQ_COMMIT);
    for (u32 round = 0; round < 2; round++) {
        expect_keys("t0", 0xf | 3 << 10); /* restarts and dies, too */
        ck_assert_ptr_null(role("anna"));
        ck_assert_ptr_null(role("carl"));
        ck_assert_uint_eq(role("bert")->role_id, anna);
    }
}
END_TEST

/* A role owns what its transaction makes. */
START_TEST(a_role_that_owns_a_hidden_table)
{
    put_role(WAL_CREATE_ROLE, 0, "anna");
    u32 anna = (u32)staged(0)->ans_rows;
    TableDef t = *table_def(world_table(fx_writer->world, fx_table[0]));
    ByteBuf b = {0};
    t.name = str_of("hers");
    t.owner_id = anna;
    catrec_put_table(&b, &t);
    fx_put(WAL_CREATE_TABLE, b.data, (u32)b.len);
    buf_free(&b);
    u32 id = (u32)staged(0)->ans_rows;
    put_id(WAL_DROP_ROLE, anna);
    refused(0, ERR_DEPENDENT_OBJECTS);
    put_id(WAL_DROP_TABLE, id);
    staged(0);
    put_id(WAL_DROP_ROLE, anna);
    staged(0);
    done(0, REQ_COMMIT);
    ck_assert_ptr_null(role("anna"));
    ck_assert_uint_eq(id_of("hers"), 0);
}
END_TEST

/* ---- deaths ---- */

START_TEST(a_successor_knows_nothing_of_hidden_tables)
{
    u32 id = create(0, "x");
    insert(0, id, 1);
    put_id(WAL_TRUNCATE, fx_table[0]);
    staged(0);
    insert(0, fx_table[0], 9);
    fx_die();
    fx_verify();
    put_insert(id, 2, 0);
    refused(0, ERR_SERIALIZATION_FAILURE);
    send(0, REQ_ROLLBACK);
    u32 again = create(1, "x"); /* ids may come again: nothing of it was logged */
    insert(1, again, 3);
    done(1, REQ_COMMIT);
    expect_keys("x", 1 << 3);
    expect_keys("t0", 0xf);
}
END_TEST

START_TEST(a_backend_that_dies)
{
    u32 id = create(2, "x");
    insert(2, id, 1);
    put_id(WAL_TRUNCATE, fx_table[0]);
    staged(2);
    publish_u32(&fx_shm.control->slots[2].pub_state, SLOT_RELEASING);
    writer_turn(fx_writer);
    fx_verify();
    create(1, "x");
    put_insert(fx_table[0], 7, 1);
    staged(1);
    done(1, REQ_COMMIT);
    expect_keys("t0", 0xf | 1 << 7);
}
END_TEST

/* Nothing is left of many transactions that make tables and take them back. */
START_TEST(memory_of_many)
{
    u64 before = 0;
    for (u32 i = 0; i < 600; i++) {
        u32 id = create(0, "x");
        insert(0, id, 1);
        put_id(WAL_TRUNCATE, fx_table[0]);
        staged(0);
        send(0, i % 3 == 0 ? REQ_UNDO : REQ_ROLLBACK);
        send(0, REQ_ROLLBACK);
        while (world_reclaim(fx_writer->world))
            ;
        before = i == 100 ? world_used_bytes(fx_writer->world) : before;
    }
    world_publish(fx_writer->world, 0);
    while (world_reclaim(fx_writer->world))
        ;
    ck_assert_uint_le(world_used_bytes(fx_writer->world), before + (4 << 20));
    expect_keys("t0", 0xf);
}
END_TEST

/* ---- random transactions against a model ---- */

enum { NAMES = 3, KEYS = 8, MARKS = 4, STEPS = 6000 };
static const char *const NAME[NAMES] = {"t0", "x", "y"};

typedef struct Model {
    u32 id[NAMES];         /* 0: no such table */
    u32 version[NAMES];    /* of its definition */
    bool two_keys[NAMES];
    u32 keys[NAMES];
    RowId row[NAMES][KEYS];
} Model;

static Model committed, now, marked[MARKS];
static u32 mark_ordinal[MARKS], mark_count;
static bool open_now;
static u64 seed = 88172645463325252ull;

static u32
below(u32 n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (u32)(seed % n);
}

/* Where committed rows are. */
static void
find_rows(Model *m)
{
    BoxShm *box = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, box);
    for (u32 t = 0; t < NAMES; t++) {
        const TableDef *d = catalog_find_table(s.root, str_of(NAME[t]));
        HOLDS((d ? d->table_id : 0) == m->id[t]);
        HOLDS(!d || (d->schema_version == m->version[t] && d->key_count == m->two_keys[t] + 1));
        for (u32 k = 0; d && k < KEYS; k++) {
            Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = k};
            HOLDS(key_find(&s, store_table(s.root, d->table_id), 0, &v, &m->row[t][k]) == (m->keys[t] >> k & 1));
        }
    }
    snapshot_unpin(box);
}

static void
ended(const Model *m)
{
    committed = now = *m;
    mark_count = 0;
    open_now = false;
    find_rows(&committed);
    now = committed;
}

static void
step_change(u32 t)
{
    BoxShm *b;
    if (!now.id[t]) {
        fx_put_create(NAME[t]);
        b = staged(0);
        now.id[t] = (u32)b->ans_rows;
        now.version[t] = 1;
        now.two_keys[t] = true;
        now.keys[t] = 0;
        return;
    }
    u32 what = below(4), to = below(NAMES);
    if (what == 0 && !now.id[to]) {
        fx_put_definition(WAL_ALTER_TABLE, now.id[t], NAME[to], now.version[t] + 1, now.two_keys[t] + 1);
        staged(0);
        now.version[to] = now.version[t] + 1;
        now.two_keys[to] = now.two_keys[t];
        now.id[to] = now.id[t];
        now.keys[to] = now.keys[t];
        memcpy(now.row[to], now.row[t], sizeof now.row[t]);
        now.id[t] = now.keys[t] = 0;
        return;
    }
    if (what == 1) {
        now.two_keys[t] = !now.two_keys[t];
        fx_put_definition(WAL_REBUILD_TABLE, now.id[t], NAME[t], ++now.version[t], now.two_keys[t] + 1);
    } else
        put_id(what == 2 ? WAL_DROP_TABLE : WAL_TRUNCATE, now.id[t]);
    staged(0);
    now.keys[t] = 0;
    if (what == 2)
        now.id[t] = 0;
}

static void
step_row(u32 t)
{
    u32 k = below(KEYS);
    bool there = now.keys[t] >> k & 1, clash = there && below(3) == 0;
    if (!now.id[t])
        return;
    fx_schema_version = now.version[t];
    if (there && !clash)
        put_delete(now.id[t], now.row[t][k], 0);
    else
        put_insert(now.id[t], k, 0);
    if (clash) {
        refused(0, ERR_UNIQUE_VIOLATION);
        undo(0, savepoints[0]);
        if (mark_count)
            now = marked[mark_count - 1];
        else {
            send(0, REQ_ROLLBACK);
            ended(&committed);
        }
        return;
    }
    now.row[t][k] = staged(0)->ans_row[0];
    now.keys[t] ^= 1u << k;
}

/* A statement of two parts: from now on it is a chain. */
static void
step_two(u32 t)
{
    u32 first = below(KEYS), second = (first + 1 + below(KEYS - 1)) % KEYS, statement = ordinals[0];
    if (!now.id[t] || (now.keys[t] & (1u << first | 1u << second)))
        return;
    fx_schema_version = now.version[t];
    for (u32 i = 0; i < 2; i++) {
        u32 k = i ? second : first;
        put_insert(now.id[t], k, 0);
        BoxShm *b = fx_ask(0, (FxAsk){REQ_PART, i ? ENDS : 0, ++ordinals[0], statement, savepoints[0], 0, 0});
        ck_assert_msg(b->ans_status == ANS_STAGED, "%s", b->ans_error.message);
        now.row[t][k] = b->ans_row[0];
        now.keys[t] |= 1u << k;
    }
}

static void
step_savepoint(void)
{
    if (below(2) && mark_count) {
        u32 to = below(mark_count);
        now = marked[to];
        mark_count = to + 1;
        undo(0, mark_ordinal[to]);
        open_now = mark_ordinal[to] > 0;
    } else if (mark_count < MARKS && ordinals[0]) {
        marked[mark_count] = now;
        savepoints[0] = mark_ordinal[mark_count++] = ordinals[0];
    }
}

static void
step_end(void)
{
    bool commits = below(2);
    if (below(8) == 0 && open_now) { /* lost with the walwriter */
        fx_settle();
        fx_die();
        send(0, REQ_ROLLBACK);
        ended(&committed);
        return;
    }
    BoxShm *b = send(0, commits ? REQ_COMMIT : REQ_ROLLBACK);
    HOLDS(b->ans_status == ANS_OK);
    ended(commits ? &now : &committed);
    if (below(10) == 0) {
        if (below(2))
            fx_restart();
        else {
            fx_settle();
            fx_die();
        }
        ended(&committed);
    }
}

START_TEST(random_transactions)
{
    committed = (Model){.id = {fx_table[0]}, .version = {1}, .two_keys = {true}, .keys = {0xf}};
    ended(&committed);
    for (u32 i = 0; i < STEPS; i++) {
        u32 t = below(NAMES), what = below(20);
        if (what < 1)
            step_two(t);
        else if (what < 12)
            step_row(t);
        else if (what < 16)
            step_change(t);
        else if (what < 18)
            step_savepoint();
        else
            step_end();
        open_now |= what < 16 && ordinals[0];
        if (i % 50 == 0)
            fx_verify();
    }
    send(0, REQ_ROLLBACK);
    ended(&committed);
    fx_restart();
    ended(&committed);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("catalog changes in blocks");
    TCase *c = tcase_create("ddl");
    tcase_add_checked_fixture(c, begin, end);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, a_table_is_its_makers_until_commit);
    tcase_add_test(c, made_and_taken_back);
    tcase_add_test(c, commit_with_a_change);
    tcase_add_test(c, truncate_between_rows);
    tcase_add_test(c, truncate_taken_back);
    tcase_add_test(c, truncate_waits_for_writers_and_they_for_it);
    tcase_add_test(c, what_was_read_of_a_table_being_emptied);
    tcase_add_test(c, drop_beside_rows);
    tcase_add_test(c, truncated_and_dropped);
    tcase_add_test(c, changes_then_many_rows);
    tcase_add_test(c, kept_rows_of_an_emptied_table);
    tcase_add_test(c, many_rows_then_changes_taken_back);
    tcase_add_test(c, a_chain_that_was_given_up);
    tcase_add_test(c, many_block_ids_are_skipped);
    tcase_add_test(c, a_long_transaction_that_ends_with_a_change);
    tcase_add_test(c, roles_and_rights);
    tcase_add_test(c, nobody_gains_rights_by_asking_for_them);
    tcase_add_test(c, roles_of_a_long_transaction);
    tcase_add_test(c, a_role_that_owns_a_hidden_table);
    tcase_add_test(c, a_successor_knows_nothing_of_hidden_tables);
    tcase_add_test(c, a_backend_that_dies);
    tcase_add_test(c, memory_of_many);
    tcase_add_test(c, random_transactions);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
