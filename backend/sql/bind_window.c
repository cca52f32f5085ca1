/*
 * bind_window.c
 *    Window functions.
 *
 * A call becomes a leaf (BX_WINDOW) that names an entry of the query's list of calls; equal windows are one window. Arguments and keys stand above grouping,
 * like the select list, so aggregates may be inside. They are bound where they are written, which is the select list or ORDER BY.
 */
#include "backend/sql/bind.h"

static const struct WindowFunction {
    const char *name;
    BWinKind kind;
    u32 least_args, most_args;
} FUNCTIONS[] = {
    {"row_number", BWIN_ROW_NUMBER, 0, 0}, {"rank", BWIN_RANK, 0, 0}, {"dense_rank", BWIN_DENSE_RANK, 0, 0},
    {"percent_rank", BWIN_PERCENT_RANK, 0, 0}, {"cume_dist", BWIN_CUME_DIST, 0, 0}, {"ntile", BWIN_NTILE, 1, 1},
    {"lag", BWIN_LAG, 1, 3}, {"lead", BWIN_LEAD, 1, 3}, {"first_value", BWIN_FIRST_VALUE, 1, 1}, {"last_value", BWIN_LAST_VALUE, 1, 1},
    {"nth_value", BWIN_NTH_VALUE, 2, 2},
};

bool
bind_is_window_function(Str name)
{
    for (u32 i = 0; i < COUNT_OF(FUNCTIONS); i++)
        if (str_eq(name, str_of(FUNCTIONS[i].name)))
            return true;
    return false;
}

static const char *
place_name(BindPlace place)
{
    static const char *const names[] = {
        [PLACE_WHERE] = "WHERE", [PLACE_ON] = "JOIN conditions", [PLACE_GROUP] = "GROUP BY", [PLACE_HAVING] = "HAVING", [PLACE_LIMIT] = "LIMIT",
        [PLACE_OFFSET] = "OFFSET", [PLACE_VALUES] = "VALUES", [PLACE_SET] = "UPDATE", [PLACE_FILTER] = "FILTER", [PLACE_RETURNING] = "RETURNING",
        [PLACE_DEFAULT] = "DEFAULT expressions", [PLACE_FUNCTION] = "functions in FROM", [PLACE_COPY_WHERE] = "COPY FROM WHERE conditions",
        [PLACE_EXECUTE] = "EXECUTE parameters", [PLACE_CHECK] = "check constraints", [PLACE_TRANSFORM] = "transform expressions",
    };
    return place < COUNT_OF(names) ? names[place] : NULL;
}

/* ---- windows ---- */

static const AWindow *
named_window(Scope *s, Str name, u32 at)
{
    for (u32 i = 0; s->windows && i < s->windows->count; i++)
        if (str_eq(LIST_AT(*s->windows, AWindow, i)->name, name))
            return LIST_AT(*s->windows, AWindow, i);
    bind_fail(s->b, at, ERR_UNDEFINED_OBJECT, "window \"%.*s\" does not exist", (int)name.len, name.ptr);
}

/* What is added to a column of that type; TYPE_INVALID: nothing is. */
static TypeId
range_offset_type(TypeId column)
{
    switch ((int)column) {
    case TYPE_INT2: case TYPE_INT4: case TYPE_INT8: return TYPE_INT8;
    case TYPE_FLOAT4: case TYPE_FLOAT8: return TYPE_FLOAT8;
    case TYPE_NUMERIC: return TYPE_NUMERIC;
    case TYPE_DATE: case TYPE_TIMESTAMP: case TYPE_TIMESTAMPTZ: case TYPE_INTERVAL: return TYPE_INTERVAL;
    default: return TYPE_INVALID;
    }
}

static BExpr *
bind_range_offset(Scope *s, const AExpr *e, const AWindow *w, const BWindow *to)
{
    TypeId column = to->order[0]->type, type = range_offset_type(column);
    if (column == TYPE_TIME || column == TYPE_TIMETZ || column == TYPE_OID)
        bind_unsupported(s->b, w->frame_at, "RANGE with offset PRECEDING/FOLLOWING of this type");
    BExpr *r = bind_expr(s, e);
    if (!type)
        err_throw_at(r->position, ERR_FEATURE_NOT_SUPPORTED, "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", bind_type_name(column));
    bool fits = r->type == TYPE_UNKNOWN || coerce_allowed(r->type, type, CAST_IMPLICIT);
    if (!fits)
        bind_fail_hint(r->position, ERR_FEATURE_NOT_SUPPORTED, "Cast the offset value to an appropriate type.",
                       "RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s and offset type %s", bind_type_name(column),
                       bind_type_name(r->type));
    r = coerce_type(s->b, r, type, CAST_IMPLICIT);
    bind_refuse_columns(r, "RANGE");
    return r;
}

