/*
 * system.h
 *    Making the rows of the system's relations (common/store/system.def): one producer each, run when the plan is opened, on the session's thread.
 */
#ifndef EXEC_SYSTEM_H
#define EXEC_SYSTEM_H

#include "backend/exec/run.h"
#include "common/store/rights.h"
#include "common/store/system.h"

typedef struct SystemRows {
    Exec *exec;
    Arena *arena;          /* of the execution: what rows point to */
    const TableDef *def;
    u32 column, count, capacity;
    Value *row;            /* being made, one a column of the relation */
    const PlanNode *node;
    Value *cells;          /* [row][slot]: the columns that are asked for */
    u32 xmin;              /* of the next rows: grows with what changes them */
} SystemRows;

/* A row: its columns in order, then system_end_row. Columns that are not set are NULL. */
void system_null(SystemRows *r);
void system_bool(SystemRows *r, bool v);
void system_int(SystemRows *r, i64 v);  /* of the column's own width: smallint, integer, bigint, oid, xid, timestamps, "char" */
void system_text(SystemRows *r, Str v); /* copied */
void system_string(SystemRows *r, const char *v); /* NULL gives a NULL */
/* An array or vector of the column's own type, its elements integers or texts. */
void system_ints(SystemRows *r, const i64 *v, u32 count);
void system_texts(SystemRows *r, const Str *v, u32 count);
/* The rights on an object, or on a column of it, as an array of aclitem; NULL when nobody has changed them. */
void system_rights(SystemRows *r, const RightsOf *o, u32 column);
/* So many columns are NULL. */
void system_nulls(SystemRows *r, u32 count);
void system_real(SystemRows *r, double v);
void system_end_row(SystemRows *r);

/* What pg_type and pg_attribute say of a type; TYPE_INVALID is none. */
typedef struct SystemType {
    i16 len;
    bool by_value;
    char align, storage;
    u32 collation;
} SystemType;
SystemType system_type(TypeId t);
/* The operator class of an index on a column of the type; 0: there is none. */
u32 system_operator_class(TypeId t);
/* Does the plan look at this column? For what is dear to find out. */
bool system_wants(const SystemRows *r, u16 column);
/* What a table takes, in pages of 8 KiB. */
u32 system_pages(const TableShm *t);

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) void system_rows_##symbol(SystemRows *r);
#include "common/store/system.def"

#endif
