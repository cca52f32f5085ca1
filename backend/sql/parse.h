/*
 * parse.h
 *    Inside the parser: the token window, errors, and what the files of the grammar call in each other.
 */
#ifndef PARSE_H
#define PARSE_H

#include "backend/sql/ast.h"
#include "backend/sql/lex.h"

enum { PARSE_WINDOW = 4, SQL_MAX_DEPTH = 1500 };

typedef struct Parser {
    Arena *arena;
    Lexer lexer;
    Token window[PARSE_WINDOW]; /* a ring */
    u32 head, filled;
    u32 depth;
    u32 last_end; /* end of the token consumed last */
} Parser;

/* ---- tokens (parse.c) ---- */
const Token *parse_peek(Parser *p, u32 ahead);
Token parse_take(Parser *p);
/* "syntax error at or near" the current token. */
NORETURN void parse_fail(Parser *p);
NORETURN void parse_fail_at(Parser *p, u32 at, ErrCode code, const char *format, ...) PRINTF_LIKE(4, 5);
void parse_enter(Parser *p); /* a level of nesting: 54001 beyond SQL_MAX_DEPTH */
void parse_leave(Parser *p);

static inline const Token *parse_now(Parser *p) { return parse_peek(p, 0); }
static inline u32 parse_at(Parser *p) { return parse_peek(p, 0)->at; }
bool parse_is(Parser *p, Keyword k);
bool parse_is_ahead(Parser *p, u32 ahead, Keyword k);
bool parse_is_char(Parser *p, char c);
bool parse_is_op(Parser *p, const char *op);
bool parse_try(Parser *p, Keyword k);
bool parse_try_char(Parser *p, char c);
bool parse_try_op(Parser *p, const char *op);
void parse_expect(Parser *p, Keyword k);
void parse_expect_char(Parser *p, char c);
/* At a parenthesis: over everything to the one that closes it, for clauses that the binder refuses anyway. */
void parse_skip_parens(Parser *p);
/* Notes the first feature for which the binder refuses the statement. */
void parse_refuse_later(Stmt *s, u32 at, const char *feature);

/* ---- names (parse.c) ---- */
bool parse_is_col_id(Parser *p, u32 ahead);
bool parse_is_type_func_name(Parser *p, u32 ahead);
Str parse_col_id(Parser *p);
Str parse_col_label(Parser *p);   /* any word */
AName parse_qualified_name(Parser *p);
Str *parse_name_list(Parser *p, u32 *ret_count); /* ( a, b ) with the parentheses */
Str parse_string(Parser *p);
i32 parse_signed_int(Parser *p);

/* ---- types and expressions (parse_type.c, parse_expr.c, parse_call.c) ---- */
ATypeName *parse_type(Parser *p);
bool parse_starts_type(Parser *p); /* at a keyword that can only be a type: int, double, timestamp, … */
/* A type without array bounds that can stand before a string constant; for keyword types only. */
ATypeName *parse_simple_type(Parser *p);
/* YEAR TO MONTH, SECOND(3), … behind INTERVAL or its literal, if they are there. */
void parse_interval_fields(Parser *p, ATypeName *t);
AExpr *parse_expr(Parser *p);
AExpr *parse_b_expr(Parser *p); /* without AND, OR, NOT, IN, LIKE, BETWEEN, IS NULL */
AExpr *parse_c_expr(Parser *p); /* an operand without operators */
void parse_expr_list(Parser *p, PtrList *to); /* a, b, c */
AExpr *parse_new(Parser *p, AExprKind kind, u32 at);
void parse_set_args(Parser *p, AExpr *e, const PtrList *list);
AExpr *parse_with_args(Parser *p, AExprKind kind, u32 at, u32 count, AExpr **args);
AExpr *parse_op(Parser *p, Str op, u32 at, AExpr *left, AExpr *right);
AExpr *parse_cast(Parser *p, AExpr *arg, ATypeName *type, u32 at);
AExpr *parse_call_of(Parser *p, const char *function, u32 at, u32 count, AExpr **args);
ATypeName *parse_named_type(Parser *p, const char *name, u32 at);
/* name( …: the current token is the parenthesis. */
AExpr *parse_function(Parser *p, const AName *name);
/* COALESCE(…), CAST(…), CURRENT_DATE, …; NULL when the keyword starts none. */
AExpr *parse_special_function(Parser *p);

