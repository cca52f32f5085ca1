/*
 * regex_parse.c
 *    From tokens to nodes and the tree.
 *
 * A branch is read from left to right. As long as its pieces are simple they are gathered in one plain leaf. The first piece that captures, refers back
 * or mixes preferences splits the branch in three: what was before, the piece, and the rest, which is read as a branch of its own.
 * How the flags of the parts make those of the whole (join()) decides whether short or long matches are tried first.
 */
#include "backend/kern/regex_inside.h"

typedef struct NodeList {
    u32 count, capacity;
    Node **items;
} NodeList;

/* One piece of a branch. tree NULL: it is simple. */
typedef struct Atom {
    Node *node;
    Tree *tree;
    bool group, backref;
} Atom;

typedef struct Quantifier {
    u16 min, max;
    u8 preference;
} Quantifier;

static Tree *parse_alternatives(RegexReader *r, RegexToken stopper, bool in_look);

/* ---- making nodes ---- */

static Node *
new_node(RegexReader *r, NodeKind kind, u32 kid_count)
{
    Node *n = regex_alloc(r->re->memory, sizeof *n);
    n->kind = kind;
    n->count = kid_count;
    if (kid_count)
        n->kids = regex_alloc(r->re->memory, kid_count * sizeof *n->kids);
    return n;
}

static Node *
node_of(RegexReader *r, NodeKind kind, Node *kid)
{
    Node *n = new_node(r, kind, 1);
    n->kids[0] = kid;
    return n;
}

static Node *
set_node(RegexReader *r, CharSet *s)
{
    Node *n = new_node(r, NODE_SET, 0);
    n->set = regex_set_keep(r->re, s);
    return n;
}

static Node *
repeat_node(RegexReader *r, Node *kid, u16 min, u16 max)
{
    if (min == 1 && max == 1)
        return kid;
    Node *n = node_of(r, NODE_REPEAT, kid);
    n->min = min;
    n->max = max;
    return n;
}

static Node *
pair_node(RegexReader *r, Node *a, Node *b)
{
    Node *n = new_node(r, NODE_CAT, 2);
    n->kids[0] = a;
    n->kids[1] = b;
    return n;
}

static void
list_add(RegexReader *r, NodeList *l, Node *n)
{
    if (l->count == l->capacity)
        l->items = regex_grow(r->re->memory, l->items, &l->capacity, l->count + 1, sizeof *l->items);
    l->items[l->count++] = n;
}

static Node *
list_node(RegexReader *r, const NodeList *l, NodeKind kind)
{
    if (l->count == 1)
        return l->items[0];
    Node *n = new_node(r, l->count ? kind : NODE_EMPTY, 0);
    n->count = l->count;
    n->kids = l->items;
    return n;
}

/* ---- making trees ---- */

static bool
is_messy(u8 flags)
{
    return flags & (MIXED | CAPTURES | REFERS);
}

/* Flags that a part gives its whole: not its preference, but that preferences are mixed. */
static u8
upward(u8 flags)
{
    bool both = (flags & PREFERENCE) == PREFERENCE;
    return (u8)((flags & ~PREFERENCE) | (both ? MIXED : 0));
}

static u8
join(u8 first, u8 second)
{
    return (u8)(upward(first | second) | (first & PREFERENCE ? first & PREFERENCE : second & PREFERENCE));
}

static Tree *
new_tree(RegexReader *r, TreeOp op, u8 flags, Node *node)
{
    Tree *t = regex_alloc(r->re->memory, sizeof *t);
    t->op = op;
    t->flags = flags;
    t->node = node;
    return t;
}

static Tree *
pair_tree(RegexReader *r, u8 flags, Tree *a, Tree *b)
{
    Tree *t = new_tree(r, TREE_CAT, flags, pair_node(r, a->node, b->node));
    t->child = a;
    a->next = b;
    return t;
}

/* ---- characters ---- */

