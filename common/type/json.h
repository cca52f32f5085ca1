/*
 * json.h
 *    JSON as a tree: reading with PostgreSQL's errors, the normal form of jsonb, order, and looking into values.
 *
 * json is its text as it came. jsonb is held as the text that PostgreSQL writes: keys in order (shorter first, then by bytes), the last of
 * equal ones, one blank behind ',' and ':', strings with no more escapes than needed, numbers without exponents. Numbers keep their
 * decimals (1.0 is not written as 1, but equals it), so equality is json_cmp(), not that of the bytes.
 */
#ifndef JSON_H
#define JSON_H

#include "common/type/type.h"

/* In the order of jsonb. */
typedef enum JsonKind { JSON_NULL, JSON_STRING, JSON_NUMBER, JSON_BOOL, JSON_ARRAY, JSON_OBJECT } JsonKind;

typedef struct JsonNode {
    JsonKind kind;
    bool truth;
    u32 count;              /* elements, members */
    Str raw;                /* as written */
    Str text;               /* a string decoded, a number as written */
    Str key;                /* of a member, decoded */
    struct JsonNode *first, *next;
} JsonNode;

/* Only checks, as input of json does: escapes need not make sense as text. 22P02 with PostgreSQL's detail and context. */
bool json_check(Str in, Error *err);
/* Nodes in a; texts point into `in` or a. */
bool json_parse(Arena *a, Str in, JsonNode **ret, Error *err);
/* The normal form of jsonb. */
bool jsonb_normal(Arena *a, Str in, Str *ret, Error *err);
/* In quotes, with no more escapes than needed. */
void json_put_string(ByteBuf *to, Str s);
/* A value as JSON, as to_json() makes it; is_null: null. Texts in `a` while it works. */
MUST_CHECK bool json_put_value(Arena *a, ByteBuf *to, const TypeFormat *f, const Value *v, Error *err);
/* The same as a member's name: in quotes. 22023 for what is no scalar. */
MUST_CHECK bool json_put_key(Arena *a, ByteBuf *to, const TypeFormat *f, const Value *v, Error *err);
/* Order of jsonb values; numbers by value. */
int json_cmp(const JsonNode *a, const JsonNode *b);
/* NULL: there is none. A member's name; an element, from the end when negative. */
const JsonNode *json_member(const JsonNode *n, Str key);
const JsonNode *json_element(const JsonNode *n, i64 index);

#endif
