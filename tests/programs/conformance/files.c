// Files, paths and queues of the kernel: called by main alone, and by a thread while main waits for it, when each call is a step.
#define _GNU_SOURCE
#define _LARGEFILE64_SOURCE
#include "conformance.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *nowhere = "none/of/these";

static void looking(void) {
    struct stat status;
    struct stat64 large;
    struct statx closely;
    char text[64];
    SHOW(access("file", F_OK));
    SHOW(access("file", R_OK | W_OK));
    SHOW(access("absent", F_OK));
    SHOW(access("file", 77));
    SHOW(access("", F_OK));
    SHOW(faccessat(AT_FDCWD, "file", R_OK, 0));
    SHOW(faccessat(AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
    SHOW(faccessat(AT_FDCWD, "dangling", F_OK, 0));
    SHOW(faccessat(-1, "file", F_OK, 0));
    SHOW(stat("file", &status));
    line("%ld %o", (long)status.st_size, status.st_mode);
    SHOW(stat("dangling", &status));
    SHOW(stat(nowhere, &status));
    SHOW(stat("file/below", &status));
    SHOW(stat64("linked", &large));
    line("%ld %o %ld", (long)large.st_size, large.st_mode, (long)large.st_nlink);
    SHOW(lstat("linked", &status));
    HOLDS(S_ISLNK(status.st_mode));
    SHOW(lstat64("dangling", &large));
    HOLDS(S_ISLNK(large.st_mode));
    int file = open("file", O_RDONLY), directory = open(".", O_RDONLY | O_DIRECTORY);
    SHOW(fstat(file, &status));
    line("%ld", (long)status.st_size);
    SHOW(fstat(-1, &status));
    SHOW(fstat64(directory, &large));
    HOLDS(S_ISDIR(large.st_mode));
    SHOW(fstatat(directory, "file", &status, 0));
    SHOW(fstatat(file, "", &status, AT_EMPTY_PATH));
    SHOW(fstatat(file, "below", &status, 0));
    SHOW(fstatat64(directory, "linked", &large, AT_SYMLINK_NOFOLLOW));
    HOLDS(S_ISLNK(large.st_mode));
    SHOW(statx(directory, "file", 0, STATX_SIZE, &closely));
    line("%ld", (long)closely.stx_size);
    SHOW(statx(file, "", AT_EMPTY_PATH, STATX_SIZE, &closely));
    SHOW(statx(directory, "absent", 0, STATX_SIZE, &closely));
    memset(text, 0, sizeof text);
    SHOW(readlink("linked", text, sizeof text));
    line("%s", text);
    SHOW(readlink("file", text, sizeof text));
    SHOW(readlink("linked", text, 2));
    SHOW(readlinkat(directory, "dangling", text, sizeof text));
    SHOW(readlinkat(directory, "absent", text, sizeof text));
    SHOW(close(file));
    SHOW(close(directory));
}

static void names(void) {
    int directory = open(".", O_RDONLY | O_DIRECTORY);
    SHOW(mkdir("inner", 0700));
    SHOW(mkdir("inner", 0700));
    SHOW(mkdir(nowhere, 0700));
    SHOW(mkdirat(directory, "inner/most", 0700));
    SHOW(mkdirat(-1, "inner/most", 0700));
    SHOW(rmdir("inner"));
    SHOW(rmdir("absent"));
    SHOW(rmdir("file"));
    SHOW(link("file", "inner/second"));
    SHOW(link("file", "inner/second"));
    SHOW(link("absent", "third"));
    SHOW(linkat(directory, "linked", directory, "third", AT_SYMLINK_FOLLOW));
    struct stat status;
    SHOW(stat("third", &status));
    line("%ld", (long)status.st_nlink);
    SHOW(symlink("second", "inner/soft"));
    SHOW(symlink("second", "inner/soft"));
    SHOW(symlinkat("third", directory, "softer"));
    SHOW(symlinkat("", directory, "softest"));
    SHOW(rename("third", "fourth"));
    SHOW(access("third", F_OK));
    SHOW(rename("absent", "fifth"));
    SHOW(rename("file", "inner"));
    SHOW(renameat(directory, "fourth", directory, "inner/fourth"));
    SHOW(renameat2(directory, "inner/fourth", directory, "file", RENAME_NOREPLACE));
    SHOW(renameat2(directory, "inner/fourth", directory, "fourth", RENAME_NOREPLACE));
    SHOW(renameat2(directory, "fourth", directory, "inner/second", RENAME_EXCHANGE));
    SHOW(mkfifo("fifo", 0600));
    SHOW(mkfifo("fifo", 0600));
    SHOW(unlink("fifo"));
    SHOW(unlink("absent"));
    SHOW(unlink("inner"));
    SHOW(unlink("softer"));
    SHOW(unlink("fourth"));
    SHOW(unlink("inner/second"));
    SHOW(unlink("inner/soft"));
    SHOW(unlinkat(directory, "inner/most", 0));
    SHOW(unlinkat(directory, "inner/most", AT_REMOVEDIR));
    SHOW(unlinkat(directory, "inner", AT_REMOVEDIR));
    SHOW(close(directory));
}

static void contents(void) {
    char text[16] = {0};
    int file = open("made", O_RDWR | O_CREAT | O_EXCL, 0600);
    HOLDS(file >= 0);
    SHOW(open("made", O_RDWR | O_CREAT | O_EXCL, 0600));
    SHOW(open(nowhere, O_RDONLY));
    SHOW(write(file, "0123456789", 10));
    SHOW(lseek(file, 0, SEEK_CUR));
    SHOW(lseek(file, 2, SEEK_SET));
    SHOW(read(file, text, 3));
    line("%s", text);
    SHOW(lseek64(file, -1, SEEK_END));
    SHOW(lseek64(file, -100, SEEK_SET));
    SHOW(lseek(file, 0, 77));
    SHOW(lseek(-1, 0, SEEK_SET));
    SHOW(pread(file, text, 4, 4));
    line("%s", text);
    SHOW(pread64(file, text, 4, 9));
    SHOW(pread64(file, text, 4, 100));
    SHOW(pread(file, text, 4, -1));
    SHOW(pwrite(file, "ab", 2, 1));
    SHOW(pwrite64(file, "cd", 2, 12));
    SHOW(lseek(file, 0, SEEK_END));
    SHOW(pread(file, text, 15, 0));
    SHOW(memcmp(text, "0ab3456789\0\0cd", 14));
    SHOW(truncate("made", 5));
    SHOW(truncate("absent", 5));
    SHOW(truncate64("made", 4));
    SHOW(truncate64("made", -1));
    SHOW(ftruncate(file, 3));
    SHOW(ftruncate64(file, 2));
    SHOW(ftruncate64(-1, 2));
    SHOW(lseek(file, 0, SEEK_END));
    struct stat status;
    SHOW(chmod("made", 0400));
    SHOW(fstat(file, &status));
    line("%o", status.st_mode);
    SHOW(chmod("absent", 0400));
    SHOW(unlink("made"));
    SHOW(read(file, text, 1));
    SHOW(fstat(file, &status));
    line("%ld", (long)status.st_nlink);
    SHOW(close(file));
    SHOW(close(file));
    SHOW(read(file, text, 1));
}

static void directories(void) {
    SHOW(mkdir("inner", 0700));
    SHOW(chdir("inner"));
    SHOW(access("file", F_OK));
    SHOW(access("../file", F_OK));
    SHOW(chdir("absent"));
    SHOW(chdir(".."));
    SHOW(access("file", F_OK));
    SHOW(chdir("file"));
    SHOW(rmdir("inner"));
}

static void queues(void) {
    struct { long type; char text[8]; } message = {3, "seven"};
    int queue = msgget(IPC_PRIVATE, 0600);
    HOLDS(queue >= 0);
    SHOW(msgsnd(queue, &message, 6, 0));
    message.type = 5;
    SHOW(msgsnd(queue, &message, 2, IPC_NOWAIT));
    message.type = 0;
    SHOW(msgsnd(queue, &message, 2, 0));
    SHOW(msgrcv(queue, &message, 1, 3, IPC_NOWAIT));
    SHOW(msgrcv(queue, &message, 8, 5, 0));
    line("%ld", message.type);
    SHOW(msgrcv(queue, &message, 8, 0, 0));
    line("%ld %s", message.type, message.text);
    SHOW(msgrcv(queue, &message, 8, 0, IPC_NOWAIT));
    SHOW(msgctl(queue, IPC_RMID, NULL));
    SHOW(msgrcv(queue, &message, 8, 0, 0));
    int set = semget(IPC_PRIVATE, 2, 0600);
    HOLDS(set >= 0);
    struct sembuf up = {0, 2, 0}, down = {0, -1, 0}, both[] = {{0, -1, 0}, {1, 0, 0}}, tried = {0, -1, IPC_NOWAIT};
    struct sembuf other = {9, 1, 0}, zero = {0, 0, 0};
    SHOW(semop(set, &up, 1));
    SHOW(semop(set, &down, 1));
    SHOW(semop(set, both, 2));
    SHOW(semop(set, &tried, 1));
    SHOW(semop(set, &other, 1));
    SHOW(semop(set, &zero, 1));
    SHOW(semtimedop(set, &zero, 1, &none));
    SHOW(semtimedop(set, &down, 1, &none));
    SHOW(semctl(set, 0, IPC_RMID));
    SHOW(semop(set, &up, 1));
}

static void *all(void *nothing) {
    looking();
    names();
    contents();
    directories();
    queues();
    return nothing;
}

int main(int argc, char **argv) {
    char place[] = "/tmp/ordain-files-XXXXXX";
    if (!mkdtemp(place) || chdir(place)) return 4;
    int file = open("file", O_WRONLY | O_CREAT, 0640);
    if (write(file, "twelve bytes", 12) != 12 || close(file)) return 5;
    if (chmod("file", 0640) || symlink("file", "linked") || symlink("absent", "dangling")) return 6;
    all(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    if (unlink("file") || unlink("linked") || unlink("dangling") || chdir("/") || rmdir(place)) return 7;
    return finish(argc, argv);
}
