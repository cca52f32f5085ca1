/*
 * bind_function.c
 *    Functions in FROM, and calls that give rows among the targets of a query without FROM, which become its FROM.
 *
 * A function that gives no rows is a relation of one row. unnest() of several arrays is several functions side by side.
 */
#include "backend/sql/bind.h"

static bool
has_column(const BExpr *e)
{
    bool found = e->kind == BX_COLUMN;
    for (u32 i = 0; i < e->arg_count && !found; i++)
        found = has_column(e->args[i]);
    return found;
}

/* Names of earlier relations are known here, as for LATERAL, but their columns cannot be had yet. */
static BExpr *
bind_one(Scope *s, const AExpr *call)
{
    u32 before = s->visible_from;
    s->visible_from = 0;
    s->b->rows_allowed = call->kind == AX_FUNC;
    BExpr *e = coerce_unknown_to_text(s->b, bind_expr_at(s, call, PLACE_FUNCTION));
    s->b->rows_allowed = false;
    s->visible_from = before;
    if (has_column(e))
        bind_unsupported(s->b, call->at, "a function in FROM that refers to other relations of FROM");
    return e;
}

static bool
gives_rows(const BExpr *e)
{
    return e->kind == BX_FUNC && func_gives_rows(func_def(e->func));
}

/* One row, one column. */
static void
set_value(Binder *b, BRel *rel, BExpr *e)
{
    rel->kind = BREL_VALUES;
    rel->row_count = 1;
    rel->rows = ARENA_ARRAY(b->arena, BExpr **, 1);
    rel->rows[0] = ARENA_ARRAY(b->arena, BExpr *, 1);
    rel->rows[0][0] = e;
}

static BRel *
new_relation(Binder *b, u32 columns)
{
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->kind = BREL_FUNCTION;
    rel->column_count = columns;
    rel->columns = ARENA_ARRAY(b->arena, BColumn, columns);
    return rel;
}

NsItem *
bind_add_function(Scope *s, const AFrom *f, u16 *ret_rel)
{
    Binder *b = s->b;
    const AExpr *call = f->function;
    Str name = bind_output_name(call);
    bool several = call->kind == AX_FUNC && call->arg_count > 1 && str_eq(name, STR_LIT("unnest"));
    u32 n = several ? call->arg_count : 1;
    BRel *rel = new_relation(b, n + f->ordinality);
    rel->call_count = n;
    rel->calls = ARENA_ARRAY(b->arena, BExpr *, n);
    for (u32 i = 0; i < n; i++) {
        AExpr one = *call;
        if (several) {
            one.args = &call->args[i];
            one.arg_count = 1;
        }
        rel->calls[i] = bind_one(s, &one);
        rel->columns[i] = (BColumn){.name = n == 1 && f->alias ? f->alias->name : name, .type = rel->calls[i]->type, .typmod = -1};
    }
    if (f->ordinality)
        rel->columns[n] = (BColumn){.name = STR_LIT("ordinality"), .type = TYPE_INT8, .typmod = -1};
    if (!gives_rows(rel->calls[0])) {
        if (f->ordinality)
            bind_unsupported(b, f->at, "WITH ORDINALITY of a function that gives no rows");
        rel->columns[0].typmod = rel->calls[0]->typmod;
        set_value(b, rel, rel->calls[0]);
    }
    rel->alias = name;
    return bind_add_named(s, rel, f->alias, ret_rel);
}

BExpr *
bind_target_rows(Scope *s, BExpr *call, Str name, u32 at)
{
    Binder *b = s->b;
    if (s->place == PLACE_CHECK)
        bind_fail(b, at, ERR_FEATURE_NOT_SUPPORTED, "set-returning functions are not allowed in check constraints");
    if (s->place != PLACE_TARGET || s->rels.count || s->query->from || s->in_aggregate || s->in_window || s->in_alternative || has_column(call))
        bind_unsupported(b, at, "a set-returning function outside of FROM");
    BRel *rel = new_relation(b, 1);
    u16 number;
    rel->call_count = 1;
    rel->calls = ARENA_ARRAY(b->arena, BExpr *, 1);
    rel->calls[0] = call;
    rel->columns[0] = (BColumn){.name = name, .type = call->type, .typmod = -1, .used = true};
    NsItem *item = bind_add_rel(s, rel, NULL, &number);
    item->cols_visible = item->rel_visible = false;
    s->query->from = ARENA_NEW(b->arena, BFrom);
    *s->query->from = (BFrom){.kind = BFROM_REL, .rel = number};
    return bexpr_copy(b, item->columns[0].expr, call->position);
}
