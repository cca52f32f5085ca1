/*
 * array.c
 *    Functions and operators of arrays, a row at a time through Value.
 *
 * KernCall.param is a PolyTypes: what anyarray and its kin stand for in this call. An argument is looked at through its SQL type, so decimals
 * come in any form. Elements that nobody looks into move as raw bytes.
 */
#include "backend/kern/call.h"
#include "common/type/array.h"
#include "common/type/json.h"

static const PolyTypes *
types_of(const KernCall *c)
{
    return c->param;
}

static Value
value_arg(const KernCall *c, u32 k, u32 i)
{
    const Vec *v = c->args[k];
    TypeId type = types_of(c)->args[k];
    if (VEC_NULL(v, i))
        return (Value){.type = type, .typmod = -1, .is_null = true};
    return value_from_phys(type, -1, v->phys, v->scale, (const u8 *)v->data + (size_t)(v->is_const ? 0 : i) * phys_width(v->phys));
}

static Array
array_arg(const KernCall *c, u32 k, u32 i)
{
    return array_open(type_element(types_of(c)->args[k]), ARG(c, k, Str, i));
}

static TypeId
element_of(const KernCall *c, u32 k)
{
    return type_element(types_of(c)->args[k]);
}

static bool
give_null(KernCall *c, u32 i)
{
    memset((u8 *)c->ret->data + (size_t)i * phys_width(c->ret->phys), 0, phys_width(c->ret->phys));
    if (c->ret->phys == PHYS_STR)
        RET(c, Str, i) = (Str){"", 0};
    c->ret->null_mask[i] = 1;
    return true;
}

/* ---- comparing ---- */

/* Elements of one type, neither NULL. character and jsonb can be equal and look different. */
static int
compare_items(const KernCall *c, const Value *a, const Value *b)
{
    JsonNode *x, *y;
    if (a->type == TYPE_BPCHAR)
        return str_cmp(bpchar_trim(a->str), bpchar_trim(b->str));
    if (a->type != TYPE_JSONB)
        return value_cmp(a, b);
    ensure(json_parse(c->scratch, a->str, &x, NULL) && json_parse(c->scratch, b->str, &y, NULL));
    return json_cmp(x, y);
}

/* json has neither. */
static bool
need_comparison(KernCall *c, TypeId elem, const char *what)
{
    return elem != TYPE_JSON || error_set(c->err, ERR_UNDEFINED_FUNCTION, "could not identify %s for type %s", what, type_name(elem));
}

static bool
need_equality(KernCall *c, TypeId elem)
{
    return need_comparison(c, elem, "an equality operator");
}

static int
compare_jsonb(const KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i), b = array_arg(c, 1, i);
    ArrayWalk aw = array_walk(&a), bw = array_walk(&b);
    Value x, y;
    while (array_next(&aw, c->scratch, &x) && array_next(&bw, c->scratch, &y)) {
        int r = x.is_null || y.is_null ? x.is_null - y.is_null : compare_items(c, &x, &y);
        if (r)
            return r;
    }
    return array_shape_cmp(&a.shape, &b.shape);
}

/* -1, 0, 1; arrays of one element type. */
static int
compare_args(KernCall *c, u32 i)
{
    if (element_of(c, 0) == TYPE_JSONB)
        return compare_jsonb(c, i);
    Value a = value_arg(c, 0, i), b = value_arg(c, 1, i);
    return value_cmp(&a, &b);
}

static bool
compare(KernCall *c, u32 i)
{
    bool equality = c->def->op == FOP_EQ || c->def->op == FOP_NE;
    if (!need_comparison(c, element_of(c, 0), equality ? "an equality operator" : "a comparison function"))
        return false;
    int r = compare_args(c, i);
    bool truth = false;
    switch ((int)c->def->op) {
    case FOP_EQ: truth = r == 0; break;
    case FOP_NE: truth = r != 0; break;
    case FOP_LT: truth = r < 0; break;
    case FOP_LE: truth = r <= 0; break;
    case FOP_GT: truth = r > 0; break;
    case FOP_GE: truth = r >= 0; break;
    }
    RET(c, u8, i) = truth;
    return true;
}

