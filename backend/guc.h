/*
 * guc.h
 *    What SET, SHOW and RESET see: PostgreSQL's parameters (gucs.def), the server's settings, and names with a dot that clients invent.
 *
 * SET is transactional: changes since guc_begin are undone by guc_rollback and kept by guc_commit.
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

/* conf is the process's own copy and changes with SET. NULL without memory. */
Guc *guc_new(Conf *conf);

/* Set by name (any case); value NULL: DEFAULT. startup: becomes what RESET returns to. */
MUST_CHECK bool guc_set(Guc *g, const char *name, const char *value, bool startup, Error *err);
MUST_CHECK bool guc_reset_all(Guc *g, Error *err);
/* What is fixed for clients, set by the session itself. */
void guc_fix(Guc *g, GucId id, const char *value);
/* The value as SHOW prints it, and the name as it is spelled. */
MUST_CHECK bool guc_show(const Guc *g, const char *name, const char **ret_name, char *to, size_t size, Error *err);
const char *guc_text(const Guc *g, GucId id);
/* SHOW ALL: calls visit in name order. */
void guc_each(const Guc *g, void (*visit)(void *ctx, const char *name, const char *value, const char *text), void *ctx);

void guc_commit(Guc *g);
void guc_rollback(Guc *g);
/* Grows with every change. */
u64 guc_serial(const Guc *g);
/* The formats that the parameters ask for. */
TypeFormat guc_format(const Guc *g);

/* Calls report for every reported parameter whose value differs from what was reported last. */
void guc_report(Guc *g, void (*report)(void *ctx, const char *name, const char *value), void *ctx);

/* ---- guc_check.c: parameters with rules of their own. Writes the value as it will be shown. ---- */
enum { GUC_TEXT_MAX = 1024 };
MUST_CHECK bool guc_check_own(GucId id, const char *value, char ret[GUC_TEXT_MAX], Error *err);
/* Seconds east of UTC of a shown TimeZone. */
i32 guc_zone_offset_s(const char *shown);

#endif
