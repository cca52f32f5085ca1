/*
 * bind_row.c
 *    What PostgreSQL spells with lists and rows: IN, IS DISTINCT FROM, and comparisons of rows, taken apart into simple ones.
 *
 * (a, b) < (c, d) becomes a < c OR (a = c AND b < d), which gives NULL exactly where the row comparison does.
 */
#include "backend/sql/bind.h"

static BExpr *
join(Binder *b, BExprKind kind, const PtrList *list, u32 position)
{
    if (list->count == 1)
        return LIST_AT(*list, BExpr, 0);
    BExpr *e = bind_new(b, kind, TYPE_BOOL, position);
    e->arg_count = list->count;
    e->args = (BExpr **)list->items;
    for (u32 i = 0; i < e->arg_count; i++)
        if (e->args[i]->position && (!e->position || e->args[i]->position < e->position))
            e->position = e->args[i]->position;
    return e;
}

static void
check_row_sizes(Scope *s, const AExpr *left, const AExpr *right, u32 at)
{
    if (left->arg_count != right->arg_count)
        bind_fail(s->b, at, ERR_SYNTAX_ERROR, "unequal number of entries in row expressions");
    if (left->arg_count == 0)
        bind_fail(s->b, at, ERR_FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length");
}

/* left.i op right.i, bound afresh: an unknown side may take another type in each comparison. */
static BExpr *
compare_at(Scope *s, const AExpr *left, const AExpr *right, u32 i, Str op, u32 at)
{
    BExpr *l = bind_expr(s, left->args[i]);
    BExpr *r = bind_operator(s->b, op, l, bind_expr(s, right->args[i]), at);
    if (r->type != TYPE_BOOL)
        bind_fail(s->b, at, ERR_DATATYPE_MISMATCH, "row comparison operator must yield type boolean, not type %s", bind_type_name(r->type));
    return r;
}

static BExpr *
compare_rows(Scope *s, const AExpr *left, const AExpr *right, Str op, u32 at)
{
    Binder *b = s->b;
    check_row_sizes(s, left, right, at);
    u32 n = left->arg_count, position = bind_position(b, at);
    PtrList all = {0};
    if (str_eq(op, STR_LIT("=")) || str_eq(op, STR_LIT("<>"))) {
        for (u32 i = 0; i < n; i++)
            ptrlist_add(b->arena, &all, compare_at(s, left, right, i, op, at));
        return join(b, op.len == 1 ? BX_AND : BX_OR, &all, position);
    }
    bool ordered = op.ptr[0] == '<' || op.ptr[0] == '>';
    if (!ordered || op.len > 2 || (op.len == 2 && op.ptr[1] != '='))
        bind_fail_hint(position, ERR_FEATURE_NOT_SUPPORTED, "Row comparison operators must be associated with btree operator families.",
                       "could not determine interpretation of row comparison operator %.*s", (int)op.len, op.ptr);
    for (u32 i = 0; i < n; i++) {
        PtrList part = {0};
        for (u32 k = 0; k < i; k++)
            ptrlist_add(b->arena, &part, compare_at(s, left, right, k, STR_LIT("="), at));
        Str strict = i + 1 < n ? (Str){op.ptr, 1} : op;
        ptrlist_add(b->arena, &part, compare_at(s, left, right, i, strict, at));
        ptrlist_add(b->arena, &all, join(b, BX_AND, &part, position));
    }
    return join(b, BX_OR, &all, position);
}

BExpr *
bind_row_compare(Scope *s, const AExpr *e)
{
    return compare_rows(s, e->args[0], e->args[1], e->text, e->at);
}

static BExpr *
distinct_pair(Scope *s, const AExpr *left, const AExpr *right, const AExpr *e)
{
    Binder *b = s->b;
    bool null_left = left->kind == AX_NULL, null_right = right->kind == AX_NULL;
    if (null_left || null_right) {
        BExpr *arg = bind_expr(s, null_right ? left : right);
        BExpr *r = bind_new(b, BX_IS_NULL, TYPE_BOOL, arg->position);
        r->negated = !e->negated;
        r->arg_count = 1;
        r->args = ARENA_ARRAY(b->arena, BExpr *, 1);
        r->args[0] = arg;
        return r;
    }
    BExpr *args[] = {bind_expr(s, left), bind_expr(s, right)};
    FuncId func = bind_equality(b, &args[0], &args[1], e->at);
    BExpr *r = bind_new(b, BX_DISTINCT, TYPE_BOOL, bind_position(b, e->at));
    r->func = func;
    r->negated = e->negated;
    r->arg_count = 2;
    r->args = ARENA_ARRAY(b->arena, BExpr *, 2);
    memcpy(r->args, args, sizeof args);
    if (args[0]->position && args[0]->position < r->position)
        r->position = args[0]->position;
    return r;
}

BExpr *
bind_distinct(Scope *s, const AExpr *e)
{
    const AExpr *left = e->args[0], *right = e->args[1];
    if (left->kind != AX_ROW || right->kind != AX_ROW)
        return distinct_pair(s, left, right, e);
    check_row_sizes(s, left, right, e->at);
    PtrList all = {0};
    for (u32 i = 0; i < left->arg_count; i++)
        ptrlist_add(s->b->arena, &all, distinct_pair(s, left->args[i], right->args[i], e));
    return join(s->b, e->negated ? BX_AND : BX_OR, &all, bind_position(s->b, e->at));
}

static bool
has_column(const BExpr *e)
{
    bool found = e->kind == BX_COLUMN || e->kind == BX_AGG;
    for (u32 i = 0; i < e->arg_count && !found; i++)
        found = has_column(e->args[i]);
    return found;
}

/* The elements without columns as one BX_IN over their common type; NULL: there is none, so they are compared one by one. */
static BExpr *
in_list(Scope *s, const AExpr *e, BExpr **all, u32 count)
{
    Binder *b = s->b;
    TypeId common = count > 2 ? coerce_common_type(all, count, NULL) : TYPE_INVALID;
    if (!common)
        return NULL;
    for (u32 i = 0; i < count; i++)
        if (!coerce_allowed(all[i]->type, common, CAST_IMPLICIT))
            return NULL;
    if (common == TYPE_BPCHAR && all[0]->typmod < 0) /* what its "=" makes of them */
        common = TYPE_TEXT;
    BExpr *r = bind_new(b, BX_IN, TYPE_BOOL, bind_position(b, e->op_at));
    r->negated = e->negated;
    r->arg_count = count;
    r->args = ARENA_ARRAY(b->arena, BExpr *, count);
    for (u32 i = 0; i < count; i++)
        r->args[i] = coerce_type(b, all[i], common, CAST_IMPLICIT);
    /* the "=" may want another type still (varchar compares as text) */
    BExpr *left = r->args[0], *right = r->args[1];
    r->func = bind_equality(b, &left, &right, e->op_at);
    TypeId wanted = left->type;
    for (u32 i = 0; i < count; i++) {
        r->args[i] = coerce_type(b, r->args[i], wanted, CAST_IMPLICIT);
        if (i && wanted == TYPE_BPCHAR)
            bind_equality(b, &r->args[0], &r->args[i], e->op_at);
    }
    if (r->args[0]->position && r->args[0]->position < r->position)
        r->position = r->args[0]->position;
    return r;
}

BExpr *
bind_row_is_null(Scope *s, const AExpr *e)
{
    PtrList all = {0};
    for (u32 i = 0; i < e->args[0]->arg_count; i++) {
        BExpr *test = bind_new(s->b, BX_IS_NULL, TYPE_BOOL, bind_position(s->b, e->at));
        test->negated = e->negated;
        test->arg_count = 1;
        test->args = ARENA_ARRAY(s->b->arena, BExpr *, 1);
        test->args[0] = coerce_unknown_to_text(s->b, bind_expr(s, e->args[0]->args[i]));
        ptrlist_add(s->b->arena, &all, test);
    }
    return join(s->b, BX_AND, &all, bind_position(s->b, e->at));
}

BExpr *
bind_in(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    Str op = e->negated ? STR_LIT("<>") : STR_LIT("=");
    PtrList parts = {0};
    if (e->args[0]->kind == AX_ROW) {
        for (u32 i = 1; i < e->arg_count; i++) {
            if (e->args[i]->kind != AX_ROW)
                bind_unsupported(b, e->args[i]->at, "a row value");
            ptrlist_add(b->arena, &parts, compare_rows(s, e->args[0], e->args[i], op, e->op_at));
        }
        return join(b, e->negated ? BX_AND : BX_OR, &parts, bind_position(b, e->op_at));
    }
    BExpr *left = bind_expr(s, e->args[0]);
    BExpr **plain = ARENA_ARRAY(b->arena, BExpr *, e->arg_count), **others = ARENA_ARRAY(b->arena, BExpr *, e->arg_count);
    u32 plain_count = 1, other_count = 0;
    plain[0] = left;
    for (u32 i = 1; i < e->arg_count; i++) {
        BExpr *item = bind_expr(s, e->args[i]);
        if (has_column(item))
            others[other_count++] = item;
        else
            plain[plain_count++] = item;
    }
    BExpr *list = in_list(s, e, plain, plain_count);
    if (list)
        ptrlist_add(b->arena, &parts, list);
    for (u32 i = 1; i < plain_count && !list; i++)
        ptrlist_add(b->arena, &parts, bind_operator(b, op, left, plain[i], e->op_at));
    for (u32 i = 0; i < other_count; i++)
        ptrlist_add(b->arena, &parts, bind_operator(b, op, left, others[i], e->op_at));
    return join(b, e->negated ? BX_AND : BX_OR, &parts, bind_position(b, e->op_at));
}
