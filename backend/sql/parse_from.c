/*
 * parse_from.c
 *    FROM: tables, joins, derived tables, functions, and their aliases.
 *
 * A parenthesis opens a joined table or a query. As in expressions it is read as a table reference; when that is nothing but a query in
 * parentheses, set operations behind it carry the query on.
 */
#include "backend/sql/parse.h"

static AFrom *read_joins(Parser *p, AFrom *left);

static AFrom *
new_from(Parser *p, AFromKind kind)
{
    AFrom *f = ARENA_NEW(p->arena, AFrom);
    f->kind = kind;
    f->at = parse_at(p);
    return f;
}

AAlias *
parse_alias(Parser *p, bool columns)
{
    bool as = parse_try(p, KW_AS);
    if (!as && !parse_is_col_id(p, 0))
        return NULL;
    AAlias *a = ARENA_NEW(p->arena, AAlias);
    a->name = parse_col_id(p);
    if (columns && parse_is_char(p, '('))
        a->columns = parse_name_list(p, &a->column_count);
    return a;
}

/* (name type, …) */
static void
skip_definitions(Parser *p, AFrom *f)
{
    f->has_definitions = true;
    f->definitions_at = parse_peek(p, 1)->at;
    parse_skip_parens(p);
}

static void
read_function_alias(Parser *p, AFrom *f)
{
    if (parse_is(p, KW_WITH) && parse_is_ahead(p, 1, KW_ORDINALITY)) {
        parse_take(p);
        parse_take(p);
        f->ordinality = true;
    }
    if (parse_is(p, KW_AS) && parse_peek(p, 1)->kind == T_CHAR) {
        parse_take(p);
        skip_definitions(p, f);
        return;
    }
    f->alias = parse_alias(p, false);
    if (!f->alias || !parse_is_char(p, '('))
        return;
    const Token *behind = parse_peek(p, 2);
    if (behind->kind == T_CHAR && (behind->ch == ',' || behind->ch == ')'))
        f->alias->columns = parse_name_list(p, &f->alias->column_count);
    else
        skip_definitions(p, f);
}

/* A call, or a word that is one (CURRENT_DATE); no other expression. */
static AExpr *
read_call(Parser *p)
{
    static const Keyword others[] = {KW_NULL, KW_TRUE, KW_FALSE, KW_DEFAULT, KW_CASE, KW_ARRAY, KW_EXISTS, KW_ROW, KW_GROUPING};
    if (parse_now(p)->kind != T_IDENT && parse_now(p)->kind != T_KEYWORD)
        parse_fail(p);
    for (u32 i = 0; i < COUNT_OF(others); i++)
        if (parse_is(p, others[i]))
            parse_fail(p);
    AExpr *e = parse_c_expr(p);
    if (e->kind == AX_COLUMN || e->kind == AX_STRING)
        parse_fail(p);
    return e;
}

static AFrom *
read_function(Parser *p)
{
    AFrom *f = new_from(p, AF_FUNCTION);
    ptrlist_add(p->arena, &f->functions, read_call(p));
    read_function_alias(p, f);
    return f;
}

/* ROWS FROM (f(…) [AS (definitions)], …) */
static AFrom *
read_rows_from(Parser *p)
{
    AFrom *f = new_from(p, AF_FUNCTION);
    parse_take(p);
    parse_take(p);
    parse_expect_char(p, '(');
    do {
        ptrlist_add(p->arena, &f->functions, read_call(p));
        if (parse_try(p, KW_AS))
            skip_definitions(p, f);
    } while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
    read_function_alias(p, f);
    return f;
}

/* Is a function called here? name [. name …] ( */
static bool
is_function(Parser *p)
{
    const Token *t = parse_now(p), *next = parse_peek(p, 1);
    if (t->kind == T_KEYWORD && !parse_is_col_id(p, 0))
        return true; /* CURRENT_DATE and the like; other words fail there */
    if (next->kind == T_CHAR && next->ch == '.') {
        const Token *after = parse_peek(p, 3);
        return after->kind == T_CHAR && after->ch == '(';
    }
    return next->kind == T_CHAR && next->ch == '(';
}

static AFrom *
read_table(Parser *p)
{
    bool only = parse_try(p, KW_ONLY), parens = only && parse_try_char(p, '(');
    if (!only && is_function(p))
        return read_function(p);
    AFrom *f = new_from(p, AF_TABLE);
    f->name = parse_qualified_name(p);
    if (parens)
        parse_expect_char(p, ')');
    else if (!only)
        parse_try_op(p, "*");
    f->alias = parse_alias(p, true);
    if (parse_is(p, KW_TABLESAMPLE)) {
        parse_take(p);
        parse_qualified_name(p);
        parse_skip_parens(p);
        if (parse_try(p, KW_REPEATABLE))
            parse_skip_parens(p);
        f->unsupported = "TABLESAMPLE";
    }
    return f;
}

