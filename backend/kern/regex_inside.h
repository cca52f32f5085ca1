/*
 * regex_inside.h
 *    What the files of regex.h share.
 *
 * An expression is read into two things at once. Nodes say which texts match. The tree above them says how a match is taken apart: it has a place of
 * its own only for what captures, refers back, or mixes preferences for long and short; everything else is one plain leaf. Its shape is
 * that of PostgreSQL's, since the shape decides which of several ways to match is taken.
 *
 *   nodes -> program (split, set, assertion, accept) -> automaton whose states are made when they are met (regex_dfa.c)
 *   tree  -> dissection of a found match (regex_match.c), asking the automata of its parts
 *
 * Characters are put into classes ("colors") that no set of the expression tells apart; automata see colors only.
 */
#ifndef REGEX_INSIDE_H
#define REGEX_INSIDE_H

#include "backend/kern/regex.h"

enum {
    REGEX_DUP_MAX = 255,
    REGEX_INFINITE = 256,
    REGEX_MAX_DEPTH = 1000,       /* nested, or groups one after the other */
    REGEX_MAX_PROGRAM = 50000,    /* instructions of one automaton */
    REGEX_MAX_CHAR = 0x7ffffffe,
};

#define REGEX_TOO_COMPLEX "regular expression is too complex"

/* ---- sets of characters ---- */
typedef struct CharRange {
    u32 from, to;
} CharRange;

typedef struct CharSet { /* sorted, without overlap, once it is kept */
    u32 count, capacity;
    CharRange *ranges;
} CharSet;

typedef enum CharClass { CLASS_ALNUM, CLASS_ALPHA, CLASS_ASCII, CLASS_BLANK, CLASS_CNTRL, CLASS_DIGIT, CLASS_GRAPH, CLASS_LOWER, CLASS_PRINT, CLASS_PUNCT,
    CLASS_SPACE, CLASS_UPPER, CLASS_XDIGIT, CLASS_WORD, CLASS_COUNT } CharClass;

/* ---- nodes ---- */
typedef enum NodeKind { NODE_EMPTY, NODE_SET, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_ASSERT, NODE_LOOK, NODE_BACKREF } NodeKind;
typedef enum AssertKind { AT_TEXT_BEGIN, AT_TEXT_END, AT_LINE_BEGIN, AT_LINE_END, AT_WORD_BEGIN, AT_WORD_END, AT_WORD_EDGE, AT_NO_WORD_EDGE } AssertKind;

typedef struct Node {
    NodeKind kind;
    u32 count;          /* of kids */
    struct Node **kids; /* one of REPEAT, LOOK, BACKREF (the group's) */
    u32 set;            /* SET: number; LOOK: number */
    u16 min, max;       /* REPEAT, BACKREF */
    AssertKind assertion;
} Node;

typedef struct Look {
    Node *node;
    bool ahead, negative;
    struct Dfa *dfa;
    u32 state, at, forgotten; /* behind: the automaton has run up to here */
    bool running;
} Look;

/* ---- the tree ---- */
typedef enum TreeOp { TREE_PLAIN, TREE_CAT, TREE_ALT, TREE_REPEAT, TREE_BACKREF, TREE_WRAP } TreeOp;
enum { LONGER = 1, SHORTER = 2, MIXED = 4, CAPTURES = 8, REFERS = 16, PREFERENCE = LONGER | SHORTER };

typedef struct Tree {
    TreeOp op;
    u8 flags;
    u32 group;           /* what it matches is this group; 0: none */
    Node *node;
    struct Tree *child;  /* the first of several */
    struct Tree *next;   /* of the same parent */
    u16 min, max;        /* REPEAT, BACKREF */
    u32 backref;
    struct Dfa *dfa;     /* made when wanted */
} Tree;

