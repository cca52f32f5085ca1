/*
 * bind_dml.c
 *    INSERT, UPDATE, DELETE: target columns, and values brought to their types.
 *
 * The source of INSERT is a query whose visible targets match the columns. Rows of VALUES are converted in place: several of them are one
 * BREL_VALUES whose columns have the types of the table, a single one is a query without FROM.
 */
#include "backend/sql/bind.h"

int
bind_table_column(const TableDef *t, Str name)
{
    for (u32 i = 0; i < t->column_count; i++)
        if (str_eq(t->columns[i].name, name))
            return (int)i;
    return -1;
}

static u16
target_column(Binder *b, const TableDef *t, const ASet *c)
{
    int i = bind_table_column(t, c->column);
    if (i < 0)
        bind_fail(b, c->at, ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)c->column.len, c->column.ptr,
                  (int)t->name.len, t->name.ptr);
    if (c->indirect)
        bind_unsupported(b, c->at, "assigning to a part of a column");
    return (u16)i;
}

u16 *
bind_target_columns(Binder *b, const TableDef *t, const Stmt *s, u32 *ret_count)
{
    u32 n = s->has_columns ? s->columns.count : t->column_count;
    u16 *columns = ARENA_ARRAY(b->arena, u16, n);
    for (u32 i = 0; i < n; i++) {
        if (!s->has_columns) {
            columns[i] = (u16)i;
            continue;
        }
        const ASet *c = LIST_AT(s->columns, ASet, i);
        columns[i] = target_column(b, t, c);
        for (u32 k = 0; k < i; k++)
            if (columns[k] == columns[i])
                bind_fail(b, c->at, ERR_DUPLICATE_COLUMN, "column \"%.*s\" specified more than once", (int)c->column.len, c->column.ptr);
    }
    *ret_count = n;
    return columns;
}

static void
set_target_table(Binder *b, BStmt *to, const TableDef *t)
{
    to->table_id = t->table_id;
    to->schema_version = t->schema_version;
    to->table_name = arena_str(b->arena, t->name);
}

/* To the type of a column, as an assignment does it. */
static BExpr *
assign(Binder *b, const TableDef *t, u16 column, BExpr *e)
{
    const ColumnDef *c = &t->columns[column];
    BExpr *r = coerce_to_target(b, e, (TypeId)c->type, c->typmod, CAST_ASSIGNMENT);
    if (!r)
        bind_fail_hint(e->position, ERR_DATATYPE_MISMATCH, "You will need to rewrite or cast the expression.",
                       "column \"%.*s\" is of type %s but expression is of type %s", (int)c->name.len, c->name.ptr,
                       bind_type_name((TypeId)c->type), bind_type_name(e->type));
    return r;
}

/* One row of VALUES into `to`: all is bound before anything is converted, so that a parameter used twice must fit both columns. */
static void
bind_row(Scope *s, const TableDef *t, const u16 *columns, const AExpr *row, BExpr **to)
{
    for (u32 i = 0; i < row->arg_count; i++)
        to[i] = row->args[i]->kind == AX_DEFAULT ? bind_default(s->b, t, columns[i]) : bind_expr(s, row->args[i]);
    for (u32 i = 0; i < row->arg_count; i++)
        if (row->args[i]->kind != AX_DEFAULT)
            to[i] = assign(s->b, t, columns[i], to[i]);
}

static void
check_count(Binder *b, const Stmt *s, u32 columns, u32 values, u32 extra_at)
{
    if (values > columns)
        bind_fail(b, extra_at, ERR_SYNTAX_ERROR, "INSERT has more expressions than target columns");
    if (s->has_columns && values < columns)
        bind_fail(b, LIST_AT(s->columns, ASet, values)->at, ERR_SYNTAX_ERROR, "INSERT has more target columns than expressions");
}

/* VALUES of one row: a query without FROM. */
static BQuery *
insert_one(Binder *b, const TableDef *t, const u16 *columns, const AExpr *row)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope s = {.b = b, .query = q, .place = PLACE_VALUES, .target = t};
    PtrList targets = {0};
    BExpr **values = ARENA_ARRAY(b->arena, BExpr *, row->arg_count);
    bind_row(&s, t, columns, row, values);
    for (u32 i = 0; i < row->arg_count; i++)
        ptrlist_add(b->arena, &targets, bind_new_target(&s, values[i], t->columns[columns[i]].name));
    bind_finish_scope(&s, &targets);
    return q;
}

