/*
 * plans.c
 *    The plan cache of a session: statement text and declared parameter types to plan, the least recently used leaves.
 *
 * A CachedPlan never changes. The cache, prepared statements and portals hold references; the arena goes with the last one. One bound to another
 * catalog version or other parameters (time zone, …) is no longer found and leaves the cache when met; so does one with 'now' in it in another transaction.
 *
 * A simple Query is cached when its text is seen the second time: texts full of literals come once and must not push out the others.
 */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/base/hash.h"

#include <stdio.h>
#include <stdlib.h>

enum { PLANS_MAX = 256, BUCKETS = 512, SEEN = 1024 };

struct PlanCache {
    CachedPlan *buckets[BUCKETS];
    CachedPlan *newest, *oldest;
    u32 count;
    u64 seen[SEEN];
};

PlanCache *
plans_new(Arena *a)
{
    return ARENA_NEW(a, PlanCache);
}

static u64
hash_of(const char *text, u32 len, const TypeId *declared, u32 declared_count)
{
    u64 h = hash_bytes(text, len);
    return declared_count ? hash_combine(h, hash_bytes(declared, declared_count * sizeof *declared)) : h;
}

/* The catalog that the statement sees. */
static const Root *
root_of(Session *s, const ParsedStmt *parsed)
{
    return parsed->needs_snapshot ? session_root(s) : txn_root(s->txn);
}

static bool
uses_catalog(const CachedPlan *p)
{
    return p->parsed && p->parsed->uses_catalog;
}

bool
plans_is_current(Session *s, const CachedPlan *p)
{
    bool named = !p->parsed || !p->parsed->uses_names || p->names_serial == s->names_serial;
    return named && p->format_serial == s->format_serial && p->role_serial == s->role_serial && (!uses_catalog(p) || p->catalog_version == catalog_version(root_of(s, p->parsed)));
}

static void
unlink_used(PlanCache *c, CachedPlan *p)
{
    *(p->newer ? &p->newer->older : &c->newest) = p->older;
    *(p->older ? &p->older->newer : &c->oldest) = p->newer;
    p->newer = p->older = NULL;
}

static void
link_newest(PlanCache *c, CachedPlan *p)
{
    p->older = c->newest;
    p->newer = NULL;
    *(c->newest ? &c->newest->newer : &c->oldest) = p;
    c->newest = p;
}

static void
leave_cache(Session *s, CachedPlan *p)
{
    PlanCache *c = s->plans;
    CachedPlan **at = &c->buckets[p->hash % BUCKETS];
    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    unlink_used(c, p);
    c->count--;
    p->in_cache = false;
    plans_release(s, p);
}

static void
enter_cache(Session *s, CachedPlan *p)
{
    PlanCache *c = s->plans;
    if (c->count == PLANS_MAX)
        leave_cache(s, c->oldest);
    p->chain = c->buckets[p->hash % BUCKETS];
    c->buckets[p->hash % BUCKETS] = p;
    link_newest(c, p);
    c->count++;
    p->in_cache = true;
    p->refs++;
}

CachedPlan *
plans_find(Session *s, const char *text, u32 len, const TypeId *declared, u32 declared_count)
{
    PlanCache *c = s->plans;
    u64 h = hash_of(text, len, declared, declared_count);
    for (CachedPlan *p = c->buckets[h % BUCKETS]; p; p = p->chain)
        if (p->hash == h && p->text_len == len && memcmp(p->text, text, len) == 0 && p->declared_count == declared_count &&
            (!declared_count || memcmp(p->declared, declared, declared_count * sizeof *declared) == 0)) {
            if (p->parsed)
                transaction_admit(s, p->parsed);
            if (!plans_is_current(s, p) || (p->stmt && p->stmt->reads_clock && p->now_us != s->now_us)) {
                leave_cache(s, p);
                return NULL;
            }
            if (c->newest != p) {
                unlink_used(c, p);
                link_newest(c, p);
            }
            return p;
        }
    return NULL;
}

bool
plans_seen_before(Session *s, const char *text, u32 len)
{
    u64 h = hash_of(text, len, NULL, 0), *slot = &s->plans->seen[h % SEEN];
    bool seen = *slot == h;
    *slot = h;
    return seen;
}

