//! Schedule files: read, limited in size, and validated. What comes from a file is not trusted.

use crate::problem::Problem;
use miette::NamedSource;
use ordain_model::Schedule;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Larger files are refused.
const MOST_BYTES: u64 = 512 * 1024 * 1024;
/// Longer texts are not kept for showing where an error is; the part around it is.
const MOST_SHOWN: usize = 200;

/// A valid schedule and its text.
pub(crate) struct ScheduleFile {
    pub(crate) schedule: Schedule,
    pub(crate) text: String,
}

/// Reads and validates a schedule file.
pub(crate) fn read(path: &Path) -> Result<ScheduleFile, Problem> {
    let unreadable = |error| Problem::Unreadable { path: path.to_owned(), error };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(Problem::NotAFile { path: path.to_owned() });
    }
    if metadata.len() > MOST_BYTES {
        return Err(Problem::TooLarge { path: path.to_owned(), size: metadata.len(), most: MOST_BYTES });
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| Problem::NotText { path: path.to_owned() })?;
    match Schedule::parse(&text) {
        Ok(schedule) => Ok(ScheduleFile { schedule, text }),
        Err(error) => Err(invalid(path, &text, error.line, error.reason)),
    }
}

/// The problem with a text that is no schedule, shown at the line in question.
fn invalid(path: &Path, text: &str, line: usize, reason: String) -> Problem {
    // Lines are shown as they are numbered; long ones are cut, and what a terminal would obey is taken out.
    let mut shown = String::new();
    let mut place = (0, 0);
    for (number, content) in text.lines().enumerate().take(line) {
        let near = number + 3 > line;
        let start = shown.len();
        if near {
            shown.extend(crate::output::printable(content).chars().take(MOST_SHOWN));
        }
        if number + 1 == line {
            place = (start, shown.len() - start);
        }
        shown.push('\n');
    }
    if place.1 == 0 {
        // An empty file, or one that ends too early.
        place = (shown.len().saturating_sub(1), 0);
    }
    let text = Arc::new(NamedSource::new(path.display().to_string(), shown));
    Problem::NotASchedule { path: path.to_owned(), line, reason, text, place: place.into() }
}
