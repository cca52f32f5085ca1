/*
 * ddl.c
 *    Catalog changes: checked, judged against the newest catalog, applied.
 *
 * A name that is being given or taken is locked, so that two requests for one name meet; DROP and TRUNCATE take the table's
 * exclusive lock, which waits for transactions with locks or rows in it. The walwriter gives new ids, in the fields left for them.
 * Each change is judged against the catalog as it is, so one request may not change the same thing twice.
 * Fails: the user's errors; applying cannot fail (the records were decoded before, memory is reserved).
 */
#include "walwriter/writer.h"

#include "common/base/hash.h"
#include "common/disk/catrec.h"
#include "common/store/rights.h"

#include <stdio.h>

enum { NAME_OF_TABLE = 1, NAME_OF_ROLE, NAME_OF_ACL, NAME_OF_MEMBERS, NAME_OF_RIGHTS };

bool
ddl_is_catalog(u16 kind)
{
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_DROP_TABLE:
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE:
    case WAL_TRUNCATE:
    case WAL_SET_ACL:
        return true;
    default:
        return catrec_is_of_roles(kind);
    }
}

bool
ddl_gives_back(u16 kind)
{
    return kind == WAL_DROP_TABLE || kind == WAL_TRUNCATE;
}

/* A record of the arena's life; NULL arena memory is an error like any other. */
static bool
decode(Arena *a, u16 kind, const u8 *payload, u32 len, Error *err)
{
    TableDef table;
    RoleChange change;
    char verifier[CATREC_VERIFIER_MAX];
    u32 id;
    bool keep;
    if (catrec_is_of_roles(kind))
        return catrec_read_change(a, kind, payload, len, &change, verifier, &keep, err);
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE: return catrec_read_table(a, payload, len, &table, err);
    case WAL_SET_ACL: return catrec_read_acl(a, payload, len, &table, err);
    default: return catrec_read_id(payload, len, &id, err);
    }
}

bool
ddl_check(u16 kind, const u8 *payload, u32 len, Error *err)
{
    Arena *a = arena_new("catalog record", 0, NULL);
    if (!a)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    bool ok = decode(a, kind, payload, len, err);
    arena_free(a);
    return ok;
}

/* ---- judging ---- */

typedef struct Ask {
    Writer *w;
    Tx *tx;
    Root root;           /* the newest one, with the roles and rights that the transaction has staged */
    const RoleDef *role; /* who asks */
    Error *err;
} Ask;

static Judged
refused(const Ask *a, ErrCode code, const char *format, Str name)
{
    /* One name in the message is all that these need. */
    char text[MAX_NAME_BYTES + 1];
    snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    error_set(a->err, code, format, text);
#pragma GCC diagnostic pop
    return JUDGED_ERROR;
}

static Judged
take(const Ask *a, LockTag tag, LockMode mode)
{
    LockHold *h;
    if (tag.space == LOCK_TABLE && mode == LOCK_TABLE_ACCESS_EXCLUSIVE)
        compact_step_aside(a->w, tag.table_id);
    switch (locks_take(a->w->locks, a->tx->slot, tag, mode, &h)) {
    case LOCK_BUSY: return judge_park(a->w, tag, mode);
    case LOCK_NO_MEMORY: error_set(a->err, ERR_OUT_OF_MEMORY, "out of memory"); return JUDGED_ERROR;
    case LOCK_GRANTED: break;
    }
    if (h->serial == a->tx->serial && mode != LOCK_SHARED) {
        error_set(a->err, ERR_PROTOCOL_VIOLATION, "malformed request: the same thing is changed twice");
        return JUDGED_ERROR;
    }
    h->serial = a->tx->serial;
    return JUDGED_YES;
}

static LockTag
name_tag(u16 what, Str name)
{
    return (LockTag){0, LOCK_NAME, what, hash_bytes(name.ptr, name.len)};
}

static Judged
take_name(const Ask *a, u16 what, Str name)
{
    return take(a, name_tag(what, name), LOCK_EXCLUSIVE);
}

/* The role is there and stays until this is applied. */
static Judged
keep_role(const Ask *a, u32 role_id)
{
    const RoleDef *r = catalog_role(&a->root, role_id);
    if (!r)
        return refused(a, ERR_UNDEFINED_OBJECT, "role does not exist", STR_LIT(""));
    return role_is_predefined(role_id) ? JUDGED_YES : take(a, name_tag(NAME_OF_ROLE, r->name), LOCK_SHARED);
}

