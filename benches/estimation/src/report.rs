//! The tables of the document.

use crate::{Foreseen, Measured, PROBES, SHARES, WORK, accuracy};
use ordain_explore::estimate::{Estimate, Expectation, Technique};
use ordain_report::terminal::large;
use std::fmt::Write as _;

/// What is estimated: executions, or the steps of all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Executions.
    Executions,
    /// Steps, which stand for time.
    Steps,
}

/// How an estimator did at one share of the exploration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    /// 100 by the mean factor of error, where there was an estimate. This is the mean of the literature.
    pub harmonic: f64,
    /// The mean, where there was an estimate.
    pub arithmetic: f64,
    /// How often there was none.
    pub failures: usize,
}

/// How an estimator did on all workloads.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether it can be computed while a search runs.
    pub online: bool,
    /// By share of the exploration, then workload.
    pub accuracies: Vec<Vec<Option<f64>>>,
    /// By share.
    pub means: Vec<Mean>,
}

impl Row {
    fn new(name: String, online: bool, accuracies: Vec<Vec<Option<f64>>>) -> Self {
        let means = accuracies.iter().map(|all| mean(all)).collect();
        Self { name, online, accuracies, means }
    }
}

fn mean(all: &[Option<f64>]) -> Mean {
    let some: Vec<f64> = all.iter().flatten().copied().collect();
    let n = some.len() as f64;
    // An accuracy too small for a number is an error too large for one.
    let factors: f64 = some.iter().map(|a| 100.0 / a).sum();
    Mean { harmonic: 100.0 * n / factors, arithmetic: some.iter().sum::<f64>() / n, failures: all.len() - some.len() }
}

/// How Ordain's estimator did with the two ways to spend effort, then how the combinations of the literature did, those that need no oracle first,
/// the better first.
pub fn rows(measured: &[Measured], of: Of) -> Vec<Row> {
    let truth = |m: &Measured| if of == Of::Executions { m.executions as f64 } else { m.steps as f64 };
    let own = |name: &str, which: fn(&Measured) -> &[Foreseen]| {
        let at = |share: usize| {
            let one = |m: &Measured| {
                let foreseen = which(m).get(share)?;
                let estimate = if of == Of::Executions { foreseen.estimate.map(|e| e.ln) } else { foreseen.steps };
                estimate.map(|e| accuracy(e, truth(m)))
            };
            measured.iter().map(one).collect()
        };
        Row::new(name.into(), true, (0..SHARES.len()).map(at).collect())
    };
    let combination = |(number, technique): (usize, Technique)| {
        let [expectation, method, fit] = technique.names();
        let at = |share: usize| {
            let one = |m: &Measured| {
                let truth = if of == Of::Executions { m.branches as f64 } else { m.steps as f64 };
                m.combined[share].get(number)?[usize::from(of == Of::Steps)].map(|e| accuracy(e, truth))
            };
            measured.iter().map(one).collect()
        };
        let online = technique.expectation != Expectation::Oracle;
        Row::new(format!("{expectation} + {method} + {fit}"), online, (0..SHARES.len()).map(at).collect())
    };
    let mut combinations: Vec<Row> = Technique::all().enumerate().map(combination).collect();
    let total = |row: &Row| row.means.iter().map(|m| m.harmonic).sum::<f64>();
    combinations.sort_by(|a, b| b.online.cmp(&a.online).then(total(b).total_cmp(&total(a))));
    let mut rows = vec![own("**foresight**", |m| &m.fixed), own("**foresight**, frugal", |m| &m.beside)];
    rows.extend(combinations);
    rows
}

/// The mean accuracies of all estimators.
pub fn accuracies(rows: &[Row]) -> String {
    let mut text = String::from("| estimator | 1 % | 5 % | 10 % | 25 % | none at 1, 5, 10, 25 % |\n");
    text += "| --- | ---: | ---: | ---: | ---: | --- |\n";
    for row in rows {
        let note = if row.online { "" } else { " (offline)" };
        let _ = write!(text, "| {}{note} |", row.name);
        for mean in &row.means {
            let _ = write!(text, " {} ({}) |", percent(mean.harmonic), percent(mean.arithmetic));
        }
        let failures: Vec<_> = row.means.iter().map(|m| m.failures.to_string()).collect();
        let _ = writeln!(text, " {} |", failures.join(", "));
    }
    text
}

/// Ordain's estimator against the best of all others at each share, and against the goals.
pub fn verdict(rows: &[Row]) -> String {
    let mut text =
        String::from("| explored | foresight | best online combination | best with an oracle | goal | met |\n");
    text += "| --- | ---: | ---: | ---: | --- | --- |\n";
    for (at, share) in SHARES.iter().enumerate() {
        let best = |online: bool| {
            let others = rows.iter().skip(2).filter(|r| r.online == online);
            others.max_by(|a, b| a.means[at].harmonic.total_cmp(&b.means[at].harmonic))
        };
        let (Some(online), Some(offline)) = (best(true), best(false)) else { continue };
        let goal = [Some(70.0), None, None, Some(85.0)][at];
        let own = rows[0].means[at].harmonic;
        let better = own > online.means[at].harmonic && own > offline.means[at].harmonic;
        let met = better && goal.is_none_or(|goal| own >= goal);
        let wanted = goal.map_or("better than all".into(), |goal| format!("{goal:.0} %, better than all"));
        let cell = |row: &Row| format!("{} ({})", percent(row.means[at].harmonic), row.name);
        let _ = writeln!(
            text,
            "| {:.0} % | {} (arithmetic {}) | {} | {} | {wanted} | {} |",
            100.0 * share,
            percent(own),
            percent(rows[0].means[at].arithmetic),
            cell(online),
            cell(offline),
            if met { "yes" } else { "**no**" }
        );
    }
    text
}

