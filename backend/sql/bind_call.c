/*
 * bind_call.c
 *    Which overload? Operators, functions and aggregates, chosen as PostgreSQL does (manual, sections 10.2 and 10.3).
 *
 * bind_choose() is the common core: an exact match; then those whose arguments convert implicitly; then most exact matches, most preferred types,
 * and what the category of each unknown argument suggests. Differences in kind (operators that take any type, count of anything,
 * concat) are settled before it.
 */
#include "backend/sql/bind.h"

enum { CONCAT_MAX_ARGS = 6 };

static bool
same_types(const TypeId *a, const TypeId *b, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static bool
all_convert(const TypeId *in, const TypeId *to, u32 n)
{
    for (u32 i = 0; i < n; i++)
        if (!coerce_allowed(in[i], to[i], CAST_IMPLICIT))
            return false;
    return poly_fits(in, to, n);
}

/* Keep the candidates that score highest; preferred also counts preferred types of the argument's category. */
static u32
keep_best(Candidate *c, u32 count, const TypeId *in, u32 n, bool preferred)
{
    u32 best = 0, kept = 0;
    for (u32 k = 0; k < count; k++) {
        u32 score = 0;
        for (u32 i = 0; i < n; i++) {
            if (in[i] == TYPE_UNKNOWN)
                continue;
            bool same_kind = type_category(c[k].args[i]) == type_category(in[i]);
            score += c[k].args[i] == in[i] || (preferred && same_kind && type_preferred(c[k].args[i]));
        }
        if (score > best || k == 0) {
            best = score;
            c[0] = c[k];
            kept = 1;
        } else if (score == best) {
            c[kept++] = c[k];
        }
    }
    return kept;
}

/* The category that an unknown argument takes, from all candidates; 0: they disagree and none is a string. */
static char
slot_category(const Candidate *c, u32 count, u32 slot, bool *has_preferred)
{
    char category = type_category(c[0].args[slot]);
    *has_preferred = type_preferred(c[0].args[slot]);
    bool conflict = false;
    for (u32 k = 1; k < count; k++) {
        TypeId t = c[k].args[slot];
        if (type_category(t) == category) {
            *has_preferred |= type_preferred(t);
        } else if (type_category(t) == 'S') {
            category = 'S';
            *has_preferred = type_preferred(t);
            conflict = false;
        } else if (category != 'S') {
            conflict = true;
        }
    }
    return conflict ? 0 : category;
}

/* Drop candidates that do not fit the categories of the unknown arguments; unchanged when nothing would be left. */
static u32
settle_unknowns(Candidate *c, u32 count, const TypeId *in, u32 n)
{
    char category[BIND_MAX_ARGS];
    bool preferred[BIND_MAX_ARGS];
    for (u32 i = 0; i < n; i++)
        if (in[i] == TYPE_UNKNOWN && !(category[i] = slot_category(c, count, i, &preferred[i])))
            return count;
    u32 kept = 0;
    Candidate keep[BIND_MAX_CANDIDATES];
    for (u32 k = 0; k < count; k++) {
        bool fits = true;
        for (u32 i = 0; i < n && fits; i++)
            if (in[i] == TYPE_UNKNOWN)
                fits = type_category(c[k].args[i]) == category[i] && (!preferred[i] || type_preferred(c[k].args[i]));
        if (fits)
            keep[kept++] = c[k];
    }
    if (kept)
        memcpy(c, keep, kept * sizeof *c);
    return kept ? kept : count;
}

/* All known arguments of one type: perhaps the unknown ones are of that type, too. */
static int
assume_known_type(const Candidate *c, u32 count, const TypeId *in, u32 n)
{
    TypeId known = TYPE_UNKNOWN, assumed[BIND_MAX_ARGS];
    for (u32 i = 0; i < n; i++) {
        if (in[i] == TYPE_UNKNOWN)
            continue;
        if (known != TYPE_UNKNOWN && known != in[i])
            return CHOICE_MANY;
        known = in[i];
    }
    if (known == TYPE_UNKNOWN)
        return CHOICE_MANY;
    for (u32 i = 0; i < n; i++)
        assumed[i] = known;
    int found = CHOICE_MANY;
    for (u32 k = 0; k < count; k++)
        if (all_convert(assumed, c[k].args, n)) {
            if (found >= 0)
                return CHOICE_MANY;
            found = (int)c[k].row;
        }
    return found;
}

int
bind_choose(Candidate *c, u32 count, const TypeId *in, u32 n)
{
    for (u32 k = 0; k < count; k++)
        if (same_types(in, c[k].args, n))
            return (int)c[k].row;
    u32 kept = 0;
    bool unknown = false;
    for (u32 k = 0; k < count; k++)
        if (all_convert(in, c[k].args, n))
            c[kept++] = c[k];
    for (u32 i = 0; i < n; i++)
        unknown |= in[i] == TYPE_UNKNOWN;
    if (kept == 0)
        return CHOICE_NONE;
    if (kept > 1)
        kept = keep_best(c, kept, in, n, false);
    if (kept > 1)
        kept = keep_best(c, kept, in, n, true);
    if (kept > 1 && unknown)
        kept = settle_unknowns(c, kept, in, n);
    if (kept == 1)
        return (int)c[0].row;
    return unknown ? assume_known_type(c, kept, in, n) : CHOICE_MANY;
}

static int
choose_func(const FuncDef *rows, u32 count, const TypeId *in, u32 n)
{
    Candidate c[BIND_MAX_CANDIDATES];
    u32 kept = 0;
    for (u32 i = 0; i < count && kept < BIND_MAX_CANDIDATES; i++)
        if (rows[i].arg_count == n)
            c[kept++] = (Candidate){i, rows[i].args};
    return bind_choose(c, kept, in, n);
}

BExpr *
bind_make_func(Binder *b, const FuncDef *f, BExpr **args, u32 n, u32 position)
{
    TypeId in[FUNC_MAX_ARGS] = {0}, to[FUNC_MAX_ARGS];
    for (u32 i = 0; i < n; i++)
        in[i] = args[i]->type;
    BExpr *e = bind_new(b, BX_FUNC, poly_resolve(in, f, to), position);
    e->func = f->id;
    e->arg_count = n;
    e->args = ARENA_ARRAY(b->arena, BExpr *, n);
    for (u32 i = 0; i < n; i++) {
        e->args[i] = coerce_type(b, args[i], to[i], CAST_IMPLICIT);
        if (args[i]->position && (!e->position || args[i]->position < e->position))
            e->position = args[i]->position;
    }
    return e;
}

/* ---- operators ---- */

static NORETURN void
operator_error(Binder *b, Str op, const BExpr *left, const BExpr *right, u32 at, bool many)
{
    const char *signature =
        left ? arena_printf(b->arena, "%s %.*s %s", bind_type_name(left->type), (int)op.len, op.ptr, bind_type_name(right->type))
             : arena_printf(b->arena, "%.*s %s", (int)op.len, op.ptr, bind_type_name(right->type));
    u32 position = bind_position(b, at);
    if (many)
        bind_fail_hint(position, ERR_AMBIGUOUS_FUNCTION,
                       "Could not choose a best candidate operator. You might need to add explicit type casts.",
                       "operator is not unique: %s", signature);
    bind_fail_hint(position, ERR_UNDEFINED_FUNCTION,
                   left ? "No operator matches the given name and argument types. You might need to add explicit type casts."
                        : "No operator matches the given name and argument type. You might need to add an explicit type cast.",
                   "operator does not exist: %s", signature);
}

static bool
is_string(const BExpr *e)
{
    return e->type == TYPE_UNKNOWN || type_category(e->type) == 'S';
}

/* text || anything: the other side becomes text, as written with a cast. */
static void
concat_anything(Binder *b, BExpr **left, BExpr **right)
{
    bool unknown = (*left)->type == TYPE_UNKNOWN || (*right)->type == TYPE_UNKNOWN;
    if (type_is_array((*left)->type) || type_is_array((*right)->type))
        return;
    if (unknown && ((*left)->type == TYPE_BYTEA || (*right)->type == TYPE_BYTEA || (*left)->type == TYPE_JSONB || (*right)->type == TYPE_JSONB)) /* have a || of their own */
        return;
    if (!is_string(*left) && is_string(*right))
        *left = coerce_type(b, *left, TYPE_TEXT, CAST_EXPLICIT);
    else if (is_string(*left) && !is_string(*right))
        *right = coerce_type(b, *right, TYPE_TEXT, CAST_EXPLICIT);
}

/* Operators of one operand that are functions by another name. */
static const FuncDef *
prefix_candidates(Str op, u32 *count)
{
    static const struct { const char *op, *function; } names[] = {{"@", "abs"}, {"|/", "sqrt"}, {"||/", "cbrt"}};
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if (str_eq(op, str_of(names[i].op)))
            return func_candidates(str_of(names[i].function), false, count);
    return func_candidates(op, true, count);
}

static const FuncDef *
find_operator(Binder *b, Str op, BExpr **left, BExpr **right, u32 at)
{
    if (*left && str_eq(op, STR_LIT("||")))
        concat_anything(b, left, right);
    u32 count, n = *left ? 2 : 1;
    const FuncDef *rows = *left ? func_candidates(op, true, &count) : prefix_candidates(op, &count);
    TypeId in[2] = {*left ? (*left)->type : (*right)->type, (*right)->type}, same[2];
    int row = CHOICE_NONE;
    if (n == 2 && in[0] != in[1] && (in[0] == TYPE_UNKNOWN || in[1] == TYPE_UNKNOWN)) {
        /* an unknown side is first taken for the type of the other one */
        same[0] = same[1] = in[0] == TYPE_UNKNOWN ? in[1] : in[0];
        for (u32 i = 0; i < count && row < 0; i++)
            if (rows[i].arg_count == 2 && same_types(same, rows[i].args, 2))
                row = (int)i;
    }
    if (row < 0)
        row = choose_func(rows, count, in, n);
    if (row < 0)
        operator_error(b, op, *left, *right, at, row == CHOICE_MANY);
    return &rows[row];
}

/* e with blanks up to n characters: constants at once. */
static BExpr *
pad_blanks(Binder *b, BExpr *e, i32 typmod)
{
    u32 chars = (u32)typmod - 4, count;
    BExpr *n = bind_new(b, BX_CONST, TYPE_INT4, e->position);
    n->value = (Value){.type = TYPE_INT4, .typmod = -1, .i32v = (i32)chars};
    if (e->kind == BX_CONST) {
        BExpr *c = bind_const_null(b, TYPE_BPCHAR, e->position);
        c->value = e->value;
        if (!e->value.is_null)
            c->value.str = bpchar_pad(b->arena, e->value.str, chars);
        return c;
    }
    BExpr *args[] = {e, n};
    return bind_make_func(b, func_candidates(STR_LIT("bpcharpad"), false, &count), args, 2, e->position);
}

/* Blanks at the end of a character value mean nothing. Values of n characters are equal when their bytes are: the other side gets as many. What has
 * no length, and what is ordered, is compared as text, which has no such blanks. */
static const FuncDef *
settle_blanks(Binder *b, const FuncDef *f, BExpr **left, BExpr **right)
{
    if (f->op < FOP_EQ || f->op > FOP_GE || f->args[0] != TYPE_BPCHAR)
        return f;
    *left = coerce_type(b, *left, TYPE_BPCHAR, CAST_IMPLICIT);
    *right = coerce_type(b, *right, TYPE_BPCHAR, CAST_IMPLICIT);
    i32 l = (*left)->typmod, r = (*right)->typmod;
    if ((f->op == FOP_EQ || f->op == FOP_NE) && (l >= 0 || r >= 0)) {
        if (l >= 0 && l != r)
            *right = pad_blanks(b, *right, l);
        else if (l < 0)
            *left = pad_blanks(b, *left, r);
        return f;
    }
    u32 count;
    const FuncDef *rows = func_candidates(str_of(f->name), true, &count);
    return &rows[choose_func(rows, count, (TypeId[]){TYPE_TEXT, TYPE_TEXT}, 2)];
}

BExpr *
bind_operator(Binder *b, Str op, BExpr *left, BExpr *right, u32 at)
{
    const FuncDef *f = find_operator(b, op, &left, &right, at);
    if (left)
        f = settle_blanks(b, f, &left, &right);
    BExpr *args[] = {left, right};
    return left ? bind_make_func(b, f, args, 2, bind_position(b, at)) : bind_make_func(b, f, args + 1, 1, bind_position(b, at));
}

FuncId
bind_equality(Binder *b, BExpr **left, BExpr **right, u32 at)
{
    const FuncDef *f = settle_blanks(b, find_operator(b, STR_LIT("="), left, right, at), left, right);
    TypeId in[2] = {(*left)->type, (*right)->type}, to[2];
    poly_resolve(in, f, to);
    *left = coerce_type(b, *left, to[0], CAST_IMPLICIT);
    *right = coerce_type(b, *right, to[1], CAST_IMPLICIT);
    return f->id;
}

/* ---- functions ---- */

static const char *
call_signature(Binder *b, const AName *name, BExpr **args, u32 n)
{
    const char *list = "";
    for (u32 i = 0; i < n; i++)
        list = arena_printf(b->arena, "%s%s%s", list, i ? ", " : "", bind_type_name(args[i]->type));
    const char *text = bind_name_text(b, name);
    return arena_printf(b->arena, "%s(%s)", text, list);
}

NORETURN void
bind_function_error(Binder *b, const AExpr *call, BExpr **args, u32 n, bool many)
{
    const char *signature = call_signature(b, call->name, args, n);
    u32 position = bind_position(b, call->at);
    if (many)
        bind_fail_hint(position, ERR_AMBIGUOUS_FUNCTION,
                       "Could not choose a best candidate function. You might need to add explicit type casts.",
                       "function %s is not unique", signature);
    bind_fail_hint(position, ERR_UNDEFINED_FUNCTION,
                   "No function matches the given name and argument types. You might need to add explicit type casts.",
                   "function %s does not exist", signature);
}

NORETURN void
bind_hypothetical_error(Binder *b, const AExpr *call, BExpr **args, u32 n, u32 direct)
{
    const char *hint = arena_printf(b->arena, "To use the hypothetical-set aggregate %s, the number of hypothetical direct arguments (here %u) must match the "
                                    "number of ordering columns (here %u).", bind_name_text(b, call->name), direct, n - direct);
    bind_fail_hint(bind_position(b, call->at), ERR_UNDEFINED_FUNCTION, hint, "function %s does not exist", call_signature(b, call->name, args, n));
}

/* Functions of PostgreSQL that people use and that come later. */
static void
refuse_later_function(Binder *b, const AExpr *call, Str name)
{
    static const char *const later[] = {
        "currval",
        "json_build_object",
        "jsonb_build_object",
        "last_value",
        "lastval",
        "nextval",
        "row_to_json",
        "setval",
        "to_json",
    };
    for (u32 i = 0; i < COUNT_OF(later); i++)
        if (str_eq(name, str_of(later[i])))
            bind_fail(b, call->at, ERR_FEATURE_NOT_SUPPORTED, "function %s() is not supported yet", later[i]);
}

static void
check_schema(Binder *b, const AExpr *call)
{
    const AName *n = call->name;
    if (n->count > 2)
        bind_fail(b, call->at, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: %s", bind_name_text(b, n));
    if (n->count == 2 && !str_eq(n->parts[0], STR_LIT("pg_catalog")) && !str_eq(n->parts[0], STR_LIT("public")))
        bind_fail(b, call->at, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)n->parts[0].len, n->parts[0].ptr);
}

const char *
bind_place_name(BindPlace place)
{
    static const char *const names[] = {
        [PLACE_WHERE] = "WHERE", [PLACE_ON] = "JOIN conditions", [PLACE_GROUP] = "GROUP BY", [PLACE_LIMIT] = "LIMIT",
        [PLACE_OFFSET] = "OFFSET", [PLACE_VALUES] = "VALUES", [PLACE_SET] = "UPDATE", [PLACE_FILTER] = "FILTER",
        [PLACE_RETURNING] = "RETURNING", [PLACE_DEFAULT] = "DEFAULT expressions", [PLACE_FUNCTION] = "functions in FROM", [PLACE_COPY_WHERE] = "COPY FROM WHERE conditions",
        [PLACE_EXECUTE] = "EXECUTE parameters", [PLACE_CHECK] = "check constraints", [PLACE_TRANSFORM] = "transform expressions",
    };
    return place < COUNT_OF(names) ? names[place] : NULL;
}

void
bind_refuse_argument_forms(Binder *b, const AExpr *call)
{
    const ACall *c = call->call;
    if (c->variadic || c->named_args)
        bind_unsupported(b, call->at, c->variadic ? "VARIADIC" : "a named argument");
}

/* Clauses that only aggregates have. */
static void
refuse_aggregate_clauses(Binder *b, const AExpr *call)
{
    const ACall *c = call->call;
    const char *text = bind_name_text(b, call->name);
    if (c->star)
        bind_fail(b, call->at, ERR_WRONG_OBJECT_TYPE, "%s(*) specified, but %s is not an aggregate function", text, text);
    if (c->within_group)
        bind_fail(b, call->at, ERR_WRONG_OBJECT_TYPE, "WITHIN GROUP specified, but %s is not an aggregate function", text);
    if (c->over)
        bind_fail(b, call->at, ERR_WRONG_OBJECT_TYPE, "OVER specified, but %s is not a window function nor an aggregate function", text);
    const char *what = c->distinct ? "DISTINCT" : c->order_by.count ? "ORDER BY" : c->filter ? "FILTER" : NULL;
    if (what)
        bind_fail(b, call->at, ERR_WRONG_OBJECT_TYPE, "%s specified, but %s is not an aggregate function", what, text);
}

/* f(x) where f names a type is a cast. NULL: it is none. */
static BExpr *
call_as_cast(Binder *b, const AExpr *call, Str name, BExpr **args, u32 n)
{
    if (n != 1)
        return NULL;
    for (int k = TYPE_INVALID + 1; k < TYPE_COUNT; k++)
        if (str_eq(name, str_of(type_internal_name((TypeId)k))) && coerce_allowed(args[0]->type, (TypeId)k, CAST_EXPLICIT)) {
            BExpr *e = coerce_type(b, args[0], (TypeId)k, CAST_EXPLICIT);
            if (e != args[0] && e->kind == BX_CAST)
                e->position = bind_position(b, call->at);
            return e;
        }
    return NULL;
}

/* concat() prints its arguments: character with its blanks, a boolean as t or f. */
BExpr *
bind_as_printed(Binder *b, BExpr *e)
{
    u32 count;
    if (e->type == TYPE_BPCHAR)
        return bind_make_func(b, func_candidates(STR_LIT("bpcharout"), false, &count), &e, 1, e->position);
    if (e->type != TYPE_BOOL)
        return coerce_type(b, e, TYPE_TEXT, CAST_EXPLICIT);
    BExpr *c = bind_new(b, BX_CASE, TYPE_TEXT, e->position), *not = bind_new(b, BX_NOT, TYPE_BOOL, e->position);
    not->arg_count = 1;
    not->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    not->args[0] = e;
    c->arg_count = 5;
    c->args = ARENA_ARRAY(b->arena, BExpr *, 5);
    c->args[0] = e;
    c->args[1] = bind_const_text(b, TYPE_TEXT, STR_LIT("t"), e->position);
    c->args[2] = not;
    c->args[3] = bind_const_text(b, TYPE_TEXT, STR_LIT("f"), e->position);
    c->args[4] = bind_const_null(b, TYPE_TEXT, e->position);
    return c;
}

/* concat and concat_ws take any number of arguments of any type. NULL: it is neither. */
static BExpr *
call_concat(Binder *b, const AExpr *call, const FuncDef *rows, u32 count, BExpr **args, u32 n)
{
    if (!count || (rows[0].op != FOP_CONCAT_ALL && rows[0].op != FOP_CONCAT_WS))
        return NULL;
    bool separator = rows[0].op == FOP_CONCAT_WS;
    if (n < 1 + (u32)separator)
        bind_function_error(b, call, args, n, false);
    for (u32 i = 0; i < n; i++)
        args[i] = bind_as_printed(b, args[i]);
    u32 position = bind_position(b, call->at);
    while (n > CONCAT_MAX_ARGS) {
        int row = choose_func(rows, count, (TypeId[]){TYPE_TEXT, TYPE_TEXT, TYPE_TEXT, TYPE_TEXT, TYPE_TEXT, TYPE_TEXT}, CONCAT_MAX_ARGS);
        args[0] = bind_make_func(b, &rows[row], args, CONCAT_MAX_ARGS, position);
        memmove(args + 1, args + CONCAT_MAX_ARGS, (n - CONCAT_MAX_ARGS) * sizeof *args);
        n -= CONCAT_MAX_ARGS - 1;
    }
    for (u32 i = 0; i < count; i++)
        if (rows[i].arg_count == n)
            return bind_make_func(b, &rows[i], args, n, position);
    bind_function_error(b, call, args, n, false);
}

/* quote_literal() and quote_nullable() take any type. */
static void
text_for_quote(Binder *b, const FuncDef *rows, u32 count, BExpr **args, u32 n)
{
    if (count && n == 1 && (rows[0].op == FOP_QUOTE_LITERAL || rows[0].op == FOP_QUOTE_NULLABLE))
        args[0] = coerce_type(b, args[0], TYPE_TEXT, CAST_EXPLICIT);
}

BExpr *
bind_call(Scope *s, const AExpr *call)
{
    Binder *b = s->b;
    bool rows_allowed = b->rows_allowed;
    b->rows_allowed = false;
    check_schema(b, call);
    Str name = call->name->parts[call->name->count - 1];
    u32 count, n = call->arg_count;
    const AggDef *aggs = agg_candidates(name, &count);
    if (count && (aggs->kind != AGG_HYPOTHETICAL || call->call->within_group || n))
        return bind_aggregate(s, call, name, aggs, count);
    if (bind_is_window_function(name))
        return bind_window_function(s, call, name);
    u32 within = call->call->within_group ? call->call->order_by.count : 0; /* looked for as arguments, too */
    if (n + within > BIND_MAX_ARGS)
        bind_fail(b, call->at, ERR_TOO_MANY_ARGUMENTS, "cannot pass more than %d arguments to a function", BIND_MAX_ARGS);
    BExpr *args[BIND_MAX_ARGS];
    for (u32 i = 0; i < n; i++)
        args[i] = bind_expr(s, call->args[i]);
    for (u32 i = 0; i < within; i++)
        args[n++] = bind_expr(s, LIST_AT(call->call->order_by, AOrder, i)->expr);
    bool to_table = str_eq(name, STR_LIT("string_to_table"));
    const FuncDef *rows = func_candidates(to_table ? STR_LIT("string_to_array") : name, false, &count);
    if (!count)
        refuse_later_function(b, call, name);
    if (call->call->named_args)
        n = bind_arguments_by_name(b, call, name, args);
    BExpr *e = bind_special_call(b, call, name, args, n);
    if (e) {
        refuse_aggregate_clauses(b, call);
        return e;
    }
    if (call->call->variadic)
        bind_refuse_argument_forms(b, call);
    e = call_concat(b, call, rows, count, args, n);
    if (e) {
        refuse_aggregate_clauses(b, call);
        return e;
    }
    text_for_quote(b, rows, count, args, n);
    TypeId in[BIND_MAX_ARGS];
    for (u32 i = 0; i < n; i++)
        in[i] = args[i]->type;
    int row = CHOICE_NONE;
    for (u32 i = 0; i < count && row < 0; i++)
        if (rows[i].arg_count == n && same_types(in, rows[i].args, n))
            row = (int)i;
    if (row < 0 && (e = call_as_cast(b, call, name, args, n)))
        return e;
    if (row < 0)
        row = choose_func(rows, count, in, n);
    if (row < 0)
        bind_function_error(b, call, args, n, row == CHOICE_MANY);
    refuse_aggregate_clauses(b, call);
    e = bind_make_func(b, &rows[row], args, n, bind_position(b, call->at));
    if (to_table) { /* the elements of what string_to_array() gives */
        rows = func_candidates(STR_LIT("unnest"), false, &count);
        e = bind_make_func(b, &rows[row = 0], &e, 1, e->position);
    }
    return func_gives_rows(&rows[row]) && !rows_allowed ? bind_target_rows(s, e, name, call->at) : e;
}
