/*
 * bind_query.c
 *    SELECT and VALUES: clauses in the order PostgreSQL looks at them, so that the first error is the same.
 *
 * ORDER BY and GROUP BY follow the SQL92 rules first (output names, ordinals), then SQL99 (expressions over FROM). What ORDER BY needs
 * and nobody selected becomes a hidden target behind the visible ones.
 */
#include "backend/sql/bind.h"

static void
refuse_clauses(Binder *b, const ASelect *sel)
{
    if (sel->op)
        bind_refuse_locked_set(sel);
    if (sel->op && sel->right->into)
        bind_fail(b, sel->right->into_at, ERR_SYNTAX_ERROR, "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT");
    if (sel->into)
        bind_fail(b, sel->into_at, ERR_SYNTAX_ERROR, "SELECT ... INTO is not allowed here");
    if (sel->with_ties && sel->locking.count)
        bind_unsupported(b, sel->limit_at, "WITH TIES with a locking clause");
}

/* The longest result: more does not fit into a row of PostgreSQL's, and 16 bits count the columns on the wire. */
static void
check_target_count(u32 count)
{
    enum { TARGETS_MAX = 1664 };
    if (count > TARGETS_MAX)
        err_throw(ERR_TOO_MANY_COLUMNS, "target lists can have at most %d entries", TARGETS_MAX);
}

void
bind_target_list(Scope *s, const PtrList *list, PtrList *targets)
{
    for (u32 i = 0; i < list->count; i++) {
        const ATarget *t = LIST_AT(*list, ATarget, i);
        if (t->expr->kind == AX_COLUMN && t->expr->star) {
            bind_star(s, t->expr, targets);
            continue;
        }
        BExpr *e = bind_expr(s, t->expr);
        ptrlist_add(s->b->arena, targets, bind_new_target(s, e, t->has_label ? t->label : bind_output_name(t->expr)));
    }
    check_target_count(targets->count);
}

/* ---- names and ordinals of GROUP BY and ORDER BY ---- */

static bool
is_bare_name(const AExpr *e)
{
    return e->kind == AX_COLUMN && !e->star && e->name->count == 1;
}

static bool
is_constant(const AExpr *e)
{
    return e->kind == AX_INT || e->kind == AX_NUMBER || e->kind == AX_STRING || e->kind == AX_NULL ||
           e->kind == AX_BITS || e->kind == AX_BOOL;
}

/* The visible target that a name or an ordinal stands for; -1: neither. */
static int
find_target(Scope *s, const AExpr *e, const PtrList *targets, u32 visible, const char *clause)
{
    Binder *b = s->b;
    int found = -1;
    if (is_bare_name(e)) {
        Str name = e->name->parts[0];
        for (u32 i = 0; i < visible; i++) {
            if (!str_eq(LIST_AT(*targets, BTarget, i)->name, name))
                continue;
            if (found >= 0 && !bexpr_equal(LIST_AT(*targets, BTarget, found)->expr, LIST_AT(*targets, BTarget, i)->expr))
                bind_fail(b, e->at, ERR_AMBIGUOUS_COLUMN, "%s \"%.*s\" is ambiguous", clause, (int)name.len, name.ptr);
            if (found < 0)
                found = (int)i;
        }
    } else if (is_constant(e)) {
        if (e->kind != AX_INT)
            bind_fail(b, e->at, ERR_SYNTAX_ERROR, "non-integer constant in %s", clause);
        if (e->number < 1 || (u32)e->number > visible)
            bind_fail(b, e->at, ERR_INVALID_COLUMN_REFERENCE, "%s position %d is not in select list", clause, e->number);
        found = e->number - 1;
    }
    return found;
}

static u32
find_or_add_hidden(Scope *s, BExpr *e, PtrList *targets)
{
    for (u32 i = 0; i < targets->count; i++)
        if (bexpr_equal(LIST_AT(*targets, BTarget, i)->expr, e))
            return i;
    BTarget *t = bind_new_target(s, coerce_unknown_to_text(s->b, e), STR_LIT("?column?"));
    t->hidden = true;
    ptrlist_add(s->b->arena, targets, t);
    check_target_count(targets->count);
    return targets->count - 1;
}