/* What the session does by itself has no plan. */
static bool
is_planned(BStmtKind k)
{
    switch (k) {
    case BST_SET:
    case BST_SHOW:
    case BST_RESET:
    case BST_CHECKPOINT:
    case BST_CHECK:
    case BST_ACCESS:
    case BST_TRANSACTION:
    case BST_DEALLOCATE:
    case BST_DISCARD:
    case BST_PREPARE:
    case BST_EXECUTE:
    case BST_DECLARE:
    case BST_FETCH:
    case BST_CLOSE:
    case BST_NOOP:
    case BST_LISTEN:
    case BST_UNLISTEN:
    case BST_NOTIFY:
    case BST_EMPTY:
        return false;
    default:
        return true;
    }
}

void
plans_copy_columns(CachedPlan *p, Arena *a, const CachedPlan *from)
{
    p->returns_rows = true;
    p->column_count = from->column_count;
    p->columns = ARENA_ARRAY(a, ReplyColumn, p->column_count);
    for (u32 i = 0; i < p->column_count; i++) {
        p->columns[i] = from->columns[i];
        p->columns[i].name = arena_str(a, p->columns[i].name);
    }
}

static void
describe_columns(Session *s, CachedPlan *p, Arena *a)
{
    if (p->stmt->kind != BST_SELECT && (!p->stmt->returning_count || p->stmt->copy_out)) {
        utility_describe(s, p, a);
        return;
    }
    p->returns_rows = true;
    p->column_count = p->plan->column_count;
    p->columns = ARENA_ARRAY(a, ReplyColumn, p->column_count);
    for (u32 i = 0; i < p->column_count; i++) {
        const PlanColumn *c = &p->plan->columns[i];
        p->columns[i] = (ReplyColumn){.name = c->name, .table_oid = c->table_oid, .attribute = c->attribute, .type = c->type, .typmod = c->shown_typmod};
    }
}

static BindContext
bind_context(const Session *s, const CachedPlan *p, const Root *root, const char *source)
{
    return (BindContext){
        .root = root, .role_id = s->role_id, .session_role_id = s->session_role_id, .role_name = s->role_name,
        .session_role_name = s->session_role_name, .database = s->database, .source = source,
        .declared_count = p->declared_count, .declared = p->declared, .no_params = p->is_simple, .format = &s->format,
    };
}

Plan *
plans_arguments(Session *s, Arena *a, const CachedPlan *execute, const CachedPlan *plan)
{
    const Root *root = session_root(s);
    BindContext bind = bind_context(s, execute, root, execute->text);
    bind.no_params = true;
    bind.declared_count = 0;
    const ParsedStmt *parsed = execute->stmt->kind == BST_EXPLAIN ? sql_inner(a, execute->parsed) : execute->parsed;
    BStmt *b = sql_bind_arguments(a, &bind, parsed, plan->stmt->param_types, plan->stmt->param_count);
    return plan_make(a, b, root);
}

/* Bind and plan p->parsed with memory of a. */
static void
fill(Session *s, CachedPlan *p, Arena *a, const char *source)
{
    const Root *root = uses_catalog(p) ? root_of(s, p->parsed) : NULL;
    BindContext bind = bind_context(s, p, root, source);
    p->catalog_version = root ? catalog_version(root) : 0;
    p->format_serial = s->format_serial;
    p->names_serial = s->names_serial;
    p->role_serial = s->role_serial;
    p->now_us = s->now_us;
    if (!p->parsed)
        return;
    p->stmt = sql_bind(a, &bind, p->parsed);
    const BStmt *planned = p->stmt->kind == BST_EXPLAIN ? p->stmt->explained : p->stmt;
    if (is_planned(planned->kind))
        p->plan = plan_make(a, planned, root);
    describe_columns(s, p, a);
}

static void
free_arena(void *what)
{
    arena_free(what);
}

/* In an arena of its own, which hangs on the message until the plan is complete. */
static CachedPlan *
new_plan(Session *s, const char *text, u32 len, const TypeId *declared, u32 declared_count)
{
    Arena *a = arena_new("plan", s->memory_limit_bytes, arena_full_throw);
    if (!a)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    arena_hook(s->message, free_arena, a);
    CachedPlan *p = ARENA_NEW(a, CachedPlan);
    p->arena = a;
    p->text = arena_strndup(a, text, len);
    p->text_len = len;
    p->declared_count = declared_count;
    p->declared = ARENA_ARRAY(a, TypeId, declared_count);
    if (declared_count)
        memcpy(p->declared, declared, declared_count * sizeof *declared);
    return p;
}

