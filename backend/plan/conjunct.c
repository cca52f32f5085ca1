/*
 * conjunct.c
 *    Looking at bound expressions: conjuncts, which relations and columns they touch, whether they are constant.
 */
#include "backend/plan/planner.h"

void
conjunct_add(Planner *p, ConjunctList *list, const BExpr *e)
{
    if (list->count == list->capacity) {
        u32 capacity = list->capacity ? list->capacity * 2 : 8;
        const BExpr **items = ARENA_ARRAY(p->arena, const BExpr *, capacity);
        if (list->count)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = e;
}

void
conjuncts_split(Planner *p, ConjunctList *list, const BExpr *e)
{
    if (!e)
        return;
    if (e->kind == BX_AND)
        for (u32 i = 0; i < e->arg_count; i++)
            conjuncts_split(p, list, e->args[i]);
    else if (e->kind == BX_OR)
        disjuncts_split(p, list, e);
    else
        conjunct_add(p, list, e);
}

const BExpr *
conjuncts_join(Planner *p, const BExpr *const *items, u32 count)
{
    if (!count)
        return NULL;
    if (count == 1)
        return items[0];
    BExpr *e = ARENA_NEW(p->arena, BExpr);
    e->kind = BX_AND;
    e->type = TYPE_BOOL;
    e->typmod = -1;
    e->arg_count = count;
    e->args = ARENA_ARRAY(p->arena, BExpr *, count);
    for (u32 i = 0; i < count; i++)
        e->args[i] = (BExpr *)(uintptr_t)items[i];
    return e;
}

/* ---- columns ---- */

enum { SYSTEM_COLUMNS = 3 };

static u32
column_bit(const FromPlanner *f, u16 rel, u16 column)
{
    if (column >= BCOL_CTID)
        return f->first[rel] + f->query->rels[rel].column_count + (column - BCOL_CTID);
    return f->first[rel] + column;
}

ColumnSet
column_set_new(FromPlanner *f)
{
    if (!f->first) {
        f->first = ARENA_ARRAY(f->p->arena, u32, f->query->rel_count + 1);
        for (u32 r = 0; r < f->query->rel_count; r++) {
            f->first[r] = f->bit_count;
            f->bit_count += f->query->rels[r].column_count + SYSTEM_COLUMNS;
        }
    }
    u32 words = (f->bit_count + 63) / 64;
    return (ColumnSet){words, ARENA_ARRAY(f->p->arena, u64, MAX(words, 1u))};
}

ColumnSet
column_set_copy(FromPlanner *f, const ColumnSet *s)
{
    ColumnSet c = column_set_new(f);
    memcpy(c.words, s->words, s->word_count * sizeof *s->words);
    return c;
}

void
column_set_add(const FromPlanner *f, ColumnSet *s, u16 rel, u16 column)
{
    u32 bit = column_bit(f, rel, column);
    s->words[bit / 64] |= 1ull << (bit % 64);
}

bool
column_set_has(const FromPlanner *f, const ColumnSet *s, u16 rel, u16 column)
{
    u32 bit = column_bit(f, rel, column);
    return s->words[bit / 64] >> (bit % 64) & 1;
}

void
column_set_add_expr(const FromPlanner *f, ColumnSet *s, const BExpr *e)
{
    if (!e)
        return;
    if (e->kind == BX_COLUMN)
        column_set_add(f, s, e->rel, e->column);
    for (u32 i = 0; i < e->arg_count; i++)
        column_set_add_expr(f, s, e->args[i]);
}

/* ---- relations ---- */

void
relset_add(RelSet *s, u32 rel)
{
    if (rel >= PLAN_MAX_RELS)
        err_throw(ERR_STATEMENT_TOO_COMPLEX, "too many relations in one query");
    s->words[rel / 64] |= 1ull << (rel % 64);
}

void
relset_add_expr(RelSet *s, const BExpr *e)
{
    if (e->kind == BX_COLUMN)
        relset_add(s, e->rel);
    for (u32 i = 0; i < e->arg_count; i++)
        relset_add_expr(s, e->args[i]);
}

void
relset_union(RelSet *s, const RelSet *of)
{
    for (u32 i = 0; i < COUNT_OF(s->words); i++)
        s->words[i] |= of->words[i];
}

bool
relset_empty(const RelSet *s)
{
    u64 any = 0;
    for (u32 i = 0; i < COUNT_OF(s->words); i++)
        any |= s->words[i];
    return !any;
}

bool
relset_within(const RelSet *s, const RelSet *of)
{
    u64 outside = 0;
    for (u32 i = 0; i < COUNT_OF(s->words); i++)
        outside |= s->words[i] & ~of->words[i];
    return !outside;
}

bool
relset_meets(const RelSet *a, const RelSet *b)
{
    u64 both = 0;
    for (u32 i = 0; i < COUNT_OF(a->words); i++)
        both |= a->words[i] & b->words[i];
    return both != 0;
}

/* ---- properties ---- */

bool
expr_is_fixed(const BExpr *e)
{
    switch (e->kind) {
    case BX_COLUMN:
    case BX_AGG:
    case BX_GROUP:
    case BX_SUBQUERY:
    case BX_WINDOW:
        return false;
    case BX_FUNC:
        if (func_def(e->func)->volatility >= FUNC_VOLATILE)
            return false;
        break;
    default:
        break;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        if (!expr_is_fixed(e->args[i]))
            return false;
    return true;
}

bool
expr_comparison(const BExpr *e, PlanOp *ret)
{
    static const struct { const char *name; PlanOp op; } ops[] = {
        {"=", OP_EQ}, {"<>", OP_NE}, {"<", OP_LT}, {"<=", OP_LE}, {">", OP_GT}, {">=", OP_GE}};
    if (e->kind != BX_FUNC || e->arg_count != 2 || e->type != TYPE_BOOL)
        return false;
    const FuncDef *d = func_def(e->func);
    if (!d->is_operator)
        return false;
    for (u32 i = 0; i < COUNT_OF(ops); i++)
        if (strcmp(ops[i].name, d->name) == 0) {
            *ret = ops[i].op;
            return true;
        }
    return false;
}

/* Functions that cannot fail on any text. */
static bool
is_harmless(const FuncDef *d)
{
    static const char *const names[] = {"=", "<>", "<", "<=", ">", ">=", "~~", "!~~", "~~*", "!~~*", "||", "lower", "upper", "length",
                                        "char_length", "btrim", "ltrim", "rtrim", "strpos", "left", "right", "starts_with"};
    for (u32 i = 0; i < COUNT_OF(names); i++)
        if (strcmp(names[i], d->name) == 0)
            return true;
    return false;
}

static int
integer_rank(TypeId t)
{
    return t == TYPE_INT2 ? 1 : t == TYPE_INT4 ? 2 : t == TYPE_INT8 ? 3 : 0;
}

static bool
is_text(TypeId t)
{
    return t == TYPE_TEXT || t == TYPE_VARCHAR || t == TYPE_NAME;
}

bool
expr_cannot_fail_on_text(const BExpr *e)
{
    if (expr_is_fixed(e))
        return true;
    if (e->kind == BX_SUBQUERY || (e->kind == BX_FUNC && !is_harmless(func_def(e->func))))
        return false;
    if (e->kind == BX_CAST && !(is_text(e->type) && is_text(e->args[0]->type) && e->typmod < 0))
        return false;
    for (u32 i = 0; i < e->arg_count; i++)
        if (!expr_cannot_fail_on_text(e->args[i]))
            return false;
    return true;
}

const BExpr *
expr_strip_widening(const BExpr *e)
{
    while (e->kind == BX_CAST) {
        const BExpr *from = e->args[0];
        bool text = is_text(e->type) && is_text(from->type);
        int to_rank = integer_rank(e->type), from_rank = integer_rank(from->type);
        bool number = e->type == TYPE_NUMERIC && (from_rank || from->type == TYPE_NUMERIC);
        if (e->typmod >= 0 || !(text || number || (from_rank && to_rank > from_rank)))
            break;
        e = from;
    }
    return e;
}

bool
expr_fits_key(TypeId column, TypeId value)
{
    bool numbers = (integer_rank(column) || column == TYPE_NUMERIC) && (integer_rank(value) || value == TYPE_NUMERIC);
    return column == value || numbers || (is_text(column) && is_text(value));
}

bool
key_class_of(const PlanSlot *l, const PlanSlot *r, KeyClass *ret)
{
    static const KeyClass classes[PHYS_COUNT] = {[PHYS_BOOL] = KEY_INT, [PHYS_I16] = KEY_INT, [PHYS_I32] = KEY_INT, [PHYS_I64] = KEY_INT,
                                                 [PHYS_F32] = KEY_FLOAT, [PHYS_F64] = KEY_FLOAT, [PHYS_D64] = KEY_NUM, [PHYS_D128] = KEY_NUM,
                                                 [PHYS_NUM] = KEY_NUM, [PHYS_STR] = KEY_TEXT,
                                                 [PHYS_PAIR] = KEY_PAIR,
                                                 [PHYS_INTERVAL] = KEY_INTERVAL};
    if (!type_bytes_tell(l->type)) /* equal values may differ in their bytes */
        return false;
    KeyClass a = classes[l->phys], b = classes[r->phys];
    if (l->phys == PHYS_D64 && r->phys == PHYS_D64 && l->scale == r->scale)
        a = b = KEY_INT;
    bool numbers = (a == KEY_INT || a == KEY_NUM) && (b == KEY_INT || b == KEY_NUM);
    if (a != b && !numbers)
        return false;
    *ret = a == KEY_INT && b == KEY_NUM ? KEY_NUM : a;
    return true;
}
