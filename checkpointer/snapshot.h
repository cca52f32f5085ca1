/*
 * snapshot.h
 *    Write a snapshot of the published state: one call from pinning to the removal of what it replaces.
 */
#ifndef SNAPSHOT_H
#define SNAPSHOT_H

#include "common/base/error.h"
#include "common/disk/snap.h"
#include "common/shm/shm.h"
#include "common/store/store.h"

/* What the role knows from run to run: the two complete snapshots on disk. */
typedef struct Snapshots {
    Io *io;
    const Shm *shm;
    BoxShm *box;      /* its own, for the pin */
    int dir_fd;
    u64 database_id;
    SnapToc newest, older; /* head.number 0: there is none */
    u64 next_number;
    bool (*go_on)(void *ctx); /* asked now and then: false breaks the work off with 57014. NULL: never */
    void *ctx;
} Snapshots;

typedef struct SnapshotReport {
    u64 number, version, log_needed; /* log_needed: what both snapshots need of the log begins here */
    u64 tables, blocks, piece_bytes, new_bytes, toc_bytes, files;
    u64 read_ns, sync_ns, back_ns;   /* until all is read and given to the kernel; until it is durable; until it is read back */
} SnapshotReport;

/* Look at the folder: which snapshots are complete. `damaged`: number of one that recovery found to be unusable, 0 none. Leftovers are removed. */
MUST_CHECK bool snapshots_open(Snapshots *s, u64 damaged, Error *err);
void snapshots_close(Snapshots *s);
/* Where the log must begin for both snapshots; 0 while there are not two. */
u64 snapshots_log_needed(const Snapshots *s);
/* On failure everything is as before, leftovers are removed as far as that works. */
MUST_CHECK bool snapshot_write(Snapshots *s, SnapshotReport *ret, Error *err);

/* ---- what snapshot.c takes from the other files of the room ---- */
/* Pieces of the older snapshot, for using them again (reuse.c). */
typedef struct Reuse Reuse;
/* The pieces of `base` worth using again. `other` shares no file with it, or nothing is. NULL without memory. */
Reuse *reuse_new(const SnapToc *base, const SnapToc *other);
void reuse_free(Reuse *r);
/* A piece of the same bytes: ret->file is then that of its place among the new snapshot's files, from 1 on. */
bool reuse_find(Reuse *r, SnapKey key, u64 bytes, u32 crc, SnapRef *ret);
/* Files that are used again, in their order from 1 on. */
u32 reuse_files(const Reuse *r, const SnapFile **ret);

/* The catalog as records that can be applied to an empty world (catalog.c). */
void snapshot_put_catalog(ByteBuf *to, const Root *root, const SecretShm *secrets);

#endif
