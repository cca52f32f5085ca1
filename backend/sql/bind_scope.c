/*
 * bind_scope.c
 *    FROM and the names it makes visible; column references.
 *
 * Each relation is a BRel (numbered in order) with an NsItem that names it. A join adds an NsItem with the columns of both sides, merged
 * ones first, and takes the bare column names away from its sides, as PostgreSQL's ParseNamespaceItem does. Hidden items stay in the list:
 * messages tell a name that cannot be seen from one that is not there.
 */
#include "backend/sql/bind.h"

#include "common/store/rights.h"
#include "common/store/system.h"

/* ---- tables ---- */

const TableDef *
bind_find_table(Binder *b, const AName *n)
{
    if (n->count > 3)
        bind_fail(b, n->at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names): %s", bind_name_text(b, n));
    if (n->count == 3 && !str_eq(n->parts[0], str_of(b->ctx->database)))
        bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: \"%s\"", bind_name_text(b, n));
    if (n->count > 1 && !str_eq(n->parts[n->count - 2], STR_LIT("public")))
        return NULL;
    RightsOf schema = rights_of_schema(b->ctx->root);
    if (!rights_allow(b->ctx->root, &schema, b->ctx->role_id, ACL_USAGE)) { /* who may not use it does not look through it */
        if (n->count > 1)
            bind_fail(b, n->at, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema public");
        return NULL;
    }
    return catalog_find_table(b->ctx->root, n->parts[n->count - 1]);
}

/* Relations of PostgreSQL's system that come later; without a schema pg_catalog is looked through. */
static void
refuse_later_relation(Binder *b, const AName *n)
{
    static const char *const LATER[][2] = {
#define LATER(schema, name) {schema, name},
#include "backend/sql/later_relations.def"
    };
    Str schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("pg_catalog");
    for (u32 i = 0; i < COUNT_OF(LATER); i++)
        if (str_eq(schema, str_of(LATER[i][0])) && str_eq(n->parts[n->count - 1], str_of(LATER[i][1])))
            bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "relation \"%s\" is not supported yet", bind_name_text(b, n));
}

