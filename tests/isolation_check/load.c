/*
 * load.c
 *    load SOCKET [--clients N] [--transactions N] [--level rc|rr|sr|mixed] [--seed N] [--window N] [--row-locks] [--autocommit] [--kill N] [--drop N] [--cancel N]
 *         [--spill N] [--user U] [--database D] [--setup SQL]
 *    Drives clients against a server and writes what they asked and what they were told to standard output, for history.py.
 *
 * A line a transaction, fields parted by tabs:
 *    T id client level mode outcome commit_begin commit_end
 *    then a field an operation: code begin end parameters... result
 * and at the end "C lost_connections".
 * level rc, rr, sr; mode a (autocommit), b (block), i (implicit, of several statements); outcome ok, failed, unknown; begin and end are the clock, end 0: no
 * answer. A result is "=N" (rows changed), "!SQLSTATE", rows (columns parted by |, rows by ;, none: -), or "?".
 *
 * --kill, --drop, --cancel: so many of 10,000 statements are followed by a SIGKILL of some client's server process, by closing a connection, by a cancel
 * request. Lost connections are made again, for 60 s. Ends with status 2 when a client gets no answer for 120 s.
 */
#include "load.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

Options options = {.clients = 16, .window = 20, .transactions = 10000, .seed = 1, .user = "root", .database = "ggs3db"};
uint64_t load_clock;

static Client clients[MAX_CLIENTS];
static uint64_t random_state, started, finished, lost_connections;

uint64_t
random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state >> 11;
}

bool
chance(int percent)
{
    return (int)(random_next() % 100) < percent;
}

