/*
 * bind_alter.c
 *    ALTER TABLE: the new definition, made from the old one by each action, and the query that gives the new rows when they cannot stay as they are.
 *
 * Actions are done in PostgreSQL's order: what goes, then other types, new columns, what is said of columns, keys, at last defaults. Names and defaults leave
 * the rows as they are. Everything else writes them anew: a column that may be NULL is stored otherwise than one that may not.
 */
#include "backend/sql/deparse.h"
#include "backend/sql/new_table.h"

#include "common/store/rights.h"

typedef struct Alter {
    Binder *b;
    BStmt *to;
    const Stmt *stmt;
    const TableDef *old;
    NewTable n;
    i32 *from;       /* of each column, the old one; -1: it is new */
    const AAlter **typed; /* of each old column, what gives it another type; NULL: nothing */
    u32 old_keys;    /* keys that were there before */
    bool changed, rebuilt, renamed; /* renamed: a column */
    u32 verify_count;
    Str *verify;     /* checks that the rows that are there must obey, in the order of the actions */
} Alter;

/* ---- columns ---- */

static bool
is_system_column(Str name)
{
    static const char *const system[] = {"ctid", "xmin", "cmin", "xmax", "cmax", "tableoid"};
    for (u32 i = 0; i < COUNT_OF(system); i++)
        if (str_eq(name, str_of(system[i])))
            return true;
    return false;
}

/* -1: none. */
static i32
find_column(const Alter *a, Str name)
{
    for (u32 i = 0; i < a->n.def->column_count; i++)
        if (str_eq(a->n.columns[i].name, name))
            return (i32)i;
    return -1;
}

static NORETURN void
no_column(const Alter *a, Str name)
{
    Str table = a->n.def->name;
    err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" of relation \"%.*s\" does not exist", (int)name.len, name.ptr, (int)table.len, table.ptr);
}

static u32
need_column(const Alter *a, Str name)
{
    if (is_system_column(name))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot alter system column \"%.*s\"", (int)name.len, name.ptr);
    i32 column = find_column(a, name);
    if (column < 0)
        no_column(a, name);
    return (u32)column;
}

static NORETURN void
column_exists(const Alter *a, Str name)
{
    Str table = a->n.def->name;
    err_throw(ERR_DUPLICATE_COLUMN, "column \"%.*s\" of relation \"%.*s\" already exists", (int)name.len, name.ptr, (int)table.len, table.ptr);
}

