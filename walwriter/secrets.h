/* secrets.h: writing the area of SCRAM verifiers; the walwriter's alone. */
#ifndef SECRETS_H
#define SECRETS_H

#include "common/shm/shm.h"

/* Make or change a role's row; verifier NULL keeps the one it has, "" means that no password fits. */
void secrets_put(SecretShm *rows, u32 role_id, Str name, const char *verifier);
void secrets_drop(SecretShm *rows, u32 role_id);

#endif
