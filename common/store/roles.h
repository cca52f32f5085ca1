/*
 * roles.h
 *    The roles, who is a member of whom, and the rights on what is no table: reading them, and making the next lists from the last.
 *
 * All of it hangs on Root.roles (RolesShm), one immutable piece and the RoleDefs and RightsDefs it points to. roles_change is the one function that
 * makes a new one: the walwriter with memory of the world, a transaction (own.h) with its own.
 */
#ifndef ROLES_H
#define ROLES_H

#include "common/store/shape.h"

enum {
#define PREDEFINED_ROLE(symbol, oid, name) ROLE_##symbol##_OID = oid,
#include "common/store/predefined.def"
};

/* Makes bytes; NULL: there are none. */
typedef void *(*RolesAlloc)(void *ctx, u64 bytes);
/* The lists after the change, old NULL: there were none. New pieces are copies, the others are shared. NULL without memory. */
RolesShm *roles_change(const RolesShm *old, const RoleChange *c, RolesAlloc alloc, void *ctx);
/* What roles_change takes at most. */
u64 roles_change_bytes(const RolesShm *old, const RoleChange *c);
bool roles_same_object(const RightsDef *a, const RightsDef *b);
/* NULL: nobody has changed them yet. */
const RightsDef *roles_rights(const Root *root, RightsKind kind, u32 role_id, u32 schema_id);

bool role_is_predefined(u32 role_id);
const RoleMember *roles_predefined_members(u32 *ret_count);
/* Calls visit for every role, those that are predefined first, until it returns false. */
void roles_each(const Root *root, bool (*visit)(void *ctx, const RoleDef *r), void *ctx);

/* Whether the role is `of`, or a member of it over any number of steps. A superuser is one of all when `super` is asked for. */
bool role_is_member(const Root *root, u32 role_id, u32 of);
/* The same, but not beyond roles that do not inherit: whose rights it has without SET ROLE. */
bool role_has_privs(const Root *root, u32 role_id, u32 of);
/* May grant membership in `of`. */
bool role_is_admin(const Root *root, u32 role_id, u32 of);
bool role_is_superuser(const Root *root, u32 role_id);
/* May make the role what `wanted` says; old NULL: a new one. */
bool roles_may_change(const RoleDef *asker, const RoleDef *old, const RoleDef *wanted);
/* May give and take memberships in it. */
bool roles_may_grant(const Root *root, const RoleDef *asker, const RoleDef *of);
/* Superuser, or has the rights of it. */
bool role_may_as(const Root *root, u32 role_id, u32 of);

#endif
