/* scram.c: key derivation and proofs of SCRAM-SHA-256. */
#include "common/base/scram.h"

#include "common/base/env.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

static void
hmac(const u8 *key, size_t key_len, const void *data, size_t len, u8 ret[32])
{
    crypto_auth_hmacsha256_state s;
    crypto_auth_hmacsha256_init(&s, key, key_len);
    crypto_auth_hmacsha256_update(&s, data, len);
    crypto_auth_hmacsha256_final(&s, ret);
}

/* Hi() of RFC 5802: PBKDF2 with one block. */
static void
salted_password(const char *password, const u8 *salt, size_t salt_len, u32 iterations, u8 ret[32])
{
    u8 first[SCRAM_SALT_MAX + 4], u[32];
    memcpy(first, salt, salt_len);
    memcpy(first + salt_len, "\0\0\0\1", 4);
    hmac((const u8 *)password, strlen(password), first, salt_len + 4, u);
    memcpy(ret, u, 32);
    for (u32 i = 1; i < iterations; i++) {
        hmac((const u8 *)password, strlen(password), u, 32, u);
        for (int k = 0; k < 32; k++)
            ret[k] ^= u[k];
    }
    sodium_memzero(u, sizeof u);
}

static void
to_base64(const u8 *data, size_t len, char *to, size_t size)
{
    sodium_bin2base64(to, size, data, len, sodium_base64_VARIANT_ORIGINAL);
}

void
scram_make(const char *password, char ret[SCRAM_VERIFIER_MAX])
{
    u8 salt[16], salted[32], client_key[32], stored[32], server[32];
    char salt64[64], stored64[64], server64[64];
    env->random_bytes(salt, sizeof salt);
    salted_password(password, salt, sizeof salt, SCRAM_ITERATIONS, salted);
    hmac(salted, 32, "Client Key", 10, client_key);
    crypto_hash_sha256(stored, client_key, 32);
    hmac(salted, 32, "Server Key", 10, server);
    to_base64(salt, sizeof salt, salt64, sizeof salt64);
    to_base64(stored, 32, stored64, sizeof stored64);
    to_base64(server, 32, server64, sizeof server64);
    snprintf(ret, SCRAM_VERIFIER_MAX, "SCRAM-SHA-256$%d:%s$%s:%s", SCRAM_ITERATIONS, salt64, stored64, server64);
    sodium_memzero(salted, 32);
    sodium_memzero(client_key, 32);
}

/* Decode base64 up to `stop`; returns what follows it, NULL when malformed. */
static const char *
take_base64(const char *s, char stop, u8 *to, size_t max, size_t *ret_len)
{
    const char *end = stop ? strchr(s, stop) : s + strlen(s), *used;
    if (!end || sodium_base642bin(to, max, s, (size_t)(end - s), NULL, ret_len, &used, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        used != end)
        return NULL;
    return stop ? end + 1 : end;
}

bool
scram_parse(const char *text, ScramVerifier *ret)
{
    static const char HEAD[] = "SCRAM-SHA-256$";
    ScramVerifier v = {0};
    size_t len;
    char *colon;
    if (strncmp(text, HEAD, sizeof HEAD - 1) != 0)
        return false;
    unsigned long n = strtoul(text + sizeof HEAD - 1, &colon, 10);
    if (*colon != ':' || n < 1 || n > 10000000)
        return false;
    v.iterations = (u32)n;
    const char *at = take_base64(colon + 1, '$', v.salt, sizeof v.salt, &len);
    v.salt_len = (u32)len;
    if (!at || len == 0 || !(at = take_base64(at, ':', v.stored_key, 32, &len)) || len != 32 ||
        !take_base64(at, 0, v.server_key, 32, &len) || len != 32)
        return false;
    *ret = v;
    return true;
}

bool
scram_matches(const ScramVerifier *v, const char *password)
{
    u8 salted[32], client_key[32], stored[32];
    salted_password(password, v->salt, v->salt_len, v->iterations, salted);
    hmac(salted, 32, "Client Key", 10, client_key);
    crypto_hash_sha256(stored, client_key, 32);
    bool right = sodium_memcmp(stored, v->stored_key, 32) == 0;
    sodium_memzero(salted, 32);
    sodium_memzero(client_key, 32);
    return right;
}

void
scram_mock(const u8 secret[32], const char *role, ScramVerifier *ret)
{
    u8 h[32];
    memset(ret, 0, sizeof *ret);
    hmac(secret, 32, role, strlen(role), h);
    ret->iterations = SCRAM_ITERATIONS;
    ret->salt_len = 16;
    memcpy(ret->salt, h, 16);
    env->random_bytes(ret->stored_key, 32);
    env->random_bytes(ret->server_key, 32);
}

bool
scram_check(const ScramVerifier *v, const char *auth_message, size_t len, const u8 proof[SCRAM_KEY_BYTES],
            u8 ret_server_signature[SCRAM_KEY_BYTES])
{
    u8 signature[32], key[32], stored[32];
    hmac(v->stored_key, 32, auth_message, len, signature);
    for (int i = 0; i < 32; i++)
        key[i] = proof[i] ^ signature[i];
    crypto_hash_sha256(stored, key, 32);
    hmac(v->server_key, 32, auth_message, len, ret_server_signature);
    bool right = sodium_memcmp(stored, v->stored_key, 32) == 0;
    sodium_memzero(key, 32);
    return right;
}
