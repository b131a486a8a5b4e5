// As bugs/socket_name_removed.c, but the name that is removed is another one of the same socket.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

// Works in a directory of its own, so that nothing stays behind.
static void enter(void) {
    const char *directory = getenv("TMPDIR");
    if (chdir(directory ? directory : "/tmp"))
        exit(3);
}

static struct sockaddr_un address = {AF_UNIX, "socket_name"}, other = {AF_UNIX, "socket_link"};

static void *clean(void *unused) {
    unlink("socket_name");
    return NULL;
}

int main(void) {
    enter();
    unlink("socket_name");
    unlink("socket_link");
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1) || link("socket_name", "socket_link"))
        return 3;
    pthread_t cleaner;
    pthread_create(&cleaner, NULL, clean, NULL);
    int result = connect(client, (struct sockaddr *)&other, sizeof other);
    pthread_join(cleaner, NULL);
    unlink("socket_name");
    unlink("socket_link");
    assert(result == 0);
    return 0;
}
