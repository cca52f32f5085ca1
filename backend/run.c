/*
 * run.c
 *    Statements that change something, and the ones the session answers itself.
 *
 * A write that the walwriter answers with REPLAN (the catalog moved) is bound and planned again, a bounded number of times; until it is accepted nothing
 * of it is visible and nothing was sent.
 */
#include "backend/session.h"

#include "backend/throw.h"

static void
send_notices(Session *s, const BStmt *b)
{
    for (u32 i = 0; i < b->notice_count; i++)
        session_notice(s, REPLY_NOTICE, b->notices[i]->code, b->notices[i]->text);
}

/* The catalog moved: bind and plan again. */
static void
plan_again(Session *s, Portal *p)
{
    txn_end_statement(s->txn);
    portal_plan_again(s, p);
    acting_check_rights(s, p->plan->stmt);
}

static NORETURN void
keeps_changing(void)
{
    err_throw(ERR_SERIALIZATION_FAILURE, "could not run the statement because its tables keep changing");
}

static void
run_write(Session *s, Portal *p)
{
    for (int i = 0; i < REPLANS_MAX; i++) {
        u64 rows = 0;
        if (exec_write(&p->ctx, p->plan->plan, &rows, &p->exec) == EXEC_DONE) {
            send_notices(s, p->plan->stmt);
            p->rows = rows;
            return;
        }
        plan_again(s, p);
    }
    keeps_changing();
}

Exec *
run_open(Session *s, Portal *p, const Plan *plan, bool measured)
{
    Exec *e;
    if (!plan->locks)
        return measured ? exec_open_measured(&p->ctx, plan) : exec_open(&p->ctx, plan);
    for (int i = 0; i < REPLANS_MAX; i++) {
        if (exec_open_locking(&p->ctx, plan, measured, &e) == EXEC_DONE)
            return e;
        if (plan != p->plan->plan)
            break;
        plan_again(s, p);
        plan = p->plan->plan;
    }
    keeps_changing();
}

void
run_statement(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    p->with_rows = false;
    p->tag = p->plan->parsed->tag;
    switch (b->kind) {
    case BST_INSERT:
    case BST_UPDATE:
    case BST_DELETE:
        run_write(s, p);
        b = p->plan->stmt; /* it may have been planned again: the former one is gone */
        if (b->copy_out)
            p->rows = copyout_changes(s, p);
        else if (b->kind == BST_INSERT)
            p->tag = "INSERT 0";
        p->with_rows = true;
        break;
    case BST_COPY_FROM:
        p->rows = copyin_run(s, p);
        p->with_rows = true;
        break;
    case BST_COPY_TO:
        p->rows = copyout_run(s, p);
        p->with_rows = true;
        break;
    case BST_CREATE_TABLE:
        run_write(s, p);
        b = p->plan->stmt;
        if (b->query && b->create) {
            p->tag = "SELECT";
            p->with_rows = true;
        } else if (p->plan->parsed->tag[0] == 'S') {
            p->tag = "CREATE TABLE AS";
        }
        break;
    case BST_DROP_TABLE:
    case BST_ALTER_TABLE:
    case BST_TRUNCATE:
        run_write(s, p);
        break;
    case BST_LOCK:
        if (!transaction_in_block(s))
            err_throw(ERR_NO_ACTIVE_TRANSACTION, "LOCK TABLE can only be used in transaction blocks");
        run_write(s, p);
        break;
    case BST_SHOW:
        utility_show(s, p);
        break;
    case BST_EXPLAIN:
        utility_explain(s, p);
        break;
    case BST_SET:
    case BST_RESET:
    case BST_TRANSACTION:
    case BST_CHECKPOINT:
    case BST_CHECK:
    case BST_DEALLOCATE:
    case BST_DISCARD:
    case BST_ACCESS:
        p->tag = utility_run(s, b, p->tag);
        break;
    case BST_LISTEN:
    case BST_UNLISTEN:
    case BST_NOTIFY:
        p->tag = listen_run(s, b);
        break;
    case BST_DECLARE:
        cursor_declare(s, p);
        break;
    case BST_FETCH:
        cursor_fetch(s, p);
        break;
    case BST_CLOSE:
        p->tag = cursor_close(s, b);
        break;
    case BST_PREPARE:
        prepared_make(s, p->plan);
        break;
    case BST_NOOP: /* VACUUM, ANALYZE: nothing to do, and the tag says it was done */
        break;
    case BST_SELECT:
    case BST_EXECUTE: /* has become its statement */
    case BST_EMPTY:
        err_throw(ERR_INTERNAL_ERROR, "statement of kind %d has no runner", b->kind);
    }
}
