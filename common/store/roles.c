/*
 * roles.c
 *    Roles and memberships: the lists after a change, and who is a member of whom.
 *
 * Memberships are a graph without cycles (the walwriter refuses them), walked with a list of what was reached, each role once. The predefined roles
 * stand in the program. Reads the world; writes memory of who asks. Fails: no memory, and then nobody is a member of anything.
 */
#include "common/store/roles.h"

#include <stdlib.h>

#define PREDEFINED_ROLE(symbol, oid, text) {.role_id = oid, .inherit = 1, .connection_limit = -1, .name = {text, sizeof text - 1}},
static const RoleDef PREDEFINED[] = {
#include "common/store/predefined.def"
};

static const RoleMember PREDEFINED_MEMBERS[] = {
    {ROLE_READ_ALL_SETTINGS_OID, ROLE_MONITOR_OID, ROLE_ROOT, 0},
    {ROLE_READ_ALL_STATS_OID, ROLE_MONITOR_OID, ROLE_ROOT, 0},
    {ROLE_STAT_SCAN_TABLES_OID, ROLE_MONITOR_OID, ROLE_ROOT, 0},
    {ROLE_DATABASE_OWNER_OID, ROLE_ROOT, ROLE_ROOT, 0},
};

const RoleMember *
roles_predefined_members(u32 *ret_count)
{
    *ret_count = COUNT_OF(PREDEFINED_MEMBERS) - 1; /* but that of the database's owner, which is nobody's grant */
    return PREDEFINED_MEMBERS;
}

/* ---- finding ---- */

const RoleDef *
catalog_find_role(const Root *root, Str name)
{
    for (u32 i = 0; root->roles && i < root->roles->count; i++)
        if (str_eq(root->roles->roles[i]->name, name))
            return root->roles->roles[i];
    for (u32 i = 0; i < COUNT_OF(PREDEFINED); i++)
        if (str_eq(PREDEFINED[i].name, name))
            return &PREDEFINED[i];
    return NULL;
}

const RoleDef *
catalog_role(const Root *root, u32 role_id)
{
    u32 low = 0, high = root->roles ? root->roles->count : 0;
    while (low < high) {
        u32 mid = (low + high) / 2;
        if (root->roles->roles[mid]->role_id == role_id)
            return root->roles->roles[mid];
        if (root->roles->roles[mid]->role_id < role_id)
            low = mid + 1;
        else
            high = mid;
    }
    for (u32 i = 0; i < COUNT_OF(PREDEFINED); i++)
        if (PREDEFINED[i].role_id == role_id)
            return &PREDEFINED[i];
    return NULL;
}

bool
role_is_predefined(u32 role_id)
{
    return role_id < FIRST_TABLE_ID && role_id != ROLE_ROOT;
}

void
roles_each(const Root *root, bool (*visit)(void *ctx, const RoleDef *r), void *ctx)
{
    bool more = true;
    for (u32 i = 0; more && i < COUNT_OF(PREDEFINED); i++)
        more = visit(ctx, &PREDEFINED[i]);
    for (u32 i = 0; more && root->roles && i < root->roles->count; i++)
        more = visit(ctx, root->roles->roles[i]);
}

bool
roles_same_object(const RightsDef *a, const RightsDef *b)
{
    bool of_role = a->kind >= RIGHTS_DEFAULT_TABLES;
    return a->kind == b->kind && a->schema_id == b->schema_id && (!of_role || a->role_id == b->role_id);
}

const RightsDef *
roles_rights(const Root *root, RightsKind kind, u32 role_id, u32 schema_id)
{
    RightsDef wanted = {.kind = kind, .role_id = role_id, .schema_id = schema_id};
    for (u32 i = 0; root->roles && i < root->roles->rights_count; i++)
        if (roles_same_object(root->roles->rights[i], &wanted))
            return root->roles->rights[i];
    return NULL;
}

/* ---- changes ---- */

