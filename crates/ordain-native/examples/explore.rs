//! Explores a program with optimal search and prints what was done: for measurements.
#![allow(clippy::print_stdout)]
use ordain_explore::strategy::{Optimal, Random};
use ordain_explore::{Strategy, Target, search};
use ordain_model::Options;
use ordain_native::{Launch, Mode, Native, Patience};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = match arguments.next().as_deref() {
        Some("snapshot") => Some(Mode::Snapshot),
        Some("fork") => Some(Mode::Fork),
        Some("exec") => Some(Mode::Exec),
        _ => None,
    };
    let strategy = arguments.next().unwrap_or_default();
    let most: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(1000);
    let program = arguments.next().unwrap_or_default();
    let launch = Launch {
        program: program.into(),
        arguments: arguments.map(Into::into).collect(),
        environment: Vec::new(),
        input: Vec::new(),
    };
    let mut native = match Native::new(launch, Options::default(), mode, Patience::default()) {
        Ok(native) => native,
        Err(failure) => return println!("{failure}"),
    };
    let mut strategy: Box<dyn Strategy> =
        if strategy == "random" { Box::new(Random::new(1)) } else { Box::new(Optimal::default()) };
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    let begin = Instant::now();
    let summary = search(&mut native, &mut *strategy, &mut |target, summary| {
        let end = target.execution().end.title().to_string();
        *ends.entry(end).or_default() += 1;
        if summary.executions >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let wall = begin.elapsed();
    println!("{summary:?} {ends:?} {:?} mode {:?} {:?}", native.failure(), native.mode(), native.changes);
    println!("last {:?} losses {} pages {:?}", native.aftermath().ended, native.losses, native.pages());
    println!("output: {}", String::from_utf8_lossy(&native.output(0)));
    drop(native);
    let usage = |who| {
        // SAFETY: fills in a structure.
        unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
            (seconds(usage.ru_utime), seconds(usage.ru_stime))
        }
    };
    let (own, children) = (usage(libc::RUSAGE_SELF), usage(libc::RUSAGE_CHILDREN));
    let cpu = own.0 + own.1 + children.0 + children.1;
    println!("wall {wall:?} cpu {cpu:.3} (own {own:?} program {children:?}) => {:.0} executions per CPU second", summary.executions as f64 / cpu);
}
