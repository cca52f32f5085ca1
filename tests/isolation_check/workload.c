/*
 * workload.c
 *    What the clients do: the statements, and the choice among them.
 *
 * Keys live in a window that moves on, so that lists stay short and few keys take all the traffic: new keys at its top are not there yet, and are
 * born by an insert. A key is a list that stands in `lists` or in `graves`; it is moved by a delete that names the value it read and an insert that
 * carries it on, or its number is turned to the negative by an update, so that every later list tells the whole history of the key. Items are rows of small groups; members are added, flagged (even groups)
 * or deleted (odd groups), and read by predicates.
 */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Template templates[] = {
    {'A', "UPDATE lists SET val = val || $2 WHERE k = $1", "it"},
    {'U', "UPDATE lists SET val = val || $3 WHERE k BETWEEN $1 AND $2", "iit"},
    {'R', "SELECT val FROM lists WHERE k = $1", "i"},
    {'F', "SELECT val FROM lists WHERE k = $1 FOR UPDATE", "i"},
    {'H', "SELECT val FROM lists WHERE k = $1 FOR SHARE", "i"},
    {'G', "SELECT val FROM graves WHERE k = $1", "i"},
    {'N', "SELECT k, val FROM lists WHERE k BETWEEN $1 AND $2", "ii"},
    {'I', "INSERT INTO lists VALUES ($1, $2)", "it"},
    {'J', "INSERT INTO graves VALUES ($1, $2)", "it"},
    {'D', "DELETE FROM lists WHERE k = $1 AND val = $2", "it"},
    {'E', "DELETE FROM graves WHERE k = $1 AND val = $2", "it"},
    {'V', "UPDATE lists SET k = -k, val = val || $2 WHERE k = $1", "it"},
    {'W', "UPDATE lists SET k = -k, val = val || $2 WHERE k = -$1", "it"},
    {'Y', "SELECT val FROM lists WHERE k = -$1", "i"},
    {'+', "INSERT INTO items VALUES ($1, $2, 0)", "ig"},
    {'*', "SELECT id, flag FROM items WHERE grp = $1", "g"},
    {'&', "SELECT id, flag FROM items WHERE id BETWEEN $1 AND $2", "ii"},
    {'~', "SELECT id, flag FROM items WHERE grp = $1 AND flag = 0", "g"},
    {'#', "SELECT count(*) FROM items WHERE grp = $1", "g"},
    {'=', "SELECT count(*) FROM items WHERE grp = $1 AND flag = 0", "g"},
    {'^', "UPDATE items SET flag = $2 WHERE grp = $1 AND flag = 0", "gi"},
    {'/', "UPDATE items SET flag = $2 WHERE id = $1 AND flag = 0", "ii"},
    {'x', "DELETE FROM items WHERE id = $1", "i"},
    {0, NULL, NULL},
};

enum { BELIEF_UNBORN, BELIEF_LISTS, BELIEF_GRAVES, BELIEF_TURNED };
enum { MAX_KEYS = 1 << 22, GROUPS = 4, GROUP_MEMBERS = 20, PICKS_OF_A_KEY = 12 };

static uint8_t belief[MAX_KEYS];
static long window_base = 1, picks, last_value;
static long group_of[GROUPS] = {0, 1, 2, 3}, members[GROUPS];

const Template *
template_at(int i)
{
    return templates[i].code ? &templates[i] : NULL;
}

const Template *
template_of(char code)
{
    for (const Template *t = templates; t->code; t++)
        if (t->code == code)
            return t;
    return NULL;
}

/* A key of the window; an append moves the window on now and then. */
static long
pick_key(bool append)
{
    if (append && ++picks % PICKS_OF_A_KEY == 0 && window_base + options.window + 1 < MAX_KEYS)
        window_base++;
    return window_base + (long)(random_next() % (uint64_t)options.window);
}

/* A key believed to be `where`, of the half of the window that begins at `from`; -1: none was found. Births happen in the upper half and moves in the
   lower one, so that nobody inserts a first list for a key that lies in a grave. */
