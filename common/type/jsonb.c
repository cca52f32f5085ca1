/*
 * jsonb.c
 *    The normal form of jsonb, and its order.
 *
 * Numbers are rewritten digit by digit, whatever their length: arithmetic would end at 38 digits. Order compares them the same way.
 */
#include "common/type/inside.h"
#include "common/type/json.h"

#include <stdlib.h>

enum { NUMBER_MAX_WHOLE = 131072, NUMBER_MAX_DECIMALS = 16383 }; /* PostgreSQL's numeric */

/* ---- numbers ---- */

/* Sign, digits and the place of the point: value = 0.digits x 10^point, `decimals` of them shown. */
typedef struct Decimal {
    bool negative;
    const char *whole, *fraction;
    i64 whole_len, fraction_len, exponent;
} Decimal;

static Decimal
decimal_of(Str s)
{
    Decimal d = {.negative = s.len && s.ptr[0] == '-'};
    const char *p = s.ptr + d.negative, *end = s.ptr + s.len;
    d.whole = p;
    while (p < end && is_digit(*p))
        p++;
    d.whole_len = p - d.whole;
    if (p < end && *p == '.') {
        d.fraction = ++p;
        while (p < end && is_digit(*p))
            p++;
        d.fraction_len = p - d.fraction;
    }
    if (p < end) {
        bool minus = *++p == '-';
        p += *p == '-' || *p == '+';
        for (; p < end; p++)
            if (d.exponent < 1000000)
                d.exponent = d.exponent * 10 + (*p - '0');
        d.exponent = minus ? -d.exponent : d.exponent;
    }
    return d;
}

/* Digit `at` places left of the point (0 = units, -1 = tenths). */
static char
digit_at(const Decimal *d, i64 at)
{
    i64 place = at - d->exponent;
    if (place >= 0)
        return place < d->whole_len ? d->whole[d->whole_len - 1 - place] : '0';
    return -place <= d->fraction_len ? d->fraction[-place - 1] : '0';
}

/* Places left of the point, without leading zeros; decimals as PostgreSQL's numeric shows them. */
static void
extent(const Decimal *d, i64 *ret_whole, i64 *ret_decimals)
{
    i64 top = d->whole_len - 1 + d->exponent, bottom = d->exponent - d->fraction_len;
    while (top >= bottom && digit_at(d, top) == '0')
        top--;
    *ret_whole = top >= bottom && top >= 0 ? top + 1 : 0;
    *ret_decimals = bottom < 0 ? -bottom : 0;
}

static bool
is_zero(const Decimal *d)
{
    for (i64 i = 0; i < d->whole_len; i++)
        if (d->whole[i] != '0')
            return false;
    for (i64 i = 0; i < d->fraction_len; i++)
        if (d->fraction[i] != '0')
            return false;
    return true;
}

static bool
put_decimal(ByteBuf *to, Str s, Error *err)
{
    Decimal d = decimal_of(s);
    i64 whole, decimals;
    bool zero = is_zero(&d);
    if (zero && d.exponent > 0)
        d.exponent = MIN(d.exponent, d.fraction_len);
    extent(&d, &whole, &decimals);
    if (whole > NUMBER_MAX_WHOLE || decimals > NUMBER_MAX_DECIMALS)
        return error_set(err, ERR_NUMERIC_OUT_OF_RANGE, "value overflows numeric format");
    if (d.negative && !zero)
        buf_u8(to, '-');
    if (!whole)
        buf_u8(to, '0');
    for (i64 at = whole - 1; at >= 0; at--)
        buf_u8(to, (u8)digit_at(&d, at));
    if (decimals)
        buf_u8(to, '.');
    for (i64 at = -1; at >= -decimals; at--)
        buf_u8(to, (u8)digit_at(&d, at));
    return true;
}

static int
number_cmp(Str a, Str b)
{
    Decimal x = decimal_of(a), y = decimal_of(b);
    bool x_zero = is_zero(&x), y_zero = is_zero(&y);
    int x_sign = x_zero ? 0 : x.negative ? -1 : 1, y_sign = y_zero ? 0 : y.negative ? -1 : 1;
    if (x_sign != y_sign || !x_sign)
        return (x_sign > y_sign) - (x_sign < y_sign);
    i64 x_whole, y_whole, x_decimals, y_decimals;
    extent(&x, &x_whole, &x_decimals);
    extent(&y, &y_whole, &y_decimals);
    if (x_whole != y_whole)
        return x_whole > y_whole ? x_sign : -x_sign;
    for (i64 at = x_whole - 1; at >= -MAX(x_decimals, y_decimals); at--) {
        char p = digit_at(&x, at), q = digit_at(&y, at);
        if (p != q)
            return p > q ? x_sign : -x_sign;
    }
    return 0;
}

