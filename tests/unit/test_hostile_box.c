/*
 * test_hostile_box.c
 *    A backend that has been taken over writes what it likes into its box (I6): random and mutated requests, forged table ids, schema versions, row
 *    ids, generations, lengths that change under the walwriter's eyes, catalog changes that contradict each other. The walwriter must live, answer,
 *    and keep a store that passes store_verify; a restart must read the log back to the same rows.
 */
#include "writer_fixture.h"

#include <signal.h>

enum { ROUNDS = 6000 };

static u64 random_state = 88172645463325252ull;

static u64
random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static u32 below(u32 n) { return (u32)(random_u64() % n); }

static u32 ordinals[SLOTS];

static AnsStatus
ask(u32 slot, ReqKind kind, const u8 *bytes, u32 len)
{
    u32 ordinal = below(10) ? ++ordinals[slot] : (u32)random_u64(); /* a transaction's numbers, mostly growing */
    Head h = {.flags = below(2) ? REQ_FLAG_STATEMENT_ENDS : below(8), .version = random_u64(), .deadline_ns = 1, /* who has to wait is told so at once */
              .ordinal = ordinal, .statement = below(10) ? ordinal - below(3) : (u32)random_u64(), .savepoint = below(2) ? 0 : ordinal - below(6)};
    if (kind == REQ_ROLLBACK || kind == REQ_COMMIT)
        ordinals[slot] = 0;
    post(slot, kind, h, bytes, len);
    return answer(slot);
}

/* Digest of all tables with names t0, t1. */
static u64
digest(void)
{
    BoxShm *b = shm_box(&shm, SLOTS - 1);
    Snapshot s = snapshot_pin(&shm, b);
    u64 sum = 0;
    for (u32 i = 0; i < 2; i++) {
        char name[4] = {'t', (char)('0' + i), 0};
        const TableDef *d = catalog_find_table(s.root, str_of(name));
        sum = sum * 31 + (d ? store_digest(&s, store_table(s.root, d->table_id), NULL) : 7);
    }
    snapshot_unpin(b);
    return sum;
}

/* ---- requests that are right ---- */

/* Some rows for table `id`: INSERT with all columns, UPDATE of n, DELETE. */
static u32
put_part(u8 *to, u32 at, PartKind kind, u32 id, u32 rows)
{
    static i64 ids[64];
    static i32 ns[64];
    static u8 indexes[64], nulls[64];
    static u64 old[64];
    static u32 lengths[2] = {3, 5};
    PartColumn c[3] = {{.column = 0, .phys = PHYS_I64, .values = ids},
                       {.column = 1, .phys = PHYS_I32, .values = ns, .null_bytes = nulls},
                       {.column = 2, .phys = PHYS_STR, .distinct = 2, .lengths = lengths, .texts = "abcdefgh", .indexes = indexes, .index_width = 1}};
    for (u32 i = 0; i < rows; i++) {
        ids[i] = below(3000);
        ns[i] = (i32)random_u64();
        indexes[i] = (u8)below(2);
        nulls[i] = (u8)below(2);
        old[i] = ROW_ID(below(4) ? 1 + below(2) : STAGED_BLOCK | below(SLOTS), below(below(2) ? 200 : 20));
    }
    PartView p = {.kind = kind, .table_id = id, .schema_version = 1, .row_count = rows, .columns = c, .column_count = 3, .old_rows = old};
    lengths[1] = below(4) ? 5 : PART_LONG | (1 + below(3));
    if (kind == PART_UPDATE) {
        p.columns = c + 1;
        p.column_count = 1;
    } else if (kind == PART_DELETE)
        p.column_count = 0;
    u32 len = part_write(&p, to + at + RECORD_HEAD_BYTES);
    return at + record_frame(to + at, (u16)kind, 0, len);
}

