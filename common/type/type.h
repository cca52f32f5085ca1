/*
 * type.h
 *    Types, single values, and the text and binary forms of values.
 *
 * SQL types (TypeId, with a typmod as in PostgreSQL: for numeric ((p << 16) | s) + 4, for varchar and character n + 4, else -1) are what
 * users see. Physical types (PhysType) are how kernels and blocks hold them:
 *
 *   SQL type                        physical      bytes  notes
 *   boolean                         PHYS_BOOL     1      0 or 1
 *   smallint, "char"                PHYS_I16      2      "char": one byte, 0 … 255
 *   integer, date                   PHYS_I32      4      date: days since 2000-01-01; INT32_MIN/MAX = -/+infinity
 *   bigint, oid, timestamp[tz]      PHYS_I64      8      microseconds since 2000-01-01 (UTC); INT64_MIN/MAX = -/+infinity
 *   xid, cid, regclass and its kin  PHYS_I64      8      as oid; names stand in text forms only
 *   tid                             PHYS_I64      8      a row id: block << 16 | offset
 *   real, double precision          PHYS_F32/F64  4/8
 *   numeric(p <= 18, s)             PHYS_D64      8      value x 10^s; INT64_MIN = NaN
 *   numeric(p <= 38, s)             PHYS_D128     16     value x 10^s; the smallest i128 = NaN
 *   numeric                         PHYS_NUM      24     struct Num, a scale a value
 *   text, varchar, character, name,  PHYS_STR     16     struct Str in vectors; in blocks a u32 dictionary code;
 *   unknown, json, jsonb, bytea                          character(n): with its blanks, always n characters;
 *                                                        valid UTF-8 without zeros, but for bytea; jsonb in normal form: json.h
 *   time                            PHYS_I64      8      microseconds since midnight
 *   interval                        PHYS_INTERVAL 16     struct Interval: equal values may differ in their bits
 *   uuid                            PHYS_PAIR     16     struct Pair: its bytes as one number, most significant first
 *   timetz                          PHYS_PAIR     16     the moment in UTC, then the zone, both biased: timetz_pack()
 *   arrays                          PHYS_STR      16     the bytes of array.h; the typmod is that of the elements
 *   int2vector, oidvector           PHYS_STR      16     as arrays, from 0; type_is_array() takes them for arrays of smallint and oid
 *   aclitem, pg_node_tree           PHYS_STR      16     their text
 *
 * This room knows no table, no statement and no client.
 */
#ifndef TYPE_H
#define TYPE_H

#include "common/base/base.h"
#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"

typedef enum TypeId {
    TYPE_INVALID = 0,
#define SQL_TYPE(symbol, name, internal, oid, array, wire, category, preferred, storable) TYPE_##symbol,
#include "common/type/types.def"
    TYPE_COUNT
} TypeId;

#define TYPE_ARRAY 0x80u /* added to a type: the array of it; a TypeId, too */
_Static_assert(TYPE_COUNT <= TYPE_ARRAY, "types and their arrays");

/* Arrays of one dimension, of the catalog, with a text form of their own. */
static inline bool type_is_vector(TypeId t) { return t == TYPE_INT2VECTOR || t == TYPE_OIDVECTOR; }
static inline bool type_is_array(TypeId t) { return (u32)t > TYPE_ARRAY || type_is_vector(t); }
/* The element's type of an array, any other type as it is. */
static inline TypeId
type_element(TypeId t)
{
    if (type_is_vector(t))
        return t == TYPE_INT2VECTOR ? TYPE_INT2 : TYPE_OID;
    return (u32)t > TYPE_ARRAY ? (TypeId)((u32)t - TYPE_ARRAY) : t;
}

typedef enum PhysType {
    PHYS_BOOL = 1,
    PHYS_I16,
    PHYS_I32,
    PHYS_I64,
    PHYS_F32,
    PHYS_F64,
    PHYS_D64,
    PHYS_D128,
    PHYS_NUM,
    PHYS_STR,
    PHYS_PAIR,
    PHYS_INTERVAL,
    PHYS_COUNT
} PhysType;

/* One unsigned 128-bit number; order and equality are those of the number. */
typedef struct Pair {
    u64 hi, lo;
} Pair;

/* Months, days and microseconds side by side; interval.h computes with them. */
typedef struct Interval {
    i64 us;
    i32 days, months;
} Interval;

/* Its length at 30 days a month and 24 hours a day, in microseconds: what intervals are compared and hashed by. */
static inline i128
interval_span(const Interval *v)
{
    return (i128)v->us + ((i128)v->days + (i128)v->months * 30) * 86400000000LL;
}

static inline int
interval_cmp(const Interval *a, const Interval *b)
{
    i128 x = interval_span(a), y = interval_span(b);
    return (x > y) - (x < y);
}

