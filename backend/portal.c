/*
 * portal.c
 *    A statement with its parameters, and its rows on their way out.
 *
 * The unnamed portal and its arena are reused for every execution, simple Queries included, so a point query allocates next to nothing. Rows come in
 * batches from exec, or stand ready as one batch (SHOW, EXPLAIN). A portal suspended by a row limit keeps its Exec, hence the snapshot; before
 * anything else runs, what is left of it is drawn into memory (portal_detach_others) and the Exec closed. An error then waits until somebody comes to it.
 *
 * Going back: a cursor that scrolls keeps the rows that came. One that scrolls only because its query lets it (cursor.c) keeps none at first; when it has to
 * go back, or to leave its snapshot, it runs again.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/throw.h"

#include <stdio.h>
#include <stdlib.h>

Portal *
portal_find(Session *s, const char *name)
{
    if (!*name)
        return s->unnamed.is_open ? &s->unnamed : NULL;
    for (Portal *p = s->portals; p; p = p->next)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

static Portal *
take_spare(Session *s, const char *name)
{
    if (portal_find(s, name))
        err_throw(ERR_DUPLICATE_CURSOR, "cursor \"%s\" already exists", name);
    if (strlen(name) >= NAME_BYTES)
        err_throw(ERR_NAME_TOO_LONG, "the portal's name is too long");
    Portal *p = s->spare_portals;
    if (p)
        s->spare_portals = p->next;
    else if (!(p = calloc(1, sizeof *p)))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    strcpy(p->name, name);
    p->next = s->portals;
    s->portals = p;
    return p;
}

Portal *
portal_open(Session *s, const char *name, CachedPlan *plan)
{
    Portal *p = &s->unnamed;
    if (*name) {
        p = take_spare(s, name);
        s->names_serial++;
    }
    else if (p->is_open)
        portal_close(s, p);
    p->is_open = true;
    if (!p->arena && !(p->arena = arena_new("portal", s->memory_limit_bytes, arena_full_throw)))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    plans_hold(plan);
    p->plan = plan;
    p->state = PORTAL_READY;
    p->level = transaction_level(s);
    p->params = NULL;
    p->param_count = 0;
    p->columns = plan->columns;
    p->format = s->format;
    p->scrolls = p->binary = p->hold = p->keeps = false;
    p->created_us = s->statement_us;
    p->position = 0;
    p->at_start = true;
    p->at_end = false;
    p->late.code = ERR_NONE;
    p->exhausted = false;
    p->batch = (Batch){0};
    p->batch_at = 0;
    p->rows = 0;
    p->tag = "SELECT";
    p->with_rows = true;
    return p;
}

void
portal_close(Session *s, Portal *p)
{
    if (!p->is_open)
        return;
    p->is_open = false;
    p->exec = NULL;
    arena_reset(p->arena); /* an Exec that is still open hangs on it */
    portal_rows_reset(&p->kept, 0);
    CachedPlan *plan = p->plan;
    p->plan = NULL;
    if (p->explained)
        plans_release(s, p->explained);
    p->explained = NULL;
    if (p != &s->unnamed) {
        s->names_serial++;
        Portal **at = &s->portals;
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        p->next = s->spare_portals;
        s->spare_portals = p;
    }
    if (plan)
        plans_release(s, plan);
}

void
portal_close_all(Session *s)
{
    portal_close_from(s, 1);
}

void
portal_close_others(Session *s)
{
    if (s->running != &s->unnamed)
        portal_close(s, &s->unnamed);
    for (Portal *p = s->portals, *next; p; p = next) {
        next = p->next;
        if (p != s->running)
            portal_close(s, p);
    }
}

void
portal_close_from(Session *s, u32 level)
{
    if (s->unnamed.level >= level)
        portal_close(s, &s->unnamed);
    for (Portal *p = s->portals, *next; p; p = next) {
        next = p->next;
        if (p->level >= level)
            portal_close(s, p);
    }
}

/* A plan that is the message's goes now; any other stays, to say what the portal gave. */
static void
fail(Session *s, Portal *p)
{
    if (p->state == PORTAL_FAILED)
        return;
    p->exec = NULL;
    portal_rows_reset(&p->kept, 0);
    arena_reset(p->arena);
    p->returned_rows = p->plan->returns_rows;
    p->columns = p->plan->columns;
    if (!p->plan->arena) {
        plans_release(s, p->plan);
        p->plan = NULL;
        p->columns = NULL;
    }
    p->failed_late = false;
    p->state = PORTAL_FAILED;
}

