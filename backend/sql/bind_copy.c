/*
 * bind_copy.c
 *    COPY … FROM STDIN and TO STDOUT: columns and options, with PostgreSQL's checks and messages.
 *
 * COPY TO is a query with a format: that of the parentheses, or one made here for the columns of the table. A statement that writes stays what it is and
 * is marked copy_out.
 */
#include "backend/sql/bind.h"
#include "common/type/encoding.h"

#include <strings.h>

typedef struct CopyState {
    Binder *b;
    BCopyOptions *o;
    bool to;
    u32 seen; /* bits of options given */
    Str delimiter, quote, escape;
    bool has_delimiter, has_quote, has_escape;
    const AOption *force_null, *force_not_null, *force_quote;
} CopyState;

static Str
text_of(const AOption *o)
{
    return o->value ? o->value->text : (Str){0};
}

static NORETURN void
needs_parameter(const AOption *o)
{
    err_throw(ERR_SYNTAX_ERROR, "%.*s requires a parameter", (int)o->name.len, o->name.ptr);
}

static Str
required_text(CopyState *c, const AOption *o)
{
    if (!o->value)
        needs_parameter(o);
    if (o->value->kind == AX_INT)
        return str_of(arena_printf(c->b->arena, "%d", o->value->number));
    return text_of(o);
}

static bool
equals_nocase(Str s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

/* true, false, on, off, 1, 0 or nothing; match for HEADER comes in ret_match. */
static bool
boolean_option(CopyState *c, const AOption *o, bool *ret_match)
{
    Str s = text_of(o);
    if (!o->value && !o->is_list && !o->is_star)
        return true;
    if (o->value && o->value->kind == AX_INT && (o->value->number == 0 || o->value->number == 1))
        return o->value->number == 1;
    if (equals_nocase(s, "true") || equals_nocase(s, "on"))
        return true;
    if (equals_nocase(s, "false") || equals_nocase(s, "off"))
        return false;
    if (ret_match && equals_nocase(s, "match")) {
        if (c->to)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot use \"%.*s\" with HEADER in COPY TO", (int)s.len, s.ptr);
        return *ret_match = true;
    }
    err_throw(ERR_SYNTAX_ERROR, ret_match ? "%.*s requires a Boolean value or \"match\"" : "%.*s requires a Boolean value",
              (int)o->name.len, o->name.ptr);
}

static void
set_format(CopyState *c, const AOption *o)
{
    static const struct { const char *name; CopyFormat format; } formats[] = {{"text", COPY_TEXT}, {"csv", COPY_CSV}, {"binary", COPY_BINARY}};
    Str s = required_text(c, o);
    for (u32 i = 0; i < COUNT_OF(formats); i++)
        if (str_eq(s, str_of(formats[i].name))) {
            c->o->format = formats[i].format;
            return;
        }
    bind_fail(c->b, o->at, ERR_INVALID_PARAMETER_VALUE, "COPY format \"%.*s\" not recognized", (int)s.len, s.ptr);
}

static void
set_encoding(CopyState *c, const AOption *o)
{
    Str s = required_text(c, o);
    switch (encoding_find(s)) {
    case ENCODING_UTF8: return;
    case ENCODING_OTHER:
        bind_fail(c->b, o->at, ERR_FEATURE_NOT_SUPPORTED, "COPY with encoding \"%.*s\" is not supported yet", (int)s.len, s.ptr);
    case ENCODING_UNKNOWN:
        bind_fail(c->b, o->at, ERR_INVALID_PARAMETER_VALUE, "argument to option \"encoding\" must be a valid encoding name");
    }
}

/* One of two words, any case: true: the second. */
static bool
word_option(CopyState *c, const AOption *o, const char *option, const char *first, const char *second)
{
    Str s = required_text(c, o);
    if (!equals_nocase(s, first) && !equals_nocase(s, second))
        bind_fail(c->b, o->at, ERR_INVALID_PARAMETER_VALUE, "COPY %s \"%.*s\" not recognized", option, (int)s.len, s.ptr);
    return equals_nocase(s, second);
}

static void
set_on_error(CopyState *c, const AOption *o)
{
    if (c->to)
        bind_fail(c->b, o->at, ERR_INVALID_PARAMETER_VALUE, "COPY ON_ERROR cannot be used with COPY TO");
    c->o->ignore_errors = word_option(c, o, "ON_ERROR", "stop", "ignore");
}

