/*
 * explain.c
 *    A plan as text in PostgreSQL's look, or as JSON; with figures of an execution beside the estimates.
 */
#include "backend/sql/deparse.h"
#include "backend/plan/node.h"

typedef struct Explain {
    Deparse deparse;
    ByteBuf *to;
    const PlanFigures *figures;
} Explain;

static u32
row_width(const PlanNode *n)
{
    u32 width = 0;
    for (u32 i = 0; i < n->slot_count; i++)
        width += n->slots[i].phys == PHYS_STR ? 32 : phys_width(n->slots[i].phys);
    return width;
}

static const char *
node_name(const PlanNode *n)
{
#define JOIN_NAMES(name, inner)                                                                                                        \
    {[BJOIN_INNER] = inner, [BJOIN_LEFT] = name " Left Join", [BJOIN_FULL] = name " Full Join", [BJOIN_SEMI] = name " Semi Join",     \
     [BJOIN_ANTI] = name " Anti Join", [BJOIN_RIGHT_SEMI] = name " Right Semi Join", [BJOIN_RIGHT_ANTI] = name " Right Anti Join"}
    static const char *const HASH[] = JOIN_NAMES("Hash", "Hash Join"), *const LOOP[] = JOIN_NAMES("Nested Loop", "Nested Loop"),
                             *const KEY[] = JOIN_NAMES("Key Lookup", "Key Lookup Join");
    switch (n->kind) {
    case PN_VALUES: return n->slot_count || n->values.row_count != 1 ? "Values Scan" : "Result";
    case PN_SCAN: return "Seq Scan";
    case PN_KEY: return "Key Lookup";
    case PN_FILTER: return "Filter";
    case PN_PROJECT: return "Project";
    case PN_HASH_JOIN: return HASH[n->join.kind];
    case PN_LOOP_JOIN: return LOOP[n->join.kind];
    case PN_KEY_JOIN: return KEY[n->join.kind];
    case PN_AGG: return n->agg.group_count ? "HashAggregate" : "Aggregate";
    case PN_SORT: return "Sort";
    case PN_TOPN: return "Top-N Sort";
    case PN_LIMIT: return "Limit";
    case PN_FETCH: return "Fetch";
    case PN_APPEND: return "Append";
    case PN_WINDOW: return "WindowAgg";
    case PN_SHARED: return n->shared.work ? "WorkTable Scan" : "CTE Scan";
    case PN_REPEAT: return "Repeat";
    case PN_FUNCTION: return "Function Scan";
    case PN_SYSTEM: return "System Scan";
    case PN_LATERAL: return n->lateral.left ? "Lateral Left Join" : "Lateral Join";
    case PN_LOCK: return "LockRows";
    }
    return "?";
}

/* Projections that only pass columns on say nothing. */
static const PlanNode *
shown(const PlanNode *n)
{
    while (n->kind == PN_PROJECT)
        n = n->left;
    return n;
}

static void
indent(Explain *x, u32 level, u32 extra)
{
    for (u32 i = 0; i < level * 6 + extra; i++)
        buf_u8(x->to, ' ');
}

static void
put_conjuncts(Explain *x, u32 level, const char *label, const BExpr *const *items, u32 count)
{
    if (!count)
        return;
    indent(x, level, 2);
    buf_printf(x->to, "%s: ", label);
    if (count > 1)
        buf_u8(x->to, '(');
    for (u32 i = 0; i < count; i++) {
        if (i)
            buf_str(x->to, " AND ");
        deparse_expr(&x->deparse, items[i]);
    }
    buf_str(x->to, count > 1 ? ")\n" : "\n");
}

static void
put_keys(Explain *x, u32 level, const PlanNode *n)
{
    indent(x, level, 2);
    buf_str(x->to, "Sort Key: ");
    for (u32 i = 0; i < n->sort.key_count; i++) {
        const PlanSortKey *k = &n->sort.keys[i];
        const PlanNode *in = n->left;
        const BExpr *e = in->kind == PN_PROJECT ? in->project[k->column].expr : NULL;
        const PlanSlot *s = &in->slots[k->column];
        BExpr leaf = {.kind = BX_COLUMN, .rel = s->rel, .column = s->column};
        if (!e && s->leaf == LEAF_COLUMN)
            e = &leaf;
        buf_str(x->to, i ? ", " : "");
        if (e)
            deparse_expr(&x->deparse, e);
        else
            buf_printf(x->to, "column %u", k->column + 1);
        buf_str(x->to, k->descending ? " DESC" : "");
        if (k->nulls_first != k->descending)
            buf_str(x->to, k->nulls_first ? " NULLS FIRST" : " NULLS LAST");
    }
    buf_u8(x->to, '\n');
}

