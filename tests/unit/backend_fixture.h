/*
 * backend_fixture.h
 *    The writing path in one process: the walwriter's loop as a thread, backends as threads with their boxes, a log in a folder of its own, and
 *    restarts; a table t and statements on it.
 */
#ifndef BACKEND_FIXTURE_H
#define BACKEND_FIXTURE_H

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "backend/txn/txn.h"
#include "common/base/env.h"
#include "common/shm/publish.h"
#include "walwriter/writer.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 40, MEMORY = 1 << 30, SEGMENT = 8 << 20 };

static Shm shm;
static char folder[64];
static int wal_dir;
static Writer *writer;
static pthread_t writer_thread;
static u64 stop_writer;
static bool take_over; /* the next writer finds a living world */
static __thread bool interrupted;

bool interrupt_pending(void) { return interrupted; }
void interrupt_check(void) { if (interrupted) err_throw(ERR_QUERY_CANCELED, "canceling statement due to user request"); }
void interrupt_quit(void) {}

/* ---- the walwriter as a thread ---- */

/* The ring belongs to the thread that makes it. */
static inline void *
run_writer(void *unused)
{
    Error err;
    char password[] = "";
    WriterOptions o = {.shm = &shm, .wal_dir_fd = wal_dir, .snap_dir_fd = wal_dir, .segment_bytes = SEGMENT, .engine = IO_ENGINE_RING, .root_password = password,
                       .take_over = take_over};
    (void)unused;
    ck_assert_msg(writer_open(&o, &writer, &err), "%s", err.message);
    while (!observe_u64(&stop_writer))
        writer_turn(writer);
    writer_close(writer);
    return NULL;
}

static inline void
start_writer(void)
{
    u64 before = observe_u64(&shm.writer->pub_ready);
    stop_writer = 0;
    pthread_create(&writer_thread, NULL, run_writer, NULL);
    while (observe_u64(&shm.writer->pub_ready) == before)
        usleep(1000);
}

static inline void
start(void)
{
    take_over = false;
    ck_assert_int_eq(shm_create(&shm, SLOTS, MEMORY), 0);
    for (u32 i = 0; i < SLOTS; i++) {
        shm.control->slots[i].pub_role_id = ROLE_ROOT;
        shm.control->slots[i].pub_generation = 1;
        shm.control->slots[i].pub_state = SLOT_TAKEN;
    }
    start_writer();
}

static inline void
stop(void)
{
    u64 one = 1;
    publish_u64(&stop_writer, 1);
    ck_assert_int_eq(write(shm.writer_event_fd, &one, sizeof one), sizeof one);
    pthread_join(writer_thread, NULL);
}

/* The walwriter ends and another one takes over the living world. */
static inline void
replace_writer(void)
{
    stop();
    take_over = true;
    start_writer();
}