/* Equal, and NULL to NULL. */
static bool
same_item(const KernCall *c, const Value *a, const Value *b)
{
    return a->is_null || b->is_null ? a->is_null && b->is_null : compare_items(c, a, b) == 0;
}

static bool
has_item(const KernCall *c, const Array *a, const Value *wanted)
{
    ArrayWalk w = array_walk(a);
    Value v;
    while (array_next(&w, c->scratch, &v))
        if (!v.is_null && compare_items(c, &v, wanted) == 0)
            return true;
    return false;
}

/* Every element of `inner` is one of `outer`; NULL is nobody's. */
static bool
contains_all(const KernCall *c, const Array *outer, const Array *inner)
{
    ArrayWalk w = array_walk(inner);
    Value v;
    while (array_next(&w, c->scratch, &v))
        if (v.is_null || !has_item(c, outer, &v))
            return false;
    return true;
}

static bool
contains(KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i), b = array_arg(c, 1, i);
    if (!need_equality(c, a.elem))
        return false;
    RET(c, u8, i) = c->def->op == FOP_ARRAY_CONTAINS ? contains_all(c, &a, &b) : contains_all(c, &b, &a);
    return true;
}

static bool
overlaps(KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i), b = array_arg(c, 1, i);
    ArrayWalk w = array_walk(&a);
    Value v;
    bool found = false;
    if (!need_equality(c, a.elem))
        return false;
    while (!found && array_next(&w, c->scratch, &v))
        found = !v.is_null && has_item(c, &b, &v);
    RET(c, u8, i) = found;
    return true;
}

/* ---- shape ---- */

static bool
cardinality(KernCall *c, u32 i)
{
    RET(c, i32, i) = (i32)array_arg(c, 0, i).shape.count;
    return true;
}

static bool
ndims(KernCall *c, u32 i)
{
    u32 n = array_arg(c, 0, i).shape.ndim;
    RET(c, i32, i) = (i32)n;
    return n || give_null(c, i);
}

static bool
bound(KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i);
    i32 dim = ARG(c, 1, i32, i);
    if (dim < 1 || (u32)dim > a.shape.ndim)
        return give_null(c, i);
    i32 lower = a.shape.lower[dim - 1], length = a.shape.dims[dim - 1];
    RET(c, i32, i) = c->def->op == FOP_ARRAY_LENGTH ? length : c->def->op == FOP_ARRAY_LOWER ? lower : lower + length - 1;
    return true;
}

static bool
dims_text(KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i);
    const char *text = "";
    if (!a.shape.ndim)
        return give_null(c, i);
    for (u32 d = 0; d < a.shape.ndim; d++)
        text = arena_printf(c->scratch, "%s[%d:%d]", text, a.shape.lower[d], a.shape.lower[d] + a.shape.dims[d] - 1);
    RET(c, Str, i) = str_of(text);
    return true;
}

/* ---- putting together ---- */

static bool
add_all(ArrayBuild *b, const Array *a, Error *err)
{
    ArrayWalk w = array_walk(a);
    while (w.left)
        if (!array_add_raw(b, array_next_raw(&w), err))
            return false;
    return true;
}

/* One element at the end (or beginning) of the array in argument `array`, which NULL makes an empty one. */
static bool
add_one(KernCall *c, u32 i, u32 array, bool at_end)
{
    Array a = array_open(element_of(c, array), ARG_NULL(c, array, i) ? array_empty() : ARG(c, array, Str, i));
    Value v = value_arg(c, 1 - array, i);
    ArrayShape s = {.ndim = 1, .dims = {1}, .lower = {1}};
    if (a.shape.ndim > 1)
        return error_set(c->err, ERR_DATA_EXCEPTION, "argument must be empty or one-dimensional array");
    if (a.shape.ndim) {
        s = a.shape;
        s.dims[0]++;
        if ((i64)s.lower[0] + s.dims[0] > INT32_MAX || (!at_end && s.lower[0] == INT32_MIN))
            return error_set(c->err, ERR_NUMERIC_OUT_OF_RANGE, "integer out of range");
    }
    ArrayBuild b = array_build(c->scratch, a.elem);
    return (at_end || array_add(&b, &v, c->err)) && add_all(&b, &a, c->err) && (!at_end || array_add(&b, &v, c->err)) &&
           array_finish(&b, &s, &RET(c, Str, i), c->err);
}

