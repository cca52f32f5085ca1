/*
 * plan.c
 *    From a bound statement to a plan: one entry for every kind of statement.
 *
 * INSERT … VALUES is made of cells: the targets' casts are put around each value, so that executing it needs no projection.
 */
#include "backend/plan/expr_prog.h"
#include "backend/plan/planner.h"

/* e with the columns of relation 0 replaced by the cells of one VALUES row. */
static const BExpr *
substitute(Planner *p, const BExpr *e, const BExpr *const *cells)
{
    if (e->kind == BX_COLUMN)
        return cells[e->column];
    if (!e->arg_count)
        return e;
    BExpr *copy = ARENA_NEW(p->arena, BExpr);
    *copy = *e;
    copy->args = ARENA_ARRAY(p->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = (BExpr *)(uintptr_t)substitute(p, e->args[i], cells);
    return copy;
}

static PlanSlot
value_slot(const BExpr *e)
{
    PhysType phys = phys_of(e->type, e->typmod);
    bool scaled = phys == PHYS_D64 || phys == PHYS_D128;
    return (PlanSlot){.type = e->type, .typmod = e->typmod, .phys = phys, .scale = scaled ? (u8)numeric_scale(e->typmod) : 0,
                      .nullable = true, .stable = true};
}

static bool
is_plain_values(const BQuery *q)
{
    if (q->grouped || q->win_call_count || q->where || q->distinct || q->order_count || q->limit || q->offset)
        return false;
    return !q->from || (q->from->kind == BFROM_REL && q->rels[q->from->rel].kind == BREL_VALUES);
}

static PlanNode *
plan_insert_source(Planner *p, const BQuery *q)
{
    if (!is_plain_values(q))
        return plan_query(p, q);
    const BRel *r = q->from ? &q->rels[q->from->rel] : NULL;
    PlanNode *n = node_new(p, PN_VALUES, q->target_count);
    n->values.row_count = r ? r->row_count : 1;
    n->values.rows = ARENA_ARRAY(p->arena, const BExpr **, n->values.row_count);
    for (u32 c = 0; c < q->target_count; c++)
        n->slots[c] = value_slot(q->targets[c].expr);
    for (u32 i = 0; i < n->values.row_count; i++) {
        n->values.rows[i] = ARENA_ARRAY(p->arena, const BExpr *, q->target_count);
        for (u32 c = 0; c < q->target_count; c++) {
            n->values.rows[i][c] = substitute(p, q->targets[c].expr, r ? (const BExpr *const *)r->rows[i] : NULL);
            plan_note_calls(p, n->values.rows[i][c]);
        }
    }
    n->rows = n->values.row_count;
    n->cost = 0.01 * n->rows;
    return n;
}

static void
set_columns(Plan *plan, Arena *a, const BQuery *q)
{
    plan->columns = ARENA_ARRAY(a, PlanColumn, q->target_count);
    for (u32 i = 0; i < q->target_count && !q->targets[i].hidden; i++) {
        const BTarget *t = &q->targets[i];
        plan->columns[plan->column_count++] = (PlanColumn){t->name, t->expr->type, t->expr->typmod, t->typmod, t->table_oid, t->attribute};
    }
}

/* ---- RETURNING ---- */

/* The columns of the table as `rel`. */
static void
table_slots(const TableDef *t, u16 rel, PlanSlot *to)
{
    for (u32 c = 0; c < t->column_count; c++) {
        const ColumnDef *d = &t->columns[c];
        to[c] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = (TypeId)d->type, .typmod = d->typmod, .phys = (PhysType)d->phys,
                           .scale = d->scale, .nullable = true};
    }
}

/* Where a column of RETURNING or a CHECK stands among the rows of the source: UPDATE and DELETE have the row id first, then the values, then what is needed of the
 * old rows. -1: nowhere, INSERT leaves it NULL. */
static i32
returning_slot(const BStmt *stmt, const BExpr *e)
{
    u32 first = stmt->kind == BST_INSERT || stmt->kind == BST_ALTER_TABLE ? 0 : 1;
    for (u32 i = 0; e->rel == 0 && stmt->kind != BST_DELETE && i < stmt->column_count; i++)
        if (stmt->columns[i] == e->column)
            return (i32)(first + i);
    for (u32 i = 0; i < stmt->extra_target_count; i++) {
        const BExpr *x = stmt->query->targets[stmt->column_count + i].expr;
        if (x->rel == e->rel && x->column == e->column)
            return (i32)(first + stmt->column_count + i);
    }
    return -1;
}

