/*
 * parse_stmt.c
 *    Which statement is it? Tags, and the statements known only by name.
 */
#include "backend/sql/parse.h"

/* Statements that are refused, by their first word alone. */
static const struct { Keyword k; const char *tag; bool write; } REFUSED[] = {
    {KW_ALTER, "ALTER", true}, {KW_CALL, "CALL", true}, {KW_CLUSTER, "CLUSTER", true},
    {KW_COMMENT, "COMMENT", true}, {KW_DO, "DO", true},
    {KW_IMPORT, "IMPORT FOREIGN SCHEMA", true},
    {KW_LOAD, "LOAD", false}, {KW_MERGE, "MERGE", true},
    {KW_REFRESH, "REFRESH MATERIALIZED VIEW", true}, {KW_REINDEX, "REINDEX", true}, 
    {KW_SECURITY, "SECURITY LABEL", true},
};

/* What CREATE, ALTER and DROP may be followed by. */
static const struct { Keyword k; const char *name; } OBJECTS[] = {
    {KW_ACCESS, "ACCESS METHOD"}, {KW_AGGREGATE, "AGGREGATE"}, {KW_CAST, "CAST"}, {KW_COLLATION, "COLLATION"}, {KW_CONSTRAINT, "CONSTRAINT TRIGGER"},
    {KW_CONVERSION, "CONVERSION"}, {KW_DATABASE, "DATABASE"}, {KW_DEFAULT, "DEFAULT PRIVILEGES"}, {KW_DOMAIN, "DOMAIN"},
    {KW_EVENT, "EVENT TRIGGER"}, {KW_EXTENSION, "EXTENSION"}, {KW_FOREIGN, "FOREIGN TABLE"}, {KW_FUNCTION, "FUNCTION"}, {KW_GLOBAL, "TEMPORARY TABLE"},
    {KW_GROUP, "GROUP"}, {KW_INDEX, "INDEX"}, {KW_LANGUAGE, "LANGUAGE"}, {KW_LARGE, "LARGE OBJECT"}, {KW_LOCAL, "TEMPORARY TABLE"},
    {KW_MATERIALIZED, "MATERIALIZED VIEW"}, {KW_OPERATOR, "OPERATOR"}, {KW_OR, "OR REPLACE"}, {KW_OWNED, "OWNED"}, {KW_POLICY, "POLICY"},
    {KW_PROCEDURAL, "LANGUAGE"}, {KW_PROCEDURE, "PROCEDURE"}, {KW_PUBLICATION, "PUBLICATION"}, {KW_RECURSIVE, "VIEW"}, {KW_ROLE, "ROLE"},
    {KW_ROUTINE, "ROUTINE"}, {KW_RULE, "RULE"}, {KW_SCHEMA, "SCHEMA"}, {KW_SEQUENCE, "SEQUENCE"}, {KW_SERVER, "SERVER"},
    {KW_STATISTICS, "STATISTICS"}, {KW_SUBSCRIPTION, "SUBSCRIPTION"}, {KW_SYSTEM, "SYSTEM"}, {KW_TABLE, "TABLE"},
    {KW_TABLESPACE, "TABLESPACE"}, {KW_TEMP, "TEMPORARY TABLE"}, {KW_TEMPORARY, "TEMPORARY TABLE"}, {KW_TEXT, "TEXT SEARCH"},
    {KW_TRANSFORM, "TRANSFORM"}, {KW_TRIGGER, "TRIGGER"}, {KW_TRUSTED, "LANGUAGE"}, {KW_TYPE, "TYPE"}, {KW_UNIQUE, "INDEX"},
    {KW_UNLOGGED, "UNLOGGED TABLE"}, {KW_USER, "USER"}, {KW_VIEW, "VIEW"},
};

static const char *
object_name(Parser *p)
{
    for (u32 i = 0; i < COUNT_OF(OBJECTS); i++)
        if (parse_is(p, OBJECTS[i].k))
            return OBJECTS[i].name;
    parse_fail(p);
}

