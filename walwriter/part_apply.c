/*
 * part_apply.c
 *    Parts into blocks: check against the table, reserve, write rows column by column.
 *
 * Reserving enters the texts of a part into the dictionaries (a text that no row names yet reveals nothing; a request is judged before) and keeps
 * the codes in a memo, which the apply that follows at once, as with the parts of a chain, uses; otherwise the codes are looked up
 * again. An UPDATE copies the unchanged columns, codes included, from the old rows.
 *
 * Applying twice changes nothing: rows below the published count and rows of sealed blocks are skipped, all others are written with the same
 * values. Rows that were taken but never come (their request failed after others had taken more) become holes: zeros, marked dead.
 *
 * Fails: world_reserve_part. Applying stops the process where a part was not reserved (ensure).
 */
#include "common/base/crc32c.h"
#include "common/base/hash.h"
#include "walwriter/world_int.h"

enum { TEXTS_SUMMED = 64 }; /* up to so many texts it is cheaper to add up lengths than to keep a memo */

const PartColumn *
part_column(const PartView *p, u32 column)
{
    if (p->kind == PART_INSERT)
        return column < p->column_count ? &p->columns[column] : NULL;
    for (u32 c = 0; c < p->column_count && p->columns[c].column <= column; c++)
        if (p->columns[c].column == column)
            return &p->columns[c];
    return NULL;
}

/* ---- the memo of a part's texts ---- */

static u32
texts_sum(const PartView *p)
{
    u32 sum = 0;
    for (u32 c = 0; c < p->column_count; c++) {
        const PartColumn *pc = &p->columns[c];
        if (pc->phys != PHYS_STR || !pc->distinct)
            continue;
        u64 bytes = 0;
        for (u32 d = 0; d < pc->distinct; d++) {
            bytes += part_text_bytes(pc, d);
            if (UNLIKELY(pc->lengths[d] & PART_LONG)) {
                const LongText *l = part_long(p, pc, d);
                ensure(l);
                sum = crc32c(sum, &l->text, sizeof l->text);
            }
        }
        sum = crc32c(sum, pc->lengths, pc->distinct * sizeof *pc->lengths);
        sum = crc32c(sum, pc->texts, bytes);
    }
    return sum;
}

static bool
memo_is_for(const PartMemo *m, const PartView *p)
{
    return m->columns == p->columns && m->table_id == p->table_id && m->row_count == p->row_count && m->column_count == p->column_count;
}

void
memo_begin(World *w, const PartView *p)
{
    PartMemo *m = &w->memo;
    m->columns = p->columns;
    m->table_id = p->table_id;
    m->row_count = p->row_count;
    m->column_count = p->column_count;
    m->has_codes = false;
    u32 n = 0;
    for (u32 c = 0; c < p->column_count; c++) {
        const PartColumn *pc = &p->columns[c];
        m->starts[c] = n;
        if (pc->phys != PHYS_STR)
            continue;
        u32 at = 0;
        ensure(n + pc->distinct <= PART_TEXTS_MAX);
        for (u32 d = 0; d < pc->distinct; d++) {
            m->offsets[n++] = at;
            at += part_text_bytes(pc, d);
        }
    }
}

void
world_part_begin(World *w, const PartView *p)
{
    memo_begin(w, p);
}

Str
memo_text(const World *w, const PartView *p, const PartColumn *c, u32 i)
{
    u32 index = part_index(c, i), offset = 0;
    if (c->distinct == 0)
        return (Str){"", 0};
    if (index >= TEXTS_SUMMED && memo_is_for(&w->memo, p))
        return part_text(p, c, index, w->memo.offsets + w->memo.starts[c - p->columns]);
    for (u32 d = 0; d < index; d++)
        offset += part_text_bytes(c, d);
    return part_str(p, c, index, c->texts + offset);
}

/* Codes of all texts of the part. false without memory. */
static bool
memo_codes(World *w, const TableWork *tw, const PartView *p)
{
    memo_begin(w, p);
    PartMemo *m = &w->memo;
    for (u32 c = 0; c < p->column_count; c++) {
        const PartColumn *pc = &p->columns[c];
        if (pc->phys != PHYS_STR)
            continue;
        DictShm *d = tw->t->dicts[pc->column];
        u32 at = m->starts[c];
        for (u32 i = 0; i < pc->distinct; i += KEY_BATCH) {
            u64 hashes[KEY_BATCH];
            u32 n = MIN((u32)KEY_BATCH, pc->distinct - i);
            for (u32 k = 0; k < n; k++) {
                hashes[k] = hash_bytes(pc->texts + m->offsets[at + i + k], part_text_bytes(pc, i + k));
                index_prefetch(&d->index, hashes[k]);
            }
            for (u32 k = 0; k < n; k++) {
                u32 *code = &m->codes[at + i + k];
                bool is_long = pc->lengths[i + k] & PART_LONG;
                if (!(is_long ? dict_enter_long(w, d, part_long(p, pc, i + k), code)
                              : dict_enter(w, d, part_text(p, pc, i + k, m->offsets + at), hashes[k], code)))
                    return false;
            }
        }
    }
    m->has_codes = true;
    m->sum = texts_sum(p);
    return true;
}