const TableDef *
bind_table(Binder *b, const AName *n)
{
    const TableDef *t = bind_find_table(b, n);
    if (t)
        return t;
    const TableDef *s = n->count <= 3 ? system_find_table(n->count > 1 ? n->parts[n->count - 2] : STR_LIT("pg_catalog"), n->parts[n->count - 1]) : NULL;
    if (s)
        bind_fail(b, n->at, ERR_INSUFFICIENT_PRIVILEGE, "permission denied: \"%.*s\" is a system catalog", (int)s->name.len, s->name.ptr);
    refuse_later_relation(b, n);
    Error err;
    error_set(&err, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", bind_name_text(b, n));
    if (bind_is_later_cte(b, n)) {
        error_detail(&err, "There is a WITH item named \"%s\", but it cannot be referenced from this part of the query.", bind_name_text(b, n));
        error_hint(&err, "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.");
    }
    err.position = bind_position(b, n->at);
    err_rethrow(&err);
}

/* A table, or a relation of the system, whose schema is looked through first. */
static const TableDef *
find_relation(Binder *b, const AName *n)
{
    Str schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("pg_catalog");
    const TableDef *t = n->count <= 3 ? system_find_table(schema, n->parts[n->count - 1]) : NULL;
    return t ? t : bind_table(b, n);
}

static bool
is_system(const TableDef *t)
{
    return t->table_id && t->table_id < FIRST_TABLE_ID; /* 0: a table that is being made, whose CHECK is read */
}

/* ---- relations and their names ---- */

static void
check_alias_columns(const AAlias *alias, u32 available, const char *kind, Str name)
{
    if (alias && alias->column_count > available)
        err_throw(ERR_INVALID_COLUMN_REFERENCE, "%s \"%.*s\" has %u columns available but %u columns specified", kind, (int)name.len,
                  name.ptr, available, alias->column_count);
}

void
bind_check_alias_columns(const AAlias *alias, u32 available, Str name)
{
    check_alias_columns(alias, available, "table", name);
}

static void
check_unique_name(const Scope *s, const NsItem *item)
{
    for (u32 i = 0; item->has_name && i < s->items.count; i++) {
        const NsItem *other = LIST_AT(s->items, NsItem, i);
        if (other != item && other->has_name && other->rel_visible && str_eq(other->name, item->name))
            err_throw(ERR_DUPLICATE_ALIAS, "table name \"%.*s\" specified more than once", (int)item->name.len, item->name.ptr);
    }
}

NsItem *
bind_add_rel(Scope *s, BRel *rel, const TableDef *t, u16 *ret_rel)
{
    Binder *b = s->b;
    if (s->rels.count >= 1000)
        err_throw(ERR_STATEMENT_TOO_COMPLEX, "too many range table entries");
    u16 number = (u16)s->rels.count;
    ptrlist_add(b->arena, &s->rels, rel);
    ptrlist_add(b->arena, &s->tables, (void *)(uintptr_t)t);
    NsItem *item = ARENA_NEW(b->arena, NsItem);
    *item = (NsItem){.name = rel->alias, .has_name = rel->alias.len > 0, .rel_visible = true, .cols_visible = true, .table = t,
                     .rel = number, .count = rel->column_count};
    item->columns = ARENA_ARRAY(b->arena, NsColumn, rel->column_count);
    for (u32 i = 0; i < rel->column_count; i++) {
        BExpr *e = bind_new(b, BX_COLUMN, rel->columns[i].type, 0);
        e->typmod = rel->columns[i].typmod;
        e->rel = number;
        e->column = (u16)i;
        item->columns[i] = (NsColumn){rel->columns[i].name, e};
    }
    check_unique_name(s, item);
    ptrlist_add(b->arena, &s->items, item);
    if (ret_rel)
        *ret_rel = number;
    return item;
}

NsItem *
bind_add_table(Scope *s, const TableDef *t, const AAlias *alias, u16 *ret_rel)
{
    Arena *a = s->b->arena;
    BRel *rel = ARENA_NEW(a, BRel);
    rel->kind = is_system(t) ? BREL_SYSTEM : BREL_TABLE;
    rel->alias = arena_str(a, alias ? alias->name : t->name);
    rel->table_id = t->table_id;
    rel->schema_version = t->schema_version;
    rel->column_count = t->column_count;
    rel->columns = ARENA_ARRAY(a, BColumn, t->column_count);
    check_alias_columns(alias, t->column_count, "table", rel->alias);
    for (u32 i = 0; i < t->column_count; i++) {
        const ColumnDef *c = &t->columns[i];
        Str name = alias && i < alias->column_count ? alias->columns[i] : c->name;
        rel->columns[i] = (BColumn){.name = arena_str(a, name), .type = (TypeId)c->type, .typmod = c->typmod, .not_null = c->not_null,
                                    .table_oid = t->table_id, .attribute = (u16)(i + 1)};
    }
    NsItem *item = bind_add_rel(s, rel, t, ret_rel);
    item->has_alias = alias != NULL;
    return item;
}

NsItem *
bind_add_named(Scope *s, BRel *rel, const AAlias *alias, u16 *ret_rel)
{
    if (alias) {
        rel->alias = alias->name;
        check_alias_columns(alias, rel->column_count, "table", rel->alias);
        for (u32 i = 0; i < alias->column_count; i++)
            rel->columns[i].name = alias->columns[i];
    }
    NsItem *item = bind_add_rel(s, rel, NULL, ret_rel);
    item->has_alias = alias != NULL;
    return item;
}

static NsItem *
add_subquery(Scope *s, const AFrom *f, u16 *ret_rel)
{
    Binder *b = s->b;
    const ASelect *sel = f->select;
    BRel *rel;
    bool plain_values = !f->lateral && sel->is_values && !sel->order_by.count && !sel->limit_at && !sel->offset && !sel->with &&
                        !sel->locking.count;
    if (plain_values) {
        rel = bind_values_rel(s, sel);
    } else {
        if (f->lateral)
            rel = bind_lateral(s, sel);
        else {
            rel = ARENA_NEW(b->arena, BRel);
            struct Scope *before = b->beside;
            b->beside = s;
            rel->kind = BREL_SUBQUERY;
            rel->query = bind_query(b, sel, true);
            b->beside = before;
        }
        for (u32 i = 0; i < rel->query->target_count; i++)
            rel->column_count += !rel->query->targets[i].hidden;
        rel->columns = ARENA_ARRAY(b->arena, BColumn, rel->column_count);
        for (u32 i = 0; i < rel->column_count; i++) {
            rel->columns[i] = bind_target_column(&rel->query->targets[i]);
        }
    }
    return bind_add_named(s, rel, f->alias, ret_rel);
}

/* ---- joins ---- */

static u32
count_name(const NsItem *item, Str name, u32 *ret_first)
{
    u32 n = 0;
    for (u32 i = item->count; i-- > 0;)
        if (str_eq(item->columns[i].name, name)) {
            n++;
            *ret_first = i;
        }
    return n;
}

static u32
using_column(const NsItem *side, Str name, const char *which)
{
    u32 i = 0, n = count_name(side, name, &i);
    if (n == 0)
        err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" specified in USING clause does not exist in %s table", (int)name.len, name.ptr,
                  which);
    if (n > 1)
        err_throw(ERR_AMBIGUOUS_COLUMN, "common column name \"%.*s\" appears more than once in %s table", (int)name.len, name.ptr, which);
    return i;
}

