/*
 * catalog.h
 *    What the binder needs of the catalog: tables, columns, keys, roles. Lives in the world, immutable once published.
 *
 * The same structs describe a table in private memory (a CREATE TABLE on its way): pointers then point into an arena.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include "common/type/type.h"

enum { MAX_COLUMNS = 1600, MAX_KEY_COLUMNS = 32, MAX_NAME_BYTES = 63 };

typedef struct ColumnDef {
    Str name;
    u16 type; /* TypeId */
    u8 phys;  /* PhysType */
    u8 scale; /* of PHYS_D64, PHYS_D128 */
    i32 typmod;
    u8 not_null;
    u8 pad[7];
    Str default_text; /* an expression in SQL; len 0: none */
} ColumnDef;
enum { MAX_DEFAULT_BYTES = 8192 };

typedef struct KeyDef {
    Str name; /* the constraint's */
    u8 primary;
    u8 number; /* within the table, for its oid: catalog_new_key_number() */
    u16 column_count;
    u16 columns[MAX_KEY_COLUMNS];
} KeyDef;

/* CHECK: a row for which it is false is refused. They stand in the order of their names, in which they are looked at. */
typedef struct CheckDef {
    Str name;
    Str text;           /* a boolean expression over the table's columns, as pg_get_constraintdef shows it */
    const u16 *columns; /* those in it, ascending */
    u16 column_count;
    u8 not_valid;       /* rows from before it may break it */
    u8 no_inherit;
    u8 number;          /* as KeyDef.number */
    u8 pad[3];
} CheckDef;
enum { MAX_CHECK_BYTES = 8192, MAX_CHECKS = 1024 };

/* Rights of a role on an object: bits of AclBit. role_id 0 = PUBLIC. column: the attribute number of a right on one column, 0 on the whole object. */
typedef enum AclBit {
    ACL_SELECT = 1, ACL_INSERT = 2, ACL_UPDATE = 4, ACL_DELETE = 8, ACL_TRUNCATE = 16, ACL_REFERENCES = 32, ACL_TRIGGER = 64,
    ACL_EXECUTE = 128, ACL_USAGE = 256, ACL_CREATE = 512, ACL_TEMP = 1024, ACL_CONNECT = 2048,
    ACL_ALL_TABLE = 127, ACL_ALL_COLUMN = ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_REFERENCES,
    ACL_ALL_SEQUENCE = ACL_USAGE | ACL_SELECT | ACL_UPDATE, ACL_ALL_SCHEMA = ACL_USAGE | ACL_CREATE,
    ACL_ALL_DATABASE = ACL_CREATE | ACL_TEMP | ACL_CONNECT,
} AclBit;
typedef struct AclItem { u32 role_id, bits, grant_bits, grantor_id, column, pad; } AclItem;

typedef struct TableDef {
    u32 table_id; /* also the OID shown to clients; from 16384, never reused */
    u32 schema_version;
    u32 owner_id;
    u16 column_count, key_count;
    Str name;
    const ColumnDef *columns;
    const KeyDef *keys;
    const AclItem *acl;
    const CheckDef *checks;
    u32 acl_count;
    u16 check_count, next_key; /* the number of the last key or check; numbers are never reused as long as there are others */
    u32 acl_version; /* grows with every change of the rights: who changes them says which ones he saw */
    u32 has_acl;     /* rights were given or taken: what is not in acl (column 0) is not there, the owner's own included */
} TableDef;
enum { MAX_KEY_NUMBER = 127 }; /* constraints beyond so many share an oid */

typedef struct RoleDef {
    u32 role_id; /* the root role is 10; never reused */
    u8 superuser, can_login, create_role, create_db, inherit, replication, bypass_rls, has_valid_until;
    u8 has_password, pad[3]; /* has_password: as the walwriter found when it took the role's verifier; nobody's record says it */
    i32 connection_limit; /* -1 none */
    i64 valid_until;      /* a timestamptz */
    Str name;
    Str config;           /* ALTER ROLE … SET: name=value, each ended by a line feed (in values: \n) */
} RoleDef;
enum { ROLE_ROOT = 10, FIRST_TABLE_ID = 16384, ROLE_CONFIG_MAX = 4096 };

