//! What a check of a program comes to: everything that weakens its verdict, in words.

use super::{LEVEL, Report};
use crate::program::Program;
use crate::target::ModeChange;
use ordain_check::{Conclusion, Outcome};
use ordain_explore::{Summary, Target as _};
use ordain_model::{ObjectId, ObjectKind};
use ordain_report::{Note, Sight, Verdict};
use ordain_wire::{Mode, Unmodelled};

/// The warning that almost nothing of a program was visible, if so. Rust's std makes a few calls itself: keys of values, stacks of handlers.
pub fn blindness(rust: bool, summary: &Summary) -> Option<Note> {
    let few = if rust { 4 * summary.threads } else { 0 };
    let advice = if rust {
        "Locks, channels and atomics of Rust's std work on memory directly, without calls; check such code with the library ordain instead"
    } else {
        "It may synchronise by atomics or flags, which level sync does not see"
    };
    (summary.threads > 1 && summary.visible <= few).then(|| {
        Note::warning(format!(
            "almost nothing was visible: {} threads, but only {} synchronisation calls in an execution. {advice}",
            summary.threads, summary.visible
        ))
    })
}

/// Says what a campaign came to.
pub(super) fn report(mut outcome: Outcome<Program>) -> Report {
    let mut evidence = outcome.evidence(LEVEL, outcome.explorer.check.options());
    evidence.notes.extend(notes(&mut outcome));
    if outcome.spin_held && outcome.explorer.native.unmodelled() & Unmodelled::Ticks.bit() != 0 {
        evidence.held = Some("threads that wait in a loop, and timers with an interval,");
    }
    let Conclusion { verdict, meaning, notes } = evidence.conclude();
    let strategy = outcome.strategy_name();
    let Program { check, native, .. } = outcome.explorer;
    Report {
        verdict,
        meaning,
        notes,
        sight: outcome.sight,
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

/// What is to be said of programs only.
fn notes(outcome: &mut Outcome<Program>) -> Vec<Note> {
    let mut notes = Vec::new();
    let Program { check, native, atomics, .. } = &mut outcome.explorer;
    if outcome.sight == Sight::Nothing {
        notes.extend(blindness(check.binary.rust, &Summary { visible: outcome.visible, ..outcome.summary }));
    }
    for what in Unmodelled::of(native.unmodelled()) {
        let seen = matches!(what, Unmodelled::Atomics | Unmodelled::Unwatched).then(|| atomics.take()).flatten();
        notes.push(Note::warning(seen.unwrap_or_else(|| {
            format!("threads {}: the order of that is not explored, so nothing is verified", what.text())
        })));
    }
    let children = native.children();
    if children > 0 {
        let processes = if children == 1 { "process" } else { "processes" };
        notes.push(
            format!("an execution made up to {children} child {processes}; what children do, and in which order, is not explored")
                .into(),
        );
    }
    if outcome.verdict == Verdict::Verified {
        notes.extend(assumptions(&outcome.explorer));
    }
    let native = &outcome.explorer.native;
    if native.losses > 0 {
        let how = native.last_loss.as_deref().unwrap_or("nobody knows how");
        let processes = if native.losses == 1 { "1 process was" } else { "several processes were" };
        notes.push(format!("{processes} lost and started again ({how})").into());
    }
    notes
}

/// The options that leave executions out.
fn assumptions(program: &Program) -> Vec<Note> {
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
