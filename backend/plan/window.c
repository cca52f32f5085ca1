/*
 * window.c
 *    Windows of a query: for each, its keys and its calls' arguments are computed behind the input's columns, and a PN_WINDOW node sorts and adds a
 *    column a call.
 */
#include "backend/plan/planner.h"

typedef struct Wide {
    PlanNode *node;   /* PN_PROJECT: the input's columns, then those added */
    PlanNode *input;
    u32 capacity;
} Wide;

static u16
add_column(Planner *p, Wide *w, const BExpr *e)
{
    PlanNode *n = w->node;
    for (u32 i = 0; i < n->slot_count; i++)
        if (n->project[i].expr == e || (e->kind != BX_CONST && n->project[i].column >= 0 && plan_expr(p, e, w->input).column == n->project[i].column))
            return (u16)i;
    ensure(n->slot_count < w->capacity);
    n->project[n->slot_count] = plan_expr(p, e, w->input);
    n->slots[n->slot_count] = plan_expr_slot(&n->project[n->slot_count], e, w->input);
    return (u16)n->slot_count++;
}

static Wide
widen(Planner *p, PlanNode *input, u32 more)
{
    Wide w = {.node = node_new(p, PN_PROJECT, input->slot_count + more), .input = input, .capacity = input->slot_count + more};
    w.node->left = input;
    w.node->rows = input->rows;
    w.node->cost = input->cost;
    w.node->slot_count = input->slot_count;
    w.node->project = ARENA_ARRAY(p->arena, PlanExpr, w.capacity);
    for (u32 i = 0; i < input->slot_count; i++) {
        w.node->project[i] = (PlanExpr){.column = (i32)i};
        w.node->slots[i] = input->slots[i];
    }
    return w;
}

/* An aggregate that looks at all rows of its frame at once. */
static PlanFold *
frame_fold(Planner *p, const PlanNode *n, const PlanWinCall *c)
{
    const BWinCall *b = c->bound;
    PlanFold *f = ARENA_NEW(p->arena, PlanFold);
    *f = (PlanFold){.arg_count = b->arg_count, .column_count = b->arg_count, .type = b->type, .typmod = b->typmod};
    f->slots = ARENA_ARRAY(p->arena, PlanSlot, b->arg_count);
    for (u32 i = 0; i < b->arg_count; i++)
        f->slots[i] = n->left->slots[c->args[i]];
    return f;
}

static void
set_result_slot(Planner *p, PlanNode *n, u32 at, u32 index, PlanWinCall *c)
{
    const BWinCall *b = c->bound;
    PlanSlot *s = &n->slots[at];
    *s = (PlanSlot){.leaf = LEAF_WINDOW, .index = index, .type = b->type, .typmod = b->typmod, .phys = phys_of(b->type, b->typmod), .nullable = true,
                    .stable = true};
    if (b->kind == BWIN_AGGREGATE) {
        const PlanSlot *arg = b->arg_count ? &n->left->slots[c->args[0]] : NULL;
        if (agg_folds(agg_def(b->agg)->op)) {
            c->fold = frame_fold(p, n, c);
            c->kernel = agg_holder(s->phys, 0);
        } else if (!agg_kernel(b->agg, arg ? arg->phys : PHYS_BOOL, arg ? arg->scale : 0, &c->kernel))
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "aggregate %s is not supported for this type yet", agg_def(b->agg)->name);
        s->phys = c->kernel.ret_phys;
        s->scale = c->kernel.ret_scale;
    } else if (b->kind >= BWIN_LAG) {
        const PlanSlot *value = &n->left->slots[c->args[0]];
        s->phys = value->phys;
        s->scale = value->scale;
        if (b->arg_count > 2 && (n->left->slots[c->args[2]].phys != s->phys || n->left->slots[c->args[2]].scale != s->scale)) {
            s->phys = phys_of(b->type, -1); /* the value and its default are of several forms: that of any number */
            s->scale = 0;
        }
    }
}

static PlanNode *
plan_one(Planner *p, const BQuery *q, u32 window, PlanNode *input)
{
    const BWindow *w = q->windows[window];
    u32 calls = 0, extra = w->partition_count + w->order_count;
    for (u32 i = 0; i < q->win_call_count; i++)
        if (q->win_calls[i]->window == window) {
            calls++;
            extra += q->win_calls[i]->arg_count + 1;
        }
    Wide wide = widen(p, input, extra);
    PlanNode *n = node_new(p, PN_WINDOW, 0);
    n->window.bound = w;
    n->window.partition_count = w->partition_count;
    n->window.key_count = w->partition_count + w->order_count;
    n->window.keys = ARENA_ARRAY(p->arena, PlanSortKey, n->window.key_count);
    for (u32 i = 0; i < w->partition_count; i++)
        plan_need_equality(w->partition[i]->type, w->partition[i]->typmod, w->partition[i]->position);
    for (u32 i = 0; i < w->order_count; i++)
        plan_need_equality(w->order[i]->type, w->order[i]->typmod, w->order[i]->position);
    for (u32 i = 0; i < w->partition_count; i++)
        n->window.keys[i] = (PlanSortKey){.column = add_column(p, &wide, w->partition[i])};
    for (u32 i = 0; i < w->order_count; i++)
        n->window.keys[w->partition_count + i] = (PlanSortKey){add_column(p, &wide, w->order[i]), w->directions[i].descending, w->directions[i].nulls_first};
    n->window.calls = ARENA_ARRAY(p->arena, PlanWinCall, calls);
    for (u32 i = 0; i < q->win_call_count; i++) {
        const BWinCall *b = q->win_calls[i];
        if (b->window != window)
            continue;
        PlanWinCall *c = &n->window.calls[n->window.call_count++];
        c->bound = b;
        c->filter = -1;
        for (u32 k = 0; k < b->arg_count; k++)
            c->args[k] = add_column(p, &wide, b->args[k]);
        if (b->filter)
            c->filter = add_column(p, &wide, b->filter);
    }
    n->left = wide.node;
    n->slot_count = wide.node->slot_count + calls;
    n->slots = ARENA_ARRAY(p->arena, PlanSlot, n->slot_count);
    memcpy(n->slots, wide.node->slots, wide.node->slot_count * sizeof *n->slots);
    for (u32 i = 0, at = 0; i < q->win_call_count; i++)
        if (q->win_calls[i]->window == window) {
            set_result_slot(p, n, wide.node->slot_count + at, i, &n->window.calls[at]);
            at++;
        }
    n->rows = input->rows;
    n->cost = input->cost + input->rows * 0.02;
    return n;
}

PlanNode *
plan_windows(Planner *p, const BQuery *q, PlanNode *input)
{
    for (u32 i = 0; i < q->window_count; i++)
        input = plan_one(p, q, i, input);
    return input;
}

void
plan_windows_need(const FromPlanner *f, ColumnSet *need)
{
    const BQuery *q = f->query;
    for (u32 i = 0; i < q->win_call_count; i++) {
        for (u32 k = 0; k < q->win_calls[i]->arg_count; k++)
            column_set_add_expr(f, need, q->win_calls[i]->args[k]);
        column_set_add_expr(f, need, q->win_calls[i]->filter);
    }
    for (u32 i = 0; i < q->window_count; i++) {
        for (u32 k = 0; k < q->windows[i]->partition_count; k++)
            column_set_add_expr(f, need, q->windows[i]->partition[k]);
        for (u32 k = 0; k < q->windows[i]->order_count; k++)
            column_set_add_expr(f, need, q->windows[i]->order[k]);
    }
}
