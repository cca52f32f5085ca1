/*
 * dict_replace.c
 *    A dictionary most of whose texts no row has any more gives way to a new one.
 *
 * A dictionary that has doubled since it was last counted is counted, some blocks a step: which of its codes rows have that are alive. When more than half of its
 * texts, or of their bytes, are dead, and nobody writes to the table at the moment, the column gets a new, empty dictionary: the open block is sealed, so that
 * every block is of one dictionary, and new rows are entered into the new one. Blocks of the old one are sources for compaction from then on, which
 * translates their codes; an UPDATE translates what it copies. When no block has codes of the old one any more, it is retired.
 *
 * The old ones hang on DictShm.older of the newest. Nothing of this is logged: the log knows no codes. Fails: no memory for the new one, then the old one stays.
 */
#include "walwriter/world_int.h"

#include <stdlib.h>

enum { TABLES_A_STEP = 4096, BLOCKS_A_STEP = 4, CODES_A_STEP = 65536, GROWN_TEXTS = 4096, GROWN_BYTES = 1 << 20 };

/* ---- counting ---- */

static bool
has_doubled(const DictShm *d)
{
    return d->pub_count > 2 * (u64)d->counted_texts + GROWN_TEXTS || d->text_bytes > 2 * d->counted_bytes + GROWN_BYTES;
}

static void
end_count(DictCount *c)
{
    free(c->bits);
    *c = (DictCount){.table = c->table};
}

static bool
begin_count(World *w)
{
    DictCount *c = &w->dict_count;
    for (u32 n = 0; n < TABLES_A_STEP && c->table < w->table_capacity; n++, c->table++) {
        const TableWork *tw = w->tables[c->table];
        for (u32 col = 0; tw && !tw->hidden_by && tw->t->dicts && col < tw->t->def->column_count; col++) {
            DictShm *d = tw->t->dicts[col];
            if (!d || !has_doubled(d))
                continue;
            c->bits = calloc((u64)d->pub_count / 64 + 1, sizeof *c->bits);
            c->dict = c->bits ? d : NULL;
            c->column = col;
            c->count = d->pub_count;
            c->block = 1;
            return c->dict != NULL;
        }
    }
    if (c->table >= w->table_capacity)
        c->table = 0;
    return false;
}

static void
mark_codes(DictCount *c, const SlotDirShm *slot)
{
    const SliceShm *s = slot && slot->kind != SLOT_MOVED && slot->pub_block ? &slot->pub_block->slices[c->column] : NULL;
    u32 rows = !s || s->dict != c->dict ? 0 : slot->pub_block->sealed ? slot->pub_block->row_count : slot->rows_applied;
    if (slot && slot->kind == SLOT_TARGET)
        rows = 0;
    for (u32 i = 0; i < rows; i++) {
        u32 code = 0;
        if (delete_is_set(slot, i))
            continue;
        slice_load(s, i, &code);
        if (code < c->count)
            c->bits[code / 64] |= (u64)1 << (code % 64);
    }
}

/* true: all blocks were looked at. */
static bool
count_blocks(DictCount *c, const TableWork *tw)
{
    for (u32 n = 0; n < BLOCKS_A_STEP && c->block < tw->t->dir->next_block;) {
        u32 i, chunk = dir_chunk_of(c->block, &i);
        if (chunk >= tw->t->dir->chunk_capacity || !tw->t->dir->pub_chunks[chunk]) {
            c->block += dir_chunk_size(chunk) - i;
            continue;
        }
        const SlotDirShm *slot = block_slot(tw, c->block++);
        mark_codes(c, slot);
        n += slot != NULL;
    }
    if (c->block < tw->t->dir->next_block)
        return false;
    for (u64 owner = 0; c->code == 0 && owner < tw->staged_capacity; owner++)
        mark_codes(c, tw->staged[owner]);
    return true;
}

static bool
sum_texts(DictCount *c)
{
    u32 end = MIN(c->count, c->code + CODES_A_STEP);
    for (; c->code < end; c->code++)
        if (c->bits[c->code / 64] >> (c->code % 64) & 1) {
            c->live_texts++;
            c->live_bytes += dict_str(c->dict, c->code).len;
        }
    return c->code == c->count;
}

bool
world_dict_step(World *w, u32 *ret_table, u32 *ret_column, bool *ret_more)
{
    DictCount *c = &w->dict_count;
    *ret_more = true;
    if (!c->dict && !begin_count(w)) {
        *ret_more = c->table != 0;
        return false;
    }
    const TableWork *tw = w->tables[c->table];
    if (!tw || tw->hidden_by || !tw->t->dicts || c->column >= tw->t->def->column_count || tw->t->dicts[c->column] != c->dict) {
        end_count(c);
        return false;
    }
    if (!count_blocks(c, tw) || !sum_texts(c))
        return false;
    c->dict->counted_texts = c->live_texts;
    c->dict->counted_bytes = c->live_bytes;
    bool mostly_dead = 2 * (u64)c->live_texts + GROWN_TEXTS < c->count || 2 * c->live_bytes + GROWN_BYTES < c->dict->text_bytes;
    *ret_table = tw->table_id;
    *ret_column = c->column;
    end_count(c);
    return mostly_dead;
}

