//! Programs as Debian ships them, and programs of many libraries: right under any schedule, and the same under the same.

mod common;

use common::{Program, check, compile, programs};
use ordain_explore::strategy::{Pct, Random};
use ordain_explore::{Strategy, Target, search};
use ordain_model::{End, Transition};
use ordain_native::{Ended, Mode, Native};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A program, its arguments, the threads that it must have at least, and what its output must be.
struct Real {
    path: PathBuf,
    arguments: Vec<String>,
    threads: usize,
    expected: Expected,
}

/// What one execution wrote, and its schedule.
type Sample = (Vec<u8>, Vec<Transition>);

enum Expected {
    /// Exactly this.
    Exactly(Vec<u8>),
    /// These lines, in any order.
    Lines(Vec<u8>),
    /// What this command makes of it is the input.
    Unpacked(Vec<&'static str>, Vec<u8>),
}

fn find(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed: run scripts/setup"))
}

/// What a command writes, given some input.
fn output_of(command: &mut Command, input: &[u8]) -> Vec<u8> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("output");
    let _ = writer.join();
    assert!(output.status.success());
    output.stdout
}

fn sorted(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').collect();
    lines.sort_unstable();
    lines
}

impl Real {
    fn new(name: &str, arguments: &[&str], threads: usize, expected: Expected) -> Self {
        Self { path: find(name), arguments: arguments.iter().map(|a| (*a).to_owned()).collect(), threads, expected }
    }

    fn is_right(&self, output: &[u8]) -> bool {
        match &self.expected {
            Expected::Exactly(expected) => output == expected,
            Expected::Lines(expected) => sorted(output) == sorted(expected),
            Expected::Unpacked(command, input) => {
                output_of(Command::new(find(command[0])).args(&command[1..]), output) == *input
            }
        }
    }

