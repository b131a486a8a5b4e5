//! What a check comes to: the verdict, one sentence that says it, and notes on what it rests on. Checks of Rust code, of programs, on
//! clusters and in suites all conclude here, so the same evidence gives the same words.

use ordain_explore::strategy::Kind as StrategyKind;
use ordain_explore::{Coverage, Summary};
use ordain_model::{Level, Options};
use ordain_report::terminal::plural;
use ordain_report::{Estimate, Kind, Note, Sight, Verdict};

/// What a check has to show when it ends.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was visible.
    pub level: Level,
    /// The kinds of the findings.
    pub findings: Vec<Kind>,
    /// What the search did.
    pub summary: Summary,
    /// What was covered, if nothing is left and nothing speaks against it.
    pub coverage: Option<Coverage>,
    /// How schedules were chosen at the end.
    pub strategy: StrategyKind,
    /// Executions that were samples of a portfolio, and whether they were counted exactly.
    pub samples: Option<(u64, bool)>,
    /// How much of what threads do was visible.
    pub sight: Sight,
    /// Why the search could not rely on what is visible, if it has turned out so.
    pub departed: Option<String>,
    /// How many executions there are in all, as far as can be told.
    pub estimate: Option<Estimate>,
    /// What is assumed of the world.
    pub options: Options,
    /// What was held after some idle rounds, if something was.
    pub held: Option<&'static str>,
    /// Threads that got something done again and again had to let others go first.
    pub took_turns: bool,
    /// The time was over.
    pub timed_out: bool,
    /// Somebody stopped it.
    pub interrupted: bool,
    /// What else the user should know: of the search, and of the kind of program.
    pub notes: Vec<Note>,
}

/// What a check comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub meaning: String,
    /// What weakens the verdict, or what the user should know.
    pub notes: Vec<Note>,
}

impl Evidence {
    /// Of a check that has done nothing.
    pub fn none(level: Level, strategy: StrategyKind, options: Options) -> Self {
        Self {
            level,
            findings: Vec::new(),
            summary: Summary::default(),
            coverage: None,
            strategy,
            samples: None,
            sight: Sight::Whole,
            departed: None,
            estimate: None,
            options,
            held: None,
            took_turns: false,
            timed_out: false,
            interrupted: false,
            notes: Vec::new(),
        }
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        verdict(!self.findings.is_empty(), self.coverage, self.sight)
    }

    /// What the check comes to.
    pub fn conclude(self) -> Conclusion {
        Conclusion { verdict: self.verdict(), meaning: self.meaning(), notes: self.into_notes() }
    }

    fn meaning(&self) -> String {
        let level = self.level;
        match self.verdict() {
            Verdict::Finding => self.findings_in_words(),
            Verdict::Verified => format!("verified at level {level}: {}", level.assumption()),
            Verdict::NoFinding if self.summary.executions == 0 => no_verdict(self.interrupted, self.timed_out),
            Verdict::NoFinding => format!("no finding at level {level}: {}", self.shortfall()),
        }
    }

