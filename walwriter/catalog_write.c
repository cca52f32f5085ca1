/*
 * catalog_write.c
 *    Tables, roles and rights in the root being made: definitions copied into the world, both trees copied along the path.
 *
 * A node that this publish made already (birth) is changed in place, any other is copied and the old one retired. Nothing is visible before
 * world_publish. A definition is one piece: TableDef, columns, keys, checks, rights, texts.
 *
 * Tables of open transactions are hidden: they have a TableWork under their id and stand in no tree. Whoever else names them is turned away
 * by the judge; of a table that was truncated all others see what its TableWork replaces, which nobody can change meanwhile (its lock).
 *
 * Fails: world_reserve_catalog; the changes themselves take from what it promised.
 */
#include "common/store/tree.h"
#include "common/store/roles.h"
#include "walwriter/secrets.h"
#include "walwriter/world_int.h"

#include <stdlib.h>

/* ---- trees ---- */

static TreeNode *
own_node(void *world, const TreeNode *n)
{
    World *w = world;
    u64 birth = w->head->pub_epoch + 1;
    if (n && n->birth == birth)
        return (TreeNode *)(uintptr_t)n;
    TreeNode *copy = world_must(w, sizeof *copy);
    if (n) {
        *copy = *n;
        world_retire_born(w, n, sizeof *n, n->birth);
    } else {
        *copy = (TreeNode){0};
    }
    copy->birth = birth;
    return copy;
}

void
catalog_set_table(World *w, u32 table_id, const TableShm *t)
{
    ensure(tree_set_table(&w->next, table_id, t, own_node, w));
}

/* ---- definitions ---- */

static char *
copy_str(char *at, Str from, Str *ret)
{
    if (from.len)
        memcpy(at, from.ptr, from.len);
    *ret = (Str){at, from.len};
    return at + from.len;
}

static u64
def_bytes(const TableDef *d, u32 acl_count)
{
    u64 n = sizeof *d + d->column_count * sizeof(ColumnDef) + d->key_count * sizeof(KeyDef) + acl_count * sizeof(AclItem) +
            d->check_count * sizeof(CheckDef) + d->name.len;
    for (u32 c = 0; c < d->column_count; c++)
        n += d->columns[c].name.len + d->columns[c].default_text.len;
    for (u32 k = 0; k < d->key_count; k++)
        n += d->keys[k].name.len;
    for (u32 i = 0; i < d->check_count; i++)
        n += d->checks[i].column_count * sizeof(u16) + d->checks[i].name.len + d->checks[i].text.len;
    return n;
}

/* A copy in one piece, with these rights; d has room for def_bytes. */
static TableDef *
fill_def(TableDef *d, const TableDef *from, const AclItem *acl, u32 acl_count)
{
    *d = *from;
    ColumnDef *columns = (ColumnDef *)(d + 1);
    KeyDef *keys = (KeyDef *)(columns + d->column_count);
    CheckDef *checks = (CheckDef *)(keys + d->key_count);
    AclItem *items = (AclItem *)(checks + d->check_count);
    u16 *numbers = (u16 *)(items + acl_count);
    memcpy(columns, from->columns, d->column_count * sizeof *columns);
    if (d->key_count)
        memcpy(keys, from->keys, d->key_count * sizeof *keys);
    if (acl_count)
        memcpy(items, acl, acl_count * sizeof *items);
    for (u32 i = 0; i < d->check_count; i++) {
        checks[i] = from->checks[i];
        checks[i].columns = numbers;
        if (checks[i].column_count)
            memcpy(numbers, from->checks[i].columns, checks[i].column_count * sizeof *numbers);
        numbers += checks[i].column_count;
    }
    char *text = (char *)numbers;
    d->columns = columns;
    d->keys = keys;
    d->checks = checks;
    d->acl = items;
    d->acl_count = acl_count;
    text = copy_str(text, from->name, &d->name);
    for (u32 c = 0; c < d->column_count; c++) {
        text = copy_str(text, from->columns[c].name, &columns[c].name);
        text = copy_str(text, from->columns[c].default_text, &columns[c].default_text);
    }
    for (u32 k = 0; k < d->key_count; k++)
        text = copy_str(text, from->keys[k].name, &keys[k].name);
    for (u32 i = 0; i < d->check_count; i++) {
        text = copy_str(text, from->checks[i].name, &checks[i].name);
        text = copy_str(text, from->checks[i].text, &checks[i].text);
    }
    return d;
}

