//! Interposed functions do what the C library's do: programs that call all of them, with ordinary and odd arguments, natively and
//! under Ordain. Whoever interposes a function adds a line to them.

mod common;

use common::{Program, check, compile, sources};
use ordain_explore::strategy::Kind as StrategyKind;
use std::path::{Path, PathBuf};
use std::process::Command;

const TABLES: &str = include_str!("../../../docs/interposed.md");
const PROGRAMS: [&str; 8] = ["attributes", "descriptors", "files", "process", "signals", "streams", "threads", "time"];

/// A program of the conformance tests, compiled.
fn program(name: &str) -> PathBuf {
    compile(&Program {
        file: format!("conformance/{name}.c"),
        language: "c".into(),
        args: Vec::new(),
        flags: vec!["-Wno-deprecated-declarations".into()],
        libs: Vec::new(),
        libraries: Vec::new(),
        loads: Vec::new(),
        expect: "verified".into(),
        option: None,
        why: String::new(),
        classes: None,
        atomics: false,
        sample: false,
        stdin: None,
    })
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What the calls of a program return natively, and what they return in one execution under Ordain, where that is not the same.
fn differences(name: &str) -> Vec<String> {
    let path = program(name);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (native, under) = (directory.join(format!("{name}.native")), directory.join(format!("{name}.ordain")));
    let status = Command::new(&path).arg(&native).status().expect("the program runs");
    assert!(status.success(), "{name} ends natively with {status}");
    let _ = std::fs::remove_file(&under);
    let mut check = check(&path, &[under.to_string_lossy().into_owned()]);
    check.settings.strategy = Some(StrategyKind::Random);
    check.settings.max_executions = Some(1);
    check.run.workers = 1;
    let report = check.run().unwrap_or_else(|problem| panic!("{name}: {problem}"));
    let findings: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
    assert!(report.findings.is_empty(), "{name}: {findings}");
    let (native, under) = (lines(&native), lines(&under));
    assert!(native.len() > 20, "{name} says nothing");
    let mut different: Vec<String> = native
        .iter()
        .zip(&under)
        .filter(|(native, under)| native != under)
        .map(|(native, under)| format!("{name}: natively {native}, under Ordain {under}"))
        .collect();
    if native.len() != under.len() {
        different.push(format!("{name}: {} lines natively, {} under Ordain", native.len(), under.len()));
    }
    different
}

#[test]
fn calls_return_what_they_return_natively() {
    let different: Vec<String> = PROGRAMS.into_iter().flat_map(differences).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn every_interposed_function_is_called_or_explained() {
    let read = |name: &str| std::fs::read_to_string(sources().join(format!("conformance/{name}.c"))).expect("a source");
    let text: String = PROGRAMS.into_iter().map(read).collect();
    let words: std::collections::BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let cells = TABLES.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
    let names = cells.flat_map(|cell| cell.split(',').map(|name| name.trim().trim_matches('`')));
    let missing: Vec<&str> = names.filter(|name| !words.contains(name)).collect();
    assert!(missing.is_empty(), "add a line to tests/programs/conformance for: {missing:?}");
}
