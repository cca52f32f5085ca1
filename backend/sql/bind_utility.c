/*
 * bind_utility.c
 *    SET, SHOW, EXPLAIN, transactions, roles: mostly carrying words from the tree to the bound statement.
 */
#include "backend/sql/bind.h"

#include "common/store/system.h"

#include <strings.h>

static char *
text_copy(Binder *b, Str s)
{
    return s.ptr ? arena_strndup(b->arena, s.ptr, s.len) : NULL;
}

static void
take_settings(Binder *b, BStmt *to, const Stmt *s)
{
    to->setting_count = s->settings.count;
    to->settings = ARENA_ARRAY(b->arena, BSetting, s->settings.count);
    for (u32 i = 0; i < s->settings.count; i++) {
        const ASetting *g = LIST_AT(s->settings, ASetting, i);
        to->settings[i] = (BSetting){text_copy(b, g->name), text_copy(b, g->value)};
    }
    if (to->setting_count && s->kind != ST_TRANSACTION) {
        to->name = to->settings[0].name;
        to->text = to->settings[0].value;
    }
}

static bool
boolean_value(const AOption *o)
{
    if (!o->value)
        return true;
    Str s = o->value->text;
    static const struct { const char *word; bool value; } words[] = {
        {"true", true}, {"on", true}, {"1", true}, {"false", false}, {"off", false}, {"0", false}};
    for (u32 i = 0; i < COUNT_OF(words); i++)
        if (s.len == strlen(words[i].word) && strncasecmp(s.ptr, words[i].word, s.len) == 0)
            return words[i].value;
    err_throw(ERR_SYNTAX_ERROR, "%.*s requires a Boolean value", (int)o->name.len, o->name.ptr);
}

static void
explain_format(Binder *b, BStmt *to, const AOption *o)
{
    Str s = o->value ? o->value->text : (Str){0};
    if (!o->value)
        err_throw(ERR_SYNTAX_ERROR, "%.*s requires a parameter", (int)o->name.len, o->name.ptr);
    to->format_json = str_eq(s, STR_LIT("json"));
    if (to->format_json || str_eq(s, STR_LIT("text")))
        return;
    if (str_eq(s, STR_LIT("xml")) || str_eq(s, STR_LIT("yaml")))
        bind_unsupported(b, o->at, "this format of EXPLAIN");
    bind_fail(b, o->at, ERR_INVALID_PARAMETER_VALUE, "unrecognized value for EXPLAIN option \"format\": \"%.*s\"", (int)s.len, s.ptr);
}

void
bind_explain(Binder *b, BStmt *to, const Stmt *s)
{
    static const char *const known[] = {"verbose", "costs", "buffers", "settings", "generic_plan", "wal", "timing", "summary", "memory", "serialize"};
    to->kind = BST_EXPLAIN;
    for (u32 i = 0; i < s->options.count; i++) {
        const AOption *o = LIST_AT(s->options, AOption, i);
        if (str_eq(o->name, STR_LIT("analyze"))) {
            to->analyze = boolean_value(o);
        } else if (str_eq(o->name, STR_LIT("format"))) {
            explain_format(b, to, o);
        } else {
            u32 k = 0;
            while (k < COUNT_OF(known) && !str_eq(o->name, str_of(known[k])))
                k++;
            if (k == COUNT_OF(known))
                bind_fail(b, o->at, ERR_SYNTAX_ERROR, "unrecognized EXPLAIN option \"%.*s\"", (int)o->name.len, o->name.ptr);
            boolean_value(o);
        }
    }
    const Stmt *inner = s->inner;
    to->explained = ARENA_NEW(b->arena, BStmt);
    bind_statement(b, to->explained, inner);
    if (to->explained->kind == BST_DECLARE) /* its query */
        to->explained = to->explained->explained;
    bool rows = to->explained->kind == BST_SELECT || to->explained->kind == BST_INSERT || to->explained->kind == BST_UPDATE ||
                to->explained->kind == BST_DELETE || to->explained->kind == BST_EXECUTE;
    if (!rows)
        bind_unsupported(b, inner->at, arena_printf(b->arena, "EXPLAIN of %s", s->inner_tag));
}

/* The tables and columns of VACUUM and ANALYZE must be there; those of the system are taken on trust. */
static void
check_vacuumed(Binder *b, const AVacuumed *v)
{
    const AName *n = &v->name;
    Str name = n->parts[n->count - 1], schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("pg_catalog");
    if (n->count <= 3 && system_find_table(schema, name))
        return;
    const TableDef *t = bind_find_table(b, n);
    if (!t)
        err_throw(ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", bind_name_text(b, n));
    for (u32 i = 0; i < v->column_count; i++)
        if (bind_table_column(t, v->columns[i]) < 0)
            err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)v->columns[i].len, v->columns[i].ptr,
                      (int)name.len, name.ptr);
}

void
bind_utility(Binder *b, BStmt *to, const Stmt *s)
{
    static const struct { StmtKind from; BStmtKind to; } kinds[] = {
        {ST_SET, BST_SET}, {ST_SHOW, BST_SHOW}, {ST_RESET, BST_RESET}, {ST_CHECKPOINT, BST_CHECKPOINT}, {ST_CHECK, BST_CHECK}, {ST_NOOP, BST_NOOP},
        {ST_ACCESS, BST_ACCESS}, {ST_TRANSACTION, BST_TRANSACTION}, {ST_DEALLOCATE, BST_DEALLOCATE}, {ST_DISCARD, BST_DISCARD},
        {ST_UNLISTEN, BST_UNLISTEN}, {ST_PREPARE, BST_PREPARE}, {ST_EXECUTE, BST_EXECUTE}, {ST_FETCH, BST_FETCH}, {ST_CLOSE, BST_CLOSE},
        {ST_LISTEN, BST_LISTEN}, {ST_NOTIFY, BST_NOTIFY}};
    u32 k = 0;
    while (k < COUNT_OF(kinds) && kinds[k].from != s->kind)
        k++;
    ensure(k < COUNT_OF(kinds));
    to->kind = kinds[k].to;
    to->local = s->local;
    to->set_transaction = s->set_transaction;
    to->txn = s->txn;
    to->chain = s->chain;
    to->fetch = s->fetch;
    to->move = s->move;
    to->discard = s->discard;
    take_settings(b, to, s);
    for (u32 i = 0; s->kind == ST_NOOP && i < s->names.count; i++)
        check_vacuumed(b, LIST_AT(s->names, AVacuumed, i));
    to->access = s->access;
    if (s->name.count)
        to->name = text_copy(b, s->name.parts[0]);
}