static TableDef *
copy_def(World *w, const TableDef *from, const AclItem *acl, u32 acl_count)
{
    return fill_def(world_must(w, def_bytes(from, acl_count)), from, acl, acl_count);
}

/* ---- tables ---- */

bool
world_reserve_catalog(World *w, u64 bytes, Error *err)
{
    if (bytes == 0)
        return alloc_room_beyond(w->alloc, KEEP_EXTENTS) || world_full(err);
    w->promised_catalog_bytes += bytes;
    if (world_has_room(w, err))
        return true;
    w->promised_catalog_bytes -= bytes;
    return false;
}

void
world_unreserve_catalog(World *w, u64 bytes)
{
    ensure(bytes <= w->promised_catalog_bytes);
    w->promised_catalog_bytes -= bytes;
}


u32
world_next_table_id(World *w)
{
    return w->next.next_table_id++;
}

u32
world_next_role_id(World *w)
{
    return w->next.next_role_id++;
}

/* Directory, dictionaries and keys of a table without rows. Block 0 is never used, so that row id 0 means none. */
static void
make_empty(World *w, TableShm *t, u64 next_block)
{
    const TableDef *def = t->def;
    *t = (TableShm){.def = def, .def_bytes = t->def_bytes, .epoch = w->head->pub_epoch + 1, .open_block = NO_BLOCK};
    t->dir = world_must(w, sizeof *t->dir);
    *t->dir = (DirShm){.next_block = next_block};
    bool any_text = false;
    for (u32 c = 0; c < def->column_count; c++)
        any_text |= def->columns[c].phys == PHYS_STR;
    if (any_text) {
        DictShm **dicts = world_must(w, def->column_count * sizeof *dicts);
        for (u32 c = 0; c < def->column_count; c++)
            dicts[c] = def->columns[c].phys == PHYS_STR ? dict_new(w, c) : NULL;
        t->dicts = dicts;
    }
    if (def->key_count) {
        t->keys = world_must(w, def->key_count * sizeof *t->keys);
        for (u32 k = 0; k < def->key_count; k++)
            index_init(w, &t->keys[k], 0);
    }
}

static void
retire_piece(void *ctx, const void *piece, u64 bytes)
{
    world_retire(ctx, piece, bytes);
}

static void
retire_table(World *w, TableWork *tw)
{
    world_forget_table_lists(w, tw);
    compact_forget_table(w, tw);
    block_forget_all(w, tw);
    walk_table(tw->t, retire_piece, w);
}

static const TableShm *
hide(World *w, const TableDef *def, u64 next_block, u32 owner)
{
    TableShm *t = world_must(w, sizeof *t);
    *t = (TableShm){0};
    t->def = copy_def(w, def, def->acl, def->acl_count);
    t->def_bytes = (u32)def_bytes(def, def->acl_count);
    make_empty(w, t, next_block);
    TableWork *tw = world_add_work(w, t);
    tw->hidden_by = owner + 1;
    tw->unnamed = true;
    return t;
}

const TableShm *
world_hide_created(World *w, const TableDef *def, u32 owner)
{
    ensure(!world_work(w, def->table_id) && def->table_id >= FIRST_TABLE_ID && def->column_count <= MAX_COLUMNS);
    w->next.next_table_id = MAX(w->next.next_table_id, def->table_id + 1);
    return hide(w, def, 1, owner);
}

/* New and empty beside the old one, which readers keep; block ids go on. */
const TableShm *
world_hide_emptied(World *w, u32 table_id, const TableDef *def, u32 owner)
{
    const TableWork *old = world_work(w, table_id);
    ensure(old);
    return hide(w, def ? def : world_newest_def(old), old->t->dir->next_block, owner);
}

