/*
 * catalog.c
 *    Functions that ask the catalog, a row at a time: whoever knows it is asked through TypeFormat.catalog.
 */
#include "backend/kern/call.h"

static bool
ask_catalog(KernCall *c, u32 i)
{
    Value args[FUNC_MAX_ARGS], v = {.type = c->def->ret, .typmod = -1};
    PhysType phys = phys_of(v.type, -1);
    for (u32 k = 0; k < c->arg_count; k++) {
        const Vec *in = c->args[k];
        args[k] = value_from_phys(c->def->args[k], -1, in->phys, in->scale, (const u8 *)in->data + (size_t)(in->is_const ? 0 : i) * phys_width(in->phys));
        args[k].is_null = VEC_NULL(in, i);
    }
    const CatalogNames *names = c->format ? c->format->catalog : NULL;
    if (!names)
        return error_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "function %s is not supported here", c->def->name);
    if (!names->call(names, c->scratch, c->def->op, args, c->arg_count, &v, c->err))
        return false;
    if (v.is_null)
        v = (Value){.type = v.type, .is_null = true};
    if (v.is_null && phys == PHYS_STR)
        v.str = STR_LIT("");
    c->ret->null_mask[i] = v.is_null;
    value_to_phys(&v, phys, 0, (u8 *)c->ret->data + (size_t)i * phys_width(phys));
    return true;
}

KernRow
catalog_row(FuncOp op)
{
    return op >= FOP_INDEX_DEFINITION && op <= FOP_NOTHING_KNOWN ? ask_catalog : NULL;
}
