/*
 * guc.c
 *    The session's parameters: values as shown text, checked when set.
 *
 * A value is a malloc'd string; `reset` is what RESET returns to (the default, or what the startup packet said), `old` the stack of values that
 * the transaction and its savepoints found (guc_level.h). Server settings of kind SESSION live in the Conf and are numbers.
 *
 * Fails: returns false with PostgreSQL's message; without memory 53200.
 */
#include "backend/guc.h"

#include "backend/guc_level.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef enum GucKind { KIND_BOOL, KIND_INT, KIND_REAL, KIND_KB, KIND_MS, KIND_WORD, KIND_TEXT, KIND_OWN } GucKind;
enum { REPORT = 1, FIXED = 2, PLAIN = 4, OF_TRANSACTION = 8, CUSTOM_MAX = 100 };

typedef struct GucDef {
    const char *name, *default_text, *words, *text;
    GucKind kind;
    u32 flags;
    i64 min, max;
} GucDef;

static const GucDef DEFS[GUC_COUNT] = {
#define GUC(symbol, name, kind, def, min, max, words, flags, text) [GUC_##symbol] = {name, def, words, text, KIND_##kind, flags, min, max},
#include "backend/gucs.def"
};

typedef struct GucValue { char *now, *reset, *reported; GucOld *old; } GucValue;
typedef struct Custom { char *name, *value; GucOld *old; } Custom;

struct Guc {
    Conf *conf;
    i64 conf_reset[CONF_COUNT];
    GucOld *conf_old[CONF_COUNT];
    u32 level;      /* 0: no transaction */
    bool any_old;
    u64 reported_serial; /* of the last report, plus 1 */
    GucValue values[GUC_COUNT];
    Custom custom[CUSTOM_MAX];
    u32 custom_count;
    u64 serial;
};

static bool
out_of_memory(Error *err)
{
    return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
}

