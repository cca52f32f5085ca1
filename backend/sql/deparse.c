/*
 * deparse.c
 *    Bound expressions as text for EXPLAIN and CHECK, in PostgreSQL's look.
 */
#include "backend/sql/deparse.h"

#include "backend/sql/lex.h"

static void put(const Deparse *d, const BExpr *e);

/* ---- parentheses ---- */

static char
arithmetic(const BExpr *e)
{
    const FuncDef *f = e->kind == BX_FUNC ? func_def(e->func) : NULL;
    return f && f->is_operator && e->arg_count == 2 && strchr("+-*/%", f->name[0]) && !f->name[1] ? f->name[0] : 0;
}

static bool
is_operator(const BExpr *e)
{
    return e->kind == BX_FUNC && func_def(e->func)->is_operator;
}

/* Needs none below its parent: PostgreSQL's rules for what binds tighter, which knows + - * / % only. */
static bool
stands_alone(const Deparse *d)
{
    const BExpr *e = d->self, *parent = d->parent;
    if (!parent)
        return true;
    if (e->kind == BX_IN || e->kind == BX_ANY)
        return false;
    bool bool_parent = parent->kind == BX_AND || parent->kind == BX_OR || parent->kind == BX_NOT;
    if (e->kind == BX_AND || e->kind == BX_NOT || e->kind == BX_OR)
        return bool_parent ? parent->kind == BX_OR || (parent->kind == BX_AND && e->kind != BX_OR) : parent->kind != BX_CAST && !is_operator(parent);
    if (is_operator(parent)) {
        char op = arithmetic(e), above = arithmetic(parent);
        if (!op || !above)
            return false;
        bool low = op == '+' || op == '-', low_above = above == '+' || above == '-';
        return low == low_above ? parent->args[0] == e : low_above;
    }
    return parent->kind != BX_CAST && parent->kind != BX_IS_NULL && parent->kind != BX_IS_BOOL && parent->kind != BX_DISTINCT && parent->kind != BX_IN &&
           parent->kind != BX_ANY;
}

static void
put_open(const Deparse *d)
{
    if (!d->pretty || !stands_alone(d))
        buf_u8(d->to, '(');
}

static void
put_close(const Deparse *d)
{
    if (!d->pretty || !stands_alone(d))
        buf_u8(d->to, ')');
}

/* ---- nodes ---- */

static void
put_list(const Deparse *d, const BExpr *e, u32 first, const char *between)
{
    for (u32 i = first; i < e->arg_count; i++) {
        if (i > first)
            buf_str(d->to, between);
        put(d, e->args[i]);
    }
}

void
deparse_name(ByteBuf *to, Str name)
{
    bool plain = name.len && !(name.ptr[0] >= '0' && name.ptr[0] <= '9');
    for (u32 i = 0; i < name.len && plain; i++)
        plain = (name.ptr[i] >= 'a' && name.ptr[i] <= 'z') || (name.ptr[i] >= '0' && name.ptr[i] <= '9') || name.ptr[i] == '_';
    Keyword k = plain ? keyword_find(name) : NO_KEYWORD;
    if (plain && (!k || keyword_class(k) == KWC_UNRESERVED)) {
        buf_put(to, name.ptr, name.len);
        return;
    }
    buf_u8(to, '"');
    for (u32 i = 0; i < name.len; i++) {
        if (name.ptr[i] == '"')
            buf_u8(to, '"');
        buf_u8(to, (u8)name.ptr[i]);
    }
    buf_u8(to, '"');
}

/* A number that the parser would read as this type by itself. */
static bool
speaks_for_itself(const Deparse *d, const BExpr *e, const char *text, size_t len)
{
    if (!d->exact && (e->type == TYPE_INT2 || e->type == TYPE_INT4 || e->type == TYPE_INT8))
        return true;
    if (!len || text[0] < '0' || text[0] > '9')
        return false;
    return e->type == TYPE_INT4 || (e->type == TYPE_NUMERIC && (memchr(text, '.', len) || memchr(text, 'e', len)));
}

