/*
 * expr_run.c
 *    Running a program: one instruction after the other over the vectors of a frame.
 *
 * A vector kernel computes every lane; when it reports trouble the lanes are tried one by one, NULLs left out, to
 * find the first row that really failed (or none). Errors come back as false with s->error; the doors throw.
 */
#include "backend/interrupt.h"
#include "backend/plan/expr_prog.h"
#include "backend/throw.h"
#include "common/store/store.h"

static const u8 NO_NULLS[VEC_SIZE];
static u8 ONE_NULL[1] = {1};

/* ---- registers ---- */
void *
expr_result(ExprState *s, Reg r, u32 rows, bool is_const)
{
    RegState *reg = &s->regs[r];
    const RegInfo *info = &s->prog->regs[r];
    if (rows > 1 && !reg->data)
        reg->data = arena_alloc(s->arena, (size_t)VEC_SIZE * phys_width(info->phys));
    reg->vec = (Vec){.phys = info->phys, .scale = info->scale, .is_const = is_const, .data = rows > 1 ? reg->data
                     : reg->one};
    return reg->vec.data;
}

u8 *
expr_result_nulls(ExprState *s, Reg r, u32 rows)
{
    RegState *reg = &s->regs[r];
    if (rows > 1 && !reg->null_mask)
        reg->null_mask = arena_alloc(s->arena, VEC_SIZE);
    reg->vec.null_mask = rows > 1 ? reg->null_mask : &reg->one_null;
    return reg->vec.null_mask;
}

static void
null_result(ExprState *s, Reg r)
{
    void *data = expr_result(s, r, 1, true);
    memset(data, 0, 24);
    *expr_result_nulls(s, r, 1) = 1;
}

/* A vector of `count` values behind a constant, in the arena of the call. */
static void
spread(ExprState *s, Vec *v, u32 count)
{
    u32 width = phys_width(v->phys);
    void *data = arena_alloc(s->scratch, (size_t)MAX(count, 1u) * width);
    kern_fill(v->data, count, width, data);
    if (v->null_mask && *v->null_mask) {
        u8 *nulls = arena_alloc(s->scratch, MAX(count, 1u));
        memset(nulls, 1, count);
        v->null_mask = nulls;
    } else
        v->null_mask = NULL;
    v->data = data;
    v->is_const = false;
}

static bool
is_const_null(const Vec *v)
{
    return v->is_const && v->null_mask && *v->null_mask;
}

/* NULL of strict operations: of `rows` rows when any argument is. false: an argument is NULL for every row. */
static bool
combine_nulls(ExprState *s, const Ins *ins, u32 rows)
{
    const u8 *found = NULL;
    u8 *mask = NULL;
    for (u32 k = 0; k < ins->arg_count; k++) {
        const Vec *v = &s->regs[ins->args[k]].vec;
        if (!v->null_mask)
            continue;
        if (v->is_const) {
            if (*v->null_mask)
                return false;
            continue;
        }
        if (!found) {
            found = v->null_mask;
            continue;
        }
        u8 *to = mask ? mask : expr_result_nulls(s, ins->ret, rows);
        s->kern->mask_or(found, v->null_mask, to, rows);
        found = mask = to;
    }
    if (found && !mask)
        memcpy(expr_result_nulls(s, ins->ret, rows), found, rows);
    return true;
}

/* ---- errors of vector kernels ---- */
static bool
status_error(ExprState *s, const Ins *ins, u32 status)
{
    Error *e = &s->error;
    if (status & KERN_DIV_ZERO)
        return error_set(e, ERR_DIVISION_BY_ZERO, "division by zero");
    if (status & KERN_UNDERFLOW)
        return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "value out of range: underflow");
    switch ((int)ins->type) {
    case TYPE_INT2: return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "smallint out of range");
    case TYPE_INT4: return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
    case TYPE_INT8: return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "bigint out of range");
    case TYPE_NUMERIC: return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    default: return error_set(e, ERR_NUMERIC_OUT_OF_RANGE, "value out of range: overflow");
    }
}

