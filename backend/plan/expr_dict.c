/*
 * expr_dict.c
 *    Conditions on one text column, evaluated once per dictionary code.
 *
 * The condition is compiled as a block over batches of that one column. For a vector of codes its answers are kept in a table
 * of bytes per state and dictionary; codes met for the first time are evaluated together (only those, so that nothing
 * fails for a text that no row has). Comparison with a
 * constant looks the constant's code up and compares codes. Where the dictionary is large beside the rows seen, or
 * the text came decoded, the block runs over the texts.
 *
 * A code's text never changes, and a snapshot's rows hold only codes published before it: what was found for a
 * dictionary holds for the state's life.
 */
#include "backend/plan/expr_prog.h"
#include "common/store/store.h"

enum { DICT_SMALL = 4096, DICT_ROWS_FACTOR = 4 };

/* ---- compiling ---- */

/* The only column of e, a text; NULL: none, several, another type, parameters that vary are fine, volatile functions
 * are not. */
static bool
one_text_column(const BExpr *e, const BExpr **found)
{
    switch (e->kind) {
    case BX_CONST: case BX_PARAM: return true;
    case BX_COLUMN: case BX_AGG: case BX_GROUP:
        if (e->type != TYPE_TEXT && e->type != TYPE_VARCHAR && e->type != TYPE_BPCHAR && e->type != TYPE_NAME)
            return false;
        if (*found && ((*found)->kind != e->kind || (*found)->rel != e->rel || (*found)->column != e->column ||
                       (*found)->index != e->index))
            return false;
        *found = e;
        return true;
    case BX_FUNC:
        if (func_def(e->func)->volatility >= FUNC_VOLATILE)
            return false;
        break;
    case BX_SUBQUERY: case BX_WINDOW: return false;
    case BX_CAST: case BX_AND: case BX_OR: case BX_NOT: case BX_IS_NULL: case BX_IS_BOOL: case BX_DISTINCT: case BX_CASE: case BX_COALESCE:
    case BX_NULLIF: case BX_GREATEST: case BX_IN: case BX_IN_SET:
    case BX_ARRAY: case BX_SUBSCRIPT: case BX_ANY: case BX_ITEM:
        break;
    }
    for (u32 i = 0; i < e->arg_count; i++)
        if (!one_text_column(e->args[i], found))
            return false;
    return true;
}

/* column = constant, under casts that change nothing. */
static bool
plain_compare(const BExpr *e, const BExpr **ret_constant, bool *ret_negated)
{
    if (e->kind != BX_FUNC || e->arg_count != 2)
        return false;
    FuncOp op = func_def(e->func)->op;
    if (op != FOP_EQ && op != FOP_NE)
        return false;
    for (u32 side = 0; side < 2; side++) {
        const BExpr *column = e->args[side], *other = e->args[1 - side];
        while (column->kind == BX_CAST && column->type == TYPE_TEXT && column->args[0]->type == TYPE_VARCHAR)
            column = column->args[0];
        if (column->kind == BX_COLUMN && (other->kind == BX_CONST || other->kind == BX_PARAM)) {
            *ret_constant = other;
            *ret_negated = op == FOP_NE;
            return true;
        }
    }
    return false;
}

bool
expr_dict(Compiler *c, const BExpr *e, Operand *ret)
{
    const BExpr *leaf = NULL, *constant;
    if (e->kind == BX_IS_NULL || e->kind == BX_COLUMN || !one_text_column(e, &leaf) || !leaf)
        return false;
    ExprInput in;
    DictTest *d = ARENA_NEW(c->arena, DictTest);
    d->column = c->map->find(c->map, leaf, &in);
    if (in.phys != PHYS_STR)
        return false;
    d->slot = c->prog->dict_count++;
    d->constant = REG_NONE;
    if (plain_compare(e, &constant, &d->negated)) {
        d->is_compare = true;
        d->constant = expr_node(c, constant).reg;
    }
    c->dict_leaf = leaf;
    BlockScope scope = expr_block_begin(c, &d->block);
    Operand o = expr_node(c, e);
    expr_block_end(c, scope, o.reg);
    c->dict_leaf = NULL;
    *ret = (Operand){.reg = expr_new_reg(c, PHYS_BOOL, 0), .phys = PHYS_BOOL};
    expr_emit(c, INS_DICT, ret->reg)->dict = d;
    return true;
}

/* ---- running ---- */

/* The block over `count` texts (NULL mask optional): truth + 1, 2 + 1 for NULL … as table entries: 1 false, 2 true, 3
 * NULL. */
static bool
run_texts(ExprState *s, const DictTest *d, Str *texts, u8 *nulls, u32 count, u8 *ret)
{
    Vec column = {.phys = PHYS_STR, .data = texts, .null_mask = nulls};
    Batch batch = {.count = count, .column_count = 1, .columns = &column};
    Frame f = {&batch, count, NULL};
    if (!expr_run(s, &d->block, &f))
        return false;
    const Vec *v = &s->regs[d->block.result].vec;
    for (u32 i = 0; i < count; i++)
        ret[i] = VEC_NULL(v, i) ? 3 : (u8)(VEC_AT(v, u8, i) + 1);
    return true;
}

/* The table of this dictionary, with room for all its codes. */
static void
attend_dict(ExprState *s, DictCache *k, const DictShm *dict)
{
    u32 count = dict_count(dict);
    if (k->known && k->dict_id == dict_id(dict) && k->count >= count)
        return;
    bool same = k->known && k->dict_id == dict_id(dict);
    u32 room = same ? count + count / 4 : count;
    u8 *table = arena_big_alloc(s->arena, MAX(room, 1u));
    memset(table, 0, room);
    if (same)
        memcpy(table, k->table, k->count);
    if (k->table)
        arena_big_free(s->arena, k->table);
    *k = (DictCache){.dict_id = dict_id(dict), .count = room, .table = table, .rows_seen = k->rows_seen,
                     .null_result = k->null_result,
                     .known = true};
}

