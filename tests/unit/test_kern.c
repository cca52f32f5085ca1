/* test_kern.c: the tables of functions and aggregates, and the kernels against slow references. */
#include "backend/kern/agg.h"
#include "backend/kern/func.h"

#include <check.h>

static bool
same_signature(const FuncDef *a, const FuncDef *b)
{
    return a->arg_count == b->arg_count && memcmp(a->args, b->args, sizeof a->args) == 0;
}

START_TEST(every_function_row_is_found_by_its_name)
{
    u32 count;
    ck_assert_ptr_null(func_candidates(STR_LIT("no_such_function"), false, &count));
    ck_assert_uint_eq(count, 0);
    const FuncDef *plus = func_candidates(STR_LIT("+"), true, &count);
    ck_assert_uint_eq(plus->id, 1);
    const FuncDef *last = func_candidates(STR_LIT("pg_sleep"), false, &count);
    for (FuncId id = 1; id <= last->id; id++) {
        const FuncDef *f = func_def(id);
        ck_assert_uint_eq(f->id, id);
        const FuncDef *all = func_candidates(str_of(f->name), f->is_operator, &count);
        ck_assert(f >= all && f < all + count);
        for (u32 i = 0; i < count; i++)
            ck_assert_msg(all + i == f || !same_signature(all + i, f), "%s is there twice", f->name);
        if (f->is_operator)
            ck_assert(f->arg_count == 1 || f->arg_count == 2);
    }
}
END_TEST

START_TEST(every_aggregate_row_is_found_by_its_name)
{
    u32 count;
    const AggDef *star = agg_candidates(STR_LIT("count"), &count);
    ck_assert_uint_eq(star->id, 1);
    ck_assert_uint_eq(star->arg_count, 0);
    const AggDef *last = agg_candidates(STR_LIT("bool_or"), &count);
    for (AggId id = 1; id <= last->id; id++) {
        const AggDef *g = agg_def(id), *all = agg_candidates(str_of(g->name), &count);
        ck_assert_uint_eq(g->id, id);
        ck_assert(g >= all && g < all + count);
        for (u32 i = 0; i < count; i++)
            ck_assert(all + i == g || all[i].arg != g->arg);
    }
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("kern");
    TCase *t = tcase_create("kern");
    tcase_add_test(t, every_function_row_is_found_by_its_name);
    tcase_add_test(t, every_aggregate_row_is_found_by_its_name);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
