/*
 * bind.h
 *    Inside the binder: its state, scopes, and what its files call in each other.
 */
#ifndef BIND_H
#define BIND_H

#include "backend/sql/ast.h"
#include "backend/sql/lex.h"
#include "backend/throw.h"
#include "common/type/numeric.h"

/* What a table is used for, checked at the end when all names are known to be right. */
typedef struct BindRight {
    const TableDef *table;
    u32 acl_bits;
    bool any;       /* one of them is enough */
    bool by_column; /* see BRight */
    bool if_used;   /* only when columns of rel are */
    const BRel *rel; /* the columns: those used in the end, when it is not NULL */
    u32 column_count;
    const u16 *columns;
} BindRight;

typedef struct Binder {
    Arena *arena;
    const BindContext *ctx;
    bool ascii;              /* positions are bytes */
    u32 last_byte, last_pos; /* of the position asked last */
    u32 depth;
    u32 param_count, param_capacity;
    TypeId *param_types;     /* TYPE_INVALID not seen, TYPE_UNKNOWN seen and not yet known */
    PtrList param_nodes;     /* BExpr: every BX_PARAM made */
    PtrList rights;          /* BindRight */
    PtrList subs;            /* BSub */
    u32 extra_count;
    struct Scope *outer;     /* of the scopes made now: the query around them, and the frame that captures */
    struct SubFrame *frame;
    struct Scope *beside;    /* the query whose FROM the one bound now stands in, without LATERAL */
    bool rows_allowed;       /* the call that is bound next may give rows */
    PtrList ctes;            /* BCte: all of the statement */
    struct CteScope *with;   /* entries of WITH that can be seen */
    const AWith *with_now;   /* those being bound, and at which of them */
    u32 with_at;
    PtrList notices;         /* BNotice */
    bool no_positions;       /* errors point nowhere */
    bool reads_clock;        /* a literal was what it is because of the time of the transaction */
} Binder;

/* Where an expression stands, for messages and for what is allowed there. */
typedef enum BindPlace {
    PLACE_TARGET, PLACE_WHERE, PLACE_ON, PLACE_GROUP, PLACE_HAVING, PLACE_ORDER, PLACE_LIMIT, PLACE_OFFSET, PLACE_VALUES, PLACE_SET,
    PLACE_FILTER, PLACE_RETURNING, PLACE_DEFAULT, PLACE_COPY_WHERE, PLACE_EXECUTE, PLACE_FUNCTION, PLACE_CHECK, PLACE_TRANSFORM,
} BindPlace;

typedef struct NsColumn {
    Str name;
    BExpr *expr; /* copied at each use */
} NsColumn;

/* A name in FROM. A join without an alias has columns but no name; its sides keep their names but lose their bare columns. */
typedef struct NsItem {
    Str name;
    bool has_name, has_alias, rel_visible, cols_visible, is_join;
    const TableDef *table; /* NULL: none */
    u16 rel;               /* of a table: its number */
    u32 count;
    NsColumn *columns;
} NsItem;

/* A subquery of an expression while it is bound: what it takes from the queries around it. */
typedef struct SubFrame {
    PtrList captures;  /* BExpr, in terms of the query around */
    u32 numbers[64];   /* their extra parameters */
} SubFrame;

typedef struct Scope {
    Binder *b;
    struct Scope *outer;    /* NULL: no query is around */
    SubFrame *frame;
    BQuery *query;
    PtrList items;    /* NsItem, also those that are hidden */
    u32 visible_from; /* items before this one cannot be seen now (the ON of a later join) */
    PtrList rels;     /* BRel */
    PtrList tables;   /* TableDef of each of rels, or NULL */
    PtrList aggs;     /* BAgg */
    bool has_grouping; /* GROUPING() was called */
    BRel *row_calls;   /* calls among the targets that give rows; NULL: none */
    u16 row_calls_rel;
    u32 row_calls_at;
    const TableDef *target; /* of INSERT … VALUES: cannot be seen, but messages know it */
    BindPlace place;
    bool in_aggregate, in_window, in_window_keys;
    const char *in_alternative; /* "CASE", "COALESCE"; NULL: in none */
    const PtrList *windows;   /* AWindow of the WINDOW clause; NULL: none */
    PtrList bound_windows;    /* BWindow */
    PtrList win_calls;        /* BWinCall */
} Scope;

