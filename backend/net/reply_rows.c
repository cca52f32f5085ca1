/*
 * reply_rows.c
 *    DataRow messages straight from a batch: the hot end of every SELECT.
 *
 * How each column is written is decided once a batch (Field). Integers and text are written here without a call; all else goes through
 * phys_out and phys_send, which append to the same buffer. A row is length-prefixed: its start is remembered and the length filled in.
 */
#include "backend/net/wire.h"

typedef enum FieldKind { FIELD_STR, FIELD_INT_TEXT, FIELD_I16_BINARY, FIELD_I32_BINARY, FIELD_I64_BINARY, FIELD_OTHER_TEXT, FIELD_OTHER_BINARY } FieldKind;

typedef struct Field {
    FieldKind kind;
    u32 width;
    TypeId type;
    const Vec *vec;
} Field;

enum { FIELDS_ON_STACK = 64, FIXED_MAX = 24 };

static const char DIGITS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354"
                             "555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Length word and digits; returns what follows. */
static u8 *
put_int(u8 *p, i64 v)
{
    u8 text[20], *at = text + sizeof text;
    u64 u = v < 0 ? 0 - (u64)v : (u64)v;
    while (u >= 100) {
        at -= 2;
        memcpy(at, DIGITS + 2 * (u % 100), 2);
        u /= 100;
    }
    if (u >= 10) {
        at -= 2;
        memcpy(at, DIGITS + 2 * u, 2);
    } else
        *--at = (u8)('0' + u);
    if (v < 0)
        *p++ = 0, *p++ = 0, *p++ = 0, *p++ = (u8)(text + sizeof text - at + 1), *p++ = '-';
    else
        *p++ = 0, *p++ = 0, *p++ = 0, *p++ = (u8)(text + sizeof text - at);
    size_t n = (size_t)(text + sizeof text - at);
    memcpy(p, at, n);
    return p + n;
}

static FieldKind
field_kind(const Vec *v, TypeId type, bool binary)
{
    bool is_int = type == TYPE_INT2 || type == TYPE_INT4 || type == TYPE_INT8;
    bool as_bytes = binary ? type != TYPE_INET && type != TYPE_JSONB && !type_is_array(type) : type_is_its_text(type);
    if (v->phys == PHYS_STR && as_bytes)
        return FIELD_STR;
    if (binary && v->phys == PHYS_I16 && type != TYPE_CHAR)
        return FIELD_I16_BINARY;
    if (binary && v->phys == PHYS_I32)
        return FIELD_I32_BINARY;
    /* A time or timestamp is its microseconds on the wire, too, infinities included. */
    if (binary && v->phys == PHYS_I64 && !type_is_u32(type) && type != TYPE_TID)
        return FIELD_I64_BINARY;
    if (!binary && is_int && (v->phys == PHYS_I16 || v->phys == PHYS_I32 || v->phys == PHYS_I64))
        return FIELD_INT_TEXT;
    return binary ? FIELD_OTHER_BINARY : FIELD_OTHER_TEXT;
}

static i64
int_at(const Vec *v, u32 row)
{
    return v->phys == PHYS_I64 ? VEC_AT(v, i64, row) : v->phys == PHYS_I32 ? VEC_AT(v, i32, row) : VEC_AT(v, i16, row);
}

/* A value that phys_out or phys_send knows. */
static void
put_other(ByteBuf *to, const TypeFormat *f, const Field *field, u32 row)
{
    const Vec *v = field->vec;
    const void *value = (const u8 *)v->data + (size_t)field->width * (v->is_const ? 0 : row);
    size_t at = to->len;
    buf_be32(to, 0);
    if (field->kind == FIELD_OTHER_TEXT)
        phys_out(to, f, field->type, v->phys, v->scale, value);
    else
        phys_send(to, field->type, v->phys, v->scale, value);
    if (!to->failed)
        put_be32(to->data + at, (u32)(to->len - at - 4));
}

static void
put_value(ByteBuf *to, const TypeFormat *f, const Field *field, u32 row)
{
    const Vec *v = field->vec;
    u32 want = FIXED_MAX;
    if (VEC_NULL(v, row)) {
        buf_be32(to, UINT32_MAX);
        return;
    }
    if (field->kind == FIELD_OTHER_TEXT || field->kind == FIELD_OTHER_BINARY) {
        put_other(to, f, field, row);
        return;
    }
    if (field->kind == FIELD_STR)
        want = VEC_AT(v, Str, row).len + 4;
    u8 *p = to->capacity - to->len >= want ? to->data + to->len : buf_reserve(to, want);
    if (UNLIKELY(!p))
        return;
    switch (field->kind) {
    case FIELD_STR: {
        Str s = VEC_AT(v, Str, row);
        put_be32(p, s.len);
        if (s.len)
            memcpy(p + 4, s.ptr, s.len);
        to->len += s.len + 4;
        break;
    }
    case FIELD_INT_TEXT:
        to->len += (size_t)(put_int(p, int_at(v, row)) - p);
        break;
    case FIELD_I16_BINARY:
        put_be32(p, 2);
        put_be16(p + 4, (u16)VEC_AT(v, i16, row));
        to->len += 6;
        break;
    case FIELD_I32_BINARY:
        put_be32(p, 4);
        put_be32(p + 4, (u32)VEC_AT(v, i32, row));
        to->len += 8;
        break;
    case FIELD_I64_BINARY:
        put_be32(p, 8);
        put_be64(p + 4, (u64)VEC_AT(v, i64, row));
        to->len += 12;
        break;
    case FIELD_OTHER_TEXT:
    case FIELD_OTHER_BINARY:
        break;
    }
}

static void
put_row(ByteBuf *to, const TypeFormat *f, const Field *fields, u32 count, u32 row)
{
    size_t at = to->len;
    u8 *head = buf_reserve(to, 7 + (size_t)count * FIXED_MAX);
    if (UNLIKELY(!head))
        return;
    head[0] = MSG_B_DATA_ROW;
    put_be16(head + 5, (u16)count);
    to->len += 7;
    for (u32 i = 0; i < count && to->len - at <= WIRE_MESSAGE_MAX; i++)
        put_value(to, f, &fields[i], row);
    if (UNLIKELY(to->len - at > WIRE_MESSAGE_MAX))
        to->failed = true;
    if (LIKELY(!to->failed))
        put_be32(to->data + at + 1, (u32)(to->len - at - 1));
}

u32
reply_rows_to(ByteBuf *to, const TypeFormat *f, const ReplyColumn *columns, u32 column_count, const Batch *b, u32 first, u32 count, size_t stop_bytes)
{
    Field few[FIELDS_ON_STACK], *fields = few;
    ByteBuf many = {0};
    ensure(!b->sel && b->column_count >= column_count && first + count <= b->count);
    if (column_count > FIELDS_ON_STACK && !(fields = buf_reserve(&many, column_count * sizeof *fields)))
        return 0;
    for (u32 i = 0; i < column_count; i++) {
        const Vec *v = &b->columns[i];
        fields[i] = (Field){.kind = field_kind(v, columns[i].type, columns[i].binary), .width = phys_width(v->phys), .type = columns[i].type, .vec = v};
    }
    u32 done = 0;
    while (done < count && (done == 0 || to->len <= stop_bytes)) {
        size_t at = to->len;
        put_row(to, f, fields, column_count, first + done);
        if (UNLIKELY(to->failed)) {
            to->failed = done == 0;
            to->len = done ? at : to->len;
            break;
        }
        done++;
    }
    buf_free(&many);
    return done;
}
