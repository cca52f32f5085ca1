/*
 * role.c
 *    CREATE, ALTER, DROP ROLE and memberships, as the session runs them.
 *
 * Names are looked up in the catalog of the statement, with what its transaction changed before. A statement of several changes is staged (transaction.c),
 * so that each sees those before it and all or none are committed. The rules and messages are PostgreSQL's; the walwriter judges who may once more.
 * Passwords become verifiers here and are wiped. Fails: by throwing.
 */
#include "backend/role.h"

#include "backend/throw.h"
#include "common/base/scram.h"

#include <sodium.h>
#include <stdio.h>

const RoleDef *
role_now(Session *s)
{
    const RoleDef *r = catalog_role(session_root(s), s->role_id);
    if (!r)
        err_throw(ERR_UNDEFINED_OBJECT, "role with OID %u does not exist", s->role_id);
    return r;
}

u32
role_of(Session *s, const ARole *r, bool public_allowed)
{
    switch (r->kind) {
    case AR_CURRENT_USER: return s->role_id;
    case AR_SESSION_USER: return s->session_role_id;
    case AR_PUBLIC:
        if (public_allowed)
            return ROLE_PUBLIC;
        break;
    case AR_NAMED: break;
    }
    const RoleDef *d = catalog_find_role(session_root(s), r->name);
    if (!d)
        err_throw(ERR_UNDEFINED_OBJECT, "role \"%.*s\" does not exist", (int)r->name.len, r->name.ptr);
    return d->role_id;
}

static const RoleDef *
def_of(Session *s, const ARole *r)
{
    u32 id = role_of(s, r, false);
    const RoleDef *d = catalog_role(session_root(s), id);
    if (!d)
        err_throw(ERR_UNDEFINED_OBJECT, "role with OID %u does not exist", id);
    return d;
}

bool
role_change(Session *s, RoleChange *c, const char *verifier)
{
    TxnOutcome outcome = txn_change_roles(s->txn, c, verifier);
    txn_end_statement(s->txn);
    return outcome == TXN_DONE;
}

static void
change(Session *s, RoleChange *c, const char *verifier)
{
    if (!role_change(s, c, verifier))
        err_throw(ERR_SERIALIZATION_FAILURE, "could not change the role because it changed meanwhile");
}

static NORETURN void
denied(const char *what)
{
    err_throw(ERR_INSUFFICIENT_PRIVILEGE, "%s", what);
}

static bool
starts_reserved(Str name)
{
    return name.len >= 3 && memcmp(name.ptr, "pg_", 3) == 0;
}

static void
check_name_free(Session *s, Str name)
{
    if (starts_reserved(name)) {
        Error err;
        error_set(&err, ERR_RESERVED_NAME, "role name \"%.*s\" is reserved", (int)name.len, name.ptr);
        error_detail(&err, "Role names starting with \"pg_\" are reserved.");
        err_rethrow(&err);
    }
    if (catalog_find_role(session_root(s), name))
        err_throw(ERR_DUPLICATE_OBJECT, "role \"%.*s\" already exists", (int)name.len, name.ptr);
}

static void
check_not_predefined(const RoleDef *d)
{
    Error err;
    if (!role_is_predefined(d->role_id))
        return;
    error_set(&err, ERR_RESERVED_NAME, "role name \"%.*s\" is reserved", (int)d->name.len, d->name.ptr);
    error_detail(&err, "Cannot alter reserved roles.");
    err_rethrow(&err);
}

/* ---- attributes ---- */

static const ARoleOption *
option_of(const AAccess *a, ARoleOptionKind kind)
{
    for (u32 i = 0; i < a->options.count; i++)
        if (LIST_AT(a->options, ARoleOption, i)->kind == kind)
            return LIST_AT(a->options, ARoleOption, i);
    return NULL;
}

static void
set_flag(const AAccess *a, ARoleOptionKind kind, u8 *flag)
{
    const ARoleOption *o = option_of(a, kind);
    if (o)
        *flag = o->on;
}

