//! Findings in programs: what an execution shows, and its story with source lines.

use crate::backtrace::{Frame, Registers, Symbols, program_frames};
use crate::check::{Check, LEVEL};
use crate::process::Patience;
use crate::target::{Ended, Native};
use ordain_explore::{Planned, Target};
use ordain_model::describe::{self, Words};
use ordain_model::{End, Misuse, Names, ObjectId, Operation, Options, Schedule, Site, ThreadId};
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_128;

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Threads are left, and none can go on.
    Deadlock,
    /// A signal killed the program.
    Crash,
    /// An assertion failed.
    Assertion,
    /// The program aborted.
    Abort,
    /// It exited with a status that says failure.
    ExitStatus,
    /// Nothing visible happened for too long.
    Hang,
    /// Threads go round in circles and change nothing.
    Livelock,
    /// Too many steps without a thread beginning or ending.
    StepLimit,
    /// A primitive was used wrongly.
    Misuse,
    /// A thread ended while it held a lock.
    LockHeldAtExit,
    /// What the program writes depends on the schedule.
    Output,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deadlock => "deadlock",
            Self::Crash => "crash",
            Self::Assertion => "assertion",
            Self::Abort => "abort",
            Self::ExitStatus => "exit-status",
            Self::Hang => "hang",
            Self::Livelock => "livelock",
            Self::StepLimit => "step-limit",
            Self::Misuse => "misuse",
            Self::LockHeldAtExit => "lock-held-at-exit",
            Self::Output => "output",
        }
    }
}

/// What an execution showed.
#[derive(Clone, Debug)]
pub(crate) struct Noticed {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// Where, so that the same thing is not told twice.
    pub(crate) place: String,
    pub(crate) prefix: Vec<Planned>,
}

impl Noticed {
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.place == other.place
    }
}

/// A thread at the end of an execution.
#[derive(Clone, Debug)]
pub struct ThreadTrace {
    /// Its name.
    pub name: String,
    /// Whether it ended the execution.
    pub culprit: bool,
    /// What it was about to do.
    pub doing: Option<String>,
    /// Where it is, innermost first.
    pub frames: Vec<Frame>,
}

/// A confirmed misbehaviour with its schedule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What went wrong.
    pub kind: Kind,
    /// What happened, in a sentence or two.
    pub message: String,
    /// The threads at the end.
    pub threads: Vec<ThreadTrace>,
    /// The steps, one in a line.
    pub steps: Vec<String>,
    /// The schedule file, if one was written.
    pub file: Option<PathBuf>,
    /// Why it could not be written.
    pub trouble: Option<String>,
    /// The schedule.
    pub schedule: Schedule,
    /// The whole story.
    pub text: String,
}

/// Names of signals.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV, a bad memory access",
        libc::SIGBUS => "SIGBUS, a bad memory access",
        libc::SIGFPE => "SIGFPE, an arithmetic error such as a division by zero",
        libc::SIGILL => "SIGILL, an illegal instruction",
        libc::SIGTRAP => "SIGTRAP, a trap",
        libc::SIGABRT => "SIGABRT",
        libc::SIGPIPE => "SIGPIPE, a write to a pipe that nobody reads",
        libc::SIGKILL => "SIGKILL",
        libc::SIGTERM => "SIGTERM",
        libc::SIGINT => "SIGINT",
        libc::SIGALRM => "SIGALRM",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        _ => return format!("signal {signal}"),
    };
    name.into()
}

