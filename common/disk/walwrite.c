/*
 * walwrite.c
 *    The writer of the redo log: groups in flight, the spare segment, and what happens when the disk fails.
 *
 * Groups stand in a queue of slots in the order of submission; each slot keeps its bytes until its event was taken. Writes may finish in any order,
 * events come in order. A segment is used until the next group does not fit; then the groups in flight are waited for, so that the next head can
 * say truly through which LSN this segment is valid.
 *
 *   in flight ──▶ written ──(all before it durable)──▶ durable ──▶ event, slot free
 *       └──────▶ failed ──▶ segment closed for ever; spare taken, valid-through = durable; every group not durable, written ones too,
 *                           is stamped for its new place and written there ──▶ durable
 *                                                                     └──▶ lost, writes have stopped (wal_writer_resume)
 *
 * Invariants: no write or sync goes to a segment after one of its writes or syncs failed (I3); a new writer, and a resumed one, begins a new
 * segment with a new epoch (I10); LSNs only grow, those of lost groups are skipped. Durable never falls.
 * Threads: the spare is made by a helper thread with an Io of its own; joining it hands the file over. On the simulated disk it is made in place.
 */
#include "common/disk/walformat.h"

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/env.h"
#include "common/base/say.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef enum SlotState { SLOT_IN_FLIGHT, SLOT_WRITTEN, SLOT_FAILED, SLOT_DURABLE, SLOT_LOST } SlotState;

typedef struct Slot {
    WalCarried group;
    u64 tag;
    SlotState state;
    int result;
} Slot;

typedef struct Spare {
    WalFile file; /* fd -1: none */
    int error;
    bool running;     /* the thread is at work and owns this struct, but for the fields below */
    pthread_t thread;
    Io *io;           /* the thread's */
    int dir_fd;
    u32 segment_bytes;
    u64 retry_ns;
} Spare;

struct WalWriter {
    Io *io;
    int dir_fd;
    u32 segment_bytes, payload_max, depth;
    WalFile file;
    WalSegmentHead segment; /* of the file in use */
    u32 counter;            /* highest given out */
    u64 offset, sequence;   /* of the next group */
    Lsn next_lsn, durable, sealed;
    int stopped; /* -errno */
    Slot slots[WAL_DEPTH];
    u32 first, count;       /* queue in slots */
    bool open;
    u8 *payload;
    u32 payload_bytes, frame_count;
    u8 *page;               /* for heads and seals, aligned */
    int seal_result;
    Spare spare;
    WalFile mark_file;
    u8 *mark_page;
    bool mark_busy;
    u64 mark_sequence, mark_ns;
    Lsn mark_lsn;
    void *memory;
    size_t memory_bytes;
};

enum { TAG_SEAL = 100, TAG_MARK, MARK_EVERY_NS = 1000000000, RETRY_EVERY_NS = 500000000 };
enum { SEAL_NONE = 1, SEAL_WAITED_FOR = 2 }; /* seal_result while there is no result */

/* ---- the spare segment ---- */

static void *
make_spare(void *arg)
{
    Spare *s = arg;
    s->error = wal_file_create(s->io, s->dir_fd, s->segment_bytes, &s->file);
    return NULL;
}

