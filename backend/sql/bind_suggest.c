/*
 * bind_suggest.c
 *    "column does not exist", with PostgreSQL's suggestion of a similar one.
 *
 * The rules are PostgreSQL's: edit distance at most 3 and at most half the name, a distance of table names added when one was written;
 * one or two equally good suggestions are given, more are none.
 */
#include "backend/sql/bind.h"

enum { MAX_DISTANCE = 3 };

/* Levenshtein distance in characters of at most 63 bytes, or more than limit. */
static u32
distance(Str a, Str b, u32 limit)
{
    u32 row[MAX_NAME_BYTES + 1];
    if (a.len > MAX_NAME_BYTES || b.len > MAX_NAME_BYTES)
        return limit + 1;
    for (u32 k = 0; k <= b.len; k++)
        row[k] = k;
    for (u32 i = 1; i <= a.len; i++) {
        u32 diagonal = row[0];
        row[0] = i;
        for (u32 k = 1; k <= b.len; k++) {
            u32 change = diagonal + (a.ptr[i - 1] != b.ptr[k - 1]);
            diagonal = row[k];
            row[k] = MIN(change, MIN(row[k], row[k - 1]) + 1);
        }
    }
    return row[b.len];
}

typedef struct Guess {
    u32 distance, count;
    const BRel *rel[2];
    Str column[2];
} Guess;

static void
consider(Guess *g, const BRel *rel, Str column, Str wanted, u32 penalty)
{
    if (penalty > g->distance)
        return;
    u32 d = distance(column, wanted, g->distance + 1 - penalty);
    if (d > wanted.len / 2)
        return;
    d += penalty;
    if (d < g->distance) {
        *g = (Guess){.distance = d, .count = 1, .rel = {rel}, .column = {column}};
    } else if (d == g->distance && g->count == 2) {
        g->count = 0;
        g->distance = d - 1;
    } else if (d == g->distance) {
        g->rel[g->count] = rel;
        g->column[g->count++] = column;
    }
}

/* A table that has the very column, but out of sight here; len 0: none. */
static Str
table_out_of_sight(const Scope *s, Str table, Str column)
{
    if (s->target && !table.len && bind_table_column(s->target, column) >= 0)
        return s->target->name;
    for (u32 i = 0; i < s->rels.count; i++) {
        const BRel *rel = LIST_AT(s->rels, BRel, i);
        for (u32 k = 0; k < rel->column_count; k++)
            if (str_eq(rel->columns[k].name, column) && (!table.len || str_eq(table, rel->alias)))
                return rel->alias;
    }
    return (Str){0};
}

void
suggest_column(Scope *s, Str table, Str column, u32 at)
{
    Guess g = {.distance = MAX_DISTANCE + 1};
    Str hidden = table_out_of_sight(s, table, column);
    for (u32 i = 0; i < s->rels.count; i++) {
        const BRel *rel = LIST_AT(s->rels, BRel, i);
        u32 penalty = table.len ? distance(table, rel->alias, MAX_DISTANCE + 1) : 0;
        for (u32 k = 0; k < rel->column_count; k++)
            consider(&g, rel, rel->columns[k].name, column, penalty);
    }
    Error err;
    if (table.len)
        error_set(&err, ERR_UNDEFINED_COLUMN, "column %.*s.%.*s does not exist", (int)table.len, table.ptr, (int)column.len, column.ptr);
    else
        error_set(&err, ERR_UNDEFINED_COLUMN, "column \"%.*s\" does not exist", (int)column.len, column.ptr);
    err.position = bind_position(s->b, at);
    if (hidden.len)
        error_hint(&err, "There is a column named \"%.*s\" in table \"%.*s\", but it cannot be referenced from this part of the query.",
                   (int)column.len, column.ptr, (int)hidden.len, hidden.ptr);
    else if (g.count == 1)
        error_hint(&err, "Perhaps you meant to reference the column \"%.*s.%.*s\".", (int)g.rel[0]->alias.len, g.rel[0]->alias.ptr,
                   (int)g.column[0].len, g.column[0].ptr);
    else if (g.count == 2)
        error_hint(&err, "Perhaps you meant to reference the column \"%.*s.%.*s\" or the column \"%.*s.%.*s\".",
                   (int)g.rel[0]->alias.len, g.rel[0]->alias.ptr, (int)g.column[0].len, g.column[0].ptr, (int)g.rel[1]->alias.len,
                   g.rel[1]->alias.ptr, (int)g.column[1].len, g.column[1].ptr);
    err_rethrow(&err);
}
