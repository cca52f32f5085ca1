/*
 * expr_cases.c
 *    Expressions from stdin, one a line, bound and evaluated: prints each one's text, or SQLSTATE and message. For
 *    expr_oracle.
 *
 * Each expression is evaluated as it stands (constants are folded) and with its constants turned into columns (the
 * kernels run); answers that differ are printed side by side.
 */
#include "backend/kern/map.h"
#include "backend/plan/expr.h"
#include "backend/sql/sql.h"
#include "backend/throw.h"
#include "common/type/numeric.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS_MAX = 256, ROWS = 5, NULL_ROW = 1, LAST_ROW = 4, MODES = 3 };

static Arena *mem;
static const TypeFormat FORMAT = {.extra_float_digits = 1};
static Vec columns[COLUMNS_MAX];
static u32 column_count;

static u32
find_column(const ExprMap *m UNUSED, const BExpr *leaf, ExprInput *ret)
{
    const Vec *v = &columns[leaf->column];
    *ret = (ExprInput){v->phys, v->scale, true};
    return leaf->column;
}

static const ExprMap MAP = {find_column, NULL};

/* Numerics in any form that holds them. */
static PhysType
any_form(const Value *v, u32 *ret_scale)
{
    *ret_scale = 0;
    if (v->type != TYPE_NUMERIC)
        return phys_of(v->type, v->typmod);
    if (v->is_null || v->num.kind > NUM_NAN || rand() % 4 == 0)
        return PHYS_NUM;
    i128 n = num_int(&v->num);
    *ret_scale = v->num.scale;
    return n < POW10_I128[18] && n > -POW10_I128[18] && *ret_scale <= 18 && rand() % 4 ? PHYS_D64 : PHYS_D128;
}

static void
add_column(BExpr *leaf)
{
    const Value *v = &leaf->value;
    u32 scale;
    PhysType phys = any_form(v, &scale);
    u32 width = phys_width(phys);
    u8 *data = arena_zalloc(mem, (size_t)width * ROWS), *nulls = arena_zalloc(mem, ROWS);
    for (u32 i = 0; i < ROWS; i++) {
        nulls[i] = v->is_null || i == NULL_ROW;
        if (!v->is_null)
            value_to_phys(v, phys, scale, data + (size_t)i * width);
        else if (phys == PHYS_STR)
            ((Str *)(void *)data)[i] = STR_LIT("");
    }
    leaf->kind = BX_COLUMN;
    leaf->column = (u16)column_count;
    leaf->typmod = leaf->type == TYPE_NUMERIC ? -1 : leaf->typmod;
    columns[column_count++] = (Vec){.phys = phys, .scale = (u8)scale, .data = data, .null_mask = nulls};
}

/* A copy with constants as columns: all of them, or (mode 2) about half. */
static BExpr *
with_columns(const BExpr *e, int mode)
{
    BExpr *copy = ARENA_NEW(mem, BExpr);
    *copy = *e;
    if (e->kind == BX_CONST && e->type != TYPE_UNKNOWN && column_count < COLUMNS_MAX && !(mode == 2 && rand() % 2))
        add_column(copy);
    copy->args = ARENA_ARRAY(mem, BExpr *, e->arg_count + 1);
    for (u32 i = 0; i < e->arg_count; i++)
        copy->args[i] = with_columns(e->args[i], mode);
    return copy;
}

/* The answer of the last row that sel has. */
static const char *
answer(const BExpr *e, bool selected)
{
    static const ExprEnv env_of = {.format = &FORMAT, .role_name = "root", .session_role_name = "root", .database = "postgres"};
    static const u16 SEL[] = {0, 2, 3, LAST_ROW};
    Catch c;
    current_catch = &c;
    if (setjmp(c.jump))
        return arena_printf(mem, "%s %s", errcode_sqlstate(c.error.code), c.error.message);
    ExprState *s = expr_state(mem, expr_compile(mem, e, &MAP), &env_of);
    Batch b = {.count = 1, .columns = columns, .column_count = column_count};
    if (selected) {
        b.sel = SEL;
        b.count = COUNT_OF(SEL);
    }
    Vec v;
    expr_eval(s, mem, &b, &v);
    u32 at = b.count - 1;
    if (VEC_NULL(&v, at))
        return "NULL";
    ByteBuf out = {0};
    phys_out(&out, &FORMAT, e->type, v.phys, v.scale, (u8 *)v.data + (size_t)at * phys_width(v.phys));
    char *text = arena_strndup(mem, (char *)out.data, out.len);
    buf_free(&out);
    return text;
}

static BExpr *
bind(const char *expression)
{
    char *text = arena_printf(mem, "select %s", expression);
    u32 count;
    ParsedStmt *st = sql_parse(mem, text, (u32)strlen(text), &count);
    BindContext ctx = {.role_name = "root", .session_role_name = "root", .database = "postgres", .source = text, .no_params = true,
                       .format = &FORMAT};
    return sql_bind(mem, &ctx, &st[0])->query->targets[0].expr;
}

static void
one_case(const char *expression)
{
    Catch c;
    current_catch = &c;
    column_count = 0;
    if (setjmp(c.jump)) {
        printf("%s %s\n", errcode_sqlstate(c.error.code), c.error.message);
        return;
    }
    BExpr *e = bind(expression);
    const char *folded = answer(e, false), *differs = NULL;
    for (int mode = 1; mode <= MODES; mode++) {
        column_count = 0;
        const char *other = answer(with_columns(e, mode), true);
        differs = strcmp(folded, other) ? other : differs;
    }
    printf(differs ? "%s [columns: %s]\n" : "%s\n", folded, differs);
}

int
main(void)
{
    static char line[65536];
    mem = arena_new("cases", 0, NULL);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        one_case(line);
        fflush(stdout);
        arena_reset(mem);
    }
    arena_free(mem);
    return 0;
}
