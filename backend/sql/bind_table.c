/*
 * bind_table.c
 *    CREATE TABLE, DROP TABLE, TRUNCATE.
 *
 * CREATE TABLE makes a TableDef without ids in the statement's arena. Names of constraints that were not given are chosen as PostgreSQL does:
 * t_pkey, t_a_b_key, cut to 63 bytes and numbered until no other relation or key has the name.
 */
#include "backend/sql/bind.h"

#include <stdio.h>

typedef struct NewTable {
    Binder *b;
    const Stmt *stmt;
    TableDef *def;
    ColumnDef *columns;
    bool *null_given;
    KeyDef *keys;
    u32 *key_at;
} NewTable;

/* ---- columns ---- */

static void
check_column_name(NewTable *n, const AColumnDef *c, u32 index)
{
    static const char *const system[] = {"ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"};
    for (u32 i = 0; i < COUNT_OF(system); i++)
        if (str_eq(c->name, str_of(system[i])))
            err_throw(ERR_DUPLICATE_COLUMN, "column name \"%s\" conflicts with a system column name", system[i]);
    for (u32 i = 0; i < index; i++)
        if (str_eq(n->columns[i].name, c->name))
            err_throw(ERR_DUPLICATE_COLUMN, "column \"%.*s\" specified more than once", (int)c->name.len, c->name.ptr);
}

static NORETURN void
null_conflict(NewTable *n, const AColumnDef *c, u32 at)
{
    Str table = n->def->name;
    bind_fail(n->b, at, ERR_SYNTAX_ERROR, "conflicting NULL/NOT NULL declarations for column \"%.*s\" of table \"%.*s\"", (int)c->name.len,
              c->name.ptr, (int)table.len, table.ptr);
}

static void
add_column(NewTable *n, const AColumnDef *c, u32 index)
{
    Binder *b = n->b;
    if (c->unsupported)
        bind_unsupported(b, c->unsupported_at, c->unsupported);
    i32 typmod;
    TypeId type = bind_type(b, c->type, &typmod);
    if (type_category(type) == 'X' || type_category(type) == 'P')
        err_throw(ERR_INVALID_TABLE_DEFINITION, "column \"%.*s\" has pseudo-type %s", (int)c->name.len, c->name.ptr, type_name(type));
    if (!type_storable(type))
        bind_fail(b, c->type->at, ERR_FEATURE_NOT_SUPPORTED, "a column of type %s is not supported yet", type_name(type));
    if (type == TYPE_BPCHAR && typmod < 0) /* equal values could differ in their bytes */
        bind_fail(b, c->type->at, ERR_FEATURE_NOT_SUPPORTED, "a column of type bpchar without a length is not supported yet");
    if (c->collate_at && type_category(type) != 'S')
        bind_fail(b, c->collate_at, ERR_DATATYPE_MISMATCH, "collations are not supported by type %s", type_name(type));
    ColumnDef *d = &n->columns[index];
    *d = (ColumnDef){.name = arena_str(b->arena, c->name), .type = (u16)type, .phys = (u8)phys_of(type, typmod), .typmod = typmod};
    if (type == TYPE_NUMERIC && typmod >= 0)
        d->scale = (u8)numeric_scale(typmod);
    if (c->default_expr)
        d->default_text = bind_new_default(b, d, c->default_expr, c->default_text);
    for (u32 i = 0; i < c->constraints.count; i++) {
        const AConstraint *k = LIST_AT(c->constraints, AConstraint, i);
        if (k->kind != AC_NULL && k->kind != AC_NOT_NULL)
            continue;
        if (n->null_given[index] && d->not_null != (k->kind == AC_NOT_NULL))
            null_conflict(n, c, k->at);
        n->null_given[index] = true;
        d->not_null = k->kind == AC_NOT_NULL;
    }
}

/* ---- keys ---- */

static bool
same_columns(const KeyDef *a, const KeyDef *b)
{
    return a->column_count == b->column_count && memcmp(a->columns, b->columns, a->column_count * sizeof a->columns[0]) == 0;
}

