/* test_copy.c: COPY parsers: values, escapes, quotes, line ends, headers, errors with CONTEXT; every input split at every byte. */
#include "backend/net/copy.h"
#include "backend/throw.h"
#include "common/type/numeric.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static const CopyColumn ALL[] = {
    {.name = {"i", 1}, .type = TYPE_INT4, .typmod = -1},   {.name = {"b", 1}, .type = TYPE_INT8, .typmod = -1},
    {.name = {"s", 1}, .type = TYPE_INT2, .typmod = -1},   {.name = {"d", 1}, .type = TYPE_NUMERIC, .typmod = ((12 << 16) | 2) + 4},
    {.name = {"n", 1}, .type = TYPE_NUMERIC, .typmod = -1}, {.name = {"f", 1}, .type = TYPE_FLOAT8, .typmod = -1},
    {.name = {"t", 1}, .type = TYPE_TIMESTAMP, .typmod = -1}, {.name = {"y", 1}, .type = TYPE_DATE, .typmod = -1},
    {.name = {"o", 1}, .type = TYPE_BOOL, .typmod = -1},   {.name = {"x", 1}, .type = TYPE_TEXT, .typmod = -1},
};
static const CopyColumn TEXTS[] = {{.name = {"a", 1}, .type = TYPE_TEXT, .typmod = -1}, {.name = {"b", 1}, .type = TYPE_VARCHAR, .typmod = 3 + 4}};
static const CopyColumn INTS[] = {{.name = {"a", 1}, .type = TYPE_INT4, .typmod = -1}, {.name = {"b", 1}, .type = TYPE_INT4, .typmod = -1}};

typedef struct Seen {
    const CopySpec *spec;
    ByteBuf text;
    u64 rows, batches;
} Seen;

/* Rows as text: values between bars, NULL as ~. */
static void
note_rows(void *ctx, const Batch *b, const u8 *const *defaults UNUSED)
{
    Seen *seen = ctx;
    TypeFormat f = {.extra_float_digits = 1};
    seen->rows += b->count;
    seen->batches++;
    for (u32 r = 0; r < b->count; r++) {
        for (u32 c = 0; c < b->column_count; c++) {
            const Vec *v = &b->columns[c];
            if (c)
                buf_u8(&seen->text, '|');
            if (VEC_NULL(v, r))
                buf_u8(&seen->text, '~');
            else
                phys_out(&seen->text, &f, seen->spec->columns[c].type, v->phys, v->scale, (u8 *)v->data + r * phys_width(v->phys));
        }
        buf_u8(&seen->text, '\n');
    }
}

static char result[8192];
static u8 *piece;
static u64 result_rows;

/* Feed in pieces: [0, split), then `step` bytes at a time (0: the rest). Leaves rows, or the error, in `result`. */
static const char *
run(CopySpec spec, const void *data, size_t len, size_t split, size_t step)
{
    Arena *a = arena_new("test", 0, arena_full_throw);
    Seen seen = {.spec = &spec};
    Catch c = {0};
    spec.rows = note_rows;
    spec.ctx = &seen;
    spec.relation = "tab";
    current_catch = &c;
    if (setjmp(c.jump) == 0) {
        CopyIn *in = copy_new(a, &spec);
        /* Copies of exact size, so that ASan sees a read beyond a piece. */
        for (size_t at = 0; at < len;) {
            size_t n = at == 0 && split ? split : step ? MIN(step, len - at) : len - at;
            piece = malloc(n);
            memcpy(piece, (const u8 *)data + at, n);
            copy_feed(in, piece, n);
            free(piece);
            piece = NULL;
            at += n;
        }
        copy_finish(in);
        snprintf(result, sizeof result, "%.*s", (int)seen.text.len, seen.text.data ? (char *)seen.text.data : "");
    } else
        snprintf(result, sizeof result, "%s %s [%s]", errcode_sqlstate(c.error.code), c.error.message, c.error.context);
    free(piece);
    piece = NULL;
    result_rows = seen.rows;
    current_catch = NULL;
    buf_free(&seen.text);
    arena_free(a);
    return result;
}

