/*
 * secrets.c
 *    The roles' SCRAM verifiers: in an area of their own that a backend maps only while it authenticates, never in the world.
 *
 * A row is written between two steps of its sequence (odd while it is written), so that a reader can tell a half-written one and read again.
 * A free row has role id 0. Rows are found by role id; there are few roles, and a table full of them refuses nothing: such a role just
 * cannot sign in by password.
 */
#include "walwriter/secrets.h"

#include "common/base/say.h"
#include "common/shm/publish.h"

#include <stdio.h>

static SecretShm *
find_row(SecretShm *rows, u32 role_id)
{
    for (u32 i = 0; i < SECRET_ROWS; i++)
        if (rows[i].role_id == role_id)
            return &rows[i];
    return NULL;
}

static void
write_row(SecretShm *row, u32 role_id, Str name, const char *verifier)
{
    u32 sequence = observe_u32(&row->pub_sequence);
    publish_u32(&row->pub_sequence, sequence + 1);
    full_fence();
    row->role_id = role_id;
    snprintf(row->role, sizeof row->role, "%.*s", (int)MIN(name.len, sizeof row->role - 1), name.ptr);
    if (verifier) {
        explicit_bzero(row->verifier, sizeof row->verifier);
        snprintf(row->verifier, sizeof row->verifier, "%s", verifier);
    }
    full_fence();
    publish_u32(&row->pub_sequence, sequence + 2);
}

void
secrets_put(SecretShm *rows, u32 role_id, Str name, const char *verifier)
{
    SecretShm *row = find_row(rows, role_id);
    bool fresh = !row;
    if (fresh)
        row = find_row(rows, 0);
    if (!row) {
        say_warn("more than %d roles: role \"%.*s\" cannot sign in by password", SECRET_ROWS, (int)name.len, name.ptr);
        return;
    }
    write_row(row, role_id, name, fresh && !verifier ? "" : verifier);
}

void
secrets_drop(SecretShm *rows, u32 role_id)
{
    SecretShm *row = find_row(rows, role_id);
    if (row)
        write_row(row, 0, STR_LIT(""), "");
}
