/*
 * walk.c
 *    Every piece of memory that is reachable, exactly as it was allocated: one list for dropping, for a successor's takeover and for accounting.
 */
#include "common/store/shape.h"

void
walk_block(const BlockShm *b, PieceVisit each, void *ctx)
{
    for (u32 c = 0; c < b->column_count; c++) {
        const SliceShm *s = &b->slices[c];
        if (s->data)
            each(ctx, s->data, (u64)b->capacity * s->width);
        if (s->nulls)
            each(ctx, s->nulls, b->sealed ? BITMAP_BYTES : b->capacity);
    }
    each(ctx, b, block_bytes(b->column_count));
}

void
walk_slot(const SlotDirShm *s, PieceVisit each, void *ctx)
{
    if (s->pub_block)
        walk_block(s->pub_block, each, ctx);
    if (s->pub_bits)
        each(ctx, s->pub_bits, BITMAP_BYTES);
    if (s->pub_list) {
        for (u32 i = 0; i < s->pub_list->pub_count; i++)
            if (s->pub_list->entries[i].what >= BLOCK_ROWS)
                each(ctx, (const void *)(uintptr_t)s->pub_list->entries[i].what, BITMAP_BYTES);
        each(ctx, s->pub_list, list_bytes(s->pub_list->capacity));
    }
    if (s->pub_map)
        each(ctx, s->pub_map, row_map_bytes(s->pub_map->word_count));
    each(ctx, s, sizeof *s);
}

static void
walk_index(const IndexShm *x, PieceVisit each, void *ctx)
{
    const IndexDirShm *d = x->pub_dir;
    for (u64 i = 0; i < (u64)1 << d->depth;) {
        const IndexSegmentShm *s = d->segments[i];
        each(ctx, s, segment_bytes(s->line_bits));
        i += (u64)1 << (d->depth - s->depth);
    }
    each(ctx, d, index_dir_bytes(d->depth));
}

void
walk_dict(const DictShm *d, PieceVisit each, void *ctx)
{
    for (u32 c = 0; c < DICT_DOUBLINGS && d->pub_small[c]; c++)
        each(ctx, d->pub_small[c], ((u64)DICT_FIRST << c) * sizeof(DictEntryShm));
    for (u32 c = 0; c < d->more_count; c++)
        each(ctx, d->pub_more[c], (u64)DICT_CHUNK * sizeof(DictEntryShm));
    if (d->pub_more)
        each(ctx, d->pub_more, (u64)d->more_capacity * sizeof *d->pub_more);
    for (const DictBytesShm *b = d->bytes; b;) {
        const DictBytesShm *older = b->older;
        each(ctx, b, sizeof *b + b->size);
        b = older;
    }
    walk_index(&d->index, each, ctx);
    each(ctx, d, sizeof *d);
}

static void
walk_dir(const DirShm *d, PieceVisit each, void *ctx)
{
    for (u32 c = 0; c < d->chunk_count; c++) {
        if (!d->pub_chunks[c])
            continue;
        for (u32 i = 0; i < dir_chunk_size(c); i++)
            if (d->pub_chunks[c][i])
                walk_slot(d->pub_chunks[c][i], each, ctx);
        each(ctx, d->pub_chunks[c], dir_chunk_size(c) * sizeof(SlotDirShm *));
    }
    if (d->pub_chunks)
        each(ctx, d->pub_chunks, d->chunk_capacity * sizeof *d->pub_chunks);
    each(ctx, d, sizeof *d);
}

void
walk_table(const TableShm *t, PieceVisit each, void *ctx)
{
    walk_dir(t->dir, each, ctx);
    if (t->dicts) {
        for (u32 c = 0; c < t->def->column_count; c++)
            for (const DictShm *d = t->dicts[c], *older; d; d = older) {
                older = d->older;
                walk_dict(d, each, ctx);
            }
        each(ctx, t->dicts, t->def->column_count * sizeof *t->dicts);
    }
    if (t->keys) {
        for (u32 k = 0; k < t->def->key_count; k++)
            walk_index(&t->keys[k], each, ctx);
        each(ctx, t->keys, t->def->key_count * sizeof *t->keys);
    }
    each(ctx, t->def, t->def_bytes);
    each(ctx, t, sizeof *t);
}

static void
walk_tables(const TreeNode *n, u32 level, PieceVisit each, void *ctx)
{
    for (u32 i = 0; i < TREE_FANOUT; i++) {
        if (!n->child[i])
            continue;
        if (level)
            walk_tables((const TreeNode *)(uintptr_t)n->child[i], level - 1, each, ctx);
        else
            walk_table((const TableShm *)(uintptr_t)n->child[i], each, ctx);
    }
    each(ctx, n, sizeof *n);
}

static void
walk_names(const TreeNode *n, PieceVisit each, void *ctx)
{
    for (u32 i = 0; i < TREE_FANOUT; i++)
        if (n->child[i] && !(n->child[i] & 1))
            walk_names((const TreeNode *)(uintptr_t)n->child[i], each, ctx);
    each(ctx, n, sizeof *n);
}

void
walk_root(const Root *root, PieceVisit each, void *ctx)
{
    if (root->tables)
        walk_tables(root->tables, root->table_levels - 1, each, ctx);
    if (root->names)
        walk_names(root->names, each, ctx);
    if (root->roles) {
        for (u32 i = 0; i < root->roles->count; i++)
            each(ctx, root->roles->roles[i], role_bytes(root->roles->roles[i]));
        for (u32 i = 0; i < root->roles->rights_count; i++)
            each(ctx, root->roles->rights[i], rights_bytes(root->roles->rights[i]));
        each(ctx, root->roles, roles_bytes(root->roles));
    }
    each(ctx, root, sizeof *root);
}