static void
expect_bytes(CopySpec spec, const void *data, size_t len, const char *want)
{
    ck_assert_str_eq(run(spec, data, len, 0, 0), want);
    for (size_t split = 1; split < len; split++)
        ck_assert_str_eq(run(spec, data, len, split, 0), want);
    ck_assert_str_eq(run(spec, data, len, 0, 1), want);
    ck_assert_str_eq(run(spec, data, len, 0, 3), want);
}

static void
expect(CopySpec spec, const char *data, const char *want)
{
    expect_bytes(spec, data, strlen(data), want);
}

#define SPEC(k, cols, ...) ((CopySpec){.kind = k, .columns = cols, .column_count = COUNT_OF(cols), __VA_ARGS__})
#define TEXT2(...) SPEC(COPY_KIND_TEXT, TEXTS, __VA_ARGS__)
#define CSV2(...) SPEC(COPY_KIND_CSV, TEXTS, __VA_ARGS__)

START_TEST(text_values)
{
    CopySpec s = SPEC(COPY_KIND_TEXT, ALL);
    expect(s, "1\t2\t3\t4.5\t6.70\t0.5\t2024-02-29 12:34:56.789\t2000-01-01\tt\thello\n", "1|2|3|4.50|6.70|0.5|2024-02-29 12:34:56.789|2000-01-01|t|hello\n");
    expect(s, "-2147483648\t-9223372036854775808\t-32768\t-0.01\t-0.000\t-1e3\tinfinity\t-infinity\tfalse\t\n",
           "-2147483648|-9223372036854775808|-32768|-0.01|0.000|-1000|infinity|-infinity|f|\n");
    expect(s, "\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\t\\N\n", "~|~|~|~|~|~|~|~|~|~\n");
    expect(s, " 7 \t+8\t9\t1.005\tNaN\t123456789012345678\t1999-12-31\t1999-1-2\tyes\t\\N \n",
           "7|8|9|1.01|NaN|1.2345678901234568e+17|1999-12-31 00:00:00|1999-01-02|t|N \n");
    expect(s, "1\t2\t3\t9999999999.99\t12345678901234567890.5\t0.1\t2024-01-01T00:00:00\t2024-12-31\tf\tx",
           "1|2|3|9999999999.99|12345678901234567890.5|0.1|2024-01-01 00:00:00|2024-12-31|f|x\n");
}
END_TEST

START_TEST(text_escapes)
{
    expect(TEXT2(), "a\\tb\\\\c\tx\\ny\n", "a\tb\\c|x\ny\n");
    expect(TEXT2(), "\\101\\x42\\x4\\7z\t\\q\n", "AB\x04\x07z|q\n");
    expect(TEXT2(), "a\\\nb\tc\\\td\n", "a\nb|c\td\n");
    expect(TEXT2(), "a\\\tb\tc\\", "a\tb|c\n");
    expect(TEXT2(), "\\\\N\t\\N\n", "\\N|~\n");
    expect(TEXT2(.has_null_text = true, .null_text = {"", 0}), "\tx\n", "~|x\n");
    expect(TEXT2(.has_null_text = true, .null_text = {"0", 1}), "0\t00\n", "~|00\n");
    expect(TEXT2(.delimiter = '|'), "a\\|b|c\n", "a|b|c\n");
    expect(SPEC(COPY_KIND_TEXT, INTS, .has_null_text = true, .null_text = {"0", 1}), "0\t00\n", "~|0\n");
}
END_TEST

