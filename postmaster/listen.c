/*
 * listen.c
 *    Listening sockets: TCP addresses and Unix sockets of the settings.
 *
 * A Unix socket DIR/.s.PGSQL.PORT is guarded by an flock on DIR/.s.PGSQL.PORT.lock, so that a stale socket of a dead server is taken over and
 * a living one is not.
 */
#include "postmaster/postmaster.h"

#include "common/base/say.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static bool
add_listener(Postmaster *pm, Listener l, Error *err)
{
    if (pm->listener_count == LISTENERS_MAX)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "more than %d addresses to listen on", LISTENERS_MAX);
    pm->listeners[pm->listener_count++] = l;
    return true;
}

static bool
is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24) == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static bool
listen_tcp(Postmaster *pm, const char *host, Error *err)
{
    char port[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    snprintf(port, sizeof port, "%lld", (long long)conf_int(&pm->boot.conf, port));
    int failed = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &found);
    if (failed)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "cannot resolve address \"%s\": %s", host, gai_strerror(failed));
    bool fine = true, any = false;
    for (struct addrinfo *a = found; a && fine; a = a->ai_next) {
        int on = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue; /* the machine has no such family */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (a->ai_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        Listener l = {.fd = fd, .is_loopback = is_loopback(a->ai_addr)};
        char address[80];
        if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof address, NULL, 0, NI_NUMERICHOST) != 0)
            snprintf(address, sizeof address, "%.79s", host);
        snprintf(l.text, sizeof l.text, "%s port %s", address, port);
        if (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
            fine = error_set(err, ERR_SYSTEM_ERROR, "cannot listen on %s: %s%s", l.text, strerror(errno),
                             errno == EADDRINUSE ? " (is another server running on this port? use -p)" : "");
            close(fd);
        } else {
            fine = add_listener(pm, l, err);
            any = true;
        }
    }
    freeaddrinfo(found);
    return fine && (any || error_set(err, ERR_SYSTEM_ERROR, "cannot listen on address \"%s\"", host));
}

static bool
listen_unix(Postmaster *pm, const char *dir, Error *err)
{
    Listener l = {.is_local = true, .is_loopback = true};
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char lock[140];
    int n = snprintf(l.socket_path, sizeof l.socket_path, "%s/.s.PGSQL.%lld", dir, (long long)conf_int(&pm->boot.conf, port));
    if (n >= (int)sizeof a.sun_path)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "Unix socket path \"%s\" is too long", l.socket_path);
    snprintf(lock, sizeof lock, "%s.lock", l.socket_path);
    int lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_fd < 0)
        return error_set(err, ERR_SYSTEM_ERROR, "cannot open \"%s\": %s", lock, strerror(errno));
    for (int i = 0; flock(lock_fd, LOCK_EX | LOCK_NB) != 0; i++) {
        if (i == 40)
            return error_set(err, ERR_OBJECT_IN_USE, "another server uses the Unix socket \"%s\"; use another port (-p) or folder (-k)",
                             l.socket_path);
        usleep(50000);
    }
    char pid[32];
    int len = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (ftruncate(lock_fd, 0) != 0 || write(lock_fd, pid, (size_t)len) != len)
        say_warn("cannot write \"%s\": %s", lock, strerror(errno));
    unlink(l.socket_path);
    memcpy(a.sun_path, l.socket_path, strlen(l.socket_path));
    l.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(l.text, sizeof l.text, "Unix socket \"%.100s\"", l.socket_path);
    if (l.fd < 0 || bind(l.fd, (struct sockaddr *)&a, sizeof a) != 0 || chmod(l.socket_path, 0777) != 0 || listen(l.fd, BACKLOG) != 0)
        return error_set(err, ERR_SYSTEM_ERROR, "cannot listen on %s: %s", l.text, strerror(errno));
    return add_listener(pm, l, err);
}

/* Each item of a comma-separated list. */
static bool
each_item(Postmaster *pm, const char *list, bool (*add)(Postmaster *, const char *, Error *), Error *err)
{
    char copy[512], *save = NULL;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *item = strtok_r(copy, ", ", &save); item; item = strtok_r(NULL, ", ", &save))
        if (!add(pm, item, err))
            return false;
    return true;
}

bool
listen_all(Postmaster *pm, Error *err)
{
    if (!each_item(pm, conf_text(&pm->boot.conf, listen_addresses), listen_tcp, err) ||
        !each_item(pm, conf_text(&pm->boot.conf, unix_socket_directories), listen_unix, err))
        return false;
    if (pm->listener_count == 0)
        return error_set(err, ERR_INVALID_PARAMETER_VALUE, "nothing to listen on: give an address (-h) or a folder for the Unix socket (-k)");
    return true;
}

static void
close_listener(Listener *l, bool unlink_socket)
{
    char lock[140];
    close(l->fd);
    if (unlink_socket && *l->socket_path) {
        snprintf(lock, sizeof lock, "%s.lock", l->socket_path);
        unlink(l->socket_path);
        unlink(lock);
    }
}

void
listen_close_all(Postmaster *pm, bool unlink_sockets)
{
    for (u32 i = 0; i < pm->listener_count; i++)
        close_listener(&pm->listeners[i], unlink_sockets);
    pm->listener_count = 0;
}

void
listen_close_remote(Postmaster *pm)
{
    u32 kept = 0;
    for (u32 i = 0; i < pm->listener_count; i++) {
        Listener *l = &pm->listeners[i];
        if (l->is_loopback)
            pm->listeners[kept++] = *l;
        else {
            say_warn("not listening on %s: the root role has no password, so only this machine may connect; set GGS3DB_ROOT_PASSWORD or "
                     "GGS3DB_ROOT_PASSWORD_FILE",
                     l->text);
            close_listener(l, false);
        }
    }
    pm->listener_count = kept;
}

int
listen_accept(const Listener *l, char *ret_text, size_t size)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char host[INET6_ADDRSTRLEN] = "";
    int on = 1, fd = accept4(l->fd, (struct sockaddr *)&a, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -1;
    if (l->is_local)
        snprintf(ret_text, size, "[local]");
    else {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        if (a.ss_family == AF_INET) {
            const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&a;
            inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
            snprintf(ret_text, size, "%s:%u", host, ntohs(v4->sin_port));
        } else {
            const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&a;
            inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
            snprintf(ret_text, size, "[%s]:%u", host, ntohs(v6->sin6_port));
        }
    }
    return fd;
}