void
portal_fail_running(Session *s)
{
    if (!s->running)
        return;
    fail(s, s->running);
    s->running->failed_late = true;
}

void
portal_fail_fetched(Session *s)
{
    if (s->fetched)
        fail(s, s->fetched);
    s->fetched = NULL;
}

void
portal_fail_from(Session *s, u32 level)
{
    Portal *u = &s->unnamed;
    if (u->is_open && (u->level >= level || u == s->running))
        fail(s, u);
    for (Portal *p = s->portals; p; p = p->next)
        if (p->level >= level || p == s->running)
            fail(s, p);
}

void
portal_move_out(Session *s, u32 level)
{
    if (s->unnamed.level >= level)
        s->unnamed.level = level - 1;
    for (Portal *p = s->portals; p; p = p->next)
        if (p->level >= level)
            p->level = level - 1;
}

/* A query that was bound and not begun yet. */
static bool
waits(const Portal *p)
{
    return p->is_open && p->state == PORTAL_READY && p->plan->stmt && p->plan->stmt->kind == BST_SELECT;
}

bool
portal_moves(const Portal *p)
{
    const CachedPlan *plan = p->plan;
    return plan->parsed->is_write || (plan->plan && plan->plan->locks);
}

/* What it has still to give, or to give again, is not there without the snapshot. */
static bool
holds(const Portal *p)
{
    return p->exec || waits(p) || (p->scrolls && !p->keeps && p->state != PORTAL_FAILED);
}

bool
portal_any_holds(const Session *s)
{
    if (s->unnamed.is_open && holds(&s->unnamed))
        return true;
    for (const Portal *p = s->portals; p; p = p->next)
        if (holds(p))
            return true;
    return false;
}

void
portal_plan_again(Session *s, Portal *p)
{
    CachedPlan *fresh = plans_again(s, p->plan, true);
    portal_take_plan(s, p, fresh);
    plans_release(s, fresh);
}

void
portal_take_plan(Session *s, Portal *p, CachedPlan *plan)
{
    plans_hold(plan);
    if (p->columns == p->plan->columns) /* those with the formats of Bind are the portal's own */
        p->columns = plan->columns;
    plans_release(s, p->plan);
    p->plan = plan;
}

static void
close_exec(Portal *p)
{
    Exec *e = p->exec;
    p->exec = NULL;
    p->batch = (Batch){0};
    p->batch_at = 0;
    p->exhausted = true;
    exec_close(e);
}

/* The next batch with rows in it; false at the end. */
static bool
next_batch(Portal *p)
{
    while (p->batch_at == p->batch.count) {
        if (p->exhausted)
            return false;
        p->batch_at = 0;
        if (!exec_next(p->exec, &p->batch)) {
            close_exec(p);
            return false;
        }
    }
    return true;
}

/* ---- rows in memory ---- */

void
portal_keep(Session *s, Portal *to, const Batch *b, u32 first, u32 count)
{
    size_t bytes = portal_rows_bytes(&s->unnamed.kept);
    portal_rows_add(&to->kept, b, first, count, s->memory_limit_bytes);
    for (const Portal *p = s->portals; p; p = p->next)
        bytes += portal_rows_bytes(&p->kept);
    if (s->memory_limit_bytes && bytes > s->memory_limit_bytes)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
}

/* Draws batches until so many rows are kept. */
static void
draw(Session *s, Portal *p, u64 end)
{
    while (p->kept.end < end && next_batch(p)) {
        portal_keep(s, p, &p->batch, p->batch_at, p->batch.count - p->batch_at);
        p->batch_at = p->batch.count;
        interrupt_check();
    }
}

/* From now on it keeps all its rows, and has those up to where it stands. */
static void
keep_all(Session *s, Portal *p)
{
    if (p->keeps)
        return;
    p->keeps = true;
    if (p->at_start && !p->at_end)
        return;
    if (p->exec)
        close_exec(p);
    portal_rows_reset(&p->kept, 0);
    p->batch = (Batch){0};
    p->batch_at = 0;
    p->exhausted = false;
    p->exec = run_open(s, p, p->plan->plan, false);
    draw(s, p, p->at_end ? UINT64_MAX : p->position);
}

typedef struct Detach { Session *s; Portal *p; } Detach;

