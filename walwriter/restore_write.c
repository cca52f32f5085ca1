/*
 * restore_write.c
 *    A snapshot into a fresh world: dictionaries, blocks with room for what is read into them, key indexes.
 *
 * The tables are there already, made by catalog records, and empty. Sealed blocks get arrays of exactly their rows, the open block one as small commits make
 * it, so that the log goes on filling it. Pages of blocks are not touched here: the threads that read into them are the first. Ids are the snapshot's.
 *
 * Keys: threads hash the live rows of a table's blocks and sort the hashes into ranges by their top bits; then each range becomes one segment of the index,
 * filled by one thread. A big table takes several rounds, each for a part of the hashes, so that the private memory for them stays bounded. Only the main thread
 * allocates.
 *
 * Fails: no memory (53200); what does not fit the table (XX001), since a wrong snapshot must not become a wrong world.
 */
#include "common/base/hash.h"
#include "walwriter/world_int.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, KEYS_A_ROUND = 32 << 20 };

static bool
misfit(Error *err, u32 table_id, const char *what)
{
    return error_set(err, ERR_DATA_CORRUPTED, "snapshot is damaged: %s of table %u does not fit", what, table_id);
}

void
world_restore_counts(World *w, const SnapHead *head)
{
    w->next.next_table_id = MAX(w->next.next_table_id, head->next_table_id);
    w->next.next_role_id = MAX(w->next.next_role_id, head->next_role_id);
    w->next.catalog_version = MAX(w->next.catalog_version, head->catalog_version);
}

bool
world_restore_table(World *w, const SnapTable *t, Error *err)
{
    TableWork *tw = world_work(w, t->table_id);
    if (!tw || t->next_block == 0 || t->next_block >= STAGED_BLOCK)
        return misfit(err, t->table_id, "the definition");
    tw->t->dir->next_block = MAX(tw->t->dir->next_block, t->next_block);
    world_mark_dirty(w, tw);
    return true;
}

/* ---- dictionaries ---- */

static DictShm *
find_dict(const TableWork *tw, u64 dict_id, u32 column)
{
    DictShm *d = tw && tw->t->dicts && column < tw->t->def->column_count ? tw->t->dicts[column] : NULL;
    while (d && !(d->restored && d->id == dict_id))
        d = d->older;
    return d;
}

bool
world_restore_dict(World *w, u32 table_id, const SnapDict *d, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    if (!tw || !tw->t->dicts || d->column >= tw->t->def->column_count || !tw->t->dicts[d->column] || find_dict(tw, d->dict_id, d->column))
        return misfit(err, table_id, "a dictionary");
    DictShm *now = tw->t->dicts[d->column];
    if (!d->current) { /* blocks have its codes still */
        DictShm *old = dict_new(w, d->column);
        old->id = d->dict_id;
        old->restored = 1;
        old->older = now->older;
        now->older = old;
    } else if (now->pub_count || now->restored)
        return misfit(err, table_id, "a dictionary");
    else {
        now->id = d->dict_id;
        now->restored = 1;
    }
    w->head->next_dict_id = MAX(w->head->next_dict_id, d->dict_id);
    return true;
}

static DictShm *
dict_by_id(const TableWork *tw, u64 dict_id)
{
    for (u32 c = 0; tw && c < tw->t->def->column_count; c++)
        if (find_dict(tw, dict_id, c))
            return find_dict(tw, dict_id, c);
    return NULL;
}

bool
world_restore_texts(World *w, u32 table_id, u64 dict_id, const SnapTexts *t, const u8 *bytes, Error *err)
{
    DictShm *d = dict_by_id(world_work(w, table_id), dict_id);
    ByteReader r = reader_of(bytes, t->ref.bytes);
    if (!d || d->pub_count != t->first)
        return misfit(err, table_id, "a dictionary");
    for (u32 i = 0; i < t->count; i++) {
        u32 len = reader_le32(&r), code;
        const u8 *text = reader_take(&r, len);
        if (!text)
            return misfit(err, table_id, "a text");
        if (!dict_enter(w, d, (Str){(const char *)text, len}, hash_bytes(text, len), &code))
            return world_full(err);
        if (code != t->first + i)
            return misfit(err, table_id, "a text");
    }
    return reader_done(&r) || misfit(err, table_id, "a text");
}

