/*
 * simd_select.c
 *    Byte masks to positions: the one kernel that compilers do not make well from a loop, by hand for AVX2 and AVX-512.
 *
 * All three give the same answer (tests hold them to it). Results are stored in whole vectors; a store never reaches
 * beyond the positions that were already read (out <= in), so `ret` may be `from` and needs no more room than `count`.
 */
#include "backend/kern/map.h"

u32
select_scalar(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    u32 n = 0;
    if (from)
        for (u32 i = 0; i < count; i++) {
            ret[n] = from[i];
            n += mask[i];
        }
    else
        for (u32 i = 0; i < count; i++) {
            ret[n] = (u16)i;
            n += mask[i];
        }
    return n;
}

#if defined __x86_64__
#include <immintrin.h>

/* Per mask of 8 bits: the numbers of its ones, a byte each, from the lowest. */
#define RANK(m, k) __builtin_popcount((m) & ((1u << (k)) - 1))
#define ONE(m, k) ((u64)(((m) >> (k)) & 1) * (u64)(k) << (8 * RANK(m, k)))
#define ROW(m) (ONE(m, 0) | ONE(m, 1) | ONE(m, 2) | ONE(m, 3) | ONE(m, 4) | ONE(m, 5) | ONE(m, 6) | ONE(m, 7))
#define ROWS4(m) ROW(m), ROW((m) + 1), ROW((m) + 2), ROW((m) + 3)
#define ROWS16(m) ROWS4(m), ROWS4((m) + 4), ROWS4((m) + 8), ROWS4((m) + 12)
#define ROWS64(m) ROWS16(m), ROWS16((m) + 16), ROWS16((m) + 32), ROWS16((m) + 48)
static const u64 ONES[256] = {ROWS64(0u), ROWS64(64u), ROWS64(128u), ROWS64(192u)};

/* The byte shuffle that moves the 16-bit lanes whose bit is set to the front. */
__attribute__((target("avx2"))) static inline __m128i
compact_order(u32 bits)
{
    __m128i lanes = _mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)&ONES[bits]));
    lanes = _mm_add_epi16(lanes, lanes);
    return _mm_or_si128(lanes, _mm_slli_epi16(_mm_add_epi16(lanes, _mm_set1_epi16(1)), 8));
}

__attribute__((target("avx2,popcnt"))) u32
select_avx2(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    u32 n = 0, i = 0;
    __m128i lanes = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    for (; i + 32 <= count; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(mask + i));
        u32 bits = (u32)_mm256_movemask_epi8(_mm256_slli_epi16(bytes, 7));
        for (u32 k = i; bits; k += 8, bits >>= 8) {
            u32 eight = bits & 0xff;
            __m128i at = _mm_add_epi16(lanes, _mm_set1_epi16((short)k));
            if (from)
                at = _mm_loadu_si128((const __m128i *)(const void *)(from + k));
            _mm_storeu_si128((__m128i *)(void *)(ret + n), _mm_shuffle_epi8(at, compact_order(eight)));
            n += (u32)__builtin_popcount(eight);
        }
    }
    for (; i < count; i++) {
        ret[n] = from ? from[i] : (u16)i;
        n += mask[i];
    }
    return n;
}

__attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt"))) u32
select_avx512(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    u32 n = 0, i = 0;
    __m512i at = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11,
                                  10, 9, 8, 7, 6, 5,
                                  4, 3, 2, 1, 0);
    for (; i + 32 <= count; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(mask + i));
        __mmask32 bits = _mm256_test_epi8_mask(bytes, bytes);
        __m512i v = from ? _mm512_loadu_si512(from + i) : at;
        _mm512_storeu_si512(ret + n, _mm512_maskz_compress_epi16(bits, v));
        n += (u32)__builtin_popcount(bits);
        at = _mm512_add_epi16(at, _mm512_set1_epi16(32));
    }
    for (; i < count; i++) {
        ret[n] = from ? from[i] : (u16)i;
        n += mask[i];
    }
    return n;
}
#else
u32
select_avx2(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    return select_scalar(mask, count, from, ret);
}

u32
select_avx512(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    return select_scalar(mask, count, from, ret);
}
#endif