/* Lane by lane after a status: the first lane that is not NULL and at fault makes the error. a's or b's lanes may be
 * constants. */
static bool
find_fault(ExprState *s, const Ins *ins, MapKernel kernel, const Vec *a, const Vec *b, u32 rows)
{
    const Vec *ret = &s->regs[ins->ret].vec;
    u32 aw = phys_width(a->phys), bw = b ? phys_width(b->phys) : 0;
    _Alignas(16) u8 one[24];
    for (u32 i = 0; i < rows; i++) {
        if (ret->null_mask && ret->null_mask[i])
            continue;
        const u8 *x = (const u8 *)a->data + (a->is_const ? 0 : (size_t)i * aw);
        const u8 *y = b ? (const u8 *)b->data + (b->is_const ? 0 : (size_t)i * bw) : NULL;
        u32 status = kernel(x, y, one, 1);
        if (status)
            return status_error(s, ins, status);
    }
    return true;
}

/* ---- loads ---- */
void
expr_load(ExprState *s, Reg ret, u32 column, const Frame *f)
{
    ensure(column < f->batch->column_count);
    const Vec *v = &f->batch->columns[column];
    RegState *reg = &s->regs[ret];
    bool coded = v->phys == PHYS_STR && !v->data;
    u32 rows = v->is_const ? 1 : f->count;
    ensure(v->phys == s->prog->regs[ret].phys);
    if ((v->is_const || !f->sel) && !coded) {
        reg->vec = *v;
        return;
    }
    const u16 *sel = v->is_const ? NULL : f->sel;
    void *data = expr_result(s, ret, rows, v->is_const);
    if (coded) {
        const u32 *codes = v->codes;
        u32 *picked = sel ? arena_alloc(s->scratch, (size_t)rows * sizeof *picked) : NULL;
        if (sel) {
            kern_gather(codes, sel, rows, sizeof *codes, picked);
            codes = picked;
        }
        dict_decode(v->dict, codes, rows, data);
    } else
        kern_gather(v->data, sel, rows, phys_width(v->phys), data);
    if (v->null_mask && sel)
        kern_gather(v->null_mask, sel, rows, 1, expr_result_nulls(s, ret, rows));
    else
        reg->vec.null_mask = v->null_mask;
}

/* ---- kernels ---- */
static bool
run_map(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec;
    if (is_const_null(a)) {
        null_result(s, ins->ret);
        return true;
    }
    u32 rows = a->is_const ? 1 : f->count;
    void *data = expr_result(s, ins->ret, rows, a->is_const);
    combine_nulls(s, ins, rows);
    u32 status = ins->map(a->data, NULL, data, rows);
    return !status || find_fault(s, ins, ins->map, a, NULL, rows);
}

static bool
run_map2(ExprState *s, const Ins *ins, const Frame *f)
{
    Vec a = s->regs[ins->args[0]].vec, b = s->regs[ins->args[1]].vec;
    if (is_const_null(&a) || is_const_null(&b)) {
        null_result(s, ins->ret);
        return true;
    }
    bool both = a.is_const && b.is_const;
    u32 rows = both ? 1 : f->count, status;
    void *data = expr_result(s, ins->ret, rows, both);
    combine_nulls(s, ins, rows);
    if (a.is_const && !both && ins->shapes.vc)
        status = ins->shapes.vc(b.data, a.data, data, rows);
    else if (b.is_const && !both)
        status = ins->shapes.cv(a.data, b.data, data, rows);
    else {
        if (a.is_const && !both)
            spread(s, &a, rows);
        status = ins->shapes.cc(a.data, b.data, data, rows);
    }
    return !status || find_fault(s, ins, ins->shapes.cc, &a, &b, rows);
}

