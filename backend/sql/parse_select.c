/*
 * parse_select.c
 *    SELECT, VALUES, TABLE, set operations, and the clauses behind them.
 */
#include "backend/sql/parse.h"

#include "backend/throw.h"

enum { SET_UNION = 1, SET_INTERSECT = 2 };

static ASelect *read_set_operations(Parser *p, ASelect *left, int min);

bool
parse_starts_select(Parser *p, u32 ahead)
{
    return parse_is_ahead(p, ahead, KW_SELECT) || parse_is_ahead(p, ahead, KW_VALUES) || parse_is_ahead(p, ahead, KW_WITH) ||
           parse_is_ahead(p, ahead, KW_TABLE);
}

static ASelect *
new_select(Parser *p)
{
    ASelect *s = ARENA_NEW(p->arena, ASelect);
    s->at = parse_at(p);
    return s;
}

void
parse_order_by(Parser *p, PtrList *to)
{
    do {
        AOrder *o = ARENA_NEW(p->arena, AOrder);
        o->expr = parse_expr(p);
        if (parse_try(p, KW_USING)) {
            o->using_op = true;
            o->op_at = parse_at(p);
            if (parse_now(p)->kind != T_OP)
                parse_fail(p);
            o->op = parse_take(p).text;
        } else if (parse_try(p, KW_DESC)) {
            o->descending = true;
        } else {
            parse_try(p, KW_ASC);
        }
        if (parse_is(p, KW_NULLS) && (parse_is_ahead(p, 1, KW_FIRST) || parse_is_ahead(p, 1, KW_LAST))) {
            parse_take(p);
            o->nulls_given = true;
            o->nulls_first = parse_take(p).keyword == KW_FIRST;
        }
        ptrlist_add(p->arena, to, o);
    } while (parse_try_char(p, ','));
}

/* Can the current token name an output column without AS? */
static bool
is_bare_label(Parser *p)
{
    const Token *t = parse_now(p);
    return t->kind == T_IDENT || (t->kind == T_KEYWORD && keyword_bare_label(t->keyword));
}

void
parse_target_list(Parser *p, PtrList *to)
{
    do {
        ATarget *t = ARENA_NEW(p->arena, ATarget);
        t->at = parse_at(p);
        if (parse_try_op(p, "*")) {
            t->expr = parse_new(p, AX_COLUMN, t->at);
            t->expr->name = ARENA_NEW(p->arena, AName);
            t->expr->star = true;
        } else {
            t->expr = parse_expr(p);
            t->has_label = parse_try(p, KW_AS);
            if (t->has_label)
                t->label = parse_col_label(p);
            else if (is_bare_label(p)) {
                t->has_label = true;
                t->label = parse_take(p).text;
            }
        }
        ptrlist_add(p->arena, to, t);
    } while (parse_try_char(p, ','));
}

static void read_group_items(Parser *p, PtrList *to, bool only_exprs);

/* a, (a, b), (); of a list in parentheses each member groups. */
static void
read_group_expr(Parser *p, AGroup *g)
{
    const Token *next = parse_peek(p, 1);
    bool parens = parse_is_char(p, '(');
    if (parens && next->kind == T_CHAR && next->ch == ')') {
        parse_take(p);
        parse_take(p);
        return;
    }
    AExpr *e = parse_expr(p);
    bool list = parens && e->kind == AX_ROW;
    for (u32 i = 0; list && i < e->arg_count; i++)
        ptrlist_add(p->arena, &g->exprs, e->args[i]);
    if (!list)
        ptrlist_add(p->arena, &g->exprs, e);
}

