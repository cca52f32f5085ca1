/*
 * system.h
 *    The system's relations (pg_catalog, information_schema): definitions like those of tables, known at compile time. To the binder they are
 *    relations as others; exec makes their rows. Their ids are below FIRST_TABLE_ID.
 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include "common/store/catalog.h"

typedef enum SystemTable {
#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, schema, name, ...) SYSTEM_##symbol,
#include "common/store/system.def"
    SYSTEM_TABLE_COUNT
} SystemTable;

enum { DATABASE_OID = 5 }; /* there is one database */

/* NULL when there is none. */
const TableDef *system_find_table(Str schema, Str name);
const TableDef *system_table_def(SystemTable t);
/* By id; SYSTEM_TABLE_COUNT when it is none of them. */
SystemTable system_table_of(u32 table_id);
const char *system_table_schema(SystemTable t);

#endif
