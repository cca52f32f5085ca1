/*
 * snapformat.h
 *    Inside of the room: the bytes of snapshot files. snapfile.c describes them; snapwrite.c, snapread.c and the tests are built on it.
 */
#ifndef SNAPFORMAT_H
#define SNAPFORMAT_H

#include "common/disk/snap.h"

enum {
    SNAP_VERSION = 1,
    SNAP_PIECE_ALIGN = 16,
    SNAP_CHUNK_BYTES = 1 << 20, /* of a write, and of a read when sums are compared */
    SNAP_REMOVALS_A_PASS = 64,
};
#define SNAP_DATA_MAGIC 0x3154414453474721ull /* "!GGSDAT1" */
#define SNAP_TOC_MAGIC 0x31434f5453474721ull  /* "!GGSTOC1" */
#define SNAP_END_MAGIC 0x31444e4553474721ull  /* "!GGSEND1" */

/* Set the error, false. */
bool snap_failed(Error *err, int rc, const char *what, const char *name);
bool snap_damaged(Error *err, const char *name, u64 offset, const char *reason);

void snap_data_head_write(u8 *page, u64 number, u64 database_id);
/* NULL when right, else the reason. */
const char *snap_data_head_check(const u8 *page, u64 number, u64 database_id);
void snap_toc_head_write(u8 *page, const SnapHead *h, const u8 *body, u64 body_bytes);
const char *snap_toc_head_read(const u8 *page, SnapHead *ret, u64 *ret_body_bytes, u32 *ret_body_crc);

/* Direct where the file system allows it; the descriptor or -errno. */
int snap_open(Io *io, IoSite site, int dir_fd, const char *name, int flags);

#endif
