/*
 * key_write.c
 *    Keys of parts and rows: room for them, entering them, finding them while judging.
 *
 * Entries are made after the rows are written, in batches: hash a batch, load its lines, enter. An entry of a deleted row goes when no pin can
 * see the row: its slot is used again by the next version of the key, or it is left behind when its segment grows. Entries of blocks that an
 * aborted chain left are dropped alike. Reserving counts the entries to come in their segments, so that entering finds room.
 */
#include "common/base/hash.h"
#include "walwriter/world_int.h"

typedef struct KeepContext {
    World *w;
    const TableWork *tw;
} KeepContext;

static bool
keep_key(void *ctx, u64 id)
{
    const KeepContext *k = ctx;
    const SlotDirShm *slot = block_slot(k->tw, ROW_BLOCK(id));
    if (!slot)
        return false;
    if (slot->kind == SLOT_MOVED) /* its rows are found by older pins, until they are freed */
        return compact_rows_needed(k->w, slot);
    return !slot->pub_bits || !world_row_over(k->w, k->tw, slot, ROW_OFFSET(id));
}

/* ---- the key of a part's row ---- */

typedef struct PartKey {
    _Alignas(16) u8 store[MAX_KEY_COLUMNS][32];
    const void *at[MAX_KEY_COLUMNS];
} PartKey;

/* A stored value as an element: text becomes a Str. */
static void
load_element(const SliceShm *s, u32 offset, void *to)
{
    slice_load(s, offset, to);
    if (s->phys != PHYS_STR)
        return;
    u32 code;
    memcpy(&code, to, sizeof code);
    Str text = dict_str(s->dict, code);
    memcpy(to, &text, sizeof text);
}

/* false when a column is NULL. */
static bool
part_key(const World *w, const TableWork *tw, u32 key, const PartView *p, u32 i, PartKey *ret)
{
    const KeyDef *k = &tw->t->def->keys[key];
    for (u32 c = 0; c < k->column_count; c++) {
        const PartColumn *pc = part_column(p, k->columns[c]);
        ret->at[c] = ret->store[c];
        if (!pc) { /* UPDATE, unchanged: the old row's */
            const SlotDirShm *slot = block_slot(tw, ROW_BLOCK(p->old_rows[i]));
            u32 offset = ROW_OFFSET(p->old_rows[i]);
            if (!slot || offset >= slot->rows_applied || slice_null(slot->pub_block, &slot->pub_block->slices[k->columns[c]], offset))
                return false;
            load_element(&slot->pub_block->slices[k->columns[c]], offset, ret->store[c]);
            continue;
        }
        if (pc->null_bytes && pc->null_bytes[i])
            return false;
        if (pc->phys == PHYS_STR) {
            Str s = memo_text(w, p, pc, i);
            memcpy(ret->store[c], &s, sizeof s);
        } else {
            u32 width = phys_width(pc->phys);
            memcpy(ret->store[c], (const u8 *)pc->values + (u64)i * width, width);
        }
    }
    return true;
}

static u64
hash_part_key(const TableWork *tw, u32 key, const PartKey *e)
{
    const KeyDef *k = &tw->t->def->keys[key];
    u64 h = key_hash_first();
    for (u32 c = 0; c < k->column_count; c++)
        h = key_hash_add(h, key_hash_element((PhysType)tw->t->def->columns[k->columns[c]].phys, e->at[c]));
    return h;
}

bool
world_key_hash(World *w, u32 table_id, u32 key, const PartView *p, u32 i, u64 *ret_hash)
{
    TableWork *tw = world_work(w, table_id);
    PartKey e;
    if (!tw || !part_key(w, tw, key, p, i, &e))
        return false;
    *ret_hash = hash_part_key(tw, key, &e);
    return true;
}

bool
world_key_hash_row(World *w, u32 table_id, u32 key, RowId id, u64 *ret_hash)
{
    TableWork *tw = world_work(w, table_id);
    const SlotDirShm *slot = tw ? block_slot(tw, ROW_BLOCK(id)) : NULL;
    if (!slot || ROW_OFFSET(id) >= slot->rows_applied)
        return false;
    return key_hash_stored(slot->pub_block, &tw->t->def->keys[key], ROW_OFFSET(id), ret_hash);
}

bool
world_key_equal(World *w, u32 table_id, u32 key, const PartView *p, u32 i, const PartView *q, u32 j)
{
    TableWork *tw = world_work(w, table_id);
    PartKey a, b;
    if (!tw || !part_key(w, tw, key, p, i, &a) || !part_key(w, tw, key, q, j, &b))
        return false;
    const KeyDef *k = &tw->t->def->keys[key];
    for (u32 c = 0; c < k->column_count; c++)
        if (!key_elements_equal((PhysType)tw->t->def->columns[k->columns[c]].phys, a.at[c], b.at[c]))
            return false;
    return true;
}

bool
world_key_equal_row(World *w, u32 table_id, u32 key, const PartView *p, u32 i, RowId id)
{
    TableWork *tw = world_work(w, table_id);
    PartKey e;
    const SlotDirShm *slot = tw ? block_slot(tw, ROW_BLOCK(id)) : NULL;
    return slot && ROW_OFFSET(id) < slot->rows_applied && part_key(w, tw, key, p, i, &e) &&
           key_stored_equal(slot->pub_block, &tw->t->def->keys[key], ROW_OFFSET(id), e.at);
}

