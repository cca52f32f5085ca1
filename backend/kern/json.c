/*
 * json.c
 *    Functions and operators of json and jsonb. Each call reads its text into a tree in the scratch arena.
 *
 * What they take out of a json value is its text as written, out of a jsonb value the same, since that is in normal form already.
 */
#include "backend/kern/call.h"
#include "common/type/json.h"

static bool
parse_arg(KernCall *c, u32 k, u32 i, JsonNode **ret)
{
    return json_parse(c->scratch, ARG(c, k, Str, i), ret, c->err);
}

/* -> and #> give JSON, ->> and #>> text, of JSON's null NULL. */
static bool
give(KernCall *c, u32 i, const JsonNode *n)
{
    bool text = c->def->ret == TYPE_TEXT;
    if (!n || (text && n->kind == JSON_NULL)) {
        c->ret->null_mask[i] = 1;
        RET(c, Str, i) = (Str){"", 0};
        return true;
    }
    RET(c, Str, i) = text && n->kind == JSON_STRING ? n->text : n->raw;
    return true;
}

static bool
get(KernCall *c, u32 i)
{
    JsonNode *n;
    if (!parse_arg(c, 0, i, &n))
        return false;
    bool scalar = n->kind < JSON_ARRAY && c->def->args[0] == TYPE_JSONB && c->def->args[1] == TYPE_INT4;
    if (scalar) /* the only element of an array that nobody sees */
        return give(c, i, ARG(c, 1, i32, i) == 0 || ARG(c, 1, i32, i) == -1 ? n : NULL);
    return give(c, i, c->def->args[1] == TYPE_INT4 ? json_element(n, ARG(c, 1, i32, i)) : json_member(n, ARG(c, 1, Str, i)));
}

/* ---- paths: the text of an array, {a,"b c",0} ---- */
static bool
bad_path(KernCall *c, Str path)
{
    return error_set(c->err, ERR_INVALID_TEXT_REPRESENTATION, "malformed array literal: \"%.*s\"", (int)MIN(path.len, 200u), path.ptr);
}

/* The element at *at, which ends at a comma or the brace. false: malformed. */
static bool
path_step(KernCall *c, const char **at, const char *end, Str *ret, bool *ret_null)
{
    const char *p = *at;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n'))
        p++;
    char *text = arena_alloc(c->scratch, (size_t)(end - p) + 1), *to = text, *kept = text;
    bool quoted = p < end && *p == '"';
    for (p += quoted; p < end && (quoted ? *p != '"' : *p != ',' && *p != '}'); p++) {
        if (!quoted && (*p == '{' || *p == '"'))
            return false;
        bool escaped = *p == '\\';
        if (escaped && ++p == end)
            return false;
        *to++ = *p;
        if (quoted || escaped || (*p != ' ' && *p != '\t' && *p != '\n'))
            kept = to; /* blanks at the end do not count */
    }
    if (quoted) {
        if (p == end)
            return false;
        for (p++; p < end && (*p == ' ' || *p == '\t' || *p == '\n');)
            p++;
    }
    *ret = (Str){text, (u32)(kept - text)};
    *ret_null = !quoted && ret->len == 4 && strncasecmp(text, "null", 4) == 0;
    *at = p;
    return p < end && (*p == ',' || *p == '}') && (quoted || ret->len);
}

static const JsonNode *
step_into(const JsonNode *n, Str step)
{
    if (n->kind == JSON_OBJECT)
        return json_member(n, step);
    i64 index = 0;
    u32 k = step.len && (step.ptr[0] == '-' || step.ptr[0] == '+');
    for (u32 d = k; d < step.len; d++) {
        if (step.ptr[d] < '0' || step.ptr[d] > '9' || (index = index * 10 + (step.ptr[d] - '0')) > INT32_MAX)
            return NULL;
    }
    return step.len > k ? json_element(n, step.ptr[0] == '-' ? -index : index) : NULL;
}

static bool
get_path(KernCall *c, u32 i)
{
    JsonNode *n;
    Str path = ARG(c, 1, Str, i), step;
    const char *p = path.ptr, *end = path.ptr + path.len;
    bool null;
    if (!parse_arg(c, 0, i, &n))
        return false;
    while (p < end && *p == ' ')
        p++;
    if (p == end || *p++ != '{' || p == end)
        return bad_path(c, path);
    const JsonNode *at = n;
    if (*p == '}')
        return p + 1 == end ? give(c, i, at) : bad_path(c, path);
    for (;; p++) {
        if (!path_step(c, &p, end, &step, &null))
            return bad_path(c, path);
        at = at && !null ? step_into(at, step) : NULL;
        if (*p == '}')
            break;
    }
    return p + 1 == end ? give(c, i, at) : bad_path(c, path);
}

/* ---- comparisons of jsonb ---- */
static bool
compare(KernCall *c, u32 i)
{
    JsonNode *a, *b;
    if (!parse_arg(c, 0, i, &a) || !parse_arg(c, 1, i, &b))
        return false;
    int order = json_cmp(a, b);
    FuncOp op = c->def->op;
    RET(c, u8, i) = op == FOP_EQ ? order == 0 : op == FOP_NE ? order != 0 : op == FOP_LT ? order < 0 : op == FOP_LE ? order <= 0
        : op == FOP_GT ? order > 0 : order >= 0;
    return true;
}

/* ---- what a value is ---- */
static bool
type_of(KernCall *c, u32 i)
{
    static const char *const NAMES[] = {
        [JSON_NULL] = "null", [JSON_STRING] = "string", [JSON_NUMBER] = "number", [JSON_BOOL] = "boolean", [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };
    JsonNode *n;
    if (!parse_arg(c, 0, i, &n))
        return false;
    RET(c, Str, i) = str_of(NAMES[n->kind]);
    return true;
}

static bool
array_length(KernCall *c, u32 i)
{
    JsonNode *n;
    if (!parse_arg(c, 0, i, &n))
        return false;
    if (n->kind == JSON_OBJECT)
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "cannot get array length of a non-array");
    if (n->kind != JSON_ARRAY)
        return error_set(c->err, ERR_INVALID_PARAMETER_VALUE, "cannot get array length of a scalar");
    RET(c, i32, i) = (i32)n->count;
    return true;
}

KernRow
json_row(const FuncDef *f)
{
    if (!f->arg_count || (f->args[0] != TYPE_JSON && f->args[0] != TYPE_JSONB))
        return NULL;
    switch ((int)f->op) {
    case FOP_JSON_GET: return get;
    case FOP_JSON_PATH: return get_path;
    case FOP_JSON_TYPEOF: return type_of;
    case FOP_JSON_LENGTH: return array_length;
    case FOP_EQ: case FOP_NE: case FOP_LT: case FOP_LE: case FOP_GT: case FOP_GE: return compare;
    default: return NULL;
    }
}
