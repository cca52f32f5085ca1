/*
 * catrec.h
 *    Catalog records of the log: tables, roles, rights. Little-endian, every piece padded to 8 bytes with zeros.
 *
 * CREATE_TABLE, ALTER_TABLE, REBUILD_TABLE:
 *   0 u32 table id (0 in a request: the walwriter gives it)   4 u32 schema version   8 u32 owner
 *   12 u16 columns   14 u16 keys   16 u32 acl items   20 u16 name length   22 u16 checks   24 u16 keys and checks numbered so far   26 u16 has rights of its own
 *   28 u32 version of the rights   32 name
 *   each column: u32 type OID, i32 typmod, u8 not null, u8 0, u16 name length, u32 length of the DEFAULT, name, DEFAULT
 *   each key:    u8 primary, u8 number, u16 column count, u16 name length, u16 0, u16 columns, name
 *   each check:  u8 not valid, u8 no inherit, u16 column count, u16 name length, u16 expression length, u8 number, 7 x 0, u16 columns, name,
 *                expression
 *   each acl item: u32 role, u32 bits, u32 grant bits, u32 grantor, u32 column, u32 0
 * CREATE_ROLE, ALTER_ROLE:
 *   0 u32 role id (0 in a request)   4 u8 superuser, can login, create role, create db, inherit, replication, bypass rls, has valid until
 *   12 i32 connection limit   16 u16 name length   18 u16 verifier length, 0xffff = unchanged   20 u32 length of the settings
 *   24 i64 valid until   32 name, verifier, settings
 * GRANT_ROLE: 0 u32 role   4 u32 member   8 u32 grantor   12 u32 0 revoked, 1 member, 3 with admin option
 * SET_ACL: 0 u32 table id   4 u32 n   8 u32 version of the rights, which it makes   12 u32 has rights of its own   then n acl items
 * SET_RIGHTS: 0 u32 kind   4 u32 role   8 u32 schema   12 u32 version   16 u32 n   20 u32 1 = as nobody had changed them   then n acl items
 * DROP_TABLE, TRUNCATE, DROP_ROLE: u32 id, u32 0
 * Text points into the bytes decoded; names are checked to be UTF-8 of 1 to 63 bytes without NUL.
 */
#ifndef CATREC_H
#define CATREC_H

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/store/catalog.h"

void catrec_put_table(ByteBuf *to, const TableDef *t);
/* Arrays are taken from the arena, text points into data. */
MUST_CHECK bool catrec_read_table(Arena *a, const u8 *data, u32 len, TableDef *ret, Error *err);
/* In place: the id the walwriter gave, at offset 0 of either kind of definition. */
static inline void catrec_set_id(u8 *data, u32 id) { put_le32(data, id); }

/* verifier NULL: unchanged. At most 255 bytes. */
void catrec_put_role(ByteBuf *to, const RoleDef *r, const char *verifier);
enum { CATREC_VERIFIER_MAX = 256 };
/* *ret_keep: the verifier is unchanged (and ret_verifier empty). */
MUST_CHECK bool catrec_read_role(const u8 *data, u32 len, RoleDef *ret, char ret_verifier[CATREC_VERIFIER_MAX], bool *ret_keep, Error *err);

void catrec_put_id(ByteBuf *to, u32 id);
MUST_CHECK bool catrec_read_id(const u8 *data, u32 len, u32 *ret, Error *err);

void catrec_put_member(ByteBuf *to, const RoleMember *m, bool revoked);
MUST_CHECK bool catrec_read_member(const u8 *data, u32 len, RoleMember *ret, bool *ret_revoked, Error *err);

/* The rights of t and their version; nothing else of it. */
void catrec_put_acl(ByteBuf *to, const TableDef *t);
/* The same fields of *ret. Items are copied into the arena. */
MUST_CHECK bool catrec_read_acl(Arena *a, const u8 *data, u32 len, TableDef *ret, Error *err);

void catrec_put_rights(ByteBuf *to, const RightsDef *r, bool gone);
MUST_CHECK bool catrec_read_rights(Arena *a, const u8 *data, u32 len, RightsDef *ret, bool *ret_gone, Error *err);

/* Any of the records about roles and the rights on what is no table, as what it does to the lists; text points into data. ret_verifier and *ret_keep
 * as catrec_read_role has them. */
bool catrec_is_of_roles(u16 kind);
MUST_CHECK bool catrec_read_change(Arena *a, u16 kind, const u8 *data, u32 len, RoleChange *ret, char ret_verifier[CATREC_VERIFIER_MAX], bool *ret_keep,
                                   Error *err);

#endif
