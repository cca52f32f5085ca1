/*
 * datadir.c
 *    The data folder: made at the first start, recognised by its identity file, locked while anybody of this server lives.
 *
 * Layout: ggs3db.id (identity, format version), ggs3db.begun (a server opened its doors here: the log must not be empty any more), postmaster.pid (locked with flock, for people and scripts), wal/ (redo log), snap/
 * (snapshots), ggs3db.conf (settings, optional). The lock is an flock on postmaster.pid; a killed server's lock can outlive its
 * processes for some milliseconds, so taking it is tried for a while.
 */
#include "postmaster/postmaster.h"

#include "common/base/crc32c.h"
#include "common/base/env.h"
#include "common/base/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FORMAT_VERSION = 1, LOCK_TRIES = 40, LOCK_PAUSE_US = 50000 };
static const char ID_FILE[] = "ggs3db.id", PID_FILE[] = "postmaster.pid", BEGUN_FILE[] = "ggs3db.begun";

static const char *
folder(const Postmaster *pm)
{
    return conf_text(&pm->boot.conf, data_directory);
}

static bool
is_empty_folder(int fd)
{
    bool empty = true;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "lost+found") != 0 &&
            strcmp(e->d_name, PID_FILE) != 0 && strcmp(e->d_name, "ggs3db.conf") != 0)
            empty = false;
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
    return empty;
}

static int
sync_and_close(int fd)
{
    int failed = fsync(fd) != 0 ? -errno : 0;
    close(fd);
    return failed;
}

/* The identity: one line of text whose last field is the checksum of what stands before it. */
static bool
write_identity(int dir, Error *err)
{
    char text[128];
    u64 id;
    env->random_bytes(&id, sizeof id);
    int len = snprintf(text, sizeof text, "ggs3db %d %016llx ", FORMAT_VERSION, (unsigned long long)id);
    u32 sum = crc32c(0, text, (size_t)len);
    len += snprintf(text + len, sizeof text - (size_t)len, "%08x\n", sum);
    int fd = openat(dir, "ggs3db.id.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || write(fd, text, (size_t)len) != len || sync_and_close(fd) != 0 ||
        renameat(dir, "ggs3db.id.new", dir, ID_FILE) != 0 || fsync(dir) != 0)
        return error_set(err, ERR_IO_ERROR, "cannot write the data folder's identity file: %s", strerror(errno));
    return true;
}

static bool
check_identity(Postmaster *pm, int dir, Error *err)
{
    char text[128] = "";
    int version = 0;
    unsigned long long id;
    unsigned sum;
    int fd = openat(dir, ID_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return error_set(err, ERR_IO_ERROR, "cannot read \"%s/%s\": %s", folder(pm), ID_FILE, strerror(errno));
    int used = 0;
    if (sscanf(text, "ggs3db %d %16llx %n%8x", &version, &id, &used, &sum) != 3 || crc32c(0, text, (size_t)used) != sum)
        return error_set(err, ERR_DATA_CORRUPTED, "\"%s/%s\" is damaged: this is not a usable data folder", folder(pm), ID_FILE);
    if (version != FORMAT_VERSION)
        return error_set(err, ERR_DATA_CORRUPTED, "data folder \"%s\" has format %d, this program reads format %d", folder(pm),
                         version, FORMAT_VERSION);
    pm->boot.database_id = id;
    return true;
}

static bool
take_lock(Postmaster *pm, int dir, Error *err)
{
    char text[64] = "";
    int fd = openat(dir, PID_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, ERR_IO_ERROR, "cannot open \"%s/%s\": %s", folder(pm), PID_FILE, strerror(errno));
    for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i < LOCK_TRIES) {
            usleep(LOCK_PAUSE_US);
            continue;
        }
        if (pread(fd, text, sizeof text - 1, 0) > 0)
            text[strcspn(text, "\n")] = 0;
        close(fd);
        return error_set(err, ERR_OBJECT_IN_USE, "data folder \"%s\" is in use by another server (process %s)", folder(pm),
                         *text ? text : "unknown");
    }
    pm->lock_fd = fd;
    return true;
}

