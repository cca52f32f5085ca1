/*
 * parse.c
 *    sql_parse: a text into statements; the token window and the small words of the grammar.
 *
 * The parser reads tokens when it needs them, so an error of the lexer shows only where PostgreSQL would show it. Every recursion passes
 * parse_enter, which refuses nesting beyond SQL_MAX_DEPTH with 54001: no text can exhaust the stack.
 */
#include "backend/sql/parse.h"

#include "backend/throw.h"

#include <stdarg.h>
#include <stdio.h>

void
ptrlist_add(Arena *a, PtrList *l, void *item)
{
    if (l->count == l->capacity) {
        u32 capacity = l->capacity ? l->capacity * 2 : 4;
        void **items = arena_array(a, capacity, sizeof *items);
        if (l->count)
            memcpy(items, l->items, l->count * sizeof *items);
        l->items = items;
        l->capacity = capacity;
    }
    l->items[l->count++] = item;
}

const Token *
parse_peek(Parser *p, u32 ahead)
{
    while (p->filled <= ahead) {
        p->window[(p->head + p->filled) % PARSE_WINDOW] = lex_next(&p->lexer);
        p->filled++;
    }
    return &p->window[(p->head + ahead) % PARSE_WINDOW];
}

Token
parse_take(Parser *p)
{
    Token t = *parse_peek(p, 0);
    if (t.kind != T_END) {
        p->head = (p->head + 1) % PARSE_WINDOW;
        p->filled--;
        p->last_end = t.end;
    }
    return t;
}

void
parse_fail(Parser *p)
{
    const Token *t = parse_now(p);
    lex_error_near(p->lexer.text, p->lexer.len, t->at, t->end, "syntax error");
}

