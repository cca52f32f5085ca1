/*
 * relation.c
 *    One relation of FROM with the conditions that belong to it: key lookup, table scan with predicates, sub-query, VALUES.
 *
 * A lookup is taken when every column of a key is compared with a fixed value by "=", or a single-column key by IN or = ANY with fixed values.
 * Of a scan's conditions, ranges over integers and short decimals and conditions on one text column get forms of their own (node.h); the
 * rest is one program over the columns it needs. Columns that only conditions need do not leave the scan.
 */
#include "backend/plan/planner.h"
#include "common/store/system.h"

static const BExpr *
column_of(const BExpr *e, u16 rel)
{
    e = expr_strip_widening(e);
    return e->kind == BX_COLUMN && e->rel == rel && e->column < BCOL_CTID ? e : NULL;
}

/* column op fixed value, whichever side the column stands on. */
static bool
match_comparison(const BExpr *e, u16 rel, const BExpr **ret_column, PlanOp *ret_op, const BExpr **ret_value)
{
    static const PlanOp mirrored[] = {[OP_EQ] = OP_EQ, [OP_NE] = OP_NE, [OP_LT] = OP_GT,
                                      [OP_LE] = OP_GE, [OP_GT] = OP_LT, [OP_GE] = OP_LE};
    PlanOp op;
    if (!expr_comparison(e, &op))
        return false;
    const BExpr *left = column_of(e->args[0], rel), *right = column_of(e->args[1], rel);
    if (left && expr_is_fixed(e->args[1])) {
        *ret_column = left;
        *ret_op = op;
        *ret_value = e->args[1];
        return true;
    }
    if (right && expr_is_fixed(e->args[0])) {
        *ret_column = right;
        *ret_op = mirrored[op];
        *ret_value = e->args[0];
        return true;
    }
    return false;
}

static PlanSlot
table_slot(const TableDef *t, const BRel *rel, u16 rel_index, u16 column)
{
    PlanSlot s = {.leaf = LEAF_COLUMN, .rel = rel_index, .column = column, .typmod = -1, .stable = true};
    if (column == BCOL_CTID) {
        s.type = TYPE_TID;
        s.phys = PHYS_I64;
        return s;
    }
    if (column == BCOL_TABLEOID) {
        s.type = TYPE_OID;
        s.phys = PHYS_I64;
        return s;
    }
    if (column == BCOL_XMIN)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "system column \"xmin\" is not supported yet");
    const ColumnDef *c = &t->columns[column];
    s.type = rel->columns[column].type;
    s.typmod = c->typmod;
    s.phys = (PhysType)c->phys;
    s.scale = c->scale;
    s.nullable = !c->not_null;
    return s;
}

/* The columns of the relation that are needed, ascending, system columns last. */
static u16 *
needed_columns(FromPlanner *f, u16 rel, const ColumnSet *need, u32 *ret_count)
{
    static const u16 system[] = {BCOL_CTID, BCOL_TABLEOID, BCOL_XMIN};
    const BRel *r = &f->query->rels[rel];
    u16 *columns = ARENA_ARRAY(f->p->arena, u16, r->column_count + COUNT_OF(system));
    u32 n = 0;
    for (u32 c = 0; c < r->column_count; c++)
        if (column_set_has(f, need, rel, (u16)c))
            columns[n++] = (u16)c;
    for (u32 i = 0; i < COUNT_OF(system); i++)
        if (column_set_has(f, need, rel, system[i]))
            columns[n++] = system[i];
    *ret_count = n;
    return columns;
}

static void
set_table_slots(PlanNode *n, const TableDef *t, const BRel *rel, u16 rel_index, const u16 *columns)
{
    for (u32 i = 0; i < n->slot_count; i++)
        n->slots[i] = table_slot(t, rel, rel_index, columns[i]);
    n->table = rel->alias;
    n->alias = rel->alias;
}

/* ---- key lookups ---- */

/* The conjunct that fixes this column by "=", or NULL. */
static const BExpr *
equal_value(u16 rel, u16 column, const ConjunctList *conjuncts, u32 *ret_index)
{
    for (u32 i = 0; i < conjuncts->count; i++) {
        const BExpr *c, *value;
        PlanOp op;
        if (match_comparison(conjuncts->items[i], rel, &c, &op, &value) && op == OP_EQ && c->column == column &&
            expr_fits_key(c->type, value->type)) {
            *ret_index = i;
            return value;
        }
    }
    return NULL;
}

enum { ANY_ROWS = 10 }; /* how many elements an array is thought to have */

