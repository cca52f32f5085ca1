/*
 * regexp.h
 *    SQL's functions of regular expressions that give rows, for whoever runs them.
 */
#ifndef REGEXP_H
#define REGEXP_H

#include "backend/kern/call.h"

/* The rows of regexp_matches() or regexp_split_to_table() for arguments without NULL: an array of bytea, one element a row, each a text or the bytes of an
 * array of text. false: *err is set. */
bool regexp_rows(Arena *a, const FuncDef *f, const Value *args, bool (*stop)(void), Str *ret, Error *err);

#endif
