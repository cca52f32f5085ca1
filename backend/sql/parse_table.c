/*
 * parse_table.c
 *    CREATE TABLE [AS], SELECT INTO, DROP TABLE, TRUNCATE, LOCK TABLE.
 *
 * What a column or a table may have and cannot yet (REFERENCES, EXCLUDE, …) is read whole and noted; the binder refuses it.
 */
#include "backend/sql/parse.h"

#include "backend/throw.h"

/* [NOT] DEFERRABLE, INITIALLY …, behind a constraint; behind a CHECK of the table NOT VALID and NO INHERIT, too. Returns whether it may be deferred. */
static bool
read_constraint_attributes(Parser *p, AConstraint *check)
{
    bool deferred = false;
    for (;;) {
        if (check && parse_is(p, KW_NOT) && parse_is_ahead(p, 1, KW_VALID)) {
            parse_take(p);
            parse_take(p);
            check->not_valid = true;
        } else if (check && parse_try(p, KW_NO)) {
            parse_expect(p, KW_INHERIT);
            check->no_inherit = true;
        } else if (parse_is(p, KW_NOT) && (parse_is_ahead(p, 1, KW_DEFERRABLE) || parse_is_ahead(p, 1, KW_VALID))) {
            parse_take(p);
            deferred |= parse_take(p).keyword == KW_VALID;
        } else if (parse_try(p, KW_DEFERRABLE)) {
            deferred = true;
        } else if (parse_try(p, KW_INITIALLY)) {
            deferred |= parse_is(p, KW_DEFERRED);
            if (!parse_try(p, KW_DEFERRED))
                parse_expect(p, KW_IMMEDIATE);
        } else {
            return deferred;
        }
    }
}

/* (name [= value], …): they tune other engines. */
static void
skip_storage_parameters(Parser *p)
{
    parse_expect_char(p, '(');
    do {
        parse_col_label(p);
        if (parse_try_char(p, '.'))
            parse_col_label(p);
        if (!parse_try_op(p, "="))
            continue;
        bool sign = parse_try_op(p, "-") || parse_try_op(p, "+");
        TokenKind k = parse_now(p)->kind;
        if (k != T_INT && k != T_NUMBER && (sign || (k != T_STRING && k != T_IDENT && k != T_KEYWORD)))
            parse_fail(p);
        parse_take(p);
    } while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
}

/* WITH (fillfactor = 70), USING INDEX TABLESPACE x: accepted where they only tune. */
static void
read_index_parameters(Parser *p, Stmt *s)
{
    u32 at = parse_at(p);
    if (parse_try(p, KW_INCLUDE)) {
        parse_skip_parens(p);
        parse_refuse_later(s, at, "INCLUDE");
    }
    if (parse_try(p, KW_WITH))
        skip_storage_parameters(p);
    if (parse_try(p, KW_USING)) {
        parse_expect(p, KW_INDEX);
        if (parse_try(p, KW_TABLESPACE))
            parse_refuse_later(s, at, "TABLESPACE");
        else
            parse_refuse_later(s, at, "USING INDEX");
        parse_col_id(p);
    }
}

static void
read_references(Parser *p)
{
    u32 n;
    parse_expect(p, KW_REFERENCES);
    parse_qualified_name(p);
    if (parse_is_char(p, '('))
        parse_name_list(p, &n);
    if (parse_try(p, KW_MATCH))
        parse_take(p);
    while (parse_try(p, KW_ON)) {
        if (!parse_try(p, KW_DELETE))
            parse_expect(p, KW_UPDATE);
        if (parse_try(p, KW_NO)) {
            parse_expect(p, KW_ACTION);
        } else if (parse_try(p, KW_SET)) {
            if (!parse_try(p, KW_NULL))
                parse_expect(p, KW_DEFAULT);
            if (parse_is_char(p, '('))
                parse_name_list(p, &n);
        } else if (!parse_try(p, KW_CASCADE)) {
            parse_expect(p, KW_RESTRICT);
        }
    }
}

static void
column_refuses(AColumnDef *c, u32 at, const char *feature)
{
    if (!c->unsupported) {
        c->unsupported = feature;
        c->unsupported_at = at;
    }
}

static AConstraint *
add_constraint(Parser *p, AColumnDef *c, AConstraintKind kind, u32 at, Str name)
{
    AConstraint *k = ARENA_NEW(p->arena, AConstraint);
    *k = (AConstraint){.kind = kind, .at = at, .name = name};
    ptrlist_add(p->arena, &c->constraints, k);
    return k;
}