static inline void
setup(void)
{
    strcpy(folder, "/tmp/ggs3db-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    wal_dir = open(folder, O_RDONLY | O_DIRECTORY);
    start();
}

static inline void
teardown(void)
{
    char command[128];
    stop();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- a backend ---- */

typedef struct Backend {
    Arena *session, *statement;
    Txn *txn;
    Catch catch;
    i32 lock_timeout_ms;
    u32 slot;
    u64 executions;
} Backend;

static inline void
backend_init(Backend *b, u32 slot)
{
    memset(b, 0, sizeof *b);
    b->session = arena_new("session", 0, arena_full_throw);
    b->statement = arena_new("statement", 0, arena_full_throw);
    b->slot = slot;
    b->lock_timeout_ms = 30000;
    b->txn = txn_new(b->session, &shm, slot, 1, &b->lock_timeout_ms);
}

static inline void
backend_done(Backend *b)
{
    arena_free(b->statement);
    arena_free(b->session);
}

/* Run a statement as the session does: again after RETRY. Returns the error's code, ERR_NONE when it was done. */
typedef TxnOutcome (*Body)(Backend *b, void *arg);
static inline ErrCode
run(Backend *b, Body body, void *arg)
{
    current_catch = &b->catch;
    if (setjmp(b->catch.jump)) {
        arena_reset(b->statement);
        txn_end_statement(b->txn);
        return b->catch.error.code;
    }
    TxnOutcome outcome;
    do {
        b->executions++;
        outcome = body(b, arg);
        arena_reset(b->statement);
    } while (outcome != TXN_DONE);
    txn_end_statement(b->txn);
    return ERR_NONE;
}

#define CK_RUN(b, body, arg)                                                                                                              \
    do {                                                                                                                                  \
        ErrCode code_ = run((b), (body), (arg));                                                                                          \
        ck_assert_msg(code_ == ERR_NONE, "%s %s", errcode_sqlstate(code_), (b)->catch.error.message);                                     \
    } while (0)

/* ---- table t (id bigint primary key, n integer, note text) ---- */

static const ColumnDef COLUMNS[3] = {
    {.name = {"id", 2}, .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1, .not_null = 1},
    {.name = {"n", 1}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1, .not_null = 1},
    {.name = {"note", 4}, .type = TYPE_TEXT, .phys = PHYS_STR, .typmod = -1},
};
static const KeyDef KEY = {.name = {"t_pkey", 6}, .primary = 1, .column_count = 1, .columns = {0}};
static const AclItem NO_ACL[1];

static inline TxnOutcome
create_t(Backend *b, void *arg)
{
    bool exists;
    TableDef t = {.schema_version = 1, .owner_id = ROLE_ROOT, .column_count = 3, .key_count = 1, .name = STR_LIT("t"), .columns = COLUMNS,
                  .keys = &KEY, .acl = NO_ACL};
    (void)arg;
    return txn_create_table(b->txn, &t, false, &exists);
}

static const TableShm *
table_t(Backend *b)
{
    const Snapshot *s = txn_snapshot(b->txn);
    const TableDef *d = catalog_find_table(s->root, STR_LIT("t"));
    return d ? store_table(s->root, d->table_id) : NULL;
}

typedef struct Rows {
    i64 first;
    u32 count;
    i32 n;
} Rows;

static inline TxnOutcome
insert(Backend *b, void *arg)
{
    const Rows *r = arg;
    TxnWrite *w = txn_write_begin(b->txn, b->statement, table_t(b));
    i64 *ids = arena_alloc(b->statement, VEC_SIZE * 8);
    i32 *ns = arena_alloc(b->statement, VEC_SIZE * 4);
    Str *notes = arena_alloc(b->statement, VEC_SIZE * sizeof(Str));
    u8 *nulls = arena_alloc(b->statement, VEC_SIZE);
    static const Str WORDS[4] = {{"alpha", 5}, {"", 0}, {"gamma ray", 9}, {"delta", 5}};
    Vec v[3] = {{.phys = PHYS_I64, .data = ids}, {.phys = PHYS_I32, .data = ns}, {.phys = PHYS_STR, .data = notes, .null_mask = nulls}};
    for (u32 at = 0; at < r->count; at += VEC_SIZE) {
        u32 count = MIN((u32)VEC_SIZE, r->count - at);
        for (u32 i = 0; i < count; i++) {
            ids[i] = r->first + at + i;
            ns[i] = r->n;
            notes[i] = WORDS[ids[i] & 3];
            nulls[i] = ids[i] % 7 == 0;
        }
        Batch batch = {.count = count, .column_count = 3, .columns = v};
        txn_insert(w, &batch);
    }
    return txn_write_finish(w);
}

static inline i32
read_n(const TableShm *t, RowId id)
{
    BlockView block;
    SliceView s;
    ensure(block_locate(t, id, &block) && slice_view(&block, 1, &s));
    return slice_value(&s, &COLUMNS[1], ROW_OFFSET(id)).i32v;
}

static inline bool
find(Backend *b, i64 id, RowId *ret)
{
    Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = id};
    return key_find(txn_snapshot(b->txn), table_t(b), 0, &v, ret);
}

/* UPDATE t SET n = n + 1 WHERE id = … */
static inline TxnOutcome
increment(Backend *b, void *arg)
{
    RowId row;
    const u16 column = 1;
    const TableShm *t = table_t(b);
    TxnWrite *w = txn_write_begin(b->txn, b->statement, t);
    if (find(b, *(const i64 *)arg, &row)) {
        i32 n = read_n(t, row) + 1;
        Vec v = {.phys = PHYS_I32, .data = &n};
        Batch batch = {.count = 1, .column_count = 1, .columns = &v};
        txn_update(w, &row, &column, 1, &batch);
    }
    return txn_write_finish(w);
}

/* For every visible row: n + 1 (column 1) or id + add (column 0), or DELETE (column 9). */
typedef struct Full {
    u16 column;
    i64 add;
} Full;

static inline void
full_rows(Backend *b, TxnWrite *w, const BlockView *block, const Full *f, const u64 *dead)
{
    RowId rows[VEC_SIZE];
    i64 ids[VEC_SIZE];
    i32 ns[VEC_SIZE];
    SliceView s;
    u32 n = 0;
    for (u32 at = 0; at <= block->row_count; at++) {
        if (n == VEC_SIZE || (at == block->row_count && n > 0)) {
            Vec v = f->column == 0 ? (Vec){.phys = PHYS_I64, .data = ids} : (Vec){.phys = PHYS_I32, .data = ns};
            Batch batch = {.count = n, .column_count = 1, .columns = &v};
            if (f->column == 9)
                txn_delete(w, rows, n);
            else
                txn_update(w, rows, &f->column, 1, &batch);
            n = 0;
        }
        if (at == block->row_count || (dead && (dead[at / 64] >> (at % 64) & 1)))
            continue;
        rows[n] = ROW_ID(block->block_id, at);
        ensure(slice_view(block, 0, &s));
        ids[n] = slice_value(&s, &COLUMNS[0], at).i64v + f->add;
        ensure(slice_view(block, 1, &s));
        ns[n++] = slice_value(&s, &COLUMNS[1], at).i32v + 1;
    }
    (void)b;
}

static inline TxnOutcome
full_update(Backend *b, void *arg)
{
    const TableShm *t = table_t(b);
    TxnWrite *w = txn_write_begin(b->txn, b->statement, t);
    u64 *bits = arena_alloc(b->statement, BLOCK_WORDS * 8);
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView block;
        u32 count;
        if (block_view(t, place, &block))
            full_rows(b, w, &block, arg, block_deleted(&block, txn_snapshot(b->txn)->version, bits, &count) ? bits : NULL);
    }
    return txn_write_finish(w);
}

