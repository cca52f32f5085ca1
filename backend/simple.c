/*
 * simple.c
 *    A Query message: one or several statements, each with its own CommandComplete, one implicit transaction.
 *
 * The whole text is parsed before the first statement runs. So far a write commits by itself, so a message in which another statement follows
 * one is refused before anything happened: an error there could not take the write back.
 */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/base/env.h"

static void
run_one(Session *s, CachedPlan *plan)
{
    if (!plan->parsed) {
        reply_empty(s->wire, MSG_B_EMPTY_QUERY);
        return;
    }
    if (plan->stmt->param_count) /* cached by an extended Parse of the same text */
        err_throw(ERR_UNDEFINED_PARAMETER, "there is no parameter $1");
    if (plan->parsed->is_write)
        session_count_write(s, plan->parsed);
    Portal *p = portal_open(s, "", plan);
    portal_start(s, p);
    if (p->plan->returns_rows)
        reply_row_description(s->wire, p->columns, p->plan->column_count);
    portal_run(s, p, 0);
    portal_complete(s, p);
    portal_close(s, p);
}

static void
refuse_early_writes(const ParsedStmt *parsed, u32 count)
{
    for (u32 i = 0; i + 1 < count; i++)
        if (parsed[i].is_write && parsed[i + 1].tree)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "statements after a writing one in the same message are not supported yet");
}

static void
run_all(Session *s, const char *text, u32 len)
{
    CachedPlan *plan = plans_find(s, text, len, NULL, 0);
    u32 count;
    if (plan) {
        run_one(s, plan);
        return;
    }
    /* Trees point into the text, and COPY reads on over the message. */
    text = arena_strndup(s->message, text, len);
    const ParsedStmt *parsed = sql_parse(s->message, text, len, &count);
    if (count == 0) {
        reply_empty(s->wire, MSG_B_EMPTY_QUERY);
        return;
    }
    if (count == 1) {
        run_one(s, plans_seen_before(s, text, len) ? plans_make(s, text, len, NULL, 0) : plans_make_once(s, text, len, parsed));
        return;
    }
    refuse_early_writes(parsed, count);
    for (u32 i = 0; i < count; i++) {
        run_one(s, plans_make_once(s, text, len, &parsed[i]));
        txn_end_statement(s->txn);
    }
}

void
simple_query(Session *s, const WireMsg *m)
{
    const char *text = (const char *)m->body;
    if (m->len == 0 || memchr(text, 0, m->len) != text + m->len - 1)
        body_bad("invalid message format");
    session_end_transaction(s); /* of extended messages without a Sync */
    prepared_drop(s, "");
    s->now_us = env->wall_us();
    session_statement_begin(s, text, m->len - 1);
    run_all(s, text, m->len - 1);
    session_statement_end(s);
    session_end_transaction(s);
    s->ready_due = true;
}
