/*
 * catalog.c
 *    The catalog of a pinned root as log records: what recovery applies by the code that replays the log (I4).
 *
 * Whatever a catalog record can make must be written here, else it is gone once the log before the snapshot is. Verifiers are not of a version: they
 * may be newer than the root. Then the record that brought them stands behind the snapshot in the log and is applied again.
 */
#include "checkpointer/snapshot.h"

#include "common/disk/catrec.h"
#include "common/store/shape.h"

#include <sched.h>

/* The role's verifier; "" when it has none. A row that is being written is read again. */
static void
read_verifier(const SecretShm *rows, u32 role_id, char ret[CATREC_VERIFIER_MAX])
{
    ret[0] = 0;
    for (u32 i = 0; i < SECRET_ROWS; i++) {
        const SecretShm *row = &rows[i];
        for (u32 before = observe_u32(&row->pub_sequence);; before = observe_u32(&row->pub_sequence)) {
            bool mine = row->role_id == role_id;
            if (mine)
                memcpy(ret, row->verifier, CATREC_VERIFIER_MAX);
            full_fence();
            if (before % 2 == 0 && observe_u32(&row->pub_sequence) == before) {
                ret[CATREC_VERIFIER_MAX - 1] = 0;
                if (mine)
                    return;
                ret[0] = 0;
                break;
            }
            sched_yield();
        }
    }
}

static void
put_roles(ByteBuf *to, const Root *root, const SecretShm *secrets)
{
    char verifier[CATREC_VERIFIER_MAX];
    ByteBuf payload = {0};
    for (u32 i = 0; root->roles && i < root->roles->count; i++) {
        const RoleDef *role = root->roles->roles[i];
        read_verifier(secrets, role->role_id, verifier);
        buf_clear(&payload);
        catrec_put_role(&payload, role, verifier);
        snap_put_catalog(to, WAL_CREATE_ROLE, &payload);
    }
    explicit_bzero(verifier, sizeof verifier);
    buf_free(&payload);
}

/* Behind the roles that they name. */
static void
put_memberships_and_rights(ByteBuf *to, const RolesShm *all)
{
    ByteBuf payload = {0};
    for (u32 i = 0; all && i < all->member_count; i++) {
        buf_clear(&payload);
        catrec_put_member(&payload, &all->members[i], false);
        snap_put_catalog(to, WAL_GRANT_ROLE, &payload);
    }
    for (u32 i = 0; all && i < all->rights_count; i++) {
        buf_clear(&payload);
        catrec_put_rights(&payload, all->rights[i], false);
        snap_put_catalog(to, WAL_SET_RIGHTS, &payload);
    }
    buf_free(&payload);
}

typedef struct Tables {
    ByteBuf *to, payload;
} Tables;

static bool
put_table(void *ctx, const TableDef *t)
{
    Tables *p = ctx;
    buf_clear(&p->payload);
    catrec_put_table(&p->payload, t);
    snap_put_catalog(p->to, WAL_CREATE_TABLE, &p->payload);
    return true;
}

void
snapshot_put_catalog(ByteBuf *to, const Root *root, const SecretShm *secrets)
{
    Tables p = {.to = to};
    put_roles(to, root, secrets);
    put_memberships_and_rights(to, root->roles);
    catalog_each_table(root, put_table, &p);
    buf_free(&p.payload);
}
