/*
 * own.c
 *    What a transaction changed, in the order of its ordinals: noted, shown to the next statement, taken back.
 *
 * A change is noted with everything that taking it back needs. Showing it moves it into the state of its table (own_table.c): room first, then the
 * rows, so that a change is shown whole or not at all. Taking back goes from the newest change backwards; one that was not shown is only forgotten.
 *
 * Invariants: changes stand in ascending ordinals; those below shown_count are in the tables' states, no others.
 */
#include "common/store/own_int.h"

#include "common/base/hash.h"

#include <stdlib.h>

Own *
own_new(void)
{
    Own *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    o->arena = arena_new("changes of the transaction", 0, NULL);
    o->root_arena = arena_new("root of the transaction", 0, NULL);
    if (o->arena && o->root_arena)
        return o;
    own_free(o);
    return NULL;
}

void
own_free(Own *o)
{
    if (o->arena)
        arena_free(o->arena);
    if (o->root_arena)
        arena_free(o->root_arena);
    free(o);
}

void
own_forget(Own *o)
{
    u64 serial = o->serial;
    Arena *arena = o->arena, *root_arena = o->root_arena;
    arena_reset(arena);
    arena_reset(root_arena);
    *o = (Own){.arena = arena, .root_arena = root_arena, .serial = serial};
}

bool
own_any(const Own *o)
{
    return o->change_count + o->dropped_count + o->role_count > 0;
}

/* ---- noting ---- */

/* The array with room for `want` items: itself, or a bigger copy; NULL without memory. */
static void *
grown(Arena *a, void *items, u32 used, u32 want, u32 *capacity, size_t size)
{
    u32 n = MAX(*capacity, 16u);
    if (want <= *capacity)
        return items;
    while (n < want)
        n *= 2;
    void *made = arena_array(a, n, size);
    if (!made)
        return NULL;
    if (used)
        memcpy(made, items, used * size);
    *capacity = n;
    return made;
}

/* The last one, when nobody accepted it, is forgotten. */
static OwnChange *
add_change(Own *o, u32 ordinal, u32 table_id, OwnKind kind)
{
    if (o->change_count > o->shown_count && !o->changes[o->change_count - 1].accepted)
        o->run_count = o->changes[--o->change_count].first_run;
    OwnChange *changes = grown(o->arena, o->changes, o->change_count, o->change_count + 1, &o->change_capacity, sizeof *changes);
    if (!changes)
        return NULL;
    o->changes = changes;
    ensure(o->change_count == 0 || o->changes[o->change_count - 1].ordinal < ordinal);
    OwnChange *c = &o->changes[o->change_count++];
    *c = (OwnChange){.ordinal = ordinal, .table_id = table_id, .kind = kind, .first_run = o->run_count, .accepted = kind != OWN_PART};
    return c;
}

bool
own_part_begin(Own *o, u32 ordinal, u32 table_id, u32 rows, const RowId *old_rows, u32 old_count)
{
    OwnChange *c = add_change(o, ordinal, table_id, OWN_PART);
    if (!c)
        return false;
    c->rows = rows;
    c->old_count = old_count;
    for (u32 i = 0; i < old_count; i++) {
        OwnRun *last = c->run_count ? &o->runs[o->run_count - 1] : NULL;
        if (last && old_rows[i] == last->first + last->count) {
            last->count++;
            continue;
        }
        OwnRun *runs = grown(o->arena, o->runs, o->run_count, o->run_count + 1, &o->run_capacity, sizeof *runs);
        if (!runs)
            return false; /* an unaccepted change is nothing */
        o->runs = runs;
        o->runs[o->run_count++] = (OwnRun){old_rows[i], 1};
        c->run_count++;
    }
    return true;
}

void
own_accept(Own *o, const u64 row[2], const SlotDirShm *staged)
{
    ensure(o->change_count > o->shown_count);
    OwnChange *c = &o->changes[o->change_count - 1];
    ensure(c->kind == OWN_PART && !c->accepted);
    c->accepted = true;
    c->staged = staged;
    c->row[0] = row[0];
    c->row[1] = row[1];
    c->first_rows = row[1] ? MIN(c->rows, BLOCK_ROWS - ROW_OFFSET(row[0])) : c->rows;
    ensure(c->rows == 0 || (row[0] && ROW_OFFSET(row[0]) + c->first_rows <= BLOCK_ROWS && ROW_OFFSET(row[1]) + c->rows - c->first_rows <= BLOCK_ROWS));
}