static AGroup *
read_group_item(Parser *p, bool only_expr)
{
    AGroup *g = ARENA_NEW(p->arena, AGroup);
    const Token *next = parse_peek(p, 1);
    bool call = next->kind == T_CHAR && next->ch == '(';
    g->at = parse_at(p);
    if (!only_expr && parse_is(p, KW_GROUPING) && parse_is_ahead(p, 1, KW_SETS)) {
        g->kind = AG_SETS;
        parse_take(p);
    } else if (!only_expr && call && (parse_is(p, KW_CUBE) || parse_is(p, KW_ROLLUP))) {
        g->kind = parse_is(p, KW_CUBE) ? AG_CUBE : AG_ROLLUP;
    } else {
        if (only_expr && parse_is_char(p, '(') && next->kind == T_CHAR && next->ch == ')') {
            parse_take(p);
            parse_fail(p);
        }
        read_group_expr(p, g);
        return g;
    }
    parse_take(p);
    parse_expect_char(p, '(');
    read_group_items(p, &g->items, g->kind != AG_SETS);
    parse_expect_char(p, ')');
    return g;
}

static void
read_group_items(Parser *p, PtrList *to, bool only_exprs)
{
    parse_enter(p);
    do
        ptrlist_add(p->arena, to, read_group_item(p, only_exprs));
    while (parse_try_char(p, ','));
    parse_leave(p);
}

static void
read_group_by(Parser *p, ASelect *s)
{
    s->group_distinct = parse_try(p, KW_DISTINCT);
    if (!s->group_distinct)
        parse_try(p, KW_ALL);
    read_group_items(p, &s->group_by, false);
}

static void
read_windows(Parser *p, ASelect *s)
{
    do {
        u32 at = parse_at(p);
        Str name = parse_col_id(p);
        parse_expect(p, KW_AS);
        AWindow *w = parse_window(p);
        w->name = name;
        w->at = at;
        ptrlist_add(p->arena, &s->windows, w);
    } while (parse_try_char(p, ','));
}

static ASelect *
read_simple_select(Parser *p)
{
    ASelect *s = new_select(p);
    parse_expect(p, KW_SELECT);
    if (parse_try(p, KW_DISTINCT)) {
        s->distinct = true;
        if (parse_try(p, KW_ON)) {
            parse_expect_char(p, '(');
            parse_expr_list(p, &s->distinct_on);
            parse_expect_char(p, ')');
        }
    } else {
        parse_try(p, KW_ALL);
    }
    bool ends = parse_is(p, KW_FROM) || parse_is(p, KW_WHERE) || parse_is(p, KW_GROUP) || parse_is(p, KW_HAVING) ||
                parse_is(p, KW_WINDOW) || parse_is(p, KW_UNION) || parse_is(p, KW_INTERSECT) || parse_is(p, KW_EXCEPT) ||
                parse_is(p, KW_ORDER) || parse_is(p, KW_LIMIT) || parse_is(p, KW_OFFSET) || parse_is(p, KW_FETCH) ||
                parse_is(p, KW_FOR) || parse_is(p, KW_INTO) || parse_is(p, KW_ON) || parse_is(p, KW_RETURNING) ||
                parse_is_char(p, ')') || parse_is_char(p, ';') || parse_now(p)->kind == T_END;
    if (!ends)
        parse_target_list(p, &s->targets);
    else if (s->distinct)
        parse_fail(p);
    if (parse_is(p, KW_INTO)) {
        s->into = true;
        parse_take(p);
        s->into_temporary = parse_try(p, KW_TEMPORARY) || parse_try(p, KW_TEMP);
        if (!s->into_temporary)
            parse_try(p, KW_UNLOGGED);
        parse_try(p, KW_TABLE);
        s->into_name = parse_qualified_name(p);
        s->into_at = s->into_name.at;
    }
    if (parse_try(p, KW_FROM))
        parse_from_list(p, &s->from);
    if (parse_try(p, KW_WHERE))
        s->where = parse_expr(p);
    if (parse_try(p, KW_GROUP)) {
        parse_expect(p, KW_BY);
        read_group_by(p, s);
    }
    if (parse_try(p, KW_HAVING))
        s->having = parse_expr(p);
    if (parse_try(p, KW_WINDOW))
        read_windows(p, s);
    return s;
}

