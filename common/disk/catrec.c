/*
 * catrec.c
 *    Encode and decode catalog records; the layout is in catrec.h.
 *
 * Decoding is a trust border like part_read: counts are bounded before memory is taken for them, padding must be zero,
 * nothing may be left over. What a definition means (name taken, owner, keys that repeat a column) is judged elsewhere,
 * except that column numbers, types and typmods are valid once it is read.
 */
#include "common/disk/catrec.h"

#include "common/disk/wal.h"
#include "common/type/interval.h"

enum { VERIFIER_KEPT = 0xffff, MAX_KEYS = 64, MAX_ACL_ITEMS = 65536 };

static bool
malformed(Error *err, const char *what)
{
    return error_set(err, ERR_PROTOCOL_VIOLATION, "malformed catalog record: %s", what);
}

static void
put_padded(ByteBuf *to, const void *data, size_t n)
{
    static const u8 ZEROS[8];
    buf_put(to, data, n);
    buf_put(to, ZEROS, ALIGN_UP(n, (size_t)8) - n);
}

static const u8 *
take_padded(ByteReader *r, size_t n)
{
    size_t padded = ALIGN_UP(n, (size_t)8);
    const u8 *p = reader_take(r, padded);
    for (size_t i = n; p && i < padded; i++)
        if (p[i])
            return NULL;
    return p;
}

static bool
take_name(ByteReader *r, u32 len, Str *ret)
{
    if (len < 1 || len > MAX_NAME_BYTES)
        return false;
    const u8 *p = take_padded(r, len);
    if (!p || !utf8_valid(p, len) || memchr(p, 0, len))
        return false;
    *ret = (Str){(const char *)p, len};
    return true;
}

/* An expression; len 0: none. */
static bool
take_text(ByteReader *r, u32 len, u32 max, Str *ret)
{
    *ret = (Str){0};
    if (len == 0)
        return true;
    const u8 *p = len <= max ? take_padded(r, len) : NULL;
    if (!p || !utf8_valid(p, len) || memchr(p, 0, len))
        return false;
    *ret = (Str){(const char *)p, len};
    return true;
}

/* ---- tables ---- */

static void
put_acl_items(ByteBuf *to, const AclItem *acl, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        buf_le32(to, acl[i].role_id);
        buf_le32(to, acl[i].bits);
        buf_le32(to, acl[i].grant_bits);
        buf_le32(to, acl[i].grantor_id);
        buf_le32(to, acl[i].column);
        buf_le32(to, 0);
    }
}

void
catrec_put_table(ByteBuf *to, const TableDef *t)
{
    buf_le32(to, t->table_id);
    buf_le32(to, t->schema_version);
    buf_le32(to, t->owner_id);
    buf_le16(to, t->column_count);
    buf_le16(to, t->key_count);
    buf_le32(to, t->acl_count);
    buf_le16(to, (u16)t->name.len);
    buf_le16(to, t->check_count);
    buf_le16(to, t->next_key);
    buf_le16(to, (u16)t->has_acl);
    buf_le32(to, t->acl_version);
    put_padded(to, t->name.ptr, t->name.len);
    for (u32 i = 0; i < t->column_count; i++) {
        const ColumnDef *c = &t->columns[i];
        buf_le32(to, type_oid((TypeId)c->type));
        buf_le32(to, (u32)c->typmod);
        buf_u8(to, c->not_null);
        buf_u8(to, 0);
        buf_le16(to, (u16)c->name.len);
        buf_le32(to, c->default_text.len);
        put_padded(to, c->name.ptr, c->name.len);
        put_padded(to, c->default_text.ptr, c->default_text.len);
    }
    for (u32 i = 0; i < t->key_count; i++) {
        const KeyDef *k = &t->keys[i];
        buf_u8(to, k->primary);
        buf_u8(to, k->number);
        buf_le16(to, k->column_count);
        buf_le16(to, (u16)k->name.len);
        buf_le16(to, 0);
        put_padded(to, k->columns, (size_t)k->column_count * 2);
        put_padded(to, k->name.ptr, k->name.len);
    }
    for (u32 i = 0; i < t->check_count; i++) {
        const CheckDef *c = &t->checks[i];
        buf_u8(to, c->not_valid);
        buf_u8(to, c->no_inherit);
        buf_le16(to, c->column_count);
        buf_le16(to, (u16)c->name.len);
        buf_le16(to, (u16)c->text.len);
        buf_u8(to, c->number);
        buf_put(to, "\0\0\0\0\0\0", 7);
        put_padded(to, c->columns, (size_t)c->column_count * 2);
        put_padded(to, c->name.ptr, c->name.len);
        put_padded(to, c->text.ptr, c->text.len);
    }
    put_acl_items(to, t->acl, t->acl_count);
}