static Judged
keep_roles(const Ask *a, const AclItem *acl, u32 count)
{
    Judged j = JUDGED_YES;
    for (u32 i = 0; i < count && j == JUDGED_YES; i++) {
        if (acl[i].role_id) /* 0: PUBLIC */
            j = keep_role(a, acl[i].role_id);
        if (j == JUDGED_YES)
            j = keep_role(a, acl[i].grantor_id);
    }
    return j;
}

static bool
owns(const Ask *a, const TableDef *t)
{
    return rights_own(&a->root, t->owner_id, a->role->role_id);
}

static bool
may_create(const Ask *a, u32 role_id)
{
    RightsOf schema = rights_of_schema(&a->root);
    return rights_allow(&a->root, &schema, role_id, ACL_CREATE);
}

static const TableDef *
table_of(const Ask *a, u32 id)
{
    return staged_table(a->w, a->tx, id) ? world_table_def(a->w->world, id, a->tx->slot) : NULL;
}

static const char *
null_key_column(const TableDef *t)
{
    for (u32 k = 0; k < t->key_count; k++)
        for (u32 i = 0; t->keys[k].primary && i < t->keys[k].column_count; i++)
            if (!t->columns[t->keys[k].columns[i]].not_null)
                return "primary key of table \"%s\" has a column that may be NULL";
    return NULL;
}

static Judged
judge_create_table(const Ask *a, CatalogChange *c)
{
    TableDef t;
    if (!catrec_read_table(a->tx->arena, c->payload, c->len, &t, a->err))
        return JUDGED_ERROR;
    if (!catalog_role(&a->root, t.owner_id) || (!a->role->superuser && !role_is_member(&a->root, a->role->role_id, t.owner_id)))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE to the owner of table \"%s\"", t.name);
    if (!may_create(a, a->role->role_id))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema public", t.name);
    if (null_key_column(&t))
        return refused(a, ERR_INVALID_TABLE_DEFINITION, null_key_column(&t), t.name);
    Judged j = take_name(a, NAME_OF_TABLE, t.name);
    if (j == JUDGED_YES)
        j = keep_role(a, t.owner_id);
    if (j == JUDGED_YES)
        j = keep_roles(a, t.acl, t.acl_count);
    if (j != JUDGED_YES)
        return j;
    if (staged_find_table(a->w, a->tx, t.name))
        return refused(a, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", t.name);
    catrec_set_id(c->payload, world_next_table_id(a->w->world));
    return JUDGED_YES;
}

static Judged
judge_table_change(const Ask *a, const CatalogChange *c)
{
    u32 id;
    if (!catrec_read_id(c->payload, c->len, &id, a->err))
        return JUDGED_ERROR;
    const TableDef *t = table_of(a, id);
    if (!t)
        return JUDGED_REPLAN;
    if (c->kind == WAL_DROP_TABLE && !owns(a, t))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be owner of table %s", t->name);
    if (c->kind == WAL_TRUNCATE && !catalog_allows(&a->root, t, a->role->role_id, ACL_TRUNCATE))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %s", t->name);
    return take(a, (LockTag){id, LOCK_TABLE, 0, 0}, LOCK_TABLE_ACCESS_EXCLUSIVE);
}

/* A CHECK holds for all rows that are there, as the statement has seen: it may not have missed any. */
static bool
vouches_for_rows(const TableDef *old, const TableDef *new)
{
    for (u32 i = 0; i < new->check_count; i++) {
        bool known = new->checks[i].not_valid;
        for (u32 k = 0; k < old->check_count && !known; k++)
            known = !old->checks[k].not_valid && str_eq(old->checks[k].text, new->checks[i].text);
        if (!known)
            return true;
    }
    return false;
}

/* Whether rows of one are rows of the other, and their keys. Names, DEFAULT and CHECK are free. (Blocks of a NOT NULL column have no room for NULLs.) */
static bool
same_rows(const TableDef *old, const TableDef *new)
{
    if (old->column_count != new->column_count || old->key_count != new->key_count)
        return false;
    for (u32 i = 0; i < old->column_count; i++) {
        const ColumnDef *o = &old->columns[i], *n = &new->columns[i];
        if (o->type != n->type || o->typmod != n->typmod || o->not_null != n->not_null)
            return false;
    }
    for (u32 i = 0; i < old->key_count; i++) {
        const KeyDef *o = &old->keys[i], *n = &new->keys[i];
        if (o->primary != n->primary || o->column_count != n->column_count ||
            memcmp(o->columns, n->columns, o->column_count * sizeof o->columns[0]) != 0)
            return false;
    }
    return true;
}

