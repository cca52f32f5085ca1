/*
 * func.h
 *    Functions, operators and aggregates by overload, as the binder sees them; derived from functions.def and
 *    aggregates.def.
 *
 * A FuncDef is logical: SQL types only. Which kernel runs (by physical type, shape and scale) is decided in plan/
 * when an expression is compiled. Operators are functions whose name is the operator ("+", "<=", "||", "~~" for
 * LIKE). Casts are not functions: BX_CAST.
 */
#ifndef FUNC_H
#define FUNC_H

#include "common/type/type.h"

enum { FUNC_MAX_ARGS = 7, AGG_MAX_ARGS = 2 };

/* Array types that functions.def names. */
#define TYPE_INT4_ARRAY ((TypeId)(TYPE_INT4 + TYPE_ARRAY))
#define TYPE_NAME_ARRAY ((TypeId)(TYPE_NAME + TYPE_ARRAY))
#define TYPE_TEXT_ARRAY ((TypeId)(TYPE_TEXT + TYPE_ARRAY))
#define TYPE_FLOAT8_ARRAY ((TypeId)(TYPE_FLOAT8 + TYPE_ARRAY))
#define TYPE_INTERVAL_ARRAY ((TypeId)(TYPE_INTERVAL + TYPE_ARRAY))

typedef u16 FuncId; /* row of functions.def; 0 = none */
typedef u16 AggId;  /* row of aggregates.def; 0 = none */

/* What a row of functions.def computes. Which arguments and results it takes says the row; plan/ has a kernel for
 * each pair. */