    fn findings_in_words(&self) -> String {
        let executions = plural(self.summary.executions as usize, "execution");
        if let [kind] = self.findings[..] {
            return format!("finding: {} (after {executions})", kind.name());
        }
        let mut kinds: Vec<&str> = self.findings.iter().map(|kind| kind.name()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        format!("finding: {} different ones: {} (in {executions})", self.findings.len(), kinds.join(", "))
    }

    /// Why nothing is verified although nothing was found.
    fn shortfall(&self) -> String {
        let classes = self.summary.executions;
        let executions = plural(classes as usize, "execution");
        match self.coverage {
            Some(Coverage::Everything) if self.sight == Sight::Nothing => {
                format!("there was almost nothing to explore: all that is visible is covered by {executions}")
            }
            Some(Coverage::Everything) => format!(
                "every class of schedules that is visible was explored ({classes}), but not all that threads do is visible"
            ),
            Some(Coverage::Bound) => format!("every class within the bound was explored, in {executions}"),
            None if self.summary.exhausted && self.departed.is_none() => {
                format!("every class of schedules was explored ({classes}), but that was not cross-checked to its end")
            }
            _ => match self.estimate {
                Some(estimate) => {
                    let explored = estimate.in_words(self.unit());
                    format!("nothing was found in {executions}{}; {explored} explored", self.samples_in_words())
                }
                None => format!("nothing was found in {executions}; what is left was not explored"),
            },
        }
    }

    fn samples_in_words(&self) -> String {
        match self.samples {
            None | Some((0, _)) => String::new(),
            Some((1, true)) if self.departed.is_none() => ", one of them a sample".to_owned(),
            Some((samples, exact)) if self.departed.is_none() => {
                format!(", {}{samples} of them samples", if exact { "" } else { "about " })
            }
            _ => String::new(),
        }
    }

    /// What the search makes one execution for.
    fn unit(&self) -> &'static str {
        match self.strategy {
            StrategyKind::Dfs => "schedules",
            StrategyKind::Dpor => "executions",
            _ => "classes",
        }
    }

    fn into_notes(self) -> Vec<Note> {
        let verified = self.verdict() == Verdict::Verified;
        let mut notes = self.notes;
        if let Some(departed) = self.departed {
            notes.push(Note::warning(format!(
                "the program synchronises by memory (atomics, flags) that level {} does not see: {departed}. The search went on by random sampling, which proves nothing",
                self.level
            )));
        }
        if verified && self.summary.threads <= 1 {
            notes.push("the program made no threads with this input, so there was nothing to explore".into());
        }
        if let Some(held) = self.held {
            let rounds = self.options.spin_bound;
            notes.push(format!("{held} were held after {rounds} idle rounds; more rounds were not explored").into());
        }
        if self.took_turns {
            let rounds = self.options.free_rounds;
            let what =
                "threads that go round in a loop, and change something each time, were taken to let others go first";
            notes.push(format!("{what} after {rounds} rounds").into());
        }
        if self.timed_out {
            let before = if self.summary.exhausted { " before the verdict was cross-checked" } else { "" };
            notes.push(format!("the time was over{before}").into());
        }
        if self.interrupted {
            notes.push(INTERRUPTED.into());
        }
        notes
    }
}

/// Threads that wait in loops, as the beginning of the note on what was held.
pub const SPINNING: &str = "threads that wait in a loop";

/// The verdict for what was found, covered and visible.
pub fn verdict(found: bool, coverage: Option<Coverage>, sight: Sight) -> Verdict {
    match () {
        () if found => Verdict::Finding,
        () if coverage == Some(Coverage::Everything) && sight == Sight::Whole => Verdict::Verified,
        () => Verdict::NoFinding,
    }
}

/// What was explored, in words.
pub fn explored(verdict: Verdict, strategy: &str, summary: &Summary) -> String {
    let executions = plural(summary.executions as usize, "execution");
    // These run each class once; others run more, and so tell nothing of how many there are.
    let each_once = summary.exhausted && ["optimal", "source", "dpor"].contains(&strategy);
    let explored = match (verdict, summary.executions) {
        (Verdict::Verified, 1) if each_once => format!("the only class of schedules, in {executions}"),
        (Verdict::Verified, classes) if each_once => format!("all {classes} classes of schedules, in {executions}"),
        (Verdict::Verified, _) => format!("every class of schedules, in {executions}"),
        _ => executions,
    };
    match summary.blocked {
        0 => explored,
        blocked => format!("{explored}, and {blocked} cut short"),
    }
}

/// The note on a check that somebody stopped.
pub const INTERRUPTED: &str = "it was stopped before its end";

/// What is said in place of a verdict if no execution came to its end.
pub fn no_verdict(stopped: bool, timed_out: bool) -> String {
    let when = match (stopped, timed_out) {
        (true, _) => "it was stopped",
        (_, true) => "the time was over",
        (false, false) => "the search ended",
    };
    format!("no verdict: not one execution was complete when {when}")
}
