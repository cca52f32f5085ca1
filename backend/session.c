/*
 * session.c
 *    The session loop and its one catch.
 *
 * Each turn: tell the client that we are ready when that is due; wait; take one message; do it. An error unwinds to session_run, is sent, and what the
 * message held is dropped; what becomes of the transaction is transaction_abort's to say. After an error in an extended message all is skipped up to Sync. A fatal
 * one ends the process.
 *
 * Writes: the box's state, statement and counters.
 * Fails: an error while recovering from one, or a lost connection, ends the process; nothing shared is left half done (I1).
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/signin.h"
#include "backend/throw.h"
#include "common/base/env.h"
#include "common/base/say.h"
#include "common/shm/publish.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static NORETURN void
leave(Session *s, int status)
{
    if (s->signed_in && txn_is_open(s->txn))
        txn_rollback(s->txn); /* so that nobody waits for its locks until the process was reaped */
    if (conf_int(&s->boot->conf, log_connections))
        say_info("connection of %s from %s ended", s->signed_in_name, s->boot->client_text);
    _exit(status);
}

/* ---- parameters ---- */

void
session_apply_gucs(Session *s)
{
    if (s->guc_seen == guc_serial(s->guc))
        return;
    acting_apply(s);
    s->guc_seen = guc_serial(s->guc);
    TypeFormat f = guc_format(s->guc);
    if (!format_equal(&f, &s->format))
        s->format_serial++;
    f.now_us = s->now_us;
    f.catalog = &s->names;
    s->format = f;
    s->lock_timeout_ms = (i32)conf_int(&s->boot->conf, lock_timeout);
    s->statement_timeout_ms = conf_int(&s->boot->conf, statement_timeout);
    s->idle_transaction_ms = conf_int(&s->boot->conf, idle_in_transaction_session_timeout);
    s->idle_session_ms = guc_number(s->guc, GUC_idle_session_timeout);
}

static void
report_parameter(void *ctx, const char *name, const char *value)
{
    reply_parameter(ctx, name, value);
}

void
session_report_parameters(Session *s)
{
    guc_report(s->guc, report_parameter, s->wire);
}

/* As client_min_messages has it. */
static bool
tells(const Session *s, ReplySeverity severity)
{
    const char *least = guc_text(s->guc, GUC_client_min_messages);
    return strcmp(least, "error") != 0 && (severity != REPLY_NOTICE || strcmp(least, "warning") != 0);
}

void
session_notice_fields(Session *s, ReplySeverity severity, const Error *err)
{
    if (tells(s, severity))
        reply_error(s->wire, severity, err);
}

void
session_notice(Session *s, ReplySeverity severity, ErrCode code, const char *text)
{
    if (tells(s, severity))
        reply_notice(s->wire, severity, code, text);
}

static void
tell_cut(Session *s, Str whole, u32 kept_bytes)
{
    session_notice(s, REPLY_NOTICE, ERR_NAME_TOO_LONG,
                   arena_printf(s->message, "identifier \"%.*s\" will be truncated to \"%.*s\"", (int)whole.len, whole.ptr, (int)kept_bytes, whole.ptr));
}

void
session_tell_cuts(Session *s, const ParsedStmt *parsed)
{
    for (const CutName *c = parsed ? parsed->cut : NULL; UNLIKELY(c); c = c->next)
        tell_cut(s, c->whole, c->kept_bytes);
}

bool
session_set_parameter(Session *s, const char *name, const char *value, GucScope scope, Error *err)
{
    if (!acting_check(s, name, value, err) || !guc_set(s->guc, name, value, scope, err))
        return false;
    if (strcasecmp(name, "session_authorization") == 0 && !guc_set(s->guc, "role", "none", scope, err))
        return false;
    if (value && strlen(value) > TYPE_NAME_MAX_BYTES && strcasecmp(name, "application_name") == 0)
        tell_cut(s, str_of(value), utf8_clip(str_of(value), TYPE_NAME_MAX_BYTES));
    return true;
}

/* ---- statements ---- */

const Root *
session_root(Session *s)
{
    s->transaction.looked = true;
    return txn_snapshot(s->txn)->root;
}

void
session_statement_begin(Session *s, const char *text, u32 len)
{
    BoxShm *b = s->box;
    u32 n = MIN(len, (u32)BOX_STATEMENT_BYTES - 1);
    interrupt_statement_begin(s->statement_timeout_ms);
    memcpy(b->statement, text, n);
    b->statement[n] = 0;
    b->statements++;
    b->statement_start_us = s->statement_us;
    b->transaction_start_us = s->now_us;
    s->source = text;
    publish_u32(&b->state, BOX_ACTIVE);
    interrupt_check();
}

/* The running statement as it may stand in the log: what follows a PASSWORD is nobody's business. */
static const char *
loggable_statement(const Session *s, char text[BOX_STATEMENT_BYTES])
{
    static const char WORD[] = "password", HIDDEN[] = " ...";
    memcpy(text, s->box->statement, BOX_STATEMENT_BYTES);
    char *at = strcasestr(text, WORD);
    if (at && at[sizeof WORD - 1]) {
        at += sizeof WORD - 1;
        snprintf(at, (size_t)(text + BOX_STATEMENT_BYTES - at), "%s", HIDDEN);
    }
    return text;
}

void
session_statement_end(Session *s, bool complete)
{
    i64 limit_ms = conf_int(&s->boot->conf, log_min_duration_statement);
    char text[BOX_STATEMENT_BYTES];
    if (complete)
        interrupt_statement_end();
    if (UNLIKELY(limit_ms >= 0) && s->source) {
        i64 took_us = env->wall_us() - s->statement_us;
        if (took_us >= limit_ms * 1000)
            say_info("statement of %s took %lld.%03lld ms: %s", s->role_name, (long long)(took_us / 1000), (long long)(took_us % 1000),
                     loggable_statement(s, text));
    }
    s->source = NULL;
}