static bool
run_rows(ExprState *s, const Ins *ins, const Frame *f)
{
    KernCall call = {.arg_count = ins->arg_count, .def = ins->def, .param = ins->param, .scratch = s->scratch,
                     .format = s->env->format, .now_us = s->env->now_us,
                     .keep = s->arena, .kept = &s->kept[ins->index], .stop = interrupt_pending, .err = &s->error};
    bool all_const = true;
    for (u32 k = 0; k < ins->arg_count; k++) {
        call.args[k] = &s->regs[ins->args[k]].vec;
        all_const &= call.args[k]->is_const;
    }
    u32 rows = all_const ? 1 : f->count;
    expr_result(s, ins->ret, rows, all_const);
    if (!ins->strict)
        memset(expr_result_nulls(s, ins->ret, rows), 0, rows);
    else if (!combine_nulls(s, ins, rows)) {
        null_result(s, ins->ret);
        return true;
    } else if (!s->regs[ins->ret].vec.null_mask)
        memset(expr_result_nulls(s, ins->ret, rows), 0, rows);
    else /* lanes under NULL are not called, but must hold something */
        memset(s->regs[ins->ret].vec.data, 0, (size_t)rows * phys_width(s->regs[ins->ret].vec.phys));
    call.ret = &s->regs[ins->ret].vec;
    call.count = rows;
    if (kern_call_rows(ins->row, &call, ins->strict))
        return true;
    if (s->error.code == ERR_QUERY_CANCELED)
        interrupt_check(); /* says what it was that stopped it */
    return false;
}

/* ---- truth values ---- */
typedef struct Truths {
    const u8 *values, *nulls;
} Truths;

/* Bytes for every row, constants spread. */
static Truths
truths_of(ExprState *s, Reg r, u32 rows)
{
    Vec v = s->regs[r].vec;
    if (v.is_const && rows > 1)
        spread(s, &v, rows);
    return (Truths){v.data, v.null_mask ? v.null_mask : NO_NULLS};
}

static bool
run_and_or(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec, *b = &s->regs[ins->args[1]].vec;
    bool both = a->is_const && b->is_const;
    u32 rows = both ? 1 : f->count;
    Truths x = truths_of(s, ins->args[0], rows), y = truths_of(s, ins->args[1], rows);
    bool nulls = x.nulls != NO_NULLS || y.nulls != NO_NULLS;
    u8 *ret = expr_result(s, ins->ret, rows, both);
    u8 *ret_nulls = nulls ? expr_result_nulls(s, ins->ret, rows) : NULL;
    if (!nulls && ins->kind == INS_AND) {
        memcpy(ret, x.values, rows);
        s->kern->mask_and(ret, y.values, rows);
    } else if (!nulls)
        s->kern->mask_or(x.values, y.values, ret, rows);
    else if (ins->kind == INS_AND)
        s->kern->logic_and(x.values, x.nulls, y.values, y.nulls, ret, ret_nulls, rows);
    else
        s->kern->logic_or(x.values, x.nulls, y.values, y.nulls, ret, ret_nulls, rows);
    return true;
}

static bool
run_not(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec;
    if (is_const_null(a)) {
        null_result(s, ins->ret);
        return true;
    }
    u32 rows = a->is_const ? 1 : f->count;
    u8 *ret = expr_result(s, ins->ret, rows, a->is_const);
    combine_nulls(s, ins, rows);
    s->kern->mask_not(a->data, ret, rows);
    return true;
}

static bool
run_is_null(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec;
    u32 rows = a->is_const ? 1 : f->count;
    u8 *ret = expr_result(s, ins->ret, rows, a->is_const);
    if (!a->null_mask)
        memset(ret, ins->negated, rows);
    else if (ins->negated)
        s->kern->mask_not(a->null_mask, ret, rows);
    else
        memcpy(ret, a->null_mask, rows);
    return true;
}

