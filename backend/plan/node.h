/*
 * node.h
 *    The operators of a plan. Made by the planner, read by exec/ and EXPLAIN, never changed after plan_make.
 *
 * A plan names tables by id and looks them up in the snapshot of each execution; it holds no pointer into the world.
 * Every node produces rows of `slots`. Expressions are compiled against the slots of the node's input (for joins: left slots, then right slots).
 * A PlanExpr that is a plain column of the input carries its number, so that executing it moves nothing.
 */
#ifndef NODE_H
#define NODE_H

#include "backend/kern/agg.h"
#include "backend/plan/expr.h"
#include "backend/plan/plan.h"

typedef enum PlanNodeKind {
    PN_VALUES,    /* rows of constant expressions; also SELECT without FROM (one row, no column) */
    PN_SCAN,      /* all blocks of a table: zone maps, predicates, late fetch */
    PN_KEY,       /* rows by PRIMARY KEY or UNIQUE */
    PN_FILTER,
    PN_PROJECT,
    PN_HASH_JOIN, /* right is the build side, left the probe side */
    PN_LOOP_JOIN, /* right is kept and looked at for every left row */
    PN_KEY_JOIN,  /* for every left row a key lookup in the table of `key_join` (no right child) */
    PN_AGG,       /* hash or direct aggregation; without aggregates: DISTINCT */
    PN_SORT,
    PN_TOPN,      /* sort with limit */
    PN_LIMIT,
    PN_FETCH,     /* more columns of a table by row id */
    PN_APPEND,    /* the rows of left, then those of right */
    PN_SHARED,    /* rows of an entry of WITH that are computed once for the statement */
    PN_WINDOW,    /* the input sorted, and a column a window call */
    PN_REPEAT,    /* each row as often as the input's last column says, which goes */
    PN_FUNCTION,  /* functions that give rows, side by side */
    PN_SYSTEM,    /* the rows of a relation of the system */
    PN_LATERAL,   /* for every left row the rows of a subquery that captures columns of it */
    PN_LOCK,      /* locks the rows it passes on, as many as the LIMIT above it wants */
} PlanNodeKind;

typedef enum PlanLeaf { LEAF_NONE, LEAF_COLUMN, LEAF_AGG, LEAF_GROUP, LEAF_WINDOW } PlanLeaf;

/* A column of a node's output: what it is in the bound query, and its physical form. */
typedef struct PlanSlot {
    PlanLeaf leaf;
    u16 rel, column; /* LEAF_COLUMN */
    u32 index;       /* LEAF_AGG, LEAF_GROUP, LEAF_WINDOW */
    TypeId type;
    i32 typmod;
    PhysType phys;
    u8 scale;
    bool nullable;
    bool stable; /* text points at dictionary, plan or statement memory, not at a batch's scratch */
} PlanSlot;

typedef struct PlanExpr {
    i32 column; /* of the input, when the expression is just that; else -1 */
    ExprProg *prog;
    const BExpr *expr; /* for EXPLAIN; may be NULL */
    bool serial;       /* calls a SERIAL function */
} PlanExpr;

/* A condition on one column of a scanned table. */
typedef enum PlanPredKind {
    PRED_RANGE, /* column op value, on integers, dates, timestamps, booleans, short decimals: also skips blocks by min/max */
    PRED_TEXT,  /* any condition on one text column: decided once per dictionary entry where that pays */
    PRED_EXPR   /* anything else: all such conditions are one program, `filter` of the scan */
} PlanPredKind;
typedef enum PlanOp { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE } PlanOp;
typedef struct PlanPred {
    PlanPredKind kind;
    u16 column;         /* of the table */
    PlanOp op;          /* PRED_RANGE */
    const BExpr *value; /* PRED_RANGE: constant or parameter expression */
    const BExpr *equal_text; /* PRED_TEXT that is column = value: the value, else NULL */
    ExprProg *prog;     /* PRED_TEXT: over a batch of that one column */
    const BExpr *expr;
} PlanPred;