static void
detach_all(void *ctx)
{
    Session *s = ((Detach *)ctx)->s;
    Portal *p = ((Detach *)ctx)->p;
    if (p->scrolls)
        keep_all(s, p);
    else if (p->kept.first == p->kept.end)
        portal_rows_reset(&p->kept, p->position);
    draw(s, p, UINT64_MAX);
}

/* Its rows go into memory. An error on the way is not that of the statement for which it is done, unless it means that one, too. */
static void
detach(Session *s, Portal *p)
{
    Detach d = {s, p};
    Error err;
    if (err_catch(detach_all, &d, &err))
        return;
    if (strncmp(errcode_sqlstate(err.code), "57", 2) == 0)
        err_rethrow(&err);
    p->late = err;
    if (err.code == ERR_OUT_OF_MEMORY) /* all the room there was; others need it */
        portal_rows_reset(&p->kept, p->position);
    p->keeps = p->scrolls;
    p->batch_at = p->batch.count;
    if (p->exec)
        close_exec(p);
    p->exhausted = true;
}

static bool
detach_one(Session *s, Portal *p, bool waiting)
{
    if (waiting && waits(p) && plans_is_current(s, p->plan))
        portal_start(s, p);
    if (!holds(p) || waits(p))
        return false;
    detach(s, p);
    return true;
}

void
portal_hold_all(Session *s)
{
    for (Portal *p = s->portals; p; p = p->next) {
        if (!p->hold || !p->level || p->state == PORTAL_FAILED)
            continue;
        if (holds(p))
            detach(s, p);
        if (p->late.code != ERR_NONE)
            err_rethrow(&p->late);
        p->level = 0;
    }
}

bool
portal_detach_others(Session *s, const Portal *but, bool waiting)
{
    bool any = s->unnamed.is_open && but != &s->unnamed && detach_one(s, &s->unnamed, waiting);
    for (Portal *p = s->portals; p; p = p->next)
        if (p != but && detach_one(s, p, waiting))
            any = true;
    return any;
}

void
portal_set_rows(Portal *p, u32 column_count, const Str *values, u64 row_count)
{
    Vec *v = ARENA_ARRAY(p->arena, Vec, column_count);
    for (u32 c = 0; c < column_count; c++) {
        Str *column = ARENA_ARRAY(p->arena, Str, row_count);
        for (u64 r = 0; r < row_count; r++)
            column[r] = values[r * column_count + c];
        v[c] = (Vec){.phys = PHYS_STR, .data = column};
    }
    p->batch = (Batch){.count = (u32)row_count, .column_count = column_count, .columns = v};
    p->batch_at = 0;
    p->exhausted = true;
}

/* What PostgreSQL's planner would have evaluated already. */
static bool
is_foldable(const BExpr *e)
{
    if (!e)
        return true;
    if (e->kind == BX_FUNC && func_def(e->func)->volatility > FUNC_IMMUTABLE)
        return false;
    for (u32 i = 0; i < e->arg_count; i++)
        if (!is_foldable(e->args[i]))
            return false;
    return true;
}

static bool
is_constant(const Portal *p)
{
    const BQuery *q = p->plan->stmt->query;
    bool all = !q->from && p->plan->stmt->sub_count == 0 && is_foldable(q->where);
    for (u32 i = 0; all && i < q->target_count; i++)
        all = is_foldable(q->targets[i].expr);
    return all;
}

ExecContext
portal_context(Session *s, Portal *p)
{
    return (ExecContext){
        .arena = p->arena,
        .txn = s->txn,
        .env = {.params = p->params, .param_count = p->param_count, .format = &p->format, .now_us = s->now_us, .statement_us = s->statement_us,
                .role_name = s->role_name, .session_role_name = s->session_role_name, .database = s->database, .version = s->version, .call = session_call, .session = s},
        .memory_limit_bytes = s->memory_limit_bytes,
        .session_rows = session_rows,
    };
}

void
portal_start(Session *s, Portal *p)
{
    if (p->plan->stmt->kind == BST_EXECUTE)
        prepared_execute(s, p);
    if (p->plan->stmt->kind != BST_LOCK || transaction_in_block(s)) /* outside of a block another error comes first */
        acting_check_rights(s, p->plan->stmt);
    p->ctx = portal_context(s, p);
    p->state = PORTAL_ROWS;
    if (p->plan->stmt->kind != BST_SELECT)
        run_statement(s, p);
    else {
        p->exec = run_open(s, p, p->plan->plan, false);
        /* Errors of constant expressions come before the row description, as in PostgreSQL, whose planner finds them. */
        if (is_constant(p))
            next_batch(p);
    }
}

