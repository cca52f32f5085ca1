/* tpch: writes one table of the TPC-H schema to standard output, as text for COPY.
 *
 *   tpch region|nation|supplier|part|partsupp|customer|orders|lineitem SCALE
 *
 * Rows follow the distributions of the specification (version 3, clause 4.2): number of rows, keys, ranges, dates, and the words that
 * the queries look for, so that every query selects the share of rows that it is meant to. They are not the rows of the council's own
 * generator: random numbers and sentences are ours. Each value is a pure function of table, key and column, so any two runs agree, and
 * orders and lineitem, which are written by separate runs, agree with each other.
 */
#include "../generate.h"
#include "../words.h"

/* Words of comments. "special" and "requests" meet in about one comment of an order in a hundred, as query 13 expects. */
static const char *const WORDS[] = {
    "accounts", "across", "after", "against", "among", "asymptotes", "bold", "boost", "carefully", "cajole", "courts", "daring", "deposits", "detect", "doze",
    "engage", "even", "excuses", "express", "final", "foxes", "furiously", "haggle", "ideas", "instructions", "integrate", "ironic", "maintain", "nag",
    "never", "orbits", "packages", "pending", "pinto", "platelets", "quickly", "quiet", "regular", "requests", "ruthlessly", "sauternes", "silent", "sleep",
    "slyly", "special", "theodolites", "unusual", "use", "waters", "wake", "warhorses", "within"};

enum { START_DATE = 8035, END_DATE = 10591, CURRENT_DATE = 9298 };  /* 1992-01-01, 1998-12-31, 1995-06-17, in days since 1970 */

static double scale;
static uint64_t supplier_count, part_count, customer_count, order_count, clerk_count;

/* Letters and digits, low to high of them. */
static void address(char table, int column, uint64_t key, int low, int high)
{
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789, ";
    int length = (int)range(table, column, key, low, high);
    for (int i = 0; i < length; i++) putchar_unlocked(LETTERS[mix(draw(table, column, key) + (uint64_t)i) % (sizeof LETTERS - 1)]);
    tab();
}

