/*
 * array.c
 *    Arrays as bytes: see array.h for the form. Taking apart, putting together, order.
 */
#include "common/type/array.h"
#include "common/type/inside.h"

enum { TAG_END = 0, TAG_VALUE = 1, TAG_NULL = 2, ZERO_ESCAPE = 0xff, NUMERIC_BODY = 18, FIRST_BYTES = 64 };

#define SIGN16 0x8000u
#define SIGN32 0x80000000u
#define SIGN64 0x8000000000000000u

/* Bytes of a body; 0: it varies. */
static u32
body_width(PhysType p)
{
    static const u8 WIDTHS[PHYS_COUNT] = {
        [PHYS_BOOL] = 1, [PHYS_I16] = 2, [PHYS_I32] = 4,  [PHYS_I64] = 8,       [PHYS_F32] = 4,
        [PHYS_F64] = 8,  [PHYS_NUM] = NUMERIC_BODY, [PHYS_PAIR] = 16, [PHYS_INTERVAL] = 16,
    };
    return WIDTHS[p];
}

/* ---- shapes ---- */

bool
array_dims_check(u32 ndim, Error *err)
{
    if (ndim <= ARRAY_MAX_DIMS)
        return true;
    return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "number of array dimensions (%u) exceeds the maximum allowed (%d)", ndim, ARRAY_MAX_DIMS);
}

static bool
too_large(Error *err)
{
    return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "array size exceeds the maximum allowed (%d)", ARRAY_MAX_ITEMS);
}

bool
array_shape_check(ArrayShape *s, Error *err)
{
    i64 count = s->ndim ? 1 : 0;
    for (u32 i = 0; i < s->ndim; i++) {
        if (s->dims[i] < 0)
            return too_large(err);
        count *= s->dims[i];
        if (count > ARRAY_MAX_ITEMS)
            return too_large(err);
    }
    for (u32 i = 0; i < s->ndim; i++)
        if ((i64)s->lower[i] + s->dims[i] > INT32_MAX)
            return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "array lower bound is too large: %d", s->lower[i]);
    s->count = (u32)count;
    if (!count)
        s->ndim = 0;
    return true;
}

/* ---- taking apart ---- */

static u32
shape_bytes(u32 ndim)
{
    return 1 + 1 + 8 * ndim + 1; /* with the end mark before it */
}

Array
array_open(TypeId elem, Str bytes)
{
    if (!bytes.len) /* the entry that every dictionary begins with */
        bytes = array_empty();
    Array a = {.elem = elem, .phys = phys_of(elem, -1), .items = (const u8 *)bytes.ptr};
    u32 ndim = a.items[bytes.len - 1];
    a.width = body_width(a.phys);
    a.end = a.items + bytes.len - shape_bytes(ndim);
    a.shape.ndim = ndim;
    a.shape.count = ndim != 0;
    const u8 *at = a.end + 2;
    for (u32 i = 0; i < ndim; i++) {
        a.shape.dims[i] = (i32)get_be32(at + 4 * i);
        a.shape.lower[i] = (i32)(get_be32(at + 4 * (ndim + i)) ^ SIGN32);
        a.shape.count *= (u32)a.shape.dims[i];
    }
    return a;
}

/* The zero byte that ends a text. */
static const u8 *
text_end(const u8 *at, const u8 *end)
{
    for (;;) {
        const u8 *zero = memchr(at, 0, (size_t)(end - at));
        if (!zero || zero + 1 >= end || zero[1] != ZERO_ESCAPE)
            return zero;
        at = zero + 2;
    }
}

static bool
is_plain(const u8 *at, u32 len)
{
    return !len || !memchr(at, 0, len);
}

/* Without what marks zero bytes; `to` has len bytes. */
static Str
unmark_zeros(const u8 *at, u32 len, char *to)
{
    u32 n = 0;
    for (u32 i = 0; i < len; i += at[i] ? 1 : 2)
        to[n++] = (char)at[i];
    return (Str){to, n};
}

