/*
 * judge_reads.c
 *    SERIALIZABLE: is what the transaction has read still so at the moment it is logged?
 *
 * Its COMMIT (or WRITE) ends with READ records: tables it scanned, keys it looked up and the row that was found. Who is logged before it comes before
 * it; so nothing of what it read may have been changed by those, be they published or not, since the version it read at. Then it is as if
 * it had done all its reading now. A transaction that wrote nothing is as if it had run when it took its snapshot, and sends nothing.
 *
 * Tables: Writer.changed has the LSN of the last logged change, by table id modulo CHANGED_PLACES (of the tables that share a place, the newest).
 * Keys are looked up in the applied state; a key or row that is held by a transaction which is logged but not applied is waited for first, that
 * ends soon. A failed group leaves its LSNs: somebody may then be refused for nothing. What was changed before a restart of the walwriter is not
 * known: every table counts as changed then. Fails: 40001, records that make no sense.
 */
#include "walwriter/writer.h"

#include <stdlib.h>

enum { WHOLE_TABLE = UINT32_MAX }; /* ReadNote.key */

/* ---- the records ---- */

static bool
malformed(Error *err)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: what was read");
}

static bool
read_note(const Record *r, ReadNote *ret, Error *err)
{
    const u8 *p = r->payload;
    if (r->kind == BOX_READ_TABLE && r->len == 8 && get_le32(p + 4) == 0)
        *ret = (ReadNote){.table_id = get_le32(p), .key = WHOLE_TABLE};
    else if (r->kind == BOX_READ_KEY && r->len == 24 && get_le32(p + 4) != WHOLE_TABLE)
        *ret = (ReadNote){get_le32(p), get_le32(p + 4), get_le64(p + 8), get_le64(p + 16)};
    else
        return malformed(err);
    return true;
}

/* A damaged record before them is left to who reads those. */
bool
reads_take(Tx *tx, Error *err)
{
    const u8 *at = tx_request(tx), *end = at + tx->request_len, *begin = end;
    bool bad;
    tx->read_count = 0;
    for (Record r; record_next(&at, end, &r, &bad);) {
        if (r.kind != BOX_READ_TABLE && r.kind != BOX_READ_KEY && begin == end)
            continue;
        if (begin == end)
            begin = r.payload - RECORD_HEAD_BYTES;
        if (tx->read_count == tx->read_capacity) {
            u32 capacity = MAX(tx->read_capacity * 2, 64u);
            ReadNote *reads = realloc(tx->reads, (size_t)capacity * sizeof *reads);
            if (!reads)
                return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
            tx->reads = reads;
            tx->read_capacity = capacity;
        }
        if (!read_note(&r, &tx->reads[tx->read_count++], err))
            return false;
    }
    if (tx->read_count && (bad || (tx->kind != REQ_WRITE && tx->kind != REQ_COMMIT)))
        return malformed(err);
    tx->request_len = (u32)(begin - tx_request(tx));
    return true;
}

/* ---- changes ---- */

static u64 *
changed_place(Writer *w, u32 table_id)
{
    return &w->changed[table_id % CHANGED_PLACES];
}

bool
reads_changed_since(Writer *w, u32 table_id, u64 version)
{
    return *changed_place(w, table_id) > version;
}

void
reads_restarted(Writer *w)
{
    for (u32 i = 0; i < CHANGED_PLACES; i++)
        w->changed[i] = world_version(w->world);
}

void
reads_note_changes(Writer *w, const Tx *tx)
{
    for (u32 i = 0; i < tx->part_count; i++)
        *changed_place(w, tx->parts[i].table_id) = tx->lsn;
    for (u32 l = 0; tx->chain && l < tx->chain->layer_count; l++)
        for (u32 i = 0; i < tx->chain->layers[l].table_count; i++)
            *changed_place(w, tx->chain->layers[l].tables[i].table_id) = tx->lsn;
    for (u32 i = 0; i < tx->ddl.count; i++)
        if (staged_empties(tx->ddl.items[i].kind))
            *changed_place(w, tx->ddl.items[i].id) = tx->lsn;
    for (u32 i = 0; i < tx->change_count; i++)
        if (staged_empties(tx->changes[i].kind)) /* the table's id comes first */
            *changed_place(w, get_le32(tx->changes[i].payload)) = tx->lsn;
}

