/*
 * io_plain.c
 *    Plain system calls: the synchronous half of both real engines, and the asynchronous half where there is no io_uring.
 *
 * Asynchronous writes go to one helper thread, made at the first one. It takes every write that waits for the same file, writes them in
 * order and syncs once; a failed sync fails all of them and is not repeated. It tells by an eventfd. All signals are blocked in it.
 */
#include "common/io/io_engine.h"

#include "common/base/env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { ZERO_CHUNK_BYTES = 1 << 20, FUSE_MAGIC = 0x65735546 };

typedef struct Plain {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t work;
    u32 queue[IO_DEPTH_MAX], queue_count;      /* slots, oldest first */
    IoResult finished[IO_DEPTH_MAX];
    u32 finished_count;
    bool stop;
    bool started; /* the owner's */
    int done_fd;
} Plain;

/* ---- synchronous calls ---- */

int
plain_open(Io *io, int dir_fd, const char *path, int flags)
{
    (void)io;
    int f = O_CLOEXEC | O_NOFOLLOW;
    f |= flags & IO_WRITE ? flags & IO_READ ? O_RDWR : O_WRONLY : O_RDONLY;
    f |= (flags & IO_CREATE ? O_CREAT : 0) | (flags & IO_EXCL ? O_EXCL : 0);
    f |= (flags & IO_DIRECT ? O_DIRECT : 0) | (flags & IO_DIR ? O_DIRECTORY : 0);
    int fd;
    do
        fd = openat(dir_fd, path, f, 0600);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return -errno;
    struct statfs fs;
    if (flags & IO_DIRECT && fstatfs(fd, &fs) == 0 && fs.f_type == FUSE_MAGIC) {
        close(fd);
        return -EINVAL;
    }
    return fd;
}

int
plain_close(Io *io, int fd)
{
    (void)io;
    return close(fd) < 0 && errno != EINTR ? -errno : 0;
}

