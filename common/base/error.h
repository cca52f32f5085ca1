/*
 * error.h
 *    The user's errors: an SQLSTATE of errcodes.def, a message in PostgreSQL's manner, and the fields clients read.
 *
 * Used by value; all text is inside, so an Error can be copied between threads and through a box. A function that can
 * fail for a user's reason returns bool and takes `Error *` last; `return error_set(err, ERR_X, "...")` is the idiom.
 */
#ifndef ERROR_H
#define ERROR_H

#include "common/base/base.h"

typedef enum ErrCode {
    ERR_NONE = 0,
#define ERRCODE(symbol, sqlstate, name) ERR_##symbol,
#include "common/base/errcodes.def"
    ERR_COUNT
} ErrCode;

typedef struct Error {
    ErrCode code;
    u32 position; /* 1-based character position in the statement, 0 when there is none */
    char message[512];
    char detail[512];
    char hint[256];
    char context[256];
    char table[64];
    char column[64];
    char constraint[64];
    char routine[32]; /* PostgreSQL's function that reports it, only where clients go by that */
} Error;

/* Set code and message (detail, hint, … are emptied). Always returns false. A NULL err is allowed. */
bool error_set(Error *err, ErrCode code, const char *format, ...) PRINTF_LIKE(3, 4);
void error_detail(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
void error_hint(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);
void error_context(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Five characters and a terminator, e.g. "22012". */
const char *errcode_sqlstate(ErrCode code);
/* The condition's name, e.g. "division_by_zero". */
const char *errcode_name(ErrCode code);

#endif
