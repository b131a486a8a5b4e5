//! Runs the benchmark programs under traceforge.
//!
//! `MODE` is `verify`, its optimal search, `random`, or `estimate`, which prints how many executions `verify` would make according to
//! traceforge from 1,000 samples. A deadlock is no failure to traceforge, so an observer makes it one.

mod tool {
    pub use std::sync::Arc;
    pub use traceforge::sync::atomic::AtomicUsize;
    pub use traceforge::thread;

    /// The face of std's on traceforge's asynchronous mutex.
    pub struct Mutex<T>(traceforge::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(traceforge::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> Result<traceforge::sync::MutexGuard<'_, T>, ()> {
            Ok(self.0.blocking_lock())
        }
    }

    /// Lets the programs compile. traceforge has no condition variable, so those that need one do not run.
    pub struct Condvar;

    impl Condvar {
        pub fn new() -> Self {
            eprintln!("traceforge has no condition variable");
            std::process::exit(2);
        }

        pub fn wait<G>(&self, _: G) -> Result<G, ()> {
            unreachable!()
        }

        pub fn notify_one(&self) {}

        pub fn notify_all(&self) {}
    }
}

#[path = "../../../programs.rs"]
mod programs;
#[path = "../../common/report.rs"]
mod report;

use traceforge::monitor_types::EndCondition;
use traceforge::{Config, CoverageInfo, ExecutionId};

struct NoDeadlock;

impl traceforge::coverage::ExecutionObserver for NoDeadlock {
    fn after(&mut self, _: ExecutionId, end: &EndCondition, _: CoverageInfo) {
        assert!(!matches!(end, EndCondition::Deadlock), "deadlock");
    }
}

fn main() {
    let job = report::Job::from_env();
    if job.mode == "estimate" {
        let config = Config::builder().with_stack_size(64 * 1024).with_progress_report(usize::MAX).with_seed(job.seed).build();
        let body = move || programs::run(&job.program, &job.args);
        println!("estimate {}", traceforge::estimate_execs_with_config(config, body, 1000));
        return;
    }
    report::report("traceforge", &job, || {
        let config = Config::builder()
            .with_stack_size(64 * 1024)
            .with_progress_report(usize::MAX)
            .with_seed(job.seed)
            .with_callback(Box::new(NoDeadlock))
            .build();
        let (program, args) = (job.program.clone(), job.args.clone());
        let body = move || {
            report::count();
            programs::run(&program, &args);
        };
        match job.mode.as_str() {
            "random" => drop(traceforge::test(config, body, job.max)),
            "verify" => drop(traceforge::verify(config, body)),
            other => panic!("no mode `{other}`: verify, random or estimate"),
        }
        report::Outcome::Complete
    });
}