/* Words, low to high characters of them, with `inside` (or NULL) somewhere among them; ends the row. */
static void comment(char table, int column, uint64_t key, int low, int high, const char *inside)
{
    char text[256];
    int length = (int)range(table, column, key, low, high), used = inside ? snprintf(text, sizeof text, "%s ", inside) : 0;
    for (uint64_t i = 1; used < length; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s ", WORDS[mix(draw(table, column, key) + i) % COUNT(WORDS)]);
    if (length < used) used = length;
    while (used && text[used - 1] == ' ') used--;
    printf("%.*s\n", used, text);
}

static void phone(char table, int column, uint64_t key, int nation)
{
    uint64_t r = draw(table, column, key);
    printf("%d-%03d-%03d-%04d\t", nation + 10, (int)(r % 900) + 100, (int)(r / 900 % 900) + 100, (int)(r / 810000 % 9000) + 1000);
}

static int64_t retail_price(uint64_t part) { return (int64_t)(90000 + part / 10 % 20001 + 100 * (part % 1000)); }
static uint64_t supplier_of(uint64_t part, uint64_t i) { return (part + i * (supplier_count / 4 + (part - 1) / supplier_count)) % supplier_count + 1; }

static void regions(void)
{
    for (uint64_t k = 0; k < COUNT(REGIONS); k++) { integer((int64_t)k); string(REGIONS[k]); comment('r', 1, k, 31, 115, NULL); }
}

static void nations(void)
{
    for (uint64_t k = 0; k < COUNT(NATIONS); k++) {
        integer((int64_t)k); string(NATIONS[k].name); integer(NATIONS[k].region); comment('n', 1, k, 31, 114, NULL);
    }
}

static void suppliers(void)
{
    for (uint64_t k = 1; k <= supplier_count; k++) {
        int nation = (int)range('s', 1, k, 0, 24);
        uint64_t letter = draw('s', 6, k) % 2000;  /* 5 of 10,000 complain, 5 recommend */
        integer((int64_t)k);
        printf("Supplier#%09" PRIu64 "\t", k);
        address('s', 2, k, 10, 40); integer(nation); phone('s', 3, k, nation); money(range('s', 4, k, -99999, 999999));
        comment('s', 5, k, 25, 100, letter == 0 ? "Customer even Complaints" : letter == 1 ? "Customer bold Recommends" : NULL);
    }
}

static void parts(void)
{
    for (uint64_t k = 1; k <= part_count; k++) {
        int maker = (int)range('p', 2, k, 1, 5);
        unsigned taken[5];
        integer((int64_t)k);
        for (unsigned i = 0; i < 5; i++) {  /* five different colours */
            unsigned colour = (unsigned)(mix(draw('p', 1, k) + i) % COUNT(COLOURS));
            for (unsigned j = 0; j < i; j++) if (taken[j] == colour) { colour = (colour + 1) % COUNT(COLOURS); j = (unsigned)-1; }
            taken[i] = colour;
            printf(i < 4 ? "%s " : "%s\t", COLOURS[colour]);
        }
        printf("Manufacturer#%d\tBrand#%d%d\t", maker, maker, (int)range('p', 3, k, 1, 5));
        printf("%s %s %s\t", PICK(TYPE_1, 'p', 4, k), PICK(TYPE_2, 'p', 5, k), PICK(TYPE_3, 'p', 6, k));
        integer(range('p', 7, k, 1, 50));
        printf("%s %s\t", PICK(CONTAINER_1, 'p', 8, k), PICK(CONTAINER_2, 'p', 9, k));
        money(retail_price(k)); comment('p', 10, k, 5, 22, NULL);
    }
}

static void partsupps(void)
{
    for (uint64_t k = 1; k <= part_count; k++)
        for (uint64_t i = 0; i < 4; i++) {
            integer((int64_t)k); integer((int64_t)supplier_of(k, i)); integer(range('x', 1, k * 4 + i, 1, 9999));
            money(range('x', 2, k * 4 + i, 100, 100000)); comment('x', 3, k * 4 + i, 49, 198, NULL);
        }
}

static void customers(void)
{
    for (uint64_t k = 1; k <= customer_count; k++) {
        int nation = (int)range('c', 1, k, 0, 24);
        integer((int64_t)k);
        printf("Customer#%09" PRIu64 "\t", k);
        address('c', 2, k, 10, 40); integer(nation); phone('c', 3, k, nation); money(range('c', 4, k, -99999, 999999));
        string(PICK(SEGMENTS, 'c', 5, k)); comment('c', 6, k, 29, 116, NULL);
    }
}

typedef struct Line { uint64_t part, supplier; int64_t quantity, price, discount, tax, ship, commit, receipt; } Line;

/* Line i (from 0) of the order numbered n (from 0), which was made on a day. */
static Line line_of(uint64_t n, uint64_t i, int64_t ordered)
{
    uint64_t k = n * 8 + i;
    Line l = {.part = (uint64_t)range('l', 1, k, 1, (int64_t)part_count), .quantity = range('l', 3, k, 1, 50)};
    l.supplier = supplier_of(l.part, draw('l', 2, k) % 4);
    l.price = l.quantity * retail_price(l.part);
    l.discount = range('l', 4, k, 0, 10);
    l.tax = range('l', 5, k, 0, 8);
    l.ship = ordered + range('l', 6, k, 1, 121);
    l.commit = ordered + range('l', 7, k, 30, 90);
    l.receipt = l.ship + range('l', 8, k, 1, 30);
    return l;
}

static uint64_t order_key(uint64_t n) { return n / 8 * 32 + n % 8 + 1; }  /* the first 8 of each 32 keys */
static int64_t order_date(uint64_t n) { return range('o', 2, n, START_DATE, END_DATE - 151); }
static uint64_t line_count(uint64_t n) { return (uint64_t)range('o', 3, n, 1, 7); }

static void orders(void)
{
    for (uint64_t n = 0; n < order_count; n++) {
        uint64_t customer = draw('o', 1, n) % (customer_count / 3 * 2), lines = line_count(n), open = 0;
        int64_t total = 0, ordered = order_date(n);
        for (uint64_t i = 0; i < lines; i++) {
            Line l = line_of(n, i, ordered);
            open += l.ship > CURRENT_DATE;
            total += l.price * (100 - l.discount) * (100 + l.tax) / 10000;
        }
        integer((int64_t)order_key(n));
        integer((int64_t)(customer / 2 * 3 + customer % 2 + 1));  /* a third of the customers, those of keys 3, 6, ..., never order */
        string(open == lines ? "O" : open ? "P" : "F");
        money(total); date(ordered); string(PICK(PRIORITIES, 'o', 4, n));
        printf("Clerk#%09" PRId64 "\t0\t", range('o', 5, n, 1, (int64_t)clerk_count));
        comment('o', 6, n, 19, 78, NULL);
    }
}

static void lineitems(void)
{
    for (uint64_t n = 0; n < order_count; n++) {
        int64_t ordered = order_date(n);
        for (uint64_t i = 0, lines = line_count(n); i < lines; i++) {
            Line l = line_of(n, i, ordered);
            integer((int64_t)order_key(n)); integer((int64_t)l.part); integer((int64_t)l.supplier); integer((int64_t)i + 1); integer(l.quantity);
            money(l.price); money(l.discount); money(l.tax);
            string(l.receipt > CURRENT_DATE ? "N" : draw('l', 9, n * 8 + i) % 2 ? "R" : "A");
            string(l.ship > CURRENT_DATE ? "O" : "F");
            date(l.ship); date(l.commit); date(l.receipt);
            string(PICK(INSTRUCTIONS, 'l', 10, n * 8 + i)); string(PICK(MODES, 'l', 11, n * 8 + i));
            comment('l', 12, n * 8 + i, 10, 43, NULL);
        }
    }
}

int main(int argc, char **argv)
{
    static const Table TABLES[] = {
        {"region", regions}, {"nation", nations}, {"supplier", suppliers}, {"part", parts}, {"partsupp", partsupps}, {"customer", customers},
        {"orders", orders}, {"lineitem", lineitems}};
    scale = argc == 3 ? atof(argv[2]) : 0;
    if (scale < 0.01 || scale > 10000) {
        fprintf(stderr, "usage: tpch region|nation|supplier|part|partsupp|customer|orders|lineitem SCALE    SCALE from 0.01 to 10000\n");
        return 2;
    }
    supplier_count = (uint64_t)(scale * 10000);
    part_count = (uint64_t)(scale * 200000);
    customer_count = (uint64_t)(scale * 150000);
    order_count = (uint64_t)(scale * 1500000);
    clerk_count = (uint64_t)(scale * 1000) + 1;
    return write_table("tpch", argv[1], TABLES, COUNT(TABLES));
}
