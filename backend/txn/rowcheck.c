/*
 * rowcheck.c
 *    NOT NULL and CHECK: find the first row that breaks one and say so as PostgreSQL does, with the row in the detail.
 *
 * NOT NULL is looked at here, a CHECK by the caller, who evaluates its expression (txn_note_broken). Of one row NOT NULL comes first.
 */
#include "backend/txn/write.h"

#include "backend/throw.h"
#include "common/store/rights.h"

#include <stdio.h>

enum { DETAIL_VALUE_BYTES = 64 };

static void
put_value(ByteBuf *to, const Value *v)
{
    static const TypeFormat UTC = {.extra_float_digits = 1};
    if (v->is_null) {
        buf_str(to, "null");
        return;
    }
    size_t start = to->len;
    value_out(to, &UTC, v);
    if (to->len - start <= DETAIL_VALUE_BYTES)
        return;
    size_t end = start + DETAIL_VALUE_BYTES;
    while (end > start && (to->data[end] & 0xc0) == 0x80) /* never cut inside a character */
        end--;
    to->len = end;
    buf_str(to, "...");
}

static Value
batch_value(const Vec *v, const ColumnDef *c, u32 row)
{
    if (VEC_NULL(v, row))
        return (Value){.type = (TypeId)c->type, .typmod = c->typmod, .is_null = true};
    u32 at = v->is_const ? 0 : row;
    if (v->phys == PHYS_STR && !v->data)
        return (Value){.type = (TypeId)c->type, .typmod = c->typmod, .str = dict_str(v->dict, v->codes[at])};
    return value_from_phys((TypeId)c->type, c->typmod, v->phys, c->scale, (const u8 *)v->data + (size_t)at * phys_width(v->phys));
}

/* The row as it would have been: the batch's values, for an UPDATE the old row's where they do not change. */
static Value
failing_value(const TxnWrite *w, const RowId *rows, const Batch *b, u32 position, u32 row, u32 column)
{
    const ColumnDef *c = &w->def->columns[column];
    for (u32 i = 0; i < w->column_count; i++)
        if (w->columns[i].number == column)
            return batch_value(&b->columns[i], c, row);
    BlockView block;
    SliceView slice;
    if (!rows || !block_locate(w->table, rows[position], &block) || !slice_view(&block, column, &slice))
        return (Value){.type = (TypeId)c->type, .typmod = c->typmod, .is_null = true};
    return slice_value(&slice, c, ROW_OFFSET(rows[position]));
}

static NORETURN void
throw_of_column(Error *err, const TableDef *t, const ColumnDef *c)
{
    snprintf(err->table, sizeof err->table, "%.*s", (int)t->name.len, t->name.ptr);
    snprintf(err->column, sizeof err->column, "%.*s", (int)c->name.len, c->name.ptr);
    err_rethrow(err);
}

static NORETURN void
throw_of_constraint(Error *err, const TableDef *t, Str constraint)
{
    snprintf(err->table, sizeof err->table, "%.*s", (int)t->name.len, t->name.ptr);
    snprintf(err->constraint, sizeof err->constraint, "%.*s", (int)constraint.len, constraint.ptr);
    err_rethrow(err);
}

/* Rows of a table that is being altered. */
static NORETURN void
throw_contains_nulls(const TableDef *t, const ColumnDef *c)
{
    Error err;
    error_set(&err, ERR_NOT_NULL_VIOLATION, "column \"%.*s\" of relation \"%.*s\" contains null values", (int)c->name.len, c->name.ptr,
              (int)t->name.len, t->name.ptr);
    throw_of_column(&err, t, c);
}

static void
put_failing_row(const TxnWrite *w, const RowId *rows, const Batch *b, u32 position, Error *err)
{
    ByteBuf row_text = {0}, names = {0};
    u32 row = b->sel ? b->sel[position] : position, role = w->txn->role_id, shown = 0;
    const Root *root = txn_root(w->txn);
    bool all = !role || catalog_allows(root, w->def, role, ACL_SELECT); /* 0: no session, which always says who it is */
    for (u32 k = 0; k < w->def->column_count; k++) {
        if (!all && !rights_allow_column(root, w->def, role, k + 1, ACL_SELECT))
            continue;
        Value v = failing_value(w, rows, b, position, row, k);
        buf_printf(&names, "%s%.*s", shown ? ", " : "", (int)w->def->columns[k].name.len, w->def->columns[k].name.ptr);
        if (shown++)
            buf_str(&row_text, ", ");
        put_value(&row_text, &v);
    }
    if (all)
        error_detail(err, "Failing row contains (%.*s).", (int)row_text.len, (const char *)row_text.data);
    else if (shown)
        error_detail(err, "Failing row contains (%.*s) = (%.*s).", (int)names.len, (const char *)names.data, (int)row_text.len, (const char *)row_text.data);
    buf_free(&row_text);
    buf_free(&names);
}

static NORETURN void
throw_null(const TxnWrite *w, const RowId *rows, const Batch *b, u32 position, const ColumnDef *c)
{
    Error err;
    if (w->txn->rebuilds)
        throw_contains_nulls(w->def, c);
    error_set(&err, ERR_NOT_NULL_VIOLATION, "null value in column \"%.*s\" of relation \"%.*s\" violates not-null constraint",
              (int)c->name.len, c->name.ptr, (int)w->def->name.len, w->def->name.ptr);
    put_failing_row(w, rows, b, position, &err);
    throw_of_column(&err, w->def, c);
}

void
txn_throw_broken(const TableDef *t, Str constraint)
{
    Error err;
    error_set(&err, ERR_CHECK_VIOLATION, "check constraint \"%.*s\" of relation \"%.*s\" is violated by some row", (int)constraint.len,
              constraint.ptr, (int)t->name.len, t->name.ptr);
    throw_of_constraint(&err, t, constraint);
}

static NORETURN void
throw_broken(const TxnWrite *w, const RowId *rows, const Batch *b)
{
    Error err;
    Str name = w->broken;
    if (w->txn->rebuilds)
        txn_throw_broken(w->def, name);
    error_set(&err, ERR_CHECK_VIOLATION, "new row for relation \"%.*s\" violates check constraint \"%.*s\"", (int)w->def->name.len,
              w->def->name.ptr, (int)name.len, name.ptr);
    put_failing_row(w, rows, b, w->broken_at, &err);
    throw_of_constraint(&err, w->def, name);
}

void
write_check_rows(TxnWrite *w, const RowId *rows, const Batch *b)
{
    u32 first = w->broken.len ? w->broken_at + 1 : b->count;
    const ColumnDef *column = NULL;
    for (u32 k = 0; k < w->column_count; k++) {
        const Vec *v = &b->columns[k];
        if (!w->columns[k].def->not_null || !v->null_mask)
            continue;
        for (u32 i = 0; i < first; i++)
            if (VEC_NULL(v, b->sel ? b->sel[i] : i)) {
                first = i;
                column = w->columns[k].def;
            }
    }
    if (column)
        throw_null(w, rows, b, first, column);
    if (w->broken.len)
        throw_broken(w, rows, b);
}
