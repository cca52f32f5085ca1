/*
 * array_io.c
 *    Text and binary forms of arrays, exactly PostgreSQL's, and casts from array to array.
 *
 * Text is read twice, as there: first its braces, commas and quotes, which gives the dimensions and every error about them, then the elements.
 */
#include "common/type/array.h"
#include "common/type/inside.h"

/* ---- reading text ---- */

typedef enum Place { AT_BEGIN, AFTER_OPEN, AFTER_ITEM, AFTER_QUOTED, AFTER_COMMA, AFTER_CLOSE, AFTER_LEVEL_COMMA } Place;

/* An array's text while it is read. */
typedef struct Reader {
    Str whole;
    const char *at, *end;
    Arena *arena;
    const TypeFormat *format;
    i32 typmod;
    ArrayBuild *build; /* NULL: only the shape */
    ArrayShape shape;
    u32 depth;
    i32 counts[ARRAY_MAX_DIMS];
    Error *err;
} Reader;

static bool
malformed(const Reader *r, const char *detail)
{
    Str shown = text_shown(r->whole);
    error_set(r->err, ERR_INVALID_TEXT_REPRESENTATION, "malformed array literal: \"%.*s\"", (int)shown.len, shown.ptr);
    error_detail(r->err, "%s", detail);
    return false;
}

static bool
unexpected(const Reader *r, char c)
{
    char detail[] = "Unexpected \"?\" character.";
    detail[sizeof "Unexpected \"" - 1] = c;
    return malformed(r, detail);
}

static void
skip_spaces(Reader *r)
{
    while (r->at < r->end && is_space(*r->at))
        r->at++;
}

static bool
store_item(Reader *r, Str text, bool null)
{
    Value v = {.type = r->build->elem, .is_null = null};
    return (null || value_in(r->arena, r->format, r->build->elem, r->typmod, text, &v, r->err)) && array_add(r->build, &v, r->err);
}

/* From the quote or the first character to behind the item; blanks around unquoted ones do not count. */
static bool
read_item(Reader *r, bool quoted)
{
    const char *start = r->at += quoted, *last = start; /* behind the last character that counts */
    bool escaped = false;
    for (;; r->at++) {
        if (r->at >= r->end) {
            if (quoted)
                return malformed(r, "Unexpected end of input.");
            break;
        }
        char c = *r->at;
        if (quoted ? c == '"' : c == '"' || c == ',' || c == '{' || c == '}')
            break;
        if (c == '\\') {
            escaped = true;
            if (++r->at >= r->end)
                return malformed(r, "Unexpected end of input.");
            last = r->at + 1;
        } else if (quoted || !is_space(c))
            last = r->at + 1;
    }
    r->at += quoted;
    if (!r->build)
        return true;
    Str text = {start, (u32)(last - start)};
    if (!quoted && !escaped && text_is(text, "null"))
        return store_item(r, text, true);
    if (escaped) {
        char *plain = arena_alloc(r->arena, text.len);
        u32 n = 0;
        for (const char *p = start; p < last; p++)
            plain[n++] = *p == '\\' ? *++p : *p;
        text = (Str){plain, n};
    }
    return store_item(r, text, false);
}

static bool
close_level(Reader *r)
{
    u32 level = --r->depth;
    if (r->shape.dims[level] < 0)
        r->shape.dims[level] = r->counts[level];
    if (r->shape.dims[level] != r->counts[level])
        return malformed(r, "Multidimensional arrays must have sub-arrays with matching dimensions.");
    if (level)
        r->counts[level - 1]++;
    return true;
}

static bool
count_item(Reader *r)
{
    if (!r->shape.ndim)
        r->shape.ndim = r->depth;
    if (r->shape.ndim != r->depth)
        return malformed(r, "Multidimensional arrays must have sub-arrays with matching dimensions.");
    r->counts[r->depth - 1]++;
    return true;
}

