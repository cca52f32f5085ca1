/*
 * acting.c
 *    Who the session acts as: the role that signed in, or another by SET SESSION AUTHORIZATION, or by SET ROLE.
 *
 * The parameters "role" and "session_authorization" hold names and follow transactions like all others (guc.c). What a name meant is remembered when it is
 * set, so that coming back to it needs no catalog, and a role of that name made since is not taken for it. One that was dropped meanwhile stays what the session acts as, and has no rights: the catalog knows it no more.
 *
 * Writes: who the session is, the box's role. Plans are made for one role (role_serial). Fails: acting_check, with PostgreSQL's errors.
 */
#include "backend/session.h"

#include "common/store/roles.h"

#include <stdio.h>
#include <strings.h>

struct RoleSeen {
    RoleSeen *next;
    u32 role_id;
    bool superuser;
    char name[NAME_BYTES];
};

static RoleSeen *
find_seen(Session *s, const char *name)
{
    for (RoleSeen *r = s->roles_seen; r; r = r->next)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

static void
remember(Session *s, const char *name, const RoleDef *role)
{
    RoleSeen *r = find_seen(s, name);
    if (!r) {
        r = ARENA_NEW(s->arena, RoleSeen);
        snprintf(r->name, sizeof r->name, "%s", name);
        r->next = s->roles_seen;
        s->roles_seen = r;
    }
    r->role_id = role->role_id;
    r->superuser = role->superuser;
}

bool
acting_check(Session *s, const char *name, const char *value, Error *err)
{
    bool is_role = strcasecmp(name, "role") == 0;
    if ((!is_role && strcasecmp(name, "session_authorization") != 0) || !value || (is_role && strcasecmp(value, "none") == 0))
        return true;
    const Root *root = txn_root(s->txn);
    const RoleDef *role = strlen(value) < NAME_BYTES ? catalog_find_role(root, str_of(value)) : NULL;
    if (!role)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "role \"%s\" does not exist", value);
    if (is_role && !role_is_superuser(root, s->session_role_id) && !role_is_member(root, s->session_role_id, role->role_id))
        return error_set(err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to set role \"%s\"", value);
    if (!is_role && role->role_id != s->signed_in_id && !role_is_superuser(root, s->signed_in_id))
        return error_set(err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to set session authorization");
    remember(s, value, role);
    return true;
}

/* Names that are not in the memory do not come: they were checked when they were set. */
static void
become(Session *s, const RoleSeen *session, const RoleSeen *role)
{
    if (role->role_id == s->role_id && session->role_id == s->session_role_id && strcmp(s->role_name, role->name) == 0)
        return;
    s->session_role_id = session->role_id;
    s->role_id = role->role_id;
    s->superuser = role->superuser;
    snprintf(s->session_role_name, sizeof s->session_role_name, "%s", session->name);
    snprintf(s->role_name, sizeof s->role_name, "%s", role->name);
    s->role_serial++;
    txn_set_role(s->txn, s->role_id);
    guc_fix(s->guc, GUC_is_superuser, s->superuser ? "on" : "off");
}

void
acting_apply(Session *s)
{
    const char *name = guc_text(s->guc, GUC_session_authorization), *role_name = guc_text(s->guc, GUC_role);
    const RoleSeen *session = find_seen(s, name), *role = strcmp(role_name, "none") == 0 ? session : find_seen(s, role_name);
    if (session && role)
        become(s, session, role);
}

void
acting_sign_in(Session *s, const RoleDef *role)
{
    snprintf(s->signed_in_name, sizeof s->signed_in_name, "%.*s", (int)role->name.len, role->name.ptr);
    s->signed_in_id = role->role_id;
    remember(s, s->signed_in_name, role);
    const RoleSeen *self = find_seen(s, s->signed_in_name);
    guc_fix(s->guc, GUC_session_authorization, s->signed_in_name);
    become(s, self, self);
}

void
acting_check_rights(Session *s, const BStmt *b)
{
    if (b->right_count)
        sql_check_rights(txn_newest_root(s->txn), s->role_id, b);
}
