/*
 * parse_expr.c
 *    Expressions by precedence climbing, with PostgreSQL's levels and its rules for operators that do not associate.
 *
 * climb() reads an operand and then every operator of at least `min`. Levels follow gram.y from OR up to unary minus; casts, subscripts and
 * fields bind tighter and belong to the operand. An operator that does not associate fails only when another one of its level follows
 * directly behind its operand (a < b < c), not behind a closing word (a IS NULL IS NULL), as in the original grammar.
 *
 * A parenthesis may open an expression, a row, or a query: it is read as an expression, and when what came out is nothing but a query in
 * parentheses, set operations behind it carry that query on. So no unlimited look-ahead is needed.
 */
#include "backend/sql/parse.h"

enum Level {
    LV_ANY, LV_OR, LV_AND, LV_NOT, LV_IS, LV_COMPARE, LV_BETWEEN, LV_OPERATOR, LV_ADD, LV_MULTIPLY, LV_POWER, LV_AT, LV_COLLATE,
    LV_SIGN
};

static AExpr *climb(Parser *p, int min, bool b_only);

AExpr *
parse_new(Parser *p, AExprKind kind, u32 at)
{
    AExpr *e = ARENA_NEW(p->arena, AExpr);
    e->kind = kind;
    e->at = e->op_at = at;
    return e;
}

void
parse_set_args(Parser *p, AExpr *e, const PtrList *list)
{
    (void)p;
    e->args = (AExpr **)list->items;
    e->arg_count = list->count;
}

AExpr *
parse_with_args(Parser *p, AExprKind kind, u32 at, u32 count, AExpr **args)
{
    AExpr *e = parse_new(p, kind, at);
    e->args = ARENA_ARRAY(p->arena, AExpr *, count);
    memcpy(e->args, args, count * sizeof *args);
    e->arg_count = count;
    return e;
}

AExpr *
parse_op(Parser *p, Str op, u32 at, AExpr *left, AExpr *right)
{
    AExpr *args[] = {left, right};
    AExpr *e = left ? parse_with_args(p, AX_OP, at, 2, args) : parse_with_args(p, AX_OP, at, 1, args + 1);
    e->text = op;
    return e;
}

AExpr *
parse_cast(Parser *p, AExpr *arg, ATypeName *type, u32 at)
{
    AExpr *e = parse_with_args(p, AX_CAST, at, 1, &arg);
    e->type = type;
    return e;
}

AExpr *
parse_call_of(Parser *p, const char *function, u32 at, u32 count, AExpr **args)
{
    AExpr *e = parse_with_args(p, AX_FUNC, at, count, args);
    AName *name = ARENA_NEW(p->arena, AName);
    *name = (AName){.count = 2, .at = at, .parts = {STR_LIT("pg_catalog"), str_of(function)}};
    e->name = name;
    e->call = ARENA_NEW(p->arena, ACall);
    return e;
}

static AExpr *
unsupported(Parser *p, u32 at, const char *feature)
{
    AExpr *e = parse_new(p, AX_UNSUPPORTED, at);
    e->text = str_of(feature);
    return e;
}

/* An operator that is none of the grammar's own: Op of gram.y. */
static bool
is_generic_op(const Token *t)
{
    if (t->kind != T_OP || (t->ch && strchr("+-*/%^<>=", t->ch)))
        return false;
    return !str_eq(t->text, STR_LIT("<=")) && !str_eq(t->text, STR_LIT(">=")) && !str_eq(t->text, STR_LIT("<>"));
}

static int
operator_level(const Token *t)
{
    switch (t->ch) {
    case '+': case '-':
        return LV_ADD;
    case '*': case '/': case '%':
        return LV_MULTIPLY;
    case '^':
        return LV_POWER;
    case '<': case '>': case '=':
        return LV_COMPARE;
    default:
        return is_generic_op(t) ? LV_OPERATOR : LV_COMPARE;
    }
}

