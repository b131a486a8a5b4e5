//! Dividing a search: what is left of it, in fragments that one worker each owns.
//!
//! The [`Frontier`] is the tree of what is planned. Its leaves are sequences that must be executed; whoever has a leaf owns
//! everything behind it and explores that as a search of its own, with a [`Divisible`] strategy. What such a search finds to be done
//! before its leaf, in states that it shares with others, it reports; the frontier decides whether that is new. Nobody repeats
//! anything, for three reasons: the ways from a state are in order, and each sleeps on those before it, whoever explores them; new ones
//! come last; and a way is forgotten only when nothing can be added to it any more.
//!
//! The algorithms go back to Fytas, "Parallelizing Concuerror" (source and optimal search with an execution tree at a controller) and
//! Simsa et al., "Scalable dynamic partial order reduction" (fragments, budgets), with the order of sleeping and of forgetting put right.

mod connection;
mod controller;
mod tree;

pub use connection::{Connection, SharedController};
pub use controller::{Controller, Division, Done, Order, Pace, Signals, Task};
pub use tree::{Accepted, Assignment, Frontier, Rule};

use crate::plan::Target;
use crate::search::{Strategy, Summary, search};
use alloc::vec::Vec;
use core::ops::ControlFlow;
use ordain_model::{End, Footprint, Operation, Site, Transition};

/// What a twig of a fragment is to the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Part {
    /// A way that others explore, or have explored: it sleeps.
    Elsewhere,
    /// A way to what is given, through states that others share.
    Shared,
    /// A sequence that is given: everything behind it belongs to the worker.
    Root,
    /// Behind a root.
    Inner,
}

/// A transition in a tree of what is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Twig {
    /// Who moves.
    pub transition: Transition,
    /// What the thread announces there, if that is known.
    pub op: Option<Operation>,
    /// What it touches there.
    pub footprint: Footprint,
    /// What it is to the worker.
    pub part: Part,
    /// How many transitions come before it.
    pub depth: u32,
}

/// What a worker owns: trees of what is to be done from the beginning on, each twig before those behind it. Without twigs it is
/// the whole search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fragment {
    /// The twigs.
    pub twigs: Vec<Twig>,
}

/// Something to be done from a state that the worker shares with others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Found {
    /// The root, by its number in the fragment, on the way to which the state is.
    pub root: u32,
    /// How many transitions come before the state.
    pub depth: u32,
    /// The sequence to execute from there, or the transitions of which one must be taken.
    pub items: Vec<Item>,
}

/// A transition at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Item {
    /// Who moves.
    pub transition: Transition,
    /// What the thread announces.
    pub op: Operation,
    /// What it touches.
    pub footprint: Footprint,
    /// How many shares are left behind it, if it gives one up.
    pub left: Option<u64>,
}

/// What has become of a fragment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Explored {
    /// How many roots are explored, in their order.
    pub finished: u32,
    /// What is left behind the next root, if it was begun; depths count from there.
    pub rest: Option<Vec<Twig>>,
    /// What is to be done elsewhere.
    pub found: Vec<Found>,
    /// Whether a planned step touched other things than was thought.
    pub mistaken: bool,
    /// The long loops that the worker knew of, in order: see [`ordain_model::Arbiter::long_loops`].
    pub loops: Vec<Site>,
}

/// Explores a fragment until nothing is left of it or `observe` breaks off, which it must do when the search has begun again. Gives what has
/// become of it, and what was done. Which loops are long the caller must add. If the program departed from a plan the result means nothing.
pub fn explore_fragment<T: Target>(
    target: &mut T,
    strategy: &mut dyn Divisible,
    fragment: &Fragment,
    observe: &mut dyn FnMut(&mut T, &Summary) -> ControlFlow<()>,
) -> (Explored, Summary) {
    strategy.load(fragment);
    explore_loaded(target, strategy, observe)
}

/// The same, for a worker that tells at once what is to be done elsewhere.
pub fn explore_connected<T: Target>(
    target: &mut T,
    strategy: &mut dyn Divisible,
    fragment: &Fragment,
    connection: Connection,
    observe: &mut dyn FnMut(&mut T, &Summary) -> ControlFlow<()>,
) -> (Explored, Summary) {
    strategy.load(fragment);
    strategy.connect(connection);
    explore_loaded(target, strategy, observe)
}

fn explore_loaded<T: Target>(
    target: &mut T,
    strategy: &mut dyn Divisible,
    observe: &mut dyn FnMut(&mut T, &Summary) -> ControlFlow<()>,
) -> (Explored, Summary) {
    let mut restarted = false;
    let summary = search(target, strategy, &mut |target, summary| {
        restarted = summary.restarted;
        let broken = observe(target, summary);
        if restarted { ControlFlow::Break(()) } else { broken }
    });
    // What rests on a wrong assumption about a loop is not worth telling, and of a departure nothing was learned.
    let diverged = matches!(target.execution().end, End::Diverged(_));
    let explored = if restarted || diverged { Explored::default() } else { strategy.unload() };
    (explored, summary)
}

/// A strategy that can explore a fragment.
pub trait Divisible: Strategy {
    /// Forgets everything and begins with a fragment.
    fn load(&mut self, fragment: &Fragment);
    /// From now on tells at once what is to be done in states that others share, until another fragment is loaded or this one is given back.
    fn connect(&mut self, connection: Connection);
    /// Tells what has become of the fragment, and can go on with it. Which loops are long is not told.
    fn unload(&mut self) -> Explored;
    /// What was loaded is the rest of a search that has made so many executions: samples that come with it go on from there.
    fn go_on_after(&mut self, _executions: u64) {}
}
