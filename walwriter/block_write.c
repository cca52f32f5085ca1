/*
 * block_write.c
 *    Blocks: ids and slots, room for rows, holes, sealing, dropping.
 *
 * A slot stands in its table's directory from the moment its block id is taken, invisible (NOT_LINKED) until a publish links it. Arrays of an open
 * block double; rows that are there are copied and the old arrays are retired, since readers of older roots still use them. Only rows above
 * every published count are ever written (I7).
 *
 * Sealing: null bytes become bits (none when no row is NULL), min and max are worked out, arrays much too big are cut. Slices with a NaN
 * have no min/max, so that no reader needs a rule for it. A sealed block's row count is final.
 *
 * Fails: taking ids and room, before anything is logged. Sealing allocates from what was promised.
 */
#include "common/type/numeric.h"
#include "walwriter/world_int.h"

/* ---- slots ---- */

static bool
dir_room(World *w, DirShm *d, u64 block, bool must)
{
    u32 i, c = dir_chunk_of(block, &i);
    if (c >= d->chunk_capacity) {
        u32 capacity = MAX(d->chunk_capacity * 2, MAX(c + 1, 2u));
        SlotDirShm ***chunks = world_take(w, capacity * sizeof *chunks, must);
        if (!chunks)
            return false;
        memset(chunks, 0, capacity * sizeof *chunks);
        if (d->pub_chunks) {
            memcpy(chunks, d->pub_chunks, d->chunk_capacity * sizeof *chunks);
            world_retire(w, d->pub_chunks, d->chunk_capacity * sizeof *chunks);
        }
        publish_ptr(&d->pub_chunks, chunks);
        relax_store_u32(&d->chunk_capacity, capacity); /* owners of chains look at it, own.c */
    }
    if (!d->pub_chunks[c]) {
        u64 bytes = dir_chunk_size(c) * sizeof(SlotDirShm *);
        SlotDirShm **chunk = world_take(w, bytes, must);
        if (!chunk)
            return false;
        memset(chunk, 0, bytes);
        publish_ptr(&d->pub_chunks[c], chunk);
    }
    d->chunk_count = MAX(d->chunk_count, c + 1);
    return true;
}

SlotDirShm *
block_slot(const TableWork *tw, u64 block)
{
    const DirShm *d = tw->t->dir;
    if (UNLIKELY(block >= STAGED_BLOCK)) {
        u64 owner = block - STAGED_BLOCK;
        return owner < tw->staged_capacity ? tw->staged[owner] : NULL;
    }
    u32 i;
    /* next_block may stand above all chunks, when ids were used in a hidden table that is gone */
    return block < d->next_block && dir_chunk_of(block, &i) < d->chunk_capacity ? dir_slot(d, block) : NULL;
}

/* Ids of blocks that are there: chunks of compacted ones are skipped whole. */
SlotDirShm *
block_next_slot(const TableWork *tw, u64 *block)
{
    const DirShm *d = tw->t->dir;
    while (*block < d->next_block) {
        u32 i, c = dir_chunk_of(*block, &i);
        if (c >= d->chunk_capacity || !d->pub_chunks[c]) {
            *block += dir_chunk_size(c) - i;
            continue;
        }
        SlotDirShm *slot = d->pub_chunks[c][i];
        ++*block;
        if (slot)
            return slot;
    }
    return NULL;
}

SlotDirShm *
block_slot_new(World *w, TableWork *tw, u64 block, u32 kind, bool must)
{
    DirShm *d = tw->t->dir;
    SlotDirShm *s = dir_room(w, d, block, must) ? world_take(w, sizeof *s, must) : NULL;
    if (!s)
        return NULL;
    *s = (SlotDirShm){.block_id = block, .pub_link_epoch = NOT_LINKED, .pub_unlink_epoch = NOT_LINKED, .kind = kind};
    u32 i, c = dir_chunk_of(block, &i);
    publish_ptr(&d->pub_chunks[c][i], s);
    d->next_block = MAX(d->next_block, block + 1);
    if (kind == SLOT_OPEN)
        slot_list_add(&tw->opens, s);
    return s;
}

static void
free_piece(void *ctx, const void *piece, u64 bytes)
{
    world_free(ctx, piece, bytes);
}

static void
retire_piece(void *ctx, const void *piece, u64 bytes)
{
    world_retire(ctx, piece, bytes);
}

