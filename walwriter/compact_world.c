/*
 * compact_world.c
 *    Rows of blocks with many dead ones, or of many small blocks, go to one new block: the world's side of COMPACT.
 *
 * In bounded pieces: begin notes which rows are alive; each step copies one column of them into the target, a sealed block that nobody sees yet, or enters
 * some of their keys. move: from now on the rows are named by their new ids (world_moved_row), and the old blocks do not change any more; whoever calls it
 * has made sure that nobody holds a row of them. Rows deleted since begin are deleted in the target, too. Then the record is logged. apply, when it
 * is durable: the next publish shows the target and takes the sources out of the directory (pub_unlink_epoch), both in one.
 *
 * A compacted block stays for pins that are older. First its rows go, when no pin sees them; its slot, which has the map from old to new ids, stays
 * until every pin and every transaction is younger than the compaction: maps are followed one after another.
 * Replay does all steps at once, with the rows that the record names.
 *
 * Fails: begin and step, no memory: the target is given up. move, apply and release cannot fail.
 */
#include "common/base/env.h"
#include "common/base/hash.h"
#include "walwriter/world_int.h"

#include <stdlib.h>

enum { KEYS_A_STEP = 2048 };

typedef struct Source {
    SlotDirShm *slot;
    u64 *bits;            /* the rows that go */
    u32 word_count, count, first; /* first: where they begin in the target */
    const RowMapShm *map;
} Source;

struct Compaction {
    u32 table_id, source_count, row_count;
    u32 column, key_row;  /* done up to here */
    SlotDirShm *target;   /* NULL: no row is left */
    BlockShm *block;
    u16 *offsets;         /* of the rows, source by source */
    u8 *nulls;
    u32 *codes;           /* of the dictionary being translated, + 1; 0: not yet */
    u64 code_capacity;
    bool moved;
    Source sources[COMPACT_MAX_SOURCES];
};

/* ---- beginning ---- */

void
world_compact_free(World *w, Compaction *c)
{
    for (u32 i = 0; i < c->source_count; i++) {
        if (c->sources[i].map)
            world_free(w, c->sources[i].map, row_map_bytes(c->sources[i].map->word_count));
        free(c->sources[i].bits);
    }
    free(c->offsets);
    free(c->nulls);
    free(c->codes);
    free(c);
}

/* The rows of a source, as the record says or as they are now. */
static bool
note_rows(Source *s, const CompactSource *from)
{
    const SlotDirShm *slot = s->slot;
    u32 rows = slot->pub_block->row_count;
    s->word_count = (rows + 63) / 64;
    s->bits = calloc(BLOCK_WORDS, sizeof *s->bits);
    if (!s->bits)
        return false;
    for (u32 i = 0; i < s->word_count; i++)
        s->bits[i] = from->bits ? (i < from->word_count ? from->bits[i] : 0) : ~(slot->pub_bits ? slot->pub_bits[i] : 0);
    if (rows % 64)
        s->bits[s->word_count - 1] &= ((u64)1 << (rows % 64)) - 1;
    for (u32 i = 0; i < s->word_count; i++)
        s->count += (u32)__builtin_popcountll(s->bits[i]);
    return true;
}

static const RowMapShm *
make_map(World *w, const Source *s, u64 target)
{
    RowMapShm *m = world_get(w, row_map_bytes(s->word_count));
    if (!m)
        return NULL;
    *m = (RowMapShm){.target = target, .first = s->first, .word_count = s->word_count};
    memcpy(m->bits, s->bits, s->word_count * sizeof *m->bits);
    u16 *before = (u16 *)(void *)(m->bits + m->word_count);
    for (u32 i = 0, n = 0; i < s->word_count; i++) {
        before[i] = (u16)n;
        n += (u32)__builtin_popcountll(s->bits[i]);
    }
    return m;
}

static bool
list_rows(Compaction *c)
{
    c->offsets = malloc(MAX(c->row_count, 1u) * sizeof *c->offsets);
    c->nulls = malloc(MAX(c->row_count, 1u));
    if (!c->offsets || !c->nulls)
        return false;
    for (u32 i = 0, n = 0; i < c->source_count; i++)
        for (u32 word = 0; word < c->sources[i].word_count; word++)
            for (u64 left = c->sources[i].bits[word]; left; left &= left - 1)
                c->offsets[n++] = (u16)(word * 64 + (u32)__builtin_ctzll(left));
    return true;
}