/* A character, with its other case when case does not matter. */
static void
add_char(RegexReader *r, CharSet *s, u32 c)
{
    if (r->flags & REGEX_ICASE) {
        regex_set_add(r->re, s, text_char_lower(c), text_char_lower(c));
        regex_set_add(r->re, s, text_char_upper(c), text_char_upper(c));
    } else {
        regex_set_add(r->re, s, c, c);
    }
}

static void
add_range(RegexReader *r, CharSet *s, u32 from, u32 to)
{
    regex_set_add(r->re, s, from, to);
    if (!(r->flags & REGEX_ICASE))
        return;
    for (u32 c = from; c <= MIN(to, 0x10ffffu); c++) {
        u32 lower = text_char_lower(c), upper = text_char_upper(c);
        if (lower != c)
            regex_set_add(r->re, s, lower, lower);
        if (upper != c)
            regex_set_add(r->re, s, upper, upper);
    }
}

static void
add_class(RegexReader *r, CharSet *s, CharClass k, bool negated)
{
    if ((r->flags & REGEX_ICASE) && (k == CLASS_LOWER || k == CLASS_UPPER))
        k = CLASS_ALPHA;
    CharSet own = {0};
    regex_set_add_class(r->re, &own, k);
    if (negated)
        regex_set_complement(r->re, &own);
    for (u32 i = 0; i < own.count; i++)
        regex_set_add(r->re, s, own.ranges[i].from, own.ranges[i].to);
}

static Node *
char_node(RegexReader *r, u32 c)
{
    CharSet s = {0};
    add_char(r, &s, c);
    return set_node(r, &s);
}

static Node *
class_node(RegexReader *r, CharClass k, bool negated)
{
    CharSet s = {0};
    add_class(r, &s, k, negated);
    return set_node(r, &s);
}

static Node *
dot_node(RegexReader *r)
{
    CharSet s = {0};
    if (r->flags & REGEX_NLSTOP)
        regex_set_add(r->re, &s, '\n', '\n');
    regex_set_complement(r->re, &s);
    return set_node(r, &s);
}

/* The name in [. .] and its kin, up to its end. */
static u32
read_name(RegexReader *r, const u32 **ret_name, const char *when_empty)
{
    *ret_name = r->now;
    u32 len = 0;
    regex_reader_next(r);
    for (; r->token == RT_PLAIN; len++)
        regex_reader_next(r);
    if (r->token == RT_NAME_END) {
        if (len == 0)
            regex_reader_fail(r, when_empty);
        regex_reader_next(r);
    }
    return len;
}

/* The character of [. .] or [= =]. */
static u32
read_collating(RegexReader *r)
{
    const u32 *name;
    u32 len = read_name(r, &name, "invalid collating element");
    if (len > 1 && !r->error && !r->unsupported)
        r->unsupported = "a named collating element";
    return len == 1 ? *name : 0;
}

static void
read_bracket_part(RegexReader *r, CharSet *s)
{
    u32 from = r->value, to;
    const u32 *name;
    CharClass k;
    switch ((int)r->token) {
    case RT_RANGE:
        regex_reader_fail(r, "invalid character range");
        return;
    case RT_CLASS: case RT_NOT_CLASS:
        add_class(r, s, (CharClass)r->value, r->token == RT_NOT_CLASS);
        regex_reader_next(r);
        return;
    case RT_CLASS_NAME: {
        u32 len = read_name(r, &name, "invalid character class");
        if (r->error)
            return;
        if (regex_class_find(name, len, &k))
            add_class(r, s, k, false);
        else
            regex_reader_fail(r, "invalid character class");
        return;
    }
    case RT_EQUIVALENCE:
        from = read_collating(r);
        add_char(r, s, from);
        return;
    case RT_COLLATING:
        from = read_collating(r);
        break;
    default:
        regex_reader_next(r);
        break;
    }
    if (r->token != RT_RANGE) {
        add_char(r, s, from);
        return;
    }
    regex_reader_next(r);
    to = r->value;
    if (r->token == RT_RANGE)
        to = '-';
    if (r->token == RT_PLAIN || r->token == RT_RANGE)
        regex_reader_next(r);
    else if (r->token == RT_COLLATING)
        to = read_collating(r);
    else
        regex_reader_fail(r, "invalid character range");
    if (!r->error && from > to)
        regex_reader_fail(r, "invalid character range");
    if (!r->error && !r->unsupported)
        add_range(r, s, from, to);
}

