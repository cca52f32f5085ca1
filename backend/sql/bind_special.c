/*
 * bind_special.c
 *    Functions whose arguments are not what a table of overloads can say: any number of any type, VARIADIC, arguments by name.
 *
 * Where PostgreSQL takes any number of arguments of any type, the function here has an array of texts: format(f, a, b) is bound as
 * format(f, ARRAY[a, b]), each element as its type prints it. VARIADIC gives the array itself.
 */
#include "backend/sql/bind.h"

/* Names of arguments, in order; the last `defaults` of them may be left out. */
typedef struct NamedFunction {
    const char *name;
    u8 count, defaults;
    const char *args[FUNC_MAX_ARGS];
    const char *values[FUNC_MAX_ARGS]; /* of those with a default */
} NamedFunction;

static const NamedFunction NAMED[] = {
    {"make_date", 3, 0, {"year", "month", "day"}, {0}},
    {"make_interval", 7, 7, {"years", "months", "weeks", "days", "hours", "mins", "secs"}, {"0", "0", "0", "0", "0", "0", "0"}},
    {"make_time", 3, 0, {"hour", "min", "sec"}, {0}},
    {"make_timestamp", 6, 0, {"year", "month", "mday", "hour", "min", "sec"}, {0}},
    {"make_timestamptz", 6, 0, {"year", "month", "mday", "hour", "min", "sec"}, {0}},
    {"make_timestamptz", 7, 0, {"year", "month", "mday", "hour", "min", "sec", "timezone"}, {0}},
    {"parse_ident", 2, 1, {"str", "strict"}, {[1] = "true"}},
};

/* ---- arguments by name ---- */

static const Str *
name_of(const ACall *c, u32 i)
{
    const AArgName *n = i < c->arg_names.count ? LIST_AT(c->arg_names, AArgName, i) : NULL;
    return n ? &n->name : NULL;
}

static u32
name_at(const ACall *c, u32 i)
{
    return LIST_AT(c->arg_names, AArgName, i)->at;
}

static void
check_names(Binder *b, const AExpr *call)
{
    bool named = false;
    for (u32 i = 0; i < call->arg_count; i++) {
        const Str *name = name_of(call->call, i);
        if (named && !name)
            bind_fail(b, call->args[i]->at, ERR_SYNTAX_ERROR, "positional argument cannot follow named argument");
        named |= name != NULL;
        for (u32 k = 0; name && k < i; k++)
            if (name_of(call->call, k) && str_eq(*name_of(call->call, k), *name))
                bind_fail(b, name_at(call->call, i), ERR_SYNTAX_ERROR, "argument name \"%.*s\" used more than once", (int)name->len, name->ptr);
    }
}

/* The arguments in the function's order; false: its names do not fit. */
static bool
arrange(Binder *b, const NamedFunction *f, const AExpr *call, BExpr **args, BExpr **ret)
{
    u32 given = call->arg_count;
    if (given > f->count)
        return false;
    for (u32 k = 0; k < f->count; k++)
        ret[k] = NULL;
    for (u32 i = 0; i < given; i++) {
        const Str *name = name_of(call->call, i);
        u32 k = name ? 0 : i;
        while (name && k < f->count && !str_eq(str_of(f->args[k]), *name))
            k++;
        if (k == f->count || ret[k])
            return false;
        ret[k] = args[i];
    }
    for (u32 k = 0; k < f->count; k++) {
        if (ret[k])
            continue;
        if (k < (u32)(f->count - f->defaults))
            return false;
        ret[k] = bind_const_text(b, TYPE_TEXT, str_of(f->values[k]), 0);
        ret[k]->type = TYPE_UNKNOWN;
    }
    return true;
}

u32
bind_arguments_by_name(Binder *b, const AExpr *call, Str name, BExpr **args)
{
    BExpr *ordered[FUNC_MAX_ARGS];
    check_names(b, call);
    for (u32 i = 0; i < COUNT_OF(NAMED); i++)
        if (str_eq(str_of(NAMED[i].name), name) && arrange(b, &NAMED[i], call, args, ordered)) {
            memcpy(args, ordered, NAMED[i].count * sizeof *args);
            return NAMED[i].count;
        }
    const char *list = "";
    for (u32 i = 0; i < call->arg_count; i++) {
        const Str *n = name_of(call->call, i);
        list = arena_printf(b->arena, "%s%s%.*s%s%s", list, i ? ", " : "", n ? (int)n->len : 0, n ? n->ptr : "", n ? " => " : "", bind_type_name(args[i]->type));
    }
    bind_fail_hint(bind_position(b, call->at), ERR_UNDEFINED_FUNCTION,
                   "No function matches the given name and argument types. You might need to add explicit type casts.", "function %s(%s) does not exist",
                   bind_name_text(b, call->name), list);
}

/* ---- any number of any type ---- */

