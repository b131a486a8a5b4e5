//! Runs as JUnit XML, for the test pages of CI systems.
//!
//! There is no standard. What is written here is the part that the schema of Jenkins and that of Ant share, so that strict
//! readers take it too: one `testsuite` for each check with numbers as its properties, and in it one `testcase` of a name
//! that stays the same, so that its history can be followed. Further findings of the check get a `testcase` of their own.
//!
//! | what the check came to | test case |
//! |---|---|
//! | verified | passed |
//! | no finding | skipped, with what limits it: a pass would look like `verified` |
//! | no finding where more was required | failure |
//! | finding | failure |
//! | nondeterminism, no verdict | error |

use crate::kind::{Kind, Verdict};
use crate::plain;
use crate::run::Run;
use crate::story::{Place, Story};
use crate::terminal::{self, Look, Next};
use crate::unchecked::Unchecked;
use crate::when;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use std::io;

/// The class of every test case; readers take what is before the dot as a package.
const CLASS: &str = "ordain.check";
/// What a check is called whose program has no name.
const NAMELESS: &str = "unnamed";

/// The runs as a document.
pub fn render(runs: &[Run]) -> String {
    render_with(runs, &[])
}

/// The runs as a document, with checks that came to no verdict.
pub fn render_with(runs: &[Run], unchecked: &[Unchecked]) -> String {
    let suites: Vec<Suite> = runs.iter().map(Suite::of_run).chain(unchecked.iter().map(Suite::of_unchecked)).collect();
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory does not fail.
    let _ = document(&mut writer, &suites);
    let mut text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    text.push('\n');
    text
}

/// What a test case came to.
enum Status {
    Passed,
    Skipped { message: String },
    Failed { kind: &'static str, message: String, body: String },
    Error { kind: &'static str, message: String, body: String },
}

struct Case {
    name: String,
    seconds: f64,
    status: Status,
    outputs: [String; 2],
}

struct Suite {
    name: String,
    timestamp: Option<String>,
    seconds: f64,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
    /// What is said about the whole.
    out: String,
}

impl Suite {
    fn of_run(run: &Run) -> Self {
        let name = if run.program.trim().is_empty() { NAMELESS.to_owned() } else { run.program.clone() };
        let seconds = if run.wall_seconds.is_finite() { run.wall_seconds.max(0.0) } else { 0.0 };
        let mut cases: Vec<Case> =
            run.findings.iter().enumerate().map(|(i, s)| finding(&name, i, s, seconds)).collect();
        if cases.is_empty() {
            let status = match (&run.unmet, run.verdict) {
                (Some(unmet), _) => {
                    Status::Failed { kind: "requirement", message: unmet.clone(), body: format!("{}\n", run.meaning) }
                }
                (None, Verdict::Verified) => Status::Passed,
                (None, Verdict::NoFinding) => Status::Skipped { message: run.meaning.clone() },
                // It was found and is not told: that must not look like a success.
                (None, Verdict::Finding) => Status::Failed {
                    kind: "finding",
                    message: run.meaning.clone(),
                    body: "The record of the run does not hold the finding.\n".to_owned(),
                },
            };
            cases.push(Case { name: name.clone(), seconds, status, outputs: Default::default() });
        }
        let out = std::iter::once(&run.meaning)
            .chain(run.notes.iter().map(|note| &note.text))
            .filter(|line| !line.is_empty());
        let out = out.map(|line| format!("{line}\n")).collect();
        Self { name, timestamp: when::utc(run.began), seconds, properties: properties(run), cases, out }
    }

    fn of_unchecked(unchecked: &Unchecked) -> Self {
        let name = if unchecked.program.trim().is_empty() { NAMELESS.to_owned() } else { unchecked.program.clone() };
        let help = unchecked.help.as_ref().map_or_else(String::new, |help| format!("\nhelp: {help}"));
        let body = format!("{}{help}\n", unchecked.message);
        let status = Status::Error { kind: "no-verdict", message: unchecked.message.clone(), body };
        let case = Case { name: name.clone(), seconds: 0.0, status, outputs: Default::default() };
        Self { name, timestamp: None, seconds: 0.0, properties: Vec::new(), cases: vec![case], out: String::new() }
    }

    fn count(&self, is: fn(&Status) -> bool) -> usize {
        self.cases.iter().filter(|case| is(&case.status)).count()
    }
}

/// The test case of a finding. The first one is the check itself, and has taken its time.
fn finding(check: &str, index: usize, story: &Story, seconds: f64) -> Case {
    let name = match index {
        0 => check.to_owned(),
        _ => {
            let at =
                main_place(story).map_or_else(|| format!(" {}", index + 1), |place| format!(" at {}", place.short()));
            format!("{check}: {}{at}", story.kind)
        }
    };
    // A headline may introduce the details, which are in the body.
    let message = story.headline.trim_end_matches(':').to_owned();
    let (kind, body) = (story.kind.name(), body(story));
    let status = match story.kind {
        Kind::Nondeterminism => Status::Error { kind, message, body },
        _ => Status::Failed { kind, message, body },
    };
    Case { name, seconds: if index == 0 { seconds } else { 0.0 }, status, outputs: story.outputs.clone() }
}

/// The place that a finding is called by.
fn main_place(story: &Story) -> Option<&Place> {
    crate::places::primary(story)
}

/// The numbers of a run, and what limits its verdict.
fn properties(run: &Run) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("ordain.version", run.ordain.clone()),
        ("ordain.verdict", run.verdict.name().to_owned()),
        ("ordain.meaning", run.meaning.clone()),
        ("ordain.level", run.level.name().to_owned()),
        ("ordain.strategy", run.strategy.clone()),
        ("ordain.executions", run.executions.to_string()),
        ("ordain.blocked", run.blocked.to_string()),
        ("ordain.steps", run.steps.to_string()),
        ("ordain.threads", run.threads.to_string()),
        ("ordain.depth", run.depth.to_string()),
        ("ordain.exhausted", run.exhausted.to_string()),
        ("ordain.interrupted", run.interrupted.to_string()),
    ];
    if let Some(mode) = &run.mode {
        all.push(("ordain.mode", mode.clone()));
    }
    if let Some(estimate) = run.estimate.filter(|estimate| estimate.log10.is_finite()) {
        all.push(("ordain.estimate.log10", format!("{:.2}", estimate.log10)));
    }
    all.extend(run.notes.iter().map(|note| {
        let name = if note.is_warning() { "ordain.warning" } else { "ordain.note" };
        (name, note.text.clone())
    }));
    all
}

