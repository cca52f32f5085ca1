/*
 * parse_type.c
 *    Type names: PostgreSQL's own spellings become one internal name ("int4"), others stay as written.
 */
#include "backend/sql/parse.h"
#include "common/type/interval.h"

ATypeName *
parse_named_type(Parser *p, const char *name, u32 at)
{
    ATypeName *t = ARENA_NEW(p->arena, ATypeName);
    t->name = (AName){.count = 1, .at = at, .parts = {str_of(name)}};
    t->at = at;
    t->system = true;
    return t;
}

bool
parse_starts_type(Parser *p)
{
    const Token *t = parse_now(p);
    if (t->kind != T_KEYWORD)
        return false;
    switch ((int)t->keyword) {
    case KW_INT: case KW_INTEGER: case KW_SMALLINT: case KW_BIGINT: case KW_REAL: case KW_FLOAT: case KW_DECIMAL: case KW_DEC:
    case KW_NUMERIC: case KW_BOOLEAN: case KW_BIT: case KW_CHARACTER: case KW_CHAR: case KW_VARCHAR: case KW_NATIONAL:
    case KW_NCHAR: case KW_TIME: case KW_TIMESTAMP: case KW_INTERVAL:
        return true;
    case KW_DOUBLE:
        return parse_is_ahead(p, 1, KW_PRECISION);
    default:
        return false;
    }
}

static void
read_mods(Parser *p, ATypeName *t)
{
    if (!parse_try_char(p, '('))
        return;
    t->with_mods = true;
    parse_expr_list(p, &t->mods);
    parse_expect_char(p, ')');
}

static ATypeName *
read_float(Parser *p, u32 at)
{
    if (!parse_try_char(p, '('))
        return parse_named_type(p, "float8", at);
    const Token *t = parse_now(p);
    if (t->kind != T_INT)
        parse_fail(p);
    Token n = parse_take(p);
    if (n.number < 1)
        parse_fail_at(p, n.at, ERR_INVALID_PARAMETER_VALUE, "precision for type float must be at least 1 bit");
    if (n.number > 53)
        parse_fail_at(p, n.at, ERR_INVALID_PARAMETER_VALUE, "precision for type float must be less than 54 bits");
    parse_expect_char(p, ')');
    return parse_named_type(p, n.number <= 24 ? "float4" : "float8", at);
}

static void
add_mod(Parser *p, ATypeName *t, i32 value)
{
    AExpr *n = parse_new(p, AX_INT, t->at);
    n->number = value;
    t->with_mods = true;
    ptrlist_add(p->arena, &t->mods, n);
}

/* An optional (n). */
static void
read_length(Parser *p, ATypeName *t)
{
    if (!parse_try_char(p, '('))
        return;
    if (parse_now(p)->kind != T_INT)
        parse_fail(p);
    AExpr *n = parse_new(p, AX_INT, parse_at(p));
    n->number = parse_take(p).number;
    t->with_mods = true;
    ptrlist_add(p->arena, &t->mods, n);
    parse_expect_char(p, ')');
}

/* TIME and TIMESTAMP: (p) and the zone. */
static ATypeName *
read_time(Parser *p, bool stamp, u32 at)
{
    ATypeName *t = parse_named_type(p, stamp ? "timestamp" : "time", at);
    read_length(p, t);
    bool with = parse_is(p, KW_WITH) && parse_is_ahead(p, 1, KW_TIME), without = parse_is(p, KW_WITHOUT);
    if (with || without) {
        parse_take(p);
        parse_expect(p, KW_TIME);
        parse_expect(p, KW_ZONE);
    }
    if (with)
        t->name.parts[0] = stamp ? STR_LIT("timestamptz") : STR_LIT("timetz");
    return t;
}

/* Without a length CHARACTER is one character, but of any length before a literal. */
static ATypeName *
read_character(Parser *p, Keyword k, u32 at)
{
    if (k == KW_NATIONAL && !parse_try(p, KW_CHAR))
        parse_expect(p, KW_CHARACTER);
    bool varying = k == KW_VARCHAR || parse_try(p, KW_VARYING);
    ATypeName *t = parse_named_type(p, varying ? "varchar" : "bpchar", at);
    read_length(p, t);
    if (!varying && !t->with_mods && parse_now(p)->kind != T_STRING)
        add_mod(p, t, 1);
    return t;
}

