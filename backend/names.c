/*
 * names.c
 *    regclass and its kin: text to oid and back, as PostgreSQL's search path finds things.
 *
 * Tables live in public, relations of the system in pg_catalog and information_schema; pg_catalog is looked through first. A name is written with its
 * schema where it would not be found without it, that is for information_schema only.
 */
#include "backend/names.h"

#include "backend/kern/procs.h"
#include "backend/sql/lex.h"
#include "common/store/system.h"

#include <ctype.h>

static const struct { u32 oid; const char *name; } SCHEMAS[] = {
    {SCHEMA_PG_CATALOG, "pg_catalog"}, {SCHEMA_PG_TOAST, "pg_toast"}, {SCHEMA_PUBLIC, "public"}, {SCHEMA_INFORMATION, "information_schema"}};

const char *
names_schema(u32 oid)
{
    for (u32 i = 0; i < COUNT_OF(SCHEMAS); i++)
        if (SCHEMAS[i].oid == oid)
            return SCHEMAS[i].name;
    return NULL;
}

u32
names_schema_of(Str name)
{
    for (u32 i = 0; i < COUNT_OF(SCHEMAS); i++)
        if (str_eq(name, str_of(SCHEMAS[i].name)))
            return SCHEMAS[i].oid;
    return 0;
}

static const Root *
root_of(const CatalogNames *n)
{
    return txn_root(names_session(n)->txn);
}

/* ---- names as they are written ---- */

static bool
plain_name(Str s)
{
    for (u32 i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool fine = (c >= 'a' && c <= 'z') || c == '_' || (i && c >= '0' && c <= '9');
        if (!fine)
            return false;
    }
    Keyword k = keyword_find(s);
    return s.len && (k == NO_KEYWORD || keyword_class(k) == KWC_UNRESERVED);
}

Str
names_quote(Arena *a, Str name)
{
    if (plain_name(name))
        return name;
    char *to = arena_alloc(a, (size_t)name.len * 2 + 2), *at = to;
    *at++ = '"';
    for (u32 i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            *at++ = '"';
        *at++ = name.ptr[i];
    }
    *at++ = '"';
    return (Str){to, (u32)(at - to)};
}

static void
put_quoted(ByteBuf *to, Str name)
{
    if (plain_name(name)) {
        buf_put(to, name.ptr, name.len);
        return;
    }
    buf_u8(to, '"');
    for (u32 i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            buf_u8(to, '"');
        buf_u8(to, (u8)name.ptr[i]);
    }
    buf_u8(to, '"');
}

/* One part, with or without quotes; false: there is none. */
static bool
take_part(Arena *a, const char **at, const char *end, Str *ret)
{
    const char *p = *at;
    char *to = arena_alloc(a, (size_t)(end - p) + 1);
    u32 len = 0;
    bool quoted = p < end && *p == '"';
    if (quoted) {
        for (p++; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
            to[len++] = *p;
            p += *p == '"';
        }
        if (p++ >= end)
            return false;
    } else
        for (; p < end && *p != '.' && !isspace((u8)*p); p++)
            to[len++] = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
    *at = p;
    *ret = (Str){to, len};
    ret->len = utf8_clip(*ret, MAX_NAME_BYTES);
    return len > 0;
}

bool
names_split(const CatalogNames *n, Arena *a, Str in, Str parts[2], u32 *ret_count, Error *err)
{
    const char *at = in.ptr, *end = in.ptr + in.len;
    Str all[3], part;
    u32 count = 0;
    for (;; at++) {
        while (at < end && isspace((u8)*at))
            at++;
        if (!take_part(a, &at, end, &part))
            return error_set(err, ERR_INVALID_NAME, "invalid name syntax");
        if (count < COUNT_OF(all))
            all[count] = part;
        count++;
        while (at < end && isspace((u8)*at))
            at++;
        if (at >= end)
            break;
        if (*at != '.')
            return error_set(err, ERR_INVALID_NAME, "invalid name syntax");
    }
    if (count > COUNT_OF(all))
        return error_set(err, ERR_SYNTAX_ERROR, "improper relation name (too many dotted names): %.*s", (int)in.len, in.ptr);
    if (count == 3 && !str_eq(all[0], str_of(names_session(n)->database)))
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: \"%.*s\"", (int)in.len, in.ptr);
    *ret_count = MIN(count, 2u);
    for (u32 i = 0; i < *ret_count; i++)
        parts[i] = all[count - *ret_count + i];
    return true;
}

