/*
 * test_part.c
 *    Parts, commit and catalog records: what is written reads back, and no byte of them can be changed into something
 *    that reads out of bounds (I6). The fuzz loops run under ASan in the sanitizer build.
 */
#include "common/disk/catrec.h"
#include "common/disk/commit.h"
#include "common/disk/part.h"
#include "common/disk/record.h"

#include <check.h>
#include <stdlib.h>

static u8 bytes[PART_MAX_BYTES + 64] __attribute__((aligned(16)));
static PartColumn columns[PART_MAX_COLUMNS];

static u64 random_state = 88172645463325252ull;
static u32
random_u32(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)(random_state >> 16);
}

enum { ROWS = 5 };
static const i32 INTS[ROWS] = {1, -2, 3, INT32_MAX, 0};
static const u8 BOOLS[ROWS] = {1, 0, 0, 1, 0};
static const u8 NULLS[ROWS] = {0, 1, 0, 0, 0};
static const u8 INDEXES[ROWS] = {0, 0, 1, 2, 1};
static const u32 LENGTHS[3] = {3, 0, 5};
static const u64 OLD_ROWS[ROWS] = {0x10001, 0x10002, 0x20000, 0x20007, 0x30001};

static PartView
sample_part(PartKind kind, PartColumn *c)
{
    static Num nums[ROWS];
    for (int i = 0; i < ROWS; i++)
        nums[i] = num_make(i * 1000 - 7, (u32)i);
    nums[3] = (Num){.kind = NUM_NAN};
    c[0] = (PartColumn){.column = 0, .phys = PHYS_I32, .values = INTS};
    c[1] = (PartColumn){.column = 2, .phys = PHYS_BOOL, .values = BOOLS, .null_bytes = NULLS};
    c[2] = (PartColumn){.column = 3, .phys = PHYS_STR, .distinct = 3, .lengths = LENGTHS, .texts = "abcd\xc3\xa4xy", .indexes = INDEXES,
                        .index_width = 1, .null_bytes = NULLS};
    c[3] = (PartColumn){.column = 9, .phys = PHYS_NUM, .values = nums};
    return (PartView){.kind = kind, .table_id = 16384, .schema_version = 3, .row_count = ROWS, .ordinal = 7,
                      .column_count = kind == PART_DELETE ? 0 : 4, .old_rows = kind == PART_INSERT ? NULL : OLD_ROWS, .columns = c};
}

START_TEST(part_reads_back_what_was_written)
{
    for (PartKind kind = PART_INSERT; kind <= PART_DELETE; kind++) {
        PartColumn c[4];
        PartView in = sample_part(kind, c), out;
        Error err;
        u32 len = part_write(&in, bytes);
        ck_assert_uint_eq(len, part_bytes(&in));
        ck_assert_msg(part_read(kind, bytes, len, columns, PART_MAX_COLUMNS, &out, &err), "%s", err.message);
        ck_assert_uint_eq(out.table_id, 16384);
        ck_assert_uint_eq(out.schema_version, 3);
        ck_assert_uint_eq(out.row_count, ROWS);
        ck_assert_uint_eq(out.ordinal, 7);
        if (kind != PART_INSERT)
            ck_assert_mem_eq(out.old_rows, OLD_ROWS, sizeof OLD_ROWS);
        if (kind == PART_DELETE)
            continue;
        ck_assert_mem_eq(out.columns[0].values, INTS, sizeof INTS);
        ck_assert_mem_eq(out.columns[1].null_bytes, NULLS, ROWS);
        u32 offsets[3] = {0, 3, 3};
        ck_assert(str_eq(part_text(&out, &out.columns[2], part_index(&out.columns[2], 3), offsets), STR_LIT("d\xc3\xa4xy")));
        part_set_rows(bytes, 2, 0x40000, 0x50000);
        ck_assert(part_read(kind, bytes, len, columns, PART_MAX_COLUMNS, &out, &err));
        ck_assert_uint_eq(out.first_count, 2);
        ck_assert_uint_eq(out.second_row, 0x50000);
        part_set_rows(bytes, ROWS, 0x40000, 0x50000);
        ck_assert(!part_read(kind, bytes, len, columns, PART_MAX_COLUMNS, &out, &err));
    }
}
END_TEST