/* ---- judging ---- */

static Judged
conflict(Error *err)
{
    error_set(err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to read/write dependencies among transactions");
    error_hint(err, "The transaction might succeed if retried.");
    return JUDGED_ERROR;
}

/* Somebody else who is logged and holds it for changing it; UINT32_MAX: nobody. */
static u32
logged_holder(Writer *w, const Tx *tx, LockTag tag)
{
    for (const LockHold *h = locks_holds(w->locks, tag); h; h = h->next_in_lock)
        if (h->owner != tx->slot && (h->modes & LOCK_CONFLICTS[LOCK_WATCH]) && w->txs[h->owner].state == TX_LOGGED)
            return h->owner;
    return UINT32_MAX;
}

static Judged
judge_found(Writer *w, Tx *tx, const ReadNote *n, Error *err)
{
    if (ROW_BLOCK(n->found) == (STAGED_BLOCK | tx->slot) || (tx->chain && chain_has_block(tx->chain, n->table_id, ROW_BLOCK(n->found))))
        return JUDGED_YES; /* its own */
    if (world_row_state(w->world, n->table_id, n->found) != ROW_LIVE)
        return conflict(err);
    u32 owner = logged_holder(w, tx, (LockTag){n->table_id, LOCK_ROW, 0, n->found});
    if (owner == UINT32_MAX)
        owner = judge_bulk_owner(w, tx, n->table_id, n->found);
    return owner != UINT32_MAX && w->txs[owner].state == TX_LOGGED ? judge_park_on_owner(w, owner) : JUDGED_YES;
}

typedef struct Absent {
    Writer *w;
    u32 table_id;
    u32 stager; /* somebody who is logged and will bring such a row */
    bool live;
} Absent;

static bool
look_for_row(void *ctx, RowId id)
{
    Absent *a = ctx;
    RowState state = world_row_state(a->w->world, a->table_id, id);
    u32 stager = state == ROW_STAGED ? judge_stager_of(a->w, a->table_id, id) : UINT32_MAX;
    if (stager != UINT32_MAX && a->w->txs[stager].state == TX_LOGGED)
        a->stager = stager;
    a->live |= state == ROW_LIVE;
    return !a->live;
}

/* Rows of equal hash count as the key: refused for nothing once in 2^64. */
static Judged
judge_absent(Writer *w, Tx *tx, const ReadNote *n, Error *err)
{
    Absent a = {.w = w, .table_id = n->table_id, .stager = UINT32_MAX};
    u32 owner = logged_holder(w, tx, (LockTag){n->table_id, LOCK_KEY, (u16)n->key, n->hash});
    if (owner != UINT32_MAX)
        return judge_park_on_owner(w, owner);
    world_key_each_hash(w->world, n->table_id, n->key, n->hash, look_for_row, &a);
    if (a.live)
        return conflict(err);
    return a.stager != UINT32_MAX ? judge_park_on_owner(w, a.stager) : JUDGED_YES;
}

static Judged
judge_note(Writer *w, Tx *tx, const ReadNote *n, Error *err)
{
    const TableShm *t = world_table(w->world, n->table_id);
    u32 emptied_by = world_emptied_by(w->world, n->table_id);
    if (world_made_by(w->world, n->table_id) == tx->slot)
        return JUDGED_YES; /* nobody else knows it */
    if (!t)
        return conflict(err); /* dropped since */
    if (n->key == WHOLE_TABLE || emptied_by == tx->slot) /* what was there before is not at hand */
        return *changed_place(w, n->table_id) > tx->version ? conflict(err) : JUDGED_YES;
    if (n->key >= table_def(t)->key_count) {
        (void)malformed(err);
        return JUDGED_ERROR;
    }
    if (emptied_by != UINT32_MAX)
        return judge_park_on_owner(w, emptied_by);
    return n->found ? judge_found(w, tx, n, err) : judge_absent(w, tx, n, err);
}

Judged
reads_judge(Writer *w, Tx *tx, Error *err)
{
    Judged j = JUDGED_YES;
    for (u32 i = 0; i < tx->read_count && j == JUDGED_YES; i++)
        j = judge_note(w, tx, &tx->reads[i], err);
    return j;
}
