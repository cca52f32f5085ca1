/*
 * conf.c
 *    Settings from defaults, file, environment and command line; later sources win because the caller reads them later.
 */
#include "common/conf/conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

const SettingDef SETTING_DEFS[CONF_COUNT] = {
#define SETTING(name, kind, def, min, max, when, text)                                                                 \
    [CONF_##name] = {#name, def, text, SETTING_##kind, SETTING_##when, min, max},
#include "common/conf/settings.def"
};

typedef struct Unit { const char *name; i64 factor; } Unit;
/* Smallest first: conf_show looks for the largest that divides the value. */
static const Unit BYTE_UNITS[] = {{"B", 1}, {"kB", 1024}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1LL << 40}, {NULL, 0}};
static const Unit MS_UNITS[] = {{"ms", 1}, {"s", 1000}, {"min", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0}};

static const Unit *
units_of(SettingKind kind)
{
    return kind == SETTING_BYTES ? BYTE_UNITS : kind == SETTING_MS ? MS_UNITS : NULL;
}

void
conf_defaults(Conf *c)
{
    Error err;
    memset(c, 0, sizeof *c);
    for (int id = 0; id < CONF_COUNT; id++)
        ensure(conf_set(c, id, SETTING_DEFS[id].default_text, &err));
}

int
conf_find(const char *name)
{
    for (int id = 0; id < CONF_COUNT; id++)
        if (strcasecmp(SETTING_DEFS[id].name, name) == 0)
            return id;
    return -1;
}

bool
conf_parse_number(SettingKind kind, const char *text, i64 *ret, Error *err)
{
    char *end;
    while (isspace((u8)*text))
        text++;
    if (kind == SETTING_BOOL) {
        static const char *const YES[] = {"on", "true", "yes", "1"}, *const NO[] = {"off", "false", "no", "0"};
        for (size_t i = 0; i < COUNT_OF(YES); i++)
            if (strcasecmp(text, YES[i]) == 0 || strcasecmp(text, NO[i]) == 0) {
                *ret = strcasecmp(text, YES[i]) == 0;
                return true;
            }
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "\"%s\" is not a boolean value", text);
    }
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || errno)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "\"%s\" is not a number", text);
    while (isspace((u8)*end))
        end++;
    const Unit *u = units_of(kind);
    if (*end && u) {
        while (u->name && strcasecmp(u->name, end) != 0)
            u++;
        if (!u->name || __builtin_mul_overflow(v, u->factor, &v))
            return error_set(err, ERR_INVALID_PARAMETER_VALUE, "\"%s\" is not a valid value with a unit", text);
    } else if (*end)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "\"%s\" is not a number", text);
    *ret = v;
    return true;
}

bool
conf_set(Conf *c, int id, const char *text, Error *err)
{
    const SettingDef *d = &SETTING_DEFS[id];
    i64 v;
    Error why;
    if (d->kind == SETTING_TEXT) {
        if (strlen(text) >= sizeof c->text[id])
            return error_set(err, ERR_INVALID_PARAMETER_VALUE, "value for parameter \"%s\" is too long", d->name);
        strcpy(c->text[id], text);
        return true;
    }
    if (!conf_parse_number(d->kind, text, &v, &why))
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": %s", d->name, why.message);
    if ((d->min || d->max) && (v < d->min || v > d->max))
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "%lld is outside the valid range for parameter \"%s\" (%lld .. %lld)",
                         (long long)v, d->name, (long long)d->min, (long long)d->max);
    c->number[id] = v;
    return true;
}

/* Cut a comment, blanks and quotes in place; returns the value. */
static char *
clean_value(char *s)
{
    while (isspace((u8)*s))
        s++;
    if (*s == '=')
        s++;
    while (isspace((u8)*s))
        s++;
    if (*s == '\'') {
        char *to = s, *from = s + 1;
        while (*from && !(from[0] == '\'' && from[1] != '\'')) {
            if (from[0] == '\'')
                from++;
            *to++ = *from++;
        }
        *to = 0;
        return s;
    }
    s[strcspn(s, "#\r\n")] = 0;
    for (size_t n = strlen(s); n && isspace((u8)s[n - 1]); n--)
        s[n - 1] = 0;
    return s;
}

bool
conf_read_file(Conf *c, const char *path, Error *err)
{
    char line[2048];
    FILE *f = fopen(path, "re");
    if (!f)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "cannot read settings file \"%s\": %s", path, strerror(errno));
    bool fine = true;
    for (int n = 1; fine && fgets(line, sizeof line, f); n++) {
        char *s = line + strspn(line, " \t"), *end = s + strcspn(s, " \t=\r\n#");
        char name[64];
        Error why;
        if (s == end)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(end - s), s);
        int id = conf_find(name);
        if (id < 0)
            fine = error_set(err, ERR_INVALID_PARAMETER_VALUE, "%s, line %d: unrecognized parameter \"%s\"", path, n, name);
        else if (!conf_set(c, id, clean_value(end), &why))
            fine = error_set(err, ERR_INVALID_PARAMETER_VALUE, "%.200s, line %d: %.250s", path, n, why.message);
    }
    fclose(f);
    return fine;
}

bool
conf_read_environment(Conf *c, Error *err)
{
    for (int id = 0; id < CONF_COUNT; id++) {
        char name[80] = "GGS3DB_";
        for (size_t i = 0; SETTING_DEFS[id].name[i]; i++)
            name[7 + i] = (char)toupper((u8)SETTING_DEFS[id].name[i]);
        const char *value = getenv(name);
        if (value && !conf_set(c, id, value, err))
            return false;
    }
    return true;
}

void
conf_show(const Conf *c, int id, char *to, size_t size)
{
    const SettingDef *d = &SETTING_DEFS[id];
    i64 v = c->number[id];
    const Unit *u = units_of(d->kind);
    if (d->kind == SETTING_TEXT)
        snprintf(to, size, "%s", c->text[id]);
    else if (d->kind == SETTING_BOOL)
        snprintf(to, size, "%s", v ? "on" : "off");
    else if (!u || v <= 0)
        snprintf(to, size, "%lld", (long long)v);
    else {
        while (u[1].name && v % u[1].factor == 0)
            u++;
        snprintf(to, size, "%lld%s", (long long)(v / u->factor), u->name);
    }
}

void
conf_print_sample(int fd)
{
    static const char *const WHEN[] = {"at start", "at start and on SIGHUP", "at start; SET in a session"};
    dprintf(fd, "# Settings of ggs3db with their defaults. Remove the # to change one.\n");
    for (int id = 0; id < CONF_COUNT; id++) {
        const SettingDef *d = &SETTING_DEFS[id];
        const char *quote = d->kind == SETTING_TEXT ? "'" : "";
        dprintf(fd, "\n# %s (%s)\n#%s = %s%s%s\n", d->text, WHEN[d->when], d->name, quote, d->default_text, quote);
    }
}
