/*
 * transaction.c
 *    The session's transaction as SQL and the protocol see it: none, implicit, a block, failed; savepoints by name; modes.
 *
 * Statements only ask (`ends`): what COMMIT, ROLLBACK and ROLLBACK TO mean happens in transaction_finish, after their portal has run, since it closes
 * portals and may throw. What is begun, staged, undone and committed is backend/txn's; here stand the rules of who may do what when.
 *
 * An implicit transaction lasts from its first message to Sync, or one simple Query. One statement alone in it is autocommit (txn is never begun); the second
 * one, or one whose Sync is not there yet, is staged (transaction_stage) and committed by the end of the Query or by Sync.
 *
 * Errors: recover (session.c) calls transaction_abort: an implicit transaction is over, a block has failed and waits for its end or for ROLLBACK TO.
 * Fails: by throwing PostgreSQL's errors; transaction_abort never throws.
 */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/base/env.h"

#include <stdlib.h>

/* Levels of isolation as they are shown, and what they mean to txn. */
static const struct { const char *shown; TxnIsolation level; } ISOLATIONS[] = {
    {"read committed", TXN_READ_COMMITTED}, {"read uncommitted", TXN_READ_COMMITTED},
    {"repeatable read", TXN_REPEATABLE_READ}, {"serializable", TXN_SERIALIZABLE}};

static const char FAILED_TEXT[] = "current transaction is aborted, commands ignored until end of transaction block";

struct Savepoint {
    Savepoint *outer;
    u32 level; /* of guc.h; the transaction's own is 1 */
    u32 mark;  /* of txn.h */
    u32 notes, listens; /* txn_notes_mark, listen_change_count */
    bool read_only; /* of the transaction when it was made */
    char name[];
};

/* ---- modes ---- */

static u8
isolation_of(const char *shown)
{
    u8 i = 0;
    while (strcmp(ISOLATIONS[i].shown, shown) != 0)
        i++;
    return i;
}

static bool
is_on(const Session *s, GucId id)
{
    return strcmp(guc_text(s->guc, id), "on") == 0;
}

/* The parameters say what is in force; they are touched only when they say something else. */
static void
show_modes(Session *s)
{
    Transaction *t = &s->transaction;
    const TransactionModes *m = &t->modes;
    if (m->isolation != t->shown.isolation)
        guc_put(s->guc, GUC_transaction_isolation, ISOLATIONS[m->isolation].shown);
    if (m->read_only != t->shown.read_only)
        guc_put(s->guc, GUC_transaction_read_only, m->read_only ? "on" : "off");
    if (m->deferrable != t->shown.deferrable)
        guc_put(s->guc, GUC_transaction_deferrable, m->deferrable ? "on" : "off");
    t->shown = *m;
}

static void
take_isolation(Session *s)
{
    Transaction *t = &s->transaction;
    TxnIsolation level = ISOLATIONS[t->modes.isolation].level;
    if (txn_is_open(s->txn) || level != t->autocommit_level)
        txn_set_isolation(s->txn, level);
    if (!txn_is_open(s->txn))
        t->autocommit_level = level;
}

static void
default_modes(Session *s)
{
    Transaction *t = &s->transaction;
    if (t->defaults_serial != guc_serial(s->guc)) {
        t->defaults.isolation = isolation_of(guc_text(s->guc, GUC_default_transaction_isolation));
        t->defaults.read_only = is_on(s, GUC_default_transaction_read_only);
        t->defaults.deferrable = is_on(s, GUC_default_transaction_deferrable);
        t->defaults_serial = guc_serial(s->guc);
    }
    t->modes = t->defaults;
}

