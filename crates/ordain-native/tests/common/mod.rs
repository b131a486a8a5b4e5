//! Test programs: the list, compiling them, and checking them.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part of it.

use ordain_native::{Check, Launch, Patience, binary};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A program of the list.
#[derive(Clone, Debug, Deserialize)]
pub struct Program {
    pub file: String,
    pub language: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub libs: Vec<String>,
    pub expect: String,
    #[serde(default)]
    pub option: Option<String>,
    pub why: String,
    /// Its number of classes, where that is known.
    #[serde(default)]
    pub classes: Option<u64>,
    /// Inlined atomics take part, so not every order is visible.
    #[serde(default)]
    pub atomics: bool,
    /// Too many schedules to explore them all.
    #[serde(default)]
    pub sample: bool,
    /// What it reads.
    #[serde(default)]
    pub stdin: Option<String>,
}

#[derive(Deserialize)]
struct Manifest {
    program: Vec<Program>,
}

/// Where the programs are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs")
}

/// All programs of the list.
pub fn programs() -> Vec<Program> {
    let text = std::fs::read_to_string(sources().join("manifest.toml")).expect("the manifest");
    let manifest: Manifest = toml::from_str(&text).expect("a valid manifest");
    manifest.program
}

/// Compiles a program, unless that was done since it last changed.
pub fn compile(program: &Program) -> PathBuf {
    // Tests of one file run at the same time and use the same programs.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let source = sources().join(&program.file);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&directory).expect("a directory");
    let out = directory.join(program.file.replace(['/', '.'], "-"));
    let time = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    if time(&out) > time(&source) {
        return out;
    }
    let partial = directory.join(format!("{}.{}", program.file.replace(['/', '.'], "-"), std::process::id()));
    let (compiler, flags): (&str, &[&str]) = match program.language.as_str() {
        "c" => ("cc", &["-O1", "-g", "-pthread"]),
        "c++" => ("c++", &["-std=c++20", "-O1", "-g", "-pthread"]),
        _ => ("rustc", &["-O", "-g", "--edition", "2021"]),
    };
    let mut command = Command::new(compiler);
    command.args(flags).args(&program.flags).arg("-o").arg(&partial).arg(&source).args(&program.libs);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}: {}", program.file, String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&partial, &out).expect("renamed");
    out
}

/// A check of a program, with all options as they are by default.
pub fn check(path: &Path, arguments: &[String]) -> Check {
    Check {
        binary: binary::inspect(path.as_os_str(), None).expect("a program that can be checked"),
        launch: Launch {
            program: path.to_owned(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: Vec::new(),
            input: Vec::new(),
        },
        options: ordain_native::default_options(),
        strategy: None,
        bound: None,
        seed: 1,
        depth: 3,
        max_executions: None,
        max_time: None,
        mode: None,
        keep_going: false,
        compare_output: false,
        expected_status: 0,
        patience: Patience { busy: Duration::from_millis(400), blocked: Duration::from_secs(5) },
        directory: None,
        shrink_time: Duration::from_secs(5),
        exploration_trace: None,
        workers: 0,
        slice: ordain_native::SLICE,
        resume: false,
    }
}

/// A check of a program of the list.
pub fn check_of(program: &Program) -> Check {
    let mut check = check(&compile(program), &program.args);
    check.compare_output = program.option.as_deref() == Some("output");
    if let Some(stdin) = &program.stdin {
        check.launch.input = stdin.clone().into_bytes();
    }
    check
}
