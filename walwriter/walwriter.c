/*
 * walwriter.c
 *    The single writer's role: recover, then one loop that judges, logs, applies, publishes and answers.
 *
 * A turn: wait in wal_wait (the only place that blocks) for durable groups, the eventfd or a deadline; handle durable groups in order;
 * bring back parked requests whose lock was granted; take new requests from the boxes; give the group to the log while less than the
 * ring's depth are in flight (never waiting for a full one); wake who was answered; reclaim a bounded piece of memory. Before it sleeps it sets
 * pub_asleep, fences, and looks at the boxes once more, so that no request is slept over.
 *
 * Signals: SIGTERM stops it when all in flight is durable, SIGQUIT at once.
 * Writes: the world, the walwriter's page of the boxes, WriterShm. Fails: a log that cannot be read ends the process with a message.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"
#include "common/base/say.h"
#include "common/proc/proc.h"

#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    RING_DEPTH = 16, /* the log's groups, its watermark, and room */
    EVENTS_A_TURN = 16,
    SEGMENT_MARGIN_BYTES = 64 * 1024, /* what a segment may need besides one group */
    WAIT_MAX_NS = 1000 * 1000 * 1000,
    RECLAIM_EVERY_NS = 20 * 1000 * 1000,
    RECLAIM_PIECES = 4,
    MEMORY_WAIT_NS = 1000 * 1000 * 1000,
    MEMORY_LOOK_NS = 1000 * 1000,
    REOPEN_EVERY_NS = 500 * 1000 * 1000,
    REFUSE_EVERY_US = 10 * 1000,
};

/* ---- opening ---- */

static bool
make_state(Writer *w, Shm *shm)
{
    w->shm = shm;
    w->slot_count = shm->slot_count;
    w->locks = locks_new(w->slot_count + 1); /* and the compactor */
    w->txs = calloc(w->slot_count, sizeof(Tx));
    w->ready = calloc(w->slot_count, sizeof(u32));
    w->answered = calloc(w->slot_count, sizeof(u32));
    w->bulk_owners = calloc(w->slot_count, sizeof(u32));
    w->notify_told = calloc(w->slot_count, sizeof(u64));
    w->notify_told_generation = calloc(w->slot_count, sizeof(u32));
    if (!w->locks || !w->txs || !w->ready || !w->answered || !w->bulk_owners)
        return false;
    for (u32 i = 0; i < w->slot_count; i++)
        tx_init(&w->txs[i], i);
    return true;
}

/* Log a frame of our own and wait until it is durable. Returns its LSN, 0 when the log failed. */
static Lsn
log_and_wait(Writer *w, const ByteBuf *frame)
{
    WalEvent e;
    if (!wal_group_begin(w->wal))
        return 0;
    Lsn lsn = wal_group_add(w->wal, frame->data, (u32)frame->len);
    if (!lsn || wal_group_submit(w->wal, 0) != 0)
        return 0;
    for (;;) {
        bool rung;
        if (wal_wait(w->wal, -1, env->monotonic_ns() + WAIT_MAX_NS, &e, 1, &rung) > 0)
            return e.result < 0 ? 0 : lsn;
    }
}

static void
apply_own_frame(Writer *w, const ByteBuf *frame, Lsn lsn)
{
    const u8 *at = frame->data;
    bool bad;
    Arena *a = arena_new("own record", 0, NULL);
    ensure(a);
    for (Record r; record_next(&at, frame->data + frame->len, &r, &bad);)
        if (ddl_is_catalog(r.kind))
            ddl_apply(w->world, a, r.kind, r.payload, r.len);
    arena_free(a);
    world_publish(w->world, lsn);
}

/* The root role at the first start, its password whenever another one is given. */
static bool
set_root(Writer *w, const char *password, Error *err)
{
    ByteBuf frame = {0};
    bool ok = true;
    if (recover_root_record(w->world, w->shm, password, &frame)) {
        ok = world_reserve_catalog(w->world, 0, err);
        Lsn lsn = ok ? log_and_wait(w, &frame) : 0;
        if (lsn)
            apply_own_frame(w, &frame, lsn);
        else if (ok)
            ok = error_set(err, ERR_IO_ERROR, "could not write to the redo log");
    }
    buf_free(&frame);
    return ok;
}