bool
own_create_table(Own *o, u32 ordinal, const TableShm *hidden)
{
    OwnChange *c = add_change(o, ordinal, hidden->def->table_id, OWN_CREATE);
    if (c)
        c->hidden = hidden;
    return c != NULL;
}

bool
own_drop_table(Own *o, u32 ordinal, u32 table_id)
{
    return add_change(o, ordinal, table_id, OWN_DROP) != NULL;
}

bool
own_truncate(Own *o, u32 ordinal, u32 table_id, const TableShm *hidden)
{
    OwnChange *c = add_change(o, ordinal, table_id, OWN_TRUNCATE);
    if (c)
        c->hidden = hidden;
    return c != NULL;
}

bool
own_rebuild(Own *o, u32 ordinal, const TableShm *hidden)
{
    OwnChange *c = add_change(o, ordinal, hidden->def->table_id, OWN_REBUILD);
    if (c)
        c->hidden = hidden;
    return c != NULL;
}

static const AclItem *
copy_acl(Arena *a, const AclItem *from, u32 count)
{
    AclItem *items = ARENA_ARRAY(a, AclItem, MAX(count, 1u));
    if (items && count)
        memcpy(items, from, count * sizeof *items);
    return items;
}

static TableDef *
copy_def(Arena *a, const TableDef *from)
{
    TableDef *d = ARENA_NEW(a, TableDef);
    ColumnDef *columns = ARENA_ARRAY(a, ColumnDef, MAX(from->column_count, 1u));
    KeyDef *keys = ARENA_ARRAY(a, KeyDef, MAX(from->key_count, 1u));
    CheckDef *checks = ARENA_ARRAY(a, CheckDef, MAX(from->check_count, 1u));
    if (!d || !columns || !keys || !checks)
        return NULL;
    *d = *from;
    d->name = arena_str(a, from->name);
    bool ok = d->name.ptr != NULL;
    for (u32 i = 0; i < from->column_count; i++) {
        columns[i] = from->columns[i];
        columns[i].name = arena_str(a, from->columns[i].name);
        columns[i].default_text = arena_str(a, from->columns[i].default_text);
        ok &= columns[i].name.ptr && columns[i].default_text.ptr;
    }
    for (u32 i = 0; i < from->key_count; i++) {
        keys[i] = from->keys[i];
        keys[i].name = arena_str(a, from->keys[i].name);
        ok &= keys[i].name.ptr != NULL;
    }
    for (u32 i = 0; i < from->check_count && ok; i++) {
        const CheckDef *c = &from->checks[i];
        u16 *numbers = ARENA_ARRAY(a, u16, MAX(c->column_count, 1u));
        checks[i] = *c;
        checks[i].name = arena_str(a, c->name);
        checks[i].text = arena_str(a, c->text);
        checks[i].columns = numbers;
        ok &= numbers && checks[i].name.ptr && checks[i].text.ptr;
        if (numbers && c->column_count)
            memcpy(numbers, c->columns, c->column_count * sizeof *numbers);
    }
    d->columns = columns;
    d->keys = keys;
    d->checks = checks;
    d->acl = copy_acl(a, from->acl, from->acl_count);
    return ok && d->acl ? d : NULL;
}

bool
own_alter(Own *o, u32 ordinal, const TableDef *def)
{
    TableDef *copy = copy_def(o->arena, def);
    OwnChange *c = copy ? add_change(o, ordinal, def->table_id, OWN_ALTER) : NULL;
    if (c)
        c->def = copy;
    return c != NULL;
}

