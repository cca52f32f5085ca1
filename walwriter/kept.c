/*
 * kept.c
 *    The short part of a transaction of several requests: its records are kept, nothing is logged before COMMIT.
 *
 * Records stand in the frame in the order of their ordinals, before the request in work. Rows are written at once to a private block (world_stage_rows):
 * the owner reads them there by their address, and later records name them by ids with STAGED_BLOCK. COMMIT gives them their
 * places in the open block like an autocommit's, puts these ids in the place of the private ones, and logs all in one frame. So a transaction of a few rows
 * costs what an autocommit does and leaves nothing else behind; and what comes in the meantime knows only its locks.
 *
 * UNDO cuts: records, private rows, own keys and what the locks say after an ordinal, newest first.
 * Fails: memory, before anything is written. kept_prepare_commit leaves a transaction that can only end.
 */
#include "walwriter/writer.h"

#include <stdlib.h>

static StagedTable *
find_staged(const Tx *tx, u32 table_id)
{
    for (u32 i = 0; i < tx->staged_count; i++)
        if (tx->staged[i].table_id == table_id)
            return &tx->staged[i];
    return NULL;
}

static bool
out_of_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

static bool
note_staged(Tx *tx, u32 table_id, Error *err)
{
    if (find_staged(tx, table_id))
        return true;
    if (!tx_grow(&tx->staged, &tx->staged_capacity, tx->staged_count + 1, sizeof *tx->staged))
        return out_of_memory(err);
    tx->staged[tx->staged_count++] = (StagedTable){.table_id = table_id};
    return true;
}

static bool
is_private(RowId id)
{
    return ROW_BLOCK(id) >= STAGED_BLOCK;
}

/* ---- a request joins ---- */

bool
kept_fits(const Writer *w, const Tx *tx)
{
    u64 bytes = (u64)tx->kept_len + tx->request_len + ((u64)tx->mark_count + 1) * CHAIN_RECORD_BYTES;
    if (tx->kind != REQ_COMMIT && bytes > KEPT_LIMIT_BYTES)
        return false;
    for (u32 i = 0; i < tx->part_count && tx->kind != REQ_COMMIT; i++) {
        const PartView *p = &tx->parts[i];
        u64 rows = world_block_rows(w->world, p->table_id, STAGED_BLOCK | tx->slot);
        for (u32 k = 0; k <= i; k++)
            rows += tx->parts[k].table_id == p->table_id && tx->parts[k].kind != PART_DELETE ? tx->parts[k].row_count : 0;
        if (rows > BLOCK_ROWS)
            return false;
    }
    return true;
}

bool
kept_reserve(Writer *w, Tx *tx, Error *err)
{
    if (!tx_grow(&tx->marks, &tx->mark_capacity, tx->mark_count + 1, sizeof *tx->marks))
        return out_of_memory(err);
    for (u32 i = 0; i < tx->part_count; i++) {
        PartView *p = &tx->parts[i];
        if (p->kind == PART_DELETE)
            continue;
        if (!note_staged(tx, p->table_id, err) ||
            !world_stage_rows(w->world, p->table_id, tx->slot, p->row_count, &p->first_row, err) || !world_reserve_staged(w->world, p, err)) {
            for (u32 k = 0; k < tx->staged_count; k++) {
                u64 block = STAGED_BLOCK | tx->slot;
                world_cut_block(w->world, tx->staged[k].table_id, block, world_block_rows(w->world, tx->staged[k].table_id, block));
            }
            return false;
        }
        p->first_count = p->row_count;
        part_set_rows(judge_part_bytes(p), p->first_count, p->first_row, 0);
    }
    return true;
}

/* What becomes of the part's old rows, which are locked. */
static void
note_successors(Writer *w, const Tx *tx, const PartView *p, bool undone)
{
    for (u32 i = 0; i < p->row_count; i++) {
        LockHold *h = locks_find(w->locks, tx->slot, (LockTag){p->table_id, LOCK_ROW, 0, p->old_rows[i]});
        ensure(h);
        h->becomes = undone ? 0 : p->kind == PART_UPDATE ? p->first_row + i : ROW_GONE;
        h->serial = 0;
    }
}