static void
read_body(PhysType p, const u8 *at, Value *ret)
{
    switch ((int)p) {
    case PHYS_BOOL:
        ret->b = *at;
        return;
    case PHYS_I16:
        ret->i16v = (i16)(get_be16(at) ^ SIGN16);
        return;
    case PHYS_I32:
        ret->i32v = (i32)(get_be32(at) ^ SIGN32);
        return;
    case PHYS_I64:
        ret->i64v = (i64)(get_be64(at) ^ SIGN64);
        return;
    case PHYS_F32: { /* negative ones have all bits turned */
        u32 bits = get_be32(at);
        bits = bits & SIGN32 ? bits ^ SIGN32 : ~bits;
        memcpy(&ret->f32v, &bits, sizeof bits);
        return;
    }
    case PHYS_F64: {
        u64 bits = get_be64(at);
        bits = bits & SIGN64 ? bits ^ SIGN64 : ~bits;
        memcpy(&ret->f64v, &bits, sizeof bits);
        return;
    }
    case PHYS_NUM:
        ret->num = (Num){.kind = at[0], .scale = at[1], .hi = (i64)get_be64(at + 2), .lo = get_be64(at + 10)};
        return;
    case PHYS_PAIR:
        ret->pair = (Pair){get_be64(at), get_be64(at + 8)};
        return;
    case PHYS_INTERVAL:
        ret->interval = (Interval){(i64)get_be64(at), (i32)get_be32(at + 8), (i32)get_be32(at + 12)};
        return;
    }
    ensure(!"an array's element");
}

Str
array_next_raw(ArrayWalk *w)
{
    const Array *a = w->array;
    const u8 *at = w->at;
    ensure(w->left);
    w->left--;
    if (a->width)
        w->at = at + 1 + a->width;
    else
        w->at = *at == TAG_NULL ? at + 1 : text_end(at + 1, a->end + 1) + 1;
    return (Str){(const char *)at, (u32)(w->at - at)};
}

/* A text still has its marks. */
static bool
next_item(ArrayWalk *w, Value *ret)
{
    if (!w->left)
        return false;
    Str raw = array_next_raw(w);
    const u8 *at = (const u8 *)raw.ptr;
    *ret = (Value){.type = w->array->elem, .typmod = -1, .is_null = *at == TAG_NULL};
    if (ret->is_null)
        return true;
    if (w->array->width)
        read_body(w->array->phys, at + 1, ret);
    else
        ret->str = (Str){(const char *)at + 1, raw.len - 2};
    return true;
}

bool
array_next(ArrayWalk *w, Arena *arena, Value *ret)
{
    if (!next_item(w, ret))
        return false;
    const u8 *at = (const u8 *)ret->str.ptr;
    if (!w->array->width && !ret->is_null && !is_plain(at, ret->str.len))
        ret->str = unmark_zeros(at, ret->str.len, arena_alloc(arena, ret->str.len));
    return true;
}

bool
array_next_plain(ArrayWalk *w, ByteBuf *plain, Value *ret)
{
    if (!next_item(w, ret))
        return false;
    const u8 *at = (const u8 *)ret->str.ptr;
    if (w->array->width || ret->is_null || is_plain(at, ret->str.len))
        return true;
    buf_clear(plain);
    char *to = buf_reserve(plain, ret->str.len);
    ret->str = to ? unmark_zeros(at, ret->str.len, to) : (Str){"", 0};
    return true;
}

void
array_skip(ArrayWalk *w, u32 count)
{
    ensure(count <= w->left);
    if (w->array->width) {
        w->at += (size_t)count * (1 + w->array->width);
        w->left -= count;
        return;
    }
    while (count--)
        array_next_raw(w);
}

/* ---- are they an array? ---- */

static bool
body_valid(TypeId elem, PhysType p, const u8 *at)
{
    Value v = {.type = elem};
    read_body(p, at, &v);
    switch ((int)elem) {
    case TYPE_BOOL:
        return *at <= 1;
    case TYPE_CHAR:
        return v.i16v >= 0 && v.i16v <= UINT8_MAX;
    case TYPE_OID:
    case TYPE_XID:
        return v.i64v >= 0 && v.i64v <= UINT32_MAX;
    case TYPE_TIME:
        return time_valid(v.i64v);
    case TYPE_TIMETZ:
        return timetz_valid(&v.pair);
    case TYPE_NUMERIC:
        if (v.num.kind != NUM_FINITE)
            return v.num.kind <= NUM_NEG_INF && !v.num.scale && !num_int(&v.num);
        return v.num.scale <= NUM_MAX_SCALE && num_int(&v.num) < POW10_I128[NUM_MAX_DIGITS] && num_int(&v.num) > -POW10_I128[NUM_MAX_DIGITS];
    default:
        return true;
    }
}

