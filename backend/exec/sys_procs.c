/*
 * sys_procs.c
 *    pg_proc, pg_operator, pg_cast, pg_am, pg_language, pg_opclass, pg_opfamily, pg_collation: what the server is made with.
 *
 * pg_proc has what functions.def and aggregates.def have (kern/procs.h). Operators, casts and operator classes are PostgreSQL's for the types that are
 * here (system_facts.def).
 */
#include "backend/exec/system.h"

#include "backend/kern/procs.h"

enum { LANGUAGE_INTERNAL = 12, AM_BTREE = 403 };

void
system_rows_PROC(SystemRows *r)
{
    for (u32 i = 0; i < proc_count(); i++) {
        const ProcFacts p = proc_at(i);
        i64 args[PROC_MAX_ARGS];
        if (!p.oid)
            continue;
        for (u32 k = 0; k < p.arg_count; k++)
            args[k] = p.args[k];
        system_int(r, p.oid);
        system_string(r, p.name);
        system_int(r, SCHEMA_PG_CATALOG);
        system_int(r, ROLE_ROOT);
        system_int(r, LANGUAGE_INTERNAL);
        system_real(r, 1);
        system_real(r, p.gives_rows ? 1000 : 0);
        system_int(r, 0); /* provariadic */
        system_int(r, 0); /* prosupport */
        system_int(r, p.kind);
        system_bool(r, false); /* prosecdef */
        system_bool(r, false); /* proleakproof */
        system_bool(r, p.strict);
        system_bool(r, p.gives_rows);
        system_int(r, p.volatility);
        system_int(r, p.volatility == 'v' ? 'r' : 's');
        system_int(r, p.arg_count);
        system_int(r, 0); /* pronargdefaults */
        system_int(r, p.ret);
        system_ints(r, args, p.arg_count);
        system_nulls(r, 5); /* proallargtypes, proargmodes, proargnames, proargdefaults, protrftypes */
        system_string(r, p.kind == 'f' ? p.name : p.kind == 'a' ? "aggregate_dummy" : p.name);
        system_end_row(r);
    }
}

void
system_rows_OPERATOR(SystemRows *r)
{
    static const struct { u32 oid; const char *name; u32 left, right, result, function; } OPERATORS[] = {
#define SYSTEM_OPERATOR(oid, name, left, right, result, function) {oid, name, left, right, result, function},
#include "backend/exec/system_facts.def"
    };
    for (u32 i = 0; i < COUNT_OF(OPERATORS); i++) {
        u32 count;
        if (!func_candidates(str_of(OPERATORS[i].name), true, &count))
            continue;
        system_int(r, OPERATORS[i].oid);
        system_string(r, OPERATORS[i].name);
        system_int(r, SCHEMA_PG_CATALOG);
        system_int(r, ROLE_ROOT);
        system_int(r, OPERATORS[i].left ? 'b' : 'l');
        system_bool(r, false); /* oprcanmerge */
        system_bool(r, false); /* oprcanhash */
        system_int(r, OPERATORS[i].left);
        system_int(r, OPERATORS[i].right);
        system_int(r, OPERATORS[i].result);
        system_int(r, 0); /* oprcom */
        system_int(r, 0); /* oprnegate */
        system_int(r, OPERATORS[i].function);
        system_int(r, 0); /* oprrest */
        system_int(r, 0); /* oprjoin */
        system_end_row(r);
    }
}

void
system_rows_CAST(SystemRows *r)
{
    static const struct { u32 oid, source, target, function; char context, method; } CASTS[] = {
#define SYSTEM_CAST(oid, source, target, function, context, method) {oid, source, target, function, context, method},
#include "backend/exec/system_facts.def"
    };
    for (u32 i = 0; i < COUNT_OF(CASTS); i++) {
        system_int(r, CASTS[i].oid);
        system_int(r, CASTS[i].source);
        system_int(r, CASTS[i].target);
        system_int(r, CASTS[i].function);
        system_int(r, CASTS[i].context);
        system_int(r, CASTS[i].method);
        system_end_row(r);
    }
}

