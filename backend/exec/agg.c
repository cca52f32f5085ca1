/*
 * agg.c
 *    Aggregation: every thread collects groups of its own, then they are brought together, then read as a source.
 *
 * A thread's groups are an array indexed by the key itself where the keys are small integers (agg_direct.c), else a key table with a run of states.
 * The key tables of all threads are merged partition by partition, in parallel when there are many groups (agg_merge.c). DISTINCT arguments go into
 * a key table of (group, value), and are aggregated once the groups are final. Without GROUP BY there is one group with no key.
 */
#include "backend/exec/agg.h"

/* ---- collecting ---- */

static void *
agg_open(Op *op, Worker *w)
{
    Agg *a = (Agg *)(void *)((u8 *)op - offsetof(Agg, sink));
    const PlanAgg *p = a->plan;
    AggLocal *l = ARENA_NEW(w->arena, AggLocal);
    l->worker = w;
    l->groups = ARENA_ARRAY(w->arena, Eval, p->group_count);
    l->forms = ARENA_ARRAY(w->arena, KeyForm, p->group_count);
    for (u32 i = 0; i < p->group_count; i++) {
        eval_open(&l->groups[i], w, &p->groups[i]);
        l->forms[i].class = a->classes[i];
    }
    l->args = ARENA_ARRAY(w->arena, Eval, p->call_count);
    l->filters = ARENA_ARRAY(w->arena, ExprState *, p->call_count);
    l->decode = ARENA_ARRAY(w->arena, VecBuf, p->call_count);
    l->taken = ARENA_ARRAY(w->arena, VecBuf, p->call_count);
    l->distinct = ARENA_ARRAY(w->arena, KeyTable, p->call_count);
    l->seen = ARENA_ARRAY(w->arena, SeenCodes, p->call_count);
    l->distinct_forms = ARENA_ARRAY(w->arena, KeyForm, p->call_count);
    for (u32 i = 0; i < p->call_count; i++) {
        const PlanAggCall *c = &p->calls[i];
        if (c->has_arg)
            eval_open(&l->args[i], w, &c->arg);
        if (c->filter)
            l->filters[i] = expr_state(w->arena, c->filter, &w->exec->ctx->env);
        if (c->distinct) {
            PlanSlot s = {.phys = c->arg_phys, .scale = c->arg_scale};
            ensure(key_class_of(&s, &s, &l->distinct_forms[i].class));
            KeyClass classes[2] = {KEY_INT, l->distinct_forms[i].class};
            bool copy[2] = {false, !c->arg_stable};
            keytable_init(&l->distinct[i], w, 2, classes, copy);
        }
    }
    if (a->any_fold)
        collect_open(a, l);
    l->hashes = arena_alloc(w->arena, VEC_SIZE * sizeof(u64));
    l->number_buf = ARENA_ARRAY(w->arena, u32, VEC_SIZE);
    l->numbers = l->number_buf;
    l->taken_numbers = arena_alloc(w->arena, VEC_SIZE * sizeof(u32));
    l->sel = arena_alloc(w->arena, VEC_SIZE * sizeof(u16));
    keytable_init(&l->table, w, p->group_count, a->classes, a->copy_text);
    a->locals[w->index] = l;
    return l;
}

u8 *
agg_states(const Agg *a, Worker *w, u8 *states, u32 *capacity, u32 count)
{
    if (count <= *capacity || !a->stride)
        return states;
    u32 wanted = MAX(*capacity * 2, MAX(count, 16u));
    states = exec_grow(w, states, (u64)*capacity * a->stride, (u64)wanted * a->stride);
    *capacity = wanted;
    return states;
}

/* Which group every row belongs to; returns the states they are numbers of, or says that the numbers are indexes of direct groups. */
static u8 *
group_rows(Agg *a, AggLocal *l, Worker *w, const Batch *b, bool *ret_direct)
{
    u32 n = a->plan->group_count;
    if (!n) {
        if (!l->table.count) {
            u64 hash = 0;
            keytable_add(&l->table, NULL, &hash, 1, l->number_buf);
            l->states = agg_states(a, w, l->states, &l->state_capacity, 1);
        }
        return l->states;
    }
    Vec *groups = ARENA_ARRAY(w->scratch, Vec, n);
    for (u32 i = 0; i < n; i++)
        eval_run(&l->groups[i], w, b, &groups[i]);
    l->numbers = a->direct.on ? direct_numbers(a, groups, b->count, l->number_buf) : NULL;
    if (l->numbers) {
        *ret_direct = true;
        return NULL;
    }
    l->numbers = l->number_buf;
    KeyVec *keys = ARENA_ARRAY(w->scratch, KeyVec, n);
    for (u32 i = 0; i < n; i++)
        key_form(&l->forms[i], w, &groups[i], b->count, &keys[i]);
    key_hash(keys, n, b->count, l->hashes);
    keytable_add(&l->table, keys, l->hashes, b->count, l->number_buf);
    l->states = agg_states(a, w, l->states, &l->state_capacity, l->table.count);
    return l->states;
}