/* ---- replacing ---- */

bool
world_dict_replace(World *w, u32 table_id, u32 column)
{
    TableWork *tw = world_work(w, table_id);
    if (!tw || tw->hidden_by || tw->replaces || !tw->t->dicts || column >= tw->t->def->column_count || !tw->t->dicts[column])
        return false;
    for (u64 owner = 0; owner < tw->staged_capacity; owner++)
        if (tw->staged[owner])
            return false; /* it goes on being filled */
    SlotDirShm *slot;
    for (u64 block = 1; (slot = block_next_slot(tw, &block));)
        if (slot->kind == SLOT_CHAIN || slot->kind == SLOT_TARGET)
            return false;
    u64 bytes = tw->t->def->column_count * sizeof(DictShm *);
    DictShm **dicts = world_get(w, bytes);
    if (!dicts || !world_has_room(w, NULL) || !block_close_opens(w, tw, false)) {
        if (dicts)
            world_free(w, dicts, bytes);
        return false;
    }
    memcpy(dicts, tw->t->dicts, bytes);
    dicts[column] = dict_new(w, column);
    dicts[column]->older = tw->t->dicts[column];
    TableShm *t = world_must(w, sizeof *t);
    *t = *tw->t;
    t->dicts = dicts;
    world_retire(w, tw->t->dicts, bytes);
    world_retire(w, tw->t, sizeof *t);
    tw->t = t;
    catalog_set_table(w, table_id, t);
    world_mark_dirty(w, tw);
    w->memo.has_codes = false;
    return true;
}

bool
dict_is_old(const TableWork *tw, const SlotDirShm *slot)
{
    for (u32 c = 0; tw->t->dicts && slot->pub_block && c < slot->pub_block->column_count; c++)
        if (slot->pub_block->slices[c].dict != tw->t->dicts[c])
            return true;
    return false;
}

bool
dict_any_old(const TableWork *tw)
{
    for (u32 c = 0; tw->t->dicts && c < tw->t->def->column_count; c++)
        if (tw->t->dicts[c] && tw->t->dicts[c]->older)
            return true;
    return false;
}

static void
retire_piece(void *ctx, const void *piece, u64 bytes)
{
    world_retire(ctx, piece, bytes);
}

static bool
is_used(const TableWork *tw, u32 column, const DictShm *d)
{
    SlotDirShm *slot;
    for (u64 block = 1; (slot = block_next_slot(tw, &block));)
        if (slot->pub_block && slot->pub_block->slices[column].dict == d)
            return true;
    return false;
}

void
dict_drop_old(World *w, TableWork *tw)
{
    for (u32 c = 0; tw->t->dicts && c < tw->t->def->column_count; c++)
        for (DictShm *d = tw->t->dicts[c]; d && d->older;) {
            DictShm *old = d->older;
            if (is_used(tw, c, old)) {
                d = old;
                continue;
            }
            d->older = old->older;
            walk_dict(old, retire_piece, w);
        }
}

/* ---- what an UPDATE copies ---- */

/* The code that a row's text has in the table's dictionary. The text is there: dict_reserve_copies. */
u32
dict_code_now(World *w, DictShm *to, const DictShm *from, u32 code)
{
    u32 now;
    ensure(dict_enter(w, to, dict_str(from, code), dict_hash(from, code), &now));
    return now;
}

bool
dict_reserve_copies(World *w, TableWork *tw, const PartView *p)
{
    if (p->kind != PART_UPDATE || !dict_any_old(tw))
        return true;
    for (u32 c = 0; c < tw->t->def->column_count; c++) {
        if (!tw->t->dicts[c] || part_column(p, c))
            continue;
        for (u32 i = 0; i < p->row_count; i++) {
            const SlotDirShm *slot = block_slot(tw, ROW_BLOCK(p->old_rows[i]));
            u32 o = ROW_OFFSET(p->old_rows[i]), code = 0;
            const SliceShm *s = slot && slot->pub_block && o < slot->rows_applied ? &slot->pub_block->slices[c] : NULL;
            if (!s || s->dict == tw->t->dicts[c])
                continue;
            slice_load(s, o, &code);
            if (!dict_enter(w, tw->t->dicts[c], dict_str(s->dict, code), dict_hash(s->dict, code), &code))
                return false;
        }
    }
    return true;
}
