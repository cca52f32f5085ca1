/*
 * procs.h
 *    Functions as pg_proc shows them: those of functions.def, aggregates.def and the window functions, and the ones that types are read and written by.
 */
#ifndef PROCS_H
#define PROCS_H

#include "backend/kern/func.h"

enum { PROC_MAX_ARGS = FUNC_MAX_ARGS };

typedef struct ProcFacts {
    u32 oid;
    const char *name;
    char kind;       /* f, a, w */
    char volatility; /* i, s, v */
    bool strict, gives_rows;
    u8 arg_count;
    u32 args[PROC_MAX_ARGS]; /* oids of types */
    u32 ret;
} ProcFacts;

u32 proc_count(void);
ProcFacts proc_at(u32 i);
/* By oid; false: there is none. */
bool proc_find(u32 oid, ProcFacts *ret);
/* That of a function of PostgreSQL's, also of one that is not here: operators and casts are made of them. NULL: there is none. */
const char *proc_name(u32 oid);
/* No other function has the name. */
bool proc_is_only_one(const char *name);
/* "integer, text": the arguments as format_type() writes them, apart by `separator`. */
Str proc_arguments(Arena *a, const ProcFacts *p, const char *separator);

/* The functions of a type (0: none): how its values are read and written. */
typedef struct TypeProcs {
    u32 in, out, recv, send, modin, modout, analyze, subscript;
} TypeProcs;
TypeProcs type_procs(TypeId t);

#endif
