/*
 * bind_named.c
 *    What PREPARE declares, the arguments of EXECUTE, DECLARE CURSOR.
 */
#include "backend/sql/bind.h"

TypeId *
bind_prepared_types(Binder *b, const Stmt *prepare, u32 *ret_count)
{
    u32 n = *ret_count = prepare->types.count;
    TypeId *types = ARENA_ARRAY(b->arena, TypeId, n);
    for (u32 i = 0; i < n; i++) {
        i32 typmod;
        TypeId t = bind_type(b, LIST_AT(prepare->types, ATypeName, i), &typmod);
        types[i] = t == TYPE_UNKNOWN ? TYPE_INVALID : t;
    }
    return types;
}

static BExpr *
bind_argument(Scope *s, const AExpr *e, TypeId type, u32 number)
{
    Binder *b = s->b;
    const AExpr *subquery = bind_find_subquery(e);
    if (subquery)
        bind_fail(b, subquery->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in EXECUTE parameter");
    BExpr *v = bind_expr(s, e), *r = coerce_to_target(b, v, type, -1, CAST_ASSIGNMENT);
    if (!r)
        bind_fail_hint(bind_position(b, e->at), ERR_DATATYPE_MISMATCH, "You will need to rewrite or cast the expression.",
                       "parameter $%u of type %s cannot be coerced to the expected type %s", number, bind_type_name(v->type), bind_type_name(type));
    return r;
}

void
bind_execute_arguments(Binder *b, BStmt *to, const Stmt *execute, const TypeId *types, u32 count)
{
    Scope s = {.b = b, .query = ARENA_NEW(b->arena, BQuery), .place = PLACE_EXECUTE};
    PtrList targets = {0};
    u32 given = execute->args.count;
    if (given != count) {
        Error err;
        error_set(&err, ERR_SYNTAX_ERROR, "wrong number of parameters for prepared statement \"%.*s\"", (int)execute->name.parts[0].len,
                  execute->name.parts[0].ptr);
        error_detail(&err, "Expected %u parameters but got %u.", count, given);
        err_rethrow(&err);
    }
    for (u32 i = 0; i < count; i++) {
        BExpr *v = bind_argument(&s, LIST_AT(execute->args, AExpr, i), types[i], i + 1);
        ptrlist_add(b->arena, &targets, bind_new_target(&s, v, STR_LIT("argument")));
    }
    to->kind = BST_SELECT;
    to->query = s.query;
    bind_finish_scope(&s, &targets);
}

/* ---- DECLARE ---- */

static void
refuse_both(const Stmt *s, u8 one, u8 other, const char *names)
{
    if ((s->cursor_options & one) && (s->cursor_options & other))
        err_throw(ERR_INVALID_CURSOR_DEFINITION, "cannot specify both %s", names);
}

/* A query that locks rows cannot be held, scrolled, or insensitive. */
static void
refuse_locking(const BQuery *q, u8 options)
{
    static const char *const CLAUSES[] = {[ROW_LOCK_KEY_SHARE] = "FOR KEY SHARE", [ROW_LOCK_SHARE] = "FOR SHARE",
                                          [ROW_LOCK_NO_KEY_UPDATE] = "FOR NO KEY UPDATE", [ROW_LOCK_UPDATE] = "FOR UPDATE"};
    static const struct { u8 option; ErrCode code; const char *before, *after, *kind; } RULES[] = {
        {CURSOR_HOLD, ERR_FEATURE_NOT_SUPPORTED, "DECLARE CURSOR WITH HOLD", "supported", "Holdable"},
        {CURSOR_SCROLL, ERR_FEATURE_NOT_SUPPORTED, "DECLARE SCROLL CURSOR", "supported", "Scrollable"},
        {CURSOR_INSENSITIVE, ERR_INVALID_CURSOR_DEFINITION, "DECLARE INSENSITIVE CURSOR", "valid", "Insensitive"},
    };
    for (u32 i = 0; q->lock_count && i < COUNT_OF(RULES); i++)
        if (options & RULES[i].option) {
            Error err;
            error_set(&err, RULES[i].code, "%s ... %s is not %s", RULES[i].before, CLAUSES[q->locks[0].mode], RULES[i].after);
            error_detail(&err, "%s cursors must be READ ONLY.", RULES[i].kind);
            err_rethrow(&err);
        }
}

void
bind_declare(Binder *b, BStmt *to, const Stmt *s)
{
    to->kind = BST_DECLARE;
    to->name = arena_strndup(b->arena, s->name.parts[0].ptr, s->name.parts[0].len);
    to->cursor_options = s->cursor_options;
    refuse_both(s, CURSOR_SCROLL, CURSOR_NO_SCROLL, "SCROLL and NO SCROLL");
    refuse_both(s, CURSOR_INSENSITIVE, CURSOR_ASENSITIVE, "ASENSITIVE and INSENSITIVE");
    to->explained = ARENA_NEW(b->arena, BStmt);
    bind_statement(b, to->explained, s->inner);
    refuse_locking(to->explained->query, s->cursor_options);
}