void
portal_evaluate(Session *s, Portal *p)
{
    if (!p->plan->stmt || p->plan->stmt->kind != BST_SELECT || !is_constant(p))
        return;
    s->running = p;
    portal_start(s, p);
    draw(s, p, UINT64_MAX);
    s->running = NULL;
}

/* ---- moving ---- */

/* The rows from number `at` on, the next ones of the way forward or kept ones: how many stand in this piece of a batch. 0 at the end. */
static u32
rows_at(Session *s, Portal *p, u64 at, Batch *ret, u32 *ret_first)
{
    u32 count = portal_rows_find(&p->kept, at, ret, ret_first);
    if (count)
        return count;
    if (p->late.code != ERR_NONE)
        err_rethrow(&p->late);
    if (!next_batch(p))
        return 0;
    if (p->keeps) {
        draw(s, p, at + 1);
        return portal_rows_find(&p->kept, at, ret, ret_first);
    }
    *ret = p->batch;
    *ret_first = p->batch_at;
    return p->batch.count - p->batch_at;
}

u64
portal_forward(Session *s, Portal *p, u64 count, PortalTake take, Portal *to)
{
    u64 n = 0;
    Batch b;
    u32 first, some;
    if (p->at_end)
        return 0;
    while (n < count && (some = rows_at(s, p, p->position + n, &b, &first)) > 0) {
        some = (u32)MIN((u64)some, count - n);
        if (take)
            take(s, to, &b, first, some);
        if (p->position + n >= p->kept.end)
            p->batch_at += some;
        n += some;
        interrupt_check();
    }
    if (n)
        p->at_start = false;
    if (n < count)
        p->at_end = true;
    p->position += n;
    return n;
}

static void
need_scroll(const Portal *p)
{
    Error err;
    if (p->scrolls)
        return;
    error_set(&err, ERR_OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward");
    error_hint(&err, "Declare it with SCROLL option to enable backward scan.");
    err_rethrow(&err);
}

u64
portal_backward(Session *s, Portal *p, u64 count, PortalTake take, Portal *to)
{
    need_scroll(p);
    if (p->at_start || !count)
        return 0;
    keep_all(s, p);
    if (p->at_end && p->late.code != ERR_NONE) /* how many there were is not known any more */
        err_rethrow(&p->late);
    u64 before = p->at_end ? p->kept.end : p->position - 1, n = MIN(count, before);
    Batch b;
    u32 first;
    for (u64 i = 1; take && i <= n; i++) {
        ensure(rows_at(s, p, before - i, &b, &first) > 0);
        take(s, to, &b, first, 1);
    }
    if (n && p->at_end) {
        p->at_end = false;
        p->position++;
    }
    if (n < count) {
        p->at_start = true;
        p->position = 0;
    } else
        p->position -= n;
    return n;
}

void
portal_rewind(Session *s, Portal *p)
{
    if (p->at_start && !p->at_end)
        return;
    need_scroll(p);
    keep_all(s, p);
    p->at_start = true;
    p->at_end = false;
    p->position = 0;
}

static void
send_rows(Session *s, Portal *to, const Batch *b, u32 first, u32 count)
{
    reply_rows(s->wire, &to->format, to->columns, to->plan->column_count, b, first, count);
}

bool
portal_run(Session *s, Portal *p, u64 max_rows)
{
    if (p->state == PORTAL_READY)
        portal_start(s, p);
    if (!p->plan->returns_rows) {
        p->state = PORTAL_DONE;
        return true;
    }
    u64 sent = portal_forward(s, p, max_rows ? max_rows : UINT64_MAX, send_rows, p);
    p->rows = sent; /* of RETURNING, too: the tag counts those of this Execute */
    s->box->rows_out += sent;
    if (!p->at_end)
        return false;
    p->state = PORTAL_DONE;
    return true;
}

PortalEnd
portal_end(const Portal *p)
{
    return (PortalEnd){p->tag, p->with_rows, p->rows};
}

void
portal_complete(Session *s, const PortalEnd *end)
{
    if (end->with_rows)
        reply_complete_rows(s->wire, end->tag, end->rows);
    else
        reply_complete(s->wire, end->tag);
}