static void
key_column(NewTable *n, KeyDef *key, const AConstraint *c, Str name)
{
    Binder *b = n->b;
    const char *kind = key->primary ? "primary key" : "unique";
    u32 column = 0;
    while (column < n->def->column_count && !str_eq(n->columns[column].name, name))
        column++;
    if (column == n->def->column_count)
        bind_fail(b, c->at, ERR_UNDEFINED_COLUMN, "column \"%.*s\" named in key does not exist", (int)name.len, name.ptr);
    for (u32 i = 0; i < key->column_count; i++)
        if (key->columns[i] == column)
            bind_fail(b, c->at, ERR_DUPLICATE_COLUMN, "column \"%.*s\" appears twice in %s constraint", (int)name.len, name.ptr, kind);
    if (key->column_count == MAX_KEY_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index", MAX_KEY_COLUMNS);
    key->columns[key->column_count++] = (u16)column;
    if (key->primary)
        n->columns[column].not_null = 1;
}

/* A key; one that repeats an earlier one only gives it its name. */
static void
add_key(NewTable *n, const AConstraint *c, Str column)
{
    Binder *b = n->b;
    KeyDef key = {.name = c->name, .primary = c->kind == AC_PRIMARY};
    for (u32 i = 0; i < n->def->key_count && key.primary; i++)
        if (n->keys[i].primary)
            bind_fail(b, c->at, ERR_INVALID_TABLE_DEFINITION, "multiple primary keys for table \"%.*s\" are not allowed",
                      (int)n->def->name.len, n->def->name.ptr);
    if (c->column_count == 0)
        key_column(n, &key, c, column);
    for (u32 i = 0; i < c->column_count; i++)
        key_column(n, &key, c, c->columns[i]);
    for (u32 i = 0; i < n->def->key_count; i++)
        if (same_columns(&n->keys[i], &key) && (!key.name.len || !n->keys[i].name.len || str_eq(key.name, n->keys[i].name))) {
            n->keys[i].primary |= key.primary;
            if (!n->keys[i].name.len)
                n->keys[i].name = key.name;
            return;
        }
    n->keys[n->def->key_count++] = key;
}

/* The primary key comes first. */
static void
primary_first(NewTable *n)
{
    for (u32 i = 1; i < n->def->key_count; i++)
        if (n->keys[i].primary) {
            KeyDef key = n->keys[i];
            memmove(n->keys + 1, n->keys, i * sizeof *n->keys);
            n->keys[0] = key;
        }
}

/* ---- names of keys ---- */

typedef struct NameSearch {
    Str name;
    bool found;
} NameSearch;

static bool
look_for_name(void *ctx, const TableDef *t)
{
    NameSearch *s = ctx;
    s->found = str_eq(t->name, s->name);
    for (u32 i = 0; i < t->key_count && !s->found; i++)
        s->found = str_eq(t->keys[i].name, s->name);
    return !s->found;
}

/* Tables and keys share one space of names. */
static bool
name_is_taken(const NewTable *n, Str name, const KeyDef *but)
{
    NameSearch s = {.name = name};
    catalog_each_table(n->b->ctx->root, look_for_name, &s);
    s.found |= str_eq(name, n->def->name);
    for (u32 i = 0; i < n->def->key_count; i++)
        s.found |= &n->keys[i] != but && str_eq(n->keys[i].name, name);
    return s.found;
}

/* table_columns_label within 63 bytes: the longer of the first two parts is cut, byte by byte. */
static Str
object_name(Arena *a, Str table, Str columns, const char *label)
{
    u32 overhead = (u32)strlen(label) + 1 + (columns.len ? 1 : 0), room = MAX_NAME_BYTES - overhead;
    u32 first = table.len, second = columns.len;
    while (first + second > room) {
        if (first > second)
            first--;
        else
            second--;
    }
    first = utf8_clip(table, first);
    second = utf8_clip(columns, second);
    return str_of(arena_printf(a, "%.*s%s%.*s_%s", (int)first, table.ptr, columns.len ? "_" : "", (int)second, columns.ptr, label));
}

static Str
joined_columns(NewTable *n, const KeyDef *key)
{
    Str all = {0};
    for (u32 i = 0; i < key->column_count; i++) {
        Str c = n->columns[key->columns[i]].name;
        all = str_of(arena_printf(n->b->arena, "%.*s%s%.*s", (int)all.len, all.ptr ? all.ptr : "", i ? "_" : "", (int)c.len, c.ptr));
        if (all.len > MAX_NAME_BYTES)
            break;
    }
    all.len = utf8_clip(all, MAX_NAME_BYTES);
    return all;
}

static void
name_keys(NewTable *n)
{
    Arena *a = n->b->arena;
    for (u32 i = 0; i < n->def->key_count; i++) {
        KeyDef *key = &n->keys[i];
        if (key->name.len) {
            key->name = arena_str(a, key->name);
            if (name_is_taken(n, key->name, key))
                err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)key->name.len, key->name.ptr);
        }
    }
    for (u32 i = 0; i < n->def->key_count; i++) {
        KeyDef *key = &n->keys[i];
        const char *stem = key->primary ? "pkey" : "key";
        Str columns = key->primary ? (Str){0} : joined_columns(n, key), name = key->name;
        for (u32 pass = 0; !key->name.len && (pass == 0 || name_is_taken(n, name, key)); pass++)
            name = object_name(a, n->def->name, columns, pass ? arena_printf(a, "%s%u", stem, pass) : stem);
        key->name = name;
    }
}

