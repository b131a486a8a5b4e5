//! The exploration trace of a search, as a file that is written while it runs.

use ordain_explore::estimate::Path;
use ordain_explore::estimate::trace::{Event, Recorder};
use ordain_explore::{Coverage, Plan, Stop, Strategy};
use ordain_model::{Execution, Transition};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Seek as _, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a reader of the trace, if it is a pipe, may take nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file that the trace of a search is written to while it runs.
pub(crate) struct TraceFile(Rc<RefCell<Writer>>);

/// A file whose reader, if it has one, is waited for, but not for ever.
struct Patient(File);

impl Write for Patient {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let begin = Instant::now();
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && begin.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct Writer {
    file: BufWriter<Patient>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl Writer {
    fn attempt(&mut self, write: impl FnOnce(&mut BufWriter<Patient>) -> io::Result<()>) {
        if self.error.is_none() {
            self.error = write(&mut self.file).err();
        }
    }
}

impl TraceFile {
    /// To a file that is open, and empty.
    pub(crate) fn to(file: File) -> Self {
        Self(Rc::new(RefCell::new(Writer { file: BufWriter::new(Patient(file)), error: None })))
    }

    /// The same strategy, whose search is written to the file.
    pub(crate) fn trace(&self, strategy: Box<dyn Strategy>) -> Box<dyn Strategy> {
        let writer = self.0.clone();
        Box::new(Traced { strategy, recorder: Recorder::default(), writer, last: Instant::now() })
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If this, or something before, could not be written.
    pub(crate) fn finish(self) -> io::Result<()> {
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
        let time = std::mem::replace(&mut self.last, Instant::now()).elapsed().as_secs_f64();
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

    fn stop_when(&mut self, stop: Stop) {
        self.strategy.stop_when(stop);
    }

    fn restart(&mut self) {
        self.strategy.restart();
        self.recorder.restart();
        self.writer.borrow_mut().attempt(|file| {
            file.flush()?;
            file.get_mut().0.rewind()?;
            file.get_mut().0.set_len(0)
        });
    }
}