static void
read_option(CopyState *c, const AOption *o)
{
    static const char *const names[] = {"format", "freeze", "delimiter", "null", "header", "quote", "escape", "force_quote",
                                        "force_not_null", "force_null", "encoding", "default", "on_error", "log_verbosity"};
    u32 k = 0;
    while (k < COUNT_OF(names) && !str_eq(o->name, str_of(names[k])))
        k++;
    if (k == COUNT_OF(names))
        bind_fail(c->b, o->at, ERR_SYNTAX_ERROR, "option \"%.*s\" not recognized", (int)o->name.len, o->name.ptr);
    if (c->seen & 1u << k)
        bind_fail(c->b, o->at, ERR_SYNTAX_ERROR, "conflicting or redundant options");
    c->seen |= 1u << k;
    if (k >= 7 && k <= 9 && !o->is_list && !(k == 7 && o->is_star))
        bind_fail(c->b, o->at, ERR_INVALID_PARAMETER_VALUE, "argument to option \"%s\" must be a list of column names", names[k]);
    switch (k) {
    case 0: set_format(c, o); break;
    case 1: boolean_option(c, o, NULL); break;
    case 2: c->delimiter = required_text(c, o); c->has_delimiter = true; break;
    case 3: c->o->null_text = required_text(c, o); c->o->has_null_text = true; break;
    case 4: c->o->header = boolean_option(c, o, &c->o->header_match); break;
    case 5: c->quote = required_text(c, o); c->has_quote = true; break;
    case 6: c->escape = required_text(c, o); c->has_escape = true; break;
    case 7: c->force_quote = o; break;
    case 8: c->force_not_null = o; break;
    case 9: c->force_null = o; break;
    case 10: set_encoding(c, o); break;
    case 11: c->o->default_text = required_text(c, o); c->o->has_default_text = true; break;
    case 12: set_on_error(c, o); break;
    default: c->o->verbose = word_option(c, o, "LOG_VERBOSITY", "default", "verbose"); break;
    }
}

static bool
contains(Str s, char ch)
{
    return s.len && memchr(s.ptr, ch, s.len) != NULL;
}

static void
check_binary(const CopyState *c)
{
    if (c->o->format != COPY_BINARY)
        return;
    if (c->has_delimiter)
        err_throw(ERR_SYNTAX_ERROR, "cannot specify DELIMITER in BINARY mode");
    if (c->o->has_null_text)
        err_throw(ERR_SYNTAX_ERROR, "cannot specify NULL in BINARY mode");
    if (c->o->has_default_text)
        err_throw(ERR_SYNTAX_ERROR, "cannot specify DEFAULT in BINARY mode");
    if (c->o->ignore_errors)
        err_throw(ERR_SYNTAX_ERROR, "only ON_ERROR STOP is allowed in BINARY mode");
    if (c->o->header)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode");
}

static void
check_delimiter(const CopyState *c, bool csv)
{
    if (!c->has_delimiter)
        return;
    char d = c->delimiter.len ? c->delimiter.ptr[0] : 0;
    if (c->delimiter.len != 1)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY delimiter must be a single one-byte character");
    if (d == '\r' || d == '\n')
        err_throw(ERR_INVALID_PARAMETER_VALUE, "COPY delimiter cannot be newline or carriage return");
    if (!csv && strchr("\\.abcdefghijklmnopqrstuvwxyz0123456789", d))
        err_throw(ERR_INVALID_PARAMETER_VALUE, "COPY delimiter cannot be \"%c\"", d);
}

static void
check_csv(const CopyState *c, bool csv)
{
    if (!csv && c->has_quote)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY quote available only in CSV mode");
    if (csv && c->has_quote && c->quote.len != 1)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY quote must be a single one-byte character");
    char d = c->has_delimiter ? c->delimiter.ptr[0] : csv ? ',' : '\t', q = c->has_quote ? c->quote.ptr[0] : '"';
    if (csv && d == q)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "COPY delimiter and quote must be different");
    if (!csv && c->has_escape)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY escape available only in CSV mode");
    if (csv && c->has_escape && c->escape.len != 1)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY escape must be a single one-byte character");
    if (!csv && c->force_quote)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force quote available only in CSV mode");
    if (c->force_quote && !c->to)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force quote only available using COPY TO");
    if (!csv && c->force_not_null)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force not null available only in CSV mode");
    if (c->force_not_null && c->to)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force not null only available using COPY FROM");
    if (!csv && c->force_null)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force null available only in CSV mode");
    if (c->force_null && c->to)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY force null only available using COPY FROM");
    if (c->o->has_null_text && contains(c->o->null_text, d))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY delimiter must not appear in the NULL specification");
    if (csv && c->o->has_null_text && contains(c->o->null_text, q))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "CSV quote character must not appear in the NULL specification");
}