static bool
run_is_bool(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec;
    u32 rows = a->is_const ? 1 : f->count;
    const u8 *values = a->data, *nulls = a->null_mask ? a->null_mask : NO_NULLS;
    u8 *ret = expr_result(s, ins->ret, rows, a->is_const);
    for (u32 i = 0; i < rows; i++) {
        u8 is = ins->index == 2 ? nulls[i] : (u8)(!nulls[i] & (values[i] == ins->index));
        ret[i] = is ^ ins->negated;
    }
    return true;
}

static bool
run_distinct(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec, *b = &s->regs[ins->args[1]].vec, *eq = &s->regs[ins->args[2]].vec;
    bool all = a->is_const && b->is_const;
    u32 rows = all ? 1 : f->count;
    u8 *ret = expr_result(s, ins->ret, rows, all);
    for (u32 i = 0; i < rows; i++) {
        u8 an = VEC_NULL(a, i), bn = VEC_NULL(b, i);
        u8 differ = an | bn ? an ^ bn : !VEC_AT(eq, u8, i);
        ret[i] = differ ^ ins->negated;
    }
    return true;
}

static bool
run_nullif(ExprState *s, const Ins *ins, const Frame *f)
{
    Vec a = s->regs[ins->args[0]].vec;
    const Vec *eq = &s->regs[ins->args[1]].vec;
    bool both = a.is_const && eq->is_const;
    u32 rows = both ? 1 : f->count, width = phys_width(a.phys);
    if (a.is_const && !both)
        spread(s, &a, rows);
    memcpy(expr_result(s, ins->ret, rows, both), a.data, (size_t)rows * width);
    u8 *nulls = expr_result_nulls(s, ins->ret, rows);
    for (u32 i = 0; i < rows; i++)
        nulls[i] = VEC_NULL(&a, i) | (!VEC_NULL(eq, i) && VEC_AT(eq, u8, i));
    return true;
}

static bool
run_greatest(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec, *b = &s->regs[ins->args[1]].vec;
    bool both = a->is_const && b->is_const;
    u32 rows = both ? 1 : f->count, width = phys_width(a->phys);
    KernOrder order = kern_order((PhysType)ins->index);
    u8 *ret = expr_result(s, ins->ret, rows, both), *nulls = expr_result_nulls(s, ins->ret, rows);
    for (u32 i = 0; i < rows; i++) {
        u8 an = VEC_NULL(a, i), bn = VEC_NULL(b, i);
        const u8 *x = (const u8 *)a->data + (a->is_const ? 0 : (size_t)i * width);
        const u8 *y = (const u8 *)b->data + (b->is_const ? 0 : (size_t)i * width);
        int c = an || bn ? 0 : order(x, y);
        bool take_b = an || (!bn && (ins->negated ? c > 0 : c < 0));
        memcpy(ret + (size_t)i * width, take_b ? y : x, width);
        nulls[i] = an & bn;
    }
    return true;
}

static bool
run_in_set(ExprState *s, const Ins *ins, const Frame *f)
{
    const Vec *a = &s->regs[ins->args[0]].vec;
    if (is_const_null(a)) {
        null_result(s, ins->ret);
        return true;
    }
    u32 rows = a->is_const ? 1 : f->count;
    u8 *ret = expr_result(s, ins->ret, rows, a->is_const), *nulls = NULL;
    if (a->null_mask || expr_set_has_null(ins->set))
        nulls = expr_result_nulls(s, ins->ret, rows);
    expr_set_test(ins->set, a, rows, ret, nulls);
    return true;
}

/* ---- blocks over some of the rows ---- */

/* Positions within a frame, and the frame that they make. */
typedef struct Subset {
    Frame frame;
    u16 *at;  /* positions in the outer frame's dense registers */
    u16 *sel; /* the same in the batch */
} Subset;

static Subset
subset_new(ExprState *s, const Frame *outer)
{
    u32 room = MAX(outer->count, 1u);
    Subset r = {.frame = {.batch = outer->batch}};
    r.at = arena_array(s->scratch, room, sizeof *r.at);
    r.sel = arena_array(s->scratch, room, sizeof *r.sel);
    r.frame.sel = r.sel;
    return r;
}

