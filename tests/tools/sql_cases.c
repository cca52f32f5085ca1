/*
 * sql_cases.c
 *    Reads statements, one a line, and writes what the parser and the binder make of each, one line each. For tests/tools/sql_compare.
 */
#include "tests/unit/sql_describe.h"

#include <stdlib.h>

int
main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    Arena *a = arena_new("cases", 0, arena_full_throw);
    while ((n = getline(&line, &capacity, stdin)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        puts(describe_statement(a, line, ROLE_ROOT));
        arena_reset(a);
    }
    arena_free(a);
    free(line);
    return 0;
}
