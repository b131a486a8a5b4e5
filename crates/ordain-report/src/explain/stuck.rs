//! Findings in which something does not go on.

use super::{Example, Explanation};
use crate::kind::Kind;

pub(super) static DEADLOCK: Explanation = Explanation {
    kind: Kind::Deadlock,
    title: "Deadlock",
    summary: "Threads are left, and none of them can go on.",
    meaning: "Every thread that has not ended waits: for a lock that another one holds, for a thread to end, for a message, \
              for a wake-up. Nobody is left who could give it to them, so the program would wait for ever.\n\n\
              Often the waits form a cycle, each thread waiting for the next. Without a cycle it is usually a lost \
              wake-up: the notification came before the thread waited for it, or went to another thread, and nobody will \
              send a second one.",
    missed: "Each thread must stop in the few instructions between two calls while the other one does the same. On an idle \
             machine the threads of a test hardly ever meet there, and if they do, the test only hangs and is killed by a \
             time limit that says nothing.",
    causes: &[
        "Two locks that are taken in different orders, often because arguments are swapped (`transfer(a, b)` and \
         `transfer(b, a)`).",
        "A lock that is taken again by the thread that holds it, through a callback or a destructor.",
        "A thread that joins another one while it holds a lock which that one needs.",
        "A condition variable whose condition is tested without the lock, or changed without it: the notification comes \
         between the test and the wait.",
        "`notify_one` or `pthread_cond_signal` where several threads wait for different things, so that the wrong one wakes.",
        "A channel whose sender is kept alive by the receiver itself, so that receiving never ends.",
    ],
    reading: "First come the waits: who waits to do what, where, and who holds it. `cycle: main.1 -> main.2 -> main.1` \
              names the threads that wait for each other; the others only wait for those. Then look in the steps for the \
              places where each thread of the cycle took what the next one wants. If there is no cycle, look for a \
              `notify` with the outcome `woke 0` before the `wait` that never ends.",
    fixes: &[
        "Give locks an order and take them in that order everywhere: by address, by index, by name. C++ has \
         `std::scoped_lock` for several at once.",
        "Hold one lock at a time: copy what is needed, release, then call what locks something else.",
        "Test and change a condition only under its lock, wait in a loop, and notify all unless every waiter could go on.",
        "Release locks before joining threads or waiting for messages.",
    ],
    examples: &[
        Example {
            language: "c",
            before: "pthread_mutex_lock(&from->lock);\npthread_mutex_lock(&to->lock);",
            after: "struct account *first = from < to ? from : to, *second = from < to ? to : from;\n\
                    pthread_mutex_lock(&first->lock);\npthread_mutex_lock(&second->lock);",
        },
        Example {
            language: "rust",
            before: "if queue.lock().unwrap().is_empty() {\n    \
                     // the notification may come here\n    \
                     let guard = queue.lock().unwrap();\n    \
                     drop(ready.wait(guard).unwrap());\n}",
            after: "let guard = queue.lock().unwrap();\n\
                    let guard = ready.wait_while(guard, |queue| queue.is_empty()).unwrap();",
        },
    ],
    notes: &[
        "A thread that spins instead of waiting makes a `livelock` or a `hang`, not a deadlock.",
        "Waits with a time limit are not part of a deadlock: they end. `--timeouts last` lets them end only when nothing else can \
         happen.",
        "`--spurious-wakeups` also explores waits that end without a reason, and so finds an `if` where a `while` is needed.",
        "Lock orders that are wrong but never meet in this program, with this input, are not reported.",
    ],
    see_also: &[Kind::Livelock, Kind::Hang, Kind::LockHeldAtExit],
};

pub(super) static HANG: Explanation = Explanation {
    kind: Kind::Hang,
    title: "Hang",
    summary: "A thread went on for too long without any call that Ordain sees.",
    meaning: "Ordain runs one thread at a time and changes to another one when the thread makes a call that it knows. This \
              thread made none for longer than the limit, and no other could go on: it computes for ever, spins on memory \
              that nobody changes any more, or is blocked in a system call that Ordain does not control.",
    missed: "If the thread spins on a flag, the flag is usually set a moment later by another thread that runs at the same \
             time, and the loop ends. Only if that thread is late, or has ended, does the loop not end.",
    causes: &[
        "A loop such as `while (!ready) ;` on a plain variable or an atomic.",
        "A spin lock made by hand.",
        "A loop that does not end under this schedule: a counter that was stepped over, a list with a cycle in it.",
        "A blocking system call on something outside the program.",
    ],
    reading: "The thread that ended the execution is marked, with its backtrace at the moment when time was up: its \
              innermost frames are the loop. The steps before show what the other threads had done by then.",
    fixes: &[
        "Wait with what is made for it: a condition variable, a semaphore, a futex, a channel, `std::atomic::wait` in C++.",
        "If the loop must spin, call `sched_yield` or sleep in it. Then Ordain sees the loop and lets others go on.",
        "If the thread is only slow, give it more time or less to do.",
    ],
    examples: &[Example {
        language: "c",
        before: "while (!atomic_load(&ready))\n    ;",
        after: "pthread_mutex_lock(&lock);\nwhile (!ready)\n    pthread_cond_wait(&changed, &lock);\npthread_mutex_unlock(&lock);",
    }],
    notes: &[
        "The limit is `--hang-time`, 2 seconds of processor time unless set.",
        "At level sync, atomics and plain memory are not visible. A thread that is found to spin on them lets the others go on; \
         it hangs if they have all ended, wait for it, or spin as well.",
        "Tests with the library see atomics and notice such loops: there it is a `livelock`, or no finding at all.",
    ],
    see_also: &[Kind::Livelock, Kind::Deadlock, Kind::StepLimit],
};