/* SELECT * FROM rel, as the scope's query. */
static void
select_all(Scope *s, BRel *rel)
{
    Arena *arena = s->b->arena;
    s->query->from = ARENA_NEW(arena, BFrom);
    NsItem *item = bind_add_rel(s, rel, NULL, &s->query->from->rel);
    PtrList targets = {0};
    for (u32 i = 0; i < item->count; i++)
        ptrlist_add(arena, &targets, bind_new_target(s, item->columns[i].expr, item->columns[i].name));
    bind_finish_scope(s, &targets);
}

/* VALUES of several rows: a relation with the types of the target columns. */
static BQuery *
insert_many(Binder *b, const TableDef *t, const u16 *columns, const ASelect *sel)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope s = {.b = b, .query = q, .place = PLACE_VALUES, .target = t};
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->kind = BREL_VALUES;
    rel->alias = STR_LIT("*VALUES*");
    rel->row_count = sel->rows.count;
    rel->column_count = LIST_AT(sel->rows, AExpr, 0)->arg_count;
    rel->columns = ARENA_ARRAY(b->arena, BColumn, rel->column_count);
    rel->rows = ARENA_ARRAY(b->arena, BExpr **, rel->row_count);
    for (u32 i = 0; i < rel->column_count; i++) {
        const ColumnDef *c = &t->columns[columns[i]];
        rel->columns[i] = (BColumn){.name = arena_str(b->arena, c->name), .type = (TypeId)c->type, .typmod = c->typmod, .used = true};
    }
    for (u32 r = 0; r < rel->row_count; r++) {
        const AExpr *row = LIST_AT(sel->rows, AExpr, r);
        rel->rows[r] = ARENA_ARRAY(b->arena, BExpr *, row->arg_count);
        bind_row(&s, t, columns, row, rel->rows[r]);
    }
    select_all(&s, rel);
    return q;
}

/* SELECT around a query: its visible outputs, converted by the caller. */
static BQuery *
wrap(Binder *b, BQuery *inner)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope s = {.b = b, .query = q};
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->kind = BREL_SUBQUERY;
    rel->alias = STR_LIT("*SELECT*");
    rel->query = inner;
    rel->column_count = bquery_visible(inner);
    rel->columns = ARENA_ARRAY(b->arena, BColumn, rel->column_count);
    for (u32 i = 0; i < rel->column_count; i++) {
        const BTarget *t = &inner->targets[i];
        rel->columns[i] = (BColumn){.name = t->name, .type = t->expr->type, .typmod = t->expr->typmod, .used = true};
    }
    select_all(&s, rel);
    return q;
}

/* A converted target would sort differently: ORDER BY keeps the value from before in a hidden one. */
static void
keep_order(Binder *b, BQuery *q, u32 target, BExpr *before)
{
    bool ordered = false;
    for (u32 i = 0; i < q->order_count; i++)
        ordered |= q->order_by[i].target == target;
    if (!ordered)
        return;
    BTarget *targets = ARENA_ARRAY(b->arena, BTarget, q->target_count + 1);
    memcpy(targets, q->targets, q->target_count * sizeof *targets);
    targets[q->target_count] = (BTarget){.expr = before, .name = targets[target].name, .hidden = true};
    q->targets = targets;
    for (u32 i = 0; i < q->order_count; i++)
        if (q->order_by[i].target == target)
            q->order_by[i].target = q->target_count;
    q->target_count++;
}