/* The level of the operator at the current token, LV_ANY for none. */
static int
infix_level(Parser *p, bool b_only)
{
    const Token *t = parse_now(p);
    if (t->kind == T_OP)
        return operator_level(t);
    if (t->kind != T_KEYWORD)
        return LV_ANY;
    if (t->keyword == KW_IS)
        return LV_IS;
    if (t->keyword == KW_OPERATOR)
        return LV_OPERATOR;
    if (b_only)
        return LV_ANY;
    switch ((int)t->keyword) {
    case KW_OR:
        return LV_OR;
    case KW_AND:
        return LV_AND;
    case KW_ISNULL: case KW_NOTNULL:
        return LV_IS;
    case KW_BETWEEN: case KW_IN: case KW_LIKE: case KW_ILIKE:
        return LV_BETWEEN;
    case KW_SIMILAR: /* without TO it belongs to SUBSTRING */
        return parse_is_ahead(p, 1, KW_TO) ? LV_BETWEEN : LV_ANY;
    case KW_NOT: {
        const Token *next = parse_peek(p, 1);
        bool joins = next->kind == T_KEYWORD && (next->keyword == KW_BETWEEN || next->keyword == KW_IN || next->keyword == KW_LIKE ||
                                                 next->keyword == KW_ILIKE || next->keyword == KW_SIMILAR);
        return joins ? LV_BETWEEN : LV_ANY;
    }
    case KW_AT:
        return LV_AT;
    case KW_COLLATE:
        return LV_COLLATE;
    case KW_OVERLAPS:
        return LV_OPERATOR;
    default:
        return LV_ANY;
    }
}

/* AND and OR gather all their operands in one node. */
static AExpr *
read_bool_chain(Parser *p, AExpr *left, AExprKind kind, Keyword k, int level)
{
    PtrList list = {0};
    u32 at = parse_at(p);
    ptrlist_add(p->arena, &list, left);
    while (parse_try(p, k))
        ptrlist_add(p->arena, &list, climb(p, level + 1, false));
    AExpr *e = parse_new(p, kind, at);
    parse_set_args(p, e, &list);
    return e;
}

static AExpr *
read_is(Parser *p, AExpr *left, bool b_only, bool *open)
{
    u32 at = parse_at(p);
    AExpr *e;
    if (parse_try(p, KW_ISNULL) || parse_is(p, KW_NOTNULL)) {
        e = parse_with_args(p, AX_IS_NULL, at, 1, &left);
        e->negated = parse_try(p, KW_NOTNULL);
        return e;
    }
    parse_expect(p, KW_IS);
    bool negated = parse_try(p, KW_NOT);
    if (parse_try(p, KW_DISTINCT)) {
        parse_expect(p, KW_FROM);
        AExpr *args[] = {left, climb(p, LV_IS + 1, b_only)};
        e = parse_with_args(p, AX_DISTINCT, at, 2, args);
        *open = true;
    } else if (parse_try(p, KW_DOCUMENT)) {
        e = unsupported(p, at, "IS DOCUMENT");
    } else if (b_only) {
        parse_fail(p);
    } else if (parse_try(p, KW_NULL)) {
        e = parse_with_args(p, AX_IS_NULL, at, 1, &left);
    } else if (parse_is(p, KW_TRUE) || parse_is(p, KW_FALSE) || parse_is(p, KW_UNKNOWN)) {
        e = parse_with_args(p, AX_IS_BOOL, at, 1, &left);
        Keyword k = parse_take(p).keyword;
        e->number = k == KW_TRUE ? 1 : k == KW_FALSE ? 0 : -1;
    } else {
        bool form = parse_is(p, KW_NFC) || parse_is(p, KW_NFD) || parse_is(p, KW_NFKC) || parse_is(p, KW_NFKD);
        AExpr *args[2] = {left, NULL};
        if (form) {
            args[1] = parse_new(p, AX_STRING, parse_at(p));
            args[1]->text = parse_take(p).text;
        }
        parse_expect(p, KW_NORMALIZED);
        e = parse_call_of(p, "is_normalized", at, form ? 2 : 1, args);
        return negated ? parse_with_args(p, AX_NOT, at, 1, &e) : e;
    }
    e->negated = negated;
    return e;
}