START_TEST(text_end_of_copy)
{
    expect(TEXT2(), "a\tb\n\\.\nc\td\n", "a|b\n");
    expect(TEXT2(), "\\.\n", "");
    expect(TEXT2(), "\\.", "22P04 end-of-copy marker corrupt [COPY tab, line 1]");
    expect(TEXT2(), "a\tb\\.\nc\td\n", "a|b\n");
    expect(TEXT2(), "a\tb\n\\.x\n", "22P04 end-of-copy marker corrupt [COPY tab, line 2]");
    expect(TEXT2(), "a\tb\r\n\\.\r\n", "a|b\n");
    expect(TEXT2(), "", "");
}
END_TEST

START_TEST(line_ends)
{
    expect(TEXT2(), "a\tb\r\nc\td\r\n", "a|b\nc|d\n");
    expect(TEXT2(), "a\tb\r\nc\td", "a|b\nc|d\n");
    expect(TEXT2(), "a\tb\rc\td\r", "a|b\nc|d\n");
    expect(TEXT2(), "a\tb\nc\td\r\n", "22P04 literal carriage return found in data [COPY tab, line 2]");
    expect(TEXT2(), "a\tb\r\nc\td\n", "22P04 literal newline found in data [COPY tab, line 2]");
    expect(CSV2(), "a,b\r\nc,d\r\n", "a|b\nc|d\n");
    expect(CSV2(), "a,b\rc,d", "a|b\nc|d\n");
    expect(CSV2(), "a,b\nc,d\r\n", "22P04 unquoted carriage return found in data [COPY tab, line 2]");
}
END_TEST

START_TEST(csv_quotes)
{
    expect(CSV2(), "a,b\n\"x,y\",\"q\"\"r\"\n", "a|b\nx,y|q\"r\n");
    expect(CSV2(), "\"line1\nline2\",z\n", "line1\nline2|z\n");
    expect(CSV2(), "a\"b,c\"d,e\nx,y\n", "ab,cd|e\nx|y\n");
    expect(CSV2(), ",\"\"\n", "~|\n");
    expect(CSV2(.escape = '\\'), "\"a\\\"b\\\\c\\d\",x\n", "a\"b\\c\\d|x\n");
    expect(CSV2(.quote = '\'', .delimiter = ';'), "'a;''b';c\n", "a;'b|c\n");
    expect(CSV2(), "\\N,\\x\n", "\\N|\\x\n");
    expect(CSV2(), "a,b\n\\.\nc,d\n", "a|b\n");
    expect(CSV2(), "a,b\nc,d\n\\.", "22P04 missing data for column \"b\" [COPY tab, line 3: \"\\.\"]");
    expect(CSV2(), "\\.x,y\n", "\\.x|y\n");
    expect(CSV2(), "a,\"b\n", "22P04 unterminated CSV quoted field [COPY tab, line 1: \"a,\"b\n\"]");
    expect(CSV2(), "\"a\nb\",c,d\ne,f\n", "22P04 extra data after last expected column [COPY tab, line 1: \"\"a\nb\",c,d\"]");
    expect(SPEC(COPY_KIND_CSV, INTS), "1,\"2\"\n\"3\",4\n,\n", "1|2\n3|4\n~|~\n");
    expect(SPEC(COPY_KIND_CSV, INTS, .delimiter = '-'), "1-2\n", "1|2\n");
}
END_TEST

START_TEST(csv_force)
{
    static const CopyColumn force[] = {{.name = {"a", 1}, .type = TYPE_TEXT, .typmod = -1, .force_null = true},
                                       {.name = {"b", 1}, .type = TYPE_TEXT, .typmod = -1, .force_not_null = true}};
    expect(SPEC(COPY_KIND_CSV, force), "\"\",\n,\"\"\n", "~|\n~|\n");
}
END_TEST

