/*
 * key.h
 *    Hashing and comparing keys in their physical form: one rule for values, parts and stored rows.
 *
 * Equal values hash alike whatever their form: integers by value, -0 as 0, every NaN as one, numerics without (p,s) by number, text by its bytes.
 */
#ifndef KEY_H
#define KEY_H

#include "common/store/index.h"

/* Hash of one element (text: a Str). */
u64 key_hash_element(PhysType p, const void *element);
bool key_elements_equal(PhysType p, const void *a, const void *b);
static inline u64 key_hash_first(void) { return 0x51ed270b76a4d3e5ull; }
u64 key_hash_add(u64 h, u64 column_hash);
/* Hash of a stored row; false when a key column is NULL. */
bool key_hash_stored(const BlockShm *b, const KeyDef *k, u32 offset, u64 *ret_hash);
/* Whether the stored row has these elements (Str for text); NULL is equal to nothing. */
bool key_stored_equal(const BlockShm *b, const KeyDef *k, u32 offset, const void *const *elements);

#endif
