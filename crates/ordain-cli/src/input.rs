//! What a program is to read from its standard input: a file, or what a FIFO, a pipe or a terminal gives, which is not waited for without end.

use crate::problem::Problem;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Longer inputs are refused.
const MOST_INPUT: u64 = 1 << 30;
/// How long nothing may come, unless the whole check has less time.
const PATIENCE: Duration = Duration::from_secs(60);
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