static bool
make_target(World *w, TableWork *tw, Compaction *c, u64 block)
{
    u32 columns = tw->t->def->column_count;
    c->target = block < STAGED_BLOCK ? block_slot_new(w, tw, block, SLOT_TARGET, false) : NULL;
    c->block = c->target ? world_get(w, block_bytes(columns)) : NULL;
    if (!c->block)
        return false;
    memset(c->block, 0, block_bytes(columns));
    c->block->row_count = c->block->capacity = c->row_count;
    c->block->sealed = 1;
    c->block->column_count = columns;
    publish_ptr(&c->target->pub_block, (const BlockShm *)c->block);
    c->target->rows_applied = c->target->rows_taken = c->row_count;
    for (u32 i = 0; i < c->source_count; i++) {
        c->sources[i].map = c->sources[i].count ? make_map(w, &c->sources[i], block) : NULL;
        if (c->sources[i].count && !c->sources[i].map)
            return false;
    }
    return true;
}

static bool
may_leave(const SlotDirShm *slot)
{
    return slot && slot->kind == SLOT_SEALED && slot->pub_link_epoch != NOT_LINKED && slot->rows_published == slot->pub_block->row_count;
}

Compaction *
world_compact_begin(World *w, const CompactRecord *r, Error *err)
{
    TableWork *tw = world_work(w, r->table_id);
    Compaction *c = tw ? calloc(1, sizeof *c) : NULL;
    if (!c)
        goto no_memory;
    c->table_id = r->table_id;
    for (u32 i = 0; i < r->source_count; i++) {
        Source *s = &c->sources[c->source_count++];
        *s = (Source){.slot = block_slot(tw, r->sources[i].block), .first = c->row_count};
        ensure(may_leave(s->slot));
        if (!note_rows(s, &r->sources[i]))
            goto no_memory;
        c->row_count += s->count;
    }
    ensure(c->row_count <= BLOCK_ROWS);
    if (!c->row_count)
        return c;
    if (list_rows(c) && make_target(w, tw, c, r->target ? r->target : tw->t->dir->next_block) && world_has_room(w, err))
        return c;
no_memory:
    if (c)
        world_compact_abandon(w, c);
    (void)world_full(err);
    return NULL;
}

void
world_compact_abandon(World *w, Compaction *c)
{
    TableWork *tw = world_work(w, c->table_id);
    if (tw && c->target)
        block_slot_drop(w, tw, c->target);
    world_compact_free(w, c);
}

/* ---- copying ---- */

#define GATHER(T)                                                                                                                          \
    do {                                                                                                                                   \
        const T *values = (const T *)(const void *)from->data;                                                                             \
        T *out = (T *)(void *)to;                                                                                                          \
        for (u32 i = 0; i < n; i++)                                                                                                        \
            out[i] = values[offsets[i]];                                                                                                   \
    } while (0)

static void
gather(const SliceShm *from, const u16 *offsets, u32 n, u32 width, u8 *to)
{
    if (from->flags & SLICE_FROZEN) {
        for (u32 i = 0; i < n; i++)
            slice_load(from, offsets[i], to + (u64)i * width);
        return;
    }
    switch (width) {
    case 1: GATHER(u8); break;
    case 2: GATHER(u16); break;
    case 4: GATHER(u32); break;
    case 8: GATHER(u64); break;
    default:
        for (u32 i = 0; i < n; i++)
            memcpy(to + (u64)i * width, from->data + (u64)offsets[i] * width, width);
    }
}

/* Codes of another dictionary become those of the table's. */
static bool
translate(World *w, Compaction *c, const DictShm *from, DictShm *to, const u8 *nulls, u32 n, u32 *codes)
{
    u32 count = dict_count(from);
    c->codes = world_grow_private(c->codes, count, &c->code_capacity, sizeof *c->codes);
    memset(c->codes, 0, count * sizeof *c->codes);
    for (u32 i = 0; i < n; i++) {
        u32 *known = &c->codes[nulls && nulls[i] ? 0 : codes[i]], code;
        if (nulls && nulls[i]) {
            codes[i] = 0;
            continue;
        }
        if (!*known) {
            if (!dict_enter(w, to, dict_str(from, codes[i]), dict_hash(from, codes[i]), &code))
                return false;
            *known = code + 1;
        }
        codes[i] = *known - 1;
    }
    return true;
}

