/*
 * expr_prog.h
 *    The inside of a program: registers, instructions, blocks; shared by expr_compile.c, expr_func.c, expr_cast.c,
 *    expr_run.c, expr_dict.c.
 *
 * A program is a block of instructions over registers, each a vector. An instruction may own blocks of its own: they
 * run over some of the rows only (branches of CASE, the right side of AND when it could fail). Inside a block every
 * register is dense over the rows of that block.
 *
 *   E1  A register is written once a run of its block and read only after; registers of a block live as long as the
 *   block's result.
 *   E2  Registers whose value is known when compiling (is_const) hold it in the program; parameters are constants of
 *   a state.
 *   E3  A program never changes after expr_compile; whatever a run writes is in ExprState.
 */
#ifndef EXPR_PROG_H
#define EXPR_PROG_H

#include "backend/kern/call.h"
#include "backend/plan/expr.h"

typedef u16 Reg;
enum { REG_NONE = 0xffff, EXPR_MAX_REGS = 0xfff0 };

typedef struct RegInfo {
    PhysType phys;
    u8 scale;
    bool is_const, is_null; /* E2 */
    _Alignas(16) u8 value[24];
} RegInfo;

typedef enum InsKind {
    INS_LOAD,     /* index: batch column */
    INS_PARAM,    /* index: parameter; type, typmod */
    INS_MAP,      /* one value: map */
    INS_MAP2,     /* two: shapes */
    INS_ROWS,     /* row function over args; index: its place in ExprState.kept */
    INS_SESSION,  /* def->op says what of the session */
    INS_AND,      /* two truth values */
    INS_OR,
    INS_NOT,
    INS_GUARD,    /* args[0] AND/OR block 0, evaluated where args[0] does not decide; negated: OR */
    INS_IS_NULL,  /* negated */
    INS_IS_BOOL,  /* index: 0 false, 1 true, 2 unknown; negated */
    INS_DISTINCT, /* args: a, b, their equality; negated: IS NOT DISTINCT */
    INS_NULLIF,   /* args: a, equality */
    INS_CASE,     /* blocks: cond, result, …, else */
    INS_COALESCE, /* blocks: the arguments */
    INS_GREATEST, /* args: so far, next; index: KernType; negated: LEAST */
    INS_IN_SET,   /* set */
    INS_DICT,     /* dict */
    INS_SUBQUERY, /* index: of the statement's subqueries; param: SubArgs */
    INS_ARRAY,    /* param: ArrayArgs */
    INS_SUBSCRIPT, /* param: ArrayArgs; negated: a slice */
    INS_ANY,      /* param: ArrayArgs; negated: ALL; block 0: the comparison */
} InsKind;

struct ExprSet;
struct DictTest;
typedef struct SubArgs {
    u32 count;
    Reg *regs;
} SubArgs;

/* Of ARRAY, SUBSCRIPT, ANY. */
typedef struct ArrayArgs {
    u32 count;
    Reg *regs;
    TypeId *types;
    const BExpr *expr;
    Reg item;     /* ANY: gets the element at hand */
    bool use_set; /* ANY: equality that a hash set can tell, when the array is a constant */
    u32 slot;     /* ANY: of ExprState.anys */
} ArrayArgs;

typedef struct Block {
    struct Ins *ins;
    u32 count, capacity;
    Reg result;
} Block;

typedef struct Ins {
    InsKind kind;
    Reg ret, args[FUNC_MAX_ARGS];
    u8 arg_count;
    bool strict, negated, per_row; /* per_row: not a constant although no argument varies */
    TypeId type;                   /* of the result, for messages */
    i32 typmod;
    u32 index;
    union {
        MapKernel map;
        MapShapes shapes;
        KernRow row;
        const struct ExprSet *set;
        struct DictTest *dict;
    };
    const FuncDef *def;
    const void *param;
    u32 block_count;
    Block *blocks;
} Ins;

/* A truth value that depends on one text column only: run once per dictionary code, or on the text itself. */
typedef struct DictTest {
    u32 column;
    Block block;    /* runs over batches whose only column is this one */
    bool is_compare; /* column = or <> constant: the code is found once */
    bool negated;
    Reg constant;
    u32 slot;        /* of ExprState.dicts */
} DictTest;

struct ExprProg {
    u32 reg_count;
    RegInfo *regs;
    Block root;              /* value */
    u32 conjunct_count;      /* the same as conditions to be met one after the other, for a boolean program */
    Block *conjuncts;
    bool *conjunct_alone;    /* wants only the rows that passed so far (could fail, or costs much) */
    PhysType phys;
    u8 scale;
    bool is_const, is_column;
    u32 column;              /* is_column */
    TypeId type;
    i32 typmod;
    u32 dict_count;
    u32 any_count;
    u32 kept_count;          /* uses of functions that keep something */
    u32 param_count;         /* highest parameter + 1 */
};

/* ---- compiling ---- */

/* A compiled subexpression. digits: the most decimal digits that the scaled integer of a decimal form can have. */
typedef struct Operand {
    Reg reg;
    PhysType phys;
    u8 scale, digits;
    bool steady; /* the same for all rows of a run: constants, parameters, stable functions of them */
} Operand;

