/*
 * bytea.h
 *    Text forms of bytes that both bytea's input and output and encode() and decode() know: hexadecimal and escape.
 *
 * Writers need room for what the *_len functions say.
 */
#ifndef BYTEA_H
#define BYTEA_H

#include "common/type/type.h"

/* Two digits a byte; `to` has 2 * len bytes. */
void hex_encode(const u8 *bytes, size_t len, char *to);
/* Digits with white space between bytes; `to` has in.len / 2 bytes. 22023 on anything else. */
bool hex_decode(Str in, u8 *to, u32 *ret_len, Error *err);
/* Backslashes doubled; bytes that `octal` tells as \ooo. */
typedef bool (*EscapeRule)(u8 byte);
bool escape_rule_output(u8 byte); /* bytea: all but printable ASCII */
bool escape_rule_encode(u8 byte); /* encode(): 0 and what is not ASCII */
size_t escape_encode_len(const u8 *bytes, size_t len, EscapeRule octal);
void escape_encode(const u8 *bytes, size_t len, EscapeRule octal, char *to);
/* `to` has in.len bytes. 22P02 on a backslash that begins no escape. */
bool escape_decode(Str in, u8 *to, u32 *ret_len, Error *err);

#endif
