/*
 * catalog_call.c
 *    Functions that ask the catalog: definitions spelled out, what is visible, sizes.
 *
 * Called by kernels through CatalogNames, for any row on any thread of a statement (kern/catalog.c); nothing here throws but for lack of memory.
 * There are no comments on objects, no views, partitions or statistics objects of users yet: what describes those gives NULL.
 */
#include "backend/names.h"

#include "backend/kern/procs.h"
#include "common/store/system.h"
#include "common/type/array.h"

typedef struct Call {
    const CatalogNames *names;
    Arena *a;
    const Value *args;
    u32 arg_count;
    Value *ret;
    Error *err;
} Call;

static bool
give_null(Call *c)
{
    c->ret->is_null = true;
    return true;
}

static bool
give_text(Call *c, const char *text)
{
    c->ret->str = str_of(text);
    return true;
}

static u32
oid_arg(const Call *c, u32 k)
{
    return (u32)c->args[k].i64v;
}

static const Root *
root_of(const Call *c)
{
    return txn_root(names_session(c->names)->txn);
}

static BindContext
bind_context(const Call *c)
{
    const Session *s = names_session(c->names);
    return (BindContext){.root = root_of(c), .role_id = s->role_id, .role_name = s->role_name, .database = s->database, .source = "", .no_params = true,
                         .format = &s->format};
}

/* ---- definitions ---- */

/* The catalog keeps the form with all parentheses. */
static bool
node_text(Call *c)
{
    c->ret->str = c->args[0].str;
    const TableDef *t = c->arg_count == 3 && c->args[2].b ? catalog_table(root_of(c), oid_arg(c, 1)) : NULL;
    BindContext bind = bind_context(c);
    if (t)
        c->ret->str = sql_expression_text(c->a, &bind, t, c->args[0].str, true);
    return true;
}

static bool
default_text(Call *c)
{
    BindContext bind = bind_context(c);
    const TableDef *t = catalog_table(root_of(c), oid_arg(c, 0));
    ensure(t);
    c->ret->str = sql_default_text(c->a, &bind, t, (u16)c->args[1].i32v);
    return true;
}

static bool
check_definition(Call *c, const TableDef *t, const CheckDef *check)
{
    bool pretty = c->arg_count == 2 && c->args[1].b;
    BindContext bind = bind_context(c);
    Str text = pretty ? sql_expression_text(c->a, &bind, t, check->text, true) : check->text;
    return give_text(c, arena_printf(c->a, "CHECK (%.*s)%s%s", (int)text.len, text.ptr, check->no_inherit ? " NO INHERIT" : "",
                                     check->not_valid ? " NOT VALID" : ""));
}

static const char *
column_list(Call *c, const TableDef *t, const KeyDef *k)
{
    const char *list = "";
    for (u32 i = 0; i < k->column_count; i++) {
        Str name = names_quote(c->a, t->columns[k->columns[i]].name);
        list = arena_printf(c->a, "%s%s%.*s", list, i ? ", " : "", (int)name.len, name.ptr);
    }
    return list;
}

static bool
index_definition(Call *c)
{
    NamedRelation r = names_of_relation(c->names, oid_arg(c, 0));
    i32 column = c->arg_count == 3 ? c->args[1].i32v : 0;
    bool pretty = c->arg_count == 3 && c->args[2].b;
    if (!r.key)
        return give_null(c);
    if (column) {
        if (column < 0 || column > r.key->column_count)
            return give_text(c, "");
        c->ret->str = names_quote(c->a, r.table->columns[r.key->columns[column - 1]].name);
        return true;
    }
    Str index = names_quote(c->a, r.name), table = names_quote(c->a, r.table->name);
    return give_text(c, arena_printf(c->a, "CREATE UNIQUE INDEX %.*s ON %s%.*s USING btree (%s)", (int)index.len, index.ptr, pretty ? "" : "public.",
                                     (int)table.len, table.ptr, column_list(c, r.table, r.key)));
}

static bool
constraint_definition(Call *c)
{
    u16 key;
    bool constraint;
    const TableDef *t;
    const CheckDef *check = catalog_check_of_oid(root_of(c), oid_arg(c, 0), &t);
    if (check)
        return check_definition(c, t, check);
    t = catalog_key_of_oid(root_of(c), oid_arg(c, 0), &key, &constraint);
    if (!t || !constraint)
        return give_null(c);
    const KeyDef *k = &t->keys[key];
    return give_text(c, arena_printf(c->a, "%s (%s)", k->primary ? "PRIMARY KEY" : "UNIQUE", column_list(c, t, k)));
}

