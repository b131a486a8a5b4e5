//! Thousands of small programs over the whole interposed interface, each compared with itself: the optimal search with plain
//! depth-first search and with samplers, the three modes, and native runs with random pauses.
//!
//! `ORDAIN_PROGRAMS` is how many are tried, `ORDAIN_SEED` where they begin, `ORDAIN_FAMILIES` what they are made of; `scripts/compare-programs` tries many.

mod common;
mod generator;

use common::{check, compile, sources};
use generator::Generated;
use ordain_explore::strategy::{Dfs, Optimal, Pct, Pos, Random};
use ordain_explore::{Class, Strategy, Target, class_of, search};
use ordain_model::{End, Execution, Step};
use ordain_native::{Ended, Failure, Mode, Native};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::ops::ControlFlow;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a native run is waited for before it may be stuck.
const STUCK: Duration = Duration::from_millis(300);

/// Beginnings of words about pipes, sockets and the like.
const ON_DESCRIPTORS: [&str; 13] = [
    "read.",
    "write.",
    "closewrite.",
    "pollread.",
    "select",
    "send.",
    "recv.",
    "shutdown.",
    "eventadd.",
    "eventtake.",
    "epoll.",
    "open.",
    "append.",
];

/// How a run ended, and what each thread saw.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    end: String,
    threads: BTreeMap<String, Vec<String>>,
}

impl Outcome {
    fn new(end: String, output: &[u8]) -> Self {
        let mut threads = BTreeMap::<String, Vec<String>>::new();
        for line in String::from_utf8_lossy(output).lines() {
            if let Some((thread, word)) = line.split_once(' ') {
                threads.entry(thread.to_owned()).or_default().push(word.to_owned());
            }
        }
        Self { end, threads }
    }

    /// Whether this run, which was ended from within, may be the beginning of the other: threads may not have told their last word.
    fn is_cut_from(&self, other: &Self) -> bool {
        self.end == other.end
            && self.threads.iter().all(|(thread, words)| {
                other.threads.get(thread).is_some_and(|o| o.starts_with(words) && o.len() <= words.len() + 1)
            })
    }

    /// Whether this run, in which a child process waits for ever, goes on where the other was ended for it.
    fn goes_on_from(&self, other: &Self) -> bool {
        let begins_so = |(thread, words): (&String, &Vec<String>)| {
            words.is_empty() || self.threads.get(thread).is_some_and(|own| own.starts_with(words))
        };
        self.end == "stuck" && other.threads.iter().all(begins_so)
    }
}

/// What a search showed.
#[derive(Default)]
struct Explored {
    classes: BTreeMap<Class, Outcome>,
    /// How the first execution of each class went.
    steps: BTreeMap<Class, String>,
    outcomes: BTreeSet<Outcome>,
    /// All was explored.
    complete: bool,
    /// Threads that seemed to wait in a loop were held: not every number of rounds was explored.
    held: bool,
    /// Executions that ended because a child process waits for ever. Natively, other threads go on.
    stuck_children: Vec<Outcome>,
    /// Something was used that is no object of its kind: natively anything can follow.
    misused: bool,
}

/// Why a program was not compared.
enum Trouble {
    Refused(String),
    Wrong(String),
}

fn interpreter() -> PathBuf {
    compile(&common::Program {
        file: "generated/interpreter.c".to_owned(),
        language: "c".to_owned(),
        flags: vec!["-w".to_owned()],
        ..common::Program::default()
    })
}

/// Where one program runs, and what runs it.
struct Bench {
    interpreter: PathBuf,
    directory: PathBuf,
}

impl Bench {
    fn arguments(&self, program: &Generated) -> Vec<String> {
        let mut arguments = vec![self.directory.display().to_string()];
        arguments.extend(program.arguments());
        arguments
    }

