/*
 * from.c
 *    FROM and WHERE: conditions move down to their relations, inner joins are ordered by estimated size, outer joins stay where they are.
 *
 * Inner joins of a group are planned left-deep: the largest side is the probe side of one pipeline, and the others are joined to it, connected
 * ones first and those that leave the fewest rows, each as the build side. When some side is tiny (a key lookup), it starts instead, so that the others can be looked up.
 */
#include "backend/plan/planner.h"

typedef struct JoinUnit {
    const BFrom *from;
    RelSet rels;
    RelSet looks_at; /* relations outside of it that LATERAL relations in it look at */
    PlanNode *node;
    bool done;
} JoinUnit;

typedef struct JoinGroup {
    u32 count, capacity;
    JoinUnit *units;
    ConjunctList conds;
} JoinGroup;

static const double TINY_ROWS = 64;

static PlanNode *plan_tree(FromPlanner *f, const BFrom *from, const ColumnSet *need, const ConjunctList *conds);

static void
tree_rels(const BFrom *from, RelSet *s)
{
    if (from->kind == BFROM_REL) {
        relset_add(s, from->rel);
        return;
    }
    tree_rels(from->left, s);
    tree_rels(from->right, s);
}

static void
tree_looks_at(const FromPlanner *f, const BFrom *from, RelSet *s)
{
    if (from->kind == BFROM_REL) {
        lateral_rels(&f->query->rels[from->rel], s);
        return;
    }
    tree_looks_at(f, from->left, s);
    tree_looks_at(f, from->right, s);
}

static void
tree_lateral_need(const FromPlanner *f, const BFrom *from, ColumnSet *need)
{
    if (from->kind == BFROM_REL) {
        lateral_need(f, &f->query->rels[from->rel], need);
        return;
    }
    tree_lateral_need(f, from->left, need);
    tree_lateral_need(f, from->right, need);
}

static bool
is_lateral(const FromPlanner *f, const BFrom *from)
{
    return from->kind == BFROM_REL && f->query->rels[from->rel].kind == BREL_LATERAL;
}

/* Outside of itself: only a relation by itself may. */
static void
set_looks_at(const FromPlanner *f, JoinUnit *u)
{
    RelSet all = {0};
    tree_looks_at(f, u->from, &all);
    if (is_lateral(f, u->from)) {
        u->looks_at = all;
        return;
    }
    if (!relset_within(&all, &u->rels))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "a LATERAL reference out of a side of an outer join is not supported yet");
}

static void
flatten(FromPlanner *f, JoinGroup *g, const BFrom *from)
{
    if (from->kind == BFROM_JOIN && (from->join == BJOIN_INNER || from->join == BJOIN_CROSS)) {
        flatten(f, g, from->left);
        flatten(f, g, from->right);
        conjuncts_split(f->p, &g->conds, from->on);
        return;
    }
    if (g->count == g->capacity) {
        u32 capacity = g->capacity ? g->capacity * 2 : 8;
        JoinUnit *units = ARENA_ARRAY(f->p->arena, JoinUnit, capacity);
        if (g->count)
            memcpy(units, g->units, g->count * sizeof *units);
        g->units = units;
        g->capacity = capacity;
    }
    JoinUnit *u = &g->units[g->count++];
    *u = (JoinUnit){.from = from};
    tree_rels(from, &u->rels);
    set_looks_at(f, u);
}

/* Move the conditions that only touch `rels` to `to`. */
static void
take_within(FromPlanner *f, ConjunctList *from, const RelSet *rels, bool allow_empty, ConjunctList *to)
{
    u32 kept = 0;
    for (u32 i = 0; i < from->count; i++) {
        RelSet used = {0};
        relset_add_expr(&used, from->items[i]);
        bool fits = relset_within(&used, rels) && (allow_empty || !relset_empty(&used)) && !bexpr_is_volatile(from->items[i]);
        if (fits)
            conjunct_add(f->p, to, from->items[i]);
        else
            from->items[kept++] = from->items[i];
    }
    from->count = kept;
}

static ConjunctList
copy_list(FromPlanner *f, const ConjunctList *list)
{
    ConjunctList copy = {0};
    for (u32 i = 0; i < list->count; i++)
        conjunct_add(f->p, &copy, list->items[i]);
    return copy;
}

static ColumnSet
need_with(FromPlanner *f, const ColumnSet *need, const ConjunctList *conds)
{
    ColumnSet s = column_set_copy(f, need);
    for (u32 i = 0; i < conds->count; i++)
        column_set_add_expr(f, &s, conds->items[i]);
    return s;
}

