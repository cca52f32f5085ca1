/*
 * bind_coerce.c
 *    Conversions between types: what is allowed where (casts.def and the rules behind it), and the nodes that do it.
 *
 * Follows chapter 10 of PostgreSQL's manual. A literal without a type, and a parameter whose type is not known yet, are TYPE_UNKNOWN and take
 * the type they are converted to: the literal is read at once, the parameter's type is fixed for the whole statement.
 */
#include "backend/sql/bind.h"
#include "common/type/interval.h"

typedef enum CastPath { PATH_NONE, PATH_SAME, PATH_BINARY, PATH_FUNCTION, PATH_TEXT } CastPath;

static const struct { TypeId from, to; CastContext context; CastPath path; } CASTS[] = {
#define SQL_CAST(from, to, context, method) {TYPE_##from, TYPE_##to, CAST_##context, PATH_##method},
#include "backend/sql/casts.def"
};

static CastPath
cast_path(TypeId from, TypeId to, CastContext context)
{
    if (from == to)
        return PATH_SAME;
    if (poly_is(to)) /* whether it fits is a matter of all arguments: poly_fits */
        return context == CAST_IMPLICIT && !poly_is(from) ? PATH_SAME : PATH_NONE;
    if (type_is_array(from) && type_is_array(to))
        return cast_path(type_element(from), type_element(to), context);
    for (u32 i = 0; i < COUNT_OF(CASTS); i++)
        if (CASTS[i].from == from && CASTS[i].to == to)
            return context >= CASTS[i].context ? CASTS[i].path : PATH_NONE;
    if (from == TYPE_VOID || to == TYPE_VOID)
        return from == TYPE_VOID && type_category(to) == 'S' && context >= CAST_ASSIGNMENT ? PATH_TEXT : PATH_NONE;
    if (context >= CAST_ASSIGNMENT && type_category(to) == 'S')
        return PATH_TEXT;
    if (context >= CAST_EXPLICIT && type_category(from) == 'S')
        return PATH_TEXT;
    return PATH_NONE;
}

bool
coerce_allowed(TypeId from, TypeId to, CastContext context)
{
    return from == to || from == TYPE_UNKNOWN || cast_path(from, to, context) != PATH_NONE;
}

/* 'now', 'today 12:00', '12:00' as timetz in a zone with summer time: read half a year later it is another value. */
static bool
depends_on_now(Binder *b, const Value *v, Str text)
{
    if (type_category(type_element(v->type)) != 'D')
        return false;
    bool word = type_element(v->type) == TYPE_TIMETZ;
    for (u32 i = 0; i < text.len && !word; i++)
        word = ((u8)text.ptr[i] | 0x20) >= 'a' && ((u8)text.ptr[i] | 0x20) <= 'z';
    if (!word)
        return false;
    TypeFormat later = *b->ctx->format;
    later.now_us += (183 * 24 + 5) * 3600 * 1000000LL + 1;
    Value other = {0};
    Error err;
    if (!value_in(b->arena, &later, v->type, v->typmod, text, &other, &err))
        return true;
    ByteBuf a = {0}, c = {0};
    value_out(&a, b->ctx->format, v);
    other.type = v->type;
    value_out(&c, b->ctx->format, &other);
    bool same = !a.failed && !c.failed && a.len == c.len && memcmp(a.data, c.data, a.len) == 0;
    buf_free(&a);
    buf_free(&c);
    return !same;
}

static BExpr *
read_literal(Binder *b, const BExpr *e, TypeId to, i32 typmod)
{
    BExpr *c = bind_const_null(b, to, e->position);
    if (e->value.is_null)
        return c;
    Error err;
    if (!value_in(b->arena, b->ctx->format, to, typmod, e->value.str, &c->value, &err)) {
        err.position = e->position;
        err_rethrow(&err);
    }
    c->value.type = to;
    c->value.typmod = c->typmod = typmod;
    b->reads_clock |= depends_on_now(b, &c->value, e->value.str);
    return c;
}

