/*
 * ask.c
 *    The session's side of the box: post a request, wait for its answer, follow what is open at the walwriter.
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

void
ask_check(const Txn *t)
{
    if (t->lost)
        err_rethrow(&t->loss_error);
}

u8 *
ask_area(Txn *t)
{
    ensure(t->asked_seq == 0);
    ask_check(t);
    return t->box->area;
}

void
ask_post(Txn *t, ReqKind kind, u32 flags, u32 len, u32 records)
{
    BoxShm *b = t->box;
    ensure(t->asked_seq == 0 && len <= BOX_AREA_BYTES);
    FAULT(BACKEND_BEFORE_REQUEST);
    if (t->retries >= RETRIES_BEFORE_TABLE_LOCK)
        flags |= REQ_FLAG_TABLE_LOCK;
    if (t->isolation != TXN_READ_COMMITTED)
        flags |= REQ_FLAG_SNAPSHOT;
    else if (t->block && kind == REQ_PART)
        flags |= REQ_FLAG_NEWEST_ROWS;
    b->req_kind = kind;
    b->req_len = len;
    relax_store_u32(&b->req_generation, t->generation);
    b->req_flags = flags;
    b->req_version = t->pinned ? t->published.version : 0;
    b->req_deadline_ns = *t->lock_timeout_ms > 0 ? env->monotonic_ns() + (u64)*t->lock_timeout_ms * 1000000 : 0;
    b->req_ordinal = t->ordinal + 1;
    b->req_statement = t->statement;
    b->req_savepoint = t->savepoint;
    t->ordinal += records;
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

/* What is open at the walwriter after this answer. In a block an error with nothing left open means that the walwriter dropped the
 * transaction (it was restarted, or the log failed): what was done in it is gone. */
static void
follow(Txn *t, const Answer *a, const Error *error)
{
    u64 before = t->open_id;
    t->open_id = t->box->ans_txn;
    t->end_due = a->status == ANS_RETRY;
    if (!before && t->open_id)
        t->opened_by = observe_u64(&t->shm->writer->pub_ready);
    if (t->block && before && !t->open_id && a->status == ANS_ERROR)
        txn_set_lost(t, error);
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
    Answer a = {(AnsStatus)b->ans_status, b->ans_version, b->ans_rows, b->ans_slot, {b->ans_row[0], b->ans_row[1]}};
    if (a.status == ANS_ERROR)
        *ret_error = b->ans_error;
    follow(t, &a, ret_error);
    return a;
}

/* What the running statement staged is gone, the locks stay. */
static void
forget_statement(Txn *t)
{
    txn_notes_cut(t, t->statement_notes);
    if (t->block && t->own)
        own_undo(t->own, t->statement);
}

/* ALTER TABLE found two rows with the same key: the walwriter speaks of one that comes to another. */
static NORETURN void
throw_not_unique(const Error *error)
{
    Error err = *error;
    static const char there[] = " already exists.";
    size_t len = strlen(err.detail);
    error_set(&err, ERR_UNIQUE_VIOLATION, "could not create unique index \"%s\"", error->constraint);
    if (len > strlen(there) && strcmp(error->detail + len - strlen(there), there) == 0)
        error_detail(&err, "%.*s is duplicated.", (int)(len - strlen(there)), error->detail);
    strcpy(err.table, error->table);
    strcpy(err.constraint, error->constraint);
    err_rethrow(&err);
}

TxnOutcome
ask_settle(Txn *t, const Answer *a, const Error *error)
{
    switch (a->status) {
    case ANS_OK:
    case ANS_STAGED:
        return TXN_DONE;
    case ANS_RETRY:
        /* The answer's version was published before the answer. */
        t->retries++;
        forget_statement(t);
        txn_drop_snapshot(t);
        ensure(txn_snapshot(t)->version >= a->version);
        return TXN_RETRY;
    case ANS_REPLAN:
        forget_statement(t);
        txn_drop_snapshot(t);
        return TXN_REPLAN;
    case ANS_ERROR:
        break;
    }
    if (error->code == ERR_QUERY_CANCELED)
        interrupt_check(); /* knows better which cancel it was */
    if (error->code == ERR_UNIQUE_VIOLATION && t->rebuilds)
        throw_not_unique(error);
    if (error->code == ERR_UNIQUE_VIOLATION && reads_missed(t, a->row[0])) /* whoever looked first is told to try again, not that the key is there */
        err_throw(ERR_SERIALIZATION_FAILURE, "could not serialize access due to read/write dependencies among transactions");
    err_rethrow(error);
}

TxnOutcome
ask(Txn *t, ReqKind kind, u32 flags, u32 len, u32 records, Answer *ret)
{
    Error err;
    ask_post(t, kind, flags, len, records);
    *ret = ask_collect(t, &err);
    return ask_settle(t, ret, &err);
}

void
ask_discard(Txn *t)
{
    Error ignored;
    if (!t->asked_seq)
        return;
    publish_u64_fenced(&t->box->pub_withdraw_seq, t->asked_seq);
    shm_ring_writer(t->shm);
    (void)ask_collect(t, &ignored);
}

void
ask_rollback(Txn *t)
{
    Error ignored;
    ask_discard(t);
    if (!t->open_id && !t->end_due)
        return;
    ask_post(t, REQ_ROLLBACK, 0, 0, 0);
    (void)ask_collect(t, &ignored);
    t->open_id = 0;
    t->end_due = false;
}
