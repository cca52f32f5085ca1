/*
 * parse_named.c
 *    Statements and cursors that the session knows by name: PREPARE, EXECUTE, DEALLOCATE; DECLARE, FETCH, MOVE, CLOSE; LISTEN, UNLISTEN, NOTIFY; DISCARD.
 */
#include "backend/sql/parse.h"

static bool
at_statement_end(Parser *p, u32 ahead)
{
    const Token *t = parse_peek(p, ahead);
    return t->kind == T_END || (t->kind == T_CHAR && t->ch == ';');
}

static void
read_name(Parser *p, Stmt *s)
{
    s->name = (AName){.count = 1, .at = parse_at(p)};
    s->name.parts[0] = parse_col_id(p);
}

/* ALL leaves the name empty. */
static void
read_name_or_all(Parser *p, Stmt *s)
{
    if (!parse_try(p, KW_ALL))
        read_name(p, s);
}

/* ---- prepared statements ---- */

void
parse_prepare(Parser *p, Stmt *s)
{
    s->kind = ST_PREPARE;
    parse_expect(p, KW_PREPARE);
    read_name(p, s);
    if (parse_try_char(p, '(')) {
        do
            ptrlist_add(p->arena, &s->types, parse_type(p));
        while (parse_try_char(p, ','));
        parse_expect_char(p, ')');
    }
    parse_expect(p, KW_AS);
    bool known = parse_starts_select(p, 0) || parse_is_char(p, '(') || parse_is(p, KW_INSERT) || parse_is(p, KW_UPDATE) || parse_is(p, KW_DELETE) ||
                 parse_is(p, KW_MERGE);
    if (!known)
        parse_fail(p);
    s->inner = parse_statement(p, &s->inner_tag, &s->inner_write);
}

void
parse_execute(Parser *p, Stmt *s)
{
    s->kind = ST_EXECUTE;
    parse_expect(p, KW_EXECUTE);
    read_name(p, s);
    if (parse_try_char(p, '(')) {
        parse_expr_list(p, &s->args);
        parse_expect_char(p, ')');
    }
}

void
parse_deallocate(Parser *p, Stmt *s)
{
    s->kind = ST_DEALLOCATE;
    parse_expect(p, KW_DEALLOCATE);
    if (parse_is(p, KW_PREPARE) && !at_statement_end(p, 1))
        parse_take(p);
    read_name_or_all(p, s);
}

/* ---- cursors ---- */

static u8
read_cursor_options(Parser *p)
{
    u8 options = 0;
    for (;;) {
        if (parse_try(p, KW_NO)) {
            parse_expect(p, KW_SCROLL);
            options |= CURSOR_NO_SCROLL;
        } else if (parse_try(p, KW_SCROLL))
            options |= CURSOR_SCROLL;
        else if (parse_try(p, KW_BINARY))
            options |= CURSOR_BINARY;
        else if (parse_try(p, KW_ASENSITIVE))
            options |= CURSOR_ASENSITIVE;
        else if (parse_try(p, KW_INSENSITIVE))
            options |= CURSOR_INSENSITIVE;
        else
            return options;
    }
}

void
parse_declare(Parser *p, Stmt *s)
{
    s->kind = ST_DECLARE;
    parse_expect(p, KW_DECLARE);
    read_name(p, s);
    s->cursor_options = read_cursor_options(p);
    parse_expect(p, KW_CURSOR);
    if (parse_try(p, KW_WITHOUT))
        parse_expect(p, KW_HOLD);
    else if (parse_try(p, KW_WITH)) {
        parse_expect(p, KW_HOLD);
        s->cursor_options |= CURSOR_HOLD;
    }
    parse_expect(p, KW_FOR);
    Stmt *query = s->inner = ARENA_NEW(p->arena, Stmt);
    query->kind = ST_SELECT;
    query->at = parse_at(p);
    s->inner_tag = "SELECT";
    AWith *with = parse_is(p, KW_WITH) ? parse_with(p) : NULL;
    if (!parse_starts_select(p, 0) && !parse_is_char(p, '('))
        parse_fail(p);
    query->select = parse_select(p);
    parse_set_with(p, query->select, with);
}