/* The parameter takes its type here, or must have the same one already. Every use of this node sees it. */
static BExpr *
fix_parameter(Binder *b, BExpr *e, TypeId to)
{
    TypeId *known = &b->param_types[e->index];
    if (*known == TYPE_UNKNOWN) {
        *known = to;
    } else if (*known != to) {
        Error err;
        error_set(&err, ERR_AMBIGUOUS_PARAMETER, "inconsistent types deduced for parameter $%u", e->index + 1);
        error_detail(&err, "%s versus %s", bind_type_name(*known), bind_type_name(to));
        err.position = e->position;
        err_rethrow(&err);
    }
    e->type = to;
    return e;
}

/* A numeric literal of more digits than numeric has; bind_number made it. */
static bool
is_long_number(const BExpr *e)
{
    return e->kind == BX_CAST && e->type == TYPE_NUMERIC && !e->explicit_cast && e->args[0]->kind == BX_CONST &&
           e->args[0]->type == TYPE_UNKNOWN;
}

BExpr *
coerce_type(Binder *b, BExpr *e, TypeId to, CastContext context)
{
    if (e->type == to)
        return e;
    if (e->type == TYPE_UNKNOWN && e->kind == BX_CONST)
        return read_literal(b, e, to, -1);
    if (e->type == TYPE_UNKNOWN && e->kind == BX_PARAM)
        return fix_parameter(b, e, to);
    if (is_long_number(e) && (to == TYPE_FLOAT8 || to == TYPE_FLOAT4))
        return read_literal(b, e->args[0], to, -1);
    BExpr *c = bind_new(b, BX_CAST, to, e->position);
    c->explicit_cast = context == CAST_EXPLICIT;
    c->arg_count = 1;
    c->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    c->args[0] = e;
    return c;
}

/* Length and precision: a cast of its own, or part of the one just made. */
static BExpr *
coerce_typmod(Binder *b, BExpr *e, BExpr *before, i32 typmod, CastContext context)
{
    if (typmod < 0 || typmod == e->typmod)
        return e;
    if (e->kind == BX_CAST && e != before) {
        e->typmod = typmod;
        return e;
    }
    BExpr *c = bind_new(b, BX_CAST, e->type, e->position);
    c->typmod = typmod;
    c->explicit_cast = context == CAST_EXPLICIT;
    c->arg_count = 1;
    c->args = ARENA_ARRAY(b->arena, BExpr *, 1);
    c->args[0] = e;
    return c;
}

BExpr *
coerce_to_target(Binder *b, BExpr *e, TypeId to, i32 typmod, CastContext context)
{
    if (!coerce_allowed(e->type, to, context))
        return NULL;
    /* What '1' means depends on the range: INTERVAL '1' YEAR. */
    if (to == TYPE_INTERVAL && e->type == TYPE_UNKNOWN && e->kind == BX_CONST)
        return read_literal(b, e, to, typmod);
    BExpr *c = coerce_type(b, e, to, context);
    return coerce_typmod(b, c, e, typmod, context);
}

BExpr *
coerce_to_boolean(Binder *b, BExpr *e, const char *construct)
{
    BExpr *c = coerce_to_target(b, e, TYPE_BOOL, -1, CAST_ASSIGNMENT);
    if (!c)
        err_throw_at(e->position, ERR_DATATYPE_MISMATCH, "argument of %s must be type boolean, not type %s", construct,
                     bind_type_name(e->type));
    return c;
}

BExpr *
coerce_unknown_to_text(Binder *b, BExpr *e)
{
    return e->type == TYPE_UNKNOWN ? coerce_type(b, e, TYPE_TEXT, CAST_IMPLICIT) : e;
}

