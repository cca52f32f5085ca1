/*
 * waldump.c
 *    ggs3db-waldump: print and verify the redo log and the snapshots of a stopped (or copied) database, by the same code that recovery uses.
 *
 * Reads only. Exit status: 0 log and snapshots are whole (a torn tail, which recovery drops, is said), 1 damaged or unreadable, 2 wrong usage.
 * Beside a living server a file may vanish while it is read.
 */
#include "common/disk/record.h"
#include "common/disk/snap.h"
#include "common/disk/wal.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Dump {
    bool quiet;
    u64 frames, bytes, records[256], record_bytes[256];
} Dump;

static bool
dump_frame(void *ctx, Lsn lsn, const u8 *frame, u32 len, Error *err)
{
    Dump *d = ctx;
    const u8 *at = frame;
    bool bad;
    d->frames++;
    d->bytes += len;
    if (!d->quiet)
        printf("%016llx  %u bytes:", (unsigned long long)lsn, len);
    for (Record r; record_next(&at, frame + len, &r, &bad);) {
        const char *name = wal_record_name(r.kind);
        d->records[MIN(r.kind, 255u)]++;
        d->record_bytes[MIN(r.kind, 255u)] += r.len;
        if (!d->quiet)
            printf(" %s %u", name ? name : "?", r.len);
        if (!name) {
            if (!d->quiet)
                printf("\n");
            return error_set(err, ERR_DATA_CORRUPTED, "the frame at LSN %llu holds a record of unknown kind %u", (unsigned long long)lsn, r.kind);
        }
    }
    if (!d->quiet)
        printf("\n");
    return bad ? error_set(err, ERR_DATA_CORRUPTED, "the frame at LSN %llu holds no whole record at byte %u", (unsigned long long)lsn,
                           (u32)(at - frame))
               : true;
}

static int
usage(FILE *to, int status)
{
    fprintf(to, "Usage: ggs3db-waldump [-q] [-f LSN] FOLDER\n\n"
                "Prints and verifies the redo log in FOLDER (a data folder or its folder \"wal\"), and in a data folder its snapshots.\n\n"
                "  -q      print the verdict and the sums only\n"
                "  -f LSN  begin at this LSN (hexadecimal); everything from there on must be present\n");
    return status;
}

static void
print_sums(const Dump *d)
{
    printf("%llu frames, %llu bytes\n", (unsigned long long)d->frames, (unsigned long long)d->bytes);
    for (u32 k = 0; k < COUNT_OF(d->records); k++)
        if (d->records[k])
            printf("  %-14s %12llu records %15llu bytes\n", wal_record_name(k) ? wal_record_name(k) : "unknown",
                   (unsigned long long)d->records[k], (unsigned long long)d->record_bytes[k]);
}

/* ---- snapshots ---- */

typedef struct TableSums {
    u32 id;
    u64 rows, blocks, deleted, bytes, texts;
} TableSums;

static void
print_table(const TableSums *t)
{
    if (t->id)
        printf("  table %-10u %10llu rows %6llu blocks %8llu deleted %10llu texts %14llu bytes\n", t->id, (unsigned long long)t->rows,
               (unsigned long long)t->blocks, (unsigned long long)t->deleted, (unsigned long long)t->texts, (unsigned long long)t->bytes);
}

static void
print_contents(const SnapToc *toc)
{
    const u8 *at = toc->body;
    TableSums t = {0};
    u64 records = 0;
    for (SnapItem i; snap_next(toc, &at, &i);) {
        SnapRef refs[2];
        records += i.kind < SNAP_FILE;
        if (i.kind == SNAP_TABLE) {
            print_table(&t);
            t = (TableSums){.id = i.table.table_id, .rows = i.table.rows};
        } else if (i.kind == SNAP_FILE) {
            printf("  file %016llx.data, %llu bytes\n", (unsigned long long)i.file.number, (unsigned long long)i.file.bytes);
        }
        t.blocks += i.kind == SNAP_BLOCK;
        t.deleted += i.kind == SNAP_BLOCK ? i.block.deleted : 0;
        t.texts += i.kind == SNAP_DICT ? i.dict.count : 0;
        for (u32 n = snap_item_refs(&i, refs); n-- > 0;)
            t.bytes += refs[n].bytes;
    }
    print_table(&t);
    printf("  %llu catalog records\n", (unsigned long long)records);
}

