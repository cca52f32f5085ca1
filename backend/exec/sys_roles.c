/*
 * sys_roles.c
 *    pg_authid, pg_roles, pg_auth_members, pg_db_role_setting, and the lists of rights that other relations show (system_rights).
 *
 * Passwords are not known here: verifiers are out of reach once a session has signed in, so pg_authid shows whether there is one, not which.
 */
#include "backend/exec/system.h"

#include "common/store/rights.h"

void
system_rights(SystemRows *r, const RightsOf *o, u32 column)
{
    const Root *root = r->exec->snapshot->root;
    u32 n = 0;
    if (o->by_default && !column) {
        system_null(r);
        return;
    }
    Str *texts = ARENA_ARRAY(r->arena, Str, o->acl_count);
    for (u32 i = 0; i < o->acl_count; i++) {
        if (o->acl[i].column != column)
            continue;
        ByteBuf b = {0};
        rights_item_text(root, &o->acl[i], &b);
        texts[n++] = arena_str(r->arena, (Str){(const char *)b.data, (u32)b.len});
        buf_free(&b);
    }
    if (n == 0 && column)
        system_null(r);
    else
        system_texts(r, texts, n);
}

static void
put_config(SystemRows *r, Str config)
{
    u32 n = 0;
    Str *lines = ARENA_ARRAY(r->arena, Str, config.len);
    for (u32 at = 0; at < config.len;) {
        const char *line = config.ptr + at, *end = memchr(line, '\n', config.len - at);
        lines[n++] = (Str){line, (u32)(end - line)};
        at = (u32)(end + 1 - config.ptr);
    }
    if (n)
        system_texts(r, lines, n);
    else
        system_null(r);
}

static void
put_valid_until(SystemRows *r, const RoleDef *d)
{
    if (d->has_valid_until)
        system_int(r, d->valid_until);
    else
        system_null(r);
}

static bool
authid_row(void *ctx, const RoleDef *d)
{
    SystemRows *r = ctx;
    system_int(r, d->role_id);
    system_text(r, d->name);
    system_bool(r, d->superuser);
    system_bool(r, d->inherit);
    system_bool(r, d->create_role);
    system_bool(r, d->create_db);
    system_bool(r, d->can_login);
    system_bool(r, d->replication);
    system_bool(r, d->bypass_rls);
    system_int(r, d->connection_limit);
    system_string(r, d->has_password ? "********" : NULL);
    put_valid_until(r, d);
    system_end_row(r);
    return true;
}

static bool
roles_row(void *ctx, const RoleDef *d)
{
    SystemRows *r = ctx;
    system_text(r, d->name);
    system_bool(r, d->superuser);
    system_bool(r, d->inherit);
    system_bool(r, d->create_role);
    system_bool(r, d->create_db);
    system_bool(r, d->can_login);
    system_bool(r, d->replication);
    system_int(r, d->connection_limit);
    system_string(r, "********");
    put_valid_until(r, d);
    system_bool(r, d->bypass_rls);
    put_config(r, d->config);
    system_int(r, d->role_id);
    system_end_row(r);
    return true;
}

void
system_rows_AUTHID(SystemRows *r)
{
    roles_each(r->exec->snapshot->root, authid_row, r);
}

void
system_rows_ROLES(SystemRows *r)
{
    roles_each(r->exec->snapshot->root, roles_row, r);
}

void
system_rows_AUTH_MEMBERS(SystemRows *r)
{
    const Root *root = r->exec->snapshot->root;
    u32 count;
    const RoleMember *fixed = roles_predefined_members(&count);
    for (u32 i = 0; i < count + (root->roles ? root->roles->member_count : 0); i++) {
        const RoleMember *m = i < count ? &fixed[i] : &root->roles->members[i - count];
        const RoleDef *d = catalog_role(root, m->member_id);
        system_int(r, FIRST_TABLE_ID - 1000 + i); /* no number is kept for them */
        system_int(r, m->role_id);
        system_int(r, m->member_id);
        system_int(r, m->grantor_id);
        system_bool(r, m->admin);
        system_bool(r, d && d->inherit);
        system_bool(r, true);
        system_end_row(r);
    }
}

static bool
setting_row(void *ctx, const RoleDef *d)
{
    SystemRows *r = ctx;
    if (!d->config.len)
        return true;
    system_int(r, 0);
    system_int(r, d->role_id);
    put_config(r, d->config);
    system_end_row(r);
    return true;
}

void
system_rows_DB_ROLE_SETTING(SystemRows *r)
{
    roles_each(r->exec->snapshot->root, setting_row, r);
}

void
system_rows_DEFAULT_ACL(SystemRows *r)
{
    const Root *root = r->exec->snapshot->root;
    for (u32 i = 0; root->roles && i < root->roles->rights_count; i++) {
        const RightsDef *d = root->roles->rights[i];
        if (d->kind < RIGHTS_DEFAULT_TABLES)
            continue;
        RightsOf o = {d->role_id, d->acl, d->acl_count, false, ACL_ALL_TABLE};
        system_int(r, FIRST_TABLE_ID - 2000 + i); /* no number is kept for them */
        system_int(r, d->role_id);
        system_int(r, d->schema_id);
        system_int(r, d->kind == RIGHTS_DEFAULT_TABLES ? 'r' : 'S');
        system_rights(r, &o, 0);
        system_end_row(r);
    }
}