static void
add_column(Alter *a, const AAlter *x)
{
    NewTable *n = &a->n;
    Str table = n->def->name;
    if (find_column(a, x->name) >= 0) {
        if (!x->if_exists)
            column_exists(a, x->name);
        bind_notice(a->b, ERR_DUPLICATE_COLUMN, "column \"%.*s\" of relation \"%.*s\" already exists, skipping", (int)x->name.len, x->name.ptr, (int)table.len, table.ptr);
        return;
    }
    new_table_check_name(x->name);
    if (n->def->column_count == MAX_COLUMNS)
        err_throw(ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", MAX_COLUMNS);
    u32 at = n->def->column_count++;
    n->null_given[at] = false;
    new_table_column(n, x->column, at);
    a->from[at] = -1;
    a->rebuilt = true;
}

static void
drop_check(Alter *a, u32 check)
{
    memmove(a->n.checks + check, a->n.checks + check + 1, (a->n.def->check_count - check - 1u) * sizeof *a->n.checks);
    a->n.def->check_count--;
    a->n.old_checks--;
    a->changed = true;
}

/* Checks with the column go; the others know it by number. */
static void
drop_from_checks(Alter *a, u32 column)
{
    for (u32 c = a->n.def->check_count; c-- > 0;) {
        CheckDef *check = &a->n.checks[c];
        u16 *numbers = ARENA_ARRAY(a->b->arena, u16, check->column_count);
        bool has = false;
        for (u32 i = 0; i < check->column_count; i++) {
            has |= check->columns[i] == column;
            numbers[i] = (u16)(check->columns[i] - (check->columns[i] > column));
        }
        check->columns = numbers;
        if (has)
            drop_check(a, c);
    }
}

static void
drop_key(Alter *a, u32 key)
{
    memmove(a->n.keys + key, a->n.keys + key + 1, (a->n.def->key_count - key - 1) * sizeof *a->n.keys);
    a->n.def->key_count--;
    a->old_keys--;
    a->rebuilt = true;
}

/* Its keys and checks go with it; the others know it by number. */
static void
drop_column(Alter *a, const AAlter *x)
{
    TableDef *def = a->n.def;
    if (is_system_column(x->name))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot drop system column \"%.*s\"", (int)x->name.len, x->name.ptr);
    i32 found = find_column(a, x->name);
    if (found < 0) {
        if (!x->if_exists)
            no_column(a, x->name);
        bind_notice(a->b, ERR_NONE, "column \"%.*s\" of relation \"%.*s\" does not exist, skipping", (int)x->name.len, x->name.ptr, (int)def->name.len, def->name.ptr);
        return;
    }
    u32 column = (u32)found;
    for (u32 k = def->key_count; k-- > 0;) {
        bool has = false;
        for (u32 i = 0; i < a->n.keys[k].column_count; i++)
            has |= a->n.keys[k].columns[i] == column;
        if (has)
            drop_key(a, k);
    }
    for (u32 k = 0; k < def->key_count; k++)
        for (u32 i = 0; i < a->n.keys[k].column_count; i++)
            a->n.keys[k].columns[i] -= a->n.keys[k].columns[i] > column;
    drop_from_checks(a, column);
    u32 behind = def->column_count - column - 1u;
    memmove(a->n.columns + column, a->n.columns + column + 1, behind * sizeof *a->n.columns);
    memmove(a->from + column, a->from + column + 1, behind * sizeof *a->from);
    def->column_count--;
    a->rebuilt = true;
}

static void
set_not_null(Alter *a, Str name, bool not_null)
{
    u32 column = need_column(a, name);
    for (u32 k = 0; k < a->n.def->key_count && !not_null; k++)
        for (u32 i = 0; i < a->n.keys[k].column_count; i++)
            if (a->n.keys[k].primary && a->n.keys[k].columns[i] == column)
                err_throw(ERR_INVALID_TABLE_DEFINITION, "column \"%.*s\" is in a primary key", (int)name.len, name.ptr);
    a->rebuilt |= a->n.columns[column].not_null != not_null;
    a->n.columns[column].not_null = not_null;
}

/* The DEFAULT must be one of the new type, too. */
static void
check_default(Alter *a, ColumnDef *c, const ColumnDef *was)
{
    if (!c->default_text.len)
        return;
    BExpr *v = bind_default(a->b, a->old, (u16)(was - a->old->columns));
    while (v->kind == BX_CAST && !v->explicit_cast) /* that to the old type */
        v = v->args[0];
    if (!coerce_to_target(a->b, v, (TypeId)c->type, c->typmod, CAST_ASSIGNMENT))
        err_throw(ERR_DATATYPE_MISMATCH, "default for column \"%.*s\" cannot be cast automatically to type %s", (int)c->name.len, c->name.ptr,
                  bind_type_name((TypeId)c->type));
    AExpr *e = (AExpr *)(uintptr_t)parse_expression(a->b->arena, c->default_text);
    c->default_text = new_table_default(&a->n, c, e, c->default_text);
}

static void
set_type(Alter *a, const AAlter *x)
{
    u32 column = need_column(a, x->name);
    ColumnDef *c = &a->n.columns[column];
    i32 typmod;
    a->b->no_positions = true;
    TypeId type = bind_type(a->b, x->type, &typmod);
    a->b->no_positions = false;
    if (a->from[column] < 0 || a->typed[a->from[column]])
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot alter type of column \"%.*s\" twice", (int)x->name.len, x->name.ptr);
    ColumnDef made = new_table_column_of(&a->n, c->name, type, typmod, x->type->at);
    made.not_null = c->not_null;
    made.default_text = c->default_text;
    a->typed[a->from[column]] = x;
    if (!x->expr && c->type == made.type && c->typmod == made.typmod) {
        a->changed = true;
        return;
    }
    *c = made;
    for (u32 k = 0; k < a->n.def->key_count; k++)
        for (u32 i = 0; i < a->n.keys[k].column_count; i++)
            if (a->n.keys[k].columns[i] == column)
                new_table_check_key_type(type);
    check_default(a, c, &a->old->columns[a->from[column]]);
    a->rebuilt = true;
}