static const RoleDef *
copy_role(const RolesShm *old, const RoleChange *c, RolesAlloc alloc, void *ctx)
{
    const RoleDef *from = &c->role;
    RoleDef *r = alloc(ctx, role_bytes(from));
    if (!r)
        return NULL;
    *r = *from;
    for (u32 i = 0; c->keeps_password && old && i < old->count; i++)
        if (old->roles[i]->role_id == r->role_id)
            r->has_password = old->roles[i]->has_password;
    char *text = (char *)(r + 1);
    memcpy(text, from->name.ptr, from->name.len);
    if (from->config.len)
        memcpy(text + from->name.len, from->config.ptr, from->config.len);
    r->name.ptr = text;
    r->config.ptr = text + from->name.len;
    return r;
}

static const RightsDef *
copy_rights(const RightsDef *from, RolesAlloc alloc, void *ctx)
{
    RightsDef *r = alloc(ctx, rights_bytes(from));
    if (!r)
        return NULL;
    *r = *from;
    if (from->acl_count)
        memcpy(r + 1, from->acl, from->acl_count * sizeof *from->acl);
    r->acl = (const AclItem *)(r + 1);
    return r;
}

/* Entries of the old lists that the change replaces or takes away. */
static bool
role_goes(const RoleChange *c, const RoleDef *r)
{
    return (c->kind == ROLE_CHANGE_PUT && r->role_id == c->role.role_id) || (c->kind == ROLE_CHANGE_DROP && r->role_id == c->role_id);
}

static bool
member_goes(const RoleChange *c, const RoleMember *m)
{
    if (c->kind == ROLE_CHANGE_DROP)
        return m->role_id == c->role_id || m->member_id == c->role_id;
    return c->kind == ROLE_CHANGE_MEMBER && m->role_id == c->member.role_id && m->member_id == c->member.member_id;
}

static bool
rights_go(const RoleChange *c, const RightsDef *r)
{
    return c->kind == ROLE_CHANGE_RIGHTS && roles_same_object(r, &c->rights);
}

static RolesShm
sizes_after(const RolesShm *old, const RoleChange *c)
{
    RolesShm n = {.count = c->kind == ROLE_CHANGE_PUT, .member_count = c->kind == ROLE_CHANGE_MEMBER && !c->gone,
                  .rights_count = c->kind == ROLE_CHANGE_RIGHTS && !c->gone};
    for (u32 i = 0; old && i < old->count; i++)
        n.count += !role_goes(c, old->roles[i]);
    for (u32 i = 0; old && i < old->member_count; i++)
        n.member_count += !member_goes(c, &old->members[i]);
    for (u32 i = 0; old && i < old->rights_count; i++)
        n.rights_count += !rights_go(c, old->rights[i]);
    return n;
}

u64
roles_change_bytes(const RolesShm *old, const RoleChange *c)
{
    RolesShm n = sizes_after(old, c);
    return roles_bytes(&n) + (c->kind == ROLE_CHANGE_PUT ? role_bytes(&c->role) : c->kind == ROLE_CHANGE_RIGHTS ? rights_bytes(&c->rights) : 0);
}

RolesShm *
roles_change(const RolesShm *old, const RoleChange *c, RolesAlloc alloc, void *ctx)
{
    const RoleDef *role = c->kind == ROLE_CHANGE_PUT ? copy_role(old, c, alloc, ctx) : NULL;
    const RightsDef *rights = c->kind == ROLE_CHANGE_RIGHTS && !c->gone ? copy_rights(&c->rights, alloc, ctx) : NULL;
    RolesShm n = sizes_after(old, c), *to = alloc(ctx, roles_bytes(&n));
    if (!to || (c->kind == ROLE_CHANGE_PUT && !role) || (c->kind == ROLE_CHANGE_RIGHTS && !c->gone && !rights))
        return NULL;
    const RoleDef **roles = (const RoleDef **)(to + 1);
    const RightsDef **all_rights = (const RightsDef **)(roles + n.count);
    RoleMember *members = (RoleMember *)(all_rights + n.rights_count);
    *to = (RolesShm){n.count, n.member_count, n.rights_count, 0, roles, members, all_rights};
    for (u32 i = 0; old && i < old->count; i++) {
        if (role && old->roles[i]->role_id >= role->role_id) {
            *roles++ = role;
            role = NULL;
        }
        if (!role_goes(c, old->roles[i]))
            *roles++ = old->roles[i];
    }
    if (role)
        *roles++ = role;
    for (u32 i = 0; old && i < old->member_count; i++)
        if (!member_goes(c, &old->members[i]))
            *members++ = old->members[i];
    if (c->kind == ROLE_CHANGE_MEMBER && !c->gone)
        *members++ = c->member;
    for (u32 i = 0; old && i < old->rights_count; i++)
        if (!rights_go(c, old->rights[i]))
            *all_rights++ = old->rights[i];
    if (rights)
        *all_rights++ = rights;
    return to;
}

