//! What a front end brings: a program that runs under control, and words for what it shows.

use crate::limit::Limit;
use crate::turn::{Allowance, Job, Part, Turn};
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Order;
use ordain_explore::{Planned, Summary, Target};
use ordain_model::describe::Words;
use ordain_model::{Names, Site};
use ordain_report::terminal::with_article;
use ordain_report::{Kind, Shrunk, Story};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;

/// What an execution showed, before it is confirmed.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What went wrong.
    pub kind: Kind,
    /// What is known of it, in a sentence.
    pub message: String,
    /// Where it happened, to tell observations of one kind apart.
    pub place: String,
    /// The steps that lead there.
    pub prefix: Vec<Planned>,
}

impl Observation {
    /// Whether another execution showed the same thing at the same place.
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.place == other.place
    }
}

/// How an observation was shown again.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The number of the finding in its check; zero when a schedule is replayed and nothing is written.
    pub number: usize,
    /// Steps of the execution that were preemptions.
    pub preemptions: &'a [usize],
    /// How its schedule was made smaller.
    pub shrunk: Option<Shrunk>,
}

/// What came of looking at some executions more closely.
pub enum Watched {
    /// Nothing speaks against the verdict.
    Held,
    /// It was over before everything was looked at.
    Unfinished,
    /// Something that the search did not meet.
    Observed(Observation),
}

/// Makes another explorer of the same program, on the thread on which it will work.
pub type Recruit<E> = Box<dyn FnOnce() -> E + Send>;