static u32
count_constraints(const Stmt *s)
{
    u32 n = s->constraints.count;
    for (u32 i = 0; i < s->column_defs.count; i++)
        n += LIST_AT(s->column_defs, AColumnDef, i)->constraints.count;
    return n;
}

static void
check_key_type(TypeId type)
{
    if (type == TYPE_JSON)
        bind_fail_hint(0, ERR_UNDEFINED_OBJECT, "You must specify an operator class for the index or define a default operator class for the data type.",
                       "data type json has no default operator class for access method \"btree\"");
    if (phys_of(type, -1) == PHYS_STR && !type_bytes_tell(type))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "a key of type %s is not supported yet", type_name(type));
}

static void
add_keys(NewTable *n)
{
    const Stmt *s = n->stmt;
    n->keys = ARENA_ARRAY(n->b->arena, KeyDef, count_constraints(s));
    for (u32 i = 0; i < s->column_defs.count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        for (u32 k = 0; k < c->constraints.count; k++) {
            const AConstraint *con = LIST_AT(c->constraints, AConstraint, k);
            if (con->kind == AC_PRIMARY || con->kind == AC_UNIQUE)
                add_key(n, con, c->name);
        }
    }
    for (u32 i = 0; i < s->constraints.count; i++)
        add_key(n, LIST_AT(s->constraints, AConstraint, i), (Str){0});
    for (u32 i = 0; i < n->def->key_count; i++)
        for (u32 k = 0; k < n->keys[i].column_count; k++)
            check_key_type((TypeId)n->columns[n->keys[i].columns[k]].type);
    primary_first(n);
    name_keys(n);
}

static NORETURN void
system_schema(Binder *b, const AName *n)
{
    Error err;
    error_set(&err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to create \"%s\"", bind_name_text(b, n));
    error_detail(&err, "System catalog modifications are currently disallowed.");
    err_rethrow(&err);
}

/* The schema of a new table must be public. */
static void
check_schema(Binder *b, const AName *n)
{
    if (n->count > 3)
        bind_fail(b, n->at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names): %s", bind_name_text(b, n));
    if (n->count == 3 && !str_eq(n->parts[0], str_of(b->ctx->database)))
        bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: \"%s\"", bind_name_text(b, n));
    Str schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("public");
    if (str_eq(schema, STR_LIT("pg_catalog")) || str_eq(schema, STR_LIT("information_schema")))
        system_schema(b, n);
    if (!str_eq(schema, STR_LIT("public")))
        bind_fail(b, n->at, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)schema.len, schema.ptr);
}

