/*
 * walcarry.c
 *    What a new writer takes along from its predecessor's segment: the last groups, which nothing proves durable.
 *
 * After a process died they may stand in the page cache or in the device's write cache only, and after a failed sync the page cache shows what the disk
 * never got (reliability notes, finding 1). Syncing again would prove nothing. So they are written again, with their LSNs, into the new segment, which
 * gets its name only when they are durable in it; it says that its predecessor is valid through the last LSN that is proven.
 * At most the groups that were in flight together are concerned.
 */
#include "common/disk/walformat.h"

#include <errno.h>
#include <stdlib.h>

typedef struct Search {
    u32 counter;
    bool found;
    char name[WAL_NAME_BYTES];
} Search;

static bool
match_name(void *ctx, const char *name)
{
    Search *s = ctx;
    Lsn start;
    u32 counter;
    if (!wal_segment_name_read(name, &start, &counter) || counter != s->counter)
        return true;
    memcpy(s->name, name, strlen(name) + 1);
    s->found = true;
    return false;
}

void
wal_carry_free(WalCarry *c)
{
    for (u32 i = 0; i < c->count; i++)
        free(c->groups[i].image);
    *c = (WalCarry){0};
}

/* Groups that end at or below the proven LSN need not be kept. */
static void
forget_proven(WalCarry *c)
{
    u32 kept = 0;
    for (u32 i = 0; i < c->count; i++)
        if (c->groups[i].head.lsn >= c->proven)
            c->groups[kept++] = c->groups[i];
        else
            free(c->groups[i].image);
    c->count = kept;
}

static int
keep_group(WalWalk *w, WalCarry *c)
{
    u8 *image = NULL;
    const WalGroupHead *head = &w->group;
    c->proven = MAX(c->proven, head->durable_through);
    forget_proven(c);
    if (c->count == WAL_CARRY_MAX)
        return -E2BIG;
    if (posix_memalign((void **)&image, WAL_PAGE, head->file_bytes) != 0)
        return -ENOMEM;
    const u8 *bytes = wal_source_bytes(&w->source, w->offset - head->file_bytes, head->file_bytes);
    if (!bytes) {
        free(image);
        return w->source.error;
    }
    memcpy(image, bytes, head->file_bytes);
    c->groups[c->count++] = (WalCarried){image, *head};
    return 0;
}

static int
walk_segment(WalWalk *w, Lsn valid_through, WalCarry *c)
{
    while (wal_walk_lsn(w) < valid_through) {
        if (!wal_walk_next(w))
            return w->source.error ? w->source.error : -EIO;
        int rc = keep_group(w, c);
        if (rc < 0)
            return rc;
    }
    return wal_walk_lsn(w) == valid_through ? 0 : -EIO;
}

int
wal_carry_read(Io *io, int dir_fd, u64 epoch, Lsn valid_through, WalCarry *ret)
{
    Search search = {.counter = (u32)(epoch >> 32)};
    u8 page[WAL_PAGE] = {0};
    WalWalk w = {.offset = WAL_PAGE, .sequence = 1, .payload = malloc(WAL_GROUP_MAX_BYTES)};
    w.source = (WalSource){.io = io, .fd = -1, .window = malloc(WAL_GROUP_FILE_BYTES_MAX)};
    *ret = (WalCarry){0};
    int rc = w.payload && w.source.window ? io_list(io, IO_WAL_LIST, dir_fd, match_name, &search) : -ENOMEM;
    if (rc == 0 && !search.found)
        rc = -ENOENT;
    if (rc == 0)
        rc = w.source.fd = io_open(io, IO_WAL_OPEN, dir_fd, search.name, IO_READ);
    if (rc >= 0) {
        i64 n = io_read(io, IO_WAL_READ, w.source.fd, page, sizeof page, 0);
        rc = n < 0 ? (int)n : wal_segment_head_read(page, &w.segment) || w.segment.epoch != epoch ? -EIO : 0;
    }
    if (rc == 0) {
        u64 sequence;
        int error;
        w.source.size = w.segment.segment_bytes;
        wal_mark_read(io, dir_fd, &ret->proven, &sequence, &error);
        ret->proven = MAX(ret->proven, w.segment.start_lsn);
        rc = walk_segment(&w, valid_through, ret);
    }
    if (w.source.fd >= 0)
        (void)io_close(io, w.source.fd);
    free(w.payload);
    free(w.source.window);
    if (rc == 0) {
        ret->proven = MIN(ret->proven, valid_through);
        forget_proven(ret);
        for (u32 i = 0; i < ret->count; i++) {
            ret->frames += ret->groups[i].head.frame_count;
            ret->bytes += ret->groups[i].head.file_bytes;
        }
    } else {
        wal_carry_free(ret);
    }
    return rc;
}
