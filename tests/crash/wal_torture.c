/*
 * wal_torture.c
 *    T1 to T4 of the reliability programme on the redo log: cut at every byte, every byte damaged, whole blocks and sectors lost, stale, misplaced,
 *    and every subset of what was in flight. On logs that hold frames of every kind of record.
 *
 *    wal_torture [quick|full] [log KiB] [seed]
 *
 * quick (make check): T1 looks at every byte for one depth and at one in 13 else, T2 at one byte in 16, T3 at fewer pairs; full: all. Each state is judged by the code that recovery uses, from the first
 * damaged group on; one in 1,000 also by reading the whole folder, and both must agree. Every state ends in one of five classes, and the last
 * two must stay at 0:
 *    refused        an error that names file, offset, LSN and reason
 *    dropped tail   only what nothing proves durable is gone, and the verdict says so
 *    no effect      every group is there
 *    silent loss    a group is gone that must be there, or goes without a word
 *    wrong data     a group was read that nobody wrote
 */
#include "common/base/env.h"
#include "common/base/hash.h"
#include "common/base/say.h"
#include "common/disk/record.h"
#include "common/disk/walformat.h"
#include "common/io/io_sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { GROUPS_MAX = 65536, SPACE_BEHIND = 64 * 1024 };

typedef struct Group {
    u64 offset, end, last_byte; /* last_byte: offset of the last byte that is not zero */
    u8 *payload;
    u32 payload_bytes;
    Lsn durable_through;
    bool seal;
} Group;

typedef struct Log {
    Io *io;
    char name[WAL_NAME_BYTES];
    u8 *image; /* the simulated file itself: damaged and repaired in place */
    u64 size, end;
    WalSegmentHead head;
    Group *groups;
    u32 count, acked; /* groups; those before `acked` are acknowledged, the others were in flight at the end */
    u64 frames;
} Log;

typedef enum Class { REFUSED, DROPPED, NO_EFFECT, SILENT, WRONG, CLASS_COUNT } Class;

static const char *const CLASS_TEXTS[CLASS_COUNT] = {"refused", "dropped tail", "no effect", "silent loss", "wrong data"};
static u64 tally[CLASS_COUNT], disagreements, failures, states;
static u64 random_state;
static u8 flavour; /* of the payloads: tells the groups of one log from those of another of the same shape */
static u8 *scratch; /* payload of the group being read */

static u64
chance(void)
{
    random_state += 0x9e3779b97f4a7c15ull;
    return hash_u64(random_state);
}

static void
count_class(Class c)
{
    tally[c]++;
    states++;
}

static void
report(const char *what)
{
    printf("%-58s", what);
    for (int i = 0; i < CLASS_COUNT; i++) {
        printf(" %s %llu%s", CLASS_TEXTS[i], (unsigned long long)tally[i], i + 1 < CLASS_COUNT ? "," : "\n");
        if (i >= SILENT)
            failures += tally[i];
        tally[i] = 0;
    }
    fflush(stdout);
}

/* ---- making logs ---- */

static const u16 KINDS[] = {
#define WAL_RECORD(number, symbol, what) number,
#include "common/disk/walrec.def"
};

/* A frame of one to four records of every kind in turn; payloads are chance. */
static u32
make_frame(u8 *to, u32 *kind)
{
    u32 len = 0, records = 1 + (u32)(chance() % 4);
    for (u32 i = 0; i < records; i++) {
        u32 n = chance() % 16 == 0 ? (u32)(chance() % 9000) : (u32)(chance() % 300);
        for (u32 k = 0; k < n; k++)
            to[len + RECORD_HEAD_BYTES + k] = chance() % 8 ? (u8)chance() ^ flavour : 0;
        len += record_frame(to + len, KINDS[*kind % COUNT_OF(KINDS)], 0, n);
        ++*kind;
    }
    return len;
}

static bool
note_name(void *ctx, const char *name)
{
    Log *l = ctx;
    Lsn start;
    u32 counter;
    if (wal_segment_name_read(name, &start, &counter))
        memcpy(l->name, name, strlen(name) + 1);
    return true;
}

