/*
 * session.h
 *    A connection's session: what the files of backend/ share.
 *
 * Lifetimes: `arena` the session; `message` one simple Query, or one statement of it, or one extended message; a Plan its CachedPlan's arena; a
 * portal's rows and parameters the portal's arena.
 *
 * The transaction is transaction.c's: every message that may need one begins with transaction_start, every statement ends with transaction_finish or
 * transaction_end_statement.
 */
#ifndef SESSION_H
#define SESSION_H

#include "backend/exec/exec.h"
#include "backend/guc.h"
#include "backend/portal_rows.h"
#include "backend/net/net.h"
#include "backend/plan/plan.h"
#include "backend/sql/sql.h"
#include "backend/txn/txn.h"
#include "common/proc/proc.h"

enum { REPLANS_MAX = 10, NAME_BYTES = 64 };

typedef struct PlanCache PlanCache;
typedef struct Prepared Prepared;
typedef struct Portal Portal;
typedef struct RoleSeen RoleSeen;

/* A statement parsed, bound and planned: by itself in an arena (cached, or held by prepared statements and portals), or in the message's. */
typedef struct CachedPlan {
    struct CachedPlan *chain, *newer, *older; /* hash chain, order of use */
    Arena *arena;                             /* NULL: lives in the message's arena */
    u32 refs;
    bool in_cache, is_simple; /* is_simple: made once, for a simple Query */
    bool is_inner;            /* of the statement inside of a PREPARE or DECLARE that begins at byte `outer` of text; never in the cache */
    u32 outer;
    u64 hash, catalog_version, format_serial, names_serial, role_serial;
    i64 now_us;               /* of the transaction it was bound in */
    const char *text;
    u32 text_len, declared_count;
    TypeId *declared;
    const ParsedStmt *parsed; /* NULL: an empty statement */
    BStmt *stmt;
    Plan *plan; /* of `explained` for EXPLAIN (but not of an EXECUTE); NULL for what the session does by itself */
    u32 column_count;
    ReplyColumn *columns; /* text formats */
    bool returns_rows;
} CachedPlan;

typedef struct ListenChannel ListenChannel;
typedef struct ListenChange ListenChange;

typedef enum PortalState { PORTAL_READY, PORTAL_ROWS, PORTAL_DONE, PORTAL_FAILED } PortalState;

struct Portal {
    Portal *next;
    char name[NAME_BYTES];
    bool is_open;
    PortalState state;
    u32 level;        /* of savepoints, where it was opened (transaction_level); 0: held from an earlier transaction */
    CachedPlan *plan; /* a reference; NULL when it has failed and the plan was the message's */
    CachedPlan *explained; /* EXPLAIN EXECUTE: what would run, a reference; NULL: none */
    bool returned_rows, failed_late; /* of one that has failed; in a failed block already */
    Arena *arena;
    Value *params;
    u32 param_count;
    ReplyColumn *columns;
    TypeFormat format;
    /* of DECLARE */
    bool scrolls, binary, hold;
    bool keeps;      /* all rows that came are kept, from the first one */
    i64 created_us;
    /* where it stands: on row `position` (counted from 1), before the first, or behind the last one, when the position is their number */
    u64 position;
    bool at_start, at_end;
    /* rows ahead: those kept, then those of the batch, then from exec */
    PortalRows kept;
    Error late;      /* what happened while rows were drawn for later: told to who comes there; code ERR_NONE: nothing */
    ExecContext ctx;
    Exec *exec;
    Batch batch;     /* of exec, or made at once (SHOW, EXPLAIN) */
    u32 batch_at;
    bool exhausted;
    u64 rows;        /* sent by the last run, or touched */
    const char *tag; /* of the finished statement; with_rows: the count follows */
    bool with_rows;
};

typedef enum TransactionState {
    TRANSACTION_NONE,
    TRANSACTION_STARTED,  /* implicit: ends with the Query or at Sync */
    TRANSACTION_IMPLICIT, /* the same, of several statements: what PostgreSQL calls a block as well */
    TRANSACTION_BLOCK,    /* between BEGIN and its end */
    TRANSACTION_FAILED,   /* a block after an error */
} TransactionState;

