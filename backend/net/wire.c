/*
 * wire.c
 *    A non-blocking socket with two buffers: many messages at a read, many replies at a write, interrupts looked at in every wait.
 *
 * The input buffer grows by doubling with the bytes received, never with the length that a message announces, and shrinks back when a
 * long message is done. A message is handed out as a pointer into it. Lengths are checked against messages.def before anything is
 * waited for.
 *
 * Fails: a peer that has gone or breaks the framing ends the connection (fatal throw); nothing is ever read again after that.
 */
#include "backend/net/wire.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_BYTES = 16 * 1024, IN_KEEP_BYTES = 256 * 1024, SMALL = 10000, LARGE = WIRE_MESSAGE_MAX };

typedef struct MessageRule { u8 phases; u32 longest; } MessageRule;

static const MessageRule RULES[256] = {
#define FRONT_MESSAGE(byte, symbol, phases, longest) [byte] = {phases, longest},
#define BACK_MESSAGE(byte, symbol)
#include "backend/net/messages.def"
};

Wire *
wire_new(int fd, int wake_fd)
{
    Wire *w = calloc(1, sizeof *w);
    int one = 1;
    if (!w || !(w->in = malloc(IN_BYTES))) {
        free(w);
        return NULL;
    }
    w->fd = fd;
    w->wake_fd = wake_fd;
    w->capacity = IN_BYTES;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    /* Both fail on a Unix socket, which needs neither. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    return w;
}

void
wire_free(Wire *w)
{
    free(w->in);
    buf_free(&w->out);
    free(w);
}

bool
wire_is_dead(const Wire *w)
{
    return w->dead;
}

void
wire_limit(Wire *w, u64 received_max_bytes)
{
    w->received_max = received_max_bytes;
}

void
wire_deadline(Wire *w, u64 deadline_ns, ErrCode code, const char *message)
{
    w->deadline_ns = deadline_ns;
    w->deadline_code = code;
    w->deadline_message = message;
}

void
wire_on_wake(Wire *w, void (*woken)(void *ctx), void *ctx)
{
    w->woken = woken;
    w->woken_ctx = ctx;
}

static NORETURN void
lose(Wire *w)
{
    w->dead = true;
    buf_clear(&w->out);
    err_throw_fatal(ERR_CONNECTION_FAILURE, "connection to client lost");
}

typedef enum WaitFor { WAIT_COMMAND, WAIT_DATA, WAIT_ROOM } WaitFor;

static void
look_at_interrupts(Wire *w, WaitFor what)
{
    if (LIKELY(!interrupt_pending()))
        return;
    if (what == WAIT_DATA)
        interrupt_check();
    else if (what == WAIT_COMMAND)
        interrupt_idle();
    else if (interrupt_leaving()) {
        /* A cancel cannot stop half a message; a termination need not wait for a peer that does not read. */
        w->dead = true;
        buf_clear(&w->out);
        interrupt_idle();
    }
}

/* Sleep until the socket is ready or something else wants attention; the caller tries again. */
static void
wait_for(Wire *w, WaitFor what)
{
    struct pollfd p[2] = {{.fd = w->fd, .events = what == WAIT_ROOM ? POLLOUT : POLLIN}, {.fd = w->wake_fd, .events = POLLIN}};
    int timeout_ms = -1;
    if (w->deadline_ns) {
        u64 now = env->monotonic_ns();
        if (now >= w->deadline_ns) {
            w->deadline_ns = 0; /* the error has to be sent */
            err_throw_fatal(w->deadline_code, "%s", w->deadline_message);
        }
        timeout_ms = (int)((w->deadline_ns - now) / 1000000) + 1;
    }
    look_at_interrupts(w, what);
    if (poll(p, 2, timeout_ms) > 0 && p[1].revents) {
        u64 rung;
        (void)!read(w->wake_fd, &rung, sizeof rung);
    }
    look_at_interrupts(w, what);
    if (what == WAIT_COMMAND && w->woken && w->start == w->end)
        w->woken(w->woken_ctx);
}

