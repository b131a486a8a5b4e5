//! Standard output, buffered, with errors as values: a reader that goes away is no panic. Results go there; progress, problems, and text for
//! people beside what machines read go to standard error.

use crate::look;
use crate::problem::Problem;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Writes to standard output.
pub(crate) fn write(body: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>) -> Result<(), Problem> {
    let mut out = BufWriter::new(io::stdout().lock());
    body(&mut out).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Problem::OutputClosed,
        _ => Problem::Output { error },
    })
}

/// Writes an object for machines to standard output. A reader that has gone away changes nothing about the result, nor about the exit status.
pub(crate) fn write_json(object: &impl Serialize) -> Result<(), Problem> {
    let written = write(|out| {
        serde_json::to_writer_pretty(&mut *out, object)?;
        writeln!(out)
    });
    if matches!(written, Err(Problem::OutputClosed)) { Ok(()) } else { written }
}

/// Writes text for people to standard error. Where that cannot be written, nobody can be told.
pub(crate) fn tell(text: &str) {
    let _ = io::stderr().lock().write_all(look::in_locale(text).as_bytes());
}

/// Writes a result for people to standard output.
pub(crate) fn show(text: &str) -> Result<(), Problem> {
    write(|out| out.write_all(look::in_locale(text).as_bytes()))
}

/// Writes a result for people: to standard error if standard output is for machines.
pub(crate) fn show_beside(machines: bool, text: &str) -> Result<(), Problem> {
    if machines {
        tell(text);
        return Ok(());
    }
    show(text)
}

/// Makes text of a file safe to print: no control characters that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same for text of several lines.
pub(crate) fn printable_lines(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(safe).collect()
}
