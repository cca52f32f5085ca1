/*
 * cursor.c
 *    DECLARE, FETCH, MOVE and CLOSE. A cursor is a portal with a name; those that Bind made have their names in the same space.
 *
 * The rules of moving are PostgreSQL's, number by number: `position` counts rows, 0 before the first one; behind the last one it stays at their number.
 *
 * Which cursors scroll without SCROLL: PostgreSQL asks the plan, we ask the query for what that plan is likely to be (scrolls_by_itself). A plain scan of
 * a table does so by running again, anything else keeps its rows from the beginning.
 */
#include "backend/session.h"

#include "backend/throw.h"

static NORETURN void
no_cursor(const char *name)
{
    err_throw(ERR_INVALID_CURSOR_NAME, "cursor \"%s\" does not exist", name);
}

/* ---- DECLARE ---- */

static bool scrolls_by_itself(const BQuery *q);

static bool
relation_scrolls(const BRel *r)
{
    switch (r->kind) {
    case BREL_TABLE:
    case BREL_FUNCTION:
    case BREL_SYSTEM: return true;
    case BREL_VALUES: return r->row_count > 1;
    case BREL_SUBQUERY: return scrolls_by_itself(r->query);
    case BREL_APPEND: return !r->marked && scrolls_by_itself(r->query) && scrolls_by_itself(r->second);
    case BREL_CTE: return bcte_is_shared(r->cte) || scrolls_by_itself(r->query);
    default: return false;
    }
}

/* What PostgreSQL runs by a scan, a sort, or parts of these behind each other. */
static bool
scrolls_by_itself(const BQuery *q)
{
    if (q->lock_count || q->distinct || q->win_call_count)
        return false;
    if (q->order_count)
        return true;
    return !q->grouped && q->from && q->from->kind == BFROM_REL && relation_scrolls(&q->rels[q->from->rel]);
}

/* The same rows in the same order whenever it runs at one snapshot. */
static bool
runs_again(const Plan *plan)
{
    const BQuery *q = plan->stmt->query;
    bool plain = !plan->serial && !q->order_count && !q->grouped && !plan->sub_count && q->from && q->from->kind == BFROM_REL &&
                 q->rels[q->from->rel].kind == BREL_TABLE && !(q->where && bexpr_is_volatile(q->where));
    for (u32 i = 0; plain && i < q->target_count; i++)
        plain = !bexpr_is_volatile(q->targets[i].expr);
    return plain;
}

static void
take_options(Portal *c, u8 options)
{
    const Plan *plan = c->plan->plan;
    bool implicit = !(options & (CURSOR_SCROLL | CURSOR_NO_SCROLL)) && scrolls_by_itself(plan->stmt->query);
    c->scrolls = (options & CURSOR_SCROLL) || implicit;
    c->keeps = c->scrolls && !(implicit && runs_again(plan));
    c->binary = options & CURSOR_BINARY;
    c->hold = options & CURSOR_HOLD;
}

static void
copy_parameters(Portal *c, const Portal *from)
{
    c->param_count = from->param_count;
    c->params = ARENA_ARRAY(c->arena, Value, c->param_count);
    for (u32 i = 0; i < c->param_count; i++) {
        c->params[i] = from->params[i];
        if (phys_of(c->params[i].type, -1) == PHYS_STR)
            c->params[i].str = arena_str(c->arena, c->params[i].str);
    }
}

void
cursor_declare(Session *s, const Portal *declare)
{
    const CachedPlan *outer = declare->plan;
    const BStmt *b = outer->stmt;
    if (!(b->cursor_options & CURSOR_HOLD) && !transaction_in_block(s))
        err_throw(ERR_NO_ACTIVE_TRANSACTION, "DECLARE CURSOR can only be used in transaction blocks");
    if (portal_find(s, b->name))
        err_throw(ERR_DUPLICATE_CURSOR, "cursor \"%s\" already exists", b->name);
    CachedPlan *plan = plans_make_inner(s, outer->text, outer->text_len, outer->parsed->start, b->param_types, b->param_count);
    plans_hold(plan);
    Portal *c = s->fetched = portal_open(s, b->name, plan);
    plans_release(s, plan);
    transaction_admit_plan(s, plan);
    take_options(c, b->cursor_options);
    copy_parameters(c, declare);
    portal_start(s, c);
    s->fetched = NULL;
}

/* ---- FETCH, MOVE ---- */

static u64
forward_or_backward(Session *s, Portal *c, bool forward, u64 count, PortalTake take, Portal *to)
{
    return forward ? portal_forward(s, c, count, take, to) : portal_backward(s, c, count, take, to);
}

