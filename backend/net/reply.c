/*
 * reply.c
 *    Messages to the client, except rows (reply_rows.c).
 *
 * Every message is built in the connection's output buffer: type, a gap for the length, body; the gap is filled at the end. Without memory the
 * unfinished message is taken back and 53200 thrown, so the stream stays in step.
 */
#include "backend/net/wire.h"

#include "backend/throw.h"

#include <stdio.h>

static size_t
begin(Wire *w, MsgBack type)
{
    size_t at = w->out.len;
    buf_u8(&w->out, (u8)type);
    buf_be32(&w->out, 0);
    return at;
}

static void
finish(Wire *w, size_t at)
{
    bool too_long = w->out.len - at > WIRE_MESSAGE_MAX;
    if (w->out.failed || too_long) {
        w->out.len = at;
        w->out.failed = false;
        err_throw(too_long ? ERR_PROGRAM_LIMIT_EXCEEDED : ERR_OUT_OF_MEMORY, "out of memory");
    }
    put_be32(w->out.data + at + 1, (u32)(w->out.len - at - 1));
    if (w->out.len > WIRE_SEND_BYTES)
        wire_flush(w);
}

static void
put_string(Wire *w, const char *s)
{
    buf_put(&w->out, s, strlen(s) + 1);
}

static void
put_field(Wire *w, char code, const char *text)
{
    if (*text) {
        buf_u8(&w->out, (u8)code);
        put_string(w, text);
    }
}

static size_t
begin_report(Wire *w, ReplySeverity severity, ErrCode code, const char *text)
{
    static const char *const NAMES[] = {[REPLY_NOTICE] = "NOTICE", [REPLY_WARNING] = "WARNING", [REPLY_ERROR] = "ERROR", [REPLY_FATAL] = "FATAL"};
    size_t at = begin(w, severity >= REPLY_ERROR ? MSG_B_ERROR_RESPONSE : MSG_B_NOTICE_RESPONSE);
    put_field(w, 'S', NAMES[severity]);
    put_field(w, 'V', NAMES[severity]);
    put_field(w, 'C', errcode_sqlstate(code));
    put_field(w, 'M', text);
    return at;
}

void
reply_notice(Wire *w, ReplySeverity severity, ErrCode code, const char *text)
{
    size_t at = begin_report(w, severity, code, text);
    buf_u8(&w->out, 0);
    finish(w, at);
}

void
reply_error(Wire *w, ReplySeverity severity, const Error *err)
{
    char position[16] = "";
    size_t at = begin_report(w, severity, err->code, *err->message ? err->message : "missing error text");
    if (err->position)
        snprintf(position, sizeof position, "%u", err->position);
    put_field(w, 'D', err->detail);
    put_field(w, 'H', err->hint);
    put_field(w, 'P', position);
    put_field(w, 'W', err->context);
    put_field(w, 's', *err->table ? "public" : "");
    put_field(w, 't', err->table);
    put_field(w, 'c', err->column);
    put_field(w, 'n', err->constraint);
    put_field(w, 'R', err->routine);
    buf_u8(&w->out, 0);
    finish(w, at);
}

void
reply_auth(Wire *w, u32 code, const void *data, u32 len)
{
    size_t at = begin(w, MSG_B_AUTHENTICATION);
    buf_be32(&w->out, code);
    if (len)
        buf_put(&w->out, data, len);
    finish(w, at);
}

void
reply_key_data(Wire *w, u32 pid, u32 key)
{
    size_t at = begin(w, MSG_B_BACKEND_KEY_DATA);
    buf_be32(&w->out, pid);
    buf_be32(&w->out, key);
    finish(w, at);
}

void
reply_notification(Wire *w, i32 pid, const char *channel, const char *payload)
{
    size_t at = begin(w, MSG_B_NOTIFICATION_RESPONSE);
    buf_be32(&w->out, (u32)pid);
    put_string(w, channel);
    put_string(w, payload);
    finish(w, at);
}

void
reply_parameter(Wire *w, const char *name, const char *value)
{
    size_t at = begin(w, MSG_B_PARAMETER_STATUS);
    put_string(w, name);
    put_string(w, value);
    finish(w, at);
}

