/*
 * io_ring.c
 *    Asynchronous writes through io_uring; everything synchronous is the plain engine's.
 *
 * A direct write is one SQE with RWF_DSYNC; a buffered one is a write linked to an fdatasync. Results are compared with the length, never
 * assumed: what the kernel left undone (short write, which cancels the linked sync; EINTR or EAGAIN, nothing begun) is finished by plain
 * calls and synced once; a failed write or sync is reported. A linked -ECANCELED is no cause: the head's error is.
 *
 * The ring is small, belongs to the thread that made it (SINGLE_ISSUER: a forked child that touches it gets EEXIST) and runs completions only
 * where that thread waits (DEFER_TASKRUN). A read of the caller's eventfd is always armed while it waits.
 */
#include "common/io/io_engine.h"

#include "common/base/env.h"
#include "common/base/say.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>

/* user_data: slot in the upper bits, what it was in the lower two. */
enum { OP_WRITE, OP_SYNC, OP_EVENT, OP_CANCEL };
#define USER_DATA(slot, op) ((u64)(slot) << 2 | (u64)(op))

typedef struct RingSlot {
    i64 write_result, sync_result;
    u32 pending; /* completions still to come */
} RingSlot;

typedef struct Ring {
    struct io_uring ring;
    RingSlot slots[IO_DEPTH_MAX];
    u64 event_value;
    int armed_fd; /* -1: no read is armed */
    bool fired;   /* it fired during a wait that did not ask for events; told at the next one that does */
} Ring;

static int
ring_submit(Io *io, u32 slot)
{
    Ring *r = io->state;
    const IoRequest *q = &io->requests[slot];
    u32 need = q->direct || !q->durable ? 1 : 2;
    if (io_uring_sq_space_left(&r->ring) < need)
        return -EAGAIN;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
    io_uring_prep_write(sqe, q->fd, q->from, (u32)q->first_len, q->offset);
    io_uring_sqe_set_data64(sqe, USER_DATA(slot, OP_WRITE));
    if (q->direct) {
        sqe->rw_flags = RWF_DSYNC;
    } else if (q->durable) {
        sqe->flags |= IOSQE_IO_LINK;
        sqe = io_uring_get_sqe(&r->ring);
        io_uring_prep_fsync(sqe, q->fd, IORING_FSYNC_DATASYNC);
        io_uring_sqe_set_data64(sqe, USER_DATA(slot, OP_SYNC));
    }
    r->slots[slot] = (RingSlot){.pending = need};
    /* The entries are in the queue now: an interrupted or refused enter leaves them there, and the next enter, in ring_wait at the latest, takes
     * them along. So nothing is answered twice. */
    (void)io_uring_submit(&r->ring);
    return 0;
}

/* What the kernel did not do of a request, by plain calls: the rest of the bytes and, for a durable write, one sync. */
static i64
finish_rest(Io *io, const IoRequest *q, size_t done)
{
    i64 n = plain_write(io, q->fd, q->from + done, q->len - done, q->offset + done);
    int rc = n < 0 ? (int)n : q->durable ? plain_sync(io, q->fd) : 0;
    return rc < 0 ? rc : (i64)q->len;
}

static i64
judge_result(Io *io, const IoRequest *q, const RingSlot *s)
{
    i64 w = s->write_result;
    if (w == -EINTR || w == -EAGAIN)
        w = 0;
    if (w < 0)
        return w;
    if ((size_t)w < q->len)
        return finish_rest(io, q, (size_t)w);
    if (q->direct || !q->durable || s->sync_result >= 0)
        return w;
    return s->sync_result;
}

/* One completion; true when it finished a request, whose result is then in *ret. */
static bool
take_completion(Io *io, u64 data, i64 res, IoResult *ret)
{
    Ring *r = io->state;
    u32 slot = (u32)(data >> 2);
    switch (data & 3) {
    case OP_EVENT:
        r->armed_fd = -1;
        ensure(res >= 0 || res == -ECANCELED || res == -EINTR || res == -EAGAIN);
        r->fired = r->fired || res >= 0;
        return false;
    case OP_CANCEL:
        return false;
    default:
        break;
    }
    ensure(slot < io->depth && r->slots[slot].pending > 0);
    RingSlot *s = &r->slots[slot];
    if ((data & 3) == OP_WRITE)
        s->write_result = res;
    else
        s->sync_result = res;
    if (--s->pending > 0)
        return false;
    *ret = (IoResult){slot, judge_result(io, &io->requests[slot], s)};
    return true;
}

static void
arm_event(Ring *r, int event_fd)
{
    if (event_fd < 0 || r->armed_fd == event_fd)
        return;
    struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
    if (!sqe)
        return; /* the queue is full of writes: those will wake us, and the next wait arms */
    int flags = fcntl(event_fd, F_GETFL);
    if (flags >= 0 && flags & O_NONBLOCK)
        fcntl(event_fd, F_SETFL, flags & ~O_NONBLOCK);
    io_uring_prep_read(sqe, event_fd, &r->event_value, sizeof r->event_value, 0);
    io_uring_sqe_set_data64(sqe, USER_DATA(0, OP_EVENT));
    r->armed_fd = event_fd;
}

