/*
 * sys_types.c
 *    pg_type: every type of types.def and its array type. What a type's length and category tell is not repeated there: alignment, storage, collation.
 */
#include "backend/exec/system.h"

#include "backend/kern/procs.h"
#include "common/type/type.h"

enum { COLLATION_DEFAULT = 100, COLLATION_C = 950, ARRAY_IN = 750, ARRAY_OUT = 751, ARRAY_RECV = 2400, ARRAY_SEND = 2401, ARRAY_ANALYZE = 3816,
       ARRAY_SUBSCRIPT = 6179 };

static char
alignment_of(i16 len)
{
    switch (len) {
    case 2: case 6: return 's';
    case 4: case -1: return 'i';
    case 8: case 12: return 'd';
    default: return 'c';
    }
}

static char
alignment(TypeId t)
{
    bool array = type_is_array(t) && !type_is_vector(t);
    TypeId elem = array ? type_element(t) : t;
    char align = elem == TYPE_INTERVAL || elem == TYPE_RECORD || elem == TYPE_ANYARRAY ? 'd' : elem == TYPE_ACLITEM ? 'i' : alignment_of(type_wire_len(elem));
    return !array || align == 'd' ? align : 'i';
}

SystemType
system_type(TypeId t)
{
    if (t == TYPE_INVALID)
        return (SystemType){.align = 'i', .storage = 'p'};
    i16 len = type_wire_len(t);
    TypeId elem = type_element(t);
    bool plain = len != -1 || type_is_vector(t);
    char storage = plain ? 'p' : t == TYPE_NUMERIC || t == TYPE_INET ? 'm' : 'x';
    u32 collation = elem == TYPE_NAME ? COLLATION_C : type_category(elem) == 'S' || elem == TYPE_NODE_TREE ? COLLATION_DEFAULT : 0;
    return (SystemType){.len = len, .by_value = len == 1 || len == 2 || len == 4 || len == 8, .align = alignment(t), .storage = storage, .collation = collation};
}

u32
system_operator_class(TypeId t)
{
    static const struct { u32 oid, method, type; bool is_default; } CLASSES[] = {
#define OPERATOR_CLASS(oid, method, name, family, type, key, is_default) {oid, method, type, is_default},
#include "backend/exec/system_facts.def"
    };
    u32 type = type_is_array(t) ? type_oid(TYPE_ANYARRAY) : t == TYPE_VARCHAR ? type_oid(TYPE_TEXT) : type_is_reg(t) ? type_oid(TYPE_OID) : type_oid(t);
    for (u32 i = 0; i < COUNT_OF(CLASSES); i++)
        if (CLASSES[i].method == 403 && CLASSES[i].is_default && CLASSES[i].type == type)
            return CLASSES[i].oid;
    return 0;
}

static TypeProcs
procs_of(TypeId t)
{
    if (type_is_array(t) && !type_is_vector(t)) {
        TypeProcs elem = type_procs(type_element(t));
        return (TypeProcs){ARRAY_IN, ARRAY_OUT, ARRAY_RECV, ARRAY_SEND, elem.modin, elem.modout, ARRAY_ANALYZE, ARRAY_SUBSCRIPT};
    }
    return type_procs(t);
}

static u32
element_oid(TypeId t)
{
    return t == TYPE_NAME ? type_oid(TYPE_CHAR) : type_is_array(t) ? type_oid(type_element(t)) : 0;
}

static void
type_row(SystemRows *r, TypeId t)
{
    const SystemType f = system_type(t);
    const TypeProcs p = procs_of(t);
    TypeId array = type_is_array(t) && !type_is_vector(t) ? TYPE_INVALID : type_array(t);
    char category = type_category(t);
    system_int(r, type_oid(t));
    system_string(r, type_internal_name(t));
    system_int(r, SCHEMA_PG_CATALOG);
    system_int(r, ROLE_ROOT);
    system_int(r, f.len);
    system_bool(r, f.by_value);
    system_int(r, category == 'P' || category == 'X' ? 'p' : 'b');
    system_int(r, category);
    system_bool(r, type_preferred(t));
    system_bool(r, true);
    system_int(r, ',');
    system_int(r, 0); /* typrelid */
    system_int(r, p.subscript);
    system_int(r, element_oid(t));
    system_int(r, array ? type_oid(array) : 0);
    system_int(r, p.in);
    system_int(r, p.out);
    system_int(r, p.recv);
    system_int(r, p.send);
    system_int(r, p.modin);
    system_int(r, p.modout);
    system_int(r, p.analyze);
    system_int(r, f.align);
    system_int(r, f.storage);
    system_bool(r, false);
    system_int(r, 0);  /* typbasetype */
    system_int(r, -1); /* typtypmod */
    system_int(r, 0);  /* typndims */
    system_int(r, f.collation);
    system_end_row(r);
}

void
system_rows_TYPE(SystemRows *r)
{
    for (u32 i = 1; i < TYPE_COUNT; i++) {
        type_row(r, (TypeId)i);
        if (type_array((TypeId)i))
            type_row(r, type_array((TypeId)i));
    }
}