bool
own_change_roles(Own *o, u32 ordinal, const RoleChange *c)
{
    OwnRole *roles = grown(o->arena, o->roles, o->role_count, o->role_count + 1, &o->role_capacity, sizeof *roles);
    if (!roles)
        return false;
    o->roles = roles;
    RoleChange copy = *c;
    copy.role.name = arena_str(o->arena, c->role.name);
    copy.role.config = arena_str(o->arena, c->role.config);
    copy.rights.acl = copy_acl(o->arena, c->rights.acl, c->rights.acl_count);
    if (!copy.rights.acl || !copy.role.name.ptr || !copy.role.config.ptr)
        return false;
    o->roles[o->role_count++] = (OwnRole){ordinal, copy};
    o->base.root = NULL;
    o->catalog_moved = true;
    return true;
}

/* ---- tables ---- */

static u32 *
table_slot(const Own *o, u32 table_id)
{
    u32 at = (u32)hash_u64(table_id) & (o->slot_capacity - 1);
    while (o->slots[at] && o->tables[o->slots[at] - 1]->table_id != table_id)
        at = (at + 1) & (o->slot_capacity - 1);
    return &o->slots[at];
}

OwnTable *
own_table_find(const Own *o, u32 table_id)
{
    u32 at = o->slot_capacity ? *table_slot(o, table_id) : 0;
    return at ? o->tables[at - 1] : NULL;
}

static OwnTable *
table_for(Own *o, u32 table_id)
{
    OwnTable *t = own_table_find(o, table_id);
    if (t)
        return t;
    OwnTable **tables = grown(o->arena, o->tables, o->table_count, o->table_count + 1, &o->table_capacity, sizeof *tables);
    if (!tables)
        return NULL;
    o->tables = tables;
    if ((o->table_count + 1) * 2 > o->slot_capacity) {
        u32 capacity = MAX(o->slot_capacity * 2, 16u), *slots = arena_zalloc(o->arena, capacity * sizeof *slots);
        if (!slots)
            return NULL;
        o->slots = slots;
        o->slot_capacity = capacity;
        for (u32 i = 0; i < o->table_count; i++)
            *table_slot(o, o->tables[i]->table_id) = i + 1;
    }
    t = ARENA_NEW(o->arena, OwnTable);
    if (!t || !(t->own = ARENA_NEW(o->arena, TableOwn)))
        return NULL;
    t->table_id = table_id;
    o->tables[o->table_count++] = t;
    *table_slot(o, table_id) = o->table_count;
    return t;
}

const TableShm *
own_table_base(const OwnTable *t, const Root *published)
{
    return t->hidden ? t->hidden : store_table(published, t->table_id);
}

bool
own_made_row(const Own *o, u32 table_id, RowId id)
{
    const OwnTable *t = own_table_find(o, table_id);
    return t && id && own_find_block(t->own, ROW_BLOCK(id));
}

/* ---- showing ---- */

static const SlotDirShm *
slot_of(const OwnChange *c, const TableShm *base, RowId first)
{
    if (ROW_BLOCK(first) >= STAGED_BLOCK)
        return c->staged;
    /* A directory that lacks the block is one from before a TRUNCATE of somebody else. */
    u32 i, chunk = dir_chunk_of(ROW_BLOCK(first), &i);
    return chunk < relaxed_u32(&base->dir->chunk_capacity) ? dir_slot(base->dir, ROW_BLOCK(first)) : NULL;
}

static bool
no_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

