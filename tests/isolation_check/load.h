/*
 * load.h
 *    What the three files of the load driver share: operations, transactions, clients.
 *
 * One process and one thread drive all clients, so one counter (`load_clock`) orders every sending and every receiving of the run: a transaction
 * whose end is before another's begin really was over before that one began.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAX_CLIENTS = 256,
    MAX_OPS = 40,      /* statements of a transaction, savepoint commands included */
    MAX_PARAMS = 3,
    MAX_SAVEPOINTS = 3,
    MAX_ITEMS = 4,     /* messages on the way that each end in a ReadyForQuery */
    GROUP_ROOM = 1000, /* ids of a group of items: group * GROUP_ROOM + 0 … */
    SPILL_ROWS = 3000,
};

/* What an operation does is its code; the statements stand in workload.c, what they mean to the checker in history.py. */
typedef struct Op {
    char code;
    uint64_t begin, end;       /* end 0: no answer */
    char *param[MAX_PARAMS];
    char *result;              /* rows, "=count" or "!SQLSTATE"; NULL: no answer */
} Op;

typedef enum Level { LEVEL_RC, LEVEL_RR, LEVEL_SR } Level;
typedef enum Mode { MODE_AUTOCOMMIT = 'a', MODE_BLOCK = 'b', MODE_IMPLICIT = 'i' } Mode;
typedef enum Outcome { OUTCOME_OPEN, OUTCOME_OK, OUTCOME_FAILED, OUTCOME_UNKNOWN } Outcome;
typedef enum ItemKind { ITEM_BEGIN, ITEM_OPS, ITEM_COMMIT, ITEM_ROLLBACK } ItemKind;

/* One message on the way: the operations [first, first + count) of the transaction. */
typedef struct Item {
    ItemKind kind;
    int first, count, at;
    bool error;
} Item;

/* A key that is moved: read, deleted where it was read, inserted again with one element more. */
typedef struct Move {
    char stage; /* 0 none, 'R' read is on the way, 'D' the delete is, 'I' the insert is */
    char to;    /* table: 'l' lists, 'g' graves */
    long key;
    char *value;
} Move;

typedef struct Tx {
    uint64_t id;
    Mode mode;
    Outcome outcome;
    uint64_t commit_begin, commit_end;
    Op op[MAX_OPS];
    int op_count, planned;
    bool keys_only, savepoints, extended, begun, failed, commit_sent;
    bool alone; /* BEGIN failed, as it does when a cancel meets it: what was sent behind it stands for itself */
    int depth; /* live savepoints */
    Move move;
} Tx;

typedef struct Client {
    int number, socket; /* socket -1: not connected */
    int pid, secret;
    Level level;
    bool in_tx;
    Tx tx;
    Item item[MAX_ITEMS];
    int item_count, item_at;
    char *out, *in;
    size_t out_length, out_capacity, in_length, in_taken, in_capacity;
    double last_activity, retry_at;
} Client;

typedef struct Options {
    const char *address, *user, *database, *setup;
    int clients, level, window;
    uint64_t transactions, seed;
    int kill, drop, cancel, spill; /* per 10,000 statements */
    bool row_locks, autocommit;
} Options;

typedef struct Template {
    char code;
    const char *sql, *types; /* a letter a parameter: i bigint, g integer, t text */
} Template;

extern Options options;
extern uint64_t load_clock;

uint64_t random_next(void);
bool chance(int percent);
char *print_new(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* workload.c: chooses what is done next, and notes what it believes about keys. */
const Template *template_of(char code);
const Template *template_at(int i);
void tx_start(Client *c);
Op *tx_add(Tx *t, char code, const char *a, const char *b, const char *c);
void choose_op(Client *c);
bool continue_move(Client *c);
void note_result(Tx *t, Op *op);

/* wire.c: the protocol. */
void put_query(Client *c, const char *sql);
void put_prepare_all(Client *c);
void put_ops(Client *c, int first, int count, bool extended);
bool flush_out(Client *c);
bool sign_in(Client *c);
void disconnect(Client *c);
void send_cancel(const Client *c);
int receive(Client *c);
bool next_message(Client *c, char *kind, char **body, size_t *length);

#endif