static long
pick_key_in(uint8_t where, long from)
{
    for (int i = 0; i < 12; i++) {
        long k = from + (long)(random_next() % (uint64_t)(options.window / 2));
        if (belief[k] == where)
            return k;
    }
    return -1;
}

void
tx_start(Client *c)
{
    static uint64_t next_id;
    Tx *t = &c->tx;
    *t = (Tx){.id = ++next_id, .mode = MODE_BLOCK};
    uint64_t kind = options.autocommit ? 0 : random_next() % 100;
    t->mode = kind < 15 ? MODE_AUTOCOMMIT : kind < 25 ? MODE_IMPLICIT : MODE_BLOCK;
    t->planned = t->mode == MODE_AUTOCOMMIT ? 1 : 1 + (int)(random_next() % (t->mode == MODE_BLOCK ? 6 : 3));
    t->keys_only = chance(60);
    t->savepoints = t->mode == MODE_BLOCK && chance(25);
    t->extended = chance(50);
    c->in_tx = true;
}

Op *
tx_add(Tx *t, char code, const char *a, const char *b, const char *c)
{
    const char *param[MAX_PARAMS] = {a, b, c};
    Op *op = &t->op[t->op_count++];
    *op = (Op){.code = code};
    for (int i = 0; i < MAX_PARAMS; i++)
        op->param[i] = param[i] ? print_new("%s", param[i]) : NULL;
    return op;
}

static Op *
add_numbers(Tx *t, char code, long a, long b)
{
    char x[24], y[24];
    snprintf(x, sizeof x, "%ld", a);
    snprintf(y, sizeof y, "%ld", b);
    return tx_add(t, code, x, strlen(template_of(code)->types) > 1 ? y : NULL, NULL);
}

/* An append; with V or W one that turns the key, too. */
static void
add_append(Tx *t, char code, long k)
{
    char key[24], value[24];
    snprintf(key, sizeof key, "%ld", k);
    snprintf(value, sizeof value, ",%ld", ++last_value);
    tx_add(t, code, key, value, NULL);
}

static void
add_range_append(Tx *t)
{
    char low[24], high[24], value[24];
    long k = pick_key(true);
    snprintf(low, sizeof low, "%ld", k);
    snprintf(high, sizeof high, "%ld", k + 1 + (long)(random_next() % 4));
    snprintf(value, sizeof value, ",%ld", ++last_value);
    tx_add(t, 'U', low, high, value);
}

static void
add_birth(Tx *t)
{
    char key[24], value[24];
    long k = pick_key_in(BELIEF_UNBORN, window_base + options.window / 2);
    if (k < 0) {
        add_numbers(t, 'R', pick_key(false), 0);
        return;
    }
    snprintf(key, sizeof key, "%ld", k);
    snprintf(value, sizeof value, "%ld", ++last_value);
    tx_add(t, 'I', key, value, NULL);
}

static long
old_key(void)
{
    return window_base + (long)(random_next() % (uint64_t)(options.window / 2));
}

/* A key is turned to its negative, or back, or looked for there. */
static void
add_turn(Tx *t)
{
    long k = old_key();
    if (chance(25))
        add_numbers(t, 'Y', k, 0);
    else
        add_append(t, belief[k] == BELIEF_TURNED ? 'W' : 'V', k);
}

/* Reads of groups, and changes of their members. */
static void
add_item_op(Tx *t)
{
    static const char codes[] = "+++++**&~~##==^//xx";
    int slot = (int)(random_next() % GROUPS);
    long g = group_of[slot];
    char code = codes[random_next() % (sizeof codes - 1)];
    if ((g % 2 == 0 && code == 'x') || (g % 2 == 1 && (code == '/' || code == '^')))
        code = '+';
    if (code == '+' && members[slot] >= GROUP_MEMBERS) {
        g = group_of[slot] += GROUPS;
        members[slot] = 0;
    }
    if (code == '+')
        add_numbers(t, '+', g * GROUP_ROOM + members[slot]++, g);
    else if (code == '&')
        add_numbers(t, '&', g * GROUP_ROOM, g * GROUP_ROOM + GROUP_ROOM - 1);
    else if (code == '^')
        add_numbers(t, '^', g, ++last_value);
    else if (code == '/' || code == 'x')
        add_numbers(t, code, g * GROUP_ROOM + (long)(random_next() % (uint64_t)(members[slot] + 1)), ++last_value);
    else
        add_numbers(t, code, g, 0);
}