/* CREATE, ALTER, DROP. */
static void
read_definition(Parser *p, Stmt *s, const char **ret_tag)
{
    Token verb = parse_take(p);
    const char *words = verb.keyword == KW_CREATE ? "CREATE" : verb.keyword == KW_ALTER ? "ALTER" : "DROP";
    const char *object = object_name(p);
    bool role = (parse_is(p, KW_ROLE) || parse_is(p, KW_USER) || parse_is(p, KW_GROUP)) && !parse_is_ahead(p, 1, KW_MAPPING);
    if (verb.keyword == KW_CREATE && parse_is(p, KW_TABLE)) {
        parse_take(p);
        *ret_tag = "CREATE TABLE";
        if (parse_create_table(p, s))
            *ret_tag = "CREATE TABLE AS";
    } else if (verb.keyword == KW_DROP && parse_is(p, KW_TABLE)) {
        parse_take(p);
        *ret_tag = "DROP TABLE";
        parse_drop_table(p, s);
    } else if (verb.keyword == KW_ALTER && parse_is(p, KW_TABLE)) {
        parse_take(p);
        *ret_tag = "ALTER TABLE";
        parse_alter_table(p, s);
    } else if (role) {
        *ret_tag = verb.keyword == KW_CREATE ? "CREATE ROLE" : verb.keyword == KW_ALTER ? "ALTER ROLE" : "DROP ROLE";
        (verb.keyword == KW_CREATE ? parse_create_role : verb.keyword == KW_ALTER ? parse_alter_role : parse_drop_role)(p, s);
    } else if (verb.keyword == KW_DROP && parse_is(p, KW_OWNED)) {
        *ret_tag = "DROP OWNED";
        parse_drop_owned(p, s);
    } else if (verb.keyword == KW_ALTER && parse_is(p, KW_DEFAULT)) {
        *ret_tag = "ALTER DEFAULT PRIVILEGES";
        parse_default_rights(p, s);
    } else {
        *ret_tag = arena_printf(p->arena, "%s %s", words, object);
        parse_unsupported(p, s, *ret_tag);
    }
}

typedef void (*ReadStmt)(Parser *p, Stmt *s);
static const struct { Keyword k; const char *tag; bool write; ReadStmt read; } STATEMENTS[] = {
    {KW_INSERT, "INSERT", true, parse_insert},
    {KW_UPDATE, "UPDATE", true, parse_update},
    {KW_DELETE, "DELETE", true, parse_delete},
    {KW_COPY, "COPY", true, parse_copy},
    {KW_TRUNCATE, "TRUNCATE TABLE", true, parse_truncate},
    {KW_LOCK, "LOCK TABLE", false, parse_lock},
    {KW_GRANT, "GRANT", true, parse_grant},
    {KW_REVOKE, "REVOKE", true, parse_grant},
    {KW_REASSIGN, "REASSIGN OWNED", true, parse_reassign},
    {KW_SET, "SET", false, parse_set},
    {KW_RESET, "RESET", false, parse_reset},
    {KW_SHOW, "SHOW", false, parse_show},
    {KW_EXPLAIN, "EXPLAIN", false, parse_explain},
    {KW_PREPARE, "PREPARE", false, parse_prepare},
    {KW_EXECUTE, "EXECUTE", false, parse_execute},
    {KW_DEALLOCATE, "DEALLOCATE", false, parse_deallocate},
    {KW_DECLARE, "DECLARE CURSOR", false, parse_declare},
    {KW_FETCH, "FETCH", false, parse_fetch},
    {KW_MOVE, "MOVE", false, parse_fetch},
    {KW_CLOSE, "CLOSE CURSOR", false, parse_close},
    {KW_LISTEN, "LISTEN", false, parse_listen},
    {KW_UNLISTEN, "UNLISTEN", false, parse_unlisten},
    {KW_NOTIFY, "NOTIFY", false, parse_notify},
    {KW_DISCARD, "DISCARD", false, parse_discard},
    {KW_VACUUM, "VACUUM", false, parse_vacuum},
    {KW_ANALYZE, "ANALYZE", false, parse_vacuum},
    {KW_ANALYSE, "ANALYZE", false, parse_vacuum},
};

static const char *
transaction_tag(const Stmt *s, const Token *first)
{
    switch (s->txn) {
    case BTXN_BEGIN: return first->keyword == KW_START ? "START TRANSACTION" : "BEGIN";
    case BTXN_COMMIT: return "COMMIT";
    case BTXN_SAVEPOINT: return "SAVEPOINT";
    case BTXN_RELEASE: return "RELEASE";
    case BTXN_PREPARE: return "PREPARE TRANSACTION";
    case BTXN_ROLLBACK:
    case BTXN_ROLLBACK_TO: break;
    }
    return "ROLLBACK";
}