static void
promise(World *w, SlotDirShm *slot, u64 bytes)
{
    w->promised_seal_bytes += bytes - slot->promised_bytes;
    slot->promised_bytes = bytes;
}

/* A block that was never linked goes. The slot itself is retired: a reader with a key entry of the block may be looking at it. */
void
block_slot_drop(World *w, TableWork *tw, SlotDirShm *slot)
{
    ensure(slot->pub_link_epoch == NOT_LINKED);
    promise(w, slot, 0);
    u32 i, c = dir_chunk_of(slot->block_id, &i);
    publish_ptr(&tw->t->dir->pub_chunks[c][i], (SlotDirShm *)NULL);
    if (slot->pub_block)
        walk_block(slot->pub_block, free_piece, w);
    if (slot->pub_bits)
        world_free(w, slot->pub_bits, BITMAP_BYTES);
    if (slot->pub_map)
        world_free(w, slot->pub_map, row_map_bytes(slot->pub_map->word_count));
    slot->pub_block = NULL;
    slot->pub_bits = NULL;
    slot->pub_map = NULL;
    world_retire(w, slot, sizeof *slot);
}

/* ---- room ---- */

static void
dispose(World *w, bool visible, const void *piece, u64 bytes)
{
    if (visible)
        world_retire(w, piece, bytes);
    else
        world_free(w, piece, bytes);
}

static bool
slot_visible(const SlotDirShm *slot)
{
    return slot->pub_link_epoch != NOT_LINKED;
}

/* The struct and arrays of a block with room for `capacity` rows; NULL without memory. */
static BlockShm *
block_new(World *w, const TableWork *tw, u32 capacity, bool must)
{
    const TableDef *def = tw->t->def;
    BlockShm *b = world_take(w, block_bytes(def->column_count), must);
    if (!b)
        return NULL;
    memset(b, 0, block_bytes(def->column_count));
    b->capacity = capacity;
    b->column_count = def->column_count;
    for (u32 c = 0; c < def->column_count; c++) {
        SliceShm *s = &b->slices[c];
        const ColumnDef *cd = &def->columns[c];
        s->phys = cd->phys;
        s->scale = cd->scale;
        s->width = (u8)phys_stored((PhysType)cd->phys);
        s->dict = tw->t->dicts ? tw->t->dicts[c] : NULL;
        s->factor = 1;
        s->data = world_take(w, (u64)capacity * s->width, must);
        if (s->data && !cd->not_null)
            s->nulls = world_take(w, capacity, must);
        if (!s->data || (!cd->not_null && !s->nulls)) {
            walk_block(b, free_piece, w);
            return NULL;
        }
    }
    return b;
}

static u64
seal_bytes(const TableWork *tw)
{
    const TableDef *def = tw->t->def;
    u64 n = block_bytes(def->column_count);
    for (u32 c = 0; c < def->column_count; c++)
        n += def->columns[c].not_null ? 0 : BITMAP_BYTES;
    return n + BITMAP_BYTES; /* and delete bits for holes */
}

bool
block_room(World *w, TableWork *tw, SlotDirShm *slot, u32 rows, bool must)
{
    const BlockShm *old = slot->pub_block;
    if (old && old->capacity >= rows)
        return true;
    ensure(slot->kind != SLOT_SEALED && slot->kind != SLOT_MOVED && rows <= BLOCK_ROWS);
    u32 capacity = OPEN_FIRST_ROWS;
    while (capacity < rows)
        capacity *= 2;
    if (slot->kind == SLOT_CHAIN && capacity > (old ? 4 : 16) * (u32)OPEN_FIRST_ROWS)
        capacity = BLOCK_ROWS; /* bulk rows go on coming; arrays that are left behind wait for every older pin */
    BlockShm *b = block_new(w, tw, capacity, must);
    if (!b)
        return false;
    if (old) {
        for (u32 c = 0; c < b->column_count; c++) {
            memcpy((u8 *)(uintptr_t)b->slices[c].data, old->slices[c].data, (u64)slot->rows_applied * b->slices[c].width);
            if (b->slices[c].nulls)
                memcpy((u8 *)(uintptr_t)b->slices[c].nulls, old->slices[c].nulls, slot->rows_applied);
        }
    }
    publish_ptr(&slot->pub_block, (const BlockShm *)b);
    if (slot->kind == SLOT_CHAIN && capacity == BLOCK_ROWS)
        promise(w, slot, seal_bytes(tw));
    if (old) /* a reader may stand in it: of the table, or the owner of a chain or private block */
        walk_block(old, retire_piece, w);
    return true;
}