/* Fill the frame's batch positions from `at`. */
static void
subset_close(Subset *r, const Frame *outer, u32 count)
{
    r->frame.count = count;
    for (u32 i = 0; i < count; i++)
        r->sel[i] = outer->sel ? outer->sel[r->at[i]] : r->at[i];
}

/* Scatter a block's result to the rows of the subset. */
static void
scatter_result(ExprState *s, Reg from, const Subset *rows, void *data, u8 *nulls)
{
    Vec v = s->regs[from].vec;
    u32 n = rows->frame.count;
    if (v.is_const)
        spread(s, &v, n);
    kern_scatter(v.data, rows->at, n, phys_width(v.phys), data);
    if (v.null_mask)
        kern_scatter(v.null_mask, rows->at, n, 1, nulls);
    else
        for (u32 i = 0; i < n; i++)
            nulls[rows->at[i]] = 0;
}

static bool
run_guard(ExprState *s, const Ins *ins, const Frame *f)
{
    u32 rows = f->count, n = 0;
    bool is_or = ins->negated;
    Truths left = truths_of(s, ins->args[0], rows);
    u8 *ret = expr_result(s, ins->ret, rows, false), *nulls = expr_result_nulls(s, ins->ret, rows);
    Subset open = subset_new(s, f);
    for (u32 i = 0; i < rows; i++) {
        bool decided = !left.nulls[i] && left.values[i] == is_or;
        open.at[n] = (u16)i;
        n += !decided;
    }
    subset_close(&open, f, n);
    u8 *right = arena_alloc(s->scratch, rows), *right_nulls = arena_alloc(s->scratch, rows);
    memset(right, !is_or, rows);
    memset(right_nulls, 0, rows);
    if (n) {
        if (!expr_run(s, &ins->blocks[0], &open.frame))
            return false;
        scatter_result(s, ins->blocks[0].result, &open, right, right_nulls);
    }
    if (is_or)
        s->kern->logic_or(left.values, left.nulls, right, right_nulls, ret, nulls, rows);
    else
        s->kern->logic_and(left.values, left.nulls, right, right_nulls, ret, nulls, rows);
    return true;
}

/* The rows of `rest` whose condition is true go to `taken`; the others stay in `rest`. */
static void
split_rows(ExprState *s, Reg condition, Subset *rest, Subset *taken, const Frame *f)
{
    u32 n = rest->frame.count, out = 0, stay = 0;
    Truths t = truths_of(s, condition, n);
    for (u32 i = 0; i < n; i++) {
        u16 at = rest->at[i];
        bool yes = t.values[i] && !t.nulls[i];
        taken->at[out] = at;
        out += yes;
        rest->at[stay] = at;
        stay += !yes;
    }
    subset_close(taken, f, out);
    subset_close(rest, f, stay);
}

static void
all_rows(Subset *r, const Frame *f)
{
    for (u32 i = 0; i < f->count; i++)
        r->at[i] = (u16)i;
    subset_close(r, f, f->count);
}

static bool
run_case(ExprState *s, const Ins *ins, const Frame *f)
{
    Subset rest = subset_new(s, f), taken = subset_new(s, f);
    all_rows(&rest, f);
    void *data = expr_result(s, ins->ret, f->count, false);
    u8 *nulls = expr_result_nulls(s, ins->ret, f->count);
    for (u32 k = 0; k + 1 < ins->block_count && rest.frame.count; k += 2) {
        if (!expr_run(s, &ins->blocks[k], &rest.frame))
            return false;
        split_rows(s, ins->blocks[k].result, &rest, &taken, f);
        if (!taken.frame.count)
            continue;
        if (!expr_run(s, &ins->blocks[k + 1], &taken.frame))
            return false;
        scatter_result(s, ins->blocks[k + 1].result, &taken, data, nulls);
    }
    const Block *otherwise = &ins->blocks[ins->block_count - 1];
    if (rest.frame.count) {
        if (!expr_run(s, otherwise, &rest.frame))
            return false;
        scatter_result(s, otherwise->result, &rest, data, nulls);
    }
    return true;
}

