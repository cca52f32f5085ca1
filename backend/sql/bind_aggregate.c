/*
 * bind_aggregate.c
 *    Calls of aggregates: overload, DISTINCT, ORDER BY, FILTER; equal ones are computed once.
 *
 * Most aggregates take one argument and do not mind the order of rows. The others carry BAggRows: several arguments, an order, or both. An order
 * that cannot show in the result is looked at and forgotten.
 */
#include "backend/sql/bind.h"

/* A call on its way. */
typedef struct AggCall {
    Scope *s;
    const AExpr *call;
    BExpr *args[BIND_MAX_ARGS];
    u32 arg_count;
    PtrList order; /* BExpr; of WITHIN GROUP they stand behind the arguments, too */
    BExpr *filter;
} AggCall;

static bool
same_rows(const BAggRows *x, const BAggRows *y)
{
    if (!x || !y)
        return !x && !y;
    bool same = x->arg_count == y->arg_count && x->column_count == y->column_count && x->key_count == y->key_count;
    for (u32 i = 0; same && i < x->column_count; i++)
        same = bexpr_equal(x->columns[i], y->columns[i]);
    for (u32 i = 0; same && i < x->key_count; i++)
        same = x->keys[i].target == y->keys[i].target && x->keys[i].descending == y->keys[i].descending &&
               x->keys[i].nulls_first == y->keys[i].nulls_first;
    return same;
}

static bool
same_agg(const BAgg *x, const BAgg *y)
{
    if (x->agg != y->agg || x->type != y->type || x->distinct != y->distinct || !x->arg != !y->arg || !x->filter != !y->filter)
        return false;
    return same_rows(x->rows, y->rows) && (!x->arg || bexpr_equal(x->arg, y->arg)) && (!x->filter || bexpr_equal(x->filter, y->filter));
}

/* The aggregate as a node; equal ones are computed once. */
static BExpr *
make_agg(Scope *s, const BAgg *agg, u32 position)
{
    u32 i = 0;
    while (i < s->aggs.count && !same_agg(LIST_AT(s->aggs, BAgg, i), agg))
        i++;
    if (i == s->aggs.count) {
        BAgg *kept = ARENA_NEW(s->b->arena, BAgg);
        *kept = *agg;
        ptrlist_add(s->b->arena, &s->aggs, kept);
    }
    BExpr *e = bind_new(s->b, BX_AGG, agg->type, position);
    e->typmod = agg->typmod;
    e->index = i;
    return e;
}

/* ---- which overload ---- */

static int
choose_agg(const AggDef *rows, u32 count, const TypeId *in, u32 n)
{
    Candidate c[BIND_MAX_CANDIDATES];
    u32 kept = 0;
    for (u32 i = 0; i < count && kept < BIND_MAX_CANDIDATES; i++)
        if (rows[i].arg_count == n)
            c[kept++] = (Candidate){i, rows[i].args};
    return bind_choose(c, kept, in, n);
}

/* Takes values of any type as they are. */
static bool
takes_anything(const AggDef *def)
{
    return def->op == AOP_JSON_OBJECT_AGG;
}

/* As many values as columns of ORDER BY, in pairs of one type. */
static void
match_hypothetical(AggCall *c, u32 direct)
{
    u32 ordered = c->arg_count - direct;
    Binder *b = c->s->b;
    for (u32 i = 0; i < ordered; i++) {
        BExpr *both[] = {c->args[direct + i], c->args[i]};
        TypeId type = coerce_common_type(both, 2, "WITHIN GROUP");
        c->args[direct + i] = coerce_to_common(b, both[0], type, "WITHIN GROUP");
        c->args[i] = coerce_to_common(b, both[1], type, "WITHIN GROUP");
    }
}