/* ---- SELECT (parse_select.c, parse_from.c) ---- */
bool parse_starts_select(Parser *p, u32 ahead); /* SELECT, VALUES, WITH, TABLE */
AWindow *parse_window(Parser *p); /* ( … ) */
AWith *parse_with(Parser *p);
/* with: NULL for none. */
void parse_set_with(Parser *p, ASelect *s, AWith *with);
void parse_target_list(Parser *p, PtrList *to); /* ATarget */
ASelect *parse_select(Parser *p);               /* with ORDER BY, LIMIT, … */
/* `(` was read and a query read behind it: carry on behind its closing parenthesis with set operations and the like. */
ASelect *parse_select_rest(Parser *p, ASelect *left);
/* At `(`: a query in parentheses, however many. */
ASelect *parse_select_in_parens(Parser *p);
void parse_from_list(Parser *p, PtrList *to);
AAlias *parse_alias(Parser *p, bool columns);
void parse_order_by(Parser *p, PtrList *to); /* behind ORDER BY */

/* ---- statements (parse_dml.c, parse_table.c, parse_utility.c) ---- */
void parse_insert(Parser *p, Stmt *s);
void parse_update(Parser *p, Stmt *s);
void parse_delete(Parser *p, Stmt *s);
void parse_copy(Parser *p, Stmt *s);
bool parse_create_table(Parser *p, Stmt *s); /* behind CREATE TABLE; whether it was CREATE TABLE AS */
bool parse_take_into(Parser *p, Stmt *s);    /* SELECT INTO becomes a CREATE TABLE AS; false: it is none */
void parse_drop_table(Parser *p, Stmt *s);   /* behind DROP TABLE */
void parse_alter_table(Parser *p, Stmt *s);  /* behind ALTER TABLE */
void parse_column_def(Parser *p, Stmt *s);   /* to s->column_defs */
bool parse_known_collation(Parser *p); /* behind COLLATE */
bool parse_at_table_constraint(Parser *p);
void parse_table_constraint(Parser *p, Stmt *s); /* to s->constraints, or refused later */
void parse_truncate(Parser *p, Stmt *s);
void parse_lock(Parser *p, Stmt *s);
void parse_set(Parser *p, Stmt *s);
void parse_reset(Parser *p, Stmt *s);
void parse_show(Parser *p, Stmt *s);
void parse_explain(Parser *p, Stmt *s);
bool parse_transaction(Parser *p, Stmt *s);  /* false: not one of those */
/* ---- parse_role.c ---- */
void parse_create_role(Parser *p, Stmt *s);  /* behind CREATE, at ROLE | USER | GROUP; so do the others */
void parse_alter_role(Parser *p, Stmt *s);
void parse_drop_role(Parser *p, Stmt *s);
ARole parse_role(Parser *p);
void parse_role_list(Parser *p, PtrList *to); /* ARole */
AAccess *parse_access(Parser *p, Stmt *s, AAccessKind kind);
/* ---- parse_grant.c ---- */
void parse_grant(Parser *p, Stmt *s);        /* at GRANT or REVOKE */
void parse_reassign(Parser *p, Stmt *s);     /* at REASSIGN */
void parse_drop_owned(Parser *p, Stmt *s);   /* behind DROP */
void parse_default_rights(Parser *p, Stmt *s); /* behind ALTER */
/* One setting of SET, behind the word: its name and value (ptr NULL: DEFAULT). */
void parse_setting(Parser *p, Str *ret_name, Str *ret_value);
void parse_vacuum(Parser *p, Stmt *s);
/* The rest of the statement, unread but for its tokens: refused by the binder. */
void parse_unsupported(Parser *p, Stmt *s, const char *feature);
/* ---- parse_named.c ---- */
void parse_prepare(Parser *p, Stmt *s);
void parse_execute(Parser *p, Stmt *s);
void parse_deallocate(Parser *p, Stmt *s);
void parse_declare(Parser *p, Stmt *s);
void parse_fetch(Parser *p, Stmt *s); /* MOVE, too */
void parse_close(Parser *p, Stmt *s);
void parse_listen(Parser *p, Stmt *s);
void parse_unlisten(Parser *p, Stmt *s);
void parse_notify(Parser *p, Stmt *s);
void parse_discard(Parser *p, Stmt *s);
/* One statement without its semicolon; *ret_tag and *ret_write as in ParsedStmt. */
Stmt *parse_statement(Parser *p, const char **ret_tag, bool *ret_write);
/* What the statement is to the transaction it runs in. */
void parse_classify(ParsedStmt *s);

#endif