/* The statement is as long as it needs to be to make the transaction outgrow what is kept of a short one. */
static void
add_spill(Tx *t)
{
    char value[24], rows[24];
    snprintf(value, sizeof value, "%ld", ++last_value);
    snprintf(rows, sizeof rows, "%d", SPILL_ROWS);
    tx_add(t, 'B', value, rows, NULL);
}

static void
start_move(Tx *t)
{
    long k = pick_key_in(chance(60) ? BELIEF_LISTS : BELIEF_GRAVES, window_base);
    if (k < 0)
        k = window_base;
    bool grave = belief[k] == BELIEF_GRAVES;
    t->move = (Move){.stage = 'R', .key = k, .to = !grave && chance(50) ? 'g' : 'l'};
    add_numbers(t, grave ? 'G' : 'R', k, 0);
}

void
choose_op(Client *c)
{
    Tx *t = &c->tx;
    uint64_t n = random_next() % 100;
    if (options.spill && (int)(random_next() % 10000) < options.spill) {
        add_spill(t);
    } else if (!t->keys_only && n < 45) {
        add_item_op(t);
    } else {
        n = random_next() % 100;
        if (n < 36)
            add_numbers(t, 'R', pick_key(false), 0);
        else if (n < 64)
            add_append(t, 'A', pick_key(true));
        else if (n < 72)
            add_birth(t);
        else if (n < 77 && !t->keys_only)
            add_range_append(t);
        else if (n < 83 && !t->keys_only) {
            long k = pick_key(false);
            add_numbers(t, 'N', k, k + 1 + (long)(random_next() % 7));
        } else if (n < 88 && t->mode == MODE_BLOCK)
            start_move(t);
        else if (n < 93 && options.row_locks)
            add_numbers(t, chance(70) ? 'F' : 'H', pick_key(false), 0);
        else if (n < 95)
            add_numbers(t, 'G', pick_key(false), 0);
        else if (n < 97)
            add_append(t, 'A', old_key());
        else
            add_turn(t);
    }
}

/* The next statement of a move that is under way; false: there is none. */
bool
continue_move(Client *c)
{
    Tx *t = &c->tx;
    Move *m = &t->move;
    if (!m->stage)
        return false;
    Op *last = &t->op[t->op_count - 1];
    char key[24];
    snprintf(key, sizeof key, "%ld", m->key);
    if (m->stage == 'R' && last->result && last->result[0] != '-') {
        m->value = print_new("%s", last->result);
        m->stage = 'D';
        tx_add(t, last->code == 'G' ? 'E' : 'D', key, m->value, NULL);
        return true;
    }
    if (m->stage == 'D' && last->result && strcmp(last->result, "=1") == 0) {
        char *value = print_new("%s,%ld", m->value, ++last_value);
        m->stage = 'I';
        tx_add(t, m->to == 'g' ? 'J' : 'I', key, value, NULL);
        free(value);
        return true;
    }
    free(m->value);
    *m = (Move){0};
    return false;
}

/* What an answer tells about where a key is; only a guess for later choices. */
void
note_result(Tx *t, Op *op)
{
    (void)t;
    if (!op->result || !op->param[0])
        return;
    long k = atol(op->param[0]);
    if (k < 0 || k >= MAX_KEYS)
        return;
    bool found = op->result[0] != '-' && op->result[0] != '!';
    if ((op->code == 'R' && found) || (op->code == 'I' && (found || belief[k] == BELIEF_UNBORN)))
        belief[k] = BELIEF_LISTS;
    else if ((op->code == 'G' || op->code == 'J') && found)
        belief[k] = BELIEF_GRAVES;
    else if ((op->code == 'V' || op->code == 'W') && strcmp(op->result, "=1") == 0)
        belief[k] = op->code == 'V' ? BELIEF_TURNED : BELIEF_LISTS;
    else if (op->code == 'Y' && found)
        belief[k] = BELIEF_TURNED;
}