char *
print_new(const char *format, ...)
{
    char *s = NULL;
    va_list a;
    va_start(a, format);
    if (vasprintf(&s, format, a) < 0)
        abort();
    va_end(a);
    return s;
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the record ---- */

static void
record(Client *c)
{
    static const char *const levels[] = {"rc", "rr", "sr"};
    static const char *const outcomes[] = {"open", "ok", "failed", "unknown"};
    Tx *t = &c->tx;
    printf("T %lu %d %s %c %s %lu %lu", (unsigned long)t->id, c->number, levels[c->level], t->mode, outcomes[t->outcome],
           (unsigned long)t->commit_begin, (unsigned long)t->commit_end);
    for (int i = 0; i < t->op_count; i++) {
        Op *op = &t->op[i];
        printf("\t%c %lu %lu", op->code, (unsigned long)op->begin, (unsigned long)op->end);
        for (int p = 0; p < MAX_PARAMS && op->param[p]; p++) {
            printf(" %s", op->param[p]);
            free(op->param[p]);
        }
        printf(" %s", op->result ? op->result : "?");
        free(op->result);
    }
    putchar('\n');
    free(t->move.value);
    c->in_tx = false;
    c->item_count = c->item_at = 0;
    finished++;
}

static void
end_tx(Client *c, Outcome outcome)
{
    c->tx.outcome = outcome;
    record(c);
}

/* The connection is gone: unknown is what may have been committed. */
static void
lose(Client *c)
{
    if (c->in_tx)
        end_tx(c, c->tx.commit_sent ? OUTCOME_UNKNOWN : OUTCOME_FAILED);
    if (c->socket >= 0)
        lost_connections++;
    disconnect(c);
    c->retry_at = now() + 0.01;
}

/* ---- sending ---- */

static Item *
add_item(Client *c, ItemKind kind, int first, int count)
{
    Item *i = &c->item[c->item_count++];
    *i = (Item){.kind = kind, .first = first, .count = count};
    return i;
}

static void
add_ops(Client *c, int count)
{
    Tx *t = &c->tx;
    int first = t->op_count - count;
    bool plain = false;
    for (int i = first; i < t->op_count; i++) {
        t->op[i].begin = load_clock;
        plain |= template_of(t->op[i].code) == NULL;
    }
    add_item(c, ITEM_OPS, first, count);
    put_ops(c, first, count, t->extended && !plain);
    if (t->mode != MODE_BLOCK) {
        t->commit_begin = load_clock;
        t->commit_sent = true;
    }
}

static void
add_end(Client *c, bool commit)
{
    Tx *t = &c->tx;
    add_item(c, commit ? ITEM_COMMIT : ITEM_ROLLBACK, 0, 0);
    put_query(c, commit ? "COMMIT" : "ROLLBACK");
    if (commit) {
        t->commit_begin = load_clock;
        t->commit_sent = true;
    }
}

static void
add_savepoint_op(Client *c, char code, int n)
{
    char name[16];
    snprintf(name, sizeof name, "%d", n);
    tx_add(&c->tx, code, name, NULL, NULL);
    add_ops(c, 1);
}

/* In a transaction that failed: back to a savepoint, or out. */
static void
step_failed(Client *c)
{
    Tx *t = &c->tx;
    free(t->move.value);
    t->move = (Move){0};
    if (t->depth > 0 && chance(80) && t->op_count < MAX_OPS - 2) {
        t->depth = 1 + (int)(random_next() % (uint64_t)t->depth);
        t->failed = false;
        add_savepoint_op(c, 'r', t->depth);
    } else {
        add_end(c, chance(50));
    }
}

/* Perhaps a savepoint command; true: it was added. */
static bool
step_savepoint(Client *c)
{
    Tx *t = &c->tx;
    if (!t->savepoints || t->op_count > MAX_OPS - 12)
        return false;
    if (t->depth < MAX_SAVEPOINTS && chance(30)) {
        add_savepoint_op(c, 's', ++t->depth);
        return true;
    }
    if (t->depth > 0 && chance(20)) {
        t->depth = 1 + (int)(random_next() % (uint64_t)t->depth);
        add_savepoint_op(c, 'r', t->depth);
        return true;
    }
    if (t->depth > 0 && chance(8)) {
        t->depth = (int)(random_next() % (uint64_t)t->depth);
        add_savepoint_op(c, 'l', t->depth + 1);
        return true;
    }
    return false;
}

static void
step_block(Client *c)
{
    static const char *const begin[] = {"BEGIN ISOLATION LEVEL READ COMMITTED", "BEGIN ISOLATION LEVEL REPEATABLE READ",
                                        "BEGIN ISOLATION LEVEL SERIALIZABLE"};
    Tx *t = &c->tx;
    if (t->failed) {
        step_failed(c);
        return;
    }
    if (!t->begun) {
        t->begun = true;
        add_item(c, ITEM_BEGIN, 0, 0);
        put_query(c, chance(50) ? "BEGIN" : begin[c->level]);
    }
    if (continue_move(c)) {
        add_ops(c, 1);
        return;
    }
    if (t->planned == 0) {
        add_end(c, chance(95));
        return;
    }
    if (step_savepoint(c))
        return;
    t->planned--;
    choose_op(c);
    add_ops(c, 1);
    if (t->planned == 0 && !t->move.stage && t->depth == 0 && chance(30))
        add_end(c, true);
}

static void
trouble(Client *sender)
{
    int n = (int)(random_next() % 10000);
    Client *c = &clients[random_next() % (uint64_t)options.clients];
    if (c->socket < 0)
        return;
    if (n < options.kill) {
        kill(c->pid, SIGKILL);
    } else if (n < options.kill + options.drop) {
        lose(chance(50) ? sender : c);
    } else if (n < options.kill + options.drop + options.cancel) {
        send_cancel(c);
    }
}

/* All that was on the way is answered: what is next? */
static void
step(Client *c)
{
    c->item_count = c->item_at = 0;
    if (!c->in_tx) {
        if (started >= options.transactions)
            return;
        started++;
        tx_start(c);
    }
    load_clock++;
    if (c->tx.mode == MODE_BLOCK) {
        step_block(c);
    } else {
        int count = c->tx.planned;
        for (int i = 0; i < count; i++)
            choose_op(c);
        add_ops(c, c->tx.op_count);
    }
    c->last_activity = now();
    if (!flush_out(c))
        lose(c);
    else
        trouble(c);
}

/* ---- answers ---- */

static void
add_text(char **result, const char *text, size_t n)
{
    size_t have = *result ? strlen(*result) : 0;
    *result = realloc(*result, have + n + 1);
    memcpy(*result + have, text, n);
    (*result)[have + n] = 0;
}

static void
take_row(Op *op, const char *body)
{
    int columns = ((uint8_t)body[0] << 8) + (uint8_t)body[1];
    const uint8_t *p = (const uint8_t *)body + 2;
    if (op->result)
        add_text(&op->result, ";", 1);
    for (int i = 0; i < columns; i++) {
        uint32_t n = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
        if (i)
            add_text(&op->result, "|", 1);
        if (n == UINT32_MAX)
            n = 0;
        else
            add_text(&op->result, (const char *)p + 4, n);
        p += 4 + n;
    }
}

static void
take_tag(Client *c, Item *item, const char *tag)
{
    Tx *t = &c->tx;
    if (item->kind == ITEM_COMMIT) {
        t->outcome = strcmp(tag, "COMMIT") == 0 ? OUTCOME_OK : OUTCOME_FAILED;
        return;
    }
    if (item->kind != ITEM_OPS || item->at >= item->count)
        return;
    Op *op = &t->op[item->first + item->at++];
    const char *number = strrchr(tag, ' ');
    if (strncmp(tag, "SELECT", 6) != 0) {
        free(op->result);
        op->result = print_new("=%s", number ? number + 1 : "");
    } else if (!op->result) {
        op->result = print_new("-");
    }
    note_result(t, op);
}

/* True: the connection ends with this error. */
static bool
take_error(Client *c, Item *item, const char *body)
{
    Tx *t = &c->tx;
    const char *code = "", *severity = "", *message = "";
    for (const char *p = body; *p; p += strlen(p) + 1) {
        if (*p == 'C')
            code = p + 1;
        else if (*p == 'V')
            severity = p + 1;
        else if (*p == 'M')
            message = p + 1;
    }
    static uint32_t shown;
    if ((strcmp(code, "0A000") == 0 || strncmp(code, "XX", 2) == 0 || strncmp(code, "42", 2) == 0 || strncmp(code, "26", 2) == 0) && shown++ < 20)
        fprintf(stderr, "client %d: %s %s\n", c->number, code, message);
    if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)
        return true;
    item->error = true;
    t->failed = true;
    t->alone |= item->kind == ITEM_BEGIN;
    if (item->kind == ITEM_OPS && item->at < item->count) {
        Op *op = &t->op[item->first + item->at];
        free(op->result);
        op->result = print_new("!%s", code);
        note_result(t, op);
    }
    if (strcmp(code, "08007") == 0)
        t->outcome = OUTCOME_UNKNOWN;
    else if (item->kind == ITEM_COMMIT || t->mode != MODE_BLOCK)
        t->outcome = OUTCOME_FAILED;
    return false;
}