static bool
run_coalesce(ExprState *s, const Ins *ins, const Frame *f)
{
    Subset rest = subset_new(s, f);
    all_rows(&rest, f);
    void *data = expr_result(s, ins->ret, f->count, false);
    u8 *nulls = expr_result_nulls(s, ins->ret, f->count);
    for (u32 k = 0; k < ins->block_count && rest.frame.count; k++) {
        if (!expr_run(s, &ins->blocks[k], &rest.frame))
            return false;
        scatter_result(s, ins->blocks[k].result, &rest, data, nulls);
        u32 stay = 0;
        for (u32 i = 0; i < rest.frame.count; i++) {
            u16 at = rest.at[i];
            rest.at[stay] = at;
            stay += nulls[at];
        }
        subset_close(&rest, f, stay);
    }
    return true;
}

/* ---- subqueries ---- */

static bool
run_subquery(ExprState *s, const Ins *ins, const Frame *f)
{
    const SubArgs *a = ins->param;
    const Vec **args = ARENA_ARRAY(s->scratch, const Vec *, a->count);
    Vec ret = s->regs[ins->ret].vec;
    for (u32 i = 0; i < a->count; i++)
        args[i] = &s->regs[a->regs[i]].vec;
    ret.data = expr_result(s, ins->ret, f->count, false);
    ret.null_mask = expr_result_nulls(s, ins->ret, f->count);
    return s->env->subquery(s->env->sub_ctx, ins->index, args, f->count, s->scratch, &ret, &s->error);
}

/* ---- the loop ---- */
static void
run_param(ExprState *s, const Ins *ins)
{
    const Value *v = expr_param(s->env, ins->index);
    ensure(v);
    if (v->is_null) {
        null_result(s, ins->ret);
        return;
    }
    void *data = expr_result(s, ins->ret, 1, true);
    value_to_phys(v, s->prog->regs[ins->ret].phys, 0, data);
}

static bool
run_ins(ExprState *s, const Ins *ins, const Frame *f)
{
    switch (ins->kind) {
    case INS_LOAD: expr_load(s, ins->ret, ins->index, f); return true;
    case INS_PARAM: run_param(s, ins); return true;
    case INS_MAP: return run_map(s, ins, f);
    case INS_MAP2: return run_map2(s, ins, f);
    case INS_ROWS: return run_rows(s, ins, f);
    case INS_SESSION: return expr_run_session(s, ins, f);
    case INS_AND: case INS_OR: return run_and_or(s, ins, f);
    case INS_NOT: return run_not(s, ins, f);
    case INS_GUARD: return run_guard(s, ins, f);
    case INS_IS_NULL: return run_is_null(s, ins, f);
    case INS_IS_BOOL: return run_is_bool(s, ins, f);
    case INS_DISTINCT: return run_distinct(s, ins, f);
    case INS_NULLIF: return run_nullif(s, ins, f);
    case INS_CASE: return run_case(s, ins, f);
    case INS_COALESCE: return run_coalesce(s, ins, f);
    case INS_GREATEST: return run_greatest(s, ins, f);
    case INS_IN_SET: return run_in_set(s, ins, f);
    case INS_DICT: return expr_run_dict(s, ins, f);
    case INS_SUBQUERY: return run_subquery(s, ins, f);
    case INS_ARRAY: return expr_run_array(s, ins, f);
    case INS_SUBSCRIPT: return expr_run_subscript(s, ins, f);
    case INS_ANY: return expr_run_any(s, ins, f);
    }
    return true;
}

bool
expr_run(ExprState *s, const Block *b, const Frame *f)
{
    assert(f->count <= VEC_SIZE);
    for (u32 i = 0; i < b->count; i++)
        if (!run_ins(s, &b->ins[i], f))
            return false;
    return true;
}

