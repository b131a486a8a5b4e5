//! What a check of a program comes to: everything that weakens its verdict, in words.

use super::{LEVEL, Report};
use crate::program::Program;
use crate::target::ModeChange;
use ordain_check::Outcome;
use ordain_explore::Target as _;
use ordain_model::{ObjectId, ObjectKind};
use ordain_report::Verdict;
use ordain_wire::{Mode, Unmodelled};

/// Says what a campaign came to.
pub(super) fn report(mut outcome: Outcome<Program>) -> Report {
    let meaning = outcome.meaning(LEVEL);
    let notes = notes(&mut outcome);
    let strategy = outcome.strategy_name();
    let sight = outcome.sight();
    let Program { check, native, .. } = outcome.explorer;
    Report {
        verdict: outcome.verdict,
        meaning,
        notes,
        sight,
        strategy,
        mode: native.mode(),
        mode_reason: mode_reason(check.program.mode, &native.changes),
        summary: outcome.summary,
        cross_checked: outcome.cross_checked,
        visible: outcome.visible,
        findings: outcome.findings,
        losses: native.losses,
        wall: outcome.wall,
        cpu: outcome.cpu,
        exploring: outcome.exploring,
        progress: outcome.progress,
        interrupted: outcome.interrupted,
        path: outcome.path,
        workers: outcome.division,
        resumable: outcome.resumable,
        estimate: outcome.estimate,
    }
}

fn notes(outcome: &mut Outcome<Program>) -> Vec<String> {
    let mut notes = std::mem::take(&mut outcome.notes);
    let Program { check, native, atomics, .. } = &mut outcome.explorer;
    if outcome.blind {
        let advice = if check.binary.rust {
            "Locks, channels and atomics of Rust's std work on memory directly, without calls; check such code with \
             the library ordain instead"
        } else {
            "It may synchronise by atomics or flags, which level sync does not see"
        };
        notes.push(format!(
            "ALMOST NOTHING WAS VISIBLE: {} threads, but only {} synchronisation calls in an execution. {advice}",
            outcome.summary.threads, outcome.visible
        ));
    }
    if let Some(departed) = &outcome.departed {
        notes.push(format!(
            "the program synchronises by memory that level sync does not see (atomics, flags): {departed}. The search went on \
             by random sampling, which proves nothing"
        ));
    }
    for what in Unmodelled::of(native.unmodelled()) {
        let seen = matches!(what, Unmodelled::Atomics | Unmodelled::Unwatched).then(|| atomics.take()).flatten();
        notes.push(seen.unwrap_or_else(|| {
            format!("threads {}: the order of that is not explored, so nothing is verified", what.text())
        }));
    }
    let children = native.children();
    if children > 0 {
        let processes = if children == 1 { "process" } else { "processes" };
        notes.push(format!(
            "an execution made up to {children} child {processes}; what children do, and in which order, is not explored"
        ));
    }
    if outcome.verdict == Verdict::Verified {
        notes.extend(assumptions(&outcome.explorer));
    }
    let Program { check, native, .. } = &outcome.explorer;
    if outcome.spin_held {
        let timers = native.unmodelled() & Unmodelled::Ticks.bit() != 0;
        let timers = if timers { ", and timers with an interval," } else { "" };
        notes.push(format!(
            "threads that wait in a loop{timers} were held after {} idle rounds; more rounds were not explored",
            check.settings.spin_bound
        ));
    }
    if outcome.timed_out {
        let before = if outcome.summary.exhausted { " before the verdict was cross-checked" } else { "" };
        notes.push(format!("the time was over{before}"));
    }
    if outcome.interrupted {
        notes.push("it was stopped before its end".into());
    }
    notes.append(&mut outcome.unconfirmed);
    if native.losses > 0 {
        let how = native.last_loss.as_deref().unwrap_or("nobody knows how");
        let processes = if native.losses == 1 { "1 process was" } else { "several processes were" };
        notes.push(format!("{processes} lost and started again ({how})"));
    }
    notes
}

/// The options that leave executions out.
fn assumptions(program: &Program) -> Vec<String> {
    let (options, names) = (program.check.options(), program.native.names());
    let mut objects = (0..names.object_count() as u32).map(ObjectId);
    let mut notes = Vec::new();
    if !options.spurious_wakeups && objects.any(|object| names.kind(object) == ObjectKind::Condvar) {
        notes.push(
            "waits on condition variables ended only when somebody woke them; --spurious-wakeups explores the others too"
                .into(),
        );
    }
    if options.kind_time {
        notes.push(
            "with --timeouts last, waits expired only when nothing else could happen; other orders were not explored"
                .into(),
        );
    }
    notes
}

fn mode_reason(asked: Option<Mode>, changes: &[ModeChange]) -> String {
    match (asked, changes.last()) {
        (Some(_), _) => "asked for".into(),
        (None, Some(change)) => format!("{} mode was left: {}", change.from.name(), change.reason),
        (None, None) => "memory can be put back".into(),
    }
}
