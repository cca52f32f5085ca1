/*
 * io.c
 *    The front of all file I/O: chooses the engine, counts calls per site, applies the fault table of test builds.
 *
 * Whatever fails here is reported once to the caller as -errno; nothing is retried but what the kernel did not begin (EINTR) or did not finish
 * (short writes). A failed sync is never repeated: the pages it was for may be gone (reliability notes, finding 1).
 */
#include "common/io/io_engine.h"

#include "common/base/env.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char *const SITE_WHAT[IO_SITE_COUNT] = {
#define IO_SITE(symbol, what) [IO_##symbol] = what,
#include "common/io/io_sites.def"
};

static const char *const SITE_NAME[IO_SITE_COUNT] = {
#define IO_SITE(symbol, what) [IO_##symbol] = #symbol,
#include "common/io/io_sites.def"
};

const char *
io_site_what(IoSite site)
{
    return (u32)site < IO_SITE_COUNT ? SITE_WHAT[site] : "?";
}

const char *
io_site_name(IoSite site)
{
    return (u32)site < IO_SITE_COUNT ? SITE_NAME[site] : "?";
}

Io *
io_new(IoEngineKind want, u32 depth, const char **ret_why)
{
    const char *why = "as asked for";
    Io *io = calloc(1, sizeof *io);
    int rc = -ENOMEM;
    if (!io) {
        *ret_why = "no memory";
        return NULL;
    }
    io->depth = MIN(MAX(depth, 1u), (u32)IO_DEPTH_MAX);
    io->kind = want;
    if (want == IO_ENGINE_RING) {
        rc = io_ring_init(io, &why);
        if (rc < 0)
            io->kind = IO_ENGINE_PLAIN;
    }
    if (io->kind == IO_ENGINE_PLAIN)
        rc = io_plain_init(io);
    else if (io->kind == IO_ENGINE_SIM)
        rc = io_sim_init(io);
    if (rc < 0) {
        free(io);
        *ret_why = "no memory or descriptors";
        return NULL;
    }
    *ret_why = why;
    return io;
}

void
io_free(Io *io)
{
    if (!io)
        return;
    io->engine->free(io);
    for (u32 i = 0; i < io->depth; i++)
        free(io->requests[i].copy);
    free(io);
}

IoEngineKind
io_kind(const Io *io)
{
    return io->kind;
}

u32
io_depth(const Io *io)
{
    return io->depth;
}

u32
io_in_flight(const Io *io)
{
    return io->in_flight;
}

void
io_site_counts(const Io *io, IoSite site, u64 *calls, u64 *errors, u64 *bytes)
{
    *calls = io->counts[site].calls;
    *errors = io->counts[site].errors;
    *bytes = io->counts[site].bytes;
}

void
io_counts_take(Io *to, Io *from)
{
    for (int i = 0; i < IO_SITE_COUNT; i++) {
        to->counts[i].calls += from->counts[i].calls;
        to->counts[i].errors += from->counts[i].errors;
        to->counts[i].bytes += from->counts[i].bytes;
        from->counts[i] = (IoCounts){0};
    }
}

/* Count one finished call; passes its result on. */
static i64
count(Io *io, IoSite site, i64 result, u64 bytes)
{
    IoCounts *c = &io->counts[site];
    c->calls++;
    if (result < 0)
        c->errors++;
    else
        c->bytes += bytes;
    return result;
}

/* ---- faults ---- */