/* Behind CHECK. */
static AExpr *
read_check(Parser *p)
{
    parse_expect_char(p, '(');
    AExpr *e = parse_expr(p);
    parse_expect_char(p, ')');
    return e;
}

/* GENERATED ALWAYS AS IDENTITY | (expr) STORED */
static void
read_generated(Parser *p, AColumnDef *c, u32 at)
{
    parse_take(p);
    if (parse_try(p, KW_BY))
        parse_expect(p, KW_DEFAULT);
    else
        parse_expect(p, KW_ALWAYS);
    parse_expect(p, KW_AS);
    if (parse_try(p, KW_IDENTITY)) {
        if (parse_is_char(p, '('))
            parse_skip_parens(p);
        column_refuses(c, at, "GENERATED AS IDENTITY");
    } else {
        parse_expect_char(p, '(');
        parse_expr(p);
        parse_expect_char(p, ')');
        parse_expect(p, KW_STORED);
        column_refuses(c, at, "a generated column");
    }
}

bool
parse_known_collation(Parser *p)
{
    AName n = parse_qualified_name(p);
    Str c = n.parts[n.count - 1];
    return str_eq(c, STR_LIT("C")) || str_eq(c, STR_LIT("default")) || str_eq(c, STR_LIT("POSIX")) || str_eq(c, STR_LIT("ucs_basic"));
}

/* One column constraint; false: none. *deferrable: it may be followed by DEFERRABLE and the like. */
static bool
read_column_constraint(Parser *p, Stmt *s, AColumnDef *c, bool *deferrable)
{
    Str name = {0};
    u32 at = parse_at(p);
    bool named = parse_try(p, KW_CONSTRAINT);
    if (named)
        name = parse_col_id(p);
    if (!named && parse_is(p, KW_NOT) && (parse_is_ahead(p, 1, KW_DEFERRABLE) || parse_is_ahead(p, 1, KW_VALID)))
        return false;
    bool key = parse_is(p, KW_UNIQUE) || parse_is(p, KW_PRIMARY) || parse_is(p, KW_REFERENCES);
    if (parse_try(p, KW_NOT)) {
        parse_expect(p, KW_NULL);
        add_constraint(p, c, AC_NOT_NULL, at, name);
    } else if (parse_try(p, KW_NULL)) {
        add_constraint(p, c, AC_NULL, at, name);
    } else if (parse_try(p, KW_UNIQUE)) {
        if (parse_try(p, KW_NULLS)) {
            if (parse_try(p, KW_NOT))
                parse_refuse_later(s, at, "NULLS NOT DISTINCT");
            parse_expect(p, KW_DISTINCT);
        }
        add_constraint(p, c, AC_UNIQUE, at, name);
        read_index_parameters(p, s);
    } else if (parse_try(p, KW_PRIMARY)) {
        parse_expect(p, KW_KEY);
        add_constraint(p, c, AC_PRIMARY, at, name);
        read_index_parameters(p, s);
    } else if (parse_try(p, KW_CHECK)) {
        AConstraint *k = add_constraint(p, c, AC_CHECK, at, name);
        k->check = read_check(p);
        if (parse_try(p, KW_NO)) {
            parse_expect(p, KW_INHERIT);
            k->no_inherit = true;
        }
    } else if (parse_try(p, KW_DEFAULT)) {
        if (c->default_expr)
            parse_fail_at(p, at, ERR_SYNTAX_ERROR, "multiple default values specified for column \"%.*s\" of table \"%.*s\"",
                          (int)c->name.len, c->name.ptr, (int)s->name.parts[s->name.count - 1].len, s->name.parts[s->name.count - 1].ptr);
        u32 from = parse_at(p);
        c->default_expr = parse_b_expr(p);
        c->default_text = (Str){p->lexer.text + from, p->last_end - from};
    } else if (parse_is(p, KW_REFERENCES)) {
        read_references(p);
        column_refuses(c, at, "REFERENCES");
    } else if (parse_is(p, KW_GENERATED)) {
        read_generated(p, c, at);
    } else if (!named && parse_try(p, KW_COLLATE)) {
        c->collate_at = at;
        if (!parse_known_collation(p))
            column_refuses(c, at, "this collation");
    } else if (named) {
        parse_fail(p);
    } else {
        return false;
    }
    *deferrable = key;
    return true;
}

