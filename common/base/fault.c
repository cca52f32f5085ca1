/* fault.c: crash points of test builds. */
#include "common/base/fault.h"

#ifdef ENABLE_FAULTS
#include "common/base/say.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *const NAMES[FAULT_COUNT] = {
#define FAULT_POINT(symbol, room, what) [FAULT_##symbol] = #symbol,
#include "common/base/faults.def"
};

typedef struct FaultCell {
    u64 visits, fire_at; /* fire_at 0: never */
    int action;          /* first letter of its name */
} FaultCell;

static FaultCell *cells; /* shared by all processes */

void
fault_init(void)
{
    cells = mmap(NULL, sizeof *cells * FAULT_COUNT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (cells == MAP_FAILED)
        say_fatal("no memory for the fault table");
    const char *spec = getenv("GGS3DB_FAULTS");
    char *copy = strdup(spec ? spec : ""), *save = NULL;
    for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        char *action = strchr(item, ':'), *nth = action ? strchr(action + 1, ':') : NULL;
        int found = -1;
        if (!action)
            say_fatal("GGS3DB_FAULTS: \"%s\" is not name:action[:nth]", item);
        *action++ = 0;
        if (nth)
            *nth++ = 0;
        for (int i = 0; i < FAULT_COUNT; i++)
            if (strcmp(NAMES[i], item) == 0)
                found = i;
        if (found < 0)
            say_fatal("GGS3DB_FAULTS: no crash point is named \"%s\"", item);
        cells[found].action = action[0] == 's' ? action[1] : action[0]; /* exit, kill, s(e)gv, s(t)op */
        cells[found].fire_at = nth ? strtoull(nth, NULL, 10) : 1;
        if (action[0] == 's' && action[1] == 'e')
            cells[found].action = 'v';
    }
    free(copy);
}

void
fault_visit(FaultPoint point)
{
    if (!cells)
        return;
    FaultCell *c = &cells[point];
    if (__atomic_add_fetch(&c->visits, 1, __ATOMIC_RELAXED) != c->fire_at)
        return;
    switch (c->action) {
    case 'e': _exit(3);
    case 'k': raise(SIGKILL); break;
    case 'v': raise(SIGSEGV); break;
    case 't': raise(SIGSTOP); break;
    default: break;
    }
}

u64
fault_visits(FaultPoint point)
{
    return cells ? cells[point].visits : 0;
}

const char *
fault_name(FaultPoint point)
{
    return NAMES[point];
}
#else
/* Nothing in release builds; an empty translation unit is not allowed. */
typedef int fault_not_built;
#endif
