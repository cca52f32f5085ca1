/*
 * ast.h
 *    The syntax tree: what was written, before any name is looked up.
 *
 * Made by the parser in one arena, read by the binder, never changed. `at` is a byte offset into the source (of the token PostgreSQL would
 * point to). The tree holds what later features need (subqueries, set operations, WITH, windows, RETURNING, …); the binder refuses
 * what is not built yet. AND, OR and lists are flat, so depth comes from real nesting only.
 */
#ifndef AST_H
#define AST_H

#include "backend/sql/sql.h"
#include "common/base/base.h"

enum { NO_LOCATION = UINT32_MAX };

typedef struct AExpr AExpr;
typedef struct ASelect ASelect;
typedef struct AFrom AFrom;

/* Growing list of pointers; items live in the arena. */
typedef struct PtrList {
    u32 count, capacity;
    void **items;
} PtrList;
void ptrlist_add(Arena *a, PtrList *l, void *item);
#define LIST_AT(list, Type, i) ((Type *)(list).items[i])

/* A dotted name: a, a.b, a.b.c. */
enum { MAX_NAME_PARTS = 8 };
typedef struct AName {
    u32 count;
    u32 at;
    Str parts[MAX_NAME_PARTS]; /* the last one that counts is parts[count - 1] */
} AName;

typedef struct ATypeName {
    AName name;   /* built-in spellings come as one part: "int4", "varchar", … */
    u32 at;
    PtrList mods; /* AExpr: (p, s) */
    bool with_mods;
    bool system;  /* spelled by a keyword: found in pg_catalog only */
    bool array, setof;
} ATypeName;

typedef enum AExprKind {
    AX_NULL,
    AX_BOOL,     /* number 0, 1 */
    AX_INT,      /* number */
    AX_NUMBER,   /* text */
    AX_STRING,   /* text */
    AX_BITS,
    AX_PARAM,    /* number */
    AX_COLUMN,   /* name; star: name.* (name.count 0: *) */
    AX_DEFAULT,
    AX_OP,       /* text = operator; 1 or 2 args; op_at; name = its schema (OPERATOR(s.+)) */
    AX_AND,      /* n args */
    AX_OR,       /* n args */
    AX_NOT,
    AX_IS_NULL,  /* negated */
    AX_IS_BOOL,  /* number: 1 TRUE, 0 FALSE, -1 UNKNOWN; negated */
    AX_DISTINCT, /* IS [NOT] DISTINCT FROM; negated = NOT; op_at */
    AX_BETWEEN,  /* 3 args; negated, symmetric; op_at */
    AX_IN,       /* args[0] IN (args[1..]); negated; op_at */
    AX_CASE,     /* subject (or NULL), then when, then pairs, then else (or NULL) */
    AX_CAST,     /* args[0], type */
    AX_COALESCE,
    AX_NULLIF,
    AX_GREATEST, /* negated = LEAST */
    AX_FUNC,     /* name, args, call */
    AX_VALUE,    /* CURRENT_DATE, …: keyword in number; precision in args[0] */
    AX_SUBQUERY, /* select */
    AX_EXISTS,   /* select */
    AX_IN_QUERY, /* args[0] IN (select); negated */
    AX_QUANTIFIED, /* args[0] text ANY (select | args[1]); negated = ALL */
    AX_ARRAY,    /* ARRAY(select), or ARRAY[args]: inner brackets are AX_ARRAY, too */
    AX_ROW,
    AX_COLLATE,  /* args[0], name */
    AX_SUBSCRIPT, /* args[0] [ args[1] ], or with star args[0] [ args[1] : args[2] ], NULL: not given */
    AX_FIELD,    /* (args[0]).text; star */
    AX_GROUPING,
    AX_UNSUPPORTED, /* text names the feature */
} AExprKind;

/* A window: (base PARTITION BY … ORDER BY … frame), or only the name of one (OVER w). */
typedef struct AWindow {
    u32 at;
    Str name;          /* in a WINDOW clause */
    Str base;          /* len 0: none */
    bool only_base;    /* OVER w */
    PtrList partition; /* AExpr */
    PtrList order;     /* AOrder */
    bool has_frame;
    u32 frame_at;
    BFrameMode mode;
    BFrameBound start, end;
    AExpr *start_offset, *end_offset;
    BFrameExclude exclude;
} AWindow;

typedef struct AArgName {
    Str name;
    u32 at;
} AArgName;

/* What a call has besides its arguments. */
typedef struct ACall {
    bool star, distinct, variadic, named_args, within_group;
    AWindow *over;    /* NULL: no window function */
    PtrList order_by; /* AOrder */
    PtrList arg_names; /* AArgName, NULL for an argument without a name; when named_args */
    AExpr *filter;
} ACall;