/* Counts from the end, or from the beginning: to the row before, then that one. */
static u64
move_absolute(Session *s, Portal *c, i64 count, PortalTake take, Portal *to)
{
    if (count < 0) {
        portal_forward(s, c, FETCH_ALL, NULL, NULL);
        if (count < -1)
            portal_backward(s, c, (u64)-count - 1, NULL, NULL);
        return portal_backward(s, c, 1, take, to);
    }
    u64 before = (u64)MAX(count, 1) - 1, position = c->position;
    if (count == 0 || before <= position / 2) {
        portal_rewind(s, c);
        if (count == 0)
            return 0;
        portal_forward(s, c, before, NULL, NULL);
        return portal_forward(s, c, 1, take, to);
    }
    position += c->at_end;
    if ((u64)count <= position)
        portal_backward(s, c, position - (u64)count + 1, NULL, NULL);
    else if ((u64)count > position + 1)
        portal_forward(s, c, (u64)count - position - 1, NULL, NULL);
    return portal_forward(s, c, 1, take, to);
}

static u64
move_relative(Session *s, Portal *c, i64 count, PortalTake take, Portal *to)
{
    u64 rows = count < 0 ? (u64)-count : (u64)count;
    if (rows > 1)
        forward_or_backward(s, c, count > 0, rows - 1, NULL, NULL);
    return forward_or_backward(s, c, count > 0, 1, take, to);
}

/* FORWARD 0, BACKWARD 0, RELATIVE 0: the row it stands on, once more. MOVE only says whether there is one. */
static u64
stay(Session *s, Portal *c, bool forward, PortalTake take, Portal *to)
{
    bool on_row = !c->at_start && !c->at_end;
    if (!take)
        return on_row;
    if (!on_row)
        return forward_or_backward(s, c, forward, 0, take, to);
    portal_backward(s, c, 1, NULL, NULL);
    return portal_forward(s, c, 1, take, to);
}

/* MOVE BACKWARD ALL: rows are not visited, so one that stands before its first row need not scroll. */
static u64
back_to_start(Session *s, Portal *c)
{
    u64 rows = c->position - (c->position > 0 && !c->at_end);
    portal_rewind(s, c);
    return rows;
}

static u64
move(Session *s, Portal *c, const BFetch *f, PortalTake take, Portal *to)
{
    if (f->count == 0 && f->kind != FETCH_ABSOLUTE)
        return stay(s, c, f->kind != FETCH_BACKWARD, take, to);
    if (f->kind == FETCH_ABSOLUTE)
        return move_absolute(s, c, f->count, take, to);
    if (f->kind == FETCH_RELATIVE)
        return move_relative(s, c, f->count, take, to);
    if (f->kind == FETCH_BACKWARD && f->count == FETCH_ALL && !take)
        return back_to_start(s, c);
    bool forward = (f->kind == FETCH_FORWARD) == (f->count > 0);
    return forward_or_backward(s, c, forward, f->count < 0 ? (u64)-f->count : (u64)f->count, take, to);
}

/* What Bind made begins with its first row. */
static void
start(Session *s, Portal *c)
{
    if (!c->plan->stmt || c->plan->stmt->kind != BST_SELECT) /* NULL: an empty one */
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "FETCH from a portal whose statement has not run yet is supported for SELECT only");
    if (portal_moves(c) && portal_detach_others(s, c, true))
        txn_end_statement(s->txn);
    transaction_admit_plan(s, c->plan);
    portal_start(s, c);
}

static bool
can_run(const Session *s, const Portal *c)
{
    bool over = c->state == PORTAL_DONE && !c->plan->returns_rows;
    return c != s->running && c->state != PORTAL_FAILED && !over;
}

static void
take_binary(Portal *p)
{
    ReplyColumn *columns = ARENA_ARRAY(p->arena, ReplyColumn, p->plan->column_count);
    for (u32 i = 0; i < p->plan->column_count; i++) {
        columns[i] = p->columns[i];
        columns[i].binary = true;
    }
    p->columns = columns;
}

void
cursor_fetch(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    Portal *c = portal_find(s, b->name);
    if (!c)
        no_cursor(b->name);
    if (!can_run(s, c))
        err_throw(ERR_OBJECT_NOT_IN_PREREQUISITE_STATE, "portal \"%s\" cannot be run", b->name);
    if (!b->move && !plans_same_columns(p->plan, c->plan))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
    s->fetched = c;
    if (c->state == PORTAL_READY)
        start(s, c);
    if (c->binary && !b->move && !s->in_extended)
        take_binary(p);
    p->rows = move(s, c, &b->fetch, b->move ? NULL : portal_keep, p);
    s->fetched = NULL;
    p->exhausted = true;
    p->with_rows = true;
}

void
cursor_describe(Session *s, CachedPlan *fetch, Arena *a)
{
    const Portal *c = portal_find(s, fetch->stmt->name);
    if (c && c->plan && c->plan->returns_rows && !fetch->stmt->move)
        plans_copy_columns(fetch, a, c->plan);
}

/* ---- CLOSE ---- */

const char *
cursor_close(Session *s, const BStmt *b)
{
    if (!b->name) {
        portal_close_others(s);
        return "CLOSE CURSOR ALL";
    }
    Portal *p = portal_find(s, b->name);
    if (!p)
        no_cursor(b->name);
    if (p == s->running)
        err_throw(ERR_INVALID_CURSOR_STATE, "cannot drop active portal \"%s\"", b->name);
    portal_close(s, p);
    return "CLOSE CURSOR";
}