static BQuery *
insert_select(Binder *b, const TableDef *t, const u16 *columns, u32 column_count, const Stmt *s)
{
    BQuery *q = bind_query(b, s->select, false);
    u32 n = bquery_visible(q);
    /* PostgreSQL points to the first target that is too many */
    if (n > column_count)
        err_throw_at(q->targets[column_count].expr->position, ERR_SYNTAX_ERROR, "INSERT has more expressions than target columns");
    check_count(b, s, column_count, n, NO_LOCATION);
    BExpr **converted = ARENA_ARRAY(b->arena, BExpr *, n);
    bool changed = false;
    for (u32 i = 0; i < n; i++) {
        converted[i] = assign(b, t, columns[i], q->targets[i].expr);
        changed |= converted[i] != q->targets[i].expr;
    }
    if (changed && q->distinct) {
        q = wrap(b, q);
        for (u32 i = 0; i < n; i++)
            q->targets[i].expr = assign(b, t, columns[i], q->targets[i].expr);
        return q;
    }
    for (u32 i = 0; i < n; i++) {
        BExpr *before = q->targets[i].expr;
        if (converted[i] != before)
            keep_order(b, q, i, before);
        q->targets[i].expr = converted[i];
    }
    return q;
}

static bool
is_plain_values(const ASelect *sel)
{
    return sel->is_values && !sel->order_by.count && !sel->limit_at && !sel->offset && !sel->with && !sel->locking.count;
}

static bool
has_target(const BStmt *to, u16 column)
{
    for (u32 i = 0; i < to->column_count; i++)
        if (to->columns[i] == column)
            return true;
    return false;
}

/* Columns that the statement does not name get their defaults: targets behind those of the source. */
static void
add_defaults(Binder *b, BStmt *to, const TableDef *t)
{
    PtrList added = {0};
    u16 *columns = ARENA_ARRAY(b->arena, u16, t->column_count);
    u32 count = to->column_count;
    if (count)
        memcpy(columns, to->columns, count * sizeof *columns);
    for (u32 i = 0; i < t->column_count; i++)
        if (t->columns[i].default_text.len && !has_target(to, (u16)i)) {
            BTarget *target = ARENA_NEW(b->arena, BTarget);
            *target = (BTarget){.expr = bind_default(b, t, (u16)i), .name = arena_str(b->arena, t->columns[i].name)};
            ptrlist_add(b->arena, &added, target);
            columns[count++] = (u16)i;
        }
    if (!added.count)
        return;
    BQuery *q = to->query;
    if (q->distinct || q->grouped || q->repeat || bquery_visible(q) < q->target_count)
        q = to->query = wrap(b, q);
    BTarget *targets = ARENA_ARRAY(b->arena, BTarget, q->target_count + added.count);
    if (q->target_count)
        memcpy(targets, q->targets, q->target_count * sizeof *targets);
    for (u32 i = 0; i < added.count; i++)
        targets[q->target_count + i] = *LIST_AT(added, BTarget, i);
    q->targets = targets;
    q->target_count += added.count;
    to->columns = columns;
    to->column_count = count;
}

static void
insert_source(Binder *b, BStmt *to, const TableDef *t, const Stmt *s)
{
    u32 n;
    to->columns = bind_target_columns(b, t, s, &n);
    if (!s->select) {
        to->columns = NULL;
        to->query = ARENA_NEW(b->arena, BQuery);
        return;
    }
    if (!is_plain_values(s->select)) {
        to->query = insert_select(b, t, to->columns, n, s);
        to->column_count = bquery_visible(to->query);
        return;
    }
    const PtrList *rows = &s->select->rows;
    u32 width = LIST_AT(*rows, AExpr, 0)->arg_count;
    for (u32 r = 0; r < rows->count; r++) {
        const AExpr *row = LIST_AT(*rows, AExpr, r);
        if (row->arg_count != width)
            bind_fail(b, row->args[0]->at, ERR_SYNTAX_ERROR, "VALUES lists must all be the same length");
        check_count(b, s, n, width, width > n ? row->args[n]->at : NO_LOCATION);
    }
    to->column_count = width;
    if (rows->count == 1)
        to->query = insert_one(b, t, to->columns, LIST_AT(*rows, AExpr, 0));
    else
        to->query = insert_many(b, t, to->columns, s->select);
}

/* ---- UPDATE and DELETE ---- */

static const TableDef *
bind_target_rel(Scope *scope, BStmt *to, const Stmt *s)
{
    Binder *b = scope->b;
    const TableDef *t = bind_table(b, &s->name);
    set_target_table(b, to, t);
    scope->query->from = ARENA_NEW(b->arena, BFrom);
    bind_add_table(scope, t, s->alias, &scope->query->from->rel);
    return t;
}

