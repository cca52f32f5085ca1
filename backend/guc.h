/*
 * guc.h
 *    What SET, SHOW and RESET see: PostgreSQL's parameters (gucs.def), the server's settings, and names with a dot that clients invent.
 *
 * SET is transactional: guc_enter begins a level (the transaction, then its savepoints), guc_leave keeps or undoes what was changed in it.
 */
#ifndef GUC_H
#define GUC_H

#include "common/base/error.h"
#include "common/conf/conf.h"
#include "common/type/type.h"

typedef enum GucId {
#define GUC(symbol, name, kind, def, min, max, words, flags, text) GUC_##symbol,
#include "backend/gucs.def"
    GUC_COUNT
} GucId;

typedef struct Guc Guc;
enum { GUC_TEXT_MAX = 1024 };

/* conf is the process's own copy and changes with SET. NULL without memory. */
Guc *guc_new(Conf *conf);

/* STARTUP: becomes what RESET returns to. SESSION: SET. LOCAL: until the transaction's end. */
typedef enum GucScope { GUC_SCOPE_STARTUP, GUC_SCOPE_SESSION, GUC_SCOPE_LOCAL } GucScope;
/* Set by name (any case); value NULL: DEFAULT. */
MUST_CHECK bool guc_set(Guc *g, const char *name, const char *value, GucScope scope, Error *err);
MUST_CHECK bool guc_reset_all(Guc *g, Error *err);
/* What is fixed for clients, set by the session itself. */
void guc_fix(Guc *g, GucId id, const char *value);
/* The parameters of the running transaction: GUC_transaction_isolation and its like, by name; GUC_COUNT: none of them. */
GucId guc_transaction_parameter(const char *name);
/* The value as it will be shown; sets nothing. */
MUST_CHECK bool guc_check_value(GucId id, const char *value, char ret[], Error *err);
/* The session says how its transaction is. */
void guc_put(Guc *g, GucId id, const char *value);
/* The value as SHOW prints it, and the name as it is spelled. */
MUST_CHECK bool guc_show(const Guc *g, const char *name, const char **ret_name, char *to, size_t size, Error *err);
const char *guc_text(const Guc *g, GucId id);
/* A KB or MS parameter in its smallest unit. */
i64 guc_number(const Guc *g, GucId id);
/* SHOW ALL: calls visit in name order. */
void guc_each(const Guc *g, void (*visit)(void *ctx, const char *name, const char *value, const char *text), void *ctx);

/* What pg_settings says of a parameter that guc_each visits; numbers in their smallest unit. */
typedef struct GucInfo {
    const char *kind, *context, *unit, *words; /* unit, words: NULL without */
    bool bounded;
    i64 min, max;
    char value[GUC_TEXT_MAX], boot[GUC_TEXT_MAX], reset[GUC_TEXT_MAX];
} GucInfo;
void guc_describe(const Guc *g, const char *name, GucInfo *ret);

/* One level deeper: a transaction begins, or a savepoint. Returns the level, 1 for the transaction. */
u32 guc_enter(Guc *g);
/* This level and those within it end: their changes are kept or undone. */
void guc_leave(Guc *g, u32 level, bool keep);
/* Grows with every change. */
u64 guc_serial(const Guc *g);
/* The formats that the parameters ask for. */
TypeFormat guc_format(const Guc *g);

/* Calls report for every reported parameter whose value differs from what was reported last. */
void guc_report(Guc *g, void (*report)(void *ctx, const char *name, const char *value), void *ctx);

/* ---- guc_check.c: parameters with rules of their own. Writes the value as it will be shown. ---- */
/* now, reset: what it is and what RESET makes it. */
MUST_CHECK bool guc_check_own(GucId id, const char *value, const char *now, const char *reset, char ret[GUC_TEXT_MAX], Error *err);
/* Of a shown DateStyle: DateStyle and DateOrder. */
void guc_date_style(const char *shown, u8 *ret_style, u8 *ret_order);
/* Of a shown TimeZone; NULL for UTC. */
const struct Zone *guc_zone(const char *shown);

#endif
