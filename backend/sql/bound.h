/*
 * bound.h
 *    The bound statement: names resolved to columns, every expression typed, overloads chosen, rights known. What plan/ starts from.
 *
 * Made by bind.h from the syntax tree, in an arena that lives as long as the plan; read-only afterwards. Table definitions point into a pinned
 * root, so names and types that must outlive the pin are copied; a plan carries table id and schema version and looks the table up again.
 * The shape holds subqueries, set operations and windows from the start; what is not built yet is refused by the binder with 0A000.
 */
#ifndef BOUND_H
#define BOUND_H

#include "backend/kern/func.h"
#include "common/shm/request.h"
#include "common/store/catalog.h"
#include "common/type/type.h"

typedef struct BExpr BExpr;
typedef struct BQuery BQuery;

typedef enum BExprKind {
    BX_CONST,    /* value */
    BX_PARAM,    /* index from 0; from EXTRA_PARAM on: a subquery's result, or what a subquery captured */
    BX_COLUMN,   /* rel, column of it; level 0 = this query (outer references: later) */
    BX_FUNC,     /* func, args */
    BX_CAST,     /* args[0] to type/typmod; explicit_cast */
    BX_AND,      /* n args */
    BX_OR,       /* n args */
    BX_NOT,      /* args[0] */
    BX_IS_NULL,  /* args[0]; negated */
    BX_IS_BOOL,  /* args[0] IS [NOT] TRUE/FALSE/UNKNOWN: value.b or UNKNOWN by is_null; negated */
    BX_DISTINCT, /* args[0] IS [NOT] DISTINCT FROM args[1]; negated = NOT; func is the "=" to use */
    BX_CASE,     /* args: cond, result, cond, result, …, else (always present; a NULL constant when absent). CASE x WHEN is expanded */
    BX_COALESCE, /* n args of one type */
    BX_NULLIF,   /* args[0], args[1]; func is the "=" */
    BX_GREATEST, /* n args of one type; negated = LEAST */
    BX_IN,       /* args[0] IN (args[1 …]); func is the "="; negated. All of one type after coercion */
    BX_AGG,      /* only below targets, having, order by of a grouped query: agg_index into BQuery.aggs */
    BX_GROUP,    /* index into BQuery.group_by: the value of a grouping expression; from GROUPING_INDEX on: of BQuery.groupings */
    BX_IN_SET,   /* args are a row of an IN subquery that captures nothing; index into BStmt.subs */
    BX_SUBQUERY, /* index into BStmt.subs; args: its tests (IN), then what it captures of the outer queries */
    BX_WINDOW,   /* only in targets: index into BQuery.win_calls */
    BX_ARRAY,    /* n args of the element type; index 1: arrays, whose elements make one of a dimension more */
    BX_SUBSCRIPT, /* args[0], an array, at args[1 …]; index: for slices (negated) a pair of bounds a dimension, bit k: args[1 + k] is not given */
    BX_ANY,      /* args[0] op ANY (args[1]), the array; negated: ALL; args[2]: the comparison, over BX_ITEM */
    BX_ITEM,     /* within the comparison of BX_ANY: index 0 its left side, 1 the element at hand */
} BExprKind;

struct BExpr {
    BExprKind kind;
    TypeId type;
    i32 typmod;
    u32 position; /* 1-based character position for messages, 0 unknown */
    bool negated, explicit_cast;
    bool relabeled; /* a cast that took away its length or precision and did nothing else: it is no plain column any more */
    u16 rel, column;
    u32 index; /* BX_PARAM, BX_AGG, BX_GROUP */
    FuncId func;
    u32 arg_count;
    BExpr **args;
    Value value;
};

/* That of the most volatile function in it. */
static inline FuncVolatility
bexpr_volatility(const BExpr *e)
{
    FuncVolatility most = e->kind == BX_FUNC ? func_def(e->func)->volatility : FUNC_IMMUTABLE;
    for (u32 i = 0; i < e->arg_count; i++) {
        FuncVolatility v = bexpr_volatility(e->args[i]);
        most = MAX(most, v);
    }
    return most;
}
static inline bool bexpr_is_volatile(const BExpr *e) { return bexpr_volatility(e) >= FUNC_VOLATILE; }
/* The same expression, positions aside. */
bool bexpr_equal(const BExpr *a, const BExpr *b);

