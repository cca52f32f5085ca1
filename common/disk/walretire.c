/*
 * walretire.c
 *    Removing segments of the redo log that no snapshot needs any more.
 *
 * By names alone: a segment goes when another one begins at or below the LSN, behind it. Segments that came back after they were removed, or that a writer
 * gave up, go alike; readers go by heads and never meet them. The checkpointer calls it beside a living writer, whose segment has the highest counter.
 */
#include "common/disk/walformat.h"

#include <errno.h>
#include <stdlib.h>

typedef struct Name {
    char name[WAL_NAME_BYTES];
    Lsn start;
    u32 counter;
} Name;

typedef struct Names {
    Name *list;
    u32 count;
    bool no_memory;
} Names;

static bool
collect_name(void *ctx, const char *name)
{
    Names *n = ctx;
    Name entry;
    if (!wal_segment_name_read(name, &entry.start, &entry.counter))
        return true;
    Name *more = realloc(n->list, (n->count + 1) * sizeof *more);
    if (!more) {
        n->no_memory = true;
        return false;
    }
    memcpy(entry.name, name, strlen(name) + 1);
    n->list = more;
    n->list[n->count++] = entry;
    return true;
}

static int
compare_names(const void *a, const void *b)
{
    const Name *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : (x->counter > y->counter) - (x->counter < y->counter);
}

/* Oldest first, so that a death in between leaves no hole. */
int
wal_remove_before(Io *io, int dir_fd, Lsn lsn)
{
    Names names = {0};
    int rc = io_list(io, IO_WAL_LIST, dir_fd, collect_name, &names);
    u32 removed = 0, newest = 0;
    if (names.no_memory)
        rc = -ENOMEM;
    if (names.count)
        qsort(names.list, names.count, sizeof names.list[0], compare_names);
    for (u32 i = 0; i < names.count; i++)
        newest = MAX(newest, names.list[i].counter);
    for (u32 i = 0; rc == 0 && i + 1 < names.count && names.list[i + 1].start <= lsn; i++) {
        if (names.list[i].counter == newest)
            break;
        rc = io_unlink(io, IO_WAL_UNLINK, dir_fd, names.list[i].name);
        removed++;
    }
    if (rc == 0 && removed)
        rc = io_sync(io, IO_WAL_DIR_SYNC, dir_fd);
    free(names.list);
    return rc;
}