static const AggDef *
find_overload(AggCall *c, const AggDef *rows, u32 count)
{
    Binder *b = c->s->b;
    u32 n = c->arg_count, direct = n - (c->call->call->within_group ? c->order.count : 0);
    if (rows[0].kind == AGG_HYPOTHETICAL) {
        if (c->call->call->within_group && direct * 2 != n)
            bind_hypothetical_error(b, c->call, c->args, n, direct);
        return rows;
    }
    if (rows[0].op == AOP_COUNT || takes_anything(rows))
        for (u32 i = 0; i < n; i++)
            c->args[i] = coerce_unknown_to_text(b, c->args[i]);
    if (takes_anything(rows) && n == rows[0].arg_count)
        return rows;
    if (n > AGG_MAX_ARGS)
        bind_function_error(b, c->call, c->args, n, false);
    TypeId in[AGG_MAX_ARGS] = {TYPE_INVALID, TYPE_INVALID};
    for (u32 i = 0; i < n; i++)
        in[i] = c->args[i]->type;
    int row = choose_agg(rows, count, in, n);
    /* PostgreSQL adds intervals, too, and so cannot tell what an unknown argument of a sum is */
    bool sums = rows[0].op == AOP_SUM || rows[0].op == AOP_AVG;
    if (row < 0 || (sums && n && in[0] == TYPE_UNKNOWN))
        bind_function_error(b, c->call, c->args, n, row != CHOICE_NONE);
    return &rows[row];
}

/* Arguments get the overload's types; returns the result's. */
static TypeId
settle_types(AggCall *c, const AggDef *def)
{
    if (takes_anything(def) || def->kind == AGG_HYPOTHETICAL)
        return def->ret;
    FuncDef like = {.arg_count = def->arg_count, .ret = def->ret};
    TypeId in[AGG_MAX_ARGS], to[AGG_MAX_ARGS];
    for (u32 i = 0; i < c->arg_count; i++) {
        like.args[i] = def->args[i];
        in[i] = c->args[i]->type;
    }
    TypeId ret = poly_resolve(in, &like, to);
    for (u32 i = 0; i < c->arg_count; i++)
        c->args[i] = coerce_type(c->s->b, c->args[i], to[i], CAST_IMPLICIT);
    return ret;
}

/* ---- DISTINCT and ORDER BY ---- */

/* What the order of rows can change. */
static bool
order_shows(const AggDef *def, const BExpr *arg)
{
    switch ((int)def->op) {
    case AOP_COUNT: case AOP_MIN: case AOP_MAX: case AOP_BOOL_AND: case AOP_BOOL_OR: case AOP_BIT_AND: case AOP_BIT_OR: case AOP_BIT_XOR:
        return false;
    case AOP_ANY_VALUE:
        return true;
    case AOP_REGR_COUNT:
        return false;
    default:
        return agg_folds(def->op) || agg_takes_pairs(def->op) || arg->type == TYPE_FLOAT4 || arg->type == TYPE_FLOAT8;
    }
}

static void
need_equality(const BExpr *e)
{
    if (e->type == TYPE_JSON)
        err_throw_at(e->position, ERR_UNDEFINED_FUNCTION, "could not identify an equality operator for type json");
}

static void
add_key(BAggRows *r, u32 column, const BOrder *direction)
{
    for (u32 i = 0; i < r->key_count; i++)
        if (r->keys[i].target == column)
            return;
    r->keys[r->key_count] = direction ? *direction : (BOrder){0};
    r->keys[r->key_count++].target = column;
}

/* Without the conversions that nobody wrote. */
static const BExpr *
as_written(const BExpr *e)
{
    while (e->kind == BX_CAST && !e->explicit_cast)
        e = e->args[0];
    return e;
}