/* What stands in the image, by a first walk over the undamaged file. */
static void
learn_groups(Log *l)
{
    WalWalk w = {.offset = WAL_PAGE, .sequence = 1, .payload = scratch};
    ensure(wal_segment_head_read(l->image, &w.segment) == NULL);
    l->head = w.segment;
    w.source = (WalSource){.memory = l->image, .size = l->size};
    l->groups = calloc(GROUPS_MAX, sizeof *l->groups);
    ensure(l->groups);
    for (u64 at = w.offset; wal_walk_next(&w); at = w.offset) {
        ensure(l->count < GROUPS_MAX);
        Group *g = &l->groups[l->count++];
        *g = (Group){.offset = at, .end = w.offset, .last_byte = w.offset - 1, .payload_bytes = w.group.payload_bytes,
                     .durable_through = w.group.durable_through, .seal = w.group.flags == WAL_GROUP_SEAL};
        g->payload = malloc(MAX(g->payload_bytes, 1u));
        ensure(g->payload);
        memcpy(g->payload, w.payload, g->payload_bytes);
        while (l->image[g->last_byte] == 0)
            g->last_byte--;
        l->frames += w.group.frame_count;
    }
    l->end = w.offset;
}

static u32
reap(WalWriter *w)
{
    WalEvent events[WAL_DEPTH];
    bool event;
    u32 n = wal_wait(w, -1, 0, events, WAL_DEPTH, &event);
    for (u32 i = 0; i < n; i++)
        ensure(events[i].result == 0);
    return n;
}

/* A log of about `bytes` bytes written with so many groups in flight; then sealed, or left with `hanging` groups in flight. */
static Log
make_log(u64 bytes, u32 depth, bool sealed, u32 hanging, u32 frames_max)
{
    const char *why;
    Error err;
    WalWriter *w;
    Log l = {0};
    u32 kind = 0, acked = 0;
    u8 *frame = malloc(64 * 1024);
    l.io = io_new(IO_ENGINE_SIM, WAL_DEPTH + 1, &why);
    ensure(l.io && frame);
    io_sim_shuffle(l.io, chance() | 1);
    u64 segment = ALIGN_UP(bytes + SPACE_BEHIND + 128 * 1024, (u64)WAL_PAGE);
    ensure(wal_writer_open(l.io, IO_SIM_ROOT, 0, 0, segment, &w, &err));
    u64 start = wal_next_lsn(w);
    for (u32 n = 0, held = 0; wal_next_lsn(w) < start + bytes || (hanging && held < hanging); n++) {
        if (wal_next_lsn(w) >= start + bytes && held == 0) { /* the groups that will hang */
            while (wal_in_flight(w))
                acked += reap(w);
            io_sim_hold(l.io, true);
        }
        held += wal_next_lsn(w) >= start + bytes;
        while (!held && wal_in_flight(w) >= depth)
            acked += reap(w);
        ensure(wal_group_begin(w));
        for (u32 i = 1 + (u32)(chance() % frames_max); i > 0; i--)
            ensure(wal_group_add(w, frame, make_frame(frame, &kind)));
        ensure(wal_group_submit(w, n) == 0);
    }
    while (!hanging && wal_in_flight(w))
        acked += reap(w);
    if (sealed)
        ensure(wal_seal(w) == 0);
    ensure(io_list(l.io, IO_WAL_LIST, IO_SIM_ROOT, note_name, &l) == 0);
    ensure(io_unlink(l.io, IO_WAL_UNLINK, IO_SIM_ROOT, WAL_WATERMARK_NAME) == 0);
    wal_writer_abandon(w);
    io_sim_kill(l.io);
    io_sim_land(l.io);
    l.image = io_sim_file(l.io, l.name, &l.size);
    learn_groups(&l);
    l.acked = acked + sealed;
    ensure(kind >= COUNT_OF(KINDS) && l.count == acked + hanging + sealed);
    free(frame);
    return l;
}

static void
free_log(Log *l)
{
    for (u32 i = 0; i < l->count; i++)
        free(l->groups[i].payload);
    free(l->groups);
    io_free(l->io);
}

/* ---- judging a damaged image ---- */

typedef struct Outcome {
    WalTail tail;
    u32 groups; /* valid ones from the start */
    bool wrong;
} Outcome;

