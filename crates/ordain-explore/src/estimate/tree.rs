//! The estimators of the literature: they look at the shape of the explored tree only.
//!
//! A *strategy* guesses how many children of a node will be scheduled later: the oracle knows (offline), the lazy one says none, the
//! eager one all that are known. The *weighted backtrack estimator* weighs each branch by the chance of a random walk to take
//! it; the *recursive estimator* takes the mean of what is below the explored children for those that are not. A
//! [`Fit`] then says where the estimates are heading. Šimša, "Systematic and Scalable Testing of Concurrent Programs",
//! chapter 4; the recursive estimator with children that are scheduled but not visited, as in the thesis.

use super::fit::{Fit, Progression};
use super::numbers::{add_logs, ln};
use super::trace::{Event, TraceError};
use crate::hash::Map;
use alloc::vec::Vec;

/// What is expected to be scheduled later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// What will be: known only when a whole trace is at hand.
    Oracle,
    /// Nothing.
    Lazy,
    /// Every child that is known, as long as something is left below.
    Eager,
}

/// How what is known is extended to what is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The weighted backtrack estimator.
    Weighted,
    /// The recursive estimator.
    Recursive,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Executions.
    Executions,
    /// Time.
    Time,
}

/// An estimator of the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Technique {
    /// What is expected to be scheduled later.
    pub expectation: Expectation,
    /// How what is known is extended.
    pub method: Method,
    /// Where estimates are heading.
    pub fit: Fit,
}

impl Technique {
    /// All twenty-four, those that need an oracle first.
    pub fn all() -> impl Iterator<Item = Self> {
        let expectations = [Expectation::Oracle, Expectation::Lazy, Expectation::Eager];
        expectations.into_iter().flat_map(|expectation| {
            let methods = [Method::Weighted, Method::Recursive];
            methods.into_iter().flat_map(move |method| Fit::ALL.map(|fit| Self { expectation, method, fit }))
        })
    }

    /// The three parts of its name: `lazy`, `wbe`, `empty`.
    pub fn names(self) -> [&'static str; 3] {
        let expectation = match self.expectation {
            Expectation::Oracle => "oracle",
            Expectation::Lazy => "lazy",
            Expectation::Eager => "eager",
        };
        let method = match self.method {
            Method::Weighted => "wbe",
            Method::Recursive => "re",
        };
        [expectation, method, self.fit.name()]
    }
}

const EXPECTATIONS: usize = 3;
const MEASURES: usize = 2;

/// What is known of the branches below a node, as logarithms.
#[derive(Clone, Copy)]
struct Sums {
    /// The chance of a random walk to end in an explored branch.
    chance: [f64; EXPECTATIONS],
    /// What the explored branches took.
    took: [f64; MEASURES],
    /// What the recursive estimator says of all.
    recursive: [[f64; MEASURES]; EXPECTATIONS],
}

const NOTHING: f64 = f64::NEG_INFINITY;

impl Sums {
    const EMPTY: Self = Self {
        chance: [NOTHING; EXPECTATIONS],
        took: [NOTHING; MEASURES],
        recursive: [[NOTHING; MEASURES]; EXPECTATIONS],
    };

    fn add(&mut self, other: &Self) {
        for measure in 0..MEASURES {
            self.took[measure] = add_logs(self.took[measure], other.took[measure]);
        }
        for expectation in 0..EXPECTATIONS {
            self.chance[expectation] = add_logs(self.chance[expectation], other.chance[expectation]);
            for measure in 0..MEASURES {
                let sum = &mut self.recursive[expectation][measure];
                *sum = add_logs(*sum, other.recursive[expectation][measure]);
            }
        }
    }
}

struct Node {
    parent: Option<u64>,
    scheduled: bool,
    visited: bool,
    /// Children that are known, scheduled, explored.
    known: u32,
    planned: u32,
    explored: u32,
    /// Children that will be scheduled in the whole trace.
    destined: u32,
    /// Nodes below that are scheduled and not visited.
    open: u64,
    /// Explored children that are finished: their sums, no longer to change.
    finished: Sums,
    /// Explored children that are not.
    unfinished: Vec<u64>,
    sums: Sums,
}

