// Streams of the C library: used by main alone, and by a thread while main waits for it, when each call is a step.
//
// Not called, because they came with version 2.38 of the C library: __isoc23_scanf, __isoc23_fscanf. Others are what the compiler makes of
// scanf and fscanf: __isoc99_scanf, __isoc99_fscanf.
#define _GNU_SOURCE
#include "conformance.h"
#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __fprintf_chk(FILE *, int, const char *, ...);
int __vfprintf_chk(FILE *, int, const char *, va_list);
char *__fgets_chk(char *, size_t, int, FILE *);
size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
ssize_t __getdelim(char **, size_t *, int, FILE *);

int __wprintf_chk(int, const wchar_t *, ...);
int __vwprintf_chk(int, const wchar_t *, va_list);
int __fwprintf_chk(FILE *, int, const wchar_t *, ...);
int __vfwprintf_chk(FILE *, int, const wchar_t *, va_list);

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

enum wide { TO_STREAM, TO_STREAM_CHECKED, TO_OUTPUT, TO_OUTPUT_CHECKED, FROM_STREAM, WARNING, WARNING_ALONE };
static int wide_call(enum wide which, const wchar_t *format, const char *narrow, ...) {
    va_list arguments;
    va_start(arguments, narrow);
    int result = 0;
    switch (which) {
    case TO_STREAM: result = vfwprintf(stream, format, arguments); break;
    case TO_STREAM_CHECKED: result = __vfwprintf_chk(stream, 1, format, arguments); break;
    case TO_OUTPUT: result = vwprintf(format, arguments); break;
    case TO_OUTPUT_CHECKED: result = __vwprintf_chk(1, format, arguments); break;
    case FROM_STREAM: result = vfwscanf(stream, format, arguments); break;
    case WARNING: vwarn(narrow, arguments); break;
    case WARNING_ALONE: vwarnx(narrow, arguments); break;
    }
    va_end(arguments);
    return result;
}

static void wide(void) {
    wchar_t text[32];
    int number = 0;
    SHOW(fwide(stream, 1) > 0);
    SHOW(fputws(L"a line\n", stream) >= 0);
    SHOW(fputwc(L'x', stream) == L'x' && putwc(L'\n', stream) == L'\n');
    SHOW(fwprintf(stream, L"%d\n", 1));
    SHOW(__fwprintf_chk(stream, 1, L"%d\n", 2));
    SHOW(wide_call(TO_STREAM, L"%d\n", "", 3));
    SHOW(wide_call(TO_STREAM_CHECKED, L"%d\n", "", 4));
    rewind(stream);
    HOLDS(fgetws(text, 32, stream) == text);
    SHOW(fgetwc(stream) == L'x' && ungetwc(L'y', stream) == L'y' && getwc(stream) == L'y');
    SHOW(fwscanf(stream, L"%d", &number) + number);
    SHOW(wide_call(FROM_STREAM, L"%d", "", &number) + number);
    clearerr(stream);
    SHOW(feof(stream) || ferror(stream));
}

// What is written to standard output so goes into a file; standard input and output stay narrow afterwards because they are opened again.
static void wide_standard(void) {
    freopen("standard", "w+", stdout), freopen64("standard", "r", stdin);
    SHOW(wprintf(L"%d\n", 1));
    SHOW(__wprintf_chk(1, L"%d\n", 2));
    SHOW(wide_call(TO_OUTPUT, L"%d\n", "", 3));
    SHOW(wide_call(TO_OUTPUT_CHECKED, L"%d\n", "", 4));
    SHOW(putwchar(L'z') == L'z');
    SHOW(fflush(stdout));
    SHOW(getwchar() == L'1');
    freopen("standard", "w", stdout), freopen("standard", "r", stdin);
    errno = ENOENT;
    warn("told %d", 1), wide_call(WARNING, L"", "told %d", 2);
    warnx("told %d", 3), wide_call(WARNING_ALONE, L"", "told %d", 4);
    siginfo_t signal = {.si_signo = SIGUSR1};
    psignal(SIGUSR1, "told"), psiginfo(&signal, "told");
}

static void buffers(void) {
    static char room[BUFSIZ];
    SHOW(setvbuf(stream, NULL, _IONBF, 0));
    SHOW(putw(77, stream));
    rewind(stream);
    SHOW(getw(stream));
    setbuf(stream, NULL), setbuffer(stream, room, sizeof room), setlinebuf(stream);
    SHOW(fputc('b', stream));
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
    stream = fopen("file", "w+");
    wide();
    SHOW(fclose(stream));
    stream = fopen("file", "w+");
    buffers();
    SHOW(fclose(stream));
    standard();
    wide_standard();
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
