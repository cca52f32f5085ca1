/*
 * intake.c
 *    Look at the boxes: copy and check new requests, bring parked ones back, release the slots of dead backends.
 *
 * The bytes of a box are hostile (I6): header words are read once into private memory, the request is copied once, and only the copy is
 * checked and used. A request counts only when its slot is taken and its generation is the slot's; anything else is left alone.
 * Small requests of all boxes are handled before bulk ones, and of those only TURN_BULK_BYTES a turn, so that neither starves.
 */
#include "walwriter/writer.h"

#include "common/base/env.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- copying and parsing ---- */

/* `len` was read from the box once, by intake_scan, which made room in the group for so much: the box may say something else by now. */
static bool
copy_request(Tx *tx, const BoxShm *b, u32 len, Error *err)
{
    u32 need;
    tx->kind = (ReqKind)b->req_kind;
    tx->flags = b->req_flags;
    tx->ordinal = b->req_ordinal;
    tx->statement = b->req_statement;
    tx->savepoint = b->req_savepoint;
    tx->version = b->req_version;
    tx->deadline_ns = b->req_deadline_ns;
    tx->asked_role = b->req_role;
    tx->request_len = 0;
    if (len > BOX_AREA_BYTES || len % 8)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: length");
    need = CHAIN_RECORD_BYTES + tx->kept_len + len + COMMIT_RECORD_BYTES;
    if (!tx_grow(&tx->frame, &tx->frame_capacity, MAX(need, 1024u), 1))
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    memcpy(tx_request(tx), b->area, len);
    tx->request_len = len;
    return true;
}

/* Count parts, columns and catalog records, so that their arrays are made once and never move. */
static bool
count_records(Tx *tx, Error *err)
{
    const u8 *at = tx_request(tx), *end = at + tx->request_len;
    u32 parts = 0, columns = 0, changes = 0, pieces = 0;
    bool bad;
    for (Record r; record_next(&at, end, &r, &bad);) {
        if (r.kind >= WAL_INSERT && r.kind <= WAL_DELETE) {
            parts++;
            columns += r.len >= PART_HEAD_BYTES ? MIN(get_le16(r.payload + 12), (u16)PART_MAX_COLUMNS) : 0;
        } else if (r.kind == WAL_TEXT_PIECE)
            pieces++;
        else if (ddl_is_catalog(r.kind))
            changes++;
        else
            return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: record kind %u", r.kind);
    }
    if (bad)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: cut record");
    if (!tx_grow(&tx->parts, &tx->part_capacity, parts, sizeof(PartView)) ||
        !tx_grow(&tx->columns, &tx->column_capacity, columns, sizeof(PartColumn)) ||
        !tx_grow(&tx->pieces, &tx->piece_capacity, pieces, sizeof(TextPiece)) ||
        !tx_grow(&tx->changes, &tx->change_capacity, changes, sizeof(CatalogChange)))
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    return true;
}

bool
intake_parse(Tx *tx, Error *err)
{
    tx->part_count = tx->change_count = tx->piece_count = 0;
    if (!count_records(tx, err))
        return false;
    const u8 *at = tx_request(tx), *end = at + tx->request_len;
    u32 column = 0;
    bool bad;
    for (Record r; record_next(&at, end, &r, &bad);) {
        u8 *payload = tx_request(tx) + (r.payload - tx_request(tx));
        if (ddl_is_catalog(r.kind)) {
            if (!ddl_check(r.kind, payload, r.len, err))
                return false;
            tx->changes[tx->change_count++] = (CatalogChange){r.kind, r.len, payload};
            continue;
        }
        if (r.kind == WAL_TEXT_PIECE) {
            if (!text_piece_read(payload, r.len, &tx->pieces[tx->piece_count++]))
                return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: piece of a text");
            continue;
        }
        PartView *p = &tx->parts[tx->part_count++];
        if (!part_read((PartKind)r.kind, payload, r.len, tx->columns + column, tx->column_capacity - column, p, err))
            return false;
        column += p->column_count;
    }
    return true;
}

static bool
parse_request(Tx *tx, Error *err)
{
    if (!reads_take(tx, err) || !notify_take(tx, err) || !intake_parse(tx, err))
        return false;
    for (u32 i = 0; i < tx->part_count; i++)
        if (tx->parts[i].first_row != 0)
            return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: row ids are given by the walwriter");
    if (tx->piece_count && (tx->part_count || tx->change_count || tx->kind != REQ_PART))
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: pieces of texts come alone");
    if (tx->part_count && tx->change_count)
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "rows and catalog changes in one request are not supported");
    return tx->kind == REQ_WRITE || tx->part_count <= 1 ||
           error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: several parts of a transaction that goes on");
}