typedef enum BRelKind { BREL_TABLE, BREL_SUBQUERY, BREL_VALUES, BREL_APPEND, BREL_CTE, BREL_SYSTEM, BREL_FUNCTION, BREL_LATERAL } BRelKind;

/* An entry of WITH. */
typedef struct BCte {
    Str name;
    u32 number;        /* in BStmt.ctes */
    BQuery *query;     /* of a recursive one: the part that begins */
    BQuery *step;      /* recursive: the part that goes on */
    bool recursive, distinct, materialized, inlined;
    u32 references, self_references;
} BCte;
/* Computed once for the statement, else at its references. */
static inline bool
bcte_is_shared(const BCte *c)
{
    return c->recursive || (!c->inlined && (c->materialized || c->references > 1));
}

typedef struct BColumn {
    Str name;
    TypeId type;
    i32 typmod;
    bool not_null;
    bool used;      /* something refers to it */
    bool relabeled; /* what is shown of it has no typmod */
    u32 table_oid;  /* the table's column that it is, below however many subqueries; else 0 */
    u16 attribute;
} BColumn;

/* A relation of FROM. The system columns are column numbers above 0xff00. */
enum { BCOL_CTID = 0xfff0, BCOL_TABLEOID = 0xfff1, BCOL_XMIN = 0xfff2 };
typedef struct BRel {
    BRelKind kind;
    Str alias;
    u32 table_id, schema_version;
    u32 column_count;
    BColumn *columns;
    bool system_used;       /* ctid or its kin is read */
    BQuery *query;          /* BREL_SUBQUERY, BREL_APPEND, BREL_CTE, BREL_LATERAL */
    u32 sub;                /* BREL_LATERAL: in BStmt.subs; runs for each row of the relations that it looks at */
    u32 lateral_count;
    BExpr **lateral;        /* what it captures, of this query's relations and of queries around */
    BCte *cte;              /* BREL_CTE */
    bool work;              /* BREL_CTE in its own recursive part: the rows of the last round */
    BQuery *second;         /* BREL_APPEND: whose rows follow */
    bool marked;            /* BREL_APPEND: a last column says which query a row is from, 1 or 2 */
    u32 row_count;          /* BREL_VALUES */
    BExpr ***rows;          /* [row][column] */
    u32 call_count;         /* BREL_FUNCTION: a column each, and perhaps the row's number behind them */
    BExpr **calls;          /* BX_FUNC that give rows; their arguments are fixed */
    u8 locked;              /* the strongest RowLockMode that marks it, 0 none */
    bool lifted;            /* a subquery that leaves its locks to this query */
} BRel;

typedef enum BFromKind { BFROM_REL, BFROM_JOIN } BFromKind;
typedef enum BJoinKind { BJOIN_INNER, BJOIN_LEFT, BJOIN_RIGHT, BJOIN_FULL, BJOIN_CROSS,
    BJOIN_SEMI, BJOIN_ANTI,            /* the planner's: left rows with a partner, without one */
    BJOIN_RIGHT_SEMI, BJOIN_RIGHT_ANTI /* the planner's: the same of the right rows */
} BJoinKind;
typedef struct BFrom {
    BFromKind kind;
    u16 rel;
    BJoinKind join;
    struct BFrom *left, *right;
    BExpr *on; /* boolean; NULL for CROSS */
} BFrom;

typedef struct BOrder {
    u32 target; /* index into targets; of an aggregate's into its columns */
    bool descending, nulls_first;
} BOrder;

/* An aggregate that gets its rows in an order, or all of them at once. Its columns: the arguments (with WITHIN GROUP those of its ORDER BY), then what
 * only ORDER BY has, then the direct arguments. */
typedef struct BAggRows {
    u32 arg_count, column_count, key_count, direct_count;
    BExpr **columns;
    BOrder *keys; /* of a DISTINCT one all arguments are among them: equal rows stand together */
} BAggRows;

typedef struct BAgg {
    AggId agg;
    BExpr *arg; /* NULL: count(*), and with rows */
    BAggRows *rows; /* NULL: the order does not matter, one argument at most */
    bool distinct;
    BExpr *filter;
    TypeId type;
    i32 typmod;
} BAgg;
/* The expressions within an aggregate; some may be NULL. */
static inline u32 bagg_part_count(const BAgg *a) { return 2 + (a->rows ? a->rows->column_count : 0); }
static inline BExpr *bagg_part(const BAgg *a, u32 i) { return i == 0 ? a->arg : i == 1 ? a->filter : a->rows->columns[i - 2]; }

