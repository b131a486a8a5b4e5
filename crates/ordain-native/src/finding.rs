//! Findings in programs: what an execution shows, and its story with source lines.

use crate::backtrace::{self, Locals, Location, Registers, Symbols, program_frames};
use crate::callers::{self, is_own};
use crate::check::{Check, LEVEL};
use crate::process::Launch;
use crate::settings;
use crate::target::{Aftermath, Ended, Native};
use ordain_check::{Observation, Proof};
use ordain_explore::Target;
use ordain_model::describe::{self, Words};
use ordain_model::{End, Misuse, Names, ObjectId, ObjectKind, Operation, Schedule, Site, ThreadId};
use ordain_report::{Facts, Frame, Kind, Place, Sources, Story, fingerprint, quote, store, terminal};
use ordain_wire::Unmodelled;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::rc::Rc;

/// A confirmed misbehaviour with its schedule.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "KeptFinding", into = "KeptFinding")]
pub struct Finding {
    /// What happened.
    pub story: Story,
    /// The schedule file, if one was written.
    pub file: Option<PathBuf>,
    /// Why it could not be written.
    pub trouble: Option<String>,
    /// The schedule.
    pub schedule: Schedule,
}

/// A finding as it is kept: the schedule as text.
#[derive(Serialize, Deserialize)]
struct KeptFinding {
    story: Story,
    file: Option<PathBuf>,
    trouble: Option<String>,
    schedule: String,
}

impl From<Finding> for KeptFinding {
    fn from(finding: Finding) -> Self {
        let Finding { story, file, trouble, schedule } = finding;
        Self { story, file, trouble, schedule: schedule.format(&mut |_| None) }
    }
}

impl TryFrom<KeptFinding> for Finding {
    type Error = String;

    fn try_from(kept: KeptFinding) -> Result<Self, String> {
        let schedule = Schedule::parse(&kept.schedule).map_err(|error| error.to_string())?;
        Ok(Self { story: kept.story, file: kept.file, trouble: kept.trouble, schedule })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&terminal::finding(&self.story, terminal::Look::PLAIN, &terminal::Next::default()))
    }
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
pub(crate) fn notice(native: &Native, expected_status: i32) -> Option<Observation> {
    let execution = native.execution();
    let prefix = || ordain_explore::prefix_of(execution);
    let make = |kind, message: String, place: String| Some(Observation { kind, message, place, prefix: prefix() });
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
            format!("{} {}", native.names().thread_name(step.thread), at.misuse.explain(&step.op, &PlainWords(native)));
        return make(kind, message, execution.place(native.names()));
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
        // The other end of a terminal is in the program, and whoever has it is not led.
        Ended::Hang(_) if native.unmodelled() & Unmodelled::Terminals.bit() != 0 => return None,
        Ended::Hang(reason) => {
            let message = if reason.is_empty() {
                format!(
                    "{who} goes on without any call that Ordain sees: it spins on memory (a flag, an atomic), computes for ever, or \
                     blocks in a system call"
                )
            } else {
                format!("{who} does not go on: {reason}")
            };
            return make(Kind::Hang, message, place);
        }
        Ended::ChildDeadlock { address } => {
            let message = format!(
                "a child process waits for ever: it locks the lock at {address:#x}, which another thread held when the child was made by \
                 fork, and the child has no such thread"
            );
            return make(Kind::Deadlock, message, format!("child {address:#x}"));
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
        End::Deadlock(_) => make(Kind::Deadlock, "no thread can go on".into(), execution.place(native.names())),
        End::Livelock { .. } => make(
            Kind::Livelock,
            "threads repeat the same steps and change nothing".into(),
            execution.place(native.names()),
        ),
        End::StepLimit => make(Kind::StepLimit, format!("{} steps, and no end", execution.steps.len()), String::new()),
        _ => None,
    }
}

/// How threads, objects and places of a program are called.
pub(crate) struct NativeWords<'a> {
    native: &'a Native,
    symbols: Option<Rc<RefCell<Symbols>>>,
    /// What functions on the stacks call objects.
    locals: HashMap<ObjectId, String>,
}