/// How often the interval held the true number, and how wide it was.
pub fn intervals(measured: &[Measured]) -> String {
    let mut text = String::from("| | 1 % | 5 % | 10 % | 25 % |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (name, which) in [("foresight", (|m| &m.fixed) as fn(&Measured) -> &Vec<Foreseen>), ("frugal", |m| &m.beside)] {
        let (mut held, mut wide) = (format!("| {name}: held |"), format!("| {name}: high / low, median |"));
        for at in 0..SHARES.len() {
            let all: Vec<(f64, Estimate)> =
                measured.iter().filter_map(|m| Some((m.executions as f64, which(m).get(at)?.estimate?))).collect();
            let hits = all.iter().filter(|(truth, e)| holds(e, *truth)).count();
            let _ = write!(held, " {:.0} % ({hits} of {}) |", 100.0 * hits as f64 / all.len() as f64, all.len());
            let mut widths: Vec<f64> = all.iter().map(|(_, e)| (e.high - e.low).exp()).collect();
            widths.sort_by(f64::total_cmp);
            let _ = write!(wide, " {:.2} |", widths.get(widths.len() / 2).copied().unwrap_or(f64::NAN));
        }
        text += &format!("{held}\n{wide}\n");
    }
    text
}

/// Whether the interval of an estimate holds a number, which is whole.
pub fn holds(estimate: &Estimate, truth: f64) -> bool {
    (estimate.low.exp() - 0.5..=estimate.high.exp() + 0.5).contains(&truth)
}

/// Each workload, with Ordain's estimator and the best online combination.
pub fn workloads(measured: &[Measured], rows: &[Row]) -> String {
    let others = &rows[2];
    let mut text =
        format!("| workload | | executions | longest | foresight at 1, 5, 10, 25 % | frugal | {} |\n", others.name);
    text += "| --- | --- | ---: | ---: | --- | --- | --- |\n";
    for (number, m) in measured.iter().enumerate() {
        let cells = |row: &Row| {
            let cell = |at: &Vec<Option<f64>>| at[number].map_or("–".into(), |a| format!("{a:.0}"));
            row.accuracies.iter().map(cell).collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            text,
            "| `{}` | {}{}{} | {} | {} | {} | {} | {} |",
            m.workload.name,
            m.workload.home(),
            if m.workload.kind.name() == "optimal" { String::new() } else { format!(", {}", m.workload.kind.name()) },
            if m.workload.regular { "" } else { ", irregular" },
            large(m.executions),
            m.depth,
            cells(&rows[0]),
            cells(&rows[1]),
            cells(others)
        );
    }
    text
}

/// What forecasts cost beside the searches that take longest.
pub fn cost(measured: &[Measured]) -> String {
    let mut longest: Vec<&Measured> = measured.iter().collect();
    longest.sort_by_key(|m| std::cmp::Reverse(m.took));
    let mut text =
        String::from("| workload | whole search | four forecasts | of it | frugal | of the first quarter |\n");
    text += "| --- | ---: | ---: | ---: | ---: | ---: |\n";
    for m in longest.iter().take(6) {
        let (Some(fixed), Some(beside)) = (m.fixed.last(), m.beside.last()) else { continue };
        let share = |of: &Foreseen, all: f64| 100.0 * of.forecasts.as_secs_f64() / all;
        let _ = writeln!(
            text,
            "| `{}` | {:.2} s | {:.2} s | {:.1} % | {:.2} s | {:.1} % |",
            m.workload.name,
            m.took.as_secs_f64(),
            fixed.forecasts.as_secs_f64(),
            share(fixed, m.took.as_secs_f64()),
            beside.forecasts.as_secs_f64(),
            share(beside, beside.search.as_secs_f64())
        );
    }
    text
}

/// What was measured, in one sentence.
pub fn scope(measured: &[Measured]) -> String {
    let count = |what: &dyn Fn(&Measured) -> bool| measured.iter().filter(|m| what(m)).count();
    let sizes = || measured.iter().map(|m| m.executions);
    format!(
        "{} workloads of {} to {} executions: {} of the library and {} native programs; {} regular and {} irregular; {} explored with \
         `source` or `dfs`, the others with `optimal`. A forecast has {} probes and looks at up to {} imagined states.\n",
        measured.len(),
        large(sizes().min().unwrap_or(0)),
        large(sizes().max().unwrap_or(0)),
        count(&|m| m.workload.home() == "library"),
        count(&|m| m.workload.home() == "native"),
        count(&|m| m.workload.regular),
        count(&|m| !m.workload.regular),
        count(&|m| m.workload.kind.name() != "optimal"),
        PROBES,
        large(WORK),
    )
}

/// A percentage, with digits where they say something.
fn percent(value: f64) -> String {
    if value < 0.05 { "0".into() } else { format!("{value:.1}") }
}
