/*
 * snap_fixture.h
 *    A world in this process with tables that use everything a snapshot holds, snapshots of it in a folder, and restarts from them into a second world.
 */
#ifndef SNAP_FIXTURE_H
#define SNAP_FIXTURE_H

#include "checkpointer/snapshot.h"
#include "common/io/io_sim.h"
#include "store_fixture.h"
#include "walwriter/writer.h"

#include <fcntl.h>

enum { SNAP_ID = 77, SNAP_MEMORY = 192 << 20 };

typedef struct SnapFix {
    Fixture f;
    Snapshots s;
    FixPart part;
    u64 next_row; /* of the model */
} SnapFix;


/* Rows next_row … as one commit. */
static inline void
snap_insert(SnapFix *x, u32 count)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    while (count) {
        u32 n = MIN(count, (u32)FIX_BATCH);
        for (u32 i = 0; i < n; i++)
            numbers[i] = x->next_row++;
        fix_insert(&x->part, x->f.table_id, numbers, salts, n);
        fix_commit(&x->f, &x->part.view);
        count -= n;
    }
    x->f.shm.writer->pub_takeover_lsn = x->f.version;
}

/* Every step-th row of the block goes. */
static inline void
snap_delete(SnapFix *x, u64 block, u32 rows, u32 step)
{
    PartView p = {.kind = PART_DELETE, .table_id = x->f.table_id, .old_rows = x->part.old_rows};
    for (u32 o = 0; o < rows && p.row_count < FIX_BATCH; o += step)
        x->part.old_rows[p.row_count++] = ROW_ID(block, o);
    fix_commit(&x->f, &p);
    x->f.shm.writer->pub_takeover_lsn = x->f.version;
}

static inline void
snap_look(SnapFix *x, Io *io, int dir_fd)
{
    Error err;
    x->s = (Snapshots){.io = io, .shm = &x->f.shm, .box = shm_box(&x->f.shm, x->f.shm.slot_count), .dir_fd = dir_fd, .database_id = SNAP_ID};
    ck_assert_msg(snapshots_open(&x->s, 0, &err), "%s", err.message);
}

static inline void
snap_begin(SnapFix *x, Io *io, int dir_fd)
{
    memset(x, 0, sizeof *x);
    fix_open(&x->f, SNAP_MEMORY);
    x->f.shm.writer->pub_takeover_lsn = x->f.version;
    snap_look(x, io, dir_fd);
}

static inline void
snap_end(SnapFix *x)
{
    snapshots_close(&x->s);
    fix_close(&x->f);
}

static inline SnapshotReport
snap_take(SnapFix *x)
{
    SnapshotReport r;
    Error err;
    ck_assert_msg(snapshot_write(&x->s, &r, &err), "%s", err.message);
    return r;
}

/* Sum over all tables, names and counts included. */
static inline u64
snap_digest(const Snapshot *s)
{
    u64 sum = s->root->table_count + 31 * s->root->next_table_id;
    for (u32 id = FIRST_TABLE_ID; id < s->root->next_table_id; id++) {
        const TableShm *t = store_table(s->root, id);
        if (t)
            sum = sum * 1000003 + store_digest(s, t, NULL) + t->row_count * 7 + t->dir->next_block;
    }
    return sum;
}

static inline u64
snap_digest_of(World *w)
{
    const Root *root = world_root(w);
    Snapshot s = {.root = root, .version = root->version, .epoch = root->epoch};
    return snap_digest(&s);
}

#endif