/* Columns become the source's slots, which are called groups for that. */
static const BExpr *
over_source(Planner *p, const BStmt *stmt, const BExpr *e)
{
    if (e->kind == BX_COLUMN) {
        i32 slot = returning_slot(stmt, e);
        BExpr *leaf = ARENA_NEW(p->arena, BExpr);
        *leaf = *e;
        if (slot < 0)
            *leaf = (BExpr){.kind = BX_CONST, .type = e->type, .typmod = e->typmod, .value = {.type = e->type, .typmod = e->typmod, .is_null = true}};
        else {
            leaf->kind = BX_GROUP;
            leaf->index = (u32)slot;
        }
        return leaf;
    }
    if (!e->arg_count)
        return e;
    BExpr *copy = ARENA_NEW(p->arena, BExpr);
    *copy = *e;
    copy->args = ARENA_ARRAY(p->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = (BExpr *)(uintptr_t)over_source(p, stmt, e->args[i]);
    return copy;
}

/* The rows of the source for that. */
static PlanNode
source_rows(Planner *p, const Plan *plan)
{
    PlanNode source = *plan->root;
    source.slots = ARENA_ARRAY(p->arena, PlanSlot, source.slot_count);
    for (u32 i = 0; i < source.slot_count; i++) {
        source.slots[i] = plan->root->slots[i];
        source.slots[i].leaf = LEAF_GROUP;
        source.slots[i].index = i;
        source.slots[i].nullable = true;
    }
    return source;
}

static void
plan_returning(Planner *p, Plan *plan, const BStmt *stmt)
{
    if (!stmt->returning_count)
        return;
    PlanNode source = source_rows(p, plan);
    if (plan->upsert) {
        source.slots = plan->upsert->slots;
        source.slot_count = catalog_table(p->root, stmt->table_id)->column_count;
    }
    plan->column_count = stmt->returning_count;
    plan->columns = ARENA_ARRAY(p->arena, PlanColumn, stmt->returning_count);
    plan->returning = ARENA_ARRAY(p->arena, PlanExpr, stmt->returning_count);
    for (u32 i = 0; i < stmt->returning_count; i++) {
        const BTarget *t = &stmt->returning[i];
        plan->returning[i] = plan_expr(p, plan->upsert ? t->expr : over_source(p, stmt, t->expr), &source);
        plan->columns[i] = (PlanColumn){t->name, t->expr->type, t->expr->typmod, t->typmod, t->table_oid, t->attribute};
    }
}

/* What is written must obey them. */
static void
plan_checks(Planner *p, Plan *plan, const BStmt *stmt)
{
    if (!stmt->check_count)
        return;
    PlanNode source = source_rows(p, plan);
    if (plan->upsert) {
        source.slots = plan->upsert->slots;
        source.slot_count = catalog_table(p->root, stmt->table_id)->column_count;
    }
    plan->checks = ARENA_ARRAY(p->arena, PlanExpr, stmt->check_count);
    for (u32 i = 0; i < stmt->check_count; i++)
        plan->checks[i] = plan_expr(p, plan->upsert ? stmt->checks[i].expr : over_source(p, stmt, stmt->checks[i].expr), &source);
}

static void
plan_upsert(Planner *p, Plan *plan, const BStmt *stmt)
{
    const BConflict *c = stmt->conflict;
    const TableDef *t = catalog_table(p->root, stmt->table_id);
    if (!c || !t)
        return;
    u32 n = t->column_count;
    PlanUpsert *u = plan->upsert = ARENA_NEW(p->arena, PlanUpsert);
    PlanNode both = {.kind = PN_VALUES, .slot_count = 2 * n, .slots = ARENA_ARRAY(p->arena, PlanSlot, 2 * n)};
    table_slots(t, 0, both.slots);
    table_slots(t, 1, both.slots + n);
    u->slots = both.slots;
    u->values = ARENA_ARRAY(p->arena, PlanExpr, c->column_count);
    for (u32 i = 0; i < c->column_count; i++)
        u->values[i] = plan_expr(p, c->values[i], &both);
    if (c->where) {
        u->where = ARENA_NEW(p->arena, PlanExpr);
        *u->where = plan_expr(p, c->where, &both);
    }
}

static void
plan_defaults(Planner *p, Plan *plan, const BStmt *stmt)
{
    static const PlanNode NOTHING = {.kind = PN_VALUES};
    plan->defaults = ARENA_ARRAY(p->arena, PlanExpr, stmt->default_count);
    for (u32 i = 0; i < stmt->default_count; i++)
        plan->defaults[i] = plan_expr(p, stmt->defaults[i].expr, &NOTHING);
}

/* Slots: the columns of relation 0. A column that is missing in the data and may not be NULL is the error of the first row. */
static void
plan_copy_conditions(Planner *p, Plan *plan, const BStmt *stmt)
{
    const TableDef *t = catalog_table(p->root, stmt->table_id);
    for (u32 c = 0; t && c < t->column_count; c++) {
        bool given = t->columns[c].default_text.len > 0;
        for (u32 i = 0; i < stmt->column_count && !given; i++)
            given = stmt->columns[i] == c;
        plan->copy_row_alone |= t->columns[c].not_null && !given;
    }
    if ((!stmt->copy_where && !stmt->check_count) || !t)
        return;
    PlanNode source = {.kind = PN_VALUES, .slot_count = t->column_count, .slots = ARENA_ARRAY(p->arena, PlanSlot, t->column_count)};
    table_slots(t, 0, source.slots);
    plan->checks = ARENA_ARRAY(p->arena, PlanExpr, stmt->check_count);
    for (u32 i = 0; i < stmt->check_count; i++)
        plan->checks[i] = plan_expr(p, stmt->checks[i].expr, &source);
    if (!stmt->copy_where)
        return;
    plan->copy_where = ARENA_NEW(p->arena, PlanExpr);
    *plan->copy_where = plan_expr(p, stmt->copy_where, &source);
    plan->copy_row_alone |= expr_may_fail(stmt->copy_where);
}

/* EXISTS wants one row, and none of its columns. */
static const BQuery *
exists_query(Arena *a, const BQuery *q)
{
    if (q->limit || q->offset)
        return q;
    BQuery *one = ARENA_NEW(a, BQuery);
    BExpr *limit = ARENA_NEW(a, BExpr);
    *one = *q;
    *limit = (BExpr){.kind = BX_CONST, .type = TYPE_INT8, .typmod = -1, .value = {.type = TYPE_INT8, .typmod = -1, .i64v = 1}};
    one->order_count = 0;
    one->limit = limit;
    return one;
}

/* A query of its own within the statement. */
static Plan *
plan_part(Arena *a, const Plan *whole, const Root *root, const BQuery *q)
{
    const BStmt *stmt = whole->stmt;
    Planner p = {.arena = a, .root = root, .stmt = stmt, .sub_used = whole->sub_used, .ctes = whole->ctes};
    Plan *part = ARENA_NEW(a, Plan);
    part->stmt = stmt;
    part->root = plan_query(&p, q);
    set_columns(part, a, q);
    part->node_count = p.node_count;
    part->serial = p.serial;
    part->locks = p.locks;
    return part;
}

/* Entries of WITH are planned in their order, so that each finds those it refers to. */
static void
plan_ctes(Plan *plan, Arena *a, const BStmt *stmt, const Root *root)
{
    plan->cte_count = stmt->cte_count;
    plan->ctes = ARENA_ARRAY(a, Plan *, stmt->cte_count);
    plan->steps = ARENA_ARRAY(a, Plan *, stmt->cte_count);
    for (u32 i = 0; i < stmt->cte_count; i++) {
        const BCte *c = stmt->ctes[i];
        if (!bcte_is_shared(c))
            continue;
        plan->ctes[i] = plan_part(a, plan, root, c->query);
        if (c->recursive)
            plan->steps[i] = plan_part(a, plan, root, c->step);
    }
}

static void
plan_subs(Plan *plan, Arena *a, const BStmt *stmt, const Root *root)
{
    plan->sub_count = stmt->sub_count;
    plan->subs = ARENA_ARRAY(a, Plan *, stmt->sub_count);
    for (u32 i = 0; i < stmt->sub_count; i++) {
        const BSub *sub = stmt->subs[i];
        plan->subs[i] = plan_part(a, plan, root, sub->kind == BSUB_EXISTS ? exists_query(a, sub->query) : sub->query);
    }
}

static void
note_locks(Plan *plan)
{
    bool captures = false;
    for (u32 i = 0; i < plan->sub_count; i++) {
        plan->locks |= plan->subs[i]->locks;
        captures |= plan->stmt->subs[i]->capture_count > 0;
    }
    for (u32 i = 0; i < plan->cte_count; i++) {
        plan->locks |= plan->ctes[i] && plan->ctes[i]->locks;
        plan->locks |= plan->steps[i] && plan->steps[i]->locks;
    }
    plan->locks_late = plan->locks && captures;
}

Plan *
plan_make(Arena *a, const BStmt *stmt, const Root *root)
{
    Plan *plan = ARENA_NEW(a, Plan);
    plan->stmt = stmt;
    plan->sub_used = ARENA_ARRAY(a, bool, stmt->sub_count);
    plan_ctes(plan, a, stmt, root);
    Planner p = {.arena = a, .root = root, .stmt = stmt, .sub_used = plan->sub_used, .ctes = plan->ctes};
    plan->catalog_version = catalog_version(root);
    switch (stmt->kind) {
    case BST_SELECT:
    case BST_COPY_TO:
        plan->root = plan_query(&p, stmt->query);
        set_columns(plan, a, stmt->query);
        break;
    case BST_INSERT:
        plan->root = plan_insert_source(&p, stmt->query);
        plan_upsert(&p, plan, stmt);
        plan_checks(&p, plan, stmt);
        plan_returning(&p, plan, stmt);
        break;
    case BST_CREATE_TABLE:
    case BST_ALTER_TABLE:
        if (stmt->query)
            plan->root = plan_insert_source(&p, stmt->query);
        if (stmt->rewrites)
            plan_checks(&p, plan, stmt);
        break;
    case BST_UPDATE:
    case BST_DELETE:
        plan->root = plan_query_rows(&p, stmt->query, true);
        plan_checks(&p, plan, stmt);
        plan_returning(&p, plan, stmt);
        break;
    case BST_COPY_FROM:
        plan_defaults(&p, plan, stmt);
        plan_copy_conditions(&p, plan, stmt);
        break;
    default:
        break;
    }
    plan->node_count = p.node_count;
    plan->locks = p.locks;
    plan->serial = p.serial;
    plan_subs(plan, a, stmt, root);
    note_locks(plan);
    return plan;
}