/* After a takeover: who waits for a commit that is in the log gets its answer; open chains are lost; the rest is judged afresh. */
static void
adopt_boxes(Writer *w, const Recovered *r)
{
    for (u32 i = 0; i < w->slot_count; i++) {
        Tx *tx = &w->txs[i];
        const BoxShm *b = shm_box(w->shm, i);
        const SlotShm *s = &w->shm->control->slots[i];
        tx->seen_seq = tx->seq = observe_u64(&b->pub_ans_seq);
        if (observe_u32(&s->pub_state) != SLOT_TAKEN)
            continue;
        tx->generation = observe_u32(&s->pub_generation);
        tx->in_use = true;
        if (b->ans_open[tx->seen_seq % 2])
            tx->lost = ERR_SERIALIZATION_FAILURE;
        u64 asked = observe_u64(&b->pub_req_seq);
        for (u32 k = 0; asked != tx->seen_seq && k < r->answer_count; k++) {
            const CommitRecord *c = &r->answers[k];
            if (c->slot != i || c->generation != tx->generation || c->sequence != asked)
                continue;
            tx->seen_seq = tx->seq = asked;
            tx->lost = ERR_NONE;
            answer_put(w, tx, ANS_OK, r->answer_lsns[k], c->rows, NULL);
        }
    }
    answer_flush(w);
}

/* Its commit is in the log: whether it counts is known once the new log has begun. */
static bool
is_logged(const Recovered *r, u32 slot, u64 sequence)
{
    for (u32 i = 0; i < r->answer_count; i++)
        if (r->answers[i].slot == slot && r->answers[i].sequence == sequence)
            return true;
    return false;
}

/* Who waits and is not in the log is told why nothing can be written. */
static void
refuse_boxes(Writer *w, const Recovered *r, const Error *err)
{
    for (u32 i = 0; i < w->slot_count; i++) {
        const BoxShm *b = shm_box(w->shm, i);
        u64 asked = observe_u64(&b->pub_req_seq);
        if (observe_u32(&w->shm->control->slots[i].pub_state) != SLOT_TAKEN || asked == observe_u64(&b->pub_ans_seq) || is_logged(r, i, asked))
            continue;
        w->txs[i].seq = asked;
        answer_put(w, &w->txs[i], ANS_ERROR, 0, 0, err);
    }
    answer_flush(w);
}

/* The disk takes no new segment: wait a little, telling who asks. That is work, too: who is killed at it says nothing about its successor. */
static void
wait_for_disk(Writer *w, const Recovered *r, const Error *err)
{
    WriterShm *shm = w->shm->writer;
    if (shm->pub_writes_stopped != (u32)err->code || !w->stopped) {
        say_error("%s: changes are refused until it can be written, reads go on", err->message);
        publish_u64(&shm->pub_ready, observe_u64(&shm->pub_ready) + 1);
    }
    w->stopped = err->code;
    publish_u32(&shm->pub_writes_stopped, err->code);
    for (u64 until_ns = env->monotonic_ns() + REOPEN_EVERY_NS; env->monotonic_ns() < until_ns;) {
        if (proc_flag(PROC_QUIT) || proc_flag(PROC_STOP) || proc_flag(PROC_FAST_STOP))
            _exit(2);
        refuse_boxes(w, r, err);
        usleep(REFUSE_EVERY_US);
    }
}

/* A world that is taken over has readers, who need no log: until the disk takes a new segment it is tried again, and changes are refused (P5). */
static bool
begin_log(Writer *w, const WriterOptions *o, const Recovered *r, Error *err)
{
    while (!wal_writer_open(w->io, o->wal_dir_fd, r->verdict.valid_through, r->verdict.last_epoch, o->segment_bytes, &w->wal, err)) {
        if (!o->take_over || (err->code != ERR_DISK_FULL && err->code != ERR_IO_ERROR))
            return false;
        wait_for_disk(w, r, err);
    }
    w->stopped = ERR_NONE;
    publish_u32(&o->shm->writer->pub_writes_stopped, ERR_NONE);
    return true;
}