static bool
append(KernCall *c, u32 i)
{
    return add_one(c, i, 0, true);
}

static bool
prepend(KernCall *c, u32 i)
{
    return add_one(c, i, 1, false);
}

static bool
incompatible(Error *err, const char *detail)
{
    error_set(err, ERR_ARRAY_SUBSCRIPT, "cannot concatenate incompatible arrays");
    error_detail(err, "%s", detail);
    return false;
}

/* Of the last n dimensions. */
static bool
same_inner(const ArrayShape *a, const ArrayShape *b, u32 n)
{
    for (u32 i = 1; i <= n; i++)
        if (a->dims[a->ndim - i] != b->dims[b->ndim - i] || a->lower[a->ndim - i] != b->lower[b->ndim - i])
            return false;
    return true;
}

/* Two arrays of as many dimensions, or one of one less, which then is an element of the other. */
static bool
join_shapes(const ArrayShape *a, const ArrayShape *b, ArrayShape *ret, Error *err)
{
    if (a->ndim == b->ndim) {
        if (!same_inner(a, b, a->ndim - 1))
            return incompatible(err, "Arrays with differing element dimensions are not compatible for concatenation.");
        *ret = *a;
        ret->dims[0] += b->dims[0];
        return true;
    }
    const ArrayShape *outer = a->ndim > b->ndim ? a : b, *inner = a->ndim > b->ndim ? b : a;
    if (outer->ndim != inner->ndim + 1) {
        error_set(err, ERR_ARRAY_SUBSCRIPT, "cannot concatenate incompatible arrays");
        error_detail(err, "Arrays of %u and %u dimensions are not compatible for concatenation.", a->ndim, b->ndim);
        return false;
    }
    if (!same_inner(outer, inner, inner->ndim))
        return incompatible(err, "Arrays with differing dimensions are not compatible for concatenation.");
    *ret = *outer;
    ret->dims[0]++;
    return true;
}

static bool
concat(KernCall *c, u32 i)
{
    bool null[2] = {ARG_NULL(c, 0, i), ARG_NULL(c, 1, i)};
    if (null[0] && null[1])
        return give_null(c, i);
    Array a = {0}, b = {0};
    if (!null[0])
        a = array_arg(c, 0, i);
    if (!null[1])
        b = array_arg(c, 1, i);
    if (null[0] || null[1] || !a.shape.ndim || !b.shape.ndim) {
        bool first = null[1] || (!null[0] && a.shape.ndim);
        RET(c, Str, i) = first ? ARG(c, 0, Str, i) : ARG(c, 1, Str, i);
        return true;
    }
    ArrayShape s;
    ArrayBuild to = array_build(c->scratch, a.elem);
    return join_shapes(&a.shape, &b.shape, &s, c->err) && array_shape_check(&s, c->err) && add_all(&to, &a, c->err) && add_all(&to, &b, c->err) &&
           array_finish(&to, &s, &RET(c, Str, i), c->err);
}

