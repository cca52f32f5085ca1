/*
 * memory.c
 *    Memory of one execution, counted over all its threads against the statement's limit: 53200 beyond.
 */
#include "backend/exec/run.h"
#include "common/shm/publish.h"

enum { BIG_BYTES = 128 * 1024 };

void
exec_charge(Exec *e, u64 bytes)
{
    u64 before = counter_add_u64(&e->memory_bytes, bytes);
    u64 limit = e->ctx->memory_limit_bytes;
    if (limit && before + bytes > limit) {
        counter_add_u64(&e->memory_bytes, 0 - bytes);
        Error err;
        error_set(&err, ERR_OUT_OF_MEMORY, "out of memory");
        error_detail(&err, "The statement needs more than its limit of %llu bytes (query_memory).", (unsigned long long)limit);
        err_rethrow(&err);
    }
}

void
exec_uncharge(Exec *e, u64 bytes)
{
    counter_add_u64(&e->memory_bytes, 0 - bytes);
}

void *
exec_alloc(Worker *w, u64 bytes)
{
    exec_charge(w->exec, bytes);
    return bytes >= BIG_BYTES ? arena_big_alloc(w->arena, bytes) : arena_zalloc(w->arena, bytes);
}

void
exec_free(Worker *w, void *piece, u64 bytes)
{
    if (!piece || bytes < BIG_BYTES)
        return;
    arena_big_free(w->arena, piece);
    exec_uncharge(w->exec, bytes);
}

void *
exec_grow(Worker *w, void *old, u64 old_bytes, u64 new_bytes)
{
    void *piece = exec_alloc(w, new_bytes);
    if (old_bytes)
        memcpy(piece, old, old_bytes);
    exec_free(w, old, old_bytes);
    return piece;
}