/* ---- taking ids ---- */

/* Arrays of a full block. */
static u64
full_bytes(const TableWork *tw)
{
    const TableDef *def = tw->t->def;
    u64 width = 0;
    for (u32 c = 0; c < def->column_count; c++)
        width += phys_stored((PhysType)def->columns[c].phys) + (def->columns[c].not_null ? 0 : 1);
    return width * BLOCK_ROWS;
}

/* The first open block with room behind which nothing is taken (ids that were given back may leave empty ones there). */
static SlotDirShm *
slot_to_fill(const TableWork *tw)
{
    u32 i = tw->opens.count;
    while (i > 0 && tw->opens.slots[i - 1]->rows_taken == 0)
        i--;
    if (i > 0 && tw->opens.slots[i - 1]->rows_taken < BLOCK_ROWS)
        i--;
    return i < tw->opens.count ? tw->opens.slots[i] : NULL;
}

bool
world_take_rows(World *w, u32 table_id, u32 n, RowRange ret[2], Error *err)
{
    TableWork *tw = world_work(w, table_id);
    ensure(tw && n > 0 && n <= PART_MAX_ROWS);
    ret[0] = ret[1] = (RowRange){0};
    for (u32 r = 0; n > 0; r++) {
        SlotDirShm *slot = slot_to_fill(tw);
        if (!slot && tw->t->dir->next_block < STAGED_BLOCK)
            slot = block_slot_new(w, tw, tw->t->dir->next_block, SLOT_OPEN, false);
        if (!slot)
            goto no_memory;
        u32 take = MIN(n, BLOCK_ROWS - slot->rows_taken);
        if (!block_room(w, tw, slot, slot->rows_taken + take, false))
            goto no_memory;
        ret[r] = (RowRange){.first = ROW_ID(slot->block_id, slot->rows_taken), .count = take};
        slot->rows_taken += take;
        n -= take;
        if (slot->rows_taken == BLOCK_ROWS)
            promise(w, slot, seal_bytes(tw));
    }
    if (world_has_room(w, err))
        return true;
no_memory:
    if (ret[0].count) {
        SlotDirShm *first = block_slot(tw, ROW_BLOCK(ret[0].first));
        first->rows_taken = ROW_OFFSET(ret[0].first);
    }
    if (ret[1].count)
        block_slot(tw, ROW_BLOCK(ret[1].first))->rows_taken = 0;
    return world_full(err);
}

void
world_untake_rows(World *w)
{
    for (u32 i = 0; i < w->table_capacity; i++) {
        TableWork *tw = w->tables[i];
        for (u32 s = 0; tw && s < tw->opens.count; s++)
            tw->opens.slots[s]->rows_taken = tw->opens.slots[s]->rows_applied;
    }
    for (u64 i = 0; i < w->listed.count; i++) /* every slot with a promise has a list */
        w->listed.items[w->listed.first + i]->promised_entries = 0;
    w->promised_delete_bytes = 0;
}

void
world_untake_last(World *w, u32 table_id, u32 n)
{
    TableWork *tw = world_work(w, table_id);
    for (u32 i = tw ? tw->opens.count : 0; i-- > 0 && n;) {
        SlotDirShm *slot = tw->opens.slots[i];
        u32 back = MIN(n, slot->rows_taken - slot->rows_applied);
        slot->rows_taken -= back;
        n -= back;
    }
}

/* All blocks of the table are about to be retired: what was promised for them is free again. */
void
block_forget_all(World *w, TableWork *tw)
{
    const DirShm *d = tw->t->dir;
    for (u64 block = 1; block < d->next_block; block++) {
        SlotDirShm *slot = block_slot(tw, block);
        if (slot)
            promise(w, slot, 0);
    }
    for (u64 owner = 0; owner < tw->staged_capacity; owner++)
        if (tw->staged[owner])
            block_drop_staged(w, tw, owner);
    tw->opens.count = tw->pending.count = tw->leaving.count = 0;
}

bool
world_take_block(World *w, u32 table_id, u64 *ret_block, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    ensure(tw);
    u64 block = tw->t->dir->next_block;
    if (!world_adopt_block(w, table_id, block, err))
        return false;
    *ret_block = block;
    return true;
}

