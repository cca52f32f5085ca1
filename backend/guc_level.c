/* guc_level.c: see guc_level.h. The rules are PostgreSQL's, entry by entry. */
#include "backend/guc_level.h"

#include <stdlib.h>
#include <string.h>

typedef enum OldState { OLD_SET, OLD_LOCAL, OLD_SET_LOCAL } OldState;

struct GucOld {
    GucOld *outer;
    u32 level;
    OldState state;
    GucKept prior, masked; /* masked: of OLD_SET_LOCAL */
};

static bool
copy_kept(GucKept *to, GucKept from)
{
    *to = from;
    return !from.text || (to->text = strdup(from.text));
}

static void
drop_kept(GucKept *k)
{
    free(k->text);
    k->text = NULL;
}

static void
drop_entry(GucOld *e)
{
    drop_kept(&e->prior);
    drop_kept(&e->masked);
    free(e);
}

bool
guc_old_push(GucOld **stack, u32 level, bool local, GucKept now)
{
    GucOld *e = *stack;
    if (e && e->level >= level) {
        if (!local) {
            drop_kept(&e->masked);
            e->state = OLD_SET;
        } else if (e->state == OLD_SET) {
            if (!copy_kept(&e->masked, now))
                return false;
            e->state = OLD_SET_LOCAL;
        }
        return true;
    }
    if (!(e = calloc(1, sizeof *e)) || !copy_kept(&e->prior, now)) {
        free(e);
        return false;
    }
    e->outer = *stack;
    e->level = level;
    e->state = local ? OLD_LOCAL : OLD_SET;
    *stack = e;
    return true;
}

/* A savepoint is released: what its entry says becomes part of the entry one level out. */
static void
merge(GucOld *outer, GucOld *e)
{
    switch (e->state) {
    case OLD_SET:
        drop_kept(&outer->masked);
        outer->state = OLD_SET;
        break;
    case OLD_LOCAL:
        if (outer->state == OLD_SET) {
            outer->masked = e->prior;
            e->prior = (GucKept){0};
            outer->state = OLD_SET_LOCAL;
        }
        break;
    case OLD_SET_LOCAL:
        drop_kept(&outer->masked);
        outer->masked = e->masked;
        e->masked = (GucKept){0};
        outer->state = OLD_SET_LOCAL;
        break;
    }
}

bool
guc_old_pop(GucOld **stack, u32 level, bool keep, GucKept *ret)
{
    bool changed = false;
    for (GucOld *e; (e = *stack) && e->level >= level;) {
        GucKept *becomes = NULL;
        if (!keep)
            becomes = &e->prior;
        else if (e->level == 1)
            becomes = e->state == OLD_LOCAL ? &e->prior : e->state == OLD_SET_LOCAL ? &e->masked : NULL;
        else if (!e->outer || e->outer->level < e->level - 1) {
            e->level--;
            continue;
        } else
            merge(e->outer, e);
        if (becomes) {
            if (changed)
                drop_kept(ret);
            *ret = *becomes;
            *becomes = (GucKept){0};
            changed = true;
        }
        *stack = e->outer;
        drop_entry(e);
    }
    return changed;
}
