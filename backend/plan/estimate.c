/*
 * estimate.c
 *    How many rows: what is known of a column without statistics of its own, and what joins and conditions make of it.
 *
 * Integers, dates and short decimals have as many values as lie between the least and the greatest, which the blocks know; text has as many as its dictionary;
 * a column that is a key by itself has one a row. Of a large table some blocks are looked at, the first and the last among them. Values are taken to be
 * spread evenly and conditions to be independent of each other.
 */
#include "backend/plan/planner.h"

enum { LOOK_BLOCKS = 64 };

static bool
is_key(const TableDef *t, u16 column)
{
    for (u16 k = 0; k < t->key_count; k++)
        if (t->keys[k].column_count == 1 && t->keys[k].columns[0] == column)
            return true;
    return false;
}

static bool
int_range(const TableShm *t, u16 column, i64 *ret_lo, i64 *ret_hi)
{
    *ret_lo = INT64_MAX;
    *ret_hi = INT64_MIN;
    u32 count = table_block_count(t), step = MAX(1u, count / LOOK_BLOCKS);
    for (u32 i = 0; i < count; i = i < count - 1 ? MIN(i + step, count - 1) : count) {
        BlockView b;
        if (block_view(t, i, &b) && b.row_count && !slice_int_range(&b, column, ret_lo, ret_hi))
            return false;
    }
    return *ret_lo <= *ret_hi;
}

static ColumnGuess
look(FromPlanner *f, u16 rel, u16 column)
{
    const BRel *r = &f->query->rels[rel];
    ColumnGuess g = {.looked = true};
    const TableShm *t = store_table(f->p->root, r->table_id);
    const TableDef *def = t ? table_def(t) : NULL;
    if (!def || column >= def->column_count)
        return g;
    g.rows = MAX(1.0, (double)table_live_estimate(t));
    if (def->columns[column].phys == PHYS_STR) {
        const DictShm *d = table_dict(t, column);
        g.distinct = d ? MIN(g.rows, (double)MAX(1u, dict_count(d))) : 1;
    } else if (def->columns[column].phys == PHYS_BOOL)
        g.distinct = MIN(g.rows, 2);
    else if (int_range(t, column, &g.low, &g.high)) {
        g.has_range = true;
        g.distinct = MIN(g.rows, (double)g.high - (double)g.low + 1);
    }
    if (is_key(def, column))
        g.distinct = g.rows;
    return g;
}

ColumnGuess
estimate_column(FromPlanner *f, u16 rel, u16 column)
{
    const BRel *r = &f->query->rels[rel];
    if (r->kind != BREL_TABLE || column >= r->column_count)
        return (ColumnGuess){0};
    if (!f->guesses)
        f->guesses = ARENA_ARRAY(f->p->arena, ColumnGuess *, f->query->rel_count);
    if (!f->guesses[rel])
        f->guesses[rel] = ARENA_ARRAY(f->p->arena, ColumnGuess, r->column_count);
    ColumnGuess *g = &f->guesses[rel][column];
    if (!g->looked)
        *g = look(f, rel, column);
    return *g;
}

/* Of a plain column, however widened; 0: unknown. */
static double
distinct_of(FromPlanner *f, const BExpr *e)
{
    e = expr_strip_widening(e);
    return e->kind == BX_COLUMN ? estimate_column(f, e->rel, e->column).distinct : 0;
}

/* The table of a multi-column key that these expressions hold whole; its rows, 0: none. */
static double
whole_key_rows(FromPlanner *f, const BExpr *const *keys, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        const BExpr *e = expr_strip_widening(keys[i]);
        const BRel *r = e->kind == BX_COLUMN ? &f->query->rels[e->rel] : NULL;
        const TableShm *t = r && r->kind == BREL_TABLE ? store_table(f->p->root, r->table_id) : NULL;
        const TableDef *def = t ? table_def(t) : NULL;
        for (u16 k = 0; def && k < def->key_count; k++) {
            u32 found = 0;
            for (u32 j = 0; j < count; j++) {
                const BExpr *c = expr_strip_widening(keys[j]);
                for (u32 m = 0; m < def->keys[k].column_count && c->kind == BX_COLUMN && c->rel == e->rel; m++)
                    found += c->column == def->keys[k].columns[m];
            }
            if (found >= def->keys[k].column_count && def->keys[k].column_count > 1)
                return MAX(1.0, (double)table_live_estimate(t));
        }
    }
    return 0;
}

double
estimate_keys(FromPlanner *f, const BExpr *const *left, const BExpr *const *right, u32 count, double left_rows, double right_rows)
{
    double share = 1;
    for (u32 i = 0; i < count; i++) {
        double l = distinct_of(f, left[i]), r = distinct_of(f, right[i]), most = MAX(l, r);
        share /= most > 0 ? most : MAX(1.0, MIN(left_rows, right_rows));
    }
    double whole = MAX(whole_key_rows(f, left, count), whole_key_rows(f, right, count));
    if (whole > 0)
        share = MAX(share, 1 / whole);
    return share;
}

/* The place of a constant among the values of a column, 0 to 1; negative: unknown. */
static double
place_of(const ColumnGuess *g, const BExpr *value)
{
    const Value *v = &value->value;
    if (value->kind != BX_CONST || v->is_null || !g->has_range)
        return -1;
    double at;
    switch (v->type) {
    case TYPE_INT2: at = v->i16v; break;
    case TYPE_INT4: case TYPE_DATE: at = v->i32v; break;
    case TYPE_INT8: case TYPE_TIMESTAMP: case TYPE_TIMESTAMPTZ: at = (double)v->i64v; break;
    default: return -1;
    }
    double below = (at - (double)g->low) / ((double)g->high - (double)g->low + 1);
    return below < 0 ? 0 : below > 1 ? 1 : below;
}

double
estimate_comparison(FromPlanner *f, u16 rel, u16 column, PlanOp op, const BExpr *value, double otherwise)
{
    ColumnGuess g = estimate_column(f, rel, column);
    if (op == OP_EQ || op == OP_NE)
        return g.distinct <= 0 ? otherwise : op == OP_EQ ? 1 / g.distinct : 1 - 1 / g.distinct;
    double below = value->type == f->query->rels[rel].columns[column].type ? place_of(&g, value) : -1;
    if (below < 0)
        return otherwise;
    double share = op == OP_LT || op == OP_LE ? below : 1 - below;
    return MAX(share, 1 / MAX(g.distinct, 1.0));
}
