/*
 * bind_table_as.c
 *    Tables made from what is there: CREATE TABLE AS and SELECT INTO from a query, LIKE from another table.
 *
 * CREATE TABLE AS is a definition and the query whose rows fill it: its columns are the query's, as RowDescription would show them.
 */
#include "backend/sql/new_table.h"

/* ---- CREATE TABLE AS ---- */

static void
query_column(NewTable *n, const Stmt *s, const BTarget *t, u32 index)
{
    Str name = arena_str(n->b->arena, index < s->column_name_count ? s->column_names[index] : t->name);
    TypeId type = t->expr->type;
    for (u32 k = 0; k < index; k++)
        if (str_eq(n->columns[k].name, name))
            err_throw(ERR_DUPLICATE_COLUMN, "column \"%.*s\" specified more than once", (int)name.len, name.ptr);
    new_table_check_name(name);
    n->columns[index] = new_table_column_of(n, name, type, t->typmod, NO_LOCATION);
}

void
bind_create_table_as(Binder *b, BStmt *to, const Stmt *s)
{
    BQuery *q = bind_query(b, s->select, true);
    u32 count = bquery_visible(q);
    NewTable n = {.b = b, .def = ARENA_NEW(b->arena, TableDef)};
    n.def->name = to->table_name;
    if (new_table_name_taken(&n, n.def->name))
        err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)n.def->name.len, n.def->name.ptr);
    if (s->column_name_count > count)
        err_throw(ERR_SYNTAX_ERROR, "too many column names were specified");
    if (count > MAX_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", MAX_COLUMNS);
    if (!count)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "CREATE TABLE AS without columns is not supported yet");
    n.def->owner_id = b->ctx->role_id;
    n.def->column_count = (u16)count;
    n.def->columns = n.columns = ARENA_ARRAY(b->arena, ColumnDef, count);
    to->columns = ARENA_ARRAY(b->arena, u16, count);
    for (u32 i = 0; i < count; i++) {
        query_column(&n, s, &q->targets[i], i);
        to->columns[i] = (u16)i;
    }
    to->create = n.def;
    if (s->no_data)
        return;
    to->query = q;
    to->column_count = count;
}

/* ---- LIKE ---- */

static const TableDef *
like_source(Binder *b, const ALike *like)
{
    const TableDef *t = bind_table(b, &like->table);
    bind_right(b, t, ACL_SELECT);
    return t;
}

u32
new_table_like_count(Binder *b, const ALike *like)
{
    return like_source(b, like)->column_count;
}

void
new_table_like_columns(NewTable *n, const ALike *like, u32 first)
{
    const TableDef *t = like_source(n->b, like);
    for (u32 i = 0; i < t->column_count; i++) {
        ColumnDef *c = &n->columns[first + i];
        *c = t->columns[i];
        c->name = arena_str(n->b->arena, c->name);
        c->default_text = like->options & LIKE_DEFAULTS ? arena_str(n->b->arena, c->default_text) : (Str){0};
    }
}

void
new_table_like_checks(NewTable *n, const ALike *like, u32 first)
{
    const TableDef *t = like_source(n->b, like);
    if (!(like->options & LIKE_CONSTRAINTS))
        return;
    i32 *from = ARENA_ARRAY(n->b->arena, i32, n->def->column_count);
    for (u32 i = 0; i < n->def->column_count; i++)
        from[i] = i >= first && i < first + t->column_count ? (i32)(i - first) : -1;
    for (u32 i = 0; i < t->check_count; i++) {
        CheckDef c = bind_moved_check(n->b, t, n->def, from, &t->checks[i]);
        c.not_valid = 0;
        new_table_add_check(n, c);
    }
}

void
new_table_like_keys(NewTable *n, const ALike *like, u32 first)
{
    const TableDef *t = like_source(n->b, like);
    for (u32 k = 0; k < t->key_count && like->options & LIKE_INDEXES; k++) {
        const KeyDef *key = &t->keys[k];
        AConstraint *c = ARENA_NEW(n->b->arena, AConstraint);
        *c = (AConstraint){.kind = key->primary ? AC_PRIMARY : AC_UNIQUE, .at = like->table.at, .column_count = key->column_count};
        c->columns = ARENA_ARRAY(n->b->arena, Str, key->column_count);
        for (u32 i = 0; i < key->column_count; i++)
            c->columns[i] = n->columns[first + key->columns[i]].name;
        new_table_key(n, c, (Str){0});
    }
}
