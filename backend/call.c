/*
 * call.c
 *    Functions that the session carries out (SERIAL in functions.def): advisory locks, signals to other sessions, parameters.
 *
 * Called by expressions through ExprEnv, once a row, in the order of the rows, on the session's thread; so it may wait, throw and send notices.
 */
#include "backend/session.h"

#include "backend/interrupt.h"
#include "backend/throw.h"
#include "common/base/env.h"
#include "common/shm/publish.h"

#include <stdio.h>

/* ---- advisory locks ---- */

typedef struct AdvisoryOp {
    FuncOp op;
    bool shared;
    LockWait wait;
    AdvisoryWhat what;
} AdvisoryOp;

static const AdvisoryOp ADVISORY_OPS[] = {
    {FOP_ADVISORY_LOCK, false, LOCK_WAIT, ADVISORY_SESSION},
    {FOP_ADVISORY_LOCK_SHARED, true, LOCK_WAIT, ADVISORY_SESSION},
    {FOP_ADVISORY_XACT_LOCK, false, LOCK_WAIT, ADVISORY_TRANSACTION},
    {FOP_ADVISORY_XACT_LOCK_SHARED, true, LOCK_WAIT, ADVISORY_TRANSACTION},
    {FOP_TRY_ADVISORY_LOCK, false, LOCK_SKIP, ADVISORY_SESSION},
    {FOP_TRY_ADVISORY_LOCK_SHARED, true, LOCK_SKIP, ADVISORY_SESSION},
    {FOP_TRY_ADVISORY_XACT_LOCK, false, LOCK_SKIP, ADVISORY_TRANSACTION},
    {FOP_TRY_ADVISORY_XACT_LOCK_SHARED, true, LOCK_SKIP, ADVISORY_TRANSACTION},
    {FOP_ADVISORY_UNLOCK, false, LOCK_WAIT, ADVISORY_UNLOCK},
    {FOP_ADVISORY_UNLOCK_SHARED, true, LOCK_WAIT, ADVISORY_UNLOCK},
    {FOP_ADVISORY_UNLOCK_ALL, false, LOCK_WAIT, ADVISORY_UNLOCK_ALL},
};

static const AdvisoryOp *
advisory_op(FuncOp op)
{
    for (u32 i = 0; i < COUNT_OF(ADVISORY_OPS); i++)
        if (ADVISORY_OPS[i].op == op)
            return &ADVISORY_OPS[i];
    return NULL;
}

static bool
advisory(Session *s, const AdvisoryOp *op, u32 arg_count, const Value *args)
{
    u64 key = arg_count == 1 ? (u64)args[0].i64v : arg_count == 2 ? (u64)(u32)args[0].i32v << 32 | (u32)args[1].i32v : 0;
    bool done = txn_advisory(s->txn, key, arg_count, op->shared, op->wait, op->what);
    if (op->what == ADVISORY_SESSION || op->what == ADVISORY_UNLOCK_ALL)
        s->advisory_locks = op->what == ADVISORY_SESSION;
    if (!done && op->what == ADVISORY_UNLOCK)
        session_notice(s, REPLY_WARNING, ERR_WARNING,
                       op->shared ? "you don't own a lock of type ShareLock" : "you don't own a lock of type ExclusiveLock");
    return done;
}

/* ---- signals ---- */

/* The slot of a session's process; false: there is none. */
static bool
find_backend(Session *s, i32 pid, u32 *ret_slot, u32 *ret_generation)
{
    const ControlShm *control = s->boot->shm.control;
    for (u32 i = 0; i < s->boot->shm.slot_count; i++) {
        const SlotShm *slot = &control->slots[i];
        if (observe_u32(&slot->pub_state) != SLOT_TAKEN || slot->pid != pid)
            continue;
        *ret_slot = i;
        *ret_generation = observe_u32(&slot->pub_generation);
        return true;
    }
    return false;
}

static bool
send_signal(Session *s, i32 pid, bool terminate, u32 *ret_slot, u32 *ret_generation)
{
    char text[128];
    if (pid <= 0 || !find_backend(s, pid, ret_slot, ret_generation) ||
        !txn_signal(s->txn, *ret_slot, *ret_generation, terminate ? SIGNAL_TERMINATE : SIGNAL_CANCEL)) {
        snprintf(text, sizeof text, "PID %d is not a PostgreSQL backend process", pid);
        session_notice(s, REPLY_WARNING, ERR_WARNING, text);
        return false;
    }
    interrupt_check(); /* it may have been our own */
    return true;
}

