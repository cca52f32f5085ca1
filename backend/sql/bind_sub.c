/*
 * bind_sub.c
 *    Subqueries in expressions: scalar, EXISTS, IN and its spellings; references to outer queries.
 *
 * A subquery is bound in a frame of its own. A column that only an outer query has is captured by the frame: inside it is a parameter, outside
 * the captured expression is an argument of the subquery. Without captures it is one value for the whole statement: a scalar and EXISTS become a parameter that is
 * computed before the statement runs, IN a set that is made then. These parameters stand behind the client's (EXTRA_PARAM).
 * The subqueries of a statement are numbered as they are complete, inner ones first.
 */
#include "backend/sql/bind.h"

/* ---- references outwards ---- */

static BExpr *
extra_param(Binder *b, TypeId type, i32 typmod, u32 position, u32 number)
{
    BExpr *e = bind_new(b, BX_PARAM, type, position);
    e->typmod = typmod;
    e->index = EXTRA_PARAM + number;
    return e;
}

/* `e` belongs to the query around the frame; inside it is a parameter. */
static BExpr *
capture(Binder *b, SubFrame *f, BExpr *e)
{
    for (u32 i = 0; i < f->captures.count; i++)
        if (bexpr_equal(LIST_AT(f->captures, BExpr, i), e))
            return extra_param(b, e->type, e->typmod, e->position, f->numbers[i]);
    if (f->captures.count == COUNT_OF(f->numbers))
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a subquery may use at most %u columns of outer queries", (u32)COUNT_OF(f->numbers));
    f->numbers[f->captures.count] = b->extra_count;
    ptrlist_add(b->arena, &f->captures, e);
    return extra_param(b, e->type, e->typmod, e->position, b->extra_count++);
}

BExpr *
bind_outer_column(Scope *s, const AName *n)
{
    if (!s->outer)
        return NULL;
    BExpr *e = bind_column_here(s->outer, n);
    if (!e)
        e = bind_outer_column(s->outer, n);
    return e ? capture(s->b, s->frame, e) : NULL;
}

static bool
has_capture(const SubFrame *f, const BExpr *e)
{
    for (u32 i = 0; e->kind == BX_PARAM && i < f->captures.count; i++)
        if (e->index == EXTRA_PARAM + f->numbers[i])
            return true;
    for (u32 i = 0; i < e->arg_count; i++)
        if (has_capture(f, e->args[i]))
            return true;
    return false;
}

static bool
has_own_column(const BExpr *e)
{
    if (e->kind == BX_COLUMN)
        return true;
    for (u32 i = 0; i < e->arg_count; i++)
        if (has_own_column(e->args[i]))
            return true;
    return false;
}

bool
bind_is_outer(const Scope *s, BExpr *const *parts, u32 count)
{
    bool captures = false, own = false;
    for (u32 i = 0; s->frame && i < count; i++) {
        captures |= parts[i] && has_capture(s->frame, parts[i]);
        own |= parts[i] && has_own_column(parts[i]);
    }
    return captures && !own;
}

/* ---- the subquery ---- */

static BQuery *
bind_framed(Scope *s, const ASelect *sel, SubFrame *frame)
{
    Binder *b = s->b;
    Scope *outer = b->outer;
    SubFrame *before = b->frame;
    *frame = (SubFrame){0};
    b->outer = s;
    b->frame = frame;
    BQuery *q = bind_query(b, sel, true);
    b->outer = outer;
    b->frame = before;
    return q;
}

/* Entered in the statement's list. */
static BSub *
new_sub(Binder *b, BSubKind kind, BQuery *q, const SubFrame *frame, u32 test_count)
{
    BSub *sub = ARENA_NEW(b->arena, BSub);
    *sub = (BSub){.kind = kind, .query = q, .test_count = test_count, .capture_count = frame->captures.count};
    sub->captures = ARENA_ARRAY(b->arena, u32, frame->captures.count);
    sub->capture_types = ARENA_ARRAY(b->arena, TypeId, frame->captures.count);
    sub->capture_typmods = ARENA_ARRAY(b->arena, i32, frame->captures.count);
    for (u32 i = 0; i < frame->captures.count; i++) {
        sub->captures[i] = frame->numbers[i];
        sub->capture_types[i] = LIST_AT(frame->captures, BExpr, i)->type;
        sub->capture_typmods[i] = LIST_AT(frame->captures, BExpr, i)->typmod;
    }
    ptrlist_add(b->arena, &b->subs, sub);
    return sub;
}

/* ---- LATERAL ---- */

