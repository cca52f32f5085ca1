/*
 * txn_fixture.h
 *    The walwriter's loop driven step by step through boxes, in one thread: requests, answers, restarts, deaths at any step.
 *
 * Two tables of one shape: id bigint primary key, u integer unique, n integer, note text. Values of a row follow from three numbers (Row), so that what is stored
 * can be checked against them.
 */
#ifndef TXN_FIXTURE_H
#define TXN_FIXTURE_H

#include "common/base/env.h"
#include "common/disk/catrec.h"
#include "common/shm/publish.h"
#include "common/store/shape.h"
#include "walwriter/writer.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Check writes a line at every ck_assert; loops use this. */
#define HOLDS(e) ((e) ? (void)0 : ck_abort_msg("%s:%d: %s", __FILE__, __LINE__, #e))

enum { FX_SLOTS = 6, FX_READER = FX_SLOTS - 1, FX_TABLES = 2, FX_ROWS = 24576, FX_NO_U = -1 };

typedef struct FxRow {
    i64 id;
    i32 u, n;  /* u FX_NO_U: NULL */
    u32 note_bytes;
} FxRow;

static Shm fx_shm;
static char fx_folder[64];
static int fx_dir;
static Writer *fx_writer;
#ifdef __SANITIZE_THREAD__
/* Nobody joins a dead process's threads either. */
const char *__tsan_default_options(void);
const char *
__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

static Writer *fx_dead[4096]; /* kept reachable: nobody frees a dead process's memory */
static u32 fx_dead_count;
static u32 fx_table[FX_TABLES];

/* ---- the writer ---- */

static inline void
fx_open(bool take_over)
{
    Error err;
    char password[] = "";
    WriterOptions o = {.shm = &fx_shm, .wal_dir_fd = fx_dir, .snap_dir_fd = fx_dir, .segment_bytes = 8 << 20, .engine = IO_ENGINE_PLAIN, .take_over = take_over,
                       .root_password = password};
    ck_assert_msg(writer_open(&o, &fx_writer, &err), "%s", err.message);
}

static inline void
fx_start(void)
{
    ck_assert_int_eq(shm_create(&fx_shm, FX_SLOTS, 1 << 30), 0);
    for (u32 i = 0; i < FX_SLOTS; i++) {
        fx_shm.control->slots[i].pub_role_id = ROLE_ROOT;
        fx_shm.control->slots[i].pub_generation = 1;
        fx_shm.control->slots[i].pub_state = SLOT_TAKEN;
    }
    fx_open(false);
}

/* Stop and start on the same log. */
static inline void
fx_restart(void)
{
    writer_close(fx_writer);
    fx_start();
}

/* Nothing is being written: the dead writer's thread that writes the log lives on. */
static inline void
fx_settle(void)
{
    while (wal_in_flight(fx_writer->wal) > 0)
        writer_turn(fx_writer);
}

/* The writer dies where it stands; a successor takes the world over. */
static inline void
fx_die(void)
{
    HOLDS(fx_dead_count < COUNT_OF(fx_dead));
    fx_dead[fx_dead_count++] = fx_writer;
    fx_open(true);
}

static inline void
fx_verify(void)
{
    Error err;
    BoxShm *b = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, b);
    ck_assert_msg(store_verify(&s, VERIFY_CONTENTS, &err), "%s", err.message);
    snapshot_unpin(b);
    ck_assert_msg(world_verify(fx_writer->world, &err), "%s", err.message);
}

/* ---- requests ---- */

typedef struct FxAsk {
    ReqKind kind;
    u32 flags, ordinal, statement, savepoint;
    u64 version, wait_ns; /* wait_ns: lock_timeout, 0: told at once that it would have to wait */
} FxAsk;

static u8 fx_bytes[BOX_AREA_BYTES] __attribute__((aligned(8)));
static u32 fx_len;

static inline void
fx_post(u32 slot, FxAsk a)
{
    BoxShm *b = shm_box(&fx_shm, slot);
    memcpy(b->area, fx_bytes, fx_len);
    b->req_kind = a.kind;
    relax_store_u32(&b->req_len, fx_len);
    b->req_generation = observe_u32(&fx_shm.control->slots[slot].pub_generation);
    b->req_flags = a.flags;
    b->req_version = a.version;
    b->req_ordinal = a.ordinal;
    b->req_statement = a.statement;
    b->req_savepoint = a.savepoint;
    b->req_deadline_ns = a.wait_ns ? env->monotonic_ns() + a.wait_ns : 1;
    fx_len = 0;
    publish_u64_fenced(&b->pub_req_seq, observe_u64(&b->pub_req_seq) + 1);
    shm_ring_writer(&fx_shm);
}

