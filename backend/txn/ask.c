/*
 * ask.c
 *    The session's side of the box: post a request, wait for its answer, follow the state of the transaction.
 *
 * Steps of a request (box.h): write area and req_*, publish pub_req_seq, fence, ring the walwriter if it sleeps. The area is not
 * read again after publishing. The answer always comes, so the wait ends only with it; each sleep has a deadline and looks
 * again, since the one who should wake us may have died (answers are passed on from backend to backend, see pass_on).
 * Between ask_post and ask_collect nothing is thrown.
 * Writes: the backend's part of the own box. Fails: the answers ERROR, RETRY, REPLAN.
 */
#include "backend/txn/ask.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/env.h"
#include "common/base/fault.h"
#include "common/shm/publish.h"

enum { LOOK_AGAIN_MS = 100 };

Txn *
txn_new(Arena *session, Shm *shm, u32 slot, u32 generation, const i32 *lock_timeout_ms)
{
    Txn *t = ARENA_NEW(session, Txn);
    t->shm = shm;
    t->box = shm_box(shm, slot);
    t->slot = slot;
    t->generation = generation;
    t->lock_timeout_ms = lock_timeout_ms;
    snapshot_unpin(t->box); /* of the slot's last owner */
    return t;
}

const Snapshot *
txn_snapshot(Txn *t)
{
    if (!t->pinned) {
        t->snapshot = snapshot_pin(t->shm, t->box);
        t->pinned = true;
    }
    return &t->snapshot;
}

static void
drop_snapshot(Txn *t)
{
    if (t->pinned)
        snapshot_unpin(t->box);
    t->pinned = false;
}

void
txn_end_statement(Txn *t)
{
    ask_rollback(t);
    drop_snapshot(t);
    t->retries = 0;
}

u8 *
ask_area(Txn *t)
{
    ensure(t->asked_seq == 0);
    return t->box->area;
}

void
ask_post(Txn *t, ReqKind kind, u32 len)
{
    BoxShm *b = t->box;
    ensure(t->asked_seq == 0 && len <= BOX_AREA_BYTES);
    FAULT(BACKEND_BEFORE_REQUEST);
    b->req_kind = kind;
    b->req_len = len;
    b->req_generation = t->generation;
    b->req_flags = t->retries >= RETRIES_BEFORE_TABLE_LOCK ? REQ_FLAG_TABLE_LOCK : 0;
    b->req_version = t->pinned ? t->snapshot.version : 0;
    b->req_deadline_ns = *t->lock_timeout_ms > 0 ? env->monotonic_ns() + (u64)*t->lock_timeout_ms * 1000000 : 0;
    t->asked_seq = observe_u64(&b->pub_req_seq) + 1;
    publish_u64_fenced(&b->pub_req_seq, t->asked_seq);
    shm_ring_writer(t->shm);
    FAULT(BACKEND_AFTER_REQUEST);
}

/* A woken backend wakes two more, so that the walwriter need not wake all of a group. */
static void
pass_on(Txn *t)
{
    for (u32 i = 0; i < COUNT_OF(t->box->ans_wake_next); i++) {
        i32 slot = t->box->ans_wake_next[i];
        if (slot >= 0 && (u32)slot < t->shm->slot_count)
            latch_wake(&shm_box(t->shm, (u32)slot)->pub_latch, 1);
    }
}

Answer
ask_collect(Txn *t, Error *ret_error)
{
    BoxShm *b = t->box;
    u64 seq = t->asked_seq;
    bool withdrawn = false;
    ensure(seq != 0);
    relax_store_u32(&b->state, BOX_WAITING);
    for (;;) {
        u32 latch = observe_u32(&b->pub_latch);
        if (observe_u64(&b->pub_ans_seq) == seq)
            break;
        if (!withdrawn && interrupt_pending()) {
            publish_u64_fenced(&b->pub_withdraw_seq, seq);
            shm_ring_writer(t->shm);
            withdrawn = true;
        }
        interrupt_quit(); /* nobody may be left to answer */
        latch_wait(&b->pub_latch, latch, env->monotonic_ns() + LOOK_AGAIN_MS * 1000000ull);
    }
    pass_on(t);
    relax_store_u32(&b->state, BOX_ACTIVE);
    FAULT(BACKEND_AFTER_ANSWER);
    t->asked_seq = 0;
    Answer a = {(AnsStatus)b->ans_status, b->ans_version, b->ans_rows};
    if (a.status == ANS_ERROR)
        *ret_error = b->ans_error;
    return a;
}

TxnOutcome
ask_settle(Txn *t, const Answer *a, const Error *error)
{
    switch (a->status) {
    case ANS_STAGED:
        t->chain_open = true;
        return TXN_DONE;
    case ANS_RETRY:
        /* What was staged is gone, the locks stay. The answer's version was published before the answer. */
        t->chain_open = false;
        t->locks_kept = true;
        t->retries++;
        drop_snapshot(t);
        ensure(txn_snapshot(t)->version >= a->version);
        return TXN_RETRY;
    case ANS_REPLAN:
        t->chain_open = t->locks_kept = false;
        drop_snapshot(t);
        return TXN_REPLAN;
    case ANS_OK:
        t->chain_open = t->locks_kept = false;
        return TXN_DONE;
    case ANS_ERROR:
        break;
    }
    t->chain_open = t->locks_kept = false;
    if (error->code == ERR_QUERY_CANCELED)
        interrupt_check(); /* knows better which cancel it was */
    err_rethrow(error);
}

void
ask_rollback(Txn *t)
{
    Error ignored;
    if (t->asked_seq) {
        publish_u64_fenced(&t->box->pub_withdraw_seq, t->asked_seq);
        shm_ring_writer(t->shm);
        Answer a = ask_collect(t, &ignored);
        if (a.status == ANS_STAGED)
            t->chain_open = true;
        else
            t->chain_open = false;
        t->locks_kept = a.status == ANS_RETRY;
    }
    if (!t->chain_open && !t->locks_kept)
        return;
    ask_post(t, REQ_ROLLBACK, 0);
    (void)ask_collect(t, &ignored);
    t->chain_open = t->locks_kept = false;
}
