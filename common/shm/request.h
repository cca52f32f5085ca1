/* request.h: numbers of requests.def. */
#ifndef REQUEST_H
#define REQUEST_H

typedef enum ReqKind {
#define REQUEST(number, symbol, payload) REQ_##symbol = number,
#include "common/shm/requests.def"
} ReqKind;

/* req_flags */
enum {
    REQ_FLAG_TABLE_LOCK = 1, /* after three RETRYs: take the table's write lock first */
    REQ_FLAG_SNAPSHOT = 2,   /* REPEATABLE READ: a row changed since req_version is 40001, not RETRY */
};

#endif
