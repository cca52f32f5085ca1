/*
 * compact.c
 *    The walwriter's own work beside the requests: compacting blocks, in pieces between the turns.
 *
 *   IDLE      looks for blocks that are worth it (world_compact_choose);
 *   COPYING   copies their live rows, a bounded piece a turn, while requests go on changing them;
 *   WAITING   lets those who hold rows of the blocks end; requests that want a row of them wait. Whoever holds one for long (an open
 *             transaction) ends the attempt: the table has its rest for a while;
 *   LOGGED    the rows have new ids, and the record is in a group; requests go on with the new ids at once (judge_moved_rows). When the group is durable the
 *             world changes over with the next publish.
 *
 * The compactor is an owner of the lock table beyond the connection slots: it holds its table against DROP and its like from COPYING on, and LOCK_TXN of itself, for
 * requests to wait on. When the log fails, the record is the first thing that is logged when writes go on: what was judged with the new ids stays right.
 *
 * Writes: the world through world_compact_*, the lock table. Fails: no memory, then it gives up and tries later.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"

#include <stdlib.h>

enum {
    LOOK_EVERY_NS = 20 * 1000 * 1000,
    STEP_NS = 300 * 1000,             /* of a turn, while requests come */
    STEP_WANTED_NS = 3 * 1000 * 1000, /* when memory is short */
    WAIT_NS = 20 * 1000 * 1000,       /* for the holders of rows */
    REST_NS = 100 * 1000 * 1000,      /* after an attempt that failed */
    REST_MAX_SHIFT = 5,
    SNAPSHOT_DEAD_PERCENT = 12,       /* an eighth: CHECKPOINT wants a snapshot without deleted rows */
    SNAPSHOT_SWEEPS = 2,              /* the first may begin in the middle of the tables */
};

#define SNAPSHOT_MAX_NS 5000000000ull /* as long as CHECKPOINT waits for it */

/* ---- who is in the way ---- */

static bool
is_busy(void *ctx, u32 table_id, u64 block)
{
    Writer *w = ctx;
    if (locks_block_busy(w->locks, table_id, block))
        return true;
    for (u32 i = 0; i < w->bulk_owner_count; i++) {
        const Tx *tx = &w->txs[w->bulk_owners[i]];
        for (u32 b = 0; b < tx->bulk_count; b++)
            if (tx->bulk[b].table_id == table_id && rowset_has_block(&tx->bulk[b].rows, block))
                return true;
        if (tx->chain && chain_touches_block(tx->chain, table_id, block))
            return true;
    }
    return false;
}

/* Blocks of bulk statements are left alone; single rows that are held now may be free in a moment. */
static bool
is_busy_for_long(void *ctx, u32 table_id, u64 block)
{
    Writer *w = ctx;
    bool busy = (w->compactor.failures || w->bulk_owner_count) && is_busy(ctx, table_id, block);
    w->compactor.skipped |= busy;
    return busy;
}

static bool
any_busy(Writer *w)
{
    const Compactor *c = &w->compactor;
    for (u32 i = 0; i < c->record.source_count; i++)
        if (is_busy(w, c->record.table_id, c->record.sources[i].block))
            return true;
    return false;
}

bool
compact_waits_for(const Writer *w, u32 table_id, u64 block)
{
    const Compactor *c = &w->compactor;
    if (c->phase != COMPACT_WAITING || c->record.table_id != table_id)
        return false;
    for (u32 i = 0; i < c->record.source_count; i++)
        if (c->record.sources[i].block == block)
            return true;
    return false;
}

bool
compact_waits_for_table(const Writer *w, u32 table_id)
{
    return w->compactor.phase == COMPACT_DICT && w->compactor.record.table_id == table_id;
}

/* ---- the end of an attempt ---- */

static void
rest(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    locks_release_all(w->locks, w->slot_count, tx_granted, w);
    free(c->frame);
    c->frame = NULL;
    c->phase = COMPACT_IDLE;
    c->work = NULL;
    c->next_ns = now_ns + (c->failures ? (u64)REST_NS << MIN(c->failures - 1, (u32)REST_MAX_SHIFT) : 0);
}

