/*
 * reclaim.c
 *    Memory that is no longer reachable, and the memory that must stay free for applying.
 *
 * A piece that the next publish makes unreachable is retired under the epoch published before it. A reader that pinned epoch E has the root of E or
 * of the next one, so it may reach pieces retired under E or later; a piece may be used again once every pin is above its epoch (I8). Pins are read
 * after the fence of world_publish: a reader that pins an older epoch afterwards finds the epoch changed and tries again. A stale pin only
 * keeps memory longer.
 *
 * Retired pieces stand in the order of their epochs, so looking at the front is enough. Delete lists go when no pin needs them.
 */
#include "walwriter/world_int.h"

#include <stdlib.h>

enum { RECLAIM_PIECES = 2048, RECLAIM_LISTS = 64, RECLAIM_HOLES = 4 };

void *
world_grow_private(void *old, u64 count, u64 *capacity, u64 item_bytes)
{
    if (count <= *capacity)
        return old;
    u64 n = MAX(count, *capacity * 2);
    void *grown = realloc(old, n * item_bytes);
    ensure(grown);
    *capacity = n;
    return grown;
}

/* ---- taking ---- */

static u64
extents_of(u64 bytes)
{
    return (bytes + EXTENT_BYTES - 1) / EXTENT_BYTES;
}

/* Promised pieces are counted twice: pieces of different sizes may not share their extents well. */
static u64
kept_extents(const World *w)
{
    u64 promised = w->promised_seal_bytes + w->promised_delete_bytes + w->promised_catalog_bytes;
    return KEEP_EXTENTS + extents_of((u64)w->next.table_count * KEEP_BYTES_A_TABLE + 2 * promised);
}

bool
world_full(Error *err)
{
    error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    error_detail(err, "The memory budget for tables, keys and dictionaries is used up.");
    error_hint(err, "Delete rows or drop tables, or raise the setting \"memory\".");
    return false;
}

bool
world_has_room(const World *w, Error *err)
{
    return alloc_room(w->alloc, kept_extents(w)) || world_full(err);
}

/* A bigger request may find room in what has been retired meanwhile. */
void *
world_get(World *w, u64 bytes)
{
    u64 keep = kept_extents(w);
    void *p = alloc_get(w->alloc, bytes, keep);
    if (!p && w->retired.count) {
        while (world_reclaim(w))
            ;
        p = alloc_get(w->alloc, bytes, keep);
    }
    return p;
}

void *
world_must(World *w, u64 bytes)
{
    void *p = alloc_get(w->alloc, bytes, 0);
    if (!p) {
        while (world_reclaim(w))
            ;
        p = alloc_get(w->alloc, bytes, 0);
    }
    ensure(p);
    return p;
}

void *
world_take(World *w, u64 bytes, bool must)
{
    return must ? world_must(w, bytes) : world_get(w, bytes);
}

/* ---- giving back ---- */

void
world_free(World *w, const void *piece, u64 bytes)
{
    alloc_free(w->alloc, piece, bytes);
}

void
world_retire(World *w, const void *piece, u64 bytes)
{
    RetiredQueue *q = &w->retired;
    if (q->first + q->count == q->capacity && q->first > q->count) {
        memmove(q->items, q->items + q->first, q->count * sizeof *q->items);
        q->first = 0;
    }
    q->items = world_grow_private(q->items, q->first + q->count + 1, &q->capacity, sizeof *q->items);
    q->items[q->first + q->count++] = (Retired){.piece = piece, .bytes = bytes, .epoch = w->head->pub_epoch};
}

void
world_note_publish(World *w)
{
    HistoryQueue *q = &w->history;
    if (q->first + q->count == q->capacity && q->first > q->count) {
        memmove(q->items, q->items + q->first, q->count * sizeof *q->items);
        q->first = 0;
    }
    q->items = world_grow_private(q->items, q->first + q->count + 1, &q->capacity, sizeof *q->items);
    q->items[q->first + q->count++] = (History){.epoch = w->next.epoch, .version = w->next.version};
}

