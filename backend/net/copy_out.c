/*
 * copy_out.c
 *    COPY TO STDOUT: rows as CopyData messages.
 *
 * A message is one row, its line end included, as PostgreSQL sends them; the head of a binary file travels with the first message. A value is written
 * where it will stand and only then looked at: most need no escaping, and those that do are taken back and written again from a
 * copy. Numbers hold nothing that could need it unless the delimiter or the NULL text looks like part of one.
 * Fails by throwing: no memory, a row beyond 1 GiB, a lost connection.
 */
#include "backend/net/copy_out.h"

#include "backend/throw.h"

enum { SEND_BYTES = 64 * 1024 };

typedef struct OutColumn {
    TypeId type;
    bool plain; /* can hold no character that needs escaping or quoting */
    bool force_quote;
} OutColumn;

struct CopyOut {
    Wire *wire;
    CopyOutSpec spec;
    u8 delimiter, quote, escape;
    OutColumn *columns;
    ByteBuf out, value; /* messages to send; a value on its way through escaping */
    size_t message_at;
    bool message_begun;
    bool special[256]; /* text: bytes that get a backslash; csv: bytes that need quotes */
};

static void
free_buffers(void *what)
{
    CopyOut *c = what;
    buf_free(&c->out);
    buf_free(&c->value);
}

/* ---- messages ---- */

static void
begin_message(CopyOut *c)
{
    if (c->message_begun)
        return;
    c->message_begun = true;
    c->message_at = c->out.len;
    buf_u8(&c->out, MSG_B_COPY_DATA);
    buf_be32(&c->out, 0);
}

