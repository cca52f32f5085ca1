/*
 * walformat.h
 *    Inside of the room: the bytes of the redo log. walgroup.c lays out and checks groups, walfile.c segments and the watermark;
 *    walwrite.c, walread.c and the crash tests are built on both. The format is described by offset in the head of walfile.c.
 */
#ifndef WALFORMAT_H
#define WALFORMAT_H

#include "common/disk/wal.h"

enum {
    WAL_PAGE = WAL_ALIGN,
    WAL_SECTOR = 512,
    WAL_SECTORS_A_PAGE = WAL_PAGE / WAL_SECTOR,
    WAL_VERSION = 2,
    WAL_GROUP_HEAD_BYTES = 64,
    WAL_STAMP_BYTES = 8,
    WAL_FRAME_HEAD_BYTES = 8,
    /* What a page of a group adds to its payload: all but the stamp and the sums of its sectors; the first page also gives room to the head
     * and the end mark. */
    WAL_PAGE_PAYLOAD = WAL_PAGE - WAL_STAMP_BYTES - 2 * WAL_SECTORS_A_PAGE,
    WAL_GROUP_OVERHEAD = WAL_GROUP_HEAD_BYTES + 8 - WAL_STAMP_BYTES,
    WAL_GROUP_PAGES_MAX = (WAL_GROUP_MAX_BYTES + WAL_GROUP_OVERHEAD + WAL_PAGE_PAYLOAD - 1) / WAL_PAGE_PAYLOAD,
    WAL_GROUP_FILE_BYTES_MAX = WAL_GROUP_PAGES_MAX * WAL_PAGE,
    WAL_SEGMENT_BYTES_MIN = 64 * 1024,
    /* A writer's first segment is made while the start waits for it, so it is small; it holds the largest group. */
    WAL_FIRST_SEGMENT_BYTES = 8 << 20,
    WAL_NAME_BYTES = 40
};

#define WAL_SEGMENT_MAGIC 0x314c415753474721ull /* "!GGSWAL1" */
#define WAL_GROUP_MAGIC 0x3150524753474721ull   /* "!GGSGRP1" */
#define WAL_MARK_MAGIC 0x314b524d53474721ull    /* "!GGSMRK1" */
#define WAL_END_MARK 0x444e455053474747ull      /* "GGGSPEND": no byte of it is zero, nor becomes so by one bit */
#define WAL_FIRST_LSN ((Lsn)WAL_PAGE)           /* of an empty log, so that no LSN is 0 */
#define WAL_WATERMARK_NAME "watermark"

/* ---- groups ---- */

enum { WAL_GROUP_SEAL = 1 };

typedef struct WalGroupHead {
    u64 epoch, sequence;
    Lsn lsn, durable_through;
    u32 file_bytes, payload_bytes, frame_count, payload_crc, flags;
} WalGroupHead;

static inline u32
wal_group_file_bytes(u32 payload_bytes)
{
    return (payload_bytes + WAL_GROUP_OVERHEAD + WAL_PAGE_PAYLOAD - 1) / WAL_PAGE_PAYLOAD * WAL_PAGE;
}

/* Payload that a group of so many bytes in the file can hold. */
static inline u32
wal_group_capacity(u32 file_bytes)
{
    return file_bytes / WAL_PAGE * WAL_PAGE_PAYLOAD - WAL_GROUP_OVERHEAD;
}

/* Lay the payload out in `image` (file_bytes of it); the head is filled in by wal_group_stamp. */
void wal_group_layout(u8 *image, const u8 *payload, u32 payload_bytes);
/* Write head, page stamps and sums for a place that begins with page `first_page` of its segment; the payload stands already. */
void wal_group_stamp(u8 *image, const WalGroupHead *head, u32 first_page);
/* A head whose magic, own sum and lengths are right; says nothing about the rest. */
bool wal_group_head_read(const u8 *sector, WalGroupHead *ret);
/* Check every byte of a group whose head was read; its payload goes to `payload`. NULL when all is right, else the reason in words. */
const char *wal_group_check(const u8 *image, const WalGroupHead *head, u32 first_page, u8 *payload);

typedef enum WalTear { WAL_TEAR_NONE, WAL_TEAR_TORN, WAL_TEAR_ROT } WalTear;
/* Look at the sectors of a group with a readable head. cut_sector: the sector of it (UINT32_MAX none) that may end in the middle, as all behind
 * it is zero and no end mark stands there. */
WalTear wal_group_tear(const u8 *image, const WalGroupHead *head, u32 cut_sector);
u32 wal_group_mark_offset(const WalGroupHead *head); /* in the image */
bool wal_is_zero(const u8 *bytes, size_t len);

