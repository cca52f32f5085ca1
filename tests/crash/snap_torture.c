/*
 * snap_torture.c
 *    T5 of the reliability programme on snapshots: cut, every byte damaged, blocks and sectors lost, stale, swapped, duplicated; files missing, empty, of another
 *    version. Each state is started from by the code that the server uses (restore_run), then verified and summed.
 *
 *    snap_torture [quick|full|N] [seed]
 *
 * Two folders: one with both snapshots, which hold different rows, one with the newest alone. quick (make check) looks at one byte in 97, N at
 * one in N; full at all, in three ways each. Every state ends in one of five classes, and the last two must stay at 0:
 *    no effect    the newest is there, whole (the damage lies where nothing is, or the piece was taken from the other snapshot)
 *    older        the older snapshot was used, and the newest is said to be damaged
 *    refused      no snapshot was used, and one is said to be damaged
 *    silent       an older state, or none, without a word
 *    wrong data   any other state
 */
#include "tests/unit/snap_fixture.h"

#include "common/base/hash.h"
#include "common/base/crc32c.h"
#include "common/base/say.h"
#include "common/disk/snapformat.h"

#include <dirent.h>
#include <sys/stat.h>

typedef enum Class { NO_EFFECT, OLDER, REFUSED, SILENT, WRONG, CLASS_COUNT } Class;
static const char *const CLASS_TEXTS[CLASS_COUNT] = {"no effect", "older used", "refused", "silent", "wrong data"};
static u64 tally[CLASS_COUNT], states;
static char folder[64];
static int dir;
static Io *io;
static u64 digest_newest, digest_older, number_newest;
static bool full;
static u64 step;
static bool alone; /* only the newest is there */
static u64 random_state;

static u64
chance(void)
{
    random_state += 0x9e3779b97f4a7c15ull;
    return hash_u64(random_state);
}

/* ---- judging a state ---- */

static Class
start_and_judge(void)
{
    Fixture to = {0};
    Recovered r = {0};
    Error err;
    fix_areas(&to.shm, 8, 64 << 20);
    ensure(world_open(&to.shm, false, &to.w, &err));
    bool ok = restore_run(&to.w, &to.shm, io, dir, SNAP_ID, &r, &err);
    u64 digest = 0;
    if (ok && r.snapshot) {
        const Root *root = world_root(to.w);
        Snapshot s = {.root = root, .version = root->version, .epoch = root->epoch};
        digest = snap_digest(&s);
        ok = store_verify(&s, VERIFY_CONTENTS, &err);
    }
    world_close(to.w);
    fix_free_areas(&to.shm);
    if (!ok)
        return WRONG;
    if (digest == digest_newest)
        return NO_EFFECT;
    if (digest == digest_older && !alone)
        return r.damaged_snapshot == number_newest ? OLDER : SILENT;
    return digest ? WRONG : r.damaged_snapshot == number_newest ? REFUSED : SILENT;
}

static void
judge(const char *what, u64 at)
{
    Class c = start_and_judge();
    states++;
    tally[c]++;
    if (c == SILENT || c == WRONG)
        printf("%s: %s %llu%s\n", CLASS_TEXTS[c], what, (unsigned long long)at, alone ? ", newest alone" : "");
}

/* ---- damage ---- */

typedef struct File {
    char name[SNAP_NAME_BYTES];
    u8 *bytes; /* as it is */
    u64 size;
} File;

static File
read_file(const char *name)
{
    File f = {0};
    struct stat st;
    int fd = openat(dir, name, O_RDONLY);
    ensure(fd >= 0 && fstat(fd, &st) == 0);
    strcpy(f.name, name);
    f.size = (u64)st.st_size;
    f.bytes = malloc(f.size);
    ensure(pread(fd, f.bytes, f.size, 0) == (ssize_t)f.size);
    close(fd);
    return f;
}