struct AExpr {
    AExprKind kind;
    bool negated, symmetric, star;
    u32 at, op_at;
    i32 number;
    u32 arg_count;
    AExpr **args;
    u32 *when_at; /* AX_CASE: where each WHEN stands */
    Str text;
    const AName *name;
    ATypeName *type;
    ASelect *select;
    ACall *call;
};

typedef struct AOrder {
    AExpr *expr;
    bool descending, nulls_given, nulls_first;
    bool using_op;
    Str op;
    u32 op_at;
} AOrder;

typedef struct ATarget {
    AExpr *expr;
    Str label; /* len 0: none given */
    bool has_label;
    u32 at;
} ATarget;

typedef struct AAlias {
    Str name;
    u32 column_count;
    Str *columns;
} AAlias;

/* A whole expression (parse.c); text must stay. */
const AExpr *parse_expression(Arena *a, Str text);

typedef enum AFromKind { AF_TABLE, AF_SUBQUERY, AF_FUNCTION, AF_JOIN } AFromKind;
struct AFrom {
    AFromKind kind;
    u32 at;
    AName name;
    AAlias *alias; /* NULL: none */
    bool lateral;
    const char *unsupported; /* NULL, or the feature that makes it so */
    ASelect *select;
    PtrList functions;    /* AExpr: one, or those of ROWS FROM */
    bool ordinality;
    bool has_definitions; /* (name type, …) */
    u32 definitions_at;
    BJoinKind join;
    bool natural;
    AFrom *left, *right;
    AExpr *on;
    bool has_using;
    u32 using_count;
    Str *using_columns;
    AAlias *using_alias;
};

/* WITH name (columns) AS [NOT] MATERIALIZED (select) */
typedef struct ACte {
    Str name;
    u32 at, column_count;
    Str *columns;
    int materialized; /* 1 yes, -1 no, 0 not said */
    ASelect *select;  /* NULL: unsupported says why */
    const char *unsupported;
} ACte;
typedef struct AWith {
    PtrList ctes; /* ACte */
    bool recursive;
} AWith;

/* An item of GROUP BY, of GROUPING SETS, ROLLUP or CUBE. */
typedef enum AGroupKind {
    AG_EXPR,   /* expr; of a list in parentheses all of exprs */
    AG_ROLLUP, /* items, AG_EXPR each */
    AG_CUBE,
    AG_SETS    /* items of any kind */
} AGroupKind;
typedef struct AGroup {
    AGroupKind kind;
    u32 at;
    PtrList exprs; /* AExpr; none: () */
    PtrList items; /* AGroup */
} AGroup;

typedef enum ASetOp { ASET_NONE, ASET_UNION, ASET_INTERSECT, ASET_EXCEPT } ASetOp;
struct ASelect {
    u32 at;
    ASetOp op;
    bool all;
    ASelect *left, *right;
    AWith *with; /* NULL: none */
    bool distinct;
    PtrList distinct_on;  /* AExpr */
    PtrList targets;      /* ATarget */
    PtrList from;         /* AFrom */
    AExpr *where;
    PtrList group_by;     /* AGroup */
    bool group_distinct;  /* GROUP BY DISTINCT: equal grouping sets once */
    AExpr *having;
    PtrList windows;      /* AWindow */
    bool is_values;
    PtrList rows;         /* AX_ROW */
    PtrList order_by;     /* AOrder */
    AExpr *limit, *offset; /* LIMIT ALL is no limit */
    u32 limit_at, offset_at;
    bool with_ties;
    bool into, into_temporary;
    u32 into_at;
    AName into_name;
    PtrList locking;      /* ALocking */
};

/* FOR UPDATE and its kin; no names: all tables. */
typedef struct ALocking {
    u32 at;
    RowLockMode mode;
    LockWait wait;
    PtrList names; /* AName */
} ALocking;

typedef enum StmtKind {
    ST_SELECT, ST_INSERT, ST_UPDATE, ST_DELETE, ST_COPY, ST_CREATE_TABLE, ST_DROP_TABLE, ST_ALTER_TABLE, ST_TRUNCATE, ST_SET, ST_SHOW, ST_RESET,
    ST_LOCK, ST_EXPLAIN, ST_CHECKPOINT, ST_CHECK, ST_NOOP, ST_ACCESS, ST_TRANSACTION, ST_DEALLOCATE, ST_DISCARD, ST_UNLISTEN,
    ST_PREPARE, ST_EXECUTE, ST_DECLARE, ST_FETCH, ST_CLOSE, ST_LISTEN, ST_NOTIFY, ST_UNSUPPORTED,
} StmtKind;

