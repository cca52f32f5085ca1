/*
 * extended.c
 *    Parse, Bind, Describe, Execute, Close. Errors skip to Sync (session.c).
 *
 * A plan is checked against today's catalog at every Bind, Describe and Execute and made again when it is stale. Bind into the unnamed portal reuses its
 * arena: the repeated point query reads a few words, allocates its parameters there and runs.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/env.h"

#include <stdio.h>

static NORETURN void
no_statement(const char *name)
{
    if (*name)
        err_throw(ERR_INVALID_STATEMENT_NAME, "prepared statement \"%s\" does not exist", name);
    err_throw(ERR_INVALID_STATEMENT_NAME, "unnamed prepared statement does not exist");
}

/* statement_timeout runs from a statement's first message to the end of its Execute, or to Sync. */
static void
begin_message(Session *s)
{
    transaction_start(s);
    interrupt_statement_begin(s->statement_timeout_ms);
}

void
extended_parse(Session *s, const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    const char *name = body_string(&r), *text = body_string(&r);
    u32 len = (u32)strlen(text), count = reader_be16(&r);
    TypeId *declared = ARENA_ARRAY(s->message, TypeId, count);
    for (u32 i = 0; i < count && !r.bad; i++) {
        u32 oid = reader_be32(&r);
        declared[i] = oid ? type_from_oid(oid) : TYPE_INVALID;
        if (declared[i] == TYPE_UNKNOWN)
            declared[i] = TYPE_INVALID;
        else if (oid && declared[i] == TYPE_INVALID)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "parameters of the type with OID %u are not supported yet", oid);
    }
    body_end(&r);
    begin_message(s);
    if (!*name)
        prepared_drop(s, ""); /* even when the new one fails */
    CachedPlan *plan = plans_find(s, text, len, declared, count);
    if (plan)
        session_tell_cuts(s, plan->parsed);
    else
        plan = plans_make(s, text, len, declared, count);
    prepared_put(s, name, plan, false);
    reply_empty(s->wire, MSG_B_PARSE_COMPLETE);
}

/* Format codes: none = all text, one for all, or one each. */
typedef struct Formats { u32 count; const u8 *codes; } Formats;

static Formats
read_formats(ByteReader *r)
{
    Formats f = {.count = reader_be16(r)};
    f.codes = reader_take(r, 2 * (size_t)f.count);
    if (r->bad)
        body_bad("insufficient data left in message");
    return f;
}

static bool
is_binary(const Formats *f, u32 i)
{
    u32 code = f->count ? get_be16(f->codes + 2 * (f->count == 1 ? 0 : i)) : 0;
    if (UNLIKELY(code > 1))
        err_throw(ERR_INVALID_PARAMETER_VALUE, "unsupported format code: %d", (i16)code);
    return code == 1;
}

/* An empty statement has the parameters that were declared. */
static u32
param_count(const CachedPlan *p)
{
    return p->stmt ? p->stmt->param_count : p->declared_count;
}

static const TypeId *
param_types(const CachedPlan *p)
{
    return p->stmt ? p->stmt->param_types : p->declared;
}

static NORETURN void
bad_parameter(const Portal *p, u32 index, bool binary, Error *err)
{
    char where[128] = "unnamed portal";
    if (*p->name)
        snprintf(where, sizeof where, "portal \"%s\"", p->name);
    if (binary && err->code == ERR_INVALID_BINARY_REPRESENTATION)
        snprintf(err->message, sizeof err->message, "incorrect binary data format in bind parameter %u", index + 1);
    err->position = 0;
    error_context(err, binary ? "%s parameter $%u" : "%s parameter $%u = '...'", where, index + 1);
    err_rethrow(err);
}

static void
read_parameter(Portal *p, u32 index, TypeId type, bool binary, const u8 *data, u32 len)
{
    Value *v = &p->params[index];
    Error err;
    if (binary) {
        if (!value_recv(p->arena, type, -1, data, len, v, &err))
            bad_parameter(p, index, true, &err);
    } else {
        Str text = {(const char *)data, len};
        if (!utf8_check(text, &err))
            bad_parameter(p, index, true, &err); /* no text: not shown either */
        if (!value_in(p->arena, &p->format, type, -1, text, v, &err))
            bad_parameter(p, index, false, &err);
    }
    /* The message goes away, the portal stays. */
    if (phys_of(type, -1) == PHYS_STR)
        v->str = arena_str(p->arena, v->str);
}

