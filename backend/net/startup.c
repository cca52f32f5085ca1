/*
 * startup.c
 *    From the first byte to a complete startup packet.
 *
 * SSLRequest and GSSENCRequest are answered 'N', each once, in a loop (asked again they are a protocol we do not have); bytes that came behind one of them
 * in the same breath were sent before our answer and close the connection. A CancelRequest goes to the callback and gets no answer. Protocol 3.x is negotiated down to 3.0.
 * Nothing here is trusted: lengths were checked by wire_read_startup, strings are checked for UTF-8 and terminators.
 */
#include "backend/net/wire.h"

#include "backend/throw.h"
#include "common/conf/conf.h"

#include <ctype.h>

enum {
    CODE_CANCEL = 80877102,
    CODE_SSL = 80877103,
    CODE_GSS = 80877104,
    PROTOCOL_3_0 = 3 << 16,
    PARAMS_MAX = 512,
};

typedef struct Reading {
    Arena *arena;
    Startup *to;
    u32 unknown_count; /* _pq_. names */
    const char **unknown;
} Reading;

static void
add_param(Startup *to, const char *name, const char *value)
{
    if (to->param_count == PARAMS_MAX)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "too many parameters in startup packet");
    to->params[to->param_count++] = (StartupParam){name, value};
}

/* "name=value" of an option; dashes become underscores as PostgreSQL does. */
static void
add_option(Startup *to, const char *way, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals)
        err_throw_fatal(ERR_SYNTAX_ERROR, "%s%s requires a value", way, text);
    *equals = 0;
    for (char *c = text; *c; c++)
        if (*c == '-')
            *c = '_';
    add_param(to, text, equals + 1);
}

/* The next word of `options`: split at blanks, a backslash takes the next character as it is, the last one nothing. NULL at the end. */
static char *
next_word(Arena *a, const char **at)
{
    const char *p = *at;
    while (isspace((unsigned char)*p))
        p++;
    if (!*p)
        return NULL;
    char *word = arena_alloc(a, strlen(p) + 1), *to = word;
    for (; *p && !isspace((unsigned char)*p); p++) {
        if (*p == '\\' && !*++p)
            break;
        *to++ = *p;
    }
    *to = 0;
    *at = p;
    return word;
}

static NORETURN void
bad_option(const char *word)
{
    Error err;
    error_set(&err, ERR_SYNTAX_ERROR, "invalid command-line argument for server process: %s", word);
    error_hint(&err, "Only -c name=value and --name=value are known.");
    err_rethrow_fatal(&err);
}

static void
read_replication(const char *value)
{
    i64 on = 1;
    Error err;
    if (strcmp(value, "database") != 0 && !conf_parse_number(SETTING_BOOL, value, &on, &err)) {
        error_set(&err, ERR_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": \"%s\"", "replication", value);
        error_hint(&err, "Valid values are: \"false\", 0, \"true\", 1, \"database\".");
        err_rethrow_fatal(&err);
    }
    if (on)
        err_throw_fatal(ERR_FEATURE_NOT_SUPPORTED, "replication connections are not supported yet");
}

static const char *
cut_name(Arena *a, const char *name)
{
    return arena_strndup(a, name, utf8_clip(str_of(name), TYPE_NAME_MAX_BYTES));
}

static void
read_pair(Reading *r, const char *name, const char *value)
{
    if (strcmp(name, "user") == 0)
        r->to->user = cut_name(r->arena, value);
    else if (strcmp(name, "database") == 0)
        r->to->database = cut_name(r->arena, value);
    else if (strcmp(name, "options") == 0)
        r->to->options = arena_strndup(r->arena, value, strlen(value));
    else if (strcmp(name, "replication") == 0)
        read_replication(value);
    else if (strncmp(name, "_pq_.", 5) == 0) {
        if (r->unknown_count == PARAMS_MAX)
            err_throw_fatal(ERR_PROTOCOL_VIOLATION, "too many parameters in startup packet");
        r->unknown[r->unknown_count++] = arena_strndup(r->arena, name, strlen(name));
    } else
        add_param(r->to, arena_strndup(r->arena, name, strlen(name)), arena_strndup(r->arena, value, strlen(value)));
}

/* Name and value pairs up to an empty name, which must be the last byte. */
static void
read_packet(Wire *w, Arena *a, u32 version, const u8 *data, u32 len, Startup *ret)
{
    Reading r = {.arena = a, .to = ret};
    if (version >> 16 != 3)
        err_throw_fatal(ERR_FEATURE_NOT_SUPPORTED, "unsupported frontend protocol %u.%u: server supports 3.0 to 3.0", version >> 16,
                        version & 0xffff);
    memset(ret, 0, sizeof *ret);
    ret->params = ARENA_ARRAY(a, StartupParam, PARAMS_MAX);
    r.unknown = ARENA_ARRAY(a, const char *, PARAMS_MAX);
    const u8 *at = data, *end = data + len;
    while (at < end && *at) {
        const u8 *name_end = memchr(at, 0, (size_t)(end - at));
        const u8 *value_end = name_end ? memchr(name_end + 1, 0, (size_t)(end - name_end - 1)) : NULL;
        if (!value_end)
            break;
        if (!utf8_valid(at, (size_t)(name_end - at)) || !utf8_valid(name_end + 1, (size_t)(value_end - name_end - 1)))
            err_throw_fatal(ERR_CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
        read_pair(&r, (const char *)at, (const char *)name_end + 1);
        at = value_end + 1;
    }
    if (at != end - 1 || *at)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "invalid startup packet layout: expected terminator as last byte");
    if (!ret->user || !*ret->user)
        err_throw_fatal(ERR_INVALID_AUTHORIZATION, "no PostgreSQL user name specified in startup packet");
    if (ret->database && !*ret->database)
        ret->database = NULL;
    if (version != PROTOCOL_3_0 || r.unknown_count)
        reply_negotiate(w, PROTOCOL_3_0, r.unknown, r.unknown_count);
}

void
startup_options(Arena *a, Startup *s)
{
    const char *at = s->options;
    const StartupParam *named = s->params;
    u32 named_count = s->param_count;
    s->params = ARENA_ARRAY(a, StartupParam, PARAMS_MAX);
    s->param_count = 0;
    for (char *word; at && (word = next_word(a, &at));) {
        char *value = word + 2;
        bool is_c = strncmp(word, "-c", 2) == 0;
        if ((!is_c && strncmp(word, "--", 2) != 0) || (!*value && !(is_c && (value = next_word(a, &at)))))
            bad_option(word);
        add_option(s, is_c ? "-c " : "--", value);
    }
    for (u32 i = 0; i < named_count; i++)
        add_param(s, named[i].name, named[i].value);
}

bool
startup_read(Wire *w, Arena *a, Startup *ret, StartupCancel cancel, void *ctx)
{
    bool asked_ssl = false, asked_gss = false;
    for (WireMsg m; wire_read_startup(w, &m);) {
        u32 code = get_be32(m.body);
        if (code == CODE_CANCEL) {
            if (m.len >= 12)
                cancel(ctx, get_be32(m.body + 4), m.body + 8, m.len - 8);
            return false;
        }
        bool *asked = code == CODE_SSL ? &asked_ssl : code == CODE_GSS ? &asked_gss : NULL;
        if (asked && !*asked) {
            if (m.len != 4 || wire_has_input(w))
                return false;
            *asked = true;
            wire_send_byte(w, 'N');
            continue;
        }
        read_packet(w, a, code, m.body + 4, m.len - 4, ret);
        return true;
    }
    return false;
}
