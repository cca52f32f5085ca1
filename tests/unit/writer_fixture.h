/*
 * writer_fixture.h
 *    The walwriter's loop as a thread on a log in a folder of its own, boxes that the tests fill by hand, and the records that go into them.
 */
#ifndef WRITER_FIXTURE_H
#define WRITER_FIXTURE_H

#include "common/base/env.h"
#include "common/disk/catrec.h"
#include "common/disk/part.h"
#include "common/disk/record.h"
#include "common/shm/publish.h"
#include "common/shm/request.h"
#include "walwriter/writer.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 8, MEMORY = 1 << 30, SEGMENT = 8 << 20 };

static Shm shm;
static char folder[64];
static int wal_dir;
static Writer *writer;
static pthread_t writer_thread;
static u64 stop_writer;
/* ---- the walwriter as a thread ---- */

static void *
run_writer(void *unused)
{
    Error err;
    char password[] = "";
    WriterOptions o = {.shm = &shm, .wal_dir_fd = wal_dir, .snap_dir_fd = wal_dir, .segment_bytes = SEGMENT, .engine = IO_ENGINE_RING, .root_password = password};
    (void)unused;
    ck_assert_msg(writer_open(&o, &writer, &err), "%s", err.message);
    while (!observe_u64(&stop_writer))
        writer_turn(writer);
    ck_assert_msg(world_verify(writer->world, &err), "%s", err.message);
    writer_close(writer);
    return NULL;
}

static void
start(void)
{
    ck_assert_int_eq(shm_create(&shm, SLOTS, MEMORY), 0);
    for (u32 i = 0; i < SLOTS; i++) {
        shm.control->slots[i].pub_role_id = ROLE_ROOT;
        shm.control->slots[i].pub_generation = 1;
        shm.control->slots[i].pub_state = SLOT_TAKEN;
    }
    stop_writer = 0;
    pthread_create(&writer_thread, NULL, run_writer, NULL);
    while (!observe_u64(&shm.writer->pub_ready))
        usleep(1000);
}

static void
stop(void)
{
    u64 one = 1;
    publish_u64(&stop_writer, 1);
    ck_assert_int_eq(write(shm.writer_event_fd, &one, sizeof one), sizeof one);
    pthread_join(writer_thread, NULL);
}

static void
setup(void)
{
    strcpy(folder, "/tmp/ggs3db-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    wal_dir = open(folder, O_RDONLY | O_DIRECTORY);
    start();
}

static void
teardown(void)
{
    char command[128];
    stop();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* ---- the box ---- */

/* What a request says beside its bytes. */
typedef struct Head {
    u32 flags, ordinal, statement, savepoint;
    u64 version, deadline_ns;
} Head;

static void
post(u32 slot, ReqKind kind, Head h, const u8 *bytes, u32 len)
{
    BoxShm *b = shm_box(&shm, slot);
    if (bytes)
        memcpy(b->area, bytes, MIN(len, (u32)BOX_AREA_BYTES));
    b->req_kind = kind;
    relax_store_u32(&b->req_len, len);
    relax_store_u32(&b->req_generation, shm.control->slots[slot].pub_generation);
    b->req_flags = h.flags;
    b->req_version = h.version;
    b->req_deadline_ns = h.deadline_ns;
    b->req_ordinal = h.ordinal;
    b->req_statement = h.statement;
    b->req_savepoint = h.savepoint;
    publish_u64_fenced(&b->pub_req_seq, observe_u64(&b->pub_req_seq) + 1);
    shm_ring_writer(&shm);
}

static bool
is_answered(u32 slot)
{
    BoxShm *b = shm_box(&shm, slot);
    return observe_u64(&b->pub_ans_seq) == observe_u64(&b->pub_req_seq);
}

static AnsStatus
answer(u32 slot)
{
    BoxShm *b = shm_box(&shm, slot);
    for (u64 until = env->monotonic_ns() + 20000000000ull; !is_answered(slot);) {
        u32 latch = observe_u32(&b->pub_latch);
        ck_assert_msg(env->monotonic_ns() < until, "the walwriter does not answer");
        publish_u64(&shm_checkpointer(&shm)->pub_done, observe_u64(&shm.writer->pub_snapshot_wish)); /* a checkpointer that has nothing to do */
        shm_ring_writer(&shm);
        if (!is_answered(slot))
            latch_wait(&b->pub_latch, latch, env->monotonic_ns() + 1000000);
    }
    return (AnsStatus)b->ans_status;
}

static u32
put_record(u8 *to, u32 at, u16 kind, const ByteBuf *b)
{
    memcpy(to + at + RECORD_HEAD_BYTES, b->data, b->len);
    return at + record_frame(to + at, kind, 0, (u32)b->len);
}

static void
verify(void)
{
    Error err;
    BoxShm *b = shm_box(&shm, SLOTS - 1);
    Snapshot s = snapshot_pin(&shm, b);
    ck_assert_msg(store_verify(&s, VERIFY_CONTENTS, &err), "%s", err.message);
    snapshot_unpin(b);
}

/* ---- records ---- */

static const ColumnDef COLUMNS[3] = {
    {.name = {"id", 2}, .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1, .not_null = 1},
    {.name = {"n", 1}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1},
    {.name = {"note", 4}, .type = TYPE_TEXT, .phys = PHYS_STR, .typmod = -1},
};
static const KeyDef KEY = {.name = {"t_pkey", 6}, .primary = 1, .column_count = 1, .columns = {0}};
static const AclItem NO_ACL[1];

static u32
put_create(u8 *to, u32 at, const char *name)
{
    ByteBuf b = {0};
    TableDef t = {.schema_version = 1, .owner_id = ROLE_ROOT, .column_count = 3, .key_count = 1, .name = str_of(name), .columns = COLUMNS,
                  .keys = &KEY, .acl = NO_ACL};
    catrec_put_table(&b, &t);
    at = put_record(to, at, WAL_CREATE_TABLE, &b);
    buf_free(&b);
    return at;
}

static u32
put_id(u8 *to, u32 at, u16 kind, u32 id)
{
    ByteBuf b = {0};
    catrec_put_id(&b, id);
    at = put_record(to, at, kind, &b);
    buf_free(&b);
    return at;
}

static u32
put_role(u8 *to, u32 at, u16 kind, u32 id, const char *name)
{
    ByteBuf b = {0};
    RoleDef r = {.role_id = id, .name = str_of(name), .can_login = 1, .inherit = 1, .connection_limit = -1};
    catrec_put_role(&b, &r, "");
    at = put_record(to, at, kind, &b);
    buf_free(&b);
    return at;
}

static u32
id_of(const char *name)
{
    BoxShm *b = shm_box(&shm, SLOTS - 1);
    Snapshot s = snapshot_pin(&shm, b);
    const TableDef *d = catalog_find_table(s.root, str_of(name));
    u32 id = d ? d->table_id : 0;
    snapshot_unpin(b);
    return id;
}

#endif
