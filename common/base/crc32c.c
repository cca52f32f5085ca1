/* crc32c.c: Castagnoli's polynomial, reflected 0x82f63b78; slicing by 8 in the table version. */
#include "common/base/crc32c.h"

#include <pthread.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

static u32 table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_table(void)
{
    for (u32 i = 0; i < 256; i++) {
        u32 c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[0][i] = c;
    }
    for (u32 i = 0; i < 256; i++)
        for (int s = 1; s < 8; s++)
            table[s][i] = table[0][table[s - 1][i] & 255] ^ table[s - 1][i] >> 8;
}

u32
crc32c_table(u32 seed, const void *data, size_t len)
{
    const u8 *p = data;
    u32 c = ~seed;
    pthread_once(&once, make_table);
    for (; len >= 8; p += 8, len -= 8) {
        u64 w;
        memcpy(&w, p, 8);
        w ^= c;
        c = table[7][w & 255] ^ table[6][w >> 8 & 255] ^ table[5][w >> 16 & 255] ^ table[4][w >> 24 & 255] ^
            table[3][w >> 32 & 255] ^ table[2][w >> 40 & 255] ^ table[1][w >> 48 & 255] ^ table[0][w >> 56];
    }
    for (; len; p++, len--)
        c = table[0][(c ^ *p) & 255] ^ c >> 8;
    return ~c;
}

bool
crc32c_hardware(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2");
#else
    return false;
#endif
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static u32
crc32c_sse42(u32 seed, const void *data, size_t len)
{
    const u8 *p = data;
    u64 c = ~seed;
    for (; len >= 8; p += 8, len -= 8) {
        u64 w;
        memcpy(&w, p, 8);
        c = _mm_crc32_u64(c, w);
    }
    u32 r = (u32)c;
    for (; len; p++, len--)
        r = _mm_crc32_u8(r, *p);
    return ~r;
}
#endif

u32
crc32c(u32 seed, const void *data, size_t len)
{
#if defined(__x86_64__)
    if (crc32c_hardware())
        return crc32c_sse42(seed, data, len);
#endif
    return crc32c_table(seed, data, len);
}
