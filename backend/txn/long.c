/*
 * long.c
 *    Long texts on their way to the walwriter: in pieces, as requests of their own before the part whose rows name them.
 *
 * Pieces are collected in the request area until it is full, so that many texts of a wide row are few requests; a text of megabytes goes straight from
 * where it stands into the area, piece by piece. Nothing is copied anywhere else.
 * Invariant: whoever else writes into the area has called write_pieces_end and write_collect before.
 * Fails by throwing what the walwriter answers: 53200 without memory for the whole text.
 */
#include "backend/txn/write.h"

#include "backend/throw.h"
#include "common/disk/record.h"
#include "common/disk/wal.h"

enum { PIECE_LEAST = 4096, PIECE_HEADS = RECORD_HEAD_BYTES + TEXT_PIECE_HEAD_BYTES };

void
write_pieces_end(TxnWrite *w)
{
    if (!w->piece_records)
        return;
    ask_post(w->txn, REQ_PART, 0, w->piece_bytes, w->piece_records);
    w->pieces_asked = w->sent = true;
    w->piece_bytes = w->piece_records = 0;
}

/* Room in the area for a piece of at least `want` bytes, or of PIECE_LEAST; 0: the rest of the statement is pointless. */
static u32
piece_room(TxnWrite *w, u32 want)
{
    if (w->piece_bytes + PIECE_HEADS + MIN(want, (u32)PIECE_LEAST) > PART_MAX_BYTES)
        write_pieces_end(w);
    write_collect(w);
    return w->early == TXN_DONE ? PART_MAX_BYTES - w->piece_bytes - PIECE_HEADS : 0;
}

u32
write_long_text(TxnWrite *w, const WriteColumn *c, Str s)
{
    u32 number = ++w->longs;
    if (s.len > TEXT_WHOLE_MAX)
        err_throw(ERR_PROGRAM_LIMIT_EXCEEDED, "a value has at most %d bytes", (int)TEXT_WHOLE_MAX);
    for (u32 at = 0, n; at < s.len; at += n) {
        u32 room = piece_room(w, s.len - at);
        if (!room)
            return number;
        n = MIN(s.len - at, room);
        TextPiece piece = {.table_id = w->def->table_id, .schema_version = w->def->schema_version, .column = c->number, .number = number,
                           .whole = s.len, .offset = at, .len = n, .bytes = (const u8 *)s.ptr + at};
        u8 *to = ask_area(w->txn) + w->piece_bytes;
        text_piece_write(&piece, to + RECORD_HEAD_BYTES);
        w->piece_bytes += record_frame(to, WAL_TEXT_PIECE, 0, TEXT_PIECE_HEAD_BYTES + n);
        w->piece_records++;
    }
    return number;
}
