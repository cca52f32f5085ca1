/*
 * parse_dml.c
 *    INSERT, UPDATE, DELETE and COPY.
 */
#include "backend/sql/parse.h"

static void
read_returning(Parser *p, Stmt *s)
{
    if (parse_try(p, KW_RETURNING))
        parse_target_list(p, &s->returning);
}

/* A target column with the fields or subscripts that may follow it. */
static ASet *
read_target_column(Parser *p)
{
    ASet *c = ARENA_NEW(p->arena, ASet);
    c->at = parse_at(p);
    c->column = parse_col_id(p);
    while (parse_is_char(p, '.') || parse_is_char(p, '[')) {
        c->indirect = true;
        if (parse_try_char(p, '.')) {
            parse_col_label(p);
        } else {
            parse_take(p);
            if (!parse_is_char(p, ':'))
                parse_expr(p);
            if (parse_try_char(p, ':') && !parse_is_char(p, ']'))
                parse_expr(p);
            parse_expect_char(p, ']');
        }
    }
    return c;
}

/* ( a, b ) */
static void
read_target_columns(Parser *p, PtrList *to)
{
    parse_expect_char(p, '(');
    do
        ptrlist_add(p->arena, to, read_target_column(p));
    while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
}

static void
read_set_clauses(Parser *p, PtrList *to)
{
    do {
        ASetClause *c = ARENA_NEW(p->arena, ASetClause);
        c->row = parse_is_char(p, '(');
        if (c->row)
            read_target_columns(p, &c->columns);
        else
            ptrlist_add(p->arena, &c->columns, read_target_column(p));
        if (!parse_try_op(p, "="))
            parse_fail(p);
        c->expr = parse_expr(p);
        ptrlist_add(p->arena, to, c);
    } while (parse_try_char(p, ','));
}

/* (a, b): other than columns cannot be keys here. */
static void
read_conflict_columns(Parser *p, Stmt *s, AConflict *c)
{
    u32 open = parse_at(p);
    parse_expect_char(p, '(');
    do {
        u32 at = parse_at(p);
        bool expression = !parse_is_col_id(p, 0) || (parse_peek(p, 1)->kind == T_CHAR && parse_peek(p, 1)->ch == '(');
        if (expression) {
            parse_refuse_later(s, at, "an expression in ON CONFLICT");
            parse_expr(p);
        } else {
            ASet *column = ARENA_NEW(p->arena, ASet);
            *column = (ASet){.column = parse_col_id(p), .at = open};
            ptrlist_add(p->arena, &c->columns, column);
        }
        if (parse_try(p, KW_COLLATE) && !parse_known_collation(p))
            parse_refuse_later(s, at, "this collation");
        if (parse_is_col_id(p, 0)) { /* an operator class */
            parse_qualified_name(p);
            parse_refuse_later(s, at, "an operator class in ON CONFLICT");
        }
    } while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
}

static void
read_on_conflict(Parser *p, Stmt *s)
{
    u32 at = parse_at(p);
    if (!parse_try(p, KW_ON))
        return;
    parse_expect(p, KW_CONFLICT);
    AConflict *c = s->conflict = ARENA_NEW(p->arena, AConflict);
    c->at = at;
    if (parse_is_char(p, '(')) {
        read_conflict_columns(p, s, c);
        if (parse_try(p, KW_WHERE))
            c->predicate = parse_expr(p);
    } else if (parse_try(p, KW_ON)) {
        parse_expect(p, KW_CONSTRAINT);
        c->constraint = parse_col_id(p);
    }
    parse_expect(p, KW_DO);
    if (parse_try(p, KW_NOTHING))
        return;
    c->update = true;
    parse_expect(p, KW_UPDATE);
    parse_expect(p, KW_SET);
    read_set_clauses(p, &c->sets);
    if (parse_try(p, KW_WHERE))
        c->where = parse_expr(p);
}