static bool
copy_column(World *w, TableWork *tw, Compaction *c, u32 column)
{
    const ColumnDef *cd = &tw->t->def->columns[column];
    SliceShm *s = &c->block->slices[column];
    u32 width = phys_stored((PhysType)cd->phys);
    *s = (SliceShm){.phys = cd->phys, .scale = cd->scale, .width = (u8)width, .factor = 1, .dict = tw->t->dicts ? tw->t->dicts[column] : NULL};
    s->data = world_get(w, (u64)c->row_count * width);
    if (!s->data)
        return false;
    memset(c->nulls, 0, c->row_count);
    u32 code;
    if (s->dict && !dict_count(s->dict) && !dict_enter(w, (DictShm *)(uintptr_t)s->dict, (Str){"", 0}, hash_bytes("", 0), &code))
        return false;
    for (u32 i = 0; i < c->source_count; i++) {
        const Source *src = &c->sources[i];
        const BlockShm *b = src->slot->pub_block;
        const SliceShm *from = &b->slices[column];
        const u16 *offsets = c->offsets + src->first;
        u8 *to = (u8 *)(uintptr_t)s->data + (u64)src->first * width;
        gather(from, offsets, src->count, width, to);
        for (u32 k = 0; from->nulls && k < src->count; k++)
            c->nulls[src->first + k] = slice_null(b, from, offsets[k]);
        if (from->dict != s->dict && !translate(w, c, from->dict, (DictShm *)(uintptr_t)s->dict, c->nulls + src->first, src->count, (u32 *)(void *)to))
            return false;
    }
    return block_seal_slice(w, s, c->nulls, c->row_count, false);
}

bool
world_compact_step(World *w, Compaction *c, bool *ret_done, Error *err)
{
    TableWork *tw = world_work(w, c->table_id);
    bool ok = tw != NULL;
    if (ok && c->target && c->column < c->block->column_count) {
        ok = copy_column(w, tw, c, c->column++);
    } else if (ok && c->target && c->key_row < c->row_count && tw->t->def->key_count) {
        u32 n = MIN((u32)KEYS_A_STEP, c->row_count - c->key_row);
        ok = key_reserve_rows(w, tw, c->target, c->key_row, n);
        if (ok)
            key_enter_rows(w, tw, c->target, c->key_row, n);
        c->key_row += n;
    } else
        c->key_row = c->row_count;
    *ret_done = !c->target || (c->column == c->block->column_count && (c->key_row == c->row_count || !tw->t->def->key_count));
    return (ok && world_has_room(w, err)) || world_full(err);
}

/* ---- the new ids come into force ---- */

/* Rows deleted since they were copied. */
static bool
mark_deleted(World *w, Compaction *c)
{
    u32 dead = 0;
    for (u32 i = 0; i < c->source_count; i++) {
        const Source *s = &c->sources[i];
        for (u32 word = 0, at = s->first; s->slot->pub_bits && word < s->word_count; at += (u32)__builtin_popcountll(s->bits[word++]))
            for (u64 gone = s->bits[word] & s->slot->pub_bits[word]; gone; gone &= gone - 1) {
                u32 o = at + (u32)__builtin_popcountll(s->bits[word] & ((gone & -gone) - 1));
                u64 *bits = delete_bits(w, c->target, false);
                if (!bits)
                    return false;
                publish_u64(&bits[o >> 6], bits[o >> 6] | (u64)1 << (o & 63));
                dead++;
            }
    }
    if (c->target)
        c->target->deleted_count = dead;
    return true;
}

bool
world_compact_move(World *w, Compaction *c, Error *err)
{
    TableWork *tw = world_work(w, c->table_id);
    ensure(tw);
    if (!mark_deleted(w, c))
        return world_full(err);
    for (u32 i = 0; i < c->source_count; i++) {
        SlotDirShm *slot = c->sources[i].slot;
        slot->kind = SLOT_MOVED;
        publish_ptr(&slot->pub_map, c->sources[i].map);
        c->sources[i].map = NULL;
        compact_note_moved(w, tw, slot);
    }
    if (c->target) {
        c->target->kind = SLOT_SEALED;
        c->target->rows_published = c->row_count; /* deletes that are judged from now on need entries */
    }
    c->moved = true;
    return true;
}

