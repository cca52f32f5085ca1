/*
 * window.h
 *    What the files of window functions share: the partition in work, and frames.
 */
#ifndef EXEC_WINDOW_H
#define EXEC_WINDOW_H

#include "backend/exec/sort.h"

typedef struct Frame {
    i64 start, end; /* positions; end is behind the last one */
} Frame;

/* A frame without what EXCLUDE takes out, in order. */
typedef struct FramePieces {
    u32 count;
    Frame at[3];
} FramePieces;

typedef struct Window {
    Exec *exec;
    const PlanNode *node;
    const PlanWindow *plan;
    RowFlat *rows;
    u32 *order;
    i64 count;
    /* of the partition in work */
    i64 first, end;          /* its positions */
    i64 known_first, known_end; /* those whose first order key is not NULL; RANGE with an offset only */
    i64 *peer_first, *peer_end; /* a position: its peers */
    i64 start_offset, end_offset; /* rows, groups */
    Value start_step, end_step;   /* RANGE */
} Window;

/* Offsets of the frame. Throws: NULL, negative. */
void frame_open(Window *w);
/* Peers and the partition's first and end are known. */
void frame_partition(Window *w);
Frame frame_at(const Window *w, i64 at);
FramePieces frame_pieces(const Window *w, i64 at);
/* The n-th position of a frame from 1, of -1 the last; -1: there is none. */
i64 frame_position(const FramePieces *p, i64 n);

#endif
