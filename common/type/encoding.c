/* encoding.c: see encoding.h */
#include "common/type/encoding.h"

#include <ctype.h>

/* PostgreSQL's names and aliases. */
static const char *const OTHERS[] = {
    "abc", "alt", "big5", "euccn", "eucjis2004", "eucjp", "euckr", "euctw", "gb18030", "gbk", "iso88591", "iso885910", "iso885913", "iso885914",
    "iso885915", "iso885916", "iso88592", "iso88593", "iso88594", "iso88595", "iso88596", "iso88597", "iso88598", "iso88599", "johab", "koi8",
    "koi8r", "koi8u", "latin1", "latin10", "latin2", "latin3", "latin4", "latin5", "latin6", "latin7", "latin8", "latin9", "mskanji",
    "muleinternal", "shiftjis", "shiftjis2004", "sjis", "sqlascii", "tcvn", "tcvn5712", "uhc", "vscii", "win", "win1250", "win1251", "win1252",
    "win1253", "win1254", "win1255", "win1256", "win1257", "win1258", "win866", "win874", "win932", "win936", "win949", "win950",
    "windows1250", "windows1251", "windows1252", "windows1253", "windows1254", "windows1255", "windows1256", "windows1257", "windows1258",
    "windows866", "windows874", "windows932", "windows936", "windows949", "windows950",
};

Encoding
encoding_find(Str name)
{
    char plain[32];
    size_t n = 0;
    for (u32 i = 0; i < name.len; i++)
        if (isalnum((u8)name.ptr[i])) {
            if (n == sizeof plain - 1)
                return ENCODING_UNKNOWN;
            plain[n++] = (char)tolower((u8)name.ptr[i]);
        }
    plain[n] = 0;
    if (strcmp(plain, "utf8") == 0 || strcmp(plain, "unicode") == 0)
        return ENCODING_UTF8;
    for (size_t i = 0; i < COUNT_OF(OTHERS); i++)
        if (strcmp(plain, OTHERS[i]) == 0)
            return ENCODING_OTHER;
    return ENCODING_UNKNOWN;
}
