//! Runs the benchmark programs under Ordain.
//!
//! `MODE` is `default` (`Check::new()`), `budget` (the same with a time limit), `bound<N>` for at most N preemptions, or the name of
//! a strategy. The programs share state through std's `Arc`, as with loom: Ordain does not need to see reference counts.

mod tool {
    pub use ordain::sync::atomic::AtomicUsize;
    pub use ordain::sync::{Condvar, Mutex};
    pub use ordain::thread;
    pub use std::sync::Arc;
}

#[path = "../../../programs.rs"]
mod programs;
#[path = "../../common/report.rs"]
mod report;

use ordain::{Check, Strategy, Verdict};
use report::{Job, Outcome};
use std::time::Duration;

fn strategy(name: &str) -> Option<Strategy> {
    use Strategy::*;
    [Dfs, Dpor, Source, Optimal, Random, Urw, Pct, Pos, Portfolio].into_iter().find(|strategy| strategy.name() == name)
}

fn check(job: &Job) -> Check {
    // No schedule files, as the other drivers write none either.
    let check = Check::new().schedule_directory(None).seed(job.seed);
    match (job.mode.as_str(), job.mode.strip_prefix("bound")) {
        ("default", _) => check,
        ("budget", _) => check.max_time(Duration::from_secs(600)),
        (_, Some(most)) => check.preemption_bound(most.parse().expect("bound<N>")),
        (name, None) => check.strategy(strategy(name).expect("a strategy")).max_executions(job.max),
    }
}

fn main() {
    let job = Job::from_env();
    report::report("ordain", &job, || {
        let (program, args) = (job.program.clone(), job.args.clone());
        let before = report::executions();
        let report = check(&job).run(move || {
            report::count();
            programs::run(&program, &args);
        });
        // Ordain also runs the program to see whether it is deterministic, and to confirm a finding. That costs time but is no search.
        report::set_executions(before + report.executions + report.blocked);
        if report.verdict == Verdict::Finding {
            eprintln!("{}", report.findings[0]);
            return Outcome::Bug;
        }
        Outcome::Complete
    });
}