/* ---- functions ---- */

static bool
function_arguments(Call *c)
{
    ProcFacts p;
    if (!proc_find(oid_arg(c, 0), &p))
        return give_null(c);
    c->ret->str = proc_arguments(c->a, &p, ", ");
    return true;
}

static bool
function_result(Call *c)
{
    ProcFacts p;
    if (!proc_find(oid_arg(c, 0), &p))
        return give_null(c);
    return give_text(c, arena_printf(c->a, "%s%s", p.gives_rows ? "SETOF " : "", type_name(type_from_oid(p.ret))));
}

/* ---- what can be seen ---- */

static bool
relation_is_visible(Call *c)
{
    NamedRelation r = names_of_relation(c->names, oid_arg(c, 0));
    if (!r.name.ptr)
        return give_null(c);
    c->ret->b = r.table ? !system_find_table(STR_LIT("pg_catalog"), r.name) : strcmp(r.schema, "pg_catalog") == 0;
    return true;
}

static bool
type_is_visible(Call *c)
{
    if (!type_from_oid(oid_arg(c, 0)))
        return give_null(c);
    c->ret->b = true;
    return true;
}

static bool
function_is_visible(Call *c)
{
    ProcFacts p;
    if (!proc_find(oid_arg(c, 0), &p))
        return give_null(c);
    c->ret->b = true;
    return true;
}

static bool
current_schemas(Call *c)
{
    ArrayBuild b = array_build(c->a, TYPE_NAME);
    Value pg = {.type = TYPE_NAME, .typmod = -1, .str = STR_LIT("pg_catalog")}, public = {.type = TYPE_NAME, .typmod = -1, .str = STR_LIT("public")};
    return (!c->args[0].b || array_add(&b, &pg, c->err)) && array_add(&b, &public, c->err) && array_finish_list(&b, &c->ret->str, c->err);
}

/* ---- names ---- */

/* Of what is not there it gives NULL, of what is no name an error. */
static bool
name_to_oid(Call *c)
{
    Error err;
    u32 oid;
    if (c->names->read(c->names, c->a, c->ret->type, c->args[0].str, &oid, &err)) {
        c->ret->i64v = oid;
        return true;
    }
    if (err.code != ERR_INVALID_NAME)
        return give_null(c);
    *c->err = err;
    return false;
}

static bool
role_name(Call *c)
{
    const RoleDef *role = catalog_role(root_of(c), oid_arg(c, 0));
    c->ret->str = role ? role->name : str_of(arena_printf(c->a, "unknown (OID=%u)", oid_arg(c, 0)));
    return true;
}

static bool
encoding_name(Call *c)
{
    return give_text(c, c->args[0].i32v == 6 ? "UTF8" : c->args[0].i32v == 0 ? "SQL_ASCII" : "");
}

static bool
encoding_number(Call *c)
{
    Str s = c->args[0].str;
    char word[8];
    u32 n = 0;
    for (u32 i = 0; i < s.len && n < sizeof word; i++)
        if (s.ptr[i] != '-' && s.ptr[i] != '_')
            word[n++] = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (char)(s.ptr[i] | 0x20) : s.ptr[i];
    Str plain = {word, n};
    c->ret->i32v = str_eq(plain, STR_LIT("utf8")) || str_eq(plain, STR_LIT("unicode")) ? 6 : -1;
    return true;
}

/* Columns have no sequence yet; but the column must be there. */
static bool
serial_sequence(Call *c)
{
    u32 oid = names_relation_of_text(c->names, c->a, c->args[0].str, c->err);
    if (!oid)
        return false;
    NamedRelation r = names_of_relation(c->names, oid);
    Str column = c->args[1].str;
    for (u32 i = 0; r.table && !r.key && i < r.table->column_count; i++)
        if (str_eq(r.table->columns[i].name, column))
            return give_null(c);
    return error_set(c->err, ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)column.len, column.ptr, (int)r.name.len,
                     r.name.ptr);
}

/* ---- sizes ---- */

