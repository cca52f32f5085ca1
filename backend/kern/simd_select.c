/*
 * simd_select.c
 *    Byte masks to positions: the one kernel that compilers do not make well from a loop, by hand for AVX2 and AVX-512.
 *
 * All three give the same answer (tests hold them to it). Results are stored in whole vectors; a store never reaches beyond the positions that were
 * already read (out <= in), so `ret` may be `from` and needs no more room than `count`.
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

/* The byte shuffle that moves the 16-bit lanes whose bit is set to the front. */
__attribute__((target("avx2,bmi2,popcnt"))) static inline __m128i
compact_order(u32 bits)
{
    /* the numbers 0 … 7 as nibbles, kept where the mask has a bit, then widened to byte pairs */
    u64 nibbles = _pext_u64(0x76543210ull, _pdep_u64(bits, 0x11111111ull) * 15);
    u64 lanes = _pdep_u64(nibbles, 0x0f0f0f0f0f0f0f0full);
    __m128i low = _mm_cvtepu8_epi16(_mm_cvtsi64_si128((long long)lanes));
    low = _mm_add_epi16(low, low);
    return _mm_or_si128(low, _mm_slli_epi16(_mm_add_epi16(low, _mm_set1_epi16(1)), 8));
}

__attribute__((target("avx2,bmi2,popcnt"))) u32
select_avx2(const u8 *mask, u32 count, const u16 *from, u16 *ret)
{
    u32 n = 0, i = 0;
    __m128i lanes = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
    for (; i + 8 <= count; i += 8) {
        u64 eight = get_le64(mask + i);
        if (!eight)
            continue;
        u32 bits = (u32)_pext_u64(eight, 0x0101010101010101ull);
        __m128i at = from ? _mm_loadu_si128((const __m128i *)(const void *)(from + i)) : _mm_add_epi16(lanes, _mm_set1_epi16((short)i));
        _mm_storeu_si128((__m128i *)(void *)(ret + n), _mm_shuffle_epi8(at, compact_order(bits)));
        n += (u32)__builtin_popcount(bits);
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
    __m512i at = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5,
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
u32 select_avx2(const u8 *mask, u32 count, const u16 *from, u16 *ret) { return select_scalar(mask, count, from, ret); }
u32 select_avx512(const u8 *mask, u32 count, const u16 *from, u16 *ret) { return select_scalar(mask, count, from, ret); }
#endif
