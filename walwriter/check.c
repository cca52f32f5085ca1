/*
 * check.c
 *    Does a part agree with its table? Columns, physical types, NOT NULL, decimals within their precision, texts valid UTF-8
 *    and within their length.
 *    The backend has done the same to the user's values; what fails here was not made by our backend, so messages are short.
 */
#include "walwriter/writer.h"

#include "common/type/array.h"
#include "common/type/datetime.h"
#include "common/type/numeric.h"

static bool
disagree(Error *err, const TableDef *t, u32 column)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed request: column %u does not agree with table \"%.*s\"", column,
                     (int)t->name.len, t->name.ptr);
}

static bool
decimals_fit(const ColumnDef *d, const PartColumn *c, u32 rows)
{
    u32 precision = d->typmod == -1 ? NUM_MAX_DIGITS : numeric_precision(d->typmod);
    if (c->phys == PHYS_D64) {
        i64 limit = POW10_I64[MIN(precision, 18u)];
        const i64 *v = c->values;
        for (u32 i = 0; i < rows; i++)
            if ((v[i] >= limit || v[i] <= -limit) && v[i] != D64_NAN)
                return false;
        return true;
    }
    i128 limit = POW10_I128[MIN(precision, (u32)NUM_MAX_DIGITS)], v;
    for (u32 i = 0; i < rows; i++) {
        memcpy(&v, (const u8 *)c->values + (size_t)i * sizeof v, sizeof v);
        if ((v >= limit || v <= -limit) && v != D128_NAN)
            return false;
    }
    return true;
}

/* Valid UTF-8 without zeros, but for bytea; varchar(n) has at most n characters, character(n) exactly n. */
static bool
text_fits(const ColumnDef *d, Str s)
{
    TypeId type = (TypeId)d->type;
    if (type == TYPE_BYTEA)
        return true;
    if (type_is_array(type))
        return !s.len || array_valid(type_element(type), s);
    if ((type == TYPE_NAME && s.len > TYPE_NAME_MAX_BYTES) || !part_text_is_text(s))
        return false;
    if (!type_has_length(type) || d->typmod < 4)
        return true;
    u32 limit = (u32)d->typmod - 4;
    return type == TYPE_BPCHAR ? utf8_len(s) == limit : s.len <= limit || utf8_len(s) <= limit;
}

static bool
texts_fit(const ColumnDef *d, const PartView *p, const PartColumn *c)
{
    const char *at = c->texts;
    for (u32 i = 0; i < c->distinct; at += part_text_bytes(c, i), i++) {
        bool is_long = c->lengths[i] & PART_LONG;
        if ((is_long && !part_long(p, c, i)) || !text_fits(d, part_str(p, c, i, at)))
            return false;
    }
    return true;
}

/* Keys are looked up and compared by their bytes while a part is judged: those stand in it. */
static bool
keys_are_short(const TableDef *t, const PartView *p, Error *err)
{
    for (u32 k = 0; k < t->key_count && p->long_count; k++)
        for (u32 c = 0; c < t->keys[k].column_count; c++)
            for (u32 i = 0; i < p->column_count; i++) {
                const PartColumn *pc = &p->columns[i];
                for (u32 d = 0; pc->phys == PHYS_STR && pc->column == t->keys[k].columns[c] && d < pc->distinct; d++)
                    if (pc->lengths[d] & PART_LONG)
                        return error_set(err, ERR_PROGRAM_LIMIT_EXCEEDED, "a value of a key is too long");
            }
    return true;
}

/* Types narrower than what holds them. Times of day are within a day: what writes them as text relies on it. */
static bool
element_fits(TypeId t, const void *at)
{
    switch ((int)t) {
    case TYPE_CHAR: return *(const u16 *)at <= UINT8_MAX;
    case TYPE_OID: return *(const u64 *)at <= UINT32_MAX;
    case TYPE_TIME: return time_valid(*(const i64 *)at);
    case TYPE_TIMETZ: return timetz_valid(at);
    default: return true;
    }
}

static bool
elements_fit(const ColumnDef *d, const PartColumn *c, u32 rows)
{
    for (u32 i = 0; i < rows; i++) {
        bool null = c->null_bytes && c->null_bytes[i];
        if (!null && !element_fits((TypeId)d->type, (const u8 *)c->values + (size_t)i * phys_width(c->phys)))
            return false;
    }
    return true;
}

static bool
is_narrow(TypeId t)
{
    return t == TYPE_CHAR || t == TYPE_OID || t == TYPE_TIME || t == TYPE_TIMETZ;
}

static bool
nulls_fit(const ColumnDef *d, const PartColumn *c, u32 rows)
{
    return !d->not_null || !c->null_bytes || !memchr(c->null_bytes, 1, rows);
}

bool
check_values(const TableDef *t, const PartView *p, Error *err)
{
    if (p->kind == PART_INSERT && p->column_count != t->column_count)
        return disagree(err, t, p->column_count);
    for (u32 i = 0; i < p->column_count; i++) {
        const PartColumn *c = &p->columns[i];
        if (c->column >= t->column_count) /* ascending: an INSERT with all columns has them in order */
            return disagree(err, t, c->column);
        const ColumnDef *d = &t->columns[c->column];
        if (c->phys != (PhysType)d->phys || !nulls_fit(d, c, p->row_count) ||
            ((c->phys == PHYS_D64 || c->phys == PHYS_D128) && !decimals_fit(d, c, p->row_count)) ||
            (is_narrow((TypeId)d->type) && !elements_fit(d, c, p->row_count)) || (c->phys == PHYS_STR && !texts_fit(d, p, c)))
            return disagree(err, t, c->column);
    }
    return keys_are_short(t, p, err);
}
