// Pipes, sockets, events, waiting for descriptors, files.
//
// Not called: the checked variants __read_chk, __recv_chk, __recvfrom_chk, __poll_chk, __ppoll_chk, __open_2, __open64_2,
// __openat_2 and __openat64_2 are called by code that was compiled with checks, and are the same functions otherwise.
#define _GNU_SOURCE
#include "conformance.h"
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>

int __pipe(int *);
ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
ssize_t __send(int, const void *, size_t, int);
int __close(int);
int __dup2(int, int);
int __fcntl(int, int, ...);
int __connect(int, const struct sockaddr *, socklen_t);
int __getsockname(int, struct sockaddr *, socklen_t *) __attribute__((weak));
int __poll(struct pollfd *, nfds_t, int);
int __select(int, fd_set *, fd_set *, fd_set *, struct timeval *);
int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int epoll_pwait2(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);

static char room[256];

static void pipes(void) {
    int ends[2], more[2];
    SHOW(pipe(ends));
    SHOW(__pipe(more));
    SHOW(write(ends[1], "abcdef", 6));
    SHOW(read(ends[0], room, 0));
    SHOW(write(ends[1], "", 0));
    SHOW(read(ends[0], room, 2));
    SHOW(__read(ends[0], room, 1));
    struct iovec pieces[2] = {{room, 1}, {room + 10, 100}};
    SHOW(readv(ends[0], pieces, 2));
    SHOW(readv(ends[0], pieces, -1));
    SHOW(__write(more[1], "x", 1));
    SHOW(writev(more[1], (struct iovec[]){{"yz", 2}, {"", 0}}, 2));
    SHOW(writev(more[1], pieces, 0));
    SHOW(writev(more[1], pieces, -1));
    SHOW(read(more[0], room, sizeof room));
    SHOW(write(ends[0], "x", 1));
    SHOW(read(ends[1], room, 1));
    SHOW(read(-1, room, 1));
    SHOW(write(-1, room, 1));
    SHOW(read(-1, room, 0));
    SHOW(close(ends[1]));
    SHOW(read(ends[0], room, 1));
    SHOW(close(ends[0]));
    SHOW(close(ends[0]));
    SHOW(close(-1));
    SHOW(__close(more[0]));
    signal(SIGPIPE, SIG_IGN);
    SHOW(write(more[1], "x", 1));
    SHOW(write(more[1], "x", 0));
    SHOW(close(more[1]));
    SHOW(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
    SHOW(pipe2(ends, 0x7fffffff));
    SHOW(read(ends[0], room, 1));
    SHOW(fcntl(ends[0], F_GETFD));
    SHOW(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    SHOW(fcntl64(ends[0], F_SETFL, 0));
    SHOW(__fcntl(ends[0], F_GETFL) & O_NONBLOCK);
    SHOW(fcntl(-1, F_GETFD));
    SHOW(fcntl(ends[0], 7777));
    int copy = dup(ends[1]);
    HOLDS(copy >= 0);
    SHOW(write(copy, "12", 2));
    SHOW(read(ends[0], room, 1));
    SHOW(dup2(ends[0], 90));
    SHOW(dup2(90, 90));
    SHOW(__dup2(ends[0], 91));
    SHOW(dup3(ends[0], 92, O_CLOEXEC));
    SHOW(dup3(92, 92, 0));
    SHOW(dup3(ends[0], 93, 0x77));
    SHOW(dup2(-1, 90));
    SHOW(dup2(ends[0], -1));
    SHOW(dup(-1));
    SHOW(fcntl(ends[0], F_DUPFD, 95));
    SHOW(read(95, room, 5));
    SHOW(close_range(90, 95, 0));
    SHOW(close_range(95, 90, 0));
    SHOW(close(91));
    SHOW(dup2(ends[0], 200));
    closefrom(200);
    SHOW(close(200));
    close(copy), close(ends[0]), close(ends[1]);
}

static void sockets(void) {
    int ends[2];
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    SHOW(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    SHOW(socketpair(AF_UNIX, 77, 0, ends + 0));
    SHOW(send(ends[0], "hello", 5, 0));
    SHOW(recv(ends[1], room, 2, MSG_PEEK));
    SHOW(recv(ends[1], room, 2, 0));
    SHOW(recvfrom(ends[1], room, 1, 0, NULL, NULL));
    SHOW(recv(ends[1], room, 0, 0));
    SHOW(__send(ends[0], "xyz", 3, MSG_NOSIGNAL));
    SHOW(sendto(ends[0], "uvw", 3, 0, NULL, 0));
    struct iovec piece = {room, sizeof room};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    SHOW(recvmsg(ends[1], &message, 0));
    SHOW(recv(ends[1], room, 1, MSG_DONTWAIT));
    piece.iov_len = 4;
    SHOW(sendmsg(ends[0], &message, 0));
    SHOW(recv(ends[1], room, sizeof room, 0));
    SHOW(shutdown(ends[0], SHUT_WR));
    SHOW(shutdown(ends[0], 77));
    SHOW(recv(ends[1], room, 1, 0));
    SHOW(send(ends[0], "x", 1, MSG_NOSIGNAL));
    SHOW(recv(-1, room, 1, 0));
    SHOW(send(-1, room, 1, 0));
    SHOW(shutdown(-1, SHUT_RD));
    SHOW(getpeername(ends[0], (struct sockaddr *)&address, &length));
    SHOW(address.ss_family == AF_UNIX);
    close(ends[0]), close(ends[1]);
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    HOLDS(server >= 0 && client >= 0);
    SHOW(socket(AF_INET, 77, 0));
    int on = 1;
    SHOW(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    SHOW(setsockopt(server, SOL_SOCKET, 7777, &on, sizeof on));
    struct sockaddr_in local = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    SHOW(bind(server, (struct sockaddr *)&local, sizeof local));
    SHOW(bind(server, (struct sockaddr *)&local, sizeof local));
    SHOW(bind(-1, (struct sockaddr *)&local, sizeof local));
    SHOW(listen(server, 5));
    SHOW(listen(-1, 5));
    length = sizeof local;
    SHOW(getsockname(server, (struct sockaddr *)&local, &length));
    HOLDS(local.sin_port != 0 && length == sizeof local);
    struct sockaddr_in same;
    length = sizeof same;
    HOLDS((__getsockname ? __getsockname : getsockname)(server, (struct sockaddr *)&same, &length) == 0);
    HOLDS(same.sin_port == local.sin_port);
    SHOW(connect(client, (struct sockaddr *)&local, sizeof local));
    SHOW(__connect(client, (struct sockaddr *)&local, sizeof local));
    SHOW(connect(-1, (struct sockaddr *)&local, sizeof local));
    length = sizeof same;
    int accepted = accept(server, (struct sockaddr *)&same, &length);
    HOLDS(accepted >= 0 && same.sin_family == AF_INET);
    SHOW(send(client, "abc", 3, 0));
    SHOW(recv(accepted, room, 3, MSG_WAITALL));
    SHOW(getpeername(client, (struct sockaddr *)&same, &length));
    HOLDS(same.sin_port == local.sin_port);
    fcntl(server, F_SETFL, O_NONBLOCK);
    SHOW(accept(server, NULL, NULL));
    SHOW(accept4(server, NULL, NULL, SOCK_CLOEXEC));
    SHOW(accept(-1, NULL, NULL));
    close(client);
    SHOW(recv(accepted, room, 3, 0));
    close(accepted), close(server);
}

static void events(void) {
    int event = eventfd(3, 0), try = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
    eventfd_t count;
    HOLDS(event >= 0 && try >= 0);
    SHOW(eventfd(0, 0x7777));
    SHOW(eventfd_read(event, &count));
    line("%d", (int)count);
    SHOW(eventfd_write(event, 2));
    SHOW(read(event, room, 4));
    SHOW(eventfd_read(try, &count));
    SHOW(eventfd_write(try, 2));
    SHOW(eventfd_read(try, &count));
    line("%d", (int)count);
    SHOW(eventfd_write(try, UINT64_MAX));
    int ends[2];
    pipe(ends);
    struct pollfd polled[3] = {{ends[0], POLLIN}, {ends[1], POLLOUT}, {-1, POLLIN}};
    SHOW(poll(polled, 3, 0));
    line("%d %d %d", polled[0].revents, polled[1].revents, polled[2].revents);
    SHOW(poll(NULL, 0, 0));
    SHOW(poll(NULL, 0, 1));
    SHOW(__poll(polled, 1, 1));
    SHOW(ppoll(polled, 2, &none, NULL));
    SHOW(ppoll(polled, 1, &too_long, NULL));
    SHOW(ppoll(polled, 1, &negative, NULL));
    polled[2].fd = 199;
    SHOW(poll(polled, 3, 0));
    line("%d", polled[2].revents);
    fd_set set;
    struct timeval zero = {0, 0}, wrong = {-1, 0}, long_time = {0, 1000000};
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    SHOW(select(ends[0] + 1, &set, NULL, NULL, &zero));
    SHOW(FD_ISSET(ends[0], &set) != 0);
    SHOW(select(0, NULL, NULL, NULL, &wrong));
    SHOW(select(-1, NULL, NULL, NULL, &zero));
    SHOW(select(0, NULL, NULL, NULL, &long_time) == 0);
    FD_SET(ends[1], &set);
    SHOW(__select(ends[1] + 1, NULL, &set, NULL, &zero));
    SHOW(pselect(0, NULL, NULL, NULL, &none, NULL));
    SHOW(pselect(0, NULL, NULL, NULL, &too_long, NULL));
    SHOW(pselect(0, NULL, NULL, NULL, &negative, NULL));
    int epoll = epoll_create1(EPOLL_CLOEXEC), old = epoll_create(1);
    HOLDS(epoll >= 0 && old >= 0);
    SHOW(epoll_create(0));
    SHOW(epoll_create1(77));
    struct epoll_event interest = {EPOLLIN, {.u32 = 5}}, got[2];
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &interest));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &interest));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_MOD, ends[1], &interest));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[1], NULL));
    SHOW(epoll_ctl(epoll, 77, ends[0], &interest));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, -1, &interest));
    SHOW(epoll_ctl(ends[0], EPOLL_CTL_ADD, ends[1], &interest));
    SHOW(epoll_ctl(-1, EPOLL_CTL_ADD, ends[1], &interest));
    SHOW(epoll_wait(epoll, got, 2, 0));
    SHOW(epoll_wait(epoll, got, 0, 0));
    SHOW(epoll_wait(epoll, got, 2, 1));
    SHOW(epoll_wait(ends[0], got, 2, 0));
    SHOW(epoll_wait(-1, got, 2, 0));
    SHOW(write(ends[1], "x", 1));
    SHOW(epoll_wait(epoll, got, 2, -1));
    line("%u %u", got[0].events, got[0].data.u32);
    SHOW(epoll_pwait(epoll, got, 2, -1, NULL));
    SHOW(epoll_pwait2(epoll, got, 2, NULL, NULL));
    SHOW(epoll_pwait2(epoll, got, 2, &too_long, NULL));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], NULL));
    SHOW(epoll_wait(epoll, got, 2, 0));
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    HOLDS(timer >= 0);
    SHOW(timerfd_create(77, 0));
    SHOW(timerfd_create(CLOCK_MONOTONIC, 0x7777));
    struct itimerspec when = {{0, 0}, {0, 1000000}}, current;
    SHOW(timerfd_settime(timer, 0, &when, NULL));
    uint64_t expired = 0;
    SHOW(read(timer, &expired, sizeof expired));
    line("%d", (int)expired);
    SHOW(timerfd_gettime(timer, &current));
    line("%ld %ld", (long)current.it_value.tv_sec, current.it_value.tv_nsec);
    when.it_value.tv_nsec = 1000000000;
    SHOW(timerfd_settime(timer, 0, &when, NULL));
    SHOW(timerfd_settime(ends[0], 0, &when, NULL));
    SHOW(timerfd_gettime(-1, &current));
    SHOW(read(timer, room, 4));
    close(timer), close(epoll), close(old), close(event), close(try), close(ends[0]), close(ends[1]);
}

