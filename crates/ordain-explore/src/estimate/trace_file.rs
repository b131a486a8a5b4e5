//! Exploration traces as files.

use super::Path;
use super::trace::{Event, Recorder};
use crate::plan::Plan;
use crate::search::{Coverage, Strategy};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use ordain_model::{Execution, Transition};
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write as _};
use std::time::Instant;

/// A file that the trace of a search is written to while it runs.
pub struct TraceFile(Rc<RefCell<Writer>>);

struct Writer {
    file: BufWriter<File>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl Writer {
    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.file).err();
        }
    }
}

impl TraceFile {
    /// Makes the file, or empties it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: &std::path::Path) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self(Rc::new(RefCell::new(Writer { file, error: None }))))
    }

    /// The same strategy, whose search is written to the file.
    pub fn trace(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        let writer = self.0.clone();
        Box::new(Traced { strategy, recorder: Recorder::default(), writer, last: Instant::now() })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If this, or something before, could not be written.
    pub fn finish(self) -> io::Result<()> {
        let mut writer = self.0.borrow_mut();
        writer.attempt(|file| file.flush());
        writer.error.take().map_or(Ok(()), Err)
    }
}

/// A strategy whose search is written down.
struct Traced {
    strategy: Box<dyn Strategy>,
    recorder: Recorder,
    writer: Rc<RefCell<Writer>>,
    last: Instant,
}

impl Strategy for Traced {
    fn plan(&mut self) -> Option<Plan<'_>> {
        self.strategy.plan()
    }

    fn learn(&mut self, execution: &Execution) {
        self.strategy.learn(execution);
        let time = core::mem::replace(&mut self.last, Instant::now()).elapsed().as_secs_f64();
        let mut writer = self.writer.borrow_mut();
        self.recorder.record(execution, &*self.strategy, time, &mut |event: Event| {
            writer.attempt(|file| writeln!(file, "{event}"));
        });
    }

    fn coverage(&self) -> Coverage {
        self.strategy.coverage()
    }

    fn path(&self) -> Option<Path<'_>> {
        self.strategy.path()
    }

    fn scheduled(&self, depth: usize, out: &mut Vec<Transition>) {
        self.strategy.scheduled(depth, out);
    }

    fn restart(&mut self) {
        self.strategy.restart();
        self.recorder.restart();
        self.writer.borrow_mut().attempt(|file| {
            file.rewind()?;
            file.get_mut().set_len(0)
        });
    }
}