static void
set_default(Alter *a, const AAlter *x)
{
    ColumnDef *c = &a->n.columns[need_column(a, x->name)];
    c->default_text = x->kind == AA_SET_DEFAULT ? new_table_default(&a->n, c, x->expr, x->text) : (Str){0};
    a->changed = true;
}

/* ---- constraints ---- */

static i32
find_key(const Alter *a, Str name)
{
    for (u32 i = 0; i < a->n.def->key_count; i++)
        if (str_eq(a->n.keys[i].name, name))
            return (i32)i;
    return -1;
}

static i32
find_check(const Alter *a, Str name)
{
    for (u32 i = 0; i < a->n.def->check_count; i++)
        if (str_eq(a->n.checks[i].name, name))
            return (i32)i;
    return -1;
}

static void
verify_rows(Alter *a, Str check)
{
    a->verify[a->verify_count++] = check;
}

static void
add_check(Alter *a, const AConstraint *c)
{
    new_table_check(&a->n, c);
    if (!c->not_valid)
        verify_rows(a, a->n.checks[a->n.def->check_count - 1].name);
    a->changed = true;
}

static void
validate(Alter *a, const AAlter *x)
{
    Str table = a->n.def->name;
    i32 check = find_check(a, x->name);
    if (check < 0 && find_key(a, x->name) >= 0)
        err_throw(ERR_WRONG_OBJECT_TYPE, "constraint \"%.*s\" of relation \"%.*s\" is not a foreign key or check constraint", (int)x->name.len, x->name.ptr,
                  (int)table.len, table.ptr);
    if (check < 0)
        err_throw(ERR_UNDEFINED_OBJECT, "constraint \"%.*s\" of relation \"%.*s\" does not exist", (int)x->name.len, x->name.ptr, (int)table.len, table.ptr);
    if (!a->n.checks[check].not_valid)
        return;
    a->n.checks[check].not_valid = 0;
    verify_rows(a, a->n.checks[check].name);
    a->changed = true;
}

static void
drop_constraint(Alter *a, const AAlter *x)
{
    Str table = a->n.def->name;
    i32 key = find_key(a, x->name), check = find_check(a, x->name);
    if (key >= 0)
        drop_key(a, (u32)key);
    else if (check >= 0)
        drop_check(a, (u32)check);
    else if (x->if_exists)
        bind_notice(a->b, ERR_NONE, "constraint \"%.*s\" of relation \"%.*s\" does not exist, skipping", (int)x->name.len, x->name.ptr, (int)table.len, table.ptr);
    else
        err_throw(ERR_UNDEFINED_OBJECT, "constraint \"%.*s\" of relation \"%.*s\" does not exist", (int)x->name.len, x->name.ptr, (int)table.len, table.ptr);
}

/* ---- names ---- */

static void
check_free(const Alter *a, Str name)
{
    bool taken = new_table_name_taken(&a->n, name) || str_eq(a->n.def->name, name) || find_key(a, name) >= 0;
    if (taken)
        err_throw(ERR_DUPLICATE_TABLE, "relation \"%.*s\" already exists", (int)name.len, name.ptr);
}

static void
rename_column(Alter *a, const AAlter *x)
{
    if (is_system_column(x->name))
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "cannot rename system column \"%.*s\"", (int)x->name.len, x->name.ptr);
    i32 column = find_column(a, x->name);
    if (column < 0)
        err_throw(ERR_UNDEFINED_COLUMN, "column \"%.*s\" does not exist", (int)x->name.len, x->name.ptr);
    new_table_check_name(x->new_name);
    if (find_column(a, x->new_name) >= 0)
        column_exists(a, x->new_name);
    a->n.columns[column].name = arena_str(a->b->arena, x->new_name);
    a->renamed = true;
}

