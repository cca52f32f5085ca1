/*
 * compact_choose.c
 *    Which blocks are worth compacting.
 *
 * A block with many deleted rows gives their memory back; small blocks, which chains of few rows leave, cost a scan more than their rows do. So that rows are
 * copied few times, small blocks are merged with others of their size only, eight of them at least: a row is copied once for each eightfold growth.
 * Sources are taken in the order of their ids as long as their live rows fit one block; blocks without a live row always fit. The block of small commits that is
 * mostly dead is sealed before it is full, so that it can be a source, too.
 *
 * One table is looked at again only when it has changed enough since nothing was found in it. Writes: notes of the tables. Cannot fail.
 */
#include "walwriter/world_int.h"

enum {
    TABLES_A_SEARCH = 4096,
    SLOTS_A_SEARCH = 16384,
    LOOK_AGAIN_PLACES = 8,
    MERGE_MIN = 8,              /* small blocks of one size */
    SMALL_ROWS = BLOCK_ROWS / 8,
    SIZE_CLASSES = 6,           /* eightfold each */
    RECORD_MAX_WORDS = 64 * COMPACT_MAX_WORDS, /* half a MiB of bitmaps */
};

static u32
live_rows(const SlotDirShm *slot)
{
    return slot->pub_block->row_count - MIN(slot->deleted_count, slot->pub_block->row_count);
}

static bool
may_be_source(const SlotDirShm *slot)
{
    return slot && slot->kind == SLOT_SEALED && slot->pub_link_epoch != NOT_LINKED && slot->rows_published == slot->pub_block->row_count;
}

static bool
is_wasteful(const CompactRule *rule, u64 rows, u64 dead)
{
    return dead && dead * 100 > (u64)rule->dead_percent * rows && (dead >= rule->dead_rows || dead == rows);
}

static u32
size_class(u32 rows)
{
    return MIN((31 - (u32)__builtin_clz(rows | 1)) / 3, (u32)SIZE_CLASSES - 1);
}

typedef struct Search {
    World *w;
    TableWork *tw;
    const CompactRule *rule;
    CompactRecord *to;
    u32 rows, words;
    bool skipped; /* a busy block */
} Search;

/* false: it does not fit any more. */
static bool
add_source(Search *s, const SlotDirShm *slot)
{
    u32 live = live_rows(slot), words = live ? (slot->pub_block->row_count + 63) / 64 : 0;
    if (s->to->source_count == COMPACT_MAX_SOURCES || s->rows + live > BLOCK_ROWS || s->words + words > RECORD_MAX_WORDS)
        return false;
    s->to->sources[s->to->source_count++] = (CompactSource){.block = slot->block_id};
    s->rows += live;
    s->words += words;
    return true;
}

static bool
is_free(Search *s, const SlotDirShm *slot)
{
    bool busy = s->rule->is_busy && s->rule->is_busy(s->rule->ctx, s->tw->table_id, slot->block_id);
    s->skipped |= busy;
    return !busy;
}

static void
find_wasteful(Search *s)
{
    SlotDirShm *slot;
    bool old = dict_any_old(s->tw);
    for (u64 block = 1; (slot = block_next_slot(s->tw, &block));)
        if (may_be_source(slot) && (is_wasteful(s->rule, slot->pub_block->row_count, slot->deleted_count) || (old && dict_is_old(s->tw, slot))) &&
            is_free(s, slot))
            (void)add_source(s, slot); /* one that does not fit leaves room for smaller ones */
}

static void
find_small(Search *s)
{
    u32 counts[SIZE_CLASSES] = {0}, best = SIZE_CLASSES;
    SlotDirShm *slot;
    for (u64 block = 1; (slot = block_next_slot(s->tw, &block));)
        if (may_be_source(slot) && slot->pub_block->row_count < SMALL_ROWS && is_free(s, slot))
            counts[size_class(slot->pub_block->row_count)]++;
    for (u32 i = 0; i < SIZE_CLASSES && best == SIZE_CLASSES; i++)
        if (counts[i] >= MERGE_MIN)
            best = i;
    for (u64 block = 1; best < SIZE_CLASSES && (slot = block_next_slot(s->tw, &block));)
        if (may_be_source(slot) && slot->pub_block->row_count < SMALL_ROWS && size_class(slot->pub_block->row_count) == best && is_free(s, slot) &&
            !add_source(s, slot))
            return;
}

/* The block that small commits fill, when most of it is dead already: a table of few rows that are changed all the time. */
static void
close_wasteful_open(Search *s)
{
    const SlotDirShm *open = s->tw->opens.count == 1 ? s->tw->opens.slots[0] : NULL;
    if (open && open->rows_applied == open->rows_published && is_wasteful(s->rule, open->rows_applied, open->deleted_count))
        (void)block_close_opens(s->w, s->tw, false);
}

static bool
has_changed(const TableWork *tw, const CompactRule *rule)
{
    u64 grown = tw->deleted_count > tw->looked_deleted ? tw->deleted_count - tw->looked_deleted : 0;
    return rule->wanted || dict_any_old(tw) || grown >= rule->dead_rows || tw->t->place_count >= tw->looked_places + LOOK_AGAIN_PLACES || tw->deleted_count < tw->looked_deleted;
}

static bool
search_table(Search *s)
{
    *s->to = (CompactRecord){.table_id = s->tw->table_id};
    close_wasteful_open(s);
    if (dict_any_old(s->tw))
        dict_drop_old(s->w, s->tw);
    find_wasteful(s);
    if (!s->to->source_count)
        find_small(s);
    if (s->to->source_count)
        return true;
    if (!s->skipped) {
        s->tw->looked_deleted = s->tw->deleted_count;
        s->tw->looked_places = s->tw->t->place_count;
    }
    return false;
}

bool
world_compact_choose(World *w, const CompactRule *rule, CompactRecord *ret, bool *ret_more)
{
    u64 slots = 0;
    for (u32 n = 0; n < TABLES_A_SEARCH && slots < SLOTS_A_SEARCH && w->compact_table < w->table_capacity; n++) {
        TableWork *tw = w->tables[w->compact_table];
        if (tw && !tw->hidden_by && !tw->replaces && has_changed(tw, rule)) {
            Search s = {.w = w, .tw = tw, .rule = rule, .to = ret};
            slots += tw->t->place_count;
            if (search_table(&s)) {
                *ret_more = true;
                return true;
            }
        }
        w->compact_table++;
    }
    *ret_more = w->compact_table < w->table_capacity;
    if (!*ret_more)
        w->compact_table = 0;
    return false;
}

bool
world_any_moved(const World *w)
{
    return w->moved.count > 0; /* from the moment when the ids change */
}
