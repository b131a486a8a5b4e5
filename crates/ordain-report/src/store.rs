//! Files that Ordain writes: whole or not at all, and never in the place of something that is no file. And those of a run directory, read as
//! what may have come from anywhere.

mod partial;
mod special;

use crate::run::Run;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The record of the run in its directory.
pub const RUN: &str = "run.json";
/// Larger records are refused.
const MOST_BYTES: u64 = 1 << 30;
/// Links to links that are followed.
const MOST_LINKS: usize = 40;

/// Writes a file of a directory of ours whole or not at all, and gives its path as seen from everywhere. The error says which file it is
/// about. A link in its place is replaced: whoever else can write there does not decide where we write.
pub fn write(directory: &Path, name: &str, contents: &[u8]) -> Result<PathBuf, String> {
    let path = directory.join(name);
    let kind = fs::symlink_metadata(&path).map(|m| m.file_type()).ok();
    if kind.is_some_and(|kind| !kind.is_file() && !kind.is_symlink()) {
        return Err(format!("{}: it is there, and is not a file", path.display()));
    }
    partial::replace(&path, contents)?;
    Ok(fs::canonicalize(&path).unwrap_or(path))
}

/// Writes to what a user has named. A file is written whole or not at all, where it is if the name is a link; directories above it are made.
/// Whatever else there is, such as a device or a FIFO, is written to and stays what it is. The error does not name the path.
pub fn write_to(path: &Path, contents: &[u8]) -> Result<(), String> {
    match place_of(path)? {
        Place::File(file) => {
            // Told as the user calls it.
            let name = |error: String| error.replace(&format!("{}: ", file.display()), "");
            partial::replace(&file, contents).map_err(name)
        }
        Place::Other(at) => special::write(&at, contents).map_err(|error| error.to_string()),
    }
}

/// Opens what a user has named, to be written bit by bit. A file that is there is emptied; directories are not made. Nobody is waited for.
pub fn create(path: &Path) -> io::Result<fs::File> {
    match place_of(path).map_err(io::Error::other)? {
        Place::File(file) => fs::File::create(file),
        Place::Other(at) => special::open(&at),
    }
}

/// Where something is written.
enum Place {
    /// A file, or nothing yet.
    File(PathBuf),
    /// Something else, which must stay.
    Other(PathBuf),
}

/// Follows links to where something is to be written.
fn place_of(path: &Path) -> Result<Place, String> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        if at.file_name().is_none() {
            return Err("it is not the name of a file".into());
        }
        if special::is_descriptor(&at) {
            return Ok(Place::Other(at));
        }
        let kind = match fs::symlink_metadata(&at) {
            Ok(metadata) => metadata.file_type(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Place::File(at)),
            Err(error) => return Err(error.to_string()),
        };
        if kind.is_dir() {
            return Err("it is a directory".into());
        }
        if !kind.is_symlink() {
            return Ok(if kind.is_file() { Place::File(at) } else { Place::Other(at) });
        }
        let target = fs::read_link(&at).map_err(|error| error.to_string())?;
        // What is above may be a link too, and `..` of where that leads to is meant.
        let above = at.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        at = fs::canonicalize(above).map_err(|error| error.to_string())?.join(target);
    }
    Err("there are too many links".into())
}

/// Writes the record of a run into its directory.
pub fn write_run(directory: &Path, run: &Run) -> Result<PathBuf, String> {
    let text = serde_json::to_vec(run).map_err(|e| e.to_string())?;
    write(directory, RUN, &text)
}

/// The name of the schedule file of a finding; the first has number 1.
pub fn finding_file(number: usize) -> String {
    format!("finding-{number}.ordain")
}

/// Opens a file to be read. What others have put in its place, such as a FIFO, is not waited for.
pub fn open(path: &Path) -> io::Result<fs::File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    fs::File::open(path)
}

/// What every version of a record says.
#[derive(serde::Deserialize)]
struct Version {
    version: u32,
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
    let version: Version = serde_json::from_slice(&text).map_err(|e| tell(&e))?;
    match version.version {
        Run::VERSION => serde_json::from_slice(&text).map_err(|e| tell(&e)),
        other => {
            Err(tell(&format!("made by another version of Ordain (record {other}, this one reads {})", Run::VERSION)))
        }
    }
}
