/*
 * base.h
 *    Integers, attributes and the two kinds of assertion.
 *
 * ensure() holds in every build and guards trust borders and invariants whose breach must stop the process;
 * assert() is for debug builds. Both say where. Nothing in this room knows a role.
 */
#ifndef BASE_H
#define BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef __int128 i128;
typedef unsigned __int128 u128;

#define MUST_CHECK __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define UNUSED __attribute__((unused))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define ALIGN_UP(x, to) (((x) + ((to) - 1)) & ~((__typeof__(x))(to) - 1))

NORETURN void ensure_failed(const char *expression, const char *file, int line);
#define ensure(e) ((e) ? (void)0 : ensure_failed(#e, __FILE__, __LINE__))

/* A run of bytes that is not owned and not terminated. Text is UTF-8. */
typedef struct Str {
    const char *ptr;
    u32 len;
} Str;

#define STR_LIT(s) ((Str){(s), sizeof(s) - 1})

static inline Str
str_of(const char *s)
{
    return (Str){s, (u32)strlen(s)};
}

static inline bool
str_eq(Str a, Str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Byte order = code point order, the only collation (C.UTF-8). <0, 0, >0. */
static inline int
str_cmp(Str a, Str b)
{
    u32 n = MIN(a.len, b.len);
    int c = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

#endif