START_TEST(headers)
{
    expect(CSV2(.header = true), "whatever\na,b\n", "a|b\n");
    expect(CSV2(.header = true), "\"two\nlines\",x\na\n", "22P04 missing data for column \"b\" [COPY tab, line 2: \"a\"]");
    expect(TEXT2(.header = true), "x\ty\tz\na\tb\n", "a|b\n");
    expect(CSV2(.header_match = true), "a,b\n1,2\n", "1|2\n");
    expect(CSV2(.header_match = true), "a,c\n1,2\n",
           "22P04 column name mismatch in header line field 2: got \"c\", expected \"b\" [COPY tab, line 1: \"a,c\"]");
    expect(CSV2(.header_match = true), "a\n", "22P04 wrong number of fields in header line: got 1, expected 2 [COPY tab, line 1: \"a\"]");
    expect(TEXT2(.header_match = true), "a\t\\N\n",
           "22P04 column name mismatch in header line field 2: got null value (\"\\N\"), expected \"b\" [COPY tab, line 1: \"a\t\\N\"]");
}
END_TEST

START_TEST(errors)
{
    expect(TEXT2(), "a\tb\nc\n", "22P04 missing data for column \"b\" [COPY tab, line 2: \"c\"]");
    expect(TEXT2(), "a\tb\tc\n", "22P04 extra data after last expected column [COPY tab, line 1: \"a\tb\tc\"]");
    expect(TEXT2(), "a\tabcd\n", "22001 value too long for type character varying(3) [COPY tab, line 1, column b: \"abcd\"]");
    expect(TEXT2(), "a\tabc   \n", "a|abc\n");
    expect(TEXT2(), "a\t\xc3\xa4\xc3\xb6\xc3\xbc\n", "a|\xc3\xa4\xc3\xb6\xc3\xbc\n");
    expect(TEXT2(), "a\xff\tb\n", "22021 invalid byte sequence for encoding \"UTF8\": 0xff [COPY tab, line 1]");
    expect(SPEC(COPY_KIND_TEXT, INTS), "1\t2\n3\tx4\n", "22P02 invalid input syntax for type integer: \"x4\" [COPY tab, line 2, column b: \"x4\"]");
    expect(SPEC(COPY_KIND_TEXT, INTS), "1\t2147483648\n",
           "22003 value \"2147483648\" is out of range for type integer [COPY tab, line 1, column b: \"2147483648\"]");
    expect(SPEC(COPY_KIND_CSV, INTS), "1,\n3\n", "22P04 missing data for column \"b\" [COPY tab, line 2: \"3\"]");
    expect(SPEC(COPY_KIND_CSV, INTS), "\n", "22P04 missing data for column \"b\" [COPY tab, line 1: \"\"]");
    expect(SPEC(COPY_KIND_CSV, INTS), "1,2,3\n", "22P04 extra data after last expected column [COPY tab, line 1: \"1,2,3\"]");
}
END_TEST

/* ---- binary ---- */

static ByteBuf file;

static void
head(void)
{
    buf_clear(&file);
    buf_put(&file, "PGCOPY\n\377\r\n\0", 11);
    buf_be32(&file, 0);
    buf_be32(&file, 0);
}

static void
field(TypeId t, i32 typmod, const char *text)
{
    TypeFormat f = {.extra_float_digits = 1};
    Arena *a = arena_new("test", 0, NULL);
    Value v;
    if (!text) {
        buf_be32(&file, UINT32_MAX);
        arena_free(a);
        return;
    }
    ck_assert(value_in(a, &f, t, typmod, str_of(text), &v, NULL));
    size_t at = file.len;
    buf_be32(&file, 0);
    value_send(&file, &v);
    put_be32(file.data + at, (u32)(file.len - at - 4));
    arena_free(a);
}