impl<'a> NativeWords<'a> {
    pub(crate) fn new(native: &'a Native) -> Self {
        Self::with(native, symbols_of(native))
    }

    /// With symbols that were read before.
    pub(crate) fn with(native: &'a Native, symbols: Option<Rc<RefCell<Symbols>>>) -> Self {
        Self { native, symbols, locals: HashMap::new() }
    }

    /// Learns from the stacks of a stopped process how functions that are under way call the objects of the execution. A name is
    /// taken only if it stands for one object.
    fn learn_locals(&mut self) {
        let (Some(symbols), Some(id)) = (&self.symbols, self.native.process_id()) else { return };
        let mut symbols = symbols.borrow_mut();
        let aftermath = self.native.aftermath();
        let mut locals = Locals::default();
        for record in &aftermath.threads {
            symbols.locals(
                id,
                &registers(&record.registers, is_exact(aftermath, ThreadId(record.thread))),
                &mut locals,
            );
        }
        let execution = self.native.execution();
        let operations = execution.steps.iter().map(|s| s.op).chain(execution.pending.iter().map(|p| p.op));
        let objects: BTreeSet<ObjectId> = operations
            .flat_map(|op| {
                let lock = if let Operation::QueueWait { lock, .. } = op { Some(lock) } else { None };
                op.object().into_iter().chain(lock)
            })
            .collect();
        let mut users: HashMap<String, Vec<ObjectId>> = HashMap::new();
        let mut globals: HashSet<String> = HashSet::new();
        for object in objects {
            let Some(address) = self.native.address_of(object) else { continue };
            if let Some(name) = symbols.variable_at(address) {
                globals.insert(name);
                continue;
            }
            let Some(is_type) = types_of(self.native.names().kind(object)) else { continue };
            let is_type = |name: &str| is_type.iter().any(|part| name.contains(part));
            if let Some(name) = symbols.local_at(&locals, address, &is_type) {
                users.entry(name).or_default().push(object);
            }
        }
        drop(symbols);
        for (name, objects) in users {
            if let ([object], false) = (objects.as_slice(), globals.contains(&name)) {
                self.locals.insert(*object, name);
            }
        }
    }

    pub(crate) fn unwind(&self, registers: &[u64; 8], exact: bool) -> Vec<backtrace::Frame> {
        let (Some(symbols), Some(id)) = (&self.symbols, self.native.process_id()) else { return Vec::new() };
        program_frames(symbols.borrow_mut().unwind(id, &self::registers(registers, exact)))
    }
}

impl Words for NativeWords<'_> {
    fn names(&self) -> &Names {
        self.native.names()
    }

    fn variable(&self, object: ObjectId) -> Option<String> {
        let address = self.native.address_of(object)?;
        self.symbols.as_ref()?.borrow_mut().variable_at(address)
    }

    fn local(&self, object: ObjectId) -> Option<String> {
        self.locals.get(&object).cloned()
    }

    fn place(&self, site: Site) -> Option<describe::Place> {
        if site.0 == 0 {
            return None;
        }
        let locations = self.symbols.as_ref()?.borrow_mut().locate(site.0 - 1);
        // Where headers of a library were inlined, whoever called them is more telling.
        let known = || locations.iter().filter(|l| l.line.is_some());
        let place = known().find(|place| is_own(place)).or_else(|| known().next()).or(locations.first())?;
        Some(match (&place.file, place.line) {
            (Some(file), Some(line)) => describe::Place { file: file.display().to_string(), line, column: 0 },
            _ => describe::Place { file: place.to_string(), ..Default::default() },
        })
    }
}