START_TEST(part_every_cut_is_refused)
{
    PartColumn c[4];
    PartView in = sample_part(PART_UPDATE, c), out;
    Error err;
    u32 len = part_write(&in, bytes);
    for (u32 n = 0; n < len; n++) {
        u8 *copy = malloc(n + 1);
        memcpy(copy, bytes, n);
        ck_assert(!part_read(PART_UPDATE, copy, n, columns, PART_MAX_COLUMNS, &out, &err));
        free(copy);
    }
    memset(bytes + len, 0, 8);
    ck_assert(!part_read(PART_UPDATE, bytes, len + 8, columns, PART_MAX_COLUMNS, &out, &err));
    ck_assert(!part_read(PART_INSERT, bytes, len, columns, PART_MAX_COLUMNS, &out, &err));
    ck_assert(!part_read(PART_UPDATE, bytes, len, columns, 3, &out, &err));
}
END_TEST

/* Touch all that an accepted view points at. */
static u64
walk(const PartView *v)
{
    u64 sum = 0;
    for (u32 i = 0; i < v->row_count && v->old_rows; i++)
        sum += v->old_rows[i];
    for (u32 k = 0; k < v->column_count; k++) {
        const PartColumn *c = &v->columns[k];
        for (u32 i = 0; i < v->row_count && c->null_bytes; i++)
            sum += c->null_bytes[i];
        for (u32 i = 0; c->values && i < v->row_count * phys_width(c->phys); i++)
            sum += ((const u8 *)c->values)[i];
        u64 text = 0;
        for (u32 i = 0; i < c->distinct; i++)
            for (u32 j = 0; j < part_text_bytes(c, i); j++)
                sum += (u8)c->texts[text++];
        for (u32 i = 0; c->phys == PHYS_STR && i < v->row_count; i++)
            ck_assert_uint_lt(part_index(c, i), MAX(c->distinct, 1u));
    }
    return sum;
}

START_TEST(part_every_byte_changed)
{
    u64 sum = 0;
    for (PartKind kind = PART_INSERT; kind <= PART_DELETE; kind++) {
        PartColumn c[4];
        PartView in = sample_part(kind, c), out;
        Error err;
        u32 len = part_write(&in, bytes);
        u8 *copy = malloc(len);
        for (u32 i = 0; i < len; i++)
            for (u32 v = 0; v < 256; v++) {
                memcpy(copy, bytes, len);
                copy[i] = (u8)v;
                if (part_read(kind, copy, len, columns, PART_MAX_COLUMNS, &out, &err))
                    sum += walk(&out);
            }
        for (u32 round = 0; round < 200000; round++) {
            memcpy(copy, bytes, len);
            for (u32 k = random_u32() % 4 + 1; k > 0; k--) {
                u32 at = random_u32() % len;
                copy[at] = random_u32() % 3 ? (u8)(1u << random_u32() % 8) : (u8)random_u32();
            }
            if (part_read(kind, copy, len, columns, PART_MAX_COLUMNS, &out, &err))
                sum += walk(&out);
        }
        free(copy);
    }
    ck_assert_uint_ne(sum, 0);
}
END_TEST

static bool
texts_are_text(const PartView *p)
{
    const PartColumn *c = &p->columns[2];
    const char *at = c->texts;
    for (u32 i = 0; i < c->distinct; at += part_text_bytes(c, i), i++)
        if (!part_text_is_text(part_str(p, c, i, at)))
            return false;
    return true;
}

/* A part names a long text by its number: it is found when it is whole and for that column. */
START_TEST(part_names_long_texts)
{
    static const u32 lengths[3] = {3, PART_LONG | 2, 5};
    PartColumn c[4];
    PartView in = sample_part(PART_INSERT, c), out;
    Error err;
    char first[] = "first", second[] = "second one";
    LongText longs[2] = {{.table_id = 16384, .column = 3, .len = 5, .have = 5, .text = first},
                         {.table_id = 16384, .column = 3, .len = 10, .have = 10, .text = second}};
    c[2].lengths = lengths;
    u32 len = part_write(&in, bytes);
    ck_assert_uint_eq(len, part_bytes(&in));
    ck_assert_msg(part_read(PART_INSERT, bytes, len, columns, PART_MAX_COLUMNS, &out, &err), "%s", err.message);
    ck_assert_ptr_null(part_long(&out, &out.columns[2], 1));
    out.longs = longs;
    out.long_count = 1;
    ck_assert_ptr_null(part_long(&out, &out.columns[2], 1));
    out.long_count = 2;
    ck_assert_ptr_eq(part_long(&out, &out.columns[2], 1), &longs[1]);
    ck_assert_ptr_null(part_long(&out, &out.columns[2], 0));
    ck_assert(str_eq(part_str(&out, &out.columns[2], 1, out.columns[2].texts + 3), STR_LIT("second one")));
    ck_assert(str_eq(part_str(&out, &out.columns[2], 2, out.columns[2].texts + 3), STR_LIT("d\xc3\xa4xy")));
    longs[1].have = 9;
    ck_assert_ptr_null(part_long(&out, &out.columns[2], 1));
    longs[1].have = 10;
    longs[1].column = 2;
    ck_assert_ptr_null(part_long(&out, &out.columns[2], 1));
}
END_TEST

