//! Runs the console blocks of a page and compares what they show with what happens.
//!
//! A block of the kind `console` is a session: lines that begin with `$ ` are typed, the others are what comes back. `[...]`
//! on a line of its own stands for any lines. All blocks between two headings of the second level share one shell, so that
//! `cd` and `$?` do what they say.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Stands for any lines.
const ANY: &str = "[...]";
/// Where the clone is, in pages.
const CLONE: &str = "/home/me/ordain";
/// No section takes that long, in seconds; a program that hangs does.
const LIMIT: &str = "600";
/// How often a section may be tried in which a program is run without Ordain: now and then its bug shows.
const TRIES: usize = 3;

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A page of the documentation.
pub(crate) struct Page {
    path: PathBuf,
    text: String,
}

/// A command and what comes back, as line numbers of the page.
#[derive(Debug)]
struct Typed {
    command: String,
    /// The first line of what comes back, and the line behind the last.
    lines: std::ops::Range<usize>,
}

impl Page {
    /// Reads a page, such as `docs/tutorial.md`.
    pub(crate) fn read(name: &str) -> Self {
        let path = root().join(name);
        let text = fs::read_to_string(&path).expect("the page can be read");
        Self { path, text }
    }

    /// The contents of the blocks of a kind, such as `c`.
    pub(crate) fn blocks(&self, kind: &str) -> Vec<String> {
        let mut blocks = Vec::new();
        let mut open: Option<String> = None;
        for line in self.text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(name)) if name == kind => open = Some(String::new()),
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    let _ = writeln!(block, "{line}");
                }
                _ => {}
            }
        }
        blocks
    }

    /// The commands in the section under a heading.
    fn section(&self, heading: &str) -> Vec<Typed> {
        let mut typed: Vec<Typed> = Vec::new();
        let (mut inside, mut console, mut other) = (false, false, false);
        for (number, line) in self.text.lines().enumerate() {
            if let Some(fence) = line.strip_prefix("```") {
                other = !other && !console && fence != "console";
                console = !console && fence == "console";
            } else if !console {
                inside = if line.starts_with("## ") && !other { line[3..] == *heading } else { inside };
            } else if inside {
                match (line.strip_prefix("$ "), typed.last_mut()) {
                    (Some(command), _) => {
                        typed.push(Typed { command: command.to_owned(), lines: number + 1..number + 1 })
                    }
                    (None, Some(last)) => last.lines.end = number + 1,
                    (None, None) => panic!("{}:{}: a block begins with a command", self.path.display(), number + 1),
                }
            }
        }
        assert!(!typed.is_empty(), "{} has no commands under `{heading}`", self.path.display());
        typed
    }

    /// Runs the commands under a heading in a copy of the examples, and demands that they show what the page says.
    /// With `ORDAIN_UPDATE_DOCS` in the environment, the page is made to say what they show.
    pub(crate) fn check(&mut self, heading: &str) {
        let typed = self.section(heading);
        let page: Vec<String> = self.text.lines().map(str::to_owned).collect();
        let differs = |shown: &[String]| {
            let differs = |(typed, shown): &(&Typed, &String)| !agree(&page[typed.lines.clone()], shown);
            typed.iter().zip(shown).rev().filter(differs).map(|(t, s)| (t.lines.clone(), s.clone())).collect::<Vec<_>>()
        };
        let unsteady = typed.iter().any(|t| t.command.contains("seq 1000"));
        let mut wrong = Vec::new();
        for _ in 0..if unsteady { TRIES } else { 1 } {
            wrong = differs(&session(&typed));
            if wrong.is_empty() {
                return;
            }
        }
        if std::env::var_os("ORDAIN_UPDATE_DOCS").is_some() {
            let mut page = page;
            for (lines, shown) in wrong {
                page.splice(lines, shown.lines().map(str::to_owned));
            }
            self.text = page.join("\n") + "\n";
            fs::write(&self.path, &self.text).expect("the page can be written");
            return;
        }
        let mut text = String::new();
        for (lines, shown) in wrong.iter().rev() {
            let said = page[lines.clone()].join("\n");
            let _ = writeln!(text, "{}:{}:\n{said}\n\nis in truth:\n{shown}", self.path.display(), lines.start);
        }
        panic!("{text}\nIf that is right, ORDAIN_UPDATE_DOCS=1 writes it into the page.");
    }
}

