/*
 * parse_call.c
 *    Function calls: the general form with its clauses, and SQL's functions with a syntax of their own, which become ordinary calls
 *    as in PostgreSQL (SUBSTRING(x FROM 1) is substring(x, 1)).
 */
#include "backend/sql/parse.h"

static BFrameBound
read_bound(Parser *p, AExpr **ret_offset)
{
    if (parse_try(p, KW_UNBOUNDED)) {
        if (parse_try(p, KW_PRECEDING))
            return FRAME_UNBOUNDED_PRECEDING;
        parse_expect(p, KW_FOLLOWING);
        return FRAME_UNBOUNDED_FOLLOWING;
    }
    if (parse_try(p, KW_CURRENT)) {
        parse_expect(p, KW_ROW);
        return FRAME_CURRENT;
    }
    *ret_offset = parse_expr(p);
    if (parse_try(p, KW_PRECEDING))
        return FRAME_PRECEDING;
    parse_expect(p, KW_FOLLOWING);
    return FRAME_FOLLOWING;
}

static NORETURN void
bad_frame(Parser *p, const AWindow *w, const char *what)
{
    parse_fail_at(p, w->frame_at, ERR_WINDOWING_ERROR, "%s", what);
}

static void
check_bounds(Parser *p, const AWindow *w)
{
    if (w->start == FRAME_UNBOUNDED_FOLLOWING)
        bad_frame(p, w, "frame start cannot be UNBOUNDED FOLLOWING");
    if (w->end == FRAME_UNBOUNDED_PRECEDING)
        bad_frame(p, w, "frame end cannot be UNBOUNDED PRECEDING");
    if (w->start == FRAME_CURRENT && w->end == FRAME_PRECEDING)
        bad_frame(p, w, "frame starting from current row cannot have preceding rows");
    if (w->start == FRAME_FOLLOWING && (w->end == FRAME_PRECEDING || w->end == FRAME_CURRENT))
        bad_frame(p, w, w->end == FRAME_CURRENT ? "frame starting from following row cannot end with current row"
                                                : "frame starting from following row cannot have preceding rows");
}

/* The bounds of a frame that names its start only end at the current row. */
static void
read_frame(Parser *p, AWindow *w)
{
    w->has_frame = true;
    w->frame_at = parse_at(p);
    w->mode = parse_try(p, KW_RANGE) ? FRAME_RANGE : parse_try(p, KW_ROWS) ? FRAME_ROWS : (parse_expect(p, KW_GROUPS), FRAME_GROUPS);
    if (parse_try(p, KW_BETWEEN)) {
        w->start = read_bound(p, &w->start_offset);
        parse_expect(p, KW_AND);
        w->end = read_bound(p, &w->end_offset);
    } else {
        w->start = read_bound(p, &w->start_offset);
        w->end = FRAME_CURRENT;
        if (w->start == FRAME_FOLLOWING)
            bad_frame(p, w, "frame starting from following row cannot end with current row");
    }
    check_bounds(p, w);
    if (!parse_try(p, KW_EXCLUDE))
        return;
    if (parse_try(p, KW_NO)) {
        parse_expect(p, KW_OTHERS);
        return;
    }
    if (parse_try(p, KW_CURRENT)) {
        parse_expect(p, KW_ROW);
        w->exclude = EXCLUDE_CURRENT;
    } else if (parse_try(p, KW_TIES)) {
        w->exclude = EXCLUDE_TIES;
    } else {
        parse_expect(p, KW_GROUP);
        w->exclude = EXCLUDE_GROUP;
    }
}

AWindow *
parse_window(Parser *p)
{
    AWindow *w = ARENA_NEW(p->arena, AWindow);
    w->at = parse_at(p);
    parse_expect_char(p, '(');
    bool keyword = parse_is(p, KW_PARTITION) || parse_is(p, KW_RANGE) || parse_is(p, KW_ROWS) || parse_is(p, KW_GROUPS);
    if (!keyword && !parse_is(p, KW_ORDER) && !parse_is_char(p, ')'))
        w->base = parse_col_id(p);
    if (parse_try(p, KW_PARTITION)) {
        parse_expect(p, KW_BY);
        parse_expr_list(p, &w->partition);
    }
    if (parse_try(p, KW_ORDER)) {
        parse_expect(p, KW_BY);
        parse_order_by(p, &w->order);
    }
    if (!parse_is_char(p, ')'))
        read_frame(p, w);
    parse_expect_char(p, ')');
    return w;
}