TypeId
coerce_common_type(BExpr *const *list, u32 count, const char *construct)
{
    TypeId type = list[0]->type;
    for (u32 i = 1; i < count; i++) {
        TypeId next = list[i]->type;
        if (next == TYPE_UNKNOWN || next == type)
            continue;
        if (type == TYPE_UNKNOWN) {
            type = next;
        } else if (type_category(next) != type_category(type)) {
            if (!construct)
                return TYPE_INVALID;
            err_throw_at(list[i]->position, ERR_DATATYPE_MISMATCH, "%s types %s and %s cannot be matched", construct,
                         bind_type_name(type), bind_type_name(next));
        } else if (!type_preferred(type) && coerce_allowed(type, next, CAST_IMPLICIT) && !coerce_allowed(next, type, CAST_IMPLICIT)) {
            type = next;
        }
    }
    return type == TYPE_UNKNOWN ? TYPE_TEXT : type;
}

BExpr *
coerce_to_common(Binder *b, BExpr *e, TypeId to, const char *construct)
{
    if (!coerce_allowed(e->type, to, CAST_IMPLICIT))
        err_throw_at(e->position, ERR_CANNOT_COERCE, "%s could not convert type %s to %s", construct, bind_type_name(e->type),
                     bind_type_name(to));
    return coerce_type(b, e, to, CAST_IMPLICIT);
}

/* ---- type names ---- */

/* Types of PostgreSQL that a column or a cast may name and that come later. */
static const char *const LATER_TYPES[] = {
    "abstime", "aclitem", "bit", "box", "cid", "cidr", "circle", "cstring", "daterange", "inet",
    "int2vector", "int4range", "int8range", "jsonpath", "line", "lseg", "macaddr", "macaddr8", "money",
    "numrange", "oidvector", "path", "pg_lsn", "pg_node_tree", "point", "polygon", "record", "refcursor", "regclass", "regcollation",
    "regconfig", "regdictionary", "regnamespace", "regoper", "regoperator", "regproc", "regprocedure", "regrole", "regtype", "serial",
    "serial2", "serial4", "serial8", "bigserial", "smallserial", "tid", "tsquery", "tsrange", "tstzrange", "tsvector", "txid_snapshot",
    "varbit", "xid", "xid8", "xml",
};

static bool
is_later_type(Str name)
{
    for (u32 i = 0; i < COUNT_OF(LATER_TYPES); i++)
        if (str_eq(name, str_of(LATER_TYPES[i])))
            return true;
    return false;
}

static i32
type_modifier(Binder *b, const ATypeName *t, u32 i)
{
    const AExpr *e = LIST_AT(t->mods, AExpr, i);
    if (e->kind != AX_INT)
        bind_fail(b, e->at, ERR_INVALID_PARAMETER_VALUE, "type modifiers must be simple constants or identifiers");
    return e->number;
}

static i32
numeric_modifiers(Binder *b, const ATypeName *t)
{
    if (t->mods.count > 2)
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "invalid NUMERIC type modifier");
    i32 precision = type_modifier(b, t, 0), scale = t->mods.count == 2 ? type_modifier(b, t, 1) : 0;
    if (precision < 1 || precision > 1000)
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "NUMERIC precision %d must be between 1 and 1000", precision);
    if (scale < -1000 || scale > 1000)
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "NUMERIC scale %d must be between -1000 and 1000", scale);
    if (precision > NUM_MAX_DIGITS)
        bind_fail(b, t->at, ERR_FEATURE_NOT_SUPPORTED, "numeric precision beyond %d digits is not supported", NUM_MAX_DIGITS);
    if (scale < 0 || scale > precision)
        bind_fail(b, t->at, ERR_FEATURE_NOT_SUPPORTED, "a numeric scale below 0 or above the precision is not supported");
    return numeric_typmod((u32)precision, (u32)scale);
}

/* The parser gives the range and perhaps a precision. */
static i32
interval_modifiers(Binder *b, const ATypeName *t)
{
    if (t->mods.count < 1 || t->mods.count > 2)
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "invalid INTERVAL type modifier");
    i32 range = type_modifier(b, t, 0), precision = t->mods.count == 2 ? type_modifier(b, t, 1) : INTERVAL_FULL_PRECISION;
    if (!interval_range_name(range))
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "invalid INTERVAL type modifier");
    if (precision < 0)
        bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "INTERVAL(%d) precision must not be negative", precision);
    if (t->mods.count == 2)
        precision = MIN(precision, 6);
    return range == INTERVAL_FULL_RANGE && t->mods.count == 1 ? -1 : interval_typmod(range, precision);
}

