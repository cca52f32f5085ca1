/*
 * bind_expr.c
 *    Expressions: from syntax to typed nodes.
 *
 * Positions follow PostgreSQL's exprLocation: a node stands where its leftmost part stands, errors about an operator stand at the operator.
 * A literal and an unknown parameter keep TYPE_UNKNOWN until something gives them a type (bind_coerce.c).
 */
#include "backend/sql/bind.h"

#include <limits.h>

static u32
leftmost(u32 position, const BExpr *e)
{
    return e->position && (!position || e->position < position) ? e->position : position;
}

static BExpr *
with_args(Binder *b, BExprKind kind, TypeId type, u32 position, BExpr **args, u32 n)
{
    BExpr *e = bind_new(b, kind, type, position);
    e->arg_count = n;
    e->args = ARENA_ARRAY(b->arena, BExpr *, n);
    memcpy(e->args, args, n * sizeof *args);
    return e;
}

static BExpr *
bind_integer(Binder *b, const AExpr *e, i64 v)
{
    bool small = v >= INT32_MIN && v <= INT32_MAX;
    BExpr *c = bind_const_null(b, small ? TYPE_INT4 : TYPE_INT8, bind_position(b, e->at));
    c->value.is_null = false;
    if (small)
        c->value.i32v = (i32)v;
    else
        c->value.i64v = v;
    return c;
}

/* A number that the lexer did not take for an int4: bigint when it is a whole number that fits, else numeric. */
static BExpr *
bind_number(Binder *b, const AExpr *e)
{
    bool minus = e->text.len && e->text.ptr[0] == '-', whole = e->text.len > minus;
    u64 v = 0;
    for (u32 i = minus; i < e->text.len && whole; i++) {
        char c = e->text.ptr[i];
        whole = c >= '0' && c <= '9' && !__builtin_mul_overflow(v, 10u, &v) && !__builtin_add_overflow(v, (u64)(c - '0'), &v);
    }
    if (whole && v <= (u64)INT64_MAX + minus)
        return bind_integer(b, e, minus ? (i64)(0 - v) : (i64)v);
    BExpr *c = bind_const_null(b, TYPE_NUMERIC, bind_position(b, e->at));
    Error err;
    if (num_in(e->text, &c->value.num, &err)) {
        c->value.is_null = false;
        return c;
    }
    if (err.code != ERR_NUMERIC_OUT_OF_RANGE) {
        err.position = c->position;
        err_rethrow(&err);
    }
    /* More than 38 digits: fine when a float is wanted (coerce_type reads the text again), else the cast fails. */
    BExpr *cast = bind_new(b, BX_CAST, TYPE_NUMERIC, c->position);
    cast->arg_count = 1;
    cast->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    cast->args[0] = bind_const_text(b, TYPE_UNKNOWN, e->text, c->position);
    return cast;
}

