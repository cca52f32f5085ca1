/*
 * say.h
 *    Lines for the operator: one line an event, to standard error, with time, process id and level.
 *
 * Control characters and marks of direction are escaped and a line is at most 1,000 bytes, so nobody can forge a second one. say_fatal ends the
 * process with status 1, say_panic with abort() (a broken invariant of ours). No allocation, no lock: one write(2).
 */
#ifndef SAY_H
#define SAY_H

#include "common/base/base.h"

typedef enum SayLevel { SAY_DEBUG, SAY_INFO, SAY_WARN, SAY_ERROR } SayLevel;

/* Name of the role in each line, e.g. "walwriter"; a literal. */
void say_role(const char *role);
void say_level(SayLevel lowest);
void say_debug(const char *format, ...) PRINTF_LIKE(1, 2);
void say_info(const char *format, ...) PRINTF_LIKE(1, 2);
void say_warn(const char *format, ...) PRINTF_LIKE(1, 2);
void say_error(const char *format, ...) PRINTF_LIKE(1, 2);
NORETURN void say_fatal(const char *format, ...) PRINTF_LIKE(1, 2);
NORETURN void say_panic(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