/* Pieces of long texts, most of them where they belong: what follows the piece before. */
static u32
put_pieces(u8 *to, u32 id)
{
    static u8 text[40000];
    static u32 number = 1, offset;
    u32 len = 0, whole = 60000;
    memset(text, below(10) ? 'x' : 0xff, sizeof text);
    for (u32 n = 1 + below(3); n > 0; n--) {
        if (below(12) == 0 || offset == whole) {
            number = below(3) ? number + 1 : 1 + below(3);
            offset = 0;
        }
        TextPiece t = {.table_id = id, .schema_version = 1, .column = below(12) ? 2 : (u16)below(5), .number = number, .whole = whole, .offset = offset,
                       .len = MIN(1 + below(sizeof text), whole - offset), .bytes = text};
        text_piece_write(&t, to + len + RECORD_HEAD_BYTES);
        len += record_frame(to + len, WAL_TEXT_PIECE, 0, TEXT_PIECE_HEAD_BYTES + t.len);
        offset += t.len;
    }
    return len;
}

/* ---- tests ---- */

/* Rows, or catalog changes: both in one request are refused. */
static u32
make_request(u8 *to, const u32 tables[2], u32 records_max)
{
    bool rows = below(4) != 0;
    u32 len = 0;
    if (below(6) == 0)
        return put_pieces(to, tables[below(2)]);
    for (u32 n = 1 + below(records_max); n > 0; n--) {
        u32 id = below(8) ? tables[below(2)] : below(4) ? below(200) : (u32)random_u64();
        switch (rows ? 6 : below(6)) {
        case 0: len = put_create(to, len, below(2) ? "t2" : "t3"); break;
        case 1: len = put_id(to, len, WAL_TRUNCATE, id); break;
        case 2: len = put_role(to, len, WAL_CREATE_ROLE, 0, below(2) ? "a" : "b"); break;
        case 3: len = put_role(to, len, WAL_ALTER_ROLE, 10 + below(30), below(2) ? "a" : "c"); break;
        case 4: len = put_id(to, len, WAL_DROP_ROLE, 10 + below(30)); break;
        case 5: len = put_id(to, len, WAL_DROP_TABLE, below(2) ? id : id_of(below(2) ? "t2" : "t3")); break;
        default: len = put_part(to, len, (PartKind)(1 + below(3)), id, 1 + below(60)); break;
        }
    }
    return len;
}

static u32
make_lock(u8 *to, const u32 tables[2])
{
    u8 *p = to + RECORD_HEAD_BYTES;
    u32 n = 1 + below(8);
    if (below(4) == 0) {
        put_le64(p, below(3));
        put_le64(p + 8, (u64)below(4) << 24 | (u64)below(3) << 16 | (u64)below(2) << 8 | (1 + below(2)));
        return record_frame(to, BOX_LOCK_ADVISORY_RECORD, 0, 16);
    }
    put_le32(p, tables[below(2)]);
    put_le32(p + 4, 1);
    if (below(4) == 0) {
        put_le64(p + 8, below(2) << 8 | (1 + below(8)));
        return record_frame(to, BOX_LOCK_TABLE_RECORD, 0, 16);
    }
    put_le32(p + 8, below(3) << 8 | (1 + below(4)));
    put_le32(p + 12, n);
    for (u32 i = 0; i < n; i++)
        put_le64(p + 16 + 8 * i, below(9) ? ROW_ID(1 + below(2), below(200)) : ROW_ID(STAGED_BLOCK | below(3), below(20)));
    return record_frame(to, BOX_LOCK_ROWS_RECORD, 0, 16 + 8 * n);
}

/* Change some bytes, mostly in heads. */
static void
mutate(u8 *bytes, u32 len)
{
    static const u8 EDGES[] = {0, 1, 0x7f, 0x80, 0xff, 8, 16};
    for (u32 n = below(4); n > 0 && len > 0; n--) {
        u32 at = below(below(2) ? MIN(len, 80u) : len);
        bytes[at] = below(2) ? EDGES[below(COUNT_OF(EDGES))] : (u8)random_u64();
    }
}