#ifdef ENABLE_FAULTS
static void
sleep_ms(i64 ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* A fault of a call that moves no bytes, or the part of any fault that comes before the call. True: *ret is the answer. */
static bool
fault_before(IoSite site, IoFault *f, i64 *ret)
{
    *f = (IoFault){.action = IO_FAULT_DELAY_MS};
    if (!io_fault_next(site, f))
        return false;
    switch (f->action) {
    case IO_FAULT_ERRNO:
        *ret = -f->arg;
        return true;
    case IO_FAULT_KILL:
        kill(getpid(), SIGKILL);
        break;
    case IO_FAULT_DELAY_MS:
        sleep_ms(f->arg);
        break;
    case IO_FAULT_SHORT:
    case IO_FAULT_TORN:
    case IO_FAULT_FLIP:
        break;
    }
    return false;
}

/* An aligned copy of the bytes with one bit (counted from the start, modulo the length) turned over. */
static void *
flipped_copy(const void *from, size_t len, i64 bit)
{
    u8 *copy = NULL;
    if (len == 0 || posix_memalign((void **)&copy, 4096, ALIGN_UP(len, (size_t)4096)) != 0)
        return NULL;
    memcpy(copy, from, len);
    copy[(u64)bit / 8 % len] ^= (u8)(1u << (u64)bit % 8);
    return copy;
}

static i64
faulty_write(Io *io, const IoFault *f, int fd, const u8 *from, size_t len, u64 offset)
{
    size_t arg = MIN((size_t)MAX(f->arg, 0), len);
    i64 n;
    if (f->action == IO_FAULT_SHORT) {
        n = io->engine->write(io, fd, from, len - arg, offset);
        return n < 0 ? n : io->engine->write(io, fd, from + (len - arg), arg, offset + (len - arg)) < 0 ? -EIO : (i64)len;
    }
    if (f->action == IO_FAULT_TORN) {
        n = io->engine->write(io, fd, from, arg, offset);
        return n < 0 ? n : -EIO;
    }
    if (f->action == IO_FAULT_FLIP) {
        void *copy = flipped_copy(from, len, f->arg);
        n = io->engine->write(io, fd, copy ? copy : from, len, offset);
        free(copy);
        return n;
    }
    return io->engine->write(io, fd, from, len, offset);
}

/* True: the request's answer is already made (in `forced`); else the request was changed as the fault wants and goes to the engine. */
static bool
fault_submit(Io *io, u32 slot)
{
    IoRequest *r = &io->requests[slot];
    IoFault f;
    i64 answer;
    if (fault_before(r->site, &f, &answer)) {
        io->forced[io->forced_count++] = (IoResult){slot, answer};
        return true;
    }
    size_t arg = MIN((size_t)MAX(f.arg, 0), r->len) & ~(size_t)511;
    if (f.action == IO_FAULT_SHORT)
        r->first_len = r->len - MAX(arg, (size_t)512);
    else if (f.action == IO_FAULT_FLIP)
        r->copy = flipped_copy(r->from, r->len, f.arg);
    else if (f.action == IO_FAULT_TORN) {
        i64 n = arg ? io->engine->write(io, r->fd, r->from, arg, r->offset) : 0;
        io->forced[io->forced_count++] = (IoResult){slot, n < 0 ? n : -EIO};
        return true;
    }
    if (r->copy)
        r->from = r->copy;
    return false;
}
#define CHECK_FAULT(io, site)                                                                                          \
    do {                                                                                                               \
        IoFault fault;                                                                                                 \
        i64 answer;                                                                                                    \
        if (fault_before((site), &fault, &answer))                                                                     \
            return (int)count((io), (site), answer, 0);                                                                \
    } while (0)
#else
#define CHECK_FAULT(io, site) ((void)0)
#endif

/* ---- synchronous calls ---- */

int
io_open(Io *io, IoSite site, int dir_fd, const char *path, int flags)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->open(io, dir_fd, path, flags), 0);
}

int
io_close(Io *io, int fd)
{
    return io->engine->close(io, fd);
}

i64
io_read(Io *io, IoSite site, int fd, void *to, size_t len, u64 offset)
{
#ifdef ENABLE_FAULTS
    IoFault f;
    i64 answer;
    if (fault_before(site, &f, &answer))
        return count(io, site, answer, 0);
#endif
    i64 n = io->engine->read(io, fd, to, len, offset);
#ifdef ENABLE_FAULTS
    if (n > 0 && f.action == IO_FAULT_FLIP)
        ((u8 *)to)[(u64)f.arg / 8 % (u64)n] ^= (u8)(1u << (u64)f.arg % 8);
    else if (n > 0 && f.action == IO_FAULT_SHORT)
        n = MAX(n - f.arg, 0);
#endif
    return count(io, site, n, (u64)MAX(n, 0));
}