static void
give_up(Writer *w)
{
    Compactor *c = &w->compactor;
    if (c->work)
        world_compact_abandon(w->world, c->work);
    c->failures++;
    rest(w, env->monotonic_ns());
}

void
compact_step_aside(Writer *w, u32 table_id)
{
    CompactPhase p = w->compactor.phase;
    if ((p == COMPACT_COPYING || p == COMPACT_WAITING || p == COMPACT_DICT) && w->compactor.record.table_id == table_id)
        give_up(w);
}

bool
compact_holds(const Writer *w, u32 table_id)
{
    return w->compactor.phase != COMPACT_IDLE && w->compactor.record.table_id == table_id;
}

void
compact_stop(Writer *w)
{
    if (w->compactor.phase != COMPACT_IDLE && w->compactor.phase != COMPACT_MOVED && w->compactor.phase != COMPACT_LOGGED)
        give_up(w);
    w->compactor.dead_percent = 0;
}

/* ---- the phases ---- */

/* Nobody waits for the table or holds it against rows. */
static bool
hold_table(Writer *w, u32 table_id)
{
    LockHold *h;
    LockTag table = {table_id, LOCK_TABLE, 0, 0}, self = {0, LOCK_TXN, 0, w->slot_count};
    locks_set_ordinal(w->locks, w->slot_count, 1);
    return locks_take(w->locks, w->slot_count, table, LOCK_TABLE_ROW_SHARE, &h) == LOCK_GRANTED &&
           locks_take(w->locks, w->slot_count, self, LOCK_EXCLUSIVE, &h) == LOCK_GRANTED;
}

static void
look(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    Error err;
    bool more;
    CompactRule rule = {.dead_percent = c->dead_percent, .dead_rows = c->dead_rows, .wanted = c->wanted, .is_busy = is_busy_for_long, .ctx = w};
    bool more_dicts = false;
    if (c->snapshot_until_ns) {
        rule.dead_percent = MIN(c->dead_percent, (u32)SNAPSHOT_DEAD_PERCENT);
        rule.wanted = true;
    }
    if (!world_compact_choose(w->world, &rule, &c->record, &more)) {
        if (world_dict_step(w->world, &c->record.table_id, &c->column, &more_dicts)) {
            c->phase = COMPACT_DICT;
            c->deadline_ns = now_ns + WAIT_NS;
            return;
        }
        more |= more_dicts;
        c->next_ns = more || c->snapshot_until_ns ? now_ns : now_ns + LOOK_EVERY_NS;
        if (!more) {
            c->sweeps++;
            c->hungry = c->skipped; /* what was busy is looked at again */
            c->skipped = false;
        }
        c->failures -= !more && c->failures > 0;
        return;
    }
    c->work = NULL;
    FAULT(COMPACT_BEGIN);
    if (!hold_table(w, c->record.table_id) || !(c->work = world_compact_begin(w->world, &c->record, &err))) {
        give_up(w);
        return;
    }
    c->phase = COMPACT_COPYING;
}

static void
copy(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    Error err;
    u64 until_ns = now_ns + (c->wanted ? STEP_WANTED_NS : STEP_NS);
    bool done = false;
    do {
        if (!world_compact_step(w->world, c->work, &done, &err)) {
            give_up(w);
            return;
        }
        FAULT(COMPACT_COPYING);
    } while (!done && env->monotonic_ns() < until_ns);
    if (!done)
        return;
    c->phase = COMPACT_WAITING;
    c->deadline_ns = env->monotonic_ns() + WAIT_NS;
}

/* Nobody has unfinished rows in the table: its lock says so. */
static void
replace_dict(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    LockHold *h;
    LockTag table = {c->record.table_id, LOCK_TABLE, 0, 0};
    if (locks_take(w->locks, w->slot_count, table, LOCK_TABLE_SHARE, &h) == LOCK_GRANTED) {
        w->shm->writer->dictionaries_replaced += world_dict_replace(w->world, c->record.table_id, c->column);
        c->hungry = true;
        rest(w, now_ns);
    } else if (now_ns >= c->deadline_ns)
        give_up(w);
}

