//! Replay of a program. The header of the schedule says what to run and how; a file may come from anywhere, so every line of
//! it is checked, and what is going to run is told before.

use super::Arguments;
use super::departure::{self, Difference};
use super::{gdb, renew, step, timeline};
use crate::check::{self, plural};
use crate::input::read_input;
use crate::json;
use crate::options::{self, Format};
use crate::outcome::{Outcome, despite};
use crate::output::{self, printable};
use crate::problem::Problem;
use crate::progress::Live;
use crate::replay_line::{self, quote};
use crate::schedule_file::ScheduleFile;
use ordain_check::{RunOptions, Settings};
use ordain_model::{Schedule, Site};
use ordain_native::{Check, Finding, LEVEL, Launch, Repeated, Replayed, binary, describe_input, unescape};
use ordain_report::terminal::Next;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// No path is longer.
const MOST_PATH: usize = 4096;

/// What the replays showed.
#[derive(Default)]
struct Tally {
    /// How often it ran, if not as often as was asked for.
    runs: Option<u32>,
    shown: u32,
    ended_well: u32,
    departed: u32,
    finding: Option<Finding>,
    /// The first step that could not be followed, and how the program departed there.
    departure: Option<(usize, String)>,
    /// The first step that did something else than the schedule file says.
    difference: Option<Difference>,
    /// The timeline was shown.
    shown_timeline: bool,
}

