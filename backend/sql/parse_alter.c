/*
 * parse_alter.c
 *    ALTER TABLE.
 *
 * Actions that are not built are read to their end and noted; the binder refuses the statement.
 */
#include "backend/sql/parse.h"

static AAlter *
add_action(Parser *p, Stmt *s, AAlterKind kind)
{
    AAlter *a = ARENA_NEW(p->arena, AAlter);
    *a = (AAlter){.kind = kind};
    ptrlist_add(p->arena, &s->alters, a);
    return a;
}

/* Over one action, up to the comma or the end. */
static void
refuse_action(Parser *p, Stmt *s, const char *feature)
{
    parse_refuse_later(s, parse_at(p), feature);
    u32 depth = 0;
    while (parse_now(p)->kind != T_END && (depth || !(parse_is_char(p, ',') || parse_is_char(p, ';')))) {
        Token t = parse_take(p);
        depth += t.kind == T_CHAR && t.ch == '(';
        depth -= t.kind == T_CHAR && t.ch == ')' && depth;
    }
}

static bool
read_if_exists(Parser *p, bool not)
{
    if (!parse_is(p, KW_IF) || !parse_is_ahead(p, 1, not ? KW_NOT : KW_EXISTS))
        return false;
    parse_take(p);
    if (not)
        parse_expect(p, KW_NOT);
    parse_expect(p, KW_EXISTS);
    return true;
}

static void
read_behavior(Parser *p)
{
    if (!parse_try(p, KW_CASCADE))
        parse_try(p, KW_RESTRICT);
}

/* Behind ADD. */
static void
read_add(Parser *p, Stmt *s)
{
    if (parse_at_table_constraint(p)) {
        u32 before = s->constraints.count;
        parse_table_constraint(p, s);
        if (s->constraints.count > before) {
            AConstraint *k = LIST_AT(s->constraints, AConstraint, before);
            add_action(p, s, k->kind == AC_CHECK ? AA_ADD_CHECK : AA_ADD_KEY)->constraint = k;
        }
        return;
    }
    parse_try(p, KW_COLUMN);
    bool if_not_exists = read_if_exists(p, true);
    parse_column_def(p, s);
    AAlter *a = add_action(p, s, AA_ADD_COLUMN);
    a->column = LIST_AT(s->column_defs, AColumnDef, s->column_defs.count - 1);
    a->name = a->column->name;
    a->if_exists = if_not_exists;
}

/* Behind DROP. */
static void
read_drop(Parser *p, Stmt *s)
{
    AAlterKind kind = parse_try(p, KW_CONSTRAINT) ? AA_DROP_CONSTRAINT : AA_DROP_COLUMN;
    if (kind == AA_DROP_COLUMN)
        parse_try(p, KW_COLUMN);
    bool if_exists = read_if_exists(p, false);
    AAlter *a = add_action(p, s, kind);
    a->if_exists = if_exists;
    a->name = parse_col_id(p);
    read_behavior(p);
}

/* At [SET DATA] TYPE. */
static void
read_type(Parser *p, Stmt *s, Str column)
{
    if (parse_try(p, KW_SET))
        parse_expect(p, KW_DATA);
    parse_expect(p, KW_TYPE);
    AAlter *a = add_action(p, s, AA_TYPE);
    a->name = column;
    a->type = parse_type(p);
    u32 at = parse_at(p);
    if (parse_try(p, KW_COLLATE) && !parse_known_collation(p))
        parse_refuse_later(s, at, "this collation");
    if (parse_try(p, KW_USING))
        a->expr = parse_expr(p);
}

