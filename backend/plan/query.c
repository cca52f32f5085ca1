/*
 * query.c
 *    A whole query above its FROM: grouping, HAVING, projection, DISTINCT, ORDER BY, LIMIT.
 *
 * ORDER BY … LIMIT over one scanned table sorts the key columns with row ids only and fetches the other columns for the rows that are left
 * (late materialisation). count(DISTINCT x) alone is a count over a distinct aggregation, so that it runs in parallel like any grouping.
 */
#include "backend/plan/planner.h"

enum { LATE_FETCH_MAX_ROWS = 100000 };

PlanNode *
node_new(Planner *p, PlanNodeKind kind, u32 slot_count)
{
    PlanNode *n = ARENA_NEW(p->arena, PlanNode);
    n->kind = kind;
    n->id = p->node_count++;
    n->query = p->query;
    n->slot_count = slot_count;
    n->slots = ARENA_ARRAY(p->arena, PlanSlot, slot_count);
    return n;
}

/* ---- expressions over a node's slots ---- */

typedef struct SlotMap {
    ExprMap map;
    const PlanSlot *slots;
    u32 count;
} SlotMap;

static i32
find_slot(const PlanSlot *slots, u32 count, const BExpr *leaf)
{
    for (u32 i = 0; i < count; i++) {
        const PlanSlot *s = &slots[i];
        if ((leaf->kind == BX_COLUMN && s->leaf == LEAF_COLUMN && s->rel == leaf->rel && s->column == leaf->column) ||
            (leaf->kind == BX_AGG && s->leaf == LEAF_AGG && s->index == leaf->index) ||
            (leaf->kind == BX_GROUP && s->leaf == LEAF_GROUP && s->index == leaf->index) ||
            (leaf->kind == BX_WINDOW && s->leaf == LEAF_WINDOW && s->index == leaf->index))
            return (i32)i;
    }
    return -1;
}

static u32
map_leaf(const ExprMap *m, const BExpr *leaf, ExprInput *ret)
{
    const SlotMap *s = m->ctx;
    i32 i = find_slot(s->slots, s->count, leaf);
    if (i < 0)
        err_throw(ERR_INTERNAL_ERROR, "a column is missing in the plan (kind %d, relation %u, column %u)", (int)leaf->kind, leaf->rel,
                  leaf->column);
    *ret = (ExprInput){s->slots[i].phys, s->slots[i].scale, s->slots[i].nullable};
    return (u32)i;
}

static bool
note_captures(Planner *p, const BExpr *e)
{
    bool found = e->kind == BX_SUBQUERY;
    if (found)
        p->sub_used[e->index] = true;
    for (u32 i = 0; i < e->arg_count; i++)
        found |= note_captures(p, e->args[i]);
    return found;
}

void
plan_note_calls(Planner *p, const BExpr *e)
{
    bool captures = note_captures(p, e);
    p->serial = p->serial || captures || bexpr_volatility(e) == FUNC_SERIAL;
}

ExprProg *
plan_compile(Planner *p, const BExpr *e, const PlanSlot *slots, u32 slot_count)
{
    SlotMap m = {{map_leaf, NULL}, slots, slot_count};
    m.map.ctx = &m;
    plan_note_calls(p, e);
    return expr_compile(p->arena, e, &m.map);
}

PlanExpr
plan_expr(Planner *p, const BExpr *e, const PlanNode *input)
{
    PlanExpr x = {.column = -1, .expr = e};
    if (e->kind == BX_COLUMN || e->kind == BX_AGG || e->kind == BX_GROUP || e->kind == BX_WINDOW)
        x.column = find_slot(input->slots, input->slot_count, e);
    if (x.column < 0)
        x.prog = plan_compile(p, e, input->slots, input->slot_count);
    return x;
}

PlanSlot
plan_expr_slot(const PlanExpr *x, const BExpr *e, const PlanNode *input)
{
    PlanSlot s;
    if (x->column >= 0) {
        s = input->slots[x->column];
        s.leaf = LEAF_NONE;
        s.type = e->type;
        s.typmod = e->typmod;
        return s;
    }
    return (PlanSlot){.leaf = LEAF_NONE, .type = e->type, .typmod = e->typmod, .phys = expr_phys(x->prog), .scale = expr_scale(x->prog),
                      .nullable = true, .stable = e->kind == BX_CONST || e->kind == BX_PARAM};
}