static int
find(const char *name)
{
    for (int i = 0; i < GUC_COUNT; i++)
        if (strcasecmp(DEFS[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- checking ---- */

static bool
bad_value(const char *name, const char *value, Error *err)
{
    return error_set(err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": \"%s\"", name, value);
}

static bool
check_bool(const GucDef *d, const char *value, char ret[GUC_TEXT_MAX], Error *err)
{
    static const struct { const char *word; size_t least; bool on; } WORDS[] = {
        {"true", 1, true}, {"false", 1, false}, {"yes", 1, true}, {"no", 1, false}, {"on", 2, true}, {"off", 2, false}, {"1", 1, true}, {"0", 1, false}};
    size_t n = strlen(value);
    for (size_t i = 0; i < COUNT_OF(WORDS); i++)
        if (n >= WORDS[i].least && n <= strlen(WORDS[i].word) && strncasecmp(value, WORDS[i].word, n) == 0) {
            strcpy(ret, WORDS[i].on ? "on" : "off");
            return true;
        }
    return error_set(err, ERR_INVALID_PARAMETER_VALUE, "parameter \"%s\" requires a Boolean value", d->name);
}

/* A number with something behind it that is no unit. */
static bool
bad_unit(const char *name, const char *value, bool bytes, Error *err)
{
    bad_value(name, value, err);
    error_hint(err, bytes ? "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"."
                          : "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".");
    return false;
}

typedef struct Unit { const char *name; i64 factor; } Unit;
static const Unit KB_UNITS[] = {{"TB", 1 << 30}, {"GB", 1 << 20}, {"MB", 1024}, {"kB", 1}, {NULL, 0}};
static const Unit MS_UNITS[] = {{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}, {NULL, 0}};

static bool
check_number(const GucDef *d, const char *value, char ret[GUC_TEXT_MAX], Error *err)
{
    const Unit *units = d->kind == KIND_KB ? KB_UNITS : d->kind == KIND_MS ? MS_UNITS : NULL, *u = units;
    char *end;
    double v = strtod(value, &end);
    if (end == value)
        return bad_value(d->name, value, err);
    while (isspace((u8)*end))
        end++;
    if (*end) {
        while (u && u->name && strcmp(u->name, end) != 0)
            u++;
        if (!u)
            return bad_value(d->name, value, err);
        if (!u->name)
            return bad_unit(d->name, value, d->kind == KIND_KB, err);
        v *= (double)u->factor;
    }
    if (!(v >= (double)d->min && v <= (double)d->max))
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "%.15g%s is outside the valid range for parameter \"%s\" (%lld .. %lld)", v,
                         d->kind == KIND_KB ? " kB" : d->kind == KIND_MS ? " ms" : "", d->name, (long long)d->min, (long long)d->max);
    if (d->kind == KIND_REAL) {
        snprintf(ret, GUC_TEXT_MAX, "%.15g", v);
        return true;
    }
    i64 n = (i64)(v < 0 ? v - 0.5 : v + 0.5);
    for (u = units; u && u->name && n % u->factor != 0; u++)
        ;
    if (u && u->name && n > 0)
        snprintf(ret, GUC_TEXT_MAX, "%lld%s", (long long)(n / u->factor), u->name);
    else
        snprintf(ret, GUC_TEXT_MAX, "%lld", (long long)n);
    return true;
}

static bool
check_word(const GucDef *d, const char *value, char ret[GUC_TEXT_MAX], Error *err)
{
    size_t n = strlen(value);
    for (const char *w = d->words; *w;) {
        size_t len = strcspn(w, ",");
        if (len == n && strncasecmp(w, value, n) == 0) {
            memcpy(ret, w, n);
            ret[n] = 0;
            return true;
        }
        w += len + (w[len] == ',');
    }
    bad_value(d->name, value, err);
    char list[200];
    size_t to = 0;
    for (const char *w = d->words; *w && to + 3 < sizeof list; w++) {
        list[to++] = *w;
        if (*w == ',')
            list[to++] = ' ';
    }
    list[to] = 0;
    error_hint(err, "Available values: %s.", list);
    return false;
}

static bool
check(const Guc *g, GucId id, const char *value, char ret[GUC_TEXT_MAX], Error *err)
{
    const GucDef *d = &DEFS[id];
    const GucValue *v = g ? &g->values[id] : NULL; /* whose text is there once it was set */
    if (strlen(value) >= GUC_TEXT_MAX && id != GUC_application_name) /* which is cut */
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "value for parameter \"%s\" is too long", d->name);
    switch (d->kind) {
    case KIND_BOOL: return check_bool(d, value, ret, err);
    case KIND_INT:
    case KIND_REAL:
    case KIND_KB:
    case KIND_MS: return check_number(d, value, ret, err);
    case KIND_WORD: return check_word(d, value, ret, err);
    case KIND_TEXT: strcpy(ret, value); return true;
    case KIND_OWN: return guc_check_own(id, value, v && v->now ? v->now : d->default_text, v && v->reset ? v->reset : d->default_text, ret, err);
    }
    return false;
}

/* ---- setting ---- */

static bool
replace(char **to, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free(*to);
    *to = copy;
    return true;
}

Guc *
guc_new(Conf *conf)
{
    Guc *g = calloc(1, sizeof *g);
    char shown[GUC_TEXT_MAX];
    Error err;
    if (!g)
        return NULL;
    g->conf = conf;
    memcpy(g->conf_reset, conf->number, sizeof g->conf_reset);
    for (int i = 0; i < GUC_COUNT; i++) {
        if (DEFS[i].flags & FIXED)
            snprintf(shown, sizeof shown, "%s", DEFS[i].default_text);
        else
            ensure(check(NULL, (GucId)i, DEFS[i].default_text, shown, &err));
        if (!replace(&g->values[i].now, shown) || !replace(&g->values[i].reset, shown))
            return NULL;
    }
    return g;
}

void
guc_fix(Guc *g, GucId id, const char *value)
{
    ensure(replace(&g->values[id].now, value) && replace(&g->values[id].reset, value));
    g->serial++;
}

/* The level remembers what it found before a change. */
static bool
keep_old(Guc *g, GucOld **old, GucScope scope, GucKept now)
{
    if (scope == GUC_SCOPE_STARTUP || g->level == 0)
        return true;
    g->any_old = true;
    return guc_old_push(old, g->level, scope == GUC_SCOPE_LOCAL, now);
}

static bool
store(Guc *g, int id, const char *shown, GucScope scope, Error *err)
{
    GucValue *v = &g->values[id];
    if (!keep_old(g, &v->old, scope, (GucKept){.text = v->now}) || !replace(&v->now, shown))
        return out_of_memory(err);
    return scope != GUC_SCOPE_STARTUP || replace(&v->reset, shown) || out_of_memory(err);
}

static bool
set_conf(Guc *g, int id, const char *value, GucScope scope, Error *err)
{
    const SettingDef *d = &SETTING_DEFS[id];
    i64 before = g->conf->number[id];
    if (d->when != SETTING_SESSION)
        return error_set(err, ERR_CANT_CHANGE_RUNTIME_PARAM,
                         d->when == SETTING_START ? "parameter \"%s\" cannot be changed without restarting the server"
                                                  : "parameter \"%s\" cannot be changed now", d->name);
    if (!value)
        g->conf->number[id] = g->conf_reset[id];
    else if (!conf_set(g->conf, id, value, err)) {
        i64 v;
        Error ignored;
        if (!conf_parse_number(d->kind, value, &v, &ignored)) {
            const char *first = value + strspn(value, " +-");
            if (d->kind == SETTING_MS && isdigit((u8)*first))
                bad_unit(d->name, value, false, err);
            else
                bad_value(d->name, value, err);
        }
        else if (d->kind == SETTING_MS)
            error_set(err, ERR_INVALID_PARAMETER_VALUE, "%lld ms is outside the valid range for parameter \"%s\" (%lld .. %lld)", (long long)v,
                      d->name, (long long)d->min, (long long)d->max);
        return false;
    }
    if (!keep_old(g, &g->conf_old[id], scope, (GucKept){.number = before})) {
        g->conf->number[id] = before;
        return out_of_memory(err);
    }
    if (scope == GUC_SCOPE_STARTUP)
        g->conf_reset[id] = g->conf->number[id];
    return true;
}

static Custom *
find_custom(const Guc *g, const char *name)
{
    for (u32 i = 0; i < g->custom_count; i++)
        if (strcasecmp(g->custom[i].name, name) == 0)
            return (Custom *)&g->custom[i];
    return NULL;
}

static bool
is_custom_name(const char *name)
{
    bool begins = true;
    for (const u8 *p = (const u8 *)name; *p; p++)
        if (*p == '.' && !begins)
            begins = true;
        else if (isalpha(*p) || *p == '_' || *p >= 128 || (!begins && (isdigit(*p) || *p == '$')))
            begins = false;
        else
            return false;
    return !begins;
}

/* A name with a dot belongs to the client, as long as it looks like two identifiers. Once there it stays, empty, even when its SET is undone. */
static bool
set_custom(Guc *g, const char *name, const char *value, GucScope scope, Error *err)
{
    Custom *c = find_custom(g, name);
    if (!c && !is_custom_name(name)) {
        error_set(err, ERR_INVALID_NAME, "invalid configuration parameter name \"%s\"", name);
        error_detail(err, "Custom parameter names must be two or more simple identifiers separated by dots.");
        return false;
    }
    if (!c) {
        if (g->custom_count == CUSTOM_MAX)
            return error_set(err, ERR_INSUFFICIENT_RESOURCES, "too many custom parameters");
        c = &g->custom[g->custom_count];
        if (!replace(&c->name, name) || !replace(&c->value, ""))
            return out_of_memory(err);
        g->custom_count++;
    }
    return (keep_old(g, &c->old, scope, (GucKept){.text = c->value}) && replace(&c->value, value ? value : "")) || out_of_memory(err);
}

static bool
unknown(const char *name, Error *err)
{
    return error_set(err, ERR_UNDEFINED_OBJECT, "unrecognized configuration parameter \"%s\"", name);
}

bool
guc_set(Guc *g, const char *name, const char *value, GucScope scope, Error *err)
{
    char shown[GUC_TEXT_MAX];
    int id = find(name), conf_id = conf_find(name);
    g->serial++;
    if (id < 0 && conf_id >= 0)
        return set_conf(g, conf_id, value, scope, err);
    if (id < 0 && strchr(name, '.'))
        return set_custom(g, name, value, scope, err);
    if (id < 0)
        return unknown(name, err);
    if (DEFS[id].flags & FIXED)
        return error_set(err, ERR_CANT_CHANGE_RUNTIME_PARAM, "parameter \"%s\" cannot be changed", DEFS[id].name);
    if (!value && (DEFS[id].flags & OF_TRANSACTION))
        return error_set(err, ERR_FEATURE_NOT_SUPPORTED, "parameter \"%s\" cannot be reset", DEFS[id].name);
    if (!value)
        snprintf(shown, sizeof shown, "%s", g->values[id].reset);
    else if (!check(g, (GucId)id, value, shown, err))
        return false;
    return store(g, id, shown, scope, err);
}

bool
guc_reset_all(Guc *g, Error *err)
{
    for (int i = 0; i < GUC_COUNT; i++)
        if (!(DEFS[i].flags & (FIXED | OF_TRANSACTION)) && i != GUC_role && i != GUC_session_authorization && strcmp(g->values[i].now, g->values[i].reset) != 0 &&
            !store(g, i, g->values[i].reset, GUC_SCOPE_SESSION, err))
            return false;
    for (int i = 0; i < CONF_COUNT; i++)
        if (SETTING_DEFS[i].when == SETTING_SESSION && g->conf->number[i] != g->conf_reset[i] && !set_conf(g, i, NULL, GUC_SCOPE_SESSION, err))
            return false;
    for (u32 i = 0; i < g->custom_count; i++)
        if (*g->custom[i].value && !set_custom(g, g->custom[i].name, NULL, GUC_SCOPE_SESSION, err))
            return false;
    g->serial++;
    return true;
}

/* ---- parameters of the transaction ---- */

GucId
guc_transaction_parameter(const char *name)
{
    int id = find(name);
    return id >= 0 && (DEFS[id].flags & OF_TRANSACTION) ? (GucId)id : GUC_COUNT;
}

bool
guc_check_value(GucId id, const char *value, char ret[], Error *err)
{
    return check(NULL, id, value, ret, err);
}

void
guc_put(Guc *g, GucId id, const char *value)
{
    ensure(replace(&g->values[id].now, value));
    g->serial++;
}

/* ---- levels ---- */

u32
guc_enter(Guc *g)
{
    return ++g->level;
}

static bool
leave_text(GucOld **old, char **now, u32 level, bool keep)
{
    GucKept before;
    if (!*old || !guc_old_pop(old, level, keep, &before))
        return false;
    free(*now);
    *now = before.text;
    return true;
}

void
guc_leave(Guc *g, u32 level, bool keep)
{
    bool changed = false;
    GucKept before;
    g->level = level - 1;
    if (LIKELY(!g->any_old))
        return;
    for (int i = 0; i < GUC_COUNT; i++)
        changed |= leave_text(&g->values[i].old, &g->values[i].now, level, keep);
    for (u32 i = 0; i < g->custom_count; i++)
        changed |= leave_text(&g->custom[i].old, &g->custom[i].value, level, keep);
    for (int i = 0; i < CONF_COUNT; i++)
        if (g->conf_old[i] && guc_old_pop(&g->conf_old[i], level, keep, &before)) {
            g->conf->number[i] = before.number;
            changed = true;
        }
    g->any_old = level > 1;
    g->serial += changed;
}

/* ---- showing ---- */

bool
guc_show(const Guc *g, const char *name, const char **ret_name, char *to, size_t size, Error *err)
{
    int id = find(name), conf_id = conf_find(name);
    if (id >= 0) {
        *ret_name = DEFS[id].name;
        snprintf(to, size, "%s", g->values[id].now);
        return true;
    }
    if (conf_id >= 0) {
        *ret_name = SETTING_DEFS[conf_id].name;
        conf_show(g->conf, conf_id, to, size);
        return true;
    }
    const Custom *c = find_custom(g, name);
    if (!c)
        return unknown(name, err);
    *ret_name = c->name;
    snprintf(to, size, "%s", c->value);
    return true;
}

const char *
guc_text(const Guc *g, GucId id)
{
    return g->values[id].now;
}

static i64
number_of(GucKind kind, const char *text)
{
    char *unit;
    i64 n = strtoll(text, &unit, 10);
    for (const Unit *u = kind == KIND_KB ? KB_UNITS : MS_UNITS; u->name; u++)
        if (strcmp(u->name, unit) == 0)
            n *= u->factor;
    return n;
}

i64
guc_number(const Guc *g, GucId id)
{
    return number_of(DEFS[id].kind, g->values[id].now);
}

static void
describe_text(GucKind kind, const char *text, char to[GUC_TEXT_MAX])
{
    if (kind == KIND_KB || kind == KIND_MS)
        snprintf(to, GUC_TEXT_MAX, "%lld", (long long)number_of(kind, text));
    else
        snprintf(to, GUC_TEXT_MAX, "%s", text);
}

static void
describe_setting(const Guc *g, int id, GucInfo *ret)
{
    static const char *const KINDS[] = {
        [SETTING_INT] = "integer", [SETTING_BYTES] = "integer", [SETTING_MS] = "integer", [SETTING_TEXT] = "string", [SETTING_BOOL] = "bool"};
    static const char *const CONTEXTS[] = {[SETTING_START] = "postmaster", [SETTING_RELOAD] = "sighup", [SETTING_SESSION] = "user"};
    SettingKind kind = SETTING_DEFS[id].kind;
    bool number = kind == SETTING_INT || kind == SETTING_BYTES || kind == SETTING_MS;
    i64 boot = 0;
    *ret = (GucInfo){.kind = KINDS[kind], .context = CONTEXTS[SETTING_DEFS[id].when], .unit = kind == SETTING_MS ? "ms" : kind == SETTING_BYTES ? "B" : NULL,
                     .bounded = number && SETTING_DEFS[id].max, .min = SETTING_DEFS[id].min, .max = SETTING_DEFS[id].max};
    if (number) {
        Error err;
        if (!conf_parse_number(kind, SETTING_DEFS[id].default_text, &boot, &err))
            boot = 0;
        snprintf(ret->value, sizeof ret->value, "%lld", (long long)g->conf->number[id]);
        snprintf(ret->boot, sizeof ret->boot, "%lld", (long long)boot);
        snprintf(ret->reset, sizeof ret->reset, "%lld", (long long)g->conf_reset[id]);
    } else {
        conf_show(g->conf, id, ret->value, sizeof ret->value);
        snprintf(ret->boot, sizeof ret->boot, "%s", SETTING_DEFS[id].default_text);
        snprintf(ret->reset, sizeof ret->reset, "%s", ret->value);
    }
}

void
guc_describe(const Guc *g, const char *name, GucInfo *ret)
{
    static const char *const KINDS[] = {[KIND_BOOL] = "bool", [KIND_INT] = "integer", [KIND_REAL] = "real", [KIND_KB] = "integer", [KIND_MS] = "integer",
                                        [KIND_WORD] = "enum", [KIND_TEXT] = "string", [KIND_OWN] = "string"};
    int id = find(name);
    if (id < 0) {
        describe_setting(g, conf_find(name), ret);
        return;
    }
    const GucDef *d = &DEFS[id];
    bool number = d->kind == KIND_INT || d->kind == KIND_REAL || d->kind == KIND_KB || d->kind == KIND_MS;
    *ret = (GucInfo){.kind = KINDS[d->kind], .context = d->flags & FIXED ? "internal" : "user", .unit = d->kind == KIND_KB ? "kB" : d->kind == KIND_MS ? "ms" : NULL,
                     .words = d->kind == KIND_WORD ? d->words : NULL, .bounded = number, .min = d->min, .max = d->max};
    describe_text(d->kind, g->values[id].now, ret->value);
    describe_text(d->kind, d->default_text, ret->boot);
    describe_text(d->kind, g->values[id].reset ? g->values[id].reset : d->default_text, ret->reset);
}

typedef struct Shown { const char *name, *text; int guc, conf; } Shown;

static int
by_name(const void *a, const void *b)
{
    return strcasecmp(((const Shown *)a)->name, ((const Shown *)b)->name);
}

void
guc_each(const Guc *g, void (*visit)(void *ctx, const char *name, const char *value, const char *text), void *ctx)
{
    Shown all[GUC_COUNT + CONF_COUNT];
    char value[GUC_TEXT_MAX];
    u32 n = 0;
    for (int i = 0; i < GUC_COUNT; i++)
        all[n++] = (Shown){DEFS[i].name, DEFS[i].text, i, -1};
    for (int i = 0; i < CONF_COUNT; i++)
        if (find(SETTING_DEFS[i].name) < 0)
            all[n++] = (Shown){SETTING_DEFS[i].name, SETTING_DEFS[i].text, -1, i};
    qsort(all, n, sizeof *all, by_name);
    for (u32 i = 0; i < n; i++) {
        if (all[i].guc >= 0)
            snprintf(value, sizeof value, "%s", g->values[all[i].guc].now);
        else
            conf_show(g->conf, all[i].conf, value, sizeof value);
        visit(ctx, all[i].name, value, all[i].text);
    }
}

u64
guc_serial(const Guc *g)
{
    return g->serial;
}

TypeFormat
guc_format(const Guc *g)
{
    static const char *const STYLES[] = {
        [INTERVAL_STYLE_POSTGRES] = "postgres", [INTERVAL_STYLE_POSTGRES_VERBOSE] = "postgres_verbose",
        [INTERVAL_STYLE_SQL_STANDARD] = "sql_standard", [INTERVAL_STYLE_ISO_8601] = "iso_8601",
    };
    u8 style = 0;
    while (style < COUNT_OF(STYLES) - 1 && strcmp(STYLES[style], g->values[GUC_intervalstyle].now) != 0)
        style++;
    TypeFormat f = {.zone = guc_zone(g->values[GUC_timezone].now),
                        .extra_float_digits = atoi(g->values[GUC_extra_float_digits].now),
                        .bytea_escape = strcmp(g->values[GUC_bytea_output].now, "escape") == 0,
                        .interval_style = style};
    guc_date_style(g->values[GUC_datestyle].now, &f.date_style, &f.date_order);
    return f;
}

void
guc_report(Guc *g, void (*report)(void *ctx, const char *name, const char *value), void *ctx)
{
    if (g->reported_serial == g->serial + 1)
        return;
    g->reported_serial = g->serial + 1;
    for (int i = 0; i < GUC_COUNT; i++) {
        GucValue *v = &g->values[i];
        if (!(DEFS[i].flags & REPORT) || (v->reported && strcmp(v->reported, v->now) == 0))
            continue;
        report(ctx, DEFS[i].name, v->now);
        if (!replace(&v->reported, v->now))
            g->reported_serial = 0; /* told again next time */
    }
}