CachedPlan *
plans_make(Session *s, const char *text, u32 len, const TypeId *declared, u32 declared_count)
{
    u32 count;
    CachedPlan *p = new_plan(s, text, len, declared, declared_count);
    Arena *a = p->arena;
    p->hash = hash_of(text, len, declared, declared_count);
    const ParsedStmt *parsed = sql_parse(a, p->text, len, &count);
    session_tell_cuts(s, count ? parsed : NULL);
    if (count > 1)
        err_throw(ERR_SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement");
    p->parsed = count && parsed->tree ? parsed : NULL;
    if (p->parsed)
        transaction_admit(s, p->parsed);
    fill(s, p, a, p->text);
    arena_unhook(s->message, free_arena, a);
    enter_cache(s, p);
    return p;
}

CachedPlan *
plans_make_inner(Session *s, const char *text, u32 len, u32 outer, const TypeId *declared, u32 declared_count)
{
    CachedPlan *p = new_plan(s, text, len, declared, declared_count);
    const ParsedStmt *statement = sql_parse_again(p->arena, p->text, len, outer);
    p->is_inner = true;
    p->outer = outer;
    p->parsed = sql_inner(p->arena, statement);
    if (!declared_count) {
        BindContext bind = bind_context(s, p, root_of(s, p->parsed), p->text);
        p->declared = sql_bind_types(p->arena, &bind, statement, &p->declared_count);
    }
    fill(s, p, p->arena, p->text);
    arena_unhook(s->message, free_arena, p->arena);
    return p;
}

CachedPlan *
plans_make_once(Session *s, const char *text, u32 len, const ParsedStmt *parsed)
{
    CachedPlan *p = ARENA_NEW(s->message, CachedPlan);
    p->text = text;
    p->text_len = len;
    p->parsed = parsed->tree ? parsed : NULL;
    p->is_simple = true;
    fill(s, p, s->message, text);
    return p;
}

bool
plans_same_columns(const CachedPlan *a, const CachedPlan *b)
{
    if (a->returns_rows != b->returns_rows || a->column_count != b->column_count)
        return false;
    for (u32 i = 0; i < a->column_count; i++)
        if (a->columns[i].type != b->columns[i].type || a->columns[i].typmod != b->columns[i].typmod || !str_eq(a->columns[i].name, b->columns[i].name))
            return false;
    return true;
}

CachedPlan *
plans_again(Session *s, const CachedPlan *old, bool fixed_result)
{
    CachedPlan *p;
    if (!old->arena)
        p = plans_make_once(s, old->text, old->text_len, old->parsed);
    else if (old->is_inner)
        p = plans_make_inner(s, old->text, old->text_len, old->outer, old->declared, old->declared_count);
    else if (!(p = plans_find(s, old->text, old->text_len, old->declared, old->declared_count)))
        p = plans_make(s, old->text, old->text_len, old->declared, old->declared_count);
    plans_hold(p);
    const char *changed = !fixed_result || plans_same_columns(old, p) ? NULL : "result type";
    bool same = !old->stmt || old->stmt->param_count == p->stmt->param_count;
    for (u32 i = 0; same && old->stmt && i < old->stmt->param_count; i++)
        same = old->stmt->param_types[i] == p->stmt->param_types[i];
    if (!changed && !same)
        changed = "parameter types";
    if (changed) { /* drivers prepare again when they see this routine */
        Error err = {0};
        plans_release(s, p);
        error_set(&err, ERR_FEATURE_NOT_SUPPORTED, "cached plan must not change %s", changed);
        snprintf(err.routine, sizeof err.routine, "RevalidateCachedQuery");
        err_rethrow(&err);
    }
    return p;
}

void
plans_hold(CachedPlan *p)
{
    p->refs++;
}

void
plans_release(Session *s UNUSED, CachedPlan *p)
{
    ensure(p->refs > 0);
    if (--p->refs == 0 && p->arena)
        arena_free(p->arena);
}

void
plans_drop_all(Session *s)
{
    while (s->plans->oldest)
        leave_cache(s, s->plans->oldest);
}
