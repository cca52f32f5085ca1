/*
 * pred.c
 *    Scan predicates: a comparison with a constant becomes a range of stored integers; a condition on a text column becomes a truth table over
 *    its dictionary (made once, shared by the threads) where the dictionary is smaller than what is scanned.
 */
#include "backend/exec/pred.h"

#include "common/type/numeric.h"

/* The constant in units of the stored integers: its floor, and whether it is exactly that. */
typedef struct ScaledConst {
    NumKind kind;
    i128 floor;
    bool exact;
} ScaledConst;

static const i128 FAR = (i128)1 << 100; /* beyond every stored integer */

static ScaledConst
scale_num(const Num *n, u32 scale)
{
    ScaledConst c = {.kind = (NumKind)n->kind, .exact = true};
    if (n->kind != NUM_FINITE)
        return c;
    i128 v = num_int(n);
    if (n->scale > scale) {
        i128 unit = POW10_I128[MIN(n->scale - scale, 38u)];
        i128 q = v / unit, r = v % unit;
        c.exact = r == 0;
        c.floor = r < 0 ? q - 1 : q;
        return c;
    }
    for (u32 i = n->scale; i < scale && v < FAR && v > -FAR; i++)
        v *= 10;
    c.floor = v;
    return c;
}

static ScaledConst
scale_value(const Value *v, u32 scale)
{
    Num n;
    switch (v->type) {
    case TYPE_BOOL:
        return (ScaledConst){NUM_FINITE, v->b, true};
    case TYPE_CHAR:
        return (ScaledConst){NUM_FINITE, v->i16v, true};
    case TYPE_NUMERIC:
        return scale_num(&v->num, scale);
    case TYPE_INT2:
        n = num_from_i64(v->i16v);
        return scale_num(&n, scale);
    case TYPE_INT4:
        n = num_from_i64(v->i32v);
        return scale_num(&n, scale);
    case TYPE_INT8:
        n = num_from_i64(v->i64v);
        return scale_num(&n, scale);
    case TYPE_DATE:
        return (ScaledConst){NUM_FINITE, v->i32v, true};
    default:
        return (ScaledConst){NUM_FINITE, v->i64v, true};
    }
}

static void
domain_of(PhysType phys, i128 *min, i128 *max)
{
    switch (phys) {
    case PHYS_BOOL: *min = 0; *max = 1; return;
    case PHYS_I16: *min = INT16_MIN; *max = INT16_MAX; return;
    case PHYS_I32: *min = INT32_MIN; *max = INT32_MAX; return;
    case PHYS_D64: *min = INT64_MIN + 1; *max = INT64_MAX; return;
    case PHYS_D128: *min = 1 - POW10_I128[38]; *max = POW10_I128[38] - 1; return;
    default: *min = INT64_MIN; *max = INT64_MAX; return;
    }
}

static RangeTest
between(PhysType phys, i128 lo, i128 hi, bool and_nan)
{
    i128 min, max;
    domain_of(phys, &min, &max);
    RangeTest t = {.phys = phys};
    lo = MAX(lo, min);
    hi = MIN(hi, max);
    if (and_nan && phys == PHYS_D64) { /* up to the largest, then on to NaN, which follows it when integers wrap */
        t.lo = lo > max ? (u64)D64_NAN : (u64)(i64)lo;
        t.span = (u64)D64_NAN - t.lo;
        return t;
    }
    if (lo > hi) {
        t.none = true;
        return t;
    }
    t.lo = (u64)(i64)lo;
    t.span = (u64)(i64)hi - (u64)(i64)lo;
    return t;
}

static RangeTest
all_but(PhysType phys, i128 v)
{
    i128 min, max;
    domain_of(phys, &min, &max);
    RangeTest t = {.phys = phys, .lo = 0, .span = UINT64_MAX};
    if (v >= min && v <= max) {
        t.lo = (u64)(i64)v + 1;
        t.span = UINT64_MAX - 1;
        if (phys == PHYS_BOOL)
            t.span = 0xfe;
        else if (phys == PHYS_I16)
            t.span = 0xfffe;
        else if (phys == PHYS_I32)
            t.span = 0xfffffffe;
    }
    return t;
}

static RangeTest
special_test(PhysType phys, PlanOp op, NumKind kind)
{
    RangeTest none = {.phys = phys, .none = true}, nan = between(phys, FAR, FAR, true);
    RangeTest finite = between(phys, -FAR, FAR, false), all = between(phys, -FAR, FAR, true);
    if (kind == NUM_NEG_INF)
        return op == OP_EQ || op == OP_LT || op == OP_LE ? none : all;
    if (kind == NUM_POS_INF)
        return op == OP_EQ ? none : op == OP_NE ? all : op == OP_LT || op == OP_LE ? finite : nan;
    switch (op) {
    case OP_EQ: case OP_GE: return nan;
    case OP_NE: case OP_LT: return finite;
    case OP_LE: return all;
    default: return none;
    }
}