static Node *
read_bracket(RegexReader *r)
{
    bool negated = !r->value;
    CharSet s = {0};
    regex_reader_next(r);
    while (r->token != RT_BRACKET_END && r->token != RT_END)
        read_bracket_part(r, &s);
    if (negated) {
        if (r->flags & REGEX_NLSTOP)
            regex_set_add(r->re, &s, '\n', '\n');
        regex_set_complement(r->re, &s);
    }
    regex_reader_next(r);
    return set_node(r, &s);
}

/* ---- constraints ---- */

static Node *
assert_node(RegexReader *r, AssertKind kind)
{
    Node *n = new_node(r, NODE_ASSERT, 0);
    n->assertion = kind;
    CharSet s = {0};
    if (kind >= AT_WORD_BEGIN && !r->re->word_set) {
        regex_set_add_class(r->re, &s, CLASS_WORD);
        r->re->word_set = regex_set_keep(r->re, &s) + 1;
    } else if ((kind == AT_LINE_BEGIN || kind == AT_LINE_END) && !r->re->newline_set) {
        regex_set_add(r->re, &s, '\n', '\n');
        r->re->newline_set = regex_set_keep(r->re, &s) + 1;
    }
    return n;
}

static Node *
read_look(RegexReader *r)
{
    u32 form = r->value;
    regex_reader_next(r);
    Tree *inner = parse_alternatives(r, RT_CLOSE, true);
    regex_reader_next(r);
    Regex *re = r->re;
    if (re->look_count == re->look_capacity)
        re->looks = regex_grow(re->memory, re->looks, &re->look_capacity, re->look_count + 1, sizeof *re->looks);
    re->looks[re->look_count] = (Look){.node = inner->node, .ahead = !(form & LOOK_BEHIND), .negative = form & LOOK_NEGATIVE};
    Node *n = new_node(r, NODE_LOOK, 0);
    n->set = re->look_count++;
    return n;
}

/* What takes no character and no quantifier; NULL: something else comes. */
static Node *
read_constraint(RegexReader *r)
{
    AssertKind kind;
    bool lines = r->flags & REGEX_NLANCH;
    switch ((int)r->token) {
    case RT_CARET: kind = lines ? AT_LINE_BEGIN : AT_TEXT_BEGIN; break;
    case RT_DOLLAR: kind = lines ? AT_LINE_END : AT_TEXT_END; break;
    case RT_TEXT_BEGIN: kind = AT_TEXT_BEGIN; break;
    case RT_TEXT_END: kind = AT_TEXT_END; break;
    case RT_WORD_BEGIN: kind = AT_WORD_BEGIN; break;
    case RT_WORD_END: kind = AT_WORD_END; break;
    case RT_WORD_EDGE: kind = AT_WORD_EDGE; break;
    case RT_NO_WORD_EDGE: kind = AT_NO_WORD_EDGE; break;
    case RT_LOOK: return read_look(r);
    default: return NULL;
    }
    regex_reader_next(r);
    return assert_node(r, kind);
}

/* ---- atoms ---- */

static void
read_group(RegexReader *r, bool in_look, Atom *ret)
{
    u32 number = 0;
    if (r->value && !in_look) {
        number = ++r->groups;
        if (number >= r->group_capacity)
            r->group = regex_grow(r->re->memory, r->group, &r->group_capacity, number + 1, sizeof *r->group);
    }
    regex_reader_next(r);
    Tree *t = parse_alternatives(r, RT_CLOSE, in_look);
    regex_reader_next(r);
    if (number) {
        if (t->group) {
            Tree *wrap = new_tree(r, TREE_WRAP, t->flags, t->node);
            wrap->child = t;
            t = wrap;
        }
        t->flags |= CAPTURES;
        t->group = number;
        r->group[number] = t;
    }
    *ret = (Atom){.node = t->node, .tree = t, .group = number != 0};
}

