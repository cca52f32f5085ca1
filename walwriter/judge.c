/*
 * judge.c
 *    May this request change what it wants to change, now? Tables and rights, row locks, then keys (judge_keys.c); then memory and row ids.
 *
 * A request is judged from its beginning each time, against the newest applied state and the locks of the others: what an unpublished
 * transaction changed is locked by it, so nobody is judged against it (he parks). Locks taken stay with the transaction when it
 * parks or is told to retry, so judging again is cheap and goes further.
 *
 * A row that is gone was changed since the statement read: RETRY. So that the next run succeeds, its newest successor (the forward cache
 * knows where an UPDATE moved a row) is locked before RETRY is answered, and all other rows of the request are locked, too.
 * Bulk requests (parts of chains) lock rows in bitmaps instead of the lock table, whatever they do to them as if for UPDATE: the rows they bring
 * have no way back to the old ones that a lock could follow.
 * Fails: the user's errors, no memory; the caller then undoes the transaction.
 */
#include "walwriter/writer.h"

#include "common/store/rights.h"

#include <stdlib.h>

Judged
judge_park(Writer *w, LockTag tag, LockMode mode)
{
    w->park_tag = tag;
    w->park_mode = mode;
    return JUDGED_PARK;
}

Judged
judge_no_memory(Error *err)
{
    error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    error_detail(err, "The lock table cannot grow.");
    return JUDGED_ERROR;
}

Judged
judge_park_on_owner(Writer *w, u32 owner)
{
    LockTag tag = {0, LOCK_TXN, 0, owner};
    LockHold *h;
    /* The owner holds it from now on to its end; nobody else ever does, waiters only watch. */
    if (locks_take(w->locks, owner, tag, LOCK_EXCLUSIVE, &h) == LOCK_NO_MEMORY)
        return JUDGED_REPLAN; /* no memory even for that: let it try again from the start */
    return judge_park(w, tag, LOCK_WATCH);
}

u32
judge_bulk_owner(const Writer *w, const Tx *tx, u32 table_id, RowId id)
{
    for (u32 i = 0; i < w->bulk_owner_count; i++) {
        const Tx *other = &w->txs[w->bulk_owners[i]];
        for (u32 b = 0; other != tx && b < other->bulk_count; b++)
            if (other->bulk[b].table_id == table_id && rowset_has(&other->bulk[b].rows, id))
                return other->slot;
    }
    return UINT32_MAX;
}

u32
judge_role(const Writer *w, const Tx *tx, const Root *root)
{
    u32 signed_in = observe_u32(&w->shm->control->slots[tx->slot].pub_role_id);
    if (!tx->asked_role || tx->asked_role == signed_in)
        return signed_in;
    return role_is_superuser(root, signed_in) || role_is_member(root, signed_in, tx->asked_role) ? tx->asked_role : 0;
}

/* ---- tables ---- */

static u32
needed_rights(PartKind kind)
{
    return kind == PART_INSERT ? ACL_INSERT : kind == PART_UPDATE ? ACL_UPDATE : ACL_DELETE;
}

/* The table as the transaction sees it; NULL: not the one that the request means. */
static const TableDef *
named_table(Writer *w, const Tx *tx, u32 table_id, u32 schema_version)
{
    const TableDef *def = staged_table(w, tx, table_id) ? world_table_def(w->world, table_id, tx->slot) : NULL;
    return def && def->schema_version == schema_version ? def : NULL;
}

/* On the whole table, or on every column that the part writes. An INSERT has all columns, those that its statement did not name too: one of them must
 * be allowed, which ones the statement named is not known here. */
static bool
may_change(const Root *root, const TableDef *def, u32 role, const PartView *p)
{
    u32 bit = needed_rights(p->kind);
    if (LIKELY(catalog_allows(root, def, role, bit)))
        return true;
    u32 allowed = 0;
    for (u32 i = 0; p->kind != PART_DELETE && i < p->column_count; i++)
        allowed += rights_allow_column(root, def, role, p->columns[i].column + 1u, bit);
    return p->kind == PART_UPDATE ? allowed == p->column_count && allowed > 0 : allowed > 0;
}

