/*
 * expr_quote.c
 *    format(), which knows SQL's own words.
 */
#include "backend/plan/expr_prog.h"
#include "backend/sql/deparse.h"
#include "common/type/array.h"

/* *to as the result of row i. */
static bool
give(KernCall *c, u32 i, ByteBuf *to)
{
    bool ok = !to->failed;
    if (ok)
        RET(c, Str, i) = arena_str(c->scratch, (Str){(const char *)to->data, (u32)to->len});
    buf_free(to);
    return ok || error_set(c->err, ERR_OUT_OF_MEMORY, "out of memory");
}

typedef struct Specifier {
    i32 arg;        /* from 1; 0: the next */
    i32 width_arg;  /* -1: the width is given */
    i32 width;
    bool left;
} Specifier;

typedef struct Format {
    KernCall *c;
    const char *at, *end;
    Value *args;
    i32 count, last;
    ByteBuf to;
} Format;

static bool
fail(Format *f, const char *what)
{
    return error_set(f->c->err, ERR_INVALID_PARAMETER_VALUE, "%s", what);
}

static bool
advance(Format *f)
{
    if (++f->at < f->end)
        return true;
    fail(f, "unterminated format() type specifier");
    error_hint(f->c->err, "For a single \"%%\" use \"%%%%\".");
    return false;
}

/* *there: digits stood here. false: an error. */
static bool
read_number(Format *f, bool *there, i32 *ret)
{
    i64 n = 0;
    *there = false;
    while (*f->at >= '0' && *f->at <= '9') {
        n = n * 10 + (*f->at - '0');
        if (n > INT32_MAX)
            return error_set(f->c->err, ERR_NUMERIC_OUT_OF_RANGE, "number is out of range");
        *there = true;
        if (!advance(f))
            return false;
    }
    *ret = (i32)n;
    return true;
}

static bool
read_specifier(Format *f, Specifier *ret)
{
    bool there;
    i32 n;
    *ret = (Specifier){.width_arg = -1};
    if (!read_number(f, &there, &n))
        return false;
    if (there && *f->at != '$') {
        ret->width = n;
        return true;
    }
    if (there) {
        ret->arg = n;
        if (n == 0)
            return fail(f, "format specifies argument 0, but arguments are numbered from 1");
        if (!advance(f))
            return false;
    }
    for (; *f->at == '-'; ret->left = true)
        if (!advance(f))
            return false;
    bool by_argument = *f->at == '*';
    if ((by_argument && !advance(f)) || !read_number(f, &there, &n))
        return false;
    if (!by_argument) {
        ret->width = n;
        return true;
    }
    ret->width_arg = there ? n : 0;
    if (!there)
        return true;
    if (*f->at != '$')
        return fail(f, "width argument position must be ended by \"$\"");
    return n == 0 ? fail(f, "format specifies argument 0, but arguments are numbered from 1") : advance(f);
}

/* Argument n, or the next one. */
static bool
take(Format *f, i32 n, Value *ret)
{
    f->last = n > 0 ? n : f->last + 1;
    if (f->last > f->count)
        return fail(f, "too few arguments for format()");
    *ret = f->args[f->last - 1];
    return true;
}

static bool
take_width(Format *f, Specifier *s)
{
    Value v, number;
    if (!take(f, s->width_arg, &v))
        return false;
    if (v.is_null)
        return true;
    if (!value_in(f->c->scratch, f->c->format, TYPE_INT4, -1, v.str, &number, f->c->err))
        return false;
    s->width = number.i32v;
    if (s->width < 0) {
        s->left = true;
        if (s->width == INT32_MIN)
            return error_set(f->c->err, ERR_NUMERIC_OUT_OF_RANGE, "number is out of range");
        s->width = -s->width;
    }
    return true;
}

static void
pad(Format *f, i32 count)
{
    for (; count > 0; count--)
        buf_u8(&f->to, ' ');
}

static bool
put_argument(Format *f, const Specifier *s, char kind, const Value *v)
{
    ByteBuf text = {0};
    if (kind == 'I' && v->is_null)
        return error_set(f->c->err, ERR_NULL_NOT_ALLOWED, "null values cannot be formatted as an SQL identifier");
    if (kind == 'I') {
        deparse_name(&text, v->str);
    } else if (kind == 'L' && v->is_null) {
        buf_str(&text, "NULL");
    } else if (kind == 'L') {
        bool escaped = memchr(v->str.ptr, '\\', v->str.len) != NULL;
        buf_str(&text, escaped ? "E'" : "'");
        for (u32 k = 0; k < v->str.len; k++) {
            if (v->str.ptr[k] == '\'' || v->str.ptr[k] == '\\')
                buf_u8(&text, (u8)v->str.ptr[k]);
            buf_u8(&text, (u8)v->str.ptr[k]);
        }
        buf_u8(&text, '\'');
    } else if (!v->is_null) {
        buf_put(&text, v->str.ptr, v->str.len);
    }
    i32 chars = 0;
    for (size_t k = 0; k < text.len; k++)
        chars += (text.data[k] & 0xc0) != 0x80;
    if (!s->left)
        pad(f, s->width - chars);
    buf_put(&f->to, text.data, text.len);
    if (s->left)
        pad(f, s->width - chars);
    f->to.failed |= text.failed;
    buf_free(&text);
    return true;
}

static bool
put_specified(Format *f)
{
    Specifier s;
    Value v;
    if (!read_specifier(f, &s))
        return false;
    char kind = *f->at;
    if (kind != 's' && kind != 'I' && kind != 'L') {
        int len = 1;
        while (f->at + len < f->end && ((u8)f->at[len] & 0xc0) == 0x80)
            len++;
        error_set(f->c->err, ERR_INVALID_PARAMETER_VALUE, "unrecognized format() type specifier \"%.*s\"", len, f->at);
        error_hint(f->c->err, "For a single \"%%\" use \"%%%%\".");
        return false;
    }
    return (s.width_arg < 0 || take_width(f, &s)) && take(f, s.arg, &v) && put_argument(f, &s, kind, &v);
}

/* The arguments as texts in an array, NULL for none at all. */
static bool
format_text(KernCall *c, u32 i)
{
    Str s = ARG(c, 0, Str, i);
    Format f = {.c = c, .at = s.ptr, .end = s.ptr + s.len};
    if (ARG_NULL(c, 0, i)) {
        c->ret->null_mask[i] = 1;
        RET(c, Str, i) = (Str){"", 0};
        return true;
    }
    if (!ARG_NULL(c, 1, i)) {
        Array a = array_open(TYPE_TEXT, ARG(c, 1, Str, i));
        ArrayWalk w = array_walk(&a);
        f.args = arena_array(c->scratch, a.shape.count + 1u, sizeof *f.args);
        while (array_next(&w, c->scratch, &f.args[f.count]))
            f.count++;
    }
    for (; f.at < f.end; f.at++) {
        if (*f.at != '%') {
            buf_u8(&f.to, (u8)*f.at);
            continue;
        }
        bool ok = advance(&f);
        if (ok && *f.at == '%')
            buf_u8(&f.to, '%');
        else
            ok = ok && put_specified(&f);
        if (!ok) {
            buf_free(&f.to);
            return false;
        }
        if (f.to.len > 0x3ffffff0) {
            buf_free(&f.to);
            return error_set(c->err, ERR_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
        }
    }
    return give(c, i, &f.to);
}

KernRow
expr_quote_row(FuncOp op)
{
    return op == FOP_FORMAT ? format_text : NULL;
}
