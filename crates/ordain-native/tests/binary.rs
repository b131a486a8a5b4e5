//! Which programs Ordain runs, and how it refuses the others.

mod compile;

use miette::Diagnostic;
use ordain_native::binary::{Binary, Refused, inspect};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const EMPTY: &str = "int main(void) { return 0; }\n";

fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

fn look(path: &Path) -> Binary {
    inspect(path.as_os_str(), None).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The refusal, after a look at its text: it names the file, and says what to do.
fn refused(path: &Path) -> Refused {
    let refused = inspect(path.as_os_str(), None).expect_err("it is refused");
    let name = path.file_name().expect("a name").to_string_lossy();
    assert!(refused.to_string().contains(&*name), "{refused}");
    let help = refused.help().expect("every refusal has help").to_string();
    assert!(!help.is_empty() && !help.contains('{'), "{help}");
    refused
}

/// Writes an executable file.
fn file(directory: &TempDir, name: &str, contents: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, contents).expect("the file can be written");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("the mode can be set");
    path
}

/// A copy of a plain program with some bytes changed.
fn patched(directory: &TempDir, place: usize, bytes: &[u8]) -> PathBuf {
    let mut contents = fs::read(compile::c(directory.path(), "plain", EMPTY, &[])).expect("readable");
    contents[place..place + bytes.len()].copy_from_slice(bytes);
    file(directory, "patched", &contents)
}

#[test]
fn takes_programs_of_every_usual_kind() {
    let directory = directory();
    let plain = look(&compile::c(directory.path(), "plain", EMPTY, &["-g"]));
    assert!(plain.pie && plain.has_debug_info && !plain.stripped && !plain.rust && !plain.openmp);
    assert_eq!(plain.needed, ["libc.so.6"]);
    assert!(plain.path.is_absolute());

    let fixed = look(&compile::c(directory.path(), "fixed", EMPTY, &["-no-pie"]));
    assert!(!fixed.pie && !fixed.has_debug_info && !fixed.stripped);
    assert_ne!(fixed.fingerprint, plain.fingerprint);

    let stripped = look(&compile::c(directory.path(), "stripped", EMPTY, &["-s"]));
    assert!(stripped.stripped && !stripped.has_debug_info);

    let openmp = look(&compile::c(directory.path(), "openmp", EMPTY, &["-fopenmp", "-Wl,--no-as-needed"]));
    assert!(openmp.openmp && openmp.needed.iter().any(|name| name.starts_with("libgomp")));

    let rust = look(&compile::rust(directory.path(), "rust", "fn main() {}", &["-C", "strip=symbols"]));
    assert!(rust.rust && rust.stripped);
}

#[test]
fn the_fingerprint_is_of_the_contents() {
    let directory = directory();
    let one = compile::c(directory.path(), "one", EMPTY, &[]);
    let two = directory.path().join("two");
    fs::copy(&one, &two).expect("a copy");
    assert_eq!(look(&one).fingerprint, look(&two).fingerprint);
}

#[test]
fn searches_as_the_shell_does() {
    let [first, second] = [directory(), directory()];
    let program = compile::c(second.path(), "found", EMPTY, &[]);
    file(&first, "other", b"");
    let in_the_way = file(&first, "found", b"");
    fs::set_permissions(&in_the_way, Permissions::from_mode(0o644)).expect("the mode can be set");
    let path = [b"/nowhere:", first.path().as_os_str().as_bytes(), b":", second.path().as_os_str().as_bytes()].concat();
    let path = Some(OsStr::from_bytes(&path));
    assert_eq!(inspect(OsStr::new("found"), path).expect("found").path, program);

    let missing = inspect(OsStr::new("no-such-program"), path).expect_err("there is none");
    assert!(matches!(missing, Refused::NotFound { .. }));
    assert!(missing.help().expect("help").to_string().contains("PATH"));
    let only_first = Some(first.path().as_os_str());
    assert!(matches!(inspect(OsStr::new("found"), only_first), Err(Refused::NotExecutable { .. })));
    assert!(matches!(inspect(OsStr::new(""), path), Err(Refused::NotFound { .. })));

    let default = inspect(OsStr::new("true"), None).expect("every system has it");
    assert!(["/bin/true", "/usr/bin/true"].contains(&&*default.path.to_string_lossy()));
    assert_eq!(inspect(OsStr::new("/bin/../bin/true"), None).expect("by path").fingerprint, default.fingerprint);
}