void
world_compact_record(const Compaction *c, CompactRecord *ret)
{
    *ret = (CompactRecord){.table_id = c->table_id, .source_count = c->source_count, .target = c->target ? c->target->block_id : 0, .row_count = c->row_count};
    for (u32 i = 0; i < c->source_count; i++) {
        const Source *s = &c->sources[i];
        ret->sources[i] = (CompactSource){.block = s->slot->block_id, .bits = s->bits, .count = s->count, .word_count = s->count ? s->word_count : 0};
    }
}

void
world_compact_apply(World *w, Compaction *c)
{
    TableWork *tw = world_work(w, c->table_id);
    ensure(tw && c->moved);
    for (u32 i = 0; i < c->source_count; i++) {
        SlotDirShm *slot = c->sources[i].slot;
        tw->row_count -= slot->pub_block->row_count;
        tw->deleted_count -= slot->deleted_count;
        slot_list_add(&tw->leaving, slot);
    }
    if (c->target) {
        tw->deleted_count += c->target->deleted_count;
        slot_list_add(&tw->pending, c->target);
    }
    world_mark_dirty(w, tw);
    world_compact_free(w, c);
}

RowId
world_moved_row(World *w, u32 table_id, RowId id)
{
    TableWork *tw = world_work(w, table_id);
    for (;;) {
        const SlotDirShm *slot = tw ? block_slot(tw, ROW_BLOCK(id)) : NULL;
        RowId to = slot && slot->kind == SLOT_MOVED ? row_map_find(slot->pub_map, ROW_OFFSET(id)) : 0;
        if (!to)
            return id;
        id = to;
    }
}

bool
world_compact_replay(World *w, const CompactRecord *r, bool take_over, u64 version, Error *err)
{
    TableWork *tw = world_work(w, r->table_id);
    bool done = false, published = true;
    if (!tw)
        return true; /* dropped by a later record that a snapshot has seen */
    for (u32 i = 0; i < r->source_count; i++) {
        SlotDirShm *slot = block_slot(tw, r->sources[i].block);
        if (slot && slot->kind == SLOT_OPEN && !block_close_opens(w, tw, true))
            return error_set(err, ERR_DATA_CORRUPTED, "a block to compact is not whole");
        published &= may_leave(slot);
    }
    if (!published && !take_over) /* which has nothing but published ones */
        world_publish(w, version);
    for (u32 i = 0; i < r->source_count; i++)
        if (!may_leave(block_slot(tw, r->sources[i].block)))
            return error_set(err, ERR_DATA_CORRUPTED, "a block to compact is not there");
    if (r->target && block_slot(tw, r->target))
        return error_set(err, ERR_DATA_CORRUPTED, "a block to compact into is there already");
    Compaction *c = world_compact_begin(w, r, err);
    while (c && !done)
        if (!world_compact_step(w, c, &done, err)) {
            world_compact_abandon(w, c);
            return false;
        }
    if (!c || !world_compact_move(w, c, err))
        return false;
    world_compact_apply(w, c);
    return true;
}

/* ---- what older pins need ---- */

static u64
rows_bytes(const SlotDirShm *slot)
{
    u64 n = 0;
    for (u32 i = 0; slot->pub_block && i < slot->pub_block->column_count; i++)
        n += (u64)slot->pub_block->capacity * slot->pub_block->slices[i].width;
    return n;
}

void
compact_note_moved(World *w, TableWork *tw, SlotDirShm *slot)
{
    MovedQueue *q = &w->moved;
    if (q->first + q->count == q->capacity && q->first > q->count) {
        memmove(q->items, q->items + q->first, q->count * sizeof *q->items);
        q->first = 0;
    }
    q->items = world_grow_private(q->items, q->first + q->count + 1, &q->capacity, sizeof *q->items);
    q->items[q->first + q->count++] = (Moved){.slot = slot, .dir = tw->t->dir, .wall_us = env->wall_us(), .bytes = rows_bytes(slot)};
    w->moved_bytes += rows_bytes(slot);
}

void
compact_forget_table(World *w, const TableWork *tw)
{
    MovedQueue *q = &w->moved;
    u64 kept = 0;
    for (u64 i = 0; i < q->count; i++) {
        Moved m = q->items[q->first + i];
        if (m.dir != tw->t->dir)
            q->items[q->first + kept++] = m;
        else
            w->moved_bytes -= m.bytes;
    }
    q->count = kept;
}

