/*
 * reclaim.c
 *    Memory that is no longer reachable, and the memory that must stay free for applying.
 *
 * A piece that the next publish makes unreachable is retired under the epoch published before it: the last root that reaches it. A reader that
 * pinned epoch E has the root of E or of the next one (snapshot_pin), so it needs the pieces retired under E or later and born at E + 1 or earlier (I8).
 * Roots, tree nodes and TableShm know their birth, so a long pin keeps one state of them and not every state since. Pins are read after the
 * fence of world_publish: a reader that pins an older epoch afterwards finds the epoch changed and tries again; one that pins later
 * pins what was published then or newer (seen_epoch). A stale pin only keeps memory longer.
 *
 * Retired pieces are looked at once in the order of their epochs; those that a pin needs go to a second queue, looked through again when the oldest pin has
 * moved. Delete lists go when no pin needs them. A deleted row's key entries are given up when no pin's version lies between its birth
 * and its delete.
 */
#include "walwriter/world_int.h"

#include <stdlib.h>

enum { RECLAIM_PIECES = 2048, RECLAIM_LISTS = 64, RECLAIM_HOLES = 4, MUCH_RETIRED_BYTES = 4 * EXTENT_BYTES, SHORT_EXTENTS = 16 };

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

static void
queue_retired(RetiredQueue *q, Retired r)
{
    if (q->first + q->count == q->capacity && q->first > q->count) {
        memmove(q->items, q->items + q->first, q->count * sizeof *q->items);
        q->first = 0;
    }
    q->items = world_grow_private(q->items, q->first + q->count + 1, &q->capacity, sizeof *q->items);
    q->items[q->first + q->count++] = r;
}

void
world_retire_born(World *w, const void *piece, u64 bytes, u64 birth)
{
    queue_retired(&w->retired, (Retired){.piece = piece, .bytes = bytes, .birth = birth, .epoch = w->head->pub_epoch});
    w->retired_bytes += bytes;
}

void
world_retire(World *w, const void *piece, u64 bytes)
{
    world_retire_born(w, piece, bytes, 0);
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

/* The version published with an epoch; of epochs before all that is known (takeover) a bound. */
static u64
version_of(const World *w, u64 epoch, bool upper)
{
    const HistoryQueue *q = &w->history;
    u64 first = q->items[q->first].epoch;
    if (epoch < first)
        return upper ? q->items[q->first].version : 0;
    u64 i = MIN(epoch - first, q->count - 1); /* one entry an epoch */
    return q->items[q->first + i].version;
}

/* Keeps pins ascending and distinct. */
static void
add_pin(World *w, u64 epoch)
{
    u32 i = w->pin_count;
    while (i > 0 && w->pins[i - 1].epoch > epoch)
        i--;
    if (i > 0 && w->pins[i - 1].epoch == epoch)
        return;
    if (w->pin_count == PINS_MAX) {
        w->pins_overflow = true;
        return;
    }
    memmove(w->pins + i + 1, w->pins + i, (w->pin_count - i) * sizeof *w->pins);
    w->pins[i] = (Pin){.epoch = epoch};
    w->pin_count++;
}

/* All pins, the oldest of them (the published epoch when nothing is pinned), and the versions they may read at. */
static void
look_at_pins(World *w)
{
    u64 oldest = w->seen_epoch = w->head->pub_epoch;
    w->seen_version = w->published->version;
    w->pin_count = 0;
    w->pins_overflow = false;
    for (u32 i = 0; i <= w->shm->slot_count; i++) { /* the last box is the checkpointer's */
        u64 pin = observe_u64(&shm_box(w->shm, i)->pub_pin_epoch);
        if (!pin || pin >= w->seen_epoch)
            continue;
        add_pin(w, pin);
        oldest = MIN(oldest, pin);
    }
    w->oldest_epoch = oldest;
    HistoryQueue *q = &w->history;
    while (q->count > 1 && q->items[q->first + 1].epoch <= oldest) {
        q->first++;
        q->count--;
    }
    w->oldest_version = version_of(w, oldest, false);
    for (u32 i = 0; i < w->pin_count; i++) {
        w->pins[i].low = version_of(w, w->pins[i].epoch, false);
        w->pins[i].high = version_of(w, w->pins[i].epoch + 1, true);
    }
}

static bool
piece_needed(const World *w, const Retired *r)
{
    if (r->epoch >= w->seen_epoch || (w->pins_overflow && r->epoch >= w->oldest_epoch))
        return true;
    for (u32 i = 0; i < w->pin_count && w->pins[i].epoch <= r->epoch; i++)
        if (r->birth <= w->pins[i].epoch + 1)
            return true;
    return false;
}

static bool
free_retired(World *w)
{
    RetiredQueue *q = &w->retired;
    for (u32 n = 0; q->count && q->items[q->first].epoch < w->seen_epoch; n++) {
        if (n == RECLAIM_PIECES)
            return true;
        Retired r = q->items[q->first];
        q->first++;
        q->count--;
        w->retired_bytes -= r.bytes;
        if (piece_needed(w, &r)) {
            queue_retired(&w->stuck, r);
            w->stuck_new++;
        } else {
            world_free(w, r.piece, r.bytes);
        }
    }
    return false;
}

/* Looked through when the oldest pin has moved, and then only when the queue is short, has grown by a quarter, or there is time. */
static void
free_stuck(World *w)
{
    RetiredQueue *q = &w->stuck;
    if (w->stuck_epoch == w->oldest_epoch || (q->count > RECLAIM_PIECES && w->stuck_new < q->count / 4 && w->retired.count > RECLAIM_PIECES))
        return;
    u64 kept = 0;
    for (u64 i = 0; i < q->count; i++) {
        Retired r = q->items[q->first + i];
        if (piece_needed(w, &r))
            q->items[kept++] = r;
        else
            world_free(w, r.piece, r.bytes);
    }
    q->first = 0;
    q->count = kept;
    w->stuck_epoch = w->oldest_epoch;
    w->stuck_new = 0;
}

/* ---- rows that nobody can see any more ---- */

/* Rows of small commits come in the order of their ids; those of chains may stand above them. */
void
world_note_birth(World *w, TableWork *tw, RowId first, u64 version)
{
    if (tw->newest_birth <= w->oldest_version)
        tw->birth_count = 0;
    tw->newest_birth = version;
    tw->births = world_grow_private(tw->births, tw->birth_count + 1, &tw->birth_capacity, sizeof *tw->births);
    u64 i = tw->birth_count++;
    while (i > 0 && tw->births[i - 1].row > first)
        i--;
    memmove(tw->births + i + 1, tw->births + i, (tw->birth_count - 1 - i) * sizeof *tw->births);
    tw->births[i] = (Birth){.row = first, .version = version};
}

/* The version that brought the row; 0 when it is older than what is noted. */
static u64
birth_of(const TableWork *tw, RowId id)
{
    u64 low = 0, high = tw->birth_count;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (tw->births[middle].row <= id)
            low = middle + 1;
        else
            high = middle;
    }
    return low && ROW_BLOCK(tw->births[low - 1].row) == ROW_BLOCK(id) ? tw->births[low - 1].version : 0;
}

