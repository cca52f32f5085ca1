/*
 * tree.c
 *    Path copying in the trees of a root, see tree.h.
 *
 * Nothing that a reader can reach is changed: every node on the way is the caller's own before one of its children is set. Writes: the caller's
 * nodes and the root in the caller's hands. Fails: no memory for a node, when the caller says so.
 */
#include "common/store/tree.h"

#include "common/base/hash.h"

bool
tree_set_table(Root *r, u32 table_id, const TableShm *t, TreeNodeOwn own, void *ctx)
{
    u32 index = table_id - FIRST_TABLE_ID;
    while (!r->tables || (u64)index >> (TREE_BITS * r->table_levels)) {
        TreeNode *top = own(ctx, NULL);
        if (!top)
            return false;
        top->child[0] = (u64)(uintptr_t)r->tables;
        r->tables = top;
        r->table_levels++;
    }
    TreeNode *n = own(ctx, r->tables);
    if (!n)
        return false;
    r->tables = n;
    for (u32 level = r->table_levels - 1; level > 0; level--) {
        u64 *child = &n->child[index >> (TREE_BITS * level) & (TREE_FANOUT - 1)];
        n = own(ctx, (const TreeNode *)(uintptr_t)*child);
        if (!n)
            return false;
        *child = (u64)(uintptr_t)n;
    }
    n->child[index & (TREE_FANOUT - 1)] = (u64)(uintptr_t)t;
    return true;
}

static u64
name_bits(Str name, u32 level)
{
    return shape_name_hash(name, level / 10) >> (level % 10 * TREE_BITS) & (TREE_FANOUT - 1);
}

/* A leaf that is in the way moves down until the hashes differ. */
bool
tree_set_name(Root *r, Str name, u32 table_id, TreeNodeOwn own, void *ctx)
{
    u64 leaf = (u64)table_id << 1 | 1;
    TreeNode *n = own(ctx, r->names);
    if (!n)
        return false;
    r->names = n;
    u64 *at = &n->child[name_bits(name, 0)];
    for (u32 level = 1; *at != 0 && *at != leaf; level++) {
        u64 other = *at & 1 ? *at : 0;
        n = own(ctx, other ? NULL : (const TreeNode *)(uintptr_t)*at);
        if (!n)
            return false;
        if (other) {
            const TableDef *d = catalog_table(r, (u32)(other >> 1));
            ensure(d && !str_eq(d->name, name));
            n->child[name_bits(d->name, level)] = other;
        }
        *at = (u64)(uintptr_t)n;
        at = &n->child[name_bits(name, level)];
    }
    *at = leaf;
    return true;
}

bool
tree_remove_name(Root *r, Str name, TreeNodeOwn own, void *ctx)
{
    TreeNode *n = own(ctx, r->names);
    if (!n)
        return false;
    r->names = n;
    for (u32 level = 0;; level++) {
        u64 *child = &n->child[name_bits(name, level)];
        ensure(*child);
        if (*child & 1) {
            *child = 0;
            return true;
        }
        n = own(ctx, (const TreeNode *)(uintptr_t)*child);
        if (!n)
            return false;
        *child = (u64)(uintptr_t)n;
    }
}
