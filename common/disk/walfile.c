/*
 * walfile.c
 *    Files of the redo log: segments, their heads and names, and the watermark. The whole format stands here.
 *
 * All numbers are little-endian. A page is 4,096 bytes, a sector 512. An LSN is a position in the endless log of groups: LSN and offset grow
 * together inside a segment, the next segment goes on where the last valid group ended (or, after writes had stopped, further on: LSNs that
 * were given to groups which never became durable are not used again). The first LSN of all is 4,096.
 *
 * Segment, file "<start LSN, 16 hex digits>.<counter, 8 hex digits>", written once, never recycled:
 *   0     u64 magic "!GGSWAL1"       8  u32 version (1)         12 u32 bytes of the segment
 *   16    u64 epoch: a counter in the upper half, chance in the lower; every segment has its own
 *   24    u64 start LSN: of the byte at offset 4096
 *   32    u64 epoch of the segment before, 0 for the first      40 u64 through which LSN that one is valid
 *   48    u32 CRC32C of this page with these four bytes zero    52 … 4095 zeros
 *   4096  groups, one behind the other; behind them zeros, as the file was made
 *
 * Group, one write, a multiple of 4,096 bytes, n sectors:
 *   0     u64 magic "!GGSGRP1"       8  u64 epoch of the segment
 *   16    u64 sequence, from 1 in each segment                  24 u64 LSN of this group
 *   32    u64 durable-through LSN at the time of writing: everything below was durable
 *   40    u32 bytes in the file      44 u32 bytes of payload (a multiple of 8)
 *   48    u32 frames                 52 u32 CRC32C of the payload
 *   56    u32 flags (1: a seal, without frames)                 60 u32 CRC32C of the first sector with these four bytes zero
 *   64    the stream: u16 x n sums of the sectors (CRC32C, upper half xor lower, its lowest bit turned over if that is the sum of zeros and the sector is not
 *         zero; that of sector 0 is 0), the payload, the end mark "GGGSPEND", zeros to the end
 *   Each further page begins with a stamp: u32 lower half of the epoch, u32 number of the page in its segment; the stream goes on behind it.
 *
 * Payload: frames, each u32 length, u32 0, bytes, zeros to a multiple of 8. The LSN of a frame is the group's + 64 + its offset in the payload.
 *
 * File "watermark": two pages, written in turn, at most once a second:
 *   0     u64 magic "!GGSMRK1"       8  u64 durable-through LSN   16 u64 sequence (slot = its lowest bit)   24 u32 CRC32C of bytes 0 … 23   zeros
 *
 * A segment is made under a temporary name, zero-written and synced; when it is taken, its head, and groups that are written again because a write
 * failed or a writer died, are written and synced, then it gets its name, then the folder is synced. So a file with a segment's name has a durable
 * head: a bad one is damage.
 */
#include "common/disk/walformat.h"

#include "common/base/bytes.h"
#include "common/base/crc32c.h"
#include "common/base/env.h"
#include "common/base/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- heads and names ---- */

static u32
page_crc(const u8 *page, u32 at)
{
    static const u8 zeros[4];
    return crc32c(crc32c(crc32c(0, page, at), zeros, 4), page + at + 4, WAL_PAGE - at - 4);
}

void
wal_segment_head_write(u8 *page, const WalSegmentHead *head)
{
    memset(page, 0, WAL_PAGE);
    put_le64(page, WAL_SEGMENT_MAGIC);
    put_le32(page + 8, WAL_VERSION);
    put_le32(page + 12, head->segment_bytes);
    put_le64(page + 16, head->epoch);
    put_le64(page + 24, head->start_lsn);
    put_le64(page + 32, head->prev_epoch);
    put_le64(page + 40, head->prev_valid_through);
    put_le32(page + 48, page_crc(page, 48));
}

const char *
wal_segment_head_read(const u8 *page, WalSegmentHead *ret)
{
    if (get_le64(page) != WAL_SEGMENT_MAGIC)
        return "this is no segment of the redo log";
    if (page_crc(page, 48) != get_le32(page + 48))
        return "the checksum of the segment's head is wrong";
    if (get_le32(page + 8) != WAL_VERSION)
        return "the segment was written by another version of the server";
    *ret = (WalSegmentHead){.epoch = get_le64(page + 16), .prev_epoch = get_le64(page + 32), .start_lsn = get_le64(page + 24),
                            .prev_valid_through = get_le64(page + 40), .segment_bytes = get_le32(page + 12)};
    if (ret->segment_bytes < WAL_SEGMENT_BYTES_MIN || ret->segment_bytes % WAL_PAGE || ret->start_lsn < WAL_FIRST_LSN ||
        ret->start_lsn % WAL_PAGE || ret->prev_valid_through > ret->start_lsn || ret->prev_valid_through % WAL_PAGE)
        return "the segment's head makes no sense";
    return NULL;
}

void
wal_segment_name(char name[WAL_NAME_BYTES], Lsn start_lsn, u64 epoch)
{
    snprintf(name, WAL_NAME_BYTES, "%016llx.%08x", (unsigned long long)start_lsn, (u32)(epoch >> 32));
}

bool
wal_segment_name_read(const char *name, Lsn *ret_start, u32 *ret_counter)
{
    u64 value[2] = {0, 0};
    for (int i = 0; i < 25; i++) {
        const char *digit = i == 16 ? NULL : strchr("0123456789abcdef", name[i]);
        if (name[i] == 0 || (i == 16 ? name[i] != '.' : digit == NULL))
            return false;
        if (digit)
            value[i > 16] = value[i > 16] << 4 | (u64)(digit - "0123456789abcdef");
    }
    if (name[25] != 0)
        return false;
    *ret_start = value[0];
    *ret_counter = (u32)value[1];
    return true;
}

