/*
 * bind_with.c
 *    WITH: names of queries that hold for the query behind them.
 *
 * An entry is bound where it stands and seen by those after it (with RECURSIVE by itself). A reference is a relation over the entry's query. One that is
 * referenced once becomes a subquery there; else, and when recursive or MATERIALIZED, it is computed once for the whole statement (Plan.ctes). An entry
 * that captured columns of outer queries is bound again at each reference, so that each frame captures for itself.
 */
#include "backend/sql/bind.h"

struct CteScope {
    struct CteScope *below; /* entries that were there before */
    const ACte *ast;
    BCte *cte;              /* NULL: to be bound at each reference */
    u32 column_count;
    BColumn *columns;
    bool in_progress;       /* its recursive part is being bound */
    bool base;              /* its base is: a reference is an error */
};

static NORETURN void
recursion_error(Binder *b, const ACte *c, u32 at, const char *what)
{
    bind_fail(b, at, ERR_INVALID_RECURSION, "recursive reference to query \"%.*s\" must not appear %s", (int)c->name.len, c->name.ptr, what);
}

static void
name_columns(Binder *b, const ACte *c, const BQuery *q, CteScope *to)
{
    to->column_count = bquery_visible(q);
    if (c->column_count > to->column_count)
        bind_fail(b, c->at, ERR_INVALID_COLUMN_REFERENCE, "WITH query \"%.*s\" has %u columns available but %u columns specified", (int)c->name.len,
                  c->name.ptr, to->column_count, c->column_count);
    to->columns = ARENA_ARRAY(b->arena, BColumn, to->column_count);
    for (u32 i = 0; i < to->column_count; i++) {
        const BTarget *t = &q->targets[i];
        to->columns[i] = bind_target_column(t);
        if (i < c->column_count)
            to->columns[i].name = c->columns[i];
    }
}

static BCte *
new_cte(Binder *b, const ACte *c)
{
    BCte *cte = ARENA_NEW(b->arena, BCte);
    cte->name = arena_str(b->arena, c->name);
    cte->materialized = c->materialized == 1;
    cte->inlined = c->materialized == -1;
    cte->number = b->ctes.count;
    ptrlist_add(b->arena, &b->ctes, cte);
    return cte;
}

static bool
mentions(const ACte *c, const PtrList *from);

static bool
select_mentions(const ACte *c, const ASelect *sel)
{
    for (; sel->op; sel = sel->left) /* lists of them are long on the left only */
        if (select_mentions(c, sel->right))
            return true;
    return mentions(c, &sel->from);
}

static bool
from_mentions(const ACte *c, const AFrom *f)
{
    for (; f->kind == AF_JOIN; f = f->left)
        if (from_mentions(c, f->right))
            return true;
    if (f->kind == AF_SUBQUERY)
        return select_mentions(c, f->select);
    return f->kind == AF_TABLE && f->name.count == 1 && str_eq(f->name.parts[0], c->name);
}

static bool
mentions(const ACte *c, const PtrList *from)
{
    for (u32 i = 0; i < from->count; i++)
        if (from_mentions(c, LIST_AT(*from, AFrom, i)))
            return true;
    return false;
}

/* The recursive part must give what the base gives. */
static void
check_step(Binder *b, const CteScope *e, const BQuery *step)
{
    u32 n = bquery_visible(step);
    if (n != e->column_count)
        err_throw_at(n ? step->targets[0].expr->position : 0, ERR_SYNTAX_ERROR, "each UNION query must have the same number of columns");
    for (u32 i = 0; i < n; i++) {
        BExpr *both[] = {e->cte->query->targets[i].expr, step->targets[i].expr};
        TypeId all = coerce_common_type(both, 2, "UNION");
        if (all != e->columns[i].type) {
            Error err;
            error_set(&err, ERR_DATATYPE_MISMATCH, "recursive query \"%.*s\" column %u has type %s in non-recursive term but type %s overall",
                      (int)e->ast->name.len, e->ast->name.ptr, i + 1, bind_type_name(e->columns[i].type), bind_type_name(all));
            error_hint(&err, "Cast the output of the non-recursive term to the correct type.");
            err.position = both[0]->position;
            err_rethrow(&err);
        }
        step->targets[i].expr = coerce_to_common(b, step->targets[i].expr, all, "UNION");
    }
}

