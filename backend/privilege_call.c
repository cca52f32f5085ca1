/*
 * privilege_call.c
 *    has_table_privilege() and its kin, pg_has_role(): what rights a role has, asked by name or by oid.
 *
 * Rights come as a list of words; one of them is enough. "public" is the role of everybody. Of an oid that is not there the answer is NULL, of a name that is not
 * there an error. Nothing is decided here: rights.h and roles.h decide.
 */
#include "backend/names.h"

#include "common/store/rights.h"
#include "common/store/system.h"

#include <strings.h>

typedef struct Ask {
    const CatalogNames *names;
    Arena *a;
    const Value *args; /* behind the role, if one was given */
    const Root *root;
    u32 role_id;       /* 0: public */
    Value *ret;
    Error *err;
} Ask;

static bool
give_null(Ask *q)
{
    q->ret->is_null = true;
    return true;
}

/* ---- words ---- */

typedef bool (*WordFn)(Ask *q, const char *word, bool option, const void *what, bool *ret_has);

static bool
unrecognized(Ask *q, const char *word)
{
    return error_set(q->err, ERR_INVALID_PARAMETER_VALUE, "unrecognized privilege type: \"%s\"", word);
}

/* Takes " WITH GRANT OPTION" from the word. */
static bool
take_option(char *word, const char *option)
{
    size_t len = strlen(word), end = strlen(option);
    if (len <= end || strcasecmp(word + len - end, option) != 0)
        return false;
    word[len - end] = 0;
    return true;
}

/* All words are looked at, so that an unknown one is told whatever comes before it. */
static bool
each_word(Ask *q, Str list, const char *other_option, WordFn look, const void *what)
{
    bool any = false;
    for (u32 at = 0; at <= list.len;) {
        const char *from = list.ptr + at, *comma = list.len > at ? memchr(from, ',', list.len - at) : NULL;
        u32 len = comma ? (u32)(comma - from) : list.len - at;
        at += len + 1;
        while (len && (*from == ' ' || (*from >= '\t' && *from <= '\r')))
            from++, len--;
        while (len && (from[len - 1] == ' ' || (from[len - 1] >= '\t' && from[len - 1] <= '\r')))
            len--;
        char *word = arena_strndup(q->a, from, len), *whole = arena_strndup(q->a, from, len);
        bool option = take_option(word, " WITH GRANT OPTION") || (other_option && take_option(word, other_option)), has = false;
        if (!look(q, word, option, what, &has))
            return unrecognized(q, whole);
        any |= has;
    }
    q->ret->b = any;
    return true;
}

/* ---- objects ---- */

typedef enum Columns { WHOLE, ONE_COLUMN, ANY_COLUMN } Columns;

typedef struct Object {
    RightsOf rights;
    u32 bits;             /* those that may be asked for */
    Columns columns;
    u32 first, last;      /* columns from 1 */
} Object;

static u32
bits_of(const Ask *q, const RightsOf *o, u32 column, bool option)
{
    if (q->role_id)
        return option ? rights_grantable(q->root, o, q->role_id, column) : rights_mask(q->root, o, q->role_id, column);
    u32 bits = 0;
    for (u32 i = 0; i < o->acl_count; i++)
        if (!o->acl[i].role_id && o->acl[i].column == column)
            bits |= option ? o->acl[i].grant_bits : o->acl[i].bits;
    return bits;
}

static bool
look_at_object(Ask *q, const char *word, bool option, const void *what, bool *ret_has)
{
    const Object *o = what;
    u32 bit = 1;
    if (strcasecmp(word, "TEMP") == 0 && (o->bits & ACL_TEMP))
        word = rights_word(ACL_TEMP);
    if (strcasecmp(word, "RULE") == 0 && o->bits == ACL_ALL_TABLE)
        return true; /* there once was such a right */
    while (bit <= ACL_CONNECT && !((o->bits & bit) && strcasecmp(word, rights_word(bit)) == 0))
        bit *= 2;
    if (bit > ACL_CONNECT)
        return false;
    *ret_has = bits_of(q, &o->rights, 0, option) & bit;
    for (u32 column = o->first; column && column <= o->last && !*ret_has; column++)
        *ret_has = bits_of(q, &o->rights, column, option) & bit;
    return true;
}

/* The definition of a relation given by oid or name; an index has its table's owner. false: *err; *ret NULL: no such oid. */
static bool
relation_arg(Ask *q, const Value *v, const TableDef **ret, RightsOf *ret_rights)
{
    u32 oid = v->type == TYPE_OID ? (u32)v->i64v : names_relation_of_text(q->names, q->a, v->str, q->err);
    *ret = NULL;
    if (!oid)
        return v->type == TYPE_OID;
    NamedRelation r = names_of_relation(q->names, oid);
    if (!r.name.ptr)
        return true;
    *ret = r.table ? r.table : system_table_def(system_table_of(oid));
    *ret_rights = r.key ? (RightsOf){(*ret)->owner_id, NULL, 0, true, ACL_ALL_TABLE} : rights_of_table(*ret);
    return true;
}

static bool
has_table(Ask *q)
{
    const TableDef *t;
    Object o = {.bits = ACL_ALL_TABLE};
    if (!relation_arg(q, &q->args[0], &t, &o.rights))
        return false;
    return t ? each_word(q, q->args[1].str, NULL, look_at_object, &o) : give_null(q);
}