static void
put_quoted(ByteBuf *to, const char *text, size_t len)
{
    buf_u8(to, '\'');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\'')
            buf_u8(to, '\'');
        buf_u8(to, (u8)text[i]);
    }
    buf_u8(to, '\'');
}

static void
put_const(const Deparse *d, const BExpr *e)
{
    static const TypeFormat format = {.extra_float_digits = 1};
    const Value *v = &e->value;
    if (v->is_null) {
        buf_printf(d->to, "NULL::%s", type_format(d->arena, e->type, e->typmod));
        return;
    }
    if (e->type == TYPE_BOOL) {
        buf_str(d->to, v->b ? "true" : "false");
        return;
    }
    ByteBuf text = {0};
    value_out(&text, &format, v);
    if (!text.failed && speaks_for_itself(d, e, (const char *)text.data, text.len)) {
        buf_put(d->to, text.data, text.len);
    } else {
        put_quoted(d->to, (const char *)text.data, text.len);
        buf_printf(d->to, "::%s", type_format(d->arena, e->type, -1));
    }
    d->to->failed |= text.failed;
    buf_free(&text);
}

/* Calls that have a syntax of their own. */
static bool
put_special(const Deparse *d, const BExpr *e, Str name)
{
    if (str_eq(name, STR_LIT("extract")) && e->args[0]->kind == BX_CONST && !e->args[0]->value.is_null) {
        buf_str(d->to, "EXTRACT(");
        deparse_name(d->to, e->args[0]->value.str);
        buf_str(d->to, " FROM ");
        put(d, e->args[1]);
        buf_u8(d->to, ')');
        return true;
    }
    if (!str_eq(name, STR_LIT("timezone")) || e->arg_count != 2)
        return false;
    buf_u8(d->to, '(');
    put(d, e->args[1]);
    buf_str(d->to, " AT TIME ZONE ");
    put(d, e->args[0]);
    buf_u8(d->to, ')');
    return true;
}

static void
put_func(const Deparse *d, const BExpr *e)
{
    const FuncDef *f = func_def(e->func);
    if (!f->is_operator) {
        if (put_special(d, e, str_of(f->name)))
            return;
        deparse_name(d->to, str_of(f->name));
        buf_u8(d->to, '(');
        put_list(d, e, 0, ", ");
        buf_u8(d->to, ')');
        return;
    }
    put_open(d);
    if (e->arg_count == 1) {
        buf_printf(d->to, "%s ", f->name);
        put(d, e->args[0]);
    } else {
        put(d, e->args[0]);
        buf_printf(d->to, " %s ", f->name);
        put(d, e->args[1]);
    }
    put_close(d);
}

static void
put_case(const Deparse *d, const BExpr *e)
{
    buf_str(d->to, "CASE");
    for (u32 i = 0; i + 1 < e->arg_count; i += 2) {
        buf_str(d->to, " WHEN ");
        put(d, e->args[i]);
        buf_str(d->to, " THEN ");
        put(d, e->args[i + 1]);
    }
    buf_str(d->to, " ELSE ");
    put(d, e->args[e->arg_count - 1]);
    buf_str(d->to, " END");
}

static void
put_call(const Deparse *d, const BExpr *e, const char *name)
{
    buf_printf(d->to, "%s(", name);
    put_list(d, e, 0, ", ");
    buf_u8(d->to, ')');
}

static void
put_group(const Deparse *d, const BExpr *e)
{
    if (d->query && e->index < d->query->group_count)
        put(d, d->query->group_by[e->index]);
    else
        buf_printf(d->to, "group %u", e->index + 1);
}

