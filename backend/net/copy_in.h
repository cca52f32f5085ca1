/*
 * copy_in.h
 *    The inside of a COPY parser, for copy*.c only.
 *
 * Text and csv rows are parsed from a region that ends with a line end, so no scan for the end of a field needs a bound. A row function returns
 * what follows the row, or NULL when the row is not complete: then nothing of it counts, and it is parsed again with more data.
 */
#ifndef COPY_IN_H
#define COPY_IN_H

#include "backend/net/copy.h"

enum { COPY_SHOWN_BYTES = 100 };

typedef enum CopyEol { EOL_UNKNOWN, EOL_NL, EOL_CR, EOL_CRNL } CopyEol;

/* How a column's values are read fast; FAST_NONE: through value_in. */
typedef enum CopyFast {
    FAST_NONE, FAST_I16, FAST_I32, FAST_I64, FAST_F32, FAST_F64, FAST_D64, FAST_D128, FAST_NUM, FAST_DATE, FAST_TS, FAST_TSTZ, FAST_BOOL, FAST_STR
} CopyFast;

typedef struct CopyField {
    CopyColumn def;
    CopyFast fast;
    PhysType phys;
    u8 scale;
    u32 width;
    u32 chars_max; /* varchar(n), else 0 */
    i64 dec_limit; /* D64: 10^precision */
    u8 *data, *nulls, *defaults; /* defaults: NULL when nothing stands for it */
    bool any_null, any_default;
} CopyField;

struct CopyIn {
    CopySpec spec;
    u8 delimiter, quote, escape;
    u64 patterns[4]; /* the bytes that end or change a field, each eight times; and as a table */
    u8 stops[256];
    bool fast; /* the delimiter and the null text cannot be taken for parts of numbers */
    CopyField *fields;
    Vec *vecs;
    const u8 **defaults; /* of each column, for `rows` */
    u32 row;             /* rows in the vectors */
    bool hand_row;       /* the row is the last of its batch */
    CopyField *bad;      /* ignore_errors: the column whose value leaves the row out; NULL: none */
    char bad_value[COPY_SHOWN_BYTES + 4];
    u64 skipped;
    Arena *rows, *value; /* text of the batch; scratch of one value */
    u8 *heap, *heap_end; /* a chunk of `rows` */
    ByteBuf carry;       /* input that no row has used yet */
    size_t retry_len;    /* an unfinished row is tried again when so much is there */
    ByteBuf unescaped;
    u64 line;
    CopyEol eol;
    bool header_pending, finishing, done; /* done: the end-of-copy mark was read */
    const u8 *line_start, *limit;         /* of the row being parsed, for messages */
    bool binary_head_read;
    u32 added;                            /* bytes of the line end that the last line did not have */
    bool handing, told;                   /* a batch is with `rows`; the error says its place already */
};

/* One row from [p, end); *end[-1] is a line end, data reaches to limit. */
const u8 *copy_text_row(CopyIn *c, const u8 *p, const u8 *end);
const u8 *copy_csv_row(CopyIn *c, const u8 *p, const u8 *end);
/* One tuple or the file's head from [p, end). */
const u8 *copy_binary_row(CopyIn *c, const u8 *p, const u8 *end);

/* copy_value.c: a value at p up to a delimiter or line end, into the current row; NULL: not one of the usual spellings. */
const u8 *copy_fast_value(CopyIn *c, CopyField *f, const u8 *p);
/* Whether bytes are no valid text (UTF-8 without NUL); sets 22021, which shows bytes up to `limit`. */
bool copy_bad_text(const u8 *p, size_t len, const u8 *limit, Error *ret);
/* Any spelling. */
void copy_slow_value(CopyIn *c, CopyField *f, Str s);
/* Text: checks UTF-8 (skipped when known to be ASCII) and length, copies. */
void copy_store_str(CopyIn *c, CopyField *f, Str s, bool ascii);
void copy_store_null(CopyIn *c, CopyField *f);
void copy_store_default(CopyIn *c, CopyField *f);
void copy_store_value(CopyIn *c, CopyField *f, const Value *v);

/* copy.c */
/* The line end at `at`: what follows it; NULL when that cannot be told yet. */
const u8 *copy_end_line(CopyIn *c, const u8 *at);
/* What a field is followed by, checked against the number of columns: true = next column, at *p. */
bool copy_next_column(CopyIn *c, u32 column, const u8 **p);
/* A header line of this many names. */
void copy_header_name(CopyIn *c, u32 index, Str name, bool is_null);
void copy_header_end(CopyIn *c, u32 count);
NORETURN void copy_line_error(CopyIn *c, const char *hint, const char *format, ...) PRINTF_LIKE(3, 4);
/* The default text for a column without a DEFAULT. */
NORETURN void copy_no_default(CopyIn *c, const CopyField *f);
/* A text that its escapes made invalid. */
NORETURN void copy_text_error(CopyIn *c, Error *err);
/* Whether the error only leaves the row out; the field may then hold anything. */
bool copy_leave_out(CopyIn *c, CopyField *f, const Error *err, Str value);
/* Also says "extra data" instead when the line has too many fields: PostgreSQL counts them first. */
NORETURN void copy_value_error(CopyIn *c, const CopyField *f, Error *err, const Str *value);

#define COPY_LINE_END(ch) ((ch) == '\n' || (ch) == '\r')

/* First byte at or behind p that is one of four; reads no byte at or behind end, and one of the four is before it. *ret_high
 * collects bytes outside of 1 … 127. */
static inline const u8 *
copy_scan(const CopyIn *c, const u8 *p, const u8 *end, bool *ret_high)
{
    const u64 low = 0x0101010101010101ull, high = 0x8080808080808080ull;
    while (end - p >= 8) {
        u64 v = get_le64(p), hit = 0, x;
        for (int i = 0; i < 4; i++) {
            x = v ^ c->patterns[i];
            hit |= (x - low) & ~x;
        }
        hit &= high;
        u64 odd = (v | ((v - low) & ~v)) & high;
        if (hit) {
            u32 n = (u32)__builtin_ctzll(hit);
            *ret_high |= (odd & (((u64)1 << n) - 1)) != 0;
            return p + n / 8;
        }
        *ret_high |= odd != 0;
        p += 8;
    }
    for (; !c->stops[*p]; p++)
        *ret_high |= *p == 0 || *p >= 0x80;
    return p;
}

#endif
