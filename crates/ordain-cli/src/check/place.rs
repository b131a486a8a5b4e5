//! Where a check writes: the run directory, one for each command line of a program, or another place where that cannot be written to.

use crate::schedule_file;
use ordain_check::checkpoint;
use ordain_model::Schedule;
use ordain_native::{Launch, command_line, describe_input, unescape};
use ordain_report::store;
use rustix::fs::{Access, access};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// More command lines of a program than this share a directory.
const MOST_DIRECTORIES: usize = 1000;

/// What was piped into a check that found something, in its run directory: a replay reads it from there.
pub(crate) const INPUT: &str = "stdin";

/// Who has written to a run directory.
#[derive(PartialEq, Eq)]
enum Owner {
    /// The same command line.
    Same,
    /// Nobody, or somebody who has left nothing that would be missed.
    Nobody,
    /// Another command line, whose findings or unfinished search stay.
    Other,
}

/// The run directory of a command line: `.ordain/NAME`, or `.ordain/NAME-2` and so on where others have findings of another one.
pub(super) fn run_directory(usual: &Path, launch: &Launch) -> PathBuf {
    let numbered = |number: usize| match number {
        1 => usual.to_owned(),
        _ => {
            let mut name = usual.file_name().unwrap_or_default().to_owned();
            name.push(format!("-{number}"));
            usual.with_file_name(name)
        }
    };
    let mut free = None;
    for number in 1..=MOST_DIRECTORIES {
        let directory = numbered(number);
        match owner(&directory, launch) {
            Owner::Same => return directory,
            Owner::Nobody if !directory.exists() => return free.unwrap_or(directory),
            Owner::Nobody => free = free.or(Some(directory)),
            Owner::Other => {}
        }
    }
    free.unwrap_or_else(|| usual.to_owned())
}

fn owner(directory: &Path, launch: &Launch) -> Owner {
    let finding = directory.join("finding-1.ordain");
    if finding.exists() {
        let same = schedule_file::read(&finding).is_ok_and(|file| is_of(&file.schedule, launch));
        return if same { Owner::Same } else { Owner::Other };
    }
    match store::read_run(directory) {
        Ok(run) if run.program == command_line(launch) => Owner::Same,
        Ok(_) if directory.join(checkpoint::FILE).exists() => Owner::Other,
        _ => Owner::Nobody,
    }
}

/// Whether a schedule is one of this command line with this input.
fn is_of(schedule: &Schedule, launch: &Launch) -> bool {
    let all = |key: &str| -> Vec<OsString> {
        schedule.header.iter().filter(|line| line.0 == key).map(|line| unescape(&line.1)).collect()
    };
    let variable = |(name, value): &(OsString, OsString)| {
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        text
    };
    let input = (!launch.input.is_empty()).then(|| describe_input(&launch.input));
    all("executable") == [launch.program.as_os_str()]
        && all("argument") == launch.arguments
        && all("variable") == launch.environment.iter().map(variable).collect::<Vec<_>>()
        && schedule.get("input") == input.as_deref()
}

/// A directory in place of one that cannot be written to, and why it cannot. It goes away with this unless it is kept.
pub(super) struct Substitute {
    wanted: PathBuf,
    reason: String,
    pub(super) directory: Option<TempDir>,
}

impl Substitute {
    /// One for this directory, if it needs one.
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let reason = obstacle(directory)?;
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let substitute = tempfile::Builder::new().prefix(&format!("ordain-{name}-")).tempdir().ok();
        Some(Self { wanted: directory.to_owned(), reason, directory: substitute })
    }

    /// Where it is, if something is to be kept in it, and what the user should know.
    pub(super) fn settle(self, keep: bool) -> (Option<PathBuf>, String) {
        let place = self.directory.filter(|_| keep).map(TempDir::keep);
        let instead = match &place {
            Some(place) => format!("the run directory is {}", place.display()),
            None => "no record of the run is kept; --run-dir names another directory".to_owned(),
        };
        (place, format!("{} cannot be written to ({}), so {instead}", self.wanted.display(), self.reason))
    }
}

/// Why a directory cannot be written to, or cannot be made.
fn obstacle(directory: &Path) -> Option<String> {
    let mut at = std::path::absolute(directory).ok()?;
    loop {
        match std::fs::metadata(&at) {
            Ok(metadata) if !metadata.is_dir() => return Some(format!("{} is not a directory", at.display())),
            Ok(_) => return access(&at, Access::WRITE_OK | Access::EXEC_OK).err().map(|error| error.to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound && at.pop() => {}
            Err(error) => return Some(error.to_string()),
        }
    }
}