/* Text by codes, one group: most rows repeat a code that went in before. Keeps the others; returns how many. */
static u32
unseen_codes(AggLocal *l, Worker *w, u32 call, Vec *arg, u32 count)
{
    SeenCodes *seen = &l->seen[call];
    if (seen->dict != arg->dict) {
        seen->dict = arg->dict;
        seen->codes = exec_alloc(w, dict_count(arg->dict));
    }
    u32 kept = 0;
    for (u32 i = 0; i < count; i++) {
        if (arg->null_mask && arg->null_mask[i])
            continue;
        u32 code = arg->codes[i];
        l->sel[kept] = (u16)i;
        kept += !seen->codes[code];
        seen->codes[code] = 1;
    }
    if (kept) {
        Vec all = *arg;
        VecBuf buf = {0};
        vec_take(w->scratch, &all, l->sel, kept, &buf, arg);
        arg->null_mask = NULL;
    }
    return kept;
}

static void
add_distinct(AggLocal *l, Worker *w, u32 call, Vec *arg, const u32 *numbers, u32 count)
{
    KeyVec keys[2];
    i64 *groups = arena_alloc(w->scratch, count * sizeof *groups);
    if (arg->null_mask) { /* NULL is no value of an aggregate */
        u32 kept = 0;
        for (u32 i = 0; i < count; i++)
            if (!arg->null_mask[i]) {
                groups[kept] = numbers[i];
                l->sel[kept++] = (u16)i;
            }
        Vec all = *arg;
        VecBuf buf = {0};
        vec_take(w->scratch, &all, l->sel, kept, &buf, arg);
        arg->null_mask = NULL;
        count = kept;
    } else
        for (u32 i = 0; i < count; i++)
            groups[i] = numbers[i];
    key_form(&l->distinct_forms[call], w, arg, count, &keys[1]);
    keys[0] = (KeyVec){KEY_INT, groups, NULL};
    key_hash(keys, 2, count, l->hashes);
    u32 *ignored = arena_alloc(w->scratch, (count + 1) * sizeof *ignored);
    keytable_add(&l->distinct[call], keys, l->hashes, count, ignored);
}

/* min() and max() keep the Str they are given. */
static void
keep_text(Worker *w, Vec *arg, u32 count)
{
    Str *copy = arena_alloc(w->arena, count * sizeof *copy);
    for (u32 i = 0; i < count; i++)
        copy[i] = VEC_NULL(arg, i) ? (Str){"", 0} : arena_str(w->arena, ((const Str *)arg->data)[i]);
    arg->data = copy;
}

static void
update_call(Agg *a, AggLocal *l, Worker *w, u32 call, u8 *states, const Batch *b)
{
    const PlanAggCall *c = &a->plan->calls[call];
    Vec arg = {0};
    const u32 *numbers = l->numbers;
    u32 count = b->count;
    if (c->has_arg)
        eval_run(&l->args[call], w, b, &arg);
    if (c->filter) {
        count = expr_filter(l->filters[call], w->scratch, b, l->sel);
        if (!count)
            return;
        for (u32 i = 0; i < count; i++)
            l->taken_numbers[i] = l->numbers[l->sel[i]];
        numbers = l->taken_numbers;
        if (c->has_arg) {
            Vec all = arg;
            vec_take(w->arena, &all, l->sel, count, &l->taken[call], &arg);
        }
    }
    if (c->fold) {
        collect_rows(a, l, w, call, b, c->filter ? l->sel : NULL, numbers, count);
        return;
    }
    if (c->distinct && !a->plan->group_count && arg.codes && !arg.data && !(count = unseen_codes(l, w, call, &arg, count)))
        return;
    if (c->distinct) {
        add_distinct(l, w, call, &arg, numbers, count);
        return;
    }
    if (c->has_arg && arg.phys == PHYS_STR) {
        vec_decode(w->arena, &arg, count, &l->decode[call]);
        if (!c->arg_stable && c->kernel.ret_phys == PHYS_STR)
            keep_text(w, &arg, count);
    }
    u8 *state = states + a->offsets[call];
    if (a->plan->group_count)
        c->kernel.update_groups(state, a->stride, numbers, c->has_arg ? &arg : NULL, count);
    else
        c->kernel.update(state, c->has_arg ? &arg : NULL, count);
}