static void
end_message(CopyOut *c)
{
    size_t len = c->out.len - c->message_at - 1;
    if (c->out.failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    if (len > WIRE_MESSAGE_MAX)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a row of COPY TO is longer than a message may be");
    put_be32(c->out.data + c->message_at + 1, (u32)len);
    c->message_begun = false;
    if (c->out.len < SEND_BYTES)
        return;
    reply_raw(c->wire, c->out.data, c->out.len);
    c->out.len = 0;
}

/* ---- a value ---- */

static bool
any_special(const CopyOut *c, const u8 *p, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any |= c->special[p[i]];
    return any;
}

static bool
is_null_text(const CopyOut *c, const u8 *p, size_t n)
{
    return n == c->spec.null_text.len && (n == 0 || memcmp(p, c->spec.null_text.ptr, n) == 0);
}

/* The value written last, from `at` on, is taken out of the row into c->value. */
static Str
take_back(CopyOut *c, size_t at)
{
    c->value.len = 0;
    buf_put(&c->value, c->out.data + at, c->out.len - at);
    if (c->value.failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    c->out.len = at;
    return (Str){(const char *)c->value.data, (u32)c->value.len};
}

static void
escape_text(CopyOut *c, size_t at)
{
    static const char LETTERS[] = "btnvfr"; /* of bytes 8 … 13 */
    Str s = take_back(c, at);
    for (u32 i = 0; i < s.len; i++) {
        u8 ch = (u8)s.ptr[i];
        if (c->special[ch]) {
            buf_u8(&c->out, '\\');
            if (ch >= '\b' && ch <= '\r')
                ch = (u8)LETTERS[ch - '\b'];
        }
        buf_u8(&c->out, ch);
    }
}

static void
quote_csv(CopyOut *c, size_t at)
{
    Str s = take_back(c, at);
    buf_u8(&c->out, c->quote);
    for (u32 i = 0; i < s.len; i++) {
        u8 ch = (u8)s.ptr[i];
        if (ch == c->quote || ch == c->escape)
            buf_u8(&c->out, c->escape);
        buf_u8(&c->out, ch);
    }
    buf_u8(&c->out, c->quote);
}

/* What stands from `at` on becomes a field of the format. */
static void
finish_text_field(CopyOut *c, size_t at, bool force_quote)
{
    if (c->out.failed)
        return;
    const u8 *p = c->out.data + at;
    size_t n = c->out.len - at;
    if (c->spec.kind == COPY_KIND_TEXT) {
        if (any_special(c, p, n))
            escape_text(c, at);
        return;
    }
    bool end_mark = c->spec.column_count == 1 && n == 2 && p[0] == '\\' && p[1] == '.';
    if (force_quote || end_mark || is_null_text(c, p, n) || any_special(c, p, n))
        quote_csv(c, at);
}

static void
put_text_value(CopyOut *c, const OutColumn *column, const Vec *v, u32 row)
{
    size_t at = c->out.len;
    if (VEC_NULL(v, row)) {
        buf_put(&c->out, c->spec.null_text.ptr, c->spec.null_text.len);
        return;
    }
    if (v->phys == PHYS_STR && type_is_its_text(column->type)) {
        Str s = VEC_AT(v, Str, row);
        buf_put(&c->out, s.ptr, s.len);
    } else {
        phys_out(&c->out, &c->spec.format, column->type, v->phys, v->scale, (const u8 *)v->data + (size_t)phys_width(v->phys) * (v->is_const ? 0 : row));
    }
    if (!column->plain)
        finish_text_field(c, at, column->force_quote);
}

static void
put_binary_value(CopyOut *c, const OutColumn *column, const Vec *v, u32 row)
{
    size_t at = c->out.len;
    if (VEC_NULL(v, row)) {
        buf_be32(&c->out, UINT32_MAX);
        return;
    }
    buf_be32(&c->out, 0);
    phys_send(&c->out, column->type, v->phys, v->scale, (const u8 *)v->data + (size_t)phys_width(v->phys) * (v->is_const ? 0 : row));
    if (!c->out.failed)
        put_be32(c->out.data + at, (u32)(c->out.len - at - 4));
}

/* ---- rows ---- */

static void
put_row(CopyOut *c, const Batch *b, u32 row)
{
    bool binary = c->spec.kind == COPY_KIND_BINARY;
    begin_message(c);
    if (binary)
        buf_be16(&c->out, (u16)c->spec.column_count);
    for (u32 i = 0; i < c->spec.column_count; i++) {
        if (binary) {
            put_binary_value(c, &c->columns[i], &b->columns[i], row);
            continue;
        }
        if (i)
            buf_u8(&c->out, c->delimiter);
        put_text_value(c, &c->columns[i], &b->columns[i], row);
    }
    if (!binary)
        buf_u8(&c->out, '\n');
    end_message(c);
}

void
copy_out_rows(CopyOut *c, const Batch *b)
{
    ensure(!b->sel && b->column_count >= c->spec.column_count);
    for (u32 row = 0; row < b->count; row++)
        put_row(c, b, row);
}

/* ---- beginning and end ---- */

static void
put_header(CopyOut *c)
{
    begin_message(c);
    for (u32 i = 0; i < c->spec.column_count; i++) {
        if (i)
            buf_u8(&c->out, c->delimiter);
        size_t at = c->out.len;
        buf_put(&c->out, c->spec.columns[i].name.ptr, c->spec.columns[i].name.len);
        finish_text_field(c, at, false);
    }
    buf_u8(&c->out, '\n');
    end_message(c);
}

/* Only digits, signs and letters of such a value could meet the delimiter, the quote or the NULL text. */
static bool
is_plain(const CopyOut *c, TypeId type)
{
    static const char IN_NUMBERS[] = "0123456789+-";
    if (type != TYPE_INT2 && type != TYPE_INT4 && type != TYPE_INT8)
        return false;
    if (c->spec.kind == COPY_KIND_CSV && c->spec.null_text.len && memchr(IN_NUMBERS, c->spec.null_text.ptr[0], sizeof IN_NUMBERS - 1))
        return false;
    for (const char *p = IN_NUMBERS; *p; p++)
        if (c->special[(u8)*p])
            return false;
    return true;
}

static void
choose_special(CopyOut *c)
{
    bool csv = c->spec.kind == COPY_KIND_CSV;
    c->delimiter = (u8)(c->spec.delimiter ? c->spec.delimiter : csv ? ',' : '\t');
    c->quote = (u8)(c->spec.quote ? c->spec.quote : '"');
    c->escape = c->spec.escape ? (u8)c->spec.escape : c->quote;
    if (!c->spec.has_null_text)
        c->spec.null_text = csv ? (Str){"", 0} : (Str){"\\N", 2};
    c->special[c->delimiter] = true;
    c->special['\n'] = c->special['\r'] = true;
    if (csv) {
        c->special[c->quote] = true;
        return;
    }
    c->special['\\'] = true;
    for (u8 ch = '\b'; ch <= '\r'; ch++)
        c->special[ch] = true;
}

CopyOut *
copy_out_begin(Wire *w, Arena *a, const CopyOutSpec *spec)
{
    static const u8 BINARY_HEAD[19] = "PGCOPY\n\377\r\n"; /* then a zero byte, no flags, no extension */
    CopyOut *c = ARENA_NEW(a, CopyOut);
    c->wire = w;
    c->spec = *spec;
    if (!arena_hook(a, free_buffers, c))
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    choose_special(c);
    c->columns = ARENA_ARRAY(a, OutColumn, spec->column_count);
    for (u32 i = 0; i < spec->column_count; i++) {
        bool force = spec->force_quote && spec->force_quote[i / 64] >> i % 64 & 1;
        c->columns[i] = (OutColumn){.type = spec->columns[i].type, .force_quote = force, .plain = !force && is_plain(c, spec->columns[i].type)};
    }
    reply_copy_out(w, spec->kind == COPY_KIND_BINARY, spec->column_count);
    if (spec->kind == COPY_KIND_BINARY) {
        begin_message(c);
        buf_put(&c->out, BINARY_HEAD, sizeof BINARY_HEAD);
    } else if (spec->header) {
        put_header(c);
    }
    return c;
}

void
copy_out_end(CopyOut *c)
{
    if (c->spec.kind == COPY_KIND_BINARY) {
        begin_message(c);
        buf_be16(&c->out, UINT16_MAX);
        end_message(c);
    }
    reply_raw(c->wire, c->out.data, c->out.len);
    c->out.len = 0;
    reply_empty(c->wire, MSG_B_COPY_DONE);
}
