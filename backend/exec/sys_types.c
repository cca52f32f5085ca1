/*
 * sys_types.c
 *    pg_type: every type of types.def and its array type. What a type's length and category tell is not repeated there: alignment, storage, collation.
 */
#include "backend/exec/system.h"

#include "common/type/type.h"

#include <stdio.h>

enum { OWNER_OID = 10, PG_CATALOG_OID = 11, COLLATION_DEFAULT = 100, COLLATION_C = 950 };

typedef struct TypeFacts {
    const char *name; /* typname of the type itself; its array's has a _ before it */
    u32 oid, array_oid;
    i16 len;
    char category;
    bool preferred;
} TypeFacts;

static const TypeFacts TYPES[] = {
#define SQL_TYPE(symbol, name, internal, oid, array, wire, category, preferred, storable) {internal, oid, array, wire, category, preferred},
#include "common/type/types.def"
};

static char
alignment_of(i16 len)
{
    switch (len) {
    case 2: return 's';
    case 4: case -1: return 'i';
    case 8: case 12: return 'd';
    default: return 'c';
    }
}

static void
type_row(SystemRows *r, const TypeFacts *t, TypeId id, bool array)
{
    i16 len = array ? -1 : t->len;
    char align = id == TYPE_INTERVAL ? 'd' : alignment_of(t->len);
    char storage = len != -1 ? 'p' : !array && (id == TYPE_NUMERIC || id == TYPE_INET) ? 'm' : 'x';
    char name[64];
    snprintf(name, sizeof name, "%s%s", array ? "_" : "", t->name);
    system_int(r, array ? t->array_oid : t->oid);
    system_text(r, str_of(name));
    system_int(r, PG_CATALOG_OID);
    system_int(r, OWNER_OID);
    system_int(r, len);
    system_bool(r, len == 1 || len == 2 || len == 4 || len == 8);
    system_int(r, t->category == 'P' || t->category == 'X' ? 'p' : 'b');
    system_int(r, array ? 'A' : t->category);
    system_bool(r, !array && t->preferred);
    system_bool(r, true);
    system_int(r, ',');
    system_int(r, 0); /* typrelid */
    system_null(r);   /* typsubscript */
    system_int(r, array ? t->oid : id == TYPE_NAME ? type_oid(TYPE_CHAR) : 0);
    system_int(r, array ? 0 : t->array_oid);
    for (int function = 0; function < 7; function++)
        system_null(r); /* typinput to typanalyze */
    system_int(r, !array ? align : align == 'd' ? 'd' : 'i');
    system_int(r, storage);
    system_bool(r, false);
    system_int(r, 0);  /* typbasetype */
    system_int(r, -1); /* typtypmod */
    system_int(r, 0);  /* typndims */
    system_int(r, id == TYPE_NAME ? COLLATION_C : t->category == 'S' ? COLLATION_DEFAULT : 0);
    system_end_row(r);
}

void
system_rows_TYPE(SystemRows *r)
{
    for (u32 i = 0; i < COUNT_OF(TYPES); i++) {
        type_row(r, &TYPES[i], (TypeId)(i + 1), false);
        if (TYPES[i].array_oid)
            type_row(r, &TYPES[i], (TypeId)(i + 1), true);
    }
}