static ASelect *
read_values(Parser *p)
{
    ASelect *s = new_select(p);
    s->is_values = true;
    parse_expect(p, KW_VALUES);
    do {
        PtrList list = {0};
        AExpr *row = parse_new(p, AX_ROW, parse_at(p));
        parse_expect_char(p, '(');
        parse_expr_list(p, &list);
        parse_expect_char(p, ')');
        parse_set_args(p, row, &list);
        ptrlist_add(p->arena, &s->rows, row);
    } while (parse_try_char(p, ','));
    return s;
}

/* TABLE t is SELECT * FROM t. */
static ASelect *
read_table(Parser *p)
{
    ASelect *s = new_select(p);
    u32 at = NO_LOCATION;
    parse_expect(p, KW_TABLE);
    AFrom *f = ARENA_NEW(p->arena, AFrom);
    f->kind = AF_TABLE;
    parse_try(p, KW_ONLY);
    f->at = parse_at(p);
    f->name = parse_qualified_name(p);
    ptrlist_add(p->arena, &s->from, f);
    ATarget *t = ARENA_NEW(p->arena, ATarget);
    t->at = at;
    t->expr = parse_new(p, AX_COLUMN, at);
    t->expr->name = ARENA_NEW(p->arena, AName);
    t->expr->star = true;
    ptrlist_add(p->arena, &s->targets, t);
    return s;
}

static ASelect *
read_primary(Parser *p)
{
    if (parse_is(p, KW_SELECT))
        return read_simple_select(p);
    if (parse_is(p, KW_VALUES))
        return read_values(p);
    if (parse_is(p, KW_TABLE))
        return read_table(p);
    if (parse_is_char(p, '('))
        return parse_select_in_parens(p);
    parse_fail(p);
}

static int
set_level(Parser *p)
{
    if (parse_is(p, KW_INTERSECT))
        return SET_INTERSECT;
    return parse_is(p, KW_UNION) || parse_is(p, KW_EXCEPT) ? SET_UNION : 0;
}

static ASelect *
read_set_operations(Parser *p, ASelect *left, int min)
{
    parse_enter(p);
    if (!left)
        left = read_primary(p);
    for (int level; (level = set_level(p)) >= min && level;) {
        ASelect *s = new_select(p);
        Keyword k = parse_take(p).keyword;
        s->op = k == KW_UNION ? ASET_UNION : k == KW_INTERSECT ? ASET_INTERSECT : ASET_EXCEPT;
        s->all = parse_try(p, KW_ALL);
        if (!s->all)
            parse_try(p, KW_DISTINCT);
        s->left = left;
        s->right = read_set_operations(p, NULL, level + 1);
        left = s;
    }
    parse_leave(p);
    return left;
}

static void
only_once(Parser *p, bool given, const char *clause)
{
    if (given)
        parse_fail_at(p, parse_at(p), ERR_SYNTAX_ERROR, "multiple %s clauses not allowed", clause);
}

static void
read_limit(Parser *p, ASelect *s)
{
    u32 at = parse_take(p).at;
    only_once(p, s->limit_at, "LIMIT");
    s->limit_at = parse_at(p);
    if (!parse_try(p, KW_ALL))
        s->limit = parse_expr(p);
    if (parse_is_char(p, ',')) {
        Error e;
        error_set(&e, ERR_SYNTAX_ERROR, "LIMIT #,# syntax is not supported");
        error_hint(&e, "Use separate LIMIT and OFFSET clauses.");
        e.position = source_position(p->lexer.text, at);
        err_rethrow(&e);
    }
}

static bool
is_rows(Parser *p)
{
    return parse_is(p, KW_ROW) || parse_is(p, KW_ROWS);
}