impl Node {
    fn new(parent: Option<u64>, destined: u32) -> Self {
        Self {
            parent,
            scheduled: false,
            visited: false,
            known: 0,
            planned: 0,
            explored: 0,
            destined,
            open: 0,
            finished: Sums::EMPTY,
            unfinished: Vec::new(),
            sums: Sums::EMPTY,
        }
    }
}

/// The explored tree, and what is estimated from it after each execution.
pub struct Backtracks {
    nodes: Map<Node>,
    /// How many children of each node the whole trace schedules; empty if it is not known.
    destined: Map<u32>,
    /// The present execution.
    branch: Vec<u64>,
    executions: u64,
    elapsed: f64,
    /// One for each expectation, method and measure.
    progressions: [[[Progression; MEASURES]; 2]; EXPECTATIONS],
    /// Whether finished nodes are forgotten.
    forgets: bool,
}

impl Default for Backtracks {
    fn default() -> Self {
        Self {
            nodes: Map::default(),
            destined: Map::default(),
            branch: Vec::new(),
            executions: 0,
            elapsed: 0.0,
            progressions: Default::default(),
            forgets: false,
        }
    }
}

impl Backtracks {
    /// An empty tree of a search that is depth-first: what is finished is forgotten, so memory is in proportion to the depth.
    pub fn depth_first() -> Self {
        Self { forgets: true, ..Self::default() }
    }