/// Runs the program of a schedule under it.
pub(super) fn replay(arguments: &Arguments, file: &ScheduleFile) -> Result<Outcome, Problem> {
    let schedule = &file.schedule;
    if !arguments.cargo.is_empty() {
        return Err(Problem::OnlyForTests { path: arguments.file.clone() });
    }
    let header = Header { path: &arguments.file, schedule };
    let check = header.check(arguments)?;
    let changed = header.binary()?.is_some_and(|fingerprint| fingerprint != check.binary.fingerprint);
    output::tell(&opening(&check, &header, changed));

    let mut tally = Tally::default();
    let expected = departure::expectations(&file.text);
    if arguments.step {
        return step::step(arguments, &check, schedule, &expected, changed);
    }
    if arguments.gdb {
        return gdb::debug(arguments, &check, schedule, &expected, changed);
    }
    if arguments.times == 1 && !timeline::is_long(schedule) {
        // What is known of another build's steps does not hold for this one.
        let record = if changed { None } else { timeline::recorded(&arguments.file, schedule) };
        let seen = timeline::replay(&check, schedule, &expected, record, arguments.all)?;
        (tally.difference, tally.shown_timeline) = (seen.difference, seen.shown);
        tally.count(seen.replayed);
        if let (Some(_), 0, 0) = (&tally.difference, tally.shown, tally.departed) {
            // Its threads could be led as the schedule says, but they did something else.
            (tally.departed, tally.ended_well) = (1, 0);
            tally.departure = Some((schedule.steps.len(), String::new()));
        }
    } else {
        let mut live = Live::start(arguments.quiet);
        let times = arguments.times;
        let again = check.replay_times(schedule, times, &mut |repeated| {
            tally.repeat(repeated);
            let done = tally.shown + tally.ended_well + tally.departed;
            live.show(|| format!("{done} of {times} runs, the finding showed in {}", tally.shown));
            if live.flag().load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        live.end();
        again.map_err(|problem| Problem::Native { problem })?;
        tally.runs = Some(tally.shown + tally.ended_well + tally.departed);
    }
    if let Some(time) = arguments.search.filter(|_| tally.shown == 0 || tally.difference.is_some()) {
        let followed = tally.departure.as_ref().map_or(schedule.steps.len(), |d| d.0);
        let fitting = tally.difference.as_ref().map_or(followed, |difference| difference.step.min(followed));
        output::tell(&searching(&tally, fitting, schedule));
        return renew::search(arguments, &check, schedule, &expected, fitting, time);
    }
    output::tell(&closing(&tally, tally.runs.unwrap_or(arguments.times), schedule, &arguments.file));
    let mut written = Ok(());
    if arguments.format == Format::Json && (tally.shown > 0 || tally.departed == 0) {
        written = output::write_json(&json::Replay {
            version: json::VERSION,
            schedule: arguments.file.to_string_lossy().into_owned(),
            program: check.launch.program.to_string_lossy().into_owned(),
            arguments: json::lossy(&check.launch.arguments),
            program_changed: changed,
            times: arguments.times,
            shown: tally.shown,
            ended_well: tally.ended_well,
            departed: tally.departed,
            departure: tally.departure.as_ref().map(|d| d.1.clone()),
            finding: tally.finding.as_ref().map(json::Finding::from),
        });
    }
    let outcome = match tally.departure {
        _ if tally.shown > 0 => Ok(Outcome::Finding),
        None => Ok(Outcome::Clean),
        Some(last) => Err(departure(arguments, schedule, changed, last, tally.difference)),
    };
    despite(written, outcome)
}

/// How a program departs from its schedule: at the first step that is another one, or else where it can be followed no more.
pub(super) fn departure(
    arguments: &Arguments,
    schedule: &Schedule,
    changed: bool,
    (last, text): (usize, String),
    first: Option<Difference>,
) -> Problem {
    let (step, difference) = match first {
        Some(first) if first.step < last => {
            (first.step, format!("{}. Its threads can be led as the schedule says up to step {last}", first.text))
        }
        Some(first) => (first.step, first.text),
        None => (last, printable(&text)),
    };
    let command = renew::command(&arguments.file);
    Problem::Departure { step, steps: schedule.steps.len(), difference, changed, command }
}

impl Tally {
    fn repeat(&mut self, repeated: Repeated) {
        match repeated {
            Repeated::Departed(steps, departure) => {
                self.departed += 1;
                self.departure.get_or_insert((steps, departure));
            }
            Repeated::Shown(finding) => {
                self.shown += 1;
                self.finding = self.finding.take().or(finding.map(|finding| *finding));
            }
            Repeated::EndedWell => self.ended_well += 1,
        }
    }

    fn count(&mut self, replayed: Replayed) {
        match (replayed.finding, replayed.departure) {
            (_, Some(departure)) => {
                self.departed += 1;
                self.departure.get_or_insert((replayed.steps, departure));
            }
            (Some(finding), None) => {
                self.shown += 1;
                self.finding.get_or_insert(finding);
            }
            (None, None) => self.ended_well += 1,
        }
    }
}

/// What is going to run, and what to know about it.
fn opening(check: &Check, header: &Header<'_>, changed: bool) -> String {
    let launch = &check.launch;
    let mut text = String::from("replaying:");
    for (name, value) in &launch.environment {
        let _ = write!(text, " {}={}", name.to_string_lossy(), quote(&value.to_string_lossy()));
    }
    let _ = write!(text, " {}", quote(&launch.program.to_string_lossy()));
    for argument in &launch.arguments {
        let _ = write!(text, " {}", quote(&argument.to_string_lossy()));
    }
    text = printable(&text);
    text.push('\n');
    if changed {
        let _ = writeln!(
            text,
            "warning: {} is not the same as when the schedule was made (its fingerprint was {}, and now is {:032x}), so \
             it may depart from the schedule",
            printable(&launch.program.to_string_lossy()),
            printable(header.schedule.get("binary").unwrap_or_default()),
            check.binary.fingerprint
        );
    }
    let input = describe_input(&launch.input);
    match header.schedule.get("input") {
        Some(then) if then != input => {
            let _ = writeln!(text, "warning: standard input was {}, and now is {input}", printable(then));
        }
        None if !launch.input.is_empty() => {
            let _ =
                writeln!(text, "warning: the program read nothing when the schedule was made, and now reads {input}");
        }
        _ => {}
    }
    text.push('\n');
    text
}

/// Why and from where there is going to be a search.
fn searching(tally: &Tally, fitting: usize, schedule: &Schedule) -> String {
    let steps = schedule.steps.len();
    let mut text = match (&tally.difference, &tally.departure) {
        (Some(difference), _) => {
            format!(
                "the program departs from the schedule at step {} of {steps}: {}\n",
                difference.step, difference.text
            )
        }
        (None, Some((step, difference))) => {
            format!("the program departs from the schedule at step {step} of {steps}: {}\n", printable(difference))
        }
        (None, None) => format!("the program followed all {} and ended well\n", plural(steps as u64, "step")),
    };
    let _ = writeln!(text, "searching on from the {} that fit ...\n", plural(fitting as u64, "step"));
    text
}

/// What else can be done with a schedule, beside what a finding offers.
fn next(finding: &Finding, file: &Path) -> Next {
    let mut next = check::next(finding, None);
    let replay = replay_line::for_file(file);
    for (name, option) in [("gdb", "--gdb"), ("step", "--step")] {
        next.commands.insert(0, (name.to_owned(), format!("{replay} {option}")));
    }
    next
}

/// What the replays showed.
fn closing(tally: &Tally, times: u32, schedule: &Schedule, file: &Path) -> String {
    let mut text = String::new();
    let found = schedule.get("found").unwrap_or_default();
    if let Some(finding) = &tally.finding {
        let story = if tally.shown_timeline {
            check::story_without_timeline(finding, &next(finding, file))
        } else {
            check::story(finding, None)
        };
        let _ = writeln!(text, "{story}");
        let kind = found.split(':').next().unwrap_or_default();
        if !kind.is_empty() && kind != finding.story.kind.name() {
            let _ = writeln!(text, "This is not what the schedule was made for: {}\n", printable(found));
        }
    }
    if let Some(Difference { step, text: difference }) = tally.difference.as_ref().filter(|_| tally.departed == 0) {
        let _ =
            writeln!(text, "From step {step} on the program does something else than the schedule says: {difference}.");
        let _ = writeln!(text, "Make a schedule that fits: {}\n", renew::command(file));
    }
    let steps = plural(schedule.steps.len() as u64, "step");
    let _ = match (times, tally) {
        (1, Tally { shown: 1, finding: Some(finding), .. }) => {
            writeln!(text, "finding: {} under this schedule of {steps}", finding.story.kind.name())
        }
        (1, Tally { ended_well: 1, .. }) => {
            writeln!(text, "no finding: the program followed the schedule of {steps} and ended well")
        }
        (1, _) => Ok(()),
        (_, Tally { shown, ended_well, departed, .. }) => {
            let _ = write!(text, "the finding showed {shown} of {times} times");
            if *ended_well > 0 {
                let _ = write!(text, "; the program ended well {}", plural((*ended_well).into(), "time"));
            }
            if *departed > 0 {
                let _ = write!(text, "; the program departed from the schedule {}", plural((*departed).into(), "time"));
            }
            writeln!(text)
        }
    };
    text
}

/// The header of a program's schedule, which is not trusted.
struct Header<'a> {
    path: &'a Path,
    schedule: &'a Schedule,
}

impl Header<'_> {
    /// The check that the schedule comes from.
    fn check(&self, arguments: &Arguments) -> Result<Check, Problem> {
        self.refuse_repetitions()?;
        self.one_of("level", &[LEVEL.name()])?;
        let is_lesson = |text: &&str| text.parse().ok().and_then(Site::of_lesson).is_some();
        if let Some(wrong) = self.all("lesson").find(|text| !is_lesson(text)) {
            return Err(self.bad("lesson", wrong, "it should be a number from 0 to 255"));
        }
        let environment: Result<Vec<_>, Problem> = self
            .all("variable")
            .map(|text| options::variable(&unescape(text)).map_err(|reason| self.bad("variable", text, &reason)))
            .collect();
        let words: Result<Vec<OsString>, Problem> =
            self.all("argument").map(|text| self.word("argument", text)).collect();
        let read = ordain_native::of_header(|key| self.schedule.get(key));
        let (settings, mut program) = read.map_err(|(key, value, reason)| self.bad(key, value, &reason))?;
        program.compare_output = self.schedule.get("found").is_some_and(|found| found.starts_with("output:"));
        let (mut environment, words) = (environment?, words?);
        for (name, value) in &arguments.environment {
            environment.retain(|known| known.0 != *name);
            environment.push((name.clone(), value.clone()));
        }
        let binary = self.find_program(arguments.program.as_deref())?;
        Ok(Check {
            launch: Launch {
                program: binary.path.clone(),
                arguments: words,
                environment,
                input: self.input(arguments.stdin.as_deref())?,
            },
            binary,
            settings: Settings { shrink_time: Duration::ZERO, ..settings },
            program,
            run: RunOptions::default(),
        })
    }

    /// The program: the one that is named on the command line, or the one of the schedule.
    fn find_program(&self, named: Option<&Path>) -> Result<binary::Binary, Problem> {
        let search_path = std::env::var_os("PATH");
        if let Some(named) = named {
            return Ok(binary::inspect(named.as_os_str(), search_path.as_deref())?);
        }
        let text = self.schedule.get("executable").unwrap_or_default();
        let program = self.word("executable", text)?;
        // A path with control characters may be one, but more likely is a trick on the terminal; --program takes it.
        let plausible = program.len() <= MOST_PATH && !program.as_bytes().iter().any(u8::is_ascii_control);
        if !Path::new(&program).is_absolute() || !plausible {
            return Err(self.bad("executable", text, "it is not the absolute path of a program"));
        }
        binary::inspect(&program, None).map_err(|reason| Problem::NoExecutable { reason })
    }

    /// What the program reads.
    fn input(&self, named: Option<&Path>) -> Result<Vec<u8>, Problem> {
        match (named, self.schedule.get("input")) {
            (Some(named), _) => read_input(named, None),
            (None, None) => Ok(Vec::new()),
            (None, Some(then)) => {
                // What was piped into the check is beside the schedule.
                let beside = self.path.with_file_name(check::INPUT);
                if let Some(input) = read_input(&beside, None).ok().filter(|input| describe_input(input) == then) {
                    return Ok(input);
                }
                let size = then.split(',').next().unwrap_or_default();
                let is_size = size.strip_suffix(" bytes").is_some_and(|n| n.parse::<u64>().is_ok());
                Err(if is_size {
                    Problem::InputMissing { size: size.to_owned() }
                } else {
                    self.bad("input", then, "it does not say how many bytes")
                })
            }
        }
    }

    /// The fingerprint of the program that the schedule was made with.
    fn binary(&self) -> Result<Option<u128>, Problem> {
        let Some(text) = self.schedule.get("binary") else { return Ok(None) };
        let hexadecimal = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
        let fingerprint = u128::from_str_radix(text, 16).ok().filter(|_| hexadecimal);
        fingerprint.map(Some).ok_or_else(|| self.bad("binary", text, "it is not a fingerprint"))
    }

    fn all(&self, key: &str) -> impl Iterator<Item = &str> {
        self.schedule.header.iter().filter(move |line| line.0 == key).map(|line| line.1.as_str())
    }

    /// Only these may be there more than once: of other lines, one would be silently ignored.
    fn refuse_repetitions(&self) -> Result<(), Problem> {
        for (at, (key, value)) in self.schedule.header.iter().enumerate() {
            let repeated = self.schedule.header[..at].iter().any(|line| line.0 == *key);
            if repeated && !["argument", "variable", "lesson"].contains(&key.as_str()) {
                return Err(self.bad(key, value, "it is there more than once"));
            }
        }
        Ok(())
    }

    fn word(&self, key: &str, text: &str) -> Result<OsString, Problem> {
        let word = unescape(text);
        let nul = OsStr::as_bytes(&word).contains(&0);
        if nul { Err(self.bad(key, text, "it holds a NUL byte, which no argument can")) } else { Ok(word) }
    }

    /// Whether the line is there; it must be one of the known ones.
    fn one_of(&self, key: &str, known: &[&str]) -> Result<bool, Problem> {
        match self.schedule.get(key) {
            None => Ok(false),
            Some(value) if known.contains(&value) => Ok(true),
            Some(value) => Err(self.bad(key, value, &format!("it should be `{}`", known.join("` or `")))),
        }
    }

    fn bad(&self, key: &str, value: &str, reason: &str) -> Problem {
        const MOST_SHOWN: usize = 100;
        let shown = |text: &str| printable(&text.chars().take(MOST_SHOWN).collect::<String>());
        Problem::BadHeader { path: self.path.to_owned(), key: shown(key), value: shown(value), reason: reason.into() }
    }
}