static u32
read_parameter_count(ByteReader *r, const CachedPlan *plan, const Formats *formats, const char *statement)
{
    u32 count = reader_be16(r), want = param_count(plan);
    if (formats->count > 1 && formats->count != count)
        err_throw(ERR_PROTOCOL_VIOLATION, "bind message has %u parameter formats but %u parameters", formats->count, count);
    if (count != want)
        err_throw(ERR_PROTOCOL_VIOLATION, "bind message supplies %u parameters, but prepared statement \"%s\" requires %u", count, statement, want);
    return count;
}

static void
read_parameters(ByteReader *r, Portal *p, const CachedPlan *plan, const Formats *formats, u32 count)
{
    p->params = ARENA_ARRAY(p->arena, Value, count);
    p->param_count = count;
    for (u32 i = 0; i < count; i++) {
        TypeId type = param_types(plan)[i] != TYPE_INVALID ? param_types(plan)[i] : TYPE_TEXT;
        u32 len = reader_be32(r);
        if (len == UINT32_MAX && !r->bad) {
            p->params[i] = (Value){.type = type, .typmod = -1, .is_null = true};
            continue;
        }
        const u8 *data = reader_take(r, len);
        if (!data)
            body_bad("insufficient data left in message");
        read_parameter(p, i, type, is_binary(formats, i), data, len);
    }
}

static void
set_result_formats(Portal *p, const CachedPlan *plan, const Formats *formats)
{
    u32 n = plan->column_count;
    if (!plan->returns_rows)
        return;
    if (formats->count > 1 && formats->count != n)
        err_throw(ERR_PROTOCOL_VIOLATION, "bind message has %u result formats but query has %u columns", formats->count, n);
    if (formats->count == 0 || (formats->count == 1 && !is_binary(formats, 0)))
        return; /* all text: the plan's own */
    p->columns = ARENA_ARRAY(p->arena, ReplyColumn, n);
    for (u32 i = 0; i < n; i++) {
        p->columns[i] = plan->columns[i];
        p->columns[i].binary = is_binary(formats, i);
    }
}

void
extended_bind(Session *s, const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    const char *portal_name = body_string(&r), *name = body_string(&r);
    Prepared *st = prepared_find(s, name);
    begin_message(s);
    if (!st)
        no_statement(name);
    Formats formats = read_formats(&r);
    u32 count = read_parameter_count(&r, st->plan, &formats, name);
    transaction_admit(s, st->plan->parsed);
    CachedPlan *plan = prepared_plan(s, st);
    Portal *p = portal_open(s, portal_name, plan);
    read_parameters(&r, p, plan, &formats, count);
    Formats results = read_formats(&r);
    body_end(&r);
    set_result_formats(p, plan, &results);
    portal_evaluate(s, p);
    reply_empty(s->wire, MSG_B_BIND_COMPLETE);
}

static NORETURN void
no_portal(const char *name)
{
    err_throw(ERR_INVALID_CURSOR_NAME, "portal \"%s\" does not exist", name);
}

/* A failed transaction says nothing about columns. */
static void
admit_describe(const Session *s, const CachedPlan *plan)
{
    if (plan->returns_rows)
        transaction_admit(s, plan->parsed);
}

static NORETURN void
cannot_run(const char *name)
{
    err_throw(ERR_OBJECT_NOT_IN_PREREQUISITE_STATE, "portal \"%s\" cannot be run", name);
}

/* A portal that has failed and lost its plan. */
static void
describe_failed(Session *s, const Portal *p)
{
    if (p->returned_rows) {
        transaction_admit(s, NULL);
        cannot_run(p->name);
    }
    reply_empty(s->wire, MSG_B_NO_DATA);
}