/* ---- schemas ---- */

static bool
no_schema(Str name, Error *err)
{
    return error_set(err, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)name.len, name.ptr);
}

/* ---- relations ---- */

typedef struct KeySearch { Str name; u32 oid; } KeySearch;

static bool
look_for_key(void *ctx, const TableDef *t)
{
    KeySearch *s = ctx;
    for (u32 k = 0; k < t->key_count && !s->oid; k++)
        if (str_eq(t->keys[k].name, s->name))
            s->oid = catalog_index_oid(t->table_id, &t->keys[k]);
    return !s->oid;
}

u32
names_relation(const CatalogNames *n, const Str *parts, u32 count, Error *err)
{
    Str name = parts[count - 1];
    if (count == 2 && !names_schema_of(parts[0])) {
        no_schema(parts[0], err);
        return 0;
    }
    const TableDef *t = system_find_table(count == 2 ? parts[0] : STR_LIT("pg_catalog"), name);
    bool public = count == 1 || str_eq(parts[0], STR_LIT("public"));
    if (!t && public)
        t = catalog_find_table(root_of(n), name);
    if (t)
        return t->table_id;
    KeySearch s = {.name = name};
    if (public)
        catalog_each_table(root_of(n), look_for_key, &s);
    if (!s.oid && count == 2)
        error_set(err, ERR_UNDEFINED_TABLE, "relation \"%.*s.%.*s\" does not exist", (int)parts[0].len, parts[0].ptr, (int)name.len, name.ptr);
    else if (!s.oid)
        error_set(err, ERR_UNDEFINED_TABLE, "relation \"%.*s\" does not exist", (int)name.len, name.ptr);
    return s.oid;
}

u32
names_relation_of_text(const CatalogNames *n, Arena *a, Str in, Error *err)
{
    Str parts[2];
    u32 count;
    return names_split(n, a, in, parts, &count, err) ? names_relation(n, parts, count, err) : 0;
}

NamedRelation
names_of_relation(const CatalogNames *n, u32 oid)
{
    SystemTable s = system_table_of(oid);
    if (s < SYSTEM_TABLE_COUNT)
        return (NamedRelation){.name = system_table_def(s)->name, .schema = system_table_schema(s)};
    const TableDef *t = catalog_table(root_of(n), oid);
    if (t)
        return (NamedRelation){.name = t->name, .schema = "public", .table = t};
    u16 key;
    bool constraint;
    t = catalog_key_of_oid(root_of(n), oid, &key, &constraint);
    if (!t || constraint)
        return (NamedRelation){.name = {NULL, 0}};
    return (NamedRelation){.name = t->keys[key].name, .schema = "public", .table = t, .key = &t->keys[key]};
}

/* Would the name without its schema mean something of the system? */
static bool
is_hidden(const NamedRelation *r)
{
    return str_eq(str_of(r->schema), STR_LIT("information_schema")) || (r->table && system_find_table(STR_LIT("pg_catalog"), r->name));
}

static bool
write_relation(const CatalogNames *n, u32 oid, ByteBuf *to)
{
    NamedRelation r = names_of_relation(n, oid);
    if (!r.name.ptr)
        return false;
    if (is_hidden(&r))
        buf_printf(to, "%s.", r.schema);
    put_quoted(to, r.name);
    return true;
}

/* ---- types ---- */

