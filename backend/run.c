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
        session_notice(s, REPLY_NOTICE, b->kind == BST_CREATE_TABLE ? ERR_DUPLICATE_TABLE : ERR_NONE, b->notices[i]);
}

static void
run_write(Session *s, Portal *p)
{
    for (int i = 0; i < REPLANS_MAX; i++) {
        u64 rows = 0;
        if (exec_write(&p->ctx, p->plan->plan, &rows) == EXEC_DONE) {
            send_notices(s, p->plan->stmt);
            p->rows = rows;
            return;
        }
        txn_end_statement(s->txn);
        CachedPlan *fresh = plans_again(s, p->plan, true);
        plans_hold(fresh);
        plans_release(s, p->plan);
        p->plan = fresh;
    }
    err_throw(ERR_SERIALIZATION_FAILURE, "could not run the statement because its tables keep changing");
}

void
run_statement(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    p->with_rows = false;
    p->tag = p->plan->parsed->tag;
    switch (b->kind) {
    case BST_INSERT:
        run_write(s, p);
        p->tag = "INSERT 0";
        p->with_rows = true;
        break;
    case BST_UPDATE:
    case BST_DELETE:
        run_write(s, p);
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
    case BST_DROP_TABLE:
    case BST_TRUNCATE:
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
    case BST_ALTER_ROLE:
        p->tag = utility_run(s, b);
        break;
    case BST_NOOP: /* VACUUM, ANALYZE: nothing to do, and the tag says it was done */
        break;
    case BST_SELECT:
    case BST_EMPTY:
        err_throw(ERR_INTERNAL_ERROR, "statement of kind %d has no runner", b->kind);
    }
}