/* ---- segments ---- */

typedef struct WalSegmentHead {
    u64 epoch, prev_epoch;
    Lsn start_lsn;          /* of the byte at offset WAL_PAGE */
    Lsn prev_valid_through; /* what counts of the segment before; start_lsn is not below */
    u32 segment_bytes;
} WalSegmentHead;

void wal_segment_head_write(u8 *page, const WalSegmentHead *head);
/* NULL when right, else the reason. */
const char *wal_segment_head_read(const u8 *page, WalSegmentHead *ret);
void wal_segment_name(char name[WAL_NAME_BYTES], Lsn start_lsn, u64 epoch);
/* False when the name is none of a segment. The counter is the epoch's upper half. */
bool wal_segment_name_read(const char *name, Lsn *ret_start, u32 *ret_counter);
u64 wal_epoch_new(u32 counter);

typedef struct WalFile {
    int fd; /* -1: none */
    bool direct;
    u32 bytes;
    char name[WAL_NAME_BYTES];
} WalFile;

/* Make a zero-written, synced segment file under a temporary name. 0 or -errno, then nothing is left. */
int wal_file_create(Io *io, int dir_fd, u32 segment_bytes, WalFile *ret);
/* A group in memory that goes into a new segment before the segment counts. */
typedef struct WalCarried {
    u8 *image; /* aligned */
    WalGroupHead head;
} WalCarried;

/* Give it its head, its first groups (stamped here for their new places, durable-through = what the head says of the predecessor) and its name: head and
 * groups written, synced, renamed, folder synced. On failure the file is not used again. `page` is an aligned page. */
int wal_file_start(Io *io, int dir_fd, WalFile *f, const WalSegmentHead *head, u8 *page, WalCarried *const *groups, u32 count);
void wal_file_drop(Io *io, int dir_fd, WalFile *f); /* close, and remove when it still has its temporary name */
void wal_file_close(Io *io, WalFile *f);

/* ---- the watermark: a second proof of what was durable, in two slots of a page each, written in turn ---- */

void wal_mark_write(u8 *page, Lsn durable_through, u64 sequence);
/* The greater valid one; false (and LSN 0) when there is none. *ret_sequence is the greatest seen. */
bool wal_mark_read(Io *io, int dir_fd, Lsn *ret_lsn, u64 *ret_sequence, int *ret_error);

/* ---- what a new writer takes along ---- */

enum { WAL_CARRY_MAX = 64 };
typedef struct WalCarry {
    Lsn proven; /* everything below is durable for sure */
    WalCarried groups[WAL_CARRY_MAX];
    u32 count;
    u64 frames, bytes; /* bytes: of the groups in the file */
} WalCarry;

/* The groups of the segment from the last proven LSN to valid_through. 0 or -errno. */
int wal_carry_read(Io *io, int dir_fd, u64 epoch, Lsn valid_through, WalCarry *ret);
void wal_carry_free(WalCarry *c);

/* Give back memory only, as when the process had died: for tests on the simulated disk, and after a failed open. */
void wal_writer_abandon(WalWriter *w);

/* ---- walking over the groups of one segment ---- */

typedef struct WalSource {
    Io *io; /* bytes come through a window on fd, or stand in memory (tests) */
    int fd;
    const u8 *memory;
    u64 size; /* the segment's, by its head; what the file lacks reads as zeros */
    u8 *window;
    u64 window_at, window_len;
    int error; /* -errno of a failed read */
} WalSource;

typedef struct WalWalk {
    WalSource source;
    WalSegmentHead segment;
    u64 offset;   /* of the next group */
    u64 sequence; /* it must have */
    WalGroupHead group;
    u8 *payload;        /* of the group read last; WAL_GROUP_MAX_BYTES and some */
    const char *reason; /* why the last step did not find a valid group */
} WalWalk;

static inline Lsn
wal_walk_lsn(const WalWalk *w)
{
    return w->segment.start_lsn + (w->offset - WAL_PAGE);
}

/* Read the group at offset and go behind it. False: none valid there (reason) or the segment is full (reason NULL). */
bool wal_walk_next(WalWalk *w);

typedef enum WalTail { WAL_TAIL_CLEAN, WAL_TAIL_TORN, WAL_TAIL_ROT, WAL_TAIL_IO_ERROR } WalTail;
/* The verdict at a position without a valid group; proven: LSN through which everything is known to have been durable by others. *ret_dropped: bytes
 * up to the last one that is not zero. why: text for the refusal. */
WalTail wal_walk_judge(WalWalk *w, Lsn proven, u64 *ret_dropped, char *why, size_t why_bytes);
const u8 *wal_source_bytes(WalSource *s, u64 offset, u64 len);

#endif
