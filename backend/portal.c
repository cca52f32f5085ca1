/*
 * portal.c
 *    A statement with its parameters, and its rows on their way out.
 *
 * The unnamed portal and its arena are reused for every execution, simple Queries included, so a point query allocates next to nothing. Rows come in
 * batches from exec, or stand ready as one batch (SHOW, EXPLAIN). A portal suspended by a row limit keeps its Exec, hence the snapshot; before
 * anything else runs, what is left of it is encoded into memory (portal_detach_others) and the Exec closed.
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
    p->exhausted = false;
    p->batch = (Batch){0};
    p->batch_at = 0;
    p->rows = 0;
    p->tag = "SELECT";
    p->with_rows = true;
    p->encoded_at = 0;
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
    if (p->encoded.data)
        buf_free(&p->encoded);
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
    portal_close(s, &s->unnamed);
    while (s->portals)
        portal_close(s, s->portals);
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

/* Its plan may be the message's, so that it goes now. */
static void
fail(Session *s, Portal *p)
{
    if (p->state == PORTAL_FAILED)
        return;
    p->exec = NULL;
    arena_reset(p->arena);
    p->returned_rows = p->plan->returns_rows;
    plans_release(s, p->plan);
    p->plan = NULL;
    p->columns = NULL;
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

bool
portal_any_holds(const Session *s)
{
    if (s->unnamed.is_open && (s->unnamed.exec || waits(&s->unnamed)))
        return true;
    for (const Portal *p = s->portals; p; p = p->next)
        if (p->exec || waits(p))
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

static void
detach(Portal *p)
{
    while (next_batch(p)) {
        if (!reply_rows_to(&p->encoded, &p->format, p->columns, p->plan->column_count, &p->batch, p->batch_at, p->batch.count - p->batch_at))
            err_throw(ERR_OUT_OF_MEMORY, "out of memory");
        p->batch_at = p->batch.count;
        if (p->ctx.memory_limit_bytes && p->encoded.len > p->ctx.memory_limit_bytes)
            err_throw(ERR_OUT_OF_MEMORY, "out of memory");
        interrupt_check();
    }
}

static bool
detach_one(Session *s, Portal *p, bool waiting)
{
    if (waiting && waits(p) && plans_is_current(s, p->plan))
        portal_start(s, p);
    if (!p->exec)
        return false;
    detach(p);
    return true;
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
                .role_name = s->role_name, .database = s->database, .version = s->version, .call = session_call, .session = s},
        .memory_limit_bytes = s->memory_limit_bytes,
        .session_rows = session_rows,
    };
}

void
portal_start(Session *s, Portal *p)
{
    if (p->plan->stmt->kind == BST_EXECUTE)
        prepared_execute(s, p);
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
    detach(p);
    s->running = NULL;
}

/* Rows that were encoded when another statement came between. */
static u64
send_encoded(Session *s, Portal *p, u64 max_rows)
{
    u64 sent = 0;
    size_t from = p->encoded_at;
    while (p->encoded_at < p->encoded.len && (!max_rows || sent < max_rows)) {
        p->encoded_at += 1 + get_be32(p->encoded.data + p->encoded_at + 1);
        sent++;
    }
    if (sent)
        reply_raw(s->wire, p->encoded.data + from, p->encoded_at - from);
    return sent;
}

bool
portal_run(Session *s, Portal *p, u64 max_rows)
{
    u64 sent = 0;
    if (p->state == PORTAL_READY)
        portal_start(s, p);
    if (!p->plan->returns_rows) {
        p->state = PORTAL_DONE;
        return true;
    }
    if (p->encoded.len)
        sent = send_encoded(s, p, max_rows);
    while ((!max_rows || sent < max_rows) && next_batch(p)) {
        u32 n = p->batch.count - p->batch_at;
        if (max_rows && n > max_rows - sent)
            n = (u32)(max_rows - sent);
        reply_rows(s->wire, &p->format, p->columns, p->plan->column_count, &p->batch, p->batch_at, n);
        p->batch_at += n;
        sent += n;
        interrupt_check();
    }
    p->rows = sent; /* of RETURNING, too: the tag counts those of this Execute */
    s->box->rows_out += sent;
    if (max_rows && sent == max_rows)
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
