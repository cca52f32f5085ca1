/*
 * bind_lock.c
 *    Locks: FOR UPDATE, FOR SHARE and their kin on the relations of a query, and LOCK TABLE.
 *
 * A clause marks relations of its query, and through a subquery of FROM all that is inside it. A query locks the rows of its marked tables before its
 * LIMIT. What an outer clause says of a plain subquery (no grouping, order or limit, no clause of its own) is lifted: the subquery gives the row ids
 * as columns behind its own, and the outer query locks them, so that only rows that get through its conditions are locked. Others lock by
 * themselves.
 */
#include "backend/sql/bind.h"

static const char *
clause_name(RowLockMode mode)
{
    static const char *const names[] = {
        [ROW_LOCK_KEY_SHARE] = "FOR KEY SHARE",
        [ROW_LOCK_SHARE] = "FOR SHARE",
        [ROW_LOCK_NO_KEY_UPDATE] = "FOR NO KEY UPDATE",
        [ROW_LOCK_UPDATE] = "FOR UPDATE",
    };
    return names[mode];
}

static NORETURN void
not_allowed(RowLockMode mode, const char *what)
{
    err_throw(ERR_FEATURE_NOT_SUPPORTED, "%s is not allowed with %s", clause_name(mode), what);
}

static void
check_query(const BQuery *q, RowLockMode mode)
{
    for (u32 i = 0; i < q->rel_count; i++)
        if (q->rels[i].kind == BREL_APPEND)
            not_allowed(mode, "UNION/INTERSECT/EXCEPT");
    if (q->distinct || q->first_only)
        not_allowed(mode, "DISTINCT clause");
    if (q->group_count)
        not_allowed(mode, "GROUP BY clause");
    if (q->having)
        not_allowed(mode, "HAVING clause");
    if (q->agg_count)
        not_allowed(mode, "aggregate functions");
    if (q->win_call_count)
        not_allowed(mode, "window functions");
}

/* The strongest of several modes counts, and the most impatient way to wait. */
static void
mark(Binder *b, BQuery *q, const BRowLock *mark)
{
    static const u8 impatience[] = {[LOCK_WAIT] = 0, [LOCK_SKIP] = 1, [LOCK_NOWAIT] = 2};
    for (u32 i = 0; i < q->lock_count; i++) {
        BRowLock *l = &q->locks[i];
        if (l->rel != mark->rel || l->column != mark->column)
            continue;
        l->mode = MAX(l->mode, mark->mode);
        if (impatience[mark->wait] > impatience[l->wait])
            l->wait = mark->wait;
        return;
    }
    BRowLock *locks = ARENA_ARRAY(b->arena, BRowLock, q->lock_count + 1);
    if (q->lock_count)
        memcpy(locks, q->locks, q->lock_count * sizeof *locks);
    locks[q->lock_count++] = *mark;
    q->locks = locks;
}

static void lock_relation(Binder *b, BQuery *q, u16 rel, RowLockMode mode, LockWait wait);

static void
lock_all(Binder *b, BQuery *q, RowLockMode mode, LockWait wait)
{
    check_query(q, mode);
    for (u32 i = 0; i < q->rel_count; i++)
        lock_relation(b, q, (u16)i, mode, wait);
}

static bool
has_volatile_target(const BQuery *q)
{
    for (u32 i = 0; i < q->target_count; i++)
        if (bexpr_is_volatile(q->targets[i].expr))
            return true;
    return false;
}

static bool
can_be_lifted(const BQuery *q)
{
    return !q->order_count && !q->limit && !q->offset && !q->locks_by_itself && q->from && !has_volatile_target(q);
}

/* The locks of a subquery become the outer query's: a column of row ids for each. */
static void
lift(Binder *b, BQuery *q, u16 rel)
{
    BRel *r = &q->rels[rel];
    BQuery *inner = r->query;
    BTarget *targets = ARENA_ARRAY(b->arena, BTarget, inner->target_count + inner->lock_count);
    BColumn *columns = ARENA_ARRAY(b->arena, BColumn, r->column_count + inner->lock_count);
    memcpy(targets, inner->targets, inner->target_count * sizeof *targets);
    memcpy(columns, r->columns, r->column_count * sizeof *columns);
    inner->targets = targets;
    r->columns = columns;
    for (u32 i = 0; i < inner->lock_count; i++) {
        BRowLock l = inner->locks[i];
        BExpr *id = bind_new(b, BX_COLUMN, TYPE_INT8, 0);
        id->rel = l.rel;
        id->column = l.column;
        targets[inner->target_count++] = (BTarget){.expr = id, .name = STR_LIT("ctid")};
        l.rel = rel;
        l.column = (u16)r->column_count;
        columns[r->column_count++] = (BColumn){.name = STR_LIT("ctid"), .type = TYPE_INT8, .typmod = -1, .used = true};
        mark(b, q, &l);
    }
    inner->lock_count = 0;
}

