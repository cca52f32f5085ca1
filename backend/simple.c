/*
 * simple.c
 *    A Query message: one or several statements, each with its own CommandComplete.
 *
 * The whole text is parsed before the first statement runs. Several statements are one implicit transaction, up to a COMMIT among them; a message that
 * comes between extended ones goes on with their transaction.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/env.h"

/* The message is over, and with it the implicit transaction. */
static void
end_message(Session *s)
{
    transaction_implicit_end(s);
    transaction_finish(s);
}

/* Cursors and portals of extended messages keep what they show; then the snapshot may move on. FETCH and its kin go on at theirs, and the end of a
 * transaction says itself what becomes of them. */
static void
settle_portals(Session *s, const ParsedStmt *next)
{
    if (LIKELY(!portal_any_holds(s)) || transaction_status(s) == 'E' || next->is_cursor || next->ends_failed)
        return;
    portal_close(s, &s->unnamed);
    (void)portal_detach_others(s, NULL, true);
    txn_end_statement(s->txn);
}

/* The last statement's CommandComplete comes after the commit, which may fail. */
static void
run_plan(Session *s, CachedPlan *plan, bool last)
{
    bool is_transaction = plan->parsed->is_transaction; /* the plan may be another one afterwards */
    if (plan->stmt->param_count) /* cached by an extended Parse of the same text */
        err_throw(ERR_UNDEFINED_PARAMETER, "there is no parameter $1");
    transaction_admit_plan(s, plan);
    Portal *p = s->running = portal_open(s, "", plan);
    portal_start(s, p);
    if (p->plan->returns_rows)
        reply_row_description(s->wire, p->columns, p->plan->column_count);
    portal_run(s, p, 0);
    PortalEnd end = portal_end(p);
    portal_close(s, p);
    s->running = NULL;
    if (last)
        end_message(s);
    else if (is_transaction)
        transaction_finish(s);
    else
        transaction_end_statement(s);
    portal_complete(s, &end);
}

/* What can be said before names are looked up. */
static void
admit(Session *s, const ParsedStmt *parsed)
{
    transaction_admit(s, parsed);
    transaction_admit_alone(s, parsed);
    if (parsed->is_definition)
        transaction_admit_write(s, parsed);
}

static void
run_several(Session *s, const char *text, u32 len, const ParsedStmt *parsed, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        if (i) {
            interrupt_timer_stop();
            interrupt_statement_begin(s->statement_timeout_ms);
        }
        transaction_start(s);
        transaction_implicit(s);
        admit(s, &parsed[i]);
        settle_portals(s, &parsed[i]);
        run_plan(s, plans_make_once(s, text, len, &parsed[i]), i + 1 == count);
    }
}

static void
run_all(Session *s, const char *text, u32 len)
{
    u32 count;
    bool settled = !portal_any_holds(s);
    CachedPlan *plan = settled ? plans_find(s, text, len, NULL, 0) : NULL;
    if (plan && plan->parsed) {
        session_tell_cuts(s, plan->parsed);
        admit(s, plan->parsed);
        run_plan(s, plan, true);
        return;
    }
    /* Trees point into the text, and COPY reads on over the message. */
    text = arena_strndup(s->message, text, len);
    const ParsedStmt *parsed = sql_parse(s->message, text, len, &count);
    if (count == 0) {
        end_message(s);
        reply_empty(s->wire, MSG_B_EMPTY_QUERY);
    } else if (count == 1) {
        bool again = plans_seen_before(s, text, len);
        if (!again)
            session_tell_cuts(s, parsed);
        admit(s, parsed);
        settle_portals(s, parsed);
        plan = settled ? NULL : plans_find(s, text, len, NULL, 0);
        if (plan && again)
            session_tell_cuts(s, parsed);
        if (!plan)
            plan = again ? plans_make(s, text, len, NULL, 0) : plans_make_once(s, text, len, parsed);
        run_plan(s, plan, true);
    } else {
        session_tell_cuts(s, parsed);
        run_several(s, text, len, parsed, count);
    }
}

void
simple_query(Session *s, const WireMsg *m)
{
    const char *text = (const char *)m->body;
    if (m->len == 0 || memchr(text, 0, m->len) != text + m->len - 1)
        body_bad("invalid message format");
    bool begins = s->transaction.state == TRANSACTION_NONE;
    transaction_start(s);
    s->statement_us = begins ? s->now_us : env->wall_us();
    prepared_drop(s, "");
    session_statement_begin(s, text, m->len - 1);
    run_all(s, text, m->len - 1);
    session_statement_end(s, true);
    s->ready_due = true;
}
