/* clickbench: writes rows of ClickBench's table hits to standard output, as text for COPY.
 *
 *   clickbench hits SCALE      a million rows at scale 1
 *
 * The original's 100 million rows are those of a web analytics service; these are made up, with what its questions look for: skewed users, regions and
 * counters, mostly empty search phrases and phone models, long addresses of which some are of a search engine. Of its 105 columns there are those that
 * the questions name, and a few more.
 */
#include "../generate.h"

enum { JULY = 15887 };  /* 2013-07-01, in days since 1970 */

static uint64_t row_count;

static const char *const HOSTS[] = {"http://example.com", "https://www.shop.example", "http://news.google.example", "https://google.com", "http://www.maps.google.com", "http://auto.test",
                                    "https://forum.test", "http://www.photo.example", "http://bank.example", "https://mail.test", "http://tv.example", "https://games.test"};
static const char *const PATHS[] = {"index", "catalog", "item", "search", "view", "user", "basket", "topic", "list", "card", "news", "photo", "video", "price", "map", "help"};
static const char *const PHRASES[] = {"weather", "cheap", "tickets", "buy", "house", "car", "film", "online", "free", "music", "download", "map", "city", "news", "job", "recipe",
                                      "погода", "купить", "фото", "карта"};
static const char *const MODELS[] = {"iPad", "iPhone 5", "Galaxy S3", "Lumia 920", "N8", "Optimus G", "Xperia Z", "One X", "Desire", "Nexus 4"};

/* From low values often to high ones seldom: the square of an even distribution. */
static uint64_t skewed(int column, uint64_t row, uint64_t count)
{
    uint64_t r = draw('h', column, row) >> 40;  /* 24 bits */
    return (r * r >> 24) * count >> 24;
}

static void page(int column, uint64_t row, uint64_t pages)
{
    uint64_t n = skewed(column, row, pages), h = mix(n + (uint64_t)column);
    printf("%s/%s/%s/%" PRIu64 ".html?id=%" PRIu64, PICK(HOSTS, 'u', 1, n), PICK(PATHS, 'u', 2, n), PICK(PATHS, 'u', 3, n), h % 1000, n);
    tab();
}

static void phrase(uint64_t row)
{
    if (draw('h', 20, row) % 8 == 0) {
        uint64_t n = skewed(21, row, 5000 + row_count / 20);
        printf("%s %s %s%" PRIu64, PICK(PHRASES, 'q', 1, n), PICK(PHRASES, 'q', 2, n), PICK(PHRASES, 'q', 3, n), n % 7);
    }
    tab();
}

static void hits(void)
{
    for (uint64_t row = 1; row <= row_count; row++) {
        uint64_t user = mix(skewed(2, row, 1000 + row_count / 8)) >> 1, second = draw('h', 5, row) % (31 * 86400);
        Day d = day_of(JULY + (int64_t)(second / 86400));
        bool phone = draw('h', 12, row) % 20 == 0, advertised = draw('h', 13, row) % 40 == 0;
        uint64_t url = draw('h', 24, row) % 50, referer = draw('h', 25, row) % 50;
        integer((int64_t)(draw('h', 1, row) >> 1));                                       /* WatchID */
        string(advertised ? "Google search – ads" : PICK(PATHS, 'h', 3, row));            /* Title */
        printf("%04" PRId64 "-%02d-%02d %02d:%02d:%02d\t", d.year, d.month, d.day, (int)(second / 3600 % 24), (int)(second / 60 % 60), (int)(second % 60));
        date(JULY + (int64_t)(second / 86400));                                           /* EventTime, EventDate */
        integer((int64_t)(skewed(4, row, 200) + 62));                                     /* CounterID */
        integer((int64_t)(int32_t)mix(user));                                             /* ClientIP */
        integer((int64_t)skewed(6, row, 3000));                                           /* RegionID */
        integer((int64_t)(row % 200000 == 77 ? 435090932899640449 : (int64_t)user));      /* UserID */
        integer((int64_t)(draw('h', 7, row) % 2)); integer((int64_t)(draw('h', 8, row) % 90)); /* OS, UserAgent */
        page(9, row, 1000 + row_count / 5);                                               /* URL */
        if (draw('h', 10, row) % 4) page(11, row, 1000 + row_count / 10); else tab();     /* Referer */
        integer(draw('h', 14, row) % 7 == 0);                                             /* IsRefresh */
        integer((int64_t)(draw('h', 15, row) % 14 * 100 + 320));                          /* ResolutionWidth */
        integer((int64_t)(draw('h', 16, row) % 6 * 300 + 480));                           /* ResolutionHeight */
        integer(phone ? (int64_t)(draw('h', 17, row) % 60 + 1) : 0);                      /* MobilePhone */
        string(phone ? PICK(MODELS, 'h', 18, row) : "");                                  /* MobilePhoneModel */
        integer(draw('h', 19, row) % 8 ? 0 : (int64_t)(draw('h', 22, row) % 30 + 1));     /* SearchEngineID */
        phrase(row);                                                                      /* SearchPhrase */
        integer(advertised ? (int64_t)(draw('h', 23, row) % 18 + 1) : 0);                 /* AdvEngineID */
        integer((int64_t)(draw('h', 26, row) % 1600)); integer((int64_t)(draw('h', 27, row) % 900)); /* WindowClientWidth, WindowClientHeight */
        integer((int64_t)(draw('h', 28, row) % 10) - 1);                                  /* TraficSourceID */
        integer(draw('h', 29, row) % 9 == 0);                                             /* DontCountHits */
        integer(draw('h', 30, row) % 3 == 0); integer(draw('h', 31, row) % 15 == 0);      /* IsLink, IsDownload */
        integer(referer == 0 ? 3594120000172545465 : (int64_t)(mix(referer) >> 1));       /* RefererHash */
        last_integer(url == 0 ? 2868770270353813622 : (int64_t)(mix(url) >> 1));          /* URLHash */
    }
}

int main(int argc, char **argv)
{
    static const Table TABLES[] = {{"hits", hits}};
    double scale = argc == 3 ? atof(argv[2]) : 0;
    if (scale < 0.001 || scale > 100000) {
        fprintf(stderr, "usage: clickbench hits SCALE    SCALE from 0.001 to 100000\n");
        return 2;
    }
    row_count = (uint64_t)(scale * 1e6);
    return write_table("clickbench", argv[1], TABLES, COUNT(TABLES));
}
