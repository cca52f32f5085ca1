/* walrec.c: names of the kinds of records of walrec.def. */
#include "common/disk/wal.h"

const char *
wal_record_name(u32 kind)
{
    switch (kind) {
#define WAL_RECORD(number, symbol, what)                                                                               \
    case number:                                                                                                       \
        return #symbol;
#include "common/disk/walrec.def"
    default:
        return NULL;
    }
}
