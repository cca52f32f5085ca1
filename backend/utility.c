/*
 * utility.c
 *    What the session answers by itself: SET, SHOW, RESET, EXPLAIN, DEALLOCATE, DISCARD, CHECKPOINT.
 */
#include "backend/role.h"

#include "backend/interrupt.h"
#include "backend/throw.h"

#include <strings.h>

static ReplyColumn
text_column(const char *name)
{
    return (ReplyColumn){.name = str_of(name), .type = TYPE_TEXT, .typmod = -1};
}

/* As its statement; without one it is no business of Parse. */
static void
describe_execute(Session *s, CachedPlan *p, Arena *a)
{
    const Prepared *st = prepared_find(s, p->stmt->name);
    if (!st || !st->plan->returns_rows)
        return;
    plans_copy_columns(p, a, st->plan);
}

void
utility_describe(Session *s, CachedPlan *p, Arena *a)
{
    const BStmt *b = p->stmt;
    const char *name;
    char value[GUC_TEXT_MAX];
    Error err;
    if (b->kind == BST_EXECUTE) {
        describe_execute(s, p, a);
        return;
    }
    if (b->kind == BST_FETCH) {
        cursor_describe(s, p, a);
        return;
    }
    if (b->kind != BST_SHOW && b->kind != BST_EXPLAIN)
        return;
    p->returns_rows = true;
    p->columns = ARENA_ARRAY(a, ReplyColumn, 3);
    p->column_count = 1;
    if (b->kind == BST_EXPLAIN)
        p->columns[0] = text_column("QUERY PLAN");
    else if (strcasecmp(b->name, "all") == 0) {
        p->columns[0] = text_column("name");
        p->columns[1] = text_column("setting");
        p->columns[2] = text_column("description");
        p->column_count = 3;
    } else {
        CHECKED(guc_show(s->guc, b->name, &name, value, sizeof value, &err), &err);
        p->columns[0] = text_column(arena_strndup(a, name, strlen(name)));
    }
}

typedef struct ShowAll { Portal *portal; Str *values; u64 count, capacity; } ShowAll;

static void
add_parameter(void *ctx, const char *name, const char *value, const char *text)
{
    ShowAll *all = ctx;
    Arena *a = all->portal->arena;
    if (all->count == all->capacity) {
        Str *more = ARENA_ARRAY(a, Str, 3 * (all->capacity * 2 + 64));
        if (all->count)
            memcpy(more, all->values, 3 * all->count * sizeof *more);
        all->values = more;
        all->capacity = all->capacity * 2 + 64;
    }
    all->values[3 * all->count] = arena_str(a, str_of(name));
    all->values[3 * all->count + 1] = arena_str(a, str_of(value));
    all->values[3 * all->count + 2] = arena_str(a, str_of(text));
    all->count++;
}

void
utility_show(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    p->tag = "SHOW";
    if (strcasecmp(b->name, "all") == 0) {
        ShowAll all = {.portal = p};
        guc_each(s->guc, add_parameter, &all);
        portal_set_rows(p, 3, all.values, all.count);
        return;
    }
    const char *name;
    char value[GUC_TEXT_MAX];
    Error err;
    CHECKED(guc_show(s->guc, b->name, &name, value, sizeof value, &err), &err);
    Str shown = arena_str(p->arena, str_of(value));
    portal_set_rows(p, 1, &shown, 1);
}

static void
free_buf(void *what)
{
    buf_free(what);
}

/* A row a line of text. */
static void
set_lines(Portal *p, const ByteBuf *text, bool whole)
{
    u64 n = 0, room = 1;
    for (size_t i = 0; i < text->len; i++)
        room += text->data[i] == '\n';
    Str *lines = ARENA_ARRAY(p->arena, Str, room);
    const char *at = (const char *)text->data, *end = at + text->len;
    while (at && at < end) {
        const char *stop = whole ? NULL : memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            stop = whole && end[-1] == '\n' ? end - 1 : end;
        lines[n++] = arena_str(p->arena, (Str){at, (u32)(stop - at)});
        at = whole ? end : stop + 1;
    }
    portal_set_rows(p, 1, lines, n);
}

void
utility_explain(Session *s, Portal *p)
{
    const BStmt *b = p->plan->stmt;
    ByteBuf *text = ARENA_NEW(p->arena, ByteBuf);
    Exec *figures = NULL;
    Batch batch;
    p->tag = "EXPLAIN";
    arena_hook(p->arena, free_buf, text);
    const Plan *plan = b->explained->kind == BST_EXECUTE ? prepared_explain(s, p) : p->plan->plan;
    acting_check_rights(s, plan->stmt);
    if (b->analyze) {
        if (plan->stmt->kind != BST_SELECT)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "EXPLAIN ANALYZE of a statement that writes is not supported yet");
        figures = run_open(s, p, plan, true);
        while (exec_next(figures, &batch))
            interrupt_check();
    }
    plan_explain(plan, p->arena, text, b->format_json, figures ? exec_figures(figures) : NULL);
    if (figures)
        exec_close(figures);
    if (text->failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    set_lines(p, text, b->format_json);
}

