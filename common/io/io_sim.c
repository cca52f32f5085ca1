/*
 * io_sim.c
 *    The simulated disk of io_sim.h.
 *
 * A file has the bytes a process reads (`now`), the bytes that are safe (`safe`) and a dirty mark a sector. Folders are prefixes of paths:
 * one list of names as processes see it, one as it was at the last folder sync, and the operations between. Memory is not accounted: this is
 * for tests, and running out of it ends the process.
 */
#include "common/io/io_sim.h"
#include "common/io/io_engine.h"

#include "common/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_MAX = 4096, FDS_MAX = 256, OPS_MAX = 65536, PATH_BYTES = 120 };

typedef struct SimFile {
    u8 *now, *safe, *dirty;
    u64 size, safe_size, capacity;
    bool sync_failed;
    struct SimFile *next; /* all files, for the end */
} SimFile;

typedef struct SimName {
    char path[PATH_BYTES];
    SimFile *file; /* NULL: a folder */
} SimName;

typedef struct SimNames {
    SimName *list;
    u32 count;
} SimNames;

typedef enum SimOpKind { OP_ADD, OP_REMOVE, OP_RENAME } SimOpKind;
typedef struct SimOp {
    SimOpKind kind;
    char path[PATH_BYTES], to[PATH_BYTES];
    SimFile *file;
} SimOp;

typedef struct SimFd {
    bool open, folder;
    char path[PATH_BYTES]; /* a folder's, with a slash at the end unless it is the root */
    SimFile *file;
} SimFd;

typedef struct SimFlight {
    u32 slot;
    SimFile *file;
} SimFlight;

typedef struct Sim {
    SimNames now, safe;
    SimOp *ops;
    u32 op_count;
    SimFd fds[FDS_MAX];
    SimFlight flights[IO_DEPTH_MAX];
    u32 flight_count;
    bool hold;
    u64 shuffle;
    u64 calls, fail_at, syncs_after_failure;
    int fail_error;
    bool fail_sticky;
    SimFile *files;
} Sim;

static void *
need(void *p)
{
    ensure(p);
    return p;
}

static u64
next_random(u64 *seed)
{
    *seed += 0x9e3779b97f4a7c15ull;
    return hash_u64(*seed);
}

/* Count a fallible call: 0 or the error it is to fail with. */
static int
injected(Sim *s)
{
    s->calls++;
    if (s->fail_at == 0 || s->calls < s->fail_at || (s->calls > s->fail_at && !s->fail_sticky))
        return 0;
    return s->fail_error;
}

/* ---- names ---- */

static SimName *
find_name(SimNames *names, const char *path)
{
    for (u32 i = 0; i < names->count; i++)
        if (strcmp(names->list[i].path, path) == 0)
            return &names->list[i];
    return NULL;
}

static void
add_name(SimNames *names, const char *path, SimFile *file)
{
    SimName *n = find_name(names, path);
    if (!n) {
        ensure(names->count < NAMES_MAX && strlen(path) < PATH_BYTES);
        n = &names->list[names->count++];
        strcpy(n->path, path);
    }
    n->file = file;
}

static void
remove_name(SimNames *names, const char *path)
{
    SimName *n = find_name(names, path);
    if (n)
        *n = names->list[--names->count];
}

static void
apply_op(SimNames *names, const SimOp *op)
{
    SimName *n;
    switch (op->kind) {
    case OP_ADD:
        add_name(names, op->path, op->file);
        break;
    case OP_REMOVE:
        remove_name(names, op->path);
        break;
    case OP_RENAME:
        n = find_name(names, op->path);
        if (n) {
            SimFile *file = n->file;
            remove_name(names, op->path);
            add_name(names, op->to, file);
        }
        break;
    }
}

static void
folder_op(Sim *s, SimOpKind kind, const char *path, const char *to, SimFile *file)
{
    ensure(s->op_count < OPS_MAX && strlen(path) < PATH_BYTES && strlen(to) < PATH_BYTES);
    SimOp *op = &s->ops[s->op_count++];
    op->kind = kind;
    strcpy(op->path, path);
    strcpy(op->to, to);
    op->file = file;
    apply_op(&s->now, op);
}

