/*
 * write.h
 *    What writes rows: the state of a statement that changes something, shared by write.c and upsert.c.
 */
#ifndef EXEC_WRITE_H
#define EXEC_WRITE_H

#include "backend/exec/run.h"

/* RETURNING: its rows are kept until the write is accepted. */
typedef struct Returning {
    Eval *evals;
    Vec *columns;
    VecBuf *text;
    RowStore store;
} Returning;

/* A row that several rows of the other tables join is changed once, by the first. */
typedef struct Seen {
    u64 mask, count;
    RowId *ids;    /* 0: empty */
    u16 *sel;
    Vec *columns;
    VecBuf *bufs;
} Seen;

typedef struct Writer {
    Exec *exec;
    TxnWrite *write;
    const TableDef *def;
    u32 column_count;     /* of the batches for txn */
    u16 *columns;         /* their table columns */
    i32 *from;            /* of each, the source's column; -1: NULL */
    Vec *vecs;
    VecBuf *convert, *text;
    Vec *null_vecs;       /* a column of NULLs for every missing one */
    Eval *defaults;       /* COPY: of the columns that may need theirs; by column, expr NULL: none */
    VecBuf *merged;       /* COPY: values and defaults of one column; with `defaults` */
    Eval where;           /* COPY: expr NULL: none */
    VecBuf *kept;
    u64 rows;
    u32 check_count;
    const BCheck *checks;
    Eval *check_evals;
    Returning *returning; /* NULL: none */
    Seen *seen;           /* UPDATE … FROM, DELETE … USING; NULL: a row comes once */
} Writer;

/* The batch for txn: one vector a column, of its physical form. */
void writer_shape(Writer *w, const Batch *b, Batch *ret);
/* Evaluates the CHECK constraints; what is broken is the error of the next txn_insert, txn_update or txn_check of `write`. */
void writer_look_at_checks(Writer *w, TxnWrite *write, const Batch *b);
void writer_keep_returning(Writer *w, const Batch *b);
/* Room for so many more ids; the first of an id. */
void seen_room(Worker *w, Seen *s, u32 more);
bool seen_enter(Seen *s, RowId id);
bool seen_has(const Seen *s, RowId id);

/* ---- upsert.c: INSERT … ON CONFLICT ---- */
typedef struct Upsert Upsert;
Upsert *upsert_open(Writer *w, const TableShm *table, const Plan *plan);
void upsert_batch(Upsert *u, const Batch *b);
TxnOutcome upsert_finish(Upsert *u);

#endif