PlanNode *
plan_filter(Planner *p, PlanNode *input, const ConjunctList *conjuncts)
{
    const BExpr *e = conjuncts_join(p, conjuncts->items, conjuncts->count);
    if (!e)
        return input;
    PlanNode *n = node_new(p, PN_FILTER, 0);
    n->left = input;
    n->slots = input->slots;
    n->slot_count = input->slot_count;
    n->filter = (PlanExpr){.column = -1, .prog = plan_compile(p, e, input->slots, input->slot_count), .expr = e,
                           .serial = bexpr_volatility(e) == FUNC_SERIAL};
    n->rows = MAX(1, input->rows * 0.3333);
    n->cost = input->cost + input->rows * 0.002;
    return n;
}

static PlanNode *
plan_project(Planner *p, PlanNode *input, const BExpr *const *exprs, u32 count)
{
    PlanNode *n = node_new(p, PN_PROJECT, count);
    n->left = input;
    n->project = ARENA_ARRAY(p->arena, PlanExpr, count);
    bool same = count == input->slot_count;
    for (u32 i = 0; i < count; i++) {
        n->project[i] = plan_expr(p, exprs[i], input);
        n->slots[i] = plan_expr_slot(&n->project[i], exprs[i], input);
        same = same && n->project[i].column == (i32)i;
    }
    n->rows = input->rows;
    n->cost = input->cost + input->rows * 0.001;
    if (same) {
        p->node_count--;
        return input;
    }
    return n;
}

static PlanNode *
keep_first(Planner *p, PlanNode *input, u32 count)
{
    if (count == input->slot_count)
        return input;
    PlanNode *n = node_new(p, PN_PROJECT, count);
    n->left = input;
    n->project = ARENA_ARRAY(p->arena, PlanExpr, count);
    for (u32 i = 0; i < count; i++) {
        n->project[i] = (PlanExpr){.column = (i32)i};
        n->slots[i] = input->slots[i];
    }
    n->rows = input->rows;
    n->cost = input->cost;
    return n;
}

/* ---- grouping ---- */

void
plan_need_equality(TypeId type, i32 typmod, u32 position)
{
    if (type == TYPE_JSON)
        err_throw_at(position, ERR_UNDEFINED_FUNCTION, "could not identify an equality operator for type json");
    if (!type_bytes_tell(type))
        err_throw_at(position, ERR_FEATURE_NOT_SUPPORTED, "grouping by values of type %s is not supported yet", type_name(type));
    if (type == TYPE_BPCHAR && typmod < 0) { /* equal ones may have different numbers of blanks */
        Error err;
        error_set(&err, ERR_FEATURE_NOT_SUPPORTED, "grouping by values of type character without a length is not supported yet");
        error_hint(&err, "Cast them to text or to character(n).");
        err.position = position;
        err_rethrow(&err);
    }
}

static void
set_group(Planner *p, PlanNode *n, u32 i, const BExpr *e, PlanNode *input)
{
    plan_need_equality(e->type, e->typmod, e->position);
    n->agg.groups[i] = plan_expr(p, e, input);
    n->slots[i] = plan_expr_slot(&n->agg.groups[i], e, input);
    n->slots[i].leaf = LEAF_GROUP;
    n->slots[i].index = i;
    n->slots[i].stable = true;
}

static bool
agg_is(const BAgg *a, const char *name)
{
    return strcmp(agg_def(a->agg)->name, name) == 0;
}

/* Sorting compares bytes. */
static void
need_order(TypeId type)
{
    if (!type_bytes_tell(type))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "ordering by values of type %s is not supported yet", type_name(type));
}

static void
add_fold_column(Planner *p, PlanFold *f, const BExpr *e, const PlanNode *input)
{
    f->columns[f->column_count] = plan_expr(p, e, input);
    f->slots[f->column_count] = plan_expr_slot(&f->columns[f->column_count], e, input);
    f->column_count++;
}