static void
say_recovered(const Writer *w, const Recovered *r, u64 begun_ns, const char *engine_why)
{
    if (r->snapshot)
        say_info("snapshot %llu, of LSN %llu: %.1f MB read in %.3f s; the redo log goes on from LSN %llu", (unsigned long long)r->snapshot,
                 (unsigned long long)r->snapshot_version, (double)r->snapshot_file_bytes / 1e6, (double)r->snapshot_ns / 1e9, (unsigned long long)r->log_start);
    say_info("recovered %llu transactions in %.3f s, dropped %llu unfinished ones; redo log: %s; %s", (unsigned long long)r->transactions,
             (double)(env->monotonic_ns() - begun_ns) / 1e9, (unsigned long long)r->chains_dropped,
             r->verdict.text[0] ? r->verdict.text : "empty", io_kind(w->io) == IO_ENGINE_RING ? "writes by io_uring" : engine_why);
}

/* A folder of the log with nothing in it is a new database only when no server ever opened its doors on it. */
static bool
is_complete(const WriterOptions *o, const Recovered *r, Error *err)
{
    if (!o->log_begun || r->verdict.segments > 0)
        return true;
    error_set(err, ERR_DATA_CORRUPTED, "redo log is missing: its folder is empty, but this database has one from LSN %u on", (unsigned)WAL_ALIGN);
    error_hint(err, "Restore the folder from a copy, or the database from a backup. Nothing was changed.");
    return false;
}

static bool
open_all(Writer *w, const WriterOptions *o, Error *err)
{
    Recovered r = {0};
    u64 begun_ns = env->monotonic_ns();
    const char *why = "";
    if (!make_state(w, o->shm) || !(w->io = io_new(o->engine, RING_DEPTH, &why)))
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    bool ok = world_open(o->shm, o->take_over, &w->world, err) &&
              (o->take_over || restore_run(&w->world, o->shm, w->io, o->snap_dir_fd, o->database_id, &r, err)) &&
              recover_run(w->world, o->shm, w->io, o->wal_dir_fd, o->take_over, &r, err) &&
              is_complete(o, &r, err) &&
              begin_log(w, o, &r, err);
    if (ok && r.version > world_version(w->world))
        world_publish(w->world, r.version);
    if (ok)
        world_recovered(w->world);
    ok = ok && (o->take_over || set_root(w, o->root_password, err));
    if (ok) {
        if (!o->take_over)
            o->shm->writer->first_lsn = wal_next_lsn(w->wal);
        w->snapshot_cancel_percent = o->snapshot_cancel_percent;
        w->old_slot = UINT32_MAX;
        w->compactor.dead_percent = o->compact_dead_percent;
        w->compactor.dead_rows = o->compact_dead_rows;
        w->next_chain = wal_next_lsn(w->wal);
        w->next_tag = w->oldest_tag = 1;
        w->group_limit = (u32)MIN((u64)GROUP_LIMIT_BYTES, o->segment_bytes - SEGMENT_MARGIN_BYTES);
        snapshot_begin(w, o, &r);
        say_recovered(w, &r, begun_ns, why);
        reads_restarted(w);
        notify_taken_over(w);
        adopt_boxes(w, &r);
    }
    free(r.answers);
    free(r.answer_lsns);
    return ok;
}

static void
free_all(Writer *w)
{
    for (u32 i = 0; w->txs && i < w->slot_count; i++) {
        kept_drop(w, &w->txs[i]);
        if (w->txs[i].chain)
            chain_drop(w->world, w->txs[i].chain);
        for (u32 b = 0; b < w->txs[i].bulk_count; b++)
            rowset_clear(&w->txs[i].bulk[b].rows);
        tx_done(&w->txs[i]);
    }
    compact_done(w);
    for (u32 g = 0; g < GROUP_RING; g++)
        free(w->groups[g].items);
    if (w->wal)
        wal_writer_free(w->wal);
    if (w->io)
        io_free(w->io);
    if (w->world)
        world_close(w->world);
    locks_free(w->locks);
    free(w->txs);
    free(w->ready);
    free(w->answered);
    free(w->bulk_owners);
    free(w->notify_told);
    free(w->notify_told_generation);
    free(w->scratch);
    free(w);
}