static BAggRows *
make_rows(AggCall *c)
{
    Binder *b = c->s->b;
    const ACall *call = c->call->call;
    BAggRows *r = ARENA_NEW(b->arena, BAggRows);
    u32 room = c->arg_count + c->order.count;
    r->arg_count = r->column_count = c->arg_count;
    r->columns = ARENA_ARRAY(b->arena, BExpr *, room);
    r->keys = ARENA_ARRAY(b->arena, BOrder, room);
    for (u32 i = 0; i < c->arg_count; i++)
        r->columns[i] = c->args[i];
    for (u32 i = 0; i < c->order.count; i++) {
        BExpr *e = LIST_AT(c->order, BExpr, i);
        BOrder direction;
        u32 column = 0;
        bind_order_direction(b, LIST_AT(call->order_by, AOrder, i), &direction);
        /* a literal is not yet of the type that it has as an argument */
        while (column < r->column_count && (e->type == TYPE_UNKNOWN || !bexpr_equal(as_written(r->columns[column]), as_written(e))))
            column++;
        if (column == r->column_count && call->distinct)
            err_throw_at(e->position, ERR_INVALID_COLUMN_REFERENCE, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
        if (column == r->column_count)
            r->columns[r->column_count++] = coerce_unknown_to_text(b, e);
        add_key(r, column, &direction);
    }
    for (u32 i = 0; call->distinct && i < c->arg_count; i++)
        add_key(r, i, NULL);
    return r;
}

/* WITHIN GROUP: what is aggregated stands behind the direct arguments. */
static BAggRows *
make_set_rows(AggCall *c)
{
    Binder *b = c->s->b;
    const ACall *call = c->call->call;
    u32 ordered = call->order_by.count, direct = c->arg_count - ordered;
    BAggRows *r = ARENA_NEW(b->arena, BAggRows);
    *r = (BAggRows){.arg_count = ordered, .column_count = c->arg_count, .key_count = ordered, .direct_count = direct};
    r->columns = ARENA_ARRAY(b->arena, BExpr *, c->arg_count);
    r->keys = ARENA_ARRAY(b->arena, BOrder, ordered);
    for (u32 i = 0; i < ordered; i++) {
        r->columns[i] = c->args[direct + i];
        bind_order_direction(b, LIST_AT(call->order_by, AOrder, i), &r->keys[i]);
        r->keys[i].target = i;
    }
    for (u32 i = 0; i < direct; i++)
        r->columns[ordered + i] = c->args[i];
    return r;
}

/* Two numbers become one value. */
static void
make_pair(AggCall *c)
{
    Binder *b = c->s->b;
    u32 count;
    if (c->order.count && c->call->call->distinct)
        bind_unsupported(b, c->call->at, "DISTINCT and ORDER BY in an aggregate of two numbers");
    BExpr *e = bind_new(b, BX_FUNC, TYPE_UUID, c->args[0]->position);
    e->func = func_candidates(STR_LIT("float8pair"), false, &count)->id;
    e->arg_count = 2;
    e->args = ARENA_ARRAY(b->arena, BExpr *, 2);
    e->args[0] = c->args[0];
    e->args[1] = c->args[1];
    c->args[0] = e;
    c->arg_count = 1;
}

/* ---- the whole ---- */

static void
bind_parts(AggCall *c)
{
    Scope *s = c->s;
    Binder *b = s->b;
    const ACall *call = c->call->call;
    bool nested = s->in_aggregate, in_window = s->in_window;
    if (call->over)
        bind_check_window_place(s, c->call);
    s->in_aggregate = !call->over || nested;
    s->in_window |= call->over != NULL;
    if (c->call->arg_count > BIND_MAX_ARGS)
        bind_fail(b, c->call->at, ERR_TOO_MANY_ARGUMENTS, "cannot pass more than %d arguments to a function", BIND_MAX_ARGS);
    c->arg_count = c->call->arg_count;
    for (u32 i = 0; i < c->arg_count; i++)
        c->args[i] = bind_expr(s, c->call->args[i]);
    for (u32 i = 0; i < call->order_by.count; i++) {
        BExpr *e = bind_expr(s, LIST_AT(call->order_by, AOrder, i)->expr);
        if (e->type == TYPE_VOID || e->type == TYPE_JSON)
            bind_fail_hint(e->position, ERR_UNDEFINED_FUNCTION, "Use an explicit ordering operator or modify the query.",
                           "could not identify an ordering operator for type %s", bind_type_name(e->type));
        if (call->within_group && c->arg_count == BIND_MAX_ARGS)
            bind_fail(b, c->call->at, ERR_TOO_MANY_ARGUMENTS, "cannot pass more than %d arguments to a function", BIND_MAX_ARGS);
        if (call->within_group)
            c->args[c->arg_count++] = e;
        ptrlist_add(b->arena, &c->order, e);
    }
    if (call->filter)
        c->filter = bind_condition(s, call->filter, PLACE_FILTER, "FILTER");
    s->in_aggregate = nested;
    s->in_window = in_window;
}

static void
refuse_outer(AggCall *c)
{
    u32 n = c->arg_count + c->order.count;
    BExpr **parts = ARENA_ARRAY(c->s->b->arena, BExpr *, n + 1);
    for (u32 i = 0; i < c->arg_count; i++)
        parts[i] = c->args[i];
    for (u32 i = 0; i < c->order.count; i++)
        parts[c->arg_count + i] = LIST_AT(c->order, BExpr, i);
    parts[n] = c->filter;
    if (bind_is_outer(c->s, parts, n + 1))
        bind_unsupported(c->s->b, c->call->at, "an aggregate of an outer query");
}

static void
check_clauses(const AggCall *c, Str name, const AggDef *def)
{
    Binder *b = c->s->b;
    const ACall *call = c->call->call;
    if (def->kind != AGG_PLAIN && !call->within_group)
        bind_fail(b, c->call->at, ERR_WRONG_OBJECT_TYPE, "WITHIN GROUP is required for ordered-set aggregate %.*s", (int)name.len, name.ptr);
    if (def->kind != AGG_PLAIN && call->over)
        bind_fail(b, c->call->at, ERR_FEATURE_NOT_SUPPORTED, "OVER is not supported for ordered-set aggregate %.*s", (int)name.len, name.ptr);
    if (def->kind == AGG_PLAIN && call->within_group)
        bind_fail(b, c->call->at, ERR_WRONG_OBJECT_TYPE, "%.*s is not an ordered-set aggregate, so it cannot have WITHIN GROUP", (int)name.len, name.ptr);
    if (!call->star && !c->arg_count)
        bind_fail(b, c->call->at, ERR_WRONG_OBJECT_TYPE, "%.*s(*) must be used to call a parameterless aggregate function", (int)name.len, name.ptr);
    if (call->over && call->distinct)
        bind_fail(b, c->call->at, ERR_FEATURE_NOT_SUPPORTED, "DISTINCT is not implemented for window functions");
    if (call->over && call->order_by.count)
        bind_fail(b, c->call->at, ERR_FEATURE_NOT_SUPPORTED, "aggregate ORDER BY is not implemented for window functions");
    if (!call->over && bind_place_name(c->s->place))
        bind_fail(b, c->call->at, ERR_GROUPING_ERROR, "aggregate functions are not allowed in %s", bind_place_name(c->s->place));
    if (!call->over && c->s->in_aggregate)
        bind_fail(b, c->call->at, ERR_GROUPING_ERROR, "aggregate function calls cannot be nested");
}

BExpr *
bind_aggregate(Scope *s, const AExpr *call, Str name, const AggDef *rows, u32 count)
{
    AggCall c = {.s = s, .call = call};
    bind_refuse_argument_forms(s->b, call);
    bind_parts(&c);
    if (!call->call->over)
        refuse_outer(&c);
    const AggDef *def = find_overload(&c, rows, count);
    check_clauses(&c, name, def);
    if (def->kind == AGG_HYPOTHETICAL)
        match_hypothetical(&c, c.arg_count / 2);
    BAgg agg = {.agg = def->id, .type = settle_types(&c, def), .typmod = -1, .filter = c.filter, .distinct = call->call->distinct};
    for (u32 i = 0; agg.distinct && i < c.arg_count; i++)
        need_equality(c.args[i]);
    if (agg_takes_pairs(def->op))
        make_pair(&c);
    bool ordered = c.order.count && order_shows(def, c.args[0]);
    if (def->kind != AGG_PLAIN)
        agg.rows = make_set_rows(&c);
    else if (agg_folds(def->op) || ordered)
        agg.rows = make_rows(&c);
    else {
        if (c.order.count && agg.distinct)
            make_rows(&c); /* for its errors */
        agg.arg = c.arg_count ? c.args[0] : NULL;
    }
    if (call->call->over)
        return bind_window_aggregate(s, call, &agg);
    return make_agg(s, &agg, bind_position(s->b, call->at));
}
