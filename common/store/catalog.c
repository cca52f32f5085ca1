/*
 * catalog.c
 *    Reading the catalog of a root: tables by name and id (roles: roles.c, rights: rights.c).
 *
 * Names stand in a tree of fan-out 64 over the hash of the name, copied along the path by the writer (walwriter/catalog_write.c); its leaves are table
 * ids, which the tree of tables resolves. Ten levels use up a hash; deeper ones take the next round's. Only reads.
 */
#include "common/base/hash.h"
#include "common/store/shape.h"

#include <stdlib.h>

u64
shape_name_hash(Str name, u32 round)
{
    u64 h = hash_bytes(name.ptr, name.len);
    return round ? hash_combine(h, round) : h;
}

const TableDef *
catalog_find_table(const Root *root, Str name)
{
    const TreeNode *n = root->names;
    u64 h = shape_name_hash(name, 0);
    for (u32 level = 0; n; level++) {
        if (level && level % 10 == 0)
            h = shape_name_hash(name, level / 10);
        u64 child = n->child[h >> (level % 10 * TREE_BITS) & (TREE_FANOUT - 1)];
        if (child & 1) {
            const TableDef *d = catalog_table(root, (u32)(child >> 1));
            return d && str_eq(d->name, name) ? d : NULL;
        }
        n = (const TreeNode *)(uintptr_t)child;
    }
    return NULL;
}

const TableDef *
catalog_table(const Root *root, u32 table_id)
{
    const TableShm *t = store_table(root, table_id);
    return t ? t->def : NULL;
}

u64
catalog_version(const Root *root)
{
    return root->catalog_version;
}

static u32
collect_tables(const TreeNode *n, u32 level, const TableDef **to, u32 count)
{
    for (u32 i = 0; i < TREE_FANOUT; i++) {
        if (!n->child[i])
            continue;
        if (level)
            count = collect_tables((const TreeNode *)(uintptr_t)n->child[i], level - 1, to, count);
        else
            to[count++] = ((const TableShm *)(uintptr_t)n->child[i])->def;
    }
    return count;
}

static int
by_name(const void *a, const void *b)
{
    return str_cmp((*(const TableDef *const *)a)->name, (*(const TableDef *const *)b)->name);
}

void
catalog_each_table(const Root *root, bool (*visit)(void *ctx, const TableDef *t), void *ctx)
{
    if (!root->tables || !root->table_count)
        return;
    const TableDef **all = malloc(root->table_count * sizeof *all);
    ensure(all);
    u32 n = collect_tables(root->tables, root->table_levels - 1, all, 0);
    qsort(all, n, sizeof *all, by_name);
    for (u32 i = 0; i < n && visit(ctx, all[i]); i++)
        ;
    free(all);
}
