//! Directories in which programs of others are run: fresh, for our user alone, and removed in the end, by the next worker if need be.

use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const PREFIX: &str = "ordain-";
const RANDOM: usize = 10;
/// Whoever has a directory holds a lock on this file in it, which ends with its process.
const LOCK: &str = ".ordain-lock";
/// A directory that is younger may be one that is just being made.
const YOUNG: Duration = Duration::from_secs(60);

/// A directory that is removed in the end.
#[derive(Debug)]
pub(crate) struct Directory {
    directory: TempDir,
    _lock: File,
}

impl Directory {
    /// A new one. Its path has the same length for everybody with the same TMPDIR: where a program's stack begins depends on it.
    pub(crate) fn new() -> io::Result<Self> {
        let private = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix(PREFIX).rand_bytes(RANDOM).permissions(private).tempdir()?;
        let lock = File::create(directory.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Opens a lock file that others may have put there: nothing else than a file, and without waiting, as a FIFO would make us.
fn open_lock(path: &Path) -> io::Result<File> {
    let careful = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let lock = File::options().write(true).custom_flags(careful).open(path)?;
    if lock.metadata()?.is_file() { Ok(lock) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Removes what workers have left behind that were killed.
pub(crate) fn sweep() {
    let Ok(entries) = std::env::temp_dir().read_dir() else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|rest| rest.len() == RANDOM);
        let age = entry.metadata().and_then(|data| data.modified()).ok().and_then(|time| time.elapsed().ok());
        if !ours || age.is_none_or(|age| age < YOUNG) {
            continue;
        }
        let Ok(lock) = open_lock(&entry.path().join(LOCK)) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            // Whatever cannot be removed is tried again by the next worker.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_not_swept_away() {
        let directory = Directory::new().expect("there is room");
        let long_ago = std::time::SystemTime::now() - 2 * YOUNG;
        let age = |path: &Path| File::open(path).and_then(|file| file.set_modified(long_ago)).expect("it can be dated");
        age(directory.path());
        sweep();
        assert!(directory.path().exists());
        // Its owner is killed.
        let Directory { directory, _lock: lock } = directory;
        let path = directory.keep();
        drop(lock);
        sweep();
        assert!(!path.exists());
    }

    #[test]
    fn a_lock_that_is_no_file_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("there is room");
        let path = directory.path().join(LOCK);
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).expect("a FIFO");
        assert!(open_lock(&path).is_err());
        std::os::unix::fs::symlink("/dev/null", directory.path().join("link")).expect("a link");
        assert!(open_lock(&directory.path().join("link")).is_err());
    }
}
