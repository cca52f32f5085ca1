/*
 * agg.h
 *    What the files of aggregation share. See agg.c for the idea.
 */
#ifndef EXEC_AGG_H
#define EXEC_AGG_H

#include "backend/exec/keytable.h"
#include "backend/kern/lanes.h"

enum { DIRECT_MAX_KEYS = 8 };

/* A group key that is a small integer: a dictionary code or an integer of a known range; its last value stands for NULL. */
typedef struct DirectKey {
    const DictShm *dict; /* text */
    i64 lo;
    u32 dim, factor;
} DirectKey;

typedef struct Direct {
    bool on;
    u32 dims;     /* product of all keys' */
    DirectKey keys[DIRECT_MAX_KEYS];
} Direct;

/* agg_lanes.c: which calls are answered from lanes. */
enum { LANE_ROWS = 0, LANE_NONE = 255 };
typedef struct LanePlan {
    u32 sum_count, step;   /* sums a group; 64-bit numbers a group */
    u32 arg_of[LANES_MAX]; /* a call whose argument lane 1 + k sums */
    u8 *lane_of;           /* by call */
} LanePlan;

typedef struct SeenCodes {
    const DictShm *dict;
    u8 *codes;
} SeenCodes;

/* One thread's groups. */
typedef struct AggLocal {
    Worker *worker;
    Eval *groups, *args;
    ExprState **filters;
    KeyForm *forms, *distinct_forms;
    VecBuf *decode, *taken;
    u64 *hashes;
    u32 *number_buf, *taken_numbers;
    const u32 *numbers; /* each row's group; codes as they are when these are the numbers */
    u16 *sel;
    KeyTable table;
    u8 *states;
    u32 state_capacity;
    struct Collected *collected; /* one a call with a fold */
    KeyTable *distinct;  /* one a call that is DISTINCT: (group, value) */
    struct SeenCodes *seen; /* one a call: without GROUP BY, codes of text that went in already */
    /* direct groups, by index */
    i64 *lanes;
    u8 *direct_states, *direct_seen; /* where lanes do not do; may be NULL */
    u8 *lane_of;                     /* by call; LANE_NONE where this thread does without */
    bool given_up[1 + LANES_MAX];
    u64 lane_rows, spent[LANES_MAX];
    i64 *wide[1 + LANES_MAX];
} AggLocal;

typedef struct Agg {
    Exec *exec;
    const PlanNode *node;
    const PlanAgg *plan;
    Op sink;
    u32 stride;
    u32 *offsets;        /* of each call's state */
    KeyClass *classes;
    bool *copy_text, any_distinct, any_fold;
    Direct direct;
    LanePlan lanes;
    AggLocal **locals;   /* by worker; NULL where it did not run */
    struct Gathered *gathered; /* by call: all threads' rows of a fold, once they are gathered */
} Agg;

/* One run of finished groups. */
typedef struct GroupSet {
    KeyTable *table;
    u8 *states;
    const PlanGroupSet *set; /* whose keys are in the table; NULL: all */
} GroupSet;

/* ---- agg_direct.c ---- */
void direct_choose(Agg *a, u64 rows);
/* The index of each row's group, in `buf` or where it stands already; NULL when a text comes with another dictionary. */
const u32 *direct_numbers(const Agg *a, const Vec *groups, u32 count, u32 *buf);
/* The key column of these groups. */
void direct_key(const Agg *a, Arena *arena, u32 key, const u32 *indexes, u32 count, VecBuf *buf, Vec *ret);
void agg_merge_state(const Agg *a, u8 *to, const u8 *from);

/* ---- agg_lanes.c ---- */
void lanes_choose(Agg *a);
/* Rows of the groups in l->numbers into lanes; false when these rows have to go into the states of all calls. */
bool lanes_add_batch(const Agg *a, AggLocal *l, Worker *w, const Batch *b);
bool lanes_take(const AggLocal *l, u32 call);
u8 *lanes_states(const Agg *a, AggLocal *l);
typedef void (*DirectVisit)(void *ctx, Worker *w, const u32 *indexes, u32 count, const u8 *states);
/* Groups with index first … end-1 that any thread has seen, merged, in batches. `states` has room for VEC_SIZE states. */
void direct_collect(const Agg *a, Worker *w, u32 first, u32 end, u8 *states, DirectVisit visit, void *ctx);

/* ---- agg_merge.c ---- */
typedef struct Partition {
    KeyTable table;
    u8 *states;
    u32 state_capacity;
} Partition;
typedef struct Merge {
    Agg *agg;
    u32 source_count, partition_count;
    AggLocal **sources;
    u64 **maps;            /* by source: partition << 32 | number of each of its groups; NULL: nothing needs them */
    Partition *partitions;
} Merge;
/* The calls with DISTINCT over the final groups of one partition. */
void merge_distinct(void *merge, Worker *w, u64 partition);
/* ---- agg_rollup.c ---- */
/* The sets of the plan from the merged groups of all keys, before DISTINCT and folds. */
GroupSet *agg_roll_up(Merge *base, u32 *ret_count);

/* Bring all threads' hash groups together: one GroupSet or more. */
GroupSet *agg_merge(Agg *a, u32 *ret_count);
u8 *agg_states(const Agg *a, Worker *w, u8 *states, u32 *capacity, u32 count);
/* Some call looks at its rows again once the groups are final: local groups are mapped to those then. */
static inline bool agg_needs_map(const Agg *a) { return a->any_distinct || a->any_fold; }

/* ---- agg_collect.c ---- */
void collect_open(const Agg *a, AggLocal *l);
/* Rows of a batch for one call: those in sel (NULL: all); numbers: each row's group. */
void collect_rows(const Agg *a, AggLocal *l, Worker *w, u32 call, const Batch *b, const u16 *sel, const u32 *numbers, u32 count);
/* Fills the states of the calls with a fold. maps: for each local where its groups are, set << 32 | number. May come again with other sets. */
void collect_finish(Agg *a, AggLocal **locals, u32 local_count, u64 *const *maps, const GroupSet *sets, u32 set_count);

#endif
