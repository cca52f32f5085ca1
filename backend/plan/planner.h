/*
 * planner.h
 *    What the files of the planner share: the state of one plan_make, and helpers over bound expressions.
 */
#ifndef PLANNER_H
#define PLANNER_H

#include "backend/plan/node.h"
#include "backend/throw.h"

typedef struct Planner {
    Arena *arena;
    const Root *root;
    const BStmt *stmt;
    const BQuery *query; /* that nodes are made for */
    bool *sub_used;      /* the plan's */
    Plan *const *ctes;   /* planned so far, by number */
    u32 node_count;
    bool locks;  /* a node that locks rows was made */
    bool serial; /* a SERIAL function or a subquery with captures was compiled */
} Planner;

/* A set of columns of one query: bit (first[rel] + column); system columns are three bits behind each relation's own. */
typedef struct ColumnSet {
    u32 word_count;
    u64 *words;
} ColumnSet;

typedef struct ConjunctList {
    u32 count, capacity;
    const BExpr **items;
} ConjunctList;

/* What is known of a column of a table: how many values are different (0: unknown), and for numbers the least and the greatest. */
typedef struct ColumnGuess {
    bool looked, has_range;
    double rows, distinct;
    i64 low, high;
} ColumnGuess;

/* One query while its FROM is planned. */
typedef struct FromPlanner {
    Planner *p;
    const BQuery *query;
    u32 *first; /* per relation, its first bit of a ColumnSet */
    u32 bit_count;
    ColumnGuess **guesses; /* by relation and column, as far as somebody asked */
} FromPlanner;

PlanNode *node_new(Planner *p, PlanNodeKind kind, u32 slot_count);
PlanExpr plan_expr(Planner *p, const BExpr *e, const PlanNode *input);
/* The slot that an expression over this input becomes. */
PlanSlot plan_expr_slot(const PlanExpr *x, const BExpr *e, const PlanNode *input);
ExprProg *plan_compile(Planner *p, const BExpr *e, const PlanSlot *slots, u32 slot_count);
/* SERIAL functions and subqueries with captures make the plan serial. */
void plan_note_calls(Planner *p, const BExpr *e);
PlanNode *plan_filter(Planner *p, PlanNode *input, const ConjunctList *conjuncts);
/* Throws for json, and for jsonb: grouping compares bytes, and equal values of jsonb may differ in theirs. */
void plan_need_equality(TypeId type, i32 typmod, u32 position);
const BExpr *conjuncts_join(Planner *p, const BExpr *const *items, u32 count);

/* ---- decorrelate.c ---- */
/* q, or a copy in which subqueries have become joins; relation 0 stays where it is. */
const BQuery *plan_decorrelate(Planner *p, const BQuery *q);

/* ---- window.c ---- */
PlanNode *plan_windows(Planner *p, const BQuery *q, PlanNode *input);
void plan_windows_need(const FromPlanner *f, ColumnSet *need);

PlanNode *plan_query(Planner *p, const BQuery *q);
PlanNode *plan_from(FromPlanner *f, const ColumnSet *need, ConjunctList *where);
PlanNode *plan_query_rows(Planner *p, const BQuery *q, bool row_id);

/* One relation with the conditions that belong to it. */
PlanNode *plan_relation(FromPlanner *f, u16 rel, const ColumnSet *need, const ConjunctList *conjuncts);

void conjunct_add(Planner *p, ConjunctList *list, const BExpr *e);
void conjuncts_split(Planner *p, ConjunctList *list, const BExpr *e);
/* The same of an OR: what all its arms share, and what is left of it. */
void disjuncts_split(Planner *p, ConjunctList *list, const BExpr *e);

ColumnSet column_set_new(FromPlanner *f);
ColumnSet column_set_copy(FromPlanner *f, const ColumnSet *s);
void column_set_add(const FromPlanner *f, ColumnSet *s, u16 rel, u16 column);
bool column_set_has(const FromPlanner *f, const ColumnSet *s, u16 rel, u16 column);
void column_set_add_expr(const FromPlanner *f, ColumnSet *s, const BExpr *e);

/* Bit r: the expression refers to relation r. */
typedef struct RelSet { u64 words[16]; } RelSet;
enum { PLAN_MAX_RELS = 1024 };
void relset_add_expr(RelSet *s, const BExpr *e);
bool relset_empty(const RelSet *s);
bool relset_within(const RelSet *s, const RelSet *of);
bool relset_meets(const RelSet *a, const RelSet *b);
void relset_add(RelSet *s, u32 rel);
void relset_union(RelSet *s, const RelSet *of);
/* What an OR that spans more relations asks of these alone; NULL: nothing. */
const BExpr *disjuncts_restrict(Planner *p, const BExpr *e, const RelSet *rels);

/* ---- lateral.c ---- */
/* The relations that a LATERAL relation looks at. */
void lateral_rels(const BRel *rel, RelSet *s);
void lateral_need(const FromPlanner *f, const BRel *rel, ColumnSet *need);
/* left NULL: one row of nothing. conds: of a LEFT JOIN, its ON. */
PlanNode *plan_lateral(FromPlanner *f, bool left_join, PlanNode *left, u16 rel, const ConjunctList *conds);

/* No column, aggregate or volatile function: the same value for the whole execution. */
bool expr_is_fixed(const BExpr *e);
/* True only when evaluating it on any text at all raises no error, so that entries of a dictionary may be tried that no row has. */
bool expr_cannot_fail_on_text(const BExpr *e);
/* A comparison: its operator, false when it is none. */
bool expr_comparison(const BExpr *e, PlanOp *ret);
/* Strip casts that keep value and order (between text types, to wider integers, to numeric). */
const BExpr *expr_strip_widening(const BExpr *e);
/* A value of the one type can be looked up in a key over a column of the other, when "=" compares them. */
bool expr_fits_key(TypeId column, TypeId value);
/* ---- estimate.c ---- */
ColumnGuess estimate_column(FromPlanner *f, u16 rel, u16 column);
/* The share of all pairs of rows that have equal keys. */
double estimate_keys(FromPlanner *f, const BExpr *const *left, const BExpr *const *right, u32 count, double left_rows, double right_rows);
/* The share of the rows that a comparison of a column with a fixed value leaves; `otherwise` where nothing is known. */
double estimate_comparison(FromPlanner *f, u16 rel, u16 column, PlanOp op, const BExpr *value, double otherwise);

/* How many pairs of rows of two sides meet those of these conditions that touch both of them and nothing else; ret_connected: an equality is among them. */
double plan_join_rows(FromPlanner *f, const ConjunctList *conds, const RelSet *left, const RelSet *right, double left_rows, double right_rows,
                      bool *ret_connected);
/* A join of two planned sides; conds are all its conditions. */
PlanNode *plan_join(FromPlanner *f, BJoinKind kind, PlanNode *left, const RelSet *left_rels, PlanNode *right, const RelSet *right_rels,
                    const ConjunctList *conds, const ColumnSet *need);

#endif