/* The dimensions or lower bounds that array_fill gets. */
static bool
read_dims(KernCall *c, u32 k, u32 i, Array *ret)
{
    *ret = array_arg(c, k, i);
    if (ret->shape.ndim > 1) {
        error_set(c->err, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
        error_detail(c->err, "Dimension array must be one dimensional.");
        return false;
    }
    ArrayWalk w = array_walk(ret);
    Value v;
    while (array_next(&w, c->scratch, &v))
        if (v.is_null)
            return error_set(c->err, ERR_NULL_NOT_ALLOWED, "dimension values cannot be null");
    return true;
}

static bool
fill(KernCall *c, u32 i)
{
    bool bounds = c->arg_count == 3;
    if (ARG_NULL(c, 1, i) || (bounds && ARG_NULL(c, 2, i)))
        return error_set(c->err, ERR_NULL_NOT_ALLOWED, "dimension array or low bound array cannot be null");
    Array dims, lower = {0};
    if (!read_dims(c, 1, i, &dims) || (bounds && !read_dims(c, 2, i, &lower)) || !array_dims_check(dims.shape.count, c->err))
        return false;
    if (bounds && lower.shape.count != dims.shape.count) {
        error_set(c->err, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
        error_detail(c->err, "Low bound array has different size than dimensions array.");
        return false;
    }
    ArrayShape s = {.ndim = dims.shape.count};
    ArrayWalk dw = array_walk(&dims), lw = array_walk(&lower);
    Value v, item = value_arg(c, 0, i);
    for (u32 d = 0; d < s.ndim; d++) {
        array_next(&dw, c->scratch, &v);
        s.dims[d] = v.i32v;
        s.lower[d] = bounds && array_next(&lw, c->scratch, &v) ? v.i32v : 1;
    }
    if (!array_shape_check(&s, c->err))
        return false;
    ArrayBuild b = array_build(c->scratch, types_of(c)->args[0]);
    for (u32 n = 0; n < s.count; n++)
        if (!array_add(&b, &item, c->err))
            return false;
    return array_finish(&b, &s, &RET(c, Str, i), c->err);
}

static bool
trim(KernCall *c, u32 i)
{
    Array a = array_arg(c, 0, i);
    i32 n = ARG(c, 1, i32, i), length = a.shape.ndim ? a.shape.dims[0] : 0;
    if (n < 0 || n > length)
        return error_set(c->err, ERR_ARRAY_SUBSCRIPT, "number of elements to trim must be between 0 and %d", length);
    ArrayShape s = a.shape;
    for (u32 d = 0; d < s.ndim; d++)
        s.lower[d] = 1;
    s.dims[0] -= n;
    ArrayBuild b = array_build(c->scratch, a.elem);
    ArrayWalk w = array_walk(&a);
    if (!array_shape_check(&s, c->err))
        return false;
    for (u32 k = 0; k < s.count; k++)
        if (!array_add_raw(&b, array_next_raw(&w), c->err))
            return false;
    return array_finish(&b, &s, &RET(c, Str, i), c->err);
}

/* ---- looking for elements ---- */

static bool
refuse_dimensions(KernCall *c, const Array *a, const char *what)
{
    return a->shape.ndim <= 1 || error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "%s elements %s multidimensional arrays is not supported", what,
                                           what[0] == 's' ? "in" : "from");
}

static bool
position(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i))
        return give_null(c, i);
    Array a = array_arg(c, 0, i);
    Value wanted = value_arg(c, 1, i), v;
    if (!refuse_dimensions(c, &a, "searching for") || !need_equality(c, a.elem))
        return false;
    if (c->arg_count == 3 && ARG_NULL(c, 2, i))
        return error_set(c->err, ERR_NULL_NOT_ALLOWED, "initial position must not be null");
    i32 from = c->arg_count == 3 ? ARG(c, 2, i32, i) : INT32_MIN, at = a.shape.lower[0];
    ArrayWalk w = array_walk(&a);
    for (; array_next(&w, c->scratch, &v); at++)
        if (at >= from && same_item(c, &v, &wanted)) {
            RET(c, i32, i) = at;
            return true;
        }
    return give_null(c, i);
}

static bool
positions(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i))
        return give_null(c, i);
    Array a = array_arg(c, 0, i);
    Value wanted = value_arg(c, 1, i), v, at = {.type = TYPE_INT4, .i32v = a.shape.lower[0]};
    ArrayBuild b = array_build(c->scratch, TYPE_INT4);
    ArrayWalk w = array_walk(&a);
    if (!refuse_dimensions(c, &a, "searching for") || !need_equality(c, a.elem))
        return false;
    for (; array_next(&w, c->scratch, &v); at.i32v++)
        if (same_item(c, &v, &wanted) && !array_add(&b, &at, c->err))
            return false;
    return array_finish_list(&b, &RET(c, Str, i), c->err);
}