void
system_rows_AM(SystemRows *r)
{
    static const struct { u32 oid; const char *name; u32 handler; char type; } METHODS[] = {{2, "heap", 3, 't'}, {AM_BTREE, "btree", 330, 'i'}};
    for (u32 i = 0; i < COUNT_OF(METHODS); i++) {
        system_int(r, METHODS[i].oid);
        system_string(r, METHODS[i].name);
        system_int(r, METHODS[i].handler);
        system_int(r, METHODS[i].type);
        system_end_row(r);
    }
}

void
system_rows_LANGUAGE(SystemRows *r)
{
    static const struct { u32 oid; const char *name; u32 validator; } LANGUAGES[] = {{LANGUAGE_INTERNAL, "internal", 2246}, {14, "sql", 2248}};
    for (u32 i = 0; i < COUNT_OF(LANGUAGES); i++) {
        system_int(r, LANGUAGES[i].oid);
        system_string(r, LANGUAGES[i].name);
        system_int(r, ROLE_ROOT);
        system_bool(r, false);     /* lanispl */
        system_bool(r, i > 0);     /* lanpltrusted */
        system_int(r, 0);          /* lanplcallfoid */
        system_int(r, 0);          /* laninline */
        system_int(r, LANGUAGES[i].validator);
        system_end_row(r);
    }
}

void
system_rows_OPCLASS(SystemRows *r)
{
    static const struct { u32 oid, method; const char *name; u32 family, type, key; bool is_default; } CLASSES[] = {
#define OPERATOR_CLASS(oid, method, name, family, type, key, is_default) {oid, method, name, family, type, key, is_default},
#include "backend/exec/system_facts.def"
    };
    for (u32 i = 0; i < COUNT_OF(CLASSES); i++) {
        if (CLASSES[i].method != AM_BTREE)
            continue;
        system_int(r, CLASSES[i].oid);
        system_int(r, CLASSES[i].method);
        system_string(r, CLASSES[i].name);
        system_int(r, SCHEMA_PG_CATALOG);
        system_int(r, ROLE_ROOT);
        system_int(r, CLASSES[i].family);
        system_int(r, CLASSES[i].type);
        system_bool(r, CLASSES[i].is_default);
        system_int(r, CLASSES[i].key);
        system_end_row(r);
    }
}

void
system_rows_OPFAMILY(SystemRows *r)
{
    static const struct { u32 oid, method; const char *name; } FAMILIES[] = {
#define OPERATOR_FAMILY(oid, method, name) {oid, method, name},
#include "backend/exec/system_facts.def"
    };
    for (u32 i = 0; i < COUNT_OF(FAMILIES); i++) {
        if (FAMILIES[i].method != AM_BTREE)
            continue;
        system_int(r, FAMILIES[i].oid);
        system_int(r, FAMILIES[i].method);
        system_string(r, FAMILIES[i].name);
        system_int(r, SCHEMA_PG_CATALOG);
        system_int(r, ROLE_ROOT);
        system_end_row(r);
    }
}

void
system_rows_COLLATION(SystemRows *r)
{
    static const struct { u32 oid; const char *name; char provider; i32 encoding; const char *collate; } COLLATIONS[] = {
        {100, "default", 'd', -1, NULL}, {950, "C", 'c', -1, "C"}, {951, "POSIX", 'c', -1, "POSIX"}, {12340, "ucs_basic", 'c', 6, "C"}};
    for (u32 i = 0; i < COUNT_OF(COLLATIONS); i++) {
        system_int(r, COLLATIONS[i].oid);
        system_string(r, COLLATIONS[i].name);
        system_int(r, SCHEMA_PG_CATALOG);
        system_int(r, ROLE_ROOT);
        system_int(r, COLLATIONS[i].provider);
        system_bool(r, true); /* collisdeterministic */
        system_int(r, COLLATIONS[i].encoding);
        system_string(r, COLLATIONS[i].collate);
        system_string(r, COLLATIONS[i].collate);
        system_end_row(r);
    }
}