/* ---- blocks ---- */

bool
world_restore_block(World *w, u32 table_id, const SnapBlock *b, u64 **ret_bits, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    bool wrong = !tw || b->block_id == 0 || b->block_id >= tw->t->dir->next_block || b->rows == 0 || b->rows > BLOCK_ROWS || b->deleted > b->rows ||
                 (b->bits.bytes != 0) != (b->deleted != 0) || (b->bits.bytes && b->bits.bytes != BITMAP_BYTES) || block_slot(tw, b->block_id) ||
                 (b->open && tw->opens.count);
    if (wrong)
        return misfit(err, table_id, "a block");
    SlotDirShm *slot = block_slot_new(w, tw, b->block_id, b->open ? SLOT_OPEN : SLOT_SEALED, false);
    if (!slot || (b->deleted && !delete_bits(w, slot, false)))
        return world_full(err);
    slot->rows_applied = slot->rows_taken = b->rows;
    slot->deleted_count = b->deleted;
    tw->deleted_count += b->deleted;
    *ret_bits = slot->pub_bits;
    if (b->open)
        return block_room(w, tw, slot, b->rows, false) || world_full(err);
    BlockShm *block = world_get(w, block_bytes(tw->t->def->column_count));
    if (!block)
        return world_full(err);
    memset(block, 0, block_bytes(tw->t->def->column_count));
    block->row_count = block->capacity = b->rows;
    block->sealed = 1;
    block->column_count = tw->t->def->column_count;
    slot->pub_block = block;
    slot_list_add(&tw->pending, slot);
    return true;
}

/* The slice agrees with its column and with the bytes that are said to be there. */
static bool
slice_fits(const TableWork *tw, const SlotDirShm *slot, u32 column, const SnapSlice *s)
{
    const ColumnDef *c = &tw->t->def->columns[column];
    bool open = slot->kind == SLOT_OPEN, frozen = s->flags & SLICE_FROZEN, text = c->phys == PHYS_STR;
    u32 plain = phys_stored((PhysType)c->phys), rows = slot->rows_applied;
    u64 null_bytes = s->nulls.bytes;
    if (s->phys != c->phys || s->scale != c->scale || (s->flags & ~(SLICE_FROZEN | SLICE_MINMAX)) || s->data.bytes != (u64)rows * s->width)
        return false;
    if (frozen ? s->width > 8 || s->width > plain || s->width == 0 || (s->width & (s->width - 1)) : s->width != plain)
        return false;
    if (null_bytes && (c->not_null || null_bytes != (open ? rows : (u64)BITMAP_BYTES)))
        return false;
    return !(open && (s->flags || !null_bytes != (c->not_null != 0))) && (!text || find_dict(tw, s->dict_id, column)) && s->null_count <= rows;
}