/// Looks at the last execution for misbehaviour.
pub(crate) fn notice(native: &Native, expected_status: i32) -> Option<Noticed> {
    let execution = native.execution();
    let prefix = || ordain_explore::prefix_of(execution);
    let make = |kind, message: String, place: String| Some(Noticed { kind, message, place, prefix: prefix() });
    if matches!(execution.end, End::Diverged(_) | End::Cut) {
        return None;
    }
    let aftermath = native.aftermath();
    let who = native.names().thread_name(aftermath.culprit);
    let place = aftermath.threads.iter().find(|t| t.thread == aftermath.culprit.0).map_or(0, |t| t.registers[0]);
    let place = format!("{place:#x}");
    if let Some(at) = execution.misuses.first() {
        let kind = match at.misuse {
            Misuse::LockHeldAtExit(_) => Kind::LockHeldAtExit,
            _ => Kind::Misuse,
        };
        let step = &execution.steps[at.step as usize];
        let message =
            format!("{} {}", native.names().thread_name(step.thread), at.misuse.explain(&step.op, native.names()));
        return make(kind, message, format!("{:?} {:?}", at.misuse, step.site));
    }
    match &aftermath.ended {
        Ended::Signal { signal, address } => {
            let about = if *address == 0 && *signal != libc::SIGSEGV {
                String::new()
            } else {
                format!(" (address {address:#x})")
            };
            return make(Kind::Crash, format!("{who} got {}{about}", signal_name(*signal)), place);
        }
        Ended::Assertion(text) => return make(Kind::Assertion, format!("{who}: {text}"), text.clone()),
        Ended::Abort => return make(Kind::Abort, format!("{who} aborted the program"), place),
        Ended::Hang => {
            let message = format!(
                "{who} goes on without any call that Ordain sees: it spins on memory (a flag, an atomic), computes for ever, or \
                 blocks in a system call"
            );
            return make(Kind::Hang, message, place);
        }
        Ended::InvalidObject { message, address } => {
            return make(Kind::Misuse, format!("{who}: {message} (at {address:#x})"), place);
        }
        Ended::Corrupted(how) => {
            let message =
                format!("the program destroyed its own process or the memory of Ordain's runtime in it: {how}");
            return make(Kind::Crash, message, "corrupted".into());
        }
        Ended::Exit(status) if *status != expected_status => {
            return make(Kind::ExitStatus, format!("the program exited with status {status}"), status.to_string());
        }
        Ended::Exit(_) | Ended::ByModel => {}
    }
    match &execution.end {
        End::Deadlock(deadlock) => {
            let waiting: Vec<_> = deadlock.waiters.iter().map(|w| (w.thread, w.site)).collect();
            make(Kind::Deadlock, "no thread can go on".into(), format!("{waiting:?}"))
        }
        End::Livelock { loops } => {
            make(Kind::Livelock, "threads go round and change nothing".into(), format!("{loops:?}"))
        }
        End::StepLimit => make(Kind::StepLimit, format!("{} steps, and no end", execution.steps.len()), String::new()),
        _ => None,
    }
}

/// How threads, objects and places of a program are called.
pub(crate) struct NativeWords<'a> {
    native: &'a Native,
    symbols: Option<RefCell<Symbols>>,
}

impl<'a> NativeWords<'a> {
    pub(crate) fn new(native: &'a Native) -> Self {
        let symbols = native.process_id().and_then(|id| Symbols::new(id).ok()).map(RefCell::new);
        Self { native, symbols }
    }

    fn unwind(&self, registers: &[u64; 8], exact: bool) -> Vec<Frame> {
        let (Some(symbols), Some(id)) = (&self.symbols, self.native.process_id()) else { return Vec::new() };
        let [rip, rsp, rbp, rbx, r12, r13, r14, r15] = *registers;
        let registers = Registers { rip, rsp, rbp, rbx, r12, r13, r14, r15, exact };
        program_frames(symbols.borrow_mut().unwind(id, &registers))
    }
}

impl Words for NativeWords<'_> {
    fn names(&self) -> &Names {
        self.native.names()
    }

    fn object(&self, object: ObjectId) -> String {
        let name = self.names().object_name(object);
        let variable = self.native.address_of(object).and_then(|address| {
            let variable = self.symbols.as_ref()?.borrow_mut().variable_at(address)?;
            Some(format!("{} {variable}", self.names().kind(object).word()))
        });
        variable.unwrap_or(name)
    }

    fn place(&self, site: Site) -> Option<String> {
        if site.0 == 0 {
            return None;
        }
        let locations = self.symbols.as_ref()?.borrow_mut().locate(site.0 - 1);
        let place = locations.iter().find(|l| l.line.is_some()).or(locations.first())?;
        match (&place.file, place.line) {
            (Some(file), Some(line)) => Some(format!("{}:{line}", file.display())),
            _ => Some(place.to_string()),
        }
    }
}

