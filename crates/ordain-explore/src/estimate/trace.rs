//! Exploration traces: how a search went, one event a line, for reading elsewhere.
//!
//! | line | meaning |
//! |---|---|
//! | `AddNode x y` | node `x`, a child of `y`, is known; the root is 0 and its parent `-1` |
//! | `Explore x` | node `x` is scheduled for exploration |
//! | `Transition x` | the present execution goes on to node `x` |
//! | `Start` | an execution begins at node 0 |
//! | `End t` | it ended; it took `t` seconds |
//!
//! A node is a state, reached in one way; its children are the transitions that were enabled there. This is the format of the traces that
//! Šimša's thesis and report evaluate, so their tools and ours read each other's.

use crate::search::Strategy;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;
use ordain_model::{Execution, Imagined, Transition};

/// One line of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A node is known.
    AddNode {
        /// The node.
        node: u64,
        /// Its parent; none for the root.
        parent: Option<u64>,
    },
    /// A node is scheduled for exploration.
    Explore {
        /// The node.
        node: u64,
    },
    /// The present execution goes on to a node.
    Transition {
        /// The node.
        node: u64,
    },
    /// An execution begins at the root.
    Start,
    /// An execution ended.
    End {
        /// What it took.
        time: f64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::AddNode { node, parent: Some(parent) } => write!(f, "AddNode {node} {parent}"),
            Self::AddNode { node, parent: None } => write!(f, "AddNode {node} -1"),
            Self::Explore { node } => write!(f, "Explore {node}"),
            Self::Transition { node } => write!(f, "Transition {node}"),
            Self::Start => f.write_str("Start"),
            Self::End { time } => write!(f, "End {time}"),
        }
    }
}

/// What is wrong with a line, or with where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// It is not an event.
    NotAnEvent,
    /// A node that no line before has added.
    Unknown(u64),
    /// A node that was added before.
    Twice(u64),
    /// A step or an end without `Start`.
    NotStarted,
    /// A step to a node that is not a child of where the execution is.
    NotAChild {
        /// The node.
        node: u64,
        /// Where the execution is.
        of: u64,
    },
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnEvent => {
                f.write_str("not an event: AddNode NODE PARENT, Explore NODE, Transition NODE, Start, or End SECONDS")
            }
            Self::Unknown(node) => write!(f, "node {node} has not been added"),
            Self::Twice(node) => write!(f, "node {node} was added before"),
            Self::NotStarted => f.write_str("no execution has begun: Start must come first"),
            Self::NotAChild { node, of } => {
                write!(f, "node {node} is not a child of node {of}, where the execution is")
            }
        }
    }
}

impl core::error::Error for TraceError {}

impl FromStr for Event {
    type Err = TraceError;

    fn from_str(line: &str) -> Result<Self, TraceError> {
        let mut words = line.split_ascii_whitespace();
        let number = |word: Option<&str>| word.and_then(|w| w.parse().ok()).ok_or(TraceError::NotAnEvent);
        let event = match words.next() {
            Some("AddNode") => {
                let node = number(words.next())?;
                let parent = match words.next() {
                    Some("-" | "-1") => None,
                    word => Some(number(word)?),
                };
                Self::AddNode { node, parent }
            }
            Some("Explore") => Self::Explore { node: number(words.next())? },
            Some("Transition") => Self::Transition { node: number(words.next())? },
            Some("Start") => Self::Start,
            Some("End") => {
                let time = words.next().and_then(|w| w.parse::<f64>().ok());
                Self::End { time: time.filter(|t| t.is_finite() && *t >= 0.0).ok_or(TraceError::NotAnEvent)? }
            }
            _ => return Err(TraceError::NotAnEvent),
        };
        if words.next().is_some() { Err(TraceError::NotAnEvent) } else { Ok(event) }
    }
}

/// A child of a state on the path.
struct Child {
    transition: Transition,
    node: u64,
    scheduled: bool,
}

/// A state on the path.
#[derive(Default)]
struct State {
    children: Vec<Child>,
}

/// Turns what a search does into events.
#[derive(Default)]
pub struct Recorder {
    path: Vec<State>,
    nodes: u64,
    /// How many steps the next execution shares with the last.
    kept: usize,
    samples: u64,
    imagined: Imagined,
    scheduled: Vec<Transition>,
    after: Vec<u64>,
}