bool
world_restore_slice(World *w, u32 table_id, u64 block_id, u32 column, const SnapSlice *s, u8 **ret_values, u8 **ret_nulls, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    SlotDirShm *slot = tw ? block_slot(tw, block_id) : NULL;
    if (!slot || column >= slot->pub_block->column_count || !slice_fits(tw, slot, column, s))
        return misfit(err, table_id, "a column");
    SliceShm *to = &((BlockShm *)(uintptr_t)slot->pub_block)->slices[column];
    if (slot->kind == SLOT_OPEN && to->dict && to->dict->id != s->dict_id)
        return misfit(err, table_id, "the dictionary of the open block");
    if (slot->kind == SLOT_SEALED) {
        *to = (SliceShm){.dict = s->phys == PHYS_STR ? find_dict(tw, s->dict_id, column) : NULL, .reference = s->reference, .factor = s->factor, .phys = s->phys,
                         .scale = s->scale, .width = s->width, .flags = s->flags, .null_count = s->null_count};
        memcpy(to->min, s->min, sizeof to->min);
        memcpy(to->max, s->max, sizeof to->max);
        to->data = world_get(w, s->data.bytes);
        to->nulls = s->nulls.bytes ? world_get(w, BITMAP_BYTES) : NULL;
        if (!to->data || (s->nulls.bytes && !to->nulls))
            return world_full(err);
    }
    *ret_values = (u8 *)(uintptr_t)to->data;
    *ret_nulls = (u8 *)(uintptr_t)to->nulls;
    return true;
}

/* ---- keys ---- */

typedef struct Range {
    u64 *rows;
    u32 *stored;
    u64 count, capacity;
} Range;

typedef struct KeyBuild {
    const TableWork *tw;
    const KeyDef *key;
    IndexShm *index;
    u32 depth, thread_count;
    u32 first, end;      /* ranges of this round */
    u32 next_block;      /* taken by threads */
    u32 next_range;
    u32 no_memory;
    Range *ranges;       /* thread x range of the round */
} KeyBuild;

typedef struct KeyThread {
    KeyBuild *build;
    u32 number;
    bool placing;
    bool started;
    pthread_t thread;
} KeyThread;

static u32 range_of(const KeyBuild *b, u32 stored) { return b->depth ? stored >> (32 - b->depth) : 0; }

static bool
note_hash(Range *r, u32 stored, RowId row)
{
    if (r->count == r->capacity) {
        u64 capacity = MAX(256u, r->capacity * 2);
        u64 *rows = realloc(r->rows, capacity * sizeof *rows);
        if (rows)
            r->rows = rows;
        u32 *s = rows ? realloc(r->stored, capacity * sizeof *s) : NULL;
        if (!s)
            return false;
        r->stored = s;
        r->capacity = capacity;
    }
    r->rows[r->count] = row;
    r->stored[r->count++] = stored;
    return true;
}

static bool
hash_block(KeyBuild *b, const SlotDirShm *slot, Range *ranges)
{
    for (u32 o = 0; o < slot->rows_applied; o++) {
        u64 hash;
        if (delete_is_set(slot, o) || !key_hash_stored(slot->pub_block, b->key, o, &hash))
            continue;
        u32 stored = index_stored(hash), range = range_of(b, stored);
        if (range >= b->first && range < b->end && !note_hash(&ranges[range - b->first], stored, ROW_ID(slot->block_id, o)))
            return false;
    }
    return true;
}

static void
hash_blocks(KeyBuild *b, u32 thread)
{
    u64 end = b->tw->t->dir->next_block;
    Range *ranges = b->ranges + (u64)thread * (b->end - b->first);
    for (u64 block; (block = counter_add_u32(&b->next_block, 1)) < end;) {
        const SlotDirShm *slot = block_slot(b->tw, block);
        if (slot && !hash_block(b, slot, ranges)) {
            publish_u32(&b->no_memory, 1);
            return;
        }
    }
}

static void
place_ranges(KeyBuild *b)
{
    u32 n = b->end - b->first;
    for (u32 i; (i = counter_add_u32(&b->next_range, 1)) < n;)
        for (u32 t = 0; t < b->thread_count; t++) {
            Range *r = &b->ranges[(u64)t * n + i];
            for (u64 k = 0; k < r->count; k++)
                index_place(b->index, r->stored[k], r->rows[k]);
        }
}

static void *
key_thread(void *arg)
{
    KeyThread *t = arg;
    if (t->placing)
        place_ranges(t->build);
    else
        hash_blocks(t->build, t->number);
    return NULL;
}