static void
rename_constraint(Alter *a, const AAlter *x)
{
    Str table = a->n.def->name;
    i32 key = find_key(a, x->name), check = find_check(a, x->name);
    if (key < 0 && check < 0)
        err_throw(ERR_UNDEFINED_OBJECT, "constraint \"%.*s\" for table \"%.*s\" does not exist", (int)x->name.len, x->name.ptr, (int)table.len, table.ptr);
    Str name = arena_str(a->b->arena, x->new_name);
    if (check < 0)
        check_free(a, name);
    if (new_table_has_constraint(&a->n, name))
        new_table_constraint_exists(&a->n, name);
    if (check >= 0)
        a->n.checks[check].name = name;
    else
        a->n.keys[key].name = name;
}

/* ---- the statement ---- */

static void
add_key(Alter *a, const AConstraint *c)
{
    for (u32 i = 0; i < c->column_count && c->kind == AC_PRIMARY; i++)
        if (find_column(a, c->columns[i]) < 0)
            no_column(a, c->columns[i]);
    new_table_key(&a->n, c, (Str){0});
    a->rebuilt = true;
}

/* Of a column that was added. */
static void
add_column_constraints(Alter *a, const AAlter *x)
{
    i32 column = find_column(a, x->name);
    if (column < 0 || a->from[column] >= 0) /* IF NOT EXISTS, and it does */
        return;
    u32 before = a->n.def->check_count;
    new_table_column_checks(&a->n, x->column);
    for (u32 i = before; i < a->n.def->check_count; i++)
        verify_rows(a, a->n.checks[i].name);
    new_table_column_keys(&a->n, x->column);
}

/* Who is meant by OWNER TO. */
static u32
role_of(Binder *b, const ARole *r)
{
    if (r->kind == AR_CURRENT_USER || r->kind == AR_SESSION_USER)
        return r->kind == AR_CURRENT_USER ? b->ctx->role_id : b->ctx->session_role_id;
    const RoleDef *d = catalog_find_role(b->ctx->root, r->name);
    if (!d)
        err_throw(ERR_UNDEFINED_OBJECT, "role \"%.*s\" does not exist", (int)r->name.len, r->name.ptr);
    return d->role_id;
}

