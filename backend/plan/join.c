/*
 * join.c
 *    One join of two planned sides: which conditions are keys, which operator, what leaves it.
 */
#include "backend/plan/planner.h"

typedef struct JoinParts {
    u32 key_count;
    const BExpr **left_keys, **right_keys;
    ConjunctList residual;
} JoinParts;

static const double OTHER_SHARE = 0.3333; /* of the pairs that a condition leaves which is no equality */

static bool
side_of(const BExpr *e, const RelSet *rels)
{
    RelSet used = {0};
    relset_add_expr(&used, e);
    return !relset_empty(&used) && relset_within(&used, rels) && !bexpr_is_volatile(e);
}

static bool
is_time(TypeId t)
{
    return t == TYPE_DATE || t == TYPE_TIMESTAMP || t == TYPE_TIMESTAMPTZ;
}

static const BExpr *
as_date(FromPlanner *f, const BExpr *e)
{
    if (e->type == TYPE_DATE)
        return e;
    BExpr *cast = ARENA_NEW(f->p->arena, BExpr);
    *cast = (BExpr){.kind = BX_CAST, .type = TYPE_DATE, .typmod = -1, .explicit_cast = true, .arg_count = 1};
    cast->args = ARENA_NEW(f->p->arena, BExpr *);
    cast->args[0] = (BExpr *)(uintptr_t)e;
    return cast;
}

/*
 * Equal values of one type have equal keys. A date and a time stamp that are equal fall on one day, so the days are the key and the condition
 * stays with the residual ones; casts to the wider type would fail on days that no time stamp reaches.
 */
static void
add_key(FromPlanner *f, JoinParts *parts, const BExpr *left, const BExpr *right, const BExpr *condition)
{
    if (left->type != right->type && is_time(left->type) && is_time(right->type)) {
        left = as_date(f, left);
        right = as_date(f, right);
        conjunct_add(f->p, &parts->residual, condition);
    }
    parts->left_keys[parts->key_count] = left;
    parts->right_keys[parts->key_count++] = right;
}

static void
split_conditions(FromPlanner *f, const ConjunctList *conds, const RelSet *left, const RelSet *right, JoinParts *ret)
{
    *ret = (JoinParts){.left_keys = ARENA_ARRAY(f->p->arena, const BExpr *, conds->count),
                       .right_keys = ARENA_ARRAY(f->p->arena, const BExpr *, conds->count)};
    for (u32 i = 0; i < conds->count; i++) {
        const BExpr *e = conds->items[i];
        PlanOp op;
        if (expr_comparison(e, &op) && op == OP_EQ) {
            const BExpr *a = e->args[0], *b = e->args[1];
            if (side_of(b, left) && side_of(a, right)) {
                const BExpr *t = a;
                a = b;
                b = t;
            }
            if (side_of(a, left) && side_of(b, right)) {
                add_key(f, ret, a, b, e);
                continue;
            }
        }
        conjunct_add(f->p, &ret->residual, e);
    }
}

static double
pair_rows(FromPlanner *f, const JoinParts *parts, const RelSet *left, const RelSet *right, double left_rows, double right_rows)
{
    RelSet both = *left;
    relset_union(&both, right);
    double rows = left_rows * right_rows * estimate_keys(f, parts->left_keys, parts->right_keys, parts->key_count, left_rows, right_rows);
    for (u32 i = 0; i < parts->residual.count; i++) {
        RelSet used = {0};
        relset_add_expr(&used, parts->residual.items[i]);
        if (relset_within(&used, &both) && relset_meets(&used, left) && relset_meets(&used, right))
            rows *= OTHER_SHARE;
    }
    return MAX(rows, 1.0);
}

double
plan_join_rows(FromPlanner *f, const ConjunctList *conds, const RelSet *left, const RelSet *right, double left_rows, double right_rows,
               bool *ret_connected)
{
    JoinParts parts;
    split_conditions(f, conds, left, right, &parts);
    *ret_connected = parts.key_count > 0;
    return pair_rows(f, &parts, left, right, left_rows, right_rows);
}

/* What comes out of a join of this kind. */
static double
joined_rows(BJoinKind kind, double pairs, double left_rows, double right_rows)
{
    switch (kind) {
    case BJOIN_LEFT: return MAX(pairs, left_rows);
    case BJOIN_FULL: return MAX(pairs, MAX(left_rows, right_rows));
    case BJOIN_SEMI: return MIN(pairs, left_rows);
    case BJOIN_ANTI: return MAX(left_rows - pairs, left_rows * 0.1);
    default: return pairs;
    }
}