static void
sync_folder(Sim *s)
{
    memcpy(s->safe.list, s->now.list, s->now.count * sizeof *s->now.list);
    s->safe.count = s->now.count;
    s->op_count = 0;
}

static SimFd *
fd_of(Sim *s, int fd)
{
    int i = fd - IO_SIM_ROOT;
    return i >= 0 && i < FDS_MAX && s->fds[i].open ? &s->fds[i] : NULL;
}

static bool
full_path(Sim *s, int dir_fd, const char *path, char *ret)
{
    SimFd *dir = fd_of(s, dir_fd);
    if (path[0] == '/' || dir_fd == AT_FDCWD)
        return snprintf(ret, PATH_BYTES, "%s", path[0] == '/' ? path + 1 : path) < PATH_BYTES;
    return dir && dir->folder && snprintf(ret, PATH_BYTES, "%s%s", dir->path, path) < PATH_BYTES;
}

/* ---- files ---- */

static SimFile *
new_file(Sim *s)
{
    SimFile *f = need(calloc(1, sizeof *f));
    f->next = s->files;
    s->files = f;
    return f;
}

static void
grow(SimFile *f, u64 size)
{
    if (size > f->capacity) {
        u64 capacity = ALIGN_UP(MAX(size, f->capacity * 2), (u64)4096);
        f->now = need(realloc(f->now, capacity));
        f->safe = need(realloc(f->safe, capacity));
        f->dirty = need(realloc(f->dirty, capacity / IO_SIM_SECTOR));
        memset(f->now + f->capacity, 0, capacity - f->capacity);
        memset(f->safe + f->capacity, 0, capacity - f->capacity);
        memset(f->dirty + f->capacity / IO_SIM_SECTOR, 0, (capacity - f->capacity) / IO_SIM_SECTOR);
        f->capacity = capacity;
    }
    f->size = MAX(f->size, size);
}

static void
change(SimFile *f, const void *from, size_t len, u64 offset)
{
    if (len == 0)
        return;
    grow(f, offset + len);
    memcpy(f->now + offset, from, len);
    memset(f->dirty + offset / IO_SIM_SECTOR, 1, (offset + len - 1) / IO_SIM_SECTOR - offset / IO_SIM_SECTOR + 1);
}

static void
make_safe(SimFile *f, u64 first_sector, u64 end_sector)
{
    for (u64 i = first_sector; i < end_sector; i++)
        if (f->dirty[i]) {
            memcpy(f->safe + i * IO_SIM_SECTOR, f->now + i * IO_SIM_SECTOR, IO_SIM_SECTOR);
            f->dirty[i] = 0;
        }
}

static void
lose_or_keep(SimFile *f, const char *path, IoSimKeep keep, void *ctx)
{
    for (u64 i = 0; i < f->capacity / IO_SIM_SECTOR; i++) {
        if (!f->dirty[i])
            continue;
        u8 *now = f->now + i * IO_SIM_SECTOR, *safe = f->safe + i * IO_SIM_SECTOR;
        if (keep && keep(ctx, path, i)) {
            memcpy(safe, now, IO_SIM_SECTOR);
            f->safe_size = MAX(f->safe_size, MIN(f->size, (i + 1) * IO_SIM_SECTOR));
        } else {
            memcpy(now, safe, IO_SIM_SECTOR);
        }
        f->dirty[i] = 0;
    }
    f->size = f->safe_size;
    f->sync_failed = false;
}

/* ---- the engine ---- */

static int
sim_open(Io *io, int dir_fd, const char *path, int flags)
{
    Sim *s = io->state;
    char full[PATH_BYTES];
    int error = injected(s), slot = 1;
    if (error)
        return -error;
    if (!full_path(s, dir_fd, path, full))
        return -ENOENT;
    while (slot < FDS_MAX && s->fds[slot].open)
        slot++;
    if (slot == FDS_MAX)
        return -EMFILE;
    SimFd *d = &s->fds[slot];
    SimName *n = find_name(&s->now, full);
    if (flags & IO_DIR) {
        if (strcmp(path, ".") == 0) {
            *d = *fd_of(s, dir_fd);
        } else {
            if (!n || n->file)
                return n ? -ENOTDIR : -ENOENT;
            *d = (SimFd){.folder = true};
            if (snprintf(d->path, PATH_BYTES, "%s/", full) >= PATH_BYTES)
                return -ENAMETOOLONG;
        }
        d->open = true;
        return IO_SIM_ROOT + slot;
    }
    if (n && flags & IO_CREATE && flags & IO_EXCL)
        return -EEXIST;
    if (n && !n->file)
        return -EISDIR;
    if (!n && !(flags & IO_CREATE))
        return -ENOENT;
    *d = (SimFd){.open = true, .file = n ? n->file : new_file(s)};
    if (!n)
        folder_op(s, OP_ADD, full, "", d->file);
    return IO_SIM_ROOT + slot;
}