typedef enum CastContext { CAST_IMPLICIT, CAST_ASSIGNMENT, CAST_EXPLICIT } CastContext;

/* ---- bind.c ---- */
u32 bind_position(Binder *b, u32 byte);
NORETURN void bind_fail(Binder *b, u32 byte, ErrCode code, const char *format, ...) PRINTF_LIKE(4, 5);
/* With a hint; position is in characters already. */
NORETURN void bind_fail_hint(u32 position, ErrCode code, const char *hint, const char *format, ...) PRINTF_LIKE(4, 5);
NORETURN void bind_unsupported(Binder *b, u32 byte, const char *feature);
void bind_enter(Binder *b);
void bind_leave(Binder *b);
BExpr *bind_new(Binder *b, BExprKind kind, TypeId type, u32 position);
BExpr *bind_const_null(Binder *b, TypeId type, u32 position);
BExpr *bind_const_text(Binder *b, TypeId type, Str text, u32 position);
void bind_notice(Binder *b, ErrCode code, const char *format, ...) PRINTF_LIKE(3, 4);
void bind_right(Binder *b, const TableDef *t, u32 acl_bits);
/* On columns: those of the relation that are used in the end (if_used: nothing when none are), or those of the list. */
void bind_right_rel(Binder *b, const TableDef *t, u32 bit, const BRel *rel, bool if_used);
void bind_right_columns(Binder *b, const TableDef *t, u32 bit, const u16 *columns, u32 count);
/* One of the rights is enough. */
void bind_right_any(Binder *b, const TableDef *t, u32 acl_bits);
/* The type of an expression as messages name it. */
const char *bind_type_name(TypeId t);
const char *bind_name_text(Binder *b, const AName *n);

/* ---- bind_coerce.c ---- */
bool coerce_allowed(TypeId from, TypeId to, CastContext context);
/* To another type without typmod; the conversion must be allowed. */
BExpr *coerce_type(Binder *b, BExpr *e, TypeId to, CastContext context);
/* NULL when the conversion is not allowed. */
BExpr *coerce_to_target(Binder *b, BExpr *e, TypeId to, i32 typmod, CastContext context);
BExpr *coerce_to_boolean(Binder *b, BExpr *e, const char *construct);
BExpr *coerce_unknown_to_text(Binder *b, BExpr *e);
/* The typmod for so many decimals of a second. */
i32 bind_time_precision(Binder *b, i32 precision, TypeId type, u32 at);
/* The type for CASE, COALESCE, VALUES, …; with construct NULL gives TYPE_INVALID instead of 42804. */
TypeId coerce_common_type(BExpr *const *list, u32 count, const char *construct);
BExpr *coerce_to_common(Binder *b, BExpr *e, TypeId to, const char *construct);
/* Resolve a type name; *typmod is -1 without modifiers. 42704, 0A000. */
TypeId bind_type(Binder *b, const ATypeName *t, i32 *typmod);

/* ---- bind_call.c ---- */
/* type: an integer one */
BExpr *bind_int_const(Binder *b, TypeId type, i64 v);
BExpr *bind_operator(Binder *b, Str op, BExpr *left, BExpr *right, u32 at);
/* An operator that must exist, for its function only (BX_IN, BX_DISTINCT, BX_NULLIF): coerces both sides. */
FuncId bind_equality(Binder *b, BExpr **left, BExpr **right, u32 at);
BExpr *bind_call(Scope *s, const AExpr *call);
/* One overload in the contest. */
typedef struct Candidate {
    u32 row;
    const TypeId *args;
} Candidate;
enum { CHOICE_NONE = -1, CHOICE_MANY = -2, BIND_MAX_CANDIDATES = 128, BIND_MAX_ARGS = 100 };
/* The row that wins, CHOICE_NONE or CHOICE_MANY. c is scratch. */
/* A call of this row: arguments are converted to its types. */
BExpr *bind_make_func(Binder *b, const FuncDef *f, BExpr **args, u32 n, u32 position);
/* As concat() and format() print it: character with its blanks, a boolean as t or f. */
BExpr *bind_as_printed(Binder *b, BExpr *e);
/* bind_special.c: puts arguments into the order of the function's names and fills in defaults; how many there are then. */
u32 bind_arguments_by_name(Binder *b, const AExpr *call, Str name, BExpr **args);
/* NULL: an ordinary function. */
BExpr *bind_special_call(Binder *b, const AExpr *call, Str name, BExpr **args, u32 n);
int bind_choose(Candidate *c, u32 count, const TypeId *in, u32 n);
/* 42883, or 42725 when many fit. */
NORETURN void bind_function_error(Binder *b, const AExpr *call, BExpr **args, u32 n, bool many);
/* The same for a hypothetical-set aggregate with so many direct arguments, which are not as many as the others. */
NORETURN void bind_hypothetical_error(Binder *b, const AExpr *call, BExpr **args, u32 n, u32 direct);
/* What messages call a place where no aggregate may stand; NULL: it may. */
const char *bind_place_name(BindPlace place);
/* VARIADIC and named arguments: 0A000. */
void bind_refuse_argument_forms(Binder *b, const AExpr *call);