/// A program that can be explored. What has a default need not be known to a front end that runs plans and nothing else.
pub trait Explorer: Target + Sized + 'static {
    /// What is shown of a finding.
    type Finding: Clone + Serialize + DeserializeOwned;
    /// Why the program cannot be run.
    type Failure: Error + Clone + Send + 'static;

    /// The names of threads and objects, to be added to.
    fn names_mut(&mut self) -> &mut Names;
    /// What the last execution shows, if it misbehaves.
    fn observe(&mut self) -> Option<Observation>;
    /// Describes what the last execution shows, and writes its schedule.
    fn describe(&mut self, observation: &Observation, proof: &Proof<'_>) -> Self::Finding;
    /// Everything that is known of a finding, as data.
    fn story(finding: &Self::Finding) -> &Story;
    /// Calls `tell` with words for the last execution.
    fn with_words<R>(&self, tell: impl FnOnce(&dyn Words) -> R) -> R;

    /// What the last execution shows when something of this kind is to be shown again.
    fn observe_again(&mut self, _kind: Kind) -> Option<Observation> {
        self.observe()
    }
    /// Whether what an execution shows under the schedule of an observation is the same.
    fn is_shown_again(&self, found: &Observation, again: &Observation) -> bool {
        found.kind == again.kind
    }
    /// How long it takes at least until something of this kind shows.
    fn time_to_show(&self, _kind: Kind) -> std::time::Duration {
        std::time::Duration::ZERO
    }
    /// How the last execution ended, as far as two runs under one schedule must agree in it: as the end of a sentence that begins with the
    /// program.
    fn ended(&mut self) -> String {
        match self.observe() {
            None => "ended well".into(),
            Some(observation) => format!("showed {}", with_article(observation.kind.title())),
        }
    }
    /// The last execution is the first one, with which others are compared.
    fn note_usual(&mut self) {}
    /// Whether the schedule of the last execution is worth being followed again, to see whether the program does the same.
    fn is_repeatable(&self) -> bool {
        true
    }
    /// How a problem of the search shows as a finding, where users of the front end look for one. The last execution is the one that showed it.
    fn finding_of(&mut self, _problem: &crate::Problem<Self::Failure>, _number: usize) -> Option<Self::Finding> {
        None
    }

    /// Why the last run came to nothing, if it did.
    fn failure(&self) -> Option<Self::Failure> {
        None
    }
    /// Whether the limit was reached before the last execution ended.
    fn is_over(&self) -> bool {
        false
    }
    /// Sets the limit of what is run; gives the one before.
    fn set_limit(&mut self, _limit: Limit) -> Limit {
        Limit::default()
    }

    /// What executions have taught, in order.
    fn lessons(&self) -> &[Site];
    /// Learns what executions have taught elsewhere.
    fn learn(&mut self, lessons: &[Site]);
    /// Takes over the names that a task rests on, and what it knows. An error if they mean something else here, whatever is done.
    fn take_over(&mut self, order: &Order) -> Result<(), Self::Failure>;

    /// Whether an execution that was broken off may leave something, such as a file, that the next one finds and removes.
    fn leaves_things(&self) -> bool {
        false
    }
    /// Gives up what only goes on with the present search, such as a process.
    fn release(&mut self) {}
    /// Calls `show` with one in which nothing is left of earlier executions; it knows what they have taught, if it is `taught`.
    fn in_fresh<R>(&mut self, _taught: bool, show: impl FnOnce(&mut Self) -> R) -> Result<R, Self::Failure> {
        Ok(show(self))
    }
    /// Calls `try_out` with one that many candidates can be run in, fast.
    fn in_copy<R>(&mut self, try_out: impl FnOnce(&mut Self) -> R) -> Result<R, Self::Failure> {
        Ok(try_out(self))
    }

    /// Why a search can neither be divided nor have checkpoints, if so.
    fn indivisible(&self) -> Option<&'static str> {
        None
    }
    /// Whether it explores by itself, or is led from plan to plan.
    fn explores(&self) -> bool {
        false
    }
    /// Explores by itself for a turn. `None` if what was explored is lost, and must be explored again.
    fn explore(&mut self, _job: &Job, _part: Part<'_>, _allowance: &Allowance) -> Result<Option<Turn>, Self::Failure> {
        Ok(None)
    }
    /// Forgets what it has explored by itself; it begins anew when it explores again.
    fn restart(&mut self) {}
    /// Searches that it makes by itself begin with this from now on, not with nothing.
    fn begin_with(&mut self, _rest: Option<Order>) {}
    /// Tells whoever is about to compare samples by himself with which classes.
    fn write_classes(&mut self, _classes: &Classes) -> Result<(), Self::Failure> {
        Ok(())
    }

    /// Others of the same program, each for a worker. With fewer than two the check has one worker.
    fn recruit(&mut self, _count: usize) -> Result<Vec<Recruit<Self>>, Self::Failure> {
        Ok(Vec::new())
    }
    /// Why there may be one worker only, if several would be in each other's way.
    fn must_be_alone(&mut self) -> Option<String> {
        None
    }
    /// Whether it has turned out that executions at the same time are in each other's way.
    fn collides(&self) -> bool {
        false
    }
    /// Another one like it, after what ran beside it was ended.
    fn anew(&mut self) -> Result<(), Self::Failure> {
        Ok(())
    }
    /// Runs the program from now on in a way in which less is left of one execution when the next begins; tells from which to which. `None` if there
    /// is none.
    fn lower(&mut self, _reason: &str) -> Result<Option<[&'static str; 2]>, Self::Failure> {
        Ok(None)
    }
    /// What whoever leads must learn from one that explores: how executions are started, and if it shows something, what came from outside.
    fn tell_condition(&self, _shows: bool) -> Vec<u8> {
        Vec::new()
    }
    /// Learns what another one has told.
    fn take_condition(&mut self, _condition: &[u8]) {}
    /// How many processes were lost, and how the last one was.
    fn losses(&self) -> (u64, Option<String>) {
        (0, None)
    }
    /// Counts a process that another one lost.
    fn note_loss(&mut self, _how: String) {}

    /// Why the search must not go on by what is visible, if that has turned out.
    fn waits_for_memory(&self) -> Option<String> {
        None
    }
    /// Whether a plan that cannot be followed means that the program synchronises by what is not visible; if not, it is not deterministic.
    fn departures_are_hidden(&self) -> bool {
        true
    }
    /// Whether a thread that spins was held in the last execution.
    fn has_held(&self) -> bool {
        self.execution().spin_held
    }
    /// Whether too little was visible for a verdict.
    fn is_blind(&self, _summary: &Summary) -> bool {
        false
    }
    /// Whether something that is not followed forbids that anything is verified.
    fn is_unverifiable(&self) -> bool {
        false
    }
    /// Whether samples may show something that the search did not.
    fn is_worth_a_cross_check(&self) -> bool {
        !self.is_unverifiable()
    }
    /// Why fragments of the search must not be explored on other machines, if that has turned out.
    fn must_stay(&self) -> Option<String> {
        None
    }
    /// Why nothing can be verified, however much is explored, if what was run so far shows that.
    fn doubt(&self) -> Option<String> {
        None
    }
    /// How many samples a verdict is cross-checked with, at least and at most; between them time decides.
    fn samples(&self) -> (u64, u64) {
        (1000, u64::MAX)
    }
    /// Whether executions of the search are to be recognised by their class, so that samples can be compared with them.
    fn recognises(&self) -> bool {
        true
    }
    /// Looks at a few executions more closely before a verdict is told. `go_on` tells whether there is still time.
    fn watch(&mut self, _seed: u64, _go_on: &mut dyn FnMut() -> bool) -> Result<Watched, Self::Failure> {
        Ok(Watched::Held)
    }
}
