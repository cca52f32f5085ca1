/* test_net.c: framing, startup packets, the SCRAM exchange and replies, over socket pairs. */
#include "backend/interrupt.h"
#include "backend/net/net.h"
#include "backend/throw.h"
#include "common/base/scram.h"
#include "common/proc/proc.h"

#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int peer, server; /* the client's end, the wire's end */
static Wire *wire;
static Catch caught;

static void
open_pair(void)
{
    int fds[2];
    if (wire) {
        wire_free(wire);
        close(peer);
        close(server);
    }
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    peer = fds[0];
    server = fds[1];
    wire = wire_new(fds[1], -1);
    current_catch = &caught;
}

static void
say(const void *data, size_t len)
{
    ck_assert_int_eq(write(peer, data, len), (ssize_t)len);
}

/* What the server has sent so far. */
static size_t
hear(u8 *to, size_t size)
{
    ssize_t n = recv(peer, to, size, MSG_DONTWAIT);
    return n > 0 ? (size_t)n : 0;
}

#define THROWS(statement) (setjmp(caught.jump) ? true : ((statement), false))

static void
expect_error(const char *sqlstate, bool fatal)
{
    ck_assert_str_eq(errcode_sqlstate(caught.error.code), sqlstate);
    ck_assert_int_eq(caught.fatal, fatal);
}

/* ---- framing ---- */

START_TEST(messages_are_found_wherever_they_are_split)
{
    static const u8 bytes[] = "Q\0\0\0\x0aSELEC\0"
                              "S\0\0\0\x04"
                              "d\0\0\0\x06hi"
                              "X\0\0\0\x04";
    open_pair();
    for (size_t split = 1; split < sizeof bytes - 1; split++) {
        WireMsg m;
        pid_t pid = fork();
        if (pid == 0) {
            say(bytes, split);
            usleep(300);
            say(bytes + split, sizeof bytes - 1 - split);
            _exit(0);
        }
        ck_assert(wire_read(wire, PHASE_COMMAND, &m));
        ck_assert(m.type == MSG_F_QUERY && m.len == 6 && memcmp(m.body, "SELEC", 6) == 0);
        ck_assert(wire_read(wire, PHASE_COMMAND, &m));
        ck_assert(m.type == MSG_F_SYNC && m.len == 0);
        ck_assert(wire_read(wire, PHASE_COPY, &m));
        ck_assert(m.type == MSG_F_COPY_DATA && m.len == 2 && memcmp(m.body, "hi", 2) == 0);
        ck_assert(wire_read(wire, PHASE_COMMAND, &m));
        ck_assert_int_eq(m.type, MSG_F_TERMINATE);
        ck_assert(!wire_has_input(wire));
        waitpid(pid, NULL, 0);
    }
}
END_TEST

typedef struct BadFrame { const char *bytes; size_t len; WirePhase phase; const char *sqlstate; bool fatal; } BadFrame;

/* A function of its own: what a throw may clobber is not kept across it. */
static void
refused_frame(const BadFrame *f)
{
    WireMsg m;
    open_pair();
    say(f->bytes, f->len);
    ck_assert(THROWS(wire_read(wire, f->phase, &m)));
    expect_error(f->sqlstate, f->fatal);
}

