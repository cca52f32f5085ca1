/*
 * owned.c
 *    REASSIGN OWNED and DROP OWNED: what a role owns goes to another one, or away; with it the rights that it had and gave.
 *
 * Tables are looked up one after another in the catalog with what was changed before; all of it is staged and committed together (role_run).
 */
#include "backend/role.h"

#include "backend/throw.h"

typedef struct Found {
    Session *s;
    u32 role_id;
    u32 *ids, count, capacity;
} Found;

static bool
find_named(void *ctx, const TableDef *t)
{
    Found *f = ctx;
    if (!rights_name_role(t->owner_id, t->acl, t->acl_count, f->role_id))
        return true;
    if (f->count == f->capacity) {
        u32 capacity = MAX(f->capacity * 2, 64u), *more = ARENA_ARRAY(f->s->message, u32, capacity);
        if (f->count)
            memcpy(more, f->ids, f->count * sizeof *more);
        f->ids = more;
        f->capacity = capacity;
    }
    f->ids[f->count++] = t->table_id;
    return true;
}

/* The tables that the role owns, or has or gave rights on. */
static Found
find_tables(Session *s, u32 role_id)
{
    Found f = {.s = s, .role_id = role_id};
    catalog_each_table(session_root(s), find_named, &f);
    return f;
}

static void
settle(Session *s, TxnOutcome outcome)
{
    txn_end_statement(s->txn);
    if (outcome != TXN_DONE)
        err_throw(ERR_SERIALIZATION_FAILURE, "could not change what the role owns because it changed meanwhile");
}

static void
check_may(Session *s, u32 role_id, const char *what)
{
    if (!role_may_as(session_root(s), s->role_id, role_id))
        err_throw(ERR_INSUFFICIENT_PRIVILEGE, "permission denied to %s objects", what);
}

static AclItem *
copy_items(Session *s, const AclItem *from, u32 count)
{
    AclItem *items = ARENA_ARRAY(s->message, AclItem, count);
    if (count)
        memcpy(items, from, count * sizeof *items);
    return items;
}

/* Without those that the role has or gave. */
static u32
drop_items(AclItem *items, u32 count, u32 role_id)
{
    u32 n = 0;
    for (u32 i = 0; i < count; i++)
        if (items[i].role_id != role_id && items[i].grantor_id != role_id)
            items[n++] = items[i];
    return n;
}

static void
reassign_table(Session *s, u32 table_id, u32 from, u32 to)
{
    const TableDef *t = catalog_table(session_root(s), table_id);
    if (!t || t->owner_id != from)
        return;
    TableDef with = *t;
    AclItem *items = copy_items(s, t->acl, t->acl_count);
    with.acl_count = rights_new_owner(items, t->acl_count, from, to);
    with.acl = items;
    with.owner_id = to;
    with.schema_version++;
    settle(s, txn_alter_table(s->txn, &with));
}

void
owned_reassign(Session *s, const AAccess *a)
{
    u32 *from = ARENA_ARRAY(s->message, u32, a->roles.count);
    for (u32 i = 0; i < a->roles.count; i++) {
        from[i] = role_of(s, LIST_AT(a->roles, ARole, i), false);
        check_may(s, from[i], "reassign");
    }
    u32 to = role_of(s, &a->role, false);
    check_may(s, to, "reassign");
    for (u32 i = 0; i < a->roles.count; i++) {
        Found f = find_tables(s, from[i]);
        for (u32 k = 0; k < f.count; k++)
            reassign_table(s, f.ids[k], from[i], to);
    }
}

static void
drop_table_or_rights(Session *s, u32 table_id, u32 role_id)
{
    const TableDef *t = catalog_table(session_root(s), table_id);
    if (!t)
        return;
    if (t->owner_id == role_id) {
        settle(s, txn_drop_tables(s->txn, &table_id, 1));
        return;
    }
    TableDef with = *t;
    AclItem *items = copy_items(s, t->acl, t->acl_count);
    with.acl_count = drop_items(items, t->acl_count, role_id);
    with.acl = items;
    with.acl_version++;
    settle(s, txn_set_acl(s->txn, &with));
}

static void
drop_rights(Session *s, RightsKind kind, u32 schema_id, u32 role_id)
{
    const RightsDef *d = roles_rights(session_root(s), kind, 0, schema_id);
    if (!d || !rights_name_role(0, d->acl, d->acl_count, role_id))
        return;
    RoleChange c = {.kind = ROLE_CHANGE_RIGHTS, .rights = *d};
    AclItem *items = copy_items(s, d->acl, d->acl_count);
    c.rights.acl_count = drop_items(items, d->acl_count, role_id);
    c.rights.acl = items;
    c.rights.version++;
    settle(s, txn_change_roles(s->txn, &c, NULL));
}

void
owned_drop(Session *s, const AAccess *a)
{
    for (u32 i = 0; i < a->roles.count; i++)
        check_may(s, role_of(s, LIST_AT(a->roles, ARole, i), false), "drop");
    for (u32 i = 0; i < a->roles.count; i++) {
        u32 role_id = role_of(s, LIST_AT(a->roles, ARole, i), false);
        if (role_id == ROLE_ROOT)
            err_throw(ERR_DEPENDENT_OBJECTS, "cannot drop objects owned by role root because they are required by the database system");
        Found f = find_tables(s, role_id);
        for (u32 k = 0; k < f.count; k++)
            drop_table_or_rights(s, f.ids[k], role_id);
        drop_rights(s, RIGHTS_SCHEMA, SCHEMA_PUBLIC, role_id);
        drop_rights(s, RIGHTS_DATABASE, 0, role_id);
    }
}