START_TEST(binary_values)
{
    static const char *const rows[][COUNT_OF(ALL)] = {
        {"1", "2", "3", "4.5", "6.70", "0.5", "2024-02-29 12:34:56.789", "2000-01-01", "t", "hello"},
        {"-5", "-9223372036854775808", "-1", "-1234567890.12", "NaN", "NaN", "infinity", "-infinity", "f", ""},
        {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL},
        {"0", "0", "0", "0.01", "0.000012345", "1e300", "0001-01-01 00:00:00", "9999-12-31", "t", "\xc3\xa4"},
    };
    CopySpec s = SPEC(COPY_KIND_BINARY, ALL);
    head();
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        buf_be16(&file, COUNT_OF(ALL));
        for (size_t c = 0; c < COUNT_OF(ALL); c++)
            field(ALL[c].type, -1, rows[r][c]);
    }
    const char *want = "1|2|3|4.50|6.70|0.5|2024-02-29 12:34:56.789|2000-01-01|t|hello\n"
                       "-5|-9223372036854775808|-1|-1234567890.12|NaN|NaN|infinity|-infinity|f|\n"
                       "~|~|~|~|~|~|~|~|~|~\n"
                       "0|0|0|0.01|0.000012345|1e+300|0001-01-01 00:00:00|9999-12-31|t|\xc3\xa4\n";
    expect_bytes(s, file.data, file.len, want);
    buf_be16(&file, 0xffff);
    expect_bytes(s, file.data, file.len, want);
    buf_u8(&file, 0);
    expect_bytes(s, file.data, file.len, "22P04 received copy data after EOF marker [COPY tab, line 5]");
    buf_free(&file);
}
END_TEST

START_TEST(binary_errors)
{
    CopySpec s = SPEC(COPY_KIND_BINARY, INTS);
    expect_bytes(s, "PGCOPX", 6, "22P04 COPY file signature not recognized []");
    head();
    file.data[11] = 1;
    expect_bytes(s, file.data, file.len, "22P04 unrecognized critical flags in COPY file header []");
    head();
    buf_be16(&file, 3);
    expect_bytes(s, file.data, file.len, "22P04 row field count is 3, expected 2 [COPY tab, line 1]");
    head();
    buf_be16(&file, 2);
    buf_be32(&file, 4);
    expect_bytes(s, file.data, file.len, "22P04 unexpected EOF in COPY data [COPY tab, line 1, column a]");
    head();
    buf_be16(&file, 2);
    buf_be32(&file, 3);
    buf_put(&file, "abc", 3);
    expect_bytes(s, file.data, file.len, "08P01 insufficient data left in message [COPY tab, line 1, column a]");
    head();
    buf_be16(&file, 2);
    buf_be32(&file, (u32)-2);
    expect_bytes(s, file.data, file.len, "22P04 invalid field size [COPY tab, line 1, column a]");
    buf_free(&file);
}
END_TEST

START_TEST(many_rows)
{
    ByteBuf text = {0};
    CopySpec s = SPEC(COPY_KIND_CSV, INTS);
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%d,%d\n", i, -i);
    run(s, text.data, text.len, 0, 1000);
    ck_assert_uint_eq(result_rows, 5000);
    ck_assert(strncmp(result, "0|0\n1|-1\n2|-2\n", 14) == 0);
    buf_free(&text);
}
END_TEST

/* A value of 3 MB in small pieces: linear, and whole. */
START_TEST(one_long_value)
{
    static const CopyColumn one[] = {{.name = {"a", 1}, .type = TYPE_TEXT, .typmod = -1}};
    size_t n = 3 << 20;
    char *text = malloc(n + 3);
    text[0] = '"';
    memset(text + 1, '\n', n);
    memcpy(text + 1 + n, "\"\n", 2);
    run(SPEC(COPY_KIND_CSV, one), text, n + 3, 0, 4096);
    ck_assert_uint_eq(result_rows, 1);
    free(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("copy");
    TCase *t = tcase_create("copy");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, text_values);
    tcase_add_test(t, text_escapes);
    tcase_add_test(t, text_end_of_copy);
    tcase_add_test(t, line_ends);
    tcase_add_test(t, csv_quotes);
    tcase_add_test(t, csv_force);
    tcase_add_test(t, headers);
    tcase_add_test(t, errors);
    tcase_add_test(t, binary_values);
    tcase_add_test(t, binary_errors);
    tcase_add_test(t, many_rows);
    tcase_add_test(t, one_long_value);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
