/*
 * fault.h
 *    Named crash points: places where a test build can make a process stop, die or fail, one row each in faults.def.
 *
 * FAULT(name) costs nothing unless built with --enable-faults. There it looks at a table in shared memory that the
 * postmaster fills from the environment variable GGS3DB_FAULTS ("name:action[:nth]", comma separated; actions exit, kill,
 * segv, stop) and counts every visit, so that a test can prove that a point was reached.
 */
#ifndef FAULT_H
#define FAULT_H

#include "common/base/base.h"

typedef enum FaultPoint {
#define FAULT_POINT(symbol, room, what) FAULT_##symbol,
#include "common/base/faults.def"
    FAULT_COUNT
} FaultPoint;

#ifdef ENABLE_FAULTS
/* Called once by the process that forks all others; reads GGS3DB_FAULTS. */
void fault_init(void);
void fault_visit(FaultPoint point);
u64 fault_visits(FaultPoint point);
const char *fault_name(FaultPoint point);
#define FAULT(symbol) fault_visit(FAULT_##symbol)
#else
#define FAULT(symbol) ((void)0)
static inline void fault_init(void) {}
#endif

#endif
