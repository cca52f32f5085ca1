/*
 * commit.c
 *    Groups: requests that were judged are logged into the open group; a durable group is applied, published and answered, in order.
 *
 * A turn of a group: commit_add copies frames into it; commit_submit gives it to the log; commit_event, when it is durable: for each commit
 * in order deletes, rows and keys; one publish; then locks are returned and answers written, woken last (answer_flush).
 * A part of a chain is staged and answered when its frame is in a group: nobody can see it before its commit is durable.
 *
 * Invariants: I3 nothing is published or answered before the fsync; I5 what is applied was reserved before it was logged; a failed group
 * leaves no trace but returned locks and row ids.
 * Writes: the world through world_apply_*, answers in boxes. Fails: the log (then writes stop, reads go on).
 */
#include "walwriter/writer.h"

#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/base/say.h"

#include <errno.h>
#include <stdlib.h>

static Group *group_of(Writer *w, u64 tag) { return &w->groups[tag % GROUP_RING]; }

/* ---- transactions ---- */

void
tx_init(Tx *tx, u32 slot)
{
    *tx = (Tx){.slot = slot};
}

void
tx_done(Tx *tx)
{
    free(tx->frame);
    free(tx->parts);
    free(tx->columns);
    free(tx->pieces);
    free(tx->notes);
    free(tx->changes);
    free(tx->bulk);
    free(tx->marks);
    free(tx->staged);
    free(tx->own_keys);
    free(tx->reads);
    for (u32 i = 0; i < tx->ddl.count; i++)
        staged_free(&tx->ddl.items[i]);
    free(tx->ddl.items);
    if (tx->arena)
        arena_free(tx->arena);
}

bool
tx_grow(void *array_of_any, u32 *capacity, u32 want, size_t size)
{
    void **array = array_of_any;
    if (want <= *capacity)
        return true;
    u32 n = MAX(want, *capacity * 2);
    void *p = realloc(*array, (size_t)n * size);
    if (!p)
        return false;
    *array = p;
    *capacity = n;
    return true;
}

void
tx_granted(void *writer, u32 owner)
{
    Writer *w = writer;
    Tx *tx = &w->txs[owner];
    if (tx->ready)
        return;
    tx->ready = true;
    w->ready[(w->ready_first + w->ready_count++) % w->slot_count] = owner;
}

void
tx_list_bulk(Writer *w, Tx *tx)
{
    if (tx->bulk_listed)
        return;
    tx->bulk_listed = true;
    w->bulk_owners[w->bulk_owner_count++] = tx->slot;
}

/* One entry a table for all layers from the savepoint on. */
bool
tx_merge_bulk(Tx *tx, u32 savepoint)
{
    for (u32 i = 0; i < tx->bulk_count; i++)
        for (u32 k = i + 1; k < tx->bulk_count && tx->bulk[i].floor >= savepoint;) {
            BulkLocks *from = &tx->bulk[k];
            if (from->table_id != tx->bulk[i].table_id) {
                k++;
                continue;
            }
            if (!rowset_move(&tx->bulk[i].rows, &from->rows))
                return false;
            memmove(from, from + 1, (--tx->bulk_count - k) * sizeof *from); /* they stand by ascending floors */
        }
    return true;
}

void
tx_release_bulk(Tx *tx, u32 ordinal)
{
    for (u32 i = 0; i < tx->bulk_count;) {
        if (tx->bulk[i].floor < ordinal) {
            i++;
            continue;
        }
        rowset_clear(&tx->bulk[i].rows);
        memmove(&tx->bulk[i], &tx->bulk[i + 1], (--tx->bulk_count - i) * sizeof *tx->bulk);
    }
}

static void
unlist_bulk(Writer *w, Tx *tx)
{
    for (u32 i = 0; tx->bulk_listed && i < w->bulk_owner_count; i++)
        if (w->bulk_owners[i] == tx->slot) {
            w->bulk_owners[i] = w->bulk_owners[--w->bulk_owner_count];
            break;
        }
    tx->bulk_listed = false;
}

