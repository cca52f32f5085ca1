/*
 * agg_rollup.c
 *    Grouping sets: the rows were aggregated once by all keys; every set merges those groups by its own keys.
 *
 * Any aggregate's states can be merged, so a set costs a look at the groups, not at the rows. What looks at rows again (DISTINCT, folds) does so for each set,
 * led by the map from a thread's groups to the set's. Sets are worked on in parallel. A set of all keys is the merged groups themselves.
 */
#include "backend/exec/agg.h"

typedef struct RollSet {
    const PlanGroupSet *plan;
    bool whole;          /* all keys: the base's groups */
    Partition partition;
    u64 **from_base;     /* by partition of the base: this set's number of each of its groups; NULL: nothing needs them */
    Merge merge;         /* of the sources into this set, for DISTINCT */
} RollSet;

typedef struct RollUp {
    Merge *base;
    RollSet *sets;
} RollUp;

static void
roll_batch(RollSet *r, const Agg *a, Worker *w, const Partition *from, u32 at, u32 count, u64 *numbers_to)
{
    Partition *p = &r->partition;
    KeyVec *keys = ARENA_ARRAY(w->scratch, KeyVec, r->plan->key_count);
    u64 *hashes = arena_alloc(w->scratch, count * sizeof *hashes);
    u32 *numbers = arena_alloc(w->scratch, count * sizeof *numbers);
    for (u32 k = 0; k < r->plan->key_count; k++)
        keys[k] = keytable_keys(&from->table, r->plan->keys[k], at);
    key_hash(keys, r->plan->key_count, count, hashes);
    keytable_add(&p->table, keys, hashes, count, numbers);
    p->states = agg_states(a, w, p->states, &p->state_capacity, p->table.count); /* new ones are zero: no rows */
    for (u32 i = 0; i < count; i++) {
        if (a->stride)
            agg_merge_state(a, p->states + (size_t)numbers[i] * a->stride, from->states + (size_t)(at + i) * a->stride);
        if (numbers_to)
            numbers_to[at + i] = numbers[i];
    }
    arena_reset(w->scratch);
}

static void
roll_set(void *ctx, Worker *w, u64 number)
{
    const RollUp *u = ctx;
    const Merge *base = u->base;
    const Agg *a = base->agg;
    RollSet *r = &u->sets[number];
    if (r->whole)
        return;
    KeyClass *classes = ARENA_ARRAY(w->arena, KeyClass, r->plan->key_count);
    for (u32 k = 0; k < r->plan->key_count; k++)
        classes[k] = a->classes[r->plan->keys[k]];
    keytable_init(&r->partition.table, w, r->plan->key_count, classes, NULL);
    if (base->maps)
        r->from_base = ARENA_ARRAY(w->arena, u64 *, base->partition_count);
    for (u32 p = 0; p < base->partition_count; p++) {
        const Partition *from = &base->partitions[p];
        if (r->from_base)
            r->from_base[p] = exec_alloc(w, from->table.count * sizeof(u64));
        for (u32 at = 0; at < from->table.count; at += VEC_SIZE)
            roll_batch(r, a, w, from, at, MIN((u32)VEC_SIZE, from->table.count - at), r->from_base ? r->from_base[p] : NULL);
        worker_check(w);
    }
    if (!r->plan->key_count && !r->partition.table.count) { /* no row: still one of the empty set */
        u64 hash = 0;
        u32 first;
        keytable_add(&r->partition.table, NULL, &hash, 1, &first);
        r->partition.states = agg_states(a, w, r->partition.states, &r->partition.state_capacity, 1);
    }
}

/* Where each source's groups are in the set. */
static void
compose_maps(const RollUp *u, RollSet *r)
{
    const Merge *base = u->base;
    Exec *e = base->agg->exec;
    r->merge = (Merge){.agg = base->agg, .source_count = base->source_count, .partition_count = 1, .sources = base->sources, .partitions = &r->partition};
    r->merge.maps = ARENA_ARRAY(e->arena, u64 *, base->source_count);
    for (u32 s = 0; s < base->source_count; s++) {
        u32 count = base->sources[s]->table.count;
        r->merge.maps[s] = exec_alloc(&e->workers[0], count * sizeof(u64));
        for (u32 i = 0; i < count; i++) {
            u64 to = base->maps[s][i];
            r->merge.maps[s][i] = r->from_base[to >> 32][(u32)to];
        }
    }
}

static void
distinct_set(void *ctx, Worker *w, u64 number)
{
    RollSet *r = &((RollUp *)ctx)->sets[number];
    if (!r->whole)
        merge_distinct(&r->merge, w, 0);
}

static void
look_again(RollUp *u, u32 set_count, bool whole)
{
    Merge *base = u->base;
    Agg *a = base->agg;
    Exec *e = a->exec;
    for (u32 i = 0; i < set_count; i++)
        if (!u->sets[i].whole)
            compose_maps(u, &u->sets[i]);
    if (a->any_distinct && base->source_count) {
        exec_parallel(e, exec_max_workers(), set_count, distinct_set, u);
        if (whole)
            exec_parallel(e, exec_max_workers(), base->partition_count, merge_distinct, base);
    }
    for (u32 i = 0; i < set_count && a->any_fold; i++) {
        RollSet *r = &u->sets[i];
        GroupSet one = {&r->partition.table, r->partition.states, r->plan};
        if (!r->whole)
            collect_finish(a, base->sources, base->source_count, r->merge.maps, &one, 1);
    }
}

/* The base's groups, for sets of all keys; their folds come last, when no set merges their states any more. */
static void
finish_whole(Merge *base, GroupSet *groups)
{
    for (u32 p = 0; p < base->partition_count; p++)
        groups[p] = (GroupSet){&base->partitions[p].table, base->partitions[p].states, NULL};
    if (base->agg->any_fold)
        collect_finish(base->agg, base->sources, base->source_count, base->maps, groups, base->partition_count);
}

GroupSet *
agg_roll_up(Merge *base, u32 *ret_count)
{
    Agg *a = base->agg;
    Exec *e = a->exec;
    u32 n = a->plan->set_count, count = 0;
    bool whole = false;
    RollUp u = {base, ARENA_ARRAY(e->arena, RollSet, n)};
    for (u32 i = 0; i < n; i++) {
        u.sets[i].plan = &a->plan->sets[i];
        u.sets[i].whole = a->plan->sets[i].key_count == a->plan->group_count && a->plan->group_count;
        whole |= u.sets[i].whole;
    }
    exec_parallel(e, exec_max_workers(), n, roll_set, &u);
    if (base->maps)
        look_again(&u, n, whole);
    GroupSet *groups = ARENA_ARRAY(e->arena, GroupSet, base->partition_count), *all = ARENA_ARRAY(e->arena, GroupSet, (size_t)n * base->partition_count);
    if (whole)
        finish_whole(base, groups);
    for (u32 i = 0; i < n; i++) {
        RollSet *r = &u.sets[i];
        for (u32 p = 0; r->whole && p < base->partition_count; p++) {
            all[count] = groups[p];
            all[count++].set = r->plan;
        }
        if (!r->whole)
            all[count++] = (GroupSet){&r->partition.table, r->partition.states, r->plan};
    }
    *ret_count = count;
    return all;
}
