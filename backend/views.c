/*
 * views.c
 *    The relations of the system that show this session: pg_prepared_statements, pg_cursors, pg_settings.
 */
#include "backend/session.h"

#include "backend/exec/system.h"

static void
put_types(SystemRows *r, const TypeId *types, u32 count)
{
    i64 *oids = ARENA_ARRAY(r->arena, i64, count);
    for (u32 i = 0; i < count; i++)
        oids[i] = type_oid(types[i]);
    system_ints(r, oids, count);
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

static void
setting_row(void *ctx, const char *name, const char *value, const char *text)
{
    SystemRows *r = ctx;
    Session *s = r->exec->ctx->env.session;
    GucInfo *i = arena_alloc(r->arena, sizeof *i);
    (void)value;
    guc_describe(s->guc, name, i);
    system_string(r, name);
    system_string(r, i->value);
    system_string(r, i->unit);
    system_string(r, "Parameters"); /* category */
    system_string(r, text);
    system_null(r); /* extra_desc */
    system_string(r, i->context);
    system_string(r, i->kind);
    system_string(r, strcmp(i->value, i->boot) == 0 ? "default" : strcmp(i->context, "user") == 0 ? "session" : "configuration file");
    system_string(r, i->bounded ? arena_printf(r->arena, "%lld", (long long)i->min) : NULL);
    system_string(r, i->bounded ? arena_printf(r->arena, "%lld", (long long)i->max) : NULL);
    if (i->words) {
        Str words[64];
        u32 count = 0;
        for (const char *at = i->words; at && count < COUNT_OF(words); at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
            words[count++] = (Str){at, (u32)strcspn(at, ",")};
        system_texts(r, words, count);
    } else
        system_null(r);
    system_string(r, i->boot);
    system_string(r, i->reset);
    system_null(r); /* sourcefile */
    system_null(r); /* sourceline */
    system_bool(r, false);
    system_end_row(r);
}

void
session_rows(SystemRows *r, u32 system_table)
{
    Session *s = r->exec->ctx->env.session;
    if (system_table == SYSTEM_PREPARED_STATEMENTS)
        prepared_each(s, prepared_row, r);
    if (system_table == SYSTEM_SETTINGS)
        guc_each(s->guc, setting_row, r);
    if (system_table != SYSTEM_CURSORS)
        return;
    if (s->in_extended) /* that of a simple Query is nobody's */
        cursor_row(r, &s->unnamed);
    for (const Portal *p = s->portals; p; p = p->next)
        cursor_row(r, p);
}