const TableDef *
world_newest_def(const TableWork *tw)
{
    return tw->altered ? tw->altered : tw->t->def;
}

const TableDef *
world_table_def(World *w, u32 table_id, u32 owner)
{
    const TableWork *tw = world_work(w, table_id);
    bool others = tw && tw->hidden_by && tw->hidden_by != owner + 1;
    while (others && tw->replaces)
        tw = tw->replaces;
    if (!tw)
        return NULL;
    return tw->altered_by == owner + 1 ? world_newest_def(tw) : tw->t->def;
}

TableDef *
world_copy_def(const TableDef *def)
{
    TableDef *d = malloc(def_bytes(def, def->acl_count));
    return d ? fill_def(d, def, def->acl, def->acl_count) : NULL;
}

const TableDef *
world_set_altered(World *w, u32 table_id, const TableDef *def, u32 owner)
{
    TableWork *tw = world_work(w, table_id);
    if (!tw)
        return NULL;
    const TableDef *before = tw->altered;
    tw->altered = def;
    tw->altered_by = def ? owner + 1 : 0;
    return before;
}

TableWork *
world_set_aside(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    ensure(tw && tw->hidden_by);
    w->tables[table_id - FIRST_TABLE_ID] = tw->replaces;
    tw->replaces = NULL;
    return tw;
}

void
world_bring_back(World *w, TableWork *tw)
{
    TableWork **place = &w->tables[tw->table_id - FIRST_TABLE_ID];
    if (*place) /* its block ids went on meanwhile */
        tw->t->dir->next_block = MAX(tw->t->dir->next_block, (*place)->t->dir->next_block);
    tw->replaces = *place;
    *place = tw;
}

void
world_show_table(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    bool known = false;
    const TableDef *rights = NULL; /* others may have changed them meanwhile: TRUNCATE does not keep them from it */
    if (!tw || !tw->hidden_by)
        return;
    while (tw->replaces) {
        TableWork *under = tw->replaces;
        known |= !under->hidden_by;
        if (!under->hidden_by && under->t->def->acl_version > tw->t->def->acl_version)
            rights = under->t->def;
        tw->unnamed = under->unnamed;
        tw->replaces = under->replaces;
        retire_table(w, under);
        world_remove_work(w, under, tw);
    }
    tw->hidden_by = 0;
    catalog_set_table(w, table_id, tw->t);
    if (rights)
        world_set_acl(w, rights);
    w->next.table_count += !known;
    w->next.catalog_version++;
}

void
world_take_name(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    while (tw && tw->replaces)
        tw = tw->replaces;
    if (!tw || tw->unnamed)
        return;
    ensure(tree_remove_name(&w->next, tw->t->def->name, own_node, w));
    tw->unnamed = true;
}

void
world_give_name(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    if (!tw || !tw->unnamed || tw->hidden_by)
        return;
    ensure(tree_set_name(&w->next, tw->t->def->name, table_id, own_node, w));
    tw->unnamed = false;
}

void
world_forget_hidden(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id), *under = tw ? tw->replaces : NULL;
    ensure(tw && tw->hidden_by);
    if (under)
        under->t->dir->next_block = MAX(under->t->dir->next_block, tw->t->dir->next_block); /* never used again */
    retire_table(w, tw);
    world_remove_work(w, tw, under);
}

static u32
hidden_by(World *w, u32 table_id, bool known)
{
    const TableWork *tw = world_work(w, table_id), *first = tw;
    while (first && first->replaces)
        first = first->replaces;
    return tw && tw->hidden_by && !first->hidden_by == known ? tw->hidden_by - 1 : UINT32_MAX;
}

u32
world_made_by(World *w, u32 table_id)
{
    return hidden_by(w, table_id, false);
}

u32
world_emptied_by(World *w, u32 table_id)
{
    return hidden_by(w, table_id, true);
}

void
world_create_table(World *w, const TableDef *def)
{
    if (!world_work(w, def->table_id)) /* else replay */
        (void)world_hide_created(w, def, 0);
    world_show_table(w, def->table_id);
    world_give_name(w, def->table_id);
}

