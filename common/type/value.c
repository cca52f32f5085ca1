/*
 * value.c
 *    Text and binary forms of values, one switch over types each; arrays go to array_io.c, which comes back here for their elements.
 *
 * phys_out and phys_send are the hot ones: result rows go from vectors straight into the send buffer, without a
 * Value and without printf. value_out and value_send bring a Value to its natural physical form and use them.
 * Fails: only on what the user sent (text or bytes); a ByteBuf without memory remembers that itself.
 */
#include "common/type/inside.h"
#include "common/type/interval.h"
#include "common/type/json.h"

enum { JSONB_VERSION = 1 }; /* the byte before its text on the wire */

/* ---- reading text ---- */

Str
bpchar_trim(Str s)
{
    while (s.len > 0 && s.ptr[s.len - 1] == ' ')
        s.len--;
    return s;
}

Str
bpchar_pad(Arena *a, Str s, u32 chars)
{
    s = bpchar_trim(s);
    u32 have = utf8_len(s);
    if (have >= chars)
        return s;
    u32 len = s.len + (chars - have);
    char *to = arena_alloc(a, len);
    if (!to)
        return (Str){NULL, 0};
    memcpy(to, s.ptr, s.len);
    memset(to + s.len, ' ', len - s.len);
    return (Str){to, len};
}

/* varchar(n), character(n): more characters only if they are blanks, which are cut. */
static bool
fit_length(Str *text, TypeId t, i32 typmod, Error *err)
{
    if (typmod < 4 || text->len <= (u32)typmod - 4)
        return true;
    u32 keep = utf8_prefix(*text, (u32)typmod - 4);
    for (u32 i = keep; i < text->len; i++)
        if (text->ptr[i] != ' ')
            return error_set(err, ERR_STRING_RIGHT_TRUNCATION, "value too long for type %s(%d)", type_name(t), typmod - 4);
    text->len = keep;
    return true;
}

/* A name keeps 63 bytes, cut at a character. */
static void
fit_name(Str *text)
{
    text->len = utf8_clip(*text, TYPE_NAME_MAX_BYTES);
}