/* ---- checking ---- */

static bool
longs_are_there(const PartView *p, const PartColumn *pc)
{
    for (u32 d = 0; pc->phys == PHYS_STR && d < pc->distinct; d++)
        if (UNLIKELY(pc->lengths[d] & PART_LONG) && !part_long(p, pc, d))
            return false;
    return true;
}

static bool
fits_column(const PartView *p, const PartColumn *pc, const TableDef *def, u32 rows, Error *err)
{
    if (pc->column >= def->column_count || pc->phys != (PhysType)def->columns[pc->column].phys || !longs_are_there(p, pc))
        return error_set(err, ERR_PROTOCOL_VIOLATION, "a part does not fit its table");
    const ColumnDef *cd = &def->columns[pc->column];
    if (!cd->not_null || !pc->null_bytes || !memchr(pc->null_bytes, 1, rows))
        return true;
    error_set(err, ERR_NOT_NULL_VIOLATION, "null value in column \"%.*s\" of relation \"%.*s\" violates not-null constraint", (int)cd->name.len,
              cd->name.ptr, (int)def->name.len, def->name.ptr);
    return false;
}

static bool
fits_table(const PartView *p, const TableDef *def, Error *err)
{
    if (p->kind == PART_INSERT && p->column_count != def->column_count)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "a part does not fit its table");
    for (u32 c = 0; c < p->column_count; c++) {
        bool in_order = p->kind == PART_INSERT ? p->columns[c].column == c : c == 0 || p->columns[c].column > p->columns[c - 1].column;
        if (!in_order)
            return error_set(err, ERR_PROTOCOL_VIOLATION, "a part does not fit its table");
        if (!fits_column(p, &p->columns[c], def, p->row_count, err))
            return false;
    }
    return true;
}

/* ---- reserving ---- */

/* Blocks that recovery meets for the first time are made here; nobody adopted them, so they are open blocks of small commits. */
static bool
range_room(World *w, TableWork *tw, RowId first, u32 count, Error *err)
{
    if (!count)
        return true;
    u64 block = ROW_BLOCK(first), end = (u64)ROW_OFFSET(first) + count;
    if (block == 0 || block >= STAGED_BLOCK || end > BLOCK_ROWS)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "row ids of a part are out of range");
    SlotDirShm *slot = block_slot(tw, block);
    if (!slot)
        slot = block_slot_new(w, tw, block, SLOT_OPEN, false);
    if (!slot)
        return world_full(err);
    if (slot->kind == SLOT_SEALED || slot->kind == SLOT_MOVED)
        return true; /* applied before */
    return block_room(w, tw, slot, (u32)end, false) || world_full(err);
}

/* Code 0 must exist before a row does: it stands under NULLs and in holes. */
static bool
first_codes(World *w, const TableWork *tw)
{
    for (u32 c = 0; tw->t->dicts && c < tw->t->def->column_count; c++) {
        u32 code;
        if (tw->t->dicts[c] && !tw->t->dicts[c]->pub_count && !dict_enter(w, tw->t->dicts[c], (Str){"", 0}, hash_bytes("", 0), &code))
            return false;
    }
    return true;
}

/* The table of a part that fits it, the part's texts in its dictionaries. */
static TableWork *
reserve_texts(World *w, const PartView *p, Error *err)
{
    TableWork *tw = world_work(w, p->table_id);
    if (!tw) {
        error_set(err, ERR_UNDEFINED_TABLE, "relation with OID %u does not exist", p->table_id);
        return NULL;
    }
    if (!fits_table(p, tw->t->def, err))
        return NULL;
    if (p->kind != PART_DELETE && (!first_codes(w, tw) || !memo_codes(w, tw, p) || !dict_reserve_copies(w, tw, p))) {
        (void)world_full(err);
        return NULL;
    }
    return tw;
}

bool
world_reserve_staged(World *w, const PartView *p, Error *err)
{
    return reserve_texts(w, p, err) != NULL && world_has_room(w, err);
}