/* At a character that is neither brace nor comma. */
static bool
take_item(Reader *r, Place *place)
{
    if (*place != AFTER_OPEN && *place != AFTER_COMMA)
        return *r->at == '\\' ? unexpected(r, '\\') : malformed(r, "Unexpected array element.");
    bool quoted = *r->at == '"';
    *place = quoted ? AFTER_QUOTED : AFTER_ITEM;
    return read_item(r, quoted) && count_item(r);
}

/* One brace, comma or item. */
static bool
take_token(Reader *r, Place *place)
{
    bool behind = *place == AFTER_ITEM || *place == AFTER_QUOTED || *place == AFTER_CLOSE;
    char c = *r->at;
    switch (c) {
    case '{':
        if (*place != AT_BEGIN && *place != AFTER_OPEN && *place != AFTER_LEVEL_COMMA)
            return unexpected(r, c);
        if (!array_dims_check(r->depth + 1, r->err))
            return false;
        r->counts[r->depth++] = 0;
        *place = AFTER_OPEN;
        break;
    case '}':
        if (!behind && !(*place == AFTER_OPEN && r->depth == 1))
            return unexpected(r, c);
        if (!close_level(r))
            return false;
        *place = AFTER_CLOSE;
        break;
    case ',':
        if (!behind)
            return unexpected(r, c);
        *place = *place == AFTER_CLOSE ? AFTER_LEVEL_COMMA : AFTER_COMMA;
        break;
    default:
        return take_item(r, place);
    }
    r->at++;
    return true;
}

/* From the first brace to the end of the text. */
static bool
read_braces(Reader *r)
{
    Place place = AT_BEGIN;
    for (u32 i = 0; i < ARRAY_MAX_DIMS; i++) {
        r->shape.dims[i] = -1;
        r->shape.lower[i] = 1;
    }
    r->shape.ndim = 0;
    do {
        skip_spaces(r);
        if (r->at >= r->end)
            return malformed(r, "Unexpected end of input.");
        if (!take_token(r, &place))
            return false;
    } while (r->depth);
    skip_spaces(r);
    return r->at == r->end || malformed(r, "Junk after closing right brace.");
}

/* Digits and signs, as atoi() takes them; false: there are none. */
static bool
read_bound(Reader *r, i32 *ret)
{
    const char *start = r->at;
    while (r->at < r->end && (is_digit(*r->at) || *r->at == '-' || *r->at == '+'))
        r->at++;
    i64 v = 0;
    const char *p = start;
    bool minus = p < r->at && *p == '-';
    if (p < r->at && !is_digit(*p))
        p++;
    for (; p < r->at && is_digit(*p) && v <= INT32_MAX; p++)
        v = v * 10 + (*p - '0');
    *ret = (i32)(minus ? -v : v);
    return r->at > start;
}

/* [lower:upper][…] and what follows them up to the first brace. */
static bool
read_bounds(Reader *r, ArrayShape *ret)
{
    ret->ndim = 0;
    for (skip_spaces(r); r->at < r->end && *r->at == '['; skip_spaces(r)) {
        i32 lower = 1, upper;
        if (!array_dims_check(ret->ndim + 1, r->err))
            return false;
        r->at++;
        if (!read_bound(r, &upper))
            return malformed(r, "\"[\" must introduce explicitly-specified array dimensions.");
        if (r->at < r->end && *r->at == ':') {
            r->at++;
            lower = upper;
            if (!read_bound(r, &upper))
                return malformed(r, "Missing array dimension value.");
        }
        if (r->at >= r->end || *r->at != ']')
            return malformed(r, "Missing \"]\" after array dimensions.");
        r->at++;
        if (upper < lower)
            return error_set(r->err, ERR_ARRAY_SUBSCRIPT, "upper bound cannot be less than lower bound");
        ret->lower[ret->ndim] = lower;
        ret->dims[ret->ndim++] = (i32)MIN((i64)upper - lower + 1, (i64)INT32_MAX);
    }
    if (ret->ndim) {
        if (r->at >= r->end || *r->at != '=')
            return malformed(r, "Missing \"=\" after array dimensions.");
        r->at++;
        skip_spaces(r);
    }
    if (r->at < r->end && *r->at == '{')
        return true;
    return malformed(r, ret->ndim ? "Array contents must start with \"{\"." : "Array value must start with \"{\" or dimension information.");
}