static AWindow *
read_over(Parser *p)
{
    if (parse_is_char(p, '('))
        return parse_window(p);
    AWindow *w = ARENA_NEW(p->arena, AWindow);
    w->at = parse_at(p);
    w->base = parse_col_id(p);
    w->only_base = true;
    return w;
}

static void
read_clauses(Parser *p, AExpr *e)
{
    ACall *c = e->call;
    if (parse_is(p, KW_WITHIN)) {
        u32 at = parse_take(p).at;
        bool ordered = c->order_by.count;
        parse_expect(p, KW_GROUP);
        parse_expect_char(p, '(');
        parse_expect(p, KW_ORDER);
        parse_expect(p, KW_BY);
        parse_order_by(p, &c->order_by);
        parse_expect_char(p, ')');
        c->within_group = true;
        const char *wrong = ordered ? "use multiple ORDER BY clauses" : c->distinct ? "use DISTINCT" : c->variadic ? "use VARIADIC" : NULL;
        if (wrong)
            parse_fail_at(p, at, ERR_SYNTAX_ERROR, "cannot %s with WITHIN GROUP", wrong);
    }
    if (parse_is(p, KW_FILTER)) {
        parse_take(p);
        parse_expect_char(p, '(');
        parse_expect(p, KW_WHERE);
        c->filter = parse_expr(p);
        parse_expect_char(p, ')');
    }
    if (parse_try(p, KW_OVER))
        c->over = read_over(p);
}

static void
read_args(Parser *p, AExpr *e, PtrList *list)
{
    ACall *c = e->call;
    if (parse_try(p, KW_DISTINCT))
        c->distinct = true;
    else
        parse_try(p, KW_ALL);
    do {
        if (parse_try(p, KW_VARIADIC))
            c->variadic = true;
        const Token *next = parse_peek(p, 1);
        if (parse_is_type_func_name(p, 0) && (next->kind == T_COLON_EQUALS || next->kind == T_EQUALS_GREATER)) {
            c->named_args = true;
            AArgName *name = ARENA_NEW(p->arena, AArgName);
            *name = (AArgName){.at = parse_at(p)};
            name->name = parse_take(p).text;
            parse_take(p);
            ptrlist_add(p->arena, &c->arg_names, name);
        } else {
            ptrlist_add(p->arena, &c->arg_names, NULL);
        }
        ptrlist_add(p->arena, list, parse_expr(p));
    } while (!c->variadic && parse_try_char(p, ','));
    if (parse_try(p, KW_ORDER)) {
        parse_expect(p, KW_BY);
        parse_order_by(p, &c->order_by);
    }
}

AExpr *
parse_function(Parser *p, const AName *name)
{
    AExpr *e = parse_new(p, AX_FUNC, name->at);
    PtrList list = {0};
    e->name = name;
    e->call = ARENA_NEW(p->arena, ACall);
    parse_expect_char(p, '(');
    if (parse_try_op(p, "*"))
        e->call->star = true;
    else if (!parse_is_char(p, ')'))
        read_args(p, e, &list);
    parse_expect_char(p, ')');
    parse_set_args(p, e, &list);
    read_clauses(p, e);
    return e;
}

static AExpr *
read_cast(Parser *p, u32 at)
{
    AExpr *arg = parse_expr(p);
    parse_expect(p, KW_AS);
    return parse_cast(p, arg, parse_type(p), at);
}

static AExpr *
read_extract(Parser *p, u32 at)
{
    AExpr *args[2] = {parse_new(p, AX_STRING, parse_at(p)), NULL};
    const Token *t = parse_now(p);
    static const Keyword fields[] = {KW_YEAR, KW_MONTH, KW_DAY, KW_HOUR, KW_MINUTE, KW_SECOND};
    bool known = t->kind == T_IDENT || t->kind == T_STRING;
    for (u32 i = 0; i < COUNT_OF(fields); i++)
        known |= parse_is(p, fields[i]);
    if (!known)
        parse_fail(p);
    args[0]->text = parse_take(p).text;
    parse_expect(p, KW_FROM);
    args[1] = parse_expr(p);
    return parse_call_of(p, "extract", at, 2, args);
}