static void
start_spare(WalWriter *w)
{
    Spare *s = &w->spare;
    if (s->running || s->file.fd >= 0)
        return;
    s->retry_ns = env->monotonic_ns() + RETRY_EVERY_NS;
    if (!s->io) { /* the simulated disk */
        s->error = wal_file_create(w->io, w->dir_fd, w->segment_bytes, &s->file);
        return;
    }
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    s->running = pthread_create(&s->thread, NULL, make_spare, s) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Take over what the helper thread made, waiting for it or not. */
static void
join_spare(WalWriter *w, bool wait)
{
    Spare *s = &w->spare;
    if (!s->running || (wait ? pthread_join(s->thread, NULL) : pthread_tryjoin_np(s->thread, NULL)) != 0)
        return;
    s->running = false;
    io_counts_take(w->io, s->io);
    if (s->error < 0)
        say_warn("no spare segment of the redo log could be made: %s", strerror(-s->error));
}

static void
tend_spare(WalWriter *w)
{
    join_spare(w, false);
    if (!w->spare.running && w->spare.file.fd < 0 && !w->stopped && env->monotonic_ns() >= w->spare.retry_ns)
        start_spare(w);
}

/* Begin a new segment on the spare (without one: on a new file of at least `bytes`), with these groups in it. On failure the one in use is unchanged. */
static int
take_segment(WalWriter *w, Lsn start_lsn, Lsn valid_through, u32 bytes, WalCarried *const *groups, u32 count)
{
    Spare *s = &w->spare;
    join_spare(w, true);
    if (s->file.fd < 0) {
        int rc = wal_file_create(w->io, w->dir_fd, bytes, &s->file);
        if (rc < 0)
            return rc;
    }
    WalFile file = s->file;
    s->file.fd = -1;
    WalSegmentHead head = {.epoch = wal_epoch_new(++w->counter), .prev_epoch = w->segment.epoch, .start_lsn = start_lsn,
                           .prev_valid_through = valid_through, .segment_bytes = file.bytes};
    int rc = wal_file_start(w->io, w->dir_fd, &file, &head, w->page, groups, count);
    if (rc < 0) {
        wal_file_drop(w->io, w->dir_fd, &file);
        return rc;
    }
    wal_file_close(w->io, &w->file);
    w->file = file;
    w->segment = head;
    w->offset = WAL_PAGE;
    for (u32 i = 0; i < count; i++)
        w->offset += groups[i]->head.file_bytes;
    w->sequence = count + 1;
    w->sealed = start_lsn; /* the head proves what is before it */
    start_spare(w);
    return 0;
}

/* ---- groups in flight ---- */

static Slot *
slot_at(WalWriter *w, u32 i)
{
    return &w->slots[(w->first + i) % w->depth];
}

static Lsn
group_end(const Slot *s)
{
    return s->group.head.lsn + s->group.head.file_bytes;
}

static void
take_results(WalWriter *w, const IoDone *done, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        if (done[i].tag == TAG_SEAL) {
            w->seal_result = done[i].result < 0 ? (int)done[i].result : 0;
        } else if (done[i].tag == TAG_MARK) {
            w->mark_busy = false;
            if (done[i].result < 0) {
                say_warn("the watermark of the redo log could not be written: %s", strerror((int)-done[i].result));
                wal_file_close(w->io, &w->mark_file);
            }
        } else {
            Slot *s = &w->slots[done[i].tag];
            ensure(done[i].tag < w->depth && s->state == SLOT_IN_FLIGHT);
            s->state = done[i].result < 0 ? SLOT_FAILED : SLOT_WRITTEN;
            s->result = done[i].result < 0 ? (int)done[i].result : 0;
        }
    }
}

static bool
any_in_flight(WalWriter *w)
{
    for (u32 i = 0; i < w->count; i++)
        if (slot_at(w, i)->state == SLOT_IN_FLIGHT)
            return true;
    return w->seal_result == SEAL_WAITED_FOR;
}

/* Wait for all groups in flight. */
static void
drain(WalWriter *w)
{
    IoDone done[WAL_DEPTH + 2];
    bool event;
    while (any_in_flight(w)) {
        u32 n = io_wait(w->io, -1, UINT64_MAX, done, COUNT_OF(done), &event);
        take_results(w, done, n);
    }
}

static void
stop_writes(WalWriter *w, int rc)
{
    w->stopped = rc;
    say_error("the redo log cannot be written: %s; changes are refused until it can", strerror(-rc));
}

/* A write failed: its segment is closed for good, the groups that are not durable, from the i-th on, go to the spare. None is in flight. */
static void
fail_over(WalWriter *w, u32 i)
{
    WalCarried *groups[WAL_DEPTH];
    u64 bytes = WAL_PAGE;
    u32 count = 0;
    say_warn("writing segment \"%s\" of the redo log failed: %s; the segment is closed, its successor is tried", w->file.name,
             strerror(-slot_at(w, i)->result));
    for (u32 k = i; k < w->count; k++) {
        groups[count] = &slot_at(w, k)->group;
        bytes += groups[count++]->head.file_bytes;
    }
    ensure(bytes <= w->segment_bytes);
    int rc = take_segment(w, groups[0]->head.lsn, w->durable, w->segment_bytes, groups, count);
    for (u32 k = i; k < w->count; k++) {
        Slot *s = slot_at(w, k);
        s->state = rc == 0 ? SLOT_DURABLE : SLOT_LOST;
        s->result = rc;
        if (rc == 0)
            w->durable = group_end(s);
    }
    if (rc < 0)
        stop_writes(w, rc);
}

