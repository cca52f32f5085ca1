/*
 * sql_describe.h
 *    What the parser and the binder make of a statement, as one line: "ok | parameter types | columns", or
 *    "SQLSTATE | position | message | hint | detail".
 */
#ifndef SQL_DESCRIBE_H
#define SQL_DESCRIBE_H

#include "backend/throw.h"
#include "tests/unit/sql_catalog.h"

#include <stdio.h>

static const char *
describe_bound(Arena *a, const BStmt *s)
{
    const char *text = "ok |";
    for (u32 i = 0; i < s->param_count; i++)
        text = arena_printf(a, "%s %s", text, type_name(s->param_types[i]));
    text = arena_printf(a, "%s |", text);
    const BQuery *q = s->kind == BST_SELECT ? s->query : NULL;
    for (u32 i = 0; q && i < q->target_count; i++) {
        const BTarget *t = &q->targets[i];
        if (!t->hidden)
            text = arena_printf(a, "%s %.*s:%s", text, (int)t->name.len, t->name.ptr, type_format(a, t->expr->type, t->expr->typmod));
    }
    return text;
}

/* Parse and bind the only statement of the text for a role. */
static const char *
describe_statement(Arena *a, const char *text, u32 role_id)
{
    static const TypeFormat format = {.extra_float_digits = 1};
    Catch c;
    current_catch = &c;
    if (setjmp(c.jump))
        return arena_printf(a, "%s | %u | %s | %s | %s", errcode_sqlstate(c.error.code), c.error.position, c.error.message, c.error.hint,
                            c.error.detail);
    u32 count;
    ParsedStmt *parsed = sql_parse(a, text, (u32)strlen(text), &count);
    if (count == 0)
        return "ok | |";
    BindContext ctx = {.root = &TEST_ROOT, .role_id = role_id, .role_name = "root", .session_role_name = "root", .database = "ggs3db", .source = text, .format = &format};
    const char *last = "";
    for (u32 i = 0; i < count; i++) {
        const BStmt *bound = sql_bind(a, &ctx, &parsed[i]);
        sql_check_rights(ctx.root, role_id, bound);
        last = describe_bound(a, bound);
    }
    return last;
}

#endif