static void
agg_push(Op *op, void *state, Worker *w, Batch *b)
{
    Agg *a = (Agg *)(void *)((u8 *)op - offsetof(Agg, sink));
    AggLocal *l = state;
    bool direct = false;
    u8 *states = group_rows(a, l, w, b, &direct);
    bool in_lanes = direct && lanes_add_batch(a, l, w, b);
    for (u32 i = 0; i < a->plan->call_count; i++)
        if (!in_lanes || !lanes_take(l, i))
            update_call(a, l, w, i, direct ? lanes_states(a, l) : states, b);
}

/* ---- the result as a source ---- */

enum { GROUPS_PER_MORSEL = 8 * VEC_SIZE };

typedef struct GroupMorsel { u32 set, first; } GroupMorsel;

typedef struct GroupSource {
    Source source;
    Agg *agg;
    u32 set_count;
    GroupSet *sets;       /* none: direct */
    GroupMorsel *morsels;
} GroupSource;

typedef struct GroupState {
    GroupSource *source;
    VecBuf *bufs;
    Vec *columns;
    u8 *states; /* direct: merged */
} GroupState;

static void *
group_open(Source *s, Worker *w)
{
    GroupSource *gs = (GroupSource *)s;
    GroupState *st = ARENA_NEW(w->arena, GroupState);
    st->source = gs;
    st->bufs = ARENA_ARRAY(w->arena, VecBuf, gs->agg->node->slot_count);
    st->columns = ARENA_ARRAY(w->arena, Vec, gs->agg->node->slot_count);
    if (!gs->set_count)
        st->states = arena_alloc(w->arena, (size_t)VEC_SIZE * gs->agg->stride + 16);
    return st;
}

