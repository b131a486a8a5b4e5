// What the thread changes is asked for only when it has ended.
#define JOINED 1
#include "../bugs/state_asked_early.c"