static void
set_attributes(Session *s, const AAccess *a, RoleDef *d)
{
    set_flag(a, ARO_SUPERUSER, &d->superuser);
    set_flag(a, ARO_INHERIT, &d->inherit);
    set_flag(a, ARO_CREATEROLE, &d->create_role);
    set_flag(a, ARO_CREATEDB, &d->create_db);
    set_flag(a, ARO_LOGIN, &d->can_login);
    set_flag(a, ARO_REPLICATION, &d->replication);
    set_flag(a, ARO_BYPASSRLS, &d->bypass_rls);
    const ARoleOption *limit = option_of(a, ARO_CONNECTION_LIMIT), *until = option_of(a, ARO_VALID_UNTIL);
    if (limit)
        d->connection_limit = limit->number;
    if (until) {
        Value v;
        Error err;
        CHECKED(value_in(s->message, &s->format, TYPE_TIMESTAMPTZ, -1, until->text, &v, &err), &err);
        d->valid_until = v.i64v;
        d->has_valid_until = 1;
    }
}

static void
check_limit(const AAccess *a)
{
    const ARoleOption *limit = option_of(a, ARO_CONNECTION_LIMIT);
    if (limit && limit->number < -1)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "invalid connection limit: %d", limit->number);
}

/* NULL: nothing is said of it. A verifier made by the client is stored as it is, a password becomes one here. */
static const char *
verifier_of(Session *s, const AAccess *a, char verifier[SCRAM_VERIFIER_MAX])
{
    const ARoleOption *o = option_of(a, ARO_PASSWORD);
    ScramVerifier parsed;
    verifier[0] = 0;
    if (!o)
        return NULL;
    if (!o->text.ptr)
        return verifier;
    char *text = arena_strndup(s->message, o->text.ptr, o->text.len);
    if (scram_parse(text, &parsed)) {
        if (strlen(text) >= SCRAM_VERIFIER_MAX)
            err_throw(ERR_INVALID_PARAMETER_VALUE, "the password's verifier is too long");
        strcpy(verifier, text);
    } else if (*text)
        scram_make(text, verifier);
    else
        session_notice(s, REPLY_NOTICE, ERR_NONE, "empty string is not a valid password, clearing password");
    sodium_memzero(text, o->text.len);
    return verifier;
}

/* ---- memberships ---- */

static const RoleMember *
find_member(Session *s, u32 role_id, u32 member_id)
{
    const RolesShm *all = session_root(s)->roles;
    for (u32 i = 0; all && i < all->member_count; i++)
        if (all->members[i].role_id == role_id && all->members[i].member_id == member_id)
            return &all->members[i];
    return NULL;
}

static Str
name_of(Session *s, u32 role_id)
{
    const RoleDef *d = catalog_role(session_root(s), role_id);
    return d ? d->name : STR_LIT("?");
}

static void
check_may_grant(Session *s, const RoleDef *role)
{
    const RoleDef *me = role_now(s);
    if (roles_may_grant(session_root(s), me, role))
        return;
    if (role->superuser)
        denied("must be superuser to alter superusers");
    err_throw(ERR_INSUFFICIENT_PRIVILEGE, "must have admin option on role \"%.*s\"", (int)role->name.len, role->name.ptr);
}

static void
add_member(Session *s, u32 role_id, u32 member_id, u32 grantor_id, bool admin)
{
    Str role = arena_str(s->message, name_of(s, role_id)), member = arena_str(s->message, name_of(s, member_id));
    if (member_id == ROLE_DATABASE_OWNER_OID)
        err_throw(ERR_INTERNAL_ERROR, "role \"%.*s\" cannot be a member of any role", (int)member.len, member.ptr);
    if (role_is_member(session_root(s), role_id, member_id))
        err_throw(ERR_INVALID_GRANT_OPERATION, "role \"%.*s\" is a member of role \"%.*s\"", (int)role.len, role.ptr, (int)member.len, member.ptr);
    const RoleMember *old = find_member(s, role_id, member_id);
    if (old && (!admin || old->admin)) {
        session_notice(s, REPLY_NOTICE, ERR_NONE, arena_printf(s->message, "role \"%.*s\" is already a member of role \"%.*s\"", (int)member.len,
                                                                member.ptr, (int)role.len, role.ptr));
        return;
    }
    RoleChange c = {.kind = ROLE_CHANGE_MEMBER, .member = {role_id, member_id, grantor_id, admin}};
    change(s, &c, NULL);
}

