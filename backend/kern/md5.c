/*
 * md5.c
 *    The message digest of RFC 1321: blocks of 64 bytes, four rounds of 16 steps each over four words of state.
 */
#include "backend/kern/md5.h"

#include "common/base/bytes.h"

static inline u32
rotate(u32 v, u32 by)
{
    return v << by | v >> (32 - by);
}

static void
take_block(u32 state[4], const u8 *block)
{
    static const u8 SHIFTS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    /* floor(2^32 * |sin(i + 1)|) */
    static const u32 SINES[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
        0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
        0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
        0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
        0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
        0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
    };
    u32 a = state[0], b = state[1], c = state[2], d = state[3];
    for (u32 i = 0; i < 64; i++) {
        u32 mixed, word;
        switch (i / 16) {
        case 0: mixed = (b & c) | (~b & d); word = i; break;
        case 1: mixed = (d & b) | (~d & c); word = 5 * i + 1; break;
        case 2: mixed = b ^ c ^ d; word = 3 * i + 5; break;
        default: mixed = c ^ (b | ~d); word = 7 * i; break;
        }
        u32 next = b + rotate(a + mixed + SINES[i] + get_le32(block + 4 * (word % 16)), SHIFTS[i / 16][i % 4]);
        a = d;
        d = c;
        c = b;
        b = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void
md5(const u8 *data, size_t len, u8 ret[16])
{
    u32 state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    size_t whole = len / 64 * 64, rest = len - whole;
    u8 tail[128] = {0};
    for (size_t at = 0; at < whole; at += 64)
        take_block(state, data + at);
    if (rest)
        memcpy(tail, data + whole, rest);
    tail[rest] = 0x80;
    size_t tail_len = rest < 56 ? 64 : 128;
    put_le64(tail + tail_len - 8, (u64)len * 8);
    for (size_t at = 0; at < tail_len; at += 64)
        take_block(state, tail + at);
    for (u32 i = 0; i < 4; i++)
        put_le32(ret + 4 * i, state[i]);
}