static int
sim_close(Io *io, int fd)
{
    SimFd *d = fd_of(io->state, fd);
    if (!d)
        return -EBADF;
    d->open = false;
    return 0;
}

static i64
sim_read(Io *io, int fd, void *to, size_t len, u64 offset)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, fd);
    int error = injected(s);
    if (error)
        return -error;
    if (!d || !d->file)
        return -EBADF;
    if (offset >= d->file->size)
        return 0;
    len = (size_t)MIN((u64)len, d->file->size - offset);
    memcpy(to, d->file->now + offset, len);
    return (i64)len;
}

static i64
sim_write(Io *io, int fd, const void *from, size_t len, u64 offset)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, fd);
    int error = injected(s);
    if (!d || !d->file)
        return -EBADF;
    if (error) { /* some of it may be there */
        change(d->file, from, (size_t)(hash_u64(s->calls) % (len + 1)), offset);
        return -error;
    }
    change(d->file, from, len, offset);
    return (i64)len;
}

static int
sim_sync(Io *io, int fd)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, fd);
    int error = injected(s);
    if (!d)
        return -EBADF;
    if (d->folder) {
        if (!error)
            sync_folder(s);
        return -error;
    }
    s->syncs_after_failure += d->file->sync_failed;
    if (error) { /* as Linux does: the dirty marks are gone, the bytes may be lost; a later sync would answer 0 */
        d->file->sync_failed = true;
        return -error;
    }
    make_safe(d->file, 0, d->file->capacity / IO_SIM_SECTOR);
    d->file->safe_size = d->file->size;
    return 0;
}

static int
sim_rename(Io *io, int dir_fd, const char *from, const char *to)
{
    Sim *s = io->state;
    char a[PATH_BYTES], b[PATH_BYTES];
    int error = injected(s);
    if (error)
        return -error;
    if (!full_path(s, dir_fd, from, a) || !full_path(s, dir_fd, to, b) || !find_name(&s->now, a))
        return -ENOENT;
    folder_op(s, OP_RENAME, a, b, NULL);
    return 0;
}

static int
sim_unlink(Io *io, int dir_fd, const char *path)
{
    Sim *s = io->state;
    char full[PATH_BYTES];
    int error = injected(s);
    if (error)
        return -error;
    if (!full_path(s, dir_fd, path, full) || !find_name(&s->now, full))
        return -ENOENT;
    folder_op(s, OP_REMOVE, full, "", NULL);
    return 0;
}

static int
sim_mkdir(Io *io, int dir_fd, const char *path)
{
    Sim *s = io->state;
    char full[PATH_BYTES];
    int error = injected(s);
    if (error)
        return -error;
    if (!full_path(s, dir_fd, path, full))
        return -ENOENT;
    if (find_name(&s->now, full))
        return -EEXIST;
    folder_op(s, OP_ADD, full, "", NULL);
    return 0;
}

static int
sim_allocate(Io *io, int fd, u64 len)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, fd);
    int error = injected(s);
    if (error)
        return -error;
    if (!d || !d->file)
        return -EBADF;
    grow(d->file, len);
    memset(d->file->now, 0, len);
    memset(d->file->dirty, 1, len / IO_SIM_SECTOR);
    return 0;
}

static int
sim_truncate(Io *io, int fd, u64 len)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, fd);
    int error = injected(s);
    if (error)
        return -error;
    if (!d || !d->file)
        return -EBADF;
    if (len < d->file->size)
        memset(d->file->now + len, 0, d->file->size - len);
    grow(d->file, len);
    d->file->size = len;
    return 0;
}

