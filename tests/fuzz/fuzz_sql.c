/*
 * fuzz_sql.c
 *    No bytes crash the parser, and nothing it accepts crashes the binder (over the hand-made catalog of the unit tests).
 *
 * As a libFuzzer target: clang -fsanitize=fuzzer,address,undefined -DFUZZER … ; alone it reads the files it is given.
 */
#include "backend/throw.h"
#include "tests/fuzz/fuzz_files.h"
#include "tests/unit/sql_catalog.h"

#include <stdlib.h>

/* Each statement is bound, too; an error ends the text. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const TypeFormat format = {.extra_float_digits = 1};
    if (size > UINT32_MAX / 2)
        return 0;
    Arena *a = arena_new("fuzz", (size_t)1 << 28, arena_full_throw);
    Catch c;
    current_catch = &c;
    if (!setjmp(c.jump)) {
        u32 count;
        /* a copy of its very size, so that reading beyond it shows */
        char *text = malloc(size ? size : 1);
        memcpy(text, data, size);
        arena_hook(a, free, text);
        ParsedStmt *s = sql_parse(a, text, (u32)size, &count);
        BindContext ctx = {.root = &TEST_ROOT, .role_id = ROLE_ROOT, .role_name = "root", .session_role_name = "root", .database = "ggs3db", .source = text, .format = &format};
        for (u32 i = 0; i < count; i++) {
            ensure((u64)s[i].start + s[i].len <= size && s[i].tag);
            sql_bind(a, &ctx, &s[i]);
        }
    }
    arena_free(a);
    return 0;
}

#ifndef FUZZER
int
main(int argc, char **argv)
{
    return fuzz_files(argc, argv);
}
#endif