static bool
match_key(FromPlanner *f, u16 rel, const KeyDef *k, const ConjunctList *conjuncts, PlanKey *ret, bool *used)
{
    memset(used, 0, conjuncts->count * sizeof *used);
    const BExpr **values = ARENA_ARRAY(f->p->arena, const BExpr *, k->column_count);
    u32 found = 0;
    for (; found < k->column_count; found++) {
        u32 index;
        values[found] = equal_value(rel, k->columns[found], conjuncts, &index);
        if (!values[found])
            break;
        used[index] = true;
    }
    if (found == k->column_count) {
        ret->values = values;
        ret->tuple_count = 1;
        return true;
    }
    if (k->column_count != 1)
        return false;
    for (u32 i = 0; i < conjuncts->count; i++) {
        const BExpr *e = conjuncts->items[i];
        if ((e->kind != BX_IN && e->kind != BX_ANY) || e->negated)
            continue;
        const BExpr *c = column_of(e->args[0], rel);
        if (!c || c->column != k->columns[0])
            continue;
        if (e->kind == BX_ANY) {
            if (func_def(e->func)->op != FOP_EQ || !expr_is_fixed(e->args[1]) || !expr_fits_key(c->type, type_element(e->args[1]->type)))
                continue;
            used[i] = true;
            ret->array = e->args[1];
            ret->tuple_count = ANY_ROWS;
            return true;
        }
        bool fixed = true;
        for (u32 j = 1; j < e->arg_count; j++)
            fixed = fixed && expr_is_fixed(e->args[j]) && expr_fits_key(c->type, e->args[j]->type);
        if (!fixed)
            continue;
        used[i] = true;
        ret->tuple_count = e->arg_count - 1;
        ret->values = ARENA_ARRAY(f->p->arena, const BExpr *, e->arg_count);
        for (u32 j = 1; j < e->arg_count; j++)
            ret->values[j - 1] = e->args[j];
        return true;
    }
    return false;
}

static PlanNode *
plan_key_lookup(FromPlanner *f, u16 rel, const TableDef *t, const ColumnSet *need, const ConjunctList *conjuncts)
{
    PlanKey key = {0};
    bool *used = ARENA_ARRAY(f->p->arena, bool, conjuncts->count);
    u16 k = 0;
    while (k < t->key_count && !match_key(f, rel, &t->keys[k], conjuncts, &key, used))
        k++;
    if (k == t->key_count)
        return NULL;
    ConjunctList left = {0};
    ColumnSet all = column_set_copy(f, need);
    key.conjuncts = ARENA_ARRAY(f->p->arena, const BExpr *, conjuncts->count);
    for (u32 i = 0; i < conjuncts->count; i++) {
        if (used[i]) {
            key.conjuncts[key.conjunct_count++] = conjuncts->items[i];
            continue;
        }
        conjunct_add(f->p, &left, conjuncts->items[i]);
        column_set_add_expr(f, &all, conjuncts->items[i]);
    }
    key.table_id = t->table_id;
    key.key = k;
    key.key_column_count = t->keys[k].column_count;
    u32 count;
    key.columns = needed_columns(f, rel, &all, &count);
    PlanNode *n = node_new(f->p, PN_KEY, count);
    n->key = key;
    set_table_slots(n, t, &f->query->rels[rel], rel, key.columns);
    n->rows = key.tuple_count;
    n->cost = 0.5 * key.tuple_count;
    return plan_filter(f->p, n, &left);
}

/* ---- scans ---- */

static bool
range_phys(u8 phys)
{
    return phys == PHYS_BOOL || phys == PHYS_I16 || phys == PHYS_I32 || phys == PHYS_I64 || phys == PHYS_D64;
}

/* The only column an expression refers to, of this relation and of a text type, no array; false when there is none or more. A dictionary may hold
 * texts that are in no row and no jsonb. */