/* One message on the way is answered. */
static void
item_done(Client *c, Item *item)
{
    Tx *t = &c->tx;
    load_clock++;
    for (int i = 0; i < item->count; i++)
        t->op[item->first + i].end = load_clock;
    if (item->kind == ITEM_ROLLBACK && t->alone) {
        t->commit_begin = t->op_count ? t->op[0].begin : load_clock;
        end_tx(c, OUTCOME_UNKNOWN);
        return;
    }
    if (item->kind == ITEM_ROLLBACK)
        t->outcome = OUTCOME_FAILED;
    if (t->mode != MODE_BLOCK && t->outcome == OUTCOME_OPEN)
        t->outcome = OUTCOME_OK;
    if (t->outcome != OUTCOME_OPEN) {
        t->commit_end = load_clock;
        if (t->outcome == OUTCOME_UNKNOWN && t->mode == MODE_BLOCK && item->kind != ITEM_COMMIT)
            t->outcome = OUTCOME_OPEN;
        else
            end_tx(c, t->outcome);
    }
}

static void
answers(Client *c)
{
    char kind, *body;
    size_t length;
    if (receive(c) < 0) {
        lose(c);
        return;
    }
    while (c->socket >= 0 && next_message(c, &kind, &body, &length)) {
        if (c->item_at >= c->item_count) {
            if (kind == 'E') {
                lose(c);
                return;
            }
            continue;
        }
        Item *item = &c->item[c->item_at];
        Tx *t = &c->tx;
        if (kind == 'D' && item->kind == ITEM_OPS && item->at < item->count) {
            take_row(&t->op[item->first + item->at], body);
        } else if (kind == 'C') {
            take_tag(c, item, body);
        } else if (kind == 'E') {
            if (take_error(c, item, body)) {
                lose(c);
                return;
            }
        } else if (kind == 'Z') {
            int count = c->item_count;
            c->item_at++;
            item_done(c, item);
            if (!c->in_tx || c->item_at == count)
                step(c);
        }
    }
}

/* ---- the loop ---- */

