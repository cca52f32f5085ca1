/* say.c: one line an event, one write(2) a line. */
#include "common/base/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1000 };

static const char *role_name = "ggs3db";
static SayLevel lowest_level = SAY_INFO;

void
say_role(const char *role)
{
    role_name = role;
}

void
say_level(SayLevel lowest)
{
    lowest_level = lowest;
}

/* Bytes of the character here that a terminal would obey and not show: C0 and C1 controls, line separators, marks that turn the direction. */
static u32
unshown_bytes(const u8 *c)
{
    if (c[0] < 32 || c[0] == 127)
        return 1;
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
        return 2;
    if (c[0] != 0xe2 || (c[1] != 0x80 && c[1] != 0x81))
        return 0;
    bool marks = c[1] == 0x80 ? (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae)) : (c[2] >= 0xa6 && c[2] <= 0xa9);
    return marks ? 3 : 0;
}

/* Append text with such characters shown as \xNN, never past the line. */
static size_t
append_escaped(char *line, size_t len, const char *text)
{
    u32 hidden = 0;
    for (; *text && len < LINE_MAX_BYTES - 5; text++) {
        u8 c = (u8)*text;
        hidden = hidden ? hidden : unshown_bytes((const u8 *)text);
        if (hidden)
            len += (size_t)sprintf(line + len, "\\x%02x", c);
        else
            line[len++] = (char)c;
        hidden -= hidden > 0;
    }
    return len;
}

static void
say(SayLevel level, const char *word, const char *format, va_list args)
{
    char text[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 8];
    struct timespec now;
    struct tm tm;
    if (level < lowest_level)
        return;
    vsnprintf(text, sizeof text, format, args);
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    size_t len = strftime(line, sizeof line, "%Y-%m-%d %H:%M:%S", &tm);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%03ld UTC [%d] %s %s: ", now.tv_nsec / 1000000, (int)getpid(),
                            role_name, word);
    len = append_escaped(line, len, text);
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0) {
        /* Nobody is left to tell. */
    }
}

#define SAY(level, word)                                                                                               \
    va_list args;                                                                                                      \
    va_start(args, format);                                                                                            \
    say(level, word, format, args);                                                                                    \
    va_end(args)

void
say_debug(const char *format, ...)
{
    SAY(SAY_DEBUG, "debug");
}

void
say_info(const char *format, ...)
{
    SAY(SAY_INFO, "info");
}

void
say_warn(const char *format, ...)
{
    SAY(SAY_WARN, "warning");
}

void
say_error(const char *format, ...)
{
    SAY(SAY_ERROR, "error");
}

void
say_fatal(const char *format, ...)
{
    SAY(SAY_ERROR, "fatal");
    _exit(1);
}

void
say_panic(const char *format, ...)
{
    SAY(SAY_ERROR, "panic");
    abort();
}

void
ensure_failed(const char *expression, const char *file, int line)
{
    say_panic("broken invariant: %s at %s:%d", expression, file, line);
}