/* Open or make a folder of ours below the data folder. */
static int
open_sub(int dir, const char *name, u32 uid, u32 gid)
{
    if (mkdirat(dir, name, 0700) == 0) {
        if (fchownat(dir, name, uid, gid, AT_SYMLINK_NOFOLLOW) != 0 || fsync(dir) != 0)
            return -1;
    } else if (errno != EEXIST)
        return -1;
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool
datadir_open(Postmaster *pm, u32 owner_uid, u32 owner_gid, Error *err)
{
    const char *path = folder(pm);
    struct stat st;
    if (!*path)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "no data folder is given: use -D FOLDER");
    if (mkdir(path, 0700) == 0) {
        say_info("made data folder \"%s\"", path);
        if (chown(path, owner_uid, owner_gid) != 0)
            return error_set(err, ERR_IO_ERROR, "cannot give \"%s\" to its owner: %s", path, strerror(errno));
    } else if (errno != EEXIST)
        return error_set(err, ERR_IO_ERROR, "cannot make data folder \"%s\": %s", path, strerror(errno));
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st) != 0)
        return error_set(err, ERR_IO_ERROR, "cannot open data folder \"%s\": %s", path, strerror(errno));
    if (st.st_uid != owner_uid)
        return error_set(err, ERR_IO_ERROR, "data folder \"%s\" belongs to another user (id %u)", path, (unsigned)st.st_uid);
    if (st.st_mode & 077)
        return error_set(err, ERR_IO_ERROR, "data folder \"%s\" is open to others; run: chmod 700 '%s'", path, path);
    if (!take_lock(pm, dir, err))
        return false;
    if (faccessat(dir, ID_FILE, F_OK, 0) != 0) {
        if (!is_empty_folder(dir))
            return error_set(err, ERR_DATA_CORRUPTED, "folder \"%s\" is not empty and holds no ggs3db database (no %s); give an empty or a new folder", path,
                             ID_FILE);
        /* wal and snap come before the identity, so that a folder with an identity is whole */
        if (open_sub(dir, "wal", owner_uid, owner_gid) < 0 || open_sub(dir, "snap", owner_uid, owner_gid) < 0)
            return error_set(err, ERR_IO_ERROR, "cannot make the folders of \"%s\": %s", path, strerror(errno));
        if (!write_identity(dir, err))
            return false;
        if (fchownat(dir, ID_FILE, owner_uid, owner_gid, AT_SYMLINK_NOFOLLOW) != 0)
            return error_set(err, ERR_IO_ERROR, "cannot give \"%s/%s\" to its owner: %s", path, ID_FILE, strerror(errno));
    }
    if (!check_identity(pm, dir, err))
        return false;
    if (fchown(pm->lock_fd, owner_uid, owner_gid) != 0)
        return error_set(err, ERR_IO_ERROR, "cannot give \"%s/%s\" to its owner: %s", path, PID_FILE, strerror(errno));
    pm->boot.data_dir_fd = dir;
    pm->boot.log_begun = faccessat(dir, BEGUN_FILE, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    pm->boot.wal_dir_fd = openat(dir, "wal", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    pm->boot.snap_dir_fd = openat(dir, "snap", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (pm->boot.wal_dir_fd < 0 || pm->boot.snap_dir_fd < 0)
        return error_set(err, ERR_DATA_CORRUPTED, "data folder \"%s\" is damaged: wal or snap is missing: %s", path, strerror(errno));
    return true;
}

bool
datadir_note_begun(Postmaster *pm, Error *err)
{
    if (pm->boot.log_begun)
        return true;
    int fd = openat(pm->boot.data_dir_fd, BEGUN_FILE, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || sync_and_close(fd) != 0 || fsync(pm->boot.data_dir_fd) != 0)
        return error_set(err, ERR_IO_ERROR, "cannot write \"%s/%s\": %s", folder(pm), BEGUN_FILE, strerror(errno));
    pm->boot.log_begun = true;
    return true;
}

bool
datadir_write_pid(Postmaster *pm, Error *err)
{
    char text[1400];
    char first_socket[256];
    snprintf(first_socket, sizeof first_socket, "%.200s", conf_text(&pm->boot.conf, unix_socket_directories));
    first_socket[strcspn(first_socket, ",")] = 0;
    int len = snprintf(text, sizeof text, "%d\n%s\n%lld\n%lld\n%s\n%s\n", (int)getpid(), folder(pm), (long long)time(NULL),
                       (long long)conf_int(&pm->boot.conf, port), first_socket, conf_text(&pm->boot.conf, listen_addresses));
    if (ftruncate(pm->lock_fd, 0) != 0 || pwrite(pm->lock_fd, text, (size_t)len, 0) != len)
        return error_set(err, ERR_IO_ERROR, "cannot write \"%s/%s\": %s", folder(pm), PID_FILE, strerror(errno));
    return true;
}

void
datadir_close(Postmaster *pm)
{
    unlinkat(pm->boot.data_dir_fd, PID_FILE, 0);
    close(pm->lock_fd);
}
