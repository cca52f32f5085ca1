/*
 * rights.h
 *    What a role may do to an object: the one place that decides, from the object's owner and its list of rights. What is not granted is denied.
 */
#ifndef RIGHTS_H
#define RIGHTS_H

#include "common/base/bytes.h"
#include "common/store/roles.h"

/* An object as rights see it: its owner, and the list (NULL: those that it has by default). */
typedef struct RightsOf {
    u32 owner_id;
    const AclItem *acl;
    u32 acl_count;
    bool by_default;  /* nobody has changed them: the owner has all */
    u32 all;          /* bits that such an object knows */
} RightsOf;

enum { AUTHID_OID = 1260 }; /* pg_authid, also within pg_shadow: for superusers, and who may read all data */
RightsOf rights_of_table(const TableDef *t);
RightsOf rights_of_database(const Root *root);
RightsOf rights_of_schema(const Root *root); /* public, the only one */
/* The rights that the role has, as bits: on the whole object (column 0), or on one column and not on the whole. 0 for a role that is not there. */
u32 rights_mask(const Root *root, const RightsOf *o, u32 role_id, u32 column);
/* Those that it may grant. */
u32 rights_grantable(const Root *root, const RightsOf *o, u32 role_id, u32 column);
/* All of these bits on the whole object. */
bool rights_allow(const Root *root, const RightsOf *o, u32 role_id, u32 bits);
/* One of the bits, on the whole table or on this column. */
bool rights_allow_column(const Root *root, const TableDef *t, u32 role_id, u32 column, u32 bit);
/* Owner, member of the owner that inherits, or superuser. */
bool rights_own(const Root *root, u32 owner_id, u32 role_id);

/* Whether the role may turn one list into another: the owner all of it; others what the grantors give that it may act as, from what these may grant, and
 * what is lost by who lost the right to grant it. */
bool rights_may_become(const Root *root, const RightsOf *before, const RightsOf *after, u32 role_id);
/* The role owns the object, has rights on it, or gave some. */
bool rights_name_role(u32 owner_id, const AclItem *acl, u32 count, u32 role_id);

/* In place: what the old owner had and gave is the new one's, items that are the same then are one. How many are left. */
u32 rights_new_owner(AclItem *items, u32 count, u32 old_id, u32 new_id);

/* One right as the letter of acl texts, and as its word; bit is a single one. */
char rights_letter(u32 bit);
const char *rights_word(u32 bit);
/* The text of pg_class.relacl, pg_attribute.attacl (column > 0) and the like, an array of aclitem: {a=r/b,=r/b}. false: NULL. */
bool rights_text(const Root *root, const RightsOf *o, u32 column, ByteBuf *to);
/* One aclitem. */
void rights_item_text(const Root *root, const AclItem *i, ByteBuf *to);

#endif