static PlanSlot *
both_slots(Planner *p, const PlanSlot *a, u32 a_count, const PlanSlot *b, u32 b_count, bool b_nullable)
{
    PlanSlot *slots = ARENA_ARRAY(p->arena, PlanSlot, a_count + b_count);
    if (a_count)
        memcpy(slots, a, a_count * sizeof *a);
    if (b_count)
        memcpy(slots + a_count, b, b_count * sizeof *b);
    for (u32 i = 0; b_nullable && i < b_count; i++)
        slots[a_count + i].nullable = true;
    return slots;
}

/* Which of the joined slots are still needed above. */
static void
set_join_slots(FromPlanner *f, PlanNode *n, const PlanSlot *slots, u32 count, const ColumnSet *need)
{
    n->join.out = ARENA_ARRAY(f->p->arena, u16, count);
    n->slots = ARENA_ARRAY(f->p->arena, PlanSlot, count);
    n->slot_count = 0;
    for (u32 i = 0; i < count; i++)
        if (column_set_has(f, need, slots[i].rel, slots[i].column)) {
            n->join.out[n->slot_count] = (u16)i;
            n->slots[n->slot_count++] = slots[i];
        }
}

/* The key of a plain scanned table that the join conditions fix entirely; order[i] = condition for its i-th column. */
static const KeyDef *
covered_key(FromPlanner *f, const PlanNode *right, const RelSet *right_rels, const JoinParts *parts, u16 *ret_key, u32 *order)
{
    if (right->kind != PN_SCAN)
        return NULL;
    for (u16 r = 0; r < f->query->rel_count; r++) { /* a sub-query's plan may be a scan, too, of columns that are not ours */
        RelSet one = {0};
        relset_add(&one, r);
        if (f->query->rels[r].kind != BREL_TABLE && relset_within(&one, right_rels))
            return NULL;
    }
    const TableDef *t = catalog_table(f->p->root, right->scan.table_id);
    for (u16 k = 0; t && k < t->key_count; k++) {
        const KeyDef *key = &t->keys[k];
        u32 found = 0;
        for (; found < key->column_count; found++) {
            u32 i = 0;
            for (; i < parts->key_count; i++) {
                const BExpr *c = expr_strip_widening(parts->right_keys[i]);
                if (c->kind == BX_COLUMN && c->column == key->columns[found] && expr_fits_key(c->type, parts->left_keys[i]->type))
                    break;
            }
            if (i == parts->key_count)
                break;
            order[found] = i;
        }
        if (found == key->column_count) {
            *ret_key = k;
            return key;
        }
    }
    return NULL;
}

/* Few left rows against a table with a fitting key: look each up. NULL when that does not apply. */
static PlanNode *
try_key_join(FromPlanner *f, BJoinKind kind, PlanNode *left, PlanNode *right, const RelSet *right_rels, const JoinParts *parts,
             const ColumnSet *need)
{
    Planner *p = f->p;
    u32 order[MAX_KEY_COLUMNS];
    u16 k;
    const KeyDef *key = covered_key(f, right, right_rels, parts, &k, order);
    if (!key)
        return NULL;
    double table_rows = (double)table_live_estimate(store_table(p->root, right->scan.table_id));
    if (left->rows * 20 > table_rows)
        return NULL;
    ColumnSet all = column_set_copy(f, need);
    ConjunctList residual = parts->residual;
    for (u32 i = 0; i < parts->key_count; i++) {
        bool in_key = false;
        for (u32 j = 0; j < key->column_count; j++)
            in_key = in_key || order[j] == i;
        if (!in_key)
            return NULL;
    }
    for (u32 i = 0; i < right->scan.conjunct_count; i++)
        conjunct_add(p, &residual, right->scan.conjuncts[i]);
    for (u32 i = 0; i < residual.count; i++)
        column_set_add_expr(f, &all, residual.items[i]);

    u16 rel = 0;
    const BExpr *column = expr_strip_widening(parts->right_keys[0]);
    rel = column->rel;
    ConjunctList none = {0};
    PlanNode *bare = plan_relation(f, rel, &all, &none);
    PlanNode *n = node_new(p, PN_KEY_JOIN, 0);
    PlanJoin *j = &n->join;
    j->kind = kind;
    j->key_count = key->column_count;
    j->left_keys = ARENA_ARRAY(p->arena, PlanExpr, key->column_count);
    for (u32 i = 0; i < key->column_count; i++)
        j->left_keys[i] = plan_expr(p, parts->left_keys[order[i]], left);
    j->key_join = ARENA_NEW(p->arena, PlanKey);
    *j->key_join = (PlanKey){.table_id = right->scan.table_id, .key = k, .key_column_count = key->column_count, .columns = bare->scan.columns};
    j->key_slots = bare->slots;
    j->key_slot_count = bare->slot_count;
    PlanSlot *slots = both_slots(p, left->slots, left->slot_count, bare->slots, bare->slot_count, kind == BJOIN_LEFT);
    const BExpr *cond = conjuncts_join(p, residual.items, residual.count);
    if (cond)
        j->residual = plan_compile(p, cond, slots, left->slot_count + bare->slot_count);
    set_join_slots(f, n, slots, left->slot_count + bare->slot_count, need);
    n->left = left;
    n->table = right->table;
    n->alias = right->alias;
    n->cost = left->cost + left->rows * 0.5;
    return n;
}