i32
bind_time_precision(Binder *b, i32 precision, TypeId type, u32 at)
{
    bool stamp = type == TYPE_TIMESTAMP || type == TYPE_TIMESTAMPTZ, zone = type == TYPE_TIMESTAMPTZ || type == TYPE_TIMETZ;
    if (precision < 0)
        bind_fail(b, at, ERR_INVALID_PARAMETER_VALUE, "%s(%d)%s precision must not be negative", stamp ? "TIMESTAMP" : "TIME", precision,
                  zone ? " WITH TIME ZONE" : "");
    return MIN(precision, 6);
}

static i32
type_modifiers(Binder *b, const ATypeName *t, TypeId type)
{
    if (!t->with_mods)
        return -1;
    type = type_element(type);
    if (type == TYPE_NUMERIC)
        return numeric_modifiers(b, t);
    if (type_has_length(type)) {
        const char *shown = type == TYPE_VARCHAR ? "varchar" : "char";
        if (t->mods.count != 1)
            bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "invalid type modifier");
        i32 n = type_modifier(b, t, 0);
        if (n < 1)
            bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "length for type %s must be at least 1", shown);
        if (n > 10485760)
            bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "length for type %s cannot exceed 10485760", shown);
        return n + 4;
    }
    if (type == TYPE_INTERVAL)
        return interval_modifiers(b, t);
    if (type_has_precision(type)) {
        if (t->mods.count != 1)
            bind_fail(b, t->at, ERR_INVALID_PARAMETER_VALUE, "invalid type modifier");
        return bind_time_precision(b, type_modifier(b, t, 0), type, t->at);
    }
    bind_fail(b, t->at, ERR_SYNTAX_ERROR, "type modifier is not allowed for type \"%s\"", type_internal_name(type));
}

/* By the name of pg_type; TYPE_INVALID: there is none, or no array of it. */
static TypeId
find_type(Str name, bool array)
{
    for (int k = TYPE_INVALID + 1; k < TYPE_COUNT; k++) {
        TypeId t = (TypeId)k, a = type_array(t);
        if (str_eq(name, str_of(type_internal_name(t))))
            return array ? a : t;
        if (a && str_eq(name, str_of(type_internal_name(a)))) /* _int4, and _int4[] is the same */
            return a;
    }
    return TYPE_INVALID;
}

TypeId
bind_type(Binder *b, const ATypeName *t, i32 *typmod)
{
    const AName *n = &t->name;
    Str name = n->parts[n->count - 1];
    if (n->count > 2)
        bind_fail(b, t->at, ERR_FEATURE_NOT_SUPPORTED, "cross-database references are not implemented: %s", bind_name_text(b, n));
    if (n->count == 2 && !str_eq(n->parts[0], STR_LIT("pg_catalog"))) {
        if (!str_eq(n->parts[0], STR_LIT("public")))
            bind_fail(b, t->at, ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)n->parts[0].len, n->parts[0].ptr);
        bind_fail(b, t->at, ERR_UNDEFINED_OBJECT, "type \"%s\" does not exist", bind_name_text(b, n));
    }
    TypeId type = find_type(name, t->array);
    if (!type || t->setof) {
        const char *array = t->array ? "[]" : "";
        if (type || t->system || is_later_type(name))
            bind_fail(b, t->at, ERR_FEATURE_NOT_SUPPORTED, "type %.*s%s is not supported yet", (int)name.len, name.ptr, array);
        bind_fail(b, t->at, ERR_UNDEFINED_OBJECT, "type \"%s%s\" does not exist", bind_name_text(b, n), array);
    }
    *typmod = type_modifiers(b, t, type);
    return type;
}
