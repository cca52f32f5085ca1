/*
 * type.c
 *    Facts of types.def, and the physical form of values.
 *
 * Everything here is a lookup in a constant table. OIDs and names are PostgreSQL's.
 */
#include "common/type/inside.h"
#include "common/type/interval.h"

typedef struct TypeFacts {
    const char *name, *internal;
    u32 oid;
    i16 wire_len;
    char category;
    bool preferred, storable;
} TypeFacts;

static const TypeFacts FACTS[TYPE_COUNT] = {
    [TYPE_INVALID] = {"???", "???", 0, 0, 'X', false, false},
#define SQL_TYPE(symbol, name, internal, oid, array, wire, category, preferred, storable) \
    [TYPE_##symbol] = {name, internal, oid, wire, category, preferred, storable},
#include "common/type/types.def"
};

/* Those of the arrays, by element type; no OID: there is none. */
static const TypeFacts ARRAY_FACTS[TYPE_COUNT] = {
#define SQL_TYPE(symbol, name, internal, oid, array, wire, category, preferred, storable) \
    [TYPE_##symbol] = {name "[]", "_" internal, array, -1, 'A', false, storable},
#include "common/type/types.def"
};

/* Spellings beside the two of types.def. */
static const struct {
    const char *name;
    TypeId type;
} ALIASES[] = {
    {"int", TYPE_INT4},          {"decimal", TYPE_NUMERIC},         {"dec", TYPE_NUMERIC},
    {"float", TYPE_FLOAT8},      {"char varying", TYPE_VARCHAR},    {"timestamp", TYPE_TIMESTAMP},
};

static const TypeFacts *
facts_of(TypeId t)
{
    if (type_is_vector(t))
        return &FACTS[t];
    TypeId elem = type_element(t);
    return (u32)elem >= TYPE_COUNT ? &FACTS[TYPE_INVALID] : type_is_array(t) ? &ARRAY_FACTS[elem] : &FACTS[t];
}

const char *
type_name(TypeId t)
{
    return facts_of(t)->name;
}

const char *
type_internal_name(TypeId t)
{
    return facts_of(t)->internal;
}

u32
type_oid(TypeId t)
{
    return facts_of(t)->oid;
}

i16
type_wire_len(TypeId t)
{
    return facts_of(t)->wire_len;
}

char
type_category(TypeId t)
{
    return facts_of(t)->category;
}

bool
type_preferred(TypeId t)
{
    return facts_of(t)->preferred;
}

TypeId
type_array(TypeId elem)
{
    return (u32)elem < TYPE_COUNT && ARRAY_FACTS[elem].oid ? (TypeId)(elem + TYPE_ARRAY) : TYPE_INVALID;
}

bool
type_bytes_tell(TypeId t)
{
    switch ((int)type_element(t)) {
    case TYPE_JSON:
    case TYPE_JSONB:
        return false;
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
    case TYPE_NUMERIC:
    case TYPE_INTERVAL:
    case TYPE_BPCHAR:
        return !type_is_array(t);
    default:
        return true;
    }
}

bool
type_storable(TypeId t)
{
    return facts_of(t)->storable;
}

bool
type_has_precision(TypeId t)
{
    return t == TYPE_TIMESTAMP || t == TYPE_TIMESTAMPTZ || t == TYPE_TIME || t == TYPE_TIMETZ;
}

/* TYPE_INVALID: none has it. */
static TypeId
array_from_oid(u32 oid)
{
    for (u32 t = 1; t < TYPE_COUNT; t++)
        if (oid && ARRAY_FACTS[t].oid == oid)
            return (TypeId)(t + TYPE_ARRAY);
    return TYPE_INVALID;
}

TypeId
type_from_oid(u32 oid)
{
    switch (oid) {
#define SQL_TYPE(symbol, name, internal, number, array, wire, category, preferred, storable) \
    case number:                                                                             \
        return TYPE_##symbol;
#include "common/type/types.def"
    default:
        return array_from_oid(oid);
    }
}

TypeId
type_from_name(Str name)
{
    for (u32 t = 1; t < TYPE_COUNT; t++) {
        if (str_eq(name, str_of(FACTS[t].name)) || str_eq(name, str_of(FACTS[t].internal)))
            return (TypeId)t;
        if (ARRAY_FACTS[t].oid && (str_eq(name, str_of(ARRAY_FACTS[t].name)) || str_eq(name, str_of(ARRAY_FACTS[t].internal))))
            return (TypeId)(t + TYPE_ARRAY);
    }
    for (u32 i = 0; i < COUNT_OF(ALIASES); i++)
        if (str_eq(name, str_of(ALIASES[i].name)))
            return ALIASES[i].type;
    return TYPE_INVALID;
}

const char *
type_format(Arena *a, TypeId t, i32 typmod)
{
    if (type_is_array(t))
        return arena_printf(a, "%s[]", type_format(a, type_element(t), typmod));
    if (typmod < 0)
        return t == TYPE_BPCHAR ? "bpchar" : type_name(t);
    if (t == TYPE_NUMERIC && typmod >= 4)
        return arena_printf(a, "numeric(%u,%u)", numeric_precision(typmod), numeric_scale(typmod));
    if (type_has_length(t) && typmod >= 4)
        return arena_printf(a, "%s(%d)", type_name(t), typmod - 4);
    if (t == TYPE_INTERVAL) {
        const char *range = interval_range_name(interval_range(typmod));
        i32 precision = interval_precision(typmod);
        return precision == INTERVAL_FULL_PRECISION ? arena_printf(a, "interval%s", range ? range : "")
                                                    : arena_printf(a, "interval%s(%d)", range ? range : "", precision);
    }
    if (type_has_precision(t)) {
        bool stamp = t == TYPE_TIMESTAMP || t == TYPE_TIMESTAMPTZ, zone = t == TYPE_TIMESTAMPTZ || t == TYPE_TIMETZ;
        return arena_printf(a, "%s(%d) %s time zone", stamp ? "timestamp" : "time", typmod, zone ? "with" : "without");
    }
    return type_name(t);
}

PhysType
phys_of(TypeId t, i32 typmod)
{
    if (type_is_array(t))
        return PHYS_STR;
    switch (t) {
    case TYPE_BOOL:
        return PHYS_BOOL;
    case TYPE_INT2:
    case TYPE_CHAR:
        return PHYS_I16;
    case TYPE_INT4:
    case TYPE_DATE:
        return PHYS_I32;
    case TYPE_INT8:
    case TYPE_OID:
    case TYPE_XID:
    case TYPE_CID:
    case TYPE_TID:
    case TYPE_REGCLASS:
    case TYPE_REGTYPE:
    case TYPE_REGPROC:
    case TYPE_REGPROCEDURE:
    case TYPE_REGNAMESPACE:
    case TYPE_REGROLE:
    case TYPE_TIME:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
        return PHYS_I64;
    case TYPE_FLOAT4:
        return PHYS_F32;
    case TYPE_FLOAT8:
        return PHYS_F64;
    case TYPE_NUMERIC:
        if (typmod < 4 || numeric_precision(typmod) > NUM_MAX_DIGITS)
            return PHYS_NUM;
        return numeric_precision(typmod) <= 18 ? PHYS_D64 : PHYS_D128;
    case TYPE_UUID:
    case TYPE_TIMETZ:
        return PHYS_PAIR;
    case TYPE_INTERVAL:
        return PHYS_INTERVAL;
    case TYPE_TEXT:
    case TYPE_BYTEA:
    case TYPE_INET:
    case TYPE_JSON:
    case TYPE_JSONB:
    case TYPE_VARCHAR:
    case TYPE_BPCHAR:
    case TYPE_NAME:
    case TYPE_UNKNOWN:
    case TYPE_INT2VECTOR:
    case TYPE_OIDVECTOR:
    case TYPE_ACLITEM:
    case TYPE_NODE_TREE:
    case TYPE_CSTRING:
    case TYPE_INTERNAL:
    case TYPE_ANY:
    case TYPE_RECORD:
    case TYPE_VOID:
    case TYPE_ANYELEMENT:
    case TYPE_ANYARRAY:
    case TYPE_ANYNONARRAY:
    case TYPE_ANYCOMPATIBLE:
    case TYPE_ANYCOMPATIBLEARRAY:
    case TYPE_INVALID:
    case TYPE_COUNT:
        break;
    }
    return PHYS_STR;
}

u32
phys_width(PhysType p)
{
    static const u8 WIDTHS[PHYS_COUNT] = {
        [PHYS_BOOL] = 1, [PHYS_I16] = 2, [PHYS_I32] = 4,  [PHYS_I64] = 8,  [PHYS_F32] = 4,
        [PHYS_F64] = 8,  [PHYS_D64] = 8, [PHYS_D128] = 16, [PHYS_NUM] = 24, [PHYS_STR] = 16,
        [PHYS_PAIR] = 16, [PHYS_INTERVAL] = 16,
    };
    return WIDTHS[p];
}

/* The integer that n is at the given scale; n fits, since it was coerced to the column's typmod. */
static i128
scaled_to(const Num *n, u32 scale)
{
    Num at = *n;
    if (n->scale != scale)
        ensure(num_round(n, (i32)scale, &at) == NUM_OK && at.scale == scale);
    return num_int(&at);
}

void
value_to_phys(const Value *v, PhysType p, u32 scale, void *to)
{
    switch (p) {
    case PHYS_BOOL: {
        u8 b = v->b;
        memcpy(to, &b, 1);
        return;
    }
    case PHYS_D64: {
        i64 d = v->num.kind == NUM_FINITE ? (i64)scaled_to(&v->num, scale) : D64_NAN;
        memcpy(to, &d, 8);
        return;
    }
    case PHYS_D128: {
        i128 d = v->num.kind == NUM_FINITE ? scaled_to(&v->num, scale) : D128_NAN;
        memcpy(to, &d, 16);
        return;
    }
    case PHYS_NUM:
        memcpy(to, &v->num, sizeof(Num));
        return;
    case PHYS_I16:
        memcpy(to, &v->i16v, 2);
        return;
    case PHYS_I32:
    case PHYS_F32:
        memcpy(to, &v->i32v, 4);
        return;
    case PHYS_I64:
    case PHYS_F64:
        memcpy(to, &v->i64v, 8);
        return;
    case PHYS_STR:
        memcpy(to, &v->str, sizeof(Str));
        return;
    case PHYS_PAIR:
        memcpy(to, &v->pair, sizeof(Pair));
        return;
    case PHYS_INTERVAL:
        memcpy(to, &v->interval, sizeof(Interval));
        return;
    case PHYS_COUNT:
        break;
    }
    ensure(!"physical type");
}

static Num
nan_number(void)
{
    return (Num){.kind = NUM_NAN};
}

Value
value_from_phys(TypeId t, i32 typmod, PhysType p, u32 scale, const void *from)
{
    Value v = {.type = t, .typmod = typmod};
    switch (p) {
    case PHYS_BOOL:
        v.b = *(const u8 *)from != 0;
        break;
    case PHYS_D64: {
        i64 d;
        memcpy(&d, from, 8);
        v.num = d == D64_NAN ? nan_number() : num_make(d, scale);
        break;
    }
    case PHYS_D128: {
        i128 d;
        memcpy(&d, from, 16);
        v.num = d == D128_NAN ? nan_number() : num_make(d, scale);
        break;
    }
    case PHYS_NUM:
        memcpy(&v.num, from, sizeof(Num));
        break;
    case PHYS_I16:
        memcpy(&v.i16v, from, 2);
        break;
    case PHYS_I32:
    case PHYS_F32:
        memcpy(&v.i32v, from, 4);
        break;
    case PHYS_I64:
    case PHYS_F64:
        memcpy(&v.i64v, from, 8);
        break;
    case PHYS_STR:
        memcpy(&v.str, from, sizeof(Str));
        break;
    case PHYS_PAIR:
        memcpy(&v.pair, from, sizeof(Pair));
        break;
    case PHYS_INTERVAL:
        memcpy(&v.interval, from, sizeof(Interval));
        break;
    case PHYS_COUNT:
        ensure(!"physical type");
    }
    return v;
}