/* UINT32_MAX: all are LATERAL. */
static u32
first_unit(const JoinGroup *g)
{
    u32 largest = 0, smallest = 0;
    while (largest < g->count && !g->units[largest].node)
        largest++;
    if (largest == g->count)
        return UINT32_MAX;
    smallest = largest;
    for (u32 i = largest + 1; i < g->count; i++) {
        if (!g->units[i].node)
            continue;
        if (g->units[i].node->rows > g->units[largest].node->rows)
            largest = i;
        if (g->units[i].node->rows < g->units[smallest].node->rows)
            smallest = i;
    }
    return g->units[smallest].node->rows <= TINY_ROWS ? smallest : largest;
}

/* The side that makes the fewest rows of those so far, a connected one before all others; of equals the smaller one. */
static u32
next_unit(FromPlanner *f, const JoinGroup *g, const RelSet *joined, double joined_rows)
{
    u32 best = UINT32_MAX;
    bool best_connected = false;
    double best_rows = 0;
    for (u32 i = 0; i < g->count; i++) {
        JoinUnit *u = &g->units[i];
        if (u->done || !relset_within(&u->looks_at, joined))
            continue;
        if (!u->node) /* the fewer rows it is run for, the better; the others may not be there without it */
            return i;
        bool connected;
        double rows = plan_join_rows(f, &g->conds, joined, &u->rels, joined_rows, u->node->rows, &connected);
        bool better = best == UINT32_MAX || (connected && !best_connected);
        if (!better && connected == best_connected)
            better = rows < best_rows || (rows == best_rows && u->node->rows < g->units[best].node->rows);
        if (better) {
            best = i;
            best_connected = connected;
            best_rows = rows;
        }
    }
    return best;
}

static PlanNode *
plan_inner(FromPlanner *f, const BFrom *from, const ColumnSet *need, const ConjunctList *conds)
{
    JoinGroup g = {0};
    flatten(f, &g, from);
    for (u32 i = 0; i < conds->count; i++)
        conjunct_add(f->p, &g.conds, conds->items[i]);
    ConjunctList *unit_conds = ARENA_ARRAY(f->p->arena, ConjunctList, g.count);
    for (u32 i = 0; i < g.count; i++)
        take_within(f, &g.conds, &g.units[i].rels, false, &unit_conds[i]);
    for (u32 i = 0; i < g.count; i++)
        for (u32 k = 0; k < g.conds.count; k++) {
            const BExpr *restriction = disjuncts_restrict(f->p, g.conds.items[k], &g.units[i].rels);
            if (restriction)
                conjunct_add(f->p, &unit_conds[i], restriction);
        }
    ColumnSet wide = need_with(f, need, &g.conds);
    tree_lateral_need(f, from, &wide);
    for (u32 i = 0; i < g.count; i++)
        if (!is_lateral(f, g.units[i].from))
            g.units[i].node = plan_tree(f, g.units[i].from, &wide, &unit_conds[i]);
    u32 at = first_unit(&g), done = 0;
    PlanNode *n = NULL;
    RelSet joined = {0};
    if (at != UINT32_MAX) {
        n = g.units[at].node;
        joined = g.units[at].rels;
        g.units[at].done = true;
        done = 1;
    }
    for (; done < g.count; done++) {
        u32 next = next_unit(f, &g, &joined, n ? n->rows : 1);
        JoinUnit *u = &g.units[next];
        RelSet both = joined;
        relset_union(&both, &u->rels);
        ConjunctList here = {0};
        take_within(f, &g.conds, &both, false, &here);
        ColumnSet above = need_with(f, need, &g.conds);
        tree_lateral_need(f, from, &above);
        if (u->node)
            n = plan_join(f, BJOIN_INNER, n, &joined, u->node, &u->rels, &here, &above);
        else {
            for (u32 i = 0; i < unit_conds[next].count; i++)
                conjunct_add(f->p, &here, unit_conds[next].items[i]);
            n = plan_lateral(f, false, n, u->from->rel, &here);
        }
        joined = both;
        u->done = true;
    }
    return plan_filter(f->p, n, &g.conds);
}

static PlanNode *
plan_left(FromPlanner *f, const BFrom *left, const BFrom *right, const BExpr *on, const ColumnSet *need, const ConjunctList *conds)
{
    RelSet left_rels = {0}, right_rels = {0};
    tree_rels(left, &left_rels);
    tree_rels(right, &right_rels);
    ConjunctList above = copy_list(f, conds), below_left = {0}, below_right = {0}, on_conds = {0};
    conjuncts_split(f->p, &on_conds, on);
    take_within(f, &above, &left_rels, false, &below_left);
    take_within(f, &on_conds, &right_rels, true, &below_right);
    ColumnSet join_need = need_with(f, need, &above);
    ColumnSet side_need = need_with(f, &join_need, &on_conds);
    tree_lateral_need(f, right, &side_need);
    PlanNode *l = plan_tree(f, left, &side_need, &below_left);
    if (is_lateral(f, right)) {
        for (u32 i = 0; i < below_right.count; i++)
            conjunct_add(f->p, &on_conds, below_right.items[i]);
        return plan_filter(f->p, plan_lateral(f, true, l, right->rel, &on_conds), &above);
    }
    JoinUnit side = {.from = right, .rels = right_rels};
    set_looks_at(f, &side);
    PlanNode *r = plan_tree(f, right, &side_need, &below_right);
    PlanNode *n = plan_join(f, BJOIN_LEFT, l, &left_rels, r, &right_rels, &on_conds, &join_need);
    return plan_filter(f->p, n, &above);
}