u64
wal_epoch_new(u32 counter)
{
    u32 chance;
    env->random_bytes(&chance, sizeof chance);
    return (u64)counter << 32 | chance;
}

/* ---- files ---- */

/* Direct where the file system allows it; which one is in f->direct. */
static int
open_direct_or_not(Io *io, IoSite site, int dir_fd, const char *name, int flags, WalFile *f)
{
    f->direct = true;
    f->fd = io_open(io, site, dir_fd, name, flags | IO_DIRECT);
    if (f->fd == -EINVAL) {
        f->direct = false;
        f->fd = io_open(io, site, dir_fd, name, (flags & ~IO_EXCL));
    }
    if (f->fd < 0) {
        int rc = f->fd;
        f->fd = -1;
        return rc;
    }
    return 0;
}

int
wal_file_create(Io *io, int dir_fd, u32 segment_bytes, WalFile *ret)
{
    u64 chance;
    env->random_bytes(&chance, sizeof chance);
    ret->bytes = segment_bytes;
    snprintf(ret->name, sizeof ret->name, "spare.%016llx.tmp", (unsigned long long)chance);
    int rc = open_direct_or_not(io, IO_WAL_CREATE, dir_fd, ret->name, IO_READ | IO_WRITE | IO_CREATE | IO_EXCL, ret);
    if (rc == 0)
        rc = io_allocate(io, IO_WAL_CREATE, ret->fd, segment_bytes);
    if (rc == 0)
        rc = io_sync(io, IO_WAL_SYNC, ret->fd);
    FAULT(WAL_SEGMENT_CREATED);
    if (rc < 0)
        wal_file_drop(io, dir_fd, ret);
    return rc;
}

static int
write_groups(Io *io, const WalFile *f, const WalSegmentHead *segment, WalCarried *const *groups, u32 count)
{
    u64 offset = WAL_PAGE;
    for (u32 i = 0; i < count; i++) {
        WalGroupHead *head = &groups[i]->head;
        head->epoch = segment->epoch;
        head->sequence = i + 1;
        head->durable_through = segment->prev_valid_through;
        ensure(head->lsn == segment->start_lsn + (offset - WAL_PAGE) && offset + head->file_bytes <= segment->segment_bytes);
        wal_group_stamp(groups[i]->image, head, (u32)(offset / WAL_PAGE));
        i64 n = io_write(io, IO_WAL_WRITE, f->fd, groups[i]->image, head->file_bytes, offset);
        if (n < 0)
            return (int)n;
        offset += head->file_bytes;
    }
    return 0;
}

int
wal_file_start(Io *io, int dir_fd, WalFile *f, const WalSegmentHead *head, u8 *page, WalCarried *const *groups, u32 count)
{
    char name[WAL_NAME_BYTES];
    wal_segment_name(name, head->start_lsn, head->epoch);
    wal_segment_head_write(page, head);
    i64 n = io_write(io, IO_WAL_HEADER, f->fd, page, WAL_PAGE, 0);
    int rc = n < 0 ? (int)n : write_groups(io, f, head, groups, count);
    if (rc == 0)
        rc = io_sync(io, IO_WAL_SYNC, f->fd);
    if (rc == 0)
        rc = io_rename(io, IO_WAL_RENAME, dir_fd, f->name, name);
    if (rc < 0)
        return rc;
    memcpy(f->name, name, sizeof name);
    FAULT(WAL_SEGMENT_RENAMED);
    return io_sync(io, IO_WAL_DIR_SYNC, dir_fd);
}

void
wal_file_close(Io *io, WalFile *f)
{
    if (f->fd >= 0)
        (void)io_close(io, f->fd);
    f->fd = -1;
}

void
wal_file_drop(Io *io, int dir_fd, WalFile *f)
{
    Lsn start;
    u32 counter;
    wal_file_close(io, f);
    /* Its removal is a courtesy: left-over temporary files are removed when a writer opens. */
    if (!wal_segment_name_read(f->name, &start, &counter) && io_unlink(io, IO_WAL_UNLINK, dir_fd, f->name) < 0)
        f->name[0] = 0;
}

/* ---- watermark ---- */

void
wal_mark_write(u8 *page, Lsn durable_through, u64 sequence)
{
    memset(page, 0, WAL_PAGE);
    put_le64(page, WAL_MARK_MAGIC);
    put_le64(page + 8, durable_through);
    put_le64(page + 16, sequence);
    put_le32(page + 24, crc32c(0, page, 24));
}

bool
wal_mark_read(Io *io, int dir_fd, Lsn *ret_lsn, u64 *ret_sequence, int *ret_error)
{
    u8 pages[2 * WAL_PAGE] = {0};
    bool found = false;
    *ret_lsn = 0;
    *ret_sequence = 0;
    *ret_error = 0;
    int fd = io_open(io, IO_WATERMARK, dir_fd, WAL_WATERMARK_NAME, IO_READ);
    if (fd < 0) {
        *ret_error = fd == -ENOENT ? 0 : fd;
        return false;
    }
    i64 n = io_read(io, IO_WATERMARK, fd, pages, sizeof pages, 0);
    (void)io_close(io, fd);
    if (n < 0) {
        *ret_error = (int)n;
        return false;
    }
    for (int slot = 0; slot < 2; slot++) {
        const u8 *p = pages + slot * WAL_PAGE;
        if (get_le64(p) != WAL_MARK_MAGIC || get_le32(p + 24) != crc32c(0, p, 24) || (get_le64(p + 16) & 1) != (u64)slot)
            continue;
        found = true;
        *ret_lsn = MAX(*ret_lsn, get_le64(p + 8));
        *ret_sequence = MAX(*ret_sequence, get_le64(p + 16));
    }
    return found;
}
