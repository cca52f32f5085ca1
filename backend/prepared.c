/*
 * prepared.c
 *    Statements by name, of Parse and of PREPARE alike; "" is the unnamed one, which every Parse without a name and every simple Query replaces.
 *
 * EXECUTE's portal becomes a portal of the statement it names: from then on nobody sees a difference to one that Bind made.
 */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/base/hash.h"

#include <stdlib.h>

static Prepared **
place_of(Session *s, const char *name)
{
    if (!*name)
        return &s->unnamed_statement;
    Prepared **at = &s->prepared[hash_bytes(name, strlen(name)) % COUNT_OF(s->prepared)];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

Prepared *
prepared_find(Session *s, const char *name)
{
    return *place_of(s, name);
}

static void
drop_at(Session *s, Prepared **at)
{
    Prepared *p = *at;
    *at = p->next;
    s->names_serial++;
    plans_release(s, p->plan);
    free(p);
}

void
prepared_put(Session *s, const char *name, CachedPlan *plan, bool from_sql)
{
    Prepared **at = place_of(s, name);
    if (*at)
        err_throw(ERR_DUPLICATE_PREPARED_STATEMENT, "prepared statement \"%s\" already exists", name);
    Prepared *p = calloc(1, sizeof *p + strlen(name) + 1);
    if (!p)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    p->plan = plan;
    p->from_sql = from_sql;
    p->prepared_us = s->statement_us;
    strcpy(p->name, name);
    plans_hold(plan);
    *at = p;
    s->names_serial++;
}

CachedPlan *
prepared_plan(Session *s, Prepared *p)
{
    if (plans_is_current(s, p->plan))
        return p->plan;
    bool by_name = p->plan->parsed && p->plan->parsed->uses_names;
    CachedPlan *fresh = plans_again(s, p->plan, !by_name);
    plans_release(s, p->plan);
    p->plan = fresh;
    return fresh;
}

void
prepared_drop(Session *s, const char *name)
{
    Prepared **at = place_of(s, name);
    if (*at)
        drop_at(s, at);
}

void
prepared_drop_all(Session *s)
{
    for (size_t i = 0; i < COUNT_OF(s->prepared); i++)
        while (s->prepared[i])
            drop_at(s, &s->prepared[i]);
}

void
prepared_each(Session *s, void (*visit)(void *ctx, const Prepared *p), void *ctx)
{
    for (size_t i = 0; i < COUNT_OF(s->prepared); i++)
        for (const Prepared *p = s->prepared[i]; p; p = p->next)
            visit(ctx, p);
}

/* ---- PREPARE, EXECUTE ---- */

void
prepared_make(Session *s, const CachedPlan *prepare)
{
    const char *name = prepare->stmt->name;
    CachedPlan *plan = plans_make_inner(s, prepare->text, prepare->text_len, prepare->parsed->start, NULL, 0);
    plans_hold(plan);
    bool exists = prepared_find(s, name);
    if (!exists)
        prepared_put(s, name, plan, true);
    plans_release(s, plan);
    if (exists)
        err_throw(ERR_DUPLICATE_PREPARED_STATEMENT, "prepared statement \"%s\" already exists", name);
}

/* Evaluates the arguments of the portal's EXECUTE into its parameters. */
static void
take_arguments(Session *s, Portal *p, const CachedPlan *plan)
{
    u32 count = plan->stmt->param_count;
    if (!count) /* arguments are not looked at then */
        return;
    const Plan *arguments = plans_arguments(s, p->arena, p->plan, plan);
    p->params = ARENA_ARRAY(p->arena, Value, count);
    p->param_count = 0;
    ExecContext ctx = portal_context(s, p);
    Exec *e = exec_open(&ctx, arguments);
    Batch b;
    ensure(exec_next(e, &b) && b.count == 1);
    for (u32 i = 0; i < count; i++) {
        const Vec *v = &b.columns[i];
        Value *to = &p->params[i];
        *to = value_from_phys(plan->stmt->param_types[i], -1, v->phys, v->scale, v->data);
        to->is_null = VEC_NULL(v, 0);
        if (v->phys == PHYS_STR && !to->is_null)
            to->str = arena_str(p->arena, to->str);
    }
    p->param_count = count;
    exec_close(e);
}

/* What an EXECUTE runs; its arguments become the portal's parameters. */
static CachedPlan *
find_executed(Session *s, Portal *p, const char *name)
{
    Prepared *st = prepared_find(s, name);
    if (!st)
        err_throw(ERR_INVALID_STATEMENT_NAME, "prepared statement \"%s\" does not exist", name);
    CachedPlan *plan = prepared_plan(s, st);
    BStmtKind kind = plan->stmt ? plan->stmt->kind : BST_EMPTY;
    if (kind != BST_SELECT && kind != BST_INSERT && kind != BST_UPDATE && kind != BST_DELETE)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "EXECUTE of a statement other than SELECT, INSERT, UPDATE, DELETE or VALUES is not supported yet");
    take_arguments(s, p, plan);
    st->runs++;
    return plan;
}

void
prepared_execute(Session *s, Portal *p)
{
    CachedPlan *plan = find_executed(s, p, p->plan->stmt->name);
    transaction_admit_plan(s, plan);
    if (p->columns != p->plan->columns && !plans_same_columns(p->plan, plan))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cached plan must not change result type");
    portal_take_plan(s, p, plan);
}

const Plan *
prepared_explain(Session *s, Portal *p)
{
    CachedPlan *plan = find_executed(s, p, p->plan->stmt->explained->name);
    plans_hold(plan);
    p->explained = plan;
    p->ctx.env.params = p->params;
    p->ctx.env.param_count = p->param_count;
    return plan->plan;
}
