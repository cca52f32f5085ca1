/*
 * json_value.c
 *    Values of SQL types as JSON: numbers and truths bare, JSON as it is, arrays as arrays, times in ISO 8601, everything else as a string of its text.
 */
#include "common/type/json.h"

#include "common/type/array.h"
#include "common/type/inside.h"

static bool
is_number(TypeId t)
{
    return t == TYPE_INT2 || t == TYPE_INT4 || t == TYPE_INT8 || t == TYPE_FLOAT4 || t == TYPE_FLOAT8 || t == TYPE_NUMERIC;
}

/* The text of v at the end of `to`; returns where it begins. */
static size_t
put_text(ByteBuf *to, const TypeFormat *f, const Value *v)
{
    size_t at = to->len;
    value_out(to, f, v);
    return at;
}

/* NaN and the infinities are no JSON numbers. */
static void
put_number(ByteBuf *to, const TypeFormat *f, const Value *v, bool quoted)
{
    ByteBuf text = {0};
    put_text(&text, f, v);
    bool digits = text.len && (text.data[text.len - 1] == '.' || (text.data[text.len - 1] >= '0' && text.data[text.len - 1] <= '9'));
    if (quoted || !digits)
        buf_u8(to, '"');
    buf_put(to, text.data, text.len);
    if (quoted || !digits)
        buf_u8(to, '"');
    to->failed |= text.failed;
    buf_free(&text);
}

/* ISO with a T between date and time, and a zone of hours and minutes, whatever DateStyle says. */
static void
put_time(ByteBuf *to, const TypeFormat *f, const Value *v)
{
    TypeFormat iso = *f;
    ByteBuf text = {0};
    iso.date_style = DATE_STYLE_ISO;
    put_text(&text, &iso, v);
    u8 *blank = v->type == TYPE_DATE ? NULL : memchr(text.data, ' ', text.len);
    size_t zone_end = text.len >= 3 && memcmp(text.data + text.len - 3, " BC", 3) == 0 ? text.len - 3 : text.len;
    bool hours_only = v->type == TYPE_TIMESTAMPTZ && zone_end >= 3 && (text.data[zone_end - 3] == '+' || text.data[zone_end - 3] == '-');
    if (blank)
        *blank = 'T';
    buf_u8(to, '"');
    buf_put(to, text.data, zone_end);
    if (blank && hours_only)
        buf_str(to, ":00");
    buf_put(to, text.data + zone_end, text.len - zone_end);
    buf_u8(to, '"');
    to->failed |= text.failed;
    buf_free(&text);
}

static bool
put_array_level(Arena *a, ByteBuf *to, const TypeFormat *f, ArrayWalk *w, const Array *array, u32 dim, Error *err)
{
    buf_u8(to, '[');
    for (i32 i = 0; i < array->shape.dims[dim]; i++) {
        Value item;
        if (i)
            buf_u8(to, ',');
        if (dim + 1 < array->shape.ndim) {
            if (!put_array_level(a, to, f, w, array, dim + 1, err))
                return false;
        } else if (!array_next(w, a, &item) || !json_put_value(a, to, f, &item, err))
            return false;
    }
    buf_u8(to, ']');
    return true;
}

static bool
put_array(Arena *a, ByteBuf *to, const TypeFormat *f, const Value *v, Error *err)
{
    Array array = array_open(type_element(v->type), v->str);
    ArrayWalk w = array_walk(&array);
    if (array.shape.ndim)
        return put_array_level(a, to, f, &w, &array, 0, err);
    buf_str(to, "[]");
    return true;
}

static void
put_string_of(ByteBuf *to, const TypeFormat *f, const Value *v)
{
    ByteBuf text = {0};
    put_text(&text, f, v);
    json_put_string(to, (Str){(const char *)text.data, (u32)text.len});
    to->failed |= text.failed;
    buf_free(&text);
}

bool
json_put_value(Arena *a, ByteBuf *to, const TypeFormat *f, const Value *v, Error *err)
{
    if (v->is_null)
        buf_str(to, "null");
    else if (type_is_array(v->type)) {
        if (!put_array(a, to, f, v, err))
            return false;
    } else if (v->type == TYPE_BOOL)
        buf_str(to, v->b ? "true" : "false");
    else if (is_number(v->type))
        put_number(to, f, v, false);
    else if (v->type == TYPE_DATE || v->type == TYPE_TIMESTAMP || v->type == TYPE_TIMESTAMPTZ)
        put_time(to, f, v);
    else if (v->type == TYPE_JSON || v->type == TYPE_JSONB)
        buf_put(to, v->str.ptr, v->str.len);
    else
        put_string_of(to, f, v);
    return !to->failed || error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

bool
json_put_key(Arena *a, ByteBuf *to, const TypeFormat *f, const Value *v, Error *err)
{
    if (v->is_null)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "field name must not be null");
    if (type_is_array(v->type) || v->type == TYPE_JSON || v->type == TYPE_JSONB)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "key value must be scalar, not array, composite, or json");
    if (is_number(v->type))
        put_number(to, f, v, true);
    else if (v->type == TYPE_BOOL)
        buf_str(to, v->b ? "\"true\"" : "\"false\"");
    else
        return json_put_value(a, to, f, v, err);
    return !to->failed || error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}