/* ---- without rows ---- */

void
utility_set(Session *s, const char *name, const char *value, GucScope scope)
{
    GucId id = guc_transaction_parameter(name);
    Error err;
    if (id != GUC_COUNT && value)
        transaction_set_mode(s, id, value);
    else
        CHECKED(session_set_parameter(s, name, value, scope, &err), &err);
    session_apply_gucs(s);
}

static void
set_parameters(Session *s, const BStmt *b)
{
    if (b->local && !transaction_in_block(s))
        session_notice(s, REPLY_WARNING, ERR_NO_ACTIVE_TRANSACTION,
                       b->set_transaction ? "SET TRANSACTION can only be used in transaction blocks" : "SET LOCAL can only be used in transaction blocks");
    for (u32 i = 0; i < b->setting_count; i++)
        utility_set(s, b->settings[i].name, b->settings[i].value, b->local ? GUC_SCOPE_LOCAL : GUC_SCOPE_SESSION);
}

static const char *
deallocate(Session *s, const BStmt *b)
{
    if (!b->name) {
        prepared_drop_all(s);
        return "DEALLOCATE ALL";
    }
    if (!prepared_find(s, b->name))
        err_throw(ERR_INVALID_STATEMENT_NAME, "prepared statement \"%s\" does not exist", b->name);
    prepared_drop(s, b->name);
    return "DEALLOCATE";
}

/* DISCARD ALL, PLANS, SEQUENCES, TEMP: the session as it was after sign-in. */
static const char *
discard(Session *s, const BStmt *b)
{
    Error err;
    switch (b->discard) {
    case DISCARD_PLANS: plans_drop_all(s); return "DISCARD PLANS";
    case DISCARD_SEQUENCES: return "DISCARD SEQUENCES";
    case DISCARD_TEMP: return "DISCARD TEMP";
    case DISCARD_ALL: break;
    }
    portal_close_others(s);
    CHECKED(session_set_parameter(s, "session_authorization", NULL, GUC_SCOPE_SESSION, &err), &err);
    CHECKED(guc_reset_all(s->guc, &err), &err);
    session_apply_gucs(s);
    prepared_drop_all(s);
    plans_drop_all(s);
    if (s->advisory_locks)
        (void)txn_advisory(s->txn, 0, 0, false, LOCK_WAIT, ADVISORY_UNLOCK_ALL);
    s->advisory_locks = false;
    listen_forget(s, NULL);
    return "DISCARD ALL";
}

static void
reset(Session *s, const BStmt *b)
{
    Error err;
    if (!b->name || strcasecmp(b->name, "all") == 0)
        CHECKED(guc_reset_all(s->guc, &err), &err);
    else
        CHECKED(session_set_parameter(s, b->name, NULL, GUC_SCOPE_SESSION, &err), &err);
    session_apply_gucs(s);
}

static void
checkpoint(Session *s)
{
    if (!role_may_as(txn_root(s->txn), s->role_id, ROLE_CHECKPOINT_OID))
        err_throw(ERR_INSUFFICIENT_PRIVILEGE, "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT");
    txn_checkpoint(s->txn);
}

/* CHECK DATABASE: walk every invariant of the store at the newest version; XX001 names the first that does not hold. */
static void
check_database(Session *s)
{
    Error err;
    if (!role_is_superuser(session_root(s), s->role_id))
        err_throw(ERR_INSUFFICIENT_PRIVILEGE, "must be superuser to do CHECK DATABASE");
    CHECKED(store_verify(txn_snapshot(s->txn), VERIFY_CONTENTS, &err), &err);
}

const char *
utility_run(Session *s, const BStmt *b, const char *tag)
{
    switch ((int)b->kind) {
    case BST_SET: set_parameters(s, b); return "SET";
    case BST_RESET: reset(s, b); return "RESET";
    case BST_TRANSACTION: return transaction_run(s, b, tag);
    case BST_DEALLOCATE: return deallocate(s, b);
    case BST_DISCARD: return discard(s, b);
    case BST_CHECK: check_database(s); return "CHECK DATABASE";
    case BST_CHECKPOINT: checkpoint(s); return "CHECKPOINT";
    case BST_ACCESS: role_run(s, b->access); return tag;
    default: err_throw(ERR_INTERNAL_ERROR, "statement of kind %d is no utility", b->kind);
    }
}
