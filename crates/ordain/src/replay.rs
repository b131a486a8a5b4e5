//! Replaying a finding: `ORDAIN_REPLAY=<schedule file> cargo test <name>`.

use ordain_model::Schedule;
use std::path::Path;

/// The variable that asks for a replay: the path of a schedule file, or `inline:` and the schedule in one line.
const VARIABLE: &str = "ORDAIN_REPLAY";
/// Larger files are refused.
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// A replay that the user asked for.
pub(crate) struct Replay {
    /// The file, or `inline schedule`.
    pub(crate) source: String,
    pub(crate) schedule: Result<Schedule, String>,
}

/// The replay that is asked for, if it is of the check called `name`.
pub(crate) fn requested(name: &str) -> Option<Replay> {
    let value = std::env::var_os(VARIABLE)?;
    let text = value.to_string_lossy();
    if let Some(inline) = text.strip_prefix("inline:") {
        let schedule = parse_inline(inline);
        let other = schedule.as_ref().is_ok_and(|s| s.get("program").is_some_and(|p| p != name));
        return (!other).then(|| Replay { source: "the schedule given inline".to_owned(), schedule });
    }
    let schedule = read(Path::new(&value));
    // A file that cannot be read concerns whoever looks first: better an error than a check that runs as if nothing was asked.
    let other = schedule.as_ref().is_ok_and(|s| s.get("program").is_some_and(|p| p != name));
    (!other).then(|| Replay { source: text.into_owned(), schedule })
}

fn read(path: &Path) -> Result<Schedule, String> {
    let size = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > MOST_BYTES {
        return Err(format!("the file has {size} bytes; a schedule has fewer than {MOST_BYTES}"));
    }
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    Schedule::parse(&text).map_err(|e| e.to_string())
}

/// `name;main*3,main.1:2,…`: for where no file can be written.
fn parse_inline(text: &str) -> Result<Schedule, String> {
    let (name, steps) = text.split_once(';').ok_or("expected `inline:NAME;STEPS`")?;
    let mut lines = format!("ordain schedule 1\nprogram: {name}\nsteps:\n");
    let mut total = 0u64;
    for part in steps.split(',').filter(|p| !p.is_empty()) {
        let (step, times) = part.split_once('*').unwrap_or((part, "1"));
        let times: u64 =
            times.parse().map_err(|_| format!("`{part}`: expected THREAD, THREAD:CHOICE or THREAD*TIMES"))?;
        total = total.saturating_add(times);
        if total > 1_000_000 {
            return Err("more than a million steps".to_owned());
        }
        for _ in 0..times {
            lines.push_str(&step.replace(':', " choice "));
            lines.push('\n');
        }
    }
    Schedule::parse(&lines).map_err(|e| e.reason)
}

/// Writes a schedule in one line.
pub(crate) fn format_inline(name: &str, schedule: &Schedule) -> String {
    let mut text = format!("inline:{name};");
    let mut steps = schedule.steps.iter().peekable();
    let mut first = true;
    while let Some((thread, choice)) = steps.next() {
        let mut times = 1;
        while steps.next_if(|next| *choice == 0 && next.0 == *thread && next.1 == 0).is_some() {
            times += 1;
        }
        let comma = if first { "" } else { "," };
        first = false;
        text.push_str(&match (choice, times) {
            (0, 1) => format!("{comma}{thread}"),
            (0, n) => format!("{comma}{thread}*{n}"),
            (choice, _) => format!("{comma}{thread}:{choice}"),
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_schedules_survive() {
        let steps = [("main", 0), ("main", 0), ("main.1", 2), ("main.1", 0), ("main", 0)];
        let schedule = Schedule {
            header: vec![("program".into(), "a::b".into())],
            steps: steps.iter().map(|(t, c)| ((*t).to_owned(), *c)).collect(),
        };
        let text = format_inline("a::b", &schedule);
        assert_eq!(text, "inline:a::b;main*2,main.1:2,main.1,main");
        assert_eq!(parse_inline(text.strip_prefix("inline:").unwrap_or_default()), Ok(schedule));
        assert!(parse_inline("x;main*99999999999").is_err());
        assert!(parse_inline("main").is_err());
        assert!(parse_inline("x;nobody").is_err());
    }
}
