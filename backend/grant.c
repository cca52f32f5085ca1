/*
 * grant.c
 *    GRANT and REVOKE on tables, columns, the schema and the database, as the session runs them.
 *
 * An object's list of rights is copied, changed item by item, and sent whole with the version that was looked at; when another one has changed it meanwhile
 * the walwriter says so, and the statement looks again. Who grants is chosen as PostgreSQL does: the owner when one may act as the owner, else the role
 * that may grant most. What depends on a right to grant that is taken goes too (CASCADE), or the statement fails. Fails: by throwing.
 */
#include "backend/role.h"

#include "backend/throw.h"
#include "common/store/system.h"

#include <stdio.h>
#include <strings.h>

enum { TRIES_MAX = 10 };

/* The list on its way. */
typedef struct List {
    Session *s;
    AclItem *items;
    u32 count, capacity;
    u32 owner_id;
} List;

/* What the statement asks for, with names looked up. */
typedef struct Wanted {
    const AAccess *a;
    u32 *grantees, grantee_count;
    bool all;  /* no right is named */
} Wanted;

static AclItem *
find_item(List *l, u32 column, u32 role_id, u32 grantor_id)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i].column == column && l->items[i].role_id == role_id && l->items[i].grantor_id == grantor_id)
            return &l->items[i];
    return NULL;
}

static AclItem *
item_for(List *l, u32 column, u32 role_id, u32 grantor_id)
{
    AclItem *i = find_item(l, column, role_id, grantor_id);
    if (i)
        return i;
    if (l->count == l->capacity) {
        u32 capacity = MAX(l->capacity * 2, 16u);
        AclItem *more = ARENA_ARRAY(l->s->message, AclItem, capacity);
        if (l->count)
            memcpy(more, l->items, l->count * sizeof *more);
        l->items = more;
        l->capacity = capacity;
    }
    l->items[l->count] = (AclItem){.role_id = role_id, .grantor_id = grantor_id, .column = column};
    return &l->items[l->count++];
}

static void
remove_empty(List *l)
{
    u32 n = 0;
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i].bits | l->items[i].grant_bits)
            l->items[n++] = l->items[i];
    l->count = n;
}

/* The rights to grant that a role still has by the list itself. */
static u32
still_grantable(const List *l, u32 column, u32 role_id)
{
    u32 bits = role_id == l->owner_id ? ~0u : 0;
    for (u32 i = 0; i < l->count; i++)
        if (l->items[i].column == column && l->items[i].role_id == role_id)
            bits |= l->items[i].grant_bits;
    return bits;
}

static void take(List *l, u32 column, u32 role_id, u32 grantor_id, u32 bits, bool option_only, bool cascade);

/* The role has lost rights to grant: what it granted of them goes. */
static void
take_dependent(List *l, u32 column, u32 role_id, u32 lost, bool cascade)
{
    lost &= ~still_grantable(l, column, role_id);
    for (u32 i = 0; lost && i < l->count; i++) {
        AclItem *item = &l->items[i];
        if (item->column != column || item->grantor_id != role_id || !((item->bits | item->grant_bits) & lost))
            continue;
        if (!cascade) {
            Error err;
            error_set(&err, ERR_DEPENDENT_OBJECTS, "dependent privileges exist");
            error_hint(&err, "Use CASCADE to revoke them too.");
            err_rethrow(&err);
        }
        take(l, column, item->role_id, role_id, lost, false, cascade);
    }
}

static void
take(List *l, u32 column, u32 role_id, u32 grantor_id, u32 bits, bool option_only, bool cascade)
{
    AclItem *i = find_item(l, column, role_id, grantor_id);
    if (!i)
        return;
    u32 lost = i->grant_bits & bits;
    i->grant_bits &= ~bits;
    if (!option_only)
        i->bits &= ~bits;
    if (lost)
        take_dependent(l, column, role_id, lost, cascade);
}