/* Groups become durable in order; the first failed one moves all that follow. After a failure nothing more may go to the segment, so the groups in
 * flight are waited for at once, even when those before the failed one are among them. */
static void
settle(WalWriter *w)
{
    for (u32 i = 0; i < w->count; i++)
        if (slot_at(w, i)->state == SLOT_FAILED)
            drain(w);
    for (u32 i = 0; i < w->count; i++) {
        Slot *s = slot_at(w, i);
        if (s->state == SLOT_IN_FLIGHT)
            return;
        if (s->state == SLOT_WRITTEN) {
            s->state = SLOT_DURABLE;
            w->durable = group_end(s);
        } else if (s->state == SLOT_FAILED) {
            fail_over(w, i);
            return;
        }
    }
}

/* Room for file_bytes in the segment in use, or in the next. */
static int
make_room(WalWriter *w, u32 file_bytes)
{
    if (w->offset + file_bytes <= w->segment.segment_bytes)
        return 0;
    drain(w);
    settle(w);
    if (w->stopped || w->offset + file_bytes <= w->segment.segment_bytes)
        return w->stopped;
    ensure(w->durable == w->next_lsn);
    int rc = take_segment(w, w->next_lsn, w->durable, w->segment_bytes, NULL, 0);
    if (rc < 0)
        stop_writes(w, rc);
    return rc;
}

/* ---- the watermark ---- */

static void
open_mark(WalWriter *w)
{
    WalFile *f = &w->mark_file;
    int error;
    wal_mark_read(w->io, w->dir_fd, &w->mark_lsn, &w->mark_sequence, &error);
    f->direct = true;
    f->fd = io_open(w->io, IO_WATERMARK, w->dir_fd, WAL_WATERMARK_NAME, IO_READ | IO_WRITE | IO_CREATE | IO_DIRECT);
    if (f->fd == -EINVAL) {
        f->direct = false;
        f->fd = io_open(w->io, IO_WATERMARK, w->dir_fd, WAL_WATERMARK_NAME, IO_READ | IO_WRITE | IO_CREATE);
    }
    if (f->fd < 0)
        say_warn("the watermark of the redo log cannot be opened: %s", strerror(-f->fd));
}

static void
tend_mark(WalWriter *w)
{
    if (w->mark_file.fd < 0 || w->mark_busy || w->mark_lsn >= w->durable)
        return;
    u64 now = env->monotonic_ns();
    if (now - w->mark_ns < MARK_EVERY_NS)
        return;
    w->mark_ns = now;
    wal_mark_write(w->mark_page, w->durable, ++w->mark_sequence);
    int rc = io_submit_durable(w->io, IO_WATERMARK, w->mark_file.fd, w->mark_page, WAL_PAGE, (w->mark_sequence & 1) * WAL_PAGE,
                               w->mark_file.direct, TAG_MARK);
    if (rc == 0) {
        w->mark_busy = true;
        w->mark_lsn = w->durable;
    }
}

/* ---- the door ---- */

typedef struct OldNames {
    Io *io;
    int dir_fd;
    u32 counter;
} OldNames;

/* The highest counter in use; left-over temporary files go (one in which a dead writer still writes may go too: nobody will read it). */
static bool
see_old_name(void *ctx, const char *name)
{
    OldNames *o = ctx;
    Lsn start;
    u32 counter;
    size_t n = strlen(name);
    if (wal_segment_name_read(name, &start, &counter))
        o->counter = MAX(o->counter, counter);
    else if (n > 4 && strncmp(name, "spare.", 6) == 0 && strcmp(name + n - 4, ".tmp") == 0 &&
             io_unlink(o->io, IO_WAL_UNLINK, o->dir_fd, name) < 0)
        say_warn("left-over file \"%s\" of the redo log could not be removed", name);
    return true;
}

