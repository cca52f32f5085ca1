/*
 * delete_write.c
 *    Marking rows deleted (the reader's side and the proof are in common/store/deletes.c).
 *
 * For each run of rows of one block: newest_delete first, then the list entries, then the bits, each by a release store. A run of at least
 * BULK_DELETE_ROWS rows keeps the bitmap before it instead of an entry a row. Entries that no pin needs are left out when the list grows
 * (or go with the list, reclaim.c). Marking a marked row does nothing, so applying twice changes nothing. A row that no publish has shown yet, which its
 * own transaction deletes again, is dead for every version: its bit is all that it needs.
 *
 * Fails: delete_reserve. It makes the bitmap and the room in the list and promises the bitmap of bulk runs.
 */
#include "walwriter/world_int.h"

enum { LIST_FIRST = 4 };

bool
delete_is_set(const SlotDirShm *slot, u32 offset)
{
    return slot->pub_bits && slot->pub_bits[offset >> 6] >> (offset & 63) & 1;
}

u64 *
delete_bits(World *w, SlotDirShm *slot, bool must)
{
    if (!slot->pub_bits) {
        u64 *bits = world_take(w, BITMAP_BYTES, must);
        if (!bits)
            return NULL;
        memset(bits, 0, BITMAP_BYTES);
        publish_ptr(&slot->pub_bits, bits);
    }
    return slot->pub_bits;
}

void
delete_mark_hole(World *w, TableWork *tw, SlotDirShm *slot, u32 first, u32 count)
{
    u64 *bits = delete_bits(w, slot, true);
    for (u32 o = first; o < first + count; o++) {
        if (delete_is_set(slot, o))
            continue;
        publish_u64(&bits[o >> 6], bits[o >> 6] | (u64)1 << (o & 63));
        slot->deleted_count++;
        tw->deleted_count++;
    }
}

void
delete_clear_hole(TableWork *tw, SlotDirShm *slot, u32 first, u32 count)
{
    for (u32 o = first; o < first + count; o++) {
        if (!delete_is_set(slot, o))
            continue;
        publish_u64(&slot->pub_bits[o >> 6], slot->pub_bits[o >> 6] & ~((u64)1 << (o & 63)));
        slot->deleted_count--;
        tw->deleted_count--;
    }
}

/* Rows from `from` on in the same block. */
static u32
run_length(const PartView *p, u32 from)
{
    u32 n = 1;
    while (from + n < p->row_count && ROW_BLOCK(p->old_rows[from + n]) == ROW_BLOCK(p->old_rows[from]))
        n++;
    return n;
}

static bool
is_published(const SlotDirShm *slot, RowId id)
{
    return ROW_OFFSET(id) < slot->rows_published;
}

/* List entries that a run of n rows needs. */
static u32
run_entries(const SlotDirShm *slot, const u64 *rows, u32 n)
{
    u32 published = 0;
    for (u32 i = 0; i < n; i++)
        published += is_published(slot, rows[i]);
    return published >= BULK_DELETE_ROWS ? 1 : published;
}

/* A list with room for `more` entries beside those promised; what no pin needs is left behind. */
static bool
list_room(World *w, SlotDirShm *slot, u32 more, bool must)
{
    DeleteListShm *old = slot->pub_list;
    u32 count = old ? old->pub_count : 0;
    if (old && (u64)count + slot->promised_entries + more <= old->capacity)
        return true;
    u32 first = 0;
    while (first < count && old->entries[first].version <= w->oldest_version)
        first++;
    u64 need = (u64)count - first + slot->promised_entries + more;
    u32 capacity = LIST_FIRST;
    while (capacity < need)
        capacity *= 2;
    DeleteListShm *l = world_take(w, list_bytes(capacity), must);
    if (!l)
        return false;
    *l = (DeleteListShm){.capacity = capacity, .pub_count = count - first, .dropped_version = w->oldest_version};
    if (old)
        memcpy(l->entries, old->entries + first, (count - first) * sizeof *l->entries);
    publish_ptr(&slot->pub_list, l);
    if (!old) {
        world_note_list(w, slot);
        return true;
    }
    for (u32 i = 0; i < first; i++)
        if (old->entries[i].what >= BLOCK_ROWS)
            world_retire(w, (void *)(uintptr_t)old->entries[i].what, BITMAP_BYTES);
    world_retire(w, old, list_bytes(old->capacity));
    return true;
}

static void
take_back_promises(World *w, TableWork *tw, const PartView *p, u32 rows)
{
    for (u32 i = 0; i < rows;) {
        u32 n = run_length(p, i);
        SlotDirShm *slot = block_slot(tw, ROW_BLOCK(p->old_rows[i]));
        u32 entries = run_entries(slot, p->old_rows + i, n);
        slot->promised_entries -= MIN(slot->promised_entries, entries);
        if (entries == 1 && n >= BULK_DELETE_ROWS)
            w->promised_delete_bytes -= MIN(w->promised_delete_bytes, (u64)BITMAP_BYTES);
        i += n;
    }
}

void
world_unreserve_deletes(World *w, const PartView *p)
{
    TableWork *tw = world_work(w, p->table_id);
    if (tw)
        take_back_promises(w, tw, p, p->row_count);
}

