/*
 * snapfile.c
 *    Files of snapshots: names, what stands where, listing and removing. The whole format stands here.
 *
 * All numbers are little-endian. Both kinds of file are multiples of 4,096 bytes. Snapshots are numbered from 1 on; a number is not used again.
 *
 * Data file "<number, 16 hex digits>.data", written once:
 *   0     u64 magic "!GGSDAT1"      8  u32 version (1)         12 u32 0
 *   16    u64 number                24 u64 id of the database
 *   32    u32 CRC32C of this page with these four bytes zero   36 … 4095 zeros
 *   4096  pieces, each at a multiple of 16, zeros between and behind them. What a piece is says the TOC.
 *
 * TOC "<number>.toc", written when the data files it names are durable:
 *   0     u64 magic "!GGSTOC1"      8  u32 version (1)         12 u32 CRC32C of the body
 *   16    u64 number                24 u64 id of the database
 *   32    u64 version: LSN of the last commit it shows         40 u64 log start: LSN from which the log goes on
 *   48    u64 catalog version       56 u32 next table id       60 u32 next role id
 *   64    i64 when it was begun, microseconds since 2000       72 u64 bytes of the body
 *   80    u32 CRC32C of this page with these four bytes zero   84 … 4095 zeros
 *   4096  the body: items of snapitem.def and catalog records of walrec.def, framed as records (record.h): FILEs first, then the catalog in
 *         the order in which it can be applied, then TABLEs with what belongs to them
 *   end   zeros, and in the last 8 bytes u64 "!GGSEND1"
 * While they are written both have the suffix ".tmp".
 */
#include "common/disk/snapformat.h"

#include "common/base/crc32c.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void
name_of(char name[SNAP_NAME_BYTES], u64 number, const char *suffix)
{
    snprintf(name, SNAP_NAME_BYTES, "%016llx%s", (unsigned long long)number, suffix);
}

void
snap_toc_name(char name[SNAP_NAME_BYTES], u64 number)
{
    name_of(name, number, ".toc");
}

void
snap_data_name(char name[SNAP_NAME_BYTES], u64 number)
{
    name_of(name, number, ".data");
}

/* ---- errors ---- */

bool
snap_failed(Error *err, int rc, const char *what, const char *name)
{
    ErrCode code = rc == -ENOSPC || rc == -EDQUOT ? ERR_DISK_FULL : rc == -ENOMEM ? ERR_OUT_OF_MEMORY : ERR_IO_ERROR;
    return error_set(err, code, "could not %s snapshot file \"%s\": %s", what, name, strerror(-rc));
}

bool
snap_damaged(Error *err, const char *name, u64 offset, const char *reason)
{
    return error_set(err, ERR_DATA_CORRUPTED, "snapshot is damaged: file \"%s\", offset %llu: %s", name, (unsigned long long)offset, reason);
}

/* ---- heads ---- */

static u32
page_crc(const u8 *page, u32 at)
{
    static const u8 zeros[4];
    return crc32c(crc32c(crc32c(0, page, at), zeros, 4), page + at + 4, SNAP_PAGE - at - 4);
}

void
snap_data_head_write(u8 *page, u64 number, u64 database_id)
{
    memset(page, 0, SNAP_PAGE);
    put_le64(page, SNAP_DATA_MAGIC);
    put_le32(page + 8, SNAP_VERSION);
    put_le64(page + 16, number);
    put_le64(page + 24, database_id);
    put_le32(page + 32, page_crc(page, 32));
}

const char *
snap_data_head_check(const u8 *page, u64 number, u64 database_id)
{
    if (get_le64(page) != SNAP_DATA_MAGIC)
        return "this is no data file of a snapshot";
    if (page_crc(page, 32) != get_le32(page + 32))
        return "the checksum of the file's head is wrong";
    if (get_le32(page + 8) != SNAP_VERSION)
        return "the file was written by another version of the server";
    return get_le64(page + 16) == number && get_le64(page + 24) == database_id ? NULL : "the file belongs to another snapshot or database";
}

void
snap_toc_head_write(u8 *page, const SnapHead *h, const u8 *body, u64 body_bytes)
{
    memset(page, 0, SNAP_PAGE);
    put_le64(page, SNAP_TOC_MAGIC);
    put_le32(page + 8, SNAP_VERSION);
    put_le32(page + 12, crc32c(0, body, body_bytes));
    put_le64(page + 16, h->number);
    put_le64(page + 24, h->database_id);
    put_le64(page + 32, h->version);
    put_le64(page + 40, h->log_start);
    put_le64(page + 48, h->catalog_version);
    put_le32(page + 56, h->next_table_id);
    put_le32(page + 60, h->next_role_id);
    put_le64(page + 64, (u64)h->wall_us);
    put_le64(page + 72, body_bytes);
    put_le32(page + 80, page_crc(page, 80));
}