/* rel becomes the rows of q, run for each row that the frame captures from. */
static void
set_lateral(Binder *b, BRel *rel, BQuery *q, const SubFrame *frame)
{
    rel->kind = BREL_LATERAL;
    rel->query = q;
    rel->sub = b->subs.count;
    new_sub(b, BSUB_ROWS, q, frame, 0);
    rel->lateral_count = frame->captures.count;
    rel->lateral = (BExpr **)frame->captures.items;
}

BRel *
bind_lateral(Scope *s, const ASelect *sel)
{
    SubFrame frame;
    u32 before = s->visible_from;
    s->visible_from = 0;
    BQuery *q = bind_framed(s, sel, &frame);
    s->visible_from = before;
    BRel *rel = ARENA_NEW(s->b->arena, BRel);
    rel->kind = BREL_SUBQUERY;
    rel->query = q;
    if (frame.captures.count)
        set_lateral(s->b, rel, q, &frame);
    return rel;
}

static BExpr *
capture_columns(Binder *b, SubFrame *frame, BExpr *e)
{
    if (e->kind == BX_COLUMN)
        return capture(b, frame, e);
    for (u32 i = 0; i < e->arg_count; i++)
        e->args[i] = capture_columns(b, frame, e->args[i]);
    return e;
}

void
bind_make_lateral(Scope *s, BRel *rel)
{
    Binder *b = s->b;
    SubFrame frame = {0};
    for (u32 i = 0; i < rel->call_count; i++)
        rel->calls[i] = capture_columns(b, &frame, rel->calls[i]);
    for (u32 r = 0; r < rel->row_count; r++)
        for (u32 c = 0; c < rel->column_count; c++)
            rel->rows[r][c] = capture_columns(b, &frame, rel->rows[r][c]);
    if (!frame.captures.count)
        return;
    BQuery *q = ARENA_NEW(b->arena, BQuery);
    q->rel_count = 1;
    q->rels = ARENA_ARRAY(b->arena, BRel, 1);
    q->rels[0] = *rel;
    q->from = ARENA_NEW(b->arena, BFrom);
    q->from->kind = BFROM_REL;
    q->target_count = rel->column_count;
    q->targets = ARENA_ARRAY(b->arena, BTarget, rel->column_count);
    for (u32 c = 0; c < rel->column_count; c++) {
        BExpr *e = bind_new(b, BX_COLUMN, rel->columns[c].type, 0);
        e->typmod = rel->columns[c].typmod;
        e->column = (u16)c;
        q->targets[c] = (BTarget){.expr = e, .name = rel->columns[c].name, .typmod = e->typmod};
    }
    set_lateral(b, rel, q, &frame);
    rel->call_count = rel->row_count = 0;
}

/* ---- subqueries of expressions ---- */

/* Entered in the statement's list; its arguments are `tests`, then what it captured. */
static BExpr *
sub_node(Scope *s, BSubKind kind, BQuery *q, const SubFrame *frame, BExpr *const *tests, u32 test_count, TypeId type, i32 typmod, u32 position)
{
    Binder *b = s->b;
    u32 number = b->subs.count;
    BSub *sub = new_sub(b, kind, q, frame, test_count);
    if (!sub->capture_count && kind != BSUB_IN) {
        sub->result = b->extra_count++;
        return extra_param(b, type, typmod, position, sub->result);
    }
    BExpr *e = bind_new(b, sub->capture_count ? BX_SUBQUERY : BX_IN_SET, type, position);
    e->typmod = typmod;
    e->index = number;
    e->arg_count = test_count + sub->capture_count;
    e->args = ARENA_ARRAY(b->arena, BExpr *, e->arg_count);
    for (u32 i = 0; i < test_count; i++)
        e->args[i] = tests[i];
    for (u32 i = 0; i < sub->capture_count; i++)
        e->args[test_count + i] = LIST_AT(frame->captures, BExpr, i);
    return e;
}

static BExpr *
not_node(Binder *b, BExpr *e)
{
    BExpr *n = bind_new(b, BX_NOT, TYPE_BOOL, e->position);
    n->arg_count = 1;
    n->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    n->args[0] = e;
    return n;
}

BExpr *
bind_scalar(Scope *s, const AExpr *e, u32 column, u32 column_count)
{
    SubFrame frame;
    BQuery *q = bind_framed(s, e->select, &frame);
    if (bquery_visible(q) != column_count)
        bind_fail(s->b, e->at, ERR_SYNTAX_ERROR,
                  column_count == 1 ? "subquery must return only one column" : "number of columns does not match number of values");
    const BExpr *t = q->targets[column].expr;
    u32 number = s->b->subs.count;
    BExpr *r = sub_node(s, BSUB_SCALAR, q, &frame, NULL, 0, t->type, t->typmod, bind_position(s->b, e->at));
    LIST_AT(s->b->subs, BSub, number)->column = column;
    return r;
}

