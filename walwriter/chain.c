/*
 * chain.c
 *    A chain: the rows and deletes of a transaction that is logged in more than one frame.
 *
 * Its rows go into blocks of its own, filled and indexed while staging and visible to nobody (world_take_block); the deletes are
 * remembered as bitmaps. COMMIT applies the deletes at its version and links the blocks; without COMMIT the blocks are dropped.
 * The living loop and recovery use the same functions (I4).
 * Fails: no memory, reported; chain_commit and chain_drop cannot fail.
 */
#include "walwriter/writer.h"

#include <stdlib.h>

Chain *
chain_new(u64 id)
{
    Chain *c = calloc(1, sizeof *c);
    if (c)
        c->id = id;
    return c;
}

ChainTable *
chain_table(Chain *c, u32 table_id)
{
    for (u32 i = 0; i < c->table_count; i++)
        if (c->tables[i].table_id == table_id)
            return &c->tables[i];
    ChainTable *tables = realloc(c->tables, (c->table_count + 1) * sizeof *tables);
    if (!tables)
        return NULL;
    c->tables = tables;
    tables[c->table_count] = (ChainTable){.table_id = table_id};
    return &tables[c->table_count++];
}

static bool
out_of_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

static bool
add_block(ChainTable *t, u64 block, Error *err)
{
    if (t->block_count == t->block_capacity) {
        u32 capacity = MAX(t->block_capacity * 2, 8u);
        u64 *blocks = realloc(t->blocks, (size_t)capacity * sizeof *blocks);
        if (!blocks)
            return out_of_memory(err);
        t->blocks = blocks;
        t->block_capacity = capacity;
    }
    t->blocks[t->block_count++] = block;
    t->filled = 0;
    return true;
}

static bool
next_block(World *w, ChainTable *t, Error *err)
{
    u64 block;
    return world_take_block(w, t->table_id, &block, err) && add_block(t, block, err);
}

bool
chain_take_rows(World *w, Chain *c, PartView *p, u8 *bytes, Error *err)
{
    ChainTable *t = chain_table(c, p->table_id);
    if (!t)
        return out_of_memory(err);
    if ((t->block_count == 0 || t->filled == BLOCK_ROWS) && !next_block(w, t, err))
        return false;
    p->first_count = MIN(p->row_count, BLOCK_ROWS - t->filled);
    p->first_row = ROW_ID(t->blocks[t->block_count - 1], t->filled);
    p->second_row = 0;
    t->filled += p->first_count;
    if (p->first_count < p->row_count) {
        if (!next_block(w, t, err))
            return false;
        p->second_row = ROW_ID(t->blocks[t->block_count - 1], 0);
        t->filled = p->row_count - p->first_count;
    }
    part_set_rows(bytes, p->first_count, p->first_row, p->second_row);
    return true;
}

static bool
adopt_block(World *w, Chain *c, u32 table_id, u64 block, Error *err)
{
    ChainTable *t = chain_table(c, table_id);
    if (!t)
        return out_of_memory(err);
    if (t->block_count && t->blocks[t->block_count - 1] == block)
        return true;
    return world_adopt_block(w, table_id, block, err) && add_block(t, block, err);
}

bool
chain_adopt_rows(World *w, Chain *c, const PartView *p, Error *err)
{
    return adopt_block(w, c, p->table_id, ROW_BLOCK(p->first_row), err) &&
           (p->second_row == 0 || adopt_block(w, c, p->table_id, ROW_BLOCK(p->second_row), err));
}

bool
chain_note_deletes(Chain *c, const PartView *p, bool *ret_repeated, Error *err)
{
    ChainTable *t = chain_table(c, p->table_id);
    bool added;
    *ret_repeated = false;
    if (!t)
        return out_of_memory(err);
    for (u32 i = 0; i < p->row_count; i++) {
        if (!rowset_add(&t->deletes, p->old_rows[i], &added))
            return out_of_memory(err);
        *ret_repeated |= !added;
    }
    return true;
}

bool
chain_has_block(const Chain *c, u32 table_id, u64 block)
{
    for (u32 i = 0; i < c->table_count; i++) {
        const ChainTable *t = &c->tables[i];
        if (t->table_id != table_id || t->block_count == 0 || block < t->blocks[0]) /* ids grow */
            continue;
        for (u32 b = t->block_count; b-- > 0;)
            if (t->blocks[b] == block)
                return true;
    }
    return false;
}

static void
free_chain(Chain *c)
{
    for (u32 i = 0; i < c->table_count; i++) {
        rowset_clear(&c->tables[i].deletes);
        rowset_clear(&c->tables[i].clashes);
        free(c->tables[i].blocks);
    }
    free(c->tables);
    free(c);
}

/* A block's rows at once: cut elsewhere, a long run that was promised one entry (delete_write.c) would ask for one a row. */
static void
apply_deletes(World *w, const ChainTable *t, u64 version)
{
    static u64 rows[BLOCK_ROWS];
    for (u32 place = 0; place < t->deletes.place_count; place++) {
        u32 n = rowset_block(&t->deletes, place, rows);
        PartView p = {.kind = PART_DELETE, .table_id = t->table_id, .row_count = n, .old_rows = rows};
        if (n)
            world_apply_deletes(w, &p, version);
    }
}

void
chain_commit(World *w, Chain *c, u64 version)
{
    for (u32 i = 0; i < c->table_count; i++) {
        apply_deletes(w, &c->tables[i], version);
        for (u32 b = 0; b < c->tables[i].block_count; b++)
            world_link_block(w, c->tables[i].table_id, c->tables[i].blocks[b]);
    }
    free_chain(c);
}

void
chain_drop(World *w, Chain *c)
{
    for (u32 i = 0; i < c->table_count; i++)
        for (u32 b = 0; b < c->tables[i].block_count; b++)
            world_drop_block(w, c->tables[i].table_id, c->tables[i].blocks[b]);
    free_chain(c);
}
