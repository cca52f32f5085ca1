/*
 * parse_grant.c
 *    GRANT and REVOKE, REASSIGN and DROP OWNED, ALTER DEFAULT PRIVILEGES.
 *
 * Objects that are not there yet (functions, types, …) are refused by name.
 */
#include "backend/sql/parse.h"

static void
read_right(Parser *p, AAccess *a)
{
    ARight *r = ARENA_NEW(p->arena, ARight);
    r->at = parse_at(p);
    bool word = parse_is(p, KW_SELECT) || parse_is(p, KW_REFERENCES) || parse_is(p, KW_CREATE) || parse_is_col_id(p, 0);
    if (!word)
        parse_fail(p);
    r->word = parse_col_label(p);
    if (parse_is_char(p, '('))
        r->columns = parse_name_list(p, &r->column_count);
    ptrlist_add(p->arena, &a->rights, r);
}

/* ALL [PRIVILEGES] [(columns)] is no right at all, or one with columns. */
static void
read_rights(Parser *p, AAccess *a)
{
    if (!parse_is(p, KW_ALL)) {
        do
            read_right(p, a);
        while (parse_try_char(p, ','));
        return;
    }
    ARight *r = ARENA_NEW(p->arena, ARight);
    r->at = parse_at(p);
    parse_take(p);
    parse_try(p, KW_PRIVILEGES);
    if (!parse_is_char(p, '('))
        return;
    r->word = STR_LIT("all");
    r->columns = parse_name_list(p, &r->column_count);
    ptrlist_add(p->arena, &a->rights, r);
}

static void
read_names(Parser *p, AAccess *a)
{
    do {
        AName *n = ARENA_NEW(p->arena, AName);
        *n = parse_qualified_name(p);
        ptrlist_add(p->arena, &a->objects, n);
    } while (parse_try_char(p, ','));
}

/* Behind ON. false: the statement is of something that is not there yet, and read to its end. */
static bool
read_objects(Parser *p, Stmt *s, AAccess *a)
{
    static const struct { Keyword k; const char *feature; } LATER[] = {
        {KW_SEQUENCE, "rights on sequences"}, {KW_FUNCTION, "rights on functions"}, {KW_PROCEDURE, "rights on procedures"},
        {KW_ROUTINE, "rights on routines"}, {KW_DOMAIN, "rights on domains"}, {KW_LANGUAGE, "rights on languages"},
        {KW_LARGE, "rights on large objects"}, {KW_TABLESPACE, "rights on tablespaces"}, {KW_TYPE, "rights on types"},
        {KW_PARAMETER, "rights on parameters"}, {KW_FOREIGN, "rights on foreign data"},
    };
    bool named = parse_peek(p, 1)->kind != T_CHAR && !parse_is_ahead(p, 1, KW_TO) && !parse_is_ahead(p, 1, KW_FROM);
    for (u32 i = 0; named && i < COUNT_OF(LATER); i++)
        if (parse_is(p, LATER[i].k)) {
            parse_unsupported(p, s, LATER[i].feature);
            return false;
        }
    if (parse_is(p, KW_ALL)) {
        parse_take(p);
        if (!parse_is(p, KW_TABLES)) {
            parse_unsupported(p, s, "rights on all objects but tables");
            return false;
        }
        parse_take(p);
        parse_expect(p, KW_IN);
        parse_expect(p, KW_SCHEMA);
        a->object = AOB_ALL_TABLES;
    } else if (named && parse_try(p, KW_SCHEMA))
        a->object = AOB_SCHEMA;
    else if (named && parse_try(p, KW_DATABASE))
        a->object = AOB_DATABASE;
    else
        parse_try(p, KW_TABLE);
    read_names(p, a);
    return true;
}

static void
read_grantees(Parser *p, PtrList *to)
{
    do {
        parse_try(p, KW_GROUP);
        ARole *r = ARENA_NEW(p->arena, ARole);
        *r = parse_role(p);
        ptrlist_add(p->arena, to, r);
    } while (parse_try_char(p, ','));
}

