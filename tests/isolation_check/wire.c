/*
 * wire.c
 *    The client's side of the protocol: queries, prepared statements, sign-in without a password, cancel requests.
 */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static void
put(Client *c, const void *data, size_t n)
{
    if (c->out_length + n > c->out_capacity) {
        c->out_capacity = (c->out_length + n) * 2;
        c->out = realloc(c->out, c->out_capacity);
    }
    memcpy(c->out + c->out_length, data, n);
    c->out_length += n;
}

static void
put_u16(Client *c, unsigned v)
{
    uint16_t n = htons((uint16_t)v);
    put(c, &n, 2);
}

static void
put_u32(Client *c, uint32_t v)
{
    v = htonl(v);
    put(c, &v, 4);
}

static void
put_text(Client *c, const char *s)
{
    put(c, s, strlen(s) + 1);
}

static size_t
open_message(Client *c, char kind)
{
    put(c, &kind, 1);
    put_u32(c, 0);
    return c->out_length - 4;
}

static void
close_message(Client *c, size_t at)
{
    uint32_t n = htonl((uint32_t)(c->out_length - at));
    memcpy(c->out + at, &n, 4);
}

void
put_query(Client *c, const char *sql)
{
    size_t at = open_message(c, 'Q');
    put_text(c, sql);
    close_message(c, at);
}

/* Every statement, prepared under the name of its code. */
void
put_prepare_all(Client *c)
{
    const Template *t;
    for (int i = 0; (t = template_at(i)); i++) {
        if ((t->code == 'F' || t->code == 'H') && !options.row_locks)
            continue;
        char name[2] = {t->code, 0};
        size_t at = open_message(c, 'P');
        put_text(c, name);
        put_text(c, t->sql);
        put_u16(c, (unsigned)strlen(t->types));
        for (const char *p = t->types; *p; p++)
            put_u32(c, *p == 'i' ? 20 : *p == 'g' ? 23 : 25);
        close_message(c, at);
    }
    close_message(c, open_message(c, 'S'));
}

static void
put_execute(Client *c, const Op *op)
{
    const Template *t = template_of(op->code);
    char name[2] = {op->code, 0};
    size_t at = open_message(c, 'B');
    put_text(c, "");
    put_text(c, name);
    put_u16(c, 0);
    put_u16(c, (unsigned)strlen(t->types));
    for (size_t i = 0; i < strlen(t->types); i++) {
        put_u32(c, (uint32_t)strlen(op->param[i]));
        put(c, op->param[i], strlen(op->param[i]));
    }
    put_u16(c, 0);
    close_message(c, at);
    at = open_message(c, 'E');
    put_text(c, "");
    put_u32(c, 0);
    close_message(c, at);
}

/* The statement with its parameters as literals. */
static void
put_sql(Client *c, const Op *op)
{
    static const char savepoint_codes[] = "srl";
    static const char *const savepoint[] = {"SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s"};
    if (op->code == 'B') {
        char row[200];
        put(c, "INSERT INTO ballast VALUES ", 27);
        for (int i = 0; i < atoi(op->param[1]); i++) {
            int n = snprintf(row, sizeof row, "%s(%s, %d, 'row %d of the value %s, long enough to fill up what is kept of a short one')",
                             i ? "," : "", op->param[0], i, i, op->param[0]);
            put(c, row, (size_t)n);
        }
        return;
    }
    if (strchr(savepoint_codes, op->code)) {
        const char *text = savepoint[strchr(savepoint_codes, op->code) - savepoint_codes];
        put(c, text, strlen(text));
        put(c, op->param[0], strlen(op->param[0]));
        return;
    }
    const Template *t = template_of(op->code);
    for (const char *p = t->sql; *p; p++) {
        if (*p != '$') {
            put(c, p, 1);
            continue;
        }
        int i = *++p - '1';
        if (t->types[i] == 't')
            put(c, "'", 1);
        put(c, op->param[i], strlen(op->param[i]));
        if (t->types[i] == 't')
            put(c, "'", 1);
    }
}

/* Operations [first, first + count) as one message, or as one pipeline up to a Sync. */
void
put_ops(Client *c, int first, int count, bool extended)
{
    if (extended) {
        for (int i = 0; i < count; i++)
            put_execute(c, &c->tx.op[first + i]);
        close_message(c, open_message(c, 'S'));
        return;
    }
    size_t at = open_message(c, 'Q');
    for (int i = 0; i < count; i++) {
        if (i)
            put(c, "; ", 2);
        put_sql(c, &c->tx.op[first + i]);
    }
    put(c, "", 1);
    close_message(c, at);
}

