/*
 * wal.h
 *    The redo log as segments of groups of frames: written by WalWriter, read by WalReader. Frames are opaque here.
 *
 * The format and the verdict (torn tail: dropped and said; rot: refused with its LSN) are described by offset in walfile.c and follow
 * section 4.2 of the reliability notes. An LSN is a byte position in the endless log; a segment's header says where it starts.
 * Rules kept: a durable byte is never rewritten; a failed write or sync closes its segment for ever (I3); every writer begins a new
 * segment with a new epoch that states through which LSN its predecessor is valid (I10).
 */
#ifndef WAL_H
#define WAL_H

#include "common/base/base.h"
#include "common/base/error.h"
#include "common/io/io.h"

typedef u64 Lsn;
enum { WAL_ALIGN = 4096, WAL_GROUP_MAX_BYTES = 4 << 20, WAL_FRAME_MAX_BYTES = 1 << 20 };
enum { WAL_SEGMENT_BYTES_DEFAULT = 64 << 20 };

typedef enum WalRecordKind {
#define WAL_RECORD(number, symbol, what) WAL_##symbol = number,
#include "common/disk/walrec.def"
} WalRecordKind;
const char *wal_record_name(u32 kind); /* NULL when unknown */

/* ---- writing: one owner, the walwriter ---- */
typedef struct WalWriter WalWriter;

/* Start a new segment behind valid_through (0 for an empty folder) with a fresh epoch; makes the spare. dir_fd is the log folder. */
MUST_CHECK bool wal_writer_open(Io *io, int dir_fd, Lsn valid_through, u64 prev_epoch, u64 segment_bytes, WalWriter **ret, Error *err);
void wal_writer_free(WalWriter *w);
/* Where the next group's first frame will stand: the LSN that becomes the version of what it commits. Frames of a group are numbered
 * by their byte offset, so a frame's LSN = group LSN + its offset in the group's payload. */
Lsn wal_next_lsn(const WalWriter *w);
/* Memory for the payload of the next group (WAL_GROUP_MAX_BYTES of it); NULL when `depth` groups are in flight. */
u8 *wal_group_begin(WalWriter *w);
/* Append a frame to the open group: returns its LSN, 0 when it does not fit (close the group first). */
Lsn wal_group_add(WalWriter *w, const void *frame, u32 len);
u32 wal_group_bytes(const WalWriter *w);
/* Close the group (pad, sum, stamp) and submit it. 0 or -errno (then the segment is already closed for good). */
int wal_group_submit(WalWriter *w, u64 tag) MUST_CHECK;
u32 wal_in_flight(const WalWriter *w);

typedef struct WalEvent {
    u64 tag;
    int result;     /* 0: durable, in order of submission; -errno: this group and all behind it are not durable */
    Lsn end_lsn;
} WalEvent;
/* Reap finished groups in order and wait as io_wait. After a failure the writer has already tried the spare segment, with the unsynced groups
 * written again from memory; result < 0 means that failed too and writes have stopped. */
u32 wal_wait(WalWriter *w, int event_fd, u64 deadline_ns, WalEvent *events, u32 max, bool *ret_event);
Lsn wal_durable_lsn(const WalWriter *w);
/* A seal group repeats the durable-through LSN; at idleness and clean stop. Waits for it. */
int wal_seal(WalWriter *w) MUST_CHECK;
/* After a stop of writes: try again (space came back). */
MUST_CHECK bool wal_writer_resume(WalWriter *w, Error *err);
u64 wal_epoch(const WalWriter *w);
/* Segments wholly below this LSN may go. */
int wal_remove_before(WalWriter *w, Lsn lsn) MUST_CHECK;

/* ---- reading: recovery, waldump, tests ---- */
typedef struct WalVerdict {
    bool torn;           /* an unfinished tail was dropped */
    Lsn valid_through;   /* end of the last valid group */
    u64 last_epoch;
    u64 groups, frames, segments;
    u64 dropped_bytes;
    char text[256];      /* for the start-up line */
} WalVerdict;

/* Hand every frame of every valid group from `from` on to `each` in order (false stops with the error it set); data is valid during the call and
 * 8-byte aligned. Refuses (XX001, with file, offset, LSN, reason) when anything durable is damaged. An empty folder is fine. */
MUST_CHECK bool wal_read(Io *io, int dir_fd, Lsn from, bool (*each)(void *ctx, Lsn lsn, const u8 *frame, u32 len, Error *err), void *ctx,
                         WalVerdict *ret, Error *err);

#endif
