/* prepared.c: statements by name; "" is the unnamed one, which every Parse without a name and every simple Query replaces. */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/base/hash.h"

#include <stdlib.h>

static Prepared **
place_of(Session *s, const char *name)
{
    if (!*name)
        return &s->unnamed_statement;
    Prepared **at = &s->prepared[hash_bytes(name, strlen(name)) % COUNT_OF(s->prepared)];
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

Prepared *
prepared_find(Session *s, const char *name)
{
    return *place_of(s, name);
}

static void
drop_at(Session *s, Prepared **at)
{
    Prepared *p = *at;
    *at = p->next;
    plans_release(s, p->plan);
    free(p);
}

void
prepared_put(Session *s, const char *name, CachedPlan *plan)
{
    Prepared **at = place_of(s, name);
    if (*at)
        err_throw(ERR_DUPLICATE_PREPARED_STATEMENT, "prepared statement \"%s\" already exists", name);
    Prepared *p = malloc(sizeof *p + strlen(name) + 1);
    if (!p)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    p->next = NULL;
    p->plan = plan;
    strcpy(p->name, name);
    plans_hold(plan);
    *at = p;
}

void
prepared_drop(Session *s, const char *name)
{
    Prepared **at = place_of(s, name);
    if (*at)
        drop_at(s, at);
}

void
prepared_drop_all(Session *s)
{
    prepared_drop(s, "");
    for (size_t i = 0; i < COUNT_OF(s->prepared); i++)
        while (s->prepared[i])
            drop_at(s, &s->prepared[i]);
}
