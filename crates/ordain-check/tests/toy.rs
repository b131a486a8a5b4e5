//! A front end in few lines: scripted threads that take locks. Everything that a check does comes from the crate.

use ordain_check::{Campaign, CheckpointFile, Explorer, Observation, Outcome, Problem, Proof, Recruit, Resume};
use ordain_check::{RunOptions, Settings, Unobserved};
use ordain_explore::frontier::Order;
use ordain_explore::{Plan, Target, prefix_of};
use ordain_model::describe::{Place, Words};
use ordain_model::{
    Arbiter, End, Execution, Level, Names, ObjectId, ObjectKind, Operation, Options, Site, ThreadId, Wait,
};
use ordain_report::{Facts, Kind, Sources, Story, Verdict};
use std::convert::Infallible;

/// Which locks each thread takes, one in the other.
type Script = &'static [&'static [usize]];

struct Toy {
    script: Script,
    arbiter: Arbiter,
    locks: Vec<ObjectId>,
    done: Vec<usize>,
}

impl Toy {
    fn new(script: Script) -> Self {
        Self { script, arbiter: Arbiter::new(Options::default()), locks: Vec::new(), done: Vec::new() }
    }

    /// A thread announces what comes next in its script.
    fn announce(&mut self, thread: ThreadId) {
        let at = self.done[thread.index()];
        self.done[thread.index()] += 1;
        let op = match thread.index().checked_sub(1).map(|child| self.script[child]) {
            None if at < self.script.len() => Operation::Spawn { child: self.arbiter.next_child(thread) },
            None => Operation::Exit,
            Some(locks) if at < locks.len() => Operation::Lock { lock: self.locks[locks[at]], wait: Wait::Block },
            Some(locks) if at < 2 * locks.len() => {
                Operation::Unlock { lock: self.locks[locks[2 * locks.len() - 1 - at]] }
            }
            Some(_) => Operation::Exit,
        };
        self.arbiter.announce(thread, op, Site(at as u64 + 1));
    }
}

impl Target for Toy {
    fn run(&mut self, plan: &mut Plan<'_>) {
        self.arbiter.begin();
        self.locks = (0..2).map(|_| self.arbiter.create(ThreadId::MAIN, ObjectKind::Mutex, 0)).collect();
        self.done = vec![0; self.script.len() + 1];
        self.announce(ThreadId::MAIN);
        while let Some(transition) = plan.next(&mut self.arbiter) {
            self.arbiter.apply(transition);
            match self.arbiter.execution().steps.last().map(|s| s.op) {
                Some(Operation::Exit) => continue,
                Some(Operation::Spawn { child }) => self.announce(child),
                _ => {}
            }
            self.announce(transition.thread);
        }
    }

    fn execution(&self) -> &Execution {
        self.arbiter.execution()
    }

    fn names(&self) -> &Names {
        self.arbiter.names()
    }
}

impl Words for Toy {
    fn names(&self) -> &Names {
        self.arbiter.names()
    }

    fn place(&self, _site: Site) -> Option<Place> {
        None
    }
}

impl Explorer for Toy {
    type Finding = Story;
    type Failure = Infallible;

    fn names_mut(&mut self) -> &mut Names {
        self.arbiter.names_mut()
    }

    fn observe(&mut self) -> Option<Observation> {
        let execution = self.arbiter.execution();
        matches!(execution.end, End::Deadlock(_)).then(|| Observation {
            kind: Kind::Deadlock,
            message: "no thread can go on".into(),
            place: execution.place(self.arbiter.names()),
            prefix: prefix_of(execution),
        })
    }

    fn describe(&mut self, observation: &Observation, proof: &Proof<'_>) -> Story {
        let (execution, message) = (self.arbiter.execution(), observation.message.as_str());
        let (kind, preemptions) = (observation.kind, proof.preemptions);
        let (program, level) = ("toy", Level::Sync);
        let facts = Facts { kind, message, execution, preemptions, race: None, culprit: None, program, level };
        Story { shrunk: proof.shrunk, ..ordain_report::tell(self, &mut Sources::default(), &facts) }
    }