/* Elements that equal argument 1 are left out, or become argument 2. */
static bool
exchange(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i))
        return give_null(c, i);
    bool removes = c->def->op == FOP_ARRAY_REMOVE;
    Array a = array_arg(c, 0, i);
    Value old = value_arg(c, 1, i), v, new = removes ? old : value_arg(c, 2, i);
    ArrayShape s = a.shape;
    ArrayBuild b = array_build(c->scratch, a.elem);
    if ((removes && !refuse_dimensions(c, &a, "removing")) || !need_equality(c, a.elem))
        return false;
    ArrayWalk w = array_walk(&a), raw = array_walk(&a);
    while (array_next(&w, c->scratch, &v)) {
        Str bytes = array_next_raw(&raw);
        bool hit = same_item(c, &v, &old);
        if (hit && removes)
            s.dims[0]--;
        else if (!(hit ? array_add(&b, &new, c->err) : array_add_raw(&b, bytes, c->err)))
            return false;
    }
    return array_finish(&b, &s, &RET(c, Str, i), c->err);
}

/* ---- to text and back ---- */

static Str
text_of(KernCall *c, ByteBuf *buf, const Value *v)
{
    buf_clear(buf);
    value_out(buf, c->format, v);
    return (Str){buf->data ? (const char *)buf->data : "", (u32)buf->len};
}

/* The text so far, doubled when it is full. */
typedef struct TextBuild {
    char *data;
    u32 len, capacity;
} TextBuild;

static bool
put_text(KernCall *c, TextBuild *t, Str s)
{
    if ((u64)t->len + s.len > INT32_MAX / 2)
        return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    if (t->len + s.len > t->capacity) {
        u32 capacity = MAX(t->len + s.len, t->capacity * 2);
        char *data = arena_alloc(c->scratch, capacity);
        if (t->len)
            memcpy(data, t->data, t->len);
        t->data = data;
        t->capacity = capacity;
    }
    if (s.len)
        memcpy(t->data + t->len, s.ptr, s.len);
    t->len += s.len;
    return true;
}

static bool
join_items(KernCall *c, u32 i, const Array *a, Str between, const Str *null_text, ByteBuf *buf)
{
    TextBuild t = {0};
    ArrayWalk w = array_walk(a);
    Value v;
    bool any = false;
    while (array_next(&w, c->scratch, &v)) {
        if (v.is_null && !null_text)
            continue;
        if ((any && !put_text(c, &t, between)) || !put_text(c, &t, v.is_null ? *null_text : text_of(c, buf, &v)))
            return false;
        any = true;
    }
    RET(c, Str, i) = (Str){t.data ? t.data : "", t.len};
    return !buf->failed || error_set(c->err, ERR_OUT_OF_MEMORY, "out of memory");
}

static bool
to_string(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i) || ARG_NULL(c, 1, i))
        return give_null(c, i);
    Array a = array_arg(c, 0, i);
    bool has_null_text = c->arg_count == 3 && !ARG_NULL(c, 2, i);
    Str null_text = has_null_text ? ARG(c, 2, Str, i) : (Str){"", 0};
    ByteBuf buf = {0};
    bool ok = join_items(c, i, &a, ARG(c, 1, Str, i), has_null_text ? &null_text : NULL, &buf);
    buf_free(&buf);
    return ok;
}

/* Where the piece that begins at `at` ends: at the delimiter, behind one character without one, at the end. */
static u32
piece_end(Str s, u32 at, const Str *delimiter)
{
    if (!delimiter) {
        u32 end = at + 1;
        while (end < s.len && ((u8)s.ptr[end] & 0xc0) == 0x80)
            end++;
        return end;
    }
    const char *hit = delimiter->len ? memmem(s.ptr + at, s.len - at, delimiter->ptr, delimiter->len) : NULL;
    return hit ? (u32)(hit - s.ptr) : s.len;
}

