/*
 * throw.c
 *    err_throw and its kin: fill the Error of this thread's catch and jump to it.
 *
 * Fails: without a catch there is nowhere to go; that is a bug of ours and ends the process (one connection).
 */
#include "backend/throw.h"

#include "common/base/say.h"

#include <stdarg.h>
#include <stdio.h>

__thread Catch *current_catch;
static __thread void (*add_context)(void *of, Error *err); /* NULL: none */
static __thread void *context_of;

static NORETURN void
jump(void)
{
    if (add_context) {
        void (*add)(void *, Error *) = add_context;
        add_context = NULL;
        add(context_of, &current_catch->error);
    }
    longjmp(current_catch->jump, 1);
}

void
err_context(void (*add)(void *of, Error *err), void *of)
{
    add_context = add;
    context_of = of;
}

static void
fill(u32 position, bool fatal, ErrCode code, const char *format, va_list args)
{
    char message[sizeof current_catch->error.message];
    vsnprintf(message, sizeof message, format, args);
    if (!current_catch)
        say_panic("error without a catch: %s %s", errcode_sqlstate(code), message);
    error_set(&current_catch->error, code, "%s", message);
    current_catch->error.position = position;
    current_catch->fatal = fatal;
}

void
err_throw(ErrCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(0, false, code, format, args);
    va_end(args);
    jump();
}

void
err_throw_at(u32 position, ErrCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(position, false, code, format, args);
    va_end(args);
    jump();
}

void
err_throw_fatal(ErrCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(0, true, code, format, args);
    va_end(args);
    jump();
}

static NORETURN void
rethrow(const Error *err, bool fatal)
{
    if (!current_catch)
        say_panic("error without a catch: %s %s", errcode_sqlstate(err->code), err->message);
    if (err != &current_catch->error)
        current_catch->error = *err;
    current_catch->fatal = fatal;
    jump();
}

void
err_rethrow(const Error *err)
{
    rethrow(err, false);
}

void
err_rethrow_fatal(const Error *err)
{
    rethrow(err, true);
}

void
arena_full_throw(Arena *arena, size_t wanted_bytes)
{
    Error err;
    error_set(&err, ERR_OUT_OF_MEMORY, "out of memory");
    error_detail(&err, "Failed on request of size %zu in memory context \"%s\".", wanted_bytes, arena_name(arena));
    err_rethrow(&err);
}

bool
err_catch(void (*work)(void *ctx), void *ctx, Error *ret)
{
    Catch here = {0}, *outer = current_catch;
    current_catch = &here;
    if (setjmp(here.jump) == 0) {
        work(ctx);
        current_catch = outer;
        return true;
    }
    current_catch = outer;
    if (here.fatal)
        err_rethrow_fatal(&here.error);
    *ret = here.error;
    return false;
}