/* Groups before `first` are known to be whole. */
static Outcome
judge(Log *l, u32 first, Lsn proven)
{
    WalWalk w = {.segment = l->head, .sequence = first + 1, .payload = scratch};
    u64 dropped;
    char why[200];
    w.source = (WalSource){.memory = l->image, .size = l->size};
    w.offset = first < l->count ? l->groups[first].offset : l->end;
    Outcome o = {.groups = first};
    while (wal_walk_next(&w)) {
        const Group *g = o.groups < l->count ? &l->groups[o.groups] : NULL;
        if (!g || w.group.payload_bytes != g->payload_bytes || memcmp(w.payload, g->payload, g->payload_bytes) != 0)
            o.wrong = true;
        o.groups++;
    }
    o.tail = wal_walk_judge(&w, proven, &dropped, why, sizeof why);
    return o;
}

/* The class of a state in which losing groups from `may_lose` on, and saying so, is right. */
static Class
classify(const Log *l, const Outcome *o, u32 may_lose)
{
    if (o->wrong)
        return WRONG;
    if (o->tail == WAL_TAIL_ROT)
        return REFUSED;
    if (o->groups == l->count)
        return NO_EFFECT;
    return o->groups >= may_lose ? DROPPED : SILENT; /* a group of which nothing is there is not even seen as torn */
}

static bool
ignore_frame(void *ctx, Lsn lsn, const u8 *frame, u32 len, Error *err)
{
    (void)lsn;
    (void)frame;
    (void)len;
    (void)err;
    ++*(u64 *)ctx;
    return true;
}

/* The same state through the door: the whole folder. */
static void
compare_with_reader(Log *l, const Outcome *o)
{
    WalVerdict v;
    Error err;
    u64 frames = 0;
    bool ok = wal_read(l->io, IO_SIM_ROOT, 0, ignore_frame, &frames, &v, &err);
    if (ok != (o->tail != WAL_TAIL_ROT) || (ok && (v.groups != o->groups || v.torn != (o->tail == WAL_TAIL_TORN))) ||
        (!ok && (err.code != ERR_DATA_CORRUPTED || !strstr(err.message, l->name))))
        disagreements++;
}