typedef enum FuncOp {
    FOP_ADD, FOP_SUB, FOP_MUL, FOP_DIV, FOP_MOD, FOP_EQ, FOP_NE, FOP_LT, FOP_LE, FOP_GT, FOP_GE,
    FOP_BIT_AND, FOP_BIT_OR, FOP_BIT_XOR, FOP_SHIFT_LEFT, FOP_SHIFT_RIGHT, FOP_BIT_NOT, FOP_PLUS, FOP_NEG, FOP_ABS,
        FOP_SIGN,
    FOP_DATE_ADD, FOP_DATE_SUB, FOP_DATE_DIFF, FOP_DATE_TIME,
    FOP_INTERVAL_ADD, FOP_INTERVAL_SUB, FOP_INTERVAL_NEG, FOP_INTERVAL_MUL, FOP_INTERVAL_DIV, FOP_TIME_PLUS, FOP_TIME_MINUS, FOP_TIME_DIFF,
    FOP_AGE, FOP_JUSTIFY_HOURS, FOP_JUSTIFY_DAYS, FOP_JUSTIFY_INTERVAL, FOP_MAKE_INTERVAL,
    FOP_CEIL, FOP_FLOOR, FOP_ROUND, FOP_TRUNC, FOP_DIV_TRUNC, FOP_GCD, FOP_LCM, FOP_POWER, FOP_SQRT, FOP_EXP, FOP_LN,
        FOP_LOG10,
    FOP_CBRT, FOP_DEGREES, FOP_RADIANS, FOP_SIN, FOP_COS, FOP_TAN, FOP_ASIN, FOP_ACOS, FOP_ATAN, FOP_ATAN2, FOP_SINH, FOP_COSH, FOP_TANH, FOP_ASINH,
        FOP_ACOSH, FOP_ATANH, FOP_COT, FOP_FACTORIAL, FOP_SCALE, FOP_MIN_SCALE, FOP_TRIM_SCALE, FOP_PI,
        FOP_RANDOM, FOP_RANDOM_UUID, FOP_PAIR,
    FOP_CONCAT, FOP_LIKE, FOP_NOT_LIKE, FOP_ILIKE, FOP_NOT_ILIKE, FOP_LIKE_ESCAPE, FOP_LENGTH, FOP_OCTET_LENGTH,
        FOP_BIT_LENGTH,
    FOP_ASCII, FOP_LOWER, FOP_UPPER, FOP_INITCAP, FOP_REVERSE, FOP_BTRIM, FOP_LTRIM, FOP_RTRIM, FOP_SUBSTR, FOP_LEFT,
        FOP_RIGHT,
    FOP_REGEXP, FOP_NOT_REGEXP, FOP_IREGEXP, FOP_NOT_IREGEXP, FOP_REGEXP_LIKE, FOP_REGEXP_SUBSTRING, FOP_REGEXP_COUNT, FOP_REGEXP_INSTR, FOP_REGEXP_SUBSTR,
        FOP_REGEXP_MATCH, FOP_REGEXP_SPLIT, FOP_REGEXP_REPLACE, FOP_SIMILAR_TO_ESCAPE, FOP_SIMILAR_SUBSTRING,
    FOP_PARSE_IDENT, FOP_UNISTR, FOP_NORMALIZE, FOP_IS_NORMALIZED, FOP_FORMAT, FOP_NUM_NULLS, FOP_NUM_NONNULLS, FOP_WIDTH_BUCKET, FOP_WIDTH_BUCKET_ARRAY, FOP_DATE_BIN,
        FOP_OVERLAPS, FOP_SIND, FOP_COSD, FOP_TAND, FOP_COTD, FOP_ASIND, FOP_ACOSD, FOP_ATAND, FOP_ATAN2D, FOP_BYTES_TRIM, FOP_BYTES_BIT_COUNT, FOP_BYTES_OVERLAY,
    FOP_STRPOS, FOP_REPLACE, FOP_TRANSLATE, FOP_REPEAT, FOP_LPAD, FOP_RPAD, FOP_BLANK_PAD, FOP_SPLIT_PART, FOP_STARTS_WITH, FOP_CHR,
        FOP_TO_HEX, FOP_OVERLAY,
    FOP_CONCAT_ALL, FOP_CONCAT_WS, FOP_QUOTE_LITERAL, FOP_QUOTE_NULLABLE, FOP_FORMAT_TYPE,
    FOP_JSON_GET, FOP_JSON_PATH, FOP_JSON_TYPEOF, FOP_JSON_LENGTH,
    FOP_GENERATE_SERIES, FOP_GENERATE_SUBSCRIPTS, FOP_LISTENING_CHANNELS, FOP_REGEXP_MATCHES, FOP_REGEXP_SPLIT_TO_TABLE, FOP_UNNEST, /* func_gives_rows() */
    FOP_ARRAY_CONTAINS, FOP_ARRAY_CONTAINED, FOP_ARRAY_OVERLAPS, FOP_CARDINALITY, FOP_ARRAY_NDIMS, FOP_ARRAY_LENGTH, FOP_ARRAY_LOWER,
        FOP_ARRAY_UPPER, FOP_ARRAY_DIMS, FOP_ARRAY_APPEND, FOP_ARRAY_PREPEND, FOP_ARRAY_CAT, FOP_ARRAY_FILL, FOP_TRIM_ARRAY, FOP_ARRAY_POSITION,
        FOP_ARRAY_POSITIONS, FOP_ARRAY_REMOVE, FOP_ARRAY_REPLACE, FOP_ARRAY_TO_STRING, FOP_STRING_TO_ARRAY,
    FOP_BYTES_SUBSTR, FOP_BYTES_POSITION, FOP_GET_BYTE, FOP_SET_BYTE, FOP_GET_BIT, FOP_SET_BIT, FOP_ENCODE, FOP_DECODE, FOP_MD5,
        FOP_SHA256, FOP_SHA512,
    FOP_DATE_TRUNC, FOP_EXTRACT, FOP_DATE_PART, FOP_IS_FINITE, FOP_MAKE_DATE, FOP_MAKE_TIME, FOP_MAKE_TIMESTAMP, FOP_MAKE_TIMESTAMPTZ, FOP_AT_ZONE, FOP_TO_TIMESTAMP,
    FOP_TO_CHAR, FOP_TO_DATE, FOP_TO_NUMBER,
    FOP_NOW, FOP_STATEMENT_TIMESTAMP, FOP_CLOCK_TIMESTAMP, FOP_VERSION, FOP_CURRENT_DATABASE, FOP_CURRENT_SCHEMA, FOP_CURRENT_USER, FOP_SESSION_USER,
        FOP_BACKEND_PID, FOP_SET_CONFIG, FOP_CURRENT_SETTING, FOP_SLEEP,
    /* what the catalog says (kern/catalog.c, backend/catalog_call.c) */
    FOP_INDEX_DEFINITION, FOP_CONSTRAINT_DEFINITION, FOP_NODE_TEXT, FOP_FUNCTION_ARGUMENTS, FOP_FUNCTION_RESULT, FOP_RELATION_IS_VISIBLE,
        FOP_TYPE_IS_VISIBLE, FOP_FUNCTION_IS_VISIBLE, FOP_IS_VISIBLE, FOP_NEVER, FOP_CURRENT_SCHEMAS, FOP_NAME_TO_OID, FOP_ROLE_NAME,
        FOP_ENCODING_NAME, FOP_ENCODING_NUMBER, FOP_SERIAL_SEQUENCE, FOP_RELATION_SIZE, FOP_DATABASE_SIZE, FOP_SIZE_PRETTY,
        FOP_TABLESPACE_LOCATION, FOP_HAS_TABLE, FOP_HAS_COLUMN, FOP_HAS_ANY_COLUMN, FOP_HAS_SCHEMA, FOP_HAS_DATABASE, FOP_HAS_ROLE, FOP_QUOTE_IDENT, FOP_DATABASE_ENCODING, FOP_DEFAULT_TEXT /* exec's: of a table and the number of a column */, FOP_NOTHING_KNOWN,
    /* what the session does when it is called (backend/call.c) */
    FOP_ADVISORY_LOCK, FOP_ADVISORY_LOCK_SHARED, FOP_ADVISORY_XACT_LOCK, FOP_ADVISORY_XACT_LOCK_SHARED, FOP_TRY_ADVISORY_LOCK,
        FOP_TRY_ADVISORY_LOCK_SHARED, FOP_TRY_ADVISORY_XACT_LOCK, FOP_TRY_ADVISORY_XACT_LOCK_SHARED, FOP_ADVISORY_UNLOCK,
        FOP_ADVISORY_UNLOCK_SHARED, FOP_ADVISORY_UNLOCK_ALL, FOP_SLEEP_FOR, FOP_SLEEP_UNTIL, FOP_CANCEL_BACKEND, FOP_TERMINATE_BACKEND,
        FOP_NOTIFY, FOP_NOTIFICATION_QUEUE_USAGE, FOP_NOT_BUILT,
} FuncOp;

