/*
 * bind_function.c
 *    Functions in FROM, ROWS FROM, and calls that give rows among the targets, which become a relation behind FROM.
 *
 * A function that gives no rows gives one. unnest() of several arrays is several functions side by side. A function that looks at other relations of FROM is run
 * for each of their rows (bind_make_lateral).
 */
#include "backend/sql/bind.h"

static bool
has_column_of(const BExpr *e, u16 rel)
{
    bool found = e->kind == BX_COLUMN && e->rel == rel;
    for (u32 i = 0; i < e->arg_count && !found; i++)
        found = has_column_of(e->args[i], rel);
    return found;
}

/* Earlier relations of FROM can be seen, as with LATERAL. */
static BExpr *
bind_one(Scope *s, const AExpr *call)
{
    u32 before = s->visible_from;
    s->visible_from = 0;
    s->b->rows_allowed = call->kind == AX_FUNC;
    BExpr *e = coerce_unknown_to_text(s->b, bind_expr_at(s, call, PLACE_FUNCTION));
    s->b->rows_allowed = false;
    s->visible_from = before;
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

/* One call, or of unnest() one a column. */
static void
add_calls(Scope *s, const AExpr *call, PtrList *calls, PtrList *names)
{
    Binder *b = s->b;
    Str *name = ARENA_NEW(b->arena, Str);
    *name = bind_output_name(call);
    bool several = call->kind == AX_FUNC && call->arg_count > 1 && str_eq(*name, STR_LIT("unnest"));
    for (u32 i = 0; i < (several ? call->arg_count : 1); i++) {
        AExpr one = *call;
        if (several) {
            one.args = &call->args[i];
            one.arg_count = 1;
        }
        ptrlist_add(b->arena, calls, bind_one(s, &one));
        ptrlist_add(b->arena, names, name);
    }
}

NsItem *
bind_add_function(Scope *s, const AFrom *f, u16 *ret_rel)
{
    Binder *b = s->b;
    PtrList calls = {0}, names = {0};
    for (u32 i = 0; i < f->functions.count; i++)
        add_calls(s, LIST_AT(f->functions, AExpr, i), &calls, &names);
    if (f->has_definitions)
        bind_fail(b, f->definitions_at, ERR_SYNTAX_ERROR, "a column definition list is only allowed for functions returning \"record\"");
    u32 n = calls.count;
    BRel *rel = new_relation(b, n + f->ordinality);
    rel->call_count = n;
    rel->calls = (BExpr **)calls.items;
    for (u32 i = 0; i < n; i++)
        rel->columns[i] = (BColumn){.name = n == 1 && f->alias ? f->alias->name : *LIST_AT(names, Str, i), .type = rel->calls[i]->type,
                                    .typmod = gives_rows(rel->calls[i]) ? -1 : rel->calls[i]->typmod};
    if (f->ordinality)
        rel->columns[n] = (BColumn){.name = STR_LIT("ordinality"), .type = TYPE_INT8, .typmod = -1};
    if (n == 1 && !f->ordinality && !gives_rows(rel->calls[0])) {
        set_value(b, rel, rel->calls[0]);
        rel->call_count = 0;
    }
    bind_make_lateral(s, rel);
    rel->alias = *LIST_AT(names, Str, 0);
    return bind_add_named(s, rel, f->alias, ret_rel);
}

/* A column more in the relation of the targets' calls. */
static u32
add_row_call(Scope *s, BExpr *call, Str name)
{
    Binder *b = s->b;
    BRel *rel = s->row_calls;
    u32 n = rel->call_count;
    BExpr **calls = ARENA_ARRAY(b->arena, BExpr *, n + 1);
    BColumn *columns = ARENA_ARRAY(b->arena, BColumn, n + 1);
    if (n) {
        memcpy(calls, rel->calls, n * sizeof *calls);
        memcpy(columns, rel->columns, n * sizeof *columns);
    }
    calls[n] = call;
    columns[n] = (BColumn){.name = name, .type = call->type, .typmod = -1, .used = true};
    rel->calls = calls;
    rel->columns = columns;
    rel->call_count = rel->column_count = n + 1;
    return n;
}

static void
refuse_place(Scope *s, u32 at)
{
    static const char HINT[] = "You might be able to move the set-returning function into a LATERAL FROM item.";
    u32 position = bind_position(s->b, at);
    if (s->in_aggregate || s->in_window)
        bind_fail_hint(position, ERR_FEATURE_NOT_SUPPORTED, HINT, "%s function calls cannot contain set-returning function calls",
                       s->in_aggregate ? "aggregate" : "window");
    if (s->in_alternative)
        bind_fail_hint(position, ERR_FEATURE_NOT_SUPPORTED, HINT, "set-returning functions are not allowed in %s", s->in_alternative);
    if (s->place == PLACE_TARGET || s->place == PLACE_ORDER)
        return;
    const char *place = s->place == PLACE_HAVING ? "HAVING" : bind_place_name(s->place);
    if (!place || s->place == PLACE_GROUP || s->place == PLACE_VALUES || s->place == PLACE_FUNCTION)
        bind_unsupported(s->b, at, "a set-returning function here");
    bind_fail(s->b, at, ERR_FEATURE_NOT_SUPPORTED, "set-returning functions are not allowed in %s", place);
}

BExpr *
bind_target_rows(Scope *s, BExpr *call, Str name, u32 at)
{
    Binder *b = s->b;
    bool again = s->place == PLACE_ORDER && s->row_calls;
    refuse_place(s, at);
    if (!s->row_calls) {
        s->row_calls = new_relation(b, 0);
        s->row_calls_at = at;
        NsItem *item = bind_add_rel(s, s->row_calls, NULL, &s->row_calls_rel);
        item->cols_visible = item->rel_visible = false;
    }
    if (has_column_of(call, s->row_calls_rel))
        bind_unsupported(b, at, "a set-returning function over another one");
    u32 column = 0;
    while (column < s->row_calls->call_count && !(again && bexpr_equal(s->row_calls->calls[column], call)))
        column++;
    if (column == s->row_calls->call_count)
        column = add_row_call(s, call, name);
    BExpr *e = bind_new(b, BX_COLUMN, call->type, call->position);
    e->rel = s->row_calls_rel;
    e->column = (u16)column;
    return e;
}

void
bind_finish_target_rows(Scope *s)
{
    Binder *b = s->b;
    BQuery *q = s->query;
    if (!s->row_calls)
        return;
    if (q->grouped || s->win_calls.count)
        bind_unsupported(b, s->row_calls_at, "a set-returning function beside grouping, aggregates or window functions");
    bind_make_lateral(s, s->row_calls);
    BFrom *own = ARENA_NEW(b->arena, BFrom);
    *own = (BFrom){.kind = BFROM_REL, .rel = s->row_calls_rel};
    if (q->from) {
        BFrom *j = ARENA_NEW(b->arena, BFrom);
        *j = (BFrom){.kind = BFROM_JOIN, .join = BJOIN_CROSS, .left = q->from, .right = own};
        own = j;
    }
    q->from = own;
}
