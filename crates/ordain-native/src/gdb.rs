//! What gdb needs to know of a program that is held at a step: where control words are, and how threads are called.
//!
//! The script for gdb reads and writes those words as the launcher would, so that the schedule can be followed from there.

use crate::session::Session;
use crate::target::Ended;
use ordain_explore::Target as _;
use ordain_model::ThreadId;
use ordain_wire::{Control, Status, ThreadRecord};
use serde::Serialize;
use std::collections::BTreeMap;
use std::mem::offset_of;

/// The script that shows threads in gdb.
pub const SCRIPT: &str = include_str!("gdb/ordain.py");

/// A program that is held at a step, as the script for gdb knows it.
#[derive(Debug, Serialize)]
pub struct Held {
    /// The process.
    pub process: u32,
    /// Steps that were made.
    pub made: usize,
    /// Whether the execution is over.
    pub over: bool,
    /// Names of threads by their numbers.
    pub threads: BTreeMap<u32, String>,
    /// The thread whose place is the instruction itself, not one that a call returns to.
    pub exact: Option<u32>,
    /// Where things are in the memory that the process shares with the launcher.
    pub control: BTreeMap<&'static str, usize>,
}

impl Session<'_> {
    /// What gdb needs to know; nothing if there is no process any more.
    pub fn held(&self) -> Option<Held> {
        let native = self.native();
        let process = native.process_id()?;
        let names = native.names();
        let count = names.thread_count() as u32;
        let aftermath = native.aftermath();
        let exact = matches!(aftermath.ended, Ended::Signal { .. } | Ended::Hang(_) | Ended::Abort);
        Some(Held {
            process,
            made: self.made(),
            over: self.is_over(),
            threads: (0..count).map(|number| (number, names.thread_name(ThreadId(number)))).collect(),
            exact: (exact && self.is_over()).then_some(aftermath.culprit.0),
            control: places(),
        })
    }

    /// The decisions that were made so far: thread and choice.
    pub fn decisions(&self) -> Vec<(u32, u32)> {
        self.native().execution().steps.iter().map(|step| (step.thread.0, step.choice)).collect()
    }
}

fn places() -> BTreeMap<&'static str, usize> {
    BTreeMap::from([
        ("turn", offset_of!(Control, turn)),
        ("status", offset_of!(Control, status)),
        ("carrier", offset_of!(Control, carrier)),
        ("answer_thread", offset_of!(Control, answer_thread)),
        ("answer_choice", offset_of!(Control, answer_choice)),
        ("passing", offset_of!(Control, passing)),
        ("running", offset_of!(Control, running)),
        ("thread_count", offset_of!(Control, thread_count)),
        ("records", offset_of!(Control, threads)),
        ("record_size", size_of::<ThreadRecord>()),
        ("record_thread", offset_of!(ThreadRecord, thread)),
        ("record_registers", offset_of!(ThreadRecord, registers)),
        ("record_fs", offset_of!(ThreadRecord, fs)),
        ("ask", Status::Ask as usize),
    ])
}