static void
reconnect(Client *c)
{
    if (now() < c->retry_at)
        return;
    if (sign_in(c)) {
        c->last_activity = now();
        step(c);
    } else if (now() - c->last_activity > 60) {
        fprintf(stderr, "client %d: no connection for 60 s\n", c->number);
        exit(2);
    } else {
        c->retry_at = now() + 0.05;
    }
}

static void
run(void)
{
    struct pollfd p[MAX_CLIENTS];
    double last_shown = now();
    while (finished < options.transactions) {
        for (int i = 0; i < options.clients; i++) {
            Client *c = &clients[i];
            if (c->socket < 0 && started < options.transactions)
                reconnect(c);
            p[i] = (struct pollfd){.fd = c->socket, .events = POLLIN};
            if (c->in_tx && now() - c->last_activity > 120) {
                Op *op = c->tx.op_count ? &c->tx.op[c->tx.op_count - 1] : NULL;
                fprintf(stderr, "client %d, transaction %lu: no answer for 120 s (%c %s)\n", i, (unsigned long)c->tx.id, op ? op->code : ' ',
                        op ? op->param[0] : "");
                exit(2);
            }
        }
        if (poll(p, (nfds_t)options.clients, 20) < 0 && errno != EINTR)
            abort();
        for (int i = 0; i < options.clients; i++)
            if (p[i].revents && clients[i].socket == p[i].fd)
                answers(&clients[i]);
        if (now() - last_shown > 10) {
            last_shown = now();
            fprintf(stderr, "%lu of %lu transactions\n", (unsigned long)finished, (unsigned long)options.transactions);
        }
    }
}

static void
parse_options(int argc, char **argv)
{
    enum { CLIENTS = 256, TRANSACTIONS, LEVEL, SEED, WINDOW, ROW_LOCKS, AUTOCOMMIT, KILL, DROP, CANCEL, SPILL, USER, DATABASE, SETUP };
    static const struct option names[] = {{"clients", 1, 0, CLIENTS}, {"transactions", 1, 0, TRANSACTIONS}, {"level", 1, 0, LEVEL},
        {"seed", 1, 0, SEED}, {"window", 1, 0, WINDOW}, {"row-locks", 0, 0, ROW_LOCKS}, {"autocommit", 0, 0, AUTOCOMMIT}, {"kill", 1, 0, KILL}, {"drop", 1, 0, DROP},
        {"cancel", 1, 0, CANCEL}, {"spill", 1, 0, SPILL}, {"user", 1, 0, USER}, {"database", 1, 0, DATABASE}, {"setup", 1, 0, SETUP},
        {0, 0, 0, 0}};
    int which;
    while ((which = getopt_long(argc, argv, "", names, NULL)) != -1) {
        switch (which) {
        case CLIENTS: options.clients = atoi(optarg); break;
        case TRANSACTIONS: options.transactions = strtoull(optarg, NULL, 10); break;
        case LEVEL: options.level = optarg[0] == 'm' ? 3 : strcmp(optarg, "rc") == 0 ? 0 : strcmp(optarg, "rr") == 0 ? 1 : 2; break;
        case SEED: options.seed = strtoull(optarg, NULL, 10); break;
        case WINDOW: options.window = atoi(optarg); break;
        case ROW_LOCKS: options.row_locks = true; break;
        case AUTOCOMMIT: options.autocommit = true; break;
        case KILL: options.kill = atoi(optarg); break;
        case DROP: options.drop = atoi(optarg); break;
        case CANCEL: options.cancel = atoi(optarg); break;
        case SPILL: options.spill = atoi(optarg); break;
        case USER: options.user = optarg; break;
        case DATABASE: options.database = optarg; break;
        case SETUP: options.setup = optarg; break;
        default: exit(1);
        }
    }
    if (optind >= argc || options.clients > MAX_CLIENTS || options.clients < 1) {
        fprintf(stderr, "load: the head of load.c tells how it is called\n");
        exit(1);
    }
    options.address = argv[optind];
}

int
main(int argc, char **argv)
{
    parse_options(argc, argv);
    random_state = options.seed * 0x9e3779b97f4a7c15u + 0x1234567;
    for (int i = 0; i < options.clients; i++) {
        clients[i] = (Client){.number = i, .socket = -1, .last_activity = now()};
        clients[i].level = options.level == 3 ? (Level)(i % 3) : (Level)options.level;
    }
    run();
    for (int i = 0; i < options.clients; i++)
        disconnect(&clients[i]);
    printf("C %lu\n", (unsigned long)lost_connections);
    return 0;
}
