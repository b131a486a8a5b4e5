//! A closure as something that can be explored.

use crate::check::Check;
use crate::finding::{self, Finding};
use crate::rt::{Executor, Sight};
use ordain_check::{Explorer, Limit, Observation, Problem, Proof, Recruit};
use ordain_explore::frontier::Order;
use ordain_explore::{Plan, Summary, Target};
use ordain_model::describe::Words;
use ordain_model::{DataRace, End, Execution, Names, Site};
use ordain_report::terminal::with_article;
use ordain_report::{Kind, Story};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why a search stays in one process, with one worker.
const SHARED: &str = "it uses locks or channels that were made outside";
/// How long the first execution may take in any case, and before it those that show whether the program is deterministic.
const GRACE: Duration = Duration::from_millis(250);

/// Executions before the second of a search.
const FIRST: u32 = 3;

/// A program that can be run anywhere.
type Portable = Arc<dyn Fn() + Send + Sync>;

/// The program, on one OS thread or on any.
#[derive(Clone)]
pub(crate) enum Body {
    /// It stays here.
    Local(Rc<dyn Fn()>),
    /// Several workers may run it at the same time.
    Shared(Portable),
}

/// Why a closure cannot be explored.
#[derive(Clone, Debug)]
pub(crate) struct Failure(&'static str);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Failure {}

/// A closure under control, and the check that it is run for.
pub(crate) struct Program {
    check: Arc<Check>,
    /// The name of the check.
    name: Arc<str>,
    body: Body,
    pub(crate) executor: Executor,
    races: Vec<DataRace>,
    limit: Limit,
    /// Executions that are given more time: those that show whether the program is deterministic, and the first of the search.
    first: u32,
}

impl Program {
    /// The program of a check.
    pub(crate) fn new(check: &Arc<Check>, name: &str, body: Body) -> Self {
        let executor = Self::executor(check, &body);
        Self::of(check, name.into(), body, executor)
    }

    fn of(check: &Arc<Check>, name: Arc<str>, body: Body, executor: Executor) -> Self {
        let (races, limit) = (Vec::new(), Limit::default());
        Self { check: check.clone(), name, body, executor, races, limit, first: FIRST }
    }

    fn executor(check: &Check, body: &Body) -> Executor {
        let program: Rc<dyn Fn()> = match body {
            Body::Local(program) => program.clone(),
            Body::Shared(program) => {
                let program = program.clone();
                Rc::new(move || program())
            }
        };
        Executor::new(check.options(), check.stack_size, program)
    }

    /// What the check does not see.
    pub(crate) fn sight(&self) -> &Arc<Sight> {
        self.executor.sight()
    }

    fn set_deadline(&self) {
        let deadline = self.limit.deadline();
        let first = deadline.filter(|_| self.first > 0).map(|deadline| deadline.max(Instant::now() + GRACE));
        self.executor.set_deadline(first.or(deadline));
    }
}

impl Target for Program {
    fn run(&mut self, plan: &mut Plan<'_>) {
        self.executor.run(plan);
        if self.first > 0 {
            self.first -= 1;
            self.set_deadline();
        }
    }

    fn execution(&self) -> &Execution {
        self.executor.execution()
    }

    fn names(&self) -> &Names {
        Target::names(&self.executor)
    }
}

impl Explorer for Program {
    type Finding = Finding;
    type Failure = Failure;

    fn names_mut(&mut self) -> &mut Names {
        self.executor.names_mut()
    }

    fn observe(&mut self) -> Option<Observation> {
        finding::notice(&self.executor, &mut self.races)
    }

    fn describe(&mut self, observation: &Observation, proof: &Proof<'_>) -> Finding {
        let context = finding::Context { check: &self.name, directory: self.check.directory.as_deref(), proof };
        finding::describe(&self.executor, observation, &context)
    }

    fn story(finding: &Finding) -> &Story {
        &finding.story
    }

    fn with_words<R>(&self, tell: impl FnOnce(&dyn Words) -> R) -> R {
        tell(&self.executor)
    }

    fn is_shown_again(&self, found: &Observation, again: &Observation) -> bool {
        again.is_like(found)
    }

    fn is_repeatable(&self) -> bool {
        matches!(self.executor.execution().end, End::Complete | End::Deadlock(_))
    }

    fn finding_of(&mut self, problem: &Problem<Failure>, number: usize) -> Option<Finding> {
        let message = match problem {
            Problem::Nondeterminism { step, difference } => format!(
                "the program did something else than before at step {step}, after the same steps: {difference}. {}",
                finding::NONDETERMINISM_ADVICE
            ),
            Problem::Unconfirmed { kind, message, instead } => {
                let kind = Kind::by_name(kind).map_or(*kind, Kind::title);
                format!(
                    "{} was found ({message}), but the same schedule then {instead}. {}",
                    with_article(kind),
                    finding::NONDETERMINISM_ADVICE
                )
            }
            _ => return None,
        };
        let prefix = ordain_explore::prefix_of(self.executor.execution());
        let observation = Observation { kind: Kind::Nondeterminism, message, place: String::new(), prefix };
        Some(self.describe(&observation, &Proof { number, preemptions: &[], shrunk: None }))
    }

    fn is_over(&self) -> bool {
        matches!(self.executor.execution().end, End::Interrupted)
    }

    fn set_limit(&mut self, limit: Limit) -> Limit {
        let before = std::mem::replace(&mut self.limit, limit);
        self.set_deadline();
        before
    }

    fn lessons(&self) -> &[Site] {
        self.executor.long_loops()
    }

    fn learn(&mut self, lessons: &[Site]) {
        for site in lessons {
            self.executor.know_long_loop(*site);
        }
    }

    fn take_over(&mut self, order: &Order) -> Result<(), Failure> {
        if self.executor.take_over(&order.births) {
            return Ok(());
        }
        self.executor = Self::executor(&self.check, &self.body).with_sight(self.executor.sight());
        self.set_deadline();
        let agrees = self.executor.take_over(&order.births);
        agrees.then_some(()).ok_or(Failure("its threads and objects have other names here than elsewhere"))
    }

    fn indivisible(&self) -> Option<&'static str> {
        self.executor.shares_values().then_some(SHARED)
    }

    fn recruit(&mut self, count: usize) -> Result<Vec<Recruit<Self>>, Failure> {
        let Body::Shared(program) = &self.body else { return Ok(Vec::new()) };
        let recruit = |_| {
            let (check, name, sight) = (self.check.clone(), self.name.clone(), self.executor.sight().clone());
            let body = program.clone();
            Box::new(move || {
                let body = Body::Shared(body);
                let executor = Self::executor(&check, &body).with_sight(&sight);
                Self { first: 0, ..Self::of(&check, name, body, executor) }
            }) as Recruit<Self>
        };
        Ok((0..count).map(recruit).collect())
    }

    fn must_be_alone(&mut self) -> Option<String> {
        let shared = matches!(self.body, Body::Shared(_)) && self.executor.shares_values();
        shared.then(|| format!("one worker explored, because {SHARED}"))
    }

    fn collides(&self) -> bool {
        self.executor.shares_values()
    }

    fn departures_are_hidden(&self) -> bool {
        // What a closure shares with nobody else is seen whole, or it must not be there.
        false
    }

    fn is_blind(&self, _summary: &Summary) -> bool {
        self.sight().is_blind()
    }

    fn is_unverifiable(&self) -> bool {
        self.executor.sight().blind_spot().is_some()
    }

    fn doubt(&self) -> Option<String> {
        self.executor.sight().blind_spot().map(str::to_owned)
    }

    fn has_held(&self) -> bool {
        self.executor.execution().idled
    }

    fn samples(&self) -> (u64, u64) {
        // Their classes are not compared, so they show less than those of programs.
        (32, 1000)
    }

    fn recognises(&self) -> bool {
        false
    }
}
