//! The table of system calls knows every call of the kernel, and the page for users says what it says.

use ordain_wire::{Class, SHARING, SYSTEM_CALLS, Sharing, sharing, system_call};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The calls of the kernel's own list, as its headers have it.
fn calls_of_kernel() -> BTreeMap<String, u16> {
    let mut compiler = Command::new("cc");
    compiler.args(["-E", "-dM", "-include", "asm/unistd_64.h", "-x", "c", "/dev/null"]);
    let output = compiler.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let call = |line: &str| {
        let (name, number) = line.strip_prefix("#define __NR_")?.split_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(call).collect()
}

fn calls_of_table() -> impl Iterator<Item = (u16, &'static str)> {
    SYSTEM_CALLS.iter().flat_map(|(_, calls)| calls.iter().copied())
}

#[test]
fn every_call_of_the_kernel_has_a_class() {
    let kernel = calls_of_kernel();
    assert!(kernel.len() > 300, "{} calls", kernel.len());
    let table: BTreeMap<&str, u16> = calls_of_table().map(|(number, name)| (name, number)).collect();
    let missing: Vec<_> = kernel.iter().filter(|(name, number)| table.get(name.as_str()) != Some(number)).collect();
    assert!(missing.is_empty(), "without a class, or with another number: {missing:?}");
}

#[test]
fn no_call_has_two_classes() {
    let mut numbers = BTreeMap::new();
    for (number, name) in calls_of_table() {
        assert_eq!(numbers.insert(number, name), None, "{name}");
        assert_eq!(system_call(number.into()).1, name);
    }
}

#[test]
fn of_every_call_it_is_known_what_other_threads_notice() {
    let mut known = BTreeMap::new();
    for (sharing, calls) in SHARING {
        for name in *calls {
            assert_eq!(known.insert(*name, *sharing), None, "{name} is there twice");
        }
    }
    for (number, name) in calls_of_table() {
        assert_eq!(known.remove(name), Some(sharing(number.into())), "{name}");
    }
    assert!(known.is_empty(), "not in the table of system calls: {known:?}");
    assert_eq!(sharing(511), Sharing::Unfollowed);
}

#[test]
fn a_call_that_is_not_known_leaves_snapshot_mode() {
    assert!(matches!(system_call(511).0, Class::Leaves(_)));
    assert!(matches!(system_call(i64::from(u32::MAX)).0, Class::Leaves(_)));
}

/// The second table as users see it.
fn threads_page() -> String {
    let mut rows = String::new();
    for (sharing, calls) in SHARING {
        let what = match sharing {
            Sharing::Own => {
                "nothing: it is about the calling thread, or about what the program does not change".to_owned()
            }
            Sharing::Memory => "memory, as far as memory is visible at the level of the check".to_owned(),
            Sharing::Step => "a step of descriptors, files, queues, signals, threads, processes or time".to_owned(),
            Sharing::Asks(state) => format!("a step that asks: {}", format!("{state:?}").to_lowercase()),
            Sharing::Changes(state) => format!("a step that changes: {}", format!("{state:?}").to_lowercase()),
            Sharing::Arguments => "a step or none, as its arguments say".to_owned(),
            Sharing::Unfollowed => "not followed: never `verified` if there are other threads".to_owned(),
        };
        let names: Vec<String> = calls.iter().map(|name| format!("`{name}`")).collect();
        writeln!(rows, "| {what} | {} |", names.join(", ")).expect("text");
    }
    rows
}

/// The first table as users see it.
fn page() -> String {
    let mut rows = String::new();
    for (class, calls) in SYSTEM_CALLS {
        let what = match class {
            Class::Pure => "leaves nothing behind but memory, mappings and descriptors, which are put back".to_owned(),
            Class::Outside => "changes something outside of the process, which no mode undoes".to_owned(),
            Class::Modelled => "modelled, or answered without the kernel".to_owned(),
            Class::PutBack(what) => format!("put back: {what}"),
            Class::Leaves(what) => format!("leaves snapshot mode: the program {what}"),
            Class::Absent => "fails with `ENOSYS`, as on a kernel that does not have it".to_owned(),
        };
        let names: Vec<String> = calls.iter().map(|(_, name)| format!("`{name}`")).collect();
        writeln!(rows, "| {what} | {} |", names.join(", ")).expect("text");
    }
    rows
}

#[test]
fn the_page_has_the_tables() {
    const BEGIN: &str = "| in snapshot mode | system calls |\n|---|---|\n";
    const THREADS: &str = "| what other threads can notice | system calls |\n|---|---|\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/system-calls.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    let (before, tables) = text.split_once(BEGIN).expect("the first table");
    let (between, threads) = tables.split_once(THREADS).expect("the second table");
    let (table, between) = between.split_once("\n\n").expect("text between the tables");
    let (table, truth) = (format!("{table}\n"), page());
    if std::env::var_os("ORDAIN_UPDATE_DOCS").is_some() {
        let text = format!("{before}{BEGIN}{truth}\n{between}{THREADS}{}", threads_page());
        std::fs::write(&path, text).expect("written");
        return;
    }
    assert_eq!(table, truth, "ORDAIN_UPDATE_DOCS=1 writes the truth into the page");
    assert_eq!(threads, threads_page(), "ORDAIN_UPDATE_DOCS=1 writes the truth into the page");
}
