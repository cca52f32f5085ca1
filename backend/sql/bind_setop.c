/*
 * bind_setop.c
 *    UNION, INTERSECT, EXCEPT.
 *
 * A set operation is a query over one relation, the rows of its right side behind those of its left. UNION is that with DISTINCT. For INTERSECT and EXCEPT
 * the relation says of each row which side it came from; the query groups by all columns and counts both sides: which groups stay is
 * HAVING, with ALL how often a group is repeated. So a set operation runs on the operators that are there.
 */
#include "backend/sql/bind.h"

static const char *const NAMES[] = {[ASET_UNION] = "UNION", [ASET_INTERSECT] = "INTERSECT", [ASET_EXCEPT] = "EXCEPT"};

/* Both sides of a column get one type. */
static BColumn
unify_targets(Binder *b, BTarget *left, BTarget *right, const char *name)
{
    BExpr *both[] = {left->expr, right->expr};
    TypeId type = coerce_common_type(both, 2, name);
    left->expr = coerce_to_common(b, left->expr, type, name);
    right->expr = coerce_to_common(b, right->expr, type, name);
    bool same = left->expr->typmod == right->expr->typmod;
    return (BColumn){.name = left->name, .type = type, .typmod = same ? left->expr->typmod : -1, .relabeled = left->typmod < 0, .used = true};
}

static BRel *
append_rel(Binder *b, const ASelect *sel, bool marked)
{
    const char *name = NAMES[sel->op];
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->kind = BREL_APPEND;
    rel->marked = marked;
    rel->query = bind_query(b, sel->left, false);
    rel->second = bind_query(b, sel->right, false);
    u32 n = bquery_visible(rel->query), m = bquery_visible(rel->second);
    if (n != m)
        err_throw_at(m ? rel->second->targets[0].expr->position : 0, ERR_SYNTAX_ERROR, "each %s query must have the same number of columns", name);
    rel->column_count = n + marked;
    rel->columns = ARENA_ARRAY(b->arena, BColumn, rel->column_count);
    for (u32 i = 0; i < n; i++)
        rel->columns[i] = unify_targets(b, &rel->query->targets[i], &rel->second->targets[i], name);
    if (marked)
        rel->columns[n] = (BColumn){.name = STR_LIT("side"), .type = TYPE_INT4, .typmod = -1, .used = true};
    return rel;
}

BExpr *
bind_int_const(Binder *b, TypeId type, i64 v)
{
    BExpr *e = bind_new(b, BX_CONST, type, 0);
    e->value = (Value){.type = type, .typmod = -1};
    if (type == TYPE_INT8)
        e->value.i64v = v;
    else
        e->value.i32v = (i32)v;
    return e;
}

/* count(*) FILTER (WHERE side = …) */
static BExpr *
count_side(Scope *s, const BExpr *side, i32 which)
{
    Binder *b = s->b;
    AggId id = 1;
    while (!(agg_def(id)->op == AOP_COUNT && agg_def(id)->arg_count == 0))
        id++;
    BAgg *agg = ARENA_NEW(b->arena, BAgg);
    *agg = (BAgg){.agg = id, .type = agg_def(id)->ret, .typmod = -1};
    agg->filter = bind_operator(b, STR_LIT("="), bexpr_copy(b, side, 0), bind_int_const(b, TYPE_INT4, which), NO_LOCATION);
    BExpr *e = bind_new(b, BX_AGG, agg->type, 0);
    e->index = s->aggs.count;
    ptrlist_add(b->arena, &s->aggs, agg);
    return e;
}

static BExpr *
two(Binder *b, BExprKind kind, TypeId type, BExpr *x, BExpr *y)
{
    BExpr *e = bind_new(b, kind, type, 0);
    e->arg_count = 2;
    e->args = ARENA_ARRAY(b->arena, BExpr *, 2);
    e->args[0] = x;
    e->args[1] = y;
    return e;
}

