/*
 * listen.c
 *    LISTEN, NOTIFY and UNLISTEN of this session: the channels it hears, what becomes of that at the end of a transaction, and what the client is told.
 *
 * LISTEN and UNLISTEN are noted and happen at the commit; a session begins to read the queue (shm/notify.h) right before the commit of its first LISTEN, so
 * that it misses nothing that is committed later. It reads when no transaction runs: before it says that it is ready, and when the
 * walwriter's signal wakes it while it waits for a message. What it does not read stays in the queue, for it alone.
 * Writes: the box's pub_notify_read.
 */
#include "backend/session.h"

#include "backend/throw.h"
#include "common/shm/publish.h"
#include "common/type/array.h"

#include <stdio.h>
#include <stdlib.h>

struct ListenChannel {
    ListenChannel *next;
    char name[NAME_BYTES];
};

struct ListenChange {
    ListenChange *older;
    bool listen;
    char name[NAME_BYTES]; /* UNLISTEN: "" is all */
};

static ListenChannel **
find_channel(Session *s, const char *name)
{
    ListenChannel **at = &s->channels;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

/* ---- in the transaction ---- */

static void
note(Session *s, bool listen, const char *name)
{
    ListenChange *c = calloc(1, sizeof *c);
    if (!c)
        err_throw(ERR_OUT_OF_MEMORY, "out of memory");
    c->listen = listen;
    snprintf(c->name, sizeof c->name, "%s", name);
    c->older = s->listen_changes;
    s->listen_changes = c;
    s->listen_change_count++;
}

const char *
listen_run(Session *s, const BStmt *b)
{
    switch ((int)b->kind) {
    case BST_LISTEN: note(s, true, b->name); return "LISTEN";
    case BST_UNLISTEN: listen_forget(s, b->name); return "UNLISTEN";
    default: break;
    }
    listen_notify(s, str_of(b->name), str_of(b->text ? b->text : ""));
    return "NOTIFY";
}

void
listen_forget(Session *s, const char *name)
{
    if (s->channels || s->listen_changes)
        note(s, false, name ? name : "");
}

void
listen_notify(Session *s, Str channel, Str payload)
{
    if (channel.len == 0)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "channel name cannot be empty");
    if (channel.len > NOTIFY_CHANNEL_MAX)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "channel name too long");
    if (payload.len > NOTIFY_PAYLOAD_MAX)
        err_throw(ERR_INVALID_PARAMETER_VALUE, "payload string too long");
    txn_notify(s->txn, channel, payload);
}

/* ---- the end of the transaction ---- */

void
listen_cut(Session *s, u32 mark)
{
    while (s->listen_change_count > mark) {
        ListenChange *c = s->listen_changes;
        s->listen_changes = c->older;
        s->listen_change_count--;
        free(c);
    }
}

void
listen_before_commit(Session *s)
{
    const NotifyShm *n = &s->boot->shm.writer->notify;
    bool listens = false;
    for (const ListenChange *c = s->listen_changes; c; c = c->older)
        listens |= c->listen;
    if (!listens || s->box->pub_notify_read)
        return;
    u64 end;
    do { /* until the walwriter is sure to see it before it overwrites what follows */
        end = observe_u64(&n->pub_end);
        publish_u64_fenced(&s->box->pub_notify_read, end + 1);
    } while (observe_u64(&n->pub_end) != end);
}

static void
unlisten(Session *s, const char *name)
{
    if (name[0]) {
        ListenChannel **at = find_channel(s, name), *gone = *at;
        if (gone)
            *at = gone->next;
        free(gone);
        return;
    }
    while (s->channels) {
        ListenChannel *gone = s->channels;
        s->channels = gone->next;
        free(gone);
    }
}

static void
apply(Session *s, const ListenChange *c)
{
    if (!c)
        return;
    apply(s, c->older);
    if (!c->listen) {
        unlisten(s, c->name);
        return;
    }
    ListenChannel **at = find_channel(s, c->name);
    if (*at || !(*at = calloc(1, sizeof **at)))
        return;
    memcpy((*at)->name, c->name, sizeof c->name);
}

void
listen_end(Session *s, bool kept)
{
    if (LIKELY(!s->listen_changes))
        return;
    if (kept)
        apply(s, s->listen_changes);
    listen_cut(s, 0);
    if (!s->channels)
        publish_u64(&s->box->pub_notify_read, 0);
}

/* ---- delivering ---- */

static void
deliver_batch(Session *s, u64 at, const NotifyBatch *b)
{
    const NotifyShm *n = &s->boot->shm.writer->notify;
    at += sizeof *b;
    for (u32 i = 0; i < b->count; i++) {
        u8 head[NOTIFY_ITEM_HEAD_BYTES];
        char channel[NOTIFY_CHANNEL_MAX + 1] = "", payload[NOTIFY_PAYLOAD_MAX + 1];
        notify_copy(n, at, head, sizeof head);
        u32 channel_len = MIN(get_le16(head), (u32)NOTIFY_CHANNEL_MAX), payload_len = MIN(get_le16(head + 2), (u32)NOTIFY_PAYLOAD_MAX);
        notify_copy(n, at + sizeof head, channel, channel_len);
        if (*find_channel(s, channel)) {
            notify_copy(n, at + sizeof head + channel_len, payload, payload_len);
            payload[payload_len] = 0;
            reply_notification(s->wire, b->pid, channel, payload);
        }
        at += sizeof head + channel_len + payload_len;
    }
}

void
listen_deliver(Session *s)
{
    const NotifyShm *n = &s->boot->shm.writer->notify;
    proc_flag_take(PROC_NOTIFY);
    for (u64 read; (read = s->box->pub_notify_read) != 0 && observe_u64(&n->pub_end) != read - 1;) {
        NotifyBatch b;
        notify_copy(n, read - 1, &b, sizeof b);
        deliver_batch(s, read - 1, &b);
        publish_u64_fenced(&s->box->pub_notify_read, read + b.bytes);
    }
}

void
listen_idle(void *session)
{
    Session *s = session;
    if (LIKELY(!proc_flag(PROC_NOTIFY)) || transaction_status(s) != 'I' || s->skip_to_sync || s->ready_due || s->in_extended)
        return;
    listen_deliver(s);
    wire_flush(s->wire);
}

/* ---- functions ---- */

/* An array of text. */
Str
listen_channels(Session *s, Arena *a)
{
    ArrayBuild build = array_build(a, TYPE_TEXT);
    Str ret;
    Error err;
    for (const ListenChannel *c = s->channels; c; c = c->next) {
        Value v = {.type = TYPE_TEXT, .typmod = -1, .str = str_of(c->name)};
        CHECKED(array_add(&build, &v, &err), &err);
    }
    CHECKED(array_finish_list(&build, &ret, &err), &err);
    return ret;
}

double
listen_queue_usage(const Session *s)
{
    bool any;
    u64 oldest = notify_oldest(&s->boot->shm, &any);
    return (double)(observe_u64(&s->boot->shm.writer->notify.pub_end) - oldest) / NOTIFY_RING_BYTES;
}