/// What names of types contain that objects of a kind have in C and C++; nothing for kinds that are not known by their address.
fn types_of(kind: ObjectKind) -> Option<&'static [&'static str]> {
    Some(match kind {
        ObjectKind::Mutex => &["mutex", "mtx_t"],
        ObjectKind::Spin => &["spin"],
        ObjectKind::RwLock => &["rwlock", "shared_mutex", "shared_timed_mutex"],
        ObjectKind::Condvar => &["cond", "cnd_t"],
        ObjectKind::Semaphore => &["sem"],
        ObjectKind::Barrier => &["barrier"],
        ObjectKind::Once => &["once"],
        _ => return None,
    })
}

pub(crate) fn registers(of_thread: &[u64; 8], exact: bool) -> Registers {
    let [rip, rsp, rbp, rbx, r12, r13, r14, r15] = *of_thread;
    Registers { rip, rsp, rbp, rbx, r12, r13, r14, r15, exact }
}

/// Whether a thread was stopped at an instruction, not in a call of the runtime.
fn is_exact(aftermath: &Aftermath, thread: ThreadId) -> bool {
    aftermath.culprit == thread && matches!(aftermath.ended, Ended::Signal { .. } | Ended::Hang(_))
}

/// The symbols of the process of the last execution, as long as it is there.
pub(crate) fn symbols_of(native: &Native) -> Option<Rc<RefCell<Symbols>>> {
    let symbols = native.process_id().and_then(|id| Symbols::new(id).ok())?;
    Some(Rc::new(RefCell::new(symbols)))
}

/// The same without looking into the process: nothing but names by birth.
struct PlainWords<'a>(&'a Native);

impl Words for PlainWords<'_> {
    fn names(&self) -> &Names {
        self.0.names()
    }

    fn place(&self, _site: Site) -> Option<describe::Place> {
        None
    }
}

/// What describing a finding needs beyond the execution.
pub(crate) struct Context<'a> {
    pub(crate) check: &'a Check,
    /// How it was shown.
    pub(crate) proof: &'a Proof<'a>,
    /// What the program writes usually, if that is what differs.
    pub(crate) usual: Option<&'a [Vec<u8>; 2]>,
}

/// Makes a finding of what the last execution showed, while its process is still there; writes its schedule file.
pub(crate) fn describe(native: &mut Native, noticed: &Observation, context: &Context<'_>) -> Finding {
    let check = context.check;
    let outputs = [native.output(0), native.output(1)].map(|bytes| text_of(&bytes));
    let mut words = NativeWords::new(native);
    let execution = match &words.symbols {
        Some(symbols) => &callers::in_own_sources(native, &mut symbols.borrow_mut()),
        None => native.execution(),
    };
    let aftermath = native.aftermath();
    if !matches!(aftermath.ended, Ended::Exit(_)) {
        words.learn_locals();
    }
    let culprit = (!matches!(aftermath.ended, Ended::ByModel | Ended::Exit(_))).then_some(aftermath.culprit);
    let mut sources = Sources::of_file(&native.launch().program);
    let noticed_by_sanitizer = sanitizer_message(&outputs[1]).filter(|_| noticed.kind == Kind::Abort);
    let message = match noticed_by_sanitizer {
        Some(message) => format!("{}: {message}", native.names().thread_name(aftermath.culprit)),
        None => noticed.message.clone(),
    };
    let facts = Facts {
        kind: noticed.kind,
        message: &message,
        execution,
        preemptions: context.proof.preemptions,
        race: None,
        culprit,
        program: &command_line(native.launch()),
        level: LEVEL,
    };
    let mut story = ordain_report::tell(&words, &mut sources, &facts);
    for record in &aftermath.threads {
        let thread = ThreadId(record.thread);
        if thread.index() >= native.names().thread_count() || matches!(aftermath.ended, Ended::Exit(_)) {
            continue;
        }
        let exact = is_exact(aftermath, thread);
        let name = native.names().thread_name(thread);
        if let Some(told) = story.threads.iter_mut().find(|t| t.name == name) {
            let frames = words.unwind(&record.registers, exact);
            told.frames = frames.iter().flat_map(|f| &f.locations).map(|l| frame(l, &mut sources)).collect();
        }
    }
    ordain_report::keep_sources(&mut story, &mut sources);
    (story.outputs, story.shrunk) = (outputs, context.proof.shrunk);
    story.usual_outputs = context.usual.map(|usual| usual.each_ref().map(|bytes| text_of(bytes)));
    let steps: Vec<String> = execution.steps.iter().map(|s| describe::step(&words, s)).collect();
    let schedule = schedule(native, check, &story, noticed.prefix.len());
    let (mut file, mut trouble) = (None, None);
    if context.proof.number > 0
        && let Some(directory) = &check.run.directory
    {
        let text = schedule.format(&mut |i| steps.get(i).cloned());
        match store::write(directory, &store::finding_file(context.proof.number), text.as_bytes()) {
            Ok(path) => {
                story.schedule = Some(path.display().to_string());
                file = Some(path);
            }
            Err(error) => trouble = Some(error),
        }
    }
    Finding { story, file, trouble, schedule }
}