static inline bool
fx_answered(u32 slot)
{
    const BoxShm *b = shm_box(&fx_shm, slot);
    return observe_u64(&b->pub_ans_seq) == observe_u64(&b->pub_req_seq);
}

static inline BoxShm *
fx_answer(u32 slot)
{
    for (u32 turns = 0; !fx_answered(slot); turns++) {
        HOLDS(turns < 1000);
        writer_turn(fx_writer);
    }
    return shm_box(&fx_shm, slot);
}

static inline BoxShm *
fx_ask(u32 slot, FxAsk a)
{
    fx_post(slot, a);
    return fx_answer(slot);
}

/* ---- records ---- */

static inline void
fx_put(u16 kind, const void *payload, u32 len)
{
    memcpy(fx_bytes + fx_len + RECORD_HEAD_BYTES, payload, len);
    fx_len += record_frame(fx_bytes + fx_len, kind, 0, len);
}

static inline void
fx_put_definition(u16 kind, u32 table_id, const char *name, u32 schema_version, u16 key_count)
{
    static const ColumnDef COLUMNS[4] = {
        {.name = {"id", 2}, .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1, .not_null = 1},
        {.name = {"u", 1}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1},
        {.name = {"n", 1}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1, .not_null = 1},
        {.name = {"note", 4}, .type = TYPE_TEXT, .phys = PHYS_STR, .typmod = -1},
    };
    static const KeyDef KEYS[2] = {{.name = {"pkey", 4}, .primary = 1, .column_count = 1, .columns = {0}},
                                   {.name = {"u_key", 5}, .column_count = 1, .columns = {1}}};
    static const AclItem NO_ACL[1];
    TableDef t = {.table_id = table_id, .schema_version = schema_version, .owner_id = ROLE_ROOT, .column_count = 4, .key_count = key_count,
                  .name = str_of(name), .columns = COLUMNS, .keys = KEYS, .acl = NO_ACL};
    ByteBuf b = {0};
    catrec_put_table(&b, &t);
    fx_put(kind, b.data, (u32)b.len);
    buf_free(&b);
}

static inline void
fx_put_create(const char *name)
{
    fx_put_definition(WAL_CREATE_TABLE, 0, name, 1, 2);
}

static inline const char *
fx_note(const FxRow *r)
{
    static char note[65536];
    memset(note, 'a' + (char)((u64)r->id % 26), r->note_bytes);
    return note;
}

/* Of the tables that parts are for. */
static u32 fx_schema_version = 1;

/* INSERT: all columns; UPDATE: those of the mask (bit a column); DELETE: none. */
static inline void
fx_put_part(u32 table_id, PartKind kind, u32 mask, const FxRow *rows, const u64 *old, u32 n, u32 ordinal)
{
    static i64 ids[FX_ROWS];
    static i32 us[FX_ROWS], ns[FX_ROWS];
    static u8 nulls[FX_ROWS], narrow[FX_ROWS];
    static u32 lengths[256];
    static char texts[256 * 1024];
    u32 distinct = 0, text_len = 0, count = 0;
    HOLDS(n <= FX_ROWS);
    for (u32 i = 0; i < n && kind != PART_DELETE; i++) {
        ids[i] = rows[i].id;
        us[i] = rows[i].u == FX_NO_U ? 0 : rows[i].u;
        nulls[i] = rows[i].u == FX_NO_U;
        ns[i] = rows[i].n;
        if (distinct < 255 || rows[i].note_bytes) {
            HOLDS(distinct < 256 && text_len + rows[i].note_bytes <= sizeof texts);
            memcpy(texts + text_len, fx_note(&rows[i]), rows[i].note_bytes);
            lengths[distinct] = rows[i].note_bytes;
            text_len += rows[i].note_bytes;
            narrow[i] = (u8)distinct++;
        } else
            narrow[i] = 254;
    }
    PartColumn all[4] = {
        {.column = 0, .phys = PHYS_I64, .values = ids},
        {.column = 1, .phys = PHYS_I32, .values = us, .null_bytes = nulls},
        {.column = 2, .phys = PHYS_I32, .values = ns},
        {.column = 3, .phys = PHYS_STR, .distinct = distinct, .lengths = lengths, .texts = texts, .indexes = narrow, .index_width = 1},
    }, columns[4];
    for (u32 c = 0; c < 4; c++)
        if (kind == PART_INSERT || (kind == PART_UPDATE && mask >> c & 1))
            columns[count++] = all[c];
    PartView p = {.kind = kind, .table_id = table_id, .schema_version = fx_schema_version, .row_count = n, .column_count = (u16)count, .columns = columns,
                  .old_rows = old, .ordinal = ordinal};
    HOLDS(fx_len + part_bytes(&p) + RECORD_HEAD_BYTES <= sizeof fx_bytes);
    u32 len = part_write(&p, fx_bytes + fx_len + RECORD_HEAD_BYTES);
    fx_len += record_frame(fx_bytes + fx_len, (u16)kind, 0, len);
}

