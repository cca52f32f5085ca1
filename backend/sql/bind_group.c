/*
 * bind_group.c
 *    Grouped queries: grouping sets; what stands above the grouping may use grouping expressions and aggregates only.
 *
 * Targets and HAVING are walked from the top; a part that equals a grouping expression becomes BX_GROUP. A column that is left over is an
 * error, unless the primary key of its table is grouped: then it has one value a group, and joins the grouping expressions.
 */
#include "backend/sql/bind.h"

enum { CUBE_MAX_ITEMS = 12, SETS_MAX = 4096, GROUPING_MAX_ARGS = 31 };

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

/* In every grouping set? */
static bool
in_all_sets(const BQuery *q, u32 group)
{
    for (u32 i = 0; i < q->set_count; i++) {
        bool found = false;
        for (u32 k = 0; k < q->sets[i].count; k++)
            found |= q->sets[i].groups[k] == group;
        if (!found)
            return false;
    }
    return true;
}

static void
add_to_list(Arena *a, BGroupList *l, u32 group)
{
    for (u32 i = 0; i < l->count; i++)
        if (l->groups[i] == group)
            return;
    u32 *groups = ARENA_ARRAY(a, u32, l->count + 1);
    if (l->count)
        memcpy(groups, l->groups, l->count * sizeof *groups);
    groups[l->count++] = group;
    l->groups = groups;
}

/* A column that has one value a group. */
static u32
add_dependent(Scope *s, PtrList *groups, BExpr *e)
{
    ptrlist_add(s->b->arena, groups, e);
    for (u32 i = 0; i < s->query->set_count; i++)
        add_to_list(s->b->arena, &s->query->sets[i], groups->count - 1);
    return groups->count - 1;
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
                if (e->kind == BX_COLUMN && e->rel == rel && e->column == t->keys[k].columns[i] && in_all_sets(s->query, g)) {
                    found++;
                    break;
                }
            }
        return found == t->keys[k].column_count;
    }
    return false;
}

/* GROUPING() as a value beside the groups'. */
static BExpr *
regroup_grouping(Scope *s, const PtrList *groups, BExpr *e)
{
    BQuery *q = s->query;
    BGroupList list = {e->arg_count, ARENA_ARRAY(s->b->arena, u32, e->arg_count)};
    for (u32 i = 0; i < e->arg_count; i++) {
        int g = find_group(groups, e->args[i]);
        if (g < 0)
            err_throw_at(e->args[i]->position, ERR_GROUPING_ERROR, "arguments to GROUPING must be grouping expressions of the associated query level");
        list.groups[i] = (u32)g;
    }
    BGroupList *all = ARENA_ARRAY(s->b->arena, BGroupList, q->grouping_count + 1);
    if (q->grouping_count)
        memcpy(all, q->groupings, q->grouping_count * sizeof *all);
    all[q->grouping_count] = list;
    q->groupings = all;
    BExpr *r = bind_new(s->b, BX_GROUP, TYPE_INT4, e->position);
    r->index = GROUPING_INDEX + q->grouping_count++;
    return r;
}

