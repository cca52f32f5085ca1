/*
 * chain.c
 *    A chain: the rows and deletes of a transaction that is logged in more than one frame.
 *
 * Its rows go into blocks of its own, filled and indexed while staging and visible to nobody but their owner (world_take_block); the deletes are
 * remembered as bitmaps. COMMIT applies the deletes at its version, those of own rows too, and links the blocks; without COMMIT the blocks are dropped.
 *
 * Deletes, clashes of keys and marks of how far blocks were filled stand in layers, so that a statement or what came after a savepoint can be
 * taken back. A statement begins a layer; layers that no savepoint separates are made one when the next statement begins, so there is one for each live
 * savepoint and one for the running statement. What they know comes from the CHAIN record, so recovery does the same.
 *
 * A TRUNCATE or DROP of the transaction begins a new generation of the table: what it has staged there before is dead, in a TableWork that the new one
 * hides (ddl_stage.c), and is not looked at unless the change is taken back.
 * Long texts come in pieces before the part that names them and are gone with it, with its statement, or when that is taken back.
 * The living loop and recovery use the same functions (I4).
 * Fails: no memory, reported; chain_commit, chain_undo and chain_drop cannot fail.
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

static u32
generation_of(const Chain *c, u32 table_id)
{
    u32 n = 0;
    for (u32 i = 0; i < c->emptied_count; i++)
        n += c->emptied[i].table_id == table_id;
    return n;
}

static ChainTable *
find_generation(const Chain *c, u32 table_id, u32 generation)
{
    for (u32 i = 0; i < c->table_count; i++)
        if (c->tables[i].table_id == table_id && c->tables[i].generation == generation)
            return &c->tables[i];
    return NULL;
}

static ChainTable *
find_table(const Chain *c, u32 table_id)
{
    return find_generation(c, table_id, generation_of(c, table_id));
}

static ChainTable *
chain_table(Chain *c, u32 table_id)
{
    ChainTable *t = find_table(c, table_id);
    if (t)
        return t;
    if (!tx_grow(&c->tables, &c->table_capacity, c->table_count + 1, sizeof *c->tables))
        return NULL;
    c->tables[c->table_count] = (ChainTable){.table_id = table_id, .generation = generation_of(c, table_id)};
    return &c->tables[c->table_count++];
}

static bool
out_of_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

bool
chain_empty(Chain *c, u32 table_id, u32 ordinal, Error *err)
{
    if (!tx_grow(&c->emptied, &c->emptied_capacity, c->emptied_count + 1, sizeof *c->emptied))
        return out_of_memory(err);
    c->emptied[c->emptied_count++] = (Emptied){table_id, ordinal};
    return true;
}

void
chain_unempty(Chain *c, u32 ordinal)
{
    while (c->emptied_count && c->emptied[c->emptied_count - 1].ordinal > ordinal)
        c->emptied_count--;
}

/* ---- layers ---- */

static LayerTable *
find_in_layer(const Layer *l, u32 table_id, u32 generation)
{
    for (u32 i = 0; i < l->table_count; i++)
        if (l->tables[i].table_id == table_id && l->tables[i].generation == generation)
            return &l->tables[i];
    return NULL;
}

/* Of the newest layer: marked with how far the table's blocks are filled when the layer meets it first. */
LayerTable *
chain_layer_table(Chain *c, u32 table_id)
{
    Layer *l = &c->layers[c->layer_count - 1];
    u32 generation = generation_of(c, table_id);
    LayerTable *found = find_in_layer(l, table_id, generation);
    if (found)
        return found;
    if (!tx_grow(&l->tables, &l->table_capacity, l->table_count + 1, sizeof *l->tables))
        return NULL;
    const ChainTable *t = find_table(c, table_id);
    l->tables[l->table_count] = (LayerTable){.table_id = table_id, .generation = generation, .block_count = t ? t->block_count : 0,
                                             .filled = t ? t->filled : 0};
    return &l->tables[l->table_count++];
}

static void
free_layer(Layer *l)
{
    for (u32 i = 0; i < l->table_count; i++) {
        rowset_clear(&l->tables[i].deletes);
        rowset_clear(&l->tables[i].clashes);
    }
    free(l->tables);
}

/* The newest layer becomes part of the one below. false: no memory, nothing changed that matters. */
static bool
merge_newest(Chain *c)
{
    Layer *from = &c->layers[c->layer_count - 1], *to = from - 1;
    if (!tx_grow(&to->tables, &to->table_capacity, to->table_count + from->table_count, sizeof *to->tables))
        return false;
    for (u32 i = 0; i < from->table_count; i++) {
        LayerTable *f = &from->tables[i], *t = find_in_layer(to, f->table_id, f->generation);
        if (!t) {
            to->tables[to->table_count++] = *f;
            f->deletes = f->clashes = (RowSet){0}; /* moved */
        } else if (!rowset_move(&t->deletes, &f->deletes)) {
            return false;
        }
    }
    free_layer(from);
    c->layer_count--;
    return true;
}