/* The rights follow when the definition is complete (keep_rights). */
static void
change_owner(Alter *a, const ARole *r)
{
    const Root *root = a->b->ctx->root;
    u32 id = role_of(a->b, r);
    if (id == a->old->owner_id)
        return;
    RightsOf schema = rights_of_schema(root);
    const RoleDef *d = catalog_role(root, id);
    if (!role_is_superuser(root, a->b->ctx->role_id)) {
        if (!role_is_member(root, a->b->ctx->role_id, id))
            err_throw(ERR_INSUFFICIENT_PRIVILEGE, "must be member of role \"%.*s\"", (int)d->name.len, d->name.ptr);
        if (!rights_allow(root, &schema, id, ACL_CREATE))
            err_throw(ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema public");
    }
    a->n.def->owner_id = id;
    a->changed = true;
}

static void
run_action(Alter *a, const AAlter *x)
{
    switch (x->kind) {
    case AA_ADD_COLUMN: add_column(a, x); break;
    case AA_DROP_COLUMN: drop_column(a, x); break;
    case AA_SET_DEFAULT:
    case AA_DROP_DEFAULT: set_default(a, x); break;
    case AA_SET_NOT_NULL: set_not_null(a, x->name, true); break;
    case AA_DROP_NOT_NULL: set_not_null(a, x->name, false); break;
    case AA_ADD_KEY: add_key(a, x->constraint); break;
    case AA_ADD_CHECK: add_check(a, x->constraint); break;
    case AA_VALIDATE: validate(a, x); break;
    case AA_DROP_CONSTRAINT: drop_constraint(a, x); break;
    case AA_TYPE: set_type(a, x); break;
    case AA_RENAME_TABLE:
        check_free(a, x->new_name);
        a->n.def->name = arena_str(a->b->arena, x->new_name);
        a->changed = true;
        break;
    case AA_RENAME_COLUMN:
        rename_column(a, x);
        a->changed = true;
        break;
    case AA_RENAME_CONSTRAINT:
        rename_constraint(a, x);
        a->changed = true;
        break;
    case AA_OWNER: change_owner(a, x->owner); break;
    }
}

/* Of the old definition, with room for all that is added. */
static void
open_definition(Alter *a)
{
    Arena *arena = a->b->arena;
    const Stmt *s = a->stmt;
    const TableDef *old = a->old;
    u32 columns = old->column_count + s->column_defs.count, keys = old->key_count + s->constraints.count;
    for (u32 i = 0; i < s->column_defs.count; i++)
        keys += LIST_AT(s->column_defs, AColumnDef, i)->constraints.count;
    TableDef *def = ARENA_NEW(arena, TableDef);
    *def = *old;
    def->schema_version++;
    def->name = arena_str(arena, old->name);
    a->n = (NewTable){.b = a->b, .alters = true, .def = def, .old_checks = old->check_count};
    a->n.columns = ARENA_ARRAY(arena, ColumnDef, columns);
    a->n.null_given = ARENA_ARRAY(arena, bool, columns);
    a->n.keys = ARENA_ARRAY(arena, KeyDef, keys);
    a->from = ARENA_ARRAY(arena, i32, columns);
    a->typed = ARENA_ARRAY(arena, const AAlter *, old->column_count);
    for (u32 i = 0; i < old->column_count; i++) {
        a->n.columns[i] = old->columns[i];
        a->n.columns[i].name = arena_str(arena, old->columns[i].name);
        a->n.columns[i].default_text = arena_str(arena, old->columns[i].default_text);
        a->from[i] = (i32)i;
    }
    for (u32 i = 0; i < old->key_count; i++) {
        a->n.keys[i] = old->keys[i];
        a->n.keys[i].name = arena_str(arena, old->keys[i].name);
    }
    a->old_keys = old->key_count;
    a->n.checks = ARENA_ARRAY(arena, CheckDef, (u32)old->check_count + keys - old->key_count);
    a->verify = ARENA_ARRAY(arena, Str, (u32)old->check_count + keys + s->alters.count);
    for (u32 i = 0; i < old->check_count; i++) {
        a->n.checks[i] = old->checks[i];
        a->n.checks[i].name = arena_str(arena, old->checks[i].name);
        a->n.checks[i].text = arena_str(arena, old->checks[i].text);
    }
    def->columns = a->n.columns;
    def->keys = a->n.keys;
}

/* Rights stay with the table, those on a column with the column. */
static void
keep_rights(Alter *a)
{
    const TableDef *old = a->old;
    AclItem *items = ARENA_ARRAY(a->b->arena, AclItem, old->acl_count);
    u32 n = 0;
    for (u32 i = 0; i < old->acl_count; i++) {
        AclItem item = old->acl[i];
        for (u32 c = 0; item.column && c <= a->n.def->column_count; c++)
            if (c == a->n.def->column_count || a->from[c] == (i32)item.column - 1) {
                item.column = c == a->n.def->column_count ? UINT32_MAX : c + 1;
                break;
            }
        if (item.column != UINT32_MAX)
            items[n++] = item;
    }
    if (a->n.def->owner_id != old->owner_id)
        n = rights_new_owner(items, n, old->owner_id, a->n.def->owner_id);
    a->n.def->acl = items;
    a->n.def->acl_count = n;
}

/* The value of a column that gets another type. */
static BExpr *
retyped(Scope *s, BExpr *old, const ColumnDef *c, const AAlter *x)
{
    const AExpr *sub = x->expr ? bind_find_subquery(x->expr) : NULL;
    if (sub)
        bind_fail(s->b, sub->at, ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in transform expression");
    BExpr *e = x->expr ? bind_expr_at(s, x->expr, PLACE_TRANSFORM) : old;
    BExpr *r = coerce_to_target(s->b, e, (TypeId)c->type, c->typmod, CAST_ASSIGNMENT);
    if (r)
        return r;
    Str n = c->name;
    const char *type = bind_type_name((TypeId)c->type);
    if (x->expr)
        bind_fail_hint(0, ERR_DATATYPE_MISMATCH, "You might need to add an explicit cast.",
                       "result of USING clause for column \"%.*s\" cannot be cast automatically to type %s", (int)n.len, n.ptr, type);
    ByteBuf name = {0};
    deparse_name(&name, n);
    const char *hint = arena_printf(s->b->arena, "You might need to specify \"USING %.*s::%s\".", (int)name.len, (const char *)name.data,
                                    type_format(s->b->arena, (TypeId)c->type, c->typmod));
    buf_free(&name);
    bind_fail_hint(0, ERR_DATATYPE_MISMATCH, hint, "column \"%.*s\" cannot be cast automatically to type %s", (int)n.len, n.ptr, type);
}

/* The new rows, from the old ones. */
static BQuery *
rows_query(Alter *a)
{
    Binder *b = a->b;
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    PtrList targets = {0};
    scope.query->from = ARENA_NEW(b->arena, BFrom);
    const NsItem *item = bind_add_table(&scope, a->old, NULL, &scope.query->from->rel);
    for (u32 i = 0; i < a->n.def->column_count; i++) {
        BExpr *value = a->from[i] >= 0 ? bexpr_copy(b, item->columns[a->from[i]].expr, 0) : bind_default(b, a->n.def, (u16)i);
        if (a->from[i] >= 0 && a->typed[a->from[i]])
            value = retyped(&scope, value, &a->n.columns[i], a->typed[a->from[i]]);
        ptrlist_add(b->arena, &targets, bind_new_target(&scope, value, a->n.columns[i].name));
    }
    bind_finish_scope(&scope, &targets);
    return scope.query;
}

static bool
has_new_type(const Alter *a, const CheckDef *c)
{
    for (u32 i = 0; i < c->column_count; i++) {
        i32 old = a->from[c->columns[i]];
        if (old >= 0 && a->typed[old])
            return true;
    }
    return false;
}

/* A check over a column of another type means what its text means now. */
static void
move_checks(Alter *a)
{
    const TableDef *def = a->n.def;
    i32 *same = ARENA_ARRAY(a->b->arena, i32, def->column_count);
    for (u32 i = 0; i < def->column_count; i++)
        same[i] = (i32)i;
    for (u32 i = 0; i < a->n.old_checks; i++) {
        CheckDef *c = &a->n.checks[i];
        if (a->renamed) {
            *c = bind_moved_check(a->b, a->old, def, a->from, c);
        } else if (has_new_type(a, c)) {
            *c = bind_moved_check(a->b, def, def, same, c);
            if (!c->not_valid)
                verify_rows(a, c->name);
        }
    }
}

/* The checks that the table's rows must obey: those that are new to them. */
static void
set_checks(Alter *a)
{
    BStmt *to = a->to;
    TableDef *def = a->n.def;
    move_checks(a);
    new_table_sort_checks(&a->n);
    to->checks = ARENA_ARRAY(a->b->arena, BCheck, a->verify_count);
    for (u32 i = 0; i < a->verify_count; i++)
        to->checks[to->check_count++] = (BCheck){a->verify[i], bind_check(a->b, def, &def->checks[find_check(a, a->verify[i])])};
}

/* The checks of the rows that break one. */
static BQuery *
broken_query(Alter *a)
{
    Binder *b = a->b;
    const BStmt *to = a->to;
    Scope scope = {.b = b, .query = ARENA_NEW(b->arena, BQuery)};
    PtrList targets = {0};
    BExpr *any = bind_new(b, BX_OR, TYPE_BOOL, 0);
    any->args = ARENA_ARRAY(b->arena, BExpr *, to->check_count);
    any->arg_count = to->check_count;
    scope.query->from = ARENA_NEW(b->arena, BFrom);
    bind_add_table(&scope, a->old, NULL, &scope.query->from->rel);
    for (u32 i = 0; i < to->check_count; i++) {
        BExpr *broken = any->args[i] = bind_new(b, BX_IS_BOOL, TYPE_BOOL, 0);
        broken->args = ARENA_ARRAY(b->arena, BExpr *, 1);
        broken->args[0] = to->checks[i].expr;
        broken->arg_count = 1;
        ptrlist_add(b->arena, &targets, bind_new_target(&scope, to->checks[i].expr, to->checks[i].name));
    }
    scope.query->where = any->arg_count > 1 ? any : any->args[0];
    bind_finish_scope(&scope, &targets);
    return scope.query;
}

static int
pass_of(AAlterKind kind)
{
    switch (kind) {
    case AA_DROP_COLUMN:
    case AA_DROP_CONSTRAINT:
    case AA_DROP_NOT_NULL:
    case AA_DROP_DEFAULT: return 0;
    case AA_TYPE: return 1;
    case AA_ADD_COLUMN: return 2;
    case AA_SET_NOT_NULL: return 3;
    case AA_ADD_KEY:
    case AA_ADD_CHECK:
    case AA_VALIDATE: return 4;
    default: return 5;
    }
}

static const TableDef *
find_altered(Binder *b, const Stmt *s)
{
    const AName *n = &s->name;
    const TableDef *t = bind_find_table(b, n);
    Str schema = n->count > 1 ? n->parts[n->count - 2] : STR_LIT("public");
    if (t || s->if_exists) {
        if (!t)
            bind_notice(b, ERR_NONE, "relation \"%.*s\" does not exist, skipping", (int)n->parts[n->count - 1].len, n->parts[n->count - 1].ptr);
        return t;
    }
    if (!str_eq(schema, STR_LIT("public")) && !str_eq(schema, STR_LIT("pg_catalog")) && !str_eq(schema, STR_LIT("information_schema")))
        err_throw(ERR_INVALID_SCHEMA_NAME, "schema \"%.*s\" does not exist", (int)schema.len, schema.ptr);
    err_throw(ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", bind_name_text(b, n));
}

void
bind_alter_table(Binder *b, BStmt *to, const Stmt *s)
{
    Alter a = {.b = b, .to = to, .stmt = s};
    to->kind = BST_ALTER_TABLE;
    a.old = find_altered(b, s);
    if (!a.old)
        return;
    bind_must_own(b, a.old);
    open_definition(&a);
    for (int pass = 0; pass <= 5; pass++)
        for (u32 i = 0; i < s->alters.count; i++) {
            const AAlter *x = LIST_AT(s->alters, AAlter, i);
            if (pass_of(x->kind) == pass)
                run_action(&a, x);
            if (pass == 4 && x->kind == AA_ADD_COLUMN)
                add_column_constraints(&a, x);
        }
    new_table_name_keys(&a.n, a.old_keys);
    to->table_id = a.old->table_id;
    if (!a.changed && !a.rebuilt) /* as far as this definition goes: it is looked at again when the table is locked */
        return;
    if (!a.n.def->column_count && a.old->column_count) /* its rows could not be counted any more */
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "dropping the last column of a table is not supported yet");
    keep_rights(&a);
    to->create = a.n.def;
    set_checks(&a);
    to->rewrites = a.rebuilt;
    if (!a.rebuilt) {
        to->schema_version = a.old->schema_version;
        to->query = to->check_count ? broken_query(&a) : NULL;
        return;
    }
    to->query = rows_query(&a);
    to->column_count = a.n.def->column_count;
    to->columns = ARENA_ARRAY(b->arena, u16, to->column_count);
    for (u32 i = 0; i < to->column_count; i++)
        to->columns[i] = (u16)i;
}
