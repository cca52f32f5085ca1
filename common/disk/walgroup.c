/*
 * walgroup.c
 *    One group of the redo log: laid out for a single write, checked to the last byte, and looked at when it is damaged.
 *
 * Head and sector sums are described in walfile.c. Behind the 64 bytes of the head, and behind the stamp of each further page, runs one stream:
 * sums, payload, end mark, zeros. The sum of sector k stands in a sector before k, so writing sums from the last sector to the first makes each
 * final; sector 0 has a checksum of 32 bits of its own. Whoever verifies sectors in ascending order therefore never trusts an unverified sum.
 */
#include "common/disk/walformat.h"

#include "common/base/bytes.h"
#include "common/base/crc32c.h"

enum { STREAM_FIRST = WAL_PAGE - WAL_GROUP_HEAD_BYTES, STREAM_PAGE = WAL_PAGE - WAL_STAMP_BYTES };

bool
wal_is_zero(const u8 *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

/* Where a byte of the stream stands in the image, and how many follow it there in one piece. */
static u32
stream_at(u32 position, u32 *ret_run)
{
    if (position < STREAM_FIRST) {
        *ret_run = STREAM_FIRST - position;
        return WAL_GROUP_HEAD_BYTES + position;
    }
    u32 behind = position - STREAM_FIRST, in_page = behind % STREAM_PAGE;
    *ret_run = STREAM_PAGE - in_page;
    return (1 + behind / STREAM_PAGE) * WAL_PAGE + WAL_STAMP_BYTES + in_page;
}

static u32
sums_bytes(u32 file_bytes)
{
    return file_bytes / WAL_SECTOR * 2;
}

static u32
sum_offset(u32 sector)
{
    u32 run;
    return stream_at(sector * 2, &run);
}

static u16
fold(u32 c)
{
    return (u16)(c ^ c >> 16);
}

/* A sector that is not zero never has the sum of a zero one, so a sector that did not reach the disk is always seen. */
static u16
sector_sum(const u8 *image, u32 sector)
{
    static const u8 zeros[WAL_SECTOR];
    static u16 zero_sum;
    const u8 *at = image + sector * WAL_SECTOR;
    if (zero_sum == 0)
        zero_sum = fold(crc32c(0, zeros, WAL_SECTOR));
    u16 sum = fold(crc32c(0, at, WAL_SECTOR));
    return sum == zero_sum && !wal_is_zero(at, WAL_SECTOR) ? sum ^ 1 : sum;
}

void
wal_group_layout(u8 *image, const u8 *payload, u32 payload_bytes)
{
    u32 file_bytes = wal_group_file_bytes(payload_bytes), at = sums_bytes(file_bytes), run;
    u32 stream_bytes = STREAM_FIRST + (file_bytes / WAL_PAGE - 1) * STREAM_PAGE;
    while (payload_bytes) {
        u32 to = stream_at(at, &run), n = MIN(run, payload_bytes);
        memcpy(image + to, payload, n);
        payload += n;
        payload_bytes -= n;
        at += n;
    }
    put_le64(image + stream_at(at, &run), WAL_END_MARK);
    at += 8;
    while (at < stream_bytes) {
        u32 to = stream_at(at, &run);
        memset(image + to, 0, run);
        at += run;
    }
}

void
wal_group_stamp(u8 *image, const WalGroupHead *head, u32 first_page)
{
    put_le64(image, WAL_GROUP_MAGIC);
    put_le64(image + 8, head->epoch);
    put_le64(image + 16, head->sequence);
    put_le64(image + 24, head->lsn);
    put_le64(image + 32, head->durable_through);
    put_le32(image + 40, head->file_bytes);
    put_le32(image + 44, head->payload_bytes);
    put_le32(image + 48, head->frame_count);
    put_le32(image + 52, head->payload_crc);
    put_le32(image + 56, head->flags);
    put_le32(image + 60, 0);
    for (u32 page = 1; page < head->file_bytes / WAL_PAGE; page++) {
        put_le32(image + page * WAL_PAGE, (u32)head->epoch);
        put_le32(image + page * WAL_PAGE + 4, first_page + page);
    }
    for (u32 sector = head->file_bytes / WAL_SECTOR - 1; sector > 0; sector--)
        put_le16(image + sum_offset(sector), sector_sum(image, sector));
    put_le16(image + sum_offset(0), 0);
    put_le32(image + 60, crc32c(0, image, WAL_SECTOR));
}

bool
wal_group_head_read(const u8 *sector, WalGroupHead *ret)
{
    u8 copy[WAL_SECTOR];
    if (get_le64(sector) != WAL_GROUP_MAGIC)
        return false;
    memcpy(copy, sector, WAL_SECTOR);
    put_le32(copy + 60, 0);
    if (crc32c(0, copy, WAL_SECTOR) != get_le32(sector + 60))
        return false;
    ret->epoch = get_le64(sector + 8);
    ret->sequence = get_le64(sector + 16);
    ret->lsn = get_le64(sector + 24);
    ret->durable_through = get_le64(sector + 32);
    ret->file_bytes = get_le32(sector + 40);
    ret->payload_bytes = get_le32(sector + 44);
    ret->frame_count = get_le32(sector + 48);
    ret->payload_crc = get_le32(sector + 52);
    ret->flags = get_le32(sector + 56);
    return ret->payload_bytes <= WAL_GROUP_MAX_BYTES && ret->payload_bytes % 8 == 0 &&
           ret->file_bytes == wal_group_file_bytes(ret->payload_bytes) && ret->flags <= WAL_GROUP_SEAL &&
           (ret->flags == WAL_GROUP_SEAL) == (ret->frame_count == 0) && (ret->frame_count == 0) == (ret->payload_bytes == 0);
}

/* Frames fill the payload: each a length, four zero bytes, the bytes, zeros to a multiple of 8. */
static const char *
check_frames(const u8 *payload, const WalGroupHead *head)
{
    u32 at = 0, count = 0;
    while (at < head->payload_bytes) {
        u32 left = head->payload_bytes - at, len = get_le32(payload + at); /* left is a multiple of 8, so the head is there */
        if (len == 0 || len > WAL_FRAME_MAX_BYTES || get_le32(payload + at + 4) != 0 ||
            ALIGN_UP(len, 8u) > left - WAL_FRAME_HEAD_BYTES)
            return "a frame's length is wrong";
        at += WAL_FRAME_HEAD_BYTES + len;
        if (!wal_is_zero(payload + at, ALIGN_UP(len, 8u) - len))
            return "the padding of a frame is not zero";
        at += ALIGN_UP(len, 8u) - len;
        count++;
    }
    return count == head->frame_count ? NULL : "the number of frames is wrong";
}

const char *
wal_group_check(const u8 *image, const WalGroupHead *head, u32 first_page, u8 *payload)
{
    u32 at = sums_bytes(head->file_bytes), have = 0, run;
    u32 stream_bytes = STREAM_FIRST + (head->file_bytes / WAL_PAGE - 1) * STREAM_PAGE;
    if (get_le16(image + sum_offset(0)) != 0)
        return "the sector sums are not well formed";
    for (u32 sector = 1; sector < head->file_bytes / WAL_SECTOR; sector++)
        if (get_le16(image + sum_offset(sector)) != sector_sum(image, sector))
            return "the sum of a sector is wrong";
    for (u32 page = 1; page < head->file_bytes / WAL_PAGE; page++)
        if (get_le32(image + page * WAL_PAGE) != (u32)head->epoch || get_le32(image + page * WAL_PAGE + 4) != first_page + page)
            return "the stamp of a page is wrong";
    while (have < head->payload_bytes) {
        u32 from = stream_at(at, &run), n = MIN(run, head->payload_bytes - have);
        memcpy(payload + have, image + from, n);
        have += n;
        at += n;
    }
    if (crc32c(0, payload, have) != head->payload_crc)
        return "the checksum of the payload is wrong";
    if (get_le64(image + stream_at(at, &run)) != WAL_END_MARK)
        return "the end mark is missing";
    for (at += 8; at < stream_bytes; at += run) {
        u32 from = stream_at(at, &run);
        if (!wal_is_zero(image + from, run))
            return "the padding is not zero";
    }
    return check_frames(payload, head);
}

u32
wal_group_mark_offset(const WalGroupHead *head)
{
    u32 run;
    return stream_at(sums_bytes(head->file_bytes) + head->payload_bytes, &run);
}

WalTear
wal_group_tear(const u8 *image, const WalGroupHead *head, u32 cut_sector)
{
    u32 sectors = head->file_bytes / WAL_SECTOR;
    /* Sums that stand in a sector found wrong say nothing. There are few such sectors: 5 pages of them in the largest group. */
    bool wrong[WAL_GROUP_PAGES_MAX * WAL_SECTORS_A_PAGE * 2 / WAL_SECTOR + 2 * WAL_SECTORS_A_PAGE] = {0};
    WalTear tear = WAL_TEAR_NONE;
    for (u32 sector = 1; sector < sectors; sector++) {
        u32 offset = sum_offset(sector);
        if (wrong[offset / WAL_SECTOR] || get_le16(image + offset) == sector_sum(image, sector))
            continue;
        if (sector < COUNT_OF(wrong))
            wrong[sector] = true;
        if (sector != cut_sector && !wal_is_zero(image + sector * WAL_SECTOR, WAL_SECTOR))
            return WAL_TEAR_ROT;
        tear = WAL_TEAR_TORN;
    }
    return tear;
}
