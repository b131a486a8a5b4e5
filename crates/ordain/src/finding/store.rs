//! Schedule files of findings.

use crate::rt::Executor;
use ordain_explore::Target;
use ordain_model::describe;
use ordain_model::{Level, Schedule, Step};
use ordain_report::{Story, fingerprint};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The schedule of the first `steps` steps of the last execution, with its header.
pub(super) fn schedule(executor: &Executor, check: &str, story: &Story, steps: usize) -> Schedule {
    let mut schedule = Schedule::default();
    let mut put = |key: &str, value: String| schedule.header.push((key.to_owned(), value));
    put("program", check.to_owned());
    put("found", format!("{}: {}", story.kind.title(), story.headline));
    put("level", Level::Types.name().to_owned());
    put("ordain", env!("CARGO_PKG_VERSION").to_owned());
    if let Some(fingerprint) = binary_fingerprint() {
        put("binary", format!("{fingerprint:032x}"));
    }
    let transitions = executor.execution().steps.iter().take(steps).map(Step::transition);
    schedule.set_steps(transitions, executor.names());
    schedule
}

/// A fingerprint of the running binary, to tell whether a schedule was made by it. Taken once.
fn binary_fingerprint() -> Option<u128> {
    static FINGERPRINT: OnceLock<Option<u128>> = OnceLock::new();
    *FINGERPRINT.get_or_init(|| std::env::current_exe().and_then(|path| fingerprint::of_file(&path)).ok())
}

/// Writes the schedule to a file of its own; gives its path.
pub(super) fn write(
    executor: &Executor,
    schedule: &Schedule,
    directory: &Path,
    check: &str,
    number: usize,
) -> Result<PathBuf, String> {
    let directory = run_directory(directory, check);
    let text = schedule.format(&mut |i| executor.execution().steps.get(i).map(|s| describe::step(executor, s)));
    ordain_report::store::write(&directory, &ordain_report::store::finding_file(number), text.as_bytes())
}

/// The directory of a check's own files. Names of tests have colons, those of checks may have anything.
pub(crate) fn run_directory(directory: &Path, check: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = check.replace("::", ".").chars().map(safe).collect();
    directory.join(if name.trim_matches('.').is_empty() { "check".to_owned() } else { name })
}