typedef struct Compiler {
    Arena *arena;
    ExprProg *prog;
    const ExprMap *map;
    const KernTable *kern;
    Block *block;       /* where instructions go */
    u32 reg_capacity;
    bool no_fold;
    Operand items[2];   /* inside the comparison of ANY: BX_ITEM */
    /* inside a DictTest: this leaf is the register */
    const BExpr *dict_leaf;
    /* column loads of the current block */
    u32 load_count;
    struct { u32 column; Reg reg; } loads[32];
} Compiler;

Reg expr_new_reg(Compiler *c, PhysType phys, u8 scale);
Ins *expr_emit(Compiler *c, InsKind kind, Reg ret);
static inline RegInfo *expr_reg(const Compiler *c, Reg r) { return &c->prog->regs[r]; }
/* Instructions between begin and end go into a block of their own. */
typedef struct BlockScope { Block *outer; u32 load_count; } BlockScope;
BlockScope expr_block_begin(Compiler *c, Block *b);
void expr_block_end(Compiler *c, BlockScope s, Reg result);

Operand expr_node(Compiler *c, const BExpr *e);
Operand expr_constant(Compiler *c, const Value *v);
Operand expr_null(Compiler *c, TypeId type, i32 typmod);
bool expr_known(const Compiler *c, Operand o);      /* constant when compiling */
bool expr_known_null(const Compiler *c, Operand o);
/* expr_func.c */
Operand expr_function(Compiler *c, const BExpr *e);
/* of values of this type (which the function may leave open) */
Operand expr_compare(Compiler *c, const FuncDef *f, TypeId type, Operand a, Operand b);
bool expr_may_fail(const BExpr *e);
CompareOp expr_compare_op(FuncOp op);
/* expr_cast.c */
Operand expr_cast(Compiler *c, const BExpr *e);
bool expr_cast_steady(TypeId from, TypeId to);      /* may be folded: depends on no setting */
Operand expr_widen(Compiler *c, Operand o, PhysType to); /* integers and floats */
/* between decimal forms; the value must have room */
Operand expr_decimal(Compiler *c, Operand o, PhysType to, u8 scale);
Operand expr_row_cast(Compiler *c, Operand o, PhysType to, u8 scale, KernRow row, const void *param);
bool expr_is_decimal(Operand o);                    /* D64 or D128 */
/* The form for so many digits (at most 38): 8 bytes hold 18, and scales to 18. */
static inline PhysType
expr_decimal_phys(u32 digits, u32 scale)
{
    return digits <= 18 && scale <= 18 ? PHYS_D64 : PHYS_D128;
}
/* expr_in.c: IN over constants; false: make it of comparisons */
bool expr_in_set(Compiler *c, const BExpr *e, Operand x, Operand *ret);
void expr_set_test(const struct ExprSet *set, const Vec *v, u32 count, u8 *ret, u8 *ret_nulls);
bool expr_set_has_null(const struct ExprSet *set);
/* expr_array.c */
Operand expr_array(Compiler *c, const BExpr *e); /* ARRAY[…], subscripts */
Operand expr_any(Compiler *c, const BExpr *e);
/* expr_quote.c: NULL, it is none of its functions */
KernRow expr_quote_row(FuncOp op);
/* expr_dict.c */
bool expr_dict(Compiler *c, const BExpr *e, Operand *ret);

/* ---- running ---- */
typedef struct RegState {
    Vec vec;
    void *data;     /* VEC_SIZE values, taken when first wanted */
    u8 *null_mask;
    _Alignas(16) u8 one[24]; /* a single value */
    u8 one_null;
} RegState;

/* What is known of a dictionary: per code 0 = not yet, else truth + 1 (2 = NULL). */
typedef struct DictCache {
    u64 dict_id;
    u32 count;
    u32 code;         /* is_compare */
    u8 *table;
    u64 rows_seen;
    u8 null_result;   /* of a NULL row; 0 = not yet */
    bool known;
} DictCache;

struct ExprState {
    Arena *arena;
    const ExprProg *prog;
    const ExprEnv *env;
    const KernTable *kern;
    RegState *regs;
    DictCache *dicts;
    struct AnySet **anys;
    void **kept;
    u64 random[2];
    Arena *scratch; /* of the running call */
    Error error;
};

/* Rows of a batch: all, or those in sel. */
typedef struct Frame {
    const Batch *batch;
    u32 count;
    const u16 *sel;
} Frame;

/* false: s->error is set. */
bool expr_run(ExprState *s, const Block *b, const Frame *f);
/* The register as the result of `rows` values (1: constant): sets vec and returns its data. */
void *expr_result(ExprState *s, Reg r, u32 rows, bool is_const);
u8 *expr_result_nulls(ExprState *s, Reg r, u32 rows);
bool expr_run_dict(ExprState *s, const Ins *ins, const Frame *f);
bool expr_run_array(ExprState *s, const Ins *ins, const Frame *f);
bool expr_run_subscript(ExprState *s, const Ins *ins, const Frame *f);
bool expr_run_any(ExprState *s, const Ins *ins, const Frame *f);
bool expr_run_session(ExprState *s, const Ins *ins, const Frame *f);
/* Gathers a column of the frame; text is decoded unless keep_codes. */
void expr_load(ExprState *s, Reg ret, u32 column, const Frame *f);
/* expr_eval without the throw, for folding. */
bool expr_try(ExprState *s, Arena *scratch, const Batch *b, Vec *ret);

#endif