START_TEST(pieces_of_texts)
{
    TextPiece in = {.table_id = 16384, .schema_version = 3, .column = 7, .number = 2, .whole = 1000, .offset = 990, .len = 10, .bytes = (const u8 *)"0123456789"}, out;
    u8 copy[TEXT_PIECE_HEAD_BYTES + 10];
    text_piece_write(&in, bytes);
    ck_assert(text_piece_read(bytes, sizeof copy, &out));
    ck_assert(out.table_id == 16384 && out.schema_version == 3 && out.column == 7 && out.number == 2 && out.whole == 1000 && out.offset == 990 && out.len == 10);
    ck_assert_int_eq(memcmp(out.bytes, "0123456789", 10), 0);
    for (u32 len = 0; len < sizeof copy; len++)
        ck_assert(!text_piece_read(bytes, len, &out));
    for (u32 i = 0; i < sizeof copy; i++)
        for (u32 v = 0; v < 256; v++) {
            memcpy(copy, bytes, sizeof copy);
            copy[i] = (u8)v;
            if (text_piece_read(copy, sizeof copy, &out))
                ck_assert(out.len == 10 && out.number > 0 && (u64)out.offset + out.len <= out.whole && out.whole <= TEXT_WHOLE_MAX);
        }
}
END_TEST

START_TEST(part_text_must_be_text)
{
    PartColumn c[4];
    PartView in = sample_part(PART_INSERT, c), out;
    Error err;
    c[2].texts = "ab\0d\xc3\xa4xy";
    ck_assert(part_read(PART_INSERT, bytes, part_write(&in, bytes), columns, PART_MAX_COLUMNS, &out, &err) && !texts_are_text(&out));
    c[2].texts = "abcd\xc3xyz";
    ck_assert(part_read(PART_INSERT, bytes, part_write(&in, bytes), columns, PART_MAX_COLUMNS, &out, &err) && !texts_are_text(&out));
    c[2].texts = "abcd\xc3\xa4yz";
    ck_assert(part_read(PART_INSERT, bytes, part_write(&in, bytes), columns, PART_MAX_COLUMNS, &out, &err) && texts_are_text(&out));
    static const u8 beyond[ROWS] = {0, 0, 3, 2, 1};
    c[2].texts = "abcdefgh";
    c[2].indexes = beyond;
    ck_assert(!part_read(PART_INSERT, bytes, part_write(&in, bytes), columns, PART_MAX_COLUMNS, &out, &err));
}
END_TEST

START_TEST(commit_reads_back)
{
    CommitRecord in = {.slot = 5, .generation = 9, .sequence = 1ull << 40, .wall_us = -5, .token = 77, .chain_id = 3, .rows = 12}, out;
    u8 to[COMMIT_BYTES];
    commit_encode(&in, to);
    ck_assert(commit_decode(to, sizeof to, &out));
    ck_assert_mem_eq(&in, &out, sizeof in);
    ck_assert(!commit_decode(to, sizeof to - 1, &out));
}
END_TEST

START_TEST(records_walk_to_the_end)
{
    u8 frame[64] __attribute__((aligned(8)));
    memcpy(frame + 8, "abc", 3);
    u32 n = record_frame(frame, 3, 0, 3);
    ck_assert_uint_eq(n, 16);
    n += record_frame(frame + n, 7, 1, 0);
    const u8 *at = frame;
    Record r;
    bool bad;
    ck_assert(record_next(&at, frame + n, &r, &bad) && r.kind == 3 && r.len == 3);
    ck_assert(record_next(&at, frame + n, &r, &bad) && r.kind == 7 && r.flags == 1);
    ck_assert(!record_next(&at, frame + n, &r, &bad) && !bad);
    for (u32 cut = 1; cut < 16; cut++) {
        at = frame;
        ck_assert(!record_next(&at, frame + cut, &r, &bad) && bad);
    }
    frame[12] = 1; /* padding */
    at = frame;
    ck_assert(!record_next(&at, frame + n, &r, &bad) && bad);
}
END_TEST