static bool
dump_snapshot(Io *io, int dir, u64 number, bool quiet)
{
    SnapToc toc;
    Error err;
    bool ok = snap_toc_read(io, dir, number, 0, &toc, &err);
    if (ok) {
        printf("snapshot %llu: version %016llx, log start %016llx, %llu bytes in %u files, contents %llu bytes\n", (unsigned long long)number,
               (unsigned long long)toc.head.version, (unsigned long long)toc.head.log_start, (unsigned long long)toc.piece_bytes, toc.file_count,
               (unsigned long long)toc.toc_bytes);
        if (!quiet)
            print_contents(&toc);
        ok = snap_verify(io, dir, &toc, 0, NULL, NULL, &err);
        snap_toc_free(&toc);
    }
    if (ok)
        printf("verdict: snapshot %llu is whole\n", (unsigned long long)number);
    else
        printf("verdict: %s (%s)\n", err.message, errcode_sqlstate(err.code));
    return ok;
}

static bool
dump_snapshots(Io *io, int folder, bool quiet)
{
    SnapList list;
    Error err;
    int dir = io_open(io, IO_SNAP_LIST, folder, "snap", IO_READ | IO_DIR);
    if (dir < 0)
        return true; /* only a log was given */
    if (!snap_list(io, dir, &list, &err)) {
        printf("verdict: %s\n", err.message);
        return false;
    }
    bool ok = true;
    for (u32 i = 0; i < list.count; i++)
        ok = dump_snapshot(io, dir, list.tocs[i], quiet) && ok;
    return ok;
}

int
main(int argc, char **argv)
{
    static const struct option OPTIONS[] = {{"help", no_argument, NULL, 'h'}, {"quiet", no_argument, NULL, 'q'},
                                            {"from", required_argument, NULL, 'f'}, {NULL, 0, NULL, 0}};
    static Dump d;
    Lsn from = WAL_FROM_OLDEST;
    const char *why;
    char *end = NULL;
    for (int c; (c = getopt_long(argc, argv, "hqf:", OPTIONS, NULL)) != -1;) {
        if (c == 'f')
            from = strtoull(optarg, &end, 16);
        else if (c == 'q')
            d.quiet = true;
        else
            return c == 'h' ? usage(stdout, 0) : usage(stderr, 2);
    }
    if (optind != argc - 1 || (end && *end))
        return usage(stderr, 2);
    Io *io = io_new(IO_ENGINE_PLAIN, 1, &why);
    int folder = io ? io_open(io, IO_WAL_OPEN, AT_FDCWD, argv[optind], IO_READ | IO_DIR) : -1;
    if (folder < 0) {
        fprintf(stderr, "ggs3db-waldump: could not open folder \"%s\": %s\n", argv[optind], strerror(-folder));
        return 1;
    }
    int wal = io_open(io, IO_WAL_OPEN, folder, "wal", IO_READ | IO_DIR);
    WalVerdict v;
    Error err = {0};
    bool ok = wal_read(io, wal >= 0 ? wal : folder, from, dump_frame, &d, &v, &err);
    print_sums(&d);
    if (ok)
        printf("verdict: %s\n", v.text);
    else
        printf("verdict: %s (%s)\n", err.message, errcode_sqlstate(err.code));
    ok = dump_snapshots(io, folder, d.quiet) && ok;
    io_free(io);
    return ok ? 0 : 1;
}
