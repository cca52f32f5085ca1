/*
 * sys_server.c
 *    pg_database, pg_tablespace, pg_roles, pg_stat_all_tables: the one database that there is, its roles, and how large its tables are.
 */
#include "backend/exec/system.h"

#include "common/store/roles.h"

enum { TABLESPACE_DEFAULT = 1663, TABLESPACE_GLOBAL = 1664, ENCODING_UTF8 = 6 };

void
system_rows_DATABASE(SystemRows *r)
{
    const char *name = r->exec->ctx->env.database;
    system_int(r, DATABASE_OID);
    system_string(r, name ? name : "");
    system_int(r, ROLE_ROOT);
    system_int(r, ENCODING_UTF8);
    system_int(r, 'c');
    system_bool(r, false); /* datistemplate */
    system_bool(r, true);  /* datallowconn */
    system_int(r, -1);
    system_int(r, 3); /* datfrozenxid */
    system_int(r, 1); /* datminmxid */
    system_int(r, TABLESPACE_DEFAULT);
    system_string(r, "C.UTF-8");
    system_string(r, "C.UTF-8");
    system_nulls(r, 3);
    RightsOf o = rights_of_database(r->exec->snapshot->root);
    system_rights(r, &o, 0);
    system_end_row(r);
}

void
system_rows_TABLESPACE(SystemRows *r)
{
    static const struct { u32 oid; const char *name; } SPACES[] = {{TABLESPACE_DEFAULT, "pg_default"}, {TABLESPACE_GLOBAL, "pg_global"}};
    for (u32 i = 0; i < COUNT_OF(SPACES); i++) {
        system_int(r, SPACES[i].oid);
        system_string(r, SPACES[i].name);
        system_int(r, ROLE_ROOT);
        system_end_row(r);
    }
}

static bool
table_statistics(void *ctx, const TableDef *t)
{
    SystemRows *r = ctx;
    const TableShm *shm = store_table(r->exec->snapshot->root, t->table_id);
    i64 live = (i64)table_live_estimate(shm);
    system_int(r, t->table_id);
    system_string(r, "public");
    system_text(r, t->name);
    system_nulls(r, 11); /* scans and changes are not counted */
    system_int(r, live);
    system_int(r, (i64)table_row_count(shm) - live);
    system_end_row(r);
    return true;
}

void
system_rows_STAT_ALL_TABLES(SystemRows *r)
{
    catalog_each_table(r->exec->snapshot->root, table_statistics, r);
}
