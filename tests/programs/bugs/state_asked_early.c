// A thread changes something that the kernel keeps for the process or for a descriptor, and main asks for it: the answer hangs on who is
// first. The argument says what it is.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>
#include <unistd.h>

#ifndef JOINED
#define JOINED 0
#endif

static const char *what;
static int ends[2], pair[2], file, other;
static pthread_t asker;
// Taken by whoever knows that it is needed.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is(const char *name) { return strcmp(what, name) == 0; }

static void change(void) {
    int on = 1;
    struct rlimit limit;
    struct itimerspec later = {{0, 0}, {1000, 0}};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (is("address"))
        bind(other, (struct sockaddr *)&address, sizeof address);
    else if (is("append"))
        fcntl(file, F_SETFL, O_APPEND);
    else if (is("attribute"))
        fsetxattr(file, "user.state", "y", 1, 0);
    else if (is("bytes"))
        assert(write(ends[1], "x", 1) == 1);
    else if (is("closing"))
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    else if (is("copy"))
        dup2(ends[0], 50);
    else if (is("directory"))
        assert(chdir("/") == 0);
    else if (is("flags"))
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
    else if (is("limit")) {
        getrlimit(RLIMIT_CORE, &limit);
        limit.rlim_cur = 4096;
        setrlimit(RLIMIT_CORE, &limit);
    } else if (is("listening"))
        listen(other, 5);
    else if (is("mask") || is("mode"))
        umask(077);
    else if (is("name"))
        pthread_setname_np(asker, "renamed");
    else if (is("nonblocking"))
        ioctl(ends[0], FIONBIO, &on);
    else if (is("option"))
        setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    else if (is("priority"))
        setpriority(PRIO_PGRP, 0, 5);
    else if (is("received"))
        assert(send(pair[1], "x", 1, 0) == 1);
    else if (is("seals"))
        fcntl(other, F_ADD_SEALS, F_SEAL_GROW);
    else if (is("segment"))
        shmctl(other, IPC_RMID, NULL);
    else if (is("size"))
        fcntl(ends[0], F_SETPIPE_SZ, 1 << 18);
    else if (is("timer"))
        timerfd_settime(other, 0, &later, NULL);
}

static void *run(void *unused) {
    pthread_mutex_lock(&lock);
    change();
    pthread_mutex_unlock(&lock);
    return NULL;
}

// Whether the change was before.
static int ask(void) {
    char text[100];
    int value = 0;
    socklen_t length = sizeof value;
    struct rlimit limit;
    struct itimerspec left;
    struct shmid_ds segment;
    struct stat status;
    struct sockaddr_in address = {0};
    if (is("address")) {
        length = sizeof address;
        getsockname(other, (struct sockaddr *)&address, &length);
        return address.sin_port != 0;
    }
    if (is("append")) {
        assert(write(file, "x", 1) == 1 && fstat(file, &status) == 0);
        return status.st_size > 3;
    }
    if (is("attribute"))
        return fgetxattr(file, "user.state", text, sizeof text) == 1;
    if (is("bytes"))
        return ioctl(ends[0], FIONREAD, &value) == 0 && value == 1;
    if (is("closing"))
        return fcntl(ends[0], F_GETFD) & FD_CLOEXEC;
    if (is("copy"))
        return fcntl(50, F_GETFD) >= 0;
    if (is("directory"))
        return strcmp(getcwd(text, sizeof text), "/") == 0;
    if (is("flags") || is("nonblocking"))
        return fcntl(ends[0], F_GETFL) & O_NONBLOCK;
    if (is("limit"))
        return getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 4096;
    if (is("listening"))
        return getsockopt(other, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value;
    if (is("mask"))
        return umask(022) == 077;
    if (is("mode")) {
        int fd = open("state_asked_early.new", O_CREAT | O_WRONLY, 0666);
        assert(fstat(fd, &status) == 0);
        close(fd);
        return (status.st_mode & 0777) == 0600;
    }
    if (is("name"))
        return pthread_getname_np(asker, text, sizeof text) == 0 && strcmp(text, "renamed") == 0;
    if (is("option"))
        return getsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &value, &length) == 0 && value;
    if (is("priority"))
        return getpriority(PRIO_PROCESS, 0) == 5;
    if (is("received"))
        return ioctl(pair[0], FIONREAD, &value) == 0 && value == 1;
    if (is("seals"))
        return fcntl(other, F_GET_SEALS) & F_SEAL_GROW;
    if (is("segment"))
        return shmctl(other, IPC_STAT, &segment) != 0;
    if (is("size"))
        return fcntl(ends[0], F_GETPIPE_SZ) == 1 << 18;
    if (is("timer"))
        return timerfd_gettime(other, &left) == 0 && left.it_value.tv_sec > 0;
    return 0;
}

int main(int argc, char **argv) {
    what = argc > 1 ? argv[1] : "mask";
    asker = pthread_self();
    const char *directory = getenv("TMPDIR");
    assert(chdir(directory ? directory : "/tmp") == 0);
    assert(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    umask(022);
    if (is("append") || is("attribute") || is("mode")) {
        unlink("state_asked_early.new");
        file = open("state_asked_early", O_CREAT | O_TRUNC | O_RDWR, 0600);
        assert(file >= 0 && write(file, "abc", 3) == 3 && lseek(file, 0, SEEK_SET) == 0);
    }
    if (is("address") || is("listening"))
        other = socket(AF_INET, SOCK_STREAM, 0);
    else if (is("seals"))
        other = memfd_create("sealed", MFD_ALLOW_SEALING);
    else if (is("segment"))
        other = shmget(IPC_PRIVATE, 4096, 0600);
    else if (is("timer"))
        other = timerfd_create(CLOCK_MONOTONIC, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    if (JOINED)
        pthread_join(thread, NULL);
    if (JOINED)
        pthread_mutex_lock(&lock);
    int changed = ask();
    if (JOINED)
        pthread_mutex_unlock(&lock);
    if (!JOINED)
        pthread_join(thread, NULL);
    if (is("append") || is("attribute") || is("mode")) {
        assert(chdir(directory ? directory : "/tmp") == 0);
        unlink("state_asked_early");
        unlink("state_asked_early.new");
    }
    if (is("segment"))
        shmctl(other, IPC_RMID, NULL);
    assert(changed);
    return 0;
}