/* Live rows and the sum of n; every id is counted once. */
static inline void
count_t(Backend *b, u64 *ret_rows, i64 *ret_sum)
{
    const TableShm *t = table_t(b);
    u64 bits[BLOCK_WORDS];
    *ret_rows = 0;
    *ret_sum = 0;
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView block;
        SliceView s;
        u32 count;
        if (!block_view(t, place, &block))
            continue;
        bool any = block_deleted(&block, txn_snapshot(b->txn)->version, bits, &count);
        ck_assert(slice_view(&block, 1, &s) || block.row_count == 0);
        for (u32 i = 0; i < block.row_count; i++)
            if (!any || !(bits[i / 64] >> (i % 64) & 1)) {
                ++*ret_rows;
                *ret_sum += slice_value(&s, &COLUMNS[1], i).i32v;
            }
    }
    Error err;
    ck_assert_msg(store_verify(txn_snapshot(b->txn), VERIFY_CONTENTS, &err), "%s", err.message);
    txn_end_statement(b->txn);
}

static inline void
expect(u64 rows, i64 sum)
{
    Backend b;
    u64 have_rows;
    i64 have_sum;
    backend_init(&b, SLOTS - 1);
    current_catch = &b.catch;
    count_t(&b, &have_rows, &have_sum);
    ck_assert_uint_eq(have_rows, rows);
    ck_assert_int_eq(have_sum, sum);
    backend_done(&b);
}

/* Stop and start on the same log; memory must come back as it was (I4). */
static inline void
restart_and_compare(void)
{
    Backend b;
    backend_init(&b, 0);
    u64 before = store_digest(txn_snapshot(b.txn), table_t(&b), NULL), version = txn_snapshot(b.txn)->version;
    txn_end_statement(b.txn);
    backend_done(&b);
    stop();
    start();
    backend_init(&b, 0);
    ck_assert_uint_eq(store_digest(txn_snapshot(b.txn), table_t(&b), NULL), before);
    ck_assert_uint_ge(txn_snapshot(b.txn)->version, version);
    txn_end_statement(b.txn);
    backend_done(&b);
}

#endif