bool
world_reserve_rows(World *w, const PartView *p, Error *err)
{
    TableWork *tw = reserve_texts(w, p, err);
    if (!tw)
        return false;
    if (p->kind == PART_DELETE)
        return true;
    u32 second = p->row_count - MIN(p->first_count, p->row_count);
    bool ids_set = p->first_row || p->second_row;
    if (ids_set && !(range_room(w, tw, p->first_row, p->row_count - second, err) && range_room(w, tw, p->second_row, second, err)))
        return false;
    return key_reserve_part(w, tw, p, err) && world_has_room(w, err);
}

bool
world_reserve_deletes(World *w, const PartView *p, Error *err)
{
    TableWork *tw = world_work(w, p->table_id);
    ensure(tw);
    return p->kind == PART_INSERT || delete_reserve(w, tw, p, err);
}

bool
world_reserve_part(World *w, const PartView *p, Error *err)
{
    return world_reserve_rows(w, p, err) && world_reserve_deletes(w, p, err);
}

/* ---- writing rows ---- */

/* Rows `from` … of the part to offset `to` on. */
typedef struct RowRun {
    u32 from, to, count;
} RowRun;

static u8 *slice_bytes(const BlockShm *b, u32 c, u32 offset) { return (u8 *)(uintptr_t)b->slices[c].data + (u64)offset * b->slices[c].width; }
static u8 *slice_null_bytes(const BlockShm *b, u32 c, u32 offset) { return (u8 *)(uintptr_t)b->slices[c].nulls + offset; }

#define CODES(T)                                                                                                                           \
    do {                                                                                                                                   \
        const T *index = (const T *)pc->indexes + r.from;                                                                                  \
        for (u32 i = 0; i < r.count; i++)                                                                                                  \
            to[i] = codes[index[i]];                                                                                                       \
    } while (0)

static void
write_codes(const World *w, const PartView *p, const PartColumn *pc, RowRun r, u32 *to)
{
    const u32 *codes = w->memo.codes + w->memo.starts[pc - p->columns];
    if (!pc->distinct)
        memset(to, 0, r.count * sizeof *to);
    else if (pc->index_width == 1)
        CODES(u8);
    else if (pc->index_width == 2)
        CODES(u16);
    else
        CODES(u32);
}

static void
write_column(const World *w, const PartView *p, const PartColumn *pc, const BlockShm *b, RowRun r)
{
    u32 c = pc->column, width = b->slices[c].width;
    u8 *to = slice_bytes(b, c, r.to);
    if (pc->phys == PHYS_STR)
        write_codes(w, p, pc, r, (u32 *)(void *)to);
    else
        memcpy(to, (const u8 *)pc->values + (u64)r.from * width, (u64)r.count * width);
    if (!b->slices[c].nulls)
        return;
    if (pc->null_bytes)
        memcpy(slice_null_bytes(b, c, r.to), pc->null_bytes + r.from, r.count);
    else
        memset(slice_null_bytes(b, c, r.to), 0, r.count);
}

/* A successor that replays a chain meets rows that were changed and taken back again, and compacted away since: what becomes of them is taken back, too. */
static void
copy_nothing(const BlockShm *b, const PartView *p, u32 to, u32 n)
{
    for (u32 c = 0, changed = 0; c < b->column_count; c++) {
        if (changed < p->column_count && p->columns[changed].column == c) {
            changed++;
            continue;
        }
        memset(slice_bytes(b, c, to), 0, (u64)n * b->slices[c].width);
        if (b->slices[c].nulls)
            memset(slice_null_bytes(b, c, to), 0, n);
    }
}

/* The unchanged columns of an UPDATE, from the old rows: for each run of old rows of one block column by column. */
static void
copy_unchanged(World *w, const TableWork *tw, const PartView *p, const BlockShm *b, RowRun r)
{
    for (u32 i = 0; i < r.count;) {
        u64 block = ROW_BLOCK(p->old_rows[r.from + i]);
        u32 n = 1;
        while (i + n < r.count && ROW_BLOCK(p->old_rows[r.from + i + n]) == block)
            n++;
        const SlotDirShm *slot = block_slot(tw, block);
        const BlockShm *old = slot ? slot->pub_block : NULL;
        if (!old) {
            copy_nothing(b, p, r.to + i, n);
            i += n;
            continue;
        }
        const u64 *rows = p->old_rows + r.from + i;
        for (u32 c = 0, changed = 0; c < b->column_count; c++) {
            if (changed < p->column_count && p->columns[changed].column == c) {
                changed++;
                continue;
            }
            const SliceShm *s = &old->slices[c];
            u8 *to = slice_bytes(b, c, r.to + i);
            u32 width = b->slices[c].width;
            for (u32 k = 0; k < n; k++)
                slice_load(s, ROW_OFFSET(rows[k]), to + (u64)k * width);
            if (s->dict != b->slices[c].dict)
                for (u32 k = 0; k < n; k++)
                    ((u32 *)(void *)to)[k] = dict_code_now(w, (DictShm *)(uintptr_t)b->slices[c].dict, s->dict, ((u32 *)(void *)to)[k]);
            if (b->slices[c].nulls)
                for (u32 k = 0; k < n; k++)
                    *slice_null_bytes(b, c, r.to + i + k) = slice_null(old, s, ROW_OFFSET(rows[k]));
        }
        i += n;
    }
}

