/*
 * procs.c
 *    The rows of pg_proc: what functions.def and aggregates.def have, with PostgreSQL's numbers, and what types are read and written by.
 *
 * The numbers stand in proc_oids.def by name and arguments. A row of functions.def that is not there is ours alone (bpcharpad) or one of several for a
 * function of any number of arguments (concat): it is no row of pg_proc. count() has a row a type here and one for "any" there.
 */
#include "backend/kern/procs.h"

#include <stdlib.h>

typedef struct ProcOid {
    u32 oid;
    const char *name;
    u8 arg_count;
    u32 args[PROC_MAX_ARGS];
} ProcOid;

#define PROC_OID(oid_, name_, count_, ...) {oid_, name_, count_, {__VA_ARGS__}},
static const ProcOid OIDS[] = { /* by name */
#include "backend/kern/proc_oids.def"
};

/* Those that no row of functions.def stands for. */
static const ProcFacts SYSTEM_PROCS[] = {
#define SYSTEM_PROC(oid_, name_, kind_, volatility_, strict_, ret_, count_, ...) \
    {.oid = oid_, .name = name_, .kind = kind_, .volatility = volatility_, .strict = strict_, .ret = ret_, .arg_count = count_, .args = {__VA_ARGS__}},
#include "backend/kern/system_procs.def"
};

static const struct { u32 type; TypeProcs procs; } TYPE_PROCS[] = {
#define TYPE_PROC(type_, in_, out_, recv_, send_, modin_, modout_, analyze_, subscript_) \
    {type_, {in_, out_, recv_, send_, modin_, modout_, analyze_, subscript_}},
#include "backend/kern/system_procs.def"
};

static int
compare_name(const void *key, const void *row)
{
    return strcmp(key, ((const ProcOid *)row)->name);
}

/* 0: PostgreSQL has no such function. */
static u32
oid_of(const char *name, const u32 *args, u32 arg_count)
{
    const ProcOid *row = bsearch(name, OIDS, COUNT_OF(OIDS), sizeof *OIDS, compare_name);
    if (!row)
        return 0;
    while (row > OIDS && strcmp(row[-1].name, name) == 0)
        row--;
    for (; row < OIDS + COUNT_OF(OIDS) && strcmp(row->name, name) == 0; row++)
        if (row->arg_count == arg_count && memcmp(row->args, args, arg_count * sizeof *args) == 0)
            return row->oid;
    return 0;
}

static ProcFacts
of_function(const FuncDef *f)
{
    static const char VOLATILITY[] = {[FUNC_IMMUTABLE] = 'i', [FUNC_STABLE] = 's', [FUNC_VOLATILE] = 'v', [FUNC_SERIAL] = 'v'};
    ProcFacts p = {.name = f->name, .kind = 'f', .volatility = VOLATILITY[f->volatility], .strict = f->strict, .gives_rows = func_gives_rows(f),
                   .arg_count = f->arg_count, .ret = type_oid(f->ret)};
    for (u32 i = 0; i < f->arg_count; i++)
        p.args[i] = type_oid(f->args[i]);
    if (!f->is_operator)
        p.oid = oid_of(p.name, p.args, p.arg_count);
    return p;
}

/* Of count() the first row of an argument stands for all. */
static ProcFacts
of_aggregate(const AggDef *a)
{
    ProcFacts p = {.name = a->name, .kind = 'a', .volatility = 'i', .arg_count = a->arg_count, .ret = type_oid(a->ret)};
    for (u32 i = 0; i < a->arg_count; i++)
        p.args[i] = type_oid(a->args[i]);
    if (a->op == AOP_COUNT && a->arg_count) {
        if (a->args[0] != TYPE_BOOL)
            return p;
        p.args[0] = type_oid(TYPE_ANY);
    }
    p.oid = oid_of(p.name, p.args, p.arg_count);
    return p;
}

u32
proc_count(void)
{
    return (u32)COUNT_OF(SYSTEM_PROCS) + func_count() + agg_count();
}

/* A place without a function has oid 0. */
ProcFacts
proc_at(u32 i)
{
    if (i < COUNT_OF(SYSTEM_PROCS))
        return SYSTEM_PROCS[i];
    i -= (u32)COUNT_OF(SYSTEM_PROCS);
    return i < func_count() ? of_function(func_def((FuncId)(i + 1))) : of_aggregate(agg_def((AggId)(i - func_count() + 1)));
}

bool
proc_find(u32 oid, ProcFacts *ret)
{
    for (u32 i = 0; i < COUNT_OF(SYSTEM_PROCS); i++)
        if (SYSTEM_PROCS[i].oid == oid) {
            *ret = SYSTEM_PROCS[i];
            return oid != 0;
        }
    const ProcOid *row = OIDS;
    while (row < OIDS + COUNT_OF(OIDS) && row->oid != oid)
        row++;
    if (!oid || row == OIDS + COUNT_OF(OIDS))
        return false;
    u32 count;
    Str name = str_of(row->name);
    const FuncDef *f = func_candidates(name, false, &count);
    for (u32 i = 0; i < count; i++)
        if ((*ret = of_function(&f[i])).oid == oid)
            return true;
    const AggDef *a = agg_candidates(name, &count);
    for (u32 i = 0; i < count; i++)
        if ((*ret = of_aggregate(&a[i])).oid == oid)
            return true;
    return false;
}

const char *
proc_name(u32 oid)
{
    for (u32 i = 0; i < COUNT_OF(SYSTEM_PROCS); i++)
        if (SYSTEM_PROCS[i].oid == oid)
            return SYSTEM_PROCS[i].name;
    for (u32 i = 0; i < COUNT_OF(OIDS); i++)
        if (OIDS[i].oid == oid)
            return OIDS[i].name;
    return NULL;
}

bool
proc_is_only_one(const char *name)
{
    const ProcOid *row = bsearch(name, OIDS, COUNT_OF(OIDS), sizeof *OIDS, compare_name);
    bool beside = row && ((row > OIDS && strcmp(row[-1].name, name) == 0) || (row + 1 < OIDS + COUNT_OF(OIDS) && strcmp(row[1].name, name) == 0));
    u32 found = row ? 1 + beside : 0;
    for (u32 i = 0; i < COUNT_OF(SYSTEM_PROCS); i++)
        found += strcmp(SYSTEM_PROCS[i].name, name) == 0 && !(row && row->oid == SYSTEM_PROCS[i].oid);
    return found == 1;
}

Str
proc_arguments(Arena *a, const ProcFacts *p, const char *separator)
{
    const char *list = "";
    for (u32 i = 0; i < p->arg_count; i++)
        list = arena_printf(a, "%s%s%s", list, i ? separator : "", type_name(type_from_oid(p->args[i])));
    return str_of(list);
}

TypeProcs
type_procs(TypeId t)
{
    u32 oid = type_oid(t);
    for (u32 i = 0; i < COUNT_OF(TYPE_PROCS); i++)
        if (TYPE_PROCS[i].type == oid)
            return TYPE_PROCS[i].procs;
    return (TypeProcs){0};
}
