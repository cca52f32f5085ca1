/*
 * txn.c
 *    The life of a transaction: snapshots, begin and end, savepoints.
 *
 * Outside of a block every statement is a transaction of its own, which the request WRITE (or the COMMIT of a chain) ends. In a block everything is
 * staged: records are numbered by ordinals (common/shm/box.h), a savepoint is the last ordinal before it, and ROLLBACK TO takes back what came later.
 *
 * A transaction can be lost between two requests. When the log failed, the walwriter keeps what we may be reading until our next request, which it answers
 * with the loss. A successor knows nothing of our rows: their memory may be used again as soon as no pin is as old as its beginning. So after each
 * pin we look whether the walwriter is still the one (pub_ready).
 */
#include "backend/txn/ask.h"

#include "backend/throw.h"
#include "common/shm/publish.h"

static void
done(void *txn)
{
    Txn *t = txn;
    if (t->own)
        own_free(t->own);
    arena_free(t->arena);
}

Txn *
txn_new(Arena *session, Shm *shm, u32 slot, u32 generation, const i32 *lock_timeout_ms)
{
    Txn *t = ARENA_NEW(session, Txn);
    t->shm = shm;
    t->session = session;
    t->box = shm_box(shm, slot);
    t->slot = slot;
    t->generation = generation;
    t->lock_timeout_ms = lock_timeout_ms;
    t->arena = arena_new("transaction", 0, arena_full_throw);
    if (!t->arena || !arena_hook(session, done, t))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    snapshot_unpin(t->box); /* of the slot's last owner */
    return t;
}

/* ---- snapshots ---- */

void
txn_set_lost(Txn *t, const Error *why)
{
    t->lost = true;
    t->open_id = 0;
    t->loss_error = *why;
}

/* With a pin: is what the transaction did still there? */
static void
look_for_loss(Txn *t)
{
    Error err;
    if (!t->block || !t->open_id || observe_u64(&t->shm->writer->pub_ready) == t->opened_by)
        return;
    error_set(&err, ERR_SERIALIZATION_FAILURE, "could not serialize access: the writer was restarted");
    txn_set_lost(t, &err);
    t->end_due = true; /* it would tell the next transaction */
}

static const Snapshot *
see(Txn *t)
{
    Error err;
    if (t->seen)
        return &t->snapshot;
    if (!t->pinned) {
        t->published = snapshot_pin(t->shm, t->box);
        t->pinned = true;
    }
    look_for_loss(t);
    ask_check(t);
    t->snapshot = t->published;
    if (t->block && t->own)
        CHECKED(own_root(t->own, &t->published, t->savepoint != 0, &t->snapshot, &err), &err);
    t->seen = true;
    return &t->snapshot;
}

const Snapshot *
txn_snapshot(Txn *t)
{
    t->looked = true;
    return see(t);
}

const Root *
txn_root(Txn *t)
{
    return see(t)->root;
}

/* The pin is as old as what was published then, or older: what is reached from newer roots is not given back before it goes. */
const Root *
txn_newest_root(Txn *t)
{
    const Root *own = see(t)->root;
    return t->block && t->isolation != TXN_READ_COMMITTED && own == t->published.root ? store_newest_root(t->shm) : own;
}

void
txn_drop_snapshot(Txn *t)
{
    if (t->pinned)
        snapshot_unpin(t->box);
    t->pinned = t->seen = false;
}

Own *
txn_own(Txn *t)
{
    if (!t->own && !(t->own = own_new()))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return t->own;
}

/* ---- the end of a statement, of a transaction ---- */

static void
end_transaction(Txn *t)
{
    txn_drop_snapshot(t);
    if (t->reads)
        arena_reset(t->arena);
    t->reads = NULL;
    if (t->own && t->block)
        own_forget(t->own);
    t->block = t->lost = t->looked = t->rebuilds = t->creates = false;
    t->isolation = t->autocommit_isolation;
    t->ordinal = t->statement = t->savepoint = t->retries = t->skip_retries = 0;
    t->statement_notes = txn_notes_mark(t);
}

void
txn_end_statement(Txn *t)
{
    ask_discard(t);
    if (!t->block) {
        ask_rollback(t);
        end_transaction(t);
        return;
    }
    t->statement = t->ordinal;
    t->statement_notes = txn_notes_mark(t);
    t->rebuilds = t->creates = false;
    t->retries = t->skip_retries = 0;
    t->seen = false;
    if (t->isolation == TXN_READ_COMMITTED || !t->looked)
        txn_drop_snapshot(t);
}

/* ---- transactions ---- */

void
txn_begin(Txn *t, TxnIsolation isolation)
{
    ensure(!t->block);
    txn_end_statement(t);
    t->block = true;
    t->isolation = isolation;
}

void
txn_set_isolation(Txn *t, TxnIsolation i)
{
    if (!t->block)
        t->autocommit_isolation = i;
    t->isolation = i;
}

TxnIsolation
txn_isolation(const Txn *t)
{
    return t->isolation;
}

bool
txn_is_open(const Txn *t)
{
    return t->block;
}

bool
txn_has_snapshot(const Txn *t)
{
    return t->looked;
}

bool
txn_has_changes(const Txn *t)
{
    return t->block && t->own && own_any(t->own);
}

static bool
commit(Txn *t, Error *err)
{
    u32 len = 0;
    if (!notes_put(t, &len) || (txn_has_changes(t) && !reads_put(t, &len)))
        return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "a serializable transaction has read too many tables");
    ask_post(t, REQ_COMMIT, 0, len, 0);
    Answer a = ask_collect(t, err);
    if (a.status == ANS_RETRY || a.status == ANS_REPLAN)
        error_set(err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    return a.status == ANS_OK;
}

void
txn_commit(Txn *t)
{
    Error err;
    bool failed = t->lost;
    ask_discard(t);
    if (failed) {
        err = t->loss_error;
    } else if (t->open_id || txn_notes_mark(t)) {
        notes_stage(t);
        failed = !commit(t, &err);
        if (!failed)
            notes_sent(t);
    }
    ask_rollback(t); /* a refused commit leaves it open */
    end_transaction(t);
    if (failed)
        err_rethrow(&err);
}

void
txn_rollback(Txn *t)
{
    ask_rollback(t);
    end_transaction(t);
}

/* ---- savepoints ---- */

u32
txn_savepoint(Txn *t)
{
    return t->savepoint = t->statement = t->ordinal;
}

void
txn_undo(Txn *t, u32 kept)
{
    Error err;
    u32 savepoint = t->savepoint;
    if (t->own)
        own_undo(t->own, kept);
    if (!t->open_id || t->ordinal <= kept)
        return;
    t->savepoint = kept; /* of the request */
    ask_post(t, REQ_UNDO, 0, 0, 0);
    Answer a = ask_collect(t, &err);
    t->savepoint = savepoint;
    if (a.status != ANS_ERROR || t->lost)
        return;
    ask_rollback(t);
    txn_set_lost(t, &err);
}

void
txn_rollback_to(Txn *t, u32 mark)
{
    ask_discard(t);
    t->savepoint = mark;
    txn_undo(t, mark);
    txn_end_statement(t);
}

void
txn_release(Txn *t, u32 newest_mark)
{
    t->savepoint = newest_mark;
}