RangeTest
range_test(PhysType phys, u32 scale, PlanOp op, const Value *v)
{
    RangeTest none = {.phys = phys, .none = true};
    if (v->is_null)
        return none;
    ScaledConst c = scale_value(v, phys == PHYS_D64 ? scale : 0);
    if (c.kind != NUM_FINITE)
        return special_test(phys, op, c.kind);
    switch (op) {
    case OP_EQ: return c.exact ? between(phys, c.floor, c.floor, false) : none;
    case OP_NE: return c.exact ? all_but(phys, c.floor) : between(phys, -FAR, FAR, true);
    case OP_LT: return between(phys, -FAR, c.exact ? c.floor - 1 : c.floor, false);
    case OP_LE: return between(phys, -FAR, c.floor, false);
    case OP_GT: return between(phys, c.floor + 1, FAR, true);
    case OP_GE: return between(phys, c.exact ? c.floor : c.floor + 1, FAR, true);
    }
    return none;
}

static i64
stored_int(PhysType phys, const void *at)
{
    switch (phys) {
    case PHYS_BOOL: return *(const u8 *)at;
    case PHYS_I16: return *(const i16 *)at;
    case PHYS_I32: return *(const i32 *)at;
    default: return *(const i64 *)at;
    }
}

bool
range_may_pass(const RangeTest *t, const void *min, const void *max)
{
    i64 lo = (i64)t->lo, hi = (i64)(t->lo + t->span);
    if (t->none)
        return false;
    i64 least = stored_int(t->phys, min), most = stored_int(t->phys, max);
    i128 min_value, max_value;
    domain_of(t->phys, &min_value, &max_value);
    bool wraps = hi < lo || hi > max_value || t->span >= (u64)INT64_MAX; /* all but one value: on past the largest to the smallest */
    if (t->phys == PHYS_D64 && hi == D64_NAN)
        return most >= lo; /* an upward range; blocks with a NaN have no min and max */
    return wraps || (most >= lo && least <= hi);
}

void
range_mask(const RangeTest *t, const Vec *v, u32 count, bool first, u8 *mask)
{
    if (t->none) {
        memset(mask, 0, count);
        return;
    }
    switch (phys_width(t->phys)) {
    case 1: mask_range_u8(v->data, count, (u8)t->lo, (u8)t->span, first, mask); break;
    case 2: mask_range_u16(v->data, count, (u16)t->lo, (u16)t->span, first, mask); break;
    case 4: mask_range_u32(v->data, count, (u32)t->lo, (u32)t->span, first, mask); break;
    default: mask_range_u64(v->data, count, t->lo, t->span, first, mask); break;
    }
    if (v->null_mask)
        mask_and_not(v->null_mask, count, mask);
}

bool
key_value(const Value *v, const ColumnDef *c, Value *ret)
{
    *ret = *v;
    if (v->is_null)
        return false;
    TypeId to = (TypeId)c->type;
    bool number = v->type == TYPE_INT2 || v->type == TYPE_INT4 || v->type == TYPE_INT8 || v->type == TYPE_NUMERIC;
    bool scaled = c->phys == PHYS_D64 || c->phys == PHYS_D128;
    if ((v->type == to && !scaled) || !number) {
        ret->type = to;
        return true;
    }
    if (to == TYPE_NUMERIC && !scaled) {
        ret->num = num_from_i64(v->type == TYPE_INT2 ? v->i16v : v->type == TYPE_INT4 ? v->i32v : v->i64v);
        ret->type = to;
        return true;
    }
    if (to == TYPE_NUMERIC && v->type == to && v->num.kind == NUM_NAN)
        return true;
    ScaledConst x = scale_value(v, scaled ? c->scale : 0);
    i128 min, max;
    domain_of((PhysType)c->phys, &min, &max);
    if (x.kind != NUM_FINITE || !x.exact || x.floor < min || x.floor > max)
        return false;
    ret->type = to;
    if (scaled) /* a value with more decimals than the column has was not exact */
        ret->num = num_make(x.floor, c->scale);
    else if (to == TYPE_INT2)
        ret->i16v = (i16)x.floor;
    else if (to == TYPE_INT4)
        ret->i32v = (i32)x.floor;
    else
        ret->i64v = (i64)x.floor;
    return true;
}

/* ---- text ---- */