static AExpr *
read_in(Parser *p, AExpr *left, u32 at, bool negated)
{
    AExpr *e;
    PtrList list = {0};
    parse_expect_char(p, '(');
    ptrlist_add(p->arena, &list, left);
    if (parse_starts_select(p, 0)) {
        e = parse_with_args(p, AX_IN_QUERY, at, 1, &left);
        e->select = parse_select(p);
    } else {
        parse_expr_list(p, &list);
        AExpr *first = LIST_AT(list, AExpr, 1);
        if (list.count == 2 && first->kind == AX_SUBQUERY) {
            e = parse_with_args(p, AX_IN_QUERY, at, 1, &left);
            e->select = parse_select_rest(p, first->select);
        } else {
            e = parse_new(p, AX_IN, at);
            parse_set_args(p, e, &list);
        }
    }
    parse_expect_char(p, ')');
    e->negated = negated;
    return e;
}

/* x op ANY (…); the current token is ANY, SOME or ALL. */
static AExpr *
read_quantified(Parser *p, AExpr *left, Str op, u32 at)
{
    AExpr *e = parse_with_args(p, AX_QUANTIFIED, at, 1, &left);
    e->negated = parse_take(p).keyword == KW_ALL;
    e->text = op;
    parse_expect_char(p, '(');
    if (parse_starts_select(p, 0)) {
        e->select = parse_select(p);
    } else {
        AExpr *args[] = {left, parse_expr(p)};
        if (args[1]->kind == AX_SUBQUERY)
            e->select = parse_select_rest(p, args[1]->select);
        else
            parse_set_args(p, e, &(PtrList){.count = 2, .items = (void **)parse_with_args(p, AX_ROW, at, 2, args)->args});
    }
    parse_expect_char(p, ')');
    return e;
}

static bool
is_quantifier(Parser *p)
{
    const Token *next = parse_peek(p, 1);
    return (parse_is(p, KW_ANY) || parse_is(p, KW_SOME) || parse_is(p, KW_ALL)) && next->kind == T_CHAR && next->ch == '(';
}

/* [NOT] LIKE, ILIKE, SIMILAR TO, with ESCAPE. */
static AExpr *
read_like(Parser *p, AExpr *left, u32 at, bool negated, bool *open)
{
    Keyword k = parse_take(p).keyword;
    Str op = k == KW_ILIKE ? (negated ? STR_LIT("!~~*") : STR_LIT("~~*")) : (negated ? STR_LIT("!~~") : STR_LIT("~~"));
    if (k == KW_SIMILAR) {
        parse_expect(p, KW_TO);
        op = negated ? STR_LIT("!~") : STR_LIT("~");
    } else if (is_quantifier(p)) {
        return read_quantified(p, left, op, at);
    }
    AExpr *pattern[2] = {climb(p, LV_BETWEEN + 1, false), NULL};
    if (parse_try(p, KW_ESCAPE))
        pattern[1] = climb(p, LV_BETWEEN + 1, false);
    *open = true;
    if (k == KW_SIMILAR)
        pattern[0] = parse_call_of(p, "similar_to_escape", at, pattern[1] ? 2 : 1, pattern);
    else if (pattern[1])
        pattern[0] = parse_call_of(p, "like_escape", at, 2, pattern);
    return parse_op(p, op, at, left, pattern[0]);
}

static AExpr *
read_between(Parser *p, AExpr *left, bool *open)
{
    u32 at = parse_at(p);
    bool negated = parse_try(p, KW_NOT);
    if (parse_try(p, KW_IN))
        return read_in(p, left, at, negated);
    if (!parse_try(p, KW_BETWEEN))
        return read_like(p, left, at, negated, open);
    bool symmetric = parse_try(p, KW_SYMMETRIC);
    if (!symmetric)
        parse_try(p, KW_ASYMMETRIC);
    AExpr *args[3] = {left, climb(p, LV_IS, true), NULL};
    parse_expect(p, KW_AND);
    args[2] = climb(p, LV_BETWEEN + 1, false);
    AExpr *e = parse_with_args(p, AX_BETWEEN, at, 3, args);
    e->negated = negated;
    e->symmetric = symmetric;
    *open = true;
    return e;
}