/* A right to grant may not come back to who it came from. */
static void
check_circle(const List *l, u32 column, u32 role_id, u32 grantor_id, u32 bits)
{
    if (grantor_id == l->owner_id)
        return;
    List without = *l;
    without.items = ARENA_ARRAY(l->s->message, AclItem, l->count);
    if (l->count)
        memcpy(without.items, l->items, l->count * sizeof *l->items);
    for (u32 i = 0; i < without.count; i++) {
        AclItem item = without.items[i];
        if (item.column == column && item.role_id == role_id && item.grant_bits)
            take(&without, column, role_id, item.grantor_id, item.grant_bits, false, true);
    }
    if (bits & ~still_grantable(&without, column, grantor_id))
        err_throw(ERR_INVALID_GRANT_OPERATION, "grant options cannot be granted back to your own grantor");
}

static void
apply(List *l, const Wanted *w, u32 column, u32 grantor_id, u32 bits)
{
    for (u32 k = 0; bits && k < w->grantee_count; k++) {
        u32 to = w->grantees[k];
        if (w->a->revoke) {
            take(l, column, to, grantor_id, bits, w->a->option, w->a->cascade);
            remove_empty(l);
            continue;
        }
        if (w->a->option && to == ROLE_PUBLIC)
            err_throw(ERR_INVALID_GRANT_OPERATION, "grant options can only be granted to roles");
        if (w->a->option)
            check_circle(l, column, to, grantor_id, bits);
        AclItem *i = item_for(l, column, to, grantor_id);
        i->bits |= bits;
        if (w->a->option && to != l->owner_id)
            i->grant_bits |= bits;
    }
}

/* ---- who grants ---- */

typedef struct Best {
    const Root *root;
    const RightsOf *o;
    u32 me, column, wanted, grantor, bits;
} Best;

static u32
count_bits(u32 v)
{
    return (u32)__builtin_popcount(v);
}

/* The rights that a role itself may grant, by items that name it. */
static u32
own_grantable(const Best *b, u32 role_id)
{
    u32 bits = 0;
    for (u32 i = 0; i < b->o->acl_count; i++)
        if ((b->o->acl[i].column == 0 || b->o->acl[i].column == b->column) && b->o->acl[i].role_id == role_id)
            bits |= b->o->acl[i].grant_bits;
    return bits & b->wanted;
}

static bool
consider(void *ctx, const RoleDef *r)
{
    Best *b = ctx;
    u32 bits = own_grantable(b, r->role_id);
    bool better = bits == b->wanted ? b->bits != b->wanted : count_bits(bits) > count_bits(b->bits);
    if (better && role_has_privs(b->root, b->me, r->role_id)) {
        b->grantor = r->role_id;
        b->bits = bits;
    }
    return true;
}

/* Who grants `wanted`, and which of them he may. */
static u32
best_grantor(Session *s, const RightsOf *o, u32 column, u32 wanted, u32 *ret_bits)
{
    const Root *root = session_root(s);
    if (rights_own(root, o->owner_id, s->role_id)) {
        *ret_bits = wanted;
        return o->owner_id;
    }
    Best b = {root, o, s->role_id, column, wanted, s->role_id, 0};
    b.bits = own_grantable(&b, s->role_id);
    if (b.bits != wanted)
        roles_each(root, consider, &b);
    *ret_bits = b.bits;
    return b.grantor;
}

/* ---- names of rights ---- */

static u32
bit_of(const ARight *r)
{
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)MIN(r->word.len, sizeof word - 1), r->word.ptr);
    for (u32 bit = 1; bit <= ACL_CONNECT; bit *= 2)
        if (strcasecmp(word, rights_word(bit)) == 0)
            return bit;
    if (strcasecmp(word, "temp") == 0)
        return ACL_TEMP;
    if (strcasecmp(word, "rule") == 0) /* of old, without a meaning */
        return 0;
    err_throw(ERR_SYNTAX_ERROR, "unrecognized privilege type \"%.*s\"", (int)r->word.len, r->word.ptr);
}

static u32
whole_bits(const Wanted *w, u32 all, const char *what)
{
    u32 bits = 0;
    if (w->all)
        return all;
    for (u32 i = 0; i < w->a->rights.count; i++) {
        const ARight *r = LIST_AT(w->a->rights, ARight, i);
        if (r->column_count) {
            if (all != ACL_ALL_TABLE)
                err_throw(ERR_INVALID_GRANT_OPERATION, "column privileges are only valid for relations");
            continue;
        }
        u32 bit = bit_of(r);
        if (bit & ~all)
            err_throw(ERR_INVALID_GRANT_OPERATION, "invalid privilege type %s for %s", rights_word(bit), what);
        bits |= bit;
    }
    return bits;
}