static i64
sim_size(Io *io, int fd)
{
    SimFd *d = fd_of(io->state, fd);
    int error = injected(io->state);
    return error ? -error : d && d->file ? (i64)d->file->size : -EBADF;
}

static int
sim_list(Io *io, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx)
{
    Sim *s = io->state;
    SimFd *d = fd_of(s, dir_fd);
    int error = injected(s);
    if (error || !d || !d->folder)
        return error ? -error : -EBADF;
    size_t n = strlen(d->path);
    for (u32 i = 0; i < s->now.count; i++) {
        const char *path = s->now.list[i].path;
        if (strncmp(path, d->path, n) == 0 && path[n] && !strchr(path + n, '/') && !each(ctx, path + n))
            break;
    }
    return 0;
}

static int
sim_submit(Io *io, u32 slot)
{
    Sim *s = io->state;
    const IoRequest *r = &io->requests[slot];
    SimFd *d = fd_of(s, r->fd);
    if (!d || !d->file)
        return -EBADF;
    s->syncs_after_failure += d->file->sync_failed;
    change(d->file, r->from, r->len, r->offset); /* from now on any sector of it may reach the medium */
    s->flights[s->flight_count++] = (SimFlight){slot, d->file};
    return 0;
}

static i64
finish_flight(Io *io, const SimFlight *f)
{
    Sim *s = io->state;
    const IoRequest *r = &io->requests[f->slot];
    int error = injected(s);
    if (error) {
        f->file->sync_failed = true;
        return -error;
    }
    if (!r->durable)
        return (i64)r->len;
    make_safe(f->file, r->offset / IO_SIM_SECTOR, (r->offset + r->len) / IO_SIM_SECTOR);
    f->file->safe_size = MAX(f->file->safe_size, r->offset + r->len);
    return (i64)r->len;
}

static u32
sim_wait(Io *io, int event_fd, u64 deadline_ns, IoResult *results, u32 max, bool *ret_event)
{
    Sim *s = io->state;
    u32 n = 0, want = MIN(max, s->flight_count);
    (void)event_fd;
    (void)deadline_ns;
    (void)ret_event;
    if (s->hold || want == 0)
        return 0;
    if (s->shuffle)
        want = 1 + (u32)(next_random(&s->shuffle) % want);
    while (n < want) {
        u32 i = s->shuffle ? (u32)(next_random(&s->shuffle) % s->flight_count) : 0;
        SimFlight f = s->flights[i];
        s->flight_count--;
        memmove(s->flights + i, s->flights + i + 1, (s->flight_count - i) * sizeof f);
        results[n++] = (IoResult){f.slot, finish_flight(io, &f)};
    }
    return n;
}

static void
forget_files(Sim *s)
{
    while (s->files) {
        SimFile *f = s->files;
        s->files = f->next;
        free(f->now);
        free(f->safe);
        free(f->dirty);
        free(f);
    }
    s->now.count = s->safe.count = s->op_count = 0;
}

static void
sim_free(Io *io)
{
    Sim *s = io->state;
    forget_files(s);
    free(s->now.list);
    free(s->safe.list);
    free(s->ops);
    free(s);
}

static const IoEngine SIM_ENGINE = {
    .open = sim_open, .close = sim_close, .read = sim_read, .write = sim_write, .sync = sim_sync,
    .rename = sim_rename, .unlink = sim_unlink, .mkdir = sim_mkdir, .allocate = sim_allocate,
    .truncate = sim_truncate, .size = sim_size, .list = sim_list, .submit = sim_submit, .wait = sim_wait,
    .free = sim_free,
};

int
io_sim_init(Io *io)
{
    Sim *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->now.list = need(calloc(NAMES_MAX, sizeof *s->now.list));
    s->safe.list = need(calloc(NAMES_MAX, sizeof *s->safe.list));
    s->ops = need(calloc(OPS_MAX, sizeof *s->ops));
    s->fds[0] = (SimFd){.open = true, .folder = true};
    io->state = s;
    io->engine = &SIM_ENGINE;
    return 0;
}

/* ---- for tests ---- */

static void
drop_descriptors(Io *io)
{
    Sim *s = io->state;
    for (int i = 1; i < FDS_MAX; i++)
        s->fds[i].open = false;
    for (u32 i = 0; i < io->depth; i++)
        io->requests[i].busy = false;
    io->in_flight = io->forced_count = 0;
}

