/*
 * disjunct.c
 *    Conditions that stand within OR: what all its arms share is a condition of its own, and what every arm asks of one side of a join can be asked there.
 *
 * (a AND x) OR (a AND y) is a AND (x OR y), whatever of them is NULL; a may be the equality that a hash join needs. And where such an OR spans
 * several relations, a row of r that meets none of its arms' conditions on r alone is in no result: "restriction OR clauses" in PostgreSQL's words. The
 * OR itself stays. Volatile conditions and subqueries are left where they are.
 */
#include "backend/plan/planner.h"

static bool
holds(const ConjunctList *list, const BExpr *e)
{
    for (u32 i = 0; i < list->count; i++)
        if (bexpr_equal(list->items[i], e))
            return true;
    return false;
}

static bool
may_be_moved(const BExpr *e)
{
    if (e->kind == BX_SUBQUERY || e->kind == BX_IN_SET || bexpr_is_volatile(e))
        return false;
    for (u32 i = 0; i < e->arg_count; i++)
        if (!may_be_moved(e->args[i]))
            return false;
    return true;
}

static ConjunctList *
split_arms(Planner *p, const BExpr *e)
{
    ConjunctList *arms = ARENA_ARRAY(p->arena, ConjunctList, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        conjuncts_split(p, &arms[i], e->args[i]);
    return arms;
}

static const BExpr *
or_of(Planner *p, const ConjunctList *arms, u32 count)
{
    BExpr *e = ARENA_NEW(p->arena, BExpr);
    *e = (BExpr){.kind = BX_OR, .type = TYPE_BOOL, .typmod = -1, .arg_count = count, .args = ARENA_ARRAY(p->arena, BExpr *, count)};
    for (u32 i = 0; i < count; i++)
        e->args[i] = (BExpr *)(uintptr_t)conjuncts_join(p, arms[i].items, arms[i].count);
    return e;
}

void
disjuncts_split(Planner *p, ConjunctList *list, const BExpr *e)
{
    ConjunctList *arms = split_arms(p, e), common = {0};
    for (u32 k = 0; k < arms[0].count; k++) {
        const BExpr *c = arms[0].items[k];
        bool everywhere = may_be_moved(c);
        for (u32 i = 1; i < e->arg_count && everywhere; i++)
            everywhere = holds(&arms[i], c);
        if (everywhere && !holds(&common, c))
            conjunct_add(p, &common, c);
    }
    if (!common.count) {
        conjunct_add(p, list, e);
        return;
    }
    bool rest = true; /* every arm asks for more than what is common */
    for (u32 i = 0; i < e->arg_count; i++) {
        u32 kept = 0;
        for (u32 k = 0; k < arms[i].count; k++)
            if (!holds(&common, arms[i].items[k]))
                arms[i].items[kept++] = arms[i].items[k];
        arms[i].count = kept;
        rest = rest && kept;
    }
    for (u32 k = 0; k < common.count; k++)
        conjunct_add(p, list, common.items[k]);
    if (rest)
        conjunct_add(p, list, or_of(p, arms, e->arg_count));
}

const BExpr *
disjuncts_restrict(Planner *p, const BExpr *e, const RelSet *rels)
{
    if (e->kind != BX_OR)
        return NULL;
    ConjunctList *arms = split_arms(p, e);
    for (u32 i = 0; i < e->arg_count; i++) {
        u32 kept = 0;
        for (u32 k = 0; k < arms[i].count; k++) {
            RelSet used = {0};
            relset_add_expr(&used, arms[i].items[k]);
            if (!relset_empty(&used) && relset_within(&used, rels) && may_be_moved(arms[i].items[k]))
                arms[i].items[kept++] = arms[i].items[k];
        }
        if (!kept)
            return NULL;
        arms[i].count = kept;
    }
    return or_of(p, arms, e->arg_count);
}