/* ---- the doors ---- */
ExprState *
expr_state(Arena *a, const ExprProg *p, const ExprEnv *env_of)
{
    ExprState *s = ARENA_NEW(a, ExprState);
    s->arena = a;
    s->prog = p;
    s->env = env_of;
    s->kern = kern_table();
    s->regs = ARENA_ARRAY(a, RegState, MAX(p->reg_count, 1u));
    for (u32 i = 0; i < p->reg_count; i++) {
        RegInfo *info = &p->regs[i];
        RegState *r = &s->regs[i];
        r->data = NULL;
        r->null_mask = NULL;
        r->vec = (Vec){.phys = info->phys, .scale = info->scale, .is_const = info->is_const, .data = info->value,
                       .null_mask = info->is_null ? ONE_NULL : NULL};
    }
    s->dicts = arena_zalloc(a, p->dict_count * sizeof *s->dicts);
    s->anys = arena_zalloc(a, p->any_count * sizeof *s->anys);
    s->kept = arena_zalloc(a, p->kept_count * sizeof *s->kept);
    return s;
}

bool
expr_try(ExprState *s, Arena *scratch, const Batch *b, Vec *ret)
{
    Frame f = {b, b->count, b->sel};
    s->scratch = scratch;
    if (f.count == 0) {
        *ret = (Vec){.phys = s->prog->phys, .scale = s->prog->scale, .data = (void *)(uintptr_t)NO_NULLS};
        return true;
    }
    if (!expr_run(s, &s->prog->root, &f))
        return false;
    *ret = s->regs[s->prog->root.result].vec;
    ret->codes = NULL;
    ret->dict = NULL;
    if (ret->is_const)
        spread(s, ret, f.count);
    return true;
}

void
expr_eval(ExprState *s, Arena *scratch, const Batch *b, Vec *ret)
{
    if (!expr_try(s, scratch, b, ret))
        err_rethrow(&s->error);
}

/* Masks of conditions that take all rows of the frame are ANDed while they follow one another; then positions are
 * picked once. */
u32
expr_filter(ExprState *s, Arena *scratch, const Batch *b, u16 *sel_out)
{
    const ExprProg *p = s->prog;
    Frame f = {b, b->count, b->sel};
    s->scratch = scratch;
    u8 *mask = arena_alloc(scratch, MAX(b->count, 1u));
    for (u32 i = 0; i < p->conjunct_count && f.count;) {
        u32 first = i;
        do {
            if (!expr_run(s, &p->conjuncts[i], &f))
                err_rethrow(&s->error);
            Truths t = truths_of(s, p->conjuncts[i].result, f.count);
            if (i == first && t.nulls == NO_NULLS)
                memcpy(mask, t.values, f.count);
            else if (i == first)
                s->kern->mask_true(t.values, t.nulls, mask, f.count);
            else {
                s->kern->mask_and(mask, t.values, f.count);
                if (t.nulls != NO_NULLS)
                    for (u32 k = 0; k < f.count; k++)
                        mask[k] &= t.nulls[k] ^ 1;
            }
            i++;
        } while (i < p->conjunct_count && !p->conjunct_alone[i] && !p->conjunct_alone[first]);
        f.count = s->kern->select(mask, f.count, f.sel, sel_out);
        f.sel = sel_out;
    }
    return f.count;
}

Value
expr_value(Arena *a, const BExpr *e, const ExprEnv *env_of)
{
    if (e->kind == BX_CONST)
        return e->value;
    if (e->kind == BX_PARAM) {
        const Value *v = expr_param(env_of, e->index);
        ensure(v);
        return *v;
    }
    ExprProg *p = expr_compile(a, e, NULL);
    ExprState *s = expr_state(a, p, env_of);
    Batch one = {.count = 1};
    Vec v;
    expr_eval(s, a, &one, &v);
    if (VEC_NULL(&v, 0))
        return (Value){.type = e->type, .typmod = e->typmod, .is_null = true};
    return value_from_phys(e->type, e->typmod, v.phys, v.scale, v.data);
}