static void
check_default(const CopyState *c, bool csv)
{
    if (!c->o->has_default_text)
        return;
    Str s = c->o->default_text;
    char d = c->has_delimiter ? c->delimiter.ptr[0] : csv ? ',' : '\t', q = c->has_quote ? c->quote.ptr[0] : '"';
    if (c->to)
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY DEFAULT only available using COPY FROM");
    if (contains(s, d))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY delimiter must not appear in the DEFAULT specification");
    if (csv && contains(s, q))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "CSV quote character must not appear in the DEFAULT specification");
    if (str_eq(s, c->o->has_null_text ? c->o->null_text : csv ? STR_LIT("") : STR_LIT("\\N")))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "NULL specification and DEFAULT specification cannot be the same");
}

static u64 *
column_bitmap(Binder *b, const TableDef *t, const BStmt *to, const AOption *o, const char *what)
{
    if (!o)
        return NULL;
    u64 *bits = ARENA_ARRAY(b->arena, u64, to->column_count / 64 + 1);
    for (u32 i = 0; i < o->names.count; i++) {
        Str name = *LIST_AT(o->names, Str, i);
        int column = bind_table_column(t, name);
        if (column < 0)
            err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)name.len, name.ptr, (int)t->name.len,
                      t->name.ptr);
        u32 k = 0;
        while (k < to->column_count && to->columns[k] != column)
            k++;
        if (k == to->column_count)
            err_throw(ERR_INVALID_COLUMN_REFERENCE, "%s column \"%.*s\" not referenced by COPY", what, (int)name.len, name.ptr);
        bits[k / 64] |= 1ull << k % 64;
    }
    return bits;
}

/* FORCE_QUOTE over the columns of the result; t: NULL for a query. */
static u64 *
quote_bitmap(Binder *b, const TableDef *t, const BTarget *targets, u32 count, const AOption *o)
{
    if (!o)
        return NULL;
    u64 *bits = ARENA_ARRAY(b->arena, u64, count / 64 + 1);
    if (o->is_star)
        memset(bits, 0xff, (count / 64 + 1) * sizeof *bits);
    for (u32 i = 0; i < o->names.count; i++) {
        Str name = *LIST_AT(o->names, Str, i);
        u32 k = 0;
        while (k < count && (targets[k].hidden || !str_eq(targets[k].name, name)))
            k++;
        if (k < count) {
            bits[k / 64] |= 1ull << k % 64;
            continue;
        }
        if (!t)
            err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" does not exist", (int)name.len, name.ptr);
        if (bind_table_column(t, name) < 0)
            err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)name.len, name.ptr, (int)t->name.len,
                      t->name.ptr);
        err_throw(ERR_INVALID_COLUMN_REFERENCE, "FORCE_QUOTE column \"%.*s\" not referenced by COPY", (int)name.len, name.ptr);
    }
    return bits;
}

/* SELECT columns FROM t. */
static BQuery *
table_query(Binder *b, const TableDef *t, const Stmt *s)
{
    u32 n;
    u16 *columns = bind_target_columns(b, t, s, &n);
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    PtrList targets = {0};
    scope.query->from = ARENA_NEW(b->arena, BFrom);
    const NsItem *item = bind_add_table(&scope, t, NULL, &scope.query->from->rel);
    for (u32 i = 0; i < n; i++) {
        const NsColumn *c = &item->columns[columns[i]];
        ptrlist_add(b->arena, &targets, bind_new_target(&scope, bexpr_copy(b, c->expr, 0), c->name));
    }
    bind_right_columns(b, t, ACL_SELECT, columns, n);
    bind_finish_scope(&scope, &targets);
    return scope.query;
}

static void
read_options(CopyState *c, const Stmt *s)
{
    for (u32 i = 0; i < s->options.count; i++)
        read_option(c, LIST_AT(s->options, AOption, i));
    bool csv = c->o->format == COPY_CSV;
    check_binary(c);
    check_delimiter(c, csv);
    if (c->o->has_null_text && (contains(c->o->null_text, '\r') || contains(c->o->null_text, '\n')))
        err_throw(ERR_INVALID_PARAMETER_VALUE, "COPY null representation cannot use newline or carriage return");
    if (c->o->has_default_text && (contains(c->o->default_text, '\r') || contains(c->o->default_text, '\n')))
        err_throw(ERR_INVALID_PARAMETER_VALUE, "COPY default representation cannot use newline or carriage return");
    check_csv(c, csv);
    check_default(c, csv);
    c->o->delimiter = c->has_delimiter ? c->delimiter.ptr[0] : 0;
    c->o->quote = c->has_quote ? c->quote.ptr[0] : 0;
    c->o->escape = c->has_escape ? c->escape.ptr[0] : 0;
    c->o->null_text = arena_str(c->b->arena, c->o->null_text);
    c->o->default_text = arena_str(c->b->arena, c->o->default_text);
}