void
bind_order_direction(Binder *b, const AOrder *o, BOrder *to)
{
    to->descending = o->descending;
    if (o->using_op) {
        bool more = str_eq(o->op, STR_LIT(">"));
        if (!more && !str_eq(o->op, STR_LIT("<")))
            bind_fail_hint(bind_position(b, o->op_at), ERR_WRONG_OBJECT_TYPE,
                           "Ordering operators must be \"<\" or \">\" members of btree operator families.",
                           "operator %.*s is not a valid ordering operator", (int)o->op.len, o->op.ptr);
        to->descending = more;
    }
    to->nulls_first = o->nulls_given ? o->nulls_first : to->descending;
}

void
bind_order_by(Scope *s, const ASelect *sel, PtrList *targets, u32 visible, PtrList *order)
{
    Binder *b = s->b;
    for (u32 i = 0; i < sel->order_by.count; i++) {
        const AOrder *o = LIST_AT(sel->order_by, AOrder, i);
        BOrder *to = ARENA_NEW(b->arena, BOrder);
        int found = find_target(s, o->expr, targets, visible, "ORDER BY");
        to->target = found >= 0 ? (u32)found : find_or_add_hidden(s, bind_expr_at(s, o->expr, PLACE_ORDER), targets);
        BTarget *t = LIST_AT(*targets, BTarget, to->target);
        t->expr = coerce_unknown_to_text(b, t->expr);
        if (t->expr->type == TYPE_VOID || t->expr->type == TYPE_JSON)
            bind_fail_hint(t->expr->position, ERR_UNDEFINED_FUNCTION, "Use an explicit ordering operator or modify the query.",
                           "could not identify an ordering operator for type %s", bind_type_name(t->expr->type));
        bind_order_direction(b, o, to);
        bool again = false;
        for (u32 k = 0; k < order->count && !again; k++)
            again = LIST_AT(*order, BOrder, k)->target == to->target;
        if (!again)
            ptrlist_add(b->arena, order, to);
    }
}

/* A grouping expression: a column of FROM goes before an output name. */
static BExpr *
find_group(const GroupBinder *g, const AExpr *e)
{
    Scope *s = g->s;
    BExpr *found = is_bare_name(e) ? bind_find_column(s, e->name->parts[0], e->at) : NULL;
    if (found)
        return found;
    int target = find_target(s, e, g->targets, g->visible, "GROUP BY");
    if (target < 0)
        return coerce_unknown_to_text(s->b, bind_expr_at(s, e, PLACE_GROUP));
    BTarget *t = LIST_AT(*g->targets, BTarget, target);
    return t->expr = coerce_unknown_to_text(s->b, t->expr);
}

/* ---- LIMIT ---- */

void
bind_refuse_columns(const BExpr *e, const char *construct)
{
    if (e->kind == BX_COLUMN)
        err_throw_at(e->position, ERR_INVALID_COLUMN_REFERENCE, "argument of %s must not contain variables", construct);
    for (u32 i = 0; i < e->arg_count; i++)
        bind_refuse_columns(e->args[i], construct);
}

BExpr *
bind_limit(Scope *s, const AExpr *e, const char *construct, BindPlace place)
{
    if (!e)
        return NULL;
    BExpr *r = bind_expr_at(s, e, place), *c = coerce_to_target(s->b, r, TYPE_INT8, -1, CAST_ASSIGNMENT);
    if (!c)
        err_throw_at(r->position, ERR_DATATYPE_MISMATCH, "argument of %s must be type bigint, not type %s", construct,
                     bind_type_name(r->type));
    bind_refuse_columns(c, construct);
    return c;
}

bool
bind_ties(const ASelect *sel, const BExpr *limit)
{
    if (sel->with_ties && limit && limit->kind == BX_CONST && limit->value.is_null)
        err_throw(ERR_INVALID_LIMIT, "row count cannot be null in FETCH FIRST ... WITH TIES clause");
    return sel->with_ties;
}

/* ---- VALUES ---- */