void
reply_negotiate(Wire *w, u32 newest, const char *const *unknown, u32 count)
{
    size_t at = begin(w, MSG_B_NEGOTIATE_PROTOCOL_VERSION);
    buf_be32(&w->out, newest);
    buf_be32(&w->out, count);
    for (u32 i = 0; i < count; i++)
        put_string(w, unknown[i]);
    finish(w, at);
}

void
reply_ready(Wire *w, char transaction_state)
{
    size_t at = begin(w, MSG_B_READY_FOR_QUERY);
    buf_u8(&w->out, (u8)transaction_state);
    finish(w, at);
}

void
reply_empty(Wire *w, MsgBack type)
{
    finish(w, begin(w, type));
}

void
reply_complete(Wire *w, const char *tag)
{
    size_t at = begin(w, MSG_B_COMMAND_COMPLETE);
    put_string(w, tag);
    finish(w, at);
}

void
reply_complete_rows(Wire *w, const char *tag, u64 rows)
{
    char digits[20];
    u32 n = sizeof digits;
    size_t at = begin(w, MSG_B_COMMAND_COMPLETE);
    do {
        digits[--n] = (char)('0' + rows % 10);
        rows /= 10;
    } while (rows);
    buf_put(&w->out, tag, strlen(tag));
    buf_u8(&w->out, ' ');
    buf_put(&w->out, digits + n, sizeof digits - n);
    buf_u8(&w->out, 0);
    finish(w, at);
}

void
reply_parameter_description(Wire *w, const TypeId *types, u32 count)
{
    size_t at = begin(w, MSG_B_PARAMETER_DESCRIPTION);
    buf_be16(&w->out, (u16)count);
    for (u32 i = 0; i < count; i++)
        buf_be32(&w->out, type_oid(types[i]));
    finish(w, at);
}

static void
copy_response(Wire *w, MsgBack type, bool binary, u32 column_count)
{
    size_t at = begin(w, type);
    buf_u8(&w->out, binary);
    buf_be16(&w->out, (u16)column_count);
    for (u32 i = 0; i < column_count; i++)
        buf_be16(&w->out, binary);
    finish(w, at);
}

void
reply_copy_in(Wire *w, bool binary, u32 column_count)
{
    copy_response(w, MSG_B_COPY_IN, binary, column_count);
}

void
reply_copy_out(Wire *w, bool binary, u32 column_count)
{
    copy_response(w, MSG_B_COPY_OUT, binary, column_count);
}

void
reply_row_description(Wire *w, const ReplyColumn *columns, u32 count)
{
    size_t at = begin(w, MSG_B_ROW_DESCRIPTION);
    buf_be16(&w->out, (u16)count);
    for (u32 i = 0; i < count; i++) {
        const ReplyColumn *c = &columns[i];
        buf_put(&w->out, c->name.ptr, c->name.len);
        buf_u8(&w->out, 0);
        buf_be32(&w->out, c->table_oid);
        buf_be16(&w->out, c->attribute);
        buf_be32(&w->out, type_oid(c->type));
        buf_be16(&w->out, (u16)type_wire_len(c->type));
        buf_be32(&w->out, (u32)c->typmod);
        buf_be16(&w->out, c->binary);
    }
    finish(w, at);
}

void
reply_raw(Wire *w, const u8 *data, size_t len)
{
    buf_put(&w->out, data, len);
    if (w->out.failed) {
        w->out.failed = false;
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    }
    if (w->out.len > WIRE_SEND_BYTES)
        wire_flush(w);
}

void
reply_rows(Wire *w, const TypeFormat *f, const ReplyColumn *columns, u32 column_count, const Batch *b, u32 first, u32 count)
{
    for (u32 done = 0, n; done < count; done += n) {
        size_t at = w->out.len;
        n = reply_rows_to(&w->out, f, columns, column_count, b, first + done, count - done, WIRE_SEND_BYTES);
        if (!n) {
            bool too_long = w->out.len - at > WIRE_MESSAGE_MAX;
            w->out.len = at;
            w->out.failed = false;
            err_throw(too_long ? ERR_PROGRAM_LIMIT_EXCEEDED : ERR_OUT_OF_MEMORY, "out of memory");
        }
        if (w->out.len > WIRE_SEND_BYTES)
            wire_flush(w);
    }
}
