//! Explores a program with optimal search and prints what was done: for measurements.
#![allow(clippy::print_stdout)]
use ordain_explore::strategy::{Kind as StrategyKind, Optimal, Random};
use ordain_explore::{Strategy, Target, search};
use ordain_model::Options;
use ordain_native::{Launch, Mode, Native, Patience, Search};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Lets the process explore by itself.
fn inside(mut native: Native, strategy: StrategyKind, most: u64) {
    let search = Search { strategy, bound: None, seed: 1, depth: 3, expected_status: 0 };
    let begin = Instant::now();
    let (mut executions, mut telling, mut lost) = (0, 0, 0);
    let mut last = None;
    while executions < most {
        match native.explore(&search, (most - executions).min(100_000), Duration::from_millis(200)) {
            Err(failure) => return println!("{failure}"),
            Ok(None) => {
                (executions, lost) = (0, lost + 1);
                println!("lost; mode {:?} {:?}", native.mode(), native.changes);
                if lost > 5 {
                    break;
                }
            }
            Ok(Some(turn)) => {
                executions += turn.summary.executions;
                telling += u64::from(turn.telling);
                last = Some(turn.clone());
                if turn.telling {
                    println!("{:?} {:?}", native.execution().end.title(), native.aftermath().ended);
                }
                if turn.summary.exhausted {
                    break;
                }
            }
        }
    }
    println!(
        "{executions} executions, {telling} worth telling, {lost} lost, last {last:?}, mode {:?}, pages {:?}",
        native.mode(),
        native.pages()
    );
    drop(native);
    tell_rate(executions, begin);
}

fn tell_rate(executions: u64, begin: Instant) {
    let wall = begin.elapsed();
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
    println!(
        "wall {wall:?} cpu {cpu:.3} (own {own:?} program {children:?}) => {:.0} executions per CPU second",
        executions as f64 / cpu
    );
}

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
    if let Some(strategy) = StrategyKind::by_name(&strategy) {
        return inside(native, strategy, most);
    }
    let strategy = strategy.trim_start_matches("outside-");
    let mut strategy: Box<dyn Strategy> =
        if strategy == "random" { Box::new(Random::new(1)) } else { Box::new(Optimal::default()) };
    let mut ends: BTreeMap<String, u64> = BTreeMap::new();
    let begin = Instant::now();
    let summary = search(&mut native, &mut *strategy, &mut |target, summary| {
        let end = target.execution().end.title().to_string();
        *ends.entry(end).or_default() += 1;
        if summary.executions >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    println!("{summary:?} {ends:?} {:?} mode {:?} {:?}", native.failure(), native.mode(), native.changes);
    println!(
        "last {:?} losses {} {:?} pages {:?}",
        native.aftermath().ended,
        native.losses,
        native.last_loss,
        native.pages()
    );
    println!("output: {}", String::from_utf8_lossy(&native.output(0)));
    drop(native);
    tell_rate(summary.executions, begin);
}