static PlanFold *
plan_fold(Planner *p, const BAgg *a, const PlanNode *input)
{
    const BAggRows *r = a->rows;
    PlanFold *f = ARENA_NEW(p->arena, PlanFold);
    *f = (PlanFold){.arg_count = r->arg_count, .key_count = r->key_count, .distinct = a->distinct, .type = a->type, .typmod = a->typmod,
                    .direct_count = r->direct_count};
    f->columns = ARENA_ARRAY(p->arena, PlanExpr, r->column_count);
    f->slots = ARENA_ARRAY(p->arena, PlanSlot, r->column_count);
    f->keys = ARENA_ARRAY(p->arena, PlanSortKey, r->key_count);
    f->direct = ARENA_ARRAY(p->arena, const BExpr *, r->direct_count);
    f->direct_columns = ARENA_ARRAY(p->arena, i32, r->direct_count);
    u32 first_direct = r->column_count - r->direct_count;
    for (u32 i = 0; i < first_direct; i++)
        add_fold_column(p, f, r->columns[i], input);
    for (u32 i = 0; i < r->direct_count; i++) {
        f->direct[i] = r->columns[first_direct + i];
        f->direct_columns[i] = expr_is_fixed(f->direct[i]) ? -1 : (i32)f->column_count;
        if (f->direct_columns[i] >= 0)
            add_fold_column(p, f, f->direct[i], input);
    }
    for (u32 i = 0; i < r->key_count; i++) {
        const BExpr *e = r->columns[r->keys[i].target];
        if (a->distinct)
            plan_need_equality(e->type, e->typmod, e->position);
        need_order(e->type);
        f->keys[i] = (PlanSortKey){(u16)r->keys[i].target, r->keys[i].descending, r->keys[i].nulls_first};
    }
    return f;
}

static void
set_call(Planner *p, PlanNode *n, u32 slot, PlanAggCall *c, const BAgg *a, const PlanNode *input)
{
    *c = (PlanAggCall){.agg = a->agg, .has_arg = a->arg != NULL, .bound = a, .arg = {.column = -1}};
    c->distinct = a->distinct && a->arg && !agg_is(a, "any_value") && !agg_is(a, "min") && !agg_is(a, "max");
    if (c->distinct)
        plan_need_equality(a->arg->type, a->arg->typmod, a->arg->position);
    if (a->arg) {
        c->arg = plan_expr(p, a->arg, input);
        PlanSlot s = plan_expr_slot(&c->arg, a->arg, input);
        c->arg_type = s.type;
        c->arg_phys = s.phys;
        c->arg_scale = s.scale;
        c->arg_stable = s.stable;
    }
    if (a->filter)
        c->filter = plan_compile(p, a->filter, input->slots, input->slot_count);
    if (a->rows) {
        c->fold = plan_fold(p, a, input);
        c->arg_phys = c->fold->slots[0].phys;
        c->arg_scale = c->fold->slots[0].scale;
    }
    if (agg_folds(agg_def(a->agg)->op))
        c->kernel = agg_holder(phys_of(a->type, a->typmod), 0);
    else if (!agg_kernel(a->agg, c->arg_phys, c->arg_scale, &c->kernel))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "aggregate %s is not supported for this type yet", agg_def(a->agg)->name);
    n->slots[slot] = (PlanSlot){.leaf = LEAF_AGG, .index = slot - n->agg.group_count, .type = a->type, .typmod = a->typmod,
                                .phys = c->kernel.ret_phys, .scale = c->kernel.ret_scale, .nullable = true, .stable = true};
}

/* All aggregates are DISTINCT over the same column, without FILTER. */
static bool
one_distinct_argument(const BQuery *q)
{
    for (u32 i = 0; i < q->agg_count; i++) {
        const BAgg *a = &q->aggs[i];
        if (!a->distinct || !a->arg || a->filter)
            return false;
        const BExpr *first = q->aggs[0].arg;
        bool same = a->arg->kind == BX_COLUMN && first->kind == BX_COLUMN && a->arg->rel == first->rel && a->arg->column == first->column;
        if (i && !same)
            return false;
    }
    return q->agg_count > 0;
}