/* [NOT] DEFERRABLE and INITIALLY follow keys and references only. */
static void
refuse_misplaced(Parser *p, bool deferrable)
{
    bool not = parse_is(p, KW_NOT) && parse_is_ahead(p, 1, KW_DEFERRABLE), initially = parse_is(p, KW_INITIALLY);
    if (deferrable || !(not || initially || parse_is(p, KW_DEFERRABLE)))
        return;
    const char *which = not ? "NOT DEFERRABLE" : !initially ? "DEFERRABLE" : parse_is_ahead(p, 1, KW_DEFERRED) ? "INITIALLY DEFERRED"
                        : "INITIALLY IMMEDIATE";
    parse_fail_at(p, parse_at(p), ERR_SYNTAX_ERROR, "misplaced %s clause", which);
}

void
parse_column_def(Parser *p, Stmt *s)
{
    AColumnDef *c = ARENA_NEW(p->arena, AColumnDef);
    c->at = parse_at(p);
    c->name = parse_col_id(p);
    c->type = parse_type(p);
    bool deferrable = false;
    for (;;) {
        u32 at = parse_at(p);
        if (parse_try(p, KW_COMPRESSION)) {
            parse_take(p);
            column_refuses(c, at, "COMPRESSION");
        }
        bool any = read_column_constraint(p, s, c, &deferrable);
        refuse_misplaced(p, deferrable);
        if (read_constraint_attributes(p, NULL))
            column_refuses(c, at, "DEFERRABLE");
        if (!any)
            break;
    }
    ptrlist_add(p->arena, &s->column_defs, c);
}

/* PRIMARY KEY (a, b), UNIQUE (a), CHECK (…), FOREIGN KEY …, EXCLUDE … of the table. */
void
parse_table_constraint(Parser *p, Stmt *s)
{
    AConstraint *k = ARENA_NEW(p->arena, AConstraint);
    k->at = parse_at(p);
    if (parse_try(p, KW_CONSTRAINT))
        k->name = parse_col_id(p);
    bool primary = parse_is(p, KW_PRIMARY);
    u32 n;
    if (primary || parse_is(p, KW_UNIQUE)) {
        parse_take(p);
        if (primary)
            parse_expect(p, KW_KEY);
        k->kind = primary ? AC_PRIMARY : AC_UNIQUE;
        if (parse_is(p, KW_USING)) {
            parse_take(p);
            parse_expect(p, KW_INDEX);
            parse_col_id(p);
            parse_refuse_later(s, k->at, "USING INDEX");
        } else {
            if (parse_is(p, KW_NULLS) && !primary) {
                parse_take(p);
                if (parse_try(p, KW_NOT))
                    parse_refuse_later(s, k->at, "NULLS NOT DISTINCT");
                parse_expect(p, KW_DISTINCT);
            }
            k->columns = parse_name_list(p, &k->column_count);
            read_index_parameters(p, s);
        }
        ptrlist_add(p->arena, &s->constraints, k);
    } else if (parse_try(p, KW_CHECK)) {
        k->kind = AC_CHECK;
        k->check = read_check(p);
        ptrlist_add(p->arena, &s->constraints, k);
    } else if (parse_try(p, KW_FOREIGN)) {
        parse_expect(p, KW_KEY);
        parse_name_list(p, &n);
        read_references(p);
        parse_refuse_later(s, k->at, "FOREIGN KEY");
    } else {
        parse_expect(p, KW_EXCLUDE);
        if (parse_try(p, KW_USING))
            parse_col_id(p);
        parse_skip_parens(p);
        parse_refuse_later(s, k->at, "EXCLUDE");
    }
    if (!read_constraint_attributes(p, k->kind == AC_CHECK ? k : NULL))
        return;
    if (k->kind == AC_CHECK)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "CHECK constraints cannot be marked DEFERRABLE");
    parse_refuse_later(s, k->at, "DEFERRABLE");
}

bool
parse_at_table_constraint(Parser *p)
{
    return parse_is(p, KW_CONSTRAINT) || parse_is(p, KW_PRIMARY) || parse_is(p, KW_UNIQUE) || parse_is(p, KW_CHECK) ||
           parse_is(p, KW_FOREIGN) || parse_is(p, KW_EXCLUDE);
}

