/*
 * cursor.c
 *    CLOSE of portals by SQL. A cursor is a portal with a name; those that Bind made have their names in the same space.
 */
#include "backend/session.h"

#include "backend/throw.h"

const char *
cursor_close(Session *s, const BStmt *b)
{
    if (!b->name) {
        portal_close_others(s);
        return "CLOSE CURSOR ALL";
    }
    Portal *p = portal_find(s, b->name);
    if (!p)
        err_throw(ERR_INVALID_CURSOR_NAME, "cursor \"%s\" does not exist", b->name);
    if (p == s->running)
        err_throw(ERR_INVALID_CURSOR_STATE, "cannot drop active portal \"%s\"", b->name);
    portal_close(s, p);
    return "CLOSE CURSOR";
}
