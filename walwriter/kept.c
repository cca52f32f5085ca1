/*
 * kept.c
 *    The short part of a transaction of several requests: its records are kept, nothing is logged before COMMIT.
 *
 * Records stand in the frame in the order of their ordinals, before the request in work. Rows are written at once to a private block (world_stage_rows):
 * the owner reads them there by their address, and later records name them by ids with STAGED_BLOCK. COMMIT gives them their
 * places in the open block like an autocommit's, puts these ids in the place of the private ones, and logs all in one frame. So a transaction of a few rows
 * costs what an autocommit does and leaves nothing else behind; and what comes in the meantime knows only its locks.
 *
 * When a record does not fit, or a statement has several, the transaction becomes a chain: all that is kept goes into the chain's blocks and, in one frame, into
 * the log. The private blocks stay as the owner knows them; ids in later requests are translated for ever.
 *
 * UNDO cuts: records, private rows, own keys and what the locks say after an ordinal, newest first.
 * Fails: memory, before anything is written. kept_prepare_commit leaves a transaction that can only end.
 */
#include "walwriter/writer.h"

#include <stdlib.h>

static StagedTable *
find_staged(const Tx *tx, u32 table_id)
{
    u32 generation = staged_truncations(&tx->ddl, table_id);
    for (u32 i = 0; i < tx->staged_count; i++)
        if (tx->staged[i].table_id == table_id && tx->staged[i].generation == generation)
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
    tx->staged[tx->staged_count++] = (StagedTable){.table_id = table_id, .generation = staged_truncations(&tx->ddl, table_id)};
    return true;
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
        if (!h && ROW_BLOCK(p->old_rows[i]) >= STAGED_BLOCK)
            continue; /* a private row of an older generation: its lock was set aside */
        ensure(h);
        h->becomes = undone ? 0 : p->kind == PART_UPDATE ? p->first_row + i : ROW_GONE;
        h->serial = 0;
    }
}

void
kept_add(Writer *w, Tx *tx)
{
    tx->marks[tx->mark_count++] = (KeptMark){.ordinal = tx->ordinal, .statement = tx->statement, .savepoint = tx->savepoint,
                                             .from = tx->kept_len, .own_keys = tx->own_mark};
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

/* Private ids of old rows become the places of those rows; what has none is left. */
static void
place_old_rows(const Tx *tx, const PartView *p)
{
    const StagedTable *t = find_staged(tx, p->table_id);
    for (u32 i = 0; t && i < p->row_count; i++) {
        if (ROW_BLOCK(p->old_rows[i]) != (STAGED_BLOCK | tx->slot) || ROW_OFFSET(p->old_rows[i]) >= t->count)
            continue;
        put_le64(judge_part_bytes(p) + PART_HEAD_BYTES + (size_t)i * 8, t->places[ROW_OFFSET(p->old_rows[i])]);
    }
}

bool
kept_prepare_commit(Writer *w, Tx *tx, Error *err)
{
    tx->request_len += tx->kept_len;
    tx->kept_len = 0;
    if (tx->ddl.count)
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
        if (!world_reserve_deletes(w->world, p, err)) {
            while (i-- > 0)
                if (tx->parts[i].kind != PART_INSERT)
                    world_unreserve_deletes(w->world, &tx->parts[i]);
            return false;
        }
    }
    return true;
}

/* ---- becoming a chain ---- */

/* One kept part, in a copy of its bytes, into the chain's blocks. */
static bool
spill_part(Writer *w, Tx *tx, Chain *c, const Record *r, Error *err)
{
    static PartColumn columns[PART_MAX_COLUMNS];
    PartView p;
    bool repeated;
    ensure(part_read((PartKind)r->kind, r->payload, r->len, columns, PART_MAX_COLUMNS, &p, err)); /* it was read before */
    RowId was = p.first_row;
    if (p.kind != PART_INSERT) {
        place_old_rows(tx, &p);
        if (!chain_note_deletes(c, &p, &repeated, err))
            return false;
    }
    if (p.kind == PART_DELETE)
        return true;
    if (!chain_take_rows(w->world, c, &p, judge_part_bytes(&p), err) || !note_places(tx, p.table_id, was, &p, err) ||
        !world_reserve_rows(w->world, &p, err))
        return false;
    world_apply_rows(w->world, &p);
    return true;
}

/* One kept catalog change: what it hides is there from now on. */
static bool
spill_change(Writer *w, Tx *tx, Chain *c, Error *err)
{
    StagedChange *change = &tx->ddl.items[tx->ddl.count];
    if (staged_empties(change->kind) && !chain_empty(c, change->id, change->ordinal, err))
        return false;
    staged_bring_one_back(w->world, change);
    tx->ddl.count++;
    return true;
}