static bool
text_in(Arena *a, TypeId t, i32 typmod, Str in, Value *ret, Error *err)
{
    if (!utf8_check(in, err))
        return false;
    ret->str = in;
    if (t == TYPE_NAME)
        fit_name(&ret->str);
    if (!type_has_length(t))
        return true;
    if (!fit_length(&ret->str, t, typmod, err))
        return false;
    if (t != TYPE_BPCHAR || typmod < 4 || utf8_len(ret->str) >= (u32)typmod - 4)
        return true;
    ret->str = bpchar_pad(a, ret->str, (u32)typmod - 4);
    return ret->str.ptr || error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

static bool
json_text_in(Arena *a, TypeId t, Str in, Value *ret, Error *err)
{
    if (!utf8_check(in, err))
        return false;
    ret->str = in;
    return t == TYPE_JSON ? json_check(in, err) : jsonb_normal(a, in, &ret->str, err);
}

static bool
integer_in(TypeId t, Str in, Value *ret, Error *err)
{
    i64 v;
    if (!int_in(in, t, &v, err))
        return false;
    if (t == TYPE_INT2)
        ret->i16v = (i16)v;
    else if (t == TYPE_INT8)
        ret->i64v = v;
    else if (type_is_u32(t))
        ret->i64v = (u32)v;
    else
        ret->i32v = (i32)v;
    return true;
}

static bool
scalar_in(Arena *a, const TypeFormat *f, TypeId t, i32 typmod, Str in, Value *ret, Error *err)
{
    Value v = {.type = t, .typmod = typmod};
    bool ok = false;
    switch (t) {
    case TYPE_BOOL:
        ok = bool_in(in, &v.b, err);
        break;
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_OID:
    case TYPE_XID:
    case TYPE_CID:
        ok = integer_in(t, in, &v, err);
        break;
    case TYPE_REGCLASS:
    case TYPE_REGTYPE:
    case TYPE_REGPROC:
    case TYPE_REGPROCEDURE:
    case TYPE_REGNAMESPACE:
    case TYPE_REGROLE:
        ok = reg_in(a, f, t, in, &v.i64v, err);
        break;
    case TYPE_TID:
        ok = tid_in(in, &v.i64v, err);
        break;
    case TYPE_INT2VECTOR:
    case TYPE_OIDVECTOR:
        ok = vector_in(a, t, in, &v.str, err);
        break;
    case TYPE_ACLITEM:
        ok = error_set(err, ERR_FEATURE_NOT_SUPPORTED, "reading a value of type aclitem is not supported yet");
        break;
    case TYPE_FLOAT4:
        ok = f32_in(in, &v.f32v, err);
        break;
    case TYPE_FLOAT8:
        ok = f64_in(in, &v.f64v, err);
        break;
    case TYPE_NUMERIC:
        ok = num_parse(in, typmod, &v.num, err);
        break;
    case TYPE_TEXT:
    case TYPE_VARCHAR:
    case TYPE_BPCHAR:
    case TYPE_NAME:
    case TYPE_UNKNOWN:
        ok = text_in(a, t, typmod, in, &v, err);
        break;
    case TYPE_DATE:
        ok = date_in(f, in, &v.i32v, err);
        break;
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
        ok = timestamp_in(f, t, typmod, in, &v.i64v, err);
        break;
    case TYPE_TIME:
        ok = time_in(f, typmod, in, &v.i64v, err);
        break;
    case TYPE_TIMETZ:
        ok = timetz_in(f, typmod, in, &v.pair, err);
        break;
    case TYPE_INTERVAL:
        ok = interval_in(f, typmod, in, &v.interval, err);
        break;
    case TYPE_INET:
        ok = inet_in(a, in, &v.str, err);
        break;
    case TYPE_JSON:
    case TYPE_JSONB:
        ok = json_text_in(a, t, in, &v, err);
        break;
    case TYPE_BYTEA:
        ok = bytea_in(a, in, &v.str, err);
        break;
    case TYPE_CHAR:
        v.i16v = char_in(in);
        ok = true;
        break;
    case TYPE_UUID:
        ok = uuid_in(in, &v.pair, err);
        break;
    case TYPE_VOID:
        ok = true;
        break;
    case TYPE_NODE_TREE:
    case TYPE_CSTRING:
    case TYPE_INTERNAL:
    case TYPE_ANY:
    case TYPE_RECORD:
    case TYPE_ANYELEMENT:
    case TYPE_ANYARRAY:
    case TYPE_ANYNONARRAY:
    case TYPE_ANYCOMPATIBLE:
    case TYPE_ANYCOMPATIBLEARRAY:
        ok = error_set(err, ERR_FEATURE_NOT_SUPPORTED, "cannot accept a value of type %s", type_name(t));
        break;
    case TYPE_INVALID:
    case TYPE_COUNT:
        ok = error_set(err, ERR_INTERNAL_ERROR, "no input function for type %u", (u32)t);
        break;
    }
    if (ok)
        *ret = v;
    return ok;
}

bool
value_in(Arena *a, const TypeFormat *f, TypeId t, i32 typmod, Str in, Value *ret, Error *err)
{
    Value v = {.type = t, .typmod = typmod};
    if (!type_is_array(t) || type_is_vector(t))
        return scalar_in(a, f, t, typmod, in, ret, err);
    if (!utf8_check(in, err) || !array_in(a, f, type_element(t), typmod, in, &v.str, err))
        return false;
    *ret = v;
    return true;
}

/* "char" is the text's first byte, or \ooo for one that is not ASCII; nothing is 0. */
i16
char_in(Str in)
{
    const char *s = in.ptr;
    if (in.len == 4 && s[0] == '\\' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7')
        return (u8)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
    return in.len ? (u8)s[0] : 0;
}

static u32
char_out(u8 c, char *to)
{
    if (c < 0x80) {
        *to = (char)c;
        return c != 0;
    }
    to[0] = '\\';
    to[1] = (char)('0' + (c >> 6));
    to[2] = (char)('0' + (c >> 3 & 7));
    to[3] = (char)('0' + (c & 7));
    return 4;
}

/* ---- reading bytes ---- */

static bool
check_len(TypeId t, u32 len, Error *err)
{
    u32 want = (u32)type_wire_len(t);
    if (len == want)
        return true;
    if (len < want)
        return error_set(err, ERR_PROTOCOL_VIOLATION, want == 1 ? "no data left in message" : "insufficient data left in message");
    return error_set(err, ERR_INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
}

static bool
jsonb_recv(Arena *a, const u8 *data, u32 len, Value *ret, Error *err)
{
    if (len < 1)
        return error_set(err, ERR_PROTOCOL_VIOLATION, "no data left in message");
    if (data[0] != JSONB_VERSION)
        return error_set(err, ERR_INTERNAL_ERROR, "unsupported jsonb version number %u", data[0]);
    return json_text_in(a, TYPE_JSONB, (Str){(const char *)data + 1, len - 1}, ret, err);
}

static bool
timetz_recv(i32 typmod, const u8 *data, Value *ret, Error *err)
{
    i64 us = (i64)get_be64(data), west_s = (i32)get_be32(data + 8);
    if (!time_valid(us))
        return error_set(err, ERR_DATETIME_OVERFLOW, "time out of range");
    if (west_s <= -ZONE_LIMIT_S || west_s >= ZONE_LIMIT_S)
        return error_set(err, ERR_INVALID_TIME_ZONE, "time zone displacement out of range");
    ret->pair = timetz_pack(timestamp_typmod(us, typmod), (i32)-west_s);
    return true;
}

static bool
fixed_recv(TypeId t, i32 typmod, const u8 *data, Value *ret, Error *err)
{
    switch (type_wire_len(t)) {
    case 1:
        if (t == TYPE_CHAR)
            ret->i16v = data[0];
        else
            ret->b = data[0] != 0;
        break;
    case 2:
        ret->i16v = (i16)get_be16(data);
        break;
    case 4:
        if (type_is_u32(t))
            ret->i64v = get_be32(data);
        else
            ret->i32v = (i32)get_be32(data);
        break;
    case 6:
        ret->i64v = (i64)((u64)get_be32(data) << 16 | get_be16(data + 4));
        return true;
    case 12:
        return timetz_recv(typmod, data, ret, err);
    case 16:
        if (t == TYPE_INTERVAL) {
            Interval v = {(i64)get_be64(data), (i32)get_be32(data + 8), (i32)get_be32(data + 12)};
            ret->interval = interval_fit(&v, typmod);
            return true;
        }
        ret->pair = (Pair){get_be64(data), get_be64(data + 8)};
        break;
    default:
        ret->i64v = (i64)get_be64(data);
    }
    if (t == TYPE_DATE && ret->i32v != DATE_NEG_INF && ret->i32v != DATE_POS_INF && !date_valid(ret->i32v))
        return error_set(err, ERR_DATETIME_OVERFLOW, "date out of range");
    if (t == TYPE_TIME) {
        if (!time_valid(ret->i64v))
            return error_set(err, ERR_DATETIME_OVERFLOW, "time out of range");
        ret->i64v = timestamp_typmod(ret->i64v, typmod);
    }
    if (t == TYPE_TIMESTAMP || t == TYPE_TIMESTAMPTZ) {
        if (ret->i64v == TS_NEG_INF || ret->i64v == TS_POS_INF)
            return true;
        if (!timestamp_valid(ret->i64v))
            return error_set(err, ERR_DATETIME_OVERFLOW, "timestamp out of range");
        ret->i64v = timestamp_typmod(ret->i64v, typmod);
    }
    return true;
}

static bool
scalar_recv(Arena *a, TypeId t, i32 typmod, const u8 *data, u32 len, Value *ret, Error *err)
{
    Value v = {.type = t, .typmod = typmod};
    bool ok = false;
    switch (t) {
    case TYPE_BOOL:
    case TYPE_INT2:
    case TYPE_INT4:
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
    case TYPE_FLOAT4:
    case TYPE_FLOAT8:
    case TYPE_DATE:
    case TYPE_TIMESTAMP:
    case TYPE_TIMESTAMPTZ:
    case TYPE_TIME:
    case TYPE_TIMETZ:
    case TYPE_INTERVAL:
    case TYPE_CHAR:
    case TYPE_UUID:
        ok = check_len(t, len, err) && fixed_recv(t, typmod, data, &v, err);
        break;
    case TYPE_NUMERIC:
        ok = num_recv(data, len, typmod, &v.num, err);
        break;
    case TYPE_TEXT:
    case TYPE_VARCHAR:
    case TYPE_BPCHAR:
    case TYPE_NAME:
    case TYPE_UNKNOWN:
        ok = text_in(a, t, typmod, (Str){(const char *)data, len}, &v, err);
        break;
    case TYPE_INET:
        ok = inet_recv(a, data, len, &v.str, err);
        break;
    case TYPE_JSON:
        ok = json_text_in(a, t, (Str){(const char *)data, len}, &v, err);
        break;
    case TYPE_JSONB:
        ok = jsonb_recv(a, data, len, &v, err);
        break;
    case TYPE_BYTEA:
        v.str = (Str){(const char *)data, len};
        ok = true;
        break;
    case TYPE_VOID:
        ok = true;
        break;
    case TYPE_ACLITEM:
        ok = error_set(err, ERR_UNDEFINED_FUNCTION, "no binary input function available for type aclitem");
        break;
    case TYPE_INT2VECTOR:
    case TYPE_OIDVECTOR:
        ok = array_recv(a, type_element(t), -1, data, len, &v.str, err);
        break;
    case TYPE_NODE_TREE:
    case TYPE_CSTRING:
    case TYPE_INTERNAL:
    case TYPE_ANY:
    case TYPE_RECORD:
    case TYPE_ANYELEMENT:
    case TYPE_ANYARRAY:
    case TYPE_ANYNONARRAY:
    case TYPE_ANYCOMPATIBLE:
    case TYPE_ANYCOMPATIBLEARRAY:
        ok = error_set(err, ERR_FEATURE_NOT_SUPPORTED, "cannot accept a value of type %s", type_name(t));
        break;
    case TYPE_INVALID:
    case TYPE_COUNT:
        ok = error_set(err, ERR_INTERNAL_ERROR, "no receive function for type %u", (u32)t);
        break;
    }
    if (ok)
        *ret = v;
    return ok;
}

bool
value_recv(Arena *a, TypeId t, i32 typmod, const u8 *data, u32 len, Value *ret, Error *err)
{
    Value v = {.type = t, .typmod = typmod};
    if (!type_is_array(t) || type_is_vector(t))
        return scalar_recv(a, t, typmod, data, len, ret, err);
    if (!array_recv(a, type_element(t), typmod, data, len, &v.str, err))
        return false;
    *ret = v;
    return true;
}

/* ---- writing ---- */

#define LOAD(T, at) ({ T loaded_; memcpy(&loaded_, (at), sizeof loaded_); loaded_; })

static u32
i64_out(const TypeFormat *f, TypeId t, i64 v, char *to)
{
    if (t == TYPE_TIMESTAMP)
        return timestamp_out(f, v, to);
    if (t == TYPE_TIMESTAMPTZ)
        return timestamptz_out(f, v, to);
    if (t == TYPE_TIME)
        return time_out(v, to);
    if (t == TYPE_TID)
        return tid_out(v, to);
    return digits_i64(v, to);
}

static u32
i32_out(const TypeFormat *f, TypeId t, i32 v, char *to)
{
    return t == TYPE_DATE ? date_out(f, v, to) : digits_i64(v, to);
}

static u32
nan_out(char *to)
{
    memcpy(to, "NaN", 3);
    return 3;
}

void
phys_out(ByteBuf *to, const TypeFormat *f, TypeId t, PhysType p, u32 scale, const void *at)
{
    if (p == PHYS_STR) {
        Str s = LOAD(Str, at);
        if (t == TYPE_BYTEA)
            bytea_out(to, f, s);
        else if (type_is_vector(t))
            vector_out(to, t, s);
        else if (type_is_array(t))
            array_out(to, f, type_element(t), s);
        else
            buf_put(to, s.ptr, s.len);
        return;
    }
    if (UNLIKELY(type_is_reg(t))) {
        reg_out(to, f, t, (u32)LOAD(u64, at));
        return;
    }
    char *out = buf_reserve(to, OUT_MAX);
    if (UNLIKELY(!out))
        return;
    i32 float_digits = f ? f->extra_float_digits : 1;
    switch (p) {
    case PHYS_BOOL:
        *out = *(const u8 *)at ? 't' : 'f';
        to->len++;
        break;
    case PHYS_I16:
        to->len += t == TYPE_CHAR ? char_out((u8)LOAD(i16, at), out) : digits_i64(LOAD(i16, at), out);
        break;
    case PHYS_I32:
        to->len += i32_out(f, t, LOAD(i32, at), out);
        break;
    case PHYS_I64:
        to->len += i64_out(f, t, LOAD(i64, at), out);
        break;
    case PHYS_F32:
        to->len += f32_out(LOAD(float, at), float_digits, out);
        break;
    case PHYS_F64:
        to->len += f64_out(LOAD(double, at), float_digits, out);
        break;
    case PHYS_D64: {
        i64 v = LOAD(i64, at);
        to->len += v == D64_NAN ? nan_out(out) : dec64_out(v, scale, out);
        break;
    }
    case PHYS_D128: {
        i128 v = LOAD(i128, at);
        to->len += v == D128_NAN ? nan_out(out) : dec_out(v, scale, out);
        break;
    }
    case PHYS_NUM: {
        Num n = LOAD(Num, at);
        to->len += num_out(&n, out);
        break;
    }
    case PHYS_PAIR: {
        Pair x = LOAD(Pair, at);
        to->len += t == TYPE_TIMETZ ? timetz_out(&x, out) : uuid_out(&x, out);
        break;
    }
    case PHYS_INTERVAL: {
        Interval x = LOAD(Interval, at);
        to->len += interval_out(f, &x, out);
        break;
    }
    case PHYS_STR:
    case PHYS_COUNT:
        ensure(!"physical type");
    }
}

static void
decimal_send(ByteBuf *to, i128 v, i128 nan, u32 scale)
{
    Num n = v == nan ? (Num){.kind = NUM_NAN} : num_make(v, scale);
    num_send(to, &n);
}

static void
pair_send(ByteBuf *to, TypeId t, Pair p)
{
    if (t == TYPE_TIMETZ) {
        i32 offset_s;
        buf_be64(to, (u64)timetz_unpack(&p, &offset_s));
        buf_be32(to, (u32)-offset_s);
        return;
    }
    buf_be64(to, p.hi);
    buf_be64(to, p.lo);
}

void
phys_send(ByteBuf *to, TypeId t, PhysType p, u32 scale, const void *at)
{
    switch (p) {
    case PHYS_BOOL:
        buf_u8(to, *(const u8 *)at != 0);
        return;
    case PHYS_I16:
        if (t == TYPE_CHAR)
            buf_u8(to, (u8)LOAD(u16, at));
        else
            buf_be16(to, LOAD(u16, at));
        return;
    case PHYS_I32:
    case PHYS_F32:
        buf_be32(to, LOAD(u32, at));
        return;
    case PHYS_I64:
        if (type_is_u32(t))
            buf_be32(to, (u32)LOAD(u64, at));
        else if (t == TYPE_TID) {
            buf_be32(to, (u32)(LOAD(u64, at) >> 16));
            buf_be16(to, (u16)LOAD(u64, at));
        } else
            buf_be64(to, LOAD(u64, at));
        return;
    case PHYS_F64:
        buf_be64(to, LOAD(u64, at));
        return;
    case PHYS_PAIR:
        pair_send(to, t, LOAD(Pair, at));
        return;
    case PHYS_INTERVAL:
        buf_be64(to, (u64)LOAD(Interval, at).us);
        buf_be32(to, (u32)LOAD(Interval, at).days);
        buf_be32(to, (u32)LOAD(Interval, at).months);
        return;
    case PHYS_D64:
        decimal_send(to, LOAD(i64, at), D64_NAN, scale);
        return;
    case PHYS_D128:
        decimal_send(to, LOAD(i128, at), D128_NAN, scale);
        return;
    case PHYS_NUM: {
        Num n = LOAD(Num, at);
        num_send(to, &n);
        return;
    }
    case PHYS_STR: {
        Str s = LOAD(Str, at);
        if (t == TYPE_JSONB)
            buf_u8(to, JSONB_VERSION);
        if (type_is_array(t))
            array_send(to, type_element(t), s);
        else if (t == TYPE_INET)
            inet_send(to, s);
        else
            buf_put(to, s.ptr, s.len);
        return;
    }
    case PHYS_COUNT:
        break;
    }
    ensure(!"physical type");
}

/* A Value's union holds its type's widest physical form; typmod -1 gives PHYS_NUM for numerics. */
void
value_out(ByteBuf *to, const TypeFormat *f, const Value *v)
{
    u8 b = v->type == TYPE_BOOL && v->b;
    phys_out(to, f, v->type, phys_of(v->type, -1), 0, v->type == TYPE_BOOL ? (const void *)&b : &v->num);
}

void
value_send(ByteBuf *to, const Value *v)
{
    u8 b = v->type == TYPE_BOOL && v->b;
    phys_send(to, v->type, phys_of(v->type, -1), 0, v->type == TYPE_BOOL ? (const void *)&b : &v->num);
}

/* ---- order ---- */

static int
float_cmp(double a, double b)
{
    bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan)
        return a_nan - b_nan;
    return (a > b) - (a < b);
}

int
value_cmp(const Value *a, const Value *b)
{
    switch (phys_of(a->type, -1)) {
    case PHYS_BOOL:
        return a->b - b->b;
    case PHYS_I16:
        return (a->i16v > b->i16v) - (a->i16v < b->i16v);
    case PHYS_I32:
        return (a->i32v > b->i32v) - (a->i32v < b->i32v);
    case PHYS_I64:
        return (a->i64v > b->i64v) - (a->i64v < b->i64v);
    case PHYS_F32:
        return float_cmp(a->f32v, b->f32v);
    case PHYS_F64:
        return float_cmp(a->f64v, b->f64v);
    case PHYS_D64:
    case PHYS_D128:
    case PHYS_NUM:
        return num_cmp(&a->num, &b->num);
    case PHYS_PAIR:
        return pair_cmp(&a->pair, &b->pair);
    case PHYS_INTERVAL:
        return interval_cmp(&a->interval, &b->interval);
    case PHYS_STR:
    case PHYS_COUNT:
        break;
    }
    return type_is_array(a->type) ? array_cmp(type_element(a->type), a->str, b->str) : str_cmp(a->str, b->str);
}
