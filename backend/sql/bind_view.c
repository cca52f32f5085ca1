/*
 * bind_view.c
 *    Views of the system: relations whose rows are those of a query that stands in system_views.def.
 *
 * The text is bound where the view is named, in a scope that sees nothing of the statement around it, and its targets become the columns that system.def
 * declares. Errors in it would be ours; they have no position.
 */
#include "backend/sql/bind.h"

#include "common/store/system.h"

static const char *const TEXTS[SYSTEM_TABLE_COUNT] = {
#define SYSTEM_VIEW(symbol, text) [SYSTEM_##symbol] = text,
#include "backend/sql/system_views.def"
};

static BQuery *
bind_text(Binder *b, const char *text)
{
    Binder kept = *b;
    u32 count;
    const ParsedStmt *parsed = sql_parse(b->arena, text, (u32)strlen(text), &count);
    b->outer = NULL;
    b->frame = NULL;
    b->with = NULL;
    b->with_now = NULL;
    b->rows_allowed = false;
    b->no_positions = true;
    BQuery *q = bind_query(b, parsed->tree->select, true);
    b->outer = kept.outer;
    b->frame = kept.frame;
    b->with = kept.with;
    b->with_now = kept.with_now;
    b->rows_allowed = kept.rows_allowed;
    b->no_positions = kept.no_positions;
    return q;
}

NsItem *
bind_add_view(Scope *s, const TableDef *t, const AAlias *alias, u16 *ret_rel)
{
    Binder *b = s->b;
    const char *text = TEXTS[system_table_of(t->table_id)];
    ensure(text);
    BRel *rel = ARENA_NEW(b->arena, BRel);
    rel->kind = BREL_SUBQUERY;
    rel->query = bind_text(b, text);
    rel->alias = alias ? alias->name : t->name;
    rel->column_count = t->column_count;
    rel->columns = ARENA_ARRAY(b->arena, BColumn, t->column_count);
    ensure(bquery_visible(rel->query) == t->column_count);
    bind_check_alias_columns(alias, t->column_count, rel->alias);
    for (u32 i = 0; i < t->column_count; i++) {
        const ColumnDef *c = &t->columns[i];
        BTarget *target = &rel->query->targets[i];
        target->expr = coerce_to_target(b, target->expr, (TypeId)c->type, -1, CAST_EXPLICIT);
        ensure(target->expr);
        rel->columns[i] = (BColumn){.name = alias && i < alias->column_count ? alias->columns[i] : c->name, .type = (TypeId)c->type, .typmod = -1,
                                    .table_oid = t->table_id, .attribute = (u16)(i + 1)};
    }
    NsItem *item = bind_add_rel(s, rel, t, ret_rel);
    item->has_alias = alias != NULL;
    return item;
}
