/* isa_avx2.c: the loops of isa.inc for AVX2. */
#include "backend/kern/map.h"
#include "common/type/numeric.h"

#if defined __x86_64__
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx,avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx,avx2,bmi,bmi2,popcnt")
#endif
#define KERN_ISA avx2
#define KERN_TABLE KERN_AVX2
#define KERN_TABLE_TEXT "avx2"
#define KERN_SELECT select_avx2
#include "backend/kern/isa.inc"
#if defined __clang__
#pragma clang attribute pop
#endif
#endif
