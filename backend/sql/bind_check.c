/*
 * bind_check.c
 *    CHECK: a boolean expression over a table's columns, kept as text in the catalog and bound anew by each statement that must obey it.
 *
 * The text is the bound expression written down (deparse.h), so it depends on no setting of a session and names columns only. What does not come back from its
 * text as it was is refused, so that a CHECK never means something else later.
 */
#include "backend/sql/bind.h"
#include "backend/sql/deparse.h"

/* A query over the table alone, as relation 0. */
static BQuery *
open_table(Scope *s, Binder *b, const TableDef *t)
{
    u16 rel;
    PtrList none = {0};
    *s = (Scope){.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    bind_add_table(s, t, NULL, &rel);
    bind_finish_scope(s, &none);
    return s->query;
}

static void
find_columns(Binder *b, const BExpr *e, bool *used)
{
    if (e->kind == BX_COLUMN) {
        if (e->column >= MAX_COLUMNS)
            err_throw_at(e->position, ERR_FEATURE_NOT_SUPPORTED, "a system column in a CHECK constraint is not supported yet");
        used[e->column] = true;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        find_columns(b, e->args[i], used);
}

static Str
text_of(Binder *b, const BQuery *q, const BExpr *e, bool short_lists)
{
    ByteBuf text = {0};
    Deparse d = {.arena = b->arena, .to = &text, .query = q, .exact = true, .short_lists = short_lists};
    deparse_expr(&d, e);
    if (text.failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    Str kept = arena_str(b->arena, (Str){(const char *)text.data, (u32)text.len});
    buf_free(&text);
    if (kept.len > MAX_CHECK_BYTES)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "the expression of a CHECK constraint is longer than %d bytes", (int)MAX_CHECK_BYTES);
    return kept;
}

/* Into text and columns of c. */
static void
write_down(Binder *b, const TableDef *t, const BExpr *e, CheckDef *c)
{
    Scope s;
    const BQuery *q = open_table(&s, b, t);
    bool *used = ARENA_ARRAY(b->arena, bool, t->column_count);
    u16 *columns = ARENA_ARRAY(b->arena, u16, t->column_count);
    find_columns(b, e, used);
    c->column_count = 0;
    for (u32 i = 0; i < t->column_count; i++)
        if (used[i])
            columns[c->column_count++] = (u16)i;
    c->columns = columns;
    c->text = text_of(b, q, e, true);
    if (!str_eq(text_of(b, q, bind_check(b, t, c), false), text_of(b, q, e, false)))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "an expression like this in a CHECK constraint is not supported yet");
}

CheckDef
bind_new_check(Binder *b, const TableDef *t, const AConstraint *c)
{
    CheckDef made = {.name = c->name, .not_valid = c->not_valid, .no_inherit = c->no_inherit};
    Scope s;
    const AExpr *sub = bind_find_subquery(c->check);
    if (sub)
        bind_fail(b, sub->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in check constraint");
    open_table(&s, b, t);
    write_down(b, t, bind_condition(&s, c->check, PLACE_CHECK, "CHECK"), &made);
    return made;
}

BExpr *
bind_check(Binder *b, const TableDef *t, const CheckDef *c)
{
    Scope s;
    bool before = b->no_positions;
    b->no_positions = true;
    open_table(&s, b, t);
    BExpr *e = bind_condition(&s, parse_expression(b->arena, arena_str(b->arena, c->text)), PLACE_CHECK, "CHECK");
    b->no_positions = before;
    return e;
}

/* A copy with other columns: nodes may be shared. */
static BExpr *
renumber(Binder *b, const BExpr *e, const u16 *to)
{
    BExpr *copy = bexpr_copy(b, e, 0);
    if (e->kind == BX_COLUMN)
        copy->column = to[e->column];
    copy->args = ARENA_ARRAY(b->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = renumber(b, e->args[i], to);
    return copy;
}

CheckDef
bind_moved_check(Binder *b, const TableDef *old, const TableDef *t, const i32 *from, const CheckDef *c)
{
    CheckDef made = *c;
    u16 *to = ARENA_ARRAY(b->arena, u16, old->column_count);
    for (u32 i = 0; i < t->column_count; i++)
        if (from[i] >= 0)
            to[from[i]] = (u16)i;
    write_down(b, t, renumber(b, bind_check(b, old, c), to), &made);
    return made;
}

/* An UPDATE may only break a CHECK that all rows obeyed by changing one of its columns. */
static bool
may_break(const BStmt *to, const CheckDef *c, const BExpr *e)
{
    if (to->kind != BST_UPDATE || c->not_valid || bexpr_volatility(e) != FUNC_IMMUTABLE)
        return true;
    for (u32 i = 0; i < c->column_count; i++)
        for (u32 k = 0; k < to->column_count; k++)
            if (to->columns[k] == c->columns[i])
                return true;
    return false;
}

void
bind_checks(Binder *b, BStmt *to, const TableDef *t)
{
    if (!t->check_count)
        return;
    to->checks = ARENA_ARRAY(b->arena, BCheck, t->check_count);
    for (u32 i = 0; i < t->check_count; i++) {
        BExpr *e = bind_check(b, t, &t->checks[i]);
        if (may_break(to, &t->checks[i], e))
            to->checks[to->check_count++] = (BCheck){arena_str(b->arena, t->checks[i].name), e};
    }
}
