/*
 * copy.c
 *    What the three COPY formats share: unfinished input, batches, line ends, header lines, errors with their CONTEXT.
 *
 * Input is parsed where it lies when nothing is carried over, else behind the carried bytes. A row that is not complete is parsed again when the
 * input has grown; beyond 64 KiB only when it has doubled, so that a huge row costs linear time.
 *
 * Fails: throws; the statement's arena then frees everything.
 */
#include "backend/net/copy_in.h"

#include "backend/throw.h"
#include "common/type/numeric.h"

#include <stdarg.h>
#include <stdio.h>

enum { RETRY_BYTES = 64 * 1024, SHOWN_BYTES = COPY_SHOWN_BYTES };

static void
free_buffers(void *what)
{
    CopyIn *c = what;
    buf_free(&c->carry);
    buf_free(&c->unescaped);
    if (c->rows)
        arena_free(c->rows);
    if (c->value)
        arena_free(c->value);
}

static CopyFast
fast_kind(TypeId type, PhysType phys)
{
    switch (phys) {
    case PHYS_BOOL: return FAST_BOOL;
    case PHYS_I16: return type == TYPE_INT2 ? FAST_I16 : FAST_NONE;
    case PHYS_I32: return type == TYPE_INT4 ? FAST_I32 : type == TYPE_DATE ? FAST_DATE : FAST_NONE;
    case PHYS_I64: return type == TYPE_INT8 ? FAST_I64 : type == TYPE_TIMESTAMP ? FAST_TS : type == TYPE_TIMESTAMPTZ ? FAST_TSTZ : FAST_NONE;
    case PHYS_F32: return FAST_F32;
    case PHYS_F64: return FAST_F64;
    case PHYS_D64: return FAST_D64;
    case PHYS_D128: return FAST_D128;
    case PHYS_NUM: return FAST_NUM;
    case PHYS_STR: return type == TYPE_TEXT || type == TYPE_VARCHAR ? FAST_STR : FAST_NONE;
    default: return FAST_NONE;
    }
}

static void
init_field(Arena *a, CopyField *f, const CopyColumn *def, bool defaults)
{
    f->def = *def;
    f->phys = phys_of(def->type, def->typmod);
    f->width = phys_width(f->phys);
    f->scale = f->phys == PHYS_D64 || f->phys == PHYS_D128 ? (u8)numeric_scale(def->typmod) : 0;
    f->dec_limit = f->phys == PHYS_D64 ? POW10_I64[MIN(numeric_precision(def->typmod), 18u)] : 0;
    f->chars_max = def->type == TYPE_VARCHAR && def->typmod >= 4 ? (u32)def->typmod - 4 : 0;
    bool rounds = type_has_precision(def->type) && def->typmod >= 0 && def->typmod < 6;
    f->fast = rounds ? FAST_NONE : fast_kind(def->type, f->phys);
    f->data = arena_zalloc(a, (size_t)f->width * VEC_SIZE);
    f->nulls = arena_zalloc(a, VEC_SIZE);
    f->defaults = defaults ? arena_zalloc(a, VEC_SIZE) : NULL;
}

static void
init_stops(CopyIn *c)
{
    const u8 stops[4] = {c->delimiter, '\n', '\r', c->spec.kind == COPY_KIND_CSV ? c->quote : '\\'};
    for (int i = 0; i < 4; i++) {
        c->patterns[i] = 0x0101010101010101ull * stops[i];
        c->stops[stops[i]] = 1;
    }
}

/* Numbers, dates and booleans are told from delimiters, null and default texts by their first byte. */
static bool
part_of_values(u8 ch)
{
    return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch && strchr("+-.: ", ch));
}

static bool
begins_values(Str s)
{
    return s.len && part_of_values((u8)s.ptr[0]);
}

