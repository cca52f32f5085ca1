/*
 * pred.h
 *    Scan predicates at run time: ranges as one unsigned comparison, byte masks, conditions decided per dictionary entry.
 */
#ifndef PRED_H
#define PRED_H

#include "backend/exec/run.h"

/* A row passes when (value - lo) <= span, unsigned, in the width of the value. Ranges may wrap: NaN of decimals is the smallest integer but above
 * everything, and <> is everything else. */
typedef struct RangeTest {
    PhysType phys;
    bool none;     /* no row passes */
    u64 lo, span;
} RangeTest;

RangeTest range_test(PhysType phys, u32 scale, PlanOp op, const Value *v);
/* May any value between min and max (as stored) pass? */
bool range_may_pass(const RangeTest *t, const void *min, const void *max);
/* mask[i] = passes (first) or mask[i] &= passes. NULLs do not pass. */
void range_mask(const RangeTest *t, const Vec *v, u32 count, bool first, u8 *mask);
/* The value as the column's type, for a key lookup; false: no row can be equal. */
bool key_value(const Value *v, const ColumnDef *c, Value *ret);

/* ---- mask.c ---- */
void mask_range_u8(const u8 *v, u32 count, u8 lo, u8 span, bool first, u8 *mask);
void mask_range_u16(const u16 *v, u32 count, u16 lo, u16 span, bool first, u8 *mask);
void mask_range_u32(const u32 *v, u32 count, u32 lo, u32 span, bool first, u8 *mask);
void mask_range_u64(const u64 *v, u32 count, u64 lo, u64 span, bool first, u8 *mask);
void mask_codes(const u32 *codes, u32 count, const u8 *truth, bool first, u8 *mask);
void mask_and_not(const u8 *nulls, u32 count, u8 *mask);
void mask_and_deleted(const u64 *bits, u32 first_row, u32 count, u8 *mask);
u32 mask_count(const u8 *mask, u32 count);
u32 mask_positions(const u8 *mask, u32 count, u16 *sel);

/* ---- text predicates ---- */
typedef struct TextTruth {
    const DictShm *dict;
    u32 count;   /* codes decided */
    u8 *truth;   /* a byte a code */
    u32 code;    /* equal_text: the one code that passes, DICT_NONE when there is none */
} TextTruth;

typedef struct TextPred {
    const PlanPred *pred;
    bool by_code;   /* column = value: one code passes */
    bool none;      /* column = NULL */
    bool null_true; /* what the condition says about NULL */
    Str equal;
    TextTruth shared; /* of the dictionary that most blocks use, made before the scan starts */
} TextPred;

/* One thread's. */
typedef struct TextPredState {
    ExprState *state;
    TextTruth own; /* of another dictionary */
    Str *decoded;
    u16 *sel;
} TextPredState;

void text_pred_open(Exec *e, TextPred *t, const PlanPred *pred, const DictShm *usual, u64 rows);
void text_pred_thread(TextPredState *s, Worker *w, const TextPred *t);
void text_pred_mask(const TextPred *t, TextPredState *s, Worker *w, const Vec *v, u32 count, u64 rows, bool first, u8 *mask);

#endif