/* PostgreSQL looks at the words of all rights before it looks at any object. */
static void
check_words(const Wanted *w)
{
    static const struct { u32 all; const char *what; } OF[] = {
        [AOB_TABLE] = {ACL_ALL_TABLE | ACL_ALL_SEQUENCE, "relation"}, [AOB_ALL_TABLES] = {ACL_ALL_TABLE, "relation"}, [AOB_SCHEMA] = {ACL_ALL_SCHEMA, "schema"},
        [AOB_DATABASE] = {ACL_ALL_DATABASE, "database"}, [AOB_SEQUENCES] = {ACL_ALL_SEQUENCE, "sequence"}};
    for (u32 i = 0; i < w->a->rights.count; i++) {
        const ARight *r = LIST_AT(w->a->rights, ARight, i);
        bool columns = r->column_count > 0, all = columns && str_eq(r->word, STR_LIT("all"));
        if (columns && w->a->object != AOB_TABLE && w->a->object != AOB_ALL_TABLES)
            err_throw(ERR_INVALID_GRANT_OPERATION, "column privileges are only valid for relations");
        u32 bit = all ? 0 : bit_of(r);
        if (columns ? bit & ~(u32)ACL_ALL_COLUMN : bit & ~OF[w->a->object].all)
            err_throw(ERR_INVALID_GRANT_OPERATION, "invalid privilege type %s for %s", rights_word(bit), columns ? "column" : OF[w->a->object].what);
    }
}

static void
warn_of_less(Session *s, const Wanted *w, u32 got, u32 wanted, const char *name)
{
    const char *text = NULL;
    if (got == 0)
        text = w->a->revoke ? "no privileges could be revoked for %s" : "no privileges were granted for %s";
    else if (!w->all && got != wanted)
        text = w->a->revoke ? "not all privileges could be revoked for %s" : "not all privileges were granted for %s";
    if (!text)
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    session_notice(s, REPLY_WARNING, w->a->revoke ? ERR_PRIVILEGE_NOT_REVOKED : ERR_PRIVILEGE_NOT_GRANTED, arena_printf(s->message, text, name));
#pragma GCC diagnostic pop
}

/* ---- tables ---- */

static NORETURN void
denied(const char *what, Str name)
{
    err_throw(ERR_INSUFFICIENT_PRIVILEGE, "permission denied for %s %.*s", what, (int)name.len, name.ptr);
}

static const TableDef *
find_table(Session *s, const AName *n)
{
    Str name = n->parts[n->count - 1], schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("public");
    const TableDef *t = str_eq(schema, STR_LIT("public")) && n->count <= 3 ? catalog_find_table(session_root(s), name) : NULL;
    if (t)
        return t;
    if (system_find_table(n->count > 1 ? schema : STR_LIT("pg_catalog"), name))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "changing the rights on relations of the system is not supported");
    if (n->count > 1 && !str_eq(schema, STR_LIT("public")) && !str_eq(schema, STR_LIT("pg_catalog")) && !str_eq(schema, STR_LIT("information_schema")))
        err_throw(ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)schema.len, schema.ptr);
    const char *text = "";
    for (u32 i = 0; i < n->count; i++)
        text = arena_printf(s->message, "%s%s%.*s", text, i ? "." : "", (int)n->parts[i].len, n->parts[i].ptr);
    err_throw(ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", text);
}