static void
put_column(const Deparse *d, const BExpr *e)
{
    if (!d->query || e->rel >= d->query->rel_count) {
        buf_printf(d->to, "column %u", e->column + 1);
        return;
    }
    const BRel *r = &d->query->rels[e->rel];
    if (d->query->rel_count > 1) {
        deparse_name(d->to, r->alias);
        buf_u8(d->to, '.');
    }
    if (e->column == BCOL_CTID || e->column == BCOL_TABLEOID || e->column == BCOL_XMIN)
        buf_str(d->to, e->column == BCOL_CTID ? "ctid" : e->column == BCOL_TABLEOID ? "tableoid" : "xmin");
    else
        deparse_name(d->to, r->columns[e->column].name);
}

/* varchar IN (constants): compared as texts, listed as what they were written to be. */
static bool
is_varchar_list(const BExpr *e)
{
    const BExpr *left = e->args[0];
    if (e->kind != BX_IN || left->kind != BX_CAST || left->type != TYPE_TEXT || left->args[0]->type != TYPE_VARCHAR)
        return false;
    for (u32 i = 1; i < e->arg_count; i++) {
        const BExpr *c = e->args[i]->kind == BX_CAST ? e->args[i]->args[0] : e->args[i];
        if (c->kind != BX_CONST || c->type != TYPE_VARCHAR || c->value.is_null)
            return false;
    }
    return true;
}

static void
put_varchar_list(const Deparse *d, const BExpr *e)
{
    buf_printf(d->to, " %s (%sARRAY[", e->negated ? "<> ALL" : "= ANY", d->pretty ? "" : "(");
    for (u32 i = 1; i < e->arg_count; i++) {
        Str s = (e->args[i]->kind == BX_CAST ? e->args[i]->args[0] : e->args[i])->value.str;
        buf_str(d->to, i > 1 ? ", " : "");
        put_quoted(d->to, s.ptr, s.len);
        buf_str(d->to, "::character varying");
    }
    buf_str(d->to, d->pretty ? "]::text[])" : "])::text[])");
}

static void
put_test(const Deparse *d, const BExpr *e)
{
    if (d->short_lists && is_varchar_list(e)) {
        put_open(d);
        put(d, e->args[0]);
        put_varchar_list(d, e);
        put_close(d);
        return;
    }
    bool not_distinct = e->kind == BX_DISTINCT && e->negated;
    put_open(d);
    buf_str(d->to, not_distinct ? d->pretty ? "NOT " : "NOT (" : "");
    put(d, e->args[0]);
    if (e->kind == BX_IS_NULL)
        buf_str(d->to, e->negated ? " IS NOT NULL" : " IS NULL");
    else if (e->kind == BX_IS_BOOL)
        buf_printf(d->to, " IS %s%s", e->negated ? "NOT " : "", e->value.is_null ? "UNKNOWN" : e->value.b ? "TRUE" : "FALSE");
    else if (e->kind == BX_DISTINCT) {
        buf_str(d->to, " IS DISTINCT FROM ");
        put(d, e->args[1]);
    } else {
        buf_printf(d->to, " %s (ARRAY[", e->negated ? "<> ALL" : "= ANY");
        put_list(d, e, 1, ", ");
        buf_str(d->to, "])");
    }
    buf_str(d->to, not_distinct && !d->pretty ? ")" : "");
    put_close(d);
}

static void
put_aggregate(const Deparse *d, const BExpr *e)
{
    if (d->query && e->index < d->query->agg_count)
        deparse_agg(d, &d->query->aggs[e->index]);
    else
        buf_printf(d->to, "aggregate %u", e->index + 1);
}

static void
put_subscript(const Deparse *d, const BExpr *e)
{
    bool slice = e->negated;
    bool plain = e->args[0]->kind == BX_COLUMN;
    buf_str(d->to, plain ? "" : "(");
    put(d, e->args[0]);
    buf_str(d->to, plain ? "" : ")");
    for (u32 i = 1; i < e->arg_count; i++) {
        bool second = slice && i % 2 == 0;
        buf_u8(d->to, second ? ':' : '[');
        if (!(e->index >> (i - 1) & 1))
            put(d, e->args[i]);
        if (!slice || second)
            buf_u8(d->to, ']');
    }
}

