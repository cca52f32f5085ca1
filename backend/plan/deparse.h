/*
 * deparse.h
 *    Bound expressions as text; names come from the query they belong to.
 */
#ifndef DEPARSE_H
#define DEPARSE_H

#include "backend/sql/bound.h"
#include "common/base/bytes.h"

typedef struct Deparse {
    Arena *arena;
    ByteBuf *to;
    const BQuery *query; /* whose relations, groups and aggregates are meant; NULL: numbers instead of names */
} Deparse;

void deparse_expr(const Deparse *d, const BExpr *e);
void deparse_agg(const Deparse *d, const BAgg *a);

#endif
