/*
 * judge_lock.c
 *    LOCK requests: rows, a table, an advisory key; and the list of all locks.
 *
 * Nothing of them is logged. What is granted is kept to the end of the transaction, which a first LOCK opens; an advisory lock of the session is
 * kept until it is unlocked or the slot is released, and opens nothing. Rows are judged like those of an UPDATE: a row that is gone leads to its
 * successor, which is locked before RETRY is answered; a SKIP LOCKED that was retried three times passes it over instead, so that workers at one
 * queue get on. Rows that the transaction itself staged are nobody else's and need no lock.
 *
 * The request is one record (shm/request.h), checked to its last byte when it comes and read again each time it is judged (R1).
 * Writes: the lock table, ans_bits, the answer area. Fails: rights, NOWAIT (55P03), no memory.
 */
#include "walwriter/writer.h"

#include "common/store/rights.h"

#include "common/shm/shm.h"

#include <stdlib.h>

typedef struct Ask {
    u16 kind; /* BoxRecordKind */
    u8 what;  /* AdvisoryWhat */
    LockWait wait;
    LockMode mode;
    u32 table_id, schema_version;
    u32 row_count;
    const u8 *rows;
    LockTag advisory;
} Ask;

/* ---- the record ---- */

static bool
malformed(Error *err)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: lock");
}

static bool
read_rows(const u8 *p, u32 len, Ask *a, Error *err)
{
    a->row_count = len >= 16 ? get_le32(p + 12) : 0;
    if (a->row_count == 0 || a->row_count > BOX_LOCK_ROWS || len != 16 + 8 * a->row_count || p[8] < ROW_LOCK_KEY_SHARE || p[8] > ROW_LOCK_UPDATE ||
        p[9] > LOCK_SKIP || get_le16(p + 10))
        return malformed(err);
    a->table_id = get_le32(p);
    a->schema_version = get_le32(p + 4);
    a->mode = (LockMode)(LOCK_FOR_KEY_SHARE + p[8] - ROW_LOCK_KEY_SHARE);
    a->wait = (LockWait)p[9];
    a->rows = p + 16;
    return true;
}

static bool
read_table(const u8 *p, u32 len, Ask *a, Error *err)
{
    if (len != 16 || p[8] < TABLE_LOCK_ACCESS_SHARE || p[8] > TABLE_LOCK_ACCESS_EXCLUSIVE || p[9] > LOCK_NOWAIT || get_le16(p + 10) ||
        get_le32(p + 12))
        return malformed(err);
    a->table_id = get_le32(p);
    a->schema_version = get_le32(p + 4);
    a->mode = (LockMode)(LOCK_TABLE_ACCESS_SHARE + p[8] - TABLE_LOCK_ACCESS_SHARE);
    a->wait = (LockWait)p[9];
    return true;
}

static bool
read_advisory(const u8 *p, u32 len, Ask *a, Error *err)
{
    if (len != 16 || p[9] > 1 || p[10] > LOCK_SKIP || p[11] > ADVISORY_UNLOCK_ALL || get_le32(p + 12) || p[8] > 2 ||
        (p[8] == 0 && p[11] != ADVISORY_UNLOCK_ALL))
        return malformed(err);
    a->advisory = (LockTag){0, LOCK_ADVISORY, p[8], get_le64(p)};
    a->mode = p[9] ? LOCK_SHARED : LOCK_EXCLUSIVE;
    a->wait = (LockWait)p[10];
    a->what = p[11];
    return true;
}

static bool
read_ask(const Tx *tx, Ask *a, Error *err)
{
    const u8 *at = tx_request(tx), *end = at + tx->request_len;
    Record r;
    bool bad;
    if (!record_next(&at, end, &r, &bad) || at != end || r.flags)
        return malformed(err);
    *a = (Ask){.kind = r.kind};
    switch (r.kind) {
    case BOX_LOCK_ROWS_RECORD: return read_rows(r.payload, r.len, a, err);
    case BOX_LOCK_TABLE_RECORD: return read_table(r.payload, r.len, a, err);
    case BOX_LOCK_ADVISORY_RECORD: return read_advisory(r.payload, r.len, a, err);
    default: return malformed(err);
    }
}

bool
lock_check(const Tx *tx, Error *err)
{
    Ask a;
    return read_ask(tx, &a, err);
}

/* ---- tables ---- */