/* A kept request behind a CHAIN record. */
static bool
spill_request(Writer *w, Tx *tx, Chain *c, const KeptMark *m, u32 end, bool first, u8 **to, Error *err)
{
    ChainRecord head = {.chain_id = c->id, .statement = m->statement, .savepoint = m->savepoint, .ordinal = m->ordinal};
    bool bad;
    if (!chain_begin_statement(w->world, c, m->statement, m->savepoint, err))
        return false;
    chain_encode(&head, *to + RECORD_HEAD_BYTES);
    *to += record_frame(*to, WAL_CHAIN, first ? CHAIN_FIRST : 0, CHAIN_BYTES);
    const u8 *at = *to;
    memcpy(*to, tx_kept(tx) + m->from, end - m->from);
    *to += end - m->from;
    for (Record r; record_next(&at, *to, &r, &bad);)
        if (!(ddl_is_catalog(r.kind) ? spill_change(w, tx, c, err) : spill_part(w, tx, c, &r, err)))
            return false;
    return true;
}

/* Hidden tables step aside and come back one by one: each part goes where it was meant to, be it dead by now. */
static bool
spill_all(Writer *w, Tx *tx, Chain *c, u8 *frame, u32 *ret_len, Error *err)
{
    u8 *to = frame;
    staged_set_aside(w->world, &tx->ddl);
    tx->ddl.count = 0;
    for (u32 i = 0; i < tx->mark_count; i++) {
        u32 end = i + 1 < tx->mark_count ? tx->marks[i + 1].from : tx->kept_len;
        if (!spill_request(w, tx, c, &tx->marks[i], end, i == 0, &to, err))
            return false;
        c->last_ordinal = tx->marks[i].ordinal;
    }
    *ret_len = (u32)(to - frame);
    return true;
}

/* As if nothing had been spilled. */
static void
unspill(Writer *w, Tx *tx, Chain *c, u32 change_count)
{
    chain_drop_blocks(w->world, c);
    while (tx->ddl.count > 0) {
        StagedChange *change = &tx->ddl.items[--tx->ddl.count];
        if (staged_alters(change->kind))
            (void)world_set_altered(w->world, change->id, change->altered_before, change->owner);
        if (!staged_hides(change->kind))
            continue;
        change->aside = world_set_aside(w->world, change->id);
        chain_drop_blocks(w->world, c);
    }
    tx->ddl.count = change_count;
    staged_bring_back(w->world, &tx->ddl);
    chain_drop(w->world, c);
    for (u32 i = 0; i < tx->staged_count; i++)
        tx->staged[i].count = 0;
}

/* The old rows of a kept UPDATE or DELETE. */
static PartView
old_rows_of(const Record *r)
{
    return (PartView){.kind = (PartKind)r->kind, .table_id = get_le32(r->payload), .row_count = get_le32(r->payload + 8),
                      .old_rows = (const u64 *)(const void *)(r->payload + PART_HEAD_BYTES)};
}

/* The locks say nothing of kept records any more. */
static void
clear_successors(Writer *w, const Tx *tx)
{
    const u8 *at = tx_kept(tx), *end = at + tx->kept_len;
    bool bad;
    for (Record r; record_next(&at, end, &r, &bad);) {
        if (r.kind != WAL_UPDATE && r.kind != WAL_DELETE)
            continue;
        PartView p = old_rows_of(&r);
        note_successors(w, tx, &p, true);
    }
}

/* From now on the key entries of its rows are its key locks and its deletes stand in the chain. */
static void
forget_notes(Writer *w, Tx *tx)
{
    clear_successors(w, tx);
    judge_pop_keys(tx, 0);
    tx->own_mark = 0;
    tx->mark_count = 0;
    memmove(tx_kept(tx), tx_request(tx), tx->request_len);
    tx->kept_len = 0;
}

bool
kept_spill(Writer *w, Tx *tx, Error *err)
{
    u32 len = 0, change_count = tx->ddl.count;
    Chain *c = chain_new(++w->next_chain);
    u8 *frame = malloc((size_t)tx->kept_len + (size_t)(tx->mark_count + 1) * CHAIN_RECORD_BYTES);
    bool ok = (c && frame) || out_of_memory(err);
    if (ok && !spill_all(w, tx, c, frame, &len, err)) {
        unspill(w, tx, c, change_count);
        c = NULL;
        ok = false;
    }
    if (ok) {
        tx->chain = c;
        tx_list_bulk(w, tx);
        if (len)
            c->first_lsn = commit_frame(w, tx, frame, len);
        forget_notes(w, tx);
        ok = intake_parse(tx, err); /* the same bytes elsewhere */
    } else {
        free(c);
    }
    free(frame);
    return ok;
}

void
kept_translate(const Tx *tx)
{
    for (u32 i = 0; i < tx->part_count && tx->staged_count; i++)
        if (tx->parts[i].kind != PART_INSERT)
            place_old_rows(tx, &tx->parts[i]);
}

/* ---- the way back ---- */

/* The rows and delete notes of one kept part. */
static void
undo_part(Writer *w, Tx *tx, const Record *r)
{
    if (r->kind != WAL_DELETE)
        world_cut_block(w->world, get_le32(r->payload), STAGED_BLOCK | tx->slot, ROW_OFFSET(get_le64(r->payload + 24)));
    if (r->kind != WAL_INSERT) {
        PartView p = old_rows_of(r);
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