/* SUBSTRING(x FROM a FOR b), (x FOR b FROM a), (x SIMILAR p ESCAPE e), or an ordinary argument list. */
static AExpr *
read_substring(Parser *p, u32 at)
{
    AExpr *args[3] = {NULL};
    if (parse_is_char(p, ')'))
        return parse_call_of(p, "substring", at, 0, args);
    args[0] = parse_expr(p);
    if (parse_is_char(p, ',') || parse_is_char(p, ')')) {
        PtrList list = {0};
        ptrlist_add(p->arena, &list, args[0]);
        if (parse_try_char(p, ','))
            parse_expr_list(p, &list);
        return parse_call_of(p, "substring", at, list.count, (AExpr **)list.items);
    }
    if (parse_try(p, KW_SIMILAR)) {
        args[1] = parse_expr(p);
        parse_expect(p, KW_ESCAPE);
        args[2] = parse_expr(p);
        return parse_call_of(p, "substring", at, 3, args);
    }
    if (parse_try(p, KW_FROM)) {
        args[1] = parse_expr(p);
        if (!parse_try(p, KW_FOR))
            return parse_call_of(p, "substring", at, 2, args);
        args[2] = parse_expr(p);
        return parse_call_of(p, "substring", at, 3, args);
    }
    parse_expect(p, KW_FOR);
    args[2] = parse_expr(p);
    if (parse_try(p, KW_FROM)) {
        args[1] = parse_expr(p);
    } else {
        args[1] = parse_new(p, AX_INT, NO_LOCATION);
        args[1]->number = 1;
        args[2] = parse_cast(p, args[2], parse_named_type(p, "int4", NO_LOCATION), NO_LOCATION);
    }
    return parse_call_of(p, "substring", at, 3, args);
}

static AExpr *
read_position(Parser *p, u32 at)
{
    AExpr *args[2];
    args[1] = parse_b_expr(p);
    parse_expect(p, KW_IN);
    args[0] = parse_b_expr(p);
    return parse_call_of(p, "position", at, 2, args);
}

static AExpr *
read_overlay(Parser *p, u32 at)
{
    PtrList list = {0};
    ptrlist_add(p->arena, &list, parse_expr(p));
    if (parse_try_char(p, ',')) {
        parse_expr_list(p, &list);
    } else {
        parse_expect(p, KW_PLACING);
        ptrlist_add(p->arena, &list, parse_expr(p));
        parse_expect(p, KW_FROM);
        ptrlist_add(p->arena, &list, parse_expr(p));
        if (parse_try(p, KW_FOR))
            ptrlist_add(p->arena, &list, parse_expr(p));
    }
    return parse_call_of(p, "overlay", at, list.count, (AExpr **)list.items);
}

/* TRIM([BOTH|LEADING|TRAILING] [chars] FROM x, …): the chars come last in the call. */
static AExpr *
read_trim(Parser *p, u32 at)
{
    const char *function = "btrim";
    if (parse_try(p, KW_LEADING))
        function = "ltrim";
    else if (parse_try(p, KW_TRAILING))
        function = "rtrim";
    else
        parse_try(p, KW_BOTH);
    PtrList list = {0};
    AExpr *chars = NULL;
    if (!parse_try(p, KW_FROM)) {
        AExpr *first = parse_expr(p);
        if (parse_try(p, KW_FROM))
            chars = first;
        else
            ptrlist_add(p->arena, &list, first);
    }
    if (list.count == 0 || parse_try_char(p, ','))
        parse_expr_list(p, &list);
    if (chars)
        ptrlist_add(p->arena, &list, chars);
    return parse_call_of(p, function, at, list.count, (AExpr **)list.items);
}

static AExpr *
read_list_form(Parser *p, AExprKind kind, u32 at)
{
    PtrList list = {0};
    AExpr *e = parse_new(p, kind, at);
    parse_expr_list(p, &list);
    parse_set_args(p, e, &list);
    return e;
}

static AExpr *
read_nullif(Parser *p, u32 at)
{
    AExpr *args[2] = {parse_expr(p), NULL};
    parse_expect_char(p, ',');
    args[1] = parse_expr(p);
    return parse_with_args(p, AX_NULLIF, at, 2, args);
}

static AExpr *
read_normalize(Parser *p, u32 at)
{
    AExpr *args[2] = {parse_expr(p), NULL};
    if (!parse_try_char(p, ','))
        return parse_call_of(p, "normalize", at, 1, args);
    if (!parse_is(p, KW_NFC) && !parse_is(p, KW_NFD) && !parse_is(p, KW_NFKC) && !parse_is(p, KW_NFKD))
        parse_fail(p);
    args[1] = parse_new(p, AX_STRING, parse_at(p));
    args[1]->text = parse_take(p).text;
    return parse_call_of(p, "normalize", at, 2, args);
}