CopyIn *
copy_new(Arena *a, const CopySpec *spec)
{
    CopyIn *c = ARENA_NEW(a, CopyIn);
    bool csv = spec->kind == COPY_KIND_CSV;
    c->spec = *spec;
    if (!spec->has_null_text)
        c->spec.null_text = csv ? STR_LIT("") : STR_LIT("\\N");
    c->delimiter = (u8)(spec->delimiter ? spec->delimiter : csv ? ',' : '\t');
    c->quote = (u8)(spec->quote ? spec->quote : '"');
    c->escape = (u8)(spec->escape ? spec->escape : (char)c->quote);
    c->fast = !part_of_values(c->delimiter) && !begins_values(c->spec.null_text) && !begins_values(spec->default_text);
    init_stops(c);
    c->header_pending = spec->header || spec->header_match;
    c->fields = arena_zalloc(a, spec->column_count * sizeof *c->fields);
    c->vecs = arena_zalloc(a, spec->column_count * sizeof *c->vecs);
    for (u32 i = 0; i < spec->column_count; i++)
        init_field(a, &c->fields[i], &spec->columns[i], spec->has_default_text);
    c->defaults = arena_zalloc(a, spec->column_count * sizeof *c->defaults);
    arena_hook(a, free_buffers, c);
    c->rows = arena_new("copy rows", 0, arena_full_throw);
    c->value = arena_new("copy value", 0, arena_full_throw);
    if (!c->rows || !c->value)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    return c;
}

u64
copy_skipped(const CopyIn *c)
{
    return c->skipped;
}

static void
hand_over(CopyIn *c)
{
    if (c->row == 0)
        return;
    for (u32 i = 0; i < c->spec.column_count; i++) {
        CopyField *f = &c->fields[i];
        c->vecs[i] = (Vec){.phys = f->phys, .scale = f->scale, .data = f->data, .null_mask = f->any_null ? f->nulls : NULL};
        f->any_null = false;
        c->defaults[i] = f->any_default ? f->defaults : NULL;
    }
    Batch b = {.count = c->row, .column_count = c->spec.column_count, .columns = c->vecs};
    c->row = 0;
    c->handing = true;
    c->spec.rows(c->spec.ctx, &b, c->defaults);
    c->handing = false;
    for (u32 i = 0; i < c->spec.column_count; i++)
        if (c->defaults[i]) {
            memset(c->fields[i].defaults, 0, VEC_SIZE);
            c->fields[i].any_default = false;
        }
    arena_reset(c->rows);
    c->heap = c->heap_end = NULL;
}

/* ---- errors ---- */

/* At most 100 bytes of a text, cut between characters, "..." behind. */
static void
shorten(char to[SHOWN_BYTES + 4], const u8 *s, size_t len)
{
    u32 n = utf8_clip((Str){(const char *)s, (u32)MIN(len, (size_t)UINT32_MAX)}, SHOWN_BYTES);
    memcpy(to, s, n);
    strcpy(to + n, len > n ? "..." : "");
}

/* What the row that begins at line_start looks like; only asked for when something is wrong with it. */
typedef struct Line {
    size_t len;   /* without its end; escaped and quoted line ends belong to it */
    u32 fields;
    u32 ends;     /* quoted line ends, which count as lines */
    bool open;    /* a quote is not closed */
    u8 bad_end;   /* a line end of another style than before, 0 none */
} Line;

/* Whether the unquoted, unescaped line end at p is of another style than the lines before. */
static bool
is_other_style(const CopyIn *c, const u8 *p)
{
    switch (c->eol) {
    case EOL_NL: return *p == '\r';
    case EOL_CR: return *p == '\n';
    case EOL_CRNL: return *p == '\n' || (p + 1 < c->limit && p[1] != '\n');
    case EOL_UNKNOWN: break;
    }
    return false;
}

static Line
examine_line(const CopyIn *c)
{
    bool csv = c->spec.kind == COPY_KIND_CSV, quoted = false;
    u8 counted = c->eol == EOL_NL ? '\n' : '\r';
    Line line = {.fields = 1};
    const u8 *p = c->line_start;
    for (; p < c->limit; p++) {
        if (csv ? quoted && *p == c->escape && p + 1 < c->limit && (p[1] == c->quote || p[1] == c->escape) : *p == '\\')
            p++;
        else if (csv && *p == c->quote)
            quoted = !quoted;
        else if (quoted)
            line.ends += *p == counted;
        else if (COPY_LINE_END(*p)) {
            line.bad_end = is_other_style(c, p) ? *p : 0;
            break;
        } else
            line.fields += *p == c->delimiter;
    }
    line.open = quoted;
    line.len = (size_t)(MIN(p, c->limit) - c->line_start);
    return line;
}