void
parse_fail_at(Parser *p, u32 at, ErrCode code, const char *format, ...)
{
    char message[sizeof((Error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    err_throw_at(at == NO_LOCATION ? 0 : source_position(p->lexer.text, at), code, "%s", message);
}

void
parse_enter(Parser *p)
{
    if (++p->depth > SQL_MAX_DEPTH) {
        Error e;
        error_set(&e, ERR_STATEMENT_TOO_COMPLEX, "stack depth limit exceeded");
        error_hint(&e, "The statement is nested too deeply; at most %d levels are allowed.", SQL_MAX_DEPTH);
        err_rethrow(&e);
    }
}

void
parse_leave(Parser *p)
{
    p->depth--;
}

bool
parse_is_ahead(Parser *p, u32 ahead, Keyword k)
{
    const Token *t = parse_peek(p, ahead);
    return t->kind == T_KEYWORD && t->keyword == k;
}

bool
parse_is(Parser *p, Keyword k)
{
    return parse_is_ahead(p, 0, k);
}

bool
parse_is_char(Parser *p, char c)
{
    const Token *t = parse_now(p);
    return t->kind == T_CHAR && t->ch == c;
}

bool
parse_is_op(Parser *p, const char *op)
{
    const Token *t = parse_now(p);
    return t->kind == T_OP && str_eq(t->text, str_of(op));
}

bool
parse_try(Parser *p, Keyword k)
{
    if (!parse_is(p, k))
        return false;
    parse_take(p);
    return true;
}

bool
parse_try_char(Parser *p, char c)
{
    if (!parse_is_char(p, c))
        return false;
    parse_take(p);
    return true;
}

bool
parse_try_op(Parser *p, const char *op)
{
    if (!parse_is_op(p, op))
        return false;
    parse_take(p);
    return true;
}

void
parse_expect(Parser *p, Keyword k)
{
    if (!parse_try(p, k))
        parse_fail(p);
}

void
parse_expect_char(Parser *p, char c)
{
    if (!parse_try_char(p, c))
        parse_fail(p);
}

void
parse_skip_parens(Parser *p)
{
    u32 depth = 0;
    if (!parse_is_char(p, '('))
        parse_fail(p);
    do {
        Token t = parse_take(p);
        if (t.kind == T_END)
            parse_fail(p);
        depth += t.kind == T_CHAR && t.ch == '(';
        depth -= t.kind == T_CHAR && t.ch == ')';
    } while (depth);
}

void
parse_refuse_later(Stmt *s, u32 at, const char *feature)
{
    if (!s->unsupported) {
        s->unsupported = feature;
        s->unsupported_at = at;
    }
}

bool
parse_is_col_id(Parser *p, u32 ahead)
{
    const Token *t = parse_peek(p, ahead);
    if (t->kind != T_KEYWORD)
        return t->kind == T_IDENT;
    KeywordClass c = keyword_class(t->keyword);
    return c == KWC_UNRESERVED || c == KWC_COLUMN;
}

bool
parse_is_type_func_name(Parser *p, u32 ahead)
{
    const Token *t = parse_peek(p, ahead);
    if (t->kind != T_KEYWORD)
        return t->kind == T_IDENT;
    KeywordClass c = keyword_class(t->keyword);
    return c == KWC_UNRESERVED || c == KWC_TYPE_FUNC;
}

Str
parse_col_id(Parser *p)
{
    if (!parse_is_col_id(p, 0))
        parse_fail(p);
    return parse_take(p).text;
}

Str
parse_col_label(Parser *p)
{
    const Token *t = parse_now(p);
    if (t->kind != T_IDENT && t->kind != T_KEYWORD)
        parse_fail(p);
    return parse_take(p).text;
}

AName
parse_qualified_name(Parser *p)
{
    AName n = {.at = parse_at(p)};
    n.parts[n.count++] = parse_col_id(p);
    while (parse_try_char(p, '.')) {
        if (n.count == MAX_NAME_PARTS)
            parse_fail_at(p, n.at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names)");
        n.parts[n.count++] = parse_col_label(p);
    }
    return n;
}

Str *
parse_name_list(Parser *p, u32 *ret_count)
{
    PtrList list = {0};
    parse_expect_char(p, '(');
    do {
        Str *s = ARENA_NEW(p->arena, Str);
        *s = parse_col_id(p);
        ptrlist_add(p->arena, &list, s);
    } while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
    Str *names = ARENA_ARRAY(p->arena, Str, list.count);
    for (u32 i = 0; i < list.count; i++)
        names[i] = *LIST_AT(list, Str, i);
    *ret_count = list.count;
    return names;
}

Str
parse_string(Parser *p)
{
    if (parse_now(p)->kind != T_STRING)
        parse_fail(p);
    return parse_take(p).text;
}

i32
parse_signed_int(Parser *p)
{
    bool minus = parse_try_op(p, "-");
    if (!minus)
        parse_try_op(p, "+");
    if (parse_now(p)->kind != T_INT)
        parse_fail(p);
    i32 v = parse_take(p).number;
    return minus ? -v : v;
}

/* One statement, up to its semicolon. */
static void
read_statement(Parser *p, ParsedStmt *to)
{
    to->start = parse_at(p);
    to->tree = parse_statement(p, &to->tag, &to->is_write);
    to->tree->at = to->start;
    to->len = p->last_end - to->start;
    parse_classify(to);
    if (!parse_is_char(p, ';') && parse_now(p)->kind != T_END)
        parse_fail(p);
}

ParsedStmt *
sql_parse(Arena *a, const char *text, u32 len, u32 *ret_count)
{
    Error err;
    CHECKED(utf8_check((Str){text, len}, &err), &err);
    Parser p = {.arena = a, .lexer = {.arena = a, .text = text, .len = len}};
    PtrList list = {0};
    for (;;) {
        while (parse_try_char(&p, ';')) { }
        if (parse_now(&p)->kind == T_END)
            break;
        ParsedStmt *s = ARENA_NEW(a, ParsedStmt);
        read_statement(&p, s);
        ptrlist_add(a, &list, s);
    }
    ParsedStmt *all = ARENA_ARRAY(a, ParsedStmt, list.count);
    for (u32 i = 0; i < list.count; i++)
        all[i] = *LIST_AT(list, ParsedStmt, i);
    if (list.count)
        all->cut = p.lexer.cut;
    *ret_count = list.count;
    return all;
}

ParsedStmt *
sql_parse_again(Arena *a, const char *text, u32 len, u32 start)
{
    Parser p = {.arena = a, .lexer = {.arena = a, .text = text, .len = len, .at = start}};
    ParsedStmt *s = ARENA_NEW(a, ParsedStmt);
    read_statement(&p, s);
    return s;
}

ParsedStmt *
sql_inner(Arena *a, const ParsedStmt *outer)
{
    ParsedStmt *s = ARENA_NEW(a, ParsedStmt);
    *s = (ParsedStmt){.tree = outer->tree->inner, .start = outer->start, .len = outer->len, .tag = outer->tree->inner_tag, .is_write = outer->tree->inner_write};
    parse_classify(s);
    return s;
}

const AExpr *
parse_expression(Arena *a, Str text)
{
    Parser p = {.arena = a, .lexer = {.arena = a, .text = text.ptr, .len = text.len}};
    const AExpr *e = parse_expr(&p);
    if (parse_now(&p)->kind != T_END)
        parse_fail(&p);
    return e;
}