static void
set_isolation(Session *s, u8 isolation)
{
    Transaction *t = &s->transaction;
    if (isolation == t->modes.isolation)
        return;
    if (t->looked)
        err_throw(ERR_ACTIVE_TRANSACTION, "SET TRANSACTION ISOLATION LEVEL must be called before any query");
    if (t->newest)
        err_throw(ERR_ACTIVE_TRANSACTION, "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
    t->modes.isolation = isolation;
    take_isolation(s);
}

static void
set_read_only(Session *s, bool read_only)
{
    Transaction *t = &s->transaction;
    if (!read_only && t->modes.read_only) {
        if (t->newest)
            err_throw(ERR_ACTIVE_TRANSACTION, "cannot set transaction read-write mode inside a read-only transaction");
        if (t->looked)
            err_throw(ERR_ACTIVE_TRANSACTION, "transaction read-write mode must be set before any query");
    }
    t->modes.read_only = read_only;
}

static void
set_deferrable(Session *s, bool deferrable)
{
    Transaction *t = &s->transaction;
    if (t->newest)
        err_throw(ERR_ACTIVE_TRANSACTION, "SET TRANSACTION [NOT] DEFERRABLE cannot be called within a subtransaction");
    if (t->looked)
        err_throw(ERR_ACTIVE_TRANSACTION, "SET TRANSACTION [NOT] DEFERRABLE must be called before any query");
    t->modes.deferrable = deferrable;
}

void
transaction_set_mode(Session *s, GucId id, const char *value)
{
    char shown[GUC_TEXT_MAX];
    Error err;
    CHECKED(guc_check_value(id, value, shown, &err), &err);
    bool on = strcmp(shown, "on") == 0;
    if (id == GUC_transaction_isolation)
        set_isolation(s, isolation_of(shown));
    else if (id == GUC_transaction_read_only)
        set_read_only(s, on);
    else
        set_deferrable(s, on);
    show_modes(s);
}

/* ---- beginning ---- */

static void
start(Session *s, const TransactionModes *modes)
{
    Transaction *t = &s->transaction;
    t->state = TRANSACTION_STARTED;
    t->looked = t->pipelined = t->at_once = t->chain = false;
    t->ends = ENDS_NOT;
    guc_enter(s->guc);
    if (modes)
        t->modes = *modes;
    else
        default_modes(s);
    show_modes(s);
    take_isolation(s);
}

void
transaction_start(Session *s)
{
    Transaction *t = &s->transaction;
    if (t->state == TRANSACTION_NONE) {
        s->now_us = s->format.now_us = env->wall_us();
        start(s, NULL);
    } else if (t->pipelined)
        transaction_implicit(s);
}

void
transaction_implicit(Session *s)
{
    if (s->transaction.state != TRANSACTION_STARTED)
        return;
    s->transaction.state = TRANSACTION_IMPLICIT;
    transaction_stage(s);
}

void
transaction_stage(Session *s)
{
    if (!txn_is_open(s->txn) && s->transaction.state != TRANSACTION_FAILED)
        txn_begin(s->txn, ISOLATIONS[s->transaction.modes.isolation].level);
}

void
transaction_implicit_end(Session *s)
{
    if (s->transaction.state == TRANSACTION_IMPLICIT)
        s->transaction.state = TRANSACTION_STARTED;
}

/* ---- who may run ---- */

void
transaction_admit(const Session *s, const ParsedStmt *stmt)
{
    if (UNLIKELY(s->transaction.state == TRANSACTION_FAILED) && !(stmt && stmt->ends_failed))
        err_throw(ERR_FAILED_TRANSACTION, FAILED_TEXT);
}

void
transaction_admit_write(const Session *s, const ParsedStmt *stmt)
{
    if (stmt->is_write && s->transaction.modes.read_only)
        err_throw(ERR_READ_ONLY_TRANSACTION, "cannot execute %s in a read-only transaction", strcmp(stmt->tag, "COPY") == 0 ? "COPY FROM" : stmt->tag);
}

void
transaction_admit_plan(const Session *s, const CachedPlan *plan)
{
    static const char *const LOCKING[] = {[ROW_LOCK_KEY_SHARE] = "SELECT FOR KEY SHARE", [ROW_LOCK_SHARE] = "SELECT FOR SHARE",
                                          [ROW_LOCK_NO_KEY_UPDATE] = "SELECT FOR NO KEY UPDATE", [ROW_LOCK_UPDATE] = "SELECT FOR UPDATE"};
    const BQuery *q = plan->stmt->query;
    transaction_admit_write(s, plan->parsed);
    if (UNLIKELY(s->transaction.modes.read_only) && plan->parsed && plan->stmt->kind == BST_SELECT && plan->plan->locks)
        err_throw(ERR_READ_ONLY_TRANSACTION, "cannot execute %s in a read-only transaction", q->lock_count ? LOCKING[q->locks[0].mode] : "SELECT");
}

void
transaction_admit_alone(Session *s, const ParsedStmt *stmt)
{
    Transaction *t = &s->transaction;
    if (LIKELY(!stmt->not_in_block))
        return;
    if (t->state != TRANSACTION_STARTED)
        err_throw(ERR_ACTIVE_TRANSACTION, "%s cannot run inside a transaction block", stmt->not_in_block);
    t->at_once = true;
}

bool
transaction_in_block(const Session *s)
{
    TransactionState state = s->transaction.state;
    return state >= TRANSACTION_BLOCK || (state == TRANSACTION_IMPLICIT && !s->in_extended);
}

char
transaction_status(const Session *s)
{
    switch (s->transaction.state) {
    case TRANSACTION_NONE:
    case TRANSACTION_STARTED: return 'I';
    case TRANSACTION_IMPLICIT:
    case TRANSACTION_BLOCK: return 'T';
    case TRANSACTION_FAILED: break;
    }
    return 'E';
}

u32
transaction_level(const Session *s)
{
    return s->transaction.newest ? s->transaction.newest->level : 1;
}

/* ---- the end of a transaction ---- */

static void
forget_savepoints(Transaction *t, const Savepoint *down_to)
{
    while (t->newest != down_to) {
        Savepoint *sp = t->newest;
        t->newest = sp->outer;
        free(sp);
    }
}

/* Nothing of it is left but its effects. */
static void
leave(Session *s, bool kept)
{
    Transaction *t = &s->transaction;
    forget_savepoints(t, NULL);
    txn_notes_cut(s->txn, 0);
    listen_end(s, kept);
    guc_leave(s->guc, 1, kept);
    session_apply_gucs(s);
    t->state = TRANSACTION_NONE;
    t->ends = ENDS_NOT;
    if (kept)
        s->box->commits++;
    else
        s->box->rollbacks++;
}

static void
commit(Session *s)
{
    portal_hold_all(s);
    portal_close_all(s);
    listen_before_commit(s);
    if (txn_is_open(s->txn))
        txn_commit(s->txn);
    else {
        txn_commit_notes(s->txn);
        txn_end_statement(s->txn);
    }
    leave(s, true);
}

static void
rollback(Session *s)
{
    portal_close_all(s);
    txn_rollback(s->txn);
    leave(s, false);
}

/* AND CHAIN: a block like the one that ended. */
static void
end_block(Session *s, void (*end)(Session *s))
{
    bool chain = s->transaction.chain;
    TransactionModes modes = s->transaction.modes;
    end(s);
    if (!chain)
        return;
    s->now_us = s->statement_us;
    start(s, &modes);
    transaction_stage(s);
    s->transaction.state = TRANSACTION_BLOCK;
}

static void
roll_back_to(Session *s)
{
    Transaction *t = &s->transaction;
    Savepoint *sp = t->target;
    portal_close_from(s, sp->level);
    (void)portal_detach_others(s, NULL, true);
    guc_leave(s->guc, sp->level, false);
    guc_enter(s->guc);
    t->modes.read_only = sp->read_only;
    forget_savepoints(t, sp);
    txn_rollback_to(s->txn, sp->mark);
    txn_notes_cut(s->txn, sp->notes);
    listen_cut(s, sp->listens);
    show_modes(s);
    session_apply_gucs(s);
    t->state = TRANSACTION_BLOCK;
    t->ends = ENDS_NOT;
}

void
transaction_finish(Session *s)
{
    Transaction *t = &s->transaction;
    switch (t->ends) {
    case ENDS_NOT:
        if (t->state == TRANSACTION_STARTED)
            commit(s);
        else
            transaction_end_statement(s);
        break;
    case ENDS_COMMIT: end_block(s, commit); break;
    case ENDS_ROLLBACK: end_block(s, rollback); break;
    case ENDS_ROLLBACK_TO: roll_back_to(s); break;
    }
}

void
transaction_end_statement(Session *s)
{
    if (!portal_any_holds(s))
        txn_end_statement(s->txn);
}

/* What was changed since the newest savepoint goes at once, so that others need not wait for its locks; but not under a portal that still reads. */
static void
fail(Session *s)
{
    Transaction *t = &s->transaction;
    portal_fail_from(s, transaction_level(s));
    guc_leave(s->guc, transaction_level(s), false);
    session_apply_gucs(s);
    t->state = TRANSACTION_FAILED;
    t->ends = ENDS_NOT;
    if (!t->newest)
        txn_rollback(s->txn);
    else if (!portal_any_holds(s))
        txn_rollback_to(s->txn, t->newest->mark);
}

void
transaction_abort(Session *s)
{
    const Transaction *t = &s->transaction;
    bool ending = t->ends == ENDS_COMMIT || t->ends == ENDS_ROLLBACK;
    portal_fail_fetched(s);
    switch (t->state) {
    case TRANSACTION_NONE:
        portal_close_all(s);
        txn_end_statement(s->txn);
        break;
    case TRANSACTION_STARTED:
    case TRANSACTION_IMPLICIT: rollback(s); break;
    case TRANSACTION_BLOCK:
        if (ending)
            rollback(s);
        else
            fail(s);
        break;
    case TRANSACTION_FAILED:
        if (ending)
            rollback(s);
        else
            portal_fail_running(s);
        break;
    }
}

/* ---- the statements ---- */

static void
begin(Session *s, const BStmt *b)
{
    Transaction *t = &s->transaction;
    if (t->state == TRANSACTION_BLOCK)
        session_notice(s, REPLY_WARNING, ERR_ACTIVE_TRANSACTION, "there is already a transaction in progress");
    for (u32 i = 0; i < b->setting_count; i++)
        transaction_set_mode(s, guc_transaction_parameter(b->settings[i].name), b->settings[i].value);
    transaction_stage(s);
    t->state = TRANSACTION_BLOCK;
}

/* COMMIT and ROLLBACK where no block is. */
static bool
no_block(Session *s, const BStmt *b, const char *name)
{
    if (transaction_status(s) == 'E' || s->transaction.state == TRANSACTION_BLOCK)
        return false;
    if (b->chain)
        err_throw(ERR_NO_ACTIVE_TRANSACTION, "%s AND CHAIN can only be used in transaction blocks", name);
    session_notice(s, REPLY_WARNING, ERR_NO_ACTIVE_TRANSACTION, "there is no transaction in progress");
    return true;
}

static const char *
commit_statement(Session *s, const BStmt *b)
{
    Transaction *t = &s->transaction;
    bool failed = t->state == TRANSACTION_FAILED;
    if (!no_block(s, b, "COMMIT") || t->state == TRANSACTION_IMPLICIT)
        t->ends = failed ? ENDS_ROLLBACK : ENDS_COMMIT;
    t->chain = b->chain;
    return failed ? "ROLLBACK" : "COMMIT";
}

static const char *
rollback_statement(Session *s, const BStmt *b)
{
    no_block(s, b, "ROLLBACK");
    s->transaction.ends = ENDS_ROLLBACK;
    s->transaction.chain = b->chain;
    return "ROLLBACK";
}

/* There is no two-phase commit. As in PostgreSQL, a PREPARE TRANSACTION that fails has ended its transaction. */
static const char *
prepare_statement(Session *s, const BStmt *b)
{
    Transaction *t = &s->transaction;
    bool none = no_block(s, b, "PREPARE TRANSACTION");
    if (none && t->state != TRANSACTION_IMPLICIT)
        return "ROLLBACK";
    t->ends = ENDS_ROLLBACK;
    if (t->state != TRANSACTION_FAILED)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "PREPARE TRANSACTION is not supported yet");
    return "ROLLBACK";
}

