/*
 * agg_merge.c
 *    Bringing the threads' groups together: a few are merged at once, many partition by partition on all threads.
 *
 * A partition is the groups whose hash begins with its number, so that each can be merged without looking at the others. The (group, value) tables of
 * DISTINCT arguments follow: group numbers are translated by the map that merging leaves, and what is new in the final table is aggregated.
 */
#include "backend/exec/agg.h"

enum { FEW_GROUPS = 4096, PARTITION_BITS = 5, PARTITIONS = 1 << PARTITION_BITS };

/* Groups of one batch, gathered from a key table. */
typedef struct GroupBatch {
    u32 count;
    u32 numbers[VEC_SIZE], targets[VEC_SIZE];
    u64 hashes[VEC_SIZE];
} GroupBatch;

static u32
partition_of(const Merge *m, u64 hash)
{
    return m->partition_count == 1 ? 0 : (u32)(hash >> (64 - PARTITION_BITS));
}

static KeyVec
gather_keys(Worker *w, const KeyTable *t, u32 column, const GroupBatch *b)
{
    KeyVec all = keytable_keys(t, column, 0);
    u32 width = key_class_width(all.class);
    u8 *data = arena_alloc(w->scratch, (size_t)width * b->count), *nulls = all.nulls ? arena_alloc(w->scratch, b->count) : NULL;
    for (u32 i = 0; i < b->count; i++) {
        memcpy(data + (size_t)i * width, (const u8 *)all.data + (size_t)b->numbers[i] * width, width);
        if (nulls)
            nulls[i] = all.nulls[b->numbers[i]];
    }
    return (KeyVec){all.class, data, nulls};
}

static void
merge_batch(const Merge *m, Worker *w, u32 partition, u32 source, GroupBatch *b)
{
    const Agg *a = m->agg;
    const AggLocal *from = m->sources[source];
    Partition *p = &m->partitions[partition];
    KeyVec *keys = ARENA_ARRAY(w->scratch, KeyVec, a->plan->group_count);
    for (u32 k = 0; k < a->plan->group_count; k++)
        keys[k] = gather_keys(w, &from->table, k, b);
    u32 before = p->table.count;
    keytable_add(&p->table, keys, b->hashes, b->count, b->targets);
    p->states = agg_states(a, p->table.worker, p->states, &p->state_capacity, p->table.count);
    u32 fresh = before;
    for (u32 i = 0; i < b->count; i++) {
        if (a->stride) {
            u8 *to = p->states + (size_t)b->targets[i] * a->stride;
            const u8 *state = from->states + (size_t)b->numbers[i] * a->stride;
            if (b->targets[i] == fresh) {
                memcpy(to, state, a->stride);
                fresh++;
            } else
                agg_merge_state(a, to, state);
        }
        if (m->maps)
            m->maps[source][b->numbers[i]] = (u64)partition << 32 | b->targets[i];
    }
    arena_reset(w->scratch);
    b->count = 0;
}

static void
merge_partition(void *ctx, Worker *w, u64 task)
{
    const Merge *m = ctx;
    const Agg *a = m->agg;
    u32 partition = (u32)task;
    Partition *p = &m->partitions[partition];
    keytable_init(&p->table, w, a->plan->group_count, a->classes, NULL);
    GroupBatch *b = arena_alloc(w->arena, sizeof *b);
    for (u32 s = 0; s < m->source_count; s++) {
        AggLocal *from = m->sources[s];
        b->count = 0;
        for (u32 i = 0; i < from->table.count; i++) {
            if (partition_of(m, from->table.hashes[i]) != partition)
                continue;
            b->numbers[b->count] = i;
            b->hashes[b->count++] = from->table.hashes[i];
            if (b->count == VEC_SIZE)
                merge_batch(m, w, partition, s, b);
        }
        if (b->count)
            merge_batch(m, w, partition, s, b);
        worker_check(w);
    }
}

/* ---- distinct ---- */