static bool
relation_size(Call *c)
{
    NamedRelation r = names_of_relation(c->names, oid_arg(c, 0));
    if (!r.name.ptr)
        return give_null(c);
    c->ret->i64v = r.table && !r.key ? (i64)table_column_bytes(store_table(root_of(c), r.table->table_id)) : 0;
    return true;
}

typedef struct SizeSum { const Root *root; u64 bytes; } SizeSum;

static bool
add_size(void *ctx, const TableDef *t)
{
    SizeSum *s = ctx;
    s->bytes += table_column_bytes(store_table(s->root, t->table_id));
    return true;
}

static bool
database_size(Call *c)
{
    SizeSum s = {.root = root_of(c)};
    if (c->args[0].type == TYPE_OID ? oid_arg(c, 0) != DATABASE_OID : !str_eq(c->args[0].str, str_of(names_session(c->names)->database))) {
        if (c->args[0].type == TYPE_OID)
            return give_null(c);
        return error_set(c->err, ERR_INVALID_CATALOG_NAME, "database \"%.*s\" does not exist", (int)c->args[0].str.len, c->args[0].str.ptr);
    }
    catalog_each_table(s.root, add_size, &s);
    c->ret->i64v = (i64)s.bytes;
    return true;
}

/* From kB on the size carries half a unit more than is shown, for rounding away from zero; it stays in a unit up to 10 times 1024 of it. */
static bool
size_pretty(Call *c)
{
    static const char *const UNITS[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
    i64 size = c->args[0].i64v;
    u32 unit = 0;
    for (; unit + 1 < COUNT_OF(UNITS); unit++) {
        u64 magnitude = size < 0 ? 0 - (u64)size : (u64)size;
        if (magnitude < (unit ? 20 * 1024 - 1 : 10 * 1024))
            break;
        size /= unit ? 1024 : 512;
    }
    if (unit)
        size = (size + (size < 0 ? -1 : 1)) / 2;
    return give_text(c, arena_printf(c->a, "%lld %s", (long long)size, UNITS[unit]));
}

/* ---- the door ---- */

bool
catalog_call(const CatalogNames *n, Arena *a, u32 op, const Value *args, u32 arg_count, Value *ret, Error *err)
{
    Call c = {n, a, args, arg_count, ret, err};
    switch ((int)op) {
    case FOP_INDEX_DEFINITION: return index_definition(&c);
    case FOP_CONSTRAINT_DEFINITION: return constraint_definition(&c);
    case FOP_NODE_TEXT: return node_text(&c);
    case FOP_DEFAULT_TEXT: return default_text(&c);
    case FOP_FUNCTION_ARGUMENTS: return function_arguments(&c);
    case FOP_FUNCTION_RESULT: return function_result(&c);
    case FOP_RELATION_IS_VISIBLE: return relation_is_visible(&c);
    case FOP_TYPE_IS_VISIBLE: return type_is_visible(&c);
    case FOP_FUNCTION_IS_VISIBLE: return function_is_visible(&c);
    case FOP_IS_VISIBLE: ret->b = true; return true;
    case FOP_NEVER: ret->b = false; return true;
    case FOP_CURRENT_SCHEMAS: return current_schemas(&c);
    case FOP_NAME_TO_OID: return name_to_oid(&c);
    case FOP_ROLE_NAME: return role_name(&c);
    case FOP_ENCODING_NAME: return encoding_name(&c);
    case FOP_ENCODING_NUMBER: return encoding_number(&c);
    case FOP_SERIAL_SEQUENCE: return serial_sequence(&c);
    case FOP_RELATION_SIZE: return relation_size(&c);
    case FOP_DATABASE_SIZE: return database_size(&c);
    case FOP_SIZE_PRETTY: return size_pretty(&c);
    case FOP_QUOTE_IDENT: ret->str = names_quote(a, args[0].str); return true;
    case FOP_DATABASE_ENCODING: return give_text(&c, "UTF8");
    case FOP_TABLESPACE_LOCATION: return give_text(&c, "");
    case FOP_HAS_TABLE:
    case FOP_HAS_COLUMN:
    case FOP_HAS_ANY_COLUMN:
    case FOP_HAS_SCHEMA:
    case FOP_HAS_DATABASE:
    case FOP_HAS_ROLE: return privilege_call(n, a, op, args, arg_count, ret, err);
    default: return give_null(&c); /* FOP_NOTHING_KNOWN */
    }
}