/* One assignment on its way: value NULL = DEFAULT. */
typedef struct Assignment {
    const ASet *set;
    BExpr *value;
} Assignment;

static void
bind_set_clause(Scope *s, const ASetClause *c, PtrList *to)
{
    Binder *b = s->b;
    const AExpr *e = c->expr;
    bool row = c->row && e->kind == AX_ROW;
    bool query = c->row && e->kind == AX_SUBQUERY;
    if (c->row && !row && !query)
        bind_fail(b, e->at, ERR_FEATURE_NOT_SUPPORTED, "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression");
    if (row && e->arg_count != c->columns.count)
        bind_fail(b, e->at, ERR_SYNTAX_ERROR, "number of columns does not match number of values");
    for (u32 i = 0; i < c->columns.count; i++) {
        const AExpr *source = row ? e->args[i] : e;
        Assignment *one = ARENA_NEW(b->arena, Assignment);
        one->set = LIST_AT(c->columns, ASet, i);
        if (query)
            one->value = bind_scalar(s, e, i, c->columns.count);
        else
            one->value = source->kind == AX_DEFAULT ? NULL : bind_expr_at(s, source, PLACE_SET);
        ptrlist_add(b->arena, to, one);
    }
}

/* values[column] for every assignment; all sources are bound before the first is converted. */
void
bind_assignments(Scope *s, const TableDef *t, const PtrList *clauses, BExpr **values)
{
    PtrList all = {0};
    for (u32 i = 0; i < clauses->count; i++)
        bind_set_clause(s, LIST_AT(*clauses, ASetClause, i), &all);
    bool *twice = ARENA_ARRAY(s->b->arena, bool, t->column_count);
    for (u32 i = 0; i < all.count; i++) {
        const Assignment *one = LIST_AT(all, Assignment, i);
        u16 column = target_column(s->b, t, one->set);
        twice[column] = values[column] != NULL;
        values[column] = one->value ? assign(s->b, t, column, one->value)
                                    : bind_default(s->b, t, column);
    }
    for (u32 i = 0; i < t->column_count; i++)
        if (twice[i])
            err_throw(ERR_SYNTAX_ERROR, "multiple assignments to same column \"%.*s\"", (int)t->columns[i].name.len,
                      t->columns[i].name.ptr);
}

/* Reading columns of the target needs the right to select them. */
static void
right_to_read(Scope *s, const TableDef *t)
{
    bind_right_rel(s->b, t, ACL_SELECT, LIST_AT(s->rels, BRel, 0), true);
}

/* FROM of UPDATE, USING of DELETE: joined to the target. */
static void
bind_more_tables(Scope *s, const PtrList *list)
{
    if (!list->count)
        return;
    BFrom *j = ARENA_NEW(s->b->arena, BFrom);
    *j = (BFrom){.kind = BFROM_JOIN, .join = BJOIN_CROSS, .left = s->query->from, .right = bind_from(s, list)};
    s->query->from = j;
}

static void
need_column(Scope *s, const BStmt *to, const BExpr *e, PtrList *targets)
{
    if (e->kind == BX_COLUMN) {
        bool known = false;
        for (u32 i = 0; e->rel == 0 && i < to->column_count && !known; i++)
            known = to->columns[i] == e->column;
        for (u32 i = to->column_count; i < targets->count && !known; i++)
            known = bexpr_equal(LIST_AT(*targets, BTarget, i)->expr, e);
        if (!known)
            ptrlist_add(s->b->arena, targets, bind_new_target(s, bexpr_copy(s->b, e, e->position), STR_LIT("?column?")));
    }
    for (u32 i = 0; i < e->arg_count; i++)
        need_column(s, to, e->args[i], targets);
}