typedef enum BWinKind {
    BWIN_AGGREGATE, BWIN_ROW_NUMBER, BWIN_RANK, BWIN_DENSE_RANK, BWIN_PERCENT_RANK, BWIN_CUME_DIST, BWIN_NTILE, BWIN_LAG, BWIN_LEAD,
    BWIN_FIRST_VALUE, BWIN_LAST_VALUE, BWIN_NTH_VALUE,
} BWinKind;
typedef enum BFrameBound { FRAME_UNBOUNDED_PRECEDING, FRAME_PRECEDING, FRAME_CURRENT, FRAME_FOLLOWING, FRAME_UNBOUNDED_FOLLOWING } BFrameBound;
typedef enum BFrameMode { FRAME_RANGE, FRAME_ROWS, FRAME_GROUPS } BFrameMode;
typedef enum BFrameExclude { EXCLUDE_NONE, EXCLUDE_CURRENT, EXCLUDE_GROUP, EXCLUDE_TIES } BFrameExclude;

typedef struct BWinCall {
    BWinKind kind;
    u32 window;     /* of BQuery.windows */
    u32 arg_count;
    BExpr *args[3];
    AggId agg;
    BExpr *filter;  /* NULL: none */
    TypeId type;
    i32 typmod;
} BWinCall;

typedef struct BTarget {
    BExpr *expr;
    Str name;
    bool hidden;      /* only for ORDER BY */
    i32 typmod;       /* for RowDescription; that of expr is what its values are made by */
    u32 table_oid;    /* of a plain column reference, for RowDescription; else 0 */
    u16 attribute;    /* 1-based column number, else 0 */
} BTarget;

/* FOR UPDATE and its kin: the rows whose ids stand in this column of a relation (BCOL_CTID of a table, or a column of a subquery). */
typedef struct BRowLock {
    u16 rel, column;
    u8 mode, wait; /* RowLockMode, LockWait */
    u32 table_id, schema_version;
} BRowLock;

/* Keys stand above grouping, like targets. */
typedef struct BWindow {
    u32 partition_count, order_count;
    BExpr **partition, **order;
    BOrder *directions; /* of order; target is unused */
    BFrameMode mode;
    BFrameBound start, end;
    BFrameExclude exclude;
    BExpr *start_offset, *end_offset; /* without columns; bigint, of RANGE what is added to the order's column; NULL: none */
} BWindow;

/* Numbers of grouping expressions: of a grouping set, or what GROUPING() asks about. */
typedef struct BGroupList {
    u32 count;
    u32 *groups;
} BGroupList;
enum { GROUPING_INDEX = 1 << 20 };

struct BQuery {
    u32 rel_count;
    BRel *rels;
    BFrom *from; /* NULL: SELECT without FROM, one row */
    BExpr *where;
    u32 group_count;
    BExpr **group_by;
    u32 set_count, grouping_count;
    BGroupList *sets;      /* set_count 0: one set of all */
    BGroupList *groupings; /* calls of GROUPING() */
    bool grouped; /* GROUP BY, HAVING or an aggregate is there */
    u32 agg_count;
    BAgg *aggs;
    BExpr *having;
    u32 window_count, win_call_count;
    BWindow **windows;
    BWinCall **win_calls;
    BExpr *first_only; /* boolean over window calls: the rows that DISTINCT ON keeps, NULL: all */
    u32 target_count; /* visible ones first */
    BTarget *targets;
    BExpr *repeat;    /* bigint over the groups: how often each is given, NULL: once */
    bool distinct;
    u32 order_count;
    BOrder *order_by;
    BExpr *limit, *offset; /* bigint; constants or parameters */
    bool with_ties;        /* LIMIT lets those in, too, that ORDER BY cannot tell from the last row */
    u32 lock_count;
    BRowLock *locks;
    bool locks_by_itself;  /* a locking clause was written here */
};

/* A subquery in an expression. It runs with extra parameters captures[i] set to the arguments of its BX_SUBQUERY; without captures once,
 * before the statement. */
