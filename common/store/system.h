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
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) SYSTEM_##symbol,
#include "common/store/system.def"
    SYSTEM_TABLE_COUNT
} SystemTable;

/* ROWS: exec makes them; EMPTY: there are none; VIEW: the binder has a text for it (sql/system_views.def). */
typedef enum SystemKind { SYSTEM_KIND_ROWS, SYSTEM_KIND_EMPTY, SYSTEM_KIND_VIEW } SystemKind;

enum { SCHEMA_PG_CATALOG = 11, SCHEMA_PG_TOAST = 99, SCHEMA_INFORMATION = 13000 };
enum { DATABASE_OID = 5 }; /* there is one database */

/* NULL when there is none. */
const TableDef *system_find_table(Str schema, Str name);
const TableDef *system_table_def(SystemTable t);
/* By id; SYSTEM_TABLE_COUNT when it is none of them. */
SystemTable system_table_of(u32 table_id);
const char *system_table_schema(SystemTable t);
SystemKind system_table_kind(SystemTable t);
/* As clients see it: also of views whose rows are made here. */
bool system_table_is_view(SystemTable t);

#endif
