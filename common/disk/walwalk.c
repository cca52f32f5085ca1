/*
 * walwalk.c
 *    Going over the groups of one segment, and the verdict at the first place where none is valid: torn or rotten.
 *
 * Section 4.2 of the reliability notes. The segment is zero-filled and written once, front to back, with a few groups in flight. So:
 *   1. Something proves that the place was durable (the next segment, the watermark, a later group's durable-through): rot.
 *   2. Nothing but zeros from here on: the clean end.
 *   3. Each sector of the group that is wrong by its sum, or the head's sector, is all zeros: it never reached the disk; torn.
 *   4. As 3, but one sector is whole up to some byte, and from there on to the segment's end all is zero: cut, as by a copy that ended early. Only when
 *      the last bytes that are not zero stand before the group's end mark or are the beginning of it, since with it the group was written whole and
 *      something else is wrong. Torn.
 *   5. Anything else: rot.
 * Later groups are taken as witnesses by their heads alone (a head has a checksum, its segment's epoch and its own LSN).
 */
#include "common/disk/walformat.h"

#include "common/base/bytes.h"

#include <stdio.h>

enum { WINDOW_MIN_BYTES = 1 << 20 };

/* Bytes [offset, offset + len) of the segment, zeros where the file ends early; NULL on a read error (source.error). */
const u8 *
wal_source_bytes(WalSource *s, u64 offset, u64 len)
{
    ensure(offset + len <= s->size && len <= WAL_GROUP_FILE_BYTES_MAX);
    if (s->memory)
        return s->memory + offset;
    if (offset < s->window_at || offset + len > s->window_at + s->window_len) {
        u64 want = MIN(MAX(len, (u64)WINDOW_MIN_BYTES), s->size - offset);
        i64 n = io_read(s->io, IO_WAL_READ, s->fd, s->window, (size_t)want, offset);
        if (n < 0) {
            s->error = (int)n;
            s->window_len = 0;
            return NULL;
        }
        memset(s->window + n, 0, (size_t)(want - (u64)n));
        s->window_at = offset;
        s->window_len = want;
    }
    return s->window + (offset - s->window_at);
}

bool
wal_walk_next(WalWalk *w)
{
    WalGroupHead head;
    w->reason = NULL;
    if (w->offset + WAL_PAGE > w->source.size)
        return false;
    const u8 *image = wal_source_bytes(&w->source, w->offset, WAL_PAGE);
    w->reason = "no group begins here";
    if (!image || !wal_group_head_read(image, &head))
        return false;
    if (head.epoch != w->segment.epoch)
        w->reason = "the group belongs to another segment";
    else if (head.lsn != wal_walk_lsn(w))
        w->reason = "the group belongs to another place";
    else if (head.sequence != w->sequence)
        w->reason = "the group has another number";
    else if (w->offset + head.file_bytes > w->source.size)
        w->reason = "the group is longer than its segment";
    else if (head.durable_through > head.lsn)
        w->reason = "the group claims to be durable before it was written";
    else if ((image = wal_source_bytes(&w->source, w->offset, head.file_bytes)) == NULL)
        w->reason = "it cannot be read";
    else
        w->reason = wal_group_check(image, &head, (u32)(w->offset / WAL_PAGE), w->payload);
    if (w->reason)
        return false;
    w->group = head;
    w->offset += head.file_bytes;
    w->sequence++;
    return true;
}

/* The last eight-byte word of a page that is not zero: its offset in the page, or -1. */
static int
last_word(const u8 *page)
{
    if (wal_is_zero(page, WAL_PAGE))
        return -1;
    int at = WAL_PAGE - 8;
    while (get_le64(page + at) == 0)
        at -= 8;
    return at;
}

/* What stands behind a place: the last word that is not zero, and the first group that knows the place as durable. */
typedef struct Behind {
    bool anything;
    u64 last_offset, last_word;
    Lsn witness_lsn, witness_through; /* 0: none */
} Behind;

static bool
look_behind(WalWalk *w, Behind *ret)
{
    Lsn lsn = wal_walk_lsn(w);
    *ret = (Behind){0};
    for (u64 offset = w->offset; offset + WAL_PAGE <= w->source.size; offset += WAL_PAGE) {
        WalGroupHead head;
        const u8 *page = wal_source_bytes(&w->source, offset, WAL_PAGE);
        if (!page)
            return false;
        int at = last_word(page);
        if (at < 0)
            continue;
        ret->anything = true;
        ret->last_offset = offset + (u64)at;
        ret->last_word = get_le64(page + at);
        if (offset > w->offset && wal_group_head_read(page, &head) && head.epoch == w->segment.epoch &&
            head.lsn == lsn + (offset - w->offset) && head.durable_through > lsn && head.durable_through <= head.lsn) {
            ret->witness_lsn = head.lsn;
            ret->witness_through = head.durable_through;
            return true;
        }
    }
    return true;
}

