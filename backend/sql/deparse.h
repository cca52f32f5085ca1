/*
 * deparse.h
 *    Bound expressions as text; names come from the query they belong to. Over one relation the text means the same when it is bound again.
 */
#ifndef DEPARSE_H
#define DEPARSE_H

#include "backend/sql/bound.h"
#include "common/base/bytes.h"

typedef struct Deparse {
    Arena *arena;
    ByteBuf *to;
    const BQuery *query; /* whose relations, groups and aggregates are meant; NULL: numbers instead of names */
    bool exact;          /* constants say their type where the parser would take another one; else bigint and smallint do not: the planner makes those */
    bool pretty;         /* no parentheses where PostgreSQL's pretty form has none */
    const BExpr *self, *parent; /* deparse.c's: the node at hand and the one above it */
    bool short_lists;    /* varchar IN ('a', 'b') as PostgreSQL shows it, which is not what it becomes when it is bound again, but means the same */
} Deparse;

void deparse_expr(const Deparse *d, const BExpr *e);
void deparse_agg(const Deparse *d, const BAgg *a);
/* In double quotes where it must be. */
void deparse_name(ByteBuf *to, Str name);

#endif