/// Makes a finding of what the last execution showed, while its process is still there; writes its schedule file.
pub(crate) fn describe(native: &mut Native, noticed: Noticed, check: &Check, number: usize) -> Finding {
    let outputs = [native.output(0), native.output(1)];
    let words = NativeWords::new(native);
    let execution = native.execution();
    let message = match &execution.end {
        End::Deadlock(deadlock) => describe::deadlock(&words, deadlock),
        End::Livelock { loops } => describe::livelock(&words, loops),
        _ => misuse_message(native, &words).unwrap_or_else(|| noticed.message.clone()),
    };
    let aftermath = native.aftermath();
    let mut threads = Vec::new();
    for record in &aftermath.threads {
        let thread = ThreadId(record.thread);
        if thread.index() >= native.names().thread_count() {
            continue;
        }
        let culprit = thread == aftermath.culprit && !matches!(aftermath.ended, Ended::ByModel | Ended::Exit(_));
        let exact = culprit && matches!(aftermath.ended, Ended::Signal { .. } | Ended::Hang | Ended::Abort);
        let frames = words.unwind(&record.registers, exact);
        let pending = execution.pending.iter().find(|p| p.thread == thread);
        let doing = pending.filter(|p| p.op != Operation::End).map(|p| describe::operation(&words, &p.op));
        threads.push(ThreadTrace { name: words.thread(thread), culprit, doing, frames });
    }
    let steps: Vec<String> = execution.steps.iter().map(|s| describe::step(&words, s)).collect();
    let schedule = schedule(native, check, noticed.kind, &message, noticed.prefix.len());
    let mut text = format!("ordain found: {}\n", noticed.kind.word());
    for line in message.lines() {
        let _ = writeln!(text, "  {line}");
    }
    write_threads(&threads, &mut text);
    let switches = execution.context_switches();
    let _ = writeln!(text, "\nsteps ({}, with {switches} context switches, marked >):", execution.steps.len());
    describe::steps(&words, execution, &mut text);
    write_output(&outputs, &mut text);
    let (mut file, mut trouble) = (None, None);
    if number > 0
        && let Some(directory) = &check.directory
    {
        match write_schedule(&schedule, &steps, directory, number) {
            Ok(path) => {
                let _ = writeln!(text, "\nreplay it with:\n  ordain replay {}", path.display());
                file = Some(path);
            }
            Err(error) => {
                let _ = writeln!(text, "\nThe schedule file could not be written ({error}).");
                trouble = Some(error);
            }
        }
    }
    Finding { kind: noticed.kind, message, threads, steps, file, trouble, schedule, text }
}

fn misuse_message(native: &Native, words: &NativeWords<'_>) -> Option<String> {
    let execution = native.execution();
    let at = execution.misuses.first()?;
    let step = &execution.steps[at.step as usize];
    let what = at.misuse.explain(&step.op, native.names());
    let object = step.op.object().map(|o| (native.names().object_name(o), words.object(o)));
    let what = object.map_or(what.clone(), |(plain, better)| what.replace(&plain, &better));
    Some(format!("{} {what}{}", words.thread(step.thread), words.at(step.site)))
}

fn write_threads(threads: &[ThreadTrace], text: &mut String) {
    const MOST: usize = 16;
    for thread in threads.iter().take(MOST) {
        let doing = thread.doing.as_ref().map_or_else(String::new, |d| format!(", about to {d}"));
        let _ = writeln!(text, "\n{}{}{doing}:", thread.name, if thread.culprit { " (here)" } else { "" });
        for frame in &thread.frames {
            for location in &frame.locations {
                let _ = writeln!(text, "    {location}");
            }
        }
        if thread.frames.is_empty() {
            let _ = writeln!(text, "    (no backtrace)");
        }
    }
    if threads.len() > MOST {
        let _ = writeln!(text, "\n... and {} more threads", threads.len() - MOST);
    }
}

fn write_output(outputs: &[Vec<u8>; 2], text: &mut String) {
    const MOST: usize = 2000;
    for (name, bytes) in ["standard output", "standard error"].iter().zip(outputs) {
        if bytes.is_empty() {
            continue;
        }
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]);
        let _ = writeln!(text, "\n{name}:");
        for line in shown.lines() {
            let _ = writeln!(
                text,
                "  {}",
                line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>()
            );
        }
        if bytes.len() > MOST {
            let _ = writeln!(text, "  ... {} bytes more", bytes.len() - MOST);
        }
    }
}

/// How two outputs differ: the first line that does.
pub(crate) fn output_difference(one: &[Vec<u8>; 2], other: &[Vec<u8>; 2]) -> String {
    for (name, (a, b)) in ["standard output", "standard error"].iter().zip(one.iter().zip(other)) {
        if a == b {
            continue;
        }
        let (a, b) = (String::from_utf8_lossy(a), String::from_utf8_lossy(b));
        let (mut x, mut y) = (a.lines(), b.lines());
        let mut line = 1;
        loop {
            match (x.next(), y.next()) {
                (Some(p), Some(q)) if p == q => line += 1,
                (None, None) => break,
                (p, q) => {
                    let show = |l: Option<&str>| l.map_or("nothing".to_owned(), |l| format!("{l:?}"));
                    return format!(
                        "{name} depends on the schedule: line {line} is {} under one schedule and {} under another",
                        show(p),
                        show(q)
                    );
                }
            }
        }
        return format!("{name} depends on the schedule");
    }
    "the output depends on the schedule".into()
}