void
agg_finish_error(u32 status, const PlanSlot *slot)
{
    if (!status)
        return;
    if (slot->type == TYPE_NUMERIC)
        err_throw(ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    if (slot->type == TYPE_FLOAT4 || slot->type == TYPE_FLOAT8)
        err_throw(ERR_NUMERIC_OUT_OF_RANGE, "value out of range: overflow");
    err_throw(slot->type == TYPE_INTERVAL ? ERR_DATETIME_OVERFLOW : ERR_NUMERIC_OUT_OF_RANGE, "%s out of range", type_name(slot->type));
}

static void
finish_calls(GroupState *st, Worker *w, const u8 *states, u32 first, u32 count)
{
    const Agg *a = st->source->agg;
    for (u32 c = 0; c < a->plan->call_count; c++) {
        u32 column = a->plan->group_count + c;
        const PlanSlot *slot = &a->node->slots[column];
        VecBuf *buf = &st->bufs[column];
        vecbuf_need(w->arena, buf, slot->phys, count <= 32 ? 32 : VEC_SIZE);
        Vec *v = &st->columns[column];
        *v = (Vec){.phys = slot->phys, .scale = slot->scale, .data = buf->data, .null_mask = buf->nulls};
        u32 status = a->plan->calls[c].kernel.finish(states + a->offsets[c], a->stride, first, count, a->plan->calls[c].arg_scale, v);
        agg_finish_error(status, slot);
    }
}

/* A key that the grouping set has not. */
static void
null_key(Worker *w, const PlanSlot *slot, u32 count, VecBuf *buf, Vec *ret)
{
    vecbuf_need(w->arena, buf, slot->phys, VEC_SIZE);
    memset(buf->data, 0, (size_t)count * phys_width(slot->phys));
    memset(buf->nulls, 1, count);
    *ret = (Vec){.phys = slot->phys, .scale = slot->scale, .data = buf->data, .null_mask = buf->nulls};
}

static void
set_groupings(GroupState *st, Worker *w, const PlanGroupSet *set, u32 count)
{
    const Agg *a = st->source->agg;
    for (u32 i = 0; i < a->plan->grouping_count; i++) {
        u32 column = a->plan->group_count + a->plan->call_count + i;
        VecBuf *buf = &st->bufs[column];
        vecbuf_need(w->arena, buf, PHYS_I32, VEC_SIZE);
        for (u32 k = 0; k < count; k++)
            ((i32 *)buf->data)[k] = set->grouping[i];
        st->columns[column] = (Vec){.phys = PHYS_I32, .data = buf->data};
    }
}

static void
emit_groups(GroupState *st, Worker *w, u32 count)
{
    Batch b = {.count = count, .column_count = st->source->agg->node->slot_count, .columns = st->columns};
    source_emit(&st->source->source, w, &b);
}

static void
emit_direct(void *ctx, Worker *w, const u32 *indexes, u32 count, const u8 *states)
{
    GroupState *st = ctx;
    const Agg *a = st->source->agg;
    for (u32 k = 0; k < a->plan->group_count; k++)
        direct_key(a, w->arena, k, indexes, count, &st->bufs[k], &st->columns[k]);
    finish_calls(st, w, states, 0, count);
    emit_groups(st, w, count);
}

static void
group_run(Source *s, void *state, Worker *w, u64 morsel)
{
    GroupSource *gs = (GroupSource *)s;
    GroupState *st = state;
    const Agg *a = gs->agg;
    if (!gs->set_count) {
        u32 first = (u32)morsel * GROUPS_PER_MORSEL;
        direct_collect(a, w, first, MIN(a->direct.dims, first + GROUPS_PER_MORSEL), st->states, emit_direct, st);
        return;
    }
    const GroupMorsel *m = &gs->morsels[morsel];
    const GroupSet *set = &gs->sets[m->set];
    u32 end = MIN(set->table->count, m->first + GROUPS_PER_MORSEL);
    for (u32 at = m->first; at < end; at += VEC_SIZE) {
        u32 count = MIN((u32)VEC_SIZE, end - at);
        for (u32 k = 0; k < a->plan->group_count; k++) {
            i32 place = set->set ? set->set->places[k] : (i32)k;
            if (place < 0) {
                null_key(w, &a->node->slots[k], count, &st->bufs[k], &st->columns[k]);
                continue;
            }
            KeyVec key = keytable_keys(set->table, (u32)place, at);
            key_to_vec(w->arena, &key, count, a->node->slots[k].phys, a->node->slots[k].scale, &st->bufs[k], &st->columns[k]);
        }
        finish_calls(st, w, set->states, at, count);
        set_groupings(st, w, set->set, count);
        emit_groups(st, w, count);
    }
}

static Source *
group_source(Agg *a, GroupSet *sets, u32 set_count)
{
    GroupSource *gs = ARENA_NEW(a->exec->arena, GroupSource);
    gs->source = (Source){.node = a->node, .open = group_open, .run = group_run};
    gs->agg = a;
    gs->sets = sets;
    gs->set_count = set_count;
    if (!set_count) {
        gs->source.row_count = a->direct.dims;
        gs->source.morsel_count = (a->direct.dims + GROUPS_PER_MORSEL - 1) / GROUPS_PER_MORSEL;
        return &gs->source;
    }
    u64 n = 0;
    for (u32 i = 0; i < set_count; i++)
        n += (sets[i].table->count + GROUPS_PER_MORSEL - 1) / GROUPS_PER_MORSEL;
    gs->morsels = ARENA_ARRAY(a->exec->arena, GroupMorsel, n);
    for (u32 i = 0; i < set_count; i++) {
        gs->source.row_count += sets[i].table->count;
        for (u32 at = 0; at < sets[i].table->count; at += GROUPS_PER_MORSEL)
            gs->morsels[gs->source.morsel_count++] = (GroupMorsel){i, at};
    }
    return &gs->source;
}

static Agg *
new_agg(Exec *e, const PlanNode *n)
{
    const PlanAgg *p = &n->agg;
    Agg *a = ARENA_NEW(e->arena, Agg);
    a->exec = e;
    a->node = n;
    a->plan = p;
    a->sink = (Op){.open = agg_open, .push = agg_push};
    a->offsets = ARENA_ARRAY(e->arena, u32, p->call_count);
    for (u32 i = 0; i < p->call_count; i++) {
        a->offsets[i] = a->stride;
        a->stride += ALIGN_UP(p->calls[i].kernel.state_bytes, 8u);
        a->any_distinct = a->any_distinct || p->calls[i].distinct;
        a->any_fold = a->any_fold || p->calls[i].fold;
    }
    a->classes = ARENA_ARRAY(e->arena, KeyClass, p->group_count);
    a->copy_text = ARENA_ARRAY(e->arena, bool, p->group_count);
    for (u32 i = 0; i < p->group_count; i++) {
        ensure(key_class_of(&n->slots[i], &n->slots[i], &a->classes[i]));
        const PlanExpr *x = &p->groups[i];
        a->copy_text[i] = x->column < 0 || !n->left->slots[x->column].stable;
    }
    a->locals = ARENA_ARRAY(e->arena, AggLocal *, exec_max_workers());
    return a;
}

Source *
agg_source(Exec *e, const PlanNode *n)
{
    Agg *a = new_agg(e, n);
    Pipeline *p = exec_build(e, n->left);
    direct_choose(a, p->source->row_count);
    pipeline_add(p, &a->sink);
    pipeline_run(e, p);
    bool hashed = !a->direct.on || a->plan->set_count;
    for (u32 i = 0; i < e->worker_count; i++)
        hashed = hashed || (a->locals[i] && a->locals[i]->table.count);
    if (!hashed)
        return group_source(a, NULL, 0);
    u32 count;
    GroupSet *sets = agg_merge(a, &count);
    return group_source(a, sets, count);
}
