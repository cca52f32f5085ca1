/*
 * bind.c
 *    sql_bind: a syntax tree becomes a bound statement; state, messages and rights of the binder.
 *
 * Rights are noted here and looked at whenever the statement runs (sql_check_rights), as PostgreSQL does. The walwriter judges those of writes again.
 */
#include "backend/sql/bind.h"

#include "backend/sql/parse.h"
#include "common/store/rights.h"

#include <stdarg.h>
#include <stdio.h>

u32
bind_position(Binder *b, u32 byte)
{
    if (byte == NO_LOCATION || b->no_positions)
        return 0;
    if (b->ascii)
        return byte + 1;
    /* from the last position asked, which is near as a rule */
    const char *text = b->ctx->source;
    while (b->last_byte < byte)
        b->last_pos += ((u8)text[b->last_byte++] & 0xc0) != 0x80;
    while (b->last_byte > byte)
        b->last_pos -= ((u8)text[--b->last_byte] & 0xc0) != 0x80;
    return b->last_pos;
}

void
bind_fail(Binder *b, u32 byte, ErrCode code, const char *format, ...)
{
    char message[sizeof((Error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    err_throw_at(bind_position(b, byte), code, "%s", message);
}

void
bind_fail_hint(u32 position, ErrCode code, const char *hint, const char *format, ...)
{
    char message[sizeof((Error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    Error err;
    error_set(&err, code, "%s", message);
    error_hint(&err, "%s", hint);
    err.position = position;
    err_rethrow(&err);
}

void
bind_unsupported(Binder *b, u32 byte, const char *feature)
{
    bind_fail(b, byte, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported yet", feature);
}

void
bind_enter(Binder *b)
{
    if (++b->depth > SQL_MAX_DEPTH)
        bind_fail_hint(0, ERR_STATEMENT_TOO_COMPLEX, "The expression is nested too deeply.", "stack depth limit exceeded");
}

void
bind_leave(Binder *b)
{
    b->depth--;
}

BExpr *
bind_new(Binder *b, BExprKind kind, TypeId type, u32 position)
{
    BExpr *e = ARENA_NEW(b->arena, BExpr);
    e->kind = kind;
    e->type = type;
    e->typmod = -1;
    e->position = position;
    return e;
}

BExpr *
bind_const_null(Binder *b, TypeId type, u32 position)
{
    BExpr *e = bind_new(b, BX_CONST, type, position);
    e->value = (Value){.type = type, .typmod = -1, .is_null = true};
    return e;
}

BExpr *
bind_const_text(Binder *b, TypeId type, Str text, u32 position)
{
    BExpr *e = bind_new(b, BX_CONST, type, position);
    e->value = (Value){.type = type, .typmod = -1, .str = text};
    return e;
}

void
bind_notice(Binder *b, ErrCode code, const char *format, ...)
{
    char text[sizeof((Error *)0)->message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    BNotice *n = ARENA_NEW(b->arena, BNotice);
    *n = (BNotice){code, arena_strndup(b->arena, text, strlen(text))};
    ptrlist_add(b->arena, &b->notices, n);
}

static void
add_right(Binder *b, BindRight right)
{
    if (right.table->table_id < FIRST_TABLE_ID && right.table->table_id != AUTHID_OID) /* everybody may read what the system shows */
        return;
    BindRight *r = ARENA_NEW(b->arena, BindRight);
    *r = right;
    ptrlist_add(b->arena, &b->rights, r);
}

void
bind_right(Binder *b, const TableDef *t, u32 acl_bits)
{
    add_right(b, (BindRight){.table = t, .acl_bits = acl_bits});
}

void
bind_right_any(Binder *b, const TableDef *t, u32 acl_bits)
{
    add_right(b, (BindRight){.table = t, .acl_bits = acl_bits, .any = true});
}

void
bind_right_rel(Binder *b, const TableDef *t, u32 bit, const BRel *rel, bool if_used)
{
    add_right(b, (BindRight){.table = t, .acl_bits = bit, .by_column = true, .rel = rel, .if_used = if_used});
}

void
bind_right_columns(Binder *b, const TableDef *t, u32 bit, const u16 *columns, u32 count)
{
    u16 *copy = ARENA_ARRAY(b->arena, u16, count);
    if (count)
        memcpy(copy, columns, count * sizeof *copy);
    add_right(b, (BindRight){.table = t, .acl_bits = bit, .by_column = true, .columns = copy, .column_count = count});
}

const char *
bind_type_name(TypeId t)
{
    return type_name(t);
}

const char *
bind_name_text(Binder *b, const AName *n)
{
    const char *text = "";
    for (u32 i = 0; i < n->count; i++)
        text = arena_printf(b->arena, "%s%s%.*s", text, i ? "." : "", (int)n->parts[i].len, n->parts[i].ptr);
    return text;
}

/* The rights as they are looked at when the statement runs: which columns are used is known by now. */
static void
set_rights(Binder *b, BStmt *to)
{
    to->rights = ARENA_ARRAY(b->arena, BRight, b->rights.count);
    for (u32 i = 0; i < b->rights.count; i++) {
        const BindRight *r = LIST_AT(b->rights, BindRight, i);
        BRight *x = &to->rights[to->right_count];
        *x = (BRight){.table_id = r->table->table_id, .bits = r->acl_bits, .any = r->any, .by_column = r->by_column,
                      .table_name = arena_str(b->arena, r->table->name)};
        u32 room = r->rel ? r->rel->column_count : r->column_count;
        x->columns = ARENA_ARRAY(b->arena, u16, room);
        for (u32 c = 0; c < room; c++)
            if (!r->rel || r->rel->columns[c].used)
                x->columns[x->column_count++] = r->rel ? (u16)c : r->columns[c];
        bool system = r->rel && r->rel->system_used; /* nobody has a right to those alone */
        x->by_column &= !system;
        to->right_count += !r->if_used || x->column_count > 0 || system;
    }
}

static bool
has_column_right(const Root *root, const TableDef *t, u32 role_id, const BRight *r)
{
    u32 allowed = 0;
    if (r->column_count == 0) {
        for (u32 c = 1; c <= t->column_count && !allowed; c++)
            allowed = rights_allow_column(root, t, role_id, c, r->bits);
        return allowed;
    }
    for (u32 i = 0; i < r->column_count; i++)
        allowed += rights_allow_column(root, t, role_id, r->columns[i] + 1u, r->bits);
    return allowed == r->column_count;
}

void
sql_check_rights(const Root *root, u32 role_id, const BStmt *s)
{
    RightsOf schema = rights_of_schema(root);
    bool usable = s->right_count == 0 || rights_allow(root, &schema, role_id, ACL_USAGE);
    for (u32 i = 0; i < s->right_count; i++) {
        const BRight *r = &s->rights[i];
        if (!usable && r->table_id >= FIRST_TABLE_ID) /* it was bound for another role, or before REVOKE */
            err_throw(ERR_UNDEFINED_TABLE, "relation \"%.*s\" does not exist", (int)r->table_name.len, r->table_name.ptr);
        if (r->table_id == AUTHID_OID && !role_may_as(root, role_id, ROLE_READ_ALL_DATA_OID))
            err_throw(ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %.*s", (int)r->table_name.len, r->table_name.ptr);
        const TableDef *t = catalog_table(root, r->table_id);
        if (!t || (!r->any && catalog_allows(root, t, role_id, r->bits)))
            continue;
        RightsOf o = rights_of_table(t);
        bool allowed = r->any ? (rights_mask(root, &o, role_id, 0) & r->bits) != 0 : r->by_column && has_column_right(root, t, role_id, r);
        if (!allowed)
            err_throw(ERR_INSUFFICIENT_PRIVILEGE, "permission denied for table %.*s", (int)t->name.len, t->name.ptr);
    }
}

/* Every parameter must have a type in the end, and every use of it the same one. */
static void
check_params(Binder *b)
{
    for (u32 i = 0; i < b->param_nodes.count; i++) {
        const BExpr *p = LIST_AT(b->param_nodes, BExpr, i);
        TypeId known = b->param_types[p->index];
        if (known != TYPE_UNKNOWN && p->type != known)
            err_throw_at(p->position, ERR_AMBIGUOUS_PARAMETER, "could not determine data type of parameter $%u", p->index + 1);
    }
    for (u32 i = 0; i < b->param_count; i++)
        if (b->param_types[i] == TYPE_INVALID || b->param_types[i] == TYPE_UNKNOWN)
            err_throw(ERR_INDETERMINATE_DATATYPE, "could not determine data type of parameter $%u", i + 1);
}

void
bind_statement(Binder *b, BStmt *to, const Stmt *s)
{
    if (s->unsupported)
        bind_unsupported(b, s->unsupported_at, s->unsupported);
    switch (s->kind) {
    case ST_SELECT:
        to->kind = BST_SELECT;
        to->query = bind_query(b, s->select, true);
        break;
    case ST_INSERT: case ST_UPDATE: case ST_DELETE:
        bind_change(b, to, s);
        break;
    case ST_COPY:
        bind_copy(b, to, s);
        break;
    case ST_CREATE_TABLE:
        bind_create_table(b, to, s);
        break;
    case ST_DROP_TABLE:
        bind_drop_table(b, to, s);
        break;
    case ST_ALTER_TABLE:
        bind_alter_table(b, to, s);
        break;
    case ST_TRUNCATE:
        bind_truncate(b, to, s);
        break;
    case ST_LOCK:
        bind_lock_table(b, to, s);
        break;
    case ST_EXPLAIN:
        bind_explain(b, to, s);
        break;
    case ST_DECLARE:
        bind_declare(b, to, s);
        break;
    case ST_SET: case ST_SHOW: case ST_RESET: case ST_CHECKPOINT: case ST_CHECK: case ST_NOOP: case ST_ACCESS: case ST_TRANSACTION:
    case ST_DEALLOCATE: case ST_DISCARD: case ST_UNLISTEN: case ST_PREPARE: case ST_EXECUTE: case ST_FETCH: case ST_CLOSE:
    case ST_LISTEN: case ST_NOTIFY: case ST_UNSUPPORTED:
    default:
        bind_utility(b, to, s);
        break;
    }
}

static Binder
binder_of(Arena *a, const BindContext *ctx, const ParsedStmt *stmt)
{
    Binder b = {.arena = a, .ctx = ctx, .ascii = true, .last_pos = 1};
    for (u32 i = 0; i < stmt->start + stmt->len && b.ascii; i++)
        b.ascii = (u8)ctx->source[i] < 0x80;
    return b;
}

/* What is said when all names are known, and what belongs to the statement as a whole. */
static void
finish(Binder *b, BStmt *to)
{
    set_rights(b, to);
    check_params(b);
    to->param_count = b->param_count;
    to->param_types = b->param_types;
    to->reads_clock = b->reads_clock;
    BStmt *planned = to->kind == BST_EXPLAIN ? to->explained : to;
    planned->sub_count = b->subs.count;
    planned->subs = (BSub **)b->subs.items;
    planned->extra_count = b->extra_count;
    planned->cte_count = b->ctes.count;
    planned->ctes = (BCte **)b->ctes.items;
    to->notice_count = b->notices.count;
    to->notices = (BNotice **)b->notices.items;
}

BStmt *
sql_bind(Arena *a, const BindContext *ctx, const ParsedStmt *stmt)
{
    BStmt *to = ARENA_NEW(a, BStmt);
    if (!stmt->tree) {
        to->kind = BST_EMPTY;
        return to;
    }
    Binder b = binder_of(a, ctx, stmt);
    if (ctx->declared_count) {
        b.param_count = b.param_capacity = ctx->declared_count;
        b.param_types = ARENA_ARRAY(a, TypeId, ctx->declared_count);
        memcpy(b.param_types, ctx->declared, ctx->declared_count * sizeof *ctx->declared);
    }
    bind_statement(&b, to, stmt->tree);
    finish(&b, to);
    return to;
}

TypeId *
sql_bind_types(Arena *a, const BindContext *ctx, const ParsedStmt *prepare, u32 *ret_count)
{
    Binder b = binder_of(a, ctx, prepare);
    return bind_prepared_types(&b, prepare->tree, ret_count);
}

BStmt *
sql_bind_arguments(Arena *a, const BindContext *ctx, const ParsedStmt *execute, const TypeId *types, u32 count)
{
    Binder b = binder_of(a, ctx, execute);
    BStmt *to = ARENA_NEW(a, BStmt);
    bind_execute_arguments(&b, to, execute->tree, types, count);
    finish(&b, to);
    return to;
}
