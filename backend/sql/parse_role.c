/*
 * parse_role.c
 *    CREATE, ALTER and DROP of ROLE, USER and GROUP.
 *
 * Names stay as they are written (ARole): who CURRENT_USER is, and whether a name is there, is known when the statement runs.
 */
#include "backend/sql/parse.h"

#include "backend/throw.h"

AAccess *
parse_access(Parser *p, Stmt *s, AAccessKind kind)
{
    s->kind = ST_ACCESS;
    s->access = ARENA_NEW(p->arena, AAccess);
    s->access->kind = kind;
    return s->access;
}

/* ---- names ---- */

ARole
parse_role(Parser *p)
{
    ARole r = {.kind = AR_NAMED, .at = parse_at(p)};
    if (parse_try(p, KW_CURRENT_USER) || parse_try(p, KW_CURRENT_ROLE)) {
        r.kind = AR_CURRENT_USER;
        return r;
    }
    if (parse_try(p, KW_SESSION_USER)) {
        r.kind = AR_SESSION_USER;
        return r;
    }
    if (!parse_is_col_id(p, 0) && !parse_is_type_func_name(p, 0)) /* NonReservedWord; NONE is one that may be quoted only */
        parse_fail(p);
    r.name = parse_col_label(p);
    if (str_eq(r.name, STR_LIT("public")))
        r.kind = AR_PUBLIC;
    if (str_eq(r.name, STR_LIT("none")))
        parse_fail_at(p, r.at, ERR_RESERVED_NAME, "role name \"none\" is reserved");
    return r;
}

void
parse_role_list(Parser *p, PtrList *to)
{
    do {
        ARole *r = ARENA_NEW(p->arena, ARole);
        *r = parse_role(p);
        ptrlist_add(p->arena, to, r);
    } while (parse_try_char(p, ','));
}

/* A name that a role gets. */
static ARole
read_new_name(Parser *p)
{
    ARole r = parse_role(p);
    if (r.kind == AR_PUBLIC)
        parse_fail_at(p, r.at, ERR_RESERVED_NAME, "role name \"public\" is reserved");
    if (r.kind == AR_CURRENT_USER || r.kind == AR_SESSION_USER) {
        const char *word = r.kind == AR_SESSION_USER ? "SESSION_USER" : (p->lexer.text[r.at + 8] | 32) == 'u' ? "CURRENT_USER" : "CURRENT_ROLE";
        parse_fail_at(p, r.at, ERR_RESERVED_NAME, "%s cannot be used as a role name here", word);
    }
    return r;
}

/* ---- options ---- */

static const struct { const char *word; ARoleOptionKind kind; bool on; } WORDS[] = {
    {"superuser", ARO_SUPERUSER, true}, {"nosuperuser", ARO_SUPERUSER, false}, {"createrole", ARO_CREATEROLE, true},
    {"nocreaterole", ARO_CREATEROLE, false}, {"replication", ARO_REPLICATION, true}, {"noreplication", ARO_REPLICATION, false},
    {"createdb", ARO_CREATEDB, true}, {"nocreatedb", ARO_CREATEDB, false}, {"login", ARO_LOGIN, true}, {"nologin", ARO_LOGIN, false},
    {"bypassrls", ARO_BYPASSRLS, true}, {"nobypassrls", ARO_BYPASSRLS, false}, {"noinherit", ARO_INHERIT, false},
};

static void
read_word_option(Parser *p, ARoleOption *o)
{
    if (parse_now(p)->kind != T_IDENT)
        parse_fail(p);
    Str word = parse_col_id(p);
    for (u32 i = 0; i < COUNT_OF(WORDS); i++)
        if (str_eq(word, str_of(WORDS[i].word))) {
            o->kind = WORDS[i].kind;
            o->on = WORDS[i].on;
            return;
        }
    parse_fail_at(p, o->at, ERR_SYNTAX_ERROR, "unrecognized role option \"%.*s\"", (int)word.len, word.ptr);
}

static void
read_create_option(Parser *p, ARoleOption *o)
{
    if (parse_try(p, KW_SYSID)) {
        o->kind = ARO_SYSID;
        o->number = parse_signed_int(p);
    } else if (parse_try(p, KW_ADMIN)) {
        o->kind = ARO_ADMIN;
        parse_role_list(p, &o->roles);
    } else if (parse_try(p, KW_ROLE)) {
        o->kind = ARO_ROLE;
        parse_role_list(p, &o->roles);
    } else if (parse_try(p, KW_IN)) {
        if (!parse_try(p, KW_GROUP))
            parse_expect(p, KW_ROLE);
        o->kind = ARO_IN_ROLE;
        parse_role_list(p, &o->roles);
    } else
        read_word_option(p, o);
}

