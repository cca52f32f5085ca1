/*
 * new_table.c
 *    Columns, keys and checks of a definition in the making, see new_table.h.
 *
 * Names of constraints that were not given are chosen as PostgreSQL does: t_pkey, t_a_b_key, cut to 63 bytes and numbered until no other relation or key
 * has the name.
 */
#include "backend/sql/new_table.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- columns ---- */

void
new_table_check_name(Str name)
{
    static const char *const system[] = {"ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"};
    for (u32 i = 0; i < COUNT_OF(system); i++)
        if (str_eq(name, str_of(system[i])))
            err_throw(ERR_DUPLICATE_COLUMN, "column name \"%s\" conflicts with a system column name", system[i]);
}

static NORETURN void
null_conflict(NewTable *n, const AColumnDef *c, u32 at)
{
    Str table = n->def->name;
    bind_fail(n->b, at, ERR_SYNTAX_ERROR, "conflicting NULL/NOT NULL declarations for column \"%.*s\" of table \"%.*s\"", (int)c->name.len,
              c->name.ptr, (int)table.len, table.ptr);
}

/* ALTER TABLE binds it when the statement's text is no longer at hand in PostgreSQL. */
Str
new_table_default(NewTable *n, const ColumnDef *c, const AExpr *e, Str text)
{
    n->b->no_positions = n->alters;
    Str kept = bind_new_default(n->b, c, e, text);
    n->b->no_positions = false;
    return kept;
}

ColumnDef
new_table_column_of(NewTable *n, Str name, TypeId type, i32 typmod, u32 at)
{
    if (type_category(type) == 'X' || type_category(type) == 'P')
        err_throw(ERR_INVALID_TABLE_DEFINITION, "column \"%.*s\" has pseudo-type %s", (int)name.len, name.ptr, type_name(type));
    if (!type_storable(type))
        bind_fail(n->b, at, ERR_FEATURE_NOT_SUPPORTED, "a column of type %s is not supported yet", type_name(type));
    if (type == TYPE_BPCHAR && typmod < 0) /* equal values could differ in their bytes */
        bind_fail(n->b, at, ERR_FEATURE_NOT_SUPPORTED, "a column of type bpchar without a length is not supported yet");
    ColumnDef d = {.name = name, .type = (u16)type, .phys = (u8)phys_of(type, typmod), .typmod = typmod};
    if (type == TYPE_NUMERIC && typmod >= 0)
        d.scale = (u8)numeric_scale(typmod);
    return d;
}

void
new_table_column(NewTable *n, const AColumnDef *c, u32 index)
{
    Binder *b = n->b;
    if (c->unsupported)
        bind_unsupported(b, c->unsupported_at, c->unsupported);
    i32 typmod;
    TypeId type = bind_type(b, c->type, &typmod);
    ColumnDef *d = &n->columns[index];
    *d = new_table_column_of(n, arena_str(b->arena, c->name), type, typmod, c->type->at);
    if (c->collate_at && type_category(type) != 'S')
        bind_fail(b, c->collate_at, ERR_DATATYPE_MISMATCH, "collations are not supported by type %s", type_name(type));
    if (c->default_expr)
        d->default_text = new_table_default(n, d, c->default_expr, c->default_text);
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

void
new_table_check_key_type(TypeId type)
{
    if (type == TYPE_JSON)
        bind_fail_hint(0, ERR_UNDEFINED_OBJECT, "You must specify an operator class for the index or define a default operator class for the data type.",
                       "data type json has no default operator class for access method \"btree\"");
    if (phys_of(type, -1) == PHYS_STR && !type_bytes_tell(type))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "a key of type %s is not supported yet", type_name(type));
}

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
        bind_fail(b, n->alters ? NO_LOCATION : c->at, ERR_UNDEFINED_COLUMN, "column \"%.*s\" named in key does not exist", (int)name.len, name.ptr);
    for (u32 i = 0; i < key->column_count; i++)
        if (key->columns[i] == column)
            bind_fail(b, c->at, ERR_DUPLICATE_COLUMN, "column \"%.*s\" appears twice in %s constraint", (int)name.len, name.ptr, kind);
    if (key->column_count == MAX_KEY_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index", MAX_KEY_COLUMNS);
    new_table_check_key_type((TypeId)n->columns[column].type);
    key->columns[key->column_count++] = (u16)column;
    if (key->primary)
        n->columns[column].not_null = 1;
}

