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

#include "common/disk/catrec.h"

#include <stdio.h>

enum { NAME_OF_TABLE = 1, NAME_OF_ROLE, NAME_OF_ACL };

bool
ddl_is_catalog(u16 kind)
{
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_DROP_TABLE:
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE:
    case WAL_TRUNCATE:
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE:
    case WAL_DROP_ROLE:
    case WAL_SET_ACL:
        return true;
    default:
        return false;
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
    RoleDef role;
    const AclItem *acl;
    char verifier[CATREC_VERIFIER_MAX];
    u32 id, count;
    bool keep;
    switch (kind) {
    case WAL_CREATE_TABLE:
    case WAL_ALTER_TABLE:
    case WAL_REBUILD_TABLE: return catrec_read_table(a, payload, len, &table, err);
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE: return catrec_read_role(payload, len, &role, verifier, &keep, err);
    case WAL_SET_ACL: return catrec_read_acl(a, payload, len, &id, &acl, &count, err);
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
    const Root *root;
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
    RoleDef r;
    if (staged_role(a->w, a->tx, role_id, &r))
        return take(a, name_tag(NAME_OF_ROLE, r.name), LOCK_SHARED);
    const RoleDef *dropped = catalog_role(a->root, role_id);
    return dropped ? refused(a, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", dropped->name) : JUDGED_REPLAN;
}

static Judged
keep_roles(const Ask *a, const AclItem *acl, u32 count)
{
    Judged j = JUDGED_YES;
    for (u32 i = 0; i < count && j == JUDGED_YES; i++)
        if (acl[i].role_id) /* 0: PUBLIC */
            j = keep_role(a, acl[i].role_id);
    return j;
}

static bool
owns(const Ask *a, const TableDef *t)
{
    return a->role->superuser || a->role->role_id == t->owner_id;
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
    RoleDef owner;
    if (!catrec_read_table(a->tx->arena, c->payload, c->len, &t, a->err))
        return JUDGED_ERROR;
    if ((t.owner_id != a->role->role_id && !a->role->superuser) || !staged_role(a->w, a->tx, t.owner_id, &owner))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be able to SET ROLE to the owner of table \"%s\"", t.name);
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
    if (c->kind == WAL_TRUNCATE && !catalog_allows(a->root, t, a->role->role_id, ACL_TRUNCATE))
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
    if (!old || t.schema_version != old->schema_version + 1)
        return JUDGED_REPLAN;
    if (!owns(a, old))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "must be owner of table %s", old->name);
    bool renamed = !str_eq(t.name, old->name);
    if (t.owner_id != old->owner_id || t.acl_count || (c->kind == WAL_ALTER_TABLE ? !same_rows(old, &t) : renamed))
        return refused(a, ERR_PROTOCOL_VIOLATION, "malformed request: table \"%s\" cannot be altered so", old->name);
    if (null_key_column(&t))
        return refused(a, ERR_INVALID_TABLE_DEFINITION, null_key_column(&t), t.name);
    Judged j = take(a, (LockTag){t.table_id, LOCK_TABLE, 0, 0}, LOCK_TABLE_ACCESS_EXCLUSIVE);
    if (j == JUDGED_YES)
        j = take(a, (LockTag){0, LOCK_NAME, NAME_OF_ACL, t.table_id}, LOCK_EXCLUSIVE);
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

static bool
may_change_role(const Ask *a, const RoleDef *old, const RoleDef *wanted)
{
    if (a->role->superuser)
        return true;
    if (old && old->role_id == a->role->role_id) /* its own password, nothing else */
        return wanted->superuser == old->superuser && wanted->can_login == old->can_login && wanted->create_role == old->create_role &&
               wanted->create_db == old->create_db && wanted->inherit == old->inherit &&
               wanted->connection_limit == old->connection_limit && str_eq(wanted->name, old->name);
    return a->role->create_role && !wanted->superuser && !(old && old->superuser);
}

static Judged
judge_role(const Ask *a, CatalogChange *c)
{
    RoleDef r;
    char verifier[CATREC_VERIFIER_MAX];
    bool keep;
    if (!catrec_read_role(c->payload, c->len, &r, verifier, &keep, a->err))
        return JUDGED_ERROR;
    RoleDef was, same;
    const RoleDef *old = c->kind == WAL_ALTER_ROLE && staged_role(a->w, a->tx, r.role_id, &was) ? &was : NULL;
    if (c->kind == WAL_ALTER_ROLE && !old)
        return refused(a, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", r.name);
    if (!may_change_role(a, old, &r))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, c->kind == WAL_ALTER_ROLE ? "permission denied" : "permission denied to create role",
                       r.name);
    Judged j = take_name(a, NAME_OF_ROLE, r.name);
    if (j == JUDGED_YES && old && !str_eq(old->name, r.name))
        j = take_name(a, NAME_OF_ROLE, old->name);
    if (j != JUDGED_YES)
        return j;
    if (staged_find_role(a->w, a->tx, r.name, &same) && (!old || same.role_id != old->role_id))
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
    o->any |= t->owner_id == o->role_id && staged_table(o->ask->w, o->ask->tx, t->table_id);
    return !o->any;
}

static Judged
judge_drop_role(const Ask *a, const CatalogChange *c)
{
    u32 id;
    if (!catrec_read_id(c->payload, c->len, &id, a->err))
        return JUDGED_ERROR;
    RoleDef r;
    if (!staged_role(a->w, a->tx, id, &r))
        return JUDGED_REPLAN;
    if (!a->role->superuser && (!a->role->create_role || r.superuser))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to drop role", r.name);
    if (id == a->role->role_id)
        return refused(a, ERR_OBJECT_IN_USE, "current user cannot be dropped", r.name);
    Owned owned = {a, id, staged_role_owns_any(a->w, a->tx, id)};
    catalog_each_table(a->root, look_for_owned, &owned);
    if (id == ROLE_ROOT || owned.any)
        return refused(a, ERR_DEPENDENT_OBJECTS, "role \"%s\" cannot be dropped because some objects depend on it", r.name);
    return take_name(a, NAME_OF_ROLE, r.name);
}

static Judged
judge_acl(const Ask *a, const CatalogChange *c)
{
    u32 id, count;
    const AclItem *acl;
    if (!catrec_read_acl(a->tx->arena, c->payload, c->len, &id, &acl, &count, a->err))
        return JUDGED_ERROR;
    const TableDef *t = table_of(a, id);
    if (!t)
        return JUDGED_REPLAN;
    if (!owns(a, t))
        return refused(a, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %s", t->name);
    Judged j = keep_roles(a, acl, count);
    return j == JUDGED_YES ? take(a, (LockTag){0, LOCK_NAME, NAME_OF_ACL, id}, LOCK_EXCLUSIVE) : j;
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
    case WAL_ALTER_ROLE: return judge_role(a, c);
    case WAL_DROP_ROLE: return judge_drop_role(a, c);
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
    Ask a = {w, tx, world_root(w->world), NULL, err};
    a.role = catalog_role(a.root, observe_u32(&w->shm->control->slots[tx->slot].pub_role_id));
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
    RoleDef role;
    char verifier[CATREC_VERIFIER_MAX];
    const AclItem *acl;
    u32 id, count;
    bool keep;
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
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE:
        ensure(catrec_read_role(payload, len, &role, verifier, &keep, &err));
        world_put_role(world, &role, keep ? NULL : verifier);
        break;
    case WAL_DROP_ROLE:
        ensure(catrec_read_id(payload, len, &id, &err));
        world_drop_role(world, id);
        break;
    case WAL_SET_ACL:
        ensure(catrec_read_acl(a, payload, len, &id, &acl, &count, &err));
        world_set_acl(world, id, acl, count);
        break;
    default:
        ensure(!"a catalog record");
    }
}