static bool
query_goes_on(Parser *p)
{
    return parse_is(p, KW_UNION) || parse_is(p, KW_INTERSECT) || parse_is(p, KW_EXCEPT) || parse_is(p, KW_ORDER) ||
           parse_is(p, KW_LIMIT) || parse_is(p, KW_OFFSET) || parse_is(p, KW_FETCH) || parse_is(p, KW_FOR);
}

/* At `(`: a query or a joined table, without the alias behind it. */
static AFrom *
read_parens(Parser *p)
{
    parse_enter(p);
    AFrom *f = new_from(p, AF_SUBQUERY), *inner = NULL;
    parse_expect_char(p, '(');
    if (parse_is_char(p, '('))
        inner = read_parens(p);
    if (parse_starts_select(p, 0) && !inner) {
        f->select = parse_select(p);
    } else if (inner && inner->kind == AF_SUBQUERY && (query_goes_on(p) || parse_is_char(p, ')'))) {
        f->select = parse_select_rest(p, inner->select);
    } else {
        if (inner)
            inner->alias = parse_alias(p, true);
        f = read_joins(p, inner);
        if (f->kind != AF_JOIN)
            parse_fail(p);
    }
    parse_expect_char(p, ')');
    parse_leave(p);
    return f;
}

static AFrom *
read_reference(Parser *p)
{
    parse_enter(p);
    AFrom *f;
    if (parse_is(p, KW_LATERAL)) {
        parse_take(p);
        if (parse_is_char(p, '('))
            f = read_parens(p);
        else if (parse_is(p, KW_ROWS) && parse_is_ahead(p, 1, KW_FROM))
            f = read_rows_from(p);
        else
            f = read_function(p);
        if (f->kind == AF_JOIN)
            parse_fail(p);
        if (f->kind != AF_FUNCTION)
            f->alias = parse_alias(p, true);
        f->lateral = true;
    } else if (parse_is(p, KW_ROWS) && parse_is_ahead(p, 1, KW_FROM)) {
        f = read_rows_from(p);
    } else if (parse_is_char(p, '(')) {
        f = read_parens(p);
        f->alias = parse_alias(p, true);
    } else {
        f = read_table(p);
    }
    parse_leave(p);
    return f;
}

/* NATURAL [INNER | LEFT …] JOIN, CROSS JOIN, …; false: no join at the current token. */
static bool
read_join_words(Parser *p, bool *natural, BJoinKind *kind)
{
    *natural = parse_try(p, KW_NATURAL);
    *kind = BJOIN_INNER;
    if (parse_try(p, KW_CROSS)) {
        *kind = BJOIN_CROSS;
    } else if (parse_is(p, KW_LEFT) || parse_is(p, KW_RIGHT) || parse_is(p, KW_FULL)) {
        Keyword k = parse_take(p).keyword;
        *kind = k == KW_LEFT ? BJOIN_LEFT : k == KW_RIGHT ? BJOIN_RIGHT : BJOIN_FULL;
        parse_try(p, KW_OUTER);
    } else if (!parse_try(p, KW_INNER) && !*natural && !parse_is(p, KW_JOIN)) {
        return false;
    }
    parse_expect(p, KW_JOIN);
    return true;
}

static void
read_join_condition(Parser *p, AFrom *f)
{
    if (parse_try(p, KW_USING)) {
        f->has_using = true;
        f->using_columns = parse_name_list(p, &f->using_count);
        if (parse_try(p, KW_AS)) {
            f->using_alias = ARENA_NEW(p->arena, AAlias);
            f->using_alias->name = parse_col_id(p);
        }
    } else {
        parse_expect(p, KW_ON);
        f->on = parse_expr(p);
    }
}

/* Joins associate to the left, but `a JOIN b JOIN c ON … ON …` nests to the right: the right side takes joins as long as conditions follow. */
static AFrom *
read_joins(Parser *p, AFrom *left)
{
    parse_enter(p);
    if (!left)
        left = read_reference(p);
    bool natural;
    BJoinKind kind;
    u32 at = parse_at(p);
    while (read_join_words(p, &natural, &kind)) {
        AFrom *f = ARENA_NEW(p->arena, AFrom);
        f->kind = AF_JOIN;
        f->at = at;
        f->join = kind;
        f->natural = natural;
        f->left = left;
        f->right = read_reference(p);
        if (kind != BJOIN_CROSS && !natural) {
            if (!parse_is(p, KW_ON) && !parse_is(p, KW_USING))
                f->right = read_joins(p, f->right);
            read_join_condition(p, f);
        }
        left = f;
        at = parse_at(p);
    }
    parse_leave(p);
    return left;
}

void
parse_from_list(Parser *p, PtrList *to)
{
    do
        ptrlist_add(p->arena, to, read_joins(p, NULL));
    while (parse_try_char(p, ','));
}
