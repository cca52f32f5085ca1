/*
 * test_sql.c: lexer, parser and binder. Most cases are lines of the files in tests/unit/sql; here is what a line cannot say: shapes of bound
 * statements, splitting of texts, depth and size, rights.
 */
#include "tests/unit/sql_describe.h"

#include "backend/sql/ast.h"
#include "backend/sql/lex.h"

#include <check.h>
#include <stdlib.h>

static Arena *arena;

static void
set_up(void)
{
    arena = arena_new("test", 0, arena_full_throw);
}

static void
tear_down(void)
{
    arena_free(arena);
}

/* ---- cases in files ---- */

static void
run_file(const char *name)
{
    const char *dir = getenv("srcdir");
    char path[4096], *line = NULL, statement[4096] = "";
    snprintf(path, sizeof path, "%s/tests/unit/sql/%s.txt", dir ? dir : ".", name);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    size_t capacity = 0;
    ssize_t n;
    u32 cases = 0, wrong = 0;
    while ((n = getline(&line, &capacity, f)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        if (line[0] == '#')
            continue;
        if (strncmp(line, "    ", 4) != 0) {
            ck_assert_uint_lt((size_t)n, sizeof statement);
            memcpy(statement, line, (size_t)n);
            statement[n] = 0;
            continue;
        }
        const char *answer = describe_statement(arena, statement, ROLE_ROOT);
        char *got = arena_strndup(arena, answer, strlen(answer));
        for (size_t len = strlen(got); len && got[len - 1] == ' ';)
            got[--len] = 0;
        cases++;
        if (strcmp(got, line + 4) != 0) {
            wrong++;
            fprintf(stderr, "%s\n  wanted %s\n  got    %s\n", statement, line + 4, got);
        }
        arena_reset(arena);
    }
    free(line);
    fclose(f);
    ck_assert_uint_gt(cases, 100);
    ck_assert_uint_eq(wrong, 0);
}

START_TEST(queries)
{
    run_file("queries");
}
END_TEST

START_TEST(syntax)
{
    run_file("syntax");
}
END_TEST

START_TEST(statements)
{
    run_file("statements");
}
END_TEST

START_TEST(resolution)
{
    run_file("resolution");
}
END_TEST

START_TEST(named)
{
    run_file("named");
}
END_TEST

START_TEST(everyday)
{
    run_file("everyday");
}
END_TEST

/* ---- shapes ---- */

static BStmt *
bind_one(const char *text)
{
    static const TypeFormat format = {.extra_float_digits = 1};
    static Catch c;
    current_catch = &c;
    if (setjmp(c.jump))
        ck_abort_msg("%s: %s", text, c.error.message);
    u32 count;
    ParsedStmt *parsed = sql_parse(arena, text, (u32)strlen(text), &count);
    ck_assert_uint_eq(count, 1);
    BindContext ctx = {.root = &TEST_ROOT, .role_id = ROLE_ROOT, .role_name = "root", .session_role_name = "root", .database = "ggs3db", .source = text, .format = &format};
    return sql_bind(arena, &ctx, parsed);
}

static const char *
code_of(const char *text, u32 role)
{
    return arena_printf(arena, "%.5s", describe_statement(arena, text, role));
}

START_TEST(keywords_are_sorted)
{
    for (int k = 2; k < KW_COUNT; k++)
        ck_assert_int_lt(str_cmp(keyword_text((Keyword)(k - 1)), keyword_text((Keyword)k)), 0);
    ck_assert_int_eq(keyword_find(STR_LIT("select")), KW_SELECT);
    ck_assert_int_eq(keyword_find(STR_LIT("selec")), NO_KEYWORD);
}
END_TEST

START_TEST(a_text_is_split_into_statements)
{
    Catch c;
    current_catch = &c;
    ck_assert_int_eq(setjmp(c.jump), 0);
    const char *text = "; select 1 ;; insert into t values (1)  ;start transaction; CREATE INDEX i ON t (a); ";
    u32 n;
    ParsedStmt *s = sql_parse(arena, text, (u32)strlen(text), &n);
    ck_assert_uint_eq(n, 4);
    static const struct { const char *text, *tag; bool write; } want[] = {
        {"select 1", "SELECT", false}, {"insert into t values (1)", "INSERT", true}, {"start transaction", "START TRANSACTION", false},
        {"CREATE INDEX i ON t (a)", "CREATE INDEX", true}};
    for (u32 i = 0; i < n; i++) {
        ck_assert_uint_eq(s[i].len, strlen(want[i].text));
        ck_assert_mem_eq(text + s[i].start, want[i].text, s[i].len);
        ck_assert_str_eq(s[i].tag, want[i].tag);
        ck_assert_int_eq(s[i].is_write, want[i].write);
    }
    sql_parse(arena, " -- nothing\n ; /* here */", 25, &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(bytes_that_are_no_text_are_refused)
{
    ck_assert_str_eq(code_of("select '\xff'", ROLE_ROOT), "22021");
    const char *got = describe_statement(arena, "select '\xc3'", ROLE_ROOT);
    ck_assert_msg(strstr(got, "\"UTF8\": 0xc3 0x27"), "%s", got);
}
END_TEST

START_TEST(grouping_expressions_become_references)
{
    BQuery *q = bind_one("select b, sum(a) + 1, sum(a) from t group by b having count(*) > 1 order by max(c)")->query;
    ck_assert(q->grouped);
    ck_assert_uint_eq(q->group_count, 1);
    ck_assert_uint_eq(q->agg_count, 3); /* sum(a) once */
    ck_assert_int_eq(q->targets[0].expr->kind, BX_GROUP);
    ck_assert_int_eq(q->targets[1].expr->args[0]->kind, BX_AGG);
    ck_assert_uint_eq(q->targets[1].expr->args[0]->index, q->targets[2].expr->index);
    ck_assert_uint_eq(q->target_count, 4);
    ck_assert(q->targets[3].hidden);
    ck_assert_uint_eq(q->order_by[0].target, 3);
}
END_TEST

START_TEST(columns_of_a_grouped_key_join_the_group)
{
    BQuery *q = bind_one("select a, b, upper(e) from t group by a")->query;
    ck_assert_uint_eq(q->group_count, 3);
    ck_assert_int_eq(q->targets[1].expr->kind, BX_GROUP);
    ck_assert_uint_eq(q->targets[1].expr->index, 1);
}
END_TEST

START_TEST(joins_keep_their_shape)
{
    BQuery *q = bind_one("select * from t left join u using (a) cross join two")->query;
    ck_assert_uint_eq(q->rel_count, 3);
    ck_assert_int_eq(q->from->join, BJOIN_CROSS);
    ck_assert_int_eq(q->from->left->join, BJOIN_LEFT);
    ck_assert_ptr_nonnull(q->from->left->on);
    ck_assert_uint_eq(q->target_count, 12 + 3 + 3);
    ck_assert_uint_eq(q->targets[0].table_oid, 16385);
    ck_assert_uint_eq(q->targets[0].attribute, 1);
    ck_assert(q->rels[1].columns[0].used);
}
END_TEST

START_TEST(in_is_one_node_of_one_type)
{
    BExpr *e = bind_one("select a from t where g in (1, 2, 3)")->query->where;
    ck_assert_int_eq(e->kind, BX_IN);
    ck_assert_uint_eq(e->arg_count, 4);
    for (u32 i = 0; i < 4; i++)
        ck_assert_int_eq(e->args[i]->type, TYPE_INT8);
    ck_assert_int_eq(bind_one("select a from t where a in (1, g)")->query->where->kind, BX_OR);
    ck_assert_int_eq(bind_one("select a from t where a not in (1)")->query->where->kind, BX_FUNC);
}
END_TEST

START_TEST(chains_are_flat)
{
    BExpr *e = bind_one("select a from t where a = 1 and b = 'x' and c > 5 and i")->query->where;
    ck_assert_int_eq(e->kind, BX_AND);
    ck_assert_uint_eq(e->arg_count, 4);
}
END_TEST

START_TEST(insert_has_columns_and_values)
{
    BStmt *s = bind_one("insert into t (b, a) values ('x', '5')");
    ck_assert_int_eq(s->kind, BST_INSERT);
    ck_assert_uint_eq(s->column_count, 2);
    ck_assert_uint_eq(s->columns[0], 1);
    ck_assert_uint_eq(s->columns[1], 0);
    ck_assert_ptr_null(s->query->from);
    ck_assert_int_eq(s->query->targets[1].expr->value.i32v, 5);
    s = bind_one("insert into t values (1, 'x'), (2, null)");
    ck_assert_int_eq(s->query->rels[0].kind, BREL_VALUES);
    ck_assert_uint_eq(s->query->rels[0].row_count, 2);
    ck_assert_uint_eq(s->column_count, 2);
    s = bind_one("insert into t (b) select a from u order by a");
    ck_assert(s->query->targets[s->query->order_by[0].target].hidden);
}
END_TEST

START_TEST(update_has_its_columns_in_order)
{
    BStmt *s = bind_one("update t set c = 1, a = 2 where b = 'x'");
    ck_assert_uint_eq(s->column_count, 2);
    ck_assert_uint_eq(s->columns[0], 0);
    ck_assert_uint_eq(s->columns[1], 2);
    ck_assert_int_eq(s->query->targets[1].expr->typmod, ((10 << 16) | 2) + 4);
}
END_TEST

START_TEST(keys_get_names)
{
    TableDef *d = bind_one("create table n (x int unique, a int, b int, unique (a, b), primary key (b), unique (b), constraint foo unique (x, a))")->create;
    ck_assert_uint_eq(d->key_count, 4);
    static const char *const want[] = {"n_pkey", "n_x_key", "n_a_b_key", "foo"};
    for (u32 i = 0; i < d->key_count; i++)
        ck_assert(str_eq(d->keys[i].name, str_of(want[i])));
    ck_assert(d->keys[0].primary);
    ck_assert(d->columns[2].not_null);
    d = bind_one("create table u_x (key int, primary key (key))")->create;
    ck_assert(str_eq(d->keys[0].name, STR_LIT("u_x_pkey")));
}
END_TEST

START_TEST(taken_key_names_are_numbered)
{
    /* u_x_key is a key of u */
    TableDef *d = bind_one("create table u_x (key int, a int, unique (key), unique (a))")->create;
    ck_assert(str_eq(d->keys[0].name, STR_LIT("u_x_key_key")));
    d = bind_one("create table n (a int, b int, a_b int, unique (a, b), unique (a_b))")->create;
    ck_assert(str_eq(d->keys[0].name, STR_LIT("n_a_b_key")));
    ck_assert(str_eq(d->keys[1].name, STR_LIT("n_a_b_key1")));
    d = bind_one("create table \"u\xc3\xa4\" (x int unique)")->create;
    ck_assert(str_eq(d->keys[0].name, STR_LIT("u\xc3\xa4_x_key")));
}
END_TEST

START_TEST(settings_and_modes)
{
    BStmt *s = bind_one("set search_path to \"$user\", public");
    ck_assert_str_eq(s->name, "search_path");
    ck_assert_str_eq(s->text, "\"$user\", public");
    s = bind_one("begin isolation level repeatable read, read only");
    ck_assert_uint_eq(s->setting_count, 2);
    ck_assert_str_eq(s->settings[0].name, "transaction_isolation");
    ck_assert_str_eq(s->settings[0].value, "repeatable read");
    ck_assert_str_eq(s->settings[1].value, "on");
    s = bind_one("set time zone default");
    ck_assert_str_eq(s->name, "timezone");
    ck_assert_ptr_null(s->text);
    ck_assert_int_eq(bind_one("alter role other password null")->kind, BST_ACCESS);
    ck_assert_int_eq(bind_one("vacuum full t")->kind, BST_NOOP);
    s = bind_one("drop table if exists nosuch, t");
    ck_assert_uint_eq(s->drop_count, 1);
    ck_assert_str_eq(s->notices[0]->text, "table \"nosuch\" does not exist, skipping");
    s = bind_one("create table if not exists t (a int)");
    ck_assert_ptr_null(s->create);
    ck_assert_str_eq(s->notices[0]->text, "relation \"t\" already exists, skipping");
}
END_TEST

START_TEST(declared_parameters_are_kept)
{
    static const TypeFormat format = {.extra_float_digits = 1};
    Catch c;
    current_catch = &c;
    ck_assert_int_eq(setjmp(c.jump), 0);
    const char *text = "select a from t where g = $1 and b = $2";
    u32 n;
    ParsedStmt *parsed = sql_parse(arena, text, (u32)strlen(text), &n);
    TypeId declared[] = {TYPE_INT4, TYPE_INVALID};
    BindContext ctx = {.root = &TEST_ROOT, .role_id = ROLE_ROOT, .role_name = "root", .session_role_name = "root", .database = "d", .source = text, .declared_count = 2, .declared = declared,
                       .format = &format};
    BStmt *s = sql_bind(arena, &ctx, parsed);
    ck_assert_int_eq(s->param_types[0], TYPE_INT4);
    ck_assert_int_eq(s->param_types[1], TYPE_TEXT);
    ctx.no_params = true;
    if (!setjmp(c.jump)) {
        sql_bind(arena, &ctx, parsed);
        ck_abort_msg("a parameter was let through");
    }
    ck_assert_str_eq(errcode_sqlstate(c.error.code), "42P02");
    ck_assert_uint_eq(c.error.position, 27);
}
END_TEST

START_TEST(rights_are_checked_last)
{
    ck_assert_str_eq(code_of("select * from u", OTHER_ROLE), "ok | ");
    ck_assert_str_eq(code_of("select * from t", OTHER_ROLE), "42501");
    ck_assert_str_eq(code_of("select nosuch from t", OTHER_ROLE), "42703");
    ck_assert_str_eq(code_of("insert into u values (1)", OTHER_ROLE), "42501");
    ck_assert_str_eq(code_of("select u.a from u join t on true", OTHER_ROLE), "42501");
    ck_assert_str_eq(code_of("drop table u", OTHER_ROLE), "42501");
    ck_assert_str_eq(code_of("truncate u", OTHER_ROLE), "42501");
    ck_assert_str_eq(code_of("explain delete from t", OTHER_ROLE), "42501");
}
END_TEST

/* ---- depth and size ---- */

static const char *
code_of_repeated(const char *before, const char *piece, u32 times, const char *after)
{
    size_t n = strlen(piece), at = strlen(before);
    char *text = malloc(at + n * times + strlen(after) + 1);
    memcpy(text, before, at);
    for (u32 i = 0; i < times; i++, at += n)
        memcpy(text + at, piece, n);
    strcpy(text + at, after);
    const char *code = code_of(text, ROLE_ROOT);
    free(text);
    return code;
}

START_TEST(nesting_has_a_limit_and_no_crash)
{
    static const struct { const char *before, *piece, *after; } deep[] = {
        {"select ", "(", ""}, {"select ", "- ", "1"}, {"select ", "not ", "true"}, {"select * from ", "(", "t"}, {"", "(", "select 1"},
        {"select 1", "+1", ""}, {"select 1", "::int", ""}, {"select ", "abs(", "1"}, {"select ", "case when true then ", "1"},
        {"select * from t", " join u on true", ""}, {"select ", "(select ", "1"}, {"select * from ", "(select * from ", "t"},
        {"select 'x'", "||'x'", ""}, {"select a ", "between 1 and ", "2 from t"}, {"select 1 ", "in (1", ")"}, {"select ", "array[", "1"},
        {"select coalesce(", "coalesce(", "1"}, {"select 1 limit ", "(", "1"}, {"insert into t values ", "(", "1"},
        {"create table n (a int check ", "(", "1"}, {"select ", "@ ", "1"}, {"select 1 is distinct from ", "1 + (", "1"},
    };
    for (u32 i = 0; i < COUNT_OF(deep); i++) {
        const char *code = code_of_repeated(deep[i].before, deep[i].piece, 1000000, deep[i].after);
        ck_assert_msg(strcmp(code, "54001") == 0 || strcmp(code, "42601") == 0, "%s: %s", deep[i].piece, code);
        arena_reset(arena);
    }
    ck_assert_str_eq(code_of_repeated("select ", "(", 300, "1"), "42601");
    ck_assert_str_eq(code_of_repeated("select 1", "+1", 1000, ""), "ok | ");
}
END_TEST

START_TEST(length_is_no_depth)
{
    ck_assert_str_eq(code_of_repeated("select a from t where a = 1", " or a = 2", 50000, ""), "ok | ");
    arena_reset(arena);
    ck_assert_str_eq(code_of_repeated("select a from t where i", " and i", 50000, ""), "ok | ");
    arena_reset(arena);
    ck_assert_str_eq(code_of_repeated("select a from t where a in (1", ",1", 50000, ")"), "ok | ");
    arena_reset(arena);
    ck_assert_str_eq(code_of_repeated("insert into t (a, b) values (1, 'x')", ",(1,'x')", 50000, ""), "ok | ");
    arena_reset(arena);
    ck_assert_str_eq(code_of_repeated("select 1", " union select 1", 50000, ""), "54001");
    arena_reset(arena);
    ck_assert_str_eq(code_of_repeated("select 1", ", 1", 1663, ""), "ok | ");
    ck_assert_str_eq(code_of_repeated("select 1", ", 1", 1664, ""), "54011");
    ck_assert_str_eq(code_of_repeated("select 'x'", "''", 50000, ""), "ok | ");
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("sql");
    TCase *t = tcase_create("sql");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, queries);
    tcase_add_test(t, syntax);
    tcase_add_test(t, statements);
    tcase_add_test(t, resolution);
    tcase_add_test(t, named);
    tcase_add_test(t, everyday);
    tcase_add_test(t, keywords_are_sorted);
    tcase_add_test(t, a_text_is_split_into_statements);
    tcase_add_test(t, bytes_that_are_no_text_are_refused);
    tcase_add_test(t, grouping_expressions_become_references);
    tcase_add_test(t, columns_of_a_grouped_key_join_the_group);
    tcase_add_test(t, joins_keep_their_shape);
    tcase_add_test(t, in_is_one_node_of_one_type);
    tcase_add_test(t, chains_are_flat);
    tcase_add_test(t, insert_has_columns_and_values);
    tcase_add_test(t, update_has_its_columns_in_order);
    tcase_add_test(t, keys_get_names);
    tcase_add_test(t, taken_key_names_are_numbered);
    tcase_add_test(t, settings_and_modes);
    tcase_add_test(t, declared_parameters_are_kept);
    tcase_add_test(t, rights_are_checked_last);
    tcase_add_test(t, nesting_has_a_limit_and_no_crash);
    tcase_add_test(t, length_is_no_depth);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
