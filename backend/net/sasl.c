/*
 * sasl.c
 *    The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677) without channel binding.
 *
 * The same steps run for every role; whether the verifier is real is not known here. Attributes are read strictly and in order. The user name
 * inside the exchange is ignored, as PostgreSQL does: the startup packet named the role.
 *
 * Fails: malformed messages throw a fatal 08P01; a wrong proof returns false.
 */
#include "backend/net/wire.h"

#include "backend/throw.h"
#include "common/base/env.h"

#include <sodium.h>
#include <stdio.h>

enum { AUTH_SASL = 10, AUTH_SASL_CONTINUE = 11, AUTH_SASL_FINAL = 12, NONCE_BYTES = 18, NONCE_MAX = 512, TEXT_MAX = 2048 };

typedef struct Exchange {
    char gs2;                    /* the channel flag: n or y */
    char client_first[TEXT_MAX]; /* without the gs2 header */
    char nonce[NONCE_MAX];       /* the client's and ours */
    char server_first[TEXT_MAX];
} Exchange;

static NORETURN void
malformed(const char *detail)
{
    Error err;
    error_set(&err, ERR_PROTOCOL_VIOLATION, "malformed SCRAM message");
    error_detail(&err, "%s", detail);
    err_rethrow_fatal(&err);
}

/* Read "x=value" up to a comma or the end; terminates it in place and moves on. */
static char *
take_attribute(char **at, char name)
{
    char *p = *at, *value = p + 2, *end;
    if (!p || p[0] != name || p[1] != '=')
        malformed("An attribute is missing or out of order.");
    for (end = value; *end && *end != ','; end++)
        ;
    *at = *end ? end + 1 : NULL;
    *end = 0;
    return value;
}

static void
check_printable(const char *s)
{
    for (; *s; s++)
        if (*s < 0x21 || *s > 0x7e || *s == ',')
            malformed("Non-printable characters in SCRAM nonce.");
}

/* A message of type 'p' as a terminated copy without zero bytes inside. */
static void
copy_text(const u8 *data, u32 len, char to[TEXT_MAX])
{
    if (len == 0)
        malformed("The message is empty.");
    if (len >= TEXT_MAX || memchr(data, 0, len))
        malformed("Message length does not match input length.");
    memcpy(to, data, len);
    to[len] = 0;
}

static void
read_message(Wire *w, WireMsg *m)
{
    wire_flush(w);
    if (!wire_read(w, PHASE_AUTH, m) || m->type == MSG_F_TERMINATE)
        err_throw_fatal(ERR_CONNECTION_FAILURE, "connection closed during sign-in");
}

static void
read_client_first(Wire *w, Exchange *x)
{
    char text[TEXT_MAX], *at = text;
    WireMsg m;
    read_message(w, &m);
    ByteReader r = reader_of(m.body, m.len);
    if (strcmp(body_string(&r), "SCRAM-SHA-256") != 0)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "client selected an invalid SASL authentication mechanism");
    u32 len = reader_be32(&r);
    const u8 *data = reader_take(&r, len);
    if (!data || !reader_done(&r))
        malformed("The message has no initial response of the announced length.");
    copy_text(data, len, text);
    x->gs2 = *at++;
    if (x->gs2 == 'p')
        malformed("The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel binding data.");
    if (x->gs2 != 'n' && x->gs2 != 'y')
        malformed("Unexpected channel-binding flag.");
    if (*at++ != ',')
        malformed("Comma expected, but found another character.");
    if (*at == 'a')
        err_throw_fatal(ERR_FEATURE_NOT_SUPPORTED, "client uses authorization identity, but it is not supported");
    if (*at++ != ',')
        malformed("Unexpected attribute in client-first-message.");
    snprintf(x->client_first, sizeof x->client_first, "%s", at);
    if (*at == 'm')
        err_throw_fatal(ERR_FEATURE_NOT_SUPPORTED, "client requires an unsupported SCRAM extension");
    take_attribute(&at, 'n');
    const char *nonce = take_attribute(&at, 'r');
    check_printable(nonce);
    if (!*nonce || strlen(nonce) > NONCE_MAX / 2)
        malformed("The nonce is empty or too long.");
    snprintf(x->nonce, sizeof x->nonce, "%s", nonce);
}