static void
mark_used(Scope *s, const BExpr *e)
{
    if (e->kind == BX_COLUMN && e->column < BCOL_CTID)
        LIST_AT(s->rels, BRel, e->rel)->columns[e->column].used = true;
    else if (e->kind == BX_COLUMN)
        LIST_AT(s->rels, BRel, e->rel)->system_used = true;
    for (u32 i = 0; i < e->arg_count; i++)
        mark_used(s, e->args[i]);
}

static BExpr *
use_column(Scope *s, const NsColumn *c, u32 position)
{
    if (c->expr->type == TYPE_INVALID) /* of a relation of the system */
        err_throw_at(position, ERR_FEATURE_NOT_SUPPORTED, "column \"%.*s\" is not supported yet", (int)c->name.len, c->name.ptr);
    bool new_row = s->place == PLACE_RETURNING || s->place == PLACE_COPY_WHERE; /* has no place yet */
    if (new_row && c->expr->kind == BX_COLUMN && c->expr->column >= BCOL_CTID)
        err_throw_at(position, ERR_FEATURE_NOT_SUPPORTED, "system column \"%.*s\" is not supported here yet", (int)c->name.len, c->name.ptr);
    mark_used(s, c->expr);
    return bexpr_copy(s->b, c->expr, position);
}

/* The one column that two columns of USING become. */
static BExpr *
merge_columns(Scope *s, BJoinKind kind, BExpr *left, BExpr *right)
{
    Binder *b = s->b;
    BExpr *both[] = {left, right};
    TypeId type = coerce_common_type(both, 2, "JOIN/USING");
    left = coerce_type(b, left, type, CAST_IMPLICIT);
    right = coerce_type(b, right, type, CAST_IMPLICIT);
    if (left->typmod != right->typmod) {
        left = bind_relabel(b, left);
        right = bind_relabel(b, right);
    }
    if (kind == BJOIN_LEFT)
        return left;
    if (kind == BJOIN_RIGHT)
        return right;
    if (kind != BJOIN_FULL)
        return left->kind == BX_COLUMN || right->kind != BX_COLUMN ? left : right;
    BExpr *e = bind_new(b, BX_COALESCE, type, 0);
    e->arg_count = 2;
    e->args = ARENA_ARRAY(b->arena, BExpr *, 2);
    e->args[0] = left;
    e->args[1] = right;
    return e;
}