bool
flush_out(Client *c)
{
    size_t at = 0;
    while (at < c->out_length) {
        ssize_t n = send(c->socket, c->out + at, c->out_length - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    c->out_length = 0;
    return true;
}

static int
open_socket(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 30};
    snprintf(a.sun_path, sizeof a.sun_path, "%s", options.address);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0 && connect(s, (struct sockaddr *)&a, sizeof a) != 0) {
        close(s);
        return -1;
    }
    if (s >= 0)
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return s;
}

/* The next whole message of the buffer, which stays valid until the next receive. */
bool
next_message(Client *c, char *kind, char **body, size_t *length)
{
    if (c->in_taken) {
        memmove(c->in, c->in + c->in_taken, c->in_length - c->in_taken);
        c->in_length -= c->in_taken;
        c->in_taken = 0;
    }
    if (c->in_length < 5)
        return false;
    uint32_t n;
    memcpy(&n, c->in + 1, 4);
    n = ntohl(n) + 1;
    if (c->in_length < n)
        return false;
    *kind = c->in[0];
    *body = c->in + 5;
    *length = n - 5;
    c->in_taken = n;
    return true;
}

/* What arrived is appended to the buffer. Bytes; 0: nothing now; -1: the connection is gone. */
static int
receive_with(Client *c, int flags)
{
    if (c->in_capacity - c->in_length < 1 << 16) {
        c->in_capacity = c->in_capacity * 2 + (1 << 17);
        c->in = realloc(c->in, c->in_capacity);
    }
    ssize_t n = recv(c->socket, c->in + c->in_length, c->in_capacity - c->in_length, flags);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && flags)))
        return 0;
    if (n <= 0)
        return -1;
    c->in_length += (size_t)n;
    return (int)n;
}

int
receive(Client *c)
{
    return receive_with(c, MSG_DONTWAIT);
}

/* Why a connection was refused, unless the server is only starting or full. */
static void
note_refusal(const Client *c, const char *body)
{
    const char *code = "", *message = "";
    for (const char *p = body; *p; p += strlen(p) + 1) {
        if (*p == 'C')
            code = p + 1;
        else if (*p == 'M')
            message = p + 1;
    }
    if (strcmp(code, "57P03") != 0 && strcmp(code, "53300") != 0)
        fprintf(stderr, "client %d: %s %s\n", c->number, code, message);
}

/* Reads up to ReadyForQuery; false: an error, or the connection is gone. */
static bool
wait_ready(Client *c, bool *error)
{
    char kind, *body;
    size_t length;
    for (;;) {
        while (next_message(c, &kind, &body, &length)) {
            if (kind == 'Z')
                return true;
            if (kind == 'E') {
                *error = true;
                note_refusal(c, body);
            }
            if (kind == 'K') {
                uint32_t n[2];
                memcpy(n, body, 8);
                c->pid = (int)ntohl(n[0]);
                c->secret = (int)ntohl(n[1]);
            }
        }
        if (receive_with(c, 0) < 0)
            return false;
    }
}

/* Connects, signs in, prepares. */
bool
sign_in(Client *c)
{
    static const char *const level_name[] = {"read committed", "repeatable read", "serializable"};
    char set[80];
    bool error = false;
    c->socket = open_socket();
    c->in_length = c->in_taken = c->out_length = 0;
    if (c->socket < 0)
        return false;
    put_u32(c, 0);
    put_u32(c, 196608);
    put_text(c, "user");
    put_text(c, options.user);
    put_text(c, "database");
    put_text(c, options.database);
    put_text(c, "");
    uint32_t n = htonl((uint32_t)c->out_length);
    memcpy(c->out, &n, 4);
    bool fine = flush_out(c) && wait_ready(c, &error) && !error;
    snprintf(set, sizeof set, "SET default_transaction_isolation = '%s'", level_name[c->level]);
    put_query(c, set);
    fine = fine && flush_out(c) && wait_ready(c, &error) && !error;
    if (fine && options.setup) {
        put_query(c, options.setup);
        fine = flush_out(c) && wait_ready(c, &error) && !error;
    }
    if (fine) {
        put_prepare_all(c);
        fine = flush_out(c) && wait_ready(c, &error) && !error;
    }
    if (!fine)
        disconnect(c);
    return fine;
}

void
disconnect(Client *c)
{
    if (c->socket >= 0)
        close(c->socket);
    c->socket = -1;
    c->in_length = c->in_taken = c->out_length = 0;
}

void
send_cancel(const Client *c)
{
    uint32_t m[4] = {htonl(16), htonl(80877102), htonl((uint32_t)c->pid), htonl((uint32_t)c->secret)};
    int s = open_socket();
    if (s < 0)
        return;
    if (send(s, m, sizeof m, MSG_NOSIGNAL) < 0)
        perror("cancel");
    close(s);
}