static const Pin *
pin_of_epoch(const World *w, u64 epoch)
{
    for (u32 i = 0; i < w->pin_count; i++)
        if (w->pins[i].epoch == epoch)
            return &w->pins[i];
    return NULL;
}

bool
world_row_over(World *w, const TableWork *tw, const SlotDirShm *slot, u32 offset)
{
    u64 death, birth;
    if (!delete_is_set(slot, offset))
        return false;
    if (slot->pub_newest_delete <= w->oldest_version)
        return true;
    RowId id = ROW_ID(slot->block_id, offset);
    Needed *known = &w->needed[id % NEEDED_PLACES];
    if (known->row == id && known->table_id == tw->table_id && pin_of_epoch(w, known->pin_epoch))
        return false;
    if (!delete_list_newer(slot->pub_list, offset, w->oldest_version, &death))
        return true;
    if (w->pins_overflow || death > w->seen_version)
        return false;
    birth = birth_of(tw, id);
    for (u32 i = 0; i < w->pin_count; i++) {
        if (birth > w->pins[i].high || death <= w->pins[i].low)
            continue;
        *known = (Needed){.row = id, .pin_epoch = w->pins[i].epoch, .table_id = tw->table_id};
        return false;
    }
    return true;
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
    compact_release(w);
    bool more = free_retired(w);
    free_stuck(w);
    more |= alloc_punch(w->alloc, EMPTY_EXTENTS_KEPT, RECLAIM_HOLES);
    AllocStats s = alloc_stats(w->alloc);
    w->shm->writer->world_used_bytes = s.used_extents * EXTENT_BYTES;
    w->shm->writer->extents_small_pages = s.small_page_extents;
    return more;
}

bool
world_has_retired(const World *w)
{
    return w->retired.count || w->stuck.count || w->moved.count || w->quarantine_epoch;
}

bool
world_is_short(const World *w)
{
    u64 margin = MIN((u64)SHORT_EXTENTS, w->shm->writer->world_budget_bytes / EXTENT_BYTES / 8);
    return !alloc_room(w->alloc, kept_extents(w) + margin);
}

bool
world_gives_back(const World *w)
{
    return w->retired.count > 0 || w->moved_bytes > 0;
}

u64
world_kept_for_pins(const World *w)
{
    u64 n = w->moved_bytes;
    for (u64 i = 0; i < w->stuck.count; i++)
        n += w->stuck.items[w->stuck.first + i].bytes;
    return n;
}

bool
world_has_much_retired(const World *w)
{
    return w->retired_bytes >= MUCH_RETIRED_BYTES;
}

u64
world_used_bytes(const World *w)
{
    return alloc_stats(w->alloc).used_extents * EXTENT_BYTES;
}

static void
add_rounded(void *ctx, const void *piece, u64 bytes)
{
    (void)piece;
    *(u64 *)ctx += alloc_rounded(bytes);
}

bool
world_verify(const World *w, Error *err)
{
    u64 sum = alloc_rounded(sizeof(WorldHead)), pieces = alloc_stats(w->alloc).piece_bytes;
    walk_root(w->published, add_rounded, &sum);
    for (u32 i = 0; i < w->table_capacity; i++)
        for (const TableWork *tw = w->tables[i]; tw; tw = tw->replaces) {
            for (u64 s = 0; s < tw->staged_capacity; s++)
                if (tw->staged[s])
                    walk_slot(tw->staged[s], add_rounded, &sum);
            if (tw->hidden_by)
                walk_table(tw->t, add_rounded, &sum);
        }
    const RetiredQueue *queues[2] = {&w->retired, &w->stuck};
    for (u32 q = 0; q < COUNT_OF(queues); q++)
        for (u64 i = 0; i < queues[q]->count; i++)
            sum += alloc_rounded(queues[q]->items[queues[q]->first + i].bytes);
    if (sum == pieces)
        return true;
    return error_set(err, ERR_DATA_CORRUPTED, "verify: %llu bytes handed out, %llu reachable or retired", (unsigned long long)pieces,
                     (unsigned long long)sum);
}