/* Left rows with a partner, or without one: nothing above looks at the right side. */
static PlanNode *
plan_semi(FromPlanner *f, const BFrom *from, const ColumnSet *need, const ConjunctList *conds)
{
    RelSet left_rels = {0}, right_rels = {0};
    tree_rels(from->left, &left_rels);
    tree_rels(from->right, &right_rels);
    ConjunctList on = {0}, below_left = copy_list(f, conds), below_right = {0};
    conjuncts_split(f->p, &on, from->on);
    take_within(f, &on, &right_rels, true, &below_right);
    if (from->join == BJOIN_SEMI)
        take_within(f, &on, &left_rels, false, &below_left);
    ColumnSet side_need = need_with(f, need, &on);
    PlanNode *l = plan_tree(f, from->left, &side_need, &below_left), *r = plan_tree(f, from->right, &side_need, &below_right);
    return plan_join(f, from->join, l, &left_rels, r, &right_rels, &on, need);
}

/* Every row of both sides comes, so no condition moves below; the smaller side is kept. */
static PlanNode *
plan_full(FromPlanner *f, const BFrom *from, const ColumnSet *need, const ConjunctList *conds)
{
    RelSet left_rels = {0}, right_rels = {0};
    tree_rels(from->left, &left_rels);
    tree_rels(from->right, &right_rels);
    ConjunctList on = {0}, none = {0};
    conjuncts_split(f->p, &on, from->on);
    ColumnSet join_need = need_with(f, need, conds);
    ColumnSet side_need = need_with(f, &join_need, &on);
    PlanNode *l = plan_tree(f, from->left, &side_need, &none), *r = plan_tree(f, from->right, &side_need, &none);
    PlanNode *n = l->rows < r->rows ? plan_join(f, BJOIN_FULL, r, &right_rels, l, &left_rels, &on, &join_need)
                                    : plan_join(f, BJOIN_FULL, l, &left_rels, r, &right_rels, &on, &join_need);
    return plan_filter(f->p, n, conds);
}

static PlanNode *
plan_tree(FromPlanner *f, const BFrom *from, const ColumnSet *need, const ConjunctList *conds)
{
    if (is_lateral(f, from))
        return plan_lateral(f, false, NULL, from->rel, conds);
    if (from->kind == BFROM_REL)
        return plan_relation(f, from->rel, need, conds);
    switch (from->join) {
    case BJOIN_INNER:
    case BJOIN_CROSS:
        return plan_inner(f, from, need, conds);
    case BJOIN_LEFT:
        return plan_left(f, from->left, from->right, from->on, need, conds);
    case BJOIN_RIGHT:
        return plan_left(f, from->right, from->left, from->on, need, conds);
    case BJOIN_SEMI:
    case BJOIN_ANTI:
        return plan_semi(f, from, need, conds);
    case BJOIN_FULL:
        return plan_full(f, from, need, conds);
    case BJOIN_RIGHT_SEMI: /* plan_join's alone */
    case BJOIN_RIGHT_ANTI:
        break;
    }
    err_throw(ERR_INTERNAL_ERROR, "unknown join %d", (int)from->join);
}

PlanNode *
plan_from(FromPlanner *f, const ColumnSet *need, ConjunctList *where)
{
    const BFrom *from = f->query->from;
    if (!from) {
        PlanNode *n = node_new(f->p, PN_VALUES, 0);
        n->values.row_count = 1;
        n->rows = 1;
        n->cost = 0.01;
        return plan_filter(f->p, n, where);
    }
    ConjunctList late = {0}, early = {0};
    for (u32 i = 0; i < where->count; i++) {
        RelSet used = {0};
        relset_add_expr(&used, where->items[i]);
        bool stays = relset_empty(&used) || bexpr_is_volatile(where->items[i]);
        conjunct_add(f->p, stays ? &late : &early, where->items[i]);
    }
    ColumnSet wide = need_with(f, need, &late);
    return plan_filter(f->p, plan_tree(f, from, &wide, &early), &late);
}
