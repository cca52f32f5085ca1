/*
 * throw.h
 *    Leaving a statement from anywhere below: err_throw jumps to the catch of this thread.
 *
 * There are three catches: the session loop's (session.c); the parallel driver's (exec/parallel.c), which hands the first Error of a helper thread to the
 * session thread and throws it there; and that around rows which are drawn for later (portal.c), whose error is told to who asks for them. What is not memory hangs on an arena by a hook (base/arena.h).
 */
#ifndef THROW_H
#define THROW_H

#include <setjmp.h>

#include "common/base/arena.h"
#include "common/base/error.h"

typedef struct Catch {
    jmp_buf jump;
    Error error;
    bool fatal; /* the connection ends after the report */
} Catch;

/* The catch of the calling thread; NULL: a throw is a panic. */
extern __thread Catch *current_catch;

NORETURN void err_throw(ErrCode code, const char *format, ...) PRINTF_LIKE(2, 3);
NORETURN void err_throw_at(u32 position, ErrCode code, const char *format, ...) PRINTF_LIKE(3, 4);
/* Ends the connection, too. */
NORETURN void err_throw_fatal(ErrCode code, const char *format, ...) PRINTF_LIKE(2, 3);
NORETURN void err_rethrow(const Error *err);
NORETURN void err_rethrow_fatal(const Error *err);
/* From now on an error of this thread is shown to `add`, which may say in its context where it happened; it must not throw. The first error ends that;
 * add NULL does, too. */
void err_context(void (*add)(void *of, Error *err), void *of);
/* Runs work(ctx) with a catch around it. false: it threw *ret, for which nobody has to leave anything but what hangs on arenas; a fatal error goes on. */
bool err_catch(void (*work)(void *ctx), void *ctx, Error *ret);
/* For arenas of the backend: throws 53200. */
void arena_full_throw(Arena *arena, size_t wanted_bytes);

/* The wrapper for calls into common/: CHECKED(value_in(..., &err), &err). */
#define CHECKED(call, errp) ((call) ? (void)0 : err_rethrow(errp))

#endif
