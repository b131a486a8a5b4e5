//! Test programs: the list, compiling them, and checking them.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part of it.

use ordain_native::{Check, Launch, ProgramSettings, Report, RunOptions, Settings, binary};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// All notes of a check, in one text.
pub fn notes(report: &Report) -> String {
    report.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("; ")
}

/// A program of the list.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Program {
    pub file: String,
    pub language: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub flags: Vec<String>,
    #[serde(default)]
    pub libs: Vec<String>,
    /// Shared libraries of its own that it is linked with, and those that it loads.
    #[serde(default)]
    pub libraries: Vec<String>,
    #[serde(default)]
    pub loads: Vec<String>,
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

/// Compiles a program, and the libraries beside it, unless that was done since they last changed.
pub fn compile(program: &Program) -> PathBuf {
    // Tests of one file run at the same time and use the same programs.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    let beside = directory.join("libraries");
    std::fs::create_dir_all(&beside).expect("a directory");
    let mut flags = program.flags.clone();
    let mut libs = program.libs.clone();
    for library in program.libraries.iter().chain(&program.loads) {
        let name = Path::new(library).file_stem().expect("a name").to_string_lossy();
        let language = if library.ends_with(".cc") { "c++" } else { "c" };
        let shared = ["-shared", "-fPIC"].map(String::from);
        translate(library, language, &shared, &[], &beside.join(format!("lib{name}.so")));
        if program.libraries.contains(library) {
            libs.push(format!("-l{name}"));
        }
    }
    if !program.libraries.is_empty() || !program.loads.is_empty() {
        flags.extend([format!("-L{}", beside.display()), format!("-Wl,-rpath,{}", beside.display())]);
    }
    let out = directory.join(program.file.replace(['/', '.'], "-"));
    translate(&program.file, &program.language, &flags, &libs, &out);
    out
}

/// Runs a compiler on a file beside the manifest.
fn translate(file: &str, language: &str, more: &[String], libs: &[String], out: &Path) {
    let source = sources().join(file);
    let time = |path: &Path| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    if time(out) > time(&source) {
        return;
    }
    let partial = out.with_extension(std::process::id().to_string());
    let (compiler, flags): (&str, &[&str]) = match language {
        "c" => ("cc", &["-O1", "-g", "-pthread"]),
        "c++" => ("c++", &["-std=c++20", "-O1", "-g", "-pthread"]),
        _ => ("rustc", &["-O", "-g", "--edition", "2021"]),
    };
    let mut command = Command::new(compiler);
    command.args(flags).args(more).arg("-o").arg(&partial).arg(&source).args(libs);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    std::fs::rename(&partial, out).expect("renamed");
}

/// A directory for the files of one check: several run at the same time.
fn own_directory() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("work-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// A check of a program, with all options as they are by default.
pub fn check(path: &Path, arguments: &[String]) -> Check {
    Check {
        binary: binary::inspect(path.as_os_str(), None).expect("a program that can be checked"),
        launch: Launch {
            program: path.to_owned(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: vec![("TMPDIR".into(), own_directory().into())],
            input: Vec::new(),
        },
        settings: Settings { seed: 1, shrink_time: Duration::from_secs(5), ..Settings::default() },
        program: ProgramSettings { hang_time: Duration::from_secs(1), ..ProgramSettings::default() },
        run: RunOptions::default(),
    }
}

/// A check of a program of the list.
pub fn check_of(program: &Program) -> Check {
    let mut check = check(&compile(program), &program.args);
    check.program.compare_output = program.option.as_deref() == Some("output");
    if let Some(stdin) = &program.stdin {
        check.launch.input = stdin.clone().into_bytes();
    }
    check
}