/* ---- membership ---- */

typedef struct Reached {
    const Root *root;
    u32 *ids, count, capacity;
    u32 few[64];
} Reached;

static void
reach(Reached *r, u32 id)
{
    for (u32 i = 0; i < r->count; i++)
        if (r->ids[i] == id)
            return;
    if (r->count == r->capacity) {
        u32 *more = malloc(r->capacity * 2 * sizeof *more);
        if (!more)
            return;
        memcpy(more, r->ids, r->count * sizeof *more);
        if (r->ids != r->few)
            free(r->ids);
        r->ids = more;
        r->capacity *= 2;
    }
    r->ids[r->count++] = id;
}

static void
reach_from(Reached *r, const RoleMember *members, u32 count, u32 id)
{
    for (u32 i = 0; i < count; i++)
        if (members[i].member_id == id)
            reach(r, members[i].role_id);
}

static bool
reaches(const Root *root, u32 role_id, u32 of, bool inheriting)
{
    if (role_id == of)
        return true;
    Reached r = {.root = root, .ids = NULL, .count = 1, .capacity = COUNT_OF(r.few)};
    r.ids = r.few;
    r.few[0] = role_id;
    bool found = false;
    for (u32 i = 0; i < r.count && !found; i++) {
        const RoleDef *d = catalog_role(root, r.ids[i]);
        found = r.ids[i] == of;
        if (!d || (inheriting && !d->inherit))
            continue;
        reach_from(&r, PREDEFINED_MEMBERS, COUNT_OF(PREDEFINED_MEMBERS), r.ids[i]);
        if (root->roles)
            reach_from(&r, root->roles->members, root->roles->member_count, r.ids[i]);
    }
    if (r.ids != r.few)
        free(r.ids);
    return found;
}

bool
role_is_superuser(const Root *root, u32 role_id)
{
    const RoleDef *r = catalog_role(root, role_id);
    return r && r->superuser;
}

bool
role_is_member(const Root *root, u32 role_id, u32 of)
{
    return reaches(root, role_id, of, false);
}

bool
role_has_privs(const Root *root, u32 role_id, u32 of)
{
    return reaches(root, role_id, of, true);
}

bool
role_may_as(const Root *root, u32 role_id, u32 of)
{
    return role_is_superuser(root, role_id) || reaches(root, role_id, of, true);
}

/* Over any of the memberships that it has, directly or not. */
bool
role_is_admin(const Root *root, u32 role_id, u32 of)
{
    if (role_is_superuser(root, role_id))
        return true;
    for (u32 i = 0; root->roles && i < root->roles->member_count; i++) {
        const RoleMember *m = &root->roles->members[i];
        if (m->role_id == of && m->admin && reaches(root, role_id, m->member_id, false))
            return true;
    }
    return false;
}

bool
roles_may_change(const RoleDef *asker, const RoleDef *old, const RoleDef *wanted)
{
    if (asker->superuser)
        return true;
    bool reserved = wanted->superuser || wanted->replication || wanted->bypass_rls;
    if (!old)
        return asker->create_role && !reserved;
    if (old->superuser || wanted->superuser || old->replication || wanted->replication || old->bypass_rls != wanted->bypass_rls)
        return false;
    if (asker->create_role)
        return true;
    return old->role_id == asker->role_id && wanted->can_login == old->can_login && !wanted->create_role && wanted->create_db == old->create_db &&
           wanted->inherit == old->inherit && wanted->connection_limit == old->connection_limit && str_eq(wanted->name, old->name) &&
           wanted->has_valid_until == old->has_valid_until && wanted->valid_until == old->valid_until;
}

bool
roles_may_grant(const Root *root, const RoleDef *asker, const RoleDef *of)
{
    return asker->superuser || (!of->superuser && (asker->create_role || role_is_admin(root, asker->role_id, of->role_id)));
}