static void
drop_member(Session *s, u32 role_id, u32 member_id, bool admin_only)
{
    Str role = arena_str(s->message, name_of(s, role_id)), member = arena_str(s->message, name_of(s, member_id));
    const RoleMember *old = find_member(s, role_id, member_id);
    if (!old) {
        session_notice(s, REPLY_WARNING, ERR_WARNING, arena_printf(s->message, "role \"%.*s\" is not a member of role \"%.*s\"", (int)member.len,
                                                                   member.ptr, (int)role.len, role.ptr));
        return;
    }
    RoleChange c = {.kind = ROLE_CHANGE_MEMBER, .member = *old, .gone = !admin_only};
    c.member.admin = 0;
    change(s, &c, NULL);
}

static void
check_members_allowed(const RoleDef *role)
{
    if (role->role_id == ROLE_DATABASE_OWNER_OID)
        err_throw(ERR_INTERNAL_ERROR, "role \"%.*s\" cannot have explicit members", (int)role->name.len, role->name.ptr);
}

void
role_grant(Session *s, const AAccess *a)
{
    u32 grantor = a->grantor ? role_of(s, a->grantor, false) : s->role_id, n = a->roles.count;
    u32 *members = ARENA_ARRAY(s->message, u32, n);
    for (u32 k = 0; k < n; k++)
        members[k] = role_of(s, LIST_AT(a->roles, ARole, k), false);
    for (u32 i = 0; i < a->rights.count; i++) {
        if (LIST_AT(a->rights, ARight, i)->column_count)
            err_throw(ERR_INVALID_GRANT_OPERATION, "column names cannot be included in GRANT/REVOKE ROLE");
        ARole named = {.kind = AR_NAMED, .name = LIST_AT(a->rights, ARight, i)->word};
        u32 role = def_of(s, &named)->role_id;
        check_may_grant(s, def_of(s, &named));
        check_members_allowed(def_of(s, &named));
        if (grantor != s->role_id && !role_now(s)->superuser)
            denied("must be superuser to set grantor");
        for (u32 k = 0; k < n; k++)
            if (a->revoke)
                drop_member(s, role, members[k], a->option);
            else
                add_member(s, role, members[k], grantor, a->option);
    }
}

/* ---- CREATE ---- */

static void
check_may_create(Session *s, const RoleDef *d)
{
    const RoleDef *me = role_now(s);
    if (me->superuser)
        return;
    if (d->superuser)
        denied("must be superuser to create superusers");
    if (d->replication)
        denied("must be superuser to create replication users");
    if (d->bypass_rls)
        denied("must be superuser to create bypassrls users");
    if (!me->create_role)
        denied("permission denied to create role");
}

static void
add_listed(Session *s, const AAccess *a, ARoleOptionKind kind, u32 role_id)
{
    const ARoleOption *o = option_of(a, kind);
    for (u32 i = 0; o && i < o->roles.count; i++) {
        const ARole *r = LIST_AT(o->roles, ARole, i);
        u32 other = role_of(s, r, false);
        if (kind == ARO_IN_ROLE) {
            check_may_grant(s, def_of(s, r));
            check_members_allowed(def_of(s, r));
            add_member(s, other, role_id, s->role_id, false);
        } else
            add_member(s, role_id, other, s->role_id, kind == ARO_ADMIN);
    }
}