i64
io_write(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset)
{
#ifdef ENABLE_FAULTS
    IoFault f;
    i64 answer;
    if (fault_before(site, &f, &answer))
        return count(io, site, answer, 0);
    return count(io, site, faulty_write(io, &f, fd, from, len, offset), len);
#else
    return count(io, site, io->engine->write(io, fd, from, len, offset), len);
#endif
}

int
io_sync(Io *io, IoSite site, int fd)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->sync(io, fd), 0);
}

int
io_rename(Io *io, IoSite site, int dir_fd, const char *from, const char *to)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->rename(io, dir_fd, from, to), 0);
}

int
io_unlink(Io *io, IoSite site, int dir_fd, const char *path)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->unlink(io, dir_fd, path), 0);
}

int
io_mkdir(Io *io, IoSite site, int dir_fd, const char *path)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->mkdir(io, dir_fd, path), 0);
}

int
io_allocate(Io *io, IoSite site, int fd, u64 len)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->allocate(io, fd, len), len);
}

int
io_truncate(Io *io, IoSite site, int fd, u64 len)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->truncate(io, fd, len), 0);
}

i64
io_size(Io *io, IoSite site, int fd)
{
    CHECK_FAULT(io, site);
    return count(io, site, io->engine->size(io, fd), 0);
}

int
io_list(Io *io, IoSite site, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx)
{
    CHECK_FAULT(io, site);
    return (int)count(io, site, io->engine->list(io, dir_fd, each, ctx), 0);
}

/* ---- asynchronous writes ---- */

static int
submit(Io *io, IoRequest request)
{
    u32 slot = 0;
    ensure(request.len > 0 && request.len % 4096 == 0 && request.offset % 4096 == 0 && (uintptr_t)request.from % 4096 == 0);
    while (slot < io->depth && io->requests[slot].busy)
        slot++;
    if (slot == io->depth)
        return -EAGAIN;
    request.first_len = request.len;
    request.busy = true;
    io->requests[slot] = request;
    io->in_flight++;
#ifdef ENABLE_FAULTS
    if (fault_submit(io, slot))
        return 0;
#endif
    int rc = io->engine->submit(io, slot);
    if (rc < 0) {
        io->requests[slot].busy = false;
        io->in_flight--;
        count(io, request.site, rc, 0);
    }
    return rc;
}

int
io_submit_durable(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset, bool direct, u64 tag)
{
    return submit(io, (IoRequest){.tag = tag, .offset = offset, .from = from, .len = len, .fd = fd, .site = site, .direct = direct, .durable = true});
}

int
io_submit_write(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset, u64 tag)
{
    return submit(io, (IoRequest){.tag = tag, .offset = offset, .from = from, .len = len, .fd = fd, .site = site});
}

u32
io_wait(Io *io, int event_fd, u64 deadline_ns, IoDone *done, u32 max, bool *ret_event)
{
    IoResult results[IO_DEPTH_MAX];
    u32 n = 0;
    *ret_event = false;
    max = MIN(max, (u32)IO_DEPTH_MAX);
    while (n < max && io->forced_count)
        results[n++] = io->forced[--io->forced_count];
    if (n < max)
        n += io->engine->wait(io, event_fd, n ? 0 : deadline_ns, results + n, max - n, ret_event);
    for (u32 i = 0; i < n; i++) {
        IoRequest *r = &io->requests[results[i].slot];
        ensure(r->busy && io->in_flight > 0);
        count(io, r->site, results[i].result, r->len);
        done[i] = (IoDone){r->tag, results[i].result};
        free(r->copy);
        r->copy = NULL;
        r->busy = false;
        io->in_flight--;
    }
    return n;
}