static bool
get_memory(WalWriter *w)
{
    size_t image = MIN((size_t)WAL_GROUP_FILE_BYTES_MAX, (size_t)w->segment_bytes), payload = ALIGN_UP((size_t)w->payload_max, (size_t)WAL_PAGE);
    w->memory_bytes = w->depth * image + payload + 2 * WAL_PAGE;
    w->memory = mmap(NULL, w->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (w->memory == MAP_FAILED) {
        w->memory = NULL;
        return false;
    }
    u8 *at = w->memory;
    for (u32 i = 0; i < w->depth; i++, at += image)
        w->slots[i].group.image = at;
    w->payload = at;
    w->page = at + payload;
    w->mark_page = w->page + WAL_PAGE;
    return true;
}

static bool
open_failed(WalWriter *w, int rc, Error *err)
{
    if (w->spare.file.fd >= 0)
        wal_file_drop(w->io, w->dir_fd, &w->spare.file);
    wal_file_close(w->io, &w->mark_file);
    wal_writer_abandon(w);
    return error_set(err, rc == -ENOSPC || rc == -EDQUOT ? ERR_DISK_FULL : rc == -ENOMEM ? ERR_OUT_OF_MEMORY : ERR_IO_ERROR,
                     "could not begin a segment of the redo log: %s", strerror(-rc));
}

/* Begin the first segment, with what the predecessor's last one holds without proof. */
static int
succeed(WalWriter *w, Lsn valid_through)
{
    WalCarry carry = {.proven = valid_through};
    WalCarried *groups[WAL_CARRY_MAX];
    int rc = w->segment.epoch ? wal_carry_read(w->io, w->dir_fd, w->segment.epoch, valid_through, &carry) : 0;
    if (rc < 0)
        return rc;
    u64 bytes = MIN((u64)w->segment_bytes, (u64)WAL_FIRST_SEGMENT_BYTES);
    for (u32 i = 0; i < carry.count; i++)
        groups[i] = &carry.groups[i];
    if (carry.frames == 0) /* at most a seal */
        rc = take_segment(w, w->next_lsn, carry.proven, (u32)bytes, NULL, 0);
    else
        rc = take_segment(w, carry.proven, carry.proven, (u32)MAX(bytes, WAL_PAGE + carry.bytes), groups, carry.count);
    wal_carry_free(&carry);
    return rc;
}

bool
wal_writer_open(Io *io, int dir_fd, Lsn valid_through, u64 prev_epoch, u64 segment_bytes, WalWriter **ret, Error *err)
{
    ensure(segment_bytes % WAL_PAGE == 0 && segment_bytes >= WAL_SEGMENT_BYTES_MIN && segment_bytes <= 1u << 30);
    ensure(valid_through % WAL_PAGE == 0 && io_depth(io) >= 2);
    OldNames old = {io, dir_fd, (u32)(prev_epoch >> 32)};
    WalWriter *w = calloc(1, sizeof *w);
    const char *why;
    if (!w)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    w->io = io;
    w->dir_fd = dir_fd;
    w->segment_bytes = (u32)segment_bytes;
    w->payload_max = MIN((u32)WAL_GROUP_MAX_BYTES, wal_group_capacity(w->segment_bytes - WAL_PAGE)) & ~7u;
    w->depth = MIN((u32)WAL_DEPTH, io_depth(io) - 1);
    w->file.fd = w->spare.file.fd = w->mark_file.fd = -1;
    w->seal_result = SEAL_NONE;
    w->spare.dir_fd = dir_fd;
    w->spare.segment_bytes = w->segment_bytes;
    if (!get_memory(w) || (io_kind(io) != IO_ENGINE_SIM && !(w->spare.io = io_new(IO_ENGINE_PLAIN, 1, &why))))
        return open_failed(w, -ENOMEM, err);
    int rc = io_list(io, IO_WAL_LIST, dir_fd, see_old_name, &old);
    if (rc < 0)
        return open_failed(w, rc, err);
    open_mark(w);
    w->counter = old.counter;
    w->segment.epoch = prev_epoch;
    w->durable = w->next_lsn = MAX(valid_through, WAL_FIRST_LSN);
    rc = succeed(w, valid_through);
    if (rc < 0)
        return open_failed(w, rc, err);
    if (!w->file.direct)
        say_info("the file system of the redo log has no direct I/O; groups are written and then synced");
    w->mark_ns = env->monotonic_ns();
    *ret = w;
    return true;
}

void
wal_writer_abandon(WalWriter *w)
{
    if (!w)
        return;
    join_spare(w, true);
    io_free(w->spare.io);
    if (w->memory)
        munmap(w->memory, w->memory_bytes);
    free(w);
}

void
wal_writer_free(WalWriter *w)
{
    IoDone done[WAL_DEPTH + 2];
    bool event;
    if (!w)
        return;
    drain(w);
    settle(w);
    while (w->mark_busy)
        take_results(w, done, io_wait(w->io, -1, UINT64_MAX, done, COUNT_OF(done), &event));
    if (w->mark_file.fd >= 0 && w->mark_lsn < w->durable) {
        wal_mark_write(w->mark_page, w->durable, ++w->mark_sequence);
        i64 n = io_write(w->io, IO_WATERMARK, w->mark_file.fd, w->mark_page, WAL_PAGE, (w->mark_sequence & 1) * WAL_PAGE);
        if (n < 0 || io_sync(w->io, IO_WATERMARK, w->mark_file.fd) < 0)
            say_warn("the watermark of the redo log could not be written");
    }
    join_spare(w, true);
    if (w->spare.file.fd >= 0)
        wal_file_drop(w->io, w->dir_fd, &w->spare.file);
    wal_file_close(w->io, &w->file);
    wal_file_close(w->io, &w->mark_file);
    wal_writer_abandon(w);
}

Lsn
wal_next_lsn(const WalWriter *w)
{
    return w->next_lsn + WAL_GROUP_HEAD_BYTES + (w->open ? w->payload_bytes : 0);
}

u32
wal_frame_max(const WalWriter *w)
{
    return MIN((u32)WAL_FRAME_MAX_BYTES, w->payload_max - WAL_FRAME_HEAD_BYTES);
}

u8 *
wal_group_begin(WalWriter *w)
{
    ensure(!w->open);
    if (w->count == w->depth || w->stopped)
        return NULL;
    w->open = true;
    w->payload_bytes = w->frame_count = 0;
    return w->payload;
}

Lsn
wal_group_add(WalWriter *w, const void *frame, u32 len)
{
    ensure(w->open && len > 0 && len <= WAL_FRAME_MAX_BYTES);
    u32 padded = ALIGN_UP(len, 8u);
    if (WAL_FRAME_HEAD_BYTES + padded > w->payload_max - w->payload_bytes)
        return 0;
    u8 *to = w->payload + w->payload_bytes;
    Lsn lsn = wal_next_lsn(w);
    put_le32(to, len);
    put_le32(to + 4, 0);
    memcpy(to + WAL_FRAME_HEAD_BYTES, frame, len);
    memset(to + WAL_FRAME_HEAD_BYTES + len, 0, padded - len);
    w->payload_bytes += WAL_FRAME_HEAD_BYTES + padded;
    w->frame_count++;
    return lsn;
}

u32
wal_group_bytes(const WalWriter *w)
{
    return w->open ? w->payload_bytes : 0;
}

int
wal_group_submit(WalWriter *w, u64 tag)
{
    ensure(w->open && w->frame_count > 0 && w->count < w->depth);
    u32 file_bytes = wal_group_file_bytes(w->payload_bytes);
    w->open = false;
    int rc = w->stopped ? w->stopped : make_room(w, file_bytes);
    if (rc < 0) {
        w->next_lsn += file_bytes; /* its frames' LSNs were told */
        return rc;
    }
    u32 index = (w->first + w->count++) % w->depth;
    Slot *s = &w->slots[index];
    s->group.head = (WalGroupHead){.epoch = w->segment.epoch, .sequence = w->sequence++, .lsn = w->next_lsn, .durable_through = w->durable,
                             .file_bytes = file_bytes, .payload_bytes = w->payload_bytes, .frame_count = w->frame_count,
                             .payload_crc = crc32c(0, w->payload, w->payload_bytes)};
    s->tag = tag;
    s->state = SLOT_IN_FLIGHT;
    s->result = 0;
    wal_group_layout(s->group.image, w->payload, w->payload_bytes);
    wal_group_stamp(s->group.image, &s->group.head, (u32)(w->offset / WAL_PAGE));
    rc = io_submit_durable(w->io, IO_WAL_WRITE, w->file.fd, s->group.image, file_bytes, w->offset, w->file.direct, index);
    w->offset += file_bytes;
    w->next_lsn += file_bytes;
    if (rc < 0) {
        s->state = SLOT_FAILED;
        s->result = rc;
        settle(w);
    }
    return 0;
}

u32
wal_in_flight(const WalWriter *w)
{
    return w->count;
}

u32
wal_wait(WalWriter *w, int event_fd, u64 deadline_ns, WalEvent *events, u32 max, bool *ret_event)
{
    IoDone done[WAL_DEPTH + 2];
    bool ready = w->count && (slot_at(w, 0)->state == SLOT_DURABLE || slot_at(w, 0)->state == SLOT_LOST);
    u32 n = io_wait(w->io, event_fd, ready ? 0 : deadline_ns, done, COUNT_OF(done), ret_event);
    take_results(w, done, n);
    settle(w);
    for (n = 0; n < max && w->count; n++) {
        Slot *s = slot_at(w, 0);
        if (s->state != SLOT_DURABLE && s->state != SLOT_LOST)
            break;
        events[n] = (WalEvent){s->tag, s->result, group_end(s)};
        w->first = (w->first + 1) % w->depth;
        w->count--;
    }
    tend_spare(w);
    tend_mark(w);
    return n;
}

Lsn
wal_durable_lsn(const WalWriter *w)
{
    return w->durable;
}

int
wal_stopped(const WalWriter *w)
{
    return w->stopped;
}

u64
wal_epoch(const WalWriter *w)
{
    return w->segment.epoch;
}

/* Write the seal in w->page and wait for it. */
static int
write_seal(WalWriter *w)
{
    WalGroupHead head = {.epoch = w->segment.epoch, .sequence = w->sequence, .lsn = w->next_lsn, .durable_through = w->durable,
                         .file_bytes = WAL_PAGE, .flags = WAL_GROUP_SEAL};
    wal_group_layout(w->page, NULL, 0);
    wal_group_stamp(w->page, &head, (u32)(w->offset / WAL_PAGE));
    w->seal_result = SEAL_WAITED_FOR;
    int rc = io_submit_durable(w->io, IO_WAL_WRITE, w->file.fd, w->page, WAL_PAGE, w->offset, w->file.direct, TAG_SEAL);
    if (rc == 0) {
        drain(w);
        rc = w->seal_result;
    }
    w->seal_result = SEAL_NONE;
    return rc;
}

int
wal_seal(WalWriter *w)
{
    ensure(!w->open);
    drain(w);
    settle(w);
    if (w->stopped || w->durable == w->sealed)
        return w->stopped;
    ensure(w->durable == w->next_lsn);
    bool fits = w->offset + WAL_PAGE <= w->segment.segment_bytes;
    int rc = fits ? write_seal(w) : 0;
    if (fits && rc == 0) {
        w->sequence++;
        w->offset += WAL_PAGE;
        w->next_lsn += WAL_PAGE;
        w->durable = w->sealed = w->next_lsn;
        return 0;
    }
    if (rc < 0)
        say_warn("sealing segment \"%s\" of the redo log failed: %s; its successor is tried", w->file.name, strerror(-rc));
    rc = take_segment(w, w->next_lsn, w->durable, w->segment_bytes, NULL, 0); /* its head is as good as a seal */
    if (rc < 0)
        stop_writes(w, rc);
    return rc;
}

bool
wal_writer_resume(WalWriter *w, Error *err)
{
    ensure(!w->open);
    if (!w->stopped)
        return true;
    int rc = take_segment(w, w->next_lsn, w->durable, w->segment_bytes, NULL, 0);
    if (rc < 0)
        return error_set(err, rc == -ENOSPC || rc == -EDQUOT ? ERR_DISK_FULL : ERR_IO_ERROR, "could not begin a segment of the redo log: %s",
                         strerror(-rc));
    w->durable = w->next_lsn; /* nothing between */
    w->stopped = 0;
    say_info("the redo log is written again, from LSN %llu on", (unsigned long long)w->next_lsn);
    return true;
}
