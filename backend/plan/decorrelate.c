/*
 * decorrelate.c
 *    Subqueries that look at columns of the query around them become joins of it, so that they run once and in parallel, not once a row.
 *
 * In WHERE: [NOT] EXISTS and IN become semi and anti joins with the subquery's relations; its conditions are the join's.
 * In WHERE and in the targets of a query without grouping: a scalar aggregate over rows that are equal to something outside (WHERE inner = outer AND …) becomes a
 * LEFT JOIN with the aggregate grouped by its side of the equalities (Kim's and Dayal's rewriting). A row without partner sees the aggregate of no rows: NULL, of count 0.
 *
 * Everything else stays a subquery: volatile calls, LIMIT, grouping, set operations, what it captures anywhere but in its WHERE. So does a subquery
 * of few outer rows, where a run a row costs less than a look at all inner rows; and aggregates whose conditions or arguments may fail for rows
 * that no outer row would have looked at.
 */
#include "backend/plan/expr_prog.h"
#include "backend/plan/planner.h"

static const double FEW_ROWS = 16;

typedef struct Rewrite {
    Planner *p;
    BQuery *q; /* a copy, which grows */
    u32 room;  /* of q->rels */
    u32 done_count;
    struct { const BExpr *sub; const BExpr *value; } done[32]; /* scalars that were replaced */
} Rewrite;

/* A subquery on its way into the query around it. */
typedef struct Inner {
    Planner *p;
    const BSub *sub;
    BExpr *const *outer; /* what its captures stand for */
    u16 base;            /* its relation 0 there */
} Inner;

/* e with constants for what is computed once for the statement. */
static const BExpr *
without_fixed(Planner *p, const BExpr *e)
{
    BExpr *copy = ARENA_NEW(p->arena, BExpr);
    if (expr_is_fixed(e) && bexpr_volatility(e) == FUNC_IMMUTABLE) {
        *copy = (BExpr){.kind = BX_CONST, .type = e->type, .typmod = e->typmod, .value = {.type = e->type, .is_null = true}};
        return copy;
    }
    *copy = *e;
    copy->args = ARENA_ARRAY(p->arena, BExpr *, MAX(e->arg_count, 1u));
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = (BExpr *)(uintptr_t)without_fixed(p, e->args[i]);
    return copy;
}

/* As expr_may_fail(), but what is computed once may: it fails in PostgreSQL, too, whichever rows there are. */
static bool
may_fail(Planner *p, const BExpr *e)
{
    return expr_may_fail(without_fixed(p, e));
}

/* ---- what a subquery mentions ---- */

static bool
mentions(const BSub *sub, const BExpr *e)
{
    if (!e)
        return false;
    for (u32 i = 0; e->kind == BX_PARAM && i < sub->capture_count; i++)
        if (e->index == EXTRA_PARAM + sub->captures[i])
            return true;
    for (u32 i = 0; i < e->arg_count; i++)
        if (mentions(sub, e->args[i]))
            return true;
    return false;
}

static bool from_mentions(const BSub *sub, const BFrom *from);
static bool rels_mention(const BSub *sub, const BQuery *q);

static bool
query_mentions(const BSub *sub, const BQuery *q)
{
    if (!q)
        return false;
    bool found = from_mentions(sub, q->from) || rels_mention(sub, q) || mentions(sub, q->where) || mentions(sub, q->having) || mentions(sub, q->limit) ||
                 mentions(sub, q->offset) || mentions(sub, q->repeat) || mentions(sub, q->first_only);
    for (u32 i = 0; i < q->target_count; i++)
        found |= mentions(sub, q->targets[i].expr);
    for (u32 i = 0; i < q->group_count; i++)
        found |= mentions(sub, q->group_by[i]);
    for (u32 i = 0; i < q->agg_count; i++)
        for (u32 k = 0; k < bagg_part_count(&q->aggs[i]); k++)
            found |= mentions(sub, bagg_part(&q->aggs[i], k));
    for (u32 i = 0; i < q->win_call_count; i++) {
        found |= mentions(sub, q->win_calls[i]->filter);
        for (u32 k = 0; k < q->win_calls[i]->arg_count; k++)
            found |= mentions(sub, q->win_calls[i]->args[k]);
    }
    for (u32 i = 0; i < q->window_count; i++) {
        const BWindow *w = q->windows[i];
        found |= mentions(sub, w->start_offset) || mentions(sub, w->end_offset);
        for (u32 k = 0; k < w->partition_count; k++)
            found |= mentions(sub, w->partition[k]);
        for (u32 k = 0; k < w->order_count; k++)
            found |= mentions(sub, w->order[k]);
    }
    return found;
}