void
tx_forget(Writer *w, Tx *tx)
{
    if (tx->state == TX_PARKED)
        w->parked_count--;
    ddl_undo(w, tx, 0);
    kept_drop(w, tx);
    notify_forget(w, tx);
    locks_release_all(w->locks, tx->slot, tx_granted, w);
    world_unreserve_catalog(w->world, tx->catalog_bytes);
    tx->catalog_bytes = 0;
    for (u32 i = 0; i < tx->bulk_count; i++)
        rowset_clear(&tx->bulk[i].rows);
    tx->bulk_count = 0;
    unlist_bulk(w, tx);
    tx->state = TX_IDLE;
    tx->abandoned = tx->open = tx->failed = false;
    tx->last_ordinal = 0;
    tx->part_count = tx->change_count = tx->piece_count = tx->read_count = 0;
    if (tx->frame_capacity > FRAME_KEPT_BYTES) {
        free(tx->frame);
        tx->frame = NULL;
        tx->frame_capacity = 0;
    }
    if (tx->arena) {
        arena_free(tx->arena);
        tx->arena = NULL;
    }
}

/* Into the open group, which is begun by its first frame: commit_room said that it can be. */
static Lsn
add_frame(Writer *w, const u8 *frame, u32 len)
{
    if (!w->group_open) {
        ensure(wal_group_begin(w->wal));
        w->group_open = true;
    }
    Lsn lsn = wal_group_add(w->wal, frame, len);
    ensure(lsn != 0);
    return lsn;
}

Lsn
commit_frame(Writer *w, const Tx *tx, const u8 *frame, u32 len)
{
    Lsn lsn = add_frame(w, frame, len);
    Group *g = group_of(w, w->next_tag);
    ensure(g->count < g->capacity);
    g->items[g->count++] = (GroupItem){tx->slot, false};
    return lsn;
}

Lsn
commit_own_frame(Writer *w, const u8 *frame, u32 len)
{
    Lsn lsn = add_frame(w, frame, len);
    Group *g = group_of(w, w->next_tag);
    ensure(g->count < g->capacity);
    g->items[g->count++] = (GroupItem){w->slot_count, true};
    return lsn;
}

/* Tell recovery that it need not keep the chain. Losing this record costs memory of a recovery, nothing else. */
static void
log_abort(Writer *w, u64 chain_id)
{
    u8 frame[ABORT_RECORD_BYTES];
    put_le64(frame + RECORD_HEAD_BYTES, chain_id);
    record_frame(frame, WAL_ABORT, 0, 8);
    if (!w->stopped && commit_room(w, sizeof frame))
        (void)add_frame(w, frame, sizeof frame);
}

void
tx_drop_chain(Writer *w, Tx *tx)
{
    if (!tx->chain)
        return;
    if (tx->chain->first_lsn)
        log_abort(w, tx->chain->id);
    chain_drop(w->world, tx->chain);
    tx->chain = NULL;
}

/* What is void is told to the log before anything more of the chain: recovery must not count it. */
static void
undo_chain(Writer *w, Tx *tx, u32 ordinal)
{
    u8 frame[UNDO_RECORD_BYTES];
    UndoRecord u = {.chain_id = tx->chain->id, .kept = chain_undo(w->world, tx->chain, ordinal)};
    if (u.kept >= tx->chain->last_ordinal)
        return; /* nothing of it was logged */
    tx->chain->last_ordinal = u.kept;
    if (w->stopped) {
        tx->lost = w->stopped;
        return;
    }
    undo_encode(&u, frame + RECORD_HEAD_BYTES);
    record_frame(frame, WAL_UNDO, 0, UNDO_BYTES);
    (void)commit_frame(w, tx, frame, sizeof frame);
}

/* With nothing left and nothing before it the transaction is not open any more, whatever locks it keeps. */
void
tx_undo(Writer *w, Tx *tx, u32 ordinal)
{
    kept_undo(w, tx, ordinal);
    ddl_undo(w, tx, ordinal);
    if (tx->chain && tx->open && ordinal > 0)
        undo_chain(w, tx, ordinal);
    else
        tx_drop_chain(w, tx);
    tx->last_ordinal = MIN(tx->last_ordinal, ordinal);
    if (ordinal == 0)
        tx->open = false;
    if (!tx->open)
        kept_drop(w, tx);
}

void
tx_abort(Writer *w, Tx *tx)
{
    ddl_undo(w, tx, 0); /* hidden tables go with their blocks */
    tx_drop_chain(w, tx);
    tx_forget(w, tx);
}

/* ---- the open group ---- */

static void stop_writes(Writer *w, ErrCode code);
static ErrCode code_of(int negative_errno);

/* Room for one more request in the group that is being filled. */
static bool
item_room(Writer *w)
{
    Group *g = group_of(w, w->next_tag);
    if (g->count + ITEMS_A_REQUEST <= g->capacity)
        return true;
    u32 capacity = MAX(g->capacity * 2, 64u);
    GroupItem *items = realloc(g->items, (size_t)capacity * sizeof *items);
    if (!items)
        return false;
    g->items = items;
    g->capacity = capacity;
    return true;
}