/* NATURAL is USING with the names both sides have. */
static Str *
natural_names(Scope *s, const NsItem *left, const NsItem *right, u32 *ret_count)
{
    Str *names = ARENA_ARRAY(s->b->arena, Str, left->count);
    u32 n = 0, at;
    for (u32 i = 0; i < left->count; i++)
        if (count_name(right, left->columns[i].name, &at))
            names[n++] = left->columns[i].name;
    *ret_count = n;
    return names;
}

/* Merged columns to the front of `to`, their equality into ON. Marks which columns of the sides went into them. */
static void
join_using(Scope *s, BFrom *j, NsItem *to, const NsItem *left, const NsItem *right, const Str *names, u32 count, bool *merged)
{
    Binder *b = s->b;
    PtrList all = {0};
    for (u32 k = 0; k < count; k++) {
        for (u32 i = 0; i < k; i++)
            if (str_eq(names[i], names[k]))
                err_throw(ERR_DUPLICATE_COLUMN, "column name \"%.*s\" appears more than once in USING clause", (int)names[k].len,
                          names[k].ptr);
        u32 l = using_column(left, names[k], "left"), r = using_column(right, names[k], "right");
        merged[l] = merged[left->count + r] = true;
        ptrlist_add(b->arena, &all, bind_operator(b, STR_LIT("="), use_column(s, &left->columns[l], 0),
                                                   use_column(s, &right->columns[r], 0), NO_LOCATION));
        to->columns[to->count++] = (NsColumn){names[k], merge_columns(s, j->join, left->columns[l].expr, right->columns[r].expr)};
    }
    if (all.count == 1) {
        j->on = LIST_AT(all, BExpr, 0);
    } else {
        j->on = bind_new(b, all.count ? BX_AND : BX_CONST, TYPE_BOOL, 0);
        j->on->arg_count = all.count;
        j->on->args = (BExpr **)all.items;
        if (!all.count)
            j->on->value = (Value){.type = TYPE_BOOL, .typmod = -1, .b = true};
    }
}

static BFrom *bind_from_item(Scope *s, const AFrom *f, NsItem **ret_columns);

/* The alias of a join hides everything inside it. */
static void
name_join(Scope *s, const AFrom *f, NsItem *item, u32 first)
{
    if (!f->alias)
        return;
    for (u32 i = first; i < s->items.count; i++)
        LIST_AT(s->items, NsItem, i)->rel_visible = false;
    item->name = f->alias->name;
    item->has_name = item->has_alias = item->rel_visible = true;
    check_alias_columns(f->alias, item->count, "join expression", item->name);
    for (u32 i = 0; i < f->alias->column_count; i++)
        item->columns[i].name = f->alias->columns[i];
    check_unique_name(s, item);
}

static const BExpr *
column_of(const BExpr *e, u32 first, u32 end)
{
    if (e->kind == BX_COLUMN && e->rel >= first && e->rel < end)
        return e;
    for (u32 i = 0; i < e->arg_count; i++) {
        const BExpr *found = column_of(e->args[i], first, end);
        if (found)
            return found;
    }
    return NULL;
}

/* What stands right of a RIGHT or FULL JOIN must not look at its left side, relations first … end - 1. */
static void
refuse_lateral(Scope *s, u32 first, u32 end)
{
    for (u32 r = end; r < s->rels.count; r++) {
        const BRel *rel = LIST_AT(s->rels, BRel, r);
        for (u32 i = 0; i < rel->lateral_count; i++) {
            const BExpr *e = column_of(rel->lateral[i], first, end);
            if (!e)
                continue;
            Str name = LIST_AT(s->rels, BRel, e->rel)->alias;
            Error err;
            error_set(&err, ERR_INVALID_COLUMN_REFERENCE, "invalid reference to FROM-clause entry for table \"%.*s\"", (int)name.len, name.ptr);
            error_detail(&err, "The combining JOIN type must be INNER or LEFT for a LATERAL reference.");
            err.position = e->position;
            err_rethrow(&err);
        }
    }
}

