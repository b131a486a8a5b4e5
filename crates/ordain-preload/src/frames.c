// Frames of the runtime through which exceptions, pthread_exit and cancellation unwind. Rust cannot have those when
// panics abort, so these few are C; everything that they call in the runtime returns normally or not at all.

struct slot {
    void *registers[8];
    void *(*start)(void *);
    void *argument;
    void *result;
};

// Defined in Rust. Hidden here, they are not exported either: nothing of the runtime is visible but what it interposes.
#pragma GCC visibility push(hidden)
extern void ordain_prepare(struct slot *);
extern void ordain_park(struct slot *);
extern void ordain_begin(struct slot *);
extern void ordain_return(struct slot *);
extern void ordain_finish(struct slot *) __attribute__((noreturn));
extern void ordain_once_end(void *, int);
extern int ordain_once_begin(void *);
#pragma GCC visibility pop
extern void exit(int) __attribute__((noreturn));

static void finish_cancelled(struct slot **slot) {
    if (*slot) ordain_finish(*slot);
}

// A handler that comes at the last moment may still be cancelled, and unwinds to here.
static void finish(struct slot **slot) {
    if (!*slot) return;
    {
        struct slot *guard __attribute__((cleanup(finish_cancelled))) = *slot;
        ordain_return(guard);
        guard = 0;
    }
    ordain_finish(*slot);
}

// What a prepared kernel thread runs: it parks at once, and what follows happens on the carrier.
void *ordain_donor(void *slot) {
    ordain_prepare(slot);
    ordain_park(slot);
    {
        struct slot *guard __attribute__((cleanup(finish))) = slot;
        ordain_begin(guard);
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

// Runs a signal handler, on another stack if there is one. The frame pointer finds the way back.
void ordain_handle(void (*handler)(int, void *, void *), int signal, void *info, void *context, void *stack) {
    if (!stack) {
        handler(signal, info, context);
        __asm__ volatile("");
        return;
    }
    register void *target __asm__("r12") = handler;
    register void *to __asm__("r13") = stack;
    __asm__ volatile("mov %%rsp, %%rbx\n\tmov %[to], %%rsp\n\tcall *%[target]\n\tmov %%rbx, %%rsp"
                     : "+D"(signal), "+S"(info), "+d"(context)
                     : [target] "r"(target), [to] "r"(to)
                     : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "memory", "cc", "st", "xmm0", "xmm1", "xmm2", "xmm3",
                       "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