START_TEST(random_and_mutated_requests)
{
    static u8 bytes[BOX_AREA_BYTES] __attribute__((aligned(8)));
    u32 answers[8] = {0};
    for (u32 round = 0; round < ROUNDS; round++) {
        if (!id_of("t0"))
            ck_assert_int_eq(ask(2, REQ_WRITE, bytes, put_create(bytes, 0, "t0")), ANS_OK);
        if (!id_of("t1"))
            ck_assert_int_eq(ask(2, REQ_WRITE, bytes, put_create(bytes, 0, "t1")), ANS_OK);
        bool lock = below(4) == 0;
        ReqKind kind = below(40) == 0 ? (ReqKind)random_u64() : lock ? REQ_LOCK : below(3) ? REQ_PART : below(2) ? REQ_WRITE : (ReqKind)(1 + below(REQ_SIGNAL));
        u32 tables[2] = {id_of("t0"), id_of("t1")};
        u32 len = lock ? make_lock(bytes, tables) : make_request(bytes, tables, kind == REQ_WRITE ? 3 : 1);
        if (below(2))
            mutate(bytes, len);
        if (below(50) == 0)
            for (u32 i = 0; i < len; i++)
                bytes[i] = (u8)random_u64();
        if (below(30) == 0)
            len = below(2) ? (u32)random_u64() : below(len + 1);
        answers[ask(below(2), kind, bytes, len) & 7]++;
        if (round % 100 == 0 && below(2)) /* else an open transaction keeps the others out */
            ask(below(2), REQ_ROLLBACK, NULL, 0);
        if (round % 500 == 0) {
            ask(0, REQ_ROLLBACK, NULL, 0);
            ask(1, REQ_ROLLBACK, NULL, 0);
            verify();
        }
    }
    ck_assert_uint_gt(answers[ANS_OK], 100);
    ck_assert_uint_gt(answers[ANS_ERROR], 100);
    ck_assert_uint_gt(answers[ANS_STAGED], 50);
    ask(0, REQ_ROLLBACK, NULL, 0);
    ask(1, REQ_ROLLBACK, NULL, 0);
    verify();
    u64 before = digest();
    stop();
    start();
    verify();
    ck_assert_uint_eq(digest(), before);
}
END_TEST

START_TEST(changes_that_contradict_each_other)
{
    u8 bytes[8192] __attribute__((aligned(8)));
    u32 len = put_create(bytes, put_create(bytes, 0, "twin"), "twin");
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, len), ANS_ERROR);
    verify();
    len = put_role(bytes, put_role(bytes, 0, WAL_CREATE_ROLE, 0, "twin"), WAL_CREATE_ROLE, 0, "twin");
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, len), ANS_ERROR);
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_create(bytes, 0, "twin")), ANS_OK);
    len = put_id(bytes, put_id(bytes, 0, WAL_DROP_TABLE, id_of("twin")), WAL_DROP_TABLE, id_of("twin"));
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, len), ANS_ERROR);
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_id(bytes, 0, WAL_DROP_TABLE, id_of("twin"))), ANS_OK);
    verify();
}
END_TEST

/* What a request was promised goes back when it is refused: else a thousand of them would fill the memory for everybody. */
START_TEST(refused_changes_promise_nothing)
{
    u8 bytes[8192] __attribute__((aligned(8)));
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_create(bytes, 0, "there")), ANS_OK);
    for (u32 i = 0; i < 1500; i++) {
        u32 len = put_create(bytes, put_create(bytes, 0, "new"), "there");
        ck_assert_int_eq(ask(0, REQ_WRITE, bytes, len), ANS_ERROR);
        ck_assert_int_eq(shm_box(&shm, 0)->ans_error.code, ERR_DUPLICATE_TABLE);
    }
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_create(bytes, 0, "new")), ANS_OK);
    verify();
}
END_TEST

/* The length grows after the walwriter has looked whether the group has room. */
static u64 stop_flipping;

static void *
flip_length(void *unused)
{
    BoxShm *b = shm_box(&shm, 0);
    (void)unused;
    while (!observe_u64(&stop_flipping)) {
        relax_store_u32(&b->req_len, BOX_AREA_BYTES);
        relax_store_u32(&b->req_len, 16);
    }
    return NULL;
}

START_TEST(a_length_that_changes)
{
    static u8 bytes[BOX_AREA_BYTES] __attribute__((aligned(8)));
    pthread_t flipper;
    u32 parts = 0;
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_create(bytes, 0, "t0")), ANS_OK);
    for (u32 at = 0; at + 4096 < BOX_AREA_BYTES; parts++)
        at = put_part(bytes, at, PART_INSERT, id_of("t0"), 60);
    memcpy(shm_box(&shm, 0)->area, bytes, sizeof bytes);
    stop_flipping = 0;
    pthread_create(&flipper, NULL, flip_length, NULL);
    for (u32 i = 0; i < 500; i++)
        ask(0, i % 3 ? REQ_PART : REQ_WRITE, NULL, 16);
    publish_u64(&stop_flipping, 1);
    pthread_join(flipper, NULL);
    ask(0, REQ_ROLLBACK, NULL, 0);
    verify();
}
END_TEST

