/*
 * expr_text.c
 *    Expressions that the catalog keeps, as pg_get_expr() writes them: DEFAULTs and CHECKs, bound anew and written down by deparse.c.
 */
#include "backend/sql/bind.h"
#include "backend/sql/deparse.h"

static Str
written(Binder *b, const BQuery *q, const BExpr *e, bool pretty)
{
    ByteBuf text = {0};
    Deparse d = {.arena = b->arena, .to = &text, .query = q, .exact = true, .short_lists = true, .pretty = pretty};
    deparse_expr(&d, e);
    Str kept = text.failed ? (Str){0} : arena_str(b->arena, (Str){(const char *)text.data, (u32)text.len});
    buf_free(&text);
    if (!kept.len)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return kept;
}

/* Conversions that nobody wrote are not shown at the top of an expression. */
static const BExpr *
without_casts(const BExpr *e)
{
    while (e->kind == BX_CAST && !e->explicit_cast)
        e = e->args[0];
    return e;
}

Str
sql_default_text(Arena *a, const BindContext *ctx, const TableDef *t, u16 column)
{
    Binder b = {.arena = a, .ctx = ctx, .ascii = true, .last_pos = 1, .no_positions = true};
    return written(&b, NULL, without_casts(bind_default(&b, t, column)), false);
}

Str
sql_expression_text(Arena *a, const BindContext *ctx, const TableDef *t, Str text, bool pretty)
{
    Binder b = {.arena = a, .ctx = ctx, .ascii = true, .last_pos = 1, .no_positions = true};
    Scope s = {.b = &b, .query = ARENA_NEW(a, BQuery)};
    PtrList none = {0};
    u16 rel;
    bind_add_table(&s, t, NULL, &rel);
    bind_finish_scope(&s, &none);
    return written(&b, s.query, bind_expr_at(&s, parse_expression(a, arena_str(a, text)), PLACE_CHECK), pretty);
}
