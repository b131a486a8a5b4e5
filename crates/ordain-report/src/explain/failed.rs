//! Findings in which something that the program or the system checks failed.

use super::{Example, Explanation};
use crate::kind::Kind;

pub(super) static PANIC: Explanation = Explanation {
    kind: Kind::Panic,
    title: "Panic",
    summary: "A thread panicked, and nobody noticed or the test itself failed.",
    meaning: "A thread of the test panicked, and no other thread joined it to learn of it and deal with it; or the one that \
              did panicked too. What was asserted or expected does not hold in this order of the threads.",
    missed: "The assertion holds in the orders that usually happen. A test also passes if a thread that nobody joins panics.",
    causes: &[
        "Checking and acting in two critical sections: what was checked has changed in between.",
        "Reading a value, computing, and writing it back without holding the lock all the time: a lost update.",
        "An assertion about something that another thread may not have done yet.",
        "`unwrap` on a lock that is poisoned because its holder panicked: look for the first panic.",
        "`unwrap` on a channel whose other end is gone already.",
    ],
    reading: "The headline has the thread, the message of the panic and its place. The steps before it show the order in \
              which threads came by; `>` marks where another thread took over. Look for the last step of another \
              thread that touched the value which is wrong.",
    fixes: &[
        "Make what belongs together one critical section, or one atomic operation such as `fetch_add`.",
        "Wait for what must have happened: join the thread, or wait for its message.",
        "If the other order is allowed, handle it instead of asserting that it does not happen.",
    ],
    examples: &[Example {
        language: "rust",
        before: "let seen = counter.load(SeqCst);\ncounter.store(seen + 1, SeqCst);",
        after: "counter.fetch_add(1, SeqCst);",
    }],
    notes: &[
        "This kind is of tests with the library. A program that panics is reported as `abort` or `exit-status`.",
        "A panic that another thread catches with `join` and handles is no finding.",
    ],
    see_also: &[Kind::Assertion, Kind::DataRace, Kind::Abort],
};

pub(super) static ASSERTION: Explanation = Explanation {
    kind: Kind::Assertion,
    title: "Assertion",
    summary: "An `assert` of the program failed.",
    meaning: "The program called `assert` with something that is false in this order of its threads.",
    missed: "The assertion holds in the orders that usually happen: the threads would have to change at one certain place.",
    causes: &[
        "A lost update: two threads read a value, both add to it, and one result overwrites the other.",
        "Checking under a lock and acting later without it, or under the same lock taken a second time.",
        "Using something before another thread has finished making it.",
        "Waiting with `if` in place of `while`: the condition is false again when the thread goes on.",
    ],
    reading: "The headline has the text of the assertion with its file and line. The thread that ended the execution is \
              marked, with its backtrace. Follow the steps backwards to the last one of another thread on the same object.",
    fixes: &[
        "Keep the lock from the check to the action that relies on it.",
        "Use one atomic operation for what must not be interrupted.",
        "Wait in a loop that tests the condition again.",
    ],
    examples: &[Example {
        language: "c",
        before: "if (queue->count == 0)\n    pthread_cond_wait(&queue->filled, &queue->lock);\nassert(queue->count > 0);",
        after: "while (queue->count == 0)\n    pthread_cond_wait(&queue->filled, &queue->lock);\nassert(queue->count > 0);",
    }],
    notes: &[
        "Programs compiled with `-DNDEBUG` have no assertions; check a build that has them.",
        "Assertions are how to tell Ordain what is right: the more the program asserts, the more a check can find.",
        "`--spurious-wakeups` makes waits end without a reason, as POSIX allows.",
    ],
    see_also: &[Kind::Panic, Kind::Abort, Kind::ExitStatus],
};

pub(super) static CRASH: Explanation = Explanation {
    kind: Kind::Crash,
    title: "Crash",
    summary: "A signal such as SIGSEGV killed the program.",
    meaning: "In this order of its threads the program accessed memory that it must not, divided by zero, overflowed a \
              stack, or got another signal that ends it. Or it wrote over memory that is not its own, and destroyed its \
              process that way.",
    missed: "Use after free needs the free to come first; with the usual order the memory is still there. And memory that \
             was just freed often still holds what it held, so even the wrong order may pass.",
    causes: &[
        "One thread frees or closes what another one still uses.",
        "A thread uses what another one has not set yet, such as a pointer that is still null.",
        "A reference to a local variable is handed to a thread that outlives the function.",
        "A container that is changed while another thread walks through it.",
    ],
    reading: "The headline has the signal and, for bad memory accesses, the address: one near 0 is a null pointer. The \
              innermost frame of the marked thread is where it crashed. Look in the other threads' steps for what freed, \
              closed or had not yet set the thing.",
    fixes: &[
        "Let the thread that uses a thing also own it, or count references: `std::shared_ptr`, `Arc`.",
        "Join threads before what they use is destroyed.",
        "Set everything before the thread is created; creating it orders what came before.",
    ],
    examples: &[Example {
        language: "c",
        before: "pthread_create(&thread, NULL, run, &job);\njob.queue = make_queue();",
        after: "job.queue = make_queue();\npthread_create(&thread, NULL, run, &job);",
    }],
    notes: &[
        "Only accesses that the processor refuses are noticed. Check a build with AddressSanitizer to see bad \
         accesses that do not crash.",
        "At level sync threads change at calls only. A crash that needs a change between two plain accesses is not found; \
         test for data races separately.",
    ],
    see_also: &[Kind::DataRace, Kind::Misuse, Kind::Abort],
};

