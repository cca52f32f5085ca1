/*
 * copy_csv.c
 *    Rows of COPY's csv format.
 *
 * Quotes may begin and end anywhere in a field, as in PostgreSQL; the usual cases (no quotes; quotes around the whole field with nothing to escape)
 * are taken without copying. A line end inside quotes belongs to the value.
 */
#include "backend/net/copy_in.h"

#include "backend/throw.h"

typedef struct CsvField {
    const u8 *after; /* the delimiter or line end; NULL: not complete */
    Str text;
    bool quoted, odd;
    u32 lines; /* line ends inside quotes */
} CsvField;

static void
put(CopyIn *c, const u8 *from, const u8 *to)
{
    if (from < to)
        buf_put(&c->unescaped, from, (size_t)(to - from));
    if (c->unescaped.failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
}

/* Inside quotes from p: appends the value's bytes, returns what follows the closing quote, NULL when it is not there. */
static const u8 *
read_quoted(CopyIn *c, const u8 *p, const u8 *end, u32 *lines)
{
    u8 newline = c->eol == EOL_NL ? '\n' : '\r'; /* as PostgreSQL counts */
    const u8 *run = p;
    for (; p < end; p++) {
        if (*p == c->escape && p + 1 < end && (p[1] == c->escape || p[1] == c->quote)) {
            put(c, run, p);
            run = ++p;
        } else if (*p == c->quote) {
            put(c, run, p);
            return p + 1;
        } else
            *lines += *p == newline;
    }
    return NULL;
}

/* A field with a quote at `at`: the general way. */
static CsvField
read_mixed(CopyIn *c, const u8 *p, const u8 *at, const u8 *end)
{
    CsvField f = {.quoted = true, .odd = true};
    bool odd = false;
    buf_clear(&c->unescaped);
    put(c, p, at);
    while (*at == c->quote) {
        if (!(p = read_quoted(c, at + 1, end, &f.lines)) || p >= end)
            return f;
        at = copy_scan(c, p, end, &odd);
        put(c, p, at);
    }
    f.after = at;
    f.text = c->unescaped.len ? (Str){(const char *)c->unescaped.data, (u32)c->unescaped.len} : STR_LIT("");
    return f;
}

static CsvField
find_field(CopyIn *c, const u8 *p, const u8 *end)
{
    bool odd = false;
    const u8 *at = copy_scan(c, p, end, &odd);
    if (*at != c->quote)
        return (CsvField){.after = at, .text = {(const char *)p, (u32)(at - p)}, .odd = odd};
    return read_mixed(c, p, at, end);
}

static bool
is_null_text(const CopyIn *c, const CsvField *f)
{
    return str_eq(f->text, c->spec.null_text);
}

static void
store(CopyIn *c, CopyField *f, const CsvField *t)
{
    bool may_be_null = t->quoted ? f->def.force_null : !f->def.force_not_null;
    if (may_be_null && is_null_text(c, t))
        copy_store_null(c, f);
    else if (UNLIKELY(c->spec.has_default_text) && !t->quoted && str_eq(t->text, c->spec.default_text))
        copy_store_default(c, f);
    else if (f->fast == FAST_STR)
        copy_store_str(c, f, t->text, !t->odd);
    else
        copy_slow_value(c, f, t->text);
}

/* "\." alone in a line ends the data; in a last line without its end it is data. */
static bool
only_mark(CopyIn *c, const u8 *p, const u8 *end, const u8 **ret)
{
    if (p[0] != '\\' || p[1] != '.' || end - p < 3 || !COPY_LINE_END(p[2]) || (c->added && p + 2 + c->added == c->limit))
        return false;
    *ret = copy_end_line(c, p + 2);
    c->done = *ret != NULL;
    return true;
}

static const u8 *
header_row(CopyIn *c, const u8 *p, const u8 *end)
{
    u32 lines = 0;
    for (u32 i = 0;; i++) {
        CsvField t = find_field(c, p, end);
        if (!t.after)
            return NULL;
        lines += t.lines;
        copy_header_name(c, i, t.text, !t.quoted && is_null_text(c, &t));
        p = t.after + 1;
        if (COPY_LINE_END(*t.after)) {
            const u8 *next = copy_end_line(c, t.after);
            if (next) {
                copy_header_end(c, i + 1);
                c->line += lines;
            }
            return next;
        }
    }
}

const u8 *
copy_csv_row(CopyIn *c, const u8 *p, const u8 *end)
{
    const u8 *next;
    u64 line = c->line++;
    u32 lines = 0;
    if (UNLIKELY(*p == '\\') && only_mark(c, p, end, &next))
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
            CsvField t = find_field(c, p, end);
            if (!t.after) {
                c->line = line;
                return NULL;
            }
            lines += t.lines;
            store(c, f, &t);
            after = t.after;
        }
        p = after;
        if (!copy_next_column(c, i, &p))
            break;
    }
    next = copy_end_line(c, p);
    if (next) {
        c->row++;
        c->line += lines;
    } else
        c->line = line;
    return next;
}
