//! What is no file and stays where it is when it is written to: terminals, pipes, devices, open descriptors.
//!
//! Nobody is waited for without a limit: a FIFO that nobody reads is an error, and so is a reader that does not read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reader may take nothing.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked whether there is room again.
const PAUSE: Duration = Duration::from_millis(5);

/// Whether a path is that of an open descriptor: what it leads to may be a file, but one that somebody has opened and goes on with.
pub(super) fn is_descriptor(path: &Path) -> bool {
    descriptor(path).is_some()
}

/// The number of the descriptor that a path is of.
fn descriptor(path: &Path) -> Option<u32> {
    let number = path.file_name()?.to_str()?.parse().ok()?;
    let above = fs::canonicalize(path.parent()?).ok()?;
    let own = Path::new("/proc").join(std::process::id().to_string());
    let is_own = above.starts_with(own) && above.file_name().is_some_and(|name| name == "fd");
    is_own.then_some(number)
}

/// Writes to what is there.
pub(super) fn write(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut patient = Patient(open(path)?);
    patient.write_all(contents)?;
    patient.flush()
}

/// Opens what is there, to be written to.
#[cfg(unix)]
pub(super) fn open(path: &Path) -> io::Result<File> {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
    // With its own place in the file, which all who have it share.
    match descriptor(path) {
        Some(1) => return io::stdout().as_fd().try_clone_to_owned().map(File::from),
        Some(2) => return io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => {}
    }
    let kind = fs::metadata(path)?.file_type();
    let refuse = |what: &str| Err(io::Error::new(ErrorKind::InvalidInput, what));
    if kind.is_socket() {
        return refuse("it is a socket, and cannot be written to by its name");
    }
    if kind.is_block_device() {
        return refuse("it is a disk, and nothing is written over it");
    }
    let opened = OpenOptions::new().append(true).custom_flags(NONBLOCK | NOCTTY).open(path);
    opened.map_err(|error| match kind.is_fifo() && error.raw_os_error() == Some(NOBODY) {
        true => io::Error::new(ErrorKind::NotConnected, "it is a FIFO that nobody reads"),
        false => error,
    })
}

/// The flags of Linux for opening without waiting, and without being given a terminal; and the error if nobody is at the other end.
#[cfg(unix)]
const NONBLOCK: i32 = 0o4000;
#[cfg(unix)]
const NOCTTY: i32 = 0o400;
#[cfg(unix)]
const NOBODY: i32 = 6;

/// Opens what is there, to be written to.
#[cfg(not(unix))]
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).open(path)
}

/// Writes to what does not wait by itself, and waits for it, but not for ever.
pub(super) struct Patient<W>(pub(super) W);

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let begin = Instant::now();
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && begin.elapsed() < PATIENCE => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "its reader has taken nothing for too long"));
                }
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