bool
commit_room(Writer *w, u32 bytes)
{
    if (w->group_open && wal_group_bytes(w->wal) + bytes > w->group_limit)
        commit_submit(w);
    if (!w->stopped && wal_stopped(w->wal) && wal_in_flight(w->wal) == 0)
        stop_writes(w, code_of(wal_stopped(w->wal)));
    if (w->stopped)
        return false;
    if (!item_room(w) || (!w->group_open && (wal_stopped(w->wal) || wal_in_flight(w->wal) >= GROUPS_IN_FLIGHT))) {
        w->full = true;
        return false;
    }
    return true;
}

static u64
count_rows(const Tx *tx)
{
    u64 rows = tx->change_count;
    for (u32 i = 0; i < tx->part_count; i++)
        rows += tx->parts[i].row_count;
    return rows;
}

/* Add the records around the request's own bytes; returns the frame. */
static u8 *
close_frame(Tx *tx, u32 *ret_len)
{
    u8 *from = tx_request(tx), *end = from + tx->request_len;
    if (tx->chain) {
        ChainRecord head = {.chain_id = tx->chain->id, .statement = tx->statement, .savepoint = tx->savepoint, .ordinal = tx->ordinal};
        from = tx->frame;
        chain_encode(&head, from + RECORD_HEAD_BYTES);
        record_frame(from, WAL_CHAIN, tx->chain->first_lsn ? 0 : CHAIN_FIRST, CHAIN_BYTES);
    }
    if (tx->kind != REQ_PART) {
        CommitRecord c = {.slot = tx->slot, .generation = tx->generation, .sequence = tx->seq, .wall_us = env->wall_us(),
                          .chain_id = tx->chain ? tx->chain->id : 0, .rows = tx->rows};
        commit_encode(&c, end + RECORD_HEAD_BYTES);
        end += record_frame(end, WAL_COMMIT, 0, COMMIT_BYTES);
    }
    *ret_len = (u32)(end - from);
    return from;
}

static void
stage_parts(Writer *w, Tx *tx)
{
    for (u32 i = 0; i < tx->part_count; i++)
        if (tx->parts[i].kind != PART_DELETE)
            world_apply_rows(w->world, &tx->parts[i]);
    if (tx->part_count)
        chain_drop_texts(w->world, tx->chain);
    tx->chain->rows = tx->rows;
    tx->chain->last_ordinal = MAX(tx->chain->last_ordinal, MAX(tx->ordinal, 1u));
}

/* What a PART is told: where its rows are. */
static void
answer_staged(Writer *w, Tx *tx)
{
    BoxShm *b = shm_box(w->shm, tx->slot);
    const PartView *p = tx->part_count ? &tx->parts[0] : NULL;
    tx->open = true;
    u32 records = tx->part_count + tx->change_count + tx->piece_count;
    tx->last_ordinal = MAX(tx->ordinal, 1u) + (records ? records - 1 : 0);
    answer_put(w, tx, ANS_STAGED, 0, tx->change_count ? tx->ddl.items[tx->ddl.count - 1].id : tx->rows, NULL);
    b->ans_row[0] = p ? p->first_row : tx->change_count ? (u64)(uintptr_t)ddl_staged_table(w, tx) : 0;
    b->ans_row[1] = p ? p->second_row : 0;
    b->ans_slot = p && !tx->chain ? (u64)(uintptr_t)world_staged_slot(w->world, p->table_id, tx->slot) : 0;
}

void
commit_add(Writer *w, Tx *tx)
{
    u32 len;
    if (tx->kind == REQ_PART && !tx->chain) {
        tx->rows = count_rows(tx);
        kept_add(w, tx);
        answer_staged(w, tx);
        return;
    }
    if (tx->request_len == 0 && !tx->chain) { /* nothing to do is done */
        if (!notify_was_published(w, tx))
            notify_publish(w, tx);
        tx_forget(w, tx);
        answer_put(w, tx, ANS_OK, world_version(w->world), 0, NULL);
        return;
    }
    tx->rows = count_rows(tx) + (tx->chain ? tx->chain->rows : 0);
    u8 *frame = close_frame(tx, &len);
    if (tx->kind == REQ_PART) {
        Lsn lsn = commit_frame(w, tx, frame, len);
        tx->chain->first_lsn = tx->chain->first_lsn ? tx->chain->first_lsn : lsn;
        stage_parts(w, tx);
        answer_staged(w, tx);
        return;
    }
    tx->lsn = add_frame(w, frame, len);
    Group *g = group_of(w, w->next_tag);
    g->items[g->count++] = (GroupItem){tx->slot, true};
    if (tx->chain)
        stage_parts(w, tx);
    reads_note_changes(w, tx);
    notify_promise(w, tx);
    tx->state = TX_LOGGED;
}