/* LIKE table INCLUDING …, among the columns */
enum { LIKE_DEFAULTS = 1, LIKE_CONSTRAINTS = 2, LIKE_INDEXES = 4, LIKE_OTHERS = 8, LIKE_ALL = 15 }; /* OTHERS: there is nothing of the kind here */
typedef struct ALike {
    AName table;
    u32 options;
} ALike;

typedef struct AColumnDef {
    ALike *like;             /* NULL: a column */
    Str name;
    u32 at;
    ATypeName *type;
    AExpr *default_expr;     /* NULL: none */
    Str default_text;
    const char *unsupported; /* CHECK, … */
    u32 unsupported_at;
    u32 collate_at;          /* 0: no COLLATE */
    PtrList constraints;     /* AConstraint */
} AColumnDef;

typedef enum AConstraintKind { AC_NULL, AC_NOT_NULL, AC_PRIMARY, AC_UNIQUE, AC_CHECK } AConstraintKind;
typedef struct AConstraint {
    AConstraintKind kind;
    u32 at;
    Str name; /* len 0: to be chosen */
    u32 column_count; /* 0 in a column constraint */
    Str *columns;
    AExpr *check;
    bool not_valid, no_inherit;
} AConstraint;

/* A table of VACUUM or ANALYZE. */
typedef struct AVacuumed {
    AName name;
    u32 column_count;
    Str *columns;
} AVacuumed;

typedef enum AAlterKind {
    AA_ADD_COLUMN, AA_DROP_COLUMN, AA_SET_DEFAULT, AA_DROP_DEFAULT, AA_SET_NOT_NULL, AA_DROP_NOT_NULL, AA_ADD_KEY, AA_DROP_CONSTRAINT,
    AA_RENAME_TABLE, AA_RENAME_COLUMN, AA_RENAME_CONSTRAINT, AA_OWNER, AA_ADD_CHECK, AA_VALIDATE, AA_TYPE,
} AAlterKind;
struct ARole;
/* One action of ALTER TABLE. */
typedef struct AAlter {
    AAlterKind kind;
    Str name, new_name; /* of the column or constraint; RENAME */
    bool if_exists;     /* IF [NOT] EXISTS */
    const struct ARole *owner; /* OWNER TO */
    AColumnDef *column; /* ADD COLUMN */
    AConstraint *constraint; /* ADD PRIMARY KEY, UNIQUE, CHECK */
    AExpr *expr;        /* SET DEFAULT; TYPE … USING, NULL: none */
    Str text;
    ATypeName *type;
} AAlter;

/* One element of INSERT's column list or UPDATE's SET. */
typedef struct ASet {
    Str column;
    u32 at;
    bool indirect; /* a.b or a[1] */
    AExpr *expr;
} ASet;

/* ON CONFLICT; neither columns nor constraint: any key. */
typedef struct AConflict {
    u32 at;
    PtrList columns;     /* ASet, without expressions */
    AExpr *predicate;    /* (columns) WHERE … */
    Str constraint;
    bool update;         /* DO UPDATE, not DO NOTHING */
    PtrList sets;        /* ASetClause */
    AExpr *where;
} AConflict;

/* (a, b) = expr; a single a = expr has one column. */
typedef struct ASetClause {
    PtrList columns; /* ASet */
    bool row;
    AExpr *expr;
} ASetClause;

typedef struct AOption {
    Str name;
    u32 at;
    AExpr *value;   /* NULL: none; AX_STRING, AX_INT, AX_NUMBER */
    PtrList names;  /* Str: (a, b) */
    bool is_list, is_star;
} AOption;

typedef struct ASetting {
    Str name, value; /* value.ptr NULL: DEFAULT */
} ASetting;

/* ---- roles and rights ---- */

typedef enum ARoleKind { AR_NAMED, AR_PUBLIC, AR_CURRENT_USER, AR_SESSION_USER } ARoleKind;
typedef struct ARole {
    ARoleKind kind;
    Str name;
    u32 at;
} ARole;

/* SUPERUSER … BYPASSRLS: on; PASSWORD, VALID UNTIL: text (ptr NULL: NULL); CONNECTION LIMIT: number; the lists: roles. */
typedef enum ARoleOptionKind {
    ARO_SUPERUSER, ARO_CREATEDB, ARO_CREATEROLE, ARO_INHERIT, ARO_LOGIN, ARO_REPLICATION, ARO_BYPASSRLS, ARO_CONNECTION_LIMIT, ARO_PASSWORD,
    ARO_VALID_UNTIL, ARO_IN_ROLE, ARO_ROLE, ARO_ADMIN, ARO_SYSID, ARO_KINDS,
} ARoleOptionKind;
typedef struct ARoleOption {
    ARoleOptionKind kind;
    u32 at;
    bool on;
    i32 number;
    Str text;
    PtrList roles; /* ARole */
} ARoleOption;

