/*
 * sys_catalog.c
 *    pg_namespace, pg_class, pg_attribute, pg_attrdef, pg_index, pg_constraint: tables and their keys as the statement's root has them, and the
 *    relations of the system.
 *
 * A key is an index and a constraint; their oids come from the table's (catalog.h). Indexes are shown as btree, for that is what they do for who asks.
 */
#include "backend/exec/system.h"

#include "common/base/bytes.h"

enum { AM_HEAP = 2, AM_BTREE = 403, NO_TYPE = 0, CLASS_RELPAGES = 9, ATTRDEF_ADBIN = 3 };

/* ---- walking ---- */

typedef void (*TableRow)(SystemRows *r, const TableDef *t);
typedef struct TableWalk { SystemRows *r; TableRow row; } TableWalk;

static bool
visit_table(void *ctx, const TableDef *t)
{
    TableWalk *w = ctx;
    w->r->xmin = t->schema_version;
    w->row(w->r, t);
    return true;
}

static void
each_table(SystemRows *r, TableRow row)
{
    TableWalk w = {r, row};
    catalog_each_table(r->exec->snapshot->root, visit_table, &w);
    r->xmin = 1;
}

static u32
system_schema_oid(SystemTable t)
{
    return strcmp(system_table_schema(t), "pg_catalog") == 0 ? SCHEMA_PG_CATALOG : SCHEMA_INFORMATION;
}

/* ---- pg_namespace ---- */

void
system_rows_NAMESPACE(SystemRows *r)
{
    static const struct { u32 oid; const char *name, *acl[3]; } SCHEMAS[] = {
        {SCHEMA_PG_CATALOG, "pg_catalog", {"=UC/", "=U/"}},
        {SCHEMA_PG_TOAST, "pg_toast", {NULL}},
        {SCHEMA_PUBLIC, "public", {NULL}},
        {SCHEMA_INFORMATION, "information_schema", {"=UC/", "=U/"}},
    };
    const RoleDef *root = catalog_role(r->exec->snapshot->root, ROLE_ROOT);
    Str name = root ? root->name : STR_LIT("root");
    for (u32 i = 0; i < COUNT_OF(SCHEMAS); i++) {
        system_int(r, SCHEMAS[i].oid);
        system_string(r, SCHEMAS[i].name);
        bool public = SCHEMAS[i].oid == SCHEMA_PUBLIC;
        RightsOf o = rights_of_schema(r->exec->snapshot->root);
        system_int(r, public ? o.owner_id : ROLE_ROOT);
        if (public)
            system_rights(r, &o, 0);
        else if (SCHEMAS[i].acl[0])
            system_texts(r, (Str[]){str_of(arena_printf(r->arena, "%.*s%s%.*s", (int)name.len, name.ptr, SCHEMAS[i].acl[0], (int)name.len, name.ptr)),
                                    str_of(arena_printf(r->arena, "%s%.*s", SCHEMAS[i].acl[1], (int)name.len, name.ptr))}, 2);
        system_end_row(r);
    }
}

/* ---- pg_class ---- */

typedef struct ClassFacts {
    u32 oid, schema, owner, am;
    Str name;
    char kind, identity;
    u32 pages, columns;
    double rows;
    u32 checks;
    bool has_index, has_rules, is_table;
    const TableDef *rights_of; /* NULL: it has none of its own */
} ClassFacts;