static BFrom *
bind_join(Scope *s, const AFrom *f, NsItem **ret_columns)
{
    Binder *b = s->b;
    u32 first = s->items.count, before = s->visible_from;
    NsItem *left, *right;
    BFrom *j = ARENA_NEW(b->arena, BFrom);
    j->kind = BFROM_JOIN;
    j->join = f->join;
    u32 left_first = s->rels.count;
    j->left = bind_from_item(s, f->left, &left);
    u32 left_end = s->rels.count;
    j->right = bind_from_item(s, f->right, &right);
    if (f->join == BJOIN_RIGHT || f->join == BJOIN_FULL)
        refuse_lateral(s, left_first, left_end);
    NsItem *item = ARENA_NEW(b->arena, NsItem);
    u32 total = left->count + right->count;
    item->is_join = true;
    item->columns = ARENA_ARRAY(b->arena, NsColumn, total);
    bool *merged = ARENA_ARRAY(b->arena, bool, total);
    u32 using_count = f->using_count;
    const Str *using = f->natural ? natural_names(s, left, right, &using_count) : f->using_columns;
    if (f->natural || f->has_using)
        join_using(s, j, item, left, right, using, using_count, merged);
    u32 merged_count = item->count;
    for (u32 i = 0; i < total; i++)
        if (!merged[i])
            item->columns[item->count++] = i < left->count ? left->columns[i] : right->columns[i - left->count];
    if (f->on) {
        s->visible_from = first;
        j->on = bind_condition(s, f->on, PLACE_ON, "JOIN/ON");
        s->visible_from = before;
    }
    left->cols_visible = right->cols_visible = false;
    if (f->using_alias) {
        NsItem *u = ARENA_NEW(b->arena, NsItem);
        *u = (NsItem){.name = f->using_alias->name, .has_name = true, .rel_visible = true, .is_join = true, .count = merged_count,
                      .columns = item->columns};
        check_unique_name(s, u);
        ptrlist_add(b->arena, &s->items, u);
    }
    item->cols_visible = true;
    name_join(s, f, item, first);
    ptrlist_add(b->arena, &s->items, item);
    *ret_columns = item;
    return j;
}

static BFrom *
bind_from_item(Scope *s, const AFrom *f, NsItem **ret_columns)
{
    Binder *b = s->b;
    if (f->unsupported)
        bind_unsupported(b, f->at, f->unsupported);
    bind_enter(b);
    BFrom *from;
    if (f->kind == AF_JOIN) {
        from = bind_join(s, f, ret_columns);
    } else {
        from = ARENA_NEW(b->arena, BFrom);
        from->kind = BFROM_REL;
        BRel *cte = f->kind != AF_TABLE ? NULL : bind_cte_rel(b, &f->name);
        if (f->kind == AF_FUNCTION) {
            *ret_columns = bind_add_function(s, f, &from->rel);
        } else if (f->kind == AF_SUBQUERY) {
            *ret_columns = add_subquery(s, f, &from->rel);
        } else if (cte) {
            *ret_columns = bind_add_named(s, cte, f->alias, &from->rel);
        } else {
            const TableDef *t = find_relation(b, &f->name);
            bool view = is_system(t) && system_table_kind(system_table_of(t->table_id)) == SYSTEM_KIND_VIEW;
            *ret_columns = view ? bind_add_view(s, t, f->alias, &from->rel) : bind_add_table(s, t, f->alias, &from->rel);
            bind_right_rel(b, t, ACL_SELECT, LIST_AT(s->rels, BRel, from->rel), false);
        }
    }
    bind_leave(b);
    return from;
}