bool
writer_open(const WriterOptions *o, Writer **ret, Error *err)
{
    Writer *w = calloc(1, sizeof *w);
    if (!w)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    if (!open_all(w, o, err)) {
        free_all(w);
        return false;
    }
    const SecretShm *root = recover_secret(o->shm->secrets, ROLE_ROOT);
    o->shm->writer->root_has_password = root && root->verifier[0];
    o->shm->writer->io_engine = io_kind(w->io);
    publish_u64(&o->shm->writer->pub_durable_lsn, wal_durable_lsn(w->wal));
    publish_u64(&o->shm->writer->pub_published_lsn, world_version(w->world));
    publish_u64_fenced(&o->shm->writer->pub_ready, observe_u64(&o->shm->writer->pub_ready) + 1);
    world_taken_over(w->world);
    *ret = w;
    return true;
}

/* ---- a turn ---- */

static u64
next_deadline_ns(const Writer *w, u64 now_ns)
{
    u64 at = MIN(now_ns + WAIT_MAX_NS, intake_deadline_ns(w));
    if (w->stopped)
        at = MIN(at, w->resume_at_ns);
    if (w->unsealed && wal_in_flight(w->wal) == 0)
        at = MIN(at, w->seal_at_ns);
    if (world_has_retired(w->world))
        at = MIN(at, w->reclaim_at_ns);
    at = MIN(at, compact_deadline_ns(w, now_ns));
    at = MIN(at, snapshot_deadline_ns(w, now_ns));
    if (w->memory_wait)
        at = MIN(at, now_ns + MEMORY_LOOK_NS);
    return MAX(at, now_ns + 1);
}

static void
wait_for_work(Writer *w)
{
    WalEvent events[EVENTS_A_TURN];
    bool rung = false;
    publish_u64_fenced(&w->shm->writer->pub_asleep, 1);
    bool sleep = w->full || w->memory_wait || !intake_pending(w);
    u64 deadline = sleep ? next_deadline_ns(w, env->monotonic_ns()) : 0;
    if (!sleep)
        publish_u64(&w->shm->writer->pub_asleep, 0);
    u32 n = wal_wait(w->wal, w->shm->writer_event_fd, deadline, events, EVENTS_A_TURN, &rung);
    publish_u64(&w->shm->writer->pub_asleep, 0);
    for (u32 i = 0; i < n; i++)
        commit_event(w, &events[i]);
}

/* A statement that does not fit now may fit in a moment: what was dropped, replaced or compacted just before comes back when the readers of that moment have
 * gone on. So when little is left, requests that take memory wait; once a shortage. */
static void
look_at_memory(Writer *w, u64 now_ns)
{
    bool is_short = world_is_short(w->world);
    if (is_short && !w->memory_short)
        w->memory_until_ns = now_ns + MEMORY_WAIT_NS;
    w->memory_short = is_short;
    w->memory_wait = is_short && now_ns < w->memory_until_ns && world_gives_back(w->world);
    w->compactor.wanted = is_short;
    w->compactor.hungry |= is_short;
    signal_old_snapshot(w, now_ns);
}

/* Memory that no pin reaches any more is given back, a few pieces a turn. An idle writer publishes an epoch so that pins move on; one that waits for the log
 * only when much is to be had: the frames of a chain, or its end, publish nothing. */
static void
reclaim(Writer *w, u64 now_ns)
{
    bool much = world_has_much_retired(w->world) || (w->memory_short && world_gives_back(w->world));
    if (!world_has_retired(w->world) || (now_ns < w->reclaim_at_ns && !much))
        return;
    w->reclaim_at_ns = now_ns + RECLAIM_EVERY_NS;
    if (wal_in_flight(w->wal) == 0 || much)
        world_publish(w->world, 0);
    for (u32 i = 0; i < RECLAIM_PIECES && world_reclaim(w->world); i++)
        ;
}

static void
seal_when_idle(Writer *w, u64 now_ns)
{
    if (!w->unsealed || w->stopped || now_ns < w->seal_at_ns || wal_in_flight(w->wal) > 0)
        return;
    w->unsealed = false;
    int failed = wal_seal(w->wal); /* if that stops the log, the next request finds out */
    if (failed)
        say_warn("the redo log could not be sealed: %s", strerror(-failed));
}

