/*
 * crc32c.h
 *    CRC-32C (Castagnoli) of a run of bytes: by the SSE4.2 instruction where the processor has it, else by table.
 *    crc32c(seed, …) continues a sum: crc32c(crc32c(0, a), b) is the sum of a followed by b.
 */
#ifndef CRC32C_H
#define CRC32C_H

#include "common/base/base.h"

u32 crc32c(u32 seed, const void *data, size_t len);
/* The two ways, for the test that they agree. crc32c_hardware is false where the instruction is missing. */
u32 crc32c_table(u32 seed, const void *data, size_t len);
bool crc32c_hardware(void);

#endif
