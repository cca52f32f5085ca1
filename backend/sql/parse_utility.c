/*
 * parse_utility.c
 *    SET, SHOW, RESET, EXPLAIN, transactions, ALTER ROLE … PASSWORD, VACUUM, and the choice of statement.
 *
 * Statements that are not built yet are recognised by their first words, read to their end, and become ST_UNSUPPORTED, so that the statements
 * before them in the same text still run, as they would in PostgreSQL.
 */
#include "backend/sql/parse.h"

#include <stdio.h>

static void
add_setting(Parser *p, Stmt *s, Str name, Str value)
{
    ASetting *g = ARENA_NEW(p->arena, ASetting);
    *g = (ASetting){name, value};
    ptrlist_add(p->arena, &s->settings, g);
}

/* a or a.b */
static Str
read_var_name(Parser *p)
{
    Str name = parse_col_id(p);
    while (parse_try_char(p, '.')) {
        Str more = parse_col_id(p);
        name = str_of(arena_printf(p->arena, "%.*s.%.*s", (int)name.len, name.ptr, (int)more.len, more.ptr));
    }
    return name;
}

static bool
at_statement_end(Parser *p)
{
    return parse_now(p)->kind == T_END || parse_is_char(p, ';');
}

/* One value of SET: a string, a word, a number, TRUE, ON, … */
static Str
read_var_value(Parser *p)
{
    const Token *t = parse_now(p);
    if (t->kind == T_STRING || t->kind == T_IDENT)
        return parse_take(p).text;
    if (t->kind == T_KEYWORD) {
        bool word = keyword_class(t->keyword) != KWC_RESERVED || parse_is(p, KW_TRUE) || parse_is(p, KW_FALSE) || parse_is(p, KW_ON);
        if (!word)
            parse_fail(p);
        return parse_take(p).text;
    }
    bool minus = parse_try_op(p, "-");
    if (!minus)
        parse_try_op(p, "+");
    t = parse_now(p);
    if (t->kind != T_INT && t->kind != T_NUMBER)
        parse_fail(p);
    Token n = parse_take(p);
    return str_of(arena_printf(p->arena, "%s%.*s", minus ? "-" : "", (int)n.text.len, n.text.ptr));
}