static bool
typmod_is_valid(TypeId type, i32 typmod)
{
    if (typmod == -1)
        return true;
    type = type_element(type);
    if (type_has_length(type))
        return typmod > 4;
    if (type == TYPE_INTERVAL)
        return interval_typmod_valid(typmod);
    if (type_has_precision(type))
        return typmod >= 0 && typmod <= 6;
    if (type != TYPE_NUMERIC || typmod < 4)
        return false;
    u32 p = numeric_precision(typmod), s = numeric_scale(typmod);
    return p >= 1 && p <= NUM_MAX_DIGITS && s <= p;
}

static bool
read_column(ByteReader *r, ColumnDef *c)
{
    TypeId type = type_from_oid(reader_le32(r));
    i32 typmod = (i32)reader_le32(r);
    u8 not_null = reader_u8(r), zero = reader_u8(r);
    u32 name_len = reader_le16(r), default_len = reader_le32(r);
    memset(c, 0, sizeof *c);
    if (r->bad || type == TYPE_INVALID || !type_storable(type) || !typmod_is_valid(type, typmod) || not_null > 1 || zero ||
        !take_name(r, name_len, &c->name) || !take_text(r, default_len, MAX_DEFAULT_BYTES, &c->default_text))
        return false;
    c->type = (u16)type;
    c->typmod = typmod;
    c->not_null = not_null;
    c->phys = (u8)phys_of(type, typmod);
    c->scale = type == TYPE_NUMERIC && typmod != -1 ? (u8)numeric_scale(typmod) : 0;
    return true;
}

static bool
read_key(ByteReader *r, u32 column_count, KeyDef *k)
{
    memset(k, 0, sizeof *k);
    k->primary = reader_u8(r);
    k->number = reader_u8(r);
    k->column_count = reader_le16(r);
    u32 name_len = reader_le16(r), zeros = reader_le16(r);
    if (r->bad || k->primary > 1 || k->number > MAX_KEY_NUMBER || zeros || k->column_count < 1 || k->column_count > MAX_KEY_COLUMNS)
        return false;
    const u8 *columns = take_padded(r, (size_t)k->column_count * 2);
    if (!columns)
        return false;
    for (u32 i = 0; i < k->column_count; i++) {
        k->columns[i] = get_le16(columns + (size_t)i * 2);
        if (k->columns[i] >= column_count)
            return false;
        for (u32 j = 0; j < i; j++)
            if (k->columns[j] == k->columns[i])
                return false;
    }
    return take_name(r, name_len, &k->name);
}

static bool
read_check(Arena *a, ByteReader *r, u32 column_count, CheckDef *c)
{
    memset(c, 0, sizeof *c);
    c->not_valid = reader_u8(r);
    c->no_inherit = reader_u8(r);
    c->column_count = reader_le16(r);
    u32 name_len = reader_le16(r), text_len = reader_le16(r);
    c->number = reader_u8(r);
    bool zero = reader_u8(r) == 0 && reader_le16(r) == 0 && reader_le32(r) == 0;
    if (r->bad || !zero || c->number > MAX_KEY_NUMBER || c->not_valid > 1 || c->no_inherit > 1 || c->column_count > column_count || text_len == 0)
        return false;
    const u8 *bytes = take_padded(r, (size_t)c->column_count * 2);
    u16 *columns = bytes ? ARENA_ARRAY(a, u16, MAX(c->column_count, 1u)) : NULL;
    if (!columns)
        return false;
    for (u32 i = 0; i < c->column_count; i++) {
        columns[i] = get_le16(bytes + (size_t)i * 2);
        if (columns[i] >= column_count || (i && columns[i] <= columns[i - 1]))
            return false;
    }
    c->columns = columns;
    return take_name(r, name_len, &c->name) && take_text(r, text_len, MAX_CHECK_BYTES, &c->text);
}

