/* isa_avx512.c: the loops of isa.inc for AVX-512 (F, BW, DQ, VL). */
#include "backend/kern/map.h"
#include "common/type/numeric.h"

#if defined __x86_64__
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx,avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl"))), apply_to = function)
#else
#pragma GCC target("avx,avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")
#endif
#define KERN_ISA avx512
#define KERN_TABLE KERN_AVX512
#define KERN_TABLE_TEXT "avx512"
#define KERN_SELECT select_avx512
#include "backend/kern/isa.inc"
#if defined __clang__
#pragma clang attribute pop
#endif
#endif