static void
read_backref(RegexReader *r, bool in_look, Atom *ret)
{
    u32 number = r->value;
    if (in_look || number > r->groups || number >= r->group_capacity || !r->group[number]) {
        regex_reader_fail(r, "invalid backreference number");
        return;
    }
    regex_reader_next(r);
    r->re->has_backrefs = true;
    Tree *t = new_tree(r, TREE_BACKREF, REFERS, NULL);
    t->backref = number;
    *ret = (Atom){.node = r->group[number]->node, .tree = t, .backref = true};
}

static void
read_atom(RegexReader *r, bool in_look, Atom *ret)
{
    u32 value = r->value;
    *ret = (Atom){.node = NULL};
    switch ((int)r->token) {
    case RT_STAR: case RT_PLUS: case RT_MAYBE: case RT_BRACE:
        regex_reader_fail(r, "quantifier operand invalid");
        return;
    case RT_CLOSE:
        if (!(r->flags & REGEX_EXTENDED)) {
            regex_reader_fail(r, "parentheses () not balanced");
            return;
        }
        value = ')';
        __attribute__((fallthrough));
    case RT_PLAIN:
        ret->node = char_node(r, value);
        regex_reader_next(r);
        return;
    case RT_BRACKET: ret->node = read_bracket(r); return;
    case RT_CLASS: case RT_NOT_CLASS:
        ret->node = class_node(r, (CharClass)value, r->token == RT_NOT_CLASS);
        regex_reader_next(r);
        return;
    case RT_DOT:
        ret->node = dot_node(r);
        regex_reader_next(r);
        return;
    case RT_OPEN: read_group(r, in_look, ret); return;
    case RT_BACKREF: read_backref(r, in_look, ret); return;
    default: regex_reader_fail(r, "invalid regular expression"); return;
    }
}

static u16
read_count(RegexReader *r)
{
    u32 n = 0;
    for (; r->token == RT_DIGIT && n < REGEX_DUP_MAX; regex_reader_next(r))
        n = n * 10 + r->value;
    if (r->token == RT_DIGIT || n > REGEX_DUP_MAX) {
        regex_reader_fail(r, "invalid repetition count(s)");
        return 0;
    }
    return (u16)n;
}

static Quantifier
read_quantifier(RegexReader *r)
{
    Quantifier q = {1, 1, 0};
    u8 preference = r->value ? LONGER : SHORTER;
    switch ((int)r->token) {
    case RT_STAR: q = (Quantifier){0, REGEX_INFINITE, preference}; break;
    case RT_PLUS: q = (Quantifier){1, REGEX_INFINITE, preference}; break;
    case RT_MAYBE: q = (Quantifier){0, 1, preference}; break;
    case RT_BRACE:
        regex_reader_next(r);
        q.min = q.max = read_count(r);
        if (r->token == RT_COMMA) {
            regex_reader_next(r);
            q.max = r->token == RT_DIGIT ? read_count(r) : REGEX_INFINITE;
            if (q.min > q.max)
                regex_reader_fail(r, "invalid repetition count(s)");
            q.preference = r->value ? LONGER : SHORTER;
        }
        if (r->token != RT_BRACE_END)
            regex_reader_fail(r, "invalid repetition count(s)");
        break;
    default: return q;
    }
    regex_reader_next(r);
    return q;
}

/* ---- branches ---- */

static bool
branch_is_over(const RegexReader *r, RegexToken stopper)
{
    return r->token == RT_BAR || r->token == stopper || r->token == RT_END;
}

