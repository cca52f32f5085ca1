/*
 * system.c
 *    The relations of the system as a source: a producer makes all rows, those columns are kept that the plan wants.
 *
 * A relation that is always empty has no producer. Views are not here: the binder takes their text for them.
 */
#include "backend/exec/system.h"

#include "common/type/array.h"

typedef void (*Producer)(SystemRows *r);

#define PRODUCER_ROWS(symbol) system_rows_##symbol
#define PRODUCER_EMPTY(symbol) NULL
#define PRODUCER_VIEW(symbol) NULL
#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, kind, schema, name, ...) [SYSTEM_##symbol] = PRODUCER_##kind(symbol),
static const Producer PRODUCERS[SYSTEM_TABLE_COUNT] = {
#include "common/store/system.def"
};

static Value *
next_column(SystemRows *r)
{
    ensure(r->column < r->def->column_count);
    Value *v = &r->row[r->column];
    *v = (Value){.type = (TypeId)r->def->columns[r->column].type, .typmod = -1};
    r->column++;
    return v;
}

void
system_null(SystemRows *r)
{
    next_column(r)->is_null = true;
}

void
system_bool(SystemRows *r, bool v)
{
    Value *to = next_column(r);
    ensure(to->type == TYPE_BOOL);
    to->b = v;
}

void
system_int(SystemRows *r, i64 v)
{
    Value *to = next_column(r);
    switch (phys_of(to->type, -1)) {
    case PHYS_I16: to->i16v = (i16)v; break;
    case PHYS_I32: to->i32v = (i32)v; break;
    case PHYS_I64: to->i64v = v; break;
    default: ensure(!"an integer column");
    }
}

void
system_text(SystemRows *r, Str v)
{
    Value *to = next_column(r);
    ensure(phys_of(to->type, -1) == PHYS_STR);
    to->str = arena_str(r->arena, v);
}

void
system_real(SystemRows *r, double v)
{
    Value *to = next_column(r);
    ensure(to->type == TYPE_FLOAT4);
    to->f32v = (float)v;
}

void
system_string(SystemRows *r, const char *v)
{
    if (v)
        system_text(r, str_of(v));
    else
        system_null(r);
}

static void
finish_array(SystemRows *r, ArrayBuild *b, Value *to)
{
    ArrayShape shape = {.ndim = 1, .dims = {(i32)b->count}, .lower = {type_is_vector(to->type) ? 0 : 1}};
    Error err;
    CHECKED(array_shape_check(&shape, &err) && array_finish(b, &shape, &to->str, &err), &err);
    (void)r;
}

void
system_ints(SystemRows *r, const i64 *v, u32 count)
{
    Value *to = next_column(r), item = {.type = type_element(to->type), .typmod = -1};
    ArrayBuild b = array_build(r->arena, item.type);
    Error err;
    for (u32 i = 0; i < count; i++) {
        if (item.type == TYPE_INT2 || item.type == TYPE_CHAR)
            item.i16v = (i16)v[i];
        else
            item.i64v = v[i];
        CHECKED(array_add(&b, &item, &err), &err);
    }
    finish_array(r, &b, to);
}

void
system_texts(SystemRows *r, const Str *v, u32 count)
{
    Value *to = next_column(r), item = {.type = type_element(to->type), .typmod = -1};
    ArrayBuild b = array_build(r->arena, item.type);
    Error err;
    for (u32 i = 0; i < count; i++) {
        item.str = v[i];
        CHECKED(array_add(&b, &item, &err), &err);
    }
    finish_array(r, &b, to);
}

void
system_nulls(SystemRows *r, u32 count)
{
    for (u32 i = 0; i < count; i++)
        system_null(r);
}

u32
system_pages(const TableShm *t)
{
    return (u32)MIN((table_column_bytes(t) + 8191) / 8192, (u64)INT32_MAX);
}

bool
system_wants(const SystemRows *r, u16 column)
{
    bool wanted = false;
    for (u32 i = 0; i < r->node->slot_count; i++)
        wanted |= r->node->system.columns[i] == column;
    return wanted;
}

/* A column of the row, or one of those that every relation has. */
static Value
cell(const SystemRows *r, u16 column)
{
    switch (column) {
    case BCOL_CTID: return (Value){.type = TYPE_TID, .typmod = -1, .i64v = (i64)ROW_ID(0, r->count + 1)};
    case BCOL_TABLEOID: return (Value){.type = TYPE_OID, .typmod = -1, .i64v = r->def->table_id};
    case BCOL_XMIN: return (Value){.type = TYPE_XID, .typmod = -1, .i64v = r->xmin};
    default: return r->row[column];
    }
}

void
system_end_row(SystemRows *r)
{
    u32 width = r->node->slot_count;
    while (r->column < r->def->column_count)
        system_null(r);
    if (r->count == r->capacity) {
        u32 capacity = r->capacity ? r->capacity * 2 : 32;
        Value *cells = ARENA_ARRAY(r->arena, Value, (u64)capacity * MAX(width, 1u));
        if (r->count)
            memcpy(cells, r->cells, (size_t)r->count * width * sizeof *cells);
        r->cells = cells;
        r->capacity = capacity;
    }
    for (u32 i = 0; i < width; i++)
        r->cells[(u64)r->count * width + i] = cell(r, r->node->system.columns[i]);
    r->count++;
    r->column = 0;
}

Source *
system_source(Exec *e, const PlanNode *n)
{
    SystemTable t = system_table_of(n->system.table_id);
    ensure(t < SYSTEM_TABLE_COUNT);
    SystemRows r = {.exec = e, .xmin = 1, .arena = e->arena, .def = system_table_def(t), .node = n};
    r.row = ARENA_ARRAY(e->arena, Value, r.def->column_count);
    r.cells = ARENA_ARRAY(e->arena, Value, 1); /* not NULL without rows */
    if (PRODUCERS[t])
        PRODUCERS[t](&r);
    return cells_source(e, n, r.cells, r.count);
}