/* An end mark, or one with a damaged byte; one without its last byte is taken for cut off. */
static bool
looks_like_mark(u64 word)
{
    u64 wrong = word ^ WAL_END_MARK;
    int bytes = 0;
    for (int i = 0; i < 8; i++)
        bytes += (wrong >> 8 * i & 255) != 0;
    return bytes == 0 || (bytes == 1 && (wrong >> 56 == 0 || word >> 56 != 0));
}

/* The mark's first bytes, then zeros. */
static bool
begins_mark(u64 word)
{
    for (int bytes = 1; bytes < 8; bytes++)
        if (word == (WAL_END_MARK & ((1ull << 8 * bytes) - 1)))
            return true;
    return false;
}

/* Rule 4 where the head cannot be read: its sector holds no end mark, and is the last with anything in it. */
static bool
head_cut_off(const WalWalk *w, const u8 *sector, const Behind *behind)
{
    for (u32 at = 0; at < WAL_SECTOR; at += 8)
        if (looks_like_mark(get_le64(sector + at)))
            return false;
    return behind->last_offset < w->offset + WAL_SECTOR;
}

/* Rule 4 with a readable head: the sector of the group in which it was cut, UINT32_MAX when it was not. */
static u32
cut_sector(const WalWalk *w, const WalGroupHead *head, const Behind *behind)
{
    u64 mark = w->offset + wal_group_mark_offset(head);
    if (behind->last_offset > mark || looks_like_mark(behind->last_word) ||
        (behind->last_offset == mark && !begins_mark(behind->last_word)))
        return UINT32_MAX;
    return (u32)((behind->last_offset - w->offset) / WAL_SECTOR);
}

/* Rules 3 to 5. */
static WalTear
look_at_sectors(WalWalk *w, const Behind *behind)
{
    WalGroupHead head;
    const u8 *image = wal_source_bytes(&w->source, w->offset, WAL_PAGE);
    if (!image)
        return WAL_TEAR_NONE;
    if (!wal_group_head_read(image, &head))
        return wal_is_zero(image, WAL_SECTOR) || head_cut_off(w, image, behind) ? WAL_TEAR_TORN : WAL_TEAR_ROT;
    if (head.epoch != w->segment.epoch || head.lsn != wal_walk_lsn(w) || head.sequence != w->sequence ||
        w->offset + head.file_bytes > w->source.size)
        return WAL_TEAR_ROT;
    image = wal_source_bytes(&w->source, w->offset, head.file_bytes);
    if (!image)
        return WAL_TEAR_NONE;
    u32 cut = cut_sector(w, &head, behind);
    WalTear tear = wal_group_tear(image, &head, cut);
    if (tear != WAL_TEAR_NONE)
        return tear;
    /* Every sector seems right and yet it is no valid group: nobody wrote that; or the sum of a cut sector agrees by chance. */
    return cut != UINT32_MAX ? WAL_TEAR_TORN : WAL_TEAR_ROT;
}

WalTail
wal_walk_judge(WalWalk *w, Lsn proven, u64 *ret_dropped, char *why, size_t why_bytes)
{
    Lsn lsn = wal_walk_lsn(w);
    Behind behind;
    *ret_dropped = 0;
    if (proven > lsn) {
        snprintf(why, why_bytes, "%s, but everything below LSN %llu was durable", w->reason ? w->reason : "the segment ends here",
                 (unsigned long long)proven);
        return WAL_TAIL_ROT;
    }
    if (!look_behind(w, &behind))
        return WAL_TAIL_IO_ERROR;
    if (behind.witness_lsn) {
        snprintf(why, why_bytes, "%s, but the group at LSN %llu proves that everything below LSN %llu was durable",
                 w->reason ? w->reason : "the segment ends here", (unsigned long long)behind.witness_lsn,
                 (unsigned long long)behind.witness_through);
        return WAL_TAIL_ROT;
    }
    if (!behind.anything)
        return WAL_TAIL_CLEAN;
    *ret_dropped = behind.last_offset + 8 - w->offset;
    WalTear tear = look_at_sectors(w, &behind);
    if (w->source.error)
        return WAL_TAIL_IO_ERROR;
    if (tear == WAL_TEAR_TORN)
        return WAL_TAIL_TORN;
    snprintf(why, why_bytes, "%s, and what stands there is no unfinished write", w->reason ? w->reason : "the segment ends here");
    return WAL_TAIL_ROT;
}