/* A piece that needs a place of its own, with its quantifier. */
static Tree *
quantify(RegexReader *r, const Atom *a, Quantifier q)
{
    Tree *t = a->tree ? a->tree : new_tree(r, TREE_PLAIN, 0, a->node);
    u8 flags = join(q.preference, t->flags), own = t->flags & (LONGER | SHORTER | MIXED);
    if (a->backref) {
        t->node = node_of(r, NODE_BACKREF, a->node);
        t->node->min = t->min = q.min;
        t->node->max = t->max = q.max;
        t->flags |= flags;
        return t;
    }
    if (q.min == 1 && q.max == 1 && (q.preference == 0 || own == 0 || q.preference == own))
        return t;
    if (!(t->flags & (CAPTURES | REFERS)))
        return new_tree(r, TREE_PLAIN, flags, repeat_node(r, t->node, q.min, q.max));
    if (q.min > 0 && !(t->flags & REFERS)) { /* only the last time captures */
        u16 more = q.max == REGEX_INFINITE ? q.max : (u16)(q.max - 1);
        Node *before = more == 0 ? new_node(r, NODE_EMPTY, 0) : repeat_node(r, t->node, (u16)(q.min - 1), more);
        return pair_tree(r, flags, new_tree(r, TREE_PLAIN, flags & PREFERENCE, before), t);
    }
    Tree *again = new_tree(r, TREE_REPEAT, flags, repeat_node(r, t->node, q.min, q.max));
    again->min = q.min;
    again->max = q.max;
    again->child = t;
    return again;
}

static Tree *
parse_branch(RegexReader *r, RegexToken stopper, bool in_look)
{
    NodeList items = {0};
    u8 flags = 0;
    if (++r->depth > REGEX_MAX_DEPTH)
        regex_reader_fail(r, REGEX_TOO_COMPLEX);
    while (!branch_is_over(r, stopper)) {
        Node *constraint = read_constraint(r);
        if (constraint) {
            list_add(r, &items, constraint);
            continue;
        }
        Atom a;
        read_atom(r, in_look, &a);
        if (!a.node || r->error || r->unsupported)
            break;
        Quantifier q = read_quantifier(r);
        if (q.max == 0)
            continue;
        u8 all = flags | q.preference | (a.tree ? a.tree->flags : 0);
        if (!a.group && !a.backref && !is_messy(upward(all))) {
            list_add(r, &items, repeat_node(r, a.node, q.min, q.max));
            flags = all;
            continue;
        }
        Tree *before = new_tree(r, TREE_PLAIN, flags, list_node(r, &items, NODE_CAT));
        u8 pair_flags = join(q.preference, a.tree ? a.tree->flags : 0);
        Tree *whole = quantify(r, &a, q);
        if (!branch_is_over(r, stopper)) {
            Tree *rest = parse_branch(r, stopper, in_look);
            pair_flags |= join(pair_flags, rest->flags);
            whole = pair_tree(r, pair_flags, whole, rest);
        }
        r->depth--;
        u8 top = flags | join(flags, whole->flags);
        if (items.count)
            return pair_tree(r, top, before, whole);
        whole->flags |= top;
        return whole;
    }
    r->depth--;
    return new_tree(r, TREE_PLAIN, flags, list_node(r, &items, NODE_CAT));
}

static Tree *
parse_alternatives(RegexReader *r, RegexToken stopper, bool in_look)
{
    Tree *first = parse_branch(r, stopper, in_look), *last = first;
    if (r->token != RT_BAR) {
        if (r->token != stopper)
            regex_reader_fail(r, "parentheses () not balanced");
        return first;
    }
    NodeList nodes = {0};
    u8 flags = LONGER;
    list_add(r, &nodes, first->node);
    flags |= upward(flags | first->flags);
    while (r->token == RT_BAR) {
        regex_reader_next(r);
        last->next = parse_branch(r, stopper, in_look);
        last = last->next;
        list_add(r, &nodes, last->node);
        flags |= upward(flags | last->flags);
    }
    if (r->token != stopper)
        regex_reader_fail(r, "parentheses () not balanced");
    bool messy = is_messy(flags);
    Tree *t = new_tree(r, messy ? TREE_ALT : TREE_PLAIN, flags, list_node(r, &nodes, NODE_ALT));
    if (messy)
        t->child = first;
    return t;
}

Tree *
regex_parse(RegexReader *r)
{
    return parse_alternatives(r, RT_END, false);
}