static void
send_server_first(Wire *w, Exchange *x, const ScramVerifier *v)
{
    u8 raw[NONCE_BYTES];
    char ours[64], salt[2 * SCRAM_SALT_MAX];
    env->random_bytes(raw, sizeof raw);
    sodium_bin2base64(ours, sizeof ours, raw, sizeof raw, sodium_base64_VARIANT_ORIGINAL);
    sodium_bin2base64(salt, sizeof salt, v->salt, v->salt_len, sodium_base64_VARIANT_ORIGINAL);
    snprintf(x->nonce + strlen(x->nonce), 64, "%s", ours);
    snprintf(x->server_first, sizeof x->server_first, "r=%s,s=%s,i=%u", x->nonce, salt, v->iterations);
    reply_auth(w, AUTH_SASL_CONTINUE, x->server_first, (u32)strlen(x->server_first));
}

/* The proof stands last; the message without it is what both sides sign. */
static void
read_client_final(Wire *w, const Exchange *x, u8 ret_proof[SCRAM_KEY_BYTES], char ret_bare[TEXT_MAX])
{
    char text[TEXT_MAX], *at = text;
    const char *used;
    size_t len;
    WireMsg m;
    read_message(w, &m);
    copy_text(m.body, m.len, text);
    const char *proof_at = NULL;
    for (const char *p = text; (p = strstr(p, ",p=")); p++)
        proof_at = p;
    if (!proof_at)
        malformed("The proof is missing.");
    memcpy(ret_bare, text, (size_t)(proof_at - text));
    ret_bare[proof_at - text] = 0;
    const char *channel = take_attribute(&at, 'c');
    if (strcmp(channel, x->gs2 == 'n' ? "biws" : "eSws") != 0)
        err_throw_fatal(ERR_PROTOCOL_VIOLATION, "unexpected SCRAM channel-binding attribute in client-final-message");
    const char *nonce = take_attribute(&at, 'r');
    if (strcmp(nonce, x->nonce) != 0)
        malformed("Nonce does not match.");
    /* Extensions may stand between nonce and proof; they are skipped. */
    while (at && at[0] != 'p')
        take_attribute(&at, at[0]);
    const char *proof = take_attribute(&at, 'p');
    if (at)
        malformed("Garbage found at the end of client-final-message.");
    if (sodium_base642bin(ret_proof, SCRAM_KEY_BYTES, proof, strlen(proof), NULL, &len, &used, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        len != SCRAM_KEY_BYTES || *used)
        malformed("Malformed proof in client-final-message.");
}

bool
sasl_exchange(Wire *w, const ScramVerifier *v)
{
    static const char MECHANISMS[] = "SCRAM-SHA-256\0";
    Exchange x = {0};
    u8 proof[SCRAM_KEY_BYTES], signature[SCRAM_KEY_BYTES];
    char bare[TEXT_MAX], message[3 * TEXT_MAX], final[128] = "v=";
    reply_auth(w, AUTH_SASL, MECHANISMS, sizeof MECHANISMS);
    read_client_first(w, &x);
    send_server_first(w, &x, v);
    read_client_final(w, &x, proof, bare);
    int len = snprintf(message, sizeof message, "%s,%s,%s", x.client_first, x.server_first, bare);
    bool right = scram_check(v, message, (size_t)len, proof, signature);
    if (right) {
        sodium_bin2base64(final + 2, sizeof final - 2, signature, sizeof signature, sodium_base64_VARIANT_ORIGINAL);
        reply_auth(w, AUTH_SASL_FINAL, final, (u32)strlen(final));
    }
    sodium_memzero(signature, sizeof signature);
    sodium_memzero(message, sizeof message);
    return right;
}