bool
world_adopt_block(World *w, u32 table_id, u64 block, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    ensure(tw);
    if (block == 0 || block >= STAGED_BLOCK)
        return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "table has too many blocks");
    if (block_slot(tw, block))
        return true;
    SlotDirShm *slot = block_slot_new(w, tw, block, SLOT_CHAIN, false);
    if (!slot)
        return world_full(err);
    promise(w, slot, seal_bytes(tw) + full_bytes(tw));
    if (world_has_room(w, err))
        return true;
    block_slot_drop(w, tw, slot);
    return false;
}

/* ---- private blocks of open transactions ---- */

/* Nothing is promised for it: it is never sealed, and COMMIT asks for its rows' room again. */
bool
world_stage_rows(World *w, u32 table_id, u32 owner, u32 n, RowId *ret_first, Error *err)
{
    TableWork *tw = world_work(w, table_id);
    u64 block = STAGED_BLOCK | owner;
    ensure(tw);
    SlotDirShm *slot = block_slot(tw, block);
    if (!slot) {
        slot = world_get(w, sizeof *slot);
        if (!slot)
            return world_full(err);
        *slot = (SlotDirShm){.block_id = block, .pub_link_epoch = NOT_LINKED, .pub_unlink_epoch = NOT_LINKED, .kind = SLOT_STAGED};
        if (owner >= tw->staged_capacity) {
            u64 old = tw->staged_capacity;
            tw->staged = world_grow_private(tw->staged, MAX(owner + 1, 8u), &tw->staged_capacity, sizeof *tw->staged);
            memset(tw->staged + old, 0, (tw->staged_capacity - old) * sizeof *tw->staged);
        }
        tw->staged[owner] = slot;
    }
    ensure(slot->rows_taken + n <= BLOCK_ROWS);
    if (!block_room(w, tw, slot, slot->rows_taken + n, false))
        return world_full(err);
    *ret_first = ROW_ID(block, slot->rows_taken);
    slot->rows_taken += n;
    return world_has_room(w, err);
}

const SlotDirShm *
world_staged_slot(World *w, u32 table_id, u32 owner)
{
    TableWork *tw = world_work(w, table_id);
    return tw ? block_slot(tw, STAGED_BLOCK | owner) : NULL;
}

/* Its owner, the only reader, waits for the answer meanwhile or is dead. */
void
block_drop_staged(World *w, TableWork *tw, u64 owner)
{
    SlotDirShm *slot = tw->staged[owner];
    tw->staged[owner] = NULL;
    if (slot->pub_block)
        walk_block(slot->pub_block, free_piece, w);
    world_free(w, slot, sizeof *slot);
}

void
world_drop_staged(World *w, u32 table_id, u32 owner)
{
    TableWork *tw = world_work(w, table_id);
    if (tw && owner < tw->staged_capacity && tw->staged[owner])
        block_drop_staged(w, tw, owner);
}

void
world_cut_block(World *w, u32 table_id, u64 block, u32 rows)
{
    TableWork *tw = world_work(w, table_id);
    SlotDirShm *slot = tw ? block_slot(tw, block) : NULL;
    if (!slot || (slot->kind != SLOT_CHAIN && slot->kind != SLOT_STAGED))
        return;
    slot->rows_applied = MIN(slot->rows_applied, rows);
    slot->rows_taken = slot->rows_applied;
}

bool
world_block_view(World *w, u32 table_id, RowId id, BlockView *ret)
{
    TableWork *tw = world_work(w, table_id);
    const SlotDirShm *slot = tw ? block_slot(tw, ROW_BLOCK(id)) : NULL;
    if (!slot || ROW_OFFSET(id) >= slot->rows_applied)
        return false;
    *ret = (BlockView){.table = tw->t, .slot = slot, .block_id = slot->block_id, .row_count = slot->rows_applied, .sealed = slot->pub_block->sealed != 0,
                       .slices = slot->pub_block->slices};
    return true;
}

u32
world_block_rows(World *w, u32 table_id, u64 block)
{
    TableWork *tw = world_work(w, table_id);
    const SlotDirShm *slot = tw ? block_slot(tw, block) : NULL;
    return slot ? slot->rows_applied : 0;
}

/* ---- sealing ---- */

