/*
 * wal.h
 *    The redo log as segments of groups of frames: written by WalWriter, read by WalReader. Frames are opaque here.
 *
 * The format and the verdict (torn tail: dropped and said; rot: refused with its LSN) are described by offset in walfile.c and follow
 * section 4.2 of the reliability notes. An LSN is a byte position in the endless log; a segment's header says where it starts. The LSN of a frame
 * is that of its group + 64 + its offset among the group's frames, so it is never 0 and never equals the end of another group.
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
enum { WAL_DEPTH = 8 }; /* groups in flight at most; the Io needs a depth of one more, for the watermark */

typedef enum WalRecordKind {
#define WAL_RECORD(number, symbol, what) WAL_##symbol = number,
#include "common/disk/walrec.def"
} WalRecordKind;
const char *wal_record_name(u32 kind); /* NULL when unknown */

/* ---- writing: one owner, the walwriter ---- */
typedef struct WalWriter WalWriter;

/* Start a new segment behind valid_through (0 for an empty folder), as wal_read answered both; with a fresh epoch. The last groups before valid_through, of
 * which nothing says that they are durable, are written again into it: so nothing that was read may be shown before this returns. Makes the spare, by a helper thread that lasts as long as
 * that takes. dir_fd is the log folder. segment_bytes: a multiple of 4096; a frame must fit one segment (wal_frame_max). */
MUST_CHECK bool wal_writer_open(Io *io, int dir_fd, Lsn valid_through, u64 prev_epoch, u64 segment_bytes, WalWriter **ret, Error *err);
/* Waits for what is in flight (its events are lost) and writes the watermark; seal before. */
void wal_writer_free(WalWriter *w);
/* The LSN that the next frame will get: the version of what it commits. It lies above wal_durable_lsn and above that of every frame before. */
Lsn wal_next_lsn(const WalWriter *w);
u32 wal_frame_max(const WalWriter *w);
/* Begin the next group; the answer is only to be compared with NULL: `depth` groups are in flight (wal_wait first), or writes have stopped. */
u8 *wal_group_begin(WalWriter *w);
/* Append a frame to the open group: returns its LSN, 0 when it does not fit (submit the group and begin another). The bytes are copied. */
Lsn wal_group_add(WalWriter *w, const void *frame, u32 len);
u32 wal_group_bytes(const WalWriter *w);
/* Close the group, which has a frame at least (pad, sum, stamp), and submit it. 0: its event will come. -errno: it was not logged and no event will
 * come; writes have stopped. Takes the spare segment when the group does not fit the rest of this one, after waiting for the groups in flight. */
int wal_group_submit(WalWriter *w, u64 tag) MUST_CHECK;
u32 wal_in_flight(const WalWriter *w);

typedef struct WalEvent {
    u64 tag;
    int result;     /* 0: durable, in order of submission; -errno: this group and all behind it are not durable, or nobody knows */
    Lsn end_lsn;
} WalEvent;
/* Reap finished groups in order and wait as io_wait. After a failure the writer has already tried the spare segment, with the unsynced groups
 * written again from memory; result < 0 means that failed too and writes have stopped. */
u32 wal_wait(WalWriter *w, int event_fd, u64 deadline_ns, WalEvent *events, u32 max, bool *ret_event);
/* Everything below is durable. */
Lsn wal_durable_lsn(const WalWriter *w);
/* 0, or the -errno for which writes have stopped. */
int wal_stopped(const WalWriter *w);
/* A seal group repeats the durable-through LSN; at idleness and clean stop. Waits for it, and for what is in flight. Cheap when there is nothing
 * to seal. */
int wal_seal(WalWriter *w) MUST_CHECK;
/* After a stop of writes: try again (space came back). LSNs of groups that were lost are not given out again. */
MUST_CHECK bool wal_writer_resume(WalWriter *w, Error *err);
u64 wal_epoch(const WalWriter *w);
/* Remove segments wholly below this LSN, oldest first; the newest stays whatever the LSN. Beside a writer it is safe for LSNs that are durable. */
int wal_remove_before(Io *io, int dir_fd, Lsn lsn) MUST_CHECK;

/* ---- reading: recovery, waldump, tests ---- */
typedef struct WalVerdict {
    bool torn;           /* an unfinished tail was dropped */
    Lsn valid_through;   /* end of the last valid group */
    u64 last_epoch;
    u64 groups, frames, segments;
    u64 dropped_bytes;
    char text[256];      /* for the start-up line */
} WalVerdict;

/* data is valid during the call and 8-byte aligned; false stops with the error it set. */
typedef bool (*WalFrameEach)(void *ctx, Lsn lsn, const u8 *frame, u32 len, Error *err);
#define WAL_FROM_OLDEST UINT64_MAX

/* Hand every frame with an LSN of `from` or more to `each` in order. from: 0 for the whole log, which then must be there from its first segment on;
 * the LSN of a snapshot's log start; WAL_FROM_OLDEST for whatever is there. Refuses (XX001, with file, offset, LSN, reason) when anything durable
 * is damaged or missing. An empty folder is fine. Nothing is written. */
MUST_CHECK bool wal_read(Io *io, int dir_fd, Lsn from, WalFrameEach each, void *ctx, WalVerdict *ret, Error *err);

#endif