static void
copy_defaults(Binder *b, BStmt *to, const TableDef *t)
{
    to->defaults = ARENA_ARRAY(b->arena, BTarget, t->column_count);
    for (u32 i = 0; i < t->column_count; i++) {
        bool named = !t->columns[i].default_text.len;
        for (u32 k = 0; k < to->column_count && !named && !to->copy.has_default_text; k++)
            named = to->columns[k] == i;
        if (!named)
            to->defaults[to->default_count++] = (BTarget){.expr = bind_default(b, t, (u16)i), .attribute = (u16)(i + 1)};
    }
}

static BExpr *
copy_where(Binder *b, const TableDef *t, const AExpr *where)
{
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    const AExpr *sub = bind_find_subquery(where);
    if (sub)
        bind_fail(b, sub->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in COPY FROM WHERE condition");
    scope.query->from = ARENA_NEW(b->arena, BFrom);
    bind_add_table(&scope, t, NULL, &scope.query->from->rel);
    return bind_condition(&scope, where, PLACE_COPY_WHERE, "WHERE");
}

static void
bind_copy_from(Binder *b, BStmt *to, const Stmt *s, const TableDef *t)
{
    CopyState c = {.b = b, .o = &to->copy};
    to->kind = BST_COPY_FROM;
    to->table_id = t->table_id;
    to->schema_version = t->schema_version;
    to->table_name = arena_str(b->arena, t->name);
    read_options(&c, s);
    to->columns = bind_target_columns(b, t, s, &to->column_count);
    bind_right_columns(b, t, ACL_INSERT, to->columns, to->column_count);
    copy_defaults(b, to, t);
    bind_checks(b, to, t);
    to->copy_where = s->where ? copy_where(b, t, s->where) : NULL;
    c.o->force_not_null = column_bitmap(b, t, to, c.force_not_null, "FORCE_NOT_NULL");
    c.o->force_null = column_bitmap(b, t, to, c.force_null, "FORCE_NULL");
}

static void
bind_copy_to(Binder *b, BStmt *to, const Stmt *s, const TableDef *t)
{
    CopyState c = {.b = b, .o = &to->copy, .to = true};
    to->kind = BST_COPY_TO;
    if (s->copied) {
        read_options(&c, s);
        bind_change(b, to, s->copied);
        if (!to->returning_count)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause");
        to->copy_out = true;
        c.o->force_quote = quote_bitmap(b, NULL, to->returning, to->returning_count, c.force_quote);
        return;
    }
    if (t) {
        read_options(&c, s);
        to->query = table_query(b, t, s);
    } else {
        read_options(&c, s);
        if (s->select->into)
            err_throw(ERR_FEATURE_NOT_SUPPORTED, "COPY (SELECT INTO) is not supported");
        to->query = bind_query(b, s->select, true);
    }
    c.o->force_quote = quote_bitmap(b, t, to->query->targets, to->query->target_count, c.force_quote);
}

/* The server's files and programs are not there for clients. */
static NORETURN void
refuse_server_side(Binder *b, const Stmt *s)
{
    const RoleDef *r = catalog_role(b->ctx->root, b->ctx->role_id);
    const char *what = s->copy_side == COPY_PROGRAM ? "COPY to or from an external program" : s->copy_to ? "COPY to a file" : "COPY from a file";
    const char *role = s->copy_side == COPY_PROGRAM ? "pg_execute_server_program" : s->copy_to ? "pg_write_server_files" : "pg_read_server_files";
    Error err;
    if (r && r->superuser) {
        error_set(&err, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", what);
    } else {
        error_set(&err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied to %s", what);
        error_detail(&err, "Only roles with privileges of the \"%s\" role may %s.", role, what);
    }
    error_hint(&err, "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.");
    err_rethrow(&err);
}

void
bind_copy(Binder *b, BStmt *to, const Stmt *s)
{
    if (s->copy_side != COPY_CLIENT)
        refuse_server_side(b, s);
    const TableDef *t = NULL;
    if (!s->select && !s->copied) {
        AName name = s->name;
        name.at = NO_LOCATION; /* PostgreSQL gives no positions here */
        t = bind_table(b, &name);
    }
    for (u32 i = 0; i < s->columns.count; i++)
        LIST_AT(s->columns, ASet, i)->at = NO_LOCATION;
    if (s->copy_to)
        bind_copy_to(b, to, s, t);
    else
        bind_copy_from(b, to, s, t);
}
