/*
 * fuzz_parse.c
 *    Statements changed at random, to our parser and to PostgreSQL's own (libpg_query): what it refuses must be refused here, and what it accepts be
 *    recognised, if only as something that is not supported.
 *
 * usage: fuzz_parse COUNT SEED FILE...   Files are .sql (statements end with ; at a line's end) or expectations of tests/unit/sql (a statement a line).
 * A statement is cut into tokens, and some of them are dropped, doubled, exchanged, or replaced by others of the corpus. Each kind of difference is shown a few
 * times; kinds that are listed in ALLOWED are known: PostgreSQL 16 accepts them, or the server judges them later than the grammar.
 */
#include "backend/sql/ast.h"
#include "backend/sql/sql.h"
#include "backend/throw.h"

#include <pg_query.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { STATEMENT_MAX = 2000, TOKENS_MAX = 400, KINDS_MAX = 4000, SHOWN = 2 };

typedef struct Token {
    const char *at;
    u32 len;
} Token;

typedef struct Corpus {
    char **statements;
    u32 count, capacity;
    Token *words; /* of all statements */
    u32 word_count, word_capacity;
} Corpus;

static u64 random_state;

static u32
random_below(u32 n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (u32)((random_state >> 11) % n);
}

/* ---- the corpus ---- */

/* The token at s, with the blanks behind it. */
static u32
token_length(const char *s)
{
    u32 n = 0;
    char quote = *s;
    if (quote == '\'' || quote == '"') {
        for (n = 1; s[n] && s[n] != quote; n++)
            ;
        n += s[n] == quote;
    } else if (isalnum((unsigned char)*s) || *s == '_' || *s == '$' || (unsigned char)*s >= 0x80) {
        while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$' || (unsigned char)s[n] >= 0x80)
            n++;
    } else if (strchr("+-*/<>=~!@#%^&|`?:", *s)) {
        while (s[n] && strchr("+-*/<>=~!@#%^&|`?:", s[n]))
            n++;
    } else if (*s) {
        n = 1;
    }
    while (s[n] && isspace((unsigned char)s[n]))
        n++;
    return n;
}

static u32
cut(const char *s, Token *to, u32 max)
{
    u32 n = 0;
    for (u32 len; *s && n < max; s += len) {
        len = token_length(s);
        to[n++] = (Token){s, len};
    }
    return n;
}

static void
add_statement(Corpus *c, const char *text, size_t len)
{
    if (len == 0 || len > STATEMENT_MAX / 2)
        return;
    if (c->count == c->capacity)
        c->statements = realloc(c->statements, (c->capacity = c->capacity * 2 + 256) * sizeof *c->statements);
    c->statements[c->count++] = strndup(text, len);
    Token tokens[TOKENS_MAX];
    u32 n = cut(c->statements[c->count - 1], tokens, TOKENS_MAX);
    if (c->word_count + n > c->word_capacity)
        c->words = realloc(c->words, (c->word_capacity = c->word_capacity * 2 + 4096) * sizeof *c->words);
    memcpy(c->words + c->word_count, tokens, n * sizeof *tokens);
    c->word_count += n;
}

static void
read_file(Corpus *c, const char *path)
{
    FILE *f = fopen(path, "r");
    char *line = NULL, text[STATEMENT_MAX];
    size_t capacity = 0, len = 0;
    bool lines = strstr(path, ".txt") != NULL;
    ensure(f);
    for (ssize_t n; (n = getline(&line, &capacity, f)) > 0;) {
        if (line[0] == '\\' || (len == 0 && (line[0] == '-' || line[0] == '#' || line[0] == ' ')))
            continue;
        if (lines) {
            add_statement(c, line, (size_t)n - 1);
            continue;
        }
        if (len + (size_t)n < sizeof text) {
            memcpy(text + len, line, (size_t)n);
            len += (size_t)n;
        }
        if (n >= 2 && line[n - 2] == ';') {
            add_statement(c, text, len - 2);
            len = 0;
        }
    }
    free(line);
    fclose(f);
}

/* ---- changing ---- */