typedef enum AggOp {
    AOP_COUNT, AOP_SUM, AOP_AVG, AOP_MIN, AOP_MAX, AOP_ANY_VALUE, AOP_BOOL_AND, AOP_BOOL_OR, AOP_BIT_AND, AOP_BIT_OR, AOP_BIT_XOR,
    AOP_VAR_POP, AOP_VAR_SAMP, AOP_STDDEV_POP, AOP_STDDEV_SAMP,
    /* of pairs of numbers: agg_takes_pairs() */
    AOP_REGR_COUNT, AOP_REGR_SXX, AOP_REGR_SYY, AOP_REGR_SXY, AOP_REGR_AVGX, AOP_REGR_AVGY, AOP_REGR_R2, AOP_REGR_SLOPE, AOP_REGR_INTERCEPT,
    AOP_COVAR_POP, AOP_COVAR_SAMP, AOP_CORR,
    /* those that look at all their rows at once: agg_folds() */
    AOP_STRING_AGG, AOP_ARRAY_AGG, AOP_JSON_AGG, AOP_JSON_OBJECT_AGG,
    AOP_MODE, AOP_PERCENTILE_CONT, AOP_PERCENTILE_DISC, AOP_RANK, AOP_DENSE_RANK, AOP_PERCENT_RANK, AOP_CUME_DIST,
} AggOp;
static inline bool agg_takes_pairs(AggOp op) { return op >= AOP_REGR_COUNT && op <= AOP_CORR; }
static inline bool agg_folds(AggOp op) { return op >= AOP_STRING_AGG; }

/* SERIAL: volatile, and it does something to the session or to others: called once a row, in the order of the rows, on the session's thread, for no row
 * that LIMIT does not want. */
typedef enum FuncVolatility { FUNC_IMMUTABLE, FUNC_STABLE, FUNC_VOLATILE, FUNC_SERIAL } FuncVolatility;

typedef struct FuncDef {
    FuncId id;
    const char *name;
    bool is_operator;
    u8 arg_count;
    TypeId args[FUNC_MAX_ARGS];
    TypeId ret;
    bool strict; /* NULL in, NULL out */
    FuncVolatility volatility;
    FuncOp op;
} FuncDef;

/* Before WITHIN GROUP stand direct arguments, a value a group; in its ORDER BY what is aggregated. HYPOTHETICAL: as many of the one as of the other. */
typedef enum AggKind { AGG_PLAIN, AGG_ORDERED_SET, AGG_HYPOTHETICAL } AggKind;

typedef struct AggDef {
    AggId id;
    const char *name;
    AggKind kind;
    u8 direct_count;
    u8 arg_count; /* direct ones included; 0: count(*), and HYPOTHETICAL */
    TypeId args[AGG_MAX_ARGS];
    TypeId ret;
    AggOp op;
} AggDef;

/* Gives any number of rows: FROM only. */
static inline bool func_gives_rows(const FuncDef *f) { return f->op >= FOP_GENERATE_SERIES && f->op <= FOP_UNNEST; }

/* The types of arguments and result in one call of a function of any type. */
typedef struct PolyTypes {
    TypeId args[FUNC_MAX_ARGS], ret;
} PolyTypes;

/* All overloads of a name (lower case), in a row; count 0 when unknown. */
const FuncDef *func_candidates(Str name, bool is_operator, u32 *ret_count);
const AggDef *agg_candidates(Str name, u32 *ret_count);
const FuncDef *func_def(FuncId id);
const AggDef *agg_def(AggId id);
/* Ids are 1 … count. */
u32 func_count(void);
u32 agg_count(void);

#endif