const char *
snap_toc_head_read(const u8 *page, SnapHead *ret, u64 *ret_body_bytes, u32 *ret_body_crc)
{
    if (get_le64(page) != SNAP_TOC_MAGIC)
        return "this is no table of contents of a snapshot";
    if (page_crc(page, 80) != get_le32(page + 80))
        return "the checksum of the table of contents' head is wrong";
    if (get_le32(page + 8) != SNAP_VERSION)
        return "the snapshot was written by another version of the server";
    *ret = (SnapHead){.number = get_le64(page + 16), .database_id = get_le64(page + 24), .version = get_le64(page + 32), .log_start = get_le64(page + 40),
                      .catalog_version = get_le64(page + 48), .next_table_id = get_le32(page + 56), .next_role_id = get_le32(page + 60),
                      .wall_us = (i64)get_le64(page + 64)};
    *ret_body_bytes = get_le64(page + 72);
    *ret_body_crc = get_le32(page + 12);
    return ret->log_start > ret->version ? "its log start lies behind its version" : NULL;
}

/* ---- the folder ---- */

typedef enum NameKind { NAME_FOREIGN, NAME_TOC, NAME_DATA, NAME_TEMPORARY } NameKind;

static NameKind
read_name(const char *name, u64 *ret_number)
{
    static const char DIGITS[] = "0123456789abcdef";
    u64 n = 0;
    for (int i = 0; i < 16; i++) {
        const char *digit = name[i] ? strchr(DIGITS, name[i]) : NULL;
        if (!digit)
            return NAME_FOREIGN;
        n = n << 4 | (u64)(digit - DIGITS);
    }
    *ret_number = n;
    const char *rest = name + 16;
    if (strcmp(rest, ".toc") == 0)
        return NAME_TOC;
    if (strcmp(rest, ".data") == 0)
        return NAME_DATA;
    return strcmp(rest, ".toc.tmp") == 0 || strcmp(rest, ".data.tmp") == 0 ? NAME_TEMPORARY : NAME_FOREIGN;
}

static bool
note_name(void *ctx, const char *name)
{
    SnapList *l = ctx;
    u64 number;
    NameKind kind = read_name(name, &number);
    if (kind == NAME_FOREIGN)
        return true;
    l->highest = MAX(l->highest, number);
    if (kind != NAME_TOC)
        return true;
    u32 i = MIN(l->count, (u32)SNAP_LIST_MAX - 1); /* the oldest go when there are too many */
    while (i > 0 && l->tocs[i - 1] < number) {
        l->tocs[i] = l->tocs[i - 1];
        i--;
    }
    if (i < SNAP_LIST_MAX - 1 || l->count < SNAP_LIST_MAX)
        l->tocs[i] = number;
    l->count = MIN(l->count + 1, (u32)SNAP_LIST_MAX);
    return true;
}

bool
snap_list(Io *io, int dir_fd, SnapList *ret, Error *err)
{
    *ret = (SnapList){0};
    int rc = io_list(io, IO_SNAP_LIST, dir_fd, note_name, ret);
    return rc == 0 || snap_failed(err, rc, "list", ".");
}

typedef struct Removal {
    Io *io;
    int dir_fd;
    const SnapToc *const *keep;
    u32 keep_count;
    NameKind now;
    u32 removed;
    int error;
    char names[SNAP_REMOVALS_A_PASS][SNAP_NAME_BYTES];
    u32 count;
} Removal;

static bool
is_named(const Removal *r, NameKind kind, u64 number)
{
    for (u32 i = 0; i < r->keep_count; i++) {
        const SnapToc *t = r->keep[i];
        if (kind == NAME_TOC && t->head.number == number)
            return true;
        for (u32 f = 0; kind == NAME_DATA && f < t->file_count; f++)
            if (t->files[f].number == number)
                return true;
    }
    return false;
}

static bool
collect_unused(void *ctx, const char *name)
{
    Removal *r = ctx;
    u64 number;
    NameKind kind = read_name(name, &number);
    if (kind != r->now || is_named(r, kind, number))
        return true;
    memcpy(r->names[r->count++], name, strlen(name) + 1);
    return r->count < SNAP_REMOVALS_A_PASS;
}

bool
snap_remove_others(Io *io, int dir_fd, const SnapToc *const *keep, u32 count, Error *err)
{
    static const NameKind ORDER[] = {NAME_TEMPORARY, NAME_TOC, NAME_DATA};
    Removal r = {.io = io, .dir_fd = dir_fd, .keep = keep, .keep_count = count};
    int rc = 0;
    for (u32 k = 0; k < COUNT_OF(ORDER); k++) {
        r.now = ORDER[k];
        do {
            r.count = 0;
            rc = io_list(io, IO_SNAP_LIST, dir_fd, collect_unused, &r);
            for (u32 i = 0; rc == 0 && i < r.count; i++, r.removed++) {
                rc = io_unlink(io, IO_SNAP_UNLINK, dir_fd, r.names[i]);
                if (rc < 0)
                    return snap_failed(err, rc, "remove", r.names[i]);
            }
        } while (rc == 0 && r.count == SNAP_REMOVALS_A_PASS);
        if (rc == 0 && r.removed)
            rc = io_sync(io, IO_SNAP_DIR_SYNC, dir_fd);
        if (rc < 0)
            return snap_failed(err, rc, "remove an old", ".");
    }
    return true;
}