/* search_path and its like take lists of names: each is quoted again where it must be. */
static bool
is_list_setting(Str name)
{
    static const char *const lists[] = {"search_path", "datestyle", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries"};
    for (u32 i = 0; i < COUNT_OF(lists); i++)
        if (str_eq(name, str_of(lists[i])))
            return true;
    return false;
}

static bool
needs_quotes(Str s)
{
    if (!s.len)
        return true;
    for (u32 i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool fine = (c >= 'a' && c <= 'z') || c == '_' || (i && ((c >= '0' && c <= '9') || c == '$'));
        if (!fine)
            return true;
    }
    Keyword k = keyword_find(s);
    return k != NO_KEYWORD && keyword_class(k) != KWC_UNRESERVED;
}

static Str
read_var_list(Parser *p, Str name)
{
    Str all = {0};
    bool list = is_list_setting(name) && !str_eq(name, STR_LIT("datestyle"));
    do {
        Str v = read_var_value(p);
        if (list && needs_quotes(v))
            v = str_of(arena_printf(p->arena, "\"%.*s\"", (int)v.len, v.ptr));
        all = all.ptr ? str_of(arena_printf(p->arena, "%.*s, %.*s", (int)all.len, all.ptr, (int)v.len, v.ptr)) : v;
    } while (parse_try_char(p, ','));
    return all;
}

/* ISOLATION LEVEL …, READ ONLY | WRITE, [NOT] DEFERRABLE; names get the prefix ("transaction_" or "default_transaction_"). */
static void
read_transaction_modes(Parser *p, Stmt *s, const char *prefix, bool required)
{
    bool any = false;
    for (;;) {
        const char *name = "isolation";
        Str value;
        if (parse_try(p, KW_ISOLATION)) {
            parse_expect(p, KW_LEVEL);
            if (parse_try(p, KW_SERIALIZABLE)) {
                value = STR_LIT("serializable");
            } else if (parse_try(p, KW_REPEATABLE)) {
                parse_expect(p, KW_READ);
                value = STR_LIT("repeatable read");
            } else {
                parse_expect(p, KW_READ);
                bool committed = parse_try(p, KW_COMMITTED);
                if (!committed)
                    parse_expect(p, KW_UNCOMMITTED);
                value = committed ? STR_LIT("read committed") : STR_LIT("read uncommitted");
            }
        } else if (parse_is(p, KW_READ)) {
            parse_take(p);
            name = "read_only";
            bool only = parse_try(p, KW_ONLY);
            if (!only)
                parse_expect(p, KW_WRITE);
            value = only ? STR_LIT("on") : STR_LIT("off");
        } else if (parse_is(p, KW_NOT) || parse_is(p, KW_DEFERRABLE)) {
            name = "deferrable";
            value = parse_try(p, KW_NOT) ? STR_LIT("off") : STR_LIT("on");
            parse_expect(p, KW_DEFERRABLE);
        } else {
            break;
        }
        any = true;
        add_setting(p, s, str_of(arena_printf(p->arena, "%s%s", prefix, name)), value);
        if (parse_try_char(p, ','))
            any = false;
    }
    if ((required || s->settings.count) && !any)
        parse_fail(p);
}

/* SET TIME ZONE value */
static Str
read_zone(Parser *p)
{
    if (parse_try(p, KW_LOCAL) || parse_try(p, KW_DEFAULT))
        return (Str){0};
    if (parse_try(p, KW_INTERVAL)) { /* INTERVAL '+00:00' HOUR TO MINUTE */
        Str v = parse_string(p);
        if (parse_try(p, KW_HOUR) && parse_try(p, KW_TO))
            parse_expect(p, KW_MINUTE);
        char *text = arena_alloc(p->arena, v.len + sizeof "INTERVAL ''");
        return (Str){text, (u32)sprintf(text, "INTERVAL '%.*s'", (int)v.len, v.ptr)};
    }
    return read_var_value(p);
}

/* The forms with words of their own; false: an ordinary name = value. */
static bool
read_special_set(Parser *p, Stmt *s)
{
    if (parse_is(p, KW_TIME) && parse_is_ahead(p, 1, KW_ZONE)) {
        parse_take(p);
        parse_take(p);
        add_setting(p, s, STR_LIT("timezone"), read_zone(p));
    } else if (parse_is(p, KW_TRANSACTION)) {
        parse_take(p);
        if (parse_is(p, KW_SNAPSHOT)) {
            parse_unsupported(p, s, "SET TRANSACTION SNAPSHOT");
            return true;
        }
        s->local = s->set_transaction = true;
        read_transaction_modes(p, s, "transaction_", true);
    } else if (parse_is(p, KW_NAMES)) {
        parse_take(p);
        Str v = {0};
        if (parse_now(p)->kind == T_STRING)
            v = parse_take(p).text;
        else
            parse_try(p, KW_DEFAULT);
        add_setting(p, s, STR_LIT("client_encoding"), v);
    } else if (parse_is(p, KW_ROLE) && !parse_is_ahead(p, 1, KW_TO) && !(parse_peek(p, 1)->kind == T_OP)) {
        parse_take(p);
        add_setting(p, s, STR_LIT("role"), read_var_value(p));
    } else if (parse_is(p, KW_CONSTRAINTS)) {
        parse_unsupported(p, s, "SET CONSTRAINTS");
    } else if (parse_is(p, KW_SCHEMA) && parse_peek(p, 1)->kind == T_STRING) {
        parse_take(p);
        add_setting(p, s, STR_LIT("search_path"), parse_take(p).text);
    } else {
        return false;
    }
    return true;
}

void
parse_set(Parser *p, Stmt *s)
{
    s->kind = ST_SET;
    parse_expect(p, KW_SET);
    if (parse_is(p, KW_SESSION) && !parse_is_ahead(p, 1, KW_TO) && parse_peek(p, 1)->kind != T_OP) {
        parse_take(p);
        if (parse_is(p, KW_CHARACTERISTICS)) {
            parse_take(p);
            parse_expect(p, KW_AS);
            parse_expect(p, KW_TRANSACTION);
            read_transaction_modes(p, s, "default_transaction_", true);
            return;
        }
        if (parse_is(p, KW_AUTHORIZATION)) {
            parse_take(p);
            add_setting(p, s, STR_LIT("session_authorization"), parse_try(p, KW_DEFAULT) ? (Str){0} : read_var_value(p));
            return;
        }
    } else if (parse_is(p, KW_LOCAL) && !parse_is_ahead(p, 1, KW_TO) && parse_peek(p, 1)->kind != T_OP) {
        parse_take(p);
        s->local = true;
    }
    if (read_special_set(p, s))
        return;
    Str name = read_var_name(p);
    if (parse_try(p, KW_FROM)) {
        parse_expect(p, KW_CURRENT);
        add_setting(p, s, name, (Str){0});
        return;
    }
    if (!parse_try_op(p, "="))
        parse_expect(p, KW_TO);
    add_setting(p, s, name, parse_try(p, KW_DEFAULT) ? (Str){0} : read_var_list(p, name));
}

void
parse_setting(Parser *p, Str *ret_name, Str *ret_value)
{
    Stmt one = {0};
    if (ret_value && read_special_set(p, &one)) {
        *ret_name = LIST_AT(one.settings, ASetting, 0)->name;
        *ret_value = LIST_AT(one.settings, ASetting, 0)->value;
        return;
    }
    *ret_name = read_var_name(p);
    if (!ret_value)
        return;
    if (!parse_try_op(p, "="))
        parse_expect(p, KW_TO);
    *ret_value = parse_try(p, KW_DEFAULT) ? (Str){0} : read_var_list(p, *ret_name);
}

/* The name in SHOW and RESET. */
static void
read_shown(Parser *p, Stmt *s)
{
    Str name;
    if (parse_try(p, KW_ALL)) {
        name = STR_LIT("all");
    } else if (parse_is(p, KW_TIME) && parse_is_ahead(p, 1, KW_ZONE)) {
        parse_take(p);
        parse_take(p);
        name = STR_LIT("timezone");
    } else if (parse_is(p, KW_TRANSACTION) && parse_is_ahead(p, 1, KW_ISOLATION)) {
        parse_take(p);
        parse_take(p);
        parse_expect(p, KW_LEVEL);
        name = STR_LIT("transaction_isolation");
    } else if (parse_is(p, KW_SESSION) && parse_is_ahead(p, 1, KW_AUTHORIZATION)) {
        parse_take(p);
        parse_take(p);
        name = STR_LIT("session_authorization");
    } else {
        name = read_var_name(p);
    }
    add_setting(p, s, name, (Str){0});
}

void
parse_reset(Parser *p, Stmt *s)
{
    s->kind = ST_RESET;
    parse_expect(p, KW_RESET);
    read_shown(p, s);
}

void
parse_show(Parser *p, Stmt *s)
{
    s->kind = ST_SHOW;
    parse_expect(p, KW_SHOW);
    read_shown(p, s);
}

static void
add_option(Parser *p, Stmt *s, Str name, u32 at)
{
    AOption *o = ARENA_NEW(p->arena, AOption);
    o->name = name;
    o->at = at;
    ptrlist_add(p->arena, &s->options, o);
    if (parse_is_char(p, ',') || parse_is_char(p, ')'))
        return;
    const Token *t = parse_now(p);
    bool number = t->kind == T_INT || t->kind == T_NUMBER;
    o->value = parse_new(p, number && t->kind == T_INT ? AX_INT : AX_STRING, t->at);
    o->value->number = t->number;
    o->value->text = number ? parse_take(p).text : read_var_value(p);
}

void
parse_explain(Parser *p, Stmt *s)
{
    s->kind = ST_EXPLAIN;
    parse_expect(p, KW_EXPLAIN);
    if (parse_is_char(p, '(') && !parse_starts_select(p, 1) && !(parse_peek(p, 1)->kind == T_CHAR)) {
        parse_take(p);
        do {
            u32 at = parse_at(p);
            bool word = parse_is(p, KW_ANALYZE) || parse_is(p, KW_ANALYSE) || parse_is_col_id(p, 0) || parse_is_type_func_name(p, 0);
            if (!word)
                parse_fail(p);
            Str name = parse_take(p).text;
            if (str_eq(name, STR_LIT("analyse")))
                name = STR_LIT("analyze");
            add_option(p, s, name, at);
        } while (parse_try_char(p, ','));
        parse_expect_char(p, ')');
    } else {
        static const Keyword words[] = {KW_ANALYZE, KW_ANALYSE, KW_VERBOSE};
        for (u32 i = 0; i < COUNT_OF(words); i++)
            if (parse_is(p, words[i])) {
                AOption *o = ARENA_NEW(p->arena, AOption);
                o->name = words[i] == KW_VERBOSE ? STR_LIT("verbose") : STR_LIT("analyze");
                o->at = parse_take(p).at;
                ptrlist_add(p->arena, &s->options, o);
            }
    }
    bool known = parse_starts_select(p, 0) || parse_is_char(p, '(') || parse_is(p, KW_INSERT) || parse_is(p, KW_UPDATE) ||
                 parse_is(p, KW_DELETE) || parse_is(p, KW_CREATE) || parse_is(p, KW_DECLARE) || parse_is(p, KW_EXECUTE) ||
                 parse_is(p, KW_MERGE) || parse_is(p, KW_REFRESH);
    if (!known)
        parse_fail(p);
    s->inner = parse_statement(p, &s->inner_tag, &s->inner_write);
}

static void
read_begin_end(Parser *p)
{
    if (!parse_try(p, KW_WORK))
        parse_try(p, KW_TRANSACTION);
}

static void
read_chain(Parser *p, Stmt *s)
{
    if (!parse_try(p, KW_AND))
        return;
    s->chain = !parse_try(p, KW_NO);
    parse_expect(p, KW_CHAIN);
}

/* SAVEPOINT name | name; a savepoint may be called savepoint. */
static void
read_savepoint(Parser *p, Stmt *s)
{
    if (parse_is(p, KW_SAVEPOINT) && parse_is_col_id(p, 1))
        parse_take(p);
    s->name.at = parse_at(p);
    s->name.count = 1;
    s->name.parts[0] = parse_col_id(p);
}

/* Behind COMMIT, END, ROLLBACK, ABORT. */
static void
read_transaction_end(Parser *p, Stmt *s, Keyword verb)
{
    if ((verb == KW_COMMIT || verb == KW_ROLLBACK) && parse_is(p, KW_PREPARED)) {
        parse_unsupported(p, s, verb == KW_COMMIT ? "COMMIT PREPARED" : "ROLLBACK PREPARED");
        return;
    }
    read_begin_end(p);
    if (verb == KW_ROLLBACK && parse_try(p, KW_TO)) {
        s->txn = BTXN_ROLLBACK_TO;
        read_savepoint(p, s);
        return;
    }
    s->txn = verb == KW_COMMIT || verb == KW_END ? BTXN_COMMIT : BTXN_ROLLBACK;
    read_chain(p, s);
}

bool
parse_transaction(Parser *p, Stmt *s)
{
    Keyword verb = parse_now(p)->keyword;
    s->kind = ST_TRANSACTION;
    if (verb == KW_BEGIN || verb == KW_START) {
        parse_take(p);
        if (verb == KW_START)
            parse_expect(p, KW_TRANSACTION);
        else
            read_begin_end(p);
        s->txn = BTXN_BEGIN;
        read_transaction_modes(p, s, "transaction_", false);
    } else if (verb == KW_COMMIT || verb == KW_END || verb == KW_ROLLBACK || verb == KW_ABORT) {
        parse_take(p);
        read_transaction_end(p, s, verb);
    } else if (verb == KW_SAVEPOINT) {
        parse_take(p);
        s->txn = BTXN_SAVEPOINT;
        s->name = (AName){.count = 1, .at = parse_at(p)};
        s->name.parts[0] = parse_col_id(p);
    } else if (verb == KW_RELEASE) {
        parse_take(p);
        s->txn = BTXN_RELEASE;
        read_savepoint(p, s);
    } else
        return false;
    return true;
}

/* ( name [value], … ) */
static void
read_vacuum_options(Parser *p, Stmt *s, bool vacuum)
{
    static const char *const known[] = {"verbose", "skip_locked", "analyze", "full", "freeze", "disable_page_skipping", "index_cleanup", "process_toast",
                                        "truncate", "parallel"};
    do {
        u32 at = parse_at(p), i = 0, count = vacuum ? COUNT_OF(known) : 2;
        bool analyze = parse_try(p, KW_ANALYZE) || parse_try(p, KW_ANALYSE);
        Str name = analyze ? STR_LIT("analyze") : parse_col_label(p);
        while (i < count && !str_eq(name, str_of(known[i])))
            i++;
        if (i == count)
            parse_fail_at(p, at, ERR_SYNTAX_ERROR, "unrecognized %s option \"%.*s\"", vacuum ? "VACUUM" : "ANALYZE", (int)name.len, name.ptr);
        add_option(p, s, name, at);
    } while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
}

/* VACUUM and ANALYZE: there is nothing to do, so only the names are looked up. */
void
parse_vacuum(Parser *p, Stmt *s)
{
    s->kind = ST_NOOP;
    bool vacuum = parse_take(p).keyword == KW_VACUUM;
    if (parse_try_char(p, '(')) {
        read_vacuum_options(p, s, vacuum);
    } else {
        static const Keyword words[] = {KW_FULL, KW_FREEZE, KW_VERBOSE, KW_ANALYZE, KW_ANALYSE};
        for (u32 i = vacuum ? 0 : 2; i < (vacuum ? COUNT_OF(words) : 3); i++)
            parse_try(p, words[i]);
    }
    if (at_statement_end(p))
        return;
    do {
        AVacuumed *v = ARENA_NEW(p->arena, AVacuumed);
        v->name = parse_qualified_name(p);
        if (parse_is_char(p, '('))
            v->columns = parse_name_list(p, &v->column_count);
        ptrlist_add(p->arena, &s->names, v);
    } while (parse_try_char(p, ','));
}

void
parse_unsupported(Parser *p, Stmt *s, const char *feature)
{
    s->kind = ST_UNSUPPORTED;
    s->unsupported = feature;
    s->unsupported_at = NO_LOCATION;
    u32 depth = 0;
    while (parse_now(p)->kind != T_END && (depth || !parse_is_char(p, ';'))) {
        Token t = parse_take(p);
        depth += t.kind == T_CHAR && t.ch == '(';
        depth -= t.kind == T_CHAR && t.ch == ')' && depth;
    }
}
