// Frames of the runtime through which exceptions, pthread_exit and cancellation unwind. Rust cannot have those when
// panics abort, so these few are C; everything that they call in the runtime returns normally or not at all.

struct slot {
    void *registers[8];
    void *(*start)(void *);
    void *argument;
    void *result;
};

extern void ordain_prepare(struct slot *);
extern void ordain_park(struct slot *);
extern void ordain_finish(struct slot *) __attribute__((noreturn));
extern void ordain_once_end(void *, int);
extern int ordain_once_begin(void *);
extern void exit(int) __attribute__((noreturn));

static void finish(struct slot **slot) {
    if (*slot) ordain_finish(*slot);
}

// What a prepared kernel thread runs: it parks at once, and what follows happens on the carrier.
void *ordain_donor(void *slot) {
    ordain_prepare(slot);
    ordain_park(slot);
    {
        struct slot *guard __attribute__((cleanup(finish))) = slot;
        guard->result = guard->start(guard->argument);
    }
    __builtin_trap();
}

int ordain_main(struct slot *slot, int (*main)(int, char **, char **), int argc, char **argv, char **envp) {
    struct slot *guard __attribute__((cleanup(finish))) = slot;
    int status = main(argc, argv, envp);
    guard = 0;
    exit(status);
}

static void undo(void **once) {
    if (*once) ordain_once_end(*once, 0);
}

int ordain_pthread_once(void *once, void (*routine)(void)) {
    if (ordain_once_begin(once)) {
        void *guard __attribute__((cleanup(undo))) = once;
        routine();
        guard = 0;
        ordain_once_end(once, 1);
    }
    return 0;
}
