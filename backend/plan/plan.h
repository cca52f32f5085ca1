/*
 * plan.h
 *    The plan: a tree of operators, read-only once made, cached by statement text and used by any number of executions.
 *    Node structs and the planner's rules are in node.h; this door is what session and exec need.
 */
#ifndef PLAN_H
#define PLAN_H

#include "backend/sql/bound.h"
#include "common/base/arena.h"
#include "common/store/store.h"

typedef struct PlanNode PlanNode;
struct PlanFigures;

typedef struct PlanColumn {
    Str name;
    TypeId type;
    i32 typmod;       /* that its values are made by */
    i32 shown_typmod; /* for RowDescription, as the next two */
    u32 table_oid;
    u16 attribute;
} PlanColumn;

typedef struct Plan {
    const BStmt *stmt;
    PlanNode *root;          /* NULL for utility statements */
    u32 column_count;        /* result columns, for RowDescription */
    PlanColumn *columns;
    struct PlanExpr *defaults;  /* COPY FROM: one for each of stmt->defaults, over no columns */
    struct PlanExpr *copy_where; /* COPY FROM: over all columns of the table; NULL: none */
    struct PlanExpr *checks;    /* one for each of stmt->checks: over the rows of root; COPY FROM, ON CONFLICT: over all columns of the table, as RETURNING there */
    struct PlanUpsert *upsert;  /* ON CONFLICT; NULL: none */
    bool copy_row_alone;        /* COPY FROM: an error may be a row's own */
    struct PlanExpr *returning; /* RETURNING: column_count expressions over the rows of root; NULL: none */
    u64 catalog_version;     /* bound to this; another one: bind again */
    u32 node_count;
    bool locks;              /* locks rows, subqueries included: runs by exec_open_locking */
    bool locks_late;         /* locks may be asked for when rows are already on their way: a subquery with captures, or what it refers to */
    bool serial;             /* calls a SERIAL function, or has a subquery with captures: one thread, rows in order */
    u32 sub_count;           /* the statement's subqueries (BStmt.subs), inner ones first */
    bool *sub_used;          /* what captures something is still called: no join took its place */
    struct Plan **subs;
    u32 cte_count;           /* the statement's entries of WITH (BStmt.ctes) */
    struct Plan **ctes;      /* those that are shared, else NULL; of a recursive one the part that begins */
    struct Plan **steps;     /* the recursive parts */
} Plan;

/* Throws. Everything lives in a. */
Plan *plan_make(Arena *a, const BStmt *stmt, const Root *root);
/* EXPLAIN's lines, or one JSON text; `figures` are those of exec_figures; NULL without ANALYZE. */
void plan_explain(const Plan *p, Arena *a, ByteBuf *to, bool json, const struct PlanFigures *figures);

#endif