void
role_create(Session *s, const AAccess *a)
{
    char verifier[SCRAM_VERIFIER_MAX];
    RoleChange c = {.kind = ROLE_CHANGE_PUT, .role = {.inherit = 1, .connection_limit = -1, .can_login = a->is_user}};
    if (option_of(a, ARO_SYSID))
        session_notice(s, REPLY_NOTICE, ERR_NONE, "SYSID can no longer be specified");
    check_limit(a);
    RoleDef wanted = c.role;
    set_flag(a, ARO_SUPERUSER, &wanted.superuser);
    set_flag(a, ARO_REPLICATION, &wanted.replication);
    set_flag(a, ARO_BYPASSRLS, &wanted.bypass_rls);
    check_may_create(s, &wanted);
    check_name_free(s, a->role.name);
    set_attributes(s, a, &c.role);
    c.role.name = a->role.name;
    const char *v = verifier_of(s, a, verifier);
    change(s, &c, v ? v : "");
    sodium_memzero(verifier, sizeof verifier);
    add_listed(s, a, ARO_IN_ROLE, c.role.role_id);
    add_listed(s, a, ARO_ADMIN, c.role.role_id);
    add_listed(s, a, ARO_ROLE, c.role.role_id);
}

/* ---- ALTER ---- */

static bool
only_password(const AAccess *a)
{
    for (u32 i = 0; i < a->options.count; i++)
        if (LIST_AT(a->options, ARoleOption, i)->kind != ARO_PASSWORD)
            return false;
    return a->options.count > 0;
}

static void
check_may_alter(Session *s, const RoleDef *d, const AAccess *a)
{
    const RoleDef *me = role_now(s);
    if (me->superuser)
        return;
    if (d->superuser || option_of(a, ARO_SUPERUSER))
        denied("must be superuser to alter superuser roles or change superuser attribute");
    if (d->replication || option_of(a, ARO_REPLICATION))
        denied("must be superuser to alter replication roles or change replication attribute");
    if (option_of(a, ARO_BYPASSRLS))
        denied("must be superuser to change bypassrls attribute");
    if (!me->create_role && (d->role_id != s->role_id || !only_password(a)))
        denied("permission denied");
}

void
role_alter(Session *s, const AAccess *a)
{
    char verifier[SCRAM_VERIFIER_MAX];
    const RoleDef *d = def_of(s, &a->role);
    check_not_predefined(d);
    check_limit(a);
    check_may_alter(s, d, a);
    RoleChange c = {.kind = ROLE_CHANGE_PUT, .role = *d};
    c.role.name = arena_str(s->message, d->name);
    c.role.config = arena_str(s->message, d->config);
    set_attributes(s, a, &c.role);
    u32 id = d->role_id;
    const char *v = verifier_of(s, a, verifier);
    change(s, &c, v);
    sodium_memzero(verifier, sizeof verifier);
    const ARoleOption *members = option_of(a, ARO_ROLE);
    for (u32 i = 0; members && i < members->roles.count; i++)
        add_member(s, id, role_of(s, LIST_AT(members->roles, ARole, i), false), s->role_id, false);
}

void
role_rename(Session *s, const AAccess *a)
{
    const RoleDef *d = def_of(s, &a->role), *me = role_now(s);
    if (d->role_id == s->session_role_id)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "session user cannot be renamed");
    if (d->role_id == s->role_id)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "current user cannot be renamed");
    if (starts_reserved(d->name)) {
        Error err;
        error_set(&err, ERR_RESERVED_NAME, "role name \"%.*s\" is reserved", (int)d->name.len, d->name.ptr);
        error_detail(&err, "Role names starting with \"pg_\" are reserved.");
        err_rethrow(&err);
    }
    check_name_free(s, a->new_name);
    if (d->superuser && !me->superuser)
        denied("must be superuser to rename superusers");
    if (!me->superuser && !me->create_role)
        denied("permission denied to rename role");
    RoleChange c = {.kind = ROLE_CHANGE_PUT, .role = *d};
    c.role.name = a->new_name;
    c.role.config = arena_str(s->message, d->config);
    change(s, &c, NULL);
}

/* ---- ALTER ROLE … SET ---- */

