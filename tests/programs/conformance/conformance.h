// What calls return, line by line, for comparison: the same natively and under Ordain.
//
// Addresses, times, numbers of processes and random values are not shown as they are, only whether they make sense.

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char lines[1 << 17];
static size_t used;

static void line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    used += vsnprintf(lines + used, sizeof lines - used, format, arguments);
    va_end(arguments);
    used += snprintf(lines + used, sizeof lines - used, "\n");
}

static void show(const char *call, long result) {
    int error = errno;
    if (result == -1) line("%s = -1, errno %d", call, error);
    else line("%s = %ld", call, result);
}

// A call and what it returns; errno too if that is -1.
#define SHOW(call) (errno = 0, show(#call, (long)(call)))
// A call and whether something holds of it.
#define HOLDS(condition) line("%s: %s", #condition, (condition) ? "yes" : "no")

// Writes everything to the file that the test has asked for.
static int finish(int argc, char **argv) {
    if (argc < 2) return 2;
    int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    size_t written = 0;
    while (file >= 0 && written < used) {
        ssize_t part = write(file, lines + written, used - written);
        if (part <= 0) return 3;
        written += part;
    }
    return file < 0 || close(file);
}

static const struct timespec past = {1, 0};
static const struct timespec negative = {-1, 0};
static const struct timespec too_long = {2000000000, 1000000000};
static const struct timespec too_short = {2000000000, -1};
static const struct timespec none = {0, 0};