static void
write_file(const File *f, const u8 *bytes, u64 size)
{
    int fd = openat(dir, f->name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ensure(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void
patch(const File *f, const u8 *bytes, u64 at, u64 len)
{
    int fd = openat(dir, f->name, O_WRONLY);
    ensure(fd >= 0 && pwrite(fd, bytes + at, len, (off_t)at) == (ssize_t)len);
    close(fd);
}

static void
damage_bytes(const File *f)
{
    u8 *copy = malloc(f->size);
    memcpy(copy, f->bytes, f->size);
    for (u64 at = step > 1 ? chance() % step : 0; at < f->size; at += step) {
        u8 ways[3] = {(u8)(f->bytes[at] ^ 1u << chance() % 8), (u8)~f->bytes[at], (u8)(f->bytes[at] + 1 + chance() % 255)};
        for (u32 w = 0; w < (step > 1 ? 1 : 3); w++) {
            copy[at] = ways[w];
            patch(f, copy, at, 1);
            judge(f->name, at);
        }
        copy[at] = f->bytes[at];
        patch(f, copy, at, 1);
    }
    free(copy);
}

/* Runs of `unit` bytes: lost, stale (from the other snapshot's file), swapped with the next, a copy of it. */
static void
damage_units(const File *f, const File *other, u64 unit, u64 every)
{
    u8 *copy = malloc(f->size);
    for (u64 at = 0; at + unit <= f->size; at += unit * every)
        for (u32 way = 0; way < 4; way++) {
            memcpy(copy, f->bytes, f->size);
            bool next = at + 2 * unit <= f->size;
            if (way == 0)
                memset(copy + at, 0, unit);
            else if (way == 1 && at + unit <= other->size)
                memcpy(copy + at, other->bytes + at, unit);
            else if (next) {
                memcpy(copy + at, f->bytes + at + unit, unit);
                if (way == 2)
                    memcpy(copy + at + unit, f->bytes + at, unit);
            }
            write_file(f, copy, f->size);
            judge("unit", at);
        }
    write_file(f, f->bytes, f->size);
    free(copy);
}

static void
cut(const File *f, u64 by)
{
    for (u64 size = 0; size < f->size; size += by) {
        write_file(f, f->bytes, size);
        judge("cut", size);
    }
    ensure(unlinkat(dir, f->name, 0) == 0);
    Class c = start_and_judge(); /* a TOC that is gone was never there: the older one and its log are right */
    states++;
    tally[c == SILENT && strstr(f->name, ".toc") ? (alone ? REFUSED : OLDER) : c]++;
    write_file(f, f->bytes, f->size);
}

/* A right sum over what makes no sense. */
static void
change_head(const File *f, u32 at, u64 value)
{
    u8 *copy = malloc(f->size);
    SnapHead h;
    u64 body_bytes;
    u32 crc;
    memcpy(copy, f->bytes, f->size);
    ensure(!snap_toc_head_read(copy, &h, &body_bytes, &crc));
    if (at == 8) {
        static const u8 zeros[4];
        put_le32(copy + 8, (u32)value);
        put_le32(copy + 80, 0);
        put_le32(copy + 80, crc32c(crc32c(crc32c(0, copy, 80), zeros, 4), copy + 84, SNAP_PAGE - 84));
    } else {
        if (at == 16)
            h.number = value;
        else
            h.log_start = value;
        snap_toc_head_write(copy, &h, copy + SNAP_PAGE, body_bytes);
    }
    write_file(f, copy, f->size);
    judge("head", at);
    write_file(f, f->bytes, f->size);
    free(copy);
}

static void
torture(const File *toc, const File *data, const File *other_toc, const File *other_data)
{
    damage_bytes(toc);
    damage_bytes(data);
    damage_units(data, other_data, 4096, 1);
    damage_units(toc, other_toc, 4096, 1);
    damage_units(data, other_data, 512, full ? 1 : 7);
    damage_units(toc, other_toc, 512, full ? 1 : 3);
    cut(toc, full ? 512 : 4096);
    cut(data, full ? 512 : 8192);
    change_head(toc, 8, 2);
    change_head(toc, 16, number_newest + 1);
    change_head(toc, 40, UINT64_MAX);
}

/* ---- the snapshots ---- */

/* A sealed block of few rows, as a chain leaves it. */
static void
insert_sealed(SnapFix *x, u32 count)
{
    static u64 numbers[FIX_BATCH];
    static u32 salts[FIX_BATCH];
    Error err;
    u64 block;
    for (u32 i = 0; i < count; i++)
        numbers[i] = x->next_row++;
    fix_insert(&x->part, x->f.table_id, numbers, salts, count);
    ensure(world_take_block(x->f.w, x->f.table_id, &block, &err));
    x->part.view.first_row = ROW_ID(block, 0);
    x->part.view.first_count = count;
    ensure(world_reserve_rows(x->f.w, &x->part.view, &err));
    world_apply_rows(x->f.w, &x->part.view);
    world_link_block(x->f.w, x->f.table_id, block);
    world_publish(x->f.w, ++x->f.version);
}

static void
make_snapshots(void)
{
    static SnapFix x;
    snap_begin(&x, io, dir);
    snap_insert(&x, 120);
    insert_sealed(&x, 150);
    snap_delete(&x, 1, 100, 7);
    snap_take(&x);
    digest_older = snap_digest_of(x.f.w);
    insert_sealed(&x, 100);
    snap_insert(&x, 40);
    number_newest = snap_take(&x).number;
    digest_newest = snap_digest_of(x.f.w);
    snap_end(&x);
}

static void
torture_all(void)
{
    const char *why;
    char name[SNAP_NAME_BYTES], command[128];
    strcpy(folder, "/tmp/ggs3db-torture-XXXXXX");
    ensure(mkdtemp(folder));
    dir = open(folder, O_RDONLY | O_DIRECTORY);
    io = io_new(IO_ENGINE_PLAIN, 8, &why);
    say_level(SAY_ERROR);
    make_snapshots();
    snap_toc_name(name, number_newest);
    File toc = read_file(name);
    snap_data_name(name, number_newest);
    File data = read_file(name);
    snap_toc_name(name, number_newest - 1);
    File older_toc = read_file(name);
    snap_data_name(name, number_newest - 1);
    File older_data = read_file(name);
    printf("snapshot of %llu + %llu bytes\n", (unsigned long long)toc.size, (unsigned long long)data.size);
    torture(&toc, &data, &older_toc, &older_data);
    alone = true;
    ensure(unlinkat(dir, older_toc.name, 0) == 0 && unlinkat(dir, older_data.name, 0) == 0);
    torture(&toc, &data, &older_toc, &older_data);
    for (u32 c = 0; c < CLASS_COUNT; c++)
        printf("%-11s %llu\n", CLASS_TEXTS[c], (unsigned long long)tally[c]);
    printf("%llu states\n", (unsigned long long)states);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ensure(system(command) == 0);
    free(toc.bytes);
    free(data.bytes);
    free(older_toc.bytes);
    free(older_data.bytes);
}

/* The fixture's checks want a test around them. */
START_TEST(every_damage)
{
    torture_all();
    ck_assert(tally[SILENT] == 0 && tally[WRONG] == 0);
}
END_TEST

int
main(int argc, char **argv)
{
    full = argc > 1 && strcmp(argv[1], "full") == 0;
    step = full ? 1 : argc > 1 && atoi(argv[1]) > 0 ? (u64)atoi(argv[1]) : 97;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 42;
    Suite *s = suite_create("snap_torture");
    TCase *c = tcase_create("snap_torture");
    tcase_set_timeout(c, 0);
    tcase_add_test(c, every_damage);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