/* Lower case, single blanks, without the modifiers in brackets. */
static Str
normal_type(Arena *a, Str in, bool *ret_array, bool *ret_quoted)
{
    char *to = arena_alloc(a, (size_t)in.len + 1);
    u32 len = 0, depth = 0;
    bool in_quotes = false;
    *ret_array = *ret_quoted = false;
    for (u32 i = 0; i < in.len; i++) {
        char c = in.ptr[i];
        if (c == '"') {
            in_quotes = !in_quotes;
            *ret_quoted = true;
            continue;
        }
        depth += !in_quotes && c == '(';
        if (!depth && (in_quotes || !isspace((u8)c)))
            to[len++] = !in_quotes && c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        else if (len && to[len - 1] != ' ')
            to[len++] = ' ';
        depth -= depth && c == ')';
    }
    while (len && to[len - 1] == ' ')
        len--;
    while (len >= 2 && to[len - 1] == ']') {
        while (len && to[len - 1] != '[')
            len--;
        len -= len > 0;
        *ret_array = true;
        while (len && to[len - 1] == ' ')
            len--;
    }
    return (Str){to, len};
}

static bool
read_type(Arena *a, Str in, u32 *ret, Error *err)
{
    bool array, quoted;
    Str name = normal_type(a, in, &array, &quoted), prefix = STR_LIT("pg_catalog.");
    if (name.len > prefix.len && memcmp(name.ptr, prefix.ptr, prefix.len) == 0)
        name = (Str){name.ptr + prefix.len, name.len - prefix.len};
    TypeId t = TYPE_INVALID;
    if (!name.len && !quoted)
        return error_set(err, ERR_SYNTAX_ERROR, "invalid type name \"%.*s\"", (int)in.len, in.ptr);
    if (quoted && str_eq(name, STR_LIT("char")))
        t = TYPE_CHAR;
    else if (str_eq(name, STR_LIT("char")))
        t = TYPE_BPCHAR;
    else if (name.len && !memchr(name.ptr, '"', name.len))
        t = type_from_name(name);
    if (t && array && !(type_is_array(t) && !type_is_vector(t)))
        t = type_array(t);
    if (!t)
        return error_set(err, ERR_UNDEFINED_OBJECT, "type \"%.*s\" does not exist", (int)in.len, in.ptr);
    *ret = type_oid(t);
    return true;
}

/* ---- functions ---- */

static bool
read_function(const CatalogNames *n, Arena *a, Str in, u32 *ret, Error *err)
{
    Str parts[2];
    u32 count, found = 0;
    if (!names_split(n, a, in, parts, &count, err))
        return false;
    Str name = parts[count - 1];
    for (u32 i = 0; i < proc_count() && (count == 1 || str_eq(parts[0], STR_LIT("pg_catalog"))); i++) {
        ProcFacts p = proc_at(i);
        if (!p.oid || !str_eq(str_of(p.name), name))
            continue;
        *ret = p.oid;
        found++;
    }
    if (found == 1)
        return true;
    return found ? error_set(err, ERR_AMBIGUOUS_FUNCTION, "more than one function named \"%.*s\"", (int)in.len, in.ptr)
                 : error_set(err, ERR_UNDEFINED_FUNCTION, "function \"%.*s\" does not exist", (int)in.len, in.ptr);
}

static bool
read_function_with_types(const CatalogNames *n, Arena *a, Str in, u32 *ret, Error *err)
{
    Str parts[2];
    u32 count, args[PROC_MAX_ARGS], arg_count = 0;
    const char *open = memchr(in.ptr, '(', in.len), *end = in.ptr + in.len;
    while (end > in.ptr && isspace((u8)end[-1]))
        end--;
    if (!open)
        return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "expected a left parenthesis");
    if (end[-1] != ')')
        return error_set(err, ERR_INVALID_TEXT_REPRESENTATION, "expected a right parenthesis");
    if (!names_split(n, a, (Str){in.ptr, (u32)(open - in.ptr)}, parts, &count, err))
        return false;
    bool any = false;
    for (const char *p = open + 1; p < end - 1; p++)
        any |= !isspace((u8)*p);
    for (const char *p = open + 1; any && p < end; p++) {
        const char *from = p;
        while (p < end - 1 && *p != ',')
            p++;
        if (arg_count == COUNT_OF(args))
            return error_set(err, ERR_TOO_MANY_ARGUMENTS, "too many arguments");
        if (!read_type(a, (Str){from, (u32)(p - from)}, &args[arg_count++], err))
            return false;
    }
    for (u32 i = 0; i < proc_count() && (count == 1 || str_eq(parts[0], STR_LIT("pg_catalog"))); i++) {
        ProcFacts p = proc_at(i);
        if (p.oid && str_eq(str_of(p.name), parts[count - 1]) && p.arg_count == arg_count && memcmp(p.args, args, arg_count * sizeof *args) == 0) {
            *ret = p.oid;
            return true;
        }
    }
    return error_set(err, ERR_UNDEFINED_FUNCTION, "function \"%.*s\" does not exist", (int)in.len, in.ptr);
}

