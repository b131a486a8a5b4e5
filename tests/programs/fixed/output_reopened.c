// The second thread writes when the first has ended; what was written by other descriptors comes before.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *path;

static void *tell(void *line) {
    FILE *stream = fopen(path, "w");
    if (!stream || fputs(line, stream) < 0 || fclose(stream))
        _exit(2);
    return NULL;
}

int main(int argc, char **argv) {
    path = argc > 1 ? argv[1] : "/dev/stdout";
    pthread_t thread;
    if (write(1, "none\n", 5) != 5)
        return 2;
    pthread_create(&thread, NULL, tell, "one\n");
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, tell, "two\n");
    pthread_join(thread, NULL);
    return 0;
}
