//! What a check comes to: the verdict, what it means, and everything that weakens it.

use super::run::{Run, processor_time};
use super::{ASSUMPTION, LEVEL, Problem, Report};
use crate::finding;
use crate::target::ModeChange;
use ordain_explore::crossing::Crossing;
use ordain_explore::strategy::Kind as StrategyKind;
use ordain_explore::{Coverage, Lowest, Plan, Planned, Summary, Target};
use ordain_model::{End, ObjectId, ObjectKind};
use ordain_report::{Branch, Estimate, Verdict, branch};
use ordain_wire::{Mode, Unmodelled};

impl Run<'_> {
    /// What it comes to. There is no verdict if no execution came to its end.
    pub(super) fn report(
        mut self,
        mut summary: Summary,
        coverage: Option<Coverage>,
        departed: Option<String>,
    ) -> Result<Report, Problem> {
        let exhausted = coverage == Some(Coverage::Everything);
        let searched = self.searched(&summary);
        if !exhausted {
            // They prove nothing about classes, but nothing was found in them.
            summary.executions += self.discarded;
        }
        if self.findings.is_empty()
            && let Some(problem) = self.unconfirmed.problem()
        {
            return Err(problem);
        }
        if summary.executions == 0 && self.findings.is_empty() {
            return Err(self.nothing_ran());
        }
        let blind = self.is_blind(&summary);
        let verdict = match () {
            () if !self.findings.is_empty() => Verdict::Finding,
            () if exhausted && !blind && self.native.unmodelled() == 0 => Verdict::Verified,
            () => Verdict::NoFinding,
        };
        let classes = summary.executions;
        if departed.is_none() {
            // More than was expected says that nobody knows how much there is.
            let least = (searched as f64 + 1.0).log10();
            self.estimate = self.estimate.filter(|e| e.log10 >= least).map(|e| e.with_done(searched));
        } else {
            // What is left was estimated from what is visible, and that is not all.
            self.estimate = None;
        }
        let executions = ordain_report::terminal::plural(classes as usize, "execution");
        let meaning = match verdict {
            Verdict::Finding => format!("{} of {executions} misbehaved", self.findings.len()),
            Verdict::Verified => {
                format!("every class of schedules was explored ({classes}). Verified at level {LEVEL}: {ASSUMPTION}")
            }
            Verdict::NoFinding if exhausted && !blind => {
                format!(
                    "every class of schedules that is visible was explored ({classes}), but not all that threads do is visible"
                )
            }
            Verdict::NoFinding if exhausted => {
                format!("there was almost nothing to explore: {executions} cover all that is visible")
            }
            Verdict::NoFinding if summary.exhausted && coverage.is_none() && departed.is_none() => {
                format!("every class of schedules was explored ({classes}), but that was not cross-checked to its end")
            }
            Verdict::NoFinding if coverage == Some(Coverage::Bound) => {
                format!("every class within the bound was explored ({classes})")
            }
            Verdict::NoFinding => match self.estimate {
                Some(estimate) => {
                    let of_them = match self.kind() {
                        StrategyKind::Portfolio if departed.is_none() => {
                            let about = if self.workers > 1 { "about " } else { "" };
                            format!(", {about}{} of them samples", self.samples(&summary))
                        }
                        _ => String::new(),
                    };
                    format!("nothing was found in {executions}{of_them}; {} explored", estimate.in_words(self.things()))
                }
                None => format!("nothing was found in {executions}; what is left was not explored"),
            },
        };
        if blind {
            let advice = if self.check.binary.rust {
                "Locks, channels and atomics of Rust's std work on memory directly, without calls; check such code with \
                 the library ordain instead"
            } else {
                "It may synchronise by atomics or flags, which level sync does not see"
            };
            self.notes.push(format!(
                "ALMOST NOTHING WAS VISIBLE: {} threads, but only {} synchronisation calls in an execution. {advice}",
                summary.threads, self.visible
            ));
        }
        if let Some(departed) = departed {
            self.notes.push(format!(
                "the program synchronises by memory that level sync does not see (atomics, flags): {departed}. The search went on \
                 by random sampling, which proves nothing"
            ));
        }
        for what in Unmodelled::of(self.native.unmodelled()) {
            if matches!(what, Unmodelled::Atomics | Unmodelled::Unwatched)
                && let Some(note) = self.atomics.take()
            {
                self.notes.push(note);
                continue;
            }
            self.notes
                .push(format!("threads {}: the order of that is not explored, so nothing is verified", what.text()));
        }
        let children = self.native.children();
        if children > 0 {
            let processes = if children == 1 { "process" } else { "processes" };
            self.notes.push(format!(
                "an execution made up to {children} child {processes}; what children do, and in which order, is not explored"
            ));
        }
        if verdict == Verdict::Verified {
            self.note_assumptions();
        }
        if self.spin_held {
            self.notes.push(format!(
                "threads that wait in a loop were held after {} idle rounds; more rounds were not explored",
                self.check.options.spin_bound
            ));
        }
        if self.timed_out {
            let before = if summary.exhausted { " before the verdict was cross-checked" } else { "" };
            self.notes.push(format!("the time was over{before}"));
        }
        if self.interrupted {
            self.notes.push("it was stopped before its end".into());
        }
        self.notes.extend(self.unconfirmed.notes());
        if self.native.losses > 0 {
            let processes = if self.native.losses == 1 { "1 process was" } else { "several processes were" };
            let how = self.native.last_loss.as_deref().unwrap_or("nobody knows how");
            self.notes.push(format!("{processes} lost and started again ({how})"));
        }
        let path = if exhausted { Vec::new() } else { self.describe_path() };
        let workers = self.workers();
        let strategy = if self.bound.is_some() { "bounded" } else { self.kind().name() };
        Ok(Report {
            path,
            workers,
            verdict,
            meaning,
            notes: self.notes,
            strategy,
            mode: self.native.mode(),
            mode_reason: mode_reason(self.check.mode, &self.native.changes),
            summary,
            cross_checked: self.cross_checked,
            visible: self.visible,
            findings: self.findings,
            losses: self.native.losses,
            exploring: self.exploring,
            progress: self.progress.done(),
            estimate: if exhausted { Some(Estimate::exact(classes)) } else { self.estimate },
            interrupted: self.interrupted,
            resumable: self.resumable,
            wall: self.started.elapsed(),
            cpu: {
                drop(self.native);
                processor_time().saturating_sub(self.cpu)
            },
        })
    }

    /// Notes the options that leave executions out.
    fn note_assumptions(&mut self) {
        let (options, names) = (self.check.options, self.native.names());
        let mut objects = (0..names.object_count() as u32).map(ObjectId);
        if !options.spurious_wakeups && objects.any(|object| names.kind(object) == ObjectKind::Condvar) {
            self.note_once(
                "waits on condition variables ended only when somebody woke them; --spurious-wakeups explores the others too"
                    .into(),
            );
        }
        if options.kind_time {
            self.note_once(
                "in kind time waits expired only when nothing else could happen; other orders were not explored".into(),
            );
        }
    }

    /// Whether too little was visible for a verdict.
    pub(super) fn is_blind(&self, summary: &Summary) -> bool {
        // A few calls are little for a program in which others would be hidden. Rust's std makes some itself: keys of values, stacks of handlers.
        let few = if self.check.binary.rust { 4 * summary.threads } else { 0 };
        summary.threads > 1 && self.visible <= few
    }

    /// Why there is nothing to tell.
    pub(super) fn nothing_ran(&mut self) -> Problem {
        self.note_end();
        match () {
            () if self.interrupted => Problem::NothingRan { when: "it was stopped", stopped: true },
            () if self.timed_out => Problem::NothingRan { when: "the time was over", stopped: false },
            () => Problem::NothingRan { when: "the search ended", stopped: false },
        }
    }

    /// What a search of this kind makes one execution for.
    fn things(&self) -> &'static str {
        match self.kind() {
            StrategyKind::Dfs => "schedules",
            StrategyKind::Dpor => "executions",
            _ => "classes",
        }
    }

    /// The path that the search was on, in words: the program follows it once more for that.
    fn describe_path(&mut self) -> Vec<Branch> {
        let crossings = std::mem::take(&mut self.crossings);
        let prefix: Vec<Planned> = crossings.iter().map(|c| Planned { transition: c.taken, op: None }).collect();
        let names = self.native.names().thread_count();
        let known = |c: &Crossing| [c.taken].iter().chain(&c.explored).chain(&c.left).all(|t| t.thread.index() < names);
        if crossings.is_empty() || !crossings.iter().all(known) {
            return Vec::new();
        }
        let ran = self.in_a_moment(|run| {
            run.native.run(&mut Plan::follow(&prefix, &mut Lowest));
            run.native.failure().is_none()
        });
        if !ran || matches!(self.native.execution().end, End::Diverged(_)) {
            return Vec::new();
        }
        let words = finding::NativeWords::new(&self.native);
        let execution = self.native.execution();
        let told = crossings.iter().enumerate();
        told.map(|(depth, c)| branch(&words, execution, depth, c.taken, &c.explored, &c.left)).collect()
    }
}

fn mode_reason(asked: Option<Mode>, changes: &[ModeChange]) -> String {
    match (asked, changes.last()) {
        (Some(_), _) => "asked for".into(),
        (None, Some(change)) => format!("{} mode was left: {}", change.from.word(), change.reason),
        (None, None) => "memory can be put back".into(),
    }
}