/* A definition made from an older one than there is now is made again. */
static Judged
judge_alter_table(const Ask *a, const CatalogChange *c)
{
    TableDef t;
    if (!catrec_read_table(a->tx->arena, c->payload, c->len, &t, a->err))
        return JUDGED_ERROR;
    const TableDef *old = table_of(a, t.table_id);
    if (!old || t.schema_version != old->schema_version + 1 || t.acl_version != old->acl_version)
        return JUDGED_REPLAN;
    if (!owns(a, old))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be owner of table %s", old->name);
    bool renamed = !str_eq(t.name, old->name);
    bool given = t.owner_id != old->owner_id;
    if (given && (!catalog_role(&a->root, t.owner_id) || (!a->role->superuser && (!role_is_member(&a->root, a->role->role_id, t.owner_id) ||
                                                                                !may_create(a, t.owner_id)))))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE to the new owner of table \"%s\"", t.name);
    if (c->kind == WAL_ALTER_TABLE ? !same_rows(old, &t) : renamed || given)
        return refused(a, ERR_PROTOCOL_VIOLATION, "malformed request: table \"%s\" cannot be altered so", old->name);
    if (null_key_column(&t))
        return refused(a, ERR_INVALID_TABLE_DEFINITION, null_key_column(&t), t.name);
    Judged j = take(a, (LockTag){t.table_id, LOCK_TABLE, 0, 0}, LOCK_TABLE_ACCESS_EXCLUSIVE);
    if (j == JUDGED_YES)
        j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_ACL, t.table_id}, LOCK_EXCLUSIVE);
    if (j == JUDGED_YES && given)
        j = keep_role(a, t.owner_id);
    if (j == JUDGED_YES && renamed)
        j = take_name(a, NAME_OF_TABLE, old->name);
    if (j == JUDGED_YES && renamed)
        j = take_name(a, NAME_OF_TABLE, t.name);
    if (j == JUDGED_YES && renamed && staged_find_table(a->w, a->tx, t.name))
        return refused(a, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", t.name);
    if (j == JUDGED_YES && (c->kind == WAL_REBUILD_TABLE || vouches_for_rows(old, &t)) && (a->tx->flags & REQ_FLAG_SNAPSHOT) && a->tx->version &&
        reads_changed_since(a->w, t.table_id, a->tx->version)) { /* the rows that it would lose, bring back, or has not checked */
        error_set(a->err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
        return JUDGED_ERROR;
    }
    return j;
}

/* ---- roles ---- */

static Judged
judge_role_def(const Ask *a, CatalogChange *c)
{
    RoleDef r;
    char verifier[CATREC_VERIFIER_MAX];
    bool keep;
    if (!catrec_read_role(c->payload, c->len, &r, verifier, &keep, a->err))
        return JUDGED_ERROR;
    const RoleDef *old = c->kind == WAL_ALTER_ROLE ? catalog_role(&a->root, r.role_id) : NULL;
    if (c->kind == WAL_ALTER_ROLE && (!old || role_is_predefined(r.role_id)))
        return refused(a, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", r.name);
    if (!roles_may_change(a->role, old, &r))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, old ? "permission denied" : "permission denied to create role", r.name);
    Judged j = take_name(a, NAME_OF_ROLE, r.name);
    if (j == JUDGED_YES && old && !str_eq(old->name, r.name))
        j = take_name(a, NAME_OF_ROLE, old->name);
    if (j != JUDGED_YES)
        return j;
    const RoleDef *same = catalog_find_role(&a->root, r.name);
    if (same && (!old || same->role_id != old->role_id))
        return refused(a, ERR_DUPLICATE_OBJECT, "role \"%s\" already exists", r.name);
    if (!old)
        catrec_set_id(c->payload, world_next_role_id(a->w->world));
    return JUDGED_YES;
}

typedef struct Owned {
    const Ask *ask;
    u32 role_id;
    bool any;
} Owned;

static bool
look_for_owned(void *ctx, const TableDef *t)
{
    Owned *o = ctx;
    const TableDef *now = table_of(o->ask, t->table_id);
    o->any |= now && rights_name_role(now->owner_id, now->acl, now->acl_count, o->role_id);
    return !o->any;
}

static bool
any_rights_of(const Root *root, u32 role_id)
{
    for (u32 i = 0; root->roles && i < root->roles->rights_count; i++) {
        const RightsDef *d = root->roles->rights[i];
        if (rights_name_role(d->role_id, d->acl, d->acl_count, role_id))
            return true;
    }
    return false;
}

static Judged
judge_drop_role(const Ask *a, const CatalogChange *c)
{
    u32 id;
    if (!catrec_read_id(c->payload, c->len, &id, a->err))
        return JUDGED_ERROR;
    const RoleDef *r = catalog_role(&a->root, id);
    if (!r || role_is_predefined(id))
        return JUDGED_REPLAN;
    if (!a->role->superuser && (!a->role->create_role || r->superuser))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to drop role", r->name);
    if (id == a->role->role_id || id == observe_u32(&a->w->shm->control->slots[a->tx->slot].pub_role_id))
        return refused(a, ERR_OBJECT_IN_USE, "current user cannot be dropped", r->name);
    Owned owned = {a, id, staged_role_has_any(a->w, a->tx, id) || any_rights_of(&a->root, id)};
    catalog_each_table(&a->root, look_for_owned, &owned);
    if (id == ROLE_ROOT || owned.any)
        return refused(a, ERR_DEPENDENT_OBJECTS, "role \"%s\" cannot be dropped because some objects depend on it", r->name);
    Judged j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_MEMBERS, 0}, LOCK_EXCLUSIVE);
    return j == JUDGED_YES ? take_name(a, NAME_OF_ROLE, r->name) : j;
}