/* Any of these. FOR UPDATE and its kin need the right to update, whatever they are meant for; LOCK TABLE as in PostgreSQL 16. */
static u32
sufficient_rights(const Ask *a)
{
    u32 bits = ACL_UPDATE;
    if (a->kind == BOX_LOCK_ROWS_RECORD)
        return bits;
    bits |= ACL_DELETE | ACL_TRUNCATE;
    if (a->mode <= LOCK_TABLE_ROW_EXCLUSIVE)
        bits |= ACL_INSERT;
    if (a->mode <= LOCK_TABLE_ACCESS_SHARE)
        bits |= ACL_SELECT;
    return bits;
}

static bool
may_lock(Writer *w, Tx *tx, const Ask *a, const TableDef *def)
{
    Root staged;
    if (UNLIKELY(tx->ddl.count > 0) && !staged_root(w, tx, &staged))
        return false;
    const Root *root = UNLIKELY(tx->ddl.count > 0) ? &staged : world_root(w->world);
    u32 role = judge_role(w, tx, root), bits = sufficient_rights(a);
    for (u32 bit = 1; bit <= bits; bit *= 2)
        if ((bits & bit) && catalog_allows(root, def, role, bit))
            return true;
    for (u32 i = 1; a->kind == BOX_LOCK_ROWS_RECORD && i <= def->column_count; i++) /* FOR UPDATE: one column is enough */
        if (rights_allow_column(root, def, role, i, ACL_UPDATE))
            return true;
    return false;
}

static Judged
not_available(Writer *w, const Tx *tx, const Ask *a, Error *err)
{
    Str name = world_table_def(w->world, a->table_id, tx->slot)->name;
    error_set(err, ERR_LOCK_NOT_AVAILABLE, "could not obtain lock on %srelation \"%.*s\"", a->kind == BOX_LOCK_ROWS_RECORD ? "row in " : "",
              (int)name.len, name.ptr);
    return JUDGED_ERROR;
}

/* NOWAIT and SKIP of rows are for rows: their table is waited for. */
static Judged
take_table(Writer *w, Tx *tx, const Ask *a, LockMode mode, Error *err)
{
    LockHold *h;
    LockTag tag = {a->table_id, LOCK_TABLE, 0, 0};
    if (mode >= LOCK_TABLE_EXCLUSIVE)
        compact_step_aside(w, a->table_id);
    switch (locks_take(w->locks, tx->slot, tag, mode, &h)) {
    case LOCK_BUSY: return a->kind == BOX_LOCK_TABLE_RECORD && a->wait == LOCK_NOWAIT && !compact_holds(w, a->table_id) ? not_available(w, tx, a, err) : judge_park(w, tag, mode);
    case LOCK_NO_MEMORY: return judge_no_memory(err);
    case LOCK_GRANTED: break;
    }
    return JUDGED_YES;
}