static void
put_groups(Explain *x, u32 level, const PlanNode *n)
{
    if (!n->agg.group_count)
        return;
    indent(x, level, 2);
    buf_str(x->to, "Group Key: ");
    for (u32 i = 0; i < n->agg.group_count; i++) {
        buf_str(x->to, i ? ", " : "");
        if (n->agg.groups[i].expr)
            deparse_expr(&x->deparse, n->agg.groups[i].expr);
        else
            buf_printf(x->to, "column %u", i + 1);
    }
    buf_u8(x->to, '\n');
}

static void
put_measured(Explain *x, u32 level, const PlanNode *n)
{
    if (!x->figures)
        return;
    const PlanFigures *f = &x->figures[n->id];
    if (n->kind == PN_SCAN) {
        if (f->rows_removed) {
            indent(x, level, 2);
            buf_printf(x->to, "Rows Removed by Filter: %llu\n", (unsigned long long)f->rows_removed);
        }
        indent(x, level, 2);
        buf_printf(x->to, "Blocks: %llu, skipped: %llu\n", (unsigned long long)f->blocks, (unsigned long long)f->blocks_skipped);
    }
    if (f->workers) {
        indent(x, level, 2);
        buf_printf(x->to, "Workers: %u, time in pipeline: %.3f ms\n", f->workers, (double)f->time_ns / 1e6);
    }
}

static void
put_details(Explain *x, u32 level, const PlanNode *n)
{
    switch (n->kind) {
    case PN_SCAN: put_conjuncts(x, level, "Filter", n->scan.conjuncts, n->scan.conjunct_count); break;
    case PN_KEY: put_conjuncts(x, level, "Key Cond", n->key.conjuncts, n->key.conjunct_count); break;
    case PN_FILTER: put_conjuncts(x, level, "Filter", &n->filter.expr, 1); break;
    case PN_HASH_JOIN: put_conjuncts(x, level, "Hash Cond", n->join.conjuncts, n->join.conjunct_count); break;
    case PN_KEY_JOIN: put_conjuncts(x, level, "Key Cond", n->join.conjuncts, n->join.conjunct_count); break;
    case PN_LOOP_JOIN: put_conjuncts(x, level, "Join Filter", n->join.conjuncts, n->join.conjunct_count); break;
    case PN_AGG: put_groups(x, level, n); break;
    case PN_SORT:
    case PN_TOPN: put_keys(x, level, n); break;
    default: break;
    }
    put_measured(x, level, n);
}

static bool
has_table(const PlanNode *n)
{
    return n->kind == PN_SCAN || n->kind == PN_KEY || n->kind == PN_KEY_JOIN || n->kind == PN_FETCH || n->kind == PN_SHARED;
}

static void
put_node(Explain *x, const PlanNode *n, u32 level)
{
    n = shown(n);
    x->deparse.query = n->query;
    if (level) {
        indent(x, level - 1, 2);
        buf_str(x->to, "->  ");
    }
    buf_str(x->to, node_name(n));
    if (has_table(n) && n->table.len) {
        buf_printf(x->to, " on %.*s", (int)n->table.len, n->table.ptr);
        if (n->alias.len && !str_eq(n->alias, n->table))
            buf_printf(x->to, " %.*s", (int)n->alias.len, n->alias.ptr);
    }
    double start = n->left ? n->left->cost : 0;
    buf_printf(x->to, "  (cost=%.2f..%.2f rows=%.0f width=%u)", MIN(start, n->cost), n->cost, n->rows, row_width(n));
    if (x->figures)
        buf_printf(x->to, " (actual rows=%llu)", (unsigned long long)x->figures[n->id].rows);
    buf_u8(x->to, '\n');
    put_details(x, level, n);
    if (n->left)
        put_node(x, n->left, level + 1);
    if (n->right)
        put_node(x, n->right, level + 1);
}

/* ---- JSON ---- */