/* INTERVAL, INTERVAL(p). Modifiers are the range of fields and perhaps the precision. */
static ATypeName *
read_interval(Parser *p, u32 at)
{
    ATypeName *t = parse_named_type(p, "interval", at);
    if (!parse_is_char(p, '('))
        return t;
    add_mod(p, t, INTERVAL_FULL_RANGE);
    read_length(p, t);
    return t;
}

ATypeName *
parse_simple_type(Parser *p)
{
    Token word = parse_take(p);
    ATypeName *t;
    switch ((int)word.keyword) {
    case KW_INT: case KW_INTEGER:
        return parse_named_type(p, "int4", word.at);
    case KW_SMALLINT:
        return parse_named_type(p, "int2", word.at);
    case KW_BIGINT:
        return parse_named_type(p, "int8", word.at);
    case KW_REAL:
        return parse_named_type(p, "float4", word.at);
    case KW_FLOAT:
        return read_float(p, word.at);
    case KW_DOUBLE:
        parse_expect(p, KW_PRECISION);
        return parse_named_type(p, "float8", word.at);
    case KW_DECIMAL: case KW_DEC: case KW_NUMERIC:
        t = parse_named_type(p, "numeric", word.at);
        read_mods(p, t);
        return t;
    case KW_BOOLEAN:
        return parse_named_type(p, "bool", word.at);
    case KW_BIT:
        t = parse_named_type(p, parse_try(p, KW_VARYING) ? "varbit" : "bit", word.at);
        read_mods(p, t);
        return t;
    case KW_TIME: case KW_TIMESTAMP:
        return read_time(p, word.keyword == KW_TIMESTAMP, word.at);
    case KW_INTERVAL:
        return read_interval(p, word.at);
    default:
        return read_character(p, word.keyword, word.at);
    }
}

void
parse_interval_fields(Parser *p, ATypeName *t)
{
    static const struct {
        Keyword keyword;
        i32 bit;
        u32 first_to, last_to; /* what may stand behind TO: fields of this array */
    } FIELDS[] = {
        {KW_YEAR, INTERVAL_YEAR, 1, 1}, {KW_MONTH, INTERVAL_MONTH, 9, 0}, {KW_DAY, INTERVAL_DAY, 3, 5},
        {KW_HOUR, INTERVAL_HOUR, 4, 5}, {KW_MINUTE, INTERVAL_MINUTE, 5, 5}, {KW_SECOND, INTERVAL_SECOND, 9, 0},
    };
    u32 from = 0, to;
    while (from < COUNT_OF(FIELDS) && !parse_is(p, FIELDS[from].keyword))
        from++;
    if (from == COUNT_OF(FIELDS) || t->with_mods)
        return;
    parse_take(p);
    i32 range = FIELDS[from].bit;
    to = from;
    if (FIELDS[from].first_to <= FIELDS[from].last_to && parse_try(p, KW_TO)) {
        for (to = FIELDS[from].first_to; to <= FIELDS[from].last_to && !parse_is(p, FIELDS[to].keyword);)
            to++;
        if (to > FIELDS[from].last_to)
            parse_fail(p);
        parse_take(p);
        for (u32 i = from; i <= to; i++)
            range |= FIELDS[i].bit;
    }
    add_mod(p, t, range);
    if (FIELDS[to].keyword == KW_SECOND)
        read_length(p, t);
}

ATypeName *
parse_type(Parser *p)
{
    bool setof = parse_try(p, KW_SETOF);
    ATypeName *t;
    if (parse_starts_type(p)) {
        bool interval = parse_is(p, KW_INTERVAL);
        t = parse_simple_type(p);
        if (interval)
            parse_interval_fields(p, t);
    } else {
        if (!parse_is_type_func_name(p, 0))
            parse_fail(p);
        t = ARENA_NEW(p->arena, ATypeName);
        t->at = t->name.at = parse_at(p);
        t->name.parts[t->name.count++] = parse_take(p).text;
        while (parse_try_char(p, '.')) {
            if (t->name.count == MAX_NAME_PARTS)
                parse_fail_at(p, t->at, ERR_SYNTAX_ERROR, "improper qualified name (too many dotted names)");
            t->name.parts[t->name.count++] = parse_col_label(p);
        }
        read_mods(p, t);
    }
    t->setof = setof;
    if (parse_try(p, KW_ARRAY))
        t->array = true;
    while (parse_is_char(p, '[')) {
        parse_take(p);
        t->array = true;
        if (parse_now(p)->kind == T_INT)
            parse_take(p);
        parse_expect_char(p, ']');
    }
    return t;
}