fn schedule(native: &Native, check: &Check, kind: Kind, message: &str, steps: usize) -> Schedule {
    let mut schedule = Schedule::default();
    let mut put = |key: &str, value: String| schedule.header.push((key.to_owned(), value));
    let launch = native.launch();
    put("executable", escape(launch.program.as_os_str()));
    for argument in &launch.arguments {
        put("argument", escape(argument));
    }
    for (name, value) in &launch.environment {
        put("variable", escape(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("="))));
    }
    if !launch.input.is_empty() {
        put("input", describe_input(&launch.input));
    }
    put("found", format!("{}: {}", kind.word(), message.lines().next().unwrap_or_default()));
    put("level", LEVEL.to_owned());
    put("ordain", env!("CARGO_PKG_VERSION").to_owned());
    put("binary", format!("{:032x}", check.binary.fingerprint));
    if check.options.kind_time {
        put("time", "kind".into());
    }
    if check.options.spurious_wakeups {
        put("wake-ups", "spurious".into());
    }
    if check.expected_status != 0 {
        put("status", check.expected_status.to_string());
    }
    let usual = Options::default();
    if check.options.spin_bound != usual.spin_bound {
        put("spin-bound", check.options.spin_bound.to_string());
    }
    if check.options.max_steps != usual.max_steps {
        put("max-steps", check.options.max_steps.to_string());
    }
    if check.patience.busy != Patience::default().busy {
        put("hang-time", format!("{} ms", check.patience.busy.as_millis()));
    }
    let transitions = native.execution().steps.iter().take(steps).map(ordain_model::Step::transition);
    schedule.set_steps(transitions, native.names());
    schedule
}

/// What a schedule says about standard input: enough to tell whether it is the same.
pub fn describe_input(input: &[u8]) -> String {
    format!("{} bytes, {:032x}", input.len(), XxHash3_128::oneshot(input))
}

/// Arguments may hold anything; header lines are text without space at their ends, and end at a line's end and at `#`.
pub(crate) fn escape(text: &OsStr) -> String {
    let mut out = String::new();
    for chunk in text.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                ' ' | '!'..='\u{7e}' if !matches!(c, '%' | '#') => out.push(c),
                c if c.is_alphanumeric() => out.push(c),
                c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escape_byte(byte, &mut out)),
            }
        }
        chunk.invalid().iter().for_each(|byte| escape_byte(*byte, &mut out));
    }
    if out.ends_with(' ') {
        out.replace_range(out.len() - 1.., "%20");
    }
    if out.starts_with(' ') {
        out.replace_range(..1, "%20");
    }
    out
}

fn escape_byte(byte: u8, out: &mut String) {
    let _ = write!(out, "%{byte:02x}");
}

/// Undoes the escaping of arguments in a schedule's header.
pub fn unescape(text: &str) -> OsString {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(first);
                rest = after;
            }
        }
    }
    OsString::from_vec(out)
}

/// Writes a schedule to a file of its own, whole or not at all; gives its path.
fn write_schedule(schedule: &Schedule, steps: &[String], directory: &Path, number: usize) -> Result<PathBuf, String> {
    let tell = |what: &Path| {
        let what = what.display().to_string();
        move |error: std::io::Error| format!("{what}: {error}")
    };
    fs::create_dir_all(directory).map_err(tell(directory))?;
    let path = directory.join(format!("finding-{number}.ordain"));
    let text = schedule.format(&mut |i| steps.get(i).cloned());
    let partial = directory.join(format!(".finding-{number}.{}.partial", std::process::id()));
    let written = fs::File::create(&partial).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let result = written.and_then(|()| fs::rename(&partial, &path)).map_err(tell(&path));
    if result.is_err() {
        let _ = fs::remove_file(&partial);
    }
    result.map(|()| fs::canonicalize(&path).unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_arguments_come_back() {
        let cases: [&[u8]; 9] = [
            b"",
            b" ",
            b"  a  ",
            b"a#b%c",
            b"100%",
            b"a\nb\tc\r",
            "gr\u{fc}n \u{a0}\u{2028}".as_bytes(),
            b"\xff\xfe x",
            b"%41",
        ];
        for case in cases {
            let escaped = escape(OsStr::from_bytes(case));
            assert_eq!(escaped.trim(), escaped);
            assert!(!escaped.contains(['#', '\n', '\r']), "{escaped}");
            assert_eq!(unescape(&escaped).as_bytes(), case, "{escaped}");
        }
    }
}
