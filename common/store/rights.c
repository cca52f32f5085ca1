/*
 * rights.c
 *    Who may do what: lists of rights read for a role and all that it is a member of; and their text.
 *
 * Default deny: a bit is there because an item names the role, one whose rights it has, or PUBLIC; because nobody has changed the rights and the role owns
 * the object; because it is a superuser; or because of a predefined role. Nothing else gives one. Only reads.
 */
#include "common/store/rights.h"

#include <stdio.h>

static const struct { u32 bit; char letter; const char *word; } BITS[] = {
    {ACL_INSERT, 'a', "INSERT"}, {ACL_SELECT, 'r', "SELECT"}, {ACL_UPDATE, 'w', "UPDATE"}, {ACL_DELETE, 'd', "DELETE"},
    {ACL_TRUNCATE, 'D', "TRUNCATE"}, {ACL_REFERENCES, 'x', "REFERENCES"}, {ACL_TRIGGER, 't', "TRIGGER"}, {ACL_EXECUTE, 'X', "EXECUTE"},
    {ACL_USAGE, 'U', "USAGE"}, {ACL_CREATE, 'C', "CREATE"}, {ACL_TEMP, 'T', "TEMPORARY"}, {ACL_CONNECT, 'c', "CONNECT"},
};

/* ---- objects ---- */

RightsOf
rights_of_table(const TableDef *t)
{
    if (t->table_id < FIRST_TABLE_ID) { /* everybody may read the system's, but for pg_authid */
        static const AclItem READ[] = {{.role_id = ROLE_ROOT, .bits = ACL_ALL_TABLE, .grant_bits = 0, .grantor_id = ROLE_ROOT},
                                       {.bits = ACL_SELECT, .grantor_id = ROLE_ROOT}};
        return (RightsOf){ROLE_ROOT, READ, t->table_id == AUTHID_OID ? 1 : COUNT_OF(READ), false, ACL_ALL_TABLE};
    }
    return (RightsOf){t->owner_id, t->acl, t->acl_count, !t->has_acl, ACL_ALL_TABLE};
}

static RightsOf
of_object(const Root *root, RightsKind kind, u32 schema_id, RightsOf otherwise)
{
    const RightsDef *r = roles_rights(root, kind, 0, schema_id);
    return r ? (RightsOf){r->role_id, r->acl, r->acl_count, false, otherwise.all} : otherwise;
}

RightsOf
rights_of_database(const Root *root)
{
    static const AclItem START[] = {{.bits = ACL_TEMP | ACL_CONNECT, .grantor_id = ROLE_ROOT},
                                    {.role_id = ROLE_ROOT, .bits = ACL_ALL_DATABASE, .grantor_id = ROLE_ROOT}};
    return of_object(root, RIGHTS_DATABASE, 0, (RightsOf){ROLE_ROOT, START, COUNT_OF(START), true, ACL_ALL_DATABASE});
}

RightsOf
rights_of_schema(const Root *root)
{
    static const AclItem START[] = {{.role_id = ROLE_DATABASE_OWNER_OID, .bits = ACL_ALL_SCHEMA, .grantor_id = ROLE_DATABASE_OWNER_OID},
                                    {.bits = ACL_USAGE, .grantor_id = ROLE_DATABASE_OWNER_OID}};
    return of_object(root, RIGHTS_SCHEMA, SCHEMA_PUBLIC, (RightsOf){ROLE_DATABASE_OWNER_OID, START, COUNT_OF(START), false, ACL_ALL_SCHEMA});
}

/* ---- deciding ---- */

bool
rights_own(const Root *root, u32 owner_id, u32 role_id)
{
    const RoleDef *r = catalog_role(root, role_id);
    return r && (r->superuser || role_has_privs(root, role_id, owner_id));
}