static double
group_estimate(const PlanNode *input, u32 group_count)
{
    if (!group_count)
        return 1;
    return MAX(1, MIN(input->rows / 10, 200.0 * group_count * group_count));
}

static PlanNode *
new_agg(Planner *p, PlanNode *input, u32 group_count, u32 call_count, u32 grouping_count)
{
    PlanNode *n = node_new(p, PN_AGG, group_count + call_count + grouping_count);
    n->left = input;
    n->agg.group_count = group_count;
    n->agg.call_count = call_count;
    n->agg.groups = ARENA_ARRAY(p->arena, PlanExpr, group_count);
    n->agg.calls = ARENA_ARRAY(p->arena, PlanAggCall, call_count);
    n->rows = group_estimate(input, group_count);
    n->cost = input->cost + input->rows * 0.005 * (1 + group_count + call_count);
    return n;
}

static void
set_grouping_slots(PlanNode *n)
{
    for (u32 i = 0; i < n->agg.grouping_count; i++)
        n->slots[n->agg.group_count + n->agg.call_count + i] =
            (PlanSlot){.leaf = LEAF_GROUP, .index = GROUPING_INDEX + i, .type = TYPE_INT4, .typmod = -1, .phys = PHYS_I32, .stable = true};
}

static void
set_one_group_set(Planner *p, const BQuery *q, const BGroupList *set, PlanGroupSet *to)
{
    to->key_count = set->count;
    to->keys = ARENA_ARRAY(p->arena, u16, set->count);
    to->places = ARENA_ARRAY(p->arena, i32, q->group_count);
    to->grouping = ARENA_ARRAY(p->arena, i32, q->grouping_count);
    for (u32 i = 0; i < q->group_count; i++)
        to->places[i] = -1;
    for (u32 i = 0; i < set->count; i++) {
        to->keys[i] = (u16)set->groups[i];
        to->places[set->groups[i]] = (i32)i;
    }
    for (u32 i = 0; i < q->grouping_count; i++)
        for (u32 k = 0; k < q->groupings[i].count; k++)
            to->grouping[i] = to->grouping[i] * 2 + (to->places[q->groupings[i].groups[k]] < 0);
}

/* Grouping sets, and GROUPING() without them: one set of all groups. */
static void
set_group_sets(Planner *p, const BQuery *q, PlanNode *n)
{
    BGroupList all = {q->group_count, ARENA_ARRAY(p->arena, u32, q->group_count)};
    for (u32 i = 0; i < q->group_count; i++)
        all.groups[i] = i;
    n->agg.set_count = q->set_count ? q->set_count : q->grouping_count ? 1 : 0;
    n->agg.sets = ARENA_ARRAY(p->arena, PlanGroupSet, n->agg.set_count);
    for (u32 i = 0; i < n->agg.set_count; i++)
        set_one_group_set(p, q, q->set_count ? &q->sets[i] : &all, &n->agg.sets[i]);
    n->agg.grouping_count = q->grouping_count;
    set_grouping_slots(n);
    for (u32 i = 0; i < q->group_count && q->set_count; i++)
        n->slots[i].nullable = true;
    n->rows *= MAX(1u, n->agg.set_count);
}

static PlanNode *
plan_distinct_agg(Planner *p, const BQuery *q, PlanNode *input)
{
    u32 g = q->group_count;
    PlanNode *inner = new_agg(p, input, g + 1, 0, 0);
    for (u32 i = 0; i < g; i++)
        set_group(p, inner, i, q->group_by[i], input);
    set_group(p, inner, g, q->aggs[0].arg, input);
    PlanNode *n = new_agg(p, inner, g, q->agg_count, 0);
    for (u32 i = 0; i < g; i++) {
        n->agg.groups[i] = (PlanExpr){.column = (i32)i, .expr = q->group_by[i]};
        n->slots[i] = inner->slots[i];
    }
    for (u32 i = 0; i < q->agg_count; i++) {
        BExpr *leaf = ARENA_NEW(p->arena, BExpr);
        *leaf = (BExpr){.kind = BX_GROUP, .type = q->aggs[i].arg->type, .typmod = q->aggs[i].arg->typmod, .index = g};
        BAgg *a = ARENA_NEW(p->arena, BAgg);
        *a = q->aggs[i];
        a->arg = leaf;
        a->distinct = false;
        set_call(p, n, g + i, &n->agg.calls[i], a, inner);
        n->agg.calls[i].bound = &q->aggs[i];
    }
    return n;
}