static bool
null_valid(const u8 *at, u32 width)
{
    u8 any = 0;
    for (u32 i = 0; i < width; i++)
        any |= at[i];
    return !any;
}

static bool
shape_valid(Str bytes)
{
    const u8 *at = (const u8 *)bytes.ptr;
    if (bytes.len < shape_bytes(0))
        return false;
    u32 ndim = at[bytes.len - 1];
    if (ndim > ARRAY_MAX_DIMS || bytes.len < shape_bytes(ndim) || at[bytes.len - shape_bytes(ndim)] != TAG_END ||
        at[bytes.len - shape_bytes(ndim) + 1] != ndim)
        return false;
    ArrayShape s = array_open(TYPE_TEXT, bytes).shape;
    Error err;
    return array_shape_check(&s, &err) && s.ndim == ndim;
}

bool
array_valid(TypeId elem, Str bytes)
{
    if (!shape_valid(bytes))
        return false;
    Array a = array_open(elem, bytes);
    const u8 *at = a.items;
    for (u32 i = 0; i < a.shape.count; i++) {
        if (at >= a.end || (*at != TAG_VALUE && *at != TAG_NULL))
            return false;
        bool null = *at++ == TAG_NULL;
        if (a.width) {
            if ((size_t)(a.end - at) < a.width || !(null ? null_valid(at, a.width) : body_valid(elem, a.phys, at)))
                return false;
            at += a.width;
        } else if (!null) {
            const u8 *zero = text_end(at, a.end);
            if (!zero || (elem != TYPE_BYTEA && !utf8_valid(at, (size_t)(zero - at))))
                return false;
            at = zero + 1;
        }
    }
    return at == a.end;
}

/* ---- putting together ---- */

ArrayBuild
array_build(Arena *arena, TypeId elem)
{
    return (ArrayBuild){.arena = arena, .elem = elem, .phys = phys_of(elem, -1)};
}

