/*
 * snapread.c
 *    Reading pieces of snapshots: one by one to where they belong, or all of a file in order to compare their sums.
 *
 * Restart reads pieces by plain reads, straight to their place, from several threads with an Io each. Comparing (read back, offline check) goes through a
 * window and past the page cache where direct I/O is possible, so that it sees what the device has.
 */
#include "common/disk/snapformat.h"

#include "common/base/crc32c.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- pieces ---- */

static bool
open_data(Io *io, int dir_fd, const SnapToc *t, u32 file, int *ret_fd, Error *err)
{
    char name[SNAP_NAME_BYTES];
    u8 page[SNAP_PAGE];
    snap_data_name(name, t->files[file].number);
    int fd = io_open(io, IO_SNAP_READ, dir_fd, name, IO_READ);
    *ret_fd = -1;
    if (fd == -ENOENT)
        return true;
    if (fd < 0)
        return snap_failed(err, fd, "open", name);
    i64 n = io_read(io, IO_SNAP_READ, fd, page, sizeof page, 0);
    if (n == SNAP_PAGE && !snap_data_head_check(page, t->files[file].number, t->head.database_id)) {
        *ret_fd = fd;
        return true;
    }
    (void)io_close(io, fd); /* its pieces count as damaged */
    return true;
}

bool
snap_files_open(Io *io, int dir_fd, const SnapToc *t, SnapFiles *ret, Error *err)
{
    *ret = (SnapFiles){.fds = malloc((t->file_count + 1) * sizeof(int))};
    if (!ret->fds)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    while (ret->count < t->file_count) {
        if (!open_data(io, dir_fd, t, ret->count, &ret->fds[ret->count], err)) {
            snap_files_close(io, ret);
            return false;
        }
        ret->count++;
    }
    return true;
}

void
snap_files_close(Io *io, SnapFiles *f)
{
    for (u32 i = 0; i < f->count; i++)
        if (f->fds[i] >= 0)
            (void)io_close(io, f->fds[i]);
    free(f->fds);
    *f = (SnapFiles){0};
}

bool
snap_read(Io *io, const SnapToc *t, const SnapFiles *f, const SnapRef *ref, void *to, Error *err)
{
    char name[SNAP_NAME_BYTES];
    snap_data_name(name, t->files[ref->file].number);
    if (f->fds[ref->file] < 0)
        return snap_damaged(err, name, 0, "the file is missing, or its head is wrong");
    i64 n = io_read(io, IO_SNAP_READ, f->fds[ref->file], to, ref->bytes, ref->offset);
    if (n < 0)
        return snap_damaged(err, name, ref->offset, strerror((int)-n));
    if ((u64)n != ref->bytes)
        return snap_damaged(err, name, ref->offset, "the file is cut");
    return crc32c(0, to, ref->bytes) == ref->crc || snap_damaged(err, name, ref->offset, "the checksum of a piece is wrong");
}

/* ---- comparing sums ---- */

typedef struct Window {
    Io *io;
    int fd;
    u8 *bytes;
    u64 at, len;
    char name[SNAP_NAME_BYTES];
} Window;

/* The sum of a piece, chunk by chunk. */
static bool
sum_piece(Window *w, const SnapRef *ref, Error *err)
{
    u32 crc = 0;
    for (u64 done = 0; done < ref->bytes;) {
        u64 at = ref->offset + done;
        if (at < w->at || at >= w->at + w->len) {
            w->at = at / SNAP_PAGE * SNAP_PAGE;
            i64 n = io_read(w->io, IO_SNAP_READ, w->fd, w->bytes, SNAP_CHUNK_BYTES, w->at);
            if (n < 0)
                return snap_failed(err, (int)n, "read", w->name);
            w->len = (u64)n;
            if (at >= w->at + w->len)
                return snap_damaged(err, w->name, at, "the file is cut");
        }
        u64 n = MIN(ref->bytes - done, w->at + w->len - at);
        crc = crc32c(crc, w->bytes + (at - w->at), n);
        done += n;
    }
    return crc == ref->crc || snap_damaged(err, w->name, ref->offset, "the checksum of a piece is wrong");
}

static bool
check_head(Window *w, const SnapToc *t, u32 file, Error *err)
{
    i64 n = io_read(w->io, IO_SNAP_READ, w->fd, w->bytes, SNAP_PAGE, 0);
    if (n < 0)
        return snap_failed(err, (int)n, "read", w->name);
    const char *reason = n < SNAP_PAGE ? "the file is cut" : snap_data_head_check(w->bytes, t->files[file].number, t->head.database_id);
    return reason ? snap_damaged(err, w->name, 0, reason) : true;
}

/* All pieces that lie in one file; those of its own snapshot stand in the TOC in the order of their offsets. */
static bool
verify_file(Window *w, int dir_fd, const SnapToc *t, u32 file, bool (*each)(void *ctx, u64 bytes), void *ctx, Error *err)
{
    u64 read = 0;
    snap_data_name(w->name, t->files[file].number);
    w->at = w->len = 0;
    w->fd = snap_open(w->io, IO_SNAP_READ, dir_fd, w->name, IO_READ);
    if (w->fd < 0)
        return w->fd == -ENOENT ? snap_damaged(err, w->name, 0, "the file is missing") : snap_failed(err, w->fd, "open", w->name);
    bool ok = check_head(w, t, file, err);
    const u8 *at = t->body;
    for (SnapItem i; ok && snap_next(t, &at, &i);) {
        SnapRef refs[2];
        u32 n = snap_item_refs(&i, refs);
        for (u32 k = 0; ok && k < n; k++) {
            if (refs[k].file != file)
                continue;
            ok = sum_piece(w, &refs[k], err);
            read += refs[k].bytes;
            if (ok && each && !each(ctx, read))
                ok = error_set(err, ERR_QUERY_CANCELED, "reading was broken off");
        }
    }
    (void)io_close(w->io, w->fd);
    return ok;
}

bool
snap_verify(Io *io, int dir_fd, const SnapToc *t, u64 number, bool (*each)(void *ctx, u64 bytes), void *ctx, Error *err)
{
    Window w = {.io = io};
    w.bytes = mmap(NULL, SNAP_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w.bytes == MAP_FAILED)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    bool ok = true;
    for (u32 f = 0; ok && f < t->file_count; f++)
        if (number == 0 || t->files[f].number == number)
            ok = verify_file(&w, dir_fd, t, f, each, ctx, err);
    munmap(w.bytes, SNAP_CHUNK_BYTES);
    return ok;
}