    fn native(&self, program: &Generated) -> Result<Native, Trouble> {
        let check = check(&self.interpreter, &self.arguments(program));
        Native::new(check.launch.clone(), check.options(), None, check.program.patience())
            .map_err(|f| Trouble::Wrong(f.to_string()))
    }

    /// Runs it as it is, with random pauses; `None` if it takes too long to say anything.
    fn run(&self, program: &Generated, pause: u64) -> Option<Outcome> {
        let mut command = Command::new(&self.interpreter);
        command.args(self.arguments(program)).env("DELAY", pause.to_string()).process_group(0);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut stdout = child.stdout.take()?;
        let reader = std::thread::spawn(move || {
            let mut output = Vec::new();
            stdout.read_to_end(&mut output).map(|_| output)
        });
        let started = Instant::now();
        let group = Pid::from_child(&child);
        let ended =
            || waitid(WaitId::Pid(group), WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT);
        let is_stuck = loop {
            match ended().ok()? {
                Some(_) => break false,
                // Who waits for a spin lock never sleeps.
                None if started.elapsed() > STUCK && (is_asleep(child.id()) || program.has("spin")) => break true,
                None if started.elapsed() > 10 * STUCK => break true,
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        // Children of its own may be stuck and hold its output. As long as it is not waited for, nobody else has its number.
        kill_process_group(group, Signal::KILL).ok()?;
        let status = child.wait().ok().filter(|_| !is_stuck);
        let output = reader.join().ok()?.ok()?;
        let end = match status {
            None => "stuck".to_owned(),
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit {code}"),
                (_, Some(libc::SIGABRT)) => "abort".to_owned(),
                (_, signal) => format!("signal {}", signal.unwrap_or(0)),
            },
        };
        Some(Outcome::new(end, &output))
    }

    /// Everything that must hold of a program. How many classes it has.
    fn examine(&self, program: &Generated) -> Result<usize, Trouble> {
        // From when a child process has the descriptors too, the kernel alone knows what becomes of them: threads wait in real time, and not every
        // order of their calls with making the child is explored. Nothing is verified then.
        if program.has("fork.") && ON_DESCRIPTORS.iter().any(|word| program.has(word)) {
            return Err(Trouble::Refused("a child process has the descriptors of threads".to_owned()));
        }
        // One run of the program, or copies of it: threads and objects have the same numbers in all.
        let mut native = self.native(program)?;
        let optimal = explore(&mut native, &mut Optimal::default(), 2_000, true)?;
        let same = |other: &Explored, who: &str| -> Result<(), Trouble> {
            for (class, outcome) in &other.classes {
                match optimal.classes.get(class) {
                    Some(known) if known != outcome => {
                        return Err(Trouble::Wrong(format!("{who}: {outcome:?}, but in the same class {known:?}")));
                    }
                    None if optimal.complete => {
                        let steps = &other.steps[class];
                        return Err(Trouble::Wrong(format!(
                            "{who}: a class that optimal misses: {outcome:?}\n{steps}"
                        )));
                    }
                    _ => {}
                }
            }
            Ok(())
        };
        let dfs = explore(&mut native, &mut Dfs::default(), 1_500, false)?;
        same(&dfs, "dfs")?;
        if dfs.complete && optimal.complete && dfs.classes.len() != optimal.classes.len() {
            let counts = (dfs.classes.len(), optimal.classes.len());
            return Err(Trouble::Wrong(format!("{} classes by dfs, {} by optimal", counts.0, counts.1)));
        }
        same(&explore(&mut native, &mut Random::new(3), 60, false)?, "random")?;
        same(&explore(&mut native, &mut Pos::new(3), 60, false)?, "pos")?;
        same(&explore(&mut native, &mut Pct::new(3, 3), 60, false)?, "pct")?;
        for (mode, most) in [(Mode::Fork, 100), (Mode::Exec, 8)] {
            let mut other = native.fresh(mode).map_err(|f| Trouble::Wrong(f.to_string()))?;
            same(&explore(&mut other, &mut Optimal::default(), most, true)?, mode.name())?;
        }
        // The kernel lets any thread take a signal for the process at any time until another one does, also the sender after `kill` has
        // returned; here it is decided when it is sent. And the C library cancels threads also while they return from a system call, so
        // that what it did is done; here they are cancelled before.
        let is_late = ["kill.", "sigqueue.", "cancel."].iter().any(|word| program.has(word));
        // A thread that is held may natively give up once more before anything changes. If that never happens last, nobody learns of it: of
        // four timed waits beside four posts, 63 of 70 classes are explored.
        if optimal.complete && !optimal.held && !optimal.misused && !is_late {
            self.compare_native(program, &optimal)?;
        }
        Ok(optimal.classes.len())
    }

    /// What happens without Ordain must be among what was explored.
    fn compare_native(&self, program: &Generated, optimal: &Explored) -> Result<(), Trouble> {
        for pause in 1..=3 {
            let Some(outcome) = self.run(program, pause) else { continue };
            let known = optimal.outcomes.contains(&outcome)
                || (outcome.end != "exit 0" && optimal.outcomes.iter().any(|o| outcome.is_cut_from(o)))
                || optimal.stuck_children.iter().any(|o| outcome.goes_on_from(o));
            if !known {
                return Err(Trouble::Wrong(format!("native run {pause}: {outcome:?} is in no class")));
            }
            if outcome.end == "stuck" {
                break;
            }
        }
        Ok(())
    }
}

/// Explores a program; `once` demands that no class comes twice.
fn explore(native: &mut Native, strategy: &mut dyn Strategy, most: u64, once: bool) -> Result<Explored, Trouble> {
    let mut explored = Explored::default();
    let mut trouble = None;
    let summary = search(native, strategy, &mut |native, summary| {
        if summary.restarted && summary.executions == 0 {
            // A long loop was learned of: what was explored does not count.
            explored = Explored::default();
            return ControlFlow::Continue(());
        }
        trouble = note(native, &mut explored, once);
        if trouble.is_some() || summary.executions >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    explored.complete = summary.exhausted;
    trouble.map_or(Ok(explored), Err)
}

/// Takes down an execution.
fn note(native: &mut Native, explored: &mut Explored, once: bool) -> Option<Trouble> {
    match native.failure() {
        Some(Failure::Refused(why)) => return Some(Trouble::Refused(why.clone())),
        Some(failure) => return Some(Trouble::Wrong(failure.to_string())),
        None => {}
    }
    let execution = native.execution();
    let class = class_of(execution);
    explored.held |= execution.spin_held;
    explored.misused |= matches!(native.aftermath().ended, Ended::InvalidObject { .. });
    let end = match (&execution.end, &native.aftermath().ended) {
        (End::Diverged(divergence), _) => return Some(Trouble::Wrong(format!("departs: {divergence:?}"))),
        (End::Deadlock(_) | End::Livelock { .. }, _) => "stuck".to_owned(),
        (End::Complete, Ended::Exit(code)) => format!("exit {code}"),
        (_, Ended::Exit(code)) => format!("exit {code}"),
        (_, Ended::Abort) => "abort".to_owned(),
        (_, Ended::Signal { signal, .. }) => format!("signal {signal}"),
        (_, Ended::Hang(_) | Ended::ChildDeadlock { .. }) => "stuck".to_owned(),
        (end, ended) => format!("{} {ended:?}", end.title()),
    };
    let outcome = Outcome::new(end, &native.output(0));
    if matches!(native.aftermath().ended, Ended::ChildDeadlock { .. }) {
        explored.stuck_children.push(outcome.clone());
    }
    explored.outcomes.insert(outcome.clone());
    explored.steps.entry(class).or_insert_with(|| steps_of(native.execution()));
    match explored.classes.insert(class, outcome.clone()) {
        Some(_) if once => {
            let [first, again] = [explored.steps[&class].clone(), steps_of(native.execution())];
            Some(Trouble::Wrong(format!("a class was run twice: {outcome:?}\n{first}      again:\n{again}")))
        }
        Some(before) if before != outcome => {
            Some(Trouble::Wrong(format!("one class, two outcomes: {before:?} and {outcome:?}")))
        }
        _ => None,
    }
}

/// The steps of an execution, one in each line.
fn steps_of(execution: &Execution) -> String {
    let line = |s: &Step| format!("      {:?} {:?} -> {:?}\n", s.thread, s.op, s.outcome);
    execution.steps.iter().map(line).collect()
}

/// Whether all threads of a process wait.
fn is_asleep(process: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{process}/task")) else { return false };
    tasks.flatten().all(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
    })
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Examines programs, two at a time; what is wrong, with the smallest program that shows it.
#[allow(clippy::print_stderr)] // Tells what was compared.
fn examine_all(programs: &(dyn Fn(u64) -> Option<Generated> + Sync)) {
    let interpreter = interpreter();
    let next = AtomicU64::new(0);
    let (wrong, refused, classes) =
        (Mutex::new(Vec::new()), Mutex::new(BTreeMap::<String, u64>::new()), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let directory = tempfile::tempdir().expect("a directory");
                let bench = Bench { interpreter: interpreter.clone(), directory: directory.path().to_owned() };
                while let Some(program) = programs(next.fetch_add(1, Ordering::Relaxed)) {
                    match bench.examine(&program) {
                        Ok(count) => _ = classes.fetch_add(count as u64, Ordering::Relaxed),
                        Err(Trouble::Refused(why)) => *refused.lock().expect("the list").entry(why).or_default() += 1,
                        Err(Trouble::Wrong(why)) => {
                            let mut fails = |p: &Generated| matches!(bench.examine(p), Err(Trouble::Wrong(_)));
                            let small = program.shrink(&mut fails);
                            let again = match bench.examine(&small) {
                                Err(Trouble::Wrong(again)) => again,
                                _ => why,
                            };
                            eprintln!("WRONG {small:?}\n      {again}");
                            wrong.lock().expect("the list").push(format!("{small:?}\n    {again}"));
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("the list");
    eprintln!("{} classes; refused: {:?}", classes.into_inner(), refused.into_inner().expect("the list"));
    assert!(wrong.is_empty(), "{} programs differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn generated_programs_agree_with_every_other_way_to_run_them() {
    let (first, many) = (number("ORDAIN_SEED", 1), number("ORDAIN_PROGRAMS", 200));
    let families = std::env::var("ORDAIN_FAMILIES").unwrap_or_default();
    let only: Vec<String> = families.split(',').filter(|f| !f.is_empty()).map(str::to_owned).collect();
    examine_all(&|i| (i < many).then(|| Generated::new(first + i, &only)));
}

/// What was wrong once.
#[test]
fn regressions_agree_with_every_other_way_to_run_them() {
    let text = std::fs::read_to_string(sources().join("generated/regressions.txt")).expect("the list");
    let list: Vec<Generated> =
        text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).map(Generated::parse).collect();
    assert!(!list.is_empty());
    examine_all(&|i| list.get(i as usize).cloned());
}

/// Every word that the interpreter knows is generated, and the other way round.
#[test]
fn every_word_is_generated() {
    let source = std::fs::read_to_string(sources().join("generated/interpreter.c")).expect("the interpreter");
    let known: BTreeSet<&str> =
        source.split("WORD(").skip(2).filter_map(|rest| rest.split_once(')')).map(|(word, _)| word).collect();
    let used: BTreeSet<String> = (1..4_000)
        .flat_map(|seed| Generated::new(seed, &[]).bodies.into_iter().flatten())
        .map(|w| w.split('.').next().unwrap_or_default().to_owned())
        .collect();
    let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    assert_eq!(known, used);
}
