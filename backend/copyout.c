/*
 * copyout.c
 *    COPY … TO STDOUT: the rows of a query through net/copy_out.h to the client.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/net/copy_out.h"
#include "backend/throw.h"

static CopyOutSpec
make_spec(Portal *p)
{
    const BCopyOptions *o = &p->plan->stmt->copy;
    const Plan *plan = p->plan->plan;
    static const CopyKind KINDS[] = {[COPY_TEXT] = COPY_KIND_TEXT, [COPY_CSV] = COPY_KIND_CSV, [COPY_BINARY] = COPY_KIND_BINARY};
    ReplyColumn *columns = ARENA_ARRAY(p->arena, ReplyColumn, plan->column_count);
    for (u32 i = 0; i < plan->column_count; i++)
        columns[i] = (ReplyColumn){.name = plan->columns[i].name, .type = plan->columns[i].type, .typmod = plan->columns[i].typmod};
    return (CopyOutSpec){
        .kind = KINDS[o->format], .header = o->header, .delimiter = o->delimiter, .quote = o->quote, .escape = o->escape,
        .has_null_text = o->has_null_text, .null_text = o->null_text, .column_count = plan->column_count, .columns = columns,
        .force_quote = o->force_quote, .format = p->format,
    };
}

static u64
send_rows(Session *s, Portal *p, Exec *e)
{
    Batch b;
    u64 rows = 0;
    CopyOutSpec spec = make_spec(p);
    CopyOut *out = copy_out_begin(s->wire, p->arena, &spec);
    while (exec_next(e, &b)) {
        interrupt_check();
        copy_out_rows(out, &b);
        rows += b.count;
    }
    copy_out_end(out);
    exec_close(e);
    return rows;
}

u64
copyout_run(Session *s, Portal *p)
{
    return send_rows(s, p, run_open(s, p, p->plan->plan, false));
}

u64
copyout_changes(Session *s, Portal *p)
{
    Exec *e = p->exec;
    p->exec = NULL;
    return send_rows(s, p, e);
}