void
bind_create_table(Binder *b, BStmt *to, const Stmt *s)
{
    to->kind = BST_CREATE_TABLE;
    to->if_not_exists = s->if_exists;
    check_schema(b, &s->name);
    Str name = s->name.parts[s->name.count - 1];
    to->table_name = arena_str(b->arena, name);
    if (catalog_find_table(b->ctx->root, name) && s->if_exists) {
        bind_notice(b, "relation \"%.*s\" already exists, skipping", (int)name.len, name.ptr);
        return;
    }
    u32 count = s->column_defs.count;
    if (count > MAX_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", MAX_COLUMNS);
    NewTable n = {.b = b, .stmt = s, .def = ARENA_NEW(b->arena, TableDef)};
    n.columns = ARENA_ARRAY(b->arena, ColumnDef, count);
    n.null_given = ARENA_ARRAY(b->arena, bool, count);
    n.def->name = to->table_name;
    n.def->owner_id = b->ctx->role_id;
    n.def->column_count = (u16)count;
    for (u32 i = 0; i < count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        check_column_name(&n, c, i);
        add_column(&n, c, i);
    }
    NameSearch taken = {.name = name};
    catalog_each_table(b->ctx->root, look_for_name, &taken);
    if (taken.found)
        err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)name.len, name.ptr);
    add_keys(&n);
    n.def->columns = n.columns;
    n.def->keys = n.keys;
    to->create = n.def;
}

/* ---- DROP and TRUNCATE ---- */

static void
must_own(Binder *b, const TableDef *t)
{
    const RoleDef *r = catalog_role(b->ctx->root, b->ctx->role_id);
    if (t->owner_id != b->ctx->role_id && !(r && r->superuser))
        err_throw(ERR_INSUFFICIENT_PRIVILEGE, "must be owner of table %.*s", (int)t->name.len, t->name.ptr);
}

static void
add_id(BStmt *to, const TableDef *t)
{
    for (u32 i = 0; i < to->drop_count; i++)
        if (to->drop_ids[i] == t->table_id)
            return;
    to->drop_ids[to->drop_count++] = t->table_id;
}

void
bind_drop_table(Binder *b, BStmt *to, const Stmt *s)
{
    to->kind = BST_DROP_TABLE;
    to->drop_ids = ARENA_ARRAY(b->arena, u32, s->names.count);
    for (u32 i = 0; i < s->names.count; i++) {
        const AName *n = LIST_AT(s->names, AName, i);
        const TableDef *t = bind_find_table(b, n);
        Str name = n->parts[n->count - 1], schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("public");
        if (t) {
            must_own(b, t);
            add_id(to, t);
        } else if (!str_eq(schema, STR_LIT("public")) && !str_eq(schema, STR_LIT("pg_catalog"))) {
            if (!s->if_exists)
                err_throw(ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)schema.len, schema.ptr);
            bind_notice(b, "schema \"%.*s\" does not exist, skipping", (int)schema.len, schema.ptr);
        } else {
            if (!s->if_exists)
                err_throw(ERR_UNDEFINED_TABLE, "table \"%.*s\" does not exist", (int)name.len, name.ptr);
            bind_notice(b, "table \"%.*s\" does not exist, skipping", (int)name.len, name.ptr);
        }
    }
}

void
bind_truncate(Binder *b, BStmt *to, const Stmt *s)
{
    to->kind = BST_TRUNCATE;
    to->drop_ids = ARENA_ARRAY(b->arena, u32, s->names.count);
    for (u32 i = 0; i < s->names.count; i++) {
        const AName *n = LIST_AT(s->names, AName, i);
        const TableDef *t = bind_find_table(b, n);
        if (!t)
            err_throw(ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", bind_name_text(b, n));
        bind_right(b, t, ACL_TRUNCATE);
        add_id(to, t);
        if (i == 0) {
            to->table_id = t->table_id;
            to->schema_version = t->schema_version;
            to->table_name = arena_str(b->arena, t->name);
        }
    }
}