impl Recorder {
    /// Records an execution that the strategy has learned from and that took `time`. Executions that only sampled are passed over.
    pub fn record(&mut self, execution: &Execution, strategy: &dyn Strategy, time: f64, emit: &mut dyn FnMut(Event)) {
        let place =
            strategy.path().map(|path| (path.kept, path.samples, path.prefix.get(path.kept).map(|p| p.transition)));
        if let Some((_, samples, _)) = place
            && samples > core::mem::replace(&mut self.samples, samples)
        {
            return;
        }
        if self.nodes == 0 {
            emit(Event::AddNode { node: 0, parent: None });
            emit(Event::Explore { node: 0 });
            self.nodes = 1;
            self.path.clear();
            self.kept = 0;
        }
        emit(Event::Start);
        let enabled = self.enabled(execution);
        // The state at `kept` is known from before.
        self.path.truncate(self.kept + 1);
        let mut at = 0;
        for (depth, enabled) in enabled.iter().enumerate().take(execution.steps.len()) {
            if self.path.len() <= depth {
                let mut state = State::default();
                for transition in enabled {
                    state.child(*transition, at, &mut self.nodes, emit);
                }
                self.path.push(state);
            }
            let taken = execution.steps[depth].transition();
            let child = self.path[depth].child(taken, at, &mut self.nodes, emit);
            at = child.schedule(emit);
            emit(Event::Transition { node: at });
        }
        if let Some((kept, _, next)) = place {
            let mut scheduled = core::mem::take(&mut self.scheduled);
            let mut at = 0;
            for depth in 0..=kept.min(self.path.len().saturating_sub(1)) {
                scheduled.clear();
                strategy.scheduled(depth, &mut scheduled);
                scheduled.extend(next.filter(|_| depth == kept));
                for transition in &scheduled {
                    self.path[depth].child(*transition, at, &mut self.nodes, emit).schedule(emit);
                }
                if let Some(step) = execution.steps.get(depth) {
                    at = self.path[depth].child(step.transition(), at, &mut self.nodes, emit).node;
                }
            }
            self.scheduled = scheduled;
            self.kept = kept;
        }
        emit(Event::End { time });
    }

    /// The search begins again: what was recorded is void.
    pub fn restart(&mut self) {
        *self = Self::default();
    }

    /// What was enabled in each state of an execution.
    fn enabled(&mut self, execution: &Execution) -> Vec<Vec<Transition>> {
        self.imagined.meet(execution);
        self.imagined.begin();
        execution.words_after(&mut self.after);
        let mut enabled = Vec::with_capacity(execution.steps.len());
        let threads = execution.spawned_by.len();
        // The steps of each thread, latest first, so that the next one is at the end.
        let mut coming: Vec<Vec<ordain_model::Operation>> = alloc::vec![Vec::new(); threads];
        for pending in &execution.pending {
            coming[pending.thread.index()].push(pending.op);
        }
        for step in execution.steps.iter().rev() {
            coming[step.thread.index()].push(step.op);
        }
        for (depth, step) in execution.steps.iter().enumerate() {
            let mut here = Vec::new();
            for (thread, coming) in coming.iter().enumerate() {
                let spawned = execution.spawned_by[thread];
                let lives = thread == 0 || spawned != u32::MAX && (spawned as usize) < depth;
                let id = ordain_model::ThreadId(thread as u32);
                if let Some(op) = coming.last().filter(|_| lives) {
                    here.extend((0..self.imagined.choices(op, id)).map(|choice| Transition { thread: id, choice }));
                }
            }
            enabled.push(here);
            coming[step.thread.index()].pop();
            if self.imagined.apply(&step.op, step.thread, step.choice).is_none() {
                break;
            }
            for place in execution.access_range(depth) {
                let access = execution.accesses[place];
                if access != ordain_model::Access::EVERYTHING && step.op.is_valued_outside() {
                    self.imagined.set_word(access.object(), self.after[place]);
                }
            }
        }
        enabled.resize(execution.steps.len(), Vec::new());
        enabled
    }
}

impl State {
    /// The child of a transition, which is added if it is new.
    fn child(
        &mut self,
        transition: Transition,
        parent: u64,
        nodes: &mut u64,
        emit: &mut dyn FnMut(Event),
    ) -> &mut Child {
        let place = self.children.iter().position(|c| c.transition == transition).unwrap_or_else(|| {
            let node = *nodes;
            *nodes += 1;
            emit(Event::AddNode { node, parent: Some(parent) });
            self.children.push(Child { transition, node, scheduled: false });
            self.children.len() - 1
        });
        &mut self.children[place]
    }
}

impl Child {
    /// Schedules it, unless it is; gives its node.
    fn schedule(&mut self, emit: &mut dyn FnMut(Event)) -> u64 {
        if !core::mem::replace(&mut self.scheduled, true) {
            emit(Event::Explore { node: self.node });
        }
        self.node
    }
}