static BExpr *
bind_param(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    u32 position = bind_position(b, e->at);
    if (e->number < 1 || e->number > UINT16_MAX || b->ctx->no_params)
        err_throw_at(position, ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", e->number);
    u32 index = (u32)e->number - 1;
    if (index >= b->param_capacity) {
        u32 capacity = MAX(index + 1, b->param_capacity * 2);
        TypeId *types = ARENA_ARRAY(b->arena, TypeId, capacity);
        if (b->param_count)
            memcpy(types, b->param_types, b->param_count * sizeof *types);
        b->param_types = types;
        b->param_capacity = capacity;
    }
    b->param_count = MAX(b->param_count, index + 1);
    if (b->param_types[index] == TYPE_INVALID)
        b->param_types[index] = TYPE_UNKNOWN;
    BExpr *p = bind_new(b, BX_PARAM, b->param_types[index], position);
    p->index = index;
    ptrlist_add(b->arena, &b->param_nodes, p);
    return p;
}

/* AND, OR, NOT */
static BExpr *
bind_logic(Scope *s, const AExpr *e)
{
    static const struct { AExprKind from; BExprKind to; const char *name; } kinds[] = {
        {AX_AND, BX_AND, "AND"}, {AX_OR, BX_OR, "OR"}, {AX_NOT, BX_NOT, "NOT"}};
    u32 k = 0;
    while (kinds[k].from != e->kind)
        k++;
    BExpr *r = bind_new(s->b, kinds[k].to, TYPE_BOOL, bind_position(s->b, e->at));
    r->arg_count = e->arg_count;
    r->args = ARENA_ARRAY(s->b->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++) {
        r->args[i] = coerce_to_boolean(s->b, bind_expr(s, e->args[i]), kinds[k].name);
        r->position = leftmost(r->position, r->args[i]);
    }
    return r;
}

static BExpr *
bind_is_null(Scope *s, const AExpr *e)
{
    if (e->args[0]->kind == AX_ROW && e->args[0]->arg_count)
        return bind_row_is_null(s, e);
    BExpr *arg = bind_expr(s, e->args[0]);
    BExpr *r = with_args(s->b, BX_IS_NULL, TYPE_BOOL, leftmost(bind_position(s->b, e->at), arg), &arg, 1);
    r->negated = e->negated;
    return r;
}

static BExpr *
bind_is_bool(Scope *s, const AExpr *e)
{
    static const char *const names[2][3] = {{"IS UNKNOWN", "IS FALSE", "IS TRUE"}, {"IS NOT UNKNOWN", "IS NOT FALSE", "IS NOT TRUE"}};
    BExpr *arg = coerce_to_boolean(s->b, bind_expr(s, e->args[0]), names[e->negated][e->number + 1]);
    BExpr *r = with_args(s->b, BX_IS_BOOL, TYPE_BOOL, leftmost(bind_position(s->b, e->at), arg), &arg, 1);
    r->negated = e->negated;
    r->value = (Value){.type = TYPE_BOOL, .typmod = -1, .is_null = e->number < 0, .b = e->number > 0};
    return r;
}

/* CASE: args are subject, (when, then)…, else. */
static BExpr *
bind_case(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    u32 pairs = (e->arg_count - 2) / 2, n = 2 * pairs + 1;
    BExpr *subject = e->args[0] ? bind_expr(s, e->args[0]) : NULL;
    if (subject)
        subject = coerce_unknown_to_text(b, subject);
    BExpr *r = bind_new(b, BX_CASE, TYPE_INVALID, bind_position(b, e->at));
    r->arg_count = n;
    r->args = ARENA_ARRAY(b->arena, BExpr *, n);
    BExpr **results = ARENA_ARRAY(b->arena, BExpr *, pairs + 1);
    for (u32 i = 0; i < pairs; i++) {
        BExpr *when = bind_expr(s, e->args[1 + 2 * i]);
        if (subject)
            when = bind_operator(b, STR_LIT("="), subject, when, e->when_at[i]);
        r->args[2 * i] = coerce_to_boolean(b, when, "CASE/WHEN");
        results[i + 1] = bind_expr(s, e->args[2 + 2 * i]);
    }
    const AExpr *otherwise = e->args[e->arg_count - 1];
    results[0] = otherwise ? bind_expr(s, otherwise) : bind_const_null(b, TYPE_UNKNOWN, 0);
    r->type = coerce_common_type(results, pairs + 1, "CASE");
    r->args[2 * pairs] = coerce_to_common(b, results[0], r->type, "CASE/ELSE");
    for (u32 i = 0; i < pairs; i++)
        r->args[2 * i + 1] = coerce_to_common(b, results[i + 1], r->type, "CASE/WHEN");
    return r;
}

static BExpr *
bind_list_form(Scope *s, const AExpr *e, BExprKind kind, const char *construct)
{
    BExpr *r = bind_new(s->b, kind, TYPE_INVALID, bind_position(s->b, e->at));
    r->negated = e->negated;
    r->arg_count = e->arg_count;
    r->args = ARENA_ARRAY(s->b->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < e->arg_count; i++)
        r->args[i] = bind_expr(s, e->args[i]);
    r->type = coerce_common_type(r->args, e->arg_count, construct);
    if (kind == BX_GREATEST && r->type == TYPE_JSON)
        err_throw(ERR_UNDEFINED_FUNCTION, "could not identify a comparison function for type json");
    if (kind == BX_GREATEST && !type_bytes_tell(r->type))
        bind_unsupported(s->b, e->at, arena_printf(s->b->arena, "the greatest or least %s", type_name(r->type)));
    for (u32 i = 0; i < e->arg_count; i++)
        r->args[i] = coerce_to_common(s->b, r->args[i], r->type, construct);
    return r;
}

/* CASE and COALESCE, in which no call gives rows. */
static BExpr *
bind_alternatives(Scope *s, const AExpr *e)
{
    const char *before = s->in_alternative;
    s->in_alternative = e->kind == AX_CASE ? "CASE" : "COALESCE";
    BExpr *r = e->kind == AX_CASE ? bind_case(s, e) : bind_list_form(s, e, BX_COALESCE, "COALESCE");
    s->in_alternative = before;
    return r;
}

static BExpr *
bind_nullif(Scope *s, const AExpr *e)
{
    BExpr *args[] = {bind_expr(s, e->args[0]), bind_expr(s, e->args[1])};
    const BExpr *first = args[0];
    FuncId func = bind_equality(s->b, &args[0], &args[1], e->at);
    if (first->type == TYPE_BPCHAR && args[0] != first) /* the result keeps its blanks */
        bind_unsupported(s->b, e->at, "NULLIF of type character without a length");
    BExpr *r = with_args(s->b, BX_NULLIF, args[0]->type, bind_position(s->b, e->at), args, 2);
    r->func = func;
    return r;
}

static BExpr *
bind_cast(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    i32 typmod;
    TypeId to = bind_type(b, e->type, &typmod);
    bool array = type_is_array(to) && e->args[0]->kind == AX_ARRAY && !e->args[0]->select;
    BExpr *arg = array ? bind_array(s, e->args[0], to, typmod) : bind_expr(s, e->args[0]);
    BExpr *r = coerce_to_target(b, arg, to, typmod, CAST_EXPLICIT);
    u32 at = e->at != NO_LOCATION ? e->at : e->type->at;
    if (!r)
        bind_fail(b, at, ERR_CANNOT_COERCE, "cannot cast type %s to %s", bind_type_name(arg->type), bind_type_name(to));
    if (r == arg && typmod < 0 && arg->typmod >= 0)
        return bind_relabel(b, arg);
    if (r != arg && r->kind == BX_CAST && at != NO_LOCATION) {
        u32 position = bind_position(b, at);
        r->position = leftmost(position, r);
    }
    return r;
}

/* LIKE with an escape comes as like_escape(pattern, escape). */
static BExpr *
bind_op(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    if (e->name && e->name->count && !str_eq(e->name->parts[0], STR_LIT("pg_catalog")))
        bind_fail(b, e->at, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)e->name->parts[0].len, e->name->parts[0].ptr);
    if (e->arg_count == 1)
        return bind_operator(b, e->text, NULL, bind_expr(s, e->args[0]), e->at);
    if (e->args[0]->kind == AX_ROW && e->args[1]->kind == AX_ROW)
        return bind_row_compare(s, e);
    BExpr *left = bind_expr(s, e->args[0]);
    return bind_operator(b, e->text, left, bind_expr(s, e->args[1]), e->at);
}