    fn story(finding: &Story) -> &Story {
        finding
    }

    fn with_words<R>(&self, tell: impl FnOnce(&dyn Words) -> R) -> R {
        tell(self)
    }

    fn lessons(&self) -> &[Site] {
        self.arbiter.long_loops()
    }

    fn learn(&mut self, lessons: &[Site]) {
        lessons.iter().for_each(|site| self.arbiter.know_long_loop(*site));
    }

    fn take_over(&mut self, order: &Order) -> Result<(), Infallible> {
        assert!(self.names_mut().agree(&order.births), "threads of a script have the same names everywhere");
        Ok(())
    }

    fn recruit(&mut self, count: usize) -> Result<Vec<Recruit<Self>>, Infallible> {
        let script = self.script;
        Ok((0..count).map(|_| Box::new(move || Self::new(script)) as Recruit<Self>).collect())
    }
}

const SAME: Script = &[&[0], &[0], &[0], &[0]];
const INVERTED: Script = &[&[0, 1], &[1, 0], &[0]];

fn check(script: Script, settings: &Settings, options: &RunOptions) -> Result<Outcome<Toy>, Problem<Infallible>> {
    let identity = vec![("script".to_owned(), format!("{script:?}"))];
    let place = CheckpointFile { file: "checkpoint".into(), identity };
    Campaign::new(settings, options, Toy::new(script), place, &mut Unobserved)?.run()
}

fn with(workers: usize) -> RunOptions {
    RunOptions { workers, ..RunOptions::default() }
}

#[test]
fn every_order_of_a_lock_is_explored_once_with_any_number_of_workers() {
    for workers in 1..=3 {
        let outcome = check(SAME, &Settings::default(), &with(workers)).expect("a verdict");
        assert_eq!((outcome.verdict, outcome.summary.executions), (Verdict::Verified, 24), "{workers} workers");
        assert!(outcome.cross_checked >= 1000, "{} samples", outcome.cross_checked);
        assert_eq!(outcome.division.is_some(), workers > 1);
    }
}

#[test]
fn a_deadlock_is_found_made_smaller_and_told() {
    for workers in 1..=2 {
        let outcome = check(INVERTED, &Settings::default(), &with(workers)).expect("a verdict");
        assert_eq!(outcome.verdict, Verdict::Finding);
        let [story] = outcome.findings.as_slice() else { panic!("{} findings", outcome.findings.len()) };
        assert_eq!(story.kind, Kind::Deadlock);
        assert!(story.shrunk.is_some_and(|shrunk| shrunk.fewest), "{:?}", story.shrunk);
    }
}

#[test]
fn a_budget_ends_a_search_which_then_is_resumed() {
    let directory = tempfile::tempdir().expect("room for temporary files");
    let settings = Settings { strategy: Some(ordain_explore::strategy::Kind::Optimal), ..Settings::default() };
    let begun = RunOptions { directory: Some(directory.path().to_owned()), ..with(1) };
    let few = Settings { max_executions: Some(5), ..settings.clone() };
    let first = check(SAME, &few, &begun).expect("a verdict");
    assert_eq!((first.verdict, first.summary.executions), (Verdict::NoFinding, 5));
    assert!(first.resumable && !first.path.is_empty());
    let estimate = first.estimate.expect("an estimate");
    assert!((estimate.log10 - 24f64.log10()).abs() < 0.5, "{estimate:?}");
    let resumed = RunOptions { resume: Resume::Must, ..begun };
    let second = check(SAME, &settings, &resumed).expect("a verdict");
    assert_eq!((second.verdict, second.summary.executions), (Verdict::Verified, 24));
    let other = check(INVERTED, &settings, &resumed);
    assert!(matches!(other, Err(Problem::Resume { .. })));
    let sampled = Settings { spin_bound: 7, ..settings };
    assert!(matches!(check(SAME, &sampled, &resumed), Err(Problem::Resume { .. })));
}
