/* rowset.c: bitmaps by block, found by open addressing. Memory of the heap; failing to get it changes nothing. */
#include "walwriter/rowset.h"

#include "common/base/hash.h"

#include <stdlib.h>

static RowSetBlock *
find_place(RowSetBlock *places, u32 place_count, u64 block)
{
    u32 at = (u32)hash_u64(block) & (place_count - 1);
    while (places[at].bits && places[at].block != block)
        at = (at + 1) & (place_count - 1);
    return &places[at];
}

static bool
grow(RowSet *s)
{
    u32 count = s->place_count ? s->place_count * 2 : 8;
    RowSetBlock *places = calloc(count, sizeof *places);
    if (!places)
        return false;
    for (u32 i = 0; i < s->place_count; i++)
        if (s->places[i].bits)
            *find_place(places, count, s->places[i].block) = s->places[i];
    free(s->places);
    s->places = places;
    s->place_count = count;
    return true;
}

bool
rowset_add(RowSet *s, RowId id, bool *ret_added)
{
    if (s->block_count * 4 >= s->place_count * 3 && !grow(s))
        return false;
    RowSetBlock *b = find_place(s->places, s->place_count, ROW_BLOCK(id));
    if (!b->bits) {
        u64 *bits = calloc(BLOCK_WORDS, sizeof(u64));
        if (!bits)
            return false;
        *b = (RowSetBlock){ROW_BLOCK(id), bits, 0};
        s->block_count++;
    }
    u64 *word = &b->bits[ROW_OFFSET(id) / 64], bit = 1ull << (ROW_OFFSET(id) % 64);
    *ret_added = !(*word & bit);
    *word |= bit;
    b->count += *ret_added;
    s->row_count += *ret_added;
    return true;
}

bool
rowset_move(RowSet *to, RowSet *from)
{
    if (to->block_count == 0) {
        rowset_clear(to);
        *to = *from;
        *from = (RowSet){0};
        return true;
    }
    while ((to->block_count + from->block_count) * 4 >= to->place_count * 3)
        if (!grow(to))
            return false;
    for (u32 i = 0; i < from->place_count; i++) {
        RowSetBlock *f = &from->places[i];
        if (!f->bits)
            continue;
        RowSetBlock *t = find_place(to->places, to->place_count, f->block);
        if (!t->bits) {
            *t = *f;
            f->bits = NULL;
            to->block_count++;
            to->row_count += t->count;
            continue;
        }
        u32 count = 0;
        for (u32 w = 0; w < BLOCK_WORDS; w++) {
            t->bits[w] |= f->bits[w];
            count += (u32)__builtin_popcountll(t->bits[w]);
        }
        to->row_count += count - t->count;
        t->count = count;
    }
    rowset_clear(from);
    return true;
}

bool
rowset_has_block(const RowSet *s, u64 block)
{
    return s->place_count && find_place(s->places, s->place_count, block)->bits;
}

bool
rowset_has(const RowSet *s, RowId id)
{
    if (s->block_count == 0)
        return false;
    const RowSetBlock *b = find_place(s->places, s->place_count, ROW_BLOCK(id));
    return b->bits && (b->bits[ROW_OFFSET(id) / 64] >> (ROW_OFFSET(id) % 64) & 1);
}

u32
rowset_block(const RowSet *s, u32 place, RowId *to)
{
    const RowSetBlock *b = &s->places[place];
    u32 n = 0;
    for (u32 w = 0; b->bits && w < BLOCK_WORDS; w++)
        for (u64 word = b->bits[w]; word; word &= word - 1)
            to[n++] = ROW_ID(b->block, w * 64 + (u32)__builtin_ctzll(word));
    return n;
}

bool
rowset_within(const RowSet *a, const RowSet *b, RowId *ret_missing)
{
    for (u32 i = 0; i < a->place_count; i++) {
        const RowSetBlock *x = &a->places[i];
        const RowSetBlock *y = x->bits && b->block_count ? find_place(b->places, b->place_count, x->block) : NULL;
        for (u32 w = 0; x->bits && w < BLOCK_WORDS; w++) {
            u64 missing = x->bits[w] & ~(y && y->bits ? y->bits[w] : 0);
            if (missing) {
                *ret_missing = ROW_ID(x->block, w * 64 + (u32)__builtin_ctzll(missing));
                return false;
            }
        }
    }
    return true;
}

u64
rowset_bytes(const RowSet *s)
{
    return (u64)s->block_count * BLOCK_WORDS * 8 + (u64)s->place_count * sizeof(RowSetBlock);
}

void
rowset_clear(RowSet *s)
{
    for (u32 i = 0; i < s->place_count; i++)
        free(s->places[i].bits);
    free(s->places);
    *s = (RowSet){0};
}