static PlanNode *
plan_group(Planner *p, const BQuery *q, PlanNode *input)
{
    PlanNode *n;
    if (one_distinct_argument(q) && !q->set_count && !q->grouping_count)
        n = plan_distinct_agg(p, q, input);
    else {
        n = new_agg(p, input, q->group_count, q->agg_count, q->grouping_count);
        for (u32 i = 0; i < q->group_count; i++)
            set_group(p, n, i, q->group_by[i], input);
        for (u32 i = 0; i < q->agg_count; i++)
            set_call(p, n, q->group_count + i, &n->agg.calls[i], &q->aggs[i], input);
        set_group_sets(p, q, n);
    }
    ConjunctList having = {0};
    conjuncts_split(p, &having, q->having);
    return plan_filter(p, n, &having);
}

static PlanNode *
plan_distinct(Planner *p, PlanNode *input)
{
    PlanNode *n = new_agg(p, input, input->slot_count, 0, 0);
    for (u32 i = 0; i < input->slot_count; i++) {
        plan_need_equality(input->slots[i].type, input->slots[i].typmod, 0);
        n->agg.groups[i] = (PlanExpr){.column = (i32)i};
        n->slots[i] = input->slots[i];
        n->slots[i].stable = true;
    }
    return n;
}

/* ---- order and limit ---- */

/* A node that passes its input's columns on. */
static PlanNode *
node_over(Planner *p, PlanNodeKind kind, PlanNode *input)
{
    PlanNode *n = node_new(p, kind, 0);
    n->left = input;
    n->slots = input->slots;
    n->slot_count = input->slot_count;
    return n;
}

static void
set_sort_keys(Planner *p, const BQuery *q, PlanNode *n, const u16 *columns)
{
    n->sort.key_count = q->order_count;
    n->sort.keys = ARENA_ARRAY(p->arena, PlanSortKey, q->order_count);
    for (u32 i = 0; i < q->order_count; i++)
        need_order(n->left->slots[columns ? columns[i] : q->order_by[i].target].type);
    for (u32 i = 0; i < q->order_count; i++)
        n->sort.keys[i] = (PlanSortKey){columns ? columns[i] : (u16)q->order_by[i].target, q->order_by[i].descending, q->order_by[i].nulls_first};
    n->rows = n->left->rows;
    n->cost = n->left->cost + n->left->rows * 0.01;
}

static void
set_limit(const BQuery *q, PlanNode *n)
{
    n->sort.limit = q->limit;
    n->sort.offset = q->offset;
    n->sort.with_ties = q->with_ties;
    n->rows = n->left->rows;
    if (q->limit && q->limit->kind == BX_CONST && !q->limit->value.is_null)
        n->rows = MAX(0, MIN(n->rows, (double)q->limit->value.i64v));
    n->cost = MAX(n->cost, n->left->cost);
}

/* Locks stand behind ORDER BY and before LIMIT: lock_columns of the input have the row ids, in the order of q->locks. */
static PlanNode *
plan_lock(Planner *p, const BQuery *q, PlanNode *input, const u16 *lock_columns)
{
    PlanNode *n = node_over(p, PN_LOCK, input);
    n->lock.count = q->lock_count;
    n->lock.locks = ARENA_ARRAY(p->arena, PlanRowLock, q->lock_count);
    for (u32 i = 0; i < q->lock_count; i++) {
        const BRowLock *l = &q->locks[i];
        n->lock.locks[i] = (PlanRowLock){lock_columns[i], (RowLockMode)l->mode, (LockWait)l->wait, l->table_id, l->schema_version};
    }
    n->lock.bound = (PlanSort){.limit = q->limit, .offset = q->offset};
    n->rows = input->rows;
    n->cost = input->cost + input->rows * 0.05;
    p->locks = true;
    return n;
}