static bool
from_mentions(const BSub *sub, const BFrom *from)
{
    return from && from->kind == BFROM_JOIN && (mentions(sub, from->on) || from_mentions(sub, from->left) || from_mentions(sub, from->right));
}

static bool
rels_mention(const BSub *sub, const BQuery *q)
{
    for (u32 r = 0; r < q->rel_count; r++) {
        const BRel *rel = &q->rels[r];
        bool shared = rel->kind == BREL_CTE && bcte_is_shared(rel->cte); /* planned elsewhere, and of the statement */
        if (!shared && (query_mentions(sub, rel->query) || query_mentions(sub, rel->second)))
            return true;
        for (u32 i = 0; i < rel->row_count; i++)
            for (u32 c = 0; c < rel->column_count; c++)
                if (mentions(sub, rel->rows[i][c]))
                    return true;
        for (u32 i = 0; i < rel->call_count; i++)
            if (mentions(sub, rel->calls[i]))
                return true;
        for (u32 i = 0; i < rel->lateral_count; i++)
            if (mentions(sub, rel->lateral[i]))
                return true;
    }
    return false;
}

/* Rows of relations under conditions, which alone look outside. */
static bool
is_plain(const BSub *sub)
{
    const BQuery *q = sub->query;
    if (!sub->capture_count || !q->from || q->limit || q->offset || q->lock_count || q->repeat || q->win_call_count || q->first_only || q->group_count || q->set_count || q->grouping_count ||
        q->having || rels_mention(sub, q) || from_mentions(sub, q->from) || (q->where && bexpr_is_volatile(q->where)))
        return false;
    for (u32 r = 0; r < q->rel_count; r++)
        if (q->rels[r].lifted || q->rels[r].kind == BREL_LATERAL)
            return false;
    return true;
}

/* ---- moving ---- */

