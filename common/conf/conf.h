/*
 * conf.h
 *    Server settings, derived from settings.def.
 */
#ifndef CONF_H
#define CONF_H

#include "common/base/base.h"
#include "common/base/error.h"

typedef enum SettingKind { SETTING_INT, SETTING_BYTES, SETTING_MS, SETTING_TEXT, SETTING_BOOL } SettingKind;
typedef enum SettingWhen { SETTING_START, SETTING_RELOAD, SETTING_SESSION } SettingWhen;

typedef enum SettingId {
#define SETTING(name, kind, def, min, max, when, text) CONF_##name,
#include "common/conf/settings.def"
    CONF_COUNT
} SettingId;

typedef struct SettingDef {
    const char *name, *default_text, *text;
    SettingKind kind;
    SettingWhen when;
    i64 min, max; /* 0, 0: any */
} SettingDef;

extern const SettingDef SETTING_DEFS[CONF_COUNT];

typedef struct Conf {
    i64 number[CONF_COUNT];      /* INT, BYTES, MS (milliseconds), BOOL */
    char text[CONF_COUNT][512];  /* TEXT */
} Conf;

#define conf_int(conf, name) ((conf)->number[CONF_##name])
#define conf_text(conf, name) ((conf)->text[CONF_##name])

void conf_defaults(Conf *c);
/* -1 when unknown; names as in settings.def, any case. */
int conf_find(const char *name);
MUST_CHECK bool conf_set(Conf *c, int id, const char *text, Error *err);
/* name = value lines, # comments, quotes as in postgresql.conf. 22023 with file and line. */
MUST_CHECK bool conf_read_file(Conf *c, const char *path, Error *err);
MUST_CHECK bool conf_read_environment(Conf *c, Error *err);
/* The value as SHOW prints it ("30s", "64MB", "on"). */
void conf_show(const Conf *c, int id, char *to, size_t size);
/* Parse a number with unit as `kind`. */
MUST_CHECK bool conf_parse_number(SettingKind kind, const char *text, i64 *ret, Error *err);
/* Print a sample file with all settings, their texts and defaults. */
void conf_print_sample(int fd);

#endif