/* Values of one call not seen before in their group: aggregate them. */
static void
apply_distinct(const Agg *a, Worker *w, Partition *p, u32 call, const KeyVec *values, const u32 *groups, u32 count)
{
    const PlanAggCall *c = &a->plan->calls[call];
    VecBuf buf = {0};
    Vec arg;
    key_to_vec(w->scratch, values, count, c->arg_phys, c->arg_scale, &buf, &arg);
    c->kernel.update_groups(p->states + a->offsets[call], a->stride, groups, &arg, count);
}

static void
distinct_batch(const Agg *a, Worker *w, Partition *p, u32 call, KeyTable *seen, const KeyTable *from, GroupBatch *b)
{
    KeyVec keys[2];
    i64 *groups = arena_alloc(w->scratch, b->count * sizeof *groups);
    for (u32 i = 0; i < b->count; i++)
        groups[i] = b->targets[i];
    keys[0] = (KeyVec){KEY_INT, groups, NULL};
    keys[1] = gather_keys(w, from, 1, b);
    key_hash(keys, 2, b->count, b->hashes);
    u32 before = seen->count;
    u32 *numbers = arena_alloc(w->scratch, b->count * sizeof *numbers);
    keytable_add(seen, keys, b->hashes, b->count, numbers);
    u32 fresh = seen->count - before;
    if (fresh) {
        KeyVec new_groups = keytable_keys(seen, 0, before), values = keytable_keys(seen, 1, before);
        u32 *targets = arena_alloc(w->scratch, fresh * sizeof *targets);
        for (u32 i = 0; i < fresh; i++)
            targets[i] = (u32)((const i64 *)new_groups.data)[i];
        apply_distinct(a, w, p, call, &values, targets, fresh);
    }
    arena_reset(w->scratch);
    b->count = 0;
}

void
merge_distinct(void *merge, Worker *w, u64 task)
{
    const Merge *m = merge;
    const Agg *a = m->agg;
    u32 partition = (u32)task;
    GroupBatch *b = arena_alloc(w->arena, sizeof *b);
    for (u32 call = 0; call < a->plan->call_count; call++) {
        if (!a->plan->calls[call].distinct)
            continue;
        KeyTable seen;
        KeyClass classes[2] = {KEY_INT, m->sources[0]->distinct[call].columns[1].class};
        keytable_init(&seen, w, 2, classes, NULL);
        for (u32 s = 0; s < m->source_count; s++) {
            const AggLocal *l = m->sources[s];
            const KeyTable *from = &l->distinct[call];
            const i64 *groups = from->count ? keytable_keys(from, 0, 0).data : NULL;
            b->count = 0;
            for (u32 i = 0; i < from->count; i++) {
                u64 to = m->maps[s][groups[i]];
                if (to >> 32 != partition)
                    continue;
                b->numbers[b->count] = i;
                b->targets[b->count++] = (u32)to;
                if (b->count == VEC_SIZE)
                    distinct_batch(a, w, &m->partitions[partition], call, &seen, from, b);
            }
            if (b->count)
                distinct_batch(a, w, &m->partitions[partition], call, &seen, from, b);
            worker_check(w);
        }
        keytable_free(&seen);
    }
}

/* ---- direct groups into a key table ---- */

typedef struct DirectInto { Agg *agg; AggLocal *to; VecBuf *bufs; } DirectInto;

static void
hash_direct(void *ctx, Worker *w, const u32 *indexes, u32 count, const u8 *states)
{
    DirectInto *d = ctx;
    Agg *a = d->agg;
    AggLocal *l = d->to;
    KeyVec *keys = ARENA_ARRAY(w->scratch, KeyVec, a->plan->group_count);
    for (u32 k = 0; k < a->plan->group_count; k++) {
        Vec v;
        direct_key(a, w->arena, k, indexes, count, &d->bufs[k], &v);
        key_form(&l->forms[k], l->worker, &v, count, &keys[k]);
    }
    key_hash(keys, a->plan->group_count, count, l->hashes);
    keytable_add(&l->table, keys, l->hashes, count, l->number_buf);
    l->states = agg_states(a, l->worker, l->states, &l->state_capacity, l->table.count);
    for (u32 i = 0; i < count; i++)
        agg_merge_state(a, l->states + (size_t)l->number_buf[i] * a->stride, states + (size_t)i * a->stride);
    arena_reset(w->scratch);
}

