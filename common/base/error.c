/* error.c: filling an Error; texts of errcodes.def. */
#include "common/base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct { const char *sqlstate, *name; } CODES[ERR_COUNT] = {
    [ERR_NONE] = {"00000", "successful_completion"},
#define ERRCODE(symbol, sqlstate, name) [ERR_##symbol] = {sqlstate, name},
#include "common/base/errcodes.def"
};

const char *
errcode_sqlstate(ErrCode code)
{
    return CODES[code < ERR_COUNT ? code : ERR_INTERNAL_ERROR].sqlstate;
}

const char *
errcode_name(ErrCode code)
{
    return CODES[code < ERR_COUNT ? code : ERR_INTERNAL_ERROR].name;
}

bool
error_set(Error *err, ErrCode code, const char *format, ...)
{
    va_list args;
    if (!err)
        return false;
    memset(err, 0, sizeof *err);
    err->code = code;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return false;
}

#define FILL(field)                                                                                                    \
    do {                                                                                                               \
        va_list args;                                                                                                  \
        if (!err)                                                                                                      \
            return;                                                                                                    \
        va_start(args, format);                                                                                        \
        vsnprintf(err->field, sizeof err->field, format, args);                                                        \
        va_end(args);                                                                                                  \
    } while (0)

void
error_detail(Error *err, const char *format, ...)
{
    FILL(detail);
}

void
error_hint(Error *err, const char *format, ...)
{
    FILL(hint);
}

void
error_context(Error *err, const char *format, ...)
{
    FILL(context);
}
