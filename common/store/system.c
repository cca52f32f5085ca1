/*
 * system.c
 *    The definitions of the system's relations, from system.def.
 */
#include "common/store/system.h"

enum { FIRST_VIEW_ID = 12001 };

#define TYPE_ARRAY_OF(t) (TYPE_##t + TYPE_ARRAY)
#define TEXT_OF(s) {s, sizeof(s) - 1}
#define COLUMN(name_, type_) {.name = TEXT_OF(name_), .type = TYPE_##type_, .typmod = -1},
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) static const ColumnDef COLUMNS_##symbol[] = {__VA_ARGS__};
#include "common/store/system.def"

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, kind, schema_, name_, ...) \
    [SYSTEM_##symbol] = {.table_id = oid, .owner_id = ROLE_ROOT, .column_count = COUNT_OF(COLUMNS_##symbol), .name = TEXT_OF(name_), \
                         .columns = COLUMNS_##symbol},
static const TableDef DEFS[SYSTEM_TABLE_COUNT] = {
#include "common/store/system.def"
};

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) [SYSTEM_##symbol] = schema,
static const char *const SCHEMAS[SYSTEM_TABLE_COUNT] = {
#include "common/store/system.def"
};

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) [SYSTEM_##symbol] = SYSTEM_KIND_##kind,
static const SystemKind KINDS[SYSTEM_TABLE_COUNT] = {
#include "common/store/system.def"
};

const TableDef *
system_find_table(Str schema, Str name)
{
    for (int i = 0; i < SYSTEM_TABLE_COUNT; i++)
        if (str_eq(DEFS[i].name, name) && str_eq(str_of(SCHEMAS[i]), schema))
            return &DEFS[i];
    return NULL;
}

const TableDef *
system_table_def(SystemTable t)
{
    return &DEFS[t];
}

SystemTable
system_table_of(u32 table_id)
{
    int i = 0;
    while (i < SYSTEM_TABLE_COUNT && DEFS[i].table_id != table_id)
        i++;
    return (SystemTable)i;
}

const char *
system_table_schema(SystemTable t)
{
    return SCHEMAS[t];
}

SystemKind
system_table_kind(SystemTable t)
{
    return KINDS[t];
}

/* Numbers of views begin where those of tables end. */
bool
system_table_is_view(SystemTable t)
{
    return DEFS[t].table_id >= FIRST_VIEW_ID;
}