/* Bring a column of VALUES to one type. */
static void
unify_column(Binder *b, BRel *rel, u32 column)
{
    BExpr **list = ARENA_ARRAY(b->arena, BExpr *, rel->row_count);
    for (u32 r = 0; r < rel->row_count; r++)
        list[r] = rel->rows[r][column];
    TypeId type = coerce_common_type(list, rel->row_count, "VALUES");
    i32 typmod = list[0]->typmod;
    for (u32 r = 0; r < rel->row_count; r++) {
        rel->rows[r][column] = coerce_to_common(b, list[r], type, "VALUES");
        if (rel->rows[r][column]->typmod != typmod)
            typmod = -1;
    }
    rel->columns[column] = (BColumn){.type = type, .typmod = typmod};
    rel->columns[column].name = str_of(arena_printf(b->arena, "column%u", column + 1));
}

BRel *
bind_values_rel(Scope *outer, const ASelect *sel)
{
    Binder *b = outer->b;
    Scope s = {.b = b, .outer = b->outer, .frame = b->frame, .place = PLACE_VALUES};
    BRel *rel = ARENA_NEW(b->arena, BRel);
    const AExpr *first = LIST_AT(sel->rows, AExpr, 0);
    rel->kind = BREL_VALUES;
    rel->row_count = sel->rows.count;
    rel->column_count = first->arg_count;
    check_target_count(rel->column_count);
    rel->rows = ARENA_ARRAY(b->arena, BExpr **, rel->row_count);
    for (u32 r = 0; r < rel->row_count; r++) {
        const AExpr *row = LIST_AT(sel->rows, AExpr, r);
        if (row->arg_count != first->arg_count)
            bind_fail(b, row->args[0]->at, ERR_SYNTAX_ERROR, "VALUES lists must all be the same length");
        rel->rows[r] = ARENA_ARRAY(b->arena, BExpr *, row->arg_count);
        for (u32 i = 0; i < row->arg_count; i++) {
            if (row->args[i]->kind == AX_DEFAULT)
                bind_fail(b, row->args[i]->at, ERR_SYNTAX_ERROR, "DEFAULT is not allowed in this context");
            rel->rows[r][i] = bind_expr(&s, row->args[i]);
        }
    }
    rel->columns = ARENA_ARRAY(b->arena, BColumn, rel->column_count);
    for (u32 i = 0; i < rel->column_count; i++)
        unify_column(b, rel, i);
    return rel;
}

/* VALUES as a query: a relation, and all its columns. */
static void
bind_values(Scope *s, const ASelect *sel, PtrList *targets)
{
    BFrom *from = ARENA_NEW(s->b->arena, BFrom);
    from->kind = BFROM_REL;
    NsItem *item = bind_add_rel(s, bind_values_rel(s, sel), NULL, &from->rel);
    BRel *rel = LIST_AT(s->rels, BRel, from->rel);
    for (u32 i = 0; i < item->count; i++) {
        rel->columns[i].used = true;
        ptrlist_add(s->b->arena, targets, bind_new_target(s, item->columns[i].expr, item->columns[i].name));
    }
    s->query->from = from;
}

/* ---- DISTINCT ---- */