START_TEST(bad_frames_are_fatal)
{
    static const BadFrame CASES[] = {
        {"Q\0\0\0\x03", 5, PHASE_COMMAND, "08P01", true},         {"Q\xff\xff\xff\xff", 5, PHASE_COMMAND, "08P01", true},
        {"Q\x40\0\0\x04", 5, PHASE_COMMAND, "08P01", true},       {"S\0\x01\0\0", 5, PHASE_COMMAND, "08P01", true},
        {"?\0\0\0\x04", 5, PHASE_COMMAND, "08P01", true},         {"R\0\0\0\x04", 5, PHASE_COMMAND, "08P01", true},
        {"Q\0\0\0\x04", 5, PHASE_AUTH, "08P01", true},            {"Q\0\0\0\x05\0", 6, PHASE_COPY, "08P01", false},
        {"p\0\0\0\x04", 5, PHASE_COMMAND, "08P01", true},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        refused_frame(&CASES[i]);
}
END_TEST

START_TEST(large_message_arrives_whole)
{
    size_t len = 5 << 20;
    open_pair();
    pid_t pid = fork();
    if (pid == 0) {
        u8 *data = calloc(1, len + 5);
        data[0] = 'Q';
        put_be32(data + 1, (u32)len + 4);
        memset(data + 5, 'x', len);
        for (size_t at = 0; at < len + 5;) {
            ssize_t n = write(peer, data + at, len + 5 - at);
            at += n > 0 ? (size_t)n : 0;
        }
        _exit(0);
    }
    WireMsg m;
    ck_assert(wire_read(wire, PHASE_COMMAND, &m));
    ck_assert_uint_eq(m.len, len);
    for (size_t i = 0; i < len; i++)
        ck_assert_uint_eq(m.body[i], 'x');
    waitpid(pid, NULL, 0);
    close(peer);
    ck_assert(!wire_read(wire, PHASE_COMMAND, &m));
}
END_TEST

START_TEST(a_cancel_stops_copy_but_not_an_idle_session)
{
    WireMsg m;
    open_pair();
    proc_flag_set(PROC_CANCEL);
    ck_assert(THROWS(wire_read(wire, PHASE_COPY, &m)));
    expect_error("57014", false);
    say("S\0\0\0\4", 5);
    ck_assert(wire_read(wire, PHASE_COMMAND, &m));
    ck_assert(!interrupt_pending());
    proc_flag_set(PROC_STOP);
    ck_assert(THROWS(wire_read(wire, PHASE_COMMAND, &m)));
    expect_error("57P01", true);
    proc_flag_take(PROC_STOP);
}
END_TEST

START_TEST(a_lost_peer_makes_the_wire_dead)
{
    static u8 big[200000];
    open_pair();
    close(peer);
    reply_raw(wire, big, 10);
    ck_assert(THROWS(wire_flush(wire)));
    expect_error("08006", true);
    ck_assert(wire_is_dead(wire));
}
END_TEST

START_TEST(a_deadline_ends_waiting)
{
    WireMsg m;
    open_pair();
    wire_deadline(wire, 1, ERR_QUERY_CANCELED, "canceling authentication due to timeout");
    ck_assert(THROWS(wire_read_startup(wire, &m)));
    expect_error("57014", true);
    wire_limit(wire, 100);
    static u8 much[200] = {0, 0, 1, 0};
    say(much, sizeof much);
    ck_assert(THROWS(wire_read_startup(wire, &m)));
    expect_error("08P01", true);
}
END_TEST

/* ---- startup ---- */

static u32 canceled_pid;

static void
note_cancel(void *ctx, u32 pid, const u8 *key, u32 key_len)
{
    canceled_pid = key_len == 4 && get_be32(key) == 0x01020304 ? pid : 0;
    *(bool *)ctx = true;
}

static ByteBuf packet;

static void
begin_packet(u32 code)
{
    buf_clear(&packet);
    buf_be32(&packet, 0);
    buf_be32(&packet, code);
}

static void
add(const char *s)
{
    buf_put(&packet, s, strlen(s) + 1);
}

static void
send_packet(void)
{
    put_be32(packet.data, (u32)packet.len);
    say(packet.data, packet.len);
}

static bool
read_start(Startup *ret)
{
    static Arena *a;
    bool canceled = false;
    if (!a)
        a = arena_new("test", 0, NULL);
    if (!startup_read(wire, a, ret, note_cancel, &canceled))
        return false;
    startup_options(a, ret);
    return true;
}

START_TEST(startup_parameters)
{
    Startup s;
    open_pair();
    begin_packet(3 << 16);
    add("user"), add("joe"), add("DateStyle"), add("ISO"), add("options"), add("-c a.b=c\\ d --x-y=z -cq=1"), add("replication"), add("false");
    buf_u8(&packet, 0);
    send_packet();
    ck_assert(read_start(&s));
    ck_assert_str_eq(s.user, "joe");
    ck_assert_ptr_null(s.database);
    ck_assert_uint_eq(s.param_count, 4);
    ck_assert_str_eq(s.params[0].name, "a.b");
    ck_assert_str_eq(s.params[0].value, "c d");
    ck_assert_str_eq(s.params[1].name, "x_y");
    ck_assert_str_eq(s.params[2].value, "1");
    ck_assert_str_eq(s.params[3].name, "DateStyle");
}
END_TEST

START_TEST(startup_negotiates_down)
{
    Startup s;
    u8 got[64];
    open_pair();
    begin_packet((3 << 16) | 2);
    add("user"), add("joe"), add("_pq_.wish"), add("1"), add("database"), add("d");
    buf_u8(&packet, 0);
    send_packet();
    ck_assert(read_start(&s));
    ck_assert_str_eq(s.database, "d");
    wire_flush(wire);
    size_t n = hear(got, sizeof got);
    static const u8 want[] = "v\0\0\0\x16\0\3\0\0\0\0\0\1_pq_.wish";
    ck_assert_uint_eq(n, sizeof want);
    ck_assert_mem_eq(got, want, sizeof want);
}
END_TEST

/* Whether a start was read; else it threw 0A000. */
static bool
starts_or_unsupported(void)
{
    Startup s;
    bool read = false;
    if (!THROWS(read = read_start(&s)))
        return read;
    expect_error("0A000", true);
    return false;
}

START_TEST(encryption_requests_are_declined_once)
{
    Startup s;
    u8 got[8];
    for (int round = 0; round < 3; round++) {
        open_pair();
        pid_t pid = fork();
        if (pid == 0) {
            u8 answer;
            begin_packet(80877103), send_packet();
            if (read(peer, &answer, 1) != 1 || answer != 'N')
                _exit(1);
            begin_packet(round == 1 ? 80877103 : 80877104), send_packet();
            if (round == 1)
                _exit(0);
            if (read(peer, &answer, 1) != 1 || answer != 'N')
                _exit(1);
            begin_packet(3 << 16), add("user"), add("u"), buf_u8(&packet, 0), send_packet();
            _exit(0);
        }
        ck_assert_int_eq(starts_or_unsupported(), round != 1); /* a second one is a protocol that we do not have */
        int status;
        waitpid(pid, &status, 0);
        ck_assert_int_eq(status, 0);
    }
    /* Bytes behind the request in the same breath. */
    open_pair();
    say("\0\0\0\x08\x04\xd2\x16\x2f\0", 9);
    ck_assert(!read_start(&s));
    ck_assert_uint_eq(hear(got, sizeof got), 0);
}
END_TEST

START_TEST(cancel_requests_get_no_answer)
{
    Startup s;
    u8 got[8];
    open_pair();
    begin_packet(80877102);
    buf_be32(&packet, 4711);
    buf_be32(&packet, 0x01020304);
    send_packet();
    ck_assert(!read_start(&s));
    ck_assert_uint_eq(canceled_pid, 4711);
    ck_assert_uint_eq(hear(got, sizeof got), 0);
}
END_TEST

typedef struct BadStart { u32 version; const char *body; size_t len; const char *sqlstate; } BadStart;

static void
refused_start(const BadStart *b)
{
    Startup s;
    open_pair();
    begin_packet(b->version);
    buf_put(&packet, b->body, b->len);
    send_packet();
    ck_assert(THROWS(read_start(&s)));
    expect_error(b->sqlstate, true);
}

START_TEST(bad_startup_packets)
{
    static const BadStart CASES[] = {
        {2 << 16, "user\0u\0", 8, "0A000"},     {4 << 16, "user\0u\0", 8, "0A000"},  {3 << 16, "user\0u\0x", 8, "08P01"},
        {3 << 16, "user\0u", 6, "08P01"},       {3 << 16, "", 1, "28000"},           {3 << 16, "database\0u\0", 12, "28000"},
        {3 << 16, "user\0u\0options\0-x\0", 19, "42601"}, {3 << 16, "user\0u\0options\0-c a\0", 21, "42601"},
        {3 << 16, "user\0u\0replication\0true\0", 25, "0A000"}, {3 << 16, "user\0\xff\0", 8, "22021"},
    };
    WireMsg m;
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        refused_start(&CASES[i]);
    static const u32 lengths[] = {0, 7, 10005, 0x80000000u, 0xffffffffu};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        u8 head[4];
        open_pair();
        put_be32(head, lengths[i]);
        say(head, 4);
        ck_assert(!wire_read_startup(wire, &m));
    }
}
END_TEST

