//! `ordain replay --search`: the finding of an old schedule in a changed program, under a new schedule.

use super::Arguments;
use super::departure::Expected;
use crate::check::{self, plural};
use crate::output::{self, printable};
use crate::problem::Problem;
use crate::progress::Live;
use crate::{Outcome, replay_line};
use ordain_check::{RunOptions, Settings};
use ordain_model::Schedule;
use ordain_native::{Check, Finding, Renewed};
use ordain_report::store;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time for making a schedule smaller.
const SHRINK_TIME: Duration = Duration::from_secs(10);

/// Searches from the first `fitting` steps on; `told` is how the program departs there.
pub(super) fn search(
    arguments: &Arguments,
    check: &Check,
    schedule: &Schedule,
    expected: &[Expected],
    fitting: usize,
    time: Duration,
) -> Result<Outcome, Problem> {
    let beside = arguments.file.parent().filter(|d| !d.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritable =
        |error: std::io::Error| Problem::Export { path: renewed_path(&arguments.file), reason: error.to_string() };
    let directory = tempfile::Builder::new().prefix(".ordain-").tempdir_in(beside).map_err(unwritable)?;
    let check = Check {
        settings: Settings { max_time: Some(time), shrink_time: SHRINK_TIME.min(time), ..check.settings.clone() },
        run: RunOptions { directory: Some(directory.path().to_owned()), ..RunOptions::default() },
        ..check.clone()
    };
    let told: Vec<String> = expected.iter().map(|e| e.text.clone()).collect();
    let mut live = Live::start(false);
    let renewed = check.renew(schedule, fitting, &told, &mut live);
    live.end();
    let Renewed { report, kept, followed } = renewed.map_err(|problem| Problem::Native { problem })?;
    let Some(mut finding) = report.findings.into_iter().next() else {
        output::tell(&format!(
            "no finding: nothing was found in {}{}\n",
            plural(report.summary.executions, "execution"),
            if report.summary.exhausted {
                ", which are all there are"
            } else {
                "; more time may find something: --search TIME"
            }
        ));
        return Ok(Outcome::Clean);
    };
    keep(&mut finding, &arguments.file).map_err(unwritable)?;
    output::tell(&format!("{}\n", check::story(&finding, None)));
    let old = schedule.get("found").unwrap_or_default().split(':').next().unwrap_or_default();
    if !old.is_empty() && old != finding.story.kind.name() {
        output::tell(&format!("This is not what the old schedule was made for: {}\n", printable(old)));
    }
    let how = match (followed, kept) {
        (true, _) => "by following the old schedule loosely",
        (false, 0) => "by a new search",
        (false, _) => "by a search behind the steps that still fit",
    };
    output::tell(&format!("finding: {}, found again {how}\n", finding.story.kind.name()));
    Ok(Outcome::Finding)
}

/// Puts the new schedule beside the old one.
fn keep(finding: &mut Finding, old: &Path) -> std::io::Result<()> {
    let Some(written) = &finding.file else { return Ok(()) };
    let path = renewed_path(old);
    store::write_to(&path, &fs::read(written)?).map_err(std::io::Error::other)?;
    let path = fs::canonicalize(&path).unwrap_or(path);
    finding.story.schedule = Some(path.display().to_string());
    finding.file = Some(path);
    Ok(())
}

/// `finding-1.ordain` becomes `finding-1.renewed.ordain`.
fn renewed_path(old: &Path) -> PathBuf {
    let name = old.file_stem().unwrap_or_default().to_string_lossy();
    old.with_file_name(format!("{}.renewed.ordain", name.trim_end_matches(".renewed")))
}

/// The command that searches from where a program departs.
pub(super) fn command(file: &Path) -> String {
    format!("{} --search", replay_line::for_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renewed_schedule_lies_beside_the_old_one() {
        let name = |old: &str| renewed_path(Path::new(old)).display().to_string();
        assert_eq!(name("a/finding-1.ordain"), "a/finding-1.renewed.ordain");
        assert_eq!(name("a/finding-1.renewed.ordain"), "a/finding-1.renewed.ordain");
    }
}