/* FETCH FIRST|NEXT [n] ROW|ROWS ONLY|WITH TIES */
static void
read_fetch(Parser *p, ASelect *s)
{
    parse_take(p);
    if (!parse_try(p, KW_FIRST))
        parse_expect(p, KW_NEXT);
    only_once(p, s->limit_at, "LIMIT");
    s->limit_at = parse_at(p);
    if (is_rows(p)) {
        s->limit = parse_new(p, AX_INT, NO_LOCATION);
        s->limit->number = 1;
    } else if (parse_is_op(p, "+") || parse_is_op(p, "-")) {
        bool minus = parse_take(p).ch == '-';
        const Token *t = parse_now(p);
        if (t->kind != T_INT && t->kind != T_NUMBER)
            parse_fail(p);
        s->limit = parse_new(p, t->kind == T_INT ? AX_INT : AX_NUMBER, t->at);
        s->limit->number = minus ? -t->number : t->number;
        s->limit->text = minus && t->kind == T_NUMBER
                             ? str_of(arena_printf(p->arena, "-%.*s", (int)t->text.len, t->text.ptr)) : t->text;
        parse_take(p);
    } else {
        s->limit = parse_c_expr(p);
    }
    if (!is_rows(p))
        parse_fail(p);
    parse_take(p);
    if (parse_try(p, KW_WITH)) {
        parse_expect(p, KW_TIES);
        s->with_ties = true;
    } else {
        parse_expect(p, KW_ONLY);
    }
}

static void
read_offset(Parser *p, ASelect *s)
{
    parse_take(p);
    only_once(p, s->offset, "OFFSET");
    s->offset_at = parse_at(p);
    s->offset = parse_expr(p);
    if (is_rows(p))
        parse_take(p);
}

/* FOR UPDATE | NO KEY UPDATE | SHARE | KEY SHARE [OF t, …] [NOWAIT | SKIP LOCKED], or FOR READ ONLY. */
static void
read_locking(Parser *p, ASelect *s)
{
    ALocking *l = ARENA_NEW(p->arena, ALocking);
    l->at = parse_take(p).at;
    if (parse_try(p, KW_READ)) {
        parse_expect(p, KW_ONLY);
        return;
    }
    if (parse_try(p, KW_NO)) {
        parse_expect(p, KW_KEY);
        parse_expect(p, KW_UPDATE);
        l->mode = ROW_LOCK_NO_KEY_UPDATE;
    } else if (parse_try(p, KW_KEY)) {
        parse_expect(p, KW_SHARE);
        l->mode = ROW_LOCK_KEY_SHARE;
    } else if (parse_try(p, KW_SHARE)) {
        l->mode = ROW_LOCK_SHARE;
    } else {
        parse_expect(p, KW_UPDATE);
        l->mode = ROW_LOCK_UPDATE;
    }
    if (parse_try(p, KW_OF))
        do {
            AName *n = ARENA_NEW(p->arena, AName);
            *n = parse_qualified_name(p);
            ptrlist_add(p->arena, &l->names, n);
        } while (parse_try_char(p, ','));
    if (parse_try(p, KW_SKIP)) {
        parse_expect(p, KW_LOCKED);
        l->wait = LOCK_SKIP;
    } else if (parse_try(p, KW_NOWAIT)) {
        l->wait = LOCK_NOWAIT;
    }
    ptrlist_add(p->arena, &s->locking, l);
}

static void
check_ties(const ASelect *s)
{
    if (s->with_ties && !s->order_by.count)
        err_throw(ERR_SYNTAX_ERROR, "WITH TIES cannot be specified without ORDER BY clause");
    for (u32 i = 0; s->with_ties && i < s->locking.count; i++)
        if (LIST_AT(s->locking, ALocking, i)->wait == LOCK_SKIP)
            err_throw(ERR_SYNTAX_ERROR, "SKIP LOCKED and WITH TIES options cannot be used together");
}

