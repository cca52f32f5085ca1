/*
 * refuse.c
 *    Tell a client why it cannot connect now: in a child of its own, within two seconds and a few hundred bytes.
 *
 * A CancelRequest needs no slot and is carried out all the same: who cancels has too much running. The client's first packets are read before the answer, since libpq asks for TLS first and drops an answer that comes too early.
 */
#include "postmaster/postmaster.h"

#include "common/base/bytes.h"
#include "common/base/env.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 2000, PACKET_MAX = 10004, CODE_SSL = 80877103, CODE_GSS = 80877104, CODE_CANCEL = 80877102 };

/* Exactly n bytes within the time, or false. */
static bool
read_exactly(int fd, u8 *to, size_t n, u64 until_ns)
{
    for (size_t got = 0; got < n;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        u64 now_ns = env->monotonic_ns();
        if (now_ns >= until_ns || poll(&p, 1, (int)((until_ns - now_ns) / 1000000) + 1) != 1)
            return false;
        ssize_t r = recv(fd, to + got, n - got, 0);
        if (r <= 0)
            return false;
        got += (size_t)r;
    }
    return true;
}

static void
put_field(u8 *to, size_t *len, char kind, const char *text)
{
    to[(*len)++] = (u8)kind;
    memcpy(to + *len, text, strlen(text) + 1);
    *len += strlen(text) + 1;
}

void
refuse_client(int fd, const Shm *shm, ErrCode code, const char *message)
{
    u8 packet[PACKET_MAX], answer[512] = "E";
    u64 until_ns = env->monotonic_ns() + WAIT_MS * 1000000ull; /* in all: who sends a byte now and then is not waited for */
    for (int tries = 0; tries < 3; tries++) {
        if (!read_exactly(fd, packet, 8, until_ns))
            _exit(0);
        u32 len = get_be32(packet), request = get_be32(packet + 4);
        if (len < 8 || len > PACKET_MAX || !read_exactly(fd, packet + 8, len - 8, until_ns))
            _exit(0);
        if (request == CODE_CANCEL) {
            if (len == 16)
                proc_cancel(shm, get_be32(packet + 8), get_be32(packet + 12));
            _exit(0);
        }
        if (request != CODE_SSL && request != CODE_GSS)
            break;
        if (send(fd, "N", 1, MSG_NOSIGNAL) != 1)
            _exit(0);
    }
    size_t len = 5;
    put_field(answer, &len, 'S', "FATAL");
    put_field(answer, &len, 'V', "FATAL");
    put_field(answer, &len, 'C', errcode_sqlstate(code));
    put_field(answer, &len, 'M', message);
    answer[len++] = 0;
    put_be32(answer + 1, (u32)len - 1);
    if (send(fd, answer, len, MSG_NOSIGNAL) < 0) {
        /* The client is gone. */
    }
    shutdown(fd, SHUT_RDWR);
    _exit(0);
}
