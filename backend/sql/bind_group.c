/*
 * bind_group.c
 *    Grouped queries: what stands above the grouping may use grouping expressions and aggregates only.
 *
 * Targets and HAVING are walked from the top; a part that equals a grouping expression becomes BX_GROUP. A column that is left over is an
 * error, unless the primary key of its table is grouped: then it has one value a group, and joins the grouping expressions.
 */
#include "backend/sql/bind.h"

static int
find_group(const PtrList *groups, const BExpr *e)
{
    for (u32 i = 0; i < groups->count; i++)
        if (bexpr_equal(LIST_AT(*groups, BExpr, i), e))
            return (int)i;
    return -1;
}

static BExpr *
group_reference(Binder *b, const BExpr *e, u32 index)
{
    BExpr *g = bind_new(b, BX_GROUP, e->type, e->position);
    g->typmod = e->typmod;
    g->index = index;
    return g;
}

/* Is every column of the relation's primary key grouped? */
static bool
key_is_grouped(const Scope *s, const PtrList *groups, u16 rel)
{
    const TableDef *t = LIST_AT(s->tables, TableDef, rel);
    for (u32 k = 0; t && k < t->key_count; k++) {
        if (!t->keys[k].primary)
            continue;
        u32 found = 0;
        for (u32 i = 0; i < t->keys[k].column_count; i++)
            for (u32 g = 0; g < groups->count; g++) {
                const BExpr *e = LIST_AT(*groups, BExpr, g);
                if (e->kind == BX_COLUMN && e->rel == rel && e->column == t->keys[k].columns[i]) {
                    found++;
                    break;
                }
            }
        return found == t->keys[k].column_count;
    }
    return false;
}

static BExpr *
regroup(Scope *s, PtrList *groups, BExpr *e, bool captured)
{
    bool leaf = e->kind == BX_CONST || e->kind == BX_PARAM || e->kind == BX_AGG || e->kind == BX_GROUP || e->kind == BX_WINDOW;
    int g = leaf ? -1 : find_group(groups, e);
    if (g >= 0)
        return group_reference(s->b, e, (u32)g);
    if (e->kind == BX_COLUMN) {
        const BRel *rel = LIST_AT(s->rels, BRel, e->rel);
        Str column = e->column < BCOL_CTID ? rel->columns[e->column].name : bind_system_column_name(e->column);
        bool grouped = key_is_grouped(s, groups, e->rel);
        if (!grouped && captured)
            err_throw_at(e->position, ERR_GROUPING_ERROR, "subquery uses ungrouped column \"%.*s.%.*s\" from outer query", (int)rel->alias.len,
                         rel->alias.ptr, (int)column.len, column.ptr);
        if (!grouped)
            err_throw_at(e->position, ERR_GROUPING_ERROR,
                         "column \"%.*s.%.*s\" must appear in the GROUP BY clause or be used in an aggregate function",
                         (int)rel->alias.len, rel->alias.ptr, (int)column.len, column.ptr);
        ptrlist_add(s->b->arena, groups, e);
        return group_reference(s->b, e, groups->count - 1);
    }
    u32 own = e->kind == BX_SUBQUERY ? LIST_AT(s->b->subs, BSub, e->index)->test_count : e->arg_count;
    for (u32 i = 0; i < e->arg_count; i++)
        e->args[i] = regroup(s, groups, e->args[i], captured || i >= own);
    return e;
}

static const BExpr *
find_aggregate(const BExpr *e)
{
    if (e->kind == BX_AGG)
        return e;
    for (u32 i = 0; i < e->arg_count; i++) {
        const BExpr *found = find_aggregate(e->args[i]);
        if (found)
            return found;
    }
    return NULL;
}

/* Direct arguments have one value a group. They stay below the grouping, where any row of the group gives it. */
static void
check_direct(Scope *s, const PtrList *groups, const BExpr *e)
{
    if (e->kind != BX_CONST && e->kind != BX_PARAM && find_group(groups, e) >= 0)
        return;
    if (e->kind == BX_COLUMN && !key_is_grouped(s, groups, e->rel)) {
        const BRel *rel = LIST_AT(s->rels, BRel, e->rel);
        Str column = rel->columns[e->column].name;
        Error err;
        error_set(&err, ERR_GROUPING_ERROR, "column \"%.*s.%.*s\" must appear in the GROUP BY clause or be used in an aggregate function",
                  (int)rel->alias.len, rel->alias.ptr, (int)column.len, column.ptr);
        error_detail(&err, "Direct arguments of an ordered-set aggregate must use only grouped columns.");
        err.position = e->position;
        err_rethrow(&err);
    }
    for (u32 i = 0; i < e->arg_count; i++)
        check_direct(s, groups, e->args[i]);
}

void
bind_grouping(Scope *s, PtrList *groups)
{
    BQuery *q = s->query;
    for (u32 i = 0; i < q->agg_count; i++) {
        const BAggRows *r = q->aggs[i].rows;
        for (u32 k = r ? r->column_count - r->direct_count : 0; r && k < r->column_count; k++)
            check_direct(s, groups, r->columns[k]);
    }
    for (u32 i = 0; i < groups->count; i++) {
        const BExpr *agg = find_aggregate(LIST_AT(*groups, BExpr, i));
        if (agg)
            err_throw_at(agg->position, ERR_GROUPING_ERROR, "aggregate functions are not allowed in GROUP BY");
    }
    /* the grouping expressions themselves must stay as they are: a target may share nodes with one (GROUP BY 1) */
    for (u32 i = 0; i < q->target_count; i++)
        q->targets[i].expr = regroup(s, groups, q->targets[i].expr, false);
    for (u32 i = 0; i < q->win_call_count; i++) {
        BWinCall *c = q->win_calls[i];
        for (u32 k = 0; k < c->arg_count; k++)
            c->args[k] = regroup(s, groups, c->args[k], false);
        if (c->filter)
            c->filter = regroup(s, groups, c->filter, false);
    }
    for (u32 i = 0; i < q->window_count; i++) {
        BWindow *w = q->windows[i];
        for (u32 k = 0; k < w->partition_count; k++)
            w->partition[k] = regroup(s, groups, w->partition[k], false);
        for (u32 k = 0; k < w->order_count; k++)
            w->order[k] = regroup(s, groups, w->order[k], false);
    }
    if (q->having)
        q->having = regroup(s, groups, q->having, false);
    q->group_count = groups->count;
    q->group_by = (BExpr **)groups->items;
}