static void
put(const Deparse *above, const BExpr *e)
{
    Deparse own = *above;
    const Deparse *d = &own;
    own.parent = above->self;
    own.self = e;
    switch (e->kind) {
    case BX_CONST: put_const(d, e); return;
    case BX_PARAM:
        buf_printf(d->to, "$%u", e->index >= EXTRA_PARAM ? e->index - EXTRA_PARAM : e->index + 1);
        return;
    case BX_COLUMN: put_column(d, e); return;
    case BX_FUNC: put_func(d, e); return;
    case BX_CAST:
        buf_str(d->to, d->pretty ? "" : "(");
        put(d, e->args[0]);
        buf_printf(d->to, "%s::%s", d->pretty ? "" : ")", type_format(d->arena, e->type, e->typmod));
        return;
    case BX_AND:
    case BX_OR:
        put_open(d);
        put_list(d, e, 0, e->kind == BX_AND ? " AND " : " OR ");
        put_close(d);
        return;
    case BX_NOT:
        put_open(d);
        buf_str(d->to, "NOT ");
        put(d, e->args[0]);
        put_close(d);
        return;
    case BX_IS_NULL: case BX_IS_BOOL: case BX_DISTINCT: case BX_IN: put_test(d, e); return;
    case BX_CASE: put_case(d, e); return;
    case BX_COALESCE: put_call(d, e, "COALESCE"); return;
    case BX_NULLIF: put_call(d, e, "NULLIF"); return;
    case BX_GREATEST: put_call(d, e, e->negated ? "LEAST" : "GREATEST"); return;
    case BX_AGG: put_aggregate(d, e); return;
    case BX_GROUP: put_group(d, e); return;
    case BX_IN_SET: buf_printf(d->to, "(hashed SubPlan %u)", e->index + 1); return;
    case BX_SUBQUERY: buf_printf(d->to, "(SubPlan %u)", e->index + 1); return;
    case BX_ARRAY:
        buf_str(d->to, "ARRAY[");
        put_list(d, e, 0, ", ");
        buf_u8(d->to, ']');
        return;
    case BX_SUBSCRIPT: put_subscript(d, e); return;
    case BX_ANY:
        put_open(d);
        put(d, e->args[0]);
        buf_printf(d->to, " %s %s (", func_def(e->func)->name, e->negated ? "ALL" : "ANY");
        put(d, e->args[1]);
        buf_u8(d->to, ')');
        put_close(d);
        return;
    case BX_ITEM: return; /* below BX_ANY only */
    case BX_WINDOW: buf_printf(d->to, "window %u", e->index + 1); return;
    }
    buf_str(d->to, "?");
}

void
deparse_expr(const Deparse *d, const BExpr *e)
{
    put(d, e);
}

static void
put_agg_list(const Deparse *d, BExpr *const *list, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        buf_str(d->to, i ? ", " : "");
        put(d, list[i]);
    }
}

static void
put_agg_rows(const Deparse *d, const BAgg *a)
{
    const BAggRows *r = a->rows;
    bool within = agg_def(a->agg)->kind != AGG_PLAIN;
    if (within)
        put_agg_list(d, r->columns + r->column_count - r->direct_count, r->direct_count);
    else
        put_agg_list(d, r->columns, r->arg_count);
    for (u32 i = 0; i < r->key_count; i++) {
        buf_str(d->to, i ? ", " : within ? ") WITHIN GROUP (ORDER BY " : " ORDER BY ");
        put(d, r->columns[r->keys[i].target]);
        buf_str(d->to, r->keys[i].descending ? " DESC" : "");
    }
}

void
deparse_agg(const Deparse *d, const BAgg *a)
{
    buf_printf(d->to, "%s(%s", agg_def(a->agg)->name, a->distinct ? "DISTINCT " : "");
    if (a->rows)
        put_agg_rows(d, a);
    else if (a->arg)
        put(d, a->arg);
    else
        buf_u8(d->to, '*');
    buf_u8(d->to, ')');
}