static void
class_row(SystemRows *r, const ClassFacts *c)
{
    system_int(r, c->oid);
    system_text(r, c->name);
    system_int(r, c->schema);
    system_int(r, NO_TYPE); /* reltype */
    system_int(r, NO_TYPE); /* reloftype */
    system_int(r, c->owner);
    system_int(r, c->am);
    system_int(r, c->oid >= FIRST_TABLE_ID ? c->oid : 0); /* relfilenode */
    system_int(r, 0);                                     /* reltablespace */
    system_int(r, c->pages);
    system_real(r, c->rows);
    system_int(r, 0); /* relallvisible */
    system_int(r, 0); /* reltoastrelid */
    system_bool(r, c->has_index);
    system_bool(r, false); /* relisshared */
    system_int(r, 'p');
    system_int(r, c->kind);
    system_int(r, c->columns);
    system_int(r, c->checks);
    system_bool(r, c->has_rules);
    for (int i = 0; i < 4; i++) /* relhastriggers, relhassubclass, relrowsecurity, relforcerowsecurity */
        system_bool(r, false);
    system_bool(r, true); /* relispopulated */
    system_int(r, c->identity);
    system_bool(r, false); /* relispartition */
    system_int(r, 0);      /* relrewrite */
    system_int(r, c->is_table ? 3 : 0);
    system_int(r, c->is_table ? 1 : 0);
    if (c->rights_of) {
        RightsOf o = rights_of_table(c->rights_of);
        system_rights(r, &o, 0);
    }
    system_end_row(r);
}

static void
class_rows_of(SystemRows *r, const TableDef *t)
{
    const TableShm *shm = store_table(r->exec->snapshot->root, t->table_id);
    double rows = (double)table_live_estimate(shm);
    class_row(r, &(ClassFacts){.oid = t->table_id, .schema = SCHEMA_PUBLIC, .owner = t->owner_id, .am = AM_HEAP, .name = t->name, .kind = 'r', .identity = 'd',
                               .columns = t->column_count, .checks = t->check_count, .rows = rows, .pages = system_wants(r, CLASS_RELPAGES) ? system_pages(shm) : 0, .has_index = t->key_count > 0, .is_table = true, .rights_of = t});
    for (u32 k = 0; k < t->key_count; k++)
        class_row(r, &(ClassFacts){.oid = catalog_index_oid(t->table_id, &t->keys[k]), .schema = SCHEMA_PUBLIC, .owner = t->owner_id, .am = AM_BTREE,
                                   .name = t->keys[k].name, .kind = 'i', .identity = 'n', .columns = t->keys[k].column_count, .rows = rows, .pages = 1});
}

void
system_rows_CLASS(SystemRows *r)
{
    for (int i = 0; i < SYSTEM_TABLE_COUNT; i++) {
        SystemTable s = (SystemTable)i;
        const TableDef *t = system_table_def(s);
        bool view = system_table_is_view(s);
        class_row(r, &(ClassFacts){.oid = t->table_id, .schema = system_schema_oid(s), .owner = ROLE_ROOT, .am = view ? 0 : AM_HEAP, .name = t->name,
                                   .kind = view ? 'v' : 'r', .identity = 'n', .columns = t->column_count, .rows = view ? 0 : -1, .has_rules = view,
                                   .is_table = !view});
    }
    each_table(r, class_rows_of);
}

/* ---- pg_attribute ---- */

static void
attribute_row(SystemRows *r, u32 relation, Str name, TypeId type, i32 typmod, i32 number, bool not_null, bool has_default, const TableDef *rights_of)
{
    const SystemType f = system_type(type);
    system_int(r, relation);
    system_text(r, name);
    system_int(r, type ? type_oid(type) : 0);
    system_int(r, number < 0 ? 0 : -1); /* attstattarget */
    system_int(r, f.len);
    system_int(r, number);
    system_int(r, type_is_array(type) && !type_is_vector(type)); /* attndims */
    system_int(r, -1);                                           /* attcacheoff */
    system_int(r, typmod);
    system_bool(r, f.by_value);
    system_int(r, f.align);
    system_int(r, f.storage);
    system_int(r, 0); /* attcompression */
    system_bool(r, not_null);
    system_bool(r, has_default);
    system_bool(r, false); /* atthasmissing */
    system_int(r, 0);      /* attidentity */
    system_int(r, 0);      /* attgenerated */
    system_bool(r, false); /* attisdropped */
    system_bool(r, true);  /* attislocal */
    system_int(r, 0);      /* attinhcount */
    system_int(r, f.collation);
    if (rights_of) {
        RightsOf o = rights_of_table(rights_of);
        system_rights(r, &o, (u32)number);
    }
    system_end_row(r);
}

