// Streams of the C library: used by main alone, and by a thread while main waits for it, when each call is a step.
//
// Not called, because they came with version 2.38 of the C library: __isoc23_scanf, __isoc23_fscanf. Others are what the compiler makes of
// scanf and fscanf: __isoc99_scanf, __isoc99_fscanf.
#define _GNU_SOURCE
#include "conformance.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
char *__fgets_chk(char *, size_t, int, FILE *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);

static FILE *stream;

static int print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vprintf(format, arguments);
    va_end(arguments);
    return length;
}
static int print_checked(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = __vprintf_chk(1, format, arguments);
    va_end(arguments);
    return length;
}
static int print_to(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vfprintf(stream, format, arguments);
    va_end(arguments);
    return length;
}
static int print_to_checked(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = __vfprintf_chk(stream, 1, format, arguments);
    va_end(arguments);
    return length;
}
static int scan(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vscanf(format, arguments);
    va_end(arguments);
    return count;
}
static int scan_from(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vfscanf(stream, format, arguments);
    va_end(arguments);
    return count;
}

static void writing(void) {
    SHOW(fprintf(stream, "%d words\n", 2));
    SHOW(__fprintf_chk(stream, 1, "%s\n", "more"));
    SHOW(print_to("%d\n", 12));
    SHOW(print_to_checked("%c%c\n", 'a', 'b'));
    flockfile(stream);
    SHOW(ftrylockfile(stream));
    HOLDS(fputs("a line\n", stream) >= 0);
    funlockfile(stream);
    funlockfile(stream);
    HOLDS(fputs_unlocked("another\n", stream) >= 0);
    SHOW(fputc('c', stream));
    SHOW(fputc_unlocked('d', stream));
    SHOW(putc('e', stream));
    SHOW(putc_unlocked('\n', stream));
    SHOW(fwrite("bytes\n", 2, 3, stream));
    SHOW(fwrite_unlocked("bytes\n", 1, 6, stream));
    SHOW(fwrite("bytes\n", 0, 6, stream));
    SHOW(ftell(stream));
    SHOW(fflush(stream));
    SHOW(fflush(NULL));
}

static void reading(void) {
    char text[64] = {0}, *long_line = NULL;
    size_t room = 0;
    int number = 0;
    fpos_t place;
    rewind(stream);
    SHOW(ftello(stream));
    SHOW(fscanf(stream, "%d", &number));
    line("%d", number);
    SHOW(scan_from("%63s", text));
    line("%s", text);
    SHOW(fgetc(stream));
    SHOW(ungetc('#', stream));
    SHOW(getc(stream));
    SHOW(fgetpos(stream, &place));
    HOLDS(fgets(text, sizeof text, stream) == text);
    line("%s", text);
    SHOW(fsetpos(stream, &place));
    HOLDS(fgets_unlocked(text, 3, stream) == text);
    line("%s", text);
    SHOW(fgetc_unlocked(stream));
    SHOW(getc_unlocked(stream));
    HOLDS(__fgets_chk(text, sizeof text, sizeof text, stream) == text);
    line("%s", text);
    SHOW(getline(&long_line, &room, stream));
    line("%s", long_line);
    SHOW(getdelim(&long_line, &room, 'l', stream));
    line("%s", long_line);
    SHOW(__getdelim(&long_line, &room, '\n', stream));
    free(long_line);
    SHOW(fread(text, 2, 4, stream));
    SHOW(fread_unlocked(text, 1, 4, stream));
    SHOW(__fread_chk(text, sizeof text, 1, 1, stream));
    SHOW(ftell(stream));
    SHOW(fseek(stream, -2, SEEK_END));
    SHOW(fread(text, 1, sizeof text, stream));
    SHOW(feof(stream) != 0);
    SHOW(fgetc(stream));
    SHOW(fseeko(stream, 3, SEEK_SET));
    SHOW(fseek(stream, -100, SEEK_SET));
    SHOW(fseek(stream, 0, 77));
    SHOW(ftell(stream));
    HOLDS(fgets(text, sizeof text, stream) != NULL);
    SHOW(fscanf(stream, "%d", &number));
}

// Standard output and standard input are a file now.
static void standard(void) {
    SHOW(printf("%d and %s\n", 1, "two"));
    SHOW(__printf_chk(1, "%d\n", 3));
    SHOW(print("%d\n", 4));
    SHOW(print_checked("%d\n", 5));
    HOLDS(puts("words") >= 0);
    SHOW(putchar('6'));
    SHOW(putchar_unlocked('\n'));
    SHOW(fflush(stdout));
    int first = 0, second = 0;
    char text[64];
    rewind(stdin);
    SHOW(scanf("%d and", &first));
    SHOW(scan("%63s", text));
    line("%d %s", first, text);
    SHOW(getchar());
    SHOW(getchar_unlocked());
    SHOW(scanf("%d %d", &first, &second));
    line("%d %d", first, second);
    SHOW(scanf("%d", &first));
    errno = ENOENT;
    perror("told");
    SHOW(fseek(stdin, 0, SEEK_END));
    SHOW(getchar());
}

static void *all(void *nothing) {
    HOLDS(fopen("none/of/these", "r") == NULL && errno == ENOENT);
    HOLDS(fopen("file", "nonsense") == NULL && errno == EINVAL);
    stream = fopen("file", "w+");
    HOLDS(stream != NULL);
    writing();
    reading();
    SHOW(fclose(stream));
    stream = fopen("file", "r");
    SHOW(fputc('a', stream));
    SHOW(ferror(stream) != 0);
    SHOW(fclose(stream));
    standard();
    return nothing;
}

int main(int argc, char **argv) {
    char place[] = "/tmp/ordain-streams-XXXXXX";
    if (!mkdtemp(place) || chdir(place)) return 4;
    if (!freopen("standard", "w", stdout) || !freopen("standard", "r", stdin) || !freopen("errors", "w", stderr)) return 5;
    all(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, all, NULL);
    pthread_join(thread, NULL);
    if (unlink("file") || unlink("standard") || unlink("errors") || chdir("/") || rmdir(place)) return 6;
    return finish(argc, argv);
}