void
extended_describe(Session *s, const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    u8 what = reader_u8(&r);
    const char *name = body_string(&r);
    const CachedPlan *plan;
    const ReplyColumn *columns;
    body_end(&r);
    begin_message(s);
    if (what == 'S') {
        Prepared *st = prepared_find(s, name);
        if (!st)
            no_statement(name);
        admit_describe(s, st->plan);
        plan = transaction_status(s) == 'E' ? st->plan : prepared_plan(s, st);
        columns = plan->columns;
        reply_parameter_description(s->wire, param_types(plan), param_count(plan));
    } else if (what == 'P') {
        const Portal *p = portal_find(s, name);
        if (!p)
            no_portal(name);
        if (p->state == PORTAL_FAILED && !p->plan) {
            describe_failed(s, p);
            return;
        }
        plan = p->plan;
        columns = p->columns;
        admit_describe(s, plan);
    } else
        err_throw(ERR_PROTOCOL_VIOLATION, "invalid DESCRIBE message subtype %d", what);
    if (plan->returns_rows)
        reply_row_description(s->wire, columns, plan->column_count);
    else
        reply_empty(s->wire, MSG_B_NO_DATA);
}

/* Between Bind and Execute the catalog may have moved: the portal takes the new plan when it fits its parameters and formats. */
static void
refresh_portal(Session *s, Portal *p)
{
    if (p->state != PORTAL_READY || p->plan->parsed->uses_names || plans_is_current(s, p->plan))
        return;
    portal_plan_again(s, p);
}

/* One more execution is about to begin. A lone statement whose Sync is there already commits by itself; what others may follow is staged. Other portals
 * must not see what it does. */
static void
begin_execution(Session *s, Portal *p)
{
    const Transaction *t = &s->transaction;
    bool begins = p->state == PORTAL_READY;
    if (begins && p->plan->stmt->kind == BST_EXECUTE)
        prepared_execute(s, p);
    bool moves = begins && portal_moves(p);
    bool alone = t->state == TRANSACTION_STARTED && !t->pipelined && wire_next_is(s->wire, MSG_F_SYNC);
    if (!alone) {
        const ParsedStmt *parsed = p->plan->parsed;
        if (!parsed->is_cursor && !parsed->ends_failed && portal_detach_others(s, p, moves) && moves)
            txn_end_statement(s->txn);
        transaction_stage(s);
    }
    if (!begins)
        return;
    refresh_portal(s, p);
    transaction_admit_plan(s, p->plan);
    transaction_admit_alone(s, p->plan->parsed);
}

static void
end_execution(Session *s, const Portal *p, bool complete)
{
    PortalEnd end = portal_end(p);
    Transaction *t = &s->transaction;
    if (complete && (p->plan->parsed->is_transaction || t->at_once))
        transaction_finish(s); /* closes p */
    else {
        t->pipelined = true;
        transaction_end_statement(s);
    }
    if (complete)
        portal_complete(s, &end);
    else
        reply_empty(s->wire, MSG_B_PORTAL_SUSPENDED);
}

void
extended_execute(Session *s, const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    const char *name = body_string(&r);
    u32 max_rows = reader_be32(&r);
    body_end(&r);
    Portal *p = portal_find(s, name);
    if (!p)
        no_portal(name);
    if (p->state != PORTAL_FAILED && !p->plan->parsed) {
        reply_empty(s->wire, MSG_B_EMPTY_QUERY);
        return;
    }
    begin_message(s);
    if (p->state != PORTAL_FAILED || !p->failed_late) /* one that failed late is known to end the block */
        transaction_admit(s, p->state == PORTAL_FAILED ? NULL : p->plan->parsed);
    if (p->state == PORTAL_FAILED || (p->state == PORTAL_DONE && !p->plan->returns_rows))
        cannot_run(name);
    s->running = p;
    s->statement_us = env->wall_us();
    session_statement_begin(s, p->plan->text, p->plan->text_len);
    begin_execution(s, p);
    bool complete = portal_run(s, p, (i32)max_rows > 0 ? max_rows : 0);
    s->running = NULL;
    end_execution(s, p, complete);
    session_statement_end(s, complete);
}

void
extended_close(Session *s, const WireMsg *m)
{
    ByteReader r = reader_of(m->body, m->len);
    u8 what = reader_u8(&r);
    const char *name = body_string(&r);
    body_end(&r);
    if (what == 'S')
        prepared_drop(s, name);
    else if (what == 'P') {
        Portal *p = portal_find(s, name);
        if (p)
            portal_close(s, p);
    } else
        err_throw(ERR_PROTOCOL_VIOLATION, "invalid CLOSE message subtype %d", what);
    reply_empty(s->wire, MSG_B_CLOSE_COMPLETE);
}