void
world_note_list(World *w, SlotDirShm *slot)
{
    SlotQueue *q = &w->listed;
    if (q->first + q->count == q->capacity && q->first > q->count) {
        memmove(q->items, q->items + q->first, q->count * sizeof *q->items);
        q->first = 0;
    }
    q->items = world_grow_private(q->items, q->first + q->count + 1, &q->capacity, sizeof *q->items);
    q->items[q->first + q->count++] = slot;
}

/* The table goes: its slots leave the queue before their memory does. */
void
world_forget_table_lists(World *w, const TableWork *tw)
{
    SlotQueue *q = &w->listed;
    u64 kept = 0;
    for (u64 i = 0; i < q->count; i++) {
        SlotDirShm *slot = q->items[q->first + i];
        if (block_slot(tw, slot->block_id) != slot)
            q->items[q->first + kept++] = slot;
    }
    q->count = kept;
}

/* The oldest pin, or the published epoch when nothing is pinned; and the version it may read at. */
static void
look_at_pins(World *w)
{
    u64 oldest = w->head->pub_epoch;
    for (u32 i = 0; i < w->shm->slot_count; i++) {
        u64 pin = observe_u64(&shm_box(w->shm, i)->pub_pin_epoch);
        if (pin && pin < oldest)
            oldest = pin;
    }
    w->oldest_epoch = oldest;
    HistoryQueue *q = &w->history;
    while (q->count > 1 && q->items[q->first + 1].epoch <= oldest) {
        q->first++;
        q->count--;
    }
    /* A pin older than all that is known (takeover): nothing is sure about its version. */
    w->oldest_version = q->count && q->items[q->first].epoch <= oldest ? q->items[q->first].version : 0;
}

static bool
free_retired(World *w)
{
    RetiredQueue *q = &w->retired;
    for (u32 n = 0; q->count && q->items[q->first].epoch < w->oldest_epoch; n++) {
        if (n == RECLAIM_PIECES)
            return true;
        Retired r = q->items[q->first];
        q->first++;
        q->count--;
        world_free(w, r.piece, r.bytes);
    }
    return false;
}

static void
drop_list(World *w, SlotDirShm *slot)
{
    DeleteListShm *l = slot->pub_list;
    publish_ptr(&slot->pub_list, (DeleteListShm *)NULL);
    for (u32 i = 0; i < l->pub_count; i++)
        if (l->entries[i].what >= BLOCK_ROWS)
            world_retire(w, (void *)(uintptr_t)l->entries[i].what, BITMAP_BYTES);
    world_retire(w, l, list_bytes(l->capacity));
}

static void
drop_old_lists(World *w)
{
    SlotQueue *q = &w->listed;
    for (u32 n = 0; n < RECLAIM_LISTS && q->count; n++) {
        SlotDirShm *slot = q->items[q->first];
        if (slot->pub_newest_delete > w->oldest_version || slot->promised_entries)
            return;
        q->first++;
        q->count--;
        if (slot->pub_list)
            drop_list(w, slot);
    }
}

bool
world_reclaim(World *w)
{
    look_at_pins(w);
    if (w->quarantine_epoch && w->oldest_epoch > w->quarantine_epoch) {
        w->quarantine_epoch = 0;
        alloc_release(w->alloc);
    }
    drop_old_lists(w);
    bool more = free_retired(w);
    more |= alloc_punch(w->alloc, EMPTY_EXTENTS_KEPT, RECLAIM_HOLES);
    AllocStats s = alloc_stats(w->alloc);
    w->shm->writer->world_used_bytes = s.used_extents * EXTENT_BYTES;
    w->shm->writer->extents_small_pages = s.small_page_extents;
    return more;
}

bool
world_has_retired(const World *w)
{
    return w->retired.count || w->quarantine_epoch;
}

u64
world_used_bytes(const World *w)
{
    return alloc_stats(w->alloc).used_extents * EXTENT_BYTES;
}