/* p NULL: a piece of a text for column `column`, of an INSERT or UPDATE to come. */
static bool
may_write(Writer *w, Tx *tx, const TableDef *def, const PartView *p, u32 column, Error *err)
{
    Root staged;
    const Root *root = world_root(w->world);
    if (UNLIKELY(tx->ddl.count > 0)) {
        if (tx->arena)
            arena_reset(tx->arena);
        if (!staged_root(w, tx, &staged)) {
            (void)judge_no_memory(err);
            return false;
        }
        root = &staged;
    }
    u32 role = judge_role(w, tx, root);
    bool may = p ? may_change(root, def, role, p) : rights_allow_column(root, def, role, column + 1, ACL_INSERT | ACL_UPDATE);
    return may || error_set(err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %.*s", (int)def->name.len, def->name.ptr);
}

static Judged
lock_table(Writer *w, Tx *tx, u32 table_id, Error *err)
{
    LockHold *h;
    LockTag tag = {table_id, LOCK_TABLE, 0, 0};
    LockMode mode = tx->flags & REQ_FLAG_TABLE_LOCK ? LOCK_TABLE_EXCLUSIVE : LOCK_TABLE_ROW_EXCLUSIVE;
    if (mode == LOCK_TABLE_EXCLUSIVE)
        compact_step_aside(w, table_id);
    if (compact_waits_for_table(w, table_id) && !locks_find(w->locks, tx->slot, tag))
        return judge_park_on_owner(w, w->slot_count);
    switch (locks_take(w->locks, tx->slot, tag, mode, &h)) {
    case LOCK_GRANTED: return JUDGED_YES;
    case LOCK_BUSY: return judge_park(w, tag, mode);
    case LOCK_NO_MEMORY: break;
    }
    return judge_no_memory(err);
}

static Judged
judge_table(Writer *w, Tx *tx, PartView *p, Error *err)
{
    const TableDef *def = named_table(w, tx, p->table_id, p->schema_version);
    if (!def)
        return JUDGED_REPLAN;
    if (tx->chain)
        chain_show_texts(tx->chain, p);
    if (!may_write(w, tx, def, p, 0, err) || (!tx->values_checked && !check_values(def, p, err)))
        return JUDGED_ERROR;
    return lock_table(w, tx, p->table_id, err);
}

/* A piece of a text for a part to come, which is judged as such then. */
static Judged
judge_piece(Writer *w, Tx *tx, const TextPiece *t, Error *err)
{
    const TableDef *def = named_table(w, tx, t->table_id, t->schema_version);
    if (!def)
        return JUDGED_REPLAN;
    if (t->column >= def->column_count || def->columns[t->column].phys != PHYS_STR) {
        error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: a text for a column that holds none");
        return JUDGED_ERROR;
    }
    return may_write(w, tx, def, NULL, t->column, err) ? lock_table(w, tx, t->table_id, err) : JUDGED_ERROR;
}

/* ---- rows ---- */

/* In the transaction's own private block. */
static bool
is_own(Writer *w, const Tx *tx, u32 table_id, RowId id)
{
    return ROW_BLOCK(id) == (STAGED_BLOCK | tx->slot) && world_row_state(w->world, table_id, id) == ROW_STAGED;
}

/* Others see them under the new ids only, and so does the transaction's next statement at READ COMMITTED, whose deletes must not be of rows that it does not
 * see: it runs this one again. */
Judged
judge_moved_rows(Writer *w, Tx *tx)
{
    bool any = false;
    for (u32 i = 0; i < tx->part_count && world_any_moved(w->world); i++) {
        PartView *p = &tx->parts[i];
        for (u32 k = 0; p->kind != PART_INSERT && k < p->row_count; k++) {
            RowId id = world_moved_row(w->world, p->table_id, p->old_rows[k]);
            if (id == p->old_rows[k])
                continue;
            put_le64(judge_part_bytes(p) + PART_HEAD_BYTES + (size_t)k * 8, id);
            any = true;
        }
    }
    for (u32 i = 0; i < tx->read_count && world_any_moved(w->world); i++)
        tx->reads[i].found = world_moved_row(w->world, tx->reads[i].table_id, tx->reads[i].found);
    return any && (tx->flags & REQ_FLAG_NEWEST_ROWS) ? JUDGED_RETRY : JUDGED_YES;
}

/* The newest live successor of a row that is gone, 0 when it is not known. */
static RowId
find_successor(Writer *w, u32 table_id, RowId id)
{
    for (u32 steps = 0; steps < 64; steps++) {
        const Forward *f = &w->forward[hash_u64(id ^ table_id) % FORWARD_PLACES];
        if (f->table_id != table_id || f->from != id)
            return 0;
        id = world_moved_row(w->world, table_id, f->to);
        if (world_row_state(w->world, table_id, id) == ROW_LIVE)
            return id;
    }
    return 0;
}

static Judged
repeated_row(Error *err)
{
    error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: a row is changed twice");
    return JUDGED_ERROR;
}

/* What the part does to its old rows: others may refer to a row whose keys stay as they are. */
static LockMode
row_mode(Writer *w, const PartView *p)
{
    const TableDef *def = table_def(world_table(w->world, p->table_id));
    for (u32 k = 0; k < def->key_count; k++)
        if (judge_changes_key(&def->keys[k], p))
            return LOCK_FOR_UPDATE;
    return p->kind == PART_DELETE ? LOCK_FOR_UPDATE : LOCK_FOR_NO_KEY_UPDATE;
}

Judged
judge_lock_row(Writer *w, Tx *tx, u32 table_id, RowId id, LockMode mode, bool *ret_gone, LockHold **ret_hold, Error *err)
{
    *ret_hold = NULL;
    if (world_row_state(w->world, table_id, id) != ROW_LIVE && !is_own(w, tx, table_id, id)) {
        *ret_gone = true;
        id = find_successor(w, table_id, id);
        if (!id)
            return JUDGED_YES;
    }
    u32 bulk = judge_bulk_owner(w, tx, table_id, id);
    if (bulk != UINT32_MAX)
        return judge_park_on_owner(w, bulk);
    LockTag tag = {table_id, LOCK_ROW, 0, id};
    if (compact_waits_for(w, table_id, ROW_BLOCK(id)) && !locks_find(w->locks, tx->slot, tag))
        return judge_park_on_owner(w, w->slot_count);
    switch (locks_take(w->locks, tx->slot, tag, mode, ret_hold)) {
    case LOCK_BUSY: return judge_park(w, tag, mode);
    case LOCK_NO_MEMORY: return judge_no_memory(err);
    case LOCK_GRANTED: break;
    }
    return JUDGED_YES;
}

static Judged
judge_row(Writer *w, Tx *tx, u32 part, RowId id, LockMode mode, bool *ret_gone, Error *err)
{
    LockHold *h;
    bool is_gone = false;
    Judged j = judge_lock_row(w, tx, tx->parts[part].table_id, id, mode, &is_gone, &h, err);
    *ret_gone |= is_gone;
    if (j != JUDGED_YES || is_gone)
        return j;
    if (h->becomes || h->serial == tx->serial)
        return repeated_row(err);
    h->serial = tx->serial;
    h->part = part;
    return JUDGED_YES;
}

static bool
holds_bulk(const Tx *tx, u32 table_id, RowId id)
{
    for (u32 i = 0; i < tx->bulk_count; i++)
        if (tx->bulk[i].table_id == table_id && rowset_has(&tx->bulk[i].rows, id))
            return true;
    return false;
}

/* Where the running statement's locks of a table go. */
static RowSet *
bulk_rows(Writer *w, Tx *tx, u32 table_id)
{
    u32 floor = tx->chain->layers[tx->chain->layer_count - 1].floor;
    for (u32 i = 0; i < tx->bulk_count; i++)
        if (tx->bulk[i].table_id == table_id && tx->bulk[i].floor == floor)
            return &tx->bulk[i].rows;
    if (!tx_grow(&tx->bulk, &tx->bulk_capacity, tx->bulk_count + 1, sizeof *tx->bulk))
        return NULL;
    tx_list_bulk(w, tx);
    tx->bulk[tx->bulk_count] = (BulkLocks){.table_id = table_id, .floor = floor};
    return &tx->bulk[tx->bulk_count++].rows;
}

/* In a block of the transaction's chain; it needs no lock. */
static bool
is_own_staged(Writer *w, const Tx *tx, u32 table_id, RowId id)
{
    return world_row_state(w->world, table_id, id) == ROW_STAGED && chain_has_block(tx->chain, table_id, ROW_BLOCK(id));
}

static Judged
judge_bulk_row(Writer *w, Tx *tx, RowSet *rows, bool others, u32 table_id, RowId id, bool *ret_gone, Error *err)
{
    bool added;
    if (is_own_staged(w, tx, table_id, id))
        return JUDGED_YES;
    if (world_row_state(w->world, table_id, id) != ROW_LIVE) {
        *ret_gone = true;
        id = find_successor(w, table_id, id);
        if (!id)
            return JUDGED_YES;
    }
    if (holds_bulk(tx, table_id, id))
        return JUDGED_YES;
    LockTag tag = {table_id, LOCK_ROW, 0, id};
    if (compact_waits_for(w, table_id, ROW_BLOCK(id)))
        return judge_park_on_owner(w, w->slot_count);
    if (others && locks_conflict(w->locks, tx->slot, tag, LOCK_FOR_UPDATE))
        return judge_park(w, tag, LOCK_FOR_UPDATE);
    u32 bulk = judge_bulk_owner(w, tx, table_id, id);
    if (bulk != UINT32_MAX)
        return judge_park_on_owner(w, bulk);
    return rowset_add(rows, id, &added) ? JUDGED_YES : judge_no_memory(err);
}

static Judged
judge_rows(Writer *w, Tx *tx, u32 part, bool *ret_gone, Error *err)
{
    const PartView *p = &tx->parts[part];
    bool bulk = tx_is_bulk(tx);
    LockMode mode = row_mode(w, p);
    RowSet *rows = bulk ? bulk_rows(w, tx, p->table_id) : NULL;
    bool others = locks_space_count(w->locks, LOCK_ROW) > locks_owner_count(w->locks, tx->slot, LOCK_ROW);
    if (bulk && !rows)
        return judge_no_memory(err);
    for (u32 i = 0; i < p->row_count; i++) {
        Judged j = bulk ? judge_bulk_row(w, tx, rows, others, p->table_id, p->old_rows[i], ret_gone, err)
                        : judge_row(w, tx, part, p->old_rows[i], mode, ret_gone, err);
        if (j != JUDGED_YES)
            return j;
    }
    return JUDGED_YES;
}

Judged
judge_gone(const Tx *tx, Error *err)
{
    if (!(tx->flags & REQ_FLAG_SNAPSHOT))
        return JUDGED_RETRY;
    error_set(err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    return JUDGED_ERROR;
}

/* ---- memory and row ids ---- */

/* Ids that are taken and then not used, because a later reservation fails, stay holes: the world fills them with dead rows. */
bool
judge_take_rows(Writer *w, PartView *p, Error *err)
{
    RowRange ranges[2] = {{0, 0}, {0, 0}};
    if (!world_take_rows(w->world, p->table_id, p->row_count, ranges, err))
        return false;
    p->first_count = ranges[0].count;
    p->first_row = ranges[0].first;
    p->second_row = ranges[1].count ? ranges[1].first : 0;
    part_set_rows(judge_part_bytes(p), p->first_count, p->first_row, p->second_row);
    return true;
}

/* The deletes of all of the chain get their memory when it is committed. */
static bool
reserve_chain(Writer *w, Tx *tx, Error *err)
{
    for (u32 i = 0; i < tx->piece_count; i++) /* nobody can see it before a part names it */
        if (!chain_add_text(w->world, tx->chain, &tx->pieces[i], err))
            return false;
    for (u32 i = 0; i < tx->part_count; i++) {
        PartView *p = &tx->parts[i];
        if ((p->kind != PART_DELETE && !chain_take_rows(w->world, tx->chain, p, judge_part_bytes(p), err)) || !world_reserve_rows(w->world, p, err))
            return false;
    }
    return tx->kind != REQ_COMMIT || chain_reserve(w->world, tx->chain, err);
}

static bool
reserve(Writer *w, Tx *tx, Error *err)
{
    if (tx->chain)
        return reserve_chain(w, tx, err);
    return tx->kind == REQ_PART ? kept_reserve(w, tx, err) : kept_prepare_commit(w, tx, err);
}

/* ---- the whole request ---- */

static Judged
judge_all_rows(Writer *w, Tx *tx, Error *err)
{
    bool any_gone = false;
    for (u32 i = 0; i < tx->part_count; i++) {
        Judged j = tx->parts[i].kind == PART_INSERT ? JUDGED_YES : judge_rows(w, tx, i, &any_gone, err);
        if (j != JUDGED_YES)
            return j;
    }
    if (any_gone)
        return judge_gone(tx, err);
    for (u32 i = 0; i < tx->part_count && tx_is_bulk(tx) && !tx->deletes_noted; i++) {
        bool repeated;
        if (tx->parts[i].kind == PART_INSERT)
            continue;
        if (!chain_note_deletes(tx->chain, &tx->parts[i], &repeated, err))
            return JUDGED_ERROR;
        if (repeated)
            return repeated_row(err);
    }
    tx->deletes_noted = true;
    return JUDGED_YES;
}

/* Parts go on as a chain when a statement has several or long texts, or when they do not fit a short transaction any more. */
static bool
needs_chain(const Writer *w, const Tx *tx)
{
    if (tx->chain || tx->kind == REQ_WRITE)
        return false;
    return tx->piece_count || (tx->kind == REQ_PART && !(tx->flags & REQ_FLAG_STATEMENT_ENDS)) || !kept_fits(w, tx);
}

static Judged
begin_statement(Writer *w, Tx *tx, Error *err)
{
    kept_translate(tx);
    if (tx->part_count + tx->change_count + tx->piece_count == 0 || !chain_begins(tx->chain, tx->statement))
        return JUDGED_YES;
    Judged j = judge_settle(w, tx, err); /* of one that nobody ended */
    if (j != JUDGED_YES)
        return j;
    if (!tx_merge_bulk(tx, tx->savepoint))
        return judge_no_memory(err);
    return chain_begin_statement(w->world, tx->chain, tx->statement, tx->savepoint, err) ? JUDGED_YES : JUDGED_ERROR;
}

/* An autocommit applies them when it is durable; else they are staged, with those of COMMIT the last ones. */
static Judged
judge_changes(Writer *w, Tx *tx, Error *err)
{
    Judged j = ddl_judge(w, tx, err);
    if (j != JUDGED_YES || tx->kind == REQ_WRITE)
        return j;
    if (!tx->chain && !kept_fits(w, tx) && !kept_spill(w, tx, err))
        return JUDGED_ERROR;
    if (tx->chain)
        j = begin_statement(w, tx, err);
    if (j == JUDGED_YES && tx->chain && tx->kind == REQ_COMMIT)
        j = judge_settle(w, tx, err);
    if (j != JUDGED_YES)
        return j;
    if ((!tx->chain && tx->kind == REQ_PART && !kept_reserve(w, tx, err)) || !ddl_stage(w, tx, err))
        return JUDGED_ERROR;
    if (tx->kind == REQ_PART)
        return JUDGED_YES;
    return (tx->chain ? chain_reserve(w->world, tx->chain, err) : kept_prepare_commit(w, tx, err)) ? JUDGED_YES : JUDGED_ERROR;
}

static Judged
judge_parts(Writer *w, Tx *tx, Error *err)
{
    Judged j = JUDGED_YES;
    if (w->stopped) {
        error_set(err, w->stopped, w->stopped == ERR_DISK_FULL ? "could not write to the redo log: no space left on device"
                                                               : "could not write to the redo log");
        return JUDGED_ERROR;
    }
    locks_set_ordinal(w->locks, tx->slot, tx->ordinal);
    j = judge_moved_rows(w, tx);
    if (j == JUDGED_YES)
        j = notify_judge(w, tx, err);
    if (j == JUDGED_YES)
        j = reads_judge(w, tx, err);
    if (j != JUDGED_YES)
        return j;
    if (tx->change_count)
        return judge_changes(w, tx, err);
    for (u32 i = 0; i < tx->part_count && j == JUDGED_YES; i++)
        j = judge_table(w, tx, &tx->parts[i], err);
    for (u32 i = 0; i < tx->piece_count && j == JUDGED_YES; i++)
        j = judge_piece(w, tx, &tx->pieces[i], err);
    if (j != JUDGED_YES)
        return j;
    tx->values_checked = true;
    if (needs_chain(w, tx) && !kept_spill(w, tx, err))
        return JUDGED_ERROR;
    if (tx->chain)
        j = begin_statement(w, tx, err);
    if (j == JUDGED_YES)
        j = judge_all_rows(w, tx, err);
    if (j == JUDGED_YES)
        j = judge_keys(w, tx, err);
    if (j == JUDGED_YES && !reserve(w, tx, err))
        j = JUDGED_ERROR;
    return j;
}

Judged
judge_request(Writer *w, Tx *tx, Error *err)
{
    tx->serial = ++w->serial ? w->serial : ++w->serial;
    Judged j = judge_parts(w, tx, err);
    if (j != JUDGED_YES)
        judge_pop_keys(tx, tx->own_mark);
    return j;
}