/* What the statement that has just run asks of transaction_finish. */
typedef enum TransactionEnds { ENDS_NOT, ENDS_COMMIT, ENDS_ROLLBACK, ENDS_ROLLBACK_TO } TransactionEnds;

typedef struct TransactionModes { u8 isolation; bool read_only, deferrable; } TransactionModes;
typedef struct Savepoint Savepoint;

typedef struct Transaction {
    TransactionState state;
    TransactionEnds ends;
    bool chain;      /* with `ends`: another block follows */
    bool looked;     /* a statement has needed a snapshot: modes are fixed */
    bool pipelined;  /* an Execute has run in it: what follows is a statement of several */
    bool at_once;    /* ends with the running statement, whatever follows before the Sync */
    TransactionModes modes, shown, defaults; /* in force; as the parameters say; of new transactions */
    u64 defaults_serial;
    TxnIsolation autocommit_level;           /* as txn knows it */
    Savepoint *newest, *target;              /* target: of ROLLBACK TO */
} Transaction;

typedef struct Session {
    Boot *boot;
    Wire *wire;
    BoxShm *box;
    Arena *arena, *message;
    Txn *txn;
    u32 role_id, session_role_id, signed_in_id; /* as SET ROLE, SET SESSION AUTHORIZATION and the sign-in have it */
    bool superuser;     /* the role of role_id, as it was when it was looked at last */
    u64 role_serial;    /* grows when role_id or session_role_id change */
    i32 connection_limit; /* of the role that signed in; -1: none */
    RoleSeen *roles_seen; /* names that SET gave, and which roles they were (acting.c) */
    char role_name[NAME_BYTES], session_role_name[NAME_BYTES], signed_in_name[NAME_BYTES];
    char database[NAME_BYTES], version[128]; /* what version() shows */
    Guc *guc;
    u64 guc_seen, format_serial; /* serial of the parameters looked at; grows when `format` changes */
    TypeFormat format;
    CatalogNames names;  /* what format.catalog points to */
    i32 lock_timeout_ms;
    i64 statement_timeout_ms, idle_session_ms, idle_transaction_ms;
    u64 memory_limit_bytes;
    PlanCache *plans;
    Prepared *prepared[64];
    Prepared *unnamed_statement;
    u64 names_serial;    /* grows when a name of a prepared statement or portal gets or loses its meaning */
    Portal unnamed, *portals, *spare_portals; /* named and open; closed, for reuse */
    Portal *running;     /* an error now is its failure */
    Portal *fetched;     /* the same: what FETCH or MOVE reads, DECLARE opens; NULL: none */
    Transaction transaction;
    i64 now_us;          /* when the transaction began */
    i64 statement_us;    /* when the Query or Execute came */
    ListenChannel *channels;      /* that it hears */
    ListenChange *listen_changes; /* of the transaction, newest first */
    u32 listen_change_count;
    bool advisory_locks; /* of the session: there may be some */
    bool signed_in, skip_to_sync, in_extended, recovering, ready_due;
    const char *source;  /* text of the running statement, for log lines */
} Session;

/* ---- session.c ---- */
/* Until the client leaves; ends the process. */
NORETURN void session_run(Session *s);
/* ParameterStatus for what has changed. */
void session_report_parameters(Session *s);
/* Look at what SET changed. */
void session_apply_gucs(Session *s);
/* The statement begins and ends: timer, box, log line. */
void session_statement_begin(Session *s, const char *text, u32 len);
/* complete: the timer of statement_timeout stops. */
void session_statement_end(Session *s, bool complete);
/* The catalog at the running statement's snapshot: it has looked at data then. */
const Root *session_root(Session *s);
void session_notice(Session *s, ReplySeverity severity, ErrCode code, const char *text);
/* The same with whatever else err says. */
void session_notice_fields(Session *s, ReplySeverity severity, const Error *err);
/* A NOTICE for every identifier that was cut; NULL: none. */
void session_tell_cuts(Session *s, const ParsedStmt *parsed);
/* guc_set, and what the client is told of it. */
MUST_CHECK bool session_set_parameter(Session *s, const char *name, const char *value, GucScope scope, Error *err);

