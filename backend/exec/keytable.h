/*
 * keytable.h
 *    A hash table from keys of one or more columns to dense numbers 0, 1, 2, …: groups, distinct values, the build side of a join.
 *
 * Keys are compared exactly: NULLs equal each other, numbers by value whatever their scale, -0 = 0, NaN = NaN, text by bytes, intervals by their length; the one
 * that came first is kept. Columns come as
 * KeyVec, one form a class: KEY_INT i64, KEY_FLOAT double, KEY_NUM Num, KEY_TEXT Str, KEY_PAIR Pair, KEY_INTERVAL Interval.
 */
#ifndef KEYTABLE_H
#define KEYTABLE_H

#include "backend/exec/run.h"

typedef struct KeyVec {
    KeyClass class;
    const void *data;
    const u8 *nulls; /* NULL: none */
} KeyVec;

/* Makes KeyVecs of one thread's batches. */
typedef struct KeyForm {
    KeyClass class;
    VecBuf flat, text;
    void *wide;
} KeyForm;
void key_form(KeyForm *f, Worker *w, Vec *v, u32 count, KeyVec *ret);
void key_hash(const KeyVec *keys, u32 key_count, u32 count, u64 *hashes);

typedef struct KeyColumn {
    KeyClass class;
    bool copy_text; /* text is the batch's: copy it */
    void *data;
    u8 *nulls;      /* NULL until the first NULL */
} KeyColumn;

typedef struct KeyTable {
    Worker *worker;
    u32 key_count, count, capacity;
    KeyColumn *columns;
    u64 *hashes;    /* one a key */
    u64 *slots;     /* high half of the hash, number + 1; 0 = empty */
    u32 slot_count; /* a power of two */
} KeyTable;

void keytable_init(KeyTable *t, Worker *w, u32 key_count, const KeyClass *classes, const bool *copy_text);
/* numbers[i] for every row; new keys get the next number. hashes from key_hash. */
void keytable_add(KeyTable *t, const KeyVec *keys, const u64 *hashes, u32 count, u32 *numbers);
/* UINT32_MAX where there is none, or where a key is NULL. */
void keytable_find(const KeyTable *t, const KeyVec *keys, const u64 *hashes, u32 count, u32 *numbers);
/* Keys first … as a KeyVec of a column. */
KeyVec keytable_keys(const KeyTable *t, u32 column, u32 first);
void keytable_free(KeyTable *t);
u32 key_class_width(KeyClass c);
/* KeyVec values back to a vector of the column's physical form, in buf. */
void key_to_vec(Arena *a, const KeyVec *k, u32 count, PhysType phys, u8 scale, VecBuf *buf, Vec *ret);

#endif