static bool
compile_keys(FromPlanner *f, PlanNode *n, const JoinParts *parts, ConjunctList *residual, const ConjunctList *conds)
{
    Planner *p = f->p;
    PlanJoin *j = &n->join;
    j->left_keys = ARENA_ARRAY(p->arena, PlanExpr, parts->key_count);
    j->right_keys = ARENA_ARRAY(p->arena, PlanExpr, parts->key_count);
    j->classes = ARENA_ARRAY(p->arena, KeyClass, parts->key_count);
    for (u32 i = 0; i < parts->key_count; i++) {
        PlanExpr l = plan_expr(p, parts->left_keys[i], n->left), r = plan_expr(p, parts->right_keys[i], n->right);
        PlanSlot ls = plan_expr_slot(&l, parts->left_keys[i], n->left), rs = plan_expr_slot(&r, parts->right_keys[i], n->right);
        if (!key_class_of(&ls, &rs, &j->classes[i])) {
            *residual = *conds;
            return false;
        }
        j->left_keys[i] = l;
        j->right_keys[i] = r;
    }
    j->key_count = parts->key_count;
    return parts->key_count > 0;
}

static bool
is_exists(BJoinKind kind)
{
    return kind == BJOIN_SEMI || kind == BJOIN_ANTI;
}

static void
swap_sides(PlanNode **left, PlanNode **right, JoinParts *parts)
{
    PlanNode *t = *left;
    *left = *right;
    *right = t;
    const BExpr **k = parts->left_keys;
    parts->left_keys = parts->right_keys;
    parts->right_keys = k;
}

PlanNode *
plan_join(FromPlanner *f, BJoinKind kind, PlanNode *left, const RelSet *left_rels, PlanNode *right, const RelSet *right_rels,
          const ConjunctList *conds, const ColumnSet *need)
{
    Planner *p = f->p;
    JoinParts parts;
    split_conditions(f, conds, left_rels, right_rels, &parts);
    PlanNode *n = kind == BJOIN_FULL ? NULL : try_key_join(f, kind, left, right, right_rels, &parts, need);
    double pairs = pair_rows(f, &parts, left_rels, right_rels, left->rows, right->rows), rows = joined_rows(kind, pairs, left->rows, right->rows);
    if (n) {
        n->rows = rows;
        n->join.conjuncts = conds->items;
        n->join.conjunct_count = conds->count;
        return n;
    }
    bool swap = parts.key_count && (kind == BJOIN_INNER ? right->rows > left->rows : is_exists(kind) && right->rows > left->rows * 2);
    n = node_new(p, PN_HASH_JOIN, 0);
    if (swap)
        swap_sides(&left, &right, &parts);
    n->left = left;
    n->right = right;
    ConjunctList residual = parts.residual;
    if (compile_keys(f, n, &parts, &residual, conds)) {
        if (swap && is_exists(kind))
            kind = kind == BJOIN_SEMI ? BJOIN_RIGHT_SEMI : BJOIN_RIGHT_ANTI;
    } else {
        n->kind = PN_LOOP_JOIN;
        if (swap)
            swap_sides(&left, &right, &parts);
        n->left = left;
        n->right = right;
    }
    n->join.kind = kind;
    PlanSlot *slots = both_slots(p, left->slots, left->slot_count, right->slots, right->slot_count, kind == BJOIN_LEFT || kind == BJOIN_FULL);
    for (u32 i = 0; i < left->slot_count && kind == BJOIN_FULL; i++)
        slots[i].nullable = true;
    const BExpr *cond = conjuncts_join(p, residual.items, residual.count);
    if (cond)
        n->join.residual = plan_compile(p, cond, slots, left->slot_count + right->slot_count);
    set_join_slots(f, n, slots, left->slot_count + right->slot_count, need);
    n->join.conjuncts = conds->items;
    n->join.conjunct_count = conds->count;
    n->rows = rows;
    n->cost = left->cost + right->cost + (n->kind == PN_HASH_JOIN ? left->rows * 0.005 + right->rows * 0.02 : left->rows * right->rows * 0.002);
    return n;
}