/* ---- what becomes of a request ---- */

/* An open transaction stays as it was before the request, until UNDO or ROLLBACK; else, and when COMMIT is refused, everything ends. */
static void
refuse(Writer *w, Tx *tx, const Error *err)
{
    if (!tx->open || tx->kind == REQ_COMMIT)
        tx_abort(w, tx);
    else {
        locks_cancel_wait(w->locks, tx->slot, tx_granted, w);
        if (tx->state == TX_PARKED)
            w->parked_count--;
        tx->state = TX_IDLE;
        /* LOCK leaves no trace but locks; a catalog change that begins its statement none at all (IF NOT EXISTS goes on after it). */
        bool harmless = tx->kind == REQ_LOCK || (tx->change_count && tx->last_ordinal <= tx->statement);
        tx->request_len = tx->part_count = tx->change_count = tx->piece_count = 0;
        if (!harmless) {
            tx->failed_statement = tx->failed ? MIN(tx->failed_statement, tx->statement) : tx->statement;
            tx->failed = true;
        }
    }
    answer_put(w, tx, ANS_ERROR, 0, 0, err);
}

static void
park(Writer *w, Tx *tx)
{
    Error err;
    /* Who waits with no row of its own, or for the table itself, need not hold its place in a table meanwhile: a request for the whole
     * table, which holds rows that others wait for, would wait for it in vain. After RETRY, too: the successor it was to keep may not
     * have been known. */
    u64 rows = locks_owner_count(w->locks, tx->slot, LOCK_ROW) + locks_owner_count(w->locks, tx->slot, LOCK_KEY);
    if (!tx->open && !tx->chain && tx->bulk_count == 0 && (rows == 0 || w->park_tag.space == LOCK_TABLE)) {
        locks_release_all(w->locks, tx->slot, tx_granted, w);
        locks_set_ordinal(w->locks, tx->slot, tx->ordinal); /* what is granted is this request's */
    }
    if (!locks_wait(w->locks, tx->slot, w->park_tag, w->park_mode)) {
        error_set(&err, ERR_DEADLOCK_DETECTED, "deadlock detected");
        refuse(w, tx, &err);
        return;
    }
    tx->state = TX_PARKED;
    w->parked_count++;
}

static void
judge(Writer *w, Tx *tx)
{
    Error err;
    tx->state = TX_IDLE;
    bool lock = tx->kind == REQ_LOCK;
    switch (lock ? lock_judge(w, tx, &err) : judge_request(w, tx, &err)) {
    case JUDGED_YES:
        if (lock)
            lock_answer(w, tx);
        else
            commit_add(w, tx);
        break;
    case JUDGED_PARK:
        park(w, tx);
        break;
    case JUDGED_RETRY:
        if (!lock)
            tx_undo(w, tx, tx->statement);
        notify_forget(w, tx); /* they come with the next run */
        w->shm->writer->retries++;
        answer_put(w, tx, ANS_RETRY, world_version(w->world), 0, NULL);
        break;
    case JUDGED_REPLAN:
        notify_forget(w, tx);
        if (tx->open && !lock)
            tx_undo(w, tx, tx->statement);
        else if (!tx->open)
            tx_abort(w, tx);
        answer_put(w, tx, ANS_REPLAN, world_version(w->world), 0, NULL);
        break;
    case JUDGED_ERROR:
        refuse(w, tx, &err);
        break;
    }
}

/* What a lost transaction or a failed one is told, and requests that make no sense now. */
static bool
may_go_on(const Writer *w, Tx *tx, Error *err)
{
    if (tx->kind == REQ_UNDO && tx->chain && w->stopped) /* the log could not be told what is void */
        tx->lost = w->stopped;
    if (tx->lost)
        return error_set(err, tx->lost, tx->lost == ERR_SERIALIZATION_FAILURE ? "could not serialize access: the writer was restarted"
                                                                              : "the transaction was lost: the redo log failed");
    if (tx->kind == REQ_UNDO)
        return true;
    if (tx->failed)
        return error_set(err, ERR_FAILED_TRANSACTION, "current transaction is aborted, commands ignored until end of transaction block");
    if (tx->kind != REQ_PART && tx->kind != REQ_COMMIT && tx->kind != REQ_LOCK && tx->kind != REQ_NOTIFY && (tx->kind != REQ_WRITE || tx->open))
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: kind %d", (int)tx->kind);
    if (tx->open && tx->kind != REQ_LOCK && tx->request_len && tx->ordinal <= tx->last_ordinal)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: ordinal %u is not new", tx->ordinal);
    return true;
}