/* Names that several functions have are written with their schema: so PostgreSQL says that the name alone would not do. */
static bool
write_function(u32 oid, ByteBuf *to)
{
    const char *name = proc_name(oid);
    if (!name)
        return false;
    if (!proc_is_only_one(name))
        buf_str(to, "pg_catalog.");
    put_quoted(to, str_of(name));
    return true;
}

static bool
write_function_with_types(u32 oid, ByteBuf *to)
{
    ProcFacts p;
    if (!proc_find(oid, &p))
        return false;
    put_quoted(to, str_of(p.name));
    buf_u8(to, '(');
    for (u32 i = 0; i < p.arg_count; i++)
        buf_printf(to, "%s%s", i ? "," : "", type_name(type_from_oid(p.args[i])));
    buf_u8(to, ')');
    return true;
}

/* ---- the doors ---- */

static bool
read_name(const CatalogNames *n, Arena *a, TypeId t, Str in, u32 *ret, Error *err)
{
    Str parts[2];
    u32 count;
    switch ((int)t) {
    case TYPE_REGCLASS:
        return (*ret = names_relation_of_text(n, a, in, err)) != 0;
    case TYPE_REGTYPE:
        return read_type(a, in, ret, err);
    case TYPE_REGPROC:
        return read_function(n, a, in, ret, err);
    case TYPE_REGPROCEDURE:
        return read_function_with_types(n, a, in, ret, err);
    default:
        break;
    }
    if (!names_split(n, a, in, parts, &count, err))
        return false;
    if (count != 1)
        return error_set(err, ERR_INVALID_NAME, "invalid name syntax");
    if (t == TYPE_REGNAMESPACE)
        return (*ret = names_schema_of(parts[0])) != 0 || no_schema(parts[0], err);
    const RoleDef *role = catalog_find_role(root_of(n), parts[0]);
    *ret = role ? role->role_id : 0;
    return role || error_set(err, ERR_UNDEFINED_OBJECT, "role \"%.*s\" does not exist", (int)parts[0].len, parts[0].ptr);
}

static bool
write_named(const CatalogNames *n, TypeId t, u32 oid, ByteBuf *to)
{
    switch ((int)t) {
    case TYPE_REGCLASS:
        return write_relation(n, oid, to);
    case TYPE_REGPROC:
        return write_function(oid, to);
    case TYPE_REGPROCEDURE:
        return write_function_with_types(oid, to);
    case TYPE_REGTYPE: {
        TypeId type = type_from_oid(oid);
        if (type)
            buf_str(to, type_name(type));
        return type != TYPE_INVALID;
    }
    case TYPE_REGNAMESPACE:
        if (names_schema(oid))
            buf_str(to, names_schema(oid));
        return names_schema(oid) != NULL;
    default: {
        const RoleDef *role = catalog_role(root_of(n), oid);
        if (role)
            put_quoted(to, role->name);
        return role != NULL;
    }
    }
}

static void
write_name(const CatalogNames *n, TypeId t, u32 oid, ByteBuf *to)
{
    if (!write_named(n, t, oid, to))
        buf_printf(to, "%u", oid);
}

void
names_open(Session *s)
{
    s->names = (CatalogNames){.read = read_name, .write = write_name, .call = catalog_call};
}
