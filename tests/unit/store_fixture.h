/*
 * store_fixture.h
 *    A world in this process, a table of every storage kind, and a model that knows which rows each version has.
 *
 * Rows of the model are made from one number: fix_row fills every column from it, so a stored row is checked against its number alone.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include "config.h"

#include "common/store/shape.h"
#include "walwriter/world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Check writes a line at every ck_assert; loops over rows use this. */
#define HOLDS(e) ((e) ? (void)0 : ck_abort_msg("%s", #e))

enum { FIX_COLUMNS = 9, FIX_TEXT = 2, FIX_BATCH = 8192 };

typedef struct FixRow {
    i32 id;
    i64 big;
    char text[40];
    u8 flag;
    i16 small;
    double real;
    i64 dec;
    i128 wide;
    Num num;
    bool null_big, null_text;
} FixRow;

static inline void
fix_row(u64 number, u32 salt, FixRow *r)
{
    u64 x = number * 2654435761u + salt;
    *r = (FixRow){.id = (i32)number, .big = (i64)(x * 7919), .flag = x & 1, .small = (i16)(x % 30000), .real = (double)(x % 1000) / 8.0,
                  .dec = (i64)(x % 100000) - 50000, .wide = (i128)x * -77, .num = num_make((i128)(x % 999), 2)};
    snprintf(r->text, sizeof r->text, "text %llu", (unsigned long long)(x % 97 == 0 ? number : x % 500));
    r->null_big = x % 11 == 0;
    r->null_text = x % 13 == 0;
    if (x % 17 == 0)
        r->text[0] = 0;
}

static const ColumnDef FIX_COLUMN_DEFS[FIX_COLUMNS] = {
    {.name = {"id", 2}, .type = TYPE_INT4, .phys = PHYS_I32, .typmod = -1, .not_null = 1},
    {.name = {"big", 3}, .type = TYPE_INT8, .phys = PHYS_I64, .typmod = -1},
    {.name = {"text", 4}, .type = TYPE_TEXT, .phys = PHYS_STR, .typmod = -1},
    {.name = {"flag", 4}, .type = TYPE_BOOL, .phys = PHYS_BOOL, .typmod = -1, .not_null = 1},
    {.name = {"small", 5}, .type = TYPE_INT2, .phys = PHYS_I16, .typmod = -1},
    {.name = {"real", 4}, .type = TYPE_FLOAT8, .phys = PHYS_F64, .typmod = -1},
    {.name = {"dec", 3}, .type = TYPE_NUMERIC, .phys = PHYS_D64, .scale = 2, .typmod = ((12 << 16) | 2) + 4},
    {.name = {"wide", 4}, .type = TYPE_NUMERIC, .phys = PHYS_D128, .scale = 3, .typmod = ((30 << 16) | 3) + 4},
    {.name = {"num", 3}, .type = TYPE_NUMERIC, .phys = PHYS_NUM, .typmod = -1},
};
static const KeyDef FIX_KEYS[1] = {{.name = {"t_pkey", 6}, .primary = 1, .column_count = 1, .columns = {0}}};

/* A part with its own memory for FIX_BATCH rows of the table. */
typedef struct FixPart {
    PartView view;
    PartColumn columns[FIX_COLUMNS];
    u64 old_rows[FIX_BATCH];
    u32 lengths[FIX_BATCH];
    char texts[FIX_BATCH * 40];
    u16 indexes[FIX_BATCH];
    u8 nulls[2][FIX_BATCH];
    i32 id[FIX_BATCH];
    i64 big[FIX_BATCH];
    u8 flag[FIX_BATCH];
    i16 small[FIX_BATCH];
    double real[FIX_BATCH];
    i64 dec[FIX_BATCH];
    i128 wide[FIX_BATCH];
    Num num[FIX_BATCH];
} FixPart;

/* An INSERT of `count` rows made from numbers[i] and salts[i]. Every row's text is a distinct one of its own, as the format allows. */
static inline void
fix_insert(FixPart *f, u32 table_id, const u64 *numbers, const u32 *salts, u32 count)
{
    u32 at = 0;
    for (u32 i = 0; i < count; i++) {
        FixRow r;
        fix_row(numbers[i], salts[i], &r);
        f->id[i] = r.id;
        f->big[i] = r.big;
        f->flag[i] = r.flag;
        f->small[i] = r.small;
        f->real[i] = r.real;
        f->dec[i] = r.dec;
        f->wide[i] = r.wide;
        f->num[i] = r.num;
        f->nulls[0][i] = r.null_big;
        f->nulls[1][i] = r.null_text;
        f->lengths[i] = (u32)strlen(r.text);
        memcpy(f->texts + at, r.text, f->lengths[i]);
        at += f->lengths[i];
        f->indexes[i] = (u16)i;
    }
    const void *values[FIX_COLUMNS] = {f->id, f->big, NULL, f->flag, f->small, f->real, f->dec, f->wide, f->num};
    for (u16 c = 0; c < FIX_COLUMNS; c++)
        f->columns[c] = (PartColumn){.column = c, .phys = (PhysType)FIX_COLUMN_DEFS[c].phys, .values = values[c]};
    f->columns[1].null_bytes = f->nulls[0];
    f->columns[FIX_TEXT] = (PartColumn){.column = FIX_TEXT, .phys = PHYS_STR, .null_bytes = f->nulls[1], .distinct = count, .lengths = f->lengths,
                                        .texts = f->texts, .indexes = f->indexes, .index_width = 2};
    f->view = (PartView){.kind = PART_INSERT, .table_id = table_id, .row_count = count, .column_count = FIX_COLUMNS, .columns = f->columns,
                         .old_rows = f->old_rows};
}