/* ORDER BY, LIMIT, OFFSET, FETCH, FOR in the orders PostgreSQL allows. */
static ASelect *
read_tail(Parser *p, ASelect *s)
{
    if (parse_try(p, KW_ORDER)) {
        parse_expect(p, KW_BY);
        only_once(p, s->order_by.count, "ORDER BY");
        parse_order_by(p, &s->order_by);
    }
    bool limit = false, offset = false;
    while (parse_is(p, KW_FOR))
        read_locking(p, s);
    for (;;) {
        bool again = parse_is(p, KW_OFFSET) ? offset : limit;
        if (parse_is(p, KW_LIMIT) && !again)
            read_limit(p, s);
        else if (parse_is(p, KW_FETCH) && !again)
            read_fetch(p, s);
        else if (parse_is(p, KW_OFFSET) && !again)
            read_offset(p, s);
        else
            break;
        *(s->offset_at > s->limit_at ? &offset : &limit) = true;
    }
    while (parse_is(p, KW_FOR))
        read_locking(p, s);
    check_ties(s);
    return s;
}

ASelect *
parse_select_rest(Parser *p, ASelect *left)
{
    return read_tail(p, read_set_operations(p, left, SET_UNION));
}

static ACte *
read_cte(Parser *p)
{
    ACte *c = ARENA_NEW(p->arena, ACte);
    c->at = parse_at(p);
    c->name = parse_col_id(p);
    if (parse_is_char(p, '('))
        c->columns = parse_name_list(p, &c->column_count);
    parse_expect(p, KW_AS);
    if (parse_try(p, KW_NOT)) {
        parse_expect(p, KW_MATERIALIZED);
        c->materialized = -1;
    } else if (parse_try(p, KW_MATERIALIZED)) {
        c->materialized = 1;
    }
    if (parse_starts_select(p, 1)) {
        parse_expect_char(p, '(');
        c->select = parse_select(p);
        parse_expect_char(p, ')');
    } else {
        if (parse_is_char(p, '(') && !parse_is_ahead(p, 1, KW_INSERT) && !parse_is_ahead(p, 1, KW_UPDATE) && !parse_is_ahead(p, 1, KW_DELETE)) {
            parse_take(p);
            parse_fail(p);
        }
        c->unsupported = "a statement that writes in WITH";
        parse_skip_parens(p);
    }
    if (parse_is(p, KW_SEARCH) || parse_is(p, KW_CYCLE)) {
        c->unsupported = "SEARCH or CYCLE";
        while (!parse_is(p, KW_SELECT) && !parse_is_char(p, ',') && parse_now(p)->kind != T_END)
            parse_take(p);
    }
    return c;
}

AWith *
parse_with(Parser *p)
{
    AWith *w = ARENA_NEW(p->arena, AWith);
    parse_expect(p, KW_WITH);
    w->recursive = parse_try(p, KW_RECURSIVE);
    do
        ptrlist_add(p->arena, &w->ctes, read_cte(p));
    while (parse_try_char(p, ','));
    return w;
}

void
parse_set_with(Parser *p, ASelect *s, AWith *with)
{
    if (with && s->with)
        parse_fail_at(p, LIST_AT(with->ctes, ACte, 0)->at, ERR_SYNTAX_ERROR, "multiple WITH clauses not allowed");
    if (with)
        s->with = with;
}

ASelect *
parse_select(Parser *p)
{
    parse_enter(p);
    AWith *with = parse_is(p, KW_WITH) ? parse_with(p) : NULL;
    if (with && !parse_starts_select(p, 0) && !parse_is_char(p, '('))
        parse_fail(p);
    ASelect *s = parse_select_rest(p, NULL);
    parse_set_with(p, s, with);
    parse_leave(p);
    return s;
}

ASelect *
parse_select_in_parens(Parser *p)
{
    parse_enter(p);
    parse_expect_char(p, '(');
    ASelect *s;
    if (parse_is_char(p, '('))
        s = parse_select_rest(p, parse_select_in_parens(p));
    else
        s = parse_select(p);
    parse_expect_char(p, ')');
    parse_leave(p);
    return s;
}