/* ---- reading ---- */

static inline void
fx_setup(void)
{
    strcpy(fx_folder, "/tmp/ggs3db-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(fx_folder));
    fx_dir = open(fx_folder, O_RDONLY | O_DIRECTORY);
    fx_start();
    for (u32 t = 0; t < FX_TABLES; t++) {
        char name[4] = {'t', (char)('0' + t), 0};
        fx_put_create(name);
        ck_assert_int_eq(fx_ask(0, (FxAsk){.kind = REQ_WRITE})->ans_status, ANS_OK);
        Snapshot s = snapshot_pin(&fx_shm, shm_box(&fx_shm, FX_READER));
        fx_table[t] = catalog_find_table(s.root, str_of(name))->table_id;
        snapshot_unpin(shm_box(&fx_shm, FX_READER));
    }
}

static inline void
fx_teardown(void)
{
    char command[128];
    writer_close(fx_writer);
    close(fx_dir);
    snprintf(command, sizeof command, "rm -rf %s", fx_folder);
    ck_assert_int_eq(system(command), 0);
}

static inline const BlockShm *
fx_block(const SlotDirShm *slot)
{
    return slot->pub_block;
}

/* The row as it is stored at that place. */
static inline FxRow
fx_read(const BlockShm *b, u32 offset)
{
    FxRow r;
    u32 code;
    slice_load(&b->slices[0], offset, &r.id);
    slice_load(&b->slices[1], offset, &r.u);
    slice_load(&b->slices[2], offset, &r.n);
    slice_load(&b->slices[3], offset, &code);
    if (slice_null(b, &b->slices[1], offset))
        r.u = FX_NO_U;
    Str note = dict_str(b->slices[3].dict, code);
    r.note_bytes = note.len;
    HOLDS(memcmp(note.ptr, fx_note(&r), note.len) == 0 || note.len == 0);
    return r;
}

/* Committed rows, newest state. */
static inline bool
fx_find(u32 t, i64 id, RowId *ret, FxRow *ret_row)
{
    BoxShm *box = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, box);
    const TableShm *table = store_table(s.root, fx_table[t]);
    Value v = {.type = TYPE_INT8, .typmod = -1, .i64v = id};
    bool found = key_find(&s, table, 0, &v, ret);
    if (found)
        *ret_row = fx_read(fx_block(dir_slot(table->dir, ROW_BLOCK(*ret))), ROW_OFFSET(*ret));
    snapshot_unpin(box);
    return found;
}

static inline u64
fx_count(u32 t)
{
    BoxShm *box = shm_box(&fx_shm, FX_READER);
    Snapshot s = snapshot_pin(&fx_shm, box);
    const TableShm *table = store_table(s.root, fx_table[t]);
    u64 rows = 0, bits[BLOCK_WORDS];
    for (u32 place = 0; place < table_block_count(table); place++) {
        BlockView v;
        u32 dead = 0;
        if (!block_view(table, place, &v))
            continue;
        (void)block_deleted(&v, s.version, bits, &dead);
        rows += v.row_count - dead;
    }
    snapshot_unpin(box);
    return rows;
}

#endif