/* What takes no snapshot, so that SET TRANSACTION may follow it. */
static bool
looks_up_names(const Stmt *s)
{
    static const StmtKind NOT[] = {ST_TRANSACTION, ST_SET, ST_SHOW, ST_RESET, ST_CHECKPOINT, ST_FETCH, ST_LISTEN, ST_UNLISTEN, ST_NOTIFY};
    u32 i = 0;
    while (i < COUNT_OF(NOT) && NOT[i] != s->kind)
        i++;
    return i == COUNT_OF(NOT);
}

void
parse_classify(ParsedStmt *s)
{
    const Stmt *t = s->tree;
    s->is_definition = s->is_write && t->kind != ST_INSERT && t->kind != ST_UPDATE && t->kind != ST_DELETE && t->kind != ST_COPY;
    s->is_transaction = t->kind == ST_TRANSACTION;
    s->ends_failed = s->is_transaction && (t->txn == BTXN_COMMIT || t->txn == BTXN_ROLLBACK || t->txn == BTXN_ROLLBACK_TO || t->txn == BTXN_PREPARE);
    s->uses_catalog = looks_up_names(t);
    s->needs_snapshot = s->uses_catalog && t->kind != ST_LOCK;
    s->uses_names = t->kind == ST_EXECUTE || t->kind == ST_FETCH;
    s->is_cursor = t->kind == ST_FETCH || t->kind == ST_CLOSE;
    if (t->kind == ST_NOOP && strcmp(s->tag, "VACUUM") == 0)
        s->not_in_block = "VACUUM";
    else if (t->kind == ST_DISCARD && t->discard == DISCARD_ALL)
        s->not_in_block = "DISCARD ALL";
}

Stmt *
parse_statement(Parser *p, const char **ret_tag, bool *ret_write)
{
    Stmt *s = ARENA_NEW(p->arena, Stmt);
    s->at = parse_at(p);
    *ret_write = false;
    s->with = parse_is(p, KW_WITH) ? parse_with(p) : NULL;
    Token first = *parse_now(p);
    if (parse_starts_select(p, 0) || parse_is_char(p, '(')) {
        s->kind = ST_SELECT;
        s->select = parse_select(p);
        parse_set_with(p, s->select, s->with);
        *ret_tag = "SELECT";
        if (parse_take_into(p, s)) {
            *ret_tag = "SELECT INTO";
            *ret_write = true;
        }
        return s;
    }
    bool change = first.kind == T_KEYWORD && (first.keyword == KW_INSERT || first.keyword == KW_UPDATE || first.keyword == KW_DELETE);
    if (first.kind != T_KEYWORD || (s->with && !change))
        parse_fail(p);
    if (parse_is(p, KW_PREPARE) && parse_is_ahead(p, 1, KW_TRANSACTION) && parse_peek(p, 2)->kind == T_STRING) {
        *ret_tag = "PREPARE TRANSACTION";
        s->kind = ST_TRANSACTION;
        s->txn = BTXN_PREPARE;
        for (int i = 0; i < 3; i++)
            parse_take(p);
        return s;
    }
    for (u32 i = 0; i < COUNT_OF(STATEMENTS); i++)
        if (first.keyword == STATEMENTS[i].k) {
            *ret_tag = STATEMENTS[i].tag;
            STATEMENTS[i].read(p, s);
            if (s->kind == ST_ACCESS && s->access->kind == ACC_GRANT_ROLE)
                *ret_tag = s->access->revoke ? "REVOKE ROLE" : "GRANT ROLE";
            *ret_write = STATEMENTS[i].write && (!s->copy_to || s->copied);
            return s;
        }
    if (parse_is(p, KW_CREATE) || parse_is(p, KW_DROP) || parse_is(p, KW_ALTER)) {
        *ret_write = true;
        read_definition(p, s, ret_tag);
        return s;
    }
    if (parse_try(p, KW_CHECKPOINT)) {
        s->kind = ST_CHECKPOINT;
        *ret_tag = "CHECKPOINT";
        return s;
    }
    if (parse_try(p, KW_CHECK)) { /* ours: verify what is in memory */
        parse_expect(p, KW_DATABASE);
        s->kind = ST_CHECK;
        *ret_tag = "CHECK DATABASE";
        return s;
    }
    if (parse_transaction(p, s)) {
        *ret_tag = transaction_tag(s, &first);
        return s;
    }
    for (u32 i = 0; i < COUNT_OF(REFUSED); i++)
        if (first.keyword == REFUSED[i].k) {
            *ret_tag = REFUSED[i].tag;
            *ret_write = REFUSED[i].write;
            parse_unsupported(p, s, REFUSED[i].tag);
            return s;
        }
    parse_fail(p);
}