static void
read_grantor(Parser *p, AAccess *a)
{
    if (!parse_try(p, KW_GRANTED))
        return;
    parse_expect(p, KW_BY);
    a->grantor = ARENA_NEW(p->arena, ARole);
    *a->grantor = parse_role(p);
}

static void
read_behavior(Parser *p, AAccess *a)
{
    a->cascade = parse_try(p, KW_CASCADE);
    if (!a->cascade)
        parse_try(p, KW_RESTRICT);
}

/* WITH word OPTION. */
static bool
read_with_option(Parser *p, Keyword word)
{
    if (!parse_try(p, KW_WITH))
        return false;
    parse_expect(p, word);
    parse_expect(p, KW_OPTION);
    return true;
}

static bool
read_option_for(Parser *p, Keyword word)
{
    if (!parse_is(p, word) || !parse_is_ahead(p, 1, KW_OPTION) || !parse_is_ahead(p, 2, KW_FOR))
        return false;
    for (int i = 0; i < 3; i++)
        parse_take(p);
    return true;
}

void
parse_grant(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_GRANT);
    a->revoke = parse_take(p).keyword == KW_REVOKE;
    bool admin_for = a->revoke && read_option_for(p, KW_ADMIN);
    a->option = admin_for || (a->revoke && read_option_for(p, KW_GRANT));
    read_rights(p, a);
    Keyword to = a->revoke ? KW_FROM : KW_TO;
    if (!admin_for && (!a->rights.count || !parse_is(p, to))) {
        parse_expect(p, KW_ON);
        if (!read_objects(p, s, a))
            return;
        parse_expect(p, to);
        read_grantees(p, &a->roles);
        if (!a->revoke)
            a->option = read_with_option(p, KW_GRANT);
    } else {
        a->kind = ACC_GRANT_ROLE;
        parse_expect(p, to);
        parse_role_list(p, &a->roles);
        if (!a->revoke)
            a->option = read_with_option(p, KW_ADMIN);
    }
    read_grantor(p, a);
    if (a->revoke)
        read_behavior(p, a);
}

void
parse_reassign(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_REASSIGN_OWNED);
    parse_take(p);
    parse_expect(p, KW_OWNED);
    parse_expect(p, KW_BY);
    parse_role_list(p, &a->roles);
    parse_expect(p, KW_TO);
    a->role = parse_role(p);
}

void
parse_drop_owned(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_DROP_OWNED);
    parse_take(p);
    parse_expect(p, KW_BY);
    parse_role_list(p, &a->roles);
    read_behavior(p, a);
}

void
parse_default_rights(Parser *p, Stmt *s)
{
    AAccess *a = parse_access(p, s, ACC_DEFAULT_RIGHTS);
    parse_take(p);
    parse_expect(p, KW_PRIVILEGES);
    for (;;) {
        if (parse_try(p, KW_FOR)) {
            if (!parse_try(p, KW_ROLE))
                parse_expect(p, KW_USER);
            parse_role_list(p, &a->roles);
        } else if (parse_try(p, KW_IN)) {
            parse_expect(p, KW_SCHEMA);
            read_names(p, a);
        } else
            break;
    }
    if (!parse_is(p, KW_GRANT) && !parse_is(p, KW_REVOKE))
        parse_fail(p);
    a->revoke = parse_take(p).keyword == KW_REVOKE;
    a->option = a->revoke && read_option_for(p, KW_GRANT);
    read_rights(p, a);
    parse_expect(p, KW_ON);
    if (parse_try(p, KW_SEQUENCES))
        a->object = AOB_SEQUENCES;
    else if (!parse_try(p, KW_TABLES)) {
        parse_unsupported(p, s, "default rights on anything but tables and sequences");
        return;
    }
    parse_expect(p, a->revoke ? KW_FROM : KW_TO);
    read_grantees(p, &a->grantees);
    if (!a->revoke)
        a->option = read_with_option(p, KW_GRANT);
    else
        read_behavior(p, a);
}