static void
direct_to_hash(Agg *a, AggLocal *to)
{
    DirectInto d = {a, to, ARENA_ARRAY(a->exec->arena, VecBuf, a->plan->group_count)};
    u8 *states = arena_alloc(a->exec->arena, (size_t)VEC_SIZE * a->stride + 16);
    direct_collect(a, &a->exec->workers[0], 0, a->direct.dims, states, hash_direct, &d);
}

/* ---- the whole ---- */

static Merge
gather_sources(Agg *a)
{
    Exec *e = a->exec;
    if (!a->locals[0]) {
        e->workers[0].states = NULL;
        a->locals[0] = a->sink.open(&a->sink, &e->workers[0]);
    }
    if (a->direct.on)
        direct_to_hash(a, a->locals[0]);
    Merge m = {.agg = a, .sources = ARENA_ARRAY(e->arena, AggLocal *, e->worker_count)};
    for (u32 i = 0; i < e->worker_count; i++)
        if (a->locals[i] && a->locals[i]->table.count)
            m.sources[m.source_count++] = a->locals[i];
    if (!m.source_count && !a->plan->group_count) { /* no row: still one result row */
        AggLocal *l = a->locals[0];
        u64 hash = 0;
        keytable_add(&l->table, NULL, &hash, 1, l->number_buf);
        l->states = agg_states(a, l->worker, l->states, &l->state_capacity, 1);
        m.sources[m.source_count++] = l;
    }
    return m;
}

/* The merged groups as they are. */
static GroupSet *
final_groups(Merge *m, u32 *ret_count)
{
    Agg *a = m->agg;
    GroupSet *sets = ARENA_ARRAY(a->exec->arena, GroupSet, m->partition_count);
    if (a->any_distinct && m->source_count)
        exec_parallel(a->exec, exec_max_workers(), m->partition_count, merge_distinct, m);
    for (u32 i = 0; i < m->partition_count; i++)
        sets[i] = (GroupSet){&m->partitions[i].table, m->partitions[i].states, NULL};
    if (a->any_fold)
        collect_finish(a, m->sources, m->source_count, m->maps, sets, m->partition_count);
    *ret_count = m->partition_count;
    return sets;
}

GroupSet *
agg_merge(Agg *a, u32 *ret_count)
{
    Exec *e = a->exec;
    Merge m = gather_sources(a);
    u64 total = 0;
    if (agg_needs_map(a))
        m.maps = ARENA_ARRAY(e->arena, u64 *, m.source_count);
    for (u32 s = 0; s < m.source_count; s++) {
        AggLocal *l = m.sources[s];
        total += l->table.count;
        if (m.maps)
            m.maps[s] = exec_alloc(l->worker, l->table.count * sizeof **m.maps);
    }
    m.partition_count = m.source_count > 1 && total > FEW_GROUPS ? PARTITIONS : 1;
    m.partitions = ARENA_ARRAY(e->arena, Partition, m.partition_count);
    if (m.source_count == 1) { /* nothing to merge: the groups are final as they are */
        AggLocal *l = m.sources[0];
        m.partitions[0] = (Partition){l->table, l->states, l->state_capacity};
        for (u32 i = 0; m.maps && i < l->table.count; i++)
            m.maps[0][i] = i;
    } else
        exec_parallel(e, exec_max_workers(), m.partition_count, merge_partition, &m);
    GroupSet *sets = a->plan->set_count ? agg_roll_up(&m, ret_count) : final_groups(&m, ret_count);
    if (m.source_count > 1)
        for (u32 s = 0; s < m.source_count; s++) {
            AggLocal *l = m.sources[s];
            exec_free(l->worker, l->states, (u64)l->state_capacity * a->stride);
            keytable_free(&l->table);
        }
    return sets;
}