/* A key; one that repeats an earlier one of CREATE TABLE only gives it its name. */
void
new_table_key(NewTable *n, const AConstraint *c, Str column)
{
    Binder *b = n->b;
    KeyDef key = {.name = c->name, .primary = c->kind == AC_PRIMARY};
    for (u32 i = 0; i < n->def->key_count && key.primary; i++)
        if (n->keys[i].primary)
            bind_fail(b, n->alters ? NO_LOCATION : c->at, ERR_INVALID_TABLE_DEFINITION, "multiple primary keys for table \"%.*s\" are not allowed",
                      (int)n->def->name.len, n->def->name.ptr);
    if (c->column_count == 0)
        key_column(n, &key, c, column);
    for (u32 i = 0; i < c->column_count; i++)
        key_column(n, &key, c, c->columns[i]);
    for (u32 i = 0; i < n->def->key_count && !n->alters; i++)
        if (same_columns(&n->keys[i], &key) && (!key.name.len || !n->keys[i].name.len || str_eq(key.name, n->keys[i].name))) {
            n->keys[i].primary |= key.primary;
            if (!n->keys[i].name.len)
                n->keys[i].name = key.name;
            return;
        }
    key.number = catalog_new_key_number(n->def, n->keys, n->checks);
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
    u32 but;         /* a table's id */
    bool constraint; /* no table's name counts */
    bool checks;     /* those of checks count, too */
    bool found;
} NameSearch;

static bool
look_for_name(void *ctx, const TableDef *t)
{
    NameSearch *s = ctx;
    if (t->table_id == s->but)
        return true;
    s->found = !s->constraint && str_eq(t->name, s->name);
    for (u32 i = 0; i < t->key_count && !s->found; i++)
        s->found = str_eq(t->keys[i].name, s->name);
    for (u32 i = 0; i < t->check_count && s->checks && !s->found; i++)
        s->found = str_eq(t->checks[i].name, s->name);
    return !s->found;
}

/* Tables and keys share one space of names. */
bool
new_table_name_taken(const NewTable *n, Str name)
{
    NameSearch s = {.name = name, .but = n->def->table_id};
    catalog_each_table(n->b->ctx->root, look_for_name, &s);
    return s.found;
}

/* chosen: by us, and no check may have it either. */
static bool
name_is_taken(const NewTable *n, Str name, const KeyDef *but, bool chosen)
{
    NameSearch s = {.name = name, .but = n->def->table_id, .checks = chosen};
    catalog_each_table(n->b->ctx->root, look_for_name, &s);
    bool found = s.found || str_eq(name, n->def->name);
    for (u32 i = 0; i < n->def->check_count && chosen; i++)
        found |= str_eq(n->checks[i].name, name);
    for (u32 i = 0; i < n->def->key_count; i++)
        found |= &n->keys[i] != but && str_eq(n->keys[i].name, name);
    return found;
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

void
new_table_name_keys(NewTable *n, u32 first)
{
    Arena *a = n->b->arena;
    for (u32 i = first; i < n->def->key_count; i++) {
        KeyDef *key = &n->keys[i];
        if (key->name.len) {
            key->name = arena_str(a, key->name);
            for (u32 c = 0; c < n->def->check_count; c++)
                if (str_eq(n->checks[c].name, key->name))
                    new_table_constraint_exists(n, key->name);
            if (name_is_taken(n, key->name, key, false))
                err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)key->name.len, key->name.ptr);
        }
    }
    for (u32 i = 0; i < n->def->key_count; i++) {
        KeyDef *key = &n->keys[i];
        const char *stem = key->primary ? "pkey" : "key";
        Str columns = key->primary ? (Str){0} : joined_columns(n, key), name = key->name;
        for (u32 pass = 0; !key->name.len && (pass == 0 || name_is_taken(n, name, key, true)); pass++)
            name = object_name(a, n->def->name, columns, pass ? arena_printf(a, "%s%u", stem, pass) : stem);
        key->name = name;
    }
    primary_first(n);
}