/* Bits of null bytes; *ret NULL when no row is NULL. false: no memory. */
static bool
null_bits(World *w, const u8 *bytes, u32 rows, bool must, const u64 **ret, u32 *ret_count)
{
    u32 count = 0;
    for (u32 i = 0; i < rows; i++)
        count += bytes[i];
    *ret_count = count;
    *ret = NULL;
    if (!count)
        return true;
    u64 *bits = world_take(w, BITMAP_BYTES, must);
    if (!bits)
        return false;
    memset(bits, 0, BITMAP_BYTES);
    u32 i = 0;
    for (; i + 8 <= rows; i += 8) { /* eight bytes of 0 or 1: the product gathers them in its top byte */
        u64 eight = get_le64(bytes + i) * 0x0102040810204080ull >> 56;
        bits[i >> 6] |= eight << (i & 63);
    }
    for (; i < rows; i++)
        bits[i >> 6] |= (u64)bytes[i] << (i & 63);
    *ret = bits;
    return true;
}

/* Loops over the rows that are not NULL; false when there is none or one is NaN. */
#define MINMAX(T, nan)                                                                                                                     \
    do {                                                                                                                                   \
        const T *v = (const T *)(const void *)s->data;                                                                                     \
        T low = 0, high = 0;                                                                                                               \
        bool any = false, bad = false;                                                                                                     \
        for (u32 i = 0; i < rows; i++) {                                                                                                   \
            if (nulls && nulls[i])                                                                                                         \
                continue;                                                                                                                  \
            T x = v[i];                                                                                                                    \
            bad |= (nan);                                                                                                                  \
            low = any && low < x ? low : x;                                                                                                \
            high = any && high > x ? high : x;                                                                                             \
            any = true;                                                                                                                    \
        }                                                                                                                                  \
        memcpy(s->min, &low, sizeof low);                                                                                                  \
        memcpy(s->max, &high, sizeof high);                                                                                                \
        return any && !bad;                                                                                                                \
    } while (0)

static bool
minmax_num(SliceShm *s, const u8 *nulls, u32 rows)
{
    const Num *v = (const Num *)(const void *)s->data, *low = NULL, *high = NULL;
    for (u32 i = 0; i < rows; i++) {
        if (nulls && nulls[i])
            continue;
        if (v[i].kind == NUM_NAN)
            return false;
        low = low && num_cmp(low, &v[i]) <= 0 ? low : &v[i];
        high = high && num_cmp(high, &v[i]) >= 0 ? high : &v[i];
    }
    if (!low)
        return false;
    memcpy(s->min, low, sizeof *low);
    memcpy(s->max, high, sizeof *high);
    return true;
}

#define MINMAX_BY(T, cmp)                                                                                                              \
    {                                                                                                                                  \
        const T *v = (const T *)(const void *)s->data, *low = NULL, *high = NULL;                                                      \
        for (u32 i = 0; i < rows; i++) {                                                                                               \
            if (nulls && nulls[i])                                                                                                     \
                continue;                                                                                                              \
            low = low && cmp(low, &v[i]) <= 0 ? low : &v[i];                                                                           \
            high = high && cmp(high, &v[i]) >= 0 ? high : &v[i];                                                                       \
        }                                                                                                                              \
        if (!low)                                                                                                                      \
            return false;                                                                                                              \
        memcpy(s->min, low, sizeof *low);                                                                                              \
        memcpy(s->max, high, sizeof *high);                                                                                            \
        return true;                                                                                                                   \
    }

static bool minmax_pair(SliceShm *s, const u8 *nulls, u32 rows) MINMAX_BY(Pair, pair_cmp)
static bool minmax_interval(SliceShm *s, const u8 *nulls, u32 rows) MINMAX_BY(Interval, interval_cmp)

static bool
minmax(SliceShm *s, const u8 *nulls, u32 rows)
{
    switch ((PhysType)s->phys) {
    case PHYS_BOOL: MINMAX(u8, false);
    case PHYS_I16: MINMAX(i16, false);
    case PHYS_I32: MINMAX(i32, false);
    case PHYS_I64: MINMAX(i64, false);
    case PHYS_D64: MINMAX(i64, x == D64_NAN);
    case PHYS_D128: MINMAX(i128, x == D128_NAN);
    case PHYS_F32: MINMAX(float, x != x);
    case PHYS_F64: MINMAX(double, x != x);
    case PHYS_NUM: return minmax_num(s, nulls, rows);
    case PHYS_PAIR: return minmax_pair(s, nulls, rows);
    case PHYS_INTERVAL: return minmax_interval(s, nulls, rows);
    case PHYS_STR: case PHYS_COUNT: break;
    }
    return false;
}