/* n or ALL behind FORWARD and BACKWARD; 1 when there is none. */
static i64
read_count(Parser *p)
{
    const Token *t = parse_now(p);
    if (parse_try(p, KW_ALL))
        return FETCH_ALL;
    bool number = t->kind == T_INT || parse_is_op(p, "-") || parse_is_op(p, "+");
    return number ? parse_signed_int(p) : 1;
}

/* The direction, if there is one: its words are also names of cursors. */
static void
read_direction(Parser *p, Stmt *s)
{
    static const struct { Keyword k; BFetchKind kind; i64 count; } WORDS[] = {
        {KW_NEXT, FETCH_FORWARD, 1}, {KW_PRIOR, FETCH_BACKWARD, 1}, {KW_FIRST, FETCH_ABSOLUTE, 1}, {KW_LAST, FETCH_ABSOLUTE, -1},
    };
    s->fetch = (BFetch){FETCH_FORWARD, 1};
    if (at_statement_end(p, 1) && parse_is_col_id(p, 0))
        return;
    for (u32 i = 0; i < COUNT_OF(WORDS); i++)
        if (parse_try(p, WORDS[i].k)) {
            s->fetch = (BFetch){WORDS[i].kind, WORDS[i].count};
            return;
        }
    if (parse_try(p, KW_ABSOLUTE))
        s->fetch = (BFetch){FETCH_ABSOLUTE, parse_signed_int(p)};
    else if (parse_try(p, KW_RELATIVE))
        s->fetch = (BFetch){FETCH_RELATIVE, parse_signed_int(p)};
    else if (parse_try(p, KW_BACKWARD))
        s->fetch = (BFetch){FETCH_BACKWARD, read_count(p)};
    else {
        parse_try(p, KW_FORWARD);
        s->fetch = (BFetch){FETCH_FORWARD, read_count(p)};
    }
}

void
parse_fetch(Parser *p, Stmt *s)
{
    s->kind = ST_FETCH;
    s->move = parse_take(p).keyword == KW_MOVE;
    read_direction(p, s);
    if (!parse_try(p, KW_FROM))
        parse_try(p, KW_IN);
    read_name(p, s);
}

void
parse_close(Parser *p, Stmt *s)
{
    s->kind = ST_CLOSE;
    parse_expect(p, KW_CLOSE);
    read_name_or_all(p, s);
}

/* ---- the rest of what a session keeps ---- */

void
parse_listen(Parser *p, Stmt *s)
{
    s->kind = ST_LISTEN;
    parse_expect(p, KW_LISTEN);
    read_name(p, s);
}

/* The payload stands where a parameter's value does. */
void
parse_notify(Parser *p, Stmt *s)
{
    s->kind = ST_NOTIFY;
    parse_expect(p, KW_NOTIFY);
    read_name(p, s);
    if (!parse_try_char(p, ','))
        return;
    ASetting *payload = ARENA_NEW(p->arena, ASetting);
    *payload = (ASetting){STR_LIT("payload"), parse_string(p)};
    ptrlist_add(p->arena, &s->settings, payload);
}

void
parse_unlisten(Parser *p, Stmt *s)
{
    s->kind = ST_UNLISTEN;
    parse_expect(p, KW_UNLISTEN);
    if (!parse_try_op(p, "*"))
        read_name(p, s);
}

void
parse_discard(Parser *p, Stmt *s)
{
    static const struct { Keyword k; BDiscard what; } WHAT[] = {
        {KW_ALL, DISCARD_ALL}, {KW_TEMP, DISCARD_TEMP}, {KW_TEMPORARY, DISCARD_TEMP}, {KW_PLANS, DISCARD_PLANS}, {KW_SEQUENCES, DISCARD_SEQUENCES},
    };
    s->kind = ST_DISCARD;
    parse_expect(p, KW_DISCARD);
    for (u32 i = 0; i < COUNT_OF(WHAT); i++)
        if (parse_try(p, WHAT[i].k)) {
            s->discard = WHAT[i].what;
            return;
        }
    parse_fail(p);
}
