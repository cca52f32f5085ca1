/*
 * views.c
 *    The relations of the system that show this session: pg_prepared_statements, pg_cursors.
 */
#include "backend/session.h"

#include "backend/exec/system.h"

/* As an array of names. */
static void
put_types(SystemRows *r, const TypeId *types, u32 count)
{
    const char *text = "{";
    for (u32 i = 0; i < count; i++) {
        const char *name = type_name(types[i]);
        text = arena_printf(r->arena, strpbrk(name, " \",{}") ? "%s%s\"%s\"" : "%s%s%s", text, i ? "," : "", name);
    }
    system_text(r, str_of(arena_printf(r->arena, "%s}", text)));
}

static void
prepared_row(void *ctx, const Prepared *p)
{
    SystemRows *r = ctx;
    const CachedPlan *plan = p->plan;
    system_text(r, str_of(p->name));
    system_text(r, (Str){plan->text, plan->text_len});
    system_int(r, p->prepared_us);
    put_types(r, plan->stmt ? plan->stmt->param_types : NULL, plan->stmt ? plan->stmt->param_count : 0);
    if (plan->returns_rows) {
        TypeId *types = ARENA_ARRAY(r->arena, TypeId, plan->column_count);
        for (u32 i = 0; i < plan->column_count; i++)
            types[i] = plan->columns[i].type;
        put_types(r, types, plan->column_count);
    } else
        system_null(r);
    system_bool(r, p->from_sql);
    system_int(r, (i64)p->runs);
    system_int(r, 0); /* a plan is never made for one execution's values */
    system_end_row(r);
}

static void
cursor_row(SystemRows *r, const Portal *p)
{
    if (!p->is_open || !p->plan)
        return;
    system_text(r, str_of(p->name));
    system_text(r, (Str){p->plan->text, p->plan->text_len});
    system_bool(r, p->hold);
    system_bool(r, p->binary);
    system_bool(r, p->scrolls);
    system_int(r, p->created_us);
    system_end_row(r);
}

void
session_rows(SystemRows *r, u32 system_table)
{
    Session *s = r->exec->ctx->env.session;
    if (system_table == SYSTEM_PREPARED_STATEMENTS)
        prepared_each(s, prepared_row, r);
    if (system_table != SYSTEM_CURSORS)
        return;
    if (s->in_extended) /* that of a simple Query is nobody's */
        cursor_row(r, &s->unnamed);
    for (const Portal *p = s->portals; p; p = p->next)
        cursor_row(r, p);
}
