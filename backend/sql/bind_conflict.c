/*
 * bind_conflict.c
 *    INSERT … ON CONFLICT: which keys count, and what becomes of the row that is there.
 *
 * The clause sees two relations, the table and `excluded`, the row that was to be inserted.
 */
#include "backend/sql/bind.h"

/* ---- the keys ---- */

static bool
same_columns(const KeyDef *k, const bool *wanted, u32 wanted_count)
{
    for (u32 i = 0; i < k->column_count; i++)
        if (!wanted[k->columns[i]])
            return false;
    return k->column_count == wanted_count;
}

static void
keys_of_columns(Binder *b, BConflict *to, const TableDef *t, const AConflict *c)
{
    bool *wanted = ARENA_ARRAY(b->arena, bool, t->column_count);
    u32 count = 0;
    for (u32 i = 0; i < c->columns.count; i++) {
        const ASet *column = LIST_AT(c->columns, ASet, i);
        int at = bind_table_column(t, column->column);
        if (at < 0)
            bind_fail(b, column->at, ERR_UNDEFINED_COLUMN, "column \"%.*s\" does not exist", (int)column->column.len, column->column.ptr);
        count += !wanted[at];
        wanted[at] = true;
    }
    for (u32 k = 0; k < t->key_count; k++)
        if (same_columns(&t->keys[k], wanted, count))
            to->keys[to->key_count++] = (u16)k;
    if (!to->key_count)
        err_throw(ERR_INVALID_COLUMN_REFERENCE, "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

static void
key_of_constraint(BConflict *to, const TableDef *t, Str name)
{
    for (u32 i = 0; i < t->check_count; i++)
        if (str_eq(t->checks[i].name, name))
            err_throw(ERR_WRONG_OBJECT_TYPE, "constraint in ON CONFLICT clause has no associated index");
    for (u32 k = 0; k < t->key_count; k++)
        if (str_eq(t->keys[k].name, name))
            to->keys[to->key_count++] = (u16)k;
    if (!to->key_count)
        err_throw(ERR_UNDEFINED_OBJECT, "constraint \"%.*s\" for table \"%.*s\" does not exist", (int)name.len, name.ptr, (int)t->name.len, t->name.ptr);
}

static void
find_keys(Binder *b, BConflict *to, const TableDef *t, const AConflict *c)
{
    to->keys = ARENA_ARRAY(b->arena, u16, t->key_count);
    if (c->columns.count) {
        keys_of_columns(b, to, t, c);
    } else if (c->constraint.len) {
        key_of_constraint(to, t, c->constraint);
    } else {
        for (u32 k = 0; k < t->key_count; k++)
            to->keys[to->key_count++] = (u16)k;
    }
    if (to->key_count && to->keys[to->key_count - 1] >= REQ_KEYS_MAX)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "ON CONFLICT in a table of more than %d keys is not supported yet", (int)REQ_KEYS_MAX);
}

/* ---- DO UPDATE ---- */

static void
refuse_subquery(Binder *b, const AExpr *e)
{
    const AExpr *sub = bind_find_subquery(e);
    if (sub)
        bind_unsupported(b, sub->at, "a subquery in ON CONFLICT DO UPDATE");
}

NsItem *
bind_add_excluded(Scope *s, const TableDef *t)
{
    static const AAlias EXCLUDED = {.name = {"excluded", 8}};
    u16 rel;
    return bind_add_table(s, t, &EXCLUDED, &rel);
}

static void
bind_do_update(Scope *s, BConflict *to, const TableDef *t, const AConflict *c)
{
    Binder *b = s->b;
    BExpr **values = ARENA_ARRAY(b->arena, BExpr *, t->column_count);
    bind_add_excluded(s, t);
    for (u32 i = 0; i < c->sets.count; i++)
        refuse_subquery(b, LIST_AT(c->sets, ASetClause, i)->expr);
    bind_assignments(s, t, &c->sets, values);
    to->columns = ARENA_ARRAY(b->arena, u16, t->column_count);
    to->values = ARENA_ARRAY(b->arena, BExpr *, t->column_count);
    for (u32 i = 0; i < t->column_count; i++)
        if (values[i]) {
            to->columns[to->column_count] = (u16)i;
            to->values[to->column_count++] = values[i];
        }
    if (c->where) {
        refuse_subquery(b, c->where);
        to->where = bind_condition(s, c->where, PLACE_WHERE, "WHERE");
    }
    bind_right_columns(b, t, ACL_UPDATE, to->columns, to->column_count);
}

void
bind_on_conflict(Binder *b, BStmt *to, const TableDef *t, const Stmt *s)
{
    const AConflict *c = s->conflict;
    BConflict *made = ARENA_NEW(b->arena, BConflict);
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    u16 rel;
    if (c->update && !c->columns.count && !c->constraint.len)
        bind_fail_hint(bind_position(b, c->at), ERR_SYNTAX_ERROR, "For example, ON CONFLICT (column_name).",
                       "ON CONFLICT DO UPDATE requires inference specification or constraint name");
    made->update = c->update;
    find_keys(b, made, t, c);
    bind_add_table(&scope, t, s->alias, &rel);
    if (c->predicate)
        (void)bind_condition(&scope, c->predicate, PLACE_WHERE, "WHERE");
    if (c->update)
        bind_do_update(&scope, made, t, c);
    for (u32 r = 0; r < scope.rels.count; r++) /* the table and "excluded" */
        bind_right_rel(b, t, ACL_SELECT, LIST_AT(scope.rels, BRel, r), true);
    for (u32 k = 0; k < made->key_count && (c->columns.count || c->constraint.len); k++)
        bind_right_columns(b, t, ACL_SELECT, t->keys[made->keys[k]].columns, t->keys[made->keys[k]].column_count);
    to->conflict = made;
}
