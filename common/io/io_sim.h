/*
 * io_sim.h
 *    The simulated disk: files in memory that know which of their 512-byte sectors would survive a power cut. For tests.
 *
 * What a write changes is dirty until a sync of its file, or the completion of a durable write of those sectors, makes it safe. At a power cut
 * every dirty sector is kept or lost on its own; of the folder operations since the last folder sync a prefix is kept; then all descriptors
 * are gone. A process's death (io_sim_kill) loses nothing, but writes in flight go on and land when the test says so.
 */
#ifndef IO_SIM_H
#define IO_SIM_H

#include "common/io/io.h"

enum { IO_SIM_SECTOR = 512 };

/* Descriptor of the simulated root folder. */
enum { IO_SIM_ROOT = 1000 };

/* Whether the dirty sector of the file survives. */
typedef bool (*IoSimKeep)(void *ctx, const char *path, u64 sector);

/* The power goes: in-flight writes end, folder_ops (of io_sim_folder_ops) are kept, sectors as `keep` says (NULL: none). */
void io_sim_power_cut(Io *io, u32 folder_ops, IoSimKeep keep, void *ctx);
/* The same with everything drawn from the seed. */
void io_sim_power_cut_random(Io *io, u64 seed);
u32 io_sim_folder_ops(const Io *io);
/* Dirty sectors of a file, ascending; returns how many there are, writes at most max. */
u32 io_sim_dirty(const Io *io, const char *path, u64 *sectors, u32 max);

/* The process dies: descriptors are gone, in-flight writes stay in the device until io_sim_land. */
void io_sim_kill(Io *io);
void io_sim_land(Io *io);

/* While held, writes in flight do not finish (a wait returns with nothing). */
void io_sim_hold(Io *io, bool hold);
/* Nonzero: each wait finishes a random non-empty subset, in random order. */
void io_sim_shuffle(Io *io, u64 seed);

/* The nth fallible call from now (1 = the next) fails with -error, once or from then on; a write in flight fails at its completion, and what of it
 * reached the medium is drawn from the number. nth 0: off. Returns the calls counted since the last setting. */
u64 io_sim_fail(Io *io, u64 nth, int error, bool sticky);
/* Syncs and submissions of durable writes for a file after one of them failed: must stay 0. */
u64 io_sim_syncs_after_failure(const Io *io);

/* The bytes of a file as a process would read them, to be looked at or damaged in place; NULL when there is none. */
u8 *io_sim_file(Io *io, const char *path, u64 *ret_size);
/* Make or replace a file, everything safe. */
void io_sim_put(Io *io, const char *path, const void *data, u64 len);
/* Forget all files. */
void io_sim_clear(Io *io);

#endif