/* `a BETWEEN x AND y` is a >= x AND a <= y; the operand is bound once and shared. */
static BExpr *
bind_between(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    BExpr *bounds[3] = {bind_expr(s, e->args[0]), bind_expr(s, e->args[1]), bind_expr(s, e->args[2])};
    BExpr *ways[2];
    u32 position = bind_position(b, e->at);
    for (u32 way = 0; way < (e->symmetric ? 2u : 1u); way++) {
        BExpr *sides[2];
        for (u32 side = 0; side < 2; side++) {
            static const Str ops[2][2] = {{{">=", 2}, {"<=", 2}}, {{"<", 1}, {">", 1}}};
            sides[side] = bind_operator(b, ops[e->negated][side], bounds[0], bounds[way ? 2 - side : 1 + side], e->at);
        }
        ways[way] = with_args(b, e->negated ? BX_OR : BX_AND, TYPE_BOOL, leftmost(position, bounds[0]), sides, 2);
    }
    if (!e->symmetric)
        return ways[0];
    return with_args(b, e->negated ? BX_AND : BX_OR, TYPE_BOOL, ways[0]->position, ways, 2);
}

static BExpr *
call_named(Binder *b, const char *name, u32 position)
{
    u32 count;
    const FuncDef *f = func_candidates(str_of(name), false, &count);
    ensure(count > 0);
    BExpr *e = bind_new(b, BX_FUNC, f->ret, position);
    e->func = f->id;
    return e;
}

/* now() as a time of this type, with the precision that the expression may give. */
static BExpr *
bind_now(Binder *b, const AExpr *e, TypeId type)
{
    i32 typmod = e->arg_count ? bind_time_precision(b, e->args[0]->number, type, e->at) : -1;
    return coerce_to_target(b, call_named(b, "now", bind_position(b, e->at)), type, typmod, CAST_EXPLICIT);
}