/* ---- acting.c ---- */
/* 42501 when the role that the session acts as may not run it, by the newest catalog. */
void acting_check_rights(Session *s, const BStmt *b);
/* The session begins as this role. */
void acting_sign_in(Session *s, const RoleDef *role);
/* SET ROLE and SET SESSION AUTHORIZATION: whether the session may become this, before the parameter is set. */
MUST_CHECK bool acting_check(Session *s, const char *name, const char *value, Error *err);
/* What the parameters say now is who the session acts as. */
void acting_apply(Session *s);

/* ---- transaction.c ---- */
/* A message begins one when there is none. */
void transaction_start(Session *s);
/* One of several statements is about to run: what was begun by messages is a block to those who ask, until transaction_implicit_end. */
void transaction_implicit(Session *s);
void transaction_implicit_end(Session *s);
/* What is written from now on is staged, not committed by its statement. */
void transaction_stage(Session *s);
/* 25P02 when the block has failed, unless the statement (NULL: an empty one) ends that. */
void transaction_admit(const Session *s, const ParsedStmt *stmt);
/* 25006 for a write in a read-only transaction. */
void transaction_admit_write(const Session *s, const ParsedStmt *stmt);
/* The same, now that it is known whether the statement locks rows. */
void transaction_admit_plan(const Session *s, const CachedPlan *plan);
/* 25001 for a statement that must be alone; else its transaction ends with it. */
void transaction_admit_alone(Session *s, const ParsedStmt *stmt);
/* BEGIN and its like, up to what transaction_finish does. Returns the tag. */
const char *transaction_run(Session *s, const BStmt *b, const char *tag);
/* GUC_transaction_*: SET TRANSACTION, SET. */
void transaction_set_mode(Session *s, GucId id, const char *value);
/* The last statement of a Query, a transaction statement, or Sync: what was asked for happens, an implicit transaction is committed. */
void transaction_finish(Session *s);
/* The statement has ended, its transaction has not. */
void transaction_end_statement(Session *s);
/* After an error. Does not throw. */
void transaction_abort(Session *s);
/* SET LOCAL, LOCK, DECLARE and the like make sense here: a block, or one of several statements of a Query. */
bool transaction_in_block(const Session *s);
/* As ReadyForQuery says it: I, T, E. */
char transaction_status(const Session *s);
/* 1, and one more for every savepoint. */
u32 transaction_level(const Session *s);

/* ---- simple.c ---- */
void simple_query(Session *s, const WireMsg *m);

/* ---- extended.c ---- */
void extended_parse(Session *s, const WireMsg *m);
void extended_bind(Session *s, const WireMsg *m);
void extended_describe(Session *s, const WireMsg *m);
void extended_execute(Session *s, const WireMsg *m);
void extended_close(Session *s, const WireMsg *m);

/* ---- prepared.c ---- */
struct Prepared {
    Prepared *next;
    CachedPlan *plan; /* a reference */
    bool from_sql;    /* by PREPARE */
    i64 prepared_us;
    u64 runs;
    char name[];
};
/* name "" is the unnamed one. NULL when there is none. */
Prepared *prepared_find(Session *s, const char *name);
/* 42P05 when it is there. */
void prepared_put(Session *s, const char *name, CachedPlan *plan, bool from_sql);
/* Its plan, made again when the catalog has changed; with fixed_result 0A000 when it gives other columns then. */
CachedPlan *prepared_plan(Session *s, Prepared *p);
/* Does nothing when there is none. */
void prepared_drop(Session *s, const char *name);
/* All but the unnamed one. */
void prepared_drop_all(Session *s);
void prepared_each(Session *s, void (*visit)(void *ctx, const Prepared *p), void *ctx);
/* PREPARE. */
void prepared_make(Session *s, const CachedPlan *prepare);
/* EXECUTE: the portal becomes one of the prepared statement, with its arguments. */
void prepared_execute(Session *s, Portal *p);
/* EXPLAIN EXECUTE: the plan that would run, held by the portal, whose parameters are the arguments. */
const Plan *prepared_explain(Session *s, Portal *p);

