/*
 * net.h
 *    The wire: bytes of a connection into messages and back. Knows no SQL.
 */
#ifndef NET_H
#define NET_H

#include "common/base/arena.h"
#include "common/base/bytes.h"
#include "common/base/error.h"
#include "common/type/type.h"
#include "common/type/vec.h"

typedef struct Wire Wire;

/* Opened by the backend's entry with an accepted socket (blocking waits happen in here only, with interrupts looked at). */
Wire *wire_new(int fd);
void wire_free(Wire *w);

#endif