/* In the order of their names, which differ. */
static bool
read_checks(Arena *a, ByteReader *r, TableDef *t)
{
    CheckDef *checks = ARENA_ARRAY(a, CheckDef, MAX(t->check_count, 1u));
    for (u32 i = 0; checks && i < t->check_count; i++)
        if (!read_check(a, r, t->column_count, &checks[i]) || (i && str_cmp(checks[i - 1].name, checks[i].name) >= 0))
            return false;
    t->checks = checks;
    return checks != NULL;
}

enum { ACL_ITEM_BYTES = 24, ALL_RIGHTS = 2 * ACL_CONNECT - 1 };

static const AclItem *
read_acl_items(Arena *a, ByteReader *r, u32 count)
{
    const u8 *bytes = count <= MAX_ACL_ITEMS ? reader_take(r, (size_t)count * ACL_ITEM_BYTES) : NULL;
    AclItem *acl = bytes ? ARENA_ARRAY(a, AclItem, count) : NULL;
    for (u32 i = 0; acl && i < count; i++) {
        const u8 *p = bytes + (size_t)i * ACL_ITEM_BYTES;
        acl[i] = (AclItem){get_le32(p), get_le32(p + 4), get_le32(p + 8), get_le32(p + 12), get_le32(p + 16), 0};
        if (get_le32(p + 20) || acl[i].column > MAX_COLUMNS || ((acl[i].bits | acl[i].grant_bits) & ~(u32)ALL_RIGHTS))
            return NULL;
    }
    return acl;
}

static bool
read_columns(Arena *a, ByteReader *r, TableDef *t)
{
    ColumnDef *columns = ARENA_ARRAY(a, ColumnDef, t->column_count);
    for (u32 i = 0; columns && i < t->column_count; i++) {
        if (!read_column(r, &columns[i]))
            return false;
        for (u32 j = 0; j < i; j++)
            if (str_eq(columns[j].name, columns[i].name))
                return false;
    }
    t->columns = columns;
    return columns != NULL;
}

bool
catrec_read_table(Arena *a, const u8 *data, u32 len, TableDef *ret, Error *err)
{
    ByteReader r = reader_of(data, len);
    TableDef t = {.table_id = reader_le32(&r)};
    t.schema_version = reader_le32(&r);
    t.owner_id = reader_le32(&r);
    t.column_count = reader_le16(&r);
    t.key_count = reader_le16(&r);
    t.acl_count = reader_le32(&r);
    u32 name_len = reader_le16(&r);
    t.check_count = reader_le16(&r);
    t.next_key = reader_le16(&r);
    t.has_acl = reader_le16(&r);
    t.acl_version = reader_le32(&r);
    if (r.bad || t.has_acl > 1 || t.next_key > MAX_KEY_NUMBER || t.column_count > MAX_COLUMNS || t.key_count > MAX_KEYS || t.check_count > MAX_CHECKS ||
        !take_name(&r, name_len, &t.name))
        return malformed(err, "table");
    if (!read_columns(a, &r, &t))
        return malformed(err, "columns");
    KeyDef *keys = ARENA_ARRAY(a, KeyDef, t.key_count);
    u32 primary_count = 0;
    for (u32 i = 0; keys && i < t.key_count; i++) {
        if (!read_key(&r, t.column_count, &keys[i]))
            return malformed(err, "key");
        primary_count += keys[i].primary;
    }
    t.keys = keys;
    if (!read_checks(a, &r, &t))
        return malformed(err, "check");
    t.acl = read_acl_items(a, &r, t.acl_count);
    if (!keys || !t.acl || primary_count > 1 || !reader_done(&r))
        return malformed(err, "end of table");
    *ret = t;
    return true;
}

/* ---- roles, ids, rights ---- */

