/*
 * world.c
 *    World: opening, the table of tables, publishing.
 *
 * world_publish makes one new TableShm a changed table, copies the paths of both trees, stamps the slots of new blocks with the new epoch and stores
 * root, then epoch, then fences (pins are read after it). What a half-made publish leaves behind when the process dies is unreachable from the
 * published root; a successor replays what was durable and publishes it.
 */
#include "common/base/hash.h"
#include "walwriter/world_int.h"

#include <stdlib.h>

/* ---- lists of slots ---- */

void
slot_list_add(SlotList *l, SlotDirShm *s)
{
    u64 capacity = l->capacity;
    l->slots = world_grow_private(l->slots, (u64)l->count + 1, &capacity, sizeof *l->slots);
    l->capacity = (u32)capacity;
    l->slots[l->count++] = s;
}

void
slot_list_remove(SlotList *l, u32 i)
{
    memmove(l->slots + i, l->slots + i + 1, (l->count - i - 1) * sizeof *l->slots);
    l->count--;
}

/* ---- tables ---- */

TableWork *
world_work(World *w, u32 table_id)
{
    u32 i = table_id - FIRST_TABLE_ID;
    return table_id >= FIRST_TABLE_ID && i < w->table_capacity ? w->tables[i] : NULL;
}

TableWork *
world_add_work(World *w, TableShm *t)
{
    u32 i = t->def->table_id - FIRST_TABLE_ID;
    if (i >= w->table_capacity) {
        u64 capacity = w->table_capacity;
        w->tables = world_grow_private(w->tables, MAX((u64)i + 1, 64ull), &capacity, sizeof(TableWork *));
        memset(w->tables + w->table_capacity, 0, (capacity - w->table_capacity) * sizeof(TableWork *));
        w->table_capacity = (u32)capacity;
    }
    TableWork *tw = calloc(1, sizeof *tw);
    ensure(tw);
    *tw = (TableWork){.table_id = t->def->table_id, .t = t, .row_count = t->row_count, .deleted_count = t->deleted_count,
                      .place_count = t->place_count, .replaces = w->tables[i]};
    w->tables[i] = tw;
    return tw;
}

static void
free_work(TableWork *tw)
{
    free(tw->opens.slots);
    free(tw->pending.slots);
    free(tw->leaving.slots);
    free(tw->staged);
    free(tw->births);
    free(tw);
}

void
world_remove_work(World *w, TableWork *tw, TableWork *instead)
{
    for (TableWork **at = &w->dirty; *at; at = &(*at)->next_dirty) {
        if (*at == tw) {
            *at = tw->next_dirty;
            break;
        }
    }
    w->tables[tw->table_id - FIRST_TABLE_ID] = instead;
    free_work(tw);
}

void
world_mark_dirty(World *w, TableWork *tw)
{
    if (tw->dirty)
        return;
    tw->dirty = true;
    tw->next_dirty = w->dirty;
    w->dirty = tw;
}

const TableShm *
world_table(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    return tw ? tw->t : NULL;
}

const Root *
world_root(World *w)
{
    return &w->next;
}

u64
world_version(const World *w)
{
    return w->published ? w->published->version : 0;
}

/* ---- open and close ---- */

static bool
format_world(World *w, Error *err)
{
    (void)err;
    WorldHead *h = w->head;
    if (w->shm->secrets)
        memset(w->shm->secrets, 0, SECRET_ROWS * sizeof *w->shm->secrets);
    ensure(alloc_get(w->alloc, sizeof *h, 0) == (void *)h); /* the first piece of all */
    u64 high = h->extent_high;
    *h = (WorldHead){
        .magic = WORLD_MAGIC,
        .layout = WORLD_LAYOUT,
        .head_bytes = sizeof *h,
        .defs_hash = shape_defs_hash(),
        .reserved_bytes = w->shm->world_reserved_bytes,
        .extent_high = high,
    };
    w->next = (Root){.next_table_id = FIRST_TABLE_ID, .next_role_id = FIRST_TABLE_ID};
    world_publish(w, 0);
    return true;
}

