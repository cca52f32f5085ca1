/*
 * expr_in.c
 *    x IN (many constants): a hash set made once, looked into per row.
 *
 * Keys are integers (also dates, timestamps, oids and 8-byte decimals brought to x's scale) or text; other types, and
 * short lists, are compared one by one.
 */
#include "backend/plan/expr_prog.h"
#include "backend/plan/valueset.h"

enum { SET_MIN_ITEMS = 9 };

typedef struct ExprSet {
    PhysType phys;
    bool has_null;
    ValueSet values;
} ExprSet;

bool
expr_set_has_null(const ExprSet *set)
{
    return set->has_null;
}

static i64
number_at(PhysType phys, const void *data, u32 i)
{
    switch ((int)phys) {
    case PHYS_I16: return ((const i16 *)data)[i];
    case PHYS_I32: return ((const i32 *)data)[i];
    default: return ((const i64 *)data)[i];
    }
}

void
expr_set_test(const ExprSet *set, const Vec *v, u32 count, u8 *ret, u8 *ret_nulls)
{
    for (u32 i = 0; i < count; i++) {
        u8 null = VEC_NULL(v, i), hit = 0;
        if (!null)
            hit = set->phys == PHYS_STR ? valueset_has_text(&set->values, ((const Str *)v->data)[i])
                                        : valueset_has_number(&set->values, number_at(set->phys, v->data, i));
        ret[i] = hit;
        if (ret_nulls)
            ret_nulls[i] = null | (set->has_null && !hit);
    }
}

/* An item as a value of x's form. false: no value of x can be equal to it. */
static bool
item_value(Compiler *c, Operand x, const BExpr *item, RegInfo *ret)
{
    Operand o = expr_constant(c, &item->value);
    if (x.phys == PHYS_D64) {
        static const BoundParam EQUAL = {CMP_EQ};
        o = expr_row_cast(c, o, x.phys, x.scale, decimal_bound_row, &EQUAL);
        const i64 *v = (const i64 *)expr_reg(c, o.reg)->value;
        if (*v == INT64_MAX || *v == -INT64_MAX)
            return false;
    }
    *ret = *expr_reg(c, o.reg);
    return true;
}

bool
expr_in_set(Compiler *c, const BExpr *e, Operand x, Operand *ret)
{
    bool integer = x.phys == PHYS_I16 || x.phys == PHYS_I32 || x.phys == PHYS_I64 || x.phys == PHYS_D64;
    const FuncDef *eq = func_def(e->func);
    if (e->arg_count - 1 < SET_MIN_ITEMS || !(integer || x.phys == PHYS_STR) || x.steady || eq->args[0] != eq->args[1] ||
        !type_bytes_tell(e->args[0]->type))
        return false;
    for (u32 k = 1; k < e->arg_count; k++)
        if (e->args[k]->kind != BX_CONST || (x.phys != PHYS_D64 && !e->args[k]->value.is_null &&
                                            phys_of(e->args[k]->type, e->args[k]->typmod) != x.phys))
            return false;
    ExprSet *set = ARENA_NEW(c->arena, ExprSet);
    set->phys = x.phys;
    valueset_init(&set->values, c->arena, e->arg_count, !integer);
    for (u32 k = 1; k < e->arg_count; k++) {
        RegInfo item;
        if (e->args[k]->value.is_null)
            set->has_null = true;
        else if (item_value(c, x, e->args[k], &item)) {
            if (integer)
                valueset_add_number(&set->values, number_at(x.phys, item.value, 0));
            else
                valueset_add_text(&set->values, *(const Str *)(const void *)item.value);
        }
    }
    *ret = (Operand){.reg = expr_new_reg(c, PHYS_BOOL, 0), .phys = PHYS_BOOL};
    Ins *i = expr_emit(c, INS_IN_SET, ret->reg);
    i->set = set;
    i->args[0] = x.reg;
    i->arg_count = 1;
    return true;
}
