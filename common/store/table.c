/*
 * table.c
 *    Pin a state, find tables and blocks in it.
 *
 * A block is visible to a table version when its slot was linked by the publish of that version or an earlier one: the slots of newer
 * blocks may stand in the same directory chunk, since chunks are never copied. Of the block that was open at the version the table says how many
 * rows exist; every other block is sealed and has a count of its own. A reader of an old version may meet the open block already
 * sealed or moved to bigger arrays: the rows it may see are the same in both. A block that was compacted is seen by the versions before that, and
 * its rows in the target block by those after it: one publish changes both.
 *
 * Only reads; nothing here can fail or wait.
 */
#include "common/base/hash.h"
#include "common/shm/pin.h"
#include "common/store/own_table.h"

enum { DICT_BYTES_GUESS = 16 }; /* of a text */

/* Pin until the pinned epoch is the published one after the root was read: then the root is of that epoch or the next, which is what the
 * reclaimer assumes (walwriter/reclaim.c). */
Snapshot
snapshot_pin(const Shm *shm, BoxShm *own_box)
{
    const WorldHead *head = (const WorldHead *)(const void *)shm->world;
    const Root *root;
    do
        root = (const Root *)(uintptr_t)pin_root(own_box, &head->pub_epoch, (const u64 *)(const void *)&head->pub_root);
    while (observe_u64(&head->pub_epoch) != relaxed_u64(&own_box->pub_pin_epoch));
    relax_store_u64(&own_box->pub_pin_version, root ? root->version : 0);
    return (Snapshot){.root = root, .version = root ? root->version : 0, .epoch = root ? root->epoch : 0};
}

const Root *
store_newest_root(const Shm *shm)
{
    const WorldHead *head = (const WorldHead *)(const void *)shm->world;
    return (const Root *)(uintptr_t)observe_u64((const u64 *)(const void *)&head->pub_root);
}

void
snapshot_unpin(BoxShm *own_box)
{
    unpin_root(own_box);
}

const TableShm *
store_table(const Root *root, u32 table_id)
{
    if (table_id < FIRST_TABLE_ID || !root->tables)
        return NULL;
    u32 index = table_id - FIRST_TABLE_ID;
    if ((u64)index >> (TREE_BITS * root->table_levels))
        return NULL;
    const TreeNode *n = root->tables;
    for (u32 level = root->table_levels - 1; level > 0 && n; level--)
        n = (const TreeNode *)(uintptr_t)n->child[index >> (TREE_BITS * level) & (TREE_FANOUT - 1)];
    return n ? (const TableShm *)(uintptr_t)n->child[index & (TREE_FANOUT - 1)] : NULL;
}

const TableDef *
table_def(const TableShm *t)
{
    return t->def;
}

u64
table_row_count(const TableShm *t)
{
    return UNLIKELY(t->own != NULL) ? own_row_count(t) : t->row_count;
}

u64
table_live_estimate(const TableShm *t)
{
    return UNLIKELY(t->own != NULL) ? own_live_count(t) : t->row_count - MIN(t->deleted_count, t->row_count);
}

u32
table_block_count(const TableShm *t)
{
    return UNLIKELY(t->own != NULL) ? own_place_count(t) : (u32)t->place_count;
}

static inline bool
view(const TableShm *t, u32 place, BlockView *ret)
{
    if (place >= t->place_count)
        return false;
    const SlotDirShm *s = dir_slot(t->dir, place);
    if (!s || !slot_seen_at(s, t->epoch))
        return false;
    const BlockShm *b = observe_ptr(&s->pub_block);
    *ret = (BlockView){
        .table = t,
        .slot = s,
        .block_id = place,
        .row_count = place == t->open_block ? t->open_rows : b->row_count,
        .sealed = b->sealed != 0,
        .slices = b->slices,
    };
    return true;
}

bool
table_block_view(const TableShm *t, u32 place, BlockView *ret)
{
    return view(t, place, ret);
}

bool
block_view(const TableShm *t, u32 place, BlockView *ret)
{
    return UNLIKELY(t->own != NULL) ? own_block_view(t, place, ret) : view(t, place, ret);
}

bool
block_locate(const TableShm *t, RowId id, BlockView *ret)
{
    u64 block = ROW_BLOCK(id);
    if (UNLIKELY(t->own != NULL))
        return own_block_locate(t, id, ret);
    if (block >= t->place_count)
        return false;
    BlockView b;
    if (!view(t, (u32)block, &b) || ROW_OFFSET(id) >= b.row_count)
        return false;
    *ret = b;
    return true;
}

RowId
row_map_find(const RowMapShm *m, u32 offset)
{
    u32 word = offset >> 6;
    if (!m || word >= m->word_count || !(m->bits[word] >> (offset & 63) & 1))
        return 0;
    const u16 *before = (const u16 *)(const void *)(m->bits + m->word_count);
    u64 below = m->bits[word] & (((u64)1 << (offset & 63)) - 1);
    return ROW_ID(m->target, m->first + before[word] + (u32)__builtin_popcountll(below));
}

RowId
row_moved(const TableShm *t, RowId id)
{
    for (;;) {
        const SlotDirShm *s = ROW_BLOCK(id) < t->place_count ? dir_slot(t->dir, ROW_BLOCK(id)) : NULL;
        if (!s || observe_u64(&s->pub_unlink_epoch) > t->epoch)
            return id;
        RowId to = row_map_find(observe_ptr(&s->pub_map), ROW_OFFSET(id));
        if (!to)
            return id;
        id = to;
    }
}

u64
shape_defs_hash(void)
{
    static const char types[] =
#define SQL_TYPE(symbol, name, internal, oid, array, wire, category, preferred, storable) #symbol ":" #oid " "
#include "common/type/types.def"
        ;
    return hash_bytes(types, sizeof types) ^ sizeof(SlotDirShm) << 32 ^ WORLD_LAYOUT;
}

/* Arrays of the blocks and entries of the dictionaries, as far as this version sees them; indexes and delete state are left out. */
u64
table_column_bytes(const TableShm *t)
{
    u64 bytes = 0;
    u32 columns = t->def->column_count;
    for (u32 place = 0; place < table_block_count(t); place++) {
        BlockView b;
        if (!block_view(t, place, &b))
            continue;
        for (u32 c = 0; c < columns; c++) {
            SliceView s;
            if (slice_view(&b, c, &s))
                bytes += (u64)b.row_count * s.width + (s.null_bytes ? b.row_count : s.null_bits ? b.row_count / 8 : 0);
        }
    }
    for (u32 c = 0; c < columns; c++) {
        const DictShm *d = t->dicts ? t->dicts[c] : NULL;
        bytes += d ? (u64)dict_count(d) * (sizeof(DictEntryShm) + DICT_BYTES_GUESS) : 0;
    }
    return bytes;
}