static BExpr *
call_by_types(Binder *b, const char *name, BExpr **args, u32 n, u32 position)
{
    u32 count;
    const FuncDef *rows = func_candidates(str_of(name), false, &count);
    u32 k = 0;
    while (k + 1 < count && rows[k].arg_count != n)
        k++;
    return bind_make_func(b, &rows[k], args, n, position);
}

static BExpr *
array_of_items(Binder *b, TypeId array, BExpr **items, u32 n, u32 position)
{
    BExpr *r = bind_new(b, BX_ARRAY, array, position);
    r->arg_count = n;
    r->args = ARENA_ARRAY(b->arena, BExpr *, MAX(n, 1u));
    for (u32 i = 0; i < n; i++)
        r->args[i] = items[i];
    return r;
}

/* true where e is not NULL, else NULL: what num_nulls() counts. */
static BExpr *
presence(Binder *b, BExpr *e)
{
    BExpr *there = bind_new(b, BX_IS_NULL, TYPE_BOOL, e->position), *no = bind_const_null(b, TYPE_BOOL, e->position), *c = bind_new(b, BX_CASE, TYPE_BOOL, e->position);
    there->negated = true;
    there->arg_count = 1;
    there->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    there->args[0] = e;
    c->arg_count = 3;
    c->args = ARENA_ARRAY(b->arena, BExpr *, 3);
    c->args[0] = there;
    c->args[1] = there;
    c->args[2] = no;
    return c;
}

static void
need_array(const BExpr *e)
{
    if (!type_is_array(e->type))
        err_throw_at(e->position, ERR_DATATYPE_MISMATCH, "VARIADIC argument must be an array");
}

/* The array of a VARIADIC call as texts, or the rest of the arguments as they print. */
static BExpr *
rest_as_texts(Binder *b, const AExpr *call, BExpr **args, u32 n, u32 position)
{
    if (call->call->variadic) {
        need_array(args[n - 1]);
        return coerce_type(b, args[n - 1], TYPE_TEXT_ARRAY, CAST_EXPLICIT);
    }
    for (u32 i = 0; i < n; i++)
        args[i] = bind_as_printed(b, args[i]);
    return array_of_items(b, TYPE_TEXT_ARRAY, args, n, position);
}

/* pg_typeof(): known when the statement is bound. */
static BExpr *
type_of(Binder *b, const BExpr *e, u32 position)
{
    BExpr *r = bind_const_null(b, TYPE_REGTYPE, position);
    enum { UNKNOWN_OID = 705 };
    r->value = (Value){.type = TYPE_REGTYPE, .typmod = -1, .i64v = e->type == TYPE_UNKNOWN ? UNKNOWN_OID : type_oid(e->type)};
    return r;
}

/* (a, b) OVERLAPS (c, d): an end given as an interval is how far it lies from its beginning. */
static BExpr *
overlaps(Binder *b, const AExpr *call, BExpr **args)
{
    for (u32 i = 0; i < 4; i += 2)
        if (args[i + 1]->type == TYPE_INTERVAL)
            args[i + 1] = bind_operator(b, STR_LIT("+"), args[i], args[i + 1], call->at);
    return NULL;
}

BExpr *
bind_special_call(Binder *b, const AExpr *call, Str name, BExpr **args, u32 n)
{
    bool variadic = call->call->variadic;
    u32 position = bind_position(b, call->at);
    if (str_eq(name, STR_LIT("pg_typeof")) && n == 1 && !variadic)
        return type_of(b, args[0], position);
    if (str_eq(name, STR_LIT("overlaps")) && n == 4)
        return overlaps(b, call, args);
    if (str_eq(name, STR_LIT("format")) && n >= 1 && !(variadic && n == 1)) {
        BExpr *both[2] = {coerce_type(b, args[0], TYPE_TEXT, CAST_IMPLICIT), rest_as_texts(b, call, args + 1, n - 1, position)};
        return call_by_types(b, "format", both, 2, position);
    }
    bool nulls = str_eq(name, STR_LIT("num_nulls")), nonnulls = str_eq(name, STR_LIT("num_nonnulls"));
    if ((nulls || nonnulls) && n >= 1) {
        BExpr *all = args[0];
        if (variadic) {
            need_array(all);
        } else {
            for (u32 i = 0; i < n; i++)
                args[i] = presence(b, coerce_unknown_to_text(b, args[i]));
            all = array_of_items(b, (TypeId)(TYPE_BOOL + TYPE_ARRAY), args, n, position);
        }
        return call_by_types(b, nulls ? "num_nulls" : "num_nonnulls", &all, 1, position);
    }
    bool ws = str_eq(name, STR_LIT("concat_ws")), plain = str_eq(name, STR_LIT("concat"));
    if ((ws && (variadic ? n == 2 : n > 6)) || (plain && variadic && n == 1)) {
        BExpr *both[2] = {rest_as_texts(b, call, args + ws, n - ws, position), ws ? coerce_type(b, args[0], TYPE_TEXT, CAST_EXPLICIT) : bind_const_text(b, TYPE_TEXT, STR_LIT(""), position)};
        return call_by_types(b, "array_to_string", both, 2, position);
    }
    return NULL;
}