BFrom *
bind_from(Scope *s, const PtrList *list)
{
    BFrom *all = NULL;
    NsItem *columns;
    for (u32 i = 0; i < list->count; i++) {
        s->visible_from = s->items.count;
        BFrom *next = bind_from_item(s, LIST_AT(*list, AFrom, i), &columns);
        if (!all) {
            all = next;
            continue;
        }
        BFrom *j = ARENA_NEW(s->b->arena, BFrom);
        *j = (BFrom){.kind = BFROM_JOIN, .join = BJOIN_CROSS, .left = all, .right = next};
        all = j;
    }
    s->visible_from = 0;
    return all;
}

/* ---- references ---- */

static bool
is_system_column(Str name)
{
    static const char *const names[] = {"ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"};
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if (str_eq(name, str_of(names[i])))
            return true;
    return false;
}

static const struct { const char *name; u16 column; TypeId type; } SYSTEM_COLUMNS[] = {
    {"ctid", BCOL_CTID, TYPE_TID}, {"tableoid", BCOL_TABLEOID, TYPE_OID}, {"xmin", BCOL_XMIN, TYPE_XID}};

Str
bind_system_column_name(u16 column)
{
    u32 i = 0;
    while (SYSTEM_COLUMNS[i].column != column)
        i++;
    return str_of(SYSTEM_COLUMNS[i].name);
}

/* ctid, tableoid or xmin of a table; NULL: it is none of them. */
static const NsColumn *
system_column(Binder *b, const NsItem *item, Str name)
{
    bool any = item->table && !(is_system(item->table) && system_table_is_view(system_table_of(item->table->table_id)));
    for (u32 i = 0; any && i < COUNT_OF(SYSTEM_COLUMNS); i++) {
        if (!str_eq(name, str_of(SYSTEM_COLUMNS[i].name)))
            continue;
        BExpr *e = bind_new(b, BX_COLUMN, SYSTEM_COLUMNS[i].type, 0);
        e->rel = item->rel;
        e->column = SYSTEM_COLUMNS[i].column;
        NsColumn *c = ARENA_NEW(b->arena, NsColumn);
        *c = (NsColumn){str_of(SYSTEM_COLUMNS[i].name), e};
        return c;
    }
    return NULL;
}

static const NsColumn *
find_in_item(Binder *b, const NsItem *item, Str name, u32 at)
{
    u32 i = 0, n = count_name(item, name, &i);
    if (n > 1)
        bind_fail(b, at, ERR_AMBIGUOUS_COLUMN, "column reference \"%.*s\" is ambiguous", (int)name.len, name.ptr);
    return n ? &item->columns[i] : system_column(b, item, name);
}

BExpr *
bind_find_column(Scope *s, Str name, u32 at)
{
    const NsColumn *found = NULL;
    for (u32 i = s->visible_from; i < s->items.count; i++) {
        const NsItem *item = LIST_AT(s->items, NsItem, i);
        const NsColumn *c = item->cols_visible ? find_in_item(s->b, item, name, at) : NULL;
        if (c && found)
            bind_fail(s->b, at, ERR_AMBIGUOUS_COLUMN, "column reference \"%.*s\" is ambiguous", (int)name.len, name.ptr);
        if (c)
            found = c;
    }
    return found ? use_column(s, found, bind_position(s->b, at)) : NULL;
}

static const char *
schema_of(const TableDef *t)
{
    return is_system(t) ? system_table_schema(system_table_of(t->table_id)) : "public";
}

/* The visible item of a name with perhaps a schema before it; NULL: none. */
static const NsItem *
find_item(Scope *s, const AName *n, u32 parts)
{
    Str name = n->parts[parts - 1];
    for (u32 i = s->visible_from; i < s->items.count; i++) {
        const NsItem *item = LIST_AT(s->items, NsItem, i);
        if (!item->has_name || !item->rel_visible || !str_eq(item->name, name))
            continue;
        bool schema = parts == 1 || (item->table && !item->has_alias && str_eq(n->parts[parts - 2], str_of(schema_of(item->table))));
        bool database = parts < 3 || str_eq(n->parts[0], str_of(s->b->ctx->database));
        if (schema && database)
            return item;
    }
    return NULL;
}