static bool
single_text_column(const BExpr *e, const TableDef *t, const BExpr **ret)
{
    if (e->kind == BX_COLUMN) {
        if (e->column >= BCOL_CTID || t->columns[e->column].phys != PHYS_STR || !type_bytes_tell((TypeId)t->columns[e->column].type) || type_is_array((TypeId)t->columns[e->column].type) || (*ret && (*ret)->column != e->column))
            return false;
        *ret = e;
        return true;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        if (!single_text_column(e->args[i], t, ret))
            return false;
    return true;
}

static bool
make_pred(FromPlanner *f, const TableDef *t, u16 rel, const BExpr *e, PlanPred *ret)
{
    const BExpr *column = NULL, *value = NULL;
    PlanOp op;
    *ret = (PlanPred){.expr = e};
    bool comparison = match_comparison(e, rel, &column, &op, &value);
    if (comparison && range_phys(t->columns[column->column].phys)) {
        TypeId type = value->type;
        bool numbers = type == TYPE_INT2 || type == TYPE_INT4 || type == TYPE_INT8 || type == TYPE_NUMERIC;
        if (numbers || type == column->type) {
            ret->kind = PRED_RANGE;
            ret->column = column->column;
            ret->op = op;
            ret->value = value;
            return true;
        }
    }
    column = NULL;
    if (!bexpr_is_volatile(e) && expr_cannot_fail_on_text(e) && single_text_column(e, t, &column) && column) {
        PlanSlot slot = table_slot(t, &f->query->rels[rel], rel, column->column);
        ret->kind = PRED_TEXT;
        ret->column = column->column;
        ret->prog = plan_compile(f->p, e, &slot, 1);
        const BExpr *c;
        if (comparison && match_comparison(e, rel, &c, &op, &value) && op == OP_EQ && value->type != TYPE_JSONB)
            ret->equal_text = value;
        return true;
    }
    ret->kind = PRED_EXPR;
    return true;
}

/* The share of the rows that a condition leaves. */
static double
pred_share(FromPlanner *f, u16 rel, const PlanPred *p, const BExpr *e)
{
    if (p->kind == PRED_RANGE)
        return estimate_comparison(f, rel, p->column, p->op, p->value, p->op == OP_EQ ? 0.005 : p->op == OP_NE ? 0.995 : 0.3333);
    if (p->kind == PRED_TEXT && p->equal_text)
        return estimate_comparison(f, rel, p->column, OP_EQ, p->equal_text, 0.1);
    const BExpr *c = e->kind == BX_IN ? column_of(e->args[0], rel) : NULL;
    if (c) {
        double one = estimate_comparison(f, rel, c->column, OP_EQ, e->args[1], 0.005), share = MIN(1.0, one * (e->arg_count - 1));
        return e->negated ? 1 - share : share;
    }
    return p->kind == PRED_TEXT ? 0.1 : 0.3333;
}

/* A lower and an upper bound of one column are no independent conditions: what both leave. */
static double
pair_share(const PlanPred *preds, const double *shares, u32 count, const PlanPred *p, double share)
{
    bool lower = p->op == OP_GT || p->op == OP_GE;
    for (u32 i = 0; i < count && p->kind == PRED_RANGE && p->op >= OP_LT; i++)
        if (preds[i].kind == PRED_RANGE && preds[i].column == p->column && preds[i].op >= OP_LT && (preds[i].op == OP_GT || preds[i].op == OP_GE) != lower &&
            shares[i] + share > 1)
            return (shares[i] + share - 1) / shares[i];
    return share;
}

static PlanNode *
plan_scan(FromPlanner *f, u16 rel, const TableDef *t, const ColumnSet *need, const ConjunctList *conjuncts)
{
    Planner *p = f->p;
    const BRel *r = &f->query->rels[rel];
    u32 count;
    u16 *columns = needed_columns(f, rel, need, &count);
    PlanNode *n = node_new(p, PN_SCAN, count);
    PlanScan *s = &n->scan;
    s->table_id = t->table_id;
    s->columns = columns;
    set_table_slots(n, t, r, rel, columns);
    double rows = (double)table_live_estimate(store_table(p->root, t->table_id));
    n->cost = 1.0 + rows * 0.001 * (1 + count + conjuncts->count);

    s->preds = ARENA_ARRAY(p->arena, PlanPred, conjuncts->count);
    double *shares = ARENA_ARRAY(p->arena, double, conjuncts->count);
    s->conjuncts = conjuncts->items;
    s->conjunct_count = conjuncts->count;
    ConjunctList others = {0};
    ColumnSet other_columns = column_set_new(f);
    for (u32 i = 0; i < conjuncts->count; i++) {
        PlanPred pred;
        make_pred(f, t, rel, conjuncts->items[i], &pred);
        double share = pred_share(f, rel, &pred, conjuncts->items[i]);
        rows *= pair_share(s->preds, shares, s->pred_count, &pred, share);
        if (pred.kind == PRED_EXPR) {
            conjunct_add(p, &others, conjuncts->items[i]);
            column_set_add_expr(f, &other_columns, conjuncts->items[i]);
        } else {
            shares[s->pred_count] = share;
            s->preds[s->pred_count++] = pred;
        }
    }
    n->rows = rows < 1 ? 1 : rows;
    if (others.count) {
        s->filter_columns = needed_columns(f, rel, &other_columns, &s->filter_column_count);
        PlanSlot *slots = ARENA_ARRAY(p->arena, PlanSlot, s->filter_column_count);
        for (u32 i = 0; i < s->filter_column_count; i++)
            slots[i] = table_slot(t, r, rel, s->filter_columns[i]);
        s->filter = plan_compile(p, conjuncts_join(p, others.items, others.count), slots, s->filter_column_count);
    }
    return n;
}

static PlanNode *
plan_table(FromPlanner *f, u16 rel, const ColumnSet *need, const ConjunctList *conjuncts)
{
    const BRel *r = &f->query->rels[rel];
    const TableDef *t = catalog_table(f->p->root, r->table_id);
    if (!t)
        err_throw(ERR_UNDEFINED_TABLE, "relation \"%.*s\" does not exist", (int)r->alias.len, r->alias.ptr);
    PlanNode *n = plan_key_lookup(f, rel, t, need, conjuncts);
    if (!n)
        n = plan_scan(f, rel, t, need, conjuncts);
    PlanNode *at = n;
    while (at->kind == PN_FILTER)
        at = at->left;
    at->table = arena_str(f->p->arena, t->name);
    return n;
}

/* ---- sub-queries and VALUES ---- */

static PlanNode *
plan_values(FromPlanner *f, u16 rel)
{
    const BRel *r = &f->query->rels[rel];
    PlanNode *n = node_new(f->p, PN_VALUES, r->column_count);
    n->values.row_count = r->row_count;
    n->values.rows = (const BExpr ***)(uintptr_t)r->rows;
    n->rows = r->row_count;
    n->cost = 0.01 * r->row_count;
    n->alias = r->alias;
    for (u32 i = 0; i < r->row_count; i++)
        for (u32 c = 0; c < r->column_count; c++)
            plan_note_calls(f->p, r->rows[i][c]);
    for (u32 c = 0; c < r->column_count; c++) {
        const BColumn *bc = &r->columns[c];
        PhysType phys = phys_of(bc->type, bc->typmod);
        bool scaled = phys == PHYS_D64 || phys == PHYS_D128;
        n->slots[c] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = bc->type, .typmod = bc->typmod, .phys = phys,
                                 .scale = scaled ? (u8)numeric_scale(bc->typmod) : 0, .nullable = true, .stable = true};
    }
    return n;
}

