/*
 * sql_catalog.h
 *    A catalog made by hand for the binder's tests: four tables, two roles, no store.
 *    tests/tools/sql_compare creates the same tables in a PostgreSQL.
 */
#ifndef SQL_CATALOG_H
#define SQL_CATALOG_H

#include "backend/sql/sql.h"
#include "common/store/shape.h"

enum { OTHER_ROLE = 11 };

#define COLUMN(column_name, sql_type, mod, required) \
    {.name = STR_LIT(column_name), .type = TYPE_##sql_type, .typmod = mod, .not_null = required}

static const ColumnDef T_COLUMNS[] = {
    COLUMN("a", INT4, -1, 1), COLUMN("b", TEXT, -1, 0), COLUMN("c", NUMERIC, ((10 << 16) | 2) + 4, 0), COLUMN("d", TIMESTAMP, -1, 0),
    COLUMN("e", VARCHAR, 14, 0), COLUMN("f", FLOAT8, -1, 0), COLUMN("g", INT8, -1, 0), COLUMN("h", INT2, -1, 0),
    COLUMN("i", BOOL, -1, 0), COLUMN("j", DATE, -1, 0), COLUMN("k", TIMESTAMPTZ, -1, 0), COLUMN("r", FLOAT4, -1, 0),
};
static const ColumnDef U_COLUMNS[] = {
    COLUMN("a", INT4, -1, 0), COLUMN("b", TEXT, -1, 0), COLUMN("x", INT4, -1, 1), COLUMN("n", NUMERIC, -1, 0),
};
static const ColumnDef MIXED_COLUMNS[] = {COLUMN("Col", INT4, -1, 0), COLUMN("select", TEXT, -1, 0)};
static const ColumnDef TWO_COLUMNS[] = {COLUMN("p", INT4, -1, 1), COLUMN("q", INT4, -1, 1), COLUMN("v", TEXT, -1, 0)};
static const KeyDef T_KEYS[] = {{.name = STR_LIT("t_pkey"), .primary = 1, .column_count = 1, .columns = {0}}};
static const KeyDef U_KEYS[] = {{.name = STR_LIT("u_x_key"), .column_count = 1, .columns = {2}}};
static const KeyDef TWO_KEYS[] = {{.name = STR_LIT("two_pkey"), .primary = 1, .column_count = 2, .columns = {0, 1}}};

#define TABLE(id, table_name, cols, key_list, n) \
    {.table_id = id, .schema_version = 1, .owner_id = ROLE_ROOT, .column_count = COUNT_OF(cols), .key_count = n, \
     .name = STR_LIT(table_name), .columns = cols, .keys = key_list, .acl = TEST_ACL, .acl_count = id == 16387, .has_acl = id == 16387}
/* The other role may read u and nothing else. */
static const AclItem TEST_ACL[] = {{.role_id = OTHER_ROLE, .bits = ACL_SELECT, .grantor_id = ROLE_ROOT}};
static const TableDef TEST_TABLES[] = {
    TABLE(16384, "Mixed", MIXED_COLUMNS, NULL, 0),
    TABLE(16385, "t", T_COLUMNS, T_KEYS, 1),
    TABLE(16386, "two", TWO_COLUMNS, TWO_KEYS, 1),
    TABLE(16387, "u", U_COLUMNS, U_KEYS, 1),
};
static const RoleDef TEST_ROLES[] = {
    {.role_id = ROLE_ROOT, .superuser = 1, .can_login = 1, .name = STR_LIT("root")},
    {.role_id = OTHER_ROLE, .can_login = 1, .name = STR_LIT("other")},
};

static const RoleDef *const TEST_ROLE_LIST[] = {&TEST_ROLES[0], &TEST_ROLES[1]};
static const RolesShm TEST_ROLES_SHM = {.count = 2, .roles = TEST_ROLE_LIST};
static const Root TEST_ROOT = {.roles = &TEST_ROLES_SHM};

const TableDef *
catalog_find_table(const Root *root, Str name)
{
    (void)root;
    for (u32 i = 0; i < COUNT_OF(TEST_TABLES); i++)
        if (str_eq(TEST_TABLES[i].name, name))
            return &TEST_TABLES[i];
    return NULL;
}

const TableDef *
catalog_table(const Root *root, u32 table_id)
{
    (void)root;
    return table_id - 16384 < COUNT_OF(TEST_TABLES) ? &TEST_TABLES[table_id - 16384] : NULL;
}

u64
catalog_version(const Root *root)
{
    (void)root;
    return 1;
}

void
catalog_each_table(const Root *root, bool (*visit)(void *ctx, const TableDef *t), void *ctx)
{
    (void)root;
    for (u32 i = 0; i < COUNT_OF(TEST_TABLES); i++)
        if (!visit(ctx, &TEST_TABLES[i]))
            return;
}

#endif