static void
say_line(CopyIn *c, const Line *line, Error *err, bool with_text)
{
    char shown[SHOWN_BYTES + 4];
    c->told = true;
    if (with_text && line) {
        shorten(shown, c->line_start, line->len);
        error_context(err, "COPY %s, line %llu: \"%s\"", c->spec.relation, (unsigned long long)c->line, shown);
    } else
        error_context(err, "COPY %s, line %llu", c->spec.relation, (unsigned long long)c->line);
}

static NORETURN void
throw_at_line(CopyIn *c, const Line *line, Error *err, bool with_text)
{
    say_line(c, line, err, with_text);
    err_rethrow(err);
}

/* A key that is there twice and a row that breaks a CHECK are found when rows are written, many at once: the line is not known. */
void
copy_add_context(void *of, Error *err)
{
    CopyIn *c = of;
    if (c->told)
        return;
    if (err->code == ERR_UNIQUE_VIOLATION || (err->code == ERR_CHECK_VIOLATION && !c->spec.row_alone)) {
        error_context(err, "COPY %s", c->spec.relation);
    } else if (c->line_start && c->handing && c->spec.kind != COPY_KIND_BINARY) {
        Line line = examine_line(c);
        say_line(c, &line, err, true);
    } else {
        c->line += !c->line_start && !c->handing && !c->finishing; /* it waits for this one */
        say_line(c, NULL, err, false);
    }
}

/* PostgreSQL has no line yet when it finds this: the context has no text. */
static NORETURN void
bad_line_end(CopyIn *c, u8 ch)
{
    bool csv = c->spec.kind == COPY_KIND_CSV;
    c->line_start = NULL;
    if (ch == '\n')
        copy_line_error(c, csv ? "Use quoted CSV field to represent newline." : "Use \"\\n\" to represent newline.",
                        csv ? "unquoted newline found in data" : "literal newline found in data");
    copy_line_error(c, csv ? "Use quoted CSV field to represent carriage return." : "Use \"\\r\" to represent carriage return.",
                    csv ? "unquoted carriage return found in data" : "literal carriage return found in data");
}

/* PostgreSQL reads a whole line and splits it before it converts any field: what it would have found then comes first. */
static Line
judge_line(CopyIn *c)
{
    Error err;
    Line line = examine_line(c);
    c->line += line.ends;
    if (copy_bad_text(c->line_start, line.len, c->limit, &err))
        throw_at_line(c, &line, &err, false);
    if (line.bad_end)
        bad_line_end(c, line.bad_end);
    if (line.open && c->finishing) {
        error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "unterminated CSV quoted field");
        throw_at_line(c, &line, &err, true);
    }
    return line;
}

void
copy_line_error(CopyIn *c, const char *hint, const char *format, ...)
{
    Error err;
    Line line;
    char message[256];
    bool has_line = c->line_start && c->spec.kind != COPY_KIND_BINARY;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (has_line)
        line = judge_line(c);
    error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "%s", message);
    if (hint)
        error_hint(&err, "%s", hint);
    throw_at_line(c, has_line ? &line : NULL, &err, true);
}

void
copy_text_error(CopyIn *c, Error *err)
{
    Line line = judge_line(c);
    throw_at_line(c, &line, err, true);
}

void
copy_value_error(CopyIn *c, const CopyField *f, Error *err, const Str *value)
{
    char shown[SHOWN_BYTES + 4], before[sizeof err->context + 1]; /* what the reader of the value said of its place */
    err->position = 0;
    c->told = true;
    snprintf(before, sizeof before, "%s%s", err->context, err->context[0] ? "\n" : "");
    if (c->spec.kind != COPY_KIND_BINARY && judge_line(c).fields > c->spec.column_count) {
        c->line -= examine_line(c).ends; /* counted again there */
        copy_line_error(c, NULL, "extra data after last expected column");
    }
    if (value) {
        shorten(shown, (const u8 *)value->ptr, value->len);
        error_context(err, "%sCOPY %s, line %llu, column %.*s: \"%s\"", before, c->spec.relation, (unsigned long long)c->line, (int)f->def.name.len,
                      f->def.name.ptr, shown);
    } else
        error_context(err, "%sCOPY %s, line %llu, column %.*s", before, c->spec.relation, (unsigned long long)c->line, (int)f->def.name.len,
                      f->def.name.ptr);
    err_rethrow(err);
}