/* An array cut to what it holds. Only worth it, and only done, when memory is at hand. */
static const u8 *
cut_array(World *w, const SliceShm *s, u32 rows)
{
    u64 bytes = (u64)rows * s->width;
    u8 *cut = world_get(w, bytes);
    if (cut)
        memcpy(cut, s->data, bytes);
    return cut;
}

bool
block_seal_slice(World *w, SliceShm *s, const u8 *nulls, u32 rows, bool must)
{
    const u64 *bits = NULL;
    if (nulls && !null_bits(w, nulls, rows, must, &bits, &s->null_count))
        return false;
    s->flags = minmax(s, nulls, rows) ? SLICE_MINMAX : 0;
    s->nulls = bits;
    return true;
}

void
block_seal(World *w, TableWork *tw, SlotDirShm *slot)
{
    const BlockShm *old = slot->pub_block;
    bool visible = slot_visible(slot);
    u32 rows = slot->rows_applied;
    promise(w, slot, 0);
    BlockShm *b = world_must(w, block_bytes(old->column_count));
    memcpy(b, old, block_bytes(old->column_count));
    b->row_count = rows;
    b->sealed = 1;
    bool cut = (u64)rows * 4 <= (u64)old->capacity * 3;
    const u8 *cut_data[MAX_COLUMNS];
    for (u32 c = 0; cut && c < b->column_count; c++) {
        cut_data[c] = cut_array(w, &old->slices[c], rows);
        if (cut_data[c])
            continue;
        while (c-- > 0)
            world_free(w, cut_data[c], (u64)rows * old->slices[c].width);
        cut = false;
        break;
    }
    for (u32 c = 0; c < b->column_count; c++) {
        SliceShm *s = &b->slices[c];
        ensure(block_seal_slice(w, s, s->nulls, rows, true));
        if (cut)
            s->data = cut_data[c];
    }
    if (cut)
        b->capacity = rows;
    publish_ptr(&slot->pub_block, (const BlockShm *)b);
    for (u32 c = 0; c < old->column_count; c++) {
        if (old->slices[c].nulls)
            dispose(w, visible, old->slices[c].nulls, old->capacity);
        if (cut)
            dispose(w, visible, old->slices[c].data, (u64)old->capacity * old->slices[c].width);
    }
    dispose(w, visible, old, block_bytes(old->column_count));
    slot->kind = SLOT_SEALED;
    slot->rows_taken = rows;
    slot_list_add(&tw->pending, slot);
    world_mark_dirty(w, tw);
}

bool
block_close_opens(World *w, TableWork *tw, bool must)
{
    for (u32 i = 0; i < tw->opens.count; i++)
        if (tw->opens.slots[i]->rows_taken != tw->opens.slots[i]->rows_applied)
            return false;
    u64 promised = w->promised_seal_bytes;
    w->promised_seal_bytes += tw->opens.count * seal_bytes(tw);
    bool room = must || world_has_room(w, NULL);
    w->promised_seal_bytes = promised;
    while (room && tw->opens.count) {
        SlotDirShm *slot = tw->opens.slots[0];
        slot_list_remove(&tw->opens, 0);
        if (slot->rows_applied)
            block_seal(w, tw, slot);
        else
            block_slot_drop(w, tw, slot);
    }
    return room;
}

void
world_link_block(World *w, u32 table_id, u64 block)
{
    TableWork *tw = world_work(w, table_id);
    SlotDirShm *slot = tw ? block_slot(tw, block) : NULL;
    if (!slot || slot->kind != SLOT_CHAIN)
        return; /* linked before, or the table is gone */
    if (slot->rows_applied)
        block_seal(w, tw, slot);
    else
        block_slot_drop(w, tw, slot);
}

void
world_drop_block(World *w, u32 table_id, u64 block)
{
    TableWork *tw = world_work(w, table_id);
    SlotDirShm *slot = tw ? block_slot(tw, block) : NULL;
    if (slot && slot->kind == SLOT_CHAIN)
        block_slot_drop(w, tw, slot);
}