bool
chain_begins(const Chain *c, u32 statement)
{
    return c->layer_count == 0 || c->layers[c->layer_count - 1].floor < statement;
}

bool
chain_begin_statement(World *w, Chain *c, u32 statement, u32 savepoint, Error *err)
{
    if (!chain_begins(c, statement))
        return true;
    chain_drop_texts(w, c);
    while (c->layer_count > 1 && c->layers[c->layer_count - 2].floor >= savepoint)
        if (!merge_newest(c))
            return out_of_memory(err);
    if (!tx_grow(&c->layers, &c->layer_capacity, c->layer_count + 1, sizeof *c->layers))
        return out_of_memory(err);
    c->layers[c->layer_count++] = (Layer){.floor = statement, .rows = c->rows};
    return true;
}

/* ---- long texts ---- */

bool
chain_add_text(World *w, Chain *c, const TextPiece *t, Error *err)
{
    LongText *l = c->long_count ? &c->longs[c->long_count - 1] : NULL;
    bool whole = !l || l->have == l->len;
    if (t->number == c->long_count + 1 && t->offset == 0 && whole) {
        if (!tx_grow(&c->longs, &c->long_capacity, c->long_count + 1, sizeof *c->longs))
            return out_of_memory(err);
        l = &c->longs[c->long_count];
        if (!world_text_begin(w, t, l, err))
            return false;
        c->long_count++;
    } else if (t->number != c->long_count || whole || t->offset != l->have || t->whole != l->len || t->table_id != l->table_id ||
               t->column != l->column) {
        return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: a piece of a text does not follow the one before");
    }
    world_text_add(l, t);
    return true;
}

void
chain_drop_texts(World *w, Chain *c)
{
    while (c->long_count)
        world_text_drop(w, &c->longs[--c->long_count]);
}

/* ---- rows ---- */

