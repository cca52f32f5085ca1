/*
 * fuzz_copy.c
 *    No bytes crash the readers of COPY FROM, whole or in pieces; what they hand over fits its columns, and is the same however the bytes were cut.
 *
 * The first byte is the format, the next two options and columns, the fourth where the bytes are cut, the rest the file. With -DFUZZ_COPY_KIND=0, 1 or 2
 * the format is text, csv or binary and every byte of the first is an option. As a libFuzzer target: clang -fsanitize=fuzzer,address,undefined -DFUZZER … ;
 * alone it reads the files it is given.
 */
#include "backend/net/copy.h"
#include "backend/throw.h"
#include "common/base/hash.h"
#include "common/type/numeric.h"
#include "tests/fuzz/fuzz_files.h"

#include <stdlib.h>

enum { HEAD = 4, COLUMNS = 9 };

static const CopyColumn ALL[COLUMNS] = {
    {.name = {"a", 1}, .type = TYPE_INT4, .typmod = -1, .has_default = true},
    {.name = {"b", 1}, .type = TYPE_TEXT, .typmod = -1, .force_null = true},
    {.name = {"c", 1}, .type = TYPE_NUMERIC, .typmod = (8 << 16 | 2) + 4, .not_null = true},
    {.name = {"d", 1}, .type = TYPE_VARCHAR, .typmod = 3 + 4, .force_not_null = true, .has_default = true},
    {.name = {"e", 1}, .type = TYPE_BPCHAR, .typmod = 4 + 4},
    {.name = {"f", 1}, .type = TYPE_TIMESTAMPTZ, .typmod = -1},
    {.name = {"g", 1}, .type = TYPE_BOOL, .typmod = -1, .not_null = true},
    {.name = {"h", 1}, .type = TYPE_JSONB, .typmod = -1},
    {.name = {"i", 1}, .type = TYPE_BYTEA, .typmod = -1},
};

typedef struct Outcome {
    const CopySpec *spec;
    u64 rows, digest, skipped;
    bool failed;
} Outcome;

/* What the column promises of a value. */
static void
check_value(const CopyColumn *c, const Vec *v, u32 row)
{
    if (v->phys == PHYS_STR) {
        Str s = VEC_AT(v, Str, row);
        if (c->type != TYPE_BYTEA)
            ensure(utf8_valid((const u8 *)s.ptr, s.len) && (!s.len || !memchr(s.ptr, 0, s.len)));
        if (c->type == TYPE_VARCHAR)
            ensure(utf8_len(s) <= 3);
        if (c->type == TYPE_BPCHAR)
            ensure(utf8_len(s) == 4);
    }
    if (v->phys == PHYS_BOOL)
        ensure(VEC_AT(v, u8, row) <= 1);
    if (v->phys == PHYS_D64)
        ensure(VEC_AT(v, i64, row) == D64_NAN || (VEC_AT(v, i64, row) < POW10_I64[8] && VEC_AT(v, i64, row) > -POW10_I64[8]));
}

static void
take_rows(void *ctx, const Batch *b, const u8 *const *defaults)
{
    Outcome *o = ctx;
    ByteBuf text = {0};
    ensure(b->count > 0 && b->count <= VEC_SIZE && b->column_count == o->spec->column_count);
    for (u32 row = 0; row < b->count; row++)
        for (u32 i = 0; i < b->column_count; i++) {
            const CopyColumn *c = &o->spec->columns[i];
            const Vec *v = &b->columns[i];
            bool wanted = defaults[i] && defaults[i][row], null = VEC_NULL(v, row);
            buf_u8(&text, (u8)(wanted * 2 + null));
            ensure(!wanted || (c->has_default && o->spec->has_default_text));
            if (wanted)
                continue;
            ensure(!(null && c->not_null) || row + 1 == b->count);
            if (null)
                continue;
            check_value(c, v, row);
            phys_out(&text, &o->spec->format, c->type, v->phys, v->scale, (const u8 *)v->data + (size_t)phys_width(v->phys) * row);
        }
    ensure(!text.failed);
    o->rows += b->count;
    o->digest = o->digest * 31 + hash_bytes(text.data ? (const char *)text.data : "", text.len);
    buf_free(&text);
}

static void
count_skipped(void *ctx, u64 line, Str column, const char *value)
{
    ensure(line > 0 && column.len == 1 && utf8_valid((const u8 *)value, strlen(value)));
    ((Outcome *)ctx)->skipped++;
}

/* Pieces of exact size, so that a read beyond one shows. */
static void
feed(CopyIn *in, const uint8_t *data, size_t size, u8 **piece)
{
    if (!size)
        return;
    *piece = malloc(size);
    memcpy(*piece, data, size);
    copy_feed(in, *piece, size);
    free(*piece);
    *piece = NULL;
}

static Outcome
read_file(CopySpec spec, const uint8_t *data, size_t size, size_t step)
{
    static Catch c;
    static u8 *piece;
    static Outcome o;
    Arena *a = arena_new("fuzz", 0, arena_full_throw);
    o = (Outcome){.spec = &spec};
    spec.ctx = &o;
    current_catch = &c;
    if (setjmp(c.jump) == 0) {
        CopyIn *in = copy_new(a, &spec);
        err_context(copy_add_context, in);
        for (size_t at = 0; at < size; at += step)
            feed(in, data + at, MIN(step, size - at), &piece);
        copy_finish(in);
        ensure(!spec.skipped || copy_skipped(in) == o.skipped);
        err_context(NULL, NULL);
    } else {
        ensure(utf8_valid((const u8 *)c.error.context, strlen(c.error.context)));
        o.failed = true;
    }
    free(piece);
    piece = NULL;
    arena_free(a);
    return o;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CopyColumn columns[COLUMNS];
    if (size < HEAD || size > UINT32_MAX / 2)
        return 0;
    CopySpec spec = {.relation = "t", .columns = columns, .format = {.extra_float_digits = 1, .now_us = 1}, .rows = take_rows}; /* 'now' is the same for both readings */
#ifdef FUZZ_COPY_KIND
    spec.kind = (CopyKind)FUZZ_COPY_KIND;
    u8 options = data[0];
#else
    spec.kind = (CopyKind)(data[0] % 3);
    u8 options = data[0] / 3;
#endif
    for (u32 i = 0; i < COLUMNS; i++)
        if ((data[1] | (data[2] & 1) << 8) >> i & 1)
            columns[spec.column_count++] = ALL[i];
    if (spec.kind != COPY_KIND_BINARY) {
        spec.header = options & 1;
        spec.header_match = (options & 3) == 3;
        spec.has_default_text = options & 4;
        spec.default_text = options & 4 ? STR_LIT("\\D") : STR_LIT("");
        spec.ignore_errors = options & 8;
        spec.skipped = options & 8 ? count_skipped : NULL;
        spec.has_null_text = options & 16;
        spec.null_text = STR_LIT("0");
        spec.delimiter = options & 32 ? '|' : 0;
        spec.escape = options & 64 && spec.kind == COPY_KIND_CSV ? '\\' : 0;
    }
    spec.row_alone = data[2] & 2;
    Outcome whole = read_file(spec, data + HEAD, size - HEAD, SIZE_MAX / 2);
    Outcome cut = read_file(spec, data + HEAD, size - HEAD, data[3] ? data[3] : 1);
    ensure(whole.failed == cut.failed);
    ensure(whole.failed || (whole.rows == cut.rows && whole.digest == cut.digest && whole.skipped == cut.skipped));
    return 0;
}

#ifndef FUZZER
int
main(int argc, char **argv)
{
    return fuzz_files(argc, argv);
}
#endif