typedef enum BSubKind {
    BSUB_SCALAR, /* the value of its one row; NULL without a row; 21000 with more */
    BSUB_EXISTS,
    BSUB_ARRAY,  /* the array of the values of its rows */
    BSUB_IN,     /* is a row of test_count values among its rows? */
    BSUB_ROWS,   /* of BREL_LATERAL: its rows; always captures something */
} BSubKind;
typedef struct BSub {
    BSubKind kind;
    BQuery *query;
    u32 test_count, capture_count;
    u32 *captures; /* numbers of extra parameters */
    TypeId *capture_types;
    i32 *capture_typmods;
    u32 column;    /* SCALAR: which one is the value */
    u32 result;    /* without captures, but for IN: number of the extra parameter that gets the value */
} BSub;
enum { EXTRA_PARAM = 1 << 16 }; /* more parameters than a statement can have */

/* Targets that the query gives; the hidden ones stand behind them. */
static inline u32
bquery_visible(const BQuery *q)
{
    u32 n = 0;
    while (n < q->target_count && !q->targets[n].hidden)
        n++;
    return n;
}

/* A CHECK: over the columns of the table as relation 0. */
typedef struct BCheck {
    Str name;
    BExpr *expr;
} BCheck;

/* INSERT … ON CONFLICT. Relation 0 is the table, 1 what was to be inserted. */
typedef struct BConflict {
    u32 key_count;
    u16 *keys;           /* numbers of the keys that count, ascending */
    bool update;         /* DO UPDATE, not DO NOTHING */
    u32 column_count;
    u16 *columns;        /* ascending */
    BExpr **values;
    BExpr *where;        /* NULL: none */
} BConflict;

typedef enum BStmtKind {
    BST_SELECT, BST_INSERT, BST_UPDATE, BST_DELETE, BST_COPY_FROM, BST_COPY_TO, BST_CREATE_TABLE, BST_DROP_TABLE, BST_ALTER_TABLE, BST_TRUNCATE,
    BST_SET, BST_SHOW, BST_RESET, BST_LOCK, BST_EXPLAIN, BST_CHECKPOINT, BST_CHECK, BST_ACCESS, BST_TRANSACTION, BST_DEALLOCATE, BST_DISCARD,
    BST_PREPARE, BST_EXECUTE, BST_DECLARE, BST_FETCH, BST_CLOSE, BST_EMPTY, BST_NOOP,
    BST_LISTEN, BST_UNLISTEN, BST_NOTIFY,
} BStmtKind;

/* DECLARE's options. */
enum {
    CURSOR_SCROLL = 1, CURSOR_NO_SCROLL = 2, CURSOR_BINARY = 4, CURSOR_HOLD = 8, CURSOR_INSENSITIVE = 16, CURSOR_ASENSITIVE = 32,
};

/* FETCH, MOVE: NEXT is FORWARD 1, PRIOR BACKWARD 1, FIRST ABSOLUTE 1, LAST ABSOLUTE -1. */
typedef enum BFetchKind { FETCH_FORWARD, FETCH_BACKWARD, FETCH_ABSOLUTE, FETCH_RELATIVE } BFetchKind;
typedef struct BFetch { BFetchKind kind; i64 count; } BFetch;
#define FETCH_ALL INT64_MAX

typedef enum BDiscard { DISCARD_ALL, DISCARD_PLANS, DISCARD_SEQUENCES, DISCARD_TEMP } BDiscard;


typedef enum CopyFormat { COPY_TEXT, COPY_CSV, COPY_BINARY } CopyFormat;
typedef struct BCopyOptions {
    CopyFormat format;
    bool header, header_match;
    char delimiter, quote, escape; /* 0: the format's default */
    Str null_text;
    bool has_null_text, has_default_text;
    Str default_text;    /* COPY FROM: what stands for a column's DEFAULT */
    bool ignore_errors, verbose;
    u64 *force_null, *force_not_null, *force_quote; /* bitmaps over the columns copied; NULL: none */
} BCopyOptions;

typedef enum BTxnKind { BTXN_BEGIN, BTXN_COMMIT, BTXN_ROLLBACK, BTXN_PREPARE, BTXN_SAVEPOINT, BTXN_RELEASE, BTXN_ROLLBACK_TO } BTxnKind;

/* One name = value of SET; value NULL = DEFAULT. */
typedef struct BSetting {
    char *name, *value;
} BSetting;

/* A NOTICE: PostgreSQL's text and code (ERR_NONE: 00000). */
typedef struct BNotice {
    ErrCode code;
    char *text;
} BNotice;

