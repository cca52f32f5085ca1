/*
 * sql.h
 *    From text to bound statement.
 */
#ifndef SQL_H
#define SQL_H

#include "backend/sql/bound.h"
#include "common/base/arena.h"

typedef struct Stmt Stmt; /* a syntax tree; ast.h */

/* An identifier that was cut to 63 bytes; PostgreSQL sends a NOTICE. */
typedef struct CutName {
    struct CutName *next;
    Str whole;
    u32 kept_bytes;
} CutName;

typedef struct ParsedStmt {
    Stmt *tree;      /* NULL for an empty statement */
    u32 start, len;  /* bytes of the source */
    const char *tag; /* command tag stem: "SELECT", "INSERT", "CREATE TABLE", … */
    bool is_write;   /* changes rows or catalog */
    bool is_definition;  /* a write that is not of rows: CREATE, TRUNCATE, … */
    bool is_transaction; /* BEGIN, COMMIT, SAVEPOINT, … */
    bool ends_failed;    /* COMMIT, ROLLBACK, ROLLBACK TO: get through in a failed transaction */
    bool uses_catalog;   /* all but transaction statements, SET, SHOW, RESET, CHECKPOINT */
    bool needs_snapshot; /* the same but LOCK TABLE */
    bool uses_names;     /* what it gives depends on prepared statements or portals: EXECUTE, FETCH, MOVE */
    bool is_cursor;      /* FETCH, MOVE, CLOSE: goes on reading at the snapshots of portals */
    const CutName *cut;  /* of the first statement: those of the whole text */
    const char *not_in_block; /* the name of a statement that refuses to run in a transaction block ("VACUUM"), else NULL */
} ParsedStmt;

/* All statements of a text (valid UTF-8, checked here), in a's memory. Throws 42601 and others with a position. */
ParsedStmt *sql_parse(Arena *a, const char *text, u32 len, u32 *ret_count);

/* The statement that begins at this byte of a text that sql_parse has accepted. */
ParsedStmt *sql_parse_again(Arena *a, const char *text, u32 len, u32 start);
/* The statement inside of PREPARE, DECLARE or EXPLAIN, as one of its own. */
ParsedStmt *sql_inner(Arena *a, const ParsedStmt *outer);

typedef struct BindContext {
    const Root *root;
    u32 role_id;              /* whose rights; 42501 is thrown here, and judged again by the walwriter for writes */
    u32 session_role_id;      /* SESSION_USER */
    const char *role_name, *session_role_name, *database;
    const char *source;       /* statement text for positions */
    u32 declared_count;       /* parameter types declared by Parse; TYPE_INVALID = infer */
    const TypeId *declared;
    bool no_params;           /* a simple Query: $n is 42P02 */
    const TypeFormat *format; /* for literals that depend on the time zone */
} BindContext;

/* A column's DEFAULT, and an expression over a table that the catalog keeps, as pg_get_expr() writes them. */
Str sql_default_text(Arena *a, const BindContext *ctx, const TableDef *t, u16 column);
Str sql_expression_text(Arena *a, const BindContext *ctx, const TableDef *t, Str text, bool pretty);

/* Throws with position. The result lives in a. */
BStmt *sql_bind(Arena *a, const BindContext *ctx, const ParsedStmt *stmt);
/* 42501 when the role has not the rights that the statement needs, by this catalog. A table that is not there is nothing: it is planned again. */
void sql_check_rights(const Root *root, u32 role_id, const BStmt *s);
/* The types that PREPARE declares; TYPE_INVALID = infer. */
TypeId *sql_bind_types(Arena *a, const BindContext *ctx, const ParsedStmt *prepare, u32 *ret_count);
/* The arguments of EXECUTE as a SELECT of one row, converted to the statement's parameter types. 42601 when they are not as many. */
BStmt *sql_bind_arguments(Arena *a, const BindContext *ctx, const ParsedStmt *execute, const TypeId *types, u32 count);

#endif