typedef struct Fixture {
    Shm shm;
    World *w;
    u64 version;
    u32 table_id;
} Fixture;

/* The areas in one process. */
static inline void
fix_areas(Shm *s, u32 slots, u64 memory_bytes)
{
    *s = (Shm){.slot_count = slots, .world_reserved_bytes = ALIGN_UP(memory_bytes, (u64)EXTENT_BYTES), .world_fd = memfd_create("world", 0)};
    ck_assert_int_ge(s->world_fd, 0);
    ck_assert_int_eq(ftruncate(s->world_fd, (off_t)s->world_reserved_bytes), 0);
    u8 *at = mmap(NULL, s->world_reserved_bytes + EXTENT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(at, MAP_FAILED);
    u8 *aligned = (u8 *)ALIGN_UP((uintptr_t)at, (uintptr_t)EXTENT_BYTES);
    s->world = mmap(aligned, s->world_reserved_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, s->world_fd, 0);
    ck_assert_ptr_ne(s->world, MAP_FAILED);
    s->boxes = mmap(NULL, (u64)(slots + 1) * BOX_STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(s->boxes, MAP_FAILED);
    s->writer = calloc(1, sizeof *s->writer);
    ck_assert_ptr_nonnull(s->writer);
}

static inline void
fix_free_areas(Shm *s)
{
    munmap(s->world, s->world_reserved_bytes);
    munmap(s->boxes, (u64)(s->slot_count + 1) * BOX_STRIDE);
    close(s->world_fd);
    free(s->writer);
}

static inline void
fix_create_table(Fixture *f, const char *name)
{
    Error err;
    f->table_id = world_next_table_id(f->w);
    TableDef def = {.table_id = f->table_id, .schema_version = 1, .owner_id = ROLE_ROOT, .column_count = FIX_COLUMNS, .key_count = 1,
                    .name = str_of(name), .columns = FIX_COLUMN_DEFS, .keys = FIX_KEYS};
    ck_assert(world_reserve_catalog(f->w, CATALOG_PROMISE, &err));
    world_create_table(f->w, &def);
    world_unreserve_catalog(f->w, CATALOG_PROMISE);
    world_publish(f->w, ++f->version);
}

static inline void
fix_open(Fixture *f, u64 memory_bytes)
{
    Error err;
    *f = (Fixture){0};
    fix_areas(&f->shm, 8, memory_bytes);
    ck_assert(world_open(&f->shm, false, &f->w, &err));
    fix_create_table(f, "t");
}

static inline void
fix_close(Fixture *f)
{
    Error err = {0};
    ck_assert_msg(world_verify(f->w, &err), "%s", err.message);
    world_close(f->w);
    fix_free_areas(&f->shm);
}

/* Autocommit: take ids, reserve, (log), apply, publish. */
static inline void
fix_commit(Fixture *f, PartView *p)
{
    Error err = {0};
    RowRange r[2];
    if (p->kind != PART_DELETE) {
        ck_assert(world_take_rows(f->w, p->table_id, p->row_count, r, &err));
        p->first_count = r[0].count;
        p->first_row = r[0].first;
        p->second_row = r[1].count ? r[1].first : 0;
    }
    ck_assert_msg(world_reserve_part(f->w, p, &err), "%s", err.message);
    if (p->kind != PART_INSERT)
        world_apply_deletes(f->w, p, f->version + 1);
    if (p->kind != PART_DELETE)
        world_apply_rows(f->w, p);
    world_publish(f->w, ++f->version);
}

static inline RowId
part_row_id(const PartView *p, u32 i)
{
    return i < p->first_count ? p->first_row + i : p->second_row + (i - p->first_count);
}

static inline void
fix_verify(const Snapshot *s)
{
    Error err = {0};
    ck_assert_msg(store_verify(s, VERIFY_CONTENTS, &err), "%s %s", err.message, err.detail);
}

#endif