static const BExpr *
move(const Inner *in, const BExpr *e)
{
    for (u32 i = 0; e->kind == BX_PARAM && i < in->sub->capture_count; i++)
        if (e->index == EXTRA_PARAM + in->sub->captures[i])
            return in->outer[i];
    if (e->kind != BX_COLUMN && !e->arg_count)
        return e;
    BExpr *copy = ARENA_NEW(in->p->arena, BExpr);
    *copy = *e;
    if (e->kind == BX_COLUMN)
        copy->rel = (u16)(e->rel + in->base);
    copy->args = ARENA_ARRAY(in->p->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = (BExpr *)(uintptr_t)move(in, e->args[i]);
    return copy;
}

static BFrom *
move_from(const Inner *in, const BFrom *from)
{
    BFrom *copy = ARENA_NEW(in->p->arena, BFrom);
    *copy = *from;
    if (from->kind == BFROM_REL) {
        copy->rel = (u16)(from->rel + in->base);
        return copy;
    }
    copy->left = move_from(in, from->left);
    copy->right = move_from(in, from->right);
    copy->on = from->on ? (BExpr *)(uintptr_t)move(in, from->on) : NULL;
    return copy;
}

static void
add_rels(Rewrite *rw, const BRel *rels, u32 count)
{
    BQuery *q = rw->q;
    if (q->rel_count + count > rw->room) {
        rw->room = 2 * (q->rel_count + count);
        BRel *more = ARENA_ARRAY(rw->p->arena, BRel, rw->room);
        memcpy(more, q->rels, q->rel_count * sizeof *more);
        q->rels = more;
    }
    memcpy(q->rels + q->rel_count, rels, count * sizeof *rels);
    q->rel_count += count;
}

static void
add_join(Rewrite *rw, BJoinKind kind, BFrom *right, const ConjunctList *on)
{
    BFrom *from = ARENA_NEW(rw->p->arena, BFrom);
    *from = (BFrom){.kind = BFROM_JOIN, .join = kind, .left = rw->q->from, .right = right};
    from->on = (BExpr *)(uintptr_t)conjuncts_join(rw->p, on->items, on->count);
    rw->q->from = from;
}

/* ---- EXISTS and IN ---- */

static const BExpr *
equal(Planner *p, const BExpr *a, const BExpr *b)
{
    u32 count;
    TypeId type = a->type == TYPE_VARCHAR ? TYPE_TEXT : a->type;
    const FuncDef *f = func_candidates(STR_LIT("="), true, &count);
    for (u32 i = 0; a->type == b->type && i < count; i++)
        if (f[i].args[0] == type && f[i].args[1] == type) {
            BExpr *e = ARENA_NEW(p->arena, BExpr);
            *e = (BExpr){.kind = BX_FUNC, .type = TYPE_BOOL, .typmod = -1, .func = f[i].id, .arg_count = 2};
            e->args = ARENA_ARRAY(p->arena, BExpr *, 2);
            e->args[0] = (BExpr *)(uintptr_t)a;
            e->args[1] = (BExpr *)(uintptr_t)b;
            return e;
        }
    return NULL;
}

/* A conjunct [NOT] EXISTS (…) or x IN (…), as a join; false: it stays. */
static bool
join_conjunct(Rewrite *rw, const BExpr *e)
{
    Planner *p = rw->p;
    bool anti = e->kind == BX_NOT;
    const BExpr *node = anti ? e->args[0] : e;
    if (node->kind != BX_SUBQUERY)
        return false;
    const BSub *sub = p->stmt->subs[node->index];
    const BQuery *inner = sub->query;
    bool in = sub->kind == BSUB_IN;
    if ((sub->kind != BSUB_EXISTS && !(in && !anti)) || !is_plain(sub) || inner->grouped || bexpr_is_volatile(node))
        return false;
    Inner m = {p, sub, node->args + sub->test_count, (u16)rw->q->rel_count};
    ConjunctList on = {0}, where = {0};
    for (u32 i = 0; in && i < sub->test_count; i++) {
        const BExpr *is = bexpr_is_volatile(inner->targets[i].expr) ? NULL : equal(p, node->args[i], move(&m, inner->targets[i].expr));
        if (!is)
            return false;
        conjunct_add(p, &on, is);
    }
    conjuncts_split(p, &where, inner->where);
    for (u32 i = 0; i < where.count; i++)
        conjunct_add(p, &on, move(&m, where.items[i]));
    BFrom *right = move_from(&m, inner->from);
    add_rels(rw, inner->rels, inner->rel_count);
    add_join(rw, anti ? BJOIN_ANTI : BJOIN_SEMI, right, &on);
    return true;
}

/* ---- scalar aggregates ---- */

/* inner = outer, inner looking at nothing outside and outer at nothing inside: *ret_inner, 0 or 1, is the inner side. */
static bool
is_link(const BSub *sub, const BExpr *e, u32 *ret_inner)
{
    PlanOp op;
    if (!expr_comparison(e, &op) || op != OP_EQ || e->kind != BX_FUNC)
        return false;
    for (u32 side = 0; side < 2; side++) {
        const BExpr *in = e->args[side], *out = e->args[1 - side];
        RelSet rels = {0};
        relset_add_expr(&rels, out);
        bool groups = in->type != TYPE_BPCHAR && in->type != TYPE_JSON && in->type != TYPE_JSONB;
        if (!mentions(sub, in) && mentions(sub, out) && relset_empty(&rels) && groups && !expr_may_fail(in)) {
            *ret_inner = side;
            return true;
        }
    }
    return false;
}

static BExpr *
leaf(Planner *p, BExprKind kind, const BExpr *like, u16 rel, u16 column, u32 index)
{
    BExpr *e = ARENA_NEW(p->arena, BExpr);
    *e = (BExpr){.kind = kind, .type = like->type, .typmod = like->typmod, .rel = rel, .column = column, .index = index};
    return e;
}

/* The aggregate's target above the join: its aggregates are columns from `first` on, NULL where there was no row. */
static const BExpr *
target_above(const Inner *in, const BExpr *e, u16 first)
{
    Planner *p = in->p;
    if (e->kind == BX_AGG) {
        BExpr *column = leaf(p, BX_COLUMN, e, in->base, (u16)(first + e->index), 0);
        if (agg_def(in->sub->query->aggs[e->index].agg)->op != AOP_COUNT)
            return column;
        BExpr *zero = leaf(p, BX_CONST, e, 0, 0, 0), *sure = leaf(p, BX_COALESCE, e, 0, 0, 0);
        zero->value = (Value){.type = e->type, .typmod = -1};
        sure->arg_count = 2;
        sure->args = ARENA_ARRAY(p->arena, BExpr *, 2);
        sure->args[0] = column;
        sure->args[1] = zero;
        return sure;
    }
    if (!e->arg_count)
        return move(in, e);
    BExpr *copy = ARENA_NEW(p->arena, BExpr);
    *copy = *e;
    copy->args = ARENA_ARRAY(p->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = (BExpr *)(uintptr_t)target_above(in, e->args[i], first);
    return copy;
}

static bool
aggregates_are_safe(Planner *p, const BSub *sub)
{
    const BQuery *q = sub->query;
    for (u32 i = 0; i < q->agg_count; i++) {
        for (u32 k = 0; k < bagg_part_count(&q->aggs[i]); k++) {
            const BExpr *part = bagg_part(&q->aggs[i], k);
            if (part && (mentions(sub, part) || may_fail(p, part)))
                return false;
        }
    }
    return q->agg_count > 0;
}

/* The subquery's rows without the links, grouped by their inner sides; columns: those, then the aggregates. */
static BQuery *
grouped_query(Planner *p, const BSub *sub, const ConjunctList *links, const ConjunctList *rest)
{
    const BQuery *from = sub->query;
    BQuery *q = ARENA_NEW(p->arena, BQuery);
    *q = *from;
    q->order_count = 0;
    q->where = (BExpr *)(uintptr_t)conjuncts_join(p, rest->items, rest->count);
    q->group_count = links->count;
    q->group_by = ARENA_ARRAY(p->arena, BExpr *, links->count);
    q->grouped = true;
    q->target_count = links->count + from->agg_count;
    q->targets = ARENA_ARRAY(p->arena, BTarget, q->target_count);
    for (u32 i = 0; i < links->count; i++) {
        u32 side;
        ensure(is_link(sub, links->items[i], &side));
        q->group_by[i] = links->items[i]->args[side];
        q->targets[i] = (BTarget){.expr = leaf(p, BX_GROUP, q->group_by[i], 0, 0, i)};
    }
    for (u32 i = 0; i < from->agg_count; i++) {
        BExpr like = {.type = from->aggs[i].type, .typmod = from->aggs[i].typmod};
        q->targets[links->count + i] = (BTarget){.expr = leaf(p, BX_AGG, &like, 0, 0, i)};
    }
    return q;
}

static void
add_grouped(Rewrite *rw, const Inner *m, BQuery *grouped, const ConjunctList *links)
{
    Planner *p = rw->p;
    BRel rel = {.kind = BREL_SUBQUERY, .alias = STR_LIT("subquery"), .query = grouped, .column_count = grouped->target_count};
    rel.columns = ARENA_ARRAY(p->arena, BColumn, rel.column_count);
    for (u32 i = 0; i < rel.column_count; i++)
        rel.columns[i] = (BColumn){.name = i < links->count ? STR_LIT("key") : STR_LIT("value"), .type = grouped->targets[i].expr->type, .typmod = grouped->targets[i].expr->typmod, .used = true};
    ConjunctList on = {0};
    for (u32 i = 0; i < links->count; i++) {
        u32 side;
        ensure(is_link(m->sub, links->items[i], &side));
        BExpr *e = ARENA_NEW(p->arena, BExpr);
        *e = *links->items[i];
        e->args = ARENA_ARRAY(p->arena, BExpr *, 2);
        e->args[side] = leaf(p, BX_COLUMN, grouped->group_by[i], m->base, (u16)i, 0);
        e->args[1 - side] = (BExpr *)(uintptr_t)move(m, links->items[i]->args[1 - side]);
        conjunct_add(p, &on, e);
    }
    BFrom *right = ARENA_NEW(p->arena, BFrom);
    *right = (BFrom){.kind = BFROM_REL, .rel = m->base};
    add_rels(rw, &rel, 1);
    add_join(rw, BJOIN_LEFT, right, &on);
}

/* The value of a scalar aggregate as columns of a join; NULL: it stays a subquery. */
static const BExpr *
join_scalar(Rewrite *rw, const BExpr *node)
{
    Planner *p = rw->p;
    const BSub *sub = p->stmt->subs[node->index];
    for (u32 i = 0; i < rw->done_count; i++)
        if (rw->done[i].sub->index == node->index)
            return rw->done[i].value;
    if (sub->kind != BSUB_SCALAR || rw->done_count == COUNT_OF(rw->done) || !is_plain(sub) || !sub->query->grouped || bexpr_is_volatile(node) ||
        bexpr_is_volatile(sub->query->targets[sub->column].expr) || !aggregates_are_safe(p, sub))
        return NULL;
    ConjunctList all = {0}, links = {0}, rest = {0};
    conjuncts_split(p, &all, sub->query->where);
    for (u32 i = 0; i < all.count; i++) {
        u32 side;
        if (is_link(sub, all.items[i], &side))
            conjunct_add(p, &links, all.items[i]);
        else if (mentions(sub, all.items[i]) || may_fail(p, all.items[i]))
            return NULL;
        else
            conjunct_add(p, &rest, all.items[i]);
    }
    if (!links.count)
        return NULL;
    Inner m = {p, sub, node->args, (u16)rw->q->rel_count};
    BQuery *grouped = grouped_query(p, sub, &links, &rest);
    const BExpr *value = target_above(&m, sub->query->targets[sub->column].expr, (u16)links.count);
    add_grouped(rw, &m, grouped, &links);
    rw->done[rw->done_count].sub = node;
    rw->done[rw->done_count++].value = value;
    return value;
}

static const BExpr *
replace_scalars(Rewrite *rw, const BExpr *e)
{
    if (e->kind == BX_SUBQUERY) {
        const BExpr *value = join_scalar(rw, e);
        if (value)
            return value;
    }
    BExpr *copy = NULL;
    for (u32 i = 0; i < e->arg_count; i++) {
        const BExpr *arg = replace_scalars(rw, e->args[i]);
        if (arg == e->args[i])
            continue;
        if (!copy) {
            copy = ARENA_NEW(rw->p->arena, BExpr);
            *copy = *e;
            copy->args = ARENA_ARRAY(rw->p->arena, BExpr *, e->arg_count);
            memcpy(copy->args, e->args, e->arg_count * sizeof *copy->args);
        }
        copy->args[i] = (BExpr *)(uintptr_t)arg;
    }
    return copy ? copy : e;
}

/* ---- the whole ---- */

static bool
has_subquery(const BExpr *e)
{
    if (e->kind == BX_SUBQUERY)
        return true;
    for (u32 i = 0; i < e->arg_count; i++)
        if (has_subquery(e->args[i]))
            return true;
    return false;
}

/* How many rows the conditions without such subqueries leave. */
static double
outer_rows(Planner *p, const BQuery *q, const ConjunctList *where)
{
    Planner trial = *p;
    FromPlanner f = {.p = &trial, .query = q};
    ColumnSet need = column_set_new(&f);
    ConjunctList plain = {0};
    for (u32 i = 0; i < where->count; i++)
        if (!has_subquery(where->items[i]))
            conjunct_add(p, &plain, where->items[i]);
    return plan_from(&f, &need, &plain)->rows;
}

const BQuery *
plan_decorrelate(Planner *p, const BQuery *q)
{
    ConjunctList where = {0};
    conjuncts_split(p, &where, q->where);
    bool any = false;
    for (u32 i = 0; i < where.count; i++)
        any |= has_subquery(where.items[i]);
    for (u32 i = 0; i < q->target_count && !q->grouped; i++)
        any |= has_subquery(q->targets[i].expr);
    if (!any || !q->from || outer_rows(p, q, &where) < FEW_ROWS)
        return q;
    Rewrite rw = {.p = p, .q = ARENA_NEW(p->arena, BQuery), .room = q->rel_count};
    *rw.q = *q;
    ConjunctList left = {0};
    for (u32 i = 0; i < where.count; i++)
        if (!join_conjunct(&rw, where.items[i]))
            conjunct_add(p, &left, replace_scalars(&rw, where.items[i]));
    rw.q->where = (BExpr *)(uintptr_t)conjuncts_join(p, left.items, left.count);
    if (!q->grouped) {
        rw.q->targets = ARENA_ARRAY(p->arena, BTarget, q->target_count);
        for (u32 i = 0; i < q->target_count; i++) {
            rw.q->targets[i] = q->targets[i];
            rw.q->targets[i].expr = (BExpr *)(uintptr_t)replace_scalars(&rw, q->targets[i].expr);
        }
    }
    return rw.q;
}
