//! Runs the benchmark programs under shuttle.
//!
//! `MODE` is `dfs`, `random`, `urw` or `pct<DEPTH>`.

mod tool {
    pub use shuttle::sync::atomic::AtomicUsize;
    pub use shuttle::sync::{Arc, Condvar, Mutex};
    pub use shuttle::thread;
}

#[path = "../../../programs.rs"]
mod programs;
#[path = "../../common/report.rs"]
mod report;

use report::{Job, Outcome};
use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, Scheduler, UrwRandomScheduler};
use shuttle::{Config, FailurePersistence, Runner};

fn run(scheduler: impl Scheduler + 'static, job: &Job) -> Outcome {
    let mut config = Config::new();
    config.failure_persistence = FailurePersistence::None;
    let (program, args) = (job.program.clone(), job.args.clone());
    Runner::new(scheduler, config).run(move || {
        report::count();
        programs::run(&program, &args);
    });
    Outcome::Complete
}

fn main() {
    let job = Job::from_env();
    let max = usize::try_from(job.max).unwrap_or(usize::MAX);
    report::report("shuttle", &job, || match (job.mode.as_str(), job.mode.strip_prefix("pct")) {
        ("dfs", _) => run(DfsScheduler::new(None, false), &job),
        ("random", _) => run(RandomScheduler::new_from_seed(job.seed, max), &job),
        ("urw", _) => run(UrwRandomScheduler::new_from_seed(job.seed, max), &job),
        (_, depth) => {
            let depth = depth.and_then(|depth| depth.parse().ok()).expect("dfs, random, urw or pct<DEPTH>");
            run(PctScheduler::new_from_seed(job.seed, depth, max), &job)
        }
    });
}
