/*
 * md5.h
 *    MD5 (RFC 1321), for the SQL function md5() only: no secret rests on it, and libsodium does not have it.
 */
#ifndef MD5_H
#define MD5_H

#include "common/base/base.h"

void md5(const u8 *data, size_t len, u8 ret[16]);

#endif
