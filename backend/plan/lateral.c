/*
 * lateral.c
 *    LATERAL: a relation of FROM that is run anew for each row of the relations it looks at.
 *
 * Its query is planned like a subquery of an expression with captures; the join hands it the captured values of each left row. Such plans run on one thread.
 */
#include "backend/plan/planner.h"

void
lateral_rels(const BRel *rel, RelSet *s)
{
    for (u32 i = 0; i < rel->lateral_count; i++)
        relset_add_expr(s, rel->lateral[i]);
}

void
lateral_need(const FromPlanner *f, const BRel *rel, ColumnSet *need)
{
    for (u32 i = 0; i < rel->lateral_count; i++)
        column_set_add_expr(f, need, rel->lateral[i]);
}

static PlanNode *
one_row(Planner *p)
{
    PlanNode *n = node_new(p, PN_VALUES, 0);
    n->values.row_count = 1;
    n->rows = 1;
    n->cost = 0.01;
    return n;
}

PlanNode *
plan_lateral(FromPlanner *f, bool left_join, PlanNode *left, u16 rel, const ConjunctList *conds)
{
    Planner *p = f->p;
    const BRel *r = &f->query->rels[rel];
    if (!left)
        left = one_row(p);
    PlanNode *n = node_new(p, PN_LATERAL, left->slot_count + r->column_count);
    memcpy(n->slots, left->slots, left->slot_count * sizeof *n->slots);
    for (u32 c = 0; c < r->column_count; c++)
        n->slots[left->slot_count + c] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = r->columns[c].type, .typmod = r->columns[c].typmod,
                                                    .phys = r->columns[c].type == TYPE_NUMERIC ? PHYS_NUM : phys_of(r->columns[c].type, r->columns[c].typmod),
                                                    .nullable = true};
    n->left = left;
    n->alias = r->alias;
    n->lateral.left = left_join;
    n->lateral.sub = r->sub;
    n->lateral.arg_count = r->lateral_count;
    n->lateral.args = ARENA_ARRAY(p->arena, PlanExpr, r->lateral_count);
    for (u32 i = 0; i < r->lateral_count; i++)
        n->lateral.args[i] = plan_expr(p, r->lateral[i], left);
    p->sub_used[r->sub] = true;
    p->serial = true;
    n->rows = left->rows * 10;
    n->cost = left->cost + left->rows;
    const BExpr *on = left_join ? conjuncts_join(p, conds->items, conds->count) : NULL;
    if (!left_join)
        return plan_filter(p, n, conds);
    if (on)
        n->lateral.residual = plan_compile(p, on, n->slots, n->slot_count);
    n->lateral.conjunct_count = conds->count;
    n->lateral.conjuncts = conds->items;
    return n;
}
