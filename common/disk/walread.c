/*
 * walread.c
 *    Reading the redo log: which segments belong to it, every frame of every valid group in order, and the verdict on its end.
 *
 * The segment with the highest counter is the head of the log; each names its predecessor by epoch and through which LSN that one counts. What is
 * not on this chain (a segment that came back after it was removed, one that a writer gave up) is not read. Names only help to find
 * files: the heads decide, and must agree with the names.
 *
 * Refused with XX001: a damaged head, a missing segment between `from` and the head, damage below what is proven durable, damage that is
 * no unfinished write, a log that ends below the watermark or below `from`. Nothing is ever written here.
 */
#include "common/disk/walformat.h"

#include "common/base/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Segment {
    char name[WAL_NAME_BYTES];
    u32 counter;
    WalSegmentHead head;
} Segment;

typedef struct Reader {
    Io *io;
    int dir_fd;
    Segment *list;   /* all files with a segment's name */
    u32 count, capacity;
    bool no_memory;
    u32 *chain;      /* indexes into list, oldest first */
    u32 chain_count;
    Lsn from, mark;
    WalWalk walk;
    WalFrameEach each;
    void *ctx;
    WalVerdict verdict;
    Error *err;
} Reader;

static bool
io_failed(const Reader *r, const char *name, int rc)
{
    return error_set(r->err, rc == -ENOMEM ? ERR_OUT_OF_MEMORY : ERR_IO_ERROR, "could not read redo log file \"%s\": %s", name,
                     strerror(-rc));
}

static bool
damaged(const Reader *r, const char *name, u64 offset, Lsn lsn, const char *reason)
{
    error_set(r->err, ERR_DATA_CORRUPTED, "redo log is damaged: file \"%s\", offset %llu, LSN %llu: %s", name,
              (unsigned long long)offset, (unsigned long long)lsn, reason);
    error_hint(r->err, "Restore the file from a copy, or the database from a backup. Nothing was changed.");
    return false;
}

/* ---- the chain: files that vanish meanwhile were retired (walretire.c); if one is needed, the chain says that it is missing ---- */

static bool
note_name(void *ctx, const char *name)
{
    Reader *r = ctx;
    Lsn start;
    u32 counter;
    if (!wal_segment_name_read(name, &start, &counter))
        return true;
    if (r->count == r->capacity) {
        u32 capacity = MAX(16u, r->capacity * 2);
        Segment *more = realloc(r->list, capacity * sizeof *more);
        if (!more) {
            r->no_memory = true;
            return false;
        }
        r->list = more;
        r->capacity = capacity;
    }
    Segment *s = &r->list[r->count++];
    memset(s, 0, sizeof *s);
    memcpy(s->name, name, strlen(name) + 1);
    s->counter = counter;
    return true;
}

static bool
read_head(Reader *r, Segment *s, bool *ret_gone)
{
    u8 page[WAL_PAGE] = {0};
    Lsn start;
    u32 counter;
    int fd = io_open(r->io, IO_WAL_OPEN, r->dir_fd, s->name, IO_READ);
    *ret_gone = fd == -ENOENT;
    if (fd < 0)
        return *ret_gone || io_failed(r, s->name, fd);
    i64 n = io_read(r->io, IO_WAL_READ, fd, page, sizeof page, 0);
    (void)io_close(r->io, fd);
    if (n < 0)
        return io_failed(r, s->name, (int)n);
    wal_segment_name_read(s->name, &start, &counter);
    const char *reason = wal_segment_head_read(page, &s->head);
    if (!reason && (s->head.start_lsn != start || s->head.epoch >> 32 != counter))
        reason = "the file's name and the segment's head differ";
    return reason ? damaged(r, s->name, 0, start, reason) : true;
}