static bool
is_gone(Session *s, u32 slot, u32 generation)
{
    const SlotShm *x = &s->boot->shm.control->slots[slot];
    return observe_u32(&x->pub_state) != SLOT_TAKEN || observe_u32(&x->pub_generation) != generation;
}

static bool
terminate(Session *s, i32 pid, i64 timeout_ms)
{
    u32 slot, generation;
    char text[128];
    if (timeout_ms < 0)
        err_throw(ERR_NUMERIC_OUT_OF_RANGE, "\"timeout\" must not be negative");
    if (!send_signal(s, pid, true, &slot, &generation))
        return false;
    u64 until = env->monotonic_ns() + (u64)MIN(timeout_ms, (i64)INT32_MAX) * 1000000;
    while (timeout_ms > 0 && !is_gone(s, slot, generation)) {
        if (env->monotonic_ns() >= until) {
            snprintf(text, sizeof text, "backend with PID %d did not terminate within %lld millisecond%s", pid, (long long)timeout_ms,
                     timeout_ms == 1 ? "" : "s");
            session_notice(s, REPLY_WARNING, ERR_WARNING, text);
            return false;
        }
        interrupt_sleep(0.01);
    }
    return true;
}

/* ---- parameters ---- */

/* The value as SHOW prints it, for as long as the row that holds it; NULL when there is none and that is fine. */
static Value
setting(Session *s, const char *name, bool missing_ok)
{
    Arena *a = s->running ? s->running->arena : s->message;
    char text[GUC_TEXT_MAX];
    const char *as_spelled;
    Error err;
    if (guc_show(s->guc, name, &as_spelled, text, sizeof text, &err))
        return (Value){.type = TYPE_TEXT, .typmod = -1, .str = arena_str(a, str_of(text))};
    if (!missing_ok)
        err_rethrow(&err);
    return (Value){.type = TYPE_TEXT, .typmod = -1, .is_null = true};
}

static const char *
text_of(Session *s, const Value *v)
{
    return v->is_null ? NULL : arena_strndup(s->message, v->str.ptr, v->str.len);
}

static Value
set_config(Session *s, const Value *args)
{
    const char *name = text_of(s, &args[0]);
    if (!name)
        err_throw(ERR_NULL_NOT_ALLOWED, "SET requires parameter name");
    utility_set(s, name, text_of(s, &args[1]), !args[2].is_null && args[2].b ? GUC_SCOPE_LOCAL : GUC_SCOPE_SESSION);
    return setting(s, name, false);
}

/* ---- the door ---- */

Value
session_call(void *session, const FuncDef *f, const Value *args)
{
    Session *s = session;
    Value v = {.type = f->ret, .typmod = -1};
    const AdvisoryOp *op = advisory_op(f->op);
    u32 slot, generation;
    if (op) {
        v.b = advisory(s, op, f->arg_count, args);
        if (f->ret == TYPE_VOID)
            v.str = STR_LIT("");
        return v;
    }
    switch ((int)f->op) {
    case FOP_SLEEP_FOR:
        interrupt_sleep(((double)args[0].interval.months * 30 + args[0].interval.days) * 86400 + (double)args[0].interval.us / 1e6);
        v.str = STR_LIT("");
        return v;
    case FOP_SLEEP_UNTIL:
        interrupt_sleep(((double)args[0].i64v - (double)env->wall_us()) / 1e6);
        v.str = STR_LIT("");
        return v;
    case FOP_NOTIFY:
        listen_notify(s, args[0].is_null ? STR_LIT("") : args[0].str, args[1].is_null ? STR_LIT("") : args[1].str);
        v.str = STR_LIT("");
        return v;
    case FOP_NOTIFICATION_QUEUE_USAGE:
        v.f64v = listen_queue_usage(s);
        return v;
    case FOP_LISTENING_CHANNELS:
        v.str = listen_channels(s, s->message);
        return v;
    case FOP_SET_CONFIG:
        return set_config(s, args);
    case FOP_CURRENT_SETTING:
        return setting(s, text_of(s, &args[0]), f->arg_count == 2 && args[1].b);
    case FOP_CANCEL_BACKEND:
        v.b = send_signal(s, args[0].i32v, false, &slot, &generation);
        return v;
    case FOP_TERMINATE_BACKEND:
        v.b = terminate(s, args[0].i32v, f->arg_count == 2 ? args[1].i64v : 0);
        return v;
    default:
        err_throw(ERR_FEATURE_NOT_SUPPORTED, "function %s is not supported yet", f->name);
    }
}