static BExpr *
regroup(Scope *s, PtrList *groups, BExpr *e, bool captured)
{
    if (e->kind == BX_GROUP && e->arg_count)
        return regroup_grouping(s, groups, e);
    /* a constant is grouped where it stands only, which shows in grouping sets */
    for (u32 i = 0; e->kind == BX_CONST && s->query->set_count && i < groups->count; i++)
        if (groups->items[i] == e)
            return group_reference(s->b, e, i);
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
        return group_reference(s->b, e, add_dependent(s, groups, e));
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

/* ---- GROUP BY ---- */

BExpr *
bind_grouping_call(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    if (e->arg_count > GROUPING_MAX_ARGS)
        bind_fail(b, e->at, ERR_TOO_MANY_ARGUMENTS, "GROUPING must have fewer than %d arguments", GROUPING_MAX_ARGS + 1);
    BExpr *r = bind_new(b, BX_GROUP, TYPE_INT4, bind_position(b, e->at));
    r->index = GROUPING_INDEX;
    r->arg_count = e->arg_count;
    r->args = ARENA_ARRAY(b->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        r->args[i] = bind_expr(s, e->args[i]);
    if (s->in_aggregate)
        bind_fail(b, e->at, ERR_GROUPING_ERROR, "aggregate function calls cannot be nested");
    if (bind_place_name(s->place))
        bind_fail(b, e->at, ERR_GROUPING_ERROR, "grouping operations are not allowed in %s", bind_place_name(s->place));
    s->has_grouping = true;
    return r;
}

/* Several grouping sets; BGroupList each. */
typedef PtrList SetList;

static BGroupList *
joined(Arena *a, const BGroupList *x, const BGroupList *y)
{
    BGroupList *r = ARENA_NEW(a, BGroupList);
    for (u32 i = 0; i < x->count; i++)
        add_to_list(a, r, x->groups[i]);
    for (u32 i = 0; y && i < y->count; i++)
        add_to_list(a, r, y->groups[i]);
    return r;
}

static NORETURN void
too_many_sets(void)
{
    err_throw(ERR_STATEMENT_TOO_COMPLEX, "too many grouping sets present (maximum %d)", SETS_MAX);
}

static void
add_set(const GroupBinder *g, SetList *to, BGroupList *set)
{
    if (to->count == SETS_MAX)
        too_many_sets();
    ptrlist_add(g->s->b->arena, to, set);
}

/* The expressions of an item as one set. */
static BGroupList *
expr_set(const GroupBinder *g, const AGroup *item)
{
    Arena *a = g->s->b->arena;
    BGroupList *set = ARENA_NEW(a, BGroupList);
    for (u32 i = 0; i < item->exprs.count; i++) {
        BExpr *e = g->find(g, LIST_AT(item->exprs, AExpr, i));
        int group = find_group(g->groups, e);
        if (group < 0) {
            group = (int)g->groups->count;
            ptrlist_add(a, g->groups, e);
        }
        add_to_list(a, set, (u32)group);
    }
    return set;
}

static void
add_rollup(const GroupBinder *g, SetList *to, SetList *parts)
{
    for (u32 n = parts->count + 1; n-- > 0;) {
        BGroupList *set = ARENA_NEW(g->s->b->arena, BGroupList);
        for (u32 i = 0; i < n; i++)
            set = joined(g->s->b->arena, set, LIST_AT(*parts, BGroupList, i));
        add_set(g, to, set);
    }
}

static void
add_cube(const GroupBinder *g, SetList *to, SetList *parts)
{
    for (u32 out = 0; out < 1u << parts->count; out++) {
        BGroupList *set = ARENA_NEW(g->s->b->arena, BGroupList);
        for (u32 i = 0; i < parts->count; i++)
            if (!(out >> i & 1))
                set = joined(g->s->b->arena, set, LIST_AT(*parts, BGroupList, i));
        add_set(g, to, set);
    }
}

static void
add_item_sets(const GroupBinder *g, const AGroup *item, SetList *to)
{
    SetList parts = {0};
    if (item->kind == AG_EXPR) {
        add_set(g, to, expr_set(g, item));
        return;
    }
    if (item->kind == AG_CUBE && item->items.count > CUBE_MAX_ITEMS)
        bind_fail(g->s->b, item->at, ERR_TOO_MANY_COLUMNS, "CUBE is limited to %d elements", CUBE_MAX_ITEMS);
    for (u32 i = 0; i < item->items.count; i++)
        add_item_sets(g, LIST_AT(item->items, AGroup, i), item->kind == AG_SETS ? to : &parts);
    if (item->kind == AG_ROLLUP)
        add_rollup(g, to, &parts);
    else if (item->kind == AG_CUBE)
        add_cube(g, to, &parts);
}

static bool
same_set(const BGroupList *x, const BGroupList *y)
{
    for (u32 i = 0; i < x->count; i++) {
        bool found = false;
        for (u32 k = 0; k < y->count; k++)
            found |= x->groups[i] == y->groups[k];
        if (!found)
            return false;
    }
    return x->count == y->count;
}

/* Items side by side: every set of the one with every set of the other. */
static SetList
cross_sets(const GroupBinder *g, const SetList *x, const SetList *y)
{
    SetList r = {0};
    for (u32 i = 0; i < x->count; i++)
        for (u32 k = 0; k < y->count; k++)
            add_set(g, &r, joined(g->s->b->arena, LIST_AT(*x, BGroupList, i), LIST_AT(*y, BGroupList, k)));
    return r;
}

void
bind_group_items(const GroupBinder *g, const ASelect *sel)
{
    BQuery *q = g->s->query;
    Arena *a = g->s->b->arena;
    SetList all = {0};
    add_set(g, &all, ARENA_NEW(a, BGroupList));
    for (u32 i = 0; i < sel->group_by.count; i++) {
        SetList sets = {0};
        add_item_sets(g, LIST_AT(sel->group_by, AGroup, i), &sets);
        all = cross_sets(g, &all, &sets);
    }
    if (all.count == 1)
        return;
    q->sets = ARENA_ARRAY(a, BGroupList, all.count);
    for (u32 i = 0; i < all.count; i++) {
        const BGroupList *set = LIST_AT(all, BGroupList, i);
        bool again = false;
        for (u32 k = 0; sel->group_distinct && k < q->set_count && !again; k++)
            again = same_set(&q->sets[k], set);
        if (!again)
            q->sets[q->set_count++] = *set;
    }
}