/* All memberships are under one lock, so that no two requests make a cycle. */
static Judged
judge_member(const Ask *a, const CatalogChange *c)
{
    RoleMember m;
    bool revoked;
    if (!catrec_read_member(c->payload, c->len, &m, &revoked, a->err))
        return JUDGED_ERROR;
    Judged j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_MEMBERS, 0}, LOCK_EXCLUSIVE);
    if (j == JUDGED_YES)
        j = keep_role(a, m.role_id);
    if (j == JUDGED_YES && m.member_id != m.role_id)
        j = keep_role(a, m.member_id);
    if (j != JUDGED_YES)
        return j;
    const RoleDef *r = catalog_role(&a->root, m.role_id);
    if (!roles_may_grant(&a->root, a->role, r))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, r->superuser ? "must be superuser to alter superusers" : "must have admin option on role \"%s\"",
                       r->name);
    if (!catalog_role(&a->root, m.grantor_id) || m.role_id == ROLE_DATABASE_OWNER_OID || m.member_id == ROLE_DATABASE_OWNER_OID)
        return refused(a, ERR_INVALID_GRANT_OPERATION, "role \"%s\" cannot have explicit members", r->name);
    if (!revoked && role_is_member(&a->root, m.role_id, m.member_id))
        return refused(a, ERR_INVALID_GRANT_OPERATION, "role \"%s\" is a member of a role that is to be its member", r->name);
    return JUDGED_YES;
}

/* ---- rights ---- */

static Judged
judge_acl(const Ask *a, const CatalogChange *c)
{
    TableDef t;
    if (!catrec_read_acl(a->tx->arena, c->payload, c->len, &t, a->err))
        return JUDGED_ERROR;
    const TableDef *old = table_of(a, t.table_id);
    if (!old)
        return JUDGED_REPLAN;
    Judged j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_ACL, t.table_id}, LOCK_EXCLUSIVE);
    if (j == JUDGED_YES)
        j = keep_roles(a, t.acl, t.acl_count);
    if (j != JUDGED_YES)
        return j;
    if (t.acl_version != old->acl_version + 1)
        return JUDGED_REPLAN;
    TableDef made = *old;
    made.acl = t.acl;
    made.acl_count = t.acl_count;
    made.has_acl = t.has_acl;
    RightsOf before = rights_of_table(old), after = rights_of_table(&made);
    for (u32 i = 0; i < t.acl_count; i++)
        if (t.acl[i].column > old->column_count)
            return JUDGED_REPLAN;
    if (!rights_may_become(&a->root, &before, &after, a->role->role_id))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %s", old->name);
    return JUDGED_YES;
}