static void
change(const Corpus *c, char *to)
{
    Token t[TOKENS_MAX];
    u32 n = cut(c->statements[random_below(c->count)], t, TOKENS_MAX / 2), times = random_below(4);
    if (random_below(8) == 0) { /* the rest of another one */
        u32 keep = n ? random_below(n) : 0;
        n = keep + cut(c->statements[random_below(c->count)], t + keep, TOKENS_MAX / 2);
    }
    for (u32 i = 0; i < times && n > 0; i++) {
        u32 at = random_below(n);
        Token other = c->words[random_below(c->word_count)];
        switch (random_below(5)) {
        case 0: memmove(t + at, t + at + 1, (--n - at) * sizeof *t); break;
        case 1: t[at] = other; break;
        case 2: { Token x = t[at]; u32 with = random_below(n); t[at] = t[with]; t[with] = x; break; }
        default:
            memmove(t + at + 1, t + at, (n++ - at) * sizeof *t);
            t[at] = random_below(3) ? other : t[random_below(n)];
            break;
        }
    }
    u32 len = 0;
    for (u32 i = 0; i < n && len + t[i].len + 2 < STATEMENT_MAX; i++) {
        memcpy(to + len, t[i].at, t[i].len);
        len += t[i].len;
        if (len && isalnum((unsigned char)to[len - 1]))
            to[len++] = ' ';
    }
    to[len] = 0;
}

/* ---- comparing ---- */

/* NULL: accepted; else the message, in `error`. */
static const Error *
ours(const char *text, Error *error)
{
    Arena *a = arena_new("fuzz", (size_t)1 << 28, arena_full_throw);
    Catch c;
    bool failed = true;
    current_catch = &c;
    if (!setjmp(c.jump)) {
        u32 count;
        const ParsedStmt *s = sql_parse(a, text, (u32)strlen(text), &count);
        failed = false;
        for (u32 i = 0; i < count; i++)
            if (s[i].tree && s[i].tree->kind == ST_UNSUPPORTED)
                failed = !error_set(error, ERR_FEATURE_NOT_SUPPORTED, "not supported");
    } else {
        *error = c.error;
    }
    arena_free(a);
    return failed ? error : NULL;
}

/* The statement's first two words, and a message without what it quotes. */
static void
kind_of(const char *who, const char *text, const char *message, char *to, size_t size)
{
    u32 words = token_length(text);
    words += token_length(text + words);
    size_t n = (size_t)snprintf(to, size, "%s: %.*s: ", who, (int)words, text);
    bool quoted = false;
    for (; *message && n + 1 < size; message++) {
        if (*message == '"')
            quoted = !quoted;
        if (!quoted)
            to[n++] = *message;
    }
    to[n] = 0;
}

/* Beginnings of kinds of differences that stay. */
static const char *const ALLOWED[] = {
    "refused here: stack depth",
};

static char *kinds[KINDS_MAX];
static u32 kind_counts[KINDS_MAX], kind_count, different;

static void
note(const char *kind, const char *text, const char *message)
{
    for (u32 i = 0; i < COUNT_OF(ALLOWED); i++)
        if (strncmp(kind, ALLOWED[i], strlen(ALLOWED[i])) == 0)
            return;
    u32 i = 0;
    while (i < kind_count && strcmp(kinds[i], kind) != 0)
        i++;
    if (i == kind_count) {
        if (kind_count == KINDS_MAX)
            return;
        kinds[kind_count++] = strdup(kind);
    }
    different++;
    if (kind_counts[i]++ < SHOWN)
        printf("%s\n  %s\n  %s\n", kind, message, text);
}

int
main(int argc, char **argv)
{
    Corpus c = {0};
    ensure(argc > 3);
    u64 count = strtoull(argv[1], NULL, 10);
    random_state = strtoull(argv[2], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
    for (int i = 3; i < argc; i++)
        read_file(&c, argv[i]);
    for (u64 n = 0; n < count; n++) {
        char text[STATEMENT_MAX + 8], kind[300];
        Error error;
        change(&c, text);
        const Error *mine = ours(text, &error);
        PgQueryParseResult theirs = pg_query_parse(text);
        if (!mine && theirs.error) {
            kind_of("accepted here", text, theirs.error->message, kind, sizeof kind);
            note(kind, text, theirs.error->message);
        } else if (mine && !theirs.error && mine->code != ERR_FEATURE_NOT_SUPPORTED) {
            kind_of("refused here", text, mine->message, kind, sizeof kind);
            note(kind, text, mine->message);
        }
        pg_query_free_parse_result(theirs);
    }
    printf("%llu statements, %u differences of %u kinds\n", (unsigned long long)count, different, kind_count);
    return different != 0;
}
