/*
 * shm.c
 *    Make the shared areas, and give each role just the rights on them that it needs.
 *
 * Why remapping and not mprotect: a mapping made through a descriptor that is open read-only can never become writable, while one that was
 * made read-write and then protected can be unprotected again. The read-only descriptors are made before the first fork, so that a role
 * needs neither /proc nor rights to get them.
 */
#include "common/shm/shm.h"

#include "common/shm/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AREA_WORLD, AREA_BOXES, AREA_CONTROL, AREA_WRITER, AREA_SECRETS, AREA_COUNT };
static const char *const AREA_NAMES[AREA_COUNT] = {"ggs3db-world", "ggs3db-boxes", "ggs3db-control", "ggs3db-writer", "ggs3db-secrets"};
#define EXTENT_BYTES (2ull << 20)
/* Addresses beyond the budget, a quarter more and this: for replay, which packs memory otherwise than the life before, and for what must not fail. */
#define WORLD_MARGIN_BYTES (64ull << 20)
#define CONTROL_MAGIC 0x6767733364624354ull

/* Where area i keeps its descriptor and its address. */
static int *
area_fd(Shm *s, int area)
{
    int *fds[AREA_COUNT] = {&s->world_fd, &s->boxes_fd, &s->control_fd, &s->writer_fd, &s->secrets_fd};
    return fds[area];
}

static void *
area_address(const Shm *s, int area)
{
    void *at[AREA_COUNT] = {s->world, s->boxes, s->control, s->writer, s->secrets};
    return at[area];
}

u64
shm_area_bytes(const Shm *s, int area)
{
    switch (area) {
    case AREA_WORLD: return s->world_reserved_bytes;
    case AREA_BOXES: return (u64)(s->slot_count + 1) * BOX_STRIDE;
    case AREA_CONTROL: return ALIGN_UP(sizeof(ControlShm), (size_t)4096);
    case AREA_WRITER: return ALIGN_UP(sizeof(WriterShm), (size_t)4096);
    default: return ALIGN_UP(sizeof(SecretShm) * SECRET_ROWS, (size_t)4096);
    }
}

/* Map at an address that is a multiple of align, by reserving more and giving the ends back. */
static void *
map_aligned(int fd, u64 bytes, u64 align)
{
    u8 *p = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return MAP_FAILED;
    u8 *at = (u8 *)ALIGN_UP((uintptr_t)p, (uintptr_t)align);
    if (at > p)
        munmap(p, (size_t)(at - p));
    munmap(at + bytes, (size_t)(p + align - at));
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
}

static int
make_area(Shm *s, int area, void **ret)
{
    char path[64];
    u64 bytes = shm_area_bytes(s, area);
    int fd = memfd_create(AREA_NAMES[area], MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    *area_fd(s, area) = fd;
    if (fchmod(fd, 0600) != 0 || ftruncate(fd, (off_t)bytes) != 0)
        return -errno;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    s->read_fds[area] = open(path, O_RDONLY | O_CLOEXEC);
    if (s->read_fds[area] < 0)
        return -errno;
    void *p = map_aligned(fd, bytes, area == AREA_WORLD ? EXTENT_BYTES : 4096);
    if (p == MAP_FAILED)
        return -errno;
    /* A crash must not write the database, or a verifier, to disk. */
    madvise(p, bytes, MADV_DONTDUMP);
    *ret = p;
    return 0;
}

int
shm_create(Shm *s, u32 slot_count, u64 memory_bytes)
{
    void *at[AREA_COUNT];
    memset(s, 0, sizeof *s);
    s->world_fd = s->boxes_fd = s->control_fd = s->writer_fd = s->secrets_fd = -1;
    ensure(slot_count > 0 && slot_count < MAX_SLOTS);
    s->slot_count = slot_count;
    u64 budget = ALIGN_UP(MAX(memory_bytes, 16 * EXTENT_BYTES), EXTENT_BYTES);
    s->world_reserved_bytes = ALIGN_UP(budget + budget / 4, EXTENT_BYTES) + WORLD_MARGIN_BYTES;
    for (int area = 0; area < AREA_COUNT; area++) {
        int failed = make_area(s, area, &at[area]);
        if (failed)
            return failed;
    }
    s->world = at[AREA_WORLD];
    s->boxes = at[AREA_BOXES];
    s->control = at[AREA_CONTROL];
    s->writer = at[AREA_WRITER];
    s->secrets = at[AREA_SECRETS];
    s->writer_event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->postmaster_event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->checkpointer_event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->writer_event_fd < 0 || s->postmaster_event_fd < 0 || s->checkpointer_event_fd < 0)
        return -errno;
    s->control->magic = CONTROL_MAGIC;
    s->control->slot_count = slot_count;
    s->writer->world_budget_bytes = budget;
    return 0;
}

static int
make_read_only(const Shm *s, int area)
{
    void *at = area_address(s, area);
    u64 bytes = shm_area_bytes(s, area);
    if (mmap(at, bytes, PROT_READ, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, s->read_fds[area], 0) != at)
        return -errno;
    madvise(at, bytes, MADV_DONTDUMP);
    return 0;
}

int
shm_attach(Shm *s, ShmRole role, u32 slot)
{
    bool writer = role == SHM_WALWRITER;
    ensure(s->control->magic == CONTROL_MAGIC);
    ensure(writer || slot <= s->slot_count);
    for (int area = 0; area < AREA_COUNT; area++) {
        if (writer && area != AREA_CONTROL)
            continue;
        int failed = make_read_only(s, area);
        if (failed)
            return failed;
    }
    if (!writer) {
        u8 *own = s->boxes + (u64)slot * BOX_STRIDE;
        if (mmap(own, BOX_STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->boxes_fd, (off_t)slot * BOX_STRIDE) != own)
            return -errno;
        madvise(own, BOX_STRIDE, MADV_DONTDUMP);
    }
    for (int area = 0; area < AREA_COUNT; area++) {
        bool keep = writer && area == AREA_WORLD; /* for giving memory back by punching holes */
        close(s->read_fds[area]);
        s->read_fds[area] = -1;
        if (!keep) {
            close(*area_fd(s, area));
            *area_fd(s, area) = -1;
        }
    }
    return 0;
}

void
shm_forget_secrets(Shm *s)
{
    if (s->secrets)
        munmap(s->secrets, shm_area_bytes(s, AREA_SECRETS));
    s->secrets = NULL;
}

void
shm_ring_writer(const Shm *s)
{
    u64 one = 1;
    full_fence(); /* the request is published before the look at the sleeper's flag */
    if (observe_u64(&s->writer->pub_asleep) && write(s->writer_event_fd, &one, sizeof one) < 0) {
        /* EAGAIN: the count is full, so the writer is being woken anyway. */
    }
}