/* ---- SCRAM ---- */

typedef struct Client { const char *password, *gs2, *channel, *nonce_tail; bool bad_proof; } Client;

static void
send_p(const char *mechanism, const char *text)
{
    buf_clear(&packet);
    buf_u8(&packet, 'p');
    buf_be32(&packet, 0);
    if (mechanism) {
        add(mechanism);
        buf_be32(&packet, (u32)strlen(text));
    }
    buf_put(&packet, text, strlen(text));
    put_be32(packet.data + 1, (u32)packet.len - 1);
    say(packet.data, packet.len);
}

static void
read_r(char *text, size_t size)
{
    u8 head[9];
    size_t got = 0;
    *text = 0;
    if (recv(peer, head, 9, MSG_WAITALL) != 9)
        return;
    while (got < get_be32(head + 1) - 8 && got < size - 1) {
        ssize_t n = recv(peer, text + got, get_be32(head + 1) - 8 - got, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    text[got] = 0;
}

static void
hmac(const u8 *key, size_t key_len, const void *data, size_t len, u8 to[32])
{
    crypto_auth_hmacsha256_state s;
    crypto_auth_hmacsha256_init(&s, key, key_len);
    crypto_auth_hmacsha256_update(&s, data, len);
    crypto_auth_hmacsha256_final(&s, to);
}

static void
client_proof(const char *password, const char *salt64, u32 rounds, const char *message, u8 proof[32])
{
    u8 salt[64], first[68], u[32], salted[32], key[32], stored[32], signature[32];
    size_t salt_len;
    sodium_base642bin(salt, sizeof salt, salt64, strlen(salt64), NULL, &salt_len, NULL, sodium_base64_VARIANT_ORIGINAL);
    memcpy(first, salt, salt_len);
    memcpy(first + salt_len, "\0\0\0\1", 4);
    hmac((const u8 *)password, strlen(password), first, salt_len + 4, u);
    memcpy(salted, u, 32);
    for (u32 i = 1; i < rounds; i++) {
        hmac((const u8 *)password, strlen(password), u, 32, u);
        for (int k = 0; k < 32; k++)
            salted[k] ^= u[k];
    }
    hmac(salted, 32, "Client Key", 10, key);
    crypto_hash_sha256(stored, key, 32);
    hmac(stored, 32, message, strlen(message), signature);
    for (int k = 0; k < 32; k++)
        proof[k] = key[k] ^ signature[k];
}

static void
play_client(const Client *c)
{
    char text[1024], first[1024], nonce[512], salt[256], bare[1024], message[4096], proof64[64], final[2048];
    u32 rounds;
    u8 proof[32];
    read_r(text, sizeof text);
    snprintf(text, sizeof text, "%sn=,r=abcdef", c->gs2);
    send_p("SCRAM-SHA-256", text);
    read_r(first, sizeof first);
    if (sscanf(first, "r=%511[^,],s=%255[^,],i=%u", nonce, salt, &rounds) != 3)
        return;
    snprintf(bare, sizeof bare, "c=%s,r=%.500s%s", c->channel, nonce, c->nonce_tail);
    snprintf(message, sizeof message, "n=,r=abcdef,%s,%s", first, bare);
    client_proof(c->password, salt, rounds, message, proof);
    proof[0] ^= c->bad_proof;
    sodium_bin2base64(proof64, sizeof proof64, proof, 32, sodium_base64_VARIANT_ORIGINAL);
    snprintf(final, sizeof final, "%s,p=%s", bare, proof64);
    send_p(NULL, final);
    read_r(text, sizeof text);
}

/* 0 right, 1 wrong proof, 2 an error. */
static int
exchange(const Client *c)
{
    char verifier[SCRAM_VERIFIER_MAX];
    ScramVerifier v;
    int status;
    scram_make("sesame", verifier);
    ck_assert(scram_parse(verifier, &v));
    open_pair();
    pid_t pid = fork();
    if (pid == 0) {
        int end = 2;
        if (setjmp(caught.jump) == 0) {
            end = sasl_exchange(wire, &v) ? 0 : 1;
            wire_flush(wire);
        }
        _exit(end);
    }
    close(server);
    play_client(c);
    shutdown(peer, SHUT_RDWR);
    waitpid(pid, &status, 0);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(scram)
{
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,,", "biws", "", false}), 0);
    ck_assert_int_eq(exchange(&(Client){"sesame", "y,,", "eSws", "", false}), 0);
    ck_assert_int_eq(exchange(&(Client){"Sesame", "n,,", "biws", "", false}), 1);
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,,", "biws", "", true}), 1);
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,,", "eSws", "", false}), 2);
    ck_assert_int_eq(exchange(&(Client){"sesame", "y,,", "biws", "", false}), 2);
    ck_assert_int_eq(exchange(&(Client){"sesame", "p=tls-unique,,", "biws", "", false}), 2);
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,a=x,", "biws", "", false}), 2);
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,,", "biws", "x", false}), 2);
    ck_assert_int_eq(exchange(&(Client){"sesame", "n,,", "biws=", "", false}), 2);
}
END_TEST

/* ---- replies ---- */

START_TEST(error_fields)
{
    Error e;
    u8 got[512];
    static const u8 want[] = "E\0\0\0\x65SERROR\0VERROR\0C23505\0Mdup\0DKey.\0P7\0WCOPY\0spublic\0tt\0nt_pkey\0";
    open_pair();
    error_set(&e, ERR_UNIQUE_VIOLATION, "dup");
    error_detail(&e, "Key.");
    error_context(&e, "COPY");
    strcpy(e.table, "t");
    strcpy(e.constraint, "t_pkey");
    e.position = 7;
    reply_error(wire, REPLY_ERROR, &e);
    wire_flush(wire);
    size_t n = hear(got, sizeof got);
    ck_assert_uint_eq(n, sizeof want);
    ck_assert_mem_eq(got + 5, want + 5, sizeof want - 5);
    ck_assert_uint_eq(get_be32(got + 1), n - 1);
}
END_TEST

START_TEST(rows_in_text_and_binary)
{
    i32 ints[] = {42, -2147483647 - 1, 7};
    i64 bigs[] = {-9, 1000000000000, 100};
    u8 nulls[] = {0, 0, 1}, bools[] = {1, 0, 1};
    Str texts[] = {{"abc", 3}, {"", 0}, {"x", 1}};
    i64 decs[] = {12345, -1, 0};
    Vec v[] = {{.phys = PHYS_I32, .data = ints, .null_mask = nulls}, {.phys = PHYS_I64, .data = bigs}, {.phys = PHYS_STR, .data = texts},
               {.phys = PHYS_BOOL, .data = bools}, {.phys = PHYS_D64, .scale = 2, .data = decs}};
    ReplyColumn c[] = {{.type = TYPE_INT4}, {.type = TYPE_INT8}, {.type = TYPE_TEXT}, {.type = TYPE_BOOL}, {.type = TYPE_NUMERIC}};
    Batch b = {.count = 3, .column_count = 5, .columns = v};
    TypeFormat f = {.extra_float_digits = 1};
    u8 got[512];
    open_pair();
    reply_rows(wire, &f, c, 5, &b, 0, 3);
    wire_flush(wire);
    static const u8 text[] = "D\0\0\0\x28\0\5\0\0\0\2"
                             "42\0\0\0\2-9\0\0\0\3abc\0\0\0\1t\0\0\0\6" "123.45"
                             "D\0\0\0\x38\0\5\0\0\0\x0b-2147483648\0\0\0\x0d" "1000000000000\0\0\0\0\0\0\0\1f\0\0\0\5-0.01"
                             "D\0\0\0\x23\0\5\xff\xff\xff\xff\0\0\0\3" "100\0\0\0\1x\0\0\0\1t\0\0\0\4" "0.00";
    size_t n = hear(got, sizeof got);
    ck_assert_uint_eq(n, sizeof text - 1);
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == text[i], "byte %zu: %02x, not %02x", i, got[i], text[i]);
    for (int i = 0; i < 5; i++)
        c[i].binary = true;
    reply_rows(wire, &f, c, 5, &b, 1, 1);
    wire_flush(wire);
    static const u8 binary[] = "D\0\0\0\x31\0\5\0\0\0\4\x80\0\0\0\0\0\0\x08\0\0\0\xe8\xd4\xa5\x10\0\0\0\0\0\0\0\0\1\0\0\0\0\x0a\0\1\xff\xff\x40\0\0\2\0\x64";
    n = hear(got, sizeof got);
    ck_assert_uint_eq(n, sizeof binary - 1);
    ck_assert_mem_eq(got, binary, n);
}
END_TEST

START_TEST(descriptions)
{
    ReplyColumn c = {.name = {"id", 2}, .table_oid = 16384, .attribute = 3, .type = TYPE_INT4, .typmod = -1};
    static const u8 want[] = "T\0\0\0\x1b\0\1id\0\0\0\x40\0\0\3\0\0\0\x17\0\4\xff\xff\xff\xff\0\0"
                             "C\0\0\0\x0fINSERT 0 7\0"
                             "Z\0\0\0\5I";
    u8 got[128];
    open_pair();
    reply_row_description(wire, &c, 1);
    reply_complete_rows(wire, "INSERT 0", 7);
    reply_ready(wire, 'I');
    wire_flush(wire);
    ck_assert_uint_eq(hear(got, sizeof got), sizeof want - 1);
    ck_assert_mem_eq(got, want, sizeof want - 1);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("net");
    TCase *t = tcase_create("net");
    if (sodium_init() < 0)
        return EXIT_FAILURE;
    tcase_set_timeout(t, 60);
    tcase_add_test(t, messages_are_found_wherever_they_are_split);
    tcase_add_test(t, bad_frames_are_fatal);
    tcase_add_test(t, large_message_arrives_whole);
    tcase_add_test(t, a_cancel_stops_copy_but_not_an_idle_session);
    tcase_add_test(t, a_lost_peer_makes_the_wire_dead);
    tcase_add_test(t, a_deadline_ends_waiting);
    tcase_add_test(t, startup_parameters);
    tcase_add_test(t, startup_negotiates_down);
    tcase_add_test(t, encryption_requests_are_declined_once);
    tcase_add_test(t, cancel_requests_get_no_answer);
    tcase_add_test(t, bad_startup_packets);
    tcase_add_test(t, scram);
    tcase_add_test(t, error_fields);
    tcase_add_test(t, rows_in_text_and_binary);
    tcase_add_test(t, descriptions);
    suite_add_tcase(suite, t);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