/* ORDER BY, locks, LIMIT; the columns of keys and row ids, NULL: the targets, and the row ids behind them. */
static PlanNode *
plan_order(Planner *p, const BQuery *q, PlanNode *input, const u16 *columns, const u16 *lock_columns)
{
    PlanNode *n = input;
    if (q->order_count) {
        bool top = q->limit && !q->lock_count;
        n = node_over(p, top ? PN_TOPN : PN_SORT, n);
        set_sort_keys(p, q, n, columns);
    }
    if (q->lock_count)
        n = plan_lock(p, q, n, lock_columns);
    if (q->limit || q->offset) {
        if (!q->order_count || q->lock_count)
            n = node_over(p, PN_LIMIT, n);
        set_limit(q, n);
    }
    return n;
}

static bool
late_fetch_fits(const BQuery *q, bool row_id)
{
    if (q->grouped || q->distinct || q->win_call_count || !q->order_count || !q->limit || row_id || !q->from || q->from->kind != BFROM_REL)
        return false;
    if (q->rels[q->from->rel].kind != BREL_TABLE)
        return false;
    if (q->limit->kind == BX_CONST && (q->limit->value.is_null || q->limit->value.i64v > LATE_FETCH_MAX_ROWS))
        return false;
    for (u32 i = 0; i < q->order_count; i++) {
        const BExpr *e = q->targets[q->order_by[i].target].expr;
        if (e->kind != BX_COLUMN || e->column >= BCOL_CTID)
            return false;
    }
    return true;
}

static PlanNode *
plan_fetch(FromPlanner *f, PlanNode *input, const TableDef *t)
{
    const BQuery *q = f->query;
    u16 rel = q->from->rel;
    ColumnSet need = column_set_new(f);
    for (u32 i = 0; i < q->target_count; i++)
        column_set_add_expr(f, &need, q->targets[i].expr);
    PlanNode *n = node_new(f->p, PN_FETCH, 0);
    u32 room = input->slot_count + q->rels[rel].column_count;
    n->slots = ARENA_ARRAY(f->p->arena, PlanSlot, room);
    memcpy(n->slots, input->slots, input->slot_count * sizeof *n->slots);
    n->slot_count = input->slot_count;
    n->fetch.columns = ARENA_ARRAY(f->p->arena, u16, q->rels[rel].column_count);
    for (u32 c = 0; c < q->rels[rel].column_count; c++) {
        BExpr leaf = {.kind = BX_COLUMN, .rel = rel, .column = (u16)c};
        if (!column_set_has(f, &need, rel, (u16)c) || find_slot(input->slots, input->slot_count, &leaf) >= 0)
            continue;
        const ColumnDef *d = &t->columns[c];
        n->slots[n->slot_count++] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = q->rels[rel].columns[c].type,
                                               .typmod = d->typmod, .phys = (PhysType)d->phys, .scale = d->scale, .nullable = !d->not_null,
                                               .stable = true};
        n->fetch.columns[n->fetch.column_count++] = (u16)c;
    }
    BExpr ctid = {.kind = BX_COLUMN, .rel = rel, .column = BCOL_CTID};
    n->fetch.row_column = (u16)find_slot(input->slots, input->slot_count, &ctid);
    n->fetch.table_id = t->table_id;
    n->left = input;
    n->rows = input->rows;
    n->cost = input->cost + input->rows * 0.05;
    n->table = input->table;
    return n;
}

static const BExpr *
row_id_leaf(Planner *p, u16 rel, u16 column)
{
    BExpr *id = ARENA_NEW(p->arena, BExpr);
    *id = (BExpr){.kind = BX_COLUMN, .type = TYPE_INT8, .typmod = -1, .rel = rel, .column = column};
    return id;
}

/* The targets, and behind them the row ids to be locked. */
static const BExpr **
target_exprs(Planner *p, const BQuery *q)
{
    const BExpr **exprs = ARENA_ARRAY(p->arena, const BExpr *, q->target_count + q->lock_count);
    for (u32 i = 0; i < q->target_count; i++)
        exprs[i] = q->targets[i].expr;
    for (u32 i = 0; i < q->lock_count; i++)
        exprs[q->target_count + i] = row_id_leaf(p, q->locks[i].rel, q->locks[i].column);
    return exprs;
}