/* Room for so many bytes more, and for the shape behind them. */
static u8 *
take_room(ArrayBuild *b, u64 bytes, Error *err)
{
    u64 need = (u64)b->len + bytes + shape_bytes(ARRAY_MAX_DIMS);
    if (need > INT32_MAX / 2 || b->count > ARRAY_MAX_ITEMS) {
        too_large(err);
        return NULL;
    }
    if (need > b->capacity) {
        u32 capacity = (u32)MAX(need, MAX((u64)FIRST_BYTES, (u64)b->capacity * 2));
        u8 *data = arena_alloc(b->arena, capacity);
        if (!data) {
            error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
            return NULL;
        }
        if (b->len)
            memcpy(data, b->data, b->len);
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

static void
write_body(PhysType p, const Value *v, u8 *to)
{
    switch ((int)p) {
    case PHYS_BOOL:
        *to = v->b;
        return;
    case PHYS_I16:
        put_be16(to, (u16)((u16)v->i16v ^ SIGN16));
        return;
    case PHYS_I32:
        put_be32(to, (u32)v->i32v ^ SIGN32);
        return;
    case PHYS_I64:
        put_be64(to, (u64)v->i64v ^ SIGN64);
        return;
    case PHYS_F32: {
        u32 bits;
        memcpy(&bits, &v->f32v, sizeof bits);
        put_be32(to, bits & SIGN32 ? ~bits : bits ^ SIGN32);
        return;
    }
    case PHYS_F64: {
        u64 bits;
        memcpy(&bits, &v->f64v, sizeof bits);
        put_be64(to, bits & SIGN64 ? ~bits : bits ^ SIGN64);
        return;
    }
    case PHYS_NUM:
        to[0] = v->num.kind;
        to[1] = (u8)v->num.scale;
        put_be64(to + 2, (u64)v->num.hi);
        put_be64(to + 10, v->num.lo);
        return;
    case PHYS_PAIR:
        put_be64(to, v->pair.hi);
        put_be64(to + 8, v->pair.lo);
        return;
    case PHYS_INTERVAL:
        put_be64(to, (u64)v->interval.us);
        put_be32(to + 8, (u32)v->interval.days);
        put_be32(to + 12, (u32)v->interval.months);
        return;
    }
    ensure(!"an array's element");
}

static u32
count_zeros(Str s)
{
    u32 n = 0;
    for (const char *at = s.ptr, *end = s.ptr + s.len; at < end && (at = memchr(at, 0, (size_t)(end - at))); at++)
        n++;
    return n;
}

static bool
add_text(ArrayBuild *b, Str s, Error *err)
{
    u32 zeros = s.len ? count_zeros(s) : 0;
    u8 *to = take_room(b, (u64)s.len + zeros + 2, err);
    if (!to)
        return false;
    *to++ = TAG_VALUE;
    if (!zeros && s.len)
        memcpy(to, s.ptr, s.len);
    for (u32 i = 0, n = 0; zeros && i < s.len; i++) {
        to[n++] = (u8)s.ptr[i];
        if (!s.ptr[i])
            to[n++] = ZERO_ESCAPE;
    }
    to[s.len + zeros] = 0;
    b->len += s.len + zeros + 2;
    b->count++;
    return true;
}

bool
array_add(ArrayBuild *b, const Value *v, Error *err)
{
    u32 width = body_width(b->phys);
    if (!width && !v->is_null)
        return add_text(b, v->str, err);
    u8 *to = take_room(b, 1 + width, err);
    if (!to)
        return false;
    *to++ = v->is_null ? TAG_NULL : TAG_VALUE;
    if (!v->is_null)
        write_body(b->phys, v, to);
    else if (width)
        memset(to, 0, width);
    b->len += 1 + width;
    b->count++;
    return true;
}

bool
array_add_raw(ArrayBuild *b, Str raw, Error *err)
{
    u8 *to = take_room(b, raw.len, err);
    if (!to)
        return false;
    memcpy(to, raw.ptr, raw.len);
    b->len += raw.len;
    b->count++;
    return true;
}

bool
array_finish(ArrayBuild *b, const ArrayShape *shape, Str *ret, Error *err)
{
    ArrayShape s = *shape;
    if (!array_shape_check(&s, err))
        return false;
    u8 *to = take_room(b, 0, err);
    if (!to)
        return false;
    ensure(b->count == s.count);
    *to++ = TAG_END;
    *to++ = (u8)s.ndim;
    for (u32 i = 0; i < s.ndim; i++) {
        put_be32(to + 4 * i, (u32)s.dims[i]);
        put_be32(to + 4 * (s.ndim + i), (u32)s.lower[i] ^ SIGN32);
    }
    to[8 * s.ndim] = (u8)s.ndim;
    *ret = (Str){(const char *)b->data, b->len + shape_bytes(s.ndim)};
    return true;
}

bool
array_finish_list(ArrayBuild *b, Str *ret, Error *err)
{
    ArrayShape s = {.ndim = 1, .dims = {(i32)b->count}, .lower = {1}};
    return array_finish(b, &s, ret, err);
}

Str
array_empty(void)
{
    return (Str){"\0\0\0", 3};
}

/* ---- order ---- */

int
array_shape_cmp(const ArrayShape *a, const ArrayShape *b)
{
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    if (a->ndim != b->ndim)
        return a->ndim < b->ndim ? -1 : 1;
    for (u32 i = 0; i < a->ndim; i++)
        if (a->dims[i] != b->dims[i])
            return a->dims[i] < b->dims[i] ? -1 : 1;
    for (u32 i = 0; i < a->ndim; i++)
        if (a->lower[i] != b->lower[i])
            return a->lower[i] < b->lower[i] ? -1 : 1;
    return 0;
}

static int
item_cmp(const Value *a, const Value *b)
{
    return a->type == TYPE_BPCHAR ? str_cmp(bpchar_trim(a->str), bpchar_trim(b->str)) : value_cmp(a, b);
}

int
array_cmp(TypeId elem, Str x, Str y)
{
    if (type_bytes_tell(type_array(elem)))
        return str_cmp(x, y);
    Array a = array_open(elem, x), b = array_open(elem, y);
    ArrayWalk aw = array_walk(&a), bw = array_walk(&b);
    Value av, bv;
    while (array_next(&aw, NULL, &av) && array_next(&bw, NULL, &bv)) { /* no element of such a type needs an arena */
        int c = av.is_null || bv.is_null ? av.is_null - bv.is_null : item_cmp(&av, &bv);
        if (c)
            return c;
    }
    return array_shape_cmp(&a.shape, &b.shape);
}