void
parse_insert(Parser *p, Stmt *s)
{
    s->kind = ST_INSERT;
    parse_expect(p, KW_INSERT);
    parse_expect(p, KW_INTO);
    s->name = parse_qualified_name(p);
    if (parse_try(p, KW_AS)) {
        s->alias = ARENA_NEW(p->arena, AAlias);
        s->alias->name = parse_col_id(p);
    }
    if (parse_try(p, KW_DEFAULT)) {
        parse_expect(p, KW_VALUES);
    } else {
        /* ( opens a column list, or a query in parentheses */
        if (parse_is_char(p, '(') && !parse_starts_select(p, 1) && parse_is_col_id(p, 1)) {
            s->has_columns = true;
            read_target_columns(p, &s->columns);
        }
        u32 at = parse_at(p);
        if (parse_try(p, KW_OVERRIDING)) {
            if (!parse_try(p, KW_USER))
                parse_expect(p, KW_SYSTEM);
            parse_expect(p, KW_VALUE);
            parse_refuse_later(s, at, "OVERRIDING");
        }
        if (!parse_starts_select(p, 0) && !parse_is_char(p, '('))
            parse_fail(p);
        s->select = parse_select(p);
    }
    read_on_conflict(p, s);
    read_returning(p, s);
}

/* t [*] [[AS] alias], ONLY t */
static void
read_relation(Parser *p, Stmt *s, bool update)
{
    s->only = parse_try(p, KW_ONLY);
    bool parens = s->only && parse_try_char(p, '(');
    s->name = parse_qualified_name(p);
    if (parens)
        parse_expect_char(p, ')');
    else if (!s->only)
        parse_try_op(p, "*");
    /* SET is a name like any other, but begins the clause here */
    if (!(update && parse_is(p, KW_SET)))
        s->alias = parse_alias(p, false);
}

static void
read_where_or_cursor(Parser *p, Stmt *s)
{
    if (!parse_try(p, KW_WHERE))
        return;
    if (parse_is(p, KW_CURRENT) && parse_is_ahead(p, 1, KW_OF)) {
        parse_refuse_later(s, parse_at(p), "WHERE CURRENT OF");
        parse_take(p);
        parse_take(p);
        parse_col_id(p);
        return;
    }
    s->where = parse_expr(p);
}

void
parse_update(Parser *p, Stmt *s)
{
    s->kind = ST_UPDATE;
    parse_expect(p, KW_UPDATE);
    read_relation(p, s, true);
    parse_expect(p, KW_SET);
    read_set_clauses(p, &s->sets);
    if (parse_try(p, KW_FROM))
        parse_from_list(p, &s->from);
    read_where_or_cursor(p, s);
    read_returning(p, s);
}

void
parse_delete(Parser *p, Stmt *s)
{
    s->kind = ST_DELETE;
    parse_expect(p, KW_DELETE);
    parse_expect(p, KW_FROM);
    read_relation(p, s, false);
    if (parse_try(p, KW_USING))
        parse_from_list(p, &s->from);
    read_where_or_cursor(p, s);
    read_returning(p, s);
}

/* ---- COPY ---- */

static AOption *
new_option(Parser *p, Stmt *s, const char *name, u32 at)
{
    AOption *o = ARENA_NEW(p->arena, AOption);
    o->name = str_of(name);
    o->at = at;
    ptrlist_add(p->arena, &s->options, o);
    return o;
}

static AExpr *
string_value(Parser *p, Str text, u32 at)
{
    AExpr *e = parse_new(p, AX_STRING, at);
    e->text = text;
    return e;
}

static void
read_option_names(Parser *p, AOption *o)
{
    if (parse_try_op(p, "*")) {
        o->is_star = true;
        return;
    }
    o->is_list = true;
    do {
        Str *name = ARENA_NEW(p->arena, Str);
        *name = parse_col_id(p);
        ptrlist_add(p->arena, &o->names, name);
    } while (parse_try_char(p, ','));
}

/* One option of the old syntax (WITH NULL AS '' CSV HEADER …); false: none. */
static bool
read_old_option(Parser *p, Stmt *s)
{
    u32 at = parse_at(p);
    static const struct { Keyword k; const char *name; bool flag; } words[] = {
        {KW_BINARY, "format", true}, {KW_FREEZE, "freeze", true}, {KW_DELIMITER, "delimiter", false}, {KW_NULL, "null", false},
        {KW_CSV, "format", true}, {KW_HEADER, "header", true}, {KW_QUOTE, "quote", false}, {KW_ESCAPE, "escape", false},
        {KW_ENCODING, "encoding", false},
    };
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (parse_try(p, words[i].k)) {
            AOption *o = new_option(p, s, words[i].name, at);
            if (words[i].flag) {
                bool format = words[i].k == KW_BINARY || words[i].k == KW_CSV;
                o->value = string_value(p, words[i].k == KW_BINARY ? STR_LIT("binary") : format ? STR_LIT("csv") : STR_LIT("true"), at);
            } else {
                parse_try(p, KW_AS);
                u32 value_at = parse_at(p);
                o->value = string_value(p, parse_string(p), value_at);
            }
            return true;
        }
    if (!parse_try(p, KW_FORCE))
        return false;
    const char *name = "force_null";
    if (parse_try(p, KW_QUOTE)) {
        name = "force_quote";
    } else {
        if (parse_try(p, KW_NOT))
            name = "force_not_null";
        parse_expect(p, KW_NULL);
    }
    read_option_names(p, new_option(p, s, name, at));
    return true;
}

