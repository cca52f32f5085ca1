/* hash.c: hash of bytes by folded 128-bit products, eight bytes at a time. */
#include "common/base/hash.h"

static u64
tail_word(const u8 *p, size_t len)
{
    u64 w = 0;
    memcpy(&w, p, len);
    return w;
}

u64
hash_bytes(const void *data, size_t len)
{
    const u8 *p = data;
    u64 h = 0x9e3779b97f4a7c15ull ^ len, a, b;
    while (len > 16) {
        memcpy(&a, p, 8);
        memcpy(&b, p + 8, 8);
        h = hash_fold(a ^ 0xe7037ed1a0b428dbull, b ^ h);
        p += 16;
        len -= 16;
    }
    a = tail_word(p, MIN(len, 8));
    b = len > 8 ? tail_word(p + 8, len - 8) : 0;
    return hash_u64(hash_fold(a ^ 0x8ebc6af09c88c6e3ull, b ^ h) ^ h);
}