/* Behind ALTER. */
static void
read_alter_column(Parser *p, Stmt *s)
{
    if (parse_is(p, KW_CONSTRAINT)) {
        refuse_action(p, s, "ALTER TABLE ... ALTER CONSTRAINT");
        return;
    }
    parse_try(p, KW_COLUMN);
    Str name = parse_col_id(p);
    bool set = parse_is(p, KW_SET), drop = parse_is(p, KW_DROP);
    if ((set || drop) && parse_is_ahead(p, 1, KW_DEFAULT)) {
        parse_take(p);
        parse_take(p);
        AAlter *a = add_action(p, s, set ? AA_SET_DEFAULT : AA_DROP_DEFAULT);
        a->name = name;
        if (set) {
            u32 from = parse_at(p);
            a->expr = parse_expr(p);
            a->text = (Str){p->lexer.text + from, p->last_end - from};
        }
    } else if ((set || drop) && parse_is_ahead(p, 1, KW_NOT)) {
        parse_take(p);
        parse_take(p);
        parse_expect(p, KW_NULL);
        add_action(p, s, set ? AA_SET_NOT_NULL : AA_DROP_NOT_NULL)->name = name;
    } else if (parse_is(p, KW_TYPE) || (set && parse_is_ahead(p, 1, KW_DATA))) {
        read_type(p, s, name);
    } else {
        refuse_action(p, s, "this form of ALTER TABLE ... ALTER COLUMN");
    }
}

/* Behind RENAME. */
static void
read_rename(Parser *p, Stmt *s)
{
    AAlter *a = add_action(p, s, AA_RENAME_TABLE);
    if (!parse_is(p, KW_TO)) {
        a->kind = parse_try(p, KW_CONSTRAINT) ? AA_RENAME_CONSTRAINT : AA_RENAME_COLUMN;
        if (a->kind == AA_RENAME_COLUMN)
            parse_try(p, KW_COLUMN);
        a->name = parse_col_id(p);
    }
    parse_expect(p, KW_TO);
    a->new_name = parse_col_id(p);
}

static void
read_action(Parser *p, Stmt *s)
{
    static const struct { Keyword k; const char *feature; } refused[] = {
        {KW_ENABLE, "ALTER TABLE ... ENABLE"},
        {KW_DISABLE, "ALTER TABLE ... DISABLE"}, {KW_CLUSTER, "ALTER TABLE ... CLUSTER ON"}, {KW_SET, "ALTER TABLE ... SET"},
        {KW_RESET, "ALTER TABLE ... RESET"}, {KW_INHERIT, "ALTER TABLE ... INHERIT"}, {KW_NO, "ALTER TABLE ... NO INHERIT"},
        {KW_OF, "ALTER TABLE ... OF"}, {KW_NOT, "ALTER TABLE ... NOT OF"}, {KW_REPLICA, "ALTER TABLE ... REPLICA IDENTITY"},
        {KW_FORCE, "ALTER TABLE ... FORCE ROW LEVEL SECURITY"}, {KW_ATTACH, "ALTER TABLE ... ATTACH PARTITION"},
        {KW_DETACH, "ALTER TABLE ... DETACH PARTITION"},
    };
    if (parse_try(p, KW_ADD)) {
        read_add(p, s);
    } else if (parse_try(p, KW_DROP)) {
        read_drop(p, s);
    } else if (parse_try(p, KW_ALTER)) {
        read_alter_column(p, s);
    } else if (parse_try(p, KW_OWNER)) {
        parse_expect(p, KW_TO);
        ARole *owner = ARENA_NEW(p->arena, ARole);
        *owner = parse_role(p);
        add_action(p, s, AA_OWNER)->owner = owner;
    } else if (parse_try(p, KW_VALIDATE)) {
        parse_expect(p, KW_CONSTRAINT);
        add_action(p, s, AA_VALIDATE)->name = parse_col_id(p);
    } else {
        u32 i = 0;
        while (i < COUNT_OF(refused) && !parse_is(p, refused[i].k))
            i++;
        if (i == COUNT_OF(refused))
            parse_fail(p);
        refuse_action(p, s, refused[i].feature);
    }
}

void
parse_alter_table(Parser *p, Stmt *s)
{
    s->kind = ST_ALTER_TABLE;
    if (parse_is(p, KW_ALL)) {
        parse_unsupported(p, s, "ALTER TABLE ALL IN TABLESPACE");
        return;
    }
    s->if_exists = read_if_exists(p, false);
    bool only = parse_try(p, KW_ONLY), parens = only && parse_try_char(p, '(');
    s->name = parse_qualified_name(p);
    if (parens)
        parse_expect_char(p, ')');
    else if (!only)
        parse_try_op(p, "*");
    if (parse_try(p, KW_RENAME)) {
        read_rename(p, s);
        return;
    }
    do
        read_action(p, s);
    while (parse_try_char(p, ','));
}
