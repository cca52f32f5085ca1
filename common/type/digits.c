/*
 * digits.c
 *    Integers as decimal text, two digits at a time, without printf: result rows spend much of their time here.
 */
#include "common/type/inside.h"

const char DIGIT_PAIRS[201] = "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
                              "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
                              "888990919293949596979899";

void
digits_fixed(u64 v, u32 width, char *to)
{
    while (width >= 2) {
        width -= 2;
        memcpy(to + width, DIGIT_PAIRS + 2 * (v % 100), 2);
        v /= 100;
    }
    if (width)
        to[0] = (char)('0' + v % 10);
}

u32
digits_u64(u64 v, char *to)
{
    char tmp[20];
    u32 at = sizeof tmp;
    while (v >= 100) {
        at -= 2;
        memcpy(tmp + at, DIGIT_PAIRS + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        at -= 2;
        memcpy(tmp + at, DIGIT_PAIRS + 2 * v, 2);
    } else {
        tmp[--at] = (char)('0' + v);
    }
    memcpy(to, tmp + at, sizeof tmp - at);
    return (u32)sizeof tmp - at;
}

u32
digits_i64(i64 v, char *to)
{
    if (v >= 0)
        return digits_u64((u64)v, to);
    to[0] = '-';
    return 1 + digits_u64(-(u64)v, to + 1);
}

u32
digits_u128(u128 v, char *to)
{
    const u64 CHUNK = 10000000000000000000ull; /* 10^19 */
    if (v <= UINT64_MAX)
        return digits_u64((u64)v, to);
    u64 low = (u64)(v % CHUNK);
    u32 len = digits_u128(v / CHUNK, to);
    digits_fixed(low, 19, to + len);
    return len + 19;
}
