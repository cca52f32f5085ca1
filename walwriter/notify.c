/*
 * notify.c
 *    NOTIFY: what a transaction announces goes into the queue when its commit is published, in the order of commits; listeners are told by a signal.
 *
 * The notifications come with the request that commits, or in NOTIFY requests right before it when there are many. Room in the queue is looked at while
 * judging and promised when the commit is logged, so publishing cannot fail: a queue that some listener does not read refuses those who
 * NOTIFY, with 54000 as in PostgreSQL, and stops nobody else. Without listeners nothing is written.
 *
 * A walwriter can die between a commit and its batch, or between the batch and the answer. The backend looks for its batch when another walwriter
 * has answered, and sends again what is missing (backend/txn/notes.c); a commit of notifications alone that is judged afresh is looked for here.
 * Fails: 54000, no memory.
 */
#include "walwriter/writer.h"

#include "common/shm/shm.h"

#include <signal.h>
#include <stdlib.h>

static u32 batch_bytes(const Tx *tx) { return (u32)sizeof(NotifyBatch) + ALIGN_UP(tx->notes_len, 8u); }

static bool
malformed(Error *err)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: notification");
}

static bool
add_note(Tx *tx, const Record *r, Error *err)
{
    u32 channel = r->len >= NOTIFY_ITEM_HEAD_BYTES ? get_le16(r->payload) : 0, payload = r->len >= NOTIFY_ITEM_HEAD_BYTES ? get_le16(r->payload + 2) : 0;
    if (r->kind != BOX_NOTIFY || channel == 0 || channel > NOTIFY_CHANNEL_MAX || payload > NOTIFY_PAYLOAD_MAX ||
        r->len != NOTIFY_ITEM_HEAD_BYTES + channel + payload)
        return malformed(err);
    if (tx->notes_len + r->len > NOTIFY_TXN_MAX_BYTES)
        return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
    if (!tx_grow(&tx->notes, &tx->notes_capacity, tx->notes_len + r->len, 1))
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    memcpy(tx->notes + tx->notes_len, r->payload, r->len);
    tx->notes_len += r->len;
    tx->note_count++;
    return true;
}

bool
notify_take(Tx *tx, Error *err)
{
    const u8 *at = tx_request(tx), *end = at + tx->request_len, *begin = end;
    bool bad, commits = tx->kind == REQ_WRITE || tx->kind == REQ_COMMIT || tx->kind == REQ_NOTIFY;
    for (Record r; record_next(&at, end, &r, &bad);) {
        if (r.kind != BOX_NOTIFY && begin == end)
            continue;
        if (begin == end)
            begin = r.payload - RECORD_HEAD_BYTES;
        if (!commits)
            return malformed(err);
        if (!add_note(tx, &r, err))
            return false;
    }
    if (bad && begin != end)
        return malformed(err);
    tx->request_len = (u32)(begin - tx_request(tx));
    return tx->kind != REQ_NOTIFY || tx->request_len == 0 || malformed(err);
}

Judged
notify_judge(Writer *w, const Tx *tx, Error *err)
{
    bool any;
    if (!tx->note_count)
        return JUDGED_YES;
    u64 end = observe_u64(&w->shm->writer->notify.pub_end), used = end - notify_oldest(w->shm, &any);
    if (!any || used + w->notify_promised + batch_bytes(tx) <= NOTIFY_RING_BYTES)
        return JUDGED_YES;
    error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "too many notifications in the NOTIFY queue");
    return JUDGED_ERROR;
}

void
notify_promise(Writer *w, Tx *tx)
{
    if (!tx->note_count)
        return;
    tx->notes_promised = batch_bytes(tx);
    w->notify_promised += tx->notes_promised;
}

void
notify_forget(Writer *w, Tx *tx)
{
    w->notify_promised -= tx->notes_promised;
    tx->notes_promised = tx->notes_len = tx->note_count = 0;
    if (tx->notes_capacity) {
        free(tx->notes);
        tx->notes = NULL;
        tx->notes_capacity = 0;
    }
}

static void
put(NotifyShm *n, u64 at, const void *from, u32 len)
{
    u32 to = (u32)(at % NOTIFY_RING_BYTES), first = MIN(len, (u32)NOTIFY_RING_BYTES - to);
    memcpy(n->ring + to, from, first);
    memcpy(n->ring, (const u8 *)from + first, len - first);
}

void
notify_publish(Writer *w, Tx *tx)
{
    static const u8 zeros[8];
    NotifyShm *n = &w->shm->writer->notify;
    u64 end = observe_u64(&n->pub_end);
    bool any;
    if (!tx->note_count)
        return;
    u64 oldest = notify_oldest(w->shm, &any);
    NotifyBatch b = {.bytes = batch_bytes(tx), .slot = tx->slot, .generation = tx->generation, .pid = w->shm->control->slots[tx->slot].pid,
                     .sequence = tx->seq, .count = tx->note_count};
    /* A listener that began after this was judged has read nothing before that: there is always room for what was promised. */
    if (any && end - oldest + b.bytes <= NOTIFY_RING_BYTES) {
        put(n, end, &b, sizeof b);
        put(n, end + sizeof b, tx->notes, tx->notes_len);
        put(n, end + sizeof b + tx->notes_len, zeros, b.bytes - (u32)sizeof b - tx->notes_len);
        publish_u64_fenced(&n->pub_end, end + b.bytes);
        w->notify_wakes = true;
    }
    notify_forget(w, tx);
}

bool
notify_was_published(Writer *w, const Tx *tx)
{
    return notify_find(&w->shm->writer->notify, w->notify_from, w->notify_to, tx->slot, tx->generation, tx->seq);
}

void
notify_taken_over(Writer *w)
{
    NotifyShm *n = &w->shm->writer->notify;
    publish_u64(&n->pub_writers, observe_u64(&n->pub_writers) + 1);
    w->notify_from = observe_u64(&n->pub_answered);
    w->notify_to = observe_u64(&n->pub_end);
    w->notify_wakes = w->notify_to != 0;
}

/* Whoever has read all that he was told of is told again. */
void
notify_wake(Writer *w)
{
    NotifyShm *n = &w->shm->writer->notify;
    if (!w->notify_wakes)
        return;
    w->notify_wakes = false;
    u64 end = observe_u64(&n->pub_end);
    publish_u64(&n->pub_answered, end);
    for (u32 i = 0; i < w->slot_count; i++) {
        const SlotShm *s = &w->shm->control->slots[i];
        u64 read = observe_u64(&shm_box(w->shm, i)->pub_notify_read);
        i32 pid = s->pid;
        if (read == 0 || read - 1 >= end || observe_u32(&s->pub_state) != SLOT_TAKEN || pid <= 0)
            continue;
        if (w->notify_told[i] > read - 1 && w->notify_told_generation[i] == observe_u32(&s->pub_generation))
            continue;
        w->notify_told[i] = end;
        w->notify_told_generation[i] = observe_u32(&s->pub_generation);
        kill(pid, SIGUSR1);
    }
}