/* Evaluate the codes of this vector that have no entry yet. */
static bool
learn_codes(ExprState *s, const DictTest *d, DictCache *k, const DictShm *dict, const u32 *codes, const u8 *nulls,
            u32 count)
{
    u32 *fresh = arena_array(s->scratch, count, sizeof *fresh), n = 0;
    Str *texts = arena_array(s->scratch, count, sizeof *texts);
    u8 *answers = arena_alloc(s->scratch, count);
    for (u32 i = 0; i < count; i++) {
        if ((nulls && nulls[i]) || k->table[codes[i]])
            continue;
        k->table[codes[i]] = 1; /* once in the list */
        fresh[n] = codes[i];
        texts[n++] = dict_str(dict, codes[i]);
    }
    if (!n)
        return true;
    bool ok = run_texts(s, d, texts, NULL, n, answers);
    for (u32 i = 0; i < n; i++)
        k->table[fresh[i]] = ok ? answers[i] : 0;
    return ok;
}

/* What the condition gives for a NULL. */
static bool
learn_null(ExprState *s, const DictTest *d, DictCache *k)
{
    Str none = {"", 0};
    u8 null = 1;
    return k->null_result || run_texts(s, d, &none, &null, 1, &k->null_result);
}

/* Table entries to truth values. */
static void
answers_to_truth(ExprState *s, const Ins *ins, u8 *answers, u32 rows)
{
    u8 *ret = expr_result(s, ins->ret, rows, false), any = 0;
    for (u32 i = 0; i < rows; i++) {
        ret[i] = answers[i] == 2;
        any |= answers[i] == 3;
    }
    if (any) {
        u8 *nulls = expr_result_nulls(s, ins->ret, rows);
        for (u32 i = 0; i < rows; i++)
            nulls[i] = answers[i] == 3;
    }
}

static bool
compare_codes(ExprState *s, const Ins *ins, DictCache *k, const DictShm *dict, const u32 *codes, const u8 *nulls,
              u32 rows)
{
    const DictTest *d = ins->dict;
    const Vec *constant = &s->regs[d->constant].vec;
    if (!k->known || k->dict_id != dict_id(dict))
        *k = (DictCache){.dict_id = dict_id(dict), .code = dict_find(dict, *(const Str *)constant->data),
                         .known = true};
    u8 *ret = expr_result(s, ins->ret, rows, false);
    CompareOp op = d->negated ? CMP_NE : CMP_EQ;
    s->kern->compare[PHYS_I32][op].cv(codes, &k->code, ret, rows);
    if (nulls)
        memcpy(expr_result_nulls(s, ins->ret, rows), nulls, rows);
    return true;
}

static bool
run_decoded(ExprState *s, const Ins *ins, const Frame *f)
{
    const DictTest *d = ins->dict;
    Batch batch = {.count = f->batch->count, .column_count = 1, .columns = &f->batch->columns[d->column]};
    Frame alone = {&batch, f->count, f->sel};
    if (!expr_run(s, &d->block, &alone))
        return false;
    s->regs[ins->ret].vec = s->regs[d->block.result].vec;
    return true;
}

bool
expr_run_dict(ExprState *s, const Ins *ins, const Frame *f)
{
    const DictTest *d = ins->dict;
    ensure(d->column < f->batch->column_count);
    const Vec *v = &f->batch->columns[d->column];
    DictCache *k = &s->dicts[d->slot];
    if (!v->codes || v->is_const)
        return run_decoded(s, ins, f);
    bool constant_null = d->is_compare && VEC_NULL(&s->regs[d->constant].vec, 0);
    k->rows_seen += f->count;
    if (constant_null || (!d->is_compare && dict_count(v->dict) > DICT_SMALL &&
                          dict_count(v->dict) > DICT_ROWS_FACTOR * k->rows_seen))
        return run_decoded(s, ins, f);
    const u32 *codes = v->codes;
    const u8 *nulls = v->null_mask;
    if (f->sel) {
        u32 *picked = arena_array(s->scratch, f->count, sizeof *picked);
        kern_gather(codes, f->sel, f->count, sizeof *picked, picked);
        codes = picked;
        if (nulls) {
            u8 *picked_nulls = arena_alloc(s->scratch, f->count);
            kern_gather(nulls, f->sel, f->count, 1, picked_nulls);
            nulls = picked_nulls;
        }
    }
    if (d->is_compare)
        return compare_codes(s, ins, k, v->dict, codes, nulls, f->count);
    attend_dict(s, k, v->dict);
    u8 *answers = arena_alloc(s->scratch, f->count);
    if (nulls) {
        /* codes under a NULL mean nothing: keep them inside the table */
        u32 *safe = arena_array(s->scratch, f->count, sizeof *safe);
        for (u32 i = 0; i < f->count; i++)
            safe[i] = nulls[i] ? 0 : codes[i];
        codes = safe;
        if (!learn_null(s, d, k))
            return false;
    }
    if (k->count == 0)
        memset(answers, 0, f->count);
    else if (!s->kern->map_codes(k->table, codes, answers, f->count)) {
        if (!learn_codes(s, d, k, v->dict, codes, nulls, f->count))
            return false;
        s->kern->map_codes(k->table, codes, answers, f->count);
    }
    if (nulls)
        for (u32 i = 0; i < f->count; i++)
            answers[i] = nulls[i] ? k->null_result : answers[i];
    answers_to_truth(s, ins, answers, f->count);
    return true;
}