bool
compact_rows_needed(const World *w, const SlotDirShm *slot)
{
    u64 link = slot->pub_link_epoch, unlink = slot->pub_unlink_epoch;
    if (!slot->pub_block)
        return false;
    if (unlink > w->seen_epoch || (w->pins_overflow && w->oldest_epoch < unlink))
        return true;
    for (u32 i = 0; i < w->pin_count && w->pins[i].epoch < unlink; i++)
        if (link <= w->pins[i].epoch + 1)
            return true;
    return false;
}

/* When the oldest transaction began that is open now, be it pinned or not: it may name rows that it has seen. */
static i64
oldest_transaction_us(const World *w)
{
    i64 oldest = INT64_MAX;
    for (u32 i = 0; w->shm->control && i < w->shm->slot_count; i++) {
        i64 begun = (i64)relaxed_u64((const u64 *)(const void *)&shm_box(w->shm, i)->transaction_start_us);
        if (begun && observe_u32(&w->shm->control->slots[i].pub_state) == SLOT_TAKEN)
            oldest = MIN(oldest, begun);
    }
    return oldest;
}

static void
free_piece(void *ctx, const void *piece, u64 bytes)
{
    world_free(ctx, piece, bytes);
}

static void
forget_list(World *w, const SlotDirShm *slot)
{
    SlotQueue *q = &w->listed;
    for (u64 i = 0; i < q->count; i++)
        if (q->items[q->first + i] == slot) {
            memmove(q->items + q->first + i, q->items + q->first + i + 1, (q->count - 1 - i) * sizeof *q->items);
            q->count--;
            return;
        }
}

static void
free_rows(World *w, Moved *m)
{
    SlotDirShm *s = m->slot;
    walk_block(s->pub_block, free_piece, w);
    if (s->pub_bits)
        world_free(w, s->pub_bits, BITMAP_BYTES);
    if (s->pub_list) {
        forget_list(w, s);
        for (u32 i = 0; i < s->pub_list->pub_count; i++)
            if (s->pub_list->entries[i].what >= BLOCK_ROWS)
                world_free(w, (void *)(uintptr_t)s->pub_list->entries[i].what, BITMAP_BYTES);
        world_free(w, s->pub_list, list_bytes(s->pub_list->capacity));
    }
    s->rows_applied = s->rows_taken = s->rows_published = s->deleted_count = 0;
    s->pub_block = NULL;
    s->pub_bits = NULL;
    s->pub_list = NULL;
    w->moved_bytes -= m->bytes;
    m->bytes = 0;
}

/* Out of the directory; a chunk of it that has no block any more and gets none goes, too. Readers may be looking at them: retired. */
static void
free_slot(World *w, const Moved *m)
{
    SlotDirShm *s = m->slot;
    DirShm *d = m->dir;
    u32 i, c = dir_chunk_of(s->block_id, &i), size = dir_chunk_size(c);
    publish_ptr(&d->pub_chunks[c][i], (SlotDirShm *)NULL);
    if (s->pub_map)
        world_retire(w, s->pub_map, row_map_bytes(s->pub_map->word_count));
    world_retire(w, s, sizeof *s);
    u64 end = s->block_id - i + size;
    if (end > d->next_block)
        return;
    for (u32 k = 0; k < size; k++)
        if (d->pub_chunks[c][k])
            return;
    world_retire(w, d->pub_chunks[c], size * sizeof(SlotDirShm *));
    publish_ptr(&d->pub_chunks[c], (SlotDirShm **)NULL);
}

void
compact_release(World *w)
{
    MovedQueue *q = &w->moved;
    u64 kept = 0;
    i64 oldest_us = q->count ? oldest_transaction_us(w) : 0;
    for (u64 i = 0; i < q->count; i++) {
        Moved m = q->items[q->first + i];
        if (m.slot->pub_block && !compact_rows_needed(w, m.slot))
            free_rows(w, &m);
        if (!m.slot->pub_block && w->oldest_epoch >= m.slot->pub_unlink_epoch && oldest_us > m.wall_us)
            free_slot(w, &m);
        else
            q->items[q->first + kept++] = m;
    }
    q->count = kept;
}