bool
world_open(Shm *shm, bool take_over, World **ret, Error *err)
{
    World *w = calloc(1, sizeof *w);
    if (!w)
        return world_full(err);
    w->shm = shm;
    w->head = (WorldHead *)(void *)shm->world;
    w->alloc = alloc_new(shm->world, shm->world_reserved_bytes, shm->world_reserved_bytes, shm->world_fd);
    w->memo.starts = calloc(PART_MAX_COLUMNS, sizeof(u32));
    w->memo.offsets = calloc(PART_TEXTS_MAX, sizeof(u32));
    w->memo.codes = calloc(PART_TEXTS_MAX, sizeof(u32));
    if (!w->alloc || !w->memo.starts || !w->memo.offsets || !w->memo.codes) {
        world_close(w);
        return world_full(err);
    }
    if (!(take_over ? world_take_over(w, err) : format_world(w, err))) {
        world_close(w);
        return false;
    }
    *ret = w;
    return true;
}

void
world_recovered(World *w)
{
    u64 budget = w->shm->writer->world_budget_bytes;
    if (budget)
        alloc_set_budget(w->alloc, budget);
}

void
world_close(World *w)
{
    for (u32 i = 0; i < w->table_capacity; i++)
        for (TableWork *tw = w->tables[i], *under; tw; tw = under) {
            under = tw->replaces;
            free_work(tw);
        }
    free(w->tables);
    if (w->alloc)
        alloc_done(w->alloc);
    free(w->retired.items);
    free(w->stuck.items);
    free(w->history.items);
    free(w->listed.items);
    free(w->moved.items);
    free(w->dict_count.bits);
    free(w->memo.starts);
    free(w->memo.offsets);
    free(w->memo.codes);
    free(w->move_stored);
    free(w->move_entries);
    free(w);
}

/* ---- publishing ---- */

/* The slot's rows become visible with this epoch. */
static void
link_slot(World *w, TableWork *tw, SlotDirShm *slot, u64 epoch)
{
    u32 before = slot->pub_link_epoch == NOT_LINKED ? 0 : slot->rows_published; /* a compaction's target counts as published before */
    if (slot->rows_applied > before)
        world_note_birth(w, tw, ROW_ID(slot->block_id, before), w->next.version);
    tw->row_count += slot->rows_applied - before;
    slot->rows_published = slot->rows_applied;
    if (slot->pub_link_epoch == NOT_LINKED)
        publish_u64(&slot->pub_link_epoch, epoch);
    tw->place_count = MAX(tw->place_count, slot->block_id + 1);
}

static void
publish_table(World *w, TableWork *tw, u64 epoch)
{
    for (u32 i = 0; i < tw->pending.count; i++)
        link_slot(w, tw, tw->pending.slots[i], epoch);
    tw->pending.count = 0;
    for (u32 i = 0; i < tw->leaving.count; i++)
        publish_u64(&tw->leaving.slots[i]->pub_unlink_epoch, epoch);
    tw->leaving.count = 0;
    SlotDirShm *open = tw->opens.count && tw->opens.slots[0]->rows_applied ? tw->opens.slots[0] : NULL;
    if (open)
        link_slot(w, tw, open, epoch);
    TableShm *t = world_must(w, sizeof *t);
    *t = *tw->t;
    t->epoch = epoch;
    t->place_count = tw->place_count;
    t->open_block = open ? open->block_id : NO_BLOCK;
    t->open_rows = open ? open->rows_applied : 0;
    t->row_count = tw->row_count;
    t->deleted_count = tw->deleted_count;
    world_retire_born(w, tw->t, sizeof *t, tw->t->epoch);
    tw->t = t;
    catalog_set_table(w, tw->table_id, t);
}

void
world_publish(World *w, u64 version)
{
    u64 epoch = w->head->pub_epoch + 1;
    ensure(version == 0 || version >= w->next.version);
    w->next.version = version ? version : w->next.version;
    w->next.epoch = epoch;
    while (w->dirty) {
        TableWork *tw = w->dirty;
        w->dirty = tw->next_dirty;
        tw->dirty = false;
        publish_table(w, tw, epoch);
    }
    Root *root = world_must(w, sizeof *root);
    *root = w->next;
    if (w->published)
        world_retire_born(w, w->published, sizeof *root, w->published->epoch);
    w->published = root;
    world_note_publish(w);
    publish_ptr(&w->head->pub_root, (const Root *)root);
    publish_u64_fenced(&w->head->pub_epoch, epoch);
    w->shm->writer->pub_published_lsn = w->next.version;
}