static void
fill_hole(World *w, TableWork *tw, SlotDirShm *slot, u32 first, u32 count)
{
    const BlockShm *b = slot->pub_block;
    for (u32 c = 0; c < b->column_count; c++) {
        memset(slice_bytes(b, c, first), 0, (u64)count * b->slices[c].width);
        if (b->slices[c].nulls)
            memset(slice_null_bytes(b, c, first), 0, count);
    }
    delete_mark_hole(w, tw, slot, first, count);
}

/* Small commits fill blocks in the order of their ids: those before `slot` get no more rows. */
static void
close_older(World *w, TableWork *tw, const SlotDirShm *slot)
{
    while (tw->opens.count && tw->opens.slots[0] != slot) {
        SlotDirShm *older = tw->opens.slots[0];
        slot_list_remove(&tw->opens, 0);
        if (older->rows_applied)
            block_seal(w, tw, older);
        else
            block_slot_drop(w, tw, older);
    }
}

static void
apply_run(World *w, TableWork *tw, const PartView *p, RowId first, RowRun r)
{
    SlotDirShm *slot = block_slot(tw, ROW_BLOCK(first));
    ensure(slot);
    if (slot->kind == SLOT_SEALED || slot->kind == SLOT_MOVED)
        return;
    if (r.to < slot->rows_published) { /* published before: replay */
        u32 done = MIN(slot->rows_published - r.to, r.count);
        r = (RowRun){.from = r.from + done, .to = r.to + done, .count = r.count - done};
    }
    if (!r.count)
        return;
    if (slot->kind == SLOT_OPEN)
        close_older(w, tw, slot);
    ensure(block_room(w, tw, slot, r.to + r.count, true));
    if (r.to > slot->rows_applied)
        fill_hole(w, tw, slot, slot->rows_applied, r.to - slot->rows_applied);
    const BlockShm *b = slot->pub_block;
    for (u32 c = 0; c < p->column_count; c++)
        write_column(w, p, &p->columns[c], b, r);
    if (p->kind == PART_UPDATE)
        copy_unchanged(w, tw, p, b, r);
    if (r.to < slot->rows_applied)
        delete_clear_hole(tw, slot, r.to, MIN(slot->rows_applied - r.to, r.count));
    slot->rows_applied = MAX(slot->rows_applied, r.to + r.count);
    slot->rows_taken = MAX(slot->rows_taken, slot->rows_applied);
    if (slot->kind != SLOT_STAGED)
        key_enter_rows(w, tw, slot, r.to, r.count);
    if (slot->kind != SLOT_OPEN)
        return;
    world_mark_dirty(w, tw);
    if (slot->rows_applied == BLOCK_ROWS) {
        ensure(tw->opens.slots[0] == slot);
        slot_list_remove(&tw->opens, 0);
        block_seal(w, tw, slot);
    }
}

void
world_apply_rows(World *w, const PartView *p)
{
    TableWork *tw = world_work(w, p->table_id);
    ensure(tw && p->kind != PART_DELETE);
    u32 sum = texts_sum(p);
    if (!w->memo.has_codes || !memo_is_for(&w->memo, p) || w->memo.sum != sum)
        ensure(memo_codes(w, tw, p));
    w->memo.has_codes = false;
    u32 first = MIN(p->first_count, p->row_count), second = p->row_count - first;
    if (first)
        apply_run(w, tw, p, p->first_row, (RowRun){.from = 0, .to = ROW_OFFSET(p->first_row), .count = first});
    if (second)
        apply_run(w, tw, p, p->second_row, (RowRun){.from = first, .to = ROW_OFFSET(p->second_row), .count = second});
}

void
world_apply_part(World *w, const PartView *p, u64 version)
{
    if (p->kind != PART_INSERT)
        world_apply_deletes(w, p, version);
    if (p->kind != PART_DELETE)
        world_apply_rows(w, p);
}