typedef struct PlanScan {
    u32 table_id;
    u16 *columns; /* the table's columns of the slots; BCOL_CTID gives the row id as PHYS_I64 */
    u32 pred_count;
    PlanPred *preds; /* RANGE and TEXT */
    ExprProg *filter; /* the other conditions, over filter_columns; NULL none */
    u32 filter_column_count;
    u16 *filter_columns;
    u32 conjunct_count;
    const BExpr **conjuncts; /* all, for EXPLAIN */
} PlanScan;

typedef struct PlanKey {
    u32 table_id;
    u16 key, key_column_count;
    u16 *columns;
    u32 tuple_count;          /* 1, or the length of an IN list */
    const BExpr **values;     /* tuple_count x key_column_count */
    const BExpr *array;       /* NULL, or an array whose elements are the tuples instead */
    u32 conjunct_count;
    const BExpr **conjuncts;
} PlanKey;

/* How key columns of joins and groups are compared. */
typedef enum KeyClass { KEY_INT, KEY_FLOAT, KEY_NUM, KEY_TEXT, KEY_PAIR, KEY_INTERVAL } KeyClass;

/* Right rows come of themselves, when all left rows have been looked at. */
static inline bool
join_gives_kept(BJoinKind k)
{
    return k == BJOIN_FULL || k == BJOIN_RIGHT_SEMI || k == BJOIN_RIGHT_ANTI;
}

typedef struct PlanJoin {
    BJoinKind kind; /* INNER, LEFT, SEMI, ANTI, of hash and loop joins also FULL */
    u32 key_count;
    PlanExpr *left_keys, *right_keys;
    KeyClass *classes;
    ExprProg *residual; /* over left slots, right slots */
    u16 *out;           /* the node's slots, numbered over left slots, right slots */
    u32 conjunct_count;
    const BExpr **conjuncts;
    PlanKey *key_join;  /* PN_KEY_JOIN: the table; `columns` are its slots, left_keys give the key values in key order */
    PlanSlot *key_slots;
    u32 key_slot_count;
} PlanJoin;

typedef struct PlanSortKey { u16 column; bool descending, nulls_first; } PlanSortKey;

/* Of a call that gets its rows in an order, or all at once: what is kept of each. */
typedef struct PlanFold {
    u32 arg_count, column_count, key_count;
    PlanExpr *columns; /* the arguments, then other keys and direct arguments that are not fixed */
    PlanSlot *slots;   /* their forms */
    PlanSortKey *keys; /* of columns */
    bool distinct;     /* of equal rows (by all keys) only the first counts */
    TypeId type;       /* the result's */
    i32 typmod;
    u32 direct_count;
    const BExpr **direct; /* the direct arguments */
    i32 *direct_columns;  /* where they are columns, whose value in a group's first row counts; -1: fixed */
} PlanFold;

typedef struct PlanAggCall {
    AggId agg;
    bool has_arg, distinct;
    PlanExpr arg;
    TypeId arg_type;
    PhysType arg_phys;
    u8 arg_scale;
    bool arg_stable;
    ExprProg *filter;
    PlanFold *fold; /* NULL: one argument at most, which the kernel takes as it comes */
    AggKernel kernel;
    const BAgg *bound;
} PlanAggCall;

/* One of several grouping sets. */
typedef struct PlanGroupSet {
    u32 key_count;
    u16 *keys;     /* numbers of groups */
    i32 *places;   /* by group: which of keys; -1: NULL in this set */
    i32 *grouping; /* what the calls of GROUPING() give */
} PlanGroupSet;

typedef struct PlanAgg {
    u32 group_count, call_count;
    PlanExpr *groups;
    PlanAggCall *calls;
    u32 set_count; /* 0: one set of all groups */
    PlanGroupSet *sets;
    u32 grouping_count; /* calls of GROUPING(), whose slots stand behind the calls' */
} PlanAgg;