/* OPERATOR(schema.+): takes it all and gives the operator; *schema stays NULL without one. */
static Str
read_qualified_op(Parser *p, AName **schema)
{
    *schema = NULL;
    parse_expect(p, KW_OPERATOR);
    parse_expect_char(p, '(');
    while (parse_is_col_id(p, 0)) {
        if (*schema)
            parse_fail(p);
        *schema = ARENA_NEW(p->arena, AName);
        (*schema)->at = parse_at(p);
        (*schema)->parts[(*schema)->count++] = parse_col_id(p);
        parse_expect_char(p, '.');
    }
    if (parse_now(p)->kind != T_OP)
        parse_fail(p);
    Str op = parse_take(p).text;
    parse_expect_char(p, ')');
    return op;
}

static AExpr *
read_operator(Parser *p, AExpr *left, int level, bool b_only)
{
    u32 at = parse_at(p);
    AName *schema = NULL;
    Str op;
    if (parse_is(p, KW_OVERLAPS) && left->kind != AX_ROW)
        parse_fail(p);
    if (parse_try(p, KW_OVERLAPS)) {
        if (!parse_is_char(p, '(') && !parse_is(p, KW_ROW))
            parse_fail(p);
        AExpr *right = climb(p, level + 1, b_only), *sides[] = {left, right};
        if (right->kind != AX_ROW)
            parse_fail(p);
        for (u32 k = 0; k < 2; k++)
            if (sides[k]->arg_count != 2)
                parse_fail_at(p, sides[k]->at, ERR_SYNTAX_ERROR, "wrong number of parameters on %s side of OVERLAPS expression", k ? "right" : "left");
        AExpr *ends[] = {left->args[0], left->args[1], right->args[0], right->args[1]};
        return parse_call_of(p, "overlaps", at, 4, ends);
    }
    if (parse_is(p, KW_OPERATOR))
        op = read_qualified_op(p, &schema);
    else
        op = parse_take(p).text;
    if (!b_only && is_quantifier(p))
        return read_quantified(p, left, op, at);
    AExpr *e = parse_op(p, op, at, left, climb(p, level + 1, b_only));
    e->name = schema;
    return e;
}

static AExpr *
read_infix(Parser *p, AExpr *left, int level, bool b_only, bool *open)
{
    u32 at = parse_at(p);
    switch (level) {
    case LV_OR:
        return read_bool_chain(p, left, AX_OR, KW_OR, LV_OR);
    case LV_AND:
        return read_bool_chain(p, left, AX_AND, KW_AND, LV_AND);
    case LV_IS:
        return read_is(p, left, b_only, open);
    case LV_BETWEEN:
        return read_between(p, left, open);
    case LV_AT: {
        parse_take(p);
        parse_expect(p, KW_TIME);
        parse_expect(p, KW_ZONE);
        AExpr *args[] = {climb(p, LV_AT + 1, false), left};
        return parse_call_of(p, "timezone", at, 2, args);
    }
    case LV_COLLATE: {
        parse_take(p);
        AExpr *e = parse_with_args(p, AX_COLLATE, at, 1, &left);
        AName *name = ARENA_NEW(p->arena, AName);
        *name = parse_qualified_name(p);
        e->name = name;
        return e;
    }
    default:
        *open = level == LV_COMPARE;
        return read_operator(p, left, level, b_only);
    }
}

static AExpr *
negate(Parser *p, AExpr *e, u32 at)
{
    if (e->kind == AX_INT) {
        e->number = -e->number;
        e->at = at;
        return e;
    }
    if (e->kind == AX_NUMBER) {
        bool minus = e->text.len && e->text.ptr[0] == '-';
        e->text = minus ? (Str){e->text.ptr + 1, e->text.len - 1}
                        : str_of(arena_printf(p->arena, "-%.*s", (int)e->text.len, e->text.ptr));
        e->at = at;
        return e;
    }
    return parse_op(p, STR_LIT("-"), at, NULL, e);
}