static bool
add_block(ChainTable *t, u64 block, Error *err)
{
    if (!tx_grow(&t->blocks, &t->block_capacity, t->block_count + 1, sizeof *t->blocks))
        return out_of_memory(err);
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
    if (!t || !chain_layer_table(c, p->table_id))
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
adopt_rows(World *w, Chain *c, u32 table_id, RowId first, u32 count, Error *err)
{
    ChainTable *t = chain_table(c, table_id);
    u64 block = ROW_BLOCK(first);
    if (!t || !chain_layer_table(c, table_id))
        return out_of_memory(err);
    if ((t->block_count == 0 || t->blocks[t->block_count - 1] != block) && !(world_adopt_block(w, table_id, block, err) && add_block(t, block, err)))
        return false;
    t->filled = ROW_OFFSET(first) + count;
    return true;
}

bool
chain_adopt_rows(World *w, Chain *c, const PartView *p, Error *err)
{
    return adopt_rows(w, c, p->table_id, p->first_row, p->first_count, err) &&
           (p->second_row == 0 || adopt_rows(w, c, p->table_id, p->second_row, p->row_count - p->first_count, err));
}

bool
chain_has_block(const Chain *c, u32 table_id, u64 block)
{
    const ChainTable *t = find_table(c, table_id);
    if (!t || t->block_count == 0 || block < t->blocks[0]) /* ids grow */
        return false;
    for (u32 b = t->block_count; b-- > 0;)
        if (t->blocks[b] == block)
            return true;
    return false;
}

/* ---- deletes ---- */

bool
chain_deletes(const Chain *c, u32 table_id, RowId id)
{
    u32 generation = generation_of(c, table_id);
    for (u32 i = c->layer_count; i-- > 0;) {
        const LayerTable *t = find_in_layer(&c->layers[i], table_id, generation);
        if (t && rowset_has(&t->deletes, id))
            return true;
    }
    return false;
}

bool
chain_touches_block(const Chain *c, u32 table_id, u64 block)
{
    for (u32 i = 0; i < c->layer_count; i++)
        for (u32 t = 0; t < c->layers[i].table_count; t++) {
            const LayerTable *l = &c->layers[i].tables[t];
            if (l->table_id == table_id && (rowset_has_block(&l->deletes, block) || rowset_has_block(&l->clashes, block)))
                return true;
        }
    return false;
}

bool
chain_note_deletes(Chain *c, const PartView *p, bool *ret_repeated, Error *err)
{
    LayerTable *t = chain_layer_table(c, p->table_id);
    bool added;
    *ret_repeated = false;
    if (!t)
        return out_of_memory(err);
    for (u32 i = 0; i < p->row_count; i++) {
        *ret_repeated |= c->layer_count > 1 && chain_deletes(c, p->table_id, p->old_rows[i]);
        if (!rowset_add(&t->deletes, p->old_rows[i], &added))
            return out_of_memory(err);
        *ret_repeated |= !added;
    }
    return true;
}

/* A block's deletes of a layer at once, as a part; false: this place is empty, or the table was emptied since. */
static bool
deletes_of(const Chain *c, const LayerTable *t, u32 place, PartView *ret)
{
    static u64 rows[BLOCK_ROWS];
    u32 n = t->generation == generation_of(c, t->table_id) ? rowset_block(&t->deletes, place, rows) : 0;
    *ret = (PartView){.kind = PART_DELETE, .table_id = t->table_id, .row_count = n, .old_rows = rows};
    return n > 0;
}

/* What chain_reserve has promised, up to a place. */
static void
unreserve(World *w, Chain *c, u32 layer, u32 table, u32 place)
{
    PartView p;
    for (u32 l = 0; l <= layer && l < c->layer_count; l++)
        for (u32 t = 0; t < c->layers[l].table_count && (l < layer || t <= table); t++)
            for (u32 i = 0; i < c->layers[l].tables[t].deletes.place_count && (l < layer || t < table || i < place); i++)
                if (deletes_of(c, &c->layers[l].tables[t], i, &p))
                    world_unreserve_deletes(w, &p);
}

bool
chain_reserve(World *w, Chain *c, Error *err)
{
    PartView p;
    for (u32 l = 0; l < c->layer_count; l++)
        for (u32 t = 0; t < c->layers[l].table_count; t++)
            for (u32 i = 0; i < c->layers[l].tables[t].deletes.place_count; i++)
                if (deletes_of(c, &c->layers[l].tables[t], i, &p) && world_table(w, p.table_id) && !world_reserve_deletes(w, &p, err)) {
                    unreserve(w, c, l, t, i);
                    return false;
                }
    return true;
}

/* ---- ends ---- */

static void
free_chain(World *w, Chain *c)
{
    chain_drop_texts(w, c);
    free(c->longs);
    for (u32 i = 0; i < c->layer_count; i++)
        free_layer(&c->layers[i]);
    for (u32 i = 0; i < c->table_count; i++)
        free(c->tables[i].blocks);
    free(c->layers);
    free(c->tables);
    free(c->emptied);
    free(c->ddl.items);
    free(c);
}

void
chain_commit(World *w, Chain *c, u64 version)
{
    PartView p;
    for (u32 l = 0; l < c->layer_count; l++)
        for (u32 t = 0; t < c->layers[l].table_count; t++)
            for (u32 i = 0; i < c->layers[l].tables[t].deletes.place_count; i++)
                if (deletes_of(c, &c->layers[l].tables[t], i, &p) && world_table(w, p.table_id))
                    world_apply_deletes(w, &p, version);
    for (u32 i = 0; i < c->table_count; i++)
        for (u32 b = 0; b < c->tables[i].block_count && c->tables[i].generation == generation_of(c, c->tables[i].table_id); b++)
            world_link_block(w, c->tables[i].table_id, c->tables[i].blocks[b]);
    free_chain(w, c);
}

static void
drop_blocks(World *w, ChainTable *t, u32 kept)
{
    while (t->block_count > kept)
        world_drop_block(w, t->table_id, t->blocks[--t->block_count]);
}

void
chain_drop_blocks(World *w, const Chain *c)
{
    for (u32 i = 0; i < c->table_count; i++)
        for (u32 b = 0; b < c->tables[i].block_count; b++)
            world_drop_block(w, c->tables[i].table_id, c->tables[i].blocks[b]);
}

/* Blocks of later generations went with their hidden tables before. */
void
chain_drop(World *w, Chain *c)
{
    chain_drop_blocks(w, c);
    free_chain(w, c);
}

u32
chain_undo(World *w, Chain *c, u32 ordinal)
{
    u32 kept = UINT32_MAX;
    chain_unempty(c, ordinal);
    while (c->layer_count && c->layers[c->layer_count - 1].floor >= ordinal) {
        Layer *l = &c->layers[--c->layer_count];
        chain_drop_texts(w, c);
        for (u32 i = 0; i < l->table_count; i++) {
            const LayerTable *mark = &l->tables[i];
            ChainTable *t = find_generation(c, mark->table_id, mark->generation);
            if (!t)
                continue; /* it has deletes only */
            drop_blocks(w, t, mark->block_count);
            t->filled = mark->filled;
            if (t->block_count)
                world_cut_block(w, t->table_id, t->blocks[t->block_count - 1], t->filled);
        }
        kept = l->floor;
        c->rows = l->rows;
        free_layer(l);
    }
    return kept;
}
