// A library whose code at exit looks at what was done last: a destructor of the library, of a static, or a handler of atexit.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int last;
static const char *watched = "";

static void look(const char *who) {
    std::fprintf(stderr, "%s sees %d\n", who, last);
    if (last == 1 && !std::strcmp(watched, who)) std::abort();
}

struct Static {
    ~Static() { look("static"); }
};
static Static object;

static void handler() { look("handler"); }
__attribute__((constructor)) static void begin() { std::atexit(handler); }
__attribute__((destructor)) static void end() { look("destructor"); }

extern "C" void exits_note(int who) {
    pthread_mutex_lock(&mutex);
    last = who;
    pthread_mutex_unlock(&mutex);
}

extern "C" void exits_watch(const char *by) { watched = by; }