/* ---- operands ---- */

static AExpr *
read_parens(Parser *p)
{
    u32 at = parse_at(p);
    parse_expect_char(p, '(');
    AExpr *e;
    if (parse_starts_select(p, 0)) {
        e = parse_new(p, AX_SUBQUERY, at);
        e->select = parse_select(p);
    } else {
        e = parse_expr(p);
        if (e->kind == AX_SUBQUERY)
            e->select = parse_select_rest(p, e->select);
        if (parse_is_char(p, ',')) {
            PtrList list = {0};
            ptrlist_add(p->arena, &list, e);
            parse_take(p);
            parse_expr_list(p, &list);
            e = parse_new(p, AX_ROW, at);
            parse_set_args(p, e, &list);
        }
    }
    parse_expect_char(p, ')');
    return e;
}

static AExpr *
read_case(Parser *p)
{
    PtrList list = {0};
    AExpr *e = parse_new(p, AX_CASE, parse_take(p).at);
    u32 capacity = 0, n = 0;
    ptrlist_add(p->arena, &list, parse_is(p, KW_WHEN) ? NULL : parse_expr(p));
    do {
        if (n == capacity) {
            u32 *more = ARENA_ARRAY(p->arena, u32, capacity = MAX(4u, capacity * 2));
            if (n)
                memcpy(more, e->when_at, n * sizeof *more);
            e->when_at = more;
        }
        e->when_at[n++] = parse_at(p);
        parse_expect(p, KW_WHEN);
        ptrlist_add(p->arena, &list, parse_expr(p));
        parse_expect(p, KW_THEN);
        ptrlist_add(p->arena, &list, parse_expr(p));
    } while (parse_is(p, KW_WHEN));
    ptrlist_add(p->arena, &list, parse_try(p, KW_ELSE) ? parse_expr(p) : NULL);
    parse_expect(p, KW_END);
    parse_set_args(p, e, &list);
    return e;
}

/* Behind ARRAY: [ … ], nested. */
static AExpr *
read_array_elements(Parser *p, u32 at)
{
    PtrList list = {0};
    parse_enter(p);
    parse_expect_char(p, '[');
    bool nested = parse_is_char(p, '[');
    if (!parse_is_char(p, ']'))
        do
            ptrlist_add(p->arena, &list, nested ? read_array_elements(p, parse_at(p)) : parse_expr(p));
        while (parse_try_char(p, ','));
    parse_expect_char(p, ']');
    parse_leave(p);
    AExpr *e = parse_new(p, AX_ARRAY, at);
    parse_set_args(p, e, &list);
    return e;
}

/* EXISTS, ARRAY, ROW, GROUPING: each with its own parenthesis. */
static AExpr *
read_keyword_form(Parser *p, Keyword k)
{
    AExpr *e;
    PtrList list = {0};
    u32 at = parse_take(p).at;
    switch ((int)k) {
    case KW_EXISTS:
        e = parse_new(p, AX_EXISTS, at);
        e->select = parse_select_in_parens(p);
        return e;
    case KW_ARRAY:
        if (!parse_is_char(p, '('))
            return read_array_elements(p, at);
        e = parse_new(p, AX_ARRAY, at);
        e->select = parse_select_in_parens(p);
        return e;
    default:
        e = parse_new(p, k == KW_ROW ? AX_ROW : AX_GROUPING, at);
        parse_expect_char(p, '(');
        if (k != KW_ROW || !parse_is_char(p, ')'))
            parse_expr_list(p, &list);
        parse_expect_char(p, ')');
        parse_set_args(p, e, &list);
        return e;
    }
}

/* [ … ] behind an operand. */
static AExpr *
read_subscript(Parser *p, AExpr *left)
{
    u32 at = parse_take(p).at;
    AExpr *args[] = {left, parse_is_char(p, ':') ? NULL : parse_expr(p), NULL};
    bool slice = parse_try_char(p, ':');
    if (slice && !parse_is_char(p, ']'))
        args[2] = parse_expr(p);
    parse_expect_char(p, ']');
    AExpr *e = parse_with_args(p, AX_SUBSCRIPT, at, slice ? 3 : 2, args);
    e->star = slice;
    return e;
}