/* member_id is in role_id. */
typedef struct RoleMember { u32 role_id, member_id, grantor_id, admin; } RoleMember;

/* Rights on what is no table. DEFAULT: those that tables get that the role makes (schema 0: anywhere). */
typedef enum RightsKind { RIGHTS_DATABASE = 1, RIGHTS_SCHEMA, RIGHTS_DEFAULT_TABLES, RIGHTS_DEFAULT_SEQUENCES, RIGHTS_KINDS } RightsKind;
typedef struct RightsDef {
    u32 kind, role_id; /* RightsKind; DEFAULT: whose tables, else the owner */
    u32 schema_id;     /* SCHEMA, DEFAULT */
    u32 version, acl_count, pad;
    const AclItem *acl;
} RightsDef;
enum { SCHEMA_PUBLIC = 2200 };

/* One change of these lists (roles.h). */
typedef enum RoleChangeKind { ROLE_CHANGE_PUT = 1, ROLE_CHANGE_DROP, ROLE_CHANGE_MEMBER, ROLE_CHANGE_RIGHTS } RoleChangeKind;
typedef struct RoleChange {
    RoleChangeKind kind;
    RoleDef role;      /* PUT: replaces the one of the same id; */
    bool keeps_password;  /* and has a password if that one had */
    u32 role_id;       /* DROP: its memberships go with it */
    RoleMember member; /* MEMBER: replaces the one of the same two; */
    bool gone;         /* it, or RIGHTS, are taken away */
    RightsDef rights;  /* RIGHTS: replaces those of the same object */
} RoleChange;

typedef struct Root Root;

/* NULL when there is none. */
const TableDef *catalog_find_table(const Root *root, Str name);
const TableDef *catalog_table(const Root *root, u32 table_id);
const RoleDef *catalog_find_role(const Root *root, Str name);
const RoleDef *catalog_role(const Root *root, u32 role_id);
/* Oids of what belongs to a table: 256 from 2^31 on for each table, two a key by its number, and as many as it may have columns from 2^30 on for their
 * defaults. Unique among the first 8 million tables ever made, of defaults among 670,000. */
static inline u32 catalog_index_oid(u32 table_id, const KeyDef *k) { return 0x80000000u | ((table_id - FIRST_TABLE_ID) << 8 & 0x7fffffffu) | (u32)k->number << 1; }
static inline u32 catalog_constraint_oid(u32 table_id, const KeyDef *k) { return catalog_index_oid(table_id, k) + 1; }
static inline u32 catalog_check_oid(u32 table_id, const CheckDef *c) { return catalog_constraint_oid(table_id, &(KeyDef){.number = c->number}); }
static inline u32 catalog_default_oid(u32 table_id, u16 column) { return 0x40000000u + ((table_id - FIRST_TABLE_ID) * MAX_COLUMNS + column) % 0x40000000u; }
/* Which table, and which of its keys, an oid of an index or a constraint means; NULL: there is none such. */
const TableDef *catalog_key_of_oid(const Root *root, u32 oid, u16 *ret_key, bool *ret_constraint);
/* The check of a table that an oid of pg_constraint means; NULL: there is none such. */
const CheckDef *catalog_check_of_oid(const Root *root, u32 oid, const TableDef **ret_table);
/* A number for a key or a check that is added to the definition, whose keys and checks are these. 0: none is free. */
u8 catalog_new_key_number(TableDef *def, const KeyDef *keys, const CheckDef *checks);
/* Grows with every catalog change; plans carry it. */
u64 catalog_version(const Root *root);
/* Calls visit for every table in name order until it returns false. */
void catalog_each_table(const Root *root, bool (*visit)(void *ctx, const TableDef *t), void *ctx);
/* All of these rights on the whole table (rights.h). */
bool catalog_allows(const Root *root, const TableDef *t, u32 role_id, u32 acl_bits);

#endif