/* Throws when the scope has an entry that goes by the name, or would without its alias. */
static void
refuse_hidden_item(const Scope *s, const AName *n, Str name)
{
    Error err;
    for (u32 i = 0; i < s->items.count; i++) {
        const NsItem *item = LIST_AT(s->items, NsItem, i);
        bool by_alias = item->has_name && str_eq(item->name, name), by_table = item->table && str_eq(item->table->name, name);
        if (!by_alias && !by_table)
            continue;
        error_set(&err, ERR_UNDEFINED_TABLE, "invalid reference to FROM-clause entry for table \"%.*s\"", (int)name.len, name.ptr);
        if (!by_alias && item->rel_visible)
            error_hint(&err, "Perhaps you meant to reference the table alias \"%.*s\".", (int)item->name.len, item->name.ptr);
        else
            error_hint(&err, "There is an entry for table \"%.*s\", but it cannot be referenced from this part of the query.",
                       (int)item->name.len, item->name.ptr);
        err.position = bind_position(s->b, n->at);
        err_rethrow(&err);
    }
}

static NORETURN void
missing_item(Scope *s, const AName *n, u32 parts)
{
    Str name = n->parts[parts - 1];
    Error err;
    refuse_hidden_item(s, n, name);
    if (s->b->beside && s->b->beside != s)
        refuse_hidden_item(s->b->beside, n, name);
    if (s->target && str_eq(s->target->name, name)) {
        error_set(&err, ERR_UNDEFINED_TABLE, "invalid reference to FROM-clause entry for table \"%.*s\"", (int)name.len, name.ptr);
        error_hint(&err, "There is an entry for table \"%.*s\", but it cannot be referenced from this part of the query.", (int)name.len,
                   name.ptr);
        err.position = bind_position(s->b, n->at);
        err_rethrow(&err);
    }
    bind_fail(s->b, n->at, ERR_UNDEFINED_TABLE, "missing FROM-clause entry for table \"%.*s\"", (int)name.len, name.ptr);
}

static bool
has_table(const Scope *s)
{
    for (u32 i = 0; i < s->rels.count; i++)
        if (LIST_AT(s->rels, BRel, i)->kind == BREL_TABLE)
            return true;
    return false;
}

static void
refuse_system_column(Scope *s, const AName *n, bool any_table)
{
    Str name = n->parts[n->count - 1];
    if (any_table && is_system_column(name))
        bind_fail(s->b, n->at, ERR_FEATURE_NOT_SUPPORTED, "system column \"%.*s\" is not supported yet", (int)name.len, name.ptr);
}

BExpr *
bind_column_here(Scope *s, const AName *n)
{
    Str name = n->parts[n->count - 1];
    if (n->count == 1)
        return bind_find_column(s, name, n->at);
    const NsItem *item = find_item(s, n, n->count - 1);
    const NsColumn *c = item ? find_in_item(s->b, item, name, n->at) : NULL;
    return c ? use_column(s, c, bind_position(s->b, n->at)) : NULL;
}

