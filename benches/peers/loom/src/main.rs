//! Runs the benchmark programs under loom.
//!
//! `MODE` is `full`, or `bound<N>` for at most N preemptions. The programs share state through std's `Arc`: loom's own would add the
//! orders of its reference counts.

mod tool {
    pub use loom::sync::atomic::AtomicUsize;
    pub use loom::sync::{Condvar, Mutex};
    pub use loom::thread;
    pub use std::sync::Arc;
}

#[path = "../../../programs.rs"]
mod programs;
#[path = "../../common/report.rs"]
mod report;

fn main() {
    let job = report::Job::from_env();
    report::report("loom", &job, || {
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 100_000;
        builder.preemption_bound = job.mode.strip_prefix("bound").map(|most| most.parse().expect("bound<N>"));
        let (program, args) = (job.program.clone(), job.args.clone());
        builder.check(move || {
            report::count();
            programs::run(&program, &args);
        });
        report::Outcome::Complete
    });
}
