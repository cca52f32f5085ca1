/*
 * like.c
 *    LIKE and ILIKE. Backslash escapes; % is any run of characters, _ one character.
 *
 * Most patterns are a literal with % at its ends: those become memcmp and memmem. The others go through a matcher
 * that on a mismatch returns to the last % and tries one character further; returning to earlier ones can never help.
 */
#include "backend/kern/like.h"

#include "backend/kern/call.h"

void
like_prepare(Arena *a, Str pattern, LikePattern *ret)
{
    const char *p = pattern.ptr, *end = p + pattern.len;
    bool leading = false, trailing = false;
    char *text = arena_alloc(a, pattern.len);
    u32 len = 0;
    *ret = (LikePattern){LIKE_GENERAL, pattern};
    while (p < end && *p == '%') {
        leading = true;
        p++;
    }
    for (; p < end; p++) {
        if (*p == '_')
            return;
        if (*p == '%') {
            trailing = true;
            continue;
        }
        if (trailing)
            return; /* % in the middle */
        if (*p == '\\' && ++p == end)
            return;
        text[len++] = *p;
    }
    ret->text = (Str){text, len};
    if (len == 0)
        ret->kind = leading || trailing ? LIKE_ALL : LIKE_EXACT;
    else
        ret->kind = leading ? (trailing ? LIKE_CONTAINS : LIKE_SUFFIX) : trailing ? LIKE_PREFIX : LIKE_EXACT;
}

static const char *
next_char(const char *s, const char *end)
{
    s++;
    while (s < end && ((u8)*s & 0xc0) == 0x80)
        s++;
    return s;
}

static int
match_general(Str pattern, Str text)
{
    const char *p = pattern.ptr, *p_end = p + pattern.len, *s = text.ptr, *s_end = s + text.len;
    const char *retry_p = NULL, *retry_s = NULL; /* behind the last %, and where its run ends now */
    while (s < s_end) {
        if (p < p_end && *p == '%') {
            retry_p = ++p;
            retry_s = s;
            continue;
        }
        if (p < p_end && *p == '_') {
            p++;
            s = next_char(s, s_end);
            continue;
        }
        if (p < p_end) {
            const char *literal = p;
            if (*p == '\\' && ++literal == p_end)
                return -1;
            if (*literal == *s) {
                p = literal + 1;
                s++;
                continue;
            }
        }
        if (!retry_p)
            return 0;
        p = retry_p;
        s = retry_s = next_char(retry_s, s_end);
    }
    while (p < p_end && *p == '%')
        p++;
    return p == p_end;
}

int
like_match(const LikePattern *p, Str s)
{
    Str t = p->text;
    switch (p->kind) {
    case LIKE_EXACT: return str_eq(s, t);
    case LIKE_PREFIX: return s.len >= t.len && memcmp(s.ptr, t.ptr, t.len) == 0;
    case LIKE_SUFFIX: return s.len >= t.len && memcmp(s.ptr + s.len - t.len, t.ptr, t.len) == 0;
    case LIKE_CONTAINS: return s.len >= t.len && memmem(s.ptr, s.len, t.ptr, t.len) != NULL;
    case LIKE_ALL: return 1;
    case LIKE_GENERAL: break;
    }
    return match_general(t, s);
}