static void
check_distinct(const PtrList *targets, const PtrList *order)
{
    for (u32 i = 0; i < order->count; i++) {
        const BTarget *t = LIST_AT(*targets, BTarget, LIST_AT(*order, BOrder, i)->target);
        if (t->hidden)
            err_throw_at(t->expr->position, ERR_INVALID_COLUMN_REFERENCE,
                         "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
    }
}

static void
bind_distinct_rows(Scope *s, PtrList *targets, u32 visible, const PtrList *order)
{
    for (u32 i = 0; i < visible; i++) {
        BTarget *t = LIST_AT(*targets, BTarget, i);
        t->expr = coerce_unknown_to_text(s->b, t->expr);
        if (t->expr->type == TYPE_JSON)
            err_throw_at(t->expr->position, ERR_UNDEFINED_FUNCTION, "could not identify an equality operator for type json");
    }
    if (visible == 0)
        err_throw(ERR_SYNTAX_ERROR, "SELECT DISTINCT must have at least one column");
    check_distinct(targets, order);
}

/* The targets that DISTINCT ON names, as BOrder; those of ORDER BY must begin with them. */
static PtrList
bind_distinct_on(Scope *s, const ASelect *sel, PtrList *targets, u32 visible, const PtrList *order)
{
    Binder *b = s->b;
    PtrList on = {0};
    u32 *at = ARENA_ARRAY(b->arena, u32, sel->distinct_on.count);
    for (u32 i = 0; i < sel->distinct_on.count; i++) {
        const AExpr *e = LIST_AT(sel->distinct_on, AExpr, i);
        BOrder *key = ARENA_NEW(b->arena, BOrder);
        int found = find_target(s, e, targets, visible, "DISTINCT ON");
        BExpr *bound = found >= 0 ? NULL : bind_expr_at(s, e, PLACE_ORDER);
        at[on.count] = bound ? bound->position : bind_position(b, e->at);
        key->target = bound ? find_or_add_hidden(s, bound, targets) : (u32)found;
        BTarget *t = LIST_AT(*targets, BTarget, key->target);
        t->expr = coerce_unknown_to_text(b, t->expr);
        if (t->expr->type == TYPE_JSON)
            err_throw_at(at[on.count], ERR_UNDEFINED_FUNCTION, "could not identify an equality operator for type json");
        if (bexpr_is_volatile(t->expr))
            bind_unsupported(b, e->at, "DISTINCT ON a volatile expression");
        ptrlist_add(b->arena, &on, key);
    }
    /* ORDER BY: expressions of DISTINCT ON, then others; an expression of DISTINCT ON that it has not must not need a place before those */
    bool others = false;
    for (u32 i = 0; i < order->count; i++) {
        u32 k = 0;
        while (k < on.count && LIST_AT(on, BOrder, k)->target != LIST_AT(*order, BOrder, i)->target)
            k++;
        if (k == on.count)
            others = true;
        else if (others)
            err_throw_at(at[k], ERR_INVALID_COLUMN_REFERENCE, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
    }
    for (u32 k = 0; k < on.count && others; k++) {
        bool ordered = false;
        for (u32 i = 0; i < order->count; i++)
            ordered |= LIST_AT(*order, BOrder, i)->target == LIST_AT(on, BOrder, k)->target;
        if (!ordered)
            err_throw_at(at[k], ERR_INVALID_COLUMN_REFERENCE, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
    }
    return on;
}

/* Of the rows that are equal in `on`, the first by ORDER BY: those whose row_number() within their window is 1. */
static void
keep_first_rows(Scope *s, const PtrList *on)
{
    Binder *b = s->b;
    BQuery *q = s->query;
    BWindow *w = ARENA_NEW(b->arena, BWindow);
    *w = (BWindow){.partition_count = on->count, .order_count = q->order_count, .mode = FRAME_RANGE, .start = FRAME_UNBOUNDED_PRECEDING, .end = FRAME_CURRENT};
    w->partition = ARENA_ARRAY(b->arena, BExpr *, on->count);
    for (u32 i = 0; i < on->count; i++)
        w->partition[i] = q->targets[LIST_AT(*on, BOrder, i)->target].expr;
    w->order = ARENA_ARRAY(b->arena, BExpr *, q->order_count);
    w->directions = q->order_by;
    for (u32 i = 0; i < q->order_count; i++)
        w->order[i] = q->targets[q->order_by[i].target].expr;
    BWinCall *call = ARENA_NEW(b->arena, BWinCall);
    *call = (BWinCall){.kind = BWIN_ROW_NUMBER, .window = q->window_count, .type = TYPE_INT8, .typmod = -1};
    BWindow **windows = ARENA_ARRAY(b->arena, BWindow *, q->window_count + 1);
    BWinCall **calls = ARENA_ARRAY(b->arena, BWinCall *, q->win_call_count + 1);
    if (q->window_count)
        memcpy(windows, q->windows, q->window_count * sizeof *windows);
    if (q->win_call_count)
        memcpy(calls, q->win_calls, q->win_call_count * sizeof *calls);
    BExpr *number = bind_new(b, BX_WINDOW, TYPE_INT8, 0);
    number->index = q->win_call_count;
    q->first_only = bind_operator(b, STR_LIT("="), number, bind_int_const(b, TYPE_INT8, 1), NO_LOCATION);
    windows[q->window_count++] = w;
    calls[q->win_call_count++] = call;
    q->windows = windows;
    q->win_calls = calls;
}

/* ---- the whole ---- */

void
bind_finish_scope(Scope *s, const PtrList *targets)
{
    Arena *a = s->b->arena;
    BQuery *q = s->query;
    q->rel_count = s->rels.count;
    q->rels = ARENA_ARRAY(a, BRel, s->rels.count);
    for (u32 i = 0; i < s->rels.count; i++)
        q->rels[i] = *LIST_AT(s->rels, BRel, i);
    q->agg_count = s->aggs.count;
    q->aggs = ARENA_ARRAY(a, BAgg, s->aggs.count);
    for (u32 i = 0; i < s->aggs.count; i++)
        q->aggs[i] = *LIST_AT(s->aggs, BAgg, i);
    q->window_count = s->bound_windows.count;
    q->windows = (BWindow **)s->bound_windows.items;
    q->win_call_count = s->win_calls.count;
    q->win_calls = (BWinCall **)s->win_calls.items;
    q->target_count = targets->count;
    q->targets = ARENA_ARRAY(a, BTarget, targets->count);
    for (u32 i = 0; i < targets->count; i++)
        q->targets[i] = *LIST_AT(*targets, BTarget, i);
}

static void
bind_clauses(Scope *s, const ASelect *sel, PtrList *targets, bool resolve_unknowns)
{
    Binder *b = s->b;
    BQuery *q = s->query;
    PtrList order = {0}, groups = {0}, on = {0};
    u32 visible = targets->count;
    if (sel->where)
        q->where = bind_condition(s, sel->where, PLACE_WHERE, "WHERE");
    if (sel->having)
        q->having = bind_condition(s, sel->having, PLACE_HAVING, "HAVING");
    bind_order_by(s, sel, targets, visible, &order);
    bind_group_items(&(GroupBinder){s, targets, &groups, visible, find_group}, sel);
    q->distinct = sel->distinct && !sel->distinct_on.count;
    if (q->distinct)
        bind_distinct_rows(s, targets, visible, &order);
    else if (sel->distinct)
        on = bind_distinct_on(s, sel, targets, visible, &order);
    q->offset = bind_limit(s, sel->offset, "OFFSET", PLACE_OFFSET);
    q->limit = bind_limit(s, sel->limit, "LIMIT", PLACE_LIMIT);
    q->with_ties = bind_ties(sel, q->limit);
    for (u32 i = 0; i < targets->count && resolve_unknowns; i++) {
        BTarget *t = LIST_AT(*targets, BTarget, i);
        t->expr = coerce_unknown_to_text(b, t->expr);
    }
    q->grouped = sel->group_by.count || s->aggs.count || q->having || s->has_grouping;
    q->order_count = order.count;
    q->order_by = ARENA_ARRAY(b->arena, BOrder, order.count);
    for (u32 i = 0; i < order.count; i++)
        q->order_by[i] = *LIST_AT(order, BOrder, i);
    bind_finish_target_rows(s);
    bind_finish_scope(s, targets);
    q->group_count = groups.count;
    bind_locking(s, sel);
    if (q->grouped)
        bind_grouping(s, &groups);
    if (on.count)
        keep_first_rows(s, &on);
}

static BQuery *
bind_simple(Binder *b, const ASelect *sel, bool resolve_unknowns)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope s = {.b = b, .outer = b->outer, .frame = b->frame, .query = q, .windows = &sel->windows};
    PtrList targets = {0};
    if (sel->is_values) {
        bind_values(&s, sel, &targets);
    } else {
        q->from = bind_from(&s, &sel->from);
        bind_target_list(&s, &sel->targets, &targets);
    }
    bind_clauses(&s, sel, &targets, resolve_unknowns);
    return q;
}

BQuery *
bind_query(Binder *b, const ASelect *sel, bool resolve_unknowns)
{
    bind_enter(b);
    refuse_clauses(b, sel);
    CteScope *with = bind_with(b, sel->with);
    BQuery *q = sel->op ? bind_set_operation(b, sel) : bind_simple(b, sel, resolve_unknowns);
    b->with = with;
    bind_leave(b);
    return q;
}
