// A library that must be prepared before it is used.
#include <stdlib.h>

static int ready;

void order_prepare(void) { ready = 1; }

void order_use(void) {
    if (!ready) abort();
}