static void
json_text(ByteBuf *to, Str s)
{
    buf_u8(to, '"');
    for (u32 i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c == '"' || c == '\\')
            buf_printf(to, "\\%c", c);
        else if (c < 0x20)
            buf_printf(to, "\\u%04x", c);
        else
            buf_u8(to, c);
    }
    buf_u8(to, '"');
}

static void
json_node(Explain *x, const PlanNode *n, u32 level)
{
    n = shown(n);
    x->deparse.query = n->query;
    ByteBuf *to = x->to;
    indent(x, 0, level * 2);
    buf_str(to, "{\"Node Type\": ");
    json_text(to, str_of(node_name(n)));
    if (has_table(n) && n->table.len) {
        buf_str(to, ", \"Relation Name\": ");
        json_text(to, n->table);
        buf_str(to, ", \"Alias\": ");
        json_text(to, n->alias);
    }
    buf_printf(to, ", \"Startup Cost\": %.2f, \"Total Cost\": %.2f, \"Plan Rows\": %.0f, \"Plan Width\": %u", n->left ? n->left->cost : 0.0,
               n->cost, n->rows, row_width(n));
    if (x->figures) {
        const PlanFigures *f = &x->figures[n->id];
        buf_printf(to, ", \"Actual Rows\": %llu, \"Actual Total Time\": %.3f, \"Workers\": %u, \"Blocks\": %llu, \"Blocks Skipped\": %llu",
                   (unsigned long long)f->rows, (double)f->time_ns / 1e6, f->workers, (unsigned long long)f->blocks,
                   (unsigned long long)f->blocks_skipped);
    }
    if (n->left || n->right) {
        buf_str(to, ", \"Plans\": [\n");
        if (n->left)
            json_node(x, n->left, level + 1);
        if (n->left && n->right)
            buf_str(to, ",\n");
        if (n->right)
            json_node(x, n->right, level + 1);
        buf_u8(to, ']');
    }
    buf_u8(to, '}');
}

static const char *
change_name(const BStmt *s)
{
    return s->kind == BST_INSERT ? "Insert" : s->kind == BST_UPDATE ? "Update" : s->kind == BST_DELETE ? "Delete" : NULL;
}

void
plan_explain(const Plan *p, Arena *a, ByteBuf *to, bool json, const struct PlanFigures *figures)
{
    Explain x = {.deparse = {.arena = a, .to = to}, .to = to, .figures = figures};
    if (!p->root) {
        buf_str(to, json ? "[{\"Plan\": {\"Node Type\": \"Utility\"}}]" : "Utility Statement\n");
        return;
    }
    if (json) {
        buf_str(to, "[\n  {\"Plan\":\n");
        json_node(&x, p->root, 2);
        buf_str(to, "\n  }\n]");
        return;
    }
    const char *change = change_name(p->stmt);
    if (change)
        buf_printf(to, "%s on %.*s  (cost=%.2f..%.2f rows=%.0f width=0)\n", change, (int)p->stmt->table_name.len, p->stmt->table_name.ptr,
                   p->root->cost, p->root->cost, p->root->rows);
    put_node(&x, p->root, change ? 1 : 0);
    for (u32 i = 0; i < p->cte_count; i++) {
        const BCte *c = p->stmt->ctes[i];
        Explain base = {.deparse = {.arena = a, .to = to}, .to = to}, step = {.deparse = {.arena = a, .to = to}, .to = to};
        if (!p->ctes[i])
            continue;
        buf_printf(to, "  CTE %.*s\n", (int)c->name.len, c->name.ptr);
        put_node(&base, p->ctes[i]->root, 2);
        if (p->steps[i])
            put_node(&step, p->steps[i]->root, 2);
    }
    for (u32 i = 0; i < p->sub_count; i++) {
        const BSub *sub = p->stmt->subs[i];
        if (sub->capture_count && !p->sub_used[i])
            continue;
        if (sub->capture_count || sub->kind == BSUB_IN)
            buf_printf(to, "  SubPlan %u\n", i + 1);
        else
            buf_printf(to, "  InitPlan %u (returns $%u)\n", i + 1, sub->result);
        Explain inner = {.deparse = {.arena = a, .to = to}, .to = to};
        put_node(&inner, p->subs[i]->root, 2);
    }
}
