/*
 * sort.h
 *    What full sort and top-N share: rows as items of an order-preserving image and a row number.
 */
#ifndef EXEC_SORT_H
#define EXEC_SORT_H

#include "backend/exec/run.h"

/* image: of the first key; a smaller image comes first, equal images say nothing. */
typedef struct SortItem {
    u64 image;
    u32 row, pad;
} SortItem;

typedef struct SortOrder {
    const PlanSortKey *keys;
    u32 key_count;
    const Vec *columns; /* flat; keys are columns of it */
    bool as_they_came;  /* rows that are equal in all keys stay as they stood, else they stand by their numbers */
} SortOrder;

/* <0, 0, >0 by all keys, then by row numbers (unless as_they_came). */
int sort_compare(const SortOrder *o, const SortItem *a, const SortItem *b);
/* The same for two rows by all keys, 0 when they are equal. */
int sort_compare_keys(const SortOrder *o, u32 a, u32 b);
/* The rows' numbers in order; at least one key. */
u32 *sort_flat_rows(Exec *e, RowFlat *rows, const PlanSortKey *keys, u32 key_count);
/* Sorts the numbers of these rows on all threads; equal ones stay as they stood. */
void sort_listed_rows(Exec *e, const Vec *columns, const PlanSortKey *keys, u32 key_count, u32 *rows, u64 count);
/* Items of these rows, in this order. */
void sort_list_items(const SortOrder *o, const u32 *rows, u64 count, SortItem *items);
void sort_make_items(const SortOrder *o, u32 first, u32 count, SortItem *items);
/* Merge sort; `room` has space for count items. The result is in items. */
void sort_items(const SortOrder *o, SortItem *items, SortItem *room, u64 count);
void sort_merge(const SortOrder *o, const SortItem *a, u64 a_count, const SortItem *b, u64 b_count, SortItem *to);
/* Bring the n smallest to the front, in any order. */
void sort_select(const SortOrder *o, SortItem *items, u64 count, u64 n);

/* How many of `total` sorted rows come, of which `end` are wanted: those that equal the last of these in all keys, too. */
u64 sort_ties_end(const SortOrder *o, const u32 *rows, u64 end, u64 total);

Source *topn_source(Exec *e, const PlanNode *n, u64 limit, u64 offset);

#endif