static void
need_block(const Session *s, const char *what)
{
    if (s->transaction.state < TRANSACTION_BLOCK)
        err_throw(ERR_NO_ACTIVE_TRANSACTION, "%s can only be used in transaction blocks", what);
}

static Savepoint *
find_savepoint(const Session *s, const char *name)
{
    Savepoint *sp = s->transaction.newest;
    while (sp && strcmp(sp->name, name) != 0)
        sp = sp->outer;
    if (!sp)
        err_throw(ERR_INVALID_SAVEPOINT, "savepoint \"%s\" does not exist", name);
    return sp;
}

static void
savepoint(Session *s, const BStmt *b)
{
    Transaction *t = &s->transaction;
    need_block(s, "SAVEPOINT");
    Savepoint *sp = malloc(sizeof *sp + strlen(b->name) + 1);
    if (!sp)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    strcpy(sp->name, b->name);
    sp->outer = t->newest;
    sp->read_only = t->modes.read_only;
    sp->level = guc_enter(s->guc);
    sp->mark = txn_savepoint(s->txn);
    sp->notes = txn_notes_mark(s->txn);
    sp->listens = s->listen_change_count;
    t->newest = sp;
}

/* What was done since then belongs to what is around it. */
static void
release(Session *s, const BStmt *b)
{
    Transaction *t = &s->transaction;
    need_block(s, "RELEASE SAVEPOINT");
    Savepoint *sp = find_savepoint(s, b->name), *outer = sp->outer;
    portal_move_out(s, sp->level);
    guc_leave(s->guc, sp->level, true);
    t->modes.read_only = sp->read_only;
    forget_savepoints(t, outer);
    txn_release(s->txn, outer ? outer->mark : 0);
    show_modes(s);
}

const char *
transaction_run(Session *s, const BStmt *b, const char *tag)
{
    switch (b->txn) {
    case BTXN_BEGIN: begin(s, b); break;
    case BTXN_COMMIT: return commit_statement(s, b);
    case BTXN_ROLLBACK: return rollback_statement(s, b);
    case BTXN_PREPARE: return prepare_statement(s, b);
    case BTXN_SAVEPOINT: savepoint(s, b); break;
    case BTXN_RELEASE: release(s, b); break;
    case BTXN_ROLLBACK_TO:
        need_block(s, "ROLLBACK TO SAVEPOINT");
        s->transaction.target = find_savepoint(s, b->name);
        s->transaction.ends = ENDS_ROLLBACK_TO;
        break;
    }
    return tag;
}