/* CURRENT_DATE and its kin, with (precision) where that is allowed. */
static AExpr *
read_value_function(Parser *p, Keyword k)
{
    AExpr *e = parse_new(p, AX_VALUE, parse_take(p).at);
    e->number = (i32)k;
    bool precise = k == KW_CURRENT_TIME || k == KW_CURRENT_TIMESTAMP || k == KW_LOCALTIME || k == KW_LOCALTIMESTAMP;
    if (precise && parse_try_char(p, '(')) {
        if (parse_now(p)->kind != T_INT)
            parse_fail(p);
        AExpr *n = parse_new(p, AX_INT, parse_at(p));
        n->number = parse_take(p).number;
        parse_expect_char(p, ')');
        e = parse_with_args(p, AX_VALUE, e->at, 1, &n);
        e->number = (i32)k;
    }
    return e;
}

static AExpr *
read_unsupported_form(Parser *p, u32 at)
{
    AExpr *e = parse_new(p, AX_UNSUPPORTED, at);
    e->text = parse_take(p).text;
    parse_try(p, KW_FOR);
    parse_skip_parens(p);
    return e;
}

/* The forms with a parenthesis; `at` is the keyword, which is taken already with the parenthesis. */
static AExpr *
read_form(Parser *p, Keyword k, u32 at)
{
    AExpr *e;
    switch ((int)k) {
    case KW_CAST:
        return read_cast(p, at);
    case KW_EXTRACT:
        return read_extract(p, at);
    case KW_SUBSTRING:
        return read_substring(p, at);
    case KW_POSITION:
        return read_position(p, at);
    case KW_OVERLAY:
        return read_overlay(p, at);
    case KW_TRIM:
        return read_trim(p, at);
    case KW_NULLIF:
        return read_nullif(p, at);
    case KW_COALESCE:
        return read_list_form(p, AX_COALESCE, at);
    case KW_NORMALIZE:
        return read_normalize(p, at);
    default:
        e = read_list_form(p, AX_GREATEST, at);
        e->negated = k == KW_LEAST;
        return e;
    }
}

AExpr *
parse_special_function(Parser *p)
{
    Keyword k = parse_now(p)->keyword;
    u32 at = parse_at(p);
    const Token *next;
    switch ((int)k) {
    case KW_CURRENT_DATE: case KW_CURRENT_TIME: case KW_CURRENT_TIMESTAMP: case KW_LOCALTIME: case KW_LOCALTIMESTAMP:
    case KW_CURRENT_ROLE: case KW_CURRENT_USER: case KW_SESSION_USER: case KW_USER: case KW_CURRENT_CATALOG:
        return read_value_function(p, k);
    case KW_CURRENT_SCHEMA:
        next = parse_peek(p, 1);
        return next->kind == T_CHAR && next->ch == '(' ? NULL : read_value_function(p, k);
    case KW_COLLATION:
        if (!parse_is_ahead(p, 1, KW_FOR))
            return NULL;
        parse_take(p);
        return read_unsupported_form(p, at);
    case KW_CAST: case KW_EXTRACT: case KW_SUBSTRING: case KW_POSITION: case KW_OVERLAY: case KW_TRIM: case KW_NULLIF:
    case KW_COALESCE: case KW_GREATEST: case KW_LEAST: case KW_NORMALIZE: {
        next = parse_peek(p, 1);
        if (k != KW_CAST && (next->kind != T_CHAR || next->ch != '('))
            return NULL;
        parse_take(p);
        parse_expect_char(p, '(');
        AExpr *e = read_form(p, k, at);
        parse_expect_char(p, ')');
        if (e->kind == AX_FUNC)
            e->at = e->op_at = at;
        if (e->call)
            read_clauses(p, e);
        return e;
    }
    case KW_TREAT: case KW_XMLCONCAT: case KW_XMLELEMENT: case KW_XMLEXISTS: case KW_XMLFOREST: case KW_XMLPARSE:
    case KW_XMLPI: case KW_XMLROOT: case KW_XMLSERIALIZE:
        next = parse_peek(p, 1);
        return next->kind == T_CHAR && next->ch == '(' ? read_unsupported_form(p, at) : NULL;
    default:
        return NULL;
    }
}