bool
copy_leave_out(CopyIn *c, CopyField *f, const Error *err, Str value)
{
    if (!c->spec.ignore_errors || strncmp(errcode_sqlstate(err->code), "22", 2) != 0)
        return false;
    if (!c->bad) {
        c->bad = f;
        shorten(c->bad_value, (const u8 *)value.ptr, value.len);
    }
    return true;
}

void
copy_no_default(CopyIn *c, const CopyField *f)
{
    Error err;
    Line line = judge_line(c);
    error_set(&err, ERR_BAD_COPY_FILE_FORMAT, "unexpected default marker in COPY data");
    error_detail(&err, "Column \"%.*s\" has no default value.", (int)f->def.name.len, f->def.name.ptr);
    throw_at_line(c, &line, &err, true);
}

/* ---- lines ---- */

const u8 *
copy_end_line(CopyIn *c, const u8 *at)
{
    if (LIKELY(*at == '\n')) {
        if (c->eol == EOL_CR || c->eol == EOL_CRNL)
            bad_line_end(c, '\n');
        c->eol = EOL_NL;
        return at + 1;
    }
    if (c->eol == EOL_NL)
        bad_line_end(c, '\r');
    if (c->eol == EOL_CR)
        return at + 1;
    if (at + 1 == c->limit && !c->finishing)
        return NULL;
    if (at + 1 < c->limit && at[1] == '\n') {
        c->eol = EOL_CRNL;
        return at + 2;
    }
    if (c->eol == EOL_CRNL)
        bad_line_end(c, '\r');
    c->eol = EOL_CR;
    return at + 1;
}

bool
copy_next_column(CopyIn *c, u32 column, const u8 **p)
{
    bool last = column + 1 == c->spec.column_count;
    if (**p == c->delimiter) {
        if (last)
            copy_line_error(c, NULL, "extra data after last expected column");
        (*p)++;
        return true;
    }
    if (!last) {
        Str name = c->fields[column + 1].def.name;
        copy_line_error(c, NULL, "missing data for column \"%.*s\"", (int)name.len, name.ptr);
    }
    return false;
}

void
copy_header_name(CopyIn *c, u32 index, Str name, bool is_null)
{
    if (!c->spec.header_match || index >= c->spec.column_count)
        return;
    Str want = c->fields[index].def.name;
    if (!is_null && str_eq(name, want))
        return;
    copy_header_end(c, examine_line(c).fields);
    if (is_null)
        copy_line_error(c, NULL, "column name mismatch in header line field %u: got null value (\"%.*s\"), expected \"%.*s\"", index + 1,
                        (int)c->spec.null_text.len, c->spec.null_text.ptr, (int)want.len, want.ptr);
    copy_line_error(c, NULL, "column name mismatch in header line field %u: got \"%.*s\", expected \"%.*s\"", index + 1, (int)MIN(name.len, 63u),
                        name.ptr, (int)want.len, want.ptr);
}

void
copy_header_end(CopyIn *c, u32 count)
{
    Error err;
    Line line = examine_line(c);
    if (copy_bad_text(c->line_start, line.len, c->limit, &err))
        throw_at_line(c, &line, &err, false);
    if (c->spec.header_match && count != c->spec.column_count)
        copy_line_error(c, NULL, "wrong number of fields in header line: got %u, expected %u", count, c->spec.column_count);
    c->header_pending = false;
}

/* Behind the last line end of the input; NULL when there is none. Carriage returns count unless newlines are known to end lines: where neither is
 * known, either stops every scan. */
static const u8 *
region_end(const CopyIn *c, const u8 *data, size_t len)
{
    const u8 *nl = memrchr(data, '\n', len);
    const u8 *cr = c->eol == EOL_CR || c->eol == EOL_UNKNOWN ? memrchr(data, '\r', len) : NULL;
    return nl > cr ? nl + 1 : cr ? cr + 1 : NULL;
}

/* The row just read is left out. */
static void
leave_out(CopyIn *c)
{
    c->row--;
    c->skipped++;
    for (u32 i = 0; i < c->spec.column_count && c->spec.has_default_text; i++)
        c->fields[i].defaults[c->row] = 0;
    if (c->spec.skipped)
        c->spec.skipped(c->spec.ctx, c->line, c->bad->def.name, c->bad_value);
}