    /// An empty tree that knows, from the whole trace, what will be scheduled.
    pub fn with_oracle<'a>(trace: impl Iterator<Item = &'a Event>) -> Self {
        let mut tree = Self::default();
        let mut parents: Map<u64> = Map::default();
        for event in trace {
            match *event {
                Event::AddNode { node, parent: Some(parent) } => {
                    parents.insert(node, parent);
                }
                Event::Explore { node } => {
                    if let Some(parent) = parents.remove(&node) {
                        *tree.destined.entry(parent).or_insert(0) += 1;
                    }
                }
                _ => {}
            }
        }
        tree
    }

    /// Executions so far.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// What they took.
    pub fn elapsed(&self) -> f64 {
        self.elapsed
    }

    /// Whether everything that was scheduled has been explored.
    pub fn is_complete(&self) -> bool {
        self.nodes.get(&0).is_some_and(|root| root.visited && root.open == 0)
    }

    /// Nodes that are remembered.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Takes an event.
    ///
    /// # Errors
    /// If the event does not fit those before.
    pub fn take(&mut self, event: &Event) -> Result<(), TraceError> {
        match *event {
            Event::AddNode { node, parent } => self.add_node(node, parent),
            Event::Explore { node } => self.schedule(node),
            Event::Transition { node } => self.visit(node),
            Event::Start => {
                if !self.nodes.contains_key(&0) {
                    return Err(TraceError::Unknown(0));
                }
                self.branch.clear();
                self.branch.push(0);
                self.mark_visited(0);
                Ok(())
            }
            Event::End { time } => self.finish(time),
        }
    }

    fn add_node(&mut self, node: u64, parent: Option<u64>) -> Result<(), TraceError> {
        if self.nodes.contains_key(&node) {
            return Err(TraceError::Twice(node));
        }
        if let Some(parent) = parent {
            self.nodes.get_mut(&parent).ok_or(TraceError::Unknown(parent))?.known += 1;
        } else if node != 0 {
            return Err(TraceError::Unknown(node));
        }
        let destined = self.destined.get(&node).copied().unwrap_or(0);
        self.nodes.insert(node, Node::new(parent, destined));
        Ok(())
    }

    fn schedule(&mut self, node: u64) -> Result<(), TraceError> {
        let entry = self.nodes.get_mut(&node).ok_or(TraceError::Unknown(node))?;
        if core::mem::replace(&mut entry.scheduled, true) {
            return Ok(());
        }
        let mut above = entry.parent;
        if let Some(parent) = above.and_then(|p| self.nodes.get_mut(&p)) {
            parent.planned += 1;
        }
        while let Some(entry) = above.and_then(|p| self.nodes.get_mut(&p)) {
            entry.open += 1;
            above = entry.parent;
        }
        Ok(())
    }

    fn mark_visited(&mut self, node: u64) {
        let Some(entry) = self.nodes.get_mut(&node) else { return };
        if core::mem::replace(&mut entry.visited, true) {
            return;
        }
        let mut above = entry.parent;
        if let Some(parent) = above.and_then(|p| self.nodes.get_mut(&p)) {
            parent.explored += 1;
            parent.unfinished.push(node);
        }
        while let Some(entry) = above.and_then(|p| self.nodes.get_mut(&p)) {
            entry.open -= 1;
            above = entry.parent;
        }
    }

    fn visit(&mut self, node: u64) -> Result<(), TraceError> {
        let current = *self.branch.last().ok_or(TraceError::NotStarted)?;
        let entry = self.nodes.get(&node).ok_or(TraceError::Unknown(node))?;
        if entry.parent != Some(current) {
            return Err(TraceError::NotAChild { node, of: current });
        }
        if !entry.scheduled {
            self.schedule(node)?;
        }
        self.mark_visited(node);
        self.branch.push(node);
        Ok(())
    }

    fn finish(&mut self, time: f64) -> Result<(), TraceError> {
        if self.branch.is_empty() {
            return Err(TraceError::NotStarted);
        }
        self.executions += 1;
        self.elapsed += time;
        let branch = core::mem::take(&mut self.branch);
        if let Some(leaf) = branch.last().and_then(|leaf| self.nodes.get_mut(leaf)) {
            let took = [0.0, ln(time)];
            leaf.sums = Sums { chance: [0.0; EXPECTATIONS], took, recursive: [took; EXPECTATIONS] };
        }
        for (depth, node) in branch.iter().enumerate().rev().skip(1) {
            self.refresh(*node, branch[depth + 1]);
        }
        if let Some(root) = self.nodes.get(&0) {
            for expectation in 0..EXPECTATIONS {
                for (measure, elapsed) in [self.executions as f64, self.elapsed].into_iter().enumerate() {
                    let progressions = &mut self.progressions[expectation];
                    progressions[0][measure].add(elapsed, root.sums.took[measure] - root.sums.chance[expectation]);
                    progressions[1][measure].add(elapsed, root.sums.recursive[expectation][measure]);
                }
            }
        }
        Ok(())
    }

    /// Brings the sums of a node up to date, of whose children only `child` has changed.
    fn refresh(&mut self, node: u64, child: u64) {
        let ended = self.nodes.get(&child).is_some_and(|c| c.open == 0);
        let Some(mut entry) = self.nodes.remove(&node) else { return };
        if ended && self.forgets {
            // Depth-first: nothing below it will be scheduled any more.
            if let Some(child) = self.nodes.remove(&child) {
                entry.finished.add(&child.sums);
            }
            entry.unfinished.retain(|c| *c != child);
        }
        let mut sums = entry.finished;
        for child in entry.unfinished.iter().filter_map(|c| self.nodes.get(c)) {
            sums.add(&child.sums);
        }
        let waiting = entry.planned - entry.explored;
        let expected = [
            entry.destined.saturating_sub(entry.planned),
            0,
            if entry.open > 0 { entry.known - entry.planned } else { 0 },
        ];
        for (expectation, expected) in expected.into_iter().enumerate() {
            let all = f64::from(entry.explored + waiting + expected);
            sums.chance[expectation] -= ln(all);
            for sum in &mut sums.recursive[expectation] {
                *sum += ln(all / f64::from(entry.explored));
            }
        }
        entry.sums = sums;
        self.nodes.insert(node, entry);
    }

    /// What is estimated now, as a logarithm; `None` before the first execution, or if the fit has no answer. The oracle is one only in a tree
    /// that was made [`with_oracle`](Self::with_oracle).
    pub fn estimate(&self, technique: Technique, measure: Measure) -> Option<f64> {
        let expectation = match technique.expectation {
            Expectation::Oracle => 0,
            Expectation::Lazy => 1,
            Expectation::Eager => 2,
        };
        let method = usize::from(technique.method == Method::Recursive);
        let measure = usize::from(measure == Measure::Time);
        self.progressions[expectation][method][measure].solve(technique.fit)
    }
}