static bool
find_segments(Reader *r)
{
    int rc = io_list(r->io, IO_WAL_LIST, r->dir_fd, note_name, r);
    if (rc < 0 || r->no_memory)
        return io_failed(r, ".", r->no_memory ? -ENOMEM : rc);
    u32 kept = 0;
    for (u32 i = 0; i < r->count; i++) {
        bool gone;
        r->list[kept] = r->list[i];
        if (!read_head(r, &r->list[kept], &gone))
            return false;
        kept += !gone;
    }
    r->count = kept;
    return true;
}

static const Segment *
find_epoch(const Reader *r, u64 epoch, u32 *ret_index)
{
    for (u32 i = 0; i < r->count; i++)
        if (r->list[i].head.epoch == epoch) {
            *ret_index = i;
            return &r->list[i];
        }
    return NULL;
}

/* From the head back to the segment in which `from` lies. */
static bool
follow_chain(Reader *r)
{
    u32 at = 0;
    for (u32 i = 1; i < r->count; i++)
        if (r->list[i].counter > r->list[at].counter)
            at = i;
    r->chain = calloc(r->count, sizeof *r->chain);
    if (!r->chain)
        return io_failed(r, ".", -ENOMEM);
    for (;;) {
        const Segment *s = &r->list[at], *before;
        r->chain[r->chain_count++] = at;
        if (s->head.prev_epoch == 0 || (r->from != WAL_FROM_OLDEST && s->head.start_lsn <= r->from))
            break;
        before = find_epoch(r, s->head.prev_epoch, &at);
        if (!before && r->from == WAL_FROM_OLDEST)
            break;
        if (!before)
            return damaged(r, s->name, 0, s->head.prev_valid_through, "the segment before this one is missing");
        if (before->counter >= s->counter || before->head.start_lsn > s->head.prev_valid_through)
            return damaged(r, s->name, 0, s->head.start_lsn, "the segment names a predecessor that cannot be one");
    }
    for (u32 i = 0; i < r->chain_count / 2; i++) {
        u32 swap = r->chain[i];
        r->chain[i] = r->chain[r->chain_count - 1 - i];
        r->chain[r->chain_count - 1 - i] = swap;
    }
    return true;
}

/* ---- groups ---- */

static bool
hand_out_frames(Reader *r)
{
    const WalWalk *w = &r->walk;
    for (u32 at = 0; at < w->group.payload_bytes;) {
        Lsn lsn = w->group.lsn + WAL_GROUP_HEAD_BYTES + at;
        u32 len = get_le32(w->payload + at);
        if (r->from == WAL_FROM_OLDEST || lsn >= r->from) {
            r->verdict.frames++;
            if (!r->each(r->ctx, lsn, w->payload + at + WAL_FRAME_HEAD_BYTES, len, r->err))
                return false;
        }
        at += WAL_FRAME_HEAD_BYTES + ALIGN_UP(len, 8u);
    }
    return true;
}

/* The first place without a valid group. limit: of a segment that has a successor, the LSN through which it counts; 0 for the head. */
static bool
judge_end(Reader *r, const Segment *s, Lsn limit)
{
    WalWalk *w = &r->walk;
    char why[200];
    if (limit && wal_walk_lsn(w) == limit)
        return true;
    switch (wal_walk_judge(w, limit ? limit : r->mark, &r->verdict.dropped_bytes, why, sizeof why)) {
    case WAL_TAIL_CLEAN:
        return true;
    case WAL_TAIL_TORN:
        r->verdict.torn = true;
        return true;
    case WAL_TAIL_ROT:
        return damaged(r, s->name, w->offset, wal_walk_lsn(w), why);
    case WAL_TAIL_IO_ERROR:
        break;
    }
    return io_failed(r, s->name, w->source.error);
}

static bool
read_groups(Reader *r, const Segment *s, Lsn limit)
{
    WalWalk *w = &r->walk;
    while (!limit || wal_walk_lsn(w) < limit) {
        u64 offset = w->offset;
        Lsn lsn = wal_walk_lsn(w);
        if (!wal_walk_next(w)) {
            if (w->source.error)
                return io_failed(r, s->name, w->source.error);
            break;
        }
        if (limit && wal_walk_lsn(w) > limit)
            return damaged(r, s->name, offset, lsn, "the group reaches beyond what its successor says");
        r->verdict.groups++;
        if (!hand_out_frames(r))
            return false;
    }
    r->verdict.valid_through = wal_walk_lsn(w);
    return judge_end(r, s, limit);
}