static u32
take_ready(Io *io, IoResult *results, u32 max)
{
    Ring *r = io->state;
    struct io_uring_cqe *cqe;
    u32 n = 0;
    while (n < max && io_uring_cq_ready(&r->ring) > 0 && io_uring_peek_cqe(&r->ring, &cqe) == 0) {
        u64 data = cqe->user_data;
        i64 res = cqe->res;
        io_uring_cqe_seen(&r->ring, cqe);
        if (take_completion(io, data, res, &results[n]))
            n++;
    }
    return n;
}

static u32
ring_wait(Io *io, int event_fd, u64 deadline_ns, IoResult *results, u32 max, bool *ret_event)
{
    Ring *r = io->state;
    ensure(r->armed_fd < 0 || event_fd < 0 || r->armed_fd == event_fd);
    for (;;) {
        arm_event(r, event_fd);
        u64 now = env->monotonic_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
        if (event_fd >= 0 && r->fired)
            left = 0;
        struct __kernel_timespec t = {(i64)MIN(left / 1000000000u, 1000000u), (long long)(left % 1000000000u)};
        struct io_uring_cqe *cqe;
        int rc = io_uring_submit_and_wait_timeout(&r->ring, &cqe, 1, &t, NULL);
        u32 n = take_ready(io, results, max);
        if (event_fd >= 0 && r->fired) {
            *ret_event = true;
            r->fired = false;
        }
        if (n || *ret_event || left == 0 || rc == -EINTR)
            return n;
    }
}

static void
ring_free(Io *io)
{
    Ring *r = io->state;
    IoResult results[IO_DEPTH_MAX];
    bool event = false;
    u64 deadline = env->monotonic_ns() + 5000000000u;
    if (r->armed_fd >= 0) {
        struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
        if (sqe) {
            io_uring_prep_cancel64(sqe, USER_DATA(0, OP_EVENT), 0);
            io_uring_sqe_set_data64(sqe, USER_DATA(0, OP_CANCEL));
        }
    }
    /* Nothing may reach memory that is about to be given back. */
    u32 left = io->in_flight - io->forced_count;
    while ((r->armed_fd >= 0 || left > 0) && env->monotonic_ns() < deadline) {
        u32 n = ring_wait(io, -1, env->monotonic_ns() + 100000000u, results, IO_DEPTH_MAX, &event);
        left -= MIN(n, left);
    }
    if (left > 0)
        say_warn("%u writes did not come back from the kernel", left);
    io_uring_queue_exit(&r->ring);
    free(r);
}

static const IoEngine RING_ENGINE = {
    .open = plain_open, .close = plain_close, .read = plain_read, .write = plain_write, .sync = plain_sync,
    .rename = plain_rename, .unlink = plain_unlink, .mkdir = plain_mkdir, .allocate = plain_allocate,
    .truncate = plain_truncate, .size = plain_size, .list = plain_list, .submit = ring_submit, .wait = ring_wait,
    .free = ring_free,
};

static const char *
refusal_text(int rc)
{
    switch (rc) {
    case -EPERM: return "io_uring is forbidden here (seccomp or kernel.io_uring_disabled); using plain calls and a helper thread";
    case -ENOSYS: return "this kernel has no io_uring; using plain calls and a helper thread";
    case -ENOMEM: return "io_uring got no memory (locked-memory limit); using plain calls and a helper thread";
    case -EMFILE:
    case -ENFILE: return "io_uring got no descriptor; using plain calls and a helper thread";
    default: return "io_uring could not be set up; using plain calls and a helper thread";
    }
}

int
io_ring_init(Io *io, const char **ret_why)
{
    static const u32 TRIES[] = {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, /* 6.1 */
                                IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN,  /* 6.0 */
                                0};
    static const char *const TEXTS[] = {"io_uring", "io_uring without DEFER_TASKRUN (kernel before 6.1)",
                                        "io_uring without SINGLE_ISSUER (kernel before 6.0)"};
    Ring *r = calloc(1, sizeof *r);
    int rc = -ENOMEM;
    if (!r)
        return rc;
    r->armed_fd = -1;
    for (u32 i = 0; i < COUNT_OF(TRIES); i++) {
        struct io_uring_params params = {.flags = TRIES[i] | IORING_SETUP_CLAMP};
        rc = io_uring_queue_init_params(2 * io->depth + 4, &r->ring, &params);
        if (rc == 0 && !(params.features & IORING_FEAT_EXT_ARG)) {
            io_uring_queue_exit(&r->ring); /* waiting with a deadline would cost an entry (before 5.11) */
            rc = -ENOSYS;
        }
        *ret_why = rc == 0 ? TEXTS[i] : refusal_text(rc);
        if (rc != -EINVAL)
            break;
    }
    if (rc < 0) {
        free(r);
        return rc;
    }
    io->state = r;
    io->engine = &RING_ENGINE;
    return 0;
}