void
world_key_each(World *w, u32 table_id, u32 key, const PartView *p, u32 i, bool (*visit)(void *ctx, RowId id), void *ctx)
{
    TableWork *tw = world_work(w, table_id);
    PartKey e;
    if (!tw || !part_key(w, tw, key, p, i, &e))
        return;
    IndexCursor c = index_find(&tw->t->keys[key], hash_part_key(tw, key, &e));
    u64 id;
    while (index_next(&c, &id)) {
        const SlotDirShm *slot = block_slot(tw, ROW_BLOCK(id));
        if (!slot || slot->kind == SLOT_MOVED || ROW_OFFSET(id) >= slot->rows_applied)
            continue;
        if (key_stored_equal(slot->pub_block, &tw->t->def->keys[key], ROW_OFFSET(id), e.at) && !visit(ctx, id))
            return;
    }
}

void
world_key_each_hash(World *w, u32 table_id, u32 key, u64 hash, bool (*visit)(void *ctx, RowId id), void *ctx)
{
    TableWork *tw = world_work(w, table_id);
    IndexCursor c = index_find(&tw->t->keys[key], hash);
    u64 id, have;
    while (index_next(&c, &id))
        if (world_key_hash_row(w, table_id, key, id, &have) && have == hash && !visit(ctx, id))
            return;
}

typedef struct FindRow {
    World *w;
    u32 table_id;
    RowState state; /* of the best so far */
    RowId id;
} FindRow;

static bool
prefer_live(void *ctx, RowId id)
{
    FindRow *f = ctx;
    RowState state = world_row_state(f->w, f->table_id, id);
    if (state == ROW_LIVE || (state == ROW_STAGED && f->state == ROW_NONE)) {
        f->state = state;
        f->id = id;
    }
    return state != ROW_LIVE;
}

bool
world_key_find(World *w, u32 table_id, u32 key, const PartView *p, u32 i, RowId *ret)
{
    FindRow f = {.w = w, .table_id = table_id, .state = ROW_NONE};
    world_key_each(w, table_id, key, p, i, prefer_live, &f);
    if (f.state != ROW_NONE)
        *ret = f.id;
    return f.state != ROW_NONE;
}

/* ---- room and entering ---- */

/* Hash of a key that is one text column of the part, by its code: the bytes were hashed when it was entered. */
static u64
hash_by_code(const World *w, const TableWork *tw, const PartView *p, const PartColumn *pc, u32 i)
{
    u32 code = w->memo.codes[w->memo.starts[pc - p->columns] + part_index(pc, i)];
    return key_hash_add(key_hash_first(), dict_hash(tw->t->dicts[pc->column], code));
}

bool
key_reserve_part(World *w, TableWork *tw, const PartView *p, Error *err)
{
    KeepContext keep = {w, tw};
    for (u32 key = 0; key < tw->t->def->key_count; key++) {
        const KeyDef *k = &tw->t->def->keys[key];
        const PartColumn *only_text = k->column_count == 1 ? part_column(p, k->columns[0]) : NULL;
        if (only_text && only_text->phys != PHYS_STR)
            only_text = NULL;
        for (u32 i = 0; i < p->row_count; i++) {
            PartKey e;
            u64 hash;
            if (only_text && !(only_text->null_bytes && only_text->null_bytes[i]))
                hash = hash_by_code(w, tw, p, only_text, i);
            else if (part_key(w, tw, key, p, i, &e))
                hash = hash_part_key(tw, key, &e);
            else
                continue;
            if (!index_reserve(w, &tw->t->keys[key], hash, true, false, keep_key, &keep))
                return world_full(err);
        }
    }
    return true;
}

bool
key_reserve_rows(World *w, TableWork *tw, const SlotDirShm *slot, u32 first, u32 count)
{
    KeepContext keep = {w, tw};
    for (u32 key = 0; key < tw->t->def->key_count; key++)
        for (u32 i = first; i < first + count; i++) {
            u64 hash;
            if (key_hash_stored(slot->pub_block, &tw->t->def->keys[key], i, &hash) &&
                !index_reserve(w, &tw->t->keys[key], hash, true, false, keep_key, &keep))
                return false;
        }
    return true;
}

void
key_enter_rows(World *w, TableWork *tw, SlotDirShm *slot, u32 first, u32 count)
{
    KeepContext keep = {w, tw};
    const BlockShm *b = slot->pub_block;
    for (u32 key = 0; key < tw->t->def->key_count; key++) {
        const KeyDef *k = &tw->t->def->keys[key];
        IndexShm *x = &tw->t->keys[key];
        for (u32 at = first; at < first + count; at += KEY_BATCH) {
            u64 hashes[KEY_BATCH];
            bool entered[KEY_BATCH];
            u32 n = MIN((u32)KEY_BATCH, first + count - at);
            for (u32 i = 0; i < n; i++) {
                entered[i] = key_hash_stored(b, k, at + i, &hashes[i]);
                if (entered[i])
                    index_prefetch(x, hashes[i]);
            }
            for (u32 i = 0; i < n; i++)
                if (entered[i])
                    index_enter(w, x, hashes[i], ROW_ID(slot->block_id, at + i), keep_key, &keep);
        }
    }
}
