/* role.h: roles and rights as statements: CREATE, ALTER, DROP ROLE, memberships (role.c), rights (grant.c), what roles own (owned.c). */
#ifndef ROLE_H
#define ROLE_H

#include "backend/session.h"
#include "backend/sql/ast.h"
#include "common/store/rights.h"

/* The role that the session acts as now. Throws when it has been dropped. */
const RoleDef *role_now(Session *s);
/* Who is meant; 42704 when there is none. PUBLIC is ROLE_PUBLIC if allowed. */
enum { ROLE_PUBLIC = 0 };
u32 role_of(Session *s, const ARole *r, bool public_allowed);
/* One change at the walwriter, seen by what follows. false: the catalog moved, and the statement must look again. */
bool role_change(Session *s, RoleChange *c, const char *verifier);

void role_create(Session *s, const AAccess *a);
void role_alter(Session *s, const AAccess *a);
void role_rename(Session *s, const AAccess *a);
void role_set(Session *s, const AAccess *a);
void role_drop(Session *s, const AAccess *a);
void role_grant(Session *s, const AAccess *a);
void grant_rights(Session *s, const AAccess *a);
void owned_reassign(Session *s, const AAccess *a);
void owned_drop(Session *s, const AAccess *a);
/* Runs any of them. */
void role_run(Session *s, const AAccess *a);

#endif
