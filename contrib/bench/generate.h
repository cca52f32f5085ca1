/* generate.h: what the generators of benchmark rows share. A value is a pure function of table, column and key; values go to standard output, each with a tab behind it. */
#ifndef GENERATE_H
#define GENERATE_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* The random number of a column (a letter per table, a number per column) of a key. */
static inline uint64_t draw(char table, int column, uint64_t key) { return mix((key * 64 + (uint64_t)column) ^ ((uint64_t)table << 56)); }
static inline int64_t range(char table, int column, uint64_t key, int64_t low, int64_t high)
{
    return low + (int64_t)(draw(table, column, key) % (uint64_t)(high - low + 1));
}
#define PICK(list, table, column, key) ((list)[draw(table, column, key) % COUNT(list)])

static inline void tab(void) { putchar_unlocked('\t'); }
static inline void integer(int64_t v) { printf("%" PRId64, v); tab(); }
static inline void string(const char *s) { fputs(s, stdout); tab(); }
static inline void money(int64_t cents) { printf("%s%lld.%02lld\t", cents < 0 ? "-" : "", llabs(cents) / 100, llabs(cents) % 100); }

typedef struct Day { int64_t year; int month, day; } Day;

/* The day of a number of days since 1970 (Hinnant's civil_from_days). */
static inline Day day_of(int64_t days)
{
    int64_t z = days + 719468, era = z / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153, d = doy - (153 * mp + 2) / 5 + 1, m = mp < 10 ? mp + 3 : mp - 9;
    return (Day){yoe + era * 400 + (m <= 2), (int)m, (int)d};
}

static inline void date(int64_t days)
{
    Day d = day_of(days);
    printf("%04" PRId64 "-%02d-%02d\t", d.year, d.month, d.day);
}

/* Ends a row whose last value was written with a tab behind it. */
static inline void last_integer(int64_t v) { printf("%" PRId64 "\n", v); }
static inline void last_string(const char *s) { puts(s); }

typedef struct Table { const char *name; void (*write)(void); } Table;

/* Writes the table that the command line names; the exit status. */
static inline int write_table(const char *program, const char *name, const Table *tables, size_t count)
{
    static char buffer[1 << 20];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, tables[i].name) == 0) { tables[i].write(); return fflush(stdout) == 0 ? 0 : 1; }
    fprintf(stderr, "%s: no table \"%s\"\n", program, name);
    return 2;
}

#endif