/* ---- bind_aggregate.c ---- */
BExpr *bind_aggregate(Scope *s, const AExpr *call, Str name, const AggDef *rows, u32 count);

/* ---- bind_function.c ---- */
/* A function in FROM, under its alias or name. */
NsItem *bind_add_function(Scope *s, const AFrom *f, u16 *ret_rel);
/* A call that gives rows, among the targets: all of a query become one relation, side by side; this is the call's column. */
BExpr *bind_target_rows(Scope *s, BExpr *call, Str name, u32 at);
/* Puts that relation behind the query's FROM. */
void bind_finish_target_rows(Scope *s);

/* ---- bind_expr.c ---- */
BExpr *bind_expr(Scope *s, const AExpr *e);
BExpr *bind_expr_at(Scope *s, const AExpr *e, BindPlace place);
BExpr *bind_condition(Scope *s, const AExpr *e, BindPlace place, const char *construct);
/* The name an output column gets; never empty. */
Str bind_output_name(const AExpr *e);
BExpr *bexpr_copy(Binder *b, const BExpr *e, u32 position);

/* ---- bind_default.c ---- */
/* The first subquery of an expression that is not bound; NULL: none. */
const AExpr *bind_find_subquery(const AExpr *e);
/* Checks a new column's DEFAULT; returns what the catalog keeps of its text (nothing for NULL). */
Str bind_new_default(Binder *b, const ColumnDef *c, const AExpr *e, Str text);
/* The DEFAULT of a column as an expression of its type; NULL when it has none. */
BExpr *bind_default(Binder *b, const TableDef *t, u16 column);

/* ---- bind_check.c ---- */
/* A new CHECK over the columns of t: everything but its name. Throws what is no CHECK. */
CheckDef bind_new_check(Binder *b, const TableDef *t, const AConstraint *c);
/* The same CHECK over t, whose columns may have other types or, where `old` is not t, other names; from: the old column of each of t, -1 none. */
CheckDef bind_moved_check(Binder *b, const TableDef *old, const TableDef *t, const i32 *from, const CheckDef *c);
BExpr *bind_check(Binder *b, const TableDef *t, const CheckDef *c);
/* What new rows of t must obey, into the statement; of an UPDATE that changes to->columns only. */
void bind_checks(Binder *b, BStmt *to, const TableDef *t);

/* ---- bind_conflict.c ---- */
void bind_on_conflict(Binder *b, BStmt *to, const TableDef *t, const Stmt *s);
/* The relation `excluded`, behind that of t. */
NsItem *bind_add_excluded(Scope *s, const TableDef *t);

/* ---- bind_sub.c ---- */
/* A column of an outer query, captured by the scope's frame; NULL: none has it. */
BExpr *bind_outer_column(Scope *s, const AName *n);
BExpr *bind_subquery(Scope *s, const AExpr *e);
/* A query that may look at relations of the same FROM before it: a relation that runs it for each of their rows; without captures a plain one. */
BRel *bind_lateral(Scope *s, const ASelect *sel);
/* The same for a relation that was bound in this scope, when it has columns of others in it. */
void bind_make_lateral(Scope *s, BRel *rel);
/* The value of one column of a subquery with so many. */
BExpr *bind_scalar(Scope *s, const AExpr *e, u32 column, u32 column_count);
/* All columns in an aggregate's parts are of outer queries, so that it is theirs; a part may be NULL. */
bool bind_is_outer(const Scope *s, BExpr *const *parts, u32 count);