static bool
has_any_column(Ask *q)
{
    const TableDef *t;
    Object o = {.bits = ACL_ALL_COLUMN, .first = 1};
    if (!relation_arg(q, &q->args[0], &t, &o.rights))
        return false;
    if (t)
        o.last = t->column_count;
    return t ? each_word(q, q->args[1].str, NULL, look_at_object, &o) : give_null(q);
}

static bool
has_column(Ask *q)
{
    const TableDef *t;
    Object o = {.bits = ACL_ALL_COLUMN};
    const Value *column = &q->args[1];
    if (!relation_arg(q, &q->args[0], &t, &o.rights))
        return false;
    if (!t)
        return give_null(q);
    if (column->type == TYPE_INT2)
        o.first = column->i16v > 0 && column->i16v <= t->column_count ? (u32)column->i16v : 0;
    for (u32 i = 0; column->type != TYPE_INT2 && i < t->column_count; i++)
        if (str_eq(t->columns[i].name, column->str))
            o.first = i + 1;
    if (!o.first)
        return column->type == TYPE_INT2 ? give_null(q)
                                         : error_set(q->err, ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)column->str.len,
                                                     column->str.ptr, (int)t->name.len, t->name.ptr);
    o.last = o.first;
    return each_word(q, q->args[2].str, NULL, look_at_object, &o);
}

static bool
has_schema(Ask *q)
{
    static const AclItem EVERYBODY[] = {{.bits = ACL_USAGE, .grantor_id = ROLE_ROOT}}; /* those of the system */
    Object o = {.rights = {ROLE_ROOT, EVERYBODY, COUNT_OF(EVERYBODY), false, ACL_ALL_SCHEMA}, .bits = ACL_ALL_SCHEMA};
    const Value *v = &q->args[0];
    u32 oid = v->type == TYPE_OID ? (u32)v->i64v : names_schema_of(v->str);
    if (!oid && v->type != TYPE_OID)
        return error_set(q->err, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)v->str.len, v->str.ptr);
    if (oid == SCHEMA_PUBLIC)
        o.rights = rights_of_schema(q->root);
    else if (!names_schema(oid))
        return give_null(q);
    return each_word(q, q->args[1].str, NULL, look_at_object, &o);
}

static bool
has_database(Ask *q)
{
    Object o = {.rights = rights_of_database(q->root), .bits = ACL_ALL_DATABASE};
    const Value *v = &q->args[0];
    if (v->type == TYPE_OID && (u32)v->i64v != DATABASE_OID)
        return give_null(q);
    if (v->type != TYPE_OID && !str_eq(v->str, str_of(names_session(q->names)->database)))
        return error_set(q->err, ERR_INVALID_CATALOG_NAME, "database \"%.*s\" does not exist", (int)v->str.len, v->str.ptr);
    return each_word(q, q->args[1].str, NULL, look_at_object, &o);
}

/* ---- roles ---- */

static bool
role_arg(Ask *q, const Value *v, bool or_public, u32 *ret)
{
    *ret = (u32)v->i64v;
    if (v->type == TYPE_OID)
        return true;
    *ret = 0;
    if (or_public && str_eq(v->str, STR_LIT("public")))
        return true;
    const RoleDef *role = catalog_find_role(q->root, v->str);
    if (!role)
        return error_set(q->err, ERR_UNDEFINED_OBJECT, "role \"%.*s\" does not exist", (int)v->str.len, v->str.ptr);
    *ret = role->role_id;
    return true;
}

static bool
look_at_role(Ask *q, const char *word, bool option, const void *what, bool *ret_has)
{
    u32 of = *(const u32 *)what;
    bool usage = strcasecmp(word, "USAGE") == 0;
    if (!usage && strcasecmp(word, "MEMBER") != 0 && strcasecmp(word, "SET") != 0)
        return false;
    *ret_has = role_is_superuser(q->root, q->role_id) || (option ? role_is_admin(q->root, q->role_id, of)
                                                          : usage ? role_has_privs(q->root, q->role_id, of) : role_is_member(q->root, q->role_id, of));
    return true;
}

static bool
has_role(Ask *q)
{
    u32 of;
    return role_arg(q, &q->args[0], false, &of) && each_word(q, q->args[1].str, " WITH ADMIN OPTION", look_at_role, &of);
}

bool
privilege_call(const CatalogNames *n, Arena *a, u32 op, const Value *args, u32 arg_count, Value *ret, Error *err)
{
    const Session *s = names_session(n);
    Ask q = {.names = n, .a = a, .args = args, .root = txn_root(s->txn), .role_id = s->role_id, .ret = ret, .err = err};
    if (arg_count == (op == FOP_HAS_COLUMN ? 4u : 3u)) {
        if (!role_arg(&q, args, op != FOP_HAS_ROLE, &q.role_id))
            return false;
        q.args++;
    }
    switch ((int)op) {
    case FOP_HAS_TABLE: return has_table(&q);
    case FOP_HAS_COLUMN: return has_column(&q);
    case FOP_HAS_ANY_COLUMN: return has_any_column(&q);
    case FOP_HAS_SCHEMA: return has_schema(&q);
    case FOP_HAS_DATABASE: return has_database(&q);
    default: return has_role(&q);
    }
}