static void group_failed(Writer *w, Group *g, ErrCode code, bool unknown);

static void
stop_writes(Writer *w, ErrCode code)
{
    if (!w->stopped)
        say_error("the redo log cannot be written: writes stop, reads go on");
    w->stopped = code;
    w->resume_at_ns = env->monotonic_ns() + RESUME_EVERY_NS;
    counter_add_u64(&w->shm->writer->wal_failures, 1);
    publish_u32(&w->shm->writer->pub_writes_stopped, code);
}

static ErrCode
code_of(int negative_errno)
{
    return negative_errno == -ENOSPC || negative_errno == -EDQUOT ? ERR_DISK_FULL : ERR_IO_ERROR;
}

void
commit_submit(Writer *w)
{
    if (!w->group_open)
        return;
    Group *g = group_of(w, w->next_tag);
    w->group_open = false;
    g->tag = w->next_tag;
    g->begun_ns = env->monotonic_ns();
    w->shm->writer->log_payload += wal_group_bytes(w->wal);
    FAULT(WAL_BEFORE_SUBMIT);
    int failed = wal_group_submit(w->wal, w->next_tag);
    FAULT(WAL_AFTER_SUBMIT);
    if (failed) {
        stop_writes(w, code_of(failed));
        group_failed(w, g, w->stopped, false);
        if (w->oldest_tag == w->next_tag)
            world_untake_rows(w->world);
        return;
    }
    group_of(w, ++w->next_tag)->count = 0;
}

/* ---- durable ---- */

/* Waiters for a row that an UPDATE replaced wait for its successor from now on, and late requests find the way. */
static void
forward_rows(Writer *w, const PartView *p)
{
    for (u32 i = 0; i < p->row_count; i++) {
        RowId to = i < p->first_count ? p->first_row + i : p->second_row + (i - p->first_count);
        if (locks_rows_follow(w->locks))
            locks_move_row(w->locks, p->table_id, p->old_rows[i], to);
        w->forward[hash_u64(p->old_rows[i] ^ p->table_id) % FORWARD_PLACES] = (Forward){p->table_id, p->old_rows[i], to};
    }
}

static void
apply(Writer *w, Tx *tx)
{
    bool staged = tx->ddl.count > 0;
    staged_apply(w->world, &tx->ddl, tx->arena);
    if (tx->chain) {
        chain_commit(w->world, tx->chain, tx->lsn);
        tx->chain = NULL;
        return;
    }
    for (u32 i = 0; i < tx->part_count; i++) {
        const PartView *p = &tx->parts[i];
        world_apply_part(w->world, p, tx->lsn);
        if (p->kind == PART_UPDATE)
            forward_rows(w, p);
    }
    for (u32 i = 0; i < tx->change_count && !staged; i++) {
        const CatalogChange *c = &tx->changes[i];
        arena_reset(tx->arena);
        ddl_apply(w->world, tx->arena, c->kind, c->payload, c->len);
    }
}

static void
group_durable(Writer *w, Group *g)
{
    WriterShm *shm = w->shm->writer;
    u64 version = 0;
    FAULT(WAL_AFTER_DURABLE);
    bool compacted = false;
    for (u32 i = 0; i < g->count; i++)
        if (g->items[i].slot == w->slot_count) {
            version = compact_durable(w);
            compacted = true;
        } else if (g->items[i].commit) {
            Tx *tx = &w->txs[g->items[i].slot];
            apply(w, tx);
            version = tx->lsn;
        }
    FAULT(WAL_AFTER_APPLY);
    if (version)
        world_publish(w->world, version);
    w->compactor.hungry |= version && !compacted;
    FAULT(WAL_AFTER_PUBLISH);
    if (compacted)
        compact_published(w);
    for (u32 i = 0; i < g->count; i++) {
        if (!g->items[i].commit || g->items[i].slot == w->slot_count)
            continue;
        Tx *tx = &w->txs[g->items[i].slot];
        bool gone = tx->abandoned;
        u64 lsn = tx->lsn, rows = tx->rows;
        notify_publish(w, tx);
        tx_forget(w, tx);
        if (!gone)
            answer_put(w, tx, ANS_OK, lsn, rows, NULL);
        shm->transactions++;
    }
    shm->groups++;
    shm->sync_ns += env->monotonic_ns() - g->begun_ns;
    publish_u64(&shm->pub_durable_lsn, wal_durable_lsn(w->wal));
    publish_u64(&shm->pub_published_lsn, world_version(w->world));
}