/* All threads do their share; this one is number 0. Where a thread cannot be had the others do its work. */
static void
run_threads(KeyBuild *b, bool placing)
{
    KeyThread threads[THREADS_MAX];
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    for (u32 i = 0; i < b->thread_count; i++) {
        threads[i] = (KeyThread){.build = b, .number = i, .placing = placing};
        threads[i].started = i > 0 && pthread_create(&threads[i].thread, NULL, key_thread, &threads[i]) == 0;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    key_thread(&threads[0]);
    for (u32 i = 1; i < b->thread_count; i++)
        if (threads[i].started)
            pthread_join(threads[i].thread, NULL);
}

static void
free_ranges(KeyBuild *b)
{
    for (u64 i = 0; b->ranges && i < (u64)b->thread_count * (b->end - b->first); i++) {
        free(b->ranges[i].rows);
        free(b->ranges[i].stored);
    }
    free(b->ranges);
    b->ranges = NULL;
}

/* The ranges first … end-1 of an index whose segments are there already or are made from `counts` when this round knows all. */
static bool
build_round(World *w, KeyBuild *b, u64 *counts, Error *err)
{
    u32 n = b->end - b->first;
    b->next_block = 1;
    b->next_range = 0;
    b->ranges = calloc((u64)b->thread_count * n, sizeof *b->ranges);
    if (!b->ranges)
        return world_full(err);
    run_threads(b, false);
    if (b->no_memory)
        return world_full(err);
    for (u32 t = 0; t < b->thread_count; t++)
        for (u32 i = 0; i < n; i++)
            counts[b->first + i] += b->ranges[(u64)t * n + i].count;
    if (!index_add_ranges(w, b->index, b->first, b->end, counts))
        return world_full(err);
    run_threads(b, true);
    return true;
}

static bool
build_index(World *w, const TableWork *tw, u32 key, u64 rows, u32 threads, Error *err)
{
    KeyBuild b = {.tw = tw, .key = &tw->t->def->keys[key], .index = &tw->t->keys[key], .thread_count = threads};
    while (rows > (u64)INDEX_BULK_ENTRIES << b.depth && b.depth < INDEX_DEPTH_MAX)
        b.depth++;
    u32 ranges = 1u << b.depth, rounds = (u32)(rows / KEYS_A_ROUND) + 1, step = MAX(1u, (ranges + rounds - 1) / rounds);
    u64 *counts = calloc(ranges, sizeof *counts);
    bool ok = counts && index_begin_bulk(w, b.index, b.depth);
    if (!ok)
        (void)world_full(err);
    for (b.first = 0; ok && b.first < ranges; b.first = b.end) {
        b.end = MIN(b.first + step, ranges);
        ok = build_round(w, &b, counts, err);
        free_ranges(&b);
    }
    free(counts);
    if (ok)
        index_count(b.index);
    return ok;
}

bool
world_restore_keys(World *w, u64 version, u32 threads, Error *err)
{
    for (u32 i = 0; i < w->table_capacity; i++) {
        TableWork *tw = w->tables[i];
        u64 rows = 0;
        if (!tw)
            continue;
        for (u64 block = 1; block < tw->t->dir->next_block; block++) {
            SlotDirShm *slot = block_slot(tw, block);
            if (slot && slot->deleted_count)
                slot->pub_newest_delete = version;
            rows += slot ? slot->rows_applied - slot->deleted_count : 0;
        }
        for (u32 k = 0; rows && k < tw->t->def->key_count; k++)
            if (!build_index(w, tw, k, rows, MIN(MAX(threads, 1u), (u32)THREADS_MAX), err))
                return false;
    }
    return true;
}

bool
world_start_again(World **w, Shm *shm, Error *err)
{
    world_close(*w);
    *w = NULL;
    if (fallocate(shm->world_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)shm->world_reserved_bytes) != 0)
        return error_set(err, ERR_IO_ERROR, "could not empty the memory of the database: %s", strerror(errno));
    return world_open(shm, false, w, err);
}
