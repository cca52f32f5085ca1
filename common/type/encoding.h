/* encoding.h: names of character encodings. Text is UTF-8 everywhere; the others are known so that the refusal can say so. */
#ifndef ENCODING_H
#define ENCODING_H

#include "common/base/base.h"

typedef enum Encoding { ENCODING_UTF8, ENCODING_OTHER, ENCODING_UNKNOWN } Encoding;

/* Only letters and digits of a name count, in any case. OTHER: one that PostgreSQL has. */
Encoding encoding_find(Str name);

#endif
