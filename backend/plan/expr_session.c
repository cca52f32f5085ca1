/*
 * expr_session.c
 *    Functions of the session and the moment: now(), random(), gen_random_uuid(), version(), pg_sleep().
 *    Other SERIAL functions are the session's (ExprEnv.call).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "backend/interrupt.h"
#include "backend/plan/expr_prog.h"
#include "common/base/env.h"
#include "common/base/hash.h"

#include <unistd.h>


/* Uniform in [0, 1): 53 bits of a counter mixed with a seed. */
static double
next_random(ExprState *s)
{
    if (!s->random[0])
        env->random_bytes(s->random, sizeof s->random);
    s->random[1] += 0x9e3779b97f4a7c15ull;
    return (double)(hash_u64(s->random[1] ^ s->random[0]) >> 11) * 0x1p-53;
}

/* Version 4: random but for six bits. */
static Pair
next_uuid(void)
{
    Pair p;
    env->random_bytes(&p, sizeof p);
    p.hi = (p.hi & ~0xf000ull) | 0x4000;
    p.lo = p.lo >> 2 | 1ull << 63;
    return p;
}

static Str
text_of(ExprState *s, FuncOp op)
{
    switch ((int)op) {
    case FOP_VERSION: return str_of(s->env->version ? s->env->version : "");
    case FOP_CURRENT_DATABASE: return str_of(s->env->database ? s->env->database : "");
    case FOP_CURRENT_SCHEMA: return STR_LIT("public");
    case FOP_CURRENT_USER: return str_of(s->env->role_name ? s->env->role_name : "");
    case FOP_SESSION_USER: return str_of(s->env->session_role_name ? s->env->session_role_name : "");
    default: return STR_LIT("");
    }
}

/* Functions that the session carries out, one row after the other. */
static void
call_session(ExprState *s, const Ins *ins, u32 rows, u8 *data)
{
    u8 *nulls = expr_result_nulls(s, ins->ret, rows);
    PhysType phys = ins->def->ret == TYPE_VOID ? PHYS_STR : phys_of(ins->def->ret, -1);
    ensure(s->env->call);
    for (u32 i = 0; i < rows; i++) {
        Value args[FUNC_MAX_ARGS], v = {.type = ins->def->ret, .typmod = -1};
        nulls[i] = false;
        for (u32 k = 0; k < ins->arg_count; k++) {
            const Vec *in = &s->regs[ins->args[k]].vec;
            const u8 *at = (const u8 *)in->data + (size_t)(in->is_const ? 0 : i) * phys_width(in->phys);
            args[k] = value_from_phys(ins->def->args[k], -1, in->phys, in->scale, at);
            args[k].is_null = VEC_NULL(in, i);
            nulls[i] |= args[k].is_null;
        }
        if (!nulls[i] || !ins->def->strict) {
            v = s->env->call(s->env->session, ins->def, args);
            nulls[i] = v.is_null;
        }
        if (phys == PHYS_STR && !v.str.ptr)
            v.str = STR_LIT("");
        value_to_phys(&v, phys, 0, data + (size_t)i * phys_width(phys));
    }
}

bool
expr_run_session(ExprState *s, const Ins *ins, const Frame *f)
{
    u32 rows = ins->per_row ? f->count : 1;
    void *data = expr_result(s, ins->ret, rows, !ins->per_row);
    switch ((int)ins->def->op) {
    case FOP_RANDOM:
        for (u32 i = 0; i < rows; i++)
            ((double *)data)[i] = next_random(s);
        return true;
    case FOP_RANDOM_UUID:
        for (u32 i = 0; i < rows; i++)
            ((Pair *)data)[i] = next_uuid();
        return true;
    case FOP_CLOCK_TIMESTAMP:
        for (u32 i = 0; i < rows; i++)
            ((i64 *)data)[i] = env->wall_us();
        return true;
    case FOP_NOW:
        *(i64 *)data = s->env->now_us;
        return true;
    case FOP_STATEMENT_TIMESTAMP:
        *(i64 *)data = s->env->statement_us;
        return true;
    case FOP_BACKEND_PID:
        *(i32 *)data = (i32)getpid();
        return true;
    case FOP_SLEEP: {
        const Vec *seconds = &s->regs[ins->args[0]].vec;
        u8 *nulls = expr_result_nulls(s, ins->ret, rows);
        for (u32 i = 0; i < rows; i++) {
            nulls[i] = VEC_NULL(seconds, i);
            if (!nulls[i])
                interrupt_sleep(VEC_AT(seconds, double, i));
            ((Str *)data)[i] = STR_LIT("");
        }
        return true;
    }
    default:
        if (ins->def->volatility == FUNC_SERIAL)
            call_session(s, ins, rows, data);
        else
            *(Str *)data = text_of(s, ins->def->op);
        return true;
    }
}