void
world_drop_table(World *w, u32 table_id)
{
    TableWork *tw = world_work(w, table_id);
    if (!tw)
        return;
    ensure(!tw->hidden_by);
    world_take_name(w, table_id);
    catalog_set_table(w, table_id, NULL);
    retire_table(w, tw);
    world_remove_work(w, tw, NULL);
    w->next.table_count--;
    w->next.catalog_version++;
}

void
world_truncate_table(World *w, u32 table_id)
{
    if (world_work(w, table_id))
        (void)world_hide_emptied(w, table_id, NULL, 0);
    world_show_table(w, table_id);
}

void
world_rebuild_table(World *w, const TableDef *def)
{
    if (world_work(w, def->table_id))
        (void)world_hide_emptied(w, def->table_id, def, 0);
    world_show_table(w, def->table_id);
}

/* What is hidden above the table was made from a definition of its own. */
static void
replace_def(World *w, u32 table_id, const TableDef *def, const TableDef *rights)
{
    TableWork *tw = world_work(w, table_id);
    while (tw && tw->replaces)
        tw = tw->replaces;
    if (!tw)
        return;
    TableShm *t = world_must(w, sizeof *t);
    *t = *tw->t;
    TableDef with = def ? *def : *tw->t->def;
    if (rights) {
        with.has_acl = rights->has_acl;
        with.acl_version = rights->acl_version;
        with.acl = rights->acl;
        with.acl_count = rights->acl_count;
    }
    t->def = copy_def(w, &with, with.acl, with.acl_count);
    t->def_bytes = (u32)def_bytes(t->def, with.acl_count);
    world_retire(w, tw->t->def, tw->t->def_bytes);
    world_retire(w, tw->t, sizeof *t);
    tw->t = t;
    catalog_set_table(w, table_id, t);
    w->next.catalog_version++;
}

void
world_alter_table(World *w, const TableDef *def)
{
    replace_def(w, def->table_id, def, NULL);
}

void
world_set_acl(World *w, const TableDef *rights)
{
    replace_def(w, rights->table_id, NULL, rights);
}

/* ---- roles, and the rights on what is no table ---- */

static void *
alloc_piece(void *world, u64 bytes)
{
    return world_must(world, bytes);
}

/* What the change leaves out of the lists. */
static void
retire_replaced(World *w, const RolesShm *old, const RolesShm *new)
{
    u32 n = 0;
    for (u32 i = 0; i < old->count; i++) {
        while (n < new->count && new->roles[n]->role_id < old->roles[i]->role_id)
            n++;
        if (n == new->count || new->roles[n] != old->roles[i])
            world_retire(w, old->roles[i], role_bytes(old->roles[i]));
    }
    for (u32 i = 0; i < old->rights_count; i++) {
        bool stays = false;
        for (u32 k = 0; k < new->rights_count && !stays; k++)
            stays = new->rights[k] == old->rights[i];
        if (!stays)
            world_retire(w, old->rights[i], rights_bytes(old->rights[i]));
    }
    world_retire(w, old, roles_bytes(old));
}

void
world_change_roles(World *w, const RoleChange *c, const char *verifier)
{
    const RolesShm *old = w->next.roles;
    if (c->kind == ROLE_CHANGE_DROP && (!catalog_role(&w->next, c->role_id) || role_is_predefined(c->role_id)))
        return;
    w->next.roles = roles_change(old, c, alloc_piece, w);
    if (old)
        retire_replaced(w, old, w->next.roles);
    w->next.catalog_version++;
    if (c->kind == ROLE_CHANGE_PUT)
        w->next.next_role_id = MAX(w->next.next_role_id, c->role.role_id + 1);
    if (c->kind == ROLE_CHANGE_PUT && w->shm->secrets) /* never in the world, which every backend reads */
        secrets_put(w->shm->secrets, c->role.role_id, c->role.name, verifier);
    if (c->kind == ROLE_CHANGE_DROP && w->shm->secrets)
        secrets_drop(w->shm->secrets, c->role_id);
}