#[test]
fn refuses_what_is_no_program_file() {
    let directory = directory();
    assert!(matches!(refused(&directory.path().join("missing")), Refused::NotFound { .. }));
    assert!(matches!(refused(directory.path()), Refused::NotAFile { .. }));
    let plain = file(&directory, "data", b"text");
    assert!(matches!(refused(&plain), Refused::NotElf { .. }));
    fs::set_permissions(&plain, Permissions::from_mode(0o644)).expect("the mode can be set");
    assert!(matches!(refused(&plain), Refused::NotExecutable { .. }));
    assert!(matches!(refused(&file(&directory, "empty", b"")), Refused::NotElf { .. }));
    assert!(matches!(refused(&file(&directory, "short", b"\x7fELF\x02\x01")), Refused::Damaged { .. }));
    let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9], b"\x02\0\x3e\0\x01\0\0\0"].concat();
    assert!(matches!(refused(&file(&directory, "torn", &header)), Refused::Damaged { .. }));
}

#[test]
fn refuses_a_script_and_names_its_interpreter() {
    let directory = directory();
    let script = file(&directory, "script", b"#! /usr/bin/env python3\nprint()\n");
    let refused = refused(&script);
    assert!(matches!(&refused, Refused::Script { interpreter, .. } if interpreter == "/usr/bin/env python3"));
    let command = format!("-- /usr/bin/env python3 {}", script.display());
    assert!(refused.help().expect("help").to_string().contains(&command));
}

#[test]
fn refuses_other_machines() {
    let directory = directory();
    let arm = refused(&patched(&directory, 18, &[183, 0]));
    assert!(matches!(&arm, Refused::OtherArchitecture { architecture, .. } if architecture == "64-bit ARM"));
    let unknown = refused(&patched(&directory, 18, &[0xfe, 0xca]));
    assert!(unknown.to_string().contains("51966"), "{unknown}");
    let big_endian = refused(&patched(&directory, 5, &[2]));
    assert!(matches!(big_endian, Refused::OtherArchitecture { .. }));
    assert!(matches!(refused(&patched(&directory, 18, &[3, 0])), Refused::ThirtyTwoBit { .. }));
    assert!(matches!(refused(&patched(&directory, 4, &[1])), Refused::ThirtyTwoBit { .. }));
}

#[test]
fn refuses_what_the_dynamic_loader_does_not_start() {
    let directory = directory();
    assert!(matches!(refused(&compile::c(directory.path(), "a", EMPTY, &["-static"])), Refused::Static { .. }));
    assert!(matches!(refused(&compile::c(directory.path(), "b", EMPTY, &["-static-pie"])), Refused::Static { .. }));
    let sanitized = |name: &str, flags: &[&str]| refused(&compile::c(directory.path(), name, EMPTY, flags));
    for (name, flags) in [("shared", &["-fsanitize=thread"][..]), ("static", &["-fsanitize=thread", "-static-libtsan"])]
    {
        let refusal = sanitized(name, flags);
        assert!(matches!(refusal, Refused::Sanitizer { sanitizer: "ThreadSanitizer", .. }), "{refusal:?}");
    }
    let musl = "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1";
    assert!(matches!(refused(&compile::c(directory.path(), "c", EMPTY, &[musl])), Refused::Musl { .. }));
    let other = "-Wl,--dynamic-linker=/lib/ld-other.so";
    let other = refused(&compile::c(directory.path(), "d", EMPTY, &[other]));
    assert!(matches!(other, Refused::OtherLoader { interpreter, .. } if interpreter == "/lib/ld-other.so"));
}

#[test]
fn refuses_objects_libraries_and_cores() {
    let directory = directory();
    let kind = |path: PathBuf| match refused(&path) {
        Refused::OtherKind { kind, .. } => kind,
        other => panic!("{other}"),
    };
    assert_eq!(kind(compile::c(directory.path(), "library.so", EMPTY, &["-shared", "-fPIC"])), "a shared library");
    let object = compile::c(directory.path(), "object.o", EMPTY, &["-c"]);
    fs::set_permissions(&object, Permissions::from_mode(0o755)).expect("the mode can be set");
    assert_eq!(kind(object), "an object file");
    assert_eq!(kind(patched(&directory, 16, &[4, 0])), "a core dump");
}

#[test]
fn refuses_go() {
    let directory = directory();
    let source = "__attribute__((section(\".go.buildinfo\"))) int mark = 1; int main(void) { return 0; }";
    assert!(matches!(refused(&compile::c(directory.path(), "go", source, &[])), Refused::Go { .. }));
}

#[test]
fn refuses_programs_with_rights_of_their_own() {
    let directory = directory();
    let program = compile::c(directory.path(), "program", EMPTY, &[]);
    for (mode, name) in [(0o4755, "user"), (0o2755, "group")] {
        fs::set_permissions(&program, Permissions::from_mode(mode)).expect("the mode can be set");
        assert!(matches!(refused(&program), Refused::SetId { who, .. } if who == name));
    }
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("the mode can be set");
    // Only a privileged user can give capabilities: cap_net_raw, in the second version of the format.
    let capability = [1, 0, 0, 2, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&program, c"security.capability", &capability, flags).is_ok() {
        assert!(matches!(refused(&program), Refused::Capabilities { .. }));
    }
}