    /// Runs it under some schedules of a strategy.
    #[allow(clippy::print_stderr)] // Tells what was checked, and how.
    fn sample(&self, strategy: &mut dyn Strategy, most: u64, mode: Option<Mode>) -> Vec<Sample> {
        let name = self.path.display();
        let check = check(&self.path, &self.arguments);
        let mut native =
            Native::new(check.launch.clone(), check.options(), mode, check.program.patience()).expect("a start");
        let mut samples = Vec::new();
        let begin = Instant::now();
        let summary = search(&mut native, strategy, &mut |native, summary| {
            assert!(native.failure().is_none(), "{name}: {:?}", native.failure());
            assert!(matches!(native.execution().end, End::Complete), "{name}: {}", native.execution().end.title());
            let errors = String::from_utf8_lossy(&native.output(1)).into_owned();
            assert_eq!(native.aftermath().ended, Ended::Exit(0), "{name}: {errors}");
            samples.push((native.output(0), native.execution().schedule()));
            if summary.executions >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(native.losses, 0, "{name}: {:?}", native.last_loss);
        assert!(summary.threads >= self.threads, "{name}: only {} threads", summary.threads);
        eprintln!(
            "{name}: {} executions in {} mode, up to {} threads and {} steps, {:?}",
            summary.executions,
            native.mode().name(),
            summary.threads,
            summary.depth,
            begin.elapsed()
        );
        samples
    }

    /// The whole examination.
    fn examine(&self) {
        let name = self.path.display();
        let strategies: [Box<dyn Strategy>; 2] = [Box::new(Random::new(7)), Box::new(Pct::new(7, 3))];
        for mut strategy in strategies {
            let samples = self.sample(&mut *strategy, 50, None);
            assert!(samples.len() >= 50, "{name}: only {} executions", samples.len());
            // Most schedules give the same output, which need not be unpacked again.
            let outputs: BTreeSet<&[u8]> = samples.iter().map(|s| s.0.as_slice()).collect();
            assert!(outputs.into_iter().all(|output| self.is_right(output)), "{name}: wrong output");
            let schedules: BTreeSet<&[Transition]> = samples.iter().map(|s| s.1.as_slice()).collect();
            assert!(schedules.len() >= 25, "{name}: only {} schedules", schedules.len());
        }
        let first = self.sample(&mut Random::new(11), 2, None);
        for run in 1..10 {
            // Whatever the mode is, and whatever ran in the process before.
            let mode = [None, Some(Mode::Exec), Some(Mode::Fork)][run % 3];
            let again = self.sample(&mut Random::new(11), 2, mode);
            assert!(again == first, "{name}: the same seed gave another execution in mode {mode:?}");
        }
    }
}

/// Text in which compressors find something to do.
fn text(lines: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut out = Vec::new();
    for _ in 0..lines {
        for _ in 0..6 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            out.extend_from_slice([&b"fish"[..], b"fowl ", b"salt", b"stone ", b"river"][(state >> 24) as usize % 5]);
        }
        out.push(b'\n');
    }
    out
}

/// Checks a compressor on text of so many lines, of about 30 bytes each.
fn compressor(name: &str, arguments: &[&str], lines: usize, unpack: Vec<&'static str>) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("input").to_string_lossy().into_owned();
    let input = text(lines);
    std::fs::write(&path, &input).expect("a file");
    let mut all = arguments.to_vec();
    all.push(&path);
    Real::new(name, &all, 3, Expected::Unpacked(unpack, input)).examine();
}

#[test]
fn pigz() {
    compressor("pigz", &["-p", "2", "-b", "32", "-1", "-c"], 3_500, vec!["gzip", "-dc"]);
}

#[test]
fn pbzip2() {
    compressor("pbzip2", &["-p2", "-b1", "-1", "-c"], 9_000, vec!["bzip2", "-dc"]);
}

#[test]
fn lbzip2() {
    compressor("lbzip2", &["-n", "2", "-1", "-c"], 9_000, vec!["bzip2", "-dc"]);
}

#[test]
fn plzip() {
    compressor("plzip", &["-n", "2", "-0", "-B", "30KiB", "-s", "30KiB", "-c"], 3_000, vec!["plzip", "-dc"]);
}

#[test]
fn zstd() {
    // Its jobs have half a MiB at least.
    compressor("zstd", &["-T2", "-q", "-1", "-B512KB", "-c"], 40_000, vec!["zstd", "-dcq"]);
}

#[test]
fn xz() {
    compressor("xz", &["-T2", "-0", "--block-size=30KiB", "-c"], 3_000, vec!["xz", "-dc"]);
}

#[test]
fn sort() {
    // It uses threads from 128 Ki lines on.
    let input: Vec<u8> =
        (0..140_000u32).flat_map(|i| [b'a' + (i.wrapping_mul(2_654_435_761) >> 28) as u8, b'\n']).collect();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("input").to_string_lossy().into_owned();
    std::fs::write(&path, &input).expect("a file");
    let expected = output_of(Command::new(find("sort")).arg(&path), &[]);
    Real::new("sort", &["--parallel=2", &path], 2, Expected::Exactly(expected)).examine();
}

#[test]
fn ag() {
    let directory = tempfile::tempdir().expect("a directory");
    for i in 0..6 {
        std::fs::write(directory.path().join(format!("file{i}.txt")), text(20 + i)).expect("a file");
    }
    let place = directory.path().to_string_lossy().into_owned();
    let arguments = ["--workers=2", "--nocolor", "riverfish", &place];
    let expected = output_of(Command::new(find("ag")).args(arguments), &[]);
    assert!(!expected.is_empty());
    Real::new("ag", &arguments, 3, Expected::Lines(expected)).examine();
}

/// One of our own programs, which prints the same whatever the schedule is.
fn own(name: &str, threads: usize) {
    let wanted = |p: &Program| p.file.starts_with("real/") && p.file.contains(name);
    let program = programs().into_iter().find(wanted).expect("in the list");
    let path = compile(&program);
    let expected = output_of(Command::new(&path).args(&program.args), &[]);
    Real { path, arguments: program.args, threads, expected: Expected::Exactly(expected) }.examine();
}

#[test]
fn openmp() {
    own("openmp", 2);
}

#[test]
fn cpp20() {
    own("cpp20", 3);
}

#[test]
fn rust_std() {
    own("rust_std", 3);
}
