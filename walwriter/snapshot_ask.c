/*
 * snapshot_ask.c
 *    When a snapshot is written: CHECKPOINT, and the log's growth. The checkpointer writes it.
 *
 * A wish is a number in WriterShm that grows; the checkpointer publishes the newest wish before it pins, and again when that snapshot is complete or has
 * failed. A CHECKPOINT joins a wish only while that is not begun, so what was committed before it is in the snapshot that answers it. Its transaction, open
 * or not, is not touched: the slot only waits (TX_SNAPSHOT) for its answer. Before it gets its wish, blocks with more than an eighth of deleted rows are
 * compacted (compact.c), for some seconds at most.
 *
 * Wishes and the log's sizes lie in shared memory, so a successor goes on with them; waiting CHECKPOINTs it finds in their boxes and asks anew.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"

#include <unistd.h>

enum { FILE_BYTES_FACTOR = 4 };

/* The checkpointer may pin from now on. */
static u64
wish(Writer *w)
{
    WriterShm *s = w->shm->writer;
    u64 one = 1, number = s->pub_snapshot_wish + 1;
    s->wish_payload = s->log_payload;
    s->wish_lsn = wal_next_lsn(w->wal);
    publish_u64_fenced(&s->pub_snapshot_wish, number);
    if (write(w->shm->checkpointer_event_fd, &one, sizeof one) < 0) {
        /* full: it is awake */
    }
    return number;
}

void
snapshot_request(Writer *w, Tx *tx)
{
    Error err;
    const RoleDef *role = catalog_role(world_root(w->world), observe_u32(&w->shm->control->slots[tx->slot].pub_role_id));
    if (!role || !role->superuser) {
        error_set(&err, ERR_INSUFFICIENT_PRIVILEGE, "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT");
        answer_put(w, tx, ANS_ERROR, 0, 0, &err);
        return;
    }
    tx->wish = 0;
    tx->state = TX_SNAPSHOT;
    w->snapshot_waiters++;
    w->snapshot_due = true;
}

/* What few deleted rows are left can stay: wish for those who have none yet, or join a wish that is not begun. */
static void
wish_for_waiters(Writer *w)
{
    u64 newest = w->shm->writer->pub_snapshot_wish;
    w->snapshot_due = false;
    if (w->snapshot_waiters == 0)
        return; /* they were cancelled */
    if (newest <= observe_u64(&shm_checkpointer(w->shm)->pub_begun))
        newest = wish(w);
    for (u32 i = 0; i < w->slot_count; i++)
        if (w->txs[i].state == TX_SNAPSHOT && !w->txs[i].wish)
            w->txs[i].wish = newest;
}

static void
answer(Writer *w, Tx *tx, AnsStatus status, const Error *err)
{
    tx->state = TX_IDLE;
    w->snapshot_waiters--;
    answer_put(w, tx, status, world_version(w->world), 0, err);
}

/* The checkpointer's last word. Its box is no more trusted than any other. */
static void
copy_error(const CheckpointerShm *c, Error *ret)
{
    *ret = c->error;
    ret->message[sizeof ret->message - 1] = ret->detail[sizeof ret->detail - 1] = ret->hint[sizeof ret->hint - 1] = 0;
    ret->context[0] = ret->table[0] = ret->column[0] = ret->constraint[0] = ret->routine[0] = 0;
    if ((u32)ret->code >= ERR_COUNT)
        ret->code = ERR_INTERNAL_ERROR;
}

void
snapshot_forget(Writer *w, Tx *tx)
{
    if (tx->state != TX_SNAPSHOT)
        return;
    tx->state = TX_IDLE;
    w->snapshot_waiters--;
}

bool
snapshot_pending(const Writer *w)
{
    return w->snapshot_waiters > 0 && observe_u64(&shm_checkpointer(w->shm)->pub_done) != w->snapshot_done;
}

u64
snapshot_deadline_ns(const Writer *w, u64 now_ns)
{
    return w->snapshot_due ? now_ns + 1000 * 1000 : UINT64_MAX;
}

void
snapshot_turn(Writer *w, u64 now_ns)
{
    const WriterShm *s = w->shm->writer;
    const CheckpointerShm *c = shm_checkpointer(w->shm);
    u64 done = observe_u64(&c->pub_done);
    Error err;
    w->snapshot_done = done;
    if (w->snapshot_due && compact_before_snapshot(w, now_ns))
        wish_for_waiters(w);
    for (u32 i = 0; i < w->slot_count && w->snapshot_waiters > 0; i++) {
        Tx *tx = &w->txs[i];
        if (tx->state != TX_SNAPSHOT)
            continue;
        if (tx->wish && tx->wish <= done) {
            copy_error(c, &err);
            answer(w, tx, err.code == ERR_NONE ? ANS_OK : ANS_ERROR, err.code == ERR_NONE ? NULL : &err);
        } else if (observe_u64(&shm_box(w->shm, i)->pub_withdraw_seq) == tx->seq) {
            error_set(&err, ERR_QUERY_CANCELED, "canceling statement due to user request");
            answer(w, tx, ANS_ERROR, &err);
        }
    }
    bool grown = s->log_payload - s->wish_payload >= w->snapshot_bytes || wal_next_lsn(w->wal) - s->wish_lsn >= FILE_BYTES_FACTOR * w->snapshot_bytes;
    if (grown && !w->stopped)
        (void)wish(w);
}

void
snapshot_begin(Writer *w, const WriterOptions *o, const Recovered *r)
{
    WriterShm *s = w->shm->writer;
    w->snapshot_bytes = o->snapshot_bytes ? o->snapshot_bytes : SNAPSHOT_BYTES_DEFAULT;
    if (o->take_over)
        return;
    s->log_payload = r->log_bytes;
    s->wish_payload = 0;
    s->wish_lsn = MIN(r->log_start, wal_next_lsn(w->wal));
    s->damaged_snapshot = r->damaged_snapshot;
    publish_u64(&s->pub_takeover_lsn, world_version(w->world)); /* no chain is open */
    if (r->damaged_snapshot)
        (void)wish(w); /* there is one complete snapshot only */
}