void
new_table_column_keys(NewTable *n, const AColumnDef *c)
{
    for (u32 k = 0; k < c->constraints.count; k++) {
        const AConstraint *con = LIST_AT(c->constraints, AConstraint, k);
        if (con->kind == AC_PRIMARY || con->kind == AC_UNIQUE)
            new_table_key(n, con, c->name);
    }
}

/* ---- checks ---- */

bool
new_table_has_constraint(const NewTable *n, Str name)
{
    bool found = false;
    for (u32 i = 0; i < n->def->key_count; i++)
        found |= str_eq(n->keys[i].name, name);
    for (u32 i = 0; i < n->def->check_count; i++)
        found |= str_eq(n->checks[i].name, name);
    return found;
}

void
new_table_constraint_exists(const NewTable *n, Str name)
{
    Str table = n->def->name;
    err_throw(ERR_DUPLICATE_OBJECT, "constraint \"%.*s\" for relation \"%.*s\" already exists", (int)name.len, name.ptr, (int)table.len, table.ptr);
}

/* t_a_check when it looks at one column, else t_check: no constraint of any table may have the name. */
static Str
check_name(NewTable *n, const CheckDef *c)
{
    Arena *a = n->b->arena;
    Str column = c->column_count == 1 ? n->columns[c->columns[0]].name : (Str){0};
    for (u32 pass = 0;; pass++) {
        NameSearch s = {.name = object_name(a, n->def->name, column, pass ? arena_printf(a, "check%u", pass) : "check"), .but = n->def->table_id, .constraint = true, .checks = true};
        catalog_each_table(n->b->ctx->root, look_for_name, &s);
        if (!s.found && !new_table_has_constraint(n, s.name))
            return s.name;
    }
}

/* made.name.len 0: to be chosen. */
void
new_table_add_check(NewTable *n, CheckDef made)
{
    if (n->def->check_count == MAX_CHECKS)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "tables can have at most %d CHECK constraints", (int)MAX_CHECKS);
    for (u32 i = n->old_checks; i < n->def->check_count && made.name.len; i++)
        if (str_eq(n->checks[i].name, made.name))
            err_throw(ERR_DUPLICATE_OBJECT, "check constraint \"%.*s\" already exists", (int)made.name.len, made.name.ptr);
    if (made.name.len && new_table_has_constraint(n, made.name))
        new_table_constraint_exists(n, made.name);
    made.name = made.name.len ? arena_str(n->b->arena, made.name) : check_name(n, &made);
    n->checks[n->def->check_count++] = made;
}

void
new_table_check(NewTable *n, const AConstraint *c)
{
    bool before = n->b->no_positions;
    n->b->no_positions = n->alters;
    n->def->columns = n->columns;
    CheckDef made = bind_new_check(n->b, n->def, c);
    made.number = catalog_new_key_number(n->def, n->keys, n->checks);
    n->b->no_positions = before;
    made.not_valid &= n->alters; /* a new table has no rows that could break it */
    new_table_add_check(n, made);
}

void
new_table_column_checks(NewTable *n, const AColumnDef *c)
{
    for (u32 k = 0; k < c->constraints.count; k++)
        if (LIST_AT(c->constraints, AConstraint, k)->kind == AC_CHECK)
            new_table_check(n, LIST_AT(c->constraints, AConstraint, k));
}

static int
by_name(const void *a, const void *b)
{
    return str_cmp(((const CheckDef *)a)->name, ((const CheckDef *)b)->name);
}

void
new_table_sort_checks(NewTable *n)
{
    if (n->def->check_count)
        qsort(n->checks, n->def->check_count, sizeof *n->checks, by_name);
    n->def->checks = n->checks;
}
