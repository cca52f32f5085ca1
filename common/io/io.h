/*
 * io.h
 *    All file I/O of the server: one table of functions, three engines (io_uring, plain calls, simulated disk), a site number a call,
 *    and in test builds a fault table.
 *
 * Functions return >= 0 or -errno and never retry a failed sync. Every call names its site (io_sites.def), which counters, the fault
 * table and messages use. The ring engine is made by the role that uses it, after the fork, with SINGLE_ISSUER and DEFER_TASKRUN; it serves
 * asynchronous log and snapshot writes; the rest are plain calls in both real engines.
 */
#ifndef IO_H
#define IO_H

#include "common/base/base.h"

typedef enum IoSite {
#define IO_SITE(symbol, what) IO_##symbol,
#include "common/io/io_sites.def"
    IO_SITE_COUNT
} IoSite;

typedef enum IoEngineKind { IO_ENGINE_RING = 1, IO_ENGINE_PLAIN, IO_ENGINE_SIM } IoEngineKind;

typedef struct Io Io;

typedef enum IoFlags { IO_READ = 1, IO_WRITE = 2, IO_CREATE = 4, IO_EXCL = 8, IO_DIRECT = 16, IO_DIR = 32 } IoFlags;

/* A finished asynchronous write: result is bytes written or -errno; of a durable write it covers the sync. */
typedef struct IoDone {
    u64 tag;
    i64 result;
} IoDone;

/* The engine to use: `want` falls back from ring to plain; *ret_why says why in words for the log line (literal). */
Io *io_new(IoEngineKind want, u32 depth, const char **ret_why);
void io_free(Io *io);
IoEngineKind io_kind(const Io *io);
u32 io_depth(const Io *io);

/* Synchronous calls. dir_fd as in openat; paths never come from a client. Files are made with mode 0600, links are not followed. IO_DIRECT answers
 * -EINVAL where direct I/O is not possible or a write with RWF_DSYNC would not be durable (tmpfs before 6.6, FUSE): open again without it. */
int io_open(Io *io, IoSite site, int dir_fd, const char *path, int flags) MUST_CHECK;
int io_close(Io *io, int fd);
i64 io_read(Io *io, IoSite site, int fd, void *to, size_t len, u64 offset) MUST_CHECK;         /* whole or short at end of file */
i64 io_write(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset) MUST_CHECK; /* whole, or -errno */
int io_sync(Io *io, IoSite site, int fd) MUST_CHECK;
int io_rename(Io *io, IoSite site, int dir_fd, const char *from, const char *to) MUST_CHECK;
int io_unlink(Io *io, IoSite site, int dir_fd, const char *path) MUST_CHECK;
int io_mkdir(Io *io, IoSite site, int dir_fd, const char *path) MUST_CHECK; /* mode 0700 */
int io_allocate(Io *io, IoSite site, int fd, u64 len) MUST_CHECK; /* reserve and zero-write */
int io_truncate(Io *io, IoSite site, int fd, u64 len) MUST_CHECK;
i64 io_size(Io *io, IoSite site, int fd) MUST_CHECK;
int io_list(Io *io, IoSite site, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx) MUST_CHECK;

/* Asynchronous durable write of an aligned buffer (4 KiB, length a multiple) that must stay untouched until it is reaped.
 * `direct`: the descriptor was opened with IO_DIRECT and one RWF_DSYNC write does; else write and fdatasync. At most `depth` in flight. */
int io_submit_durable(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset, bool direct, u64 tag) MUST_CHECK;
/* The same without the sync: what was written is durable when an io_sync behind its result has succeeded. */
int io_submit_write(Io *io, IoSite site, int fd, const void *from, size_t len, u64 offset, u64 tag) MUST_CHECK;
u32 io_in_flight(const Io *io);
/* Wait until a write has finished, `event_fd` (an eventfd, -1 none) is readable or the deadline (monotonic ns, 0 = do not wait) has passed; returns
 * finished writes, at most max. Also returns early, with nothing, when a signal came. The only place where the walwriter blocks. The eventfd is
 * read (set to 0) when it fired; it is made blocking, and stays the same one from call to call. A deadline of UINT64_MAX means none. */
u32 io_wait(Io *io, int event_fd, u64 deadline_ns, IoDone *done, u32 max, bool *ret_event);

/* Counters, for views: calls, errors, bytes of a site. */
void io_site_counts(const Io *io, IoSite site, u64 *calls, u64 *errors, u64 *bytes);
/* Move the counts of another Io (a helper thread's, after it ended) into this one. */
void io_counts_take(Io *to, Io *from);
const char *io_site_name(IoSite site); /* "WAL_WRITE" */
const char *io_site_what(IoSite site); /* "write a log group", for messages */

#ifdef ENABLE_FAULTS
typedef enum IoFaultAction { IO_FAULT_ERRNO, IO_FAULT_SHORT, IO_FAULT_TORN, IO_FAULT_DELAY_MS, IO_FAULT_FLIP, IO_FAULT_KILL } IoFaultAction;
/* The nth call at the site (from 1; 0 = every call from now on) suffers the action with its argument; sticky: all later ones too.
 * GGS3DB_IO_FAULTS="site:action:arg:nth[:sticky|:xN],…" does the same for a whole server (every process counts for itself;
 * actions errno, short, torn, delay, flip, kill; errno's argument is a name like EIO or a number; xN: N calls from the nth on). */
void io_fault_add(IoSite site, IoFaultAction action, i64 arg, u64 nth, bool sticky);
void io_fault_clear(void);
#endif

#endif