/* ---- writing ---- */
void
json_put_string(ByteBuf *to, Str s)
{
    buf_u8(to, '"');
    for (u32 i = 0, from = 0; i <= s.len; i++) {
        u8 c = i < s.len ? (u8)s.ptr[i] : 0;
        if (i < s.len && c >= 32 && c != '"' && c != '\\')
            continue;
        buf_put(to, s.ptr + from, i - from);
        from = i + 1;
        if (i == s.len)
            break;
        switch (c) {
        case '"': buf_str(to, "\\\""); break;
        case '\\': buf_str(to, "\\\\"); break;
        case '\b': buf_str(to, "\\b"); break;
        case '\f': buf_str(to, "\\f"); break;
        case '\n': buf_str(to, "\\n"); break;
        case '\r': buf_str(to, "\\r"); break;
        case '\t': buf_str(to, "\\t"); break;
        default: buf_printf(to, "\\u%04x", c);
        }
    }
    buf_u8(to, '"');
}

/* Shorter keys first; of equal ones the later first. */
static int
by_key(const void *a, const void *b)
{
    const JsonNode *x = *(const JsonNode *const *)a, *y = *(const JsonNode *const *)b;
    if (x->key.len != y->key.len)
        return x->key.len < y->key.len ? -1 : 1;
    int c = str_cmp(x->key, y->key);
    return c ? c : (x->raw.ptr < y->raw.ptr) - (x->raw.ptr > y->raw.ptr);
}

static bool put_node(Arena *a, ByteBuf *to, const JsonNode *n, Error *err);

static bool
put_object(Arena *a, ByteBuf *to, const JsonNode *n, Error *err)
{
    const JsonNode **members = n->count ? ARENA_ARRAY(a, const JsonNode *, n->count) : NULL;
    u32 count = 0;
    if (n->count && !members)
        return error_set(err, ERR_OUT_OF_MEMORY, "out of memory");
    for (const JsonNode *m = n->first; m; m = m->next)
        members[count++] = m;
    if (count)
        qsort(members, count, sizeof *members, by_key);
    bool first = true;
    buf_u8(to, '{');
    for (u32 i = 0; i < count; i++) {
        if (i && str_eq(members[i]->key, members[i - 1]->key))
            continue;
        if (!first)
            buf_str(to, ", ");
        first = false;
        json_put_string(to, members[i]->key);
        buf_str(to, ": ");
        if (!put_node(a, to, members[i], err))
            return false;
    }
    buf_u8(to, '}');
    return true;
}

static bool
put_node(Arena *a, ByteBuf *to, const JsonNode *n, Error *err)
{
    switch (n->kind) {
    case JSON_NULL: buf_str(to, "null"); return true;
    case JSON_BOOL: buf_str(to, n->truth ? "true" : "false"); return true;
    case JSON_STRING: json_put_string(to, n->text); return true;
    case JSON_NUMBER: return put_decimal(to, n->text, err);
    case JSON_OBJECT: return put_object(a, to, n, err);
    case JSON_ARRAY: break;
    }
    buf_u8(to, '[');
    for (const JsonNode *m = n->first; m; m = m->next) {
        if (m != n->first)
            buf_str(to, ", ");
        if (!put_node(a, to, m, err))
            return false;
    }
    buf_u8(to, ']');
    return true;
}

bool
jsonb_normal(Arena *a, Str in, Str *ret, Error *err)
{
    JsonNode *n;
    ByteBuf buf = {0};
    if (!json_parse(a, in, &n, err))
        return false;
    bool ok = put_node(a, &buf, n, err);
    char *text = ok && !buf.failed ? arena_strndup(a, (const char *)buf.data, buf.len) : NULL;
    *ret = (Str){text, (u32)buf.len};
    buf_free(&buf);
    return ok && (text || error_set(err, ERR_OUT_OF_MEMORY, "out of memory"));
}

/* ---- order ---- */
static int
node_cmp(const JsonNode *a, const JsonNode *b)
{
    if (a->kind != b->kind)
        return a->kind > b->kind ? 1 : -1;
    switch (a->kind) {
    case JSON_NULL: return 0;
    case JSON_BOOL: return a->truth - b->truth;
    case JSON_STRING: return str_cmp(a->text, b->text);
    case JSON_NUMBER: return number_cmp(a->text, b->text);
    case JSON_ARRAY: case JSON_OBJECT: break;
    }
    if (a->count != b->count)
        return a->count > b->count ? 1 : -1;
    for (const JsonNode *x = a->first, *y = b->first; x && y; x = x->next, y = y->next) {
        int c = a->kind == JSON_OBJECT ? str_cmp(x->key, y->key) : 0;
        if (!c)
            c = node_cmp(x, y);
        if (c)
            return c < 0 ? -1 : 1;
    }
    return 0;
}

/* At the top an empty array is below everything: PostgreSQL keeps that for the sake of its indexes. */
int
json_cmp(const JsonNode *a, const JsonNode *b)
{
    bool a_empty = a->kind == JSON_ARRAY && !a->count, b_empty = b->kind == JSON_ARRAY && !b->count;
    if ((a_empty && b->kind < JSON_ARRAY) || (b_empty && a->kind < JSON_ARRAY))
        return a_empty ? -1 : 1;
    return node_cmp(a, b);
}