bool
array_in(Arena *a, const TypeFormat *f, TypeId elem, i32 typmod, Str in, Str *ret, Error *err)
{
    Reader r = {.whole = in, .at = in.ptr, .end = in.ptr + in.len, .arena = a, .format = f, .typmod = typmod, .err = err};
    ArrayShape given;
    if (!read_bounds(&r, &given))
        return false;
    const char *braces = r.at;
    if (!read_braces(&r))
        return false;
    if (given.ndim) {
        bool fits = given.ndim == r.shape.ndim;
        for (u32 i = 0; i < given.ndim && fits; i++)
            fits = given.dims[i] == r.shape.dims[i];
        if (!fits)
            return malformed(&r, "Specified array dimensions do not match array contents.");
    }
    ArrayShape shape = given.ndim ? given : r.shape;
    ArrayBuild build = array_build(a, elem);
    if (!array_shape_check(&shape, err))
        return false;
    r.at = braces;
    r.build = &build;
    return read_braces(&r) && array_finish(&build, &shape, ret, err);
}

/* ---- writing text ---- */

static bool
needs_quotes(const u8 *p, size_t n)
{
    if (n == 0 || text_is((Str){(const char *)p, (u32)n}, "null"))
        return true;
    for (size_t i = 0; i < n; i++)
        if (p[i] == '"' || p[i] == '\\' || p[i] == '{' || p[i] == '}' || p[i] == ',' || is_space((char)p[i]))
            return true;
    return false;
}

/* What stands from `at` on gets quotes around it and backslashes within. */
static void
put_quotes(ByteBuf *to, size_t at)
{
    size_t n = to->len - at, more = 2;
    for (size_t i = at; i < to->len; i++)
        more += to->data[i] == '"' || to->data[i] == '\\';
    if (!buf_reserve(to, more))
        return;
    u8 *from = to->data + at + n, *end = from + more;
    *--end = '"';
    while (from > to->data + at) {
        u8 c = *--from;
        *--end = c;
        if (c == '"' || c == '\\')
            *--end = '\\';
    }
    *--end = '"';
    to->len += more;
}

static void
put_item(ByteBuf *to, const TypeFormat *f, const Value *v)
{
    if (v->is_null) {
        buf_str(to, "NULL");
        return;
    }
    size_t at = to->len;
    value_out(to, f, v);
    if (!to->failed && needs_quotes(to->data + at, to->len - at))
        put_quotes(to, at);
}

static void
put_bounds(ByteBuf *to, const ArrayShape *s)
{
    bool plain = true;
    for (u32 i = 0; i < s->ndim; i++)
        plain &= s->lower[i] == 1;
    for (u32 i = 0; i < s->ndim && !plain; i++)
        buf_printf(to, "[%d:%d]", s->lower[i], s->lower[i] + s->dims[i] - 1);
    if (!plain)
        buf_u8(to, '=');
}

/* Braces open and close where a counter of the odometer is at its beginning or end. */
void
array_out(ByteBuf *to, const TypeFormat *f, TypeId elem, Str bytes)
{
    Array a = array_open(elem, bytes);
    ArrayWalk w = array_walk(&a);
    i32 at[ARRAY_MAX_DIMS] = {0};
    u32 ndim = a.shape.ndim, open = 0;
    ByteBuf plain = {0};
    Value v;
    if (!ndim)
        buf_str(to, "{}");
    put_bounds(to, &a.shape);
    while (!to->failed && array_next_plain(&w, &plain, &v)) {
        for (; open < ndim; open++)
            buf_u8(to, '{');
        put_item(to, f, &v);
        while (open && ++at[open - 1] == a.shape.dims[open - 1]) {
            at[--open] = 0;
            buf_u8(to, '}');
        }
        if (open)
            buf_u8(to, ',');
    }
    to->failed |= plain.failed;
    buf_free(&plain);
}

/* ---- binary ---- */

static bool
short_message(Error *err)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "insufficient data left in message");
}