/* ---- failure ---- */

static void
group_failed(Writer *w, Group *g, ErrCode code, bool unknown)
{
    Error err;
    for (u32 i = 0; i < g->count; i++) {
        if (g->items[i].slot == w->slot_count) {
            compact_failed(w);
            continue;
        }
        Tx *tx = &w->txs[g->items[i].slot];
        bool commit = g->items[i].commit, parked = tx->state == TX_PARKED;
        if (!commit && (!tx->chain || tx->state == TX_LOGGED))
            continue; /* ended before, or its commit fails with a later group */
        if (!commit && !parked) { /* its next request is told; until then its owner may be reading what it staged */
            tx->lost = code;
            continue;
        }
        ddl_undo(w, tx, 0);
        if (tx->chain)
            chain_drop(w->world, tx->chain);
        tx->chain = NULL;
        bool gone = tx->abandoned;
        tx_forget(w, tx);
        if (gone)
            continue;
        if (unknown)
            error_set(&err, ERR_OUTCOME_UNKNOWN, "could not write to the redo log: whether the transaction is kept is not known");
        else
            error_set(&err, code, code == ERR_DISK_FULL ? "could not write to the redo log: no space left on device"
                                                        : "could not write to the redo log");
        answer_put(w, tx, ANS_ERROR, 0, 0, &err);
    }
    g->count = 0;
}

void
commit_event(Writer *w, const WalEvent *e)
{
    Group *g = group_of(w, e->tag);
    ensure(e->tag == w->oldest_tag && g->tag == e->tag);
    if (e->result < 0) {
        stop_writes(w, code_of(e->result));
        group_failed(w, g, w->stopped, true);
    } else
        group_durable(w, g);
    w->oldest_tag++;
    w->full = false;
    w->unsealed = true;
    w->seal_at_ns = env->monotonic_ns() + SEAL_AFTER_NS;
    if (w->stopped && w->oldest_tag == w->next_tag)
        world_untake_rows(w->world);
}

void
commit_try_resume(Writer *w, u64 now_ns)
{
    Error err;
    if (!w->stopped || now_ns < w->resume_at_ns || w->oldest_tag != w->next_tag)
        return;
    w->resume_at_ns = now_ns + RESUME_EVERY_NS;
    if (!wal_writer_resume(w->wal, &err))
        return;
    say_info("the redo log can be written again: writes go on");
    w->stopped = ERR_NONE;
    w->full = false;
    publish_u32(&w->shm->writer->pub_writes_stopped, ERR_NONE);
    compact_log_again(w);
}

/* ---- answers ---- */

void
answer_put(Writer *w, Tx *tx, AnsStatus status, u64 version, u64 rows, const Error *err)
{
    BoxShm *b = shm_box(w->shm, tx->slot);
    b->ans_status = status;
    b->ans_version = version;
    b->ans_rows = rows;
    b->ans_txn = b->ans_open[tx->seq % 2] = tx->chain ? tx->chain->id : tx->open ? OPEN_TXN : 0;
    b->ans_wake_next[0] = b->ans_wake_next[1] = -1;
    if (err) {
        b->ans_error = *err;
        b->ans_row[0] = err->code == ERR_UNIQUE_VIOLATION ? w->clash_hash : 0;
    }
    w->answered[w->answered_count++] = tx->slot;
}

/* Publish the answers of this turn. Two are woken here, each of them wakes two more, and so on. */
void
answer_flush(Writer *w)
{
    u32 n = w->answered_count;
    for (u32 i = n; i-- > 0;) { /* who is woken by others before those others */
        BoxShm *b = shm_box(w->shm, w->answered[i]);
        for (u32 k = 0; k < 2; k++)
            b->ans_wake_next[k] = 2 * i + 2 + k < n ? (i32)w->answered[2 * i + 2 + k] : -1;
        publish_u64(&b->pub_ans_seq, w->txs[w->answered[i]].seq);
        publish_u32(&b->pub_latch, b->pub_latch + 1);
    }
    for (u32 i = 0; i < n && i < 2; i++)
        latch_wake(&shm_box(w->shm, w->answered[i])->pub_latch, 1);
    w->answered_count = 0;
    notify_wake(w);
}
