/*
 * own_table.c
 *    A transaction's rows and deletes in one table, and how they are read.
 *
 * Places of the table: those of its directory, then the staging block, then the chain's. A block of the transaction is seen up to its last row that was shown;
 * what is no longer or not yet the transaction's below it counts as deleted, whatever the world's delete state says. A block of the table loses the rows that
 * the transaction deleted besides those that the world's state takes away at the snapshot's version.
 *
 * Writes: private memory. Fails: own_reserve_…, without memory.
 */
#include "common/store/own_table.h"

#include "common/base/hash.h"

/* ---- blocks ---- */

OwnBlock *
own_find_block(const TableOwn *o, u64 block_id)
{
    if (block_id >= STAGED_BLOCK)
        return o->staged.slot && o->staged.block_id == block_id ? (OwnBlock *)(uintptr_t)&o->staged : NULL;
    u32 low = 0, high = o->chain_count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (o->chain[middle].block_id < block_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < o->chain_count && o->chain[low].block_id == block_id ? &o->chain[low] : NULL;
}

static void *
grown(Arena *a, const void *old, size_t used, size_t bytes)
{
    void *p = arena_zalloc(a, bytes);
    if (p && used)
        memcpy(p, old, used);
    return p;
}

/* Ids grow in the order in which a chain takes them. */
static OwnBlock *
add_chain_block(Arena *a, TableOwn *o, const SlotDirShm *slot, u64 block_id)
{
    if (o->chain_count == o->chain_capacity) {
        u32 capacity = MAX(o->chain_capacity * 2, 4u);
        OwnBlock *chain = grown(a, o->chain, o->chain_count * sizeof *chain, capacity * sizeof *chain);
        if (!chain)
            return NULL;
        o->chain = chain;
        o->chain_capacity = capacity;
    }
    ensure(o->chain_count == 0 || o->chain[o->chain_count - 1].block_id < block_id);
    OwnBlock *b = &o->chain[o->chain_count++];
    *b = (OwnBlock){.slot = slot, .block_id = block_id};
    return b;
}

/* ---- keys of staged rows ---- */

static void
enter_key(OwnKey *k, u32 offset, u64 hash)
{
    u32 *head = &k->heads[(u32)hash & (k->capacity - 1)];
    k->hashes[offset] = hash;
    k->next[offset] = *head + 1;
    *head = offset + 1;
}

static void
remove_key(OwnKey *k, u32 offset)
{
    u32 *head = &k->heads[(u32)k->hashes[offset] & (k->capacity - 1)];
    if (!k->next[offset])
        return;
    ensure(*head == offset + 1);
    *head = k->next[offset] - 1;
    k->next[offset] = 0;
}

static bool
reserve_key(Arena *a, OwnKey *k, u32 end)
{
    if (end <= k->capacity)
        return true;
    OwnKey made = {.capacity = MAX(k->capacity, 64u)};
    while (made.capacity < end)
        made.capacity *= 2;
    made.heads = arena_zalloc(a, made.capacity * sizeof *made.heads);
    made.next = arena_zalloc(a, made.capacity * sizeof *made.next);
    made.hashes = arena_zalloc(a, made.capacity * sizeof *made.hashes);
    if (!made.heads || !made.next || !made.hashes)
        return false;
    for (u32 i = 0; i < k->capacity; i++)
        if (k->next[i])
            enter_key(&made, i, k->hashes[i]);
    *k = made;
    return true;
}

static bool
reserve_keys(Arena *a, TableOwn *o, const TableDef *def, u32 end)
{
    if (!o->keys && def->key_count) {
        o->keys = arena_zalloc(a, def->key_count * sizeof *o->keys);
        if (!o->keys)
            return false;
        o->key_count = def->key_count;
    }
    for (u32 k = 0; k < def->key_count; k++)
        if (!reserve_key(a, &o->keys[k], end))
            return false;
    return true;
}

static const BlockShm *
block_of(const OwnBlock *b)
{
    return observe_ptr(&b->slot->pub_block);
}

/* ---- showing and hiding rows ---- */

bool
own_reserve_rows(Arena *a, TableOwn *o, const TableDef *def, const SlotDirShm *slot, RowId first, u32 count)
{
    u64 id = ROW_BLOCK(first);
    bool staged = id >= STAGED_BLOCK;
    OwnBlock *b = own_find_block(o, id);
    if (staged) {
        b = &o->staged;
        b->slot = slot;
        b->block_id = id;
    }
    if (!b && !(b = add_chain_block(a, o, slot, id)))
        return false;
    u32 words = (ROW_OFFSET(first) + count + 63) / 64;
    if (words > b->word_count) {
        words = MIN(MAX(words, b->word_count * 2), (u32)BLOCK_WORDS);
        u64 *live = grown(a, b->live, b->word_count * sizeof *live, words * sizeof *live);
        if (!live)
            return false;
        b->live = live;
        b->word_count = words;
    }
    return !staged || reserve_keys(a, o, def, ROW_OFFSET(first) + count);
}

void
own_show(TableOwn *o, const TableDef *def, RowId first, u32 count)
{
    OwnBlock *b = own_find_block(o, ROW_BLOCK(first));
    u32 from = ROW_OFFSET(first), end = from + count;
    for (u32 i = from; i < end; i++)
        b->live[i >> 6] |= (u64)1 << (i & 63);
    b->row_count = MAX(b->row_count, end);
    b->live_count += count;
    b->shown += count;
    if (b != &o->staged)
        return;
    const BlockShm *block = block_of(b);
    for (u32 k = 0; k < def->key_count; k++)
        for (u32 i = from; i < end; i++) {
            u64 hash;
            if (key_hash_stored(block, &def->keys[k], i, &hash))
                enter_key(&o->keys[k], i, hash);
        }
}

/* Rows are taken back from the end, so those before them are what is left. A block of which none is left may be gone. */
void
own_hide(TableOwn *o, RowId first, u32 count)
{
    OwnBlock *b = own_find_block(o, ROW_BLOCK(first));
    u32 from = ROW_OFFSET(first);
    for (u32 i = from + count; i-- > from;) {
        u64 bit = (u64)1 << (i & 63);
        b->live_count -= (b->live[i >> 6] & bit) != 0;
        b->live[i >> 6] &= ~bit;
        for (u32 k = 0; b == &o->staged && k < o->key_count; k++)
            remove_key(&o->keys[k], i);
    }
    b->row_count = from;
    b->shown -= count;
    if (b->shown)
        return;
    if (b == &o->staged) {
        b->row_count = 0;
        b->slot = NULL;
        return;
    }
    ensure(b == &o->chain[o->chain_count - 1]);
    o->chain_count--;
}

/* ---- deletes ---- */

static OwnDeletes *
find_deletes(const TableOwn *o, u64 block_id)
{
    if (!o->blocks_capacity)
        return NULL;
    u32 at = (u32)hash_u64(block_id) & (o->blocks_capacity - 1);
    while (o->blocks[at].block_id && o->blocks[at].block_id != block_id)
        at = (at + 1) & (o->blocks_capacity - 1);
    return &o->blocks[at];
}

static bool
grow_deletes(Arena *a, TableOwn *o)
{
    u32 capacity = MAX(o->blocks_capacity * 2, 16u);
    OwnDeletes *old = o->blocks, *made = arena_zalloc(a, capacity * sizeof *made);
    u32 old_capacity = o->blocks_capacity;
    if (!made)
        return false;
    o->blocks = made;
    o->blocks_capacity = capacity;
    for (u32 i = 0; i < old_capacity; i++)
        if (old[i].block_id)
            *find_deletes(o, old[i].block_id) = old[i];
    return true;
}

/* Deletes of that block by bits from now on. */
static bool
reserve_deletes_of(Arena *a, TableOwn *o, u64 block_id)
{
    if ((o->blocks_count + 1) * 2 > o->blocks_capacity && !grow_deletes(a, o))
        return false;
    OwnDeletes *d = find_deletes(o, block_id);
    if (d->block_id)
        return true;
    d->bits = arena_zalloc(a, BITMAP_BYTES);
    if (!d->bits)
        return false;
    d->block_id = block_id;
    o->blocks_count++;
    return true;
}

static void
set_deleted(TableOwn *o, RowId id)
{
    find_deletes(o, ROW_BLOCK(id))->bits[ROW_OFFSET(id) >> 6] |= (u64)1 << (ROW_OFFSET(id) & 63);
}

/* The few go into bitmaps: into a copy first, so that a failure leaves them as they are. */
static bool
leave_few(Arena *a, TableOwn *o)
{
    TableOwn with = *o;
    for (u32 i = 0; i < o->few_count; i++)
        if (!reserve_deletes_of(a, &with, ROW_BLOCK(o->few[i])))
            return false;
    if (!with.blocks_capacity && !grow_deletes(a, &with))
        return false;
    for (u32 i = 0; i < with.few_count; i++)
        set_deleted(&with, with.few[i]);
    *o = with;
    return true;
}

bool
own_reserve_deletes(Arena *a, TableOwn *o, u32 total, RowId first, u32 count)
{
    if (!o->blocks_capacity) {
        if (o->few_count + total <= OWN_FEW)
            return true;
        if (!leave_few(a, o))
            return false;
    }
    for (u64 block = ROW_BLOCK(first); block <= ROW_BLOCK(first + count - 1); block++)
        if (!own_find_block(o, block) && !reserve_deletes_of(a, o, block))
            return false;
    return true;
}

void
own_delete(TableOwn *o, RowId first, u32 count)
{
    for (RowId id = first; id < first + count; id++) {
        OwnBlock *b = own_find_block(o, ROW_BLOCK(id));
        if (b) {
            u64 bit = (u64)1 << (ROW_OFFSET(id) & 63);
            b->live_count -= (b->live[ROW_OFFSET(id) >> 6] & bit) != 0;
            b->live[ROW_OFFSET(id) >> 6] &= ~bit;
            continue;
        }
        o->deleted_count++;
        if (o->blocks_capacity)
            set_deleted(o, id);
        else
            o->few[o->few_count++] = id;
    }
}

/* The few are taken back from the end, a run at a time. */
static void
restore_row(TableOwn *o, RowId id)
{
    o->deleted_count--;
    if (o->blocks_capacity)
        find_deletes(o, ROW_BLOCK(id))->bits[ROW_OFFSET(id) >> 6] &= ~((u64)1 << (ROW_OFFSET(id) & 63));
    else
        o->few_count--;
}

void
own_restore(TableOwn *o, RowId first, u32 count)
{
    for (RowId id = first; id < first + count; id++) {
        OwnBlock *b = own_find_block(o, ROW_BLOCK(id));
        if (!b) {
            restore_row(o, id);
            continue;
        }
        b->live[ROW_OFFSET(id) >> 6] |= (u64)1 << (ROW_OFFSET(id) & 63);
        b->live_count++;
    }
}

/* ---- reading ---- */

static bool
view_own(const TableShm *t, const OwnBlock *own, BlockView *ret)
{
    if (!own->slot || !own->row_count)
        return false;
    const BlockShm *b = block_of(own);
    *ret = (BlockView){.table = t, .slot = own->slot, .block_id = own->block_id, .row_count = own->row_count, .sealed = b->sealed != 0,
                       .slices = b->slices};
    return true;
}

static u32
base_places(const TableShm *t)
{
    return (u32)t->place_count;
}

bool
own_block_view(const TableShm *t, u32 place, BlockView *ret)
{
    const TableOwn *o = t->own;
    u32 base = base_places(t);
    if (place < base)
        return table_block_view(t, place, ret);
    if (place == base)
        return view_own(t, &o->staged, ret);
    return place - base - 1 < o->chain_count && view_own(t, &o->chain[place - base - 1], ret);
}

bool
own_block_locate(const TableShm *t, RowId id, BlockView *ret)
{
    const OwnBlock *own = own_find_block(t->own, ROW_BLOCK(id));
    BlockView b;
    if (own ? !view_own(t, own, &b) : ROW_BLOCK(id) >= base_places(t) || !table_block_view(t, (u32)ROW_BLOCK(id), &b))
        return false;
    if (ROW_OFFSET(id) >= b.row_count)
        return false;
    *ret = b;
    return true;
}

static bool
own_block_bits(const OwnBlock *b, u32 words, u64 *bits)
{
    u64 any = 0;
    for (u32 w = 0; w < words; w++)
        any |= bits[w] = ~b->live[w];
    return any != 0;
}

bool
own_add_deleted(const TableOwn *o, u64 block_id, u32 row_count, u64 *bits)
{
    u32 words = (row_count + 63) / 64;
    const OwnBlock *own = own_find_block(o, block_id);
    if (own)
        return own_block_bits(own, words, bits);
    bool any = false;
    if (!o->blocks_capacity) {
        for (u32 i = 0; i < o->few_count; i++)
            if (ROW_BLOCK(o->few[i]) == block_id && ROW_OFFSET(o->few[i]) < row_count) {
                bits[ROW_OFFSET(o->few[i]) >> 6] |= (u64)1 << (ROW_OFFSET(o->few[i]) & 63);
                any = true;
            }
        return any;
    }
    const OwnDeletes *d = find_deletes(o, block_id);
    for (u32 w = 0; d->block_id && w < words; w++) {
        bits[w] |= d->bits[w];
        any |= d->bits[w] != 0;
    }
    return any;
}

bool
own_row_deleted(const TableOwn *o, RowId id)
{
    const OwnBlock *own = own_find_block(o, ROW_BLOCK(id));
    u32 offset = ROW_OFFSET(id);
    if (own)
        return !(own->live[offset >> 6] >> (offset & 63) & 1);
    if (!o->blocks_capacity) {
        for (u32 i = 0; i < o->few_count; i++)
            if (o->few[i] == id)
                return true;
        return false;
    }
    const OwnDeletes *d = find_deletes(o, ROW_BLOCK(id));
    return d->block_id && d->bits[offset >> 6] >> (offset & 63) & 1;
}

bool
own_key_find(const TableShm *t, u32 key, u64 hash, const void *const *elements, RowId *ret)
{
    const OwnBlock *b = &t->own->staged;
    if (!b->live_count)
        return false;
    const OwnKey *k = &t->own->keys[key];
    const BlockShm *block = block_of(b);
    for (u32 at = k->heads[(u32)hash & (k->capacity - 1)]; at; at = k->next[at - 1] - 1) {
        RowId id = ROW_ID(b->block_id, at - 1);
        if (k->hashes[at - 1] != hash || own_row_deleted(t->own, id) || !key_stored_equal(block, &t->def->keys[key], at - 1, elements))
            continue;
        *ret = id;
        return true;
    }
    return false;
}

u64
own_row_count(const TableShm *t)
{
    const TableOwn *o = t->own;
    u64 n = t->row_count + o->staged.row_count;
    for (u32 i = 0; i < o->chain_count; i++)
        n += o->chain[i].row_count;
    return n;
}

u64
own_live_count(const TableShm *t)
{
    const TableOwn *o = t->own;
    u64 gone = t->deleted_count + o->deleted_count, n = t->row_count - MIN(gone, t->row_count);
    n += o->staged.live_count;
    for (u32 i = 0; i < o->chain_count; i++)
        n += o->chain[i].live_count;
    return n;
}

u32
own_place_count(const TableShm *t)
{
    return base_places(t) + 1 + t->own->chain_count;
}
