//! Findings about order: of accesses to memory, of output, and of what should not depend on anything.

use super::{Example, Explanation};
use crate::kind::Kind;

pub(super) static DATA_RACE: Explanation = Explanation {
    kind: Kind::DataRace,
    title: "Data race",
    summary: "Two threads access the same memory, one of them writes, and nothing orders the two.",
    meaning: "No lock, no message, no join and no atomic operation puts one access before the other, so each may come first, \
              or both at once. In Rust, C and C++ that is undefined behaviour: not only may an old or a torn value be read; \
              the compiler assumes that it does not happen, and may have built something else than what is written.",
    missed: "To do harm, the accesses must meet within nanoseconds. Even then the value is usually the expected one, until the \
             compiler, the processor or the load changes.",
    causes: &[
        "A variable that is protected by a lock in most places, and not in one.",
        "A flag that tells another thread to go on and is not atomic, or is atomic with `Relaxed`, so that it orders nothing.",
        "Two threads that hold different locks for the same data.",
        "Data that is read after the thread that writes it was started, and before it was joined.",
    ],
    reading: "Both accesses are shown with thread, place, and whether they write. Ask what was to order them, and look in the \
              steps between for it: it is missing, or it is too weak. In whatever order the two ran, it is the same race.",
    fixes: &[
        "Take the same lock for both accesses.",
        "Publish with `Release` and read with `Acquire`: what was written before the store is then visible after the load.",
        "Hand the data over instead of sharing it: by a channel, or by joining the thread.",
    ],
    examples: &[
        Example {
            language: "rust",
            before: "data.with_mut(|data| unsafe { *data = 42 });\nready.store(true, Relaxed);",
            after: "data.with_mut(|data| unsafe { *data = 42 });\nready.store(true, Release); // and load with Acquire",
        },
        Example {
            language: "c",
            before: "counter++;",
            after: "pthread_mutex_lock(&lock);\ncounter++;\npthread_mutex_unlock(&lock);",
        },
    ],
    notes: &[
        "In tests with the library, accesses through `ordain::cell::UnsafeCell` are checked, by the real orderings of atomics.",
        "At level sync, memory accesses of programs are not visible and no data race is reported. `verified` then holds if \
         threads share memory only under the calls that Ordain sees: look for what they share without any order with ThreadSanitizer, \
         for instance.",
        "One execution of each class is enough to see all races in it, so memory accesses do not make a check longer.",
    ],
    see_also: &[Kind::Crash, Kind::Output],
};

pub(super) static OUTPUT: Explanation = Explanation {
    kind: Kind::Output,
    title: "Output",
    summary: "What the program writes depends on the order of its threads.",
    meaning: "Two executions with the same input wrote different things to standard output or standard error. It is reported \
              only if that was asked for, because many programs are allowed to.",
    missed: "A test compares with the output that usually comes. Under load, or on another machine, the other one comes, and \
             the test is called flaky.",
    causes: &[
        "Threads that print as they finish, with nothing that orders them.",
        "Results that are collected in order of arrival.",
        "A sum of floating-point numbers whose order differs: the result is rounded differently.",
        "A line that is written in several pieces, with other threads in between.",
    ],
    reading: "Shown are the output of this execution and the usual one. The first difference tells which writes changed places; \
              find them in the steps, and what should have ordered them.",
    fixes: &[
        "Collect results by index, and print them after all threads were joined.",
        "Write a whole line with one call, or hold a lock over all of it.",
        "Combine results in a fixed order.",
    ],
    examples: &[Example {
        language: "rust",
        before: "for job in jobs {\n    scope.spawn(move || println!(\"{}\", job.run()));\n}",
        after: "let running: Vec<_> = jobs.into_iter().map(|job| scope.spawn(move || job.run())).collect();\n\
                for job in running {\n    println!(\"{}\", job.join().unwrap());\n}",
    }],
    notes: &[
        "Reported with `--compare-output` only.",
        "Compared is what is written to standard output and standard error, byte by byte; files are not.",
    ],
    see_also: &[Kind::ExitStatus, Kind::Nondeterminism, Kind::DataRace],
};

pub(super) static NONDETERMINISM: Explanation = Explanation {
    kind: Kind::Nondeterminism,
    title: "Nondeterminism",
    summary: "The program does not do the same under the same schedule, so nothing can be said about it.",
    meaning: "Ordain ran the same schedule again and the program did something else. Then something other than the order of \
              its threads decides what it does, and exploring orders proves nothing. It is no verdict on the program; it \
              says that the test is not yet one that can be explored.",
    missed: "A usual test does not run anything twice and compare.",
    causes: &[
        "Iteration over `HashMap` or another table with a random seed.",
        "Real time, random numbers, process numbers, addresses that are printed, compared or hashed.",
        "State that survives an execution: statics, captured values, files that the program changes.",
        "Memory that is read before it is written.",
        "Threads, locks or channels that Ordain does not control, other processes, the network.",
    ],
    reading: "The report names the first step that differs: what was expected there and what came. The cause lies between the \
              step before it and this one, in that thread or in what it read.",
    fixes: &[
        "Use tables with an order (`BTreeMap`) or with a fixed seed.",
        "In tests with the library, use `ordain::time`, and `ordain::choose` or a generator with a fixed seed; make state \
         inside the closure.",
        "For programs, give a fixed input, take out what is outside the process, and let each execution begin with the same \
         files.",
    ],
    examples: &[Example {
        language: "rust",
        before: "let mut waiting: HashMap<u32, Sender<u32>> = HashMap::new();",
        after: "let mut waiting: BTreeMap<u32, Sender<u32>> = BTreeMap::new();",
    }],
    notes: &[
        "Of programs, time, random numbers and addresses are controlled already; what is left is usually a file or another \
         process. `ordain check` then ends with status 2.",
        "`--mode exec` starts every execution in a new process; if that helps, something was not put back in between.",
    ],
    see_also: &[Kind::Output, Kind::Hang],
};