static Judged
judge_table(Writer *w, Tx *tx, const Ask *a, Error *err)
{
    const TableDef *def = staged_table(w, tx, a->table_id) ? world_table_def(w->world, a->table_id, tx->slot) : NULL;
    if (!def || def->schema_version != a->schema_version)
        return JUDGED_REPLAN;
    if (!may_lock(w, tx, a, def)) {
        error_set(err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %.*s", (int)def->name.len, def->name.ptr);
        return JUDGED_ERROR;
    }
    if (a->kind == BOX_LOCK_TABLE_RECORD)
        return take_table(w, tx, a, a->mode, err);
    bool whole = a->wait == LOCK_WAIT && (tx->flags & REQ_FLAG_TABLE_LOCK);
    return take_table(w, tx, a, whole ? LOCK_TABLE_EXCLUSIVE : LOCK_TABLE_ROW_SHARE, err);
}

/* ---- rows ---- */

static bool
is_own_row(const Tx *tx, u32 table_id, RowId id)
{
    return ROW_BLOCK(id) == (STAGED_BLOCK | tx->slot) || (tx->chain && chain_has_block(tx->chain, table_id, ROW_BLOCK(id)));
}

static Judged
judge_rows(Writer *w, Tx *tx, const Ask *a, Error *err)
{
    u64 bits[BOX_LOCK_ROWS / 64] = {0};
    if (a->wait != LOCK_WAIT)
        compact_step_aside(w, a->table_id);
    bool any_gone = false, skips_gone = a->wait == LOCK_SKIP && (tx->flags & REQ_FLAG_TABLE_LOCK);
    for (u32 i = 0; i < a->row_count; i++) {
        RowId id = world_moved_row(w->world, a->table_id, get_le64(a->rows + 8ull * i));
        LockHold *h;
        bool gone = false;
        Judged j = is_own_row(tx, a->table_id, id) ? JUDGED_YES : judge_lock_row(w, tx, a->table_id, id, a->mode, &gone, &h, err);
        if (gone && skips_gone && (j == JUDGED_YES || j == JUDGED_PARK))
            continue;
        any_gone |= gone;
        if (j == JUDGED_PARK && a->wait == LOCK_SKIP)
            continue;
        if (j == JUDGED_PARK && a->wait == LOCK_NOWAIT)
            return not_available(w, tx, a, err);
        if (j != JUDGED_YES)
            return j;
        bits[i / 64] |= 1ull << (i % 64);
    }
    if (any_gone)
        return judge_gone(tx, err);
    memcpy(shm_box(w->shm, tx->slot)->ans_bits, bits, sizeof bits);
    return JUDGED_YES;
}

/* ---- advisory keys ---- */

static Judged
judge_advisory(Writer *w, Tx *tx, const Ask *a, Error *err)
{
    LockHold *h;
    LockResult r;
    tx->rows = 1;
    switch ((AdvisoryWhat)a->what) {
    case ADVISORY_UNLOCK:
        tx->rows = locks_release_session(w->locks, tx->slot, a->advisory, a->mode, tx_granted, w);
        return JUDGED_YES;
    case ADVISORY_UNLOCK_ALL:
        locks_release_session_all(w->locks, tx->slot, tx_granted, w);
        return JUDGED_YES;
    case ADVISORY_SESSION:
        r = locks_take_session(w->locks, tx->slot, a->advisory, a->mode);
        break;
    case ADVISORY_TRANSACTION:
    default:
        r = locks_take(w->locks, tx->slot, a->advisory, a->mode, &h);
        break;
    }
    if (r == LOCK_NO_MEMORY)
        return judge_no_memory(err);
    if (r == LOCK_BUSY && a->wait == LOCK_WAIT)
        return judge_park(w, a->advisory, a->mode);
    tx->rows = r == LOCK_GRANTED;
    return JUDGED_YES;
}

/* ---- the whole request ---- */

Judged
lock_judge(Writer *w, Tx *tx, Error *err)
{
    Ask a;
    tx->rows = 0;
    tx->serial = ++w->serial ? w->serial : ++w->serial;
    locks_set_ordinal(w->locks, tx->slot, tx->ordinal);
    ensure(read_ask(tx, &a, err)); /* the same bytes as lock_check saw */
    if (a.kind == BOX_LOCK_ADVISORY_RECORD)
        return judge_advisory(w, tx, &a, err);
    Judged j = judge_table(w, tx, &a, err);
    return j == JUDGED_YES && a.kind == BOX_LOCK_ROWS_RECORD ? judge_rows(w, tx, &a, err) : j;
}

void
lock_answer(Writer *w, Tx *tx)
{
    Ask a;
    Error err;
    ensure(read_ask(tx, &a, &err));
    if (a.kind != BOX_LOCK_ADVISORY_RECORD || (a.what == ADVISORY_TRANSACTION && tx->rows))
        tx->open = true;
    answer_put(w, tx, ANS_OK, world_version(w->world), tx->rows, NULL);
}

/* ---- the list ---- */

typedef struct Listing {
    const Writer *w;
    LockRow *rows;
    u32 count, capacity;
    u64 total;
    bool many; /* locks of rows and keys that are granted, which can be many, come when all others are in */
} Listing;

static bool
list_entry(void *ctx, const LockEntry *e)
{
    Listing *l = ctx;
    if (e->owner >= l->w->slot_count)
        return true; /* the compactor, which nobody can do anything about */
    bool many = e->granted && (e->tag.space == LOCK_ROW || e->tag.space == LOCK_KEY);
    if (many != l->many)
        return true;
    l->total++;
    if (l->count < l->capacity)
        l->rows[l->count++] = (LockRow){.slot = e->owner, .pid = l->w->shm->control->slots[e->owner].pid, .table_id = e->tag.table_id,
                                        .key = e->tag.key, .space = (u8)e->tag.space, .mode = (u8)e->mode, .id = e->tag.id,
                                        .granted = e->granted, .session = e->session};
    return true;
}

void
lock_list(Writer *w, Tx *tx)
{
    BoxShm *b = shm_box(w->shm, tx->slot);
    Listing l = {.w = w, .rows = (LockRow *)(void *)b->answer, .capacity = BOX_ANSWER_BYTES / sizeof(LockRow)};
    locks_each(w->locks, list_entry, &l);
    l.many = true;
    locks_each(w->locks, list_entry, &l);
    b->ans_row[0] = l.total;
    answer_put(w, tx, ANS_OK, world_version(w->world), l.count * sizeof(LockRow), NULL);
}
