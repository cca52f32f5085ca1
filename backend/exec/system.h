/*
 * system.h
 *    Making the rows of the system's relations (common/store/system.def): one producer each, run when the plan is opened, on the session's thread.
 */
#ifndef EXEC_SYSTEM_H
#define EXEC_SYSTEM_H

#include "backend/exec/run.h"
#include "common/store/system.h"

typedef struct SystemRows {
    Exec *exec;
    Arena *arena;          /* of the execution: what rows point to */
    const TableDef *def;
    u32 column, count, capacity;
    Value *row;            /* being made, one a column of the relation */
    const PlanNode *node;
    Value *cells;          /* [row][slot]: the columns that are asked for */
} SystemRows;

/* A row: its columns in order, then system_end_row. Columns that are not set are NULL. */
void system_null(SystemRows *r);
void system_bool(SystemRows *r, bool v);
void system_int(SystemRows *r, i64 v);  /* of the column's own width: smallint, integer, bigint, oid, xid, timestamps, "char" */
void system_text(SystemRows *r, Str v); /* copied */
void system_end_row(SystemRows *r);

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, schema, name, ...) void system_rows_##symbol(SystemRows *r);
#include "common/store/system.def"

#endif