pub(crate) fn frame(location: &Location, sources: &mut Sources) -> Frame {
    let place = location.file.as_ref().zip(location.line).map(|(file, line)| {
        let file = file.display().to_string();
        let text = sources.line(&file, line).map(str::to_owned);
        Place { file, line, column: location.column.unwrap_or(0), text }
    });
    Frame { function: location.function.clone(), place, module: location.module.clone(), offset: location.offset }
}

/// What a sanitizer has noticed, as it sums that up.
fn sanitizer_message(errors: &str) -> Option<String> {
    if let Some((_, summary)) = errors.lines().find_map(|line| line.split_once("SUMMARY: ")) {
        return Some(summary.trim().to_owned());
    }
    let (_, what) = errors.lines().find_map(|line| line.split_once(": runtime error: "))?;
    Some(format!("UndefinedBehaviorSanitizer: {}", what.trim()))
}

/// What was written, as text of a length that can be kept.
fn text_of(bytes: &[u8]) -> String {
    const MOST: usize = 64 << 10;
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned();
    if bytes.len() > MOST {
        let _ = write!(text, "\n... {} bytes more", bytes.len() - MOST);
    }
    text
}

/// The program and its arguments, as a shell would take them.
pub fn command_line(launch: &Launch) -> String {
    let words = [launch.program.as_os_str()].into_iter().chain(launch.arguments.iter().map(OsString::as_os_str));
    words.map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// What there is to notice if the last execution wrote something else than usual.
pub(crate) fn unlike(usual: &[Vec<u8>; 2], native: &mut Native) -> Option<Observation> {
    let output = [native.output(0), native.output(1)];
    if matches!(native.execution().end, End::Diverged(_) | End::Cut) || output == *usual {
        return None;
    }
    let message = output_difference(usual, &output);
    Some(Observation {
        kind: Kind::Output,
        message,
        place: String::new(),
        prefix: ordain_explore::prefix_of(native.execution()),
    })
}

/// How two outputs differ: the first line that does.
fn output_difference(one: &[Vec<u8>; 2], other: &[Vec<u8>; 2]) -> String {
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

fn schedule(native: &Native, check: &Check, story: &Story, steps: usize) -> Schedule {
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
    if let Some(inputs) = crate::inputs::to_text(&native.inputs()) {
        put("outside", inputs);
    }
    for lesson in native.lessons().iter().filter_map(|site| site.lesson()) {
        put("lesson", lesson.to_string());
    }
    put("found", format!("{}: {}", story.kind.name(), story.headline));
    put("level", LEVEL.name().to_owned());
    put("ordain", env!("CARGO_PKG_VERSION").to_owned());
    put("binary", format!("{:032x}", check.binary.fingerprint));
    for (key, value) in settings::header(&check.settings, &check.program) {
        put(&key, value);
    }
    let transitions = native.execution().steps.iter().take(steps).map(ordain_model::Step::transition);
    schedule.set_steps(transitions, native.names());
    schedule
}

/// What a schedule says about standard input: enough to tell whether it is the same.
pub fn describe_input(input: &[u8]) -> String {
    format!("{} bytes, {:032x}", input.len(), fingerprint::of(input))
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