pub(super) static LIVELOCK: Explanation = Explanation {
    kind: Kind::Livelock,
    title: "Livelock",
    summary: "Threads repeat the same steps for ever and change nothing.",
    meaning: "Some threads are busy, but only with looking: they read, try, time out, yield, and begin again, and nothing \
              that they look at changes any more. All others have ended or wait. It is a deadlock whose threads do not \
              sleep.",
    missed: "As with a deadlock, the order that leads there is rare; and a test that only uses much processor time may even \
             end by luck when a time-out falls differently.",
    causes: &[
        "A loop that waits for a flag which nobody will set any more, because its writer has ended, failed, or waits itself.",
        "`try_lock` in a loop, with two threads that each hold what the other one tries.",
        "A timed wait in a loop whose condition was missed, so that it expires again and again.",
        "Retrying after a failure that does not go away.",
    ],
    reading: "Each thread that goes round is named with the places of its loop. Ask for each place what would have to change \
              to end the loop, and look in the steps for the thread that was to change it and why it did not.",
    fixes: &[
        "Make sure that the flag is set on every path, also when the writer fails: set it in a destructor or a guard.",
        "Take locks in one order instead of trying and starting over.",
        "Replace polling by waiting with a condition variable, a semaphore or a channel.",
    ],
    examples: &[Example {
        language: "rust",
        before: "thread::spawn(move || {\n    work()?; // returns early, and ready stays false\n    ready.store(true, Release);\n    Ok(())\n});",
        after: "thread::spawn(move || {\n    let result = work();\n    ready.store(true, Release);\n    result\n});",
    }],
    notes: &[
        "Ordain explores the first idle rounds of a loop (`--spin-bound`, 2 unless set), then lets the thread wait until \
         something that it looked at changes. Only if nothing ever does is it a livelock. A loop that ends by itself \
         gets sixteen times as many rounds, and nothing is verified if that is not enough.",
        "A loop that changes something in every round is not idle; it ends as a `step-limit`.",
        "At level sync, a loop on memory alone makes no visible call; it is a `hang`.",
    ],
    see_also: &[Kind::Deadlock, Kind::Hang, Kind::StepLimit],
};

pub(super) static STEP_LIMIT: Explanation = Explanation {
    kind: Kind::StepLimit,
    title: "Step limit",
    summary: "An execution had more steps than allowed, without a thread beginning or ending.",
    meaning: "The execution goes on and on. Either the program does not end under this schedule, and changes something in \
              each round, so that it is not a livelock; or it is only long.",
    missed: "Two threads that undo each other's work again and again need a very even schedule. A real machine is uneven \
             enough to end such a dance sooner or later, perhaps after a long time.",
    causes: &[
        "Threads that react to each other without end: each gives way to the other, or hands the same item back.",
        "A retry loop, as with compare-and-exchange, in which two threads make each other fail.",
        "A program that is simply too large for a check.",
    ],
    reading: "Of very long executions only the first and the last steps are listed. If the last ones repeat a pattern, that \
              is the loop; the verbs and objects in it tell what the threads do to each other.",
    fixes: &[
        "If there is a loop, let one of the threads win: an order, a priority, a back-off that differs between threads.",
        "If the program is only long, make its input smaller, or raise the limit.",
    ],
    examples: &[],
    notes: &[
        "The limit is `--max-steps`, `max_steps` in the library: 1,000,000 unless set.",
        "A program that runs for ever by design needs a way to end for the check: a number of rounds, a message to stop.",
    ],
    see_also: &[Kind::Livelock, Kind::Hang],
};

pub(super) static LOCK_HELD_AT_EXIT: Explanation = Explanation {
    kind: Kind::LockHeldAtExit,
    title: "Lock held at exit",
    summary: "A thread ended while it held a lock, and nobody can release it any more.",
    meaning: "The thread took a lock and ended without releasing it. The lock stays taken for the rest of the program, and \
              the next thread that wants it waits for ever.",
    missed: "As long as no other thread asks for the lock afterwards, nothing happens. Whether one does depends on the order \
             in which threads end, and tests often end just then.",
    causes: &[
        "A return, a `break` or an error path between lock and unlock.",
        "`pthread_exit` or cancellation while a lock is held, without `pthread_cleanup_push`.",
        "In Rust, a guard that was forgotten (`mem::forget`), leaked, or kept in a value that is never dropped.",
    ],
    reading: "The headline names the thread and the lock. In the steps, find where the thread took it; every path from there \
              to the end of the thread has to release it.",
    fixes: &[
        "Release on every path: one exit at the end of the function in C, `std::lock_guard` in C++, a guard in an inner block \
         in Rust.",
        "In threads that may be cancelled, register the unlock with `pthread_cleanup_push`.",
        "If the death of an owner is to be survived, use a robust mutex (`PTHREAD_MUTEX_ROBUST`) and handle `EOWNERDEAD`.",
    ],
    examples: &[Example {
        language: "c",
        before: "pthread_mutex_lock(&lock);\nif (full(queue))\n    return NULL;\nput(queue, item);\npthread_mutex_unlock(&lock);\nreturn NULL;",
        after: "pthread_mutex_lock(&lock);\nif (!full(queue))\n    put(queue, item);\npthread_mutex_unlock(&lock);\nreturn NULL;",
    }],
    notes: &[
        "An execution that ends in a deadlock because of it is told as this finding, not as a `deadlock`: this is the cause.",
        "Of a program, locks that are held when `main` returns or `exit` is called are no finding: everything ends then.",
    ],
    see_also: &[Kind::Deadlock, Kind::Misuse],
};