/* What counts of both sides decide: HAVING, or how often a group is repeated (0 or less: never). */
static void
count_groups(Scope *s, const ASelect *sel, const BExpr *side)
{
    Binder *b = s->b;
    BExpr *left = count_side(s, side, 1), *right = count_side(s, side, 2);
    if (sel->all && sel->op == ASET_EXCEPT) {
        s->query->repeat = bind_operator(b, STR_LIT("-"), left, right, NO_LOCATION);
    } else if (sel->all) {
        s->query->repeat = two(b, BX_GREATEST, TYPE_INT8, left, right);
        s->query->repeat->negated = true; /* LEAST */
    } else {
        BExpr *in_left = bind_operator(b, STR_LIT(">"), left, bind_int_const(b, TYPE_INT8, 0), NO_LOCATION);
        BExpr *in_right = bind_operator(b, sel->op == ASET_INTERSECT ? STR_LIT(">") : STR_LIT("="), right, bind_int_const(b, TYPE_INT8, 0), NO_LOCATION);
        s->query->having = two(b, BX_AND, TYPE_BOOL, in_left, in_right);
    }
    s->query->grouped = true;
}

/* Where an expression begins. */
static u32
leftmost(const AExpr *e)
{
    u32 at = e->at;
    for (u32 i = 0; i < e->arg_count; i++)
        at = e->args[i] ? MIN(at, leftmost(e->args[i])) : at;
    return at;
}

static NORETURN void
invalid_order(Binder *b, const AExpr *e)
{
    Error err;
    error_set(&err, ERR_FEATURE_NOT_SUPPORTED, "invalid UNION/INTERSECT/EXCEPT ORDER BY clause");
    error_detail(&err, "Only result column names can be used, not expressions or functions.");
    error_hint(&err, "Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
    err.position = bind_position(b, leftmost(e));
    err_rethrow(&err);
}

BQuery *
bind_set_operation(Binder *b, const ASelect *sel)
{
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    Scope s = {.b = b, .outer = b->outer, .frame = b->frame, .query = q};
    PtrList targets = {0}, order = {0}, groups = {0};
    bool counted = sel->op != ASET_UNION;
    q->from = ARENA_NEW(b->arena, BFrom);
    q->from->kind = BFROM_REL;
    BRel *rel = append_rel(b, sel, counted);
    NsItem *item = bind_add_rel(&s, rel, NULL, &q->from->rel);
    u32 n = rel->column_count - counted;
    if (counted && n == 0)
        bind_unsupported(b, sel->at, "INTERSECT or EXCEPT of queries without columns");
    item->count = n; /* the side has no name */
    for (u32 i = 0; i < n; i++) {
        ptrlist_add(b->arena, &targets, bind_new_target(&s, bexpr_copy(b, item->columns[i].expr, 0), item->columns[i].name));
        if (counted)
            ptrlist_add(b->arena, &groups, item->columns[i].expr);
    }
    bind_order_by(&s, sel, &targets, n, &order);
    if (targets.count > n)
        invalid_order(b, LIST_AT(sel->order_by, AOrder, 0)->expr);
    q->offset = bind_limit(&s, sel->offset, "OFFSET", PLACE_OFFSET);
    q->limit = bind_limit(&s, sel->limit, "LIMIT", PLACE_LIMIT);
    q->with_ties = bind_ties(sel, q->limit);
    q->distinct = sel->op == ASET_UNION && !sel->all && n > 0;
    q->order_count = order.count;
    q->order_by = ARENA_ARRAY(b->arena, BOrder, order.count);
    for (u32 i = 0; i < order.count; i++)
        q->order_by[i] = *LIST_AT(order, BOrder, i);
    if (counted)
        count_groups(&s, sel, item->columns[n].expr);
    bind_finish_scope(&s, &targets);
    if (counted)
        bind_grouping(&s, &groups);
    return q;
}
