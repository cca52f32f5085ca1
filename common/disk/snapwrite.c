/*
 * snapwrite.c
 *    Writing a snapshot: a stream of pieces into the data file, several writes in flight, then the TOC.
 *
 * Both files go through the same stream: bytes are collected in chunks of 1 MiB, full chunks are given to the kernel while the next ones are filled; direct
 * I/O where there is any, so that a snapshot does not push everything else out of the page cache. The first error is kept, nothing is
 * written after it, and no sync is tried again. A file has a temporary name until it is synced.
 */
#include "common/disk/snapformat.h"

#include "common/base/fault.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct Stream {
    int fd; /* -1: none */
    char name[SNAP_NAME_BYTES], temporary[SNAP_NAME_BYTES + 4];
    u64 offset;  /* in the file, of the chunk being filled */
    u32 current, used;
} Stream;

struct SnapWriter {
    Io *io;
    int dir_fd;
    u64 number, database_id;
    int error;
    u8 *chunks;
    bool busy[SNAP_WRITES_IN_FLIGHT + 1];
    Stream stream; /* the file being written */
};

enum { CHUNK_COUNT = SNAP_WRITES_IN_FLIGHT + 1 };

int
snap_open(Io *io, IoSite site, int dir_fd, const char *name, int flags)
{
    int fd = io_open(io, site, dir_fd, name, flags | IO_DIRECT);
    return fd == -EINVAL ? io_open(io, site, dir_fd, name, flags & ~IO_EXCL) : fd;
}

static void
fail(SnapWriter *w, int rc)
{
    if (!w->error)
        w->error = rc;
}

/* Take finished writes; wait for one at least. */
static void
reap(SnapWriter *w)
{
    IoDone done[CHUNK_COUNT];
    bool event;
    u32 n = io_wait(w->io, -1, UINT64_MAX, done, CHUNK_COUNT, &event);
    for (u32 i = 0; i < n; i++) {
        w->busy[done[i].tag] = false;
        if (done[i].result < 0)
            fail(w, (int)done[i].result);
    }
}

static void
drain(SnapWriter *w)
{
    while (io_in_flight(w->io) > 0)
        reap(w);
}

static u8 *chunk(SnapWriter *w, u32 i) { return w->chunks + (u64)i * SNAP_CHUNK_BYTES; }

/* Give the chunk to the kernel and take a free one. */
static void
flush(SnapWriter *w)
{
    Stream *s = &w->stream;
    u32 len = ALIGN_UP(s->used, (u32)SNAP_PAGE);
    if (!len || w->error)
        return;
    memset(chunk(w, s->current) + s->used, 0, len - s->used);
    int rc = io_submit_write(w->io, IO_SNAP_WRITE, s->fd, chunk(w, s->current), len, s->offset, s->current);
    if (rc < 0) {
        fail(w, rc);
        return;
    }
    w->busy[s->current] = true;
    s->offset += len;
    s->used = 0;
    for (;;) {
        for (u32 i = 0; i < CHUNK_COUNT; i++)
            if (!w->busy[i]) {
                s->current = i;
                return;
            }
        reap(w);
    }
}

static void
append(SnapWriter *w, const void *bytes, u64 len)
{
    const u8 *from = bytes;
    Stream *s = &w->stream;
    while (len && !w->error) {
        u64 n = MIN(len, (u64)(SNAP_CHUNK_BYTES - s->used));
        memcpy(chunk(w, s->current) + s->used, from, n);
        s->used += (u32)n;
        from += n;
        len -= n;
        if (s->used == SNAP_CHUNK_BYTES)
            flush(w);
    }
}

static void
append_zeros(SnapWriter *w, u64 len)
{
    static const u8 zeros[SNAP_PAGE];
    for (; len; len -= MIN(len, (u64)SNAP_PAGE))
        append(w, zeros, MIN(len, (u64)SNAP_PAGE));
}

static u64 position(const SnapWriter *w) { return w->stream.offset + w->stream.used; }

static bool
begin(SnapWriter *w, const char *name, Error *err)
{
    Stream *s = &w->stream;
    *s = (Stream){.fd = -1};
    strcpy(s->name, name);
    strcpy(s->temporary, name);
    strcat(s->temporary, ".tmp");
    s->fd = snap_open(w->io, IO_SNAP_CREATE, w->dir_fd, s->temporary, IO_READ | IO_WRITE | IO_CREATE | IO_EXCL);
    return s->fd >= 0 || snap_failed(err, s->fd, "create", s->temporary);
}

