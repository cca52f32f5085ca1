/*
 * catalog_oids.c
 *    The oids of keys, checks and defaults, which have none of their own: from the table's id and their number in it (catalog.h).
 */
#include "common/store/catalog.h"

const TableDef *
catalog_key_of_oid(const Root *root, u32 oid, u16 *ret_key, bool *ret_constraint)
{
    const TableDef *t = oid & 0x80000000u ? catalog_table(root, FIRST_TABLE_ID + (oid >> 8 & 0x7fffffu)) : NULL;
    for (u16 k = 0; t && k < t->key_count; k++)
        if (catalog_index_oid(t->table_id, &t->keys[k]) == (oid & ~1u)) {
            *ret_key = k;
            *ret_constraint = oid & 1;
            return t;
        }
    return NULL;
}

const CheckDef *
catalog_check_of_oid(const Root *root, u32 oid, const TableDef **ret_table)
{
    const TableDef *t = oid & 0x80000000u ? catalog_table(root, FIRST_TABLE_ID + (oid >> 8 & 0x7fffffu)) : NULL;
    *ret_table = t;
    for (u32 i = 0; t && i < t->check_count; i++)
        if (catalog_check_oid(t->table_id, &t->checks[i]) == oid)
            return &t->checks[i];
    return NULL;
}

u8
catalog_new_key_number(TableDef *def, const KeyDef *keys, const CheckDef *checks)
{
    if (def->next_key < MAX_KEY_NUMBER)
        return (u8)++def->next_key;
    bool used[MAX_KEY_NUMBER + 1] = {true};
    for (u32 i = 0; i < def->key_count; i++)
        used[keys[i].number] = true;
    for (u32 i = 0; i < def->check_count; i++)
        used[checks[i].number] = true;
    for (u8 number = 1; number <= MAX_KEY_NUMBER; number++)
        if (!used[number])
            return number;
    return 0;
}