/* .name, .*, [ … ] behind parentheses and parameters. */
static AExpr *
read_indirection(Parser *p, AExpr *e)
{
    for (;;) {
        if (parse_is_char(p, '[')) {
            e = read_subscript(p, e);
        } else if (parse_is_char(p, '.')) {
            e = parse_with_args(p, AX_FIELD, e->at, 1, &e);
            parse_take(p);
            if (parse_try_op(p, "*"))
                e->star = true;
            else
                e->text = parse_col_label(p);
        } else {
            return e;
        }
    }
}

/* A name: column, function call, or `type 'literal'`. */
static AExpr *
read_name(Parser *p)
{
    AName name = {.at = parse_at(p)};
    bool column = parse_is_col_id(p, 0), function = parse_is_type_func_name(p, 0), star = false;
    u32 parts = 0;
    for (;;) {
        Str part = parts == 0 ? parse_take(p).text : parse_col_label(p);
        if (parts == MAX_NAME_PARTS)
            parse_fail_at(p, name.at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names)");
        name.parts[parts++] = part;
        if (!parse_is_char(p, '.'))
            break;
        if (!column && parts == 1)
            parse_fail(p);
        parse_take(p);
        if (parse_try_op(p, "*")) {
            star = true;
            break;
        }
    }
    name.count = parts;
    AName *kept = ARENA_NEW(p->arena, AName);
    *kept = name;
    if (!star && parse_is_char(p, '(') && (function || parts > 1))
        return parse_function(p, kept);
    if (!star && parse_now(p)->kind == T_STRING && (function || parts > 1)) {
        ATypeName *type = ARENA_NEW(p->arena, ATypeName);
        type->name = name;
        type->at = name.at;
        AExpr *literal = parse_new(p, AX_STRING, parse_at(p));
        literal->text = parse_take(p).text;
        return parse_cast(p, literal, type, name.at);
    }
    if (!column)
        parse_fail(p);
    AExpr *e = parse_new(p, AX_COLUMN, name.at);
    e->name = kept;
    e->star = star;
    while (!star && parse_is_char(p, '['))
        e = read_indirection(p, e);
    return e;
}

static AExpr *
read_typed_literal(Parser *p)
{
    u32 at = parse_at(p);
    bool interval = parse_is(p, KW_INTERVAL);
    ATypeName *type = parse_simple_type(p);
    AExpr *literal = parse_new(p, AX_STRING, parse_at(p));
    literal->text = parse_string(p);
    if (interval)
        parse_interval_fields(p, type);
    return parse_cast(p, literal, type, at);
}

/* At a keyword that names a type: does a literal of that type follow, or is it a column's name? */
static bool
is_type_not_name(Parser *p)
{
    const Token *next = parse_peek(p, 1);
    if (next->kind == T_CHAR)
        return next->ch == '(';
    return next->kind == T_STRING || parse_is_ahead(p, 1, KW_VARYING) || parse_is_ahead(p, 1, KW_PRECISION) ||
           parse_is_ahead(p, 1, KW_WITHOUT) || (parse_is_ahead(p, 1, KW_WITH) && parse_is_ahead(p, 2, KW_TIME)) ||
           (parse_is(p, KW_NATIONAL) && next->kind == T_KEYWORD);
}

static AExpr *
read_keyword(Parser *p, Keyword k)
{
    AExpr *e;
    switch ((int)k) {
    case KW_NULL:
        return parse_new(p, AX_NULL, parse_take(p).at);
    case KW_DEFAULT:
        return parse_new(p, AX_DEFAULT, parse_take(p).at);
    case KW_TRUE: case KW_FALSE:
        e = parse_new(p, AX_BOOL, parse_take(p).at);
        e->number = k == KW_TRUE;
        return e;
    case KW_CASE:
        return read_case(p);
    case KW_ARRAY:
        return read_keyword_form(p, k);
    case KW_EXISTS: case KW_ROW: case KW_GROUPING: {
        const Token *next = parse_peek(p, 1); /* without it a name */
        if (next->kind == T_CHAR && next->ch == '(')
            return read_keyword_form(p, k);
        break;
    }
    default:
        break;
    }
    if ((e = parse_special_function(p)))
        return e;
    if (parse_starts_type(p) && is_type_not_name(p))
        return read_typed_literal(p);
    if (parse_is_col_id(p, 0) || parse_is_type_func_name(p, 0))
        return read_name(p);
    parse_fail(p);
}