bool
delete_reserve(World *w, TableWork *tw, const PartView *p, Error *err)
{
    for (u32 i = 0; i < p->row_count;) {
        u32 n = run_length(p, i);
        u64 block = ROW_BLOCK(p->old_rows[i]);
        SlotDirShm *slot = block_slot(tw, block);
        bool rows_exist = slot != NULL;
        for (u32 k = i; rows_exist && k < i + n; k++)
            rows_exist = ROW_OFFSET(p->old_rows[k]) < slot->rows_taken; /* taken: rows of the same commit */
        if (!rows_exist) {
            take_back_promises(w, tw, p, i);
            return error_set(err, ERR_PROTOCOL_VIOLATION, "change of a row that does not exist");
        }
        u32 entries = run_entries(slot, p->old_rows + i, n);
        if (!delete_bits(w, slot, false) || (entries && !list_room(w, slot, entries, false))) {
            take_back_promises(w, tw, p, i);
            return world_full(err);
        }
        slot->promised_entries += entries;
        w->promised_delete_bytes += entries == 1 && n >= BULK_DELETE_ROWS ? BITMAP_BYTES : 0;
        i += n;
    }
    if (world_has_room(w, err))
        return true;
    take_back_promises(w, tw, p, p->row_count);
    return false;
}

static void
append_entry(DeleteListShm *l, u64 version, u64 what)
{
    u32 n = l->pub_count;
    ensure(n < l->capacity);
    relax_store_u64(&l->entries[n].version, version);
    relax_store_u64(&l->entries[n].what, what);
    publish_u32(&l->pub_count, n + 1);
}

/* Entries for the rows of a run that are not marked yet. */
static void
note_run(World *w, SlotDirShm *slot, const u64 *rows, u32 n, u64 version)
{
    DeleteListShm *l = slot->pub_list;
    const DeleteEntryShm *last = l && l->pub_count ? &l->entries[l->pub_count - 1] : NULL;
    if (last && last->version == version && last->what >= BLOCK_ROWS)
        return; /* the bitmap before this version is kept already */
    /* Runs may be cut otherwise than when they were reserved (a chain's deletes come sorted): make sure. */
    u32 entries = run_entries(slot, rows, n);
    if (!l || l->pub_count + entries > l->capacity)
        ensure(list_room(w, slot, entries, true));
    l = slot->pub_list;
    if (entries == 1 && n >= BULK_DELETE_ROWS) {
        u64 *before = world_must(w, BITMAP_BYTES);
        memcpy(before, slot->pub_bits, BITMAP_BYTES);
        append_entry(l, version, (u64)(uintptr_t)before);
        return;
    }
    for (u32 i = 0; i < n; i++)
        if (is_published(slot, rows[i]) && !delete_is_set(slot, ROW_OFFSET(rows[i])))
            append_entry(l, version, ROW_OFFSET(rows[i]));
}

static void
mark_run(World *w, TableWork *tw, SlotDirShm *slot, const u64 *rows, u32 n, u64 version)
{
    u32 fresh = 0;
    for (u32 i = 0; i < n; i++) {
        if (!is_published(slot, rows[i]))
            delete_mark_hole(w, tw, slot, ROW_OFFSET(rows[i]), 1);
        fresh += !delete_is_set(slot, ROW_OFFSET(rows[i]));
    }
    if (!fresh)
        return;
    if (version > slot->pub_newest_delete)
        publish_u64(&slot->pub_newest_delete, version);
    note_run(w, slot, rows, n, version);
    u32 before = slot->deleted_count;
    for (u32 i = 0; i < n; i++) {
        u32 o = ROW_OFFSET(rows[i]);
        if (delete_is_set(slot, o))
            continue;
        publish_u64(&slot->pub_bits[o >> 6], slot->pub_bits[o >> 6] | (u64)1 << (o & 63));
        slot->deleted_count++;
    }
    tw->deleted_count += slot->deleted_count - before;
}

void
world_apply_deletes(World *w, const PartView *p, u64 version)
{
    TableWork *tw = world_work(w, p->table_id);
    ensure(tw && p->kind != PART_INSERT);
    for (u32 i = 0; i < p->row_count;) {
        u32 n = run_length(p, i);
        SlotDirShm *slot = block_slot(tw, ROW_BLOCK(p->old_rows[i]));
        ensure(slot);
        mark_run(w, tw, slot, p->old_rows + i, n, version);
        i += n;
    }
    take_back_promises(w, tw, p, p->row_count);
    world_mark_dirty(w, tw);
}

RowState
world_row_state(World *w, u32 table_id, RowId id)
{
    TableWork *tw = world_work(w, table_id);
    const SlotDirShm *slot = tw ? block_slot(tw, ROW_BLOCK(id)) : NULL;
    if (slot && slot->kind == SLOT_MOVED)
        return ROW_DELETED; /* under this id */
    if (!slot || slot->kind == SLOT_TARGET || ROW_OFFSET(id) >= slot->rows_applied)
        return ROW_NONE;
    if (slot->kind == SLOT_CHAIN || slot->kind == SLOT_STAGED)
        return ROW_STAGED;
    return delete_is_set(slot, ROW_OFFSET(id)) ? ROW_DELETED : ROW_LIVE;
}

bool
world_row_live(World *w, u32 table_id, RowId id, u64 *ret_deleted_version)
{
    RowState state = world_row_state(w, table_id, id);
    if (state == ROW_LIVE) {
        *ret_deleted_version = 0;
        return true;
    }
    if (state != ROW_DELETED) {
        *ret_deleted_version = 0;
        return false;
    }
    const SlotDirShm *slot = block_slot(world_work(w, table_id), ROW_BLOCK(id));
    u64 version = 0;
    (void)delete_list_newer(slot->pub_list, ROW_OFFSET(id), 0, &version);
    *ret_deleted_version = version ? version : MIN(slot->pub_newest_delete, w->oldest_version);
    return false;
}