/* All answers are out: what a successor would have to read of the log. */
static void
publish_takeover_lsn(Writer *w)
{
    u64 lsn = world_version(w->world);
    for (u32 i = 0; i < w->bulk_owner_count; i++) {
        const Chain *c = w->txs[w->bulk_owners[i]].chain;
        if (c && c->first_lsn)
            lsn = MIN(lsn, c->first_lsn);
    }
    publish_u64(&w->shm->writer->pub_takeover_lsn, lsn);
}

static void
report(Writer *w)
{
    WriterShm *s = w->shm->writer;
    publish_takeover_lsn(w);
    s->lock_count = 0;
    for (int space = LOCK_ROW; space <= LOCK_ADVISORY; space++)
        s->lock_count += locks_space_count(w->locks, (LockSpace)space);
    relax_store_u64(&s->parked_count, w->parked_count); /* tests look at it */
    s->world_used_bytes = world_used_bytes(w->world);
}

void
writer_turn(Writer *w)
{
    wait_for_work(w);
    u64 now_ns = env->monotonic_ns();
    commit_try_resume(w, now_ns);
    w->full = false;
    intake_parked(w, now_ns);
    intake_ready(w);
    if (!w->stopping)
        intake_scan(w);
    compact_turn(w, now_ns);
    snapshot_turn(w, now_ns);
    commit_submit(w);
    answer_flush(w);
    reclaim(w, now_ns);
    look_at_memory(w, now_ns);
    seal_when_idle(w, now_ns);
    report(w);
}

void
writer_close(Writer *w)
{
    w->stopping = true;
    compact_stop(w);
    while (wal_in_flight(w->wal) > 0)
        writer_turn(w);
    if (!w->stopped && wal_seal(w->wal) != 0)
        say_warn("the redo log could not be sealed");
    free_all(w);
}

/* ---- the role ---- */

static IoEngineKind
wanted_engine(const Conf *c)
{
    return strcmp(conf_text(c, io_method), "sync") == 0 ? IO_ENGINE_PLAIN : IO_ENGINE_RING;
}

static void
ring_postmaster(const Shm *shm)
{
    u64 one = 1;
    if (write(shm->postmaster_event_fd, &one, sizeof one) < 0) {
        /* full: it is awake */
    }
}

void
walwriter_main(Boot *boot)
{
    Writer *w;
    Error err;
    proc_signals(false);
    proc_signal_eventfd(boot->shm.writer_event_fd);
    int failed = shm_attach(&boot->shm, SHM_WALWRITER, 0);
    if (failed)
        say_fatal("cannot attach to shared memory: %s", strerror(-failed));
    WriterOptions o = {.shm = &boot->shm, .wal_dir_fd = boot->wal_dir_fd, .snap_dir_fd = boot->snap_dir_fd, .database_id = boot->database_id,
                       .segment_bytes = (u64)conf_int(&boot->conf, wal_segment_size), .snapshot_bytes = (u64)conf_int(&boot->conf, max_wal_size),
                       .engine = wanted_engine(&boot->conf), .take_over = boot->take_over, .log_begun = boot->log_begun, .root_password = boot->root_password,
                       .snapshot_cancel_percent = (u32)conf_int(&boot->conf, snapshot_cancel_percent),
                       .compact_dead_percent = (u32)conf_int(&boot->conf, compact_dead_percent),
                       .compact_dead_rows = (u32)conf_int(&boot->conf, compact_dead_rows)};
    bool ok = writer_open(&o, &w, &err);
    sodium_memzero(boot->root_password, sizeof boot->root_password);
    if (!ok)
        say_fatal("%s%s%s", err.message, err.detail[0] ? ": " : "", err.detail);
    ring_postmaster(&boot->shm);
    for (;;) {
        if (proc_flag(PROC_QUIT))
            _exit(2);
        if (proc_flag(PROC_STOP) || proc_flag(PROC_FAST_STOP)) {
            const WriterShm *counts = boot->shm.writer;
            writer_close(w);
            say_info("stopped after %llu transactions in %llu groups; %llu statements ran again after waiting for a row or key",
                     (unsigned long long)counts->transactions, (unsigned long long)counts->groups, (unsigned long long)counts->retries);
            _exit(0);
        }
        (void)proc_flag_take(PROC_RELOAD); /* nothing of it is reloadable */
        writer_turn(w);
    }
}