static AExpr *
read_operand(Parser *p)
{
    const Token *t = parse_now(p);
    AExpr *e;
    switch (t->kind) {
    case T_INT:
        e = parse_new(p, AX_INT, t->at);
        e->number = parse_take(p).number;
        return e;
    case T_NUMBER:
        e = parse_new(p, AX_NUMBER, t->at);
        e->text = parse_take(p).text;
        return e;
    case T_STRING:
        e = parse_new(p, AX_STRING, t->at);
        e->text = parse_take(p).text;
        return e;
    case T_BITS:
        return parse_new(p, AX_BITS, parse_take(p).at);
    case T_PARAM:
        e = parse_new(p, AX_PARAM, t->at);
        e->number = parse_take(p).number;
        return read_indirection(p, e);
    case T_IDENT:
        return read_name(p);
    case T_KEYWORD:
        return read_keyword(p, t->keyword);
    case T_CHAR:
        if (t->ch == '(')
            return read_indirection(p, read_parens(p));
        parse_fail(p);
    case T_END: case T_OP: case T_CAST: case T_DOT_DOT: case T_COLON_EQUALS: case T_EQUALS_GREATER:
    default:
        parse_fail(p);
    }
}

static AExpr *
read_prefix(Parser *p, bool b_only)
{
    const Token *t = parse_now(p);
    u32 at = t->at;
    if (t->kind == T_OP && (t->ch == '-' || t->ch == '+')) {
        bool minus = parse_take(p).ch == '-';
        AExpr *arg = climb(p, LV_SIGN, b_only);
        return minus ? negate(p, arg, at) : parse_op(p, STR_LIT("+"), at, NULL, arg);
    }
    if (is_generic_op(t)) {
        Str op = parse_take(p).text;
        return parse_op(p, op, at, NULL, climb(p, LV_OPERATOR + 1, b_only));
    }
    if (parse_is(p, KW_OPERATOR)) {
        AName *schema;
        Str op = read_qualified_op(p, &schema);
        AExpr *e = parse_op(p, op, at, NULL, climb(p, LV_OPERATOR + 1, b_only));
        e->name = schema;
        return e;
    }
    if (!b_only && parse_try(p, KW_NOT)) {
        AExpr *arg = climb(p, LV_NOT + 1, false);
        return parse_with_args(p, AX_NOT, at, 1, &arg);
    }
    AExpr *e = read_operand(p);
    while (parse_now(p)->kind == T_CAST) {
        at = parse_take(p).at;
        e = parse_cast(p, e, parse_type(p), at);
    }
    return e;
}

static AExpr *
climb(Parser *p, int min, bool b_only)
{
    parse_enter(p);
    AExpr *left = read_prefix(p, b_only);
    int closed_level = LV_ANY; /* of an operator that does not associate and ended in an operand */
    for (;;) {
        int level = infix_level(p, b_only);
        if (level == LV_ANY || level < min)
            break;
        if (level == closed_level)
            parse_fail(p);
        bool open = false;
        left = read_infix(p, left, level, b_only, &open);
        closed_level = open ? level : LV_ANY;
    }
    parse_leave(p);
    return left;
}

AExpr *
parse_expr(Parser *p)
{
    return climb(p, LV_ANY, false);
}

AExpr *
parse_c_expr(Parser *p)
{
    return read_operand(p);
}

AExpr *
parse_b_expr(Parser *p)
{
    return climb(p, LV_ANY, true);
}

void
parse_expr_list(Parser *p, PtrList *to)
{
    do
        ptrlist_add(p->arena, to, parse_expr(p));
    while (parse_try_char(p, ','));
}