static void
lock_relation(Binder *b, BQuery *q, u16 rel, RowLockMode mode, LockWait wait)
{
    BRel *r = &q->rels[rel];
    r->locked = MAX(r->locked, (u8)mode);
    if (r->kind == BREL_TABLE) {
        const TableDef *t = catalog_table(b->ctx->root, r->table_id);
        BRowLock l = {.rel = rel, .column = BCOL_CTID, .mode = (u8)mode, .wait = (u8)wait, .table_id = t->table_id,
                      .schema_version = t->schema_version};
        mark(b, q, &l);
        bind_right_columns(b, t, ACL_UPDATE, NULL, 0);
    } else if (r->kind == BREL_SUBQUERY) {
        /* columns that were lifted before stay where they are: only their marks get stronger */
        for (u32 i = 0; i < q->lock_count; i++)
            if (q->locks[i].rel == rel) {
                BRowLock l = q->locks[i];
                l.mode = (u8)mode;
                l.wait = (u8)wait;
                mark(b, q, &l);
            }
        if (r->lifted)
            return;
        lock_all(b, r->query, mode, wait);
        r->lifted = can_be_lifted(r->query);
        if (r->lifted)
            lift(b, q, rel);
    }
}

static void
lock_named(Scope *s, const AName *n, const ALocking *l)
{
    Binder *b = s->b;
    u16 rel = 0;
    if (n->count > 1)
        bind_fail(b, n->at, ERR_SYNTAX_ERROR, "%s must specify unqualified relation names", clause_name(l->mode));
    for (u32 i = 0; i < s->items.count; i++) {
        const NsItem *item = LIST_AT(s->items, NsItem, i);
        if (item->has_name && str_eq(item->name, n->parts[0])) {
            if (item->is_join)
                bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to a join", clause_name(l->mode));
            if (s->query->rels[rel].kind == BREL_CTE)
                bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to a WITH query", clause_name(l->mode));
            lock_relation(b, s->query, rel, l->mode, l->wait);
            return;
        }
        rel += !item->is_join;
    }
    bind_fail(b, n->at, ERR_UNDEFINED_TABLE, "relation \"%.*s\" in %s clause not found in FROM clause", (int)n->parts[0].len, n->parts[0].ptr,
              clause_name(l->mode));
}

/* What should be marked when a row is made of no row of it? */
static void
refuse_nullable(const BQuery *q, const BFrom *f, bool nullable)
{
    if (f->kind == BFROM_REL) {
        if (nullable && q->rels[f->rel].locked)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to the nullable side of an outer join",
                      clause_name((RowLockMode)q->rels[f->rel].locked));
        return;
    }
    refuse_nullable(q, f->left, nullable || f->join == BJOIN_RIGHT || f->join == BJOIN_FULL);
    refuse_nullable(q, f->right, nullable || f->join == BJOIN_LEFT || f->join == BJOIN_FULL);
}

static void
check_outer_joins(const BQuery *q)
{
    if (!q->from)
        return;
    refuse_nullable(q, q->from, false);
    for (u32 i = 0; i < q->rel_count; i++)
        if (q->rels[i].kind == BREL_SUBQUERY && q->rels[i].locked)
            check_outer_joins(q->rels[i].query);
}

void
bind_locking(Scope *s, const ASelect *sel)
{
    BQuery *q = s->query;
    for (u32 i = 0; i < sel->locking.count; i++) {
        const ALocking *l = LIST_AT(sel->locking, ALocking, i);
        if (sel->is_values)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to VALUES", clause_name(l->mode));
        if (sel->distinct)
            not_allowed(l->mode, "DISTINCT clause");
        check_query(q, l->mode);
        q->locks_by_itself = true;
        if (!l->names.count)
            lock_all(s->b, q, l->mode, l->wait);
        for (u32 k = 0; k < l->names.count; k++)
            lock_named(s, LIST_AT(l->names, AName, k), l);
    }
    if (sel->locking.count)
        check_outer_joins(q);
}

void
bind_refuse_locked_set(const ASelect *sel)
{
    const ASelect *const parts[] = {sel, sel->left, sel->right}; /* those below are looked at when they are bound */
    for (u32 i = 0; i < COUNT_OF(parts); i++)
        if (parts[i] && parts[i]->locking.count)
            not_allowed(LIST_AT(parts[i]->locking, ALocking, 0)->mode, "UNION/INTERSECT/EXCEPT");
}

void
bind_lock_table(Binder *b, BStmt *to, const Stmt *s)
{
    /* who may change all rows may lock in any mode; weaker rights allow weaker modes */
    u32 rights = ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE;
    if (s->lock_mode <= TABLE_LOCK_ACCESS_SHARE)
        rights |= ACL_SELECT;
    if (s->lock_mode <= TABLE_LOCK_ROW_EXCLUSIVE)
        rights |= ACL_INSERT;
    to->kind = BST_LOCK;
    to->lock_mode = s->lock_mode;
    to->lock_wait = s->no_wait ? LOCK_NOWAIT : LOCK_WAIT;
    to->lock_ids = ARENA_ARRAY(b->arena, u32, s->names.count);
    for (u32 i = 0; i < s->names.count; i++) {
        const AName *n = LIST_AT(s->names, AName, i);
        const TableDef *t = bind_find_table(b, n);
        if (!t)
            err_throw(ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", bind_name_text(b, n));
        bind_right_any(b, t, rights);
        to->lock_ids[to->lock_count++] = t->table_id;
    }
}
