/*
 * harden.c
 *    A seccomp filter that refuses (EPERM) what could lead to a writable mapping, another process or another program.
 *
 * A list of refusals, not of permissions: libraries and sanitizers make calls that nobody lists, and the areas are read-only by mapping already; this
 * closes the ways to undo that. clone3 and openat2 hide their flags in memory, so they answer ENOSYS and libc falls back to calls that can be judged.
 */
#include "backend/harden.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Refused whatever the arguments are. */
static const int REFUSED[] = {
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise),
    SCMP_SYS(kcmp), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kill), SCMP_SYS(tkill),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register), SCMP_SYS(io_setup),
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4),
    /* moving or growing the mapping of the own box would reach its neighbours; malloc copies instead */
    SCMP_SYS(mremap), SCMP_SYS(remap_file_pages),
    SCMP_SYS(memfd_create), SCMP_SYS(memfd_secret), SCMP_SYS(shmget), SCMP_SYS(shmat), SCMP_SYS(shmctl),
    SCMP_SYS(creat), SCMP_SYS(truncate), SCMP_SYS(ftruncate), SCMP_SYS(fallocate), SCMP_SYS(mknod), SCMP_SYS(mknodat),
    SCMP_SYS(chmod), SCMP_SYS(fchmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(fchown), SCMP_SYS(lchown), SCMP_SYS(fchownat),
    SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat), SCMP_SYS(renameat2), SCMP_SYS(link), SCMP_SYS(linkat),
    SCMP_SYS(symlink), SCMP_SYS(symlinkat), SCMP_SYS(mkdir), SCMP_SYS(mkdirat), SCMP_SYS(rmdir),
    SCMP_SYS(setxattr), SCMP_SYS(lsetxattr), SCMP_SYS(fsetxattr), SCMP_SYS(open_by_handle_at), SCMP_SYS(name_to_handle_at),
    SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot), SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(open_tree),
    SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(fsmount), SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(reboot), SCMP_SYS(acct), SCMP_SYS(fork), SCMP_SYS(vfork),
};

static const int HIDDEN[] = {SCMP_SYS(clone3), SCMP_SYS(openat2)};

static int
refuse_flag(scmp_filter_ctx ctx, int call, unsigned argument, u64 mask, u64 value)
{
    struct scmp_arg_cmp is_set = {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
    return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), call, 1, &is_set);
}

static int
add_rules(scmp_filter_ctx ctx)
{
    int err = 0;
    for (size_t i = 0; i < COUNT_OF(REFUSED) && !err; i++)
        if ((err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), REFUSED[i], 0)) == -EDOM)
            err = 0; /* not a call of this machine */
    for (size_t i = 0; i < COUNT_OF(HIDDEN) && !err; i++)
        err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), HIDDEN[i], 0);
    static const int WRITING[] = {O_WRONLY, O_RDWR, O_CREAT, O_TRUNC};
    for (size_t i = 0; i < COUNT_OF(WRITING) && !err; i++) {
        err = refuse_flag(ctx, SCMP_SYS(openat), 2, (u64)WRITING[i], (u64)WRITING[i]);
        if (!err)
            err = refuse_flag(ctx, SCMP_SYS(open), 1, (u64)WRITING[i], (u64)WRITING[i]);
        if (err == -EDOM)
            err = 0;
    }
    /* Threads, but no processes; signals to the own process only (abort). */
    if (!err)
        err = refuse_flag(ctx, SCMP_SYS(clone), 0, CLONE_THREAD, 0);
    struct scmp_arg_cmp is_other = {.arg = 0, .op = SCMP_CMP_NE, .datum_a = (u64)getpid()};
    if (!err)
        err = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1, &is_other);
    return err;
}

int
harden(void)
{
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -errno;
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return -ENOMEM;
    int err = add_rules(ctx);
    if (!err)
        err = seccomp_load(ctx);
    seccomp_release(ctx);
    return err == -ECANCELED || err == -EINVAL ? -ENOSYS : err;
}