/* CURRENT_DATE, CURRENT_USER, … */
static BExpr *
bind_value_function(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    u32 position = bind_position(b, e->at);
    switch ((int)e->number) {
    case KW_CURRENT_TIMESTAMP:
        return bind_now(b, e, TYPE_TIMESTAMPTZ);
    case KW_LOCALTIMESTAMP:
        return bind_now(b, e, TYPE_TIMESTAMP);
    case KW_CURRENT_TIME:
        return bind_now(b, e, TYPE_TIMETZ);
    case KW_LOCALTIME:
        return bind_now(b, e, TYPE_TIME);
    case KW_CURRENT_DATE:
        return coerce_type(b, call_named(b, "now", position), TYPE_DATE, CAST_EXPLICIT);
    case KW_CURRENT_ROLE: case KW_CURRENT_USER: case KW_SESSION_USER: case KW_USER:
        return bind_const_text(b, TYPE_NAME, arena_str(b->arena, str_of(e->number == KW_SESSION_USER ? b->ctx->session_role_name : b->ctx->role_name)), position);
    case KW_CURRENT_CATALOG:
        return bind_const_text(b, TYPE_NAME, arena_str(b->arena, str_of(b->ctx->database)), position);
    case KW_CURRENT_SCHEMA:
        return bind_const_text(b, TYPE_NAME, STR_LIT("public"), position);
    default:
        bind_unsupported(b, e->at, "this value of the session");
    }
}

static BExpr *
bind_collate(Scope *s, const AExpr *e)
{
    static const char *const known[] = {"C", "C.UTF-8", "C.utf8", "POSIX", "default", "ucs_basic"};
    BExpr *arg = bind_expr(s, e->args[0]);
    Str name = e->name->parts[e->name->count - 1];
    if (arg->type != TYPE_UNKNOWN && type_category(arg->type) != 'S')
        bind_fail(s->b, e->at, ERR_DATATYPE_MISMATCH, "collations are not supported by type %s", bind_type_name(arg->type));
    for (u32 i = 0; i < COUNT_OF(known); i++)
        if (str_eq(name, str_of(known[i])))
            return arg;
    bind_fail(s->b, e->at, ERR_UNDEFINED_OBJECT, "collation \"%s\" for encoding \"UTF8\" does not exist", bind_name_text(s->b, e->name));
}

static BExpr *
bind_unsupported_expr(Scope *s, const AExpr *e)
{
    switch (e->kind) {
    case AX_FIELD:
        bind_unsupported(s->b, e->at, "a composite type");
    case AX_ROW:
        bind_unsupported(s->b, e->at, "a row value");
    case AX_BITS:
        bind_unsupported(s->b, e->at, "a bit string");
    case AX_DEFAULT:
        bind_fail(s->b, e->at, ERR_SYNTAX_ERROR, "DEFAULT is not allowed in this context");
    default:
        bind_unsupported(s->b, e->at, arena_printf(s->b->arena, "%.*s", (int)e->text.len, e->text.ptr));
    }
}

static BExpr *
bind_kind(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    BExpr *c;
    switch (e->kind) {
    case AX_NULL:
        return bind_const_null(b, TYPE_UNKNOWN, bind_position(b, e->at));
    case AX_BOOL:
        c = bind_const_null(b, TYPE_BOOL, bind_position(b, e->at));
        c->value.is_null = false;
        c->value.b = e->number != 0;
        return c;
    case AX_INT:
        return bind_integer(b, e, e->number);
    case AX_NUMBER:
        return bind_number(b, e);
    case AX_STRING:
        return bind_const_text(b, TYPE_UNKNOWN, e->text, bind_position(b, e->at));
    case AX_PARAM:
        return bind_param(s, e);
    case AX_COLUMN:
        return bind_column_ref(s, e);
    case AX_OP:
        return bind_op(s, e);
    case AX_AND: case AX_OR: case AX_NOT:
        return bind_logic(s, e);
    case AX_IS_NULL:
        return bind_is_null(s, e);
    case AX_IS_BOOL:
        return bind_is_bool(s, e);
    case AX_DISTINCT:
        return bind_distinct(s, e);
    case AX_BETWEEN:
        return bind_between(s, e);
    case AX_IN:
        return bind_in(s, e);
    case AX_CASE:
        return bind_alternatives(s, e);
    case AX_CAST:
        return bind_cast(s, e);
    case AX_COALESCE:
        return bind_alternatives(s, e);
    case AX_GREATEST:
        return bind_list_form(s, e, BX_GREATEST, e->negated ? "LEAST" : "GREATEST");
    case AX_NULLIF:
        return bind_nullif(s, e);
    case AX_FUNC:
        return bind_call(s, e);
    case AX_VALUE:
        return bind_value_function(s, e);
    case AX_COLLATE:
        return bind_collate(s, e);
    case AX_GROUPING:
        return bind_grouping_call(s, e);
    case AX_SUBQUERY: case AX_EXISTS: case AX_IN_QUERY:
        return bind_subquery(s, e);
    case AX_QUANTIFIED:
        return e->select ? bind_subquery(s, e) : bind_any(s, e);
    case AX_ARRAY:
        return e->select ? bind_subquery(s, e) : bind_array(s, e, TYPE_INVALID, -1);
    case AX_SUBSCRIPT:
        return bind_subscript(s, e);
    case AX_BITS: case AX_DEFAULT: case AX_ROW: case AX_FIELD: case AX_UNSUPPORTED:
    default:
        return bind_unsupported_expr(s, e);
    }
}