/* The settings without this one; name.ptr NULL: without any. */
static void
copy_config(Str config, Str name, ByteBuf *to)
{
    for (u32 at = 0; name.ptr && at < config.len;) {
        const char *line = config.ptr + at, *end = memchr(line, '\n', config.len - at);
        u32 len = (u32)(end - line) + 1;
        bool same = len > name.len && line[name.len] == '=' && strncasecmp(line, name.ptr, name.len) == 0;
        if (!same)
            buf_put(to, line, len);
        at += len;
    }
}

static void
put_setting(Session *s, Str name, Str value, ByteBuf *to)
{
    const char *shown;
    char now[GUC_TEXT_MAX];
    Error err;
    const char *n = arena_strndup(s->message, name.ptr, name.len), *v = arena_strndup(s->message, value.ptr, value.len);
    CHECKED(guc_show(s->guc, n, &shown, now, sizeof now, &err) || strchr(n, '.'), &err);
    u32 level = guc_enter(s->guc); /* what SET would say of the value */
    bool ok = guc_set(s->guc, n, v, GUC_SCOPE_LOCAL, &err);
    guc_leave(s->guc, level, false);
    CHECKED(ok, &err);
    if (memchr(value.ptr, '\n', value.len))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "settings of roles with line feeds in them are not supported yet");
    buf_put(to, shown, strlen(shown));
    buf_u8(to, '=');
    buf_put(to, value.ptr, value.len);
    buf_u8(to, '\n');
}

static void
free_buf(void *buf)
{
    buf_free(buf);
}