/* Bits on one column, or with column 0 on the whole. */
static void
change_part(Session *s, List *l, const Wanted *w, const TableDef *t, u32 column, u32 bits)
{
    RightsOf now = rights_of_table(t);
    const Root *root = session_root(s);
    u32 may;
    now.acl = l->items;
    now.acl_count = l->count;
    u32 grantor = best_grantor(s, &now, column, bits, &may);
    if (!may && !((rights_mask(root, &now, s->role_id, 0) | (column ? rights_mask(root, &now, s->role_id, column) : 0)) & (column ? ACL_ALL_COLUMN : ACL_ALL_TABLE)))
        denied("table", t->name);
    const char *name = column ? arena_printf(s->message, "column \"%.*s\" of relation \"%.*s\"", (int)t->columns[column - 1].name.len, t->columns[column - 1].name.ptr,
                                             (int)t->name.len, t->name.ptr)
                              : arena_printf(s->message, "\"%.*s\"", (int)t->name.len, t->name.ptr);
    warn_of_less(s, w, may, bits, name);
    apply(l, w, column, grantor, may);
    if (column || !w->a->revoke || !(bits & ACL_ALL_COLUMN))
        return;
    /* On the whole means on every column, the system's as well. */
    static const char *const SYSTEM[] = {"tableoid", "cmax", "xmax", "cmin", "xmin", "ctid"};
    for (u32 i = 0; i < COUNT_OF(SYSTEM); i++)
        warn_of_less(s, w, may & ACL_ALL_COLUMN, bits & ACL_ALL_COLUMN,
                     arena_printf(s->message, "column \"%s\" of relation \"%.*s\"", SYSTEM[i], (int)t->name.len, t->name.ptr));
    for (u32 c = 1; c <= t->column_count; c++)
        change_part(s, l, w, t, c, bits & ACL_ALL_COLUMN);
}

static void
change_columns(Session *s, List *l, const Wanted *w, const TableDef *t)
{
    u32 *bits = ARENA_ARRAY(s->message, u32, t->column_count + 1u);
    for (u32 i = 0; i < w->a->rights.count; i++) {
        const ARight *r = LIST_AT(w->a->rights, ARight, i);
        u32 bit = !r->column_count ? 0 : str_eq(r->word, STR_LIT("all")) ? (u32)ACL_ALL_COLUMN : bit_of(r);
        for (u32 k = 0; k < r->column_count; k++) {
            u32 c = 0;
            while (c < t->column_count && !str_eq(t->columns[c].name, r->columns[k]))
                c++;
            if (c == t->column_count)
                err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)r->columns[k].len, r->columns[k].ptr,
                          (int)t->name.len, t->name.ptr);
            bits[c + 1] |= bit;
        }
    }
    for (u32 c = 1; c <= t->column_count; c++)
        if (bits[c])
            change_part(s, l, w, t, c, bits[c]);
}

static bool
try_table(Session *s, const Wanted *w, const TableDef *t)
{
    TableDef with = *t;
    List l = {.s = s, .owner_id = t->owner_id};
    u32 whole = whole_bits(w, ACL_ALL_TABLE, "table");
    if (whole && !t->has_acl)
        item_for(&l, 0, t->owner_id, t->owner_id)->bits = ACL_ALL_TABLE;
    for (u32 i = 0; i < t->acl_count; i++)
        *item_for(&l, t->acl[i].column, t->acl[i].role_id, t->acl[i].grantor_id) = t->acl[i];
    if (whole)
        change_part(s, &l, w, t, 0, whole);
    change_columns(s, &l, w, t);
    with.has_acl = t->has_acl || whole;
    with.acl = l.items;
    with.acl_count = l.count;
    with.acl_version++;
    TxnOutcome outcome = txn_set_acl(s->txn, &with);
    txn_end_statement(s->txn);
    return outcome == TXN_DONE;
}

static NORETURN void
keeps_changing(void)
{
    err_throw(ERR_SERIALIZATION_FAILURE, "could not change the rights because they keep changing");
}

static void
on_table(Session *s, const Wanted *w, const AName *n)
{
    for (int i = 0; i < TRIES_MAX; i++)
        if (try_table(s, w, find_table(s, n)))
            return;
    keeps_changing();
}

typedef struct Names {
    Arena *arena;
    PtrList list; /* AName */
} Names;

static bool
add_name(void *ctx, const TableDef *t)
{
    Names *to = ctx;
    AName *n = ARENA_NEW(to->arena, AName);
    n->count = 1;
    n->parts[0] = arena_str(to->arena, t->name);
    ptrlist_add(to->arena, &to->list, n);
    return true;
}

