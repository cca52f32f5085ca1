/*
 * bind_table.c
 *    CREATE TABLE, DROP TABLE, TRUNCATE.
 *
 * CREATE TABLE makes a TableDef without ids in the statement's arena.
 */
#include "backend/sql/new_table.h"

#include "common/store/rights.h"

/* Room for what LIKE may bring, too. */
static u32
count_constraints(const Stmt *s)
{
    u32 n = s->constraints.count;
    for (u32 i = 0; i < s->column_defs.count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        n += c->like ? MAX_CHECKS : c->constraints.count;
    }
    return n;
}

static u32
columns_of(Binder *b, const AColumnDef *c)
{
    return c->like ? new_table_like_count(b, c->like) : 1;
}

static void
add_keys(NewTable *n, const Stmt *s)
{
    n->keys = ARENA_ARRAY(n->b->arena, KeyDef, count_constraints(s));
    for (u32 i = 0; i < s->column_defs.count; i++)
        new_table_column_keys(n, LIST_AT(s->column_defs, AColumnDef, i)); /* LIKE has none */
    for (u32 i = 0; i < s->constraints.count; i++)
        if (LIST_AT(s->constraints, AConstraint, i)->kind != AC_CHECK)
            new_table_key(n, LIST_AT(s->constraints, AConstraint, i), (Str){0});
    for (u32 i = 0, at = 0; i < s->column_defs.count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        if (c->like)
            new_table_like_keys(n, c->like, at);
        at += columns_of(n->b, c);
    }
    new_table_name_keys(n, 0);
}

/* Those of columns first, those of LIKE last. */
static void
add_checks(NewTable *n, const Stmt *s)
{
    n->checks = ARENA_ARRAY(n->b->arena, CheckDef, count_constraints(s));
    for (u32 i = 0; i < s->column_defs.count; i++)
        new_table_column_checks(n, LIST_AT(s->column_defs, AColumnDef, i));
    for (u32 i = 0; i < s->constraints.count; i++)
        if (LIST_AT(s->constraints, AConstraint, i)->kind == AC_CHECK)
            new_table_check(n, LIST_AT(s->constraints, AConstraint, i));
    for (u32 i = 0, at = 0; i < s->column_defs.count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        if (c->like)
            new_table_like_checks(n, c->like, at);
        at += columns_of(n->b, c);
    }
}

static void
add_columns(NewTable *n, const Stmt *s)
{
    for (u32 i = 0, at = 0; i < s->column_defs.count; i++) {
        const AColumnDef *c = LIST_AT(s->column_defs, AColumnDef, i);
        u32 count = columns_of(n->b, c);
        if (c->like)
            new_table_like_columns(n, c->like, at);
        else
            new_table_check_name(c->name);
        for (u32 k = 0; k < count; k++) {
            Str name = c->like ? n->columns[at + k].name : c->name;
            for (u32 before = 0; before < at + k; before++)
                if (str_eq(n->columns[before].name, name))
                    err_throw(ERR_DUPLICATE_COLUMN, "column \"%.*s\" specified more than once", (int)name.len, name.ptr);
        }
        if (!c->like)
            new_table_column(n, c, at);
        at += count;
    }
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
        bind_notice(b, ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists, skipping", (int)name.len, name.ptr);
        return;
    }
    if (s->is_as) {
        bind_create_table_as(b, to, s);
        return;
    }
    u32 count = 0;
    for (u32 i = 0; i < s->column_defs.count; i++)
        count += columns_of(b, LIST_AT(s->column_defs, AColumnDef, i));
    if (count > MAX_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", MAX_COLUMNS);
    NewTable n = {.b = b, .def = ARENA_NEW(b->arena, TableDef)};
    n.columns = ARENA_ARRAY(b->arena, ColumnDef, count);
    n.null_given = ARENA_ARRAY(b->arena, bool, count);
    n.def->columns = n.columns;
    n.def->name = to->table_name;
    n.def->owner_id = b->ctx->role_id;
    n.def->column_count = (u16)count;
    add_columns(&n, s);
    RightsOf schema = rights_of_schema(b->ctx->root);
    if (!rights_allow(b->ctx->root, &schema, b->ctx->role_id, ACL_CREATE))
        bind_fail(b, s->name.at, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema public");
    if (new_table_name_taken(&n, name))
        err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)name.len, name.ptr);
    add_checks(&n, s);
    add_keys(&n, s);
    new_table_sort_checks(&n);
    n.def->columns = n.columns;
    n.def->keys = n.keys;
    to->create = n.def;
}

/* ---- DROP and TRUNCATE ---- */

void
bind_must_own(Binder *b, const TableDef *t)
{
    if (!rights_own(b->ctx->root, t->owner_id, b->ctx->role_id))
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
            bind_must_own(b, t);
            add_id(to, t);
        } else if (!str_eq(schema, STR_LIT("public")) && !str_eq(schema, STR_LIT("pg_catalog"))) {
            if (!s->if_exists)
                err_throw(ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)schema.len, schema.ptr);
            bind_notice(b, ERR_NONE, "schema \"%.*s\" does not exist, skipping", (int)schema.len, schema.ptr);
        } else {
            if (!s->if_exists)
                err_throw(ERR_UNDEFINED_TABLE, "table \"%.*s\" does not exist", (int)name.len, name.ptr);
            bind_notice(b, ERR_NONE, "table \"%.*s\" does not exist, skipping", (int)name.len, name.ptr);
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
