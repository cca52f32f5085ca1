/*
 * bind_default.c
 *    DEFAULT of a column: its expression is kept as text in the catalog and bound anew by each statement that uses it.
 *
 * It knows no columns, so the text means the same wherever it is bound, save texts of times, which are kept as what they meant when they were checked.
 */
#include "backend/sql/bind.h"

const AExpr *
bind_find_subquery(const AExpr *e)
{
    if (e->select || e->kind == AX_SUBQUERY || e->kind == AX_EXISTS)
        return e;
    for (u32 i = 0; i < e->arg_count; i++) {
        const AExpr *found = e->args[i] ? bind_find_subquery(e->args[i]) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static const AExpr *
find_column(const AExpr *e)
{
    if (e->kind == AX_COLUMN)
        return e;
    for (u32 i = 0; i < e->arg_count; i++) {
        const AExpr *found = e->args[i] ? find_column(e->args[i]) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

static BExpr *
bind_as_column(Binder *b, const ColumnDef *c, const AExpr *e)
{
    Scope s = {.b = b, .query = ARENA_NEW(b->arena, BQuery), .place = PLACE_DEFAULT};
    BExpr *v = bind_expr(&s, e), *r = coerce_to_target(b, v, (TypeId)c->type, c->typmod, CAST_ASSIGNMENT);
    if (!r)
        bind_fail_hint(0, ERR_DATATYPE_MISMATCH, "You will need to rewrite or cast the expression.",
                       "column \"%.*s\" is of type %s but default expression is of type %s", (int)c->name.len, c->name.ptr,
                       bind_type_name((TypeId)c->type), bind_type_name(v->type));
    return r;
}

/* A literal that means another time in another session or on another day: '2024-07-01' as timestamptz, 'now', 'today'. */
static const Value *
time_of_today(const ColumnDef *c, const BExpr *e)
{
    if (e->kind == BX_CAST && e->args[0]->type == e->type && e->typmod == c->typmod) /* the column's precision, which every use applies */
        e = e->args[0];
    return e->kind == BX_CONST && !e->value.is_null && (type_category(e->type) == 'D' || e->type == TYPE_INTERVAL) ? &e->value : NULL;
}

static Str
literal_of(Binder *b, const Value *v)
{
    static const TypeFormat ANYWHERE = {.extra_float_digits = 1};
    ByteBuf text = {0};
    value_out(&text, &ANYWHERE, v);
    Str kept = text.failed ? (Str){0} : str_of(arena_printf(b->arena, "'%.*s'", (int)text.len, (const char *)text.data));
    buf_free(&text);
    if (!kept.len)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return kept;
}

Str
bind_new_default(Binder *b, const ColumnDef *c, const AExpr *e, Str text)
{
    const AExpr *column = find_column(e);
    if (column)
        bind_fail(b, column->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use column reference in DEFAULT expression");
    if (bind_find_subquery(e))
        bind_fail(b, e->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in DEFAULT expression");
    const BExpr *v = bind_as_column(b, c, e);
    if (text.len > MAX_DEFAULT_BYTES)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "the DEFAULT of column \"%.*s\" is longer than %d bytes", (int)c->name.len, c->name.ptr,
                  (int)MAX_DEFAULT_BYTES);
    if (e->kind == AX_NULL)
        return (Str){0};
    const Value *time = time_of_today(c, v);
    return time ? literal_of(b, time) : arena_str(b->arena, text);
}

BExpr *
bind_default(Binder *b, const TableDef *t, u16 column)
{
    const ColumnDef *c = &t->columns[column];
    if (!c->default_text.len)
        return bind_const_null(b, (TypeId)c->type, 0);
    return bind_as_column(b, c, parse_expression(b->arena, arena_str(b->arena, c->default_text)));
}