/* NULL when the relation turned out to be no plain scan. */
static PlanNode *
plan_late_fetch(Planner *p, const BQuery *q)
{
    FromPlanner f = {.p = p, .query = q};
    ColumnSet need = column_set_new(&f);
    u16 rel = q->from->rel;
    column_set_add(&f, &need, rel, BCOL_CTID);
    for (u32 i = 0; i < q->order_count; i++)
        column_set_add_expr(&f, &need, q->targets[q->order_by[i].target].expr);
    ConjunctList where = {0};
    conjuncts_split(p, &where, q->where);
    PlanNode *n = plan_from(&f, &need, &where);
    if (n->kind != PN_SCAN)
        return NULL;
    u16 *columns = ARENA_ARRAY(p->arena, u16, q->order_count);
    for (u32 i = 0; i < q->order_count; i++)
        columns[i] = (u16)find_slot(n->slots, n->slot_count, q->targets[q->order_by[i].target].expr);
    u16 lock_column = (u16)find_slot(n->slots, n->slot_count, row_id_leaf(p, rel, BCOL_CTID));
    n = plan_order(p, q, n, columns, &lock_column);
    n = plan_fetch(&f, n, catalog_table(p->root, q->rels[rel].table_id));
    return plan_project(p, n, target_exprs(p, q), q->target_count);
}

/* Projection with the count behind it, and each row as often as that says. */
static PlanNode *
plan_repeat(Planner *p, const BQuery *q, PlanNode *input)
{
    const BExpr **exprs = ARENA_ARRAY(p->arena, const BExpr *, q->target_count + 1);
    memcpy(exprs, target_exprs(p, q), q->target_count * sizeof *exprs);
    exprs[q->target_count] = q->repeat;
    input = plan_project(p, input, exprs, q->target_count + 1);
    PlanNode *n = node_new(p, PN_REPEAT, 0);
    n->left = input;
    n->slots = input->slots;
    n->slot_count = q->target_count;
    n->rows = input->rows;
    n->cost = input->cost;
    return n;
}

static bool
is_order_key(const BQuery *q, u32 target, u32 *ret)
{
    for (u32 i = 0; i < q->order_count; i++)
        if (q->order_by[i].target == target) {
            *ret = i;
            return true;
        }
    return false;
}

/* A target calls something that must happen for the rows in their final order only, and not for those that LIMIT cuts off. */
static bool
targets_wait(const BQuery *q)
{
    u32 key;
    bool serial = false;
    if (q->distinct || (!q->order_count && !q->limit && !q->offset && !q->lock_count))
        return false;
    for (u32 i = 0; i < q->target_count; i++)
        serial |= !is_order_key(q, i, &key) && bexpr_volatility(q->targets[i].expr) == FUNC_SERIAL;
    return serial;
}

/* Sort keys are computed and put behind the input's columns; the other targets come after ORDER BY, locks and LIMIT. */
static PlanNode *
plan_waiting_targets(Planner *p, const BQuery *q, PlanNode *input)
{
    u32 count = input->slot_count, key;
    PlanNode *wide = node_new(p, PN_PROJECT, count + q->order_count);
    u16 *keys = ARENA_ARRAY(p->arena, u16, q->order_count), *locks = ARENA_ARRAY(p->arena, u16, q->lock_count);
    wide->left = input;
    wide->rows = input->rows;
    wide->cost = input->cost;
    wide->project = ARENA_ARRAY(p->arena, PlanExpr, wide->slot_count);
    for (u32 i = 0; i < count; i++) {
        wide->project[i] = (PlanExpr){.column = (i32)i};
        wide->slots[i] = input->slots[i];
    }
    for (u32 i = 0; i < q->order_count; i++) {
        const BExpr *e = q->targets[q->order_by[i].target].expr;
        wide->project[count + i] = plan_expr(p, e, input);
        wide->slots[count + i] = plan_expr_slot(&wide->project[count + i], e, input);
        keys[i] = (u16)(count + i);
    }
    for (u32 i = 0; i < q->lock_count; i++)
        locks[i] = (u16)find_slot(input->slots, count, row_id_leaf(p, q->locks[i].rel, q->locks[i].column));
    PlanNode *ordered = plan_order(p, q, wide, keys, locks);
    PlanNode *n = node_new(p, PN_PROJECT, q->target_count);
    n->left = ordered;
    n->rows = ordered->rows;
    n->cost = ordered->cost;
    n->project = ARENA_ARRAY(p->arena, PlanExpr, q->target_count);
    for (u32 i = 0; i < q->target_count; i++) {
        const BExpr *e = q->targets[i].expr;
        n->project[i] = is_order_key(q, i, &key) ? (PlanExpr){.column = keys[key], .expr = e} : plan_expr(p, e, ordered);
        n->slots[i] = plan_expr_slot(&n->project[i], e, ordered);
    }
    return n;
}

