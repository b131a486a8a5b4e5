#![allow(clippy::unwrap_used, missing_docs, clippy::print_stdout)]
#[allow(unreachable_pub)]
mod tool {
    pub use ordain::sync::atomic::AtomicUsize;
    pub use ordain::sync::{Condvar, Mutex};
    pub use ordain::thread;
    pub use std::sync::Arc;
}
#[path = "../../../benches/programs.rs"]
#[allow(dead_code, unreachable_pub, clippy::redundant_closure)]
mod programs;
use ordain_explore::estimate::Foresight;
use ordain_explore::strategy::Kind;
use ordain_explore::{Target, search};
use std::ops::ControlFlow;
use std::time::Instant;

fn evaluate(name: &str, kind: Kind, most: usize, probes: u64, program: impl Fn() + Clone + 'static) {
    let mut target = ordain::target(program.clone());
    let mut strategy = kind.make(0, 3);
    let mut knowing = Foresight::default();
    let total = search(&mut target, &mut *strategy, &mut |t, _| {
        knowing.learn(t.execution());
        ControlFlow::Continue(())
    })
    .executions;
    {
        let mut strategy = kind.make(0, 3);
        target.run(&mut strategy.plan().unwrap());
        strategy.learn(target.execution());
        if let Some(r) = knowing.estimate(&*strategy, 1, most as u64) {
            print!("[{:.1}] ", r.ln.exp());
        }
    }
    let mut target = ordain::target(program);
    let mut strategy = kind.make(0, 3);
    let mut foresight: Foresight = Foresight::default();
    let mut out = format!("{name:24} {total:9}");
    let marks: Vec<u64> =
        [0.0, 0.01, 0.05, 0.10, 0.25].iter().map(|s| ((total as f64 * s).ceil() as u64).max(1)).collect();
    let mut n = 0;
    while let Some(mut plan) = strategy.plan() {
        target.run(&mut plan);
        strategy.learn(target.execution());
        if !matches!(target.execution().end, ordain_model::End::Cut) {
            n += 1;
        } else {
            continue;
        }
        let _ = &foresight;
        foresight.hear(target.execution());
        for (i, m) in marks.iter().enumerate() {
            if *m == n && (i == 0 || marks[i - 1] != n) {
                foresight.probe(&mut target, probes, &mut |_| ControlFlow::Continue(()));
                let t = Instant::now();
                if let Some(r) = foresight.estimate(&*strategy, n, most as u64) {
                    let est = r.ln.exp();
                    let t = t.elapsed();
                    let within = (r.low.exp() - 0.5..=r.high.exp() + 0.5).contains(&(total as f64));
                    out += &format!(
                        " | {:9.1} {:5.1}% {:.0}-{:.0}{} {:4}ms",
                        est,
                        100.0 * (est / total as f64).min(total as f64 / est),
                        r.low.exp(),
                        r.high.exp(),
                        if within { "✓" } else { "✗" },
                        t.as_millis()
                    );
                }
            }
        }
        if n > marks[4] {
            break;
        }
    }
    println!("{out}");
}

fn main() {
    let most: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(200_000);
    let probes: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(32);
    let k = Kind::Optimal;
    evaluate("readers(6)", k, most, probes, || programs::readers(6));
    evaluate("readers(13)", k, most, probes, || programs::readers(13));
    for n in 2..6 {
        evaluate("lastzero(n)", k, most, probes, move || programs::lastzero(n));
    }
    evaluate("lastzero(8)", k, most, probes, || programs::lastzero(8));
    evaluate("lastzero(12)", k, most, probes, || programs::lastzero(12));
    evaluate("indexer(13)", k, most, probes, || programs::indexer(13));
    evaluate("indexer(15)", k, most, probes, || programs::indexer(15));
    evaluate("mutex_counter(2,3)", k, most, probes, || programs::mutex_counter(2, 3));
    evaluate("mutex_counter(3,2)", k, most, probes, || programs::mutex_counter(3, 2));
    evaluate("mutex_counter(3,3)", k, most, probes, || programs::mutex_counter(3, 3));
    evaluate("mutex_counter(4,2)", k, most, probes, || programs::mutex_counter(4, 2));
    evaluate("philosophers(5,o)", k, most, probes, || programs::philosophers(5, true));
    evaluate("philosophers(8,o)", k, most, probes, || programs::philosophers(8, true));
    evaluate("buffer(1,1,2)", k, most, probes, || programs::buffer(1, 1, 2, true));
    if most < 1000 {
        evaluate("buffer(2,1,2)", k, most, probes, || programs::buffer(2, 1, 2, true));
    }
    evaluate("buffer(2,2,1)", k, most, probes, || programs::buffer(2, 2, 1, true));
}
