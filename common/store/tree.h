/*
 * tree.h
 *    Changing the two trees of a root by copying the path: tables by id, names by hash. The walwriter does it for the root it will publish
 *    (walwriter/catalog_write.c), a backend for a transaction's private one (own_root.c).
 */
#ifndef TREE_H
#define TREE_H

#include "common/store/shape.h"

/* A node that may be changed, with what is in `n` (NULL: an empty one): a copy, or n itself when the caller made it; NULL without memory. */
typedef TreeNode *(*TreeNodeOwn)(void *ctx, const TreeNode *n);

/* t NULL: out of the tree. false without memory: what was made so far is consistent. */
MUST_CHECK bool tree_set_table(Root *r, u32 table_id, const TableShm *t, TreeNodeOwn own, void *ctx);
/* The name is not there yet, or is the table's own. */
MUST_CHECK bool tree_set_name(Root *r, Str name, u32 table_id, TreeNodeOwn own, void *ctx);
/* The name is there. */
MUST_CHECK bool tree_remove_name(Root *r, Str name, TreeNodeOwn own, void *ctx);

#endif