static TableDef
sample_table(ColumnDef *c, KeyDef *k, AclItem *acl)
{
    c[0] = (ColumnDef){.name = STR_LIT("id"), .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1, .not_null = 1};
    c[1] = (ColumnDef){.name = STR_LIT("amount"), .type = TYPE_NUMERIC, .phys = PHYS_D64, .scale = 2, .typmod = numeric_typmod(12, 2)};
    c[2] = (ColumnDef){.name = STR_LIT("note"), .type = TYPE_VARCHAR, .phys = PHYS_STR, .typmod = 14, .default_text = STR_LIT("upper('x')")};
    k[0] = (KeyDef){.name = STR_LIT("t_pkey"), .primary = 1, .column_count = 1, .columns = {0}};
    k[1] = (KeyDef){.name = STR_LIT("t_amount_note_key"), .column_count = 2, .columns = {1, 2}};
    acl[0] = (AclItem){.role_id = 0, .bits = ACL_SELECT, .grantor_id = 10};
    return (TableDef){.table_id = 16390, .schema_version = 1, .owner_id = 10, .column_count = 3, .key_count = 2, .name = STR_LIT("t"),
                      .columns = c, .keys = k, .acl = acl, .acl_count = 1};
}

START_TEST(catalog_records_read_back_and_refuse_damage)
{
    ColumnDef c[3];
    KeyDef k[2];
    AclItem acl[1];
    TableDef in = sample_table(c, k, acl), out;
    ByteBuf b = {0};
    Error err;
    Arena *a = arena_new("test", 0, NULL);
    catrec_put_table(&b, &in);
    ck_assert_msg(catrec_read_table(a, b.data, (u32)b.len, &out, &err), "%s", err.message);
    ck_assert(str_eq(out.name, in.name) && out.column_count == 3 && out.key_count == 2);
    for (int i = 0; i < 3; i++) {
        ck_assert(str_eq(out.columns[i].name, c[i].name) && str_eq(out.columns[i].default_text, c[i].default_text));
        ck_assert(out.columns[i].type == c[i].type && out.columns[i].phys == c[i].phys && out.columns[i].scale == c[i].scale);
    }
    ck_assert(out.keys[1].columns[1] == 2 && out.keys[0].primary);
    for (u32 n = 0; n < b.len; n++) {
        u8 *copy = malloc(n + 1);
        memcpy(copy, b.data, n);
        ck_assert(!catrec_read_table(a, copy, n, &out, &err));
        free(copy);
    }
    u8 *copy = malloc(b.len);
    for (u32 i = 0; i < b.len; i++)
        for (u32 v = 0; v < 256; v++) {
            memcpy(copy, b.data, b.len);
            copy[i] = (u8)v;
            (void)!catrec_read_table(a, copy, (u32)b.len, &out, &err);
            arena_reset(a);
        }
    free(copy);
    arena_free(a);
    buf_free(&b);
}
END_TEST

START_TEST(role_record_reads_back)
{
    RoleDef in = {.role_id = 10, .superuser = 1, .can_login = 1, .inherit = 1, .connection_limit = -1, .name = STR_LIT("root")}, out;
    ByteBuf b = {0};
    Error err;
    char verifier[CATREC_VERIFIER_MAX];
    bool keep;
    catrec_put_role(&b, &in, "SCRAM-SHA-256$x");
    ck_assert(catrec_read_role(b.data, (u32)b.len, &out, verifier, &keep, &err));
    ck_assert(!keep && out.superuser && out.connection_limit == -1 && str_eq(out.name, in.name));
    ck_assert_str_eq(verifier, "SCRAM-SHA-256$x");
    buf_clear(&b);
    catrec_put_role(&b, &in, NULL);
    ck_assert(catrec_read_role(b.data, (u32)b.len, &out, verifier, &keep, &err) && keep);
    for (u32 n = 0; n < b.len; n++)
        ck_assert(!catrec_read_role(b.data, n, &out, verifier, &keep, &err));
    buf_free(&b);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("part");
    TCase *t = tcase_create("part");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, part_reads_back_what_was_written);
    tcase_add_test(t, part_every_cut_is_refused);
    tcase_add_test(t, part_every_byte_changed);
    tcase_add_test(t, part_text_must_be_text);
    tcase_add_test(t, part_names_long_texts);
    tcase_add_test(t, pieces_of_texts);
    tcase_add_test(t, commit_reads_back);
    tcase_add_test(t, records_walk_to_the_end);
    tcase_add_test(t, catalog_records_read_back_and_refuse_damage);
    tcase_add_test(t, role_record_reads_back);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
