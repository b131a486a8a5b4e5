//! Command line and output that the drivers share.
//!
//! A driver runs one job, `MODE PROGRAM ARG...`, and prints one line:
//! `tool,mode,program,args,outcome,rounds,executions,cpu_seconds,peak_kb`. The outcome is `complete`, `bug`, or `limit` if the
//! CPU time ran out. CPU time is that of the whole process from the start of the first exploration; a machine with other work
//! to do changes it little, where it changes elapsed time a lot.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::process::exit;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What the command line asks for.
pub struct Job {
    /// How the tool is to choose schedules.
    pub mode: String,
    /// Which program of `programs.rs`.
    pub program: String,
    /// The program's arguments.
    pub args: Vec<usize>,
    /// `SEED`: of a random mode, 0 by default.
    #[allow(dead_code, reason = "loom has no random mode")]
    pub seed: u64,
    /// `MAX`: executions of a random mode, as many as there is time for by default.
    #[allow(dead_code, reason = "for the tools with random modes")]
    pub max: u64,
    /// `LIMIT`: CPU seconds until the job is given up, 60 by default.
    pub limit: f64,
    /// `REPEAT`: how often to repeat the whole exploration.
    repeat: Repeat,
}

/// How often to explore, so that what takes microseconds is measured over more than those.
enum Repeat {
    /// `REPEAT=n`: that often. Once is the default.
    Times(u64),
    /// `REPEAT=0.3s`: until so much CPU time is used.
    For(f64),
}

/// How an exploration ended. A tool that reports a bug by a panic need not return.
#[allow(dead_code, reason = "only Ordain returns a bug, the others panic")]
pub enum Outcome {
    /// Everything the mode sets out to explore is explored.
    Complete,
    /// The program misbehaved.
    Bug,
}

impl Job {
    /// Reads the command line and the environment.
    pub fn from_env() -> Self {
        const USAGE: &str = "usage: [SEED=n] [MAX=n] [LIMIT=seconds] [REPEAT=n|REPEAT=<seconds>s] MODE PROGRAM ARG...";
        let mut argv = std::env::args().skip(1);
        let (mode, program) = (argv.next().expect(USAGE), argv.next().expect(USAGE));
        let args = argv.map(|arg| arg.parse().expect(USAGE)).collect();
        let var = |name: &str| std::env::var(name).ok();
        let repeat = match var("REPEAT").as_deref().map(|r| (r, r.strip_suffix('s'))) {
            None => Repeat::Times(1),
            Some((_, Some(seconds))) => Repeat::For(seconds.parse().expect(USAGE)),
            Some((times, None)) => Repeat::Times(times.parse().expect(USAGE)),
        };
        Self {
            mode,
            program,
            args,
            seed: var("SEED").map_or(0, |v| v.parse().expect(USAGE)),
            max: var("MAX").map_or(u64::MAX, |v| v.parse().expect(USAGE)),
            limit: var("LIMIT").map_or(60.0, |v| v.parse().expect(USAGE)),
            repeat,
        }
    }
}

static EXECUTIONS: AtomicU64 = AtomicU64::new(0);
static ROUNDS: AtomicU64 = AtomicU64::new(0);
/// What the line begins with, until it is printed.
static HEAD: Mutex<Option<String>> = Mutex::new(None);

/// Counts one execution of the program. To be called as each begins.
pub fn count() {
    EXECUTIONS.fetch_add(1, Relaxed);
}

/// How many executions have begun.
pub fn executions() -> u64 {
    EXECUTIONS.load(Relaxed)
}

/// Corrects the count, if some executions were no part of the search.
#[allow(dead_code, reason = "only Ordain runs the program for other reasons too")]
pub fn set_executions(executions: u64) {
    EXECUTIONS.store(executions, Relaxed);
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Most memory this process ever had, in kilobytes.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// Prints the line, unless it is printed already.
fn print(outcome: &str, cpu: f64) {
    let head = HEAD.lock().ok().and_then(|mut head| head.take());
    if let Some(head) = head {
        let rounds = ROUNDS.load(Relaxed).max(1);
        println!("{head},{outcome},{rounds},{},{cpu:.6},{}", executions(), peak_kb());
    }
}

/// Explores as often as the job says and prints the line.
///
/// It is printed from the panic hook if the tool panics, because some tools abort while they unwind, and from a thread that watches
/// the CPU time if that runs out, because not every tool can limit it.
pub fn report(tool: &str, job: &Job, mut explore: impl FnMut() -> Outcome) {
    let args: Vec<String> = job.args.iter().map(ToString::to_string).collect();
    *HEAD.lock().unwrap() = Some(format!("{tool},{},{},{}", job.mode, job.program, args.join("/")));
    let (start, limit) = (cpu(), job.limit);
    set_hook(Box::new(move |info| {
        print("bug", cpu() - start);
        eprintln!("{info}");
    }));
    std::thread::spawn(move || {
        while cpu() - start < limit {
            std::thread::sleep(Duration::from_millis(5));
        }
        print("limit", cpu() - start);
        exit(0);
    });
    loop {
        let outcome = catch_unwind(AssertUnwindSafe(&mut explore)).unwrap_or(Outcome::Bug);
        let (used, rounds) = (cpu() - start, ROUNDS.fetch_add(1, Relaxed) + 1);
        let enough = match job.repeat {
            Repeat::Times(times) => rounds >= times,
            Repeat::For(seconds) => used >= seconds,
        };
        match outcome {
            Outcome::Bug => break print("bug", used),
            Outcome::Complete if enough => break print("complete", used),
            Outcome::Complete => {}
        }
    }
}