pub(super) static ABORT: Explanation = Explanation {
    kind: Kind::Abort,
    title: "Abort",
    summary: "The program called `abort`, itself or through a library.",
    meaning: "Something in the program found its own state so wrong that it gave up: `abort`, `std::terminate`, a panic \
              that cannot unwind, or a check of the C library such as for a memory block that is freed twice.",
    missed: "The state is wrong in this order of the threads only.",
    causes: &[
        "In C++, a `std::thread` that is destroyed before it was joined, or an exception that leaves a thread.",
        "In Rust, a panic while another one unwinds, or in code compiled with `panic=abort`.",
        "The C library's checks of the heap: freed twice, or written beyond its end.",
        "The program's own checks that call `abort`.",
    ],
    reading: "What the program wrote to standard error usually says why. The backtrace of the marked thread goes through \
              `abort` to the code that gave up.",
    fixes: &[
        "Find the condition that was checked, and treat it as a failed assertion.",
        "Join every thread on every path, also when an exception is thrown: `std::jthread` does.",
        "Give each block of memory one owner who frees it.",
    ],
    examples: &[],
    notes: &["A failed `assert` is reported as `assertion`, with its text."],
    see_also: &[Kind::Assertion, Kind::Crash, Kind::Panic],
};

pub(super) static EXIT_STATUS: Explanation = Explanation {
    kind: Kind::ExitStatus,
    title: "Exit status",
    summary: "The program ended with a status that says failure.",
    meaning: "In this order of its threads the program ended with a status other than 0, or other than the one that was \
              expected. It noticed by itself that something went wrong.",
    missed: "In the orders that usually happen it does not go wrong.",
    causes: &[
        "The program compares its result with what it should be, and the result depends on the order of threads.",
        "A call failed in this order: a file closed too early, a lock that could not be taken at once.",
        "A program in Rust whose main thread panicked: status 101.",
        "A main thread that returns while other threads are still at work, with a status that is not set yet.",
    ],
    reading: "What the program wrote is shown, and often says what it noticed. Then compare the steps with what you expect: \
              the last changes of thread before the result was made are the place to look.",
    fixes: &[
        "As with a failed assertion: make what belongs together one critical section, and wait for what must have happened.",
        "If the status is right, tell Ordain so.",
    ],
    examples: &[],
    notes: &[
        "`--expect-status N` names the status that is no finding; it is 0 unless set.",
        "A status that depends on the schedule may well be what the program is meant to do. Then check something else: \
         assertions, or `--compare-output`.",
    ],
    see_also: &[Kind::Assertion, Kind::Output, Kind::Abort],
};

pub(super) static MISUSE: Explanation = Explanation {
    kind: Kind::Misuse,
    title: "Misuse",
    summary: "A lock, condition variable, thread or other primitive was used against its rules.",
    meaning: "The program did something to a primitive that its documentation forbids: it released a lock that it does not \
              hold, waited on a condition variable without the mutex, destroyed something in use, joined a thread twice, or \
              used an object that was destroyed or whose memory was freed. For most of these the behaviour is undefined: \
              anything may follow, now or with another version of the library.",
    missed: "The C library does not check most of these rules. The call returns 0, and the damage shows later or not at all; \
             and often the rule is broken in one order of the threads only.",
    causes: &[
        "Unlocking on a path that did not lock, or unlocking twice.",
        "A mutex that is destroyed, or whose memory is freed, while another thread holds it or is about to take it.",
        "A lock taken in one thread and released in another: what is wanted is a semaphore.",
        "Joining a thread that was detached or joined before.",
        "A semaphore that is posted again and again, beyond what it can count.",
    ],
    reading: "The headline says which rule was broken, by whom and on which object. The steps before show who held or used \
              the object at that time.",
    fixes: &[
        "Lock and unlock in the same function, or let a guard do it.",
        "Destroy an object only after every thread that may use it was joined.",
        "Use a semaphore where one thread is to release what another one took.",
    ],
    examples: &[Example {
        language: "c",
        before: "if (pthread_mutex_trylock(&lock) == 0)\n    work();\npthread_mutex_unlock(&lock);",
        after: "if (pthread_mutex_trylock(&lock) == 0) {\n    work();\n    pthread_mutex_unlock(&lock);\n}",
    }],
    notes: &[
        "Mutexes that check for errors promise an error code for some of these. They are reported all the same.",
        "Only objects that Ordain models are looked at; the table of functions in `docs/interposed.md` lists them.",
    ],
    see_also: &[Kind::LockHeldAtExit, Kind::Crash],
};