static void
read_generic_option(Parser *p, Stmt *s)
{
    u32 at = parse_at(p);
    AOption *o = new_option(p, s, "", at);
    o->name = parse_col_label(p);
    const Token *t = parse_now(p);
    if (t->kind == T_STRING || t->kind == T_IDENT || t->kind == T_KEYWORD) {
        o->value = string_value(p, t->text, t->at);
        parse_take(p);
    } else if (t->kind == T_INT || t->kind == T_NUMBER || parse_is_op(p, "-") || parse_is_op(p, "+")) {
        parse_try_op(p, "+");
        bool minus = parse_try_op(p, "-");
        Token n = parse_take(p);
        if (n.kind != T_INT && n.kind != T_NUMBER)
            parse_fail(p);
        o->value = parse_new(p, n.kind == T_INT ? AX_INT : AX_NUMBER, n.at);
        o->value->number = minus ? -n.number : n.number;
        o->value->text = n.text;
    } else if (parse_try_op(p, "*")) {
        o->is_star = true;
    } else if (parse_try_char(p, '(')) {
        read_option_names(p, o);
        parse_expect_char(p, ')');
    }
}

/* FROM | TO what; after a query only TO is possible */
static void
read_copy_direction(Parser *p, Stmt *s)
{
    s->copy_to = parse_try(p, KW_TO);
    if (!s->copy_to) {
        if (s->select || s->copied)
            parse_fail(p);
        parse_expect(p, KW_FROM);
    }
    if (parse_try(p, KW_PROGRAM)) {
        parse_string(p);
        s->copy_side = COPY_PROGRAM;
    } else if (parse_now(p)->kind == T_STRING) {
        parse_take(p);
        s->copy_side = COPY_FILE;
    } else if (!parse_try(p, KW_STDIN)) {
        parse_expect(p, KW_STDOUT);
    }
}

void
parse_copy(Parser *p, Stmt *s)
{
    s->kind = ST_COPY;
    parse_expect(p, KW_COPY);
    u32 at = parse_at(p);
    if (parse_try(p, KW_BINARY))
        new_option(p, s, "format", at)->value = string_value(p, STR_LIT("binary"), at);
    if (parse_is_char(p, '(')) {
        parse_take(p);
        if (parse_is(p, KW_INSERT) || parse_is(p, KW_UPDATE) || parse_is(p, KW_DELETE) || parse_is(p, KW_WITH)) {
            const char *tag;
            bool write;
            Stmt *inner = parse_statement(p, &tag, &write);
            s->select = inner->select;
            s->copied = inner->kind == ST_SELECT ? NULL : inner;
            if (inner->unsupported)
                parse_refuse_later(s, inner->unsupported_at, inner->unsupported);
        } else {
            s->select = parse_select(p);
        }
        parse_expect_char(p, ')');
    } else {
        s->name = parse_qualified_name(p);
        if (parse_is_char(p, '(')) {
            s->has_columns = true;
            read_target_columns(p, &s->columns);
        }
    }
    read_copy_direction(p, s);
    at = parse_at(p);
    if (parse_try(p, KW_USING)) {
        parse_expect(p, KW_DELIMITERS);
        u32 value_at = parse_at(p);
        new_option(p, s, "delimiter", at)->value = string_value(p, parse_string(p), value_at);
    }
    parse_try(p, KW_WITH);
    if (parse_try_char(p, '(')) {
        do
            read_generic_option(p, s);
        while (parse_try_char(p, ','));
        parse_expect_char(p, ')');
    } else {
        while (read_old_option(p, s)) { }
    }
    at = parse_at(p);
    if (parse_try(p, KW_WHERE)) {
        if (s->copy_to)
            parse_fail_at(p, at, ERR_SYNTAX_ERROR, "WHERE clause not allowed with COPY TO");
        s->where = parse_expr(p);
    }
}