static BExpr *
bind_exists(Scope *s, const AExpr *e)
{
    SubFrame frame;
    BQuery *q = bind_framed(s, e->select, &frame);
    return sub_node(s, BSUB_EXISTS, q, &frame, NULL, 0, TYPE_BOOL, -1, bind_position(s->b, e->at));
}

/* Both sides of "=" in one type. */
static void
make_comparable(Scope *s, BExpr **left, BExpr **right, u32 at)
{
    Binder *b = s->b;
    bind_equality(b, left, right, at);
    if ((*left)->type == (*right)->type)
        return;
    BExpr *both[] = {*left, *right};
    TypeId type = coerce_common_type(both, 2, "IN");
    *left = coerce_to_common(b, *left, type, "IN");
    *right = coerce_to_common(b, *right, type, "IN");
}

/* The set of an IN subquery compares bytes. */
static void
need_bytes(Scope *s, TypeId type, u32 at)
{
    if (!type_bytes_tell(type))
        bind_unsupported(s->b, at, arena_printf(s->b->arena, "IN (subquery) of type %s", type_name(type)));
}

/* x IN (…), x = ANY (…): args[0]; a row of as many expressions as the subquery has columns. */
static BExpr *
bind_in_query(Scope *s, const AExpr *e, bool negated)
{
    Binder *b = s->b;
    SubFrame frame;
    const AExpr *left = e->args[0];
    u32 n = left->kind == AX_ROW ? left->arg_count : 1, at = e->op_at ? e->op_at : e->at;
    BExpr **tests = ARENA_ARRAY(b->arena, BExpr *, n);
    for (u32 i = 0; i < n; i++)
        tests[i] = bind_expr(s, left->kind == AX_ROW ? left->args[i] : left);
    BQuery *q = bind_framed(s, e->select, &frame);
    u32 m = bquery_visible(q);
    if (m != n)
        bind_fail(b, at, ERR_SYNTAX_ERROR, m > n ? "subquery has too many columns" : "subquery has too few columns");
    for (u32 i = 0; i < n; i++)
        make_comparable(s, &tests[i], &q->targets[i].expr, at);
    for (u32 i = 0; i < n; i++)
        need_bytes(s, tests[i]->type, at);
    BExpr *r = sub_node(s, BSUB_IN, q, &frame, tests, n, TYPE_BOOL, -1, bind_position(b, at));
    return negated ? not_node(b, r) : r;
}

/* ARRAY(SELECT …) */
static BExpr *
bind_array_query(Scope *s, const AExpr *e)
{
    Binder *b = s->b;
    SubFrame frame;
    BQuery *q = bind_framed(s, e->select, &frame);
    if (bquery_visible(q) != 1)
        bind_fail(b, e->at, ERR_SYNTAX_ERROR, "subquery must return only one column");
    const BExpr *t = q->targets[0].expr;
    TypeId type = type_is_array(t->type) ? t->type : type_array(t->type);
    if (!type)
        bind_fail(b, e->at, ERR_UNDEFINED_OBJECT, "could not find array type for data type %s", bind_type_name(t->type));
    return sub_node(s, BSUB_ARRAY, q, &frame, NULL, 0, type, t->typmod, bind_position(b, e->at));
}

/* x < ALL (SELECT …) and the like: over the array of its values. */
static BExpr *
bind_any_query(Scope *s, const AExpr *e)
{
    if (e->args[0]->kind == AX_ROW)
        bind_unsupported(s->b, e->at, "a row value");
    BExpr *left = bind_expr(s, e->args[0]), *array = bind_array_query(s, e);
    return bind_any_of(s->b, e, left, array);
}

BExpr *
bind_subquery(Scope *s, const AExpr *e)
{
    switch (e->kind) {
    case AX_SUBQUERY:
        return bind_scalar(s, e, 0, 1);
    case AX_EXISTS:
        return bind_exists(s, e);
    case AX_IN_QUERY:
        return bind_in_query(s, e, e->negated);
    case AX_ARRAY:
        return bind_array_query(s, e);
    default: /* AX_QUANTIFIED */
        if (!e->negated && str_eq(e->text, STR_LIT("=")))
            return bind_in_query(s, e, false);
        if (e->negated && str_eq(e->text, STR_LIT("<>")))
            return bind_in_query(s, e, true);
        return bind_any_query(s, e);
    }
}
