/* isa_base.c: the loops of isa.inc for what every x86-64 and any other machine runs. */
#include "backend/kern/map.h"
#include "common/type/numeric.h"

#define KERN_ISA base
#define KERN_TABLE KERN_BASE
#define KERN_TABLE_TEXT "base"
#define KERN_SELECT select_scalar
#include "backend/kern/isa.inc"
