/*
 * system.c
 *    The relations of the system as a source: a producer makes all rows, those columns are kept that the plan wants.
 */
#include "backend/exec/system.h"

typedef void (*Producer)(SystemRows *r);

#define COLUMN(name, type)
#define SYSTEM_TABLE(symbol, oid, schema, name, ...) [SYSTEM_##symbol] = system_rows_##symbol,
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
        r->cells[(u64)r->count * width + i] = r->row[r->node->system.columns[i]];
    r->count++;
    r->column = 0;
}

Source *
system_source(Exec *e, const PlanNode *n)
{
    SystemTable t = system_table_of(n->system.table_id);
    ensure(t < SYSTEM_TABLE_COUNT);
    SystemRows r = {.exec = e, .arena = e->arena, .def = system_table_def(t), .node = n};
    r.row = ARENA_ARRAY(e->arena, Value, r.def->column_count);
    r.cells = ARENA_ARRAY(e->arena, Value, 1); /* not NULL without rows */
    PRODUCERS[t](&r);
    return cells_source(e, n, r.cells, r.count);
}