i64
plain_read(Io *io, int fd, void *to, size_t len, u64 offset)
{
    (void)io;
    size_t have = 0;
    while (have < len) {
        ssize_t n = pread(fd, (u8 *)to + have, len - have, (off_t)(offset + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (i64)have;
}

i64
plain_write(Io *io, int fd, const void *from, size_t len, u64 offset)
{
    (void)io;
    size_t done = 0;
    while (done < len) {
        ssize_t n = pwrite(fd, (const u8 *)from + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return (i64)len;
}

/* A folder is synced whole; of a file the data and what is needed to find it again. EINTR too is a failure: who knows what was done. */
int
plain_sync(Io *io, int fd)
{
    (void)io;
    struct stat st;
    bool folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
    return (folder ? fsync(fd) : fdatasync(fd)) < 0 ? -errno : 0;
}

int
plain_rename(Io *io, int dir_fd, const char *from, const char *to)
{
    (void)io;
    return renameat(dir_fd, from, dir_fd, to) < 0 ? -errno : 0;
}

int
plain_unlink(Io *io, int dir_fd, const char *path)
{
    (void)io;
    return unlinkat(dir_fd, path, 0) < 0 ? -errno : 0;
}

int
plain_mkdir(Io *io, int dir_fd, const char *path)
{
    (void)io;
    return mkdirat(dir_fd, path, 0700) < 0 ? -errno : 0;
}

/* Reserve first, so that a full disk is known before anything is written; then write zeros, since a write into a reserved but unwritten
 * extent costs a journal commit. */
int
plain_allocate(Io *io, int fd, u64 len)
{
    int rc;
    do
        rc = fallocate(fd, 0, 0, (off_t)len) < 0 ? -errno : 0;
    while (rc == -EINTR);
    if (rc < 0 && rc != -EOPNOTSUPP && rc != -ENOSYS)
        return rc;
    void *zeros = mmap(NULL, ZERO_CHUNK_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zeros == MAP_FAILED)
        return -ENOMEM;
    i64 n = 0;
    for (u64 at = 0; at < len && n >= 0; at += ZERO_CHUNK_BYTES)
        n = plain_write(io, fd, zeros, (size_t)MIN((u64)ZERO_CHUNK_BYTES, len - at), at);
    munmap(zeros, ZERO_CHUNK_BYTES);
    return n < 0 ? (int)n : 0;
}

int
plain_truncate(Io *io, int fd, u64 len)
{
    (void)io;
    int rc;
    do
        rc = ftruncate(fd, (off_t)len);
    while (rc < 0 && errno == EINTR);
    return rc < 0 ? -errno : 0;
}

i64
plain_size(Io *io, int fd)
{
    (void)io;
    struct stat st;
    return fstat(fd, &st) < 0 ? -errno : (i64)st.st_size;
}

int
plain_list(Io *io, int dir_fd, bool (*each)(void *ctx, const char *name), void *ctx)
{
    (void)io;
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        int rc = -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    struct dirent *e;
    bool more = true;
    errno = 0;
    while (more && (e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            more = each(ctx, e->d_name);
        errno = 0;
    }
    int rc = more ? -errno : 0;
    closedir(dir);
    return rc;
}

void
plain_drain_event(int event_fd)
{
    u64 value;
    while (read(event_fd, &value, sizeof value) < 0 && errno == EINTR)
        ;
}

/* ---- the helper thread ---- */

/* Write the slots of one file in order, sync once when any of them is to be durable, fill results. */
static void
write_and_sync(Io *io, const u32 *slots, u32 n, IoResult *results)
{
    bool durable = false;
    for (u32 i = 0; i < n; i++) {
        const IoRequest *r = &io->requests[slots[i]];
        durable |= r->durable;
        i64 done = plain_write(io, r->fd, r->from, r->first_len, r->offset);
        if (done >= 0 && r->first_len < r->len)
            done = plain_write(io, r->fd, r->from + r->first_len, r->len - r->first_len, r->offset + r->first_len);
        results[i] = (IoResult){slots[i], done < 0 ? done : (i64)r->len};
    }
    int rc = durable ? plain_sync(io, io->requests[slots[0]].fd) : 0;
    for (u32 i = 0; i < n && rc < 0; i++)
        if (results[i].result >= 0)
            results[i].result = rc;
}

static void *
helper_main(void *arg)
{
    Io *io = arg;
    Plain *p = io->state;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (p->queue_count == 0 && !p->stop)
            pthread_cond_wait(&p->work, &p->mutex);
        if (p->queue_count == 0)
            break;
        u32 slots[IO_DEPTH_MAX], n = 0;
        while (n < p->queue_count && io->requests[p->queue[n]].fd == io->requests[p->queue[0]].fd) {
            slots[n] = p->queue[n];
            n++;
        }
        p->queue_count -= n;
        memmove(p->queue, p->queue + n, p->queue_count * sizeof p->queue[0]);
        pthread_mutex_unlock(&p->mutex);
        IoResult results[IO_DEPTH_MAX];
        write_and_sync(io, slots, n, results);
        pthread_mutex_lock(&p->mutex);
        memcpy(p->finished + p->finished_count, results, n * sizeof results[0]);
        p->finished_count += n;
        u64 one = 1;
        ssize_t rung = write(p->done_fd, &one, sizeof one);
        ensure(rung == (ssize_t)sizeof one);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static int
start_helper(Io *io)
{
    Plain *p = io->state;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&p->thread, NULL, helper_main, io);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    p->started = rc == 0;
    return -rc;
}

static int
plain_submit(Io *io, u32 slot)
{
    Plain *p = io->state;
    if (!p->started) {
        int rc = start_helper(io);
        if (rc < 0)
            return rc;
    }
    pthread_mutex_lock(&p->mutex);
    p->queue[p->queue_count++] = slot;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->mutex);
    return 0;
}

static u32
take_finished(Plain *p, IoResult *results, u32 max)
{
    pthread_mutex_lock(&p->mutex);
    u32 n = MIN(max, p->finished_count);
    memcpy(results, p->finished, n * sizeof results[0]);
    p->finished_count -= n;
    memmove(p->finished, p->finished + n, p->finished_count * sizeof results[0]);
    pthread_mutex_unlock(&p->mutex);
    return n;
}

static u32
plain_wait(Io *io, int event_fd, u64 deadline_ns, IoResult *results, u32 max, bool *ret_event)
{
    Plain *p = io->state;
    for (;;) {
        u32 n = take_finished(p, results, max);
        u64 now = env->monotonic_ns(), left = deadline_ns > now && n == 0 ? deadline_ns - now : 0;
        struct timespec t = {(time_t)MIN(left / 1000000000u, 1000000u), (long)(left % 1000000000u)};
        struct pollfd fds[2] = {{.fd = p->done_fd, .events = POLLIN}, {.fd = event_fd, .events = POLLIN}};
        int ready = ppoll(fds, event_fd < 0 ? 1 : 2, &t, NULL);
        if (ready > 0 && fds[1].revents & POLLIN) {
            plain_drain_event(event_fd);
            *ret_event = true;
        }
        if (ready > 0 && fds[0].revents & POLLIN) {
            plain_drain_event(p->done_fd);
            n += take_finished(p, results + n, max - n);
        }
        if (n || *ret_event || ready < 0 || left == 0)
            return n;
    }
}

static void
plain_free(Io *io)
{
    Plain *p = io->state;
    if (p->started) {
        pthread_mutex_lock(&p->mutex);
        p->stop = true;
        pthread_cond_signal(&p->work);
        pthread_mutex_unlock(&p->mutex);
        pthread_join(p->thread, NULL);
    }
    close(p->done_fd);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

static const IoEngine PLAIN_ENGINE = {
    .open = plain_open, .close = plain_close, .read = plain_read, .write = plain_write, .sync = plain_sync,
    .rename = plain_rename, .unlink = plain_unlink, .mkdir = plain_mkdir, .allocate = plain_allocate,
    .truncate = plain_truncate, .size = plain_size, .list = plain_list, .submit = plain_submit, .wait = plain_wait,
    .free = plain_free,
};

int
io_plain_init(Io *io)
{
    Plain *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->done_fd < 0) {
        free(p);
        return -errno;
    }
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->work, NULL);
    io->state = p;
    io->engine = &PLAIN_ENGINE;
    return 0;
}