/* Rows of [data, data + len); returns the bytes used. */
static size_t
parse(CopyIn *c, const u8 *data, size_t len)
{
    bool binary = c->spec.kind == COPY_KIND_BINARY;
    const u8 *p = data, *end = binary ? data + len : region_end(c, data, len);
    c->limit = data + len;
    while ((end && p < end && !c->done) || (binary && c->finishing && !c->binary_head_read)) {
        c->line_start = p;
        c->bad = NULL;
        c->hand_row = c->spec.row_alone;
        const u8 *next = c->spec.kind == COPY_KIND_TEXT  ? copy_text_row(c, p, end)
                         : c->spec.kind == COPY_KIND_CSV ? copy_csv_row(c, p, end)
                                                         : copy_binary_row(c, p, end);
        if (!next)
            break;
        p = next;
        if (UNLIKELY(c->bad != NULL))
            leave_out(c);
        if (c->row == VEC_SIZE || UNLIKELY(c->hand_row))
            hand_over(c);
    }
    c->line_start = NULL;
    return (size_t)(p - data);
}

static void
carry_on(CopyIn *c, const u8 *data, size_t len)
{
    buf_put(&c->carry, data, len);
    if (c->carry.failed)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
}

/* Take `used` bytes off the front. */
static void
drop_used(CopyIn *c, size_t used)
{
    c->carry.len -= used;
    memmove(c->carry.data, c->carry.data + used, c->carry.len);
    c->retry_len = c->carry.len < RETRY_BYTES ? 0 : 2 * c->carry.len;
}

void
copy_feed(CopyIn *c, const u8 *data, size_t len)
{
    if (c->done || len == 0) {
        if (len && c->spec.kind == COPY_KIND_BINARY)
            copy_line_error(c, NULL, "received copy data after EOF marker");
        return;
    }
    if (c->carry.len == 0) {
        size_t used = parse(c, data, len);
        if (used < len && !c->done)
            carry_on(c, data + used, len - used);
        else if (used < len && c->spec.kind == COPY_KIND_BINARY)
            copy_line_error(c, NULL, "received copy data after EOF marker");
        c->retry_len = c->carry.len < RETRY_BYTES ? 0 : 2 * c->carry.len;
        return;
    }
    carry_on(c, data, len);
    if (c->carry.len >= c->retry_len)
        drop_used(c, parse(c, c->carry.data, c->carry.len));
    if (c->done && c->carry.len && c->spec.kind == COPY_KIND_BINARY)
        copy_line_error(c, NULL, "received copy data after EOF marker");
}

/* The last line without its end gets one; a backslash at the very end has nothing to escape and is dropped. */
static void
finish_lines(CopyIn *c)
{
    size_t n = 0;
    while (n < c->carry.len && c->carry.data[c->carry.len - 1 - n] == '\\')
        n++;
    if (c->spec.kind == COPY_KIND_TEXT && n % 2 == 1)
        c->carry.len--;
    size_t added = c->eol == EOL_CRNL ? 2 : 1;
    c->added = (u32)added;
    carry_on(c, (const u8 *)(c->eol == EOL_CRNL ? "\r\n" : c->eol == EOL_CR ? "\r" : "\n"), added);
    c->finishing = true;
    size_t used = parse(c, c->carry.data, c->carry.len);
    if (used < c->carry.len && !c->done && !(c->header_pending && !c->spec.header_match)) {
        c->line_start = c->carry.data + used;
        c->limit -= added;
        c->line++;
        copy_line_error(c, NULL, "unterminated CSV quoted field");
    }
}

void
copy_finish(CopyIn *c)
{
    if (!c->done && c->carry.len) /* a long row may have been waiting for more */
        drop_used(c, parse(c, c->carry.data, c->carry.len));
    if (!c->done && c->spec.kind != COPY_KIND_BINARY && c->carry.len)
        finish_lines(c);
    if (!c->done && c->spec.kind == COPY_KIND_BINARY) {
        c->finishing = true;
        parse(c, c->carry.len ? c->carry.data : (const u8 *)"", c->carry.len);
    }
    hand_over(c);
}