/* A generation that is not the slot's is not looked at; the right one is. */
START_TEST(a_forged_generation)
{
    BoxShm *b = shm_box(&shm, 1);
    u8 bytes[4096] __attribute__((aligned(8)));
    b->req_len = put_create(bytes, 0, "forged");
    memcpy(b->area, bytes, b->req_len);
    b->req_kind = REQ_WRITE;
    relax_store_u32(&b->req_generation, 7);
    publish_u64_fenced(&b->pub_req_seq, observe_u64(&b->pub_req_seq) + 1);
    shm_ring_writer(&shm);
    ck_assert_int_eq(ask(0, REQ_WRITE, bytes, put_create(bytes, 0, "other")), ANS_OK);
    ck_assert_uint_eq(id_of("forged"), 0);
    ck_assert_int_eq(ask(1, REQ_WRITE, bytes, put_create(bytes, 0, "right")), ANS_OK);
    verify();
}
END_TEST

static u64 interrupts;

static void
on_interrupt(int sig)
{
    (void)sig;
    relax_store_u64(&interrupts, interrupts + 1);
}

static AnsStatus
ask_signal(u32 from, u32 to, u32 generation, u32 what, u32 len)
{
    u8 bytes[24] __attribute__((aligned(8))) = {0};
    put_le32(bytes, to);
    put_le32(bytes + 4, generation);
    put_le32(bytes + 8, what);
    return ask(from, REQ_SIGNAL, bytes, len);
}

/* Signals go to backends only, by generation, and as far as the signed-in role may. */
START_TEST(signals)
{
    SlotShm *slots = shm.control->slots;
    signal(SIGINT, on_interrupt);
    ck_assert_int_eq(ask_signal(0, 1, 1, SIGNAL_CANCEL, 8), ANS_ERROR);
    ck_assert_int_eq(ask_signal(0, 1, 1, SIGNAL_CANCEL, 24), ANS_ERROR);
    ck_assert_int_eq(ask_signal(0, 1, 1, 9, 16), ANS_ERROR);
    ck_assert_int_eq(ask_signal(0, SLOTS, 1, SIGNAL_CANCEL, 16), ANS_ERROR);
    ck_assert_int_eq(ask_signal(0, UINT32_MAX, 1, SIGNAL_CANCEL, 16), ANS_ERROR);
    ck_assert_int_eq(ask_signal(0, 1, 1, SIGNAL_TERMINATE, 16), ANS_OK); /* a slot without a process */
    ck_assert_uint_eq(shm_box(&shm, 0)->ans_rows, 0);
    slots[1].pid = getpid();
    ck_assert_int_eq(ask_signal(0, 1, 2, SIGNAL_TERMINATE, 16), ANS_OK); /* of another generation */
    ck_assert_uint_eq(shm_box(&shm, 0)->ans_rows, 0);
    slots[0].pub_role_id = 77;
    ck_assert_int_eq(ask_signal(0, 1, 1, SIGNAL_TERMINATE, 16), ANS_ERROR);
    ck_assert_int_eq(shm_box(&shm, 0)->ans_error.code, ERR_INSUFFICIENT_PRIVILEGE);
    slots[0].pub_role_id = ROLE_ROOT;
    ck_assert_uint_eq(relaxed_u64(&interrupts), 0);
    ck_assert_int_eq(ask_signal(0, 1, 1, SIGNAL_CANCEL, 16), ANS_OK);
    ck_assert_uint_eq(shm_box(&shm, 0)->ans_rows, 1);
    while (!relaxed_u64(&interrupts))
        usleep(1000);
    slots[1].pid = 0;
    verify();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("hostile box");
    TCase *c = tcase_create("box");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 240);
    tcase_add_test(c, random_and_mutated_requests);
    tcase_add_test(c, changes_that_contradict_each_other);
    tcase_add_test(c, refused_changes_promise_nothing);
    tcase_add_test(c, a_length_that_changes);
    tcase_add_test(c, a_forged_generation);
    tcase_add_test(c, signals);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