static void
close_stream(SnapWriter *w)
{
    if (w->stream.fd >= 0)
        (void)io_close(w->io, w->stream.fd);
    w->stream.fd = -1;
}

/* Written, synced, named. */
static bool
end(SnapWriter *w, u64 *ret_bytes, Error *err)
{
    Stream *s = &w->stream;
    flush(w);
    drain(w);
    if (w->error)
        return snap_failed(err, w->error, "write", s->temporary);
    *ret_bytes = s->offset;
    int rc = io_sync(w->io, IO_SNAP_SYNC, s->fd);
    if (rc < 0)
        return snap_failed(err, w->error = rc, "sync", s->temporary);
    FAULT(SNAP_FILE_SYNCED);
    rc = io_rename(w->io, IO_SNAP_RENAME, w->dir_fd, s->temporary, s->name);
    if (rc < 0)
        return snap_failed(err, w->error = rc, "rename", s->temporary);
    close_stream(w);
    return true;
}

bool
snap_writer_open(Io *io, int dir_fd, u64 number, u64 database_id, SnapWriter **ret, Error *err)
{
    char name[SNAP_NAME_BYTES];
    u8 page[SNAP_PAGE];
    ensure(io_depth(io) >= SNAP_WRITES_IN_FLIGHT && io_in_flight(io) == 0);
    SnapWriter *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    *w = (SnapWriter){.io = io, .dir_fd = dir_fd, .number = number, .database_id = database_id, .stream = {.fd = -1}};
    w->chunks = mmap(NULL, (size_t)CHUNK_COUNT * SNAP_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->chunks == MAP_FAILED) {
        w->chunks = NULL;
        snap_writer_free(w);
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    }
    snap_data_name(name, number);
    if (!begin(w, name, err)) {
        snap_writer_free(w);
        return false;
    }
    snap_data_head_write(page, number, database_id);
    append(w, page, sizeof page);
    *ret = w;
    return true;
}

SnapRef
snap_write(SnapWriter *w, const void *bytes, u64 len, u32 crc)
{
    append_zeros(w, ALIGN_UP(position(w), (u64)SNAP_PIECE_ALIGN) - position(w));
    SnapRef ref = {.offset = position(w), .bytes = len, .file = SNAP_OWN_FILE, .crc = crc};
    append(w, bytes, len);
    return ref;
}

int
snap_writer_error(const SnapWriter *w)
{
    return w->error;
}

bool
snap_writer_data(SnapWriter *w, u64 *ret_bytes, Error *err)
{
    if (!end(w, ret_bytes, err))
        return false;
    FAULT(SNAP_DATA_NAMED);
    int rc = io_sync(w->io, IO_SNAP_DIR_SYNC, w->dir_fd); /* before a TOC can name it */
    return rc == 0 || snap_failed(err, w->error = rc, "sync the folder of", w->stream.name);
}

bool
snap_writer_toc(SnapWriter *w, const SnapHead *head, const ByteBuf *body, Error *err)
{
    char name[SNAP_NAME_BYTES];
    u8 page[SNAP_PAGE], mark[8];
    u64 bytes;
    if (body->failed)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    snap_toc_name(name, w->number);
    if (!begin(w, name, err))
        return false;
    snap_toc_head_write(page, head, body->data, body->len);
    append(w, page, sizeof page);
    append(w, body->data, body->len);
    append_zeros(w, ALIGN_UP(position(w) + sizeof mark, (u64)SNAP_PAGE) - sizeof mark - position(w));
    put_le64(mark, SNAP_END_MAGIC);
    append(w, mark, sizeof mark);
    if (!end(w, &bytes, err))
        return false;
    FAULT(SNAP_TOC_NAMED);
    int rc = io_sync(w->io, IO_SNAP_DIR_SYNC, w->dir_fd);
    return rc == 0 || snap_failed(err, rc, "sync the folder of", name);
}

void
snap_writer_free(SnapWriter *w)
{
    if (!w)
        return;
    drain(w);
    if (w->stream.fd >= 0) {
        close_stream(w);
        /* A courtesy: left-over temporary files are removed with the next snapshot. */
        if (io_unlink(w->io, IO_SNAP_UNLINK, w->dir_fd, w->stream.temporary) < 0)
            w->stream.name[0] = 0;
    }
    if (w->chunks)
        munmap(w->chunks, (size_t)CHUNK_COUNT * SNAP_CHUNK_BYTES);
    free(w);
}