static void files(const char *name) {
    // It stays there, because its number in the file system is that of its lock.
    int file = open(name, O_RDWR | O_CREAT, 0600);
    HOLDS(file >= 0 && ftruncate(file, 0) == 0);
    SHOW(write(file, "text", 4));
    SHOW(flock(file, LOCK_EX));
    SHOW(flock(file, LOCK_UN));
    SHOW(flock(file, 77));
    SHOW(flock(-1, LOCK_EX));
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    SHOW(fcntl(file, F_SETLK, &lock));
    SHOW(fcntl(file, F_SETLKW, &lock));
    int again = open(name, O_RDONLY), wide = open64(name, O_RDONLY);
    HOLDS(again >= 0 && wide >= 0);
    SHOW(flock(file, LOCK_EX));
    SHOW(flock(again, LOCK_SH | LOCK_NB));
    SHOW(read(again, room, 2));
    SHOW(read(again, room, sizeof room));
    SHOW(read(again, room, sizeof room));
    SHOW(write(again, "x", 1));
    HOLDS(close(__open(name, O_RDONLY)) == 0 && close(__open64(name, O_RDONLY)) == 0);
    HOLDS(close(openat(AT_FDCWD, name, O_RDONLY)) == 0 && close(openat64(AT_FDCWD, name, O_RDONLY)) == 0);
    SHOW(open("/nonexistent/file", O_RDONLY));
    SHOW(open(name, O_CREAT | O_EXCL | O_RDWR, 0600));
    SHOW(openat(-1, "file", O_RDONLY));
    int made = creat(name, 0600), wide_made = creat64(name, 0600);
    HOLDS(made >= 0 && wide_made >= 0);
    SHOW(fsync(file));
    SHOW(fdatasync(file));
    SHOW(fsync(-1));
    SHOW(lockf(file, F_LOCK, 1));
    SHOW(lockf(file, F_ULOCK, 1));
    SHOW(lockf(file, 77, 1));
    SHOW(lockf64(file, F_TLOCK, 1));
    struct iovec piece = {room, 4};
    SHOW(pwritev(file, &piece, 1, 0));
    SHOW(pwritev64(file, &piece, 1, 2));
    SHOW(pwritev2(file, &piece, 1, 0, 0));
    SHOW(pwritev64v2(file, &piece, 1, 0, 0));
    SHOW(preadv(file, &piece, 1, 0));
    SHOW(preadv64(file, &piece, 1, 4));
    SHOW(preadv2(file, &piece, 1, 0, 0));
    SHOW(preadv64v2(file, &piece, 1, -1, 0));
    SHOW(preadv(file, &piece, 1, -1));
    SHOW(fallocate(file, 0, 0, 10));
    SHOW(fallocate64(file, 0, 0, -1));
    SHOW(sync_file_range(file, 0, 0, 0));
    SHOW(copy_file_range(-1, NULL, file, NULL, 1, 0));
    SHOW(splice(-1, NULL, -1, NULL, 1, 0));
    SHOW(tee(-1, -1, 1, 0));
    SHOW(vmsplice(-1, &piece, 1, 0));
    SHOW(recvmmsg(-1, NULL, 0, 0, NULL));
    SHOW(sendmmsg(-1, NULL, 0, 0));
    FILE *stream = fopen(name, "w"), *wide_stream = fopen64(name, "r");
    HOLDS(stream && wide_stream && fputs("line\n", stream) >= 0);
    HOLDS(fclose(stream) == 0 && fgets(room, sizeof room, wide_stream) && !strcmp(room, "line\n"));
    HOLDS(fclose(wide_stream) == 0 && fopen("/nonexistent/file", "r") == NULL && errno == ENOENT);
    int urandom = open("/dev/urandom", O_RDONLY);
    SHOW(read(urandom, room, 8));
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(page != MAP_FAILED && mmap64(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) == MAP_FAILED && errno == EINVAL);
    page[0] = 1;
    SHOW(msync(page, 4096, MS_ASYNC));
    SHOW(msync(page + 1, 4096, MS_ASYNC));
    SHOW(mprotect(page, 4096, PROT_READ));
    SHOW(mprotect(page + 1, 4096, PROT_READ));
    SHOW(madvise(page + 4096, 4096, MADV_DONTNEED));
    SHOW(madvise(page, 4096, 7777));
    page = mremap(page, 8192, 4096, 0);
    HOLDS(page != MAP_FAILED && page[0] == 1);
    SHOW(munmap(page, 4096));
    SHOW(munmap(page + 1, 4096));
    SHOW(tcdrain(file));
    close(urandom), close(file), close(again), close(wide), close(made), close(wide_made);
    void *block = realloc(NULL, 100);
    block = realloc(block, 10000);
    HOLDS(block != NULL);
    free(block);
    free(NULL);
}

int main(int argc, char **argv) {
    pipes();
    sockets();
    events();
    char name[4096];
    snprintf(name, sizeof name, "%s.file", argc > 1 ? argv[1] : "descriptors");
    files(name);
    return finish(argc, argv);
}
