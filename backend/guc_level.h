/*
 * guc_level.h
 *    The stack of old values of one parameter: what SET and SET LOCAL changed in the transaction and in its savepoints. Private to guc.c.
 *
 * Level 1 is the transaction, 2 and up its savepoints. An entry stands for the level that first changed the parameter since the level began, and keeps the value
 * found then (`prior`); after SET followed by SET LOCAL also what SET had made of it (`masked`), which is what the transaction's end leaves.
 */
#ifndef GUC_LEVEL_H
#define GUC_LEVEL_H

#include "common/base/base.h"

/* A parameter's value: a malloc'd text, or the number of a server setting (text NULL). */
typedef struct GucKept { char *text; i64 number; } GucKept;
typedef struct GucOld GucOld;

/* Before a change at this level: keep what is there now (`now` is copied). false without memory; then nothing has changed. */
MUST_CHECK bool guc_old_push(GucOld **stack, u32 level, bool local, GucKept now);
/* The level ends, well (keep) or not. true: *ret is the value that the parameter takes now, the caller's to free. */
bool guc_old_pop(GucOld **stack, u32 level, bool keep, GucKept *ret);

#endif