static inline int
pair_cmp(const Pair *a, const Pair *b)
{
    if (a->hi != b->hi)
        return a->hi < b->hi ? -1 : 1;
    return (a->lo > b->lo) - (a->lo < b->lo);
}

/* What numeric means when nothing fixes its scale. value x 10^-scale; scale 0..NUM_MAX_SCALE is also the display scale.
 * Finite values have at most 38 digits: beyond that the operation fails with 22003. */
typedef enum NumKind { NUM_FINITE = 0, NUM_NAN, NUM_POS_INF, NUM_NEG_INF } NumKind;
typedef struct Num {
    u64 lo;
    i64 hi; /* two's complement 128-bit, low half first */
    u16 scale;
    u8 kind; /* NumKind; lo, hi are 0 unless finite */
    u8 zero[5];
} Num;
_Static_assert(sizeof(Num) == 24, "Num is stored in blocks and in the redo log");
enum { NUM_MAX_DIGITS = 38, NUM_MAX_SCALE = 38 };

#define D64_NAN INT64_MIN
#define D128_NAN ((i128)((u128)1 << 127))

static inline i128 num_int(const Num *n) { return (i128)(((u128)(u64)n->hi << 64) | n->lo); }
static inline Num
num_make(i128 v, u32 scale)
{
    return (Num){.lo = (u64)v, .hi = (i64)(v >> 64), .scale = (u16)scale, .kind = NUM_FINITE};
}

/* One value with its type, for constants, parameters and keys. Text bytes belong to whoever made it. */
typedef struct Value {
    TypeId type;
    i32 typmod;
    bool is_null;
    union {
        bool b;
        i16 i16v;
        i32 i32v;
        i64 i64v;
        float f32v;
        double f64v;
        Num num; /* every numeric, whatever its column's physical type */
        Str str;
        Pair pair;
        Interval interval;
    };
} Value;

/* ---- facts of types.def ---- */
const char *type_name(TypeId t);          /* "integer"; without typmod */
const char *type_internal_name(TypeId t); /* "int4" */
u32 type_oid(TypeId t);
i16 type_wire_len(TypeId t);
char type_category(TypeId t);
bool type_preferred(TypeId t);
bool type_storable(TypeId t);
bool type_has_precision(TypeId t); /* times whose typmod is the number of decimals of a second, 0 … 6 */
TypeId type_from_oid(u32 oid); /* TYPE_INVALID when unknown */
/* The array type of an element type; TYPE_INVALID: there is none. */
TypeId type_array(TypeId elem);
/* Of a type held as PHYS_STR: equal values have equal bytes, and values are in the order of their bytes. */
bool type_bytes_tell(TypeId t);
/* Of a type held as PHYS_STR: its text form is its bytes, in valid UTF-8. */
static inline bool type_is_its_text(TypeId t) { return t != TYPE_BYTEA && !type_is_array(t); }
/* There is no binary form: neither input nor output function. */
static inline bool type_lacks_binary(TypeId t) { return type_element(t) == TYPE_ACLITEM; }
/* Any of PostgreSQL's spellings, lower case: "int", "int4", "integer", "float8", "decimal", "timestamp with time zone", … */
TypeId type_from_name(Str name);
/* Types whose typmod is a number of characters plus 4: character varying and character. */
static inline bool type_has_length(TypeId t) { return t == TYPE_VARCHAR || t == TYPE_BPCHAR; }
/* A character value without the blanks at its end, which mean nothing: what it is compared as and becomes as text. */
Str bpchar_trim(Str s);
/* The same with blanks up to `chars` characters; a longer text stays as long as it is. ptr NULL: no memory. */
Str bpchar_pad(Arena *a, Str s, u32 chars);
/* "numeric(12,2)", "character varying(10)"; as format_type(). */
const char *type_format(Arena *a, TypeId t, i32 typmod);

/* ---- physical form ---- */
PhysType phys_of(TypeId t, i32 typmod);
/* An oid that is written as the name of what it stands for. */
static inline bool type_is_reg(TypeId t) { return t >= TYPE_REGCLASS && t <= TYPE_REGROLE; }
/* Unsigned 32 bits, held as an integer of 8 bytes. */
static inline bool type_is_u32(TypeId t) { return t == TYPE_OID || t == TYPE_XID || t == TYPE_CID || type_is_reg(t); }
u32 phys_width(PhysType p);                  /* bytes in a vector: 1, 2, 4, 8, 4, 8, 8, 16, 24, 16, 16, 16 */
static inline i32 numeric_typmod(u32 precision, u32 scale) { return (i32)((precision << 16) | scale) + 4; }
static inline u32 numeric_precision(i32 typmod) { return (u32)(typmod - 4) >> 16; }
static inline u32 numeric_scale(i32 typmod) { return (u32)(typmod - 4) & 0xffff; }
/* Store v (of type t) as physical p with the given numeric scale at `to`; the value must fit (coerced before). PHYS_STR
 * stores the Str itself. */