/* A right by its word in capitals ("ALL"), on some columns or the whole; of GRANT role: a role's name. */
typedef struct ARight {
    Str word;
    u32 at, column_count;
    Str *columns;
} ARight;

typedef enum AAccessKind {
    ACC_CREATE_ROLE, ACC_ALTER_ROLE, ACC_RENAME_ROLE, ACC_SET_ROLE, ACC_DROP_ROLE, ACC_GRANT, ACC_GRANT_ROLE, ACC_REASSIGN_OWNED, ACC_DROP_OWNED, ACC_DEFAULT_RIGHTS,
} AAccessKind;
typedef enum AObjectKind { AOB_TABLE, AOB_ALL_TABLES, AOB_SCHEMA, AOB_DATABASE, AOB_SEQUENCES } AObjectKind;
/* What CREATE, ALTER, DROP ROLE, GRANT, REVOKE and their kin say. */
typedef struct AAccess {
    AAccessKind kind;
    bool revoke, option, cascade, if_exists; /* option: WITH GRANT | ADMIN OPTION, GRANT | ADMIN OPTION FOR */
    bool is_user;      /* CREATE USER */
    ARole role;        /* CREATE, ALTER, RENAME, SET; REASSIGN: the new owner */
    Str new_name;      /* RENAME */
    u32 new_name_at;
    PtrList options;   /* ARoleOption */
    Str setting, value; /* ALTER ROLE … SET: value.ptr NULL: RESET; setting.ptr NULL: RESET ALL */
    PtrList rights;    /* ARight; none: ALL */
    AObjectKind object;
    PtrList objects;   /* AName */
    PtrList roles;     /* ARole: the grantees; members; those dropped; the old owners; of default rights: whose tables */
    PtrList grantees;  /* of default rights: ARole */
    ARole *grantor;    /* GRANTED BY; NULL: not said */
} AAccess;

struct Stmt {
    StmtKind kind;
    u32 at;
    ASelect *select;      /* SELECT; source of INSERT (NULL: DEFAULT VALUES) */
    AWith *with;          /* of INSERT, UPDATE, DELETE; NULL: none */
    AName name;           /* the table, role, setting, savepoint, prepared statement, cursor; DEALLOCATE, CLOSE: count 0 is ALL */
    AAlias *alias;
    bool only;
    PtrList columns;      /* INSERT, COPY: ASet */
    bool has_columns;
    bool copy_to;         /* COPY … TO */
    enum { COPY_CLIENT, COPY_FILE, COPY_PROGRAM } copy_side; /* the other one */
    Stmt *copied;         /* COPY (INSERT, UPDATE or DELETE … RETURNING …) TO; NULL: a table or select */
    PtrList sets;         /* UPDATE: ASetClause */
    PtrList from;         /* UPDATE … FROM, DELETE … USING: AFrom */
    AConflict *conflict;  /* INSERT … ON CONFLICT; NULL: none */
    PtrList returning;    /* ATarget */
    AExpr *where;
    const char *unsupported; /* with at: the feature the binder refuses; for ST_UNSUPPORTED the statement */
    u32 unsupported_at;
    PtrList options;      /* COPY, EXPLAIN: AOption */
    PtrList column_defs;  /* CREATE TABLE: AColumnDef */
    PtrList constraints;  /* CREATE TABLE: AConstraint */
    PtrList alters;       /* ALTER TABLE: AAlter */
    bool if_exists;       /* IF [NOT] EXISTS */
    bool is_as, no_data;  /* CREATE TABLE AS select, WITH NO DATA; SELECT INTO */
    u32 column_name_count;
    Str *column_names;    /* CREATE TABLE name (a, b) AS */
    PtrList names;        /* DROP, TRUNCATE, LOCK: AName; VACUUM, ANALYZE: AVacuumed */
    TableLockMode lock_mode;
    bool no_wait;
    AAccess *access;      /* roles and rights */
    PtrList settings;     /* SET, SHOW, RESET, BEGIN: ASetting */
    bool local, set_transaction; /* SET TRANSACTION is local, too */
    Stmt *inner;          /* EXPLAIN, PREPARE, DECLARE: the statement inside */
    const char *inner_tag;
    bool inner_write;
    PtrList types;        /* PREPARE: ATypeName */
    PtrList args;         /* EXECUTE: AExpr */
    u8 cursor_options;    /* DECLARE: CURSOR_… */
    BFetch fetch;
    bool move;            /* MOVE, not FETCH */
    BDiscard discard;
    BTxnKind txn;
    bool chain;
};

#endif
