/*
 * net.h
 *    The wire: bytes of a connection into messages and back. Knows no SQL.
 *
 * All functions may throw: 08P01 and a lost connection are fatal, and after the latter wire_is_dead() says that nothing can be sent any more.
 * Replies are collected and leave with wire_flush (or when 64 KiB are waiting), so a batch of answers is one write.
 */
#ifndef NET_H
#define NET_H

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/base/scram.h"
#include "common/type/type.h"
#include "common/type/vec.h"

typedef struct Wire Wire;

typedef enum MsgFront {
#define FRONT_MESSAGE(byte, symbol, phases, longest) MSG_F_##symbol = byte,
#define BACK_MESSAGE(byte, symbol)
#include "backend/net/messages.def"
} MsgFront;

typedef enum MsgBack {
#define FRONT_MESSAGE(byte, symbol, phases, longest)
#define BACK_MESSAGE(byte, symbol) MSG_B_##symbol = byte,
#include "backend/net/messages.def"
} MsgBack;

typedef enum WirePhase { PHASE_AUTH = 1, PHASE_COMMAND = 2, PHASE_COPY = 4 } WirePhase;

/* The longest startup packet, without its length; the longest body of a message. */
enum { WIRE_STARTUP_MAX = 10000, WIRE_MESSAGE_MAX = 0x3fffffff };

/* ---- wire.c ---- */

/* Takes an accepted socket; wake_fd (may be -1) is the eventfd that signal handlers write. NULL without memory. */
Wire *wire_new(int fd, int wake_fd);
/* Frees; does not close the socket. */
void wire_free(Wire *w);

typedef struct WireMsg {
    u8 type;       /* MsgFront */
    u32 len;       /* of the body */
    const u8 *body; /* valid until the next read */
} WireMsg;

/* The next message. Waits: in PHASE_COMMAND as an idle session (a cancel is dropped), else as a running one (a cancel throws).
 * false: the peer has gone. A type that the phase does not allow throws 08P01, fatal unless in PHASE_COPY. */
bool wire_read(Wire *w, WirePhase phase, WireMsg *ret);
/* A packet without type byte (startup). false: the peer has gone, or sent a length outside of 8 … 10,004 bytes. */
bool wire_read_startup(Wire *w, WireMsg *ret);
/* Bytes are there that no message has used yet. */
bool wire_has_input(const Wire *w);
/* The next message stands complete in the buffer and is of this type. */
bool wire_next_is(const Wire *w, MsgFront type);
/* Bytes that may be received until the limit is lifted (0: none). */
void wire_limit(Wire *w, u64 received_max_bytes);
/* The moment (monotonic ns, 0: none) at which waiting for the peer ends with this fatal error. */
void wire_deadline(Wire *w, u64 deadline_ns, ErrCode code, const char *message);
/* Called while a session that waits for a message has been woken and nothing of one has come; it may send. */
void wire_on_wake(Wire *w, void (*woken)(void *ctx), void *ctx);
void wire_flush(Wire *w);
bool wire_is_dead(const Wire *w);
/* A single byte, at once: the answer to SSLRequest. */
void wire_send_byte(Wire *w, u8 byte);

/* ---- startup.c ---- */
typedef struct StartupParam { const char *name, *value; } StartupParam;
typedef struct Startup {
    const char *user, *database; /* database NULL: none named */
    const char *options;         /* command-line words, NULL none */
    u32 param_count;
    StartupParam *params; /* settings in order */
} Startup;

/* A CancelRequest: pid and key bytes. No answer is sent. */
typedef void (*StartupCancel)(void *ctx, u32 pid, const u8 *key, u32 key_len);
/* Up to and with the startup packet, NegotiateProtocolVersion included. false: close without a word. Throws fatal errors. */
bool startup_read(Wire *w, Arena *a, Startup *ret, StartupCancel cancel, void *ctx);

/* The words of `options` become settings before the others, which win over them. Throws fatal errors. */
void startup_options(Arena *a, Startup *s);

/* ---- sasl.c ---- */
/* The SCRAM-SHA-256 exchange up to the server's final message, or a throw. false: the proof is wrong. */
bool sasl_exchange(Wire *w, const ScramVerifier *v);

/* ---- reply.c ---- */
typedef enum ReplySeverity { REPLY_NOTICE, REPLY_WARNING, REPLY_ERROR, REPLY_FATAL } ReplySeverity;
void reply_error(Wire *w, ReplySeverity severity, const Error *err);
/* A text of any length and nothing else. */
void reply_notice(Wire *w, ReplySeverity severity, ErrCode code, const char *text);

void reply_auth(Wire *w, u32 code, const void *data, u32 len);
void reply_key_data(Wire *w, u32 pid, u32 key);
void reply_notification(Wire *w, i32 pid, const char *channel, const char *payload);
void reply_parameter(Wire *w, const char *name, const char *value);
void reply_negotiate(Wire *w, u32 newest, const char *const *unknown, u32 count);
void reply_ready(Wire *w, char transaction_state);
/* Messages without a body: MSG_B_PARSE_COMPLETE and the like. */
void reply_empty(Wire *w, MsgBack type);
void reply_complete(Wire *w, const char *tag);
/* "INSERT 0 5", "SELECT 5": tag, a blank, and the count. */
void reply_complete_rows(Wire *w, const char *tag, u64 rows);
void reply_parameter_description(Wire *w, const TypeId *types, u32 count);
void reply_copy_in(Wire *w, bool binary, u32 column_count);
void reply_copy_out(Wire *w, bool binary, u32 column_count);

typedef struct ReplyColumn {
    Str name;
    u32 table_oid;
    u16 attribute;
    TypeId type;
    i32 typmod;
    bool binary;
} ReplyColumn;
void reply_row_description(Wire *w, const ReplyColumn *columns, u32 count);
/* Rows [first, first + count) of b as DataRow messages. */
void reply_rows(Wire *w, const TypeFormat *f, const ReplyColumn *columns, u32 column_count, const Batch *b, u32 first, u32 count);
/* The same appended to a buffer until it holds more than stop_bytes, or a row cannot be added. How many rows; 0: the first could not, without memory or because
 * it is longer than a message may be (then the buffer holds it). */
u32 reply_rows_to(ByteBuf *to, const TypeFormat *f, const ReplyColumn *columns, u32 column_count, const Batch *b, u32 first, u32 count, size_t stop_bytes);
/* Bytes made by reply_rows_to. */
void reply_raw(Wire *w, const u8 *data, size_t len);

/* ---- bodies of messages, read strictly: a short or overlong one throws 08P01 ---- */
const char *body_string(ByteReader *r); /* terminated, in place; valid UTF-8 */
void body_end(const ByteReader *r);
NORETURN void body_bad(const char *message);

#endif