BExpr *
bind_column_ref(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    const AName *n = e->name;
    Str name = n->parts[n->count ? n->count - 1 : 0];
    if (e->star)
        bind_unsupported(b, e->at, "a whole-row reference");
    if (n->count > 4)
        bind_fail(b, n->at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names): %s", bind_name_text(b, n));
    if (n->count == 4 && !str_eq(n->parts[0], str_of(b->ctx->database)))
        bind_fail(b, n->at, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: %s", bind_name_text(b, n));
    if (n->count == 1) {
        BExpr *r = bind_find_column(s, name, n->at);
        if (!r)
            r = bind_outer_column(s, n);
        if (r)
            return r;
        refuse_system_column(s, n, has_table(s));
        if (find_item(s, n, 1))
            bind_unsupported(b, e->at, "a whole-row reference");
        suggest_column(s, (Str){0}, name, n->at);
    }
    const NsItem *item = find_item(s, n, n->count - 1);
    if (!item) {
        BExpr *r = bind_outer_column(s, n);
        if (r)
            return r;
        missing_item(s, n, n->count - 1);
    }
    const NsColumn *c = find_in_item(b, item, name, n->at);
    if (c)
        return use_column(s, c, bind_position(b, n->at));
    refuse_system_column(s, n, item->table && !is_system(item->table));
    suggest_column(s, n->parts[n->count - 2], name, n->at);
}

BExpr *
bind_relabel(Binder *b, const BExpr *e)
{
    BExpr *c = ARENA_NEW(b->arena, BExpr);
    *c = *e;
    c->relabeled = true;
    return c;
}

BColumn
bind_target_column(const BTarget *t)
{
    return (BColumn){.name = t->name, .type = t->expr->type, .typmod = t->expr->typmod, .relabeled = t->typmod < 0, .table_oid = t->table_oid,
                     .attribute = t->attribute};
}

static const BColumn *
plain_column(const Scope *s, const BExpr *e)
{
    return e->kind == BX_COLUMN && e->column < BCOL_CTID && !e->relabeled ? &LIST_AT(s->rels, BRel, e->rel)->columns[e->column] : NULL;
}

static i32 shown_typmod(const Scope *s, const BExpr *e);

/* Of several values that one of is taken: theirs if they agree. Of CASE, every other one is a condition; the last is ELSE. */
static i32
common_typmod(const Scope *s, const BExpr *e, u32 step)
{
    i32 typmod = shown_typmod(s, e->args[e->arg_count - 1]);
    for (u32 i = step - 1; i < e->arg_count; i += step)
        if (shown_typmod(s, e->args[i]) != typmod)
            return -1;
    return typmod;
}

static i32
shown_typmod(const Scope *s, const BExpr *e)
{
    const BColumn *c = plain_column(s, e);
    if (e->relabeled || e->kind == BX_WINDOW || (c && c->relabeled))
        return -1;
    switch ((int)e->kind) {
    case BX_COALESCE:
    case BX_GREATEST: return common_typmod(s, e, 1);
    case BX_NULLIF: return shown_typmod(s, e->args[0]);
    case BX_CASE: return common_typmod(s, e, 2);
    default: return e->typmod;
    }
}

BTarget *
bind_new_target(Scope *s, BExpr *e, Str name)
{
    BTarget *t = ARENA_NEW(s->b->arena, BTarget);
    t->expr = e;
    t->name = arena_str(s->b->arena, name);
    t->typmod = shown_typmod(s, e);
    const BColumn *c = plain_column(s, e);
    if (c) {
        t->table_oid = c->table_oid;
        t->attribute = c->attribute;
    }
    return t;
}

static void
add_item_columns(Scope *s, const NsItem *item, PtrList *targets, u32 at)
{
    for (u32 i = 0; i < item->count; i++) {
        BExpr *e = use_column(s, &item->columns[i], bind_position(s->b, at));
        ptrlist_add(s->b->arena, targets, bind_new_target(s, e, item->columns[i].name));
    }
}

void
bind_star(Scope *s, const AExpr *e, PtrList *targets)
{
    if (e->name->count) {
        const NsItem *item = find_item(s, e->name, e->name->count);
        if (!item)
            missing_item(s, e->name, e->name->count);
        add_item_columns(s, item, targets, e->at);
        return;
    }
    bool any = false;
    for (u32 i = 0; i < s->items.count; i++) {
        const NsItem *item = LIST_AT(s->items, NsItem, i);
        if (item->cols_visible)
            add_item_columns(s, item, targets, e->at);
        any |= item->cols_visible;
    }
    if (!any)
        bind_fail(s->b, e->at, ERR_SYNTAX_ERROR, "SELECT * with no tables specified is not valid");
}