static BExpr *
bind_offset(Scope *s, const AExpr *e, const AWindow *w, const BWindow *to)
{
    if (!e)
        return NULL;
    if (w->mode == FRAME_RANGE)
        return bind_range_offset(s, e, w, to);
    const char *mode = w->mode == FRAME_ROWS ? "ROWS" : "GROUPS";
    BExpr *r = bind_expr(s, e), *c = coerce_to_target(s->b, r, TYPE_INT8, -1, CAST_ASSIGNMENT);
    if (!c)
        err_throw_at(r->position, ERR_DATATYPE_MISMATCH, "argument of %s must be type bigint, not type %s", mode, bind_type_name(r->type));
    bind_refuse_columns(c, mode);
    return c;
}

static void
bind_keys(Scope *s, const AWindow *w, BWindow *to)
{
    Arena *a = s->b->arena;
    if (w->partition.count) {
        to->partition_count = w->partition.count;
        to->partition = ARENA_ARRAY(a, BExpr *, to->partition_count);
        for (u32 i = 0; i < to->partition_count; i++)
            to->partition[i] = coerce_unknown_to_text(s->b, bind_expr(s, LIST_AT(w->partition, AExpr, i)));
    }
    if (!w->order.count)
        return;
    to->order_count = w->order.count;
    to->order = ARENA_ARRAY(a, BExpr *, to->order_count);
    to->directions = ARENA_ARRAY(a, BOrder, to->order_count);
    for (u32 i = 0; i < to->order_count; i++) {
        const AOrder *o = LIST_AT(w->order, AOrder, i);
        to->order[i] = coerce_unknown_to_text(s->b, bind_expr(s, o->expr));
        bind_order_direction(s->b, o, &to->directions[i]);
    }
}

