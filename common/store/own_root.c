/*
 * own_root.c
 *    The private root of a transaction: the published one with the paths to the tables it changed copied.
 *
 * As long as the published root is the same, the private one is kept and only tables that changed since are entered anew; else it is made from the
 * new one. Both trees are copied along the paths (tree.c) into an arena of their own. The catalog version is a private one as long as the
 * transaction has made, dropped or altered tables, so that nothing planned with it is ever used with another catalog; it moves with every change of either.
 *
 * Writes: private memory. Fails: no memory; then the root is made from scratch the next time.
 */
#include "common/store/own_int.h"
#include "common/store/roles.h"
#include "common/store/tree.h"

#define PRIVATE_NODE UINT64_MAX
#define PRIVATE_CATALOG ((u64)1 << 63)

static TreeNode *
own_node(void *arena, const TreeNode *n)
{
    if (n && n->birth == PRIVATE_NODE)
        return (TreeNode *)(uintptr_t)n;
    TreeNode *copy = arena_alloc(arena, sizeof *copy);
    if (!copy)
        return NULL;
    if (n)
        *copy = *n;
    else
        *copy = (TreeNode){0};
    copy->birth = PRIVATE_NODE;
    return copy;
}

static const TableDef *
def_of(const OwnTable *t, const TableShm *base)
{
    return t->def ? t->def : base->def;
}

/* The name that the root has for the table goes, when it is another one or the table is not there. */
static bool
leave_name(Own *o, OwnTable *t)
{
    const TableShm *base = own_table_base(t, o->base.root), *now = store_table(&o->root, t->table_id);
    bool there = base && !t->dropped;
    t->unnamed = there && (!now || !str_eq(now->def->name, def_of(t, base)->name));
    return !now || (there && !t->unnamed) || tree_remove_name(&o->root, now->def->name, own_node, o->root_arena);
}

/* The table as the transaction sees it, into the tree, or out of it. */
static bool
enter_table(Own *o, OwnTable *t)
{
    const TableShm *base = own_table_base(t, o->base.root), *now = store_table(&o->root, t->table_id);
    bool there = base && !t->dropped;
    if (base) {
        t->view = *base;
        t->view.def = def_of(t, base);
        t->view.own = t->own;
    }
    o->root.table_count += there - (now != NULL);
    if (there)
        o->root.next_table_id = MAX(o->root.next_table_id, t->table_id + 1);
    if ((now || there) && !tree_set_table(&o->root, t->table_id, there ? &t->view : NULL, own_node, o->root_arena))
        return false;
    return !t->unnamed || tree_set_name(&o->root, t->view.def->name, t->table_id, own_node, o->root_arena);
}

static void *
own_piece(void *arena, u64 bytes)
{
    return arena_alloc(arena, bytes);
}

/* The root has been made anew. */
static bool
enter_roles(Own *o)
{
    for (u32 i = 0; i < o->role_count; i++)
        if (!(o->root.roles = roles_change(o->root.roles, &o->roles[i].change, own_piece, o->root_arena)))
            return false;
    return true;
}

bool
own_root(Own *o, const Snapshot *published, bool savepoint, Snapshot *ret, Error *err)
{
    *ret = *published;
    if (!own_any(o))
        return true;
    if (!own_show_noted(o, published->root, savepoint, err))
        return false;
    bool anew = o->base.root != published->root || o->base.epoch != published->epoch;
    if (anew) {
        arena_reset(o->root_arena);
        o->base = *published;
        o->root = *published->root;
        o->root.published = published->root;
        if (!enter_roles(o)) {
            o->base.root = NULL;
            return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
        }
    }
    /* Names that go first: another table may have got one of them. */
    for (u32 pass = 0; pass < 2; pass++)
        for (u32 i = 0; i < o->table_count; i++) {
            OwnTable *t = o->tables[i];
            if (!anew && !t->stale)
                continue;
            if (!(pass == 0 ? leave_name : enter_table)(o, t)) {
                o->base.root = NULL;
                return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
            }
            t->stale &= pass == 0;
        }
    if (o->catalog_changes + o->role_count > 0 && (o->catalog_moved || o->base_catalog_version != published->root->catalog_version))
        o->root.catalog_version = PRIVATE_CATALOG | ++o->serial;
    o->base_catalog_version = published->root->catalog_version;
    o->catalog_moved = false;
    ret->root = &o->root;
    return true;
}
