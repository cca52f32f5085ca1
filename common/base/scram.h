/*
 * scram.h
 *    SCRAM-SHA-256 verifiers (RFC 5802, RFC 7677) on libsodium's HMAC and SHA-256: making one of a password, checking a proof.
 */
#ifndef SCRAM_H
#define SCRAM_H

#include "common/base/base.h"

enum { SCRAM_ITERATIONS = 4096, SCRAM_KEY_BYTES = 32, SCRAM_SALT_MAX = 64, SCRAM_VERIFIER_MAX = 256 };

typedef struct ScramVerifier {
    u32 iterations, salt_len;
    u8 salt[SCRAM_SALT_MAX];
    u8 stored_key[SCRAM_KEY_BYTES], server_key[SCRAM_KEY_BYTES];
} ScramVerifier;

/* "SCRAM-SHA-256$4096:salt$stored:server" with a fresh salt, terminated; the password is used as given (UTF-8). */
void scram_make(const char *password, char ret[SCRAM_VERIFIER_MAX]);
/* false when the text is no verifier. */
bool scram_parse(const char *text, ScramVerifier *ret);
/* Whether the password gives this verifier. */
bool scram_matches(const ScramVerifier *v, const char *password);
/* The one that unknown and password-less roles get: salt = HMAC(secret, name), a key nobody has. */
void scram_mock(const u8 secret[32], const char *role, ScramVerifier *ret);
/* Constant time. auth_message is the three messages joined by commas; proof is the client's. Fills the server's signature when right. */
bool scram_check(const ScramVerifier *v, const char *auth_message, size_t len, const u8 proof[SCRAM_KEY_BYTES],
                 u8 ret_server_signature[SCRAM_KEY_BYTES]);

#endif
