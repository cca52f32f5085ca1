/*
 * fuzz_type.c
 *    No bytes crash the readers of values, text or binary, arrays too; what they take is written, reads back, and is written the same again. Bytes that
 *    pass for an array inside are written without harm.
 *
 * The first byte is the type, the second settings and modifier, the rest the value. As a libFuzzer target:
 * clang -fsanitize=fuzzer,address,undefined -DFUZZER … ; alone it reads the files it is given.
 */
#include "common/type/array.h"
#include "common/type/interval.h"
#include "common/type/type.h"
#include "common/type/zone.h"
#include "tests/fuzz/fuzz_files.h"

#include <stdlib.h>

static void
check_value(Arena *a, const TypeFormat *f, const Value *v)
{
    ensure(!type_is_array(v->type) || array_valid(type_element(v->type), v->str));
    ByteBuf text = {0}, again = {0}, wire = {0}, wire_again = {0};
    Value back;
    Error err;
    value_out(&text, f, v);
    value_send(&wire, v);
    ensure(!text.failed && !wire.failed);
    /* ISO 8601 is read through floats up to 10^15 */
    bool far = type_element(v->type) == TYPE_INTERVAL && f->interval_style == INTERVAL_STYLE_ISO_8601;
    /* A specification of a zone (foo77) may be farther from UTC than offsets are read: the text and the message are refused then, as by PostgreSQL. */
    bool zoned = type_element(v->type) == TYPE_TIMETZ;
    bool read = v->type != TYPE_VOID && !far && (!zoned || value_in(a, f, v->type, -1, (Str){(const char *)text.data, (u32)text.len}, &back, &err));
    if (read) {
        ensure(value_in(a, f, v->type, -1, (Str){text.data ? (const char *)text.data : "", (u32)text.len}, &back, &err));
        value_out(&again, f, &back);
        ensure(again.len == text.len && (!text.len || memcmp(again.data, text.data, text.len) == 0));
    }
    bool received = value_recv(a, v->type, -1, wire.data ? wire.data : (const u8 *)"", (u32)wire.len, &back, &err);
    ensure(received || zoned);
    if (!received)
        back = *v;
    value_send(&wire_again, &back);
    ensure(wire_again.len == wire.len && (!wire.len || memcmp(wire_again.data, wire.data, wire.len) == 0));
    TypeId elem = type_element(v->type);
    ensure(elem == TYPE_JSON || elem == TYPE_JSONB || value_cmp(v, &back) == 0);
    buf_free(&text);
    buf_free(&again);
    buf_free(&wire);
    buf_free(&wire_again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const i32 TYPMODS[] = {-1, 0, 3, 5, 6, 9};
    if (size < 2 || size > UINT32_MAX / 2)
        return 0;
    TypeId t = (TypeId)(1 + data[0] % 128 % (TYPE_COUNT - 1)), elem = t;
    if (data[0] & 128 && type_array(t))
        t = type_array(t);
    TypeFormat f = {.zone = data[1] & 64 ? zone_find("<-05:30>+05:30") : NULL, .extra_float_digits = 1, .bytea_escape = data[1] & 4, .interval_style = data[1] & 3};
    i32 typmod = type_has_precision(elem) || type_has_length(elem) ? TYPMODS[(data[1] >> 3) % COUNT_OF(TYPMODS)] : -1;
    Arena *a = arena_new("fuzz", (size_t)1 << 28, NULL);
    size_t n = size - 2;
    u8 *value = malloc(n ? n : 1); /* of its very size, so that reading beyond it shows */
    Value v;
    Error err;
    memcpy(value, data + 2, n);
    if (utf8_valid(value, n) && value_in(a, &f, t, type_has_length(elem) && typmod < 5 ? -1 : typmod, (Str){(const char *)value, (u32)n}, &v, &err))
        check_value(a, &f, &v);
    if (type_is_array(t) && array_valid(type_element(t), (Str){(const char *)value, (u32)n})) {
        ByteBuf out = {0};
        Value inner = {.type = t, .typmod = -1, .str = {(const char *)value, (u32)n}};
        value_out(&out, &f, &inner);
        buf_free(&out);
    }
    if (value_recv(a, t, type_has_length(elem) ? -1 : typmod, value, (u32)n, &v, &err))
        check_value(a, &f, &v);
    free(value);
    arena_free(a);
    return 0;
}

#ifndef FUZZER
int
main(int argc, char **argv)
{
    return fuzz_files(argc, argv);
}
#endif