static void
system_attributes(SystemRows *r, u32 relation)
{
    static const struct { const char *name; TypeId type; i32 number; } COLUMNS[] = {
        {"ctid", TYPE_TID, -1}, {"xmin", TYPE_XID, -2}, {"cmin", TYPE_CID, -3}, {"xmax", TYPE_XID, -4}, {"cmax", TYPE_CID, -5}, {"tableoid", TYPE_OID, -6}};
    for (u32 i = 0; i < COUNT_OF(COLUMNS); i++)
        attribute_row(r, relation, str_of(COLUMNS[i].name), COLUMNS[i].type, -1, COLUMNS[i].number, true, false, NULL);
}

static void
attribute_rows_of(SystemRows *r, const TableDef *t)
{
    for (u32 i = 0; i < t->column_count; i++) {
        const ColumnDef *c = &t->columns[i];
        attribute_row(r, t->table_id, c->name, (TypeId)c->type, c->typmod, (i32)i + 1, c->not_null, c->default_text.len > 0, t);
    }
    system_attributes(r, t->table_id);
    for (u32 k = 0; k < t->key_count; k++)
        for (u32 i = 0; i < t->keys[k].column_count; i++) {
            const ColumnDef *c = &t->columns[t->keys[k].columns[i]];
            attribute_row(r, catalog_index_oid(t->table_id, &t->keys[k]), c->name, (TypeId)c->type, c->typmod, (i32)i + 1, false, false, NULL);
        }
}

/* Of the system's tables those columns cannot be NULL that stand before the first one of varying length. */
static void
attributes_of_system(SystemRows *r, SystemTable s)
{
    const TableDef *t = system_table_def(s);
    bool fixed = !system_table_is_view(s);
    for (u32 i = 0; i < t->column_count; i++) {
        TypeId type = (TypeId)t->columns[i].type;
        fixed = fixed && type_wire_len(type) > 0;
        attribute_row(r, t->table_id, t->columns[i].name, type, -1, (i32)i + 1, fixed || (type_is_vector(type) && !system_table_is_view(s)), false, NULL);
    }
    if (!system_table_is_view(s))
        system_attributes(r, t->table_id);
}

void
system_rows_ATTRIBUTE(SystemRows *r)
{
    for (int i = 0; i < SYSTEM_TABLE_COUNT; i++)
        attributes_of_system(r, (SystemTable)i);
    each_table(r, attribute_rows_of);
}

static Str
default_text(SystemRows *r, const TableDef *t, u16 column)
{
    const CatalogNames *names = r->exec->ctx->env.format->catalog;
    Value args[] = {{.type = TYPE_OID, .typmod = -1, .i64v = t->table_id}, {.type = TYPE_INT4, .typmod = -1, .i32v = column}}, v = {.type = TYPE_TEXT};
    Error err;
    if (!names)
        return t->columns[column].default_text;
    CHECKED(names->call(names, r->arena, FOP_DEFAULT_TEXT, args, 2, &v, &err), &err);
    return v.str;
}

static void
default_rows_of(SystemRows *r, const TableDef *t)
{
    bool wanted = system_wants(r, ATTRDEF_ADBIN);
    for (u16 i = 0; i < t->column_count; i++) {
        if (!t->columns[i].default_text.len)
            continue;
        system_int(r, catalog_default_oid(t->table_id, i));
        system_int(r, t->table_id);
        system_int(r, i + 1);
        if (wanted)
            system_text(r, default_text(r, t, i));
        system_end_row(r);
    }
}

void
system_rows_ATTRDEF(SystemRows *r)
{
    each_table(r, default_rows_of);
}

/* ---- keys ---- */