/// Types commands into one shell, in the root of what looks like a fresh clone; gives what each shows.
fn session(typed: &[Typed]) -> Vec<String> {
    let clone = tempfile::tempdir().expect("a temporary directory can be made");
    let place = clone.path().canonicalize().expect("the directory is there");
    copy(&root().join("examples"), &place.join("examples"));
    const MARK: &str = "@@@ the next command @@@";
    let mut script = String::new();
    for typed in typed {
        let _ = writeln!(script, "{}\nstatus=$?; echo; echo '{MARK}'; (exit $status)", typed.command);
    }
    let command = Path::new(env!("CARGO_BIN_EXE_ordain"));
    let directory = command.parent().expect("the command is in a directory");
    let mut path = directory.as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let output = Command::new("timeout")
        .args(["--kill-after=5", LIMIT, "bash", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(&place)
        .stdin(Stdio::null())
        .env("PATH", path)
        .env("CARGO_TARGET_DIR", directory.with_file_name("tutorial"))
        .envs([("NO_COLOR", "1"), ("LC_ALL", "C.UTF-8"), ("CARGO_TERM_COLOR", "never")])
        .env_remove("ORDAIN_REPLAY")
        .env_remove("RUST_BACKTRACE")
        .env_remove("COLUMNS")
        .output()
        .expect("there is a shell");
    let text = String::from_utf8_lossy(&output.stdout).replace(&place.display().to_string(), CLONE);
    let mut shown: Vec<String> =
        text.split(&format!("\n{MARK}\n")).map(|t| t.trim_end_matches('\n').to_owned()).collect();
    let rest = shown.pop().unwrap_or_default();
    assert!(shown.len() == typed.len(), "the shell ended early ({}): {text}\n{rest}", output.status);
    shown
}

/// Copies a directory, with what depends on its place put right.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the directory can be read") {
        let entry = entry.expect("the directory can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            // What somebody who tried the examples has left there.
            if ![".ordain", "target"].iter().any(|name| entry.file_name() == *name) {
                copy(&from, &to);
            }
        } else if entry.file_name() == "Cargo.toml" {
            let crates = root().join("crates").display().to_string();
            let text = fs::read_to_string(&from).expect("the file can be read");
            fs::write(&to, text.replace("../../../crates", &crates)).expect("the file can be written");
        } else {
            fs::copy(&from, &to).expect("the file can be copied");
        }
    }
}

/// Whether what is said is what is shown, apart from what differs from run to run.
fn agree(said: &[String], shown: &str) -> bool {
    let said: Vec<String> = said.iter().map(|line| steady(line)).collect();
    let shown: Vec<String> = shown.lines().map(steady).collect();
    fits(&said, &shown)
}

fn fits(said: &[String], shown: &[String]) -> bool {
    match said {
        [] => shown.is_empty(),
        [any, rest @ ..] if any == ANY => (0..=shown.len()).any(|skipped| fits(rest, &shown[skipped..])),
        [line, rest @ ..] => shown.first() == Some(line) && fits(rest, &shown[1..]),
    }
}

/// A line without times, and without numbers that the system gives out.
fn steady(line: &str) -> String {
    let line = line.trim_end();
    let varies = line.trim_start().starts_with("took ")
        || line.contains("; finished in ")
        || (line.starts_with("thread '") && line.contains(" panicked at "));
    if !varies {
        return line.to_owned();
    }
    line.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("N")
}

#[test]
fn what_varies_is_no_difference_and_what_does_not_is_one() {
    let said = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(agree(&said("  took      0.1 s\nend"), "  took      12.25 s\nend"));
    assert!(!agree(&said("  explored  2 executions"), "  explored  3 executions"));
    assert!(agree(&said("a\n[...]\nz"), "a\nb\nc\nz") && agree(&said("a\n[...]\nz"), "a\nz"));
    assert!(!agree(&said("a\n[...]\nz"), "a\nb") && !agree(&said("a"), "a\nb"));
}
