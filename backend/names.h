/*
 * names.h
 *    The names behind oids, and the functions that ask the catalog: what a session answers for CatalogNames.
 *
 * All of it reads the root of the running statement, on any of its threads.
 */
#ifndef NAMES_H
#define NAMES_H

#include "backend/session.h"

/* Sets s->names. */
void names_open(Session *s);

static inline Session *
names_session(const CatalogNames *n)
{
    return (Session *)(uintptr_t)((const char *)n - offsetof(Session, names));
}

/* The parts of a name as written ("public.\"T\""), in a's memory. false: 42602, or 0A000 for another database. At most two are given. */
MUST_CHECK bool names_split(const CatalogNames *n, Arena *a, Str in, Str parts[2], u32 *ret_count, Error *err);
/* The oid of a table, a key's index or a relation of the system; 0 with *err set: none has the name. */
u32 names_relation(const CatalogNames *n, const Str *parts, u32 count, Error *err);
/* The same, of its text. */
u32 names_relation_of_text(const CatalogNames *n, Arena *a, Str in, Error *err);

/* What an oid of pg_class is; name.ptr NULL: there is none. */
typedef struct NamedRelation {
    Str name;
    const char *schema;
    const TableDef *table; /* a table, or that of the index; NULL: of the system */
    const KeyDef *key;     /* NULL: no index */
} NamedRelation;
NamedRelation names_of_relation(const CatalogNames *n, u32 oid);

/* The name of a schema; NULL: none has this oid. And its oid, 0: none has this name. */
const char *names_schema(u32 oid);
u32 names_schema_of(Str name);

/* As an identifier must be written: in quotes where it needs them. */
Str names_quote(Arena *a, Str name);

/* CatalogNames.call: catalog_call.c; what is about rights: privilege_call.c. */
bool catalog_call(const CatalogNames *n, Arena *a, u32 op, const Value *args, u32 arg_count, Value *ret, Error *err);
bool privilege_call(const CatalogNames *n, Arena *a, u32 op, const Value *args, u32 arg_count, Value *ret, Error *err);

#endif