static bool
reserve_rows(Own *o, const OwnChange *c, OwnTable *t, const TableShm *base, RowId first, u32 count, Error *err)
{
    if (count == 0)
        return true;
    const SlotDirShm *slot = slot_of(c, base, first);
    if (!slot)
        return error_set(err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    return own_reserve_rows(o->arena, t->own, base->def, slot, first, count) || no_memory(err);
}

static bool
show_part(Own *o, const OwnChange *c, OwnTable *t, const TableShm *base, Error *err)
{
    if (!reserve_rows(o, c, t, base, c->row[0], c->first_rows, err) || !reserve_rows(o, c, t, base, c->row[1], c->rows - c->first_rows, err))
        return false;
    const OwnRun *runs = c->run_count ? o->runs + c->first_run : NULL;
    for (u32 i = 0; i < c->run_count; i++)
        if (!own_reserve_deletes(o->arena, t->own, c->old_count, runs[i].first, runs[i].count))
            return no_memory(err);
    if (c->rows)
        own_show(t->own, base->def, c->row[0], c->first_rows);
    if (c->rows > c->first_rows)
        own_show(t->own, base->def, c->row[1], c->rows - c->first_rows);
    for (u32 i = 0; i < c->run_count; i++)
        own_delete(t->own, runs[i].first, runs[i].count);
    return true;
}

static bool
show_truncate(Own *o, OwnChange *c, OwnTable *t, Error *err)
{
    TableOwn *empty = ARENA_NEW(o->arena, TableOwn);
    if (!empty)
        return no_memory(err);
    c->before = t->own;
    c->hidden_before = t->hidden;
    c->def_before = t->def;
    t->own = empty;
    t->hidden = c->hidden;
    t->def = NULL; /* the hidden table has it */
    return true;
}

static bool
show(Own *o, OwnChange *c, const Root *published, Error *err)
{
    OwnTable *t = table_for(o, c->table_id);
    if (!t)
        return no_memory(err);
    const TableShm *base = c->kind == OWN_CREATE ? c->hidden : own_table_base(t, published);
    if (!base)
        return error_set(err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    t->stale = true;
    switch (c->kind) {
    case OWN_PART: return show_part(o, c, t, base, err);
    case OWN_TRUNCATE: return show_truncate(o, c, t, err);
    case OWN_REBUILD:
        if (!show_truncate(o, c, t, err))
            return false;
        break;
    case OWN_ALTER:
        c->def_before = t->def;
        t->def = c->def;
        break;
    case OWN_CREATE:
        t->hidden = c->hidden;
        break;
    case OWN_DROP:
        t->dropped = true;
        break;
    }
    o->catalog_changes++;
    o->catalog_moved = true;
    return true;
}

bool
own_show_noted(Own *o, const Root *published, bool savepoint, Error *err)
{
    for (; o->shown_count < o->change_count; o->shown_count++) {
        OwnChange *c = &o->changes[o->shown_count];
        if (!c->accepted) { /* of a statement that failed: nothing comes after it but taking back */
            o->change_count = o->shown_count;
            o->run_count = c->first_run;
            break;
        }
        if (!show(o, c, published, err))
            return false;
    }
    if (!savepoint) { /* nobody will ask for a part of them */
        o->dropped_count += o->shown_count;
        o->change_count = o->shown_count = o->run_count = 0;
    }
    return true;
}

/* ---- taking back ---- */

static void
take_back_part(Own *o, const OwnChange *c, OwnTable *t)
{
    const OwnRun *runs = o->runs + c->first_run;
    for (u32 i = c->run_count; i-- > 0;)
        own_restore(t->own, runs[i].first, runs[i].count);
    if (c->rows > c->first_rows)
        own_hide(t->own, c->row[1], c->rows - c->first_rows);
    if (c->rows)
        own_hide(t->own, c->row[0], c->first_rows);
}

static void
take_back(Own *o, OwnChange *c)
{
    OwnTable *t = own_table_find(o, c->table_id);
    t->stale = true;
    switch (c->kind) {
    case OWN_PART:
        take_back_part(o, c, t);
        return;
    case OWN_TRUNCATE:
    case OWN_REBUILD:
        t->own = c->before;
        t->hidden = c->hidden_before;
        t->def = c->def_before;
        if (c->kind == OWN_TRUNCATE)
            return;
        break;
    case OWN_ALTER:
        t->def = c->def_before;
        break;
    case OWN_CREATE:
        t->hidden = NULL;
        break;
    case OWN_DROP:
        t->dropped = false;
        break;
    }
    o->catalog_changes--;
    o->catalog_moved = true;
    o->base.root = NULL; /* names come and go: make the root anew */
}

void
own_undo(Own *o, u32 last_kept)
{
    if (last_kept == 0) {
        own_forget(o);
        return;
    }
    while (o->role_count && o->roles[o->role_count - 1].ordinal > last_kept) {
        o->role_count--;
        o->base.root = NULL;
        o->catalog_moved = true;
    }
    while (o->change_count > 0 && o->changes[o->change_count - 1].ordinal > last_kept) {
        OwnChange *c = &o->changes[--o->change_count];
        if (o->change_count < o->shown_count) {
            take_back(o, c);
            o->shown_count = o->change_count;
        }
        o->run_count = c->first_run;
    }
}
