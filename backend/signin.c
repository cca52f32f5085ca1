/*
 * signin.c
 *    From an accepted socket to a session: startup packet, SCRAM or trust, role, database, settings, report, hardening.
 *
 * Every role that could be named runs the same exchange: one that is unknown or has no password gets a verifier made of its name and a secret, so
 * neither messages nor their timing tell which roles exist. The secret is derived from the root role's verifier: clients cannot know it, and it stays
 * the same over restarts until that password changes.
 *
 * Writes: the pipe to the postmaster, once.
 * Fails: every error here is fatal.
 */
#include "backend/signin.h"

#include "backend/harden.h"
#include "backend/throw.h"
#include "common/base/env.h"
#include "common/base/say.h"
#include "common/shm/publish.h"
#include "common/store/rights.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

/* SIGNIN_BYTES: a startup packet, requests before it and the SCRAM messages behind it. */
enum { ROLE_WAIT_MS = 5000, ROLE_LOOK_US = 200, FAILURE_MS = 50, SIGNIN_BYTES = 2 * WIRE_STARTUP_MAX };

/* Nothing is answered. */
static void
cancel_other(void *ctx, u32 pid, const u8 *key, u32 key_len)
{
    const Session *s = ctx;
    if (key_len == 4)
        proc_cancel(&s->boot->shm, pid, get_be32(key));
}

/* ---- verifiers ---- */

/* Copy a row that may be changing under our eyes. */
static SecretShm
read_secret(const SecretShm *from)
{
    SecretShm row;
    for (;;) {
        u32 before = observe_u32(&from->pub_sequence);
        row = *from;
        full_fence();
        if (before % 2 == 0 && observe_u32(&from->pub_sequence) == before)
            break;
    }
    row.role[sizeof row.role - 1] = row.verifier[sizeof row.verifier - 1] = 0;
    return row;
}

/* The role's verifier, or one that nobody can satisfy. All rows are read whether or not the role is among them. */
static bool
find_verifier(const Shm *shm, const char *role, ScramVerifier *ret)
{
    char text[SCRAM_VERIFIER_MAX] = "", root[SCRAM_VERIFIER_MAX] = "";
    u8 secret[32];
    for (u32 i = 0; i < SECRET_ROWS; i++) {
        SecretShm row = read_secret(&shm->secrets[i]);
        if (row.role_id == ROLE_ROOT)
            memcpy(root, row.verifier, sizeof root);
        if (row.role_id && strcmp(row.role, role) == 0)
            memcpy(text, row.verifier, sizeof text);
        sodium_memzero(&row, sizeof row);
    }
    crypto_generichash(secret, sizeof secret, (const u8 *)root, strlen(root), NULL, 0);
    scram_mock(secret, role, ret);
    bool known = scram_parse(text, ret);
    sodium_memzero(text, sizeof text);
    sodium_memzero(root, sizeof root);
    sodium_memzero(secret, sizeof secret);
    return known;
}

static NORETURN void
refuse(Session *s, const Startup *start, const char *why)
{
    say_info("sign-in of \"%s\" from %s failed: %s", start->user, s->boot->client_text, why);
    /* Slows guessing on one connection; others do not notice. */
    u32 jitter_ms;
    env->random_bytes(&jitter_ms, sizeof jitter_ms);
    usleep((FAILURE_MS + jitter_ms % FAILURE_MS) * 1000);
    err_throw_fatal(ERR_INVALID_PASSWORD, "password authentication failed for user \"%s\"", start->user);
}

static void
check_password(Session *s, const Startup *start)
{
    ScramVerifier v;
    bool known = find_verifier(&s->boot->shm, start->user, &v);
    bool right = sasl_exchange(s->wire, &v);
    sodium_memzero(&v, sizeof v);
    if (!right || !known)
        refuse(s, start, known ? "wrong password" : "no such role or no password");
}

/* Roles that can not sign in are told so only once their password was right. */
static void
find_role(Session *s, const Startup *start)
{
    const RoleDef *role = catalog_find_role(session_root(s), str_of(start->user));
    if (!role && s->boot->has_password)
        refuse(s, start, "the role has been dropped");
    if (!role)
        err_throw_fatal(ERR_INVALID_AUTHORIZATION, "role \"%s\" does not exist", start->user);
    if (s->boot->has_password && role->has_valid_until && role->valid_until < env->wall_us())
        refuse(s, start, "the password is not valid any more");
    if (!role->can_login)
        err_throw_fatal(ERR_INVALID_AUTHORIZATION, "role \"%s\" is not permitted to log in", start->user);
    acting_sign_in(s, role);
    s->connection_limit = role->superuser ? -1 : role->connection_limit;
}

/* Once control knows us: of several that come at the same time all may be refused, never too many let in. */
static void
check_connection_limit(const Session *s)
{
    const Shm *shm = &s->boot->shm;
    i32 n = 0;
    for (u32 i = 0; s->connection_limit >= 0 && i < shm->slot_count; i++)
        n += observe_u32(&shm->control->slots[i].pub_state) == SLOT_TAKEN && observe_u32(&shm->control->slots[i].pub_role_id) == s->signed_in_id;
    if (s->connection_limit >= 0 && n > s->connection_limit)
        err_throw_fatal(ERR_TOO_MANY_CONNECTIONS, "too many connections for role \"%s\"", s->signed_in_name);
}