u32
rights_mask(const Root *root, const RightsOf *o, u32 role_id, u32 column)
{
    const RoleDef *r = catalog_role(root, role_id);
    if (!r)
        return 0;
    if (r->superuser)
        return o->all;
    u32 bits = 0;
    if (o->by_default && !column && role_has_privs(root, role_id, o->owner_id))
        bits = o->all;
    for (u32 i = 0; i < o->acl_count; i++) {
        const AclItem *a = &o->acl[i];
        if (a->column == column && (a->bits & ~bits) && (a->role_id == 0 || role_has_privs(root, role_id, a->role_id)))
            bits |= a->bits;
    }
    if (o->all == ACL_ALL_TABLE && !column) {
        if (!(bits & ACL_SELECT) && role_has_privs(root, role_id, ROLE_READ_ALL_DATA_OID))
            bits |= ACL_SELECT;
        u32 writes = ACL_INSERT | ACL_UPDATE | ACL_DELETE;
        if ((bits & writes) != writes && role_has_privs(root, role_id, ROLE_WRITE_ALL_DATA_OID))
            bits |= writes;
    }
    if (o->all == ACL_ALL_SCHEMA && !(bits & ACL_USAGE) &&
        (role_has_privs(root, role_id, ROLE_READ_ALL_DATA_OID) || role_has_privs(root, role_id, ROLE_WRITE_ALL_DATA_OID)))
        bits |= ACL_USAGE;
    return bits;
}

u32
rights_grantable(const Root *root, const RightsOf *o, u32 role_id, u32 column)
{
    const RoleDef *r = catalog_role(root, role_id);
    if (!r)
        return 0;
    if (r->superuser || role_has_privs(root, role_id, o->owner_id))
        return o->all;
    u32 bits = 0;
    for (u32 i = 0; i < o->acl_count; i++) {
        const AclItem *a = &o->acl[i];
        if (a->column == column && (a->grant_bits & ~bits) && a->role_id && role_has_privs(root, role_id, a->role_id))
            bits |= a->grant_bits;
    }
    return bits;
}

bool
rights_allow(const Root *root, const RightsOf *o, u32 role_id, u32 bits)
{
    return (rights_mask(root, o, role_id, 0) & bits) == bits;
}

bool
rights_allow_column(const Root *root, const TableDef *t, u32 role_id, u32 column, u32 bit)
{
    RightsOf o = rights_of_table(t);
    return ((rights_mask(root, &o, role_id, 0) | rights_mask(root, &o, role_id, column)) & bit) != 0;
}

bool
catalog_allows(const Root *root, const TableDef *t, u32 role_id, u32 acl_bits)
{
    RightsOf o = rights_of_table(t);
    return rights_allow(root, &o, role_id, acl_bits);
}

/* ---- changing ---- */

static const AclItem *
same_item(const RightsOf *o, const AclItem *like)
{
    for (u32 i = 0; i < o->acl_count; i++)
        if (o->acl[i].role_id == like->role_id && o->acl[i].grantor_id == like->grantor_id && o->acl[i].column == like->column)
            return &o->acl[i];
    return NULL;
}

static u32
may_grant(const Root *root, const RightsOf *o, u32 role_id, u32 column)
{
    return rights_grantable(root, o, role_id, 0) | (column ? rights_grantable(root, o, role_id, column) : 0);
}

bool
rights_may_become(const Root *root, const RightsOf *before, const RightsOf *after, u32 role_id)
{
    if (rights_own(root, before->owner_id, role_id))
        return true;
    for (u32 i = 0; i < after->acl_count; i++) {
        const AclItem *now = &after->acl[i], *was = same_item(before, now);
        u32 more = (now->bits & ~(was ? was->bits : 0)) | (now->grant_bits & ~(was ? was->grant_bits : 0));
        bool owners_own = before->by_default && now->role_id == before->owner_id && now->grantor_id == before->owner_id && !now->grant_bits;
        if (more && !owners_own &&
            (!role_may_as(root, role_id, now->grantor_id) || (more & ~may_grant(root, before, now->grantor_id, now->column))))
            return false;
    }
    for (u32 i = 0; i < before->acl_count; i++) {
        const AclItem *was = &before->acl[i], *now = same_item(after, was);
        u32 less = (was->bits & ~(now ? now->bits : 0)) | (was->grant_bits & ~(now ? now->grant_bits : 0));
        if (less && !role_may_as(root, role_id, was->grantor_id) && (less & may_grant(root, after, was->grantor_id, was->column)))
            return false;
    }
    return !before->by_default || after->by_default || same_item(after, &(AclItem){.role_id = before->owner_id, .grantor_id = before->owner_id});
}