/* Behind LIKE. */
static void
read_like(Parser *p, Stmt *s)
{
    static const struct { Keyword k; u32 option; } options[] = {
        {KW_ALL, LIKE_ALL}, {KW_DEFAULTS, LIKE_DEFAULTS}, {KW_CONSTRAINTS, LIKE_CONSTRAINTS}, {KW_INDEXES, LIKE_INDEXES}, {KW_COMMENTS, LIKE_OTHERS},
        {KW_COMPRESSION, LIKE_OTHERS}, {KW_GENERATED, LIKE_OTHERS}, {KW_IDENTITY, LIKE_OTHERS}, {KW_STATISTICS, LIKE_OTHERS}, {KW_STORAGE, LIKE_OTHERS},
    };
    AColumnDef *c = ARENA_NEW(p->arena, AColumnDef);
    c->like = ARENA_NEW(p->arena, ALike);
    c->like->table = parse_qualified_name(p);
    while (parse_is(p, KW_INCLUDING) || parse_is(p, KW_EXCLUDING)) {
        bool including = parse_take(p).keyword == KW_INCLUDING;
        u32 i = 0;
        while (i < COUNT_OF(options) && !parse_is(p, options[i].k))
            i++;
        if (i == COUNT_OF(options))
            parse_fail(p);
        parse_take(p);
        c->like->options = including ? c->like->options | options[i].option : c->like->options & ~options[i].option;
    }
    ptrlist_add(p->arena, &s->column_defs, c);
}

static void
read_table_element(Parser *p, Stmt *s)
{
    if (parse_try(p, KW_LIKE)) {
        read_like(p, s);
    } else if (parse_at_table_constraint(p)) {
        parse_table_constraint(p, s);
    } else {
        parse_column_def(p, s);
    }
}

/* INHERITS, PARTITION BY, WITH, ON COMMIT, TABLESPACE, AS */
static void
read_table_options(Parser *p, Stmt *s)
{
    u32 at = parse_at(p);
    if (parse_try(p, KW_INHERITS)) {
        parse_skip_parens(p);
        parse_refuse_later(s, at, "INHERITS");
    }
    at = parse_at(p);
    if (parse_try(p, KW_PARTITION)) {
        parse_expect(p, KW_BY);
        parse_col_id(p);
        parse_skip_parens(p);
        parse_refuse_later(s, at, "PARTITION BY");
    }
    at = parse_at(p);
    if (parse_try(p, KW_USING)) {
        parse_col_id(p);
        parse_refuse_later(s, at, "a table access method");
    }
    if (parse_is(p, KW_WITH) && !parse_is_ahead(p, 1, KW_DATA)) {
        parse_take(p);
        skip_storage_parameters(p);
    } else if (parse_try(p, KW_WITHOUT)) {
        parse_expect(p, KW_OIDS);
    }
    at = parse_at(p);
    if (parse_try(p, KW_ON)) {
        parse_expect(p, KW_COMMIT);
        parse_take(p);
        if (!parse_is_char(p, ';') && parse_now(p)->kind != T_END)
            parse_take(p);
        parse_refuse_later(s, at, "ON COMMIT");
    }
    at = parse_at(p);
    if (parse_try(p, KW_TABLESPACE)) {
        parse_col_id(p);
        parse_refuse_later(s, at, "TABLESPACE");
    }
}

/* At AS. */
static bool
read_as(Parser *p, Stmt *s)
{
    parse_expect(p, KW_AS);
    s->is_as = true;
    if (parse_is(p, KW_EXECUTE)) {
        parse_unsupported(p, s, "CREATE TABLE AS EXECUTE");
        return true;
    }
    AWith *with = parse_is(p, KW_WITH) ? parse_with(p) : NULL;
    s->select = parse_select(p);
    parse_set_with(p, s->select, with);
    if (parse_try(p, KW_WITH)) {
        s->no_data = parse_try(p, KW_NO);
        parse_expect(p, KW_DATA);
    }
    return true;
}

bool
parse_take_into(Parser *p, Stmt *s)
{
    ASelect *first = s->select;
    while (first->op)
        first = first->left;
    if (!first->into)
        return false;
    if (first->into_temporary)
        parse_refuse_later(s, first->into_at, "SELECT INTO TEMPORARY TABLE");
    (void)p;
    first->into = false;
    s->kind = ST_CREATE_TABLE;
    s->is_as = true;
    s->name = first->into_name;
    return true;
}

