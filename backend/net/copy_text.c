/*
 * copy_text.c
 *    Rows of COPY's text format.
 *
 * A column is first tried by copy_fast_value, which reads digits straight to the delimiter. All else: find the field's end (a delimiter or line end that
 * no backslash escapes), compare the raw bytes with the null text, take the escapes out, convert.
 */
#include "backend/net/copy_in.h"

#include "backend/throw.h"

typedef struct TextField {
    const u8 *after;   /* the delimiter, line end, or the backslash of an end-of-copy mark; NULL: not complete */
    bool escaped, odd; /* backslashes; bytes outside of 1 … 127 */
    bool mark;         /* ended by \. */
} TextField;

static NORETURN void
bad_mark(CopyIn *c, const char *message)
{
    c->line_start = NULL; /* as for line ends: PostgreSQL has no line yet */
    copy_line_error(c, NULL, "%s", message);
}

/* The end-of-copy mark at p must stand before a line end of the style seen so far. NULL: not complete; else what follows. */
static const u8 *
read_mark(CopyIn *c, const u8 *p)
{
    const u8 *at = p + 2;
    if (at == c->limit)
        return NULL;
    if (!COPY_LINE_END(*at) || (c->added && at + c->added == c->limit))
        bad_mark(c, "end-of-copy marker corrupt");
    if ((c->eol == EOL_NL && *at != '\n') || ((c->eol == EOL_CR || c->eol == EOL_CRNL) && *at != '\r'))
        bad_mark(c, "end-of-copy marker does not match previous newline style");
    if (c->eol != EOL_CRNL)
        return at + 1;
    if (at + 1 == c->limit)
        return NULL;
    if (!COPY_LINE_END(at[1]))
        bad_mark(c, "end-of-copy marker corrupt");
    if (at[1] != '\n')
        bad_mark(c, "end-of-copy marker does not match previous newline style");
    return at + 2;
}

static TextField
find_end(CopyIn *c, const u8 *p, const u8 *end)
{
    TextField f = {0};
    for (;;) {
        p = copy_scan(c, p, end, &f.odd);
        if (*p != '\\')
            break;
        if (p[1] == '.') {
            f.mark = true;
            f.after = read_mark(c, p) ? p : NULL;
            return f;
        }
        f.escaped = true;
        p += 2;
        /* The escaped byte was the region's last: the row goes on behind it. */
        if (p >= end)
            return f;
        f.odd |= p[-1] == 0 || p[-1] >= 0x80;
    }
    f.after = p;
    return f;
}

static i32
hex_digit(u8 ch)
{
    return ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/* What stands behind a backslash, up to three octal or two hex digits; moves *at behind it. */
static u8
read_escape(const u8 **at, const u8 *end)
{
    static const char FROM[] = "bfnrtv", TO[] = "\b\f\n\r\t\v";
    const u8 *p = *at;
    u8 ch = *p++;
    const char *known = strchr(FROM, ch);
    if (known && ch)
        ch = (u8)TO[known - FROM];
    else if (ch >= '0' && ch <= '7') {
        u32 v = ch - '0';
        for (int i = 0; i < 2 && p < end && *p >= '0' && *p <= '7'; i++)
            v = v * 8 + (*p++ - '0');
        ch = (u8)v;
    } else if (ch == 'x' && p < end && hex_digit(*p) >= 0) {
        u32 v = (u32)hex_digit(*p++);
        if (p < end && hex_digit(*p) >= 0)
            v = v * 16 + (u32)hex_digit(*p++);
        ch = (u8)v;
    }
    *at = p;
    return ch;
}

static Str
take_escapes_out(CopyIn *c, const u8 *p, const u8 *end)
{
    buf_clear(&c->unescaped);
    u8 *start = buf_reserve(&c->unescaped, (size_t)(end - p)), *to = start;
    if (!start)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    while (p < end) {
        if (*p != '\\')
            *to++ = *p++;
        else {
            p++;
            *to++ = read_escape(&p, end);
        }
    }
    return (Str){(const char *)start, (u32)(to - start)};
}

static bool
is_text(Str want, const u8 *p, const u8 *end)
{
    size_t n = (size_t)(end - p);
    return n == want.len && memcmp(p, want.ptr, n) == 0;
}

static void
store(CopyIn *c, CopyField *f, const u8 *p, const TextField *t)
{
    if (is_text(c->spec.null_text, p, t->after)) {
        copy_store_null(c, f);
        return;
    }
    if (UNLIKELY(c->spec.has_default_text) && is_text(c->spec.default_text, p, t->after)) {
        copy_store_default(c, f);
        return;
    }
    Str s = t->escaped ? take_escapes_out(c, p, t->after) : (Str){(const char *)p, (u32)(t->after - p)};
    if (f->fast == FAST_STR)
        copy_store_str(c, f, s, !t->odd && !t->escaped);
    else
        copy_slow_value(c, f, s);
}

static const u8 *
header_row(CopyIn *c, const u8 *p, const u8 *end)
{
    for (u32 i = 0;; i++) {
        TextField t = find_end(c, p, end);
        if (!t.after)
            return NULL;
        Str s = t.escaped ? take_escapes_out(c, p, t.after) : (Str){(const char *)p, (u32)(t.after - p)};
        copy_header_name(c, i, s, is_text(c->spec.null_text, p, t.after));
        p = t.after + 1;
        if (t.mark || COPY_LINE_END(*t.after)) {
            const u8 *next = t.mark ? read_mark(c, t.after) : copy_end_line(c, t.after);
            if (next) {
                copy_header_end(c, i + 1);
                c->done = t.mark;
            }
            return next;
        }
    }
}

/* A table without columns, or an empty mark line. true: the row is dealt with. */
static bool
only_mark(CopyIn *c, const u8 *p, const u8 **ret)
{
    if (p[0] != '\\' || p[1] != '.')
        return false;
    *ret = read_mark(c, p);
    c->done = *ret != NULL;
    return true;
}

const u8 *
copy_text_row(CopyIn *c, const u8 *p, const u8 *end)
{
    const u8 *next;
    u64 line = c->line++;
    bool mark = false;
    if (UNLIKELY(*p == '\\') && only_mark(c, p, &next))
        return next;
    if (UNLIKELY(c->header_pending)) {
        if (!(next = header_row(c, p, end)))
            c->line = line;
        return next;
    }
    if (UNLIKELY(c->spec.column_count == 0 && !COPY_LINE_END(*p)))
        copy_line_error(c, NULL, "extra data after last expected column");
    for (u32 i = 0; i < c->spec.column_count; i++) {
        CopyField *f = &c->fields[i];
        const u8 *after = c->fast ? copy_fast_value(c, f, p) : NULL;
        if (!after) {
            TextField t = find_end(c, p, end);
            if (!t.after) {
                c->line = line;
                return NULL;
            }
            store(c, f, p, &t);
            after = t.after;
            mark = t.mark;
        }
        p = after;
        if (!copy_next_column(c, i, &p))
            break;
    }
    next = mark ? read_mark(c, p) : copy_end_line(c, p);
    if (next) {
        c->row++;
        c->done = mark;
    } else
        c->line = line;
    return next;
}
