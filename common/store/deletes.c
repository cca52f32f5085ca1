/*
 * deletes.c
 *    Which rows of a block are deleted at a version.
 *
 * The state of a block: a bitmap that only gains bits, `newest_delete`, and a list of the deletes that are newer than the oldest pin.
 * The writer stores newest_delete, then the list entry, then the bits (walwriter/delete_write.c). The reader copies the bits and then reads
 * newest_delete. Every store is a release and every load of it an acquire, so:
 *   - whoever saw a bit also sees the newest_delete and the list entry that were stored before it;
 *   - hence newest_delete <= my version means that every bit I copied belongs to a delete I may see: the copy is exact;
 *   - else the entries above my version are taken back: a single one clears its bit, a bulk entry holds the bitmap before it (bits & before).
 *     Bits only grow and entries above my version are never left out while I am pinned, so the order of taking back does not matter.
 *   - deletes at or below my version were stored before the root I pinned, so none is missing.
 */
#include "common/store/own_table.h"

/* `l` may be a list older than the newest: it is read after newest_delete, and what it lacks is newer than the bits. */
static void
take_back_newer(const DeleteListShm *l, u64 version, u64 *bits, u32 words)
{
    u32 n = l ? observe_u32(&l->pub_count) : 0;
    while (n-- > 0) {
        u64 v = relaxed_u64(&l->entries[n].version), what = relaxed_u64(&l->entries[n].what);
        if (v <= version)
            break; /* entries stand in the order of versions */
        if (what < BLOCK_ROWS) {
            if (what >> 6 < words)
                bits[what >> 6] &= ~((u64)1 << (what & 63));
            continue;
        }
        const u64 *before = (const u64 *)(uintptr_t)what;
        for (u32 w = 0; w < words; w++)
            bits[w] &= before[w];
    }
}

/* The first `words` of the world's bits at the version; false when none is set. */
static bool
read_bits(const BlockView *b, u64 version, u64 *bits, u32 words)
{
    const u64 *shared = observe_ptr(&b->slot->pub_bits);
    u64 any = 0;
    if (!shared)
        return false;
    for (u32 w = 0; w < words; w++)
        any |= bits[w] = observe_u64(&shared[w]);
    if (!any)
        return false;
    if (observe_u64(&b->slot->pub_newest_delete) > version)
        take_back_newer(observe_ptr(&b->slot->pub_list), version, bits, words);
    return true;
}

bool
block_deleted(const BlockView *b, u64 version, u64 *bits, u32 *ret_count)
{
    u32 words = (b->row_count + 63) / 64;
    bool any = read_bits(b, version, bits, words);
    if (UNLIKELY(b->table->own != NULL)) {
        if (!any)
            memset(bits, 0, words * sizeof *bits);
        any |= own_add_deleted(b->table->own, b->block_id, b->row_count, bits);
    }
    if (!any || !words)
        return false;
    if (b->row_count % 64)
        bits[words - 1] &= ((u64)1 << (b->row_count % 64)) - 1;
    u32 count = 0;
    for (u32 w = 0; w < words; w++)
        count += (u32)__builtin_popcountll(bits[w]);
    if (!count)
        return false;
    memset(bits + words, 0, (BLOCK_WORDS - words) * sizeof *bits);
    *ret_count = count;
    return true;
}

/* From the newest on, the first entry that concerns the row is the one that deleted it: bulk deletes after that one have its bit. */
bool
delete_list_newer(const DeleteListShm *l, u32 offset, u64 version, u64 *ret_deleted_version)
{
    for (u32 n = l ? observe_u32(&l->pub_count) : 0; n-- > 0;) {
        u64 v = relaxed_u64(&l->entries[n].version), what = relaxed_u64(&l->entries[n].what);
        if (v <= version)
            return false;
        if (what == offset || (what >= BLOCK_ROWS && !(((const u64 *)(uintptr_t)what)[offset >> 6] >> (offset & 63) & 1))) {
            *ret_deleted_version = v;
            return true;
        }
    }
    return false;
}

bool
row_deleted(const BlockView *b, u32 offset, u64 version)
{
    const TableOwn *own = b->table->own;
    if (UNLIKELY(own != NULL)) {
        if (own_row_deleted(own, ROW_ID(b->block_id, offset)))
            return true;
        if (own_find_block(own, b->block_id))
            return false;
    }
    const u64 *shared = observe_ptr(&b->slot->pub_bits);
    if (!shared || !(observe_u64(&shared[offset >> 6]) >> (offset & 63) & 1))
        return false;
    if (observe_u64(&b->slot->pub_newest_delete) <= version)
        return true;
    u64 deleted_version;
    return !delete_list_newer(observe_ptr(&b->slot->pub_list), offset, version, &deleted_version);
}
