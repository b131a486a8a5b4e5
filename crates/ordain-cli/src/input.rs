//! What a program is to read from its standard input: a file, or what a FIFO, a pipe or a terminal gives, which is not waited for without end.

use crate::output;
use crate::problem::Problem;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Longer inputs are refused.
const MOST_INPUT: u64 = 1 << 30;
/// How long nothing may come, unless the whole check has less time.
const PATIENCE: Duration = Duration::from_secs(60);
/// After how long it is told that something is waited for.
const NEWS: Duration = Duration::from_secs(1);
/// How often is looked whether something has come.
const PAUSE: Duration = Duration::from_millis(10);
/// The flag of Linux for opening and reading without waiting.
const NONBLOCK: i32 = 0o4000;

/// Reads what the program is to read. Where nothing comes, it is waited for as long as the check may take.
pub(crate) fn read_input(path: &Path, limit: Option<Duration>) -> Result<Vec<u8>, Problem> {
    let patience = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
    let unreadable = |error| Problem::Input { path: path.to_owned(), error };
    let mut file = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(path).map_err(unreadable)?;
    // A FIFO that nobody has opened to write ends at once, as one that somebody has written to its end.
    let mut begun = !file.metadata().map_err(unreadable)?.file_type().is_fifo() || is_pipe(path);
    let mut input = Vec::new();
    let mut room = vec![0; 1 << 16];
    let mut last = Instant::now();
    loop {
        let reason = match file.read(&mut room) {
            Ok(0) if begun => return Ok(input),
            Ok(0) => "nobody has opened it to write",
            Ok(count) => {
                (begun, last) = (true, Instant::now());
                input.extend_from_slice(&room[..count]);
                if input.len() as u64 > MOST_INPUT {
                    return Err(Problem::LongInput { path: path.to_owned(), most: MOST_INPUT });
                }
                continue;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                begun = true;
                "nothing has come and it has not ended"
            }
            Err(error) => return Err(unreadable(error)),
        };
        if last.elapsed() >= patience {
            return Err(Problem::NoInput { path: path.to_owned(), reason, waited: patience });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Reads what is piped into this command, for a program that nobody has named a file for. A terminal and a device give nothing.
pub(crate) fn read_piped(limit: Option<Duration>) -> Result<Vec<u8>, Problem> {
    let patience = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
    let path = || PathBuf::from("what is piped into the command");
    let unreadable = |error| Problem::Input { path: path(), error };
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(unreadable)?);
    let kind = file.metadata().map_err(unreadable)?.file_type();
    if !kind.is_file() && !kind.is_fifo() && !kind.is_socket() {
        return Ok(Vec::new());
    }
    // In a thread of its own, because reading cannot be given up half-way, and others who have the pipe want it as it is.
    let (to, from) = sync_channel(1);
    std::thread::spawn(move || {
        let mut room = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut room).map(|count| room[..count].to_vec());
            let last = !matches!(&read, Ok(bytes) if !bytes.is_empty());
            let again = matches!(&read, Err(error) if error.kind() == ErrorKind::Interrupted);
            if !again && (to.send(read).is_err() || last) {
                return;
            }
        }
    });
    let (mut input, mut told) = (Vec::new(), false);
    let mut last = Instant::now();
    loop {
        match from.recv_timeout(NEWS) {
            Ok(Ok(bytes)) if bytes.is_empty() => return Ok(input),
            Ok(Ok(bytes)) => {
                last = Instant::now();
                input.extend_from_slice(&bytes);
                if input.len() as u64 > MOST_INPUT {
                    return Err(Problem::LongInput { path: path(), most: MOST_INPUT });
                }
            }
            Ok(Err(error)) => return Err(unreadable(error)),
            Err(RecvTimeoutError::Disconnected) => return Ok(input),
            Err(RecvTimeoutError::Timeout) => {
                if last.elapsed() >= patience {
                    let reason = "nothing has come and it has not ended";
                    return Err(Problem::NoInput { path: path(), reason, waited: patience });
                }
                if !told {
                    output::tell(
                        "waiting for the end of standard input, which the program is to read; < /dev/null gives it nothing\n",
                    );
                }
                told = true;
            }
        }
    }
}

/// Whether a path is that of an open pipe: it has no name, and if nobody writes to it any more, it has ended.
fn is_pipe(path: &Path) -> bool {
    let target = |path: &Path| -> io::Result<bool> {
        // Where `/dev/stdin` and `/dev/fd/3` lead to is no path.
        let mut at = path.to_owned();
        while let Ok(next) = std::fs::read_link(&at) {
            if next.to_string_lossy().starts_with("pipe:") {
                return Ok(true);
            }
            at = at.parent().unwrap_or(Path::new("/")).canonicalize()?.join(next);
        }
        Ok(false)
    };
    target(path).unwrap_or(false)
}