static void
undo(Writer *w, Tx *tx)
{
    u32 kept = tx->failed ? MIN(tx->savepoint, tx->failed_statement) : tx->savepoint;
    tx_undo(w, tx, kept);
    tx->failed = false;
    if (kept == 0)
        tx_forget(w, tx);
    else {
        tx_release_bulk(tx, kept);
        locks_release_after(w->locks, tx->slot, kept, tx_granted, w);
    }
    answer_put(w, tx, ANS_OK, world_version(w->world), 0, NULL);
}

static void
handle(Writer *w, Tx *tx, const BoxShm *b, u32 len, u64 seq)
{
    Error err;
    tx->seen_seq = tx->seq = seq;
    tx->values_checked = tx->deletes_noted = false;
    if (!copy_request(tx, b, len, &err)) {
        refuse(w, tx, &err);
        return;
    }
    if (tx->kind == REQ_SIGNAL) {
        signal_backend(w, tx);
        return;
    }
    if (!(tx->kind == REQ_LOCK ? lock_check(tx, &err) : parse_request(tx, &err))) {
        refuse(w, tx, &err);
        return;
    }
    if (tx->kind == REQ_ROLLBACK) {
        tx_abort(w, tx);
        tx->lost = ERR_NONE;
        answer_put(w, tx, ANS_OK, world_version(w->world), 0, NULL);
        return;
    }
    if (tx->kind == REQ_LIST_LOCKS && tx->request_len == 0) {
        lock_list(w, tx);
        return;
    }
    if (tx->kind == REQ_CHECKPOINT) {
        snapshot_request(w, tx);
        return;
    }
    if (!may_go_on(w, tx, &err)) {
        if (tx->lost)
            tx_abort(w, tx); /* told now: nothing is open any more */
        tx->lost = ERR_NONE;
        refuse(w, tx, &err);
        return;
    }
    if (tx->kind == REQ_UNDO)
        undo(w, tx);
    else if (tx->kind == REQ_NOTIFY) {
        tx->open = true;
        answer_put(w, tx, ANS_STAGED, 0, 0, NULL);
    } else
        judge(w, tx);
}

/* ---- slots ---- */

/* The backend is gone: what it left is undone, what is being logged is finished first. */
static void
release_slot(Writer *w, Tx *tx)
{
    u64 one = 1;
    BoxShm *b = shm_box(w->shm, tx->slot);
    publish_u64(&b->pub_pin_epoch, 0); /* its owner was reaped: the pin died with it */
    publish_u64(&b->pub_notify_read, 0);
    if (tx->state == TX_LOGGED) {
        tx->abandoned = true;
        return;
    }
    snapshot_forget(w, tx);
    tx_abort(w, tx);
    locks_release_session_all(w->locks, tx->slot, tx_granted, w);
    tx->lost = ERR_NONE;
    tx->in_use = false;
    tx->seen_seq = observe_u64(&b->pub_req_seq);
    b->ans_txn = b->ans_open[0] = b->ans_open[1] = 0; /* a takeover must not take it for the next owner's */
    publish_u32(&w->shm->writer->pub_released_generation[tx->slot], tx->generation);
    if (write(w->shm->postmaster_event_fd, &one, sizeof one) < 0) {
        /* full: it is awake */
    }
}

/* Follow the slot's owner; true when it may ask. */
static bool
follow_slot(Writer *w, Tx *tx)
{
    const SlotShm *s = &w->shm->control->slots[tx->slot];
    u32 state = observe_u32(&s->pub_state), generation = observe_u32(&s->pub_generation);
    if (tx->in_use && (state != SLOT_TAKEN || generation != tx->generation)) {
        release_slot(w, tx);
        return false;
    }
    if (state == SLOT_RELEASING && !tx->in_use && observe_u32(&w->shm->writer->pub_released_generation[tx->slot]) != generation) {
        tx->generation = generation; /* it never asked for anything */
        release_slot(w, tx);
        return false;
    }
    if (state == SLOT_TAKEN && !tx->in_use && observe_u32(&w->shm->writer->pub_released_generation[tx->slot]) != generation) {
        tx->generation = generation;
        tx->in_use = true;
    }
    return tx->in_use;
}