static void
send_out(Wire *w, WaitFor what)
{
    size_t sent = 0;
    while (sent < w->out.len) {
        ssize_t n = send(w->fd, w->out.data + sent, w->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            sent += (size_t)n;
        else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            wait_for(w, what);
        else if (n == 0 || errno != EINTR)
            lose(w);
    }
    buf_clear(&w->out);
    if (w->out.capacity > 1024 * 1024)
        buf_free(&w->out);
}

void
wire_flush(Wire *w)
{
    if (w->out.len)
        send_out(w, WAIT_ROOM);
}

void
wire_send_byte(Wire *w, u8 byte)
{
    buf_u8(&w->out, byte);
    wire_flush(w);
}

/* Make room behind `end`: move the unfinished message to the front, or double. */
static void
make_room(Wire *w)
{
    size_t have = w->end - w->start;
    if (w->start > 0) {
        memmove(w->in, w->in + w->start, have);
        w->start = 0;
        w->end = have;
    }
    if (have == 0 && w->capacity > IN_KEEP_BYTES) {
        free(w->in);
        w->capacity = w->start = w->end = w->next = 0;
        w->in = NULL;
    }
    if (have < w->capacity && w->capacity - have >= w->capacity / 4)
        return;
    size_t capacity = w->capacity ? w->capacity * 2 : IN_KEEP_BYTES;
    u8 *in = realloc(w->in, capacity);
    if (!in) {
        if (!w->in)
            lose(w);
        err_throw_fatal(ERR_OUT_OF_MEMORY, "out of memory");
    }
    w->in = in;
    w->capacity = capacity;
}

/* A read filled the buffer: more will come, take it in larger pieces. Without memory all stays as it is. */
static void
widen(Wire *w)
{
    u8 *in = w->capacity < IN_KEEP_BYTES ? realloc(w->in, w->capacity * 2) : NULL;
    if (in) {
        w->in = in;
        w->capacity *= 2;
    }
}

/* Receive something behind what is there. false: the peer has gone. */
static bool
receive(Wire *w, WaitFor what)
{
    if (w->capacity - w->end < w->capacity / 4)
        make_room(w);
    for (bool waited = false;; waited = true) {
        if (waited)
            wait_for(w, what);
        ssize_t n = recv(w->fd, w->in + w->end, w->capacity - w->end, MSG_DONTWAIT);
        if (n > 0) {
            w->end += (size_t)n;
            w->received += (u64)n;
            if (w->end == w->capacity)
                widen(w);
            if (w->received_max && w->received > w->received_max)
                err_throw_fatal(ERR_PROTOCOL_VIOLATION, "too much data before authentication");
            return true;
        }
        if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
            w->dead = w->dead || n < 0;
            return false;
        }
    }
}

/* After the reply has left, the answer is rarely there already: sleep first and save a call. */
static bool
receive_patiently(Wire *w, WaitFor what)
{
    if (w->start == w->end && what == WAIT_COMMAND) {
        if (w->capacity > IN_KEEP_BYTES) /* of a long message: not to be held while idle */
            make_room(w);
        wait_for(w, what);
    }
    return receive(w, what);
}

static void
start_next(Wire *w)
{
    w->start = w->next;
    if (w->start == w->end)
        w->start = w->end = w->next = 0;
}

bool
wire_has_input(const Wire *w)
{
    return w->end > w->next;
}

bool
wire_next_is(const Wire *w, MsgFront type)
{
    size_t have = w->end - w->next;
    const u8 *p = w->in + w->next;
    return have >= 5 && p[0] == (u8)type && get_be32(p + 1) >= 4 && have - 1 >= get_be32(p + 1);
}

/* Type and length of the message at the head, checked. */
static u32
check_head(WirePhase phase, const u8 *head)
{
    const MessageRule *rule = &RULES[head[0]];
    u32 len = get_be32(head + 1);
    if (!rule->phases || (!(rule->phases & phase) && phase == PHASE_COMMAND))
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "invalid frontend message type %d", head[0]);
    if (!(rule->phases & phase) && phase == PHASE_AUTH)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "expected SASL response, got message type %d", head[0]);
    if (len < 4 || len - 4 > rule->longest)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "invalid message length");
    return len;
}

bool
wire_read(Wire *w, WirePhase phase, WireMsg *ret)
{
    WaitFor what = phase == PHASE_COMMAND ? WAIT_COMMAND : WAIT_DATA;
    start_next(w);
    for (;;) {
        size_t have = w->end - w->start;
        const u8 *p = w->in + w->start;
        if (have >= 5) {
            u32 len = check_head(phase, p);
            if (have - 1 >= len) {
                *ret = (WireMsg){.type = p[0], .len = len - 4, .body = p + 5};
                w->next = w->start + 1 + len;
                if (!(RULES[p[0]].phases & phase))
                    err_throw(ERR_PROTOCOL_VIOLATION, "unexpected message type 0x%02X during COPY from stdin", p[0]);
                return true;
            }
        }
        if (!receive_patiently(w, what))
            return false;
        w->next = w->start; /* make_room may have moved it */
    }
}

bool
wire_read_startup(Wire *w, WireMsg *ret)
{
    start_next(w);
    for (;;) {
        size_t have = w->end - w->start;
        const u8 *p = w->in + w->start;
        if (have >= 4) {
            u32 len = get_be32(p);
            if (len < 8 || len - 4 > WIRE_STARTUP_MAX)
                return false;
            if (have >= len) {
                *ret = (WireMsg){.len = len - 4, .body = p + 4};
                w->next = w->start + len;
                return true;
            }
        }
        if (!receive(w, WAIT_DATA))
            return false;
        w->next = w->start;
    }
}

void
body_bad(const char *message)
{
    err_throw(ERR_PROTOCOL_VIOLATION, "%s", message);
}

const char *
body_string(ByteReader *r)
{
    const u8 *end = r->bad ? NULL : memchr(r->at, 0, (size_t)(r->end - r->at));
    if (!end)
        body_bad("invalid string in message");
    const char *s = (const char *)r->at;
    Error err;
    CHECKED(utf8_check((Str){s, (u32)(end - r->at)}, &err), &err);
    r->at = end + 1;
    return s;
}

void
body_end(const ByteReader *r)
{
    if (!reader_done(r))
        body_bad("invalid message format");
}