/* ---- the loop ---- */

static void
go_idle(Session *s)
{
    transaction_end_statement(s);
    TransactionState in = s->transaction.state;
    BoxState state = in == TRANSACTION_BLOCK ? BOX_IDLE_BLOCK : in == TRANSACTION_FAILED ? BOX_IDLE_FAILED : BOX_IDLE;
    if (state == BOX_IDLE)
        s->box->transaction_start_us = 0;
    if (s->box->state != state)
        publish_u32(&s->box->state, state);
    proc_flag_take(PROC_RELOAD); /* new sessions see reloaded settings */
}

/* From ReadyForQuery to the next message. */
static void
limit_idleness(Session *s, char status)
{
    i64 ms = status == 'I' ? s->idle_session_ms : s->idle_transaction_ms;
    if (LIKELY(ms <= 0))
        return;
    u64 deadline_ns = env->monotonic_ns() + (u64)ms * 1000000;
    if (status == 'I')
        wire_deadline(s->wire, deadline_ns, ERR_IDLE_SESSION_TIMEOUT, "terminating connection due to idle-session timeout");
    else
        wire_deadline(s->wire, deadline_ns, ERR_IDLE_IN_TRANSACTION_TIMEOUT, "terminating connection due to idle-in-transaction timeout");
}

static void
say_ready(Session *s)
{
    session_apply_gucs(s);
    session_report_parameters(s);
    char status = transaction_status(s);
    if (UNLIKELY(s->channels) && status == 'I')
        listen_deliver(s);
    reply_ready(s->wire, status);
    s->ready_due = false;
    wire_flush(s->wire);
    limit_idleness(s, status);
}

static void
do_message(Session *s, const WireMsg *m)
{
    s->in_extended = true;
    switch (m->type) {
    case MSG_F_QUERY:
        s->in_extended = false;
        simple_query(s, m);
        break;
    case MSG_F_PARSE: extended_parse(s, m); break;
    case MSG_F_BIND: extended_bind(s, m); break;
    case MSG_F_DESCRIBE: extended_describe(s, m); break;
    case MSG_F_EXECUTE: extended_execute(s, m); break;
    case MSG_F_CLOSE: extended_close(s, m); break;
    case MSG_F_FLUSH: wire_flush(s->wire); break;
    case MSG_F_SYNC:
        s->in_extended = s->skip_to_sync = false;
        interrupt_timer_stop();
        transaction_implicit_end(s);
        transaction_finish(s);
        s->ready_due = true;
        break;
    case MSG_F_FUNCTION_CALL:
        s->in_extended = false;
        transaction_start(s);
        transaction_admit(s, NULL);
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "function calls by message are not supported");
    case MSG_F_TERMINATE: leave(s, 0);
    default: break; /* what is left of a COPY that failed */
    }
}

static void
turn(Session *s)
{
    WireMsg m;
    if (s->ready_due)
        say_ready(s);
    if (!wire_has_input(s->wire))
        go_idle(s);
    if (!wire_read(s->wire, PHASE_COMMAND, &m))
        leave(s, 0);
    wire_deadline(s->wire, 0, ERR_NONE, NULL);
    if (s->skip_to_sync && m.type != MSG_F_SYNC && m.type != MSG_F_TERMINATE)
        return;
    arena_reset(s->message);
    do_message(s, &m);
}

/* Send the error, drop what the message held, decide how to go on. */
static void
recover(Session *s, const Catch *c)
{
    Error err = c->error;
    char text[BOX_STATEMENT_BYTES];
    bool fatal = c->fatal || !s->signed_in;
    if (s->recovering)
        leave(s, 1);
    s->recovering = true;
    interrupt_statement_end();
    if (err.code == ERR_INTERNAL_ERROR || err.code == ERR_DATA_CORRUPTED)
        say_error("%s (statement: %.200s)", err.message, loggable_statement(s, text));
    if (!wire_is_dead(s->wire))
        reply_error(s->wire, fatal ? REPLY_FATAL : REPLY_ERROR, &err);
    if (fatal || wire_is_dead(s->wire)) {
        if (!wire_is_dead(s->wire))
            wire_flush(s->wire);
        leave(s, err.code == ERR_ADMIN_SHUTDOWN || err.code == ERR_CONNECTION_FAILURE ? 0 : 1);
    }
    transaction_abort(s);
    arena_reset(s->message);
    s->running = s->fetched = NULL;
    s->source = NULL;
    if (s->in_extended) {
        s->skip_to_sync = true;
        wire_flush(s->wire);
    } else
        s->ready_due = true;
    s->recovering = false;
}

static void
sign_in(Session *s)
{
    s->plans = plans_new(s->arena);
    s->txn = txn_new(s->arena, &s->boot->shm, s->boot->slot, s->boot->generation, &s->lock_timeout_ms);
    exec_init(&s->boot->shm, s->boot->slot, (u32)conf_int(&s->boot->conf, worker_threads));
    signin(s);
    s->signed_in = true;
}

void
session_run(Session *s)
{
    Catch c = {0};
    current_catch = &c;
    s->ready_due = true;
    wire_on_wake(s->wire, listen_idle, s);
    if (setjmp(c.jump))
        recover(s, &c);
    else if (!s->signed_in) /* a test's session is */
        sign_in(s);
    for (;;)
        turn(s);
}