/* ---- plans.c ---- */
PlanCache *plans_new(Arena *a);
/* The plan of this text, current; from the cache or NULL. */
CachedPlan *plans_find(Session *s, const char *text, u32 len, const TypeId *declared, u32 declared_count);
/* Parse, bind and plan one statement in an arena of its own, and cache it. */
CachedPlan *plans_make(Session *s, const char *text, u32 len, const TypeId *declared, u32 declared_count);
/* Bind and plan a parsed statement in the message's arena. */
CachedPlan *plans_make_once(Session *s, const char *text, u32 len, const ParsedStmt *parsed);
/* The statement inside of the PREPARE or DECLARE that begins at byte `outer` of the text, in an arena of its own; the caller holds it, or drops it by
 * plans_hold and plans_release. Declared types: those of PREPARE itself, or what is given. */
CachedPlan *plans_make_inner(Session *s, const char *text, u32 len, u32 outer, const TypeId *declared, u32 declared_count);
/* This text was asked for before, so caching its plan pays. */
bool plans_seen_before(Session *s, const char *text, u32 len);
/* Bound to today's catalog and parameters. */
bool plans_is_current(Session *s, const CachedPlan *p);
/* The same statement bound afresh, a reference. Keeps declared parameters; throws 0A000 when `fixed_result` and the columns have changed. */
CachedPlan *plans_again(Session *s, const CachedPlan *old, bool fixed_result);
/* p is about to give what `from` gives. */
void plans_copy_columns(CachedPlan *p, Arena *a, const CachedPlan *from);
bool plans_same_columns(const CachedPlan *a, const CachedPlan *b);
/* The arguments of an EXECUTE (or the one in an EXPLAIN) as a SELECT of one row, which has the parameter types of `plan`. In a's memory. */
Plan *plans_arguments(Session *s, Arena *a, const CachedPlan *execute, const CachedPlan *plan);
void plans_hold(CachedPlan *p);
void plans_release(Session *s, CachedPlan *p);
void plans_drop_all(Session *s);

/* ---- portal.c ---- */
Portal *portal_find(Session *s, const char *name);
/* A fresh portal holding a reference to the plan. 42P03 when a named one exists. */
Portal *portal_open(Session *s, const char *name, CachedPlan *plan);
void portal_close(Session *s, Portal *p);
/* All but those that are held from earlier transactions. */
void portal_close_all(Session *s);
/* All but the running one. */
void portal_close_others(Session *s);
/* Those opened at this level of savepoints or within it. */
void portal_close_from(Session *s, u32 level);
/* The same and the running one can not go on, but exist until their level ends. */
void portal_fail_from(Session *s, u32 level);
/* An error in a block that has failed already. */
void portal_fail_running(Session *s);
/* What FETCH was reading cannot go on. */
void portal_fail_fetched(Session *s);
/* They belong to the level outside of this one now. */
void portal_move_out(Session *s, u32 level);
/* What an execution for it needs. */
ExecContext portal_context(Session *s, Portal *p);
/* Make it ready to give rows: a write has then happened. portal_run does it when it was not done. */
void portal_start(Session *s, Portal *p);
/* A query of constants and parameters is evaluated when it is bound, and its errors come then. */
void portal_evaluate(Session *s, Portal *p);
/* Bind and plan again; the result must have the same columns. */
void portal_plan_again(Session *s, Portal *p);
/* It runs another plan from now on, which must have the same columns if any were told. */
void portal_take_plan(Session *s, Portal *p, CachedPlan *plan);
/* Start it (first time) and send up to max_rows (0: all). true: complete. */
bool portal_run(Session *s, Portal *p, u64 max_rows);
/* Rows forward or backward from where it stands, at most so many; take gets them (NULL: they are passed by). How many there were. */
typedef void (*PortalTake)(Session *s, Portal *to, const Batch *b, u32 first, u32 count);
u64 portal_forward(Session *s, Portal *p, u64 count, PortalTake take, Portal *to);
/* 55000 when it cannot scroll. */
u64 portal_backward(Session *s, Portal *p, u64 count, PortalTake take, Portal *to);
void portal_rewind(Session *s, Portal *p);
/* A PortalTake: `to` keeps them. */
void portal_keep(Session *s, Portal *to, const Batch *b, u32 first, u32 count);
/* Cursors WITH HOLD outlive the transaction that is about to commit: their rows are drawn into memory. */
void portal_hold_all(Session *s);
/* Rows of every suspended portal but this one are drawn into memory, so that the snapshot may move on; with `waiting` also of those that were bound
 * to a query and have not begun: they show what was there when they were bound. true: there were some. */
