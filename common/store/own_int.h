/*
 * own_int.h
 *    The inside of Own, for own.c (what was noted) and own_root.c (the root that shows it).
 */
#ifndef OWN_INT_H
#define OWN_INT_H

#include "common/store/own.h"
#include "common/store/own_table.h"

typedef enum OwnKind { OWN_PART = 1, OWN_CREATE, OWN_DROP, OWN_TRUNCATE, OWN_REBUILD, OWN_ALTER } OwnKind;

/* Old rows of a part, those with consecutive ids together. */
typedef struct OwnRun {
    RowId first;
    u32 count;
} OwnRun;

typedef struct OwnChange {
    u32 ordinal, table_id;
    OwnKind kind;
    bool accepted;
    u32 rows, first_rows;       /* new rows; of them at row[0] */
    u64 row[2];
    const SlotDirShm *staged;
    u32 first_run, run_count, old_count;
    const TableShm *hidden;     /* CREATE, TRUNCATE, REBUILD */
    TableOwn *before;           /* TRUNCATE, REBUILD, once shown: the table's state until then */
    const TableShm *hidden_before;
    TableDef *def;              /* ALTER */
    TableDef *def_before;       /* TRUNCATE, REBUILD, ALTER, once shown */
} OwnChange;

/* A change of the lists of roles.h; all are kept to the end. */
typedef struct OwnRole {
    u32 ordinal;
    RoleChange change;
} OwnRole;

/* A table that the transaction changed. */
typedef struct OwnTable {
    u32 table_id;
    bool dropped, stale;        /* stale: not as the root shows it */
    const TableShm *hidden;     /* made by the transaction, or what its TRUNCATE left */
    TableDef *def;              /* what ALTER or GRANT made of it; NULL: as in the table */
    bool unnamed;               /* its old name is out of the root, the new one not yet in */
    TableOwn *own;
    TableShm view;              /* what the root shows, when it does */
} OwnTable;

struct Own {
    Arena *arena;               /* of the transaction */
    OwnChange *changes;         /* in the order of ordinals */
    u32 change_count, change_capacity;
    u32 shown_count;            /* those that own_root has shown; the rest is newer */
    u64 dropped_count;          /* shown before these, no longer listed: no savepoint asks for them */
    OwnRun *runs;
    u32 run_count, run_capacity;
    OwnTable **tables;
    u32 table_count, table_capacity;
    u32 *slots;                 /* by hash of the table id: index + 1 */
    u32 slot_capacity;
    OwnRole *roles;             /* in the order of ordinals */
    u32 role_count, role_capacity;
    u32 catalog_changes;        /* shown and not taken back: all but TRUNCATE */
    /* the private root */
    Arena *root_arena;
    Root root;
    Snapshot base;              /* what it was made from; root NULL: it must be made anew */
    u64 base_catalog_version;
    bool catalog_moved;         /* since catalog_version was given */
    u64 serial;                 /* of private catalog versions; grows as long as the session lives */
};

/* Everything noted into the states of the tables; savepoint as for own_root. */
MUST_CHECK bool own_show_noted(Own *o, const Root *published, bool savepoint, Error *err);
OwnTable *own_table_find(const Own *o, u32 table_id);
/* The table as it is without the transaction's rows: the world's, or the one it made; NULL: not there. */
const TableShm *own_table_base(const OwnTable *t, const Root *published);

#endif