static PlanNode *
plan_rows(Planner *p, const BQuery *q, bool row_id)
{
    if (late_fetch_fits(q, row_id) && !targets_wait(q)) {
        PlanNode *n = plan_late_fetch(p, q);
        if (n)
            return keep_first(p, n, bquery_visible(q));
    }
    FromPlanner f = {.p = p, .query = q};
    ColumnSet need = column_set_new(&f);
    for (u32 i = 0; i < q->target_count; i++)
        column_set_add_expr(&f, &need, q->targets[i].expr);
    for (u32 i = 0; i < q->group_count; i++)
        column_set_add_expr(&f, &need, q->group_by[i]);
    for (u32 i = 0; i < q->agg_count; i++) {
        for (u32 k = 0; k < bagg_part_count(&q->aggs[i]); k++)
            column_set_add_expr(&f, &need, bagg_part(&q->aggs[i], k));
    }
    column_set_add_expr(&f, &need, q->having);
    plan_windows_need(&f, &need);
    if (row_id)
        column_set_add(&f, &need, 0, BCOL_CTID);
    for (u32 i = 0; i < q->lock_count; i++)
        column_set_add(&f, &need, q->locks[i].rel, q->locks[i].column);
    ConjunctList where = {0};
    conjuncts_split(p, &where, q->where);
    PlanNode *n = plan_from(&f, &need, &where);
    if (q->grouped)
        n = plan_group(p, q, n);
    n = plan_windows(p, q, n);
    ConjunctList first_only = {0};
    conjuncts_split(p, &first_only, q->first_only);
    n = plan_filter(p, n, &first_only);
    if (row_id) {
        const BExpr **exprs = ARENA_ARRAY(p->arena, const BExpr *, q->target_count + 1);
        exprs[0] = row_id_leaf(p, 0, BCOL_CTID);
        for (u32 i = 0; i < q->target_count; i++)
            exprs[i + 1] = q->targets[i].expr;
        return plan_project(p, n, exprs, q->target_count + 1);
    }
    if (targets_wait(q))
        return keep_first(p, plan_waiting_targets(p, q, n), bquery_visible(q));
    u16 *lock_columns = ARENA_ARRAY(p->arena, u16, q->lock_count);
    for (u32 i = 0; i < q->lock_count; i++)
        lock_columns[i] = (u16)(q->target_count + i);
    n = q->repeat ? plan_repeat(p, q, n) : plan_project(p, n, target_exprs(p, q), q->target_count + q->lock_count);
    if (q->distinct)
        n = plan_distinct(p, n);
    n = plan_order(p, q, n, NULL, lock_columns);
    return keep_first(p, n, bquery_visible(q));
}

/* The rows of a query; with row_id, the row ids of relation 0 come first and the targets behind them. */
PlanNode *
plan_query_rows(Planner *p, const BQuery *q, bool row_id)
{
    const BQuery *outer = p->query;
    p->query = q = plan_decorrelate(p, q);
    PlanNode *n = plan_rows(p, q, row_id);
    p->query = outer;
    return n;
}

PlanNode *
plan_query(Planner *p, const BQuery *q)
{
    return plan_query_rows(p, q, false);
}