void
io_sim_power_cut(Io *io, u32 folder_ops, IoSimKeep keep, void *ctx)
{
    Sim *s = io->state;
    drop_descriptors(io);
    s->flight_count = 0;
    for (u32 i = 0; i < MIN(folder_ops, s->op_count); i++)
        apply_op(&s->safe, &s->ops[i]);
    for (u32 i = 0; i < s->safe.count; i++)
        if (s->safe.list[i].file)
            lose_or_keep(s->safe.list[i].file, s->safe.list[i].path, keep, ctx);
    memcpy(s->now.list, s->safe.list, s->safe.count * sizeof *s->now.list);
    s->now.count = s->safe.count;
    s->op_count = 0;
}

static bool
keep_by_coin(void *ctx, const char *path, u64 sector)
{
    (void)path;
    (void)sector;
    return next_random(ctx) & 1;
}

void
io_sim_power_cut_random(Io *io, u64 seed)
{
    u32 ops = (u32)(next_random(&seed) % (io_sim_folder_ops(io) + 1));
    io_sim_power_cut(io, ops, keep_by_coin, &seed);
}

u32
io_sim_folder_ops(const Io *io)
{
    const Sim *s = io->state;
    return s->op_count;
}

u32
io_sim_dirty(const Io *io, const char *path, u64 *sectors, u32 max)
{
    Sim *s = io->state;
    SimName *n = find_name(&s->now, path);
    u32 count = 0;
    for (u64 i = 0; n && n->file && i < n->file->capacity / IO_SIM_SECTOR; i++)
        if (n->file->dirty[i]) {
            if (count < max)
                sectors[count] = i;
            count++;
        }
    return count;
}

void
io_sim_kill(Io *io)
{
    Sim *s = io->state;
    u32 flights = s->flight_count;
    drop_descriptors(io);
    s->flight_count = flights;
}

/* The bytes were put into `now` at submission; landing makes them safe. The requests' slots are long forgotten, so all dirty sectors of the files
 * are taken as landed. */
void
io_sim_land(Io *io)
{
    Sim *s = io->state;
    for (u32 i = 0; i < s->flight_count; i++) {
        SimFile *f = s->flights[i].file;
        make_safe(f, 0, f->capacity / IO_SIM_SECTOR);
        f->safe_size = f->size;
    }
    s->flight_count = 0;
}

void
io_sim_hold(Io *io, bool hold)
{
    Sim *s = io->state;
    s->hold = hold;
}

void
io_sim_shuffle(Io *io, u64 seed)
{
    Sim *s = io->state;
    s->shuffle = seed;
}

u64
io_sim_fail(Io *io, u64 nth, int error, bool sticky)
{
    Sim *s = io->state;
    u64 calls = s->calls;
    s->calls = 0;
    s->fail_at = nth;
    s->fail_error = error;
    s->fail_sticky = sticky;
    return calls;
}

u64
io_sim_syncs_after_failure(const Io *io)
{
    const Sim *s = io->state;
    return s->syncs_after_failure;
}

u8 *
io_sim_file(Io *io, const char *path, u64 *ret_size)
{
    Sim *s = io->state;
    SimName *n = find_name(&s->now, path);
    if (!n || !n->file)
        return NULL;
    *ret_size = n->file->size;
    return n->file->now;
}

void
io_sim_put(Io *io, const char *path, const void *data, u64 len)
{
    Sim *s = io->state;
    SimName *n = find_name(&s->now, path);
    SimFile *f = n && n->file ? n->file : new_file(s);
    if (f->size > len) {
        memset(f->now + len, 0, f->size - len);
        memset(f->dirty, 1, f->capacity / IO_SIM_SECTOR);
    }
    change(f, data, len, 0);
    f->size = len;
    make_safe(f, 0, f->capacity / IO_SIM_SECTOR);
    f->safe_size = f->size;
    add_name(&s->now, path, f);
    add_name(&s->safe, path, f);
}

void
io_sim_clear(Io *io)
{
    Sim *s = io->state;
    drop_descriptors(io);
    s->flight_count = 0;
    forget_files(s);
}
