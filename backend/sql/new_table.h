/*
 * new_table.h
 *    A table's definition in the making, for CREATE TABLE and ALTER TABLE: columns, keys and checks are added, keys and checks get names.
 *
 * Arrays have room for what will be added. All in the binder's arena. Fails by throwing PostgreSQL's errors.
 */
#ifndef NEW_TABLE_H
#define NEW_TABLE_H

#include "backend/sql/bind.h"

typedef struct NewTable {
    Binder *b;
    bool alters;       /* the table is there already: a key may repeat another one */
    TableDef *def;
    ColumnDef *columns;
    bool *null_given;  /* NULL or NOT NULL was said */
    KeyDef *keys;
    CheckDef *checks;  /* in the order in which they were added */
    u32 old_checks;    /* those that were there before */
} NewTable;

/* 42701 when it conflicts with a system column. */
void new_table_check_name(Str name);
/* The column at `index`, its constraints but keys. */
void new_table_column(NewTable *n, const AColumnDef *c, u32 index);
/* What the catalog keeps of a DEFAULT. */
Str new_table_default(NewTable *n, const ColumnDef *c, const AExpr *e, Str text);
/* Can a column of a key have it? 42704, 0A000. */
void new_table_check_key_type(TypeId type);
/* column: of a constraint that stands with it. */
void new_table_key(NewTable *n, const AConstraint *c, Str column);
/* The keys that stand with a column. */
void new_table_column_keys(NewTable *n, const AColumnDef *c);
/* The primary key to the front, names for keys from number `first` on that have none; 42P07 for one that is taken. */
void new_table_name_keys(NewTable *n, u32 first);
/* A column of that type; 42P16, 0A000 at `at` for a type that none can have. */
ColumnDef new_table_column_of(NewTable *n, Str name, TypeId type, i32 typmod, u32 at);
/* LIKE: how many columns it stands for; these, from number `first` on; its other parts once all columns are there. */
u32 new_table_like_count(Binder *b, const ALike *like);
void new_table_like_columns(NewTable *n, const ALike *like, u32 first);
void new_table_like_checks(NewTable *n, const ALike *like, u32 first);
void new_table_like_keys(NewTable *n, const ALike *like, u32 first);
/* A CHECK; its columns are all there. */
void new_table_check(NewTable *n, const AConstraint *c);
void new_table_add_check(NewTable *n, CheckDef made);
void new_table_column_checks(NewTable *n, const AColumnDef *c);
/* Into the order that the catalog wants. */
void new_table_sort_checks(NewTable *n);
/* A key or check of the new table has the name. */
bool new_table_has_constraint(const NewTable *n, Str name);
NORETURN void new_table_constraint_exists(const NewTable *n, Str name);
/* A table or key but those of the new table has the name. */
bool new_table_name_taken(const NewTable *n, Str name);

#endif