/* The record and a commit of nobody's. */
static bool
make_frame(Compactor *c)
{
    CompactRecord r;
    CommitRecord commit = {.slot = COMMIT_NO_SLOT, .wall_us = env->wall_us()};
    world_compact_record(c->work, &r);
    u32 len = compact_bytes(&r);
    c->frame = malloc(record_bytes(len) + COMMIT_RECORD_BYTES);
    if (!c->frame)
        return false;
    compact_encode(&r, c->frame + RECORD_HEAD_BYTES);
    c->frame_len = record_frame(c->frame, WAL_COMPACT, 0, len);
    commit_encode(&commit, c->frame + c->frame_len + RECORD_HEAD_BYTES);
    c->frame_len += record_frame(c->frame + c->frame_len, WAL_COMMIT, 0, COMMIT_BYTES);
    return true;
}

/* From the moment when rows have new ids nothing else may be logged before the record: its place in a group is sure before. */
static void
wait_for_rows(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    Error err;
    if (any_busy(w)) {
        if (now_ns >= c->deadline_ns)
            give_up(w);
        return;
    }
    if (!c->frame && !make_frame(c)) {
        give_up(w);
        return;
    }
    if (w->stopped || !commit_room(w, c->frame_len))
        return;
    if (!world_compact_move(w->world, c->work, &err)) {
        give_up(w);
        return;
    }
    FAULT(COMPACT_MOVED);
    c->lsn = commit_own_frame(w, c->frame, c->frame_len);
    c->phase = COMPACT_LOGGED;
}

void
compact_log_again(Writer *w)
{
    Compactor *c = &w->compactor;
    if (c->phase != COMPACT_MOVED)
        return;
    ensure(commit_room(w, c->frame_len)); /* nothing is in flight */
    c->lsn = commit_own_frame(w, c->frame, c->frame_len);
    c->phase = COMPACT_LOGGED;
}

void
compact_turn(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    if (!c->dead_percent && c->phase == COMPACT_IDLE)
        return;
    if (c->phase == COMPACT_IDLE && !w->stopped && now_ns >= c->next_ns)
        look(w, now_ns);
    if (c->phase == COMPACT_DICT)
        replace_dict(w, now_ns);
    if (c->phase == COMPACT_COPYING)
        copy(w, now_ns);
    if (c->phase == COMPACT_WAITING)
        wait_for_rows(w, now_ns);
}

bool
compact_before_snapshot(Writer *w, u64 now_ns)
{
    Compactor *c = &w->compactor;
    if (!c->snapshot_until_ns) {
        c->snapshot_until_ns = now_ns + SNAPSHOT_MAX_NS;
        c->sweeps = 0;
        c->next_ns = MIN(c->next_ns, now_ns);
    }
    bool swept = c->phase == COMPACT_IDLE && c->sweeps >= SNAPSHOT_SWEEPS;
    if (!swept && c->dead_percent && !w->stopped && now_ns < c->snapshot_until_ns)
        return false;
    c->snapshot_until_ns = 0;
    return true;
}

u64
compact_deadline_ns(const Writer *w, u64 now_ns)
{
    const Compactor *c = &w->compactor;
    switch (c->phase) {
    case COMPACT_COPYING: return now_ns;
    case COMPACT_WAITING: case COMPACT_DICT: return now_ns + 1000 * 1000;
    case COMPACT_IDLE: return c->dead_percent && c->hungry ? MAX(c->next_ns, now_ns) : UINT64_MAX;
    case COMPACT_MOVED: case COMPACT_LOGGED: break;
    }
    return UINT64_MAX;
}

/* ---- its group ---- */

u64
compact_durable(Writer *w)
{
    Compactor *c = &w->compactor;
    ensure(c->phase == COMPACT_LOGGED);
    world_compact_apply(w->world, c->work);
    w->shm->writer->compactions++;
    c->failures /= 2;
    return c->lsn;
}

void
compact_published(Writer *w)
{
    rest(w, env->monotonic_ns());
}

/* Its work is freed with the world. */
void
compact_done(Writer *w)
{
    if (w->compactor.work)
        world_compact_free(w->world, w->compactor.work);
    free(w->compactor.frame);
}

void
compact_failed(Writer *w)
{
    ensure(w->compactor.phase == COMPACT_LOGGED);
    w->compactor.phase = COMPACT_MOVED;
}
