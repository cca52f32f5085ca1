/* env.c: the real time and randomness. */
#include "common/base/env.h"

#include "common/base/say.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

static u64
real_monotonic_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

static i64
real_wall_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return ((i64)t.tv_sec - 946684800) * 1000000 + t.tv_nsec / 1000;
}

static void
real_random_bytes(void *to, size_t len)
{
    u8 *p = to;
    while (len) {
        ssize_t n = getrandom(p, MIN(len, 256), 0);
        if (n < 0 && errno != EINTR)
            say_panic("the kernel gives no random bytes: %s", strerror(errno));
        if (n > 0) {
            p += n;
            len -= (size_t)n;
        }
    }
}

const Env env_real = {real_monotonic_ns, real_wall_us, real_random_bytes};
const Env *env = &env_real;