void value_to_phys(const Value *v, PhysType p, u32 scale, void *to);
Value value_from_phys(TypeId t, i32 typmod, PhysType p, u32 scale, const void *from);

typedef enum IntervalStyle {
    INTERVAL_STYLE_POSTGRES, INTERVAL_STYLE_POSTGRES_VERBOSE, INTERVAL_STYLE_SQL_STANDARD, INTERVAL_STYLE_ISO_8601
} IntervalStyle;

typedef enum DateStyle { DATE_STYLE_ISO, DATE_STYLE_SQL, DATE_STYLE_POSTGRES, DATE_STYLE_GERMAN } DateStyle;
/* How dates of three numbers are read; styles but ISO and German show DMY or MDY. */
typedef enum DateOrder { DATE_ORDER_MDY, DATE_ORDER_DMY, DATE_ORDER_YMD } DateOrder;

/* What the catalog knows of oids: the session's (backend/names.c). May be asked by every thread of a statement. */
typedef struct CatalogNames CatalogNames;
struct CatalogNames {
    /* The oid that a text of regclass or its kin means. 42P01, 42704, 42883, 42602. */
    bool (*read)(const CatalogNames *n, Arena *a, TypeId t, Str in, u32 *ret, Error *err);
    /* Appends the name; of an oid that nothing has, its digits. */
    void (*write)(const CatalogNames *n, TypeId t, u32 oid, ByteBuf *to);
    /* A function of the catalog, by its FuncOp; no argument is NULL unless the function is called for NULLs. Texts in a. */
    bool (*call)(const CatalogNames *n, Arena *a, u32 op, const Value *args, u32 arg_count, Value *ret, Error *err);
};

/* ---- text and binary forms; exactly PostgreSQL's ---- */
typedef struct TypeFormat {
    const struct Zone *zone; /* in which timestamptz is shown and read without a zone; NULL is UTC */
    i32 extra_float_digits; /* > 0: shortest round trip (the default, 1) */
    bool bytea_escape;      /* bytea_output = escape, else hex */
    u8 interval_style;      /* IntervalStyle */
    u8 date_style;          /* DateStyle */
    u8 date_order;          /* DateOrder */
    i64 now_us;             /* what 'now' and 'today' are read from: when the transaction began; 0: the clock */
    const CatalogNames *catalog; /* NULL: oids are shown as numbers, and names cannot be read */
} TypeFormat;

static inline bool
format_equal(const TypeFormat *a, const TypeFormat *b)
{
    return a->zone == b->zone && a->extra_float_digits == b->extra_float_digits && a->bytea_escape == b->bytea_escape &&
           a->interval_style == b->interval_style && a->date_style == b->date_style && a->date_order == b->date_order;
}

/* Parse text into a value of type t, applying typmod as a column would (rounding numeric, 22001 beyond varchar(n) and
 * character(n) unless only blanks are cut, blanks up to character(n), 22003 out of range, 22P02 bad syntax, 22007/22008 dates). Text results point into `in` where they
 * can, else into a. `in` must be valid UTF-8. */
MUST_CHECK bool value_in(Arena *a, const TypeFormat *f, TypeId t, i32 typmod, Str in, Value *ret, Error *err);
/* Binary form (big-endian, as PostgreSQL's *recv). 22P03, 08P01 on bad lengths, 22021 on bad UTF-8. */
MUST_CHECK bool value_recv(Arena *a, TypeId t, i32 typmod, const u8 *data, u32 len, Value *ret, Error *err);
/* Append the text / binary form of a non-NULL value, without length. */
void value_out(ByteBuf *to, const TypeFormat *f, const Value *v);
void value_send(ByteBuf *to, const Value *v);
/* The same straight from physical form, for result rows (hot). `at` points at one element. */
void phys_out(ByteBuf *to, const TypeFormat *f, TypeId t, PhysType p, u32 scale, const void *at);
void phys_send(ByteBuf *to, TypeId t, PhysType p, u32 scale, const void *at);
/* Convert between types as an explicit, assignment or implicit cast does once it is allowed (the binder decides that).
 * explicit_cast: varchar(n) and character(n) cut silently. Errors as PostgreSQL. */
MUST_CHECK bool value_cast(Arena *a, const TypeFormat *f, const Value *v, TypeId t, i32 typmod, bool explicit_cast,
                           Value *ret, Error *err);
/* Order of two non-NULL values of one type: NaN above everything, text by code point. */
int value_cmp(const Value *a, const Value *b);
enum { TYPE_NAME_MAX_BYTES = 63 };
bool utf8_valid(const u8 *s, size_t len);
/* Whether it may be a text: valid, and without a zero byte. Else 22021, naming the bytes of the first character that is none. */
bool utf8_check(Str in, Error *err);
u32 utf8_len(Str s); /* characters */
/* The bytes of s that fit into max_bytes, cut between characters. */
u32 utf8_clip(Str s, u32 max_bytes);

#endif