/* ---- the schema, the database ---- */

static void
check_object_name(Session *s, const Wanted *w, Str name)
{
    bool schema = w->a->object != AOB_DATABASE;
    Str known = schema ? STR_LIT("public") : str_of(s->database);
    if (str_eq(name, known))
        return;
    if (schema && (str_eq(name, STR_LIT("pg_catalog")) || str_eq(name, STR_LIT("information_schema"))))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "changing the rights on schemas of the system is not supported");
    err_throw(schema ? ERR_INVALID_SCHEMA_NAME : ERR_INVALID_CATALOG_NAME, "%s \"%.*s\" does not exist", schema ? "schema" : "database", (int)name.len, name.ptr);
}

static bool
try_object(Session *s, const Wanted *w, Str name)
{
    const Root *root = session_root(s);
    bool schema = w->a->object == AOB_SCHEMA;
    RightsOf o = schema ? rights_of_schema(root) : rights_of_database(root);
    const RightsDef *old = roles_rights(root, schema ? RIGHTS_SCHEMA : RIGHTS_DATABASE, 0, schema ? SCHEMA_PUBLIC : 0);
    u32 bits = whole_bits(w, o.all, schema ? "schema" : "database"), may;
    List l = {.s = s, .owner_id = o.owner_id};
    for (u32 i = 0; i < o.acl_count; i++)
        *item_for(&l, 0, o.acl[i].role_id, o.acl[i].grantor_id) = o.acl[i];
    u32 grantor = best_grantor(s, &o, 0, bits, &may);
    if (!may && !rights_mask(root, &o, s->role_id, 0))
        denied(schema ? "schema" : "database", name);
    warn_of_less(s, w, may, bits, arena_printf(s->message, "\"%.*s\"", (int)name.len, name.ptr));
    apply(&l, w, 0, grantor, may);
    RoleChange c = {.kind = ROLE_CHANGE_RIGHTS,
                    .rights = {.kind = schema ? RIGHTS_SCHEMA : RIGHTS_DATABASE, .role_id = o.owner_id, .schema_id = schema ? SCHEMA_PUBLIC : 0,
                               .version = (old ? old->version : 0) + 1, .acl = l.items, .acl_count = l.count}};
    return role_change(s, &c, NULL);
}

static void
on_object(Session *s, const Wanted *w, Str name)
{
    check_object_name(s, w, name);
    for (int i = 0; i < TRIES_MAX; i++)
        if (try_object(s, w, name))
            return;
    keeps_changing();
}

/* ---- the statement ---- */

static void
find_grantees(Session *s, const PtrList *roles, Wanted *w)
{
    w->grantee_count = roles->count;
    w->grantees = ARENA_ARRAY(s->message, u32, roles->count);
    for (u32 i = 0; i < roles->count; i++)
        w->grantees[i] = role_of(s, LIST_AT(*roles, ARole, i), true);
}

void
grant_rights(Session *s, const AAccess *a)
{
    Wanted w = {.a = a, .all = a->rights.count == 0};
    if (a->grantor && role_of(s, a->grantor, false) != s->role_id)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "grantor must be current user");
    PtrList names = a->objects;
    if (a->object == AOB_ALL_TABLES) {
        Names all = {.arena = s->message};
        for (u32 i = 0; i < a->objects.count; i++) {
            check_object_name(s, &w, LIST_AT(a->objects, AName, i)->parts[0]);
            catalog_each_table(session_root(s), add_name, &all);
        }
        names = all.list;
    } else if (a->object == AOB_TABLE)
        for (u32 i = 0; i < names.count; i++)
            (void)find_table(s, LIST_AT(names, AName, i));
    else
        for (u32 i = 0; i < names.count; i++)
            check_object_name(s, &w, LIST_AT(names, AName, i)->parts[0]);
    find_grantees(s, &a->roles, &w);
    check_words(&w);
    for (u32 i = 0; i < names.count; i++) {
        const AName *n = LIST_AT(names, AName, i);
        if (a->object == AOB_TABLE || a->object == AOB_ALL_TABLES)
            on_table(s, &w, n);
        else
            on_object(s, &w, n->parts[0]);
    }
}
