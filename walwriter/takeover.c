/*
 * takeover.c
 *    A successor rebuilds World from the published root (I9).
 *
 * Everything that the root reaches is marked as used, with its exact size (common/store/walk.c). The rest of the extents that were ever used stays
 * untouched until every pin of this moment is gone, since a reader may still be in memory that the dead walwriter had retired. Notes inside the
 * world that may be half changed are brought back to what is published: slots that were never linked are taken out of the directory (their
 * rows are replayed from the log), row counts of open blocks go back to the published ones, entries of indexes are counted anew.
 */
#include "walwriter/world_int.h"

static u32
count_bits(const u64 *bits)
{
    u32 n = 0;
    for (u32 i = 0; bits && i < BLOCK_WORDS; i++)
        n += (u32)__builtin_popcountll(bits[i]);
    return n;
}

static void
take_slot(World *w, TableWork *tw, SlotDirShm **at)
{
    SlotDirShm *s = *at;
    if (s->pub_link_epoch > w->published->epoch) { /* never published */
        publish_ptr(at, (SlotDirShm *)NULL);
        return;
    }
    if (s->pub_unlink_epoch <= w->published->epoch) { /* compacted: older pins may need it */
        s->kind = SLOT_MOVED;
        compact_note_moved(w, tw, s);
        return;
    }
    publish_u64(&s->pub_unlink_epoch, NOT_LINKED); /* compacted, but not published as such: the replay does it again */
    publish_ptr(&s->pub_map, (const RowMapShm *)NULL);
    bool open = s->block_id == tw->t->open_block;
    s->rows_published = open ? tw->t->open_rows : s->pub_block->row_count;
    s->rows_applied = s->pub_block->sealed ? s->pub_block->row_count : s->rows_published;
    s->rows_taken = s->rows_applied;
    s->promised_entries = 0;
    s->promised_bytes = 0;
    s->kind = s->pub_block->sealed ? SLOT_SEALED : SLOT_OPEN;
    s->deleted_count = count_bits(s->pub_bits);
    tw->deleted_count += s->deleted_count;
    if (s->kind == SLOT_OPEN)
        slot_list_add(&tw->opens, s);
    else if (open) { /* sealed, but not published as such: all its rows are there, and the replay skips them */
        slot_list_add(&tw->pending, s);
        world_mark_dirty(w, tw);
    }
    if (s->pub_list)
        world_note_list(w, s);
}

static void
take_table(World *w, TableShm *t)
{
    TableWork *tw = world_add_work(w, t);
    tw->deleted_count = 0;
    DirShm *d = t->dir;
    for (u32 c = 0; c < d->chunk_count; c++)
        for (u32 i = 0; d->pub_chunks[c] && i < dir_chunk_size(c); i++)
            if (d->pub_chunks[c][i])
                take_slot(w, tw, &d->pub_chunks[c][i]);
    for (u32 c = 0; t->dicts && c < t->def->column_count; c++)
        for (DictShm *x = t->dicts[c]; x; x = x->older)
            index_count(&x->index);
    for (u32 k = 0; k < t->def->key_count; k++)
        index_count(&t->keys[k]);
}

static bool
take_each_table(void *ctx, const TableDef *d)
{
    World *w = ctx;
    take_table(w, (TableShm *)(uintptr_t)store_table(w->published, d->table_id));
    return true;
}

static void
mark_piece(void *ctx, const void *piece, u64 bytes)
{
    alloc_mark(ctx, piece, bytes);
}

bool
world_take_over(World *w, Error *err)
{
    const WorldHead *h = w->head;
    if (h->magic != WORLD_MAGIC || h->layout != WORLD_LAYOUT || h->defs_hash != shape_defs_hash() || !h->pub_root || !h->pub_epoch)
        return error_set(err, ERR_DATA_CORRUPTED, "the memory of the database was not made by this server");
    w->published = h->pub_root;
    w->next = *w->published;
    /* The root may be one publish ahead of the epoch: then its epoch is stored now. */
    if (w->published->epoch > h->pub_epoch)
        publish_u64_fenced(&w->head->pub_epoch, w->published->epoch);
    catalog_each_table(w->published, take_each_table, w);
    alloc_adopt(w->alloc, h->extent_high);
    alloc_mark(w->alloc, h, sizeof *h);
    walk_root(w->published, mark_piece, w->alloc);
    w->quarantine_epoch = h->pub_epoch;
    world_note_publish(w);
    return true;
}

/* Backends read private blocks of open transactions, which no root reaches, until they see that they have lost them. */
void
world_taken_over(World *w)
{
    if (w->quarantine_epoch)
        w->quarantine_epoch = w->head->pub_epoch;
}