static void
bind_frame(Scope *s, const AWindow *w, BWindow *to)
{
    if (w->mode == FRAME_RANGE && (w->start_offset || w->end_offset) && to->order_count != 1)
        bind_fail(s->b, w->at, ERR_WINDOWING_ERROR, "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    if (w->mode == FRAME_GROUPS && !to->order_count)
        bind_fail(s->b, w->at, ERR_WINDOWING_ERROR, "GROUPS mode requires an ORDER BY clause");
    to->mode = w->mode;
    to->start = w->start;
    to->end = w->end;
    to->exclude = w->exclude;
    to->start_offset = bind_offset(s, w->start_offset, w, to);
    to->end_offset = bind_offset(s, w->end_offset, w, to);
}

/* w over the window it names: that gives the partition and may give the order; a frame is w's own. */
static void
bind_window(Scope *s, const AWindow *w, BWindow *to, u32 depth)
{
    *to = (BWindow){.mode = FRAME_RANGE, .start = FRAME_UNBOUNDED_PRECEDING, .end = FRAME_CURRENT};
    if (depth > 64)
        err_throw(ERR_STATEMENT_TOO_COMPLEX, "windows refer to each other too deeply");
    if (w->base.len) {
        const AWindow *base = named_window(s, w->base, w->at);
        bind_window(s, base, to, depth + 1);
        if (w->only_base)
            return;
        if (w->partition.count)
            bind_fail(s->b, w->at, ERR_WINDOWING_ERROR, "cannot override PARTITION BY clause of window \"%.*s\"", (int)w->base.len, w->base.ptr);
        if (w->order.count && to->order_count)
            bind_fail(s->b, w->at, ERR_WINDOWING_ERROR, "cannot override ORDER BY clause of window \"%.*s\"", (int)w->base.len, w->base.ptr);
        if (base->has_frame && !w->partition.count && !w->order.count && !w->has_frame)
            bind_fail_hint(bind_position(s->b, w->at), ERR_WINDOWING_ERROR, "Omit the parentheses in this OVER clause.",
                           "cannot copy window \"%.*s\" because it has a frame clause", (int)w->base.len, w->base.ptr);
        if (base->has_frame)
            bind_fail(s->b, w->at, ERR_WINDOWING_ERROR, "cannot copy window \"%.*s\" because it has a frame clause", (int)w->base.len, w->base.ptr);
    }
    bind_keys(s, w, to);
    if (w->has_frame)
        bind_frame(s, w, to);
}

static bool
same_offset(const BExpr *a, const BExpr *b)
{
    return !a == !b && (!a || bexpr_equal(a, b));
}

static bool
same_window(const BWindow *a, const BWindow *b)
{
    bool same = a->partition_count == b->partition_count && a->order_count == b->order_count && a->mode == b->mode && a->exclude == b->exclude && a->start == b->start &&
                a->end == b->end && same_offset(a->start_offset, b->start_offset) && same_offset(a->end_offset, b->end_offset);
    for (u32 i = 0; same && i < a->partition_count; i++)
        same = bexpr_equal(a->partition[i], b->partition[i]);
    for (u32 i = 0; same && i < a->order_count; i++)
        same = bexpr_equal(a->order[i], b->order[i]) && a->directions[i].descending == b->directions[i].descending &&
               a->directions[i].nulls_first == b->directions[i].nulls_first;
    return same;
}

static u32
window_number(Scope *s, const AWindow *w)
{
    BWindow *made = ARENA_NEW(s->b->arena, BWindow);
    s->in_window_keys = true;
    bind_window(s, w, made, 0);
    s->in_window_keys = false;
    for (u32 i = 0; i < s->bound_windows.count; i++)
        if (same_window(LIST_AT(s->bound_windows, BWindow, i), made))
            return i;
    ptrlist_add(s->b->arena, &s->bound_windows, made);
    return s->bound_windows.count - 1;
}

/* ---- calls ---- */

static const struct WindowFunction *
find_function(Scope *s, const AExpr *call, Str name)
{
    const struct WindowFunction *f = FUNCTIONS;
    while (!str_eq(name, str_of(f->name)))
        f++;
    u32 n = call->arg_count;
    if (n < f->least_args || n > f->most_args || call->call->star)
        bind_fail_hint(bind_position(s->b, call->at), ERR_UNDEFINED_FUNCTION,
                       "No function matches the given name and argument types. You might need to add explicit type casts.",
                       "function %.*s with %u arguments does not exist", (int)name.len, name.ptr, n);
    return f;
}

static BExpr *
as_integer(Scope *s, const AExpr *call, BExpr *e)
{
    BExpr *c = e->type == TYPE_UNKNOWN || coerce_allowed(e->type, TYPE_INT4, CAST_IMPLICIT) ? coerce_type(s->b, e, TYPE_INT4, CAST_IMPLICIT) : NULL;
    if (!c)
        bind_fail_hint(bind_position(s->b, call->at), ERR_UNDEFINED_FUNCTION,
                       "No function matches the given name and argument types. You might need to add explicit type casts.",
                       "function %s does not exist", bind_name_text(s->b, call->name));
    return c;
}

static void
bind_arguments(Scope *s, const AExpr *call, const struct WindowFunction *f, BWinCall *to)
{
    Binder *b = s->b;
    for (u32 i = 0; i < call->arg_count; i++)
        to->args[i] = bind_expr(s, call->args[i]);
    to->arg_count = call->arg_count;
    to->type = TYPE_INT8;
    to->typmod = -1;
    switch (f->kind) {
    case BWIN_ROW_NUMBER: case BWIN_RANK: case BWIN_DENSE_RANK: case BWIN_AGGREGATE:
        break;
    case BWIN_PERCENT_RANK: case BWIN_CUME_DIST:
        to->type = TYPE_FLOAT8;
        break;
    case BWIN_NTILE:
        to->type = TYPE_INT4;
        to->args[0] = as_integer(s, call, to->args[0]);
        break;
    case BWIN_LAG: case BWIN_LEAD: case BWIN_FIRST_VALUE: case BWIN_LAST_VALUE: case BWIN_NTH_VALUE:
        if (to->args[0]->type == TYPE_UNKNOWN && !(to->arg_count > 2 && to->args[2]->type != TYPE_UNKNOWN))
            err_throw(ERR_DATATYPE_MISMATCH, "could not determine polymorphic type because input has type unknown");
        if (to->arg_count > 1)
            to->args[1] = as_integer(s, call, to->args[1]);
        if (to->arg_count > 2) {
            BExpr *both[] = {to->args[0], to->args[2]};
            TypeId type = coerce_common_type(both, 2, "lag");
            to->args[0] = coerce_to_common(b, to->args[0], type, "lag");
            to->args[2] = coerce_to_common(b, to->args[2], type, "lag");
        }
        to->type = to->args[0]->type;
        to->typmod = to->args[0]->typmod;
        break;
    }
}

/* Equal for bexpr_equal, so that ORDER BY and DISTINCT ON find the target. */
static bool
same_call(const BWinCall *a, const BWinCall *b)
{
    bool same = a->kind == b->kind && a->window == b->window && a->agg == b->agg && a->arg_count == b->arg_count && !a->filter == !b->filter &&
                (!a->filter || (bexpr_equal(a->filter, b->filter) && !bexpr_is_volatile(a->filter)));
    for (u32 i = 0; same && i < a->arg_count; i++)
        same = bexpr_equal(a->args[i], b->args[i]) && !bexpr_is_volatile(a->args[i]);
    return same;
}

static BExpr *
enter_call(Scope *s, const AExpr *call, BWinCall *c)
{
    BExpr *e = bind_new(s->b, BX_WINDOW, c->type, bind_position(s->b, call->at));
    e->typmod = c->typmod;
    while (e->index < s->win_calls.count && !same_call(LIST_AT(s->win_calls, BWinCall, e->index), c))
        e->index++;
    if (e->index == s->win_calls.count)
        ptrlist_add(s->b->arena, &s->win_calls, c);
    return e;
}

void
bind_check_window_place(Scope *s, const AExpr *call)
{
    if (s->in_window_keys)
        bind_fail(s->b, call->at, ERR_WINDOWING_ERROR, "window functions are not allowed in window definitions");
    if (s->in_window)
        bind_fail(s->b, call->at, ERR_WINDOWING_ERROR, "window function calls cannot be nested");
    if (s->in_aggregate)
        bind_fail(s->b, call->at, ERR_GROUPING_ERROR, "aggregate function calls cannot contain window function calls");
    if (place_name(s->place))
        bind_fail(s->b, call->at, ERR_WINDOWING_ERROR, "window functions are not allowed in %s", place_name(s->place));
}

BExpr *
bind_window_function(Scope *s, const AExpr *call, Str name)
{
    const ACall *c = call->call;
    const struct WindowFunction *f = find_function(s, call, name);
    BWinCall *to = ARENA_NEW(s->b->arena, BWinCall);
    if (!c->over)
        bind_fail(s->b, call->at, ERR_WRONG_OBJECT_TYPE, "window function %.*s requires an OVER clause", (int)name.len, name.ptr);
    bind_check_window_place(s, call);
    if (c->distinct)
        bind_fail(s->b, call->at, ERR_FEATURE_NOT_SUPPORTED, "DISTINCT is not implemented for window functions");
    if (c->filter)
        bind_fail(s->b, call->at, ERR_FEATURE_NOT_SUPPORTED, "FILTER is not implemented for non-aggregate window functions");
    s->in_window = true;
    to->kind = f->kind;
    bind_arguments(s, call, f, to);
    to->window = window_number(s, c->over);
    s->in_window = false;
    return enter_call(s, call, to);
}

BExpr *
bind_window_aggregate(Scope *s, const AExpr *call, const BAgg *agg)
{
    BWinCall *to = ARENA_NEW(s->b->arena, BWinCall);
    *to = (BWinCall){.kind = BWIN_AGGREGATE, .agg = agg->agg, .type = agg->type, .typmod = agg->typmod, .filter = agg->filter};
    if (agg->arg) {
        to->args[0] = agg->arg;
        to->arg_count = 1;
    }
    for (u32 i = 0; agg->rows && i < agg->rows->arg_count; i++)
        to->args[to->arg_count++] = agg->rows->columns[i];
    s->in_window = true;
    to->window = window_number(s, call->call->over);
    s->in_window = false;
    return enter_call(s, call, to);
}