bool
rights_name_role(u32 owner_id, const AclItem *acl, u32 count, u32 role_id)
{
    bool found = owner_id == role_id;
    for (u32 i = 0; i < count && !found; i++)
        found = acl[i].role_id == role_id || acl[i].grantor_id == role_id;
    return found;
}

u32
rights_new_owner(AclItem *items, u32 count, u32 old_id, u32 new_id)
{
    u32 n = 0;
    for (u32 i = 0; i < count; i++) {
        AclItem now = items[i];
        now.role_id = now.role_id == old_id ? new_id : now.role_id;
        now.grantor_id = now.grantor_id == old_id ? new_id : now.grantor_id;
        AclItem *same = NULL;
        for (u32 k = 0; k < n && !same; k++)
            if (items[k].role_id == now.role_id && items[k].grantor_id == now.grantor_id && items[k].column == now.column)
                same = &items[k];
        if (same) {
            same->bits |= now.bits;
            same->grant_bits |= now.grant_bits;
        } else
            items[n++] = now;
    }
    return n;
}

/* ---- text ---- */

char
rights_letter(u32 bit)
{
    for (u32 i = 0; i < COUNT_OF(BITS); i++)
        if (BITS[i].bit == bit)
            return BITS[i].letter;
    return '?';
}

const char *
rights_word(u32 bit)
{
    for (u32 i = 0; i < COUNT_OF(BITS); i++)
        if (BITS[i].bit == bit)
            return BITS[i].word;
    return "?";
}

/* As aclitem prints it: quoted when it is more than letters, digits and underscores. */
static void
put_role(const Root *root, u32 role_id, ByteBuf *to)
{
    const RoleDef *r = catalog_role(root, role_id);
    char number[16];
    Str name = r ? r->name : (Str){number, (u32)snprintf(number, sizeof number, "%u", role_id)};
    bool plain = true;
    for (u32 i = 0; i < name.len; i++) {
        u8 c = (u8)name.ptr[i];
        plain &= c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    if (!plain)
        buf_u8(to, '"');
    for (u32 i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            buf_u8(to, '"');
        buf_u8(to, (u8)name.ptr[i]);
    }
    if (!plain)
        buf_u8(to, '"');
}

void
rights_item_text(const Root *root, const AclItem *item, ByteBuf *to)
{
    if (item->role_id)
        put_role(root, item->role_id, to);
    buf_u8(to, '=');
    for (u32 i = 0; i < COUNT_OF(BITS); i++) {
        if (item->bits & BITS[i].bit)
            buf_u8(to, (u8)BITS[i].letter);
        if (item->grant_bits & BITS[i].bit)
            buf_u8(to, '*');
    }
    buf_u8(to, '/');
    put_role(root, item->grantor_id, to);
}

/* An item as an element of an array: what has quotes in it is quoted once more. */
static void
put_element(const ByteBuf *item, ByteBuf *to)
{
    bool quote = memchr(item->data, '"', item->len) != NULL;
    if (quote)
        buf_u8(to, '"');
    for (size_t i = 0; i < item->len; i++) {
        if (item->data[i] == '"')
            buf_u8(to, '\\');
        buf_u8(to, item->data[i]);
    }
    if (quote)
        buf_u8(to, '"');
}

bool
rights_text(const Root *root, const RightsOf *o, u32 column, ByteBuf *to)
{
    u32 n = 0;
    if (o->by_default && !column)
        return false;
    for (u32 i = 0; i < o->acl_count; i++) {
        if (o->acl[i].column != column)
            continue;
        ByteBuf item = {0};
        rights_item_text(root, &o->acl[i], &item);
        buf_u8(to, n++ ? ',' : '{');
        if (!item.failed)
            put_element(&item, to);
        buf_free(&item);
    }
    if (n == 0 && column)
        return false;
    if (n == 0)
        buf_u8(to, '{');
    buf_u8(to, '}');
    return true;
}
