/* wire.h: the inside of a connection, for the files of net/ only. */
#ifndef WIRE_H
#define WIRE_H

#include "backend/net/net.h"

struct Wire {
    int fd, wake_fd;
    bool dead;
    u8 *in;
    size_t capacity, start, end; /* unused input is [start, end) */
    size_t next;                 /* behind the message handed out last; start moves here at the next read */
    u64 received, received_max;  /* received_max 0: no limit */
    u64 deadline_ns;
    ErrCode deadline_code;
    const char *deadline_message;
    void (*woken)(void *ctx); /* see wire_on_wake; NULL: nobody cares */
    void *woken_ctx;
    ByteBuf out;
};

/* Replies that wait for more than this are sent on. */
enum { WIRE_SEND_BYTES = 64 * 1024 };

#endif