/* ---- bind_with.c ---- */
typedef struct CteScope CteScope;
/* Binds the entries and makes them visible; returns what Binder.with is to be set to afterwards. with: NULL for none. */
CteScope *bind_with(Binder *b, const AWith *with);
/* The relation of a name in FROM; NULL: no entry has it. */
BRel *bind_cte_rel(Binder *b, const AName *name);
/* An entry of the WITH being bound has the name, but cannot be seen here. */
bool bind_is_later_cte(const Binder *b, const AName *name);

/* ---- bind_window.c ---- */
bool bind_is_window_function(Str name);
BExpr *bind_window_function(Scope *s, const AExpr *call, Str name);
BExpr *bind_window_aggregate(Scope *s, const AExpr *call, const BAgg *agg);
/* A call with OVER may stand here, else 42P20. */
void bind_check_window_place(Scope *s, const AExpr *call);

/* ---- bind_array.c ---- */
/* wanted: the array type that a cast around it names, else TYPE_INVALID. */
BExpr *bind_array(Scope *s, const AExpr *e, TypeId wanted, i32 typmod);
BExpr *bind_subscript(Scope *s, const AExpr *e);
BExpr *bind_any(Scope *s, const AExpr *e);
/* e says operator and place. */
BExpr *bind_any_of(Binder *b, const AExpr *e, BExpr *left, BExpr *array);

/* ---- bind_poly.c ---- */
bool poly_is(TypeId t);
/* Can these be the arguments of a function that is declared so? Looks at the polymorphic ones only. */
bool poly_fits(const TypeId *in, const TypeId *declared, u32 n);
/* The types of arguments and result in this call. Throws 42804. */
TypeId poly_resolve(const TypeId *in, const FuncDef *f, TypeId *args);

/* ---- bind_row.c: constructs that take rows apart ---- */
BExpr *bind_row_compare(Scope *s, const AExpr *e);
BExpr *bind_in(Scope *s, const AExpr *e);
/* (a, b) IS [NOT] NULL: every one of them is. */
BExpr *bind_row_is_null(Scope *s, const AExpr *e);
BExpr *bind_distinct(Scope *s, const AExpr *e);

/* ---- bind_scope.c ---- */
BExpr *bind_column_ref(Scope *s, const AExpr *e);
/* The column of this scope that the name (one to four parts) means; NULL: none. */
BExpr *bind_column_here(Scope *s, const AName *n);
/* That of BCOL_CTID and its kin. */
Str bind_system_column_name(u16 column);
/* Appends the columns of * or t.* as BTarget. */
void bind_star(Scope *s, const AExpr *e, PtrList *targets);
BTarget *bind_new_target(Scope *s, BExpr *e, Str name);
/* The column that a query's target is to the query outside of it. */
BColumn bind_target_column(const BTarget *t);
/* The same without length or precision. */
BExpr *bind_relabel(Binder *b, const BExpr *e);
/* Could this bare name be a column of FROM? Throws when ambiguous. NULL: no. */
BExpr *bind_find_column(Scope *s, Str name, u32 at);
BFrom *bind_from(Scope *s, const PtrList *from);
const TableDef *bind_table(Binder *b, const AName *name);
/* As bind_table, but NULL when it is not there. */
const TableDef *bind_find_table(Binder *b, const AName *name);
NsItem *bind_add_table(Scope *s, const TableDef *t, const AAlias *alias, u16 *ret_rel);

void bind_check_alias_columns(const AAlias *alias, u32 available, Str name);
/* ---- bind_view.c ---- */
/* A view of the system as a relation of FROM. */
NsItem *bind_add_view(Scope *s, const TableDef *t, const AAlias *alias, u16 *ret_rel);

/* ---- bind_suggest.c: 42703; table.len 0: none was written ---- */
NORETURN void suggest_column(Scope *s, Str table, Str column, u32 at);