fn document(writer: &mut Writer<Vec<u8>>, suites: &[Suite]) -> io::Result<()> {
    let sum = |is| suites.iter().map(|suite| suite.count(is)).sum::<usize>().to_string();
    // The sum of no numbers would be -0.
    let seconds = suites.iter().fold(0.0, |sum, suite| sum + suite.seconds);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    writer
        .create_element("testsuites")
        .with_attribute(("name", "ordain"))
        .with_attribute(("tests", sum(|_| true).as_str()))
        .with_attribute(("failures", sum(is_failure).as_str()))
        .with_attribute(("errors", sum(is_error).as_str()))
        .with_attribute(("time", time(seconds).as_str()))
        .write_inner_content(|writer| suites.iter().try_for_each(|suite| write_suite(writer, suite)))?;
    Ok(())
}

fn write_suite(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    let number = |is| suite.count(is).to_string();
    let mut element = writer
        .create_element("testsuite")
        .with_attribute(("name", line(&suite.name).as_str()))
        .with_attribute(("tests", number(|_| true).as_str()))
        .with_attribute(("failures", number(is_failure).as_str()))
        .with_attribute(("errors", number(is_error).as_str()))
        .with_attribute(("skipped", number(is_skipped).as_str()))
        .with_attribute(("time", time(suite.seconds).as_str()));
    if let Some(timestamp) = &suite.timestamp {
        element = element.with_attribute(("timestamp", timestamp.as_str()));
    }
    element.write_inner_content(|writer| {
        if !suite.properties.is_empty() {
            writer.create_element("properties").write_inner_content(|writer| {
                suite.properties.iter().try_for_each(|(name, value)| {
                    let property = writer.create_element("property").with_attribute(("name", *name));
                    property.with_attribute(("value", line(value).as_str())).write_empty().map(drop)
                })
            })?;
        }
        suite.cases.iter().try_for_each(|case| write_case(writer, case))?;
        write_text(writer, "system-out", &suite.out)
    })?;
    Ok(())
}

fn write_case(writer: &mut Writer<Vec<u8>>, case: &Case) -> io::Result<()> {
    let element = writer
        .create_element("testcase")
        .with_attribute(("name", line(&case.name).as_str()))
        .with_attribute(("classname", CLASS))
        .with_attribute(("time", time(case.seconds).as_str()));
    if matches!(case.status, Status::Passed) && case.outputs.iter().all(String::is_empty) {
        return element.write_empty().map(drop);
    }
    element.write_inner_content(|writer| {
        match &case.status {
            Status::Passed => {}
            Status::Skipped { message } => {
                writer.create_element("skipped").with_attribute(("message", line(message).as_str())).write_empty()?;
            }
            Status::Failed { kind, message, body } => write_wrong(writer, "failure", kind, message, body)?,
            Status::Error { kind, message, body } => write_wrong(writer, "error", kind, message, body)?,
        }
        write_text(writer, "system-out", &case.outputs[0])?;
        write_text(writer, "system-err", &case.outputs[1])
    })?;
    Ok(())
}

fn write_wrong(writer: &mut Writer<Vec<u8>>, tag: &str, kind: &str, message: &str, body: &str) -> io::Result<()> {
    let element = writer.create_element(tag).with_attribute(("message", line(message).as_str()));
    element.with_attribute(("type", kind)).write_text_content(BytesText::new(&valid(body))).map(drop)
}

fn write_text(writer: &mut Writer<Vec<u8>>, tag: &str, text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    writer.create_element(tag).write_text_content(BytesText::new(&valid(text))).map(drop)
}

fn is_failure(status: &Status) -> bool {
    matches!(status, Status::Failed { .. })
}

fn is_error(status: &Status) -> bool {
    matches!(status, Status::Error { .. })
}

fn is_skipped(status: &Status) -> bool {
    matches!(status, Status::Skipped { .. })
}

/// Seconds as every reader takes them.
fn time(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// Text in which every character that XML cannot hold is replaced; the others are escaped by the writer. A carriage
/// return would be read as a line feed, and control characters that XML 1.0 allows are shown as well.
fn valid(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let bad = |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if bad(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The same for attributes, in which a line feed would be read as a space.
fn line(text: &str) -> String {
    valid(text.trim_end()).replace(['\n', '\t'], " ")
}

/// The whole story as text, with the command that replays it.
fn body(story: &Story) -> String {
    let commands = plain::replay(story).map(|command| ("replay".to_owned(), command));
    let next = Next { commands: commands.into_iter().collect(), trouble: None };
    terminal::finding(story, Look::PLAIN, &next)
}