void
catrec_put_role(ByteBuf *to, const RoleDef *role, const char *verifier)
{
    buf_le32(to, role->role_id);
    buf_u8(to, role->superuser);
    buf_u8(to, role->can_login);
    buf_u8(to, role->create_role);
    buf_u8(to, role->create_db);
    buf_u8(to, role->inherit);
    buf_u8(to, role->replication);
    buf_u8(to, role->bypass_rls);
    buf_u8(to, role->has_valid_until);
    buf_le32(to, (u32)role->connection_limit);
    buf_le16(to, (u16)role->name.len);
    size_t verifier_len = verifier ? strlen(verifier) : 0;
    buf_le16(to, verifier ? (u16)verifier_len : VERIFIER_KEPT);
    buf_le32(to, role->config.len);
    buf_le64(to, (u64)role->valid_until);
    put_padded(to, role->name.ptr, role->name.len);
    put_padded(to, verifier ? verifier : "", verifier_len);
    put_padded(to, role->config.ptr, role->config.len);
}

static bool
take_config(ByteReader *r, u32 len, Str *ret)
{
    if (len == 0)
        return true;
    const u8 *p = len <= ROLE_CONFIG_MAX ? take_padded(r, len) : NULL;
    if (!p || !utf8_valid(p, len) || memchr(p, 0, len) || p[len - 1] != '\n')
        return false;
    *ret = (Str){(const char *)p, len};
    return true;
}

bool
catrec_read_role(const u8 *data, u32 len, RoleDef *ret, char ret_verifier[CATREC_VERIFIER_MAX], bool *ret_keep, Error *err)
{
    ByteReader r = reader_of(data, len);
    RoleDef role = {.role_id = reader_le32(&r)};
    const u8 *flags = reader_take(&r, 8);
    role.connection_limit = (i32)reader_le32(&r);
    u32 name_len = reader_le16(&r), verifier_len = reader_le16(&r), config_len = reader_le32(&r);
    role.valid_until = (i64)reader_le64(&r);
    if (r.bad || role.connection_limit < -1)
        return malformed(err, "role");
    for (int i = 0; i < 8; i++)
        if (flags[i] > 1)
            return malformed(err, "role");
    role.superuser = flags[0];
    role.can_login = flags[1];
    role.create_role = flags[2];
    role.create_db = flags[3];
    role.inherit = flags[4];
    role.replication = flags[5];
    role.bypass_rls = flags[6];
    role.has_valid_until = flags[7];
    bool keep = verifier_len == VERIFIER_KEPT;
    if (keep)
        verifier_len = 0;
    if (verifier_len >= CATREC_VERIFIER_MAX || !take_name(&r, name_len, &role.name))
        return malformed(err, "role name");
    const u8 *verifier = take_padded(&r, verifier_len);
    if (!verifier || (verifier_len && memchr(verifier, 0, verifier_len)))
        return malformed(err, "verifier");
    if (!take_config(&r, config_len, &role.config) || !reader_done(&r))
        return malformed(err, "role settings");
    memcpy(ret_verifier, verifier, verifier_len);
    ret_verifier[verifier_len] = 0;
    *ret_keep = keep;
    *ret = role;
    return true;
}

void
catrec_put_id(ByteBuf *to, u32 id)
{
    buf_le32(to, id);
    buf_le32(to, 0);
}

bool
catrec_read_id(const u8 *data, u32 len, u32 *ret, Error *err)
{
    if (len != 8 || get_le32(data + 4) != 0)
        return malformed(err, "id");
    *ret = get_le32(data);
    return true;
}

void
catrec_put_member(ByteBuf *to, const RoleMember *m, bool revoked)
{
    buf_le32(to, m->role_id);
    buf_le32(to, m->member_id);
    buf_le32(to, m->grantor_id);
    buf_le32(to, revoked ? 0 : m->admin ? 3 : 1);
}

bool
catrec_read_member(const u8 *data, u32 len, RoleMember *ret, bool *ret_revoked, Error *err)
{
    ByteReader r = reader_of(data, len);
    RoleMember m = {.role_id = reader_le32(&r), .member_id = reader_le32(&r), .grantor_id = reader_le32(&r)};
    u32 options = reader_le32(&r);
    if (!reader_done(&r) || (options != 0 && options != 1 && options != 3))
        return malformed(err, "membership");
    m.admin = options == 3;
    *ret = m;
    *ret_revoked = options == 0;
    return true;
}