static u32
group_of(const Log *l, u64 offset)
{
    u32 low = 0, high = l->count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (l->groups[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low; /* count: behind the last */
}

/* The first group that nothing later proves: of a sealed log the seal, else those that were in flight with the last one, and that one. */
static u32
unproven(const Log *l)
{
    return group_of(l, l->groups[l->count - 1].durable_through - l->head.start_lsn + WAL_PAGE);
}

/* ---- T1: cut ---- */

static void
cut_everywhere(Log *l, bool watermark, u64 step)
{
    u8 *copy = malloc(l->size);
    ensure(copy);
    memcpy(copy, l->image, l->size);
    Lsn proven = watermark ? l->head.start_lsn + (l->end - WAL_PAGE) : 0;
    for (u64 k = l->end; k-- > WAL_PAGE;) { /* from here on all is zero */
        l->image[k] = 0;
        if (k % step && k % WAL_SECTOR)
            continue;
        u32 whole = group_of(l, k); /* groups before this one are untouched */
        while (whole < l->count && l->groups[whole].last_byte < k)
            whole++;
        Outcome o = judge(l, group_of(l, k), proven);
        Class c = o.wrong ? WRONG : o.tail == WAL_TAIL_ROT ? REFUSED : o.groups != whole ? SILENT : whole == l->count ? NO_EFFECT : DROPPED;
        if (watermark ? (c == DROPPED) : (c == REFUSED))
            c = SILENT; /* must be refused below the watermark, must not be without */
        count_class(c);
        if (k % 997 == 0 && !watermark)
            compare_with_reader(l, &o);
    }
    memcpy(l->image, copy, l->size);
    free(copy);
}

/* The same with files that really end there, through the door. */
static void
truncate_files(Log *l, u64 step)
{
    u8 *copy = malloc(l->size);
    ensure(copy);
    memcpy(copy, l->image, l->size);
    for (u64 k = 0; k <= l->end; k += step) {
        WalVerdict v = {0};
        Error err;
        u64 frames = 0;
        u32 whole = 0;
        io_sim_put(l->io, l->name, copy, k);
        bool ok = wal_read(l->io, IO_SIM_ROOT, 0, ignore_frame, &frames, &v, &err);
        while (whole < l->count && l->groups[whole].last_byte < k)
            whole++;
        if (k < WAL_PAGE && !ok)
            count_class(REFUSED); /* its head was durable before it had a name */
        else
            count_class(!ok || v.groups != whole ? SILENT : whole == l->count ? NO_EFFECT : DROPPED);
    }
    io_sim_put(l->io, l->name, copy, l->size);
    l->image = io_sim_file(l->io, l->name, &l->size);
    free(copy);
}

static void
test_cuts(u64 bytes, bool full)
{
    static const u32 DEPTHS[] = {1, 3, 8};
    for (u32 i = 0; i < COUNT_OF(DEPTHS); i++) {
        char what[80];
        Log l = make_log(bytes, DEPTHS[i], i != 1, 0, 5);
        cut_everywhere(&l, false, full || i == 1 ? 1 : 13);
        snprintf(what, sizeof what, "T1 zeros from every byte on, depth %u:", DEPTHS[i]);
        report(what);
        cut_everywhere(&l, true, full ? 1 : 13);
        snprintf(what, sizeof what, "T1 the same with a watermark, depth %u:", DEPTHS[i]);
        report(what);
        truncate_files(&l, full ? 7 : 509);
        snprintf(what, sizeof what, "T1 file ends early, depth %u:", DEPTHS[i]);
        report(what);
        free_log(&l);
    }
}

/* ---- T2: damaged bytes ---- */

static void
damage_byte(Log *l, u64 at, u8 value, bool whole_folder)
{
    u8 before = l->image[at];
    if (value == before)
        return;
    l->image[at] = value;
    Outcome o;
    if (at < WAL_PAGE) {
        WalVerdict v;
        Error err;
        u64 frames = 0;
        bool ok = wal_read(l->io, IO_SIM_ROOT, 0, ignore_frame, &frames, &v, &err);
        count_class(!ok && err.code == ERR_DATA_CORRUPTED ? REFUSED : ok && v.groups == l->count ? NO_EFFECT : SILENT);
    } else {
        u32 g = group_of(l, at);
        o = judge(l, g, 0);
        /* Losing the seal loses nothing. Zeroing the last byte of an unproven group looks like a cut there. */
        const Group *last = &l->groups[l->count - 1];
        count_class(classify(l, &o, last->seal || (value == 0 && at == last->last_byte) ? l->count - 1 : l->count));
        if (whole_folder)
            compare_with_reader(l, &o);
    }
    l->image[at] = before;
}

static void
test_bytes(u64 bytes, bool full)
{
    for (u32 sealed = 0; sealed < 2; sealed++) {
        Log l = make_log(bytes, sealed ? 4 : 8, sealed, 0, 5);
        u64 n = 0;
        for (u64 at = full ? 0 : chance() % 16; at < l.end + 2 * WAL_PAGE; at += full ? 1 : 16) {
            u8 b = l.image[at];
            for (u32 bit = 0; bit < 8; bit++)
                damage_byte(&l, at, b ^ (u8)(1u << bit), ++n % 1000 == 0);
            damage_byte(&l, at, 0, ++n % 1000 == 0);
            damage_byte(&l, at, 0xff, ++n % 1000 == 0);
            damage_byte(&l, at, (u8)chance(), ++n % 1000 == 0);
        }
        report(sealed ? "T2 every byte x 8 bits, 0, 255, random; sealed log:" : "T2 the same, log that ends with an unproven group:");
        free_log(&l);
    }
}

/* ---- T3: blocks and sectors ---- */

typedef enum BlockFault { BLOCK_LOST, BLOCK_STALE, BLOCK_MISDIRECTED, BLOCK_SWAPPED, SECTOR_LOST, BLOCK_FAULTS } BlockFault;

/* Do one fault; returns the first group it can have touched. */
static u32
do_fault(Log *l, const Log *other, BlockFault fault, u64 a, u64 b)
{
    u8 *x = l->image + a, *y = l->image + b, t[WAL_PAGE];
    u64 first = a;
    switch (fault) {
    case BLOCK_LOST:
        memset(x, 0, WAL_PAGE);
        break;
    case BLOCK_STALE:
        memcpy(x, other->image + a, WAL_PAGE);
        break;
    case BLOCK_MISDIRECTED: /* a's bytes went to b: a kept what it had, which is also "duplicated" */
        memmove(y, x, WAL_PAGE);
        first = b;
        break;
    case BLOCK_SWAPPED:
        memcpy(t, x, WAL_PAGE);
        memmove(x, y, WAL_PAGE);
        memcpy(y, t, WAL_PAGE);
        first = MIN(a, b);
        break;
    case SECTOR_LOST:
    case BLOCK_FAULTS:
        memset(x, 0, WAL_SECTOR);
        break;
    }
    return group_of(l, first);
}

static void
put_back(Log *l, const u8 *copy, u64 at)
{
    memcpy(l->image + at, copy + at, WAL_PAGE);
}

/* One fault: a block or sector of an unproven group that turned to zeros (lost, or changed places with one behind the end) is dropped, and so is
 * the seal. */
static void
single_fault(Log *l, const Log *other, const u8 *copy, BlockFault fault, u64 a, u64 b)
{
    u64 page_a = a / WAL_PAGE * WAL_PAGE;
    Outcome o = judge(l, do_fault(l, other, fault, a, b), 0);
    bool zeroed = fault == SECTOR_LOST || wal_is_zero(l->image + page_a, WAL_PAGE) || wal_is_zero(l->image + b, WAL_PAGE);
    count_class(classify(l, &o, zeroed || l->groups[unproven(l)].seal ? unproven(l) : l->count));
    if (chance() % 1000 == 0)
        compare_with_reader(l, &o);
    put_back(l, copy, page_a);
    put_back(l, copy, b);
}

/* Two faults at once; the watermark knows the end, as after a clean stop. */
static void
two_faults(Log *l, const Log *other, const u8 *copy)
{
    u64 at[4], pages = (l->end - WAL_PAGE) / WAL_PAGE + 2;
    for (int i = 0; i < 4; i++)
        at[i] = WAL_PAGE + chance() % pages * WAL_PAGE;
    u32 g = do_fault(l, other, (BlockFault)(chance() % SECTOR_LOST), at[0], at[1]);
    u32 h = do_fault(l, other, (BlockFault)(chance() % SECTOR_LOST), at[2], at[3]);
    Outcome o = judge(l, MIN(g, h), l->head.start_lsn + (l->end - WAL_PAGE));
    count_class(classify(l, &o, l->count));
    for (int i = 0; i < 4; i++)
        put_back(l, copy, at[i]);
}

static void
test_blocks(u64 bytes, bool full)
{
    for (u32 sealed = 0; sealed < 2; sealed++) {
        u64 seed = random_state;
        Log l = make_log(bytes, 4, sealed, 0, 5);
        random_state = seed; /* groups of the same shape in another epoch: what a recycled segment would hold */
        flavour = 0x55;
        Log other = make_log(bytes, 4, sealed, 0, 5);
        flavour = 0;
        u8 *copy = malloc(l.size);
        ensure(copy && l.end == other.end);
        memcpy(copy, l.image, l.size);
        u64 end = l.end + 2 * WAL_PAGE;
        for (u64 a = WAL_PAGE; a < end; a += WAL_PAGE) {
            single_fault(&l, &other, copy, BLOCK_LOST, a, a);
            single_fault(&l, &other, copy, BLOCK_STALE, a, a);
            for (u64 b = WAL_PAGE; b < end; b += WAL_PAGE) {
                single_fault(&l, &other, copy, BLOCK_MISDIRECTED, a, b);
                if (b < a)
                    single_fault(&l, &other, copy, BLOCK_SWAPPED, a, b);
            }
        }
        for (u64 a = WAL_PAGE; a < end; a += WAL_SECTOR)
            single_fault(&l, &other, copy, SECTOR_LOST, a, a / WAL_PAGE * WAL_PAGE);
        report(sealed ? "T3 blocks lost, stale, misdirected, swapped; sealed log:" : "T3 the same, log that ends with an unproven group:");
        for (u32 i = 0; i < (full ? 2000000 : 20000); i++)
            two_faults(&l, &other, copy);
        report("T3 pairs of such, with a watermark:");
        ensure(memcmp(copy, l.image, l.size) == 0);
        free(copy);
        free_log(&l);
        free_log(&other);
    }
}

/* ---- T4: in flight ---- */

/* Every subset of the units (blocks or sectors) of the groups in flight reached the disk, or chance subsets when there are too many. */
static void
persist_subsets(Log *l, u64 unit, u32 bits_max, u64 samples)
{
    u64 from = l->groups[l->acked].offset, n = (l->end - from) / unit, used = 0, all;
    u64 *units = calloc(n, sizeof *units);
    u8 *copy = malloc(l->size);
    ensure(copy && units);
    memcpy(copy, l->image, l->size);
    for (u64 i = 0; i < n; i++) /* a sector of zeros is the same, written or not */
        if (!wal_is_zero(copy + from + i * unit, unit))
            units[used++] = from + i * unit;
    all = used <= bits_max ? 1ull << used : samples;
    for (u64 s = 0; s < all; s++) {
        u32 whole = l->count;
        memset(l->image + from, 0, l->end - from);
        for (u64 i = 0, word = 0; i < used; i++) {
            if (used > bits_max && i % 64 == 0)
                word = s % 2 ? chance() : chance() | chance() | chance();
            bool kept = used <= bits_max ? s >> i & 1 : word >> i % 64 & 1;
            if (kept)
                memcpy(l->image + units[i], copy + units[i], unit);
            else
                whole = MIN(whole, group_of(l, units[i]));
        }
        Outcome o = judge(l, l->acked, 0);
        count_class(o.wrong ? WRONG : o.groups != whole || o.tail == WAL_TAIL_ROT ? SILENT : whole == l->count ? NO_EFFECT : DROPPED);
        if (s % 1000 == 0)
            compare_with_reader(l, &o);
    }
    memcpy(l->image, copy, l->size);
    free(copy);
    free(units);
}

static void
test_in_flight(u64 bytes, bool full)
{
    for (u32 round = 0; round < (full ? 12 : 3); round++) {
        u32 hanging = 2 + round % 3;
        char what[80];
        Log l = make_log(bytes, hanging, false, hanging, round % 2 ? 5 : 3);
        persist_subsets(&l, WAL_PAGE, full ? 22 : 16, full ? 1000000 : 20000);
        persist_subsets(&l, WAL_SECTOR, full ? 20 : 14, full ? 1000000 : 20000);
        snprintf(what, sizeof what, "T4 subsets of blocks and sectors of %u groups in flight:", hanging);
        report(what);
        free_log(&l);
    }
}

int
main(int argc, char **argv)
{
    bool full = argc > 1 && strcmp(argv[1], "full") == 0;
    u64 bytes = argc > 2 ? strtoull(argv[2], NULL, 10) * 1024 : 256 * 1024;
    u64 seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 42, begun = env->monotonic_ns();
    if (argc > 4 || (argc > 1 && !full && strcmp(argv[1], "quick") != 0) || bytes < 16 * 1024 || bytes > 256 << 20) {
        fprintf(stderr, "usage: wal_torture [quick|full] [log KiB] [seed]\n");
        return 2;
    }
    say_level(SAY_ERROR);
    scratch = malloc(WAL_GROUP_MAX_BYTES);
    ensure(scratch);
    random_state = seed;
    printf("log of %llu KiB, seed %llu\n", (unsigned long long)(bytes / 1024), (unsigned long long)seed);
    test_cuts(bytes, full);
    test_bytes(bytes, full);
    test_blocks(MIN(bytes, (u64)256 * 1024), full);
    test_in_flight(MIN(bytes, (u64)64 * 1024), full);
    printf("%llu states in %.1f s; whole-folder reads that disagreed: %llu; failures: %llu\n", (unsigned long long)states,
           (double)(env->monotonic_ns() - begun) / 1e9, (unsigned long long)disagreements, (unsigned long long)failures);
    free(scratch);
    return failures || disagreements;
}