void
kept_add(Writer *w, Tx *tx)
{
    tx->marks[tx->mark_count++] = (KeptMark){.ordinal = tx->ordinal, .from = tx->kept_len, .own_keys = tx->own_mark};
    for (u32 i = tx->own_mark; i < tx->own_count; i++) {
        OwnKey *k = &tx->own_keys[i];
        k->id = tx->parts[k->part].first_row + k->row;
        k->part = PART_STAGED;
    }
    tx->own_mark = tx->own_count;
    for (u32 i = 0; i < tx->part_count; i++) {
        if (tx->parts[i].kind != PART_DELETE)
            world_apply_rows(w->world, &tx->parts[i]);
        if (tx->parts[i].kind != PART_INSERT)
            note_successors(w, tx, &tx->parts[i], false);
    }
    tx->kept_len += tx->request_len;
    tx->request_len = 0;
}

/* ---- COMMIT ---- */

/* Where the rows of a private range go. */
static bool
note_places(Tx *tx, u32 table_id, RowId first, const PartView *p, Error *err)
{
    StagedTable *t = find_staged(tx, table_id);
    u32 offset = ROW_OFFSET(first);
    ensure(t);
    if (!tx_grow(&t->places, &t->capacity, offset + p->row_count, sizeof *t->places))
        return out_of_memory(err);
    for (u32 i = 0; i < p->row_count; i++)
        t->places[offset + i] = i < p->first_count ? p->first_row + i : p->second_row + (i - p->first_count);
    t->count = offset + p->row_count;
    return true;
}

static void
place_old_rows(const Tx *tx, const PartView *p)
{
    const StagedTable *t = NULL;
    for (u32 i = 0; i < p->row_count; i++) {
        if (!is_private(p->old_rows[i]))
            continue;
        t = t ? t : find_staged(tx, p->table_id);
        ensure(t && ROW_OFFSET(p->old_rows[i]) < t->count); /* judged */
        put_le64(judge_part_bytes(p) + PART_HEAD_BYTES + (size_t)i * 8, t->places[ROW_OFFSET(p->old_rows[i])]);
    }
}

bool
kept_prepare_commit(Writer *w, Tx *tx, Error *err)
{
    tx->request_len += tx->kept_len;
    tx->kept_len = 0;
    if (tx->ddl_count)
        ddl_strip_dead(tx);
    if (!intake_parse(tx, err))
        return false;
    for (u32 i = 0; i < tx->part_count; i++) {
        PartView *p = &tx->parts[i];
        RowId was = p->first_row;
        if (p->kind != PART_DELETE && !judge_take_rows(w, p, err))
            return false;
        if (was && !note_places(tx, p->table_id, was, p, err))
            return false;
        if (!world_reserve_rows(w->world, p, err))
            return false;
    }
    for (u32 i = 0; i < tx->part_count; i++) {
        PartView *p = &tx->parts[i];
        if (p->kind != PART_INSERT)
            place_old_rows(tx, p);
        if (!world_reserve_deletes(w->world, p, err))
            return false;
    }
    return true;
}

/* ---- the way back ---- */

/* The rows and delete notes of one kept part. */
static void
undo_part(Writer *w, Tx *tx, const Record *r)
{
    u32 table_id = get_le32(r->payload), rows = get_le32(r->payload + 8);
    if (r->kind != WAL_DELETE)
        world_cut_block(w->world, table_id, STAGED_BLOCK | tx->slot, ROW_OFFSET(get_le64(r->payload + 24)));
    if (r->kind != WAL_INSERT) {
        PartView p = {.table_id = table_id, .row_count = rows, .old_rows = (const u64 *)(const void *)(r->payload + PART_HEAD_BYTES)};
        note_successors(w, tx, &p, true);
    }
}

void
kept_undo(Writer *w, Tx *tx, u32 ordinal)
{
    while (tx->mark_count && tx->marks[tx->mark_count - 1].ordinal > ordinal) {
        const KeptMark *m = &tx->marks[--tx->mark_count];
        ddl_undo(w, tx, m->ordinal - 1);
        const u8 *at = tx_kept(tx) + m->from, *end = tx_kept(tx) + tx->kept_len;
        bool bad;
        /* Records of one request in any order: rows are cut to the lowest. */
        for (Record r; record_next(&at, end, &r, &bad);)
            if (r.kind >= WAL_INSERT && r.kind <= WAL_DELETE)
                undo_part(w, tx, &r);
        tx->kept_len = m->from;
        judge_pop_keys(tx, m->own_keys);
        tx->own_mark = m->own_keys;
    }
}

void
kept_drop(Writer *w, Tx *tx)
{
    for (u32 i = 0; i < tx->staged_count; i++) {
        world_drop_staged(w->world, tx->staged[i].table_id, tx->slot);
        free(tx->staged[i].places);
    }
    tx->staged_count = tx->mark_count = tx->kept_len = 0;
    tx->own_count = tx->own_mark = 0; /* their locks go, too */
}