bool portal_detach_others(Session *s, const Portal *but, bool waiting);
/* It writes or locks rows: what it waits for makes it go on at a newer snapshot. */
bool portal_moves(const Portal *p);
/* A portal needs the snapshot. */
bool portal_any_holds(const Session *s);
/* Rows made at once: columns of text. */
void portal_set_rows(Portal *p, u32 column_count, const Str *values, u64 row_count);

/* What is left to say of a portal that is complete; it may then be closed. */
typedef struct PortalEnd { const char *tag; bool with_rows; u64 rows; } PortalEnd;
PortalEnd portal_end(const Portal *p);
/* CommandComplete. */
void portal_complete(Session *s, const PortalEnd *end);

/* ---- run.c ---- */
/* A statement that is not a SELECT: runs it and sets the portal's tag; SHOW and EXPLAIN fill its rows. */
void run_statement(Session *s, Portal *p);
/* The execution of a plan that gives rows, the portal's own or another; holds all row locks when it returns. The portal's plan may be another one then. */
Exec *run_open(Session *s, Portal *p, const Plan *plan, bool measured);

/* ---- call.c ---- */
/* ExprCall: functions that do something. */
Value session_call(void *session, const FuncDef *f, const Value *args);

/* ---- cursor.c ---- */
/* DECLARE. */
void cursor_declare(Session *s, const Portal *declare);
/* FETCH and MOVE: the running portal gives what is fetched. */
void cursor_fetch(Session *s, Portal *p);
/* What Describe says of FETCH: the columns of its portal. */
void cursor_describe(Session *s, CachedPlan *fetch, Arena *a);
/* CLOSE: to the tag that completes it. */
const char *cursor_close(Session *s, const BStmt *b);

/* ---- listen.c ---- */
/* LISTEN, UNLISTEN, NOTIFY: to the tag that completes it. */
const char *listen_run(Session *s, const BStmt *b);
/* UNLISTEN; NULL: all. */
void listen_forget(Session *s, const char *name);
/* pg_notify: 22023 for a channel or payload that is too long. */
void listen_notify(Session *s, Str channel, Str payload);
/* Of the transaction's LISTENs and UNLISTENs only so many are left. */
void listen_cut(Session *s, u32 mark);
/* Before the commit; at the end of a transaction: they happen, or are forgotten. */
void listen_before_commit(Session *s);
void listen_end(Session *s, bool kept);
/* Tell the client what there is for it; no transaction runs. */
void listen_deliver(Session *s);
/* For wire_on_wake: the same when the walwriter has rung and the session is idle. */
void listen_idle(void *session);
Str listen_channels(Session *s, Arena *a);
double listen_queue_usage(const Session *s);

/* ---- views.c ---- */
/* ExecContext.session_rows. */
void session_rows(struct SystemRows *r, u32 system_table);

/* ---- copyin.c ---- */
u64 copyin_run(Session *s, Portal *p);

/* ---- copyout.c ---- */
u64 copyout_run(Session *s, Portal *p);
/* RETURNING of a statement that has run, in p->exec. */
u64 copyout_changes(Session *s, Portal *p);

/* ---- utility.c ---- */
void utility_describe(Session *s, CachedPlan *p, Arena *a);
void utility_show(Session *s, Portal *p);
void utility_explain(Session *s, Portal *p);
/* SET, RESET, transaction statements, DEALLOCATE, DISCARD, CHECKPOINT, ALTER ROLE: to the tag that completes it. */
/* SET of one parameter; value NULL: to its default. */
void utility_set(Session *s, const char *name, const char *value, GucScope scope);
const char *utility_run(Session *s, const BStmt *b, const char *tag);

#endif