/* ALTER ROLE … SET: what the startup packet says goes before. One that cannot be set any more is no reason to refuse the session. */
static void
set_role_parameters(Session *s, const Startup *start)
{
    const RoleDef *role = catalog_role(session_root(s), s->signed_in_id);
    Str config = role ? arena_str(s->message, role->config) : (Str){0};
    for (u32 at = 0; at < config.len;) {
        const char *line = config.ptr + at, *end = memchr(line, '\n', config.len - at), *eq = memchr(line, '=', (size_t)(end - line));
        const char *name = arena_strndup(s->message, line, (size_t)(eq - line)), *value = arena_strndup(s->message, eq + 1, (size_t)(end - eq - 1));
        bool given = false;
        Error err;
        for (u32 i = 0; i < start->param_count; i++)
            given |= strcasecmp(start->params[i].name, name) == 0;
        if (!given && !session_set_parameter(s, name, value, GUC_SCOPE_STARTUP, &err))
            say_warn("setting \"%s\" of role \"%s\": %s", name, s->signed_in_name, err.message);
        at = (u32)(end + 1 - config.ptr);
    }
}

static void
find_database(Session *s, const Startup *start)
{
    const char *own = conf_text(&s->boot->conf, database_name);
    if (start->database && strcmp(start->database, own) != 0 && strcmp(start->database, start->user) != 0)
        err_throw_fatal(ERR_INVALID_CATALOG_NAME, "database \"%s\" does not exist", start->database);
    snprintf(s->database, sizeof s->database, "%.63s", own);
    const Root *root = session_root(s);
    RightsOf rights = rights_of_database(root);
    if (rights_allow(root, &rights, s->signed_in_id, ACL_CONNECT))
        return;
    Error err;
    (void)error_set(&err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for database \"%s\"", s->database);
    error_detail(&err, "User does not have CONNECT privilege.");
    err_rethrow_fatal(&err);
}

/* ---- settings of the startup packet ---- */

static void
set_parameters(Session *s, Startup *start)
{
    Error err;
    startup_options(s->message, start);
    set_role_parameters(s, start);
    for (u32 i = 0; i < start->param_count; i++)
        if (!session_set_parameter(s, start->params[i].name, start->params[i].value, GUC_SCOPE_STARTUP, &err))
            err_rethrow_fatal(&err);
    const char *version = conf_text(&s->boot->conf, server_version);
    char number[16];
    int major = 0, minor = 0;
    sscanf(version, "%d.%d", &major, &minor);
    snprintf(number, sizeof number, "%d", major * 10000 + minor);
    guc_fix(s->guc, GUC_server_version, version);
    guc_fix(s->guc, GUC_server_version_num, number);
    snprintf(s->version, sizeof s->version, "PostgreSQL %.64s (ggs3db " PACKAGE_VERSION ")", version);
    session_apply_gucs(s);
}

/* ---- the postmaster ---- */

static void
check_server_state(const Session *s)
{
    u32 state = observe_u32(&s->boot->shm.control->pub_server_state);
    if (state == SERVER_STARTING)
        err_throw_fatal(ERR_CANNOT_CONNECT_NOW, "the database system is starting up");
    if (state != SERVER_OPEN)
        err_throw_fatal(ERR_CANNOT_CONNECT_NOW, "the database system is shutting down");
}

/* Tell who signed in, once, and wait until control says so: the walwriter judges rights by it. */
static void
report(Session *s)
{
    Boot *b = s->boot;
    SigninReport r = {.slot = b->slot, .generation = b->generation, .role_id = s->signed_in_id};
    u32 *role = &b->shm.control->slots[b->slot].pub_role_id;
    ssize_t n = write(b->signin_fd, &r, sizeof r);
    close(b->signin_fd);
    b->signin_fd = -1;
    u64 end = env->monotonic_ns() + ROLE_WAIT_MS * 1000000ull;
    while (n == sizeof r && observe_u32(role) != s->signed_in_id) {
        u64 now = env->monotonic_ns();
        if (now > end)
            break;
        latch_wait(role, 0, now + ROLE_LOOK_US * 1000ull);
    }
    if (observe_u32(role) != s->signed_in_id)
        err_throw_fatal(ERR_INTERNAL_ERROR, "the server did not take note of the sign-in");
}

static void
harden_process(void)
{
    int err = harden();
    if (err)
        say_warn("the session runs without a system call filter: %s", strerror(-err));
}

void
signin(Session *s)
{
    Boot *b = s->boot;
    Startup start;
    wire_limit(s->wire, SIGNIN_BYTES);
    wire_deadline(s->wire, env->monotonic_ns() + (u64)conf_int(&b->conf, authentication_timeout) * 1000000, ERR_QUERY_CANCELED,
                  "canceling authentication due to timeout");
    if (!startup_read(s->wire, s->message, &start, cancel_other, s))
        _exit(0);
    check_server_state(s);
    if (b->has_password)
        check_password(s, &start);
    reply_auth(s->wire, 0, NULL, 0);
    shm_forget_secrets(&b->shm);
    find_role(s, &start);
    find_database(s, &start);
    set_parameters(s, &start);
    txn_end_statement(s->txn);
    report(s);
    check_connection_limit(s);
    harden_process();
    wire_limit(s->wire, 0);
    wire_deadline(s->wire, 0, ERR_NONE, NULL);
    proc_title("%s %s %s", s->signed_in_name, s->database, b->client_text);
    if (conf_int(&b->conf, log_connections))
        say_info("connection of %s from %s", s->signed_in_name, b->client_text);
    session_report_parameters(s);
    reply_key_data(s->wire, (u32)getpid(), (u32)b->shm.control->slots[b->slot].cancel_key);
}