/* What the statement does to a table: all (or one) of the rights on the whole of it; by_column: one right, on each of these columns is enough (without
 * columns: on any). */
typedef struct BRight {
    u32 table_id, bits;
    bool any, by_column;
    u32 column_count;
    u16 *columns;
    Str table_name;
} BRight;

typedef struct BStmt {
    BStmtKind kind;
    u32 right_count;
    BRight *rights;      /* looked at whenever it runs (sql_check_rights) */
    u32 param_count;
    TypeId *param_types; /* inferred or declared */
    bool reads_clock;    /* has literals like 'now': a statement of another transaction with that text means another one */
    u32 cte_count;              /* entries of WITH, in the order of their binding */
    BCte **ctes;
    u32 sub_count, extra_count; /* subqueries, inner ones first; extra parameters */
    BSub **subs;
    BQuery *query;       /* SELECT; the source of INSERT; UPDATE and DELETE: rel 0 is the target, targets are the new values */
    /* INSERT, UPDATE, DELETE, COPY, TRUNCATE */
    u32 table_id, schema_version;
    Str table_name;
    u32 column_count;
    u16 *columns;        /* INSERT, COPY: target columns, in order of query targets; UPDATE: the changed columns, ascending */
    BCopyOptions copy;
    bool copy_out;       /* INSERT, UPDATE, DELETE: RETURNING goes out as COPY … TO does */
    struct BExpr *copy_where; /* COPY FROM: over the columns of the table as relation 0; NULL: none */
    BConflict *conflict; /* INSERT: NULL: none */
    u32 check_count;     /* INSERT, UPDATE, COPY FROM, ALTER TABLE: what the rows must obey. ALTER TABLE that does not rewrite them: query has these as targets, of
                          * rows that break one */
    BCheck *checks;
    u32 default_count;   /* COPY FROM: columns that may need their DEFAULT: those it does not name; all when a text stands for it */
    BTarget *defaults;   /* attribute - 1 is the column */
    /* RETURNING of INSERT, UPDATE, DELETE: over the columns of the query's relations; of relation 0 the new row's (DELETE: the old one's). What
     * UPDATE and DELETE need of the old rows stands behind the column_count values in the query's targets: `extra`, BX_COLUMN each */
    u32 returning_count, extra_target_count;
    BTarget *returning;
    /* CREATE TABLE: everything but ids, NULL when IF NOT EXISTS found one (see notices); AS: the query gives its columns in order; DROP TABLE and TRUNCATE: all ids (of TRUNCATE
     * the first is table_id, too); IF EXISTS misses are notices. ALTER TABLE: all of the new definition, NULL when nothing changes; `rewrites`: the query
     * gives its columns in order, the rows must be written anew */
    TableDef *create;
    bool rewrites;
    bool if_not_exists;
    u32 drop_count;
    u32 *drop_ids;
    /* LOCK TABLE */
    u32 lock_count;
    u32 *lock_ids;
    TableLockMode lock_mode;
    LockWait lock_wait;
    u32 notice_count;
    BNotice **notices;
    /* SET, SHOW, RESET: setting name ("all" for SHOW ALL); value as one text, NULL = DEFAULT; local = SET LOCAL.
     * set_transaction = SET TRANSACTION, which is local, too. PREPARE, EXECUTE, DECLARE, FETCH; DEALLOCATE and CLOSE, NULL = ALL: name.
     * SAVEPOINT, RELEASE, ROLLBACK TO: name */
    char *name, *text;
    bool local, set_transaction;
    const struct AAccess *access; /* roles and rights: as the tree has it */
    /* SET TRANSACTION and SET SESSION CHARACTERISTICS may set several: all of them, the first is name and text, too. BEGIN: its modes, as
     * settings of the transaction ("transaction_isolation", "transaction_read_only", "transaction_deferrable") */
    u32 setting_count;
    BSetting *settings;
    /* EXPLAIN, DECLARE: explained is the query; of EXPLAIN EXECUTE a BST_EXECUTE */
    bool analyze, format_json;
    struct BStmt *explained;
    u8 cursor_options;   /* DECLARE: CURSOR_… */
    BFetch fetch;
    bool move;           /* MOVE, not FETCH */
    BDiscard discard;
    BTxnKind txn;
    bool chain;          /* COMMIT, ROLLBACK AND CHAIN */
} BStmt;

#endif