struct Regex {
    RegexMemory *memory;
    u32 flags;
    u32 group_count;
    bool has_backrefs;
    Tree *tree;
    struct Dfa *search;  /* any text, then the expression */
    u32 set_count, set_capacity;
    CharSet *sets;
    u32 word_set, newline_set; /* number + 1; 0: nobody asks */
    u32 look_count, look_capacity;
    Look *looks;
    /* colors */
    u32 color_count;     /* the end of the text is color number color_count */
    u8 *set_has;         /* per set and color */
    u8 *color_kind;      /* per color: ColorKind */
    u16 ascii[128];
    u32 interval_count;
    u32 *interval_from;
    u16 *interval_color;
    /* the text at hand */
    u16 *colors;
    u32 *offsets;
    u32 colors_capacity, offsets_capacity;
    /* a search at hand */
    const RegexText *text;
    RegexSpan *spans;
    u32 span_capacity;
    u32 *ends;           /* stack of ends of iterations */
    u32 ends_count, ends_capacity;
    u32 depth, steps;
    bool (*stop)(void);
    const char *failure; /* message; a stop has none */
    bool stopped;
};

typedef enum ColorKind { KIND_OTHER, KIND_WORD, KIND_NEWLINE, KIND_EDGE } ColorKind;

/* regex_memory.c */
/* A longer copy of an array; *capacity is that of before, and after at least `wanted`. */
void *regex_grow(RegexMemory *m, const void *old, u32 *capacity, u32 wanted, size_t size);

/* regex_set.c */
void regex_set_add(Regex *re, CharSet *s, u32 from, u32 to);
void regex_set_add_class(Regex *re, CharSet *s, CharClass k);
void regex_set_complement(Regex *re, CharSet *s);
u32 regex_set_keep(Regex *re, CharSet *s); /* its number */
bool regex_class_find(const u32 *name, u32 len, CharClass *ret);
void regex_make_colors(Regex *re);
u16 regex_color(const Regex *re, u32 cp);

/* regex_lex.c */
typedef enum RegexToken { RT_END, RT_PLAIN, RT_BACKREF, RT_CLASS, RT_NOT_CLASS, RT_LOOK, RT_DIGIT, RT_RANGE, RT_COLLATING, RT_EQUIVALENCE, RT_CLASS_NAME, RT_NAME_END,
    RT_WORD_EDGE, RT_NO_WORD_EDGE, RT_TEXT_BEGIN, RT_TEXT_END, RT_WORD_BEGIN, RT_WORD_END,
    RT_STAR, RT_PLUS, RT_MAYBE, RT_BRACE, RT_BRACE_END, RT_OPEN, RT_CLOSE, RT_BRACKET, RT_BRACKET_END, RT_BAR, RT_DOT, RT_CARET, RT_DOLLAR, RT_COMMA } RegexToken;
enum { LOOK_NEGATIVE = 1, LOOK_BEHIND = 2 };

typedef struct RegexReader {
    Regex *re;
    const u32 *now, *end;
    u32 flags;
    int where;          /* the part of the grammar it is in */
    RegexToken token, last;
    u32 value;
    u32 groups;         /* opened so far */
    u32 group_capacity;
    Tree **group;       /* by number; NULL: not closed yet */
    u32 depth;
    const char *error;
    const char *unsupported;
} RegexReader;

void regex_reader_start(RegexReader *r); /* flags in front, first token */
void regex_reader_next(RegexReader *r);
void regex_reader_fail(RegexReader *r, const char *message);
/* regex_parse.c */
Tree *regex_parse(RegexReader *r);

/* regex_dfa.c */
enum { NOWHERE = 0xffffffff };
struct Dfa *dfa_new(Regex *re, Node *node, bool anywhere);
/* The longest match that begins at `from` and ends at most at `stop`; NOWHERE: none, or re->stopped or failure is set. */
u32 dfa_longest(Regex *re, struct Dfa *d, u32 from, u32 stop);
/* The shortest that ends at `least` or later. *ret_cold (may be NULL): no match begins before (automata that match anywhere). */
u32 dfa_shortest(Regex *re, struct Dfa *d, u32 from, u32 least, u32 stop, u32 *ret_cold);
/* Does a match that begins anywhere end at `at`? For lookbehind; goes on from where it was asked last. */
bool dfa_ends_at(Regex *re, Look *look, u32 at);
/* Counts work; true: the statement shall end, re->stopped is set. */
bool regex_tick(Regex *re, u32 steps);

#endif
