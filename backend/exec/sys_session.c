/*
 * sys_session.c
 *    pg_prepared_statements, pg_cursors, pg_settings: what the session itself keeps, so it makes their rows (ExecContext.session_rows).
 */
#include "backend/exec/system.h"

static void
ask_session(SystemRows *r, SystemTable t)
{
    const ExecContext *ctx = r->exec->ctx;
    if (ctx->session_rows)
        ctx->session_rows(r, t);
}

void
system_rows_PREPARED_STATEMENTS(SystemRows *r)
{
    ask_session(r, SYSTEM_PREPARED_STATEMENTS);
}

void
system_rows_CURSORS(SystemRows *r)
{
    ask_session(r, SYSTEM_CURSORS);
}

void
system_rows_SETTINGS(SystemRows *r)
{
    ask_session(r, SYSTEM_SETTINGS);
}