static void
read_option(Parser *p, AAccess *a, bool create)
{
    ARoleOption *o = ARENA_NEW(p->arena, ARoleOption);
    o->at = parse_at(p);
    if (parse_is(p, KW_UNENCRYPTED)) {
        Error err;
        error_set(&err, ERR_FEATURE_NOT_SUPPORTED, "UNENCRYPTED PASSWORD is no longer supported");
        error_hint(&err, "Remove UNENCRYPTED to store the password in encrypted form instead.");
        err.position = o->at + 1;
        err_rethrow(&err);
    }
    bool encrypted = parse_try(p, KW_ENCRYPTED);
    if (encrypted || parse_is(p, KW_PASSWORD)) {
        parse_expect(p, KW_PASSWORD);
        o->kind = ARO_PASSWORD;
        if (encrypted || !parse_try(p, KW_NULL))
            o->text = parse_string(p);
    } else if (parse_try(p, KW_INHERIT)) {
        o->kind = ARO_INHERIT;
        o->on = true;
    } else if (parse_try(p, KW_CONNECTION)) {
        parse_expect(p, KW_LIMIT);
        o->kind = ARO_CONNECTION_LIMIT;
        o->number = parse_signed_int(p);
    } else if (parse_try(p, KW_VALID)) {
        parse_expect(p, KW_UNTIL);
        o->kind = ARO_VALID_UNTIL;
        o->text = parse_string(p);
    } else if (parse_try(p, KW_USER)) {
        o->kind = ARO_ROLE;
        parse_role_list(p, &o->roles);
    } else if (create)
        read_create_option(p, o);
    else
        read_word_option(p, o);
    for (u32 i = 0; i < a->options.count; i++)
        if (LIST_AT(a->options, ARoleOption, i)->kind == o->kind && o->kind != ARO_SYSID)
            parse_fail_at(p, o->at, ERR_SYNTAX_ERROR, "conflicting or redundant options");
    ptrlist_add(p->arena, &a->options, o);
}

static bool
at_end(Parser *p)
{
    return parse_now(p)->kind == T_END || parse_is_char(p, ';');
}

/* ---- statements ---- */

void
parse_create_role(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_CREATE_ROLE);
    a->is_user = parse_take(p).keyword == KW_USER;
    a->role = read_new_name(p);
    parse_try(p, KW_WITH);
    while (!at_end(p))
        read_option(p, a, true);
}

/* SET name …, RESET name | ALL. */
static void
read_role_setting(Parser *p, Stmt *s, AAccess *a)
{
    a->kind = ACC_SET_ROLE;
    if (parse_try(p, KW_IN)) {
        parse_unsupported(p, s, "ALTER ROLE ... IN DATABASE");
        return;
    }
    if (parse_try(p, KW_RESET)) {
        if (!parse_try(p, KW_ALL)) {
            parse_setting(p, &a->setting, NULL);
        }
        return;
    }
    parse_expect(p, KW_SET);
    parse_setting(p, &a->setting, &a->value);
}

void
parse_alter_role(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_ALTER_ROLE);
    bool group = parse_take(p).keyword == KW_GROUP;
    if (!group && parse_try(p, KW_ALL)) {
        parse_unsupported(p, s, "ALTER ROLE ALL");
        return;
    }
    a->role = parse_role(p);
    if (parse_try(p, KW_RENAME)) {
        parse_expect(p, KW_TO);
        a->kind = ACC_RENAME_ROLE;
        ARole r = read_new_name(p);
        a->new_name = r.name;
        a->new_name_at = r.at;
        return;
    }
    if (group) { /* ALTER GROUP g ADD | DROP USER a, b is GRANT and REVOKE */
        a->kind = ACC_GRANT_ROLE;
        a->revoke = parse_try(p, KW_DROP);
        if (!a->revoke)
            parse_expect(p, KW_ADD);
        parse_expect(p, KW_USER);
        parse_role_list(p, &a->roles);
        ARight *r = ARENA_NEW(p->arena, ARight);
        *r = (ARight){.word = a->role.name, .at = a->role.at};
        ptrlist_add(p->arena, &a->rights, r);
        return;
    }
    if (parse_is(p, KW_SET) || parse_is(p, KW_RESET) || parse_is(p, KW_IN)) {
        read_role_setting(p, s, a);
        return;
    }
    parse_try(p, KW_WITH);
    while (!at_end(p))
        read_option(p, a, false);
}

void
parse_drop_role(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_DROP_ROLE);
    parse_take(p);
    if (parse_is(p, KW_IF) && parse_is_ahead(p, 1, KW_EXISTS)) {
        parse_take(p);
        parse_take(p);
        a->if_exists = true;
    }
    parse_role_list(p, &a->roles);
}
