/*
 * io_engine.h
 *    Inside of the room: the table of functions of an engine and what the front (io.c) shares with it.
 *
 * The front owns counters, faults and the request slots; an engine sees a slot's index and gives the index back with a result. A request's
 * buffer stays the caller's. An Io belongs to one thread; only the plain engine has a helper thread, which touches nothing but the slots it
 * was given, under its own mutex.
 */
#ifndef IO_ENGINE_H
#define IO_ENGINE_H

#include "common/io/io.h"

enum { IO_DEPTH_MAX = 64 };

typedef struct IoRequest {
    u64 tag, offset;
    const u8 *from;
    size_t len;
    size_t first_len; /* what the first attempt may write: len, less under an injected short write */
    void *copy;       /* injected bit flip: the damaged copy that is written instead */
    int fd;
    IoSite site;
    bool direct, busy;
    bool durable;     /* its result covers a sync */
} IoRequest;

typedef struct IoResult {
    u32 slot;
    i64 result;
} IoResult;

typedef struct IoEngine {
    int (*open)(Io *io, int dir_fd, const char *path, int flags);
    int (*close)(Io *io, int fd);
    i64 (*read)(Io *io, int fd, void *to, size_t len, u64 offset);
    i64 (*write)(Io *io, int fd, const void *from, size_t len, u64 offset);
    int (*sync)(Io *io, int fd);
    int (*rename)(Io *io, int dir_fd, const char *from, const char *to);
    int (*unlink)(Io *io, int dir_fd, const char *path);
    int (*mkdir)(Io *io, int dir_fd, const char *path);
    int (*allocate)(Io *io, int fd, u64 len);
    int (*truncate)(Io *io, int fd, u64 len);
    i64 (*size)(Io *io, int fd);
    int (*list)(Io *io, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx);
    int (*submit)(Io *io, u32 slot);
    u32 (*wait)(Io *io, int event_fd, u64 deadline_ns, IoResult *results, u32 max, bool *ret_event);
    void (*free)(Io *io);
} IoEngine;

typedef struct IoCounts {
    u64 calls, errors, bytes;
} IoCounts;

struct Io {
    const IoEngine *engine;
    IoEngineKind kind;
    u32 depth, in_flight;
    void *state; /* the engine's */
    IoRequest requests[IO_DEPTH_MAX];
    IoResult forced[IO_DEPTH_MAX]; /* injected failures that wait to be reaped */
    u32 forced_count;
    IoCounts counts[IO_SITE_COUNT];
};

/* Each sets engine and state, or answers -errno. */
int io_ring_init(Io *io, const char **ret_why);
int io_plain_init(Io *io);
int io_sim_init(Io *io);

/* The calls of both real engines. */
int plain_open(Io *io, int dir_fd, const char *path, int flags);
int plain_close(Io *io, int fd);
i64 plain_read(Io *io, int fd, void *to, size_t len, u64 offset);
i64 plain_write(Io *io, int fd, const void *from, size_t len, u64 offset);
int plain_sync(Io *io, int fd);
int plain_rename(Io *io, int dir_fd, const char *from, const char *to);
int plain_unlink(Io *io, int dir_fd, const char *path);
int plain_mkdir(Io *io, int dir_fd, const char *path);
int plain_allocate(Io *io, int fd, u64 len);
int plain_truncate(Io *io, int fd, u64 len);
i64 plain_size(Io *io, int fd);
int plain_list(Io *io, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx);
/* Clear an eventfd that fired. */
void plain_drain_event(int event_fd);

#ifdef ENABLE_FAULTS
typedef struct IoFault {
    IoFaultAction action;
    i64 arg;
} IoFault;
/* Count a call at the site; true when it is to suffer *ret. Reads GGS3DB_IO_FAULTS at the first call of the process. */
bool io_fault_next(IoSite site, IoFault *ret);
#endif

#endif