static void
index_rows_of(SystemRows *r, const TableDef *t)
{
    i64 columns[MAX_KEY_COLUMNS], collations[MAX_KEY_COLUMNS], classes[MAX_KEY_COLUMNS], options[MAX_KEY_COLUMNS];
    for (u32 k = 0; k < t->key_count; k++) {
        const KeyDef *key = &t->keys[k];
        for (u32 i = 0; i < key->column_count; i++) {
            TypeId type = (TypeId)t->columns[key->columns[i]].type;
            columns[i] = key->columns[i] + 1;
            collations[i] = system_type(type).collation;
            classes[i] = system_operator_class(type);
            options[i] = 0;
        }
        system_int(r, catalog_index_oid(t->table_id, key));
        system_int(r, t->table_id);
        system_int(r, key->column_count);
        system_int(r, key->column_count);
        system_bool(r, true);  /* indisunique */
        system_bool(r, false); /* indnullsnotdistinct */
        system_bool(r, key->primary);
        system_bool(r, false); /* indisexclusion */
        system_bool(r, true);  /* indimmediate */
        system_bool(r, false); /* indisclustered */
        system_bool(r, true);  /* indisvalid */
        system_bool(r, false); /* indcheckxmin */
        system_bool(r, true);  /* indisready */
        system_bool(r, true);  /* indislive */
        system_bool(r, false); /* indisreplident */
        system_ints(r, columns, key->column_count);
        system_ints(r, collations, key->column_count);
        system_ints(r, classes, key->column_count);
        system_ints(r, options, key->column_count);
        system_end_row(r);
    }
}

void
system_rows_INDEX(SystemRows *r)
{
    each_table(r, index_rows_of);
}

typedef struct ConstraintFacts {
    u32 oid, index;
    Str name, expression;
    char type;
    bool valid, no_inherit;
    const u16 *columns;
    u32 column_count;
} ConstraintFacts;

static void
constraint_row(SystemRows *r, const TableDef *t, const ConstraintFacts *c)
{
    i64 *columns = ARENA_ARRAY(r->arena, i64, c->column_count);
    for (u32 i = 0; i < c->column_count; i++)
        columns[i] = c->columns[i] + 1;
    system_int(r, c->oid);
    system_text(r, c->name);
    system_int(r, SCHEMA_PUBLIC);
    system_int(r, c->type);
    system_bool(r, false); /* condeferrable */
    system_bool(r, false); /* condeferred */
    system_bool(r, c->valid);
    system_int(r, t->table_id);
    system_int(r, 0); /* contypid */
    system_int(r, c->index);
    system_int(r, 0); /* conparentid */
    system_int(r, 0); /* confrelid */
    for (int i = 0; i < 3; i++) /* confupdtype, confdeltype, confmatchtype */
        system_int(r, ' ');
    system_bool(r, true); /* conislocal */
    system_int(r, 0);     /* coninhcount */
    system_bool(r, c->no_inherit);
    system_ints(r, columns, c->column_count);
    system_nulls(r, 6); /* confkey, conpfeqop, conppeqop, conffeqop, confdelsetcols, conexclop */
    if (c->expression.len)
        system_text(r, c->expression);
    system_end_row(r);
}

static void
constraint_rows_of(SystemRows *r, const TableDef *t)
{
    for (u32 k = 0; k < t->key_count; k++) {
        const KeyDef *key = &t->keys[k];
        constraint_row(r, t, &(ConstraintFacts){.oid = catalog_constraint_oid(t->table_id, key), .index = catalog_index_oid(t->table_id, key), .name = key->name,
                                                .type = key->primary ? 'p' : 'u', .valid = true, .no_inherit = true, .columns = key->columns,
                                                .column_count = key->column_count});
    }
    for (u32 i = 0; i < t->check_count; i++) {
        const CheckDef *c = &t->checks[i];
        constraint_row(r, t, &(ConstraintFacts){.oid = catalog_check_oid(t->table_id, c), .name = c->name, .type = 'c', .valid = !c->not_valid,
                                                .no_inherit = c->no_inherit, .columns = c->columns, .column_count = c->column_count, .expression = c->text});
    }
}

void
system_rows_CONSTRAINT(SystemRows *r)
{
    each_table(r, constraint_rows_of);
}