bool
parse_create_table(Parser *p, Stmt *s)
{
    s->kind = ST_CREATE_TABLE;
    if (parse_is(p, KW_IF)) {
        parse_take(p);
        parse_expect(p, KW_NOT);
        parse_expect(p, KW_EXISTS);
        s->if_exists = true;
    }
    s->name = parse_qualified_name(p);
    bool names = parse_is_char(p, '(') && parse_peek(p, 2)->kind == T_CHAR && (parse_peek(p, 2)->ch == ',' || parse_peek(p, 2)->ch == ')');
    if (names)
        s->column_names = parse_name_list(p, &s->column_name_count);
    if (parse_is(p, KW_OF) || parse_is(p, KW_PARTITION)) {
        parse_unsupported(p, s, parse_is(p, KW_OF) ? "CREATE TABLE OF" : "PARTITION OF");
        return false;
    }
    if (names || !parse_is_char(p, '(')) {
        bool plain = parse_is(p, KW_AS) || parse_is(p, KW_USING) || parse_is(p, KW_WITH) || parse_is(p, KW_WITHOUT) || parse_is(p, KW_ON) || parse_is(p, KW_TABLESPACE);
        if (!plain)
            parse_fail(p);
        read_table_options(p, s);
        return read_as(p, s);
    }
    parse_expect_char(p, '(');
    if (!parse_is_char(p, ')'))
        do
            read_table_element(p, s);
        while (parse_try_char(p, ','));
    parse_expect_char(p, ')');
    read_table_options(p, s);
    return false;
}

static void
read_names(Parser *p, PtrList *to)
{
    do {
        AName *n = ARENA_NEW(p->arena, AName);
        *n = parse_qualified_name(p);
        ptrlist_add(p->arena, to, n);
    } while (parse_try_char(p, ','));
}

void
parse_drop_table(Parser *p, Stmt *s)
{
    s->kind = ST_DROP_TABLE;
    if (parse_is(p, KW_IF)) {
        parse_take(p);
        parse_expect(p, KW_EXISTS);
        s->if_exists = true;
    }
    read_names(p, &s->names);
    if (!parse_try(p, KW_CASCADE))
        parse_try(p, KW_RESTRICT);
}

/* [ONLY] name [*], … */
static void
read_relations(Parser *p, PtrList *to)
{
    do {
        AName *n = ARENA_NEW(p->arena, AName);
        bool only = parse_try(p, KW_ONLY), parens = only && parse_try_char(p, '(');
        *n = parse_qualified_name(p);
        if (parens)
            parse_expect_char(p, ')');
        else if (!only)
            parse_try_op(p, "*");
        ptrlist_add(p->arena, to, n);
    } while (parse_try_char(p, ','));
}

/* Behind IN: the words of a table lock's mode. */
static TableLockMode
read_lock_mode(Parser *p)
{
    if (parse_try(p, KW_ACCESS)) {
        if (parse_try(p, KW_SHARE))
            return TABLE_LOCK_ACCESS_SHARE;
        parse_expect(p, KW_EXCLUSIVE);
        return TABLE_LOCK_ACCESS_EXCLUSIVE;
    }
    if (parse_try(p, KW_ROW)) {
        if (parse_try(p, KW_SHARE))
            return TABLE_LOCK_ROW_SHARE;
        parse_expect(p, KW_EXCLUSIVE);
        return TABLE_LOCK_ROW_EXCLUSIVE;
    }
    if (parse_try(p, KW_EXCLUSIVE))
        return TABLE_LOCK_EXCLUSIVE;
    parse_expect(p, KW_SHARE);
    if (parse_try(p, KW_UPDATE)) {
        parse_expect(p, KW_EXCLUSIVE);
        return TABLE_LOCK_SHARE_UPDATE_EXCLUSIVE;
    }
    if (parse_try(p, KW_ROW)) {
        parse_expect(p, KW_EXCLUSIVE);
        return TABLE_LOCK_SHARE_ROW_EXCLUSIVE;
    }
    return TABLE_LOCK_SHARE;
}

void
parse_lock(Parser *p, Stmt *s)
{
    s->kind = ST_LOCK;
    parse_expect(p, KW_LOCK);
    parse_try(p, KW_TABLE);
    read_relations(p, &s->names);
    s->lock_mode = TABLE_LOCK_ACCESS_EXCLUSIVE;
    if (parse_try(p, KW_IN)) {
        s->lock_mode = read_lock_mode(p);
        parse_expect(p, KW_MODE);
    }
    s->no_wait = parse_try(p, KW_NOWAIT);
}

void
parse_truncate(Parser *p, Stmt *s)
{
    s->kind = ST_TRUNCATE;
    parse_expect(p, KW_TRUNCATE);
    parse_try(p, KW_TABLE);
    read_relations(p, &s->names);
    if (parse_try(p, KW_RESTART) || parse_try(p, KW_CONTINUE))
        parse_expect(p, KW_IDENTITY);
    if (!parse_try(p, KW_CASCADE))
        parse_try(p, KW_RESTRICT);
}
