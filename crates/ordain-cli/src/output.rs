//! Standard output, buffered, with errors as values: a reader that goes away is no panic.

use crate::problem::Problem;
use std::io::{self, BufWriter, StdoutLock, Write};

/// Writes to standard output.
pub(crate) fn write(body: impl FnOnce(&mut BufWriter<StdoutLock<'static>>) -> io::Result<()>) -> Result<(), Problem> {
    let mut out = BufWriter::new(io::stdout().lock());
    body(&mut out).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Problem::OutputClosed,
        _ => Problem::Output { error },
    })
}

/// Makes text of a file safe to print: no control characters that a terminal would obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
