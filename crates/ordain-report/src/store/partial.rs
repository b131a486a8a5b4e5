//! Files that are not complete: written beside the place that they are for, and renamed when they are.
//!
//! Whoever writes one holds a lock on it. What a process that was killed has left behind has no lock, and is removed by the next one that
//! writes there.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::NamedTempFile;

/// What names of files begin with that are not complete.
const PREFIX: &str = ".ordain-partial-";
/// How often a file is begun that somebody takes for left behind, in the moment before it is locked.
const ATTEMPTS: usize = 10;
/// Directories in which this process has looked for what others left behind.
static CLEANED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);

/// Puts contents in the place of a file, or makes it, with the directories above it. The error names the file or directory.
pub(super) fn replace(path: &Path, contents: &[u8]) -> Result<(), String> {
    let tell = |what: &Path, error: io::Error| format!("{}: {}", what.display(), plain(&error));
    let directory = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|e| tell(directory, e))?;
    clean_once(directory);
    let written = begin(directory).and_then(|mut file| {
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        if let Ok(before) = fs::metadata(path) {
            // Who may read it does not change; where that is not ours to say, it is as for a new file.
            let _ = file.as_file().set_permissions(before.permissions());
        }
        file.persist(path).map_err(|e| e.error)
    });
    written.map(|_| ()).map_err(|e| tell(path, e))
}

/// The system's words alone: names of temporary files would make every message a new one.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path \"").next().unwrap_or(&text).to_owned()
}

/// A file that nobody takes for left behind.
fn begin(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    let usual = {
        use std::os::unix::fs::PermissionsExt as _;
        // For whoever may read other new files of this user.
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(usual);
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(directory)?;
        // Where files cannot be locked, nobody removes what is left behind.
        let _ = file.as_file().lock();
        if file.path().exists() {
            return Ok(file);
        }
    }
    Err(io::Error::other("files that are being written are removed by somebody"))
}

/// Removes what was left behind, when this process first writes there.
fn clean_once(directory: &Path) {
    let Ok(directory) = fs::canonicalize(directory) else { return };
    let mut cleaned = CLEANED.lock().unwrap_or_else(PoisonError::into_inner);
    if cleaned.get_or_insert_default().insert(directory.clone()) {
        clean(&directory);
    }
}

/// Removes what processes left behind that are gone. What cannot be removed stays.
fn clean(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if !ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        match file.try_lock() {
            // As long as it is locked here, nobody can begin to believe in it.
            Ok(()) => {
                let _ = fs::remove_file(entry.path());
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_behind_is_removed_and_what_is_being_written_stays() {
        let directory = tempfile::tempdir().expect("room for temporary files");
        let at = directory.path();
        let left = at.join(".ordain-partial-left");
        fs::write(&left, "half").expect("it can be written");
        fs::write(at.join(".partial-of-others"), "whole").expect("it can be written");
        let written = begin(at).expect("it can be made");
        replace(&at.join("a"), b"whole").expect("it can be written");
        assert!(!left.exists() && written.path().exists() && at.join(".partial-of-others").exists());
        assert_eq!(fs::read(at.join("a")).ok().as_deref(), Some(&b"whole"[..]));
    }

    #[test]
    fn messages_are_the_same_each_time() {
        let nowhere = Path::new("/proc/self/nowhere/file");
        let told = || replace(nowhere, b"").expect_err("nothing can be made there");
        assert_eq!(told(), told());
        let here = Path::new("/proc/self/file");
        let told = || replace(here, b"").expect_err("nothing can be made there");
        assert_eq!(told(), told());
        assert!(!told().contains(PREFIX), "{}", told());
    }
}