/* targets: NULL for INSERT, else those of the query so far; what RETURNING needs of the old rows is added. */
static void
bind_returning(Scope *s, BStmt *to, const Stmt *stmt, PtrList *targets)
{
    PtrList list = {0};
    if (!stmt->returning.count)
        return;
    s->place = PLACE_RETURNING;
    bind_target_list(s, &stmt->returning, &list);
    to->returning_count = list.count;
    to->returning = ARENA_ARRAY(s->b->arena, BTarget, list.count);
    for (u32 i = 0; i < list.count; i++) {
        to->returning[i] = *LIST_AT(list, BTarget, i);
        to->returning[i].expr = coerce_unknown_to_text(s->b, to->returning[i].expr);
        if (targets)
            need_column(s, to, to->returning[i].expr, targets);
    }
}

/* What RETURNING and the CHECK constraints need of the old rows stands behind the new values. */
static void
count_extra(BStmt *to, const PtrList *targets)
{
    to->extra_target_count = targets->count - to->column_count;
}

void
bind_update(Binder *b, BStmt *to, const Stmt *s)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope scope = {.b = b, .query = q};
    PtrList targets = {0};
    to->kind = BST_UPDATE;
    to->query = q;
    const TableDef *t = bind_target_rel(&scope, to, s);
    bind_more_tables(&scope, &s->from);
    BExpr **values = ARENA_ARRAY(b->arena, BExpr *, t->column_count);
    if (s->where)
        q->where = bind_condition(&scope, s->where, PLACE_WHERE, "WHERE");
    bind_assignments(&scope, t, &s->sets, values);
    to->columns = ARENA_ARRAY(b->arena, u16, t->column_count);
    for (u32 i = 0; i < t->column_count; i++)
        if (values[i]) {
            to->columns[to->column_count++] = (u16)i;
            ptrlist_add(b->arena, &targets, bind_new_target(&scope, values[i], t->columns[i].name));
        }
    bind_right_columns(b, t, ACL_UPDATE, to->columns, to->column_count);
    bind_checks(b, to, t);
    for (u32 i = 0; i < to->check_count; i++)
        need_column(&scope, to, to->checks[i].expr, &targets);
    bind_returning(&scope, to, s, &targets);
    count_extra(to, &targets);
    right_to_read(&scope, t);
    bind_finish_scope(&scope, &targets);
}

void
bind_delete(Binder *b, BStmt *to, const Stmt *s)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope scope = {.b = b, .query = q};
    PtrList targets = {0};
    to->kind = BST_DELETE;
    to->query = q;
    const TableDef *t = bind_target_rel(&scope, to, s);
    bind_right(b, t, ACL_DELETE);
    bind_more_tables(&scope, &s->from);
    if (s->where)
        q->where = bind_condition(&scope, s->where, PLACE_WHERE, "WHERE");
    bind_returning(&scope, to, s, &targets);
    count_extra(to, &targets);
    right_to_read(&scope, t);
    bind_finish_scope(&scope, &targets);
}

/* ---- INSERT, whole ---- */

/* RETURNING of INSERT sees the new row under the table's name or alias. */
static void
insert_returning(Binder *b, BStmt *to, const TableDef *t, const Stmt *s)
{
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    u16 rel;
    bind_add_table(&scope, t, s->alias, &rel);
    if (s->conflict && s->conflict->update) { /* known, but not to be seen here */
        NsItem *excluded = bind_add_excluded(&scope, t);
        excluded->rel_visible = excluded->cols_visible = false;
    }
    bind_returning(&scope, to, s, NULL);
    right_to_read(&scope, t);
}

void
bind_insert(Binder *b, BStmt *to, const Stmt *s)
{
    const TableDef *t = bind_table(b, &s->name);
    to->kind = BST_INSERT;
    set_target_table(b, to, t);
    insert_source(b, to, t, s);
    bind_right_columns(b, t, ACL_INSERT, to->columns, to->column_count);
    add_defaults(b, to, t);
    bind_checks(b, to, t);
    if (s->conflict)
        bind_on_conflict(b, to, t, s);
    if (s->returning.count)
        insert_returning(b, to, t, s);
}

void
bind_change(Binder *b, BStmt *to, const Stmt *s)
{
    bind_with(b, s->with);
    (s->kind == ST_INSERT ? bind_insert : s->kind == ST_UPDATE ? bind_update : bind_delete)(b, to, s);
}
