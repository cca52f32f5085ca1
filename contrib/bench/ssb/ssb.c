/* ssb: writes one table of the Star Schema Benchmark to standard output, as text for COPY.
 *
 *   ssb customer|supplier|part|dates|lineorder SCALE
 *
 * Rows follow the paper's distributions (O'Neil, O'Neil, Chen: Star Schema Benchmark, 2009): 25 nations in 5 regions with 10 cities each, 5 manufacturers with 5
 * categories of 40 brands each, the days of 1992 to 1998, 6 million lines of orders at scale 1. The table of days is called dates. The rows are ours.
 */
#include "../generate.h"
#include "../words.h"
#include <math.h>

enum { START_DATE = 8035, DAYS = 2557 };  /* 1992-01-01 to 1998-12-31, in days since 1970 */

static const char *const MONTHS[] = {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"};
static const char *const WEEKDAYS[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

static uint64_t customer_count, supplier_count, part_count, order_count;

static void city(int nation, int64_t digit) { printf("%-9.9s%d\t", NATIONS[nation].name, (int)digit); }

static void party(char table, uint64_t k, const char *kind)
{
    int nation = (int)range(table, 1, k, 0, 24);
    integer((int64_t)k);
    printf("%s#%09" PRIu64 "\t", kind, k);
    printf("%" PRIx64 "\t", draw(table, 2, k));
    city(nation, range(table, 3, k, 0, 9));
    string(NATIONS[nation].name);
    string(REGIONS[NATIONS[nation].region]);
    printf("%d-%03d-%03d-%04d", nation + 10, (int)range(table, 4, k, 100, 999), (int)range(table, 5, k, 100, 999), (int)range(table, 6, k, 1000, 9999));
}

static void customers(void)
{
    for (uint64_t k = 1; k <= customer_count; k++) { party('c', k, "Customer"); tab(); last_string(PICK(SEGMENTS, 'c', 7, k)); }
}

static void suppliers(void)
{
    for (uint64_t k = 1; k <= supplier_count; k++) { party('s', k, "Supplier"); putchar_unlocked('\n'); }
}

static void parts(void)
{
    for (uint64_t k = 1; k <= part_count; k++) {
        int maker = (int)range('p', 1, k, 1, 5), category = (int)range('p', 2, k, 1, 5), brand = (int)range('p', 3, k, 1, 40);
        integer((int64_t)k);
        printf("%s %s\t", PICK(COLOURS, 'p', 4, k), PICK(COLOURS, 'p', 5, k));
        printf("MFGR#%d\tMFGR#%d%d\tMFGR#%d%d%02d\t", maker, maker, category, maker, category, brand);
        string(PICK(COLOURS, 'p', 6, k));
        printf("%s %s %s\t", PICK(TYPE_1, 'p', 7, k), PICK(TYPE_2, 'p', 8, k), PICK(TYPE_3, 'p', 9, k));
        integer(range('p', 10, k, 1, 50));
        printf("%s %s\n", PICK(CONTAINER_1, 'p', 11, k), PICK(CONTAINER_2, 'p', 12, k));
    }
}

static int64_t date_key(int64_t days)
{
    Day d = day_of(days);
    return d.year * 10000 + d.month * 100 + d.day;
}

static void dates(void)
{
    for (int64_t n = START_DATE, of_year = 1; n < START_DATE + DAYS; n++, of_year++) {
        Day d = day_of(n);
        int weekday = (int)((n + 4) % 7);  /* 1970-01-01 was a Thursday */
        if (d.month == 1 && d.day == 1) of_year = 1;
        integer(date_key(n));
        printf("%s %d, %" PRId64 "\t", MONTHS[d.month - 1], d.day, d.year);
        string(WEEKDAYS[weekday]); string(MONTHS[d.month - 1]); integer(d.year); integer(d.year * 100 + d.month);
        printf("%.3s%" PRId64 "\t", MONTHS[d.month - 1], d.year);
        integer(weekday + 1); integer(d.day); integer(of_year); integer(d.month); integer((of_year - 1) / 7 + 1);
        string(d.month == 12 ? "Christmas" : d.month <= 2 ? "Winter" : d.month <= 5 ? "Spring" : d.month <= 8 ? "Summer" : "Fall");
        last_integer(weekday == 0 || weekday == 6 ? 0 : 1);
    }
}

static void lineorders(void)
{
    for (uint64_t n = 0; n < order_count; n++) {
        int64_t day = range('o', 1, n, START_DATE, START_DATE + DAYS - 152), total = 0, lines = range('o', 2, n, 1, 7);
        int64_t price[8], quantity[8], part[8];
        for (int64_t i = 0; i < lines; i++) {
            uint64_t k = n * 8 + (uint64_t)i;
            part[i] = range('l', 1, k, 1, (int64_t)part_count);
            quantity[i] = range('l', 2, k, 1, 50);
            price[i] = quantity[i] * (90000 + part[i] / 10 % 20001 + 100 * (part[i] % 1000));
            total += price[i];
        }
        for (int64_t i = 0; i < lines; i++) {
            uint64_t k = n * 8 + (uint64_t)i;
            int64_t discount = range('l', 4, k, 0, 10);
            integer((int64_t)(n / 8 * 32 + n % 8 + 1)); integer(i + 1);
            integer(range('o', 3, n, 1, (int64_t)customer_count)); integer(part[i]); integer(range('l', 3, k, 1, (int64_t)supplier_count));
            integer(date_key(day)); string(PICK(PRIORITIES, 'o', 4, n)); string("0");
            integer(quantity[i]); integer(price[i]); integer(total); integer(discount);
            integer(price[i] * (100 - discount) / 100); integer(price[i] * 6 / 10 / quantity[i]); integer(range('l', 5, k, 0, 8));
            integer(date_key(day + range('l', 6, k, 30, 90)));
            last_string(PICK(MODES, 'l', 7, k));
        }
    }
}

int main(int argc, char **argv)
{
    static const Table TABLES[] = {{"customer", customers}, {"supplier", suppliers}, {"part", parts}, {"dates", dates}, {"lineorder", lineorders}};
    double scale = argc == 3 ? atof(argv[2]) : 0;
    if (scale < 0.01 || scale > 10000) {
        fprintf(stderr, "usage: ssb customer|supplier|part|dates|lineorder SCALE    SCALE from 0.01 to 10000\n");
        return 2;
    }
    customer_count = (uint64_t)(scale * 30000);
    supplier_count = (uint64_t)(scale * 2000);
    part_count = (uint64_t)(scale < 1 ? 200000 * scale : 200000 * floor(1 + log2(scale)));
    order_count = (uint64_t)(scale * 1500000);
    return write_table("ssb", argv[1], TABLES, COUNT(TABLES));
}