static bool
read_head(ByteReader *r, TypeId elem, ArrayShape *ret, Error *err)
{
    i32 ndim = (i32)reader_be32(r);
    u32 flags = reader_be32(r), oid = reader_be32(r);
    if (r->bad)
        return short_message(err);
    if (ndim < 0)
        return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "invalid number of dimensions: %d", ndim);
    if (!array_dims_check((u32)ndim, err))
        return false;
    if (flags > 1)
        return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "invalid array flags");
    if (oid != type_oid(elem))
        return error_set(err, ERR_DATATYPE_MISMATCH, "binary data has array element type %u (%s) instead of expected %u (%s)", oid,
                         type_name(type_from_oid(oid)), type_oid(elem), type_name(elem));
    ret->ndim = (u32)ndim;
    for (u32 i = 0; i < ret->ndim; i++) {
        ret->dims[i] = (i32)reader_be32(r);
        ret->lower[i] = (i32)reader_be32(r);
    }
    if (r->bad)
        return short_message(err);
    return array_shape_check(ret, err) && ((u64)ret->count * 4 <= reader_left(r) || short_message(err));
}

bool
array_recv(Arena *a, TypeId elem, i32 typmod, const u8 *data, u32 len, Str *ret, Error *err)
{
    ByteReader r = reader_of(data, len);
    ArrayShape shape;
    ArrayBuild b = array_build(a, elem);
    if (!read_head(&r, elem, &shape, err))
        return false;
    for (u32 i = 0; i < shape.count; i++) {
        i32 bytes = (i32)reader_be32(&r);
        Value v = {.type = elem, .is_null = true};
        if (r.bad)
            return short_message(err);
        if (bytes < -1 || (bytes >= 0 && (u32)bytes > reader_left(&r)))
            return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "insufficient data left in message");
        if (bytes >= 0) {
            if (bytes > type_wire_len(elem) && type_wire_len(elem) > 0 && type_wire_len(elem) != TYPE_NAME_MAX_BYTES + 1)
                return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "improper binary format in array element %u", i + 1);
            if (!value_recv(a, elem, typmod, reader_take(&r, (size_t)bytes), (u32)bytes, &v, err))
                return false;
        }
        if (!array_add(&b, &v, err))
            return false;
    }
    if (!reader_done(&r))
        return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    return array_finish(&b, &shape, ret, err);
}

void
array_send(ByteBuf *to, TypeId elem, Str bytes)
{
    Array a = array_open(elem, bytes);
    ArrayWalk w = array_walk(&a);
    ByteBuf plain = {0};
    Value v;
    buf_be32(to, a.shape.ndim);
    size_t flags_at = to->len;
    buf_be32(to, 0);
    buf_be32(to, type_oid(elem));
    for (u32 i = 0; i < a.shape.ndim; i++) {
        buf_be32(to, (u32)a.shape.dims[i]);
        buf_be32(to, (u32)a.shape.lower[i]);
    }
    while (!to->failed && array_next_plain(&w, &plain, &v)) {
        size_t at = to->len;
        buf_be32(to, v.is_null ? UINT32_MAX : 0);
        if (!v.is_null)
            value_send(to, &v);
        if (to->failed)
            break;
        if (v.is_null)
            put_be32(to->data + flags_at, 1);
        else
            put_be32(to->data + at, (u32)(to->len - at - 4));
    }
    to->failed |= plain.failed;
    buf_free(&plain);
}

/* ---- casts ---- */

bool
array_cast(Arena *a, const TypeFormat *f, const Value *v, TypeId to, i32 typmod, bool explicit_cast, Str *ret, Error *err)
{
    Array from = array_open(type_element(v->type), v->str);
    ArrayWalk w = array_walk(&from);
    ArrayBuild b = array_build(a, to);
    Value item, cast;
    while (array_next(&w, a, &item)) {
        if (!value_cast(a, f, &item, to, typmod, explicit_cast, &cast, err) || !array_add(&b, &cast, err))
            return false;
    }
    return array_finish(&b, &from.shape, ret, err);
}