/* ---- bind_query.c, bind_group.c ---- */
/* resolve_unknowns: outputs whose type is still unknown become text (not in the source of INSERT, which knows better). */
BQuery *bind_query(Binder *b, const ASelect *sel, bool resolve_unknowns);
/* 42P10: LIMIT and the like have no columns in their arguments. */
void bind_refuse_columns(const BExpr *e, const char *construct);
void bind_order_direction(Binder *b, const AOrder *o, BOrder *to);
/* The select list, stars expanded, as BTarget. */
void bind_target_list(Scope *s, const PtrList *list, PtrList *targets);
/* ORDER BY into `order` (BOrder); what it needs and is no target becomes a hidden one. */
void bind_order_by(Scope *s, const ASelect *sel, PtrList *targets, u32 visible, PtrList *order);
/* ---- bind_setop.c ---- */
BQuery *bind_set_operation(Binder *b, const ASelect *sel);
/* Moves relations and aggregates from the scope into its query. */
void bind_finish_scope(Scope *s, const PtrList *targets);
/* ---- bind_group.c ---- */
/* GROUP BY: the expressions into groups, each once; grouping sets into the query. `find` gives an expression its meaning. */
typedef struct GroupBinder {
    Scope *s;
    PtrList *targets, *groups;
    u32 visible;
    BExpr *(*find)(const struct GroupBinder *g, const AExpr *e);
} GroupBinder;
void bind_group_items(const GroupBinder *g, const ASelect *sel);
/* GROUPING(…), until bind_grouping knows which grouping expressions are meant. */
BExpr *bind_grouping_call(Scope *s, const AExpr *e);
/* Replaces grouping expressions by BX_GROUP and refuses columns that are neither grouped nor aggregated. */
void bind_grouping(Scope *s, PtrList *groups);
/* VALUES as a relation of FROM; its columns are column1, column2, … */
BRel *bind_values_rel(Scope *s, const ASelect *sel);
/* A relation that is no table, under its alias (NULL: none). */
NsItem *bind_add_named(Scope *s, BRel *rel, const AAlias *alias, u16 *ret_rel);
/* Adds a relation with a name for its columns. */
NsItem *bind_add_rel(Scope *s, BRel *rel, const TableDef *t, u16 *ret_rel);
BExpr *bind_limit(Scope *s, const AExpr *e, const char *construct, BindPlace place);
/* Does LIMIT let ties in? 2201W when it is NULL then. */
bool bind_ties(const ASelect *sel, const BExpr *limit);

/* ---- bind_lock.c ---- */
/* FOR UPDATE and its kin, once the clauses of the query are bound. */
void bind_locking(Scope *s, const ASelect *sel);
/* Set operations take no locking clause, nor do their sides. */
void bind_refuse_locked_set(const ASelect *sel);

/* ---- statements ---- */
void bind_lock_table(Binder *b, BStmt *to, const Stmt *s);
void bind_insert(Binder *b, BStmt *to, const Stmt *s);
void bind_update(Binder *b, BStmt *to, const Stmt *s);
void bind_delete(Binder *b, BStmt *to, const Stmt *s);
/* Whichever of the three s is, with its WITH. */
void bind_change(Binder *b, BStmt *to, const Stmt *s);
void bind_copy(Binder *b, BStmt *to, const Stmt *s);
void bind_create_table(Binder *b, BStmt *to, const Stmt *s);
/* The table's name is in `to`. */
void bind_create_table_as(Binder *b, BStmt *to, const Stmt *s);
void bind_drop_table(Binder *b, BStmt *to, const Stmt *s);
void bind_alter_table(Binder *b, BStmt *to, const Stmt *s);
void bind_truncate(Binder *b, BStmt *to, const Stmt *s);
/* 42501 unless the role owns the table or is superuser. */
void bind_must_own(Binder *b, const TableDef *t);
void bind_explain(Binder *b, BStmt *to, const Stmt *s);
void bind_utility(Binder *b, BStmt *to, const Stmt *s);
void bind_statement(Binder *b, BStmt *to, const Stmt *s);
/* ---- bind_named.c ---- */
TypeId *bind_prepared_types(Binder *b, const Stmt *prepare, u32 *ret_count);
void bind_execute_arguments(Binder *b, BStmt *to, const Stmt *execute, const TypeId *types, u32 count);
void bind_declare(Binder *b, BStmt *to, const Stmt *s);
/* Target columns of INSERT and COPY: the list, or all. */
u16 *bind_target_columns(Binder *b, const TableDef *t, const Stmt *s, u32 *ret_count);
int bind_table_column(const TableDef *t, Str name);
/* values[column] of SET clauses (ASetClause), NULL for columns that they do not name. */
void bind_assignments(Scope *s, const TableDef *t, const PtrList *clauses, BExpr **values);

#endif