BExpr *
bind_expr(Scope *s, const AExpr *e)
{
    bind_enter(s->b);
    BExpr *r = bind_kind(s, e);
    bind_leave(s->b);
    return r;
}

BExpr *
bind_expr_at(Scope *s, const AExpr *e, BindPlace place)
{
    BindPlace before = s->place;
    s->place = place;
    BExpr *r = bind_expr(s, e);
    s->place = before;
    return r;
}

BExpr *
bind_condition(Scope *s, const AExpr *e, BindPlace place, const char *construct)
{
    return coerce_to_boolean(s->b, bind_expr_at(s, e, place), construct);
}

/* ---- names of output columns ---- */

/* How sure the name is: 2 a name of its own, 1 a guess that a better one beats, 0 none. */
static int
output_name(const AExpr *e, Str *name)
{
    Str inner;
    switch (e->kind) {
    case AX_COLUMN: case AX_FUNC:
        if (!e->name || !e->name->count)
            return 0;
        *name = e->name->parts[e->name->count - 1];
        return 2;
    case AX_FIELD:
        *name = e->text;
        return 2;
    case AX_SUBSCRIPT: case AX_COLLATE:
        return output_name(e->args[0], name);
    case AX_CAST: {
        int sure = output_name(e->args[0], &inner);
        *name = sure > 1 ? inner : e->type->name.parts[e->type->name.count - 1];
        return sure > 1 ? 2 : 1;
    }
    case AX_CASE: {
        const AExpr *otherwise = e->args[e->arg_count - 1];
        int sure = otherwise ? output_name(otherwise, &inner) : 0;
        *name = sure > 1 ? inner : STR_LIT("case");
        return sure > 1 ? 2 : 1;
    }
    case AX_COALESCE:
        *name = STR_LIT("coalesce");
        return 2;
    case AX_NULLIF:
        *name = STR_LIT("nullif");
        return 2;
    case AX_GREATEST:
        *name = e->negated ? STR_LIT("least") : STR_LIT("greatest");
        return 2;
    case AX_SUBQUERY: {
        const ASelect *sel = e->select;
        while (sel->op)
            sel = sel->left;
        const ATarget *t = sel->targets.count ? LIST_AT(sel->targets, ATarget, 0) : NULL;
        if (!t || !t->has_label)
            return t ? output_name(t->expr, name) : 0;
        *name = t->label;
        return 2;
    }
    case AX_EXISTS:
        *name = STR_LIT("exists");
        return 2;
    case AX_ARRAY:
        *name = STR_LIT("array");
        return 2;
    case AX_ROW:
        *name = STR_LIT("row");
        return 2;
    case AX_GROUPING:
        *name = STR_LIT("grouping");
        return 2;
    case AX_VALUE:
        *name = keyword_text((Keyword)e->number);
        return 2;
    default:
        return 0;
    }
}

Str
bind_output_name(const AExpr *e)
{
    Str name = STR_LIT("?column?");
    output_name(e, &name);
    return name;
}

/* ---- nodes ---- */

static bool
value_identical(const Value *a, const Value *b)
{
    if (a->is_null || b->is_null)
        return a->is_null && b->is_null;
    if (a->type == TYPE_NUMERIC)
        return memcmp(&a->num, &b->num, sizeof a->num) == 0;
    if (a->type == TYPE_UNKNOWN)
        return str_eq(a->str, b->str);
    return value_cmp(a, b) == 0;
}

bool
bexpr_equal(const BExpr *a, const BExpr *b)
{
    if (a == b)
        return true;
    bool same = a->kind == b->kind && a->type == b->type && a->typmod == b->typmod && a->negated == b->negated &&
                a->explicit_cast == b->explicit_cast && a->rel == b->rel && a->column == b->column && a->index == b->index &&
                a->func == b->func && a->arg_count == b->arg_count;
    if (same && (a->kind == BX_CONST || a->kind == BX_IS_BOOL))
        same = value_identical(&a->value, &b->value);
    for (u32 i = 0; i < a->arg_count && same; i++)
        same = bexpr_equal(a->args[i], b->args[i]);
    return same;
}

BExpr *
bexpr_copy(Binder *b, const BExpr *e, u32 position)
{
    BExpr *c = ARENA_NEW(b->arena, BExpr);
    *c = *e;
    c->position = position;
    return c;
}