static bool
has_request(const Writer *w, const Tx *tx, const BoxShm *b, u64 *ret_seq)
{
    *ret_seq = observe_u64(&b->pub_req_seq);
    if (w->memory_wait && (b->req_kind == REQ_WRITE || b->req_kind == REQ_PART || b->req_kind == REQ_COMMIT))
        return false; /* a while, walwriter.c */
    return *ret_seq != tx->seen_seq && relaxed_u32(&b->req_generation) == tx->generation; /* a forged one may change at any time */
}

/* ---- scanning ---- */

/* What a request may add to the group: its own bytes, what is kept before them, and the records around. */
static u32
frame_bytes(const Tx *tx, u32 request_len)
{
    return (tx->mark_count + 1) * CHAIN_RECORD_BYTES + tx->kept_len + request_len + COMMIT_RECORD_BYTES + UNDO_RECORD_BYTES;
}

void
intake_scan(Writer *w)
{
    u32 bulk_bytes = 0;
    for (int pass = 0; pass < 2; pass++)
        for (u32 i = 0; i < w->slot_count; i++) {
            Tx *tx = &w->txs[i];
            const BoxShm *b = shm_box(w->shm, i);
            u64 seq;
            if ((pass == 0 && !follow_slot(w, tx)) || !tx->in_use || tx->state != TX_IDLE || !has_request(w, tx, b, &seq))
                continue;
            u32 len = observe_u32(&b->req_len), bytes = MIN(len, (u32)BOX_AREA_BYTES);
            bool bulk = bytes > BULK_REQUEST_BYTES;
            if (bulk && (pass == 0 || bulk_bytes >= TURN_BULK_BYTES))
                continue;
            if (!w->stopped && !commit_room(w, frame_bytes(tx, bytes)))
                return; /* the boxes keep their requests until a group comes back */
            bulk_bytes += bulk ? bytes : 0;
            handle(w, tx, b, len, seq);
        }
}

void
intake_ready(Writer *w)
{
    for (u32 n = w->ready_count; n > 0 && w->ready_count > 0; n--) {
        Tx *tx = &w->txs[w->ready[w->ready_first]];
        if (!w->stopped && !commit_room(w, frame_bytes(tx, tx->request_len)))
            return;
        w->ready_first = (w->ready_first + 1) % w->slot_count;
        w->ready_count--;
        tx->ready = false;
        if (tx->state != TX_PARKED || locks_is_waiting(w->locks, tx->slot))
            continue; /* it ended, or waits for something else by now */
        w->parked_count--;
        judge(w, tx);
    }
}

void
intake_parked(Writer *w, u64 now_ns)
{
    Error err;
    for (u32 i = 0; i < w->slot_count && w->parked_count > 0; i++) {
        Tx *tx = &w->txs[i];
        if (tx->state != TX_PARKED)
            continue;
        if (observe_u64(&shm_box(w->shm, i)->pub_withdraw_seq) == tx->seq)
            error_set(&err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        else if (tx->deadline_ns && now_ns >= tx->deadline_ns)
            error_set(&err, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
        else
            continue;
        refuse(w, tx, &err);
    }
}

bool
intake_pending(const Writer *w)
{
    u64 seq;
    if ((w->ready_count > 0 && wal_in_flight(w->wal) == 0) || snapshot_pending(w))
        return true;
    for (u32 i = 0; i < w->slot_count; i++) {
        const Tx *tx = &w->txs[i];
        const SlotShm *s = &w->shm->control->slots[i];
        if (tx->in_use && tx->state == TX_IDLE && has_request(w, tx, shm_box(w->shm, i), &seq))
            return true;
        if ((tx->state == TX_PARKED || tx->state == TX_SNAPSHOT) && observe_u64(&shm_box(w->shm, i)->pub_withdraw_seq) == tx->seq)
            return true;
        if (!tx->abandoned && observe_u32(&s->pub_state) == SLOT_RELEASING &&
            observe_u32(&w->shm->writer->pub_released_generation[i]) != observe_u32(&s->pub_generation))
            return true;
        if (!tx->in_use && observe_u32(&s->pub_state) == SLOT_TAKEN &&
            observe_u32(&w->shm->writer->pub_released_generation[i]) != observe_u32(&s->pub_generation))
            return true;
    }
    return false;
}

u64
intake_deadline_ns(const Writer *w)
{
    u64 earliest = UINT64_MAX;
    for (u32 i = 0; i < w->slot_count && w->parked_count > 0; i++)
        if (w->txs[i].state == TX_PARKED && w->txs[i].deadline_ns)
            earliest = MIN(earliest, w->txs[i].deadline_ns);
    return earliest;
}