static PlanNode *
plan_subquery(FromPlanner *f, u16 rel)
{
    const BRel *r = &f->query->rels[rel];
    PlanNode *n = plan_query(f->p, r->query);
    for (u32 c = 0; c < n->slot_count; c++) {
        n->slots[c].leaf = LEAF_COLUMN;
        n->slots[c].rel = rel;
        n->slots[c].column = (u16)c;
    }
    return n;
}

/* Rows of two queries. A column keeps the physical form that both have, else it gets that of its type. */
static PlanNode *
plan_append(FromPlanner *f, u16 rel)
{
    const BRel *r = &f->query->rels[rel];
    PlanNode *left = plan_query(f->p, r->query), *right = plan_query(f->p, r->second);
    PlanNode *n = node_new(f->p, PN_APPEND, r->column_count);
    n->left = left;
    n->right = right;
    n->append_marked = r->marked;
    n->rows = left->rows + right->rows;
    n->cost = left->cost + right->cost + n->rows * 0.001;
    for (u32 c = 0; c < r->column_count; c++) {
        const BColumn *bc = &r->columns[c];
        PlanSlot *s = &n->slots[c];
        bool side = r->marked && c + 1 == r->column_count;
        PhysType phys = phys_of(bc->type, bc->typmod);
        bool scaled = phys == PHYS_D64 || phys == PHYS_D128;
        *s = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = bc->type, .typmod = bc->typmod, .phys = phys,
                        .scale = scaled ? (u8)numeric_scale(bc->typmod) : 0, .nullable = !side};
        if (side)
            continue;
        const PlanSlot *a = &left->slots[c], *b = &right->slots[c];
        if (a->phys == b->phys && a->scale == b->scale) {
            s->phys = a->phys;
            s->scale = a->scale;
        }
        s->stable = a->stable && b->stable;
    }
    return n;
}