static void
bind_recursive(Binder *b, CteScope *e)
{
    const ASelect *sel = e->ast->select;
    const ACte *c = e->ast;
    if (sel->op != ASET_UNION)
        bind_fail(b, c->at, ERR_INVALID_RECURSION, "recursive query \"%.*s\" does not have the form non-recursive-term UNION [ALL] recursive-term",
                  (int)c->name.len, c->name.ptr);
    const AExpr *clause = sel->order_by.count ? LIST_AT(sel->order_by, AOrder, 0)->expr : sel->offset ? sel->offset : sel->limit;
    if (clause)
        bind_fail(b, clause->at, ERR_FEATURE_NOT_SUPPORTED, "%s in a recursive query is not implemented",
                  sel->order_by.count ? "ORDER BY" : sel->offset ? "OFFSET" : "LIMIT");
    e->cte = new_cte(b, c);
    e->cte->recursive = true;
    e->cte->distinct = !sel->all;
    e->base = true;
    e->cte->query = bind_query(b, sel->left, true);
    e->base = false;
    name_columns(b, c, e->cte->query, e);
    for (u32 i = 0; i < e->column_count; i++) /* rows of two queries */
        e->columns[i].table_oid = e->columns[i].attribute = 0;
    e->in_progress = true;
    e->cte->step = bind_query(b, sel->right, false);
    e->in_progress = false;
    check_step(b, e, e->cte->step);
}

static void
bind_entry(Binder *b, CteScope *e, bool recursive)
{
    u32 captured = b->frame ? b->frame->captures.count : 0;
    if (recursive && select_mentions(e->ast, e->ast->select)) {
        bind_recursive(b, e);
        if (b->frame && b->frame->captures.count > captured)
            bind_unsupported(b, e->ast->at, "a recursive query that uses columns of outer queries");
        return;
    }
    CteScope *self = b->with;
    b->with = e->below; /* it does not see itself */
    BCte *cte = new_cte(b, e->ast);
    cte->query = bind_query(b, e->ast->select, true);
    b->with = self;
    name_columns(b, e->ast, cte->query, e);
    if (!b->frame || b->frame->captures.count == captured)
        e->cte = cte;
}

CteScope *
bind_with(Binder *b, const AWith *with)
{
    CteScope *before = b->with;
    const AWith *outer = b->with_now;
    u32 outer_at = b->with_at;
    for (u32 i = 0; with && i < with->ctes.count; i++) {
        const ACte *c = LIST_AT(with->ctes, ACte, i);
        b->with_now = with;
        b->with_at = i;
        if (c->unsupported)
            bind_unsupported(b, c->at, c->unsupported);
        for (u32 k = 0; k < i; k++)
            if (str_eq(LIST_AT(with->ctes, ACte, k)->name, c->name))
                bind_fail(b, c->at, ERR_DUPLICATE_ALIAS, "WITH query name \"%.*s\" specified more than once", (int)c->name.len, c->name.ptr);
        CteScope *e = ARENA_NEW(b->arena, CteScope);
        e->below = b->with;
        e->ast = c;
        b->with = e;
        bind_entry(b, e, with->recursive);
    }
    b->with_now = outer;
    b->with_at = outer_at;
    return before;
}

bool
bind_is_later_cte(const Binder *b, const AName *name)
{
    for (u32 i = b->with_at; b->with_now && name->count == 1 && i < b->with_now->ctes.count; i++)
        if (str_eq(LIST_AT(b->with_now->ctes, ACte, i)->name, name->parts[0]))
            return true;
    return false;
}

/* Bound again, in the scope that the entry saw. */
static BQuery *
bind_again(Binder *b, const CteScope *e)
{
    CteScope *with = b->with;
    b->with = e->below;
    BQuery *q = bind_query(b, e->ast->select, true);
    b->with = with;
    return q;
}

BRel *
bind_cte_rel(Binder *b, const AName *name)
{
    CteScope *e = name->count == 1 ? b->with : NULL;
    while (e && !str_eq(e->ast->name, name->parts[0]))
        e = e->below;
    if (!e)
        return NULL;
    if (e->base)
        recursion_error(b, e->ast, name->at, "within its non-recursive term");
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->column_count = e->column_count;
    rel->columns = ARENA_ARRAY(b->arena, BColumn, e->column_count);
    memcpy(rel->columns, e->columns, e->column_count * sizeof *rel->columns);
    rel->alias = e->ast->name;
    if (!e->cte) {
        rel->kind = BREL_SUBQUERY;
        rel->query = bind_again(b, e);
        return rel;
    }
    if (e->in_progress && e->cte->self_references++)
        recursion_error(b, e->ast, name->at, "more than once");
    rel->kind = BREL_CTE;
    rel->cte = e->cte;
    rel->query = e->cte->query;
    rel->work = e->in_progress;
    e->cte->references += !e->in_progress;
    return rel;
}