void
catrec_put_acl(ByteBuf *to, const TableDef *t)
{
    buf_le32(to, t->table_id);
    buf_le32(to, t->acl_count);
    buf_le32(to, t->acl_version);
    buf_le32(to, t->has_acl);
    put_acl_items(to, t->acl, t->acl_count);
}

bool
catrec_read_acl(Arena *a, const u8 *data, u32 len, TableDef *ret, Error *err)
{
    ByteReader r = reader_of(data, len);
    TableDef t = {.table_id = reader_le32(&r), .acl_count = reader_le32(&r), .acl_version = reader_le32(&r), .has_acl = reader_le32(&r)};
    t.acl = r.bad || t.has_acl > 1 ? NULL : read_acl_items(a, &r, t.acl_count);
    if (!t.acl || !reader_done(&r))
        return malformed(err, "rights");
    *ret = t;
    return true;
}

void
catrec_put_rights(ByteBuf *to, const RightsDef *d, bool gone)
{
    buf_le32(to, d->kind);
    buf_le32(to, d->role_id);
    buf_le32(to, d->schema_id);
    buf_le32(to, d->version);
    buf_le32(to, d->acl_count);
    buf_le32(to, gone);
    put_acl_items(to, d->acl, d->acl_count);
}

bool
catrec_read_rights(Arena *a, const u8 *data, u32 len, RightsDef *ret, bool *ret_gone, Error *err)
{
    ByteReader r = reader_of(data, len);
    RightsDef d = {.kind = reader_le32(&r), .role_id = reader_le32(&r), .schema_id = reader_le32(&r), .version = reader_le32(&r),
                   .acl_count = reader_le32(&r)};
    u32 gone = reader_le32(&r);
    bool schema = d.kind == RIGHTS_DATABASE ? d.schema_id == 0
                                            : d.schema_id == SCHEMA_PUBLIC || (d.kind >= RIGHTS_DEFAULT_TABLES && d.schema_id == 0);
    d.acl = r.bad || gone > 1 || !schema || d.kind < 1 || d.kind >= RIGHTS_KINDS ? NULL : read_acl_items(a, &r, d.acl_count);
    if (!d.acl || !reader_done(&r))
        return malformed(err, "rights");
    for (u32 i = 0; i < d.acl_count; i++)
        if (d.acl[i].column)
            return malformed(err, "rights");
    *ret = d;
    *ret_gone = gone;
    return true;
}

bool
catrec_is_of_roles(u16 kind)
{
    return kind == WAL_CREATE_ROLE || kind == WAL_ALTER_ROLE || kind == WAL_DROP_ROLE || kind == WAL_GRANT_ROLE || kind == WAL_SET_RIGHTS;
}

bool
catrec_read_change(Arena *a, u16 kind, const u8 *data, u32 len, RoleChange *ret, char ret_verifier[CATREC_VERIFIER_MAX], bool *ret_keep, Error *err)
{
    RoleChange c = {0};
    bool ok;
    ret_verifier[0] = 0;
    *ret_keep = true;
    switch (kind) {
    case WAL_CREATE_ROLE:
    case WAL_ALTER_ROLE:
        c.kind = ROLE_CHANGE_PUT;
        ok = catrec_read_role(data, len, &c.role, ret_verifier, ret_keep, err);
        c.role.has_password = ret_verifier[0] != 0;
        c.keeps_password = *ret_keep;
        break;
    case WAL_DROP_ROLE:
        c.kind = ROLE_CHANGE_DROP;
        ok = catrec_read_id(data, len, &c.role_id, err);
        break;
    case WAL_GRANT_ROLE:
        c.kind = ROLE_CHANGE_MEMBER;
        ok = catrec_read_member(data, len, &c.member, &c.gone, err);
        break;
    case WAL_SET_RIGHTS:
        c.kind = ROLE_CHANGE_RIGHTS;
        ok = catrec_read_rights(a, data, len, &c.rights, &c.gone, err);
        break;
    default:
        return malformed(err, "kind");
    }
    if (ok)
        *ret = c;
    return ok;
}