typedef struct PlanSort {
    u32 key_count;
    PlanSortKey *keys;
    const BExpr *limit, *offset; /* TOPN, LIMIT */
    bool with_ties;              /* TOPN: rows that equal the last one in all keys come, too */
} PlanSort;

/* Columns are those of the input. */
typedef struct PlanWinCall {
    const BWinCall *bound;
    u16 args[3];
    i32 filter;       /* -1: none */
    AggKernel kernel; /* BWIN_AGGREGATE */
    PlanFold *fold;   /* of an aggregate that looks at all its rows at once; its columns are args */
} PlanWinCall;
typedef struct PlanWindow {
    const BWindow *bound;
    u32 partition_count, key_count; /* keys: the partition's, then the order's */
    PlanSortKey *keys;
    u32 call_count;
    PlanWinCall *calls; /* results stand behind the input's columns */
} PlanWindow;

/* The node's slots are the left ones, then the subquery's columns. */
typedef struct PlanLateral {
    bool left;          /* LEFT JOIN: a left row without a partner comes with NULLs */
    u32 sub;            /* of the plan's subs */
    u32 arg_count;
    PlanExpr *args;     /* what is captured, over left slots */
    ExprProg *residual; /* over the node's slots; NULL: none */
    u32 conjunct_count;
    const BExpr **conjuncts;
} PlanLateral;

typedef struct PlanFetch {
    u32 table_id;
    u16 row_column; /* input column with the row id */
    u32 column_count;
    u16 *columns;   /* slots are the input's, then these */
} PlanFetch;

/* The rows of one table, by the row ids in a column of the input. */
typedef struct PlanRowLock {
    u16 row_column;
    RowLockMode mode;
    LockWait wait;
    u32 table_id, schema_version;
} PlanRowLock;

typedef struct PlanLock {
    u32 count;
    PlanRowLock *locks;
    PlanSort bound; /* limit and offset: no more rows are asked for */
} PlanLock;

/* INSERT … ON CONFLICT DO UPDATE: over the columns of the row that is there, then those of the one that was to be inserted. */
typedef struct PlanUpsert {
    PlanSlot *slots;    /* all columns of the table */
    PlanExpr *values;   /* one for each of BConflict.columns */
    PlanExpr *where;    /* NULL: none */
} PlanUpsert;

struct PlanNode {
    PlanNodeKind kind;
    u32 id; /* 0 .. node_count-1 of the plan */
    const BQuery *query; /* whose columns its expressions mean, for EXPLAIN */
    PlanNode *left, *right;
    u32 slot_count;
    PlanSlot *slots;
    double rows, cost; /* estimates */
    Str table, alias;  /* for EXPLAIN */
    union {
        struct { u32 row_count; const BExpr ***rows; } values; /* [row][slot] */
        PlanScan scan;
        PlanKey key;
        PlanExpr filter; /* prog */
        PlanExpr *project;
        PlanJoin join;
        PlanLateral lateral;
        PlanAgg agg;
        PlanSort sort;
        PlanFetch fetch;
        PlanWindow window;
        bool append_marked; /* the last slot is the side: 1 or 2 */
        struct { u32 cte; bool work; } shared; /* work: in its own recursive part, the rows of the last round */
        PlanLock lock;
        struct { u32 count; const BExpr **calls; bool ordinality; } function; /* a slot a call, and the row's number behind them */
        struct { u32 table_id; u16 *columns; } system; /* the relation's columns of the slots */
    };
};

/* Measured figures of one node, for EXPLAIN ANALYZE; an array indexed by node id. */
typedef struct PlanFigures {
    u64 rows, time_ns, blocks, blocks_skipped, rows_removed;
    u32 workers, loops;
} PlanFigures;

/* How two columns are compared for equality; false: not as keys. */
bool key_class_of(const PlanSlot *l, const PlanSlot *r, KeyClass *ret);
/* Value of a constant or parameter expression; casts and plain values without compiling anything. */
Value plan_value(Arena *a, const BExpr *e, const ExprEnv *env);

#endif