static Judged
judge_rights(const Ask *a, const CatalogChange *c)
{
    RightsDef r;
    bool gone;
    if (!catrec_read_rights(a->tx->arena, c->payload, c->len, &r, &gone, a->err))
        return JUDGED_ERROR;
    bool of_role = r.kind >= RIGHTS_DEFAULT_TABLES;
    Judged j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_RIGHTS, hash_u64(r.kind * 8192ull + r.schema_id + ((u64)(of_role ? r.role_id : 0) << 32))}, LOCK_EXCLUSIVE);
    if (j == JUDGED_YES)
        j = keep_role(a, r.role_id);
    if (j == JUDGED_YES)
        j = keep_roles(a, r.acl, r.acl_count);
    if (j != JUDGED_YES)
        return j;
    const RightsDef *old = roles_rights(&a->root, (RightsKind)r.kind, of_role ? r.role_id : 0, r.schema_id);
    if (r.version != (old ? old->version : 0) + 1)
        return JUDGED_REPLAN;
    if (of_role)
        return role_may_as(&a->root, a->role->role_id, r.role_id)
                   ? JUDGED_YES
                   : refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to change default privileges", STR_LIT(""));
    RightsOf before = r.kind == RIGHTS_SCHEMA ? rights_of_schema(&a->root) : rights_of_database(&a->root), after = before;
    after.acl = r.acl;
    after.acl_count = r.acl_count;
    after.by_default = false;
    if (r.role_id != before.owner_id || !rights_may_become(&a->root, &before, &after, a->role->role_id))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, r.kind == RIGHTS_SCHEMA ? "permission denied for schema public" : "permission denied for database",
                       STR_LIT(""));
    return JUDGED_YES;
}

static Judged
judge_change(const Ask *a, CatalogChange *c)
{
    switch (c->kind) {
    case WAL_CREATE_TABLE: return judge_create_table(a, c);
    case WAL_DROP_TABLE:
    case WAL_TRUNCATE: return judge_table_change(a, c);
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE: return judge_alter_table(a, c);
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE: return judge_role_def(a, c);
    case WAL_DROP_ROLE: return judge_drop_role(a, c);
    case WAL_GRANT_ROLE: return judge_member(a, c);
    case WAL_SET_RIGHTS: return judge_rights(a, c);
    default: return judge_acl(a, c);
    }
}

Judged
ddl_judge(Writer *w, Tx *tx, Error *err)
{
    if (!tx->arena && !(tx->arena = arena_new("catalog change", 0, NULL))) {
        error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
        return JUDGED_ERROR;
    }
    arena_reset(tx->arena);
    Ask a = {w, tx, {0}, NULL, err};
    if (!staged_root(w, tx, &a.root))
        return judge_no_memory(err);
    a.role = catalog_role(&a.root, judge_role(w, tx, &a.root));
    if (!a.role) {
        error_set(err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied");
        return JUDGED_ERROR;
    }
    for (u32 i = 0; i < tx->change_count; i++) {
        Judged j = judge_change(&a, &tx->changes[i]);
        if (j != JUDGED_YES)
            return j;
    }
    u64 bytes = 0;
    for (u32 i = 0; i < tx->change_count && tx->kind == REQ_WRITE; i++) {
        u64 promise = ddl_gives_back(tx->changes[i].kind) ? 0 : CATALOG_PROMISE;
        if (!world_reserve_catalog(w->world, promise, err)) {
            world_unreserve_catalog(w->world, bytes);
            return JUDGED_ERROR;
        }
        bytes += promise;
    }
    tx->catalog_bytes += bytes;
    return JUDGED_YES;
}

/* ---- applying ---- */

void
ddl_apply(World *world, Arena *a, u16 kind, const u8 *payload, u32 len)
{
    Error err;
    TableDef table;
    RoleChange change;
    char verifier[CATREC_VERIFIER_MAX];
    u32 id;
    bool keep;
    if (catrec_is_of_roles(kind)) {
        ensure(catrec_read_change(a, kind, payload, len, &change, verifier, &keep, &err));
        world_change_roles(world, &change, keep ? NULL : verifier);
        return;
    }
    switch (kind) {
    case WAL_CREATE_TABLE:
        ensure(catrec_read_table(a, payload, len, &table, &err));
        world_create_table(world, &table);
        break;
    case WAL_DROP_TABLE:
        ensure(catrec_read_id(payload, len, &id, &err));
        world_drop_table(world, id);
        break;
    case WAL_TRUNCATE:
        ensure(catrec_read_id(payload, len, &id, &err));
        world_truncate_table(world, id);
        break;
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE:
        ensure(catrec_read_table(a, payload, len, &table, &err));
        world_take_name(world, table.table_id);
        (kind == WAL_ALTER_TABLE ? world_alter_table : world_rebuild_table)(world, &table);
        world_give_name(world, table.table_id);
        break;
    case WAL_SET_ACL:
        ensure(catrec_read_acl(a, payload, len, &table, &err));
        world_set_acl(world, &table);
        break;
    default:
        ensure(!"a catalog record");
    }
}