static bool
read_segment(Reader *r, const Segment *s, Lsn limit)
{
    WalWalk *w = &r->walk;
    u8 *window = w->source.window, *payload = w->payload;
    int fd = io_open(r->io, IO_WAL_OPEN, r->dir_fd, s->name, IO_READ);
    if (fd < 0)
        return io_failed(r, s->name, fd);
    *w = (WalWalk){.source = {.io = r->io, .fd = fd, .size = s->head.segment_bytes, .window = window},
                   .segment = s->head, .offset = WAL_PAGE, .sequence = 1, .payload = payload};
    r->verdict.last_epoch = s->head.epoch;
    r->verdict.segments++;
    bool ok = read_groups(r, s, limit);
    (void)io_close(r->io, fd);
    return ok;
}

static bool
read_chain(Reader *r)
{
    r->walk.source.window = malloc(WAL_GROUP_FILE_BYTES_MAX);
    r->walk.payload = malloc(WAL_GROUP_MAX_BYTES);
    if (!r->walk.source.window || !r->walk.payload)
        return io_failed(r, ".", -ENOMEM);
    for (u32 i = 0; i < r->chain_count; i++) {
        const Segment *s = &r->list[r->chain[i]], *next = i + 1 < r->chain_count ? &r->list[r->chain[i + 1]] : NULL;
        if (!read_segment(r, s, next ? next->head.prev_valid_through : 0))
            return false;
    }
    return true;
}

static bool
read_all(Reader *r)
{
    u64 sequence;
    int error;
    wal_mark_read(r->io, r->dir_fd, &r->mark, &sequence, &error);
    if (error < 0)
        return io_failed(r, WAL_WATERMARK_NAME, error);
    if (!find_segments(r))
        return false;
    if (r->count == 0) {
        if (r->mark > WAL_FIRST_LSN || (r->from > WAL_FIRST_LSN && r->from != WAL_FROM_OLDEST))
            return damaged(r, ".", 0, MAX(r->mark, r->from == WAL_FROM_OLDEST ? 0 : r->from), "the redo log is missing");
        return true;
    }
    if (!follow_chain(r) || !read_chain(r))
        return false;
    /* A head that starts behind a gap of LSNs is past the watermark by itself; judge_end has compared the rest. */
    const Segment *head = &r->list[r->chain[r->chain_count - 1]];
    if (r->from != WAL_FROM_OLDEST && r->from > r->verdict.valid_through)
        return damaged(r, head->name, r->walk.offset, r->verdict.valid_through, "the log ends before the snapshot it belongs to");
    return true;
}

bool
wal_read(Io *io, int dir_fd, Lsn from, WalFrameEach each, void *ctx, WalVerdict *ret, Error *err)
{
    Reader r = {.io = io, .dir_fd = dir_fd, .from = from, .each = each, .ctx = ctx, .err = err};
    bool ok = read_all(&r);
    if (ok) {
        WalVerdict *v = &r.verdict;
        int n = snprintf(v->text, sizeof v->text, "%llu frames in %llu groups of %llu segments, valid through LSN %llu, ",
                         (unsigned long long)v->frames, (unsigned long long)v->groups, (unsigned long long)v->segments,
                         (unsigned long long)v->valid_through);
        if (v->torn)
            snprintf(v->text + n, sizeof v->text - (size_t)n, "an unfinished tail of %llu bytes was dropped",
                     (unsigned long long)v->dropped_bytes);
        else
            snprintf(v->text + n, sizeof v->text - (size_t)n, "no unfinished tail");
        *ret = *v;
    }
    free(r.walk.source.window);
    free(r.walk.payload);
    free(r.chain);
    free(r.list);
    return ok;
}
