//! A worker: explores parts of a search with an explorer, which does that by itself or is led.

use crate::explorer::Explorer;
use crate::led::{Led, Peers};
use crate::limit::Limit;
use crate::trace_file::TraceFile;
use crate::turn::{Allowance, Job, Part, Recognition, Turn};
use ordain_explore::Coverage;
use ordain_explore::classes::Classes;
use ordain_explore::frontier::Order;
use std::io;

/// Explores parts of a search.
pub struct Worker<E: Explorer> {
    /// What runs the program.
    pub explorer: E,
    led: Led,
    /// It is led although it could explore by itself.
    must_be_led: bool,
}

impl<E: Explorer> Worker<E> {
    /// A worker with an explorer.
    pub fn new(explorer: E) -> Self {
        Self { explorer, led: Led::default(), must_be_led: false }
    }

    /// Writes the search down, which is led from now on.
    pub(crate) fn trace(&mut self, trace: TraceFile) {
        self.led.trace = Some(trace);
        self.must_be_led = true;
    }

    /// Ends writing the search down.
    pub(crate) fn end_trace(&mut self) -> io::Result<()> {
        self.restart();
        self.led.trace.take().map_or(Ok(()), TraceFile::finish)
    }

    /// Leads from now on: the program destroys processes that explore by themselves.
    pub(crate) fn lead(&mut self) {
        self.must_be_led = true;
    }

    /// Whether the explorer is led from plan to plan.
    pub(crate) fn leads(&self) -> bool {
        self.must_be_led || !self.explorer.explores()
    }

    /// Explores a part of the search for a turn; what the last execution shows is with the turn, if it is worth telling. `None` if what was
    /// explored is lost.
    pub(crate) fn explore(
        &mut self,
        job: &Job,
        part: Part<'_>,
        allowance: &Allowance,
        peers: Option<Peers<'_>>,
        limit: &Limit,
    ) -> Result<Option<Turn>, E::Failure> {
        if !self.leads() {
            return self.explorer.explore(job, part, allowance);
        }
        match part {
            Part::Whole => self.led.explore_whole(&mut self.explorer, job, allowance, limit).map(Some),
            Part::Fragment(order) => {
                self.led.explore_fragment(&mut self.explorer, job, order, allowance, peers, limit).map(Some)
            }
        }
    }

    /// Forgets what was explored as a whole.
    pub fn restart(&mut self) {
        self.led.restart();
        self.explorer.restart();
    }

    /// Forgets everything: what was explored does not count.
    pub(crate) fn begin_anew(&mut self) {
        let trace = self.led.trace.take();
        self.led = Led::default();
        self.led.trace = trace;
        self.explorer.restart();
    }

    /// Begins the search as a whole with this from now on, not with nothing.
    pub(crate) fn begin_with(&mut self, rest: Option<Order>) {
        match self.leads() {
            true => self.led.begin_with(rest),
            false => self.explorer.begin_with(rest),
        }
    }

    /// If what explores is lost, it goes on from there; what is led is not lost, and goes on from where it is unless it has not begun.
    pub(crate) fn resume_from(&mut self, rest: Option<Order>) {
        match self.leads() {
            true => self.led.begin_with_unless_begun(rest),
            false => self.explorer.begin_with(rest),
        }
    }

    /// Prepares for samples that are compared with these classes.
    pub(crate) fn compare_with(&mut self, classes: &Classes) -> Result<(), E::Failure> {
        self.restart();
        if self.explorer.recognises() {
            self.led.know_classes(classes);
        }
        if self.leads() { Ok(()) } else { self.explorer.write_classes(classes) }
    }

    /// The classes are told again: what runs by itself has lost them.
    pub(crate) fn write_classes(&mut self, classes: &Classes) -> Result<(), E::Failure> {
        if self.leads() { Ok(()) } else { self.explorer.write_classes(classes) }
    }

    /// Whether nothing is left, although the budget ended the search.
    pub(crate) fn is_exhausted(&mut self) -> Option<Coverage> {
        if self.leads() { self.led.is_exhausted() } else { None }
    }

    /// What is done with the classes of executions of a search.
    pub(crate) fn recognition(&self, notes: bool) -> Recognition {
        if notes && self.explorer.recognises() { Recognition::Noted } else { Recognition::No }
    }
}
