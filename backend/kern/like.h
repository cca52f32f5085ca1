/*
 * like.h
 *    LIKE: patterns made ready once, matched often.
 */
#ifndef LIKE_H
#define LIKE_H

#include "common/base/arena.h"
#include "common/base/base.h"

/* What a pattern comes down to. `text` is the literal without escapes; LIKE_GENERAL: the pattern itself. */
typedef enum LikeKind { LIKE_EXACT, LIKE_PREFIX, LIKE_SUFFIX, LIKE_CONTAINS, LIKE_ALL, LIKE_GENERAL } LikeKind;
typedef struct LikePattern {
    LikeKind kind;
    Str text;
} LikePattern;

void like_prepare(Arena *a, Str pattern, LikePattern *ret);
/* 1, 0; -1: the pattern ends with an escape character. */
int like_match(const LikePattern *p, Str s);
/* Lower case for ILIKE (text.c). */
Str text_lower(Arena *a, Str s);

#endif
