//! The table of system calls knows every call of the kernel, and the page for users says what it says.

use ordain_wire::{Class, SYSTEM_CALLS, system_call};
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
fn a_call_that_is_not_known_leaves_snapshot_mode() {
    assert!(matches!(system_call(511).0, Class::Leaves(_)));
    assert!(matches!(system_call(i64::from(u32::MAX)).0, Class::Leaves(_)));
}

/// The table as users see it.
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
fn the_page_has_the_table() {
    const BEGIN: &str = "| in snapshot mode | system calls |\n|---|---|\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/system-calls.md");
    let text = std::fs::read_to_string(&path).expect("the page");
    let (before, table) = text.split_once(BEGIN).expect("the table");
    if std::env::var_os("ORDAIN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}", page())).expect("written");
        return;
    }
    assert_eq!(table, page(), "ORDAIN_UPDATE_DOCS=1 writes the truth into the page");
}