static bool
from_string(KernCall *c, u32 i)
{
    if (ARG_NULL(c, 0, i))
        return give_null(c, i);
    Str s = ARG(c, 0, Str, i), delimiter = {"", 0}, null_text = {"", 0};
    bool split = !ARG_NULL(c, 1, i), has_null = c->arg_count == 3 && !ARG_NULL(c, 2, i);
    ArrayBuild b = array_build(c->scratch, TYPE_TEXT);
    if (split)
        delimiter = ARG(c, 1, Str, i);
    if (has_null)
        null_text = ARG(c, 2, Str, i);
    for (u32 at = 0, end; s.len && at <= s.len; at = end + (split ? MAX(delimiter.len, 1u) : 0)) {
        if (!split && at == s.len)
            break;
        end = piece_end(s, at, split ? &delimiter : NULL);
        Value piece = {.type = TYPE_TEXT, .str = {s.ptr + at, end - at}};
        piece.is_null = has_null && str_eq(piece.str, null_text);
        if (!array_add(&b, &piece, c->err))
            return false;
        if (split && end == s.len)
            break;
    }
    return array_finish_list(&b, &RET(c, Str, i), c->err);
}

/* How many of the thresholds, which are in order, are at or below the value. */
static bool
bucket(KernCall *c, u32 i)
{
    Array a = array_arg(c, 1, i);
    Value wanted = value_arg(c, 0, i), *all = arena_array(c->scratch, a.shape.count + 1u, sizeof *all);
    if (a.shape.ndim > 1)
        return error_set(c->err, ERR_ARRAY_SUBSCRIPT, "thresholds must be one-dimensional array");
    ArrayWalk w = array_walk(&a);
    u32 low = 0, high = 0;
    for (; array_next(&w, c->scratch, &all[high]); high++)
        if (all[high].is_null)
            return error_set(c->err, ERR_NULL_NOT_ALLOWED, "thresholds array must not contain NULLs");
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (compare_items(c, &wanted, &all[middle]) < 0)
            high = middle;
        else
            low = middle + 1;
    }
    RET(c, i32, i) = (i32)low;
    return true;
}

/* How many elements are NULL, or are not; the binder makes an array of any arguments. */
static bool
count_nulls(KernCall *c, u32 i)
{
    i32 n = 0;
    if (ARG_NULL(c, 0, i))
        return give_null(c, i);
    Array a = array_arg(c, 0, i);
    ArrayWalk w = array_walk(&a);
    Value v;
    while (array_next(&w, c->scratch, &v))
        n += v.is_null == (c->def->op == FOP_NUM_NULLS);
    RET(c, i32, i) = n;
    return true;
}

KernRow
array_row(FuncOp op)
{
    switch ((int)op) {
    case FOP_EQ: case FOP_NE: case FOP_LT: case FOP_LE: case FOP_GT: case FOP_GE: return compare;
    case FOP_ARRAY_CONTAINS: case FOP_ARRAY_CONTAINED: return contains;
    case FOP_ARRAY_OVERLAPS: return overlaps;
    case FOP_CARDINALITY: return cardinality;
    case FOP_ARRAY_NDIMS: return ndims;
    case FOP_ARRAY_LENGTH: case FOP_ARRAY_LOWER: case FOP_ARRAY_UPPER: return bound;
    case FOP_ARRAY_DIMS: return dims_text;
    case FOP_ARRAY_APPEND: return append;
    case FOP_ARRAY_PREPEND: return prepend;
    case FOP_ARRAY_CAT: return concat;
    case FOP_ARRAY_FILL: return fill;
    case FOP_TRIM_ARRAY: return trim;
    case FOP_ARRAY_POSITION: return position;
    case FOP_ARRAY_POSITIONS: return positions;
    case FOP_ARRAY_REMOVE: case FOP_ARRAY_REPLACE: return exchange;
    case FOP_ARRAY_TO_STRING: return to_string;
    case FOP_STRING_TO_ARRAY: return from_string;
    case FOP_WIDTH_BUCKET_ARRAY: return bucket;
    case FOP_NUM_NULLS: case FOP_NUM_NONNULLS: return count_nulls;
    default: return NULL;
    }
}