void
role_set(Session *s, const AAccess *a)
{
    const RoleDef *d = def_of(s, &a->role), *me = role_now(s);
    check_not_predefined(d);
    if (d->superuser && !me->superuser)
        denied("must be superuser to alter superusers");
    if (!me->superuser && !me->create_role && d->role_id != s->role_id)
        denied("permission denied");
    ByteBuf *config = ARENA_NEW(s->message, ByteBuf);
    arena_hook(s->message, free_buf, config);
    RoleChange c = {.kind = ROLE_CHANGE_PUT, .role = *d};
    c.role.name = arena_str(s->message, d->name);
    copy_config(d->config, a->setting, config);
    if (a->value.ptr)
        put_setting(s, a->setting, a->value, config);
    if (config->failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    if (config->len > ROLE_CONFIG_MAX)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a role's settings are limited to %d bytes", ROLE_CONFIG_MAX);
    c.role.config = (Str){(const char *)config->data, (u32)config->len};
    change(s, &c, NULL);
}

/* ---- DROP ---- */

typedef struct Dependents {
    const Root *root;
    u32 role_id, count;
    Error *err;
} Dependents;

/* A line of the detail; PostgreSQL tells 100 of them. */
static void
tell(Dependents *d, const char *format, Str name)
{
    size_t at = strlen(d->err->detail), room = sizeof d->err->detail - at;
    char line[256];
    snprintf(line, sizeof line, format, (int)name.len, name.ptr);
    if (d->count++ < 100 && strlen(line) + 2 < room)
        snprintf(d->err->detail + at, room, "%s%s", at ? "\n" : "", line);
}

static bool
tell_table(void *ctx, const TableDef *t)
{
    Dependents *d = ctx;
    if (t->owner_id == d->role_id)
        tell(d, "owner of table %.*s", t->name);
    else if (rights_name_role(0xffffffff, t->acl, t->acl_count, d->role_id))
        tell(d, "privileges for table %.*s", t->name);
    return true;
}

static void
tell_rights(Dependents *d, const RightsDef *r, Str database)
{
    Str public = STR_LIT("public");
    bool named = rights_name_role(r->role_id, r->acl, r->acl_count, d->role_id);
    const RoleDef *of = catalog_role(d->root, r->role_id);
    Str whose = of ? of->name : STR_LIT("?");
    if (r->kind == RIGHTS_SCHEMA && named)
        tell(d, "privileges for schema %.*s", public);
    else if (r->kind == RIGHTS_DATABASE && named)
        tell(d, "privileges for database %.*s", database);
    else if (named && r->role_id == d->role_id)
        tell(d, r->kind == RIGHTS_DEFAULT_TABLES ? (r->schema_id ? "owner of default privileges on new relations belonging to role %.*s in schema public"
                                                                : "owner of default privileges on new relations belonging to role %.*s")
                                                 : "owner of default privileges on new sequences belonging to role %.*s", whose);
    else if (named)
        tell(d, r->kind == RIGHTS_DEFAULT_TABLES ? (r->schema_id ? "privileges for default privileges on new relations belonging to role %.*s in schema public"
                                                                : "privileges for default privileges on new relations belonging to role %.*s")
                                                 : "privileges for default privileges on new sequences belonging to role %.*s", whose);
}

static void
check_dependents(Session *s, const RoleDef *role)
{
    Error err;
    error_set(&err, ERR_DEPENDENT_OBJECTS, "role \"%.*s\" cannot be dropped because some objects depend on it", (int)role->name.len, role->name.ptr);
    Dependents d = {session_root(s), role->role_id, 0, &err};
    for (u32 i = 0; d.root->roles && i < d.root->roles->rights_count; i++)
        tell_rights(&d, d.root->roles->rights[i], str_of(s->database));
    catalog_each_table(d.root, tell_table, &d);
    if (d.count)
        err_rethrow(&err);
}

static void
drop_one(Session *s, const ARole *r, bool if_exists)
{
    const RoleDef *me = role_now(s);
    if (r->kind != AR_NAMED)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "cannot use special role specifier in DROP ROLE");
    const RoleDef *d = catalog_find_role(session_root(s), r->name);
    if (!d) {
        const char *text = arena_printf(s->message, "role \"%.*s\" does not exist", (int)r->name.len, r->name.ptr);
        if (!if_exists)
            err_throw(ERR_UNDEFINED_OBJECT, "%s", text);
        session_notice(s, REPLY_NOTICE, ERR_NONE, arena_printf(s->message, "%s, skipping", text));
        return;
    }
    if (d->role_id == s->role_id)
        err_throw(ERR_OBJECT_IN_USE, "current user cannot be dropped");
    if (d->role_id == s->session_role_id || d->role_id == s->signed_in_id)
        err_throw(ERR_OBJECT_IN_USE, "session user cannot be dropped");
    if (d->superuser && !me->superuser)
        denied("must be superuser to drop superusers");
    if (role_is_predefined(d->role_id) || d->role_id == ROLE_ROOT)
        err_throw(ERR_DEPENDENT_OBJECTS, "cannot drop role %.*s because it is required by the database system", (int)d->name.len, d->name.ptr);
    check_dependents(s, d);
    RoleChange c = {.kind = ROLE_CHANGE_DROP, .role_id = d->role_id};
    change(s, &c, NULL);
}

void
role_drop(Session *s, const AAccess *a)
{
    const RoleDef *me = role_now(s);
    if (!me->superuser && !me->create_role)
        denied("permission denied to drop role");
    for (u32 i = 0; i < a->roles.count; i++)
        drop_one(s, LIST_AT(a->roles, ARole, i), a->if_exists);
}

void
role_run(Session *s, const AAccess *a)
{
    static void (*const RUN[])(Session *, const AAccess *) = {
        [ACC_CREATE_ROLE] = role_create, [ACC_ALTER_ROLE] = role_alter, [ACC_RENAME_ROLE] = role_rename, [ACC_SET_ROLE] = role_set,
        [ACC_DROP_ROLE] = role_drop, [ACC_GRANT_ROLE] = role_grant, [ACC_GRANT] = grant_rights,
        [ACC_REASSIGN_OWNED] = owned_reassign, [ACC_DROP_OWNED] = owned_drop};
    transaction_stage(s);
    if (a->kind >= COUNT_OF(RUN) || !RUN[a->kind])
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "ALTER DEFAULT PRIVILEGES is not supported yet");
    RUN[a->kind](s, a);
}