static void
decide_codes(TextTruth *t, TextPredState *s, Worker *w, const DictShm *d, u8 *truth, u32 count)
{
    for (u32 at = 0; at < count; at += VEC_SIZE) {
        u32 n = MIN((u32)VEC_SIZE, count - at), codes[VEC_SIZE];
        for (u32 i = 0; i < n; i++)
            codes[i] = at + i;
        dict_decode(d, codes, n, s->decoded);
        Vec v = {.phys = PHYS_STR, .data = s->decoded};
        Batch b = {.count = n, .column_count = 1, .columns = &v};
        u32 passed = expr_filter(s->state, w->scratch, &b, s->sel);
        for (u32 i = 0; i < passed; i++)
            truth[at + s->sel[i]] = 1;
        worker_check(w);
    }
    t->dict = d;
    t->count = count;
    t->truth = truth;
}

static bool
decide_null(TextPredState *s, Worker *w)
{
    u8 null = 1;
    s->decoded[0] = (Str){"", 0};
    Vec v = {.phys = PHYS_STR, .data = s->decoded, .null_mask = &null};
    Batch b = {.count = 1, .column_count = 1, .columns = &v};
    return expr_filter(s->state, w->scratch, &b, s->sel) == 1;
}

void
text_pred_thread(TextPredState *s, Worker *w, const TextPred *t)
{
    if (t->by_code)
        return;
    s->state = expr_state(w->arena, t->pred->prog, &w->exec->ctx->env);
    s->decoded = arena_alloc(w->arena, VEC_SIZE * sizeof(Str));
    s->sel = arena_alloc(w->arena, VEC_SIZE * sizeof(u16));
}

void
text_pred_open(Exec *e, TextPred *t, const PlanPred *pred, const DictShm *usual, u64 rows)
{
    Worker *w = &e->workers[0];
    *t = (TextPred){.pred = pred};
    if (pred->equal_text) {
        Value v = plan_value(e->arena, pred->equal_text, &e->ctx->env);
        t->by_code = true;
        t->none = v.is_null;
        t->equal = v.str;
        return;
    }
    TextPredState s = {0};
    text_pred_thread(&s, w, t);
    t->null_true = decide_null(&s, w);
    u32 count = usual ? dict_count(usual) : 0;
    if (count && count <= rows / 2 + 1024)
        decide_codes(&t->shared, &s, w, usual, exec_alloc(w, count), count);
    arena_reset(w->scratch);
}

static const TextTruth *
truth_for(const TextPred *t, TextPredState *s, Worker *w, const DictShm *d, u64 rows)
{
    u32 count = dict_count(d);
    if (t->shared.dict == d && t->shared.count)
        return &t->shared;
    if (s->own.dict == d)
        return s->own.truth ? &s->own : NULL;
    s->own = (TextTruth){.dict = d};
    if (count > rows / 2 + 1024)
        return NULL;
    decide_codes(&s->own, s, w, d, exec_alloc(w, count), count);
    return &s->own;
}

static void
mask_text_slow(TextPredState *s, Worker *w, const Vec *v, u32 count, bool first, u8 *mask)
{
    Vec one = *v;
    if (one.codes && !one.data) {
        for (u32 i = 0; i < count; i++)
            s->decoded[i] = VEC_NULL(v, i) ? (Str){"", 0} : dict_str(v->dict, v->codes[i]);
        one.data = s->decoded;
        one.codes = NULL;
    }
    Batch b = {.count = count, .column_count = 1, .columns = &one};
    u32 passed = expr_filter(s->state, w->scratch, &b, s->sel);
    u8 pass[VEC_SIZE];
    memset(pass, 0, count);
    for (u32 i = 0; i < passed; i++)
        pass[s->sel[i]] = 1;
    for (u32 i = 0; i < count; i++)
        mask[i] = first ? pass[i] : mask[i] & pass[i];
}

void
text_pred_mask(const TextPred *t, TextPredState *s, Worker *w, const Vec *v, u32 count, u64 rows, bool first, u8 *mask)
{
    if (t->none) {
        memset(mask, 0, count);
        return;
    }
    if (t->by_code) {
        if (s->own.dict != v->dict) {
            s->own.dict = v->dict;
            s->own.code = dict_find(v->dict, t->equal);
        }
        if (s->own.code == DICT_NONE)
            memset(mask, 0, count);
        else
            mask_range_u32(v->codes, count, s->own.code, 0, first, mask);
        if (v->null_mask)
            mask_and_not(v->null_mask, count, mask);
        return;
    }
    const TextTruth *truth = truth_for(t, s, w, v->dict, rows);
    if (!truth) {
        mask_text_slow(s, w, v, count, first, mask);
        return;
    }
    /* codes above what was decided were published later and are in no row of this snapshot; under a NULL anything may stand */
    if (!v->null_mask) {
        mask_codes(v->codes, count, truth->truth, first, mask);
        return;
    }
    for (u32 i = 0; i < count; i++) {
        u8 pass = v->null_mask[i] ? t->null_true : truth->truth[v->codes[i]];
        mask[i] = first ? pass : mask[i] & pass;
    }
}