static PlanNode *
plan_shared(FromPlanner *f, u16 rel)
{
    const BRel *r = &f->query->rels[rel];
    const PlanNode *made = f->p->ctes[r->cte->number]->root;
    PlanNode *n = node_new(f->p, PN_SHARED, made->slot_count);
    n->shared.cte = r->cte->number;
    n->shared.work = r->work;
    n->rows = made->rows;
    n->cost = 0.01 * made->rows;
    n->table = r->cte->name;
    n->alias = r->alias;
    for (u32 c = 0; c < n->slot_count; c++) {
        n->slots[c] = made->slots[c];
        n->slots[c].leaf = LEAF_COLUMN;
        n->slots[c].rel = rel;
        n->slots[c].column = (u16)c;
        n->slots[c].nullable = n->slots[c].stable = true;
    }
    return n;
}

static PlanNode *
plan_system(FromPlanner *f, u16 rel, const ColumnSet *need, const ConjunctList *conjuncts)
{
    const BRel *r = &f->query->rels[rel];
    ColumnSet all = column_set_copy(f, need);
    for (u32 i = 0; i < conjuncts->count; i++)
        column_set_add_expr(f, &all, conjuncts->items[i]);
    u32 count;
    u16 *columns = needed_columns(f, rel, &all, &count);
    PlanNode *n = node_new(f->p, PN_SYSTEM, count);
    n->system.table_id = r->table_id;
    n->system.columns = columns;
    n->rows = 100;
    n->cost = 1;
    n->alias = r->alias;
    n->table = system_table_def(system_table_of(r->table_id))->name;
    for (u32 i = 0; i < count; i++) {
        TypeId type = columns[i] < BCOL_CTID ? r->columns[columns[i]].type : columns[i] == BCOL_CTID ? TYPE_TID : columns[i] == BCOL_XMIN ? TYPE_XID : TYPE_OID;
        n->slots[i] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = columns[i], .type = type, .typmod = -1, .phys = phys_of(type, -1),
                                 .nullable = true, .stable = true};
    }
    return plan_filter(f->p, n, conjuncts);
}

/* What PostgreSQL thinks of functions it knows nothing about, unless the bounds are constants. */
static double
function_rows(const BExpr *call)
{
    if (func_def(call->func)->op == FOP_UNNEST)
        return 10;
    bool known = call->type == TYPE_INT4 && call->arg_count == 2 && call->args[0]->kind == BX_CONST && call->args[1]->kind == BX_CONST;
    return known ? MAX(1.0, (double)call->args[1]->value.i32v - call->args[0]->value.i32v + 1) : 1000;
}

static PlanNode *
plan_function(FromPlanner *f, u16 rel)
{
    const BRel *r = &f->query->rels[rel];
    PlanNode *n = node_new(f->p, PN_FUNCTION, r->column_count);
    n->function.count = r->call_count;
    n->function.calls = (const BExpr **)(uintptr_t)r->calls;
    n->function.ordinality = r->column_count > r->call_count;
    n->alias = r->alias;
    for (u32 i = 0; i < r->call_count; i++) {
        plan_note_calls(f->p, r->calls[i]);
        n->rows = MAX(n->rows, function_rows(r->calls[i]));
    }
    n->cost = n->rows * 0.001;
    for (u32 c = 0; c < r->column_count; c++) {
        TypeId type = r->columns[c].type;
        n->slots[c] = (PlanSlot){.leaf = LEAF_COLUMN, .rel = rel, .column = (u16)c, .type = type, .typmod = -1, .phys = phys_of(type, -1), .nullable = true,
                                 .stable = true};
    }
    return n;
}

PlanNode *
plan_relation(FromPlanner *f, u16 rel, const ColumnSet *need, const ConjunctList *conjuncts)
{
    switch (f->query->rels[rel].kind) {
    case BREL_TABLE:
        return plan_table(f, rel, need, conjuncts);
    case BREL_VALUES:
        return plan_filter(f->p, plan_values(f, rel), conjuncts);
    case BREL_SUBQUERY:
        return plan_filter(f->p, plan_subquery(f, rel), conjuncts);
    case BREL_CTE:
        if (!bcte_is_shared(f->query->rels[rel].cte))
            return plan_filter(f->p, plan_subquery(f, rel), conjuncts);
        return plan_filter(f->p, plan_shared(f, rel), conjuncts);
    case BREL_APPEND:
        return plan_filter(f->p, plan_append(f, rel), conjuncts);
    case BREL_FUNCTION:
        return plan_filter(f->p, plan_function(f, rel), conjuncts);
    case BREL_SYSTEM:
        return plan_system(f, rel, need, conjuncts);
    case BREL_LATERAL: /* from.c: it needs a left side */
        break;
    }
    err_throw(ERR_INTERNAL_ERROR, "unknown relation kind %d", (int)f->query->rels[rel].kind);
}
