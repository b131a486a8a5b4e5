//! Files of a run directory: written whole or not at all, and read as what may have come from anywhere.

use crate::run::Run;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// The record of the run in its directory.
pub const RUN: &str = "run.json";
/// Larger records are refused.
const MOST_BYTES: u64 = 1 << 30;

/// Writes a file whole or not at all, and gives its path as seen from everywhere. The error says which file it is about.
pub fn write(directory: &Path, name: &str, contents: &[u8]) -> Result<PathBuf, String> {
    let tell = |what: &Path, error: io::Error| format!("{}: {error}", what.display());
    fs::create_dir_all(directory).map_err(|e| tell(directory, e))?;
    let path = directory.join(name);
    let written = tempfile::Builder::new().prefix(".partial-").tempfile_in(directory).and_then(|mut file| {
        file.write_all(contents)?;
        file.as_file().sync_all()?;
        set_usual_rights(file.as_file())?;
        file.persist(&path).map_err(|e| e.error)
    });
    written.map_err(|e| tell(&path, e))?;
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

/// Temporary files are for their owner only; results are for whoever may read the directory.
fn set_usual_rights(file: &fs::File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

/// Writes the record of a run into its directory.
pub fn write_run(directory: &Path, run: &Run) -> Result<PathBuf, String> {
    let text = serde_json::to_vec(run).map_err(|e| e.to_string())?;
    write(directory, RUN, &text)
}

/// Opens a file to be read. What others have put in its place, such as a FIFO, is not waited for.
pub fn open(path: &Path) -> io::Result<fs::File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    fs::File::open(path)
}

/// Reads the record of a run from its directory.
pub fn read_run(directory: &Path) -> Result<Run, String> {
    let path = directory.join(RUN);
    let tell = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut text = Vec::new();
    let file = open(&path).map_err(|e| tell(&e))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|e| tell(&e))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(tell(&"it is too large for the record of a run"));
    }
    let run: Run = serde_json::from_slice(&text).map_err(|e| tell(&e))?;
    match run.version {
        Run::VERSION => Ok(run),
        other => {
            Err(tell(&format!("made by another version of Ordain (record {other}, this one reads {})", Run::VERSION)))
        }
    }
}
